"""Parameters with fixed = false that initial equations give one after the other.

An initial equation between parameters alone, linear in one that is still unknown with a number as coefficient, is a
binding in other words: p = f(other parameters). It needs no guess and no iteration, and would often not survive one:
at the guess 0 the equations that come later in such a chain may divide by zero. Chains are followed in the order in
which they become known; what remains, loops and conditions on variables, is left to the initial values.
"""

from __future__ import annotations

from dataclasses import replace

from pliant.expr.build import reachable, substitute, value_of, var, variables_of
from pliant.expr.differentiate import gradient
from pliant.expr.evaluate import expand_calls
from pliant.ir import Kind, Op, Span, System
from pliant.structure.apply import SMALLEST, is_constant_kind, solve_linear, stepwise

_CHANGING = frozenset({Op.TIME, Op.REL, Op.HOMOTOPY, Op.PIPE})


def bind_unknowns(system: System) -> None:
    """Turn initial equations that determine a parameter into its binding, in place."""
    unknown = {
        v
        for v, one in enumerate(system.variables)
        if one.kind == Kind.PARAMETER and one.initial and one.binding is None
    }
    if not unknown:
        return
    rows = _expanded(system, unknown)
    waiting = {e: names for e, names in _candidates(system, rows, unknown).items() if names}
    of: dict[int, list[int]] = {}
    for e, names in waiting.items():
        for v in names:
            of.setdefault(v, []).append(e)
    ready = [e for e, names in waiting.items() if len(names) == 1]
    source: dict[int, int] = {}  # parameter -> number of the equation that gives it
    for e in ready:  # grows on the way
        if not waiting[e]:
            continue  # another equation gave it: this one remains as a condition
        (v,) = waiting[e]
        binding = _solved(system, rows[e], v)
        if binding is None:
            continue
        system.variables[v] = replace(system.variables[v], binding=binding)
        source[v] = e
        for other in of[v]:
            waiting[other].discard(v)
            if len(waiting[other]) == 1:
                ready.append(other)
    used = set(source.values())
    system.initial_equations = [
        replace(one, behind=_behind(system, rows, source, e))
        for e, one in enumerate(system.initial_equations)
        if e not in used
    ]


def _expanded(system: System, unknown: set[int]) -> list[int]:
    """Residuals of the initial equations: functions expanded, and parameters that are computed from unknown ones."""
    g = system.graph
    bound = {
        v: one.binding
        for v, one in enumerate(system.variables)
        if one.kind in (Kind.PARAMETER, Kind.CONSTANT) and one.binding is not None
    }
    depends: dict[int, bool] = {}

    def reads_unknown(v: int) -> bool:
        stack = [v]
        while stack:
            w = stack[-1]
            needed = variables_of(g, bound[w]) if w in bound else set()
            depends.setdefault(w, w in unknown)  # also ends a circle
            missing = [n for n in needed if n not in depends]
            if missing:
                stack.extend(missing)
                continue
            depends[w] = depends[w] or any(depends[n] for n in needed)
            stack.pop()
        return depends[v]

    rows = expand_calls(g, [one.residual for one in system.initial_equations], system.functions)
    for _ in bound:
        names = set().union(*(variables_of(g, row) for row in rows)) if rows else set()
        leaf = {var(g, v): bound[v] for v in names if v in bound and reads_unknown(v)}
        if not leaf:
            break
        rows = expand_calls(g, substitute(g, rows, leaf), system.functions)
    return rows


def _candidates(system: System, rows: list[int], unknown: set[int]) -> dict[int, set[int]]:
    """Initial equations between parameters alone, with the unknown ones in them."""
    g = system.graph
    waiting: dict[int, set[int]] = {}
    for e, residual in enumerate(rows):
        names = variables_of(g, residual)
        if system.initial_equations[e].target >= 0 or not names & unknown:
            continue
        if all(is_constant_kind(system.variables[v].kind) for v in names) and not any(
            g.nodes[i][0] in _CHANGING for i in reachable(g, (residual,))
        ):
            waiting[e] = names & unknown
    return waiting


def _behind(system: System, rows: list[int], source: dict[int, int], e: int) -> tuple[Span, ...]:
    """Places of the equations that gave the parameters in equation e, directly or through others."""
    found: dict[int, None] = {}
    todo = [e]
    while todo:
        for v in sorted(variables_of(system.graph, rows[todo.pop()])):
            if v in source and source[v] not in found:
                found[source[v]] = None
                todo.append(source[v])
    spans = (system.initial_equations[k].span for k in found)
    return tuple(span for span in spans if span is not None)


def _solved(system: System, residual: int, v: int) -> int | None:
    """The expression for v, or None if the residual is not linear in it with a number as coefficient."""
    g = system.graph

    def is_it(w: int) -> bool:
        return w == v

    if stepwise(g, residual, is_it):
        return None
    coefficient = gradient(g, residual, is_it).get(v)
    if coefficient is None:
        return None
    value = value_of(g, coefficient)
    return None if value is None or abs(value) < SMALLEST else solve_linear(g, residual, v, coefficient)
