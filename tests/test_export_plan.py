"""The real-time step as an FMU: bit for bit what ``plan.simulate`` gives, whoever imports it."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import fmpy
import numpy as np
import pytest
from fmpy.fmi2 import FMU2Slave
from fmpy.validation import validate_fmu
from support_export import slave

import pliant

DRIVE = """
model Drive
  parameter Real k = 20 "gain";
  parameter Integer n = 3;
  input Real u "voltage";
  discrete Real s(start = 0, fixed = true);
  Boolean hot;
  Real i(start = 0.1, fixed = true), z;
  output Real w(start = 0, unit = "rad/s"), y;
initial equation
  w = 1/k;
equation
  z = 0.1*sin(z) + i;
  0.01*der(i) = u - i - 0.1*w;
  der(w) = k*i - 0.5*w + n*s;
  hot = w > 2;
  y = w + 2*u + z;
  when sample(0, 0.01) then
    s = (1 - w)/1000 + u + (if hot then 1e-3 else 0);
  end when;
end Drive;
"""
STEP, STOP = 1e-3, 0.1
STARTS, LEVELS = [0.0, 0.05, 0.062], [1.0, 3.0, -2.0]
JUMPS = {"u": pliant.Segments(STARTS, [[one] for one in LEVELS])}
NAMES = ("i", "w", "s")
ROWS = ~np.isin(np.arange(101), (50, 62))  # there importers read before they set the inputs after the jump


@cache
def plan(precision: str = "double") -> pliant.Plan:
    options = {"precision": precision, "monitor": "fallback" if precision == "float" else "flag"}
    return pliant.load(DRIVE).realtime(step=STEP, stop=STOP, options=options)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("plans")


@pytest.fixture(scope="module")
def fmu(folder: Path) -> Path:
    return plan().export_fmu(folder / "drive.fmu", version="2.0")


def jumping() -> Any:
    """The same for FMPy: a table with double points."""
    ends = [*STARTS[1:], STOP]
    rows = [(t, level) for start, end, level in zip(STARTS, ends, LEVELS, strict=True) for t in (start, end)]
    return np.array(rows, dtype=[("time", float), ("u", float)])


@pytest.mark.parametrize("precision", ["double", "float"])
def test_the_step_is_the_same_under_an_importer(precision: str, folder: Path) -> None:
    made = plan(precision)
    path = made.export_fmu(folder / f"{precision}.fmu", version="2.0")
    assert validate_fmu(str(path)) == []
    reference = made.simulate(stop=STOP, inputs=JUMPS, kind="guarded" if precision == "float" else "")
    found = fmpy.simulate_fmu(
        str(path), stop_time=STOP, output_interval=STEP, input=jumping(), output=[*NAMES, "y", "pliant.n_steps"]
    )
    assert found["pliant.n_steps"][-1] == 100
    for name in NAMES:
        assert np.array_equal(found[name][ROWS], reference[name][ROWS])
    # outputs are the step's own; those of plan.simulate come from the model's equations
    assert np.abs(found["y"] - reference["y"])[ROWS].max() < 1e-5


def test_pliant_imports_it(folder: Path) -> None:
    path = plan().export_fmu(folder / "three.fmu", version="3.0", sources=False)
    assert validate_fmu(str(path)) == []
    reference = plan().simulate(stop=STOP, inputs=JUMPS)
    with pliant.load(path) as model:
        assert model.fmu.kinds == ("co-simulation",)
        assert model.fmu.default_experiment.step == STEP
        assert model.variables["k"].description == "gain"
        again = model.simulate(stop=STOP, step=STEP, points=101, inputs=JUMPS)
    for name in NAMES:
        assert np.array_equal(again[name][ROWS], reference[name][ROWS])


def started(path: Path, said: list[str] | None = None) -> tuple[FMU2Slave, dict[str, int]]:
    one, places = slave(path, said)
    one.setupExperiment(startTime=0.0, stopTime=STOP)
    one.enterInitializationMode()
    one.setReal([places["u"]], [1.0])
    one.exitInitializationMode()
    return one, places


def test_clocks_see_the_inputs_of_their_communication_point(fmu: Path) -> None:
    one, places = started(fmu)
    at = [places["s"]]
    for k in range(10):
        one.doStep(k * STEP, STEP)
    before = one.getReal(at)
    one.setReal([places["u"]], [3.0])
    after = one.getReal(at)
    assert after[0] - before[0] == pytest.approx(2.0)
    one.setReal([places["u"]], [1.0])
    assert one.getReal(at) == before  # as if nothing had been
    saved = one.getFMUState()
    one.doStep(0.01, 0.02)
    end = one.getReal([places["i"], places["w"], *at])
    one.setFMUState(saved)
    for k in range(20):
        one.doStep(0.01 + k * STEP, STEP)
    assert one.getReal([places["i"], places["w"], *at]) == end
    one.freeFMUState(saved)
    one.freeInstance()


def test_parameters_on_the_way(fmu: Path) -> None:
    one, places = started(fmu)
    one.doStep(0.0, 0.02)
    w = one.getReal([places["w"]])[0]
    one.setReal([places["k"]], [0.0])
    one.doStep(0.02, STEP)
    i, now, s = one.getReal([places["i"], places["w"], places["s"]])
    assert (now - w) / STEP == pytest.approx(-0.5 * now + 3 * s, rel=1e-2)
    assert abs(i) > 0.1
    one.freeInstance()


def test_wrong_calls_are_errors_with_words(fmu: Path) -> None:
    said: list[str] = []
    one, places = started(fmu, said)
    calls = {
        "no multiple of the fixed step 0.001": lambda: one.doStep(0.0, 1.5e-3),
        "no multiple": lambda: one.doStep(0.0, 4e-4),
        "not possible": lambda: one.doStep(0.0, 0.0),
        "past the stop time": lambda: one.doStep(0.0, 0.2),
        "u cannot be nan": lambda: one.setReal([places["u"]], [float("nan")]),
        "n cannot be set now": lambda: one.setInteger([places["n"]], [2]),
        "w cannot be set": lambda: one.setReal([places["w"]], [2.0]),
    }
    for words, call in calls.items():
        with pytest.raises(fmpy.fmi1.FMICallException, match="error"):
            call()
        assert words in said[-1]
    one.doStep(0.0, STEP)
    one.reset()
    one.setupExperiment(startTime=1.0)
    one.enterInitializationMode()
    with pytest.raises(fmpy.fmi1.FMICallException, match="error"):
        one.exitInitializationMode()
    assert "the plan starts at t = 0" in said[-1]
    one.freeInstance()


def test_values_that_are_not_finite_are_errors(fmu: Path) -> None:
    said: list[str] = []
    one, places = started(fmu, said)
    one.setReal([places["u"]], [1e308])
    one.setReal([places["k"]], [1e10])
    with pytest.raises(fmpy.fmi1.FMICallException, match="error"):
        one.doStep(0.0, 0.05)
    assert "is not a finite number" in said[-1]
    one.freeInstance()


def test_a_step_without_states(folder: Path) -> None:
    text = "model Plain\n  input Real u;\n  output Real y = 2*u + time;\nend Plain;\n"
    made = pliant.load(text).realtime(step=0.1, stop=1.0)
    path = made.export_fmu(folder / "plain.fmu")
    found = fmpy.simulate_fmu(str(path), stop_time=1.0, output_interval=0.1, start_values={"u": 2.0}, output=["y"])
    assert found["y"] == pytest.approx(4.0 + found["time"])


def test_what_cannot_be_exported(folder: Path) -> None:
    decay = pliant.ode(lambda t, x: -x, [1.0]).realtime(step=0.1, stop=1.0)
    with pytest.raises(pliant.NotSupportedError, match="no C code can be written"):
        decay.export_fmu(folder / "decay.fmu")
    for given, words in (
        ({"version": "1.0"}, "version"),
        ({"platforms": []}, "platforms"),
        ({"sources": 2}, "sources"),
    ):
        with pytest.raises(pliant.ArgumentError, match=words):
            plan().export_fmu(folder / "wrong.fmu", **given)
    with pytest.raises(pliant.OutputError, match="exists already"):
        plan().export_fmu(plan().export_fmu(folder / "twice.fmu", sources=False))
    assert plan().export_fmu(folder / "twice.fmu", overwrite=True).exists()
