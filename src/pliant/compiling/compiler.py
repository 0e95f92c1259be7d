"""Calls the C compiler, keeps what it made by content, and loads it.

The cache key is the preprocessed text (of generated text: the text and pliant's headers), the flags and the compiler's
version, so an edited header or another compiler never meets an old library. The folder itself is described in
cache.py.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
import shutil
import subprocess
import sys
import threading
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pliant.compiling.cache import SUFFIX, cache_folder, discard, find_library, keep_library, keep_text, new_file
from pliant.errors import ArgumentError, CompileError

FLAGS = ("-std=c99", "-O2", "-fPIC", "-ffp-contract=off")
INSTALL = "install one (Debian: apt install gcc), or set CC to one that is there"
ATTEMPTS = 4  # to get a library that stays until it is loaded
MEDIUM = 500_000  # characters of generated text from which on searches that find nothing are left out
LARGE = 2_000_000  # ... and from which on compiling quickly matters more
LARGE_FLAGS = ("-std=c99", "-O1", "-fPIC", "-ffp-contract=off")
# for development and tests: a third of the time for models of some size, which then run several times slower
QUICK_FLAGS = ("-std=c99", "-O0", "-DPL_QUICK", "-fPIC", "-ffp-contract=off")
QUICK_LINKER = ("-fuse-ld=gold", "-nostdlib", "-Wl,-soname,pliant_model")
# gcc searches every store for later ones that make it superfluous, and every load for the store it reads: half the time
# for long functions that fill arrays, with nothing to find
GCC_LARGE_FLAGS = ("-fno-tree-dse", "-fno-dse", "--param", "sccvn-max-alias-queries-per-access=10")
# joining neighbouring statements into vectors: a tenth of the time, and the same instructions come out
GCC_MEDIUM_FLAGS = ("-fno-tree-slp-vectorize", "-fno-tree-dse")


_making: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)  # threads that want the same library wait
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_making.clear)  # their holders are not in the child


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


def is_optimized() -> bool:
    """Whether generated code is to be quick to run rather than quick to compile: ``PLIANT_OPTIMIZE``, 1 or 0."""
    chosen = os.environ.get("PLIANT_OPTIMIZE", "").strip()
    if chosen not in ("", "0", "1"):
        raise ArgumentError(f"PLIANT_OPTIMIZE = {chosen!r} is neither 0 nor 1", hint="0 compiles quickly; leave it out")
    return chosen != "0"


def quick_linker() -> tuple[str, ...]:
    """Options of the compiler that is called, see `_quick_linker`."""
    return _quick_linker(find_compiler())


@cache
def _quick_linker(compiler: tuple[str, ...]) -> tuple[str, ...]:
    """gold, where gcc has it, without the parts of programs that a library of plain functions does not need: of the
    time that compiling and linking take it saves 2 % for a small model (94 -> 92 ms), 16 % for the step of a small plan
    (73 -> 61 ms). Functions of the C library are those of the process. With a name of its own a library does not depend
    on that of its file, which differs each time."""
    is_gcc = b"Free Software Foundation" in _version(compiler)
    return QUICK_LINKER if is_gcc and shutil.which("ld.gold") else ()


def flags_for(size: int) -> tuple[str, ...]:
    """Flags for a text of so many characters; other compilers than gcc do not know all of its options."""
    if not is_optimized():
        return (*QUICK_FLAGS, *quick_linker())
    if size <= MEDIUM:
        return FLAGS
    is_gcc = b"Free Software Foundation" in _version(find_compiler())
    if size <= LARGE:
        return (*FLAGS, *GCC_MEDIUM_FLAGS) if is_gcc else FLAGS
    return (*LARGE_FLAGS, *GCC_LARGE_FLAGS) if is_gcc else LARGE_FLAGS


def _call(command: Sequence[str], what: str) -> bytes:
    try:
        done = subprocess.run(command, capture_output=True, check=False)
    except OSError as error:
        raise CompileError(f"the C compiler could not be started: {error}", hint=INSTALL) from error
    if done.returncode != 0:
        text = done.stderr.decode(errors="replace").strip()
        if "No space left on device" in text:
            raise CompileError(
                f"there is no space for the library of {what} in {cache_folder()}",
                hint="free some space, or set PLIANT_CACHE to another folder",
            )
        raise CompileError(
            f"the C compiler refuses {what}:\n{text}", hint="correct the C text at the lines named above"
        )
    return done.stdout


@dataclass(frozen=True)
class Loaded:
    """A library in this process, the file it came from, and the hash of everything that went in."""

    library: ctypes.CDLL
    path: Path
    digest: str
    text: bytes  # preprocessed: all that it takes to compile it again

    @property
    def stem(self) -> str:
        """The name under which the cache keeps it."""
        return self.path.stem.rpartition("-")[0]


def load_again(name: str, digest: str, text: bytes) -> ctypes.CDLL:
    """What `load_library` gave once, maybe in another process: from the cache, or compiled from its text."""
    return load_kept(f"{name}-{digest[:24]}") or load_text(text.decode(), name, flags=FLAGS).library


def load_kept(stem: str) -> ctypes.CDLL | None:
    """The library of this name if the cache has it: no compiler is needed."""
    path = find_library(cache_folder(), stem)
    if path is not None:
        try:
            return ctypes.CDLL(str(path))
        except OSError:  # removed by another process meanwhile, or of another machine
            discard(path)
    return None


def load_text(
    text: str,
    name: str,
    *,
    include: Sequence[Path] = (),
    flags: Sequence[str] | None = None,
    link: Sequence[Path] = (),
) -> Loaded:
    """Compile C text, kept beside its library in the cache for people to read.

    ``flags`` replace the usual ones; ``link``: libraries that it calls, which are named by their content.
    """
    stem = re.sub(r"[^A-Za-z0-9]+", "_", name)[:60] or "model"
    chosen = flags_for(len(text)) if flags is None else flags
    for _ in range(ATTEMPTS):
        source = keep_text(cache_folder(), stem, text)
        arguments = [*chosen, *(f"-I{folder}" for folder in include)]
        try:
            return _load(source, arguments, chosen, text.encode() + _headers(include), link)
        except CompileError:
            if source.is_file():
                raise  # else another process tidied the folder meanwhile
    raise _no_peace(name)


def load_library(
    source: Path,
    *,
    include: Sequence[Path] = (),
    defines: Mapping[str, object] | None = None,
    flags: Sequence[str] = FLAGS,
) -> Loaded:
    """Compile one C file into a shared library, unless the cache has it, and load it.

    >>> found = load_library(Path("model.c"))                               # doctest: +SKIP
    """
    if not source.is_file():
        raise CompileError(f"there is no file {source}", hint="check the path")
    arguments = [*flags, *(f"-I{folder}" for folder in include)]
    arguments += [f"-D{name}={value}" for name, value in (defines or {}).items()]
    text = _call([*find_compiler(), *arguments, "-E", "-P", str(source)], source.name)
    return _load(source, arguments, flags, text)


def _headers(folders: Sequence[Path]) -> bytes:
    """What generated text includes besides the C library: it need not be preprocessed to be recognised."""
    files = [file for folder in folders for file in sorted(folder.glob("*.h"))]
    return b"".join(_digest(file, file.stat().st_mtime_ns) for file in files)


@cache
def _digest(file: Path, _changed: int) -> bytes:
    return hashlib.sha256(file.read_bytes()).digest()


def build_shared(
    name: str,
    sources: Sequence[Path],
    arguments: Sequence[str],
    content: bytes,
    link: Sequence[str] = (),
    kind: str = "-shared",
) -> tuple[Path, bool]:
    """A shared library of C files, or with ``kind`` "-c" an object file, and whether it was made now or before.

    ``content`` is everything that decides what comes out: the texts of the sources and what they include.
    """
    compiler = find_compiler()
    key = b"\0".join((content, " ".join((*compiler, kind, *arguments, *link)).encode(), _version(compiler)))
    folder, stem = cache_folder(), f"{name}-{hashlib.sha256(key).hexdigest()[:24]}"
    with _making[stem]:
        path = find_library(folder, stem)
        if path is not None:
            return path, False
        with new_file(folder, name, SUFFIX) as (_, place):
            last = [*link, "-lm"] if kind == "-shared" else []
            _call([*compiler, *arguments, kind, "-o", str(place), *map(str, sources), *last], name)
            return keep_library(folder, stem, place), True


def _load(
    source: Path, arguments: Sequence[str], flags: Sequence[str], text: bytes, link: Sequence[Path] = ()
) -> Loaded:
    """The library of a text from the cache, or compiled now."""
    compiler = find_compiler()
    words = (*compiler, *flags, *(one.stem for one in link))
    digest = hashlib.sha256(b"\0".join((text, " ".join(words).encode(), _version(compiler)))).hexdigest()
    folder, stem = cache_folder(), f"{source.stem}-{digest[:24]}"
    for attempt in range(ATTEMPTS):
        with _making[stem]:
            path = find_library(folder, stem)
            if path is None:
                last = [str(source), *map(str, link), "-lm"]
                with new_file(folder, source.stem, SUFFIX) as (_, place):
                    _call([*compiler, *arguments, "-shared", "-o", str(place), *last], source.name)
                    path = keep_library(folder, stem, place)
        try:
            return Loaded(ctypes.CDLL(str(path)), path, digest, text)
        except OSError as error:  # removed by another process meanwhile, or of another machine
            discard(path)
            if attempt == ATTEMPTS - 1:
                raise CompileError(
                    f"the library of {source.name} cannot be loaded: {error}",
                    hint="set PLIANT_CACHE to a folder on a disk from which programs may be run",
                ) from error
    raise _no_peace(source.name)


def build_program(source: Path) -> Path:
    """A program of one C file, unless the cache has it. It may load libraries."""
    if not source.is_file():
        raise CompileError(f"there is no file {source}", hint="install the package again")
    compiler, flags = find_compiler(), ("-std=c99", "-O2")
    key = b"\0".join((source.read_bytes(), " ".join((*compiler, *flags)).encode(), _version(compiler)))
    folder, stem = cache_folder(), f"{source.stem}-{hashlib.sha256(key).hexdigest()[:24]}"
    path = find_library(folder, stem)
    if path is None:
        libraries = () if sys.platform == "win32" else ("-ldl",)
        with new_file(folder, source.stem, SUFFIX) as (stream, place):
            stream.close()  # a file that is open for writing cannot be run
            _call([*compiler, *flags, "-o", str(place), str(source), *libraries], source.name)
            path = keep_library(folder, stem, place)
    return path


def _no_peace(name: str) -> CompileError:
    return CompileError(
        f"the library of {name} disappears from the cache folder {cache_folder()} as soon as it is made",
        hint="set PLIANT_CACHE to another folder, or PLIANT_CACHE_LIMIT to more megabytes",
    )
