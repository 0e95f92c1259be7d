"""Piecewise linear systems, exactly: the answer that networks with ideal elements are compared with.

    z' = F_m z,   S_m z >= 0        in mode m; z: states, then 1 and sin, cos of the sources

Between events z is a matrix exponential. A mode ends where one of its margins S_m z becomes negative, which a root
search on the exponential finds, or at an instant known before. The next mode is one whose margins hold a moment later:
where the point lies on the border of several modes, only that tells them apart. Linear complementarity problems are
solved by Lemke's method (Cottle, Pang & Stone, The Linear Complementarity Problem, section 4.4). Nothing of pliant is
used.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import expm
from scipy.optimize import brentq

Matrix = NDArray[np.float64]
ROUNDING = 1e-10  # of a margin, relative to the largest it had


class System(Protocol):
    """What the integrator needs to know of a model."""

    def matrices(self, mode: Any) -> tuple[Matrix, Matrix]:
        """F and S of a mode."""

    def guesses(self, z: Matrix, segment: int, mode: Any) -> Iterable[Any]:
        """Modes to try at z, likely ones first; `mode` held until now (None: the start)."""

    def arrive(self, z: Matrix, mode: Any) -> Matrix:
        """z at the beginning of a mode, rounding removed."""


def lemke(m: Matrix, q: Matrix, pivots: int = 500) -> Matrix | None:
    """x >= 0 with w = m x + q >= 0, x'w = 0; None: the method ends on a ray or does not end."""
    n = len(q)
    if n == 0 or q.min() >= 0.0:
        return np.zeros(n)
    table = np.hstack([np.eye(n), -m, -np.ones((n, 1)), q[:, None]])  # w, x, z0 | q
    basis = list(range(n))
    row, column = int(np.argmin(q)), 2 * n
    for _ in range(pivots):
        left = basis[row]
        table[row] /= table[row, column]
        for i in range(n):
            if i != row and table[i, column] != 0.0:
                table[i] -= table[i, column] * table[row]
        basis[row] = column
        if left == 2 * n:
            break
        column = left + n if left < n else left - n
        up = table[:, column] > 1e-12 * np.abs(table[:, :-1]).max(axis=1)
        if not up.any():
            return None
        ratio = np.where(up, np.maximum(table[:, -1], 0.0) / np.where(up, table[:, column], 1.0), np.inf)
        best = np.flatnonzero(ratio <= ratio.min() * (1 + 1e-12))
        row = next((int(i) for i in best if basis[i] == 2 * n), int(best[0]))
    else:
        return None
    x = np.zeros(n)
    for i, b in enumerate(basis):
        if n <= b < 2 * n:
            x[b - n] = table[i, -1]
    return x


class Integrator:
    """One run of a piecewise linear system."""

    def __init__(self, system: System, largest: float, total: float) -> None:
        self.system, self.largest, self.total = system, largest, total
        self.powers: dict[tuple[Hashable, float], Matrix] = {}
        self.largest_z = np.zeros(0)
        self.granted = 0.0  # what the present mode violated when it was chosen, by rounding
        self.events = 0

    def run(self, z: Matrix, points: Matrix, breaks: Sequence[float]) -> Matrix:
        """z at the points; `breaks` are instants at which the next segment begins."""
        out, k, t, mode = np.empty((len(points), len(z))), 0, 0.0, None
        ends = [b for b in breaks if 0.0 < b < points[-1]] + [points[-1]]
        for segment, end in enumerate(ends):
            mode, z = self.next_mode(z, segment, mode)
            h = 1e-9 * self.total
            while t < end:
                h = min(h * 4.0, self.largest)
                step = min(h, end - t)
                if step < h and end - t > 0.5 * h:
                    step = 0.5 * step
                first = self.violation(mode, z, step)
                went = step if first is None else first
                while k < len(points) and points[k] <= t + went and (points[k] < t + went or first is None):
                    out[k] = self.power(mode, points[k] - t, keep=False) @ z
                    k += 1
                z = self.power(mode, went, keep=first is None and step == h) @ z
                t = end if went == end - t else t + went
                if first is not None:
                    self.events += 1
                    if self.events > 20000:
                        raise RuntimeError("the reference has too many events")
                    mode, z = self.next_mode(z, segment, mode, ended=True)
                    h = 1e-9 * self.total
        while k < len(points):
            out[k] = z
            k += 1
        return out

    def power(self, mode: Hashable, h: float, keep: bool = True) -> Matrix:
        """expm(F h)."""
        if (mode, h) in self.powers:
            return self.powers[mode, h]
        found: Matrix = expm(self.system.matrices(mode)[0] * h)
        if keep and len(self.powers) < 20000:
            self.powers[mode, h] = found
        return found

    def margins(self, mode: Hashable, z: Matrix) -> Matrix:
        """S z relative to the sizes of z so far, so that 1e-10 is rounding."""
        return np.asarray(self.system.matrices(mode)[1] @ z / self.sizes(mode, z))

    def sizes(self, mode: Hashable, z: Matrix) -> Matrix:
        """What margins are compared with."""
        if not len(self.largest_z):
            self.largest_z = 1e-6 + 0.0 * z
        self.largest_z = np.maximum(self.largest_z, np.abs(z))
        size = np.abs(self.system.matrices(mode)[1]) @ self.largest_z
        return np.asarray(1e-2 * size + 1e-4 * size.max(initial=1e-300))

    def violation(self, mode: Hashable, z: Matrix, h: float) -> float | None:
        """Time in (0, h] at which a margin becomes negative; None: none does, as seen at four points."""
        before = 0.0
        for share in (0.25, 0.5, 0.75, 1.0):
            after = share * h
            bad = np.flatnonzero(self.margins(mode, self.power(mode, after) @ z) < -ROUNDING - self.granted)
            if len(bad):
                return min(self._crossing(mode, z, before, after, int(k)) for k in bad)
            before = after
        return None

    def _crossing(self, mode: Hashable, z: Matrix, a: float, b: float, k: int) -> float:
        row = self.system.matrices(mode)[1][k]
        size = float(self.sizes(mode, z)[k])

        def margin(t: float) -> float:
            return float(row @ (self.power(mode, t, keep=False) @ z)) / size + self.granted

        if margin(a) <= 0.0:
            return a if a > 0.0 else min(b, 1e-12 * self.total)
        return float(brentq(margin, a, b, xtol=1e-15 * self.total, rtol=1e-14))

    def next_mode(self, z: Matrix, segment: int, mode: Hashable, ended: bool = False) -> tuple[Hashable, Matrix]:
        """A mode that holds from here on for a moment; `ended`: the present one does not, but for rounding."""
        best: tuple[float, Hashable, Matrix] | None = None
        for ahead in (1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7):
            moment = ahead * self.total
            for one in self._candidates(z, segment, mode, moment):
                begun = self.system.arrive(z, one)
                worst = min(
                    float(self.margins(one, self.power(one, share * moment, keep=False) @ begun).min(initial=1.0))
                    for share in (0.0, 0.5, 1.0)
                )
                if worst >= -0.01 * ROUNDING and not (ended and one == mode):
                    self.granted = 0.0
                    return one, begun
                if best is None or worst > best[0] or (best[1] == mode != one and worst > -1e-8):
                    best = worst, one, begun
        if best is None or best[0] < -1e-6:
            raise RuntimeError(f"the reference finds no mode ({best[0] if best else 'none'})")
        self.granted = -2.0 * best[0]
        return best[1], best[2]

    def _candidates(self, z: Matrix, segment: int, mode: Hashable, moment: float) -> Iterable[Hashable]:
        """Modes at z, and at where z will be in a moment if one of those holds."""
        seen: set[Hashable] = set()
        here = list(self.system.guesses(z, segment, mode))
        for one in here:
            later = self.power(one, moment, keep=False) @ self.system.arrive(z, one)
            for two in [*self.system.guesses(later, segment, mode), one]:
                if two not in seen:
                    seen.add(two)
                    yield two
