"""Orders of convergence, at steps and between them, on problems with a closed solution."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from problems import Array
from problems.exact import (
    ExactProblem,
    linear3,
    linear_dae,
    logistic,
    oscillator,
    prothero_robinson,
)
from support import geometric_mean

import pliant

SMOOTH = [logistic(), oscillator(), linear3(), prothero_robinson(-5.0)]
BY_NAME = {p.name: p for p in (*SMOOTH, linear_dae())}
STIFF = prothero_robinson(-1e4)


def model_of(p: ExactProblem, jac: bool = True) -> pliant.Model:
    return pliant.ode(p.f, p.x0, jac=p.jacobian if jac else None, mass=p.mass, names=p.names)


def errors_of(p: ExactProblem, result: pliant.Result) -> Array:
    """Largest error of each row."""
    exact = np.array([p.exact(t) for t in result.time])
    return np.asarray(np.max(np.abs(result.values - exact), axis=1))


def error(p: ExactProblem, points: Any, stop: float | None = None, **more: Any) -> float:
    return float(np.max(errors_of(p, model_of(p).simulate(stop or p.t_end, points=points, **more))))


# --------------------------------------------------------------------------------------- fixed-step methods

FIXED = [("euler", 1), ("lieuler", 1), ("rk4", 4)]


@pytest.mark.parametrize(("method", "order"), FIXED)
@pytest.mark.parametrize("name", ["logistic", "oscillator", "prothero_robinson"])
def test_fixed_step_order(name: str, method: str, order: int) -> None:
    """Over the whole run, at the steps."""
    p = BY_NAME[name]
    h = 0.05 if method == "rk4" else 0.004
    errors = [error(p, None, 2.0, method=method, step=h / 2**k) for k in range(4)]
    observed = [math.log2(coarse / fine) for coarse, fine in pairwise(errors)]
    assert observed[-1] == pytest.approx(order, abs=0.15), errors


@pytest.mark.parametrize(("method", "order"), FIXED)
def test_fixed_step_dense_output_order(method: str, order: int) -> None:
    """Between the steps: one order less would show against the error at the steps."""
    p = oscillator()
    h, points = (0.1, 333) if method == "rk4" else (0.02, 333)
    errors = [error(p, points, 2.0, method=method, step=h / 2**k) for k in range(3)]
    at_steps = [error(p, None, 2.0, method=method, step=h / 2**k) for k in range(3)]
    observed = [math.log2(coarse / fine) for coarse, fine in pairwise(errors)]
    assert min(observed) > min(order, 3) - 0.2
    if order == 1:
        assert errors[-1] < 1.2 * at_steps[-1]
    else:
        assert errors[-1] < 20 * at_steps[-1]


def test_lieuler_is_stable_where_euler_is_not() -> None:
    assert error(STIFF, None, 1.0, method="lieuler", step=0.01) < 1e-3
    with pytest.raises((pliant.SolverError, AssertionError)):
        assert error(STIFF, None, 1.0, method="euler", step=0.01) < 1e3


def test_lieuler_order_on_a_dae() -> None:
    p = linear_dae()
    errors = [error(p, None, method="lieuler", step=0.02 / 2**k) for k in range(4)]
    assert math.log2(errors[-2] / errors[-1]) == pytest.approx(1, abs=0.15)


def test_lieuler_with_a_mask() -> None:
    """The mask keeps the stiff entry only; without any entry it is explicit Euler."""
    p = linear3()
    none = np.zeros((3, 3), dtype=bool)
    masked = model_of(p).simulate(0.1, method="lieuler", step=1e-3, points=None, options={"mask": none})
    euler = model_of(p).simulate(0.1, method="euler", step=1e-3, points=None)
    np.testing.assert_allclose(masked.values, euler.values, rtol=1e-12)
    full = model_of(p).simulate(0.1, method="lieuler", step=1e-3, points=None, options={"mask": ~none})
    plain = model_of(p).simulate(0.1, method="lieuler", step=1e-3, points=None)
    np.testing.assert_array_equal(full.values, plain.values)


# ------------------------------------------------------------------------------------------ adaptive methods

ADAPTIVE = ["bdf", "radau5", "dopri5", "auto"]
TOLERANCES = 10.0 ** -np.arange(4, 11)


@pytest.mark.parametrize("method", ADAPTIVE)
@pytest.mark.parametrize("name", ["logistic", "oscillator", "linear3", "prothero_robinson"])
def test_error_follows_the_tolerance(name: str, method: str) -> None:
    """Proportional on the average (slope of log error over log tolerance), and near the tolerance itself."""
    p = BY_NAME[name]
    errors = [error(p, None, method=method, rtol=tol, atol=tol) for tol in TOLERANCES]
    slope = np.polyfit(np.log(TOLERANCES), np.log(errors), 1)[0]
    assert 0.6 < slope < 1.25, errors
    in_units = geometric_mean([(e / tol,) for e, tol in zip(errors, TOLERANCES, strict=True)])[0]
    assert in_units < (600 if name == "oscillator" else 60), errors


@pytest.mark.parametrize("max_order", [1, 2, 3, 4, 5])
def test_bdf_order(max_order: int) -> None:
    """At order q the step goes with tol^(1/(q+1)), so the number of steps tells the order."""
    p = oscillator()
    tolerances = 10.0 ** -np.linspace(4, {1: 6, 2: 7}.get(max_order, 10), 13)
    steps, errors = [], []
    for tol in tolerances:
        result = model_of(p).simulate(
            p.t_end, method="bdf", rtol=tol, atol=tol, points=None, options={"max_order": max_order}
        )
        steps.append(result.stats.n_steps)
        errors.append(float(np.max(errors_of(p, result))))
        assert max(result.steps["order"]) <= max_order
    assert max(result.steps["order"]) == max_order
    by_steps = -1 / np.polyfit(np.log(tolerances), np.log(steps), 1)[0]
    assert by_steps == pytest.approx(max_order + 1, rel=0.2 if max_order < 5 else 0.4)
    # the error of q-th order formulas over the number of steps
    observed = -np.polyfit(np.log(steps[4:]), np.log(errors[4:]), 1)[0]
    assert max_order - 0.3 < observed < max_order + 1.5


@pytest.mark.parametrize(("method", "low", "high"), [("dopri5", 4.0, 5.5), ("radau5", 3.2, 6.0)])
def test_one_step_methods_by_steps(method: str, low: float, high: float) -> None:
    """Error over number of steps at tight tolerances: the order of the solution."""
    p = oscillator()
    rows = []
    for tol in 10.0 ** -np.linspace(5, 11, 13):
        result = model_of(p).simulate(p.t_end, method=method, rtol=tol, atol=tol, points=2)
        rows.append((result.stats.n_steps, float(errors_of(p, result)[-1])))
    steps, errors = np.array(rows).T
    slope = -np.polyfit(np.log(steps), np.log(errors), 1)[0]
    assert low < slope < high, rows


@pytest.mark.parametrize(
    ("method", "name", "at_steps", "between"),
    [
        ("dopri5", "prothero_robinson", 5, 5),
        ("dopri5", "logistic", 5, 5),
        ("radau5", "prothero_robinson", 5, 4),
        ("radau5", "linear_dae", 5, 4),
    ],
)
def test_order_with_a_bounded_step(method: str, name: str, at_steps: int, between: int) -> None:
    """Tolerances so loose that max_step decides. Radau5's collocation polynomial has degree 3: error h^4."""
    p = BY_NAME[name]
    rows = []
    for h in (0.125, 0.0625, 0.03125):
        more: dict[str, Any] = {"method": method, "rtol": 0.5, "atol": 10.0}
        more["options"] = {"max_step": h, "first_step": h}
        assert model_of(p).simulate(2.0, **more).stats.n_steps == round(2.0 / h)
        rows.append([error(p, points, 2.0, **more) for points in (None, np.linspace(0.5, 2.0, 777))])
    observed = np.log2(np.divide(rows[-2], rows[-1]))
    assert observed == pytest.approx([at_steps, between], abs=0.25), rows


@pytest.mark.parametrize("method", ["bdf", "radau5", "auto"])
def test_stiff_problem_without_loss(method: str) -> None:
    """Prothero-Robinson, lambda = -1e4: no more error than the tolerance, in few steps.

    Radau5 controls a third-order estimate against 0.1 tol^(2/3) (Hairer & Wanner II, IV.8), which on this
    problem, where its order is reduced, is what it reaches."""
    for tol in (1e-4, 1e-6, 1e-8):
        result = model_of(STIFF).simulate(10, method=method, rtol=tol, atol=tol, points=None)
        assert np.max(errors_of(STIFF, result)) < (0.5 * tol ** (2 / 3) if method == "radau5" else 5 * tol)
        assert result.stats.n_steps < 60 * tol ** (-1 / 6 if method != "radau5" else -1 / 5)


# --------------------------------------------------------------------------------------------- dense output


@pytest.mark.parametrize(
    ("name", "method"),
    [
        (name, method)
        for name in ("logistic", "oscillator", "linear3", "linear_dae")
        for method in ADAPTIVE
        if not (name == "linear_dae" and method == "dopri5")  # which has no mass matrix
    ],
)
def test_dense_output_is_as_good_as_the_steps(name: str, method: str) -> None:
    p = BY_NAME[name]
    rows = []
    for tol in (1e-5, 1e-7, 1e-9):
        at_steps = error(p, None, method=method, rtol=tol, atol=tol)
        between = error(p, 1777, method=method, rtol=tol, atol=tol)
        rows.append((between / at_steps, between / tol))
    ratio, in_units = geometric_mean(rows)
    assert ratio < {"radau5": 100.0, "dopri5": 20.0}.get(method, 1.5), rows
    assert in_units < (600 if name == "oscillator" else 60), rows


@pytest.mark.parametrize("method", [*ADAPTIVE, "euler", "rk4", "lieuler"])
def test_dense_output_meets_the_steps(method: str) -> None:
    """The interpolant passes through both ends of each step: no jumps where steps join."""
    p = oscillator()
    more: dict[str, Any] = {"method": method} | ({"step": 0.05} if method in ("euler", "rk4", "lieuler") else {})
    steps = model_of(p).simulate(2.0, points=None, **more)
    inner = steps.time[1:-1]
    just_after = np.nextafter(inner, np.inf)
    both = model_of(p).simulate(2.0, points=np.sort(np.concatenate([inner, just_after])), **more)
    np.testing.assert_allclose(both.values[0::2], steps.values[1:-1], rtol=0, atol=1e-14)
    np.testing.assert_allclose(both.values[1::2], both.values[0::2], rtol=0, atol=1e-12)


# ---------------------------------------------------------------------------------- derivatives and index 1


@pytest.mark.parametrize("method", ["bdf", "radau5", "auto"])
def test_derivatives_of_an_ode(method: str) -> None:
    p = logistic()
    result = model_of(p).simulate(p.t_end, method=method, rtol=1e-9, atol=1e-9, points=21)
    y = 1 / (1 + 9 * np.exp(-result.time))
    np.testing.assert_allclose(result["der(y)"], y * (1 - y), rtol=0, atol=1e-7)


def dae_derivatives(t: Array) -> tuple[Array, Array]:
    x = (-4 * np.sin(t) + 2 * np.cos(t) - 2 * np.exp(-2 * t)) / 5
    return x, -2 * np.sin(t) - x


@pytest.mark.parametrize("jac", [True, False], ids=["exact", "differences"])
@pytest.mark.parametrize("method", ["bdf", "radau5", "auto"])
def test_index_1_dae(method: str, jac: bool) -> None:
    """Differential and algebraic part alike, and derivatives of both."""
    p = linear_dae()
    previous = math.inf
    for tol in (1e-5, 1e-7, 1e-9):
        result = model_of(p, jac).simulate(p.t_end, method=method, rtol=tol, atol=tol, points=50)
        exact = np.array([p.exact(t) for t in result.time])
        worst = np.max(np.abs(result.values - exact), axis=0)
        assert np.all(worst < 200 * tol), worst
        assert worst[1] < 6 * worst[0] + 3 * tol
        assert worst[0] < previous / 5
        previous = float(worst[0])
        residual = result["x"] + result["z"] - 2 * np.cos(result.time)
        assert np.max(np.abs(residual)) < 200 * tol
    der_x, der_z = dae_derivatives(result.time)
    np.testing.assert_allclose(result["der(x)"], der_x, rtol=0, atol=1e-6)
    np.testing.assert_allclose(result["der(z)"], der_z, rtol=0, atol=1e-5)


@pytest.mark.parametrize("method", ["bdf", "radau5", "auto", "lieuler"])
def test_general_mass_matrix_is_a_change_of_equations(method: str) -> None:
    """M x' = M f has the solution of x' = f."""
    p = linear3()
    mass = np.array([[2.0, 1.0, 0.0], [0.0, 3.0, 1.0], [1.0, 0.0, 4.0]])
    more: dict[str, Any] = {"method": method, "rtol": 1e-8, "atol": 1e-8, "points": 9}
    more |= {"step": 1e-3} if method == "lieuler" else {}
    plain = model_of(p).simulate(2.0, **more)
    with_mass = pliant.ode(
        lambda t, x: mass @ p.f(t, x), p.x0, jac=lambda t, x: mass @ p.jacobian(t, x), mass=mass
    ).simulate(2.0, **more)
    atol = 1e-12 if method == "lieuler" else 1e-6
    np.testing.assert_allclose(with_mass.values, plain.values, rtol=0, atol=atol)


def nearly_balanced(factor: float) -> pliant.Model:
    """Two states with the solution sin(3t), and an unknown that is small but for `factor` times their difference."""

    def f(t: float, x: Array) -> list[float]:
        s, rate = math.sin(3 * t), 3 * math.cos(3 * t)
        off = x[0] - s
        return [rate - 2 * off, rate - 5 * (x[1] - s) - off / 2, x[2] - factor * (x[0] - x[1]) - 0.1 * math.cos(t)]

    return pliant.ode(f, [0.0, 0.0, 0.1], mass=[1.0, 1.0, 0.0], names=["x", "y", "z"])


@pytest.mark.parametrize("rtol", [1e-6, 1e-8])
@pytest.mark.parametrize("factor", [1.0, 1e4, 1e6])
def test_unknowns_that_nearly_balance_do_not_hold_bdf_at_low_order(factor: float, rtol: float) -> None:
    """An algebraic unknown cannot be more accurate than the states it is computed from."""
    result = nearly_balanced(factor).simulate(4.0, method="bdf", rtol=rtol, points=201)
    exact = np.sin(3 * result.time)
    assert result.stats.n_steps < 600
    for name in "xy":
        assert np.max(np.abs(result[name] - exact)) < 60 * rtol
    assert np.max(np.abs(result["z"] - 0.1 * np.cos(result.time))) < 60 * rtol * max(1.0, factor)


@pytest.mark.parametrize(("c", "w", "rtol"), [(27.0, 9.0, 1e-3), (100.0, 15.0, 1e-5), (100.0, 9.0, 1e-6)])
def test_algebraic_equation_whose_jacobian_changes(c: float, w: float, rtol: float) -> None:
    """1 + 3 c y^2 with y = sin(w t): a Jacobian kept too long makes corrections too small, which look converged."""

    def f(t: float, x: Array) -> list[float]:
        s = math.sin(w * t)
        return [1.0 - x[0], x[1] - s + c * (x[1] ** 3 - s**3)]

    model = pliant.ode(f, [0.0, 0.0], mass=[1.0, 0.0], names=["x", "y"])
    result = model.simulate(10.0, method="bdf", rtol=rtol, points=1001)
    assert np.max(np.abs(result["y"] - np.sin(w * result.time))) < 30 * rtol
