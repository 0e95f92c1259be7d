"""Equations and statements (A.2.6). A fault ends one of them; reading goes on behind its semicolon."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from pliant.frontend.modelica.syntax.faults import MOST_FAULTS, FaultFound, described
from pliant.frontend.modelica.syntax.modifications import ModificationParser
from pliant.frontend.modelica.syntax.tokens import END_OF_FILE, IDENT, INTEGER, REAL
from pliant.frontend.modelica.syntax.tree import (
    Annotation,
    AnyEquation,
    AnyStatement,
    Assignment,
    Binary,
    BreakStatement,
    Call,
    CallEquation,
    CallStatement,
    Connect,
    Expression,
    ForEquation,
    ForStatement,
    IfEquation,
    IfStatement,
    ReductionCall,
    ReturnStatement,
    SimpleEquation,
    Tuple,
    TupleAssignment,
    WhenEquation,
    WhenStatement,
    WhileStatement,
)

_RULE: Final = "A.2.6"
_NO_CALL: Final = frozenset(("der", "initial", "pure"))
PARTITION_WORDS: Final = frozenset(("partition", "subpartition"))  # keywords of Base Modelica
SECTION_WORDS: Final = frozenset(("equation", "algorithm", "public", "protected", "external", "annotation"))
_LIST_ENDS: Final = SECTION_WORDS | {"end", "else", "elseif", "elsewhen", END_OF_FILE}
_OPEN: Final = frozenset("([{")
_CLOSE: Final = frozenset(")]}")
_T = TypeVar("_T", AnyEquation, AnyStatement)
Comment = tuple[str, Annotation | None]


class EquationParser(ModificationParser):
    """Reads equations and statements."""

    __slots__ = ()

    # --------------------------------------------------------------------------------------------------------- lists

    def _list(self, one: Callable[[], _T]) -> list[_T]:
        """Phrases with semicolons up to a keyword that ends them; the keyword stays."""
        kinds = self.kinds
        found: list[_T] = []
        while True:
            kind = kinds[self.i]
            if kind in _LIST_ENDS or (kind == "initial" and kinds[self.i + 1] in ("equation", "algorithm")):
                return found
            if self.source.is_base and self.texts[self.i] in PARTITION_WORDS:
                return found
            depth = self.depth
            self.begin = self.i
            try:
                phrase = one()
                if kinds[self.i] != ";":
                    raise self._no_semicolon()
                self.i += 1
                found.append(phrase)
            except FaultFound as fault:
                self.recover(fault, depth)

    def recover(self, found: FaultFound, depth: int) -> None:
        """Note a fault and go on behind the semicolon that ends its phrase, or before a keyword that ends a list."""
        self.faults.append(found.fault)
        if len(self.faults) >= MOST_FAULTS:
            raise found
        self.depth, self.subscript = depth, 0
        if found.is_behind and self.i > self.begin:
            return
        kinds = self.kinds
        brackets: list[str] = []
        i = self.begin
        while i < self.stop:
            kind = kinds[i]
            if kind in _OPEN:
                brackets.append(kind)
            elif kind in _CLOSE:
                brackets[-1:] = []
            elif i < self.i:
                pass
            elif kind == ";":
                if brackets[-1:] != ["["]:
                    self.i = i + 1
                    return
            elif kind in _LIST_ENDS and i > self.begin and not brackets and kind != "annotation":
                self.i = i
                return
            i += 1
        self.i = self.stop

    def _no_semicolon(self) -> FaultFound:
        return self.expected("`;`", hint=self._operator_hint(), rule=_RULE)

    def _operator_hint(self) -> str:
        kind = self.kinds[self.i]
        before = self.kinds[self.i - 1]
        if kind == IDENT and before == IDENT:
            return "two names side by side: an operator or `;` is missing"
        if before in (INTEGER, REAL, IDENT, ")", "]") and kind in (IDENT, INTEGER, REAL, "(", "["):
            product = f"{self.texts[self.i - 1]}*{self.texts[self.i]}"
            return f"an operator or `;` is missing: a product is written `{product}`"
        return "" if kind != "=" else "write `==` to compare"

    # ----------------------------------------------------------------------------------------------------- equations

    def equations(self) -> list[AnyEquation]:
        """All equations up to the next keyword of the class."""
        return self._list(self._equation)

    def _equation(self) -> AnyEquation:
        i = self.i
        kind = self.kinds[i]
        if kind == "if":
            return self._if_equation()
        if kind == "for":
            return self._for_equation()
        if kind == "when":
            return self._when_equation()
        if kind == "connect":
            made = self.connection()
            return Connect(self.source, made.start, made.end, *self.comment(), made.left, made.right)
        if kind in ("while", "break", "return"):
            raise self.fault(f"`{kind}` is no equation", hint="use it in an algorithm", rule="11.2")
        start = self.starts[i]
        left = self.simple_expression()
        if self.kinds[self.i] == "=":
            self.i += 1
            right = self.expression()
            end = self.ends[self.i - 1]
            return SimpleEquation(self.source, start, end, *self.comment(), left, right)
        if isinstance(left, (Call, ReductionCall)) and left.function.names[0] not in _NO_CALL and left.start == start:
            end = self.ends[self.i - 1]
            return CallEquation(self.source, start, end, *self.comment(), left)
        raise self._no_equation(left)

    def _no_equation(self, left: Expression) -> FaultFound:
        kind = self.kinds[self.i]
        if kind == ":=":
            return self.fault("`:=` cannot stand in an equation", hint="write `=`, or `algorithm` above", rule="8.3.1")
        if kind == IDENT and self.kinds[self.i - 1] == IDENT:
            hint = "declarations stand before `equation`, or behind `public` or `protected`"
            return self.expected("`=`, as this is an equation", hint=hint, rule=_RULE)
        if isinstance(left, Binary) and left.operator == "==":
            at = next(k for k in range(self.i - 1, -1, -1) if self.kinds[k] == "==")
            return self.fault("`==` compares, and makes no equation", hint="write `=`", rule="8.3.1", at=at)
        return self.expected("`=`", rule=_RULE)

    def _if_equation(self) -> AnyEquation:
        self.enter()
        start = self.starts[self.i]
        branches: list[tuple[Expression, tuple[AnyEquation, ...]]] = []
        while True:
            self.i += 1
            condition = self.expression()
            self.expect("then", "`then` behind the condition", rule=_RULE)
            branches.append((condition, tuple(self._list(self._equation))))
            if self.kinds[self.i] != "elseif":
                break
        otherwise = tuple(self._list(self._equation)) if self.accept("else") else ()
        end = self._end_block("if", start)
        return IfEquation(self.source, start, end, *self.comment(), tuple(branches), otherwise)

    def _for_equation(self) -> AnyEquation:
        self.enter()
        start = self.starts[self.i]
        indices = self.for_indices()
        self.expect("loop", "`loop` behind the iterators", rule=_RULE)
        equations = tuple(self._list(self._equation))
        end = self._end_block("for", start)
        return ForEquation(self.source, start, end, *self.comment(), indices, equations)

    def _when_equation(self) -> AnyEquation:
        self.enter()
        start = self.starts[self.i]
        branches: list[tuple[Expression, tuple[AnyEquation, ...]]] = []
        while True:
            self.i += 1
            condition = self.expression()
            self.expect("then", "`then` behind the condition", rule=_RULE)
            branches.append((condition, tuple(self._list(self._equation))))
            if self.kinds[self.i] != "elsewhen":
                break
        end = self._end_block("when", start)
        return WhenEquation(self.source, start, end, *self.comment(), tuple(branches))

    def _end_block(self, word: str, start: int) -> int:
        """`end if`; one level up."""
        self.depth -= 1
        if self.kinds[self.i] != "end" or self.kinds[self.i + 1] != word:
            line, _ = self.source.line_and_column(start)
            if self.kinds[self.i] == "end" and self.kinds[self.i + 1] != IDENT:
                self.i += 1
                self.begin = self.i
            found = described(self.tokens, self.i)
            raise self.fault(
                f"expected `end {word}`, which ends the `{word}` of line {line}, found {found}",
                hint=f"write `end {word};`",
                rule=_RULE,
            )
        self.i += 2
        return self.ends[self.i - 1]

    # ---------------------------------------------------------------------------------------------------- statements

    def statements(self) -> list[AnyStatement]:
        """All statements up to the next keyword of the class."""
        return self._list(self._statement)

    def _statement(self) -> AnyStatement:
        i = self.i
        kind = self.kinds[i]
        start = self.starts[i]
        if kind in (IDENT, "."):
            return self._assignment(start)
        if kind == "if":
            return self._if_statement(start)
        if kind == "for":
            return self._for_statement(start)
        if kind == "(":
            return self._tuple_assignment(start)
        if kind == "while":
            return self._while_statement(start)
        if kind == "when":
            return self._when_statement(start)
        if kind in ("break", "return"):
            self.i += 1
            comment = self.comment()
            if kind == "break":
                return BreakStatement(self.source, start, self.ends[i], *comment)
            return ReturnStatement(self.source, start, self.ends[i], *comment)
        if kind == "connect":
            raise self.fault("`connect` is no statement", hint="write it below `equation`", rule="9.1")
        raise self.expected("a statement", rule="11.2")

    def _assignment(self, start: int) -> AnyStatement:
        target = self.reference()
        kind = self.kinds[self.i]
        if kind == ":=":
            self.i += 1
            value = self.expression()
            end = self.ends[self.i - 1]
            return Assignment(self.source, start, end, *self.comment(), target, value)
        if kind == "(":
            call = self.call(target)
            end = self.ends[self.i - 1]
            if self.kinds[self.i] != "=":
                return CallStatement(self.source, start, end, *self.comment(), call)
        if self.kinds[self.i] == "=":
            raise self.fault("`=` cannot stand in an algorithm", hint="write `:=`, or `equation` above", rule="11.2.1")
        raise self.expected("`:=`", rule="11.2.1")

    def _tuple_assignment(self, start: int) -> AnyStatement:
        left = self.simple_expression()
        if not isinstance(left, Tuple):
            left = Tuple(self.source, start, self.ends[self.i - 1], (left,))
        self.expect(":=", "`:=` behind the variables in parentheses", rule="11.2.1.1")
        at = self.i
        function = self.reference("the name of a function")
        if self.kinds[self.i] != "(":
            raise self.fault(
                "expected the call of a function", hint="without parentheses: `a := b`", rule="11.2.1.1", at=at
            )
        value = self.call(function)
        end = self.ends[self.i - 1]
        return TupleAssignment(self.source, start, end, *self.comment(), left, value)

    def _if_statement(self, start: int) -> AnyStatement:
        self.enter()
        branches: list[tuple[Expression, tuple[AnyStatement, ...]]] = []
        while True:
            self.i += 1
            condition = self.expression()
            self.expect("then", "`then` behind the condition", rule=_RULE)
            branches.append((condition, tuple(self._list(self._statement))))
            if self.kinds[self.i] != "elseif":
                break
        otherwise = tuple(self._list(self._statement)) if self.accept("else") else ()
        end = self._end_block("if", start)
        return IfStatement(self.source, start, end, *self.comment(), tuple(branches), otherwise)

    def _for_statement(self, start: int) -> AnyStatement:
        self.enter()
        indices = self.for_indices()
        self.expect("loop", "`loop` behind the iterators", rule=_RULE)
        statements = tuple(self._list(self._statement))
        end = self._end_block("for", start)
        return ForStatement(self.source, start, end, *self.comment(), indices, statements)

    def _while_statement(self, start: int) -> AnyStatement:
        self.enter()
        self.i += 1
        condition = self.expression()
        self.expect("loop", "`loop` behind the condition", rule=_RULE)
        statements = tuple(self._list(self._statement))
        end = self._end_block("while", start)
        return WhileStatement(self.source, start, end, *self.comment(), condition, statements)

    def _when_statement(self, start: int) -> AnyStatement:
        self.enter()
        branches: list[tuple[Expression, tuple[AnyStatement, ...]]] = []
        while True:
            self.i += 1
            condition = self.expression()
            self.expect("then", "`then` behind the condition", rule=_RULE)
            branches.append((condition, tuple(self._list(self._statement))))
            if self.kinds[self.i] != "elsewhen":
                break
        end = self._end_block("when", start)
        return WhenStatement(self.source, start, end, *self.comment(), tuple(branches))
