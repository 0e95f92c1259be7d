"""Relations, if-expressions and their events in models loaded from Modelica; what has memory is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support_modelica import check_derivatives, flat, model_of, text_of

import pliant


def run(body: str, stop: float, **options: Any) -> pliant.Result:
    return model_of(body, **options).simulate(stop=stop, rtol=1e-9)


# ------------------------------------------------------------------------------------------------ where they are


def test_events_are_located() -> None:
    body = "  Real x(start = 0, fixed = true);\nequation\n  der(x) = if x < 0.5 then 1 else 0.2;"
    result = run(body, 2.0)
    assert [event.time for event in result.events] == pytest.approx([0.5], abs=1e-9)
    assert result["x"][-1] == pytest.approx(0.5 + 0.2 * 1.5, abs=1e-9)


def test_time_events() -> None:
    body = """  Real x(start = 0, fixed = true), y;
equation
  der(x) = y; y = if time < 0.5 then 1 else if time >= 0.7 then -1 else 0;"""
    result = run(body, 1.0)
    assert [event.time for event in result.events] == pytest.approx([0.5, 0.7], abs=1e-9)
    assert result["x"][-1] == pytest.approx(0.2, abs=1e-9)


def test_short_pulse_is_not_missed() -> None:
    body = """  Real x(start = 0, fixed = true);
equation
  der(x) = if time > 0.5 and time < 0.5001 then 10000 else 0;"""
    assert run(body, 1.0)["x"][-1] == pytest.approx(1.0, abs=1e-6)


def test_square_wave() -> None:
    body = "  Real x(start = 0, fixed = true);\nequation\n  der(x) = if sin(20*time) > 0 then 1 else 0;"
    result = run(body, 1.0)
    assert len(result.events) == pytest.approx(6, abs=1)
    edges = np.arange(0, 20 // np.pi + 1) * np.pi / 20
    high = sum(min(b, 1.0) - a for a, b in zip(edges[::2], [*edges[1::2], 1.0], strict=False) if a < 1)
    assert result["x"][-1] == pytest.approx(high, abs=1e-8)


@pytest.mark.parametrize(
    ("rate", "condition", "after"), [(-1, "x < 0", 1), (1, "x <= 0", 2), (1, "x > 0", 1), (-1, "x >= 0", 2)]
)
def test_a_relation_that_is_zero_at_the_start(rate: int, condition: str, after: int) -> None:
    body = f"""  Real x(start = 0, fixed = true), y;
equation
  der(x) = {rate}; y = if {condition} then 1 else 2;"""
    result = run(body, 1.0)
    assert result["y"][-1] == after
    assert np.all(result["y"][5:] == after)


def test_time_greater_than_its_start() -> None:
    body = "  Real x(start = 0, fixed = true);\nequation\n  der(x) = if time > 0 then 1 else 0;"
    assert run(body, 1.0)["x"][-1] == pytest.approx(1.0, abs=1e-6)


def test_a_relation_inside_a_relation() -> None:
    body = """  Real x(start = 0, fixed = true), w;
equation
  der(x) = 1; w = if (if x < 0.3 then 2*x else x) < 0.5 then 1 else 2;"""
    result = run(body, 1.0)
    t = result.time
    inner = np.where(t < 0.3, 2 * t, t)
    away = (np.abs(t - 0.25) > 0.01) & (np.abs(t - 0.3) > 0.01) & (np.abs(t - 0.5) > 0.01)
    assert np.array_equal(result["w"][away], np.where(inner < 0.5, 1, 2)[away])


def test_booleans() -> None:
    body = """  Real x(start = 0, fixed = true), y;
  Boolean a, b, c;
equation
  der(x) = 1; a = x > 0.3; b = x < 0.6; c = a and not b or x > 0.9; y = if c then 1 elseif a then 2 else 3;"""
    result = run(body, 1.0)
    assert [result["y"][k] for k in (50, 200, 400)] == [3, 2, 1]
    assert [result["a"][k] for k in (50, 200, 400)] == [0, 1, 1]
    assert [result["c"][k] for k in (50, 200, 400)] == [0, 0, 1]


# --------------------------------------------------------------------------------------------- switched circuits


@pytest.mark.parametrize("form", ["ode", "dae"])
def test_rectifier(form: str) -> None:
    """An ideal diode: s is its voltage while it blocks, its current while it conducts."""
    body = """  parameter Real R = 1;
  Real u, v(start = 0, fixed = true), s, i, ud;
equation
  u = sin(6*time); ud = if s < 0 then s else 0; i = if s < 0 then 0 else s; u = ud + R*i + v; der(v) = i - 0.5*v;"""
    result = run(body, 4.0, form=form)
    assert result["i"].min() > -1e-9
    assert result["ud"].max() < 1e-9
    t = result.time
    from scipy.integrate import solve_ivp

    other = solve_ivp(
        lambda t, v: max(np.sin(6 * t) - v[0], 0.0) - 0.5 * v[0],
        (0, 4),
        [0.0],
        "RK45",
        t,
        rtol=1e-10,
        atol=1e-12,
        max_step=0.01,
    )
    assert result["v"] == pytest.approx(other.y[0], abs=1e-6)


def test_full_wave_rectifier_with_resistances() -> None:
    body = """  parameter Real Ron = 1e-3, Goff = 1e-5, C = 0.1;
  Real u, v(start = 0, fixed = true), s[2], i[2], d[2];
equation
  u = sin(6*time);
  for k in 1:2 loop
    d[k] = s[k]*(if s[k] < 0 then 1 else Ron); i[k] = s[k]*(if s[k] < 0 then Goff else 1);
  end for;
  u = d[1] + v; -u = d[2] + v; C*der(v) = i[1] + i[2] - v;"""
    result = run(body, 2.0)
    for k in (1, 2):
        s, d, i = (result[f"{name}[{k}]"] for name in "sdi")
        away = np.abs(s) > 1e-6
        assert d[away] == pytest.approx((s * np.where(s < 0, 1, 1e-3))[away], abs=1e-9)
        assert i[away] == pytest.approx((s * np.where(s < 0, 1e-5, 1))[away], abs=1e-9)
    assert result["v"][100:].min() > 0.15
    check_derivatives(flat(body), result, 1e-2)


def test_sliding_is_reported() -> None:
    """A relay without hysteresis cannot be simulated past its switching line; it must not leave it silently."""
    body = "  Real x(start = 1, fixed = true);\nequation\n  der(x) = if x > 0 then -1 else 1;"
    with pytest.raises(pliant.ChatterError) as caught:
        model_of(body).simulate(stop=2, timeout=30)
    assert caught.value.time == pytest.approx(1.0, abs=1e-2)
    assert caught.value.result is not None


@pytest.mark.parametrize("options", [{"form": "ode"}, {"form": "dae"}, {"largest_torn": 1}], ids=str)
def test_an_event_that_makes_another(options: dict[str, object]) -> None:
    """y jumps because of the first relation, so the second one changes at the same time."""
    body = """  Real x(start = 0, fixed = true), y, z, w;
equation
  der(x) = 1; y + 0.1*sin(z) = if x < 0.5 then 0 else 2; z = 0.3*y + 0.1*x; w = if y > 1 then 1 else 0;"""
    result = run(body, 1.0, **options)
    assert (result["w"][0], result["w"][-1]) == (0, 1)
    assert np.all(result["w"][result.time > 0.51] == 1)


def test_if_equations() -> None:
    body = """  Real x(start = 1, fixed = true), y(start = 0.5), z;
equation
  der(x) = -y;
  if x > 0.5 then
    y + y^3 = x; z = 1;
  else
    y = x; z = 2;
  end if;"""
    result = run(body, 1.5)
    assert len(result.events) == 1
    assert (result["z"][0], result["z"][-1]) == (1, 2)
    low = result["x"] < 0.49
    assert result["y"][low] == pytest.approx(result["x"][low])


# --------------------------------------------------------------------------------------------------- no events


@pytest.mark.parametrize(
    ("y", "exact"),
    [
        ("noEvent(if x > 0 then sqrt(x) else 0)", lambda x: np.sqrt(np.maximum(x, 0))),
        ("smooth(1, if x > 0 then x^2 else 0)", lambda x: np.maximum(x, 0) ** 2),
        ("abs(x)", np.abs),
        ("min(x, 0.2)", lambda x: np.minimum(x, 0.2)),
        ("max({x, 0.2, -x})", lambda x: np.maximum(np.abs(x), 0.2)),
        ("sign(x)", np.sign),
    ],
)
def test_without_events(y: str, exact: object) -> None:
    body = f"  Real x(start = 1.0005, fixed = true), y;\nequation\n  der(x) = -1; y = {y};"
    result = run(body, 2.0)
    assert callable(exact)
    assert result["y"] == pytest.approx(exact(result["x"]), abs=1e-12)


def test_no_event_makes_none() -> None:
    body = "  Real x(start = 1, fixed = true), y;\nequation\n  der(x) = -1; y = noEvent(if x > 0 then 1 else 2);"
    assert run(body, 2.0).events == ()


# ------------------------------------------------------------------------------------------------------ refused


@pytest.mark.usefixtures("terminal_refused")
def test_what_cannot_run_is_refused() -> None:
    """At simulate, with the place; structure and code are there."""
    model = pliant.load(
        text_of("  Real x(start=1, fixed=true), y;\nequation\n  der(x) = -y;\n  y = if terminal() then 1 else x;")
    )
    assert model.structure.n_states == 1
    assert "pl_model" in model.code
    with pytest.raises(pliant.NotSupportedError, match="terminal") as caught:
        model.simulate(stop=1)
    assert "model.mo:" in str(caught.value)


def test_division_by_zero_and_logarithms_at_run_time() -> None:
    falling = "  Real x(start = 1, fixed = true), y(start = 0, fixed = true);\nequation\n  der(x) = -1; der(y) = {e};"
    for e in ("log(x)", "1/x", "sqrt(x - 0.5)", "x^0.3", "acos(2 - x)"):
        with pytest.raises(pliant.SolverError) as caught:
            model_of(falling.format(e=e)).simulate(stop=2.0, points=21, timeout=30)
        assert caught.value.result is not None
        assert 0.0 <= caught.value.time <= 1.01  # type: ignore[operator]


def test_the_derivative_of_a_branch_that_is_not_taken_does_no_harm() -> None:
    """sqrt and its slope are not defined for x < 0, but nobody asks for them there."""
    body = "  Real x(start = -1, fixed = true), y, z;\nequation\n"
    body += "  der(x) = 1 - 0.1*y - 0*z; y = noEvent(if x > 0 then sqrt(x) else 0); z = max(0, 1 - x);"
    result = model_of(body).simulate(stop=0.5, method="bdf")
    assert result["x"][-1] == pytest.approx(-0.5)
    assert (result["y"][-1], result["z"][-1]) == (0.0, pytest.approx(1.5))


# -------------------------------------------------------------------------------------- quotients that are whole


@pytest.mark.parametrize(
    "quotient",
    ["n/49", "n/p", "z/49", "(2*z - n)/p", "part(n)", "(if n > 0 then 49 else 2)/p"],
)
def test_quotients_at_events_are_rounded_once(quotient: str) -> None:
    """49*(1/49) is less than 1."""
    body = f"""  function part
    input Real n;
    output Real k;
  algorithm
    k := n/49;
  end part;
  parameter Real p = 49;
  Integer n(start = 0, fixed = true), k, m(start = 0, fixed = true);
  Real z, y;
  Boolean b;
equation
  when sample(0, 1) then
    n = pre(n) + 49;
    m = integer({quotient});
  end when;
  z = 1.0*n;
  y = {quotient};
  b = {quotient} >= 1;
  k = integer({quotient});"""
    result = run(body, 0.5)
    assert [result[v][-1] for v in "nmkby"] == [49.0, 1.0, 1.0, 1.0, 1.0]


def test_quotients_of_states_at_events_are_rounded_once() -> None:
    body = """  Real x(start = 49, fixed = true);
  discrete Real whole(start = 0, fixed = true);
equation
  der(x) = 0;
  when sample(0, 1) then
    whole = floor(x/49);
  end when;"""
    assert run(body, 0.5)["whole"][-1] == 1.0
