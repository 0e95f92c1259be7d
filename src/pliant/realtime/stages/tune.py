"""Stage "code": pattern -> the compiled step, with as few iterations, rounds and passes as give the analysed runs.

    rounds of events     1, 2, 3, 4    until discrete variables follow those of the runs
    passes of relations  0, 1, 2, 4    before the step, where relations depend on themselves
    Newton iterations    2, 3, 4, 6, 10    of nonlinear loops, until the states follow; where outputs are computed as
                                           many or more, until they are those of the model, also where inputs jump

What the user fixed is not tuned. Every count is tried on all scenarios; where none does, the best is kept, and the
evidence says that it is not the same.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from pliant.errors import NotSupportedError
from pliant.realtime.code.make import StepCode
from pliant.realtime.stages.called import CalledStep, called_step
from pliant.realtime.stages.outcome import Outcome
from pliant.realtime.stages.step import (
    EVENT_ROUNDS,
    NEWTON_STEPS,
    RELATION_PASSES,
    Drive,
    drive,
    fixed_counts,
    outputs_apart,
    write_code,
)

LOOP_SHARE = 0.05  # of the tolerance: what unfinished iterations of loops may add
SAME = {"double": 1e-6, "float": 1e-3}  # differences between compiled step and analysis, of the ranges


@dataclass
class Compared:
    """The compiled step against the runs of the analysis."""

    worst: float = 0.0  # difference of a state, in units of its range
    flagged: int = 0  # steps with a flag of the monitor
    steps: int = 0
    other: int = 0  # steps after which a discrete variable differs
    first_other: str = ""  # the first one that does, and when
    runs: list[Drive] = field(default_factory=list)  # of the compiled step
    outputs: float = 0.0  # difference of an output from the model's at the same states, in units of its range


@dataclass(frozen=True, eq=False)
class Compiled:
    """The step as it will be written."""

    code: StepCode
    compared: Compared
    limit: float  # difference up to which it counts as the step of the analysis
    has_loops: bool  # nonlinear ones, whose iterations were counted


# compiled; why it cannot be written; of a model without equations: its functions are called; not to be had
Tuned = Compiled | NotSupportedError | CalledStep | None


def compile_step(outcome: Outcome) -> Tuned:
    """The step of a pattern."""
    model, request = outcome.model, outcome.request
    if model.equations is None:
        return called_step(outcome)
    has_loops = "nonlinear" in model.known.loops
    limit = SAME[request.options.precision]
    if has_loops:
        limit = max(limit, LOOP_SHARE * request.rule.tolerance)
    try:
        code, compared = _tuned(outcome, has_loops, model.known.has_memory, limit)
    except NotSupportedError as error:
        return error
    return Compiled(code, compared, limit, has_loops)


Pair = tuple[StepCode, Compared]


def _tuned(outcome: Outcome, loops: bool, events: bool, limit: float) -> Pair:
    """The step with as few iterations and rounds as give the runs of the analysis; the best there is if none do."""
    given = outcome.request.options.event_rounds
    best: Pair | None = None
    for rounds in EVENT_ROUNDS if events and given is None else (given,):
        code, found = _with_rounds(outcome, rounds, loops, limit)
        if best is not None and (found.other >= best[1].other or found.worst > max(limit, best[1].worst)):
            break
        best = code, found
        if not found.other:
            break
    assert best is not None
    return best


def _with_rounds(outcome: Outcome, rounds: int | None, loops: bool, limit: float) -> Pair:
    """The same for one number of rounds."""
    options = outcome.request.options
    tried: list[Pair] = []
    for passes in RELATION_PASSES if options.relation_passes is None else (options.relation_passes,):
        for count in NEWTON_STEPS if loops and options.newton_steps is None else (options.newton_steps,):
            code = write_code(outcome, None, count, rounds, passes)
            tried.append((code, compare(outcome, code, limit)))
            if tried[-1][1].worst <= limit:
                return _with_outputs(outcome, tried[-1], limit, loops)
        if not code.relations:
            break
    return _with_outputs(outcome, min(tried, key=lambda one: one[1].worst), limit, loops)


def _with_outputs(outcome: Outcome, pair: Pair, limit: float, loops: bool) -> Pair:
    """The same with as few iterations where outputs are computed as give those of the model."""
    code, found = pair
    if not loops or outcome.request.options.newton_steps is not None or found.outputs <= limit:
        return pair
    counts = fixed_counts(code)[:3]
    tried = [pair]
    for count in NEWTON_STEPS:
        if count > code.options.newton_steps and tried[-1][1].outputs > limit:
            other = write_code(outcome, None, *counts, count)
            tried.append((other, compare(outcome, other, limit)))
    least = min(one.outputs for _, one in tried)
    return next(one for one in tried if one[1].outputs <= max(limit, 1.1 * least))


def compare(outcome: Outcome, code: StepCode, limit: float) -> Compared:
    """The compiled step along all scenarios, beside the runs with the pattern."""
    request, out = outcome.request, Compared()
    seen = [k for k, name in enumerate(code.memories) if not name.startswith("$")]
    for k, masked in enumerate(outcome.masked):
        run = drive(code, outcome.model, request.scenarios[k], inputs=request.options.inputs)
        out.runs.append(run)
        with np.errstate(all="ignore"):
            difference = np.abs(run.x - masked.x).max(axis=0) / outcome.frame.scale
        out.worst = max(out.worst, float(np.nan_to_num(difference, nan=np.inf).max(initial=0.0)))
        out.flagged += 0 if run.flags is None else int(np.count_nonzero(run.flags))
        if seen:
            wanted = masked.memories[:, seen]
            same = np.abs(run.memories[1:, seen] - wanted) <= limit * np.abs(wanted).max(axis=0)
            out.steps += len(same)
            out.other += int(np.count_nonzero(~same.all(axis=1)))
            if not (same.all() or out.first_other):
                row = int(np.argmax(~same.all(axis=1)))
                name = code.memories[seen[int(np.argmax(~same[row]))]]
                out.first_other = f"{name} at t = {run.time[row + 1]:.6g} in {request.scenarios[k].name}"
    out.outputs = outputs_apart(outcome.model, out.runs)
    if not outcome.frame.n:  # what a step gives are its outputs alone
        out.worst = max(out.worst, out.outputs)
    return out
