"""Where the code of an external function lies: annotations beside it, resources of its library (12.9.4, 13.5)."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import unquote

from pliant.frontend.modelica.instances.classes import ClassUse, Scope
from pliant.frontend.modelica.syntax import tree

_FOLDERS = {
    "IncludeDirectory": "Resources/Include",
    "LibraryDirectory": "Resources/Library",
    "SourceDirectory": "Resources/Source",
}


def library_folder(entry: Any) -> Path:
    """Of the top-level class that a class is in."""
    while entry.parent is not None:
        entry = entry.parent
    if entry.folder is not None:
        return Path(entry.folder)
    file = Path(entry.file)
    return file.parent if file.is_absolute() or file.is_file() else Path.cwd()


def resolved(uri: str, world: Any, entry: Any) -> str:
    """The path that a URI names: modelica://, file://, or a path beside the library."""
    if uri.startswith("modelica://"):
        name, _, rest = uri.removeprefix("modelica://").partition("/")
        top = world.root.top(name.split(".")[0])
        for part in name.split(".")[1:]:
            below = top.member(part) if top is not None else None
            top = below if below is not None else top
        if top is None:
            return uri
        folder = Path(top.folder) if top.folder is not None else library_folder(top)
        return str(folder / unquote(rest))
    if uri.startswith("file://"):
        return unquote(uri.removeprefix("file://"))
    path = Path(uri)
    return str(path if path.is_absolute() else library_folder(entry) / path)


LOAD_RESOURCE = ("Modelica.Utilities.Files.loadResource", "ModelicaServices.ExternalReferences.loadResource")


def annotated(values: Any, cls: ClassUse, external: tree.External, scope: Scope) -> dict[str, Any]:
    """Fields of a Signature: include text, folders, libraries."""
    world, entry = values.world, cls.core.entry

    def given(name: str) -> Any:
        found = external.annotation.find(name) if external.annotation is not None else None
        return values.tried(found.value, scope, name) if found is not None and found.value is not None else None

    def folder(name: str) -> str:
        uri = given(name)
        return resolved(uri if isinstance(uri, str) else _FOLDERS[name], world, entry)

    include, library = given("Include"), given("Library")
    names = [library] if isinstance(library, str) else [] if library is None else list(library.flat)
    return {
        "include": include if isinstance(include, str) else "",
        "include_folder": folder("IncludeDirectory"),
        "libraries": tuple(one for one in names if isinstance(one, str)),
        "library_folder": folder("LibraryDirectory"),
        "source_folder": folder("SourceDirectory"),
    }
