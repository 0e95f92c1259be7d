"""One host of an FMU as Python sees it: requests, answers, messages, and what is known when it dies or hangs."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import NoReturn

from pliant.errors import FmuCrashError, FmuError, FmuTimeoutError
from pliant.fmi.hosts import binding
from pliant.fmi.hosts.folders import MARK, HostFolder, end_marked
from pliant.fmi.hosts.process import HostProcess
from pliant.foreign.messages import MOST_MESSAGES, Message
from pliant.solve.binding import runtime
from pliant.solve.run.child import program
from pliant.solve.run.remote import ANSWERED, HEAD, MESSAGES, PART, REFUSED, WORDS

CHUNK = 1 << 20
#: bytes that a frame may have
LARGEST = 1 << 40
#: seconds between looks at the black box, at most
LOOK = 0.5
#: seconds that a host which does not talk any more may take to end
AFTERMATH = 0.5
STATUS = {0: "ok", 1: "warning", 2: "discard", 3: "error", 4: "fatal", 5: "pending", -1: "printed"}


@dataclass(frozen=True)
class HostSettings:
    """What is the same for all hosts of a model."""

    name: str
    binary: str
    workplace: str  # folder that holds the working folders of the hosts
    table: bytes
    call_timeout: float
    memory_limit: int | None
    once: bool  # a process holds one instance only, ever


class FmuHost:
    """A process that has loaded the FMU. One thread uses it at a time."""

    def __init__(self, settings: HostSettings) -> None:
        self.settings = settings
        self.folder = HostFolder(settings.workplace)
        self.used = False
        self.owes = 0  # answers that nobody has waited for
        self.closed = False
        self.log: list[Message] = []
        self.lost = 0
        self._rest = b""
        self._at = 0
        try:
            self.process = HostProcess(
                (*_command(), self.folder.path),
                _environment(settings.binary, self.folder.path),
                (binding.BOX_SIZE, binding.PRINTED_SIZE),
            )
        except BaseException:
            self.folder.close()
            raise
        self.box = binding.BlackBoxStruct.from_buffer(self.process.box)
        try:
            self._load()
        except BaseException:
            self.close()
            raise

    def _load(self) -> None:
        kind, content = self.ask(binding.LOAD, self.settings.table)
        if kind == REFUSED:
            raise FmuError(
                f"{self.settings.name}: {content.decode(errors='replace')}",
                hint=self._memory_hint("ask the maker of the FMU for a binary that runs on this system"),
            )

    # ---------------------------------------------------------------------------------------------- talking

    def ask(self, request: int, content: bytes, deadline: float | None = None) -> tuple[int, bytes]:
        """A request and its answer: ANSWERED or REFUSED, and the content."""
        with self.watched(deadline):
            self.write(HEAD.pack(request, len(content)) + content)
            kind, answer = self.read_frame(deadline)
        assert kind in (ANSWERED, REFUSED), kind
        return kind, answer

    def write(self, content: bytes) -> None:
        """Send bytes."""
        rest = memoryview(content)
        while rest:
            rest = rest[os.write(self.process.writes, rest[:CHUNK]) :]

    def read_frame(self, deadline: float | None) -> tuple[int, bytes]:
        """The next frame that is no message."""
        while True:
            kind, size = HEAD.unpack(self._read(HEAD.size, deadline))
            if not (PART <= kind <= WORDS and 0 <= size <= LARGEST):  # the FMU writes what it should not
                raise BrokenPipeError
            content = self._read(size, deadline)
            if kind != MESSAGES:
                return kind, content
            self._hear(content)

    def _read(self, size: int, deadline: float | None) -> bytes:
        """So many bytes. What came with them is kept."""
        have = len(self._rest) - self._at
        if have < size:
            parts = [self._rest[self._at :]]
            while have < size:
                self._wait(deadline)
                part = os.read(self.process.reads, max(size - have, 1 << 16))
                if not part:
                    raise BrokenPipeError
                parts.append(part)
                have += len(part)
            self._rest, self._at = b"".join(parts), 0
        found = self._rest[self._at : self._at + size]
        self._at += size
        if self._at == len(self._rest):
            self._rest, self._at = b"", 0
        return found

    def _wait(self, deadline: float | None) -> None:
        """Until there is something to read.

        A call that takes too long is seen in the black box. Between calls the solver may compute as long as it likes:
        there a host hangs that does not use the processor.
        """
        since, seen, limit = 0.0, (-1, -1, 0), self.settings.call_timeout
        while True:
            left = min(LOOK, limit / 4)
            if deadline is not None:
                left = min(left, deadline - time.perf_counter())
            ready = self.process.wait_readable(left)
            if ready:
                return
            if ready is None:
                raise BrokenPipeError
            now = time.perf_counter()
            if deadline is not None and now >= deadline:
                raise TimeoutError
            call, count = self.box.call, self.box.count
            going = (call, count, self.process.used if call <= 0 else 0)
            if going != seen:
                since, seen = now, going
            elif now - since > limit:
                raise TimeoutError

    # --------------------------------------------------------------------------------------------- messages

    def _hear(self, content: bytes) -> None:
        at, size = 0, binding.MESSAGE.size
        while at + size <= len(content):
            t, status, n_category, n_text, _ = binding.MESSAGE.unpack_from(content, at)
            at += size
            if n_category < 0 or n_text < 0:  # somebody has written over it
                return
            category = content[at : at + n_category].decode(errors="replace")
            text = content[at + n_category : at + n_category + n_text].decode(errors="replace")
            at += (n_category + n_text + 7) & ~7
            if len(self.log) < MOST_MESSAGES:
                self.log.append((t, STATUS.get(status, str(status)), category, text))
            else:
                self.lost += 1

    def read_box(self) -> None:
        """Messages that are still in the black box; only where nothing goes on in the host."""
        used = min(max(int(self.box.used), 0), binding.MESSAGES_SIZE)
        if used:
            start = ctypes.sizeof(binding.BlackBoxStruct)
            self._hear(self.process.box[start : start + used])
            self.box.used = 0

    def take_log(self) -> tuple[Message, ...]:
        """Messages since the last call of this."""
        if not self.closed:
            self.read_box()
        self.lost += int(self.box.lost)
        self.box.lost = 0
        found, lost = self.log, self.lost
        self.log, self.lost = [], 0
        if lost:
            found.append((float(self.box.time), "warning", "pliant", f"{lost} more messages are not kept"))
        return tuple(found)

    # ------------------------------------------------------------------------------------------------ the end

    @contextlib.contextmanager
    def watched(self, deadline: float | None = None) -> Iterator[None]:
        """A host that dies or hangs here is an error that says what was going on."""
        try:
            yield
        except BrokenPipeError:
            self._died()
        except TimeoutError:
            self._hangs(deadline)
        except BaseException:  # in the midst of a request: it cannot be used any more
            self.close()
            raise

    def release(self) -> bool:
        """Have the instance closed, without waiting for it; False: the host cannot be used any more."""
        if self.closed:
            return False
        try:
            self.write(HEAD.pack(binding.CLOSE, 0))
        except OSError:
            return False
        self.owes += 1
        return True

    def is_ready(self) -> bool:
        """Does it live, with nothing left to say? Otherwise it is ended."""
        try:
            while self.owes:
                self.read_frame(time.perf_counter() + self.settings.call_timeout)
                self.owes -= 1
            if self.process.wait_readable(0.0) is False:
                self.take_log()
                return True
        except (OSError, TimeoutError):
            pass
        self.close()
        return False

    def fail(self, hangs: bool) -> NoReturn:
        """The error of a host that has died, or does not answer."""
        if hangs:
            self._hangs(None)
        self._died()

    def _where(self) -> tuple[str, str, float]:
        """The last call, the same as words, and the simulated time."""
        number = int(self.box.call)
        call = binding.call_name(abs(number))
        return call, f" {'in' if number > 0 else 'after'} {call}" if call else "", float(self.box.time)

    def _last_words(self) -> tuple[Message, ...]:
        """Messages of a host that is gone."""
        self.read_box()
        for line in self.process.printed().decode(errors="replace").splitlines():
            if line:
                self.log.append((float(self.box.time), "printed", "printed", line))
        self.closed = True
        return self.take_log()

    def _died(self) -> NoReturn:
        if self.closed:  # by another thread
            raise FmuError(
                f"{self.settings.name}: the model was closed during a run", hint="close it when runs are done"
            )
        code = self.process.wait(AFTERMATH)
        if code is None:
            self.process.kill()
            code = self.process.wait()
        call, where, t = self._where()
        how, hint = self._cause(code)
        log = self._last_words()
        self._discard()
        error = FmuCrashError(
            f"the FMU {self.settings.name} {how}{where} at t = {t:.10g}{_quoted(log)}",
            hint=hint,
            time=t,
        )
        error.call, error.log = call, log
        raise error from None

    def _cause(self, code: int | None) -> tuple[str, str]:
        report = "report it to the maker of the FMU; the exception's .log holds its messages"
        number = int(self.box.signal) or (-code if code is not None and code < 0 else 0)
        if self.box.overflow:
            return "overflowed its stack", report
        if number == signal.SIGKILL:
            return "was killed by the system", "set memory_limit in FmuOptions if memory ran out; " + report
        if number:
            with contextlib.suppress(ValueError):
                return f"crashed ({signal.Signals(number).name})", self._memory_hint(report)
            return f"crashed (signal {number})", report
        return f"ended its process (exit code {code})", report

    def _memory_hint(self, report: str) -> str:
        limit = self.settings.memory_limit
        return report if limit is None else f"a larger memory_limit than {limit} bytes, if memory ran out; " + report

    def _hangs(self, deadline: float | None) -> NoReturn:
        call, where, t = self._where()
        over = deadline is not None and time.perf_counter() >= deadline
        self.process.kill()
        self.process.wait()
        log = self._last_words()
        self._discard()
        if over:
            words, hint = "the time-out of the run ran out", "a larger timeout="
        else:
            stands = "the call took longer than" if self.box.call > 0 else "its process has stood still for"
            words = f"{stands} {self.settings.call_timeout:g} s"
            hint = (
                f"options={{'call_timeout': {10 * self.settings.call_timeout:g}}} of pliant.load, if it needs so long"
            )
        error = FmuTimeoutError(
            f"{self.settings.name}: {words}{where} at t = {t:.10g}{_quoted(log)}",
            hint=hint,
            time=t,
        )
        error.call, error.log = call, log
        raise error from None

    def _discard(self) -> None:
        self.closed = True
        self.box = binding.BlackBoxStruct.from_buffer_copy(self.process.box)  # the memory itself goes
        below = self.process.descendants if self.process.code is None else None
        self.process.close()
        if self.process.owner == os.getpid():
            for pid in below or ():
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            if below is None or below:  # a process of the FMU may have left the group of the host
                end_marked(self.folder.path)
            self.folder.close()

    def close(self) -> None:
        """End the process; more than once does no harm."""
        if not self.closed:
            self._discard()


def _quoted(log: tuple[Message, ...]) -> str:
    """The last complaint, as the end of a sentence."""
    said = [text for _, status, _, text in log if status in ("error", "fatal", "discard", "printed") and text]
    return f"; its last message: {said[-1][:300]}" if said else ""


@cache
def _command() -> tuple[str, str]:
    """The program of a host, and the runtime that it loads."""
    return str(program("pliant_fmu_host")), str(runtime.library_path())


def _environment(binary: str, folder: str) -> dict[bytes, bytes]:
    """Libraries beside the binary are found; temporary files go with the folder; children are known by their MARK."""
    own, here = os.path.dirname(binary), os.fsencode(folder)
    found = dict(os.environb.items()) | {b"TMPDIR": here, MARK.encode(): here}
    if len(os.listdir(own)) == 1:  # each folder to look in takes time
        return found
    name = b"DYLD_LIBRARY_PATH" if sys.platform == "darwin" else b"LD_LIBRARY_PATH"
    before = found.get(name, b"")
    return found | {name: os.fsencode(own) + (b":" + before if before else b"")}
