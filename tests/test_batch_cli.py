"""pliant sweep"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pandas as pd
import pytest
from support_cli import CliRunner

import pliant
from pliant.cli import app

TEXT = """model Decay
  parameter Real k = 1;
  Real x(start = 1, fixed = true);
equation
  der(x) = -k*x;
  assert(x > 0.01, "too small");
end Decay;
"""


def run(*arguments: str | Path) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["sweep", *map(str, arguments)])
    return done.exit_code, done.output


def files(folder: Path, values: str) -> tuple[Path, Path]:
    (folder / "decay.mo").write_text(TEXT)
    (folder / "cases.csv").write_text(values)
    return folder / "decay.mo", folder / "cases.csv"


def test_sweep(tmp_path: Path) -> None:
    model, cases = files(tmp_path, "k\n1\n2\n3\n")
    code, text = run(
        model, "--cases", cases, "--stop", 1, "--save", tmp_path / "s", "--workers", 1,
        "--table", tmp_path / "t.csv", "--report", tmp_path / "r.html",
    )  # fmt: skip
    assert code == 0
    assert "3 fine, 0 failed" in text
    assert pliant.open_study(tmp_path / "s")[1]["x"] == pd.read_csv(tmp_path / "t.csv")["x"][1]
    assert "Study of Decay" in (tmp_path / "r.html").read_text()


def test_failed_cases_have_a_code_of_their_own(tmp_path: Path) -> None:
    model, cases = files(tmp_path, "k\n1\n9\n")
    code, text = run(model, "--cases", cases, "--stop", 1, "--json")
    assert code == 3
    told = json.loads(text)
    assert told["n"] == 2
    assert told["n_failed"] == 1
    assert "too small" in told["failures"]["1"]
    assert told["final"]["x"][1] is None


def test_bad_usage(tmp_path: Path) -> None:
    model, cases = files(tmp_path, "k\n1\n")
    assert run(model, "--cases", cases)[0] == 2  # no stop
    model, cases = files(tmp_path, "kk\n1\n")
    code, text = run(model, "--cases", cases, "--stop", 1)
    assert code == 1
    assert "kk" in text
    assert run(model, "--cases", tmp_path / "nowhere.csv", "--stop", 1)[0] == 2
    assert run(model, "--cases", cases, "--stop", 1, "--table", "t.doc")[0] == 2


def test_pages_and_tables_go_without_pandas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The base installation has none."""
    monkeypatch.setitem(sys.modules, "pandas", None)
    model, cases = files(tmp_path, "k\n1\n9\n")
    for name in ("t.csv", "t.parquet"):
        done = run(model, "--cases", cases, "--stop", 1, "--table", tmp_path / name, "--report", tmp_path / "r.html")
        assert done[0] == 3, done[1]
    head, first, second = (tmp_path / "t.csv").read_text().splitlines()
    assert head.split(",")[:3] == ['"case"', '"k"', '"x"']
    assert float(first.split(",")[2]) == pytest.approx(0.36788, rel=1e-4)
    assert "too small" in second
    assert "Slowest cases" in (tmp_path / "r.html").read_text()
