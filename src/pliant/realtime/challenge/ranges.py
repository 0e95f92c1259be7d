"""What a plan is challenged with where nobody says: ranges around what its own scenarios cover.

Inputs, and parameters and start values that its scenarios vary. Two of three scenarios stay within the ranges, the
third goes up to half their width beyond, as far as the model's own bounds allow. A model without any of these starts
from other values of its states.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.errors import ArgumentError
from pliant.realtime.scenario import Scenario, make_scenarios
from pliant.realtime.scenarios import Scenarios
from pliant.realtime.stages.covered import Covered
from pliant.solve.names import is_hidden

if TYPE_CHECKING:
    from pliant.realtime.plan import Plan

INSIDE = 2 / 3  # of the scenarios
BEYOND = 0.5  # of the width, on both sides
STILL = 0.1  # of its value: the range of an input that no scenario moved
START = 0.1  # of the range of a state, around its start value


def default_scenarios(plan: Plan, met: Covered, n: int, seed: int, stop: float) -> list[Scenario]:
    """n scenarios within and around what the plan's scenarios cover."""
    inside = max(1, round(INSIDE * n))
    drawn = [_drawn(plan, met, inside, seed, 0.0, "within")]
    if n > inside:
        drawn.append(_drawn(plan, met, n - inside, seed + 1_000_003, BEYOND, "beyond"))
    return [one for many in drawn for one in make_scenarios(many, stop)]


def _drawn(plan: Plan, met: Covered, n: int, seed: int, beyond: float, label: str) -> Scenarios:
    ranges = {
        "inputs": _of_inputs(plan, met, beyond),
        "parameters": _of_parameters(plan, met, beyond),
        "start_values": _of_starts(plan, beyond),
    }
    if not any(ranges.values()):
        ranges["start_values"] = _around_start(plan, met, 1.0 + 2.0 * beyond)
    if not any(ranges.values()):
        raise ArgumentError(
            f"{plan.name}: the plan's scenarios vary nothing, so that there are no ranges to draw from",
            hint="plan.challenge(scenarios=pliant.Scenarios({'parameters': {...}}, 1000))",
        )
    made = Scenarios(ranges, n, seed=seed)
    made.label = label
    return made


def _wider(low: float, high: float, beyond: float, bounds: tuple[float, float]) -> tuple[float, float]:
    room = beyond * (high - low)
    return max(low - room, min(low, bounds[0])), min(high + room, max(high, bounds[1]))


def _bounds(plan: Plan, name: str) -> tuple[float, float]:
    info = plan.outcome.model.known.variables
    one = info.get(name, None)
    low, high = (None, None) if one is None else (one.min, one.max)
    if one is not None and one.type in ("boolean", "enumeration"):  # literals have no others beyond
        last = float(len(one.literals) or math.inf)
        low, high = (
            (0.0, 1.0) if one.type == "boolean" else (1.0 if low is None else low, last if high is None else high)
        )
    return (-math.inf if low is None else low), (math.inf if high is None else high)


def _of_inputs(plan: Plan, met: Covered, beyond: float) -> dict[str, Any]:
    out = {}
    for j, name in enumerate(plan.outcome.model.names.u):
        low, high = float(met.u[0][j]), float(met.u[1][j])
        if low == high:
            low, high = low - STILL * abs(low), high + STILL * abs(high)
        if low < high:
            out[name] = _wider(low, high, beyond, _bounds(plan, name))
    return out


def _of_parameters(plan: Plan, met: Covered, beyond: float) -> dict[str, Any]:
    """Those that the scenarios name and vary; Real ones only."""
    known = plan.outcome.model.known
    out = {}
    for j, name in enumerate(plan.outcome.model.names.p):
        named = any(name in one.parameters for one in plan.outcome.request.scenarios)
        low, high = float(met.p[0][j]), float(met.p[1][j])
        if named and low < high and known.type(name) == "real":
            out[name] = _wider(low, high, beyond, _bounds(plan, name))
    return out


def _of_starts(plan: Plan, beyond: float) -> dict[str, Any]:
    given: Mapping[str, list[float]] = {}
    for one in plan.outcome.request.scenarios:
        for name, value in one.start_values.items():
            given = {**given, name: [*given.get(name, []), float(value)]}
    known = plan.outcome.model.known
    return {
        name: _wider(min(values), max(values), beyond, _bounds(plan, name))
        for name, values in given.items()
        if min(values) < max(values) and known.type(name) == "real"
    }


def _around_start(plan: Plan, met: Covered, widened: float) -> dict[str, Any]:
    """Start values of the differential states."""
    model, first = plan.outcome.model, np.array([one.x[0] for one in plan.outcome.exact])
    fixed = _fixed(plan)
    out = {}
    for i, name in enumerate(model.names.x):
        room = START * widened * float(met.x[1][i] - met.x[0][i])
        if name in model.names.algebraic or is_hidden(name) or name not in fixed or not room > 0.0:
            continue
        low, high = _bounds(plan, name)
        out[name] = (max(low, float(first[:, i].min()) - room), min(high, float(first[:, i].max()) + room))
    return {name: pair for name, pair in out.items() if pair[0] < pair[1]}


def _fixed(plan: Plan) -> set[str]:
    """States whose start values are fixed."""
    model = plan.outcome.model
    if model.equations is None:
        return set(model.names.x)
    variables = model.equations.sorted.system.variables
    return {one.name for one in variables if one.fixed}
