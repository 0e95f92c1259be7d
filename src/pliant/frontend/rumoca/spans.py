"""Places in the source: byte offsets of rumoca to file, line, column and the text that stands there.

The source map of a model that uses the Standard Library holds thousands of files; only those that an equation or a
declaration points to are read.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import replace
from typing import Any

from pliant.frontend.words import COMMENT, STRING
from pliant.ir import Span

LONGEST = 100
_TOKEN = re.compile(rf"{STRING}|{COMMENT}|[;()\[\]{{}},]|\bannotation\b", re.DOTALL)

_CONDITION = re.compile(  # strings and comments are consumed whole, so that prose in them does not count
    rf'{STRING}|{COMMENT}|\bif\s+([^;"]*?)\s*(?=(;|"|\bthen\b|\bannotation\b))', re.DOTALL
)
_NAME = re.compile(r"\b[A-Za-z_]\w*")


def _end(text: str, is_binding: bool) -> int:
    """Where an equation ends: at its semicolon, its comment, or the bracket or comma behind a modification."""
    depth = 0
    for match in _TOKEN.finditer(text):
        token = match.group()
        if token in "([{":
            depth += 1
        elif token in ")]}":
            depth -= 1
            if depth < 0:
                return match.start()
        elif depth == 0 and (token in {";", "annotation"} or token[0] == '"' or (token == "," and is_binding)):
            return match.start()
    return len(text)


def _begin(text: bytes, start: int) -> int:
    """Where an equation begins: rumoca points behind the brackets and signs in front of its first name."""
    while True:
        before = text[:start].rstrip()
        if not before.endswith((b"(", b"{", b"[", b"-", b"+")) or before.endswith(b"=-"):
            return start
        start = len(before) - 1


class Spans:
    """Source texts by id, with a table of line starts for each file in use."""

    def __init__(self, files: list[list[Any]]) -> None:
        self.files = {entry[0]: (str(entry[1]), entry[2]) for entry in files}
        self.texts: dict[int, tuple[bytes, list[int]]] = {}
        self.known: dict[tuple[int, int, int], Span] = {}
        self.whole: dict[tuple[int, int, str], Span] = {}

    def span(self, raw: dict[str, Any] | None) -> Span | None:
        """Span of ``{"source", "start", "end"}``; None where rumoca gives none."""
        if not raw or raw.get("source") not in self.files:
            return None
        key = (raw["source"], raw["start"], raw["end"])
        found = self.known.get(key)
        if found is None:
            found = self._make(*key)
            self.known[key] = found
        return found

    def equation(self, provenance: Any, node: dict[str, Any] | None) -> Span | None:
        """Span of a whole equation.

        rumoca points to the head of a loop or to the condition of an if-equation; there the residual's own node,
        which lies on the left side, is the better place. The text runs on to the semicolon.
        """
        raw = provenance.get("span") if isinstance(provenance, dict) else None
        if raw and node and node.get("source") == raw["source"] and not raw["start"] <= node["start"] < raw["end"]:
            raw = node
        return self._until_end(raw, "")

    def binding(self, provenance: Any, name: str) -> Span | None:
        """Span of a declaration equation; rumoca points to its right side."""
        raw = provenance.get("span") if isinstance(provenance, dict) else None
        return self._until_end(raw, f"{name} = ")

    def _until_end(self, raw: dict[str, Any] | None, prefix: str) -> Span | None:
        if not raw or raw.get("source") not in self.files:
            return None
        key = (raw["source"], raw["start"], prefix)
        found = self.whole.get(key)
        if found is None:
            text, _ = self._lines(raw["source"])
            start = _begin(text, raw["start"])
            piece = text[start : start + 5 * LONGEST].decode("utf-8", "replace")
            end = _end(piece, bool(prefix))
            found = self._make(raw["source"], start, start + len(piece[:end].encode("utf-8")), prefix)
            head, _, rest = found.text.partition(" then ")
            if rest and not re.search(r"\bif\b", head):  # rumoca points into the condition of an if-equation
                found = replace(found, text=rest)
            self.whole[key] = found
        return found

    def of(self, provenance: Any) -> Span | None:
        """Span of a provenance."""
        return self.span(provenance.get("span")) if isinstance(provenance, dict) else None

    def condition_names(self, sources: set[int]) -> set[str]:
        """Names in the conditions of conditional components (``Resistor r if n > 1;``) in these files."""
        found: set[str] = set()
        for source in sorted(sources & self.files.keys()):
            for match in _CONDITION.finditer(self.files[source][1]):
                if match.group(1) and match.group(2) != "then":
                    found.update(_NAME.findall(match.group(1)))
        return found

    def _make(self, source: int, start: int, end: int, prefix: str = "") -> Span:
        text, lines = self._lines(source)
        row = bisect_right(lines, start) - 1
        words = text[start:end].decode("utf-8", "replace")[: 20 * LONGEST]
        shown = prefix + " ".join(words.split()).rstrip(" ;")
        if len(shown) > LONGEST:
            shown = shown[: LONGEST - 1] + "…"
        column = len(text[lines[row] : start].decode("utf-8", "replace")) + 1
        return Span(self.files[source][0], row + 1, column, shown)

    def _lines(self, source: int) -> tuple[bytes, list[int]]:
        found = self.texts.get(source)
        if found is None:
            text = self.files[source][1].encode("utf-8")
            starts = [0]
            place = text.find(b"\n")
            while place >= 0:
                starts.append(place + 1)
                place = text.find(b"\n", place + 1)
            found = (text, starts)
            self.texts[source] = found
        return found
