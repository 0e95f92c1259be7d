"""Random syntax trees over the whole grammar."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from pliant.frontend.modelica.syntax import tree as t
from pliant.frontend.modelica.syntax.source import NO_SOURCE

P = (NO_SOURCE, 0, 0)
NAMES = ["a", "x1", "_y", "Resistor", "'a b'", "'+'", "'\\'q\\''", "time", "T", "endpoint", "model_1", "ifs", "e1", "E"]
TEXTS = ["", "", "text", 'with "quotes"', "two\nlines", "back\\slash", "end M; // no", "ä λ 温", "/* */"]
OPERATORS = ["+", "-", "*", "/", "^", ".+", ".-", ".*", "./", ".^", "<", "<=", ">", ">=", "==", "<>", "and", "or"]
_T = TypeVar("_T")


class Maker:
    """One random file; `budget` bounds its size."""

    def __init__(self, seed: int) -> None:
        self.chance = np.random.default_rng([21, 1, seed])
        self.budget = int(self.chance.integers(20, 250))

    def one(self, options: list[_T]) -> _T:
        return options[int(self.chance.integers(len(options)))]

    def flip(self, share: float = 0.5) -> bool:
        return bool(self.chance.random() < share)

    def some(self, make: Callable[[], _T], least: int = 0, most: int = 3) -> tuple[_T, ...]:
        return tuple(make() for _ in range(self.chance.integers(least, most + 1)))

    def maybe(self, make: Callable[[], _T], share: float = 0.3) -> _T | None:
        return make() if self.flip(share) else None

    def small(self) -> bool:
        """Nothing larger than a leaf any more."""
        self.budget -= 1
        return self.budget < 0

    # --------------------------------------------------------------------------------------------------- expressions

    def name(self) -> str:
        return self.one(NAMES)

    def names(self) -> tuple[str, ...]:
        return self.some(self.name, 1)

    def type_name(self) -> t.Reference:
        return t.Reference(*P, self.names(), (), self.flip(0.1))

    def reference(self) -> t.Reference:
        names = self.names()
        if self.small() or self.flip(0.6):
            return t.Reference(*P, names, (), self.flip(0.1))
        subscripts = tuple(self.subscripts() if self.flip() else () for _ in names)
        return t.Reference(*P, names, subscripts if any(subscripts) else (), False)

    def subscripts(self) -> tuple[t.Expression, ...]:
        return self.some(self.subscript, 1, 2)

    def subscript(self) -> t.Expression:
        return self.one([self.expression, lambda: t.Colon(*P), lambda: t.End(*P)])()

    def leaf(self) -> t.Expression:
        kind = int(self.chance.integers(6))
        if kind == 0:
            return t.IntegerLiteral(*P, int(self.chance.integers(0, 10**9)))
        if kind == 1:
            return t.RealLiteral(*P, float(self.one([0.5, 1.0, 1e300, 1e-12, 3.25, 1 / 3, 12345.678e9])))
        if kind == 2:
            return t.StringLiteral(*P, self.one(TEXTS))
        if kind == 3:
            return t.BooleanLiteral(*P, self.flip())
        return self.reference()

    def expression(self) -> t.Expression:
        if self.small():
            return self.leaf()
        return self.one([self.leaf, self.leaf, self.binary, self.binary, self.unary, self.compound])()

    def binary(self) -> t.Expression:
        return t.Binary(*P, self.one(OPERATORS), self.expression(), self.expression())

    def unary(self) -> t.Expression:
        return t.Unary(*P, self.one(["-", "+", ".-", ".+", "not"]), self.expression())

    def compound(self) -> t.Expression:
        make = self.expression
        rows = [self.some(make, 1) for _ in range(self.chance.integers(1, 3))]
        items = self.some(lambda: self.maybe(make, 0.7), 2)
        return self.one(
            [
                lambda: t.Range(*P, make(), self.maybe(make), make()),
                lambda: t.If(*P, self.some(lambda: (make(), make()), 1), make()),
                lambda: t.ArrayConstructor(*P, self.some(make, 1)),
                lambda: t.ArrayComprehension(*P, make(), self.indices()),
                lambda: t.Concatenation(*P, tuple(rows)),
                lambda: t.Tuple(*P, items),
                self.call,
                self.reduction,
                lambda: t.Call(*P, t.Reference(*P, (self.one(["der", "initial", "pure"]),), (), False), (make(),), ()),
            ]
        )()

    def indices(self) -> tuple[t.ForIndex, ...]:
        return self.some(lambda: t.ForIndex(*P, self.name(), self.maybe(self.expression, 0.8)), 1, 2)

    def named(self) -> tuple[t.NamedArgument, ...]:
        return self.some(lambda: t.NamedArgument(*P, self.name(), self.argument_value()), 0, 2)

    def argument_value(self) -> t.Expression:
        if self.flip(0.1):
            return t.PartialApplication(*P, self.type_name(), self.named())
        return self.expression()

    def call(self) -> t.Call:
        return t.Call(*P, self.reference(), self.some(self.argument_value), self.named())

    def reduction(self) -> t.ReductionCall:
        return t.ReductionCall(*P, self.reference(), self.expression(), self.indices())

    # ------------------------------------------------------------------------------------------------- modifications

    def modification(self) -> t.Modification:
        value: t.Expression | None = self.maybe(self.expression, 0.5)
        if self.flip(0.05):
            value = t.Break(*P)
        return t.Modification(*P, self.some(self.argument), value)

    def bracketed(self) -> t.Modification:
        return t.Modification(*P, self.some(self.argument), None)

    def argument(self) -> t.ModificationArgument:
        if not self.small() and self.flip(0.25):
            mask = self.one([t.REDECLARE, t.REDECLARE | t.REPLACEABLE, t.REPLACEABLE]) | (
                t.FINAL if self.flip(0.2) else 0
            )
            element = self.component(mask, True) if self.flip() else self.short_class(mask, True)
            return t.Redeclaration(*P, self.flip(0.2), element)
        modification = None if self.small() else self.maybe(self.modification, 0.8)
        return t.Modifier(*P, self.names(), self.flip(0.2), self.flip(0.2), modification, self.one(TEXTS))

    def annotation(self) -> t.Annotation | None:
        return None if self.small() or self.flip(0.8) else t.Annotation(*P, self.some(self.argument))

    def constraint(self, mask: int, in_modifier: bool) -> t.Constraint | None:
        if not mask & t.REPLACEABLE or self.flip():
            return None
        text, annotation = ("", None) if in_modifier else (self.one(TEXTS), self.annotation())
        return t.Constraint(*P, self.type_name(), self.maybe(self.bracketed), text, annotation)

    # ------------------------------------------------------------------------------------------------------- classes

    def component(self, mask: int, in_modifier: bool = False) -> t.Component:
        words = (self.one(["", "", one]) for one in ("parameter", "input", "flow"))
        variability, causality, connection = (
            self.one([word, *others]) if word else ""
            for word, others in zip(words, (["constant", "discrete"], ["output"], ["stream"]), strict=True)
        )
        condition = None if in_modifier else self.maybe(self.expression, 0.2)
        dimensions = self.subscripts_of_declaration()
        modification = self.maybe(self.modification)
        text, annotation = self.one(TEXTS), self.annotation()
        head = (*P, self.name(), self.type_name(), mask, variability, causality, connection, dimensions, modification)
        return t.Component(*head, condition, text, annotation, self.constraint(mask, in_modifier))

    def subscripts_of_declaration(self) -> tuple[t.Expression, ...]:
        return self.subscripts() if self.flip(0.2) else ()

    def head(self, mask: int, kinds: list[str]) -> tuple[str, str, int, int]:
        kind = self.one(kinds)
        mask |= t.PARTIAL if self.flip(0.2) else 0
        if kind.endswith("function") and self.flip(0.3):
            mask |= self.one([t.PURE, t.IMPURE])
        return self.name(), kind, mask, 0

    def short_class(self, mask: int, in_modifier: bool = False) -> t.ClassDefinition:
        name, kind, mask, at = self.head(mask, list(t.KINDS))
        constraint = self.constraint(mask, in_modifier)
        head = (*P, name, kind, mask, at, constraint)
        text, annotation = self.one(TEXTS), self.annotation()
        form = self.chance.integers(5)
        if form == 0:
            made = self.some(lambda: t.EnumerationLiteral(*P, self.name(), self.one(TEXTS), self.annotation()))
            return t.Enumeration(*head, self.maybe(lambda: made, 0.8), text, annotation)
        if form == 1 and not in_modifier:
            return t.DerivativeClass(*head, self.type_name(), self.some(self.name, 1), text, annotation)
        causality = self.one(["", "", "input", "output"])
        dimensions = self.subscripts_of_declaration()
        return t.ShortClass(
            *head, causality, self.type_name(), dimensions, self.maybe(self.bracketed), text, annotation
        )

    def long_class(self, mask: int) -> t.LongClass:
        name, kind, mask, at = self.head(mask, list(t.KINDS))
        is_extension = self.flip(0.2)
        constraint = self.constraint(mask, False)
        return t.LongClass(P, name, kind, mask, at, constraint, is_extension, self.body(is_extension))

    def element(self) -> t.Element:
        kind = int(self.chance.integers(8))
        visibility = t.PROTECTED if self.flip(0.3) else 0
        if kind == 0:
            form = int(self.chance.integers(4))
            alias, members = self.name() if form == 1 else "", self.some(self.name, 1) if form == 3 else ()
            return t.Import(*P, self.names(), alias, form == 2, members, self.one(TEXTS), self.annotation())
        if kind == 1:
            modification = self.maybe(self.extends_modification, 0.6)
            return t.Extends(*P, self.type_name(), modification, self.annotation(), visibility)
        mask = visibility
        for one in (t.REDECLARE, t.FINAL, t.INNER, t.OUTER, t.REPLACEABLE):
            mask |= one if self.flip(0.1) else 0
        if kind > 3 or self.small():
            return self.component(mask)
        mask |= t.ENCAPSULATED if self.flip(0.2) else 0
        return self.short_class(mask) if kind == 2 else self.long_class(mask)

    def extends_modification(self) -> t.Modification:
        found = self.some(self.argument)
        if self.flip(0.3):
            found += (t.Exclusion(*P, self.name(), None),)
        if self.flip(0.3):
            found += (t.Exclusion(*P, "", self.connect("", None)),)
        return t.Modification(*P, found, None)

    def body(self, is_extension: bool) -> t.Body:
        sections = t.Sections()
        sections.equations += self.some(self.equation)
        sections.initial_equations += self.some(self.equation, 0, 1)
        sections.algorithms += self.some(lambda: t.Algorithm(*P, self.some(self.statement)), 0, 2)
        sections.initial_algorithms += self.some(lambda: t.Algorithm(*P, self.some(self.statement)), 0, 1)
        if self.flip(0.1):
            sections.external = self.external()
        modification = self.maybe(self.bracketed) if is_extension else None
        elements = self.some(self.element, 0, 6)
        return t.Body(P, self.one(TEXTS), modification, elements, sections, self.annotation())

    def external(self) -> t.External:
        language = self.one(["C", "FORTRAN 77", "builtin"])
        if self.flip(0.3):
            return t.External(*P, language, None, "", (), self.annotation())
        function = self.one(["f", "dgesv_"])
        return t.External(
            *P, language, self.maybe(self.reference), function, self.some(self.expression), self.annotation()
        )

    # -------------------------------------------------------------------------------------- equations and statements

    def comment(self) -> tuple[str, t.Annotation | None]:
        return self.one(TEXTS), self.annotation()

    def connect(self, text: str, annotation: t.Annotation | None) -> t.Connect:
        return t.Connect(*P, text, annotation, self.reference(), self.reference())

    def equation(self) -> t.AnyEquation:
        text, annotation = self.comment()
        head = (*P, text, annotation)
        block = self.equation

        def branch() -> tuple[t.Expression, tuple[t.AnyEquation, ...]]:
            return self.expression(), self.some(block)

        if self.small():
            return t.SimpleEquation(*head, self.leaf(), self.leaf())
        return self.one(
            [
                lambda: t.SimpleEquation(*head, self.expression(), self.expression()),
                lambda: t.SimpleEquation(*head, self.expression(), self.expression()),
                lambda: t.IfEquation(*head, self.some(branch, 1), self.some(block)),
                lambda: t.ForEquation(*head, self.indices(), self.some(block)),
                lambda: t.WhenEquation(*head, self.some(branch, 1)),
                lambda: self.connect(text, annotation),
                lambda: t.CallEquation(*head, self.one([self.call, self.reduction])()),
            ]
        )()

    def statement(self) -> t.AnyStatement:
        head = (*P, *self.comment())
        block = self.statement

        def branch() -> tuple[t.Expression, tuple[t.AnyStatement, ...]]:
            return self.expression(), self.some(block)

        if self.small():
            return t.Assignment(*head, self.reference(), self.leaf())
        targets = t.Tuple(*P, self.some(lambda: self.maybe(self.reference, 0.7), 2))
        return self.one(
            [
                lambda: t.Assignment(*head, self.reference(), self.expression()),
                lambda: t.TupleAssignment(*head, targets, self.one([self.call, self.reduction])()),
                lambda: t.TupleAssignment(*head, t.Tuple(*P, (self.reference(),)), self.call()),
                lambda: t.CallStatement(*head, self.one([self.call, self.reduction])()),
                lambda: t.IfStatement(*head, self.some(branch, 1), self.some(block)),
                lambda: t.ForStatement(*head, self.indices(), self.some(block)),
                lambda: t.WhileStatement(*head, self.expression(), self.some(block)),
                lambda: t.WhenStatement(*head, self.some(branch, 1)),
                lambda: t.BreakStatement(*head),
                lambda: t.ReturnStatement(*head),
            ]
        )()

    def stored(self) -> t.StoredDefinition:
        within = self.one([None, (), self.names()])
        classes = self.some(lambda: self.one([self.long_class, self.long_class, self.short_class])(0), 1)
        return t.StoredDefinition(*P, within, classes)
