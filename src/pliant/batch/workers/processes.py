"""Processes of one's own: each may crash, hang or be killed, and takes nothing with it but the case that it is at."""

from __future__ import annotations

import contextlib
import os
import queue
import secrets
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import Future
from multiprocessing.connection import Connection, Listener
from typing import Any

from pliant.batch.order import Order
from pliant.batch.workers.crews import GRACE, CaseBlock, Crew, CrewGone, Shipment, WorkerDied
from pliant.batch.workers.forked import Forked, can_fork, fork_worker
from pliant.batch.workers.work import BlockOutcome
from pliant.batch.workers.worker import KEY
from pliant.errors import CaseError

START_SECONDS = 120.0  # a worker that does not answer by then is none
FAILED_STARTS = 3


class Processes(Crew):
    """One thread here for each process: it hands over blocks, watches, and starts another process after a death."""

    def __init__(self, shipment: Shipment, workers: int, model: Any, order: Order) -> None:
        self.workers, self.shipment, self.case_timeout = workers, shipment, order.case_timeout
        self.blocks: queue.SimpleQueue[tuple[CaseBlock, Future[BlockOutcome]] | None] = queue.SimpleQueue()
        self.closed = threading.Event()
        self.broken: Exception | None = None
        forked = [fork_worker(model, order) for _ in range(workers)] if can_fork() else [None] * workers
        self.members = [CrewMember(self, one) for one in forked]

    def submit(self, block: CaseBlock) -> Future[BlockOutcome]:
        """See Crew."""
        if self.broken is not None:
            raise CrewGone(str(self.broken)) from self.broken
        future: Future[BlockOutcome] = Future()
        self.blocks.put((block, future))
        return future

    def close(self, interrupted: bool) -> None:
        """See Crew."""
        self.closed.set()
        for _ in self.members:
            self.blocks.put(None)
        for one in self.members:
            if interrupted:
                one.kill()
        for one in self.members:
            one.thread.join()


class CrewMember:
    """One process, and the thread that talks to it."""

    def __init__(self, crew: Processes, forked: tuple[Forked, Connection] | None) -> None:
        self.crew = crew
        self.process: subprocess.Popen[bytes] | Forked | None = None
        self.connection: Connection | None = None
        if forked is not None:
            self.process, self.connection = forked
        self.thread = threading.Thread(target=self._serve, name="pliant-worker", daemon=True)
        self.thread.start()

    def kill(self) -> None:
        """At once."""
        if self.process is not None:
            with contextlib.suppress(OSError):
                self.process.kill()

    # ---------------------------------------------------------------------------------------------- its thread

    def _serve(self) -> None:
        try:
            while (item := self.crew.blocks.get()) is not None:
                block, future = item
                if self.crew.closed.is_set() or not future.set_running_or_notify_cancel():
                    continue
                try:
                    future.set_result(self._run(block))
                except BaseException as error:  # goes to whoever waits
                    future.set_exception(error)
        finally:
            self._end()

    def _run(self, block: CaseBlock) -> BlockOutcome:
        connection = self._connected()
        try:
            connection.send((block.cases, block.indices, block.careful))
            return self._watch(connection)
        except (EOFError, ConnectionError, BrokenPipeError, OSError):
            raise self._death(None) from None

    def _watch(self, connection: Connection) -> BlockOutcome:
        limit = self.crew.case_timeout
        place, since = None, time.monotonic()
        while True:
            if not connection.poll(0.2 if limit is None else min(0.2, limit)):
                if limit is not None and time.monotonic() - since > limit + GRACE:
                    self.kill()
                    raise self._death(place, f"it did not answer for {limit + GRACE:g} s", stuck=True)
                continue
            try:
                kind, value = connection.recv()
            except (EOFError, ConnectionError, OSError):
                raise self._death(place) from None
            if kind == "done":
                outcome: BlockOutcome = value
                return outcome
            place, since = (value if value >= 0 else None), time.monotonic()

    def _death(self, place: int | None, why: str = "", *, stuck: bool = False) -> WorkerDied:
        """What became of the process; it is gone afterwards."""
        code = self._end()
        if self.crew.closed.is_set():
            return WorkerDied("interrupted", place)
        return WorkerDied(why or _words(code), place, stuck=stuck)

    # ------------------------------------------------------------------------------------------- start and end

    def _connected(self) -> Connection:
        if self.connection is not None:
            return self.connection
        for attempt in range(FAILED_STARTS):
            try:
                self.connection = self._start()
                return self.connection
            except CaseError as error:
                self._end()
                if attempt == FAILED_STARTS - 1 or self.crew.closed.is_set():
                    self.crew.broken = error
                    raise CrewGone(error.message) from error
        raise AssertionError

    def _start(self) -> Connection:
        key = secrets.token_bytes(24)
        with Listener(None, authkey=key) as listener:
            address = listener.address
            text = address if isinstance(address, str) else f"tcp:{address[0]}:{address[1]}"
            environment = os.environ | {KEY: key.hex()} | dict.fromkeys(THREADS, "1")
            environment["PYTHONPATH"] = os.pathsep.join(one for one in sys.path if one)
            process = subprocess.Popen([sys.executable, "-m", "pliant.batch.workers.worker", text], env=environment)
            self.process = process
            connection = _accepted(listener, process)
        connection.send((_main_of(self.crew.shipment), self.crew.shipment.model, self.crew.shipment.order))
        kind, value = _first_answer(connection, process)
        if kind == "failed":
            if isinstance(value, Exception):
                self.crew.broken = value
                raise CrewGone(str(value)) from value
            raise CaseError(f"a worker could not start: {value}", hint="try executor='threads'")
        return connection

    def _end(self) -> int | None:
        """No process, no connection."""
        if self.connection is not None:
            self.connection.close()
            self.connection = None
        if self.process is None:
            return None
        try:
            code: int | None = self.process.wait(timeout=5.0)
        except (subprocess.TimeoutExpired, TimeoutError):
            self.process.kill()
            code = self.process.wait()
        self.process = None
        return code


THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def _accepted(listener: Listener, process: subprocess.Popen[bytes]) -> Connection:
    """The worker's call; one that dies before never calls."""
    found: list[Connection] = []
    wait = threading.Thread(target=lambda: _accept(listener, found), daemon=True)
    wait.start()
    end = time.monotonic() + START_SECONDS
    while not found:
        wait.join(0.05)
        if found:
            break
        if process.poll() is not None or time.monotonic() > end:
            raise CaseError(
                f"a worker process ended before it began to work ({_words(process.poll())})",
                hint="look at its messages above; try executor='threads'",
            )
    return found[0]


def _accept(listener: Listener, found: list[Connection]) -> None:
    with contextlib.suppress(OSError, EOFError):
        found.append(listener.accept())


def _first_answer(connection: Connection, process: subprocess.Popen[bytes]) -> tuple[str, Any]:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        if connection.poll(0.2):
            try:
                answer: tuple[str, Any] = connection.recv()
            except (EOFError, ConnectionError):
                break
            return answer
        if process.poll() is not None:
            break
    return "failed", _words(process.poll())


def _main_of(shipment: Shipment) -> dict[str, Any] | None:
    """How to find functions of the script that runs here; None: nothing refers to it."""
    if b"__main__" not in shipment.model and b"__main__" not in shipment.order:
        return None
    from multiprocessing import spawn

    found = spawn.get_preparation_data("pliant-worker")
    return {
        name: found[name] for name in ("sys_path", "dir", "init_main_from_path", "init_main_from_name") if name in found
    }


def _words(code: int | None) -> str:
    if code is None:
        return "no reason known"
    if code >= 0:
        return f"its process ended with code {code}"
    try:
        return f"its process was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"its process was ended by signal {-code}"
