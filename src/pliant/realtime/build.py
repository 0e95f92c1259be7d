"""From a model and a step to a plan: the stages in their order, each a function from data to data.

    request      arguments, checked                                              request.py
    form         loops inside f, their unknowns in x, or both                    form.py
      linearise  scenarios -> exact runs -> linearisations; accurate runs        exact.py
      search     linearisations -> pattern, runs with it, order of elimination   pattern.py
      code       pattern -> compiled step, iterations and rounds tuned           tune.py
      evidence   all of these -> what holds, what does not                       checks.py
    form         of several the one that holds and is cheapest                   form.py
    proposals    where it misses the accuracy: what reaches it                   proposals.py

docs/theory/sparsing.md describes the same with the reasons.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from threadpoolctl import threadpool_limits

from pliant.errors import NotSupportedError, SimulationInterrupted, SolverError
from pliant.realtime.plan import Plan
from pliant.realtime.progress import Report, StageClock
from pliant.realtime.stages.called import CalledStep
from pliant.realtime.stages.checks import judge_pattern
from pliant.realtime.stages.exact import linearise
from pliant.realtime.stages.form import Candidate, Failed, choose_form, in_forms
from pliant.realtime.stages.pattern import find_pattern
from pliant.realtime.stages.proposals import with_proposals
from pliant.realtime.stages.request import Wish, check_wish, request_of
from pliant.realtime.stages.tune import Compiled, compile_step
from pliant.solve.models.numeric import NumericModel


def make_plan(model: NumericModel, *, report: Report, **asked: Any) -> Plan:
    """A plan for what was asked, see :func:`pliant.realtime.stages.request.check_wish`."""
    wish = check_wish(**asked)
    form, clock = wish.options.form, StageClock(report)
    with threadpool_limits(1, "blas"):  # small matrices: threads only get in each other's way
        tried = [candidate(name, one, wish, clock) for name, one in in_forms(model, form)]
        chosen, told = choose_form(form, tried)
        evidence = with_proposals(chosen.outcome, chosen.evidence)
        clock.mark("proposals")
    code = chosen.tuned.code if isinstance(chosen.tuned, Compiled) else None
    called = chosen.tuned if isinstance(chosen.tuned, CalledStep) else None
    return Plan(chosen.outcome, evidence=evidence, code=code, called=called, forms=told, seconds=clock.seconds)


def candidate(form: str, model: NumericModel, wish: Wish, clock: StageClock) -> Candidate | Failed:
    """One form through its stages."""
    try:
        request = request_of(model, wish)
        exact = linearise(model, request, clock)
        outcome = find_pattern(exact, clock)
        clock.tell("code", 0.0)
        tuned = compile_step(outcome)
        clock.mark("code")
        evidence = judge_pattern(outcome, tuned, partial(clock.tell, "evidence"))
        clock.mark("evidence")
    except SimulationInterrupted:
        raise
    except (SolverError, NotSupportedError) as error:
        return Failed(form, error)
    return Candidate(form, outcome, tuned, evidence)
