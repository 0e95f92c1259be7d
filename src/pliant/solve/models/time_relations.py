"""Relations that time drives: a carrier against a level, the end of a pulse. They switch as often as the model says.

A state whose derivative reads parameters and time only, and that events at most reset (an integrator with reset), is
a carrier, too.
"""

from __future__ import annotations

from pliant.codegen.plan import inner_nodes, nodes_of
from pliant.codegen.program import Newton, Program, reset_place
from pliant.expr.build import reachable
from pliant.ir import Kind, Op

TIME, MOVING = 1, 2  # reads time; reads a state, an input or the unknowns of a loop
CARRIER, SWITCHED = 4, 8  # reads a state that only time moves; reads relations or discrete variables


class _Reading:
    """What expressions read, with some states as carriers."""

    def __init__(self, program: Program, carriers: set[int]) -> None:
        s = program.sorted
        self.g, self.program = s.system.graph, program
        self.mask = dict.fromkeys((*program.x, *program.u), MOVING)
        for v, one in enumerate(s.system.variables):
            if one.kind == Kind.SELECTION:
                self.mask[v] = MOVING
            elif one.kind in (Kind.DISCRETE, Kind.BEFORE):
                self.mask[v] = SWITCHED
        self.mask |= dict.fromkeys(carriers, CARRIER)
        self._follow_statements()

    def of(self, e: int) -> int:
        """All that an expression reads."""
        found = 0
        for i in reachable(self.g, [e]):
            node = self.g.nodes[i]
            if node[0] == Op.TIME:
                found |= TIME
            elif node[0] == Op.REL:
                found |= SWITCHED
            elif node[0] == Op.VAR:
                found |= self.mask.get(node[1], 0)
        return found

    def _follow_statements(self) -> None:
        for statement in self.program.statements:
            nodes = inner_nodes(statement) if isinstance(statement, Newton) else nodes_of(statement)
            found = 0
            for e in nodes:
                found |= self.of(e)
            if hasattr(statement, "target"):
                self.mask[statement.target] = found
            else:
                for target in statement.targets:
                    for v in target if isinstance(target, list) else [target]:
                        self.mask[v] = found | MOVING


def _carriers(program: Program) -> set[int]:
    """States that are reset by events, and by which time alone moves them in between."""
    resets: dict[int, list[int]] = {}
    for action in program.sorted.events.actions:
        if action.kind == "reset":
            place, value = reset_place(program, action)
            resets.setdefault(place, []).append(value)
    plain = _Reading(program, set())
    found = {i for i in resets if not plain.of(program.f[i]) & (MOVING | SWITCHED)}
    reading = _Reading(program, {program.x[i] for i in found})
    return {program.x[i] for i in found if not any(reading.of(value) & MOVING for value in resets[i])}


def driven_by_time(program: Program) -> dict[int, bool]:
    """Number of a relation -> is it time alone? Others have a side of time or of a carrier.

    Discrete variables count for neither: they change at events only.
    """
    reading = _Reading(program, _carriers(program))
    out = {}
    for k, relation in enumerate(program.sorted.relations):
        left, right = (reading.of(side) & ~SWITCHED for side in (relation.lhs, relation.rhs))
        if TIME in (left, right) or CARRIER in (left, right):
            out[k] = not (left | right) & (MOVING | CARRIER)
    return out
