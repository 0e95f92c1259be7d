"""The command line: what it prints, what it writes, how it ends."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from support_cli import CliRunner

import pliant
from pliant.cli import app
from pliant.tour import SECTIONS

RC = str(Path(__file__).parent.parent / "examples" / "rc_input.c")
SLOW = """
#include "pliant.h"
static const pl_real x_start[] = {1.0, 0.0};
static pl_status rhs(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real *f) {
    (void)self, (void)t, (void)u;
    f[0] = x[1];
    f[1] = -1e6 * x[0];
    return PL_OK;
}
const pl_model pliant_model = {.abi = PL_ABI, .n_x = 2, .name = "slow", .x_start = x_start, .rhs = rhs};
"""


def run(*arguments: str) -> Any:
    return CliRunner().invoke(app, list(arguments))


@pytest.fixture
def slow(tmp_path: Path) -> str:
    """Oscillates so fast that it never ends."""
    path = tmp_path / "slow.c"
    path.write_text(SLOW)
    return str(path)


def test_version() -> None:
    done = run("--version")
    assert done.exit_code == 0
    assert re.fullmatch(r"pliant \S+\n", done.stdout)


def test_final_values_are_written_by_type(tmp_path: Path) -> None:
    file = tmp_path / "typed.mo"
    file.write_text("""
model Typed
  type Mode = enumeration(off, on);
  Boolean hot = time > 0.5, cold = not hot;
  Integer n = if hot then 3 else 1;
  Mode mode = if hot then Mode.on else Mode.off;
  Real x = 0.5*time;
end Typed;
""")
    done = run("simulate", str(file), "--stop", "1")
    assert done.exit_code == 0
    shown = dict(line.split() for line in done.stdout.splitlines() if len(line.split()) == 2)
    expected = {"hot": "true", "cold": "false", "n": "3", "mode": "on", "x": "0.5"}
    assert {name: shown[name] for name in expected} == expected


def test_help_names_the_commands() -> None:
    done = run("--help")
    assert done.exit_code == 0
    assert "simulate" in done.stdout
    assert "tour" in done.stdout


def test_simulate_shows_end_values_and_work() -> None:
    done = run("simulate", RC, "--stop", "5", "--input", "u=1", "--param", "R=2")
    assert done.exit_code == 0, done.stderr
    assert re.search(r"^v\s+0\.99326", done.stdout, re.MULTILINE)
    assert re.search(r"bdf: \d+ steps, \d+ evaluations of f", done.stdout)


def test_json_is_all_there_is() -> None:
    done = run("simulate", RC, "--stop", "5", "--input", "u=1", "--json")
    assert done.exit_code == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["model"] == "rc"
    assert answer["complete"] is True
    assert answer["time"] == 5.0
    assert answer["final"]["v"] == pytest.approx(1 - 4.54e-5, abs=1e-6)
    assert answer["stats"]["method"] == "bdf"
    assert answer["manifest"]["options"]["rtol"] == 1e-6


def test_arguments_reach_the_solver() -> None:
    done = run(
        *("simulate", RC, "--stop", "2", "--start", "1", "--method", "rk4", "--step", "0.01", "--points", "11"),
        *("--start-value", "v=3", "--output", "v", "--json"),
    )
    assert done.exit_code == 0, done.stderr
    answer = json.loads(done.stdout)
    assert list(answer["final"]) == ["v"]
    assert answer["stats"]["n_steps"] == 100
    assert answer["final"]["v"] == pytest.approx(3 * 0.1353352832, rel=1e-6)


def test_solver_options_and_steps(tmp_path: Path) -> None:
    file = tmp_path / "r.csv"
    done = run(
        *("simulate", RC, "--stop", "1", "--input", "u=1", "--steps", "--option", "max_step=0.01"),
        *("--option", "jacobian=differences", "--save", str(file)),
    )
    assert done.exit_code == 0, done.stderr
    result = pliant.load_result(file)
    assert len(result) == result.stats.n_steps + 1 >= 101


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".mat"])
def test_save(tmp_path: Path, suffix: str) -> None:
    file = tmp_path / f"r{suffix}"
    done = run("simulate", RC, "--stop", "1", "--input", "u=1", "--save", str(file))
    assert done.exit_code == 0, done.stderr
    result = pliant.load_result(file)
    assert result.time[-1] == 1.0
    assert result.manifest["model"]["name"] == "rc"


def test_plot_file(tmp_path: Path) -> None:
    file = tmp_path / "p.svg"
    done = run("simulate", RC, "--stop", "1", "--input", "u=1", "--plot", "v, i", "--plot-file", str(file))
    assert done.exit_code == 0, done.stderr
    assert file.read_text().lstrip().startswith("<?xml")


def test_input_table(tmp_path: Path) -> None:
    table = tmp_path / "u.csv"
    table.write_text("time,u\n0,0\n1,0\n1,1\n2,1\n")
    done = run("simulate", RC, "--stop", "2", "--input", f"u={table}", "--rtol", "1e-8", "--json")
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["final"]["v"] == pytest.approx(1 - 0.1353352832, abs=1e-6)


def test_defines(tmp_path: Path) -> None:
    file = tmp_path / "m.c"
    file.write_text(SLOW.replace("-1e6", "-STIFFNESS"))
    done = run("simulate", str(file), "--stop", "1", "--define", "STIFFNESS=0", "--json")
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["final"]["x[0]"] == 1.0


# ----------------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("arguments", "kind", "words"),
    [
        (["--param", "Q=1"], "UnknownNameError", "no parameter 'Q'"),
        (["--param", "R=-1"], "ModelError", "R and C must be positive"),
        (["--method", "bfd"], "ArgumentError", "did you mean 'bdf'?"),
        (["--rtol", "-1"], "ArgumentError", "rtol"),
        (["--option", "maxstep=1"], "ArgumentError", "did you mean 'max_step'"),
        (["--save", "r.xls"], "ArgumentError", ".parquet"),
    ],
)
def test_errors_are_readable(arguments: list[str], kind: str, words: str) -> None:
    done = run("simulate", RC, "--stop", "1", *arguments)
    assert done.exit_code == (2 if kind == "ArgumentError" else 1)
    assert done.stderr.startswith(f"{kind}: ")
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert not done.stdout


def test_errors_in_json() -> None:
    done = run("simulate", RC, "--stop", "1", "--param", "Q=1", "--json")
    assert done.exit_code == 1
    error = json.loads(done.stdout)["error"]
    assert error["type"] == "UnknownNameError"
    assert error["hint"]


def test_missing_file_and_bad_text(tmp_path: Path) -> None:
    done = run("simulate", str(tmp_path / "none.c"), "--stop", "1")
    assert done.exit_code == 1
    assert "there is no file" in done.stderr
    bad = tmp_path / "bad.c"
    bad.write_text("int x = ;\n")
    done = run("simulate", str(bad), "--stop", "1")
    assert done.exit_code == 1
    assert done.stderr.startswith("CompileError")


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--stop", "x"],
        ["--stop", "1", "--param", "R"],
        ["--stop", "1", "--param", "R=x"],
        ["--stop", "1", "--input", "u=x"],
    ],
)
def test_wrong_usage(arguments: list[str]) -> None:
    assert run("simulate", RC, *arguments).exit_code == 2


def test_timeout_saves_what_there_is(slow: str, tmp_path: Path) -> None:
    file = tmp_path / "r.csv"
    arguments = ["--stop", "1e9", "--points", "1000001", "--timeout", "0.3", "--save", str(file), "--json"]
    done = run("simulate", slow, *arguments)
    assert done.exit_code == 1
    assert "SimulationTimeout" in done.stderr
    assert "saved the result" in done.stderr
    answer = json.loads(done.stdout)
    assert answer["complete"] is False
    assert answer["error"]["time"] > 0
    assert not pliant.load_result(file).complete


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_interrupt_saves_what_there_is(slow: str, tmp_path: Path) -> None:
    file = tmp_path / "r.csv"
    pliant.native(slow)  # compiled now: the run itself is to be interrupted
    command = [sys.executable, "-m", "pliant.cli", "simulate", slow, "--stop", "1e9", "--save", str(file)]
    for wait in (1.5, 3.0, 6.0, 12.0, 24.0):  # longer where the machine is so busy that the run has not begun
        child = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=dict(os.environ))
        time.sleep(wait)
        child.send_signal(signal.SIGINT)
        _, stderr = child.communicate(timeout=60)
        if "SimulationInterrupted" in stderr:
            break
    assert child.returncode == 130, stderr
    assert "SimulationInterrupted" in stderr
    assert not pliant.load_result(file).complete


# ------------------------------------------------------------------------------------------------------- tour


def test_tour(tmp_path: Path) -> None:
    begin = time.perf_counter()
    done = run("tour", "--out", str(tmp_path / "t"), "--no-open")
    took = time.perf_counter() - begin
    assert done.exit_code == 0, done.stderr
    assert took < 60
    page = (tmp_path / "t" / "index.html").read_text("utf-8")
    titles = re.findall(r"<h2><span>\d+</span>(.*?)</h2>", page)
    assert len(titles) == len(SECTIONS) >= 12
    for title in titles:
        assert title in done.stdout
    new = ("modelica", "index", "start")
    for what in (*new, "stiff", "native", "dae", "events", "inputs", "sparse", "files", "errors", "manifest"):
        assert f'<section id="{what}">' in page
        assert f'<a href="#{what}">' in page
    assert page.count("<svg") >= 9
    assert "Circuit: 10 equations, index 1, 1 state" in page
    assert "Index 3, 2 equations added by differentiation" in page
    assert "Time constants 262 s and 38 s" in page
    for word in ("nothing was refused", "no error<", ">nan<"):
        assert word not in page
    assert "bit for bit" in page
    assert not re.search(r"(src|href)=\"https?:", page), "the page needs nothing from outside"
    for suffix in (".csv", ".parquet", ".mat"):
        assert (tmp_path / "t" / f"ball{suffix}").is_file()


def test_tour_needs_a_folder_it_can_write(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = run("tour", "--out", str(tmp_path / "file"), "--no-open")
    assert done.exit_code == 1
    assert done.stderr.startswith("OutputError")
