"""check_library: each example in a process, stages, comparison with references, reports, the command."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from support_cli import CliRunner

import pliant
from pliant.checking.compare import compare, deviation, read_reference, scale_of, tube
from pliant.checking.examples import example_names
from pliant.checking.worker import error_class
from pliant.cli import app

PACKAGE = """package Lib
  package Examples
    model Decay Real x(start = 1, fixed = true); equation der(x) = -x; annotation(experiment(StopTime = 1)); end Decay;
    model Wrong Real x(start = 1, fixed = true);
      equation der(x) = -1.2*x; annotation(experiment(StopTime = 2)); end Wrong;
    model Unread Missing m; annotation(experiment(StopTime = 1)); end Unread;
    model Singular Real x, y; equation x + y = 1; x + y = 2; annotation(experiment(StopTime = 1)); end Singular;
    model NoStart Real x; equation x^2 = -1 - time; annotation(experiment(StopTime = 1)); end NoStart;
    model Blows Real x(start = 1, fixed = true); equation der(x) = x^2; annotation(experiment(StopTime = 2)); end Blows;
    partial model Base annotation(experiment(StopTime = 1)); end Base;
    model Part Real x = time; end Part;
  end Examples;
end Lib;
"""
NAMES = ["Decay", "Wrong", "Unread", "Singular", "NoStart", "Blows"]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("libraries")
    (root / "Lib").mkdir()
    (root / "Lib" / "package.mo").write_text(PACKAGE)
    t = np.linspace(0.0, 2.0, 201)
    for name in ("Decay", "Wrong"):
        folder = root / "curves" / "Lib" / "Examples" / name
        folder.mkdir(parents=True)
        rows = "\n".join(f"{a!r},{math.exp(-a)!r}" for a in map(float, t))
        (folder / f"{name}.csv").write_text(f'"time","x"\n{rows}\n')
    return root


@pytest.fixture(scope="module")
def report(library: Path) -> pliant.LibraryReport:
    return pliant.check_library(library / "Lib", reference=library / "curves", jobs=2)


def test_examples_are_complete_models_with_a_stop_time(library: Path) -> None:
    names = [f"Lib.Examples.{one}" for one in NAMES]
    assert example_names(library / "Lib") == names
    assert example_names(library) == names


def test_stages(report: pliant.LibraryReport) -> None:
    stages = {
        row.name.split(".")[-1]: (row.frontend, row.structure, row.start, row.simulate, row.match)
        for row in report.rows
    }
    assert stages == {
        "Decay": (True, True, True, True, True),
        "Wrong": (True, True, True, True, False),
        "Unread": (False, None, None, None, None),
        "Singular": (True, False, None, None, None),
        "NoStart": (True, True, False, None, None),
        "Blows": (True, True, True, False, None),
    }
    assert report.counts == {"examples": 6, "frontend": 5, "structure": 4, "start": 3, "simulate": 2, "match": 1}
    decay, wrong = report.rows[:2]
    assert decay.nrmse < 1e-4
    assert decay.error == ""
    assert wrong.nrmse > 0.01
    assert wrong.signal == "x"
    assert all(row.error_class for row in report.rows[1:])
    assert len(report.failures) == 5


def test_files(report: pliant.LibraryReport, tmp_path: Path) -> None:
    found = json.loads(report.save(tmp_path / "r.json").read_text())
    assert found["counts"]["match"] == 1
    assert found["rows"][2]["frontend"] is False
    page = report.save(tmp_path / "r.html").read_text()
    assert "Lib.Examples.Blows" in page
    assert page.count("<table>") == 3
    assert "| Lib.Examples | 6 |" in report.save(tmp_path / "r.md").read_text()
    assert "Lib.Examples.Decay" in report.save(tmp_path / "r.txt").read_text()
    with pytest.raises(pliant.ArgumentError, match="reports are written as"):
        report.save(tmp_path / "r.csv")
    with pytest.raises(pliant.OutputError):
        report.save(tmp_path / "none" / "r.json")


def test_time_runs_out(library: Path) -> None:
    (row,) = pliant.check_library(library, names=["Lib.Examples.Decay"], timeout=0.01).rows
    assert row.frontend is False
    assert row.error_class.startswith("Timeout")


def test_command(library: Path, tmp_path: Path) -> None:
    (tmp_path / "names").write_text("# some\nLib.Examples.Decay\n")
    common = ["check-library", str(library / "Lib"), "--list", str(tmp_path / "names")]
    done = CliRunner().invoke(app, [*common, "--json", "--save", str(tmp_path / "r.html")])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["counts"]["simulate"] == 1
    assert (tmp_path / "r.html").is_file()
    done = CliRunner().invoke(app, [*common, "--timeout", "0.01"])
    assert done.exit_code == 3
    assert CliRunner().invoke(app, ["check-library", str(library / "nowhere")]).exit_code == 1


@pytest.mark.parametrize(
    "given", [{"jobs": 0}, {"timeout": -1.0}, {"names": [3]}, {"reference": "/nowhere-at-all"}, {"frontend": "x"}]
)
def test_arguments(library: Path, given: dict) -> None:
    with pytest.raises(pliant.ArgumentError):
        pliant.check_library(library / "Lib", **given)


def test_tube_forgives_shifts_in_time_not_in_value() -> None:
    t = np.linspace(0.0, 1.0, 1001)
    jump = (t > 0.5).astype(float)
    assert deviation(t, (t > 0.5015).astype(float), t, jump) == 0.0
    assert deviation(t, (t > 0.55).astype(float), t, jump) > 0.1
    assert deviation(t, jump + 0.05, t, jump) == pytest.approx(0.05, rel=1e-3)
    low, high = tube(t, t, 0.002)
    assert high[500] - low[500] == pytest.approx(0.004)


def test_scales_of_constants_and_noise() -> None:
    assert scale_of(np.array([5.0, 5.0])) == 5e-3
    assert scale_of(np.zeros(3)) == 1e-9
    t = np.array([0.0, 1.0])
    assert deviation(t, np.array([0.0, 1e-14]), t, np.array([1e-15, -1e-15])) < 0.01


def test_what_is_missing_or_no_number_does_not_match() -> None:
    t = np.array([0.0, 1.0])
    found = compare({"time": t}, {"time": t, "x": t})
    assert found is not None
    assert found.missing
    assert not found.matches
    found = compare({"time": t, "x": np.array([0.0, np.nan])}, {"time": t, "x": t})
    assert found is not None
    assert not found.matches
    assert compare({"time": t}, {"time": t}) is None


def test_references_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")
    (tmp_path / "b.csv").write_text("time,y\n")
    for name in ("a.csv", "b.csv"):
        with pytest.raises(pliant.ArgumentError):
            read_reference(tmp_path / name)


def test_classes_of_failure() -> None:
    first = error_class("ModelError", "/a/B.mo:12:3: parameter `a.b`: `f` gives 3 values")
    assert first == "ModelError: `…` gives n values"
    assert first == error_class("ModelError", "C.mo:1:1: parameter `x`: `g` gives 12.5e-3 values")
