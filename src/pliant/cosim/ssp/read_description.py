"""From the text of an .ssd, and the files that it refers to, to an `SspDescription`."""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from pliant.cosim.ssp.content import (
    FMU,
    MODELICA,
    SSD,
    SSP,
    Binding,
    Connector,
    Dictionary,
    MappingEntry,
    SspComponent,
    SspConnection,
    SspDescription,
    SspElement,
    SspReference,
    SspSystem,
)
from pliant.cosim.ssp.package import Package, resolved
from pliant.cosim.ssp.read_common import place_of, read_entry, read_scope, read_transformation
from pliant.cosim.ssp.read_values import read_dictionary, read_mapping, read_parameter_set
from pliant.cosim.ssp.xml import XmlNode, check_root, read_tree
from pliant.errors import FmuError
from pliant.fmi.archive import Archive
from pliant.fmi.options import FmuOptions
from pliant.solve.names import suggestion

KINDS = (
    "input",
    "output",
    "parameter",
    "calculatedParameter",
    "structuralParameter",
    "constant",
    "local",
    "inout",
    "unspecified",
)
IMPLEMENTATIONS = {
    "any": None,
    "ModelExchange": "model-exchange",
    "CoSimulation": "co-simulation",
    "ScheduledExecution": "scheduled-execution",
}
#: what components can be -> ends of file names, for files that say nothing
SUFFIXES = {".fmu": FMU, ".ssd": SSD, ".ssp": SSP, ".mo": MODELICA}
#: annotations that suggest a macro step: of pliant, OMSimulator, the Open Simulation Platform -> attribute
STEPS = {
    "Coupling": "step",
    "FixedStepMaster": "stepSize",
    "VariableStepMaster": "stepSize",
    "FixedStepAlgorithm": "baseStepSize",
}
NO_FILE = "put the file there, or correct the path"
Read = TypeVar("Read")


def read_description(package: Package, name: str, options: FmuOptions) -> SspDescription:
    """The .ssd of that name in a package."""
    return _DescriptionReading(package, name, options).description()


class _DescriptionReading:
    """One .ssd while it is read."""

    def __init__(self, package: Package, name: str, options: FmuOptions) -> None:
        self.package, self.name, self.options = package, name, options
        self.folder = posixpath.dirname(name)

    def description(self) -> SspDescription:
        root = read_tree(self.package.read(self.name), self.package.described(self.name))
        version = check_root(root, "ssd:SystemStructureDescription")
        system = root.first("ssd:System")
        if system is None:
            raise root.refused("it has no System", hint="the file is not complete: ask its maker")
        experiment = root.first("ssd:DefaultExperiment")
        times: dict[str, float | None] = {"startTime": None, "stopTime": None}
        if experiment is not None:
            times = {one: experiment.number(one) for one in times}
            if times["stopTime"] is not None and times["stopTime"] < (times["startTime"] or 0.0):
                raise experiment.refused(
                    f"stopTime={times['stopTime']:g} lies before startTime={times['startTime'] or 0.0:g}",
                    hint="correct the default experiment",
                )
        noted = [root, system] if experiment is None else [root, experiment, system]
        step = _step_in([note for one in noted for note in one.all("ssd:Annotations")])
        return SspDescription(
            root.file,
            version,
            root.text("name"),
            self.system(system),
            read_scope(root),
            times["startTime"],
            times["stopTime"],
            step,
        )

    # ------------------------------------------------------------------------------------------------ elements

    def system(self, node: XmlNode) -> SspSystem:
        elements: dict[str, SspElement] = {}
        for one in node.inside("ssd:Elements"):
            read: dict[str, Callable[[XmlNode], SspElement]] = {
                "ssd:System": self.system,
                "ssd:Component": self.component,
                "ssd:SignalDictionaryReference": self.reference,
            }
            if one.name in read:
                element = read[one.name](one)
                if element.name in elements:
                    raise one.refused(
                        "there are two elements of this name; the other is in line "
                        f"{elements[element.name].place.line}",
                        hint="give each element of a system a name of its own",
                    )
                elements[element.name] = element
        dictionaries: dict[str, Dictionary] = {}
        for one in node.inside("ssd:SignalDictionaries"):
            if one.name == "ssd:SignalDictionary":
                name = one.required("name")
                if name in dictionaries:
                    raise one.refused("there are two signal dictionaries of this name", hint="leave one of them")
                dictionaries[name] = self.dictionary(one, name)
        return SspSystem(
            node.required("name"),
            place=place_of(node),
            connectors=_connectors(node),
            bindings=self.bindings(node, None),
            id=node.text("id"),
            elements=tuple(elements.values()),
            connections=tuple(
                _connection(one) for one in node.inside("ssd:Connections") if one.name == "ssd:Connection"
            ),
            dictionaries=dictionaries,
        )

    def component(self, node: XmlNode) -> SspComponent:
        source = node.attributes.get("source")
        full = node.text("type") or SUFFIXES.get(posixpath.splitext((source or "").partition("#")[0])[1].lower(), FMU)
        kind, _, more = full.partition(";")
        class_name = more.partition("path=")[2].partition(";")[0].strip().strip('"')
        implementation = node.text("implementation") or "any"
        if implementation not in IMPLEMENTATIONS:
            raise node.refused(
                f"implementation={implementation!r} is not known", hint=f"use {', '.join(IMPLEMENTATIONS)}"
            )
        return SspComponent(
            node.required("name"),
            place=place_of(node),
            connectors=_connectors(node),
            bindings=self.bindings(node, source),
            type=kind.strip(),
            class_name=class_name,
            source=source,
            implementation=implementation,
        )

    def reference(self, node: XmlNode) -> SspReference:
        return SspReference(
            node.required("name"),
            place=place_of(node),
            connectors=_connectors(node),
            bindings=(),
            dictionary=node.required("dictionary"),
        )

    def dictionary(self, node: XmlNode, name: str) -> Dictionary:
        source = node.attributes.get("source")
        if source is not None:
            return self.other_file(node, source, None, lambda root: read_dictionary(root, name))
        inside = node.first("ssb:SignalDictionary")
        if inside is None:
            raise node.refused("it has neither a source nor content", hint='give it source="resources/x.ssb"')
        return read_dictionary(inside, name)

    # ------------------------------------------------------------------------------------------------ bindings

    def bindings(self, owner: XmlNode, component: str | None) -> tuple[Binding, ...]:
        """``component``: the source of the component that owns them."""
        return tuple(
            self.binding(one, component)
            for one in owner.inside("ssd:ParameterBindings")
            if one.name == "ssd:ParameterBinding"
        )

    def binding(self, node: XmlNode, component: str | None) -> Binding:
        if "parameter-set" not in node.text("type", "application/x-ssp-parameter-set"):
            raise node.refused(
                f"parameters of type {node.text('type')!r} are not read", hint="give them as a parameter set, .ssv"
            )
        source, inline = node.text("source"), node.first("ssd:ParameterValues")
        if source and inline is not None and inline.children:
            raise node.refused("it has both a source and ParameterValues", hint="leave one of them")
        if source:
            values = self.other_file(node, source, component, read_parameter_set)
        else:
            inner = None if inline is None else inline.first("ssv:ParameterSet")
            if inner is None:
                raise node.refused("it has neither a source nor ParameterValues", hint='source="resources/x.ssv"')
            values = read_parameter_set(inner)
        return Binding(values, place=place_of(node), prefix=node.text("prefix"), mapping=self.mapping(node, component))

    def mapping(self, binding: XmlNode, component: str | None) -> tuple[MappingEntry, ...] | None:
        node = binding.first("ssd:ParameterMapping")
        if node is None:
            return None
        if node.text("source"):
            return self.other_file(node, node.text("source"), component, read_mapping)
        inner = node.first("ssm:ParameterMapping")
        if inner is None:
            raise node.refused("it has neither a source nor content", hint='give it source="resources/x.ssm"')
        return read_mapping(inner)

    def other_file(self, node: XmlNode, source: str, component: str | None, read: Callable[[XmlNode], Read]) -> Read:
        """Another XML file of the package, or one inside the file of a component."""
        if node.text("sourceBase", "SSD") == "component":
            if not component:
                raise node.refused(
                    'sourceBase="component" is for components with a source', hint="leave sourceBase out"
                )
            outer, _ = resolved(component, self.folder, node)
            name, _ = resolved(source, "", node)
            try:
                data, label = self._inside(outer, name), f"{self.package.described(outer)}/{name}"
            except (KeyError, FmuError, OSError):
                raise node.refused(f"there is no file {source!r} inside {component}", hint=NO_FILE) from None
        else:
            name, _ = resolved(source, self.folder, node)
            try:
                data, label = self.package.read(name), self.package.described(name)
            except KeyError:
                raise node.refused(f"there is no file {source!r}", hint=NO_FILE) from None
        return read(read_tree(data, label))

    def _inside(self, outer: str, name: str) -> bytes:
        path: Path = self.package.file(outer)
        archive = Archive(path, self.options)
        try:
            if name not in archive.names:
                raise KeyError(name)
            return archive.read(name, 2**28)
        finally:
            archive.close()


def _connectors(owner: XmlNode) -> dict[str, Connector]:
    found: dict[str, Connector] = {}
    for node in owner.inside("ssd:Connectors"):
        if node.name != "ssd:Connector":
            continue
        kind = node.required("kind")
        if kind not in KINDS:
            raise node.refused(f"kind={kind!r} is not known", hint=suggestion(kind, KINDS))
        one = read_entry(node, kind)
        if one.name in found:
            raise node.refused(
                f"{owner} has two connectors of this name; the other is in line {found[one.name].place.line}",
                hint="leave one of them",
            )
        found[one.name] = one
    return found


def _connection(node: XmlNode) -> SspConnection:
    found = SspConnection(
        (node.text("startElement"), node.required("startConnector")),
        (node.text("endElement"), node.required("endConnector")),
        place=place_of(node),
        start_indices=_indices(node, "startIndices"),
        end_indices=_indices(node, "endIndices"),
        suppress=node.truth("suppressUnitConversion"),
        transformation=read_transformation(node),
    )
    start, end = (".".join(one for one in ends if one) for ends in (found.start, found.end))
    return SspConnection(**{**vars(found), "place": place_of(_named(node, f"{start} - {end}"))})


def _named(node: XmlNode, name: str) -> XmlNode:
    return XmlNode(node.name, {"name": name}, node.file, node.line)


def _indices(node: XmlNode, name: str) -> tuple[int, ...]:
    words = node.text(name).split()
    if not all(word.isdigit() and int(word) > 0 for word in words):
        raise node.refused(f"{name}={node.text(name)!r} are no indices", hint="whole numbers from 1, with spaces")
    return tuple(map(int, words))


def _step_in(groups: list[XmlNode]) -> float | None:
    """The macro step that an annotation suggests."""
    for node in groups:
        for one in node.children:
            found = one.number(STEPS[one.local]) if one.local in STEPS else None
            found = found or _step_in([one])
            if found is not None:
                return found
    return None
