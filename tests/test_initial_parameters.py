"""Initial equations of parameters and discrete variables alone; attributes that must not move."""

from __future__ import annotations

import pytest
from support_modelica import model_of

import pliant

X = "  Real x(start = 0.7);\n"
D = "equation\n  der(x) = -x;"


def begin(body: str, *names: str) -> tuple[list[float], list[str], list[str]]:
    model = model_of(body)
    result = model.simulate(stop=1e-6, points=2)
    assert result.start is not None
    return [float(result[name][0]) for name in names], result.start.undetermined, result.start.redundant


def refused(body: str) -> str:
    with pytest.raises(pliant.InitialValueError) as caught:
        model_of(body).simulate(stop=1e-6)
    return str(caught.value)


# ------------------------------------------------------------------------------------------- parameters

K = "  parameter Real k(start = 1.6, fixed = false);\n" + X + "initial equation\n"


def test_a_number_for_a_parameter_counts() -> None:
    assert begin(K + "  k = 1.5;\n  k + x = 3;\n" + D, "k", "x") == ([1.5, pytest.approx(1.5, rel=1e-12)], [], [])


def test_two_numbers_for_a_parameter_contradict_each_other() -> None:
    for first, second in (("1.5", "2"), ("1.5e-12", "2e-12"), ("1.5e12", "1.6e12")):
        text = refused(K + f"  k = {first};\n  k = {second};\n" + D)
        assert f"k = {first}  model.mo:5" in text
        assert f"k = {second}  model.mo:6" in text


def test_a_repeated_number_is_redundant() -> None:
    values, undetermined, redundant = begin(K + "  k = 1.5;\n  3*k = 4.5;\n" + D, "k", "x")
    assert values == [1.5, 0.7]
    assert undetermined == ["x"]
    assert len(redundant) == 1


def test_all_members_of_a_contradicting_chain_are_named() -> None:
    body = "  parameter Real k(fixed = false), q(fixed = false);\n" + X
    text = refused(body + "initial equation\n  q = 4;\n  k = 2*q;\n  k = 9;\n" + D)
    assert all(f"model.mo:{line}" in text for line in (5, 6, 7))


def test_a_parameter_that_nothing_determines_is_named() -> None:
    body = "  parameter Real k(start = 1.6, fixed = false);\n" + X + "equation\n  der(x) = -k*x;"
    assert begin(body, "k", "x") == ([1.6, 0.7], ["x", "k"], [])


def test_parameters_computed_from_unknown_ones() -> None:
    """k = 2 b and b = 3 k + 1 are a circle of bindings, but one equation for one unknown."""
    body = "  parameter Real k(start = 1, fixed = false);\n  parameter Real b = 3*k + 1;\n" + X
    assert begin(body + "initial equation\n  k = 2*b;\n" + D, "k", "b")[0] == pytest.approx([-0.4, -0.2])


def test_a_fixed_start_value_may_depend_on_an_unknown_parameter() -> None:
    body = "  parameter Real k(start = 1, fixed = false);\n  Real x(start = k, fixed = true);\n"
    model = model_of(body + "initial equation\n  der(x) = -6;\n" + D)
    assert [model.simulate(stop=1)[name][0] for name in "kx"] == pytest.approx([6.0, 6.0])
    assert model.simulate(stop=1, start_values={"x": 6.0})["x"][0] == 6.0


def test_integer_and_boolean_parameters() -> None:
    body = """  parameter Integer n(start = 1, fixed = false);
  parameter Boolean b(start = true, fixed = false), c(start = true, fixed = false);
  Real x(start = 0.7), y(start = 2, fixed = true);
initial equation
  n = 4;
  b = false;
  c = y > 5;
  x = (if b then 1 else 2)*n + (if c then 10 else 20);
equation
  der(x) = -x;  der(y) = -y;"""
    assert begin(body, "n", "b", "c", "x") == ([4.0, 0.0, 0.0, 28.0], [], [])


# -------------------------------------------------------------------------------------- discrete variables

WHEN = "equation\n  der(x) = -x;\n  when time > 0.5 then d = pre(d) + 1; end when;"


@pytest.mark.parametrize("left", ["d", "pre(d)"])
def test_first_values_of_discrete_variables_hold_in_other_equations(left: str) -> None:
    body = "  discrete Real d;\n" + X + f"initial equation\n  {left} = 4;\n  x = d;\n" + WHEN
    assert begin(body, "d", "x")[0] == [4.0, 4.0]


def test_discrete_variables_are_unknowns_beside_states() -> None:
    body = "  discrete Real d(start = 1);\n" + X + "initial equation\n  d + x = 3;\n  d - x = 1;\n" + WHEN
    assert begin(body, "d", "x") == ([pytest.approx(2), pytest.approx(1)], [], [])


def test_a_fixed_discrete_variable_and_an_equation() -> None:
    body = "  discrete Real d(start = 4, fixed = true);\n" + X + "initial equation\n  d = {};\n" + WHEN
    assert begin(body.format(4), "d")[0] == [4.0]
    assert "d = 5" in refused(body.format(5))


def test_the_value_before_says_nothing_about_a_variable_without_memory() -> None:
    body = "  Boolean b = x > 0.5;\n  Real x(start = 0.7, fixed = true);\ninitial equation\n  pre(b) = false;\n" + D
    assert begin(body, "b")[0] == [1.0]


def test_values_before_are_tied_to_each_other() -> None:
    """As in graphs of steps: b is set at the start, too, and c is another name of pre(a)."""
    body = """  Boolean a, b, c;
initial equation
  pre(a) = pre(b); c = true;
equation
  c = pre(a);
  a = c and time < 0.5;
  when {initial(), time > 0.5} then b = not pre(b); end when;"""
    assert begin(body, "a", "b", "c")[0] == [1.0, 0.0, 1.0]


def test_a_name_that_begins_with_pre_is_no_value_before() -> None:
    """prev = 3 is asked for after the event at the start, in which it grows by one: not found, and not taken for 4."""
    when = "equation\n  der(x) = -x;\n  when {initial(), time > 0.5} then prev = pre(prev) + 1; end when;"
    body = "  discrete Real prev;\n" + X + "initial equation\n  prev = 3;\n  x = prev;\n" + when
    refused(body)


def test_a_boolean_that_follows_from_others_is_checked() -> None:
    body = "  Boolean b = x > {};\n  Real x(start = 0.7, fixed = true);\n" + "initial equation\n  b = true;\n" + D
    assert begin(body.format(0.5), "x")[0] == [0.7]
    assert "b = true" in refused(body.format(0.9))


def test_a_when_clause_at_the_start_begins_with_the_value_before() -> None:
    body = "  discrete Real d;\n" + X + "initial equation\n  pre(d) = 4;\n"
    body += "equation\n  der(x) = -x;\n  when initial() then d = pre(d) + 1; end when;"
    assert begin(body, "d")[0] == [5.0]


# -------------------------------------------------------------------------------------------- attributes

MOVING = """  input Real u;
  Real v(start = 1, fixed = true), a, w[2](each start = 1);
  discrete Real d(start = 1);
  Boolean b = v > 0.5;
  Real x({} = {});
equation
  der(v) = -v;  a = 2*v;  der(w) = -w;  der(x) = u - x;
  when time > 0.5 then d = pre(d) + 1; end when;"""


@pytest.mark.parametrize("attribute", ["start", "nominal", "min", "max"])
@pytest.mark.parametrize("what", ["v", "x", "u", "a", "der(v)", "time", "d", "w[1]", "if b then 1 else 2"])
def test_attributes_must_not_move(attribute: str, what: str) -> None:
    """Nothing is compiled or run: this was the end of the process."""
    with pytest.raises(pliant.ModelError, match=rf"model.mo:6: `{attribute}` of `x` depends on .*parameters"):
        model_of(MOVING.format(attribute, what))


def test_fixed_must_be_known() -> None:
    with pytest.raises(pliant.ModelError, match=r"model.mo:6:\d+: `fixed = v > 0` cannot be decided"):
        model_of(MOVING.format("fixed", "v > 0"))


# ------------------------------------------------------------------------- parameters that name each other

CIRCLE = "  parameter Real a = if {0} then 1 else 2*c;\n  parameter Real c = if {0} then 3*a else 4;\n" + X + D


@pytest.mark.parametrize("declaration", ["Boolean b = {}", "Real b = {}", "Integer b = {}"])
def test_branches_that_are_not_taken_do_not_count(declaration: str) -> None:
    for is_first, expected in ((True, [1.0, 3.0]), (False, [8.0, 4.0])):
        is_boolean = "Boolean" in declaration
        value = str(is_first).lower() if is_boolean else str(int(is_first))
        body = f"  parameter {declaration.format(value)};\n" + CIRCLE.format("b" if is_boolean else "b > 0")
        assert begin(body, "a", "c")[0] == expected


def test_a_circle_of_taken_branches() -> None:
    body = "  parameter Boolean b = true;\n  parameter Real a = if b then c else 1;\n"
    body += "  parameter Real c = if b then 3*a else 4;\n"
    with pytest.raises(pliant.ModelError, match=r"parameters depend on each other: (a -> c|c -> a)"):
        model_of(body + X + D)


def test_contradicting_conditions_of_parameters_are_named() -> None:
    body = "  parameter Real k(start = 1, fixed = false);\n" + X + "initial equation\n  k = 1.5;\n  k = 2;\n" + D
    with pytest.raises(pliant.InitialValueError, match=r"`k = (2|1.5)` contradicts `k = (1.5|2)`, which it depends on"):
        begin(body, "k")
