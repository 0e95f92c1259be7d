"""Numbers of flat expressions that consist of literals, constants and parameters."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pliant.frontend.flat.expressions import (
    NONE,
    FlatArray,
    FlatBinary,
    FlatBuiltin,
    FlatChoice,
    FlatIndex,
    FlatLiteral,
    FlatRange,
    FlatUnary,
    IteratorRef,
    VariableRef,
    operands,
)
from pliant.frontend.flat.types import Variability

if TYPE_CHECKING:
    from pliant.frontend.flat.build import FlatBuilder

_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "^": operator.pow,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "<>": operator.ne,
    "and": lambda a, b: a and b,
    "or": lambda a, b: a or b,
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "Integer": lambda a: a,
    "integer": math.floor,
    "floor": math.floor,
    "ceil": math.ceil,
    "abs": abs,
    "min": min,
    "max": max,
    "noEvent": lambda a: a,
}


class NoNumber(Exception):
    """The expression depends on something that is not known; its text names it."""


class FlatNumbers:
    """Evaluates; remembers which parameters were used."""

    def __init__(self, builder: FlatBuilder, point: Mapping[int, Any] | None = None) -> None:
        self.builder = builder
        self.point = point or {}  # values of loop variables
        self.used: set[int] = set()
        self.open: set[int] = set()

    def value(self, e: int) -> Any:
        """A number, a truth value, a text, or a list of them."""
        nodes = self.builder.nodes
        match nodes[e]:
            case FlatLiteral(value=value):
                return value
            case VariableRef(variable=v):
                return self._variable(v)
            case IteratorRef(number=number) if number in self.point:
                return self.point[number]
            case FlatRange(start=start, step=step, stop=stop):
                width = 1 if step == NONE else self.value(step)
                first, last = self.value(start), self.value(stop)
                return [first + k * width for k in range(math.floor((last - first) / width + 1e-9) + 1)]
            case FlatBinary(operator=name, left=a, right=b) if name in _OPERATORS:
                return _OPERATORS[name](self.value(a), self.value(b))
            case FlatUnary(operator=name, operand=a):
                found = self.value(a)
                return not found if name == "not" else -found if name == "-" else found
            case FlatArray(elements=elements):
                return [self.value(one) for one in elements]
            case FlatChoice() as node:
                return self._choice(node)
            case FlatIndex(base=base, subscripts=subscripts) if all(s >= 0 for s in subscripts):
                found = self.value(base)
                for one in subscripts:
                    found = found[int(self.value(one)) - 1]
                return found
            case FlatBuiltin(name=name, operands=given) if name in _FUNCTIONS:
                return _FUNCTIONS[name](*(self.value(one) for one in given))
            case _:
                raise NoNumber("something that is no parameter")

    def _choice(self, node: FlatChoice) -> Any:
        left = list(operands(node))
        while len(left) > 1:
            condition, value, *left = left
            if self.value(condition):
                return self.value(value)
        return self.value(left[0])

    def _variable(self, v: int) -> Any:
        own = self.builder.variables[v]
        source = own.binding if own.binding is not None else own.start
        if own.variability > Variability.PARAMETER or source is None or v in self.open:
            raise NoNumber(f"`{own.name}`")
        self.used.add(v)
        self.open.add(v)
        try:
            return self.value(source)
        finally:
            self.open.discard(v)

    def lock(self, why: str) -> None:
        """The parameters that were used cannot be changed any more."""
        variables = self.builder.variables
        for v in self.used:
            if variables[v].variability is Variability.PARAMETER:
                variables[v] = replace(variables[v], is_evaluated=True, locked=variables[v].locked or why)
