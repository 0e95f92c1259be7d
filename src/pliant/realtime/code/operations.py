"""Exact numbers of operations of a straight-line function, counted on its expressions."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from pliant.codegen.plan import FunctionPlan
from pliant.expr.build import operands
from pliant.ir import OP_NAME, Op
from pliant.realtime.code.wide import Wide

_ADD = (Op.ADD, Op.SUB)
_COMPARE = (Op.LT, Op.LE, Op.EQ, Op.NE)
_SELECT = (Op.IF, Op.MIN, Op.MAX, Op.ABS, Op.SIGN, Op.AND, Op.OR, Op.NOT)


@dataclass
class Operations:
    """Operations by kind; ``select`` holds everything that chooses or joins bits, ``double`` how many of all of them
    a step in float makes in double."""

    add: int = 0
    mul: int = 0
    div: int = 0
    neg: int = 0  # changes of sign
    compare: int = 0
    select: int = 0
    functions: dict[str, int] = field(default_factory=dict)
    double: int = 0

    @property
    def flops(self) -> int:
        """Additions, multiplications, divisions and changes of sign."""
        return self.add + self.mul + self.div + self.neg

    @property
    def total(self) -> int:
        """Everything; a call of a function counts as one."""
        return self.flops + self.compare + self.select + sum(self.functions.values())

    def __sub__(self, other: Operations) -> Operations:
        names = sorted({*self.functions, *other.functions})
        functions = {name: self.functions.get(name, 0) - other.functions.get(name, 0) for name in names}
        return Operations(
            self.add - other.add,
            self.mul - other.mul,
            self.div - other.div,
            self.neg - other.neg,
            self.compare - other.compare,
            self.select - other.select,
            {name: k for name, k in functions.items() if k},
            self.double - other.double,
        )

    def __add__(self, other: Operations) -> Operations:
        zero = Operations()
        return self - (zero - other)


def count_operations(
    plan: FunctionPlan, clocks: Collection[int] = (), wide: Wide | None = None, jump_time: tuple[int, int] = (-1, -1)
) -> Operations:
    """Operations of a plan; constants of the simulation are computed before and count nothing.

    ``clocks``: variables that are times, formed by a product and a sum; ``wide``: what is computed in double;
    ``jump_time``: the variable te of comparisons, and the clock that it is formed of.
    """
    g = plan.g
    out = Operations()
    stack = [e for item in plan.items for e in item.roots]
    seen: set[int] = set()
    times: set[int] = set()
    while stack:
        i = stack.pop()
        node = g.nodes[i]
        op = node[0]
        if i in seen or plan.is_fixed(i):
            continue
        seen.add(i)
        if op == Op.VAR and node[1] == jump_time[0] >= 0:
            times.add(jump_time[1])
            out = out + Operations(add=2, mul=1, neg=1, compare=1, select=1, double=6 * (wide is not None))
        elif op == Op.VAR and node[1] in clocks:
            times.add(node[1])
        if op <= Op.ARG:
            continue
        stack.extend(operands(g, i))
        _count(out, op)
        out.double += wide is not None and (wide.is_wide(i) or wide.takes(i))
    k = len(times)
    return out + Operations(add=k, mul=k, double=2 * k * (wide is not None))


def _count(out: Operations, op: int) -> None:
    if op in _ADD:
        out.add += 1
    elif op == Op.MUL:
        out.mul += 1
    elif op == Op.DIV:
        out.div += 1
    elif op == Op.NEG:
        out.neg += 1
    elif op in _COMPARE:
        out.compare += 1
    elif op in _SELECT:
        out.select += 1
    else:
        out.functions[OP_NAME[op]] = out.functions.get(OP_NAME[op], 0) + 1
