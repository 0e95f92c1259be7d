"""States that come to rest at a level: friction that sticks, valves and pistons at their stops.

A step ends beyond the level x_i = c where the model locks (``w > 0`` becomes false, then der(w) = 0), by up to the
change of one step. A solver places its event at the level itself; a step of fixed length would keep the remainder, and
whatever integrates x_i creeps. So where a state has crossed a level that a relation compares it with, and does not move
in one of the next steps, it is put onto the level:

    crossed in one of the last two steps, |dx_i| <= 1e-9 |x_i - c|   =>   x_i := c
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pliant.codegen.plan import inner_nodes, nodes_of, targets_of
from pliant.codegen.program import Newton, Program
from pliant.expr.build import const, div, neg, reachable, sub, substitute, var, variables_of
from pliant.expr.evaluate import evaluate
from pliant.ir import Graph, Kind, Op
from pliant.sorted_system import SortedSystem

WINDOW = 2  # steps between the crossing and the rest: one, and one more for chains through pre(v)
STILL = 1e-9  # change of one step, as a share of the distance from the level


@dataclass(frozen=True)
class Rest:
    """A state and the relation that compares it with a level."""

    place: int  # in x
    variable: int
    relation: int


def rests(s: SortedSystem, program: Program) -> list[Rest]:
    """Pairs of states and relations of a state alone with parameters; only where the state's equation can switch."""
    place = {v: i for i, v in enumerate(program.x[: program.n_states])}
    found: dict[tuple[int, ...], Rest] = {}
    switched: dict[int, bool] = {}
    for k, r in enumerate(s.relations):
        if any(s.system.graph.nodes[i][0] in (Op.TIME, Op.REL) for i in reachable(s.system.graph, [r.lhs, r.rhs])):
            continue
        used = variables_of(s.system.graph, r.lhs) | variables_of(s.system.graph, r.rhs)
        states = [v for v in used if v in place]
        others = [v for v in used if v not in place]
        if len(states) != 1 or any(s.system.variables[v].kind not in (Kind.PARAMETER, Kind.CONSTANT) for v in others):
            continue
        i = place[states[0]]
        if i not in switched:
            switched[i] = _switches(s, program, i)
        if switched[i]:
            sides = (i, *sorted((r.lhs, r.rhs)))
            found.setdefault(sides, Rest(i, states[0], k))
    return list(found.values())


def _switches(s: SortedSystem, program: Program, i: int) -> bool:
    """Does the equation of x_i depend on relations or discrete variables?"""
    g = s.system.graph
    definer = {v: one for one in program.statements for v in targets_of(one)}
    discrete = {v for one in s.events.memories for v in (one.variable, one.before)}
    seen: set[int] = set()
    stack = [program.f[i]]
    while stack:
        for node in reachable(g, [stack.pop()]):
            if g.nodes[node][0] in (Op.REL, Op.IF):
                return True
            if g.nodes[node][0] != Op.VAR:
                continue
            v = g.nodes[node][1]
            if v in discrete:
                return True
            if v in definer and id(definer[v]) not in seen:
                one = definer[v]
                seen.add(id(one))
                stack += inner_nodes(one) if isinstance(one, Newton) else nodes_of(one)
    return False


def level(s: SortedSystem, rest: Rest, values: Mapping[int, float]) -> float | None:
    """The level as a number, with these parameters; None where the relation is not linear in the state."""
    r = s.relations[rest.relation]
    sides = [
        evaluate(s.system.graph, [r.lhs, r.rhs], {**values, rest.variable: at}, 0.0, (), s.system.tables, s.relations)
        for at in (0.0, 1.0, 3.0)
    ]
    zero, one, three = (a - b for a, b in sides)
    slope = one - zero
    if not slope or abs(three - zero - 3.0 * slope) > 1e-9 * (abs(zero) + abs(three)):
        return None
    return -zero / slope


def level_expression(s: SortedSystem, g: Graph, rest: Rest) -> int:
    """The level as an expression of parameters, in a graph over that of ``s``."""
    r = s.relations[rest.relation]
    at = var(g, rest.variable)
    zero, one = (sub(g, *substitute(g, [r.lhs, r.rhs], {at: const(g, value)})) for value in (0.0, 1.0))
    return neg(g, div(g, zero, sub(g, one, zero)))
