"""Values that a model gives its own parameters and inputs, against the ranges that it declares for them."""

from __future__ import annotations

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
