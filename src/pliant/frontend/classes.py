"""Which classes a Modelica text defines: enough of a scanner to choose the model, not a parser."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from pliant.frontend.words import CLASS_PREFIXES, CLASSES, COMMENT, IDENT, STRING

_SKIP = re.compile(f"{COMMENT}|{STRING}", re.DOTALL)
_WITHIN = re.compile(r"^\s*within\s*([\w.]*)\s*;")
_TOKEN = re.compile(
    rf"\b(?P<kind>{'|'.join(CLASSES)})\s+(?P<name>{IDENT})(?P<short>\s*=)?|\bend\s+(?P<end>{IDENT})\s*;"
)
_ONE_LINE = re.compile(
    rf"\s*(?:within\s+[\w.]*\s*;\s*)?(?:(?:{'|'.join(CLASS_PREFIXES)})\s+)*"
    rf"(?:{'|'.join(CLASSES)})\s+.*\bend\s+{IDENT}\s*;\s*$"
)
SIMULATED = frozenset({"model", "class", "block"})


@dataclass(frozen=True)
class Class:
    """A class definition: its full name, its kind, whether it is marked partial, where it begins and ends."""

    name: str
    kind: str
    is_partial: bool
    start: int = 0
    end: int = 0


def is_text(source: object) -> bool:
    """A Modelica text: it has a line break, or plainly is a class from its first word to the semicolon at its end."""
    if not isinstance(source, str):
        return False
    return "\n" in source or (_ONE_LINE.match(without_comments(source)) is not None)


def without_comments(text: str) -> str:
    """The text with comments and strings blanked out, so that places stay the same."""
    return _SKIP.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


def within(text: str) -> str:
    """Package that the text says it belongs to, empty if none."""
    match = _WITHIN.match(without_comments(text))
    return match.group(1) if match else ""


def classes(text: str) -> list[Class]:
    """All classes, also nested ones, in the order of their beginning."""
    found: list[Class] = []
    path: list[str] = []
    open_now: list[int] = []
    plain = without_comments(text)
    place = 0
    while match := _TOKEN.search(plain, place):
        place = match.end()
        if match["end"]:
            if path and path[-1] == match["end"]:
                path.pop()
                last = open_now.pop()
                found[last] = replace(found[last], end=place)
            continue
        if match["name"] in CLASSES:  # "operator record Complex": the kind comes second
            place = match.start("name")
            continue
        before = plain[max(0, match.start() - 40) : match.start()].split()
        if before and before[-1] in {"end", "redeclare"}:
            continue
        prefix = {"partial", "encapsulated", "expandable", "pure", "impure", "final", "replaceable", "operator"}
        words = []
        while before and before[-1] in prefix:
            words.append(before.pop())
        name = match["name"]
        if name == "extends":  # "model extends Base": the class is called Base
            continue
        if not match["short"]:
            open_now.append(len(found))
        found.append(Class(".".join([*path, name]), match["kind"], "partial" in words, match.start(), place))
        if not match["short"]:
            path.append(name)
    return found


def line_and_column(text: str, at: int) -> tuple[int, int]:
    """Line and column of a place, both from 1."""
    return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)


def line_of(text: str, word: str) -> tuple[int, int] | None:
    """Line and column where a name first stands outside comments and strings."""
    match = re.search(rf"(?<![\w.]){re.escape(word)}(?!\w)", without_comments(text))
    if match is None:
        return None
    return line_and_column(text, match.start())
