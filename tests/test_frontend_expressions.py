"""Every construct of expressions: arrays, slices, records, builtins, loops, conditionals, evaluated numerically."""

from __future__ import annotations

import math

import pytest
from test_frontend_support import solved, system_of

import pliant
from pliant.errors import CompileError, ModelError
from pliant.ir import Kind

T = 0.7


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("time + 2*time - time/4", T + 2 * T - T / 4),
        ("-time^2 + 2^time", -(T**2) + 2**T),
        ("abs(-time) + sign(time - 1)", T - 1),
        ("sqrt(time)*exp(time)*log(time)*log10(time)", math.sqrt(T) * math.exp(T) * math.log(T) * math.log10(T)),
        ("sin(time) + cos(time) + tan(time)", math.sin(T) + math.cos(T) + math.tan(T)),
        ("asin(time) + acos(time) + atan(time)", math.asin(T) + math.acos(T) + math.atan(T)),
        ("sinh(time) + cosh(time) + tanh(time)", math.sinh(T) + math.cosh(T) + math.tanh(T)),
        ("atan2(time, 2)", math.atan2(T, 2)),
        ("min(time, 0.5) + max(time, 3)", 3.5),
        ("min({3, time, 2}) + max({3, time, 2})", T + 3),
        ("sum({1, time, 2}) + product({2, time})", 3 + 3 * T),
        ("noEvent(if time > 0.5 then 1 else 2)", 1.0),
        ("smooth(1, if time > 0.5 then time else 2)", T),
        ("homotopy(time, 1)", T),
        ("if time > 0.9 then 1 elseif time > 0.6 then 2 else 3", 2.0),
        ("if time > 0.5 and not time > 0.6 or time > 5 then 1 else 2", 2.0),
        ("{1, 2, 3}*{time, 1, 2}", T + 8),
        ("({{1, 2}, {3, 4}}*{time, 1})*{1, 1}", 4 * T + 6),
        ("sum(transpose([1, 2; 3, 4])*[time, 0; 0, 1])", 3 * T + 7),
        ("sum({{1, 2}, {3, time}}^2)", 7 + 2 + 2 * T + 3 + 3 * T + 6 + T * T),
        ("sum({1, 2} .* {time, 3} ./ {2, 1})", T / 2 + 6),
        ("sum(cross({1.0, 2.0, 3.0}, {time, 0.0, 1.0}))", 2 + (3 * T - 1) - 2 * T),
        ("sum(skew({1.0, 2.0, time})*{1.0, 0.0, 0.0})", T - 2),
        ("sum(outerProduct({1.0, time}, {2.0, 3.0}))", 5 + 5 * T),
        ("sum(identity(3)) + sum(diagonal({1, time}))", 3 + 1 + T),
        ("sum(zeros(3)) + sum(ones(2, 2)) + sum(fill(time, 2))", 4 + 2 * T),
        ("sum(linspace(0, time, 3))", 1.5 * T),
        ("sum(i*time for i in 1:4)", 10 * T),
        ("max(i*time for i in 1:4)", 4 * T),
        ("size({{1, 2, 3}, {4, 5, 6}}, 2)*time", 3 * T),
        ("sum(vector([time; 2]))", T + 2),
    ],
)
def test_scalar_expression(text: str, expected: float) -> None:
    system = system_of(f"Real y = {text};")
    assert solved(system, T)["y"] == pytest.approx(expected)


def test_arrays_slices_and_end() -> None:
    system = system_of(
        """
  Real v[4] = {1, 2, 3, time}; Real m[2,3] = {{1, 2, 3}, {4, 5, time}};
  Real a[2] = v[2:3]; Real b[2] = m[:, 3]; Real c[3] = m[2, :]; Real d = v[end]; Real e[2] = v[1:2:3];
  Real f[2,2] = m[:, 2:3]; Real g[2] = -a; Real h[3] = 2*m[1, :] + c/2;
"""
    )
    at = solved(system, T)
    assert [at["a[1]"], at["a[2]"], at["b[1]"], at["b[2]"]] == pytest.approx([2, 3, 3, T])
    assert [at["c[1]"], at["c[2]"], at["c[3]"], at["d"]] == pytest.approx([4, 5, T, T])
    assert [at["e[1]"], at["e[2]"]] == pytest.approx([1, 3])
    assert [at[f"f[{i},{j}]"] for i in (1, 2) for j in (1, 2)] == pytest.approx([2, 3, 5, T])
    assert [at["g[1]"], at["g[2]"]] == pytest.approx([-2, -3])
    assert [at["h[1]"], at["h[2]"], at["h[3]"]] == pytest.approx([4, 6.5, 6 + T / 2])


def test_matrix_of_blocks() -> None:
    system = system_of("parameter Real a[2,2] = {{1, 2}, {3, 4}};\nReal m[3,3] = [a, {5, 6}; 7, 8, time];")
    at = solved(system, T)
    assert [at[f"m[{i},{j}]"] for i in (1, 2, 3) for j in (1, 2, 3)] == pytest.approx([1, 2, 5, 3, 4, 6, 7, 8, T])


def test_for_equations_nested_and_with_conditions_on_the_index() -> None:
    system = system_of(
        """
  parameter Integer n = 4;
  Real x[n], m[2,3];
equation
  for i in 1:n loop
    x[i] = if i > 1 then x[i-1] + time else 1;
  end for;
  for i in 1:2, j in 1:3 loop
    m[i,j] = 10*i + j + time;
  end for;
"""
    )
    at = solved(system, T)
    assert [at[f"x[{i}]"] for i in range(1, 5)] == pytest.approx([1, 1 + T, 1 + 2 * T, 1 + 3 * T])
    assert at["m[2,3]"] == pytest.approx(23 + T)
    points = [e.index for e in system.equations if e.span and "x[i]" in e.span.text]
    assert points == [(1,), (2,), (3,), (4,)]
    assert "n" in system.fixed_parameters


def test_array_equation_in_a_loop() -> None:
    system = system_of(
        """
  record R Real a; Real b[2]; end R;
  R r[2];
equation
  for i in 1:2 loop
    r[i].a = i*time; r[i].b = {i, time};
  end for;
"""
    )
    at = solved(system, T)
    assert at["r[2].a"] == pytest.approx(2 * T)
    assert [at["r[2].b[1]"], at["r[2].b[2]"]] == pytest.approx([2, T])
    assert [e.index for e in system.equations] == [(), (1,), (2,)] * 2  # loops over records are written out


def test_only_elements_that_are_differentiated_have_derivatives() -> None:
    system = system_of("Real x[3](each start = 1);\nequation der(x[2]) = -x[2]; x[1] = 1; x[3] = 2;")
    assert [v.name for v in system.variables if v.kind == Kind.DERIVATIVE] == ["der(x[2])"]
    ((state, derivative),) = system.derivative.items()
    assert system.variables[state].name == "x[2]"
    assert system.variables[derivative].name == "der(x[2])"


def test_a_derivative_that_folds_away_leaves_no_state() -> None:
    system = system_of("constant Real c = 0;\nReal x(start = 1), y;\nequation c*der(x) + x = 2; der(y) = x;")
    assert [v.name for v in system.variables if v.kind == Kind.DERIVATIVE] == ["der(y)"]
    assert [system.variables[v].name for v in system.derivative] == ["y"]


def test_an_index_that_changes_chooses_at_run_time() -> None:
    system = system_of(
        """
  Real v[3] = {1, 2, time}; Integer k = if time > 0.5 then 3 else 1; Real y = v[k];
"""
    )
    assert solved(system, T)["y"] == pytest.approx(T)
    assert solved(system, 0.1)["y"] == pytest.approx(1)
    assert len(system.relations) == 1
    assert system.refusals == []


def test_records_and_enumerations() -> None:
    system = system_of(
        """
  type E = enumeration(a, b);
  record R Real p; Real q; end R;
  R r(p = time, q = 2*time); R s = r;
  parameter E e = E.b; Real x = if e == E.b then s.q else 0;
"""
    )
    assert solved(system, T)["x"] == pytest.approx(2 * T)


def test_long_sum_does_not_recurse() -> None:
    n = 3000
    system = system_of("Real x = " + " + ".join(["time"] * n) + ";")
    assert solved(system, 1.0)["x"] == pytest.approx(n)


@pytest.mark.parametrize(
    ("body", "part"),
    [
        ("Real x[3] = {1, 2, time}; parameter Integer k = 4; Real y = x[k];", "array index 4 is outside 1..3"),
        ("constant Real z = 0; Real y = time/z;", "division by zero"),
        ("parameter Real p = time; Real y = p;", "parameter `p` is bound to what changes"),
    ],
)
def test_wrong_values_are_placed(body: str, part: str) -> None:
    with pytest.raises(ModelError, match=part) as caught:
        system_of(body)
    assert "model.mo:2" in str(caught.value)
    assert caught.value.hint


def test_unknown_external_function_is_named() -> None:
    body = 'function f input Real x; output Real y; external "C" y = myfun(x); end f;\nReal y = f(time);'
    with pytest.raises(CompileError, match="`myfun` is defined nowhere"):
        pliant.load(f"model M {body} end M;")


@pytest.mark.parametrize(("name", "value"), [("mod", -3.3 % 2), ("rem", math.fmod(-3.3, 2)), ("div", -1.0)])
def test_quotients(name: str, value: float) -> None:
    constant = system_of(f"parameter Real p = -3.3; Real y = {name}(p, 2)*time;", fold_parameters=True)
    assert constant.refusals == []
    assert solved(constant, 1.0)["y"] == pytest.approx(value)


def test_floor_and_its_kind_make_events() -> None:
    system = system_of("Real y = floor(time) + ceil(time) + integer(time);")
    assert system.refusals == []
    assert len(system.events.memories) == 2  # floor and integer are the same
    assert len(system.relations) == 4
    assert solved(system, 1.5, {"$floor 1": 1.0, "$floor 2": -2.0})["y"] == pytest.approx(1 + 2 + 1)
    quiet = system_of("Real y = noEvent(floor(time));")
    assert not quiet.events
