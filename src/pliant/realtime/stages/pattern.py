"""Stage "search": linearisations -> the pattern, with its runs and its order of elimination.

    search -> runs with the pattern -> check there; the search continues while a check fails

The bias that orders the search takes steps as lasting; the recursion along the run does not. Where the two differ, the
search is given more or less room, and the cheapest pattern whose recursion holds is taken. Linearisations of the
sparsed runs that refuse a pattern join the search (docs/theory/sparsing.md).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from pliant.errors import SimulationInterrupted, SolverError
from pliant.realtime.code.entry_cost import entry_cost
from pliant.realtime.progress import StageClock
from pliant.realtime.sparsing.accept import AcceptRule, Checker
from pliant.realtime.sparsing.bias import largest, predicted_error
from pliant.realtime.sparsing.entry_states import EntryStates, Mask
from pliant.realtime.sparsing.freezing import Freezing
from pliant.realtime.sparsing.linearisations import LARGE, CommonData, Points, pick
from pliant.realtime.sparsing.linearise import Trace, Walker
from pliant.realtime.sparsing.price import Price
from pliant.realtime.sparsing.search import (
    FurtherMoves,
    SearchResult,
    Settings,
    Stage,
    restart_noise,
    search_pattern,
    unstable,
)
from pliant.realtime.sparsing.static_lu import sound_order
from pliant.realtime.stages.exact import check_known, traces
from pliant.realtime.stages.outcome import Exact, Outcome
from pliant.solve.binding.colouring import colour

WITHOUT = 3  # attempt from which on nothing is frozen where the runs exceeded the tolerance
AGAIN = 6  # how often the search goes on after a run with its pattern
ROOM, WORTH, WIDEST = 0.95, 1.3, 4.0  # the share of the tolerance aimed at; room worth a further search; most of it
LOOPS = 2  # sampled loops among the first training points: those that decay least
SPOILS = 0.1  # share of the error of all entries that a pattern may add where these use up the accuracy
MEASURED = 1.1  # by so much the measured error may exceed the tolerance


Choice = tuple[SearchResult, Settings]


@dataclass(frozen=True, eq=False)
class Tried:
    """A pattern and the runs with it."""

    found: SearchResult
    runs: list[Trace]
    points: Points
    bad: list[tuple[float, int]]  # linearisations of these runs that refuse it
    error: float  # largest, in units of the ranges


def find_pattern(exact: Exact, clock: StageClock) -> Outcome:
    """The cheapest pattern that every test allows, or all entries."""
    free, price = may_go(exact), price_of(exact)
    if exact.request.options.search == "full" or not exact.frame.n:
        tried, points = full(exact), exact.points
    else:
        tried, points = search(exact, free, price, clock)
    frame, mask = exact.frame, tried.found.mask
    everything: Mask = np.ones(frame.n_entries, dtype=bool)
    return Outcome(
        exact.model,
        exact.request,
        frame,
        exact.runs,
        points,
        tried.points,
        tried.runs,
        tried.found,
        sound_order(points, tried.found.states, exact.model.name),
        sound_order(points, everything, exact.model.name),
        n_colours(frame, mask),
        n_colours(frame, everything),
        exact.judge,
        price,
    )


def full(exact: Exact, training: list[int] | None = None) -> Tried:
    """Nothing goes."""
    options = exact.request.options
    everything: Mask = np.ones(exact.frame.n_entries, dtype=bool)
    chosen = exact.points.farthest(options.training) if training is None else training
    there = Points(exact.frame, *pick(exact.runs, exact.request.points(exact.frame.n), masked=True))
    return Tried(SearchResult(EntryStates.of(everything), {}, 0, chosen), exact.runs, there, [], 0.0)


def search(exact: Exact, free: Mask, price: Price, clock: StageClock) -> tuple[Tried, Points]:
    """Searches and runs with what they find, in turn; the pattern, and the linearisations it was tested with."""
    rule, points, widened = exact.request.rule, exact.points, False
    tolerance = rule.tolerance
    training = points.farthest(exact.request.options.training)
    training += [p for p in sorted(points.loops, key=lambda p: -points.loops[p].radius)[:LOOPS] if p not in training]
    moves = freezing(exact, price)
    best: tuple[float, Tried] | None = None
    settings, narrowed = Settings(free, training, before=moves, after=moves), False
    for attempt in range(AGAIN):
        settings = replace(settings, training=training)
        found = cheapest(exact, points, rule, settings, price, clock)
        if attempt == 0 and exact.frame.n <= LARGE:
            found, settings = best_order(exact, points, rule, (found, settings), price, clock)
        clock.mark("search")
        if found.states.all_computed:
            break
        try:
            tried = run_with(exact, found, rule, clock)
        except SimulationInterrupted:
            raise
        except SolverError:  # the run with this pattern fails, though every linearisation allows it
            rule = replace(rule, tolerance=0.5 * rule.tolerance, theta=0.5 * (1.0 + rule.theta))
            continue
        training = found.training
        if not tried.bad and tried.error <= tolerance:
            asked = price.of(found.states).total
            if best is None or asked < best[0]:
                best = (asked, tried)
            room = ROOM * tolerance / max(tried.error, 1e-12)
            if widened or room < WORTH:
                break
            widened = True
            rule = replace(rule, tolerance=rule.tolerance * min(room, WIDEST))
            settings = replace(settings, first=found.states)
        elif best is not None and exact.frame.n > LARGE:  # less of that room, once: searches are long
            if narrowed or tried.bad:
                break
            narrowed = True
            rule = replace(rule, tolerance=rule.tolerance * ROOM**3 * tolerance / tried.error)
        elif tried.bad:
            chosen = [p for _, p in tried.bad[:8]]
            there = tried.points
            points = points.extended(there.values[chosen], there.dx[chosen], [there.origins[p] for p in chosen])
            training = [*training, *range(len(points) - len(chosen), len(points))]
            settings = replace(settings, first=found.states)
        else:
            rule = replace(rule, tolerance=rule.tolerance * ROOM * tolerance / tried.error)
            settings = replace(settings, first=None)
            points = points.with_start()  # steps that no search has seen
            settings = replace(settings, before=None, after=None) if attempt == WITHOUT and best is None else settings
    return (full(exact, training) if best is None else best[1]), points


def best_order(
    exact: Exact, points: Points, rule: AcceptRule, first: Choice, price: Price, clock: StageClock
) -> Choice:
    """The cheapest of three searches: freezing first; dropping first, by effect; dropping first, by savings for effect.

    None of these orders is always the best, and to hold what could have gone costs fill.
    """
    late = replace(first[1], before=None, training=first[0].training)
    others = [late] if first[1].before is not None else []
    others += [replace(late, saved=price.dropping_saves)] if price.entries is not None else []
    for one in others:
        found = cheapest(exact, points, rule, one, price, clock)
        if price.of(found.states).total < price.of(first[0].states).total:
            first = found, one
    return first


def price_of(exact: Exact) -> Price:
    """What entries cost in this model."""
    frame, equations = exact.frame, exact.model.equations
    if equations is None:
        return Price(frame, None)
    return Price(frame, entry_cost(equations.sorted, equations.form, frame.rows.tolist(), frame.columns.tolist()))


def freezing(exact: Exact, price: Price) -> FurtherMoves | None:
    """Moves that hold entries at constants; None where they are not wanted."""
    options = exact.request.options
    if not options.freeze or price.entries is None:
        return None
    return lambda search, report: Freezing(search, price, options.cluster_cut).run(report)


def may_go(exact: Exact) -> Mask:
    """Entries that may go: not those of protected rows."""
    frame = exact.frame
    free: Mask = np.ones(frame.n_entries, dtype=bool)
    for name in exact.request.options.protected:
        check_known("protected", name, frame.names)
        free[frame.rows == frame.names.index(name)] = False
    return free


def run_with(exact: Exact, found: SearchResult, rule: AcceptRule, clock: StageClock) -> Tried:
    """Runs with a pattern: linearisations there, those that refuse it, the largest error.

    The error is the predicted one, or the measured one where that is clearly larger: switches and strong
    nonlinearities are beyond the prediction.
    """
    request, frame = exact.request, exact.frame
    walker = Walker(exact.model, request.step, request.order)
    runs = traces(walker, request, found.states, partial(clock.tell, "sparsed runs"))
    there = Points(frame, *pick(runs, request.points(frame.n), masked=True))
    bad = unstable(Checker(there, rule), found.states)  # of errors the runs themselves tell
    errors = [largest(predicted_error(frame, one, found.states), frame).max() for one in exact.runs]
    measured = [largest(one.x - other.x, frame).max() for one, other in zip(runs, exact.runs, strict=True)]
    errors += [one / MEASURED for one in measured]
    errors.append(beyond(exact, runs))
    clock.mark("sparsed runs")
    clock.tell("sparsed runs", 1.0, f"{len(bad)} linearisations refuse, error {100 * max(errors):.2g} %")
    return Tried(found, runs, there, bad, float(max(errors)))


def beyond(exact: Exact, runs: list[Trace]) -> float:
    """A pattern must not spoil what all entries reach: the added error that stands for more than is allowed.

    Where all entries take the share a of the accuracy and the pattern b > 1, the tolerance times (1 - a)/(b - a)
    would have been right. Where all entries miss it, a > 1, a pattern may take SPOILS of a more.
    """
    if exact.judge is None:
        return 0.0
    share, taken = exact.judge.ratio(runs), exact.taken
    allowed = 1.0 if taken < 1.0 else (1.0 + SPOILS) * taken
    if share <= allowed or not np.isfinite(taken):
        return 0.0
    room = max((allowed - taken) / (share - taken), 1e-3) if np.isfinite(share) else 1e-3
    return exact.request.rule.tolerance * 1.01 / room


def cheapest(
    exact: Exact, points: Points, rule: AcceptRule, start: Settings, price: Price, clock: StageClock
) -> SearchResult:
    """The search, the cheapest of its orders and restarts."""
    options, frame = exact.request.options, points.frame

    def tell(stage: Stage) -> None:
        words = f"round {stage.round}, {stage.move}: {stage.entries} of {frame.n_entries} entries"
        if stage.violators is not None:
            words += f", {stage.violators} linearisations refuse"
        clock.tell("search", stage.share, words)

    settings = replace(start, rounds=options.rounds, cut=options.cluster_cut)
    best = search_pattern(points, rule, settings, tell)
    if best.states.all_computed:
        return best
    noises = [restart_noise(frame.n_entries, options.seed + k) for k in range(options.restarts)]
    others = [replace(settings, training=best.training, noise=one) for one in noises]
    if price.entries is None and frame.n <= LARGE:  # of differences, columns are what costs
        others.insert(0, replace(settings, training=best.training, columns_first=True))
    least = price.of(best.states).total
    for one in others:
        other = search_pattern(points, rule, one, tell)
        if price.of(other.states).total < least:
            best, least = other, price.of(other.states).total
    return best


def n_colours(frame: CommonData, mask: Mask) -> int:
    """Directions that a difference Jacobian of this pattern would need."""
    return colour(frame.n, frame.n, frame.rows[mask], frame.columns[mask]).n_colours
