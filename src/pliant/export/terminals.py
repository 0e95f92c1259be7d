"""Terminals: connectors of the model itself, as FMI 3.0 writes them.

A component of the model is a connector if its variables are inputs or outputs of the model, or flows. Flows are what
flow balances are made of; connectors inside components are not seen from outside.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import dataclass

from pliant.export.content import attributes, xml_file
from pliant.export.variables import ExportedVariable
from pliant.expr.build import variables_of
from pliant.frontend.flat.model import instance_path
from pliant.sorted_system import ScalarModel


@dataclass(frozen=True)
class Member:
    """One variable of a terminal."""

    variable: str
    name: str  # inside of the terminal
    is_flow: bool = False


@dataclass(frozen=True)
class Terminal:
    """One connector."""

    name: str
    members: tuple[Member, ...]


def flows(system: ScalarModel) -> set[str]:
    """Names of the variables in flow balances."""
    found: set[int] = set()
    for one in system.equations:
        if one.origin == "flow balance":
            found |= variables_of(system.graph, one.residual)
    return {system.variables[v].name for v in found if v >= 0}


def find_terminals(variables: tuple[ExportedVariable, ...], system: ScalarModel) -> tuple[Terminal, ...]:
    """Connectors among the variables, in the order of their first one."""
    flowing = flows(system)
    names = [name for one in variables for name in (one.name, *(other.name for other in one.aliases))]
    causal = {one.name for one in variables if one.causality in ("input", "output")}
    seen = {path for name in names if (name in flowing or name in causal) and "." not in (path := instance_path(name))}
    members: dict[str, list[Member]] = {path: [] for path in map(instance_path, names) if path and path in seen}
    for name in names:
        path = instance_path(name)
        if path in members:
            members[path].append(Member(name, name[len(path) + 1 :], name in flowing))
    return tuple(Terminal(path, tuple(inside)) for path, inside in members.items())


def terminals_file(terminals: tuple[Terminal, ...]) -> bytes:
    """terminalsAndIcons/terminalsAndIcons.xml."""
    root = ET.Element("fmiTerminalsAndIcons", {"fmiVersion": "3.0"})
    parent = ET.SubElement(root, "Terminals")
    for one in terminals:
        element = ET.SubElement(parent, "Terminal", attributes([("name", one.name), ("matchingRule", "plug")]))
        for member in one.members:
            kind = "inflow" if member.is_flow else "signal"
            pairs = [("variableName", member.variable), ("memberName", member.name), ("variableKind", kind)]
            ET.SubElement(element, "TerminalMemberVariable", attributes(pairs))
    return xml_file(root)
