"""Equations and statements of the syntax tree. See `tree`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pliant.frontend.modelica.syntax.node import Node

if TYPE_CHECKING:
    from pliant.frontend.modelica.syntax.tree import Annotation
    from pliant.frontend.modelica.syntax.tree_expressions import Call, Expression, ForIndex, Reduction, Reference, Tuple


class Equation(Node):
    """An equation, with the description behind it."""

    description: str
    annotation: Annotation | None


class SimpleEquation(Equation):
    """`left = right`"""

    left: Expression
    right: Expression


class IfEquation(Equation):
    """`if c then ... elseif d then ... else ... end if`"""

    branches: tuple[tuple[Expression, tuple[Equation, ...]], ...]
    otherwise: tuple[Equation, ...]


class ForEquation(Equation):
    """`for i in a, j in b loop ... end for`"""

    indices: tuple[ForIndex, ...]
    equations: tuple[Equation, ...]


class WhenEquation(Equation):
    """`when c then ... elsewhen d then ... end when`"""

    branches: tuple[tuple[Expression, tuple[Equation, ...]], ...]


class Connect(Equation):
    """`connect(a, b)`"""

    left: Reference
    right: Reference


class CallEquation(Equation):
    """`assert(...)`, `reinit(x, 0)`, `Connections.root(a)`: a call that stands alone."""

    call: Call | Reduction


class Algorithm(Node):
    """One algorithm section."""

    statements: tuple[Statement, ...]


class Statement(Node):
    """A statement, with the description behind it."""

    description: str
    annotation: Annotation | None


class Assignment(Statement):
    """`a.b[i] := value`"""

    target: Reference
    value: Expression


class TupleAssignment(Statement):
    """`(a, , b) := f(x)`"""

    targets: Tuple
    value: Call | Reduction


class CallStatement(Statement):
    """`f(x);`"""

    call: Call | Reduction


class IfStatement(Statement):
    """`if c then ... elseif d then ... else ... end if`"""

    branches: tuple[tuple[Expression, tuple[Statement, ...]], ...]
    otherwise: tuple[Statement, ...]


class ForStatement(Statement):
    """`for i in a, j in b loop ... end for`"""

    indices: tuple[ForIndex, ...]
    statements: tuple[Statement, ...]


class WhileStatement(Statement):
    """`while c loop ... end while`"""

    condition: Expression
    statements: tuple[Statement, ...]


class WhenStatement(Statement):
    """`when c then ... elsewhen d then ... end when`"""

    branches: tuple[tuple[Expression, tuple[Statement, ...]], ...]


class BreakStatement(Statement):
    """`break`"""


class ReturnStatement(Statement):
    """`return`"""
