"""How many scalar equations items of a flat model stand for (4.8).

Arrays count by their elements, a call with several outputs by all of them, a when-clause by the variables that it
sets, an algorithm by the variables that it assigns to.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product, zip_longest
from math import prod
from typing import TYPE_CHECKING, Any

from pliant.frontend.flat.expressions import (
    NONE,
    WHOLE,
    FlatArray,
    FlatCall,
    FlatIndex,
    FlatRecord,
    FlatTuple,
    FlatUnary,
    VariableRef,
)
from pliant.frontend.flat.model import (
    FlatAssign,
    FlatEquation,
    FlatFor,
    FlatIf,
    FlatItem,
    FlatWhen,
    bodies,
)
from pliant.frontend.flat.types import BaseType, Type
from pliant.frontend.modelica.flatten.numbers import FlatNumbers, NoNumber

if TYPE_CHECKING:
    from pliant.frontend.flat.build import FlatBuilder


class Counts:
    """Counts items."""

    def __init__(self, builder: FlatBuilder) -> None:
        self.builder = builder
        self.point: dict[int, Any] = {}  # values of loop variables

    def size(self, variable: int) -> int:
        """Elements of a variable."""
        return prod(n or 0 for n in self.builder.variables[variable].type.shape)

    def elements(self, of: Type) -> int:
        """Scalars in a type."""
        count = prod(n or 0 for n in of.shape)
        if of.base is BaseType.RECORD:
            return count * sum(self.elements(one.type) for one in self.builder.records[of.number].fields)
        return count

    def count(self, item: FlatItem) -> int:
        """Scalar equations of an item."""
        if isinstance(item, FlatEquation):
            return self._equation(item)
        if isinstance(item, FlatFor):
            times = prod((self.builder.types[loop.range].shape[0] or 0) for loop in item.loops)
            return times * sum(map(self.count, item.body))
        if isinstance(item, FlatIf):
            return max(
                sum(map(self.count, item.branches[0].body)),
                sum(map(self.count, item.otherwise)) if item.otherwise else 0,
            )
        if isinstance(item, FlatWhen) and self.is_clocked(item):
            return sum(map(self.count, item.branches[0].body))
        if isinstance(item, FlatWhen):
            found: dict[tuple[int, Any], int] = {}
            for one in bodies(item):
                self._set_in(one, found)
            return sum(found.values())
        return 0

    def is_clocked(self, item: FlatWhen) -> bool:
        """At the ticks of a clock, which solves the equations in it as if there were no clause around (16.6)."""
        return self.builder.types[item.branches[0].condition].base is BaseType.CLOCK

    def _equation(self, item: FlatEquation) -> int:
        node = self.builder.nodes[item.left]
        if isinstance(node, FlatTuple):
            return sum(self.elements(self.builder.types[e]) for e in node.elements if e != NONE)
        of = self.builder.types[item.left]
        if of.base is BaseType.TUPLE and isinstance(node, FlatCall):
            return sum(self.elements(one.type) for one in self.builder.functions[node.function].outputs)
        return self.elements(of)

    def _set_in(self, item: FlatItem, found: dict[tuple[int, Any], int]) -> None:
        """Elements of variables that an item sets, each with the number of scalars that it stands for."""
        if isinstance(item, FlatEquation):
            for e in self._leaves(item.left):
                self._elements_set(e, found)
        elif isinstance(item, FlatFor):
            numbers = FlatNumbers(self.builder)
            try:
                points = list(product(*(_as_list(numbers.value(loop.range)) for loop in item.loops)))
            except (NoNumber, ArithmeticError):
                points = []
            for point in points:
                self.point = {**self.point, **dict(zip((loop.iterator for loop in item.loops), point, strict=True))}
                for one in item.body:
                    self._set_in(one, found)
        else:
            for one in bodies(item):
                self._set_in(one, found)

    def _elements_set(self, e: int, found: dict[tuple[int, Any], int]) -> None:
        node = self.builder.nodes[e]
        if isinstance(node, VariableRef):
            found.update({(node.variable, k): 1 for k in range(self.size(node.variable))})
            return
        places = self._places(node) if isinstance(node, FlatIndex) else None
        for v, part in self._variables(e):
            if places is None:  # an index that is not known
                found[v, part] = self.elements(self.builder.types[e])
            else:
                found.update({(v, k): 1 for k in places})

    def _places(self, node: FlatIndex) -> list[int] | None:
        """Places of elements in their variable; None: not known here."""
        if not isinstance(self.builder.nodes[node.base], VariableRef):
            return None
        shape = [n or 0 for n in self.builder.types[node.base].shape]
        numbers = FlatNumbers(self.builder, self.point)
        try:
            chosen = [
                range(1, n + 1) if s == WHOLE else _as_list(numbers.value(s))
                for s, n in zip_longest(node.subscripts, shape, fillvalue=WHOLE)
            ]
        except (NoNumber, ArithmeticError):
            return None
        found = [0]
        for size, one in zip(shape, chosen, strict=True):
            found = [k * size + int(place) - 1 for k in found for place in one]
        return found

    def _leaves(self, e: int) -> list[int]:
        """Parts of a left side that are variables or elements of one."""
        node = self.builder.nodes[e]
        if isinstance(node, (FlatTuple, FlatArray)):
            return [leaf for one in node.elements if one != NONE for leaf in self._leaves(one)]
        if isinstance(node, FlatRecord):
            return [leaf for one in node.fields for leaf in self._leaves(one)]
        return self._leaves(node.operand) if isinstance(node, FlatUnary) else [e]

    def targets(self, item: FlatItem) -> Iterable[int]:
        """Variables that a statement sets."""
        if isinstance(item, FlatAssign):
            return [v for v, _ in self._variables(item.target)]
        return []

    def _variables(self, e: int) -> list[tuple[int, str]]:
        node = self.builder.nodes[e]
        if isinstance(node, FlatUnary):
            return self._variables(node.operand)
        if isinstance(node, VariableRef):
            return [(node.variable, "")]
        if isinstance(node, FlatIndex):
            inner = self._variables(node.base)
            part = repr([self.builder.nodes[s] if s >= 0 else ":" for s in node.subscripts])
            return [(v, part) for v, _ in inner]
        if isinstance(node, (FlatTuple, FlatArray)):
            return [pair for one in node.elements if one != NONE for pair in self._variables(one)]
        if isinstance(node, FlatRecord):
            return [pair for one in node.fields for pair in self._variables(one)]
        return []


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
