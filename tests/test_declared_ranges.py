"""Values that a model gives its own parameters and inputs, against the ranges that it declares for them."""

from __future__ import annotations

import pandas as pd
import pytest
from support_modelica import model_of

import pliant

X = "  Real x(start = 0, fixed = true);\nequation\n  der(x) = p;"


@pytest.mark.parametrize(
    ("declaration", "words", "hint"),
    [
        ("parameter Real p(min = 2) = 0;", "the parameter p is 0, but it has min = 2 (model.mo:2)", "parameters={'p'"),
        ("parameter Integer p(max = 2) = 3;", "the parameter p is 3, but it has max = 2", "parameters={'p'"),
        ("constant Real p(min = 2) = 0;", "the parameter p is 0, but it has min = 2", "declare a value"),
        ("parameter Real a = 1; parameter Real p(max = 2) = 3*a;", "the parameter p is 3, but", "change what it"),
        ("parameter Real a = 1; parameter Real p(max = a) = 3;", "the parameter p is 3, but it has max = 1", "'p'"),
    ],
)
def test_declared_values_outside_of_their_range(declaration: str, words: str, hint: str) -> None:
    model = model_of(f"  {declaration}\n{X}")
    for run in (lambda: model.simulate(stop=1), model.steady_state, model.linearize):
        with pytest.raises(pliant.ModelError) as caught:
            run()
        assert words in str(caught.value)
        assert hint in str(caught.value.hint)


def test_values_that_are_given_count_instead() -> None:
    model = model_of(f"  parameter Real a = 1;\n  parameter Real b(min = 2) = 0;\n  Real p = a + b;\n{X}")
    assert model.simulate(stop=1, parameters={"b": 2}).final["x"] == pytest.approx(3)
    with pytest.raises(pliant.ModelError, match="the parameter b is 0"):
        model.simulate(stop=1, parameters={"a": 2})


def test_what_follows_from_given_values() -> None:
    model = model_of(f"  parameter Real a = 1;\n  parameter Real p(max = 5) = 2*a;\n{X}")
    assert model.simulate(stop=1, parameters={"a": 2.5}).final["x"] == pytest.approx(5)
    with pytest.raises(pliant.ModelError, match="the parameter p is 6, but it has max = 5"):
        model.simulate(stop=1, parameters={"a": 3})


def test_rounding_is_not_outside() -> None:
    model = model_of(f"  parameter Real a = 0.1;\n  parameter Real p(max = 0.3) = 3*a;\n{X}")
    assert model.simulate(stop=1).final["x"] == pytest.approx(0.3)


def test_inputs_that_are_not_given() -> None:
    model = model_of(f"  input Real p(min = 2);\n{X}")
    with pytest.raises(pliant.ArgumentError, match=r"input p cannot be 0: it has min = 2 .* no value is given"):
        model.simulate(stop=1)
    assert model.simulate(stop=1, inputs={"p": 2}).final["x"] == pytest.approx(2)


KINDS = """
type E = enumeration(a, b);
model M
  Boolean b(start = false, fixed = true);
  E e(start = E.a, fixed = true);
equation
  when time > 0.5 then b = true; e = E.b; end when;
end M;
"""


@pytest.mark.parametrize("given", [{"b": 5}, {"b": -1}, {"e": 0}, {"e": 3}])
def test_start_values_that_a_type_does_not_have(given: dict[str, float]) -> None:
    with pytest.raises(pliant.ArgumentError, match=r"the start value of (b|e) cannot be -?\d: it is of type"):
        pliant.load(KINDS).simulate(stop=1, start_values=given)


def test_many_runs() -> None:
    """What cases give counts; a case that leaves a value outside of its range is a failure in its place."""
    model = model_of(f"  parameter Real a(min = 2) = 0;\n  parameter Real p(max = 5) = 2*a;\n{X}")
    given = [{"parameters": {"a": a}} for a in (2.0, 2.5, 3.0)]
    study = model.simulate_many([*given, {}], stop=1, workers=1)
    assert [study[k].final["x"] for k in (0, 1)] == pytest.approx([4, 5])
    assert set(study.failures) == {2, 3}
    assert "the parameter p is 6, but it has max = 5" in str(study.failures[2])
    assert "the parameter a is 0, but it has min = 2" in str(study.failures[3])
    table = model.simulate_many(pd.DataFrame({"a": [2.0, 2.5, 3.0]}), stop=1, workers=1, keep="final")
    assert set(table.failures) == {2}
