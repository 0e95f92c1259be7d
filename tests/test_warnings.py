"""Assertions of the level warning (specification 8.3.7): told where they begin not to hold, and the run goes on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import pliant
from pliant.cli.app import app
from pliant.realtime.code.events import check_events

WAVE = """
model Wave
  Real x(start = 0, fixed = true);
  Real v(start = 1, fixed = true);
equation
  der(x) = v;
  der(v) = -x;
{}
end Wave;
"""
SOMETIMES = """
  assert(x < 0.5, "high: " + String(x > 0.5), AssertionLevel.warning);
  assert(v > -2, "never", AssertionLevel.warning);
"""


def told(text: str, **given: object) -> list[tuple[float, str]]:
    """Times and texts of warnings."""
    result = pliant.load(text).simulate(**{"stop": 1.0, **given})  # type: ignore[arg-type]
    assert result.complete
    assert all(one[1:3] == ("warning", "assert") for one in result.log)
    return [(t, words) for t, _, _, words in result.log]


def test_once_each_time_it_begins_not_to_hold() -> None:
    found = told(WAVE.format(SOMETIMES), stop=14, options={"max_step": 0.01})
    assert [text for _, text in found] == ["high: true (model.mo:9)"] * 3
    assert [t for t, _ in found] == pytest.approx([np.arcsin(0.5) + 2 * np.pi * k for k in range(3)], abs=0.011)


def test_the_run_is_the_same_bit_for_bit() -> None:
    for more in ("", "  when x < -0.5 then reinit(v, 0.9 * pre(v)); end when;\n"):
        alone, warned = (pliant.load(WAVE.format(more + one)) for one in ("", SOMETIMES))
        for method in ("bdf", "radau5", "dopri5"):
            runs = [one.simulate(stop=10, method=method, points=None) for one in (alone, warned)]
            assert np.array_equal(runs[0].time, runs[1].time)
            assert np.array_equal(runs[0]["x", "v"], runs[1]["x", "v"])
            assert len(runs[0].events) == len(runs[1].events)
            assert not runs[0].log
            assert runs[1].log
            counts = [{k: n for k, n in one.stats.as_dict().items() if k != "seconds"} for one in runs]
            assert counts[0] == counts[1]


def test_every_section() -> None:
    text = """
model M
  function root
    input Real u;
    output Real y;
  algorithm
    assert(u >= 0.5, "small: " + String(u), AssertionLevel.warning);
    y := sqrt(u);
  end root;
  parameter Real p = 2;
  Real x(start = 0, fixed = true);
  Real a, b;
  discrete Real d(start = 0, fixed = true), e(start = 0, fixed = true);
initial equation
  assert(x > 1, "initial equation " + String(x), AssertionLevel.warning);
initial algorithm
  assert(x > 1, "initial algorithm", AssertionLevel.warning);
equation
  der(x) = 1;
  assert(p < 1, "p = " + String(p), AssertionLevel.warning);
  a = root(1 - x);
  when time >= 0.25 then
    d = x;
    assert(x > 1, "when " + String(time), AssertionLevel.warning);
  end when;
algorithm
  b := x;
  assert(b < 0.7, "algorithm", AssertionLevel.warning);
algorithm
  when sample(0.3, 0.3) then
    e := root(x);
    assert(e > 0.7, "e = " + String(e, significantDigits = 2), AssertionLevel.warning);
  end when;
end M;
"""
    for process in ("own", "child"):
        found = told(text, stop=0.95, options={"max_step": 0.01, "process": process})
        assert sorted(words.split(" (")[0] for t, words in found if t == 0) == [
            "initial algorithm",
            "initial equation 0",
            "p = 2",
        ]
        later = [(pytest.approx(t, abs=0.011), words.split(" (")[0]) for t, words in found if t > 0]
        texts = [words for _, words in later]
        assert [one for one in texts if "small" not in one] == ["when 0.25", "e = 0.55", "algorithm"]
        assert (0.3, "`M.root`: small: 0.3") in later
        assert [one for one in later if "small: 0.49" in one[1] or "small: 0.5" in one[1]]
        assert (0.7, "algorithm") in later


def test_those_of_when_clauses_change_nothing() -> None:
    when = "  when x < -0.5 then reinit(v, 0.9 * pre(v)); {} end when;"
    alone = pliant.load(WAVE.format(when.format("")))
    warned = pliant.load(WAVE.format(when.format('assert(v > x, "slow", AssertionLevel.warning);')))
    runs = [one.simulate(stop=10, points=None) for one in (alone, warned)]
    assert np.array_equal(runs[0].values, runs[1].values)
    assert len(runs[0].events) == len(runs[1].events)
    assert [one[3].split(" (")[0] for one in runs[1].log] == ["slow"] * len(runs[1].log) != []
    equations = warned._numeric.equations
    assert equations is not None
    check_events(equations.sorted, 0.1)  # a real-time step leaves them out


def test_levels_that_are_no_warnings_end_the_run() -> None:
    with pytest.raises(pliant.ModelEvaluationError, match="assertion failed: high"):
        told(WAVE.format('  assert(x < 0.5, "high", AssertionLevel.error);'))


def test_an_event_has_much_to_say() -> None:
    """Of one event as much is kept as there is room for, and the last entry says that there is more."""
    many = "\n".join(f'    assert(x > 9, "{k:04d} {"long " * 20}", AssertionLevel.warning);' for k in range(60))
    found = told(WAVE.format(f"  when time >= 0.5 then\n{many}\n  end when;"))
    assert [text[:4] for _, text in found[:-1]] == [f"{k:04d}" for k in range(len(found) - 1)]
    assert len(found) > 20
    assert found[-1][1] == "more warnings of this event are left out"


@pytest.mark.parametrize(("version", "kind"), [("3.0", "co-simulation"), ("2.0", "model-exchange")])
def test_exported_fmus_tell_the_logger(version: str, kind: str, tmp_path: Path) -> None:
    event = """
  when x < -0.5 then
    assert(v > 9, "event", AssertionLevel.warning);
  end when;
  assert(x > 0.1, "start", AssertionLevel.warning);
"""
    model = pliant.load(WAVE.format(SOMETIMES + event))
    path = model.export_fmu(tmp_path / "w.fmu", version=version, kind=kind)
    with pliant.load(path, kind=kind) as fmu:
        result = fmu.simulate(stop=6)
    said = [text for _, status, _, text in result.log if status == "warning"]
    texts = [one.split(": ", 1)[1].split(" (")[0] for one in said]
    assert texts == ["start", "high: true", "start", "event"]
    times = [float(one.removeprefix("t = ").split(":")[0]) for one in said]
    assert times == pytest.approx([0, np.arcsin(0.5), np.pi - np.arcsin(0.1), np.pi + np.arcsin(0.5)], abs=0.3)


def test_the_command_line(tmp_path: Path) -> None:
    file = tmp_path / "w.mo"
    file.write_text(WAVE.format(SOMETIMES))
    shown = CliRunner().invoke(app, ["simulate", str(file), "--stop", "1"])
    assert shown.exit_code == 0
    assert "warning: high: true (w.mo:9)" in shown.stderr
