"""Everything that a model may refer to: its own text, and the libraries on the path.

root = open_classes(source, path)     source: text, a .mo file, or the folder of a package
root.top("Modelica")                  top-level class, own ones first; None where there is none
root.find("Modelica.Blocks.Math")     a class by its full name, inheritance and imports aside
root.default                          the class to load where no name is given
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Final

from pliant.errors import ModelError
from pliant.frontend.modelica.library.entries import PACKAGE, ClassEntry, read_entry
from pliant.frontend.modelica.library.files import read_source
from pliant.frontend.modelica.library.path import (
    Library,
    LibraryPath,
    VersionRequest,
    given_path,
    no_version,
    package_root,
    serves,
)
from pliant.frontend.modelica.library.versions import read_versions, split_name
from pliant.frontend.modelica.syntax.faults import SyntaxFault
from pliant.frontend.modelica.syntax.parser import parse, plain
from pliant.frontend.modelica.syntax.tree import PARTIAL, LongClass, StoredDefinition
from pliant.ir import Span

TEXT_NAME: Final = "model.mo"  # the file of a text that has none
_SIMULATED: Final = ("model", "block", "class")
_CLASS_TEXT: Final = re.compile(r"[^\n]*\bend\s+[\w']+[^\n]*;\s*")
_PARTS: Final = re.compile(r"'(?:[^'\\]|\\.)*'|[^.']+")


class ClassRoot:
    """Top-level classes. Made by `open_classes`; not to be shared by threads while classes are looked up."""

    def __init__(self, path: LibraryPath, warnings: list[str]) -> None:
        self.path = path
        self.warnings = warnings
        self.own: list[ClassEntry] = []  # classes of the source in order
        self.default: ClassEntry | None = None
        self.libraries: dict[str, Library] = {}  # those that were read
        self._tops: dict[str, ClassEntry | None] = {}
        self._requests: dict[str, list[VersionRequest]] = {}

    def top(self, name: str) -> ClassEntry | None:
        """A top-level class: one of the source, else of a library in the version that is asked for."""
        try:
            return self._tops[name]
        except KeyError:
            pass
        library = self.path.choose(name, self._requests.get(name, ()))
        if library is None:
            self._tops[name] = None
            return None
        self.libraries[name] = library
        found = self._tops[name] = library.entry
        self._note_uses(found)
        return found

    def find(self, full_name: str) -> ClassEntry | None:
        """The class that is declared under this name; inherited and imported ones are not found."""
        first, *rest = _PARTS.findall(full_name) or [""]
        found = self.top(first)
        for name in rest:
            if found is None:
                return None
            found = found.member(name)
        return found

    def get(self, full_name: str) -> ClassEntry:
        """As `find`; a class that is not there is an error, with the nearest name."""
        parts = _PARTS.findall(full_name) or [full_name]
        found = self.top(parts[0])
        if found is None:
            names = [*(one for one, entry in self._tops.items() if entry is not None), *self.path.names()]
            where = self.own[0].definition.span if self.own else Span("", 1, 1)
            raise ModelError(
                f"there is no class `{full_name}`" + (f": `{parts[0]}` was not found" if len(parts) > 1 else ""),
                hint=_nearest(parts[0], names)
                or "give the folder of the library: path=[...] or the environment variable MODELICAPATH",
                span=where,
                rule="5.3.1",
            )
        for name in parts[1:]:
            inside = found.member(name)
            if inside is None:
                raise ModelError(
                    f"`{found.full_name}` has no class `{name}`",
                    hint=_nearest(name, found.names) or f"look into {found.file}",
                    span=found.definition.name_span,
                    rule="5.3.2",
                )
            found = inside
        return found

    # ------------------------------------------------------------------------------------------------------- building

    def add(self, stored: StoredDefinition) -> None:
        """Classes of a text or file; with a `within` that names a package they belong to that one."""
        parent = self._parent(stored) if stored.within else None
        for definition in stored.classes:
            if parent is not None:
                entry = parent.add(definition)
            else:
                self._check_new(definition.name, definition.name_span)
                entry = ClassEntry(definition, None, definition.name, self.warnings)
                self._tops[definition.name] = entry
                self._note_uses(entry)
            self.own.append(entry)
        self.default = _default(self.own)

    def add_package(self, root: Path, file: Path) -> None:
        """A package in a folder or file; the default is the class of `file` in it, if it is one to simulate."""
        name, _ = split_name(root.stem if root.is_file() else root.name)
        entry = read_entry(root, None, self.warnings, name)
        self._tops[entry.name] = entry
        self._note_uses(entry)
        for part in Path(file).absolute().relative_to(root).parts if root.is_dir() else ():
            if part != PACKAGE:
                inside = entry.member(part.removesuffix(".mo"))
                if inside is None:
                    text = f"{file} is no part of the package `{entry.full_name}`"
                    raise ModelError(text, hint="check the path", span=entry.definition.name_span, rule="13.4.1")
                entry = inside
        self.own.append(entry)
        self.default = _default([entry])

    def _check_new(self, name: str, span: Span) -> None:
        if any(one.name == name and one.parent is None for one in self.own):
            text = f"the class `{name}` is defined twice"
            raise ModelError(
                f"{span.file}:{span.line}:{span.column}: {text}", hint="rename one", span=span, rule="5.3.1"
            )

    def _parent(self, stored: StoredDefinition) -> ClassEntry | None:
        full_name = ".".join(stored.within or ())
        found = self.find(full_name)
        if found is None:
            text = f"{stored.source.file}:1: `within {full_name};` names a package that is not there; it is ignored"
            self.warnings.append(f"{text} (13.4.3)")
        return found

    def _note_uses(self, entry: ClassEntry) -> None:
        """Remember which versions a class asks for; libraries that were read must fit, others will be chosen by it."""
        definition = entry.definition
        if not isinstance(definition, LongClass) or definition.annotation is None:
            return
        annotation = definition.annotation
        if "uses" not in annotation.text:
            return
        for name, version in read_versions(annotation).uses:
            if not version:
                continue
            request = VersionRequest(version, f"`{entry.full_name}`", annotation.span)
            self._requests.setdefault(name, []).append(request)
            library = self.libraries.get(name)
            if library is not None and not serves(library, request):
                raise no_version(name, [library], [request])


def open_classes(source: str | Path, path: Sequence[str | Path] | str | Path | None = None) -> ClassRoot:
    """Read a source: a text, a file, or the folder of a package. Libraries are those of `path`, else MODELICAPATH."""
    warnings: list[str] = []
    entries = given_path(path)
    if isinstance(source, str) and is_text(source):
        root = ClassRoot(LibraryPath(entries, warnings), warnings)
        root.add(_checked(source, TEXT_NAME, warnings))
        return root
    file = Path(source)
    if file.is_dir() and not (file / PACKAGE).is_file():
        text = f"`{file}` is a folder without package.mo"
        raise ModelError(
            text, hint="give a .mo file or the folder of a package", span=Span(str(file), 1, 1), rule="13.4.1"
        )
    if not file.is_dir():
        text = read_source(file).text
        is_part = file.name == PACKAGE or (file.parent / PACKAGE).is_file()
        if not is_part or not (file.name == PACKAGE or re.search(r"\bwithin\s+[\w']", text)):
            root = ClassRoot(LibraryPath([*entries, file.absolute().parent], warnings), warnings)
            root.add(_checked(text, str(file), warnings))
            return root
    folder = package_root(file)
    root = ClassRoot(LibraryPath([*entries, folder], warnings), warnings)
    root.add_package(folder, file)
    return root


def is_text(source: str) -> bool:
    """A text, not the name of a file: it has a line break, or is a class up to its end."""
    return "\n" in source or "\r" in source or _CLASS_TEXT.fullmatch(source) is not None


def _checked(text: str, file: str, warnings: list[str]) -> StoredDefinition:
    """A text of the user, completely parsed."""
    odd = re.search(r"[\ud800-\udfff]", text)
    if odd:
        before = plain(text[: odd.start()])
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        raise ModelError(
            f"{file}:{line}:{column}: the text holds a byte that was not UTF-8 where it was read",
            hint="read the file with its own encoding, e.g. encoding='latin-1'",
            span=Span(file, line, column),
            rule="13.4",
        )
    noted: list[SyntaxFault] = []
    found = parse(text, file, warnings=noted)
    warnings += [f"{one.source.span(one.start, one.end)}: {one.message}; {one.hint}" for one in noted]
    if not found.classes:
        text = f"{file}: there is no class in this text"
        raise ModelError(text, hint="write `model M ... end M;`", span=Span(file, 1, 1), rule="A.2.1")
    return found


def _default(entries: Sequence[ClassEntry]) -> ClassEntry | None:
    """The last class that can be simulated; of a package its only one."""
    for one in reversed(entries):
        if one.definition.kind in _SIMULATED and not one.definition.prefixes & PARTIAL:
            return one
    if entries and entries[-1].definition.kind == "package" and entries[-1].folder is None:
        inside = [one for one in entries[-1].members if one.definition.kind in _SIMULATED]
        inside = [one for one in inside if not one.definition.prefixes & PARTIAL]
        if len(inside) == 1:
            return inside[0]
    return entries[-1] if entries else None


def _nearest(name: str, names: Sequence[str]) -> str:
    close = get_close_matches(name, names, 1)
    return f"did you mean `{close[0]}`?" if close else ""
