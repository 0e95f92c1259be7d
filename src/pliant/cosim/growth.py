"""A coupling that grows although its parts do not: noticed, proved, and named with a remedy that was tried.

Extrapolated inputs feed errors back into a loop of parts; where the macro step is too long for it, signals grow
although every part, and the coupled system itself, is stable. No part can detect that. The master observes the
connected signals after every macro step:

    suspicion    the range of a signal is 10 times what it was at an earlier look, and its extrapolation misses the
                 sample by more than 1 % of that range (smooth signals that begin with zero slope do not)
    proof        the same stretch from a saved state, with steps of a quarter and, where these differ, of a 32nd: how
                 far the signal leaves its place differs by more than a factor of three. A system that grows by itself
                 does so with short steps, too
    remedy       shorter steps (a smaller macro_rtol, where errors choose them) and Gauss-Seidel are tried from the
                 start to beyond the stretch; those that agree with very short steps are named

Where errors choose the steps, their mean over the stretch counts as the step. Where parts cannot be taken back, there
is no proof: what raised suspicion is named in a warning.

Saved states are kept at macro steps 0, 1, 2, 4, 8, ... and at every look that found nothing, so a stretch is short.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.arguments import Vector
from pliant.cosim.adaptive import Adaptive
from pliant.cosim.estimate import nominal_of
from pliant.cosim.limits import next_event
from pliant.cosim.power import PowerMeter
from pliant.cosim.record import Recorder
from pliant.cosim.snapshot import Snapshot, put_back, take
from pliant.cosim.stepping import PartFailed, Stepping
from pliant.errors import AccuracyError, PliantError, SolverError

if TYPE_CHECKING:
    from pliant.cosim.master import Master

FACTOR = 10.0  # growth of a range that raises suspicion
MISSED = 0.01  # of the range: error of the extrapolation that raises suspicion
PARTS = 20  # of the run, where ranges are noted
BEFORE = 8.0  # a stretch begins where the range was smaller by this factor
SAME = 0.2  # relative distance between the results of steps and of quarters of them that ends suspicion
PROOF = 3.0  # factor between the results of long and short steps that proves it
SHORT, FINEST = 32, 256  # short steps: macro steps divided by this, at most
AGREES = 0.05  # of the truth: distance up to which a remedy counts as one
AHEAD = 40  # macro steps, at least, that a remedy must stand
MOST_STEPS = 20_000  # of one trial
SMALLEST = 1e-5  # of the nominal value: ranges below it are what solvers leave over
RECENT = 4  # macro steps whose extrapolation errors count
BLOWN = 1e3  # times what the run itself reached: a trial that is given up
MUCH = 100.0  # times the range so far: growth beyond which agreement is not asked for
LESS, LEAST_RTOL = (10.0, 100.0, 1000.0), 1e-9  # a smaller macro_rtol that is tried
KEPT = ("run", "recorder", "communication", "meter", "first_slope", "lost")  # of the master, around a trial
LONGEST = 4000  # macro steps of a stretch that is made again


@dataclass(frozen=True, eq=False)
class Saved:
    """The coupling at a communication point, and the ranges of the connected signals so far."""

    at: Snapshot
    ranges: Vector


class Growth:
    """Observes the connected signals of a master."""

    def __init__(self, master: Master, proves: bool = True) -> None:
        self.master, self.proves = master, proves
        self.early: list[tuple[float, Vector]] = []  # times and ranges, where nothing can be proved
        self.places = [(wire.target_part, wire.input) for wire in master.wires]
        self.low = self._signals()
        self.high = self.low.copy()
        self.base = np.zeros(len(self.places))
        run = master.run  # with steps by error, extrapolations may miss by macro_rtol of the nominal value
        least = max(SMALLEST, min(run.macro_rtol / MISSED, 1.0)) if run.auto else SMALLEST
        self.smallest = np.array([least * nominal_of(master.parts[p], j) for p, j in self.places])
        self.missed: deque[Vector] = deque(maxlen=RECENT)
        self.saved: list[Saved] = [self._save()] if proves else []
        self.first = self.saved[0] if proves else None
        self.next_save = 1

    def _signals(self) -> Vector:
        newest = self.master.samples[0]
        return np.array([newest[p][j] for p, j in self.places])

    def _save(self) -> Saved:
        return Saved(take(self.master), self.high - self.low)

    def look(self, stepping: Stepping) -> None:
        """After a macro step; raises where the coupling grows by itself."""
        values = self._signals()
        self.low, self.high = np.minimum(self.low, values), np.maximum(self.high, values)
        predicted = np.array([self.master.ends[p][j] for p, j in self.places])
        self.missed.append(np.abs(predicted - values))
        size = self.high - self.low
        if not self.proves:
            run = self.master.run
            if self.master.t >= run.start + (run.stop - run.start) * (len(self.early) + 1) / PARTS:
                self.early.append((self.master.t, size))
            return
        floor = np.maximum(1e-9 * np.maximum(np.abs(self.low), np.abs(self.high)), self.smallest)
        grown = size > FACTOR * np.maximum(self.base, floor)
        if grown.any():
            unsure = grown & (np.max(self.missed, axis=0) > MISSED * size)
            if (unsure & (self.base > floor)).any():
                k = int(np.argmax(np.where(unsure, size / np.maximum(self.base, floor + 1e-300), 0.0)))
                self._examine(k, size, stepping)
            if unsure.any() or not (self.base > floor).all():
                self.base = np.where(grown, size, self.base)
        if self.master.done >= self.next_save:
            self.next_save *= 2
            self.saved = [*self.saved[-6:], self._save()]

    def unproved(self) -> tuple[str, ...]:
        """What raises suspicion at the end, in words: tenfold growth since half of the time, and extrapolations
        that miss."""
        m = self.master
        before = [size for t, size in self.early if t <= 0.5 * (m.run.start + m.t)]
        if not before or not self.missed:
            return ()
        size = self.high - self.low
        floor = np.maximum(1e-9 * np.maximum(np.abs(self.low), np.abs(self.high)), self.smallest)
        grown = size / np.maximum(before[-1], floor)
        unsure = (grown > FACTOR) & (before[-1] > 0.0) & (np.max(self.missed, axis=0) > MISSED * size)
        if not unsure.any():
            return ()
        signal, t = m.solver.names[int(np.argmax(np.where(unsure, grown, 0.0)))], m.t
        fixed = ", ".join(repr(part.name) for part in self.master.parts if not getattr(part, "can_restore", True))
        less = "macro_rtol=" if self.master.run.auto else "step="
        return (
            f"{signal} grows up to t = {t:.6g} while its extrapolation misses by more than a hundredth of it: perhaps "
            f"only the coupling grows. That cannot be checked here, because {fixed} cannot be taken back; compare with "
            f"a smaller {less}",
        )

    # ------------------------------------------------------------------------------------------------- the proof

    def _step(self, begin: Saved, here: Saved) -> float:
        """The macro step; the mean one where errors choose it."""
        run = self.master.run
        return (here.at.t - begin.at.t) / max(here.at.done - begin.at.done, 1) if run.auto else run.step

    def _examine(self, k: int, size: Vector, stepping: Stepping) -> None:
        """Make the last stretch once more with short steps; all is as before where it shows the same."""
        here = self._save()
        before = [one for one in self.saved if one.ranges[k] <= size[k] / BEFORE] or [self.saved[0]]
        begin = before[-1]
        if here.at.done - begin.at.done > LONGEST:
            return
        p, j = self.places[k]
        reached = max(abs(self._signals()[k] - begin.at.samples[0][p][j]), size[k] / 2.0)
        step = self._step(begin, here)
        short = self._trial(begin, here.at.t, k, stepping, step=step / 4.0, reached=reached)
        innocent = abs(short - reached) <= SAME * reached
        if not innocent:
            division = self._division(here.at.done - begin.at.done, SHORT)
            short = self._trial(begin, here.at.t, k, stepping, step=step / division, reached=reached)
            innocent = reached / PROOF <= short <= reached * PROOF
        if innocent:
            put_back(self.master, here.at)
            self.saved = [*self.saved[-6:], here]
            return
        words, hint = self._remedies(here, step, k, stepping, reached)
        put_back(self.master, here.at)
        signal = self.master.solver.names[k]
        own = "the coupling grows although its parts do not"
        if short > reached:
            own = f"the macro step is too long for what grows in the coupling, by {short:.3g} with a shorter one"
        raise AccuracyError(
            f"{own}: {signal} moves by {reached:.3g} between t = {begin.at.t:.6g} and t = {here.at.t:.6g}, {words}"
            f"{self._created()}",
            hint=hint,
            time=here.at.t,
            names=(signal,),
        )

    def _created(self) -> str:
        """Energy from nowhere, where pairs that carry power are known."""
        known = self.master.meter.energies(np.array(self.master.communication)).values()
        found = [one for one in known if len(one.created) and one.created[-1] > 0.0]
        if not found:
            return ""
        worst = max(found, key=lambda one: float(one.created[-1]))
        return f"; at {worst.name} the coupling has created {float(worst.created[-1]):.3g} J"

    @staticmethod
    def _division(steps: int, most: int) -> int:
        """By which macro steps are divided, so that trials stay affordable."""
        return int(np.clip(MOST_STEPS // max(steps, 1), 4, most))

    def _remedies(self, here: Saved, step: float, k: int, stepping: Stepping, reached: float) -> tuple[str, str]:
        """What was tried, in words, and what helps: from the start to beyond where the run stands."""
        run, first = self.master.run, self.first
        assert first is not None
        end = min(run.stop, first.at.t + max(2.0 * (here.at.t - first.at.t), AHEAD * step))
        finest = self._division(round((end - first.at.t) / step), FINEST)
        truth, end = self._truth(first, end, k, stepping, step, finest)
        helps: list[str] = []
        if run.auto:
            for less in (run.macro_rtol / by for by in LESS if run.macro_rtol / by >= LEAST_RTOL):
                if not helps and self._agrees(self._trial_by_error(first, end, k, stepping, macro_rtol=less), truth):
                    helps.append(f"macro_rtol={less:g}")
        division = 2
        while division <= finest // 2 and not helps:
            if self._agrees(self._trial(first, end, k, stepping, step=step / division, reached=np.inf), truth):
                helps.append(f"step={step / division:g}")
            division *= 2
        if run.scheme == "jacobi" and len(self.master.parts) > 1:
            found = (
                self._trial_by_error(first, end, k, stepping, scheme="gauss-seidel")
                if run.auto
                else self._trial(first, end, k, stepping, scheme="gauss-seidel", reached=np.inf)
            )
            if self._agrees(found, truth):
                helps.append("scheme='gauss-seidel'")
        if not helps and truth < reached / PROOF:
            helps.append(f"step={step / finest:g}")
        if run.loops == "none" and self.master.solver.loops:
            helps.append("loops='newton'")
        if not helps:
            return (
                f"and shorter steps, down to {step / finest:.3g}, do not agree with each other",
                "a much smaller step; or exchange other variables (force one way, speed the other), or put these "
                "parts into one model",
            )
        return (
            f"but by {truth:.3g} up to t = {end:.6g} with {helps[0]}" if np.isfinite(truth) else "without bound",
            f"up to t = {end:.6g} these stay: {', or '.join(helps)}",
        )

    def _truth(
        self, first: Saved, end: float, k: int, stepping: Stepping, step: float, finest: int
    ) -> tuple[float, float]:
        """With the shortest steps, and up to where: a system that grows by itself is left where it has grown much."""
        size = max(float(self.high[k] - self.low[k]), float(self.smallest[k]))
        while True:
            truth = self._trial(first, end, k, stepping, step=step / finest, reached=np.inf)
            shorter = first.at.t + step * round(0.5 * (end - first.at.t) / step)
            if not truth > MUCH * size or shorter >= end or shorter <= first.at.t:
                return truth, end
            end = shorter

    @staticmethod
    def _agrees(value: float, truth: float) -> bool:
        return bool(np.isfinite(value)) and abs(value - truth) <= AGREES * truth

    def _trial(
        self,
        begin: Saved,
        end: float,
        k: int,
        stepping: Stepping,
        *,
        reached: float,
        step: float | None = None,
        scheme: str | None = None,
    ) -> float:
        """How far the signal moves on the stretch with another step or scheme; infinite where it fails."""
        m = self.master
        run, slope = m.run, m.first_slope
        put_back(m, begin.at)
        m.first_slope = None
        m.run = replace(run, step=step or run.step, scheme=scheme or run.scheme)
        p, j = self.places[k]
        first, furthest = begin.at.samples[0][p][j], 0.0
        count = max(1, round((end - begin.at.t) / m.run.step))
        try:
            for i in range(count):
                with np.errstate(all="ignore"):
                    going = self._to(stepping, begin.at.t + (end - begin.at.t) * (i + 1) / count)
                if not going:
                    break
                furthest = max(furthest, abs(m.samples[0][p][j] - first))
                if not furthest < BLOWN * reached:
                    return np.inf
        except (SolverError, PartFailed):
            return np.inf
        finally:
            m.run, m.first_slope = run, slope
        return furthest

    def _to(self, stepping: Stepping, target: float) -> bool:
        """Steps up to there, over events of parts; False if one has ended."""
        m = self.master
        while (t := m.times[0]) < target - m.near:
            event = next_event(m, t, m.near)
            if not m.advance(stepping, t, event if event < target - m.near else target) or m.ended:
                return False
        return True

    def _trial_by_error(self, begin: Saved, end: float, k: int, stepping: Stepping, **changed: Any) -> float:
        """The same with steps chosen by error."""
        m = self.master
        run, p, j = m.run, *self.places[k]
        kept = {name: getattr(m, name) for name in KEPT}
        put_back(m, begin.at)
        m.run = replace(run, stop=end, **changed)
        m.recorder, m.communication, m.meter = NoRecord(m.recorder), list(m.communication), PowerMeter(m, ())
        m.first_slope, m.lost = None, False
        first, furthest = begin.at.samples[0][p][j], 0.0
        try:
            pace = Adaptive(m, True, m.rtol)
            for _ in range(MOST_STEPS):
                with np.errstate(all="ignore"):
                    if not pace.running or not pace.go(stepping) or m.ended:
                        return furthest
                furthest = max(furthest, abs(m.samples[0][p][j] - first))
            return np.inf
        except (PliantError, PartFailed):
            return np.inf
        finally:
            for name, value in kept.items():
                setattr(m, name, value)


class NoRecord(Recorder):
    """Of trials."""

    def __init__(self, real: Recorder) -> None:
        """As the real one, but nothing is kept."""
        self.__dict__.update(real.__dict__)

    def take(self, t: float, u: Sequence[Vector], h: float) -> None:
        """No row."""
