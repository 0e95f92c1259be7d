"""Whether a flat model is consistent: numbers exist, types and shapes fit, items stand where they may, with places.

For tests of front ends, not for users: a front end reports what is wrong with a model itself, in the words of the
source. ``check_flat`` gives all faults, so that a test shows them together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from math import prod

from pliant.frontend.flat.expressions import (
    NONE,
    ClockInterval,
    ClockTick,
    FlatArray,
    FlatBuiltin,
    FlatCall,
    FlatComprehension,
    FlatExpression,
    FlatLiteral,
    FlatOutput,
    FlatRecord,
    FlatReduction,
    FlatTuple,
    IteratorRef,
    LocalRef,
    VariableRef,
    operands,
)
from pliant.frontend.flat.infer import Inference
from pliant.frontend.flat.model import (
    FlatAssert,
    FlatAssign,
    FlatBreak,
    FlatEquation,
    FlatFor,
    FlatIf,
    FlatItem,
    FlatModel,
    FlatReinit,
    FlatReturn,
    FlatVariable,
    FlatWhen,
    FlatWhile,
    bodies,
    expressions_of,
)
from pliant.frontend.flat.shapes import TypeMismatch, described, unified
from pliant.frontend.flat.text import FlatText
from pliant.frontend.flat.types import BaseType, Type, Variability, fits
from pliant.ir import Span

_STATEMENTS = (FlatAssign, FlatWhile, FlatBreak, FlatReturn)


@dataclass(frozen=True, slots=True)
class FlatFault:
    """One thing that is wrong."""

    message: str
    span: Span | None = None

    def __str__(self) -> str:
        return f"{self.span}: {self.message}" if self.span else self.message


def check_flat(flat: FlatModel) -> list[FlatFault]:
    """Everything that is wrong with a model, empty if nothing is."""
    return _Check(flat).run()


class _Check:
    def __init__(self, flat: FlatModel) -> None:
        self.flat, self.nodes, self.types = flat, flat.expressions.nodes, flat.expressions.types
        self.faults: list[FlatFault] = []
        self.text = FlatText(flat)
        self.infer = Inference(flat, self.nodes, self.types)
        # what an expression needs around it: loop variables, and the function whose locals it reads
        self.needs: list[tuple[frozenset[int], int]] = []

    def run(self) -> list[FlatFault]:
        """All checks; expressions first, because the others read them."""
        store = self.flat.expressions
        if not len(store.nodes) == len(store.types) == len(store.spans):
            return [FlatFault("nodes, types and places differ in number")]
        for number, node in enumerate(self.nodes):
            if not self._node(number, node):
                return self.faults  # what follows would read what is not there
        self._names()
        for variable in self.flat.variables:
            self._variable(variable)
        self._items(self.flat.equations, "equation")
        self._items(self.flat.initial_equations, "initial equation")
        for section in (*self.flat.algorithms, *self.flat.initial_algorithms):
            self._items(section.body, "algorithm")
        for number, function in enumerate(self.flat.functions):
            self._items(function.body, "function", number)
            if function.n_inputs + function.n_outputs > len(function.locals):
                self._fault(f"function `{function.name}` has fewer locals than inputs and outputs", function.span)
        return self.faults

    def _fault(self, message: str, span: Span | None = None) -> None:
        self.faults.append(FlatFault(message, span))

    # -------------------------------------------------------------------------------------- expressions

    def _node(self, number: int, node: FlatExpression) -> bool:
        span = self.flat.expressions.spans[number]
        under = operands(node)
        if any(not 0 <= e < number for e in under):
            self._fault(f"expression {number} ({type(node).__name__}) does not follow its operands", span)
            return False
        limit = self._limit(node)
        if limit is not None and not 0 <= limit[1] < limit[2]:
            self._fault(f"expression {number} names {limit[0]} {limit[1]}, of which there are {limit[2]}", span)
            return False
        if isinstance(node, LocalRef) and not 0 <= node.number < len(self.flat.functions[node.function].locals):
            self._fault(f"expression {number} names a local that its function does not have", span)
            return False
        self._type(number, node, span)
        self.needs.append(self._need(node, under))
        return True

    def _limit(self, node: FlatExpression) -> tuple[str, int, int] | None:
        flat = self.flat
        match node:
            case VariableRef():
                return "variable", node.variable, len(flat.variables)
            case LocalRef() | FlatCall():
                return "function", node.function, len(flat.functions)
            case IteratorRef():
                return "iterator", node.number, len(flat.iterators)
            case ClockTick() | ClockInterval():
                return "clock", node.clock, len(flat.clocks)
            case _:
                return None

    def _type(self, number: int, node: FlatExpression, span: Span | None) -> None:
        of = self.types[number]
        if isinstance(node, FlatRecord):
            self._record(node, of, span)
            return
        if isinstance(node, FlatLiteral) and of.base in (BaseType.ENUMERATION, BaseType.OBJECT):
            return
        if isinstance(node, FlatArray) and not node.elements:
            if 0 not in of.shape:
                self._fault(f"an array without elements is {described(of)}", span)
            return
        try:
            found = self.infer(node)
        except TypeMismatch as error:
            self._fault(f"`{self._shown(number)}`: {error}", span)
            return
        if found.base is not of.base or not fits(found.shape, of.shape):
            self._fault(f"`{self._shown(number)}` is {described(found)}, noted as {described(of)}", span)

    def _record(self, node: FlatRecord, of: Type, span: Span | None) -> None:
        if of.base is not BaseType.RECORD or not 0 <= of.number < len(self.flat.records):
            self._fault(f"a record is noted as {described(of)}", span)
            return
        fields = self.flat.records[of.number].fields
        if len(fields) != len(node.fields):
            self._fault(f"`{self.flat.records[of.number].name}` has {len(fields)} fields", span)
            return
        for own, e in zip(fields, node.fields, strict=True):
            self._same(own.type, self.types[e], f"field `{own.name}`", span)

    def _same(self, a: Type, b: Type, what: str, span: Span | None) -> None:
        try:
            unified(a, b, what)
        except TypeMismatch as error:
            self._fault(str(error), span)

    def _need(self, node: FlatExpression, under: tuple[int, ...]) -> tuple[frozenset[int], int]:
        loops: frozenset[int] = frozenset()
        function = NONE
        for e in under:
            inner, own = self.needs[e]
            loops |= inner
            if own != NONE and function not in (NONE, own):
                self._fault(f"an expression reads locals of two functions, {own} and {function}")
            function = own if own != NONE else function
        if isinstance(node, IteratorRef):
            return frozenset({node.number}), NONE
        if isinstance(node, LocalRef):
            return frozenset(), node.function
        if isinstance(node, (FlatComprehension, FlatReduction)):
            loops -= {loop.iterator for loop in node.loops}
        return loops, function

    def _shown(self, number: int) -> str:
        text = self.text.expression(number)
        return text if len(text) <= 100 else text[:99] + "…"

    # -------------------------------------------------------------------------------------- declarations

    def _names(self) -> None:
        for name, count in Counter(v.name for v in self.flat.variables).items():
            if count > 1:
                self._fault(f"`{name}` is declared {count} times")

    def _variable(self, v: FlatVariable) -> None:
        flat, span = self.flat, v.span
        if span is None and v.origin == "declaration" and not v.is_hidden:
            self._fault(f"`{v.name}` has no place in the source")
        if any(n is None for n in v.type.shape):
            self._fault(f"`{v.name}` has a size that is not known", span)
        elif len(v.fixed) > 1 and len(v.fixed) != prod(n or 0 for n in v.type.shape):
            self._fault(f"`fixed` of `{v.name}` has {len(v.fixed)} values", span)
        if v.type.base in (BaseType.RECORD, BaseType.TUPLE):
            self._fault(f"`{v.name}` is {described(v.type)}", span)
        if v.type.base is BaseType.ENUMERATION and v.type.number >= len(flat.enumerations):
            self._fault(f"`{v.name}` is of an enumeration that is not there", span)
        if v.binding is not None and v.variability > Variability.PARAMETER:
            self._fault(f"`{v.name}` has a binding, which only parameters and constants have", span)
        if v.locked and v.variability > Variability.PARAMETER:
            self._fault(f"`{v.name}` is locked and no parameter", span)
        if v.clock != NONE and not 0 <= v.clock < len(flat.clocks):
            self._fault(f"`{v.name}` belongs to a clock that is not there", span)
        for name in ("binding", "start", "min", "max", "nominal"):
            e = getattr(v, name)
            if e is None:
                continue
            if not 0 <= e < len(self.nodes):
                self._fault(f"{name} of `{v.name}` is not there", span)
                continue
            self._around(e, frozenset(), NONE, f"{name} of `{v.name}`", span)
            given = self.types[e]
            wanted = v.type if given.shape else v.type.element
            self._same(wanted, given, f"`{v.name}` and its {name}", span)

    # --------------------------------------------------------------------------------------------- items

    def _items(self, items: Iterable[FlatItem], where: str, function: int = NONE) -> None:
        stack: list[tuple[FlatItem, frozenset[int], bool]] = [(item, frozenset(), False) for item in items]
        while stack:
            item, loops, in_when = stack.pop()
            is_equation = where.endswith("equation")
            if isinstance(item, FlatEquation) != is_equation and isinstance(item, (FlatEquation, *_STATEMENTS)):
                self._fault(f"{type(item).__name__} stands in {where}s", item.span)
            if item.span is None and function == NONE:
                self._fault(f"{type(item).__name__} has no place in the source")
            self._parts(item, loops, function, in_when)
            inner = loops
            if isinstance(item, FlatFor):
                bound = frozenset(loop.iterator for loop in item.loops)
                if bound & loops:
                    self._fault("a loop uses the variable of a loop around", item.span)
                inner = loops | bound
            stack += [(one, inner, in_when or isinstance(item, FlatWhen)) for one in bodies(item)]

    def _parts(self, item: FlatItem, loops: frozenset[int], function: int, in_when: bool) -> None:
        span = item.span
        found = expressions_of(item)
        if any(not 0 <= e < len(self.nodes) for e in found):
            self._fault(f"{type(item).__name__} names an expression that is not there", span)
            return
        for e in found:
            self._around(e, loops, function, type(item).__name__, span)
        if isinstance(item, (FlatEquation, FlatAssign)):
            self._sides(item)
        elif isinstance(item, (FlatIf, FlatWhen, FlatWhile, FlatAssert)):
            conditions = found if isinstance(item, (FlatIf, FlatWhen)) else found[:1]
            for e in conditions:
                of = self.types[e]
                is_vector = isinstance(item, FlatWhen) and len(of.shape) == 1
                if of.base not in (BaseType.BOOLEAN, BaseType.CLOCK) or (of.shape and not is_vector):
                    self._fault(f"`{self._shown(e)}` is {described(of)}, a condition is needed", span)
        elif isinstance(item, FlatReinit):
            if not in_when:
                self._fault("reinit stands outside of when-clauses", span)
            given = self.types[item.value]
            wanted = self.types[item.state]
            self._same(wanted if given.shape else wanted.element, given, "reinit", span)
        elif isinstance(item, FlatFor):
            for loop in item.loops:
                if len(self.types[loop.range].shape) != 1:
                    self._fault("a loop needs a vector to run over", span)

    def _sides(self, item: FlatEquation | FlatAssign) -> None:
        left, right = expressions_of(item)
        a, b = self.types[left], self.types[right]
        if BaseType.TUPLE in (a.base, b.base):
            if not isinstance(self.nodes[right], (FlatCall, FlatOutput, FlatBuiltin, FlatTuple)):
                self._fault("a list of outputs has no call on its right side", item.span)
            return
        node = self.nodes[right]
        if isinstance(item, FlatEquation) and isinstance(node, FlatLiteral) and node.value == 0 and a.is_numeric:
            return  # zero stands for zeros of any shape
        what = f"`{self._shown(left)} = {self._shown(right)}`"
        if isinstance(item, FlatAssign) and not b.shape:
            a = a.element  # one value for all elements
        self._same(a, b, what, item.span)

    def _around(self, e: int, loops: frozenset[int], function: int, what: str, span: Span | None) -> None:
        needs, own = self.needs[e]
        missing = needs - loops
        if missing:
            names = ", ".join(self.flat.iterators[k].name for k in sorted(missing))
            self._fault(f"{what}: `{self._shown(e)}` reads the loop variable {names} outside of its loop", span)
        if own not in (NONE, function):
            self._fault(f"{what}: `{self._shown(e)}` reads locals of another function", span)
