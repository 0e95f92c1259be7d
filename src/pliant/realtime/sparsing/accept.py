"""Is a pattern acceptable at a linearisation?

Cheapest first:
    bias       |e_i| <= tolerance in every state (see points.py), at all points
    singular   Bs = L - tau J can be inverted
    radius     max |lambda~| <= 1 - theta (1 - max |lambda|): the share theta of the stability margin stays
    ringing    Re lambda~ >= -1/2: no oscillation that the step size makes
    shift      |lambda~_i - lambda_i| <= (1 - theta) (1 - |lambda_i|), eigenvalues matched by assignment
    sampled    the same for the map over one period of a sampled controller, where one is linearised (sampled.py)
    loops      algebraic rows: eigenvalues of I - (mask o g_y)^-1 g_y within 1/2 (assignment hides slow ones)

The per-eigenvalue bound replaces C1 and C2 of Loderer & Heuveline, eqs. (12)-(15), which are far too strict for systems
with slow modes. Eigenvalues beyond the unit circle with the exact Jacobian belong to the model: they may stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.realtime.sparsing.entry_states import EntryStates, Kept, Mask, used
from pliant.realtime.sparsing.linearisations import Points
from pliant.realtime.sparsing.linearise import Matrix, dense
from pliant.realtime.sparsing.spectrum import change_ratio, ringing, spectrum_of
from pliant.realtime.sparsing.stepmap import algebraic_map, lasting_error, step_map

LOOP_LIMIT = 0.5
NOTHING = np.zeros(0, dtype=np.complex128)
TOGETHER = 1_000_000  # numbers of the matrices whose eigenvalues are taken at once


@dataclass(frozen=True)
class AcceptRule:
    """What the user asks for."""

    tolerance: float
    theta: float = 0.5
    smallest_real: float = -0.5


@dataclass(frozen=True)
class Verdict:
    """The test that a pattern failed, or the last one; ``value`` > 1 means refused, in units of what is allowed."""

    test: str
    value: float
    point: int

    @property
    def accepted(self) -> bool:
        """No check fails here."""
        return self.value <= 1.0


class Checker:
    """Tests patterns against linearisations."""

    def __init__(self, points: Points, rule: AcceptRule) -> None:
        self.points, self.rule = points, rule
        self.frame = points.frame
        self.limits = points.limits(rule.theta)
        self.largest = np.where(
            points.outside,
            points.radius + points.slack + points.rounding,
            1.0 - rule.theta * (1.0 - points.radius) + 1e-12 + points.rounding,
        )
        self.decides: Mask = np.ones(self.frame.n_entries, dtype=bool)  # entries that these tests can tell of
        self.algebraic = np.flatnonzero(self.frame.algebraic)
        # entries of the algebraic block, their places there, and the last verdict on it at each point
        rows, columns = self.frame.rows, self.frame.columns
        self._within = np.flatnonzero(self.frame.algebraic[rows] & self.frame.algebraic[columns])
        self._loop_rows = np.searchsorted(self.algebraic, rows[self._within])
        self._loop_columns = np.searchsorted(self.algebraic, columns[self._within])
        self._loop_verdicts: dict[int, tuple[bytes, Verdict]] = {}
        self._exact_error: dict[int, Matrix] = {}
        # of order 1 the tests at a point do not depend on the tolerance: searches with another one meet the same
        self._rule_key = (rule.theta, rule.smallest_real, rule.tolerance if self.frame.order == 2 else None)
        self._spectrum: tuple[int, Kept, NDArray[np.complex128] | None] | None = None  # the last one
        self._parts: dict[tuple[int, int], tuple[bytes, NDArray[np.complex128] | None]] = {}  # last of each block

    def step_map(self, p: int, mask: Kept) -> Matrix | None:
        """The map of a step with the pattern, or None where it cannot be solved."""
        frame, points = self.frame, self.points
        try:
            found = step_map(frame.mass, frame.masked(points.values[p], mask), points.Df[p], frame.tau, frame.order)
        except np.linalg.LinAlgError:
            return None
        return found if np.isfinite(found).all() else None

    def spectrum(self, p: int, mask: Kept) -> NDArray[np.complex128] | None:
        """Eigenvalues of Ss, those of its blocks one after the other; None where the step cannot be solved."""
        if self._spectrum is None or self._spectrum[0] != p or self._spectrum[1] is not mask:
            states, blocks = EntryStates.of(mask), self.frame.blocks
            parts = [self._part(p, k, states) for k in range(len(blocks))]
            found = [one for one in parts if one is not None]
            self._spectrum = p, mask, np.concatenate([NOTHING, *found]) if len(found) == len(blocks) else None
        return self._spectrum[2]

    def _part(self, p: int, k: int, states: EntryStates) -> NDArray[np.complex128] | None:
        """Those of block k, which most changes leave as it was."""
        inside = states.at(self.frame.blocks[k].entries)
        key = inside.key()
        last = self._parts.get((p, k))
        if last is None or last[0] != key:
            last = self._parts[p, k] = key, self._spectra([p], k, inside)[0]
        return last[1]

    def _spectra(self, some: Sequence[int], k: int, inside: EntryStates) -> list[NDArray[np.complex128] | None]:
        """Eigenvalues of a block at some points; None where the step cannot be solved."""
        frame, block = self.frame, self.frame.blocks[k]
        n, values = len(block.states), self.points.values[np.asarray(some)][:, block.entries]
        J, Df = (dense(n, block.rows, block.columns, one) for one in (inside.used(values), values))
        try:
            Ss = step_map(block.mass, J, Df, frame.tau, frame.order)
        except np.linalg.LinAlgError:
            if len(some) == 1:
                return [None]
            return [found for p in some for found in self._spectra([p], k, inside)]
        finite = np.asarray(np.isfinite(Ss).all(axis=(1, 2)))
        spectra = iter(spectrum_of(Ss[finite]))
        return [next(spectra) if one else None for one in finite.tolist()]

    def prepare(self, mask: Kept) -> None:
        """Before a pattern is judged at all points: eigenvalues of many matrices at once, which are small."""
        states = EntryStates.of(mask)
        for k, block in enumerate(self.frame.blocks):
            inside, together = states.at(block.entries), max(1, TOGETHER // max(len(block.states), 1) ** 2)
            key = inside.key()
            for first in range(0, len(self.points), together):
                some = range(first, min(first + together, len(self.points)))
                for p, found in zip(some, self._spectra(some, k, inside), strict=True):
                    self._parts[p, k] = key, found

    def judge_change(self, p: int, states: EntryStates, rows: NDArray[np.intp]) -> Verdict:
        """The tests after a change of these rows."""
        return self.judge(p, states)

    def judge(self, p: int, mask: Kept) -> Verdict:
        """All tests of the spectrum at one point; moves of a search come to the same pattern in several ways."""
        key = (self._rule_key, p, blake2b(EntryStates.of(mask).key(), digest_size=16).digest())
        judged: dict[tuple[Any, ...], Verdict] = self.points.judged
        if key not in judged:
            judged[key] = self._judge(p, mask)
        return judged[key]

    def _judge(self, p: int, mask: Kept) -> Verdict:
        if len(self.algebraic):
            verdict = self._loops(p, mask)
            if not verdict.accepted:
                return verdict
        found = self.spectrum(p, mask)
        if found is None:
            return Verdict("singular", np.inf, p)
        modulus = np.abs(found)
        allowed = self.largest[p]
        if modulus.max() > allowed:
            points = self.points
            room = max(allowed - points.radius[p], 1e-12)
            return Verdict("radius", float(max((modulus.max() - points.radius[p]) / room, 1.0 + 1e-9)), p)
        smallest = min(self.rule.smallest_real, ringing(self.points.eigenvalues[p]))
        if ringing(found) < smallest - 1e-9:
            return Verdict("ringing", 1.0 + smallest - ringing(found), p)
        verdict = Verdict("shift", change_ratio(self.points.eigenvalues[p], found, self.limits[p]), p)
        if p in self.points.loops and verdict.accepted:
            J = self.frame.masked(self.points.values[p], mask)
            loop = Verdict("sampled loop", self.points.loops[p].value(J), p)
            verdict = max(verdict, loop, key=lambda one: one.value)
        if self.frame.order == 1 or not verdict.accepted:
            return verdict
        error = Verdict("bias", float(np.abs(self._added(p, mask)).max() / self.rule.tolerance), p)
        return max(verdict, error, key=lambda one: one.value)

    def _added(self, p: int, mask: Kept) -> Matrix:
        """Order 2: lasting error with the pattern minus that with all entries, in units of the range."""
        frame, points = self.frame, self.points
        Df, dx = points.Df[p], points.dx[p]
        if not points.origins[p].settled:
            return np.zeros(frame.n)
        try:
            if p not in self._exact_error:
                self._exact_error[p] = lasting_error(frame.mass, Df, Df, dx, frame.tau)
            J = frame.masked(points.values[p], mask)
            return (lasting_error(frame.mass, J, Df, dx, frame.tau) - self._exact_error[p]) / frame.scale
        except np.linalg.LinAlgError:  # an integrator: the recursion along the run tells
            return np.zeros(frame.n)

    def _loops(self, p: int, mask: Kept) -> Verdict:
        """The algebraic block by itself: how fast its errors die out."""
        inside = EntryStates.of(mask).at(self._within)
        key = inside.key()
        last = self._loop_verdicts.get(p)
        if last is None or last[0] != key:
            last = self._loop_verdicts[p] = key, self._loops_of(p, inside)
        return last[1]

    def _loops_of(self, p: int, inside: EntryStates) -> Verdict:
        """The same from the states of the entries of that block, which most changes leave as they were."""
        values, n = self.points.values[p][self._within], len(self.algebraic)
        exact, part = (dense(n, self._loop_rows, self._loop_columns, one) for one in (values, inside.used(values)))
        try:
            shift = algebraic_map(part, exact)
        except np.linalg.LinAlgError:
            return Verdict("singular", np.inf, p)
        if not np.isfinite(shift).all():
            return Verdict("singular", np.inf, p)
        return Verdict("loops", float(np.abs(np.linalg.eigvals(shift)).max() / LOOP_LIMIT), p)

    def bias(self, mask: Kept) -> tuple[Matrix, Matrix]:
        """Bias in units of the range at every point, (P, n): lasting, and of one step."""
        points, frame = self.points, self.frame
        if frame.order == 2:
            added = np.array([self._added(p, mask) for p in range(len(points))])
            return added, np.zeros_like(added)
        missing = points.values - used(points.values, mask)
        gone = np.flatnonzero(missing.any(axis=0))

        def effect(map_of: Matrix, moves: Matrix) -> Matrix:
            dropped = np.zeros((len(points), frame.n))
            np.add.at(dropped.T, frame.rows[gone], (missing[:, gone] * moves[:, gone]).T)
            return np.asarray(np.einsum("pij,pj->pi", map_of, dropped))

        return effect(points.T, points.moves), effect(points.T_step, points.moves_once)
