"""A coupling as an .ssp: its parts as FMUs in nested systems, connections, parameters, default experiment.

FMUs are copied, models from Modelica are exported. Systems get a connector for every connection that crosses their
border. What a value goes through stands as one transformation on the connection where both ends meet, and unit
conversion is suppressed there, because it is in the transformation.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import numpy as np

from pliant.arguments import target_file
from pliant.cosim.conversion import SAME, Conversion
from pliant.cosim.ssp.content import FMU
from pliant.cosim.ssp.variables import ComponentPort, ComponentPorts, FmuPorts
from pliant.cosim.ssp.xml import PREFIXES, SPACE
from pliant.errors import ArgumentError, ExportError, PliantError
from pliant.export.content import xml_file
from pliant.export.fmu import check_export, export_fmu, write_archive
from pliant.fmi.archive import Archive
from pliant.fmi.info import open_fmu
from pliant.fmi.model import FmuModel
from pliant.fmi.options import FmuOptions
from pliant.solve.models.numeric import NumericModel

if TYPE_CHECKING:
    from pliant.cosim.coupling import Coupling

KINDS = ("input", "output", "parameter", "calculatedParameter", "structuralParameter", "constant")
TYPES = {"real": "Real", "integer": "Integer", "boolean": "Boolean", "string": "String"}
IMPLEMENTATIONS = {"model-exchange": "ModelExchange", "co-simulation": "CoSimulation"}
LARGEST = 2**31


@dataclass
class Crossing:
    """A connection inside a system that is being written: element ("" for the system itself), connector, indices."""

    start: tuple[str, str, str]
    end: tuple[str, str, str]
    through: Conversion


@dataclass
class Frame:
    """A system that is being written."""

    elements: dict[str, Frame | str] = field(default_factory=dict)  # systems; of parts the full name
    connectors: dict[str, tuple[str, str]] = field(default_factory=dict)  # name -> kind, type
    crossings: list[Crossing] = field(default_factory=list)
    borders: dict[tuple[str, str, bool], str] = field(default_factory=dict)  # variable of a part, outward -> connector


@dataclass(frozen=True)
class Interface:
    """What a coupling has besides parts and connections.

    inputs and outputs: system and connector, kind, then part and variable inside.
    """

    models: Mapping[str, Any]  # by part
    options: Mapping[str, Mapping[str, Any]]  # what parts were given
    _: KW_ONLY
    inputs: tuple[tuple[tuple[str, ...], str, str, str, str, Conversion], ...] = ()  # kind, part, variable
    outputs: tuple[tuple[tuple[str, ...], str, str, str, str, Conversion], ...] = ()
    links: tuple[tuple[str, str, str, str, Conversion], ...] = ()  # part and variable, twice
    values: Mapping[str, Any] = field(default_factory=dict)  # of inputs, by full name


def save_ssp(coupling: Coupling, path: Any, overwrite: bool, interface: Interface) -> Path:
    """Write the archive, complete or not at all."""
    target = target_file(path, overwrite, ".ssp", "a system", 'coupling.save("system.ssp")')
    if not coupling.parts:
        raise ArgumentError("the coupling has no parts", hint="coupling.add('name', model)")
    with tempfile.TemporaryDirectory() as folder:
        writing = _Writing(coupling, interface, Path(folder))
        members = writing.members()
        write_archive(members, target)
    return target


class _Writing:
    """One coupling while it is written."""

    def __init__(self, coupling: Coupling, interface: Interface, folder: Path) -> None:
        self.coupling, self.interface, self.folder = coupling, interface, folder
        self.resources: dict[str, bytes] = {}
        self.files: dict[str, str] = {}  # what a resource was made from -> its name
        self.sources: dict[str, tuple[str, str]] = {}  # part -> source, implementation
        self.ports: dict[str, ComponentPorts] = {}
        self.used: dict[str, dict[str, str]] = {name: {} for name in coupling.parts}  # part -> connector -> kind
        self.top = Frame()
        self.version = "1.0"

    def members(self) -> dict[str, bytes]:
        """All files of the archive."""
        for name in self.coupling.parts:
            self._resource(name)
            self._place(name)
        for system, connector, kind, *_ in (*self.interface.inputs, *self.interface.outputs):
            self._frame(system).connectors.setdefault(connector, (kind, ""))  # their names are taken
        for one in self.coupling.connections:
            self._wire((one.source_part, one.source), (one.target_part, one.target), one.through)
        for source_part, source, target_part, target, through in self.interface.links:
            self._wire((source_part, source), (target_part, target), through)
        for system, connector, kind, part, variable, through in self.interface.inputs:
            frame, inside = self._frame(system), self._down(system, part, variable)
            frame.connectors[connector] = (kind, self._type(part, variable) if through == SAME else "")
            frame.crossings.append(Crossing(("", connector, ""), inside, through))
        for system, connector, _, part, variable, through in self.interface.outputs:
            frame, inside = self._frame(system), self._up(system, part, variable)
            frame.crossings.append(Crossing(inside, ("", connector, ""), through))
        return {"SystemStructure.ssd": self._document(), **self.resources}

    # --------------------------------------------------------------------------------------------------- parts

    def _resource(self, name: str) -> None:
        """The FMU of a part: a copy, or exported."""
        model = self.interface.models[name]
        numeric = getattr(model, "_numeric", model)
        if isinstance(numeric, FmuModel):
            self.ports[name] = FmuPorts(numeric.fmu.description)
            key, kind = numeric.fmu.path, numeric.fmu.kind
        elif isinstance(numeric, NumericModel):
            key, kind = str(id(numeric)), "model-exchange"
        else:
            raise ExportError(f"part {name!r} is no model that can be saved", hint="save couplings of models and FMUs")
        if key not in self.files:
            stem = "".join(c if c.isalnum() and c.isascii() else "_" for c in numeric.name) or "part"
            self.files[key] = file = self._free_name(stem)
            path = self._exported(name, numeric) if not isinstance(numeric, FmuModel) else Path(key)
            self.resources[file] = _bytes(path, name)
        if name not in self.ports:
            contents = open_fmu(self.folder / Path(self.files[key]).name, FmuOptions())
            contents.archive.close()
            self.ports[name] = FmuPorts(contents.description)
        self.sources[name] = self.files[key], IMPLEMENTATIONS[kind]

    def _free_name(self, stem: str) -> str:
        k, name = 1, f"resources/{stem}.fmu"
        while name in self.resources:
            k, name = k + 1, f"resources/{stem}_{k + 1}.fmu"
        return name

    def _exported(self, name: str, numeric: NumericModel) -> Path:
        file = self.folder / Path(self.files[str(id(numeric))]).name
        inside = {"kind": "both", "solver": "bdf", "at_jump": "correct", "rtol": 1e-6}
        try:
            request = check_export(file, version="3.0", platforms=None, sources=False, overwrite=False, **inside)
            return export_fmu(numeric, request)
        except PliantError as error:
            raise ExportError(f"part {name!r}: {error.message}", hint=error.hint) from error

    def _place(self, name: str) -> None:
        words = name.split(".")
        known = set(self.coupling.parts)
        nested = all(words) and not any(".".join(words[:k]) in known for k in range(1, len(words)))
        frame = self._frame(tuple(words[:-1]) if nested else ())
        frame.elements[words[-1] if nested else name] = name

    def _frame(self, path: tuple[str, ...]) -> Frame:
        frame = self.top
        for word in path:
            inner = frame.elements.setdefault(word, Frame())
            assert isinstance(inner, Frame)  # no part has the name of a system
            frame = inner
        return frame

    def _home(self, part: str) -> tuple[tuple[str, ...], str]:
        """The system that a part is in, and its name there."""
        if self.top.elements.get(part) == part:
            return (), part
        words = part.split(".")
        return tuple(words[:-1]), words[-1]

    # --------------------------------------------------------------------------------------------- connections

    def _port(self, part: str, variable: str) -> tuple[ComponentPort, str, str]:
        """The variable, the name of its connector, and indices where it is an element of an array."""
        found = self.ports[part].find(variable)
        if found is None:
            raise ExportError(
                f"part {part!r}: its FMU has no variable {variable!r}",
                hint="connect a variable that the model declares",
            )
        if variable in self.ports[part].names():
            return found, variable, ""
        array, _, index = variable[:-1].rpartition("[")
        self.version = "2.0"
        return found, array, index.replace(",", " ")

    def _end(self, part: str, variable: str) -> tuple[str, str, str]:
        """An end in the system of the part."""
        port, connector, indices = self._port(part, variable)
        kind = port.causality if port.causality in KINDS else "local"
        if kind == "local":
            self.version = "2.0"
        self.used[part][connector] = kind
        return self._home(part)[1], connector, indices

    def _type(self, part: str, variable: str) -> str:
        return TYPES.get(self._port(part, variable)[0].base, "")

    def _up(self, system: tuple[str, ...], part: str, variable: str) -> tuple[str, str, str]:
        """The end of a source, as seen in a system around its part."""
        return self._through_borders(system, part, variable, "output")

    def _down(self, system: tuple[str, ...], part: str, variable: str) -> tuple[str, str, str]:
        """The end of a target, as seen in a system around its part."""
        port = self._port(part, variable)[0]
        kind = port.causality if port.causality in ("parameter", "structuralParameter") else "input"
        return self._through_borders(system, part, variable, kind)

    def _through_borders(self, system: tuple[str, ...], part: str, variable: str, kind: str) -> tuple[str, str, str]:
        home, _ = self._home(part)
        end = self._end(part, variable)
        if kind == "output" and self.used[part][end[1]] in ("calculatedParameter", "constant"):
            kind = "calculatedParameter"
        for depth in range(len(home), len(system), -1):
            frame = self._frame(home[:depth])
            outward = kind in ("output", "calculatedParameter")
            connector = frame.borders.get((part, variable, outward), "")
            if not connector:
                first = connector = f"{end[0]}.{end[1]}" + (f"[{end[2].replace(' ', ',')}]" if end[2] else "")
                k = 1
                while connector in frame.connectors:
                    k, connector = k + 1, f"{first}_{k + 1}"
                frame.borders[part, variable, outward] = connector
                frame.connectors[connector] = (kind, self._type(part, variable))
                own = ("", connector, "")
                frame.crossings.append(Crossing(end, own, SAME) if outward else Crossing(own, end, SAME))
            end = (home[depth - 1], connector, "")
        return end

    def _wire(self, source: tuple[str, str], target: tuple[str, str], through: Conversion) -> None:
        a, b = self._home(source[0])[0], self._home(target[0])[0]
        n = 0
        while n < min(len(a), len(b)) and a[n] == b[n]:
            n += 1
        start, end = self._up(a[:n], *source), self._down(a[:n], *target)
        self._frame(a[:n]).crossings.append(Crossing(start, end, through))

    # ------------------------------------------------------------------------------------------------ document

    def _document(self) -> bytes:
        system = ET.Element("ssd:System", {"name": "root"})
        self._fill(system, self.top)
        root = ET.Element(
            "ssd:SystemStructureDescription",
            {
                **{f"xmlns:{prefix}": f"{SPACE}{name}" for name, prefix in PREFIXES.items()},
                "version": self.version,
                "name": "coupling",
                "generationTool": "pliant",
            },
        )
        root.append(system)
        experiment = self.coupling.default_experiment
        times = {"startTime": experiment.start, "stopTime": experiment.stop}
        given = {key: _real(value) for key, value in times.items() if value is not None}
        if given:
            ET.SubElement(root, "ssd:DefaultExperiment", given)
        if experiment.step is not None:
            notes = ET.SubElement(root, "ssd:Annotations")
            note = ET.SubElement(notes, "ssc:Annotation", {"type": "pliant.coupling"})
            ET.SubElement(note, "Coupling", {"step": _real(experiment.step)})
        return xml_file(root)

    def _fill(self, node: ET.Element, frame: Frame) -> None:
        _connectors(node, frame.connectors)
        if frame.elements:
            elements = ET.SubElement(node, "ssd:Elements")
            for name, inner in frame.elements.items():
                if isinstance(inner, Frame):
                    self._fill(ET.SubElement(elements, "ssd:System", {"name": name}), inner)
                else:
                    self._component(elements, name, inner)
        if frame.crossings:
            connections = ET.SubElement(node, "ssd:Connections")
            for one in frame.crossings:
                _connection(connections, one)

    def _component(self, parent: ET.Element, own: str, part: str) -> None:
        source, implementation = self.sources[part]
        node = ET.SubElement(
            parent, "ssd:Component", {"name": own, "type": FMU, "source": source, "implementation": implementation}
        )
        ports = self.ports[part]
        listed: dict[str, tuple[str, str]] = {}
        shapes: dict[str, tuple[int, ...]] = {}
        for connector, kind in self.used[part].items():
            port = ports.find(connector)
            assert port is not None
            listed[connector], shapes[connector] = (kind, TYPES.get(port.base, "")), port.shape
        _connectors(node, listed, shapes)
        values = self._values(part)
        if values:
            group = ET.SubElement(node, "ssd:ParameterBindings")
            inline = ET.SubElement(ET.SubElement(group, "ssd:ParameterBinding"), "ssd:ParameterValues")
            versioned = {"version": "2.0" if any(isinstance(v, (list, tuple)) for v in values.values()) else "1.0"}
            self.version = max(self.version, versioned["version"])
            given = ET.SubElement(inline, "ssv:ParameterSet", {**versioned, "name": own})
            parameters = ET.SubElement(given, "ssv:Parameters")
            for name, value in values.items():
                _parameter(parameters, name, value, ports.find(name), part)

    def _values(self, part: str) -> dict[str, Any]:
        own = self.interface.options[part]
        found = {**own.get("parameters", {}), **own.get("start_values", {})}
        prefix = f"{part}."
        for name, value in self.interface.values.items():
            if name.startswith(prefix):
                port = self.ports[part].find(name[len(prefix) :])
                if port is not None and port.start != value:
                    found[name[len(prefix) :]] = value
        return found


def _connectors(
    node: ET.Element, listed: Mapping[str, tuple[str, str]], shapes: Mapping[str, tuple[int, ...]] | None = None
) -> None:
    if not listed:
        return
    group = ET.SubElement(node, "ssd:Connectors")
    for name, (kind, type_) in listed.items():
        one = ET.SubElement(group, "ssd:Connector", {"name": name, "kind": kind})
        if type_:
            ET.SubElement(one, f"ssc:{type_}")
        for size in (shapes or {}).get(name, ()):
            ET.SubElement(one, "ssc:Dimension", {"size": str(size)})


def _connection(group: ET.Element, one: Crossing) -> None:
    given: dict[str, str] = {}
    for side, (element, connector, indices) in (("start", one.start), ("end", one.end)):
        if element:
            given[f"{side}Element"] = element
        given[f"{side}Connector"] = connector
        if indices:
            given[f"{side}Indices"] = indices
    given["suppressUnitConversion"] = "true"
    node = ET.SubElement(group, "ssd:Connection", given)
    through = one.through
    if through.table:
        table = ET.SubElement(node, "ssc:IntegerMappingTransformation")
        if set(dict(through.table)) <= {0.0, 1.0} and set(dict(through.table).values()) <= {0.0, 1.0}:
            table.tag = "ssc:BooleanMappingTransformation"
        words = ("false", "true") if table.tag.startswith("ssc:Boolean") else None
        for a, b in through.table:
            source, target = (words[int(x)] if words else str(int(x)) for x in (a, b))
            ET.SubElement(table, "ssc:MapEntry", {"source": source, "target": target})
    elif not through.changes_nothing:
        ET.SubElement(
            node,
            "ssc:LinearTransformation",
            {"factor": _real(through.factor), "offset": _real(through.offset)},
        )


def _parameter(group: ET.Element, name: str, value: Any, port: ComponentPort | None, part: str) -> None:
    if port is None:
        raise ExportError(f"part {part!r}: its FMU has no variable {name!r}", hint="leave its value out")
    node = ET.SubElement(group, "ssv:Parameter", {"name": name})
    if isinstance(value, (list, tuple, np.ndarray)):
        array = np.asarray(value, dtype=object)
        words = [_word(one, port) for one in array.ravel().tolist()]
        if port.base in ("string", "enumeration"):
            typed = ET.SubElement(node, f"ssv:{_type_name(port)}")
            for word in words:
                ET.SubElement(typed, "ssv:Value", {"value": word})
        else:
            ET.SubElement(node, f"ssv:{_type_name(port)}", {"value": " ".join(words)})
        for size in array.shape:
            ET.SubElement(node, "ssc:Dimension", {"size": str(size)})
        return
    ET.SubElement(node, f"ssv:{_type_name(port)}", {"value": _word(value, port)})


def _type_name(port: ComponentPort) -> str:
    return TYPES.get(port.base, "Enumeration")


def _word(value: Any, port: ComponentPort) -> str:
    if port.base == "string":
        return str(value)
    if port.base == "boolean":
        return "true" if value in (True, 1, 1.0, "true") else "false"
    if port.base == "enumeration":
        by_value = {number: item for item, number in port.items.items()}
        return value if isinstance(value, str) else by_value.get(int(value), str(int(value)))
    return str(int(value)) if port.base == "integer" else _real(value)


def _real(value: float) -> str:
    return repr(float(value))


def _bytes(path: Path, part: str) -> bytes:
    """The archive of an FMU; of an unpacked one it is made."""
    if not path.exists():
        raise ExportError(f"part {part!r}: there is no file {path} any more", hint="keep the FMU until it is saved")
    if path.is_file():
        return path.read_bytes()
    archive = Archive(path, FmuOptions())
    with tempfile.TemporaryDirectory() as folder:
        packed = Path(folder) / "packed.fmu"
        write_archive({name: archive.read(name, LARGEST) for name in sorted(archive.names)}, packed)
        return packed.read_bytes()
