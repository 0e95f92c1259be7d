"""`pliant inspect`, and `pliant simulate` of Modelica models: what they print, what they write, how they end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support_cli import CliRunner

from pliant.cli import app

MODEL = """model First
  Real x(start = 1, fixed = true);
equation
  der(x) = -x;
end First;

model Loop
  parameter Real k = 1;
  Real x(start = 1, fixed = true), a, b, c;
equation
  der(x) = -k*a;
  a = x + 2*b;
  b = x - 3*a + 0.1*c;
  c = b + a;
end Loop;
"""
DELAYED = """model Counter
  Real x(start = 0, fixed = true), n = if terminal() then 1 else x;
equation
  der(x) = 1 - n;
end Counter;
"""
C_MODEL = str(Path(__file__).parents[1] / "examples" / "rc_input.c")


def run(*arguments: str) -> Any:
    return CliRunner().invoke(app, list(arguments))


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "two.mo"
    path.write_text(MODEL)
    return str(path)


# ---------------------------------------------------------------------------------------------------- inspect


def test_summary(file: str) -> None:
    done = run("inspect", file)
    assert done.exit_code == 0, done.stderr
    assert done.stdout.startswith("Loop: 4 equations, index 1, 1 state\n")
    assert "1 linear loop" in done.stdout
    assert "two.mo:1" in done.stdout
    assert "torn  " in done.stdout


def test_no_compiler_is_needed(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "/nowhere/cc")
    monkeypatch.setenv("PATH", "/nowhere")
    assert run("inspect", file).exit_code == 0


def test_name_and_options(file: str) -> None:
    assert run("inspect", file, "--name", "First").stdout.startswith("First: 1 equation,")
    told = json.loads(run("inspect", file, "--tear", "c", "--form", "dae", "--json").stdout)
    (loop,) = [block for block in told["blocks"] if block["number"] in told["loops"]]
    assert "c" in loop["tearing"]
    assert (told["form"], loop["solved_by"], told["files"]) == ("dae", "solver", [])
    told = json.loads(run("inspect", file, "--fold-parameters", "--tearing", "cellier", "--json").stdout)
    assert told["n_states"] == 1
    done = run("inspect", file, "--no-aliases", "--json")
    assert json.loads(done.stdout)["n_aliases"] == 0


def test_page(file: str, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    done = run("inspect", file, "--html", str(page))
    assert done.exit_code == 0, done.stderr
    assert f"wrote {page}" in done.stdout.replace("\n", "")
    assert page.read_text("utf-8").startswith("<!DOCTYPE html>")
    told = json.loads(run("inspect", file, "--html", str(page), "--json").stdout)
    assert told["files"] == [str(page)]


@pytest.mark.usefixtures("terminal_refused")
def test_models_that_cannot_be_simulated(tmp_path: Path) -> None:
    path = tmp_path / "counter.mo"
    path.write_text(DELAYED)
    done = run("inspect", str(path))
    assert done.exit_code == 0, done.stderr
    assert "Cannot be simulated yet" in done.stdout


def test_library_path(file: str, tmp_path: Path) -> None:
    library = tmp_path / "libraries" / "Lib"
    library.mkdir(parents=True)
    (library / "package.mo").write_text(
        "package Lib\n  model M\n    Real x(start = 1);\n  equation\n    der(x) = -x;\n  end M;\nend Lib;\n"
    )
    done = run("inspect", file, "--name", "Lib.M", "--path", str(library.parent))
    assert done.exit_code == 0, done.stderr
    assert "Lib.M: 1 equation" in done.stdout
    done = run("inspect", str(library), "--name", "Lib.M")
    assert done.exit_code == 0, done.stderr


@pytest.mark.parametrize(
    ("arguments", "kind", "words"),
    [
        (["--name", "Third"], "ModelError", "Third"),
        (["--tear", "zzz"], "UnknownNameError", "no variable of that name"),
        (["--tear", "x"], "ArgumentError", "in no algebraic loop"),
        (["--tearing", "none"], "ArgumentError", "max-causal, cellier"),
        (["--form", "none"], "ArgumentError", "auto, ode, dae"),
        (["--path", "/nowhere"], "ModelError", "/nowhere"),
        (["--html", "/nowhere/page.html"], "OutputError", "could not be written"),
    ],
)
def test_errors_are_readable(file: str, arguments: list[str], kind: str, words: str) -> None:
    done = run("inspect", file, *arguments)
    assert done.exit_code == (2 if kind == "ArgumentError" else 1)
    assert done.stderr.startswith(f"{kind}: ")
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert not done.stdout


def test_errors_in_json(file: str) -> None:
    done = run("inspect", file, "--tear", "zzz", "--json")
    assert done.exit_code == 1
    assert json.loads(done.stdout)["error"]["type"] == "UnknownNameError"


def test_wrong_files_and_usage(tmp_path: Path) -> None:
    done = run("inspect", str(tmp_path / "none.mo"))
    assert done.exit_code == 1
    assert "does not exist" in done.stderr
    done = run("inspect", C_MODEL)
    assert done.exit_code == 1
    assert "equations are not known" in done.stderr
    assert run("inspect").exit_code == 2
    assert run("inspect", C_MODEL, "--unknown").exit_code == 2


# --------------------------------------------------------------------------------------------------- simulate


def test_simulate_modelica(file: str, tmp_path: Path) -> None:
    plot = tmp_path / "p.svg"
    done = run("simulate", file, "--stop", "1", "--plot", "x,a", "--plot-file", str(plot))
    assert done.exit_code == 0, done.stderr
    assert plot.is_file()
    first = json.loads(run("simulate", file, "--stop", "1", "--name", "First", "--json").stdout)
    assert first["model"] == "First"
    assert first["final"]["x"] == pytest.approx(0.36787944, rel=1e-5)


def test_simulate_with_load_options(file: str) -> None:
    usual = json.loads(run("simulate", file, "--stop", "1", "--param", "k=2", "--json").stdout)["final"]["x"]
    for options in (["--tear", "c"], ["--form", "dae"], ["--tearing", "cellier"], ["--no-aliases"]):
        done = run("simulate", file, "--stop", "1", "--param", "k=2", *options, "--json")
        assert done.exit_code == 0, done.stderr
        assert json.loads(done.stdout)["final"]["x"] == pytest.approx(usual, rel=1e-5)
    done = run("simulate", file, "--stop", "1", "--fold-parameters", "--param", "k=2")
    assert done.exit_code == 2
    assert done.stderr.startswith("ArgumentError: the parameter k cannot be changed")


def test_options_for_the_wrong_kind_of_file(file: str) -> None:
    done = run("simulate", C_MODEL, "--stop", "1", "--input", "u=1", "--tear", "v")
    assert done.exit_code == 2
    assert "for Modelica models" in done.stderr
    assert run("simulate", file, "--stop", "1", "--define", "A=1").exit_code == 2
