"""A source through one of the front ends: ``pliant``, the one of our own, or ``rumoca``, the package of that name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pliant.errors import ArgumentError
from pliant.frontend.flat.model import FlatModel

FRONTENDS = ("pliant", "rumoca")  # the first is the usual one


def check_frontend(frontend: object) -> str:
    """The name of a front end; None is the usual one."""
    if frontend is None:
        return FRONTENDS[0]
    if frontend not in FRONTENDS:
        raise ArgumentError(f"there is no front end {frontend!r}", hint='"pliant" or "rumoca"')
    return str(frontend)


def read_flat(
    source: str | Path,
    name: str | None = None,
    path: Sequence[str | Path] | None = None,
    frontend: str | None = None,
) -> FlatModel:
    """The flat model of a class: ``name``, else the one that the source has for simulation."""
    if check_frontend(frontend) == "rumoca":
        from pliant.frontend.rumoca.read import read

        return read(source, name, path)
    from pliant.frontend.modelica.flatten.model import flatten

    return flatten(source, name or "", path)
