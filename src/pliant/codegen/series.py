"""Taylor coefficients of expressions, as expressions.

With y(t + s) = sum_k y_k s^k, every rule gives y_k from the operands' coefficients up to k and y's own up to k - 1
(Moore, Interval Analysis, 1966, ch. 11; Griewank & Walther, Evaluating Derivatives, 2nd ed., ch. 13; Neidinger, SIAM
Review 52, 2010):

    product    y_k = sum_j a_j b_{k-j}                      quotient   b_0 y_k = a_k - sum_{j>0} b_j y_{k-j}
    sqrt       2 y_0 y_k = a_k - sum_{0<j<k} y_j y_{k-j}    a^c        k a_0 y_k = sum_{j>0} (c j - k + j) a_j y_{k-j}
    functions that solve  y' = w a'  (exp, sin, cos, tan, ...)    k y_k = sum_{j>0} j a_j w_{k-j}
                     or   w y' = n   (log, asin, atan, atan2)     k w_0 y_k = n_{k-1} - sum_{0<j<k} j y_j w_{k-j}

Alternatives (if, min, max, abs) have the coefficients of the one that holds, decided by values alone. Whole exponents
go through products, so that a base of zero does no harm. A piecewise cubic is its own Taylor polynomial inside a piece.
Zeros are skipped because :mod:`pliant.expr.build` folds them.

Levels: coefficients of the present order may be tried out with unknowns held at zero (:meth:`Series.push`); what
depends on them is forgotten by :meth:`Series.pop`, everything else is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from pliant.expr.build import add, apply, binary, choose, const, div, mul, neg, reachable, sub, value_of, var
from pliant.expr.differentiate import LOG10_E, chosen, partial
from pliant.ir import OP_NAME, Graph, Op, Table

_LARGEST_WHOLE = 1024.0  # exponents up to this are products
# constant between jumps, whatever the operands do
_STEPS = frozenset((Op.CONST, Op.REL, Op.LT, Op.LE, Op.EQ, Op.NE, Op.AND, Op.OR, Op.NOT, Op.SIGN, Op.FLOOR, Op.CEIL))


class UnsupportedError(Exception):
    """An expression whose coefficients are not known; not seen by users."""


class Series:
    """Coefficients of all expressions of a graph, order by order."""

    def __init__(self, g: Graph, tables: Sequence[Table]) -> None:
        self.g, self.tables = g, tables
        self.zero = const(g, 0.0)
        self.order = 0
        self.lower: list[dict[int, int]] = [{}]  # order -> node -> coefficient; orders below the present one
        self.levels: list[dict[int, int]] = [self.lower[0]]
        self._depth = 0  # highest level that the coefficient being made depends on

    # ------------------------------------------------------------------ orders and levels

    def next_order(self) -> None:
        """Go to the next order: coefficients of all variables must be given again."""
        assert len(self.levels) == 1
        self.order += 1
        self.lower.append({})
        self.levels = [self.lower[-1]]

    def push(self) -> None:
        """From here on what depends on newly given coefficients is a trial."""
        self.levels.append({})

    def pop(self) -> None:
        """Forget the last trial."""
        self.levels.pop()

    def give(self, v: int, coefficient: int, like: int | None = None) -> None:
        """The coefficient of a variable at the present order; on the level of the expression ``like``, else the top."""
        level = len(self.levels) - 1 if like is None else self._level(like)
        self.levels[level][var(self.g, v)] = coefficient

    def _level(self, e: int) -> int:
        return next((n for n in range(len(self.levels) - 1, 0, -1) if e in self.levels[n]), 0)

    def of(self, e: int) -> int:
        """Coefficient of an expression at the present order."""
        for i in reachable(self.g, (e,)):  # ascending: no deep recursion
            for k in range(1, self.order + 1):
                self.at(i, k)
        return self.at(e, self.order)

    def at(self, i: int, k: int) -> int:
        """Coefficient k of node i."""
        if k == 0:
            return i
        if k < self.order:
            known = self.lower[k]
            found = known.get(i)
            if found is None:
                found = known[i] = self._rule(i, k)
            return found
        for n in range(len(self.levels) - 1, -1, -1):
            found = self.levels[n].get(i)
            if found is not None:
                self._depth = max(self._depth, n)
                return found
        outer, self._depth = self._depth, 0
        found = self._rule(i, k)
        self.levels[self._depth][i] = found
        self._depth = max(self._depth, outer)
        return found

    # ------------------------------------------------------------------ sums of products

    def _total(self, terms: Iterable[tuple[int, int]]) -> int:
        """Sum of products."""
        total = self.zero
        for a, b in terms:
            total = add(self.g, total, mul(self.g, a, b))
        return total

    def _times(self, factor: float, e: int) -> int:
        return mul(self.g, const(self.g, factor), e)

    def _rate(self, i: int, j: int) -> int:
        """j a_j: coefficient j - 1 of the derivative, shared by all functions of a."""
        return self._times(float(j), self.at(i, j))

    def _product(self, a: int, b: int, k: int, first: int = 0) -> int:
        """sum of a_j b_{k-j} over j = first .. k - first; a square needs half of it."""
        if a != b:
            return self._total((self.at(a, j), self.at(b, k - j)) for j in range(first, k - first + 1))
        half = self._total((self.at(a, j), self.at(a, k - j)) for j in range(first, (k + 1) // 2))
        total = self._times(2.0, half)
        if k % 2 == 0 and k // 2 >= first:
            middle = self.at(a, k // 2)
            total = add(self.g, total, mul(self.g, middle, middle))
        return total

    def _driven(self, a: int, w: int, k: int) -> int:
        """y' = w a'"""
        total = self._total((self._rate(a, j), self.at(w, k - j)) for j in range(1, k + 1))
        return self._times(1.0 / k, total)

    def _divided(self, y: int, w: int, rate: int, k: int) -> int:
        """w y' = n, with rate = n_{k-1} / k"""
        used = self._total((self._rate(y, j), self.at(w, k - j)) for j in range(1, k))
        return div(self.g, sub(self.g, rate, self._times(1.0 / k, used)), w)

    # ------------------------------------------------------------------ rules

    def _rule(self, i: int, k: int) -> int:
        g = self.g
        node = g.nodes[i]
        op = node[0]
        if op in _STEPS or op == Op.VAR:  # a variable that nobody gave a coefficient is constant
            return self.zero
        if op == Op.TIME:
            return const(g, 1.0 if k == 1 else 0.0)
        if op == Op.ADD:
            return add(g, self.at(node[1], k), self.at(node[2], k))
        if op == Op.SUB:
            return sub(g, self.at(node[1], k), self.at(node[2], k))
        if op == Op.NEG:
            return neg(g, self.at(node[1], k))
        if op == Op.MUL:
            return self._product(node[1], node[2], k)
        if op == Op.DIV:
            used = self._total((self.at(node[2], j), self.at(i, k - j)) for j in range(1, k + 1))
            return div(g, sub(g, self.at(node[1], k), used), node[2])
        if op == Op.HOMOTOPY:  # while simulating it is the actual model
            return self.at(node[1], k)
        if op in (Op.IF, Op.MIN, Op.MAX, Op.ABS):
            return self._choice(i, node, k)
        if op == Op.TABLE:
            return self._table(node, k)
        rule = _RULES.get(op)
        if rule is None:
            raise UnsupportedError(f"the function {OP_NAME[op]} has no Taylor coefficients")
        operands = node[1:]
        if all(self.at(a, j) == self.zero for a in operands for j in range(1, k + 1)):
            return self.zero
        return rule(self, i, node, k)

    def _choice(self, i: int, node: tuple[int, ...], k: int) -> int:
        g, op = self.g, node[0]
        if op == Op.ABS:
            a = self.at(node[1], k)
            return choose(g, binary(g, Op.LT, node[1], self.zero), neg(g, a), a)
        return chosen(g, i, self.at(node[-2], k), self.at(node[-1], k))

    def _table(self, node: tuple[int, ...], k: int) -> int:
        """T(a_0 + s) = sum_n T^(n) s^n / n! with s = a - a_0, n = 1..3."""
        g = self.g
        number, derivative, a = node[1:]
        degree = max((n for piece in self.tables[number].coefficients for n in range(4) if piece[n] != 0.0), default=0)
        total = self.zero
        powers = [self.zero] + [self.at(a, j) for j in range(1, k + 1)]  # coefficients of s^n
        factorial = 1.0
        for n in range(1, min(degree - derivative, k) + 1):
            if n > 1:
                factorial *= n
                powers = [self._total((self.at(a, j), powers[m - j]) for j in range(1, m)) for m in range(k + 1)]
            slope = g.intern((Op.TABLE, number, derivative + n, a))
            total = add(g, total, mul(g, slope, self._times(1.0 / factorial, powers[k])))
        return total

    def _power(self, i: int, node: tuple[int, ...], k: int) -> int:
        g = self.g
        a, b = node[1:]
        exponent = value_of(g, b)
        if exponent is not None and exponent.is_integer() and abs(exponent) <= _LARGEST_WHOLE:
            if exponent < 0.0:
                return self.at(div(g, const(g, 1.0), self._whole(a, int(-exponent))), k)
            return self.at(self._whole(a, int(exponent)), k)
        if all(self.at(b, j) == self.zero for j in range(1, k + 1)):
            total = self.zero
            for j in range(1, k + 1):  # (c j - (k - j)) a_j y_{k-j}
                weight = sub(g, self._times(float(j), b), const(g, float(k - j)))
                total = add(g, total, mul(g, mul(g, weight, self.at(a, j)), self.at(i, k - j)))
            return div(g, total, self._times(float(k), a))
        return self._driven(mul(g, b, apply(g, Op.LOG, a)), i, k)

    def _whole(self, a: int, n: int) -> int:
        """a^n as products; the value of the power itself is not needed for this."""
        if n == 1:
            return a
        half = self._whole(a, n // 2)
        square = mul(self.g, half, half)
        return square if n % 2 == 0 else mul(self.g, square, a)

    # functions of one operand; arguments: the node's number, the node, the order

    def _sqrt(self, i: int, node: tuple[int, ...], k: int) -> int:
        rest = sub(self.g, self.at(node[1], k), self._product(i, i, k, 1))
        return div(self.g, rest, self._times(2.0, i))

    def _slope(self, i: int, node: tuple[int, ...], k: int) -> int:
        """y' = w a' with w = dy/da as it is differentiated: exp, sin, cos, tan, sinh, cosh, tanh."""
        w = partial(self.g, i, 0)
        negative = self.g.nodes[w][0] == Op.NEG
        total = self._driven(node[1], self.g.nodes[w][1] if negative else w, k)
        return neg(self.g, total) if negative else total

    def _log(self, i: int, node: tuple[int, ...], k: int) -> int:
        return self._divided(i, node[1], self.at(node[1], k), k)

    def _log10(self, _: int, node: tuple[int, ...], k: int) -> int:
        return self._times(LOG10_E, self.at(apply(self.g, Op.LOG, node[1]), k))

    def _arc(self, i: int, node: tuple[int, ...], k: int) -> int:
        """sqrt(1 - a^2) asin' = a', (1 + a^2) atan' = a', acos' = -asin'"""
        g, a = self.g, node[1]
        if node[0] == Op.ACOS:
            return neg(g, self.at(g.intern((Op.ASIN, a)), k))
        one, square = const(g, 1.0), mul(g, a, a)
        w = add(g, one, square) if node[0] == Op.ATAN else apply(g, Op.SQRT, sub(g, one, square))
        return self._divided(i, w, self.at(a, k), k)

    def _atan2(self, i: int, node: tuple[int, ...], k: int) -> int:
        """(x^2 + y^2) y' = x y' - y x' of atan2(y, x)"""
        g = self.g
        y, x = node[1:]
        rate = sub(
            g,
            self._total((self._rate(y, j), self.at(x, k - j)) for j in range(1, k + 1)),
            self._total((self._rate(x, j), self.at(y, k - j)) for j in range(1, k + 1)),
        )
        return self._divided(i, add(g, mul(g, x, x), mul(g, y, y)), self._times(1.0 / k, rate), k)


_RULES: dict[int, Callable[[Series, int, tuple[int, ...], int], int]] = {
    Op.POW: Series._power,
    Op.ATAN2: Series._atan2,
    Op.SQRT: Series._sqrt,
    Op.LOG: Series._log,
    Op.LOG10: Series._log10,
    **dict.fromkeys((Op.EXP, Op.SIN, Op.COS, Op.TAN, Op.SINH, Op.COSH, Op.TANH), Series._slope),
    **dict.fromkeys((Op.ASIN, Op.ACOS, Op.ATAN), Series._arc),
}
