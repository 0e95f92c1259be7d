"""Workers by fork: there at once, with the compiled model. Only from a program without other threads, whose locks a
copy would inherit; everywhere else, and after a death, a worker is a new program.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any

from pliant.batch.order import Order
from pliant.batch.workers.worker import work


def can_fork() -> bool:
    """Is it safe here?"""
    return sys.platform == "linux" and threading.active_count() == 1


class Forked:
    """A process made by fork, with the methods of subprocess.Popen that are needed."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.code: int | None = None

    def poll(self) -> int | None:
        """Its exit code, if it has ended."""
        if self.code is None:
            with contextlib.suppress(ChildProcessError):
                pid, status = os.waitpid(self.pid, os.WNOHANG)
                if pid:
                    self.code = os.waitstatus_to_exitcode(status)
        return self.code

    def wait(self, timeout: float | None = None) -> int | None:
        """Until it has ended; TimeoutError: it has not."""
        end = None if timeout is None else time.monotonic() + timeout
        while self.poll() is None:
            if end is not None and time.monotonic() > end:
                raise TimeoutError
            time.sleep(0.005)
        return self.code

    def kill(self) -> None:
        """At once."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)


def fork_worker(model: Any, order: Order) -> tuple[Forked, Connection]:
    """A worker that waits for blocks."""
    here, there = Pipe()
    # Ctrl-C while handlers of fork run would be swallowed by them
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    pid = os.fork()
    if pid:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        there.close()
        return Forked(pid), here
    try:  # the copy
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        here.close()
        with contextlib.suppress(EOFError, ConnectionError, BrokenPipeError):
            work(there, model, order)
    finally:
        os._exit(0)  # nothing of the parent's is flushed or ended twice
