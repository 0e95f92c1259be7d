"""Order 2: the extrapolated step in linearisation, search and prediction."""

from __future__ import annotations

import numpy as np
import pytest

import pliant
from pliant.realtime.scenario import make_scenarios
from pliant.realtime.sparsing.bias import predicted_error
from pliant.realtime.sparsing.linearisations import CommonData, PointOrigin, Points
from pliant.realtime.sparsing.linearise import Walker, trace
from pliant.realtime.sparsing.stepmap import lasting_error, step_map


def model_of(A: np.ndarray, b: np.ndarray) -> pliant.Model:
    """x' = A x + b sin t"""
    return pliant.ode(
        lambda t, x: A @ x + b * np.sin(t), np.zeros(len(A)), jac=lambda t, x: A, pattern=np.ones(A.shape)
    )


def matrix(seed: int, n: int = 5) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, n)) - 6 * np.eye(n)


def test_the_step_has_order_two_and_euler_one() -> None:
    A, b = matrix(0), np.ones(5)
    model = model_of(A, b)
    accurate = model.simulate(stop=2.0, rtol=1e-11, atol=1e-12, points=[0.0, 2.0])
    exact = np.array([accurate[name][-1] for name in model._numeric.names.x])
    for order, expected in ((1, 2.0), (2, 4.0)):
        errors = []
        for tau in (0.02, 0.01):
            run = trace(Walker(model._numeric, tau, order), make_scenarios(None, 2.0)[0])
            errors.append(np.abs(run.x[-1] - exact).max())
        assert errors[0] / errors[1] == pytest.approx(expected, rel=0.15)


def test_order_two_stays_with_an_inexact_jacobian() -> None:
    A, b = matrix(1), np.ones(5)
    model = model_of(A, b)
    accurate = model.simulate(stop=2.0, rtol=1e-11, atol=1e-12, points=[0.0, 2.0])
    exact = np.array([accurate[name][-1] for name in model._numeric.names.x])
    walker = Walker(model._numeric, 0.01, 2)
    mask = walker.rows == walker.columns
    errors = []
    for tau in (0.01, 0.005):
        run = trace(Walker(model._numeric, tau, 2), make_scenarios(None, 2.0)[0], mask)
        errors.append(np.abs(run.x[-1] - exact).max())
    assert errors[0] / errors[1] > 3.0


@pytest.mark.parametrize("seed", range(3))
def test_the_map_is_the_derivative_of_the_step(seed: int) -> None:
    A = matrix(seed)
    model = model_of(A, np.zeros(5))
    walker = Walker(model._numeric, 0.1, 2)
    walker.begin(make_scenarios(None, 1.0)[0])
    rng = np.random.default_rng(seed)
    mask = (rng.random(25) < 0.5) | (walker.rows == walker.columns)
    frame = CommonData(model._numeric.names.x, walker.rows, walker.columns, walker.mass, 0.1, np.ones(5), 10, 2)
    J = walker.dense(np.where(mask, A[walker.rows, walker.columns], 0.0))
    columns = [e + walker.step(0.1, e, mask)[0] for e in np.eye(5)]
    assert np.abs(np.array(columns).T - step_map(frame.mass, J, A, frame.tau, frame.order)).max() < 1e-12


@pytest.mark.parametrize("seed", range(3))
def test_recursion_is_exact_for_linear_models(seed: int) -> None:
    A = matrix(seed)
    model = model_of(A, np.ones(5))
    walker = Walker(model._numeric, 0.05, 2)
    mask = (np.random.default_rng(seed).random(25) < 0.6) | (walker.rows == walker.columns)
    scenario = make_scenarios(None, 3.0)[0]
    exact, masked = trace(walker, scenario), trace(walker, scenario, mask)
    frame = CommonData(model._numeric.names.x, walker.rows, walker.columns, walker.mass, 0.05, np.ones(5), 60, 2)
    error = predicted_error(frame, exact, mask)
    assert np.abs(error - (masked.x - exact.x)).max() < 1e-12
    assert np.abs(error).max() > 1e-5


def test_lasting_error_is_where_a_ramp_ends() -> None:
    """x' = A x + r t moves steadily in the end; the extrapolated step lags behind by the lasting error."""
    A, tau = matrix(3), 0.2
    r = np.arange(1.0, 6.0)
    model = pliant.ode(lambda t, x: A @ x + r * t, np.zeros(5), jac=lambda t, x: A, pattern=np.ones((5, 5)))
    walker = Walker(model._numeric, tau, 2)
    mask = (walker.rows + walker.columns) % 2 == 0
    frame = CommonData(model._numeric.names.x, walker.rows, walker.columns, np.eye(5), tau, np.ones(5), 100, 2)
    run = trace(walker, make_scenarios(None, 30.0)[0], mask)
    slope = -np.linalg.solve(A, r)
    exact = slope * 30.0 + np.linalg.solve(A, slope)
    J = walker.dense(np.where(mask, A[walker.rows, walker.columns], 0.0))
    predicted = lasting_error(frame.mass, J, A, slope * tau, tau)
    assert np.abs(run.x[-1] - exact) == pytest.approx(np.abs(predicted), rel=1e-6, abs=1e-12)


def test_points_of_order_two_have_the_eigenvalues_of_its_map() -> None:
    A = matrix(4)
    rows, columns = np.divmod(np.arange(25), 5)
    frame = CommonData(tuple("abcde"), rows, columns, np.eye(5), 0.3, np.ones(5), 10, 2)
    points = Points(frame, A[rows, columns][None], np.ones((1, 5)), [PointOrigin(0, 0, 0.0)])
    S = np.linalg.inv(np.eye(5) - 0.15 * A)
    R = 2 * S @ S - np.linalg.inv(np.eye(5) - 0.3 * A)
    assert np.sort_complex(points.eigenvalues[0]) == pytest.approx(np.sort_complex(np.linalg.eigvals(R)), abs=1e-12)


def test_a_plan_of_order_two() -> None:
    A = np.diag([-900.0, -800.0, -2.0, -1.0]) + 0.5 * np.ones((4, 4))
    plan = model_of(A, np.array([50.0, 20.0, 1.0, 1.0])).realtime(step=0.01, stop=8.0, order=2)
    assert plan.entries < plan.full_entries
    assert plan.mask[0, 0]
    assert plan.mask[1, 1]
    assert plan.evidence.holds
    assert plan.evidence.violators == 0
    assert plan.bias == pytest.approx(max(float(one.max()) for one in plan.evidence.measured), rel=0.02, abs=1e-9)
