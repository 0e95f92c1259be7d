"""Loops that samplers close, in the verdict: maps over one period of the clocks, and what the compiled step does.

    linearised    eigenvalues of the maps of sparsing/sampled.py, with all entries and with the pattern
    differenced   the compiled step over one period, from (x, d) disturbed at some points of the runs with the pattern:
                  independent of the formulas, in double whatever the precision of the plan
    followed      where a loop grows over a period, a disturbance along the growing direction up to the end of the run

A loop that grows while the plant alone does not is the fault of the controller, of its rate or of the pattern. So is
one that leaves a growing plant growing in another way: an eigenvalue outside the unit circle counts if it is none of
the plant over a period without ticks, and if the disturbance keeps on growing along the run (in a limit cycle it does
not). Slight growth at one point need not last, where the loop changes along the run: it counts if the run is long
enough to show it and the disturbance keeps on growing, by at least half of the exponent or by LASTS in all. Clear
growth counts in any case: limits of the controller may end it, in a loop that never comes to rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pliant.errors import PliantError
from pliant.realtime.code.types import StepCode
from pliant.realtime.evidence.evidence import Evidence
from pliant.realtime.sparsing.entry_states import Mask
from pliant.realtime.sparsing.linearisations import CommonData
from pliant.realtime.sparsing.linearise import Matrix
from pliant.realtime.sparsing.sampled import (
    LARGE,
    OFFSET,
    SMALL,
    LoopCheck,
    changes,
    clock_steps,
    common_period,
    real_memories,
    sizes_of,
)
from pliant.realtime.sparsing.spectrum import spectrum_of
from pliant.realtime.sparsing.stepmap import step_map
from pliant.realtime.stages.outcome import Outcome
from pliant.realtime.stages.step import Drive, drive, fixed_counts, write_code
from pliant.realtime.stages.tune import Compiled, Tuned
from pliant.realtime.stages.verdict import Line

GROWS, CLEARLY = 1e-6, 0.02  # beyond one, over a period
OTHER = 1e-4  # of an eigenvalue: nearer to one of the plant's it is the plant's own
VISIBLE = 0.1  # growth over a whole run that counts, where it is slight over a period
AGREE = 0.02  # of the largest modulus: radii with small and larger increments
POINTS = 12  # periods that are differenced, over all scenarios
MOST_STEPS = 4_000_000  # of the compiled step for all of them
SEEN = 1e-4  # share of the ranges: a disturbance that is followed
LASTS = 30.0  # growth up to the end of a run that counts in any case


@dataclass(frozen=True, eq=False)
class Period:
    """One period of the compiled step, differenced."""

    time: float
    scenario: str
    radius: float  # largest |eigenvalue|
    sure: bool  # do both increments give the same?
    growth: float = 0.0  # of a disturbance along the growing direction up to the end of the run; 0: none grows
    lasts: bool = False  # ... and that is what it seemed to be


@dataclass(frozen=True)
class LoopGrowth:
    """A linearised loop that grows."""

    radius: float  # over a period
    point: int
    of_plant: bool  # the plant grows by itself, too


def sampled_lines(outcome: Outcome, tuned: Tuned, e: Evidence) -> list[Line]:
    """Verdicts on sampled loops; none where no loop goes through a sampler."""
    checks = {p: one for p, one in outcome.points.loops.items() if isinstance(one, LoopCheck)}
    if not checks:
        return _unchecked(outcome)
    found = differenced(outcome, tuned) if isinstance(tuned, Compiled) else []
    return [_linearised(outcome, checks, found, e), *_differenced_line(found, e)]


def _unchecked(outcome: Outcome) -> list[Line]:
    """Why nothing is said about clocks that are there."""
    equations = outcome.model.equations
    if equations is None or not equations.sorted.events.clocks or not real_memories(outcome.model):
        return []
    steps = [len(one.t) for one in outcome.exact]
    clocks = equations.sorted.events.clocks
    known = [
        clock_steps(clocks, outcome.frame.tau, one.scenario.start, n)
        for one, n in zip(outcome.exact, steps, strict=True)
    ]
    if any(common_period(one) > n for one, n in zip(known, steps, strict=True)):
        return [("sampled loops", None, "not linearised: a common period of the clocks is longer than the scenarios")]
    return []


def _linearised(outcome: Outcome, checks: dict[int, LoopCheck], found: Sequence[Period], e: Evidence) -> Line:
    frame, states = outcome.frame, outcome.states
    margin, largest, exact, refused, rough, limited = 1.0, 0.0, 0.0, 0, 0, 0
    periods: set[int] = set()
    grows: list[LoopGrowth] = []
    for p, one in checks.items():
        periods.add(one.loop.period)
        J = frame.masked(outcome.points.values[p], states)
        spectrum = one.eigenvalues if states.all_computed else one.spectrum(J)
        radius = np.inf if spectrum is None else float(np.abs(spectrum).max(initial=0.0))
        refused += not states.all_computed and one.value(J) > 1.0 + 1e-9
        if not (states.all_computed or one.outside):
            margin = min(margin, (1.0 - radius + 1e-12) / (1.0 - one.radius + 1e-12))
        if not (one.loop.is_smooth and one.loop.is_steady):
            rough += 1
            continue
        limited += one.loop.in_limit
        largest, exact = max(largest, radius), max(exact, one.radius)
        growth = own_growth(one, p, frame)
        if growth is not None:
            grows.append(growth)
    if rough == len(checks):
        exact = max(one.radius for one in checks.values())
        largest = max(largest, exact)
    e.loop_radius, e.loop_radius_exact, e.loop_margin = largest, exact, margin
    e.margin_kept = min(e.margin_kept, margin)
    n = len(checks)
    how = " and ".join(f"{count * frame.tau:g} s ({count} steps)" for count in sorted(periods))
    words = (
        f"{n - refused} of {n} maps over the clocks' period of {how} keep their margin; "
        f"largest |eigenvalue| {largest:.6f} "
        f"(exact Jacobian {exact:.6f}); {margin:.3f} of the margin is kept"
    )
    if rough:
        words += f"; {rough} of them are not smooth or reach a limit within the period: growth is not judged there"
    if limited:
        words += f"; in {limited} of them the controller sits in a limit, where the loop is open"
    unjudged = not any(_is_free(one) for one in checks.values())
    if unjudged:
        words += ": no period shows the closed loop, its stability is not judged"
        e.not_checked.append(
            "whether the sampled loop is stable: in every period that was linearised the controller sits in a limit, "
            "reaches one, or is not smooth; scenarios that stay away from limits would tell"
        )
    lasting = _lasting(outcome, grows, len(checks), found)
    if grows:
        worst = max(grows, key=lambda one: one.radius)
        radius, origin = worst.radius, outcome.points.origins[worst.point]
        by = f"{100 * (radius - 1.0):.3g} %" if radius < 2.0 else f"the factor {radius:.4g}"
        words += (
            f"; at t = {origin.time:g} of {outcome.exact[origin.scenario].scenario.name} the loop through the sampler "
            f"grows by {by} per period, "
            + ("as the plant does in another way by itself" if worst.of_plant else "the plant alone does not")
        )
        words += (
            ": a shorter period, or a controller made for this one"
            if lasting
            else ", so slightly that the run does not show it, or only for a while"  # limit cycles
        )
    kept = margin >= outcome.request.rule.theta - 1e-9
    holds = refused == 0 and kept and not lasting
    return "sampled loops", None if holds and (grows or unjudged) else holds, words


def _is_free(one: LoopCheck) -> bool:
    """Is the loop closed and smooth over this period?"""
    return one.loop.is_smooth and one.loop.is_steady and not one.loop.in_limit


def own_growth(check: LoopCheck, point: int, frame: CommonData) -> LoopGrowth | None:
    """What of the loop's map lies outside the unit circle and is not the plant's own."""
    outside = check.eigenvalues[np.abs(check.eigenvalues) > 1.0 + GROWS]
    if not len(outside):
        return None
    Df = frame.dense(check.loop.values)
    alone = spectrum_of(step_map(frame.mass, Df, Df, frame.tau, frame.order)) ** check.loop.period
    of_plant = bool((np.abs(alone) > 1.0 + GROWS).any())
    if of_plant:
        apart = np.abs(outside[:, None] - alone[None, :]).min(axis=1)
        outside = outside[apart > OTHER * np.abs(outside)]
    return LoopGrowth(float(np.abs(outside).max()), point, of_plant) if len(outside) else None


def _lasting(outcome: Outcome, grows: Sequence[LoopGrowth], n_checks: int, found: Sequence[Period]) -> bool:
    """Does the growth count? Without a compiled step slight growth must be that of most periods."""
    if any(one.radius > 1.0 + CLEARLY and not one.of_plant for one in grows) or not grows:
        return bool(grows)
    periods = [len(one.t) / outcome.points.loops[grows[0].point].period for one in outcome.exact]
    if max(one.radius for one in grows) ** max(periods) < 1.0 + VISIBLE:
        return False
    if found:
        return any(one.lasts for one in found)
    return 2 * len(grows) > n_checks


def _differenced_line(found: Sequence[Period], e: Evidence) -> list[Line]:
    sure = [one for one in found if one.sure]
    if not sure:
        return []
    worst = max(sure, key=lambda one: one.radius)
    lasting = max(found, key=lambda one: one.growth)
    words = (
        f"largest |eigenvalue| {worst.radius:.6f} (t = {worst.time:g} of {worst.scenario}) over one period, "
        f"differenced at {len(sure)} points of the runs"
    )
    if len(found) > len(sure):
        words += f"; at {len(found) - len(sure)} more, small and larger increments give different values: not judged"
    holds: bool | None = True
    if worst.radius > 1.0 + GROWS:
        alone = (e.loop_radius_exact or 0.0) <= 1.0 + GROWS  # only the compiled step, or the pattern, grows
        holds = False if worst.radius > 1.0 + CLEARLY and any(one.lasts for one in found) and alone else None
        words += f"; a disturbance there has grown by {lasting.growth:.3g} at the end of the run" * (
            lasting.growth > 0.0
        )
    return [("sampled loops of the compiled step", holds, words)]


# ------------------------------------------------------------------------------------------------- differences


def differenced(outcome: Outcome, tuned: Compiled) -> list[Period]:
    """Periods along the runs with the pattern."""
    code = tuned.code
    if code.precision != "double":
        try:
            code = write_code(outcome, "double", *fixed_counts(code))
        except PliantError:
            return []
    held = np.array(real_memories(outcome.model))
    out: list[Period] = []
    options, left = outcome.request.options, MOST_STEPS
    share = max(1, POINTS // len(outcome.exact))
    for scenario in outcome.request.scenarios[:POINTS]:
        run = drive(code, outcome.model, scenario, inputs=options.inputs)
        one = _Differences(outcome, code, run, held, scenario.name)
        for k in one.starts(share):
            cost = one.cost(k)
            if cost > left:
                break
            left -= cost
            out.append(one.at(k))
    return out


class _Differences:
    """One run of the compiled step and disturbances of it."""

    def __init__(self, outcome: Outcome, code: StepCode, run: Drive, held: Matrix, name: str) -> None:
        assert outcome.model.equations is not None
        self.run, self.held, self.name, self.tau = run, held, name, code.tau
        self.n, self.count = code.n_x, len(run.time) - 1
        clocks = outcome.model.equations.sorted.events.clocks
        self.clocks = clock_steps(clocks, code.tau, float(run.time[0]), self.count)
        self.period = common_period(self.clocks)
        scale = np.where(np.isfinite(outcome.frame.scale), outcome.frame.scale, 1.0)
        scale = np.maximum(scale, OFFSET * np.abs(run.x).max(axis=0))
        self.size = np.concatenate([scale, sizes_of(run.memories[:, held])])
        run.stepper.start_at(run.start, run.inputs.start)
        self.done = 0

    def starts(self, share: int) -> list[int]:
        """Where periods begin: spread over the run, after every clock has ticked."""
        first, last = max((one.first for one in self.clocks.values()), default=0), self.count - self.period
        if not self.period or last < 0:
            return []
        first = min(first, last)
        return sorted({int(k) for k in np.linspace(first, last, share + 1)[:-1].round()})

    def cost(self, k: int) -> int:
        """Steps."""
        return 4 * len(self.size) * self.period + 2 * (self.count - k)

    def at(self, k: int) -> Period:
        """The period that begins at the end of step k."""
        self._forward(k - self.done)
        self.done = k
        saved = self.run.stepper.save()
        small, large = self._map(k, saved, SMALL), self._map(k, saved, LARGE)
        keep = changes(small) | changes(large) | (np.arange(len(small)) < self.n)
        radius, vector = _largest(small, keep)
        other, _ = _largest(large, keep)
        sure = bool(abs(radius - other) <= AGREE * max(radius, other, 0.1))
        growth, lasts = 0.0, False
        if radius > 1.0 + GROWS and sure:
            growth = self._followed(k, saved, vector)
            lasts = growth > min(radius ** (0.5 * (self.count - k) / self.period), LASTS)
        self.run.stepper.restore(saved)
        return Period(float(self.run.time[k]), self.name, radius, sure, growth, lasts)

    def _forward(self, steps: int) -> None:
        if steps > 0:
            k, table = self.done, self.run.inputs
            self.run.stepper.run(table.before[k : k + steps], steps, history=False, after=table.after[k : k + steps])

    def _state(self) -> Matrix:
        stepper = self.run.stepper
        return np.concatenate([stepper.x, stepper.discrete[self.held]])

    def _from(self, k: int, saved: bytes, moved: Matrix, steps: int) -> Matrix:
        """In units of the ranges, after so many steps from a disturbed state."""
        stepper, table = self.run.stepper, self.run.inputs
        stepper.restore(saved)
        stepper.x[:] += moved[: self.n]
        d = stepper.discrete
        d[self.held] += moved[self.n :]
        stepper.run(table.before[k : k + steps], steps, history=False, after=table.after[k : k + steps])
        return np.asarray(self._state() / self.size)

    def _map(self, k: int, saved: bytes, share: float) -> Matrix:
        columns = []
        for j, size in enumerate(self.size):
            moved = np.zeros(len(self.size))
            moved[j] = share * size
            ends = [self._from(k, saved, sign * moved, self.period) for sign in (1.0, -1.0)]
            columns.append((ends[0] - ends[1]) / (2.0 * share))
        return np.array(columns).T

    def _followed(self, k: int, saved: bytes, vector: Any) -> float:
        """LoopGrowth of a small disturbance up to the end of the run; real and imaginary part one after the other."""
        steps = self.count - k
        vector = vector / max(float(np.abs(vector).max()), 1e-300)
        end = np.zeros(len(vector), dtype=np.complex128)
        for part, unit in ((vector.real, 1.0), (vector.imag, 1j)):
            if part.any():
                moved = SEEN * part * self.size
                ends = [self._from(k, saved, sign * moved, steps) for sign in (1.0, -1.0)]
                end += unit * (ends[0] - ends[1]) / (2.0 * SEEN)
        size = float(np.abs(end).max())
        return size if np.isfinite(size) else np.inf


def _largest(matrix: Matrix, keep: Mask) -> tuple[float, Any]:
    """Largest |eigenvalue| of the kept components, and its vector."""
    if not np.isfinite(matrix).all():
        return np.inf, np.ones(len(matrix))
    values, vectors = np.linalg.eig(matrix[np.ix_(keep, keep)])
    j = int(np.argmax(np.abs(values)))
    out = np.zeros(len(matrix), dtype=np.complex128)
    out[keep] = vectors[:, j]
    return float(np.abs(values[j])), out
