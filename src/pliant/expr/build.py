"""Building expressions: every function here folds what it can, so equal values meet in one node.

Folding is exact except that it reads ``0*x`` and ``0/x`` as 0, as every symbolic tool does. Division by a literal
zero stays as it is, for the caller to report with its source line.
"""

from __future__ import annotations

import gc
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from pliant.ir import OP_NAME, PLAIN, Graph, Op

# functions of numbers, for folding here and for evaluate
UNARY: dict[int, Callable[[float], float]] = {
    Op.ABS: abs,
    Op.SIGN: lambda a: (a > 0.0) - (a < 0.0),
    Op.SQRT: math.sqrt,
    Op.SIN: math.sin,
    Op.COS: math.cos,
    Op.TAN: math.tan,
    Op.ASIN: math.asin,
    Op.ACOS: math.acos,
    Op.ATAN: math.atan,
    Op.SINH: math.sinh,
    Op.COSH: math.cosh,
    Op.TANH: math.tanh,
    Op.EXP: math.exp,
    Op.LOG: math.log,
    Op.LOG10: math.log10,
    Op.FLOOR: math.floor,
    Op.CEIL: math.ceil,
}
BINARY: dict[int, Callable[[float, float], float]] = {
    Op.LT: lambda a, b: a < b,
    Op.LE: lambda a, b: a <= b,
    Op.EQ: lambda a, b: a == b,
    Op.NE: lambda a, b: a != b,
    Op.MIN: min,
    Op.MAX: max,
    Op.ATAN2: math.atan2,
}
_WITH_PLAIN = frozenset(PLAIN)
FUNCTIONS = {OP_NAME[op]: op for op in UNARY}


@contextmanager
def collector_paused() -> Iterator[None]:
    """No garbage collection inside: millions of new tuples, none of them garbage, would be examined again and again."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def const(g: Graph, value: float) -> int:
    """A number."""
    return g.intern((Op.CONST, float(value) + 0.0))


def var(g: Graph, number: int) -> int:
    """A variable."""
    return g.intern((Op.VAR, number))


def value_of(g: Graph, e: int) -> float | None:
    """The number that e is, or None."""
    node = g.nodes[e]
    return node[1] if node[0] == Op.CONST else None


def add(g: Graph, a: int, b: int) -> int:
    """a + b"""
    nodes = g.nodes
    na, nb = nodes[a], nodes[b]
    if na[0] == Op.CONST:
        if nb[0] == Op.CONST:
            return const(g, na[1] + nb[1])
        if na[1] == 0.0:
            return b
    elif nb[0] == Op.CONST and nb[1] == 0.0:
        return a
    if nb[0] == Op.NEG:
        return sub(g, a, nb[1])
    if na[0] == Op.NEG:
        return sub(g, b, na[1])
    if a == b:
        return mul(g, const(g, 2.0), a)
    if na[0] == Op.CONST:
        a, b, na, nb = b, a, nb, na
    if nb[0] == Op.CONST and na[0] in (Op.ADD, Op.SUB):  # c1 + (e + c2): compilers may not do this
        for place in (1, 2):
            inner = nodes[na[place]]
            if inner[0] == Op.CONST:
                other = na[3 - place]
                if na[0] == Op.ADD:
                    return add(g, other, const(g, inner[1] + nb[1]))
                if place == 1:
                    return sub(g, const(g, inner[1] + nb[1]), other)
                return add(g, other, const(g, nb[1] - inner[1]))
    return g.intern((Op.ADD, a, b) if a < b else (Op.ADD, b, a))


def sub(g: Graph, a: int, b: int) -> int:
    """a - b"""
    if a == b:
        return const(g, 0.0)
    nodes = g.nodes
    na, nb = nodes[a], nodes[b]
    if nb[0] == Op.CONST:
        if na[0] == Op.CONST:
            return const(g, na[1] - nb[1])
        if nb[1] == 0.0:
            return a
    elif na[0] == Op.CONST and na[1] == 0.0:
        return neg(g, b)
    if nb[0] == Op.NEG:
        return add(g, a, nb[1])
    if na[0] == Op.NEG:
        return neg(g, add(g, na[1], b))
    return g.intern((Op.SUB, a, b))


def neg(g: Graph, a: int) -> int:
    """-a"""
    na = g.nodes[a]
    if na[0] == Op.CONST:
        return const(g, -na[1])
    if na[0] == Op.NEG:
        inner: int = na[1]
        return inner
    if na[0] == Op.SUB:
        return g.intern((Op.SUB, na[2], na[1]))
    return g.intern((Op.NEG, a))


def mul(g: Graph, a: int, b: int) -> int:
    """a * b"""
    nodes = g.nodes
    na, nb = nodes[a], nodes[b]
    if nb[0] == Op.CONST:
        a, b, na, nb = b, a, nb, na
    if na[0] == Op.CONST:
        c = na[1]
        if nb[0] == Op.CONST:
            return const(g, c * nb[1])
        if c == 0.0:
            return a
        if c == 1.0:
            return b
        if nb[0] == Op.NEG:
            return mul(g, const(g, -c), nb[1])
        if c < 0.0:  # c x and -c x meet in one product
            return neg(g, mul(g, const(g, -c), b))
        if nb[0] == Op.MUL:
            inner = nodes[nb[1]]
            if inner[0] == Op.CONST:
                return mul(g, const(g, c * inner[1]), nb[2])
        return g.intern((Op.MUL, a, b))
    if na[0] == Op.NEG:
        return neg(g, mul(g, na[1], b))
    if nb[0] == Op.NEG:
        return neg(g, mul(g, a, nb[1]))
    return g.intern((Op.MUL, a, b) if a < b else (Op.MUL, b, a))


def div(g: Graph, a: int, b: int) -> int:
    """a / b"""
    nodes = g.nodes
    na, nb = nodes[a], nodes[b]
    if nb[0] == Op.CONST:
        c = nb[1]
        if c == 1.0:
            return a
        if c == -1.0:
            return neg(g, a)
        if na[0] == Op.CONST and c != 0.0:
            return const(g, na[1] / c)
        if c == 0.0:
            return g.intern((Op.DIV, a, b))
    if na[0] == Op.CONST and na[1] == 0.0:
        return a
    if a == b:
        return const(g, 1.0)
    if na[0] == Op.NEG:
        return neg(g, div(g, na[1], b))
    if nb[0] == Op.NEG:
        return neg(g, div(g, a, nb[1]))
    return g.intern((Op.DIV, a, b))


def power(g: Graph, a: int, b: int) -> int:
    """a ^ b"""
    na, nb = g.nodes[a], g.nodes[b]
    if nb[0] == Op.CONST:
        c = nb[1]
        if c == 0.0:
            return const(g, 1.0)
        if c == 1.0:
            return a
        if c == 2.0:
            return mul(g, a, a)
        if c == 0.5:
            return apply(g, Op.SQRT, a)
        if na[0] == Op.CONST:
            try:
                result = na[1] ** c
            except (ZeroDivisionError, OverflowError):
                return g.intern((Op.POW, a, b))
            if isinstance(result, float) and math.isfinite(result):
                return const(g, result)
    elif na[0] == Op.CONST and na[1] == 1.0:
        return a
    return g.intern((Op.POW, a, b))


def apply(g: Graph, op: int, a: int) -> int:
    """A function of one operand."""
    na = g.nodes[a]
    if na[0] == Op.CONST:
        try:
            value = float(UNARY[op](na[1]))
        except (ValueError, OverflowError):
            return g.intern((op, a))
        if math.isfinite(value):
            return const(g, value)
    if op == Op.ABS and na[0] in (Op.NEG, Op.ABS):
        return apply(g, Op.ABS, na[1]) if na[0] == Op.NEG else a
    return g.intern((op, a))


def binary(g: Graph, op: int, a: int, b: int) -> int:
    """A relation, min, max or atan2."""
    na, nb = g.nodes[a], g.nodes[b]
    if na[0] == Op.CONST and nb[0] == Op.CONST:
        return const(g, float(BINARY[op](na[1], nb[1])))
    if a == b:
        if op in (Op.MIN, Op.MAX):
            return a
        if op in (Op.LE, Op.EQ):
            return const(g, 1.0)
        if op in (Op.LT, Op.NE):
            return const(g, 0.0)
    return g.intern((op, a, b))


def logical_and(g: Graph, a: int, b: int) -> int:
    """a and b"""
    for one, other in ((a, b), (b, a)):
        value = value_of(g, one)
        if value is not None:
            return other if value else one
    return a if a == b else g.intern((Op.AND, a, b))


def logical_or(g: Graph, a: int, b: int) -> int:
    """a or b"""
    for one, other in ((a, b), (b, a)):
        value = value_of(g, one)
        if value is not None:
            return const(g, 1.0) if value else other
    return a if a == b else g.intern((Op.OR, a, b))


def logical_not(g: Graph, a: int) -> int:
    """not a"""
    na = g.nodes[a]
    if na[0] == Op.CONST:
        return const(g, float(not na[1]))
    return na[1] if na[0] == Op.NOT else g.intern((Op.NOT, a))


def choose(g: Graph, condition: int, a: int, b: int) -> int:
    """if condition then a else b"""
    value = value_of(g, condition)
    if value is not None:
        return a if value else b
    return a if a == b else g.intern((Op.IF, condition, a, b))


def homotopy(g: Graph, actual: int, simplified: int) -> int:
    """homotopy(actual, simplified)"""
    return actual if actual == simplified else g.intern((Op.HOMOTOPY, actual, simplified))


def rebuild(g: Graph, op: int, args: Sequence[int]) -> int:
    """The node of kind ``op`` on these operands (plain numbers included), folded."""
    if op in _TWO:
        return _TWO[op](g, args[0], args[1])
    if op == Op.NEG:
        return neg(g, args[0])
    if op == Op.IF:
        return choose(g, args[0], args[1], args[2])
    if op in UNARY:
        return apply(g, op, args[0])
    if op in BINARY:
        return binary(g, op, args[0], args[1])
    if op == Op.NOT:
        return logical_not(g, args[0])
    return g.intern((op, *args))


_TWO: dict[int, Callable[[Graph, int, int], int]] = {
    Op.ADD: add,
    Op.SUB: sub,
    Op.MUL: mul,
    Op.DIV: div,
    Op.POW: power,
    Op.AND: logical_and,
    Op.OR: logical_or,
    Op.HOMOTOPY: homotopy,
}


def operands(g: Graph, e: int) -> tuple[int, ...]:
    """Operands of a node, without plain numbers."""
    node = g.nodes[e]
    op = node[0]
    if op <= Op.ARG:
        return ()
    return node[3:] if op in _WITH_PLAIN else node[1:]


def reachable(g: Graph, roots: Iterable[int]) -> list[int]:
    """All nodes under the given ones, ascending: operands come first."""
    nodes = g.nodes
    seen: set[int] = set()
    stack = list(roots)
    while stack:
        e = stack.pop()
        if e in seen:
            continue
        seen.add(e)
        node = nodes[e]
        op = node[0]
        if op > 4:  # not a leaf
            stack.extend(node[3:] if op in _WITH_PLAIN else node[1:])
    return sorted(seen)


def variables_of(g: Graph, e: int) -> set[int]:
    """Numbers of the variables in an expression."""
    nodes = g.nodes
    return {nodes[i][1] for i in reachable(g, (e,)) if nodes[i][0] == Op.VAR}


def substitute(g: Graph, roots: Iterable[int], leaf: dict[int, int], memo: dict[int, int] | None = None) -> list[int]:
    """Replace leaf nodes (node number -> node number) under each root, folding again.

    ``memo`` may be kept between calls with the same replacement.
    """
    memo = {} if memo is None else memo
    wanted = list(roots)
    nodes = g.nodes
    stack = list(wanted)
    todo: set[int] = set()
    while stack:
        e = stack.pop()
        if e in memo or e in todo:
            continue
        todo.add(e)
        node = nodes[e]
        op = node[0]
        if op > Op.ARG:
            stack.extend(node[3:] if op in _WITH_PLAIN else node[1:])
    for e in sorted(todo):
        node = nodes[e]
        op = node[0]
        if op <= Op.ARG:
            memo[e] = leaf.get(e, e)
        elif op in _TWO and memo[node[1]] == node[1] and memo[node[2]] == node[2]:
            memo[e] = e
        else:
            plain = 3 if op in _WITH_PLAIN else 1
            old = node[plain:]
            new = tuple([memo[a] for a in old])
            memo[e] = e if new == old else rebuild(g, op, (*node[1:plain], *new))
    return [memo[e] for e in wanted]
