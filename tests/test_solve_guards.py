"""Branches that are not defined beyond their guard, algebraic unknowns between steps, loops at the limit of rounding.

The families guards, algebraic and loops (python tests/families) have the random cases."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import pliant

METHODS = ("bdf", "radau5", "auto", "dopri5", "rk4", "euler", "lieuler")

TIME = """model M
  parameter Real k = 1;
  Real z(start = 0, fixed = true);
equation
  der(z) = if time < k then sqrt(k - time) else 0;
end M;
"""

STATE = """model M
  parameter Real k = 1;
  Real x(start = k, fixed = true), y, z(start = 0, fixed = true);
equation
  der(x) = -1;
  y = if x > 0 then sqrt(x) else 0;
  der(z) = y;
end M;
"""


def run(model: pliant.Model, method: str, **given: Any) -> pliant.Result:
    fixed = {"step": 1e-3} if method in ("rk4", "euler", "lieuler") else {}
    return model.simulate(method=method, **given, **fixed)


@pytest.mark.parametrize("text", [TIME, STATE], ids=["time", "state"])
@pytest.mark.parametrize("method", METHODS)
def test_guard_holds(text: str, method: str) -> None:
    model = pliant.load(text)
    for k in (0.3, 1.0, 1.7):
        result = run(model, method, stop=2.0, parameters={"k": k}, points=201)
        exact = 2 / 3 * (k**1.5 - np.clip(k - result.time, 0, None) ** 1.5)
        assert result["z"] == pytest.approx(exact, abs=1e-3 if method in ("euler", "lieuler") else 6e-5)
        assert [event.time for event in result.events] == pytest.approx([k], abs=1e-6)


@pytest.mark.parametrize("points", [3, None])
def test_rows_at_the_crossing_are_defined(points: int | None) -> None:
    result = pliant.load(STATE).simulate(stop=2.0, points=points)  # x is zero at a point asked for, but for rounding
    assert result["y"] == pytest.approx(np.sqrt(np.clip(1 - result.time, 0, None)), abs=1e-4)


def test_few_steps_are_spent_on_the_way() -> None:
    free = pliant.load(STATE.replace("if x > 0 then sqrt(x) else 0", "sqrt(abs(x) + 1e-3)"))
    for method in ("bdf", "radau5", "dopri5"):
        guarded = pliant.load(STATE).simulate(stop=2.0, method=method).stats
        assert guarded.n_rhs <= 3 * free.simulate(stop=2.0, method=method).stats.n_rhs


@pytest.mark.parametrize("method", ["bdf", "radau5", "dopri5", "rk4"])
def test_function_undefined_beyond_its_terminal_root(method: str) -> None:
    def f(t: float, x: Any) -> list[float]:
        return [-1.0 - (math.sqrt(x[0]) if x[0] >= 0 else math.nan)]

    root = pliant.Root(lambda t, x: x[0], direction=-1, terminal=True)
    result = run(pliant.ode(f, [1.0], roots=root), method, stop=5.0)
    assert result.events[-1].time == pytest.approx(2 - 2 * math.log(2), abs=1e-5)


def test_unguarded_square_root_is_still_an_error() -> None:
    text = STATE.replace("if x > 0 then sqrt(x) else 0", "sqrt(x) + (if x > -5 then 0 else 1)")
    with pytest.raises(pliant.NonFiniteError, match=r"y = sqrt\(x\)"):
        pliant.load(text).simulate(stop=2.0)


@pytest.mark.parametrize("form", ["ode", "dae"])
@pytest.mark.parametrize("method", ["bdf", "radau5", "auto"])
def test_guard_on_the_unknown_of_a_loop(form: str, method: str) -> None:
    model = pliant.load(
        """model M
          Real x(start = 1, fixed = true), v(start = 0.5), q(start = 0.5), z(start = 0, fixed = true);
        equation
          der(x) = -1;
          v + q = x;
          q = if v > 0 then sqrt(v) else 0;
          der(z) = q;
        end M;""",
        options={"form": form},
    )
    result = model.simulate(stop=2.0, method=method)
    s = np.clip(1 - result.time, 0, None)
    assert result["q"] == pytest.approx((np.sqrt(1 + 4 * s) - 1) / 2, abs=1e-4)
    assert result["v"][-1] == pytest.approx(-1.0, abs=1e-5)


@pytest.mark.parametrize("rtol", [1e-4, 1e-7, 1e-10])
def test_radau5_controls_algebraic_unknowns_between_steps(rtol: float) -> None:
    model = pliant.ode(lambda t, x: [1.0, x[1] - math.sin(5 * t)], [0, 0], mass=[1, 0])
    result = model.simulate(stop=10, method="radau5", rtol=rtol, points=1001)
    assert np.abs(result["x[1]"] - np.sin(5 * result.time)).max() <= 5 * rtol


def test_radau5_controls_very_stiff_followers_between_steps() -> None:
    model = pliant.ode(lambda t, x: [1.0, -1e8 * (x[1] - math.sin(5 * t))], [0, -5e-8])
    result = model.simulate(stop=10, method="radau5", rtol=1e-6, points=1001)
    assert np.abs(result["x[1]"] - np.sin(5 * result.time)).max() <= 2e-5


def test_first_step_of_radau5_looks_between_its_stages() -> None:
    model = pliant.ode(lambda t, x: [1.0, x[1] - math.cos(5 * t)], [0, 1], mass=[1, 0])  # x' = 0 at the start
    result = model.simulate(stop=1e4, method="radau5", rtol=1e-4, points=np.linspace(0, 20, 201))
    assert np.abs(result["x[1]"] - np.cos(5 * result.time)).max() <= 1e-3


@pytest.mark.parametrize("method", ["bdf", "radau5"])
@pytest.mark.parametrize("rtol", [1e-3, 1e-6])
def test_events_of_algebraic_unknowns_happen_once(method: str, rtol: float) -> None:
    model = pliant.load(
        """model M
          Real x(start = 0, fixed = true), y(start = 0), v(start = 1), a, b;
          Boolean up;
          discrete Integer n(start = 0, fixed = true);
        equation
          der(x) = 1;
          a = sin(3*time);
          b = cos(2*time);
          y + 0.1*y^3 + 0.3*v = a + 0.1*a^3 + 0.3*b;
          v + 0.2*v^3 + 0.1*y = b + 0.2*b^3 + 0.1*a;
          up = y > 0.37;
          when up then n = pre(n) + 1; end when;
        end M;""",
        options={"form": "dae"},
    )
    result = model.simulate(stop=40, method=method, rtol=rtol)
    exact = [(math.asin(0.37) + 2 * math.pi * k) / 3 for k in range(20)]
    rises = result.events[0::2]
    assert result["n"][-1] == 20
    assert [event.time for event in rises] == pytest.approx(exact, abs=10 * rtol)


def test_loop_at_the_limit_of_rounding() -> None:
    """y is zero at the start, and 1e9 ((1 + e) - 1) leaves steps in the residual far above its last digits."""
    model = pliant.load(
        """model M
          Real z(start = 0, fixed = true), y(start = 0), w(start = 1e6), s;
        equation
          s = 0.3*sin(time);
          1e9*((1 + 1e-3*y) - (1 + 1e-3*s)) + 1e-7*(w - 1e6) + (y^3 - s^3) = 0;
          w - 1e6 + 0.5e6*(y - s) + 0.1*(sin(w) - sin(1e6)) = 0;
          der(z) = y;
        end M;"""
    )
    result = model.simulate(stop=3.0)
    assert result["z"] == pytest.approx(0.3 * (1 - np.cos(result.time)), abs=1e-5)


@pytest.mark.parametrize("method", ["bdf", "radau5"])
@pytest.mark.parametrize("c", [0.2, 1.0, 5.0])
def test_guard_on_the_unknown_of_a_loop_at_small_tolerances(c: float, method: str) -> None:
    """Near v = 0 the Jacobian of sqrt(v) makes every correction tiny: only the residual tells that q is wrong."""
    model = pliant.load(
        """model M
          parameter Real c = 1;
          Real x(start = 1, fixed = true), v(start = 0.5), q(start = 0.5), z(start = 0, fixed = true);
        equation
          der(x) = -1;
          v + c*q = x;
          q = if v > 0 then sqrt(v) else 0;
          der(z) = q;
        end M;""",
        options={"form": "dae"},
    )
    for rtol in (1e-6, 1e-7, 1e-8, 1e-9):
        result = model.simulate(stop=2.0, method=method, rtol=rtol, parameters={"c": c})
        s = np.clip(1 - result.time, 0, None)
        assert np.max(np.abs(result["q"] - (np.sqrt(c * c + 4 * s) - c) / 2)) < 30 * rtol


@pytest.mark.parametrize(
    ("a", "b", "c", "rtol"),
    [(0.4943643963445622, 0.9716871259247486, 1.8501403141885169, 6.7e-5), (1.2, 0.8, 0.2, 1e-5)],
)
@pytest.mark.parametrize("method", ["bdf", "radau5", "auto"])
def test_a_loop_whose_own_unknown_is_guarded(method: str, a: float, b: float, c: float, rtol: float) -> None:
    """The dense output of v crosses zero before v itself does, and beyond there is no solution: t = a."""
    model = pliant.load(
        f"model M\n Real x(start=exp({b}*{a})-1, fixed=true); Real v(start=1), q(start=1), z(start=0, fixed=true);\n"
        f"equation\n der(x) = -{b}*(x+1); v + {c}*q = x; q = if v<0 then 0 else sqrt(v); der(z) = q;\nend M;\n",
        options={"form": "dae"},
    )
    result = model.simulate(2.0, method=method, rtol=rtol)
    assert len(result.events) <= 5
    assert result.events[-1].time == pytest.approx(a, abs=100 * rtol)
    assert result.final["q"] == 0.0
