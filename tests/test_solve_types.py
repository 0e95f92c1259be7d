"""Types of variables: declared in the model, kept to tables and files; what is computed with stays a float."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from results import FORMATS, assert_same

import pliant
from pliant.solve.results.result import Result, Stats, VariableInfo
from pliant.solve.results.typed import typed

TEXT = """
model Counter
  type Mode = enumeration(idle, busy);
  parameter Integer limit = 3;
  parameter Boolean on = true;
  input Boolean push(start = false);
  output Integer n(start = 0, fixed = true);
  output Boolean full = n >= limit;
  Integer left = limit - n, minus = -n;
  Boolean same = full;
  Mode mode(start = Mode.idle, fixed = true);
  Real x(start = 0, fixed = true, unit = "m");
equation
  der(x) = if on then cos(x) else 0;
  when sample(0.1, 0.25) then
    n = pre(n) + 1;
    mode = if n > 1 then Mode.busy else Mode.idle;
  end when;
end Counter;
"""
TYPES = {
    "n": "int64",
    "full": "bool",
    "left": "int64",
    "minus": "int64",
    "same": "bool",
    "mode": "int64",
    "push": "bool",
    "x": "float64",
    "der(x)": "float64",
}


@pytest.fixture(scope="module")
def result() -> Result:
    return pliant.load(TEXT).simulate(stop=1, points=11, inputs={"push": ([0.0, 0.5], [False, True])})


def test_declared_types(result: Result) -> None:
    model = pliant.load(TEXT)
    kinds = {name: model.variables[name].type for name in ("limit", "on", "push", "n", "mode", "x")}
    assert list(kinds.values()) == ["integer", "boolean", "boolean", "integer", "enumeration", "real"]
    assert model.variables["mode"].literals == ("idle", "busy")
    assert [result.type(name) for name in ("limit", "push", "same", "minus", "der(x)", "time")] == [
        "integer",
        "boolean",
        "boolean",
        "integer",
        "real",
        "real",
    ]


def test_values_stay_floats(result: Result) -> None:
    for name in (*TYPES, "limit", "on"):
        assert result[name].dtype == np.float64
    assert result.values.dtype == np.float64
    assert result.final["n"] == 4.0
    assert result.parameters["on"] == 1.0


def test_tables_show_them(result: Result) -> None:
    pytest.importorskip("pandas")
    frame = result.to_pandas()
    assert {name: str(frame[name].dtype) for name in TYPES} == TYPES
    for name in TYPES:
        assert np.array_equal(frame[name].to_numpy(dtype=float), result[name])
    some = result.to_pandas(["limit", "on", "n", "n"])
    assert [str(one) for one in some.dtypes] == ["int64", "bool", "int64", "int64"]
    assert list(some.columns) == ["limit", "on", "n", "n"]
    assert [str(one) for one in result.to_pandas(["x", "der(x)"]).dtypes] == ["float64", "float64"]


@pytest.mark.parametrize("suffix", FORMATS)
def test_files_keep_them(result: Result, suffix: str, tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    again = pliant.load_result(result.save(tmp_path / f"r{suffix}"))
    assert again.info == result.info
    assert again.values.dtype == np.float64
    assert all(np.array_equal(again[name], result[name]) for name in result.names)
    assert {name: str(one) for name, one in again.to_pandas(list(TYPES)).dtypes.items()} == TYPES
    some = pliant.load_result(result.save(tmp_path / f"some{suffix}", names=["same", "minus"]))
    assert (some.type("same"), some.type("minus")) == ("boolean", "integer")


def test_other_tools_see_them(result: Result, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    schema = parquet.read_schema(result.save(tmp_path / "r.parquet"))
    assert [str(schema.field(name).type) for name in ("time", "n", "full", "mode")] == [
        "double",
        "int64",
        "bool",
        "int64",
    ]
    assert json.loads(schema.field("mode").metadata[b"literals"]) == ["idle", "busy"]
    header, first, *_ = result.save(tmp_path / "r.csv").read_text().splitlines()
    cells = dict(zip(header.split(","), first.split(","), strict=True))
    assert (cells["n"], cells["full"], cells["left"], cells["mode"], cells["x"]) == ("0", "0", "3", "1", "0.0")


def test_files_of_other_tools(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = arrow.table({"time": [0.0, 1.0], "on": [True, False], "n": [1, 2], "x": [0.5, 1.5]})
    parquet.write_table(table, tmp_path / "foreign.parquet")
    found = pliant.load_result(tmp_path / "foreign.parquet")
    assert [found.type(name) for name in ("on", "n", "x")] == ["boolean", "integer", "real"]
    assert found["on"].tolist() == [1.0, 0.0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("speed [:#(type=Integer)]", ("speed", "", "integer")),
        ("is open [:#(type=Boolean)]", ("is open", "", "boolean")),
        ("speed [rad/s|rpm:#(type=Real)]", ("speed", "rad/s", "real")),
        ("speed [rad/s]", ("speed", "rad/s", "real")),
    ],
)
def test_types_as_dymola_writes_them(text: str, expected: tuple[str, str, str], tmp_path: Path) -> None:
    """A file whose manifest is gone: descriptions tell unit and type."""
    info = {"a": VariableInfo("a", kind="output", description=text)}
    path = Result([0.0, 1.0], values=[[1.0], [0.0]], names=["a"], stats=Stats(), manifest={}, info=info).save(
        tmp_path / "r.mat"
    )
    content = path.read_bytes()
    path.write_bytes(content[: content.rindex(b"manifest\0") - 20])
    found = pliant.load_result(path).info["a"]
    assert (found.description, found.unit, found.type) == expected


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize(
    ("kind", "column"),
    [
        ("boolean", [0.0, 0.5]),
        ("boolean", [np.nan, 1.0]),
        ("integer", [1e300, 1.0]),
        ("integer", [np.inf, np.nan]),
        ("enumeration", [1.0, 1.25]),
    ],
)
def test_no_value_is_lost(kind: str, column: list[float], suffix: str, tmp_path: Path) -> None:
    info = {"a": VariableInfo("a", kind="discrete", type=kind)}  # type: ignore[arg-type]
    found = Result([0.0, 1.0], values=np.array(column)[:, None], names=["a"], stats=Stats(), manifest={}, info=info)
    assert typed(found["a"], kind).dtype == np.float64  # type: ignore[arg-type]
    assert_same(found, pliant.load_result(found.save(tmp_path / f"r{suffix}")))


def test_couplings_keep_them() -> None:
    pytest.importorskip("pandas")
    coupling = pliant.Coupling()
    coupling.add("one", pliant.load(TEXT))
    frame = coupling.simulate(stop=1, step=0.1, inputs={"one.push": True}).to_pandas(["one.n", "one.full", "one.x"])
    assert [str(one) for one in frame.dtypes] == ["int64", "bool", "float64"]
    assert frame["one.n"].iloc[-1] == 4
