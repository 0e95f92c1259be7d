"""Values of enumerations made of Integers, E(i) (Modelica specification 3.6, section 4.9.5.3)."""

from __future__ import annotations

import pytest

import pliant
from pliant.errors import ModelError

E = "type E = enumeration(a, b, c); "


def test_values_of_variables() -> None:
    text = f"""model M {E}
  function f input Integer i; output E e; algorithm e := E(i); end f;
  Integer i = integer(4*time);
  E e = if i < 1 then E.a elseif i <= 3 then E(i) else E.b, g = f(min(i, 2) + 1);
  E next(start = E.a, fixed = true);
  parameter Integer p = 2;
  parameter E known = E(p);
  Integer numbers[3] = {{Integer(e), Integer(g), Integer(next)*Integer(known)}};
equation
  when sample(0.1, 0.2) then
    next = if pre(next) == E.c then E.a else E(Integer(pre(next)) + 1);
  end when;
end M;"""
    final = pliant.load(text).simulate(stop=0.8).final
    assert [final[f"numbers[{k}]"] for k in (1, 2, 3)] == [3.0, 3.0, 4.0]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("parameter E e = E(4);", r"4 is no number of a value of `E`, which has 3"),
        ("E e = E(time);", "is made of an Integer, not of a Real"),
        ("parameter E e = E(1.0);", r"`E\(...\)` needs an Integer"),
    ],
)
def test_what_is_no_value(body: str, words: str) -> None:
    with pytest.raises(ModelError, match=words):
        pliant.load(f"model M {E} {body} end M;")


LEAVES = {
    "always": ("Integer i = 1 + integer(3.5*time); E e = E(i);", 6 / 7),
    "when": ("Integer i(start = 0, fixed = true); E e(start = E.a, fixed = true);"
             "equation when sample(0.2, 0.2) then i = pre(i) + 1; e = E(i); end when;", 0.8),
    "elsewhen": ("Integer i(start = 0, fixed = true); E e(start = E.a, fixed = true);"
                 "equation when time > 2 then e = E.b; i = 0; elsewhen sample(0.2, 0.2) then i = pre(i) + 1; e = E(i);"
                 "end when;", 0.8),
    "when of an algorithm": ("Integer i(start = 0, fixed = true); E e(start = E.a, fixed = true);"
                             "algorithm when sample(0.2, 0.2) then i := i + 1; e := E(i); end when;", 0.8),
    "section": ("Integer i(start = 0, fixed = true); E e(start = E.a, fixed = true); Integer k; algorithm k := 0;"
                "if i < 5 then k := 1; end if; when sample(0.2, 0.2) then i := i + 1; if k > 0 then e := E(i); end if;"
                "end when;", 0.8),
    "clock": ("Integer i(start = 0); E e; equation when Clock(1, 5) then i = previous(i) + 1; e = E(i); end when;",
              0.6),
    "inferred clock": ("Integer i(start = 0) = previous(i) + 1; E e = if interval(i) > 0 then E(i) else E.a;"
                       "Real s = sample(time, Clock(1, 5)); Integer n = if s >= 0 then i else 0;", 0.6),
    "function": ("function f input Real u; output Real y; protected E e; algorithm e := E(integer(u));"
                 "y := Integer(e); end f; Real y = f(1 + 3.5*time);", None),
    "large function": ("function f input Real u; output Real y; protected E e; Integer k; algorithm y := 0; k := 0;"
                       "while k < integer(u) loop k := k + 1; e := E(k); y := y + Integer(e)*sin(y); end while; end f;"
                       "Real y = f(1 + 3.5*time);", None),
    "reinit": ("Real x(start = 0, fixed = true); Integer i(start = 0, fixed = true); equation der(x) = 1;"
               "when sample(0.2, 0.2) then i = pre(i) + 1; reinit(x, Integer(E(i))); end when;", 0.8),
}  # fmt: skip


@pytest.mark.parametrize("name", LEAVES)
def test_a_number_that_leaves_the_values(name: str) -> None:
    text, time = LEAVES[name]
    with pytest.raises(pliant.ModelEvaluationError) as caught:
        pliant.load(f"model M {E} {text} end M;").simulate(stop=1.0)
    message = str(caught.value)
    told = "" if name == "large function" else ": it is 4"  # of one turn of a loop
    assert f"the number of a value of `M.E` is outside of 1 to 3{told} (model.mo:1)" in message
    assert time is None or caught.value.time == pytest.approx(time, abs=2e-3)


def test_a_number_outside_that_is_not_reached() -> None:
    text = f"""model M {E}
  Integer i(start = 0, fixed = true);
  E e(start = E.a, fixed = true);
equation
  when sample(0.1, 0.1) then
    i = pre(i) + 1;
    e = if i <= 3 then E(i) else E.b;
  end when;
end M;"""
    assert pliant.load(text).simulate(stop=1.0).final["e"] == 2.0
