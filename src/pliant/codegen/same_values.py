"""Variables that are nothing but another name of a value: a second cos(phi), -sin(phi), a constant of the simulation.

Equations of components often say the same thing twice (both diagonal entries of a rotation matrix). Where a variable is
assigned what another one holds already, up to the sign, expressions read that one instead, so that products of the two
meet in one node (value numbering; Muchnick, Advanced Compiler Design and Implementation, section 12.4). The variable
itself is still computed where its value is needed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from pliant.codegen.program import Assign, Columns, Solve, Statement
from pliant.expr.build import neg, substitute, var
from pliant.ir import Kind, Op

if TYPE_CHECKING:
    from pliant.codegen.plan import Shared

_CONTINUOUS = (Kind.UNKNOWN, Kind.DERIVATIVE)


class Copies:
    """What the statements of one program assign twice."""

    def __init__(self, shared: Shared, statements: Iterable[Statement] = ()) -> None:
        self.shared, self.g = shared, shared.g
        self._same: dict[int, int] = {}  # variable -> expression that it equals: a variable, its negative, a constant
        self._leaf: dict[int, int] = {}  # the same for nodes
        self._memo: dict[int, int] = {}
        self._holder: dict[int, int] = {}  # expression -> variable that holds its value, as a node
        self._value: dict[int, int] = {}  # variable -> expression, for those that are no copies
        for statement in statements:
            if isinstance(statement, Assign):
                self._enter(statement)
        self._holder.clear()
        self._value.clear()

    def _enter(self, statement: Assign) -> None:
        v = statement.target
        if v in self._same or self.shared.variables[v].kind not in _CONTINUOUS:
            return
        e = self.expression(statement.expression)
        same = self._found(e)
        if same is None:
            self._holder.setdefault(e, var(self.g, v))
            self._value[v] = e
            return
        self._same[v] = same
        self._leaf[var(self.g, v)] = same
        self._memo.clear()

    def _found(self, e: int) -> int | None:
        """An expression without operations, or a constant of the simulation, that is equal to e."""
        e = self._cancelled(e)
        self.shared.extend()
        node = self.g.nodes[e]
        if node[0] == Op.VAR or self.shared.fixed[e]:
            return e
        holder = self._holder.get(e)
        if holder is not None:
            return holder
        if node[0] == Op.NEG:
            if self.g.nodes[node[1]][0] == Op.VAR:
                return e
            opposite: int | None = node[1]
        else:
            turned = (Op.SUB, node[2], node[1]) if node[0] == Op.SUB else (Op.NEG, e)
            opposite = self.g.find(turned)
        holder = None if opposite is None else self._holder.get(opposite)
        return None if holder is None else neg(self.g, holder)

    def _cancelled(self, e: int) -> int:
        """(x - y) + y = x, (x + y) - y = x, x - (x - y) = y and the like, one operand being a variable so assigned."""
        g = self.g
        op, *rest = g.nodes[e]
        if op not in (Op.ADD, Op.SUB):
            return e
        a, b = rest
        of_a, of_b = self._sum(a), self._sum(b)
        if op == Op.ADD:
            for other, (kind, x, y) in ((b, of_a), (a, of_b)):
                if kind == Op.SUB and y == other:
                    return x
            return e
        kind, x, y = of_a
        if kind == Op.ADD and b in (x, y):
            return y if b == x else x
        if kind == Op.SUB and x == b:
            return neg(g, y)
        kind, x, y = of_b
        if kind == Op.SUB and x == a:
            return y
        if kind == Op.ADD and a in (x, y):
            return neg(g, y if a == x else x)
        return e

    def _sum(self, e: int) -> tuple[int, int, int]:
        """The sum or difference that a variable was assigned; kind -1 where it was not."""
        node = self.g.nodes[e]
        value = self._value.get(node[1]) if node[0] == Op.VAR else None
        if value is not None and self.g.nodes[value][0] in (Op.ADD, Op.SUB):
            op, x, y = self.g.nodes[value]
            return op, x, y
        return -1, -1, -1

    def expression(self, e: int) -> int:
        """e without the copies."""
        if not any(v in self._same for v in self.shared.uses(e)):
            return e
        return substitute(self.g, [e], self._leaf, self._memo)[0]

    def _row(self, row: Iterable[int]) -> list[int]:
        return [self.expression(e) for e in row]

    def _rows(self, rows: Iterable[Iterable[int]]) -> list[list[int]]:
        return [self._row(row) for row in rows]

    def statement(self, one: Statement) -> Statement:
        """A statement that computes the same without the copies."""
        if not self._same:
            return one
        if isinstance(one, Assign):
            e = self.expression(one.expression)
            return one if e == one.expression else Assign(one.target, e)
        if isinstance(one, Solve):
            return replace(one, matrix=self._rows(one.matrix), right=self._row(one.right))
        if isinstance(one, Columns):
            return replace(one, matrix=self._rows(one.matrix), right=self._rows(one.right))
        steps = [Assign(step.target, self.expression(step.expression)) for step in one.steps]
        return replace(one, steps=steps, residuals=self._row(one.residuals), matrix=self._rows(one.matrix))
