"""Exported FMUs under FMPy: valid, simulated as by pliant, state saved, derivatives, inputs and parameters."""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import fmpy
import numpy as np
import pytest
from fmpy.fmi2 import FMU2Model, FMU2Slave
from fmpy.fmi3 import FMU3Slave
from fmpy.validation import validate_fmu
from support_export import STOPS, TEXTS, exported, largest_error, model, slave, token_of, unpacked

import pliant

VERSIONS = ["2.0", "3.0"]


def variables(path: Path) -> dict[str, Any]:
    return {one.name: one for one in fmpy.read_model_description(str(path)).modelVariables}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", TEXTS)
def test_valid_and_simulated_as_here(name: str, version: str) -> None:
    path, stop = exported(name, version), STOPS[name]
    assert validate_fmu(str(path)) == []
    inputs = {"plain": {"u": 0.5, "k": 2, "b": True, "m": "b"}, "driven": {"u": 1.0}}.get(name)
    reference = model(name).simulate(stop=stop, rtol=1e-10, points=201, inputs=inputs)
    numeric = model(name)._numeric.names
    states = [one for one in numeric.x if "$" not in one]  # not those of state sets
    names = [*states, *numeric.y, *[one for one in numeric.aliases if one in variables(path)]]
    for kind in ("CoSimulation", "ModelExchange"):
        found = fmpy.simulate_fmu(
            str(unpacked(path)),
            fmi_type=kind,
            stop_time=stop,
            output_interval=stop / 200,
            relative_tolerance=1e-8,
            output=names,
            record_events=False,
        )
        assert largest_error(reference, found, names) <= 1e-5


@pytest.mark.parametrize("version", VERSIONS)
def test_states_that_are_chosen_anew_are_imported(version: str) -> None:
    """The importer hears of it in event mode; in between it may set states once more, as they were."""
    names = ["x", "y", "vx", "vy", "force"]
    result = model("pendulum").simulate(stop=2.0, rtol=1e-10, points=101)
    right = {name: result[name] for name in names} | {"time": result.time}
    with pliant.load(exported("pendulum", version), kind="model-exchange") as imported:
        for method in ("bdf", "radau5"):
            found = imported.simulate(stop=2.0, rtol=1e-9, points=101, method=method)
            assert largest_error(found, right, names) <= 1e-5
            assert 3 <= len(found.events) <= 5


def test_description() -> None:
    path = exported("hybrid", "3.0")
    found = variables(path)
    description = fmpy.read_model_description(str(path))
    assert description.modelName == "Hybrid"
    assert found["k"].variability == "tunable"
    assert found["k"].description == "rate <1> & more"
    assert (found["k"].min, found["k"].unit, found["k"].start) == ("0.0", "1/s", "0.5")
    assert (found["T"].nominal, found["T"].initial) == ("100.0", "exact")
    assert found["der(T)"].derivative is found["T"]
    assert found["twice"].causality == "calculatedParameter"
    assert found["y"].causality == "output"
    assert found["mode"].type == "Enumeration"
    assert [item.name for item in found["mode"].declaredType.items] == ["cold", "warm", "hot"]
    assert found["ticks"].variability == "discrete"
    assert found["pliant.n_steps"].causality == "local"
    units = {one.name: one.baseUnit for one in description.unitDefinitions}
    assert (units["kg.m/s2"].kg, units["kg.m/s2"].m, units["kg.m/s2"].s) == (1, 1, -2)
    (output,) = description.outputs
    assert [one.name for one in output.dependencies] == ["T"]
    (slope,) = description.derivatives
    assert [one.name for one in slope.dependencies] == ["T"]
    text = (unpacked(path) / "modelDescription.xml").read_text()
    assert '<Alias name="same"' in text
    same = variables(exported("hybrid", "2.0"))
    assert same["same"].valueReference == same["T"].valueReference != same["'my T'"].valueReference


CONNECTORS = """
package P
  connector Pin
    Real v(unit = "V");
    flow Real i(unit = "A");
  end Pin;
  connector Plug
    input Real u;
    output Real y;
  end Plug;
  model R
    Pin p, n;
  equation
    p.v - 1 = 2*p.i;
    n.v + 1 = 2*n.i;
  end R;
  model M
    Pin a, 'the ground';
    R r;
    Plug plug;
    Real x(start = 1, fixed = true);
  equation
    connect(a, r.p);
    connect(r.n, 'the ground');
    der(x) = -x + plug.u + a.v;
    plug.y = x;
  end M;
end P;
"""


def test_connectors_are_terminals(tmp_path: Path) -> None:
    path = pliant.load(CONNECTORS, name="P.M", frontend="pliant").export_fmu(tmp_path / "m.fmu")
    assert validate_fmu(str(path)) == []
    with zipfile.ZipFile(path) as archive:
        root = ElementTree.fromstring(archive.read("terminalsAndIcons/terminalsAndIcons.xml"))
    found = {
        one.get("name"): {(v.get("memberName"), v.get("variableName"), v.get("variableKind")) for v in one}
        for one in root.iter("Terminal")
    }
    assert found == {
        "a": {("v", "a.v", "signal"), ("i", "a.i", "inflow")},
        "'the ground'": {("v", "'the ground'.v", "signal"), ("i", "'the ground'.i", "inflow")},
        "plug": {("u", "plug.u", "signal"), ("y", "plug.y", "signal")},
    }
    with zipfile.ZipFile(exported("hybrid", "3.0")) as archive:
        assert not [name for name in archive.namelist() if name.startswith("terminals")]


def test_what_is_inside() -> None:
    with zipfile.ZipFile(exported("hybrid", "2.0")) as archive:
        names = archive.namelist()
        licence = archive.read("documentation/licenses/license.txt").decode()
    assert "BSD Zero Clause License" in licence
    assert "documentation/index.html" in names
    assert "binaries/linux64/Hybrid.so" in names
    assert "sources/bdf.c" in names
    assert not [name for name in names if "radau5" in name or "lu_sparse_super" in name]  # not used by this model


@pytest.mark.skipif(shutil.which("cmake") is None, reason="no cmake")
def test_sources_build_elsewhere(tmp_path: Path) -> None:
    from fmpy.build import build_platform_binary

    folder = tmp_path / "fmu"
    shutil.copytree(unpacked(exported("hybrid", "3.0")), folder)
    shutil.rmtree(folder / "binaries")
    (tmp_path / "build").mkdir()
    build_platform_binary(folder, build_dir=tmp_path / "build", configuration="Debug")
    found = fmpy.simulate_fmu(str(folder), stop_time=0.5, output=["T"])
    again = fmpy.simulate_fmu(str(unpacked(exported("hybrid", "3.0"))), stop_time=0.5, output=["T"])
    assert np.abs(found["T"] - again["T"]).max() < 1e-9


def started(path: Path, said: list[str] | None = None) -> tuple[FMU2Slave, dict[str, int]]:
    one, places = slave(path, said)
    one.setupExperiment(tolerance=1e-9, startTime=0.0, stopTime=2.0)
    one.enterInitializationMode()
    one.exitInitializationMode()
    return one, places


def test_inputs_with_derivatives_and_parameters_on_the_way() -> None:
    one, places = started(exported("driven", "2.0"))
    u = np.array([[0.0, 1.0, 2.0], [0.1, 3.0, -1.0], [0.2, 2.9, 0.5]])  # from, value, slope
    for t, value, slope in u:
        one.setReal([places["u"]], [value])
        one.setRealInputDerivatives([places["u"]], [1], [slope])
        one.doStep(t, 0.1)
    x, y, n = *one.getReal([places["x"], places["y"]]), one.getInteger([places["pliant.n_steps"]])[0]
    segments = pliant.Segments(u[:, 0], u[:, 1:])
    result = model("driven").simulate(stop=0.3, rtol=1e-10, inputs={"u": segments})
    assert x == pytest.approx(result["x"][-1], rel=1e-6)
    assert y == pytest.approx(x + 3 * (2.9 + 0.05), rel=1e-9)
    assert 0 < n < 400
    one.setReal([places["k"]], [0.0])  # from here on x' = u
    one.setReal([places["u"]], [4.0])
    one.doStep(0.3, 0.1)
    assert one.getReal([places["x"]])[0] == pytest.approx(x + 0.4, rel=1e-7)
    one.terminate()
    one.freeInstance()


def test_derivatives_along_directions() -> None:
    description = fmpy.read_model_description(str(exported("driven", "2.0")))
    one = FMU2Model(
        guid=description.guid,
        unzipDirectory=str(unpacked(exported("driven", "2.0"))),
        modelIdentifier=description.modelExchange.modelIdentifier,
    )
    places = {v.name: v.valueReference for v in description.modelVariables}
    one.instantiate()
    one.setupExperiment(startTime=0.0)
    one.enterInitializationMode()
    one.exitInitializationMode()
    known = [places["x"], places["u"], places["k"]]
    found = one.getDirectionalDerivative([places["der(x)"], places["y"]], known, [1.0, 10.0, 100.0])
    # d(k (u - x)^3 + u) = 3 k (u - x)^2 (du - dx) + (u - x)^3 dk + du at x = 0, u = 1, k = 2
    assert found == pytest.approx([6 * (10 - 1) + 100 + 10, 1 + 30])
    one.freeInstance()


def test_wrong_values_are_errors_with_words() -> None:
    said: list[str] = []
    one, places = started(exported("driven", "2.0"), said)
    for call in (
        lambda: one.setReal([places["u"]], [float("nan")]),
        lambda: one.setReal([places["x"]], [1.0]),
        lambda: one.getReal([9999]),
        lambda: one.getInteger([places["x"]]),
        lambda: one.doStep(0.0, 0.0),
        lambda: one.doStep(0.0, -0.1),
        lambda: one.doStep(0.5, 0.1),
        lambda: one.doStep(0.0, 2.5),
        lambda: one.setRealInputDerivatives([places["u"]], [9], [1.0]),
        one.enterInitializationMode,
    ):
        n = len(said)
        with pytest.raises(fmpy.fmi1.FMICallException, match="error"):
            call()
        assert len(said) == n + 1
    wanted = ["u cannot be nan", "x cannot be set", "9999", "x is a Real", "not possible", "not possible"]
    wanted += ["stands at t = 0", "past the stop time 2", "orders are 1 to 3", "must not be called"]
    assert all(word in text for word, text in zip(wanted, said, strict=True)), said
    one.doStep(0.0, 0.1)  # nothing of it did any harm
    one.freeInstance()


def test_a_run_that_fails_is_an_error() -> None:
    text = "model Root\n  Real x(start = 1, fixed = true);\nequation\n  der(x) = -1 - sqrt(x);\nend Root;\n"
    said: list[str] = []
    path = pliant.load(text).export_fmu(exported("driven", "2.0").parent / "root.fmu", version="2.0", overwrite=True)
    one, places = started(path, said)
    with pytest.raises(fmpy.fmi1.FMICallException, match="error"):
        one.doStep(0.0, 2.0)
    assert "a step at t = 0.6" in said[-1]
    assert token_of(path)
    with pytest.raises(fmpy.fmi1.FMICallException):
        one.getReal([places["x"]])
    one.reset()
    one.freeInstance()


def test_a_model_that_ends_the_run() -> None:
    text = (
        "model End\n  Real x(start = 0, fixed = true);\nequation\n  der(x) = 1;\n"
        '  when x > 0.5 then\n    terminate("enough");\n  end when;\nend End;\n'
    )
    folder = exported("driven", "2.0").parent
    for version in VERSIONS:
        path = pliant.load(text).export_fmu(folder / f"end{version[0]}.fmu", version=version, overwrite=True)
        for kind in ("CoSimulation", "ModelExchange"):
            found = fmpy.simulate_fmu(str(path), fmi_type=kind, stop_time=2.0, output_interval=0.1, output=["x"])
            assert 0.4 <= found["x"][-1] <= 0.61


def test_events_of_co_simulation_in_fmi_3() -> None:
    path = exported("hybrid", "3.0")
    description = fmpy.read_model_description(str(path))
    one = FMU3Slave(
        guid=description.guid,
        unzipDirectory=str(unpacked(path)),
        modelIdentifier=description.coSimulation.modelIdentifier,
    )
    places = {v.name: v.valueReference for v in description.modelVariables}
    one.instantiate(eventModeUsed=True)
    one.enterInitializationMode(startTime=0.0)
    one.exitInitializationMode()
    one.updateDiscreteStates()
    one.enterStepMode()
    event, *_ = one.doStep(0.0, 0.1)
    assert event
    assert one.getInt32([places["ticks"]]) == [0]
    one.enterEventMode()
    *_, defined, when = one.updateDiscreteStates()
    assert defined
    assert when == pytest.approx(0.4)
    assert one.getInt32([places["ticks"]]) == [1]
    one.enterStepMode()
    event, *_ = one.doStep(0.1, 0.05)
    assert not event
    one.terminate()
    one.freeInstance()
