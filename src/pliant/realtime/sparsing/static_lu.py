"""The fixed elimination in numbers, at many points at once and in any precision: pivots, growth, errors.

The operations and their order are those of the generated step, so what is found here (in float or double) is what the
target will do. Growth is that of U after rows were scaled to largest entry one; multipliers do not count, they may be
large without harm.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from pliant.errors import SingularError
from pliant.realtime.sparsing.elimination import Elimination, Entry, assign_rows, eliminate
from pliant.realtime.sparsing.entry_states import Kept
from pliant.realtime.sparsing.entry_states import places as placed
from pliant.realtime.sparsing.linearisations import Points
from pliant.realtime.sparsing.linearise import Matrix
from pliant.realtime.sparsing.spectrum import singular_hint

Array = NDArray[np.floating]
SOUND_GROWTH, SOUND_PIVOT = 1e3, 1e-8  # of rows scaled to one


@dataclass(frozen=True)
class PivotQuality:
    """Worst values over all points."""

    smallest_pivot: float  # of rows scaled to one
    pivot_name: int  # column of it
    growth: float
    error: float  # of a solution, relative to its largest component, against LAPACK in double
    condition: float  # largest, estimated in the 1-norm


class StaticLU:
    """Factors of P matrices of one pattern."""

    def __init__(self, elimination: Elimination, matrices: NDArray[np.float64], dtype: type = np.float64) -> None:
        """``matrices``: (P, n, n), only the entries of the pattern are read."""
        self.e, self.dtype, self.count = elimination, dtype, len(matrices)
        e = elimination
        self.a: dict[Entry, Array] = {(i, j): matrices[:, i, j].astype(dtype) for i, j in e.entries}
        zero: Array = np.zeros(len(matrices), dtype=dtype)
        for place in e.fill:
            self.a[place] = zero
        self.lower: list[list[int]] = []
        self.upper: list[list[int]] = []
        self.inverse: list[Array] = []
        by_row: list[set[int]] = [set() for _ in range(e.n)]
        by_column: list[set[int]] = [set() for _ in range(e.n)]
        for i, j in self.a:
            by_row[i].add(j)
            by_column[j].add(i)
        with np.errstate(all="ignore"):
            for i, j in e.pivots:
                for k in by_row[i]:
                    by_column[k].discard(i)
                for k in by_column[j]:
                    by_row[k].discard(j)
                by_row[i].discard(j)
                below, right = sorted(by_column[j]), sorted(by_row[i])
                self.lower.append(below)
                self.upper.append(right)
                inverse = np.asarray(dtype(1.0) / self.a[i, j])
                self.inverse.append(inverse)
                for row in below:
                    factor = self.a[row, j] = self.a[row, j] * inverse
                    for column in right:
                        self.a[row, column] = self.a[row, column] - factor * self.a[i, column]

    def pivots(self) -> Array:
        """(n, P) in the order of elimination."""
        return np.array([self.a[place] for place in self.e.pivots]).reshape(self.e.n, self.count)

    def growth(self) -> float:
        """Largest entry of U."""
        places = [
            *self.e.pivots,
            *((i, k) for (i, _), right in zip(self.e.pivots, self.upper, strict=True) for k in right),
        ]
        return float(max(np.abs(self.a[place]).max() for place in places))

    def solve(self, right: NDArray[np.float64]) -> Array:
        """(P, n) solutions of B x = right (P, n)."""
        y: dict[int, Array] = {i: right[:, i].astype(self.dtype) for i in range(self.e.n)}
        with np.errstate(all="ignore"):
            for (i, j), below in zip(self.e.pivots, self.lower, strict=True):
                for row in below:
                    y[row] = y[row] - self.a[row, j] * y[i]
            x: dict[int, Array] = {}
            for k in range(self.e.n - 1, -1, -1):
                i, j = self.e.pivots[k]
                total = y[i]
                for column in self.upper[k]:
                    total = total - self.a[i, column] * x[column]
                x[j] = total * self.inverse[k]
        return np.stack([x[j] for j in range(self.e.n)], axis=1)


def quality(
    elimination: Elimination, matrices: NDArray[np.float64], right: NDArray[np.float64], dtype: type
) -> PivotQuality:
    """Pivots, growth and error of the elimination over all matrices (P, n, n), rows scaled."""
    size = np.abs(matrices).max(axis=2)
    scaled = matrices / np.where(size > 0, size, 1.0)[:, :, None]
    lu = StaticLU(elimination, scaled, dtype)
    pivots = np.abs(lu.pivots()).astype(np.float64)
    pivots = np.where(np.isfinite(pivots), pivots, 0.0)
    worst = int(np.argmin(pivots.min(axis=1)))
    plain = StaticLU(elimination, matrices, dtype).solve(right).astype(np.float64)
    try:
        exact = np.linalg.solve(matrices, right[:, :, None])[:, :, 0]
        largest = np.maximum(np.abs(exact).max(axis=1), 1e-300)
        error = float(np.nan_to_num(np.abs(plain - exact).max(axis=1) / largest, nan=np.inf).max())
        condition = float(np.linalg.cond(scaled, 1).max())
    except np.linalg.LinAlgError:
        error = condition = float("inf")
    return PivotQuality(float(pivots.min()), elimination.pivots[worst][1], lu.growth(), error, condition)


def sound_order(points: Points, kept: Kept, name: str) -> Elimination:
    """Pivots on the diagonal where that is sound at all points, otherwise on large entries; then Markowitz."""
    frame = points.frame
    if not frame.n:
        return eliminate(0, ())
    matrices, mask = frame.matrix(points.values, kept), placed(kept)
    places = set(zip(frame.rows[mask].tolist(), frame.columns[mask].tolist(), strict=True))
    mass = {(int(i), int(j)) for i, j in np.argwhere(frame.mass != 0.0)}
    alone = frozenset(mass - places)
    places |= mass
    right = np.ones((len(points), frame.n))
    best: tuple[float, Elimination] | None = None
    size = np.abs(matrices)
    scaled: Matrix = size / np.maximum(size.max(axis=2, keepdims=True), 1e-300)
    for row_of in (None, assign_rows(scaled.min(axis=0)), assign_rows(scaled.mean(axis=0))):
        if row_of is None and not all((i, i) in places for i in range(frame.n)):
            continue
        found = replace(eliminate(frame.n, places, row_of), mass_only=alone)
        judged = quality(found, matrices, right, np.float64)
        if judged.growth <= SOUND_GROWTH and judged.smallest_pivot >= SOUND_PIVOT:
            return found
        rank = judged.growth / max(judged.smallest_pivot, 1e-300)
        if np.isfinite(rank) and (best is None or rank < best[0]):
            best = (rank, found)
    if best is None:
        raise SingularError(
            f"{name}: no fixed order of elimination has a pivot for every unknown",
            hint=singular_hint(bool(frame.algebraic.any())),
        )
    return best[1]
