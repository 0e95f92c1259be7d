"""Linearisations side by side: everything about them that does not depend on the pattern.

    B = L - tau Df,  S = B^-1 L,  lambda = eigenvalues of S,  r = 1 - |lambda|
    bias of a pattern, first order in what is dropped: e = T (Df o (1 - mask)) Dx, where T is Df^-1 (the fixed point of
    the recursion e_next = Ss e - Bs^-1 E Dx), or (I - S^N) Df^-1 over N steps where Df is singular, and also
    T = -tau B^-1 (one step). Errors are counted in units of the state's range over the exact run.

Sources: Schiela & Bornemann 2003, sections 2-3; the bias is not in the papers (see docs/theory/sparsing.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from pliant.errors import SingularError
from pliant.realtime.sparsing.blocks import StateBlock, blocks
from pliant.realtime.sparsing.entry_states import Kept, Mask, used
from pliant.realtime.sparsing.linearise import Matrix, Trace, dense
from pliant.realtime.sparsing.spectrum import allowed_change, singular_hint
from pliant.realtime.sparsing.stepmap import extrapolated, plain_solve, summed_map
from pliant.realtime.sparsing.ties import first_least

Places = NDArray[np.intp]
LARGE = 150  # unknowns beyond which candidates are tested in patches, and what is dense is done more rarely
NEAREST = 4  # eigenvalues of a large model whose rounding is looked at
SLOWEST = 1e-12  # reciprocal condition of Df below which it counts as singular
LATER = 0.02  # share of a run that counts as its start-up and does not stretch the ranges
START = 0.5  # weight of errors in it
ON_CIRCLE = 1e-9  # margin below which rounding decides on which side of the unit circle an eigenvalue lies
NEAR = 1e-3  # distance from the unit circle within which rounding of eigenvalues is looked at
LARGEST_ROUNDING = 1e-4  # that is believed: runs would show what a larger one means
SAFETY = 4.0  # on the estimate of rounding: products and sums of n terms
UNBOUNDED = 1e100  # in the place of an effect that overflows
ALIKE = 1e-6  # distance of two linearisations that are the same but for rounding
INVISIBLE = 1e-3  # change over the whole run that an eigenvalue may bring about in any case


@dataclass(frozen=True, eq=False)
class CommonData:
    """What is common to all linearisations of a model."""

    names: tuple[str, ...]
    rows: Places  # of the entries of Df
    columns: Places
    mass: Matrix
    tau: float
    scale: Matrix  # (n,) range of each state, divided by the user's weight; inf where errors do not count
    horizon: int  # steps of the longest scenario
    order: int = 1  # of the method

    @property
    def n(self) -> int:
        """Number of unknowns."""
        return len(self.names)

    @property
    def n_entries(self) -> int:
        """Entries of Df."""
        return len(self.rows)

    @property
    def algebraic(self) -> Mask:
        """Rows of L that are empty."""
        return np.logical_not(self.mass.any(axis=1))

    @cached_property
    def blocks(self) -> list[StateBlock]:
        """Parts with eigenvalues of their own."""
        return blocks(self.mass, self.rows, self.columns)

    def dense(self, values: Matrix) -> Matrix:
        """Entries as matrices; leading axes are kept."""
        return dense(self.n, self.rows, self.columns, values)

    def masked(self, values: Matrix, kept: Kept) -> Matrix:
        """J from the entries of Df."""
        return self.dense(used(values, kept))

    def matrix(self, values: Matrix, kept: Kept) -> Matrix:
        """L - tau J."""
        return np.asarray(self.mass - self.tau * self.masked(values, kept))


@dataclass(frozen=True)
class PointOrigin:
    """Where a linearisation was met."""

    scenario: int
    step: int
    time: float
    masked: bool = False  # on the trajectory of a sparsed run
    settled: bool = True  # after the start-up: before it the steps are no measure of lasting errors


class LoopTest(Protocol):
    """What a loop that a sampler closes says about a pattern."""

    radius: float  # with all entries
    period: int  # in steps

    def value(self, J: Matrix) -> float:
        """In units of what is allowed, with this Jacobian in the step."""


class Points:
    """P linearisations of one model."""

    def __init__(self, frame: CommonData, values: Matrix, dx: Matrix, origins: Sequence[PointOrigin]) -> None:
        self.frame, self.values, self.dx = frame, values, dx
        self.origins = list(origins)
        self.Df = frame.dense(values)
        B = frame.mass - frame.tau * self.Df
        try:
            B_inverse: Matrix = np.asarray(np.linalg.inv(B), dtype=np.float64)
        except np.linalg.LinAlgError:
            self._singular(B)
        self.S = B_inverse @ frame.mass
        if frame.order == 2:
            half = plain_solve(frame.mass - 0.5 * frame.tau * self.Df, np.broadcast_to(frame.mass, self.Df.shape))
            self.S = extrapolated(half, self.S)
        self.eigenvalues = np.linalg.eigvals(self.S)
        self.modulus = np.abs(self.eigenvalues)
        self.margin = 1.0 - self.modulus
        self.radius = self.modulus.max(axis=1, initial=0.0)
        self.rounding = self._rounding(B, B_inverse)
        # integrators, conserved sums, models that grow
        self.outside = self.radius >= 1.0 - np.maximum(ON_CIRCLE, self.rounding)
        weight = 1.0 / frame.scale
        self.settled = np.array([one.settled for one in self.origins])
        self.moves = dx[:, frame.columns] * self.settled[:, None]  # what each entry is multiplied by in a step
        self.moves_once = self.moves  # the same for errors of a single step
        self.T = by_columns(weight[:, None] * self._lasting(B_inverse))
        self.T_step = by_columns(weight[:, None] * (frame.tau * B_inverse))
        self.B_inverse = B_inverse
        self.loops: dict[int, LoopTest] = {}  # of the points where a sampled loop is linearised, see sampled.py
        self.judged: dict[tuple[Any, ...], Any] = {}  # verdicts on patterns that any search came to, see accept.py

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "judged": {}}

    def __len__(self) -> int:
        return len(self.origins)

    def with_start(self) -> Points:
        """These points with the errors of single steps during the start-up, which count half as in the runs."""
        out = copy(self)
        out.moves_once = self.dx[:, self.frame.columns] * np.where(self.settled, 1.0, START)[:, None]
        return out

    def _rounding(self, B: Matrix, B_inverse: Matrix) -> Matrix:
        """(P,) how far rounding may move the eigenvalues near the unit circle.

        An error dS moves a simple eigenvalue by y^H dS x / y^H x (x, y its right and left eigenvectors); a solution
        with B has errors up to eps |B^-1| |B| |S|, whatever the units (N. J. Higham, Accuracy and Stability of
        Numerical Algorithms, 2002, ch. 7). Near a defective eigenvalue y^H x is as small as sqrt(eps), and so the
        bound grows as it must. Only points with an eigenvalue that close are examined.
        """
        out = np.zeros(len(B))
        if self.frame.n > LARGE:
            return self._rounding_of_largest(B, B_inverse)
        for p in np.flatnonzero(np.abs(self.margin).min(axis=1, initial=1.0) < NEAR):
            size = np.abs(self.S[p])
            error = np.finfo(float).eps * (np.abs(B_inverse[p]) @ (np.abs(B[p]) @ size) + size)
            found, left, right = scipy.linalg.eig(self.S[p], left=True, right=True)
            near = np.abs(np.abs(found) - 1.0) < NEAR
            x, y = right[:, near], left[:, near]
            angle = np.maximum(np.abs((y.conj() * x).sum(axis=0)), np.finfo(float).eps)
            moved = (np.abs(y) * (error @ np.abs(x))).sum(axis=0) / angle
            out[p] = min(SAFETY * float(moved.max(initial=0.0)), LARGEST_ROUNDING)
        return out

    def _rounding_of_largest(self, B: Matrix, B_inverse: Matrix) -> Matrix:
        """The same for the eigenvalues of largest modulus alone, by inverse iteration."""
        out, n = np.zeros(len(B)), self.frame.n
        for p in np.flatnonzero(np.abs(self.margin).min(axis=1, initial=1.0) < NEAR):
            size = np.abs(self.S[p])
            error = np.finfo(float).eps * (np.abs(B_inverse[p]) @ (np.abs(B[p]) @ size) + size)
            moved = 0.0
            for k in np.argsort(-self.modulus[p], kind="stable")[:NEAREST]:
                shift = self.eigenvalues[p, k] * (1.0 + 1e-10)
                lu = scipy.linalg.lu_factor(self.S[p] - shift * np.eye(n), check_finite=False)
                x = y = np.ones(n, dtype=np.complex128) / np.sqrt(n)
                for _ in range(2):
                    x, y = scipy.linalg.lu_solve(lu, x), scipy.linalg.lu_solve(lu, y, trans=2)
                    x, y = x / np.linalg.norm(x), y / np.linalg.norm(y)
                angle = max(abs(np.vdot(y, x)), np.finfo(float).eps)
                moved = max(moved, float(np.abs(y) @ (error @ np.abs(x)) / angle))
            out[p] = min(SAFETY * moved, LARGEST_ROUNDING) if np.isfinite(moved) else LARGEST_ROUNDING
        return out

    def _singular(self, B: Matrix) -> None:
        for p, matrix in enumerate(B):
            if np.linalg.matrix_rank(matrix) < self.frame.n:
                u, _, _ = np.linalg.svd(matrix.T)
                name = self.frame.names[int(np.argmax(np.abs(u[:, -1])))]
                raise SingularError(
                    f"L - tau Df is singular at t = {self.origins[p].time:g}: {name} is not determined by the step",
                    hint=singular_hint(bool(self.frame.algebraic.any())),
                    time=self.origins[p].time,
                    names=(name,),
                )
        raise SingularError("L - tau Df is singular", hint=singular_hint(bool(self.frame.algebraic.any())))

    def _lasting(self, B_inverse: Matrix) -> Matrix:
        """What a constant disturbance of a row does in the long run: Df^-1, or N steps of it where that is infinite."""
        out = np.empty_like(B_inverse)
        if self.frame.n > LARGE:  # one inverse: the sum over a run with the weight exp(-t/T), T its length
            whole = self.frame.mass / (self.frame.tau * max(self.frame.horizon, 1))
            return np.asarray(np.linalg.inv(self.Df - whole))
        for p, matrix in enumerate(self.Df if self.frame.n else ()):
            scaled = matrix * self._finite_scale()[None, :]
            size = np.abs(scaled).max(axis=1, keepdims=True)
            scaled = scaled / np.where(size > 0, size, 1.0)
            if 1.0 / np.linalg.cond(scaled, 1) > SLOWEST:
                out[p] = np.linalg.inv(matrix)
            else:
                out[p] = self._within(B_inverse[p], self.S[p])
        return out

    def _finite_scale(self) -> Matrix:
        return np.where(np.isfinite(self.frame.scale), self.frame.scale, 1.0)

    def _within(self, B_inverse: Matrix, S: Matrix) -> Matrix:
        """-(I + S + ... + S^(N-1)) tau B^-1, N the power of two from the horizon up."""
        N = 2 ** max(1, int(np.ceil(np.log2(max(2, self.frame.horizon)))))
        with np.errstate(over="ignore", invalid="ignore"):  # what grows over a long run has no bound: it may not go
            T = summed_map(-self.frame.tau * B_inverse, S, N)
        return np.nan_to_num(T, nan=UNBOUNDED, posinf=UNBOUNDED, neginf=-UNBOUNDED)

    def limits(self, theta: float) -> Matrix:
        """By how much each eigenvalue may move, (P, n)."""
        return np.asarray(allowed_change(self.margin, theta, self.slack) + self.rounding[:, None])

    @property
    def slack(self) -> float:
        """A change of an eigenvalue near one that stays invisible over the longest scenario."""
        return max(1e-9, INVISIBLE / max(self.frame.horizon, 1))

    def extended(self, values: Matrix, dx: Matrix, origins: Sequence[PointOrigin]) -> Points:
        """These and further points."""
        both = np.concatenate([self.values, values]), np.concatenate([self.dx, dx])
        found = Points(self.frame, *both, [*self.origins, *origins])
        found.loops = dict(self.loops)
        found.judged = dict(self.judged)
        return found if self.moves_once is self.moves else found.with_start()

    def farthest(self, count: int) -> list[int]:
        """Points that differ most from each other: each next one is farthest from those before (Frobenius norm of S,
        entries divided by their largest value over all points)."""
        flat = self.S.reshape(len(self), -1)
        flat = flat / np.maximum(np.abs(flat).max(axis=0), 1e-300)
        chosen = [0]
        distance = np.linalg.norm(flat - flat[0], axis=1)
        while len(chosen) < min(count, len(self)):
            k = first_least(-distance)
            if distance[k] <= ALIKE:
                break
            chosen.append(k)
            distance = np.minimum(distance, np.linalg.norm(flat - flat[k], axis=1))
        return chosen


def by_columns(maps: Matrix) -> Matrix:
    """The same (P, n, n) numbers, those of one column next to each other in memory: a search reads columns."""
    return np.moveaxis(np.ascontiguousarray(np.moveaxis(maps, 2, 0)), 0, 2)


def ranges(traces: Sequence[Trace], nominal: Matrix | None) -> Matrix:
    """Peak to peak of each state over the exact runs without their start-up; its nominal value where it rests."""
    parts = []
    largest = np.zeros(traces[0].x.shape[1])
    for one in traces:
        first = int(LATER * len(one.x))
        parts.append(np.ptp(one.x[first:], axis=0))
        largest = np.maximum(largest, np.abs(one.x).max(axis=0))
    found = np.max(parts, axis=0)
    rest = np.where(largest > 0, largest, 1.0) if nominal is None else np.maximum(np.abs(nominal), 1e-300)
    return np.where(found > 1e-9 * np.maximum(largest, rest), found, rest)


def _spread(length: int, count: int) -> Places:
    """Evenly from the first to the last."""
    return np.unique(np.linspace(0, length - 1, count).round().astype(np.intp))


def pick(traces: Sequence[Trace], count: int, masked: bool = False) -> tuple[Matrix, Matrix, list[PointOrigin]]:
    """About ``count`` linearisations, evenly spread over all scenarios: entries, steps, origins."""
    total = sum(len(one.kept) for one in traces)
    values, dx, origins = [], [], []
    for s, one in enumerate(traces):
        share = max(1, min(len(one.kept), round(count * len(one.kept) / total)))
        whole = len(one.kept) % share == 0
        chosen = np.arange(0, len(one.kept), len(one.kept) // share) if whole else _spread(len(one.kept), share)
        steps = one.kept[chosen]
        values.append(one.values[chosen])
        dx.append(one.dx[steps])
        first = LATER * len(one.t)
        origins += [PointOrigin(s, int(k), float(one.t[k]), masked, bool(k >= first)) for k in steps]
    return np.concatenate(values), np.concatenate(dx), origins
