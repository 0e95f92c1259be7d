"""Limits of the monitor, from what the runs with the pattern showed.

A pivot below a tenth of the smallest met, a share of the dropped entries or a ringing of three times the largest met
raises a flag, and a local error of three times the largest met, less where the errors met leave less room. Where those
were far below what is allowed, three times of little is still harmless: a local error is let pass up to half of what is
allowed, as far as the errors met, growing with it, stay below half of it (dropped parts: up to twice that, because the
error of a step is half of a change). So does an unknown, an input or a parameter outside the covered ranges and the
room around them that errors leave, and an input that changes by more in a step or at a jump. Changes that
alternate by less than a quarter of what is allowed are no ringing: sampled controllers make a model alternate, too.
What the dropped entries do in a step is seen one step later, from L dx_k - tau f_(k+1) = -E dx_k + O(dx^2), without
evaluating anything (see code/monitor.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pliant.errors import ArgumentError, UnknownNameError
from pliant.realtime.code.types import MonitorLimits
from pliant.realtime.evidence.accuracy import AccurateRun
from pliant.realtime.sparsing.linearise import Matrix, Trace, Walker
from pliant.realtime.sparsing.static_lu import StaticLU
from pliant.realtime.stages.covered import Covered, Pair, covered
from pliant.realtime.stages.outcome import Outcome
from pliant.solve.names import suggestion

MARGIN = 3.0  # of what the runs showed
LEAST = 1.25  # the same where the runs use up what is allowed
PIVOT_MARGIN = 10.0
RINGING = 0.25  # of what is allowed: a change from step to step that alternates
SMALLEST = 1e-3  # of a range: a local error or dropped part of one step that is never flagged
WIDEST, NARROWEST = 0.25, 0.02  # of a range: how far beyond it evidence is taken to hold, at most and at least
HARMLESS = 0.5  # of what is allowed: what the local error of one step may be, and what may come of it
NOISE = 0.02  # of a range: a change of an input that is never flagged
SHIFT, ALLOWED = 0.1, 1.0  # of a step: resets that are off by more have a limited number; ... are errors
ROUNDING = 1e-6  # of a value: so exactly need inputs and parameters be given


def monitor_limits(outcome: Outcome) -> MonitorLimits:
    """Limits from what the runs with the pattern showed."""
    frame, states = outcome.frame, outcome.states
    scale = sizes_of_unknowns(outcome)
    values = np.concatenate([outcome.points.values, outcome.masked_points.values])
    matrices = frame.matrix(values, states)
    pivots = np.abs(StaticLU(outcome.elimination, matrices).pivots()).astype(np.float64)
    error, dropped = SMALLEST / MARGIN, SMALLEST / MARGIN
    for run in outcome.masked:
        dx = run.dx
        error = max(error, float((_bent(outcome, run) / 2.0 / scale).max(initial=0.0)))
        if len(run.kept) == len(run.t):
            dropped = max(dropped, _dropped(outcome, run.values, dx, scale))
    given = outcome.request.options.limits
    largest = _largest_error(outcome)
    room = MARGIN if largest is None else float(np.clip(1.0 / max(largest, 1e-9), LEAST, MARGIN))
    harmless = _harmless(outcome, largest, error), 2.0 * _harmless(outcome, largest, 0.5 * dropped)
    held = believed(outcome, largest, scale)
    ringing_steps = given.get("ringing_steps", MonitorLimits.ringing_steps)
    return MonitorLimits(
        pivot_low=pivots.min(axis=1) / PIVOT_MARGIN,
        pivot_high=pivots.max(axis=1) * PIVOT_MARGIN,
        scale=scale,
        ringing=_ringing(outcome, scale, ringing_steps),
        ringing_steps=ringing_steps,
        error=given.get("error", max(room * error, harmless[0])),
        dropped=given.get("dropped", max(MARGIN * dropped, harmless[1])),
        row_scale=scale,
        x_range=held.x,
        u_range=held.u,
        p_range=held.p,
        u_change=held.change if outcome.model.struct.n_roots else None,  # what jumps matter to is a switch
        hold=given.get("hold", MonitorLimits.hold),
        resets=_most_resets(outcome),
    )


def _bent(outcome: Outcome, run: Trace) -> Matrix:
    """By how much changes differ from those before, as the monitor sees them (code/monitor.py)."""
    away = np.abs(np.diff(run.dx, axis=0))
    states = ~outcome.frame.algebraic
    if outcome.request.order == 1 and (outcome.model.names.u or outcome.model.known.has_memory):
        own = np.abs(run.dx - outcome.frame.tau * run.f)[1:]
        away[:, states] = np.minimum(away, own)[:, states]
    return away


def _most_resets(outcome: Outcome) -> int | None:
    """How often states may be reset; None: as often as they are.

    Where those of the runs come earlier or later than they should by a noticeable share of a step, further ones are
    farther off: the runs tell of as many as they had, up to one that is off by more than accuracy allows.
    """
    walker = Walker(outcome.model, outcome.request.step, outcome.request.order)
    walker.begin(outcome.request.scenarios[0])
    if walker.late is None:
        return None
    counts, good, worst = [0], [], 0.0
    for k, run in enumerate(outcome.masked):
        accurate = outcome.judge.runs[k] if outcome.judge is not None else None
        counts.append(len({step for step, *_ in run.resets}))
        if run.resets and isinstance(accurate, AccurateRun):
            walker.begin(run.scenario, run.past)
            shifts = list(walker.late.shifts(walker, run, accurate.x).values())
            worst = max(worst, *shifts, 0.0)
            good += [j for j, one in enumerate(shifts) if one > ALLOWED][:1]
    return min([max(counts), *good]) if worst > SHIFT or not max(counts) else None


def _allowed(outcome: Outcome) -> float:
    """The smallest error that is allowed; infinite: not judged."""
    judge = outcome.judge
    limits = judge.accuracy.limits if judge is not None else np.empty(0)
    return float(limits[np.isfinite(limits)].min(initial=np.inf))


def _harmless(outcome: Outcome, largest: float | None, met: float) -> float:
    """A local error that leaves errors below half of what is allowed; ``met``: that of the runs, whose errors were
    ``largest`` in units of what is allowed."""
    if largest is None:
        return 0.0
    return HARMLESS * min(_allowed(outcome), met / max(largest, 1e-9))


def _ringing(outcome: Outcome, scale: Matrix, steps: int) -> Matrix:
    """Changes per step from which on alternating ones count, by unknown."""
    allowed = _allowed(outcome)
    found = (max(SMALLEST, RINGING * allowed) if np.isfinite(allowed) else SMALLEST) * scale
    for run in outcome.masked:
        found = np.maximum(found, MARGIN * alternating(run.dx, steps))
    return found


def alternating(dx: Matrix, steps: int) -> Matrix:
    """The largest size that changes kept, column by column, while they alternated for so many steps in a row."""
    if len(dx) <= steps:
        return np.zeros(dx.shape[1])
    turns = np.sign(dx[1:]) * np.sign(dx[:-1]) < 0
    kept = np.where(turns, np.minimum(np.abs(dx[1:]), np.abs(dx[:-1])), 0.0)
    windows = np.lib.stride_tricks.sliding_window_view(kept, steps, axis=0)
    return np.asarray(windows.min(axis=-1).max(axis=0), dtype=np.float64)


def believed(outcome: Outcome, largest: float | None = None, scale: Matrix | None = None) -> Covered:
    """Where the evidence is taken to hold: what the runs went through, and some room around it.

    largest   error of the runs with the pattern, scale   of the unknowns: where they are known already
    """
    given = outcome.request.options.limits
    if scale is None:
        largest, scale = _largest_error(outcome), sizes_of_unknowns(outcome)
    margin = given.get("margin", _margin(largest))
    met, names = covered(outcome), outcome.model.names
    for name in given.get("ranges", {}):
        if name not in (*names.x, *names.u):
            raise UnknownNameError(
                f"limits: the step has no unknown or input {name!r}", hint=suggestion(str(name), (*names.x, *names.u))
            )
    u = _widened(met.u, margin * (met.u[1] - met.u[0]), names.u, given)
    change = (1.0 + margin) * met.change + NOISE * (met.u[1] - met.u[0]) + ROUNDING * np.max(np.abs(met.u), axis=0)
    named = np.array([name in given.get("ranges", {}) for name in names.u], dtype=bool)
    return Covered(
        _widened(met.x, margin * scale, names.x, given),
        u,
        _widened(met.p, margin * (met.p[1] - met.p[0]), names.p, {}),
        np.where(named | (outcome.model.struct.n_roots == 0), u[1] - u[0], change),
    )


def sizes_of_unknowns(outcome: Outcome) -> Matrix:
    """Their ranges; of those whose errors do not count, their largest value."""
    scale = outcome.frame.scale
    return np.where(np.isfinite(scale), scale, np.abs(outcome.exact[0].x).max(axis=0) + 1e-12)


def _largest_error(outcome: Outcome) -> float | None:
    """Of the runs with the pattern, in units of what is allowed; None: not judged."""
    judge = outcome.judge
    if judge is None or not judge.accuracy.is_judged:
        return None
    found = [judge.found(k, run) for k, run in enumerate(outcome.masked)]
    return max((one.ratio for one in found if one is not None), default=0.0)


def _margin(largest: float | None) -> float:
    """Half of what would take the largest error, growing with the range, up to the accuracy."""
    if largest is None:
        return WIDEST
    return float(np.clip(0.5 * (1.0 / max(largest, 1e-9) - 1.0), NARROWEST, WIDEST))


def _widened(met: Pair, by: Matrix, names: Sequence[str], given: Mapping[str, Any]) -> Pair:
    """Ranges with room for rounding and a margin; those that the user gave instead."""
    low, high = met
    room = by + ROUNDING * np.maximum(np.abs(low), np.abs(high))
    low, high = low - room, high + room
    for name, (lowest, highest) in given.get("ranges", {}).items():
        if name not in names:
            continue
        k = names.index(name)
        if lowest > met[0][k] or highest < met[1][k]:
            raise ArgumentError(
                f"limits: the range {lowest:g} .. {highest:g} of {name} does not hold what the scenarios cover, "
                f"{met[0][k]:g} .. {met[1][k]:g}: the monitor would raise its flag in them",
                hint="a wider range, or narrower scenarios",
            )
        low[k], high[k] = lowest, highest
    return low, high


def _dropped(outcome: Outcome, values: Matrix, dx: Matrix, scale: Matrix) -> float:
    """Largest |L dx_k - tau f_(k+1)| of the differential rows, where tau f_(k+1) = Bs_(k+1) dx_(k+1)."""
    frame, states = outcome.frame, outcome.states
    rows = ~frame.algebraic
    worst = 0.0
    for first in range(0, len(values) - 1, 500):
        part = slice(first + 1, min(first + 501, len(values)))
        matrices = frame.matrix(values[part], states)
        after = np.einsum("kij,kj->ki", matrices, dx[part])
        before = dx[first : first + len(after)] @ frame.mass.T
        worst = max(worst, float((np.abs(before - after) / scale)[:, rows].max(initial=0.0)))
    return worst
