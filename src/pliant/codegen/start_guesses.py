"""Better first guesses of free states: what initial equations and the equations of the model give one after the other.

An equation with one unknown that is left, linear in it, gives that unknown; from a level that is given at the start
follow a volume, a mass and an energy. Newton's iteration begins there and not at 0, where many models are singular
(u = U/m). What is found is a guess only, and where it is no finite number the start value remains.
"""

from __future__ import annotations

from collections.abc import Iterable

from pliant.codegen.program import Program
from pliant.expr.build import apply, binary, choose, const, div, neg, substitute, value_of, var, variables_of
from pliant.expr.differentiate import gradient
from pliant.expr.evaluate import expand_relations
from pliant.ir import Kind, Op

LARGEST = 1e100
_KNOWN = (Kind.PARAMETER, Kind.CONSTANT)


def follow(program: Program, conditions: Iterable[int], given: dict[int, int]) -> dict[int, int]:
    """Variable -> expression of parameters, for what follows; ``given``: the same for what is fixed at the start."""
    s, g = program.sorted, program.graph
    is_open = {v for v, one in enumerate(program.variables) if one.initial and one.binding is None}
    known = dict(given)
    residuals = expand_relations(g, [*conditions, *(one.residual for one in s.equations)], s.relations)
    unknowns: list[set[int]] = []
    users: dict[int, list[int]] = {}
    for k, e in enumerate(residuals):
        own = {
            v
            for v in variables_of(g, e)
            if v not in known and (program.variables[v].kind not in _KNOWN or v in is_open)
        }
        unknowns.append(own)
        for v in own:
            users.setdefault(v, []).append(k)
    ready = [k for k, own in enumerate(unknowns) if len(own) == 1]
    while ready:
        k = ready.pop()
        if len(unknowns[k]) != 1:
            continue
        (v,) = unknowns[k]
        value = _solved(program, residuals[k], v, known)
        if value is None:
            continue
        known[v] = value
        for user in users[v]:
            unknowns[user].discard(v)
            if len(unknowns[user]) == 1:
                ready.append(user)
    return known


def _solved(program: Program, residual: int, v: int, known: dict[int, int]) -> int | None:
    """The value of the only unknown of an equation that is linear in it."""
    g = program.graph
    slope = gradient(g, residual, lambda w: w == v).get(v)
    if slope is None or v in variables_of(g, slope):
        return None
    leaf = {var(g, w): e for w, e in known.items()}
    leaf[var(g, v)] = const(g, 0.0)
    rest, factor = substitute(g, [residual, slope], leaf)
    if value_of(g, factor) == 0.0:
        return None
    return neg(g, div(g, rest, factor))


def guarded(program: Program, value: int, start: int) -> int:
    """The value where it is a finite number, else the start value."""
    g = program.graph
    finite = binary(g, Op.LE, apply(g, Op.ABS, value), const(g, LARGEST))
    return choose(g, finite, value, start)
