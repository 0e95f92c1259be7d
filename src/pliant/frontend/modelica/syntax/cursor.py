"""The place of the parser in its tokens; faults there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NoReturn, TypeVar

from pliant.frontend.modelica.syntax.faults import Fault, Found, described, nearest_keyword, odd_fault
from pliant.frontend.modelica.syntax.outline import Outline
from pliant.frontend.modelica.syntax.tokens import IDENT, KEYWORDS, ODD, STRING, string_value
from pliant.frontend.modelica.syntax.tree import MAX_DEPTH

_T = TypeVar("_T")
_SPLIT: Final = "give parts of it names of their own"


class Cursor:
    """Tokens and the index of the next one. Phrases that cannot be read end in `Found`."""

    __slots__ = (
        "begin",
        "depth",
        "ends",
        "faults",
        "i",
        "is_complete",
        "kinds",
        "outline",
        "source",
        "starts",
        "stop",
        "subscript",
        "texts",
        "tokens",
        "warnings",
    )

    def __init__(self, outline: Outline, i: int, faults: list[Fault], *, is_complete: bool) -> None:
        tokens = outline.tokens
        self.outline, self.tokens = outline, tokens
        self.source = tokens.source
        self.kinds, self.texts, self.starts, self.ends = tokens.kinds, tokens.texts, tokens.starts, tokens.ends
        self.i = i
        self.begin = i  # of the element, equation or statement that is being read
        self.stop = len(self.kinds) - 1  # of what is being read; never passed in search of a place to go on
        self.depth = 0
        self.subscript = 0  # > 0: inside the brackets of a subscript
        self.faults = faults
        self.warnings: list[Fault] = []
        self.is_complete = is_complete  # read everything now, also what is usually read on demand

    # -------------------------------------------------------------------------------------------------------- faults

    def fault(self, message: str, *, hint: str = "", rule: str | None = None, at: int | None = None) -> NoReturn:
        """Give up the phrase: something is wrong at token `at`, or at the next one."""
        i = self.i if at is None else at
        if self.kinds[i] == ODD:
            raise Found(odd_fault(self.tokens, i))
        raise Found(Fault(self.source, (self.starts[i], self.ends[i]), message, hint=hint, rule=rule))

    def expected(self, what: str, *, hint: str = "", rule: str | None = None) -> NoReturn:
        """Give up the phrase: something else stands here. A word close to a keyword is pointed out."""
        if not hint:
            hint = self._guess()
        found = described(self.tokens, self.i)
        previous = self.i - 1
        if what.startswith("`;`") and previous >= 0 and self._line(previous) != self._line(self.i):
            place = (self.ends[previous] - 1, self.ends[previous])  # the place where it is missing
            raise Found(Fault(self.source, place, f"expected {what} here, before {found}", hint=hint, rule=rule))
        self.fault(f"expected {what}, found {found}", hint=hint, rule=rule)

    def _guess(self) -> str:
        for i in (self.i, self.begin, self.i - 1):
            word = nearest_keyword(self.tokens, i) if 0 <= i < len(self.kinds) else ""
            if word:
                return f"did you mean `{word}` instead of `{self.texts[i]}`?"
        if self.kinds[self.i] in KEYWORDS:
            return (
                f"`{self.kinds[self.i]}` is a keyword: a name must be another word, or quoted, `'{self.kinds[self.i]}'`"
            )
        return "correct the text there"

    def _line(self, i: int) -> int:
        return self.source.line_and_column(self.starts[i])[0]

    def warn(self, message: str, *, hint: str, rule: str | None, at: int) -> None:
        """Note something that is accepted but should be written in another way."""
        self.warnings.append(Fault(self.source, (self.starts[at], self.ends[at]), message, hint=hint, rule=rule))

    def guarded(self, read: Callable[[], _T]) -> _T | None:
        """What is read, or None where a fault ends it, which is noted. The stack may be short where callers are deep."""
        try:
            return read()
        except Found as found:
            if found.fault not in self.faults:
                self.faults.append(found.fault)
        except RecursionError:
            self.i = min(self.i, len(self.kinds) - 1)
            place = (self.starts[self.i], self.ends[self.i])
            text = "this is nested too deeply for the stack that is left"
            self.faults.append(Fault(self.source, place, text, hint=_SPLIT, rule=None))
        return None

    def enter(self) -> None:
        """One level deeper."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.fault(
                f"this is nested more than {MAX_DEPTH} levels deep",
                hint=_SPLIT,
            )

    # -------------------------------------------------------------------------------------------------------- tokens

    def expect(self, kind: str, what: str = "", *, rule: str | None = None) -> int:
        """The index of the next token, which must be of this kind; it is passed."""
        i = self.i
        if self.kinds[i] != kind:
            self.expected(what or f"`{kind}`", rule=rule)
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
            self.expected(what, rule="2.3")
        self.i = i + 1
        return self.texts[i]

    def string(self, i: int) -> str:
        """The value of the text at token i."""
        try:
            return string_value(self.texts[i])
        except ValueError as error:
            self.fault(
                f"the text has the escape `{error}`, which Modelica does not have",
                hint="a backslash is written `\\\\`",
                rule="2.4.4",
                at=i,
            )

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
