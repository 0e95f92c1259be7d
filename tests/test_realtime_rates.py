"""The step cut by rates: names, order, what belongs to which clock, and bit for bit the step."""

from __future__ import annotations

import random

import numpy as np
import pytest
from support_rates import code_of, first_difference
from test_realtime_rules import MODELS

import pliant
from pliant.realtime.code.rates import rate_name

CROSSED = """
model Crossed
  Real x(start = 0, fixed = true);
  discrete Real f(start = 0, fixed = true), s(start = 1, fixed = true), p(start = 0, fixed = true);
  discrete Real q(start = 0, fixed = true), both(start = 0, fixed = true), late(start = 0, fixed = true);
  Boolean fast = sample(0, 0.02), slow = sample(0, 0.05), offset = sample(0.01, 0.02);
equation
  der(x) = f + q - x;
  when fast then
    f = s - x + 0.1*pre(p);
    q = pre(f);
  end when;
  when slow then
    s = pre(s) + 0.1*(1 - x);
    p = f + pre(q);
  end when;
  when {fast, slow} then
    both = pre(both) + 1;
  end when;
  when offset then
    late = x;
  end when;
end Crossed;
"""


def test_names() -> None:
    for seconds, name in (
        (1e-4, "10kHz"),
        (1e-3, "1kHz"),
        (0.04, "25Hz"),
        (0.3, "300ms"),
        (3e-7, "300ns"),
        (60.0, "60s"),
    ):
        assert rate_name(seconds) == name


@pytest.mark.parametrize("options", [{}, {"precision": "float"}, {"order": 2}, {"event_rounds": 3}], ids=str)
def test_clocks_that_read_each_other(options: dict[str, object]) -> None:
    code = code_of(pliant.load(CROSSED), 0.01, 1.0, **options)
    owner = {code.memories[k]: rate.name for rate in code.rates for k in rate.members}
    assert {owner[one] for one in ("f", "q")} == {"50Hz"}
    assert {owner[one] for one in ("s", "p")} == {"20Hz"}
    assert owner["late"] == "50Hz_from_10ms"
    assert "both" not in owner
    chance = random.Random(0)
    assert first_difference(code, 100, lambda due: chance.sample(due, len(due))) == ""


def test_events_that_no_clock_drives_and_inputs() -> None:
    code = code_of(pliant.load(MODELS["rates"]), 0.02, 1.0)
    assert [rate.name for rate in code.rates] == ["25Hz", "5Hz"]
    assert first_difference(code, 200, lambda due: due, lambda k: np.array([np.sin(0.1 * k)])) == ""


def test_what_is_forgotten_is_told_and_changes_nothing() -> None:
    code = code_of(pliant.load(MODELS["rates"]), 0.02, 1.0)
    told = first_difference(code, 200, lambda due: [])
    assert told
    assert "missed" not in told


def test_the_header_names_what_a_function_computes() -> None:
    code = code_of(pliant.load(MODELS["rates"]), 0.02, 1.0)
    assert (
        f"void {code.name}_tick_25Hz({code.name} *m, const {code.name}_inputs *u); /* every 2 steps: a */"
        in code.header
    )


def test_without_a_slower_clock_there_is_one_function() -> None:
    code = code_of(pliant.load(MODELS["events"]), 0.1, 1.0)
    assert code.rates == ()
    assert "_due" not in code.header
    assert code_of(pliant.load(MODELS["linear"]), 0.02, 1.0).rates == ()
