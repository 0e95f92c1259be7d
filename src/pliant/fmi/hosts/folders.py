"""Temporary folders that are gone when their owner is.

A folder's name holds the process that made it and when that process started, so that it is known whether the owner
still lives, also after its number was given to another process. Folders are removed when their owner is done, at its
exit, and, where it was killed, by the next process that makes one (`sweep`), together with the processes that hosts of
the owner have left behind.
"""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import tempfile
import time
import weakref
from contextlib import suppress
from functools import cache
from pathlib import Path

from pliant.errors import FmuError

PREFIX = "pliant-fmu"
#: name of the environment variable by which processes that a host has started are found: the folder of the host
MARK = "PLIANT_FMU_HOST"
#: where temporary folders usually are, and where small ones are better off: nothing is written to disk
USUAL, MEMORY, SMALL = "/tmp", "/dev/shm", 2**24
ROUNDS = 10  # of looking for such processes
_swept: set[str] = set()
_numbers = itertools.count()


class OwnedFolder:
    """A new folder that is removed by `close`, when nothing refers to it any more, or at exit."""

    def __init__(self, size: int | None = None) -> None:
        """``size``: bytes that will be in it; None: not known."""
        sweep()
        owner = os.getpid()
        place = MEMORY if size is not None and fits_memory(size) else None
        try:
            prefix = f"{PREFIX}-{_space()}-{owner}-{_started(owner) or 0}-"
            self.path = Path(tempfile.mkdtemp(prefix=prefix, dir=place))
        except OSError as error:
            raise _no_place(error) from None
        self._finalizer = weakref.finalize(self, _remove, str(self.path), owner)

    def close(self) -> None:
        """Remove it now; more than once does no harm."""
        self._finalizer()


def fits_memory(size: int) -> bool:
    """May a small folder be one of the system's in memory, as long as nobody has chosen another place (TMPDIR)?"""
    if size > SMALL or tempfile.gettempdir() != USUAL:
        return False
    try:
        found = os.statvfs(MEMORY)
    except (OSError, AttributeError):
        return False
    room = found.f_bavail * found.f_frsize
    is_usable = not found.f_flag & getattr(os, "ST_NOEXEC", 0) and os.access(MEMORY, os.W_OK | os.X_OK)
    return is_usable and room > 4 * SMALL + size


class HostFolder:
    """Where one host works, inside an owned folder. ``path``; `close` removes it."""

    def __init__(self, place: str) -> None:
        self.path = os.path.join(place, f"host-{os.getpid()}-{next(_numbers)}")
        try:
            os.mkdir(self.path, 0o700)
        except OSError as error:
            raise _no_place(error) from None

    def close(self) -> None:
        """Remove it with all that is in it; more than once does no harm."""
        try:
            os.rmdir(self.path)  # mostly it is empty
        except OSError:
            remove_folder(self.path)


def _no_place(error: OSError) -> FmuError:
    return FmuError(
        f"there can be no temporary folder for the FMU: {error}",
        hint="check permissions and free space; TMPDIR names another temporary folder",
    )


def _remove(folder: str, owner: int) -> None:
    if os.getpid() == owner:  # not in processes forked from it
        remove_folder(folder)


def remove_folder(folder: str) -> None:
    """Remove a folder with all that is in it, also what was made unwritable or very deep; never follows links."""
    with suppress(RecursionError):
        shutil.rmtree(folder, ignore_errors=True)
    if os.path.islink(folder) or os.path.isfile(folder):  # something else was put in its place
        with suppress(OSError):
            os.unlink(folder)
    elif os.path.isdir(folder):
        _remove_flat(folder)


def _remove_flat(folder: str) -> None:
    """Folders inside are moved to the top until there is none: no path becomes too long."""
    waiting, number, mark = [folder], itertools.count(), os.urandom(8).hex()
    while waiting:
        place = waiting.pop()
        with suppress(OSError):
            os.chmod(place, 0o700)
            for one in list(os.scandir(place)):
                if one.is_dir(follow_symlinks=False):
                    with suppress(OSError):
                        os.chmod(one.path, 0o700)
                    moved = os.path.join(folder, f"{mark}-{next(number)}")
                    os.rename(one.path, moved)
                    waiting.append(moved)
                else:
                    os.unlink(one.path)
        if place != folder:
            with suppress(OSError):
                os.rmdir(place)
    with suppress(OSError):
        os.rmdir(folder)


def sweep(again: bool = False) -> int:
    """Remove folders whose owners are gone; once in each process and temporary folder. Returns how many."""
    place = tempfile.gettempdir()
    return sum(_sweep(one, again) for one in ((place, MEMORY) if place == USUAL else (place,)))


def _sweep(place: str, again: bool) -> int:
    if place in _swept and not again:
        return 0
    _swept.add(place)
    beginning, removed = f"{PREFIX}-{_space()}-", 0
    try:
        names = [one for one in os.listdir(place) if one.startswith(beginning)]
    except OSError:
        return 0
    for name in names:
        parts = name[len(beginning) :].split("-")
        folder = os.path.join(place, name)
        if len(parts) < 3 or not (parts[0].isdecimal() and parts[1].isdecimal()) or not _is_ours(folder):
            continue
        if not is_alive(int(parts[0]), int(parts[1])):
            end_marked(folder)
            remove_folder(folder)
            removed += 1
    return removed


def end_marked(folder: str) -> int:
    """Kill the processes that a host in this folder, or below it, has started. Returns how many there were."""
    mark, own, ended = f"{MARK}={folder}".encode(errors="surrogateescape"), str(os.getpid()), 0
    for _ in range(ROUNDS):  # they may start others while they are being killed
        found = [pid for pid in _processes() if pid != own and _has_mark(pid, mark)]
        if not found:
            break
        for pid in found:
            with suppress(OSError):
                os.kill(int(pid), signal.SIGKILL)
                ended += 1
        time.sleep(0.002)
    return ended


def _processes() -> list[str]:
    try:
        return [one for one in os.listdir("/proc") if one.isdecimal()]
    except OSError:
        return []


def _has_mark(pid: str, mark: bytes) -> bool:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            words = file.read().split(b"\0")
    except OSError:  # another user's, or gone; a zombie's is empty
        return False
    return any(one == mark or one.startswith(mark + b"/") for one in words)


def _is_ours(folder: str) -> bool:
    """A folder, not a link, of this user."""
    try:
        status = os.lstat(folder)
    except OSError:
        return False
    return (
        os.path.isdir(folder)
        and not os.path.islink(folder)
        and (not hasattr(os, "getuid") or status.st_uid == os.getuid())
    )


def is_alive(process: int, started: int) -> bool:
    """Does a process still run that started then? Where it cannot be found out: yes."""
    if os.path.isdir("/proc/self"):
        now = _started(process)
        return now is not None and now == started
    if os.name != "posix":
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _started(process: int) -> int | None:
    """When a process started, in ticks since the computer did; None: it is gone, or that is not known here."""
    try:
        with open(f"/proc/{process}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return None
    return None if fields[0] in (b"Z", b"X") else int(fields[19])


@cache
def _space() -> str:
    """Processes of other containers have numbers of their own: their folders are left to them."""
    try:
        return str(os.stat("/proc/self/ns/pid").st_ino)
    except OSError:
        return "0"
