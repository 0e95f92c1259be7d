"""What a step in float computes in double all the same: phases, which grow with time.

t = t0 + step * tau is formed in double from the number of steps. In float, w * t has lost a radian's second digit after
some minutes, so what grows with time stays in double until a function or a comparison takes it:

    pure     made of time, parameters and constants alone: all its operations
    mixed    a sum or difference with something wide in it: w*t + phi
    taken    sin(w*t + phi), t >= pre(next): evaluated in double, the result is rounded (a Boolean needs no rounding)

Everything else is in float: products with states, right sides, matrices. Names that must be rounded are ``narrow``.
"""

from __future__ import annotations

from collections.abc import Sequence

from pliant.codegen.plan import Shared
from pliant.codegen.program import Assign
from pliant.expr.build import operands
from pliant.expr.walk import memoised
from pliant.ir import Graph, Op

_SUMS = (Op.ADD, Op.SUB, Op.NEG)
_GROWS = (*_SUMS, Op.MUL, Op.DIV, Op.POW, Op.IF, Op.MIN, Op.MAX, Op.ABS, Op.FLOOR, Op.CEIL)


class Wide:
    """Knows which values of a step in float are kept in double."""

    def __init__(self, shared: Shared, clocks: Sequence[int], statements: Sequence[Assign], narrow: set[int]) -> None:
        shared.extend()
        self.g: Graph = shared.g
        self.shared = shared
        self.variables = {v for v in clocks if v >= 0}  # that are wide
        self.pure_variables = set(self.variables)
        self._memo: dict[int, tuple[bool, bool]] = {}
        for one in statements:
            wide, pure = self._found(one.expression)
            if wide and one.target not in narrow:
                self.variables.add(one.target)
                if pure:
                    self.pure_variables.add(one.target)

    def is_wide(self, e: int) -> bool:
        """Kept in double."""
        return self._found(e)[0]

    def takes(self, e: int) -> bool:
        """Evaluated in double: it has an operand that is wide."""
        op = self.g.nodes[e][0]
        return (
            op > Op.ARG and (op not in _GROWS or self.is_wide(e)) and any(self.is_wide(a) for a in operands(self.g, e))
        )

    def _found(self, e: int) -> tuple[bool, bool]:
        """Is it wide, is it pure?"""
        if len(self.shared.fixed) < len(self.g.nodes):
            self.shared.extend()
        return memoised(e, self._memo, self._below, self._of)

    def _below(self, i: int) -> Sequence[int]:
        return () if self.shared.fixed[i] else operands(self.g, i)

    def _of(self, i: int) -> tuple[bool, bool]:
        node, below = self.g.nodes[i], self._below(i)
        op = node[0]
        if self.shared.fixed[i] or op <= Op.ARG:
            known = op == Op.VAR and not self.shared.fixed[i]
            return known and node[1] in self.variables, known and node[1] in self.pure_variables
        if op not in _GROWS:
            return False, False
        if op == Op.IF:
            below = below[1:]
        found = [self._memo[a] for a in below]
        wide = any(one for one, _ in found)
        pure = wide and all(one or self.shared.fixed[a] for a, (_, one) in zip(below, found, strict=True))
        return wide and (pure or op in _SUMS), pure
