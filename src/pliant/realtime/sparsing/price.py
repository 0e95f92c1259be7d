"""What a step costs with a choice of entries: evaluations, factorisation, solutions, in operations.

    evaluations   operations of the computed entries that f does not need; without equations: one f for each colour
    factors       multipliers, reciprocals and updates, as far as an entry moves: factors of constants are constants
    solutions     two operations for each entry of L and U off the diagonal, one for each pivot that is not 1

A division counts as DIVISION additions. Moves of the search are judged by what they save here, see freezing.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pliant.realtime.sparsing.elimination import Elimination, Entry, eliminate
from pliant.realtime.sparsing.entry_states import EntryStates, Mask
from pliant.realtime.sparsing.linearisations import CommonData
from pliant.solve.binding.colouring import colour

Places = NDArray[np.intp]
DIVISION = 4.0
CALLED = 10.0  # operations for each row of f, where its expressions are not known


@dataclass(frozen=True, eq=False)
class EntryCost:
    """Operations by entry.

    constant  entries of parameters alone
    parts     of each entry, numbers of the operations that only Jacobians need
    weights   of the operations
    """

    constant: Mask
    parts: tuple[Places, ...]
    weights: NDArray[np.float64]

    def of(self, computed: Mask) -> float:
        """Operations for a set of entries, which share some of them.

        >>> parts = (np.array([0, 1]), np.array([1]), np.array([], dtype=np.intp))
        >>> cost = EntryCost(np.array([False, False, True]), parts, np.array([1.0, 4.0]))
        >>> cost.of(np.array([True, True, True])), cost.of(np.array([False, True, True]))
        (5.0, 4.0)
        """
        return float(self.weights[self.uses(np.flatnonzero(computed)) > 0].sum())

    def uses(self, entries: Places) -> Places:
        """How many of these entries need each operation."""
        parts = [self.parts[k] for k in entries]
        return np.bincount(np.concatenate(parts) if parts else np.zeros(0, np.intp), minlength=len(self.weights))

    def without(self, uses: Places, entries: Places) -> float:
        """What is saved where these entries go, ``uses`` being those of all."""
        parts = [self.parts[k] for k in entries]
        if not parts:
            return 0.0
        operations, count = np.unique(np.concatenate(parts), return_counts=True)
        return float(self.weights[operations[count == uses[operations]]].sum())


@dataclass(frozen=True)
class Cost:
    """Operations of one step besides f."""

    evaluations: float
    factors: float
    solutions: float

    @property
    def total(self) -> float:
        """All of them."""
        return self.evaluations + self.factors + self.solutions


class Price:
    """Costs of choices for one model."""

    def __init__(self, frame: CommonData, entries: EntryCost | None) -> None:
        """``entries``: None where the model has no equations."""
        self.frame, self.entries = frame, entries
        self.constant: Mask = np.zeros(frame.n_entries, dtype=bool) if entries is None else entries.constant
        self.mass = [(int(i), int(j)) for i, j in np.argwhere(frame.mass != 0.0)]

    def moving(self, states: EntryStates) -> Mask:
        """Entries that are evaluated in every step."""
        return np.asarray(states.computed & ~self.constant)

    def evaluations(self, states: EntryStates) -> float:
        """Operations of the computed entries."""
        if self.entries is not None:
            return self.entries.of(states.computed)
        frame, mask = self.frame, states.computed
        return CALLED * frame.n * colour(frame.n, frame.n, frame.rows[mask], frame.columns[mask]).n_colours

    def freezing_saves(self, states: EntryStates, groups: list[Places]) -> list[float]:
        """Operations of evaluations that holding each of these groups of computed entries would save."""
        if self.entries is None:
            return [0.0] * len(groups)
        uses = self.entries.uses(np.flatnonzero(states.computed))
        return [self.entries.without(uses, group) for group in groups]

    def dropping_saves(self, states: EntryStates, groups: Sequence[Places]) -> list[float]:
        """Operations that dropping each of these groups would save: evaluations, factors, fill, solutions."""
        now = self.of(states).total
        return [now - self.of(states.dropped(group)).total if len(group) else 0.0 for group in groups]

    def of(self, states: EntryStates) -> Cost:
        """Everything."""
        frame = self.frame
        placed = set(zip(frame.rows[states.mask].tolist(), frame.columns[states.mask].tolist(), strict=True))
        found = eliminate(frame.n, placed | set(self.mass))
        moving = self.moving(states)
        moves = set(zip(frame.rows[moving].tolist(), frame.columns[moving].tolist(), strict=True))
        factors, ones = folded(found, moves, placed)
        solutions = found.solve_flops - ones
        first = frame.order == 1
        return Cost(self.evaluations(states), factors * (1 if first else 2), float(solutions * (1 if first else 3)))


def folded(elimination: Elimination, moving: set[Entry], placed: set[Entry]) -> tuple[float, int]:
    """Operations of a factorisation where only some entries move, and how many pivots are those of L alone.

    >>> found = eliminate(2, [(0, 0), (0, 1), (1, 0), (1, 1)])
    >>> folded(found, set(), set(found.entries)), folded(found, {(1, 1)}, set(found.entries))
    ((0.0, 0), (5.0, 0))
    """
    rows: dict[int, set[int]] = {}
    columns: dict[int, set[int]] = {}
    for i, j in (*elimination.entries, *elimination.fill):
        rows.setdefault(i, set()).add(j)
        columns.setdefault(j, set()).add(i)
    moves, changed, operations, ones = set(moving), set(placed), 0.0, 0
    for r, c in elimination.pivots:
        below, right = columns.pop(c) - {r}, rows.pop(r) - {c}
        for i in below:
            rows[i].discard(c)
        for j in right:
            columns[j].discard(r)
        pivot = (r, c) in moves
        operations += DIVISION * pivot
        ones += (r, c) not in changed
        for i in below:
            multiplier = pivot or (i, c) in moves
            operations += multiplier
            for j in right:
                product = multiplier or (r, j) in moves
                operations += product + (product or (i, j) in moves)
                changed.add((i, j))
                if product:
                    moves.add((i, j))
    return operations, ones
