"""Errors of the inputs in a macro step, in units of what is allowed.

A connection that is extrapolated is wrong by

    d = |u(T + H) - p(T + H)| = |u[T_(i+1), T_i, ..., T_(i-k)]| * prod (T + H - T_j)  =  O(H^(k+1)),

found when the step has been made and the samples at its end are known (Busch & Schweizer 2011; Meyer, Kraft &
Schweizer 2021: predictor against corrector). One that is interpolated (Gauss-Seidel) passes through the newest
sample, so its error is taken in the middle of the step, from the divided difference with one more sample.

The error of a part that integrates its input over a time T is about T d: bounding d is control by error per unit
step, and errors of results are proportional to macro_rtol. Allowed is, for every connection,

    tol = max(noise, min(macro_rtol * max(|u|, range, nominal), 0.3 max(range, |u|/10))),
    noise = 10 rtol max(|u|, nominal),

with the largest value and the range of the signal so far, or ten times its change in this step where it just begins
to move. The second bound keeps predictions meaningful for signals that are small against their nominal value, or
vary little.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from pliant.arguments import Vector
from pliant.cosim.part import Part
from pliant.cosim.signals import polynomial

if TYPE_CHECKING:
    from pliant.cosim.master import Master

MEANINGFUL = 0.3  # of the range: an extrapolation that misses by more predicts nothing
COMING = 10.0  # macro steps in which a signal that begins to move will have a range worth the name
VARIES = 0.1  # of the largest value: a signal that varies less is judged by this
NOISE = 10.0  # times the tolerance of the solvers: below are differences that they leave over
LOOKS, FLIPS = 8, 4  # changes of sign of an error, in so many steps, that make it ring
FIRST = 0.25  # of the change: error in the middle of a first step that is interpolated


def nominal_of(part: Part, j: int) -> float:
    """Size of an input, as far as its part gives it."""
    info = part.about().info.get(part.inputs[j].name)
    nominal = None if info is None else info.nominal
    return abs(nominal) if nominal else 1.0


class InputErrors:
    """Observes the connected signals of a master."""

    def __init__(self, master: Master, macro_rtol: float, rtol: float) -> None:
        self.master, self.macro_rtol = master, macro_rtol
        self.places = [(wire.target_part, wire.input) for wire in master.wires]
        self.names = master.solver.names
        self.nominal = np.array([nominal_of(master.parts[p], j) for p, j in self.places])
        self.rtol = rtol
        self.counted = np.array([not master.held[p][j] and _acts(master.parts[p], j) for p, j in self.places], bool)
        start = self.values(master.samples[0])
        self.low, self.high = start, start.copy()
        self.signed = np.zeros(len(self.places))
        self.signs: deque[Vector] = deque(maxlen=LOOKS)

    def values(self, samples: Sequence[Vector]) -> Vector:
        """The connected signals among the inputs of all parts."""
        return np.array([samples[p][j] for p, j in self.places])

    def see(self, samples: Sequence[Vector]) -> None:
        """A step was accepted."""
        values = self.values(samples)
        self.low, self.high = np.minimum(self.low, values), np.maximum(self.high, values)
        self.signs.append(np.sign(self.signed))

    def rings(self, k: int) -> bool:
        """Does the error of a connection change its sign again and again, as where stability limits the step?"""
        if len(self.signs) < LOOKS:
            return False
        signs = [float(one[k]) for one in self.signs]
        return sum(a * b < 0.0 for a, b in itertools.pairwise(signs)) >= FLIPS

    def allowed(self, values: Vector) -> Vector:
        """Of each connection, with these newest values."""
        low, high = np.minimum(self.low, values), np.maximum(self.high, values)
        step = np.abs(values - self.values(self.master.samples[0]))
        size, most = np.maximum(high - low, COMING * step), np.maximum(np.abs(low), np.abs(high))
        noise = NOISE * self.rtol * np.maximum(np.abs(values), self.nominal)
        wanted = self.macro_rtol * np.maximum.reduce([size, most, self.nominal])
        return np.asarray(np.maximum(noise, np.minimum(wanted, MEANINGFUL * np.maximum(size, VARIES * most))))

    def worst(self, t: float, found: Sequence[Vector]) -> tuple[float, int]:
        """The largest error in the step that was just made, and its connection."""
        if not self.places:
            return 0.0, -1
        with np.errstate(over="ignore", invalid="ignore"):
            errors = self.of_step(t, found)
        k = int(np.argmax(errors))
        return float(errors[k]), k

    def of_step(self, t: float, found: Sequence[Vector]) -> Vector:
        """Errors of the connections in the step that was just made, in units of what is allowed."""
        m = self.master
        values = self.values(found)
        ends = np.array([m.ends[p][j] for p, j in self.places])
        self.signed = ends - values
        off = np.abs(self.signed)
        for k in m.interpolated:
            off[k] = max(off[k], self._middle(k, t, m.reached, values[k]))
        return np.where(self.counted, off / self.allowed(values), 0.0)

    def of_held(self, found: Sequence[Vector]) -> Vector:
        """Connections that change at events only: how far they jumped in the step."""
        m, values = self.master, self.values(found)
        held = np.array([m.held[p][j] for p, j in self.places], dtype=bool)
        off = np.abs(np.array([m.ends[p][j] for p, j in self.places]) - values)
        return np.where(held, off / self.allowed(values), 0.0)

    def _middle(self, k: int, t: float, t_next: float, value: float) -> float:
        """Error of an interpolated connection in the middle of the step."""
        m, (p, j) = self.master, self.places[k]
        times, samples = list(m.times), [one[p][[j]] for one in m.samples]
        used = max(1, min(m.run.extrapolation + 1, len(times)) - 1)  # as Master interpolates
        if len(times) <= used:
            return FIRST * abs(value - float(samples[0][0]))
        nodes = [t_next, *times[: used + 1]]
        heights = [np.array([value]), *samples[: used + 1]]
        middle = 0.5 * (t + t_next)
        weights = 1.0
        for node in nodes[:-1]:
            weights *= abs(middle - node)
        return abs(_difference(nodes, [float(one[0]) for one in heights])) * weights

    def slope(self, t: float, t_next: float, found: Sequence[Vector]) -> list[Vector]:
        """Of the inputs, from where they were at t."""
        return [
            polynomial([t_next, t], [u, u0], t_next)[1] for u, u0 in zip(found, self.master.samples[0], strict=True)
        ]


def _acts(part: Part, j: int) -> bool:
    """Does an input act between events, or is it only read at them?"""
    acting = getattr(part, "acting_inputs", None)
    return True if acting is None else j in acting


def _difference(nodes: Sequence[float], heights: Sequence[float]) -> float:
    """The divided difference of all nodes."""
    column = list(heights)
    for order in range(1, len(nodes)):
        pairs = enumerate(itertools.pairwise(column))
        column = [(a - b) / (nodes[i] - nodes[i + order]) for i, (a, b) in pairs]
    return column[0]
