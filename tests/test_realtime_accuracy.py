"""The verdict counts accuracy: errors against accurate runs, proposals that work, and what is refused."""

from __future__ import annotations

import contextlib
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support_cli import CliRunner

import pliant
from pliant.cli import app
from pliant.realtime.evidence.accuracy import AccurateRun, _stretches, take_steps
from pliant.realtime.scenario import Scenario
from pliant.realtime.sparsing.accept import AcceptRule, Checker
from pliant.realtime.sparsing.linearisations import LARGEST_ROUNDING, ON_CIRCLE, CommonData, PointOrigin, Points
from pliant.realtime.sparsing.linearise import Walker

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
QUICK = {"certificate": False}
SWING = """
model Swing
  input Real u(start = 0);
  Real x(start = 1, fixed = true), v(start = 0, fixed = true), still(start = 3, fixed = true, nominal = 5);
  output Real y;
equation
  der(x) = v;
  der(v) = -100*x - 0.2*v + u;
  der(still) = 0;
  y = 2*x + 1;
end Swing;
"""


def run_cli(*arguments: str) -> Any:
    return CliRunner().invoke(app, list(arguments))


def swing(**given: Any) -> pliant.Plan:
    return pliant.load(SWING).realtime(**{"step": 0.01, "stop": 2.0, "options": QUICK, **given})


def exact(t: Any) -> Any:
    """x of Swing without input."""
    w = np.sqrt(100.0 - 0.01)
    return np.exp(-0.1 * t) * (np.cos(w * t) + 0.1 / w * np.sin(w * t))


def test_errors_are_shares_of_ranges_moved_by_a_step() -> None:
    plan = swing()
    e = plan.evidence
    run = plan.simulate(stop=2.0)
    near = np.array([exact(np.clip(t + np.linspace(-0.01, 0.01, 401), 0.0, 2.0)) for t in run.time])
    distance = np.maximum(np.maximum(near.min(axis=1) - run["x"], run["x"] - near.max(axis=1)), 0.0)
    fine = exact(np.linspace(0.0, 2.0, 100_001))
    assert e.errors["x"] == pytest.approx(distance.max() / np.ptp(fine), rel=0.01)
    assert e.errors["y"] == pytest.approx(e.errors["x"], rel=1e-6)
    assert e.errors["still"] == 0.0
    assert e.accuracy == 0.05
    assert e.judged == ("x", "v", "still", "y")
    assert not e.holds
    assert any("still" in one for one in e.not_checked)
    assert e.failing == ["error against an accurate simulation, scenario 1"]


def test_proposals_work_when_followed() -> None:
    plan = swing()
    settings = [dict(one.settings) for one in plan.evidence.proposals]
    assert {"order": 2} in settings
    assert any("step" in one for one in settings)
    for one in plan.evidence.proposals:
        assert one.error <= 0.05
        followed = swing(**one.settings)
        assert followed.evidence.holds, followed.evidence.short
        assert max(followed.evidence.errors.values()) == pytest.approx(one.error, abs=0.022)
        assert json.dumps(one.as_dict())
    assert "order=2 reaches" in plan.summary
    assert "DOES NOT HOLD" in plan.summary
    assert plan.as_dict()["evidence"]["proposals"]


def test_order_two_that_fails_is_offered_what_works() -> None:
    """A switch between steps: the runs decide what is proposed."""
    text = """
    model Switch
      Real x(start = 0, fixed = true), v(start = 0, fixed = true);
    equation
      der(x) = v;
      der(v) = (if x > 0.02 then -4e3*(x - 0.02) else 0) - 30*x - 0.5*v + 3*sin(9*time);
    end Switch;
    """
    plan = pliant.load(text).realtime(step=0.02, stop=3.0, order=2, options=QUICK)
    assert not plan.evidence.holds
    for one in plan.evidence.proposals:
        given = {"step": 0.02, "order": 2, **one.settings}
        assert pliant.load(text).realtime(stop=3.0, options=QUICK, **given).evidence.holds


def test_not_judged_is_said() -> None:
    plan = swing(accuracy=None)
    assert plan.evidence.holds
    assert plan.evidence.accuracy is None
    assert plan.evidence.errors["x"] > 0.1
    assert "not judged" in plan.summary
    assert "not judged" in plan.evidence.text
    off = swing(options={**QUICK, "reference": False})
    assert off.evidence.holds
    assert off.evidence.errors == {}
    assert any(one.name == "accuracy" and one.holds is None for one in off.evidence.items)


def test_mapping_and_judged() -> None:
    assert swing(accuracy={"x": 0.5, "v": 0.5, "y": 0.5}).evidence.holds
    assert not swing(accuracy={"x": 0.5}).evidence.holds  # the others at 5 %
    only = swing(judged=["still"])
    assert only.evidence.holds
    assert only.evidence.judged == ("still",)
    assert swing(accuracy={"x": None, "v": None, "y": 0.4}).evidence.holds


def test_a_pattern_does_not_spoil_what_all_entries_reach() -> None:
    model = pliant.load(EXAMPLES / "Pipe.mo")
    free = model.realtime(step=0.1, stop=20.0, tolerance=0.2, accuracy=None, options=QUICK)
    bound = model.realtime(step=0.1, stop=20.0, tolerance=0.2, accuracy=0.01, options=QUICK)
    assert max(free.evidence.errors.values()) > 0.01
    assert bound.evidence.holds
    assert bound.entries >= free.entries


def test_both_sides_of_a_jump_count_and_nothing_between() -> None:
    t = np.array([0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0])
    values = np.array([0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0])[:, None]
    jumps = (np.array([1.5]), np.zeros((1, 1)), np.ones((1, 1)))
    low, high, step = _stretches(t, values, jumps, 0.0, 1.0, 3)
    run = AccurateRun(np.zeros((4, 1)), low, high, step, *([np.zeros(1)] * 3))
    assert run.distance(np.array([[0.0], [0.6], [0.4], [1.0]]))[:, 0] == pytest.approx([0.0, 0.4, 0.4, 0.0])
    assert run.distance(np.array([[1.0], [1.0], [0.0], [0.0]]))[:, 0] == pytest.approx([1.0, 0.0, 0.0, 1.0])
    on_end = (np.array([1.0]), np.zeros((1, 1)), np.ones((1, 1)))
    values[2] = 1.0
    low, high, step = _stretches(t, values, on_end, 0.0, 1.0, 3)
    run = AccurateRun(np.zeros((4, 1)), low, high, step, *([np.zeros(1)] * 3))
    assert run.distance(np.array([[1.0], [0.5], [0.0], [1.0]]))[:, 0] == pytest.approx([0.0, 0.5, 0.0, 0.0])


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"accuracy": {"q": 0.1}}, "'q'"),
        ({"accuracy": 0}, "accuracy = 0"),
        ({"accuracy": float("nan")}, "accuracy = nan"),
        ({"accuracy": {"x": -1.0}}, "accuracy of x"),
        ({"accuracy": {}}, "empty"),
        ({"accuracy": {"x": 0.1}, "judged": ["y"]}, "not among judged"),
        ({"judged": ["u"]}, "'u'"),
        ({"judged": "x"}, "judged"),
        ({"scenarios": [{"name": "cold", "start_values": {"x": float("nan")}}]}, "cold: start_values"),
        ({"scenarios": [{"inputs": {"u": float("nan")}}]}, "scenario 1: input u"),
    ],
)
def test_bad_input(given: dict[str, Any], words: str) -> None:
    with pytest.raises(pliant.PliantError, match=words) as caught:
        swing(**given)
    assert caught.value.hint


def test_a_range_of_width_zero_is_named() -> None:
    text = SWING.replace("nominal = 5", "nominal = 0")
    with pytest.raises(pliant.ArgumentError, match="still: no scenario moves it") as caught:
        pliant.load(text).realtime(step=0.01, stop=0.5, options=QUICK)
    assert "nominal" in caught.value.hint
    assert pliant.load(text).realtime(step=0.01, stop=0.5, judged=["x"], options=QUICK).evidence.errors


def test_rounding_is_no_violation() -> None:
    """Free masses on stiff springs: the slowest eigenvalue lies 2e-9 from the circle, rounding moves it further."""
    worst = 0
    for seed in range(120):
        chance = np.random.default_rng(seed)
        k = int(chance.integers(2, 8))
        m, c, d = 10.0 ** chance.uniform(-4, 2, k), 10.0 ** chance.uniform(6, 13, k - 1), 10.0 ** chance.uniform(-7, -3)
        A = np.zeros((2 * k, 2 * k))
        A[:k, k:] = np.eye(k)
        for j in range(k - 1):
            for a, b in ((j, j + 1), (j + 1, j)):
                A[k + a, a] -= c[j] / m[a]
                A[k + a, b] += c[j] / m[a]
                A[k + a, k + a] -= 1e-3 * c[j] / m[a]
                A[k + a, k + b] += 1e-3 * c[j] / m[a]
        A[k, 0], A[k, k] = A[k, 0] - d, A[k, k] - d
        rows, columns = np.nonzero(A)
        names = tuple(f"x{i}" for i in range(2 * k))
        frame = CommonData(names, rows, columns, np.eye(2 * k), 1e-3, np.ones(2 * k), 1000)
        points = Points(frame, A[rows, columns][None], np.zeros((1, 2 * k)), [PointOrigin(0, 0, 0.0)])
        checker, everything = Checker(points, AcceptRule(0.02)), np.ones(len(rows), dtype=bool)
        found = checker.spectrum(0, everything)
        assert found is not None
        kept = (1.0 - np.abs(found).max()) / (1.0 - points.radius[0])
        worst += points.radius[0] < 1.0 - ON_CIRCLE and kept < 0.5
        assert points.rounding[0] >= LARGEST_ROUNDING or checker.judge(0, everything).accepted
        assert points.outside[0] or kept + points.rounding[0] / (1.0 - points.radius[0]) >= 0.5
    assert worst  # without the bound on rounding some would be refused


def test_all_entries_keep_the_margin_and_nothing_warns() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plan = swing(options={**QUICK, "search": "full"}, accuracy=None)
    assert plan.margin_kept == 1.0
    assert plan.evidence.holds


def test_evidence_prints_the_ranges_that_matter() -> None:
    states = " ".join(f"Real x{k}(start = {k}, fixed = true);" for k in range(15))
    equations = " ".join(f"der(x{k}) = -{k + 1}*x{k} + u;" for k in range(15))
    plan = pliant.load(f"model Many input Real u(start = 1); {states} equation {equations} end Many;").realtime(
        step=0.01, stop=1.0, options=QUICK
    )
    shown = str(plan.evidence)
    assert shown.count(" .. ") == 1 + 10  # the time of the scenario, ten ranges
    assert "  u: 1 .. 1" in shown
    assert "and 6 more ranges" in shown
    assert all(f"  x{k}: " in plan.evidence.text for k in range(15))


def test_command_line(tmp_path: Path) -> None:
    file = tmp_path / "Swing.mo"
    file.write_text(SWING)
    common = ["realtime", str(file), "--step", "0.01", "--stop", "2", "--option", "certificate=0"]
    result = run_cli(*common, "--write", str(tmp_path / "out"), "--report", str(tmp_path / "page.html"))
    assert result.exit_code == 3, result.output
    readme = (tmp_path / "out" / "README.md").read_text()
    assert all(words in readme for words in ("of the range of x", "order=2 reaches", "Not everything held"))
    page = (tmp_path / "page.html").read_text()
    assert all(words in page for words in ("against accurate simulations (asked 5 %)", "order=2 reaches"))
    assert run_cli(*common, "--accuracy", "none").exit_code == 0
    assert run_cli(*common, "--accuracy", "0.5").exit_code == 0
    loose = run_cli(*common, "--accuracy", "x=0.5", "--accuracy", "v=0.5", "--accuracy", "y=0.5", "--json")
    assert loose.exit_code == 0
    assert json.loads(loose.stdout)["evidence"]["accuracy"] == {"x": 0.5, "v": 0.5, "y": 0.5}
    scenarios = tmp_path / "s.json"
    scenarios.write_text('[{"name": "cold", "inputs": {"u": [[0, 1], [0, NaN]]}}]')
    refused = run_cli(*common, "--scenarios", str(scenarios))
    assert refused.exit_code == 2
    assert "cold, inputs, u[1][1] is nan" in refused.output


def test_rounding_of_float_counts() -> None:
    """Steps of less than a digit: the double analysis does not have this error, the compiled float step does."""
    text = "model Slow\n  Real x(start = 5000, fixed = true);\nequation\n  der(x) = 0.7;\nend Slow;\n"
    plan = pliant.load(text).realtime(step=1e-3, stop=10.0, options={"precision": "float"})
    assert plan.evidence.errors["x"] > 0.1
    assert not plan.evidence.holds
    assert "precision='double'" in plan.evidence.text
    assert pliant.load(text).realtime(step=1e-3, stop=10.0).evidence.holds


@pytest.mark.parametrize("form", ["auto", "ode", "dae", "best"])
def test_models_without_states_in_every_form(form: str) -> None:
    text = "model Less\n  input Real u(start = 1);\n  Real y;\nequation\n  y = 2*u + 3;\nend Less;\n"
    plan = pliant.load(text).realtime(step=0.1, stop=1.0, options={"form": form})
    assert plan.simulate(stop=1.0, inputs={"u": 4.0})["y"][-1] == 11.0


ROWS = """
model Rows
  input Real u(start = 0);
  Real x(start = 1, fixed = true);
  {held}(start = 0, fixed = true);
  Boolean low = x < 0.7;
  output Real y, z;
equation
  der(x) = -x + u;
  {held_equation}
  y = held + (if low then 10 else x);
  z = {z};
end Rows;
"""
SAMPLED = {
    "{held}": "discrete Real held",
    "{held_equation}": "when sample(0.1, 0.2) then held = x + pre(held); end when;",
}
SMOOTH = {"{held}": "Real held", "{held_equation}": "der(held) = 1;"}


@pytest.mark.parametrize("z", ["log(x - 0.7)", "time*u"], ids=["fails", "runs"])
@pytest.mark.parametrize("words", [SAMPLED, SMOOTH], ids=["sampled", "smooth"])
def test_outputs_of_a_run_are_those_of_its_points(z: str, words: dict[str, str]) -> None:
    text = ROWS.replace("{z}", z)
    for place, word in words.items():
        text = text.replace(place, word)
    scenario = Scenario("one", inputs={"u": ([0.0, 0.55, 0.55, 1.0], [0.0, 0.1, 0.3, 0.2])}, start=0.0, stop=1.0)
    walker = Walker(pliant.load(text)._numeric, 0.05)
    steps = take_steps(walker, scenario)
    times = np.append(0.0, steps.t)
    walker.begin(scenario)
    found = walker.outputs(times, steps.x, steps.memories)
    rows = np.full_like(found, np.nan)
    walker.begin(scenario)
    for k, t in enumerate(times.tolist()):
        if k:
            walker.hold(steps.memories[k - 1])
        walker.refresh(t, steps.x[k])
        with contextlib.suppress(pliant.SolverError):
            rows[k] = walker.point.outputs(steps.x[k])
    assert found.tobytes() == rows.tobytes()
    assert np.isnan(found).any() == z.startswith("log")
    assert np.nanmax(np.ptp(found[np.isfinite(found).all(axis=1)], axis=0)) > 0.1
