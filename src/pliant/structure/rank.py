"""Loops that are singular in numbers although their structure is fine: x + y = a, 2 x + 2 y = b.

The Jacobian of a loop is evaluated at generic points, and with combinations of the relations that it reads. If it is
singular at all of them, no choice of values will make it regular: the left null vector names the equations that depend
on each other, the right one the unknowns that they leave open.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pliant.expr.build import const, reachable, substitute, value_of, variables_of
from pliant.expr.evaluate import evaluate
from pliant.ir import Equation, Kind, Node, Op, Relation, System
from pliant.sorted_system import Block
from pliant.structure.diagnosis import Describer

SINGULAR = 1e-13  # smallest over largest singular value, after scaling
POINTS = 3
COMBINATIONS = 64  # of relations
LARGEST = 400  # unknowns
TAKES_PART = 1e-6  # of the largest entry of a null vector


@dataclass(frozen=True)
class Loops:
    """Blocks of a system that is not final yet."""

    system: System
    blocks: Sequence[Block]
    equations: Sequence[Equation]
    relations: Sequence[Relation]


def check_rank(s: Loops, rows: Sequence[Mapping[int, int]], point: Callable[[int], dict[int, float]]) -> None:
    """Raise for the first loop that is singular at every point; ``rows[e]`` are the coefficients of equation e."""
    for block in s.blocks:
        if 1 < len(block.variables) <= LARGEST:
            _check_block(s, block, rows, point)


def _check_block(
    s: Loops, block: Block, rows: Sequence[Mapping[int, int]], point: Callable[[int], dict[int, float]]
) -> None:
    column = {v: k for k, v in enumerate(block.variables)}
    places = [(i, column[v], c) for i, e in enumerate(block.equations) for v, c in rows[e].items() if v in column]
    entries = [c for _, _, c in places]
    found = None
    for seed, held in _trials(s, entries):
        values = evaluate(s.system.graph, held, point(seed), 0.37, (), s.system.tables, s.system.relations)
        j = np.zeros((len(block.equations), len(block.variables)))
        for (i, k, _), value in zip(places, values, strict=True):
            j[i, k] = value
        found = _null_vectors(j)
        if found is None or _vanishes(s, j, places):
            return
    assert found is not None
    left, right = found
    names = Describer(s.system.graph, s.system.variables, s.equations, s.relations)
    open_unknowns = ", ".join(s.system.variables[block.variables[k]].name for k in right[:8])
    raise names.dependent(
        [block.equations[i] for i in left],
        "these equations of a loop depend on each other, in numbers though not in structure, and leave "
        f"{open_unknowns} undetermined",
    )


def _vanishes(s: Loops, j: NDArray[np.float64], places: Sequence[tuple[int, int, int]]) -> bool:
    """Whether a row or column is zero here because its entries depend on where the point is.

    Properties of a medium may be constant outside of the range where they are known; inside they are not.
    """
    g, variables = s.system.graph, s.system.variables
    rows, columns = ~np.any(j, axis=1), ~np.any(j, axis=0)
    known = (Kind.PARAMETER, Kind.CONSTANT)
    return any(
        any(variables[v].kind not in known for v in variables_of(g, c)) for i, k, c in places if rows[i] or columns[k]
    )


def _trials(s: Loops, entries: list[int]) -> Iterator[tuple[int, list[int]]]:
    """Points and what to evaluate there: as relations say, then with combinations of them and of discrete Booleans.

    Some combinations of ideal switches are singular.
    """
    g = s.system.graph
    yield from ((seed, entries) for seed in range(POINTS))
    relations = [i for i in reachable(g, entries) if g.nodes[i][0] == Op.REL or _is_switch(s, g.nodes[i])]
    n, chance = len(relations), random.Random(0)
    few = 2**n <= COMBINATIONS
    for k in range(2**n if few else COMBINATIONS) if relations else ():
        sides = k if few else chance.getrandbits(n)
        leaf = {i: const(g, float(sides >> q & 1)) for q, i in enumerate(relations)}
        yield 0, substitute(g, entries, leaf)


def _is_switch(s: Loops, node: Node) -> bool:
    """A Boolean variable that changes at events only."""
    if node[0] != Op.VAR:
        return False
    variable = s.system.variables[node[1]]
    return variable.type == "boolean" and variable.kind in (Kind.DISCRETE, Kind.BEFORE)


def _null_vectors(j: NDArray[np.float64]) -> tuple[list[int], list[int]] | None:
    """(rows, columns) that take part in the singularity; None if the matrix is regular or not known."""
    if not np.all(np.isfinite(j)):
        return None
    for axis in (1, 0):
        size = np.abs(j).max(axis=axis, keepdims=True)
        j = j / np.where(size > 0.0, size, 1.0)
    u, values, v = np.linalg.svd(j)
    if values[-1] > SINGULAR * values[0] or not _cancels(j):
        return None
    return _large(u[:, -1]), _large(v[-1])


def _cancels(j: NDArray[np.float64]) -> bool:
    """Whether elimination ends at entries that are differences of equal numbers; entries of very different sizes, as of
    semiLinear where nothing flows, make a matrix badly conditioned, not singular. ``size`` is what was added up.
    """
    a, size = j.copy(), np.abs(j)
    while len(a):
        share = np.divide(np.abs(a), size, out=np.zeros_like(a), where=size > 0.0)
        candidates = np.where(share > SINGULAR, np.abs(a), 0.0)
        row, column = np.unravel_index(int(np.argmax(candidates)), a.shape)
        if not candidates[row, column]:
            return True
        factors = a[:, column] / a[row, column]
        size = size + np.abs(np.outer(factors, size[row]))
        a = a - np.outer(factors, a[row])
        a, size = (np.delete(np.delete(one, row, 0), column, 1) for one in (a, size))
    return False


def _large(vector: NDArray[np.float64]) -> list[int]:
    size = np.abs(vector)
    return [int(k) for k in np.argsort(-size, kind="stable") if size[k] > TAKES_PART * size.max()]


def _size(system: System, v: int) -> float:
    variable = system.variables[v]
    for e in (variable.nominal, variable.start):
        value = None if e is None else value_of(system.graph, e)
        if value and math.isfinite(value):
            return abs(value)
    return 1.0


def generic_points(system: System, numbers: Mapping[int, float]) -> Callable[[int], dict[int, float]]:
    """A function that makes a random but repeatable point from a seed; ``numbers`` are the parameters.

    Each variable has about the size that its nominal or start value gives: far from it the equations of badly scaled
    units appear singular.
    """
    scales = [_size(system, v) for v in range(len(system.variables))]

    def point(seed: int) -> dict[int, float]:
        chance = random.Random(seed)
        values = dict(numbers)
        for v, scale in enumerate(scales):
            if v not in values:
                values[v] = scale * (0.3 + chance.random())
        return values

    return point
