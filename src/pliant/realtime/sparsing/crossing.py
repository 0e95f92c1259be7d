"""Where within a step a condition became true: states that it resets go on from there.

An event takes place at the end of the step in which its condition became true. What reinit sets is late by the share
theta of a step, which a relation lhs < rhs tells by its sides at both ends, G = rhs - lhs:

    theta = G_1 / (G_1 - G_0)      a and b: the smaller share, a or b: the larger one

States are reset where the condition became true, and make the rest of the step with what follows there:

    x* = x_1 - theta (x_1 - x_0),   x*+ = x* with what is reset
    x  = x*+ + theta (x_1 - x_0) + theta tau (f(x*+) - f(x*)) / max(1, 1 - theta tau df_i/dx_i)

the linearly implicit Euler method with the diagonal of df/dx for what the reset changes. So impacts do not add up their
delays; the error that is left is that of a straight line through the step. theta = 0 is the reset at the end of the
step: for clocks, inputs, and conditions that do not come from relations, and in further rounds of events.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pliant.codegen.program import Program, reset_place
from pliant.expr.build import choose, const, div, logical_not, rebuild, sub
from pliant.ir import Action, Graph, Kind, Op
from pliant.sorted_system import SortedSystem

THROUGH = 2.0  # the share of what was true at the beginning already; 0: of what cannot be told


@dataclass(frozen=True)
class Resets:
    """Resets with one condition that relations tell the time of."""

    active: int
    actions: tuple[Action, ...]
    places: tuple[int, ...]  # in x, of what they set
    relations: tuple[int, ...]

    def rows(self, rows: Sequence[int], columns: Sequence[int], n_states: int) -> list[int]:
        """States whose derivatives depend on what is set, by the places of the Jacobian; what is set itself."""
        found = {int(i) for i, j in zip(rows, columns, strict=True) if j in self.places and i < n_states}
        return sorted(found | set(self.places))


def located_resets(s: SortedSystem, program: Program) -> list[Resets]:
    """All of them, in the order of the model."""
    by_condition: dict[int, list[Action]] = {}
    for action in s.events.actions:
        if action.kind == "reset":
            by_condition.setdefault(action.active, []).append(action)
    out = []
    for active, actions in by_condition.items():
        relations = Ages(s, program.graph).relations(active)
        if relations:
            places = [reset_place(program, one)[0] for one in actions]
            out.append(Resets(active, tuple(actions), tuple(places), tuple(sorted(relations))))
    return out


class Ages:
    """For how large a share of the step a condition has been true, as an expression over the model's own.

    ``before``: relation -> expression of rhs - lhs at the beginning of the step.
    """

    def __init__(self, s: SortedSystem, g: Graph) -> None:
        self.s, self.g = s, g
        self.ticks = {one.tick for one in s.events.clocks}
        self.memory = {one.variable: one.expression for one in s.events.memories}

    def relations(self, e: int) -> set[int]:
        """Relations that a condition is made of, behind variables too."""
        node = self.g.nodes[e]
        if node[0] == Op.REL:
            return {node[1]}
        if node[0] == Op.VAR:
            is_condition = node[1] in self.memory and self.s.system.variables[node[1]].is_condition
            return self.relations(self.memory[node[1]]) if is_condition else set()
        below = node[1:] if node[0] in (Op.AND, Op.OR, Op.NOT) else ()
        return set().union(*(self.relations(a) for a in below))

    def of(self, e: int, before: Mapping[int, int], negated: bool = False) -> int:
        """The share; above 1: it was true at the beginning."""
        g, node = self.g, self.g.nodes[e]
        op = node[0]
        if op == Op.NOT:
            return self.of(node[1], before, not negated)
        if op in (Op.AND, Op.OR):
            parts = [self.of(a, before, negated) for a in node[1:]]
            if (op == Op.AND) != negated:
                return rebuild(g, Op.MIN, tuple(parts))
            true = [logical_not(g, a) if negated else a for a in node[1:]]
            parts = [choose(g, holds, one, const(g, 0.0)) for holds, one in zip(true, parts, strict=True)]
            return rebuild(g, Op.MAX, tuple(parts))
        if op == Op.REL:
            return self._of_relation(node[1], before[node[1]], negated)
        if op == Op.CONST:
            return const(g, THROUGH)
        if op == Op.VAR:
            variable = self.s.system.variables[node[1]]
            if node[1] in self.memory and variable.is_condition:
                return self.of(self.memory[node[1]], before, negated)
            if node[1] not in self.ticks and variable.kind in (Kind.BEFORE, Kind.PARAMETER, Kind.CONSTANT):
                return const(g, THROUGH)
        return const(g, 0.0)

    def _of_relation(self, k: int, begin: int, negated: bool) -> int:
        g, relation = self.g, self.s.relations[k]
        end = sub(g, relation.rhs, relation.lhs)
        zero = const(g, 0.0)
        was = rebuild(g, Op.LT if relation.strict else Op.LE, (zero, begin))
        share = div(g, end, sub(g, end, begin))
        return choose(g, logical_not(g, was) if negated else was, const(g, THROUGH), share)


def share_of(g: Graph, age: int) -> int:
    """theta of an age: 0 where the condition has become true in no way that can be told."""
    zero, one = const(g, 0.0), const(g, 1.0)
    return choose(g, rebuild(g, Op.LE, (age, one)), rebuild(g, Op.MAX, (age, zero)), zero)
