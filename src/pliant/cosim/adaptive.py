"""Macro steps chosen by the error of the inputs.

The next step follows from the error e of the last one, in units of what is allowed, and from the one before
(Gustafsson 1991, Soederlind 2003: a proportional-integral controller, which stays quiet where stability limits the
step):

    H <- H * S * e^(-0.7/q) * e_before^(0.3/q),      q = degree + 1 (extrapolation),  degree + 2 (halves: Schierz,
    Arnold & Clauss 2012)

within [0.1, 2], faster while a run begins. A step with e > 1 is taken back and made again where all parts can go
back; else it stands, and the next one is shorter. Steps end at time events of parts whose discrete outputs are
connected, and at jumps of given inputs. Where a signal jumps inside a step, at an event of a part, the step ends
just before it and a tiny one goes over it. After a jump the samples before it say nothing: extrapolation restarts,
with slopes from a short step that is taken back.

Where stability limits the step, errors stay at what is allowed and change their sign from step to step: noise that
costs the solvers more than longer steps save. Then steps become shorter until the errors are small.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pliant.arguments import Vector
from pliant.cosim.estimate import InputErrors
from pliant.cosim.halves import HalfErrors
from pliant.cosim.limits import jump_times, next_event, step_limits
from pliant.cosim.macro_steps import MacroLog
from pliant.cosim.snapshot import Snapshot, put_back, take
from pliant.cosim.stepping import PartFailed, Stepping
from pliant.errors import ArgumentError, FmuCrashError, ProcessError, SimulationTimeout, SolverError

if TYPE_CHECKING:
    from pliant.cosim.master import Master

SAFETY = 0.85
CAREFUL = 0.6  # where steps cannot be taken back
INTEGRAL, PROPORTIONAL = 0.7, 0.3
SHRINK, GROW, GROW_FIRST = 0.1, 2.0, 5.0
BEGIN, BEGIN_BLIND = 1e-3, 1e-5  # of the run: first step with and without a way back
PROBE = 1 / 8  # of a step: made for slopes and taken back
ACROSS = 1e-5  # of a step: length of the one that goes over an event
STAYS, CALM = (0.9, 1.12), 0.8  # factors that are not worth a change (solvers like equal steps), below this error
REFUSED = 0.25  # factor after a part refused a step
JUMPS, NO_BETTER = 3, 0.5  # attempts after which an error that has not become smaller is a jump
LOST = 30.0  # an error by which samples before the step say nothing any more, where it cannot be taken back
AT_CAP = 0.98  # of the longest step: steps that count as limited by it
RINGING = 0.01  # errors below may change their sign as they like
DAMPED, RELAXED = 0.5, 1.01  # factors of the longest step where errors ring, and after each step where they do not
LEAST, HUGE = 1e-4, 1e12  # errors beyond count as these


@dataclass
class MacroGoal:
    """Where a step shall end, and why there; ``forced``: whatever its error; ``aim``: where the next one shall end."""

    t_next: float
    why: str
    forced: bool = False
    aim: float | None = None


class Adaptive:
    """The macro steps of a run whose ``step`` is "auto"."""

    def __init__(self, m: Master, repeats: bool, rtol: float) -> None:
        run = m.run
        self.m, self.repeats, self.halving = m, repeats, run.macro_error == "halving"
        if self.halving and not repeats:
            who = next(part.name for part in m.parts if not getattr(part, "can_restore", True))
            raise ArgumentError(
                f"macro_error='halving' repeats steps, but part {who!r} cannot be taken back",
                hint="macro_error='extrapolation'",
            )
        limits = step_limits(m.parts, run.start, run.stop)
        self.limits = limits
        for part in m.parts:
            if getattr(part, "equal_steps", False):
                part.substep = part.step_unit  # type: ignore[attr-defined]
        self.log = MacroLog(limits.smallest, limits.largest)
        self.errors = InputErrors(m, run.macro_rtol, rtol)
        self.halves = HalfErrors(m, self.errors)
        self.jumps = jump_times([one for given in m.given for one in given.values()])
        span = run.stop - run.start
        self.h = min(max(span * (BEGIN if repeats else BEGIN_BLIND), limits.smallest), limits.largest)
        self.cap = math.inf  # of the step, where longer ones ring
        self.before = 1.0  # error of the step before
        self.aimed: float | None = None  # an event over which the next step goes

    # ------------------------------------------------------------------------------------------------- where to

    @property
    def running(self) -> bool:
        """Is the end not reached?"""
        return self.m.t < self.m.run.stop

    def _target(self, h: float) -> MacroGoal:
        """The end of a step of about h."""
        m, limits, t = self.m, self.limits, self.m.t
        near = max(m.near, 1e-3 * limits.smallest)
        end, why = m.run.stop, "stop"
        if limits.unit is not None:
            count = max(1, math.floor(h / limits.unit * (1.0 + 1e-9)))
            t_next = t + count * limits.unit
            if t_next >= end - 1e-6 * limits.unit:
                return MacroGoal(end, why)
            return MacroGoal(t_next, "smallest" if count == 1 else ("largest" if h >= limits.largest else "error"))
        event = next_event(m, t, near)
        place = bisect.bisect_right(self.jumps, t + near)
        jump = self.jumps[place] if place < len(self.jumps) else math.inf
        if event < end:
            end, why = event, "event"
        if jump < end:
            end, why = jump, "input"
        if t + h * (1.0 + 1e-6) >= end:
            return MacroGoal(end, why)
        own = "smallest" if h <= limits.smallest else ("largest" if h >= limits.largest else "error")
        own = "stability" if h >= AT_CAP * self.cap else own
        return MacroGoal(0.5 * (t + end) if t + 2.0 * h > end else t + h, own)

    def _clipped(self, h: float) -> float:
        return float(min(max(h, self.limits.smallest), self.limits.largest, max(self.cap, self.limits.smallest)))

    # ------------------------------------------------------------------------------------------------- one step

    def go(self, stepping: Stepping) -> bool:
        """One macro step that stands; False: a part has ended in it."""
        m = self.m
        saved = take(m) if self.repeats else None
        m.first_slope = None
        h = self._clipped(self.h)
        if saved is not None and len(m.times) == 1 and m.run.extrapolation >= 1 and self.errors.counted.any():
            self._probe(stepping, saved, h)
        attempts, first = 0, (h, 0.0)
        goal = self._next_goal(h)
        while True:
            t, attempts = m.t, attempts + 1
            try:
                going, found, error = self._attempt(stepping, goal)
            except (PartFailed, SolverError) as failure:
                if saved is None or not self._again(failure, goal.t_next - t):
                    raise
                self._reject(saved, goal.t_next - t, math.nan, -1, "refused")
                h = self._clipped(REFUSED * min(h, goal.t_next - t))
                goal = self._target(h)
                if goal.why == "error":
                    goal.why = "refused"
                continue
            if not going:
                return False
            worst = int(np.argmax(error)) if len(error) else -1
            e = float(error[worst]) if worst >= 0 else 0.0
            e = e if math.isfinite(e) else HUGE
            if attempts == 1:
                first = (h, e)
            reached, used = m.reached, m.reached - t
            small = used <= self.limits.smallest * (1.0 + 1e-6)
            jumps = attempts > JUMPS and e > NO_BETTER * first[1] and used < 0.01 * first[0]
            if e <= 1.0 or saved is None or goal.forced or small or jumps:
                break
            events = self._events_inside(t, reached)
            self._reject(saved, used, e, worst, goal.why)
            h = self._clipped(used * max(SHRINK, min(0.7, SAFETY * e ** (-1.0 / self._order()))))
            goal = self._before_event(events, t, used, attempts) or self._target(h)
        if jumps or goal.forced:
            goal.why = "jump"
        self._accept(goal, found, e, worst, attempts)
        return True

    def _next_goal(self, h: float) -> MacroGoal:
        """Over an event that was aimed at, or by the error."""
        aimed, self.aimed = self.aimed, None
        if aimed is not None and aimed > self.m.t:
            return MacroGoal(min(aimed, self.m.run.stop), "jump", forced=True)
        return self._target(h)

    def _order(self) -> int:
        """Power of H in the error."""
        samples = len(self.m.times) + (self.m.first_slope is not None)
        return min(self.m.run.extrapolation + 1, samples) + int(self.halving)

    def _attempt(self, stepping: Stepping, goal: MacroGoal) -> tuple[bool, list[Vector], Vector]:
        """Make the step; inputs that were found at its end, and the errors of connections."""
        m, t = self.m, self.m.t
        m.meter.half[:] = 0.0
        if self.halving and not goal.forced and self.limits.unit is None:
            return self._halves(stepping, goal)
        if not m.macro_step(stepping, t, goal.t_next):
            return False, [], np.zeros(0)
        found = m.point(m.reached)
        error = self.errors.of_step(t, found)
        if not (m.happened or goal.why in ("event", "input")) and self._events_inside(t, m.reached):
            error = np.maximum(error, self.errors.of_held(found))
        return True, found, error

    def _halves(self, stepping: Stepping, goal: MacroGoal) -> tuple[bool, list[Vector], Vector]:
        """The step, and once more in two halves, which stand."""
        m, t = self.m, self.m.t
        begin = take(m)
        if not m.macro_step(stepping, t, goal.t_next):
            return False, [], np.zeros(0)
        reached = m.reached
        coarse = self.halves.row(m.point(reached))
        put_back(m, begin)
        middle = 0.5 * (t + reached)
        if not m.macro_step(stepping, t, middle):
            return False, [], np.zeros(0)
        found = m.point(m.reached)
        m.meter.half = m.meter.step(t, m.reached, found)
        m.times.appendleft(m.reached)
        m.samples.appendleft(found)
        if not m.macro_step(stepping, m.reached, reached):
            return False, [], np.zeros(0)
        fine = m.point(m.reached)
        ends = self.errors.of_step(middle, fine)
        degree = min(m.run.extrapolation, len(begin.times) - 1)
        return True, fine, self.halves.of(coarse, self.halves.row(fine), ends, degree)

    def _probe(self, stepping: Stepping, saved: Snapshot, h: float) -> None:
        """Slopes of the inputs where there is one sample only."""
        m, t = self.m, self.m.t
        goal = self._target(h)
        t_next = t + max(PROBE * (goal.t_next - t), self.limits.smallest) if self.limits.unit is None else goal.t_next
        try:
            if m.macro_step(stepping, t, min(t_next, goal.t_next)):
                slope = self.errors.slope(t, m.reached, m.point(m.reached))
                put_back(m, saved)
                m.first_slope = slope
                return
        except (PartFailed, SolverError) as failure:
            if not self._again(failure, h):
                raise
        put_back(m, saved)

    # ---------------------------------------------------------------------------------------------- what follows

    def _reject(self, saved: Snapshot, h: float, e: float, worst: int, why: str) -> None:
        name = self.errors.names[worst] if worst >= 0 else ""
        slope = self.m.first_slope
        put_back(self.m, saved)
        self.m.first_slope = slope
        self.log.reject(saved.t, h, e, name, why)

    def _again(self, failure: PartFailed | SolverError, h: float) -> bool:
        """Is it a refusal that a shorter step may heal?"""
        error = failure.error if isinstance(failure, PartFailed) else failure
        fatal = isinstance(error, (FmuCrashError, ProcessError, SimulationTimeout))
        return isinstance(error, SolverError) and not fatal and h > self.limits.smallest * (1.0 + 1e-6)

    def _events_inside(self, t: float, t_next: float) -> list[float]:
        """State events of parts in the step that was made."""
        found: list[float] = []
        for part in self.m.parts:
            for one in reversed(part.events):
                if one.time <= t:
                    break
                if one.time < t_next:
                    found.append(one.time)
        return sorted(found)

    def _before_event(self, events: Sequence[float], t: float, used: float, attempts: int) -> MacroGoal | None:
        """A step that ends just before the first event, so that the next one goes over it."""
        if not events or self.limits.unit is not None or attempts > JUMPS:
            return None
        across = max(ACROSS * used, 2.0 * self.limits.smallest)
        end, over = events[0] - 0.5 * across, min(events[0] + 0.5 * across, self.m.run.stop)
        if end <= t + self.limits.smallest:
            return MacroGoal(over, "jump", forced=True)
        return MacroGoal(end, "event", aim=over)

    def _accept(self, goal: MacroGoal, found: list[Vector], e: float, worst: int, attempts: int) -> None:
        m, t, why = self.m, self.m.t, goal.why
        reached, used = m.reached, m.reached - t
        q, fresh = self._order(), len(m.times) == 1
        self.errors.see(found)
        name = self.errors.names[worst] if worst >= 0 and e > 0.0 else ""
        self.log.accept(reached, used, e, name, "early" if reached < goal.t_next else why)
        lost = why in ("jump", "input") or m.happened or (not self.repeats and e > LOST)
        self.aimed = goal.aim
        if lost:
            m.forget()
        m.keep(reached, found)
        m.first_slope = None
        if why == "jump":
            return  # the step before still holds
        e = max(e, LEAST)
        factor = (SAFETY if self.repeats else CAREFUL) * e ** (-INTEGRAL / q) * self.before ** (PROPORTIONAL / q)
        grow = GROW_FIRST if fresh else GROW
        factor = min(max(factor, SHRINK), 1.0 if attempts > 1 else grow)
        if STAYS[0] <= factor <= STAYS[1] and e <= CALM:
            factor = 1.0
        self.before = max(e, LEAST)
        cut = goal.why in ("event", "input", "stop") or reached < goal.t_next
        self.h = self._clipped(
            max(used * factor, self.h) if cut and (attempts == 1 or goal.aim is not None) else used * factor
        )
        if lost and not self.repeats:
            self.h = self._clipped(SHRINK * self.h)
        if worst >= 0 and e > RINGING and self.errors.rings(worst):
            self.cap = min(self.cap, DAMPED * used)
            self.errors.signs.clear()
        else:
            self.cap *= RELAXED
        self.h = self._clipped(self.h)
