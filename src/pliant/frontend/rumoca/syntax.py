"""What is wrong with a text that rumoca cannot parse: it often points to the name of the class, or behind the place.

One pass over the words finds what is wrong on its own (characters, strings, comments, brackets), a second one over the
statements what people write from habit: `:=` in an equation, a declaration after `equation`, a keyword as a name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf

from pliant.frontend.words import CLASSES, COMMENT, KEYWORDS, PREFIXES, STRING

_ENDING = "equation algorithm public protected end"
LARGEST_INTEGER = 2**63
_TOKEN = re.compile(
    rf"""(?P<space>\s+)|(?P<comment>{COMMENT})|(?P<string>{STRING})|(?P<quoted>'(?:\\.|[^'\\\n])+')
    |(?P<word>[A-Za-z_]\w*)|(?P<number>\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)
    |(?P<open>"|'|/\*)|(?P<sign>:=|==|<>|<=|>=|\.\*|\.\+|\.-|\./|\.\^|[-+*/^=<>()\[\]{{}},;:.])|(?P<odd>.)""",
    re.DOTALL | re.VERBOSE | re.ASCII,
)
_CLOSING = {")": "(", "]": "[", "}": "{"}
_INSTEAD = {
    "!": "`not`, and `<>` for unequal",
    "&": "`and`",
    "|": "`or`",
    "%": "`mod(a, b)`",
    "−": "`-`",
    "–": "`-`",
    "·": "`*`",
    "×": "`*`",
    "≤": "`<=`",
    "≥": "`>=`",
    "≠": "`<>`",
    "“": '`"`',
    "”": '`"`',
    "„": '`"`',
    "’": "`'`",
    "²": "`^2`",
    "³": "`^3`",
}


@dataclass(frozen=True)
class Token:
    """A word, a sign or something that is neither."""

    kind: str
    text: str
    at: int


@dataclass(frozen=True)
class Fault:
    """What is wrong, where in the text, and what to try."""

    at: int
    message: str
    hint: str


def _tokens(text: str) -> list[Token]:
    return [
        Token(found.lastgroup or "", found.group(), found.start())
        for found in _TOKEN.finditer(text)
        if found.lastgroup not in ("space", "comment")
    ]


def find_number(text: str) -> Fault | None:
    """The first number that is too large for its type, or None."""
    for one in _tokens(text):
        if one.kind == "number" and one.text.isdigit() and int(one.text[:30]) >= LARGEST_INTEGER:
            return Fault(one.at, f"`{one.text}` is too large for an Integer", f"write it as a Real: {one.text}.0")
        if one.kind == "number" and float(one.text) == inf:
            hint = "the largest Real is 1.8e308; leave `max` out where there is no bound"
            return Fault(one.at, f"`{one.text}` is too large for a Real", hint)
    return None


def find_fault(text: str) -> Fault | None:
    """The first thing that is certainly wrong, or None."""
    tokens = _tokens(text)
    return _first(_characters(tokens)) or _brackets(tokens) or _first(_statements(tokens))


def _first(faults: Iterator[Fault]) -> Fault | None:
    return next(faults, None)


def _characters(tokens: Sequence[Token]) -> Iterator[Fault]:
    for one in tokens:
        if one.kind == "open":
            what = {'"': "string", "'": "quoted name", "/*": "comment"}[one.text]
            yield Fault(one.at, f"the {what} that begins here does not end", f"close it with `{_closed(one.text)}`")
        elif one.kind == "string" and (escape := re.search(r"\\(?![abfnrtv?\\'\"])", re.sub(r"\\\\", "  ", one.text))):
            told = f"`{one.text[escape.start() : escape.start() + 2]}` in a string has no meaning in Modelica"
            yield Fault(one.at + escape.start(), told, "a backslash is written twice")
        elif one.kind == "quoted" and not one.text.isascii():
            odd = next(c for c in one.text if not c.isascii())
            yield Fault(one.at, f"the quoted name {one.text} has the letter `{odd}`", "use letters of ASCII in names")
        elif one.kind == "odd":
            if one.text.isprintable() and one.text.isalpha():
                yield Fault(
                    one.at, f"`{one.text}` cannot be part of a name", "use letters of ASCII in names, e.g. alpha"
                )
            shown = f"`{one.text}`" if one.text.isprintable() else f"the character U+{ord(one.text):04X}"
            instead = _INSTEAD.get(one.text)
            yield Fault(one.at, f"{shown} has no meaning in Modelica", f"write {instead}" if instead else "remove it")


def _closed(mark: str) -> str:
    return "*/" if mark == "/*" else mark


def _brackets(tokens: Sequence[Token]) -> Fault | None:
    """Brackets that do not fit; within them no semicolon may stand, but in the arguments of none."""
    stack: list[Token] = []
    for one in tokens:
        if one.kind != "sign":
            continue
        if one.text in "([{":
            stack.append(one)
        elif one.text in _CLOSING:
            if not stack or stack[-1].text != _CLOSING[one.text]:
                opened = f"`{stack[-1].text}` is open" if stack else "no bracket is open"
                return Fault(one.at, f"`{one.text}` closes nothing: {opened}", "check the brackets of this statement")
            stack.pop()
        elif one.text == ";" and stack and stack[-1].text != "[":
            mark = stack[-1]
            return Fault(mark.at, f"the bracket `{mark.text}` that is opened here is not closed", "close it before `;`")
    if stack:
        return Fault(stack[-1].at, f"the bracket `{stack[-1].text}` that is opened here is not closed", "close it")
    return None


def _statements(tokens: Sequence[Token]) -> Iterator[Fault]:
    """Statements, each with the section in which it stands."""
    section, begin, depth = "", 0, 0
    for k, one in enumerate(tokens):
        after = tokens[k + 1] if k + 1 < len(tokens) else one
        if one.text in CLASSES and after.text in KEYWORDS - {*CLASSES, "extends"}:
            yield _keyword(after)
        depth += (one.text in "([{") - (one.text in ")]}") if one.kind == "sign" else 0
        if one.kind == "word" and depth == 0:
            if one.text in _ENDING.split():
                before = _without_header(tokens[begin:k])
                if before and before[-1].text != "initial":
                    last = before[-1].text
                    yield Fault(tokens[k - 1].at, f"a `;` is missing after `{last}`", f"write `{last};`")
            if one.text in ("equation", "algorithm"):
                section, begin = one.text, k + 1
            elif one.text in ("public", "protected") or (one.text == "end" and _ends_class(tokens, k)):
                section, begin = "", k + 1
            elif one.text == "while" and section == "equation":
                yield Fault(
                    one.at, "`while` stands in algorithm sections and functions only", "write `for`, or a function"
                )
            elif one.text in ("then", "else", "loop"):
                begin = k + 1
        if one.kind == "sign" and one.text == ";" and depth == 0:
            fault = _statement(tokens[begin:k], section)
            if fault:
                yield fault
            begin = k + 1


def _ends_class(tokens: Sequence[Token], k: int) -> bool:
    after = tokens[k + 1] if k + 1 < len(tokens) else None
    return after is not None and after.kind in ("word", "quoted") and after.text not in KEYWORDS


def _statement(words: Sequence[Token], section: str) -> Fault | None:
    if not words:
        return None
    signs = list(_outside(words))
    first = words[0]
    if section == "":
        return _declaration(words)
    if _is_name(first) and len(words) > 1 and _is_name(words[1]) and first.text[0].isupper():
        return Fault(
            first.at,
            f"`{first.text} {words[1].text}` is a declaration after `{section}`",
            f"move it before `{section}`",
        )
    if section == "equation" and ":=" in [one.text for one in signs]:
        at = next(one.at for one in signs if one.text == ":=")
        return Fault(at, "`:=` assigns, and stands in algorithm sections and functions only", "write `=`")
    if section == "algorithm" and first.text not in KEYWORDS:
        wrong = [one for one in signs if one.text in ("=", ":=")]
        if wrong and wrong[0].text == "=":
            return Fault(wrong[0].at, "`=` makes an equation; an algorithm section assigns", "write `:=`")
    return _expression(words)


def _declaration(words: Sequence[Token]) -> Fault | None:
    """[prefixes] type name ...: the name must be one, and only one type stands before it."""
    rest = _without_header(words)
    while rest and rest[0].text in PREFIXES:
        rest.pop(0)
    dotted: list[Token] = []
    while rest and (_is_name(rest[0]) or rest[0].text == "."):
        dotted.append(rest.pop(0))
        if rest and rest[0].text != "." and dotted[-1].text != ".":
            break
    if not dotted or not rest or not _is_name(dotted[0]):
        return None
    if rest[0].kind == "word" and rest[0].text in KEYWORDS:
        after = rest[1].text if len(rest) > 1 else ";"
        if after in ("(", "=", ",", "[", ";"):
            return _keyword(rest[0])
        return None
    if _is_name(rest[0]) and len(rest) > 2 and _is_name(rest[1]) and _is_name(rest[2]):
        return Fault(rest[0].at, f"a `;` is missing after `{rest[0].text}`", f"write `{rest[0].text};`")
    return None


def _keyword(one: Token) -> Fault:
    return Fault(one.at, f"`{one.text}` is a keyword and cannot be a name", f"choose another, or write `'{one.text}'`")


def _without_header(words: Sequence[Token]) -> list[Token]:
    """The words behind `model M "description"`, if they begin so."""
    rest = list(words)
    k = 0
    while k + 1 < len(rest) and rest[k].text in KEYWORDS:
        name = k + 2 if rest[k + 1].text == "extends" else k + 1
        if rest[k].text in CLASSES and name < len(rest) and _is_name(rest[name]):
            rest = _without_brackets(rest[name + 1 :])
            rest = rest[1:] if rest and rest[0].kind == "string" else rest
            k = -1
        k += 1
    return rest


def _without_brackets(words: list[Token]) -> list[Token]:
    """The words behind the modification with which they may begin."""
    depth = 0
    for k, one in enumerate(words):
        depth += (one.text in "([{") - (one.text in ")]}") if one.kind == "sign" else 0
        if depth == 0:
            return words[k + 1 :] if k else words
    return words


def _expression(words: Sequence[Token]) -> Fault | None:
    """Two operators or two values in a row."""
    for one, other in pairwise(words):
        if one.text == "*" and other.text == "*":
            return Fault(one.at, "`**` is not an operator of Modelica", "write `^`")
        if _is_value(one) and other.kind in ("word", "number", "quoted") and other.text not in KEYWORDS:
            return Fault(
                other.at,
                f"`{other.text}` follows `{one.text}` without an operator or `;`",
                "add what is missing between",
            )
    return None


def _outside(words: Sequence[Token]) -> Iterator[Token]:
    """Signs outside of brackets."""
    depth = 0
    for one in words:
        if one.kind != "sign":
            continue
        depth += (one.text in "([{") - (one.text in ")]}")
        if depth == 0:
            yield one


def _is_name(one: Token) -> bool:
    return one.kind == "quoted" or (one.kind == "word" and one.text not in KEYWORDS)


def _is_value(one: Token) -> bool:
    return _is_name(one) or one.kind == "number" or one.text in (")", "]", "}", "true", "false")
