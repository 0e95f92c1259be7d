"""Expressions (A.2.7), by precedence:

    if  <  :  <  or  <  and  <  not  <  relations  <  + -, also as signs  <  * /  <  ^

Signs stand only before a whole term (`a * -b` is no Modelica, nor is `2^-1`), relations and `^` do not associate.
"""

from __future__ import annotations

from math import inf
from typing import Final

from pliant.frontend.modelica.syntax.cursor import Cursor
from pliant.frontend.modelica.syntax.faults import FaultFound
from pliant.frontend.modelica.syntax.tokens import IDENT, INTEGER, REAL, STRING
from pliant.frontend.modelica.syntax.tree import (
    ArrayComprehension,
    ArrayConstructor,
    Binary,
    BooleanLiteral,
    Call,
    Colon,
    Concatenation,
    End,
    Expression,
    ForIndex,
    If,
    IntegerLiteral,
    NamedArgument,
    PartialApplication,
    Range,
    RealLiteral,
    ReductionCall,
    Reference,
    StringLiteral,
    Tuple,
    Unary,
)

_OR, _AND, _NOT, _RELATION, _SIGN, _TERM, _POWER = range(1, 8)
_ADD: Final = frozenset(("+", "-", ".+", ".-"))
_PRECEDENCE: Final = {
    "or": _OR,
    "and": _AND,
    **dict.fromkeys(("<", "<=", ">", ">=", "==", "<>"), _RELATION),
    **dict.fromkeys(_ADD, _SIGN),
    **dict.fromkeys(("*", "/", ".*", "./"), _TERM),
    **dict.fromkeys(("^", ".^"), _POWER),
}
_SINGLE: Final = (_RELATION, _POWER)  # do not associate
_NAME_START: Final = frozenset((IDENT, "."))
_BOOLEANS: Final = frozenset(("true", "false"))
_NAMED_CALLS: Final = frozenset(("der", "initial", "pure"))
_RULE: Final = "A.2.7"
MOST_INTEGER: Final = 2**53


class ExpressionParser(Cursor):
    """Reads expressions."""

    __slots__ = ()

    def expression(self) -> Expression:
        """Any expression."""
        self.enter()
        found = self._if() if self.kinds[self.i] == "if" else self.simple_expression()
        self.depth -= 1
        return found

    def simple_expression(self) -> Expression:
        """A range, or what may be one of its parts."""
        start = self.starts[self.i]
        first = self._operation()
        if self.kinds[self.i] != ":":
            return first
        self.i += 1
        second = self._operation()
        if self.kinds[self.i] != ":":
            return Range(self.source, start, self.ends[self.i - 1], first, None, second)
        self.i += 1
        third = self._operation()
        return Range(self.source, start, self.ends[self.i - 1], first, second, third)

    def _if(self) -> Expression:
        """All branches of one chain, `else if` included: such chains get long."""
        start = self.starts[self.i]
        branches: list[tuple[Expression, Expression]] = []
        while True:
            self.i += 1
            condition = self.expression()
            self.expect("then", "`then` behind the condition", rule=_RULE)
            branches.append((condition, self.expression()))
            kind = self.kinds[self.i]
            if kind == "elseif":
                continue
            if kind != "else":
                raise self.expected(
                    "`else` or `elseif`", hint="an expression with `if` needs a value for `else`, too", rule=_RULE
                )
            self.i += 1
            if self.kinds[self.i] != "if":
                break
        otherwise = self.expression()
        return If(self.source, start, self.ends[self.i - 1], tuple(branches), otherwise)

    # ----------------------------------------------------------------------------------------------------- operators

    def _operation(self) -> Expression:
        """Operands and operators, those that wait for their right side on a stack: no recursion by precedence."""
        kinds, starts, ends, source = self.kinds, self.starts, self.ends, self.source
        waiting: list[tuple[int, str, Expression | None, int]] = []  # precedence, operator, left side, its start
        may_negate = may_sign = True
        while True:
            i = self.i
            kind = kinds[i]
            if may_negate and kind == "not":
                waiting.append((_NOT, kind, None, starts[i]))
                self.i = i = i + 1
                kind = kinds[i]
            if may_sign and kind in _ADD:
                waiting.append((_SIGN, kind, None, starts[i]))
                self.i = i = i + 1
            start = starts[i]
            value = self._primary()
            operator = kinds[self.i]
            precedence = _PRECEDENCE.get(operator, 0)
            while waiting and waiting[-1][0] >= precedence:
                above, word, left, start = waiting.pop()
                if above == precedence and above in _SINGLE:
                    raise self._repeated(above)
                end = ends[self.i - 1]
                if left is None:
                    value = Unary(source, start, end, word, value)
                else:
                    value = Binary(source, start, end, word, left, value)
            if not precedence:
                return value
            self.i += 1
            waiting.append((precedence, operator, value, start))
            may_negate = precedence <= _AND
            may_sign = precedence <= _RELATION

    def _repeated(self, precedence: int) -> FaultFound:
        if precedence == _POWER:
            return self.fault("powers cannot follow each other", hint="write `(a^b)^c` or `a^(b^c)`", rule=_RULE)
        return self.fault("relations cannot follow each other", hint="write `a < b and b < c`", rule=_RULE)

    # ----------------------------------------------------------------------------------------------------- primaries

    def _primary(self) -> Expression:
        i = self.i
        kind = self.kinds[i]
        if kind in _NAME_START:
            found = self.reference()
            if self.kinds[self.i] == "(":
                return self.call(found)
            return found
        source, start = self.source, self.starts[i]
        self.i = i + 1
        if kind == INTEGER:
            return self._integer(i)
        if kind == REAL:
            return self._real(i)
        if kind == STRING:
            return StringLiteral(source, start, self.ends[i], self.string(i))
        if kind == "(":
            return self._parenthesis(start)
        if kind == "{":
            return self._braces(start)
        if kind == "[":
            return self._concatenation(start)
        if kind in _BOOLEANS:
            return BooleanLiteral(source, start, self.ends[i], kind == "true")
        if kind in _NAMED_CALLS and self.kinds[i + 1] == "(":
            return self.call(Reference(source, start, self.ends[i], (kind,), (), False))
        if kind == "end" and self.subscript:
            return End(source, start, self.ends[i])
        self.i = i
        raise self._no_primary(kind)

    def _no_primary(self, kind: str) -> FaultFound:
        if kind in _ADD:
            hint = "put the signed value in parentheses, e.g. `a * (-b)`, `2^(-1)`"
            return self.fault(f"the sign `{kind}` cannot follow another operator", hint=hint, rule=_RULE)
        if kind == "not":
            return self.fault("`not` cannot stand here", hint="put it in parentheses: `(not a)`", rule=_RULE)
        if kind == "end":
            return self.fault(
                "expected an expression, found `end`", hint="`end` has a value in subscripts only", rule="10.5.2"
            )
        if kind == "if":
            hint = "put it in parentheses: `(if a then b else c)`"
            return self.fault("`if` cannot be an operand", hint=hint, rule=_RULE)
        if kind == "*" and self.kinds[self.i - 1] == "*":
            return self.fault("`**` is no operator", hint="a power is written `a^b`", rule=_RULE, at=self.i - 1)
        hint = (
            "" if self.i and self.kinds[self.i - 1] == IDENT else "write a name, a number, or something in parentheses"
        )
        return self.expected("an expression", hint=hint, rule=_RULE)

    def _integer(self, i: int) -> Expression:
        text = self.texts[i]
        if len(text) > 4000:  # Python refuses to convert longer ones
            raise self.fault("this number has too many digits", hint="write it with an exponent: `1e300`", at=i)
        if len(text) > 15 and int(text) > MOST_INTEGER:
            hint = "write a Real, e.g. `1e20`; a double holds whole numbers up to 2^53"
            raise self.fault(f"the number {text} is too large for an Integer", hint=hint, rule="2.4.2", at=i)
        return IntegerLiteral(self.source, self.starts[i], self.ends[i], int(text))

    def _real(self, i: int) -> Expression:
        value = float(self.texts[i])
        if value == inf:
            hint = "the largest is about 1.8e308; `Modelica.Constants.inf` stands for a large number"
            raise self.fault(f"the number {self.texts[i]} is too large", hint=hint, rule="2.4.1", at=i)
        return RealLiteral(self.source, self.starts[i], self.ends[i], value)

    def reference(self, what: str = "a name") -> Reference:
        """`.a.b[1].c`"""
        kinds, texts = self.kinds, self.texts
        i = self.i
        start = self.starts[i]
        rooted = kinds[i] == "."
        if rooted:
            i += 1
        self.i = i
        if kinds[i] != IDENT:
            raise self.expected(what, rule=_RULE)
        names = [texts[i]]
        i += 1
        subscripts: list[tuple[Expression, ...]] | None = None
        while True:
            kind = kinds[i]
            if kind == ".":
                i += 1
                if kinds[i] != IDENT:
                    self.i = i
                    raise self.expected("a name behind the dot", rule=_RULE)
                names.append(texts[i])
                i += 1
                if subscripts is not None:
                    subscripts.append(())
            elif kind == "[":
                self.i = i
                if subscripts is None:
                    subscripts = [()] * len(names)
                elif subscripts[-1]:
                    raise self.fault("a second pair of brackets", hint="write `a[i, j]`", rule=_RULE)
                subscripts[-1] = self.subscripts()
                i = self.i
            else:
                break
        self.i = i
        return Reference(
            self.source, start, self.ends[i - 1], tuple(names), tuple(subscripts) if subscripts else (), rooted
        )

    def type_name(self, what: str = "the name of a class") -> Reference:
        """`.A.B`"""
        kinds, texts = self.kinds, self.texts
        i = self.i
        start = self.starts[i]
        rooted = kinds[i] == "."
        if rooted:
            i += 1
        while True:
            if kinds[i] != IDENT:
                self.i = i
                raise self.expected(what, rule=_RULE)
            i += 1
            if kinds[i] != ".":
                break
            i += 1
        names = tuple(texts[self.i + rooted : i : 2])
        self.i = i
        return Reference(self.source, start, self.ends[i - 1], names, (), rooted)

    def subscripts(self) -> tuple[Expression, ...]:
        """`[i, :, 1:end]`; the next token is the bracket."""
        self.i += 1
        self.subscript += 1
        found: list[Expression] = []
        while True:
            i = self.i
            if self.kinds[i] == ":" and self.kinds[i + 1] in (",", "]"):
                self.i = i + 1
                found.append(Colon(self.source, self.starts[i], self.ends[i]))
            else:
                found.append(self.expression())
            if self.kinds[self.i] != ",":
                break
            self.i += 1
        self.expect("]", "`,` or `]` behind a subscript", rule=_RULE)
        self.subscript -= 1
        return tuple(found)

    def _parenthesis(self, start: int) -> Expression:
        """`(a)`, which is a, or outputs `(a, , b)`."""
        items: list[Expression | None] = []
        has_comma = False
        while True:
            items.append(None if self.kinds[self.i] in (",", ")") else self.expression())
            if self.kinds[self.i] != ",":
                break
            has_comma = True
            self.i += 1
        self.expect(")", "`)` behind an expression", rule=_RULE)
        if not has_comma and items[0] is not None:
            return items[0]
        if not has_comma:
            items.clear()
        return Tuple(self.source, start, self.ends[self.i - 1], tuple(items))

    def _braces(self, start: int) -> Expression:
        """`{a, b}` or `{a for i in b}`"""
        if self.kinds[self.i] == "}":
            hint = "an array without elements is written `fill(0, 0)` or `zeros(0)`"
            raise self.fault("`{}` is no array: its type is not known", hint=hint, rule="10.4")
        elements = [self.expression()]
        if self.kinds[self.i] == "for":
            indices = self.for_indices()
            self.expect("}", "`}` behind the iterators", rule=_RULE)
            return ArrayComprehension(self.source, start, self.ends[self.i - 1], elements[0], indices)
        while self.kinds[self.i] == ",":
            self.i += 1
            elements.append(self.expression())
        self.expect("}", "`,` or `}` behind an element of an array", rule=_RULE)
        return ArrayConstructor(self.source, start, self.ends[self.i - 1], tuple(elements))

    def _concatenation(self, start: int) -> Expression:
        """`[a, b; c, d]`"""
        rows: list[tuple[Expression, ...]] = []
        while True:
            row = [self.expression()]
            while self.kinds[self.i] == ",":
                self.i += 1
                row.append(self.expression())
            rows.append(tuple(row))
            if self.kinds[self.i] != ";":
                break
            self.i += 1
        self.expect("]", "`,`, `;` or `]` behind an element of a matrix", rule=_RULE)
        return Concatenation(self.source, start, self.ends[self.i - 1], tuple(rows))

    # --------------------------------------------------------------------------------------------------------- calls

    def call(self, function: Reference) -> Call | ReductionCall:
        """The arguments of a function; the next token is the parenthesis."""
        source, start, kinds = self.source, function.start, self.kinds
        self.i += 1
        arguments: list[Expression] = []
        named: tuple[NamedArgument, ...] = ()
        if kinds[self.i] != ")":
            while True:
                if kinds[self.i] == IDENT and kinds[self.i + 1] == "=":
                    named = self._named_arguments()
                    break
                arguments.append(self._argument())
                kind = kinds[self.i]
                if kind == "for" and len(arguments) == 1:
                    indices = self.for_indices()
                    self.expect(")", "`)` behind the iterators", rule=_RULE)
                    return ReductionCall(source, start, self.ends[self.i - 1], function, arguments[0], indices)
                if kind != ",":
                    break
                self.i += 1
        if kinds[self.i] != ")":
            raise self.expected("`,` or `)` behind an argument", rule=_RULE)
        self.i += 1
        return Call(source, start, self.ends[self.i - 1], function, tuple(arguments), named)

    def _argument(self) -> Expression:
        return self._partial_application() if self.kinds[self.i] == "function" else self.expression()

    def _named_arguments(self) -> tuple[NamedArgument, ...]:
        found: list[NamedArgument] = []
        while True:
            i = self.i
            if self.kinds[i] != IDENT or self.kinds[i + 1] != "=":
                raise self.fault(
                    "an argument without a name cannot follow one with a name",
                    hint="write `name = value`",
                    rule="12.4.1",
                )
            self.i = i + 2
            value = self._argument()
            found.append(NamedArgument(self.source, self.starts[i], self.ends[self.i - 1], self.texts[i], value))
            if self.kinds[self.i] != ",":
                return tuple(found)
            self.i += 1

    def _partial_application(self) -> Expression:
        """`function f(a = 1)`"""
        self.enter()
        start = self.starts[self.i]
        self.i += 1
        function = self.type_name("the name of a function")
        self.expect("(", "`(` behind the name of a function", rule="12.4.2.1")
        named = () if self.kinds[self.i] == ")" else self._named_arguments()
        self.expect(")", "`,` or `)` behind an argument", rule="12.4.2.1")
        self.depth -= 1
        return PartialApplication(self.source, start, self.ends[self.i - 1], function, named)

    def for_indices(self) -> tuple[ForIndex, ...]:
        """`for i in a, j`; the next token is `for`."""
        self.i += 1
        found: list[ForIndex] = []
        while True:
            start = self.starts[self.i]
            name = self.identifier("the name of an iterator")
            values = self.expression() if self.accept("in") else None
            found.append(ForIndex(self.source, start, self.ends[self.i - 1], name, values))
            if self.kinds[self.i] != ",":
                return tuple(found)
            self.i += 1
