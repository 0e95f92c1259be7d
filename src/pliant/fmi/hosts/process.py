"""Processes of hosts: started, watched, killed. The small interface behind which systems differ.

A host gets its requests from one pipe and answers through another. Two pieces of anonymous memory are shared with it:
the black box, and what it prints. It dies with this process (the kernel sees to that), and leaves nothing.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import queue
import select
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any

from pliant.errors import NotSupportedError

#: descriptors from here on: those below are taken by the host's own
FIRST_FREE = 10
PIPE_BYTES = 1 << 20
WAIT = 5.0  # seconds for the system to end a killed process
BOX, PRINTED = 3, 4  # descriptors in the host


class HostProcess:
    """One process with its pipes and shared memory. ``box`` and ``printed`` are views of the latter."""

    def __init__(self, command: Sequence[str], environment: Mapping[bytes, bytes], sizes: tuple[int, int]) -> None:
        if sys.platform == "win32":
            raise NotSupportedError("FMUs cannot be run on Windows yet", hint="use Linux, or the Linux subsystem")
        self.owner = os.getpid()
        self.code: int | None = None  # of its end; negative: of a signal
        self._open: list[int] = []
        try:
            self._start(command, environment, sizes)
        except BaseException:
            self._close_all()
            raise
        self._poll = select.poll()
        self._poll.register(self.reads, select.POLLIN)
        if self.ended >= 0:
            self._poll.register(self.ended, select.POLLIN)

    def _start(self, command: Sequence[str], environment: Mapping[bytes, bytes], sizes: tuple[int, int]) -> None:
        theirs_in, self.writes = self._pipe()
        self.reads, theirs_out = self._pipe()
        box, self._printed = self._memory(sizes[0], fixed=False), self._memory(sizes[1], fixed=True)
        actions = [
            (os.POSIX_SPAWN_DUP2, mine, theirs)
            for mine, theirs in ((theirs_in, 0), (theirs_out, 1), (box, BOX), (self._printed, PRINTED))
        ]
        arguments = [command[0], *command[1:2], str(BOX), str(PRINTED), str(self.owner), *command[2:]]
        self.pid = in_lasting_thread(
            lambda: os.posix_spawn(
                command[0],
                arguments,
                environment,
                file_actions=actions,
                setpgroup=0,
                setsigmask=(),
                setsigdef=(signal.SIGPIPE, signal.SIGINT, signal.SIGTERM),
            )
        )
        self.ended = -1
        if hasattr(os, "pidfd_open"):
            with contextlib.suppress(OSError):
                self.ended = os.pidfd_open(self.pid)
                self._open.append(self.ended)
        self.box = mmap.mmap(box, sizes[0])
        for one in (theirs_in, theirs_out, box):
            self._close(one)

    def _pipe(self) -> tuple[int, int]:
        ends = os.pipe()
        moved = tuple(self._moved(one) for one in ends)
        if hasattr(select, "epoll"):  # Linux: more room, so that neither side waits for the other
            import fcntl

            with contextlib.suppress(OSError):
                fcntl.fcntl(moved[1], fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        return moved  # type: ignore[return-value]

    def _memory(self, size: int, fixed: bool) -> int:
        if hasattr(os, "memfd_create"):
            one = self._moved(os.memfd_create("pliant", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING))
        else:
            with tempfile.TemporaryFile() as file:
                one = self._moved(os.dup(file.fileno()))
        os.ftruncate(one, size)
        if fixed and hasattr(os, "memfd_create"):  # what is printed without end must not fill the memory
            import fcntl

            fcntl.fcntl(one, fcntl.F_ADD_SEALS, fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK)
        return one

    def _moved(self, one: int) -> int:
        """A descriptor with a number that no descriptor of the host has."""
        import fcntl

        if one < FIRST_FREE:
            other = fcntl.fcntl(one, fcntl.F_DUPFD_CLOEXEC, FIRST_FREE)
            os.close(one)
            one = other
        self._open.append(one)
        return one

    # --------------------------------------------------------------------------------------------- its life

    def wait_readable(self, seconds: float | None) -> bool | None:
        """True: there is something to read; False: the time is over; None: the process has ended, all is read."""
        found = dict(self._poll.poll(None if seconds is None else max(0.0, 1e3 * seconds)))
        if found.get(self.reads, 0) & select.POLLIN:
            return True
        return None if found else False

    def printed(self) -> bytes:
        """What it has printed and not yet reported."""
        try:
            size = os.lseek(self._printed, 0, os.SEEK_CUR)  # the position is shared, too
            return os.pread(self._printed, size, 0)
        except OSError:
            return b""

    def kill(self) -> None:
        """End it, and what it has started, whatever it does."""
        if self.code is None and self.owner == os.getpid():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)

    @property
    def used(self) -> int:
        """Processor time that it has used, in ticks of the system."""
        try:
            with open(f"/proc/{self.pid}/stat", "rb") as file:
                fields = file.read().rpartition(b")")[2].split()
            return int(fields[11]) + int(fields[12])
        except (OSError, IndexError, ValueError):  # this system does not tell: it is taken to compute
            return time.monotonic_ns()

    @property
    def descendants(self) -> list[int] | None:
        """Processes below it; those whose own parents are gone are its children. None: not known."""
        found = [self.pid]
        for one in found:  # it grows
            try:
                for task in os.listdir(f"/proc/{one}/task"):
                    with open(f"/proc/{one}/task/{task}/children", "rb") as file:
                        found += [int(child) for child in file.read().split()]
            except OSError:  # it is gone, or this system does not tell
                if one == self.pid:
                    return None
        return found[1:]

    def wait(self, seconds: float = WAIT) -> int | None:
        """The code of its end, negative for a signal; None: it has not ended."""
        if self.code is None and self.owner == os.getpid():
            if self.ended >= 0 and not select.select([self.ended], [], [], max(seconds, 0.0))[0]:
                return None
            try:
                pid, status = os.waitpid(self.pid, 0 if self.ended >= 0 or seconds >= WAIT else os.WNOHANG)
                self.code = os.waitstatus_to_exitcode(status) if pid else None
            except ChildProcessError:  # somebody else has asked
                self.code = 0
        return self.code

    def close(self) -> None:
        """End it, and give everything back."""
        self.kill()
        self.wait()
        self._close_all()

    def _close(self, one: int) -> None:
        self._open.remove(one)
        os.close(one)

    def _close_all(self) -> None:
        while self._open:
            with contextlib.suppress(OSError):
                os.close(self._open.pop())
        box = self.__dict__.pop("box", None)
        if box is not None:
            with contextlib.suppress(BufferError):  # a view of it lives: then it goes with that
                box.close()


# ----------------------------------------------------------------------------------------------------------- threads


class _Starter:
    """A thread that lasts as long as the process: on Linux a child dies with the *thread* that started it."""

    def __init__(self) -> None:
        self.asked: queue.SimpleQueue[tuple[Callable[[], Any], Future[Any]]] = queue.SimpleQueue()
        threading.Thread(target=self._work, name="pliant-fmu-hosts", daemon=True).start()

    def _work(self) -> None:
        while True:
            call, future = self.asked.get()
            try:
                future.set_result(call())
            except BaseException as error:
                future.set_exception(error)


_starters: dict[int, _Starter] = {}  # by process: a forked one needs its own
_lock = threading.Lock()


def in_lasting_thread(call: Callable[[], int]) -> int:
    """Call a function in the main thread, if this is it, else in a thread that lasts as long."""
    if threading.current_thread() is threading.main_thread():
        return call()
    with _lock:
        starter = _starters.get(os.getpid())
        if starter is None:
            starter = _starters[os.getpid()] = _Starter()
    future: Future[int] = Future()
    starter.asked.put((call, future))
    return future.result()
