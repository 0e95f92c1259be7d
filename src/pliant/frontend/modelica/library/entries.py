"""Classes by their place in the hierarchy, whether they stand in one file or in folders.

A ClassEntry joins what the syntax tree and the file system say: `entry.member(name)` is the class of that name that is
declared in this one, read from its own file if it has one. Nothing is read before it is asked for. Components, imports
and base classes are in `entry.body`; inheritance is not followed here.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from pliant.errors import ModelError
from pliant.frontend.modelica.library.files import read_file
from pliant.frontend.modelica.library.order import ordered, read_order
from pliant.frontend.modelica.syntax.tree import Body, ClassDefinition, Component, LongClass, StoredDefinition
from pliant.ir import Span

PACKAGE: Final = "package.mo"
_RULE: Final = "13.4"


class ClassEntry:
    """A class with its full name, its parent and its members. Compared by identity; made once per ClassRoot."""

    __slots__ = ("_files", "_members", "_names", "definition", "folder", "full_name", "name", "parent", "warnings")

    def __init__(
        self,
        definition: ClassDefinition,
        parent: ClassEntry | None,
        full_name: str,
        warnings: list[str],
        folder: Path | None = None,
    ) -> None:
        self.definition = definition
        self.name = definition.name
        self.parent = parent  # None: a top-level class
        self.full_name = full_name
        self.folder = folder  # of a package that is a folder
        self.warnings = warnings  # of the whole ClassRoot
        self._members: dict[str, ClassEntry | None] = {}
        self._files: dict[str, Path] | None = None
        self._names: tuple[str, ...] | None = None

    def __repr__(self) -> str:
        return f"<{self.definition.kind} {self.full_name}>"

    @property
    def body(self) -> Body | None:
        """What stands in a long class; None for a class with `=`. Faults are raised at the first use."""
        definition = self.definition
        return definition.body if isinstance(definition, LongClass) else None

    @property
    def file(self) -> str:
        """The file in which the class is defined."""
        return self.definition.source.file

    def member(self, name: str) -> ClassEntry | None:
        """The class that is declared here under this name, None where there is none."""
        try:
            return self._members[name]
        except KeyError:
            found = self._members[name] = self._find(name)
            return found

    def add(self, definition: ClassDefinition) -> ClassEntry:
        """A class that stands in another text, with a `within` that names this one; it hides one of the same name."""
        entry = self._members[definition.name] = self._below(definition)
        self._names = None
        return entry

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all classes and components declared here, in the order of package.order."""
        if self._names is None:
            declared = list(self.body.members) if self.body is not None else []
            names = [*declared, *(one for one in (*self.files, *self._members) if one not in declared)]
            names = [one for one in dict.fromkeys(names) if self._members.get(one, self) is not None or one in declared]
            if self.folder is not None:
                order = read_order(self.folder)
                if order is not None:
                    names = ordered(names, order, self.full_name, self.folder, self.warnings)
            self._names = tuple(names)
        return self._names

    @property
    def members(self) -> tuple[ClassEntry, ...]:
        """All classes declared here, each read."""
        found = (self.member(name) for name in self.names)
        return tuple(one for one in found if one is not None)

    @property
    def files(self) -> dict[str, Path]:
        """Files and folders of this package by the name of their class."""
        if self._files is None:
            self._files = _list_files(self.folder) if self.folder is not None else {}
        return self._files

    def _find(self, name: str) -> ClassEntry | None:
        body = self.body
        inside = body.members.get(name) if body is not None else None
        path = self.files.get(name) if self.folder is not None else None
        if path is not None and inside is not None:
            text = f"`{name}` is declared in {self.file} and again in {path}"
            raise ModelError(text, hint="remove one of them", span=inside.span, rule="13.4.1")
        if path is not None:
            return self._read(path)
        if inside is None or isinstance(inside, Component):
            return None
        return self._below(inside)

    def _below(self, definition: ClassDefinition) -> ClassEntry:
        return ClassEntry(definition, self, f"{self.full_name}.{definition.name}", self.warnings)

    def _read(self, path: Path) -> ClassEntry:
        return read_entry(path, self, self.warnings)


def read_entry(path: Path, parent: ClassEntry | None, warnings: list[str], name: str = "") -> ClassEntry:
    """The class of a file, or of a folder with package.mo, whose name must be that of the file unless given."""
    folder = path if path.is_dir() else None
    file = path / PACKAGE if folder is not None else path
    stored = read_file(file)
    definition = _only_class(stored, name or (path.name if folder is not None else path.stem))
    _check_within(stored, parent, definition, warnings)
    full_name = definition.name if parent is None else f"{parent.full_name}.{definition.name}"
    return ClassEntry(definition, parent, full_name, warnings, folder)


def _only_class(stored: StoredDefinition, name: str) -> ClassDefinition:
    """A file of a library holds one class, of the name of the file (13.4.2)."""
    file = stored.source.file
    if not stored.classes:
        text = f"{file} holds no class, but the class `{name}` should be there"
        raise ModelError(text, hint=f"write `model {name} ... end {name};`", span=Span(file, 1, 1), rule="13.4.2")
    first = stored.classes[0]
    if first.name != name:
        text = f"{file} holds the class `{first.name}`, but `{name}` should be there"
        hint = "rename the class or the file" if Path(file).name != PACKAGE else "rename the class or the folder"
        raise ModelError(text, hint=hint, span=first.name_span, rule="13.4.2")
    if len(stored.classes) > 1:
        second = stored.classes[1]
        text = f"{file} holds a second class, `{second.name}`: a file of a library holds one"
        raise ModelError(text, hint="give it a file of its own", span=second.name_span, rule="13.4.2")
    return first


def _check_within(
    stored: StoredDefinition, parent: ClassEntry | None, definition: ClassDefinition, warnings: list[str]
) -> None:
    place = parent.full_name if parent is not None else ""
    if stored.within is None:
        if parent is not None:
            warnings.append(f"{stored.source.file}:1: `within {place};` is missing (13.4.3)")
        return
    if ".".join(stored.within) != place:
        found = f"within {'.'.join(stored.within)}".rstrip()
        start = stored.source.text.index("within")
        raise ModelError(
            f"{stored.source.file}: `{found};` does not fit the place of `{definition.name}` in the library",
            hint=f"write `within {place};`" if place else "write `within;`, as this is a top-level class",
            span=stored.source.span(start, start + len(found)),
            rule="13.4.3",
        )


def _list_files(folder: Path) -> dict[str, Path]:
    found: dict[str, Path] = {}
    try:
        with os.scandir(folder) as listed:
            entries = sorted(listed, key=lambda one: one.name)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        text = f"cannot read the folder {folder}: {reason}"
        raise ModelError(text, hint="check its permissions", span=Span(str(folder), 1, 1)) from error
    for entry in entries:
        name = entry.name
        if name.endswith(".mo"):
            if name == PACKAGE:
                continue
            name = name.removesuffix(".mo")
        elif not os.path.isfile(f"{entry.path}{os.sep}{PACKAGE}"):
            continue
        if name in found:
            text = f"`{name}` is declared twice: in {found[name]} and in {entry.path}"
            raise ModelError(text, hint="remove one of them", span=Span(entry.path, 1, 1), rule="13.4.1")
        found[name] = Path(entry.path)
    return found
