"""Search, bias and certificates on systems whose answer is known."""

from __future__ import annotations

import numpy as np
import pytest

import pliant
from pliant.errors import ArgumentError, NonFiniteError, NotSupportedError, SingularError, UnknownNameError
from pliant.realtime.build import make_plan
from pliant.realtime.evidence.certificates import common_lyapunov, infinity_bound, windows
from pliant.realtime.plan import Plan
from pliant.realtime.scenario import Scenario, make_scenarios
from pliant.realtime.sparsing.accept import AcceptRule, Checker
from pliant.realtime.sparsing.bias import largest, predicted_error
from pliant.realtime.sparsing.cancelling import find_atoms
from pliant.realtime.sparsing.linearisations import CommonData, PointOrigin, Points, pick, ranges
from pliant.realtime.sparsing.linearise import Walker, trace


def linear_model(A: np.ndarray, b: np.ndarray, w: float = 3.0) -> pliant.Model:
    """x' = A x + b sin(w t)"""
    return pliant.ode(lambda t, x: A @ x + b * np.sin(w * t), np.zeros(len(A)), jac=lambda t, x: A, pattern=A != 0)


def stiff_pair() -> tuple[np.ndarray, np.ndarray]:
    """Two stiff pairs that hardly know of each other, and a slow state that both drive."""
    A = np.array(
        [
            [-2000.0, 1500.0, 0.0, 0.0, 0.0],
            [1500.0, -2000.0, 1e-3, 0.0, 0.0],
            [0.0, 1e-3, -900.0, 500.0, 0.0],
            [0.0, 0.0, 500.0, -900.0, 0.0],
            [1.0, 0.0, 1.0, 0.0, -1.0],
        ]
    )
    return A, np.array([100.0, 0.0, 50.0, 0.0, 0.0])


def plan_of(model: pliant.Model, **changes: object) -> Plan:
    arguments: dict = {
        "step": 1e-2,
        "stop": 5.0,
        "tolerance": 0.02,
        "theta": 0.5,
        "order": 1,
        "scenarios": None,
        "options": {"reference": False},
        "report": lambda progress: None,
    }
    return make_plan(model._numeric, **(arguments | changes))


def test_weak_couplings_go_and_stiff_ones_stay() -> None:
    A, b = stiff_pair()
    plan = plan_of(linear_model(A, b))
    assert not plan.mask[1, 2]
    assert not plan.mask[2, 1]
    assert plan.mask[0, 0]
    assert plan.mask[1, 1]
    assert plan.mask[2, 2]
    assert plan.mask[3, 3]
    assert plan.mask[0, 1]
    assert plan.mask[1, 0]
    assert not plan.mask[4, 4]  # slow: explicit
    assert plan.evidence.violators == 0
    assert plan.evidence.holds
    assert plan.entries < plan.full_entries


def test_the_pattern_found_is_stable_in_a_long_run_of_its_own() -> None:
    A, b = stiff_pair()
    plan = plan_of(linear_model(A, b))
    J, x, tau = np.where(plan.mask, A, 0.0), np.ones(5), 1e-2
    for _ in range(5000):
        x = x + tau * np.linalg.solve(np.eye(5) - tau * J, A @ x)
    assert np.abs(x).max() < 1e-6


def test_margin_is_that_of_the_eigenvalues() -> None:
    A, b = stiff_pair()
    plan = plan_of(linear_model(A, b))
    tau, J = 1e-2, np.where(plan.mask, A, 0.0)
    exact = np.abs(np.linalg.eigvals(np.linalg.inv(np.eye(5) - tau * A))).max()
    sparsed = np.abs(np.linalg.eigvals(np.eye(5) + tau * np.linalg.solve(np.eye(5) - tau * J, A))).max()
    assert plan.margin_kept == pytest.approx(min(1.0, (1 - sparsed) / (1 - exact)), abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_recursion_is_exact_for_linear_models(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, tau = 6, 0.05
    A = rng.standard_normal((n, n)) - 8 * np.eye(n)
    model = linear_model(A, rng.standard_normal(n))
    walker = Walker(model._numeric, tau)
    scenario = make_scenarios(None, 3.0)[0]
    mask = (rng.random(n * n) < 0.6) | (walker.rows == walker.columns)
    exact, masked = trace(walker, scenario), trace(walker, scenario, mask)
    frame = CommonData(model._numeric.names.x, walker.rows, walker.columns, walker.mass, tau, np.ones(n), len(exact.t))
    error = predicted_error(frame, exact, mask)
    assert np.abs(error - (masked.x - exact.x)).max() < 1e-12
    assert np.abs(error).max() > 1e-4


def test_steps_are_those_of_the_method_lieuler() -> None:
    A, b = stiff_pair()
    model = linear_model(A, b)
    run = trace(Walker(model._numeric, 1e-2), make_scenarios(None, 1.0)[0])
    other = model.simulate(stop=1.0, method="lieuler", step=1e-2, points=np.concatenate([[0.0], run.t]))
    assert np.abs(run.x[:, 0] - other["x[0]"]).max() < 1e-12


def test_lasting_bias_is_the_limit_of_the_recursion() -> None:
    """A ramp: the exact step is constant, so the error settles at Df^-1 (Df o (1 - mask)) Dx."""
    A = np.array([[-5.0, 1.0, 0.0], [0.5, -4.0, 1.0], [0.0, 0.0, -1.0]])
    model = pliant.ode(lambda t, x: A @ x + np.array([0.0, 0.0, t]), np.zeros(3), jac=lambda t, x: A, pattern=A != 0)
    walker = Walker(model._numeric, 0.1)
    exact = trace(walker, make_scenarios(None, 60.0)[0])
    frame = CommonData(model._numeric.names.x, walker.rows, walker.columns, walker.mass, 0.1, np.ones(3), len(exact.t))
    points = Points(frame, *pick([exact], 20))
    mask = ~((walker.rows == 1) & (walker.columns == 2))
    lasting, _ = Checker(points, AcceptRule(0.02)).bias(mask)
    error = predicted_error(frame, exact, mask)
    assert lasting[-1] == pytest.approx(error[-1], rel=1e-6, abs=1e-12)
    assert abs(error[-1][1]) > 1e-3


def test_singular_jacobians_get_the_error_of_the_run() -> None:
    """An integrator: Df^-1 does not exist, the error over the run does."""
    A = np.array([[0.0, 1.0], [0.0, -50.0]])
    model = pliant.ode(lambda t, x: A @ x + np.array([0.0, t]), np.zeros(2), jac=lambda t, x: A, pattern=A != 0)
    walker = Walker(model._numeric, 0.01)
    exact = trace(walker, make_scenarios(None, 2.56)[0])
    frame = CommonData(model._numeric.names.x, walker.rows, walker.columns, walker.mass, 0.01, np.ones(2), len(exact.t))
    points = Points(frame, *pick([exact], 10))
    mask = walker.rows != 0
    lasting, _ = Checker(points, AcceptRule(0.02)).bias(mask)
    measured = trace(walker, make_scenarios(None, 2.56)[0], mask).x - exact.x
    assert abs(lasting[-1][0]) == pytest.approx(abs(measured[-1][0]), rel=0.1)


def test_a_tolerance_that_nothing_reaches_gives_the_full_pattern() -> None:
    rng = np.random.default_rng(1)
    A = rng.standard_normal((4, 4)) - 5 * np.eye(4)
    plan = plan_of(linear_model(A, np.ones(4)), tolerance=1e-12)
    assert plan.mask.sum() == 16
    assert plan.entries == plan.full_entries
    assert plan.bias == 0.0
    assert "all entries" in str(plan.evidence) or plan.evidence.holds


def test_protected_rows_and_weights() -> None:
    A, b = stiff_pair()
    model = linear_model(A, b)
    kept = plan_of(model, options={"protected": ["x[4]"], "reference": False})
    assert kept.mask[4].sum() == np.count_nonzero(A[4])
    free = plan_of(model, tolerance=0.003, options={"reference": False, "certificate": False})
    loose = plan_of(
        model,
        tolerance=0.003,
        options={"weights": {f"x[{k}]": 0.0 for k in range(5)}, "reference": False, "certificate": False},
    )
    assert loose.entries < free.entries
    with pytest.raises(UnknownNameError, match="protected"):
        plan_of(model, options={"protected": ["y"]})
    with pytest.raises(ArgumentError, match="weights"):
        plan_of(model, options={"weights": {"x[0]": -1.0}})


def test_the_search_is_deterministic_and_restarts_are_never_dearer() -> None:
    A, b = stiff_pair()
    model = linear_model(A, b)
    first, second = plan_of(model), plan_of(model)
    assert np.array_equal(first.mask, second.mask)
    more = plan_of(model, options={"restarts": 3, "reference": False})
    assert more.flops <= first.flops


def test_every_entry_has_a_reason() -> None:
    A, b = stiff_pair()
    plan = plan_of(linear_model(A, b))
    for i, j in np.argwhere(A != 0):
        text = plan.why(f"x[{i}]", f"x[{j}]")
        assert text.startswith("stayed") == bool(plan.mask[i, j])
        assert "allowed" in text or "no finite" in text
    assert "does not depend" in plan.why("x[0]", "x[4]")
    with pytest.raises(UnknownNameError):
        plan.why("x[0]", "nobody")


def test_cancelling_entries_make_one_atom() -> None:
    effects = np.array([[5.0, 4.0], [-4.9, -4.1], [1.0, 0.0], [0.0, 2.0]], dtype=complex)
    atoms = find_atoms(effects, np.arange(4))
    assert [sorted(map(int, atom.entries)) for atom in atoms] == [[0, 1], [2], [3]]
    assert atoms[0].size == pytest.approx(0.1)


def test_a_growing_model_and_a_diverging_scenario() -> None:
    growing = pliant.ode(lambda t, x: 3.0 * x, [1.0], jac=lambda t, x: [[3.0]])
    with pytest.raises(NonFiniteError, match="unstable at"):
        plan_of(growing, stop=1.0)
    with pytest.raises(NonFiniteError, match=r"diverges|not a number"):
        plan_of(growing, stop=100.0)


def test_an_integrator_is_not_called_unstable() -> None:
    model = pliant.ode(
        lambda t, x: [x[1], -100.0 * x[1] + np.sin(t)], [0.0, 0.0], jac=lambda t, x: [[0.0, 1.0], [0.0, -100.0]]
    )
    plan = plan_of(model, stop=3.0)
    assert plan.evidence.unstable_exact > 0
    assert plan.mask[1, 1]


def test_a_singular_step_names_the_unknown() -> None:
    # 0 = x - z^2 at z = 0
    model = pliant.ode(
        lambda t, x: [-x[0] + 1.0, x[0] - 1.0], [1.0, 0.0], jac=lambda t, x: [[-1.0, 0.0], [1.0, 0.0]], mass=[1.0, 0.0]
    )
    with pytest.raises((SingularError, pliant.errors.PliantError), match=r"x\[1\]|singular"):
        plan_of(model, stop=1.0)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"step": 0.0}, "step"),
        ({"step": float("nan")}, "step"),
        ({"theta": 1.5}, "theta"),
        ({"tolerance": -1}, "tolerance"),
        ({"order": 3}, "order"),
        ({"stop": 1e-3}, "two steps"),
        ({"options": {"formm": 1}}, "formm"),
        ({"options": {"points": 0}}, "points"),
        ({"options": {"precision": "half"}}, "precision"),
        ({"scenarios": []}, "scenarios"),
        ({"scenarios": [{"input": {}}]}, "input"),
        ({"scenarios": [{"stop": -1.0}]}, "stop"),
    ],
)
def test_arguments_that_make_no_sense(changes: dict, words: str) -> None:
    A, b = stiff_pair()
    with pytest.raises(ArgumentError, match=words):
        plan_of(linear_model(A, b), **changes)


def test_models_too_large_for_dense_eigenvalues_are_refused_by_name() -> None:
    n = 1600
    model = pliant.ode(lambda t, x: -x, np.ones(n), pattern=np.eye(n))
    with pytest.raises(NotSupportedError, match="1600 unknowns"):
        plan_of(model, stop=0.1)


# ------------------------------------------------------------------------------------------------- scenarios


def test_inputs_come_from_csv_files(tmp_path) -> None:
    (tmp_path / "drive.csv").write_text('time,"u",v\n0,1,2\n1,3,4\n')
    scenario = Scenario(inputs={"v": str(tmp_path / "drive.csv")})
    assert scenario.inputs["v"].times.tolist() == [0, 1]
    assert scenario.inputs["v"].values.tolist() == [2, 4]
    assert Scenario(inputs=tmp_path / "drive.csv").inputs["u"].values.tolist() == [1, 3]
    with pytest.raises(UnknownNameError, match="no column 'w'"):
        Scenario(inputs={"w": str(tmp_path / "drive.csv")})
    with pytest.raises(ArgumentError, match="there is no file"):
        Scenario(inputs={"u": str(tmp_path / "none.csv")})


def test_ranges_leave_the_start_up_out_and_resting_states_use_their_nominal() -> None:
    A, b = stiff_pair()
    walker = Walker(linear_model(A, b)._numeric, 1e-2)
    run = trace(walker, make_scenarios(None, 5.0)[0])
    run.x[0, 0] = 1e6
    run.x[:, 3] = 7.0
    found = ranges([run], np.full(5, 2.0))
    assert found[0] == pytest.approx(np.ptp(run.x[10:, 0]))
    assert found[3] == 2.0
    assert ranges([run], None)[3] == 7.0


# ----------------------------------------------------------------------------------------------- certificates


def test_common_norm_of_maps_that_share_one() -> None:
    rng = np.random.default_rng(3)
    Q = np.linalg.qr(rng.standard_normal((5, 5)))[0]
    skew = np.diag([1.0, 1.5, 2.0, 1.2, 1.7])
    maps = []
    for _ in range(12):  # each at most .6 in the norm |skew x|
        R = np.linalg.qr(rng.standard_normal((5, 5)))[0] @ np.diag(rng.uniform(0.1, 0.6, 5)) @ Q
        maps.append(np.linalg.inv(skew) @ R @ skew)
    found = common_lyapunov(np.array(maps), np.ones(5), range(12))
    assert found is not None
    assert found.found
    assert found.gamma < 1.0
    x = rng.standard_normal(5)
    for k in range(200):
        x = maps[k % 12] @ x
    assert np.linalg.norm(x) < found.gamma**200 * 1e6


def test_no_common_norm_where_products_grow() -> None:
    a, b = np.array([[0.1, 5.0], [0.0, 0.1]]), np.array([[0.1, 0.0], [5.0, 0.1]])  # each decays, together they grow
    found = common_lyapunov(np.array([a, b]), np.ones(2), [0, 1])
    assert found is not None
    assert not found.found
    assert infinity_bound(np.array([a, b]), np.ones(2)) == pytest.approx(5.1)
    maps = [a, b]
    seen = windows(lambda k: maps[k % 2], 400, np.eye(2))
    assert seen is None or seen.length is None
    assert common_lyapunov(np.array([2 * np.eye(2)]), np.ones(2), [0]) is None


def test_windows_tell_when_disturbances_have_decayed() -> None:
    angle, decay = 0.3, 0.995
    R = decay * np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    shear = np.array([[1.0, 3.0], [0.0, 1.0]])
    S = shear @ R @ np.linalg.inv(shear)
    seen = windows(lambda k: S, 2000, np.eye(2))
    assert seen is not None
    assert seen.length is not None
    products = [np.linalg.norm(np.linalg.matrix_power(S, m), 2) for m in range(25, 501, 25)]
    first = 25 * (1 + next(k for k, value in enumerate(products) if value < 1.0))
    assert seen.length == first
    assert seen.bound == pytest.approx(products[first // 25 - 1], rel=1e-9)


def test_points_keep_where_they_came_from() -> None:
    A, b = stiff_pair()
    walker = Walker(linear_model(A, b)._numeric, 1e-2)
    runs = [trace(walker, one) for one in make_scenarios([{}, {"stop": 1.0}], 5.0)]
    values, dx, origins = pick(runs, 60)
    assert len(values) == len(dx) == len(origins)
    assert {one.scenario for one in origins} == {0, 1}
    last = origins[-1]
    assert isinstance(last, PointOrigin)
    assert last.time == pytest.approx(runs[1].t[last.step])
    assert np.array_equal(dx[-1], runs[1].dx[last.step])
    assert not origins[0].settled
    assert last.settled


@pytest.mark.parametrize("count", [7, 60, 150, 399])
def test_points_reach_the_end_of_the_run(count: int) -> None:
    A, b = stiff_pair()
    run = trace(Walker(linear_model(A, b)._numeric, 1e-2), make_scenarios(None, 3.99)[0])
    _, _, origins = pick([run], count)
    assert len(origins) == count
    gap = np.diff([one.step for one in origins]).max() if count < 399 else 1
    assert origins[0].step == 0
    assert len(run.t) - origins[-1].step <= gap


def test_largest_counts_the_start_up_half() -> None:
    frame = CommonData(("a",), np.array([0]), np.array([0]), np.eye(1), 1.0, np.array([2.0]), 100)
    error = np.zeros((100, 1))
    error[0], error[50] = 4.0, -1.0
    assert largest(error, frame)[0] == 1.0
