"""What a model does at events, for display: discrete variables and what changes them, clocks, resets, ends."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pliant.expr.build import variables_of
from pliant.ir import Span
from pliant.sorted_system import SortedSystem


@dataclass(frozen=True, slots=True)
class DiscreteInfo:
    """A variable that only events change; ``changes`` says when: clocks, conditions, or its own equation."""

    name: str
    changes: str
    span: Span | None = None

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"name": self.name, "changes": self.changes, **_place(self.span)}

    def __str__(self) -> str:
        return f"{self.name}  {self.changes}{_told(self.span)}"


@dataclass(frozen=True, slots=True)
class ClockInfo:
    """A clock that ticks at ``first + k * interval``."""

    number: int
    first: float
    interval: float
    span: Span | None = None

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"number": self.number, "first": self.first, "interval": self.interval, **_place(self.span)}

    def __str__(self) -> str:
        return f"clock {self.number}  every {self.interval:.9g} from t = {self.first:.9g}{_told(self.span)}"


@dataclass(frozen=True, slots=True)
class ActionInfo:
    """What an event does besides: ``kind`` is "reset" (of ``variable``), "stop", "fail" or "warn" (with
    ``message``), or "call" (of the function that ``message`` names).
    """

    kind: str
    variable: str
    message: str
    when: str
    span: Span | None = None

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        own = {"kind": self.kind, "variable": self.variable, "message": self.message, "when": self.when}
        return {**own, **_place(self.span)}

    def __str__(self) -> str:
        what = {
            "reset": f"resets {self.variable}",
            "stop": f'ends the run: "{self.message}"',
            "call": f"calls {self.message}",
            "warn": f'warns unless the assertion holds: "{self.message}"',
            "fail": f'fails unless the assertion holds: "{self.message}"',
        }
        return f"{what[self.kind]}  {self.when}{_told(self.span)}"


class Happenings:
    """The lists of all three, of one model."""

    def __init__(self, sorted_system: SortedSystem) -> None:
        self.graph, self.variables = sorted_system.system.graph, sorted_system.system.variables
        events = sorted_system.events
        self.clocks = [ClockInfo(k, c.first, c.interval, c.span) for k, c in enumerate(events.clocks, 1)]
        self.words = {clock.tick: f"at ticks of clock {k}" for k, clock in enumerate(events.clocks, 1)}
        if events.initial >= 0:
            self.words[events.initial] = "at the start"
        if events.terminal >= 0:
            self.words[events.terminal] = "at the end of the run"
        named = []
        for memory in events.memories:
            variable = self.variables[memory.variable]
            if variable.is_condition:
                self.words[memory.variable] = (
                    f"when {_line(memory.span)}" if memory.span else "when its condition holds"
                )
            elif not variable.name.startswith("$"):
                named.append(memory)
        self.discrete = [
            DiscreteInfo(self.variables[one.variable].name, self.changes(one.expression, one.span), one.span)
            for one in named
        ]
        self.actions = [
            ActionInfo(
                one.kind,
                self.variables[one.variable].name if one.variable >= 0 else "",
                str(one.message),
                self.changes(one.active, one.span),
                one.span,
            )
            for one in events.actions
        ]

    def changes(self, expression: int, span: Span | None) -> str:
        """What sets an expression off; the equation itself where it does not say."""
        inside = variables_of(self.graph, expression)
        starts = {v for v, word in self.words.items() if word == "at the start"}
        known = [v for v in sorted(inside) if v in self.words and v not in starts]
        if not known:
            known = sorted(inside & starts)
        told = list(dict.fromkeys(self.words[v] for v in known))
        return ", ".join(told) if told else _line(span) if span else "at any event"

    def lines(self, most: int) -> Iterator[str]:
        """For the summary."""
        for title, found in (
            ("Discrete variables", self.discrete),
            ("Clocks", self.clocks),
            ("At events the model", self.actions),
        ):
            if found:
                yield title
            yield from (f"  {one}" for one in found[:most])
            if len(found) > most:
                yield f"  and {len(found) - most} more"


def _line(span: Span) -> str:
    return " ".join(span.text.split())


def _told(span: Span | None) -> str:
    return f"  {span}" if span else ""


def _place(span: Span | None) -> dict[str, Any]:
    return {"file": span.file if span else None, "line": span.line if span else None}
