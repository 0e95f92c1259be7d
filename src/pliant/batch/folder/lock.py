"""One writer for the folder of a study: two would write every case twice.

The lock is the system's and belongs to the process, so that it ends with it, however it ends; workers have no part in
it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import threading
from pathlib import Path

from pliant.errors import ArgumentError

NAME = ".lock"
_held: set[str] = set()  # by this process, whose locks do not keep out its own threads
_guard = threading.Lock()


class FolderLock:
    """Held from the start until ``release``."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.key = folder, os.path.realpath(folder)
        self.file: int | None = None
        with _guard:
            if self.key in _held:
                raise self._busy()
            while not self._take():
                pass
            _held.add(self.key)

    def _take(self) -> bool:
        """False: the file was removed meanwhile, and another one counts."""
        try:
            file = os.open(self.folder / NAME, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError:  # a folder that nobody may write into says so later
            return True
        if not _locked(file):
            os.close(file)
            raise self._busy()
        try:
            is_there = os.path.samestat(os.fstat(file), os.stat(self.folder / NAME))
        except FileNotFoundError:
            is_there = False
        if is_there:
            self.file = file
        else:
            os.close(file)
        return is_there

    def _busy(self) -> ArgumentError:
        return ArgumentError(
            f"save: another study is being written into {self.folder}", hint="wait for it, or give another folder"
        )

    def release(self) -> None:
        """Others may write."""
        with _guard:
            if self.file is not None:
                with contextlib.suppress(OSError):  # Windows removes no open files
                    os.unlink(self.folder / NAME)
                os.close(self.file)
                self.file = None
            _held.discard(self.key)


def _locked(file: int) -> bool:
    """Is it ours now? Also where the file system knows no locks."""
    try:
        if os.name == "nt":
            import msvcrt

            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined, unused-ignore]
        else:
            import fcntl

            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno not in (errno.EACCES, errno.EAGAIN, errno.EDEADLK)
    return True
