"""Signed alias elimination: variables that are equal to another one, to its negative, or to a constant.

Accepted are equations that fold to ``k (x - y) = 0``, ``k (x + y) = 0``, ``k (x - c) = 0`` and ``0 = 0`` with literal
k, c, and the same with a parameter in the place of y. ``x = p y`` is no alias. Classes are kept by union-find with
the product of signs along the chain.

Equality carries over to derivatives: a = s b makes a' = s b', and a constant makes a' = 0. Refused are

    x = der(x)              one is in the other's chain of derivatives
    der(p) = a = der(q)     p - q is a free constant, so p and q are different states
    der(x) = c              x would lose its derivative

After the choice of states (``frozen``) derivatives are unknowns like any other and nothing is carried over.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace

from pliant.errors import ModelError
from pliant.expr.build import const, neg, substitute, value_of, var
from pliant.ir import Equation, Graph, Kind, Op, Variable, with_residual

UNKNOWN = (Kind.UNKNOWN, Kind.DERIVATIVE)
MAX_VISITS = 64  # nodes looked at before an equation counts as "not an alias"


@dataclass
class Classes:
    """Who stands for whom. ``parent[v] = (w, s)``: v = s w; ``value[v]``: v is this constant expression."""

    parent: dict[int, tuple[int, int]] = field(default_factory=dict)
    value: dict[int, int] = field(default_factory=dict)

    def find(self, v: int) -> tuple[int, int]:
        """(representative, sign), with path compression."""
        path: list[tuple[int, int]] = []
        sign = 1
        while v in self.parent:
            up, s = self.parent[v]
            path.append((v, s))
            v = up
        for node, s in reversed(path):
            sign *= s
            self.parent[node] = (v, sign)
        return v, sign

    def expression(self, g: Graph, v: int) -> int:
        """What v is, as an expression."""
        root, sign = self.find(v)
        e = self.value.get(root)
        e = var(g, root) if e is None else e
        return e if sign > 0 else neg(g, e)

    def eliminated(self) -> list[int]:
        """Variables that do not appear in the equations any more."""
        return sorted({*self.parent, *self.value})


class AliasPass:
    """One run over the equations until nothing changes."""

    def __init__(
        self,
        g: Graph,
        variables: list[Variable],
        derivative: dict[int, int],
        classes: Classes,
        frozen: Collection[int] | None = None,
    ) -> None:
        self.g = g
        self.variables = variables
        self.classes = classes
        self.frozen = frozen
        # derivative of the representative: (variable, sign); only before the choice of states
        self.diff: dict[int, tuple[int, int]] = {}
        self.integral: dict[int, int] = {}
        if frozen is None:
            for v, d in derivative.items():
                self.diff[v] = (d, 1)
                self.integral[d] = v
        self.redundant: list[Equation] = []
        self.changed = False

    def run(self, equations: list[Equation]) -> list[Equation]:
        """Eliminate; returns the equations that are left, rewritten."""
        dirty = True
        memo: dict[int, int] = {}
        while dirty:
            self.changed = False
            kept: list[Equation] = []
            for equation in equations:
                if not self._accept(equation):
                    kept.append(equation)
            dirty = self.changed
            leaf = {var(self.g, v): self.classes.expression(self.g, v) for v in self.classes.eliminated()}
            memo = {}
            new = substitute(self.g, [e.residual for e in kept], leaf, memo)
            equations = [with_residual(one, residual) for one, residual in zip(kept, new, strict=True)]
        return equations

    # ------------------------------------------------------------------ what an equation says

    def _linear_form(self, e: int) -> tuple[dict[int, float], dict[int, float], float] | None:
        """Coefficients of unknowns (by representative) and of knowns, and the constant; None if it is more."""
        nodes, g = self.g.nodes, self.g
        unknown: dict[int, float] = {}
        known: dict[int, float] = {}
        constant = 0.0
        stack = [(e, 1.0)]
        for _ in range(MAX_VISITS):
            if not stack:
                return unknown, known, constant
            i, c = stack.pop()
            node = nodes[i]
            op = node[0]
            if op == Op.CONST:
                constant += c * node[1]
            elif op == Op.VAR:
                kind = self.variables[node[1]].kind
                if kind not in UNKNOWN:
                    known[node[1]] = known.get(node[1], 0.0) + c
                    continue
                root, sign = self.classes.find(node[1])
                fixed = self.classes.value.get(root)
                if fixed is not None:
                    stack.append((fixed, c * sign))
                    continue
                total = unknown.get(root, 0.0) + c * sign
                unknown[root] = total
                if total == 0.0:
                    del unknown[root]
                if len(unknown) > 4:
                    return None
            elif op in (Op.ADD, Op.SUB):
                stack.append((node[1], c))
                stack.append((node[2], c if op == Op.ADD else -c))
            elif op == Op.NEG:
                stack.append((node[1], -c))
            elif op == Op.MUL and nodes[node[1]][0] == Op.CONST:
                stack.append((node[2], c * nodes[node[1]][1]))
            elif op == Op.DIV and value_of(g, node[2]):
                stack.append((node[1], c / nodes[node[2]][1]))
            else:
                return None
        return None

    def _accept(self, equation: Equation) -> bool:
        form = self._linear_form(equation.residual)
        if form is None:
            return False
        unknown, known, constant = form
        known = {v: c for v, c in known.items() if c != 0.0}
        if not unknown:
            return self._without_unknowns(equation, known, constant)
        if len(unknown) == 1:
            ((v, c),) = unknown.items()
            if not known:
                return self._set_value(v, const(self.g, -constant / c))
            if len(known) == 1 and constant == 0.0:
                ((p, k),) = known.items()
                hidden = self.variables[p].kind == Kind.BEFORE or self.variables[p].name.startswith("$")
                if abs(k) == abs(c) and not hidden:  # results are told under a name of the modeller
                    e = var(self.g, p)
                    return self._set_value(v, e if k == -c else neg(self.g, e), of=self.variables[p].kind)
            return False
        if len(unknown) == 2 and not known and constant == 0.0:
            (a, ca), (b, cb) = unknown.items()
            if abs(ca) == abs(cb):
                return self._merge(a, b, -1 if ca == cb else 1)
        return False

    def _without_unknowns(self, equation: Equation, known: dict[int, float], constant: float) -> bool:
        if known:
            return False
        if abs(constant) > 1e-12:
            where = f" ({equation.span})" if equation.span else ""
            text = equation.span.text if equation.span else equation.origin
            raise ModelError(
                f"the equation `{text}`{where} cannot hold: its sides differ by {constant:g} whatever the unknowns are",
                hint="two connected components may prescribe the same quantity; remove one of them",
                span=equation.span,
                rule="4.8",
            )
        self.redundant.append(equation)
        return True

    # ------------------------------------------------------------------ merging

    def _set_value(self, v: int, e: int, of: int = Kind.CONSTANT) -> bool:
        if self.frozen is not None:
            if v in self.frozen:
                return False
        else:
            loses_derivative = v in self.integral and self.classes.find(self.integral[v])[0] not in self.classes.value
            if loses_derivative or (of == Kind.INPUT and v in self.diff):
                return False
        self.classes.value[v] = e
        self.changed = True
        if v in self.diff:
            d, _ = self.classes.find(self.diff.pop(v)[0])
            if d not in self.classes.value:
                self._set_value(d, const(self.g, 0.0))
        return True

    def _rank(self, v: int) -> tuple[int, ...]:
        """The larger, the better as representative: a state, a name of the modeller, one with attributes or values."""
        variable = self.variables[v]
        return (
            self.frozen is not None and v in self.frozen,
            variable.kind != Kind.DERIVATIVE,
            int(variable.state_select),
            variable.fixed,
            v in self.diff,
            variable.start is not None,
            -v,
        )

    def _in_chain(self, a: int, b: int) -> bool:
        """b is a derivative of a"""
        seen = {a}
        while a in self.diff:
            a = self.classes.find(self.diff[a][0])[0]
            if a == b:
                return True
            if a in seen:
                return False
            seen.add(a)
        return False

    def _merge(self, a: int, b: int, sign: int) -> bool:
        """a = sign b, both representatives."""
        if self.frozen is not None:
            if a in self.frozen and b in self.frozen:
                return False
        else:
            if self._in_chain(a, b) or self._in_chain(b, a):
                return False
            ia, ib = self.integral.get(a), self.integral.get(b)
            if ia is not None and ib is not None and self.classes.find(ia)[0] != self.classes.find(ib)[0]:
                return False
        if self._rank(a) < self._rank(b):
            a, b = b, a
        self._unite(a, b, sign)
        return True

    def _unite(self, a: int, b: int, sign: int) -> None:
        """b = sign a from now on."""
        self.classes.parent[b] = (a, sign)
        self.changed = True
        select = max(self.variables[a].state_select, self.variables[b].state_select)
        if self.variables[a].state_select != select:
            self.variables[a] = replace(self.variables[a], state_select=select)
        if b in self.integral:
            self.integral.setdefault(a, self.integral.pop(b))
        if b not in self.diff:
            return
        d, s = self.diff.pop(b)
        if a not in self.diff:
            self.diff[a] = (d, s * sign)
            return
        # a' = sa da, b' = s d, b' = sign a'  =>  d = s sign sa da
        da, sa = self.diff[a]
        ra, qa = self.classes.find(da)
        rb, qb = self.classes.find(d)
        total = s * sign * sa * qa * qb
        if ra == rb:
            if total < 0:
                self.classes.value[ra] = const(self.g, 0.0)
        elif self._rank(ra) < self._rank(rb):
            self._unite(rb, ra, total)
        else:
            self._unite(ra, rb, total)

    def derivatives(self) -> dict[int, tuple[int, int]]:
        """Representative -> (representative of its derivative, sign), for classes that still have one."""
        out: dict[int, tuple[int, int]] = {}
        for v, (d, s) in self.diff.items():
            root, sign = self.classes.find(d)
            if root not in self.classes.value:
                out[v] = (root, s * sign)
        return out
