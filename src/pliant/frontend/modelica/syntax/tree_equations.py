"""Equations and statements of the syntax tree. See `tree`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pliant.frontend.modelica.syntax.node import Node

if TYPE_CHECKING:
    from pliant.frontend.modelica.syntax.tree import Annotation
    from pliant.frontend.modelica.syntax.tree_expressions import (
        Call,
        Expression,
        ForIndex,
        ReductionCall,
        Reference,
        Tuple,
    )


class AnyEquation(Node):
    """An equation, with the description behind it."""

    description: str
    annotation: Annotation | None


class SimpleEquation(AnyEquation):
    """`left = right`"""

    left: Expression
    right: Expression


class IfEquation(AnyEquation):
    """`if c then ... elseif d then ... else ... end if`"""

    branches: tuple[tuple[Expression, tuple[AnyEquation, ...]], ...]
    otherwise: tuple[AnyEquation, ...]


class ForEquation(AnyEquation):
    """`for i in a, j in b loop ... end for`"""

    indices: tuple[ForIndex, ...]
    equations: tuple[AnyEquation, ...]


class WhenEquation(AnyEquation):
    """`when c then ... elsewhen d then ... end when`"""

    branches: tuple[tuple[Expression, tuple[AnyEquation, ...]], ...]


class Connect(AnyEquation):
    """`connect(a, b)`"""

    left: Reference
    right: Reference


class CallEquation(AnyEquation):
    """`assert(...)`, `reinit(x, 0)`, `Connections.root(a)`: a call that stands alone."""

    call: Call | ReductionCall


class Algorithm(Node):
    """One algorithm section."""

    statements: tuple[AnyStatement, ...]


class AnyStatement(Node):
    """A statement, with the description behind it."""

    description: str
    annotation: Annotation | None


class Assignment(AnyStatement):
    """`a.b[i] := value`"""

    target: Reference
    value: Expression


class TupleAssignment(AnyStatement):
    """`(a, , b) := f(x)`"""

    targets: Tuple
    value: Call | ReductionCall


class CallStatement(AnyStatement):
    """`f(x);`"""

    call: Call | ReductionCall


class IfStatement(AnyStatement):
    """`if c then ... elseif d then ... else ... end if`"""

    branches: tuple[tuple[Expression, tuple[AnyStatement, ...]], ...]
    otherwise: tuple[AnyStatement, ...]


class ForStatement(AnyStatement):
    """`for i in a, j in b loop ... end for`"""

    indices: tuple[ForIndex, ...]
    statements: tuple[AnyStatement, ...]


class WhileStatement(AnyStatement):
    """`while c loop ... end while`"""

    condition: Expression
    statements: tuple[AnyStatement, ...]


class WhenStatement(AnyStatement):
    """`when c then ... elsewhen d then ... end when`"""

    branches: tuple[tuple[Expression, tuple[AnyStatement, ...]], ...]


class BreakStatement(AnyStatement):
    """`break`"""


class ReturnStatement(AnyStatement):
    """`return`"""
