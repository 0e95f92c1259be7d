"""Where the classes of a text begin and end, without parsing what stands in them.

Class keywords are reserved: outside of brackets each begins a class, and `end` with a name ends one. Inside brackets
stand only short classes (redeclarations) and `function` as an argument. So a look at brackets and a few keywords is
enough. The parser then jumps over the bodies of classes and over annotations.
"""

from __future__ import annotations

from typing import Final

from pliant.frontend.modelica.syntax.faults import Fault, described
from pliant.frontend.modelica.syntax.tokens import IDENT, Tokens

_CLASS: Final = frozenset(["class", "model", "record", "block", "connector", "type", "package", "function", "operator"])
_BLOCKS: Final = frozenset(("if", "for", "when", "while"))
_OPEN: Final = frozenset("([{")
_CLOSE: Final = {")": "(", "]": "[", "}": "{"}
_SCANNED: Final = _CLASS | _OPEN | set(_CLOSE) | {"end", ";"}


class Outline:
    """Jumps: index of a long class's name -> index of its `end`; index of an annotation's `(` -> of its `)`."""

    __slots__ = ("annotations", "classes", "faults", "tokens")

    def __init__(self, tokens: Tokens) -> None:
        self.tokens = tokens
        self.classes: dict[int, int] = {}
        self.annotations: dict[int, int] = {}
        self.faults: list[Fault] = []
        self._scan()

    def _scan(self) -> None:
        kinds = self.tokens.kinds
        brackets: list[int] = []
        open_classes: list[int] = []
        for i in [i for i, kind in enumerate(kinds) if kind in _SCANNED]:
            kind = kinds[i]
            if kind in _OPEN:
                brackets.append(i)
            elif kind in _CLOSE:
                if brackets:  # a bracket of the wrong kind is the parser's matter
                    opening = brackets.pop()
                    if not brackets and kinds[opening - 1] == "annotation":
                        self.annotations[opening] = i
            elif kind == ";":
                if brackets and kinds[brackets[-1]] != "[":
                    brackets.clear()  # never closed
            elif kind == "end":
                if kinds[i + 1] in _BLOCKS or (brackets and (kinds[i + 1] != IDENT or kinds[i + 2] != ";")):
                    continue
                brackets.clear()
                self._close(open_classes, i)
            elif not brackets:
                name = i + 1
                if kinds[name] == "extends":
                    name += 1
                if kinds[name] == IDENT and kinds[name + 1] != "=":
                    open_classes.append(name)
        for name in reversed(open_classes):
            self._unclosed(name, len(kinds) - 1)

    def _close(self, open_classes: list[int], i: int) -> None:
        """A class ends at token i, if its name is there; classes inside of it have no end."""
        texts = self.tokens.texts
        if not open_classes:
            self._fault(i, f"`end {texts[i + 1]}` without a class that could end here".rstrip(), "remove it", "A.2.2")
            return
        if texts[i + 1] != texts[open_classes[-1]]:
            if any(texts[name] == texts[i + 1] for name in open_classes):
                while texts[open_classes[-1]] != texts[i + 1]:
                    self._unclosed(open_classes.pop(), i)
            else:
                self._wrong_name(open_classes[-1], i)
        self.classes[open_classes.pop()] = i

    def _unclosed(self, name: int, i: int) -> None:
        self.classes[name] = i
        word = self.tokens.texts[name]
        line, _ = self.tokens.source.line_and_column(self.tokens.starts[name])
        text = f"the class `{word}` of line {line} has no end"
        self._fault(name, text, f"end it with `end {word};`", "A.2.2")

    def _wrong_name(self, name: int, i: int) -> None:
        tokens = self.tokens
        word = tokens.texts[name]
        line, _ = tokens.source.line_and_column(tokens.starts[name])
        text = f"expected `end {word}`, which ends the class of line {line}, found {described(tokens, i + 1)}"
        self._fault(i + 1, text, f"write `end {word};`", "A.2.2")

    def _fault(self, i: int, message: str, hint: str, rule: str) -> None:
        tokens = self.tokens
        self.faults.append(Fault(tokens.source, (tokens.starts[i], tokens.ends[i]), message, hint=hint, rule=rule))
