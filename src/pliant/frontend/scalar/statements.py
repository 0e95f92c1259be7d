"""Statements, run on values: every variable that they set has one value for what comes next.

Where a condition is known, the branch that holds is run. Where it is not, all are, and each variable then has the
value of the branch that holds. Two flags, expressions like the others, say whether the loop or the whole list was left
(``break``, ``return``): while one of them is open, what follows counts only where it is false. Loops are written out,
so how often they run must be known, or bounded: a ``while`` loop that may end after each of some rounds is as many
branches, one inside of the other.

A :class:`Frame` keeps the values. Functions have one for each call (functions.py), algorithm sections one for each
section (sections.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import Any

from pliant.errors import NotSupportedError
from pliant.expr.build import const, logical_and, logical_not, logical_or, value_of
from pliant.frontend.flat.expressions import (
    NONE,
    WHOLE,
    FlatArray,
    FlatField,
    FlatIndex,
    FlatRecord,
    FlatTuple,
    LocalRef,
    VariableRef,
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
from pliant.frontend.scalar.values import Arr, Rec, Value, describe

MOST_ROUNDS = 100_000
MOST_OPEN_ROUNDS = 60  # of a loop whose end depends on values of the simulation
State = tuple[list[Value | None], int, int]


class Frame:
    """Values while statements run; what a variable is, and where assertions go, subclasses say."""

    def __init__(self, run: Interpreter, what: str) -> None:
        self.run, self.g, self.what = run, run.g, what
        self.false = const(run.g, 0.0)
        self.left = self.returned = self.false  # the loop, the whole list
        self.under: list[int] = []  # conditions that are not known, around what runs now

    # what subclasses say

    def values(self) -> list[Value | None]:
        """Of all variables; None: not set yet."""
        raise NotImplementedError

    def set_values(self, values: list[Value | None]) -> None:
        """Go back to such values."""
        raise NotImplementedError

    def default(self, k: int) -> Value:
        """What a variable holds that was not set."""
        raise NotImplementedError

    def define(self, node: LocalRef | VariableRef, value: Value) -> None:
        """Set a variable as a whole."""
        raise NotImplementedError

    def assertion(self, item: FlatAssert) -> None:
        """An assertion, where it stands."""
        raise NotImplementedError

    def action(self, item: FlatItem) -> None:
        """reinit and terminate."""
        raise NotSupportedError(f"{self.what}: this statement cannot stand here", hint="put it into a when-clause")

    def rises(self, condition: int, span: Any) -> int:
        """True where the condition of a when-clause becomes true."""
        raise NotSupportedError(f"{self.what}: a when-clause cannot stand here", hint="put it into a model")

    # running

    def run_items(self, items: Sequence[FlatItem]) -> None:
        """Statements in order."""
        for k, item in enumerate(items):
            gone = logical_or(self.g, self.left, self.returned)
            known = self.run.decided(gone)
            if known is None:
                self._rest(gone, items[k:])
                return
            if known:
                return
            self._one(item)

    def _one(self, item: FlatItem) -> None:
        match item:
            case FlatAssign():
                self._assign(item)
            case FlatIf():
                self._choose(item)
            case FlatFor():
                self._for(item)
            case FlatWhile():
                self._while(item)
            case FlatWhen():
                self._when(item)
            case FlatAssert():
                self.assertion(item)
            case FlatBreak():
                self.left = const(self.g, 1.0)
            case FlatReturn():
                self.returned = const(self.g, 1.0)
            case FlatInvoke():
                self.run.value(item.call)
            case FlatReinit() | FlatTerminate():
                self.action(item)
            case _:
                kind = type(item).__name__.removeprefix("Flat").lower()
                raise NotSupportedError(
                    f"{self.what}: a statement of kind `{kind}` is not supported",
                    hint="write it with assignments, if and for",
                )

    def _state(self) -> State:
        return list(self.values()), self.left, self.returned

    def _set_state(self, state: State) -> None:
        values, self.left, self.returned = state
        self.set_values(list(values))

    def _after(self, condition: int, items: Sequence[FlatItem], before: State) -> State:
        """The state after a branch; the state now is ``before`` again."""
        self.under.append(condition)
        try:
            with self.run.under_condition():
                self.run_items(items)
            return self._state()
        finally:
            self.under.pop()
            self._set_state(before)

    def _merge(self, condition: int, a: State, b: State) -> State:
        run, found = self.run, []
        for k, (x, y) in enumerate(zip(a[0], b[0], strict=True)):
            if x is y or (x.__class__ is int and x == y):
                found.append(x)
                continue
            pair = (self.default(k) if one is None else one for one in (x, y))
            found.append(run.select(condition, *pair))
        flags = (run.select(condition, x, y) for x, y in zip(a[1:], b[1:], strict=True))
        return found, *flags  # type: ignore[return-value]

    def _rest(self, gone: int, items: Sequence[FlatItem]) -> None:
        """What follows where the loop, or the list, may have been left."""
        old = self._state()
        self.left = self.returned = self.false
        begin = self._state()
        new = self._after(logical_not(self.g, gone), items, begin)
        self._set_state(self._merge(gone, old, new))

    def _choose(self, item: FlatIf) -> None:
        """The branch that is known to hold, or every variable as the one that holds leaves it."""
        run, undecided, last = self.run, [], item.otherwise
        before = self._state()
        open_now = const(self.g, 1.0)
        for branch in item.branches:
            condition = run.scalar(branch.condition)
            known = run.decided(condition)
            if known is None:
                here = logical_and(self.g, open_now, condition)
                undecided.append((condition, self._after(here, branch.body, before)))
                open_now = logical_and(self.g, open_now, logical_not(self.g, condition))
            elif known:
                last = branch.body
                break
        if not undecided:
            self.run_items(last)
            return
        found = self._after(open_now, last, before)
        for condition, other in reversed(undecided):
            found = self._merge(condition, other, found)
        self._set_state(found)

    def _when(self, item: FlatWhen) -> None:
        """The first branch whose condition becomes true."""
        g, before = self.g, self._state()
        found, open_now = [], const(g, 1.0)
        for branch in item.branches:
            rise = self.rises(branch.condition, branch.span)
            here = logical_and(g, open_now, rise)
            found.append((here, self._after(here, branch.body, before)))
            open_now = logical_and(g, open_now, logical_not(g, rise))
        state = before
        for here, after in reversed(found):
            state = self._merge(here, after, state)
        self._set_state(state)

    def _for(self, item: FlatFor) -> None:
        around = self.left
        self.left = self.false
        with closing(self.run.over(item.loops)) as points:  # type: ignore[type-var]
            for _ in points:
                self.run_items(item.body)
                if value_of(self.g, logical_or(self.g, self.left, self.returned)):
                    break
        self.left = around

    def _while(self, item: FlatWhile) -> None:
        around = self.left
        self.left = self.false
        self._rounds(item, 0)
        self.left = around

    def _rounds(self, item: FlatWhile, n_open: int) -> None:
        """Rounds of a loop; ``n_open``: how many may have been left before. Each of those is a branch of its own."""
        for _ in range(MOST_ROUNDS):
            condition = self.run.scalar(item.condition)
            known = value_of(self.g, condition)
            if known is None and not self.run.masks.of(condition) & ~PARAM:
                known = self.run.number(condition, "it decides how often a loop runs")
            if known == 0.0:
                return
            if known is None:
                before = self._state()
                here = self._open_rounds(item, condition, n_open + 1, goes_on=True)
                self._set_state(self._merge(condition, here, before))
                return
            self.run_items(item.body)
            gone = logical_or(self.g, self.left, self.returned)
            is_gone = value_of(self.g, gone)
            if is_gone:
                return
            if is_gone is None:
                old = self._state()
                self.left = self.returned = self.false
                new = self._open_rounds(item, logical_not(self.g, gone), n_open + 1, goes_on=False)
                self._set_state(self._merge(gone, old, new))
                return
        raise self._endless()

    def _open_rounds(self, item: FlatWhile, condition: int, n_open: int, *, goes_on: bool) -> State:
        """The state after the rounds that follow where a condition holds that is not known."""
        if n_open > MOST_OPEN_ROUNDS:
            raise self._endless()
        before = self._state()
        self.under.append(condition)
        try:
            with self.run.under_condition():
                if goes_on:
                    self.run_items(item.body)
                    gone = logical_or(self.g, self.left, self.returned)
                    if value_of(self.g, gone) is None:
                        old = self._state()
                        self.left = self.returned = self.false
                        new = self._open_rounds(item, logical_not(self.g, gone), n_open + 1, goes_on=False)
                        return self._merge(gone, old, new)
                    if value_of(self.g, gone):
                        return self._state()
                self._rounds(item, n_open)
            return self._state()
        finally:
            self.under.pop()
            self._set_state(before)

    def _endless(self) -> NotSupportedError:
        return NotSupportedError(
            f"{self.what}: how often a `while` loop runs is known during the simulation only",
            hint="write a `for` loop with a fixed number of rounds",
        )

    # assignments

    def _assign(self, item: FlatAssign) -> None:
        run = self.run
        target = run.nodes[item.target]
        if not isinstance(target, FlatTuple):
            self.assign(item.target, run.value(item.value))
            return
        source = run.nodes[item.value]
        taken: Any = run.value(item.value)
        if isinstance(source, FlatTuple):
            taken = [run.value(e) for e in source.elements]
        elif not isinstance(taken, list):
            taken = [taken]
        for e, value in zip(target.elements, taken, strict=False):
            if e != NONE:
                self.assign(e, value)

    def assign(self, e: int, value: Value) -> None:
        """Give a variable, or a part of one, a value."""
        node = self.run.nodes[e]
        if isinstance(node, (LocalRef, VariableRef)):
            self.define(node, value)
        elif isinstance(node, FlatIndex):
            chosen: list[arrays.Subscript] = [
                ("whole", 0) if s == WHOLE else ("index", self.run.value(s)) for s in node.subscripts
            ]
            old = self.run.value(node.base)
            self.assign(node.base, arrays.update(self.run, old, value, chosen))
        elif isinstance(node, FlatField):
            self.assign(node.base, _with_field(self.run.value(node.base), node.number, value))
        elif isinstance(node, FlatRecord) and isinstance(value, Rec):
            for part, inner in zip(node.fields, value.fields, strict=True):
                self.assign(part, inner)
        elif isinstance(node, FlatArray) and isinstance(value, Arr) and len(node.elements) == value.shape[0]:
            for k, part in enumerate(node.elements, 1):
                self.assign(part, arrays.pick(self.run, value, [("index", const(self.g, k))]))
        else:
            raise NotSupportedError(
                f"{self.what} assigns {describe(value)} to a part of a variable in a way that is not supported",
                hint="assign the whole variable",
            )


def _with_field(base: Value, number: int, value: Value) -> Value:
    """A record, or an array of records, with another field."""
    if isinstance(base, Rec):
        return Rec([value if k == number else one for k, one in enumerate(base.fields)])
    assert isinstance(base, Arr)
    n = len(base.flat)
    if isinstance(value, Arr) and value.shape[: len(base.shape)] == base.shape:
        width = len(value.flat) // n if n else 0
        inner = value.shape[len(base.shape) :]
        parts: list[Any] = (
            [Arr(inner, value.flat[k * width : (k + 1) * width]) for k in range(n)] if inner else value.flat
        )
    else:
        parts = [value] * n
    return Arr(base.shape, [_with_field(one, number, part) for one, part in zip(base.flat, parts, strict=True)])
