"""Scenarios: what the model is to go through before a pattern is chosen."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.arguments import Vector, by_name, is_number
from pliant.calls import by_keyword, by_keyword_class
from pliant.errors import ArgumentError
from pliant.plain import AsDict
from pliant.realtime.drawn import DrawnNumber, DrawnSignal
from pliant.solve.models.numeric import NumericModel
from pliant.solve.names import suggestion
from pliant.solve.run.inputs import InputSet, same_time
from pliant.solve.signals.given import read_inputs
from pliant.solve.signals.kinds import ConstantSignal, Declared, FunctionSignal, Signal, TableSignal, Typed


@by_keyword_class
@dataclass(frozen=True)
class Scenario(AsDict):
    """One run that the model must get through.

    inputs        as those of ``Model.simulate``
    parameters    values by name
    start_values  values by name
    stop, start   by default those of the plan
    """

    name: str = ""
    _: KW_ONLY
    inputs: Any = field(default_factory=dict)
    parameters: Mapping[str, float] = field(default_factory=dict)
    start_values: Mapping[str, float] = field(default_factory=dict)
    stop: float | None = None
    start: float = 0.0

    @by_keyword
    def seen(self, mode: str, *, tau: float) -> Scenario:
        """The inputs as a step sees them: at its end ("new"), those of the step before ("held"), or "extrapolated"."""
        if mode == "new" or not self.inputs:
            return self
        return replace(
            self, inputs={name: DelayedSignal(value, mode, tau, self.start) for name, value in self.inputs.items()}
        )

    @by_keyword
    def sampled(self, *, tau: float) -> Scenario:
        """The same with jumps of its inputs where a step sees them: what jumps within a step holds for all of it."""
        moved = {name: _sampled(one, self.start, tau) for name, one in self.inputs.items()}
        return self if all(moved[name] is one for name, one in self.inputs.items()) else replace(self, inputs=moved)

    def __post_init__(self) -> None:
        for part in ("parameters", "start_values"):
            object.__setattr__(self, part, by_name(part, getattr(self, part)))
        for part in ("start", "stop"):
            value = getattr(self, part)
            if not (is_number(value) or (part == "stop" and value is None)):
                raise ArgumentError(f"{part} must be a number, not {value!r}", hint="a time in seconds")
        object.__setattr__(self, "inputs", read_inputs(self.inputs))


def _sampled(signal: Signal, start: float, tau: float) -> Signal:
    """A table whose jumps lie at the beginnings of steps; other signals as they are."""
    if not isinstance(signal, TableSignal):
        return signal
    times, values = (np.array(one) for one in signal.points)
    jumps = np.flatnonzero((np.diff(times) == 0.0) & (np.diff(values) != 0.0))
    steps = (times[jumps] - start) / tau
    inside = jumps[(steps > 0.0) & (np.abs(steps - np.rint(steps)) > SAME_STEP)]
    if not len(inside):
        return signal
    begins = start + tau * np.floor((times[inside] - start) / tau)
    times[inside], times[inside + 1] = begins, begins
    times = np.minimum.accumulate(times[::-1])[::-1]  # what lies between goes along
    moves = np.diff(times) > 0.0
    ends = np.append(True, moves) | np.append(moves, True)  # of more than two values at one time the first and the last
    return TableSignal(times[ends], values[ends], signal.origin, signal.held)


@dataclass(frozen=True, eq=False)
class DelayedSignal(Signal):
    """An input whose value at the end of a step is made from earlier samples."""

    signal: Signal
    mode: str
    tau: float
    start: float

    def typed(self, name: str, declared: Declared, stop: float = math.inf) -> Typed:
        """As a function of time; what changes at jumps only is held, never extrapolated."""
        known = self.signal.typed(name, declared, stop)
        if isinstance(known, ConstantSignal):
            return known
        tau, start = self.tau, self.start

        jumps = known.jumps

        def at_end(t: float) -> float:
            """From the end of a step on, also where its time is rounded."""
            t = max(t, start)
            k = int(np.searchsorted(jumps, t + same_time(t, tau), side="right")) - 1
            return known.at(max(t, float(jumps[k])) if k >= 0 else t)

        def delayed(t: float) -> float:
            last = at_end(t - tau)
            if self.mode == "held" or declared.held:
                return last
            return 2.0 * last - at_end(t - 2.0 * tau)

        return FunctionSignal(delayed, is_typed=True)

    def element(self, name: str, index: Sequence[int], sizes: Sequence[int]) -> Signal | None:
        """Elements of an array are delayed, too."""
        found = self.signal.element(name, index, sizes)
        return None if found is None else replace(self, signal=found)


@dataclass(frozen=True, eq=False)
class StepInputs:
    """Inputs of a run as its steps get them."""

    start: Vector  # (n_u,)
    before: NDArray[np.float64]  # (N, n_u) up to the end of each step
    after: NDArray[np.float64]  # (N, n_u) from there on: another value where they jump there

    @staticmethod
    def of(inputs: InputSet, scenario: Scenario, tau: float) -> StepInputs:
        """Inputs at the ends of all steps of a scenario."""
        before, after = inputs.around(step_times(scenario, tau), tau)
        return StepInputs(after[0], before[1:], after[1:])

    @property
    def rows(self) -> NDArray[np.float64]:
        """(N + 1, n_u): what holds from the start and from the end of each step on."""
        return np.vstack([self.start[None, :], self.after])

    @property
    def jumps(self) -> NDArray[np.intp]:
        """Numbers of the steps at whose ends inputs jump."""
        return np.flatnonzero((self.before != self.after).any(axis=1))

    def first(self, count: int) -> StepInputs:
        """Those of the first steps."""
        return StepInputs(self.start, self.before[:count], self.after[:count])

    def as_type(self, kind: Any) -> StepInputs:
        """In the precision of a step."""
        return StepInputs(*(np.ascontiguousarray(one, dtype=kind) for one in (self.start, self.before, self.after)))


def with_types(model: NumericModel, scenario: Scenario) -> Scenario:
    """Numbers that were drawn, as their names have them in this model: whole ones of Integers and the like."""
    parts = (scenario.parameters, scenario.start_values)
    if not any(isinstance(value, DrawnNumber) for part in parts for value in part.values()):
        return scenario

    def typed(name: str, value: float) -> float:
        if not isinstance(value, DrawnNumber):
            return value
        info = model.known.variables.get(name)
        low = -math.inf if info is None or info.min is None else info.min
        high = math.inf if info is None or info.max is None else info.max
        declared = Declared(model.known.type(name), True, low, high, () if info is None else info.literals)
        return value.typed(f"{scenario.name}: {name}", declared)

    parameters, starts = ({name: typed(name, value) for name, value in part.items()} for part in parts)
    return replace(scenario, parameters=parameters, start_values=starts)


STOP_SHARE = 1e-3  # of a step: a run that ends as near to its stop ends there
SAME_STEP = 1e-6  # of a step: a jump as near to the end of one is seen there
JUMP_SHARE = 1e-9  # of a step: a jump as near to the end of a step lies on it
JUMP_ROUNDING = 8 * 2.0**-52  # of t: times of models and t0 + k tau differ by rounding


def jump_room(tau: float, t: float) -> float:
    """How far a time that a model names may be from the end of a step, and is the same."""
    return JUMP_SHARE * tau + JUMP_ROUNDING * abs(t)


def step_times(scenario: Scenario, tau: float) -> Vector:
    """Start and ends of all steps."""
    assert scenario.stop is not None
    count = max(1, round((scenario.stop - scenario.start) / tau))
    return np.asarray(scenario.start + tau * np.arange(count + 1), dtype=np.float64)


def check_whole(rows: float, scenario: Scenario, tau: float) -> None:
    """A run that cannot end where it should: the step of a plan is fixed."""
    if rows > 0.0 and abs(rows - round(rows)) > STOP_SHARE:
        ends = [scenario.start + tau * k for k in (math.floor(rows), math.ceil(rows)) if k]
        raise ArgumentError(
            f"stop = {scenario.stop:g} is no whole number of steps of {tau:g} after start = {scenario.start:g}",
            hint=" or ".join(f"stop={end:.12g}" for end in ends),
        )


def check_ends(scenarios: Sequence[Scenario], usual: float, tau: float) -> None:
    """Ends that scenarios have of their own."""
    for one in scenarios:
        if one.stop is not None and one.stop != usual:
            try:
                check_whole((one.stop - one.start) / tau, one, tau)
            except ArgumentError as error:
                raise ArgumentError(f"{one.name}: {error.message}", hint=error.hint) from None


def make_scenarios(given: Any, stop: float) -> list[Scenario]:
    """Scenarios from what a user gave: None, one or a sequence of mappings or Scenario objects."""
    if given is None:
        given = [Scenario()]
    if isinstance(given, (Scenario, Mapping)):
        given = [given]
    if isinstance(given, str) or not isinstance(given, Sequence) or not given:
        raise ArgumentError(
            f"scenarios must be a list of scenarios, not {given!r}",
            hint="e.g. scenarios=[{'parameters': {'mass': 2.0}}, {'inputs': {'u': 'drive.csv'}}]",
        )
    out: list[Scenario] = []
    for k, one in enumerate(given):
        scenario = one if isinstance(one, Scenario) else _from_mapping(one, k)
        _check_finite(scenario, scenario.name or f"scenario {k + 1}")
        end = stop if scenario.stop is None else scenario.stop
        if not (math.isfinite(end) and end > scenario.start):
            raise ArgumentError(
                f"{scenario.name or f'scenario {k + 1}'}: stop = {end} does not lie after start = {scenario.start}",
                hint="give a later stop",
            )
        drawn = {
            name: one.during(scenario.start, float(end)) if isinstance(one, DrawnSignal) else one
            for name, one in scenario.inputs.items()
        }
        out.append(replace(scenario, stop=float(end), name=scenario.name or f"scenario {k + 1}", inputs=drawn))
    return out


def _check_finite(scenario: Scenario, name: str) -> None:
    """Its times must be finite; values by name are checked where the model is known."""
    if not math.isfinite(scenario.start):
        raise ArgumentError(f"{name}: start = {scenario.start} is not a finite number", hint="a time in seconds")


def _from_mapping(given: Any, k: int) -> Scenario:
    known = [one.name for one in fields(Scenario)]
    if not isinstance(given, Mapping):
        raise ArgumentError(f"a scenario must be a mapping, not {given!r}", hint=f"with the keys {', '.join(known)}")
    for key in given:
        if key not in known:
            raise ArgumentError(f"a scenario has no part {key!r}", hint=suggestion(str(key), known))
    try:
        return Scenario(**dict(given))
    except ArgumentError as error:
        name = given.get("name") or f"scenario {k + 1}"
        raise type(error)(f"{name}: {error.message}", hint=error.hint) from None
