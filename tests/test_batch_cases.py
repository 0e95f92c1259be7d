"""Cases of a study: every kind that can be given, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import pliant

TEXT = """
model Tank
  parameter Real k = 2, area(min = 0.1) = 1;
  parameter Integer n = 3;
  input Boolean fast(start = false);
  input Real u(start = 0.5);
  Real h(start = 1, fixed = true), y;
equation
  area*der(h) = u - k*h*(if fast then 2 else 1)/n;
  y = 3*h;
end Tank;
"""


@pytest.fixture(scope="module")
def tank() -> pliant.Model:
    return pliant.load(TEXT)


def exact(k: float = 2, u: float = 0.5, h: float = 1, stop: float = 1, n: int = 3, fast: bool = False) -> float:
    rate = k * (2 if fast else 1) / n
    return u / rate + (h - u / rate) * float(np.exp(-rate * stop))


COLUMNS = {"k": [1.0, 2.5, 4.0], "u": [0.0, 1.0, 2.0], "start(h)": [0.5, 1.5, 2.5], "stop": [0.5, 1.0, 2.0]}


def as_kind(kind: str, folder: Path) -> Any:
    frame = pd.DataFrame(COLUMNS)
    if kind == "mappings":
        return [
            {"parameters": {"k": k}, "inputs": {"u": u}, "start_values": {"h": h}, "stop": stop, "name": f"c{k}"}
            for k, u, h, stop in zip(*COLUMNS.values(), strict=True)
        ]
    if kind == "scenarios":
        return [
            pliant.Scenario(parameters={"k": k}, inputs={"u": u}, start_values={"h": h}, stop=stop)
            for k, u, h, stop in zip(*COLUMNS.values(), strict=True)
        ]
    if kind == "pandas":
        return frame
    if kind == "arrow":
        return pa.table(COLUMNS)
    file = folder / f"cases.{kind}"
    if kind == "csv":
        frame.to_csv(file, index=False)
    else:
        frame.to_parquet(file)
    return str(file) if kind == "csv" else file


@pytest.mark.parametrize("kind", ["mappings", "scenarios", "pandas", "arrow", "csv", "parquet"])
def test_every_kind_of_cases_gives_the_same(tank: pliant.Model, kind: str, tmp_path: Path) -> None:
    study = tank.simulate_many(as_kind(kind, tmp_path), keep="final", rtol=1e-8)
    assert len(study) == 3
    assert not study.failures
    for k, row in enumerate(zip(*COLUMNS.values(), strict=True)):
        assert study[k]["h"] == pytest.approx(exact(row[0], row[1], row[2], row[3]), rel=1e-6)


def test_designs(tank: pliant.Model) -> None:
    grid = pliant.design.grid({"k": [1, 2], "u": [0.0, 1.0, 2.0]})
    assert len(grid) == 6
    assert grid[4] == {"k": 2.0, "u": 1.0}
    cube = pliant.design.latin_hypercube({"k": (1.0, 2.0), "area": (0.1, 10.0, "log")}, n=16, seed=3)
    assert sorted(np.floor((cube.values[:, 0] - 1) * 16).astype(int)) == list(range(16))
    logs = np.log10(cube.values[:, 1])
    assert sorted(np.floor((logs + 1) * 8).astype(int)) == list(range(16))
    sobol = pliant.design.sobol({"k": (1.0, 2.0)}, n=32)
    assert abs(sobol.values.mean() - 1.5) < 0.02
    again = pliant.design.sobol({"k": (1.0, 2.0)}, n=32)
    assert np.array_equal(sobol.values, again.values)
    other = pliant.design.sobol({"k": (1.0, 2.0)}, n=32, seed=1)
    assert not np.array_equal(sobol.values, other.values)
    for design in (grid, cube[:5], sobol):
        study = tank.simulate_many(design, stop=1.0, keep="final")
        assert len(study) == len(design)
        assert not study.failures
    assert list(cube.to_pandas().columns) == ["k", "area"]
    assert cube.as_dict()["names"] == ["k", "area"]


def test_types_and_tables_of_inputs(tank: pliant.Model) -> None:
    frame = pd.DataFrame({"n": [1, 2], "fast": [True, False]})
    study = tank.simulate_many(frame, stop=1.0, keep="final", rtol=1e-9)
    assert study[0]["h"] == pytest.approx(exact(n=1, fast=True), rel=1e-6)
    assert study[1]["h"] == pytest.approx(exact(n=2), rel=1e-6)
    cases = [{"inputs": {"u": ([0.0, 1.0], [0.0, 1.0])}}, {"inputs": {"u": 1.0}, "parameters": {"k": 1.0}}]
    study = tank.simulate_many(cases, stop=1.0)
    for k, case in enumerate(cases):
        alone = tank.simulate(stop=1.0, **case)
        assert np.array_equal(study[k].values, alone.values)


def test_booleans_and_names_from_csv(tank: pliant.Model, tmp_path: Path) -> None:
    file = tmp_path / "c.csv"
    file.write_text("# comment\nname;fast;k\nslow;false;2\n\nquick;true;2\n")
    study = tank.simulate_many(file, stop=1.0, keep="final")
    assert study[1]["h"] < study[0]["h"]
    table = study.table()
    assert list(table["name"]) == ["slow", "quick"]
    assert {"k", "fast", "h", "y", "error", "seconds"} <= set(table.columns)
    assert table["y"].tolist() == pytest.approx([3 * study[0]["h"], 3 * study[1]["h"]])


BAD: dict[str, tuple[Any, str]] = {
    "unknown column": (pd.DataFrame({"kk": [1.0]}), "kk"),
    "unknown state": (pd.DataFrame({"start(hh)": [1.0]}), "hh"),
    "NaN": (pd.DataFrame({"k": [1.0, np.nan]}), "case 1"),
    "text": (pd.DataFrame({"k": ["a", "b"]}), "'a'"),
    "missing value": (pa.table({"k": [1.0, None]}), "case 1"),
    "no rows": (pd.DataFrame({"k": []}), "no cases"),
    "a mapping": ({"parameters": {"k": 1.0}}, "several"),
    "no mapping": ([3.0], "mapping"),
    "unknown part": ([{"params": {"k": 1.0}}], "params"),
    "unknown name in a mapping": ([{"parameters": {"k": 1.0}}, {"parameters": {"q": 1.0}}], "case 1"),
    "infinite": ([{"parameters": {"k": float("inf")}}], "finite"),
    "wrong type": ([{"parameters": {"k": "fast"}}], "k"),
    "no whole number": (pd.DataFrame({"n": [1.5]}), "integer"),
    "no file": ("nowhere.csv", "nowhere.csv"),
    "number": (3, "several"),
    "empty list": ([], "no cases"),
    "start values": ([{"start_values": [1.0]}], "start_values"),
    "stop": ([{"stop": "late"}], "stop"),
    "an unknown input": ([{"inputs": {"v": 1.0}}], "v"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_cases_are_refused_before_anything_runs(tank: pliant.Model, what: str) -> None:
    cases, words = BAD[what]
    with pytest.raises(pliant.PliantError, match=words.replace("(", r"\(")) as caught:
        tank.simulate_many(cases, stop=1.0)
    assert isinstance(caught.value, (pliant.ArgumentError, pliant.UnknownNameError))
    assert caught.value.hint


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("k,u\n1\n", "line 2"),
        ("1,2\n3,4\n", "numbers, not names"),
        ("k,k\n1,2\n", "several columns"),
        ("k\n1\n\nx\n", "line 4"),
        ("k,u\n1,\n", "empty in line 2"),
        ("", "empty"),
    ],
)
def test_bad_files(tank: pliant.Model, text: str, words: str, tmp_path: Path) -> None:
    file = tmp_path / "c.csv"
    file.write_text(text)
    with pytest.raises(pliant.ArgumentError, match=words):
        tank.simulate_many(file, stop=1.0)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "stop"),
        ({"stop": 1.0, "workers": 0}, "workers"),
        ({"stop": 1.0, "case_timeout": -1.0}, "case_timeout"),
        ({"stop": 1.0, "executor": "gpu"}, "executor"),
        ({"stop": 1.0, "keep": 3}, "keep"),
        ({"stop": 1.0, "keep": ["nothing"]}, "nothing"),
        ({"stop": 1.0, "rtoll": 1e-6}, "rtoll"),
        ({"stop": 1.0, "method": "magic"}, "magic"),
        ({"stop": 1.0, "parameters": {"kk": 1.0}}, "kk"),
        ({"stop": 1.0, "progress": "yes"}, "progress"),
    ],
)
def test_bad_arguments_are_refused_at_once(tank: pliant.Model, arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(pliant.PliantError, match=words):
        tank.simulate_many([{"parameters": {"k": 1.0}}], **arguments)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: pliant.design.grid({}), "empty"),
        (lambda: pliant.design.grid({"k": ["a"]}), "numbers"),
        (lambda: pliant.design.grid([1]), "mapping"),
        (lambda: pliant.design.latin_hypercube({"k": (2.0, 1.0)}, n=3), "range"),
        (lambda: pliant.design.latin_hypercube({"k": (1.0, 2.0)}, n=0), "n must"),
        (lambda: pliant.design.latin_hypercube({"k": 3.0}, n=2), "low, high"),
        (lambda: pliant.design.sobol({"k": (0.0, 2.0, "log")}, n=4), "begins at"),
        (lambda: pliant.design.sobol({"k": (0.0, 2.0)}, n=4, seed=-1), "seed"),
    ],
)
def test_bad_designs(call: Any, words: str) -> None:
    with pytest.raises(pliant.ArgumentError, match=words):
        call()
