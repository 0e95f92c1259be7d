"""Entries that are held at constants: chosen, proven, written, run."""

from __future__ import annotations

import numpy as np
import pytest

import pliant
from pliant.realtime.code.entry_cost import entry_cost
from pliant.realtime.plan import Plan
from pliant.realtime.sparsing.accept import Checker
from pliant.realtime.sparsing.elimination import eliminate
from pliant.realtime.sparsing.entry_states import EntryStates
from pliant.realtime.sparsing.price import folded
from pliant.realtime.sparsing.search import violators

HANGING = """
model Hanging "Three stiff links whose inertia moves a little with a slow angle"
  parameter Real k = 4e4, d = 40;
  Real q[3](each start = 0, each fixed = true), w[3](each start = 0, each fixed = true);
  Real s(start = 0, fixed = true);
  Real m;
equation
  der(s) = 0.5*(sin(3*time) - s);
  m = 1 + 0.1*sin(s)*cos(2*s);
  der(q) = w;
  m*der(w[1]) = -k*q[1] - d*w[1] + 300*s;
  (1 + 0.05*cos(s)^3)*der(w[2]) = k*(q[1] - q[2]) - d*w[2];
  m*(2 + sin(s)^2/10)*der(w[3]) = k*(q[2] - q[3]) - d*w[3];
end Hanging;
"""


def plan_of(source: str = HANGING, **changes: object) -> Plan:
    options = {"certificate": False, **changes.pop("options", {})}  # type: ignore[dict-item]
    arguments: dict = {"step": 2e-3, "stop": 2.0, "options": options, "progress": False}
    return pliant.load(source).realtime(**(arguments | changes))


@pytest.fixture(scope="module")
def plan() -> Plan:
    return plan_of()


def test_what_moves_little_is_frozen_and_the_evidence_holds(plan: Plan) -> None:
    held = np.isfinite(plan.frozen)
    assert held.any()
    assert plan.evidence.holds, plan.evidence.failing
    assert plan.computed < plan.full_computed / 2
    frame, values = plan.outcome.frame, plan.outcome.points.values
    for k in np.flatnonzero(plan.outcome.states.frozen):
        assert values[:, k].min() <= plan.outcome.states.constants[k] <= values[:, k].max()
        assert "frozen at" in plan.why(frame.names[frame.rows[k]], frame.names[frame.columns[k]])


def test_without_freezing_the_same_tests_allow_less(plan: Plan) -> None:
    other = plan_of(options={"freeze": False})
    assert not np.isfinite(other.frozen).any()
    assert other.computed > plan.computed
    code, before = plan.code.operations, other.code.operations
    assert code["jacobian"].total < before["jacobian"].total
    assert code["step"].total < before["step"].total


def test_frozen_entries_are_checked_at_every_linearisation(plan: Plan) -> None:
    o = plan.outcome
    for points in (o.points, o.masked_points):
        checker = Checker(points, o.request.rule)
        assert all(checker.judge(p, o.states).accepted for p in range(len(points)))
    wrong = o.states.held(np.flatnonzero(o.states.frozen), -o.states.constants[o.states.frozen])
    assert violators(Checker(o.points, o.request.rule), wrong)


@pytest.mark.parametrize("order", [1, 2])
def test_compiled_step_is_that_of_the_analysis(order: int) -> None:
    source = HANGING if order == 1 else HANGING.replace("k = 4e4, d = 40", "k = 4e7, d = 4e4")
    plan = plan_of(source, order=order)
    assert plan.outcome.states.frozen.any()
    run, analysed = plan.simulate(), plan.outcome.masked[0]
    for i, name in enumerate(plan.names):
        scale = np.ptp(analysed.x[:, i])
        assert np.abs(run[name][1:] - analysed.x[1:, i]).max() <= 1e-9 * scale


def test_entries_of_parameters_alone_are_proven_constant(plan: Plan) -> None:
    frame, price = plan.outcome.frame, plan.outcome.price
    names = frame.names
    still = {
        (names[i], names[j])
        for i, j, constant in zip(frame.rows, frame.columns, price.constant, strict=True)
        if constant
    }
    assert ("q[1]", "w[1]") in still
    assert ("s", "s") in still
    assert ("w[1]", "q[1]") not in still
    assert not (plan.outcome.states.frozen & price.constant).any()


def test_factors_of_frozen_entries_cost_nothing() -> None:
    source = "model Still Real a(start=1), b; equation der(a) = -800*a + 300*b; der(b) = 200*a - 501*b; end Still;"
    assert plan_of(source, tolerance=1e-6).code.operations["factor"].total == 0
    found = eliminate(2, [(0, 0), (0, 1), (1, 0), (1, 1)])
    everything = set(found.entries)
    assert folded(found, everything, everything)[0] == 4 + 1 + 2 + 4
    assert folded(found, set(), everything)[0] == 0


def test_costs_are_shared_between_entries() -> None:
    model = pliant.load(
        "model M Real x(start=1), y(start=2); equation der(x) = -exp(x*y); der(y) = exp(x*y) - y; end M;"
    )
    equations = model._numeric.equations
    assert equations is not None
    cost = entry_cost(equations.sorted, equations.form, [0, 0, 1, 1], [0, 1, 0, 1])
    one, both = cost.of(np.array([True, False, False, False])), cost.of(np.array([True, False, True, False]))
    assert one > 0
    assert both < 2 * one
    assert not cost.constant.any()


def test_states_of_entries() -> None:
    states = EntryStates.of(np.array([True, True, False]))
    held = states.held(np.array([1]), np.array([7.0]))
    assert held.used(np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])).tolist() == [[1, 7, 0], [4, 7, 0]]
    assert held.dropped(np.array([1])).key() == states.dropped(np.array([1])).key()
    assert not held.all_computed
    assert held.key() != states.key()
