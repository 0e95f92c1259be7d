"""Faults of a text: collected while it is read, raised together."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

from pliant.errors import ModelicaSyntaxError
from pliant.frontend.modelica.syntax.source import Source
from pliant.frontend.modelica.syntax.tokens import (
    END_OF_FILE,
    IDENT,
    INTEGER,
    KEYWORDS,
    REAL,
    STRING,
    Tokens,
)

MOST_FAULTS: Final = 20  # of one text; what follows is rarely of use

_INSTEAD: Final = {
    "!": "write `not`, and `<>` for unequal",
    "&": "write `and`",
    "|": "write `or`",
    "%": "write `mod(a, b)`",
    "−": "write `-`",
    "–": "write `-`",
    "·": "write `*`",
    "×": "write `*`",
    "≤": "write `<=`",
    "≥": "write `>=`",
    "≠": "write `<>`",
    "“": 'write `"`',
    "”": 'write `"`',
    "„": 'write `"`',
    "²": "write `^2`",
    "³": "write `^3`",
}


class SyntaxFault:
    """What is wrong from `start` to `end` of a source, one thing to try, and the section of the specification."""

    __slots__ = ("end", "hint", "message", "rule", "source", "start")

    def __init__(self, source: Source, place: tuple[int, int], message: str, *, hint: str, rule: str | None) -> None:
        self.source = source
        self.start, self.end = place
        self.message = message
        self.hint = hint
        self.rule = rule

    def as_error(self) -> ModelicaSyntaxError:
        """The fault alone as an error."""
        line, column = self.source.line_and_column(self.start)
        shown = self.source.line_text(line)
        text = f"{self.source.file}:{line}:{column}: {self.message}"
        if len(shown) <= 120 and shown.strip():
            mark = "".join("\t" if one == "\t" else " " for one in shown[: column - 1]) + "^"
            text += f"\n    {shown}\n    {mark}"
        return ModelicaSyntaxError(text, hint=self.hint, span=self.source.span(self.start, self.end), rule=self.rule)


class FaultFound(Exception):
    """Carries a fault from the place where it is found to where reading goes on."""

    def __init__(self, fault: SyntaxFault, *, is_behind: bool = False) -> None:
        super().__init__(fault.message)
        self.fault = fault
        self.is_behind = is_behind  # the phrase is whole, something is missing behind it


def error_of(faults: Iterable[SyntaxFault]) -> ModelicaSyntaxError:
    """One error for all faults, in the order of their places."""
    ordered = sorted(faults, key=lambda one: one.start)
    errors: list[ModelicaSyntaxError] = []
    seen: set[int] = set()
    for fault in ordered:
        line, _ = fault.source.line_and_column(fault.start)
        if line not in seen and len(errors) < MOST_FAULTS:  # a second fault in a line mostly follows from the first
            seen.add(line)
            errors.append(fault.as_error())
    first = errors[0]
    message, hint = first.message, first.hint
    if len(errors) > 1:  # each with its own hint
        message, hint = "\n".join(str(one) for one in errors[:-1]) + f"\n{errors[-1].message}", errors[-1].hint
    whole = ModelicaSyntaxError(message, hint=hint, span=first.span, rule=first.rule)
    whole.faults = tuple(errors)
    return whole


def described(tokens: Tokens, i: int) -> str:
    """A token in words."""
    kind, text = tokens.kinds[i], tokens.texts[i]
    if kind == END_OF_FILE:
        return f"`{text}`" if text else "the end of the text"
    if kind == IDENT:
        return f"the name `{_short(text)}`"
    if kind in (INTEGER, REAL):
        return f"the number `{_short(text)}`"
    if kind == STRING:
        return f"the text {_short(text)}"
    if kind in KEYWORDS:
        return f"the keyword `{kind}`"
    return f"`{_short(text)}`"


def odd_fault(tokens: Tokens, i: int) -> SyntaxFault:
    """What is wrong with a token that is none."""
    text, place = tokens.texts[i], (tokens.starts[i], tokens.ends[i])
    first = text[0]
    message, rule, hint = "", "A.1", ""
    if text.startswith("/*"):
        message, rule, hint = "this comment has no end", "2.2", "end it with `*/`"
    elif first == '"':
        message, rule, hint = "this text has no end", "2.4.4", 'end it with `"`; a quote inside is written `\\"`'
    elif first == "'":
        message, rule = "this is no quoted name: it has no end, or characters that may not stand in one", "2.3.1"
        hint = "use printable ASCII characters between the two `'`"
    elif first.isalpha():
        message = f"the letter `{first}` may not stand in a name: only a to z, A to Z, digits and `_`"
        rule, hint = "2.3.1", "write it with plain letters"
    else:
        message = f"the character {first!r} has no meaning here"
        hint = _INSTEAD.get(first, "remove it")
    return SyntaxFault(tokens.source, (place[0], place[0] + min(len(text), 20)), message, hint=hint, rule=rule)


def nearest_keyword(tokens: Tokens, i: int) -> str:
    """A keyword that was probably meant by the name at this place, or nothing."""
    if tokens.kinds[i] != IDENT:
        return ""
    word = tokens.texts[i]
    if word.lower() in KEYWORDS:
        return word.lower()
    close = get_close_matches(word, KEYWORDS, 1, 0.8) if 2 < len(word) < 20 else []
    return close[0] if close else ""


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 30 else line[:29] + "…"
