"""A fixed order of elimination: Gaussian elimination without search at run time.

Markowitz' rule (H. M. Markowitz, Management Science 3, 1957, 255-269) on the chosen diagonal: the pivot with the least
product of other entries in its row and column goes first, ties by the lowest number. With r_p and c_p other entries in
row and column of pivot p a factorisation costs c_p multipliers and 2 r_p c_p operations of updates; the reciprocals of
the pivots are counted apart. A solution costs two operations per entry off the diagonal and one per pivot.

Where diagonal entries may vanish, rows are assigned to columns first (:func:`assign_rows`).
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Entry = tuple[int, int]


@dataclass(frozen=True)
class Elimination:
    """Pivots in order, and what the elimination costs."""

    n: int
    pivots: tuple[Entry, ...]  # (row, column), in the order of elimination
    entries: tuple[Entry, ...]  # of the matrix, sorted
    fill: tuple[Entry, ...]  # entries that arise on the way, sorted
    factor_flops: int
    mass_only: frozenset[Entry] = frozenset()  # entries to which L contributes, but no longer the Jacobian

    @property
    def lu_entries(self) -> int:
        """Entries of L and U together; the diagonal is counted once."""
        return len(self.entries) + len(self.fill)

    @property
    def solve_flops(self) -> int:
        """Operations of one solution with the factors."""
        return 2 * (self.lu_entries - self.n) + self.n


def eliminate(n: int, entries: Iterable[Entry], row_of: Sequence[int] | None = None) -> Elimination:
    """Order of elimination of a pattern; ``row_of[j]`` is the row whose entry in column j becomes the pivot.

    Entries that are pivots are counted even where they are missing in ``entries``.

    >>> eliminate(3, [(0, 0), (1, 1), (2, 2), (0, 2), (2, 0), (1, 2), (2, 1)]).lu_entries
    7
    """
    chosen = list(range(n)) if row_of is None else list(row_of)
    place = [0] * n
    for j, i in enumerate(chosen):
        place[i] = j
    # rows are renamed so that pivots stand on the diagonal
    given = {(place[i], j) for i, j in entries} | {(j, j) for j in range(n)}
    rows: list[set[int]] = [set() for _ in range(n)]
    columns: list[set[int]] = [set() for _ in range(n)]
    for i, j in given:
        if i != j:
            rows[i].add(j)
            columns[j].add(i)
    heap = [(len(rows[k]) * len(columns[k]), k) for k in range(n)]
    heapq.heapify(heap)
    done = [False] * n
    order: list[int] = []
    fill: set[Entry] = set()
    flops = 0
    while heap:
        cost, k = heapq.heappop(heap)
        if done[k] or cost != len(rows[k]) * len(columns[k]):
            continue
        done[k] = True
        order.append(k)
        right, below = rows[k], columns[k]
        flops += len(below) + 2 * len(below) * len(right)
        for i in below:
            rows[i].discard(k)
        for j in right:
            columns[j].discard(k)
        for i in below:
            for j in right:
                if i != j and j not in rows[i]:
                    rows[i].add(j)
                    columns[j].add(i)
                    fill.add((i, j))
        for other in below | right:
            heapq.heappush(heap, (len(rows[other]) * len(columns[other]), other))
    return Elimination(
        n,
        tuple((chosen[k], k) for k in order),
        tuple(sorted((chosen[i], j) for i, j in given)),
        tuple(sorted((chosen[i], j) for i, j in fill)),
        flops,
    )


def assign_rows(smallest: NDArray[np.float64]) -> list[int] | None:
    """Rows for the pivots of all columns: largest product of the entries met. None if there is no full assignment.

    ``smallest`` holds the smallest modulus of each entry over all matrices met, rows scaled. The diagonal is kept
    where it never falls below a tenth of its row's largest entry.
    """
    from scipy.optimize import linear_sum_assignment

    n = len(smallest)
    diagonal = np.diag(smallest)
    if np.all(diagonal >= 0.1 * smallest.max(axis=1)) and np.all(diagonal > 0):
        return list(range(n))
    with np.errstate(divide="ignore"):
        cost = -np.log(smallest)
    cost[~np.isfinite(cost)] = 1e6
    rows, columns = linear_sum_assignment(cost)
    if np.any(smallest[rows, columns] <= 0.0):
        return None
    row_of = [0] * n
    for i, j in zip(rows, columns, strict=True):
        row_of[int(j)] = int(i)
    return row_of
