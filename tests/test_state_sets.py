"""State sets on every level, pivots that are zero nowhere, and branches that a run must not leave."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from support_modelica import model_of

import pliant
from pliant.expr.build import add, apply, const, div, mul, neg, power, sub, var
from pliant.ir import Graph, Op
from pliant.solve.binding import runtime
from pliant.structure.signs import Signs

PENDULUM = """
  Real x(start=0.6, fixed=true{x}), y(start=-0.8{y}), vx(start=0), vy(start=0{vy}), F;
equation
  der(x) = vx{ax}; der(y) = vy{ay};
  der(vx) = -F*x; der(vy) = -F*y - 9.81; x^2 + y^2 = 1;
"""
PUSHED = {"ax": " + 0.3*sin(time)", "ay": " + 0.2*sin(time)"}


def pendulum(**words: str) -> str:
    return PENDULUM.format(**({"x": "", "y": "", "vy": "", "ax": "", "ay": ""} | words))


def exact(pushed: float, stop: float = 3.0) -> float:
    """x at the end, from the equations after index reduction by hand."""

    def f(t: float, s: np.ndarray) -> list[float]:
        x, y, vx, vy = s
        rx, ry = vx + pushed * 0.3 * np.sin(t), vy + pushed * 0.2 * np.sin(t)
        force = rx**2 + ry**2 + pushed * np.cos(t) * (0.3 * x + 0.2 * y) - 9.81 * y
        force /= x**2 + y**2
        return [rx, ry, -force * x, -force * y - 9.81]

    return float(solve_ivp(f, (0.0, stop), [0.6, -0.8, 0.0, 0.0], rtol=1e-11, atol=1e-12, method="DOP853").y[0, -1])


# ------------------------------------------------------------------------------------------------ sets


@pytest.mark.parametrize("form", ["auto", "dae"])
@pytest.mark.parametrize("method", ["auto", "bdf", "radau5"])
@pytest.mark.parametrize("rtol", [1e-3, 1e-6, 1e-8])
def test_velocities_that_are_no_derivatives(form: str, method: str, rtol: float) -> None:
    model = model_of(pendulum(**PUSHED), form=form)
    assert [one.candidates for one in model.structure.sets] == [[["x", "y"]], [["vx", "vy"]]]
    x = model.simulate(stop=3.0, method=method, rtol=rtol)["x"][-1]
    assert abs(x - exact(1.0)) < 100 * rtol


@pytest.mark.parametrize("rtol", [1e-3, 1e-6, 1e-8])
def test_without_aliases_the_sets_are_the_same(rtol: float) -> None:
    model = model_of(pendulum(), aliases=False)
    assert [one.candidates for one in model.structure.sets] == [[["x", "y"]], [["vx", "vy"]]]
    assert abs(model.simulate(stop=3.0, rtol=rtol)["x"][-1] - exact(0.0)) < 100 * rtol


def test_aliases_make_one_set_of_both_levels() -> None:
    (one,) = model_of(pendulum()).structure.sets
    assert one.candidates == [["x", "y"], ["vx", "vy"]]


def test_constant_pivot_goes_before_one_that_vanishes() -> None:
    """2 h + log(3 + a^2) = 3 is solved for h: the pivot of a is zero at a = 0, which the solution passes."""
    body = """
      Real a(start=0.8{a}), h(start=(3 - log(3.64))/2{h}), f;
    equation
      der(a) = -1.6*sin(2*time) + 3*(0.8*cos(2*time) - a); der(h) = f; 2*h + log(3 + a^2) = 3;
    """
    for fixed in ({"a": ", fixed=true", "h": ""}, {"a": "", "h": ", fixed=true"}):
        model = model_of(body.format(**fixed))
        assert [state.name for state in model.structure.states] == ["a"]
        assert not model.structure.sets
        assert not model.structure.notes
        result = model.simulate(stop=4.0, rtol=1e-8)
        assert np.abs(result["a"] - 0.8 * np.cos(2 * result.time)).max() < 1e-6


def test_constraints_through_a_variable_of_their_own() -> None:
    """The set must see x and y through u, which another constraint ties to them with a constant pivot."""
    body = """
      Real x(start=0.6, fixed=true), y(start=-0.8), u(start=0.36), vx, vy(start=0, fixed=true), F;
    equation
      der(x) = vx; der(y) = vy; der(vx) = -F*x; der(vy) = -F*y - 9.81;
      u + y^2 = 1; u = x^2;
    """
    model = model_of(body)
    assert [one.candidates for one in model.structure.sets] == [[["x", "y"], ["vx", "vy"]]]
    assert abs(model.simulate(stop=3.0, rtol=1e-7)["x"][-1] - exact(0.0)) < 1e-5


def test_avoided_candidates_become_states_only_near_the_singular_point() -> None:
    model = model_of(pendulum(y=", stateSelect=StateSelect.avoid"))
    (one,) = model.structure.sets
    assert one.candidates[0] == ["x", "y"]
    assert abs(model.simulate(stop=3.0, rtol=1e-7)["x"][-1] - exact(0.0)) < 1e-5


# ------------------------------------------------------------------------------------------------ branches


@pytest.mark.parametrize("form", ["auto", "dae"])
@pytest.mark.parametrize("method", ["auto", "bdf", "radau5"])
@pytest.mark.parametrize("rtol", [1e-2, 1e-3, 1e-5, 1e-8])
def test_choice_fixed_by_the_modeller_ends_where_it_is_singular(form: str, method: str, rtol: float) -> None:
    wish = ", stateSelect=StateSelect.always"
    model = model_of(pendulum(y=wish, vy=wish), form=form)
    assert not model.structure.sets
    with pytest.raises(
        pliant.ModelEvaluationError, match=r"\(model.mo:6\).* solved for x: .* near zero.*stateSelect"
    ) as e:
        model.simulate(stop=3.0, method=method, rtol=rtol)
    assert 0.50 < e.value.time < 0.53


@pytest.mark.parametrize("method", ["auto", "bdf", "radau5"])
@pytest.mark.parametrize("rtol", [1e-3, 1e-6, 1e-8])
@pytest.mark.parametrize("driven", [True, False])
def test_fold_of_an_algebraic_equation_is_no_jump(method: str, rtol: float, driven: bool) -> None:
    """z^3 - z = 2 - time loses its upper solution at time = 2 + 2/sqrt(27); the lower one is another branch."""
    body = """
      Real x(start=0, fixed=true), z(start=1.5), w(start=0, fixed=true);
    equation
      der(x) = 1; z^3 - z = 2 - x; der(w) = {w};
    """
    model = model_of(body.format(w="z" if driven else "0"))
    with pytest.raises(pliant.ModelEvaluationError, match=r"equation for z \(model.mo:5\)"):
        model.simulate(stop=4.0, method=method, rtol=rtol)


def test_an_event_may_lead_to_another_branch() -> None:
    """The pivot of z changes its sign with the relation; that is the model's word."""
    body = """
      Real x(start=0, fixed=true), z(start=1);
    equation
      der(x) = z - x; if time < 0.5 then z + 0.1*z^3 = 1.1; else -z - 0.1*z^3 = 1.1; end if;
    """
    result = model_of(body).simulate(stop=1.0, rtol=1e-8)
    assert abs(result["z"][-1] + 1.0) < 1e-9


def test_an_input_may_lead_to_another_branch() -> None:
    body = """
      input Real u; Real x(start=0, fixed=true), z(start=1);
    equation
      der(x) = z - x; u*(z + 0.1*z^3) = 1.1;
    """
    result = model_of(body).simulate(stop=1.0, inputs={"u": ([0.0, 0.5, 0.5, 1.0], [1.0, 1.0, -1.0, -1.0])})
    assert abs(result["z"][-1] + 1.0) < 1e-9


def test_undetermined_states_keep_their_start_values_in_the_dae_form() -> None:
    body = """
      Real a(start=0.7), b(start=0.2, fixed=true), p, q;
    equation
      der(a) = p; der(b) = q - b; p + q = 5*a; p - 2*q = b;
    """
    for form in ("ode", "dae"):
        assert model_of(body, form=form).simulate(stop=0.1)["a"][0] == pytest.approx(0.7, abs=1e-12)


# ------------------------------------------------------------------------------------------------ signs


def test_expressions_that_are_zero_nowhere() -> None:
    g = Graph()
    x, y, p = var(g, 0), var(g, 1), var(g, 2)
    signs = Signs(g, {2: 3.0})
    two, three = const(g, 2.0), const(g, 3.0)

    def n(op: int, e: int) -> int:
        return apply(g, op, e)

    never = [
        two,
        p,
        n(Op.EXP, x),
        neg(g, mul(g, p, n(Op.EXP, mul(g, x, y)))),
        add(g, three, power(g, x, two)),
        add(g, three, mul(g, x, x)),
        add(g, two, n(Op.SIN, x)),
        sub(g, n(Op.TANH, x), two),
        div(g, two, add(g, const(g, 1.0), mul(g, x, x))),
        n(Op.COSH, x),
        add(g, n(Op.EXP, x), n(Op.EXP, y)),
        power(g, add(g, two, n(Op.COS, x)), const(g, 3.0)),
    ]
    sometimes = [
        x,
        mul(g, x, x),
        add(g, const(g, 1.0), n(Op.SIN, x)),
        mul(g, two, x),
        sub(g, n(Op.EXP, x), two),
        sub(g, add(g, three, mul(g, x, x)), p),
        add(g, x, n(Op.EXP, y)),
        div(g, x, n(Op.EXP, y)),
        n(Op.LOG, x),
        power(g, x, const(g, 3.0)),
    ]
    assert all(signs.nonzero(e) for e in never)
    assert not any(signs.nonzero(e) for e in sometimes)


def columns_without_pivot(g: Any, wanted: Any = ()) -> set[int]:
    """States of a set by the Jacobian of its constraints."""
    a = np.ascontiguousarray(g, dtype=np.float64).copy()
    m, n = a.shape
    flags = np.array(wanted if len(wanted) else [False] * n, dtype=np.int8)
    state, work = np.zeros(n, dtype=np.int8), np.zeros(n, dtype=np.int32)
    places = [ctypes.c_void_p(one.ctypes.data) for one in (a, flags, state, work)]
    runtime.lib.pl_set_states(m, n, *places)
    return set(np.flatnonzero(state).tolist())


@pytest.mark.parametrize("seed", range(20))
def test_pivots_leave_a_regular_rest(seed: int) -> None:
    """What is not a state can be solved for; wanted states stay states unless only they have a pivot."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 7))
    m = int(rng.integers(1, n))
    g = rng.normal(size=(m, n)) * (rng.random((m, n)) < 0.7)
    g[np.arange(m), rng.permutation(n)[:m]] += 3.0
    states = columns_without_pivot(g)
    assert len(states) == n - m
    others = sorted(set(range(n)) - states)
    assert np.linalg.svd(g[:, others], compute_uv=False)[-1] > 1e-3
    wanted = [j in states for j in range(n)]
    assert columns_without_pivot(g, wanted) == states


def test_pivots_by_hand() -> None:
    assert columns_without_pivot(np.array([[1.0, -2.0, 0.5]])) == {0, 2}
    assert columns_without_pivot(np.array([[1.0, -2.0, 0.5]]), [False, True, False]) == {1, 2}  # 1.0 is large enough
    assert columns_without_pivot(np.array([[1e-9, -2.0, 0.0]]), [False, True, False]) == {0, 2}  # 1e-9 is not
    assert columns_without_pivot(np.array([[1.0, 2.0, 4.0], [2.0, 4.0, 8.0]])) == {1}  # dependent: the first goes
    assert columns_without_pivot(np.array([[np.nan, 1.0]])) == {0}
