"""delay(expr, T) in steps of a fixed size: what is known of a delayed value from the steps before.

Values v of the delayed expression are kept at the ends of steps: v-, with what holds up to there, and v+, after the
events and the jumps of inputs there. With c = T / tau - a, where a is how far behind the last value kept the model is
evaluated, in steps,

    n = floor(c), s = c - n    v-[n] + s (v+[n+1] - v-[n])     [i]: the value i steps before the last one
    s = 0                      v-[n] up to the end of a step, v+[n] from there on
    c < 0                      v+[0] + w (now - v+[0]),  w = -c / a: T is shorter than a step

Linear interpolation is of second order, as the steps are. Where delays are known from values that are kept they are
constants to a step, so no part of its Jacobian; of those shorter than a step the share w of the value now is. Before
the start the value at the start holds.

    AHEAD    at the end of a step that is made, up to there; also where v- is computed
    AT       at the end of the last step, from there on: events, outputs, v+
    BEGIN    the same where a step of order 2 begins: of delays shorter than a step with w = 1 - s of the value now
    MIDDLE   half a step later
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from pliant.codegen.delays import delay_nodes, delay_time
from pliant.codegen.plan import Shared
from pliant.codegen.program import Program
from pliant.errors import ArgumentError, NotSupportedError
from pliant.expr.evaluate import evaluate, parameter_values
from pliant.expr.text import text
from pliant.solve.models.numeric import NumericModel
from pliant.solve.options import check_parameters

Matrix = NDArray[np.float64]
NEAR = {"double": 1e-9, "float": 1e-6}  # of a number of steps: rounding
LARGEST = 10_000_000  # values that are kept
SHOWN = 60  # characters of what is delayed, in messages
SPARE = 0.5  # of the range of a delay that scenarios vary: by so much others may go beyond


class Moment(IntEnum):
    """Where the model is evaluated."""

    AHEAD = 0
    AT = 1
    BEGIN = 2
    MIDDLE = 3


STEPS_AHEAD = {Moment.AHEAD: 1.0, Moment.AT: 0.0, Moment.BEGIN: 0.0, Moment.MIDDLE: 0.5}


@dataclass(frozen=True)
class Weights:
    """value = left v-[back] + right v+[back] + slope (v+[back+1] - v-[back]) + now (value now)"""

    back: int
    left: float
    right: float
    slope: float
    now: float


def weights(steps: float, moment: Moment, precision: str = "double") -> Weights:
    """Of a delay of so many steps (not a whole number of them in general)."""
    ahead = STEPS_AHEAD[moment]
    room = NEAR[precision] * max(1.0, steps)
    c = steps - ahead
    if steps <= room:
        return Weights(0, 0.0, 0.0, 0.0, 1.0)
    if c < -room:
        return Weights(0, 0.0, 1.0 + c / ahead, 0.0, -c / ahead)
    back = math.floor(c + room)
    share = c - back
    if moment is Moment.BEGIN and steps < 1.0 - room:
        return Weights(0, 1.0, share - 1.0, share, 1.0 - share)
    if share > room:
        return Weights(back, 1.0, 0.0, share, 0.0)
    left = 1.0 if moment is Moment.AHEAD else 0.0
    return Weights(back, left, 1.0 - left, 0.0, 0.0)


@dataclass(frozen=True)
class Delay:
    """One delay of a model, as written steps know it."""

    number: int  # in the nodes of the model
    time: int  # T, an expression of parameters
    value: int  # what is delayed


def delays_of(program: Program) -> list[Delay]:
    """All delays of a model; an error that names one that steps of a fixed cost cannot have."""
    system, g, out = program.sorted.system, program.graph, []
    shared = Shared(g, program.variables)
    shared.extend()
    for number, node in sorted(delay_nodes(g, program).items()):
        time = delay_time(g, node[3], shared.fixed.__getitem__)
        if time is None:
            what = delay_words(program, Delay(number, -1, node[4]))
            raise NotSupportedError(
                f"{system.name} cannot become a real-time step: by how much delay({what}, ...) delays changes in a run",
                hint="delay by a time of parameters alone: delay(x, T) with a parameter T",
            )
        out.append(Delay(number, time, node[4]))
    return out


def delay_words(program: Program, delay: Delay) -> str:
    """What is delayed, as the model says it, shortened."""
    return text(program.graph, delay.value, lambda v: program.variables[v].name, SHOWN, program.sorted.relations)


def steps_of(program: Program, delays: Sequence[Delay], values: Mapping[int, float], tau: float) -> list[float]:
    """T / tau with these values of the parameters."""
    return [t / tau for t in evaluate(program.graph, [one.time for one in delays], values)]


def delay_times(model: NumericModel, parameters: Sequence[Mapping[str, float]]) -> dict[int, tuple[float, float]]:
    """Number of each delay -> its shortest and its longest time with these parameters."""
    equations = model.equations
    if not model.n_delays or equations is None:
        return {}
    delays, system, rows = delays_of(equations.program), equations.sorted.system, []
    number = {one.name: v for v, one in enumerate(system.variables)}
    for one in parameters:
        given = check_parameters(model, one).tolist()
        values = parameter_values(system, {number[name]: x for name, x in zip(model.names.p, given, strict=False)})
        rows.append(steps_of(equations.program, delays, values, 1.0))
    return {one.number: (min(found), max(found)) for one, found in zip(delays, zip(*rows, strict=True), strict=True)}


def check_delays(model: NumericModel, parameters: Sequence[Mapping[str, float]], tau: float) -> None:
    """Refuse delays that a step of this size cannot have."""
    equations = model.equations
    if equations is not None:
        times = delay_times(model, parameters)
        for one in delays_of(equations.program):
            range_of_steps(delay_words(equations.program, one), times[one.number], tau)


def range_of_steps(name: str, times: tuple[float, float], tau: float) -> tuple[float, float]:
    """Least and most steps that a delay may have on the target: those planned for, and a spare where they differ.

    >>> range_of_steps("x", (0.5, 0.5), 0.2), range_of_steps("x", (0.4, 0.8), 0.2), range_of_steps("x", (0.1, 0.1), 0.2)
    ((1.0, 2.5), (1.0, 5.0), (0.0, 1.0))
    """
    low, high = times[0] / tau, times[1] / tau
    if not (low >= 0.0 and math.isfinite(high)):
        raise ArgumentError(
            f"delay({name}, ...) delays by {times[0] if not low >= 0.0 else times[1]:g} s",
            hint="give it a time from 0 up",
        )
    if high > LARGEST:
        raise NotSupportedError(
            f"delay({name}, ...) reaches back over {high:.3g} steps of {tau:g} s: as many values would be kept",
            hint=f"a larger step, or a shorter delay: at most {LARGEST} steps",
        )
    near = low < 1.0 - NEAR["double"]
    spare = SPARE * (high - low)
    return (0.0 if near else 1.0), max(math.ceil(high + spare) if spare else high, 1.0)


class Past:
    """What the delays of a model have seen along a run of steps, values before and after what happens at their ends."""

    def __init__(self, steps: Sequence[float], count: int, start: Matrix) -> None:
        """``count`` steps are made; ``start``: what is delayed at the start."""
        self.steps = list(steps)
        self.rows = np.empty((count + 1, 2, len(self.steps)))  # v-, v+
        self.rows[0] = start
        self._weights: dict[Moment, list[Weights]] = {}

    def weights(self, moment: Moment) -> list[Weights]:
        """Of each delay."""
        if moment not in self._weights:
            self._weights[moment] = [weights(one, moment) for one in self.steps]
        return self._weights[moment]

    def known(self, done: int, moment: Moment) -> tuple[Matrix, Matrix]:
        """What is known of each value when so many steps have been made, and the share of the value now."""
        known, share = np.empty(len(self.steps)), np.empty(len(self.steps))
        for k, w in enumerate(self.weights(moment)):
            left, right = self.rows[max(done - w.back, 0), :, k]
            older = self.rows[max(done - w.back - 1, 0), 1, k]
            with np.errstate(all="ignore"):  # of a run that diverges
                known[k] = w.left * left + w.right * right + w.slope * (older - left)
            share[k] = w.now
        return known, share
