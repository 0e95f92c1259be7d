"""Equations of clocks that have to be solved: linear ones, and loops of them, by elimination.

    0 = r_1(v), ..., 0 = r_n(v)      r_k = s v + rest, s free of unknowns:   v := -rest/s, put into the others

A slope that is a number is taken before one that is an expression, which might be zero. What is found is triangular:
each variable over those that follow. An equation that is not linear is solved where one unknown is left in it, by

    v := v - r(v)/r'(v)  until  |r/r'| <= 1e-12 (|v| + 0.01)

which the rounds of an event repeat until nothing changes, from the value at the tick before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from pliant.expr.build import (
    add,
    apply,
    binary,
    choose,
    const,
    div,
    mul,
    neg,
    reachable,
    sub,
    substitute,
    value_of,
    var,
    variables_of,
)
from pliant.expr.differentiate import gradient
from pliant.expr.evaluate import expand_relations
from pliant.ir import Graph, Op, Relation

CLOSE = 1e-12  # steps of Newton's iteration below are none,
SMALL = 0.01  # ... of numbers that are not smaller than this


def between(reads: Mapping[int, Iterable[int]], roots: Iterable[int], is_end: Callable[[int], bool]) -> set[int]:
    """Variables that roots read, through others or not, and that read an end so: what stands between the two."""
    below: list[int] = []
    seen: set[int] = set()
    stack = [v for v in roots if v in reads]
    while stack:
        v = stack.pop()
        if v not in seen:
            seen.add(v)
            below.append(v)
            stack.extend(w for w in reads[v] if w in reads)
    found = {v for v in below if any(map(is_end, reads[v]))}
    while True:
        more = {v for v in below if v not in found and not found.isdisjoint(reads[v])}
        if not more:
            return found
        found |= more


def eliminated(
    g: Graph, residuals: Sequence[int], is_unknown: Callable[[int], bool], relations: Sequence[Relation]
) -> list[tuple[int, int]] | None:
    """Variable and value of each residual, in their order; None where there is nothing to solve one for."""
    rest = list(enumerate(residuals))
    found: dict[int, tuple[int, int]] = {}
    known: set[int] = set()

    def is_open(v: int) -> bool:
        return v not in known and is_unknown(v)

    while rest:
        best = _linear(g, [e for _, e in rest], is_open, relations)
        if best is None:
            steps = (_newton(g, e, is_open, relations) for _, e in rest)
            iterated = next(((place, *step) for place, step in enumerate(steps) if step is not None), None)
            if iterated is None:
                return None
            place, v, value = iterated
            k, _ = rest.pop(place)
            known.add(v)
            found[k] = v, value
            continue
        place, v, slope = best
        k, e = rest.pop(place)
        (others,) = substitute(g, [e], {var(g, v): const(g, 0.0)})
        value = neg(g, div(g, others, slope))
        found[k] = v, value
        new = substitute(g, [one for _, one in rest], {var(g, v): value})
        rest = [(number, one) for (number, _), one in zip(rest, new, strict=True)]
    return [found[k] for k in range(len(residuals))]


def _linear(
    g: Graph, residuals: Sequence[int], is_open: Callable[[int], bool], relations: Sequence[Relation]
) -> tuple[int, int, int] | None:
    """A residual, an unknown in which it is linear, and its slope."""
    best: tuple[int, int, int] | None = None
    for place, e in enumerate(residuals):
        for v, slope in _slopes(g, e, is_open, relations).items():
            if any(map(is_open, variables_of(g, *expand_relations(g, [slope], relations)))):
                continue
            number = value_of(g, slope)
            if number is not None and number != 0.0:
                return place, v, slope
            if number is None and best is None:
                best = place, v, slope
    return best


def _newton(g: Graph, e: int, is_open: Callable[[int], bool], relations: Sequence[Relation]) -> tuple[int, int] | None:
    """The only unknown of a residual, and what the next pass makes of it."""
    slopes = _slopes(g, e, is_open, relations)
    unknowns = {v for v in variables_of(g, *expand_relations(g, [e], relations)) if is_open(v)}
    if len(unknowns) != 1 or unknowns != set(slopes):
        return None
    ((v, slope),) = slopes.items()
    now, step = var(g, v), div(g, e, slope)
    size = add(g, apply(g, Op.ABS, now), const(g, SMALL))
    is_small = binary(g, Op.LE, apply(g, Op.ABS, step), mul(g, const(g, CLOSE), size))
    return v, choose(g, is_small, now, sub(g, now, step))


def _slopes(g: Graph, e: int, is_open: Callable[[int], bool], relations: Sequence[Relation]) -> dict[int, int]:
    """By unknown; none where calls stand in the way."""
    (whole,) = expand_relations(g, [e], relations)
    if any(g.nodes[i][0] == Op.CALL for i in reachable(g, [whole])):
        return {}
    return gradient(g, e, is_open)
