"""Compiles the binaries of an exported FMU: for this machine with its C compiler, for others with ziglang.

What does not depend on the model is compiled once for each platform and kept in the cache: the functions of the
standard as objects, and the runtime as an archive, of which a model links what it uses.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform as machine
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pliant.compiling.cache import SUFFIX, cache_folder, find_library, keep_library, new_file
from pliant.compiling.compiler import INSTALL, find_compiler, is_optimized
from pliant.errors import ArgumentError, CompileError
from pliant.export.sources import CORE, PARTS, SourceSet, source_folder
from pliant.export.windows import FLAGS as WINDOWS_FLAGS
from pliant.export.windows import START, import_libraries

FLAGS = (
    *("-std=c99", "-O2", "-ffp-contract=off", "-fvisibility=hidden", "-ffunction-sections", "-fdata-sections"),
    "-fno-asynchronous-unwind-tables",
)
PLAIN = ("-g0", "-fno-sanitize=undefined", "-fno-stack-protector")  # zig adds all this, and a library for it
COLD = ("start", "least_norm", "plan", "order", "colour", "pattern", "simulation", "export", "lu_sparse_tree")  # not in
# the steps: made small
_compiling = threading.Lock()  # several threads would compile the same runtime
LARGE = 2_000_000  # characters of text from which on compiling quickly matters more


@dataclass(frozen=True)
class Platform:
    """One that a binary can be made for."""

    name: str  # as FMI 3 calls it
    fmi2: str  # as FMI 2 does; "": it has no name for it
    suffix: str
    triple: str  # as zig does

    def folder(self, version: str) -> str:
        """Of its binary in an FMU."""
        return self.fmi2 if version == "2.0" else self.name


PLATFORMS = {
    one.name: one
    for one in (
        Platform("x86_64-linux", "linux64", ".so", "x86_64-linux-gnu.2.17"),
        Platform("x86_64-windows", "win64", ".dll", "x86_64-windows-gnu"),
        Platform("x86_64-darwin", "darwin64", ".dylib", "x86_64-macos"),
        Platform("aarch64-linux", "", ".so", "aarch64-linux-gnu.2.17"),
        Platform("aarch64-darwin", "", ".dylib", "aarch64-macos"),
    )
}


def this_platform() -> str:
    """The machine that runs this."""
    processor = {"amd64": "x86_64", "arm64": "aarch64"}.get(machine.machine().lower(), machine.machine().lower())
    system = {"win32": "windows", "darwin": "darwin"}.get(sys.platform, "linux")
    return f"{processor}-{system}"


def check_platforms(platforms: Sequence[str] | None, version: str) -> list[Platform]:
    """The platforms asked for, or the first that is not possible as an error."""
    if platforms is None:
        names = [this_platform()]
    elif isinstance(platforms, str) or not all(isinstance(one, str) for one in platforms):
        raise ArgumentError(
            f"platforms must be a list of names, not {platforms!r}", hint=f"e.g. platforms=[{next(iter(PLATFORMS))!r}]"
        )
    else:
        names = list(dict.fromkeys(platforms))
    for name in names:
        if name not in PLATFORMS:
            raise ArgumentError(f"there is no platform {name!r}", hint=f"there are {', '.join(PLATFORMS)}")
        if version == "2.0" and not PLATFORMS[name].fmi2:
            raise ArgumentError(
                f"FMI 2.0 has no place for binaries of the platform {name}", hint='use version="3.0" for it'
            )
    if not names:
        raise ArgumentError("platforms is empty", hint="None for this machine, or a list of names")
    compilers = [_compiler(PLATFORMS[name]) for name in names]  # all of them before anything is made
    assert compilers
    return [PLATFORMS[name] for name in names]


def _compiler(target: Platform) -> tuple[str, ...]:
    """The command that compiles for a platform."""
    if target.name == this_platform():
        return find_compiler()
    try:
        import ziglang  # type: ignore[import-not-found,unused-ignore]  # noqa: F401
    except ImportError:
        raise CompileError(
            f"there is no cross compiler for {target.name}: the package ziglang is not installed",
            hint="pip install pliant[cross]",
        ) from None
    return (sys.executable, "-m", "ziglang", "cc", "-target", target.triple)


def _archiver(target: Platform) -> tuple[str, ...]:
    compiler = _compiler(target)
    if "ziglang" in compiler:
        return (sys.executable, "-m", "ziglang", "ar")
    return ("ar",) if shutil.which("ar") else ()


def _call(command: Sequence[str], what: str, folder: Path) -> None:
    try:
        done = subprocess.run(command, capture_output=True, check=False, cwd=folder)
    except OSError as error:
        raise CompileError(f"the C compiler could not be started: {error}", hint=INSTALL) from error
    if done.returncode != 0:
        text = done.stderr.decode(errors="replace").strip()
        raise CompileError(
            f"the C compiler refuses {what}:\n{text[:4000]}", hint="try another C compiler, named in $CC"
        )


def _compile(target: Platform, files: Sequence[Path], folder: Path, include: Sequence[Path]) -> list[Path]:
    """Object files, two at a time."""
    flags = [*FLAGS, *([] if target.suffix == ".dll" else ["-fPIC"]), *(f"-I{one}" for one in include)]
    if "ziglang" in _compiler(target):
        flags += PLAIN

    def one(file: Path) -> Path:
        made = folder / f"{file.stem}.o"
        level = "-Os" if file.name.startswith(COLD) else "-O1" if file.stat().st_size > LARGE else "-O2"
        chosen = [(level if is_optimized() else "-O0") if flag == "-O2" else flag for flag in flags]
        _call([*_compiler(target), *chosen, "-c", str(file), "-o", str(made)], file.name, folder)
        return made

    with ThreadPoolExecutor(max(1, min(4, os.cpu_count() or 1))) as pool:
        return list(pool.map(one, files))


def _runtime(target: Platform, sources: SourceSet, folder: Path) -> list[Path]:
    """All of the runtime as an archive, from the cache if it is there; without an archiver what the model needs."""
    top = source_folder()
    include = [top / name for name in ("include", "src", "export", "fmi")]
    archiver = _archiver(target)
    if not archiver:
        return _compile(target, list(sources.runtime.values()), folder, include)
    names = {*CORE, *(name for part in PARTS.values() for name in part)}
    files = [top / "src" / f"{name}.c" for name in sorted(names)]
    with _compiling:

        def make(place: Path) -> None:
            archive = folder / "libruntime.a"
            objects = _compile(target, files, folder, include)
            _call([*archiver, "rcs", str(archive), *map(str, objects)], "the runtime", folder)
            shutil.copyfile(archive, place)

        return [_kept(target, "runtime", files, folder / "libruntime_kept.a", make)]


def _shell(target: Platform, files: Sequence[Path], folder: Path) -> list[Path]:
    """The objects of the standard's functions, which are the same in every FMU, from the cache if they are there."""
    top = source_folder()
    include = [top / name for name in ("include", "src", "export", "fmi")]
    with _compiling:

        def one(file: Path) -> Path:
            def make(place: Path) -> None:
                shutil.copyfile(_compile(target, [file], folder, include)[0], place)

            return _kept(target, file.stem, [file], folder / f"{file.stem}_kept.o", make)

        with ThreadPoolExecutor(max(1, min(4, os.cpu_count() or 1))) as pool:
            return list(pool.map(one, files))


def _kept(target: Platform, name: str, files: Sequence[Path], copy: Path, make: Callable[[Path], None]) -> Path:
    """A copy of what was made of these files, now or before: the cache may be tidied meanwhile."""
    texts = [file.read_bytes() for file in (*files, *sorted(source_folder().glob("*/*.h")))]
    version = _version(tuple(_compiler(target)[:4]))
    words = " ".join((target.name, *FLAGS, *PLAIN, *COLD, *([] if is_optimized() else ["-O0"]))).encode()
    key = hashlib.sha256(b"\0".join([*texts, version, words])).hexdigest()
    where, stem = cache_folder(), f"{name}-{target.name}-{key[:24]}"
    found = find_library(where, stem)
    if found is None:
        with new_file(where, stem, SUFFIX) as (_, place):
            make(place)
            found = keep_library(where, stem, place)
    shutil.copyfile(found, copy)
    return copy


@cache
def _version(compiler: tuple[str, ...]) -> bytes:
    return subprocess.run([*compiler, "--version"], capture_output=True, check=False).stdout


def _link_flags(target: Platform) -> list[str]:
    if target.suffix == ".dylib":
        return ["-Wl,-dead_strip"]
    if target.suffix == ".dll":
        return ["-Wl,--gc-sections", "-s"]
    dense = [] if "ziglang" in _compiler(target) else ["-Wl,-z,noseparate-code"]  # zig's linker does not know it
    return ["-Wl,--gc-sections", "-Wl,-Bsymbolic", "-Wl,-z,defs", *dense, "-s", "-lm"]


def build(target: Platform, text: str, sources: SourceSet, identifier: str) -> bytes:
    """The binary of a model for one platform."""
    top = source_folder()
    include = [top / name for name in ("include", "src", "export", "fmi")]
    with tempfile.TemporaryDirectory(prefix="pliant-") as name:
        folder = Path(name)
        model = folder / "model.c"
        model.write_text(text, encoding="utf-8")
        runtime = _runtime(target, sources, folder)
        objects = [*_compile(target, [model], folder, include), *_shell(target, list(sources.shell.values()), folder)]
        made = folder / f"{identifier}{target.suffix}"
        _link(target, [*objects, *runtime], made, folder)
        return made.read_bytes()


def _link(target: Platform, files: Sequence[Path], made: Path, folder: Path) -> None:
    """For Windows with what Windows has; a model that calls more than that gets the library of the compiler, too."""
    what = f"the binary for {target.name}"
    command = [*_compiler(target), "-shared", "-o", str(made), *map(str, files)]
    if target.suffix == ".dll" and "ziglang" in command:
        start = _compile(target, [source_folder() / "export" / "windows" / START], folder, [])
        libraries = import_libraries(folder, _call, (sys.executable, "-m", "ziglang", "dlltool"))
        with contextlib.suppress(CompileError):
            _call([*command, *map(str, (*start, *libraries)), *WINDOWS_FLAGS, *_link_flags(target)], what, folder)
            return
    _call([*command, *_link_flags(target)], what, folder)
