"""pliant cosim and its file."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from support_cli import CliRunner
from support_cosim import EXAMPLES, spring_damper

import pliant
from pliant.cli import app
from pliant.cosim.system import read_system

FILES = sorted(EXAMPLES.glob("*.toml"))


def run(*arguments: object) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["cosim", *(str(one) for one in arguments)])
    return done.exit_code, done.output


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_examples_run(file: Path) -> None:
    code, text = run(file, "--stop", 0.1, "--json")
    assert code == 0, text
    told = json.loads(text)
    assert told["complete"]
    assert told["time"] == 0.1
    assert told["manifest"]["parts"]


def test_the_file_says_the_same_as_python() -> None:
    system = read_system(EXAMPLES / "spring_damper.toml", pliant.load)
    first = system.coupling.simulate(**system.arguments)
    second = spring_damper().simulate(stop=2, step=0.02, atol=1e-6)
    assert first.values.tobytes() == second.values.tobytes()


def test_pictures_and_files(tmp_path: Path) -> None:
    code, text = run(
        EXAMPLES / "spring_damper.toml", "--save", tmp_path / "r.csv", "--graph", tmp_path / "g.png", "--plot",
        "left.x,right.x", "--plot-file", tmp_path / "p.png", "--step", 0.1, "--scheme", "gauss-seidel",
    )  # fmt: skip
    assert code == 0, text
    assert "left: bdf" in text
    assert len(pliant.load_result(tmp_path / "r.csv")) == 21
    assert (tmp_path / "g.png").exists()
    assert (tmp_path / "p.png").exists()


def test_compare(tmp_path: Path) -> None:
    code, text = run(EXAMPLES / "spring_damper.toml", "--compare", "--steps-file", tmp_path / "s.png")
    assert code == 0, text
    assert all(name in text for name in ("restart", "proceed", "x1", "x2", "correct"))
    assert (tmp_path / "s.png").exists()
    code, text = run(EXAMPLES / "spring_damper.toml", "--compare", "--json")
    rows = {one["at_jump"]: one for one in json.loads(text)["strategies"]}
    assert rows["correct"]["total"] < 0.3 * rows["restart"]["total"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("stop = ", "is not TOML"),
        ("step = 1\n[parts.a]\nfile = 'x.mo'", "stop is missing"),
        ("stop = 1\nstep = 0.1\nstep_size = 2\n[parts.a]\nfile = 'x.mo'", "no key 'step_size'"),
        ("stop = 1\nstep = 0.1\n[parts.a]\nfile = 'nowhere.mo'", "part 'a'.*nowhere"),
        ("stop = 1\nstep = 0.1\n[parts.a]\nclass = 'A'", "parts.a has no file"),
        ("stop = 1\nstep = 0.1\n[parts.a]\nfile = 'spring_damper_left.mo'\nmethods = 'bdf'", "no key 'methods'"),
        ("stop = 1\nstep = 0.1\nconnections = ['a.x b.u']\n[parts.a]\nfile = 'spring_damper_left.mo'", "no arrow"),
        ("stop = 1\nstep = 0.1\nconnections = 3\n[parts.a]\nfile = 'spring_damper_left.mo'", "list of texts"),
        ("stop = 1\nstep = 0.1\nparts = 3", "must be a table"),
        ("stop = 1\nstep = 0.1\n[inputs]\n'a.x2' = 'no.csv'\n[parts.a]\nfile = 'spring_damper_left.mo'", "no.csv"),
        ("stop = 1\nstep = 0.1\n[parts.a]\nfile = 'spring_damper_left.mo'", "not connected: a.x2, a.v2"),
        ("stop = 1\nstep = 0\n[parts.a]\nfile = 'spring_damper_left.mo'\n", "must be positive"),
    ],
)
def test_files_that_make_no_sense(text: str, words: str, tmp_path: Path) -> None:
    for file in EXAMPLES.glob("*.mo"):
        shutil.copy(file, tmp_path)
    (tmp_path / "s.toml").write_text(text)
    with pytest.raises(pliant.PliantError, match=words):  # noqa: PT012
        system = read_system(tmp_path / "s.toml", pliant.load)
        system.coupling.simulate(**system.arguments)
    assert run(tmp_path / "s.toml")[0] == 1


def test_tables_from_files(tmp_path: Path) -> None:
    (tmp_path / "m.mo").write_text(
        "model M\n input Real u;\n Real x(start = 0, fixed = true);\nequation\n der(x) = u;\nend M;\n"
    )
    (tmp_path / "u.csv").write_text("time,u\n0,1\n1,3\n")
    (tmp_path / "s.toml").write_text(
        "stop = 1\nstep = 0.1\nsave = 'out.csv'\noutputs = ['m.x']\n"
        "[inputs]\n'm.u' = 'u.csv'\n[parts.m]\nfile = 'm.mo'\n"
    )
    code, text = run(tmp_path / "s.toml")
    assert code == 0, text
    back = pliant.load_result(tmp_path / "out.csv")
    assert back["m.x"][-1] == pytest.approx(2.0, abs=1e-6)
    assert "m.u" not in back.names


def test_failure_keeps_the_result(tmp_path: Path) -> None:
    (tmp_path / "m.mo").write_text(
        "model M\n Real x(start = 1, fixed = true), y(start = 0, fixed = true);\nequation\n der(x) = -1;\n"
        " der(y) = sqrt(x - 0.495);\nend M;\n"
    )
    (tmp_path / "s.toml").write_text("stop = 1\nstep = 0.1\n[parts.m]\nfile = 'm.mo'\n")
    code, text = run(tmp_path / "s.toml", "--save", tmp_path / "r.csv")
    assert code == 1
    assert "part 'm' failed" in text
    assert pliant.load_result(tmp_path / "r.csv").time[-1] == pytest.approx(0.5)
