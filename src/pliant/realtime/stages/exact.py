"""Stage "linearise": scenarios -> runs with the exact Jacobian -> linearisations, and accurate runs to compare with.

The exact method itself must be stable, and the index one: no pattern can correct what fails here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from pliant.arguments import is_number
from pliant.errors import ArgumentError, NonFiniteError, NotSupportedError, UnknownNameError
from pliant.realtime.evidence.accuracy import Judge
from pliant.realtime.progress import StageClock
from pliant.realtime.sparsing.entry_states import Kept
from pliant.realtime.sparsing.linearisations import LATER, CommonData, Points, pick, ranges
from pliant.realtime.sparsing.linearise import Matrix, Trace, Walker, trace
from pliant.realtime.sparsing.sampled import LoopCheck, with_sampled_loops
from pliant.realtime.sparsing.spectrum import Pencil, singular_hint
from pliant.realtime.stages.outcome import Exact
from pliant.realtime.stages.request import PlanRequest
from pliant.solve.models.numeric import NumericModel
from pliant.solve.names import suggestion

LARGEST = 1500  # unknowns for which dense eigenvalues of hundreds of linearisations are affordable
UNSTABLE_SHARE = 0.5
GROWS = 3.0  # last quarter of a run against its first
ROUNDING = 10 * 2.0**-52  # of the terms of an equation, over a whole run
MOVES = 1e-9  # of the largest value of a state
INDEX_POINTS = 6  # linearisations where the index is looked at


def linearise(model: NumericModel, request: PlanRequest, clock: StageClock) -> Exact:
    """All scenarios with all entries; where wanted, also accurately."""
    check_size(model, request)
    walker = Walker(model, request.step, request.order)
    runs = traces(walker, request, None, partial(clock.tell, "exact runs"))
    frame = make_frame(walker, request, runs)
    points = Points(frame, *pick(runs, request.points(frame.n)))
    with_loops = with_sampled_loops(points, model, runs, request.rule.theta)
    check_stable(model, points, runs, [one for one in with_loops.loops.values() if isinstance(one, LoopCheck)])
    points = with_loops
    clock.mark("exact runs")
    judge = accurate(model, request, clock)
    taken = 0.0 if judge is None else judge.ratio(runs)
    clock.mark("accurate runs")
    return Exact(model, request, frame, runs, points, judge, taken)


def check_size(model: NumericModel, request: PlanRequest) -> None:
    """Can this model be analysed?"""
    if model.n_x > LARGEST and request.options.search != "full":
        raise NotSupportedError(
            f"{model.name} has {model.n_x} unknowns: a search with dense eigenvalues goes up to {LARGEST}",
            hint="options={'search': 'full'} writes the step with all entries",
        )
    model.check_runnable()
    model.check_portable("real-time code", history=True)


def traces(
    walker: Walker, request: PlanRequest, kept: Kept | None, tell: Callable[[float, str], object]
) -> list[Trace]:
    """Every scenario with the entries of the mask; None: with all."""
    scenarios = request.scenarios
    out = []
    for k, scenario in enumerate(scenarios):

        def share(part: float, k: int = k, name: str = scenario.name) -> None:
            tell((k + part) / len(scenarios), name)

        try:
            out.append(trace(walker, scenario.seen(request.options.inputs, tau=request.step), kept, share))
        except ArgumentError as error:  # of a function of time
            if error.message.startswith(f"{scenario.name}: "):
                raise
            raise type(error)(f"{scenario.name}: {error.message}", hint=error.hint) from None
    return out


def check_known(option: str, name: str, names: Sequence[str]) -> None:
    """A name in an option must be a state."""
    if name not in names:
        raise UnknownNameError(f"{option}: the model has no state {name!r}", hint=suggestion(name, names))


def make_frame(walker: Walker, request: PlanRequest, runs: list[Trace]) -> CommonData:
    """What all linearisations share; ranges of the states are those of the runs, divided by the user's weights."""
    names = walker.model.names.x
    scale = ranges(runs, walker.model.x_nominal)
    small = small_ranges(walker, runs)
    scale = np.where(small > 0.0, small, scale)
    for name, weight in request.options.weights.items():
        check_known("weights", name, names)
        if not (is_number(weight) and np.isfinite(weight) and weight >= 0):
            raise ArgumentError(
                f"weights: {weight!r} of {name} is not a number from 0 up",
                hint="2 halves the error that is allowed, 0 ignores the state",
            )
        i = names.index(name)
        scale[i] = np.inf if weight == 0 else scale[i] / weight
    horizon = max(len(one.t) for one in runs)
    return CommonData(
        tuple(names), walker.rows, walker.columns, walker.mass, request.step, scale, horizon, request.order
    )


def small_ranges(walker: Walker, runs: list[Trace]) -> Matrix:
    """Ranges of states that move by more than rounding makes of the terms of their equations, however small they are
    beside a nominal value; 0 for the others."""
    n = len(walker.mass)
    floor, largest, found = np.zeros(n), np.zeros(n), np.zeros(n)
    for run in runs:
        size = np.abs(run.x).max(axis=0)
        length = walker.tau * len(run.t)
        terms = np.abs(run.values).max(axis=0, initial=0.0) * size[walker.columns]
        floor = np.maximum(floor, length * np.bincount(walker.rows, terms, minlength=n))
        walker.begin(run.scenario)
        floor = np.maximum(floor, length * np.abs(walker.inputs.rows).max(initial=0.0))
        largest = np.maximum(largest, size)
        found = np.maximum(found, np.ptp(run.x[int(LATER * len(run.x)) :], axis=0))
    moves = (found > MOVES * largest) & (found > ROUNDING * floor) & np.isfinite(found)
    return np.where(moves, found, 0.0)


def check_stable(model: NumericModel, points: Points, runs: list[Trace], loops: Sequence[LoopCheck] = ()) -> None:
    """The exact method itself must be stable, and the index one.

    A plant that grows by itself may be held by a loop through a sampler: then the loop decides.
    """
    frame = points.frame
    if frame.algebraic.any():
        for p in points.farthest(INDEX_POINTS):
            pencil = Pencil(frame.mass, points.Df[p], frame.tau, frame.names)
            if not pencil.index_is_one:
                raise NotSupportedError(
                    f"{model.name}: the index is above 1 at t = {points.origins[p].time:g} "
                    f"({int(frame.algebraic.sum())} algebraic equations do not determine their unknowns)",
                    hint=singular_hint(True),
                )
    outside = points.radius > 1.0 + 1e-6
    if outside.mean() > UNSTABLE_SHARE and grows(runs):
        p = int(np.argmax(points.radius))
        radius = max((one.radius for one in loops), default=0.0)
        if loops and radius <= 1.0 + 1e-6:
            return
        if loops:
            period = max(one.period for one in loops) * frame.tau
            raise NonFiniteError(
                f"{model.name}: the loop through the sampler grows by the factor {radius:.4g} in each period of "
                f"{period:g} s with the exact Jacobian: it does not hold the plant, which grows by itself "
                f"(largest |eigenvalue| of a step {points.radius[p]:.6g}); the step of {frame.tau:g} is not the cause",
                hint="another gain of the controller, or a clock with a shorter period",
                time=points.origins[p].time,
            )
        raise NonFiniteError(
            f"{model.name}: even with the exact Jacobian the step of {frame.tau:g} is unstable at "
            f"{int(outside.sum())} of {len(points)} linearisations (largest |eigenvalue| {points.radius[p]:.6g} at "
            f"t = {points.origins[p].time:g})",
            hint="a smaller step; or check the scenario with model.simulate: the model itself may be unstable in it",
            time=points.origins[p].time,
        )


def grows(runs: list[Trace]) -> bool:
    """Does a run leave? Limit cycles and pendula have unstable linearisations, too, and stay."""
    for run in runs:
        quarter = max(1, len(run.x) // 4)
        first, last = np.abs(run.x[:quarter]).max(axis=0), np.abs(run.x[-quarter:]).max(axis=0)
        largest = np.maximum(np.abs(run.x).max(axis=0), 1e-300)
        if (last / largest).max() > GROWS * (first / largest).max():
            return True
    return False


def accurate(model: NumericModel, request: PlanRequest, clock: StageClock) -> Judge | None:
    """Accurate runs of the scenarios, if they are wanted."""
    if not request.options.reference:
        return None
    scenarios = request.scenarios
    judge = Judge(model, request.accuracy, scenarios, request.step)
    return judge.prepare(lambda k: clock.tell("accurate runs", k / len(scenarios), scenarios[k].name))
