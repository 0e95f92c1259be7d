"""What models say during a run and that is no error: `result.log`, on every way that a run can take."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest
from typer.testing import CliRunner

import pliant
from pliant.cli.app import app
from pliant.foreign.messages import MOST_MESSAGES, MessageLog, tell

SAY = """
  impure function say
    input String s;
    external "C" say_(s) annotation(Include = "
#include \\"ModelicaUtilities.h\\"
static void say_(const char *s) { ModelicaFormatMessage(\\"%s\\\\n\\", s); }
");
  end say;
"""
CLOCKED = f"""
model M
{SAY}
  parameter Real most = 9;
  Real x(start = 0, fixed = true);
initial algorithm
  say("begins");
equation
  der(x) = 1;
  when sample(0.25, 0.25) then say("x = " + String(x)); end when;
  when terminal() then say("ends at " + String(time)); end when;
  assert(x < most, "too much");
end M;
"""
SAID = [(0, "begins"), (0.25, "x = 0.25"), (0.5, "x = 0.5"), (0.6, "ends at 0.6")]


@pytest.fixture(scope="module")
def clocked() -> pliant.Model:
    return pliant.load(CLOCKED)


def said(result: pliant.Result) -> list[tuple[float, str]]:
    """Times and texts; all of them are told by external functions."""
    assert all(one[1:3] == ("ok", "external") for one in result.log)
    return [(pytest.approx(t), text) for t, _, _, text in result.log]


def test_what_is_printed_has_its_time(clocked: pliant.Model) -> None:
    result = clocked.simulate(stop=0.6)
    assert said(result) == SAID
    assert pickle.loads(pickle.dumps(result)).log == result.log
    assert result.as_dict()["log"][0] == [0.0, "ok", "external", "begins"]
    assert said(clocked.simulate(stop=0.6, method="radau5")) == SAID
    assert clocked.simulate(stop=0.2, start=0.1).log[0][0] == 0.1


def test_other_processes_and_many_runs(clocked: pliant.Model) -> None:
    assert said(clocked.simulate(stop=0.6, options={"process": "child"})) == SAID
    for executor in ("threads", "processes"):
        study = clocked.simulate_many([{"parameters": {"most": 8.0}}, {}], stop=0.6, workers=2, executor=executor)
        assert [said(one) for one in study] == [SAID, SAID]


def test_failed_runs_have_it(clocked: pliant.Model) -> None:
    for process in ("own", "child"):
        with pytest.raises(pliant.ModelEvaluationError) as caught:
            clocked.simulate(stop=2, parameters={"most": 0.4}, options={"process": process})
        assert caught.value.result is not None
        assert said(caught.value.result) == SAID[:2]


def test_calls_that_nobody_makes_are_noted() -> None:
    """A function that prints, called by an equation that always holds: when would be left to the solver."""
    text = f"""
model M
{SAY}
  function loud
    input Real u;
    output Real y;
  algorithm
    say("u = " + String(u));
    y := u;
  end loud;
  Real x = CALL;
  discrete Real d(start = 0, fixed = true);
equation
  when time > 0.5 then
    d = loud(2);
  end when;
end M;
"""
    model = pliant.load(text.replace("CALL", "loud(time)"))
    assert [one[1:] for one in model.simulate(stop=1).log] == [("ok", "external", "u = 2")]
    assert [note for note in model.structure.notes if "`M.say`" in note and "not made" in note]
    events = pliant.load(text.replace("CALL", "if loud(time) > 0.5 then 1 else 0"))
    assert [note for note in events.structure.notes if "`M.say`" in note and "not made" in note]
    assert not [note for note in pliant.load(text.replace("CALL", "time")).structure.notes if "not made" in note]
    for wrong in (
        "equation say(String(time));",
        "algorithm say(String(time));",
        'equation if x > 0.5 then say(""); end if;',
    ):
        with pytest.raises(pliant.ModelError, match=r"`M\.say` is impure and cannot be called here") as caught:
            pliant.load(text.replace("CALL", "time").replace("end M;", f"{wrong}\nend M;"))
        assert caught.value.rule == "12.3"


def test_memory_is_bounded() -> None:
    log = MessageLog(0.0)
    with log.listening():
        for k in range(MOST_MESSAGES + 3):
            tell(float(k), "ok", "external", str(k))
    tell(0.0, "ok", "external", "to nobody")
    assert len(log.messages) == MOST_MESSAGES + 1
    assert log.messages[-1][1:] == ("warning", "pliant", "3 more messages are not kept")


def test_the_command_line_shows_it(tmp_path: Path) -> None:
    file = tmp_path / "m.mo"
    file.write_text(CLOCKED)
    shown = CliRunner().invoke(app, ["simulate", str(file), "--stop", "0.6"])
    assert [line for line in shown.stderr.splitlines() if line.startswith("t = ")] == [
        "t = 0  begins",
        "t = 0.25  x = 0.25",
        "t = 0.5  x = 0.5",
        "t = 0.6  ends at 0.6",
    ]
    assert "x = 0.25" not in shown.stdout
    machine = CliRunner().invoke(app, ["simulate", str(file), "--stop", "0.6", "--json"])
    log = json.loads(machine.stdout)["log"]
    assert log[-1] == {"time": pytest.approx(0.6), "status": "ok", "category": "external", "text": "ends at 0.6"}
    failed = CliRunner().invoke(app, ["simulate", str(file), "--stop", "2", "--param", "most=0.3"])
    assert failed.exit_code == 1
    assert "t = 0.25  x = 0.25" in failed.stderr
