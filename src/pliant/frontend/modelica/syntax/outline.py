"""Where the classes of a text begin and end, without reading what stands in them.

Class keywords are reserved: each begins a class, except in short classes (a `=` follows) and before functions that are
arguments (`function A.f(a = 1)`: a parenthesis follows the name); and only classes end in `end` with a name. So one
regular expression that knows strings, comments and these words is enough, at a fifth of the time of a lexer. What
stands in a class is made into tokens without the classes inside of it: each part of a text is read once, or never.
"""

from __future__ import annotations

import re
from typing import Final

from pliant.frontend.modelica.syntax.faults import SyntaxFault
from pliant.frontend.modelica.syntax.source import Source
from pliant.frontend.modelica.syntax.tokens import KEYWORDS, SKIPPED, Tokens

_IDENT: Final = r"(?:[A-Za-z_]\w*+|'(?:[^'\\\n]|\\.)*')"
_SCAN: Final = re.compile(
    rf"""
    "[^"\\]*(?:\\.[^"\\]*)*(?:"|\Z)
    |//[^\n]*
    |/\*(?:[^*]*\*+(?:[^/*][^*]*\*+)*/|.*)
    |'(?:[^'\\\n]|\\.)*'
    |\bend\b{SKIPPED}(?P<closing>{_IDENT})
    |\b(?P<kind>class|model|record|block|connector|type|package|function|operator)\b{SKIPPED}
        (?P<extends>extends\b{SKIPPED})?(?P<name>(?!(?:record|function|extends)\b){_IDENT})
        (?:(?:{SKIPPED}\.{SKIPPED}{_IDENT})*+{SKIPPED}(?P<mark>[=(]))?
    """,
    re.VERBOSE | re.DOTALL | re.ASCII,
)


class ClassPlace:
    """Offsets of a long class: its name, and its `end` with the name behind it; classes inside."""

    __slots__ = ("end", "end_start", "inside", "is_extension", "name", "name_end", "name_start")

    def __init__(self, name: str, name_start: int, is_extension: bool) -> None:
        self.name = name
        self.name_start = name_start
        self.name_end = name_start + len(name)
        self.end_start = self.end = self.name_end
        self.is_extension = is_extension
        self.inside: list[ClassPlace] = []

    def tokens(self, source: Source) -> Tokens:
        """What stands between the name and the end, without what stands in classes inside."""
        return Tokens(source, _ranges(self.name_end, self.end_start, self.inside), f"end {self.name}")


class Outline:
    """The long classes of a text, outermost ones in `classes`."""

    __slots__ = ("classes", "faults", "source")

    def __init__(self, source: Source) -> None:
        self.source = source
        self.classes: list[ClassPlace] = []
        self.faults: list[SyntaxFault] = []
        self._scan()

    def tokens(self) -> Tokens:
        """What stands outside of classes."""
        return Tokens(self.source, _ranges(0, len(self.source.text), self.classes), "")

    def _scan(self) -> None:
        opened: list[ClassPlace] = []
        for match in _SCAN.finditer(self.source.text):
            if match.lastindex is None:
                continue  # a text or a comment
            name = match["name"]
            if name is None:
                if match["closing"] not in KEYWORDS:
                    self._close(opened, match)
                continue
            mark, is_extension = match["mark"], match["extends"] is not None
            if name in KEYWORDS or mark == "=" or (mark and match["kind"] == "function" and not is_extension):
                continue
            place = ClassPlace(name, match.start("name"), is_extension)
            (opened[-1].inside if opened else self.classes).append(place)
            opened.append(place)
        while opened:
            self._unclosed(opened.pop(), len(self.source.text))

    def _close(self, opened: list[ClassPlace], match: re.Match[str]) -> None:
        """A class ends; classes inside of it that are still open have no end."""
        name = match["closing"]
        place = match.span()
        if not opened:
            self._fault(place, f"`end {name}` without a class that could end here", "remove it")
            return
        if name != opened[-1].name:
            if any(one.name == name for one in opened):
                while opened[-1].name != name:
                    self._unclosed(opened.pop(), match.start())
            else:
                word = opened[-1].name
                line, _ = self.source.line_and_column(opened[-1].name_start)
                text = f"expected `end {word}`, which ends the class of line {line}, found the name `{name}`"
                self._fault(place, text, f"write `end {word};`")
        closed = opened.pop()
        closed.end_start, closed.end = match.start(), place[1]

    def _unclosed(self, place: ClassPlace, end: int) -> None:
        place.end_start = place.end = end
        line, _ = self.source.line_and_column(place.name_start)
        text = f"the class `{place.name}` of line {line} has no end"
        self._fault((place.name_start, place.name_end), text, f"end it with `end {place.name};`")

    def _fault(self, place: tuple[int, int], message: str, hint: str) -> None:
        self.faults.append(SyntaxFault(self.source, place, message, hint=hint, rule="A.2.2"))


def _ranges(start: int, end: int, without: list[ClassPlace]) -> list[tuple[int, int]]:
    """Pieces of a text from start to end, without what stands in some classes."""
    found: list[tuple[int, int]] = []
    for place in without:
        found.append((start, place.name_end))
        start = place.end
    found.append((start, max(start, end)))
    return found
