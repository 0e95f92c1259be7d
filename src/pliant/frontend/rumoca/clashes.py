"""Which Integer is given a Real: rumoca says "expression shape mismatch" for it, as for arrays of different sizes.

Asked once more with one declaration at a time as Real, it shows which one it was.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from pliant.errors import ModelError
from pliant.frontend.classes import line_and_column, without_comments

MOST = 30  # declarations that are tried
_DECLARATION = re.compile(r"\bInteger\b(?=\s+[A-Za-z_'])([^;\"]*)")
_NAME = re.compile(r"(?:^|,)\s*([A-Za-z_]\w*|'(?:\\.|[^'\\])+')")


def real_for_integer(file: str, text: str, mismatches: Callable[[str], bool]) -> ModelError | None:
    """The error to raise, or None if no Integer is the cause; ``mismatches``: is a text refused for this reason?."""
    plain = without_comments(text)
    for found in list(_DECLARATION.finditer(plain))[:MOST]:
        start = found.start()
        if mismatches(f"{text[:start]}Real   {text[start + 7 :]}"):
            continue
        names = [name for name in _NAME.findall(_flat(found.group(1))) if name]
        place, name = _set_at(plain, names) or (start, names[0] if names else "?")
        line, column = line_and_column(plain, place)
        return ModelError(
            f"{file}:{line}:{column}: `{name}` is an Integer, and a Real is given for it",
            hint=f"convert it, as in `{name} = integer(...)`, or declare `{name}` as Real; div and mod of "
            "Real arguments are Real, too",
        )
    return None


def _flat(declared: str) -> str:
    """Declared names without modifications, sizes and values."""
    while declared != (declared := re.sub(r"\([^()]*\)|\[[^\[\]]*\]|\{[^{}]*\}", "", declared)):
        pass
    return re.sub(r"=[^,]*", "", declared)


def _set_at(plain: str, names: list[str]) -> tuple[int, str] | None:
    """Where an equation or assignment gives a value to one of them."""
    sections = re.search(r"\b(?:equation|algorithm)\b", plain)
    for name in names:
        for found in re.finditer(rf"(?<![\w.']){re.escape(name)}\s*(?:\[[^\]]*\]\s*)?:?=(?!=)", plain):
            if sections and found.start() > sections.start():
                return found.start(), name
    return None
