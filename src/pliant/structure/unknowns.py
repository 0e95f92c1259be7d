"""Parameters with fixed = false that initial equations give one after the other.

An initial equation between parameters alone, linear in one that is still unknown with a number as coefficient, is a
binding in other words: p = f(other parameters). It needs no guess and no iteration, and would often not survive one:
at the guess 0 the equations that come later in such a chain may divide by zero. Chains are followed in the order in
which they become known; what remains, loops and conditions on variables, is left to the initial values.
"""

from __future__ import annotations

from pliant.expr.build import reachable, value_of, variables_of
from pliant.expr.differentiate import gradient
from pliant.expr.evaluate import expand_calls
from pliant.ir import Kind, Op, System
from pliant.structure.apply import SMALLEST, is_constant_kind, solve_linear, stepwise

_CHANGING = frozenset({Op.TIME, Op.REL, Op.HOMOTOPY})


def bind_unknowns(system: System) -> None:
    """Turn initial equations that determine a parameter into its binding, in place."""
    unknown = {
        v
        for v, one in enumerate(system.variables)
        if one.kind == Kind.PARAMETER and one.initial and one.binding is None
    }
    if not unknown:
        return
    rows, waiting = _candidates(system, unknown)
    of: dict[int, list[int]] = {}
    for e, names in waiting.items():
        for v in names:
            of.setdefault(v, []).append(e)
    ready = [e for e, names in waiting.items() if len(names) == 1]
    used: set[int] = set()
    for e in ready:  # grows on the way
        if not waiting[e]:
            continue  # another equation gave it: this one remains as a condition
        (v,) = waiting[e]
        binding = _solved(system, rows[e], v)
        if binding is None:
            continue
        system.variables[v].binding = binding
        used.add(e)
        for other in of[v]:
            waiting[other].discard(v)
            if len(waiting[other]) == 1:
                ready.append(other)
    system.initial_equations = [one for e, one in enumerate(system.initial_equations) if e not in used]


def _candidates(system: System, unknown: set[int]) -> tuple[dict[int, int], dict[int, set[int]]]:
    """Residuals of the initial equations between parameters alone, functions expanded, and the unknown ones in them."""
    g = system.graph
    rows: dict[int, int] = {}
    waiting: dict[int, set[int]] = {}
    for e, equation in enumerate(system.initial_equations):
        (residual,) = expand_calls(g, [equation.residual], system.functions)
        names = variables_of(g, residual)
        if not names & unknown or not all(is_constant_kind(system.variables[v].kind) for v in names):
            continue
        if not any(g.nodes[i][0] in _CHANGING for i in reachable(g, (residual,))):
            rows[e] = residual
            waiting[e] = names & unknown
    return rows, waiting


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
