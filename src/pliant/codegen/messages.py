"""Messages of a model with numbers in them, those of the time at which they are given: assertions, and what ends a run.

The numbers are computed by a function of the model of their own, which is called where a message is given and nowhere
else; the message stays in the instance.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pliant.codegen.arrays import VALUE, of_instance
from pliant.codegen.c_text import MESSAGE, c_place, filled, wrapped
from pliant.codegen.function import FunctionWriter
from pliant.codegen.places import Argument, Field, ValueKind, number
from pliant.codegen.plan import FunctionPlan, Target
from pliant.codegen.texts import statements
from pliant.expr.build import value_of
from pliant.texts import OPEN, OpenText, joined, operands_of, rewritten

if TYPE_CHECKING:
    from pliant.codegen.emit import Emitter
    from pliant.ir import Span


@dataclass(eq=False)
class _Group:
    """Messages with numbers: which number each has, which form, and where the numbers of its form stand."""

    numbers: list[int] = field(default_factory=list)
    forms: list[int] = field(default_factory=list)
    first: list[int] = field(default_factory=list)
    places: list[int] = field(default_factory=list)
    operands: dict[int, int] = field(default_factory=dict)  # expression -> its place in what `<group>_numbers` gives


class Messages:
    """Messages of one model with numbers in them: assertions and what ends a run at events.

    Many messages have the same form, those of all instances of a class: each form is written once.
    """

    def __init__(self, emitter: Emitter) -> None:
        self.e = emitter
        self.groups: dict[str, _Group] = {}
        self.forms: dict[str, int] = {}  # texts over places: from 0 on, or below 0 of a constant
        self.constants: dict[float, int] = {}
        self.most = 0  # numbers in a form

    @property
    def texts(self) -> list[str]:
        """All forms."""
        return [*self.forms]

    def prepare(self) -> None:
        """Functions for the numbers in messages of assertions, of those about parameters, and of events."""
        e = self.e
        self._group("check", [_message(one.words, one.span) for one in e.checks])
        early = [self._early(_message(one.words, one.span)) for one in e.parameter_checks]
        self._group("parameter", early, early=True)
        self._group("warning", [_message(one.words, one.span) for one in e.warnings])
        told = ("stop", "fail", "warn")
        self._group("action", [_message(one.words, one.span) if one.kind in told else "" for one in e.s.events.actions])

    def _early(self, text: str) -> str:
        """The text with "…" for what is not known yet when parameters are set."""
        if not isinstance(text, OpenText):
            return text
        is_known = self.e.is_known_early
        parts = (
            one if isinstance(one, str) else OpenText([one]) if all(map(is_known, one.operands)) else OPEN
            for one in text.parts
        )
        return joined(*parts)

    def _group(self, name: str, texts: list[str], *, early: bool = False) -> None:
        own = _Group()
        for k, text in enumerate(texts):
            if isinstance(text, OpenText):
                operands: list[int] = []
                form = rewritten(text, lambda e, operands=operands: self._place(e, operands))  # type: ignore[misc]
                own.numbers.append(k)
                own.forms.append(self.forms.setdefault(form, len(self.forms)))
                own.first.append(len(own.places))
                own.places += [own.operands.setdefault(e, len(own.operands)) for e in operands]
                self.most = max(self.most, len(operands))
        if not own.numbers:
            return
        self.groups[name] = own
        targets: list[Target] = [(VALUE.at(k), e) for e, k in own.operands.items()]
        plan = FunctionPlan(self.e.shared, [], [targets], hoist=False) if early else self.e.plan([targets])
        writer = FunctionWriter(self.e.c, f"{name}_numbers", plan, [Argument("value")], attribute="PL_ONCE")
        self.e.functions.append(writer.write())

    def _place(self, e: int, operands: list[int]) -> int:
        known = value_of(self.e.g, e)
        if known is not None:
            return -1 - self.constants.setdefault(known, len(self.constants))
        operands.append(e)
        return len(operands) - 1

    def fields(self) -> list[Field]:
        """Members of the instance."""
        if not self.groups:
            return []
        return [
            Field(of_instance("reported", ValueKind.TEXT), 1000, "the last message with values"),
            Field(of_instance("reported_error", ValueKind.INTEGER), None, "its number"),
        ]

    def head(self) -> list[str]:
        """What the texts need."""
        return ['#include "pliant_texts.h"'] if self.groups else []

    def _forms(self) -> str:
        """A function for each form, and one that calls them by number."""
        constants = list(self.constants)
        functions, cases = [], []

        def operand(place: int) -> str:
            return f"v[{place}]" if place >= 0 else number(constants[-1 - place])

        for form, k in self.forms.items():
            lines = statements(form, operand, self.e.c.foreign.number)
            functions += [
                f"static void message_form_{k}(model *m, pl_text *s, const pl_real *v) {{",
                "    (void)m, (void)v;",
                *lines,
                "}\n",
            ]
            cases += [f"    case {k}:", f"        message_form_{k}(m, s, v);", "        break;"]
        head = "static void message_form(model *m, int form, pl_text *s, const pl_real *v) {"
        return "\n".join([*functions, head, "    switch (form) {", *cases, "    }", "}\n"])

    def text(self, first: Mapping[str, int]) -> str:
        """The functions that give messages of a group, which are numbered from ``first`` on."""
        if not self.groups:
            return ""
        return "\n".join(
            [self._forms(), *(self._of_group(name, one, first[name]) for name, one in self.groups.items())]
        )

    def _of_group(self, name: str, own: _Group, first: int) -> str:
        lines = []
        for what, values in (("number", own.numbers), ("form", own.forms), ("first", [*own.first, len(own.places)])):
            lines.append(f"static const int {name}_text_{what}[] = {{{wrapped(list(map(str, values)), 30)}}};")
        lines.append(f"static const int {name}_text_place[] = {{{wrapped(list(map(str, own.places or [0])), 30)}}};\n")
        words = {
            "@name": name,
            "@n": len(own.numbers),
            "@all": max(len(own.operands), 1),
            "@most": max(self.most, 1),
            "@begin": first,
        }
        return "\n".join([*lines, filled(MESSAGE, words)])

    def call(self, name: str, k: str, indent: str, given: str = "t, x, u") -> str:
        """A statement that makes the message."""
        return f"{indent}{name}_message(m, {given}, {k});\n" if name in self.groups else ""

    def said(self) -> str:
        """What the text of an error begins with."""
        own = "((model *)self)"
        return (
            f"    if ({own}->error > 0 && {own}->error == {own}->reported_error) return {own}->reported;\n"
            if self.groups
            else ""
        )


def _message(words: str, span: Span | None) -> str:
    return joined(words, f" ({c_place(span)})") if span and operands_of(words) else words
