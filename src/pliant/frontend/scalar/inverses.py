"""Inverses of functions: ``annotation(inverse(u = g(..., y, ...)))`` on the symbols of an entry (section 12.8).

An inverse that iterates, of a function that does not, is left out: Newton's iteration on the function is the same work,
with exact derivatives. So is one of a function that is linear, and one that reads several outputs or u itself.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from pliant.errors import ModelError, NotSupportedError
from pliant.expr.build import operands, reachable, substitute, value_of
from pliant.frontend.scalar.values import Value, like, scalars
from pliant.ir import Function, Graph, Inverse, Op

if TYPE_CHECKING:
    from pliant.frontend.scalar.functions import Calls


def inverses_of(
    calls: Calls, function: int, inner: list[Value], template: list[Value], entry: Function
) -> tuple[Inverse, ...]:
    """Inverses of an entry, as far as they can be used; ``inner`` are the symbols of its arguments."""
    g, run, own = calls.g, calls.run, calls.functions[function]
    if _is_linear(g, entry.outputs):
        return ()
    first = entry.n_args
    places = count(first)
    symbols = (g.intern((Op.ARG, k)) for k in places)
    outputs = [like(value, symbols) for value in template]
    iterates = _iterates(g, entry.outputs)
    found = []
    saved = run.locals[function]
    for rule in own.inverses:
        u = inner[rule.input]
        run.locals[function] = [*inner, *outputs, *([None] * (len(own.locals) - len(inner) - len(outputs)))]
        try:
            with calls.alone() as demands:
                (value,) = scalars(run.value(rule.value))
        except (ModelError, NotSupportedError):
            continue  # as for derivatives: what cannot be had is not used
        finally:
            run.locals[function] = saved
        checks = [one.check for one in demands]
        roots = [value, *(e for one in checks for e in one.expressions())]
        read = {g.nodes[i][1] for i in reachable(g, roots) if g.nodes[i][0] == Op.ARG}
        given = [k for k in read if k >= first]
        if (
            len(given) != 1
            or not isinstance(u, int)
            or g.nodes[u][1] in read
            or (_iterates(g, [value]) and not iterates)
        ):
            continue
        leaf = {g.intern((Op.ARG, given[0])): g.intern((Op.ARG, first))}
        value, *others = substitute(g, roots, leaf)
        parts = iter(others)
        kept = tuple(one.rewritten(lambda _, parts=parts: next(parts)) for one in checks)  # type: ignore[misc]
        found.append(Inverse(g.nodes[u][1], given[0] - first, value, kept))
    return tuple(found)


def _iterates(g: Graph, roots: tuple[int, ...] | list[int]) -> bool:
    """A loop runs in it."""
    return any(_has_loop(g.nodes[i]) for i in reachable(g, roots))


def _has_loop(node: tuple[object, ...]) -> bool:
    if node[0] != Op.ROUTINE:
        return False
    routine = node[1]
    return routine.condition >= 0 or _iterates(routine.graph, routine.outputs)  # type: ignore[attr-defined]


def _is_linear(g: Graph, roots: tuple[int, ...]) -> bool:
    """Sums of arguments with numbers before them."""
    holds: set[int] = set()
    for i in reachable(g, roots):
        op, below = g.nodes[i][0], operands(g, i)
        if op == Op.ARG:
            holds.add(i)
        elif not holds.isdisjoint(below):
            holds.add(i)
            if op in (Op.MUL, Op.DIV):
                other = below[0] if op == Op.MUL and below[1] in holds else below[1]
                if value_of(g, other) is None:
                    return False
            elif op not in (Op.ADD, Op.SUB, Op.NEG):
                return False
    return True
