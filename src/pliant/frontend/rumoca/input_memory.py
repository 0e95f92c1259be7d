"""edge(u), change(u) and pre(u) of inputs of the model itself, which rumoca has no memory for.

A copy has one, and takes the value of the input at every event:

    input Boolean u;  equation  when edge(u) then      Boolean copy = u;  equation  when edge(copy) then

All is written in the line where it was, so that lines of the text stay the same.
"""

from __future__ import annotations

import re

from pliant.frontend.classes import classes, within, without_comments
from pliant.frontend.rumoca.samples import TICK

REFUSED = re.compile(r"must name a discrete coordinate|names an external input coordinate")
_CALL = re.compile(r"\b(?:edge|change|pre)\s*\(\s*(\w+)\s*(?:\[[^\[\]()]*\]\s*)?\)")
_SECTION = re.compile(r"\b(?:initial\s+)?(?:equation|algorithm)\b")
_DECLARED = re.compile(
    r"\b(?:input\s+(?:discrete\s+)?(?P<type>[\w.]+)|(?:[\w.]*\.)?(?P<block>Boolean|Integer)Input)"
    r"\s*(?P<sizes>\[[^\[\]]*\])?\s+(?P<names>[^;]*);"
)


def remembered_inputs(text: str, name: str) -> str | None:
    """The text with a copy of each input of class ``name`` whose past is asked for; None: there is none."""
    prefix = within(text)
    own = [one for one in classes(text) if name in (one.name, f"{prefix}.{one.name}")]
    if len(own) != 1:
        return None
    low, high = own[0].start, own[0].end
    plain = _alone(text, low, high)
    declared = _declared(plain)
    section = _SECTION.search(plain)
    calls = [found for found in _CALL.finditer(plain) if found[1] in declared]
    if section is None or not calls:
        return None
    names = list(dict.fromkeys(found[1] for found in calls))
    copies = {one: f"{TICK}Of{k}" for k, one in enumerate(names, 1)}
    edits = [(found.start(1), found.end(1), copies[found[1]]) for found in calls]
    new = "".join(f"public {declared[one][0]} {copies[one]}{declared[one][1]} = {one}; " for one in names)
    edits.append((section.start(), section.start(), new))
    for start, end, words in sorted(edits, reverse=True):
        text = text[:start] + words + text[end:]
    return text


def _alone(text: str, low: int, high: int) -> str:
    """The text of one class, everything else blanked out, places the same."""
    plain = without_comments(text)
    inner = [(one.start, one.end) for one in classes(text) if low < one.start < high]
    for start, end in [(0, low), (high, len(text)), *inner]:
        plain = plain[:start] + re.sub(r"[^\n]", " ", plain[start:end]) + plain[end:]
    return plain


def _declared(plain: str) -> dict[str, tuple[str, str]]:
    """Inputs by name: type and sizes."""
    out = {}
    for found in _DECLARED.finditer(plain):
        kind = found["type"] or found["block"]
        depth = re.sub(r"\([^()]*\)", "", re.sub(r"\([^()]*\)", "", found["names"]))
        for one in re.sub(r"\{[^{}]*\}", "", depth).split(","):
            word = re.match(r"\s*(\w+)\s*(\[[^\[\]]*\])?", one)
            if word:
                out[word[1]] = kind, word[2] or found["sizes"] or ""
    return out
