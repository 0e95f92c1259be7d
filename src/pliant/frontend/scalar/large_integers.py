"""Integers that may leave the whole numbers that a double holds exactly, -2^53 to 2^53.

Sums of such numbers are hardly larger than these, so what may grow is what holds a product of Integers (powers are
Real), in itself or in a function that it calls. Events look at Integers with a memory when they have set them
(pliant_events.h), so these get one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pliant.frontend.flat.expressions import FlatBinary, FlatBuiltin, FlatCall, FlatLiteral, FlatReduction
from pliant.frontend.flat.model import expressions_of, walk
from pliant.frontend.flat.types import BaseType

if TYPE_CHECKING:
    from pliant.frontend.scalar.tape import Tape


class LargeIntegers:
    """Asks for products, of each function once."""

    def __init__(self, tape: Tape) -> None:
        self.tape = tape
        self.functions: dict[int, bool] = {}

    def __call__(self, variable: int, e: int) -> bool:
        """Is the variable an Integer, and may the expression that it always equals grow?"""
        return self.tape.flat.variables[variable].type.base is BaseType.INTEGER and self._holds([e])

    def _holds(self, roots: list[int]) -> bool:
        under = self.tape.reachable(roots)
        return any(self._is_product(e) for e in under) or any(
            self._of_function(node.function) for e in under if isinstance(node := self.tape.nodes[e], FlatCall)
        )

    def _is_product(self, e: int) -> bool:
        """A literal times something is no product: it makes a number larger once, not again and again."""
        tape, node = self.tape, self.tape.nodes[e]
        if isinstance(node, FlatBuiltin | FlatReduction):
            return node.name == "product" and tape.types[e].base is BaseType.INTEGER
        if not isinstance(node, FlatBinary) or node.operator not in ("*", ".*"):
            return False
        sides = (node.left, node.right)
        if any(isinstance(tape.nodes[k], FlatLiteral) for k in sides):
            return False
        return all(tape.types[k].base is BaseType.INTEGER for k in sides)

    def _of_function(self, number: int) -> bool:
        found = self.functions.get(number)
        if found is None:
            self.functions[number] = False  # a recursion does not count itself
            own = self.tape.flat.functions[number]
            roots = [e for item in walk(own.body) for e in expressions_of(item)]
            roots += [local.binding for local in own.locals if local.binding is not None]
            found = self.functions[number] = self._holds(roots)
        return found
