"""What a model is loaded from: a text, a file of some kind, a folder; and the way from Modelica to sorted equations."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pliant.arguments import as_names
from pliant.errors import ArgumentError
from pliant.frontend.classes import is_text
from pliant.frontend.reading import read_flat
from pliant.frontend.scalar.scalarize import scalarize
from pliant.sorted_system import SortedSystem
from pliant.structure.options import StructureOptions
from pliant.structure.pipeline import sort_anew


def check_source(source: Any, name: Any) -> None:
    """Refuse what is neither a text nor a path, and names that are none."""
    if not isinstance(source, (str, Path)):
        raise ArgumentError(
            f"the source must be a path or a Modelica text, not {source!r}", hint='e.g. pliant.load("circuit.mo")'
        )
    if not (name is None or (isinstance(name, str) and name)):
        raise ArgumentError(f"name must be the name of a class, not {name!r}", hint="None for the last one of the file")


def source_hint(text: str, name: str | None) -> str:
    """What may have been meant by something that is no file."""
    if re.fullmatch(r"\w+(\.\w+)+", text) and name is None:
        return f'check the path; a class of a library is given by its name: pliant.load("\\n", name="{text}")'
    return "check the path; a Modelica text must contain a line break, or be of the form `model M ... end M;`"


def is_fmu(source: str | Path) -> bool:
    """An .fmu file, or the folder of an unpacked one."""
    text = str(source)
    if not text or is_text(source):
        return False
    return text.lower().endswith(".fmu") or (Path(text) / "modelDescription.xml").is_file()


def is_system(source: str | Path) -> bool:
    """An .ssp or .ssd file, or the folder of an unpacked .ssp."""
    text = str(source)
    if not text or is_text(source):
        return False
    return text.lower().endswith((".ssp", ".ssd")) or (Path(text) / "SystemStructure.ssd").is_file()


def is_modelica(source: str | Path) -> bool:
    """A text, a .mo file or a folder."""
    text = str(source)
    return is_text(source) or text.endswith(".mo") or (bool(text) and Path(text).is_dir() and not text.endswith(".fmu"))


def sorted_model(
    source: str | Path,
    name: str | None,
    path: Sequence[str | Path] | None,
    tear: Sequence[str] | None,
    options: StructureOptions,
    frontend: str | None = None,
) -> SortedSystem:
    """Modelica text through the symbolic packages: front end, structure."""
    torn = [] if tear is None else as_names("tear", tear)
    flat = read_flat(source, name, path, frontend)
    return sort_anew(lambda: scalarize(flat, fold_parameters=options.fold_parameters), options, torn)
