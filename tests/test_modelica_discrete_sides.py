"""Equations between discrete variables: which side is determined, at the start too; `inner outer` components."""

from __future__ import annotations

import itertools

import pytest

import pliant
from pliant.errors import ModelError

DECLARED = "model M\n  Boolean a, b, c, d;\n  Integer k, n[2], m[2];\nequation\n  "
PIECES = ("a = b", "c = b", "d = c", "c = time > 0.5")


@pytest.mark.parametrize("order", list(itertools.permutations(range(4)))[::9])
@pytest.mark.parametrize("turned", [0, 5, 7])
def test_any_order_and_any_side(order: tuple[int, ...], turned: int) -> None:
    """Chains of equations reach every variable, whichever way round they are written."""
    lines = []
    for k in order:
        left, right = PIECES[k].split(" = ")
        lines.append(f"{right} = {left}" if turned >> k & 1 and k < 3 else PIECES[k])
    rest = ["k = n[1]", "n[1] = if a then 3 else 4", "n[2] = m[2]", "m[2] = 7", "m[1] = k"]
    text = DECLARED + ";\n  ".join([*lines, *rest]) + ";\nend M;\n"
    result = pliant.load(text).simulate(stop=1, points=5)
    late = [0, 0, 0, 1, 1] if result["c"][2] == 0 else [0, 0, 1, 1, 1]
    for name in "abcd":
        assert result[name].tolist() == late, name
    assert result["k"].tolist() == [3 if one else 4 for one in late]
    assert result["n[2]"][-1] == 7
    assert result["m[1]"].tolist() == result["k"].tolist()


def test_an_array_that_two_sides_determine_element_by_element() -> None:
    text = DECLARED + "a = false; b = a; c = a; d = a; k = 0; n[1] = 5; m[2] = 6; n = m;\nend M;\n"
    result = pliant.load(text).simulate(stop=1, points=3)
    assert [result[name][-1] for name in ("n[1]", "n[2]", "m[1]", "m[2]")] == [5, 6, 5, 6]


STEP = """model Step
  Boolean active, local, next;
initial equation
  active = {start};
equation
  active = local;
  local = pre(next);
  next = if time > 0.5 then not {start} else local;
end Step;
"""


@pytest.mark.parametrize("start", [True, False])
def test_an_initial_equation_for_what_follows_from_pre(start: bool) -> None:
    result = pliant.load(STEP.format(start=str(start).lower())).simulate(stop=1, points=3)
    assert result["active"][0] == start
    assert result["active"][-1] != start


INNER_OUTER = """package P
  model Root
    Real level;
    Real twice = 2*level;
  end Root;
  model Leaf
    outer Root root;
    Real seen = root.level;
  end Leaf;
  model Part
    inner outer Root root(level = 10*own + 100*root.level);
    Real above = root.twice;
    Real own = 1;
    Leaf leaf;
  end Part;
  model Top
    inner Root root(level = 3);
    Part part(own = 2);
    Leaf leaf;
  end Top;
end P;
"""


def test_inner_outer_means_the_outer_component_in_its_own_class() -> None:
    """What is inside of the component sees the inner one (5.4)."""
    result = pliant.load(INNER_OUTER, name="P.Top").simulate(stop=1, points=2)
    assert result["part.above"][-1] == 6
    assert result["part.leaf.seen"][-1] == 320
    assert result["leaf.seen"][-1] == 3


CALLS = """model M
  function f input Integer x; output Real y; output Integer n; output Boolean b;
  algorithm y := 2*x; n := 3*x; b := x > 2; end f;
  Integer k(start = 0, fixed = true), n, m[2], i;
  Real y, z[2], u;
  Boolean b;
equation
  when sample(0.2, 0.2) then k = pre(k) + 1; end when;
  (y, n, b) = f(k);
  for j in 1:2 loop (z[j], m[j]) = f(k + j); end for;
  if k > 2 then (u, i) = f(k); else (u, i) = f(-k); end if;
end M;"""


def test_outputs_of_which_some_change_at_events_only() -> None:
    result = pliant.load(CALLS).simulate(stop=0.95, points=2)
    names = ("y", "n", "b", "z[2]", "m[1]", "u", "i")
    assert [result[name][-1] for name in names] == [8, 12, 1, 12, 15, 8, 12]
    real = CALLS.replace("input Integer x;", "input Real x;").replace("n := 3*x", "n := integer(x)")
    with pytest.raises(pliant.ModelError, match="something discrete equals what may change"):
        pliant.load(real.replace("(y, n, b) = f(k)", "(y, n, b) = f(time)"))


VALUES = {"Real": "x", "Integer": "integer(x)", "Boolean": "x > 0", "Real[2]": "{x, x}", "R": "R(x)"}


@pytest.mark.parametrize("section", ["equation", "algorithm"])
@pytest.mark.parametrize("output", VALUES)
@pytest.mark.parametrize("target", ["Real", "Real[2]", "Real[3]", "R"])
def test_types_of_several_outputs(target: str, output: str, section: str) -> None:
    """Variables on the left of a call have the types of its outputs; an Integer is a Real, too."""
    text = f"""record R Real a; end R;
function f input Real x; output {output} n; output Real c; algorithm n := {VALUES[output]}; c := x; end f;
model M {target} s; Real c; {section} (s, c) {"=" if section == "equation" else ":="} f(time); end M;"""
    if target == output or (target, output) == ("Real", "Integer"):
        assert pliant.load(text).simulate(stop=1.0)["c"][-1] == 1.0
        return
    with pytest.raises(ModelError, match="output 1, `n`: both sides") as error:
        pliant.load(text)
    assert error.value.span is not None
    assert error.value.span.line == 3
