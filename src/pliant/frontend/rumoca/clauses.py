"""What the source says about when-clauses and algorithm sections that rumoca's output leaves out.

rumoca lowers `when c then ... elsewhen d then ... end when` to statements with a condition each and drops that d
counts only where c did not become true. In an algorithm section it puts in the values that statements before have
set, but conditions and assertions read variables as they are at the end of the section, an `if` outside of
when-clauses looks like a `when`, and assignments are not listed in their order. All of this is found again by the
places of conditions and statements: a condition stands between `when`, `elsewhen`, `if` or `elseif` and `then`;
when-clauses are never nested, so the branch before an `elsewhen` begins at the `when` or `elsewhen` before it. A clause
of a class with several instances is there once per instance; the conditions of one instance follow each other.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from typing import Any

from pliant.errors import NotSupportedError
from pliant.frontend.rumoca.nodes import Nodes
from pliant.frontend.rumoca.spans import Spans

_HIDDEN = re.compile(rb"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\\n])*'""", re.DOTALL)
_WORDS = re.compile(
    rb"\bend\s+(?:if|for|while|when)\b"
    rb"|\b(?:(?P<when>when|elsewhen)|(?P<test>if|elseif|then)|(?P<section>equation|algorithm|public|protected))\b"
    rb"|(?P<class>\bend(?:\s+[\w.]+)?\s*;)"
)
Place = tuple[int, int]  # file, number of the `when` or `elsewhen` in it
Section = tuple[int, int]  # file, offset of the word `algorithm`


@dataclass
class _Words:
    """Where the words that matter stand in a file."""

    whens: list[int] = field(default_factory=list)
    is_else: list[bool] = field(default_factory=list)
    tests: list[int] = field(default_factory=list)  # all words before and behind conditions
    test_words: list[bytes] = field(default_factory=list)
    sections: list[int] = field(default_factory=list)
    is_algorithm: list[bool] = field(default_factory=list)


class Clauses:
    """Branches of when-clauses, named by the conditions that trigger them, and sections of statements."""

    def __init__(self, storage: dict[str, Any], nodes: Nodes, spans: Spans) -> None:
        self.storage, self.nodes, self.spans = storage, nodes, spans
        self.conditions = storage["conditions"]
        self.words: dict[int, _Words] = {}
        self.place: dict[int, Place] = {}  # condition -> its branch in the source
        self.at: dict[Place, list[int]] = {}  # the whole conditions there, one per instance
        for which in range(len(self.conditions)):
            self._enter(which)
        self.first: dict[Section, dict[int, int]] = {}  # variable -> where the section assigns to it first
        for position, provenance in self._assignments():
            section = self.section(provenance)
            if section is not None:
                start = provenance["span"]["start"]
                known = self.first.setdefault(section, {})
                known[position] = min(start, known.get(position, start))

    # ---------------------------------------------------------------------------------------- branches

    def earlier(self, trigger: int) -> list[int]:
        """Triggers of the branches before this one in its clause, the first branch first."""
        found: list[int] = []
        place = self.place.get(trigger)
        while place is not None and self._words(place[0]).is_else[place[1]]:
            place = (place[0], place[1] - 1)
            known = self.at.get(place, [])
            position = bisect_left(known, found[-1] if found else trigger)
            if not position:
                span = self.spans.of(self.conditions[trigger].get("provenance"))
                raise NotSupportedError(
                    f"{span or 'here'}: the condition before this `elsewhen` was not found",
                    hint="write separate when-clauses, the second with `and not ...` in its condition",
                )
            found.append(known[position - 1])
        return found[::-1]

    def is_level(self, trigger: int) -> bool:
        """The condition of an `if` outside of when-clauses: it acts as long as it holds."""
        if trigger in self.place:
            return False
        node, provenance = self.conditions[trigger]["node"], self.conditions[trigger].get("provenance") or {}
        if provenance.get("origin") != "source" and operands(node):
            return all(self.is_level(one) for one in operands(node))
        span = provenance.get("span")
        if not span or span["source"] not in self.spans.files:
            return False
        words = self._words(span["source"])
        number, open_thens = bisect_right(words.tests, span["start"]) - 1, 0
        while number >= 0 and (open_thens or words.test_words[number] == b"then"):  # over if-expressions before it
            open_thens += 1 if words.test_words[number] == b"then" else -1
            number -= 1
        return number >= 0 and words.test_words[number] in (b"if", b"elseif")

    def _enter(self, which: int) -> None:
        node = self.conditions[which]["node"]
        provenance = self.conditions[which].get("provenance") or {}
        if provenance.get("origin") != "source" and not (isinstance(node, dict) and "any_rise" in node):
            return  # the guard of an `if` inside the clause
        place = self._find(provenance.get("span"))
        if place is None:
            return
        known, inner = self.at.setdefault(place, []), operands(node)
        while known and known[-1] in inner:
            known.pop()
        known.append(which)
        self.place[which] = place

    def _find(self, span: dict[str, int] | None) -> Place | None:
        if not span or span["source"] not in self.spans.files:
            return None
        words = self._words(span["source"])
        number = bisect_right(words.whens, span["start"]) - 1
        if number < 0:
            return None
        behind = bisect_right(words.tests, words.whens[number])
        open_ifs = 0  # if-expressions inside the condition have a `then` of their own
        for word in words.test_words[behind : bisect_right(words.tests, span["start"])]:
            open_ifs += -1 if word == b"then" else 1
            if open_ifs < 0:
                return None  # not in the condition any more
        return span["source"], number

    # ---------------------------------------------------------------------------------------- sections

    def section(self, provenance: Any) -> Section | None:
        """The algorithm section of a statement or condition; None for equations."""
        span = provenance.get("span") if isinstance(provenance, dict) else None
        if not span or span["source"] not in self.spans.files:
            return None
        words = self._words(span["source"])
        number = bisect_right(words.sections, span["start"]) - 1
        if number < 0 or not words.is_algorithm[number]:
            return None
        return span["source"], words.sections[number]

    def unset(self, provenance: Any) -> frozenset[int]:
        """Variables that the section of this place assigns to, but not before it: they are still pre(v) there."""
        section = self.section(provenance)
        if section is None:
            return frozenset()
        start = provenance["span"]["start"]
        return frozenset(position for position, first in self.first.get(section, {}).items() if first >= start)

    def _assignments(self) -> list[tuple[int, Any]]:
        """(variable, place) of all assignments to discrete variables."""
        found = []
        for owner in self.storage["discrete_value_owners"]:
            for branch in owner["branches"]:
                for target, entry in zip(owner["targets"], branch["values"], strict=True):
                    if not is_retained(self.nodes, target, entry):
                        found.append((target, entry.get("provenance")))
        for row in self.storage["discrete_real_equations"]:
            left = self.nodes.raw[row["residual"]].get("lhs")
            if left is None:
                continue
            for number in self.nodes.reachable([left]):
                raw = self.nodes.raw[number]
                if self.nodes.kind[number] == "coordinate" and isinstance(raw, dict) and "discrete_real" in raw:
                    found.append((raw["discrete_real"], row.get("provenance")))
        return found

    # ------------------------------------------------------------------------------------------- words

    def _words(self, source: int) -> _Words:
        known = self.words.get(source)
        if known is None:
            known = self.words[source] = _Words()
            text = self.spans.files[source][1].encode("utf-8")
            plain = _HIDDEN.sub(lambda match: b" " * len(match.group()), text)
            for match in _WORDS.finditer(plain):
                word, start = match.group(), match.start()
                if match["when"]:
                    known.whens.append(start)
                    known.is_else.append(word == b"elsewhen")
                if match["when"] or match["test"]:
                    known.tests.append(start)
                    known.test_words.append(word)
                elif match["section"] or match["class"]:
                    known.sections.append(start)
                    known.is_algorithm.append(word == b"algorithm")
        return known


def operands(node: Any) -> list[int]:
    """Conditions that a condition is made of."""
    for kind in ("and", "or", "any_rise", "not"):
        inner = node.get(kind) if isinstance(node, dict) else None
        if inner is not None:
            return [inner] if isinstance(inner, int) else list(inner.values())
    return []


def is_retained(nodes: Nodes, target: int, entry: dict[str, Any]) -> bool:
    """A branch that does not set this one of its clause's variables: rumoca writes pre(v) for it."""
    provenance, value = entry.get("provenance") or {}, entry.get("value")
    return (
        provenance.get("origin") == {"generated": "discrete_update"}
        and isinstance(value, int)
        and nodes.raw[value] == {"pre_discrete_value": target}
    )
