"""The text of one file, and places in it."""

from __future__ import annotations

from bisect import bisect_right

from pliant.ir import Span

_SHOWN = 100  # characters of the text in a Span
BASE_HEADER = "//! base "  # the first characters of a text in Base Modelica


class Source:
    """A text with the name of its file. Lines are counted when a place is asked for, never before."""

    __slots__ = ("__weakref__", "_lines", "file", "text")

    def __init__(self, file: str, text: str) -> None:
        self.file = file
        self.text = text
        self._lines: list[int] | None = None

    def __repr__(self) -> str:
        return f"Source({self.file!r}, {len(self.text)} characters)"

    @property
    def is_base(self) -> bool:
        """Base Modelica, as the first line says."""
        return self.text.startswith(BASE_HEADER)

    def line_and_column(self, offset: int) -> tuple[int, int]:
        """Both from 1; columns count characters."""
        if self._lines is None:
            starts = [0]
            at = self.text.find("\n")
            while at >= 0:
                starts.append(at + 1)
                at = self.text.find("\n", at + 1)
            self._lines = starts
        line = bisect_right(self._lines, offset)
        return line, offset - self._lines[line - 1] + 1

    def line_text(self, line: int) -> str:
        """The text of a line, from 1."""
        self.line_and_column(0)
        assert self._lines is not None
        start = self._lines[line - 1]
        end = self._lines[line] - 1 if line < len(self._lines) else len(self.text)
        return self.text[start:end]

    def span(self, start: int, end: int) -> Span:
        """The place of a piece of text, with the piece on one line and shortened."""
        line, column = self.line_and_column(start)
        shown = " ".join(self.text[start : min(end, start + 4 * _SHOWN)].split())
        if len(shown) > _SHOWN:
            shown = shown[: _SHOWN - 1] + "…"
        return Span(self.file, line, column, shown)


NO_SOURCE = Source("", "")  # of nodes that stand in no text
