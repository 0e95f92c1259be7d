"""Numbers from expressions: slow, plain, and independent of the generated C (which the tests compare with it)."""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pliant.expr.build import BINARY, UNARY, operands, reachable, substitute, variables_of
from pliant.expr.walk import memoised
from pliant.foreign.evaluate import results
from pliant.ir import Function, Graph, Kind, Op, Relation, Routine, System, Table
from pliant.sorted_system import ScalarModel

_FUNCTIONS: dict[int, Callable[[float], float]] = UNARY | {Op.NOT: lambda a: not a, Op.NEG: lambda a: -a}


def _power(a: float, b: float) -> float:
    try:
        result = a**b
    except (ZeroDivisionError, OverflowError):
        return math.inf
    return result if isinstance(result, float | int) else math.nan


_BINARY: dict[int, Callable[[float, float], float]] = BINARY | {
    Op.ADD: lambda a, b: a + b,
    Op.SUB: lambda a, b: a - b,
    Op.MUL: lambda a, b: a * b,
    Op.DIV: lambda a, b: a / b if b else (math.copysign(math.inf, a) if a else math.nan),
    Op.POW: _power,
    Op.AND: lambda a, b: bool(a) and bool(b),
    Op.OR: lambda a, b: bool(a) or bool(b),
}


def table_value(table: Table, order: int, u: float) -> float:
    """Value of a table (or of its derivative) at u."""
    knots = table.knots
    if table.extrapolation == "repeat":
        u = knots[0] + (u - knots[0]) % (knots[-1] - knots[0])
    if table.extrapolation == "hold" and not knots[0] <= u <= knots[-1]:
        if order:
            return 0.0
        u = min(max(u, knots[0]), knots[-1])
    if table.extrapolation == "error" and not knots[0] <= u <= knots[-1]:
        return math.nan
    i = min(max(bisect.bisect_right(knots, u) - 1, 0), len(table.coefficients) - 1)
    c = table.coefficients[i]
    s = u - knots[i]
    if order == 0:
        return c[0] + s * (c[1] + s * (c[2] + s * c[3]))
    if order == 1:
        return c[1] + s * (2.0 * c[2] + s * 3.0 * c[3])
    if order == 2:
        return 2.0 * c[2] + 6.0 * s * c[3]
    return 6.0 * c[3] if order == 3 else 0.0


def evaluate(
    g: Graph,
    roots: Sequence[int],
    values: Mapping[int, float],
    time: float = 0.0,
    functions: Sequence[Function] = (),
    tables: Sequence[Table] = (),
    relations: Sequence[Relation] = (),
) -> list[float]:
    """Numbers of the given expressions; ``values`` by number of the variable. NaN where one is not defined.

    >>> from pliant.expr.build import add, const, var
    >>> g = Graph()
    >>> evaluate(g, [add(g, var(g, 0), const(g, 2.0))], {0: 3.0})
    [5.0]
    """
    return _Evaluation(g, values, time, functions, tables, relations).of(roots)


def number_in(of: System | ScalarModel, g: Graph, e: int, values: Mapping[int, float]) -> float:
    """The number of an expression of parameters, which may call functions and read tables of its model."""
    return evaluate(g, [e], values, 0.0, of.functions, of.tables, of.relations)[0]


TURNS = 1000  # of a loop inside a function, here


@dataclass(eq=False)
class _Evaluation:
    """One point; calls and relations are followed, not expanded, so that the graph stays as it is."""

    g: Graph
    values: Mapping[int, float]
    time: float
    functions: Sequence[Function]
    tables: Sequence[Table]
    relations: Sequence[Relation]
    called: dict[tuple[Routine, tuple[float, ...]], list[float]] = field(default_factory=dict)

    def of(self, roots: Sequence[int], args: Sequence[float] = ()) -> list[float]:
        """Numbers of expressions; ``args``: the arguments, inside the body of a function."""
        at: dict[int, float] = {}

        def value(i: int) -> float:
            return self._node(self.g.nodes[i], at, args)

        under = reachable(self.g, roots)
        if any(self.g.nodes[i][0] == Op.REL for i in under):  # the sides of a relation may have larger numbers
            return [memoised(e, at, self._below, value) for e in roots]
        for i in under:
            at[i] = value(i)
        return [at[e] for e in roots]

    def _below(self, i: int) -> Sequence[int]:
        node = self.g.nodes[i]
        if node[0] == Op.REL:
            relation = self.relations[node[1]]
            return relation.lhs, relation.rhs
        return operands(self.g, i)

    def _node(self, node: tuple[Any, ...], at: dict[int, float], args: Sequence[float]) -> float:
        op = node[0]
        if op in _BINARY:
            return float(_BINARY[op](at[node[1]], at[node[2]]))
        if op <= Op.ARG:
            return self._leaf(node, at, args)
        if op == Op.IF:
            return at[node[2]] if at[node[1]] else at[node[3]]
        if op == Op.TABLE:
            return table_value(self.tables[node[1]], node[2], at[node[3]])
        if op == Op.HOMOTOPY:
            return at[node[1]]
        if op == Op.DELAY:
            return (at[node[4]], 0.0, 1.0)[node[2]]  # as at the start
        if op == Op.PIPE:
            return self._pipe(node, at)
        if op == Op.FOREIGN:
            if node[1].n_lead and not at[node[3]]:
                return 0.0  # not made
            args = [at[a] for a in node[3 + node[1].n_lead :]]
            return math.nan if any(map(math.isnan, args)) else results(node[1], args)[0][node[2]]
        if op == Op.ROUTINE:
            return self._routine(node[1], node[2], tuple(at[a] for a in node[3:]))
        if op == Op.CALL:
            return self.of([self.functions[node[1]].outputs[node[2]]], [at[a] for a in node[3:]])[0]
        try:
            return float(_FUNCTIONS[op](at[node[1]]))
        except (ValueError, OverflowError):
            return math.nan

    def _pipe(self, node: tuple[Any, ...], at: dict[int, float]) -> float:
        """As at the start."""
        _, number, order, *operands = node
        first = 6 + (len(operands) - 6) // 2 if number % 2 == 0 else -1
        return at[operands[first]] if order == 0 else float(order == 5)

    def _routine(self, routine: Routine, output: int, args: tuple[float, ...]) -> float:
        known = self.called.get((routine, args))
        if known is None:
            known = self.called[routine, args] = self._outputs(routine, args)
        return known[output]

    def _outputs(self, routine: Routine, args: tuple[float, ...]) -> list[float]:
        values = dict(enumerate(args))
        inner = _Evaluation(routine.graph, values, 0.0, (), (), (), self.called)
        if routine.condition < 0:
            return inner.of(routine.outputs)
        for _ in range(TURNS):
            if not inner.of([routine.condition])[0]:
                return [values[k] for k in routine.state]
            values.update(zip(routine.state, inner.of(routine.outputs), strict=True))
        return [math.nan] * len(routine.state)

    def _leaf(self, node: tuple[Any, ...], at: dict[int, float], args: Sequence[float]) -> float:
        op = node[0]
        if op == Op.CONST:
            return float(node[1])
        if op == Op.VAR:
            return self.values.get(node[1], math.nan)
        if op == Op.TIME:
            return self.time
        if op == Op.ARG:
            return float(args[node[1]])
        relation = self.relations[node[1]]
        lhs, rhs = at[relation.lhs], at[relation.rhs]
        return float(lhs < rhs if relation.strict else lhs <= rhs)


def expand_calls(g: Graph, roots: Sequence[int], functions: Sequence[Function]) -> list[int]:
    """Put the bodies of functions in the place of their calls."""
    out = list(roots)
    while True:
        calls = [i for i in reachable(g, out) if g.nodes[i][0] == Op.CALL]
        if not calls:
            return out
        done: dict[int, int] = {}
        for i in calls:  # ascending: calls among the arguments are expanded already
            node = g.nodes[i]
            args = substitute(g, node[3:], {}, done)
            leaf = {g.intern((Op.ARG, k)): a for k, a in enumerate(args)}
            done[i] = substitute(g, [functions[node[1]].outputs[node[2]]], leaf)[0]
        out = substitute(g, out, {}, done)


def expand_relations(g: Graph, roots: Sequence[int], relations: Sequence[Relation]) -> list[int]:
    """Put the comparisons themselves in the place of relations that are held between events."""
    out = list(roots)
    while True:  # the sides of a relation may contain relations
        leaf: dict[int, int] = {}
        for i in reachable(g, out):
            node = g.nodes[i]
            if node[0] == Op.REL:
                r = relations[node[1]]
                leaf[i] = g.intern((Op.LT if r.strict else Op.LE, r.lhs, r.rhs))
        if not leaf:
            return out
        out = substitute(g, out, leaf)


def parameter_values(system: System | ScalarModel, changed: Mapping[int, float] | None = None) -> dict[int, float]:
    """Values of all parameters and constants, bindings evaluated in the order of their dependence."""
    changed = changed or {}
    g = system.graph
    values: dict[int, float] = {}
    waiting = [v for v, var in enumerate(system.variables) if var.kind in (Kind.PARAMETER, Kind.CONSTANT)]
    needs: dict[int, set[int]] = {}
    ready: list[int] = []
    users: dict[int, list[int]] = {}
    for v in waiting:
        var = system.variables[v]
        e = var.binding if var.binding is not None else var.start
        needs[v] = set() if e is None or v in changed else variables_of(g, e) - {v}
        for w in needs[v]:
            users.setdefault(w, []).append(v)
        if not needs[v]:
            ready.append(v)
    while ready:
        v = ready.pop()
        var = system.variables[v]
        e = var.binding if var.binding is not None else var.start
        if v in changed:
            values[v] = changed[v]
        else:
            values[v] = 0.0 if e is None else evaluate(g, [e], values, 0.0, system.functions, system.tables)[0]
        for w in users.get(v, ()):
            needs[w].discard(v)
            if not needs[w]:
                ready.append(w)
    return values
