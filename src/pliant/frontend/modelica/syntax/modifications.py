"""Modifications (A.2.5), annotations, short classes (A.2.2) and what they share with elements."""

from __future__ import annotations

from functools import partial
from typing import Final

from pliant.frontend.modelica.syntax.expressions import ExpressionParser
from pliant.frontend.modelica.syntax.faults import FaultFound, SyntaxFault, error_of
from pliant.frontend.modelica.syntax.source import Source
from pliant.frontend.modelica.syntax.tokens import IDENT, Tokens
from pliant.frontend.modelica.syntax.tree import (
    FINAL,
    IMPURE,
    PARTIAL,
    PURE,
    REDECLARE,
    REPLACEABLE,
    Annotation,
    Break,
    ClassDefinition,
    Component,
    Connect,
    Constraint,
    DerivativeClass,
    Enumeration,
    EnumerationLiteral,
    Exclusion,
    Expression,
    Modification,
    ModificationArgument,
    Modifier,
    Redeclaration,
    ShortClass,
)

CLASS_WORDS: Final = frozenset(
    [
        "class",
        "model",
        "record",
        "block",
        "connector",
        "type",
        "package",
        "function",
        "operator",
        "expandable",
        "pure",
        "impure",
        "partial",
        "encapsulated",
    ]
)
_SIMPLE_KINDS: Final = frozenset(["class", "model", "record", "block", "connector", "type", "package", "function"])
_RULE: Final = "A.2.5"
_OPEN: Final = frozenset("([{")
_CLOSE: Final = frozenset(")]}")
_CLASS_RULE: Final = "A.2.2"


class ModificationParser(ExpressionParser):
    """Reads modifications."""

    __slots__ = ()

    def modification(self) -> Modification | None:
        """`(...) = value`, or nothing."""
        i = self.i
        kind = self.kinds[i]
        if kind == "(":
            arguments = self.class_modification()
            value = self._binding() if self.kinds[self.i] == "=" else None
        elif kind == "=":
            arguments, value = (), self._binding()
        elif kind == ":=":
            self.warn("`:=` in a declaration is deprecated", hint="write `=`", rule="7.2", at=i)
            arguments, value = (), self._binding()
        else:
            return None
        return Modification(self.source, self.starts[i], self.ends[self.i - 1], arguments, value)

    def _binding(self) -> Expression:
        self.i += 1
        i = self.i
        if self.kinds[i] == "break":
            self.i = i + 1
            return Break(self.source, self.starts[i], self.ends[i])
        return self.expression()

    def bracketed(self) -> Modification | None:
        """`(...)` alone, or nothing."""
        i = self.i
        if self.kinds[i] != "(":
            return None
        arguments = self.class_modification()
        return Modification(self.source, self.starts[i], self.ends[self.i - 1], arguments, None)

    def class_modification(self, *, in_extends: bool = False) -> tuple[ModificationArgument, ...]:
        """`(a = 1, redeclare model M = N)`; the next token is the parenthesis."""
        self.enter()
        self.i += 1
        found: list[ModificationArgument] = []
        if self.kinds[self.i] != ")":
            while True:
                found.append(self._exclusion() if in_extends and self.kinds[self.i] == "break" else self._argument_of())
                if self.kinds[self.i] != ",":
                    break
                self.i += 1
        self.expect(")", "`,` or `)` behind a modifier", rule=_RULE)
        self.depth -= 1
        return tuple(found)

    def _argument_of(self) -> ModificationArgument:
        i = self.i
        kind = self.kinds[i]
        if kind == IDENT:
            return self._modifier(i, each=False, final=False)
        redeclare = kind == "redeclare"
        if redeclare:
            self.i += 1
        each = self.accept("each")
        final = self.accept("final")
        prefixes = (REDECLARE if redeclare else 0) | (FINAL if final else 0)
        if self.kinds[self.i] == "replaceable":
            self.i += 1
            element = self._redeclared(prefixes | REPLACEABLE)
        elif redeclare:
            element = self._redeclared(prefixes)
        elif self.kinds[self.i] == IDENT:
            return self._modifier(i, each=each, final=final)
        else:
            raise self._no_argument()
        return Redeclaration(self.source, self.starts[i], self.ends[self.i - 1], each, element)

    def _no_argument(self) -> FaultFound:
        kind = self.kinds[self.i]
        if kind in CLASS_WORDS:
            return self.fault(f"`{kind}` needs `redeclare` here", hint=f"write `redeclare {kind} ...`", rule="7.3")
        if kind in ("each", "redeclare", "final"):
            return self.fault(f"`{kind}` is in the wrong place", hint="the order is `redeclare each final`", rule=_RULE)
        if kind == "break":
            return self.fault("`break` can only exclude elements of a base class", hint="remove it", rule="7.4")
        return self.expected("a modifier, `name = value`", rule=_RULE)

    def _modifier(self, i: int, *, each: bool, final: bool) -> ModificationArgument:
        first = self.i
        at = first + 1
        while self.kinds[at] == ".":
            if self.kinds[at + 1] != IDENT:
                self.i = at + 1
                raise self.expected("a name behind the dot", rule=_RULE)
            at += 2
        names = tuple(self.texts[first:at:2])
        self.i = at
        modification = self.modification()
        description = self.description_string()
        end = self.ends[self.i - 1]
        return Modifier(self.source, self.starts[i], end, names, each, final, modification, description)

    def _exclusion(self) -> ModificationArgument:
        i = self.i
        self.i += 1
        if self.kinds[self.i] == "connect":
            connection = self.connection()
            return Exclusion(self.source, self.starts[i], self.ends[self.i - 1], "", connection)
        name = self.identifier("a name or a connection behind `break`")
        return Exclusion(self.source, self.starts[i], self.ends[self.i - 1], name, None)

    def connection(self) -> Connect:
        """`connect(a, b)` without what follows it."""
        start = self.starts[self.i]
        self.i += 1
        self.expect("(", "`(` behind `connect`", rule="A.2.6")
        left = self.reference("the name of a connector")
        self.expect(",", "`,` between the two connectors", rule="A.2.6")
        right = self.reference("the name of a connector")
        self.expect(")", "`)` behind the second connector", rule="A.2.6")
        return Connect(self.source, start, self.ends[self.i - 1], "", None, left, right)

    def _redeclared(self, prefixes: int) -> ClassDefinition | Component:
        """A short class or a component in a modification."""
        if self.kinds[self.i] in CLASS_WORDS:
            return self._short_class_of(prefixes)
        start = self.starts[self.i]
        connection, variability, causality = self.type_prefix()
        kind = self.type_name("the type of a component")
        name = self.identifier("the name of the component that is redeclared")
        dimensions = self.subscripts() if self.kinds[self.i] == "[" else ()
        modification = self.modification()
        description, annotation = self.comment()
        constraint = self.constraint(prefixes, is_modifier=True)
        return Component(
            self.source,
            start,
            self.ends[self.i - 1],
            name,
            kind,
            prefixes,
            variability,
            causality,
            connection,
            dimensions,
            modification,
            None,
            description,
            annotation,
            constraint,
        )

    def _short_class_of(self, prefixes: int) -> ClassDefinition:
        start = self.starts[self.i]
        more, kind = self.class_prefixes()
        i = self.i
        if self.kinds[i] == IDENT and self.kinds[i + 1] != "=":
            self.i = i + 1
            raise self.expected(
                "`=` behind the name of the class", hint="only short classes can stand here", rule=_RULE
            )
        return self.short_class(start, kind, prefixes | more, is_modifier=True)

    # ------------------------------------------------------------------------------------------ parts of declarations

    def type_prefix(self) -> tuple[str, str, str]:
        """`flow parameter input`: connection, variability, causality."""
        kinds = self.kinds
        connection = variability = causality = ""
        if kinds[self.i] in ("flow", "stream"):
            connection = kinds[self.i]
            self.i += 1
        if kinds[self.i] in ("parameter", "constant", "discrete"):
            variability = kinds[self.i]
            self.i += 1
        if kinds[self.i] in ("input", "output"):
            causality = kinds[self.i]
            self.i += 1
        return connection, variability, causality

    def class_prefixes(self) -> tuple[int, str]:
        """`partial model`, `pure operator function`: prefixes and kind. The keyword is passed."""
        prefixes = 0
        if self.accept("partial"):
            prefixes |= PARTIAL
        kinds = self.kinds
        kind = kinds[self.i]
        self.i += 1
        if kind in _SIMPLE_KINDS:
            return prefixes, kind
        if kind == "operator":
            if kinds[self.i] in ("record", "function"):
                kind = f"operator {kinds[self.i]}"
                self.i += 1
            return prefixes, kind
        if kind == "expandable":
            self.expect("connector", "`connector` behind `expandable`", rule=_CLASS_RULE)
            return prefixes, "expandable connector"
        if kind in ("pure", "impure"):
            prefixes |= PURE if kind == "pure" else IMPURE
            if kind == "pure" and self.source.is_base:
                self.accept("constant")
            is_operator = self.accept("operator")
            self.expect("function", f"`function` behind `{kind}`", rule=_CLASS_RULE)
            return prefixes, "operator function" if is_operator else "function"
        self.i -= 1
        raise self.expected("a class, e.g. `model`, `record`, `function`", rule=_CLASS_RULE)

    def short_class(self, start: int, kind: str, prefixes: int, *, is_modifier: bool = False) -> ClassDefinition:
        """`T = Real[3](unit = "m")`, an enumeration, or a derivative; the next token is the name."""
        at = self.starts[self.i]
        name = self.declared(self.expect(IDENT, "the name of the class", rule="2.3"))
        self.expect("=", "`=` behind the name of the class", rule=_CLASS_RULE)
        head = (name, kind, prefixes, at)
        if self.kinds[self.i] == "enumeration":
            return self._enumeration(start, head, is_modifier)
        if self.kinds[self.i] == "der" and not is_modifier:
            return self._derivative(start, head)
        causality = ""
        if self.kinds[self.i] in ("input", "output"):
            causality = self.kinds[self.i]
            self.i += 1
        base = self.type_name()
        dimensions = self.subscripts() if self.kinds[self.i] == "[" else ()
        modification = self.bracketed()
        text, annotation = self.comment()
        constraint = self.constraint(prefixes, is_modifier=is_modifier)
        made = (self.source, start, self.ends[self.i - 1], *head, constraint)
        return ShortClass(*made, causality, base, dimensions, modification, text, annotation)

    def _enumeration(self, start: int, head: tuple[str, str, int, int], is_modifier: bool) -> ClassDefinition:
        self.i += 1
        self.expect("(", "`(` behind `enumeration`", rule=_CLASS_RULE)
        literals: list[EnumerationLiteral] = []
        is_open = self.accept(":")
        if not is_open and self.kinds[self.i] != ")":
            while True:
                first = self.starts[self.i]
                word = self.declared(self.expect(IDENT, "the name of a value of the enumeration", rule="2.3"))
                text, annotation = self.comment()
                literals.append(EnumerationLiteral(self.source, first, self.ends[self.i - 1], word, text, annotation))
                if not self.accept(","):
                    break
        self.expect(")", "`,` or `)` behind a value of the enumeration", rule=_CLASS_RULE)
        text, annotation = self.comment()
        constraint = self.constraint(head[2], is_modifier=is_modifier)
        made = (self.source, start, self.ends[self.i - 1], *head, constraint)
        return Enumeration(*made, None if is_open else tuple(literals), text, annotation)

    def _derivative(self, start: int, head: tuple[str, str, int, int]) -> ClassDefinition:
        self.i += 1
        self.expect("(", "`(` behind `der`", rule="12.7.2")
        function = self.type_name("the name of a function")
        self.expect(",", "`,` and the variables by which to differentiate", rule="12.7.2")
        variables = [self.identifier("the name of an input of the function")]
        while self.accept(","):
            variables.append(self.identifier("the name of an input of the function"))
        self.expect(")", "`,` or `)` behind a variable", rule="12.7.2")
        text, annotation = self.comment()
        constraint = self.constraint(head[2])
        made = (self.source, start, self.ends[self.i - 1], *head, constraint)
        return DerivativeClass(*made, function, tuple(variables), text, annotation)

    def constraint(self, prefixes: int, *, is_modifier: bool = False) -> Constraint | None:
        """`constrainedby A(x = 1)` of what is replaceable; a description behind it belongs to elements only."""
        if self.kinds[self.i] != "constrainedby":
            return None
        if not prefixes & REPLACEABLE:
            hint = "write `replaceable` before the element"
            raise self.fault("`constrainedby` needs an element that is replaceable", hint=hint, rule="7.3.2")
        start = self.starts[self.i]
        self.i += 1
        base = self.type_name()
        modification = self.bracketed()
        text, annotation = ("", None) if is_modifier else self.comment()
        return Constraint(self.source, start, self.ends[self.i - 1], base, modification, text, annotation)

    def comment(self) -> tuple[str, Annotation | None]:
        """Description and annotation, each if it is there."""
        text = self.description_string()
        return text, self.annotation() if self.kinds[self.i] == "annotation" else None

    def annotation(self) -> Annotation:
        """`annotation(...)`, parsed now only if everything is; the next token is the keyword."""
        i = self.i
        self.i = i + 1
        if self.kinds[i + 1] != "(":
            raise self.expected("`(` behind `annotation`", rule="A.2.7")
        closing = 0 if self.is_complete else self._closing(i + 1)
        if not closing:
            arguments = self.class_modification()
            return Annotation(self.source, self.starts[i], self.ends[self.i - 1], arguments)
        self.i = closing + 1
        read = partial(read_annotation, self.source, self.starts[i + 1], self.ends[closing])
        return Annotation(self.source, self.starts[i], self.ends[closing], read)

    def _closing(self, i: int) -> int:
        """The index of the parenthesis that belongs to the one at token i; 0 where it is not there."""
        kinds, depth = self.kinds, 0
        for at in range(i, len(kinds)):
            kind = kinds[at]
            if kind in _OPEN:
                depth += 1
            elif kind in _CLOSE:
                depth -= 1
                if not depth:
                    return at
        return 0


def read_annotation(source: Source, start: int, end: int) -> tuple[ModificationArgument, ...]:
    """The arguments of the annotation whose parentheses stand there; lexed again, as few are ever asked for."""
    faults: list[SyntaxFault] = []
    parser = ModificationParser(Tokens(source, [(start, end)], ""), (), faults, is_complete=False)
    found = parser.guarded(parser.class_modification)
    if found is None:
        raise error_of(faults)
    return found
