"""Pickled objects say which version of pliant made them, before anything else of them is read.

The parts of a pickle are built in their order. The stamp comes first, so that another version refuses with a sentence,
and not somewhere inside a class that has changed since.
"""

from __future__ import annotations

import sys
from typing import Any

from pliant.errors import VersionError


class Stamp:
    """The version that pickles; unpickling it checks that it is the same."""

    def __reduce__(self) -> tuple[Any, ...]:
        return check_version, (present_version(),)


class Stamped:
    """An object whose pickles begin with a stamp. What is kept of it is up to ``__getstate__``."""

    def __reduce__(self) -> tuple[Any, ...]:
        return blank, (Stamp(), type(self)), self.__getstate__()


def blank(_: Stamp, cls: type[Stamped]) -> Stamped:
    """An object without content; that comes next."""
    return cls.__new__(cls)


def check_version(made_by: str) -> Stamp:
    """Refuse what another version has pickled."""
    present = present_version()
    if made_by != present:
        raise VersionError(
            f"this object was pickled by pliant {made_by}, and this is pliant {present}",
            hint="make it again from its source; results that are to be kept: result.save and pliant.load_result",
        )
    return Stamp()


def present_version() -> str:
    """That of the package, which is loaded whenever one of its objects is."""
    return str(getattr(sys.modules["pliant"], "__version__", "unknown"))
