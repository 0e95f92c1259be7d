"""Statements, run on values: the body of a function, or an algorithm section.

A condition that is known chooses its branch. Where it is not, all branches are run, and every variable is what the one
that holds leaves. Loops are unrolled: how often they run must be known. After a `break` or `return` that may have
happened, what follows only counts where it has not (specification 3.6, section 11.2).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

from pliant.errors import ModelError, NotSupportedError
from pliant.expr.build import add, binary, choose, const, logical_and, logical_not, logical_or, mul, value_of
from pliant.frontend.flat.expressions import (
    FlatArray,
    FlatField,
    FlatIndex,
    FlatLoop,
    FlatRange,
    FlatRecord,
    FlatTuple,
)
from pliant.frontend.flat.model import (
    FlatAssert,
    FlatAssign,
    FlatBreak,
    FlatFor,
    FlatIf,
    FlatInvoke,
    FlatItem,
    FlatReinit,
    FlatReturn,
    FlatTerminate,
    FlatWhen,
    FlatWhile,
)
from pliant.frontend.scalar import arrays
from pliant.frontend.scalar.dependence import PARAM
from pliant.frontend.scalar.interpret import Interpreter
from pliant.frontend.scalar.values import Arr, Rec, Value
from pliant.ir import Check, Op

MAX_TURNS = 100_000
INDEX_RULE = "10.5.1"  # what is broken where an index is outside of its array
OPEN_TURNS = 50  # of a loop whose end depends on what moves
MOST_TURNS = 2500  # of such loops inside each other, all together
MANY_TURNS = 500  # known ones, from which on a loop of a function is not written out
LEAST_TURNS = 4  # of one of them, however deep

Store = Any  # a list or a dictionary: number of a variable -> value, or None before it has one


class BodyRunner:
    """Runs statements; what variables are, and what happens beside assignments, is said by those who inherit."""

    def __init__(self, run: Interpreter, store: Store, name: str) -> None:
        self.run, self.g, self.store, self.name = run, run.g, store, name
        assert run.bounds is not None
        self.bounds = run.bounds
        self.never = const(run.g, 0.0)
        self.broken = self.returned = self.never  # nodes: whether a break, or a return, has happened
        self.path = const(run.g, 1.0)  # the conditions around, where they are not known

    # ------------------------------------------------------------------------------------ for those who inherit

    def place(self, e: int) -> int | None:
        """The number of the variable that an expression is, if it is one."""
        raise NotImplementedError

    def default(self, k: int) -> Value:
        """What a variable holds that was not set."""
        raise NotImplementedError

    def check(self, item: FlatAssert) -> None:
        """An assertion."""
        raise NotImplementedError

    def when(self, item: FlatWhen) -> None:
        """A when-clause."""
        raise self._refused("when")

    def action(self, item: FlatReinit | FlatTerminate) -> None:
        """reinit or terminate."""
        raise self._refused(type(item).__name__.removeprefix("Flat").lower())

    def ended(self, condition: int, item: FlatWhile | FlatFor, turns: int) -> None:
        """What must hold while simulating: a loop has ended within the turns that were written out."""
        raise NotImplementedError

    traces = False  # a loop that stays one has to say where something in it jumps
    inner_jumps: tuple[int, ...] = ()  # what the loops in its turn say of that

    def as_loop(self, goes_on: Callable[[int], int], body: tuple[FlatItem, ...], item: FlatWhile | FlatFor) -> bool:
        """Make a loop of the generated code of it; False where it has to be written out."""
        raise NotImplementedError

    def symbol(self) -> int:
        """Number of an argument that no function has."""
        raise NotImplementedError

    def inside_loop(self) -> AbstractContextManager[list[Check]]:
        """Around the body of a loop that stays one; afterwards what has to hold in each turn."""
        raise NotImplementedError

    def demand(self, check: Check) -> None:
        """What must hold where the next statement is reached: an assertion or an index in all turns of such a loop."""
        raise NotImplementedError

    def traced(self, jumps: int, reads: list[int], item: FlatWhile | FlatFor) -> None:
        """A number that changes where something in a loop jumps, and what the loop reads."""
        raise NotImplementedError

    # --------------------------------------------------------------------------------------------------- running

    def items(self, items: tuple[FlatItem, ...]) -> None:
        """Statements in order."""
        for item in items:
            live = self.live
            if value_of(self.g, live) == 0.0:
                return
            if isinstance(item, FlatAssign):
                with self.bounds.statement(live), self.run.impure.only_where(live):
                    self._assign(item)
            elif isinstance(item, FlatIf):
                with self.bounds.statement(live):
                    self._choose(item)
            elif isinstance(item, FlatFor):
                self._for(item)
            elif isinstance(item, FlatWhile):
                self._while(item)
            elif isinstance(item, FlatAssert):
                self.check(item)
            elif isinstance(item, FlatBreak):
                self.broken = logical_or(self.g, self.broken, live)
            elif isinstance(item, FlatReturn):
                self.returned = logical_or(self.g, self.returned, live)
            elif isinstance(item, FlatWhen):
                self.when(item)
            elif isinstance(item, FlatInvoke):
                with self.run.impure.only_where(live):
                    self.invoke(item)
            elif isinstance(item, (FlatReinit, FlatTerminate)):
                self.action(item)
            else:
                raise self._refused(type(item).__name__.removeprefix("Flat").lower())

    def invoke(self, item: FlatInvoke) -> None:
        """A call for what it does."""
        with self.run.impure.for_effect():
            self.run.again(item.call)

    def _refused(self, kind: str) -> NotSupportedError:
        return NotSupportedError(
            f"`{self.name}`: a statement of kind `{kind}` is not supported",
            hint="write it with assignments, if, for and while",
        )

    @property
    def live(self) -> int:
        """Whether the next statement is reached."""
        return logical_not(self.g, logical_or(self.g, self.broken, self.returned))

    def _for(self, item: FlatFor) -> None:
        before = self._begin_loop()
        bounds = self._open_bounds(item.loops[0])
        if bounds is not None:
            self._open_for(item, bounds)
            self.broken = before
            return
        if not self._many_turns(item):
            for _ in self.run.over(item.loops):
                self.items(item.body)
                if value_of(self.g, self.live) == 0.0:
                    break
        self.broken = before

    def _many_turns(self, item: FlatFor) -> bool:
        """Make a loop of one that would be long if it were written out; False where it is not, or cannot be."""
        g, run, loop = self.g, self.run, item.loops[0]
        node = run.nodes[loop.range]
        if len(item.loops) > 1 or not isinstance(node, FlatRange):
            return False
        ends = [value_of(g, run.scalar(e)) for e in (node.start, node.stop)]
        step = 1.0 if node.step < 0 else value_of(g, run.scalar(node.step))
        if ends[0] is None or ends[1] is None or not step or (ends[1] - ends[0]) / step < MANY_TURNS:
            return False
        first, last = const(g, ends[0]), const(g, ends[1])
        saved = run.points[loop.iterator]

        def goes_on(turn: int) -> int:
            value = add(g, first, mul(g, turn, const(g, step)))
            run.points[loop.iterator] = value
            return binary(g, Op.LE, value, last) if step > 0 else binary(g, Op.LE, last, value)

        try:
            return self.as_loop(goes_on, item.body, item)
        finally:
            run.points[loop.iterator] = saved

    def _begin_loop(self) -> int:
        """A loop inside of one that may have been left runs where that was not: its own breaks come on top."""
        before = self.broken
        if value_of(self.g, before) is not None:
            self.broken = self.never
        return before

    def _open_bounds(self, loop: FlatLoop) -> tuple[int, int, float] | None:
        """First value, last value and step of a range whose bounds are known while simulating; None for others."""
        run, node = self.run, self.run.nodes[loop.range]
        if not isinstance(node, FlatRange) or not self._moves(loop.range):
            return None
        step = 1.0 if node.step < 0 else run.number(run.scalar(node.step), "the step of a range")
        return run.scalar(node.start), run.scalar(node.stop), step

    def _moves(self, e: int) -> bool:
        """A bound of a range depends on more than parameters."""
        node = self.run.nodes[e]
        assert isinstance(node, FlatRange)
        ends = (self.run.value(one) for one in (node.start, node.stop))
        return any(isinstance(one, int) and self.run.masks.of(one) & ~PARAM for one in ends)

    def _open_for(self, item: FlatFor, bounds: tuple[int, int, float]) -> None:
        """How often it runs is known while simulating: a limited number of turns, each where there is a value left."""
        g, run = self.g, self.run
        first, last, step = bounds
        loop, inner = item.loops[0], item.body
        if len(item.loops) > 1:
            inner = (replace(item, loops=item.loops[1:]),)
        saved = run.points[loop.iterator]

        def goes_on(turn: int) -> int:
            value = add(g, first, mul(g, turn, const(g, step)))
            run.points[loop.iterator] = value
            return binary(g, Op.LE, value, last) if step > 0 else binary(g, Op.LE, last, value)

        self._open_turns(goes_on, inner, item)
        run.points[loop.iterator] = saved

    def _while(self, item: FlatWhile) -> None:
        before = self._begin_loop()
        for _ in range(MAX_TURNS):
            last = self.run.impure.last
            condition = self.run.scalar(item.condition)
            known = value_of(self.g, condition)
            if known is None and not self.run.masks.of(condition) & ~PARAM:
                known = self.run.number(condition, "how often a while-loop runs")
            if known is None or (known and value_of(self.g, self.live) is None):
                self.run.impure.last = last
                self._open_turns(lambda _: self.run.scalar(item.condition), item.body, item)
                break
            if not known or value_of(self.g, self.live) == 0.0:
                break
            self.items(item.body)
        else:
            raise NotSupportedError(
                f"`{self.name}`: a while-loop does not end within {MAX_TURNS} turns", hint="check its condition"
            )
        self.broken = before

    def _open_turns(self, goes_on: Callable[[int], int], body: tuple[FlatItem, ...], item: FlatWhile | FlatFor) -> None:
        """How often it runs is known while simulating: a loop of the generated code, or a limited number of turns."""
        run = self.run
        if self.as_loop(goes_on, body, item):
            return
        turns = max(LEAST_TURNS, min(OPEN_TURNS, MOST_TURNS // run.turns))
        run.turns *= turns
        try:
            self._written_out(goes_on, body, item, turns)
        finally:
            run.turns //= turns

    def _written_out(
        self, goes_on: Callable[[int], int], body: tuple[FlatItem, ...], item: FlatWhile | FlatFor, turns: int
    ) -> None:
        g = self.g
        for turn in range(turns):
            condition = goes_on(const(g, turn))
            if value_of(g, logical_and(g, condition, self.live)) == 0.0:
                return
            self.broken = logical_or(g, self.broken, logical_and(g, self.live, logical_not(g, condition)))
            path, self.path = self.path, logical_and(g, self.path, self.live)
            before = self.state()
            try:
                with self.run.under_condition(self.live):
                    self.items(body)
            except ModelError as error:
                if not turn or error.rule != INDEX_RULE:
                    raise
                self.restore(before)  # no element is left: the loop has to end before this turn
                self.ended(logical_not(g, logical_and(g, self.path, self.live)), item, turn)
                self.broken = const(g, 1.0)
                return
            finally:
                self.path = path
        ended = logical_not(g, logical_and(g, goes_on(const(g, turns)), logical_and(g, self.path, self.live)))
        self.ended(ended, item, turns)

    def _choose(self, item: FlatIf) -> None:
        """The branch that is known to hold, or every variable as the one that holds leaves it."""
        run, last = self.run, item.otherwise
        undecided: list[tuple[int, tuple[FlatItem, ...]]] = []
        none = const(self.g, 1.0)
        for branch in item.branches:
            condition = run.condition(branch.condition, none, guarded=bool(undecided))
            known = run.decided(condition)
            if known is None:
                undecided.append((condition, branch.body))
                none = logical_and(self.g, none, logical_not(self.g, condition))
            elif known:
                last = branch.body
                break
        if not undecided:
            self.items(last)
            return
        before = self.state()
        results = []
        none = const(self.g, 1.0)  # no branch so far
        for condition, body in undecided:
            results.append((condition, self.after(body, before, logical_and(self.g, none, condition))))
            none = logical_and(self.g, none, logical_not(self.g, condition))
        found = self.after(last, before, none)
        for condition, other in reversed(results):
            found = self.merged(condition, other, found)
        self.restore(found)

    # ----------------------------------------------------------------------------------------- states of variables

    def state(self) -> tuple[Store, int, int]:
        """Variables as they are, and whether a break or return has happened."""
        return self.store.copy(), self.broken, self.returned

    def restore(self, state: tuple[Store, int, int]) -> None:
        """Put variables back."""
        kept, self.broken, self.returned = state
        if isinstance(self.store, list):
            self.store[:] = kept
        else:
            self.store.clear()
            self.store.update(kept)

    def after(self, items: tuple[FlatItem, ...], before: tuple[Store, int, int], condition: int) -> Any:
        """The state that statements under a condition leave; the one before them is there again."""
        path, self.path = self.path, logical_and(self.g, self.path, condition)
        try:
            with self.run.under_condition(logical_and(self.g, condition, self.live)):
                self.items(items)
            return self.state()
        finally:
            self.path = path
            self.restore(before)

    def merged(self, condition: int, a: tuple[Store, int, int], b: tuple[Store, int, int]) -> Any:
        """The first state where the condition holds, else the second."""
        store, other = a[0].copy(), b[0]
        for k in range(len(store)) if isinstance(store, list) else store:
            if store[k] is not other[k]:
                pair = (self.default(k) if one is None else one for one in (store[k], other[k]))
                store[k] = self.run.select(condition, *pair)
        return store, choose(self.g, condition, a[1], b[1]), choose(self.g, condition, a[2], b[2])

    # ------------------------------------------------------------------------------------------------ assignments

    def _assign(self, item: FlatAssign) -> None:
        run = self.run
        target = run.nodes[item.target]
        if isinstance(target, FlatTuple):
            source = run.nodes[item.value]
            taken = [run.value(e) for e in source.elements] if isinstance(source, FlatTuple) else run.value(item.value)
            assert isinstance(taken, list)
            for e, value in zip(target.elements, taken, strict=False):
                if e >= 0:
                    self.assign(e, value)
        else:
            self.assign(item.target, run.value(item.value))

    def assign(self, e: int, value: Value) -> None:
        """Give a variable, or a part of one, a value."""
        node = self.run.nodes[e]
        k = self.place(e)
        if k is not None:
            self.define(k, value)
        elif isinstance(node, FlatIndex):
            chosen: list[arrays.Subscript] = [
                ("whole", 0) if s < 0 else ("index", self.run.value(s)) for s in node.subscripts
            ]
            self.assign(node.base, arrays.update(self.run, self.run.value(node.base), value, chosen, e))
        elif isinstance(node, FlatField):
            self.assign(node.base, with_field(self.run.value(node.base), node.number, value))
        elif isinstance(node, FlatRecord) and isinstance(value, Rec):
            for field, one in zip(node.fields, value.fields, strict=True):
                self.assign(field, one)
        elif isinstance(node, FlatArray):
            for element, one in zip(node.elements, self._rows(value, len(node.elements)), strict=True):
                self.assign(element, one)
        else:
            raise NotSupportedError(f"`{self.name}` assigns to something that is no variable", hint="name a variable")

    def _rows(self, value: Value, size: int) -> Iterator[Value]:
        if not isinstance(value, Arr):
            return iter([value] * size)
        places = (const(self.g, k) for k in range(1, size + 1))
        return (arrays.pick(self.run, value, [("index", k)]) for k in places)

    def define(self, k: int, value: Value) -> None:
        """Give a variable a value, where the statement is reached; a scalar may stand for a whole array."""
        old = self.store[k]
        if not isinstance(value, Arr) and old is None:
            first = self.default(k)
            if isinstance(first, Arr):
                value = Arr(first.shape, [value] * len(first.flat))
        live = self.live
        if value_of(self.g, live) is None:
            value = self.run.select(live, value, self.default(k) if old is None else old)
        self.store[k] = value


def with_field(base: Value, number: int, value: Value) -> Value:
    """A record, or an array of records, with another value of a field."""
    if isinstance(base, Arr):
        parts = value.flat if isinstance(value, Arr) else [value] * len(base.flat)
        size = len(parts) // max(1, len(base.flat))
        inner = value.shape[len(base.shape) :] if isinstance(value, Arr) else ()
        rows = [
            parts[k * size] if not inner else Arr(inner, parts[k * size : (k + 1) * size])
            for k in range(len(base.flat))
        ]
        return Arr(base.shape, [with_field(a, number, b) for a, b in zip(base.flat, rows, strict=True)])
    assert isinstance(base, Rec)
    fields = list(base.fields)
    fields[number] = value
    return Rec(fields)


def too_long(condition: int, item: FlatWhile | FlatFor, name: str, turns: int) -> Check:
    """The check of a loop whose end is known while simulating."""
    word = "while" if isinstance(item, FlatWhile) else "for"
    return Check(condition, f"`{name}`: a {word}-loop needs more than {turns} turns", True, item.span)
