"""How far a run of the plan is from the accurate one: what the verdict counts.

    error of a name = max_k dist(v_k, { v(t) : t_k - step <= t <= t_k + step }) / range of the name over all scenarios

v_k is the plan's value at the end of step k, v(t) the accurate run; both sides of a jump belong to the set, what lies
between them does not. A curve that is late by a step is right: the time of a value is not known better on the target.
The range is that of the accurate runs; of a name that does not move its nominal value stands for it. Tolerances of
these runs follow the ranges: where those of the first ones are no small part of the range of an unknown, they are made
again. A name with a range near the tolerance moves if two runs of different tolerances say so. Between rows of
the accurate run (a few in each step, and both sides of every jump) the set is the interval of neighbouring values.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.arguments import is_number
from pliant.errors import ArgumentError, PliantError, SimulationInterrupted, UnknownNameError
from pliant.realtime.scenario import Scenario
from pliant.realtime.sparsing.linearise import Matrix, Trace, Walker
from pliant.solve.models.numeric import NumericModel
from pliant.solve.names import is_hidden, suggestion
from pliant.solve.options import ATOL_SHARE, check_request
from pliant.solve.results.result import Result
from pliant.solve.run.simulate import simulate

DEFAULT = 0.05
REFERENCE_RTOL = 1e-8
REFERENCE_SECONDS = 120.0
LONGER = 10.0  # times a first run may a sharper one take
WITHIN = 4  # rows of the accurate run in each step
LARGEST_STORE = 20_000_000  # numbers of one accurate run; beyond it fewer rows in each step
RESOLVED = 10.0  # times the tolerance of the accurate run: what moves by less does not move
ATOL_RANGE = 1e-10  # of the range of an unknown, in runs that are made again
NEAR = 1e-7  # of a range: an absolute tolerance above it is too large
RTOL_RANGE = 1e-4  # of a range: the relative tolerance of values above it is too large
SHARPEST = 1e-12  # relative tolerance
AGAIN = 3  # times that accurate runs are made again at most
COARSE = 0.1  # of what is allowed: an error of accurate runs that is told
AGREE = 1e-2  # of a range: two runs that are this close show that it is none of rounding
SAME_TIME = 1e-9  # of a step


@dataclass(frozen=True)
class Name:
    """A judged name: where its values come from, and what is allowed."""

    name: str
    in_x: bool  # otherwise in y
    place: int
    sign: int
    limit: float  # share of the range; infinite: told, not judged
    nominal: float


@dataclass(frozen=True)
class Accuracy:
    """What was asked for: ``given`` is a number, a mapping by name, or None."""

    given: float | Mapping[str, float | None] | None
    names: tuple[Name, ...]

    @property
    def limits(self) -> Matrix:
        """(m,) what is allowed."""
        return np.array([one.limit for one in self.names])

    @property
    def is_judged(self) -> bool:
        """Is there anything that may fail?"""
        return any(np.isfinite(one.limit) for one in self.names)


def _limit(what: str, value: Any) -> float:
    if value is None:
        return np.inf
    if not (is_number(value) and 0.0 < float(value) < np.inf):
        raise ArgumentError(
            f"{what} = {value!r} is not valid: it must be a positive number",
            hint="the error that is allowed as a share of the range, e.g. .05, or None: not judged",
        )
    return float(value)


def _find(model: NumericModel, name: str) -> tuple[bool, int, int] | None:
    """(in x?, place, sign) of a name; None where it is no variable that moves by the equations."""
    names = model.names
    target, sign = names.behind(name)
    for in_x, listed in ((True, names.x), (False, names.y)):
        if target in listed and not is_hidden(target):
            return in_x, listed.index(target), sign
    return None


def check_accuracy(model: NumericModel, accuracy: Any, judged: Any) -> Accuracy:
    """Names and limits; every name that the model does not have, and every limit that is not valid, is refused.

    accuracy   a number, a mapping by name (others: 5 %), None: not judged
    judged     names; None: all states and declared outputs (of a model with hidden memory: all states), and what
               ``accuracy`` names
    """
    known = [name for name in (*model.names.x, *model.names.y, *model.names.aliases) if not is_hidden(name)]
    if judged is not None and (isinstance(judged, (str, Mapping)) or not isinstance(judged, Sequence) or not judged):
        raise ArgumentError(
            f"judged must be a list of names, not {judged!r}",
            hint="e.g. judged=['w', 'torque']; None: all states and declared outputs",
        )
    is_mapping = isinstance(accuracy, Mapping)
    if is_mapping and not accuracy:
        raise ArgumentError("accuracy is an empty mapping", hint="a number, e.g. .05, or None: not judged")
    given = dict(accuracy) if is_mapping else {}
    for what, listed in (("accuracy", list(given)), ("judged", list(judged or ()))):
        for name in listed:
            if not isinstance(name, str) or _find(model, name) is None:
                raise UnknownNameError(
                    f"{what}: the model has no state or output {name!r}", hint=suggestion(str(name), known)
                )
    limits = {name: _limit(f"accuracy of {name}", value) for name, value in given.items()}
    usual = DEFAULT if is_mapping else _limit("accuracy", accuracy)
    if judged is None:
        states = [name for name in model.names.x if name not in model.names.algebraic and not is_hidden(name)]
        outputs = () if model.has_hidden_memory else model.known.outputs  # they follow memory that cannot be set
        wanted = [*states, *(name for name in outputs if _find(model, name)), *limits]
    else:
        wanted = list(judged)
        outside = [name for name in limits if name not in wanted]
        if outside:
            raise ArgumentError(
                f"accuracy names {outside[0]}, which is not among judged",
                hint="name it in judged=, too, or leave it out",
            )
    info = model.known.variables
    names = []
    for name in dict.fromkeys(wanted):
        found = _find(model, name)
        assert found is not None
        nominal = info[name].nominal if name in info else None
        names.append(Name(name, *found, limits.get(name, usual), 1.0 if nominal is None else abs(nominal)))
    return Accuracy(given if is_mapping else None if accuracy is None else usual, tuple(names))


# -------------------------------------------------------------------------------------------------- accurate run


@dataclass(eq=False)
class AccurateRun:
    """One scenario, accurately: values at the ends of the steps, and the intervals of values within each step."""

    x: Matrix  # (N + 1, n) all unknowns at the ends of the steps
    low: Matrix  # (S, m) of the judged names, on S stretches of time
    high: Matrix
    step: NDArray[np.intp]  # (S,) number of the step that a stretch lies in, ascending
    lowest: Matrix  # (m,)
    highest: Matrix
    size: Matrix  # (m,) largest modulus

    def apart(self, other: AccurateRun) -> Matrix:
        """(m,) largest distance of another accurate run from this one."""
        first, second = self._by_steps(), other._by_steps()
        rows = min(len(first), len(second))
        away = np.abs(first[:rows] - second[:rows]).max(axis=0, initial=0.0)
        return np.asarray(np.maximum(*np.split(away, 2)))

    def _by_steps(self) -> Matrix:
        """(steps, 2 m) lowest and highest values within each step."""
        _, first = np.unique(self.step, return_index=True)
        return np.hstack([np.minimum.reduceat(self.low, first, axis=0), np.maximum.reduceat(self.high, first, axis=0)])

    def distance(self, values: Matrix) -> Matrix:
        """(N + 1, m) from values at the ends of steps to what this run takes within a step around them."""
        known, first = np.unique(self.step, return_index=True)  # not all where the model ended its run
        out = np.full(values.shape, np.inf)
        for side in (0, 1):
            there = values[self.step + side]
            apart = np.maximum(np.maximum(self.low - there, there - self.high), 0.0)
            out[known + side] = np.minimum(out[known + side], np.minimum.reduceat(apart, first, axis=0))
        out[int(known[-1]) + 2 :] = 0.0
        return np.where(np.isfinite(values), out, np.inf)


@dataclass(frozen=True, eq=False)
class Tolerances:
    """Of accurate runs."""

    rtol: float
    atol: Matrix  # (n,)
    seconds: float = REFERENCE_SECONDS

    @staticmethod
    def of(model: NumericModel) -> Tolerances:
        """Where nothing is known of ranges yet."""
        nominal = np.ones(model.n_x) if model.x_nominal is None else np.abs(model.x_nominal)
        return Tolerances(REFERENCE_RTOL, ATOL_SHARE * REFERENCE_RTOL * nominal)

    def sharper(self, size: Matrix, width: Matrix) -> Tolerances:
        """Tolerances for unknowns with these largest values and ranges; the same where they are small enough."""
        moves = width > RESOLVED * self.rtol * size
        coarse = moves & (self.atol > NEAR * width)
        atol = np.where(coarse, np.minimum(self.atol, ATOL_RANGE * width), self.atol)
        share = float(np.min(np.where(moves, width, np.inf) / np.where(size > 0.0, size, 1.0), initial=np.inf))
        rtol = self.rtol
        if rtol > RTOL_RANGE * share:
            rtol = max(SHARPEST, 0.1 * RTOL_RANGE * share)
        return replace(self, rtol=min(rtol, self.rtol), atol=atol)

    def same(self, other: Tolerances) -> bool:
        """Nothing to gain?"""
        return self.rtol == other.rtol and bool((self.atol == other.atol).all())


def _simulated(
    model: NumericModel, scenario: Scenario, given: tuple[float, Matrix | None, Tolerances | None], names: list[str]
) -> Result:
    """``given``: end, rows (None: those of the solver), tolerances (None: the usual ones)."""
    stop, points, tolerances = given
    request = check_request(
        model,
        start=scenario.start,
        stop=stop,
        method="auto",
        rtol=tolerances.rtol if tolerances else REFERENCE_RTOL,
        atol=tolerances.atol if tolerances else None,
        points=points,
        step=None,
        parameters=scenario.parameters,
        start_values=scenario.start_values,
        outputs=names,
        options={"initial": "solve"},
        timeout=tolerances.seconds if tolerances else REFERENCE_SECONDS,
    )
    return simulate(model, request, scenario.inputs, False)


def reference_run(model: NumericModel, trace: Trace, scenario: Scenario) -> Matrix:
    """An accurate simulation at the times of a trace, (N + 1, n)."""
    times = np.concatenate([[scenario.start], trace.t])
    visible = [model.names.x[i] for i in model.all_x]
    result = _simulated(model, scenario, (float(times[-1]), times, None), visible)
    return _all_x(model, result, times, float(trace.t[0]) - scenario.start)


def _all_x(model: NumericModel, result: Result, times: Matrix, step: float) -> Matrix:
    """Unknowns at these times; hidden ones stay zero."""
    rows = np.searchsorted(result.time, times - SAME_TIME * step).clip(max=len(result.time) - 1)
    values = np.zeros((len(times), model.n_x))
    for i in model.all_x:
        values[:, i] = result[model.names.x[i]][rows]
    return values


def accurate_run(
    model: NumericModel, scenario: Scenario, step: float, names: Sequence[Name], tolerances: Tolerances | None = None
) -> AccurateRun:
    """Simulate a scenario for comparison with steps of one size."""
    assert scenario.stop is not None
    count = max(1, round((scenario.stop - scenario.start) / step))
    width = max(1, model.n_x + len(names))
    within = int(np.clip(LARGEST_STORE // (count * width), 1, WITHIN))
    points: Matrix = np.asarray(scenario.start + np.arange(count * within + 1) * (step / within), dtype=np.float64)
    times = points[::within]
    seen = [one.name for one in names]
    columns = list(dict.fromkeys([*(model.names.x[i] for i in model.all_x), *seen]))
    result = _simulated(model, scenario, (float(points[-1]), points, tolerances), columns)
    t, values = result.time, _columns(result, seen)
    jumps: tuple[Matrix, Matrix, Matrix] = (np.zeros(0), values[:0], values[:0])
    if model.struct.n_roots or scenario.inputs or model.known.has_memory:
        jumps = _jumps(_simulated(model, scenario, (float(points[-1]), None, tolerances), columns), seen)
    low, high, at = _stretches(t, values, jumps, scenario.start, step, count)
    everything = np.vstack([values, *jumps[1:]])
    return AccurateRun(
        _all_x(model, result, times, step),
        low,
        high,
        at,
        everything.min(axis=0),
        everything.max(axis=0),
        np.abs(everything).max(axis=0),
    )


def _columns(result: Result, names: Sequence[str]) -> Matrix:
    """(rows, names), also of no names."""
    return np.array([result[name] for name in names]).reshape(len(names), len(result.time)).T


def _jumps(result: Result, names: list[str]) -> tuple[Matrix, Matrix, Matrix]:
    """Times of the jumps, values before and after: rows of the same time."""
    first = np.flatnonzero(np.diff(result.time) == 0.0)
    values = _columns(result, names)
    return np.asarray(result.time[first]), values[first], values[first + 1]


def _stretches(
    t: Matrix, values: Matrix, jumps: tuple[Matrix, Matrix, Matrix], start: float, step: float, count: int
) -> tuple[Matrix, Matrix, NDArray[np.intp]]:
    """Lowest and highest value of each stretch between rows, and its step; jumps end stretches."""
    at, before, after = jumps
    near = np.searchsorted(t, at).clip(1, len(t) - 1)
    near = np.where(at - t[near - 1] < t[near] - at, near - 1, near)
    at = np.where(np.abs(t[near] - at) < SAME_TIME * step, t[near], at)  # ticks and rows that differ by rounding
    times = np.concatenate([at, t, at])
    rank = np.concatenate([np.zeros(len(at)), np.ones(len(t)), np.full(len(at), 2.0)])
    order = np.lexsort((rank, times))
    times, rows = times[order], np.vstack([before, values, after])[order]
    whole = np.flatnonzero(np.diff(times) > 0.0)
    low, high = np.minimum(rows[whole], rows[whole + 1]), np.maximum(rows[whole], rows[whole + 1])
    middle = (0.5 * (times[whole] + times[whole + 1]) - start) / step
    place = np.floor(middle)
    # a jump on the end of a step belongs to the steps on both sides of it, with both its values
    ticks = (at - start) / step
    on_end = np.abs(ticks - np.rint(ticks)) < SAME_TIME
    left = np.rint(ticks[on_end]) - 1
    low, high = (np.vstack([one, after[on_end], before[on_end]]) for one in (low, high))
    place = np.concatenate([place, left, left + 1])
    inside = (place >= 0) & (place < count)
    low, high, place = low[inside], high[inside], place[inside].astype(np.intp)
    sort = np.argsort(place, kind="stable")
    return low[sort], high[sort], place[sort]


# --------------------------------------------------------------------------------------------------------- judge


@dataclass(eq=False)
class Steps:
    """What a run of the step gave: times at the ends of the steps, unknowns from the start on, discrete variables."""

    scenario: Scenario  # inputs as the step saw them
    t: Matrix
    x: Matrix
    memories: Matrix
    written: Mapping[int, Matrix] = field(default_factory=dict)  # outputs of written code, by their places
    past: Matrix | None = None  # what is delayed, see Past


def take_steps(walker: Walker, scenario: Scenario) -> Steps:
    """A run with all entries, nothing but its states kept."""
    times, states, memories = [], [], []
    for k, (t, before, _, _) in enumerate(walker.walk(scenario)):
        if k:
            memories.append(walker.memories)
        times.append(t)
        states.append(before)
    x, d = np.array([*states, walker.end]), np.array([*memories, walker.memories])
    return Steps(scenario, np.array(times), x, d, past=None if walker.past is None else walker.past.rows.copy())


@dataclass(frozen=True, eq=False)
class ScenarioErrors:
    """Errors of the judged names in one scenario."""

    errors: Matrix  # (m,) shares of the ranges
    at: Matrix  # (m,) when
    ratio: float  # largest error in units of what is allowed; 0 where nothing is judged


@dataclass(eq=False)
class Judge:
    """Accurate runs of all scenarios, and the errors of other runs against them."""

    model: NumericModel
    accuracy: Accuracy
    scenarios: Sequence[Scenario]
    step: float
    runs: list[AccurateRun | PliantError] = field(default_factory=list)
    own: Matrix = field(init=False)  # (m,) error of the runs; infinite: not looked at
    tolerances: Tolerances = field(init=False)
    are_sharper: bool = False  # not the usual ones
    coarse: dict[str, float] = field(default_factory=dict)  # names with accurate runs of errors that count, and these

    def prepare(self, report: Callable[[int], object] | None = None) -> Judge:
        """Simulate all scenarios."""
        began = time.perf_counter()
        self.tolerances = Tolerances.of(self.model)
        for k in range(len(self.scenarios)):
            if report is not None:
                report(k)
            self.runs.append(self._tried(k, None))
        self.own = np.full(len(self.accuracy.names), np.inf)
        seconds = 1.0 + LONGER * (time.perf_counter() - began) / max(1, len(self.scenarios))
        self._sharpen(min(seconds, REFERENCE_SECONDS))
        self.scale, self.rests = self._ranges()
        return self

    def _tried(self, k: int, tolerances: Tolerances | None) -> AccurateRun | PliantError:
        try:
            return accurate_run(self.model, self.scenarios[k], self.step, self.accuracy.names, tolerances)
        except SimulationInterrupted:
            raise
        except PliantError as error:
            return error

    def _sharpen(self, seconds: float) -> None:
        """Runs with tolerances that follow the ranges, and how far the last two are apart: the error of the runs."""
        for _ in range(AGAIN if self.good else 0):
            x = [one.x for one in self.good]
            low, high = (np.min([one.min(axis=0) for one in x], axis=0), np.max([one.max(axis=0) for one in x], axis=0))
            wanted = self.tolerances.sharper(np.maximum(np.abs(low), np.abs(high)), high - low)
            if wanted.same(self.tolerances):
                if not self._unresolved().any():
                    return
                wanted = replace(wanted, rtol=max(SHARPEST, 0.1 * wanted.rtol), atol=0.1 * wanted.atol)
            made = [
                self._tried(k, replace(wanted, seconds=seconds)) if isinstance(one, AccurateRun) else one
                for k, one in enumerate(self.runs)
            ]
            new = [one for one in made if isinstance(one, AccurateRun)]
            if len(new) < len(self.good):  # the solver does not get there: rounding, or too stiff
                self.own = np.where(self._doubtful(), np.inf, self.own)
                return
            self.own = np.max([b.apart(a) for a, b in zip(self.good, new, strict=True)], axis=0)
            self.runs, self.tolerances, self.are_sharper = made, wanted, True

    def run_of(self, scenario: Scenario) -> AccurateRun:
        """An accurate run of another scenario."""
        tolerances = self.tolerances if self.are_sharper else None
        return accurate_run(self.model, scenario, self.step, self.accuracy.names, tolerances)

    def _extremes(self) -> tuple[Matrix, Matrix, Matrix]:
        """Lowest and highest value of each name, and the largest modulus."""
        return (
            np.min([one.lowest for one in self.good], axis=0),
            np.max([one.highest for one in self.good], axis=0),
            np.max([one.size for one in self.good], axis=0),
        )

    def _doubtful(self) -> NDArray[np.bool_]:
        """Names that move by little beside their nominal values, perhaps by rounding alone."""
        low, high, size = self._extremes()
        nominal = np.array([one.nominal for one in self.accuracy.names])
        width = high - low
        return (width > RESOLVED * REFERENCE_RTOL * size) & (width <= RESOLVED * REFERENCE_RTOL * ATOL_SHARE * nominal)

    @property
    def good(self) -> list[AccurateRun]:
        """The runs that came to their end."""
        return [one for one in self.runs if isinstance(one, AccurateRun)]

    def _unresolved(self) -> NDArray[np.bool_]:
        """Doubtful names that two runs do not agree on."""
        low, high, _ = self._extremes()
        return self._doubtful() & (self.own > AGREE * (high - low))

    def _ranges(self) -> tuple[Matrix, tuple[str, ...]]:
        """Range of each judged name over all scenarios, and the names that do not move."""
        names = self.accuracy.names
        nominal = np.array([one.nominal for one in names])
        if not self.good:
            return nominal, ()
        low, high, size = self._extremes()
        moves = high - low > RESOLVED * self.tolerances.rtol * size
        moves &= ~self._unresolved()
        with np.errstate(all="ignore"):
            shares = self.own / (high - low)
        told = moves & np.isfinite(self.own) & (shares > COARSE * np.minimum(self.accuracy.limits, 1.0))
        self.coarse = {
            one.name: float(share) for one, share, is_told in zip(names, shares, told, strict=True) if is_told
        }
        rests = tuple(one.name for one, does in zip(names, moves, strict=True) if not does)
        for one, does in zip(names, moves, strict=True):
            if not (does or one.nominal > 0.0) and np.isfinite(one.limit):
                raise ArgumentError(
                    f"{one.name}: no scenario moves it and its nominal value is {one.nominal:g}, so that its range has "
                    "the width zero: errors have no measure",
                    hint=f"give {one.name} a nominal value, a scenario that moves it, or leave it out of judged=",
                )
        return np.where(moves, high - low, np.where(nominal > 0.0, nominal, 1.0)), rests

    def walker(self, order: int) -> Walker:
        """For runs that are to be compared."""
        return Walker(self.model, self.step, order)

    def values(self, steps: Steps | Trace) -> Matrix:
        """(N + 1, m) of the judged names along a run."""
        names = self.accuracy.names
        out = np.empty((len(steps.x), len(names)))
        y = self._outputs(steps) if any(not one.in_x for one in names) else np.zeros((0, 0))
        for j, one in enumerate(names):
            out[:, j] = one.sign * (steps.x[:, one.place] if one.in_x else y[:, one.place])
        return out

    def _outputs(self, steps: Steps | Trace) -> Matrix:
        """All outputs at the ends of the steps; NaN where they cannot be evaluated."""
        walker = self.walker(1)  # outputs do not depend on the order
        walker.begin(steps.scenario, steps.past)
        y = walker.outputs(np.concatenate([[steps.scenario.start], steps.t]), steps.x, steps.memories)
        for place, values in (steps.written if isinstance(steps, Steps) else {}).items():
            y[:, place] = values
        return y

    def found(self, k: int, steps: Steps | Trace) -> ScenarioErrors | None:
        """Errors of a run of scenario k; None without an accurate one."""
        run = self.runs[k]
        if not isinstance(run, AccurateRun):
            return None
        with np.errstate(all="ignore"):
            share = run.distance(self.values(steps)) / self.scale
        worst = np.argmax(share, axis=0)
        errors = np.asarray(share[worst, np.arange(share.shape[1])])
        times = np.concatenate([[steps.scenario.start], steps.t])
        return ScenarioErrors(errors, times[worst], float((errors / self.accuracy.limits).max(initial=0.0)))

    def ratio(self, runs: Sequence[Steps | Trace]) -> float:
        """Largest error over all scenarios in units of what is allowed."""
        found = [self.found(k, one) for k, one in enumerate(runs)]
        return max((one.ratio for one in found if one is not None), default=0.0)


def worst_name(accuracy: Accuracy, errors: Matrix) -> int:
    """The name whose error is largest in units of what is allowed; where nothing is judged the largest error."""
    limits = accuracy.limits
    rank = errors / limits if accuracy.is_judged else errors
    return int(np.argmax(rank))
