"""Discrete parts of a real-time step: against the linearly implicit Euler method of the solver, and by hand."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

import pliant
from pliant.errors import NotSupportedError
from pliant.ir import Clock
from pliant.realtime.code.events import steps_to_tick
from pliant.realtime.code.instructions import count_instructions
from pliant.realtime.stages.step import drive

FULL = {"search": "full"}

FRICTION = """
model Friction
  parameter Real Fs = 3, Fc = 2;
  Real x(start = 0, fixed = true), v(start = 0, fixed = true), s(start = 0, fixed = true);
  Integer mode(start = 0, fixed = true) "0 sticks";
equation
  der(x) = v;
  der(v) = 400*(s - x) - (if mode == 0 then 200*v else Fc*mode + v);
  der(s) = cos(3*time);
  when {pre(mode) == 0 and v > Fs/200, pre(mode) == 0 and v < -Fs/200, pre(mode)*v < 0} then
    mode = if pre(mode) == 0 then (if v > 0 then 1 else -1) else 0;
  end when;
end Friction;
"""

RECTIFIER = """
model Rectifier
  Real i(start = 0, fixed = true), v(start = 0, fixed = true);
  Real u1, u2, s1, s2, vx, i1, i2;
  Boolean off1, off2;
equation
  off1 = s1 < 0; off2 = s2 < 0;
  u1 = s1*(if off1 then 1 else 1e-3); i1 = s1*(if off1 then 1e-4 else 1);
  u2 = s2*(if off2 then 1 else 1e-3); i2 = s2*(if off2 then 1e-4 else 1);
  1e-3*der(i) = 10*sin(314*time) - i - vx;
  i = i1 - i2; u1 = vx - v; u2 = -vx;
  1e-3*der(v) = i1 - v/20;
end Rectifier;
"""

THERMOSTAT = """
model Thermostat
  Real T(start = 20, fixed = true), h(start = 20, fixed = true);
  discrete Boolean on(start = true, fixed = true);
  Integer n(start = 0, fixed = true);
  output Boolean hot = T > 21;
equation
  der(T) = h - T; 0.01*der(h) = (if on then 30 else 15) - h;
  when sample(0, 0.05) then
    on = if pre(on) then T < 22 else T < 20;
  end when;
  when not on then
    n = pre(n) + 1;
  end when;
end Thermostat;
"""

SAMPLED = """
model Sampled
  parameter Real k = 2;
  Real x(start = 0, fixed = true), v(start = 0, fixed = true), w(start = 0, fixed = true);
  discrete Real u(start = 0, fixed = true), i(start = 0, fixed = true), slow(start = 0, fixed = true);
  Integer n(start = 0, fixed = true);
  input Real load(start = 0);
  output Real y = x;
  Real held = slow;
equation
  der(x) = v; der(v) = -100*x - 20*v + 100*w - load; der(w) = 500*(u - w);
  when sample(0, 0.01) then
    i = pre(i) + 0.01*k*(1 - x);
    u = i + k*(1 - x) - held;
  end when;
  when sample(0.025, 0.05) then
    slow = 0.1*x + 0.5*pre(slow);
  end when;
  when x > 0.5 then
    n = pre(n) + 1;
  end when;
end Sampled;
"""

BALL = """
model Ball
  Real h(start = 1, fixed = true), v(start = 0, fixed = true);
  Real T(start = 20, fixed = true);
  Boolean on(start = false, fixed = true);
  Integer n(start = 0, fixed = true), level;
equation
  der(h) = v; der(v) = -9.81;
  when h <= 0 then
    reinit(v, -0.8*pre(v));
    n = pre(n) + 1;
  end when;
  on = not pre(on) and T < 19 or pre(on) and T <= 21;
  der(T) = if on then 5 else -2;
  level = integer(T);
end Ball;
"""


@pytest.fixture(scope="module")
def sampled() -> pliant.Model:
    return pliant.load(SAMPLED)


def compare(model: pliant.Model, names: list[str], stop: float, step: float, **more: object) -> pliant.Result:
    """The generated step with all entries against the solver's own method."""
    plan = model.realtime(step=step, stop=stop, options=FULL, scenarios=[more] if more else None)
    run = plan.simulate(stop=stop, **more)  # type: ignore[arg-type]
    count = round(stop / step)
    exact = model.simulate(stop, method="lieuler", step=step, points=count + 1, **more)  # type: ignore[arg-type]
    for name in names:
        np.testing.assert_allclose(run[name], exact[name], atol=1e-9, err_msg=name)
    return run


def test_sampled_controllers(sampled: pliant.Model) -> None:
    """Two rates with an offset, a counter on a relation: as the solver's events."""
    run = compare(sampled, ["x", "v", "w", "u", "i", "slow", "n"], 1.0, 1e-3)
    assert run["n"][-1] == 1.0
    assert len(set(run["u"])) == 101
    changes = np.flatnonzero(np.diff(run["slow"])) + 1
    assert list(changes[:3]) == [25, 75, 125]


def test_by_hand() -> None:
    """x+ = (x + h u)/(1 + h), u = 1 - x every third step, from the first on."""
    text = (
        "model M\n  Real x(start = 0.5, fixed = true); discrete Real u(start = 0, fixed = true);\nequation\n"
        "  der(x) = u - x;\n  when sample(0, 0.03) then\n    u = 1 - x;\n  end when;\nend M;\n"
    )
    run = pliant.load(text).realtime(step=0.01, stop=0.3, options=FULL).simulate(stop=0.3)
    x, u = 0.5, 0.5
    for k in range(30):
        assert run["x"][k] == pytest.approx(x, abs=1e-12)
        assert run["u"][k] == pytest.approx(u, abs=1e-12)
        x = (x + 0.01 * u) / 1.01
        if (k + 1) % 3 == 0:
            u = 1 - x


def test_reinit_hysteresis_and_integer() -> None:
    """Bounces flip v within the step; at the ends of steps the thermostat switches, the whole degrees are counted."""
    model = pliant.load(BALL)
    plan = model.realtime(step=1e-3, stop=2.0, options=FULL)
    assert any("events that reset v" in one for one in plan.evidence.not_checked)
    run = plan.simulate(stop=2.0)
    h, v, bounces, below = 1.0, 0.0, 0, False
    temperature, on = 20.0, False
    for k in range(2001):
        assert run["h"][k] == pytest.approx(h, abs=1e-9)
        assert run["v"][k] == pytest.approx(v, abs=1e-9)
        assert run["n"][k] == bounces
        assert run["T"][k] == pytest.approx(temperature, abs=1e-9)
        assert run["on"][k] == on
        assert run["level"][k] == np.floor(run["T"][k])
        before = h, v
        h, v = h + 1e-3 * (v - 1e-3 * 9.81), v - 1e-3 * 9.81
        if h <= 0 and not below:  # where h became 0: there v is set, and the rest of the step goes on from there
            share, bounces = -h / (before[0] - h), bounces + 1
            there = v - share * (v - before[1])
            v += -0.8 * there - there
            h += share * 1e-3 * (-0.8 * there - there)
        below = h <= 0
        temperature += 1e-3 * (5 if on else -2)
        on = (not on and temperature < 19) or (on and temperature <= 21)
    assert bounces == 3


BOUNCES = """
model Ball
  parameter Real e = 0.8, h0 = 1;
  Real h(start = h0, fixed = true), v(start = 0, fixed = true);
equation
  der(h) = v;
  der(v) = -9.81;
  when h < 0 then
    reinit(v, -e*pre(v));
  end when;
end Ball;
"""


@pytest.mark.parametrize("order", [1, 2])
def test_impacts_do_not_add_up(order: int) -> None:
    """Order 2 follows them; of order 1 the flights between them are late, and the monitor says so."""
    ranges = {"parameters": {"h0": (0.5, 1.5)}, "start_values": {"v": (-1.0, 1.0)}}
    seen = pliant.Scenarios(ranges, 4, seed=0, stop=0.9)
    plan = pliant.load(BOUNCES).realtime(
        step=1e-3, stop=0.9, order=order, scenarios=seen, options={"certificate": False}
    )
    assert plan.evidence.holds
    found = plan.challenge(40)
    assert not found.missed
    assert not found.false_alarms
    failed = [one for one in found.rows if one.failed]
    assert bool(failed) == (order == 1)
    if order == 2:
        assert max(one.error for one in found.rows) < 1e-4


def test_resets_within_the_step_in_other_forms() -> None:
    """Two conditions, a stiff state that follows what is reset, a loop, an input: the step of the analysis."""
    text = """
model Two
  input Real u(start = 0);
  Real h(start = 0.3, fixed = true), v(start = 0, fixed = true), w(start = 0, fixed = true), y;
  Integer n(start = 0, fixed = true);
equation
  der(h) = v;
  der(v) = -9.81 - 0.3*v*abs(v) + u;
  0.0001*der(w) = v - w;
  y + 0.1*sin(y) = v;
  when {h <= 0 and v < 0, h > 0.4} then
    reinit(v, -0.7*v + 0.01*y);
    n = pre(n) + 1;
  end when;
end Two;
"""
    given = [{"inputs": {"u": ([0.0, 0.5, 0.5, 1.0], [0.0, 1.0, 20.0, 20.0])}}]
    for order, precision, form in ((1, "double", "ode"), (2, "float", "dae"), (2, "double", "ode")):
        plan = pliant.load(text).realtime(
            step=2e-3, stop=1.0, order=order, scenarios=given, accuracy=None,
            options={"certificate": False, "precision": precision, "form": form},
        )  # fmt: skip
        line = next(one for one in plan.evidence.items if one.name == "generated code")
        assert line.holds, line.text
        run = plan.simulate(stop=1.0, inputs=given[0]["inputs"])
        exact = pliant.load(text).simulate(stop=1.0, points=run.time, rtol=1e-8, inputs=given[0]["inputs"])
        assert run["n"][-1] == exact["n"][-1] == 2
        assert np.abs(run["h"] - exact["h"]).max() < (0.03 if order == 1 else 2e-3)


def test_sparsed_float_and_order_two(sampled: pliant.Model) -> None:
    reference = sampled.simulate(1.0, rtol=1e-9, points=1001)
    plan = sampled.realtime(step=1e-3, stop=1.0)
    assert plan.entries < 6
    assert any("sampled" in one for one in plan.evidence.not_checked)
    assert plan.code.operations["events"].total > 0
    for name in ("x", "u"):
        assert np.abs(plan.simulate(stop=1.0)[name] - reference[name]).max() < 0.03
    small = sampled.realtime(step=1e-3, stop=1.0, options={**FULL, "precision": "float"}).simulate(stop=1.0)
    assert np.abs(small["x"] - reference["x"]).max() < 0.01
    second = sampled.realtime(step=1e-3, stop=1.0, order=2, options=FULL).simulate(stop=1.0)
    assert np.abs(second["x"] - reference["x"]).max() < 2e-4


def test_written_step_passes_its_own_test(sampled: pliant.Model, tmp_path: Path) -> None:
    plan = sampled.realtime(step=1e-3, stop=0.5, options={"monitor": "fallback"})
    plan.write(tmp_path / "out")
    done = subprocess.run(["make", "test"], cwd=tmp_path / "out", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    readme = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert "Discrete variables: `u`, `i`, `slow`, `n`." in readme
    assert "| 10 | 0.01 | 0 |" in readme
    assert "| 50 | 0.05 | 25 |" in readme
    assert "| sampled parts and events |" in readme


def test_rounds_of_an_event() -> None:
    """Sticking and leaving again at once takes two rounds of one event: the code finds out and has both."""
    model = pliant.load(FRICTION)
    late = model.realtime(step=2e-3, stop=4.0, options={**FULL, "event_rounds": 1})
    assert late.code.options.event_rounds == 1
    assert any("discrete variables differ" in one.text for one in late.evidence.items)
    plan = model.realtime(step=2e-3, stop=4.0, options=FULL)
    assert plan.code.options.event_rounds == 2
    assert plan.evidence.holds
    assert any("2 rounds of events" in one.text for one in plan.evidence.items)
    assert plan.code.operations["events"].total == 2 * late.code.operations["events"].total
    run = plan.simulate(stop=4.0)
    assert {-1.0, 1.0} <= set(run["mode"])


@pytest.mark.usefixtures("optimized")
@pytest.mark.parametrize("order", [1, 2])
def test_switches_inside_a_loop(order: int) -> None:
    """Two ideal diodes that decide about each other: passes before the step settle them, at constant cost."""
    model = pliant.load(RECTIFIER)
    late = model.realtime(step=1e-4, stop=0.04, order=order, accuracy=0.1, options={**FULL, "relation_passes": 0})
    assert not late.evidence.holds
    plan = model.realtime(step=1e-4, stop=0.04, order=order, accuracy=0.1, options=FULL)
    assert plan.code.relations
    assert plan.code.options.relation_passes in (1, 2)
    assert plan.evidence.holds, plan.evidence.short
    assert any("switches inside loops settled" in one.text for one in plan.evidence.items)
    run = drive(plan.code, plan.outcome.model, plan.outcome.request.scenarios[0])
    run.stepper.start_at(run.start)
    assert len(set(count_instructions(run.stepper, None, None, 400, every=7))) == 1
    assert plan.code.operations["step"].total > late.code.operations["step"].total


def test_clocks_tick_in_the_first_round_only(sampled: pliant.Model) -> None:
    one, two = (
        sampled.realtime(step=1e-3, stop=0.2, options={**FULL, "event_rounds": rounds}).simulate(stop=0.2)
        for rounds in (1, 2)
    )
    for name in ("x", "u", "i", "slow", "n"):
        np.testing.assert_array_equal(one[name], two[name], err_msg=name)


@pytest.mark.usefixtures("optimized")
def test_constant_work_with_boolean_variables() -> None:
    """A comparison that becomes a real number must not become a branch."""
    plan = pliant.load(THERMOSTAT).realtime(step=0.01, stop=4.0, options=FULL)
    assert plan.simulate(stop=4.0)["n"][-1] >= 2
    run = drive(plan.code, plan.outcome.model, plan.outcome.request.scenarios[0])
    run.stepper.start_at(run.start)
    assert len(set(count_instructions(run.stepper, None, None, 400, every=7))) == 1


def test_a_reset_in_the_last_step() -> None:
    """The analysis ends after the event of the last step, as the code does."""
    text = (
        "model M\n  Real x(start = 0, fixed = true), y(start = 1, fixed = true);\nequation\n"
        "  der(x) = 1; der(y) = -50*y;\n"
        "  when sample(0.1, 0.1) then\n    reinit(x, 0);\n  end when;\nend M;\n"
    )
    plan = pliant.load(text).realtime(step=0.01, stop=0.5, options=FULL)
    assert plan.simulate(stop=0.5)["x"][-1] == 0.0
    assert plan.evidence.holds, plan.evidence.short


def test_another_start_must_meet_the_clocks(sampled: pliant.Model) -> None:
    plan = sampled.realtime(step=1e-3, stop=0.1, options=FULL)
    with pytest.raises(NotSupportedError, match=r"begin at t = 0.0004"):
        plan.simulate(start=0.0004, stop=0.1)
    assert np.flatnonzero(np.diff(plan.simulate(start=0.004, stop=0.1)["u"]))[0] == 5


def test_the_other_precision_has_the_same_rounds() -> None:
    plan = pliant.load(FRICTION).realtime(step=2e-3, stop=4.0, options=FULL)
    run, small = plan.simulate(stop=4.0), plan.simulate(stop=4.0, precision="float")
    assert np.abs(run["v"] - small["v"]).max() < 0.01 * np.ptp(run["v"])


def test_inputs_and_another_start(sampled: pliant.Model) -> None:
    compare(sampled, ["x", "u", "slow"], 0.5, 1e-3, inputs={"load": 5.0}, parameters={"k": 1.5})


def test_steps_to_the_next_tick() -> None:
    clock = Clock(0, 0.025, 1, 20)
    assert steps_to_tick(clock, 1e-3, 0.0) == 25
    assert steps_to_tick(clock, 1e-3, 0.025) == 0  # at the start itself
    assert steps_to_tick(clock, 1e-3, 0.1) == 25
    assert steps_to_tick(Clock(0, 0.0, 1, 100), 1e-3, 0.004) == 6


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("when sample(0, 0.0015) then d = x; end when;", r"every 0.0015 s.*steps of 0.001 s"),
        ("when sample(0.0005, 0.001) then d = x; end when;", r"from t = 0.0005"),
        ('when x > 2 then d = 1; terminate("done"); end when;', "terminate"),
        ('when x > 2 then d = 1; assert(false, "bad"); end when;', "assert"),
    ],
)
def test_events_that_a_step_cannot_express(line: str, words: str) -> None:
    head = "model M\n  Real x(start = 1, fixed = true); discrete Real d(start = 0);\nequation\n  der(x) = d;\n"
    text = f"{head}  {line}\nend M;\n"
    with pytest.raises(NotSupportedError, match=words) as caught:
        pliant.load(text).realtime(step=1e-3, stop=1.0)
    assert "model.mo:5" in str(caught.value)
    assert caught.value.hint


@pytest.mark.parametrize(
    "text",
    [
        "discrete Real d(start = 1, fixed = true); equation when sample(0, 0.1) then d = 2*pre(d) - d/4; end when;",
        "Real x(start = 0, fixed = true); discrete Real d(start = 1, fixed = true);"
        " equation der(x) = 1; when x > 0.105 then d = 2 + pre(d) - d/4; end when;",
    ],
    ids=["stateless", "state"],
)
def test_discrete_variables_that_differ_fail_the_verdict(text: str) -> None:
    """A variable that depends on itself has a few rounds only: the step gives another value, the evidence says so."""
    plan = pliant.load(f"model M {text} end M;").realtime(step=0.01, stop=0.3)
    assert not plan.evidence.holds
    assert "first d at t = 0." in str(plan.evidence)
    assert "needs pre(...)" in str(plan.evidence)


JUMPS = """model Jumps
  Real x(start = 0, fixed = true);
  Real y;
  Real tri;
  Boolean on;
  discrete Real d(start = -1, fixed = true);
equation
  der(x) = y;
  y = if time >= 0.33 then 1 else 0;
  tri = abs(time - 0.66);
  on = tri >= 0.33;
  when {not on, time >= 0.45} then
    d = time;
  end when;
end Jumps;
"""


@pytest.mark.parametrize("order", [1, 2])
def test_what_time_changes_on_the_end_of_a_step_does_not_depend_on_rounding(order: int) -> None:
    """11 * 0.03 < 0.33 < 33 * 0.01: the step up to the jump uses the value before it, everything else the one after."""
    model = pliant.load(JUMPS)
    for step in (0.01, 0.03, 0.11):
        run = model.realtime(step=step, stop=0.99, order=order, options={"search": "full"}).simulate(stop=0.99)
        k = round(0.33 / step)
        np.testing.assert_array_equal(run["y"], np.arange(len(run.time)) >= k)
        np.testing.assert_allclose(run["x"], step * np.maximum(np.arange(len(run.time)) - k, 0), atol=1e-12)
        assert run["d"][k - 1] == -1.0
        assert run["d"][k] == pytest.approx(0.33, abs=1e-9 * step)


def test_rounds_after_initial() -> None:
    """A condition that holds with initial() has not risen, one of the next round has; then clocks tick."""
    model = pliant.load(
        """model Start
  Integer i(start = 0, fixed = true);
  Integer n(start = 0, fixed = true);
  Integer m(start = 0, fixed = true);
  Integer k(start = 0, fixed = true);
equation
  when initial() then
    i = pre(i) - 2;
  end when;
  when i < 0 then
    n = pre(n) + 1;
  end when;
  when pre(i) < 0 then
    m = pre(m) + 1;
  end when;
  when sample(0, 0.25) then
    k = pre(k) + m;
  end when;
end Start;
"""
    )
    plan = model.realtime(step=0.25, stop=1.0, options={"search": "full"}).simulate(stop=1.0)
    run = model.simulate(stop=1.0, points=5)
    for name in ("i", "n", "m", "k"):
        np.testing.assert_array_equal(plan[name], run[name])
    assert (plan["n"][-1], plan["m"][-1], plan["k"][-1]) == (0, 1, 5)
