"""Increments of difference Jacobians: rules against their formulas, what the default makes of a point and of a run."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from problems import problem
from support import compiled, geometric_mean

import pliant
from pliant.solve.options import SolverOptions

U = 2.0**-52
ROOT_U = 2.0**-26
POINT = np.array([3.7, -0.02, 1e-9, -4e8, 0.0, 6e-20])
NOMINAL = np.array([2.0, 5.0, 1e-7, 1e6, 10.0, 1.0])
ROOT = Path(__file__).parents[1]
STUDY = ROOT / "examples" / "increments"


def linear_model(**given: Any) -> pliant.Model:
    weights = np.linspace(1.0, 2.0, POINT.size)
    return pliant.ode(lambda t, x: -weights * x, POINT, **given)


def increments(rule: str, *, nominal: Any = None, rtol: float = 1e-6, atol: float = 1e-9, **options: Any) -> np.ndarray:
    found = linear_model(nominal=nominal).jacobian(rtol=rtol, atol=atol, options={"increments": rule, **options})
    assert found.source == "differences"
    assert found.increments is not None
    return found.increments


# -------------------------------------------------------------------------------------------- the literature's rules

SIZE = np.abs(POINT)


def spacing(x: np.ndarray) -> np.ndarray:
    return np.nextafter(np.abs(x), np.inf) - np.abs(x)


def thesis(x: np.ndarray) -> np.ndarray:
    sigma = np.maximum(spacing(x) / ROOT_U, ROOT_U * 2.0**-9)
    return np.where((x < 0) & (x + sigma >= 0), -sigma, sigma)


@pytest.mark.parametrize(
    ("rule", "constant", "expected"),
    [
        ("pyfmi", 1.0, ROOT_U * np.maximum(SIZE, NOMINAL)),
        ("experiment2", 0.1, ROOT_U * np.maximum(SIZE, 0.1 * NOMINAL)),
        ("experiment3", 0.01, ROOT_U * np.maximum(SIZE, 0.01)),
        ("experiment4", 1e-3, np.maximum(U * SIZE, 1e-3 * ROOT_U)),
        ("experiment5", 2.0**-7, np.maximum(spacing(POINT) / ROOT_U, 2.0**-7 * ROOT_U)),
        ("thesis", 1.0, thesis(POINT)),
        ("radau5", 1.0, np.sqrt(U * np.maximum(1e-5, SIZE))),
        ("entered", 1.0, ROOT_U * np.maximum(SIZE, NOMINAL)),
    ],
)
def test_rule_follows_its_formula(rule: str, constant: float, expected: np.ndarray) -> None:
    found = increments(rule, nominal=NOMINAL, increment_constant=constant)
    np.testing.assert_allclose(found, expected, rtol=1e-14)


def test_cvode_takes_weights_when_the_step_is_unknown() -> None:
    # pl_jacobian at a point knows no step: s0 = 1
    np.testing.assert_allclose(increments("cvode"), np.maximum(ROOT_U * SIZE, 1e-6 * SIZE + 1e-9), rtol=1e-14)


def test_pyfmi_takes_one_where_no_nominal_was_entered() -> None:
    np.testing.assert_allclose(increments("pyfmi"), ROOT_U * np.maximum(SIZE, 1.0), rtol=1e-14)


def test_entered_leaves_states_without_nominal_to_the_solver() -> None:
    text = (
        "model M\n Real a(start = 0.5, nominal = 100), b(start = 0.5);\nequation\n der(a) = -a*b; der(b) = -b;\nend M;"
    )
    found = pliant.load(text).jacobian(options={"jacobian": "differences", "increments": "entered"}, atol=1e-9)
    assert found.increments is not None
    assert found.increments[0] == pytest.approx(ROOT_U * 100.0)
    assert found.increments[1] == pytest.approx(0.5e-6 + 1e-9)  # CVode's, the solver there is BDF


@pytest.mark.parametrize("algorithm", [1, 2, 3])
def test_representable(algorithm: int) -> None:
    raw, found = increments("pyfmi"), increments("pyfmi", representable=algorithm)
    for x, before, after in zip(POINT, raw, found, strict=True):
        if x == 0 and algorithm > 1:
            assert after == before
            continue
        turn = x < 0 and (algorithm == 3 or (algorithm == 2 and before >= -x))
        assert after == (x + (-before if turn else before)) - x
        assert (x + after) - x == after


def test_curvature_scales_of_the_user() -> None:
    scales = np.array([1e-3, 1e-5, 1e-9, 1.0, 2.0, 1e-20])
    found = increments("curvature", curvature=scales)
    assert np.all(np.abs(found) >= 0.5 * ROOT_U * scales)
    assert np.all((np.abs(found) <= 2 * ROOT_U * scales) | (np.abs(found) <= 4 * spacing(POINT)))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"increments": "curvature"}, "curvature"),
        ({"curvature": [1.0, 2.0]}, "shape"),
        ({"curvature": -1.0}, "negative"),
        ({"curvature": math.nan}, "finite"),
        ({"representable": 4}, "representable"),
        ({"increment_constant": -1.0}, "increment_constant"),
        ({"jacobian": "exact"}, "Jacobian of its own"),
        ({"jacobian": "directional"}, "directional"),
        ({"increments": "nominal"}, "pyfmi"),
    ],
)
def test_options_that_make_no_sense(options: dict[str, Any], words: str) -> None:
    with pytest.raises(pliant.ArgumentError, match=words):
        linear_model().simulate(stop=1.0, options=options)


def test_defaults_of_the_options() -> None:
    assert SolverOptions().increments == "default"
    assert SolverOptions().representable == 0


# --------------------------------------------------------------------------------------------- the default, at a point


@pytest.mark.parametrize("nominal", [None, NOMINAL])
def test_default_is_a_power_of_two_that_keeps_sterbenz_condition(nominal: Any) -> None:
    found = increments("default", nominal=nominal)
    mantissa, _ = np.frexp(np.abs(found))
    assert np.all(mantissa == 0.5)
    moved = POINT + found
    assert np.all(moved - POINT == found)
    assert np.all(np.sign(moved[POINT != 0]) == np.sign(POINT[POINT != 0]))


def test_nominal_value_is_a_hint_only() -> None:
    model = pliant.ode(lambda t, x: [-x[0]], [2.0], nominal=1e6)  # seen: 2
    found = model.jacobian().increments
    assert found is not None
    assert found[0] < 1e-6
    at_zero = pliant.ode(lambda t, x: [-x[0]], [0.0], nominal=1e6).jacobian().increments  # nothing seen
    assert at_zero is not None
    assert 0.9 * ROOT_U * 1e6 < at_zero[0] < 2.1 * ROOT_U * 1e6


def test_a_tiny_start_value_that_is_no_scale_is_not_believed() -> None:
    model = pliant.ode(lambda t, x: [1.0 - x[0] + x[1], -3.0 * (x[0] - 1.0) - 2.0 * x[1]], [1.0, 3e-19])
    found = model.jacobian()
    np.testing.assert_allclose(found.matrix, [[-1.0, 1.0], [-3.0, -2.0]], rtol=1e-5)
    assert found.evaluations <= found.colours + 1


def test_a_tiny_start_value_that_is_a_scale_is_believed() -> None:
    model = pliant.ode(lambda t, x: [-1e20 * x[0] ** 2, -x[1]], [1e-19, 1.0])
    assert model.jacobian().matrix[0, 0] == pytest.approx(-20.0, rel=1e-6)


def random_system(seed: int, zeros: float) -> tuple[Any, Any, np.ndarray, np.ndarray]:
    """Smooth equations in x/size, size from 1e-12 to 1e12, with their exact Jacobian."""
    rng = np.random.default_rng(seed)
    n = 8
    size, rate = 10.0 ** rng.uniform(-12, 12, n), 10.0 ** rng.uniform(-6, 6, n)
    a, b, c = (rng.normal(size=(n, n)) * (rng.random((n, n)) < 0.4) for _ in range(3))
    a += np.diag(rng.uniform(0.5, 2.0, n))

    def f(t: float, x: np.ndarray) -> np.ndarray:
        z = x / size
        return (a @ z + b @ np.sin(z) + (c @ np.exp(z)) * (1 + 0.3 * z)) * size * rate

    def jac(x: np.ndarray) -> np.ndarray:
        z = x / size
        inner = a + b * np.cos(z) + c * np.exp(z) * (1 + 0.3 * z)[:, None] + np.diag(0.3 * (c @ np.exp(z)))
        return inner / size * (size * rate)[:, None]

    x = size * rng.uniform(0.2, 2.0, n) * rng.choice([-1.0, 1.0], n)
    x[rng.random(n) < zeros] = 0.0
    return f, jac, x, size


@pytest.mark.parametrize("case", ["plain", "nominal", "atol"])
def test_badly_scaled_systems(case: str) -> None:
    errors = []
    for seed in range(60):
        f, jac, x, size = random_system(seed, 0.0 if case == "plain" else 0.3)
        model = pliant.ode(f, x, nominal=size if case == "nominal" else None)
        found = model.jacobian(atol=1e-6 * size if case == "atol" else None)
        exact = jac(x)
        errors.append(np.abs(found.matrix - exact) * size / np.max(np.abs(exact) * size, axis=1, keepdims=True))
        assert found.evaluations <= found.colours + 1
    all_errors = np.concatenate([e.ravel() for e in errors])
    assert np.mean(all_errors <= 1e-6) >= 0.99
    assert all_errors.max() <= 1e-3


def test_central_differences_are_better_on_bent_functions() -> None:
    model = pliant.ode(lambda t, x: [np.exp(3.0 * x[0])], [1.0])
    exact = 3.0 * math.exp(3.0)
    plain, central = model.jacobian(), model.jacobian(options={"central": True})
    assert abs(central.matrix[0, 0] / exact - 1) < 0.1 * abs(plain.matrix[0, 0] / exact - 1)
    assert central.evaluations == 2


# ------------------------------------------------------------------------------------------------------ sources, bounds


def test_sources_agree() -> None:
    model = pliant.load(ROOT / "examples" / "dc_drive.mo")
    exact = model.jacobian(options={"jacobian": "exact"})
    assert exact.source == "exact"
    assert exact.increments is None
    for source in ("directional", "differences"):
        found = model.jacobian(options={"jacobian": source})
        assert found.source == source
        scale = np.abs(exact.matrix).max(axis=1, keepdims=True)
        np.testing.assert_allclose(found.matrix / scale, exact.matrix / scale, atol=1e-6)


def test_directional_source_counts_and_simulates() -> None:
    model = pliant.load(ROOT / "examples" / "dc_drive.mo")
    a = model.simulate(stop=1.0, options={"jacobian": "directional"})
    b = model.simulate(stop=1.0, options={"jacobian": "exact"})
    assert a.stats.jacobian == "directional"
    assert a.stats.n_jvp >= a.stats.n_jac > 0
    assert a.stats.n_rhs_jac == 0
    assert a.stats.n_steps == b.stats.n_steps


BOUNDED = """
model Tank
  Real level(start = 0, fixed = true, min = 0);
  Real full(start = 2, fixed = true, max = 2);
equation
  der(level) = 1 - sqrt(level) - 0.1*full;
  der(full) = -sqrt(2 - full) - level;
end Tank;
"""


def test_bounds_turn_the_side() -> None:
    found = pliant.load(BOUNDED).jacobian(options={"jacobian": "differences"})
    assert found.increments is not None
    assert found.increments[0] > 0
    assert found.increments[1] < 0
    assert np.all(np.isfinite(found.matrix))


def test_refused_points_are_asked_again() -> None:
    asked: list[float] = []

    def f(t: float, x: np.ndarray) -> list[float]:
        asked.append(float(x[0]))
        return [math.nan if x[0] > 1.0 else -(x[0] ** 2)]  # the default goes upwards from 1

    found = pliant.ode(f, [1.0]).jacobian()
    assert found.matrix[0, 0] == pytest.approx(-2.0, rel=1e-6)
    assert max(asked) > 1.0
    assert found.increments is not None
    assert found.increments[0] < 0


# ----------------------------------------------------------------------------------------------------------- whole runs


def stiff_van_der_pol(nominal: Any = None) -> pliant.Model:
    return pliant.ode(lambda t, y: [1e6 * (y[0] - y[0] ** 3 / 3 - y[1]), 1e-6 * y[0]], [2.0, -2 / 3], nominal=nominal)


@pytest.mark.parametrize("nominal", [1e-3, 1e-1, 1.0, 1e3, 1e5, 1e6, 1e7])
def test_van_der_pol_with_any_nominal_value(nominal: float) -> None:
    result = stiff_van_der_pol(nominal).simulate(stop=2e6, method="radau5", rtol=1e-9, atol=1e-3, points=2)
    assert result.stats.n_steps <= 150


def test_pyfmi_rule_stalls_where_the_default_does_not() -> None:
    with pytest.raises(pliant.StepLimitError):
        stiff_van_der_pol(1e6).simulate(
            stop=2e6, method="radau5", rtol=1e-9, atol=1e-3, options={"increments": "pyfmi", "max_steps": 5000}
        )


@pytest.mark.parametrize("k", range(-4, 5))
def test_repair_is_bounded(k: int) -> None:
    """Columns that changed back and forth once kept a step from ever ending."""
    model = pliant.load(STUDY / "VanDerPol.mo")
    s = 1 + 0.0025 * k
    result = model.simulate(
        2e6, method="radau5", rtol=1e-9 * s, atol=1e-3 * s, points=2, options={"jacobian": "differences"}, timeout=30
    )
    assert result.stats.n_steps <= 150


def steps(model: pliant.Model, stop: float, method: str, rtol: float, jacobian: str, **given: Any) -> float:
    return geometric_mean(
        [
            model.simulate(
                stop, method=method, rtol=rtol * (1 + 0.005 * k), points=2, options={"jacobian": jacobian}, **given
            ).stats.n_steps
            for k in range(-4, 5)
        ]
    )


@pytest.mark.parametrize("method", ["bdf", "radau5"])
@pytest.mark.parametrize("name", ["LockValve", "HydraulicCircuit", "DoubleWishbone"])
def test_study_models_take_the_steps_of_the_exact_jacobian(name: str, method: str) -> None:
    model = pliant.load(STUDY / f"{name}.mo")
    assert steps(model, 10.0, method, 1e-6, "differences") <= 1.15 * steps(model, 10.0, method, 1e-6, "exact")


def robertson(t: float, y: np.ndarray) -> list[float]:
    a, b, c = 0.04 * y[0], 1e4 * y[1] * y[2], 3e7 * y[1] ** 2
    return [-a + b, a - b - c, c]


@pytest.mark.parametrize("nominal", [None, 1.0, [1.0, 1e-5, 1.0]])
def test_robertson_whose_fast_component_lies_below_its_tolerance(nominal: Any) -> None:
    stats = pliant.ode(robertson, [1.0, 0.0, 0.0], nominal=nominal).simulate(stop=1e11, method="radau5", points=2).stats
    assert stats.n_steps <= 220
    assert stats.n_newton_fails <= 20


@pytest.mark.parametrize("name", ["hires", "pollution", "orego", "chemakzo", "vdpol_mu1000"])
def test_problem_set_takes_the_steps_of_the_exact_jacobian(name: str) -> None:
    p, model = problem(name), compiled(name)
    for method in ("bdf", "radau5"):
        given = {"atol": 1e-6 * p.atol_scale}
        ratio = steps(model, p.t_end, method, 1e-6, "differences", **given)
        assert ratio <= 1.15 * steps(model, p.t_end, method, 1e-6, "exact", **given)


def test_evaluations_per_jacobian() -> None:
    model = pliant.load(STUDY / "DoubleWishbone.mo")
    colours = model.jacobian(options={"jacobian": "differences"}).colours
    for method in ("bdf", "radau5"):
        stats = model.simulate(10.0, method=method, options={"jacobian": "differences"}).stats
        assert colours <= stats.n_rhs_jac / stats.n_jac <= colours + 1


def test_runs_do_not_depend_on_each_other() -> None:
    model = pliant.load(STUDY / "DoubleWishbone.mo")
    options = {"jacobian": "differences"}
    first = model.simulate(10.0, options=options)
    model.simulate(10.0, options=options, parameters={"x_joint": 1e-7})
    again = model.simulate(10.0, options=options)
    assert np.array_equal(first.values, again.values)


def test_noise_is_answered_by_larger_increments() -> None:
    """Newton stalls on a Jacobian of noise; the repair finds increments that rise above it."""

    def f(t: float, x: np.ndarray) -> np.ndarray:
        z = np.array([-1e4 * (x[0] - np.cos(t)) + x[1], -50.0 * x[1] + x[0]])
        noise = np.sin(1e12 * x[::-1] + 3e11 * x)  # pseudo-random, far above rounding
        return z + 1e-5 * noise

    clean = pliant.ode(lambda t, x: [-1e4 * (x[0] - np.cos(t)) + x[1], -50.0 * x[1] + x[0]], [1.0, 0.0])
    expected = clean.simulate(stop=10.0, method="radau5", rtol=1e-4)
    result = pliant.ode(f, [1.0, 0.0]).simulate(stop=10.0, method="radau5", rtol=1e-4, timeout=60)
    assert result.stats.n_steps <= 3 * expected.stats.n_steps
    assert result.final["x[0]"] == pytest.approx(expected.final["x[0]"], abs=1e-3)


OVERFLOW = """
model Steep
  Real x(start = 0, fixed = true), y(start = 0.5, fixed = true);
equation
  der(x) = cos(time);
  der(y) = 1e5*(1/(1 + exp(-x/1e-3)) - y);
end Steep;
"""


def test_derivatives_that_overflow_where_f_does_not() -> None:
    """exp(a)/(1 + exp(a))^2 is Inf/Inf for large a."""
    model = pliant.load(OVERFLOW)
    tolerances = [1e-6 * k for k in (1, 2, 4, 8, 16)]  # which states Jacobians are taken at is chance
    results = [model.simulate(stop=10.0, rtol=rtol) for rtol in tolerances]
    assert all(one.complete for one in results)
    assert sum(one.stats.n_rhs_jac for one in results) > 0
    failed = 0
    for rtol in tolerances:
        try:
            model.simulate(stop=10.0, rtol=rtol, options={"jacobian": "exact"})
        except pliant.NonFiniteError:
            failed += 1
    assert failed > 0
