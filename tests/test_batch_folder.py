"""Folders of studies: what comes out of them is what went in, whatever happened while they were written."""

from __future__ import annotations

import multiprocessing
import pickle
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import pliant
from pliant.batch.folder import store

DRIVE = """
model Drive
  parameter Real k(unit = "N/m") = 10, c = 0.5;
  final parameter Real w = sqrt(k);
  input Real u(start = 0.1);
  Real x(start = 1, fixed = true, unit = "m"), v(start = 0, fixed = true, unit = "m/s");
  Real y, z;
  output Real other;
equation
  der(x) = v;
  der(v) = -k*x - c*v + u;
  y = 2*x;
  other = -y;
  z = w*v;
end Drive;
"""
BALL = """
model Ball
  parameter Real e = 0.7, last = 100;
  Real h(start = 1, fixed = true, unit = "m"), v(start = 0, fixed = true);
  discrete Integer n(start = 0, fixed = true);
equation
  der(h) = v;
  der(v) = -9.81;
  when h < 0 then
    reinit(v, -e*pre(v));
    n = pre(n) + 1;
  end when;
  when time > last then
    terminate("enough");
  end when;
end Ball;
"""
CASES: dict[str, tuple[str, Any]] = {
    "Drive": (DRIVE, pliant.design.grid({"k": [5.0, 20.0], "start(x)": [1.0, 2.0]})),
    "Ball": (BALL, [{"parameters": {"last": 0.7}}, {"parameters": {"e": 0.3}}, {"start_values": {"h": 2.0}}]),
}


@pytest.fixture(scope="module", params=list(CASES))
def pair(request: pytest.FixtureRequest) -> tuple[pliant.Model, Any]:
    text, cases = CASES[request.param]
    return pliant.load(text), cases


def facts(result: pliant.Result) -> dict[str, Any]:
    """Everything that two results may differ in, but for times of clocks and what is computed on demand."""
    stats = {name: value for name, value in result.stats.as_dict().items() if name != "seconds"}
    names = [name for name in result.names if name not in result.lazy_names]
    return {
        "values": {name: result[name].tolist() for name in names},
        "units": {name: result.unit(name) for name in (*names, *result.parameters)},
        "types": {name: result.type(name) for name in names},
        "aliases": dict(result.aliases),
        "parameters": dict(result.parameters),
        "events": [str(event) for event in result.events],
        "around": [(event.before.tolist(), event.after.tolist()) for event in result.events],
        "states": result.states,
        "info": {name: str(info) for name, info in result.info.items()},
        "complete": result.complete,
        "final": result.final,
        "stats": stats,
    }


@pytest.mark.parametrize("executor", ["threads", "processes"])
@pytest.mark.parametrize("points", [7, None])
def test_results_of_a_folder_are_like_fresh_ones(
    pair: tuple[pliant.Model, Any], executor: str, points: int | None, tmp_path: Path
) -> None:
    model, cases = pair
    fresh = model.simulate_many(cases, stop=1.5, points=points)
    saved = model.simulate_many(cases, stop=1.5, points=points, executor=executor, save=tmp_path / "s")
    opened = pliant.open_study(tmp_path / "s")
    assert len(fresh) == len(opened) > 2
    for k in range(len(fresh)):
        assert facts(saved[k]) == facts(fresh[k])
        assert facts(opened[k]) == facts(fresh[k])
        assert facts(pickle.loads(pickle.dumps(opened))[k]) == facts(fresh[k])
        assert saved[k].names == fresh[k].names  # what is computed on demand comes from the model
        assert "steps" in str(saved[k].explain())


def test_final_values_of_a_folder_have_their_aliases(pair: tuple[pliant.Model, Any], tmp_path: Path) -> None:
    model, cases = pair
    fresh = model.simulate_many(cases, stop=1.5, keep="final")
    model.simulate_many(cases, stop=1.5, keep="final", save=tmp_path / "s")
    assert list(pliant.open_study(tmp_path / "s")) == list(fresh)


NAMES = ["x", "y", "other", "der(x)", "u", "k", "w", "z"]


@pytest.mark.parametrize("names", [[one] for one in NAMES] + [NAMES], ids="+".join)
def test_names_of_every_kind_are_kept(names: list[str], tmp_path: Path) -> None:
    model, cases = pliant.load(DRIVE), CASES["Drive"][1]
    memory = model.simulate_many(cases, stop=1.0, points=5, keep=names)
    model.simulate_many(cases, stop=1.0, points=5, keep=names, save=tmp_path / "s")
    folder = pliant.open_study(tmp_path / "s")
    curves = pd.read_parquet(tmp_path / "s" / "curves")
    for k, case in enumerate(cases):
        alone = model.simulate(stop=1.0, points=5, parameters={"k": case["k"]}, start_values={"x": case["start(x)"]})
        for study in (memory, folder):
            for name in names:
                assert np.array_equal(study[k][name], alone[name])
                column = name if name != "k" else "k (final)"
                assert study.table()[column][k] == alone[name][-1]
        assert np.array_equal(curves[curves["case"] == k][names], alone[tuple(names)])


class Stopped(BaseException):
    """The end of a program, at any file."""


def each_case_once(folder: Path, n: int, curves: bool) -> None:
    assert sorted(pd.read_parquet(folder / "final")["case"]) == list(range(n))
    if curves:
        assert sorted(pd.read_parquet(folder / "runs")["case"]) == list(range(n))
        assert pd.read_parquet(folder / "curves").groupby("case").size().tolist() == [5] * n


@pytest.mark.parametrize("keep", [None, "final"])
@pytest.mark.parametrize("when", range(7))
def test_ended_at_any_file_and_started_again(
    keep: Any, when: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, cases = pliant.load(DRIVE), CASES["Drive"][1]
    count, write = 0, store._write_bytes

    def stopping(file: Path, data: Any) -> None:
        nonlocal count
        count += 1
        if count > when:
            raise Stopped
        write(file, data)

    def run() -> pliant.Study:
        return model.simulate_many(cases, stop=1.0, points=5, keep=keep, save=tmp_path / "s")

    monkeypatch.setattr(store, "_write_bytes", stopping)
    monkeypatch.setattr(store, "FLUSH_SECONDS", -1.0)  # a part for each block
    try:
        run()
    except Stopped:
        assert count == when + 1
    monkeypatch.setattr(store, "_write_bytes", write)
    assert run().complete
    each_case_once(tmp_path / "s", 4, keep is None)
    assert pliant.open_study(tmp_path / "s").n_failed == 0


@pytest.mark.parametrize("when", range(5))
def test_ctrl_c_at_any_file_gives_the_study_so_far(when: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, cases = pliant.load(DRIVE), CASES["Drive"][1]
    count, write = 0, store._write_bytes

    def stopping(file: Path, data: Any) -> None:
        nonlocal count
        count += 1
        if count == when + 1:
            raise KeyboardInterrupt
        write(file, data)

    monkeypatch.setattr(store, "_write_bytes", stopping)
    with pytest.raises(pliant.SimulationInterrupted) as caught:
        model.simulate_many(cases, stop=1.0, points=5, save=tmp_path / "s")
    assert isinstance(caught.value.result, pliant.Study)
    assert len(caught.value.result) == 4
    assert model.simulate_many(cases, stop=1.0, points=5, save=tmp_path / "s").complete
    each_case_once(tmp_path / "s", 4, curves=True)


@pytest.mark.parametrize("kind", ["final", "curves", "runs"])
def test_removed_files_are_simulated_again(kind: str, tmp_path: Path) -> None:
    model, cases = pliant.load(DRIVE), CASES["Drive"][1]

    def run() -> pliant.Study:
        return model.simulate_many(cases, stop=1.0, points=5, save=tmp_path / "s")

    first = facts(run()[1])
    opened = pliant.open_study(tmp_path / "s")
    for file in (tmp_path / "s" / kind).iterdir():
        file.unlink()
    with pytest.raises(pliant.ArgumentError, match="no longer holds case 1"):
        opened[1]
    assert pliant.open_study(tmp_path / "s").n_done == 0
    assert facts(run()[1]) == first
    each_case_once(tmp_path / "s", 4, curves=True)


@pytest.mark.parametrize("kind", ["final", "curves", "runs"])
def test_a_damaged_file_is_named(kind: str, tmp_path: Path) -> None:
    model, cases = pliant.load(DRIVE), CASES["Drive"][1]
    model.simulate_many(cases, stop=1.0, points=5, save=tmp_path / "s")
    file = next((tmp_path / "s" / kind).iterdir())
    file.write_bytes(file.read_bytes()[:100])
    with pytest.raises(pliant.ArgumentError, match=file.name):
        pliant.open_study(tmp_path / "s")[0]
    file.unlink()
    assert model.simulate_many(cases, stop=1.0, points=5, save=tmp_path / "s").complete
    each_case_once(tmp_path / "s", 4, curves=True)


@pytest.mark.parametrize("name", ["model.json", "cases.parquet"])
def test_what_describes_a_study_is_written_again(name: str, tmp_path: Path) -> None:
    model, cases = pliant.load(DRIVE), CASES["Drive"][1]
    model.simulate_many(cases, stop=1.0, points=5, save=tmp_path / "s")
    (tmp_path / "s" / name).write_bytes(b"{")
    with pytest.raises(pliant.ArgumentError, match=name):
        pliant.open_study(tmp_path / "s")[0]
    model.simulate_many(cases, stop=1.0, points=5, save=tmp_path / "s")
    assert pliant.open_study(tmp_path / "s")[0].unit("x") == "m"


WRITER = """
import sys, time, pliant
from pliant.batch.folder.lock import FolderLock
lock = FolderLock(__import__("pathlib").Path(sys.argv[1]))
print("held", flush=True)
time.sleep(60)
"""


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    model, cases, folder = pliant.load(DRIVE), CASES["Drive"][1], tmp_path / "s"
    folder.mkdir()
    other = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(WRITER), str(folder)], stdout=subprocess.PIPE, text=True
    )
    assert other.stdout is not None
    try:
        assert other.stdout.readline() == "held\n"
        with pytest.raises(pliant.ArgumentError, match="another study is being written"):
            model.simulate_many(cases, stop=1.0, points=5, save=folder)
    finally:
        other.kill()
        other.communicate()
    inner: list[Exception] = []

    def again(_: object) -> None:
        with pytest.raises(pliant.ArgumentError, match="another study is being written") as caught:
            model.simulate_many(cases, stop=1.0, points=5, save=folder)
        inner.append(caught.value)

    study = model.simulate_many(cases, stop=1.0, points=5, save=folder, progress=again)
    assert inner
    assert study.complete
    assert model.simulate_many(cases, stop=1.0, points=5, save=folder).complete
    assert not list(folder.glob(".*"))


def _finish(folder: str, queue: Any) -> None:
    try:
        model = pliant.load(DRIVE)
        cases = pliant.design.grid({"k": np.linspace(1.0, 2.0, 400)})
        queue.put(model.simulate_many(cases, stop=20.0, keep="final", workers=1, save=folder).complete)
    except pliant.ArgumentError as error:
        queue.put(str(error))


def test_programs_that_start_at_once_write_every_case_once(tmp_path: Path) -> None:
    pliant.load(DRIVE)  # compiled once
    context = multiprocessing.get_context("spawn")
    queue: Any = context.Queue()
    programs = [context.Process(target=_finish, args=(str(tmp_path / "s"), queue)) for _ in range(2)]
    for one in programs:
        one.start()
    answers = [queue.get(timeout=120) for _ in programs]
    for one in programs:
        one.join()
    assert True in answers
    assert all(one is True or "another study" in one for one in answers)
    each_case_once(tmp_path / "s", 400, curves=False)


@pytest.mark.parametrize(("name", "words"), [("a" * 300, "cannot be used"), ("a\0b", "must be a path")])
def test_impossible_paths(name: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(pliant.ArgumentError, match=words):
        pliant.load(DRIVE).simulate_many(CASES["Drive"][1], stop=1.0, save=tmp_path / name)


def mixed(result: pliant.Result) -> dict[str, Any]:
    return {"x": result.final["x"], "word": "text"}


def by_case(result: pliant.Result) -> dict[str, float]:
    return {"few": 1.0} if result.parameters["k"] < 10 else {"many": float("nan")}


def test_a_folder_loses_nothing_of_a_function(tmp_path: Path) -> None:
    model, cases = pliant.load(DRIVE), CASES["Drive"][1]
    study = model.simulate_many(cases, stop=1.0, keep=mixed, save=tmp_path / "mixed")
    assert study.n_failed == 4
    assert "str for 'word'" in str(study[0])
    model.simulate_many(cases, stop=1.0, keep=by_case, save=tmp_path / "names")
    found = list(pliant.open_study(tmp_path / "names"))
    assert found[:2] == [{"few": 1.0}] * 2
    assert [list(one) for one in found[2:]] == [["many"]] * 2
