"""Linearisation and steady states of Modelica models: closed forms, central differences, all forms of a model."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from support_modelica import model_of, numeric

import pliant
from pliant.solve.run.operating import Point

Array = NDArray[np.float64]

LOOP = """  parameter Real k = 3;
  input Real u;
  Real x(start = 0.3, fixed = true), v(start = 0.2, fixed = true), y;
  output Real z, w, c, d;
equation
  der(x) = v; der(v) = -k*x + y; y + 0.1*y^3 = u - v; z = x*y + u; w = z + y^2; c = 7; d = -u;"""


def by_differences(model: pliant.Model, x: dict[str, float], u: float, outputs: list[str]) -> tuple[Array, ...]:
    """A, B, C, D by central differences of simulations that do not move."""

    def at(x: dict[str, float], u: float) -> Array:
        result = model.simulate(stop=1e-9, points=2, start_values=x, inputs={"u": u})
        return np.array([result[name][0] for name in [*(f"der({s})" for s in x), *outputs]])

    h = 1e-6
    columns = [(at(x | {s: x[s] + h}, u) - at(x | {s: x[s] - h}, u)) / (2 * h) for s in x]
    by_x = np.column_stack(columns)
    by_u = ((at(x, u + h) - at(x, u - h)) / (2 * h))[:, None]
    n = len(x)
    return by_x[:n], by_u[:n], by_x[n:], by_u[n:]


@pytest.mark.parametrize("options", [{"form": "ode"}, {"form": "dae"}, {"aliases": False}], ids=str)
def test_linearize_against_differences(options: dict[str, Any]) -> None:
    model = model_of(LOOP, **options)
    found = model.linearize(x={"x": 0.4, "v": 0.1}, inputs={"u": 0.7})
    assert found.states == ("x", "v")
    assert found.inputs == ("u",)
    assert found.outputs == ("z", "w", "c", "d")
    wanted = by_differences(model, {"x": 0.4, "v": 0.1}, 0.7, list(found.outputs))
    for one, other in zip((found.A, found.B, found.C, found.D), wanted, strict=True):
        assert one == pytest.approx(other, abs=1e-7)
    assert found.x == pytest.approx([0.4, 0.1])
    assert found.u == pytest.approx([0.7])


def test_linearize_in_closed_form() -> None:
    """Mass, spring, damper: eigenvalues -d/2 +- i sqrt(k - d^2/4)."""
    body = """  parameter Real k = 4, d = 0.4;
  input Real f;
  output Real a;
  Real x, v;
equation
  v = der(x); a = der(v); a = f - k*x - d*v;"""
    model = model_of(body)
    found = model.linearize(parameters={"k": 9.0})
    assert pytest.approx(np.array([[0, 1], [-9, -0.4]])) == found.A
    assert pytest.approx(np.array([[0], [1]])) == found.B
    assert pytest.approx(np.array([[-9, -0.4]])) == found.C
    assert pytest.approx(np.array([[1]])) == found.D
    assert np.sort(found.eigenvalues.imag) == pytest.approx([-math.sqrt(9 - 0.04), math.sqrt(9 - 0.04)])
    assert found.eigenvalues.real == pytest.approx([-0.2, -0.2])


def test_linearize_by_order_and_wrong_arguments() -> None:
    model = model_of(LOOP)
    assert model.linearize(x=[1.0, 2.0]).x == pytest.approx([1.0, 2.0])
    with pytest.raises(pliant.ArgumentError, match="there are 2 states"):
        model.linearize(x=[1.0])
    with pytest.raises(pliant.UnknownNameError, match="'q'"):
        model.linearize(x={"q": 1.0})
    with pytest.raises(pliant.ArgumentError, match="y is no state"):
        model.linearize(x={"y": 1.0})
    with pytest.raises(pliant.PliantError):
        model.linearize(t=math.nan)


def test_linearize_at_a_time() -> None:
    body = "  Real x(start = 1, fixed = true);\nequation\n  der(x) = -(1 + time)*x;"
    assert pytest.approx(np.array([[-3.0]])) == model_of(body).linearize(t=2.0).A


def test_linearize_uses_the_branch_at_the_point() -> None:
    body = "  Real x(start = 1);\nequation\n  der(x) = if x < 2 then -x else -5*x;"
    model = model_of(body)
    assert pytest.approx(np.array([[-1.0]])) == model.linearize(x={"x": 1.0}).A
    assert pytest.approx(np.array([[-5.0]])) == model.linearize(x={"x": 3.0}).A


AT_REST = """  parameter Real k = 2, gain(fixed = false, start = 1);
  input Real u(start = 1);
  Real x(start = 3), v(start = 0), y;
  output Real z;
initial equation
  der(x) = 0; der(v) = 0; gain*x = 4;
equation
  der(x) = v; der(v) = u - k*x - gain*v - y; y + y^3 = x*v; z = y + x;"""


@pytest.mark.parametrize("options", [{"form": "ode"}, {"form": "dae"}], ids=str)
def test_linearize_away_from_the_initial_equations(options: dict[str, Any]) -> None:
    """Initial equations determine the start (x = u/k, gain = 4/x) and what is not given, not the point."""
    model = model_of(AT_REST, **options)
    assert model.linearize().x == pytest.approx([0.5, 0.0], abs=1e-9)
    for x, wanted in (({"x": 1.0, "v": 2.0}, (1.0, 2.0)), ({"v": 2.0}, (0.5, 2.0)), ([1.0, 2.0], (1.0, 2.0))):
        found = model.linearize(x=x)
        at, v = wanted
        assert found.x == pytest.approx([at, v], abs=1e-9)
        (y,) = (root.real for root in np.roots([1.0, 0.0, 1.0, -at * v]) if abs(root.imag) < 1e-9)
        dy = np.array([v, at]) / (1 + 3 * y**2)
        assert np.array([[0, 1], [-2 - dy[0], -8 - dy[1]]]) == pytest.approx(found.A, abs=1e-8)
        assert np.array([[1 + dy[0], dy[1]]]) == pytest.approx(found.C, abs=1e-8)
        assert np.array([[0], [1]]) == pytest.approx(found.B, abs=1e-8)
    assert model.jacobian(x={"x": 1.0, "v": 2.0}).x[:2] == pytest.approx([1.0, 2.0])


def test_linearize_the_robot_elsewhere() -> None:
    """Its initial equations want rest; the accelerations depend on all angles through a torn loop."""
    model = pliant.load("examples/Robot.mo")
    start = model.linearize()
    x = dict(zip(start.states, start.x.tolist(), strict=True))
    moved = x | {"axis[2].q": x["axis[2].q"] + 0.2, "axis[3].qd": 0.5}
    part = model.linearize(x={name: moved[name] for name in ("axis[2].q", "axis[3].qd")})
    whole = model.linearize(x=moved)
    assert part.x == pytest.approx(whole.x, abs=1e-8)
    assert pytest.approx(whole.A, rel=1e-6, abs=1e-4) == part.A
    assert np.abs(whole.A - start.A).max() > 1.0
    column, h = whole.states.index("axis[2].q"), 1e-5
    name = "axis[2].q"
    shifted = [model.jacobian(x=moved | {name: moved[name] + s * h}) for s in (-1.0, 1.0)]
    rates = [_rates(model, one.x) for one in shifted]
    slope = (rates[1] - rates[0]) / (2 * h)
    assert slope == pytest.approx(whole.A[:, column], rel=1e-5, abs=1e-3)


def _rates(model: pliant.Model, x: Array) -> Array:
    point = Point(numeric(model), 0.0, {}, {}, {})
    return point.rhs(np.ascontiguousarray(x))


PENDULUM = """  Real x(start = 1, fixed = true), y(start = -0.1), vx, vy(start = 0, fixed = true), F;
equation
  der(x) = vx; der(vx) = -F*x; der(y) = vy; der(vy) = -F*y - 9.81; x^2 + y^2 = 1.01;"""


def test_linearize_by_candidates_of_a_state_set() -> None:
    model = model_of(PENDULUM)
    r = math.sqrt(1.01)
    for given in ({"y": -r, "vy": 0.0, "x": 0.0, "vx": 0.0}, {"x": 0.0, "vx": 0.0}):
        rest = model.linearize(x=given)
        assert rest.states == ("x", "vx")
        assert np.abs(rest.eigenvalues.imag) == pytest.approx([math.sqrt(9.81 / r)] * 2)
    assert model.linearize(x={"x": 0.6}).x[0] == pytest.approx(0.6)
    with pytest.raises(pliant.InitialValueError, match=r"was asked for, but with the other values the constraints"):
        model.linearize(x={"x": 0.6, "y": -0.6})


def test_linearize_by_a_fixed_variable_that_is_no_state() -> None:
    body = """  Real phi(start = 0.1), w(start = 0, fixed = true), height(start = -0.9, fixed = true);
equation
  der(phi) = w; der(w) = -9.81*sin(phi); height = -cos(phi);"""
    found = model_of(body).linearize(x={"height": -math.cos(0.7)})
    assert abs(found.x[found.states.index("phi")]) == pytest.approx(0.7)
    assert found.A[1, 0] == pytest.approx(-9.81 * math.cos(0.7))


# ----------------------------------------------------------------------------------------------- steady states


def test_steady_state_in_closed_form() -> None:
    """Stirred tank with a second-order reaction: q (c0 - c) = k V c^2."""
    body = """  parameter Real q = 2, V = 3, k = 0.5;
  input Real c0;
  Real c(start = 1), heat, T(start = 300);
equation
  V*der(c) = q*(c0 - c) - k*V*c^2; heat = k*V*c^2*10; der(T) = heat - 0.1*(T - 290);"""
    model = model_of(body)
    for c0 in (1.0, 4.0):
        found = model.steady_state(inputs={"c0": c0})
        c = (-2 + math.sqrt(4 + 4 * 1.5 * 2 * c0)) / 3
        assert found["c"] == pytest.approx(c, rel=1e-10)
        assert found["heat"] == pytest.approx(15 * c * c)
        assert found["T"] == pytest.approx(290 + 150 * c * c)
        assert found["der(c)"] == pytest.approx(0, abs=1e-12)
        assert found["q"] == 2
        assert found["c0"] == c0
        assert found.residual < 1e-9


MASS_ACTION = """  parameter Real k1 = 2, k2 = 0.7, k3 = 3, total = 5;
  Real A(start = 5), B(start = 0), C(start = 0), r1, r2;
equation
  r1 = k1*A*B + 0.01*A; r2 = k2*B^2;
  der(B) = r1 - 2*r2 - B; der(C) = r2 - k3*C + B; A + B + 2*C = total;"""


@pytest.mark.parametrize("options", [{}, {"form": "dae"}], ids=str)
def test_steady_state_of_mass_action(options: dict[str, Any]) -> None:
    found = model_of(MASS_ACTION, **options).steady_state()
    a, b, c = found["A"], found["B"], found["C"]
    assert a + b + 2 * c == pytest.approx(5)
    assert 2 * a * b + 0.01 * a - 1.4 * b * b - b == pytest.approx(0, abs=1e-9)
    assert 0.7 * b * b - 3 * c + b == pytest.approx(0, abs=1e-9)
    assert b > 0.1  # the stable one, to which the simulation goes
    end = model_of(MASS_ACTION, **options).simulate(stop=100, rtol=1e-9).final
    assert (end["A"], end["B"], end["C"]) == pytest.approx((a, b, c), abs=1e-6)


def test_steady_state_follows_parameters_and_start_values() -> None:
    body = "  parameter Real a = 4;\n  Real x(start = 1);\nequation\n  der(x) = x*(a - x^2);"
    model = model_of(body)
    assert model.steady_state()["x"] == pytest.approx(2)
    assert model.steady_state(parameters={"a": 9})["x"] == pytest.approx(3)
    assert model.steady_state(start_values={"x": -1})["x"] == pytest.approx(-2)


def test_steady_state_behind_a_switch() -> None:
    one = model_of("  Real x(start = 0.5), y;\nequation\n  der(x) = -x + y; y = if x < 2 then 3 else 2.5;")
    assert one.steady_state()["x"] == pytest.approx(2.5)
    other = model_of("  Real x(start = -1);\nequation\n  der(x) = if x < 0 then 1 else 2 - x;")
    assert other.steady_state()["x"] == pytest.approx(2)


def test_steady_state_ignores_initial_equations() -> None:
    body = "  Real x(start = 3);\ninitial equation\n  der(x) = -1;\nequation\n  der(x) = 2 - x;"
    assert model_of(body).steady_state()["x"] == pytest.approx(2)


def test_steady_states_that_are_not_stable() -> None:
    """Growing modes lead away from them for ever."""
    assert model_of("  Real x(start = 0);\nequation\n  der(x) = x + 1;").steady_state()["x"] == pytest.approx(-1)
    saddle = pliant.ode(lambda t, x: [x[0] - 2 * x[1] + 3, x[0] + x[1]], [0.0, 0.0])
    assert saddle.steady_state()["x[0]"] == pytest.approx(-1)


def test_no_steady_state() -> None:
    with pytest.raises(pliant.ConvergenceError, match="x: 1"):
        model_of("  Real x(start = 1);\nequation\n  der(x) = 1;").steady_state()


def test_no_steady_state_where_slopes_are_infinite() -> None:
    """Newton's corrections become small at the pole of a logarithm, and the derivatives do not."""
    cells = """
  Real p(start = 0.9, fixed = true), q(start = 0.5, fixed = true), i;
equation
  der(p) = -i;
  der(q) = i - 1;
  log(p) - 0.1*i = log(q + 0.02) - 0.1*(1 - i);"""
    with pytest.raises(pliant.ConvergenceError, match="no steady state found"):
        model_of(cells).steady_state()


def test_what_is_left_is_that_of_the_best_try() -> None:
    turning = "  Real phi(start = 0), w(start = 0);\nequation\n  der(phi) = w;\n  der(w) = 1 - w - 0.01*w^3;"
    with pytest.raises(pliant.ConvergenceError, match=r"left are phi: 0\.99"):
        model_of(turning).steady_state()


def test_hanging_pendulum() -> None:
    """A state set on the way to its steady state at the bottom."""
    body = """  Real x(start = 0.8, fixed = true), y(start = -0.6), vx(start = 0, fixed = true), vy, F;
equation
  der(x) = vx; der(y) = vy; der(vx) = -F*x - vx; der(vy) = -F*y - 9.81 - vy; x^2 + y^2 = 1;"""
    found = model_of(body).steady_state()
    assert found["x"] == pytest.approx(0, abs=1e-9)
    assert found["y"] == pytest.approx(-1)
    assert found["F"] == pytest.approx(9.81)


@pytest.mark.usefixtures("terminal_refused")
def test_what_cannot_be_simulated_has_no_operating_point() -> None:
    body = "  Real x(start = 1), y = if terminal() then 1 else x;\nequation\n  der(x) = -y;"
    model = model_of(body)
    for call in (model.linearize, model.steady_state):
        with pytest.raises(pliant.NotSupportedError, match="terminal"):
            call()
