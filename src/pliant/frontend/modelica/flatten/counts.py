"""How many scalar equations items of a flat model stand for (4.8).

Arrays count by their elements, a call with several outputs by all of them, a when-clause by the variables that it
sets, an algorithm by the variables that it assigns to.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import TYPE_CHECKING

from pliant.frontend.flat.expressions import NONE, FlatArray, FlatCall, FlatIndex, FlatRecord, FlatTuple, VariableRef
from pliant.frontend.flat.model import (
    FlatAssign,
    FlatEquation,
    FlatFor,
    FlatIf,
    FlatItem,
    FlatWhen,
    bodies,
    walk,
)
from pliant.frontend.flat.types import BaseType, Type

if TYPE_CHECKING:
    from pliant.frontend.flat.build import FlatBuilder


class Counts:
    """Counts items."""

    def __init__(self, builder: FlatBuilder) -> None:
        self.builder = builder

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
            found = {v for one in bodies(item) for v in self._all_targets(one)}
            return sum(self.size(v) if not part else 1 for v, part in found)
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

    def _all_targets(self, item: FlatItem) -> set[tuple[int, str]]:
        found: set[tuple[int, str]] = set()
        for one in walk((item,)):
            if isinstance(one, FlatEquation):
                found |= set(self._variables(one.left))
        return found

    def targets(self, item: FlatItem) -> Iterable[int]:
        """Variables that a statement sets."""
        if isinstance(item, FlatAssign):
            return [v for v, _ in self._variables(item.target)]
        return []

    def _variables(self, e: int) -> list[tuple[int, str]]:
        node = self.builder.nodes[e]
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
