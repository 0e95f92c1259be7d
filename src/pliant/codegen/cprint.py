"""Expressions as C99 text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pliant.codegen.arrays import HOMOTOPY, RELATION, TIME
from pliant.codegen.places import Layout, ValueKind, number
from pliant.foreign.calls import ForeignCall
from pliant.ir import OP_NAME, Graph, Op, Routine

_INFIX = {
    Op.ADD: (" + ", 10, 10),
    Op.SUB: (" - ", 10, 11),
    Op.MUL: (" * ", 12, 12),
    Op.DIV: (" / ", 12, 13),
    Op.LT: (" < ", 8, 9),
    Op.LE: (" <= ", 8, 9),
    Op.EQ: (" == ", 7, 8),
    Op.NE: (" != ", 7, 8),
    Op.AND: (" && ", 4, 5),
    Op.OR: (" || ", 3, 4),
}
_CALLS = {Op.ABS: "fabs", Op.SIGN: "pl_sign", Op.MIN: "pl_min", Op.MAX: "pl_max"}
ATOM, UNARY, CHOICE = 20, 14, 2
LARGEST_POWER = 8  # integer exponents up to this become products


class Printer:
    """Prints one expression; ``atom(node)`` gives the text of a node that is named, None if it is to be written out,
    ``inverse(node)`` the text of 1 / b for a quotient a / b that is to be a product, with what is known before."""

    def __init__(
        self,
        g: Graph,
        layout: Layout,
        atom: Callable[[int], str | None],
        inverse: Callable[[int], str | None] = lambda _: None,
        foreign: Callable[[ForeignCall], int] | None = None,
        routine: Callable[[Routine, int], str] | None = None,
    ) -> None:
        self.g, self.layout = g, layout
        self.atom = atom
        self.inverse = inverse
        self.foreign = foreign  # numbers of calls of external functions
        self.routine = routine  # names of functions that stay functions

    def text(self, e: int) -> str:
        """C text of e."""
        return self._write(e)[0]

    def _inner(self, e: int, strength: int) -> str:
        piece, binds = self._write(e)
        return piece if binds >= strength else f"({piece})"

    def _write(self, e: int) -> tuple[str, int]:
        named = self.atom(e)
        if named is not None:
            return named, ATOM
        node = self.g.nodes[e]
        op = node[0]
        if op == Op.CONST:
            return (number(node[1]), ATOM) if node[1] >= 0 else (f"({number(node[1])})", ATOM)
        if op == Op.DIV:
            inverse = self.inverse(e)
            if inverse is not None:
                return f"{self._inner(node[1], 12)} * {inverse}", 12
        if op in _INFIX:
            symbol, left, right = _INFIX[op]
            return self._inner(node[1], left) + symbol + self._inner(node[2], right), left
        if op == Op.NEG:
            return "-" + self._inner(node[1], UNARY + 1), UNARY
        if op == Op.NOT:
            return "!" + self._inner(node[1], UNARY + 1), UNARY
        if op == Op.IF:
            condition, then, other = (self._inner(a, CHOICE + 1) for a in node[1:])
            return f"{condition} ? {then} : {other}", CHOICE
        if op == Op.POW:
            return self._power(node)
        if op == Op.TABLE:
            return f"pl_table_value(&table_{node[1]}, {node[2]}, {self.text(node[3])})", ATOM
        if op == Op.DELAY:
            where = self.layout.passed("m", self.layout.place(TIME.at()), str(node[1]), str(node[2]))
            return f"delay_value({where}, {self.text(node[3])}, {self.text(node[4])})", ATOM
        if op == Op.PIPE:
            return self._pipe(node), ATOM
        if op == Op.FOREIGN:
            return self._foreign(node), ATOM
        if op == Op.ROUTINE:
            return self._routine(node), ATOM
        if op == Op.HOMOTOPY:
            return f"pl_homotopy({self.layout.place(HOMOTOPY.at())}, {self.text(node[1])}, {self.text(node[2])})", ATOM
        if op == Op.REL:
            return self.layout.place(RELATION.at(node[1])), ATOM
        if op == Op.TIME:
            return self.layout.place(TIME.at()), ATOM
        name = _CALLS.get(op, OP_NAME[op])
        return f"{name}({', '.join(self.text(a) for a in node[1:])})", ATOM

    def _pipe(self, node: tuple[Any, ...]) -> str:
        """What flows out; before anything is known of the past that is the end of the initial profile."""
        number, order, s, *rest = node[1:]
        n = (len(rest) - 5) // 2
        initial = rest[5 + n] if number % 2 == 0 else rest[-1]
        where = self.layout.passed("m", self.layout.place(TIME.at()), str(number), str(order))
        given = ", ".join(self.text(e) for e in rest[:4])
        return f"pipe_value({where}, {self.text(s)}, (const pl_real[4]){{{given}}}, {self.text(initial)})"

    def _foreign(self, node: tuple[Any, ...]) -> str:
        assert self.foreign is not None
        given = ", ".join(self.text(a) for a in node[3:]) or "0.0"
        where = self.layout.passed("m", self.layout.place(TIME.at()))
        return f"foreign_value({where}, {self.foreign(node[1])}, {node[2]}, (const pl_real[]){{{given}}})"

    def _routine(self, node: tuple[Any, ...]) -> str:
        assert self.routine is not None
        return f"{self.routine(node[1], node[2])}_at({node[2]}, {self.given(node)})"

    def given(self, node: tuple[Any, ...]) -> str:
        """Arguments of a call of a routine."""
        return f"(const {self.layout.type(ValueKind.REAL)}[]){{{', '.join(self.text(a) for a in node[3:])}}}"

    def _power(self, node: tuple[int, ...]) -> tuple[str, int]:
        exponent = self.g.nodes[node[2]]
        if exponent[0] == Op.CONST and float(exponent[1]).is_integer() and 0 < abs(exponent[1]) <= LARGEST_POWER:
            base = self._inner(node[1], 13)
            if self.atom(node[1]) is not None or self.g.nodes[node[1]][0] <= Op.ARG:
                product = " * ".join([base] * int(abs(exponent[1])))
                return (product, 12) if exponent[1] > 0 else (f"1.0 / ({product})", 12)
        return f"pow({self.text(node[1])}, {self.text(node[2])})", ATOM
