"""Many runs against single ones, and what users' tables, functions and executors may do."""

from __future__ import annotations

import concurrent.futures
import itertools
import json
import pickle
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import pliant

LOOP = """
model Loop
  parameter Real p = 1;
  input Boolean on(start = false);
  input Integer n(start = 1);
  Real x(start = 1, fixed = true);
  Real w(start = 1), q(start = 0.5);
equation
  der(x) = -p*x*n + (if on then 0.1 else 0);
  w^3 + w = 1 + x;
  q = cos(q)*x + w;
  assert(x < 10, "too large");
end Loop;
"""
DECAY = """
model Decay
  parameter Real k = 1;
  Real error(start = 1, fixed = true), seconds;
equation
  der(error) = -k*error;
  seconds = 2*error;
end Decay;
"""


@pytest.fixture(scope="module")
def loop() -> pliant.Model:
    return pliant.load(LOOP)


POINTS: list[Any] = [2, 7, None, np.array([0.0, 0.2, 0.21])]


@pytest.mark.parametrize(
    ("executor", "method", "points"),
    [
        *itertools.product(["threads"], ["auto", "radau5", "rk4"], POINTS),
        *(("processes", method, points) for method, points in zip(["auto", "radau5", "rk4"], POINTS, strict=False)),
    ],
    ids=str,
)
def test_final_values_are_those_of_simulate(loop: pliant.Model, executor: str, method: str, points: Any) -> None:
    shared: dict[str, Any] = {"stop": 1.5, "method": method, "points": points}
    shared |= {"step": 0.01} if method == "rk4" else {}
    ps = np.linspace(1.0, 3.0, 9)
    study = loop.simulate_many(pliant.design.grid({"p": ps}), keep="final", executor=executor, **shared)
    assert list(study) == [loop.simulate(parameters={"p": p}, **shared).final for p in ps.tolist()]


def test_final_values_are_those_of_simulate_at_stops_of_their_own(loop: pliant.Model) -> None:
    table = pd.DataFrame({"stop": [0.5, 1.0, 2.0], "p": [1.0, 1.3, 1.7]})
    study = loop.simulate_many(table, keep="final", points=11)
    for k, (stop, p) in enumerate(table.to_numpy().tolist()):
        assert study[k] == loop.simulate(stop=stop, points=11, parameters={"p": p}).final


def test_outputs_choose_the_columns_of_the_table(loop: pliant.Model) -> None:
    design = pliant.design.grid({"p": [1.0, 2.0]})
    assert list(loop.simulate_many(design, stop=1.0, outputs=["w"]).table()) == ["p", "w", "error", "seconds"]
    with pytest.raises(pliant.UnknownNameError, match="outputs: the model has no variable 'ww'"):
        loop.simulate_many(design, stop=1.0, outputs=["ww"])


@pytest.mark.parametrize("executor", ["threads", "processes"])
def test_no_more_workers_than_cases(loop: pliant.Model, executor: str) -> None:
    study = loop.simulate_many(pliant.design.grid({"p": [1.0, 2.0]}), stop=1.0, executor=executor, workers=200)
    assert study.stats.workers == 2
    assert study.stats.n_failed == 0


# ------------------------------------------------------------------------------------------------------------- tables

WRONG: dict[str, tuple[str, list[Any]]] = {
    "text of a number": ("p", ["1", "2"]),
    "truth values for a Real": ("p", [True, False]),
    "truth beside numbers": ("p", [1.0, True]),
    "lists": ("p", [[1.0], [2.0]]),
    "lists of all lengths": ("p", [[1.0], [2.0, 3.0]]),
    "none": ("p", [1.0, None]),
    "time": ("p", [pd.Timestamp(0), pd.Timestamp(1)]),
    "neither true nor false": ("on", [0.0, 2.0]),
    "half": ("n", [1.0, 1.5]),
    "stop as truth": ("stop", [True, True]),
}


@pytest.mark.parametrize("wrong", list(WRONG))
@pytest.mark.parametrize("make", [pd.DataFrame, pa.table, "mappings"])
def test_wrong_types_are_found_in_all_tables(loop: pliant.Model, make: Any, wrong: str) -> None:
    column, values = WRONG[wrong]
    part = {"p": "parameters", "on": "inputs", "n": "inputs"}.get(column)
    if make == "mappings":
        given: Any = [{part: {column: one}} if part else {column: one} for one in values]
    elif make is pa.table and wrong == "truth beside numbers":  # Arrow has no such columns
        given = [{"parameters": {column: one}} for one in values]
    else:
        given = make({column: values})
    with pytest.raises(pliant.ArgumentError, match=column):
        loop.simulate_many(given, stop=1.0)


@pytest.mark.parametrize("cell", ["1_000", "true", "1,5", "--", "'1'"])
def test_wrong_types_are_found_in_files(loop: pliant.Model, cell: str, tmp_path: Path) -> None:
    file = tmp_path / "cases.csv"
    file.write_text(f"name;p\na;1\nb;{cell}\n")
    with pytest.raises(pliant.ArgumentError, match=r"'p' is .* in line 3"):
        loop.simulate_many(file, stop=1.0)


def test_right_types_in_all_tables(loop: pliant.Model, tmp_path: Path) -> None:
    frame = pd.DataFrame({"p": [1, 2], "on": [True, False], "n": [2, 1], "name": ["a", None]})
    file = tmp_path / "cases.csv"
    file.write_text("p,on,n,name\n1,true,2,a\n2,false,1,\n")
    kept = [loop.simulate_many(one, stop=1.0, keep="final") for one in (frame, pa.Table.from_pandas(frame), file)]
    assert list(kept[0]) == list(kept[1]) == list(kept[2])
    assert kept[0].table()["name"].tolist() == kept[2].table()["name"].tolist() == ["a", ""]


def test_ranges_that_no_number_spans() -> None:
    with pytest.raises(pliant.ArgumentError, match="runs from"):
        pliant.design.latin_hypercube({"k": (-1e308, 1e308)}, n=2)
    with pytest.raises(pliant.ArgumentError, match="sobol"):
        pliant.design.sobol({f"k{i}": (0.0, 1.0) for i in range(21300)}, n=2)


def test_variables_called_like_columns_of_the_table() -> None:
    model = pliant.load(DECAY)
    study = model.simulate_many(pliant.design.grid({"k": [1.0, 2.0]}), stop=1.0)
    table = study.table()
    assert table["error (final)"].tolist() == [one.final["error"] for one in study]
    assert table["seconds (final)"].tolist() == [one.final["seconds"] for one in study]
    assert table["error"].isna().all()


# ---------------------------------------------------------------------------------------------------- users' functions


class Refuses:
    def __reduce__(self) -> Any:
        raise RuntimeError("not to be pickled")


def _never() -> None:
    raise RuntimeError("does not come back")


class StaysAway:
    def __reduce__(self) -> Any:
        return _never, ()


class TwoWords(Exception):
    def __init__(self, one: str, other: str) -> None:
        super().__init__(f"{one} {other}")


def gives_refuser(result: pliant.Result) -> Any:
    return Refuses()


def gives_stray(result: pliant.Result) -> Any:
    return StaysAway()


def raises_two_words(result: pliant.Result) -> Any:
    raise TwoWords("two", "words")


def leaves(result: pliant.Result) -> Any:
    sys.exit(3)


@pytest.mark.parametrize(
    ("keep", "executor", "words"),
    [
        (gives_refuser, "processes", "not to be pickled"),
        (gives_stray, "processes", "does not come back"),
        (raises_two_words, "threads", "two words"),
        (raises_two_words, "processes", "two words"),
        (leaves, "threads", r"sys.exit\(3\)"),
        (leaves, "processes", r"sys.exit\(3\)"),
    ],
)
def test_whatever_a_function_does_belongs_to_its_case(
    loop: pliant.Model, keep: Any, executor: str, words: str, capfd: pytest.CaptureFixture[str]
) -> None:
    study = loop.simulate_many(pliant.design.grid({"p": [1.0, 2.0]}), stop=1.0, keep=keep, executor=executor)
    again = pickle.loads(pickle.dumps(study))
    for one in (study, again):
        assert sorted(one.failures) == [0, 1]
        for error in one:
            with pytest.raises(Exception, match=words):
                raise error
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.parametrize("save", [False, True])
def test_progress_may_raise(loop: pliant.Model, save: bool, tmp_path: Path) -> None:
    calls = []

    def fails(progress: Any) -> None:
        calls.append(progress)
        raise ValueError("no more")

    def stops(progress: Any) -> None:
        raise KeyboardInterrupt

    design = pliant.design.grid({"p": np.linspace(1.0, 2.0, 40)})
    folder: Any = {"save": tmp_path / "s"} if save else {}
    with pytest.raises(ValueError, match="no more") as caught:
        loop.simulate_many(design, stop=1.0, progress=fails, **folder)
    assert caught.value.__context__ is None
    assert len(calls) == 1
    with pytest.raises(pliant.SimulationInterrupted) as interrupted:
        loop.simulate_many(design, stop=1.0, progress=stops, **folder)
    assert len(interrupted.value.result or ()) == 40
    assert loop.simulate_many(design, stop=1.0, **folder).complete


# ----------------------------------------------------------------------------------------------------------- executors


class Closed(concurrent.futures.Executor):
    def __init__(self, error: Exception) -> None:
        self.error = error

    def submit(self, *_: Any, **__: Any) -> Any:
        raise self.error


class Liar(concurrent.futures.Executor):
    def submit(self, *_: Any, **__: Any) -> Any:
        future: concurrent.futures.Future[int] = concurrent.futures.Future()
        future.set_result(3)
        return future


class LostClient:
    def nthreads(self) -> Any:
        raise AttributeError("closed")


@pytest.mark.parametrize("kind", [RuntimeError, AttributeError, ValueError, OSError])
def test_executors_that_are_closed(loop: pliant.Model, kind: type[Exception]) -> None:
    executor = Closed(kind("closed"))
    executor._client = LostClient()  # type: ignore[attr-defined]
    with pytest.raises(pliant.CaseError, match=r"workers are gone.*closed") as caught:
        loop.simulate_many(pliant.design.grid({"p": [1.0, 2.0]}), stop=1.0, executor=executor)
    assert isinstance(caught.value.result, pliant.Study)


def test_executors_that_give_something_else(loop: pliant.Model) -> None:
    study = loop.simulate_many(pliant.design.grid({"p": [1.0, 2.0]}), stop=1.0, executor=Liar())
    assert all("executor gave int" in str(one) for one in study)


class Task:
    status = "error"


class LossyClient:
    """As Dask's where a task fails while its result is fetched: it knows, and its executor never says."""

    cluster: Any = None

    def __init__(self) -> None:
        self.futures: dict[str, Task] = {}
        self.nthreads: Any = lambda: {"one": 2}


class Lossy(concurrent.futures.Executor):
    def __init__(self, losses: int) -> None:
        self._client, self.losses = LossyClient(), losses

    def submit(self, function: Any, /, *given: Any, **named: Any) -> Any:
        future: concurrent.futures.Future[Any] = concurrent.futures.Future()
        if self.losses:
            self.losses -= 1
            self._client.futures[named["key"]] = Task()
        else:
            future.set_result(function(*given))
        return future


@pytest.mark.parametrize("losses", [1, 3])
def test_tasks_whose_error_is_lost(loop: pliant.Model, losses: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Lossy, "__module__", "distributed.cfexecutor")
    monkeypatch.setattr("pliant.batch.run.LOST", 0.05)
    study = loop.simulate_many(pliant.design.grid({"p": np.linspace(1, 2, 6)}), stop=1.0, executor=Lossy(losses))
    assert study.n_failed == 0
    assert study.complete


class Shrinking(Lossy):
    """A cluster whose workers go away one after the other."""

    def __init__(self, adaptive: bool) -> None:
        super().__init__(0)
        self.counts, self.waiting = [2, 2, 1], []
        self._client.nthreads = self.nthreads
        self._client.cluster = type("Cluster", (), {"_adaptive": object() if adaptive else None})()

    def nthreads(self) -> dict[str, int]:
        if self.counts:
            return {"one": self.counts.pop()}
        for future, function, given in self.waiting if self._client.cluster._adaptive else ():
            future.set_result(function(*given))
        self.waiting = []
        return {}

    def submit(self, function: Any, /, *given: Any, **named: Any) -> Any:
        future: concurrent.futures.Future[Any] = concurrent.futures.Future()
        self.waiting.append((future, function, given))
        return future


@pytest.mark.parametrize("adaptive", [False, True])
def test_a_cluster_that_loses_all_its_workers(
    loop: pliant.Model, adaptive: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Shrinking, "__module__", "distributed.cfexecutor")
    monkeypatch.setattr("pliant.batch.workers.crews.LOOK", 0.01)
    monkeypatch.setattr("pliant.batch.workers.crews.NOBODY", 0.05)
    executor = Shrinking(adaptive)
    if adaptive:  # others may be on their way
        assert loop.simulate_many(pliant.design.grid({"p": [1.0, 2.0]}), stop=1.0, executor=executor).complete
        return
    with pytest.raises(pliant.CaseError, match="no worker") as caught:
        loop.simulate_many(pliant.design.grid({"p": [1.0, 2.0]}), stop=1.0, executor=executor)
    assert isinstance(caught.value.result, pliant.Study)


# ------------------------------------------------------------------------------------------------------------ pictures


def test_pictures_of_studies_without_numbers(loop: pliant.Model, tmp_path: Path) -> None:
    failed = loop.simulate_many(pliant.design.grid({"start(x)": [20.0, 30.0]}), stop=1.0)
    assert failed.n_failed == 2
    empty = loop.simulate_many(pliant.design.grid({"p": [1.0, 2.0]}), stop=1.0, outputs=[])
    infinite = loop.simulate_many(pliant.design.grid({"p": [1.0, 2.0]}), stop=1.0, keep=lambda _: np.inf)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for study in (failed, empty, infinite):
            for kind in ("pairs", "parallel", "failures"):
                assert study.plot(kind).axes
            assert study.report(tmp_path / "s.html").stat().st_size > 1000
            json.dumps(study.as_dict(), allow_nan=False)
    with pytest.raises(pliant.ArgumentError, match="names"):
        empty.plot("pairs", 3)  # type: ignore[arg-type]
