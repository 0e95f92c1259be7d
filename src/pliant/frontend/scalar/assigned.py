"""Which equation determines which discrete variable, of those that always hold.

Of Integer, Boolean and enumeration variables ``v = expression`` determines v. Between two variables, ``v = w`` may
determine either: the one that nothing else determines. So equations with one choice go first, and what they determine
is no choice for the others; where two choices are left, it is the left side. Arrays that other equations determine
element by element are left to events.py, which examines single elements.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pliant.frontend.flat.expressions import NONE, FlatExpression, FlatField, FlatIndex, FlatUnary, VariableRef
from pliant.frontend.flat.model import (
    FlatAssign,
    FlatEquation,
    FlatItem,
    FlatModel,
    walk,
)
from pliant.frontend.flat.types import BaseType, Variability
from pliant.frontend.scalar.symbols import is_discrete


class SetByEquations:
    """Variables that an equation determines as a whole, at all times."""

    def __init__(self, flat: FlatModel, nodes: Sequence[FlatExpression]) -> None:
        self.flat, self.nodes = flat, nodes
        self.values: dict[int, int] = {}  # variable -> expression that it always equals
        self.items: dict[int, int] = {}  # id of an equation -> the variable that it determines
        self.either: set[int] = set()  # ids of equations between two variables
        self._choose([item for item in flat.equations if isinstance(item, FlatEquation)])

    def _choose(self, equations: list[FlatEquation]) -> None:
        elsewhere = self._set_elsewhere()
        readers: dict[int, list[FlatEquation]] = {}
        ready: list[tuple[FlatEquation, int]] = []
        waiting: list[FlatEquation] = []
        for item in equations:
            if item.variability is not Variability.DISCRETE:
                continue
            left, right = self._free(item.left), self._free(item.right)
            if left == NONE:
                continue
            if right == NONE:
                self._take(item, left)
                continue
            self.either.add(id(item))
            readers.setdefault(left, []).append(item)
            readers.setdefault(right, []).append(item)
            waiting.append(item)
        taken = [*self.values, *elsewhere]
        for v in taken:
            self._drop(v, readers, ready)
        waiting.reverse()
        while ready or waiting:
            if ready:
                item, v = ready.pop()
            else:
                item = waiting.pop()
                v = self._free(item.left)
            if id(item) in self.items or v in self.values or v in elsewhere:
                continue
            self._take(item, v)
            self._drop(v, readers, ready)

    def _take(self, item: FlatEquation, v: int) -> None:
        self.items[id(item)] = v
        self.values[v] = item.right if v == self._variable(item.left) else item.left

    def _drop(self, v: int, readers: dict[int, list[FlatEquation]], ready: list[tuple[FlatEquation, int]]) -> None:
        """Something determines v: equations between it and another variable may determine that one only."""
        for item in readers.get(v, ()):
            if id(item) not in self.items:
                left, right = self._variable(item.left), self._variable(item.right)
                ready.append((item, right if left == v else left))

    def _variable(self, e: int) -> int:
        node = self.nodes[e]
        return node.variable if isinstance(node, VariableRef) else NONE

    def _free(self, e: int) -> int:
        """The variable that an expression is, if an equation may determine it; NONE: it is something else."""
        v = self._variable(e)
        if v == NONE:
            return NONE
        own = self.flat.variables[v]
        is_free = is_discrete(own) and own.type.base is not BaseType.REAL and own.clock == NONE
        return v if is_free else NONE

    def _set_elsewhere(self) -> set[int]:
        """Variables of when-clauses, if-equations, loops and algorithms, and of which elements stand alone."""
        found: set[int] = set()
        for item in self.flat.equations:
            if not isinstance(item, FlatEquation):
                self._targets((item,), found)
            elif isinstance(self.nodes[item.left], (FlatIndex, FlatField, FlatUnary)):
                found.add(self._root(item.left))
        for section in self.flat.algorithms:
            self._targets(section.body, found)
        return found - {NONE}

    def _targets(self, items: Iterable[FlatItem], found: set[int]) -> None:
        for one in walk(tuple(items)):
            if isinstance(one, FlatEquation):
                found.add(self._root(one.left))
            elif isinstance(one, FlatAssign):
                found.add(self._root(one.target))

    def _root(self, e: int) -> int:
        node = self.nodes[e]
        while isinstance(node, (FlatIndex, FlatField, FlatUnary)):
            node = self.nodes[node.operand if isinstance(node, FlatUnary) else node.base]
        return node.variable if isinstance(node, VariableRef) else NONE
