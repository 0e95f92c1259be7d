"""Results: reading by name, files in three formats, pictures, manifests."""

from __future__ import annotations

import errno
import io
import json
import math
import os
import re
import stat
import struct
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant.errors import ArgumentError, OutputError, UnknownNameError
from pliant.solve import save
from pliant.solve.manifest import hash_bytes, make_manifest, to_json
from pliant.solve.plot import plot_steps
from pliant.solve.result import Event, FloatArray, Result, Stats, VariableInfo
from pliant.solve.save import load_result, side_car, write_files

FORMATS = [".csv", ".parquet", ".mat"]


def make_result(**changes: Any) -> Result:
    """A ball that bounces once, with a double row at the event, aliases, a parameter and a lazy column."""
    time = np.array([0.0, 0.1, 1 / 3, 1 / 3, 0.7])
    values = np.column_stack([[1.0, 0.9, 1e-300, 0.0, math.pi], [-1 / 3, -2.5, -4e17, 3.9, 2.0]])
    arguments: dict[str, Any] = {
        "stats": Stats(n_steps=42, n_rhs=99, method="bdf", seconds=0.25),
        "manifest": make_manifest("Ball", hash_bytes("ball"), {"rtol": 1e-6}),
        "events": [Event(1 / 3, ("h < 0",), (-1,), np.array([0.0, -4e17]), np.array([0.0, 3.9]))],
        "info": {
            "ball.h": VariableInfo("ball.h", "state", "m", "height above the floor", start=1.0, min=0.0),
            "ball.v": VariableInfo("ball.v", "state", "m/s", "speed"),
            "g": VariableInfo("g", "parameter", "m/s2"),
            "hidden": VariableInfo("hidden", "algebraic"),
        },
        "aliases": {"floor.s": ("ball.h", -1), "ball.w": ("ball.v", 1), "gravity": ("g", -1)},
        "parameters": {"g": 9.81, "e": 0.8},
        "lazy": {"der(ball.h)": lambda: values[:, 1]},
        "complete": False,
    }
    return Result(time, values, ("ball.h", "ball.v"), **(arguments | changes))


def assert_same(left: Result, right: Result) -> None:
    """All that a file keeps is the same, bit for bit."""
    assert right.time.tobytes() == left.time.tobytes()
    assert set(right.names) == set(left.names)
    for name in left.names:
        assert np.array_equal(left[name], right[name], equal_nan=True), name
    assert dict(right.parameters) == dict(left.parameters)
    assert dict(right.aliases) == dict(left.aliases)
    assert right.stats == left.stats
    assert right.manifest == left.manifest
    assert right.complete == left.complete
    assert right.states == left.states
    for one, other in zip(left.events, right.events, strict=True):
        assert (one.time, one.roots, one.directions, one.terminal) == (
            other.time,
            other.roots,
            other.directions,
            other.terminal,
        )
        assert np.array_equal(one.before, other.before)
        assert np.array_equal(one.after, other.after)


# -- reading by name ---------------------------------------------------------------------------------------


def test_columns_by_name() -> None:
    r = make_result()
    assert r.names == ("ball.h", "ball.v", "floor.s", "ball.w", "gravity", "der(ball.h)")
    assert len(r) == 5
    assert list(r) == list(r.names)
    assert r["time"] is r.time
    assert np.array_equal(r["floor.s"], -r["ball.h"])
    assert np.array_equal(r["ball.w"], r["ball.v"])
    assert np.array_equal(r["g"], np.full(5, 9.81))
    assert np.array_equal(r["gravity"], np.full(5, -9.81))
    assert np.array_equal(r["ball.h", "floor.s"], np.column_stack([r["ball.h"], -r["ball.h"]]))
    assert r[[]].shape == (5, 0)
    for name in (*r.names, "time", "g", "der(floor.s)"):
        assert name in r
    for wrong in ("nothing", "hidden", "der(ball.v)", 7):
        assert wrong not in r


def test_derivative_of_an_alias_has_its_sign() -> None:
    r = make_result()
    assert np.array_equal(r["der(floor.s)"], -r["der(ball.h)"])


def test_units() -> None:
    r = make_result()
    names = ("ball.h", "floor.s", "der(ball.h)", "g", "e", "time")
    assert [r.unit(name) for name in names] == ["m", "m", "m/s", "m/s2", "", ""]


@pytest.mark.parametrize(
    ("unit", "expected"), [("m", "m/s"), ("m/s", "m/s2"), ("1/s2", "1/s3"), ("W/K", "(W/K)/s"), ("", "")]
)
def test_unit_of_a_derivative(unit: str, expected: str) -> None:
    info = {"x": VariableInfo("x", "state", unit)}
    r = Result([0], [[1]], ["x"], stats=Stats(), manifest={}, info=info, lazy={"der(x)": lambda: np.ones(1)})
    assert r.unit("der(x)") == expected


def test_columns_are_read_only_and_the_callers_array_is_not() -> None:
    values = np.ones((2, 1))
    r = Result([0, 1], values, ["x"], stats=Stats(), manifest={})
    with pytest.raises(ValueError, match="read-only"):
        r["x"][0] = 5
    values[0, 0] = 2.0


def test_lazy_column_is_computed_once() -> None:
    calls = []

    def compute() -> FloatArray:
        calls.append(1)
        return np.arange(5.0)

    r = make_result(lazy={"der(ball.h)": compute})
    assert "der(ball.h)" in r
    assert "der(ball.h)" in repr(r) or r.names
    assert r.final["ball.h"] == math.pi
    assert not calls
    assert np.array_equal(r["der(ball.h)"], np.arange(5.0))
    assert np.array_equal(r["der(floor.s)"], -np.arange(5.0))
    r.to_pandas()
    assert len(calls) == 1


def test_lazy_column_of_wrong_length() -> None:
    with pytest.raises(ArgumentError, match=r"der\(ball.h\).*shape"):
        make_result(lazy={"der(ball.h)": lambda: np.ones(3)})["der(ball.h)"]


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [("bal.h", "ball.h"), ("V", "ball.v"), ("BALL.H", "ball.h"), ("der(bal.h)", "der(ball.h)")],
)
def test_unknown_name_suggests_the_nearest(wrong: str, meant: str) -> None:
    with pytest.raises(UnknownNameError) as caught:
        make_result()[wrong]
    assert f"'{wrong}'" in str(caught.value)
    assert f"'{meant}'" in str(caught.value)
    assert "result.names" in caught.value.hint
    assert isinstance(caught.value, KeyError)


def test_known_but_not_recorded_name_says_so() -> None:
    with pytest.raises(UnknownNameError, match="not recorded") as caught:
        make_result()["hidden"]
    assert "outputs=" in caught.value.hint


def test_numbers_are_no_names() -> None:
    with pytest.raises(ArgumentError, match="by name"):
        make_result()[0]  # type: ignore[index]


def test_aliases_of_aliases_and_of_nothing() -> None:
    aliases = {"a": ("b", -1), "b": ("ball.h", -1), "lost": ("gone", 1), "p": ("q", 1), "q": ("p", 1)}
    r = make_result(aliases=aliases)
    assert dict(r.aliases) == {"a": ("ball.h", 1), "b": ("ball.h", -1)}
    assert "lost" not in r


def test_final() -> None:
    assert make_result().final == {"ball.h": math.pi, "ball.v": 2.0, "floor.s": -math.pi, "ball.w": 2.0}
    with pytest.raises(ArgumentError, match="no rows"):
        _ = Result([], np.empty((0, 1)), ["x"], stats=Stats(), manifest={}).final


@pytest.mark.parametrize("names", [["x"], ["x", "x"], ["x", "time"]])
def test_bad_shapes_and_names(names: list[str]) -> None:
    with pytest.raises(ArgumentError):
        Result([0, 1], np.ones((2, 2)), names, stats=Stats(), manifest={})


def test_repr_and_html() -> None:
    r = make_result()
    text = repr(r)
    for part in (
        "6 columns (ball.h, ball.v",
        "5 rows",
        "time 0 to 0.7",
        "bdf, 42 steps",
        "1 event",
        "CUT SHORT",
    ):
        assert part in text
    html = make_result(info={"ball.h": VariableInfo("ball.h", "state", "<b>")})._repr_html_()
    assert html.startswith("<table>")
    assert "&lt;b&gt;" in html
    assert "no rows" in Result([], np.empty((0, 1)), ["x"], stats=Stats(), manifest={})._repr_html_()


def test_stats_table_is_aligned() -> None:
    lines = str(Stats(n_steps=1234567, method="radau5")).splitlines()
    assert len(lines) == len(Stats().as_dict())
    ends = {re.match(r"\S+ +\S+", line).end() for line in lines}  # type: ignore[union-attr]
    assert len(ends) == 1
    assert "1,234,567" in lines[1]


def test_event_text() -> None:
    assert str(make_result().events[0]) == "t = 0.333333333: h < 0 falling"
    assert "time event, ends the run" in str(Event(1.0, (), (), np.empty(0), np.empty(0), terminal=True))


def test_to_pandas() -> None:
    pandas = pytest.importorskip("pandas")
    frame = make_result().to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert frame.index.name == "time"
    assert list(frame.columns) == list(make_result().names)
    assert frame["floor.s"].iloc[-1] == -math.pi
    assert list(make_result().to_pandas(["ball.v"]).columns) == ["ball.v"]


def test_missing_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for package in ("pandas", "pyarrow"):
        monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(OutputError, match="needs the package pandas") as caught:
        make_result().to_pandas()
    assert "pip install pandas" in caught.value.hint
    with pytest.raises(OutputError, match="needs the package pyarrow"):
        make_result().save(tmp_path / "r.parquet")
    assert list(tmp_path.iterdir()) == []


# -- files -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", FORMATS)
def test_round_trip(suffix: str, tmp_path: Path) -> None:
    r = make_result()
    path = r.save(tmp_path / f"r{suffix}")
    again = Result.load(path)
    assert_same(r, again)
    assert again.info["ball.h"] == r.info["ball.h"]
    assert again.unit("floor.s") == "m"
    assert again.unit("der(ball.h)") == "m/s"
    again.save(tmp_path / f"again{suffix}")
    assert (tmp_path / f"again{suffix}").read_bytes() == path.read_bytes()


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize(("rows", "columns"), [(0, 1), (1, 0), (1, 1), (1, 3), (2, 0), (7, 2)])
def test_round_trip_of_any_shape(suffix: str, rows: int, columns: int, tmp_path: Path) -> None:
    values = np.random.default_rng(1).standard_normal((rows, columns)) * 1e-200
    names = ["x" * (1 + 10 * j) for j in range(columns)]
    r = Result(np.arange(rows) / 3, values, names, stats=Stats(), manifest={"a": 1})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_same(r, load_result(r.save(tmp_path / f"r{suffix}")))


@pytest.mark.parametrize("suffix", FORMATS)
def test_special_numbers(suffix: str, tmp_path: Path) -> None:
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, sys.float_info.max, 0.1]
    r = Result(
        np.arange(8.0),
        np.array(special)[:, None],
        ["x"],
        stats=Stats(),
        manifest={},
        parameters={"p": np.nan},
    )
    again = load_result(r.save(tmp_path / f"r{suffix}"))
    assert again["x"].tobytes() == r["x"].tobytes()
    assert math.isnan(again.parameters["p"])


@pytest.mark.parametrize("suffix", FORMATS)
def test_selected_columns(suffix: str, tmp_path: Path) -> None:
    again = load_result(make_result().save(tmp_path / f"r{suffix}", names=["floor.s", "time", "ball.w"]))
    assert set(again.names) == {"floor.s", "ball.w"}
    assert np.array_equal(again["floor.s"], make_result()["floor.s"])
    with pytest.raises(UnknownNameError):
        make_result().save(tmp_path / f"bad{suffix}", names=["nope"])
    assert not (tmp_path / f"bad{suffix}").exists()


ANY_CHARACTER = st.characters(exclude_categories=["Cs"])  # all but lone surrogates
names_strategy = st.lists(
    st.text(ANY_CHARACTER | st.sampled_from(",\"'\n\r ;[]äµ\0"), min_size=1).filter(lambda name: name != "time"),
    min_size=1,
    max_size=5,
    unique=True,
)


@pytest.mark.parametrize("suffix", FORMATS)
@settings(max_examples=60, deadline=None)
@given(names=names_strategy, text=st.text(ANY_CHARACTER))
def test_any_name_survives(suffix: str, names: list[str], text: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    *own, alias = [*names, names[0] + "*"]
    info = {own[0]: VariableInfo(own[0], "state", "Ω.m", text)}
    values = np.arange(2.0 * len(own)).reshape(2, -1) + 1 / 3
    aliases = {alias: (own[-1], -1)}
    r = Result([0.0, 1.0], values, own, stats=Stats(), manifest={"m": text}, info=info, aliases=aliases)
    again = load_result(r.save(tmp_path_factory.mktemp("names") / f"r{suffix}"))
    assert_same(r, again)
    assert again.info[own[0]] == info[own[0]]


@pytest.mark.parametrize("suffix", FORMATS)
def test_large_result(suffix: str, tmp_path: Path) -> None:
    values = np.random.default_rng(0).standard_normal((100_000, 3))
    r = Result(np.linspace(0, 1, 100_000), values, ["a", "b", "c"], stats=Stats(), manifest={})
    assert_same(r, load_result(r.save(tmp_path / f"r{suffix}")))


def test_csv_text(tmp_path: Path) -> None:
    r = Result([0, 0.1], [[1.0, 1 / 3]] * 2, ["a[1,2]", 'q"'], stats=Stats(), manifest={"k": 1})
    path = r.save(tmp_path / "r.csv")
    assert path.read_text() == 'time,"a[1,2]","q"""\n0.0,1.0,0.3333333333333333\n0.1,1.0,0.3333333333333333\n'
    assert json.loads(side_car(path).read_text())["k"] == 1
    pandas = pytest.importorskip("pandas")
    frame = pandas.read_csv(path)
    assert list(frame.columns) == ["time", "a[1,2]", 'q"']
    assert frame['q"'][0] == 1 / 3


def test_foreign_csv(tmp_path: Path) -> None:
    path = tmp_path / "om.csv"
    path.write_text('"time","x[1,2]",\n0,1,\n1,2,\n')  # as OpenModelica writes it
    r = load_result(path)
    assert r.names == ("x[1,2]",)
    assert list(r["x[1,2]"]) == [1, 2]
    assert r.stats == Stats()


@pytest.mark.parametrize("text", ["", "a,b\n1,2\n", "time,x\n0,hello\n", "time,x\n0,1\n1\n"])
def test_csv_that_is_no_result(text: str, tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text(text)
    with pytest.raises(ArgumentError, match=r"r\.csv"):
        load_result(tmp_path / "r.csv")


def test_csv_that_was_edited(tmp_path: Path) -> None:
    path = make_result().save(tmp_path / "r.csv")
    lines = path.read_text().splitlines()
    cells = lines[1].split(",")
    cells[lines[0].split(",").index("floor.s")] = "7.0"
    path.write_text("\n".join([lines[0], ",".join(cells), *lines[2:]]))
    assert load_result(path)["floor.s"][0] == 7.0  # no longer an alias: what the file says counts
    path.write_text("time,other\n0,1\n")
    with pytest.warns(UserWarning, match="belongs to another result"):
        assert load_result(path).names == ("other",)
    side_car(path).write_text("{")
    with pytest.warns(UserWarning, match="damaged"):
        load_result(path)


def test_parquet_metadata(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    schema = parquet.read_schema(make_result().save(tmp_path / "r.parquet"))
    field = schema.field("ball.h").metadata
    assert (field[b"unit"], field[b"description"], field[b"kind"]) == (
        b"m",
        b"height above the floor",
        b"state",
    )
    assert json.loads(schema.metadata[b"pliant.manifest"])["model"]["name"] == "Ball"
    pandas = pytest.importorskip("pandas")
    assert list(pandas.read_parquet(tmp_path / "r.parquet")["time"]) == list(make_result().time)


def test_loading_what_is_not_there(tmp_path: Path) -> None:
    for suffix in FORMATS:
        with pytest.raises(ArgumentError, match="No such file"):
            load_result(tmp_path / f"none{suffix}")
    (tmp_path / "r.parquet").write_bytes(b"nonsense")
    (tmp_path / "r.mat").write_bytes(b"MATLAB 5.0 MAT-file, Platform: GLNXA64" * 5)
    for suffix in (".parquet", ".mat"):
        with pytest.raises(ArgumentError, match="is no"):
            load_result(tmp_path / f"r{suffix}")


def test_unknown_suffix(tmp_path: Path) -> None:
    for name in ("r.xlsx", "r"):
        for call in (make_result().save, load_result):
            with pytest.raises(ArgumentError, match="names no format") as caught:
                call(tmp_path / name)
            assert ".csv, .parquet or .mat" in caught.value.hint


# -- .mat as other tools see it ----------------------------------------------------------------------------


def read_trajectories(path: Path) -> dict[str, FloatArray]:
    """A reader written from the format's description alone, independent of save.py."""
    data, matrices, at = path.read_bytes(), {}, 0
    while at < len(data):
        kind, rows, columns, imaginary, length = struct.unpack_from("<5i", data, at)
        assert imaginary == 0
        at += 20
        name = data[at : at + length - 1].decode()
        assert data[at + length - 1] == 0
        at += length
        dtype = {0: "<f8", 20: "<i4", 51: "S1"}[kind]
        count = rows * columns
        matrix = np.frombuffer(data, dtype, count, at).reshape((rows, columns), order="F")
        matrices[name] = matrix
        at += matrix.nbytes
    assert list(matrices) == ["Aclass", "name", "description", "dataInfo", "data_1", "data_2", "manifest"]
    aclass = [b"".join(row.tolist()).rstrip() for row in matrices["Aclass"]]
    assert aclass == [b"Atrajectory", b"1.1", b"", b"binTrans"]
    names = [b"".join(column.tolist()).decode().rstrip() for column in matrices["name"].T]
    found = {}
    for name, (matrix, row, _, _) in zip(names, matrices["dataInfo"].T, strict=True):
        found[name] = np.sign(row) * matrices[f"data_{matrix or 2}"][abs(row) - 1]
    return found


def test_mat_by_an_independent_reader(tmp_path: Path) -> None:
    r = make_result()
    found = read_trajectories(r.save(tmp_path / "r.mat"))
    assert set(found) == {"time", *r.names, *r.parameters}
    assert np.array_equal(found["time"], r.time)
    for name in ("ball.h", "floor.s", "ball.w", "der(ball.h)"):
        assert np.array_equal(found[name], r[name])
    assert list(found["gravity"]) == [-9.81, -9.81]


def test_mat_by_scipy(tmp_path: Path) -> None:
    io_module = pytest.importorskip("scipy.io")
    mat = io_module.loadmat(make_result().save(tmp_path / "r.mat"))
    assert [text.strip() for text in mat["Aclass"]] == ["Atrajectory", "1.1", "", "binTrans"]
    assert mat["data_2"].shape == (4, 5)
    assert mat["data_1"].tolist() == [[0.0, 0.7], [9.81, 9.81], [0.8, 0.8]]
    assert mat["dataInfo"].T.tolist() == [
        [0, 1, 0, -1],
        [2, 2, 0, -1],
        [2, 3, 0, -1],
        [2, 4, 0, -1],
        [1, 2, 0, 0],
        [1, 3, 0, 0],
        [2, -2, 0, -1],
        [2, 3, 0, -1],
        [1, -2, 0, 0],
    ]
    assert json.loads(str(mat["manifest"][0]))["model"]["name"] == "Ball"


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (2, 1), (1, 3), (50, 4), (100_000, 2)])
@pytest.mark.parametrize("parameters", [{}, {"p": 1.5}])
def test_mat_by_dymat(rows: int, columns: int, parameters: dict[str, float], tmp_path: Path) -> None:
    dymat = pytest.importorskip("DyMat")
    names = [f"{'sub.' * j}x{j}" for j in range(columns)]
    values = np.random.default_rng(2).standard_normal((rows, columns))
    aliases = {"minus": (names[-1], -1)}
    info = {names[0]: VariableInfo(names[0], "state", "K", "temperature")}
    r = Result(
        np.linspace(0, 2, rows),
        values,
        names,
        stats=Stats(),
        manifest={},
        parameters=parameters,
        aliases=aliases,
        info=info,
    )
    file = dymat.DyMatFile(str(r.save(tmp_path / "r.mat")))
    assert set(file.names()) == {*names, "minus", *parameters}
    for j, name in enumerate(names):
        assert np.array_equal(file.data(name), values[:, j])
    assert np.array_equal(file.data("minus"), -values[:, -1])
    assert file.sharedData("minus") == [(names[-1], -1.0)]
    times, time_name, time_text = file.abscissa(names[0])
    assert np.array_equal(times, r.time)
    assert (time_name, time_text) == ("time", "Simulation time [s]")
    assert file.description(names[0]) == "temperature [K]"
    for name, value in parameters.items():
        assert list(file.data(name)) == [value, value]


def write_level_4(path: Path, matrices: dict[str, Any]) -> Path:
    with open(path, "wb") as file:
        for name, matrix in matrices.items():
            if isinstance(matrix, list):
                matrix = np.array([list(text.encode()) for text in matrix], dtype=np.uint8)
            kind = {"f8": 0, "f4": 10, "i4": 20, "u1": 51}[matrix.dtype.str[1:]]
            file.write(struct.pack("<5i", kind, *matrix.shape, 0, len(name) + 1) + name.encode() + b"\0")
            file.write(matrix.tobytes(order="F"))
    return path


def test_foreign_mat_in_the_normal_layout_and_single_precision(tmp_path: Path) -> None:
    """As Dymola's "save as" makes it: not transposed, single precision, "Time", a negative column."""
    path = write_level_4(
        tmp_path / "dymola.mat",
        {
            "Aclass": ["Atrajectory", "1.1        ", "           ", "binNormal  "],
            "name": ["Time", "T   ", "i   ", "R   "],
            "description": [
                "Time in [s]         ",
                "a [K|degC:#(type=1)]",
                "no unit\0\0\0\0\0\0\0\0\0\0\0\0\0",
                " " * 20,
            ],
            "dataInfo": np.array([[0, 1, 0, -1], [2, 2, 0, -1], [2, -3, 0, -1], [1, 2, 0, 0]], dtype=np.int32),
            "data_1": np.array([[0, 7.5], [1, 7.5]], dtype=np.float32),
            "data_2": np.array([[0, 300, 4], [1, 301, 5]], dtype=np.float32),
        },
    )
    r = load_result(path)
    assert r.names == ("T", "i")
    assert list(r["T"]) == [300, 301]
    assert list(r["i"]) == [-4, -5]
    assert dict(r.parameters) == {"R": 7.5}
    assert (r.info["T"].unit, r.info["T"].description) == ("K", "a")
    assert (r.info["i"].unit, r.info["i"].description) == ("", "no unit")


def test_mat_cut_off(tmp_path: Path) -> None:
    path = make_result().save(tmp_path / "r.mat")
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(ArgumentError, match="ends within the matrix 'manifest'"):
        load_result(path)
    write_level_4(path, {"Aclass": ["Atrajectory"]})
    with pytest.raises(ArgumentError, match="has no matrix"):
        load_result(path)


# -- writing without harm ----------------------------------------------------------------------------------


class FullDisk(io.RawIOBase):
    """A file that takes `room` bytes and then is full."""

    def __init__(self, file: Any, room: int) -> None:
        self.file, self.room = file, room

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self.room -= len(data)
        if self.room < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return int(self.file.write(data))

    def fileno(self) -> int:
        return int(self.file.fileno())

    def close(self) -> None:
        self.file.close()
        super().close()


def fill_disk(monkeypatch: pytest.MonkeyPatch, room: int) -> None:
    def open_full(path: Any, mode: str) -> Any:
        return FullDisk(open(path, mode), room)

    monkeypatch.setattr(save, "open", open_full, raising=False)


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("room", [0, 60])
def test_disk_full_keeps_the_old_file(suffix: str, room: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = make_result().save(tmp_path / f"r{suffix}")
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    fill_disk(monkeypatch, room)
    with pytest.raises(OutputError) as caught:
        make_result(parameters={"g": 1.0}).save(path)
    assert str(path) in str(caught.value)
    assert "No space left" in str(caught.value)
    assert "free some space" in caught.value.hint
    assert caught.value.errno == errno.ENOSPC
    assert isinstance(caught.value.__cause__, OSError)
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


def test_full_side_car_keeps_both_old_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = make_result().save(tmp_path / "r.csv")
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    fill_disk(monkeypatch, len(path.read_bytes()) + 10)  # the table fits, its manifest does not
    with pytest.raises(OutputError, match=r"r\.csv\.manifest\.json"):
        make_result(complete=True).save(path)
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_really_full_device(tmp_path: Path) -> None:
    def write(file: BinaryIO) -> None:
        with open("/dev/full", "wb", buffering=0) as full:
            full.write(b"x")

    with pytest.raises(OutputError, match="No space left"):
        write_files([(tmp_path / "r.csv", write)])
    assert list(tmp_path.iterdir()) == []


def test_interrupted_writing_leaves_nothing(tmp_path: Path) -> None:
    def write(file: BinaryIO) -> None:
        file.write(b"half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_files([(tmp_path / "r.csv", write)])
    assert list(tmp_path.iterdir()) == []


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "file").write_text("")
    cases = {
        tmp_path / "missing" / "r.csv": "mkdir -p",
        tmp_path / "folder.csv": "is a directory",
        tmp_path / "file" / "r.mat": "is a file",
        tmp_path / ("x" * 300 + ".mat"): "shorter",
    }
    for path, hint in cases.items():
        with pytest.raises(OutputError) as caught:
            make_result().save(path)
        assert hint in caught.value.hint, path
    assert {file.name for file in tmp_path.iterdir()} == {"folder.csv", "file"}


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anything")
def test_write_protected_file_is_kept(tmp_path: Path) -> None:
    path = make_result().save(tmp_path / "r.mat")
    path.chmod(0o444)
    with pytest.raises(OutputError, match="Permission denied"):
        make_result().save(path)


@pytest.mark.skipif(os.name != "posix", reason="modes and links of POSIX")
def test_modes_and_links(tmp_path: Path) -> None:
    path = make_result().save(tmp_path / "r.mat")
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~mask
    path.chmod(0o640)
    (tmp_path / "link.mat").symlink_to(path)
    make_result(complete=True).save(tmp_path / "link.mat")
    assert (tmp_path / "link.mat").is_symlink()
    assert load_result(path).complete
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


# -- pictures ----------------------------------------------------------------------------------------------


def steps_of(n: int) -> dict[str, Any]:
    sizes = np.linspace(0.01, 0.2, n)
    methods = np.where(np.arange(n) < n // 2, "bdf", "radau5")
    return {"time": np.cumsum(sizes), "h": sizes, "order": np.arange(n) % 5 + 1, "method": methods}


@pytest.mark.parametrize(("suffix", "start"), [(".png", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF")])
def test_plot_files(suffix: str, start: bytes, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    make_result().plot("ball.h", "ball.v", "g", file=tmp_path / f"p{suffix}")
    assert (tmp_path / f"p{suffix}").read_bytes().startswith(start)
    with pytest.raises(ArgumentError, match="names no format") as caught:
        make_result().plot("ball.h", file=tmp_path / "p.xyz")
    assert ".png" in caught.value.hint
    with pytest.raises(OutputError):
        make_result().plot("ball.h", file=tmp_path / "missing" / f"p{suffix}")


def labels_of(figure: Any) -> list[list[str]]:
    return [[line.get_label() for line in axes.get_lines()] for axes in figure.axes]


def test_plot_groups_by_unit() -> None:
    pytest.importorskip("matplotlib")
    r = make_result()
    assert labels_of(r.plot(show=False)) == [["ball.h"], ["ball.v"]]
    figure = r.plot("ball.h", "ball.v", "floor.s", "der(ball.h)", show=False)
    assert labels_of(figure) == [["ball.h", "floor.s"], ["ball.v", "der(ball.h)"]]
    assert [axes.get_ylabel() for axes in figure.axes] == ["[m]", "[m/s]"]
    assert figure.axes[-1].get_xlabel() == "time [s]"
    assert labels_of(r.plot(["ball.h", "ball.v"], "g", show=False)) == [["ball.h", "ball.v"], ["g"]]
    with pytest.raises(UnknownNameError):
        r.plot("ball.x", show=False)
    with pytest.raises(ArgumentError, match="log"):
        r.plot("ball.h", log="z", show=False)


def test_plot_without_units_keeps_small_variables_visible() -> None:
    pytest.importorskip("matplotlib")
    values = np.array([[1.0, 1e-5, 0.4, 0.0], [0.5, 3e-5, 0.9, 0.0]])
    r = Result([0, 1], values, ["y1", "y2", "y3", "zero"], stats=Stats(), manifest={})
    assert labels_of(r.plot(show=False)) == [["y1", "y3"], ["y2", "zero"]]
    assert r.plot(show=False).axes[-1].get_xlabel() == "time"


def test_plot_into_given_axes() -> None:
    figure_module = pytest.importorskip("matplotlib.figure")
    figure = figure_module.Figure()
    axes = figure.add_subplot()
    assert make_result().plot("ball.h", "ball.v", ax=axes, title="both") is figure
    assert labels_of(figure) == [["ball.h", "ball.v"]]
    assert axes.get_title() == "both"


def test_names_are_not_mathematics(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    r = Result([0, 1], [[1.0, 1.0]] * 2, ["a$_", "$\\frac$"], stats=Stats(), manifest={})
    r.plot(file=tmp_path / "a.png")
    r.plot("$\\frac$", file=tmp_path / "b.png")
    assert (tmp_path / "b.png").exists()


def drawn(r: Result, name: str) -> list[tuple[float, float]]:
    line: Any = r.plot(name, show=False).axes[0].get_lines()[0]
    return [(float(t), float(x)) for t, x in zip(*line.get_data(), strict=True)]


def test_jumps_are_lifted_pens() -> None:
    pytest.importorskip("matplotlib")
    points = drawn(make_result(), "ball.v")  # two rows at the event
    assert len(points) == 6
    assert math.isnan(points[3][1])
    event = Event(0.5, ("x",), (1,), np.array([0.4]), np.array([3.0]))
    info = {
        "x": VariableInfo("x", "state"),
        "d": VariableInfo("d", "discrete"),
        "y": VariableInfo("y", "output"),
    }
    r = Result(
        [0, 1],
        [[0.0, 5.0, 1.0], [3.5, 6.0, 2.0]],
        ["x", "d", "y"],
        stats=Stats(),
        manifest={},
        events=[event],
        info=info,
        aliases={"minus": ("x", -1)},
    )
    for name, sign in (("x", 1), ("minus", -1)):
        points = drawn(r, name)
        assert [t for t, _ in points] == [0, 0.5, 0.5, 0.5, 1]
        assert [x for _, x in points if not math.isnan(x)] == [0, sign * 0.4, sign * 3.0, sign * 3.5]
    assert [x for _, x in drawn(r, "d") if not math.isnan(x)] == [5, 5, 6, 6]
    assert drawn(r, "y") == [(0, 1), (1, 2)]  # nothing is known of its jump


@pytest.mark.parametrize("value", [0.4, 3.0])
def test_one_row_right_at_the_event(value: float) -> None:
    pytest.importorskip("matplotlib")
    event = Event(0.5, (), (), np.array([0.4]), np.array([3.0]))
    info = {"x": VariableInfo("x", "state")}
    values = [[0.0], [value], [3.5]]
    r = Result([0, 0.5, 1], values, ["x"], stats=Stats(), manifest={}, events=[event], info=info)
    xs = [x for _, x in drawn(r, "x")]
    gap = next(i for i, x in enumerate(xs) if math.isnan(x))
    assert set(xs[:gap]) == {0.0, 0.4}
    assert set(xs[gap + 1 :]) == {3.0, 3.5}


def test_events_are_drawn_once_per_axis() -> None:
    pytest.importorskip("matplotlib")
    for count, height in ((3, 1.0), (100, 0.04)):
        events = [Event(0.5 * k / count, (), (), np.empty(0), np.empty(0)) for k in range(count)]
        axes: Any = make_result(events=events).plot("ball.h", show=False).axes[0]
        segments = axes.collections[0].get_segments()
        assert len(segments) == count
        assert segments[0][1][1] == height
    assert not make_result().plot("ball.h", show=False, events=False).axes[0].collections


def test_plot_steps(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    r = make_result(steps=steps_of(20))
    figure = plot_steps(r, file=tmp_path / "s.png", log="x")
    upper, lower = figure.axes
    assert upper.get_yscale() == "log"
    assert labels_of(figure)[0] == ["bdf", "radau5"]
    assert lower.get_ylabel() == "order"
    assert (tmp_path / "s.png").stat().st_size > 1000
    with pytest.raises(ArgumentError, match="no record of its steps"):
        plot_steps(make_result())


def test_window_only_where_there_is_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pyplot = pytest.importorskip("matplotlib.pyplot")
    shown = []
    monkeypatch.setattr(pyplot, "show", lambda: shown.append(1))
    for backend, file, expected in (("TkAgg", None, 1), ("TkAgg", tmp_path / "p.png", 0), ("agg", None, 0)):
        shown.clear()
        monkeypatch.setattr("matplotlib.get_backend", lambda backend=backend: backend)
        make_result().plot("ball.h", file=file)
        assert len(shown) == expected
    pyplot.close("all")


def test_plot_needs_no_pyplot(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    make_result().plot(file=tmp_path / "p.png")
    make_result().plot(show=False)


# -- manifest ----------------------------------------------------------------------------------------------


def function_of_the_user(t: float) -> float:
    return t


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.float64(0.5), 0.5),
        (np.int32(3), 3),
        (np.bool_(True), True),
        (np.array([[1, 2]]), [[1, 2]]),
        ((1, "a", None), [1, "a", None]),
        ({2: {"b", "a"}}, {"2": ["a", "b"]}),
        (np.array([np.nan, np.inf, -np.inf]), ["NaN", "Infinity", "-Infinity"]),
        (Path("a") / "b", os.path.join("a", "b")),
        (function_of_the_user, f"{__name__}.function_of_the_user"),
        (np.sin, "sin"),
        (len, "len"),
        (object(), "object"),
        (stat.S_IMODE, f"{stat.S_IMODE.__module__}.S_IMODE"),
    ],
)
def test_to_json(value: Any, expected: Any) -> None:
    converted = to_json(value)
    json.dumps(converted, allow_nan=False)
    assert converted == expected or (value is np.sin and str(converted).endswith(("sin", "ufunc")))


def test_long_arrays_are_recorded_by_hash() -> None:
    one, same, other = (to_json(np.arange(5000.0) + shift) for shift in (0, 0, 1))
    assert one == same
    assert one != other
    assert one["shape"] == [5000]


def test_manifest() -> None:
    options: dict[str, Any] = {"rtol": np.float64(1e-6), "inputs": {"u": function_of_the_user}, "points": 500}
    manifest = make_manifest("Circuit", hash_bytes("text"), options)
    assert {"pliant", "python", "numpy", "platform", "created", "model", "options"} == set(manifest)
    assert manifest["model"] == {
        "name": "Circuit",
        "sha256": "982d9e3eb996f559e633f4d194def3761d909f5a3b647d1a851fead67c32c9d1",
    }
    assert manifest["created"].endswith("+00:00")
    assert manifest["options"]["inputs"]["u"].endswith("function_of_the_user")
    assert json.loads(json.dumps(manifest, allow_nan=False)) == manifest


def test_hashes_of_parts() -> None:
    assert hash_bytes("ab", "c") != hash_bytes("a", "bc")
    assert hash_bytes("a", b"b") == hash_bytes(b"a", "b")


def test_docstring_examples() -> None:
    import doctest

    from pliant.solve import manifest, result

    check: Callable[..., doctest.TestResults] = doctest.testmod
    for module in (manifest, result):
        results = check(module)
        assert results.attempted
        assert not results.failed
