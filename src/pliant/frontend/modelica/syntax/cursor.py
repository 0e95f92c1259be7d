"""The place of the parser in its tokens; faults there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from pliant.frontend.modelica.syntax.faults import (
    MOST_FAULTS,
    FaultFound,
    SyntaxFault,
    described,
    nearest_keyword,
    odd_fault,
)
from pliant.frontend.modelica.syntax.outline import ClassPlace
from pliant.frontend.modelica.syntax.tokens import IDENT, KEYWORDS, ODD, STRING, Tokens, string_value
from pliant.frontend.modelica.syntax.tree import MAX_DEPTH

_T = TypeVar("_T")
_PREDEFINED: Final = frozenset(("Real", "Integer", "Boolean", "String"))
_SPLIT: Final = "give parts of it names of their own"


class Cursor:
    """Tokens and the index of the next one. Phrases that cannot be read end in `FaultFound`."""

    __slots__ = (
        "begin",
        "depth",
        "ends",
        "faults",
        "i",
        "is_complete",
        "kinds",
        "places",
        "source",
        "starts",
        "stop",
        "subscript",
        "texts",
        "tokens",
        "warnings",
    )

    def __init__(
        self, tokens: Tokens, classes: Sequence[ClassPlace], faults: list[SyntaxFault], *, is_complete: bool
    ) -> None:
        self.tokens = tokens
        self.places = {one.name_start: one for one in classes}  # long classes in this text, by their names
        self.source = tokens.source
        self.kinds, self.texts, self.starts, self.ends = tokens.kinds, tokens.texts, tokens.starts, tokens.ends
        self.i = 0
        self.begin = 0  # of the element, equation or statement that is being read
        self.stop = tokens.stop  # of what is being read; never passed in search of a place to go on
        self.depth = 0
        self.subscript = 0  # > 0: inside the brackets of a subscript
        self.faults = faults
        self.warnings: list[SyntaxFault] = []
        self.is_complete = is_complete  # read everything now, also what is usually read on demand
        if ODD in self.kinds:
            faults += [odd_fault(tokens, at) for at, kind in enumerate(self.kinds) if kind == ODD][:MOST_FAULTS]

    # -------------------------------------------------------------------------------------------------------- faults

    def fault(self, message: str, *, hint: str, rule: str | None = None, at: int | None = None) -> FaultFound:
        """To raise where a phrase must be given up: something is wrong at token `at`, or at the next one."""
        i = self.i if at is None else at
        if self.kinds[i] == ODD:
            return FaultFound(odd_fault(self.tokens, i))
        return FaultFound(SyntaxFault(self.source, (self.starts[i], self.ends[i]), message, hint=hint, rule=rule))

    def expected(self, what: str, *, hint: str = "", rule: str | None = None) -> FaultFound:
        """To raise where something else stands. A word close to a keyword is pointed out."""
        hint = hint or self._guess(what)
        found = described(self.tokens, self.i)
        previous = self.i - 1
        if what.startswith("`;`") and previous >= 0 and self._line(previous) != self._line(self.i):
            place = (self.ends[previous] - 1, self.ends[previous])  # the place where it is missing
            message = f"expected {what} here, before {found}"
            return FaultFound(SyntaxFault(self.source, place, message, hint=hint, rule=rule), is_behind=True)
        return self.fault(f"expected {what}, found {found}", hint=hint, rule=rule)

    def _guess(self, what: str) -> str:
        for i in (self.i, self.begin, self.i - 1):
            word = nearest_keyword(self.tokens, i) if 0 <= i < len(self.kinds) else ""
            if word:
                return f"did you mean `{word}` instead of `{self.texts[i]}`?"
        kind = self.kinds[self.i]
        if kind in KEYWORDS and what.startswith(("the name", "a name")):
            return f"`{kind}` is a keyword: choose another name, or quote it, `'{kind}'`"
        return f"write {what}" if what.startswith("`") else ""

    def _line(self, i: int) -> int:
        return self.source.line_and_column(self.starts[i])[0]

    def warn(self, message: str, *, hint: str, rule: str | None, at: int) -> None:
        """Note something that is accepted but should be written in another way."""
        self.warnings.append(SyntaxFault(self.source, (self.starts[at], self.ends[at]), message, hint=hint, rule=rule))

    def guarded(self, read: Callable[[], _T]) -> _T | None:
        """What is read, or None where a fault, which is noted, or the end of the stack ends it."""
        try:
            return read()
        except FaultFound as found:
            if found.fault not in self.faults:
                self.faults.append(found.fault)
        except RecursionError:
            self.i = min(self.i, self.stop)
            place = (self.starts[self.i], self.ends[self.i])
            text = "this is nested too deeply for the stack that is left"
            self.faults.append(SyntaxFault(self.source, place, text, hint=_SPLIT, rule=None))
        return None

    def enter(self) -> None:
        """One level deeper."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.fault(
                f"this is nested more than {MAX_DEPTH} levels deep",
                hint=_SPLIT,
            )

    # -------------------------------------------------------------------------------------------------------- tokens

    def expect(self, kind: str, what: str = "", *, rule: str | None = None) -> int:
        """The index of the next token, which must be of this kind; it is passed."""
        i = self.i
        if self.kinds[i] != kind:
            raise self.expected(what or f"`{kind}`", rule=rule)
        self.i = i + 1
        return i

    def accept(self, kind: str) -> bool:
        """Pass the next token if it is of this kind."""
        if self.kinds[self.i] == kind:
            self.i += 1
            return True
        return False

    def identifier(self, what: str) -> str:
        """The next token, which must be a name."""
        i = self.i
        if self.kinds[i] != IDENT:
            raise self.expected(what, rule="2.3")
        self.i = i + 1
        return self.texts[i]

    def declared(self, i: int) -> str:
        """The name at token i, which is being declared."""
        name = self.texts[i]
        if name in _PREDEFINED:
            text = f"`{name}` is the name of a predefined type and cannot be declared"
            raise self.fault(text, hint=self._guess("") or "choose another name", rule="2.3.3", at=i)
        return name

    def string(self, i: int) -> str:
        """The value of the text at token i."""
        try:
            return string_value(self.texts[i])
        except ValueError as error:
            raise self.fault(
                f"the text has the escape `{error}`, which Modelica does not have",
                hint="a backslash is written `\\\\`",
                rule="2.4.4",
                at=i,
            ) from None

    def description_string(self) -> str:
        """`"a" + "b"`, or nothing."""
        if self.kinds[self.i] != STRING:
            return ""
        found = self.string(self.i)
        self.i += 1
        while self.kinds[self.i] == "+":
            self.i += 1
            found += self.string(self.expect(STRING, "a text behind `+`, as in a description"))
        return found
