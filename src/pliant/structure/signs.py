"""Expressions that are zero nowhere, whatever values their variables take.

Interval arithmetic over the expression graph: a variable may be anything, sin lies in [-1, 1], exp is positive, a
square is not negative. A product is zero nowhere if its factors are; a sum if its interval leaves out zero. Expressions
of parameters alone count as they are now: code that divides by them checks them whenever parameters are set.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from pliant.expr.build import operands, reachable
from pliant.expr.evaluate import evaluate
from pliant.ir import Graph, Op

Interval = tuple[float, float]
ALL: Interval = (-math.inf, math.inf)
TINY = 5e-324  # stands for "more than zero"
_RANGE: dict[int, Interval] = {
    Op.SIN: (-1.0, 1.0),
    Op.COS: (-1.0, 1.0),
    Op.TANH: (-1.0, 1.0),
    Op.ATAN: (-math.pi / 2, math.pi / 2),
    Op.ASIN: (-math.pi / 2, math.pi / 2),
    Op.ACOS: (0.0, math.pi),
    Op.ATAN2: (-math.pi, math.pi),
    Op.SIGN: (-1.0, 1.0),
    Op.COSH: (1.0, math.inf),
    Op.SQRT: (0.0, math.inf),
    Op.EXP: (TINY, math.inf),
}
_GROWING: dict[int, Callable[[float], float]] = {
    Op.EXP: math.exp,
    Op.ATAN: math.atan,
    Op.TANH: math.tanh,
    Op.SINH: math.sinh,
}


class Signs:
    """What is known about the signs of expressions; ``numbers`` are the parameters, by number of the variable."""

    def __init__(self, g: Graph, numbers: Mapping[int, float]) -> None:
        self.g, self.numbers = g, numbers
        self._interval: dict[int, Interval] = {}
        self._value: dict[int, float | None] = {}  # of expressions of parameters alone

    def nonzero(self, e: int) -> bool:
        """Zero nowhere."""
        value = self.value(e)
        if value is not None:
            return value != 0.0 and math.isfinite(value)
        node = self.g.nodes[e]
        op = node[0]
        if op == Op.NEG:
            return self.nonzero(node[1])
        if op in (Op.MUL, Op.DIV):
            return self.nonzero(node[1]) and self.nonzero(node[2])
        if op == Op.POW and self.value(node[2]) is not None:
            return self.nonzero(node[1])
        low, high = self.interval(e)
        return low > 0.0 or high < 0.0

    def value(self, e: int) -> float | None:
        """The number of an expression of parameters alone."""
        if e not in self._value:
            nodes = self.g.nodes
            for i in reachable(self.g, (e,)):
                if i not in self._value:
                    node = nodes[i]
                    if node[0] in (Op.CONST, Op.VAR):
                        known = node[0] == Op.CONST or node[1] in self.numbers
                    else:
                        known = node[0] > Op.ARG and all(self._value[a] is not None for a in operands(self.g, i))
                    self._value[i] = 0.0 if known else None
                    if known:
                        self._value[i] = evaluate(self.g, [i], self.numbers)[0]
        return self._value[e]

    def interval(self, e: int) -> Interval:
        """Bounds of all values that an expression can have."""
        if e not in self._interval:
            for i in reachable(self.g, (e,)):
                if i not in self._interval:
                    self._interval[i] = self._bounds(i)
        return self._interval[e]

    def _bounds(self, i: int) -> Interval:
        node, at = self.g.nodes[i], self._interval
        op = node[0]
        if op == Op.CONST:
            return node[1], node[1]
        if op in (Op.ADD, Op.SUB):
            a, b = at[node[1]], at[node[2]]
            b = b if op == Op.ADD else (-b[1], -b[0])
            return a[0] + b[0], a[1] + b[1]
        if op == Op.NEG:
            low, high = at[node[1]]
            return -high, -low
        if op == Op.MUL:
            return _square(at[node[1]]) if node[1] == node[2] else _product(at[node[1]], at[node[2]])
        if op == Op.DIV:
            return _product(at[node[1]], _inverse(at[node[2]]))
        if op == Op.POW:
            return self._power(node)
        if op == Op.ABS:
            low, high = at[node[1]]
            return (max(low, -high, 0.0), max(-low, high))
        if op in (Op.MIN, Op.MAX):
            pick = min if op == Op.MIN else max
            return pick(at[node[1]][0], at[node[2]][0]), pick(at[node[1]][1], at[node[2]][1])
        if op in (Op.IF, Op.HOMOTOPY):
            a, b = at[node[-2]], at[node[-1]]
            return min(a[0], b[0]), max(a[1], b[1])
        found = _RANGE.get(op, ALL)
        if op in _GROWING:
            found = _monotone(_GROWING[op], at[node[1]], found)
        return found

    def _power(self, node: tuple[int, ...]) -> Interval:
        exponent = self.value(node[2])
        base = self._interval[node[1]]
        if exponent is None or not exponent.is_integer() or exponent <= 0.0:
            return (TINY, math.inf) if base[0] > 0.0 else ALL
        if exponent % 2 == 1:
            return _monotone(lambda x: x**exponent, base, ALL)
        low, high = _square(base)  # (b^2)^(n/2) grows with b^2
        return _monotone(lambda x: x ** (exponent / 2), (low, high), (0.0, math.inf))


def _monotone(f: Callable[[float], float], a: Interval, within: Interval) -> Interval:
    """Image of an interval under a growing function whose values lie within another one."""
    ends = list(within)
    for k in (0, 1):
        if math.isfinite(a[k]):
            try:
                ends[k] = f(a[k])
            except OverflowError:
                continue
    return max(ends[0], within[0]), min(ends[1], within[1])


def _square(a: Interval) -> Interval:
    low, high = _product(a, a)
    inside = a[0] <= 0.0 <= a[1]
    return (0.0 if inside else max(low, TINY)), high


def _inverse(a: Interval) -> Interval:
    if a[0] <= 0.0 <= a[1]:
        return ALL
    return _divided(a[1]), _divided(a[0])


def _divided(x: float) -> float:
    return math.copysign(max(1.0 / abs(x) if abs(x) > TINY else math.inf, TINY), x)


def _product(a: Interval, b: Interval) -> Interval:
    ends = [_times(x, y) for x in a for y in b]
    return min(ends), max(ends)


def _times(x: float, y: float) -> float:
    """0 times infinity is 0, and what is not zero stays so."""
    if x == 0.0 or y == 0.0:
        return 0.0
    found = x * y
    return found if found != 0.0 else math.copysign(TINY, x) * math.copysign(1.0, y)
