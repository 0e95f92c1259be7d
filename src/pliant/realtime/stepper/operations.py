"""Exact numbers of operations of a straight-line function, counted on its expressions."""

from __future__ import annotations

from dataclasses import dataclass, field

from pliant.codegen.plan import Plan
from pliant.expr.build import operands
from pliant.ir import OP_NAME, Op

_ADD = (Op.ADD, Op.SUB)
_COMPARE = (Op.LT, Op.LE, Op.EQ, Op.NE)
_SELECT = (Op.IF, Op.MIN, Op.MAX, Op.ABS, Op.SIGN, Op.AND, Op.OR, Op.NOT)


@dataclass
class Operations:
    """Operations by kind; ``select`` holds everything that chooses or joins bits."""

    add: int = 0
    mul: int = 0
    div: int = 0
    neg: int = 0  # changes of sign
    compare: int = 0
    select: int = 0
    functions: dict[str, int] = field(default_factory=dict)

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
        )

    def __add__(self, other: Operations) -> Operations:
        zero = Operations()
        return self - (zero - other)


def count_operations(plan: Plan) -> Operations:
    """Operations of a plan; constants of the simulation are computed before and count nothing."""
    g = plan.g
    out = Operations()
    stack = [e for item in plan.items for e in item.roots]
    seen: set[int] = set()
    while stack:
        i = stack.pop()
        op = g.nodes[i][0]
        if i in seen or op <= Op.ARG or plan.is_fixed(i):
            continue
        seen.add(i)
        stack.extend(operands(g, i))
        _count(out, op)
    return out


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
