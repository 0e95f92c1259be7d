"""Results in files: CSV, Parquet and .mat, as other tools see them, and writing without harm."""

from __future__ import annotations

import errno
import io
import json
import math
import os
import stat
import struct
import sys
import warnings
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from results import FORMATS, assert_same, make_result

from pliant.errors import ArgumentError, OutputError, UnknownNameError
from pliant.solve.results import save
from pliant.solve.results.result import FloatArray, Result, Stats, VariableInfo
from pliant.solve.results.save import load_result, side_car, write_files

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
def test_flags_of_a_real_time_step(suffix: str, tmp_path: Path) -> None:
    r = make_result()
    for flags in ([0, 0, 0, 0], [3, 0, 0, 32], [1, 2, 4, 8]):
        r.flags = np.array(flags, dtype=np.int64)
        assert_same(r, load_result(r.save(tmp_path / f"r{suffix}")))


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize(("rows", "columns"), [(0, 1), (1, 0), (1, 1), (1, 3), (2, 0), (7, 2)])
def test_round_trip_of_any_shape(suffix: str, rows: int, columns: int, tmp_path: Path) -> None:
    values = np.random.default_rng(1).standard_normal((rows, columns)) * 1e-200
    names = ["x" * (1 + 10 * j) for j in range(columns)]
    r = Result(np.arange(rows) / 3, values=values, names=names, stats=Stats(), manifest={"a": 1})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_same(r, load_result(r.save(tmp_path / f"r{suffix}")))


@pytest.mark.parametrize("suffix", FORMATS)
def test_special_numbers(suffix: str, tmp_path: Path) -> None:
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, sys.float_info.max, 0.1]
    r = Result(
        np.arange(8.0),
        values=np.array(special)[:, None],
        names=["x"],
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
    info = {own[0]: VariableInfo(own[0], kind="state", unit="Ω.m", description=text)}
    values = np.arange(2.0 * len(own)).reshape(2, -1) + 1 / 3
    aliases = {alias: (own[-1], -1)}
    r = Result([0.0, 1.0], values=values, names=own, stats=Stats(), manifest={"m": text}, info=info, aliases=aliases)
    again = load_result(r.save(tmp_path_factory.mktemp("names") / f"r{suffix}"))
    assert_same(r, again)
    assert again.info[own[0]] == info[own[0]]


@pytest.mark.parametrize("suffix", FORMATS)
def test_large_result(suffix: str, tmp_path: Path) -> None:
    values = np.random.default_rng(0).standard_normal((100_000, 3))
    r = Result(np.linspace(0, 1, 100_000), values=values, names=["a", "b", "c"], stats=Stats(), manifest={})
    assert_same(r, load_result(r.save(tmp_path / f"r{suffix}")))


def test_csv_text(tmp_path: Path) -> None:
    r = Result([0, 0.1], values=[[1.0, 1 / 3]] * 2, names=["a[1,2]", 'q"'], stats=Stats(), manifest={"k": 1})
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
    info = {names[0]: VariableInfo(names[0], kind="state", unit="K", description="temperature")}
    r = Result(
        np.linspace(0, 2, rows),
        values=values,
        names=names,
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


@pytest.mark.usefixtures("no_override")
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
