"""Where the code of an external function is: libraries and C files in the resources of the library that declares it.

A library that an annotation names is, in this order: C files of that name in the source folder (``Name*.c``, or a
folder ``Name``), the C file there that defines the function, a compiled library in the library folder, one of the
system. A C file that includes the header of its neighbour needs its neighbour.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pliant.foreign.calls import CSignature
from pliant.foreign.wrapper import is_lapack

_PLATFORM = {"win32": "win64", "darwin": "darwin64"}.get(sys.platform, "linux64")
_INCLUDED = re.compile(r'^[ \t]*#[ \t]*include[ \t]*["<]([^">\n]+)[">]', re.MULTILINE)


@dataclass(frozen=True)
class NeededCode:
    """Files to compile, in one library for each set of names, and compiled libraries to link."""

    sources: tuple[tuple[Path, ...], ...] = ()
    folders: tuple[Path, ...] = ()  # of headers
    link: tuple[str, ...] = ()


def needed_code(signatures: Iterable[CSignature]) -> NeededCode:
    """Everything that these functions need."""
    sources: list[tuple[Path, ...]] = []
    folders: list[Path] = []
    link: list[str] = []
    for one in signatures:
        _add(folders, [Path(one.include_folder), Path(one.source_folder)] if one.include_folder else [])
        if is_lapack(one):
            continue
        files: list[Path] = []
        for name in one.libraries:
            found = _sources_of(name, one)
            if found:
                _add(files, found)
                _add(folders, [file.parent for file in found])
            else:
                _add(link, _compiled(name, one))
        if files:
            closed = tuple(sorted(_with_neighbours(files)))
            _add(sources, [closed])
    return NeededCode(tuple(sources), tuple(one for one in folders if one.is_dir()), tuple(link))


def _add(to: list, new: Sequence) -> None:  # type: ignore[type-arg]
    to.extend(one for one in dict.fromkeys(new) if one not in to)


def _source_folders(one: CSignature) -> list[Path]:
    found = [Path(one.source_folder)] if one.source_folder else []
    if one.include_folder:
        include = Path(one.include_folder)
        found += [include, include.parent / "C-Sources", include.parent / "Source"]
    return [folder for folder in dict.fromkeys(found) if folder.is_dir()]


def _sources_of(name: str, one: CSignature) -> list[Path]:
    """C files of a library."""
    for folder in _source_folders(one):
        found = sorted(folder.glob(f"{_literal(name)}*.c"))
        if found:
            return found
        if (folder / name).is_dir():
            found = sorted((folder / name).glob("*.c"))
            if found:
                return found
    for folder in _source_folders(one):
        for file in sorted(folder.glob("*.c")):
            if one.symbol in _defined(file, file.stat().st_mtime_ns):
                return [file]
    return []


def _literal(text: str) -> str:
    return re.sub(r"([*?\[])", r"[\1]", text)


_DEFINITION = re.compile(r"^[A-Za-z_][\w \t*]*?[ \t*](\w+)\s*\([^;{}]*\)\s*\{", re.MULTILINE)


@cache
def _defined(file: Path, _changed: int) -> frozenset[str]:
    return frozenset(_DEFINITION.findall(_text(file)))


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="replace")


def _with_neighbours(files: Sequence[Path]) -> list[Path]:
    """C files beside these whose headers they include, and theirs."""
    found = list(files)
    for file in found:  # grows
        for name in _INCLUDED.findall(_text(file)):
            neighbour = file.parent / Path(name).with_suffix(".c").name
            if name.endswith(".h") and neighbour.is_file() and neighbour not in found:
                found.append(neighbour)
    return found


def neighbours_with(files: Sequence[Path], words: Iterable[str]) -> list[Path]:
    """C files beside these in which one of the words stands."""
    pattern = re.compile("|".join(rf"\b{re.escape(one)}\b" for one in dict.fromkeys(words)) or r"(?!)")
    beside = sorted({file for folder in {one.parent for one in files} for file in folder.glob("*.c")} - set(files))
    return [file for file in beside if pattern.search(_text(file))]


def _compiled(name: str, one: CSignature) -> list[str]:
    """A library in binary form, or a name for the linker."""
    if one.library_folder:
        folder = Path(one.library_folder)
        for place in (folder / _PLATFORM, folder):
            for file in (f"lib{name}.so", f"lib{name}.a", f"{name}.so", f"lib{name}.dylib", f"{name}.dll", f"{name}.o"):
                if (place / file).is_file():
                    return [str(place / file)]
    return [f"-l{name}"]


def content_of(files: Iterable[Path], folders: Sequence[Path]) -> bytes:
    """Names and texts of files and of all headers that they may include."""
    headers = [file for folder in folders for file in sorted(folder.glob("*.h"))]
    return b"\0".join(
        part for file in (*files, *headers) for part in (str(file).encode(), _bytes(file, file.stat().st_mtime_ns))
    )


@cache
def _bytes(file: Path, _changed: int) -> bytes:
    return file.read_bytes()
