"""delay(expr, T) in written steps: rings of values, jumps that arrive, delays shorter than a step, start, limits."""

from __future__ import annotations

import math
import random
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from families.delayed_steps import exact
from support_rates import code_of, first_difference

import pliant
from pliant.realtime.sparsing.past import Moment, weights

STEPS = (
    "model M\n  parameter Real T = 1;\n  Real x(start = 1, fixed = true);\nequation\n  der(x) = -delay(x, T);\nend M;"
)
QUICK = {"certificate": False, "points": 16}


def last(text: str, step: float, order: int, stop: float = 3.0, **options: object) -> float:
    plan = pliant.load(text).realtime(step=step, stop=stop, order=order, options={**QUICK, **options})
    assert not [one.name for one in plan.evidence.items if one.name == "generated code" and not one.holds]
    return float(plan.simulate(stop=stop)["x"][-1])


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("delay", [0.5, 0.333, 0.012])
def test_order_of_the_error(order: int, delay: float) -> None:
    """Whatever share of a step the delay leaves, also where it is shorter than a step."""
    text = STEPS.replace("T = 1", f"T = {delay!r}")
    errors = [abs(last(text, h, order) - exact(3.0, delay)) for h in (0.05, 0.0125)]
    assert errors[1] < 1.6 * errors[0] / 4**order
    assert errors[1] < (0.03 if order == 1 else 6e-4)


def test_short_delays_take_part_in_the_jacobian() -> None:
    """Without the share of the value now the step of .1 s would be explicit, and grow by 900 a step."""
    text = "model M\n  Real x(start = 1, fixed = true);\nequation\n  der(x) = 1 - 1e4*delay(x, 1e-5);\nend M;"
    for order in (1, 2):
        options = {**QUICK, "reference": False}  # the answer is known; a reference takes 1e5 delays
        plan = pliant.load(text).realtime(step=0.1, stop=1.0, order=order, options=options)
        assert plan.simulate(stop=1.0)["x"][-1] == pytest.approx(1e-4, rel=1e-3)
        assert "share of the value now" in next(one.text for one in plan.evidence.items if one.name == "delays")


SIGNALS = """
model Signals
  parameter Real T = 0.3;
  input Real u(start = 0.25);
  Real x(start = 0, fixed = true);
  output Real a = delay(u, T), b = delay(u, 0.125), c = delay(s, 0.2), d = delay(a, 0.1), e = delay(time*time, 0.35);
  discrete Real s(start = 0, fixed = true);
  Integer n(start = 0, fixed = true);
equation
  der(x) = delay(u, 0.2);
  when sample(0.2, 0.4) then s = pre(s) + 1; end when;
  when a > 0.75 then n = pre(n) + 1; end when;
end Signals;
"""
INPUT = {"u": ([0.0, 1.0, 1.0, 2.0, 3.0], [0.0, 0.5, 1.0, 1.0, 0.0])}


@pytest.mark.parametrize("precision", ["double", "float"])
@pytest.mark.parametrize("order", [1, 2])
def test_lines_and_jumps_at_the_ends_of_steps_arrive_exactly(order: int, precision: str) -> None:
    plan = pliant.load(SIGNALS).realtime(
        step=0.05, stop=3.0, order=order, accuracy=None, scenarios=[{"inputs": INPUT}],
        options={**QUICK, "precision": precision, "reference": False},
    )  # fmt: skip
    run = plan.simulate(stop=3.0, inputs=INPUT)
    near = 1e-12 if precision == "double" else 1e-6

    def u(t: float) -> float:
        t = max(t, 0.0) + 1e-9
        return 0.5 * t if t < 1.0 else min(1.0, 3.0 - t)

    for name, delay in (("a", 0.3), ("d", 0.4)):
        np.testing.assert_allclose(run[name], [u(t - delay) for t in run.time], atol=near + 3e-9)
    # between the ends of steps: the line there
    wanted = [0.5 * (u(t - 0.15) + u(t - 0.1 - 2e-9)) for t in run.time]
    np.testing.assert_allclose(run["b"], wanted, atol=near + 3e-9)
    np.testing.assert_array_equal(run["c"], [max(0, math.floor((t - 0.2 - 0.2 + 1e-6) / 0.4) + 1) for t in run.time])
    np.testing.assert_array_equal(run["n"], run.time > 1.3 - 1e-6)
    late = np.maximum(run.time - 0.35, 0.0)
    np.testing.assert_allclose(run["e"], late**2, atol=10 * near)
    area = sum(0.5 * (u(t - 0.2) + u(t - 0.15 - 2e-9)) * 0.05 for t in run.time[:-1])
    assert run["x"][-1] == pytest.approx(area, abs=0.013 if order == 1 else 1e-3)


def test_written_folders_pass_their_tests(tmp_path: Path) -> None:
    text = SIGNALS.replace(
        "der(x) = delay(u, 0.2)", "der(x) = delay(u, 0.2) - x + 0.5*delay(x, 0.004) + delay(x*u, 0.61)"
    )
    for k, options in enumerate(({"monitor": "fallback"}, {"precision": "float", "form": "dae"})):
        plan = pliant.load(text).realtime(
            step=0.05, stop=3.0, accuracy=None, scenarios=[{"inputs": INPUT}], options={**QUICK, **options}
        )
        folder = plan.write(tmp_path / str(k))
        made = subprocess.run(["make", "-C", str(folder), "test"], capture_output=True, text=True, check=False)
        assert "all checks passed" in made.stdout, made.stdout + made.stderr
        assert "warning" not in made.stderr
        assert plan.code.operations["delays"].flops > 0
    assert "malloc" not in (folder / "Signals.c").read_text()


def test_the_step_cut_by_rates_has_delays() -> None:
    code = code_of(pliant.load(SIGNALS), 0.05, 3.0)
    assert code.rates
    shared = random.Random(1)
    rows = np.random.default_rng(2).uniform(0.0, 1.0, (60, 1))
    assert not first_difference(code, 60, lambda due: shared.sample(due, len(due)), rows.__getitem__)


def test_times_are_parameters_within_the_memory() -> None:
    model = pliant.load(STEPS)
    scenarios = [{"parameters": {"T": 0.4}}, {"parameters": {"T": 0.8}}]
    plan = model.realtime(step=0.05, stop=3.0, scenarios=scenarios, options=QUICK)
    assert plan.evidence.holds
    for delay in (0.4, 0.6, 0.97):
        run = plan.simulate(stop=3.0, parameters={"T": delay})
        wanted = [exact(t, delay) for t in run.time]
        assert np.abs(run["x"] - wanted).max() < 0.06
    for delay in (1.1, 0.01):
        with pytest.raises(pliant.ModelEvaluationError, match=r"delay\(x, \.\.\.\).*longer than planned for"):
            plan.simulate(stop=3.0, parameters={"T": delay})


def test_before_the_start_the_value_at_the_start_holds() -> None:
    """Also where it follows from itself, and from other start values."""
    text = """
model Begin
  parameter Real g = 3;
  Real x(start = 2, fixed = true), y, z;
equation
  der(x) = -x;
  y = 0.5*delay(y, 0.3) + g;
  z = delay(x + y, 0.2);
end Begin;
"""
    plan = pliant.load(text).realtime(step=0.1, stop=1.0, judged=["x", "y"], options=QUICK)
    run = plan.simulate(stop=1.0)
    np.testing.assert_allclose(run["y"], 6.0, rtol=1e-12)
    assert run["z"][0] == pytest.approx(8.0)
    other = plan.simulate(stop=1.0, start_values={"x": 5.0}, parameters={"g": 4.0})
    assert (other["y"][0], other["z"][0], other["z"][2]) == pytest.approx((8.0, 13.0, 13.0))


@pytest.mark.parametrize("steps", [0.0, 0.2, 0.5, 0.7, 1.0, 1.3, 1.5, 2.0, 100.0, 100.25])
def test_weights_read_a_line_exactly(steps: float) -> None:
    """Of v = t every moment gives t - T, and the derivative by the value now is what it says."""
    for moment, ahead in ((Moment.AHEAD, 1.0), (Moment.AT, 0.0), (Moment.BEGIN, 0.0), (Moment.MIDDLE, 0.5)):
        w = weights(steps, moment)
        value = w.left * -w.back + w.right * -w.back - w.slope + w.now * ahead
        assert value == pytest.approx(ahead - steps, abs=1e-12)


def test_what_is_refused() -> None:
    with pytest.raises(pliant.NotSupportedError, match=r"delay\(x, \.\.\.\) delays changes"):
        pliant.load(STEPS.replace("delay(x, T)", "delay(x, 0.1 + 0.05*x, 1)")).realtime(step=0.05, stop=1.0)
    with pytest.raises(pliant.NotSupportedError, match=re.escape("delay(x, ...) reaches back over 1e+08 steps")):
        pliant.load(STEPS.replace("T = 1", "T = 1e5")).realtime(step=1e-3, stop=0.1)
    pipe = """
model P
  Real x(start = 0, fixed = true), v = 1, a, b;
equation
  der(x) = v;
  (a, b) = spatialDistribution(time, 0, x, v >= 0);
end P;
"""
    with pytest.raises(pliant.NotSupportedError, match="spatialDistribution"):
        pliant.load(pipe).realtime(step=0.05, stop=1.0)
