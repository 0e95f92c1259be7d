"""All parts go one macro step: one after the other, or in threads (the step loop in C runs without Python's lock).

The parts know nothing of each other during a step, so threads change nothing but the time it takes. Where one fails,
the others are stopped at their next look (every 0.05 s at most) before the error is passed on.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait

from pliant.cosim.part import Cancelled

PAYS = 3e-4  # seconds of a macro step that threads must save
LOOK = 5  # macro steps in turn before it is decided whether threads pay
POLL = 0.1  # seconds between two looks at Ctrl-C

Job = Callable[[Callable[[], bool]], bool]


class PartFailed(Exception):
    """Part number ``place`` raised ``error``."""

    def __init__(self, place: int, error: BaseException) -> None:
        super().__init__(f"part {place}")
        self.place, self.error = place, error


class OutOfTime(Exception):
    """The time-out came while a part was stepping."""


class Stepping:
    """Runs the steps of all parts; a context manager that leaves no thread behind."""

    def __init__(self, n_parts: int, parallel: bool | None, deadline: float | None) -> None:
        self.stop = threading.Event()
        self.deadline = deadline
        self.seconds = [0.0] * n_parts
        self.rounds = 0
        self.wanted = parallel
        self.pool: ThreadPoolExecutor | None = None
        self.n_parts = n_parts

    @property
    def in_threads(self) -> bool:
        """Are threads at work?"""
        return self.pool is not None

    def cancelled(self) -> bool:
        """Should a part in the middle of its step stop early?"""
        return self.stop.is_set() or (self.deadline is not None and time.perf_counter() > self.deadline)

    def one(self, place: int, job: Job) -> bool:
        """The step of one part, here and now."""
        begin = time.perf_counter()
        try:
            return job(self.cancelled)
        except Cancelled:
            raise OutOfTime from None
        except Exception as error:
            raise PartFailed(place, error) from error
        finally:
            self.seconds[place] += time.perf_counter() - begin

    def all(self, jobs: Sequence[Job]) -> bool:
        """One step of every part; False if one of them has ended."""
        self.rounds += 1
        if self.pool is None and self._pays():
            self.pool = ThreadPoolExecutor(min(self.n_parts, 32), thread_name_prefix="pliant-part")
        if self.pool is None:
            going = [self.one(place, job) for place, job in enumerate(jobs)]
            return all(going)
        return self._threads(jobs)

    def _pays(self) -> bool:
        if self.wanted is not None:
            return self.wanted and self.n_parts > 1
        if self.rounds <= LOOK or self.n_parts < 2 or (os.cpu_count() or 1) < 2:
            return False
        each = [seconds / (self.rounds - 1) for seconds in self.seconds]
        return sum(each) - max(each) > PAYS

    def _threads(self, jobs: Sequence[Job]) -> bool:
        assert self.pool is not None
        futures: list[Future[bool]] = [self.pool.submit(self.one, place, job) for place, job in enumerate(jobs)]
        try:
            left = set(futures)
            while left:
                done, left = wait(left, timeout=POLL, return_when=FIRST_EXCEPTION)
                if any(future.exception() is not None for future in done):
                    self.stop.set()
        except BaseException:  # Ctrl-C: nobody goes on alone
            self.stop.set()
            wait(futures)
            raise
        errors = [future.exception() for future in futures]
        for error in errors:  # the first part that failed by itself
            if isinstance(error, PartFailed):
                raise error
        for error in errors:
            if error is not None:
                raise error
        return all(future.result() for future in futures)

    def __enter__(self) -> Stepping:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop.set()
        if self.pool is not None:
            self.pool.shutdown(wait=True)
