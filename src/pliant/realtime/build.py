"""From a model and a step to a plan: the stages in their order, each a function from data to data.

    request      arguments, checked                                              request.py
    form         loops inside f, their unknowns in x, or both                    form.py
      linearise  scenarios -> exact runs -> linearisations; accurate runs        exact.py
      search     linearisations -> pattern, runs with it, order of elimination   pattern.py
      code       pattern -> compiled step, iterations and rounds tuned           tune.py
      evidence   all of these -> what holds, what does not                       checks.py
    form         of several the one that holds and is cheapest                   form.py
    proposals    where it misses the accuracy: what reaches it                   proposals.py
    frontier     searches with less tolerance: what a smaller error costs         here

docs/theory/sparsing.md describes the same with the reasons.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from threadpoolctl import threadpool_limits

from pliant.errors import NotSupportedError, SimulationInterrupted, SolverError
from pliant.realtime.cost import cost_of
from pliant.realtime.frontier import Frontier, FrontierRow
from pliant.realtime.plan import Plan
from pliant.realtime.progress import Report, StageClock, interruptible
from pliant.realtime.stages.called import CalledStep
from pliant.realtime.stages.checks import judge_pattern
from pliant.realtime.stages.exact import linearise
from pliant.realtime.stages.form import Candidate, Failed, choose_form, in_forms
from pliant.realtime.stages.outcome import Exact, Outcome
from pliant.realtime.stages.pattern import find_pattern
from pliant.realtime.stages.proposals import with_proposals
from pliant.realtime.stages.request import Wish, check_budget, check_wish, request_of
from pliant.realtime.stages.tune import Compiled, compile_step
from pliant.solve.models.numeric import NumericModel

RUNGS = (0.5, 0.2, 0.05)  # shares of the tolerance that a frontier searches with, besides all of it and none


def make_plan(model: NumericModel, *, report: Report, budget: float | None = None, **asked: Any) -> Plan:
    """A plan for what was asked, see :func:`pliant.realtime.stages.request.check_wish`.

    budget  instructions of a step: of the plans within the tolerance that need no more, the one of least error
    """
    wish = check_wish(**asked)
    wanted = check_budget(model, budget)
    form, clock = wish.options.form, StageClock(report)
    told = interruptible(f"{model.name}: the plan", "a plan is there when it is complete: nothing was kept")
    with told, threadpool_limits(1, "blas"):  # small matrices: threads only get in each other's way
        tried = [candidate(name, one, wish, clock) for name, one in in_forms(model, form)]
        chosen, forms = choose_form(form, tried)
        if wanted is None:
            return _plan(chosen, clock, forms, proposals=True)
        first = _plan(chosen, clock, forms, proposals=False)
        cost, unit = cost_of(first)
        if cost > wanted:
            _frontier([(_row(first, cost), first)], unit).within(wanted)  # says what the least is
        found = _climb(first, clock)
        plan = found.plan(found.within(wanted))
        plan.keep_frontier(found)
        plan.evidence = with_proposals(plan.outcome, plan.evidence)
        plan.seconds = dict(clock.seconds)
    return plan


def make_frontier(plan: Plan) -> Frontier:
    """Plans between all entries and those of this plan."""
    with interruptible(f"{plan.name}: the frontier", "the plan is as it was"), threadpool_limits(1, "blas"):
        return _climb(plan, StageClock(lambda _: None))


def _plan(chosen: Candidate, clock: StageClock, told: tuple[str, ...], *, proposals: bool) -> Plan:
    evidence = chosen.evidence
    if proposals:
        evidence = with_proposals(chosen.outcome, evidence)
        clock.mark("proposals")
    code = chosen.tuned.code if isinstance(chosen.tuned, Compiled) else None
    called = chosen.tuned if isinstance(chosen.tuned, CalledStep) else None
    return Plan(
        chosen.outcome,
        evidence=evidence,
        code=code,
        called=called,
        forms=told,
        seconds=clock.seconds,
        climb=make_frontier,
    )


def _climb(plan: Plan, clock: StageClock) -> Frontier:
    """Searches with shares of the tolerance, and all entries; what is worse in both cost and error goes."""
    cost, unit = cost_of(plan)
    found = [(_row(plan, cost), plan)]
    if not plan.outcome.states.all_computed:
        for share in (*RUNGS, 0.0):
            other = _plan(finished("", _with_share(plan.outcome, share), clock), clock, plan.forms, proposals=False)
            found.append((_row(other, cost_of(other)[0]), other))
    return _frontier(found, unit)


def _frontier(found: list[tuple[FrontierRow, Plan]], unit: str) -> Frontier:
    rows: list[tuple[FrontierRow, Plan]] = []
    for row, plan in sorted(found, key=lambda one: (one[0].cost, one[0].error, one[0].tolerance)):
        if not rows or row.error < rows[-1][0].error:
            rows.append((row, plan))
    return Frontier(rows, model=found[0][1].name, unit=unit)


def _row(plan: Plan, cost: int) -> FrontierRow:
    o, e = plan.outcome, plan.evidence
    full = o.states.all_computed
    error = 0.0 if full else max([float(one.max()) for one in (*e.predicted, *e.measured) if len(one)], default=0.0)
    tolerance = 0.0 if full else o.request.rule.tolerance
    return FrontierRow(
        cost=cost, error=error, entries=plan.entries, computed=plan.computed, tolerance=tolerance, holds=e.holds
    )


def _with_share(o: Outcome, share: float) -> Exact:
    """The linearisations of a plan, for a search with a part of its tolerance; 0: all entries."""
    request = o.request
    if share:
        request = replace(request, rule=replace(request.rule, tolerance=share * request.rule.tolerance))
    else:
        request = replace(request, options=replace(request.options, search="full"))
    taken = 0.0 if o.judge is None else o.judge.ratio(o.exact)
    return Exact(o.model, request, o.frame, o.exact, o.points, o.judge, taken)


def candidate(form: str, model: NumericModel, wish: Wish, clock: StageClock) -> Candidate | Failed:
    """One form through its stages."""
    try:
        request = request_of(model, wish)
        return finished(form, linearise(model, request, clock), clock)
    except SimulationInterrupted:
        raise
    except (SolverError, NotSupportedError) as error:
        return Failed(form, error)


def finished(form: str, exact: Exact, clock: StageClock) -> Candidate:
    """From linearisations through the other stages."""
    outcome = find_pattern(exact, clock)
    clock.tell("code", 0.0)
    tuned = compile_step(outcome)
    clock.mark("code")
    evidence = judge_pattern(outcome, tuned, partial(clock.tell, "evidence"))
    clock.mark("evidence")
    return Candidate(form, outcome, tuned, evidence)
