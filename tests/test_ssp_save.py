"""SSP files written: the same numbers once more, models as FMUs, every type of values and connections."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support_fmus import fmu
from support_ssp import (
    binding,
    bindings,
    closed_loop,
    component,
    filters,
    package,
    ssd,
    system,
    values,
    wire,
    wires,
    written,
)

import pliant


def test_what_was_saved_gives_the_same_numbers(tmp_path: Path) -> None:
    inner = system(
        "s",
        kinds={"u": "input", "y": "output"},
        elements=[
            system(
                "deep",
                kinds={"u": "input", "x": "output"},
                elements=filters("f"),
                wires=[wire("u", "f/u"), wire("f/x", "x")],
            )
        ],
        wires=[wire("u", "deep/u", '<ssc:LinearTransformation factor="2"/>'), wire("deep/x", "y")],
    )
    whole = system(
        "root",
        kinds={"u": "input", "T": "parameter", "y": "output"},
        bindings=bindings(binding({"T": 'Real value="2"', "u": 'Real value="3"', "g.gain": 'Integer value="2"'})),
        elements=[inner, *filters("g")],
        wires=[
            wire("g/x", "s/u", '<ssc:LinearTransformation factor="10" offset="1"/>'),
            wire("u", "g/u"),
            wire("s/y", "y"),
            wire("T", "g/T"),
        ],
    )
    first = pliant.load_system(written(tmp_path, whole))
    second = pliant.load_system(first.save(tmp_path / "y.ssp"))
    third = pliant.load_system(second.save(tmp_path / "z.ssp"))
    assert first.parts == second.parts == third.parts
    assert sorted(map(str, first.connections)) == sorted(map(str, third.connections))
    for more in ({}, {"inputs": {"u": 1.0}, "parameters": {"T": 3.0}}):
        results = [one.simulate(step=0.1, **more) for one in (first, second, third)]
        for name in results[0].names:
            assert np.array_equal(results[0][name], results[1][name]), name
            assert np.array_equal(results[0][name], results[2][name]), name
    with pytest.raises(pliant.OutputError, match="exists already"):
        first.save(tmp_path / "y.ssp")
    assert first.save(tmp_path / "y.ssp", overwrite=True) == tmp_path / "y.ssp"
    with pytest.raises(pliant.ArgumentError, match=r"ends with \.ssp"):
        first.save(tmp_path / "y.zip")


def test_models_are_saved_as_fmus(tmp_path: Path) -> None:
    coupling = pliant.load_system(closed_loop())
    again = pliant.load_system(coupling.save(tmp_path / "x.ssp"))
    assert again.default_experiment == coupling.default_experiment
    a, b = (one.simulate(step=0.05, rtol=1e-9) for one in (coupling, again))
    assert a["plant.x"] == pytest.approx(b["plant.x"], abs=1e-6)
    report = pliant.inspect(tmp_path / "x.ssp")
    assert isinstance(report, pliant.SystemReport)
    assert values(report) == {"gain.k": 0.5}
    assert wires(report) == ["plant.y -> gain.u", "gain.y -> plant.u"]
    plain = pliant.Coupling()
    plain.add("only", pliant.ode(lambda t, x: -x, [1.0]))
    with pytest.raises(pliant.ExportError, match="part 'only'"):
        plain.save(tmp_path / "z.ssp")
    assert not (tmp_path / "z.ssp").exists()


@pytest.mark.parametrize("version", ["2.0", "3.0"])
def test_every_type_of_parameters_and_connections(tmp_path: Path, version: str) -> None:
    description = pliant.inspect(fmu("types", version)).description  # type: ignore[union-attr]
    known = {one.name: one for one in description.variables}
    level = [item.name for item in description.items_of(next(v for v in known.values() if v.base == "enumeration"))]
    given = {"a.string_parameter": 'String value="some &amp; text"', "a.boolean_parameter": 'Boolean value="0"'}
    given["a.integer_parameter"] = 'Integer value="3"'
    names = {one.removesuffix("_in") for one in known if one.endswith("_in")}
    wires = []
    for name in sorted(names - {"string", "binary", "clock"}):
        one = known[f"{name}_in"]
        word = {"real": "2.5", "boolean": "true", "enumeration": level[-1]}.get(one.base, "5")
        kind = {"real": "Real", "boolean": "Boolean", "enumeration": "Enumeration"}.get(one.base, "Integer")
        given[f"a.{name}_in"] = f'{kind} value="{word}"'
        if f"{name}_out" in known:
            wires.append(wire(f"a/{name}_out", f"b/{name}_in"))
    assert wires
    parts = [component(name, "resources/types.fmu", {}) for name in "ab"]
    root = system("root", bindings=bindings(binding(given)), elements=parts, wires=wires)
    path = package(tmp_path / "x.ssp", {"SystemStructure.ssd": ssd(root), "resources/types.fmu": fmu("types", version)})
    coupling = pliant.load_system(path)
    again = pliant.load_system(coupling.save(tmp_path / "y.ssp"))
    for system_ in (coupling, again):
        result = system_.simulate(step=0.5)
        assert result.parameters["a.integer_parameter"] == 3.0
        assert result.parameters["a.boolean_parameter"] == 0.0
        for one in wires:
            name = one.split('startConnector="')[1].split("_out")[0]
            assert result[f"b.{name}_in"][-1] == result[f"a.{name}_out"][-1], name
    assert coupling._options["a"]["parameters"]["string_parameter"] == "some & text"
    assert again._options["a"]["parameters"] == coupling._options["a"]["parameters"]
    text = wire("a/string_out", "b/string_in")
    path = package(
        tmp_path / "z.ssp",
        {
            "SystemStructure.ssd": ssd(system("root", elements=parts, wires=[text])),
            "resources/types.fmu": fmu("types", version),
        },
    )
    if {"string_in", "string_out"} <= known.keys():
        with pytest.raises(pliant.SspError, match="texts, bytes and clocks cannot be connected"):
            pliant.load_system(path)
