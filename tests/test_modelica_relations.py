"""Relations where they are hard to see: whole numbers, plateaus, extreme sizes, rounds of an event, ideal switches."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import pliant


def _final(text: str, stop: float = 3.0, form: str = "ode", **run: Any) -> dict[str, float]:
    return pliant.load(f"model M\n{text}\nend M;\n", options={"form": form}).simulate(stop=stop, **run).final


@pytest.mark.parametrize(
    "text",
    [
        "Real x(start = 0, fixed = true); Boolean b = x == 1; equation der(x) = 1;",
        "Real x = time; Real y = if x <> 1 then x else 2;",
        "Boolean b = time == 1;",
        "Real x = time; Real y = if noEvent(1 == x) then 1 else 2;",
        "Real x[2] = {time, 1}; Boolean b = x[2] == 1;",
        "Real d(start = 0, fixed = true); Boolean b = d == 1; equation when sample(0, 1) then d = time; end when;",
        "Real x = time; Boolean b; algorithm b := false; if x == 1 then b := true; end if;",
        'Real x = time; equation assert(x <> 5, "never");',
        "Real x = time; Integer k; equation when x == 1 then k = 1; end when;",
    ],
)
def test_reals_that_change_are_not_asked_for_equality(text: str) -> None:
    with pytest.raises(pliant.ModelError, match=r"Reals that change are compared with `(==|<>)`") as caught:
        pliant.load(f"model M\n{text}\nend M;\n")
    assert caught.value.rule == "3.5"
    assert caught.value.span is not None
    assert (caught.value.span.line, caught.value.span.text.count("==") + caught.value.span.text.count("<>")) == (2, 1)


def test_where_reals_may_be_asked_for_equality() -> None:
    """In functions, of constants and parameters; Integers, Booleans, enumerations and texts anywhere."""
    final = _final(
        """  function f input Real x; output Real y; algorithm y := if x == 0 then 1 else sin(x)/x; end f;
        parameter Real p = 2; constant Real c = 2; Real y = f(0*time) + (if p == c then 1 else 0), z = f(time);
        Integer k = integer(time); Boolean b = k == 2 or p <> 2; parameter String s = "a"; Real w;
        Real v[3] = {if p == r then 1 else 0 for r in {1.0, 2.0, 3.0}};
        equation if p == 2 and s == "a" then w = 1; else w = time; end if;"""
    )
    assert (final["y"], final["w"], final["b"], final["v[2]"], final["v[3]"]) == (2.0, 1.0, 0.0, 1.0, 0.0)
    assert final["z"] == pytest.approx(math.sin(3) / 3)


@pytest.mark.parametrize(
    ("expression", "exact"),
    [("ceil(time)", 6.0), ("floor(-time)", -6.0), ("mod(0.3 - time, 0.7)", 1.02), ("div(time - 2, 1.372)", -0.628)],
)
def test_whole_numbers_of_falling_functions_of_time(expression: str, exact: float) -> None:
    final = _final(f"Real x(start=0, fixed=true); equation der(x) = {expression};")
    assert final["x"] == pytest.approx(exact, abs=1e-4)


@pytest.mark.parametrize(
    ("declared", "equation", "inputs"),
    [
        ("input Real u", "", {"u": ([0, 1], [0, 1])}),
        ("input Real u", "", {"u": lambda t: min(t, 1.0)}),
        ("Real u", "u = min(s, 1);", {}),
        ("Real u", "u = sign(s - 1);", {}),
    ],
)
def test_a_relation_reached_by_equality_turns(declared: str, equation: str, inputs: Any) -> None:
    final = _final(
        f"{declared}; Real s(start=0, fixed=true); Integer n(start=0, fixed=true);"
        " discrete Real at(start=-1, fixed=true);"
        f" equation der(s) = 1; {equation} when u >= 1 then n = pre(n) + 1; at = time; end when;",
        inputs=inputs,
    )
    assert (final["n"], final["at"]) == (1, pytest.approx(1, abs=1e-9))


@pytest.mark.parametrize(
    ("slope", "offset", "room"), [(1e-18, 0, 1e-9), (1e-9, 0, 1e-9), (1, 1e9, 1e-5), (1e15, 0, 1e-9)]
)
def test_relations_turn_on_time_whatever_their_size(slope: float, offset: float, room: float) -> None:
    final = _final(
        f"Real x(start={offset}, fixed=true, nominal={slope}); discrete Real at(start=-1, fixed=true);"
        f" equation der(x) = {slope}; when x > {offset} + {slope} then at = time; end when;"
    )
    assert final["at"] == pytest.approx(1, abs=room)


def test_pre_of_a_state_after_its_reinit() -> None:
    final = _final(
        "Real x(start=1, fixed=true), y(start=1, fixed=true); discrete Real a(start=0, fixed=true);"
        " equation der(x) = 0; der(y) = 0; when time >= 0.5 then reinit(x, 5); end when;"
        " when x > 3 then a = pre(x); reinit(y, pre(x) - 1); end when;"
    )
    assert (final["a"], final["y"]) == (5, 4)


def test_what_the_start_sets_anew_has_not_risen() -> None:
    final = _final(
        "Real x(start=0, fixed=true); Integer n(start=0, fixed=true); equation der(x) = 0;"
        " when initial() then reinit(x, 2); end when; when x > 1 then n = pre(n) + 1; end when;"
    )
    assert (final["x"], final["n"]) == (2, 0)


def test_what_rises_in_the_round_after_the_start() -> None:
    """x follows a moment later, as a signal through a gate of digital electronics: that is a change."""
    final = _final(
        "Integer a(start=1, fixed=true), x, n(start=0, fixed=true), m(start=0, fixed=true);"
        " equation a = if time >= 0 then 3 else 2; x = pre(a);"
        " when change(x) and not initial() then n = pre(n) + 1; end when;"
        " when {initial(), x > 2} then m = pre(m) + 1; end when;"
    )
    assert (final["x"], final["n"], final["m"]) == (3, 1, 2)


def test_enumerations_begin_with_their_first_literal() -> None:
    final = _final(
        "type Shade = enumeration(red, green, blue); Shade a, b[2], c(start=Shade.blue); equation"
        " when time > 5 then a = Shade.blue; b = {Shade.blue, Shade.green}; c = Shade.red; end when;"
    )
    assert (final["a"], final["b[2]"], final["c"]) == (1, 1, 3)


def test_if_expressions_in_a_vector_of_conditions() -> None:
    final = _final(
        "Real x(start=0, fixed=true); Integer n(start=0, fixed=true); equation der(x) = 1;"
        " when {(if x > 0.3 then 1 else 0) > 0.5, (if x > 0.6 then 1 else 0) > 0.5} then n = pre(n) + 1; end when;"
    )
    assert final["n"] == 2


@pytest.mark.parametrize("form", ["ode", "dae"])
def test_ideal_switch_and_diode(form: str) -> None:
    final = _final(
        "Real i(start=0, fixed=true), ul, vd, id, sd, isw; Boolean on, off; equation"
        " on = mod(time, 0.01) < 0.004; off = sd < 0; vd = if off then sd else 0; id = if off then 0 else sd;"
        " 0 = if on then vd + 10 else isw; i = isw + id; ul = -vd - 2*i; 0.05*der(i) = ul;",
        stop=0.1 - 1e-9,
        form=form,
        rtol=1e-8,
    )
    exact = 0.0
    for _ in range(10):
        exact = (5 + (exact - 5) * math.exp(-0.16)) * math.exp(-0.24)
    assert final["i"] == pytest.approx(exact, rel=1e-5)


@pytest.mark.parametrize("y", [3, -3, 1, -1])
@pytest.mark.parametrize("kind", ["Integer", "Real"])
def test_exact_multiples(kind: str, y: int) -> None:
    """Both signs, at multiples and between. What moves keeps clear of the end of its range by 2e-10 of y."""
    given = [*range(7, -8, -1), 3, -3, -6, 0, 6]
    times = np.arange(len(given), dtype=float)
    table = (times, given) if kind == "Integer" else (np.repeat(times, 2)[1:], np.repeat(given, 2)[:-1])
    model = pliant.load(
        f"model M\n  input {kind} n;\n  {kind} a, b, c;\n  Real m, r(start = 0, fixed = true);\nequation\n"
        f"  a = mod(n, {y});\n  b = rem(n, {y});\n  c = div(n, {y});\n  m = noEvent(rem(n, {y}));\n"
        f"  der(r) = if rem(n, {y}) >= {0 if kind == 'Integer' else -0.5} then 1 else 0;\nend M;\n"
    )
    result = model.simulate(stop=len(given), inputs={"n": table}, points=np.arange(len(given) + 1.0))
    room = 0.0 if kind == "Integer" else 2.1e-10 * abs(y)
    for k, n in enumerate(given):
        towards = math.trunc(n / y)
        found = [float(result[name][k]) for name in ("a", "b", "c", "m")]
        exact = [n - math.floor(n / y) * y, n - towards * y, towards, n - towards * y]
        assert found == pytest.approx(exact, rel=0, abs=room), n
        assert found[2:] == exact[2:], n
    assert result.final["r"] == pytest.approx(sum(n - math.trunc(n / y) * y >= 0 for n in given))
