"""Abstract interpretation of rumoca's expressions: every expression id becomes a value over scalar graph nodes.

Expressions are numbered so that operands come first. For one root the nodes under it, ascending, are a *tape* of
steps; running the tape leaves every value in one flat list. Expressions that are the same everywhere run once.
Those that depend on a loop or on the arguments of a function run again per point or call, overwriting their values;
their tape is kept. Lazy operands (branches, right sides of and/or) have tapes of their own, run by the node that
wants them, so nothing recurses deeply but nested branches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import product
from typing import TYPE_CHECKING, Any

from pliant.errors import ModelError, NotSupportedError
from pliant.expr.build import binary, choose, const, logical_not, value_of
from pliant.frontend.rumoca.nodes import FUNCTION_BIT, Nodes
from pliant.frontend.scalar.dependence import PARAM, TIME, UNKNOWN, Masks
from pliant.frontend.scalar.steps import COMPARE, MAKERS, Step
from pliant.frontend.scalar.values import Arr, Rec, Value, describe, map2
from pliant.ir import Graph, Op, Relation, Span

if TYPE_CHECKING:
    from pliant.frontend.rumoca.spans import Spans


class Interpreter:
    """Values of expressions. What variables, functions and builtins mean is plugged in by the caller."""

    def __init__(self, g: Graph, nodes: Nodes, masks: Masks, spans: Spans, storage: dict[str, Any]) -> None:
        self.g: Graph = g
        self.nodes, self.masks, self.spans = nodes, masks, spans
        self.values: list[Any] = [None] * nodes.count
        self.tapes: dict[int, list[Step]] = {}
        self.domains = [_ranges(entry["domain"]["binders"]) for entry in storage["domains"]]
        self.points: list[tuple[int, ...]] = [()] * len(self.domains)
        self.types: list[dict[str, Any]] = storage["value_types"]
        n_functions = len(storage["functions"])
        self.parameters: list[list[Value]] = [[] for _ in range(n_functions)]
        self.definitions: list[dict[int, Value]] = [{} for _ in range(n_functions)]
        self.results: dict[int, list[Value]] = {}  # of calls, by owner
        self.coordinate: Callable[[str, Any, int], Value]
        self.call: Callable[[int, int, list[Value]], list[Value]]
        self.builtin: Callable[[str, int, list[Value]], Value]
        self.numeric: Callable[[int, str], float]
        self.relations: list[Relation] = []
        self.relation_numbers: dict[tuple[int, int, bool], int] = {}
        self.listed = _listed(storage)
        self.quiet = _quiet(nodes)
        self.events = True  # False: relations stay plain, as in assertions
        self.deciding = False  # True: conditions of parameters are decided now, and the parameters keep their values
        self.guarded = 0  # how many conditions stand around that are not known

    # ------------------------------------------------------------------------------------------ running

    def value(self, root: int) -> Value:
        """Value of an expression at the current point and in the current call."""
        values = self.values
        if self.nodes.depends[root]:
            tape = self.tapes.get(root)
            if tape is None:
                tape = self._tape(root)
            for step in tape:
                step()
        elif values[root] is None:
            self._run_once(root)
        result: Value = values[root]
        return result

    def _run_once(self, root: int) -> None:
        values, kinds, strict = self.values, self.nodes.kind, self.nodes.strict
        order: list[int] = []
        stack = [root]
        seen: set[int] = set()
        while stack:
            number = stack.pop()
            if number in seen or values[number] is not None:
                continue
            seen.add(number)
            order.append(number)
            stack.extend(strict[number])
        order.sort()
        for number in order:
            MAKERS[kinds[number]](self, number)()

    def _tape(self, root: int) -> list[Step]:
        """Steps for the nodes that change from point to point; the others are evaluated here, once."""
        kinds, strict, depends = self.nodes.kind, self.nodes.strict, self.nodes.depends
        order: list[int] = []
        stack = [root]
        seen: set[int] = set()
        while stack:
            number = stack.pop()
            if number in seen:
                continue
            seen.add(number)
            if depends[number]:
                order.append(number)
                stack.extend(strict[number])
            else:
                self.value(number)
        order.sort()
        tape = [MAKERS[kinds[number]](self, number) for number in order]
        self.tapes[root] = tape
        return tape

    def over(self, domain: int, count: int | None = None) -> Iterator[tuple[int, ...]]:
        """Set the binders of a domain (the first ``count``) to every point in turn."""
        g = self.g
        ranges = self.domains[domain][:count]
        saved = self.points[domain]
        if len(ranges) == 1:
            for i in ranges[0]:
                self.points[domain] = (const(g, i),)
                yield (i,)
        else:
            for point in product(*ranges):
                self.points[domain] = tuple(const(g, i) for i in point)
                yield point
        self.points[domain] = saved

    def scalar(self, root: int) -> int:
        """Value that must be a scalar."""
        value = self.value(root)
        if isinstance(value, int):
            return value
        raise ModelError(
            f"{describe(value)} is used where a scalar is needed",
            hint="choose one element by its subscripts or its name",
        )

    def anew(self, root: int) -> int:
        """The scalar once more, for what variables mean now; the values known before stay."""
        numbers = self.nodes.reachable([root])
        saved = [self.values[number] for number in numbers]
        for number in numbers:
            self.values[number] = None
        try:
            return self.scalar(root)
        finally:
            for number, value in zip(numbers, saved, strict=True):
                self.values[number] = value

    @contextmanager
    def under_condition(self) -> Iterator[None]:
        """What is evaluated here may not be needed at run time: its assertions are none of the model's."""
        self.guarded += 1
        try:
            yield
        finally:
            self.guarded -= 1

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
            return self._compare_others(operator, x, y)
        op, swap = COMPARE[operator]
        a, b = (y, x) if swap else (x, y)
        plain = binary(self.g, op, a, b)
        if op in (Op.EQ, Op.NE) or value_of(self.g, plain) is not None or not self.events:
            return plain
        mask = self.masks.of(a) | self.masks.of(b)
        if not mask & (TIME | UNKNOWN) or number in self.quiet or self.nodes.depends[number] & FUNCTION_BIT:
            return plain
        if number in self.listed or not mask & UNKNOWN:
            return self.event(a, b, op == Op.LT, self.spans.span(self.nodes.span(number)))
        return plain

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

    def _compare_others(self, operator: str, x: Value, y: Value) -> Value:
        if isinstance(x, str) and isinstance(y, str):
            result = {"equal": x == y, "not_equal": x != y, "less": x < y, "greater": x > y}.get(operator)
            if result is None:
                result = x <= y if operator == "less_equal" else x >= y
            return const(self.g, float(result))
        op, swap = COMPARE[operator]
        return map2(self.g, lambda g, a, b: binary(g, op, b, a) if swap else binary(g, op, a, b), x, y)

    def select(self, condition: int, a: Value, b: Value) -> Value:
        """``if condition then a else b`` on values of equal form."""
        g = self.g
        if isinstance(a, int) and isinstance(b, int):
            return choose(g, condition, a, b)
        if isinstance(a, str) and isinstance(b, str):
            return a if a == b else "…"
        if isinstance(a, Arr) and isinstance(b, Arr) and a.shape == b.shape:
            return Arr(a.shape, [self.select(condition, x, y) for x, y in zip(a.flat, b.flat, strict=True)])
        if isinstance(a, Rec) and isinstance(b, Rec):
            return Rec([self.select(condition, x, y) for x, y in zip(a.fields, b.fields, strict=True)])
        raise ModelError(
            f"the branches of an if-expression differ in size: {describe(a)} and {describe(b)}",
            hint="give both branches the same size",
        )


def _ranges(binders: list[dict[str, Any]]) -> list[range]:
    found = []
    for binder in binders:
        step = binder.get("step", 1)
        found.append(range(binder["lower"], binder["upper"] + (1 if step > 0 else -1), step))
    return found


def _listed(storage: dict[str, Any]) -> set[int]:
    """Relational nodes that make events."""
    listed = {entry["expression"] for entry in storage["structured_roots"]}
    for entry in storage["relations"]:
        if "relation" in entry:
            listed.add(entry["relation"]["expression"])
    return listed


def _quiet(nodes: Nodes) -> set[int]:
    """Nodes under noEvent and smooth."""
    roots: list[int] = []
    for number, kind in enumerate(nodes.kind):
        if kind == "builtin" and nodes.raw[number]["builtin"] in {"no_event", "smooth"}:
            roots.extend(nodes.strict[number])
    return set(nodes.reachable(roots))
