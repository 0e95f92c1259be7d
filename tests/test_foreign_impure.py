"""Impure functions: called once for each time that their text is reached, one after the other (specification 12.3)."""

from __future__ import annotations

import pytest

import pliant
from pliant.errors import ModelError

COUNTER = """
  impure function count "How often it has been called"
    output Real n;
    external "C" n = NAME() annotation(Include="static double NAME_n; double NAME(void) { return ++NAME_n; }");
  end count;
"""
UNMARKED = """
  function g input Real x; output Real y; algorithm y := x + count(); end g;
  function h input Real x; output Real y; algorithm y := 10*g(x); end h;
"""


def model(body: str, name: str) -> str:
    """A model with a counter of its own."""
    return f"model M {COUNTER.replace('NAME', name)} {body} end M;"


def test_called_at_every_event_at_which_the_clause_is_active() -> None:
    text = model(
        """
  impure function three "They are called in order, also in loops"
    output Real y;
  algorithm
    y := 0;
    for i in 1:3 loop y := 10*y + count(); end for;
  end three;
  discrete Real a(start=0, fixed=true), b(start=0, fixed=true), c(start=0, fixed=true), d(start=0, fixed=true);
equation
  when sample(0.5, 1) then a = three(); end when; // at 0.5, 1.5
algorithm
  when sample(0.75, 1) then // at 0.75, 1.75
    if time > 1 then b := count(); end if;
    c := count();
    d := count();
  end when;
""",
        "at_events",
    )
    result = pliant.load(text).simulate(stop=2.0)
    assert set(result["a"]) == {0.0, 123.0, 678.0}
    assert set(result["b"]) == {0.0, 9.0}
    assert set(result["c"]) == {0.0, 4.0, 10.0}
    assert set(result["d"]) == {0.0, 5.0, 11.0}


def test_called_at_every_tick() -> None:
    text = model("Real y, z; equation when Clock(0.1) then y = count(); z = y + 1; end when;", "at_ticks")
    assert pliant.load(text).simulate(stop=0.95).final["z"] == 11.0


def test_called_for_parameters_resets_and_pure() -> None:
    text = model(
        UNMARKED
        + """
  parameter Real p = h(0), q = count();
  Real sum = p + q, x(start=0, fixed=true), y = pure(count())*time;
  discrete Real d(start=0, fixed=true);
equation
  der(x) = 1;
  when x > 0.5 then reinit(x, count()); end when;
  when sample(0.3, 1) then d = h(1); end when;
""",
        "elsewhere",
    )
    final = pliant.load(text).simulate(stop=1.0).final
    assert final["sum"] == 12.0
    assert final["y"] == 3.0
    assert final["d"] == 50.0
    assert final["x"] == pytest.approx(5.5)


@pytest.mark.parametrize("body", ["Real y = g(time);", "Real y = h(time);", "Real y; algorithm y := h(time);"])
def test_functions_that_call_impure_ones_are_as_impure(body: str) -> None:
    with pytest.raises(ModelError, match="calls an impure function and cannot be called here") as caught:
        pliant.load(model(UNMARKED + body, "unmarked"))
    assert caught.value.rule == "12.3"
