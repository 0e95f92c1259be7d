"""A coupling that grows although its parts do not: noticed, proved, and named with a remedy that was tried.

Extrapolated inputs feed errors back into a loop of parts; where the macro step is too long for it, signals grow
although every part, and the coupled system itself, is stable. Nothing a part knows tells. The master looks at the
connected signals after every macro step:

    suspicion    the range of a signal is 10 times what it was at an earlier look, and its extrapolation misses the
                 sample by more than 1 % of that range (smooth signals that begin at rest do not)
    proof        the same stretch from a saved state, with a quarter of the step: the signal leaves its place by an
                 amount that differs by more than a half. A system that grows by itself does so with short steps, too
    remedy       shorter steps and Gauss-Seidel are tried on the stretch; those that stay are named

Saved states are kept at macro steps 0, 1, 2, 4, 8, ... and at every look that found nothing, so a stretch is short.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from pliant.cosim.part import Vector
from pliant.cosim.stepping import PartFailed, Stepping
from pliant.errors import AccuracyError, SolverError

if TYPE_CHECKING:
    from pliant.cosim.master import Master

FACTOR = 10.0  # growth of a range that raises suspicion
MISSED = 0.01  # of the range: error of the extrapolation that raises suspicion
BEFORE = 8.0  # a stretch begins where the range was smaller by this factor
DIFFERS = 0.5  # of the larger one: distance between the results of long and short steps that proves it
AGREES = 0.2  # likewise: distance up to which a remedy counts as one
SMALLEST = 1e-5  # of the nominal value: ranges below it are what solvers leave over
RECENT = 4  # macro steps whose extrapolation errors count
BLOWN = 1e3  # times what the run itself reached: a trial that is given up
LONGEST = 4000  # macro steps of a stretch that is made again


@dataclass(frozen=True, eq=False)
class Saved:
    """The coupling at a communication point."""

    done: int
    t: float
    tokens: tuple[object, ...]
    times: tuple[float, ...]
    samples: tuple[list[Vector], ...]
    ends: list[Vector]
    ranges: Vector  # of the connected signals so far


class Growth:
    """Looks at the connected signals of a master."""

    def __init__(self, master: Master) -> None:
        self.master = master
        self.places = [(wire.target_part, wire.input) for wire in master.wires]
        self.low = self._signals()
        self.high = self.low.copy()
        self.base = np.zeros(len(self.places))
        self.smallest = np.array([SMALLEST * self._nominal(p, j) for p, j in self.places])
        self.missed: deque[Vector] = deque(maxlen=RECENT)
        self.saved: list[Saved] = [self._save()]
        self.next_save = 1

    def _nominal(self, p: int, j: int) -> float:
        """Size of an input, as far as its part tells."""
        part = self.master.parts[p]
        info = part.about().info.get(part.inputs[j].name)
        nominal = None if info is None else info.nominal
        return abs(nominal) if nominal else 1.0

    def _signals(self) -> Vector:
        newest = self.master.samples[0]
        return np.array([newest[p][j] for p, j in self.places])

    def _save(self) -> Saved:
        m = self.master
        tokens = tuple(part.save() for part in m.parts)
        return Saved(m.done, m.t, tokens, tuple(m.times), tuple(m.samples), list(m.ends), self.high - self.low)

    def _restore(self, at: Saved) -> None:
        m = self.master
        for part, token in zip(m.parts, at.tokens, strict=True):
            part.restore(token)
        m.done, m.t, m.ends = at.done, at.t, list(at.ends)
        m.times.clear()
        m.times.extend(at.times)
        m.samples.clear()
        m.samples.extend(at.samples)

    def look(self, stepping: Stepping) -> None:
        """After a macro step; raises where the coupling grows by itself."""
        values = self._signals()
        self.low, self.high = np.minimum(self.low, values), np.maximum(self.high, values)
        predicted = np.array([self.master.ends[p][j] for p, j in self.places])
        self.missed.append(np.abs(predicted - values))
        size = self.high - self.low
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

    # ------------------------------------------------------------------------------------------------- the proof

    def _examine(self, k: int, size: Vector, stepping: Stepping) -> None:
        """Make the last stretch once more with short steps; all is as before where it shows the same."""
        here = self._save()
        before = [one for one in self.saved if one.ranges[k] <= size[k] / BEFORE] or self.saved[:1]
        begin = before[-1]
        if here.done - begin.done > LONGEST:
            return
        p, j = self.places[k]
        reached = max(abs(self._signals()[k] - begin.samples[0][p][j]), size[k] / 2.0)
        step = self.master.run.step
        short = self._trial(begin, here, k, stepping, step=step / 4.0, reached=reached)
        if abs(short - reached) <= DIFFERS * max(short, reached):
            self._restore(here)
            self.saved = [*self.saved[-6:], here]
            return
        words, hint = self._remedies(begin, here, k, stepping, reached, short)
        self._restore(here)
        signal = self.master.solver.names[k]
        raise AccuracyError(
            f"the coupling grows although its parts do not: {signal} moves by {reached:.3g} between "
            f"t = {begin.t:.6g} and t = {here.t:.6g}, {words}",
            hint=hint,
            time=here.t,
            names=(signal,),
        )

    def _remedies(
        self, begin: Saved, here: Saved, k: int, stepping: Stepping, reached: float, short: float
    ) -> tuple[str, str]:
        """What was tried, in words, and what helps."""
        run = self.master.run
        calm: list[str] = []
        tried = {f"step={run.step / 4.0:g}": short, f"step={run.step / 16.0:g}": np.inf}
        tried[f"step={run.step / 16.0:g}"] = self._trial(
            begin, here, k, stepping, step=run.step / 16.0, reached=reached
        )
        if run.scheme == "jacobi" and len(self.master.parts) > 1:
            tried["scheme='gauss-seidel'"] = self._trial(
                begin, here, k, stepping, scheme="gauss-seidel", reached=reached
            )
        truth = tried[f"step={run.step / 16.0:g}"]
        for name, value in tried.items():
            if np.isfinite(value) and abs(value - truth) <= AGREES * max(value, truth) and value < reached:
                calm.append(name)
        if not calm:
            return (
                "and shorter steps do not agree with it",
                "exchange other variables (force one way, speed the other), or put these parts into one model",
            )
        found = tried[calm[0]]
        return f"but only by {found:.3g} with {calm[0]}", f"on this stretch these stay: {', or '.join(calm)}"

    def _trial(
        self,
        begin: Saved,
        here: Saved,
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
        self._restore(begin)
        m.first_slope = None
        m.run = replace(run, step=step or run.step, scheme=scheme or run.scheme)
        p, j = self.places[k]
        first, furthest = begin.samples[0][p][j], 0.0
        count = max(1, round((here.t - begin.t) / m.run.step))
        try:
            for i in range(count):
                t, t_next = (begin.t + (here.t - begin.t) * n / count for n in (i, i + 1))
                if not m.advance(stepping, t, t_next):
                    break
                furthest = max(furthest, abs(m.samples[0][p][j] - first))
                if not furthest < BLOWN * reached:
                    return np.inf
        except (SolverError, PartFailed):
            return np.inf
        finally:
            m.run, m.first_slope = run, slope
        return furthest
