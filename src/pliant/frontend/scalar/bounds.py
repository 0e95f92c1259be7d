"""Indices that are known only while simulating: what must hold of them, and when.

A value is chosen among all elements, so that a trial step may come across any index. At points that are accepted the
index must be one of the array, where the expression is reached: its branch is taken, its when-clause acts, its clock
ticks. Where a relation has turned and its event has not come yet, the expression is reached if both say so, the
relation as the event left it and as it is now.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pliant.expr.build import binary, const, logical_and, logical_not, logical_or, value_of
from pliant.expr.evaluate import expand_relations
from pliant.frontend.flat.expressions import FlatIndex, LocalRef, VariableRef
from pliant.frontend.flat.types import BaseType
from pliant.frontend.scalar.open_texts import plain_number
from pliant.ir import Check, Op, Span
from pliant.texts import TOLD, joined

if TYPE_CHECKING:
    from pliant.frontend.scalar.functions import Calls
    from pliant.frontend.scalar.interpret import Interpreter


EVENTS = object()  # where a when-clause of an algorithm section acts: its conditions say so
START = object()  # at the start only: initial equations and initial algorithms


class IndexBounds:
    """Collects the checks of a model."""

    def __init__(self, run: Interpreter, calls: Calls) -> None:
        self.run, self.g, self.calls = run, run.g, calls
        self.checks: list[Check] = []
        self.acting: list[tuple[Any, Check]] = []  # those of what acts at events: where it stands, and the check
        self.where: Any = None  # None: always; else what tells when it acts
        self.base = (0, 0)  # conditions around that are none of what is evaluated
        self.lives: list[int] = []  # whether the statement is reached

    # ------------------------------------------------------------------------------------------------- where

    @contextmanager
    def within(self, where: Any) -> Iterator[None]:
        """What is evaluated here counts when something acts at an event."""
        before, self.where = self.where, where
        try:
            yield
        finally:
            self.where = before

    @contextmanager
    def aside(self) -> Iterator[None]:
        """What is evaluated here has a meaning of its own: conditions around the reader do not count."""
        before = self.base, self.lives, self.where
        self.base, self.lives, self.where = (len(self.run.conditions), self.run.guarded), [], None
        try:
            yield
        finally:
            self.base, self.lives, self.where = before

    @contextmanager
    def statement(self, live: int) -> Iterator[None]:
        """A statement that is reached where no `break` or `return` was."""
        is_open = value_of(self.g, live) is None
        if is_open:
            self.lives.append(live)
        try:
            yield
        finally:
            if is_open:
                self.lives.pop()

    @contextmanager
    def in_turn(self) -> Iterator[None]:
        """In the turns of a loop that stays one nothing around it counts."""
        before = self.base, self.lives
        self.base, self.lives = (len(self.run.conditions), self.run.guarded), []
        try:
            yield
        finally:
            self.base, self.lives = before

    # ------------------------------------------------------------------------------------------------ checks

    def demand(self, index: int, size: int, number: int, axis: int) -> None:
        """The index of a dimension has to be from 1 to its size."""
        node, tape = self.run.nodes[number], self.run.tape
        if self._is_aside() or self._is_inside(index, size):
            return
        of = tape.types[node.subscripts[axis]] if isinstance(node, FlatIndex) and axis < len(node.subscripts) else None
        if of is not None and of.base in (BaseType.ENUMERATION, BaseType.BOOLEAN):
            return
        self.between(index, (1, size), self._text(number, size, axis), tape.spans[number])

    def enumerated(self, e: int, size: int, name: str, span: Span | None) -> None:
        """E(e) has to be one of the values of E."""
        if not self._is_aside() and not self._is_inside(e, size):
            self.between(e, (1, size), f"the number of a value of `{name}` is outside of 1 to {size}", span)

    def _is_aside(self) -> bool:
        """What is evaluated now is the body of a function that says nothing."""
        return bool(self.calls.building) and self.calls.routines.demands is None

    def between(self, e: int, ends: tuple[float, float], text: str, span: Span | None) -> None:
        """A value has to be between two numbers where the expression is reached; the message shows it."""
        g = self.g
        low, high = binary(g, Op.LE, const(g, ends[0]), e), binary(g, Op.LE, e, const(g, ends[1]))
        said = joined(text, TOLD, plain_number(g, e))
        self.emit(Check(logical_and(g, low, high), said, True, span, True))

    def broken(self, text: str, number: int) -> None:
        """An index that is known lies outside: the place may not be reached."""
        self.emit(Check(const(self.g, 0.0), text, True, self.run.tape.spans[number], True))

    def emit(self, check: Check) -> None:
        """What must hold where the expression is reached: of the model, or of the function or loop that is made."""
        reached = self._reached()
        if reached is None or value_of(self.g, reached) == 0.0:
            return
        check = replace(check, condition=logical_or(self.g, logical_not(self.g, reached), check.condition))
        if value_of(self.g, check.condition):
            return
        if not self.calls.routines.asserted(check):
            self.keep(check)

    @property
    def acts(self) -> bool:
        """What is evaluated now counts when something acts at an event."""
        return self.where is not None

    def keep(self, check: Check) -> None:
        """A check of the model, of an index or of a function that is called: it counts where the expression stands."""
        if self.where is None:
            self.checks.append(check)
        else:
            self.acting.append((self.where, check))

    def _reached(self) -> int | None:
        conditions, guarded = self.run.conditions[self.base[0] :], self.run.guarded - self.base[1]
        if len(conditions) < guarded:
            return None
        found = const(self.g, 1.0)
        for one in (*conditions, *self.lives):
            found = logical_and(self.g, found, one)
        return found

    def _is_inside(self, e: int, size: int) -> bool:
        """All values that it may have are inside: literals, and choices between them."""
        stack = [e]
        while stack:
            node = self.g.nodes[stack.pop()]
            if node[0] == Op.IF:
                stack += node[2:4]
            elif node[0] != Op.CONST or not 1 <= node[1] <= size:
                return False
        return True

    def _text(self, number: int, size: int, axis: int) -> str:
        node, tape = self.run.nodes[number], self.run.tape
        name, place, rank = "an array", "", 1
        if isinstance(node, FlatIndex):
            base, span = self.run.nodes[node.base], tape.spans[number]
            rank = len(tape.types[node.base].shape)
            if isinstance(base, VariableRef):
                name = f"`{tape.variables[base.variable].name}`"
            elif isinstance(base, LocalRef):
                own = tape.flat.functions[base.function]
                name = f"`{own.locals[base.number].name}` in function `{own.name}`"
            elif span is not None:
                name = f"`{' '.join(span.text.split())[:60]}`"
            written = tape.spans[node.subscripts[axis]] if axis < len(node.subscripts) else None
            if written is not None and written.text:
                place = f" `{' '.join(written.text.split())[:60]}`"
        if rank > 1:
            place += f" of dimension {axis + 1}"
        return f"the index{place} of {name} is outside of 1 to {size}"

    def finished(self, check: Check) -> Check:
        """The check over relations as events left them, or as they are now: either may hold."""
        now = expand_relations(self.g, [check.condition], self.run.relations)[0]
        return replace(check, condition=logical_or(self.g, check.condition, now))
