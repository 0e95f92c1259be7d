"""Examples of a library: classes that can be simulated and say for how long."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pliant.errors import ModelError, PliantError
from pliant.frontend.modelica.library.entries import ClassEntry
from pliant.frontend.modelica.library.root import open_classes
from pliant.frontend.modelica.syntax import tree

_SIMULATED = ("model", "block", "class")


def roots_of(folder: Path) -> list[Path]:
    """The packages of a folder: itself, or those directly inside."""
    if (folder / "package.mo").is_file() or folder.suffix == ".mo":
        return [folder]
    if not folder.is_dir():
        raise ModelError(f"there is no folder {folder}", hint="the folder of a library, or one that holds libraries")
    found = [one for one in sorted(folder.iterdir()) if (one / "package.mo").is_file()]
    if not found:
        raise ModelError(f"{folder} holds no library", hint="give the folder of a package, with its package.mo")
    return found


def example_names(folder: Path) -> list[str]:
    """Full names of all examples: complete models with `experiment(StopTime = ...)`."""
    found: list[str] = []
    for root in roots_of(folder):
        for entry in open_classes(root, []).own:
            found += [one.full_name for one in _walk(entry) if _is_example(one)]
    return found


def _walk(entry: ClassEntry) -> Iterator[ClassEntry]:
    stack = [entry]
    while stack:
        one = stack.pop()
        yield one
        if one.definition.kind != "package":
            continue
        inside = []
        for name in one.names:
            try:
                member = one.member(name)
            except PliantError:  # a file that cannot be read is no example; who names it gets the error
                continue
            if member is not None:
                inside.append(member)
        stack.extend(reversed(inside))


def _is_example(entry: ClassEntry) -> bool:
    definition = entry.definition
    if definition.kind not in _SIMULATED or definition.prefixes & tree.PARTIAL:
        return False
    annotation = getattr(definition, "annotation", None)
    if annotation is None or "experiment" not in annotation.text:
        return False
    experiment = annotation.find("experiment")
    return experiment is not None and any(
        isinstance(one, tree.Modifier) and one.names[0] == "StopTime" for one in experiment.arguments
    )
