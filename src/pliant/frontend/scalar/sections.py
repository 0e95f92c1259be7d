"""Algorithm sections that are more than assignments to discrete variables: run once, from values to values.

    x := f(x0, others); ...    x = F(others)

What changes at events only begins as ``pre(v)``, everything else at its start value (specification 3.6, section
11.1.2). What a section leaves is the right side of one equation for each variable that it sets. A when-clause inside
counts where its condition rises, and the variables it sets keep what they had otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING

from pliant.errors import ModelError, NotSupportedError
from pliant.expr.build import const, logical_and, logical_not, logical_or, value_of
from pliant.frontend.flat.expressions import VariableRef
from pliant.frontend.flat.model import (
    FlatAlgorithm,
    FlatAssert,
    FlatFor,
    FlatInvoke,
    FlatItem,
    FlatReinit,
    FlatTerminate,
    FlatWhen,
    FlatWhile,
    walk,
)
from pliant.frontend.flat.types import BaseType
from pliant.frontend.scalar.bounds import EVENTS, START
from pliant.frontend.scalar.dependence import TIME, UNKNOWN
from pliant.frontend.scalar.frames import is_the_end, left_out
from pliant.frontend.scalar.interpret import paused_events
from pliant.frontend.scalar.loops import run_as_loop
from pliant.frontend.scalar.open_texts import message_of, shown_now
from pliant.frontend.scalar.statements import BodyRunner, too_long
from pliant.frontend.scalar.symbols import is_discrete, is_parameter
from pliant.frontend.scalar.tape import targets_of
from pliant.frontend.scalar.values import Arr, Value, difference, leaves, scalars
from pliant.ir import Check, Equation, Span

if TYPE_CHECKING:
    from pliant.frontend.scalar.discrete import Discretes
    from pliant.frontend.scalar.events import EventBuilder
    from pliant.frontend.scalar.functions import Calls

Placed = Callable[[Span | None], object]


class SectionRunner(BodyRunner):
    """The statements of one section."""

    def __init__(
        self, owner: AlgorithmSections, store: dict[int, Value | None], name: str, *, is_initial: bool
    ) -> None:
        super().__init__(owner.d.run, store, name)
        self.owner, self.is_initial = owner, is_initial
        self.in_when = False

    def place(self, e: int) -> int | None:
        """The variable."""
        node = self.run.nodes[e]
        return node.variable if isinstance(node, VariableRef) else None

    def default(self, k: int) -> Value:
        """Every variable has a value from the start."""
        raise AssertionError(k)

    def when(self, item: FlatWhen) -> None:
        """Every variable as the branch leaves it whose condition rises."""
        g, events = self.g, self.owner.events
        before = self.state()
        results = []
        none = const(g, 1.0)
        for branch in item.branches:
            rises = events.rise(branch.condition, branch.span)
            active = logical_and(g, none, rises)
            self.in_when = self.run.acting = True
            try:
                with self.bounds.within(EVENTS):
                    results.append((rises, self.after(branch.body, before, active)))
            except NotSupportedError as error:
                if not is_the_end(self.run.nodes, branch.condition):
                    raise
                self.owner.d.symbols.notes.append(left_out(branch.span, error))
            finally:
                self.in_when = self.run.acting = False
            none = logical_and(g, none, logical_not(g, rises))
        found = before
        for rises, other in reversed(results):
            found = self.merged(rises, other, found)
        self.restore(found)

    # ---------------------------------------------------------------------------- loops whose ends are not known

    def as_loop(self, goes_on: Callable[[int], int], body: tuple[FlatItem, ...], item: FlatWhile | FlatFor) -> bool:
        """Where its statements can be those of a function."""
        if any(isinstance(one, (FlatInvoke, FlatReinit, FlatTerminate, FlatWhen)) for one in walk(body)):
            return False
        before = self.traces, self.inner_jumps
        self.traces, self.inner_jumps = not self.in_when, ()
        found: tuple[int, ...] = ()
        try:
            with self.run.impure.tried(), paused_events(self.run):
                is_loop = run_as_loop(self, goes_on, body, item)
            found = self.inner_jumps if is_loop else ()
            return is_loop
        finally:
            self.traces, self.inner_jumps = before[0], before[1] + found

    def _many_turns(self, item: FlatFor) -> bool:
        """Loops whose ends are known are written out, but in the turns of one that is not."""
        return self.owner.calls.routines.in_loops > 0 and super()._many_turns(item)

    def invoke(self, item: FlatInvoke) -> None:
        """At the start, or where a when-clause acts; what cannot be called is noted: nothing depends on it."""
        impure = self.run.impure
        initially = impure.reached_where(self.owner.d.is_initial, follows=True) if self.is_initial else nullcontext()
        try:
            with initially, impure.only_where(self.live):
                super().invoke(item)
        except NotSupportedError as error:
            self.owner.d.symbols.notes.append(f"{item.span}: a call is not made: {error.message}")

    def symbol(self) -> int:
        """A new one."""
        return self.owner.calls.routines.symbol()

    def inside_loop(self) -> AbstractContextManager[list[Check]]:
        """What functions that are called there demand."""
        return self.owner.calls.routines.inside_loop()

    def demand(self, check: Check) -> None:
        """Of the model, of its when-clause, or of the turn of the loop around."""
        if check.is_index:
            self.bounds.emit(check)
            return
        reached = logical_and(self.g, self.path, self.live)
        check = replace(check, condition=logical_or(self.g, logical_not(self.g, reached), check.condition))
        if value_of(self.g, check.condition) or self.owner.calls.routines.asserted(check):
            return
        if self.in_when:
            self.owner.events.actions.fails(check)
        elif self.is_initial:
            self.owner.events.actions.fails(check, at_start=True)
        else:
            self.owner.checks.append(check)

    def traced(self, jumps: int, reads: list[int], item: FlatWhile | FlatFor) -> None:
        """Where something in a loop jumps there is an event, so that what changes at events only follows."""
        if self.owner.calls.routines.in_loops:
            self.inner_jumps += (jumps,)
        elif any(self.run.masks.of(e) & (TIME | UNKNOWN) for e in reads):
            self.owner.events.floor(jumps, item.span)

    def check(self, item: FlatAssert) -> None:
        """Where the statement is reached its condition must hold."""
        g, in_loop = self.g, self.owner.calls.routines.in_loops > 0
        reached = logical_and(g, self.path, self.live)
        if self.in_when and not in_loop:
            self.owner.events.actions.act(item, reached)
            return
        with paused_events(self.run):
            condition = self.run.scalar(item.condition)
        holds = logical_or(g, logical_not(g, reached), condition)
        known = value_of(g, holds)
        if known:
            return
        with paused_events(self.run):
            message = message_of(self.run, item.message)
        if known is None or in_loop or not item.is_error:
            self.demand(Check(condition, message, item.is_error, item.span))
        else:
            text = shown_now(self.run, message)
            raise ModelError(f"assertion fails: {text}", hint="change the parameters that it names")

    def ended(self, condition: int, item: FlatWhile | FlatFor, turns: int) -> None:
        """The same."""
        self.demand(too_long(condition, item, self.name, turns))

    def action(self, item: FlatReinit | FlatTerminate) -> None:
        """reinit and terminate, where they are reached."""
        self.owner.events.actions.act(item, logical_and(self.g, self.path, self.live))


class AlgorithmSections:
    """All sections of a model that are run."""

    def __init__(self, discretes: Discretes, events: EventBuilder) -> None:
        self.d, self.events = discretes, events
        self.calls: Calls  # set when they are there
        self.checks: list[Check] = []

    def equations(self, section: FlatAlgorithm) -> list[Equation]:
        """Equations for continuous variables; what the section leaves of others is given to the events."""
        found: list[Equation] = []
        for v, value in self._results(section, is_initial=False):
            own = self.d.flat.variables[v]
            if is_discrete(own):
                self.events.set_by_section(v, leaves(value), section.span)
            else:
                found += self._rows(self.d.symbols.value(v), value, section)
        return found

    def initial_equations(self, section: FlatAlgorithm) -> list[Equation]:
        """One for each scalar that an initial algorithm sets."""
        found: list[Equation] = []
        with self.d.run.bounds.within(START):  # type: ignore[union-attr]
            results = self._results(section, is_initial=True)
        for v, value in results:
            own = self.d.flat.variables[v]
            if self.d.symbols.is_text(v):
                self.d.texts.begin(v, value)
                continue
            target = self.d.value(v) if is_discrete(own) else self.d.symbols.value(v)
            rows = self._rows(target, value, section)
            if is_parameter(own) and own.type.base is not BaseType.REAL:
                first = self.d.symbols.base[v]
                rows = [replace(row, target=first + k) for k, row in enumerate(rows)]
            found += rows
        return found

    def _rows(self, target: Value, value: Value, section: FlatAlgorithm) -> list[Equation]:
        rows = scalars(difference(self.d.g, target, value))
        return [
            Equation(row, section.span, "algorithm", (k,) if len(rows) > 1 else ()) for k, row in enumerate(rows, 1)
        ]

    def _results(self, section: FlatAlgorithm, *, is_initial: bool) -> list[tuple[int, Value]]:
        targets = targets_of(self.d.run.tape, section)
        store: dict[int, Value | None] = {v: self._start(v, is_initial=is_initial) for v in targets}
        always = const(self.d.g, 1.0)
        with self._assigned(store), self.d.run.impure.reached_where(lambda: always):
            name = section.path or self.d.run.tape.flat.name
            SectionRunner(self, store, name, is_initial=is_initial).items(section.body)
        return [(v, store[v]) for v in targets]  # type: ignore[misc]

    @contextmanager
    def _assigned(self, store: dict[int, Value | None]) -> Iterator[None]:
        run = self.d.run
        before, run.assigned = run.assigned, store  # type: ignore[assignment]
        try:
            yield
        finally:
            run.assigned = before

    def _start(self, v: int, *, is_initial: bool) -> Value:
        """What a variable holds when the section begins."""
        own, symbols = self.d.flat.variables[v], self.d.symbols
        if is_discrete(own) and not is_initial:
            return self.d.before(v)
        if symbols.is_text(v):
            return self.d.texts.start(v)
        first, shape = symbols.base[v], symbols.shape(v)
        total = 1
        for n in shape:
            total *= n
        starts = [symbols.variables[number].start for number in range(first, first + total)]
        flat = [const(self.d.g, 0.0) if e is None else e for e in starts]
        return Arr(shape, list(flat)) if shape else flat[0]
