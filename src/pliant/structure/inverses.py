"""Equations solved by declared inverses of functions (specification 3.6, section 12.8).

    0 = r(x)   with x in one place only, below +, -, * and / by what x is not in, and below y = f(.., u, ..), u = g(..)

is solved from the outside: ``a + b = c`` gives ``a = c - b``, ``f(.., a, ..) = c`` gives ``a = g(.., c, ..)``, until x
is left.
What is not divided by a number or a parameter is not solved so.

The modeller answers for g. It is tried, though: with y = f(u) at some u, f(g(y)) must be y. Where that is the case for
none of them the inverse is not used, and a note says so.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from pliant.expr.build import add, const, div, mul, neg, operands, reachable, sub, substitute, value_of, var
from pliant.expr.evaluate import evaluate, expand_calls
from pliant.ir import Check, Equation, Inverse, Op, Relation, SolvedForm, Span, System

TRIED = (1.37, 12.9, 293.7, 1234.5, -0.73)  # arguments, besides the one near the start values
CLOSE = 1e-3  # backward equations of media hold to about that


class Inverses:
    """Looks for explicit forms of equations; ``point`` holds values near the start, by variable."""

    def __init__(self, system: System, point: Callable[[], Mapping[int, float]], note: Callable[[str], None]) -> None:
        self.system, self.g, self.functions = system, system.graph, system.functions
        self.point, self.note = point, note
        self.has_any = any(one.inverses for one in system.functions)
        self.refused: dict[tuple[int, Inverse], bool] = {}

    def explicit(self, equation: Equation, unknowns: Sequence[int]) -> tuple[SolvedForm, ...]:
        """Forms of an equation, calls expanded."""
        nodes = self.g.nodes
        under = reachable(self.g, (equation.residual,))
        arguments: list[int] = []
        for i in under:
            if nodes[i][0] == Op.CALL:
                for inverse in self.functions[nodes[i][1]].inverses:
                    arguments.append(nodes[i][3 + inverse.argument])
        if not arguments:
            return ()
        below = {nodes[i][1] for i in reachable(self.g, arguments) if nodes[i][0] == Op.VAR}
        found = []
        for v in unknowns:
            form = self._solved(equation, under, v) if v in below else None
            if form is not None:
                found.append(form.rewritten(lambda e: expand_calls(self.g, [e], self.functions)[0]))
        return tuple(found)

    def _solved(self, equation: Equation, under: Sequence[int], v: int) -> SolvedForm | None:
        g, nodes = self.g, self.g.nodes
        leaf = var(g, v)
        holds: set[int] = set()
        for i in under:
            if i == leaf or not holds.isdisjoint(operands(g, i)):
                holds.add(i)
        at, value = equation.residual, const(g, 0.0)
        divisors: list[int] = []
        checks: list[Check] = []
        while at != leaf:
            node = nodes[at]
            inside = [k for k, operand in enumerate(operands(g, at)) if operand in holds]
            if len(inside) != 1:
                return None
            k = inside[0]
            if node[0] == Op.CALL:
                inverse = self._inverse(node, k)
                if inverse is None or not self._holds(node, inverse, equation.span):
                    return None
                given = {g.intern((Op.ARG, i)): e for i, e in enumerate((*node[3:], value))}
                (value,) = substitute(g, [inverse.value], given)
                checks += [one.rewritten(lambda e, given=given: substitute(g, [e], given)[0]) for one in inverse.checks]  # type: ignore[misc]
                at = node[3 + k]
                continue
            undone = self._undone(node, k, value, divisors)
            if undone is None:
                return None
            at, value = node[1 + k], undone
        return SolvedForm(v, value, tuple(divisors), tuple(checks))

    def _undone(self, node: tuple[int, ...], k: int, value: int, divisors: list[int]) -> int | None:
        """The value of operand k of a node that has this value."""
        g = self.g
        if node[0] == Op.NEG:
            return neg(g, value)
        if node[0] not in (Op.ADD, Op.SUB, Op.MUL, Op.DIV):
            return None
        other = node[2 - k]
        if node[0] == Op.ADD:
            return sub(g, value, other)
        if node[0] == Op.SUB:
            return add(g, value, other) if k == 0 else sub(g, other, value)
        if node[0] == Op.DIV:
            return mul(g, value, other) if k == 0 else None
        number = value_of(g, other)
        if number is None:
            divisors.append(other)
        return None if number == 0.0 else div(g, value, other)

    def _inverse(self, node: tuple[int, ...], k: int) -> Inverse | None:
        for one in self.functions[node[1]].inverses:
            if one.argument == k and one.output == node[2]:
                return one
        return None

    # ---------------------------------------------------------------------------------------------------- trial

    def _holds(self, node: tuple[int, ...], inverse: Inverse, span: Span | None) -> bool:
        """f(g(f(u))) is f(u), for some u where there are numbers at all."""
        key = (node[1], inverse)
        if key not in self.refused:
            self.refused[key] = refused = self._is_refuted(node, inverse)
            if refused:
                where = f" ({span})" if span else ""
                self.note(
                    f"the inverse that `{self.functions[node[1]].name}` declares gives arguments for which its value "
                    f"is another{where}: it is not used"
                )
        return not self.refused[key]

    def _is_refuted(self, node: tuple[int, ...], inverse: Inverse) -> bool:
        g = self.g
        numbers = self._numbers(list(node[3:]))
        own = numbers[inverse.argument]
        symbols = [g.intern((Op.ARG, k)) for k in range(len(numbers) + 1)]
        body = self.functions[node[1]].outputs[inverse.output]
        forward, backward = expand_calls(g, [body, inverse.value], self.functions)
        seen = False
        for u in (own, *TRIED):

            def at(e: int, last: Sequence[float]) -> float:
                given = [*numbers[: inverse.argument], *last[:1], *numbers[inverse.argument + 1 :], *last[1:]]
                leaf = {symbol: const(g, x) for symbol, x in zip(symbols, given, strict=False)}
                return self._numbers(substitute(g, [e], leaf))[0]

            y = at(forward, [u])
            again = at(forward, [at(backward, [u, y])]) if math.isfinite(y) else math.nan
            if math.isfinite(again):
                if abs(again - y) <= CLOSE * abs(y):
                    return False
                seen = True
        return seen

    def _numbers(self, roots: Sequence[int]) -> list[float]:
        system = self.system
        relations: Sequence[Relation] = system.relations
        return evaluate(self.g, roots, self.point(), 0.37, self.functions, system.tables, relations)
