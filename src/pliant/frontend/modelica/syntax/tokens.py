"""Text to tokens: one regular expression, applied once (Appendix A.1 of the specification).

`findall` gives pairs of what is skipped and what is meant, without a step of Python per token; places follow from the
lengths. The kind of a token is its own text for keywords and symbols, else one of the constants below. Token `stop`
and those behind it, so that one may look ahead, are of kind END_OF_FILE; their text says what ends (`end M`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import accumulate, chain
from typing import Final

from pliant.frontend.modelica.syntax.source import Source

IDENT: Final = "identifier"
INTEGER: Final = "integer"
REAL: Final = "real"
STRING: Final = "string"
ODD: Final = "odd"  # in no token: a character that is not Modelica's, or a string or comment without an end
END_OF_FILE: Final = "end of file"

KEYWORDS: Final = frozenset(
    [
        "algorithm",
        "and",
        "annotation",
        "block",
        "break",
        "class",
        "connect",
        "connector",
        "constant",
        "constrainedby",
        "der",
        "discrete",
        "each",
        "else",
        "elseif",
        "elsewhen",
        "encapsulated",
        "end",
        "enumeration",
        "equation",
        "expandable",
        "extends",
        "external",
        "false",
        "final",
        "flow",
        "for",
        "function",
        "if",
        "import",
        "impure",
        "in",
        "initial",
        "inner",
        "input",
        "loop",
        "model",
        "not",
        "operator",
        "or",
        "outer",
        "output",
        "package",
        "parameter",
        "partial",
        "protected",
        "public",
        "pure",
        "record",
        "redeclare",
        "replaceable",
        "return",
        "stream",
        "then",
        "true",
        "type",
        "when",
        "while",
        "within",
    ]
)

# never taken back in part: what follows would be found inside of a comment
SKIPPED: Final = r"(?:[ \t\r\n]++|//[^\n]*+|/\*[^*]*+\*++(?:[^/*][^*]*+\*++)*+/)*+"
_TOKEN = re.compile(
    rf"""({SKIPPED})
    ([A-Za-z_][A-Za-z_0-9]*
    |[(){{}}\[\],;]
    |\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?
    |"[^"\\]*(?:\\.[^"\\]*)*"
    |'(?:[^'"\\\x00-\x1f\x7f-\U0010ffff`]|"|\\['"?\\abfnrtv])*'
    |/\*.*|".*
    |:=|==|<>|<=|>=|\.[-*+/^]|[-+*/^=<>:.]
    |.
    |\Z)""",
    re.VERBOSE | re.DOTALL | re.ASCII,
)
_AHEAD: Final = 3  # as far as the parser looks
_ESCAPES: Final = {
    "'": "'",
    '"': '"',
    "?": "?",
    "\\": "\\",
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
}
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


class _Kinds(dict[str, str]):
    """Token -> kind. Identifiers are remembered, which is what makes it fast; texts and numbers are not."""

    def __missing__(self, token: str) -> str:
        first = token[:1]
        if not first:
            return END_OF_FILE
        if first.isidentifier() and first.isascii():
            self[token] = IDENT
            return IDENT
        if first.isdigit() and first.isascii():
            return INTEGER if token.isdigit() else REAL
        if first == ".":
            return REAL
        if len(token) > 1 and token[-1] == first:
            if first == '"' and _is_closed(token):
                return STRING
            if first == "'":
                self[token] = IDENT
                return IDENT
        return ODD


def _is_closed(token: str) -> bool:
    """The quote at the end of a text is not escaped."""
    end = token[1:-1]
    return (len(end) - len(end.rstrip("\\"))) % 2 == 0


_SYMBOLS = [
    "(",
    ")",
    "{",
    "}",
    "[",
    "]",
    ",",
    ";",
    ":=",
    "==",
    "<>",
    "<=",
    ">=",
    ".*",
    ".+",
    ".-",
    "./",
    ".^",
    "+",
    "-",
    "*",
    "/",
    "^",
    "=",
    "<",
    ">",
    ":",
    ".",
]
_KINDS = _Kinds({one: one for one in (*KEYWORDS, *_SYMBOLS)})


class Tokens:
    """The tokens of a source as lists side by side."""

    __slots__ = ("ends", "kinds", "source", "starts", "stop", "texts")

    def __init__(self, source: Source, ranges: Sequence[tuple[int, int]], closing: str) -> None:
        self.source = source
        self.texts: list[str] = []
        self.starts: list[int] = []
        self.ends: list[int] = []
        for start, end in ranges:
            pieces = list(chain.from_iterable(_TOKEN.findall(source.text, start, end)))
            while len(pieces) > 1 and not pieces[-1]:
                del pieces[-2:]  # the end of the range, found twice where something is skipped before it
            places = list(accumulate(map(len, pieces), initial=start))
            self.texts += pieces[1::2]
            self.starts += places[1::2]
            self.ends += places[2::2]
        self.kinds: list[str] = list(map(_KINDS.__getitem__, self.texts))
        self.stop = len(self.kinds)
        self.texts += [closing] * _AHEAD
        self.starts += [ranges[-1][1]] * _AHEAD
        self.ends += [ranges[-1][1]] * _AHEAD
        self.kinds += [END_OF_FILE] * _AHEAD


def string_value(token: str) -> str:
    """The text that a STRING stands for; ValueError names an escape that Modelica does not have."""
    inner = token[1:-1]
    if "\\" not in inner:
        return inner
    return _ESCAPE.sub(_escaped, inner)


def _escaped(match: re.Match[str]) -> str:
    found = _ESCAPES.get(match[1])
    if found is None:
        raise ValueError(f"\\{match[1]}")
    return found


def quoted(text: str) -> str:
    """A text as a STRING."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
