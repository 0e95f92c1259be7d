"""Results: reading by name, pictures, manifests."""

from __future__ import annotations

import json
import math
import os
import re
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from results import make_result

from pliant.errors import ArgumentError, OutputError, UnknownNameError
from pliant.solve.results.manifest import hash_bytes, make_manifest, to_json
from pliant.solve.results.plot import plot_steps
from pliant.solve.results.result import Event, FloatArray, Result, Stats, VariableInfo

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
    info = {"x": VariableInfo("x", kind="state", unit=unit)}
    r = Result(
        [0], values=[[1]], names=["x"], stats=Stats(), manifest={}, info=info, lazy={"der(x)": lambda: np.ones(1)}
    )
    assert r.unit("der(x)") == expected


def test_columns_are_read_only_and_the_callers_array_is_not() -> None:
    values = np.ones((2, 1))
    r = Result([0, 1], values=values, names=["x"], stats=Stats(), manifest={})
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
        _ = Result([], values=np.empty((0, 1)), names=["x"], stats=Stats(), manifest={}).final


@pytest.mark.parametrize("names", [["x"], ["x", "x"], ["x", "time"]])
def test_bad_shapes_and_names(names: list[str]) -> None:
    with pytest.raises(ArgumentError):
        Result([0, 1], values=np.ones((2, 2)), names=names, stats=Stats(), manifest={})


def test_repr_and_html() -> None:
    r = make_result()
    text = repr(r)
    for part in (
        "6 columns (ball.h, ball.v",
        "5 rows",
        "time 0 to 0.7",
        "bdf, 42 steps",
        "2 events",
        "CUT SHORT",
    ):
        assert part in text
    html = make_result(info={"ball.h": VariableInfo("ball.h", kind="state", unit="<b>")})._repr_html_()
    assert html.startswith("<table>")
    assert "&lt;b&gt;" in html
    assert "no rows" in Result([], values=np.empty((0, 1)), names=["x"], stats=Stats(), manifest={})._repr_html_()


def test_stats_table_is_aligned() -> None:
    lines = str(Stats(n_steps=1234567, method="radau5")).splitlines()
    assert len(lines) == len(Stats().as_dict())
    ends = {re.match(r"\S+ +\S+", line).end() for line in lines}  # type: ignore[union-attr]
    assert len(ends) == 1
    assert "1,234,567" in lines[1]


def test_event_text() -> None:
    assert str(make_result().events[0]) == "t = 0.333333333: h < 0 falling"
    assert "time event, ends the run" in str(
        Event(1.0, roots=(), directions=(), before=np.empty(0), after=np.empty(0), terminal=True)
    )


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
    r = Result([0, 1], values=values, names=["y1", "y2", "y3", "zero"], stats=Stats(), manifest={})
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
    r = Result([0, 1], values=[[1.0, 1.0]] * 2, names=["a$_", "$\\frac$"], stats=Stats(), manifest={})
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
    event = Event(0.5, roots=("x",), directions=(1,), before=np.array([0.4]), after=np.array([3.0]))
    info = {
        "x": VariableInfo("x", kind="state"),
        "d": VariableInfo("d", kind="discrete"),
        "y": VariableInfo("y", kind="output"),
    }
    r = Result(
        [0, 1],
        values=[[0.0, 5.0, 1.0], [3.5, 6.0, 2.0]],
        names=["x", "d", "y"],
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
    event = Event(0.5, roots=(), directions=(), before=np.array([0.4]), after=np.array([3.0]))
    info = {"x": VariableInfo("x", kind="state")}
    values = [[0.0], [value], [3.5]]
    r = Result([0, 0.5, 1], values=values, names=["x"], stats=Stats(), manifest={}, events=[event], info=info)
    xs = [x for _, x in drawn(r, "x")]
    gap = next(i for i, x in enumerate(xs) if math.isnan(x))
    assert set(xs[:gap]) == {0.0, 0.4}
    assert set(xs[gap + 1 :]) == {3.0, 3.5}


def test_events_are_drawn_once_per_axis() -> None:
    pytest.importorskip("matplotlib")
    for count, height in ((3, 1.0), (100, 0.04)):
        events = [
            Event(0.5 * k / count, roots=(), directions=(), before=np.empty(0), after=np.empty(0)) for k in range(count)
        ]
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
    assert (tmp_path / "p.png").stat().st_size > 5000
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

    from pliant.solve.results import manifest, result

    check: Callable[..., doctest.TestResults] = doctest.testmod
    for module in (manifest, result):
        results = check(module)
        assert results.attempted
        assert not results.failed
