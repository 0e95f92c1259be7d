"""delay(...) inside exported FMUs: past values belong to an instance, and are saved with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import fmpy
import numpy as np
import pytest
from families.exported import Stepped
from fmpy.validation import validate_fmu

import pliant

TEXT = """
model Late
  parameter Real a = 0.25;
  parameter Real T = 2*a;
  input Real u(start = 0);
  output Real y = delay(u, T);
  Real x(start = 1, fixed = true), z(start = 0, fixed = true);
equation
  der(x) = -delay(x, 1);
  der(z) = y;
end Late;
"""
JUMP = np.array([(0, 0), (1, 0), (1, 1), (4, 1)], dtype=[("time", float), ("u", float)])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("late")


def exported(folder: Path, version: str) -> Path:
    path = folder / f"late{version[0]}.fmu"
    return path if path.is_file() else pliant.load(TEXT).export_fmu(path, version=version)


@pytest.mark.parametrize("version", ["2.0", "3.0"])
@pytest.mark.parametrize("kind", ["CoSimulation", "ModelExchange"])
def test_against_formulas(version: str, kind: str, folder: Path) -> None:
    """x by steps: 1 - t up to 1, then ..., up to t = 4; the jump of u arrives after T."""
    path = exported(folder, version)
    assert not validate_fmu(str(path))
    found = fmpy.simulate_fmu(
        str(path), fmi_type=kind, stop_time=4.0, output_interval=0.05, relative_tolerance=1e-8, input=JUMP,
        start_values={"a": 0.4}, output=["x", "y", "z"],
    )  # fmt: skip
    t = found["time"]
    terms = [(-1.0) ** k * np.maximum(t - (k - 1), 0.0) ** k / [1, 1, 2, 6, 24, 120][k] for k in range(1, 6)]
    np.testing.assert_allclose(found["x"], 1.0 + sum(terms), atol=1e-6)
    np.testing.assert_allclose(found["z"], np.maximum(t - 1.8, 0.0), atol=1e-7)
    clear = np.abs(t - 1.8) > 1e-6
    np.testing.assert_array_equal(found["y"][clear], t[clear] > 1.8)


@pytest.mark.parametrize("version", ["2.0", "3.0"])
def test_a_saved_state_has_the_past(version: str, folder: Path) -> None:
    path = exported(folder, version)
    place = folder / f"at{version[0]}"
    fmpy.extract(str(path), str(place))
    one, other = (Stepped(path, str(place), version) for _ in range(2))

    def run(who: Any, first: int, last: int) -> list[float]:
        rows = []
        for k in range(first, last):
            who.put("u", float(k % 7))
            who.fmu.doStep(0.1 * k, 0.1)
            rows += [who.get("x"), who.get("y"), who.get("z")]
        return rows

    for who in (one,):
        if version == "2.0":
            who.fmu.setupExperiment(startTime=0.0)
            who.fmu.enterInitializationMode()
        else:
            who.fmu.enterInitializationMode(startTime=0.0)
        who.fmu.exitInitializationMode()
    run(one, 0, 15)
    saved = one.fmu.getFMUState()
    text = one.fmu.serializeFMUState(saved)
    rest = run(one, 15, 40)
    one.fmu.setFMUState(saved)
    assert run(one, 15, 40) == rest
    other.fmu.setFMUState(other.fmu.deserializeFMUState(text))
    assert run(other, 15, 40) == rest
    one.fmu.freeInstance()
    other.fmu.freeInstance()


def test_times_of_delays_are_not_tunable(folder: Path) -> None:
    """With a longer delay the history would not reach back."""
    kinds = {
        one.name: one.variability
        for one in fmpy.read_model_description(str(exported(folder, "2.0"))).modelVariables
        if one.name in ("a", "T")
    }
    assert kinds == {"a": "fixed", "T": "fixed"}


def test_imported_again(folder: Path) -> None:
    inputs = {"u": ([0.0, 1.0, 1.0, 4.0], [0.0, 0.0, 1.0, 1.0])}
    here = pliant.load(TEXT).simulate(4.0, inputs=inputs, rtol=1e-8)
    with pliant.load(exported(folder, "3.0"), kind="model-exchange") as model:
        there = model.simulate(4.0, inputs=inputs, rtol=1e-8, options={"max_step": 0.1})
    assert there["x"][-1] == pytest.approx(here["x"][-1], abs=1e-6)
    assert there["z"][-1] == pytest.approx(2.5, abs=1e-8)


LOOP = {
    "a": "model A input Real u; output Real y; Real x(start = 1, fixed = true);\n"
    "equation der(x) = -2*u; y = delay(x, 0.25); end A;",
    "b": "model B input Real u; output Real y; Real z(start = 0, fixed = true);\n"
    "equation der(z) = 5*(u - z); y = z + 0.5*delay(u, 0.1); end B;",
}


@pytest.mark.parametrize("kind", ["model-exchange", "co-simulation"])
def test_delays_that_end_beside_communication_points(tmp_path: Path, kind: str) -> None:
    """0.6 and 0.35 + 0.25 differ by rounding: nothing is extrapolated over such a gap."""
    found = []
    for as_fmu in (False, True):
        loop = pliant.Coupling()
        for name, text in LOOP.items():
            model = pliant.load(text)
            path = tmp_path / f"{name}.fmu"
            loop.add(name, pliant.load(model.export_fmu(path, kind=kind)) if as_fmu else model)
        loop.connect("a.y", "b.u")
        loop.connect("b.y", "a.u")
        found.append(loop.simulate(stop=3, step=0.05))
    native, run = found
    assert np.diff(run.time).min() > 0.04
    assert np.abs(run["a.y"]).max() <= 1.0 + 1e-6
    assert np.abs(run["a.x"] - native["a.x"]).max() < 0.2
