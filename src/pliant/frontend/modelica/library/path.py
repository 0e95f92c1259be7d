"""Where libraries are: MODELICAPATH, or the folders of `path=` (13.3), and which of several versions is taken (18.8).

An entry is a folder that holds libraries (`Modelica/package.mo`, `Complex.mo`, `Modelica 4.1.0/package.mo`), or a
library itself; then the libraries beside it are found, too, after all others.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from pliant.errors import ArgumentError, ModelError
from pliant.frontend.modelica.library.entries import PACKAGE, ClassEntry, read_entry
from pliant.frontend.modelica.library.versions import Versions, is_same, order_key, read_versions, split_name
from pliant.ir import Span


@dataclass(frozen=True)
class VersionRequest:
    """A version that somebody asks for, and where."""

    version: str
    asker: str
    span: Span


@dataclass
class Library:
    """A library that was found on the path; it is read at the first use."""

    name: str
    path: Path
    named_version: str  # of the folder
    warnings: list[str] = field(repr=False)

    @cached_property
    def entry(self) -> ClassEntry:
        """The top-level class."""
        return read_entry(self.path, None, self.warnings, self.name)

    @cached_property
    def versions(self) -> Versions:
        """What it says about versions; the name of the folder stands in where the annotation says nothing."""
        body = self.entry.body
        found = read_versions(body.annotation if body is not None else None)
        return found if found.version else Versions(self.named_version, found.uses, found.compatible, found.convertible)

    def __str__(self) -> str:
        version = self.versions.version
        return f"{version or 'without a version'} in {self.path}"


class LibraryPath:
    """Libraries by name. Folders are listed when first asked."""

    def __init__(self, entries: Sequence[Path], warnings: list[str]) -> None:
        self.warnings = warnings
        self.entries: list[Path] = []
        beside: list[Path] = []
        for one in entries:
            self.entries.append(one)
            if _is_library(one):
                beside.append(package_root(one).parent)
        self.entries += [one for one in beside if one not in self.entries]
        self._listed: dict[Path, dict[str, list[Library]]] = {}

    def candidates(self, name: str) -> list[list[Library]]:
        """Libraries of this name, by entry of the path, the newest first in each."""
        found = (self._list(entry).get(name, []) for entry in self.entries)
        return [libraries for libraries in found if libraries]

    def names(self) -> list[str]:
        """Names of all libraries, for suggestions."""
        return sorted({name for entry in self.entries for name in self._list(entry)})

    def choose(self, name: str, requests: Sequence[VersionRequest]) -> Library | None:
        """The library that serves all requests; None where there is none of that name, an error where none fits."""
        groups = self.candidates(name)
        if not groups:
            return None
        if not requests:
            return groups[0][0]
        everything = [one for group in groups for one in group]
        fitting = [one for one in everything if all(serves(one, request) for request in requests)]
        if not fitting:
            raise no_version(name, everything, requests)
        exact = [one for one in fitting if all(is_same(one.versions.version, each.version) for each in requests)]
        chosen = (exact or fitting)[0]
        if not chosen.versions.version:
            wanted = requests[0]
            self.warnings.append(f"{wanted.span}: `{name}` has no version, {wanted.version} is asked for (18.8)")
        return chosen

    def _list(self, entry: Path) -> dict[str, list[Library]]:
        known = self._listed.get(entry)
        if known is not None:
            return known
        found: dict[str, list[Library]] = {}
        for path in [package_root(entry)] if _is_library(entry) else _inside(entry):
            name, version = split_name(path.stem if path.is_file() else path.name)
            found.setdefault(name, []).append(Library(name, path, version, self.warnings))
        for several in found.values():
            if len(several) > 1:
                several.sort(key=lambda one: order_key(one.named_version or one.versions.version), reverse=True)
        self._listed[entry] = found
        return found


def serves(library: Library, request: VersionRequest) -> bool:
    """The library may be used by text that was written for the version of the request."""
    versions = library.versions
    return not request.version or not versions.version or versions.serves(request.version)


def no_version(name: str, found: Sequence[Library], requests: Sequence[VersionRequest]) -> ModelError:
    """No version of a library fits."""
    asked = "; ".join(dict.fromkeys(f"{one.asker} asks for {one.version}" for one in requests))
    there = "; ".join(str(one) for one in found)
    convertible = [
        one for one in found if all(any(is_same(old, r.version) for old in one.versions.convertible) for r in requests)
    ]
    hint = f"put version {requests[0].version} on the path, or change `uses` to a version that is there"
    if convertible:
        hint = (
            f"convert the model to version {convertible[0].versions.version} in the tool that wrote it: "
            "the library comes with rules for that"
        )
    return ModelError(
        f"no version of `{name}` fits: {asked}; found: {there}", hint=hint, span=requests[0].span, rule="18.8.2"
    )


def given_path(path: Sequence[str | Path] | str | Path | None) -> list[Path]:
    """The entries of `path=`, which must exist, or those of MODELICAPATH, which may not."""
    if path is None:
        listed = os.environ.get("MODELICAPATH", "").split(os.pathsep)
        return [Path(one) for one in listed if one and Path(one).exists()]
    if isinstance(path, (str, Path)):
        path = [path]
    if not isinstance(path, Iterable) or not all(isinstance(one, (str, Path)) for one in path):
        raise ArgumentError(f"path must be a list of folders, not {path!r}", hint="e.g. path=['libraries']")
    for one in path:
        if not Path(one).exists():
            raise ModelError(
                f"library folder `{one}` does not exist", hint="correct path=[...]", span=Span(str(one), 1, 1)
            )
    return [Path(one) for one in path]


def package_root(path: Path) -> Path:
    """The outermost folder of the package that a folder or file belongs to; the file itself where it is alone."""
    path = path.absolute()
    if path.name == PACKAGE:
        path = path.parent
    while (path.parent / PACKAGE).is_file():
        path = path.parent
    return path


def _is_library(path: Path) -> bool:
    return path.suffix == ".mo" or (path / PACKAGE).is_file()


def _inside(folder: Path) -> list[Path]:
    try:
        return [one for one in sorted(folder.iterdir()) if _is_library(one)]
    except OSError as error:
        reason = error.strerror or type(error).__name__
        text = f"cannot read the library folder {folder}: {reason}"
        raise ModelError(text, hint="check its permissions", span=Span(str(folder), 1, 1)) from error
