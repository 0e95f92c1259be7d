"""Systems in the files of SSP for the tests, written by a small builder: texts by hand where the text matters."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from support_fmus import fmu

import pliant

SPACES = {
    "ssd": "Description",
    "ssc": "Common",
    "ssv": "ParameterValues",
    "ssm": "ParameterMapping",
    "ssb": "SignalDictionary",
}
NS = " ".join(f'xmlns:{key}="http://ssp-standard.org/SSP1/SystemStructure{name}"' for key, name in SPACES.items())
#: two parts that need each other, x' = u - x and a gain with an offset
PLANT = """
model Plant
  parameter Real k = 1;
  input Real u(start = 0);
  Real x(start = 1, fixed = true);
  output Real y = x;
equation
  der(x) = k*(u - x);
end Plant;
"""
GAIN = """
model Gain
  parameter Real k(unit = "1") = 1;
  input Real u(start = 0);
  output Real y = k*u;
end Gain;
"""
UNITS = """
<ssd:Units>
  <ssc:Unit name="K"><ssc:BaseUnit K="1"/></ssc:Unit>
  <ssc:Unit name="degC"><ssc:BaseUnit K="1" offset="273.15"/></ssc:Unit>
  <ssc:Unit name="W"><ssc:BaseUnit kg="1" m="2" s="-3"/></ssc:Unit>
  <ssc:Unit name="kW"><ssc:BaseUnit kg="1" m="2" s="-3" factor="1000"/></ssc:Unit>
</ssd:Units>
"""


def connectors(kinds: Mapping[str, str]) -> str:
    """name -> kind, or kind and type: "input Real unit='K'"."""
    out = []
    for name, what in kinds.items():
        kind, _, type_ = what.partition(" ")
        inner = f"<ssc:{type_}/>" if type_ else ""
        out.append(f'<ssd:Connector name="{name}" kind="{kind}">{inner}</ssd:Connector>')
    return f"<ssd:Connectors>{''.join(out)}</ssd:Connectors>" if out else ""


def component(name: str, source: str, kinds: Mapping[str, str], more: str = "", attributes: str = "") -> str:
    """A component; ``more``: bindings."""
    return f'<ssd:Component name="{name}" source="{source}" {attributes}>{connectors(kinds)}{more}</ssd:Component>'


def wire(start: str, end: str, inside: str = "", attributes: str = "") -> str:
    """A connection between "element.connector" or "connector" of the system."""
    words = []
    for side, path in (("start", start), ("end", end)):
        element, _, connector = path.rpartition("/")
        words.append((f'{side}Element="{element}" ' if element else "") + f'{side}Connector="{connector}"')
    return f"<ssd:Connection {' '.join(words)} {attributes}>{inside}</ssd:Connection>"


def system(
    name: str,
    *,
    kinds: Mapping[str, str] | None = None,
    bindings: str = "",
    elements: Sequence[str] = (),
    wires: Sequence[str] = (),
    more: str = "",
) -> str:
    """A system."""
    return (
        f'<ssd:System name="{name}">{connectors(kinds or {})}{bindings}\n<ssd:Elements>\n'
        + "\n".join(elements)
        + "\n</ssd:Elements>\n<ssd:Connections>\n"
        + "\n".join(wires)
        + f"\n</ssd:Connections>{more}</ssd:System>"
    )


def ssd(content: str, *, version: str = "1.0", name: str = "test", stop: str = "1") -> str:
    """An .ssd around a system and perhaps units."""
    experiment = f'<ssd:DefaultExperiment startTime="0" stopTime="{stop}"/>' if stop else ""
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<ssd:SystemStructureDescription {NS} name="{name}" '
        f'version="{version}">\n{content}\n{experiment}</ssd:SystemStructureDescription>'
    )


def parameters(values: Mapping[str, str], more: str = "", version: str = "1.0") -> str:
    """A parameter set: name -> 'Real value="1"'."""
    listed = "".join(f'<ssv:Parameter name="{name}"><ssv:{one}/></ssv:Parameter>' for name, one in values.items())
    inner = f"<ssv:Parameters>{listed}</ssv:Parameters>{more}"
    return f'<ssv:ParameterSet {NS} version="{version}" name="p">{inner}</ssv:ParameterSet>'


def binding(values: Mapping[str, str] | str, mapping: str = "", attributes: str = "", more: str = "") -> str:
    """One binding, its values inline or from a file."""
    if isinstance(values, str):
        return f'<ssd:ParameterBinding source="{values}" {attributes}>{mapping}</ssd:ParameterBinding>'
    inner = f"<ssd:ParameterValues>{parameters(values, more)}</ssd:ParameterValues>"
    return f"<ssd:ParameterBinding {attributes}>{inner}{mapping}</ssd:ParameterBinding>"


def bindings(*each: str) -> str:
    """Several of them."""
    return f"<ssd:ParameterBindings>{''.join(each)}</ssd:ParameterBindings>"


def mapping(entries: Sequence[str], wrapped: bool = True) -> str:
    """Entries of a parameter mapping: 'source="a" target="b"', perhaps with '>' and content."""
    listed = "".join(
        f"<ssm:MappingEntry {one}</ssm:MappingEntry>" if ">" in one else f"<ssm:MappingEntry {one}/>" for one in entries
    )
    inner = f'<ssm:ParameterMapping {NS} version="1.0">{listed}</ssm:ParameterMapping>'
    return f"<ssd:ParameterMapping>{inner}</ssd:ParameterMapping>" if wrapped else inner


def package(path: Path, files: Mapping[str, str | bytes | Path]) -> Path:
    """An .ssp."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content.read_bytes() if isinstance(content, Path) else content)
    return path


PLANT_KINDS = {"u": "input Real", "y": "output Real", "k": "parameter Real"}


def loop_text(**more: str) -> str:
    """plant.y -> gain.u, gain.y -> plant.u."""
    return ssd(
        system(
            "root",
            elements=(
                component("plant", "plant.mo", PLANT_KINDS, attributes='type="text/x-modelica"'),
                component(
                    "gain",
                    "gain.mo",
                    PLANT_KINDS,
                    bindings(binding({"k": 'Real value="0.5"'})),
                    'type="text/x-modelica"',
                ),
            ),
            wires=(wire("plant/y", "gain/u"), wire("gain/y", "plant/u")),
        ),
        **more,
    )


@cache
def closed_loop() -> Path:
    """An .ssd with two Modelica models in a loop."""
    folder = Path(mkdtemp())
    (folder / "plant.mo").write_text(PLANT)
    (folder / "gain.mo").write_text(GAIN)
    (folder / "loop.ssd").write_text(loop_text())
    return folder / "loop.ssd"


@cache
def one_filter() -> Path:
    """An .ssp with one FMU."""
    text = ssd(system("root", elements=[component("f", "resources/filter.fmu", {})]))
    return package(Path(mkdtemp()) / "x.ssp", {"SystemStructure.ssd": text, "resources/filter.fmu": fmu("filter")})


F = {"u": "input Real", "x": "local Real", "T": "parameter Real", "gain": "input Integer", "on": "input Boolean"}


def filters(*names: str) -> list[str]:
    """Components made from the filter of tests/fmus."""
    return [component(name, "resources/filter.fmu", F) for name in names]


def written(folder: Path, content: str, more: dict[str, str] | None = None, **attributes: str) -> Path:
    """An .ssp with the filter of tests/fmus."""
    files: dict[str, Any] = {"SystemStructure.ssd": ssd(content, **attributes), "resources/filter.fmu": fmu("filter")}
    return package(folder / "x.ssp", files | (more or {}))


def values(report: pliant.SystemReport) -> dict[str, Any]:
    """The parameters of a report."""
    return {one.name: one.value for one in report.parameters}


def wires(report: pliant.SystemReport) -> list[str]:
    """The connections of a report, as texts."""
    return [str(one) for one in report.connections]
