"""The file package.order: names of the classes and constants of a package, one each line (13.4.1)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

FILE: Final = "package.order"


def read_order(folder: Path) -> list[str] | None:
    """The names; None where there is no such file, or it cannot be read: it only tells an order."""
    try:
        text = (folder / FILE).read_text(encoding="utf-8-sig", errors="replace")
    except OSError:
        return None
    lines = (line.strip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith("extends ")]


def ordered(names: Sequence[str], order: list[str], package: str, folder: Path, warnings: list[str]) -> list[str]:
    """The names in that order, those it lacks at the end; differences are warnings, as the specification has it."""
    known = set(names)
    listed = dict.fromkeys(order)
    for name in listed:
        if name not in known:
            warnings.append(f"{folder / FILE}: `{name}` is not in the package `{package}` (13.4.1)")
    missing = [name for name in names if name not in listed]
    if missing:
        shown = ", ".join(f"`{name}`" for name in missing[:5]) + (", …" if len(missing) > 5 else "")
        warnings.append(f"{folder / FILE} lacks {shown} of the package `{package}` (13.4.1)")
    return [name for name in listed if name in known] + missing
