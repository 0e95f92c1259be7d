"""Input polynomials between communication points.

Samples u_i at T_i (newest first) give the interpolation polynomial of degree k, in divided differences

    p(t) = u_i + u[i,i-1] (t - T_i) + u[i,i-1,i-2] (t - T_i)(t - T_(i-1)),

which the parts extrapolate (Jacobi) or, where the newest sample lies at the end of the step, interpolate
(Gauss-Seidel). Smooth (C0) inputs add a line that begins at the old end value and has died out at the end of the step:

    p(t) + (u_old(T_i) - p(T_i)) (1 - (t - T_i)/H).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.cosim.part import DEGREE, Matrix, Vector
from pliant.errors import ArgumentError
from pliant.solve.inputs import Segments

NEAR = 1e-9  # of the macro step: knots of tables nearer than this to its ends or to each other count as one


def polynomial(times: Sequence[float], samples: Sequence[Vector], about: float) -> Matrix:
    """Coefficients about ``about`` of the polynomial through up to three samples, newest first."""
    out = np.zeros((DEGREE + 1, len(samples[0])))
    out[0] = samples[0]
    if len(times) > 1:
        first = (samples[0] - samples[1]) / (times[0] - times[1])
        out[1] = first
    if len(times) > 2:
        older = (samples[1] - samples[2]) / (times[1] - times[2])
        second = (first - older) / (times[0] - times[2])
        out[1] = first + second * (times[0] - times[1])
        out[2] = second
    return out if about == times[0] else shifted(out, about - times[0])


def shifted(c: Matrix, by: float) -> Matrix:
    """The same polynomial about a point that lies ``by`` later."""
    return np.array([c[0] + by * (c[1] + by * c[2]), c[1] + 2.0 * by * c[2], c[2]])


def at(c: Matrix, dt: float) -> Vector:
    """Value of the polynomial."""
    return np.asarray(c[0] + dt * (c[1] + dt * c[2]))


def made_continuous(c: Matrix, old_end: Vector, h: float) -> Matrix:
    """The C0 variant: begins at ``old_end``, reaches the same end."""
    out = c.copy()
    gap = old_end - c[0]
    out[0] += gap
    out[1] -= gap / h
    return out


class Given:
    """An input that is not connected: a number, a function of time, a table (times, values) or Segments.

    Between communication points a function is replaced by the parabola through its values at both ends and in the
    middle; tables are followed exactly, jumps included.
    """

    def __init__(self, name: str, value: Any) -> None:
        self.name = name
        self.function: Callable[[float], float] | None = None
        self.knots: Vector = np.zeros(0)
        self.heights: Vector = np.zeros(0)
        self.number = 0.0
        self.segments: Segments | None = None
        if isinstance(value, Segments):
            if value.degree > DEGREE:
                raise ArgumentError(
                    f"input {name}: polynomials of degree {value.degree}, at most {DEGREE} are possible"
                )
            self.segments, self.knots = value, value.start
        elif callable(value):
            self.function = value
        elif isinstance(value, (int, float, np.number)) and not isinstance(value, bool):
            self.number = self._finite(value)
        else:
            self._read_table(value)

    def _finite(self, value: Any) -> float:
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = np.nan
        if not np.isfinite(number):
            raise ArgumentError(f"input {self.name}: {value!r} is not a finite number")
        return number

    def _read_table(self, value: Any) -> None:
        try:
            times, heights = (np.array(part, dtype=np.float64) for part in value)
        except (TypeError, ValueError):
            raise ArgumentError(
                f"input {self.name}: expected a number, a function or a pair (times, values), got {value!r}"
            ) from None
        if times.ndim != 1 or times.shape != heights.shape or not times.size:
            raise ArgumentError(f"input {self.name}: times have shape {times.shape}, values {heights.shape}")
        if not (np.isfinite(times).all() and np.isfinite(heights).all()) or np.any(np.diff(times) < 0):
            raise ArgumentError(f"input {self.name}: the table must be finite and its times ascend")
        if np.any(times[2:] == times[:-2]):
            raise ArgumentError(f"input {self.name}: a time stands more than twice in the table")
        self.knots, self.heights = times, heights

    @property
    def degree(self) -> int:
        """Of the polynomials between breaks."""
        if self.segments is not None:
            return self.segments.degree
        return DEGREE if self.function is not None else min(1, self.knots.size)

    def breaks(self, a: float, b: float, near: float = 0.0) -> NDArray[np.float64]:
        """Times inside (a, b), further than ``near`` from both, where the polynomial changes."""
        return self.knots[(self.knots > a + near) & (self.knots < b - near)]

    def _sides(self, t: float, near: float) -> tuple[float, float]:
        """First and last knot that count as t, or t twice: 3*0.1 shall meet a jump at 0.3."""
        found = self.knots[np.abs(self.knots - t) <= near]
        return (float(found[0]), float(found[-1])) if found.size else (t, t)

    def limits(self, t: float, near: float = 0.0) -> tuple[float, float]:
        """Values just before and just after t; knots nearer than ``near`` count as t."""
        if self.function is not None:
            value = self._finite(self.function(t))
            return value, value
        first, last = self._sides(t, near)
        if self.segments is not None:
            left, right = self.segments.about(np.array([first]), left=True), self.segments.about(np.array([last]))
            return float(left[0, 0]), float(right[0, 0])
        if not self.knots.size:
            return self.number, self.number
        return self._height(first, 0), self._height(last, -1)

    def _height(self, t: float, side: int) -> float:
        """Of the table at t; where t stands twice, on one side."""
        here = np.flatnonzero(self.knots == t)
        return float(self.heights[here[side]] if here.size else np.interp(t, self.knots, self.heights))

    def coefficients(self, a: float, b: float, near: float = 0.0) -> Vector:
        """About a, between two neighbouring breaks a < b; knots nearer than ``near`` count as a or b."""
        if self.segments is not None:
            found = self.segments.about(np.array([self._sides(a, near)[1]]))[0]
            return np.append(found, np.zeros(DEGREE + 1 - len(found)))
        after, before = self.limits(a, near)[1], self.limits(b, near)[0]
        h = b - a
        if self.function is None:
            return np.array([after, (before - after) / h, 0.0])
        middle = self._finite(self.function(a + 0.5 * h))
        second = 2.0 * (before - 2.0 * middle + after) / h**2
        return np.array([after, (before - after) / h - second * h, second])
