"""Inputs as users give them: kinds, types, files, names; and that every entry reads them alike."""

from __future__ import annotations

import json
import pickle
import signal
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from support_cli import CliRunner

import pliant
from pliant.cli import app
from pliant.realtime.scenario import Scenario
from pliant.solve.binding import interrupts
from pliant.solve.signals.given import read_inputs, typed_inputs
from pliant.solve.signals.kinds import Declared, TableSignal

TYPES = """
package P
  type Mode = enumeration(off, slow "half speed", fast, 'very fast');
  model Types
    parameter Real top = 10;
    input Real u(min = -1, max = top, start = top/4);
    discrete input Real held;
    input Integer n;
    input Boolean b;
    input Mode m;
    input Real v[3];
    input Real a[2,2];
    Real x(start = 0, fixed = true), y(start = 0, fixed = true);
    output Real mode = if m == Mode.off then 1 elseif m == Mode.slow then 2 elseif m == Mode.fast then 3 else 4;
  equation
    der(x) = u;
    der(y) = v[1] + 10*v[2] + 100*v[3] + a[1,1] + 2*a[1,2] + 3*a[2,1] + 4*a[2,2];
  end Types;
end P;
"""
REAL = Declared()


@pytest.fixture(scope="module")
def types() -> pliant.Model:
    return pliant.load(TYPES, name="P.Types")


def table_of(value: Any, declared: Declared = REAL) -> TableSignal:
    found = typed_inputs({"u": declared}, {"u": value})["u"]
    assert isinstance(found, TableSignal)
    return found


def csv_of(tmp_path: Path, text: str | bytes, name: str = "t.csv") -> Path:
    (tmp_path / name).write_bytes(text.encode() if isinstance(text, str) else text)
    return tmp_path / name


def values(result: pliant.Result, name: str, *times: float) -> list[float]:
    return [float(result[name][int(np.searchsorted(result.time, t))]) for t in times]


# -------------------------------------------------------------------------------------------------------- types


def test_tables_are_linear_or_held_by_type(types: pliant.Model) -> None:
    inputs = {name: ([0, 1, 2], [0, 1, 0]) for name in ("u", "held", "n", "b")}
    inputs["m"] = ([0, 1, 2], ["off", "fast", "slow"])
    points = [0.0, 0.5, 1.5, 2.5]
    result = types.simulate(stop=3, inputs=inputs, points=points)
    assert result["u"] == pytest.approx([0, 0.5, 0.5, 0])
    for name in ("held", "n", "b"):
        assert result[name] == pytest.approx([0, 0, 1, 0]), name
    assert result["mode"] == pytest.approx([1, 1, 3, 2])


def test_of_two_values_at_one_time_a_held_input_takes_the_second() -> None:
    held = table_of(([0, 1, 1, 2], [5.0, 7.0, 3.0, 3.0]), Declared(held=True))
    assert [held.at(t) for t in (-1, 0.5, 1, 1.5, 9)] == [5, 5, 3, 3, 3]
    assert held.jumps.tolist() == [1.0]
    times, heights = held.points
    assert times.tolist() == [0, 1, 1]
    assert heights.tolist() == [5, 5, 3]
    linear = table_of(([0, 1, 1, 2], [5.0, 7.0, 3.0, 3.0]))
    assert [linear.at(t) for t in (-1, 0.5, 1, 1.5, 9)] == [5, 6, 3, 3, 3]
    assert linear.jumps.tolist() == [1.0]


@pytest.mark.parametrize(
    ("given", "number"),
    [("slow", 2), ("Mode.slow", 2), ("P.Mode.fast", 3), ("very fast", 4), ("P.Mode.'very fast'", 4), (1, 1), (4.0, 4)],
)
def test_values_of_enumerations(types: pliant.Model, given: Any, number: int) -> None:
    assert types.simulate(stop=1, inputs={"m": given}).final["mode"] == number


def test_an_enumeration_begins_with_its_first_value(types: pliant.Model) -> None:
    assert types.simulate(stop=1).final["mode"] == 1


@pytest.mark.parametrize("given", [True, np.bool_(True), 1, 1.0, "true", "True", np.array(1), lambda t: True])
def test_values_of_booleans(types: pliant.Model, given: Any) -> None:
    assert types.simulate(stop=1, inputs={"b": given}, outputs=["b"])["b"][-1] == 1.0


@pytest.mark.parametrize(
    "given", [2, 2.0, np.float32(2), np.int8(2), np.array(2.0), Fraction(2), lambda t: np.array(2)]
)
def test_numbers_of_any_make(types: pliant.Model, given: Any) -> None:
    assert types.simulate(stop=1, inputs={"u": given}).final["x"] == pytest.approx(2.0)


def test_start_values_and_bounds_follow_the_parameters(types: pliant.Model) -> None:
    assert types.simulate(stop=1).final["x"] == pytest.approx(2.5)
    assert types.simulate(stop=1, parameters={"top": 20.0}).final["x"] == pytest.approx(5.0)
    assert types.simulate(stop=1, parameters={"top": 20.0}, inputs={"u": 15}).final["x"] == pytest.approx(15.0)
    for inputs in ({"u": 15}, {"u": ([0, 1], [0, 15])}, {"u": lambda t: 15.0}, {"u": pliant.Segments([0], [[0, 20]])}):
        with pytest.raises(pliant.ArgumentError, match=r"input u cannot be .*: it has max = 10") as caught:
            types.simulate(stop=1, inputs=inputs)
        assert "model.mo:6" in caught.value.message
    turning = pliant.Segments([0.0, 1.0], [[0.0, 24.0, -24.0], [0.0, 0.0, 0.0]])
    with pytest.raises(pliant.ArgumentError, match="max"):
        types.simulate(stop=1, inputs={"u": pliant.Segments([0.0], [[0.0, 48.0, -48.0]])})
    types.simulate(stop=1, inputs={"u": turning})


# ------------------------------------------------------------------------------------------------------- arrays


def test_arrays_at_once_and_by_element(types: pliant.Model) -> None:
    whole = types.simulate(stop=1, inputs={"v": [1, 2.0, ([0, 1], [3, 3])], "a": [[1, 2], [3, 4]]})
    assert whole.final["y"] == pytest.approx(321 + 1 + 4 + 9 + 16)
    single = types.simulate(stop=1, inputs={"v[2]": 2.0, "a[2,1]": 1})
    assert single.final["y"] == pytest.approx(23)
    assert types.simulate(stop=1, inputs={"v": np.array([1.0, 0, 0])}).final["y"] == pytest.approx(1)


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        ({"v": [1, 2]}, "an array of 3: it needs one value"),
        ({"v": 1.0}, "an array of 3"),
        ({"a": [1, 2, 3, 4]}, "an array of 2 x 2"),
        ({"v": [1, 2, 3], "v[1]": 1}, r"v\[1\] is given twice"),
        ({"v": [1, 2, "three"]}, r"input v\[3\]: .*'three'"),
    ],
)
def test_arrays_that_do_not_fit(types: pliant.Model, inputs: Any, words: str) -> None:
    with pytest.raises(pliant.ArgumentError, match=words):
        types.simulate(stop=1, inputs=inputs)


# -------------------------------------------------------------------------------------------------------- files


@pytest.mark.parametrize(
    "text",
    [
        "time,u\n0,1\n0.5,2.5\n",
        "u,time\n1,0\n2.5,0.5\n",
        "0,1\n0.5,2.5",
        "\ufefft,speed\r\n0,1\r\n0.5,2.5\r\n",
        "time;u\n0;1\n0,5;2,5\n",
        "0,0;1,0\n0,5;2,5\n",
        "time\tu\tw\n0\t1\t0\n0,5\t2,5\t0\n",
        '# measured\n\n"time","u"\n"0","1"\n\n# half way\n0.5 , 2.5\n',
        "x,u\n0,1\n0.5,2.5\n",
        "Time,u,\n0,1,\n0.5,2.5,\n",
        "time,u\r0,1\r0.5,2.5\r",
    ],
)
def test_dialects_of_csv(tmp_path: Path, text: str) -> None:
    found = table_of(csv_of(tmp_path, text))
    assert found.times.tolist() == [0, 0.5]
    assert found.values.tolist() == [1, 2.5]


def test_texts_in_files(tmp_path: Path) -> None:
    file = csv_of(tmp_path, "time;b\n0;true\n0,5;FALSE\n1;1\n")
    assert table_of(file, Declared("boolean", True)).values.tolist() == [1, 0, 1]
    file = csv_of(tmp_path, "time,m\n0,fast\n1,Mode.slow\n2,1\n")
    modes = Declared("enumeration", True, literals=("off", "slow", "fast"))
    assert table_of(file, modes).values.tolist() == [3, 2, 1]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("time,u\n0,1\n\n# no\n1,two\n", r"'two' is not a number \(.*t\.csv, line 5\)"),
        ("time,u\n0,1\n2,1\n1,0\n", r"1 comes after 2 \(.*line 4\)"),
        ("0,1\n0,2\n0,3\n", r"occurs more than twice in the table \(.*line 3\)"),
        ("time,u\n0,1\n1,inf\n", r"inf is not finite \(.*line 3\)"),
        ("time,u\n0,1\n1,\n", r"there is no value \(.*line 3\)"),
        ("time,u\n0,5,1,5\n", r"4 columns instead of 2 \(.*line 2\)"),
        ("time;u\n0;1,5\n1;2.5\n", r"decimal points and with decimal commas \(.*line 3\)"),
        ("time;u\n0.5;1,500\n", r"decimal points and with decimal commas"),
        ("2024-01-01,1\n2024-01-02,2\n", r"time '2024-01-02' is not a number"),
        ("time u\n0 1\n", "one column only"),
    ],
)
def test_files_that_are_refused_with_their_line(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(pliant.ArgumentError, match=f"input u: .*{words}") as caught:
        table_of(csv_of(tmp_path, text))
    assert caught.value.hint


def test_results_are_inputs(types: pliant.Model, tmp_path: Path) -> None:
    """A file that pliant wrote serves as the input of another run."""
    first = types.simulate(stop=1, inputs={"u": lambda t: t}, points=11, outputs=["u", "n"])
    for name in ("r.csv", "r.parquet"):
        first.save(tmp_path / name)
        again = types.simulate(stop=1, inputs={"u": tmp_path / name})
        assert again.final["x"] == pytest.approx(0.5, abs=1e-6)
        with pytest.raises(pliant.UnknownNameError, match=r"no input 'der\(x\)'"):  # other columns are not dropped
            types.simulate(stop=1, inputs=tmp_path / name)


def test_a_million_rows(tmp_path: Path) -> None:
    t = np.linspace(0, 1, 1_000_000)
    rows = "\n".join(map(",".join, zip(map(repr, t.tolist()), map(repr, (2 * t).tolist()), strict=True)))
    file = csv_of(tmp_path, f"time,u\n{rows}\n")
    begin = time.process_time()
    found = table_of(file)
    assert time.process_time() - begin < 2.0
    assert len(found.times) == 1_000_000
    assert found.values[-1] == 2.0


# ---------------------------------------------------------------------------------------------- pandas and Arrow


def test_tables_of_pandas_and_arrow() -> None:
    t, u = [0.0, 0.5, 1.0], [1.0, 2.0, 3.0]
    frame = pd.DataFrame({"time": t, "u": u, "w": 0.0})
    forms = [
        pd.Series(u, index=t),
        pd.Series(u, index=t, name="time"),
        frame,
        frame[["time", "u"]].rename(columns={"u": "speed"}),
        frame.set_index("time"),
        frame[["time", "u"]].set_axis([0, 1], axis=1),
        pa.table({"t": t, "u": u, "w": u}),
        pa.RecordBatch.from_pydict({"time": t, "u": pa.array([1, 2, 3])}),
    ]
    for form in forms:
        found = table_of(form)
        assert found.times.tolist() == t
        assert found.values.tolist() == u
    texts = pd.Series(["true", "false"], index=[0, 1], dtype="category")
    assert table_of(texts, Declared("boolean", True)).values.tolist() == [1, 0]
    flags = pd.Series([True, False], index=[0, 1], dtype="boolean")
    assert table_of(flags, Declared("boolean", True)).values.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("form", "words"),
    [
        (pd.Series([1.0, 2.0], index=pd.date_range("2024", periods=2)), "dates.*\n.*total_seconds"),
        (pd.Series([1.0, 2.0], index=pd.to_timedelta([0, 1], unit="s")), "dates.*\n.*total_seconds"),
        ((pd.date_range("2024", periods=2), [1, 2]), "dates.*\n.*total_seconds"),
        (pd.Series([1.0, None], index=[0, 1]), "not finite"),
        (pd.Series([1, None], index=[0, 1], dtype="Int64"), "not finite"),
        (pa.table({"t": [0.0, 1.0], "u": [1, None]}), "not finite .*row 2"),
        (pd.Series([1j, 2j], index=[0, 1]), "no numbers"),
        (pd.DataFrame({"u": [1.0, 2.0]}), "no column of values"),
        (pd.Series([[1], [2]], index=[0, 1]), "no numbers"),
        (pd.Series([1.0], index=pd.MultiIndex.from_tuples([(1, 2)])), "more than one level"),
    ],
)
def test_tables_that_are_refused(form: Any, words: str) -> None:
    with pytest.raises(pliant.ArgumentError, match=f"input u: .*{words}"):
        table_of(form)


# -------------------------------------------------------------------------------------------------------- names


def test_all_inputs_in_one_table(types: pliant.Model, tmp_path: Path) -> None:
    frame = pd.DataFrame({"time": [0.0, 1.0], "u": [0.0, 2.0], "m": ["fast", "off"], "v[2]": [1.0, 1.0], "b": [0, 1]})
    csv = tmp_path / "all.csv"
    frame.to_csv(csv, index=False)
    for given in (frame, frame.set_index("time"), pa.Table.from_pandas(frame), csv, str(csv)):
        result = types.simulate(stop=1, inputs=given, points=[0, 0.5, 1])
        assert result.final["x"] == pytest.approx(1.0)
        assert result["mode"][1] == 3
        assert result.final["y"] == pytest.approx(10.0)
    with pytest.raises(pliant.UnknownNameError, match=r"no input 'w' \(the DataFrame\)"):
        types.simulate(stop=1, inputs=frame.rename(columns={"u": "w"}))
    csv.write_text("time,u,u\n0,1,1\n")
    with pytest.raises(pliant.ArgumentError, match="2 columns 'u'"):
        types.simulate(stop=1, inputs=csv)
    csv.write_text("0,1\n1,1\n")
    with pytest.raises(pliant.ArgumentError, match="have no names"):
        types.simulate(stop=1, inputs=csv)


@pytest.mark.parametrize("given", [5, [1.0], "no.csv", pd.Series([1.0], index=[0.0]), {1: 2.0}])
def test_inputs_that_are_no_inputs(types: pliant.Model, given: Any) -> None:
    with pytest.raises(pliant.ArgumentError, match="inputs"):
        types.simulate(stop=1, inputs=given)


def test_unknown_names_are_suggested(types: pliant.Model) -> None:
    with pytest.raises(pliant.UnknownNameError, match="no input 'helt'") as caught:
        types.simulate(stop=1, inputs={"helt": 1.0})
    assert "'held'" in caught.value.hint


def test_tables_before_and_after_the_run(types: pliant.Model) -> None:
    early = types.simulate(start=10, stop=11, inputs={"u": ([0, 1], [5, 7]), "n": ([0, 1], [5, 7])})
    assert early.final["x"] == pytest.approx(7.0)
    assert early["n"][-1] == 7
    late = types.simulate(start=10, stop=11, inputs={"u": ([20, 21], [5, 7]), "n": ([20, 21], [5, 7])})
    assert late.final["x"] == pytest.approx(5.0)
    assert late["n"][-1] == 5


# ---------------------------------------------------------------------------------------------------- functions


class Source:
    """Callable, as interpolants of SciPy are."""

    def __call__(self, t: float) -> Any:
        return np.array(2.0 * t)


@pytest.mark.parametrize("function", [Source(), np.sin, lambda t, scale=2.0: scale * t, lambda *args: args[0]])
def test_functions_of_time(types: pliant.Model, function: Any) -> None:
    result = types.simulate(stop=1, inputs={"u": function}, points=3)
    assert result["u"] == pytest.approx([float(function(t)) for t in (0.0, 0.5, 1.0)])


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda: 1.0, "cannot be called with the time alone"),
        (lambda t, x: 1.0, "cannot be called with the time alone"),
        (lambda t, *, scale: 1.0, "cannot be called with the time alone"),
        (lambda t: None, "gives None at t = 0"),
        (lambda t: "1", "gives '1' at t = 0"),
        (lambda t: [1.0], r"an array of shape \(1,\)"),
        (lambda t: 1j, "gives 1j"),
    ],
)
def test_functions_that_are_refused(types: pliant.Model, function: Any, words: str) -> None:
    with pytest.raises(pliant.ArgumentError, match=f"input u: .*{words}"):
        types.simulate(stop=1, inputs={"u": function})


def test_an_error_of_the_users_function_passes_unchanged(types: pliant.Model) -> None:
    def broken(t: float) -> float:
        raise LookupError("no data")

    coupling = pliant.Coupling()
    coupling.add("a", pliant.load("model A\n input Real u;\n Real x(start = 0);\nequation\n der(x) = u;\nend A;\n"))
    with pytest.raises(LookupError, match="no data"):
        types.simulate(stop=1, inputs={"u": broken})
    with pytest.raises(LookupError, match="no data"):
        coupling.simulate(stop=1, step=0.1, inputs={"a.u": broken})


# -------------------------------------------------------------------------------------------------- other entries


def test_points_take_the_value_at_their_time(types: pliant.Model) -> None:
    jump = ([0, 1, 1, 2], [1.0, 1.0, 3.0, 5.0])
    assert types.linearize(t=1.0, inputs={"u": jump}).u[0] == 3.0
    assert types.linearize(t=1.5, inputs={"u": jump, "b": True, "m": "fast"}).u[0] == 4.0
    types.jacobian(inputs={"m": "fast"})
    types.check_jacobian(inputs={"b": True})


def test_steady_states_need_constants() -> None:
    model = pliant.load("model A\n input Real u;\n Real x(start = 0);\nequation\n der(x) = u - x;\nend A;\n")
    assert model.steady_state(inputs={"u": np.float32(2)})["x"] == pytest.approx(2.0)
    for value in (([0, 1], [0, 1]), lambda t: t, pliant.Segments([0.0], [[0.0, 1.0]])):
        with pytest.raises(pliant.ArgumentError, match="input u: a steady state needs a constant"):
            model.steady_state(inputs={"u": value})


def test_scenarios_keep_what_they_have_read(tmp_path: Path) -> None:
    file = csv_of(tmp_path, "time,u\n0,1\n1,2\n")
    scenario = Scenario(inputs={"u": file, "m": "fast", "v": [1, 2, 3]})
    file.unlink()
    again = pickle.loads(pickle.dumps(scenario))
    assert again.inputs["u"].values.tolist() == [1, 2]
    assert read_inputs(again.inputs) == again.inputs


def test_inputs_of_plans_by_type(tmp_path: Path) -> None:
    """Also where a step knows earlier values only: what jumps is held, never extrapolated."""
    model = pliant.load(
        "model A\n input Real u;\n input Integer n;\n Real x(start = 0, fixed = true), y(start = 0, fixed = true);\n"
        "equation\n der(x) = u - x;\n der(y) = n - y;\nend A;\n"
    )
    inputs = {"u": ([0, 1], [0, 1]), "n": ([0, 0.505], [1, 3])}
    for mode in ("new", "held", "extrapolated"):
        plan = model.realtime(step=0.01, stop=1, scenarios=[{"inputs": inputs}], options={"inputs": mode})
        result = plan.simulate(stop=1, inputs=inputs)
        assert set(result["n"]) == {1.0, 3.0}
        written = json.loads((plan.write(tmp_path / mode) / "plan.json").read_text())
        assert written["scenarios"][0]["inputs"]["n"] == {"times": [0.0, 0.505], "values": [1.0, 3.0]}


def test_sampled_outputs_are_held_in_couplings() -> None:
    """Connected to a Real input, they used to be extrapolated: half of the time the wrong value."""
    coupling = pliant.Coupling()
    coupling.add(
        "a",
        pliant.load(
            "model A\n discrete output Real y(start = 0);\n Real x(start = 0, fixed = true);\nequation\n der(x) = 1;\n"
            " when sample(0, 0.25) then\n y = 1 - pre(y);\n end when;\nend A;\n"
        ),
    )
    coupling.add("b", pliant.load("model B\n input Real u;\n Real x(start = 0);\nequation\n der(x) = u;\nend B;\n"))
    coupling.connect("a.y", "b.u")
    for scheme in ("jacobi", "gauss-seidel"):
        for extrapolation in (0, 1, 2):
            result = coupling.simulate(stop=1, step=0.25, scheme=scheme, extrapolation=extrapolation)
            assert result["b.x"] == pytest.approx([0, 0.25, 0.25, 0.5, 0.5], abs=1e-6), (scheme, extrapolation)


# --------------------------------------------------------------------------------------------------- command line


def run(*arguments: object) -> tuple[int, str]:
    done = CliRunner().invoke(app, [str(one) for one in arguments])
    return done.exit_code, done.stdout if done.exit_code == 0 else done.output


def test_the_command_line(tmp_path: Path) -> None:
    model = csv_of(tmp_path, TYPES, "types.mo")
    table = csv_of(tmp_path, "time,u,b\n0,0,false\n0.5,2,true\n", "all.csv")
    start = ("simulate", model, "--name", "P.Types", "--stop", "1", "--json")
    code, text = run(*start, "--input", table, "--input", "m=fast", "--input", "v[1]=1")
    assert code == 0, text
    final = json.loads(text)["final"]
    assert final["x"] == pytest.approx(1.5, abs=1e-6)
    assert final["y"] == pytest.approx(1.0)
    assert final["mode"] == 3
    for inputs, expected, words in (
        ([f"u={table}", "u=1"], 2, "given twice"),
        (["u=x"], 2, "expected a number, but 'x' is a text"),
        (["u"], 2, "not of the form name=value"),
        (["nowhere.csv"], 2, "there is no file nowhere.csv"),
        (["w=nowhere.csv"], 2, "input w: there is no file nowhere.csv"),
        (["m=fats"], 2, "did you mean 'fast'"),
        (["u=nowhere.csv"], 2, "there is no file nowhere.csv"),
        (["b=0.5"], 2, "is a Boolean"),
        (["u=nan"], 2, "not a finite number"),
        (["w=1"], 1, "no input 'w'"),
    ):
        code, text = run(*start, *(part for one in inputs for part in ("--input", one)))
        assert code == expected, text
        assert words in " ".join(text.split()), text


def test_files_of_couplings(tmp_path: Path) -> None:
    csv_of(tmp_path, "model A\n input Real u;\n Real x(start = 0);\nequation\n der(x) = u;\nend A;\n", "a.mo")
    csv_of(tmp_path, "time;a.u\n0;0\n1;2,5\n", "all.csv")
    head, part = "stop = 1\nstep = 0.1\n", "[parts.a]\nfile = 'a.mo'\n"
    for inputs in ("inputs = 'all.csv'\n", "[inputs]\n'a.u' = 'all.csv'\n", "[inputs]\n'a.u' = [[0, 1], [0, 2.5]]\n"):
        csv_of(tmp_path, head + inputs + part, "s.toml")
        code, text = run("cosim", tmp_path / "s.toml", "--json")
        assert code == 0, text
        assert json.loads(text)["final"]["a.x"] == pytest.approx(1.25, abs=1e-6)


INTERRUPT = """
import os, signal, threading
import pliant
def level(t): return 1.0
model = pliant.load('''
model Chain
  input Real u;
  Real x[30](each start = 0, each fixed = true);
equation
  for i in 1:30 loop
    der(x[i]) = 100*((if i == 1 then u else x[i-1]) - x[i]) + sin(500*time + i);
  end for;
end Chain;
''')
for _ in range(3):
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        model.simulate(stop=1e4, inputs={"u": level})
    except pliant.SimulationInterrupted as error:
        print(error.result.complete, end=" ", flush=True)
"""


def test_ctrl_c_is_not_lost_in_a_function(tmp_path: Path) -> None:
    # it arrives while C runs, and is noticed at the first instruction of the function that C calls
    (tmp_path / "run.py").write_text(INTERRUPT)
    done = subprocess.run(
        [sys.executable, tmp_path / "run.py"], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.stdout.strip(), done.stderr) == ("False False False", "")


def test_interrupts_at_the_entry_of_a_callback_wait() -> None:
    @interrupts.callback
    def call() -> int:
        interrupts._notice(signal.SIGINT, sys._getframe())
        return 0

    with interrupts.noticed():
        call()
        with pytest.raises(KeyboardInterrupt):
            interrupts.raise_waiting()
        interrupts.raise_waiting()
    with pytest.raises(KeyboardInterrupt), interrupts.noticed():
        call()  # nothing looks before the end
    with pytest.raises(KeyboardInterrupt):
        interrupts._notice(signal.SIGINT, None)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
