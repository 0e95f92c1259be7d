"""Strings that change during a run: in messages, comparisons, calls; what they are is in the family `texts`."""

from __future__ import annotations

import logging
import pickle
import re
from pathlib import Path

import pytest

import pliant
from pliant.texts import ChosenText, NumberText, OpenText, as_text, fits, joined, made, operands_of, rewritten

SAY = """
  impure function say
    input String s;
    external "C" say_(s) annotation(Include = "
#include \\"ModelicaUtilities.h\\"
static void say_(const char *s) { ModelicaFormatMessage(\\"%s\\\\n\\", s); }
");
  end say;
"""


def failure(text: str, **given: object) -> pliant.PliantError:
    """What a run ends with."""
    with pytest.raises(pliant.PliantError) as caught:
        pliant.load(text).simulate(stop=2, **given)  # type: ignore[arg-type]
    return caught.value


def message(text: str, **given: object) -> str:
    """The text of the assertion that ends a run."""
    error = failure(text, **given)
    assert isinstance(error, pliant.ModelEvaluationError)
    found = re.search(r"assertion failed: (.*) \(model\.mo:(\d+)\)$", error.message, re.DOTALL)
    assert found is not None, error.message
    assert error.span is not None
    assert error.span.line == int(found.group(2))
    return found.group(1)


def test_messages_have_the_values_of_their_time() -> None:
    text = """
model M
  parameter Real k = 2.5;
  Real x(start = 0, fixed = true), y = 2*x;
  Integer n(start = 0, fixed = true);
  Boolean b = x > 0.5;
  String s = if b then "high" else "low";
equation
  der(x) = k;
  when sample(0.1, 0.1) then n = pre(n) + 1; end when;
  assert(time < 1.25, "k = " + String(k) + ", n = " + String(n) + ", b = " + String(b) + ", s is " + s);
end M;
"""
    assert message(text) == "k = 2.5, n = 12, b = true, s is high"
    assert message(text, parameters={"k": 0.125}) == "k = 0.125, n = 12, b = false, s is low"


def test_messages_about_parameters() -> None:
    text = """
model M
  parameter Real k = 3, q = 2*k;
equation
  assert(k < 5, "k is " + String(k) + ", 2 k is " + String(q));
end M;
"""
    error = failure(text, parameters={"k": 6})
    assert "assertion failed: k is 6, 2 k is 12 (model.mo:5)" in error.message
    moving = text.replace("String(q)", "String(q*time)")  # of no time
    assert "assertion failed: k is 6, 2 k is … (model.mo:5)" in failure(moving, parameters={"k": 6}).message


def test_what_events_set() -> None:
    text = """
model M
  Real x(start = 0, fixed = true);
  String s(start = "off"), w, c[2](start = {"a", "b"});
  Boolean on = s == "on";
  Integer n(start = 0, fixed = true), changes(start = 0, fixed = true);
  Real y = if s == "on" then 1 else 0;
equation
  der(x) = 1;
  when x > 0.2 then s = "on"; elsewhen x > 0.6 then s = if pre(s) == "on" then "off" else "on"; end when;
  when x > 0.7 then w = "x = " + String(x, significantDigits = 3); elsewhen x > 0.9 then w = "late"; end when;
  when x > 0.35 then c[2] = "A" + String(x, format = ".3f"); c[1] = c[2] + s; end when;
  when s == "off" then n = pre(n) + 1; end when;
  when {change(s), change(w)} then changes = pre(changes) + 1; end when;
  when time > 1 then
    assert(false, s + "," + w + "," + c[1] + "," + c[n + 1] + String(on, 8, false) + String(n) + String(changes));
  end when;
end M;
"""
    assert message(text) == "off,late,A0.350on,A0.350   false14"


def test_records_functions_and_arrays() -> None:
    text = """
model M
  record R String name; Real v; end R;
  function describe
    input Real x;
    input String unit = "m";
    output String s;
  protected
    String t;
  algorithm
    t := if x > 0.5 then "high" else "low";
    s := t + " " + String(x, significantDigits = 3) + unit;
  end describe;
  function isHigh input String s; output Boolean b; algorithm b := s == "high"; end isHigh;
  function checked
    input Real x;
    output Real y;
  algorithm
    assert(x < 1.25, "not " + String(x, significantDigits = 2) + (if x > 0 then "!" else "?"));
    y := x;
  end checked;
  parameter String names[3] = {"one", "two", "three"};
  Real x(start = 0, fixed = true), y = if isHigh(r.name) then 1 else 0;
  R r(name = if x > 0.25 then "high" else "low", v = x), q;
  Integer i = 1 + integer(2*x);
equation
  der(x) = 1;
  q = r;
  when time > 0.7 then assert(not y > 0.5, describe(x) + "/" + describe(q.v, "cm") + q.name + names[i]); end when;
end M;
"""
    assert message(text) == "high 0.7m/high 0.7cmhightwo"
    checked = text.replace("when time > 0.7", "when checked(2*x) < 0")
    assert message(checked).startswith("`M.checked`: not ")  # at the end of some step


def test_algorithms_clocks_and_initial_equations() -> None:
    text = """
model M
  parameter Integer p = 3;
  Real x(start = 0, fixed = true);
  String s, t, c(start = "none"), a;
  Integer k(start = 0);
initial equation
  s = "begin " + String(p);
initial algorithm
  t := "t" + String(p);
algorithm
  a := "now";
  when x > 0.2 then
    a := "a";
    a := a + "b" + String(time, significantDigits = 2);
  end when;
equation
  der(x) = 1;
  when x > 0.5 then s = "later"; t = "later"; end when;
  when Clock(0.1) then
    k = previous(k) + 1;
    c = if k > 3 then "many " + String(k) else previous(c);
  end when;
  when x > 0.45 then assert(s == "later", s + t + "," + hold(c) + "," + a); end when;
end M;
"""
    assert message(text) == "begin 3t3,many 5,now"


def test_terminate() -> None:
    text = """
model M
  Real x(start = 0, fixed = true);
equation
  der(x) = 1;
  when x > 0.5 then terminate("x = " + String(x, significantDigits = 4)); end when;
end M;
"""
    result = pliant.load(text).simulate(stop=1)
    assert result.events[-1].message.startswith("terminated: x = 0.5 (")


def test_calls_for_what_they_do(caplog: pytest.LogCaptureFixture) -> None:
    """In order, once for each event, with the values that hold then."""
    text = f"""
model M
{SAY}
  function refuse input String s; algorithm assert(false, "refused: " + s); end refuse;
  impure function show input Real x; algorithm say("x = " + String(x)); say("shown"); end show;
  Real x(start = 0, fixed = true);
  parameter Integer most = 9;
  Integer n(start = 0, fixed = true);
  String s = if x > 0.65 then "high" else "low";
initial equation
  say("initial equation");
initial algorithm
  say("initial algorithm");
equation
  der(x) = 1;
  when sample(0.2, 0.2) then
    n = pre(n) + 1;
    say("n = " + String(n));
  end when;
  when initial() then say("begins, " + s); end when;
  when x > 0.85 then if n > most then refuse("n = " + String(n)); end if; end when;
algorithm
  when x > 0.5 then show(x); end when;
  when x > 0.7 then
    for i in 1:2 loop if i < n then say(s + String(i)); end if; end for;
  end when;
end M;
"""
    model = pliant.load(text)
    with caplog.at_level(logging.INFO, "pliant"):
        assert model.simulate(stop=0.9).final["n"] == 4
    said = [one.message for one in caplog.records if one.name == "pliant"]
    assert sorted(said[:3]) == ["begins, low", "initial algorithm", "initial equation"]
    assert said[3:] == ["n = 1", "n = 2", "x = 0.5", "shown", "n = 3", "high1", "high2", "n = 4"]
    with pytest.raises(pliant.ModelEvaluationError, match=r"`M\.refuse`: refused: n = 4"):
        model.simulate(stop=0.9, parameters={"most": 3})
    assert any(one.kind == "call" and one.message == "M.say" for one in model.structure.actions)
    with pytest.raises(pliant.NotSupportedError, match=r"external|`M.say` is called in a when-clause"):
        model.realtime(step=0.01, stop=0.5)


def test_texts_of_external_functions() -> None:
    text = """
model M
  function twice
    input String s;
    output String t;
    external "C" t = twice_(s) annotation(Include = "
#include \\"ModelicaUtilities.h\\"
#include <string.h>
static const char *twice_(const char *s) {
    char *t = ModelicaAllocateString(2*strlen(s));
    strcpy(t, s);
    return strcat(t, s);
}
");
  end twice;
  function length input String s; output Integer n; external "C" n = length_(s)
    annotation(Include = "#include <string.h>
static int length_(const char *s) { return (int)strlen(s); }"); end length;
  Real x(start = 0, fixed = true);
  String s = if x > 0.5 then "long" else "no";
  Integer n = length(twice(s));
equation
  der(x) = 1;
  when x > 0.75 then assert(twice(s) < "lola", twice(s) + twice(twice(String(n)))); end when;
end M;
"""
    assert message(text) == "longlong8888"


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ("String s(start=\"\"); equation when sample(0.1, 0.1) then s = pre(s) + \"x\"; end when;", "`s` is made of"),
        (
            "String s(start=\"\"), t(start=\"\"); equation when sample(0.1, 0.1) then s = pre(t) + \"x\";"
            "t = pre(s); end when;",
            "may grow without end",
        ),
        ("input String s; Real x = if s == \"on\" then 1 else 0;", "`s` is an input and a String"),
        ("String s; equation when time > 1 then s = String(time, format=\"%q\"); end when;", "no format"),
    ],
)  # fmt: skip
def test_refused(lines: str, why: str) -> None:
    with pytest.raises(pliant.PliantError, match=why):
        pliant.load(f"model M {lines} end M;").simulate(stop=1)


def test_exported(tmp_path: Path) -> None:
    text = """
model M
  Real x(start = 0, fixed = true);
  String s(start = "off");
equation
  der(x) = 1;
  when x > 0.25 then s = "on"; end when;
  when x > 0.5 then assert(false, "x = " + String(x, significantDigits = 4) + " while " + s); end when;
end M;
"""
    fmu = pliant.load(pliant.load(text).export_fmu(tmp_path / "m.fmu", kind="co-simulation"))
    with pytest.raises(pliant.PliantError, match=r"assertion failed: x = 0\.5 while on"):
        fmu.simulate(stop=1)


def test_texts_as_data() -> None:
    one, six = 1, 2
    x = OpenText(["x = ", NumberText("real", 5, 0, one, six)])
    text = joined("[", x, OpenText([ChosenText(7, "", x)]), "]")
    assert str(text) == "[x = ……]"
    assert operands_of(text) == [5, 0, 1, 2, 7, 5, 0, 1, 2]
    values = {0: 0.0, 1: 1.0, 2: 6.0, 5: 0.1, 7: 0.0}
    assert made(text, values.__getitem__) == "[x = 0.1x = 0.1]"
    assert text == pickle.loads(pickle.dumps(text)) == rewritten(text, lambda e: e)
    assert text != str(text)
    assert text != rewritten(text, lambda e: e + 1)
    assert fits(str(text), "[x = 0.1x = 0.1]")
    assert not fits(str(text), "(x = 0.1)")
    assert joined("a", "", "b") == "ab"


@pytest.mark.parametrize(
    ("form", "value", "text"),
    [
        ("x", -1, "ffffffff"),
        ("#o", 8, "010"),
        ("+d", 3, "+3"),
        ("6.2f", float("nan"), "   nan"),
        ("+u", 3, "3"),
        ("#x", 0, "0"),
        (".0d", 0, ""),
    ],
)
def test_formats_are_those_of_c(form: str, value: float, text: str) -> None:
    assert as_text(value, form=form) == text
