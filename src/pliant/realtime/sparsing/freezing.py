"""Which entries of the Jacobian can be held at a constant: moves of the search before and after those that drop.

    groups      everything that moves; rows as a whole, without their strongest atoms, atom by atom; columns; singles
    order       those first that save most for their effect
    constants   over all linearisations: mean, weighted mean, middle, value of least and of largest modulus

An entry that is held still stands in the matrix, so that far more may be frozen than dropped: what J lacks is Df - c
and not Df. The weighted mean counts a linearisation by the bias of a unit of the entry there. Tests are those of
:mod:`accept`, at every linearisation in the end; entries that never move are known and cost nothing.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pliant.realtime.sparsing.cancelling import find_atoms
from pliant.realtime.sparsing.linearisations import Places
from pliant.realtime.sparsing.linearise import Matrix
from pliant.realtime.sparsing.patches import search_effects
from pliant.realtime.sparsing.price import Price
from pliant.realtime.sparsing.search import EntrySearch
from pliant.realtime.sparsing.ties import ascending

HOPELESS = 2.0  # value beyond which other constants are not tried in large models
BETWEEN = (0.0, 1.0, 0.25, 0.5, 0.75)  # for single entries: from the least modulus to the largest


class Freezing:
    """The moves, on a search."""

    def __init__(self, search: EntrySearch, price: Price, cut: float) -> None:
        self.s, self.price, self.cut = search, price, cut
        self.last = not search.mask.all()  # moves that drop have been made
        values = search.points.values
        self.mean = values.mean(axis=0)
        low, high = values.min(axis=0), values.max(axis=0)
        small = np.abs(low) < np.abs(high)
        self.least, self.largest = np.where(small, low, high), np.where(small, high, low)
        self.candidates = [self._weighted(), self.mean, 0.5 * (low + high), self.least, self.largest]
        missing = values - self.mean
        self.effects = search_effects(search.c, search.training, cut, missing)

    def _weighted(self) -> Matrix:
        """Mean of each entry where it counts: weights are the bias of a unit of it."""
        points = self.s.points
        strongest = np.abs(points.T).max(axis=1)[:, self.s.frame.rows]
        weight = (strongest * points.moves) ** 2
        total = weight.sum(axis=0)
        with np.errstate(invalid="ignore", over="ignore"):
            found = (weight * points.values).sum(axis=0) / np.where(total > 0.0, total, 1.0)
        return np.asarray(np.where((total > 0.0) & np.isfinite(found), found, self.mean))

    def open(self) -> Places:
        """Entries that move and are computed."""
        return np.flatnonzero(self.price.moving(self.s.states) & self.s.free)

    def freeze(self, group: Places, name: str, more: bool = False) -> bool:
        """Hold a group at the first constants that every test allows."""
        group = group[self.price.moving(self.s.states)[group] & self.s.free[group]]
        if len(group) == 0:
            return False
        states = self.s.states
        tried = [one[group] for one in self.candidates]
        if more:
            tried += [self.least[group] + share * (self.largest[group] - self.least[group]) for share in BETWEEN]
        for one in tried:
            if self.s.change(group, states.held(group, one), f"{name}, frozen"):
                return True
            if self.s.large and self.s.last is not None and self.s.last.value > HOPELESS:
                break
        return False

    def run(self, report: Callable[[float], object]) -> None:
        """All moves."""
        frame = self.s.frame
        everything = self.open()
        if len(everything) == 0 or self.freeze(everything, "all that move"):
            return
        rows = [everything[frame.rows[everything] == i] for i in np.unique(frame.rows[everything])]
        columns = [everything[frame.columns[everything] == j] for j in np.unique(frame.columns[everything])]
        for k, i in enumerate(self._order(rows)):
            report(0.5 * k / len(rows))
            self._row(rows[i])
        for j in self._order(columns):
            self.freeze(columns[j], f"column of {frame.names[frame.columns[columns[j][0]]]}")
        singles = [np.array([k]) for k in self.open()] if self.last or not self.s.large else []
        for k in self._order(singles):
            self.freeze(singles[k], "single entry", more=True)
        report(1.0)

    def _row(self, entries: Places) -> None:
        """A row as a whole, without its strongest atoms, atom by atom."""
        frame = self.s.frame
        name = frame.names[frame.rows[entries[0]]]
        if self.freeze(entries, f"row of {name}"):
            return
        atoms = find_atoms(self.effects, entries)
        for keep in range(1, len(atoms)):
            if self.freeze(np.concatenate([one.entries for one in atoms[:-keep]]), f"weak part of the row of {name}"):
                break
        for atom in atoms:
            self.freeze(atom.entries, f"part of the row of {name}")

    def _order(self, groups: list[Places]) -> list[int]:
        """Most saved for their effect first."""
        saved = self.price.freezing_saves(self.s.states, groups)
        size = [float(np.abs(self.effects[group].sum(axis=0)).max(initial=0.0)) for group in groups]
        return [int(k) for k in ascending([one / max(gain, 1.0) for one, gain in zip(size, saved, strict=True)])]
