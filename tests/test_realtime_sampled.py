"""Loops that samplers close, in search and evidence: radii by hand, flags, a pattern that would spoil one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pliant
from pliant.realtime.report.data import Extras
from pliant.realtime.report.page import render_report
from pliant.realtime.sparsing.sampled import ClockSteps, common_period, turns
from pliant.realtime.stages import exact

PLANT = """
model Loop
  parameter Real K = {K};
  Real x(start = 1, fixed = true);
  discrete Real u(start = 0, fixed = true);
  discrete Real n(start = 0, fixed = true) "a counter";
equation
  der(x) = -x + u;
  when sample(0, {T}) then
    u = {law};
    n = pre(n) + 1;
  end when;
end Loop;
"""
TWO = """
model Two
  Real x1(start = 1, fixed = true), x2(start = 0, fixed = true);
  discrete Real u(start = 0, fixed = true);
equation
  der(x1) = -4*x1 + 8*x2;
  der(x2) = x1 - 6*x2 + u;
  when sample(0, 0.1) then
    u = -20*x1 - 10*x2;
  end when;
end Two;
"""


def plan_of(text: str, step: float, stop: float, **more: Any) -> pliant.Plan:
    options = {"certificate": False, "reference": False, **more.pop("options", {})}
    return pliant.load(text).realtime(step=step, stop=stop, accuracy=None, options=options, **more)


def gain(K: float, T: float, law: str = "-K*x") -> str:
    return PLANT.format(K=K, T=T, law=law)


def test_the_radius_of_a_first_order_loop() -> None:
    plan = plan_of(gain(3.0, 0.1), 0.01, 2.0)
    e = plan.evidence
    held = 1.0 / 1.01**10  # ten steps of the linearly implicit Euler method
    assert e.loop_radius_exact == pytest.approx(abs(held - 3.0 * (1.0 - held)), abs=1e-7)
    assert e.holds
    assert e.loop_margin == 1.0
    assert "loops through samplers" in plan.summary
    assert "loop_radius" in plan.as_dict()["evidence"]
    assert "loops through samplers" in render_report(plan, Extras())
    items = {one.name: one for one in e.items}
    assert items["sampled loops"].holds
    assert items["sampled loops of the compiled step"].holds
    assert "1 points" not in items["sampled loops of the compiled step"].text
    assert any("quantised" in one for one in e.not_checked)


@pytest.mark.parametrize("precision", ["double", "float"])
def test_a_loop_that_only_sampling_makes_unstable_is_flagged(precision: str) -> None:
    plan = plan_of(gain(30.0, 0.1), 0.01, 1.0, options={"precision": precision})
    assert not plan.evidence.holds
    assert "sampled loops" in plan.evidence.failing
    item = next(one for one in plan.evidence.items if one.name == "sampled loops")
    assert "grows by" in item.text
    assert "the plant alone does not" in item.text
    fast = plan_of(gain(30.0, 0.02), 0.01, 1.0)
    assert not [one for one in fast.evidence.failing if "sampled" in one]


def test_a_limit_on_the_input_stops_the_growth_and_the_flag_stays() -> None:
    plan = plan_of(gain(30.0, 0.1, "max(-90, min(90, -K*x))"), 0.01, 3.0)
    assert "sampled loops" in plan.evidence.failing


def test_the_search_refuses_what_would_spoil_a_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    def radius(plan: pliant.Plan) -> float:
        A = np.array([[-4.0, 8.0], [1.0, -6.0]])
        J = np.where(np.isnan(plan.frozen), np.where(plan.mask, A, 0.0), plan.frozen)
        B = np.linalg.inv(np.eye(2) - 0.1 * J)
        closed = np.eye(2) + 0.1 * B @ A - 0.1 * np.outer(B[:, 1], [20.0, 10.0])
        return float(np.abs(np.linalg.eigvals(closed)).max())

    plan = plan_of(TWO, 0.1, 4.0, tolerance=1e6, options={"freeze": False})
    assert radius(plan) < 0.6
    assert plan.evidence.holds
    monkeypatch.setattr(exact, "with_sampled_loops", lambda points, *_: points)
    careless = plan_of(TWO, 0.1, 4.0, tolerance=1e6, options={"freeze": False})
    assert radius(careless) > 0.9
    assert careless.evidence.loop_radius is None


def test_a_loop_that_never_leaves_its_limits_is_not_judged() -> None:
    """From limit to limit: each period by itself is that of the plant alone, which is stable."""
    plan = plan_of(gain(30.0, 0.1, "max(-0.3, min(0.3, -K*x))"), 0.01, 3.0)
    item = next(one for one in plan.evidence.items if one.name == "sampled loops")
    assert item.holds is None
    assert "24 of them the controller sits in a limit" in item.text
    assert "not judged" in item.text
    assert any("whether the sampled loop is stable" in one for one in plan.evidence.not_checked)
    free = plan_of(gain(3.0, 0.1, "max(-90, min(90, -K*x))"), 0.01, 2.0)
    assert next(one for one in free.evidence.items if one.name == "sampled loops").holds


def test_what_is_quantised_is_told() -> None:
    plan = plan_of(gain(3.0, 0.1, "-K*floor(x*1000)/1000"), 0.01, 2.0)
    item = next(one for one in plan.evidence.items if one.name == "sampled loops")
    assert item.holds
    assert "not smooth" in item.text


def test_two_rates_with_an_offset() -> None:
    clocks = {0: ClockSteps(2, 4), 1: ClockSteps(3, 6)}
    assert common_period(clocks) == 12
    both = frozenset({0, 1})
    assert turns(clocks, 0) == [
        (2, frozenset({0})),
        (1, frozenset({1})),
        (3, frozenset({0})),
        (3, frozenset({1})) if not clocks[0].ticks(9) else (3, both),
        (1, frozenset({0})),
        (2, frozenset()),
    ]
    assert sum(steps for steps, _ in turns(clocks, 5)) == 12


def test_without_clocks_or_with_a_long_period_nothing_is_said() -> None:
    plain = plan_of("model M Real x(start = 1); equation der(x) = -x; end M;", 0.1, 1.0)
    assert plain.evidence.loop_radius is None
    assert "samplers" not in plain.summary
    text = (
        gain(3.0, 0.1)
        .replace("n = pre(n) + 1;", "")
        .replace("end Loop", "  when sample(0, 0.07) then n = pre(n) - x; end when;\nend Loop")
    )
    item = next(one for one in plan_of(text, 0.01, 0.6).evidence.items if one.name == "sampled loops")
    assert item.holds is None
    assert "longer than the scenarios" in item.text
    assert plan_of(text, 0.01, 2.0).evidence.loop_radius is not None


def test_slow_growth_that_no_run_shows_is_told_but_does_not_fail() -> None:
    slow = gain(-1.02, 0.1)  # x grows by 2 % in a second, the runs have two
    plan = plan_of(slow, 0.01, 2.0)
    item = next(one for one in plan.evidence.items if one.name == "sampled loops")
    assert item.holds is None
    assert "so slightly" in item.text
    longer = plan_of(slow, 0.01, 30.0)
    assert "sampled loops" in longer.evidence.failing


UNSTABLE = """
model Un
  parameter Real K = {K};
  Real x(start = 0.1, fixed = true);
  discrete Real u(start = 0, fixed = true);
equation
  der(x) = 2*x + u;
  when sample(0, 0.1) then
    u = -K*x;
  end when;
end Un;
"""


def test_a_growing_plant_must_be_held_by_its_loop() -> None:
    held = plan_of(UNSTABLE.format(K=10), 0.01, 1.0)
    assert (held.evidence.loop_radius or 2.0) < 1.0
    assert held.evidence.holds
    grows = plan_of(UNSTABLE.format(K=20.5), 0.01, 1.0)
    assert "sampled loops" in grows.evidence.failing
    short = plan_of(UNSTABLE.format(K=28), 0.01, 0.1)  # a single period
    assert "sampled loops" in short.evidence.failing


def test_growth_that_the_sampler_does_not_touch_is_the_plants_own() -> None:
    text = UNSTABLE.format(K=2).replace("u = -K*x", "u = 0.5*pre(u)")
    found = plan_of(text, 0.01, 0.3).evidence
    assert not [name for name in found.failing if "sampled" in name]


def test_where_the_loop_is_the_cause_the_step_is_not_blamed() -> None:
    with pytest.raises(pliant.NonFiniteError, match="does not hold the plant") as found:
        plan_of(UNSTABLE.format(K=28), 0.01, 3.0)
    assert "gain" in (found.value.hint or "")
    slow = UNSTABLE.format(K=4).replace("start = 0.1", "start = 0").replace("u = -K*x", "u = -10*(x - time)")
    assert plan_of(slow, 0.01, 3.0).evidence.loop_radius  # the run grows, the loop holds
