"""The folder of compiled models.

A library is kept under the hash of what went in and the hash of its own bytes, `<name>-<24 digits>-<16 digits>.so`, so
that a file that was cut short or changed is noticed before the loader maps it into the process: there it would be the
end of it. Files appear by rename and are never written to again; several processes may work in one folder. Beyond the
limit those go that were not used for longest. A library that a process has loaded stays with it when its file goes.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from pliant.errors import ArgumentError, CompileError

LIMIT = 2000.0  # megabytes
STALE = 86400.0  # seconds after which a file that is being written has been given up
SIZES = ".sizes"  # a total, and what has come since it was taken
FEW = 64  # files that are looked through in no time
MOST_SIZES = 500  # lines of it, then the folder is looked through again
SUFFIX = ".dll" if sys.platform == "win32" else ".so"
_KEPT = re.compile(r".*-[0-9a-f]{24}(-[0-9a-f]{16})?\.(c|so|dll)")  # nothing else in the folder is ours
_MARKED = re.compile(rf"[0-9a-f]{{16}}\{SUFFIX}")
_PENDING = re.compile(r".*-[^-]*(\.(c|so|dll))?\.tmp")


def cache_folder() -> Path:
    """Folder of compiled models: ``PLIANT_CACHE``, or ``pliant`` in the user's cache folder."""
    chosen = os.environ.get("PLIANT_CACHE")
    if chosen:
        return Path(chosen)
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", Path.home()))
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    return base / "pliant"


def cache_limit() -> float:
    """Bytes that the folder may hold: ``PLIANT_CACHE_LIMIT`` in megabytes."""
    chosen = os.environ.get("PLIANT_CACHE_LIMIT", "").strip()
    try:
        limit = float(chosen) if chosen else LIMIT
    except ValueError:
        limit = -1.0
    if not limit >= 0.0:
        raise ArgumentError(
            f"PLIANT_CACHE_LIMIT = {chosen!r} is no size in megabytes", hint=f"set it to a number, e.g. {LIMIT:g}"
        )
    return limit * 1e6


@contextlib.contextmanager
def new_file(folder: Path, stem: str, suffix: str) -> Iterator[tuple[IO[bytes], Path]]:
    """A file under a name of its own, removed unless it was renamed."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=folder, prefix=f"{stem}-", suffix=f"{suffix}.tmp")
    except OSError as error:
        raise CompileError(
            f"cannot write to the cache folder {folder}: {error.strerror}",
            hint="set PLIANT_CACHE to a folder you may write to",
        ) from error
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream, Path(name)
    except OSError as error:
        raise CompileError(
            f"cannot write to the cache folder {folder}: {error.strerror}",
            hint="free some space, or set PLIANT_CACHE to another folder",
        ) from error
    finally:
        Path(name).unlink(missing_ok=True)


def keep_text(folder: Path, stem: str, text: str) -> Path:
    """The file with this text, written if there is none or another text stands in it."""
    content = text.encode()
    path = folder / f"{stem}-{hashlib.sha256(content).hexdigest()[:24]}.c"
    if _content(path) != content:
        with new_file(folder, stem, ".c") as (temporary, place):
            temporary.write(content)
            temporary.close()
            os.replace(place, path)
        _note_size(folder, len(content))
    return path


def find_library(folder: Path, stem: str) -> Path | None:
    """A whole library of this name; damaged ones are removed."""
    begin, names = f"{stem}-", []
    with contextlib.suppress(OSError), os.scandir(folder) as entries:  # as quick as it gets with thousands of files
        names = [entry.name for entry in entries if entry.name.startswith(begin)]
    for path in sorted(folder / name for name in names if _MARKED.fullmatch(name, len(begin))):
        content = _content(path)
        if content is not None and path.stem.endswith("-" + _mark(content)):
            _note_use(path)
            return path
        discard(path)
    return None


def keep_library(folder: Path, stem: str, place: Path) -> Path:
    """Give a new library its name, and see that the folder does not grow for ever."""
    content = place.read_bytes()
    path = folder / f"{stem}-{_mark(content)}{SUFFIX}"
    os.replace(place, path)
    _note_use(path)
    total = _note_size(folder, len(content))
    if total is None or total > cache_limit():
        clean(folder, path)
    return path


def _note_size(folder: Path, size: int) -> int | None:
    """What the folder holds with a new file of this size; None: not known. Looking through it each time takes longer
    with every file."""
    place = folder / SIZES
    try:
        with open(os.open(place, os.O_RDWR | os.O_APPEND), "r+b") as stream:  # only `clean` makes the file
            sizes = [int(line) for line in stream.read().split()]
            stream.write(b"%d\n" % size)
    except (OSError, ValueError):
        return None
    return sum(sizes) + size if 0 < len(sizes) < MOST_SIZES else None


def discard(path: Path) -> None:
    """Remove a file that is of no use."""
    with contextlib.suppress(OSError):
        path.unlink()


def clean(folder: Path, new: Path | None = None) -> None:
    """Remove what was not used for longest until the folder is within its limit; ``new`` stays."""
    limit, now = cache_limit(), time.time()
    found: list[tuple[float, int, Path]] = []
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with contextlib.suppress(OSError):  # another process was faster
                status = entry.stat(follow_symlinks=False)
                if not entry.is_file(follow_symlinks=False):
                    continue
                if _KEPT.fullmatch(entry.name):
                    found.append((max(status.st_atime, status.st_mtime), status.st_size, Path(entry.path)))
                elif _PENDING.fullmatch(entry.name) and now - status.st_mtime > STALE:
                    discard(Path(entry.path))
    total = sum(size for _, size, _ in found)
    for _, size, path in sorted(found):
        if total <= limit:
            break
        if new is None or not new.name.startswith(path.stem):  # a library begins with the name of its text
            discard(path)
            total -= size
    if len(found) < FEW:
        return
    with contextlib.suppress(CompileError), new_file(folder, SIZES, "") as (stream, place):
        stream.write(b"%d\n" % total)
        stream.close()
        os.replace(place, folder / SIZES)


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


def _mark(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def _note_use(path: Path) -> None:
    """The time of the last use, without a word about when the file was made; a folder may be read-only."""
    with contextlib.suppress(OSError):
        os.utime(path, ns=(time.time_ns(), path.stat().st_mtime_ns))
