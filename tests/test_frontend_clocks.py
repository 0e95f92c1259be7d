"""Clocks in the front end of our own: partitions, inference of intervals, contradictions, values at ticks."""

from typing import Any

import numpy as np
import pytest

import pliant
from pliant.frontend.flat import check_flat
from pliant.frontend.modelica.flatten.model import flatten


def load(body: str) -> pliant.Model:
    return pliant.load(f"model M\n{body}\nend M;\n", frontend="pliant")


def clocks(body: str) -> dict[str, tuple[float, float]]:
    """Interval and first tick by variable."""
    found = flatten(f"model M\n{body}\nend M;\n", "", [])
    assert check_flat(found) == []
    out = {}
    for one in found.variables:
        if one.clock >= 0:
            clock = found.clocks[one.clock]
            out[one.name] = (clock.interval[0] / clock.interval[1], clock.first[0] / clock.first[1])
    return out


def test_intervals_are_carried_over() -> None:
    found = clocks(
        "Real a, b, c, d, e, f; equation a = sample(time, Clock(1, 10)); b = subSample(a, 3); c = superSample(b, 2);\n"
        "d = shiftSample(a, 1, 2); e = backSample(d, 1, 2); f = previous(a) + 1;"
    )
    assert found["a"] == (0.1, 0.0)
    assert found["b"] == (pytest.approx(0.3), 0.0)
    assert found["c"] == (pytest.approx(0.15), 0.0)
    assert found["d"] == (0.1, 0.05)
    assert found["e"] == (0.1, 0.0)
    assert found["f"] == (0.1, 0.0)


def test_intervals_are_inferred_backwards() -> None:
    found = clocks("Real a, b; Clock c = Clock(0.2); equation a = sample(time); b = sample(time, c) + subSample(a, 2);")
    assert found == {"a": (0.1, 0.0), "b": (0.2, 0.0)}


def test_parameters_decide_about_clocks() -> None:
    body = (
        "parameter Boolean fast = true; parameter Integer n = 5; Real y; Clock c;\n"
        "equation if fast then c = Clock(n, 100); else c = Clock(1); end if; y = sample(time, c);"
    )
    assert clocks(body) == {"y": (0.05, 0.0)}
    assert {one.name for one in flatten(f"model M\n{body}\nend M;\n", "", []).variables if one.locked} >= {"fast", "n"}


def test_values_between_ticks() -> None:
    model = load(
        "Real x(start = 0, fixed = true), xs, u, k(start = 0), w;\n"
        "equation der(x) = 1; xs = sample(x, Clock(0.25)); k = previous(k) + 1 + 0*xs; u = hold(k);\n"
        "w = hold(interval(xs)*xs);"
    )
    found = model.simulate(1.0, points=[0.1, 0.3, 0.6, 0.9])
    np.testing.assert_allclose(found["xs"], [0.0, 0.25, 0.5, 0.75], atol=1e-9)
    np.testing.assert_allclose(found["u"], [1, 2, 3, 4])
    np.testing.assert_allclose(found["w"], 0.25 * found["xs"])


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("Real y; equation y = sample(time, Clock(0.1)) + sample(time, Clock(0.3));", "contradict each other"),
        (
            "Real a, b; equation a = sample(time, Clock(0.1)); b = subSample(a, 2) + sample(time, Clock(0.1));",
            "contradict",
        ),
        ("Real y; equation y = sample(time);", "cannot be inferred"),
        ("Real y; equation y = sample(time, Clock(0));", "must be positive"),
        ("Real y; equation y = backSample(sample(time, Clock(0.1)), 1);", "before the start"),
        ("Real x, y; equation x = sample(time, Clock(time > 0.5)); y = superSample(x, 2);", "between the ticks"),
        ("Real x; equation der(x) = -sample(time, Clock(0.1));", "no method"),
        (
            "Real a, b; equation a^3 + b^3 = sample(time, Clock(0.1)); exp(a) + exp(b) = previous(a);",
            "must have one of them alone",
        ),
        ('Real x; equation der(x) = -sample(time, Clock(Clock(0.1), "Magic"));', "`Magic`"),
        (
            "Real y; Clock a = Clock(0.1), b = Clock(time > 1); equation y = sample(time, a) + sample(time, b);",
            "contra",
        ),
    ],
)
def test_what_is_wrong(body: str, words: str) -> None:
    with pytest.raises(pliant.ModelError, match=words) as caught:
        load(body)
    assert caught.value.hint
    assert caught.value.span is not None


def test_a_sample_is_the_limit_from_the_left() -> None:
    model = load(
        "Clock c = Clock(1, 10); Real u, us, x(start = 0, fixed = true), xs, y, e; Boolean b = time >= 0.2, bs;\n"
        "discrete input Real w; Real ws;\n"
        "equation u = if time < 0.2 then 1 else 2; der(x) = 1; us = sample(u, c); bs = sample(b, c);\n"
        "xs = sample(x, c); y = sample(hold(y) + 1 + u, c); e = sample(2*u + 1, c); ws = sample(w, c);"
    )
    found = model.simulate(0.35, points=[0.05, 0.15, 0.25, 0.35], inputs={"w": ([0.0, 0.2], [5.0, 7.0])})
    np.testing.assert_array_equal(found["us"], [1, 1, 1, 2])
    np.testing.assert_array_equal(found["bs"], [0, 0, 0, 1])
    np.testing.assert_array_equal(found["e"], [3, 3, 3, 5])
    np.testing.assert_array_equal(found["y"], [2, 4, 6, 9])
    np.testing.assert_allclose(found["xs"], [0, 0.1, 0.2, 0.3], atol=1e-9)
    np.testing.assert_array_equal(found["ws"], [5, 5, 7, 7])  # inputs jump before everything else


def test_clocks_of_conditions() -> None:
    model = load(
        "Real x = sin(2*3.14159265358979*time), n(start = 0), h, s; Integer k(start = 0); Boolean first;\n"
        "Clock c = Clock(x > 0.5, 0.25); equation when c then k = previous(k) + 1; end when; h = interval(k);\n"
        "first = firstTick(k); n = subSample(k, 2); s = hold(shiftSample(k, 1)) + hold(h);"
    )
    found = model.simulate(4.5, points=[0.05, 0.5, 1.5, 2.5, 3.5, 4.4])
    np.testing.assert_array_equal(found["k"], [0, 1, 2, 3, 4, 5])
    np.testing.assert_array_equal(found["n"], [0, 1, 1, 3, 3, 5])
    np.testing.assert_array_equal(found["first"][1:], [1, 0, 0, 0, 0])
    np.testing.assert_allclose(found["h"][1:], [0.25, 1, 1, 1, 1], atol=1e-6)
    np.testing.assert_allclose(found["s"][1:], [0.25, 3, 4, 5, 6], atol=1e-6)


def test_a_clock_that_its_own_partition_sets_back() -> None:
    model = load(
        "Real x(start = 0, fixed = true), last; Integer n(start = 0); Clock c = Clock(x - hold(last) >= 0.3);\n"
        "equation der(x) = 1; last = sample(x, c); when c then n = previous(n) + 1; end when;"
    )
    found = model.simulate(1.0)
    assert found["n"][-1] == 3
    assert found["last"][-1] == pytest.approx(0.9, abs=1e-6)


def test_intervals_that_are_computed() -> None:
    model = load(
        "Integer n(start = 1); Real t, h; Clock c = Clock(n, 10);\n"
        "equation when c then n = previous(n) + 1; end when; t = sample(time, c); h = interval(t);"
    )
    found = model.simulate(1.5)
    assert sorted(set(np.round(found["t"], 9))) == [0.0, 0.2, 0.5, 0.9, 1.4]
    assert sorted(set(np.round(found["h"], 9))) == [0.1, 0.2, 0.3, 0.4, 0.5]


@pytest.mark.parametrize("method", ["ExplicitEuler", "ImplicitEuler", "ImplicitTrapezoid"])
def test_derivatives_between_ticks(method: str) -> None:
    model = load(
        f'Real x(start = 1), u; Clock c = Clock(Clock(1, 10), solverMethod = "{method}");\n'
        "equation u = sample(time, c); der(x) = 10*u;"
    )
    found = model.simulate(0.45, points=[0.05, 0.15, 0.25, 0.35, 0.45])["x"]
    u = 0.1 * np.arange(5)
    steps = {"ExplicitEuler": u[:-1], "ImplicitEuler": u[1:], "ImplicitTrapezoid": (u[:-1] + u[1:]) / 2}[method]
    np.testing.assert_allclose(found, 1 + np.concatenate([[0.0], np.cumsum(steps)]), atol=1e-12)


@pytest.mark.parametrize(
    ("equations", "wanted"),
    [
        ("a + 2*b = u; a - b = previous(a);", lambda u, a: ((u + 2 * a) / 3, (u - a) / 3)),
        ("b = 3*a + u; a = 0.5*b - 2;", lambda u, a: (4 - u, 12 - 2 * u)),
        ("(if u > 1.5 then 2 else 4)*a = u; 0 = a - b;", lambda u, a: (u / (2 if u > 1.5 else 4),) * 2),
        ("exp(a) + b = u; b = 2*a;", None),
    ],
)
def test_equations_of_clocks_are_solved(equations: str, wanted: Any) -> None:
    model = load(f"Real a(start = 1), b, u; equation u = sample(1 + time, Clock(1, 4)); {equations}")
    found = model.simulate(1.0, points=[0.1, 0.3, 0.6, 0.9, 1.0])
    assert sorted(found.names) == ["a", "b", "u"]
    before = 1.0
    for k in range(5):
        u, a, b = (float(found[name][k]) for name in ("u", "a", "b"))
        assert u == 1 + k / 4
        if wanted is None:
            assert (np.exp(a) + b, b) == (pytest.approx(u, abs=1e-12), pytest.approx(2 * a))
        else:
            assert (a, b) == pytest.approx(wanted(u, before))
        before = a


def test_stiff_equations_are_stepped_implicitly() -> None:
    model = load(
        'Real x(start = 1), y, u; Clock c = Clock(Clock(1, 10), solverMethod = "ImplicitEuler");\n'
        "equation u = sample(1, c); der(x) = -100*x + y; y = u - x;"
    )
    found = model.simulate(0.5)["x"][-1]
    x = 1.0
    for _ in range(5):
        x = (x + 0.1) / 11.1
    assert found == pytest.approx(x)


def test_conditions_and_algorithms_at_ticks() -> None:
    model = load(
        "Integer n(start = 0), m(start = 0); Boolean up(start = false); parameter Integer most = 3;\n"
        "Clock c = Clock(0.1); equation if previous(up) then n = previous(n) + 1; up = previous(n) < most;\n"
        "else n = 0; up = true; end if; when c then m = n; end when;"
    )
    found = model.simulate(0.8, points=[0.05 + 0.1 * k for k in range(8)])
    np.testing.assert_array_equal(found["m"], [0, 1, 2, 3, 4, 0, 1, 2])


def test_when_in_a_loop() -> None:
    result = load(
        "Boolean c[3]; discrete Real v[3](each start = 0, each fixed = true);\n"
        "equation for i in 1:3 loop c[i] = time > 0.2*i; when c[i] then v[i] = i; end when; end for;"
    ).simulate(1.0)
    assert [result[f"v[{i}]"][-1] for i in (1, 2, 3)] == [1.0, 2.0, 3.0]


def test_parameters_that_decide_about_unknowns_are_structural() -> None:
    text = (
        "parameter Real m = 0; Real T(start = 1), q; equation q = 1 - T;\n"
        "if m > 1e-9 then m*der(T) = q; else q = 0; end if;"
    )
    model = load(text)
    assert model.simulate(1.0)["T"][-1] == pytest.approx(1.0)
    with pytest.raises(pliant.PliantError, match="m"):
        model.simulate(1.0, parameters={"m": 1.0})


def test_a_recursion_that_parameters_end() -> None:
    model = load(
        "function f input Real x; output Real y; algorithm y := if x < 1 then 1 else x*f(x - 1); end f;\n"
        "parameter Real n = 5; parameter Real p = f(n); Real y = p*time;"
    )
    assert model.simulate(1.0)["y"][-1] == pytest.approx(120.0)


GENERAL = """model General
  Real a, b, y, x(start = 1), z[2], s, w(start = 1);
  Integer k(start = 0);
  parameter Real A[2, 2] = {{1, 2}, {3, 4}};
equation
  when Clock(0.1) then
    a + b = 3*y;
    a - b = 1;
    y = sample(time);
    x^3 + x = previous(x) + y;
    A*z = {1, 2}*y;
    k = previous(k) + 1;
    for i in 1:1 loop
      2*s = k + i;
    end for;
    if y > 0.45 then
      w + y = 0;
    else
      2*w = previous(w);
    end if;
  end when;
end General;
"""


def test_any_equations_in_a_when_clause_of_a_clock() -> None:
    """Specification 16.6: general equations are allowed there."""
    result = pliant.load(GENERAL).simulate(stop=0.95, points=[0.05, 0.35, 0.95])
    x, w, expected = 1.0, 1.0, []
    for tick in range(10):
        y = 0.1 * tick
        x = float(next(root.real for root in np.roots([1.0, 0.0, 1.0, -x - y]) if abs(root.imag) < 1e-9))
        w = -y if y > 0.45 else w / 2
        expected.append([(3 * y + 1) / 2, (3 * y - 1) / 2, y, x, 0.0, y / 2, tick + 1, (tick + 2) / 2, w])
    names = ("a", "b", "y", "x", "z[1]", "z[2]", "k", "s", "w")
    for row, tick in enumerate((0, 3, 9)):
        found = [result[name][row] for name in names]
        assert found == pytest.approx(expected[tick], abs=1e-9)


def test_a_derivative_in_a_when_clause_of_a_clock() -> None:
    clock = 'Clock(Clock(0.1), solverMethod = "ExplicitEuler")'
    assert load(f"Real x(start = 1); equation when {clock} then der(x) = -x; end when;").simulate(stop=0.95)["x"][
        -1
    ] == pytest.approx(0.9**9)


@pytest.mark.parametrize("value", ["if time > 0.5 then 1.5 else 1", "2.0", "p"])
def test_an_integer_takes_no_real(value: str) -> None:
    with pytest.raises(pliant.ModelError, match="`k` is an Integer") as caught:
        pliant.load(f"model A\n  parameter Real p = 2;\n  Integer k;\nequation\n  k = {value};\nend A;\n")
    assert caught.value.span.line == 5


@pytest.mark.parametrize(
    ("interval", "fault"),
    [
        ("if hk < 2.5 then 0.125 else -0.5", "is negative"),
        ("if hk < 2.5 then 0.125 else 0", "is zero"),
        ("if hk < 2.5 then 0.125 else 0/(hk - hk)", "is not a number"),
    ],
)
def test_a_computed_interval_that_is_none(interval: str, fault: str) -> None:
    text = f"""model M
  discrete Real k(start = 0); Real hk;
  Clock c = Clock({interval});
equation
  hk = hold(k);
  when c then k = previous(k) + 1; end when;
end M;"""
    model = pliant.load(text)
    assert model.simulate(stop=0.2)["k"][-1] == 2
    with pytest.raises(pliant.SolverError) as error:
        model.simulate(stop=3.0)
    message = str(error.value)
    assert f"the interval of the clock `Clock({interval})` {fault}" in message
    assert "t = 0.25" in message
    assert "model.mo:3" in message


@pytest.mark.parametrize(
    ("declarations", "step", "expected"),
    [
        ("Clock c = Clock(n, 10); Integer n(start = 2);", "n = previous(n) + 1", [0.2, 0.3, 0.4]),
        ("Clock c = Clock(h); Real h(start = 0.25);", "h = previous(h)", [0.25, 0.25, 0.25]),
        ("Clock c = Clock(time > 0.1, 0.5);", "", [0.0, 0.5, 0.5]),
    ],
)
def test_interval_at_the_first_tick(declarations: str, step: str, expected: list[float]) -> None:
    """The start of the variable that is the interval, or what the constructor says (16.10)."""
    equations = f"{step}; k = interval();" if step else "k = interval();"
    body = f"{declarations} Real i = interval(c), k; equation when c then {equations} end when;"
    result = load(body).simulate(stop=0.8, points=[0.0, 0.35, 0.75])
    for name in ("i", "k"):
        np.testing.assert_allclose(result[name], expected, atol=1e-12)


def test_samples_in_loops() -> None:
    """Of expressions with the loop variable, into clocked elements and back."""
    body = (
        "parameter Integer n = 3; Clock c = Clock(1, 4); Real x[n], y[n], z[n]; equation for i in 1:n loop\n"
        "x[i] = sample(i*time, c); z[i] = hold(i + x[i]); end for; y = x .+ 1;"
    )
    result = load(body).simulate(stop=1.0, points=[0.1, 0.6])
    for i in (1, 2, 3):
        np.testing.assert_allclose(result[f"x[{i}]"], [0.0, 0.5 * i])
        np.testing.assert_allclose(result[f"y[{i}]"], [1.0, 1 + 0.5 * i])
        np.testing.assert_allclose(result[f"z[{i}]"], [i, 1.5 * i])


def test_elements_of_arrays_have_one_clock() -> None:
    text = """model M
  Real x[2](each start = 0);
equation
  when Clock(1, 10) then x[1] = previous(x[1]) + 1; end when;
  when Clock(2, 10) then x[2] = previous(x[2]) + 1; end when;
end M;
"""
    with pytest.raises(pliant.ModelError, match="two clocks contradict each other") as caught:
        pliant.load(text)
    assert caught.value.rule == "16.7.5"
    assert "the elements of `x` have one clock" in (caught.value.hint or "")


def test_a_computed_interval_that_ends_with_the_run() -> None:
    model = load(
        "  Clock c = Clock(h, 10);\n  Integer h(start = 2), n(start = 0);\n  Real t;\nequation\n"
        "  when c then\n    h = previous(h) + 1;\n    n = previous(n) + 1;\n    t = time;\n  end when;"
    )
    result = model.simulate(stop=1.2)
    assert np.unique(result["t"]) == pytest.approx([0.0, 0.3, 0.7, 1.2], abs=1e-12)
    assert result["n"][-1] == 4
