"""Calls the C compiler and keeps what it made, by content.

The cache key is the preprocessed text, the flags and the compiler's version, so an edited header or another compiler
never meets an old library. Files appear by rename: parallel processes may compile the same model,
none sees half a file.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import IO

from pliant.errors import CompileError

FLAGS = ("-std=c99", "-O2", "-fPIC", "-ffp-contract=off")
LARGE = 2_000_000  # characters of generated text from which on compiling quickly matters more
LARGE_FLAGS = ("-std=c99", "-O1", "-fPIC", "-ffp-contract=off")
# gcc searches every store for later ones that make it superfluous, and every load for the store it reads: half the time
# for long functions that fill arrays, with nothing to find
GCC_LARGE_FLAGS = ("-fno-tree-dse", "-fno-dse", "--param", "sccvn-max-alias-queries-per-access=10")


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


@cache
def find_compiler() -> tuple[str, ...]:
    """The C compiler to call: ``CC``, else cc, gcc or clang on the path, else the ``ziglang`` wheel."""
    chosen = os.environ.get("CC", "").split()
    if chosen and shutil.which(chosen[0]):
        return tuple(chosen)
    for name in ("cc", "gcc", "clang"):
        if shutil.which(name):
            return (name,)
    try:
        import ziglang  # type: ignore[import-not-found,unused-ignore]  # noqa: F401
    except ImportError:
        raise CompileError(
            "no C compiler was found (looked for $CC, cc, gcc, clang and the ziglang package)",
            hint="install one, e.g. `apt install gcc` or `pip install pliant[cross]`",
        ) from None
    return (sys.executable, "-m", "ziglang", "cc")


@cache
def _version(compiler: tuple[str, ...]) -> bytes:
    return subprocess.run([*compiler, "--version"], capture_output=True, check=False).stdout


def _large_flags() -> tuple[str, ...]:
    """Flags for a large text; other compilers than gcc do not know all of its options."""
    is_gcc = b"Free Software Foundation" in _version(find_compiler())
    return (*LARGE_FLAGS, *GCC_LARGE_FLAGS) if is_gcc else LARGE_FLAGS


def _call(command: Sequence[str], what: str) -> bytes:
    try:
        done = subprocess.run(command, capture_output=True, check=False)
    except OSError as error:
        raise CompileError(f"the C compiler could not be started: {error}", hint="check $CC") from error
    if done.returncode != 0:
        text = done.stderr.decode(errors="replace").strip()
        raise CompileError(
            f"the C compiler refuses {what}:\n{text}", hint="correct the C text at the lines named above"
        )
    return done.stdout


def compile_text(
    text: str, name: str, *, include: Sequence[Path] = (), flags: Sequence[str] | None = None
) -> tuple[Path, str]:
    """Compile C text, kept beside its library in the cache for people to read; ``flags`` replace the usual ones."""
    stem = re.sub(r"[^A-Za-z0-9]+", "_", name)[:60] or "model"
    folder = cache_folder()
    source = folder / f"{stem}-{hashlib.sha256(text.encode()).hexdigest()[:24]}.c"
    if not source.is_file() or source.stat().st_size != len(text.encode()):
        with _new_file(folder, stem, ".c") as (temporary, place):
            temporary.write(text.encode())
            temporary.close()
            os.replace(place, source)
    chosen = flags if flags is not None else _large_flags() if len(text) > LARGE else FLAGS
    return compile_library(source, include=include, flags=chosen)


@contextlib.contextmanager
def _new_file(folder: Path, stem: str, suffix: str) -> Iterator[tuple[IO[bytes], Path]]:
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


def compile_library(
    source: Path,
    *,
    include: Sequence[Path] = (),
    defines: Mapping[str, object] | None = None,
    flags: Sequence[str] = FLAGS,
) -> tuple[Path, str]:
    """Compile one C file into a shared library; returns its path and the hash of everything that went in.

    >>> path, digest = compile_library(Path("model.c"))                     # doctest: +SKIP
    """
    if not source.is_file():
        raise CompileError(f"there is no file {source}", hint="check the path")
    compiler = find_compiler()
    arguments = [*flags, *(f"-I{folder}" for folder in include)]
    arguments += [f"-D{name}={value}" for name, value in (defines or {}).items()]
    text = _call([*compiler, *arguments, "-E", "-P", str(source)], source.name)
    digest = hashlib.sha256(b"\0".join((text, " ".join((*compiler, *flags)).encode(), _version(compiler)))).hexdigest()
    suffix = ".dll" if sys.platform == "win32" else ".so"
    folder = cache_folder()
    target = folder / f"{source.stem}-{digest[:24]}{suffix}"
    if not target.is_file():
        with _new_file(folder, source.stem, suffix) as (_, place):
            _call([*compiler, *arguments, "-shared", "-o", str(place), str(source), "-lm"], source.name)
            os.replace(place, target)
    return target, digest
