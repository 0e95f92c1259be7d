"""Decisions made with integers, carried out with symbols: incidence, coefficients, solving, relaxation."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pliant.expr.build import add, const, div, mul, neg, operands, reachable, sub, substitute, value_of, var
from pliant.expr.differentiate import gradient
from pliant.expr.evaluate import evaluate
from pliant.ir import Graph, Kind, Op, Variable

# solvability of an equation for an unknown, by its coefficient
LITERAL, PARAMETER, INVERSE, VARIABLE, NONLINEAR = 1, 2, 3, 4, 5  # INVERSE: by one that a function declares
SMALLEST = 1e-12  # a literal coefficient below this is no pivot


def incidence(g: Graph, e: int, is_unknown: Callable[[int], bool], under: list[int] | None = None) -> list[int]:
    """Unknowns of an expression, ascending; ``under``: the nodes below it, if they are known already."""
    nodes = g.nodes
    under = reachable(g, (e,)) if under is None else under
    return sorted({nodes[i][1] for i in under if nodes[i][0] == Op.VAR and is_unknown(nodes[i][1])})


def is_constant_kind(kind: int) -> bool:
    """Constant during a simulation."""
    return kind in (Kind.PARAMETER, Kind.CONSTANT)


# an unknown below one of these may matter although its derivative is zero
_STEPS = frozenset({Op.LT, Op.LE, Op.EQ, Op.NE, Op.AND, Op.OR, Op.NOT, Op.SIGN, Op.FLOOR, Op.CEIL})


def stepwise(g: Graph, e: int, is_unknown: Callable[[int], bool]) -> set[int]:
    """Unknowns on which an expression depends by steps: in conditions, sign, floor, ceil."""
    nodes = g.nodes
    steps = [i for i in reachable(g, (e,)) if nodes[i][0] in _STEPS]
    if not steps:
        return set()
    return {nodes[i][1] for i in reachable(g, steps) if nodes[i][0] == Op.VAR and is_unknown(nodes[i][1])}


class Coefficients:
    """Partial derivatives of the final equations by their unknowns, and how safe it is to divide by them."""

    def __init__(
        self,
        g: Graph,
        variables: Sequence[Variable],
        is_unknown: Callable[[int], bool],
        numbers: Mapping[int, float] | None = None,
    ) -> None:
        """``numbers``: values of the parameters; an expression of parameters that is zero now is no pivot."""
        self.g = g
        self.variables = variables
        self.is_unknown = is_unknown
        self.numbers = numbers
        self._number: dict[int, float] = {}
        self._rank: dict[int, tuple[bool, frozenset[int]]] = {}

    def of(self, residual: int) -> dict[int, int]:
        """Unknown -> coefficient; 0 for unknowns that stand there without a derivative."""
        under = reachable(self.g, (residual,))
        row = gradient(self.g, residual, lambda v: v >= 0 and self.is_unknown(v), under)
        zero = const(self.g, 0.0)
        for v in incidence(self.g, residual, self.is_unknown, under):
            row.setdefault(v, zero)
        return row

    def contents(self, e: int) -> tuple[bool, frozenset[int]]:
        """(constant during a simulation, unknowns inside)."""
        found = self._rank.get(e)
        if found is None:
            nodes = self.g.nodes
            constant = True
            unknowns: set[int] = set()
            for i in reachable(self.g, (e,)):
                op = nodes[i][0]
                if op in (Op.TIME, Op.REL):
                    constant = False
                elif op == Op.VAR:
                    v = nodes[i][1]
                    if self.is_unknown(v):
                        unknowns.add(v)
                        constant = False
                    elif not is_constant_kind(self.variables[v].kind):
                        constant = False
            found = self._rank[e] = (constant, frozenset(unknowns))
        return found

    def solvability(self, v: int, coefficient: int) -> int:
        """LITERAL, PARAMETER, VARIABLE or NONLINEAR."""
        value = value_of(self.g, coefficient)
        if value is not None:
            return LITERAL if abs(value) > SMALLEST else NONLINEAR
        constant, unknowns = self.contents(coefficient)
        if constant:
            return PARAMETER if self._value(coefficient) else VARIABLE
        return NONLINEAR if v in unknowns else VARIABLE

    def _value(self, e: int) -> float:
        """Present value of an expression of parameters; 0 where it is not defined."""
        if self.numbers is None:
            return 1.0
        found = self._number.get(e)
        if found is None:
            (found,) = evaluate(self.g, [e], self.numbers)
            found = self._number[e] = found if math.isfinite(found) else 0.0
        return found


def solve_linear(g: Graph, residual: int, v: int, coefficient: int) -> int:
    """The expression for v from an equation linear in v: v = -residual(v = 0) / coefficient."""
    (rest,) = substitute(g, [residual], {var(g, v): const(g, 0.0)})
    return neg(g, div(g, rest, coefficient))


def without_denominator(g: Graph, residual: int, v: int) -> tuple[int, int] | None:
    """(a, a + b d) for a residual a/d + b in which v stands in the denominator d alone; None for others.

    Where a is not zero the solutions are the same, but a guess v with d = 0 is as good as any other.
    """
    nodes = g.nodes
    place = var(g, v)
    holds = {place}
    for i in reachable(g, (residual,)):  # operands come first
        if not holds.isdisjoint(operands(g, i)):
            holds.add(i)
    sign, rest, i = 1, const(g, 0.0), residual
    while nodes[i][0] in (Op.ADD, Op.SUB, Op.NEG):
        op, *terms = nodes[i]
        inside = [term in holds for term in terms]
        if sum(inside) != 1:
            return None
        if op == Op.NEG:
            sign, i = -sign, terms[0]
            continue
        other = terms[inside.index(False)]
        plus = -sign if op == Op.SUB and inside[0] else sign
        rest = add(g, rest, other) if plus > 0 else sub(g, rest, other)
        sign, i = (-sign if op == Op.SUB and inside[1] else sign), terms[inside.index(True)]
    if nodes[i][0] != Op.DIV or nodes[i][1] in holds:
        return None
    a = nodes[i][1] if sign > 0 else neg(g, nodes[i][1])
    return a, add(g, a, mul(g, rest, nodes[i][2]))


@dataclass
class Relaxed:
    """A linear loop after symbolic elimination: ``matrix z = right`` for the tears z."""

    auxiliaries: list[int]  # every entry that elimination changed, in order
    matrix: list[list[int]]
    right: list[int]


def relax(
    g: Graph,
    order: Sequence[tuple[int, int]],
    rows: Mapping[int, Mapping[int, int]],
    right: Mapping[int, int],
    tears: Sequence[int],
    residuals: Sequence[int],
) -> Relaxed:
    """Gaussian elimination without pivoting in the order that tearing gives (the lecture's relaxation algorithm).

    ``order`` holds (equation, unknown) causally; ``rows[e]`` are the coefficients of equation e, ``right[e]`` its right
    side. Only the columns of the tears fill in; every changed entry is a node of its own, nothing is substituted.
    """
    a = {e: dict(row) for e, row in rows.items()}
    b = dict(right)
    auxiliaries: list[int] = []
    zero = const(g, 0.0)
    later = [*(e for e, _ in order), *residuals]
    users: dict[int, list[int]] = {}
    for e in later:
        for v in rows[e]:
            users.setdefault(v, []).append(e)
    place = {e: k for k, e in enumerate(later)}
    for k, (e, v) in enumerate(order):
        pivot = a[e][v]
        for other in users[v]:
            if place[other] <= k:
                continue
            factor = div(g, a[other].pop(v), pivot)
            for z in tears:
                if z in a[e]:
                    a[other][z] = sub(g, a[other].get(z, zero), mul(g, factor, a[e][z]))
                    auxiliaries.append(a[other][z])
            if b[e] != zero:
                b[other] = sub(g, b[other], mul(g, factor, b[e]))
                auxiliaries.append(b[other])
    matrix = [[a[e].get(z, zero) for z in tears] for e in residuals]
    return Relaxed(auxiliaries, matrix, [b[e] for e in residuals])
