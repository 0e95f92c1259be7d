"""The last pass: drop what no equation reaches, and number the rest without gaps.

Branches that are never taken, arguments that a table does not use, and products with zero leave relations, discrete
symbols and derivatives behind. A derivative without an equation would make its variable a state; a relation that
nothing reads would stop the integration for nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from pliant.expr.build import substitute
from pliant.ir import PLAIN, Equation, Graph, Kind, Op, Relation, System, renewed


def marked(g: Graph, relations: list[Relation], roots: Iterable[int]) -> bytearray:
    """One byte per node: 1 if it stands under a root, also through a relation."""
    nodes = g.nodes
    marks = bytearray(len(nodes))
    for root in roots:
        marks[root] = 1
    for number in range(len(nodes) - 1, -1, -1):
        if not marks[number]:
            continue
        node = nodes[number]
        op = node[0]
        if op > Op.ARG:
            for operand in node[1 + PLAIN.get(op, 0) :]:
                marks[operand] = 1
        elif op == Op.REL:
            relation = relations[node[1]]
            marks[relation.lhs] = marks[relation.rhs] = 1
    return marks


def roots_of(system: System) -> list[int]:
    """Everything in the system that is an expression, but assertions."""
    found = [equation.residual for equation in system.equations]
    found += [equation.residual for equation in system.initial_equations]
    for variable in system.variables:
        for e in (variable.start, variable.nominal, variable.min, variable.max, variable.binding):
            if e is not None:
                found.append(e)
    return found + system.events.expressions()


def read_variables(system: System, marks: bytearray) -> set[int]:
    """Variables that stand under the marked nodes."""
    return {node[1] for node, mark in zip(system.graph.nodes, marks, strict=True) if mark and node[0] == Op.VAR}


def drop_unused(system: System, unwanted: set[int]) -> None:
    """Remove these variables and all relations that nothing reads."""
    g = system.graph
    if not unwanted and not system.relations:
        return
    shown = [*system.events.in_messages(), *(e for one in system.checks for e in one.expressions())]
    marks = marked(g, system.relations, [*roots_of(system), *shown])
    read = {node[1] for node, mark in zip(g.nodes, marks, strict=True) if mark and node[0] == Op.REL}
    if not unwanted and len(read) == len(system.relations):
        return
    new_variable, kept = _numbering(len(system.variables), unwanted)
    new_relation, kept_relations = _numbering(len(system.relations), set(range(len(system.relations))) - read)
    leaf: dict[int, int] = {}
    for number, node in list(enumerate(g.nodes)):
        if node[0] == Op.VAR and node[1] in new_variable:
            leaf[number] = g.intern((Op.VAR, new_variable[node[1]]))
        elif node[0] == Op.REL and node[1] in new_relation:
            leaf[number] = g.intern((Op.REL, new_relation[node[1]]))
    memo: dict[int, int] = {}

    def new(e: int) -> int:
        return substitute(g, (e,), leaf, memo)[0]

    system.variables = [system.variables[k] for k in kept]
    system.relations = [system.relations[k] for k in kept_relations]
    system.derivative = {new_variable[v]: new_variable[d] for v, d in system.derivative.items() if d not in unwanted}
    for equations in (system.equations, system.initial_equations):
        for k, one in enumerate(equations):
            target = new_variable[one.target] if one.target >= 0 else -1
            equations[k] = replace(one, residual=new(one.residual), target=target)
    system.relations = [replace(one, lhs=new(one.lhs), rhs=new(one.rhs)) for one in system.relations]
    system.checks = [one.rewritten(new) for one in system.checks]
    system.variables = [renewed(one, new) for one in system.variables]
    system.events = system.events.rewritten(new, lambda v: new_variable[v])


def _numbering(n: int, dropped: set[int]) -> tuple[dict[int, int], list[int]]:
    kept = [k for k in range(n) if k not in dropped]
    return {old: new for new, old in enumerate(kept)}, kept


def unread(system: System) -> tuple[set[int], set[int]]:
    """Derivatives and discrete symbols without expression that no equation reads; variables that equations read."""
    equations: list[Equation] = [*system.equations, *system.initial_equations]
    roots = [equation.residual for equation in equations]
    for variable in system.variables:
        if variable.kind == Kind.UNKNOWN and variable.start is not None:
            roots.append(variable.start)
        if variable.binding is not None:
            roots.append(variable.binding)
    roots += system.events.expressions()
    held = {one.variable for one in system.events.memories}
    read = read_variables(system, marked(system.graph, system.relations, roots))
    unwanted = {
        number
        for number, variable in enumerate(system.variables)
        if number not in read
        and number not in held
        and (variable.kind == Kind.DERIVATIVE or (variable.kind == Kind.DISCRETE and variable.binding is None))
    }
    return unwanted, read
