"""What a user reads who has made a mistake: place, rule, words, one thing to try; for each model of broken.txt."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import pliant

TEXT = (Path(__file__).parent / "models" / "broken.txt").read_text(encoding="utf-8")
CASES = re.findall(r"=== (\d+):(\d+) \[(.*?)\] (.*)\n=== try: (.*)\n((?:(?!===).*\n)+)", TEXT)


@pytest.mark.parametrize(("line", "column", "rule", "words", "hint", "text"), CASES, ids=[one[3] for one in CASES])
def test_messages(line: str, column: str, rule: str, words: str, hint: str, text: str) -> None:
    with pytest.raises(pliant.ModelError) as caught:
        pliant.load(text, path=[])
    error = caught.value
    assert error.span is not None
    assert (error.span.line, error.span.column) == (int(line), int(column))
    assert error.rule == (rule or None)
    assert words in error.message
    assert error.hint == hint


def test_nothing_was_left_out() -> None:
    assert len(CASES) == TEXT.count("=== try:")


def test_what_was_not_closed() -> None:
    """Several faults at once, each with its place and one thing to try."""
    with pytest.raises(pliant.ModelicaSyntaxError) as caught:
        pliant.load("model M\n  Real x\n  Real y;\nequation\n  x = (1 + 2;\n  y = 3;\nend M;\n")
    assert [(one.span.line, one.span.column) for one in caught.value.faults if one.span] == [(2, 8), (5, 13)]
    assert all(one.hint for one in caught.value.faults)


def test_too_few_equations_are_narrowed_down() -> None:
    """Counts say that one is missing; a matching says for which variables."""
    body = "  Real a, b, c, d;\nequation\n  a = time;\n  b + c + d = a;\n  b - c = 1;\n"
    with pytest.raises(pliant.ModelError) as caught:
        pliant.load(f"model M\n{body}end M;\n")
    said = str(caught.value)
    assert "3 equations for 4 unknowns" in said
    assert "2 equations must determine all of these: `d` (model.mo:2), `c` (model.mo:2), `b` (model.mo:2)" in said
    assert "model.mo:5: b + c + d = a" in said
    assert "a = time" not in said


def test_too_many_equations_are_narrowed_down() -> None:
    body = "  Real x(start = 1, fixed = true), y, z;\nequation\n  der(x) = -x;\n  y = 2;\n  z = y + x;\n  y = 3;\n"
    with pytest.raises(pliant.ModelError) as caught:
        pliant.load(f"model M\n{body}end M;\n")
    said = str(caught.value)
    assert "2 equations about `y` (model.mo:2)" in said
    assert "model.mo:5: y = 2" in said
    assert "model.mo:7: y = 3" in said
    assert "z = y" not in said


def test_instances_are_named() -> None:
    text = """
model R
  parameter Real R;
  Real v = R*time;
end R;
model Leg
  R r(R = length);
end Leg;
model M
  Leg legs[2];
end M;
"""
    with pytest.raises(
        pliant.ModelError, match=r"model.mo:7:11: `length` is not declared .*in the instance `legs\[1\]`"
    ):
        pliant.load(text)
    with pytest.raises(pliant.ModelError, match=r"the parameter legs\[1\].r.R \(model.mo:3\) has no value") as caught:
        pliant.load(text.replace("(R = length)", ""))
    assert caught.value.span is not None
    assert caught.value.rule == "4.4.4"


@pytest.mark.parametrize("name", ["transition", "initialState", "activeState"])
def test_state_machines_are_refused_by_name(name: str) -> None:
    with pytest.raises(pliant.NotSupportedError, match=rf"state machines \(chapter 17\).*`{name}`"):
        pliant.load(f"model M\n  block S\n  end S;\n  S s;\nequation\n  {name}(s);\nend M;\n")


def test_terminate_outside_of_when() -> None:
    text = 'model M\n  Real x = time;\nequation\n  if time > 0.5 then terminate("x"); end if;\nend M;\n'
    assert pliant.load(text).simulate(stop=1).time[-1] == pytest.approx(0.5)
    now = 'model M\n  Real x = time;\nequation\n  terminate("x");\nend M;\n'
    assert pliant.load(now).simulate(stop=1).time[-1] == 0
