"""Models with discrete memory: when, sample, pre, reinit, floor; against closed forms and recursions."""

from __future__ import annotations

import math

import numpy as np
import pytest

import pliant

METHODS = ["bdf", "radau5", "dopri5"]


def load(body: str) -> pliant.Model:
    """A model named M with this body."""
    return pliant.load(f"model M\n{body}\nend M;\n")


SAMPLED = """
  parameter Real Ts = 0.1, k = 2;
  Real x(start = 0, fixed = true);
  discrete Real u(start = 0, fixed = true), i(start = 0, fixed = true);
  Integer n(start = 0, fixed = true);
equation
  der(x) = -x + u;
  when sample(0, Ts) then
    i = pre(i) + k*Ts*(1 - x);
    u = i + k*(1 - x);
    n = pre(n) + 1;
  end when;
"""


@pytest.mark.parametrize("method", METHODS)
def test_sampled_controller(method: str) -> None:
    """Between samples x' = -x + u has the solution x e^-T + u (1 - e^-T): an exact recursion."""
    result = load(SAMPLED).simulate(2.0, method=method, points=21, rtol=1e-9, atol=1e-10)
    x, i, decay = 0.0, 0.0, math.exp(-0.1)
    for row in range(21):
        i += 2 * 0.1 * (1 - x)
        u = i + 2 * (1 - x)
        assert result["n"][row] == row + 1  # a point at a sample shows what holds after it
        assert result["x"][row] == pytest.approx(x, abs=1e-7)
        assert result["u"][row] == pytest.approx(u, abs=1e-7)
        assert result["i"][row] == pytest.approx(i, abs=1e-7)
        x = x * decay + u * (1 - decay)
    assert result.stats.n_events == 20


def test_lieuler_with_sampled_part() -> None:
    """At fixed step the samples fall on steps: x+ = (x + h u)/(1 + h)."""
    result = load(SAMPLED).simulate(1.0, method="lieuler", step=0.01, points=11)
    x, i = 0.0, 0.0
    for row in range(11):
        i += 2 * 0.1 * (1 - x)
        u = i + 2 * (1 - x)
        assert result["x"][row] == pytest.approx(x, abs=1e-9)
        for _ in range(10):
            x = (x + 0.01 * u) / 1.01


def test_parameters_of_a_clock_cannot_change() -> None:
    model = load(SAMPLED)
    with pytest.raises(pliant.ArgumentError, match=r"Ts.*sample"):
        model.simulate(1.0, parameters={"Ts": 0.2})
    assert model.simulate(1.0, parameters={"k": 3.0})["u"][0] == pytest.approx(3.3)


def test_a_later_start() -> None:
    result = load(SAMPLED).simulate(1.0, start=0.55, points=None)
    assert [one.time for one in result.events] == pytest.approx([0.6, 0.7, 0.8, 0.9, 1.0])
    assert load(SAMPLED).simulate(1.0, start=0.6, points=None)["n"][0] == 1.0


@pytest.mark.parametrize("method", METHODS)
def test_bouncing_ball(method: str) -> None:
    model = load(
        """
  parameter Real e = 0.8;
  Real h(start = 1, fixed = true), v(start = 0, fixed = true);
  Integer n(start = 0, fixed = true);
equation
  der(h) = v; der(v) = -9.81;
  when h <= 0 then
    reinit(v, -e*pre(v));
    n = pre(n) + 1;
  end when;
"""
    )
    result = model.simulate(3.0, method=method, rtol=1e-9, atol=1e-10, points=None)
    first = math.sqrt(2 / 9.81)
    times = [first]
    for k in range(1, 6):
        times.append(times[-1] + 2 * first * 0.8**k)
    at = result.time[np.flatnonzero(np.diff(result["n"]) > 0)]
    assert at[: len(times)] == pytest.approx(times, abs=1e-6)
    assert result["h"].min() > -1e-7
    speeds = [one.after[1] / one.before[1] for one in result.events if one.before[1] < -0.1]
    assert speeds == pytest.approx([-0.8] * len(speeds))


def test_thermostat_with_hysteresis() -> None:
    result = load(
        """
  Real T(start = 20, fixed = true); Boolean on(start = false, fixed = true);
equation
  on = not pre(on) and T < 19 or pre(on) and T <= 21;
  der(T) = if on then 5 else -2;
"""
    ).simulate(4.0, points=None)
    at = result.time[np.flatnonzero(np.diff(result["on"]))]
    assert at == pytest.approx([0.5, 0.9, 1.9, 2.3, 3.3, 3.7], abs=1e-6)
    assert result["T"].min() == pytest.approx(19)
    assert result["T"].max() == pytest.approx(21)


@pytest.mark.parametrize(
    ("call", "value"),
    [
        ("floor(x)", np.floor),
        ("ceil(x)", np.ceil),
        ("integer(x)", np.floor),
        ("mod(x, 0.7)", lambda x: x - np.floor(x / 0.7) * 0.7),
        ("div(x, 0.7)", lambda x: np.trunc(x / 0.7)),
        ("rem(x, 0.7)", lambda x: x - np.trunc(x / 0.7) * 0.7),
    ],
)
def test_floor_and_its_kind(call: str, value) -> None:  # type: ignore[no-untyped-def]
    result = load(
        f"  Real x(start = 0, fixed = true), y, z(start = 0, fixed = true);\nequation\n"
        f"  der(x) = 3.1*cos(time); y = {call}; der(z) = y;"  # 3*sin(time) would touch an integer
    ).simulate(6.0, points=997, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(result["y"], value(result["x"]), atol=1e-9)
    fine = np.linspace(0.0, 6.0, 600_001)
    y = value(3.1 * np.sin(fine))
    assert result["z"][-1] == pytest.approx(np.sum(0.5 * (y[1:] + y[:-1])) * 1e-5, abs=1e-4)


def test_integer_of_what_jumps() -> None:
    """The argument of integer() changes at the same event as what it is made of."""
    body = """
  Boolean a(start = true, fixed = true), b(start = false, fixed = true);
  Real s, x(start = 0, fixed = true); Integer k;
equation
  der(x) = 1; a = time < 0.5; b = not a; s = (if a then 1 else 0) + (if b then 2 else 0); k = -integer(s);
"""
    assert list(load(body).simulate(1, points=5)["k"]) == [-1, -1, -2, -2, -2]


def test_elsewhen_edge_change_and_initial() -> None:
    result = load(
        """
  Real x(start = 0, fixed = true); Integer k(start = 0, fixed = true), rises(start = 0, fixed = true);
  Integer changes(start = 0, fixed = true), begun(start = 0, fixed = true); Boolean high;
equation
  der(x) = cos(time);
  high = x > 0.5;
  when x > 0.5 then
    k = 1;
  elsewhen x < -0.5 then
    k = -1;
  end when;
  when edge(high) then rises = pre(rises) + 1; end when;
  when change(high) then changes = pre(changes) + 1; end when;
  when initial() then begun = pre(begun) + 1; end when;
"""
    ).simulate(20.0, points=401)
    want = [0.0]
    for x in result["x"][1:]:
        want.append(1.0 if x > 0.5 else -1.0 if x < -0.5 else want[-1])
    np.testing.assert_array_equal(result["k"], want)
    assert result["rises"][-1] == 4  # asin(0.5) + 2 pi k < 20
    assert result["changes"][-1] == 7
    assert list(result["begun"]) == [1.0] * 401


def test_clocks_that_meet() -> None:
    """0.3 and three times 0.1 differ by rounding, yet the clocks tick together: `c` sees the new `b`."""
    result = load(
        """
  Integer a(start = 0, fixed = true), b(start = 0, fixed = true), c(start = 0, fixed = true);
equation
  when sample(0.1, 0.1) then a = pre(a) + 1; end when;
  when sample(0.3, 0.3) then b = pre(b) + 1; end when;
  when sample(0.3, 0.3) then c = a; end when;
"""
    ).simulate(30.01, points=None)
    assert result["a"][-1] == 300
    assert result["b"][-1] == 100
    assert result["c"][-1] == 300
    assert result.stats.n_events == 300


def test_clocked_equations() -> None:
    result = load(
        """
  Clock c = Clock(0.1); Real x(start = 1, fixed = true), xs, y(start = 0), u;
equation
  der(x) = -x + u;
  xs = sample(x, c);
  y = previous(y) + 0.1*(1 - xs);
  u = hold(y);
"""
    ).simulate(1.0, points=11, rtol=1e-9, atol=1e-10)
    x, y, decay = 1.0, 0.0, math.exp(-0.1)
    for row in range(11):
        y += 0.1 * (1 - x)
        assert result["xs"][row] == pytest.approx(x, abs=1e-7)
        assert result["y"][row] == pytest.approx(y, abs=1e-8)
        assert result["u"][row] == result["y"][row]
        x = x * decay + y * (1 - decay)


def test_arrays_and_algorithms() -> None:
    result = load(
        """
  parameter Integer n = 3;
  Real x[n](each start = 0, each fixed = true); Boolean b[n](each start = false, each fixed = true);
  discrete Real s[n](each start = 0, each fixed = true); Integer m(start = 0, fixed = true);
  discrete Real z(start = 1, fixed = true);
algorithm
  when sample(0.25, 0.25) then
    m := pre(m) + 1;
    z := 2*pre(z);
  end when;
equation
  for i in 1:n loop
    der(x[i]) = i;
    b[i] = x[i] > 0.5 or pre(b[i]);
  end for;
  when sample(0.1, 0.1) then
    s = 2*x;
  end when;
"""
    ).simulate(0.2501, points=[0.0, 0.15, 0.2, 0.2501])
    assert [result[f"b[{i}]"][1] for i in (1, 2, 3)] == [0.0, 0.0, 0.0]
    assert [result[f"b[{i}]"][3] for i in (1, 2, 3)] == [0.0, 1.0, 1.0]
    assert [result[f"s[{i}]"][2] for i in (1, 2, 3)] == pytest.approx([0.4, 0.8, 1.2])
    assert (result["m"][-1], result["z"][-1]) == (1.0, 2.0)


def test_terminate_tells_why() -> None:
    result = load(
        "  Real x(start = 0, fixed = true);\nequation\n  der(x) = 2;\n"
        '  when x >= 1 then\n    terminate("the tank is full");\n  end when;'
    ).simulate(5.0)
    assert result.time[-1] == pytest.approx(0.5)
    assert result.events[-1].terminal
    assert "the tank is full" in result.events[-1].message
    assert "the tank is full" in str(result.events[-1])
    result = load(
        "  Real x(start = 0, fixed = true); Integer n(start = 0, fixed = true);\nequation\n  der(x) = 2;\n"
        "  when x >= 0.5 then\n    n = pre(n) + 1;\n  end when;\n"
        '  when n >= 1 then\n    terminate("counted");\n  end when;'
    ).simulate(5.0)
    assert "counted" in result.events[-1].message  # although further rounds of the event follow
    result = load(
        "  Real x(start = 0, fixed = true);\nequation\n  der(x) = 2;\n"
        '  when x >= 0.5 then\n    reinit(x, 0.1);\n    terminate("set back");\n  end when;'
    ).simulate(5.0)
    assert "set back" in result.events[-1].message  # although the solver begins anew


def test_assertion_in_a_when_clause() -> None:
    model = load(
        "  Real x(start = 0, fixed = true);\nequation\n  der(x) = 2;\n"
        '  when x >= 1 then\n    assert(x < 0, "too much");\n  end when;'
    )
    with pytest.raises(pliant.SolverError, match="too much") as caught:
        model.simulate(5.0)
    assert caught.value.time == pytest.approx(0.5, abs=1e-6)
    assert caught.value.result.time[-1] > 0.49


def test_reinit_through_an_alias() -> None:
    """w = -x is reset: the state behind it takes the opposite value."""
    result = load(
        "  Real x(start = 0, fixed = true), w;\nequation\n  der(x) = 1; w = -x; \n"
        "  when x >= 1 then\n    reinit(x, w/2);\n  end when;"
    ).simulate(1.2, points=None)
    assert result["x"][-1] == pytest.approx(-0.3, abs=1e-6)
    assert result["w"][-1] == pytest.approx(0.3, abs=1e-6)


def test_counting_does_not_disturb_the_solver() -> None:
    """A counter that nothing continuous reads changes without a restart."""
    quiet = "  Real x(start = 1, fixed = true), v(start = 0, fixed = true);\nequation\n  der(x) = v; der(v) = -x;"
    counting = quiet.replace("\nequation", "; Integer n(start = 0, fixed = true);\nequation", 1).replace(";;", ";")
    counting += "\n  when x > 0.5 then\n    n = pre(n) + 1;\n  end when;"
    plain, counted = load(quiet).simulate(30.0), load(counting).simulate(30.0)
    assert counted["n"][-1] == 4
    assert counted.stats.n_steps == plain.stats.n_steps


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "  Boolean a(start = false), b(start = false);\nequation\n  a = not pre(b) and time > 0.5;\n  b = pre(a);",
            "end",
        ),
        ("  Integer n(start = 0);\nequation\n  n = if time > 0.5 then pre(n) + 1 else 0;", "without end"),
    ],
)
def test_events_without_end(text: str, words: str) -> None:
    with pytest.raises(pliant.SolverError, match=words) as caught:
        load(text).simulate(1.0, timeout=20)
    assert caught.value.time == pytest.approx(0.5, abs=1e-6)
    assert caught.value.result.time[-1] > 0.49


def test_a_memory_that_is_no_number() -> None:
    body = "  discrete Real d(start = 0);\nequation\n  when time > 0.5 then\n    d = log(time - 2);\n  end when;"
    with pytest.raises(pliant.SolverError, match=r"d \(model.mo:\d+\) is not a number"):
        load(body).simulate(1.0)


def test_reinit_of_something_that_is_no_state() -> None:
    with pytest.raises(pliant.ModelError, match="reinit"):
        load(
            "  Real x, y(start = 0, fixed = true);\nequation\n  x = sin(time); der(x) = y + der(y);\n"
            "  when y > 0.5 then\n    reinit(x, 0);\n  end when;"
        )


def test_sample_rates_that_meet() -> None:
    """A when-clause reads what another rate sets: the new value where both tick."""
    body = """
  discrete Real a(start = 0, fixed = true), b(start = 0, fixed = true); Real held = a;
equation
  when sample(0, 0.1) then a = time; end when;
  when sample(0, 0.25) then b = {0}; end when;
"""
    for name in ("a", "held"):
        found = load(body.format(name)).simulate(1.1, points=[0.26, 0.51, 0.76, 1.01])["b"]
        assert list(found) == pytest.approx([0.2, 0.5, 0.7, 1.0])
