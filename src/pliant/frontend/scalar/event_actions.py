"""What events do besides setting memories: reinit, terminate, assertions, calls of functions for what they do."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING

from pliant.expr.build import const, logical_and, logical_not, value_of
from pliant.frontend.flat.expressions import NONE
from pliant.frontend.flat.model import FlatAssert, FlatInvoke, FlatItem, FlatReinit, FlatTerminate
from pliant.frontend.scalar.bounds import START
from pliant.frontend.scalar.frames import EventFrame, How
from pliant.frontend.scalar.interpret import paused_events
from pliant.frontend.scalar.open_texts import message_of
from pliant.frontend.scalar.values import scalars
from pliant.ir import Action, Check, StateSelect

if TYPE_CHECKING:
    from pliant.frontend.scalar.events import EventBuilder


class EventActions:
    """Collects those of one model."""

    def __init__(self, events: EventBuilder) -> None:
        self.events, self.run, self.g = events, events.run, events.g
        self.found: list[Action] = []

    def finish(self) -> None:
        """What shows when everything has been read."""
        self.take()
        self._perform()

    def invoked(self, item: FlatInvoke, under: tuple[EventFrame, ...]) -> None:
        """A call for what it does."""
        active = self.events.active(under)
        assert self.run.bounds is not None
        impure = self.run.impure
        where = self.run.bounds.within(How(under, item.span))
        with where, impure.reached_where(lambda: active), impure.for_effect(), self.run.under_condition(active):
            self.run.again(item.call)

    def fails(self, check: Check, *, at_start: bool = False) -> None:
        """What must hold at events, where its condition says that it is reached, or once start values are found."""
        word = "fail" if check.is_error else "warn"
        active = logical_not(self.g, check.condition)
        active = logical_and(self.g, self.events.d.is_initial(), active) if at_start else active
        self.found.append(Action(word, active, message=check.message, span=check.span, is_index=check.is_index))

    def _perform(self) -> None:
        """Calls for what they do, in order."""
        for node in self.run.impure.performed:
            call, active = self.g.nodes[node][1], self.g.nodes[node][3]
            if value_of(self.g, active) is None:
                self.found.append(Action("call", active, value=node, message=call.name, span=call.span))
            else:
                self.events.symbols.notes.append(
                    f"{call.span}: a call of `{call.name}` outside of when-clauses is not made"
                )

    def action(self, item: FlatItem, under: tuple[EventFrame, ...]) -> None:
        """reinit, terminate or an assertion in a when-clause."""
        assert self.run.bounds is not None
        active = self.events.active(under)
        with self.run.bounds.within(How(under, item.span)):
            self.act(item, active)

    def act(self, item: FlatItem, active: int) -> None:
        """The same where its condition is known."""
        with self.run.impure.reached_where(lambda: active):
            self._acts(item, active)

    def _acts(self, item: FlatItem, active: int) -> None:
        if isinstance(item, FlatReinit):
            states = scalars(self.run.value(item.state))
            values = scalars(self.run.value(item.value))
            for state, value in zip(states, values if len(values) > 1 else values * len(states), strict=True):
                number = self.g.nodes[state][1]
                self.events.symbols.change(number, state_select=StateSelect.ALWAYS)
                self.found.append(Action("reset", active, number, value, span=item.span))
            return
        assert isinstance(item, (FlatAssert, FlatTerminate))
        if isinstance(item, FlatAssert):
            with nullcontext() if item.is_error else paused_events(self.run):  # warnings do not change a run
                active = logical_and(self.g, active, logical_not(self.g, self.run.scalar(item.condition)))
        with paused_events(self.run):
            message = message_of(self.run, item.message)
        word = "stop" if isinstance(item, FlatTerminate) else "fail" if item.is_error else "warn"
        self.found.append(Action(word, active, message=message, span=item.span))

    def take(self) -> None:
        """What was added since: what must hold of indices, and what functions demand, where events act."""
        assert self.run.bounds is not None
        added, self.run.bounds.acting = self.run.bounds.acting, []
        for where, check in added:
            active = const(self.g, 1.0)
            if where is START:
                active = self.events.d.is_initial()
            elif isinstance(where, How):
                active = self.events.active(where.under) if where.active == NONE else where.active
            elif isinstance(where, int):
                active = self.events.d.tick(where, check.span)
            is_index = check.is_index
            held = self.run.bounds.finished(check) if is_index else check
            active = logical_and(self.g, active, logical_not(self.g, held.condition))
            word = "fail" if check.is_error else "warn"
            said = Action(word, active, message=check.message, span=check.span)
            self.found.append(replace(said, is_index=is_index, in_function=not is_index))
