"""The master: parts go from one communication point to the next, their inputs extrapolated from samples.

Jacobi          all parts at once; inputs are polynomials through the samples at T_i, T_(i-1), T_(i-2)
Gauss-Seidel    one part after the other; a later one interpolates the outputs of those that have made the step

At the start and at every communication point the connections are solved (loops.py) before samples are taken, so loops
of direct feed-through neither drift nor blow up. With extrapolation of degree k the error is of order H^(k+1). The
first step has one sample only; a constant there costs H^2 once, too much for k = 2: then it is made twice, the second
time with the slope that the first one found.
"""

from __future__ import annotations

import itertools
import time
import warnings
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from pliant.arguments import Vector
from pliant.cosim.adaptive import Adaptive
from pliant.cosim.early import EarlyReturns, stays
from pliant.cosim.even import Even
from pliant.cosim.graph import PartGraph
from pliant.cosim.growth import Growth
from pliant.cosim.loops import PointSolver, untried_loops
from pliant.cosim.macro_steps import MacroLog
from pliant.cosim.part import Matrix, Part
from pliant.cosim.power import PowerMeter, PowerPair
from pliant.cosim.record import CouplingResult, Recorder, RunAbout
from pliant.cosim.request import CouplingRequest
from pliant.cosim.signals import NEAR, Given, at, made_continuous, polynomial, shifted
from pliant.cosim.start import find_start
from pliant.cosim.stepping import Job, OutOfTime, PartFailed, Stepping
from pliant.errors import PliantError, SimulationInterrupted, SimulationTimeout, SolverError
from pliant.solve.binding.interrupts import noticed
from pliant.solve.progress import Progress, Reporter

CLOSE = 0.02  # of the step before: samples nearer than this to each other make no slope
JUMP = 1e-6  # relative change of a signal at a point from which on it jumps there
MOST_SHORTER = 5  # times that a step of Gauss-Seidel is made again because a part ended early
MOST_ROUNDS = 10  # of what happens at one communication point, for each part


class Master:
    """One simulation of a coupling whose parts are configured."""

    def __init__(
        self,
        graph: PartGraph,
        run: CouplingRequest,
        given: Mapping[str, Given],
        order: Sequence[int],
        rtol: float = 1e-6,
        power: Sequence[PowerPair] = (),
    ) -> None:
        self.graph, self.run, self.order = graph, run, list(order)
        self.rtol = rtol  # of the solvers, at most
        self.parts: list[Part] = list(graph.parts.values())
        chosen, self.wires = graph.wires()
        self.chosen = chosen
        for part, names in zip(self.parts, chosen, strict=True):
            part.choose(names)
        self.solver = PointSolver(self.parts, self.wires, [str(one) for one in graph.connections], run.loops)
        self.given: list[dict[int, Given]] = [
            {j: given[f"{part.name}.{port.name}"] for j, port in enumerate(part.inputs) if _path(part, port) in given}
            for part in self.parts
        ]
        self.connected = [np.zeros(len(part.inputs), dtype=bool) for part in self.parts]
        for wire in self.wires:
            self.connected[wire.target_part][wire.input] = True
        self.held = self._held(chosen)  # connected, never extrapolated
        self.jumping = [held.copy() for held in self.held]  # inputs that change by jumps, or may
        for p, known in enumerate(self.given):
            self.jumping[p][list(known)] = True
        self._tell_parts()
        #: parts with discrete outputs that others hold: macro steps end at their time events
        self.publishing = sorted({w.source_part for w in self.wires if self.held[w.target_part][w.input]})
        self.early = EarlyReturns(self.parts, self.order, run.scheme)
        self.times: deque[float] = deque(maxlen=3)  # newest first
        self.samples: deque[list[Vector]] = deque(maxlen=3)  # of the inputs of each part
        self.ends: list[Vector] = []  # where the present polynomials end
        self.first_slope: list[Vector] | None = None  # of the inputs where there is one sample only
        self.reached = run.start  # end of the last macro step that was made
        self.interpolated: list[int] = []  # connections in it that were (Gauss-Seidel)
        self.lost = False  # shall samples be forgotten?
        self.happened = False  # did something take place at the last point?
        self.jumped = False  # ... that made an extrapolated signal jump?
        self.near = NEAR * run.step  # knots of tables nearer than this to each other are one
        self.t = run.start
        self.done = 0  # macro steps
        self.ended = False  # a part ended at a communication point
        self.recorder = Recorder(self.parts, run)
        self.communication = [run.start]
        self.pieces: list[Matrix] = [np.zeros((3, len(part.inputs))) for part in self.parts]  # of the last step
        self.meter = PowerMeter(self, power)
        self.log = MacroLog()
        self.seconds = 0.0
        self.growth: Growth | None = None
        self.told: tuple[str, ...] = ()  # what the parts cannot do

    def _tell_parts(self) -> None:
        """Those that give other outputs only after a step must know which inputs are in loops, and which jump."""
        looped = [self.wires[k] for one in self.solver.loops for k in one] if self.run.loops != "none" else []
        for p, part in enumerate(self.parts):
            if hasattr(part, "expect"):
                part.expect([wire.input for wire in looped if wire.target_part == p], np.flatnonzero(self.jumping[p]))

    def _held(self, chosen: Sequence[Sequence[str]]) -> list[NDArray[np.bool_]]:
        """Connected inputs that change at events only, be it through parts that pass on what others hold."""
        held = [np.zeros(len(part.inputs), dtype=bool) for part in self.parts]
        rests = [np.zeros(len(part.inputs), dtype=bool) for part in self.parts]  # held, or given so
        for p, known in enumerate(self.given):
            rests[p][[j for j, one in known.items() if one.rests]] = True
        found = True
        while found:  # once for each part of the longest chain
            found = False
            for wire in self.wires:
                p, j = wire.target_part, wire.input
                source = self.parts[wire.source_part].port(chosen[wire.source_part][wire.output])
                by = source.held_by
                passes = by is not None and bool(rests[wire.source_part][sorted(by)].all())
                if not held[p][j] and (source.held or self.parts[p].inputs[j].held or passes):
                    held[p][j] = rests[p][j] = found = True
        return held

    # ------------------------------------------------------------------------------------------------ whole run

    def go(self, about: Callable[[Master], RunAbout]) -> CouplingResult:
        """From start to stop; every error carries the result so far."""
        begin = time.perf_counter()
        try:
            with noticed(), Reporter(self.run.progress) as reporter:
                ended = self._all_steps(begin, reporter)
        except KeyboardInterrupt:
            self.seconds = time.perf_counter() - begin
            raise SimulationInterrupted(
                f"interrupted at t = {self.t:.10g}",
                hint="the exception's .result holds everything computed before",
                result=self.recorder.result(about(self), False),
                time=self.t,
            ) from None
        except Exception as error:
            self.seconds = time.perf_counter() - begin
            self._warn()
            so_far = self.recorder.result(about(self), False)
            self._fail(error, so_far)
        finally:
            self.seconds = time.perf_counter() - begin
            for part in self.parts:
                part.close()
        self._warn()
        return self.recorder.result(about(self), not ended)

    def _warn(self) -> None:
        """What was solved less well than it should be, because of what parts cannot do."""
        self.told = untried_loops(self.solver) + self.early.unheard()
        self.told += self.growth.unproved() if self.growth is not None else ()
        for text in self.told:
            warnings.warn(text, stacklevel=6)

    def _fail(self, error: Exception, so_far: CouplingResult) -> NoReturn:
        if isinstance(error, OutOfTime):
            raise SimulationTimeout(
                f"the time-out of {self.run.timeout:g} s ran out at t = {self.t:.10g}",
                hint="raise timeout=, take longer macro steps, or loosen the tolerances",
                result=so_far,
                time=self.t,
            ) from None
        if isinstance(error, PartFailed):
            told = part_error(self.parts[error.place].name, error.error, self.t, so_far)
            if told is error.error:
                raise told
            raise told from error.error
        if isinstance(error, SolverError):
            error.result = so_far
        raise error

    def _all_steps(self, begin: float, reporter: Reporter) -> bool:
        """All macro steps; True if a part ended the run before its time."""
        run = self.run
        deadline = None if run.timeout is None else begin + run.timeout
        with Stepping(len(self.parts), run.parallel, deadline) as stepping:
            self._begin()
            repeats = all(getattr(part, "can_restore", True) for part in self.parts)
            if not run.auto and repeats and run.extrapolation >= 2 and self.wires and not self._look_ahead(stepping):
                return True
            pace: Adaptive | Even = Adaptive(self, repeats, self.rtol) if run.auto else Even(self)
            self.growth = growth = Growth(self, repeats) if run.watch and self.wires else None
            self.log = pace.log
            while pace.running:
                if not pace.go(stepping):
                    return True
                if self.ended:
                    return True
                if growth is not None:
                    growth.look(stepping)
                if deadline is not None and time.perf_counter() > deadline and pace.running:
                    raise OutOfTime
                if reporter.active:
                    reporter.report(self._progress(begin))
            if reporter.active:
                reporter.finish(self._progress(begin))
        return False

    def _look_ahead(self, stepping: Stepping) -> bool:
        """Make the first step for the slope of the inputs only; False if a part has ended in it."""
        t, t_next = self.run.time(0), self.run.time(1)
        tokens = [part.save() for part in self.parts]
        if not self.macro_step(stepping, t, t_next):
            return False
        found = self.point(t_next)
        for part, token in zip(self.parts, tokens, strict=True):
            part.restore(token)
        first = self.samples[0]
        self.first_slope = [(u - u0) / (t_next - t) for u, u0 in zip(found, first, strict=True)]
        self.ends = first
        return True

    def _progress(self, begin: float) -> Progress:
        run, seconds = self.run, time.perf_counter() - begin
        return Progress(
            self.t,
            start=run.start,
            stop=run.stop,
            step=run.step,
            order=run.extrapolation,
            n_steps=self.done,
            method=run.scheme,
            seconds=seconds,
        )

    # ---------------------------------------------------------------------------------------- communication points

    def _begin(self) -> None:
        guess = []
        for p, part in enumerate(self.parts):
            u = np.array([0.0 if port.start is None else port.start for port in part.inputs])
            for j, one in self.given[p].items():
                u[j] = one.limits(self.run.start, self.near)[1]
            guess.append(u)
        found = find_start(self.parts, self.wires, self.solver, guess, self.run.start)
        self._sample(self.run.start, found)
        self.recorder.take(self.run.start, found, 0.0)
        self.ends = found

    def point(self, t: float) -> list[Vector]:
        """Inputs that fit the outputs at t. What happens there sees them; sources that wait come first."""
        self.happened = self.jumped = False
        found = first = self.solver.solve(self._guess(t), t)
        seen = self._before(t)
        for _ in range(MOST_ROUNDS * len(self.parts)):
            waiting = [p for p, part in enumerate(self.parts) if self._waits(part, seen[p], found[p], p)]
            if not waiting:
                break
            behind = {wire.target_part for wire in self.wires if wire.source_part in waiting}
            p = next((p for p in waiting if p not in behind), waiting[0])
            self.happened = True
            try:
                self.ended |= not self.parts[p].settle(found[p])  # type: ignore[attr-defined]
            except Exception as error:
                raise PartFailed(p, error) from error
            seen[p] = found[p]
            found = self.solver.solve(found, t)
        if self.happened:
            self.jumped = any(
                bool(_jumps(one, two)[connected & ~held].any())
                for one, two, connected, held in zip(first, found, self.connected, self.held, strict=True)
            )
        return found

    def _waits(self, part: Part, seen: Vector, now: Vector, p: int) -> bool:
        """Does something happen at this point: a clock that ticks, or a jump of an input that a part reacts to?"""
        if getattr(part, "is_waiting", False):
            return True
        return getattr(part, "reacts", False) and bool((seen != now)[self.jumping[p]].any())

    def _before(self, t: float) -> list[Vector]:
        """Inputs at t as the parts saw them on their way."""
        out = [end.copy() for end in self.ends]
        for p, given in enumerate(self.given):
            for j, one in given.items():
                out[p][j] = one.limits(t, self.near)[0]
        return out

    def advance(self, stepping: Stepping, t: float, t_next: float) -> bool:
        """A macro step and its samples that are not recorded; False if a part has ended in it."""
        if not self.macro_step(stepping, t, t_next):
            return False
        found = self.point(self.reached)
        if self.jumped:
            self.times.clear()
            self.samples.clear()
        self._sample(self.reached, found)
        return True

    def _guess(self, t: float) -> list[Vector]:
        """Inputs at t: where their polynomials ended."""
        guess = [end.copy() for end in self.ends]
        for p, given in enumerate(self.given):
            for j, one in given.items():
                guess[p][j] = one.limits(t, self.near)[1]
        return guess

    def keep(self, t: float, u: list[Vector]) -> None:
        """The macro step that ended here stands."""
        self.meter.add(self.times[0], t, u)
        h, self.t = t - self.t, t
        if self.lost:
            self.times.clear()
            self.samples.clear()
            self.lost = False
        self._sample(t, u)
        self.done += 1
        self.communication.append(t)
        self.recorder.take(t, u, h)

    def _sample(self, t: float, u: list[Vector]) -> None:
        close = CLOSE * (self.times[0] - self.times[1]) if len(self.times) > 1 else self.near
        if self.times and t - self.times[0] < close:
            self.times.popleft()  # a difference over so short a time tells of rounding only
            self.samples.popleft()
        self.times.appendleft(t)
        self.samples.appendleft(u)

    def forget(self) -> None:
        """Samples before a jump say nothing about what comes after it: the next one to be kept restarts."""
        self.lost = True

    # ------------------------------------------------------------------------------------------------- macro steps

    def macro_step(self, stepping: Stepping, t: float, t_next: float) -> bool:
        """All parts go from t to t_next, or to ``reached`` before; False if one has ended."""
        self.reached, self.interpolated = t_next, []
        if self.run.scheme == "jacobi":
            pieces = [self._extrapolated(p, t, t_next) for p in range(len(self.parts))]
            jobs: list[Job] = [self._job(p, t, t_next, c) for p, c in enumerate(pieces)]
            going = True
            if self.early.parts:  # they may end early, and the others follow
                going, self.reached = self.early.all(
                    stepping, t_next, self.near, lambda p, end: self._job(p, t, end, pieces[p])
                )
                if self.reached < t_next:
                    jobs = [self._job(p, t, self.reached, c) for p, c in enumerate(pieces)]
                for p in self.early.parts:
                    jobs[p] = stays
            going = stepping.all(jobs) and going
            self.ends = [at(c, self.reached - t) for c in pieces]
            self.pieces = pieces
            return going
        saved, ending = self.early.save_for_sequence(), -1
        for attempt in itertools.count():
            going, early = self._sequence(stepping, t, t_next, ending, attempt < MOST_SHORTER)
            if early is None or not going:
                return going
            ending, t_next = early
            self.early.put_back(saved)
        return True

    def _sequence(
        self, stepping: Stepping, t: float, t_next: float, ending: int, yields: bool
    ) -> tuple[bool, tuple[int, float] | None]:
        """All parts one after the other. A part behind others that ends early, and where it does, is given back; it is
        ``ending`` then, and may go a trifle further, so that it meets its event again."""
        ready: dict[int, Vector] = {}
        new_ends, self.interpolated, self.reached = list(self.ends), [], t_next
        for p in self.order:
            self.interpolated += [
                k for k, wire in enumerate(self.wires) if wire.target_part == p and wire.source_part in ready
            ]
            c = self._extrapolated(p, t, t_next, ready)
            with self.early.asked(p, yields):
                if not stepping.one(p, self._job(p, t, t_next + (self.near if p == ending else 0.0), c)):
                    return False, None
            if p in self.early.parts:
                stands = float(self.parts[p].stands_at)  # type: ignore[attr-defined]
                if stands < t_next - self.near and ready:
                    return True, (p, stands)
                self.reached = t_next = t_next if ready else min(t_next, stands)
            new_ends[p] = at(c, t_next - t)
            self.pieces[p] = c
            ready[p] = self.parts[p].outputs(new_ends[p])
        self.ends = new_ends
        return True, None

    def _extrapolated(self, p: int, t: float, t_next: float, ready: Mapping[int, Vector] | None = None) -> Matrix:
        """Polynomials about t for the connected inputs of a part."""
        n = min(self.run.extrapolation + 1, len(self.times))
        times, samples = list(self.times)[:n], [one[p] for one in list(self.samples)[:n]]
        c = polynomial(times, samples, t)
        if n == 1 and self.run.extrapolation > 0 and self.first_slope is not None:
            c[1] = self.first_slope[p]
        for wire in self.wires:
            if ready and wire.target_part == p and wire.source_part in ready:
                newest = np.array([wire.value(ready)])
                k = max(1, n - 1)
                older = [one[p][[wire.input]] for one in list(self.samples)[:k]]
                inner = polynomial([t_next, *list(self.times)[:k]], [newest, *older], t)
                c[:, wire.input] = inner[:, 0]
        if self.run.smooth and self.done and not self.jumped:
            c = np.where(self.connected[p], made_continuous(c, self.ends[p], t_next - t), c)
        constant = np.vstack([samples[0], np.zeros((len(c) - 1, c.shape[1]))])
        return np.where(self.held[p], constant, c)

    def _job(self, p: int, t: float, t_next: float, c: Matrix) -> Job:
        """The step of one part: given inputs added, tables followed from knot to knot."""
        part, given, near = self.parts[p], self.given[p], self.near
        points = [t]
        for b in sorted({float(b) for one in given.values() for b in one.breaks(t, t_next, near)}):
            if b > points[-1] + near:
                points.append(b)
        points.append(t_next)

        def job(cancelled: Callable[[], bool]) -> bool:
            for a, b in itertools.pairwise(points):
                piece = c.copy() if a == t else shifted(c, a - t)
                for j, one in given.items():
                    piece[:, j] = one.coefficients(a, b, near)
                part.set_inputs(a, piece)
                if not part.step(b, cancelled):
                    return False
            return True

        return job


def _jumps(before: Vector, after: Vector) -> NDArray[np.bool_]:
    """Which values differ by more than what a solution leaves over."""
    return np.asarray(np.abs(after - before) > JUMP * (np.abs(before) + np.abs(after)))


def _path(part: Part, port: object) -> str:
    return f"{part.name}.{getattr(port, 'name', '')}"


def part_error(name: str, error: BaseException, t: float, so_far: CouplingResult | None) -> BaseException:
    """The same kind of error, naming the part; an exception of the user's own function only gets a note."""
    if isinstance(error, SolverError):
        at_time = error.time if error.time is not None else t
        words = f"part {name!r} failed after the communication point t = {t:.10g}: {error.message}"
        told = type(error)(words, hint=error.hint, result=so_far, time=at_time, names=error.names)
        for attribute in ("call", "log"):  # of an FMU
            if hasattr(error, attribute):
                setattr(told, attribute, getattr(error, attribute))
        return told
    if isinstance(error, PliantError):
        return type(error)(f"part {name!r}: {error.message}", hint=error.hint)
    error.add_note(f"in part {name!r} of the coupling, after the communication point t = {t:.10g}")
    error.pliant_result = so_far  # type: ignore[attr-defined]
    return error
