"""Expressions of the syntax tree. See `tree`."""

from __future__ import annotations

from pliant.frontend.modelica.syntax.node import Node


class Expression(Node):
    """Something with a value."""


class RealLiteral(Expression):
    """`1.5e3`"""

    value: float


class IntegerLiteral(Expression):
    """`15`"""

    value: int


class StringLiteral(Expression):
    """`"text"`, escapes resolved."""

    value: str


class BooleanLiteral(Expression):
    """`true` or `false`."""

    value: bool


class End(Expression):
    """`end` in a subscript."""


class Colon(Expression):
    """`:` as a subscript or as a dimension."""


class Break(Expression):
    """`break` in place of a binding: it is removed (7.2)."""


class Reference(Expression):
    """`a.b[3].c`; also the name of a function or class."""

    names: tuple[str, ...]
    subscripts: tuple[tuple[Expression, ...], ...]  # empty: none at all; else one tuple for each name
    rooted: bool

    @property
    def dotted(self) -> str:
        """The names with dots, subscripts aside."""
        return ("." if self.rooted else "") + ".".join(self.names)


class Unary(Expression):
    """`-x`, `+x`, `.-x`, `.+x`, `not x`."""

    operator: str
    operand: Expression


class Binary(Expression):
    """`left operator right`; operators as written, `and` and `or` included."""

    operator: str
    left: Expression
    right: Expression


class If(Expression):
    """`if c1 then v1 elseif c2 then v2 else v3`."""

    branches: tuple[tuple[Expression, Expression], ...]  # condition, value
    otherwise: Expression


class Range(Expression):
    """`start : stop` or `start : step : stop`."""

    first: Expression
    step: Expression | None
    last: Expression


class ArrayConstructor(Expression):
    """`{a, b}`"""

    elements: tuple[Expression, ...]


class Concatenation(Expression):
    """`[a, b; c, d]`"""

    rows: tuple[tuple[Expression, ...], ...]


class Tuple(Expression):
    """`(a, , b)`: outputs of a function. A single expression in parentheses is that expression."""

    items: tuple[Expression | None, ...]


class ForIndex(Node):
    """`i in 1:3`, or `i` alone, whose range follows from its use."""

    name: str
    values: Expression | None


class ArrayComprehension(Expression):
    """`{value for i in a, j in b}`"""

    value: Expression
    indices: tuple[ForIndex, ...]


class NamedArgument(Node):
    """`name = value` in a call."""

    name: str
    value: Expression


class Call(Expression):
    """`f(a, b, c = d)`; `function` is a Reference, of `der`, `initial` and `pure`, too."""

    function: Reference
    arguments: tuple[Expression, ...]
    named: tuple[NamedArgument, ...]


class ReductionCall(Expression):
    """`sum(value for i in 1:n)`"""

    function: Reference
    value: Expression
    indices: tuple[ForIndex, ...]


class PartialApplication(Expression):
    """`function f(a = 1)` as an argument."""

    function: Reference
    named: tuple[NamedArgument, ...]
