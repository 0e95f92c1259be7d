"""Faults of models that are found before anything is simulated: subscripts, ranges, what clocks forbid."""

from __future__ import annotations

import logging

import pytest

from pliant.errors import ModelError
from pliant.frontend.reading import read_flat
from pliant.frontend.scalar.scalarize import scalarize

LIBRARY = "package Modelica model Some end Some; end Modelica;"
OBJECT = """
  class O
    extends ExternalObject;
    function constructor input Real k; output O o; external "C" o = made(k); end constructor;
  end O;
  O o = O(1);
"""


@pytest.mark.parametrize(
    ("body", "words", "rule"),
    [
        ("Real v[2], x = v[true]; equation v = {1, 2};", "`true` is a Boolean, the dimension is counted", "10.5"),
        ("type E = enumeration(a, b); Real v[2], x = v[E.a]; equation v = {1, 2};", "counted by Integers", "10.5"),
        ("Integer n = 3000000000;", "3000000000 is no Integer", "2.4.2"),
        ("parameter Integer n = 100000*100000; Real x = n*time;", "10000000000 is no Integer", "2.4.2"),
        ("Real x(min = 0, max = -1) = time;", "min = 0 of `x` is above its max = -1", "4.9.1"),
        ("Real a(start = 0); equation when Clock(0.1) then a = pre(a) + 1; end when;", "there is no `pre`", "16"),
        ("import Modelica.Foo.Bar; Real x = time;", "`Modelica.Foo` cannot be imported", "13.2.1"),
        (
            "function f input Real x; output Real y; protected Real z; algorithm y := x + z; end f; Real x = f(time);",
            "`z` of the function `M.f` is read, and nothing sets it",
            "12.4.4",
        ),
        (OBJECT, "`M.O` has no destructor", "12.9.7"),
    ],
)
def test_refused(body: str, words: str, rule: str) -> None:
    with pytest.raises(ModelError, match=words) as caught:
        scalarize(read_flat(f"model M {body} end M;\n{LIBRARY}", "M", []), fold_parameters=False)
    assert caught.value.rule == rule
    assert caught.value.span is not None


def test_large_numbers_are_reals_where_reals_are_wanted() -> None:
    body = "parameter Real E = 210000000000; Real v[Boolean] = {1, 2}, x = v[true] + E, n(nominal = 0) = time;"
    system = scalarize(read_flat(f"model M {body} end M;", None, []), fold_parameters=False)
    assert any("nominal = 0 of `n` is ignored" in note for note in system.notes)


def test_parameters_in_the_data_of_a_matrix_decide_no_size() -> None:
    text = "model M parameter Real p = 2; parameter Real table[:, :] = [0, -p; 1, p]; Real x = table[2, 2]*time; end M;"
    system = scalarize(read_flat(text, None, []), fold_parameters=False)
    assert "p" not in system.fixed_parameters


def test_an_import_from_a_library_that_is_not_there_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="pliant"):
        read_flat("model M import Foo.Bar; Real x = time; end M;", None, [])
    assert "`Foo.Bar` is imported, and the library is not there" in caplog.text
