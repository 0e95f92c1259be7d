"""Large models: candidates are tested in the neighbourhood of what they change, patterns as a whole.

    patch of a set of rows   the rows, grown along the strongest couplings, and the columns that they touch
    test of a candidate      all tests of accept.py on the pairs (L, Df) of the touched patches alone, at the training
                             points; the bias is that of the whole model
    test of a pattern        the whole model, at all points

An entry acts on eigenvalues near its own row first of all: what a cluster far away does, no candidate there can tell.
So the clusters that a candidate needs are those of its patches, at the cost of matrices of some dozen rows, and a
search needs whole spectra only for the patterns that it ends with. What only the whole shows (slow modes of many
patches together) refuses the pattern there, and the search goes on with sharper local tests. Entries that no patch
holds together with their row, of states that act on very many others, stay.

Couplings are measured as |tau Df_ij| / (1 + |tau Df_ii|) in units of the states' ranges, the largest over the points.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from pliant.errors import SingularError
from pliant.realtime.sparsing.accept import AcceptRule, Checker, Verdict
from pliant.realtime.sparsing.cancelling import Effects
from pliant.realtime.sparsing.effects import bias_effects, cluster_effects, signed_effects
from pliant.realtime.sparsing.entry_states import EntryStates, Mask
from pliant.realtime.sparsing.linearisations import LARGE, Places, Points
from pliant.realtime.sparsing.linearise import Matrix

ROOM = 0.8  # share of what eigenvalues may move that patches use
CORE, PATCH = 24, 72  # rows that a patch decides about, and with those around them


def couplings(points: Points) -> Matrix:
    """(entries,) strength of each coupling."""
    frame = points.frame
    size = frame.tau * np.abs(points.values).max(axis=0)
    own = np.zeros(frame.n)
    diagonal = frame.rows == frame.columns
    own[frame.rows[diagonal]] = size[diagonal]
    scale = np.where(np.isfinite(frame.scale), frame.scale, 1.0)
    return np.asarray(size * scale[frame.columns] / scale[frame.rows] / (1.0 + own[frame.rows]))


def cores(n: int, rows: Places, columns: Places, strength: Matrix) -> list[list[int]]:
    """Rows in sets of up to CORE, each grown from its lowest row along the strongest couplings.

    >>> cores(3, np.array([0, 2]), np.array([2, 0]), np.array([1.0, 1.0]))
    [[0, 1, 2]]
    """
    near: list[dict[int, float]] = [{} for _ in range(n)]
    for i, j, w in zip(rows.tolist(), columns.tolist(), strength.tolist(), strict=True):
        if i != j:
            near[i][j] = near[i].get(j, 0.0) + w
            near[j][i] = near[j].get(i, 0.0) + w
    home = [-1] * n
    found: list[list[int]] = []
    for first in range(n):
        if home[first] >= 0:
            continue
        core, reach = [first], dict(near[first])
        home[first] = len(found)
        while len(core) < CORE:
            open_ones = [(-w, j) for j, w in reach.items() if home[j] < 0]
            if not open_ones:
                break
            _, j = min(open_ones)
            core.append(j)
            home[j] = len(found)
            for k, w in near[j].items():
                reach[k] = reach.get(k, 0.0) + w
        found.append(sorted(core))
    return _merged(found)


def _merged(sets: list[list[int]]) -> list[list[int]]:
    """Small sets next to each other as one."""
    out: list[list[int]] = []
    for one in sets:
        if out and len(out[-1]) + len(one) <= CORE:
            out[-1] = sorted(out[-1] + one)
        else:
            out.append(one)
    return out


class Patch:
    """Some states of a model, with their own linearisations."""

    def __init__(self, whole: Points, core: Sequence[int], strength: Matrix) -> None:
        frame = whole.frame
        self.whole, self.core = whole, np.array(core, dtype=np.intp)
        inside = np.zeros(frame.n, dtype=bool)
        inside[list(core)] = True
        touching = inside[frame.rows] & ~inside[frame.columns]
        weight = np.zeros(frame.n)
        np.maximum.at(weight, frame.columns[touching], strength[touching])
        around = np.flatnonzero(weight > 0.0)
        around = around[np.lexsort((around, -weight[around]))][: max(PATCH - len(core), 0)]
        self.states = np.sort(np.concatenate([np.array(core, dtype=np.intp), around]))
        place = np.full(frame.n, -1)
        place[self.states] = np.arange(len(self.states))
        self.entries = np.flatnonzero((place[frame.rows] >= 0) & (place[frame.columns] >= 0))
        self.own = inside[frame.rows[self.entries]]  # entries that this patch decides about
        self.frame = replace(
            frame,
            names=tuple(frame.names[i] for i in self.states),
            rows=place[frame.rows[self.entries]],
            columns=place[frame.columns[self.entries]],
            mass=frame.mass[np.ix_(self.states, self.states)],
            scale=frame.scale[self.states],
        )
        self._checkers: dict[tuple[int, float], Checker] = {}

    def checker(self, p: int, rule: AcceptRule) -> Checker:
        """Tests at one linearisation of the whole."""
        key = p, rule.theta
        if key not in self._checkers:
            whole = self.whole
            values = whole.values[[p]][:, self.entries]
            self._checkers[key] = Checker(
                Points(self.frame, values, whole.dx[[p]][:, self.states], [whole.origins[p]]), rule
            )
        return self._checkers[key]


class LocalChecker(Checker):
    """Tests changes of a pattern in their patches."""

    def __init__(self, points: Points, rule: AcceptRule) -> None:
        super().__init__(points, rule)
        strength, frame = couplings(points), points.frame
        self.patches = [Patch(points, core, strength) for core in cores(frame.n, frame.rows, frame.columns, strength)]
        self.home: NDArray[np.intp] = np.zeros(frame.n, dtype=np.intp)
        self.decides[:] = False
        for k, patch in enumerate(self.patches):
            self.home[patch.core] = k
            self.decides[patch.entries[patch.own]] = True

    def judge_change(self, p: int, states: EntryStates, rows: Places) -> Verdict:
        """The patches of some rows, one after the other."""
        worst = Verdict("shift", 0.0, p)
        for k in np.unique(self.home[rows]):
            patch = self.patches[k]
            try:
                found = patch.checker(p, self.rule).judge(0, states.at(patch.entries))
            except SingularError:  # it cannot stand alone
                found = self.judge(p, states)
            if found.value > worst.value:
                worst = replace(found, point=p)
            if not found.accepted:
                break
        return worst

    def refused(self, training: Sequence[int], states: EntryStates) -> Mask:
        """Entries of the patches that refuse a pattern at one of these points."""
        out: Mask = np.zeros(self.frame.n_entries, dtype=bool)
        for patch in self.patches:
            own = patch.entries[patch.own]
            if any(not self.judge_change(p, states, patch.core[:1]).accepted for p in training):
                out[own] = True
        return out

    def effects(self, training: Sequence[int], cut: float, missing: Matrix | None = None) -> Effects:
        """As :func:`effects.signed_effects`: shifts of the clusters of an entry's own patch, then its bias."""
        points, frame = self.points, self.frame
        lacks = points.values if missing is None else missing
        widest = max((len(patch.states) for patch in self.patches), default=0)
        shifts = np.zeros((frame.n_entries, widest * len(training)), dtype=np.complex128)
        for patch in self.patches:
            for t, p in enumerate(training):
                try:
                    checker = patch.checker(p, self.rule)
                except SingularError:
                    continue
                found = cluster_effects(checker, [0], cut, lacks[[p]][:, patch.entries])[patch.own]
                first = widest * t
                shifts[patch.entries[patch.own], first : first + found.shape[1]] = found
        return np.concatenate([shifts, bias_effects(self, lacks)], axis=1)


def search_effects(checker: Checker, training: Sequence[int], cut: float, missing: Matrix | None = None) -> Effects:
    """First-order effects of single entries, which order candidates."""
    if isinstance(checker, LocalChecker):
        return checker.effects(training, cut, missing)
    return signed_effects(checker, training, cut, missing)


def checker_for_search(points: Points, rule: AcceptRule) -> Checker:
    """Tests of candidates: whole, or in patches where the model is large."""
    if points.frame.n <= LARGE or points.frame.order == 2:
        return Checker(points, rule)
    return LocalChecker(points, replace(rule, theta=1.0 - ROOM * (1.0 - rule.theta)))
