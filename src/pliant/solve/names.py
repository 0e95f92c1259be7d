"""Names: those that pliant keeps to itself, and suggestions for those that do not exist."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def is_hidden(name: str) -> bool:
    """Is this a variable that pliant made for itself, or the derivative of one?"""
    return name.removeprefix("der(").startswith("$")


def nearest(name: str, names: Iterable[str]) -> list[str]:
    """Up to three names that were probably meant: other case, last part of a path, then similar spelling.

    >>> nearest("Mass", ["mass", "pump.mass", "speed"])
    ['mass', 'pump.mass']
    """
    listed = list(names)
    wanted = name.lower()
    lower = {item.lower(): item for item in listed}
    near = [lower[wanted]] if wanted in lower else []
    near += [item for item in listed if item.lower().endswith("." + wanted)]
    near += [lower[item] for item in difflib.get_close_matches(wanted, list(lower), n=3)]
    return list(dict.fromkeys(near))[:3]


def suggestion(name: str, names: Iterable[str]) -> str:
    """A hint for an unknown name: what was probably meant, or what there is."""
    listed = list(names)
    near = nearest(name, listed)
    if near:
        return f"did you mean {' or '.join(repr(item) for item in near)}?"
    more = ", ..." if len(listed) > 10 else ""
    return f"there are {', '.join(listed[:10])}{more}" if listed else "leave it out: there is none to choose from"
