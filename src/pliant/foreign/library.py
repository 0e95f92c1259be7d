"""External functions compiled and loaded: one library of wrappers, over libraries of the C files that they need."""

from __future__ import annotations

import ctypes
import math
import re
import subprocess
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from pliant.compiling.cache import cache_folder, keep_text
from pliant.compiling.compiler import build_program, build_shared
from pliant.compiling.folders import runtime_folder
from pliant.errors import CompileError, ModelError
from pliant.foreign.calls import CSignature
from pliant.foreign.lapack import address_of
from pliant.foreign.messages import tell
from pliant.foreign.sources import content_of, needed_code, neighbours_with
from pliant.foreign.wrapper import LAPACK, TABLE, is_lapack, unit_text

FLAGS = ("-std=gnu11", "-O1", "-fPIC", "-w")
STRICT = "-Werror=implicit-function-declaration"
DEFINES = (
    *("-DNDEBUG", "-DHAVE_UNISTD_H", "-DHAVE_STDARG_H", "-DHAVE_MEMCPY", "-DHAVE_ZLIB=1"),
    *("-DTABLE_SHARE=1", "-DDUMMY_FUNCTION_USERTAB"),
)  # as the standard library's own build files
NO_UNDEFINED = "-Wl,--no-undefined"
LARGE = 400_000  # bytes of a C file that is compiled quickly
TRY_SECONDS = 60.0
_UNDECLARED = re.compile(r"implicit declaration of function [`'‘\"](\w+)")
_UNDEFINED = re.compile(r"undefined reference to [`'‘\"](\w+)")
_HEARD = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_double, ctypes.c_char_p)
_building = threading.Lock()
_known: dict[tuple[CSignature, ...], ForeignLibrary] = {}


@dataclass(frozen=True, eq=False)
class ForeignLibrary:
    """Wrappers of functions in the order in which they were asked for."""

    path: Path
    library: ctypes.CDLL

    @property
    def link(self) -> list[Path]:
        """What a library that calls these functions is linked with."""
        return [self.path, utilities()[0]]

    def address(self, k: int) -> int:
        """Of wrapper number k."""
        table = (ctypes.c_void_p * (k + 1)).in_dll(self.library, TABLE)
        return int(table[k] or 0)


def foreign_library(signatures: Sequence[CSignature]) -> ForeignLibrary:
    """Compile what is needed, unless the cache has it, and load it into this process."""
    key = tuple(signatures)
    with _building:
        found = _known.get(key)
        if found is None or not found.path.exists():
            found = _known[key] = _build(key)
    return found


def folder() -> Path:
    """Headers and sources of what external functions call."""
    return runtime_folder() / "foreign"


@cache
def _utilities(_cache: Path) -> tuple[Path, ctypes.CDLL]:
    source = folder() / "pliant_foreign.c"
    arguments = ["-std=gnu11", "-O2", "-fPIC", f"-I{folder()}"]
    path, _ = build_shared("pliant_foreign", [source], arguments, content_of([source], [folder()]))
    library = ctypes.CDLL(str(path))
    library.pl_foreign_listen(_listener)
    return path, library


def utilities() -> tuple[Path, ctypes.CDLL]:
    """What external functions call: messages, errors, strings; and the table of objects."""
    path, library = _utilities(cache_folder())
    if not path.exists():
        _utilities.cache_clear()
        path, library = _utilities(cache_folder())
    return path, library


def _heard(kind: int, time: float, text: bytes) -> None:
    tell(time, "warning" if kind else "ok", "external", text.decode(errors="replace").rstrip("\n"))


_listener = _HEARD(_heard)


def _build(signatures: tuple[CSignature, ...]) -> ForeignLibrary:
    try:
        path = _compiled(signatures)
    except CompileError as error:
        raise _refused(signatures, error.message) from None
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        raise ModelError(
            f"the code of {_names(signatures)} cannot be loaded: {error}",
            hint="check the annotations Library and LibraryDirectory",
        ) from None
    lapack = list(dict.fromkeys(one.symbol for one in signatures if is_lapack(one)))
    if lapack:
        table = (ctypes.c_void_p * len(lapack)).in_dll(library, LAPACK)
        for k, name in enumerate(lapack):
            table[k] = address_of(name)
    return ForeignLibrary(path, library)


def _refused(signatures: Sequence[CSignature], said: str) -> CompileError:
    """Which code failed, and why."""
    guilty = [one for one in signatures if one.symbol in said] or signatures
    missing = [one for one in dict.fromkeys(_UNDEFINED.findall(said)) if one in {two.symbol for two in guilty}]
    if missing:
        guilty = [one for one in guilty if one.symbol in missing]
        said = f"{', '.join(f'`{one}`' for one in missing)} is defined nowhere"
    plural = "s" if len({one.name for one in guilty}) > 1 else ""
    return CompileError(
        f"the external function{plural} {_names(guilty)} cannot be used: {said}",
        hint="correct the C text, or the annotations Include and Library that name it",
    )


def _names(signatures: Sequence[CSignature]) -> str:
    return ", ".join(dict.fromkeys(f"`{one.name}`" for one in signatures))


def _compiled(signatures: tuple[CSignature, ...]) -> Path:
    """Path of the wrappers' library; new ones are loaded in a process of their own first."""
    needed = needed_code(signatures)
    base, _ = utilities()
    headers = [*(f"-I{one}" for one in needed.folders), f"-I{folder()}"]
    folders = [*needed.folders, folder()]
    link = [str(base)]
    for files in needed.sources:
        link.append(str(_compiled_sources(files, folders, headers, [link[0], *needed.link])))
    undeclared: frozenset[str] = frozenset()
    for _ in range(len(signatures) + 1):
        text = unit_text(signatures, undeclared)
        source = keep_text(cache_folder(), "foreign", text)
        try:
            content = text.encode() + content_of((), folders)
            all_link = [*link[1:], *needed.link, link[0], NO_UNDEFINED]
            path, is_new = build_shared("foreign", [source], [*FLAGS, STRICT, *headers], content, all_link)
            break
        except CompileError as error:
            missing = {one.symbol for one in signatures} & set(_UNDECLARED.findall(error.message)) - undeclared
            if not missing:
                raise
            undeclared |= missing
    if is_new:
        _try(path, "the library")
    return path


def _compiled_sources(
    files: tuple[Path, ...], folders: Sequence[Path], headers: Sequence[str], link: Sequence[str]
) -> Path:
    """A library of C files; what turns out to be missing is looked for in the files beside them."""
    stem = re.sub(r"\W+", "_", files[0].stem)[:40]
    while True:
        objects = [_object(file, folders, headers) for file in files]
        content = "\n".join(one.name for one in objects).encode()
        try:
            path, is_new = build_shared(stem, objects, [], content, [*link, "-lpthread", NO_UNDEFINED])
        except CompileError as error:
            more = neighbours_with(files, _UNDEFINED.findall(error.message))
            if not more:
                raise
            files = tuple(sorted({*files, *more}))
            continue
        if is_new:
            _try(path, stem)
        return path


def _object(file: Path, folders: Sequence[Path], headers: Sequence[str]) -> Path:
    """One C file, compiled."""
    quick = ("-O0",) if file.stat().st_size > LARGE else ()  # reads files: called seldom
    stem = re.sub(r"\W+", "_", file.stem)[:40]
    content = content_of([file], [file.parent, *folders])
    return build_shared(stem, [file], [*FLAGS, *quick, *DEFINES, *headers], content, kind="-c")[0]


def _try(path: Path, name: str) -> None:
    """Code that runs while it is loaded may crash."""
    program = build_program(folder() / "pliant_try_load.c")
    try:
        done = subprocess.run([str(program), str(path)], capture_output=True, check=False, timeout=TRY_SECONDS)
    except subprocess.TimeoutExpired:
        path.unlink(missing_ok=True)
        raise CompileError(f"{name} does not end loading", hint="check code that runs when it is loaded") from None
    if done.returncode == 0:
        return
    path.unlink(missing_ok=True)
    text = done.stderr.decode(errors="replace").strip()
    if done.returncode == 1:
        raise CompileError(f"{name} cannot be loaded: {text}", hint="check the annotation Library")
    raise CompileError(
        f"{name} crashes while it is loaded (signal {-done.returncode})", hint="check code that runs when it is loaded"
    )


class ForeignDataStruct(ctypes.Structure):
    """pl_foreign_data: what a wrapper is given and gives."""

    _fields_ = (
        ("in_", ctypes.c_void_p),
        ("text", ctypes.c_void_p),
        ("object", ctypes.c_void_p),
        ("out", ctypes.c_void_p),
        ("text_out", ctypes.c_void_p),
        ("made", ctypes.c_void_p),
        ("time", ctypes.c_double),
    )


def call_wrapper(
    address: int, numbers: Any, texts: Sequence[str], objects: Sequence[int | None], out: Any, n_texts: int
) -> tuple[list[str], str | None]:
    """Call a wrapper; the strings that it gives, and the text of its error."""
    _, base = utilities()
    data = ForeignDataStruct()
    given = (ctypes.c_char_p * (len(texts) + 1))(*(one.encode() for one in texts))
    things = (ctypes.c_void_p * (len(objects) + 1))(*objects)
    results = (ctypes.c_char_p * (n_texts + 1))()
    said = ctypes.create_string_buffer(2000)
    data.in_, data.out, data.time = numbers.ctypes.data, out.ctypes.data, math.nan
    data.text, data.object = ctypes.addressof(given), ctypes.addressof(things)
    data.text_out = ctypes.addressof(results)
    fine = base.pl_foreign_call(ctypes.c_void_p(address), ctypes.byref(data), said, ctypes.c_size_t(len(said)))
    found = [(one or b"").decode(errors="replace") for one in results[:n_texts]] if fine else []
    base.pl_foreign_release()
    return found, None if fine else said.value.decode(errors="replace")
