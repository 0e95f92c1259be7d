"""What is in a file of a system, for people and machines: ``pliant.inspect("x.ssp")``. Nothing of it is run.

Components whose models are missing, or cannot be read, are findings here, not errors; the rest is shown all the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any

from pliant.calls import by_keyword_class
from pliant.cosim.conversion import Conversion
from pliant.cosim.ssp.content import FMU, SspPlace
from pliant.cosim.ssp.flow import Way
from pliant.cosim.ssp.load import as_python, experiment_of, find_description
from pliant.cosim.ssp.package import UnpackFolder
from pliant.cosim.ssp.resolve import Resolved, resolve
from pliant.cosim.ssp.tree import SspNode, TreeBuilder
from pliant.cosim.ssp.variables import ComponentPorts, FmuPorts
from pliant.errors import FmuError
from pliant.fmi.description import FmuExperiment
from pliant.fmi.info import open_fmu
from pliant.fmi.options import FmuOptions
from pliant.pickled import Stamped
from pliant.plain import AsDict, plain

SHOWN = 40


@dataclass(frozen=True)
class SystemPart(AsDict):
    """One component. ``source``: as written; ``name``: with those of the systems around it."""

    name: str
    type: str
    source: str
    implementation: str


@dataclass(frozen=True)
class SystemWire(AsDict):
    """A connection from a variable of a component, or an input of the system, to a variable of a component."""

    source: str
    target: str
    through: Conversion
    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.source} -> {self.target}{_told(self.through)}"


@dataclass(frozen=True)
class SystemValue(AsDict):
    """A value that a variable of a component gets from the parameter sets; arrays as lists."""

    name: str
    value: Any
    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.name} = {self.value!r}"


@by_keyword_class
@dataclass(frozen=True)
class SystemReport(Stamped):
    """What is in a system; the result of :func:`pliant.inspect` for an .ssp or .ssd.

    parts        the components
    connections  between them, through all systems
    inputs       from connectors of systems that have no source, which are inputs of the whole
    outputs      of systems: the variables of components that they show
    parameters   values that reach components, by the order of precedence of the standard
    findings     models that are missing or cannot be read, parameters that nothing takes
    """

    path: str
    _: KW_ONLY
    name: str
    version: str
    parts: tuple[SystemPart, ...]
    connections: tuple[SystemWire, ...]
    inputs: tuple[SystemWire, ...]
    outputs: tuple[SystemWire, ...]
    parameters: tuple[SystemValue, ...]
    default_experiment: FmuExperiment
    findings: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON."""
        return {key: plain(value) for key, value in vars(self).items()}

    def __repr__(self) -> str:
        return f"<pliant.SystemReport {self.name!r}: {len(self.parts)} parts, {len(self.connections)} connections>"

    def __str__(self) -> str:
        experiment = self.default_experiment
        times = (f"{key} = {getattr(experiment, key):g}" for key in ("start", "stop", "step") if _has(experiment, key))
        return "\n".join(
            [
                f"{self.name}: SSP {self.version}, {len(self.parts)} parts",
                *([f"default experiment: {', '.join(found)}"] if (found := list(times)) else []),
                *_list("parts", [f"{one.name}  {one.source or one.type}" for one in self.parts]),
                *_list("connections", [str(one) for one in self.connections]),
                *_list("inputs", [str(one) for one in self.inputs]),
                *_list("outputs", [f"{one.target} = {one.source}{_told(one.through)}" for one in self.outputs]),
                *_list("parameters", [str(one) for one in self.parameters]),
                *_list("findings", list(self.findings)),
            ]
        )


def _has(experiment: FmuExperiment, key: str) -> bool:
    return getattr(experiment, key) is not None


def _told(through: Conversion) -> str:
    if through.changes_nothing:
        return ""
    words = [f"{a:g} -> {b:g}" for a, b in through.table]
    if through.factor != 1.0 or through.offset != 0.0:
        words.append(f"{through.factor:.10g} v + {through.offset:.10g}")
    return f"  ({', '.join(words)})"


def _list(title: str, rows: list[str]) -> Iterator[str]:
    if rows:
        yield f"{title}:"
        yield from (f"  {one}" for one in rows[:SHOWN])
        if len(rows) > SHOWN:
            yield f"  ... {len(rows) - SHOWN} more"


class _Looking:
    """Reads descriptions of FMUs, and runs nothing."""

    def __init__(self, options: FmuOptions) -> None:
        self.options = options
        self.findings: list[str] = []
        self.known: dict[str, ComponentPorts | None] = {}

    def absent(self, node: SspNode, text: str, hint: str) -> None:
        """A finding."""
        self.find(node.element.place, text)

    def find(self, place: SspPlace, text: str) -> None:
        """One more."""
        self.findings.append(f"{place.file}:{place.line}: {place.element}: {text}")

    def open(self, node: SspNode) -> ComponentPorts | None:
        """By the description."""
        one, key = node.component, str(node.file)
        assert one is not None
        assert node.file is not None
        if one.type != FMU:
            return None
        if key not in self.known:
            self.known[key] = None
            try:
                contents = open_fmu(node.file, self.options)
                contents.archive.close()
                self.known[key] = FmuPorts(contents.description)
            except FmuError as error:
                self.find(one.place, error.message)
        return self.known[key]


def inspect_system(path: Path, options: FmuOptions, variant: str | None = None) -> SystemReport:
    """Read a system."""
    place, looking = UnpackFolder(), _Looking(options)
    builder = TreeBuilder(options, place, looking)
    try:
        package, name = find_description(path, variant, options, place)
        description, root = builder.build(package, name)
        found = resolve(root)
        for one in found.unused:
            looking.find(one.place, f"nothing has the name {one.name!r}: the value is not used")
        return SystemReport(
            str(path),
            name=description.name,
            version=description.version,
            parts=tuple(_part(node) for node in found.components),
            connections=tuple(_wire(way) for way in (*found.wires, *found.links)),
            inputs=tuple(_wire(way) for ways in found.inputs.values() for way in ways),
            outputs=tuple(_wire(way) for way in found.outputs.values()),
            parameters=_values(found),
            default_experiment=experiment_of(description),
            findings=tuple(looking.findings),
        )
    finally:
        place.close()


def _part(node: SspNode) -> SystemPart:
    one = node.component
    assert one is not None
    return SystemPart(node.full, one.type, one.source or "", one.implementation)


def _wire(way: Way) -> SystemWire:
    at = way.edges[-1].connection.place
    return SystemWire(way.source.full, way.target.full, way.conversion, at.file, at.line)


def _values(found: Resolved) -> tuple[SystemValue, ...]:
    return tuple(
        SystemValue(f"{node.full}.{name}", as_python(one), one.place.file, one.place.line)
        for node, values in found.values.items()
        for name, one in values.items()
    )
