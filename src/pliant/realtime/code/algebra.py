"""Scalar assignments on a graph of expressions, and LU factors made of them.

With at_ij the entry that elimination has reached, pivot p in row r and column c: inverse_p = 1/at_rc,
l_ip = at_ic inverse_p, at_ij -= l_ip at_rj; a solution goes forward with l and backward with at_rj and inverse_p.
Structural zeros are skipped, nothing is searched at run time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pliant.codegen.plan import Shared
from pliant.codegen.program import Assign
from pliant.expr.build import const, div, mul, neg, operands, sub, var
from pliant.ir import Graph, Kind, Op, Variable
from pliant.realtime.sparsing.elimination import Elimination, Entry


@dataclass(eq=False)
class Factors:
    """LU factors as expressions."""

    elimination: Elimination
    inverse: list[int]  # per pivot
    lower: list[list[tuple[int, int]]]  # per pivot: (row, multiplier)
    upper: list[list[tuple[int, int]]]  # per pivot: (column, entry)
    pivot: list[int] = field(default_factory=list)


class StepShared(Shared):
    """Knows which variables that move an expression uses."""

    def uses(self, e: int) -> tuple[int, ...]:
        """Variables in an expression, without those of its constant parts, which may be large."""
        found = self._uses.get(e)
        if found is None:
            if len(self.fixed) < len(self.g.nodes):
                self.extend()
            nodes, fixed = self.g.nodes, self.fixed
            seen: set[int] = set()
            stack = [e]
            while stack:
                i = stack.pop()
                if i not in seen and not fixed[i]:
                    seen.add(i)
                    stack.extend(operands(self.g, i))
            found = tuple(sorted(nodes[i][1] for i in seen if nodes[i][0] == Op.VAR))
            self._uses[e] = found
        return found


class Algebra:
    """Assignments in ``out``."""

    def __init__(self, g: Graph, variables: list[Variable]) -> None:
        self.g, self.variables = g, variables
        self.shared = StepShared(g, variables)
        self.out: list[Assign] = []
        self.zero, self.one = const(g, 0.0), const(g, 1.0)
        self.in_float = False  # what grows with time stays in double, see wide.py
        self.timed: set[int] = set()  # variables that read time
        self._looked = 0
        self.narrow: set[int] = set()  # variables in the precision of the step, whatever they are made of

    def temporary(self, name: str) -> int:
        """A new variable that only the generated code knows."""
        self.variables.append(Variable(name, Kind.SELECTION))
        return len(self.variables) - 1

    def named(self, name: str, e: int) -> int:
        """e under a name of its own, so that nothing folds through it; what is constant stays as it is."""
        if self.is_fixed(e) or self.g.nodes[e][0] == Op.VAR:
            return e
        return self.opaque(name, e)

    def rounded(self, name: str, e: int) -> int:
        """e in the precision of the step, under a name of its own where it moves."""
        if self.is_fixed(e):
            return e
        found = self.opaque(name, e)
        self.narrow.add(self.g.nodes[found][1])
        return found

    def opaque(self, name: str, e: int) -> int:
        """e under a name of its own."""
        v = self.temporary(name)
        self.out.append(Assign(v, e))
        return var(self.g, v)

    def is_fixed(self, e: int) -> bool:
        """Depends on parameters only."""
        self.shared.extend()
        return self.shared.fixed[e]

    def _part(self, name: str, e: int) -> int:
        """A part of a solution: rounded, but what has a name already keeps it."""
        return e if self.g.nodes[e][0] == Op.VAR else self.rounded(name, e)

    def factor(self, elimination: Elimination, entries: Mapping[Entry, int], name: str) -> Factors:
        """LU factors of a matrix whose structural nonzeros are ``entries``."""
        g = self.g
        at = dict(entries)
        rows: dict[int, set[int]] = {}
        columns: dict[int, set[int]] = {}
        for i, j in (*elimination.entries, *elimination.fill):
            rows.setdefault(i, set()).add(j)
            columns.setdefault(j, set()).add(i)
        out = Factors(elimination, [], [], [])
        for r, c in elimination.pivots:
            rows_below = sorted(columns.pop(c) - {r})
            right = sorted(rows.pop(r) - {c})
            for i in rows_below:
                rows[i].discard(c)
            for j in right:
                columns[j].discard(r)
                at[r, j] = self._part(f"{name}.u.{r}.{j}", at.get((r, j), self.zero))
            pivot = at.get((r, c), self.zero)
            inverse = self._part(f"{name}.inverse.{c}", div(g, self.one, pivot))
            lower = []
            for i in rows_below:
                factor = self._part(f"{name}.l.{i}.{c}", mul(g, at.get((i, c), self.zero), inverse))
                lower.append((i, factor))
                for j in right:
                    update = mul(g, factor, at[r, j])
                    before = at.get((i, j))
                    at[i, j] = neg(g, update) if before is None else sub(g, before, update)
            out.pivot.append(pivot)
            out.inverse.append(inverse)
            out.lower.append(lower)
            out.upper.append([(j, at[r, j]) for j in right])
        return out

    def _right(self, e: int, name: str) -> int:
        """A right side: rounded before it is subtracted from if it grows with time."""
        grows = self.in_float and self.g.nodes[e][0] in (Op.ADD, Op.SUB, Op.NEG, Op.MUL, Op.DIV, Op.VAR)
        return self.rounded(f"{name}.right", e) if grows and self._reads_time(e) else e

    def _reads_time(self, e: int) -> bool:
        """Directly or through other variables."""
        for one in self.out[self._looked :]:
            if any(v in self.timed for v in self.shared.uses(one.expression)):
                self.timed.add(one.target)
        self._looked = len(self.out)
        return any(v in self.timed for v in self.shared.uses(e))

    def solve(self, factors: Factors, right: Sequence[int], name: str) -> list[int]:
        """Solution per column."""
        g = self.g
        b = [self._right(e, name) for e in right]
        pivots = factors.elimination.pivots
        for (r, _), lower in zip(pivots, factors.lower, strict=True):
            if b[r] == self.zero:
                continue
            if lower:
                b[r] = self._part(f"{name}.b.{r}", b[r])
            for i, factor in lower:
                b[i] = sub(g, b[i], mul(g, factor, b[r]))
        x = [self.zero] * len(b)
        for k in range(len(pivots) - 1, -1, -1):
            r, c = pivots[k]
            total = b[r]
            for j, e in factors.upper[k]:
                total = sub(g, total, mul(g, e, x[j]))
            x[c] = self._part(f"{name}.{c}", mul(g, total, factors.inverse[k]))
        return x
