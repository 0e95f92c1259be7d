"""Abstract interpretation of expressions: every one becomes a value over scalar graph nodes.

Expressions are numbered so that operands come first. For one root the nodes under it, ascending, are a list of
steps; running them leaves every value in one flat list. Expressions that are the same everywhere run once.
Those that depend on a loop or on the arguments of a function run again per point or call, overwriting their values;
their steps are kept. Lazy operands (branches, right sides of and/or) have steps of their own, run by the node that
wants them, so nothing recurses deeply but nested branches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import product
from typing import TYPE_CHECKING

from pliant.errors import ModelError, NotSupportedError
from pliant.expr.build import binary, choose, const, logical_and, logical_not, value_of
from pliant.foreign.calls import ForeignCall
from pliant.frontend.flat.expressions import NONE, FlatExpression, FlatLiteral, FlatLoop, FlatRange
from pliant.frontend.scalar.dependence import PARAM, TIME, UNKNOWN, Masks
from pliant.frontend.scalar.impure import ImpureCalls
from pliant.frontend.scalar.open_texts import compared, selected
from pliant.frontend.scalar.steps import COMPARE, MAKERS, Step
from pliant.frontend.scalar.tape import FUNCTION_BIT, Tape
from pliant.frontend.scalar.values import Arr, Rec, Value, describe, map2
from pliant.ir import Graph, Op, Relation, Span

if TYPE_CHECKING:
    from pliant.frontend.scalar.bounds import IndexBounds


class Interpreter:
    """Values of expressions. What variables, functions and builtins mean is plugged in by the caller."""

    def __init__(self, g: Graph, tape: Tape, masks: Masks) -> None:
        self.g: Graph = g
        self.tape, self.nodes, self.masks = tape, tape.nodes, masks
        self.values: list[Value | list[Value] | None] = [None] * tape.count  # a list: all outputs of a call
        self.steps: dict[int, list[Step]] = {}
        self.steps_of_sides: dict[tuple[int, int], list[Step]] = {}
        self.points: list[Value] = [-1] * len(tape.flat.iterators)
        self.ranges: dict[int, Sequence[tuple[int, Value]]] = {}
        self.assigned: dict[int, Value] = {}  # variables as the algorithm that is being run has left them
        self.locals: list[list[Value | None]] = [[] for _ in tape.flat.functions]
        self.default: Callable[[int, int], Value]
        self.variable: Callable[[int, int], Value]
        self.special: Callable[[int, FlatExpression], Value]
        self.call: Callable[[int, list[Value]], list[Value]]
        self.builtin: Callable[[str, int, list[Value]], Value]
        self.numeric: Callable[[int, str], float]
        self.bounds: IndexBounds | None = None  # what must hold of indices
        self.relations: list[Relation] = []
        self.relation_numbers: dict[tuple[int, int, bool], int] = {}
        self.acting = False  # True: in the statements of a when-clause
        self.events = True  # False: relations stay plain, as in assertions
        self.deciding = False  # True: conditions of parameters are decided now, and the parameters keep their values
        self.guarded = 0  # how many conditions stand around that are not known
        self.conditions: list[int] = []  # those of them that have a node
        self.turns = 1  # of loops that are written out, as their ends are not known
        self.impure = ImpureCalls(self)
        self.comparisons: dict[object, ForeignCall] = {}  # of texts that are made while simulating

    # ------------------------------------------------------------------------------------------ running

    def value(self, root: int) -> Value:
        """Value of an expression at the current point and in the current call."""
        values = self.values
        if self.tape.depends[root]:
            steps = self.steps.get(root)
            if steps is None:
                steps = self.steps[root] = self._steps([root])
            for step in steps:
                step()
        elif values[root] is None:
            self._run_once([root])
        return values[root]  # type: ignore[return-value]

    def again(self, root: int) -> Value:
        """Value of an expression that is not to be taken from what was found before."""
        if not self.tape.depends[root]:
            self.values[root] = None
        return self.value(root)

    def sides(self, left: int, right: int) -> tuple[Value, Value]:
        """Both sides of an equation. What has the smaller number is evaluated first, whichever side it stands on."""
        values, depends = self.values, self.tape.depends
        if depends[left] or depends[right]:
            steps = self.steps_of_sides.get((left, right))
            if steps is None:
                steps = self.steps_of_sides[left, right] = self._steps([left, right])
            for step in steps:
                step()
        elif values[left] is None or values[right] is None:
            self._run_once([left, right])
        return values[left], values[right]  # type: ignore[return-value]

    def _run_once(self, roots: list[int]) -> None:
        values, nodes, strict = self.values, self.nodes, self.tape.strict
        order: list[int] = []
        seen: set[int] = set()
        while roots:
            number = roots.pop()
            if number in seen or values[number] is not None:
                continue
            seen.add(number)
            order.append(number)
            roots.extend(strict[number])
        order.sort()
        for number in order:
            node = nodes[number]
            MAKERS[node.__class__](self, number, node)()

    def _steps(self, roots: list[int]) -> list[Step]:
        """Steps for the nodes that change from point to point; the others are evaluated here, once."""
        nodes, strict, depends = self.nodes, self.tape.strict, self.tape.depends
        order: list[int] = []
        seen: set[int] = set()
        while roots:
            number = roots.pop()
            if number in seen:
                continue
            seen.add(number)
            if depends[number]:
                order.append(number)
                roots.extend(strict[number])
            else:
                self.value(number)
        order.sort()
        return [MAKERS[nodes[number].__class__](self, number, nodes[number]) for number in order]

    def over(self, loops: tuple[FlatLoop, ...]) -> Iterator[tuple[int, ...]]:
        """Set the iterators to every point in turn; what is given back names the point."""
        points = self.points
        saved = [points[loop.iterator] for loop in loops]
        if len(loops) == 1:
            iterator = loops[0].iterator
            for place, value in self.range_of(loops[0].range):
                points[iterator] = value
                yield (place,)
        else:
            for point in product(*(self.range_of(loop.range) for loop in loops)):
                for loop, (_, value) in zip(loops, point, strict=True):
                    points[loop.iterator] = value
                yield tuple(place for place, _ in point)
        for loop, point_before in zip(loops, saved, strict=True):
            points[loop.iterator] = point_before

    def range_of(self, e: int) -> Sequence[tuple[int, Value]]:
        """What a loop runs over, and a whole number for each; literal ranges leave nothing else in the graph."""
        known = self.ranges.get(e)
        if known is None:
            node = self.nodes[e]
            if isinstance(node, FlatRange):
                literal = self._literal_range(node)
                if literal is not None:
                    known = [(i, const(self.g, i)) for i in literal]
            if known is None:
                value = self.value(e)
                if not isinstance(value, Arr):
                    raise ModelError(f"a loop runs over {describe(value)}", hint="give it a range, or a vector")
                known = [self._place(one, k) for k, one in enumerate(value.flat, 1)]
            if not self.tape.depends[e]:
                self.ranges[e] = known
        return known

    def _place(self, value: Value, position: int) -> tuple[int, Value]:
        """One value of a loop variable: what is a number must be known now."""
        if not isinstance(value, int):
            return position, value
        number = value_of(self.g, value)
        if number is None:
            return position, value
        return (int(number) if number == int(number) else position), const(self.g, number)

    def _literal_range(self, node: FlatRange) -> range | None:
        ends = [self.nodes[e] for e in (node.start, node.step, node.stop) if e != NONE]
        if not all(isinstance(end, FlatLiteral) and isinstance(end.value, int) for end in ends):
            return None
        first, *middle, last = (end.value for end in ends if isinstance(end, FlatLiteral))
        step = int(middle[0]) if middle else 1
        return range(int(first), int(last) + (1 if step > 0 else -1), step)

    def scalar(self, root: int) -> int:
        """Value that must be a scalar."""
        value = self.value(root)
        if isinstance(value, int):
            return value
        raise ModelError(
            f"{describe(value)} is used where a scalar is needed",
            hint="choose one element by its subscripts or its name",
        )

    def condition(self, root: int, none: int | None = None, *, guarded: bool) -> int:
        """A condition; ``guarded``: one before it is not known, so that it is asked for only if ``none`` holds."""
        if not guarded:
            return self.scalar(root)
        with self.under_condition(none):
            return self.scalar(root)

    @contextmanager
    def under_condition(self, condition: int | None = None) -> Iterator[None]:
        """What is evaluated here may not be needed at run time: its assertions are none of the model's."""
        self.guarded += 1
        if condition is not None:
            self.conditions.append(condition)
        try:
            yield
        finally:
            self.guarded -= 1
            if condition is not None:
                self.conditions.pop()

    def reached(self) -> int | None:
        """Whether what is evaluated now is needed; None where a condition around has no node."""
        if len(self.conditions) < self.guarded:
            return None
        found = const(self.g, 1.0)
        for one in self.conditions:
            found = logical_and(self.g, found, one)
        return found

    # ---------------------------------------------------------------------------------------- constants

    def number(self, value: Value, why: str) -> float:
        """A number that must be known now; parameters in it are fixed for the reason ``why``."""
        if not isinstance(value, int):
            raise ModelError(f"{why}: a number is needed, {describe(value)} is given", hint="use a single number here")
        known = value_of(self.g, value)
        if known is not None:
            return known
        if self.masks.of(value) & ~PARAM:
            raise NotSupportedError(
                f"{why} changes during the simulation", hint="use a parameter or a constant in this place"
            )
        return self.numeric(value, why)

    def decided(self, condition: Value) -> float | None:
        """The value of a condition, None if it is open; parameters in it are fixed where they must be."""
        if not isinstance(condition, int):
            return None
        known = value_of(self.g, condition)
        if known is None and self.deciding and not self.masks.of(condition) & ~PARAM:
            return self.number(condition, "it decides which parameters depend on which")
        return known

    def integer(self, value: Value, why: str) -> int:
        """A whole number that must be known now."""
        return round(self.number(value, why))

    # ---------------------------------------------------------------------------------------- relations

    def relation(self, number: int, operator: str, x: Value, y: Value) -> Value:
        """A comparison: a constant, a relation that makes events, or a plain node."""
        if not isinstance(x, int) or not isinstance(y, int):
            return self._compare_others(number, operator, x, y)
        op, swap = COMPARE[operator]
        a, b = (y, x) if swap else (x, y)
        plain = binary(self.g, op, a, b)
        if op in (Op.EQ, Op.NE) or value_of(self.g, plain) is not None or not self.events:
            return plain
        mask = self.masks.of(a) | self.masks.of(b)
        if not mask & (TIME | UNKNOWN) or number in self.tape.quiet or self.tape.depends[number] & FUNCTION_BIT:
            return plain
        if self.acting and self.tape.is_held(number):
            return plain  # what a statement before has set: nothing to wait for until the clause acts
        return self.event(a, b, op == Op.LT, self.tape.spans[number])

    def event(self, a: int, b: int, strict: bool, span: Span | None) -> int:
        """The relation ``a < b`` or ``a <= b``, one number for equal ones and for their opposites."""
        g = self.g
        known = self.relation_numbers.get((a, b, strict))
        if known is not None:
            return g.intern((Op.REL, known))
        opposite = self.relation_numbers.get((b, a, not strict))
        if opposite is not None:
            return logical_not(g, g.intern((Op.REL, opposite)))
        new = len(self.relations)
        self.relations.append(Relation(a, b, strict, span))
        self.relation_numbers[a, b, strict] = new
        return g.intern((Op.REL, new))

    def _compare_others(self, number: int, operator: str, x: Value, y: Value) -> Value:
        if isinstance(x, str) and isinstance(y, str):
            return compared(self, operator, x, y, self.tape.spans[number])
        op, swap = COMPARE[operator]
        return map2(self.g, lambda g, a, b: binary(g, op, b, a) if swap else binary(g, op, a, b), x, y)

    def select(self, condition: int, a: Value, b: Value) -> Value:
        """``if condition then a else b`` on values of equal form."""
        g = self.g
        if isinstance(a, int) and isinstance(b, int):
            return choose(g, condition, a, b)
        if isinstance(a, str) and isinstance(b, str):
            return selected(condition, a, b)
        if isinstance(a, Arr) and isinstance(b, Arr) and a.shape == b.shape:
            return Arr(a.shape, [self.select(condition, x, y) for x, y in zip(a.flat, b.flat, strict=True)])
        if isinstance(a, Rec) and isinstance(b, Rec):
            return Rec([self.select(condition, x, y) for x, y in zip(a.fields, b.fields, strict=True)])
        raise ModelError(
            f"the branches of an if-expression differ in size: {describe(a)} and {describe(b)}",
            hint="give both branches the same size",
        )


@contextmanager
def paused_events(run: Interpreter) -> Iterator[None]:
    """Relations that are made here are evaluated and give no events."""
    before, run.events = run.events, False
    try:
        yield
    finally:
        run.events = before
