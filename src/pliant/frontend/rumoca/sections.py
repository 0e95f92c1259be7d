"""Algorithm sections taken apart into sections that rumoca can lower.

rumoca takes a section whole and refuses it when a statement reads what a when-clause before has set, or when it has
several continuous variables. Where every variable is set on one side of a place only, and nothing before that place
reads what is set behind it, two sections say the same as one:

    algorithm  when c then n := pre(n) + 1; end when;            algorithm  when c then n := pre(n) + 1; end when;
               when n > 3 then m := n; end when;          ->     algorithm  when n > 3 then m := n; end when;

Only the word `algorithm` is put in, so lines stay where they are. Functions have one section and are left alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from pliant.frontend.classes import classes, without_comments

_SECTION = re.compile(r"(?<!\w)(?P<initial>initial\s+)?algorithm\b")
_END = re.compile(
    r"\b(?:(?:initial\s+)?(?:equation|algorithm)|public|protected|annotation|external)\b"
    r"|\bend\s+(?!if\b|for\b|when\b|while\b)"
)
_TOKEN = re.compile(r":=|[;()\[\]{}]|\bend\s+(?:if|for|when|while)\b|\b(?:if|for|when|while)\b")
_NAME = r"(?:[A-Za-z_]\w*|'(?:\\.|[^'\\\n])*')"
_PATH = re.compile(rf"(?<![\w.']){_NAME}(?:\s*\.\s*{_NAME})*")
_BEFORE = re.compile(rf"\bpre\s*\(\s*{_NAME}(?:\s*\.\s*{_NAME})*\s*\)")
_TARGETS = re.compile(rf"(?:\([^()]*\)|{_NAME}(?:\s*\[[^\[\]]*\])?(?:\s*\.\s*{_NAME}(?:\s*\[[^\[\]]*\])?)*)\s*:=")


@dataclass
class _Statement:
    """A statement of a section: where it begins, what it sets and what it reads."""

    start: int
    sets: set[str]
    reads: set[str]


def split_sections(text: str) -> str:
    """The text with algorithm sections taken apart where that changes nothing; the same text if there is none."""
    plain = without_comments(text)
    places: list[int] = []
    functions = [one for one in classes(text) if one.kind == "function"]
    for match in _SECTION.finditer(plain):
        if not match["initial"] and not any(one.start < match.start() < one.end for one in functions):
            end = _END.search(plain, match.end())
            places += _cuts(_statements(plain, match.end(), end.start() if end else len(plain)))
    for place in sorted(places, reverse=True):
        text = f"{text[:place]}algorithm {text[place:]}"
    return text


def _statements(plain: str, start: int, end: int) -> list[_Statement]:
    """Top-level statements between two places; none if they cannot be separated."""
    found: list[_Statement] = []
    depth = brackets = 0
    in_value, begin = False, start
    for match in _TOKEN.finditer(plain, start, end):
        token = match.group()
        if token in "([{":
            brackets += 1
        elif token in ")]}":
            brackets -= 1
        elif token == ":=":
            in_value = True
        elif token == ";" and not brackets:
            in_value = False
            if depth == 0:
                found.append(_statement(plain, begin, match.end()))
                begin = match.end()
        elif token.startswith("end"):
            depth -= 1
        elif not in_value and not brackets:
            depth += 1
    return found if depth == 0 and not plain[begin:end].strip() else []


def _statement(plain: str, start: int, end: int) -> _Statement:
    start += len(plain[start:end]) - len(plain[start:end].lstrip())
    content = plain[start:end]
    sets: set[str] = set()
    for match in _TARGETS.finditer(content):
        sets |= _names(re.sub(r"\[[^\[\]]*\]", "", match.group()))
    return _Statement(start, sets, _names(_TARGETS.sub(_subscripts, _BEFORE.sub(" ", content))))


def _subscripts(match: re.Match[str]) -> str:
    return " ".join(re.findall(r"\[[^\[\]]*\]", match.group()))


def _names(content: str) -> set[str]:
    return {re.sub(r"\s", "", name) for name in _PATH.findall(content)}


def _cuts(statements: list[_Statement]) -> list[int]:
    """Where a new section may begin."""
    found = []
    for k in range(1, len(statements)):
        before, behind = statements[:k], statements[k:]
        late = {name for one in behind for name in one.sets}
        if not any((one.sets | one.reads) & late for one in before):
            found.append(statements[k].start)
    return found
