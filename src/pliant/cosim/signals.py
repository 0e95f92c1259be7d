"""Input polynomials between communication points.

Samples u_i at T_i (newest first) give the interpolation polynomial of degree k, in divided differences

    p(t) = u_i + u[i,i-1] (t - T_i) + u[i,i-1,i-2] (t - T_i)(t - T_(i-1)),

which the parts extrapolate (Jacobi) or, where the newest sample lies at the end of the step, interpolate
(Gauss-Seidel). Smooth (C0) inputs add a line that begins at the old end value and has died out at the end of the step:

    p(t) + (u_old(T_i) - p(T_i)) (1 - (t - T_i)/H).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pliant.arguments import Vector
from pliant.cosim.part import DEGREE, Matrix
from pliant.errors import ArgumentError, NonFiniteError
from pliant.solve.signals.given import read_signal
from pliant.solve.signals.kinds import ConstantSignal, Declared, FunctionSignal, Segments, TableSignal

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
    """An input that is not connected: a number, a function of time, a table or Segments.

    Between communication points a function is replaced by the parabola through its values at both ends and in the
    middle; a function of an input that changes at jumps only by its value at the first of them. Tables are followed
    exactly, jumps included.
    """

    def __init__(self, name: str, value: Any, declared: Declared | None = None, stop: float = math.inf) -> None:
        self.name = name
        self.declared = declared or Declared()
        self.signal = read_signal(name, value).typed(name, self.declared, stop)
        self.knots: Vector = np.zeros(0)
        self.heights: Vector = np.zeros(0)
        if isinstance(self.signal, Segments):
            if self.signal.degree > DEGREE:
                raise ArgumentError(
                    f"input {name}: polynomials of degree {self.signal.degree}, at most {DEGREE} are possible",
                    hint="more segments of a smaller degree",
                )
            self.knots = self.signal.start
        elif isinstance(self.signal, TableSignal):
            self.knots, self.heights = self.signal.points

    def _value(self, t: float) -> float:
        """Of a function, which must be finite."""
        value = self.signal.at(t)
        if not math.isfinite(value):
            raise NonFiniteError(
                f"input {self.name} is {value} at t = {t:.10g}",
                hint="the function must give finite numbers from start to stop",
                time=t,
                names=(self.name,),
            )
        return value

    @property
    def degree(self) -> int:
        """Of the polynomials between breaks."""
        if isinstance(self.signal, Segments):
            return self.signal.degree
        if isinstance(self.signal, FunctionSignal):
            return 0 if self.declared.held else DEGREE
        return min(1, self.knots.size)

    @property
    def rests(self) -> bool:
        """Does it change at jumps only?"""
        return isinstance(self.signal, ConstantSignal) or self.declared.held

    def breaks(self, a: float, b: float, near: float = 0.0) -> NDArray[np.float64]:
        """Times inside (a, b), further than ``near`` from both, where the polynomial changes."""
        first = int(np.searchsorted(self.knots, a + near, side="right"))
        return self.knots[first : int(np.searchsorted(self.knots, b - near, side="left"))]

    def _sides(self, t: float, near: float) -> tuple[float, float]:
        """First and last knot that count as t, or t twice: 3*0.1 shall meet a jump at 0.3."""
        first = int(np.searchsorted(self.knots, t - near, side="left"))
        last = int(np.searchsorted(self.knots, t + near, side="right"))
        return (float(self.knots[first]), float(self.knots[last - 1])) if first < last else (t, t)

    def limits(self, t: float, near: float = 0.0) -> tuple[float, float]:
        """Values just before and just after t; knots nearer than ``near`` count as t."""
        if not self.knots.size:
            value = self._value(t)
            return value, value
        first, last = self._sides(t, near)
        if isinstance(self.signal, Segments):
            left, right = self.signal.about(np.array([first]), left=True), self.signal.about(np.array([last]))
            return float(left[0, 0]), float(right[0, 0])
        return self._height(first, "left"), self._height(last, "right")

    def _height(self, t: float, side: Literal["left", "right"]) -> float:
        """Of the table at t; where t stands twice, on one side."""
        k = int(np.searchsorted(self.knots, t, side=side)) - (side == "right")
        if 0 <= k < self.knots.size and self.knots[k] == t:
            return float(self.heights[k])
        return float(np.interp(t, self.knots, self.heights))

    def coefficients(self, a: float, b: float, near: float = 0.0) -> Vector:
        """About a, between two neighbouring breaks a < b; knots nearer than ``near`` count as a or b."""
        if isinstance(self.signal, Segments):
            found = self.signal.about(np.array([self._sides(a, near)[1]]))[0]
            return np.append(found, np.zeros(DEGREE + 1 - len(found)))
        after = self.limits(a, near)[1]
        if not self.knots.size and (self.declared.held or isinstance(self.signal, ConstantSignal)):
            return np.array([after, 0.0, 0.0])
        before = self.limits(b, near)[0]
        h = b - a
        if self.knots.size:
            return np.array([after, (before - after) / h, 0.0])
        middle = self._value(a + 0.5 * h)
        second = 2.0 * (before - 2.0 * middle + after) / h**2
        return np.array([after, (before - after) / h - second * h, second])
