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

NEAR = 1e-9  # of the macro step: knots of tables nearer than this to its ends count as lying there


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
        number = float(value)
        if not np.isfinite(number):
            raise ArgumentError(f"input {self.name}: {number} is not a finite number")
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
        self.knots, self.heights = times, heights

    @property
    def degree(self) -> int:
        """Of the polynomials between breaks."""
        if self.segments is not None:
            return self.segments.degree
        return DEGREE if self.function is not None else min(1, self.knots.size)

    def breaks(self, a: float, b: float) -> NDArray[np.float64]:
        """Times strictly inside (a, b) where the polynomial changes."""
        near = NEAR * (b - a)
        return self.knots[(self.knots > a + near) & (self.knots < b - near)]

    def limits(self, t: float) -> tuple[float, float]:
        """Values just before and just after t."""
        if self.function is not None:
            value = self._finite(self.function(t))
            return value, value
        if self.segments is not None:
            where = np.array([t])
            return float(self.segments.about(where, left=True)[0, 0]), float(self.segments.about(where)[0, 0])
        if not self.knots.size:
            return self.number, self.number
        middle = float(np.interp(t, self.knots, self.heights))
        here = np.flatnonzero(self.knots == t)
        return (float(self.heights[here[0]]), float(self.heights[here[-1]])) if here.size else (middle, middle)

    def coefficients(self, a: float, b: float) -> Vector:
        """About a, between two neighbouring breaks a < b."""
        if self.segments is not None:
            found = self.segments.about(np.array([a]))[0]
            return np.append(found, np.zeros(DEGREE + 1 - len(found)))
        after, before = self.limits(a)[1], self.limits(b)[0]
        h = b - a
        if self.function is None:
            return np.array([after, (before - after) / h, 0.0])
        middle = self._finite(self.function(a + 0.5 * h))
        second = 2.0 * (before - 2.0 * middle + after) / h**2
        return np.array([after, (before - after) / h - second * h, second])
