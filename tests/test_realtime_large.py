"""Large models: tests in patches, sparse solutions. The limits are lowered, so that small models take that way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import pliant
from pliant.realtime.sparsing import bias, linearisations, linearise, patches
from pliant.realtime.sparsing.accept import AcceptRule, Checker
from pliant.realtime.sparsing.bias import predicted_error
from pliant.realtime.sparsing.entry_states import EntryStates
from pliant.realtime.sparsing.patches import LocalChecker, cores
from pliant.realtime.sparsing.sparse_steps import SparseSteps
from pliant.realtime.stages import pattern, request

CELLS = """
model Cells "Pairs of parallel cells in a row: fast and slow voltages, temperatures that conduct"
  parameter Integer n = 6;
  Real v[n](each start = 0, each fixed = true), w[n](each start = 0, each fixed = true);
  Real T[n](each start = 1, each fixed = true);
  Real i[n], U[div(n, 2)];
equation
  for k in 1:div(n, 2) loop
    U[k] = (2*sin(3*time) - v[2*k - 1] - w[2*k - 1] - v[2*k] - w[2*k])/2;
    i[2*k - 1] = (U[k] + v[2*k - 1] + w[2*k - 1])*(1 + 0.1*T[2*k - 1]) + sin(3*time);
    i[2*k] = (U[k] + v[2*k] + w[2*k])*(1 + 0.1*T[2*k]) + sin(3*time);
  end for;
  for k in 1:n loop
    der(v[k]) = 400*(i[k]*0.01 - v[k]*(1 + 0.05*k));
    der(w[k]) = 0.5*(i[k]*0.02 - w[k]);
    der(T[k]) = 0.1*i[k]^2 - 0.2*(T[k] - 1)
      + 0.3*((if k > 1 then T[max(k - 1, 1)] - T[k] else 0) + (if k < n then T[min(k + 1, n)] - T[k] else 0));
  end for;
end Cells;
"""


def plan_of(**changes: Any) -> pliant.Plan:
    options = {"certificate": False, "points": 30}
    arguments: dict[str, Any] = {"step": 0.02, "stop": 4.0, "options": options, "progress": False}
    return pliant.load(CELLS).realtime(**(arguments | changes))


@pytest.fixture(scope="module")
def whole() -> pliant.Plan:
    return plan_of()


@pytest.fixture
def small_limits(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for module in (linearisations, patches, pattern, request):
        monkeypatch.setattr(module, "LARGE", 5)
    for module in (linearise, bias):
        monkeypatch.setattr(module, "SPARSE", 5)
    monkeypatch.setattr(patches, "CORE", 4)
    monkeypatch.setattr(patches, "PATCH", 13)
    return


@pytest.mark.usefixtures("small_limits")
def test_plans_in_patches_hold_and_are_not_much_larger(whole: pliant.Plan) -> None:
    plan = plan_of()
    assert plan.evidence.holds, plan.evidence.failing
    assert plan.evidence.violators == 0
    assert plan.entries <= 1.25 * whole.entries
    assert plan.computed <= whole.computed + 6
    assert plan.bias <= 0.02


@pytest.mark.usefixtures("small_limits")
def test_a_search_in_patches_is_the_same_every_time() -> None:
    assert plan_of().outcome.states.key() == plan_of().outcome.states.key()


def test_every_row_has_one_patch(whole: pliant.Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patches, "CORE", 4)
    monkeypatch.setattr(patches, "PATCH", 13)
    checker = LocalChecker(whole.outcome.points, AcceptRule(0.02))
    frame = whole.outcome.frame
    decided = np.concatenate([one.entries[one.own] for one in checker.patches])
    assert np.array_equal(np.sort(decided), np.flatnonzero(checker.decides))
    assert sorted(np.concatenate([one.core for one in checker.patches]).tolist()) == list(range(frame.n))
    assert len(checker.patches) > 2
    for one in checker.patches:
        assert len(one.states) <= 13
        assert np.array_equal(one.states[one.frame.rows], frame.rows[one.entries])


def test_one_patch_of_all_states_gives_the_verdict_of_the_whole(whole: pliant.Plan) -> None:
    """CORE and PATCH are larger than this model."""
    points, rule = whole.outcome.points, AcceptRule(0.02)
    local, checker = LocalChecker(points, rule), Checker(points, rule)
    chance = np.random.default_rng(3)
    for _ in range(20):
        states = EntryStates.of(chance.random(whole.outcome.frame.n_entries) > 0.2)
        found, wanted = local.judge_change(4, states, np.arange(whole.outcome.frame.n)), checker.judge(4, states)
        assert found.accepted == wanted.accepted
        assert found.test == wanted.test


def test_what_a_patch_refuses_starts_anew(whole: pliant.Plan) -> None:
    points = whole.outcome.points
    local = LocalChecker(points, AcceptRule(0.02))
    fine = EntryStates.of(np.ones(whole.outcome.frame.n_entries, dtype=bool))
    assert not local.refused([0, 3], fine).any()
    fast = np.flatnonzero([whole.names[i].startswith("v") for i in whole.outcome.frame.rows])
    assert local.refused([3], fine.dropped(fast))[fast].all()


def test_sets_grow_along_the_strongest_couplings() -> None:
    rows, columns = np.array([0, 1, 2, 3]), np.array([1, 2, 3, 0])
    assert sorted(map(len, cores(40, np.arange(39), np.arange(1, 40), np.ones(39)))) == [16, 24]
    assert cores(4, rows, columns, np.array([1.0, 1.0, 1.0, 1.0])) == [[0, 1, 2, 3]]


def test_sparse_solutions(whole: pliant.Plan) -> None:
    frame, points = whole.outcome.frame, whole.outcome.points
    steps = SparseSteps(frame.mass, frame.rows, frame.columns)
    right = np.random.default_rng(1).standard_normal(frame.n)
    for p in (0, 7):
        wanted = np.linalg.solve(frame.mass - 0.02 * points.Df[p], right)
        assert np.allclose(steps.solve(points.values[p], 0.02, right), wanted, rtol=1e-12)
        assert np.allclose(steps.times(points.values[p], right), points.Df[p] @ right, rtol=1e-12, atol=1e-12)
    nothing = np.zeros(frame.n_entries)
    singular = SparseSteps(np.zeros((frame.n, frame.n)), frame.rows, frame.columns)
    assert not np.isfinite(singular.solve(nothing, 1.0, right)).any()


def test_predicted_error_by_sparse_solutions(whole: pliant.Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    o = whole.outcome
    dense = predicted_error(o.frame, o.exact[0], o.states)
    monkeypatch.setattr(bias, "SPARSE", 5)
    assert np.allclose(predicted_error(o.frame, o.exact[0], o.states), dense, rtol=1e-9, atol=1e-13)
