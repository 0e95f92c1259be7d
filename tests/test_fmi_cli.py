"""``pliant simulate x.fmu``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support_cli import CliRunner
from support_fmus import fmu
from support_hostile import misbehaving

from pliant.cli.app import app

RUNNER = CliRunner()


def test_end_values_as_json() -> None:
    done = RUNNER.invoke(app, ["simulate", str(fmu("ball", "2.0")), "--stop", "0.6", "--json"])
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["complete"]
    assert found["final"]["bounces"] == 1.0
    assert found["model"] == "ball"


def test_stop_of_the_default_experiment() -> None:
    done = RUNNER.invoke(app, ["simulate", str(fmu("vanderpol", "3.0")), "--json", "--kind", "model-exchange"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["time"] == 20.0


def test_a_model_without_default_experiment_needs_a_stop(tmp_path: Path) -> None:
    file = tmp_path / "m.mo"
    file.write_text("model M\n  Real x(start = 1);\nequation\n  der(x) = -x;\nend M;\n")
    done = RUNNER.invoke(app, ["simulate", str(file)])
    assert done.exit_code == 2
    assert "stop" in done.stderr


def test_picture_files_parameters_and_inputs(tmp_path: Path) -> None:
    command = ["simulate", str(fmu("filter", "3.0")), "--stop", "1", "--input", "u=2", "--input", "on=true"]
    command += ["--plot", "x", "--plot-file", str(tmp_path / "x.svg"), "--save", str(tmp_path / "x.csv")]
    done = RUNNER.invoke(app, [*command, "--start-value", "x=0.5", "--input", "gain=1", "--json"])
    assert done.exit_code == 0, done.output
    assert (tmp_path / "x.svg").stat().st_size > 1000
    assert (tmp_path / "x.csv").read_text().splitlines()[0].startswith("time,")


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--kind", "sideways"], "kind"),
        (["--form", "dae"], "no matter of an FMU"),
        (["--define", "N=3"], "no matter of an FMU"),
        (["--name", "M"], "Modelica"),
        (["--fmu-option", "call_timeout=-1"], "call_timeout"),
        (["--param", "muu=3"], "mu"),
    ],
)
def test_arguments_that_make_no_sense(more: list[str], words: str) -> None:
    done = RUNNER.invoke(app, ["simulate", str(fmu("vanderpol", "2.0")), *more])
    assert done.exit_code in (1, 2)
    assert words in done.stderr
    assert "try:" in done.stderr


def test_kind_is_for_fmus(tmp_path: Path) -> None:
    done = RUNNER.invoke(app, ["simulate", str(tmp_path / "m.mo"), "--stop", "1", "--kind", "co-simulation"])
    assert done.exit_code == 2
    assert "is no FMU" in done.stderr


def test_a_crash_is_an_error_with_its_result(tmp_path: Path) -> None:
    path = misbehaving("DERIVATIVES", "CRASH", "2.0")
    done = RUNNER.invoke(app, ["simulate", str(path), "--json", "--stop", "1"])
    assert done.exit_code == 1
    assert json.loads(done.stdout)["error"]["type"] == "FmuCrashError"
    assert "SIGSEGV" in done.stderr
