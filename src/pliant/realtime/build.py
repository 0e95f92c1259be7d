"""From a model and a step to a plan: the stages in order, each readable on its own.

    scenarios -> exact runs -> linearisations -> search -> runs with the pattern -> check again -> evidence -> plan

Linearisations of the sparsed runs join the check; where one refuses the pattern, the search goes on with it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from pliant.errors import (
    ArgumentError,
    NonFiniteError,
    NotSupportedError,
    SimulationInterrupted,
    SingularError,
    SolverError,
    UnknownNameError,
)
from pliant.jacobian.colouring import colour
from pliant.realtime.accept import Checker, Rule
from pliant.realtime.accuracy import Accuracy, Judge
from pliant.realtime.bias import largest, predicted_error
from pliant.realtime.elimination import Elimination, assign_rows, eliminate
from pliant.realtime.linearise import Mask, Matrix, Trace, Walker, trace
from pliant.realtime.options import RealtimeOptions
from pliant.realtime.points import Frame, Points, pick, ranges
from pliant.realtime.scenario import Scenario
from pliant.realtime.search import Found, Settings, Stage, restart_noise, search_pattern, violators
from pliant.realtime.spectrum import Pencil
from pliant.realtime.static_lu import quality
from pliant.solve.names import suggestion
from pliant.solve.numeric import NumericModel

LARGEST = 600  # unknowns for which dense eigenvalues of hundreds of linearisations are affordable
AGAIN = 6  # how often the search goes on after a run with its pattern
ROOM, WORTH, WIDEST = 0.95, 1.3, 4.0  # the share of the tolerance aimed at; room worth a further search; most of it
MEASURED = 1.1  # by so much the measured error may exceed the tolerance
UNSTABLE_SHARE = 0.5
GROWS = 3.0  # last quarter of a run against its first
INDEX_POINTS = 6  # linearisations where the index is looked at
SOUND_GROWTH, SOUND_PIVOT = 1e3, 1e-8  # of rows scaled to one


@dataclass(frozen=True)
class Progress:
    """Where the making of a plan stands."""

    stage: str  # "exact runs", "accurate runs", "search", "sparsed runs", "evidence"
    share: float  # of the stage
    text: str = ""
    seconds: float = 0.0


Report = Callable[[Progress], object]


@dataclass(frozen=True, eq=False)
class Request:
    """What was asked for, checked."""

    step: float
    scenarios: list[Scenario]
    rule: Rule
    order: int
    options: RealtimeOptions
    accuracy: Accuracy


@dataclass(eq=False)
class Outcome:
    """Everything found on the way, for the plan and its evidence."""

    model: NumericModel
    request: Request
    frame: Frame
    exact: list[Trace]
    points: Points  # of the exact runs
    masked_points: Points  # of the runs with the pattern
    masked: list[Trace]
    found: Found
    elimination: Elimination
    full: Elimination
    colours: int
    full_colours: int
    seconds: dict[str, float]
    judge: Judge | None  # accurate runs, where they are wanted

    @property
    def mask(self) -> Mask:
        """Which entries of Df stay."""
        return self.found.mask


class Builder:
    """Goes through the stages."""

    def __init__(self, model: NumericModel, request: Request, report: Report) -> None:
        self.model, self.request = model, request
        self.begin = time.perf_counter()
        self.report = report
        self.seconds: dict[str, float] = {}
        self.walker = Walker(model, request.step, request.order)
        self._check_model()

    def _tell(self, stage: str, share: float, text: str = "") -> None:
        self.report(Progress(stage, share, text, time.perf_counter() - self.begin))

    def _check_model(self) -> None:
        n = self.model.n_x
        if n > LARGEST and self.request.options.search != "full":
            raise NotSupportedError(
                f"{self.model.name} has {n} unknowns: a search with dense eigenvalues goes up to {LARGEST}",
                hint="options={'search': 'full'} writes the step with all entries",
            )
        self.model.check_runnable()

    def run(self) -> Outcome:
        """All stages."""
        request = self.request
        exact = self.exact = self._traces("exact runs", None)
        frame = self._frame(exact)
        points = Points(frame, *pick(exact, request.options.points))
        self._check_stable(points)
        self._mark("exact runs")
        self.judge = self._judge()
        self._mark("accurate runs")
        free = self._free(frame)
        found, masked, masked_points, points = self._search(points, free)
        mask = found.mask
        elimination = self._order(points, mask)
        everything: Mask = np.ones(frame.n_entries, dtype=bool)
        return Outcome(
            self.model,
            request,
            frame,
            exact,
            points,
            masked_points,
            masked,
            found,
            elimination,
            self._order(points, everything),
            colour(frame.n, frame.n, frame.rows[mask], frame.columns[mask]).n_colours,
            colour(frame.n, frame.n, frame.rows, frame.columns).n_colours,
            self.seconds,
            self.judge,
        )

    def _judge(self) -> Judge | None:
        """Accurate runs of the scenarios; how much of what is allowed the step with all entries takes."""
        request = self.request
        if not request.options.reference:
            return None
        judge = Judge(self.model, request.accuracy, request.scenarios, request.step)
        judge.prepare(lambda k: self._tell("accurate runs", k / len(request.scenarios), request.scenarios[k].name))
        self.taken = judge.ratio(self.exact)
        return judge

    def _mark(self, stage: str) -> None:
        self.seconds[stage] = time.perf_counter() - self.begin - sum(self.seconds.values())

    def _traces(self, stage: str, mask: Mask | None) -> list[Trace]:
        scenarios = self.request.scenarios
        out = []
        for k, scenario in enumerate(scenarios):
            out.append(
                trace(
                    self.walker,
                    scenario.seen(self.request.options.inputs, self.request.step),
                    mask,
                    partial(self._run_share, stage, k),
                )
            )
        return out

    def _run_share(self, stage: str, k: int, share: float) -> None:
        scenarios = self.request.scenarios
        self._tell(stage, (k + share) / len(scenarios), scenarios[k].name)

    def _frame(self, exact: list[Trace]) -> Frame:
        scale = ranges(exact, self.model.x_nominal)
        names = self.model.names.x
        for name, weight in self.request.options.weights.items():
            self._known("weights", name)
            if not (isinstance(weight, (int, float)) and np.isfinite(weight) and weight >= 0):
                raise ArgumentError(f"weights: {weight!r} of {name} is not a number from 0 up")
            i = names.index(name)
            scale[i] = np.inf if weight == 0 else scale[i] / weight
        horizon = max(len(one.t) for one in exact)
        walker = self.walker
        return Frame(
            tuple(names),
            walker.rows,
            walker.columns,
            walker.mass,
            self.request.step,
            scale,
            horizon,
            self.request.order,
        )

    def _known(self, option: str, name: str) -> None:
        names = self.model.names.x
        if name not in names:
            raise UnknownNameError(f"{option}: the model has no state {name!r}", hint=suggestion(name, names))

    def _free(self, frame: Frame) -> Mask:
        """Entries that may go: not those of protected rows."""
        free: Mask = np.ones(frame.n_entries, dtype=bool)
        for name in self.request.options.protected:
            self._known("protected", name)
            free[frame.rows == frame.names.index(name)] = False
        return free

    def _check_stable(self, points: Points) -> None:
        """The exact method itself must be stable, and the index one."""
        frame = points.frame
        if frame.algebraic.any():
            for p in points.farthest(INDEX_POINTS):
                pencil = Pencil(frame.mass, points.Df[p], frame.tau, frame.names)
                if not pencil.index_is_one:
                    raise NotSupportedError(
                        f"{self.model.name}: the index is above 1 at t = {points.origins[p].time:g} "
                        f"({int(frame.algebraic.sum())} algebraic equations do not determine their unknowns)",
                        hint="load the model with options={'form': 'ode'}, or reduce the index",
                    )
        outside = points.radius > 1.0 + 1e-6
        if outside.mean() > UNSTABLE_SHARE and self._grows():
            p = int(np.argmax(points.radius))
            raise NonFiniteError(
                f"{self.model.name}: even with the exact Jacobian the step of {self.request.step:g} is unstable at "
                f"{int(outside.sum())} of {len(points)} linearisations (largest |eigenvalue| {points.radius[p]:.6g} at "
                f"t = {points.origins[p].time:g})",
                hint="the model grows by itself in this scenario, or the step is too large for it",
                time=points.origins[p].time,
            )

    def _grows(self) -> bool:
        """Does a run leave? Limit cycles and pendula have unstable linearisations, too, and stay."""
        for run in self.exact:
            quarter = max(1, len(run.x) // 4)
            first, last = np.abs(run.x[:quarter]).max(axis=0), np.abs(run.x[-quarter:]).max(axis=0)
            largest = np.maximum(np.abs(run.x).max(axis=0), 1e-300)
            if (last / largest).max() > GROWS * (first / largest).max():
                return True
        return False

    def _search(self, points: Points, free: Mask) -> tuple[Found, list[Trace], Points, Points]:
        """Search, run with the pattern, check there; the search goes on while something speaks against the pattern.

        The bias that orders the search takes steps as lasting; the recursion along the run does not. Where the two
        differ, the search is given more or less room, and the cheapest pattern whose recursion holds is taken.
        """
        options = self.request.options
        tolerance = self.request.rule.tolerance
        training = points.farthest(options.training)
        if options.search == "full" or not points.frame.n:
            return (*self._full(points, training), points)
        best: tuple[tuple[int, int, int], Found, list[Trace], Points] | None = None
        rule, widened = self.request.rule, False
        for _ in range(AGAIN):
            found = self._best(points, rule, free, training)
            self._mark("search")
            if found.mask.all():
                break
            try:
                masked, there, bad, predicted = self._tried(found, points.frame, rule)
            except SimulationInterrupted:
                raise
            except SolverError:  # the run with this pattern fails, though every linearisation allows it
                rule = replace(rule, tolerance=0.5 * rule.tolerance, theta=0.5 * (1.0 + rule.theta))
                continue
            training = found.training
            if not bad and predicted <= tolerance:
                cost = self._cost(points.frame, found.mask)
                if best is None or cost < best[0]:
                    best = (cost, found, masked, there)
                room = ROOM * tolerance / max(predicted, 1e-12)
                if widened or room < WORTH:
                    break
                widened = True
                rule = replace(rule, tolerance=rule.tolerance * min(room, WIDEST))
            elif bad:
                chosen = [p for _, p in bad[:8]]
                points = points.extended(there.values[chosen], there.dx[chosen], [there.origins[p] for p in chosen])
                training = [*training, *range(len(points) - len(chosen), len(points))]
            else:
                rule = replace(rule, tolerance=rule.tolerance * ROOM * tolerance / predicted)
        return (*(self._full(points, training) if best is None else best[1:]), points)

    def _tried(
        self, found: Found, frame: Frame, rule: Rule
    ) -> tuple[list[Trace], Points, list[tuple[float, int]], float]:
        """Runs with a pattern: traces, linearisations there, those that refuse it, the largest error.

        The error is the predicted one, or the measured one where that is clearly larger: switches and strong
        nonlinearities are beyond the prediction.
        """
        masked = self._traces("sparsed runs", found.mask)
        there = Points(frame, *pick(masked, self.request.options.points, masked=True))
        bad = violators(Checker(there, rule), found.mask)
        errors = [largest(predicted_error(frame, one, found.mask), frame).max() for one in self.exact]
        measured = [largest(one.x - exact.x, frame).max() for one, exact in zip(masked, self.exact, strict=True)]
        errors += [one / MEASURED for one in measured]
        errors.append(self._beyond(masked))
        self._mark("sparsed runs")
        self._tell("sparsed runs", 1.0, f"{len(bad)} linearisations refuse, error {100 * max(errors):.2g} %")
        return masked, there, bad, float(max(errors))

    def _beyond(self, masked: list[Trace]) -> float:
        """A pattern must not spoil what all entries reach: the added error that stands for more than is allowed.

        Where all entries take the share a of the accuracy and the pattern b > 1, the tolerance times (1 - a)/(b - a)
        would have been right.
        """
        if self.judge is None or self.taken >= 1.0:
            return 0.0
        share = self.judge.ratio(masked)
        if share <= 1.0:
            return 0.0
        room = max((1.0 - self.taken) / (share - self.taken), 1e-3) if np.isfinite(share) else 1e-3
        return self.request.rule.tolerance * 1.01 / room

    def _full(self, points: Points, training: list[int]) -> tuple[Found, list[Trace], Points]:
        """Nothing goes."""
        everything: Mask = np.ones(points.frame.n_entries, dtype=bool)
        there = Points(points.frame, *pick(self.exact, self.request.options.points, masked=True))
        return Found(everything, {}, 0, training), self.exact, there

    def _best(self, points: Points, rule: Rule, free: Mask, training: list[int]) -> Found:
        """The search, and the cheapest of its restarts."""
        options = self.request.options

        def tell(stage: Stage) -> None:
            words = f"round {stage.round}, {stage.move}: {stage.entries} of {points.frame.n_entries} entries"
            if stage.violators is not None:
                words += f", {stage.violators} linearisations refuse"
            self._tell("search", stage.share, words)

        settings = Settings(free, training, options.rounds, options.cluster_cut)
        best = search_pattern(points, rule, settings, tell)
        if not options.restarts or best.mask.all():
            return best
        cost = self._cost(points.frame, best.mask)
        for k in range(options.restarts):
            noise = restart_noise(points.frame.n_entries, options.seed + k)
            other = search_pattern(points, rule, replace(settings, training=best.training, noise=noise), tell)
            if self._cost(points.frame, other.mask) < cost:
                best, cost = other, self._cost(points.frame, other.mask)
        return best

    def _cost(self, frame: Frame, mask: Mask) -> tuple[int, int, int]:
        """Operations, colours, entries."""
        places = zip(frame.rows[mask].tolist(), frame.columns[mask].tolist(), strict=True)
        found = eliminate(frame.n, places)
        colours = colour(frame.n, frame.n, frame.rows[mask], frame.columns[mask]).n_colours
        return found.factor_flops, colours, len(found.entries)

    def _order(self, points: Points, mask: Mask) -> Elimination:
        """Pivots on the diagonal where that is sound at all points, otherwise on large entries; then Markowitz."""
        frame = points.frame
        if not frame.n:
            return eliminate(0, ())
        matrices = frame.mass - frame.tau * frame.dense(np.where(mask, points.values, 0.0))
        places = set(zip(frame.rows[mask].tolist(), frame.columns[mask].tolist(), strict=True))
        mass = {(int(i), int(j)) for i, j in np.argwhere(frame.mass != 0.0)}
        alone = frozenset(mass - places)
        places |= mass
        right = np.ones((len(points), frame.n))
        best: tuple[float, Elimination] | None = None
        size = np.abs(matrices)
        scaled: Matrix = size / np.maximum(size.max(axis=2, keepdims=True), 1e-300)
        for row_of in (None, assign_rows(scaled.min(axis=0)), assign_rows(scaled.mean(axis=0))):
            if row_of is None and not all((i, i) in places for i in range(frame.n)):
                continue
            found = replace(eliminate(frame.n, places, row_of), mass_only=alone)
            judged = quality(found, matrices, right, np.float64)
            if judged.growth <= SOUND_GROWTH and judged.smallest_pivot >= SOUND_PIVOT:
                return found
            rank = judged.growth / max(judged.smallest_pivot, 1e-300)
            if np.isfinite(rank) and (best is None or rank < best[0]):
                best = (rank, found)
        if best is None:
            raise SingularError(
                f"{self.model.name}: no fixed order of elimination has a pivot for every unknown",
                hint="another step, or form='ode'",
            )
        return best[1]
