"""What a system comes to: wires between components, inputs from outside, values of parameters, outputs to the outside.

Values at connectors of systems go along the connections to components, and there before what the component's own
bindings say, because a connection is where the value comes from. An input whose connections begin at a connector of a
system, and nowhere before that, is an input of the whole system.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from pliant.cosim.ssp.bindings import Assigned, Assignments, Unused, apply_bindings, user_values
from pliant.cosim.ssp.flow import (
    INPUTS,
    PARAMETERS,
    Flow,
    FlowPoint,
    Way,
    converted,
    element_name,
    quantity_of,
    read_flow,
)
from pliant.cosim.ssp.transform import Quantity
from pliant.cosim.ssp.tree import SspNode
from pliant.cosim.ssp.variables import ComponentPort, FmuPorts


@dataclass
class Resolved:
    """Everything that the files determine."""

    root: SspNode
    components: list[SspNode]
    wires: list[Way] = field(default_factory=list)  # between components, while the system runs
    links: list[Way] = field(default_factory=list)  # calculated parameters to parameters, once at the start
    inputs: dict[str, list[Way]] = field(default_factory=dict)  # by the full name of a system's connector
    outputs: dict[str, Way] = field(default_factory=dict)  # the same; where they come from
    values: dict[SspNode, dict[str, Assigned]] = field(default_factory=dict)  # of components, by variable
    unused: list[Unused] = field(default_factory=list)


def resolve(root: SspNode) -> Resolved:
    """From the tree to its meaning."""
    assignments, unused = apply_bindings(root)
    for node, given in assignments.items():  # structural parameters change the sizes of arrays
        if isinstance(node.variables, FmuPorts):
            node.variables = node.variables.resized({name: one.value for name, one in given.items()})
    flow = read_flow(root)
    components = [node for node in root.all() if node.component is not None]
    found = Resolved(root, components, unused=unused)
    for node in components:
        found.values[node] = dict(assignments.get(node, {}))
        for point in _targets(node, flow):
            _one_target(found, flow, assignments, point)
    order = {id(edge.connection): k for k, edge in enumerate(flow.edges.values())}
    for ways in (found.wires, found.links):  # as in the files
        ways.sort(key=lambda way: order[id(way.edges[0].connection)])
    for node in root.all():
        if node.system is not None:
            for one in node.element.connectors.values():
                point = FlowPoint(node, one.name)
                way = flow.source(point) if one.kind not in INPUTS else None
                if way is not None and way.source.node.component is not None:
                    found.outputs[point.full] = converted(way)
    return found


def _targets(node: SspNode, flow: Flow) -> list[FlowPoint]:
    """Points of a component that connections lead to."""
    return [point for point in flow.edges if point.node is node]


def _one_target(found: Resolved, flow: Flow, assignments: Assignments, point: FlowPoint) -> None:
    way = flow.source(point)
    assert way is not None
    variable = _variable(point)
    is_parameter = _kind(point, variable) in PARAMETERS
    if way.source.node.component is not None:
        way = converted(way)
        if is_parameter:
            found.links.append(way)
        else:
            found.wires.append(way)
        return
    value = _value_on(way, assignments)
    if value is not None:
        found.values[point.node][element_name(point.name, point.index)] = value
    if not way.source.dictionary:
        found.inputs.setdefault(way.source.full, []).append(converted(way))


def _value_on(way: Way, assignments: Assignments) -> Assigned | None:
    """The value of the outermost connector on the way that has one, as it arrives."""
    points = [way.source, *(edge.target for edge in way.edges[:-1])]
    for k, point in enumerate(points):
        given = assignments.get(point.node, {})
        value = given.get(element_name(point.name, point.index))
        if value is None and point.index and point.name in given:
            value = given[point.name].element(point.index)
        if value is None or point.dictionary:
            continue
        rest = converted(Way(point, way.target, way.edges[k:]), value.quantity)
        return value.through(rest.conversion, Quantity(unit=quantity_of(way.target).unit))
    return None


def with_values(found: Resolved, values: dict[str, object]) -> dict[str, Assigned]:
    """What a user's values of system connectors make of components: by full name."""
    assignments = user_values(found.root, values)
    out: dict[str, Assigned] = {}
    for ways in found.inputs.values():
        for way in ways:
            value = _value_on(way, assignments)
            if value is not None:
                out[way.target.full] = value
    return out


def _variable(point: FlowPoint) -> ComponentPort | None:
    return point.node.variables.find(point.name) if point.node.variables is not None else None


def _kind(point: FlowPoint, variable: ComponentPort | None) -> str:
    connector = point.node.element.connectors.get(point.name)
    return variable.causality if variable is not None else connector.kind if connector is not None else "input"
