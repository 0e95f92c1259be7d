"""What the scenarios of a plan cover: ranges of unknowns, inputs and parameters that its runs went through."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pliant.realtime.evidence.evidence import Evidence
from pliant.realtime.scenario import Scenario
from pliant.realtime.sparsing.linearise import Matrix, Walker
from pliant.realtime.stages.outcome import Outcome

MOST = 10  # states that are named
SAME_START = 1e-9  # of a state: start values as near are the same
Pair = tuple[Matrix, Matrix]  # lowest and highest values


@dataclass(frozen=True, eq=False)
class Covered:
    """Lowest and highest values met, of unknowns in the order of x, of inputs and of parameters; largest changes of
    inputs in one step."""

    x: Pair
    u: Pair
    p: Pair
    change: Matrix


def covered(outcome: Outcome) -> Covered:
    """The ranges of all runs of the analysis, with all entries and with the pattern."""
    runs = [*outcome.exact, *outcome.masked]
    states = (np.min([one.x.min(axis=0) for one in runs], axis=0), np.max([one.x.max(axis=0) for one in runs], axis=0))
    walker = Walker(outcome.model, outcome.request.step)
    seen = [input_range(walker, one.scenario) for one in outcome.exact]
    inputs = (np.min([low for low, _ in seen], axis=0), np.max([high for _, high in seen], axis=0))
    changes = [input_changes(walker, one.scenario) for one in outcome.exact]
    given = np.array([one.parameters for one in outcome.exact])
    return Covered(states, inputs, (given.min(axis=0), given.max(axis=0)), np.max(changes, axis=0))


def input_range(walker: Walker, scenario: Scenario) -> Pair:
    """Of the inputs at the start and at the ends of the steps, before and after jumps there."""
    walker.begin(scenario)
    values = np.vstack([walker.inputs.rows, walker.inputs.before])
    return values.min(axis=0), values.max(axis=0)


def input_changes(walker: Walker, scenario: Scenario) -> Matrix:
    """(n_u,) largest changes of the inputs in one step, with what they jump by at its end."""
    walker.begin(scenario)
    given = walker.inputs
    moved = np.abs(given.before - given.rows[:-1]) + np.abs(given.after - given.before)
    return np.asarray(moved.max(axis=0, initial=0.0))


def add_coverage(outcome: Outcome, e: Evidence) -> None:
    """Which states, inputs and parameters the evidence covers, and what was not checked."""
    names, walker, bounds = outcome.model.names.u, Walker(outcome.model, outcome.request.step), []
    for exact in outcome.exact:
        scenario = exact.scenario
        given = ", ".join(f"{name} = {value:g}" for name, value in scenario.parameters.items()) or "the defaults"
        low, high = input_range(walker, scenario)
        bounds.append((low, high))
        inputs = ", ".join(
            f"{name} = {low[j]:.6g}" + (f" .. {high[j]:.6g}" if high[j] > low[j] else "")
            for j, name in enumerate(names)
        )
        e.runs.append(
            f"{scenario.name}: t = {scenario.start:g} .. {exact.t[-1]:g}, {len(exact.t)} steps of "
            f"{outcome.request.step:g}; parameters: {given}"
        )
        e.covered.append(f"{e.runs[-1]}; inputs: {inputs or 'the model has none'}")
    low = np.min([one.x.min(axis=0) for one in outcome.exact], axis=0)
    high = np.max([one.x.max(axis=0) for one in outcome.exact], axis=0)
    states = list(zip(outcome.frame.names, low.tolist(), high.tolist(), strict=True))
    e.covered += [f"{name}: {low:.6g} .. {high:.6g}" for name, low, high in states]
    seen = np.array(bounds)  # (runs, 2, inputs)
    e.ranges += zip(names, seen[:, 0].min(axis=0).tolist(), seen[:, 1].max(axis=0).tolist(), strict=True)
    # states of the largest errors first, those that are not judged last
    e.ranges += sorted(states, key=lambda one: -e.errors.get(one[0], -1.0))
    e.not_checked += _not_checked(outcome, e)


def _set_anew(outcome: Outcome) -> list[str]:
    """States that reinit sets at events between steps."""
    equations = outcome.model.equations
    if equations is None or not outcome.model.struct.n_roots:
        return []
    s = equations.sorted
    return sorted({s.system.variables[one.variable].name for one in s.events.actions if one.kind == "reset"})[:MOST]


def _starts(outcome: Outcome) -> list[str]:
    """States that start elsewhere in later scenarios, where written code does not."""
    if outcome.model.equations is None:
        return []
    first = np.array([one.x[0] for one in outcome.exact])
    away = np.abs(first - first[0]).max(axis=0) > SAME_START * np.abs(first).max(axis=0)
    named = [outcome.frame.names[i] for i in np.flatnonzero(away & ~outcome.frame.algebraic)]
    if not named:
        return []
    return [
        f"the start of written code in later scenarios: {_listed(named)} start at other values there than in "
        f"{outcome.exact[0].scenario.name}, by start_values or initial equations, which plan.simulate solves and the "
        "function _init does not: it starts as in the first scenario, _init_at takes other values"
    ]


def _switches(outcome: Outcome) -> list[str]:
    """Judged names that jump where a threshold is crossed."""
    known, judge = outcome.model.known, outcome.judge
    names = () if judge is None or not outcome.model.struct.n_roots else judge.accuracy.names
    named = [one.name for one in names if not one.in_x and known.type(one.name) != "real"]
    if not named:
        return []
    return [
        f"when {_listed(named)} switch, in other runs: where what they compare passes its threshold by less in a step "
        "than its own error, they switch early or late by more than a step, without a flag, though that error is "
        "within the accuracy"
    ]


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:MOST]) + (f" and {len(names) - MOST} more" if len(names) > MOST else "")


def _not_checked(outcome: Outcome, e: Evidence) -> list[str]:
    out = [
        "states, inputs and parameters outside the ranges above, and combinations that no scenario met",
        "linearisations between the checked ones (a sample of the steps was checked, windows check all)",
        "that eigenvalues inside the unit circle at every step make the whole run decay: only a common Lyapunov "
        "function or the windows say so, where they hold",
        "the model itself: whether its equations describe the plant",
        "the target: timing there, its compiler, its arithmetic beyond the precision named above",
    ]
    if outcome.model.names.u:
        out.append("what inputs do between the ends of steps: a pulse shorter than a step may not be seen at all")
    out += _starts(outcome) + _switches(outcome)
    if outcome.model.equations is None:
        out.append(
            f"generated code: the model is {outcome.model.described_as} without equations, so that no code is written: "
            "operations, memory, timing and the flags of a monitor are not known; plan.simulate calls its functions"
        )
    if outcome.model.has_hidden_memory:
        out.append(
            "discrete variables inside the model: they cannot be set back, so that outputs are not judged unless they "
            "are named, and linearisations are those at the values of the run"
        )
    if set_anew := _set_anew(outcome):
        out.append(
            f"times of the events that reset {', '.join(set_anew)}: where relations cause them, they lie on "
            "a straight line through the step, and otherwise they are at its end, up to one step late; of two within "
            "one step there is one"
        )
    if outcome.model.n_delays:
        out.append(
            "stability of loops through delays: linearisations hold delayed values, only the runs show such loops"
        )
    if outcome.model.known.has_checks:
        out.append(
            "assertions of the model and indices of arrays: accurate simulations check them, the generated code does "
            "not, where an index beyond its array reads the last element and sets none"
        )
    if e.loop_radius is not None:
        out.append(
            "sampled loops beyond the periods that were linearised: integer and Boolean variables are held there, "
            "quantised and limited values change by steps; when-clauses that no clock drives: only the runs show what "
            "they do; events between steps take place at the end of the step"
        )
    elif outcome.model.known.has_memory:
        out.append(
            "the loop closed through sampled equations and when-clauses: every linearisation holds discrete "
            "variables, only the runs show what they do; events between steps take place at the end of the step"
        )
    if e.lyapunov is None or not e.lyapunov.found:
        out.append("arbitrary sequences of the linearisations: no common Lyapunov function is known")
    return out
