"""Items inside of when, if and for, with the conditions around them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pliant.errors import NotSupportedError
from pliant.frontend.flat.expressions import NONE, FlatBuiltin, FlatLoop
from pliant.frontend.flat.model import FlatFor, FlatIf, FlatItem, FlatWhen
from pliant.ir import Span


@dataclass(frozen=True)
class EventFrame:
    """A condition around an item, and those that must not hold, or become true, for it: branches before."""

    condition: int  # NONE: `else`
    span: Span | None
    is_when: bool
    before: tuple[tuple[int, Span | None], ...] = ()


def is_the_end(nodes: Sequence[object], condition: int) -> bool:
    """Nothing of a run depends on what is done under `terminal()`, behind the last result."""
    node = nodes[condition] if condition != NONE else None
    return isinstance(node, FlatBuiltin) and node.name == "terminal"


def left_out(span: Span | None, error: NotSupportedError) -> str:
    """The note about what cannot be done there."""
    return f"{span}: what is done at the end of the run, terminal(), is left out: {error.message}"


def framed(
    items: tuple[FlatItem, ...], over: Callable[[tuple[FlatLoop, ...]], Iterator[Any]]
) -> Iterator[tuple[FlatItem, tuple[EventFrame, ...]]]:
    """Items inside of when, if and for, in order, with the conditions around them, and once for each point of a loop.

    What an item means at a point must be asked for before the next one is taken.
    """
    return _framed(items, (), over)


def _framed(
    items: tuple[FlatItem, ...], under: tuple[EventFrame, ...], over: Callable[[tuple[FlatLoop, ...]], Iterator[Any]]
) -> Iterator[tuple[FlatItem, tuple[EventFrame, ...]]]:
    for item in items:
        if isinstance(item, FlatFor):
            for _ in over(item.loops):
                yield from _framed(item.body, under, over)
            continue
        if not isinstance(item, (FlatWhen, FlatIf)):
            yield item, under
            continue
        before: tuple[tuple[int, Span | None], ...] = ()
        for branch in item.branches:
            frame = EventFrame(branch.condition, branch.span, isinstance(item, FlatWhen), before)
            yield from _framed(branch.body, (*under, frame), over)
            before = (*before, (branch.condition, branch.span))
        if isinstance(item, FlatIf):
            frame = EventFrame(NONE, item.span, False, before)
            yield from _framed(item.otherwise, (*under, frame), over)


@dataclass(frozen=True)
class How:
    """When and where a variable is set."""

    under: tuple[EventFrame, ...]
    span: Span | None
    order: int | None = None  # of a statement in its algorithm section
    active: int = NONE  # whether everything around it says so, where that is known already
