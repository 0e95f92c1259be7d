"""SSP files read: connections, conversions, parameters and their precedence, compared with tables written by hand."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support_fmus import fmu
from support_ssp import (
    NS,
    PLANT_KINDS,
    UNITS,
    F,
    binding,
    bindings,
    closed_loop,
    component,
    filters,
    mapping,
    package,
    parameters,
    ssd,
    system,
    values,
    wire,
    wires,
    written,
)

import pliant

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
import ssp_tables


def look(folder: Path, content: str, more: dict[str, str] | None = None, **attributes: str) -> pliant.SystemReport:
    found = pliant.inspect(written(folder, content, more, **attributes))
    assert isinstance(found, pliant.SystemReport)
    return found


# ----------------------------------------------------------------------------------------------------- parameters


def test_later_bindings_and_outer_systems_go_first(tmp_path: Path) -> None:
    inner = system(
        "sub",
        bindings=bindings(binding({"f.T": 'Real value="3"', "g.T": 'Real value="30"'})),
        elements=[
            component(
                "f",
                "resources/filter.fmu",
                F,
                bindings(
                    binding({"T": 'Real value="1"', "gain": 'Integer value="7"'}), binding({"T": 'Real value="2"'})
                ),
            ),
            *filters("g"),
        ],
    )
    outer = bindings(
        binding({"sub.f.T": 'Real value="4"'}), binding({"sub.f.T": 'Real value="5"', "T": 'Real value="9"'})
    )
    report = look(tmp_path, system("root", bindings=outer, elements=[inner, *filters("h")]))
    assert values(report) == {"sub.f.T": 5.0, "sub.f.gain": 7, "sub.g.T": 30.0}
    assert len(report.findings) == 1  # the root has no T
    assert "'T'" in report.findings[0]


def test_prefix_comes_before_names_and_mappings(tmp_path: Path) -> None:
    plain = binding({"T": 'Real value="2"'}, attributes='prefix="f."')
    mapped = binding(
        {"T": 'Real value="3"', "other": 'Real value="4"'},
        mapping(['source="p.T" target="g.T"', 'source="T" target="h.T"']),
        'prefix="p."',
    )
    report = look(tmp_path, system("root", bindings=bindings(plain, mapped), elements=filters("f", "g", "h")))
    assert values(report) == {"f.T": 2.0, "g.T": 3.0}  # without the prefix the mapping has no source "T"


def test_a_mapping_applies_what_it_lists_and_to_several_names(tmp_path: Path) -> None:
    one = binding(
        {"a": 'Real value="2"', "f.T": 'Real value="9"', "n": 'Integer value="1"', "b": 'Boolean value="1"'},
        mapping(
            [
                'source="a" target="f.T"><ssc:LinearTransformation factor="3" offset="1"/>',
                'source="a" target="g.T"',
                'source="n" target="f.gain"><ssc:IntegerMappingTransformation><ssc:MapEntry source="1" target="5"/>'
                "</ssc:IntegerMappingTransformation>",
                'source="b" target="f.on"><ssc:BooleanMappingTransformation><ssc:MapEntry source="true" '
                'target="false"/></ssc:BooleanMappingTransformation>',
            ]
        ),
    )
    report = look(tmp_path, system("root", bindings=bindings(one), elements=filters("f", "g")))
    assert values(report) == {"f.T": 7.0, "g.T": 2.0, "f.gain": 5, "f.on": False}


def test_parameter_files_and_their_units(tmp_path: Path) -> None:
    scale = '<ssv:Units><ssc:Unit name="ms"><ssc:BaseUnit s="1" factor="0.001"/></ssc:Unit></ssv:Units>'
    more = {
        "resources/p.ssv": parameters({"T": 'Real value="500" unit="ms"', "U": 'Real value="2000" unit="ms"'}, scale),
        "resources/m.ssm": mapping(
            [
                'source="T" target="f.T"',
                'source="T" target="g.T" suppressUnitConversion="true"',
                'source="U" target="h.T"><ssc:LinearTransformation offset="1"/>',
            ],
            wrapped=False,
        ),
    }
    source = binding("resources/p.ssv", '<ssd:ParameterMapping source="resources/m.ssm"/>')
    report = look(tmp_path, system("root", bindings=bindings(source), elements=filters("f", "g", "h")), more)
    assert values(report) == pytest.approx({"f.T": 0.5, "g.T": 500.0, "h.T": 3.0})
    assert report.parameters[0].file.endswith("p.ssv")


def test_parameters_inside_the_file_of_a_component(tmp_path: Path) -> None:
    inner = package(
        tmp_path / "inner.ssp",
        {
            "SystemStructure.ssd": ssd(system("inside", elements=filters("f"))),
            "resources/filter.fmu": fmu("filter"),
            "resources/own.ssv": parameters({"f.T": 'Real value="8"'}),
        },
    )
    one = component(
        "c",
        "resources/inner.ssp",
        {},
        bindings(binding("resources/own.ssv", attributes='sourceBase="component"')),
        'type="application/x-ssp-package"',
    )
    report = look(tmp_path, system("root", elements=[one]), {"resources/inner.ssp": inner.read_bytes()})  # type: ignore[dict-item]
    assert values(report) == {"c.f.T": 8.0}


def test_connectors_of_systems_hand_values_on(tmp_path: Path) -> None:
    inner = system(
        "sub",
        kinds={"T": "parameter Real", "u": "input Real"},
        bindings=bindings(binding({"T": 'Real value="1"', "u": 'Real value="6"'})),
        elements=filters("f", "g"),
        wires=[
            wire("T", "f/T"),
            wire("T", "g/T", '<ssc:LinearTransformation factor="10"/>'),
            wire("u", "f/u"),
        ],
    )
    report = look(tmp_path, system("root", elements=[inner]))
    assert values(report) == {"sub.f.T": 1.0, "sub.g.T": 10.0, "sub.f.u": 6.0}
    outer = bindings(binding({"P": 'Real value="2"', "sub.u": 'Real value="7"'}))
    whole = system("root", kinds={"P": "parameter Real"}, bindings=outer, elements=[inner], wires=[wire("P", "sub/T")])
    report = look(tmp_path, whole)
    assert values(report) == {"sub.f.T": 2.0, "sub.g.T": 20.0, "sub.f.u": 7.0}


def test_names_that_several_variables_have_reach_all_of_them(tmp_path: Path) -> None:
    inner = system("b", elements=filters("c"))
    report = look(
        tmp_path,
        system("root", bindings=bindings(binding({"b.c.T": 'Real value="4"'})), elements=[inner, *filters("b.c")]),
    )
    assert [(one.name, one.value) for one in report.parameters] == [("b.c.T", 4.0)] * 2
    with pytest.raises(pliant.SspError, match=r"full name 'b\.c'"):
        pliant.load_system(tmp_path / "x.ssp")


# ---------------------------------------------------------------------------------------------------- connections


def test_connections_through_systems_in_both_directions(tmp_path: Path) -> None:
    inner = system(
        "sub",
        kinds={"in": "input", "out": "output"},
        elements=filters("f"),
        wires=[wire("f/u", "in"), wire("out", "f/x", '<ssc:LinearTransformation factor="2" offset="1"/>')],
    )
    whole = system(
        "root",
        kinds={"u": "input", "y": "output"},
        elements=[inner, *filters("g")],
        wires=[
            wire("sub/in", "g/x", '<ssc:LinearTransformation factor="3"/>'),
            wire("g/u", "u"),
            wire("y", "sub/out", '<ssc:LinearTransformation factor="5"/>'),
        ],
    )
    report = look(tmp_path, whole)
    assert wires(report) == ["g.x -> sub.f.u  (3 v + 0)"]
    assert [str(one) for one in report.inputs] == ["u -> g.u"]
    assert {one.target: (one.source, one.through.factor, one.through.offset) for one in report.outputs} == {
        "y": ("sub.f.x", 10.0, 5.0),
        "sub.out": ("sub.f.x", 2.0, 1.0),
    }


def units(start: str, end: str, wire_: str, inside: str = "") -> str:
    """Two filters whose connectors have units, through a system's connector without."""
    a = component("a", "resources/filter.fmu", {"x": f"local Real unit='{start}'"})
    b = component("b", "resources/filter.fmu", {"u": f"input Real unit='{end}'"})
    inner = system("s", kinds={"u": "input Real"}, elements=[b], wires=[wire("u", "b/u", inside)])
    return system("root", elements=[a, inner], wires=[wire("a/x", "s/u", attributes=wire_)]) + UNITS


@pytest.mark.parametrize(
    ("start", "end", "attributes", "inside", "expected"),
    [
        ("degC", "K", "", "", (1.0, 273.15)),
        ("K", "degC", "", "", (1.0, -273.15)),
        ("kW", "W", "", "", (1000.0, 0.0)),
        ("W", "W", "", "", (1.0, 0.0)),
        ("W", "", "", "", (1.0, 0.0)),
        ("kW", "W", "", '<ssc:LinearTransformation factor="2" offset="1"/>', (2000.0, 1.0)),
    ],
)
def test_units_are_converted_before_transformations(
    tmp_path: Path, start: str, end: str, attributes: str, inside: str, expected: tuple[float, float]
) -> None:
    content = units(start, end, attributes, inside).replace(" unit=''", "")
    through = look(tmp_path, content).connections[0].through
    assert (through.factor, through.offset) == pytest.approx(expected)


def test_suppressed_conversion_leaves_the_transformation(tmp_path: Path) -> None:
    a = component("a", "resources/filter.fmu", {"x": "local Real unit='kW'"})
    b = component("b", "resources/filter.fmu", {"u": "input Real unit='W'"})
    one = wire("a/x", "b/u", '<ssc:LinearTransformation factor="2"/>', 'suppressUnitConversion="true"')
    through = look(tmp_path, system("root", elements=[a, b], wires=[one]) + UNITS).connections[0].through
    assert (through.factor, through.offset) == (2.0, 0.0)


def test_signal_dictionaries_carry_signals_across_systems(tmp_path: Path) -> None:
    bus = (
        '<ssd:SignalDictionaries><ssd:SignalDictionary name="bus" source="resources/bus.ssb"/></ssd:SignalDictionaries>'
    )
    more = {
        "resources/bus.ssb": f'<ssb:SignalDictionary {NS} version="1.0"><ssb:DictionaryEntry name="heat">'
        '<ssc:Real unit="kW"/></ssb:DictionaryEntry><ssb:DictionaryEntry name="n"><ssc:Integer/></ssb:DictionaryEntry>'
        '<ssb:Units><ssc:Unit name="kW"><ssc:BaseUnit kg="1" m="2" s="-3" factor="1000"/></ssc:Unit></ssb:Units>'
        "</ssb:SignalDictionary>"
    }
    reference = (
        '<ssd:SignalDictionaryReference name="port" dictionary="bus"><ssd:Connectors><ssd:Connector name="heat" '
        'kind="inout"><ssc:Real unit="{}"/></ssd:Connector></ssd:Connectors></ssd:SignalDictionaryReference>'
    )
    a = component("a", "resources/filter.fmu", {"x": "local Real unit='W'"})
    b = component("b", "resources/filter.fmu", {"u": "input Real unit='W'"})
    inner = system("s", elements=[b, reference.format("W")], wires=[wire("b/u", "port/heat")])
    content = system("root", elements=[a, inner, reference.format("kW")], wires=[wire("a/x", "port/heat")], more=bus)
    found = look(tmp_path, content + UNITS, more)
    assert [(one.source, one.target) for one in found.connections] == [("a.x", "s.b.u")]
    assert found.connections[0].through.factor == pytest.approx(1.0)


def test_enumerations_by_name(tmp_path: Path) -> None:
    types = "".join(
        f'<ssc:Enumeration name="{name}">'
        + "".join(f'<ssc:Item name="{item}" value="{k}"/>' for item, k in items.items())
        + "</ssc:Enumeration>"
        for name, items in {"Gear": {"P": 1, "R": 2, "D": 4}, "Way": {"rest": 0, "back": -1, "ahead": 1}}.items()
    )
    entries = "".join(
        f'<ssc:MapEntry source="{a}" target="{b}"/>' for a, b in {"P": "rest", "R": "back", "D": "ahead"}.items()
    )
    table = f"<ssc:EnumerationMappingTransformation>{entries}</ssc:EnumerationMappingTransformation>"
    whole = system(
        "root",
        elements=[
            component("a", "resources/absent.fmu", {"y": "output Enumeration name='Gear'"}),
            component("b", "resources/absent.fmu", {"u": "input Enumeration name='Way'"}),
        ],
        wires=[wire("a/y", "b/u", table)],
    )
    report = look(tmp_path, whole + f"<ssd:Enumerations>{types}</ssd:Enumerations>")
    assert dict(report.connections[0].through.table) == {1.0: 0.0, 2.0: -1.0, 4.0: 1.0}
    assert len(report.findings) == 2  # the FMUs are missing


def test_arrays_by_element_and_as_a_whole(tmp_path: Path) -> None:
    text = fmu("arrays", "3.0")
    names = [one.name for one in pliant.inspect(text).description.variables if one.dimensions]  # type: ignore[union-attr]
    assert "u" in names
    shape = pliant.inspect(text).description.variable("u").shape  # type: ignore[union-attr]
    sizes = "".join(f'<ssc:Dimension size="{n}"/>' for n in shape)
    root = (
        f'<ssd:System name="root"><ssd:Connectors><ssd:Connector name="in" kind="input"><ssc:Float64/>{sizes}'
        "</ssd:Connector></ssd:Connectors><ssd:Elements>"
        + component("a", "resources/a.fmu", {"u": "input Float64"})
        + f"</ssd:Elements><ssd:Connections>{wire('in', 'a/u')}</ssd:Connections></ssd:System>"
    )
    path = package(tmp_path / "x.ssp", {"SystemStructure.ssd": ssd(root, version="2.0"), "resources/a.fmu": text})
    report = pliant.inspect(path)
    assert isinstance(report, pliant.SystemReport)
    assert len(report.inputs) == int(np.prod(shape))
    assert {one.target.removeprefix("a.u") for one in report.inputs} == {
        one.source.removeprefix("in") for one in report.inputs
    }
    wanted = np.arange(1.0, 1.0 + np.prod(shape)).reshape(shape)
    result = pliant.load_system(path).simulate(stop=0.1, step=0.1, inputs={"in": wanted.tolist()})
    for index in np.ndindex(*shape):
        name = ",".join(str(k + 1) for k in index)
        assert result[f"a.u[{name}]"][0] == wanted[index]
        assert result[f"in[{name}]"][0] == wanted[index]


def test_structural_parameters_change_the_sizes_of_arrays(tmp_path: Path) -> None:
    sizes = bindings(binding({"a.rows": 'UInt64 value="1"', "a.columns": 'UInt64 value="2"', "a.x": 'Real value="5"'}))
    a, b = (component(name, "resources/a.fmu", {"x": "local Float64", "u": "input Float64"}) for name in "ab")
    root = system("root", bindings=sizes, elements=[a, b], wires=[wire("a/x", "b/u")])
    fmus = {"resources/a.fmu": fmu("arrays", "3.0")}
    wrong = package(tmp_path / "x.ssp", {"SystemStructure.ssd": ssd(root, version="2.0"), **fmus})
    with pytest.raises(pliant.SspError, match=r"sizes differ: x is 1 x 2, u is 3"):
        pliant.inspect(wrong)
    single = wire("a/x", "b/u", attributes='startIndices="1 2" endIndices="3"')
    text = ssd(
        root.replace(wire("a/x", "b/u"), single).replace(
            '<ssv:Parameter name="a.x"><ssv:Real value="5"/></ssv:Parameter>', ""
        ),
        version="2.0",
    )
    coupling = pliant.load_system(package(tmp_path / "y.ssp", {"SystemStructure.ssd": text, **fmus}))
    assert [str(one) for one in coupling.connections] == ["a.x[1,2] -> b.u[3]"]
    given = {"inputs": {"a.u[1]": 1.0, "a.u[2]": 2.0}, "start_values": {"a.x": [[3.0, 4.0]]}}  # none have this size
    result = coupling.simulate(step=0.5, **given)
    assert result["b.u[3]"][-1] == result["a.x[1,2]"][-1]
    assert "a.x[2,1]" not in result.names
    again = pliant.load_system(coupling.save(tmp_path / "z.ssp"))
    assert again.connections == coupling.connections


# -------------------------------------------------------------------------------------------------- several files


def test_variants_and_systems_in_files_of_their_own(tmp_path: Path) -> None:
    sub = package(
        tmp_path / "sub.ssp",
        {
            "SystemStructure.ssd": ssd(
                system("s", bindings=bindings(binding({"f.T": 'Real value="1"'})), elements=filters("f"))
            ),
            "B.ssd": ssd(system("s", elements=filters("g")), name="second"),
            "resources/filter.fmu": fmu("filter"),
        },
    )
    own = bindings(binding({"f.T": 'Real value="2"'}))
    kind = 'type="application/x-ssp-package"'
    whole = system(
        "root",
        elements=[
            component("a", "resources/sub.ssp", {}, own, kind),
            component("b", "resources/sub.ssp#B.ssd", {}, "", kind),
        ],
    )
    files: dict[str, Any] = {
        "SystemStructure.ssd": ssd(whole),
        "other.ssd": ssd(system("root", elements=filters("x")), name="small"),
        "resources/sub.ssp": sub,
        "resources/filter.fmu": fmu("filter"),
    }
    path = package(tmp_path / "x.ssp", files)
    report = pliant.inspect(path)
    assert isinstance(report, pliant.SystemReport)
    assert [one.name for one in report.parts] == ["a.f", "b.g"]
    assert values(report) == {"a.f.T": 2.0}  # bindings of the component come last
    assert pliant.load_system(path, variant="small").parts == ("x",)
    assert pliant.load_system(path, variant="other.ssd").parts == ("x",)
    with pytest.raises(pliant.ArgumentError, match=r"no variant 'smal'.*\n.*small"):
        pliant.load_system(path, variant="smal")


def test_a_system_used_twice(tmp_path: Path) -> None:
    inner = system("unit", elements=filters("f")).replace('name="unit"', 'name="unit" id="unit"', 1)
    kind = 'type="application/x-ssp-definition"'
    report = look(tmp_path, system("root", elements=[inner, component("again", "#unit", {}, "", kind)]))
    assert [one.name for one in report.parts] == ["unit.f", "again.f"]


# ----------------------------------------------------------------------------------------------------- simulation


def test_a_loop_of_modelica_models() -> None:
    coupling = pliant.load_system(closed_loop())
    assert coupling.default_experiment.stop == 1.0
    assert coupling.default_experiment.step is None
    with pytest.raises(pliant.ArgumentError, match="macro step"):
        coupling.simulate()
    result = coupling.simulate(step=0.01)
    # x' = x/2 - x
    assert result["plant.x"][-1] == pytest.approx(np.exp(-0.5), rel=1e-5)
    again = coupling.simulate(step=0.01, parameters={"gain.k": 1.0}, stop=0.5)
    assert again["plant.x"][-1] == pytest.approx(1.0)


def test_inputs_and_parameters_of_the_whole(tmp_path: Path) -> None:
    inner = system(
        "s", kinds={"u": "input", "y": "output"}, elements=filters("f"), wires=[wire("u", "f/u"), wire("f/x", "y")]
    )
    whole = system(
        "root",
        kinds={"u": "input", "T": "parameter", "y": "output"},
        bindings=bindings(binding({"T": 'Real value="1"', "u": 'Real value="2"'})),
        elements=[inner, *filters("g")],
        wires=[
            wire("u", "s/u", '<ssc:LinearTransformation factor="3" offset="1"/>'),
            wire("u", "g/u"),
            wire("s/y", "y", '<ssc:LinearTransformation factor="-1"/>'),
            wire("T", "g/T"),
        ],
    )
    coupling = pliant.load_system(written(tmp_path, whole))
    result = coupling.simulate(step=0.1)
    assert result["g.u"][-1] == 2.0
    assert result["s.f.u"][-1] == 7.0
    assert result["u"][-1] == 2.0
    assert result["y"][-1] == -result["s.f.x"][-1]
    assert result["g.x"][-1] == pytest.approx(2.0 * (1.0 - np.exp(-1.0)), rel=1e-4)
    table = ([0.0, 0.5, 0.5, 1.0], [0.0, 0.0, 1.0, 1.0])
    for given in (table, lambda t: t, pliant.Segments([0.0], [[0.0, 2.0]]), 4):
        changed = coupling.simulate(step=0.1, inputs={"u": given}, parameters={"T": 2.0})
        assert changed["s.f.u"] == pytest.approx(3.0 * changed["g.u"] + 1.0)
        assert changed.parameters["g.T"] == 2.0
    assert coupling.simulate(step=0.1, inputs={"g.u": 9.0})["g.u"][-1] == 9.0


CALCULATED = """
model Maker
  parameter Real p = 2;
  parameter Real q = 3*p;
  Real x(start = 0, fixed = true);
  output Real y = x;
equation
  der(x) = q;
end Maker;
"""


def test_parameters_that_another_part_calculates(tmp_path: Path) -> None:
    maker = pliant.load(CALCULATED).export_fmu(tmp_path / "maker.fmu", sources=False)
    whole = system(
        "root",
        elements=[
            component("m", "resources/maker.fmu", {"q": "calculatedParameter Real"}),
            component("f", "resources/filter.fmu", F),
        ],
        wires=[wire("m/q", "f/T", '<ssc:LinearTransformation factor="0.5"/>')],
    )
    files: dict[str, Any] = {
        "SystemStructure.ssd": ssd(whole),
        "resources/maker.fmu": maker,
        "resources/filter.fmu": fmu("filter"),
    }
    coupling = pliant.load_system(package(tmp_path / "x.ssp", files))
    assert coupling.simulate(step=0.5).parameters["f.T"] == pytest.approx(3.0)
    assert coupling.simulate(step=0.5, parameters={"m.p": 4.0}).parameters["f.T"] == pytest.approx(6.0)
    kinds = {"p": "parameter", "q": "calculatedParameter"}
    pair = [component(name, "resources/maker.fmu", kinds) for name in ("a", "b")]
    circle = ssd(system("root", elements=pair, wires=[wire("a/q", "b/p"), wire("b/q", "a/p")]))
    coupling = pliant.load_system(package(tmp_path / "y.ssp", {**files, "SystemStructure.ssd": circle}))
    with pytest.raises(pliant.SspError, match=r"in a circle: a\.q -> b\.p, b\.q -> a\.p"):
        coupling.simulate(step=0.5)


def test_toml_is_a_system_too(tmp_path: Path) -> None:
    folder = closed_loop().parent
    text = (
        f'stop = 1.0\nstep = 0.1\nconnections = ["a.y -> b.u", "b.y -> a.u"]\n[parts.a]\nfile = "{folder}/plant.mo"\n'
    )
    (tmp_path / "x.toml").write_text(text + f'[parts.b]\nfile = "{folder}/gain.mo"\nparameters = {{k = 0.5}}\n')
    coupling = pliant.load_system(tmp_path / "x.toml")
    assert (coupling.default_experiment.stop, coupling.default_experiment.step) == (1.0, 0.1)
    assert coupling.simulate()["a.x"][-1] == pytest.approx(np.exp(-0.5), rel=1e-3)
    assert len(coupling.simulate(stop=0.5)) == 6


def test_what_the_report_says() -> None:
    report = pliant.inspect(closed_loop())
    assert isinstance(report, pliant.SystemReport)
    text = str(report)
    for part in ("SSP 1.0, 2 parts", "stop = 1", "plant.y -> gain.u", "gain.k = 0.5"):
        assert part in text
    assert report.as_dict()["connections"][0]["target"] == "gain.u"
    assert PLANT_KINDS.keys() == {"u", "y", "k"}


def test_the_example_is_the_same_as_its_toml() -> None:
    folder = Path(__file__).parents[1] / "examples" / "cosim"
    system_, toml = (pliant.load_system(folder / f"spring_damper.{one}") for one in ("ssd", "toml"))
    found = toml.simulate(parameters={"left.m1": 1.5}, atol=None)
    assert np.array_equal(system_.simulate(atol=1e-6)["other.right.x"], found["right.x"])


def test_public_systems_are_as_written_down_by_hand() -> None:
    folder = ssp_tables.examples()
    if folder is None:
        pytest.skip("PLIANT_SSP_EXAMPLES is not set")
    found = ssp_tables.compare(folder)
    assert len(found) >= 10
    assert not {name: told for name, (_, _, told) in found.items() if told}
