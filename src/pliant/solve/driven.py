"""Relations that time drives: a carrier against a level, the end of a pulse. They switch as often as the model says."""

from __future__ import annotations

from pliant.codegen.plan import inner_nodes, nodes_of
from pliant.codegen.program import Newton, Program
from pliant.expr.build import reachable
from pliant.ir import Kind, Op

TIME, MOVING = 1, 2  # reads time; reads a state, an input or the unknowns of a loop


def driven_by_time(program: Program) -> dict[int, bool]:
    """Number of a relation -> is it time alone? Others have a side of time and one that moves by itself.

    Discrete variables count for neither: they change at events only.
    """
    s, g = program.sorted, program.sorted.system.graph
    variables = s.system.variables
    mask = dict.fromkeys((*program.x, *program.u), MOVING)
    mask |= {v: MOVING for v, one in enumerate(variables) if one.kind == Kind.SELECTION}

    def reads(e: int) -> int:
        found = 0
        for i in reachable(g, [e]):
            node = g.nodes[i]
            if node[0] == Op.TIME:
                found |= TIME
            elif node[0] == Op.VAR:
                found |= mask.get(node[1], 0)
        return found

    for statement in program.statements:
        nodes = inner_nodes(statement) if isinstance(statement, Newton) else nodes_of(statement)
        found = 0
        for e in nodes:
            found |= reads(e)
        if hasattr(statement, "target"):
            mask[statement.target] = found
        else:
            for target in statement.targets:
                for v in target if isinstance(target, list) else [target]:
                    mask[v] = found | MOVING
    out = {}
    for k, relation in enumerate(s.relations):
        sides = reads(relation.lhs), reads(relation.rhs)
        if TIME in sides:
            out[k] = not (sides[0] | sides[1]) & MOVING
    return out
