"""Declarations that contradict each other, values of another type or size: errors, as any choice would be a guess."""

from __future__ import annotations

import re

import pytest

import pliant

TANK = (
    "model Tank\n  parameter Real area = 2;\n  Real level(start = 1, fixed = true);\n"
    "equation\n  der(level) = -level/area;\nend Tank;\n"
)
OBJECTS = """
  class Box
    extends ExternalObject;
    function constructor
      input Real size;
      output Box box;
      external "C" box = make(size) annotation(Include = "
#include <stdlib.h>
static void *make(double size) { double *p = malloc(sizeof *p); if (p) *p = size; return p; }");
    end constructor;
    function destructor
      input Box box;
      external "C" drop(box) annotation(Include = "#include <stdlib.h>
static void drop(void *box) { free(box); }");
    end destructor;
  end Box;
  class Bag
    extends ExternalObject;
    function constructor
      output Bag bag;
      external "C" bag = open_bag() annotation(Include = "#include <stdlib.h>
static void *open_bag(void) { return malloc(1); }");
    end constructor;
    function destructor
      input Bag bag;
      external "C" drop(bag) annotation(Include = "#include <stdlib.h>
static void drop(void *box) { free(box); }");
    end destructor;
  end Bag;
  function held
    input Box box;
    output Real y;
    external "C" y = held(box) annotation(Include = "static double held(void *box) { return *(double *)box; }");
  end held;
"""


def refused(text: str, *words: str, rule: str | None = None, name: str | None = None) -> None:
    with pytest.raises(pliant.ModelError) as caught:
        pliant.load(text, name=name, path=[])
    for one in words:
        assert one in caught.value.message
    assert rule is None or caught.value.rule == rule
    assert caught.value.hint


@pytest.mark.parametrize(
    ("first", "second", "what"),
    [
        ("Real k = 1", "Real k = 2", "modifiers or values"),
        ("Real k = 1", "Real k", "modifiers or values"),
        ('Real k(unit = "m") = 1', 'Real k(unit = "s") = 1', "modifiers or values"),
        ("parameter Real k[2] = {1, 2}", "parameter Real k[3] = {1, 2, 3}", "dimensions"),
        ("parameter Real k = 1", "Real k = 1", "prefixes"),
        ("Real k = 1", "Real k = 1 if true", "conditions"),
    ],
)
def test_inherited_declarations_say_the_same(first: str, second: str, what: str) -> None:
    """Own and inherited, and inherited from two classes."""
    own = f"package P\n model A\n  {first};\n end A;\n model M\n  extends A;\n  {second};\n end M;\nend P;"
    refused(own, "`k` has two declarations in `P.M`", what, rule="7.1", name="P.M")
    twice = (
        f"package P\n model A\n  {first};\n end A;\n model B\n  {second};\n end B;\n model M\n"
        f"  extends A;\n  extends B;\n end M;\nend P;"
    )
    refused(twice, "`k` has two declarations in `P.M`", what, rule="7.1", name="P.M")


def test_the_same_declaration_twice_is_one() -> None:
    """Blanks, descriptions, and attributes that only one has, are no contradiction."""
    text = (
        'package P\n model A\n  parameter Real k( min = 0 )=2 "here";\n end A;\n'
        ' model B\n  parameter Real k(min = 0, max = 3) = 2 "there";\n end B;\n'
        " model M\n  extends A;\n  extends B;\n  Real x = k;\n end M;\nend P;"
    )
    assert pliant.load(text, name="P.M", path=[]).simulate(stop=1)["x"][-1] == 2.0


@pytest.mark.parametrize(
    ("modifier", "words"),
    [
        ("redeclare Tank t(area = 3), t(area = 4)", "`area` is modified twice"),
        ("t(area = 3), redeclare Tank t(area = 4)", "`area` is modified twice"),
        ("redeclare Tank t(level(start = 3)), t.level(start = 4)", "`start` is modified twice"),
    ],
)
def test_redeclared_and_modified(modifier: str, words: str) -> None:
    text = (
        f"package P\n{TANK}model Two\n  replaceable Tank t;\nend Two;\nmodel M\n  Two two({modifier});\nend M;\nend P;"
    )
    refused(text, words, rule="7.2.4", name="P.M")


def test_redeclared_and_modified_apart() -> None:
    text = (
        f"package P\n{TANK}model Two\n  replaceable Tank t;\nend Two;\n"
        "model M\n  Two two(redeclare Tank t(area = 1), t(level(start = 3)));\nend M;\nend P;"
    )
    result = pliant.load(text, name="P.M", path=[]).simulate(stop=1, rtol=1e-9)
    assert result["two.t.level"][-1] == pytest.approx(3 * 2.718281828459045**-1, rel=1e-7)


@pytest.mark.parametrize(
    ("declaration", "words"),
    [
        ("Boolean b = 1", "`M.f.b` and its value: a Boolean meets an Integer"),
        ("Integer n = 2.5", "`M.f.n` is an Integer, its value is a Real"),
        ("Real v[3] = {1, 2}", "`M.f.v` and its value differ in size"),
        ("parameter Real p = true", "`M.f.p` and its value: a Real meets a Boolean"),
    ],
)
def test_values_in_functions(declaration: str, words: str) -> None:
    text = (
        f"model M\n  function f\n    input Real u;\n    output Real y;\n  protected\n"
        f"    {declaration};\n  algorithm\n    y := u;\n  end f;\n  Real x = f(time);\nend M;"
    )
    refused(text, words, rule="10.6")


def test_an_output_with_a_value_of_another_type() -> None:
    text = (
        "model M\n  function f\n    input Real u;\n    output Integer n = u;\n  algorithm\n"
        "  end f;\n  Real x = f(4.7);\nend M;"
    )
    refused(text, "`M.f.n` is an Integer, its value is a Real")


@pytest.mark.parametrize(
    ("declaration", "words"),
    [
        ("parameter Integer n(start = 2.5)", "`n` is an Integer, its `start` is a Real"),
        ("parameter Integer n(min = 1.5) = 2", "`n` is an Integer, its `min` is a Real"),
        ("Real x(start = 1, fixed = 1) = time", "`fixed` of `x` must be a Boolean"),
        ("Real x(unit = 3) = time", "`unit` of `x` must be a String"),
        ("Real x(quantity = 4) = time", "`quantity` of `x` must be a String"),
        ("Real x(stateSelect = 3) = time", "`stateSelect` of `x` must be a literal of StateSelect"),
    ],
)
def test_attributes(declaration: str, words: str) -> None:
    refused(f"model M\n  {declaration};\nend M;", words)


@pytest.mark.parametrize(
    ("declaration", "words"),
    [
        ("Integer a[2, 2] = identity(2.0)", "a size is an Integer"),
        ("Real a[2] = zeros(2.0)", "a size is an Integer"),
        ("Real a[2] = fill(1, 2.0)", "a size is an Integer"),
        ("Real a[2] = linspace(0, 1, 2.0)", "a size is an Integer"),
        ("Integer n = size({1, 2}, 1.0)", "a size is an Integer"),
        ("Real x = scalar({1, 2})", "scalar needs an array with one element"),
        ("Real x[4] = vector([1, 2; 3, 4])", "one dimension may be larger than 1"),
        ("Real x[1, 2] = matrix({{{1, 5}, {2, 6}}})", "from the third on have one element"),
        ("Real x = Integer(3.0)", "is made of an enumeration"),
        ("Real x = Integer(true)", "is made of an enumeration"),
    ],
)
def test_arguments_of_built_in_functions(declaration: str, words: str) -> None:
    refused(f"model M\n  {declaration};\nend M;", words)


def test_what_is_close_to_them() -> None:
    text = (
        "model M\n  type E = enumeration(low, high);\n"
        "  Real a = scalar({{{3}}}), b[2] = vector({{4}, {5}}), c[1, 2] = matrix({{{6}, {7}}});\n"
        "  Integer n = Integer(E.high);\nend M;"
    )
    final = pliant.load(text, path=[]).simulate(stop=1)
    assert [final[name][-1] for name in ("a", "b[2]", "c[1,2]", "n")] == [3.0, 5.0, 7.0, 2.0]


def test_a_scalar_is_no_array() -> None:
    refused("model M\n  Real x[2];\nalgorithm\n  x := time;\nend M;", "`x` and its value differ in size", rule="11.2.1")


def test_external_objects_of_two_classes() -> None:
    """The C function of one would read the memory of the other."""
    head = f"package P{OBJECTS}"
    refused(
        f"{head}  model M\n    Bag bag = Bag();\n    Real y = held(bag);\n  end M;\nend P;",
        "input `box` of `P.held`",
        name="P.M",
    )
    refused(f"{head}  model M\n    Box box(weight = 2) = Box(3);\n  end M;\nend P;", "`weight`", name="P.M")
    fine = f"{head}  model M\n    Box box = Box(3);\n    Real y = held(box);\n  end M;\nend P;"
    assert pliant.load(fine, name="P.M", path=[]).simulate(stop=1)["y"][-1] == 3.0


def test_a_constructor_that_is_no_external_function() -> None:
    text = re.sub(r"external \"C\" box = make.*?\"\);", "", OBJECTS, flags=re.DOTALL)
    text = f"package P{text}  model M\n    Box box = Box(3);\n    Real y = held(box);\n  end M;\nend P;"
    refused(text, "`P.Box.constructor` is no external function", rule="12.9.7", name="P.M")


def test_external_code_in_a_model() -> None:
    refused('model M\n  Real x = 1;\nexternal "C";\nend M;', "a model has no external code", rule="12.9")


def test_a_base_class_is_not_found_through_a_component() -> None:
    text = (
        "package P\n  model Outside\n    Inside part;\n    model Inside\n"
        "      encapsulated model Base\n        Real x = 1;\n"
        "      end Base;\n    end Inside;\n  end Outside;\n  model M\n    extends Outside.part.Base;\n  end M;\nend P;"
    )
    refused(text, "`Outside.part` is a component", rule="5.3.2", name="P.M")


INSIDE = "package P\n model A\n  parameter Real p = 2;\n  {inner}\n end A;\n model M\n  A a(p = 5);\n end M;\nend P;"


@pytest.mark.parametrize(
    "inner",
    [
        "model N\n   Real x = p;\n  end N;\n  N n;",
        "record R\n   Real x = p;\n  end R;\n  R r;",
        "function f\n   input Real u;\n   output Real y;\n  algorithm\n   y := p*u;\n  end f;\n  Real x = f(1);",
        "Real y = Other.q;\n  model Other\n   parameter Real q = 3;\n  end Other;",
        "parameter Real q = Other.q;\n  Real y = q;\n  model Other\n   parameter Real q = 3;\n  end Other;",
    ],
)
def test_parameters_of_classes_are_those_of_no_instance(inner: str) -> None:
    """Inside of `a` the parameter is 5; what it is in the class, 2, is the value of no instance (5.3.1, 5.3.2)."""
    refused(INSIDE.format(inner=inner), "no constant", name="P.M")


@pytest.mark.parametrize(
    "inner",
    [
        "model N\n   parameter Real p;\n   Real x = p;\n  end N;\n  N n(p = p);",
        "model N\n   parameter Real q;\n   Real x = q;\n  end N;\n  model K = N(q = p);\n  K n;",
        "type T = Real(start = p);\n  model N\n   Real x = 5;\n  end N;\n  N n;\n  T t(fixed = true);\n"
        "equation\n  der(t) = 0;",
    ],
)
def test_parameters_of_the_instance(inner: str) -> None:
    result = pliant.load(INSIDE.format(inner=inner), name="P.M", path=[]).simulate(stop=1)
    assert result["a.n.x"][-1] == 5.0
    if "type" in inner:
        assert result["a.t"][-1] == 5.0


@pytest.mark.parametrize("call", ["mod(5, 0)", "mod(time, 0)", "rem(5, 0*time)", "rem(time, 0)", "div(5, 0)"])
def test_what_is_left_over_of_nothing(call: str) -> None:
    """There is no such number; in a branch that is not chosen nothing is left over."""
    with pytest.raises(pliant.NonFiniteError, match="x is NaN or infinite"):
        pliant.load(f"model M\n  Real x = {call};\nend M;", path=[]).simulate(stop=1)
    chosen = (
        f"model M\n  constant Integer n = 0;\n  Real x = if n == 0 then 7 else {call.replace(', 0', ', n')};\nend M;"
    )
    assert pliant.load(chosen, path=[]).simulate(stop=1)["x"][-1] == 7.0
