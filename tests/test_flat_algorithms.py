"""Algorithm sections: loops, branches, when-clauses, strings; from Modelica text to numbers."""

import pytest

import pliant
from pliant.errors import ModelError
from pliant.expr.evaluate import evaluate
from pliant.frontend.modelica.flatten.model import flatten
from pliant.frontend.scalar.scalarize import scalarize
from pliant.ir import Op, System


def system_of(text: str) -> System:
    return scalarize(flatten("\n" + text, "", []))


def values(text: str) -> dict[str, float]:
    """Equations `v - value = 0` with values that are numbers."""
    system = system_of(text)
    nodes = system.graph.nodes
    found: dict[str, float] = {}
    for one in system.equations:
        op, left, right = nodes[one.residual]
        assert op == Op.SUB
        found[system.variables[nodes[left][1]].name] = evaluate(system.graph, [right], {})[0]
    return found


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("for i in 1:3 loop x := x + i; end for;", 6),
        ("for i in 1:9 loop if i > 4 then break; end if; x := x + i; end for;", 10),
        ("for i in 1:3, j in 1:2 loop x := x + i*j; end for;", 18),
        ("for r in 1.0:1.5:5.5 loop x := x + r; end for;", 13),
        ("while x < 20 loop x := 2*x + 1; end while;", 31),
        ("x := 5; if x > 4 then x := x + 1; elseif x > 3 then x := 0; else x := 1; end if;", 6),
        ("x := 3; x := x*x;", 9),
        ('for s in {"a", "b"} loop if s == "b" then x := 4; end if; end for;', 4),
        ("for b in Boolean loop x := if b then x + 2 else x + 1; end for;", 3),
        ("x := start; x := x - 1;", 6),
    ],
)
def test_a_section_gives_its_last_values(body: str, expected: float) -> None:
    text = f"model M Real x; constant Real start = 7; algorithm {body} end M;"
    assert values(text) == {"x": expected}


def test_parts_of_arrays_and_records_are_set() -> None:
    text = """model M record R Real a; Real b[2]; end R; R r; Real v[3];
    algorithm
      for i loop v[i] := 2*i; end for;
      r.a := v[3]; r.b[2] := r.a + 1; r.b[1] := 4; end M;"""
    assert values(text) == {"v[1]": 2, "v[2]": 4, "v[3]": 6, "r.a": 6, "r.b[1]": 4, "r.b[2]": 7}


def test_what_moves_makes_relations() -> None:
    system = system_of("model M Real x; algorithm x := 0; if time > 1 then x := time; end if; end M;")
    assert len(system.relations) == 1
    assert len(system.equations) == 1


def test_an_assertion_that_fails_is_an_error() -> None:
    with pytest.raises(ModelError, match="too much"):
        system_of('model M Real x; algorithm for i in 1:5 loop x := i; end for; assert(x < 4, "too much"); end M;')


def test_a_loop_whose_end_moves_is_checked() -> None:
    system = system_of("model M Real x; algorithm x := 0; while x < time loop x := x + 1; end while; end M;")
    assert any("more than" in check.message for check in system.checks)


@pytest.mark.parametrize(
    ("outputs", "body", "expected"),
    [
        ("Integer a; output Integer b;", "a := integer(u); b := 2;", {"n": 3.0, "k": 2.0}),
        ("Integer a[2]; output Integer b;", "a := {4, integer(u)}; b := 2;", {"n[1]": 4.0, "n[2]": 3.0, "k": 2.0}),
        ("Real a; output Boolean b;", "a := 2*u; b := u > 3;", {"n": 6.4, "k": 1.0}),
        ("Real a[2]; output Integer b;", "a := {u, 1}; b := 7;", {"n[1]": 3.2, "n[2]": 1.0, "k": 7.0}),
    ],
)
def test_several_outputs_of_which_some_change_at_events_only(
    outputs: str, body: str, expected: dict[str, float]
) -> None:
    """As an algorithm, alone and with something behind it, the same as an equation."""
    declared = outputs.replace(" a", " n").replace("output ", "").replace(" b;", " k;")
    function = f"function f input Real u; output {outputs} algorithm {body} end f;"
    for section in ("algorithm (n, k) := f(3.2);", "algorithm (n, k) := f(3.2); y := 2;", "equation (n, k) = f(3.2);"):
        y = " Real y;" if "y" in section.replace("algorithm", "") else ""
        result = pliant.load(f"model M {function} {declared}{y} {section} end M;", path=[]).simulate(stop=1)
        assert {name: result[name][-1] for name in expected} == expected
