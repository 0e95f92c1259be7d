"""Static dummies and dynamic state sets: which constraints are solved for the same unknown for ever, which not.

On each level of the choice of states (see `states.py`) the constraints h with the derivatives d that occur in them have
a Jacobian G = dh/dd, the same matrix for their integrals. Gaussian elimination with pivots that are zero nowhere
(`signs.py`), by preference on the chosen dummies, then on others that may serve:

    G = [P  Q]        P: constraints solved for ever for these dummies
        [R  S]        S - R P^-1 Q: constraints for which no such pivot is left

The rest falls into groups that share no unknown. All unknowns of a group are candidates of a dynamic state set
(Mattsson, Olsson & Elmqvist, Modelica Workshop 2000), with the rest of G as its Jacobian. A modeller who asks for some
of them as states with `stateSelect` leaves fewer candidates; where nothing remains to be chosen, the choice is fixed.

Levels are independent of each other: the velocities of a mechanism need not be the derivatives of its positions. Where
the candidates of one level are the derivatives of those below, both become levels of one set.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from pliant.expr.build import const, div, mul, sub
from pliant.ir import Graph, Kind, StateSelect, Variable
from pliant.structure.pantelides import DerivativeGraph
from pliant.structure.signs import Signs
from pliant.structure.states import Level, Rows, independent_columns

Matrix = dict[int, dict[int, int]]  # equation -> {variable: expression}
ZERO = 1e-12  # share of the largest entry of a row below which another one is zero in numbers
# a candidate that should not be a state counts more as a pivot; not much more: errors grow by as much
WEIGHT = {StateSelect.NEVER: 30.0, StateSelect.AVOID: 3.0, StateSelect.PREFER: 0.33, StateSelect.ALWAYS: 0.033}


@dataclass
class Group:
    """Constraints of one level without safe pivots, the derivatives that compete, and those of them made dummies."""

    equations: list[int]
    columns: list[int]
    dummies: list[int]
    matrix: Matrix

    @property
    def has_choice(self) -> bool:
        """More candidates than constraints."""
        return len(self.columns) > len(self.equations)


@dataclass
class Split:
    """One level: derivatives that are dummies for ever, and groups of the others."""

    dummies: list[int]
    groups: list[Group] = field(default_factory=list)


class SymbolicElimination:
    """Gaussian elimination on expressions, with pivots that are zero nowhere; ``rows`` is what remains."""

    def __init__(self, g: Graph, signs: Signs, rows: Matrix) -> None:
        self.g, self.signs = g, signs
        self.rows = {e: dict(row) for e, row in rows.items()}
        self.users: dict[int, set[int]] = {}
        for e, row in self.rows.items():
            for v in row:
                self.users.setdefault(v, set()).add(e)

    def run(self, allowed: Callable[[int, int], bool]) -> list[int]:
        """Pivots (equation, variable) that are allowed, the least fill first; returns their variables."""
        heap = [(self._cost(e, v), v, e) for e, row in self.rows.items() for v in row if self._serves(e, v, allowed)]
        heapq.heapify(heap)
        found = []
        while heap:
            cost, v, e = heapq.heappop(heap)
            if e not in self.rows or v not in self.rows[e] or not self._serves(e, v, allowed):
                continue
            now = self._cost(e, v)
            if now > cost:
                heapq.heappush(heap, (now, v, e))
                continue
            for other, w in self._pivot(e, v):
                if self._serves(other, w, allowed):
                    heapq.heappush(heap, (self._cost(other, w), w, other))
            found.append(v)
        return found

    def _serves(self, e: int, v: int, allowed: Callable[[int, int], bool]) -> bool:
        return allowed(e, v) and self.signs.nonzero(self.rows[e][v])

    def _cost(self, e: int, v: int) -> int:
        return (len(self.rows[e]) - 1) * (len(self.users[v]) - 1)

    def _pivot(self, e: int, v: int) -> list[tuple[int, int]]:
        """Eliminate v with equation e; the places that changed."""
        g, zero = self.g, const(self.g, 0.0)
        row = self.rows.pop(e)
        for w in row:
            self.users[w].discard(e)
        pivot = row.pop(v)
        changed = []
        for other in sorted(self.users.pop(v)):
            factor = div(g, self.rows[other].pop(v), pivot)
            for w, entry in row.items():
                new = sub(g, self.rows[other].get(w, zero), mul(g, factor, entry))
                if new == zero:
                    self.rows[other].pop(w, None)
                    self.users[w].discard(other)
                    continue
                self.rows[other][w] = new
                self.users[w].add(other)
                changed.append((other, w))
        return changed


@dataclass
class Splitter:
    """Splits levels; the functions say what the reduction knows.

    ``gradients(equations, variables)`` are partial derivatives, ``numbers`` their values at a generic point,
    ``priority`` sorts derivatives, least wanted states first, ``integral[v']`` = v.
    """

    g: Graph
    variables: Sequence[Variable]
    integral: dict[int, int]
    signs: Signs
    gradients: Callable[[Sequence[int], Collection[int]], Matrix]
    numbers: Callable[[Matrix], Rows]
    priority: Callable[[int], tuple[int, ...]]

    def run(self, graph: DerivativeGraph, levels: Sequence[Level]) -> list[Split]:
        """All levels, the highest derivatives first."""
        columns = levels[0].candidates if levels else []
        helpers: list[int] = []
        originals: list[int] = []
        found = []
        for level in levels:
            matrix = self._matrix(level, columns, helpers, originals)
            below = {e: graph.diff_to_eq[e] for e in level.equations}
            ends = {e for e, one in below.items() if graph.diff_to_eq[one] < 0}
            found.append(Split(level.dummies) if matrix is None else self._split(level, matrix, ends))
            originals = sorted(below[e] for e in ends)
            helpers = sorted({self.integral[v] for v in columns if self.integral[v] not in self.integral})
            columns = sorted({self.integral[v] for v in columns if self.integral[v] in self.integral})
        return found

    def _matrix(
        self, level: Level, columns: Sequence[int], helpers: Sequence[int], originals: Sequence[int]
    ) -> Matrix | None:
        """d constraints / d derivatives. Velocities that are no derivatives but stand for some (``helpers``) are
        eliminated with the equations that were not differentiated so often; None if that is not possible."""
        matrix = self.gradients(level.equations, columns)
        if not helpers or not any(self.gradients(level.equations, helpers).values()):
            return matrix
        both = self.gradients([*level.equations, *originals], [*columns, *helpers])
        work = SymbolicElimination(self.g, self.signs, both)
        standing, helping = set(helpers), set(originals)
        work.run(lambda e, v: v in standing and e in helping)
        matrix = {e: work.rows[e] for e in level.equations}
        return None if any(standing & row.keys() for row in matrix.values()) else matrix

    def _split(self, level: Level, matrix: Matrix, ends: Collection[int]) -> Split:
        """``ends``: equations without a level below, the kinematic ones der(x) = v + ... of a mechanism."""
        work = SymbolicElimination(self.g, self.signs, matrix)
        chosen = set(level.dummies)
        # unnamed derivatives go first, by kinematic equations if possible: candidates should have names of the modeller
        unnamed = {v for v in chosen if self.variables[self.integral[v]].kind == Kind.DERIVATIVE}
        static = work.run(lambda e, v: v in unnamed and e in ends)
        static += work.run(lambda _, v: v in unnamed)
        static += work.run(lambda _, v: v in chosen)
        if not work.rows:
            return Split(level.dummies)
        # where a chosen dummy has no safe pivot, another derivative may; but not one that the modeller wants more
        bound = self._bounds(work.rows, chosen)
        static += work.run(lambda e, v: self._select(v) <= bound[e])
        # candidates: where some variables of a kind must be dummies, wherever that is, the others compete with them
        bound = self._bounds(matrix, chosen)
        groups = []
        for equations in _connected(work.rows):
            group = self._group({e: work.rows[e] for e in equations}, max(bound[e] for e in equations))
            if group is None:
                return Split(level.dummies)
            groups.append(group)
        fixed = [d for group in groups for d in group.dummies]
        return Split(sorted([*static, *fixed]), groups)

    def _select(self, d: int) -> StateSelect:
        return self.variables[self.integral[d]].state_select

    def _bounds(self, rows: Matrix, chosen: Collection[int]) -> dict[int, StateSelect]:
        """Equation -> what the modeller wants of the chosen dummies in its group, at most."""
        bound = {}
        for equations in _connected(rows):
            wishes = [self._select(v) for e in equations for v in rows[e] if v in chosen]
            bound.update(dict.fromkeys(equations, max(wishes, default=StateSelect.DEFAULT)))
        return bound

    def _group(self, rows: Matrix, bound: StateSelect) -> Group | None:
        """A group from connected rows; None if no dummies can be found for it."""
        numbers = self.numbers(rows)
        for row in numbers.values():  # what elimination cancelled in numbers but not in symbols
            largest = max(map(abs, row.values()), default=0.0)
            for v in [v for v, value in row.items() if abs(value) <= ZERO * largest]:
                del row[v]
        columns = sorted({v for row in numbers.values() for v in row}, key=self.priority)
        dummies, left = independent_columns(columns, numbers)
        if left:
            return None
        wanted = max(bound, StateSelect.DEFAULT)
        candidates = sorted(v for v in columns if v in dummies or self._select(v) <= wanted)
        return Group(sorted(rows), candidates, sorted(dummies), rows)

    def jacobian(self, group: Group) -> list[list[int]]:
        """Rest of G for a set, columns weighted by what the modeller wants."""
        zero = const(self.g, 0.0)
        weights = [const(self.g, WEIGHT.get(self._select(v), 1.0)) for v in group.columns]
        return [
            [mul(self.g, w, group.matrix[e].get(v, zero)) for v, w in zip(group.columns, weights, strict=True)]
            for e in group.equations
        ]


def _connected(rows: Matrix) -> list[list[int]]:
    """Equations in groups that share no variable."""
    users: dict[int, list[int]] = {}
    for e, row in rows.items():
        for v in row:
            users.setdefault(v, []).append(e)
    seen: set[int] = set()
    found = []
    for first in rows:
        if first in seen:
            continue
        group = [first]
        seen.add(first)
        for e in group:  # grows on the way
            for v in rows[e]:
                for other in users.get(v, ()):
                    if other not in seen:
                        seen.add(other)
                        group.append(other)
        found.append(sorted(group))
    return found


def chains(splits: Sequence[Split], integral: dict[int, int]) -> list[list[Group]]:
    """Groups with a choice, those whose candidates are the derivatives of another group's after it: lowest first."""
    found: list[list[Group]] = []
    at: dict[tuple[int, ...], list[Group]] = {}  # derivatives of the last group's candidates -> its chain
    for split in reversed(splits):
        above: dict[tuple[int, ...], list[Group]] = {}
        for group in split.groups:
            if not group.has_choice:
                continue
            below = tuple(sorted(integral[d] for d in group.columns))
            chain = at.pop(below, None)
            if chain is None or len(chain[-1].equations) != len(group.equations):
                chain = []
                found.append(chain)
            chain.append(group)
            above[tuple(sorted(group.columns))] = chain
        at = above
    return found
