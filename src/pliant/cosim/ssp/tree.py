"""The systems and components of a system by their place in it; systems in files of their own are put in their place."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from pliant.cosim.ssp.content import (
    SSD,
    SSP,
    Binding,
    Connector,
    Dictionary,
    SspComponent,
    SspConnection,
    SspDescription,
    SspElement,
    SspReference,
    SspScope,
    SspSystem,
)
from pliant.cosim.ssp.package import DEFAULT, Package, UnpackFolder, open_package, resolved
from pliant.cosim.ssp.read_description import NO_FILE, read_description
from pliant.cosim.ssp.variables import ComponentPorts
from pliant.cosim.ssp.xml import XmlNode
from pliant.fmi.options import FmuOptions
from pliant.solve.names import suggestion

DEEPEST = 30  # systems in systems
MOST_NODES = 100_000


@dataclass(eq=False)
class SspNode:
    """A system, component or reference to a signal dictionary, in its place."""

    path: tuple[str, ...]
    element: SspElement
    scope: SspScope
    parent: SspNode | None
    bindings: tuple[Binding, ...]
    children: dict[str, SspNode] = field(default_factory=dict)
    file: Path | None = None  # of a component
    variables: ComponentPorts | None = None  # of a component; None: not known

    @property
    def full(self) -> str:
        """Names from the top, with dots; "" for the top."""
        return ".".join(self.path)

    def named(self, variable: str) -> str:
        """Full name of one of its variables."""
        return ".".join((*self.path, variable))

    @property
    def system(self) -> SspSystem | None:
        """What it is, where it is a system."""
        return self.element if isinstance(self.element, SspSystem) else None

    @property
    def component(self) -> SspComponent | None:
        """What it is, where it is a component."""
        return self.element if isinstance(self.element, SspComponent) else None

    @property
    def connectors(self) -> dict[str, Connector]:
        """By name."""
        return dict(self.element.connectors)

    @property
    def connections(self) -> tuple[SspConnection, ...]:
        """Inside a system."""
        return self.element.connections if isinstance(self.element, SspSystem) else ()

    def all(self) -> Iterator[SspNode]:
        """This one and everything inside, from the top."""
        yield self
        for one in self.children.values():
            yield from one.all()

    def dictionary(self, name: str) -> tuple[SspNode, Dictionary] | None:
        """The signal dictionary of that name, looked up from here to the top."""
        node: SspNode | None = self
        while node is not None:
            if isinstance(node.element, SspSystem) and name in node.element.dictionaries:
                return node, node.element.dictionaries[name]
            node = node.parent
        return None


class Opener(Protocol):
    """Finds out the variables of components."""

    def open(self, node: SspNode) -> ComponentPorts | None:
        """Those of one; None: they cannot be known."""

    def absent(self, node: SspNode, text: str, hint: str) -> None:
        """There is no model: an error, or a finding."""


class TreeBuilder:
    """Builds the tree of one file."""

    def __init__(self, options: FmuOptions, place: UnpackFolder, opener: Opener) -> None:
        self.options, self.place, self.opener = options, place, opener
        self.count = 0

    def build(self, package: Package, name: str) -> tuple[SspDescription, SspNode]:
        """The whole tree."""
        found = read_description(package, name, self.options)
        inside = _Inside(package, name, found, ((str(package.path), name, ""),))
        return found, self._node((), replace(found.system, name=""), None, inside)

    def _node(
        self,
        path: tuple[str, ...],
        element: SspElement,
        parent: SspNode | None,
        inside: _Inside,
        more: SspElement | None = None,
    ) -> SspNode:
        self.count += 1
        if self.count > MOST_NODES:
            raise element.place.refused(f"it has more than {MOST_NODES} elements", hint="a smaller system")
        bindings = (*element.bindings, *(more.bindings if more is not None else ()))
        node = SspNode(path, element, inside.description.scope, parent, bindings)
        if isinstance(element, SspSystem):
            for one in element.elements:
                node.children[one.name] = self._child((*path, one.name), one, node, inside)
        elif isinstance(element, SspReference):
            self._check_reference(node)
        return node

    def _child(self, path: tuple[str, ...], element: SspElement, parent: SspNode, inside: _Inside) -> SspNode:
        if not isinstance(element, SspComponent):
            return self._node(path, element, parent, inside)
        if element.source is None or element.source == "":
            node = self._node(path, element, parent, inside)
            self.opener.absent(
                node, "it has no source: only its place in the system is known", 'give it source="resources/x.fmu"'
            )
            return node
        at = XmlNode("ssd:Component", {"name": element.name}, element.place.file, element.place.line)
        file, fragment = resolved(element.source, posixpath.dirname(inside.name), at)
        if not file:
            return self._same_document(path, element, parent, inside, fragment)
        if element.type == SSD:
            return self._other_system(path, element, parent, inside, inside.package, file)
        text = f"there is no file {element.source!r}"
        if element.type == SSP:
            try:
                found = inside.package.file(file)
            except KeyError:
                raise element.place.refused(text, hint=NO_FILE) from None
            package = open_package(found, self.options, self.place, inside.package.described(file))
            return self._other_system(path, element, parent, inside, package, fragment or DEFAULT)
        node = self._node(path, element, parent, inside)
        try:
            node.file = inside.package.file(file)
        except KeyError:
            self.opener.absent(node, text, NO_FILE)
            return node
        node.variables = self.opener.open(node)
        return node

    def _same_document(
        self, path: tuple[str, ...], element: SspComponent, parent: SspNode, inside: _Inside, id_: str
    ) -> SspNode:
        """A system of the same file once more."""
        found = {one.id: one for one in _systems(inside.description.system) if one.id}
        if id_ not in found:
            raise element.place.refused(f"there is no system with the id {id_!r}", hint=suggestion(id_, found))
        further = inside.entered(inside.package, inside.name, id_, element, inside.description)
        return self._node(path, replace(found[id_], name=element.name), parent, further, element)

    def _other_system(
        self,
        path: tuple[str, ...],
        element: SspComponent,
        parent: SspNode,
        inside: _Inside,
        package: Package,
        name: str,
    ) -> SspNode:
        """The system of another .ssd in the place of a component; bindings of the component come last."""
        inside.entered(package, name, "", element, inside.description)
        try:
            description = read_description(package, name, self.options)
        except KeyError:
            raise element.place.refused(f"there is no file {name!r} in {package.label}", hint=NO_FILE) from None
        further = inside.entered(package, name, "", element, description)
        return self._node(path, replace(description.system, name=element.name), parent, further, element)

    @staticmethod
    def _check_reference(node: SspNode) -> None:
        element = node.element
        assert isinstance(element, SspReference)
        found = node.dictionary(element.dictionary)
        if found is None:
            raise element.place.refused(
                f"there is no signal dictionary {element.dictionary!r} in its system or around it",
                hint=suggestion(element.dictionary, _dictionaries(node)),
            )
        entries = found[1].entries
        for one in element.connectors.values():
            if one.name not in entries:
                raise one.place.refused(
                    f"the signal dictionary {element.dictionary!r} has no entry {one.name!r}",
                    hint=suggestion(one.name, entries),
                )


@dataclass(frozen=True)
class _Inside:
    """The file that is being unfolded, and those around it."""

    package: Package
    name: str
    description: SspDescription
    trail: tuple[tuple[str, str, str], ...]  # package, file, id

    def entered(
        self, package: Package, name: str, id_: str, element: SspElement, description: SspDescription
    ) -> _Inside:
        """One level further down; a system inside itself is refused."""
        step = (str(package.path), name, id_)
        if step in self.trail:
            raise element.place.refused("the system contains itself: the sources are cyclic", hint="break the cycle")
        if len(self.trail) > DEEPEST:
            raise element.place.refused(f"more than {DEEPEST} systems in each other", hint="fewer levels")
        return _Inside(package, name, description, (*self.trail, step))


def _systems(system: SspSystem) -> Iterator[SspSystem]:
    yield system
    for one in system.elements:
        if isinstance(one, SspSystem):
            yield from _systems(one)


def _dictionaries(node: SspNode) -> list[str]:
    found: list[str] = []
    up: SspNode | None = node
    while up is not None:
        if isinstance(up.element, SspSystem):
            found += up.element.dictionaries
        up = up.parent
    return found
