"""Stage "code" of a model without equations: the step calls the model's functions, FMUs do so in their host.

    (L - tau J) dx = tau f,    J by one evaluation for each colour of the kept entries

Columns of one colour share no kept row, but may share a row of an entry that was left out: that entry then enters a
kept one. Where the runs differ by more than a share of the tolerance from those of the analysis, the colours of all
entries are used, and what was left out is removed afterwards.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from pliant.errors import NotSupportedError, SolverError
from pliant.realtime.scenario import Scenario, step_times
from pliant.realtime.stages.outcome import Outcome
from pliant.solve.models.numeric import NumericModel
from pliant.solve.options import check_request
from pliant.solve.results.result import Result
from pliant.solve.run.simulate import simulate

SHARE = 0.25  # of the tolerance: what shared directions of differences may add


@dataclass(frozen=True)
class CalledStep:
    """How the step is made."""

    shared: bool  # by the colours of the kept entries; otherwise by those of all entries
    difference: float  # from the runs of the analysis, in units of the ranges
    evaluations: float  # of f or its directional derivatives, per step
    full_evaluations: float  # the same with all entries
    judged: bool  # False: events are located between steps, so that runs differ for another reason, too


def called_step(outcome: Outcome) -> CalledStep | None:
    """The step that is used, compared with the runs of the analysis; None: there is none."""
    if outcome.request.order != 1 or not outcome.frame.n:
        return None
    full = run_called(outcome, outcome.request.scenarios[0], "full")
    found = None
    shares = (True, False) if not outcome.mask.all() and not outcome.model.struct.jac_value else (False,)
    for shared in shares:
        try:
            found = _compared(outcome, shared, full)
        except SolverError:
            continue
        if found.difference <= SHARE * outcome.request.rule.tolerance:
            break
    return found


def _compared(outcome: Outcome, shared: bool, full: Result) -> CalledStep:
    worst, work, events = 0.0, math.nan, 0
    for k, masked in enumerate(outcome.masked):
        result = run_called(outcome, outcome.request.scenarios[k], "shared" if shared else "masked", at_steps=True)
        events += result.stats.n_events
        if not k:
            work = evaluations(result)
        x = np.column_stack([result[name] for name in outcome.frame.names])[: len(masked.x)]
        apart = np.abs(x - masked.x[: len(x)]).max(axis=0) / outcome.frame.scale
        worst = max(worst, float(np.nan_to_num(apart, nan=np.inf).max(initial=0.0)))
    return CalledStep(shared, worst, work, evaluations(full), events == 0)


def evaluations(result: Result) -> float:
    """Of f and of directional derivatives, per step."""
    stats = result.stats
    return (stats.n_rhs + stats.n_jvp) / max(stats.n_steps, 1)


def run_called(outcome: Outcome, scenario: Scenario, kind: str, *, at_steps: bool = False) -> Result:
    """One scenario; kind "shared", "masked" or "full": see the head; at_steps: rows at the ends of steps only."""
    request = outcome.request
    if request.order != 1:
        raise NotSupportedError(
            f"{outcome.model.name}: steps of order 2 are taken in the analysis only, where a model has no equations",
            hint="plan with order=1, or simulate with another method",
        )
    model, options = stepped_model(outcome, kind)
    seen = scenario.seen(request.options.inputs, tau=request.step)
    times = step_times(seen, request.step)
    checked = check_request(
        model,
        start=seen.start,
        stop=float(times[-1]),
        method="lieuler",
        rtol=1e-6,
        atol=None,
        points=times if at_steps else None,
        step=request.step,
        parameters=seen.parameters,
        start_values=seen.start_values,
        outputs=None,
        options=options,
        timeout=None,
    )
    return simulate(model, checked, seen.inputs, False)


def stepped_model(outcome: Outcome, kind: str) -> tuple[NumericModel, dict[str, Any]]:
    """The model with the pattern whose colours count, and the options of the method."""
    frame, mask, model = outcome.frame, outcome.mask, outcome.model
    rows, columns = frame.rows[mask], frame.columns[mask]
    if kind == "shared":
        return model.with_pattern(rows, columns), {}
    if kind == "full" or mask.all():
        return model, {}
    kept = np.zeros((frame.n, frame.n), dtype=bool)
    kept[rows, columns] = True
    return model, {"mask": kept}
