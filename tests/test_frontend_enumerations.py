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


def test_a_number_that_leaves_the_values() -> None:
    model = pliant.load(f"model M {E} Integer i = 1 + integer(3.5*time); E e = E(i); end M;")
    with pytest.raises(pliant.PliantError, match=r"the number of a value of `M\.E` is outside"):
        model.simulate(stop=1.0)
