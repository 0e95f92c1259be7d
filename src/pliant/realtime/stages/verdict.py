"""The part of the evidence that counts accuracy: errors against accurate runs, and of the compiled step."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pliant.errors import ModelEvaluationError, NonFiniteError, PliantError, StepSizeError
from pliant.realtime.evidence.accuracy import ScenarioErrors, Steps, worst_name
from pliant.realtime.evidence.evidence import MISSED, Evidence
from pliant.realtime.sparsing.past import delay_times, delay_words, delays_of
from pliant.realtime.stages.called import SHARE, CalledStep
from pliant.realtime.stages.outcome import Outcome
from pliant.realtime.stages.step import Drive, equations_of, written_outputs
from pliant.realtime.stages.tune import SAME, Compiled, Tuned

Line = tuple[str, bool | None, str]  # name, holds, text of an item
MOST_NAMES = 10
MOST_DELAYS = 5
OTHER = {"double": 0.0, "float": 0.02}  # share of the steps after which rounding may leave a relation on its other side
EVALUATION: Line = (
    "stability",
    None,
    "the model has no states: a step is a plain evaluation of its outputs and sampled parts, and nothing is carried on "
    "from step to step but discrete variables",
)


def accuracy_line(outcome: Outcome, k: int, errors: dict[str, float]) -> Line | None:
    """The verdict on scenario k; ``errors`` gets the largest error of each name. None without an accurate run."""
    judge = outcome.judge
    if judge is None:
        return None
    found, full = judge.found(k, outcome.masked[k]), judge.found(k, outcome.exact[k])
    if found is None or full is None:
        return None
    for one, error in zip(judge.accuracy.names, found.errors, strict=True):
        errors[one.name] = max(errors.get(one.name, 0.0), float(error))
    holds = found.ratio <= 1.0 if judge.accuracy.is_judged else None
    name = f"error against an accurate simulation, {outcome.exact[k].scenario.name}"
    return name, holds, _text(outcome, found, full)


def _text(outcome: Outcome, found: ScenarioErrors, full: ScenarioErrors) -> str:
    accuracy = outcome.request.accuracy
    if not accuracy.names:
        return "nothing to compare: the model has no states"
    i, j = worst_name(accuracy, found.errors), worst_name(accuracy, full.errors)
    one = accuracy.names[i]
    allowed = f"{100 * one.limit:.3g} % are allowed" if np.isfinite(one.limit) else "not judged: accuracy is None"
    entries = "" if outcome.states.all_computed else f"; with all entries {100 * full.errors[j]:.3g} %"
    return (
        f"{100 * found.errors[i]:.3g} % of the range of {one.name} at t = {found.at[i]:.6g}, moved by up to one step "
        f"in time; {allowed}{entries}"
    )


def compiled_line(outcome: Outcome, runs: Sequence[Drive], errors: dict[str, float]) -> Line | None:
    """The verdict on runs of the compiled step where they are not those of the analysis: in float, whose rounding it
    does not have, and where outputs differ."""
    judge = outcome.judge
    if judge is None:
        return None
    holds, worst, where = True, 0.0, ""
    for k, run in enumerate(runs):
        written = written_outputs(outcome.model, run)
        steps = Steps(run.walker.scenario, run.time[1:], run.x, run.memories[1:], written, run.past)
        found = judge.found(k, steps)
        if found is None:
            continue
        share = np.nan_to_num(found.errors, nan=np.inf)
        for one, error in zip(judge.accuracy.names, share, strict=True):
            errors[one.name] = max(errors.get(one.name, 0.0), float(error))
        holds &= bool((share <= judge.accuracy.limits).all())
        if share.max(initial=0.0) > worst:
            worst, where = float(share.max()), judge.accuracy.names[int(np.argmax(share))].name
    if not where:
        return None
    in_float = outcome.request.options.precision == "float"
    advice = "" if holds or not in_float else "; precision='double' has none of this rounding"
    words = f"{100 * worst:.3g} % of the range of {where}{advice}"
    name = "error of the compiled step" + " in float" * in_float
    return name, holds if judge.accuracy.is_judged else None, words


def missing_line(name: str, error: PliantError, grows: bool) -> Line:
    """An accurate run that was not to be had.

    A run that the model does not get through says more than that a number is missing; a solver that stops for
    reasons of its own does not.
    """
    fails = isinstance(error, (ModelEvaluationError, NonFiniteError)) or (grows and isinstance(error, StepSizeError))
    words = "the accurate simulation fails" if fails else "not available, accuracy is not judged in this scenario"
    return f"accurate reference, {name}", False if fails else None, f"{words}: {str(error).splitlines()[0]}"


def conclude(outcome: Outcome, e: Evidence) -> Line | None:
    """What was asked for into the evidence; a last line where something is missing or fails."""
    accuracy, judge = outcome.request.accuracy, outcome.judge
    e.accuracy, e.judged = accuracy.given, tuple(one.name for one in accuracy.names)
    e.limits = {one.name: one.limit if np.isfinite(one.limit) else None for one in accuracy.names}
    if judge is None:
        return "accuracy", None, "not judged: accurate simulations were switched off (option reference)"
    if judge.rests:
        more = f" and {len(judge.rests) - MOST_NAMES} more" if len(judge.rests) > MOST_NAMES else ""
        e.not_checked.append(
            f"accuracy by range of {', '.join(judge.rests[:MOST_NAMES])}{more}: no scenario moves them by more than "
            "the accurate simulation resolves; their nominal values stand for the ranges"
        )
    for name, share in judge.coarse.items():
        e.not_checked.append(
            f"accuracy of {name} beyond {100 * share:.2g} % of its range: accurate simulations with two tolerances "
            "are as far apart"
        )
    if not any(e.errors.get(one.name, 0.0) > one.limit for one in accuracy.names):
        return None
    return MISSED, None, "no other settings were tried"


def delay_line(outcome: Outcome) -> Line | None:
    """What linearisations know of delayed values."""
    model, tau = outcome.model, outcome.request.step
    if not model.n_delays:
        return None
    program = equations_of(model).program
    times = delay_times(model, [one.parameters for one in outcome.request.scenarios])
    told, short = [], False
    for one in delays_of(program):
        low, high = times[one.number]
        short = short or low < tau
        span = f"{low:g} s" if low == high else f"{low:g} .. {high:g} s"
        told.append(f"{delay_words(program, one)} by {span} ({high / tau:.5g} steps)")
    more = f" and {len(told) - MOST_DELAYS} more" if len(told) > MOST_DELAYS else ""
    words = f"read from the steps before, interpolated linearly: {'; '.join(told[:MOST_DELAYS])}{more}. "
    words += "They are no part of the Jacobian: eigenvalues and margins are those with delayed values held"
    words += ", of delays shorter than a step with their share of the value now" if short else ""
    return "delays", None, f"{words}; what loops through delays do is seen by the runs and the compiled step only"


def code_lines(outcome: Outcome, tuned: Tuned, e: Evidence) -> list[Line]:
    """The compiled step against the runs of the analysis: same states, no flag of its monitor."""
    if tuned is None:
        return []
    if isinstance(tuned, CalledStep):
        return [called_line(outcome, tuned)]
    if not isinstance(tuned, Compiled):
        return [("generated code", None, f"cannot be written: {tuned.message}")]
    code, found = tuned.code, tuned.compared
    e.code_difference = found.worst
    same, lines = found.worst <= tuned.limit, []
    discrete = found.other <= OTHER[code.precision] * found.steps
    same &= found.outputs <= tuned.limit
    in_float = code.precision == "float"
    if (in_float or found.outputs > SAME["double"]) and (
        line := compiled_line(outcome, found.runs, e.errors)
    ) is not None:
        lines.append(line)
        same |= in_float and line[1] is True
    options = code.options
    how = f", {options.newton_steps} Newton iterations per loop" * tuned.has_loops
    how += f", {options.output_steps} for outputs" * bool(options.output_steps)
    how += f", switches inside loops settled in {options.relation_passes}" * bool(options.relation_passes)
    how += f", {options.event_rounds} rounds of events" * (options.event_rounds > 1)
    what = "runs of this analysis" if code.n_x else "outputs of the model"
    words = (
        f"the compiled step ({code.style}, {code.precision}{how}) gives the {what} "
        f"within {found.worst:.1g} of the ranges; its monitor raised a flag in {found.flagged} steps"
    )
    if found.outputs > tuned.limit:
        words += f"; outputs differ from those of the model at the same states by {found.outputs:.2g} of their ranges"
    words += f"; discrete variables differ in {found.other} steps" if found.other else ""
    if found.other and not discrete:
        words += f", first {found.first_other}"
    same &= discrete
    return [*lines, ("generated code", same, words + ("" if same else _advice(tuned, discrete)))]


def called_line(outcome: Outcome, step: CalledStep) -> Line:
    """The step that calls the model's functions against the runs of the analysis."""
    colours = f"the {outcome.colours} colours of the kept entries" if step.shared else "the colours of all entries"
    words = (
        f"differences by {colours}: {step.evaluations:.3g} evaluations of f a step, with all entries "
        f"{step.full_evaluations:.3g}; it gives the runs of this analysis within {step.difference:.1g} of the ranges"
    )
    if not step.judged:
        words += "; it stops at events between steps, the analysis does not"
    holds = step.difference <= SHARE * outcome.request.rule.tolerance
    return "step by calls of the model", holds if step.judged else None, words


def _advice(tuned: Compiled, discrete: bool) -> str:
    if not discrete:
        return "; longer chains of events need more event_rounds, a variable that depends on itself needs pre(...)"
    if tuned.has_loops:
        return "; form='dae' or more newton_steps may help where loops are nonlinear"
    if tuned.code.precision == "float":
        return "; states that change by less than their last digit in a step need precision='double'"
    return ""
