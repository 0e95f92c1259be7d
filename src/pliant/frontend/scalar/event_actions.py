"""What events do besides setting memories: reinit, terminate, assertions, calls of functions for what they do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

from pliant.expr.build import const, logical_and, logical_not, value_of
from pliant.frontend.flat.expressions import NONE
from pliant.frontend.flat.model import FlatAssert, FlatInvoke, FlatItem, FlatReinit, FlatTerminate
from pliant.frontend.scalar.dependence import PARAM
from pliant.frontend.scalar.frames import EventFrame, How
from pliant.frontend.scalar.interpret import paused_events
from pliant.frontend.scalar.open_texts import message_of
from pliant.frontend.scalar.routines import Demand
from pliant.frontend.scalar.values import scalars
from pliant.ir import Action, Check, StateSelect

if TYPE_CHECKING:
    from pliant.frontend.scalar.events import EventBuilder
    from pliant.frontend.scalar.functions import Calls


class EventActions:
    """Collects those of one model."""

    def __init__(self, events: EventBuilder) -> None:
        self.events, self.run, self.g, self.nodes = events, events.run, events.g, events.nodes
        self.found: list[Action] = []

    def finish(self) -> None:
        """What shows when everything has been read."""
        self._indices()
        self._perform()

    def invoked(self, item: FlatInvoke, under: tuple[EventFrame, ...]) -> None:
        """A call for what it does."""
        active = self.events.active(under)
        assert self.run.bounds is not None
        impure = self.run.impure
        with self.run.bounds.within(How(under, item.span)), impure.reached_where(lambda: active), impure.for_effect():
            calls: Calls = self.run.call  # type: ignore[assignment]
            with self.run.under_condition(active), calls.acting() as checks:
                self.run.again(item.call)
        self.demand(checks)

    @contextmanager
    def where(self, clause: Callable[[], int] | None) -> Iterator[None]:
        """What functions that are called here demand counts at events, where an expression says so; None: always."""
        if clause is None:
            yield
            return
        calls: Calls = self.run.call  # type: ignore[assignment]
        with calls.acting() as checks:
            yield
        if checks:
            self.demand(checks, clause())

    @contextmanager
    def at_start(self) -> Iterator[None]:
        """The same at the start alone; what parameters decide is a matter of these."""
        calls: Calls = self.run.call  # type: ignore[assignment]
        with calls.acting() as checks:
            yield
        moving = [one for one in checks if self.run.masks.of(one.condition) & ~PARAM]
        for one in checks:
            if one not in moving:
                calls.require(Demand(one))
        if moving:
            self.demand(moving, self.events.d.is_initial())

    def demand(self, checks: list[Check], active: int | None = None) -> None:
        """What functions that are called at events demand, where they are reached; ``active``: and this holds."""
        for one in checks:
            word = "fail" if one.is_error else "warn"
            fails = logical_not(self.g, one.condition)
            fails = fails if active is None else logical_and(self.g, active, fails)
            self.found.append(Action(word, fails, message=one.message, span=one.span, in_function=True))

    def fails(self, check: Check) -> None:
        """What must hold at events, where its condition says that it is reached."""
        word = "fail" if check.is_error else "warn"
        active = logical_not(self.g, check.condition)
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
        with self.run.bounds.within(How(under, item.span)):
            self.act(item, self.events.active(under))

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

    def _indices(self) -> None:
        """What must hold of indices where something acts at events."""
        assert self.run.bounds is not None
        for where, check in self.run.bounds.acting:
            active = const(self.g, 1.0)
            if isinstance(where, How):
                active = self.events.active(where.under) if where.active == NONE else where.active
            elif isinstance(where, int):
                active = self.events.d.tick(where, check.span)
            outside = logical_not(self.g, self.run.bounds.finished(check).condition)
            active = logical_and(self.g, active, outside)
            self.found.append(Action("fail", active, message=check.message, span=check.span, is_index=True))
