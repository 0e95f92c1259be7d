"""The loop of a study: blocks to workers, results to the study, deaths to the cases that caused them."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Iterable
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.batch.cases import Cases
from pliant.batch.order import Order
from pliant.batch.progress import StudyProgress, StudyReporter
from pliant.batch.study import Study
from pliant.batch.workers.crews import CaseBlock, Crew, CrewGone, Others, Shipment, WorkerDied, died_twice, executor_of
from pliant.batch.workers.work import BlockOutcome, timed_out
from pliant.errors import ArgumentError, CaseError, OutputError, PliantError, SimulationInterrupted

LARGEST_BLOCK = 20_000
FIRST_BLOCK = 8
DEATHS = 2
LOST = 3.0  # seconds for the error of a task that is known to have failed
LATE = 30.0  # seconds beyond its time after which a block of somebody's executor is given up


def make_crew(model: Any, order: Order, workers: int | None, executor: Any, n: int) -> Crew:
    """Who works, by what the user asked for and what the model can do; not more than there are cases to run."""
    count = max(1, min(workers or cores(), n))
    numeric = model._numeric
    if executor is None:
        executor = "threads" if numeric.fits_threads else "processes"
    if executor == "threads":
        from pliant.batch.workers.threads import Threads

        return Threads(model, order, count)
    if executor == "processes":
        from pliant.batch.workers.processes import Processes

        return Processes(Shipment.of(model, order), count, model, order)
    others = executor_of(executor)
    if others is not None:
        return Others(others, Shipment.of(model, order), workers)
    raise ArgumentError(
        f"executor must be 'threads', 'processes' or a concurrent.futures.Executor, not {executor!r}",
        hint="e.g. executor=client.get_executor() of Dask",
    )


def cores() -> int:
    """How many processors this program may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on this system
        return os.cpu_count() or 1


@dataclass
class StudyLoop:
    """One study in the making."""

    crew: Crew
    cases: Cases
    study: Study
    order: Order
    reporter: StudyReporter
    waiting: deque[CaseBlock] = field(default_factory=deque)  # blocks to be run again
    running: dict[Future[BlockOutcome], tuple[CaseBlock, float]] = field(default_factory=dict)
    lost_since: dict[Future[BlockOutcome], float] = field(default_factory=dict)
    deaths: dict[int, int] = field(default_factory=dict)
    case_seconds: float | None = None  # of a worker, for one case

    def run(self, indices: NDArray[np.intp]) -> None:
        """All of these cases."""
        self.left, self.begin = deque([indices] if len(indices) else []), time.perf_counter()
        self.before = self.study.n_done
        ended = False
        try:
            while self._fill() or self.running:
                self._collect()
                self._report()
            ended = True
        except KeyboardInterrupt:
            raise interrupted(self.study) from None
        except CrewGone as error:
            self._gone(error)
        except OutputError as error:
            error.result = self.study
            raise
        finally:
            self.study.seconds = time.perf_counter() - self.begin  # Ctrl-C may come again while the workers end
            try:
                self.crew.close(not ended)
            finally:
                self.study.seconds = time.perf_counter() - self.begin
                self.study._finish()
        self._report(last=True)

    # ------------------------------------------------------------------------------------------------- handing out

    def _fill(self) -> bool:
        """Give everybody something to do; is anything left?"""
        while len(self.running) < 2 * self.crew.workers:
            block = self.waiting.popleft() if self.waiting else self._next()
            if block is None:
                break
            self.running[self.crew.submit(block)] = (block, time.monotonic())
        return bool(self.running)

    def _next(self) -> CaseBlock | None:
        if not self.left:
            return None
        rest = self.left.popleft()
        size = min(self._size(len(rest)), len(rest))
        if size < len(rest):
            self.left.append(rest[size:])
        return CaseBlock(self.cases.part(rest[:size]), rest[:size])

    def _size(self, rest: int) -> int:
        if self.case_seconds is None:
            return min(FIRST_BLOCK, max(1, rest // (4 * self.crew.workers)))
        wanted = int(self.crew.block_seconds / max(self.case_seconds, 1e-9))
        fair = -(-rest // (2 * self.crew.workers))  # towards the end all finish together
        return max(1, min(wanted, fair, LARGEST_BLOCK))

    # -------------------------------------------------------------------------------------------------- collecting

    def _collect(self) -> None:
        done, _ = wait(self.running, timeout=0.1, return_when=FIRST_COMPLETED)
        for future in done:
            block, _ = self.running.pop(future)
            try:
                outcome = future.result()
                if not isinstance(outcome, BlockOutcome):
                    raise TypeError(f"the executor gave {type(outcome).__name__}, not what its function returned")
            except (CrewGone, KeyboardInterrupt):
                raise
            except (Exception, CancelledError) as error:
                self._died(block, error)
                continue
            seconds = float(outcome.seconds.sum()) / max(len(block.indices), 1)
            self.case_seconds = seconds if self.case_seconds is None else 0.5 * (self.case_seconds + seconds)
            self.study._add(outcome)
        self.study._look()
        self._give_up()

    def _give_up(self) -> None:
        """Blocks of an executor that never come back."""
        limit, now = self.order.case_timeout, time.monotonic()
        self.crew.watch()
        if not isinstance(self.crew, Others):
            return
        for future, (block, since) in list(self.running.items()):
            is_late = limit is not None and now - since > 2 * len(block.indices) * limit + LATE
            why = "it did not come back" if is_late else self._lost(future, now)
            if why and not future.done():
                future.cancel()
                del self.running[future]
                self._died(block, WorkerDied(why, stuck=is_late))

    def _lost(self, future: Future[BlockOutcome], now: float) -> str:
        """Why a block is lost, after some time in which its error may still arrive."""
        assert isinstance(self.crew, Others)
        why = self.crew.lost(future)
        if not why:
            self.lost_since.pop(future, None)
            return ""
        return why if now - self.lost_since.setdefault(future, now) > LOST else ""

    def _died(self, block: CaseBlock, error: BaseException) -> None:
        """A worker died over a block: find the case, and run the others again."""
        count = len(block.indices)
        place = error.place if isinstance(error, WorkerDied) else None
        why = error.why if isinstance(error, WorkerDied) else f"{type(error).__name__}: {error}"
        if count == 1:
            place = 0
        if place is None:
            halves: Iterable[NDArray[np.intp]] = (
                [np.arange(count)] if not block.careful else np.array_split(np.arange(count), 2)
            )
            self.waiting += [block.part(half, careful=True) for half in halves]
            return
        k = int(block.indices[place])
        self.deaths[k] = self.deaths.get(k, 0) + 1
        others = (np.arange(place), np.arange(place + 1, count))
        self.waiting += [block.part(part, careful=True) for part in others if len(part)]
        stuck = isinstance(error, WorkerDied) and error.stuck
        if self.deaths[k] < DEATHS and not stuck:
            self.waiting.append(block.part(np.array([place]), careful=True))
        else:
            found = timed_out(self.order.case_timeout) if stuck else died_twice(why)
            seconds = np.array([(self.order.case_timeout or 0.0) if stuck else 0.0])
            self.study._add(BlockOutcome(np.array([k]), seconds, errors={0: found}))

    # ------------------------------------------------------------------------------------------------------ the end

    def _report(self, last: bool = False) -> None:
        seconds = time.perf_counter() - self.begin
        progress = StudyProgress(
            self.study.n_done, n=len(self.study), failed=self.study.n_failed, seconds=seconds, before=self.before
        )
        self.reporter.report(progress, last)

    def _gone(self, error: CrewGone) -> None:
        cause = error.__cause__
        is_own = not isinstance(self.crew, Others) and not isinstance(cause, (RuntimeError, OSError))
        if self.study.n_done == 0 and isinstance(cause, Exception) and (is_own or isinstance(cause, PliantError)):
            raise cause from None
        gone = CaseError(
            f"the workers are gone after {self.study.n_done} of {len(self.study)} cases: {error}",
            hint="the exception's .result is the study so far; run it again, with save= it goes on where it stopped",
        )
        gone.result = self.study
        raise gone from cause


def interrupted(study: Study) -> SimulationInterrupted:
    """By Ctrl-C."""
    return SimulationInterrupted(
        f"interrupted after {study.n_done} of {len(study)} cases",
        hint="the exception's .result is the study so far"
        + ("; the same call goes on where it stopped" if study.folder else ""),
        result=study,  # type: ignore[arg-type]
    )
