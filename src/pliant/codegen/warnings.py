"""Assertions that warn: what the fixed text of ``pliant_warnings.h`` needs to know of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pliant.codegen.arrays import of_instance
from pliant.codegen.modes import defined
from pliant.codegen.places import Field, ValueKind

if TYPE_CHECKING:
    from pliant.codegen.emit import Emitter

ROOM = 4000  # bytes of what the events of one instant say


def warning_fields(emitter: Emitter) -> list[Field]:
    """Members of the instance; none where nothing warns."""
    at_events = any(one.kind == "warn" for one in emitter.s.events.actions)
    found: list[Field] = []
    if emitter.warnings:
        found.append(
            Field(of_instance("unmet", ValueKind.FLAG), len(emitter.warnings), "1: did not hold; 2: not reported yet")
        )
        found.append(Field(of_instance("warning", ValueKind.TEXT), 1000, "the last one with values"))
    if at_events:
        found += [
            Field(of_instance("told", ValueKind.TEXT), ROOM, "what events have to say, text after text"),
            Field(of_instance("told_used", ValueKind.INTEGER), None, "bytes of it"),
            Field(of_instance("told_next", ValueKind.INTEGER), None, "the first byte that was not given yet"),
        ]
    return found


def warnings_text(emitter: Emitter, first: int) -> str:
    """Numbers of pliant_warnings.h, then the header; ``first``: number of the first message."""
    words = {
        "N_WARNINGS": len(emitter.warnings),
        "WARNING_TEXT": first,
        "WARNING_MESSAGES": int("warning" in emitter.messages.groups),
        "TOLD_AT_EVENTS": int(any(one.kind == "warn" for one in emitter.s.events.actions)),
    }
    return defined(words) + '\n#include "pliant_warnings.h"\n'
