"""Scenarios drawn from ranges, and plans challenged with them."""

from __future__ import annotations

import copy
import csv
import errno
import json
import os
import pickle
from pathlib import Path

import numpy as np
import pytest
from support_cli import CliRunner

import pliant
from pliant.cli import app
from pliant.errors import ArgumentError, SimulationInterrupted, UnknownNameError
from pliant.realtime.challenge.found import Challenge
from pliant.solve.signals.kinds import Declared, TableSignal

TANKS = """
model Tanks
  input Real u(start = 1, min = 0, max = 10);
  parameter Real k(min = 0.1) = 1;
  Real a(start = 1, fixed = true), b(start = 0, fixed = true);
equation
  der(a) = -1000*(a - b) + u;
  der(b) = 1000*(a - b) - k*b*abs(b);
end Tanks;
"""
LAG = """
model Lag
  input Real u(start = 0);
  parameter Real gain = 1;
  Real x(start = 0, fixed = true), y(start = 0, fixed = true);
equation
  der(x) = -x + u;
  der(y) = gain*x - y;
end Lag;
"""
DIODE = """
model Diode
  input Real vs;
  Real v(start = 0, fixed = true), i, s, vd;
  Boolean off(start = true);
equation
  off = s < 0;
  vd = s*(if off then 1 else 1e-3);
  i = s*(if off then 1e-5 else 1);
  vs = 0.1*i + vd + v;
  1e-3*der(v) = i - v/10;
end Diode;
"""
SUM = """
model Sum
  input Real u;
  input Boolean reset;
  discrete Real sum(start = 0, fixed = true);
  Real x(start = 0, fixed = true);
equation
  when reset then
    sum = 0;
  elsewhen sample(0, 0.05) then
    sum = pre(sum) + 0.05*u;
  end when;
  der(x) = sum - 20*x;
end Sum;
"""


@pytest.fixture(scope="module")
def tanks() -> pliant.Plan:
    given = [{"inputs": {"u": ([0, 1, 1, 3], [1, 1, 4, 2])}}, {"parameters": {"k": 2.0}, "inputs": {"u": 2.5}}]
    return pliant.load(TANKS).realtime(step=0.05, stop=3.0, scenarios=given)


@pytest.mark.parametrize("kind", ["constant", "step", "ramp", "multisine"])
@pytest.mark.parametrize("declared", [Declared(), Declared(held=True), Declared("integer", held=True)])
def test_drawn_inputs_stay_in_their_ranges(kind: str, declared: Declared) -> None:
    ranges = {"inputs": {"u": {"kind": kind, "range": (-2.0, 3.0)}}}
    drawn, again = (pliant.Scenarios(ranges, 20, seed=4, stop=7.0) for _ in range(2))
    means = set()
    for one, other in zip(drawn, again, strict=True):
        signal, same = (two.inputs["u"].typed("u", declared, 7.0) for two in (one, other))
        values = np.array([signal.at(t) for t in np.linspace(0.0, 7.0, 301)])
        assert values.min() >= -2.0
        assert values.max() <= 3.0
        assert np.array_equal(values, [same.at(t) for t in np.linspace(0.0, 7.0, 301)])
        assert declared.type == "real" or np.array_equal(values, np.round(values))
        means.add(round(float(values.mean()), 6))
        if isinstance(signal, TableSignal):
            assert signal.held == declared.held
    assert len(means) > 4
    moving = [len({one.inputs["u"].typed("u", declared, 7.0).at(t) for t in (0.0, 3.5, 7.0)}) > 1 for one in drawn]
    assert any(moving) == (kind != "constant")


def test_parameters_meet_every_part_of_their_range() -> None:
    drawn = pliant.Scenarios({"parameters": {"a": (0.0, 10.0), "b": 3.0}, "start_values": {"x": (1, 2)}}, 50, seed=2)
    a = np.array([one.parameters["a"] for one in drawn])
    assert sorted(np.floor(a * 5).astype(int)) == list(range(50))
    assert {one.parameters["b"] for one in drawn} == {3.0}
    assert all(1.0 <= one.start_values["x"] <= 2.0 for one in drawn)
    assert drawn[-1].parameters == drawn[49].parameters
    assert len(drawn[3:6]) == 3
    assert pickle.loads(pickle.dumps(drawn))[7].parameters == drawn[7].parameters


def test_files_are_played_from_a_random_place(tmp_path: Path) -> None:
    t = np.linspace(0.0, 100.0, 1001)
    np.savetxt(tmp_path / "wind.csv", np.column_stack([t, t]), delimiter=",", header="time,u", comments="")
    given = {"kind": "file", "file": str(tmp_path / "wind.csv")}
    starts = [
        one.inputs["u"].typed("u", Declared(), 10.0).at(0.0)
        for one in pliant.Scenarios({"inputs": {"u": given}}, 10, stop=10.0)
    ]
    assert len(set(starts)) == 10
    assert min(starts) >= 0.0
    assert max(starts) <= 90.0
    scaled = pliant.Scenarios({"inputs": {"u": {**given, "range": (2.0, 3.0)}}}, 5, stop=10.0)
    for one in scaled:
        signal = one.inputs["u"].typed("u", Declared(), 10.0)
        assert 2.0 <= signal.at(0.0) <= signal.at(10.0) <= 3.0


def test_scenarios_are_scenarios_of_a_plan_too() -> None:
    drawn = pliant.Scenarios({"inputs": {"u": (0.0, 5.0)}, "parameters": {"gain": (0.5, 2.0)}}, 4)
    plan = pliant.load(LAG).realtime(step=0.02, stop=4.0, scenarios=drawn)
    assert [one.name for one in plan.outcome.request.scenarios] == [f"seed 0, {k}" for k in range(1, 5)]
    low, high = next((low, high) for name, low, high in plan.evidence.ranges if name == "u")
    assert 0.0 <= low < high <= 5.0


def test_a_challenge_agrees_with_runs_of_its_own(tanks: pliant.Plan) -> None:
    """Errors are those of plan.simulate against simulate; rows name what was flagged, and all of it repeats."""
    found = tanks.challenge(24, seed=3, workers=1)
    assert len(found.rows) == 24
    assert not found.unsolvable
    assert not found.missed
    assert 0 < sum(one.covered for one in found.rows) < 24
    model = pliant.load(TANKS)
    for row in found.rows[::6]:
        s = row.scenario
        given = {"inputs": s.inputs, "parameters": s.parameters, "start_values": s.start_values, "stop": s.stop}
        fast = tanks.simulate(**given)
        exact = model.simulate(rtol=1e-9, points=fast.time, outputs=[row.name], **given)
        scale = row.error and np.abs(fast[row.name] - exact[row.name]).max()
        assert row.error <= scale / tanks.outcome.judge.scale.min() + 1e-6
        assert bool(fast.flags.any()) == row.flagged
    again = tanks.challenge(24, seed=3, workers=2)
    assert [(one.error, one.flags, one.covered) for one in again.rows] == [
        (one.error, one.flags, one.covered) for one in found.rows
    ]
    assert "24 unseen scenarios" in str(found)


def test_scenarios_inside_the_planned_ranges_are_covered() -> None:
    """A few samples do not meet the ends of the ranges that they are drawn from, and runs differ from accurate ones."""
    ranges = {"parameters": {"gain": (0.5, 2.0)}, "start_values": {"x": (0.5, 1.0), "y": (-1.0, 1.0)}}
    plan = pliant.load(LAG).realtime(step=0.02, stop=2.0, scenarios=pliant.Scenarios(ranges, 12))
    met = plan.outcome.request.scenarios
    assert max(one.parameters["gain"] for one in met) < 2.0
    found = plan.challenge(scenarios=pliant.Scenarios(ranges, 20, seed=5), workers=1)
    assert any(one.scenario.parameters["gain"] > max(two.parameters["gain"] for two in met) for one in found.rows)
    assert all(one.covered and not one.flagged for one in found.rows)
    far = plan.challenge(scenarios=[{"parameters": {"gain": 4.0}}, {"start_values": {"y": 5.0}}], workers=1)
    assert all(one.flagged and not one.covered for one in far.rows)


def test_what_leaves_the_accuracy_is_found(tanks: pliant.Plan) -> None:
    """A plan made for slow inputs, without its ranges: fast inputs of the same size are missed, and named."""
    slow = {"inputs": {"u": ([0.0, 5.0, 20.0], [0.0, 1.0, -1.0])}}
    open_range = {"u": (-99.0, 99.0), "x": (-99.0, 99.0), "y": (-99.0, 99.0)}
    options = {"limits": {"ranges": open_range, "error": 1e9, "dropped": 1e9}, "search": "full"}
    plan = pliant.load(LAG).realtime(step=0.5, stop=20.0, scenarios=[slow], accuracy=0.005, options=options)
    ranges = {"inputs": {"u": {"kind": "step", "range": (-1.0, 1.0)}}}
    found = plan.challenge(scenarios=pliant.Scenarios(ranges, 20), workers=1)
    assert found.missed
    assert found.holds == plan.evidence.holds == ("does not hold" not in str(found))
    assert found.missed[0].failed
    assert not found.missed[0].flagged
    assert found.missed[0].error == max(one.error for one in found.rows)
    assert "MISSED" in str(found)
    assert found.missed[0].scenario.name in str(found)


def test_worst_cases_run_again(tanks: pliant.Plan, tmp_path: Path) -> None:
    drawn = pliant.Scenarios({"inputs": {"u": (0.0, 9.9)}, "parameters": {"k": (0.2, 9.0)}}, 12)
    found = tanks.challenge(scenarios=drawn, workers=1)
    folder = found.save(tmp_path / "found", worst=3)
    rows = list(csv.DictReader((folder / "rows.csv").read_text().splitlines()))
    assert len(rows) == 12
    assert rows[0]["scenario"] == "seed 0, 1"
    cases = json.loads((folder / "worst.json").read_text())
    worst = max((one for one in found.rows), key=lambda one: (one.failed and not one.flagged, one.failed, one.ratio))
    again = tanks.challenge(scenarios=cases[:1], workers=1)
    assert again.rows[0].error == pytest.approx(worst.error, rel=1e-9)
    with pytest.raises(ArgumentError, match="exists"):
        found.save(folder)
    assert pickle.loads(pickle.dumps(found)).as_dict() == found.as_dict()
    found.plot(tmp_path / "errors.png")
    assert (tmp_path / "errors.png").stat().st_size > 5000


def test_scenarios_that_cannot_be_simulated_are_kept_apart() -> None:
    text = """
model Pole
  parameter Real a = 1;
  Real x(start = 0, fixed = true);
equation
  der(x) = sqrt(a) - x;
end Pole;
"""
    plan = pliant.load(text).realtime(step=0.1, stop=1.0)
    found = plan.challenge(scenarios=[{"parameters": {"a": -1.0}, "name": "bad"}, {"parameters": {"a": 1.0}}])
    assert [one.scenario.name for one in found.unsolvable] == ["bad"]
    assert "a" in (found.unsolvable[0].reason or "")
    assert found.rows[1].reason is None
    assert not found.rows[1].failed
    assert "not solvable" in str(found)


def test_ctrl_c_keeps_what_is_done(tanks: pliant.Plan) -> None:
    def stop(progress: pliant.StudyProgress) -> None:
        if progress.done == 5:
            raise KeyboardInterrupt

    with pytest.raises(SimulationInterrupted, match="after 5 of 30") as caught:
        tanks.challenge(30, workers=1, progress=stop)
    assert isinstance(caught.value.result, Challenge)
    assert len(caught.value.result) == 5


WRONG = [
    ({"inputs": {"u": (3.0, 1.0)}}, "empty"),
    ({"inputs": {"u": (0.0, float("nan"))}}, "not a range"),
    ({"inputs": {"u": "abc"}}, "not a range"),
    ({"inputs": {"u": {"kind": "sine", "range": (0, 1)}}}, "no kind 'sine'"),
    ({"inputs": {"u": {"kind": "step"}}}, "no range"),
    ({"inputs": {"u": {"kind": "multisine", "range": (0, 1), "frequency": (0.0, 1.0)}}}, "positive"),
    ({"inputs": {"u": {"kind": "file"}}}, "belong together"),
    ({"inputs": {"u": {"range": (0, 1), "amplitude": 3}}}, "no 'amplitude'"),
    ({"parameter": {"k": (0, 1)}}, "no part 'parameter'"),
    ({"parameters": {"k": "1..2"}}, "not a range"),
    ({"parameters": [1, 2]}, "must be a mapping"),
    ({}, "empty"),
    ([1], "must be a mapping"),
]


@pytest.mark.parametrize(("ranges", "words"), WRONG, ids=range(len(WRONG)))
def test_ranges_that_are_wrong(ranges: object, words: str) -> None:
    with pytest.raises(ArgumentError, match=words) as caught:
        pliant.Scenarios(ranges, 3)  # type: ignore[arg-type]
    assert caught.value.hint


def test_what_a_challenge_refuses(tanks: pliant.Plan) -> None:
    with pytest.raises(ArgumentError, match="workers must be"):
        tanks.challenge(5, workers=0)
    for bad in (0, 2.5, "many"):
        with pytest.raises(ArgumentError, match="n must be"):
            tanks.challenge(bad)
    with pytest.raises(UnknownNameError, match="mass"):
        tanks.challenge(scenarios=pliant.Scenarios({"parameters": {"mass": (1, 2)}}, 3))
    with pytest.raises(UnknownNameError, match="w"):
        tanks.challenge(scenarios=pliant.Scenarios({"inputs": {"w": (1, 2)}}, 3))
    with pytest.raises(ArgumentError, match="max = 10"):
        tanks.challenge(scenarios=pliant.Scenarios({"inputs": {"u": (20, 30)}}, 3))
    with pytest.raises(ArgumentError, match="end of the run is not known"):
        pliant.Scenarios({"inputs": {"u": {"kind": "ramp", "range": (1, 2)}}}, 3)[0].inputs["u"].typed("u", Declared())


def test_command_line(tmp_path: Path) -> None:
    (tmp_path / "Tanks.mo").write_text(TANKS)
    (tmp_path / "ranges.json").write_text(json.dumps({"inputs": {"u": {"kind": "step", "range": [1, 3]}}}))
    words = ["realtime", str(tmp_path / "Tanks.mo"), "--stop", "2", "--step", "0.05", "--json", "--challenge", "6"]
    words += ["--ranges", str(tmp_path / "ranges.json"), "--worst", str(tmp_path / "worst")]
    ran = CliRunner().invoke(app, words)
    told = json.loads(ran.stdout)
    assert told["challenge"]["n"] == 6
    assert ran.exit_code == (0 if told["holds"] and not told["challenge"]["missed"] else 3)
    assert (tmp_path / "worst" / "rows.csv").exists()
    ran = CliRunner().invoke(app, [*words[:6], "--ranges", "x.json"])
    assert ran.exit_code == 2
    assert "--challenge" in ran.output


MODES = """
model Modes
  type Mode = enumeration(low, middle, high);
  input Mode s(start = Mode.low);
  input Integer k(start = 1, min = 0, max = 3);
  input Boolean on(start = true);
  parameter Integer n = 2;
  Real x(start = 0, fixed = true);
equation
  der(x) = (if s == Mode.low then 1 elseif s == Mode.middle then 2 else 3) + (if on then k else 0) + n - x;
end Modes;
"""


def test_whole_numbers_and_literals_are_drawn_as_such() -> None:
    model = pliant.load(MODES)
    ranges = {
        "inputs": {"s": (1, 9), "k": (-5.5, 9), "on": (0, 1)},
        "parameters": {"n": (0.5, 4.5)},
    }
    drawn = pliant.Scenarios(ranges, 12, seed=1)
    quick = {"certificate": False, "reference": False, "search": "full"}
    plan = model.realtime(step=0.05, stop=0.5, accuracy=None, scenarios=drawn, options=quick)
    given = [one.parameters for one in plan.outcome.request.scenarios]
    assert sorted({one["n"] for one in given}) == [1, 2, 3, 4]
    found = plan.challenge(6, workers=1)
    assert [one.reason for one in found.rows] == [None] * 6
    with pytest.raises(ArgumentError, match="there is no whole number between"):
        model.realtime(step=0.05, stop=0.5, scenarios=pliant.Scenarios({"parameters": {"n": (0.2, 0.8)}}, 2))


def test_drawn_numbers_survive_copies() -> None:
    one = pliant.Scenarios({"parameters": {"n": (1, 4)}}, 3)[0].parameters["n"]
    again = pickle.loads(pickle.dumps(one))
    assert (again, again.low, again.high) == (one, 1.0, 4.0)


def wave(t: float) -> float:
    return float(2.0 + np.sin(t))


@pytest.mark.parametrize("workers", [1, 2])
def test_scenarios_with_functions(tanks: pliant.Plan, workers: int) -> None:
    given = [{"inputs": {"u": one}} for one in (wave, lambda t: 2.0 + np.sin(t))]  # a lambda has no name to travel by
    found = tanks.challenge(scenarios=given, workers=workers)
    assert [row.error for row in found.rows] == [found.rows[0].error] * 2
    assert all(row.scenario.inputs["u"].at(1.0) == wave(1.0) for row in found.rows)
    assert any("what inputs do between the ends of steps" in one for one in tanks.evidence.not_checked)
    named = tanks.challenge(scenarios=given[:1])
    again = pickle.loads(pickle.dumps(named))
    assert str(again) == str(named)
    assert again.rows[0].scenario.inputs["u"].at(2.0) == wave(2.0)
    with pytest.raises(pliant.NotSupportedError, match="an input cannot be pickled, because the function of u cannot"):
        pickle.dumps(found)
    assert len(copy.deepcopy(found).rows) == 2


def test_jumps_of_inputs_that_no_scenario_had_are_flagged() -> None:
    """A diode that should open where the source jumps conducts for one step more; all values are covered."""
    model = pliant.load(DIODE)
    seen = [{"inputs": {"vs": 7.0}}, {"inputs": {"vs": lambda t: 10 * np.sin(60 * t)}}]
    plan = model.realtime(step=1e-4, stop=0.1, order=2, accuracy=0.05, scenarios=seen)
    jump = {"inputs": {"vs": ([0, 0.04998, 0.04998], [5.7, 5.7, 2.6])}}
    (row,) = plan.challenge(scenarios=[jump]).rows
    assert row.failed
    assert not row.covered
    assert pliant.Flag.RANGE in pliant.Flag(row.flags)
    run = plan.simulate(stop=0.1, inputs=jump["inputs"])
    assert np.flatnonzero(run.flags & pliant.Flag.RANGE).tolist() == [499]
    free = {"limits": {"ranges": {"vs": (-10.0, 10.0)}}}
    trusting = model.realtime(step=1e-4, stop=0.1, order=2, scenarios=seen, options=free)
    assert not (trusting.simulate(stop=0.1, inputs=jump["inputs"]).flags & pliant.Flag.RANGE).any()


def test_jumps_within_steps_count_where_the_step_sees_them() -> None:
    """Both values of a jump move to the beginning of the step; what lies between goes along."""
    times, values = [0, 0.04, 0.04, 0.12, 0.2, 0.2, 0.31, 0.31, 0.36, 0.36], [1, 1, 2, 3, 3, 5, 5, 4, 4, 6]
    one = pliant.Scenario(inputs={"u": (times, values), "v": 3.0}, stop=1.0)
    typed = {name: signal.typed(name, Declared(), 1.0) for name, signal in one.inputs.items()}
    table = pliant.Scenario(inputs=typed).sampled(tau=0.1).inputs["u"]
    assert table.times == pytest.approx([0, 0, 0.12, 0.2, 0.2, 0.3, 0.3])
    assert table.values.tolist() == [1, 2, 3, 3, 5, 5, 6]
    straight = TableSignal(np.array([0.0, 0.2, 0.2, 0.37]), np.array([1.0, 1.0, 2.0, 3.0]), held=False)
    still = pliant.Scenario(inputs={"u": straight}, stop=1.0)
    assert still.sampled(tau=0.1) is still
    held = TableSignal(np.array([0.0, 0.13, 0.17, 0.24]), np.array([0.0, 1.0, 0.0, 1.0]), held=True)
    moved = pliant.Scenario(inputs={"b": held}, stop=1.0).sampled(tau=0.1).inputs["b"]
    assert [moved.at(t) for t in (0.05, 0.15, 0.19, 0.21)] == [0, 0, 0, 1]


def test_what_jumps_within_steps_do_adds_up() -> None:
    """A switch that always closes late in a step and opens early in one: the target cannot know it better."""
    text = (
        "model Sum input Boolean on; Real x(start = 0, fixed = true); equation der(x) = if on then 1 else 0; end Sum;"
    )
    step = {"inputs": {"on": ([0.0, 0.5], [False, True])}}
    plan = pliant.load(text).realtime(step=0.01, stop=1.0, scenarios=[step])
    late, early = 0.019 + 0.05 * np.arange(18), 0.041 + 0.05 * np.arange(18)
    times = np.concatenate([[0.0], np.ravel([late, early], "F")])
    pulses = {"inputs": {"on": (times.tolist(), [False] + 18 * [True, False])}}
    (row,) = plan.challenge(scenarios=[pulses]).rows
    assert row.covered
    assert row.error < 1e-3
    run = plan.simulate(stop=1.0, inputs=pulses["inputs"])
    exact = float((early - late).sum())
    assert abs(run["x"][-1] - exact) > 0.1 * exact


def test_resets_from_larger_values_are_no_false_alarms() -> None:
    """The reset of a sampled sum bends the state, from a larger sum by more than three times: no error comes of it."""
    ranges = {"inputs": {"u": (-1.0, 1.0), "reset": (0, 1)}}
    plan = pliant.load(SUM).realtime(step=0.01, stop=2.0, scenarios=pliant.Scenarios(ranges, 6))
    found = plan.challenge(scenarios=pliant.Scenarios(ranges, 60, seed=9), workers=1)
    assert not found.missed
    assert sum(row.covered for row in found.rows) > 40
    assert not found.false_alarms


def test_nothing_half_written_stays(tanks: pliant.Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = tanks.challenge(2)

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    (tmp_path / "folder").mkdir()
    for write in (
        lambda: found.save(tmp_path / "folder"),
        lambda: found.plot(tmp_path / "errors.png"),
        lambda: tanks.report(tmp_path / "page.html"),
        lambda: tanks.plot(tmp_path / "plan.svg"),
    ):
        with pytest.raises(pliant.OutputError, match="No space left on device"):
            write()
    assert [file.name for file in tmp_path.rglob("*")] == ["folder"]
    with pytest.raises(ArgumentError, match="must be a path"):
        tanks.write("a\0b")


def test_what_cannot_be_a_scenario_is_named(tanks: pliant.Plan) -> None:
    """Ends between steps, functions beyond their limits, drawn values, numbers of rows."""
    model = pliant.load(TANKS)
    for make in (
        lambda: model.realtime(step=0.05, stop=1.0, scenarios=[{"name": "short", "stop": 0.33}]),
        lambda: tanks.challenge(scenarios=[{"name": "short", "stop": 0.33}]),
    ):
        with pytest.raises(ArgumentError, match=r"short: stop = 0\.33 is no whole number of steps of 0\.05"):
            make()
    rising = {"name": "rise", "inputs": {"u": lambda t: 60.0 * t}}
    with pytest.raises(ArgumentError, match=r"rise: input u cannot be .* \(at t = "):
        model.realtime(step=0.05, stop=1.0, scenarios=[rising])
    wide = pliant.Scenarios({"inputs": {"u": {"kind": "ramp", "range": (11.0, 20.0)}}}, 1, seed=2)
    with pytest.raises(ArgumentError, match=r"seed 2, 1: input u .* \(drawn at random\)"):
        model.realtime(step=0.05, stop=1.0, scenarios=wide)
    for rows in (wide, tanks.frontier):
        for key in ("a", None, 1.0, True):
            with pytest.raises(ArgumentError, match="a row is named by its number"):
                rows[key]
        with pytest.raises(IndexError):
            rows[len(rows)]
        assert rows[-1] == rows[len(rows) - 1] or rows is wide
        assert len(list(rows)) == len(rows)


def test_interrupts_before_the_first_scenario(tanks: pliant.Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    def pressed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    places = ("realtime.build.choose_form", "realtime.challenge.run.settled", "realtime.delivery.measure.measure_plan")
    for place in places:
        monkeypatch.setattr(f"pliant.{place}", pressed)
    for act, words in (
        (lambda: pliant.load(TANKS).realtime(step=0.05, stop=1.0), "Tanks: the plan: interrupted"),
        (lambda: tanks.challenge(2), "Tanks: the challenge: interrupted"),
        (lambda: tanks.measure(10), "Tanks: measuring: interrupted"),
    ):
        with pytest.raises(SimulationInterrupted, match=words):
            act()


def test_evidence_names_starts_and_switches_that_are_not_checked() -> None:
    text = """
model Start
  input Real u(start = 1);
  Real x, y(start = 0, fixed = true);
  output Boolean high = y > 0.4;
initial equation
  x = 3*u;
equation
  der(x) = u - x;
  der(y) = x - y;
end Start;
"""
    model, two = pliant.load(text), [{"inputs": {"u": 1.0}}, {"inputs": {"u": 0.5}}]
    told = model.realtime(step=0.05, stop=1.0, scenarios=two).evidence.not_checked
    assert any(
        "written code in later scenarios: x start at other values there than in scenario 1" in one for one in told
    )
    assert any(one.startswith("when high switch") for one in told)
    told = model.realtime(step=0.05, stop=1.0, scenarios=two[:1], judged=["x"]).evidence.not_checked
    assert not any("later scenarios" in one or "switch," in one for one in told)
