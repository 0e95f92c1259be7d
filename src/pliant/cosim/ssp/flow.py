"""Where values come from: the connections of all systems as a graph, followed from every input to its source.

A point is a connector of an element, or an entry of a signal dictionary, element by element where it is an array. Each
point has one source at most. From the inside, inputs and parameters of a system are sources and its outputs targets;
from the outside it is the other way around. Start and end of a connection do not tell its direction.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product

from pliant.cosim.conversion import SAME, Conversion
from pliant.cosim.ssp.bindings import quantity_at
from pliant.cosim.ssp.content import Connector, Dictionary, SspConnection, SspReference
from pliant.cosim.ssp.transform import Quantity, step
from pliant.cosim.ssp.tree import SspNode
from pliant.cosim.ssp.units import unit_of
from pliant.solve.names import suggestion

INPUTS = ("input", "parameter", "structuralParameter")
OUTPUTS = ("output", "calculatedParameter", "constant", "local")
BOTH = ("inout", "unspecified")
PARAMETERS = ("parameter", "structuralParameter")
#: kinds that stay what they are after the start
FIXED = ("parameter", "structuralParameter", "calculatedParameter", "constant")
MOST_ELEMENTS = 10**6


@dataclass(frozen=True)
class FlowPoint:
    """A connector (``node``) or an entry of a signal dictionary (``node`` is the system that has it)."""

    node: SspNode
    name: str
    index: tuple[int, ...] = ()
    dictionary: str = ""

    @property
    def full(self) -> str:
        """Its name from the top."""
        return self.node.named(element_name(self.name, self.index))


def element_name(name: str, index: tuple[int, ...]) -> str:
    """x, or x[1,2]"""
    return f"{name}[{','.join(map(str, index))}]" if index else name


@dataclass(frozen=True)
class Edge:
    """One way from a point to the next."""

    source: FlowPoint
    target: FlowPoint
    connection: SspConnection
    source_at: Quantity | None = None  # at the reference to a signal dictionary, where the connection begins
    target_at: Quantity | None = None


@dataclass(frozen=True)
class Way:
    """From a source to a target through any number of systems; ``edges`` in the direction of the values."""

    source: FlowPoint
    target: FlowPoint
    edges: tuple[Edge, ...]
    conversion: Conversion = SAME


@dataclass
class _End:
    """One end of a connection as it was found."""

    node: SspNode
    name: str
    kind: str
    own: bool  # a connector of the system itself
    indices: tuple[int, ...]
    dictionary: tuple[SspNode, Dictionary] | None = None
    connector: Connector | None = None

    @property
    def gives(self) -> bool:
        """Can it be a source here?"""
        return self.kind in BOTH or self.kind in (INPUTS if self.own else OUTPUTS)

    @property
    def takes(self) -> bool:
        """Can it be a target here?"""
        return self.kind in BOTH or self.kind in (OUTPUTS if self.own else INPUTS)

    @property
    def at_reference(self) -> Quantity | None:
        """What the connector of a reference to a signal dictionary says."""
        return None if self.dictionary is None else quantity_at(self.node, self.name)

    def points(self, shape: tuple[int, ...]) -> list[FlowPoint]:
        """Its elements, restricted to the indices of the connection."""
        every = [self.indices] if self.indices else list(product(*(range(1, n + 1) for n in shape)))
        if self.dictionary is not None:
            home, found = self.dictionary
            return [FlowPoint(home, self.name, one, found.name) for one in every]
        return [FlowPoint(self.node, self.name, one) for one in every]


@dataclass
class Flow:
    """The graph."""

    edges: dict[FlowPoint, Edge] = field(default_factory=dict)  # by target

    def source(self, target: FlowPoint) -> Way | None:
        """The way to a point from where its value comes; None: it has no source."""
        edges: list[Edge] = []
        seen = {target}
        at = target
        while at in self.edges:
            edge = self.edges[at]
            edges.append(edge)
            at = edge.source
            if at in seen:
                raise edge.connection.place.refused(
                    f"the connections go in a circle: {' -> '.join(one.source.full for one in edges[::-1])}",
                    hint="a value must come from an output: remove one of these connections",
                )
            seen.add(at)
        if not edges:
            return None
        edges.reverse()
        return Way(at, target, tuple(edges))


def read_flow(root: SspNode) -> Flow:
    """All connections of all systems."""
    flow = Flow()
    shapes = _Shapes()
    for node in root.all():
        for one in node.connections:
            for edge in _edges(node, one, shapes):
                _add(flow, edge)
    return flow


def _add(flow: Flow, edge: Edge) -> None:
    before = flow.edges.get(edge.target)
    if before is not None:
        raise edge.connection.place.refused(
            f"{edge.target.full} has two sources: {edge.source.full}, and {before.source.full} in line "
            f"{before.connection.place.line}",
            hint="an input has one source: leave one of the connections",
        )
    flow.edges[edge.target] = edge


class _Shapes:
    """Dimensions of connectors, as far as they are known."""

    def of(self, end: _End) -> tuple[int, ...] | None:
        """() for a scalar; None: not known."""
        if end.indices:
            return None
        if end.node.variables is not None and end.node.component is not None:
            variable = end.node.variables.find(end.name)
            return None if variable is None else variable.shape
        connector = end.connector
        if end.dictionary is not None and (connector is None or not connector.dimensions):
            connector = end.dictionary[1].entries.get(end.name)
        if connector is None or not connector.dimensions:
            return ()
        sizes = [one.size for one in connector.dimensions]
        return tuple(one for one in sizes if one is not None) if None not in sizes else None


def _edges(node: SspNode, one: SspConnection, shapes: _Shapes) -> Iterator[Edge]:
    ends = [
        _found(node, name, connector, one, indices)
        for (name, connector), indices in ((one.start, one.start_indices), (one.end, one.end_indices))
    ]
    source, target = _directed(ends, one)
    _check_kinds(source, target, one)
    a, b = shapes.of(source), shapes.of(target)
    for end, shape, indices in ((source, a, source.indices), (target, b, target.indices)):
        _check_indices(end, indices, one, shape)
    one_element = bool(source.indices or target.indices)
    shape_a = () if source.indices else a if a is not None else (() if one_element else b or ())
    shape_b = () if target.indices else b if b is not None else (() if one_element else a or ())
    if shape_a != shape_b:
        raise one.place.refused(
            f"sizes differ: {source.name} is {_size(shape_a)}, {target.name} is {_size(shape_b)}",
            hint="connect arrays of the same size, or single elements by startIndices and endIndices",
        )
    points = source.points(shape_a), target.points(shape_b)
    if len(points[0]) > MOST_ELEMENTS:
        raise one.place.refused(f"it connects more than {MOST_ELEMENTS} elements", hint="smaller arrays")
    for begin, last in zip(*points, strict=True):
        yield Edge(begin, last, one, source.at_reference, target.at_reference)


def _size(shape: Sequence[int]) -> str:
    return " x ".join(map(str, shape)) or "a scalar"


def _check_indices(end: _End, indices: tuple[int, ...], one: SspConnection, _shape: object) -> None:
    if not indices:
        return
    variable = end.node.variables.find(end.name) if end.node.variables is not None else None
    sizes: list[int | None] = list(variable.shape) if variable is not None else []
    if variable is None and end.connector is not None:
        sizes = [dimension.size for dimension in end.connector.dimensions]
    fits = len(sizes) == len(indices) and all(n is None or k <= n for k, n in zip(indices, sizes, strict=True))
    if sizes and not fits:
        shown = " x ".join("?" if n is None else str(n) for n in sizes)
        raise one.place.refused(
            f"{end.name} has no element {', '.join(map(str, indices))}: its size is {shown}",
            hint="indices are counted from 1",
        )


def _found(node: SspNode, name: str, connector: str, one: SspConnection, indices: tuple[int, ...]) -> _End:
    """One end of a connection."""
    if not name:
        own = node.element.connectors.get(connector)
        if own is None:
            raise one.place.refused(
                f"the system has no connector {connector!r}", hint=suggestion(connector, node.element.connectors)
            )
        return _End(node, connector, own.kind, True, indices, connector=own)
    child = node.children.get(name)
    if child is None:
        raise one.place.refused(f"there is no element {name!r} in this system", hint=suggestion(name, node.children))
    found = child.element.connectors.get(connector)
    if isinstance(child.element, SspReference):
        home = child.dictionary(child.element.dictionary)
        assert home is not None  # checked when the tree was built
        if found is None and connector not in home[1].entries:
            raise one.place.refused(
                f"{name!r} has no connector {connector!r}", hint=suggestion(connector, home[1].entries)
            )
        kind = "inout" if found is None else found.kind
        return _End(child, connector, kind, False, indices, home, found)
    variable = child.variables.find(connector) if child.variables is not None else None
    if child.variables is not None and variable is None:
        raise one.place.refused(
            f"the model of {name!r} has no variable {connector!r}", hint=suggestion(connector, child.variables.names())
        )
    unknown = child.component is not None and child.variables is None and not child.element.connectors
    if found is None and unknown:
        return _End(child, connector, "unspecified", False, indices)
    if found is None and variable is None:
        raise one.place.refused(
            f"{name!r} has no connector {connector!r}", hint=suggestion(connector, child.element.connectors)
        )
    kind = found.kind if found is not None else variable.causality if variable is not None else ""
    if variable is not None and (variable.causality in INPUTS) != (kind in INPUTS) and kind not in BOTH:
        raise one.place.refused(
            f"{name}.{connector} is declared as {kind}, but in its model it is {variable.causality}",
            hint="correct the kind of the connector",
        )
    return _End(child, connector, kind, False, indices, connector=found)


def _directed(ends: list[_End], one: SspConnection) -> tuple[_End, _End]:
    """Source and target."""
    a, b = ends
    ways = [(x, y) for x, y in ((a, b), (b, a)) if x.gives and y.takes]
    if len(ways) == 1:
        return ways[0]
    told = [f"{'the system itself' if end.own else end.node.element.name}.{end.name} ({end.kind})" for end in ends]
    if ways:
        raise one.place.refused(
            f"its direction is not determined: {told[0]} and {told[1]}",
            hint="give one of them the kind input or output",
        )
    what = "take a value" if a.takes and b.takes else "give a value"
    raise one.place.refused(f"both ends {what} here: {told[0]} and {told[1]}", hint="connect an output to an input")


def _check_kinds(source: _End, target: _End, one: SspConnection) -> None:
    """What varies cannot go to what does not (SSP, Allowed Connections)."""
    if target.kind in FIXED and source.kind not in (*FIXED, *BOTH):
        raise one.place.refused(
            f"{source.name} ({source.kind}) may change in time, {target.name} ({target.kind}) may not",
            hint="connect a parameter, or make the target an input",
        )
    if target.kind == "structuralParameter" and source.kind == "calculatedParameter":
        raise one.place.refused(
            f"{target.name} gives the size of arrays and cannot be calculated", hint="give it a value by a binding"
        )


# ------------------------------------------------------------------------------------------------- values on their way


def quantity_of(point: FlowPoint) -> Quantity:
    """What is known about values at a point."""
    if point.dictionary:
        found = point.node.dictionary(point.dictionary)
        assert found is not None
        scope, entry = found[1].scope, found[1].entries[point.name]
        if entry.type is None:
            return Quantity()
        items = scope.enumerations.get(entry.type.enumeration) or None
        return Quantity(entry.type.base, unit_of(entry.type, scope), items)
    return quantity_at(point.node, point.name)


def converted(way: Way, start: Quantity | None = None) -> Way:
    """The way with what happens to values on it."""
    now = quantity_of(way.source) if start is None else start
    total = SAME
    for edge in way.edges:
        one = edge.connection
        if edge.source_at is not None:
            total = _joined(total, step(now, edge.source_at, one.place, None, False), edge)
            now = now.seen(edge.source_at)
        end = quantity_of(edge.target)
        there = end if edge.target_at is None else end.seen(edge.target_at)
        total = _joined(total, step(now, there, one.place, one.transformation, one.suppress), edge)
        now = now.seen(there)
        if edge.target_at is not None:
            total = _joined(total, step(now, end, one.place, None, False), edge)
            now = now.seen(end)
    return Way(way.source, way.target, way.edges, total)


def _joined(first: Conversion, then: Conversion, edge: Edge) -> Conversion:
    if then.table and not (first.factor == 1.0 and first.offset == 0.0):
        raise edge.connection.place.refused(
            "a table of discrete values comes after a linear transformation", hint="transform the value once"
        )
    return first.then(then)
