"""Threads of this process: the step loop does not hold Python's lock, so they share all cores.

A thread cannot be ended from outside. One whose case hangs inside a single evaluation is given up: its case is an
error, another thread takes its place, and it ends with the program.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from concurrent.futures import Future
from typing import Any

from pliant.batch.order import Order
from pliant.batch.workers.crews import GRACE, CaseBlock, Crew, CrewGone, WorkerDied
from pliant.batch.workers.work import BlockOutcome, run_block

Task = tuple[CaseBlock, "Future[BlockOutcome]"]


class Threads(Crew):
    """Threads that take blocks from one queue."""

    def __init__(self, model: Any, order: Order, workers: int) -> None:
        self.model, self.order, self.workers = model, order, workers
        self.stop = threading.Event()
        self.tasks: queue.SimpleQueue[Task | None] = queue.SimpleQueue()
        self.members = [ThreadMember(self) for _ in range(workers)]

    def submit(self, block: CaseBlock) -> Future[BlockOutcome]:
        """See Crew."""
        future: Future[BlockOutcome] = Future()
        self.tasks.put((block, future))
        return future

    def watch(self) -> None:
        """Give up threads whose case has been silent for longer than it may take."""
        limit = self.order.case_timeout
        if limit is None:
            return
        for k, one in enumerate(self.members):
            if one.silent() > limit + GRACE and one.give_up(f"it did not answer for {limit + GRACE:g} s"):
                self.members[k] = ThreadMember(self)

    def close(self, interrupted: bool) -> None:
        """See Crew. After an interruption threads that do not answer are left behind."""
        if interrupted:
            self.stop.set()
        for _ in self.members:
            self.tasks.put(None)
        end = time.monotonic() + GRACE
        for one in self.members:
            one.thread.join(max(0.0, end - time.monotonic()) if interrupted else None)


class ThreadMember:
    """One thread."""

    def __init__(self, crew: Threads) -> None:
        self.crew = crew
        self.lock = threading.Lock()
        self.future: Future[BlockOutcome] | None = None  # of the block that runs; under the lock
        self.given_up = False
        self.place: int | None = None  # of the case in its block, where that is known
        self.since = 0.0  # when it was last heard of
        self.thread = threading.Thread(target=self._serve, name="pliant-case", daemon=True)
        self.thread.start()

    def silent(self) -> float:
        """Seconds since it was last heard of; 0 if it has nothing to do."""
        with self.lock:
            return 0.0 if self.future is None else time.monotonic() - self.since

    def give_up(self, why: str) -> bool:
        """Its block has failed, and what it still does is not used; False: it has ended meanwhile."""
        with self.lock:
            if self.future is None:
                return False
            future, self.future, self.given_up = self.future, None, True
        future.set_exception(WorkerDied(why, self.place, stuck=True))
        return True

    def _serve(self) -> None:
        while not self.given_up and (task := self.crew.tasks.get()) is not None:
            block, future = task
            if not future.set_running_or_notify_cancel():
                continue
            with self.lock:
                self.future, self.place, self.since = future, None, time.monotonic()
            outcome: BlockOutcome | None = None
            failed: BaseException | None = None
            try:
                outcome = run_block(
                    self.crew.model, self.crew.order, block.cases, block.indices, self._at, block.careful
                )
            except BaseException as error:  # goes to whoever waits
                failed = error
            with self.lock:
                mine, self.future = self.future, None
            if mine is not None:
                with contextlib.suppress(Exception):  # whoever waited may have left
                    mine.set_exception(failed) if failed is not None else mine.set_result(outcome)  # type: ignore[arg-type]

    def _at(self, place: int) -> None:
        if self.crew.stop.is_set() or self.given_up:
            raise CrewGone
        self.place, self.since = (place if place >= 0 else None), time.monotonic()
