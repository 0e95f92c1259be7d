"""Loops that samplers close: the map over one period of the clocks, linearised.

Between ticks what the controller gave is held, at a tick it changes; with z = (x, d), d the sampled variables,

    step   z_next = S z,    S = [[Ss, G], [0, I]],   Ss the step map of x, G its derivative by d
    tick   z_next = T z,    T by central differences of the events at the end of a step
    period Phi = T_k S^(g_k) ... T_2 S^(g_2) T_1 S^(g_1)

over as many steps as all clocks have in common (several rates: the least common multiple). A loop decays where the
eigenvalues of Phi lie inside the unit circle (K. J. Astrom, B. Wittenmark, Computer-Controlled Systems, 1997, chs. 2-3;
of several rates: S. Bittanti, P. Colaneri, Periodic Systems, 2009, ch. 3). [[L - tau J, 0], [0, I]] z' makes S from the
formulas of the step itself, of both orders, because d does not move in a step.

Df and the derivatives by d are those of the first step of the period: Phi is that of a loop at rest there. Only Real
variables are in d; those that ticks leave as they are, whatever happens to the others, are no part of a loop.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from pliant.errors import PliantError
from pliant.ir import Clock
from pliant.realtime.scenario import step_times
from pliant.realtime.sparsing.linearisations import ON_CIRCLE, CommonData, PointOrigin, Points
from pliant.realtime.sparsing.linearise import Matrix, Trace, Walker
from pliant.realtime.sparsing.spectrum import allowed_change, change_ratio, spectrum_of
from pliant.realtime.sparsing.stepmap import step_map
from pliant.solve.models.numeric import NumericModel

SAMPLES = 24  # periods that are linearised, over all scenarios; at least one in each of the first MOST
MOST = 100
SMALL, LARGE = 1e-6, 1e-4  # increments, shares of the range
SMOOTH = 1e-3  # by so much derivatives with both may differ, of the largest effect
OFFSET = 0.1  # share of a value that counts as its range at least
EACH = 3  # ticks of the same clocks within a period that are differenced
STILL = 1e-6  # change of a derivative that is rounding
LONGEST = 10_000  # distinct stretches between ticks in a period

Turn = tuple[int, frozenset[int]]  # steps, and the clocks that tick after them


@dataclass(frozen=True)
class ClockSteps:
    """A clock counted in steps of a scenario: it ticks after step first, first + period, ..."""

    first: int
    period: int

    def ticks(self, k: int) -> bool:
        """Does it tick at the end of step k?"""
        return k >= self.first and (k - self.first) % self.period == 0


def clock_steps(clocks: Sequence[Clock], tau: float, start: float, count: int) -> dict[int, ClockSteps]:
    """Clocks that tick more than once in so many steps, by their numbers."""
    out = {}
    for k, one in enumerate(clocks):
        period = one.interval / tau
        if not 0.5 < period <= count:
            continue
        ahead = round((one.first - start) / tau)
        out[k] = ClockSteps(ahead if ahead > 0 else ahead % round(period), round(period))
    return out


def common_period(clocks: dict[int, ClockSteps]) -> int:
    """Steps after which all clocks have ticked as before."""
    return math.lcm(*(one.period for one in clocks.values())) if clocks else 0


def turns(clocks: dict[int, ClockSteps], first: int) -> list[Turn]:
    """One period from the end of step ``first`` on: so many steps, then these clocks."""
    last = first + common_period(clocks)
    times = sorted({k for one in clocks.values() for k in _ticks_within(one, first, last)})
    out: list[Turn] = []
    before = first
    for k in times:
        out.append((k - before, frozenset(c for c, one in clocks.items() if one.ticks(k))))
        before = k
    if before < last:
        out.append((last - before, frozenset()))
    return out


def _ticks_within(one: ClockSteps, first: int, last: int) -> range:
    begin = first + 1 + (one.first - first - 1) % one.period
    return range(begin, last + 1, one.period)


@dataclass(frozen=True, eq=False)
class SampledLoop:
    """One period, linearised."""

    values: Matrix  # entries of Df
    by_held: Matrix  # (n, m) derivatives of f by d
    turns: Sequence[Turn]
    ticks: dict[frozenset[int], Matrix]  # (n + m, n + m) by the clocks that tick
    is_smooth: bool  # do derivatives with small and with larger increments agree?
    is_steady: bool = True  # are the same variables at their limits at all ticks?
    in_limit: bool = False  # does a variable answer to large changes alone? The loop is open there

    @property
    def period(self) -> int:
        """In steps."""
        return sum(count for count, _ in self.turns)

    def map(self, frame: CommonData, J: Matrix) -> Matrix:
        """Phi with the Jacobian J in the step; not finite where the step has no solution."""
        n, m = self.by_held.shape
        size = n + m
        mass, used, exact = np.eye(size), np.zeros((size, size)), np.zeros((size, size))
        mass[:n, :n], used[:n, :n] = frame.mass, J
        exact[:n, :n], exact[:n, n:] = frame.dense(self.values), self.by_held
        try:
            step = step_map(mass, used, exact, frame.tau, frame.order)
        except np.linalg.LinAlgError:
            return np.full((size, size), np.nan)
        powers: dict[Turn, Matrix] = {}
        out = np.eye(size)
        with np.errstate(all="ignore"):
            for turn, count in _runs(self.turns):
                if turn not in powers:
                    powers[turn] = np.linalg.matrix_power(step, turn[0])
                    if turn[1]:
                        powers[turn] = self.ticks[turn[1]] @ powers[turn]
                out = np.linalg.matrix_power(powers[turn], count) @ out
        return out

    def plant(self, frame: CommonData) -> float:
        """Largest |eigenvalue| over the period where no clock ticks."""
        Df = frame.dense(self.values)
        step = step_map(frame.mass, Df, Df, frame.tau, frame.order)
        return float(np.abs(spectrum_of(step)).max(initial=0.0)) ** self.period


def _runs(all_turns: Sequence[Turn]) -> Iterator[tuple[Turn, int]]:
    """Equal turns in a row, counted."""
    k = 0
    while k < len(all_turns):
        end = k
        while end < len(all_turns) and all_turns[end] == all_turns[k]:
            end += 1
        yield all_turns[k], end - k
        k = end


class LoopCheck:
    """A sampled loop with all entries, and what a pattern may do to it."""

    def __init__(self, frame: CommonData, loop: SampledLoop, theta: float, slack: float) -> None:
        self.frame, self.loop, self.period = frame, loop, loop.period
        self.eigenvalues = spectrum_of(loop.map(frame, frame.dense(loop.values)))
        self.radius = float(np.abs(self.eigenvalues).max(initial=0.0))
        self.outside = self.radius >= 1.0 - ON_CIRCLE
        self.allowed = allowed_change(1.0 - np.abs(self.eigenvalues), theta, slack)
        self.largest = self.radius + slack if self.outside else 1.0 - theta * (1.0 - self.radius) + slack

    def spectrum(self, J: Matrix) -> NDArray[np.complex128] | None:
        """Eigenvalues with this Jacobian in the step; None where they are not to be had."""
        found = self.loop.map(self.frame, J)
        return spectrum_of(found) if np.isfinite(found).all() else None

    def value(self, J: Matrix) -> float:
        """In units of what is allowed: up to 1 the loop keeps its margin, and each eigenvalue its place."""
        found = self.spectrum(J)
        if found is None:
            return np.inf
        radius = float(np.abs(found).max(initial=0.0))
        over = (radius - self.radius) / max(self.largest - self.radius, 1e-12)
        return max(over, change_ratio(self.eigenvalues, found, self.allowed))


# --------------------------------------------------------------------------------------------- from runs to loops


def with_sampled_loops(points: Points, model: NumericModel, runs: Sequence[Trace], theta: float) -> Points:
    """The points, and one more for each sampled loop; ``points.loops`` has its check."""
    found = sampled_loops(points.frame, model, runs)
    if not found:
        return points
    first = len(points)
    out = points.extended(
        np.array([loop.values for _, _, loop in found]),
        np.array([dx for _, dx, _ in found]),
        [origin for origin, _, _ in found],
    )
    out.loops = {first + k: LoopCheck(points.frame, loop, theta, out.slack) for k, (_, _, loop) in enumerate(found)}
    return out


def sampled_loops(
    frame: CommonData, model: NumericModel, runs: Sequence[Trace]
) -> list[tuple[PointOrigin, Matrix, SampledLoop]]:
    """Periods along the runs, linearised."""
    equations = model.equations
    if equations is None or not equations.sorted.events.clocks or not model.struct.memory_size:
        return []
    held = real_memories(model)
    if not held:
        return []
    out = []
    chosen = range(len(runs)) if len(runs) <= MOST else np.linspace(0, len(runs) - 1, MOST).astype(int).tolist()
    for s in chosen:
        try:
            out += _Collector(frame, model, runs[s], held, s, max(1, SAMPLES // len(runs))).run()
        except PliantError:  # the model cannot be evaluated beside the run
            continue
    return _without_constants(frame.n, out)


def real_memories(model: NumericModel) -> list[int]:
    """Discrete variables that may be differentiated: Real ones, conditions apart."""
    assert model.equations is not None
    s = model.equations.sorted
    found = [s.system.variables[one.variable] for one in s.events.memories]
    return [k for k, one in enumerate(found) if one.type == "real" and not one.is_condition]


def sizes_of(values: Matrix) -> Matrix:
    """What increments are shares of: ranges, and not so little beside the values that rounding shows."""
    largest = np.abs(values).max(axis=0)
    found = np.maximum(np.ptp(values, axis=0), OFFSET * largest)
    return np.asarray(np.where(found > 0.0, found, 1.0))


def same_regime(maps: Sequence[Matrix], n: int) -> bool:
    """Is no variable at a limit at one tick and free at another one of the period?"""
    free = np.zeros(len(maps[0]), dtype=bool)
    limited = np.zeros(len(maps[0]), dtype=bool)
    for T in maps:
        moved = changes(T)
        at_rest = ~T.any(axis=1)
        limited |= at_rest
        free |= moved & ~at_rest
    return not (free & limited)[n:].any()


def changes(T: Matrix) -> NDArray[np.bool_]:
    """Rows of a map that are not those of the identity; differences of what does not depend are zero exactly."""
    apart = T - np.eye(len(T))
    own = np.abs(np.diag(apart)) > STILL
    np.fill_diagonal(apart, 0.0)
    return np.asarray(own | apart.any(axis=1))


def _without_constants(
    n: int, found: list[tuple[PointOrigin, Matrix, SampledLoop]]
) -> list[tuple[PointOrigin, Matrix, SampledLoop]]:
    """The same without variables that no tick changes: counters, sums of inputs alone, what other events set."""
    if not found:
        return []
    maps = [T for _, _, loop in found for T in loop.ticks.values()]
    moved = np.any([changes(T) for T in maps], axis=0)
    keep = np.flatnonzero(np.concatenate([np.ones(n, dtype=bool), moved[n:]]))
    if not moved[n:].any():
        return []
    out = []
    for origin, dx, one in found:
        ticks = {clocks: T[np.ix_(keep, keep)] for clocks, T in one.ticks.items()}
        by_held = one.by_held[:, keep[n:] - n]
        out.append((origin, dx, replace(one, by_held=by_held, ticks=ticks)))
    return out


class _Collector:
    """One run again, with all entries, held where a period begins and at its ticks."""

    def __init__(
        self, frame: CommonData, model: NumericModel, run: Trace, held: Sequence[int], number: int, samples: int
    ) -> None:
        self.frame, self.model, self.run_, self.held, self.number = frame, model, run, np.array(held), number
        assert model.equations is not None
        clocks = model.equations.sorted.events.clocks
        self.count = len(step_times(run.scenario, frame.tau)) - 1
        self.clocks = clock_steps(clocks, frame.tau, run.scenario.start, self.count)
        self.period = common_period(self.clocks)
        last = self.count - self.period
        first = max((one.first for one in self.clocks.values()), default=0)
        possible = range(min(first, max(last, 0)), max(last, 0) + 1)
        where = np.linspace(0, len(possible) - 1, min(samples, len(possible))).astype(int)
        self.starts = [] if not self.period or last < 0 else sorted({possible[k] for k in where})
        self.size = sizes_of(run.memories[:, held])
        self.x_size = np.maximum(
            np.where(np.isfinite(frame.scale), frame.scale, 1.0), OFFSET * np.abs(run.x).max(axis=0)
        )
        self.walker = Walker(model, frame.tau, frame.order)

    def run(self) -> list[tuple[PointOrigin, Matrix, SampledLoop]]:
        """Loops, with the point and the step where each begins."""
        wanted = {k: turns(self.clocks, k) for k in self.starts}
        if not wanted or any(len(list(_runs(one))) > LONGEST for one in wanted.values()):
            return []
        ends = {k: {k + at: clocks for at, clocks in _ends(one)} for k, one in wanted.items()}
        looked = {k: _chosen(one) for k, one in ends.items()}
        begun: dict[int, tuple[PointOrigin, Matrix, Matrix, Matrix, float]] = {}
        ticks: dict[int, dict[frozenset[int], list[Matrix]]] = {k: {} for k in wanted}
        limits: set[int] = set()
        errors: dict[int, float] = dict.fromkeys(wanted, 0.0)
        last = max(wanted) + self.period
        for step, (t, before, values, dx) in enumerate(self.walker.walk(self.run_.scenario), start=1):
            if step - 1 in wanted:
                F, error = self._by_held(t, before)
                settled = step - 1 >= 0.02 * self.count
                begun[step - 1] = PointOrigin(self.number, step - 1, t, False, settled), values, dx, F, error
            here = [k for k in begun if step in looked[k]]
            if here:
                T, error = self._tick(t, before + dx)
                if self._answers_far(t, before + dx, T):
                    limits.update(here)
                for k in here:
                    ticks[k].setdefault(ends[k][step], []).append(T)
                    errors[k] = max(errors[k], error)
            if step == last:
                break
        out = []
        for k, (origin, values, dx, F, error) in begun.items():
            smooth = max(errors[k], error) <= SMOOTH
            steady = same_regime([T for found in ticks[k].values() for T in found], len(F))
            first = {clocks: found[0] for clocks, found in ticks[k].items()}
            out.append((origin, dx, SampledLoop(values, F, wanted[k], first, smooth, steady, k in limits)))
        return out

    # ------------------------------------------------------------------------------------------- differences

    def _image(self) -> ctypes.Array[ctypes.c_char]:
        address, size = self.walker.sim.instance.address, self.model.struct.memory_size
        assert address is not None
        return ctypes.create_string_buffer(ctypes.string_at(address, size), size)

    def _differences(
        self, call: Callable[[Matrix], Matrix], x: Matrix, d: Matrix, columns: Sequence[tuple[int, float]]
    ) -> tuple[Matrix, float]:
        """Central differences by components of (x, d), and how far those with larger increments are from them."""
        image = self._image()
        address = self.walker.sim.instance.address
        assert address is not None

        def at(j: int, h: float) -> Matrix:
            ctypes.memmove(address, image, self.model.struct.memory_size)
            moved, other = x.copy(), d.copy()
            if j < len(x):
                moved[j] += h
            else:
                other[self.held[j - len(x)]] += h
            self.walker.hold(other)
            return np.asarray(call(moved), dtype=np.float64)

        small: list[Matrix] = []
        large: list[Matrix] = []
        for j, size in columns:
            for share, out in ((SMALL, small), (LARGE, large)):
                h = share * size
                out.append((at(j, h) - at(j, -h)) / (2.0 * h))
        ctypes.memmove(address, image, self.model.struct.memory_size)
        first, second = np.array(small).T, np.array(large).T
        weight = np.array([size for _, size in columns])
        effect = np.abs(first) * weight
        apart = np.abs(second - first) * weight
        rows = np.maximum(effect, np.abs(second) * weight).max(axis=1, keepdims=True)
        error = float((apart / np.where(rows > 0.0, rows, 1.0)).max(initial=0.0))
        return first, error

    def _by_held(self, t: float, x: Matrix) -> tuple[Matrix, float]:
        """f by the held variables, where the step takes Df."""
        walker, tau = self.walker, self.frame.tau
        done = walker.steps_at(t) - 1  # the step that ends at t
        at, u, side = t, walker.inputs.before[done], -1
        if self.frame.order == 2:
            at, u, side = walker.scenario.start + done * tau, walker.inputs_from(done), 1

        def f(moved: Matrix) -> Matrix:
            return walker.right_side(at, moved, u, side)

        n = len(x)
        return self._differences(f, x, walker.memories, [(n + k, size) for k, size in enumerate(self.size.tolist())])

    def _answers_far(self, t: float, x: Matrix, T: Matrix) -> bool:
        """Is there a variable that answers to nothing small, but to changes as large as the ranges?"""
        walker, n = self.walker, len(x)
        still = np.flatnonzero(~T[n:].any(axis=1))
        if not len(still):
            return False
        image, d = self._image(), walker.memories
        address = walker.sim.instance.address
        assert address is not None
        found = False
        try:
            for j, size in enumerate([*self.x_size.tolist(), *self.size.tolist()]):
                ends = []
                for h in (size, -size):
                    ctypes.memmove(address, image, self.model.struct.memory_size)
                    moved, other = x.copy(), d.copy()
                    if j < n:
                        moved[j] += h
                    else:
                        other[self.held[j - n]] += h
                    walker.hold(other)
                    walker.events(t, moved)
                    ends.append(walker.memories[self.held][still])
                found = found or bool((ends[0] != ends[1]).any())
        except PliantError:  # the model does not go that far
            pass
        ctypes.memmove(address, image, self.model.struct.memory_size)
        return found

    def _tick(self, t: float, x: Matrix) -> tuple[Matrix, float]:
        """What the events at t do to (x, d)."""
        walker = self.walker

        def after(moved: Matrix) -> Matrix:
            new = walker.events(t, moved)
            return np.concatenate([new, walker.memories[self.held]])

        sizes = [*self.x_size.tolist(), *self.size.tolist()]
        return self._differences(after, x, walker.memories, list(enumerate(sizes)))


def _chosen(ends: dict[int, frozenset[int]]) -> set[int]:
    """Steps whose ticks are differenced: of the same clocks the first, the last and one between."""
    by_clocks: dict[frozenset[int], list[int]] = {}
    for step, clocks in ends.items():
        if clocks:
            by_clocks.setdefault(clocks, []).append(step)
    spread = (np.linspace(0, len(steps) - 1, EACH).astype(int) for steps in by_clocks.values())
    return {steps[k] for steps, chosen in zip(by_clocks.values(), spread, strict=True) for k in chosen.tolist()}


def _ends(all_turns: Sequence[Turn]) -> Iterator[tuple[int, frozenset[int]]]:
    """Steps from the beginning of a period to each of its ticks."""
    at = 0
    for count, clocks in all_turns:
        at += count
        yield at, clocks
