"""Guess values of Base Modelica, in terms of Modelica (Modelica change proposal 31, Base Modelica grammar).

    parameter equation guess(x) = e    start = e of x; of a parameter without a value fixed = false as well
    initial equation guess(x) = e      final start = e
    initial equation x = guess(x)      fixed = true
    prioritize(x, n)                   which start values are preferred: every one that is written is taken

Texts of Base Modelica are flat, and begin with `//! base 0.1.0`. Decorations (`@12`: places in another text) count as
blanks. All else is Modelica as it is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from pliant.frontend.modelica.syntax.faults import SyntaxFault
from pliant.frontend.modelica.syntax.source import BASE_HEADER, Source
from pliant.frontend.modelica.syntax.tree import (
    AnyEquation,
    BooleanLiteral,
    Call,
    CallEquation,
    Component,
    Element,
    Expression,
    Modification,
    ModificationArgument,
    Modifier,
    Node,
    Reference,
    Sections,
    SimpleEquation,
)

_RULE: Final = "MCP 31"
_DECORATION: Final = re.compile(
    r"""@[ ]?\d+ | "(?:[^"\\]|\\.)*" | '(?:[^'\\\n]|\\.)*' | //[^\n]* | /\*.*?\*/""", re.DOTALL | re.VERBOSE | re.ASCII
)


def undecorated(text: str) -> str:
    """A text without decorations, where it is Base Modelica: all places stay as they are."""
    if not text.startswith(BASE_HEADER) or "@" not in text:
        return text
    return _DECORATION.sub(lambda found: " " * len(found[0]) if found[0][0] == "@" else found[0], text)


class Guesses:
    """What one class says about start values in the manner of Base Modelica."""

    __slots__ = ("faults", "given", "source")

    def __init__(self, source: Source, faults: list[SyntaxFault]) -> None:
        self.source, self.faults = source, faults
        self.given: dict[str, list[tuple[tuple[str, ...], Modifier]]] = {}  # component -> names below it, modifier

    def add(self, of: Reference, value: Expression, place: Node, *, final: bool = False) -> None:
        """`guess(of) = value`"""
        if isinstance(value, Call) and value.function.names == ("prioritize",) and len(value.arguments) == 2:
            value = value.arguments[0]
        self._note(of, "start", value, place, final=final)

    def _note(self, of: Reference, attribute: str, value: Expression, place: Node, *, final: bool) -> None:
        if any(of.subscripts):
            self._fault("a guess value is given to a whole variable, without indices", place, "remove the indices")
            return
        known = self.given.setdefault(of.names[0], [])
        if any(names == of.names and one.names[-1] == attribute for names, one in known):
            self._fault(f"`{of.dotted}` gets its {attribute} value twice", place, "keep one of them")
            return
        known.append((of.names, _modifier(place, (*of.names[1:], attribute), value, final=final)))

    def taken(self, elements: Sequence[Element], sections: Sections) -> list[Element]:
        """The elements with these modifiers; initial equations that only say such things are taken out."""
        if self.source.is_base:
            sections.initial_equations[:] = [one for one in sections.initial_equations if not self._read(one)]
        has_initial = bool(sections.initial_equations or sections.initial_algorithms)
        found = [
            self._with(one, has_initial=has_initial) if isinstance(one, Component) and one.name in self.given else one
            for one in elements
        ]
        names = {one.name for one in elements if isinstance(one, Component)}
        for name, given in self.given.items():
            if name not in names:
                self._fault(f"there is no variable `{name}` for a guess value", given[0][1], "declare it")
        return found

    def _read(self, equation: AnyEquation) -> bool:
        if isinstance(equation, CallEquation):
            return isinstance(equation.call, Call) and equation.call.function.names == ("prioritize",)
        if not isinstance(equation, SimpleEquation):
            return False
        left, right = equation.left, equation.right
        guessed = _guessed(left)
        if guessed is not None:
            if isinstance(right, Reference) and right.names == guessed.names and not any(guessed.subscripts):
                return self._fixed(right, equation)
            self.add(guessed, right, equation, final=True)
            return True
        guessed = _guessed(right)
        if guessed is None or not isinstance(left, Reference) or left.names != guessed.names:
            return False
        return not any(guessed.subscripts) and self._fixed(left, equation)

    def _fixed(self, of: Reference, equation: AnyEquation) -> bool:
        if any(of.subscripts):
            return False
        self._note(
            of, "fixed", BooleanLiteral(equation.source, equation.start, equation.end, True), equation, final=False
        )
        return True

    def _with(self, old: Component, *, has_initial: bool) -> Component:
        arguments: list[ModificationArgument] = []
        for _, one in self.given[old.name]:
            each = one.names[-1] == "fixed" and bool(old.dimensions)
            arguments.append(_modifier(one, one.names, _value(one), final=one.final, each=each))
        value = None if old.modification is None else old.modification.value
        start = next((one for one in arguments if isinstance(one, Modifier) and one.names == ("start",)), None)
        if start is not None and old.variability == "parameter" and value is None and has_initial:
            is_fixed = BooleanLiteral(start.source, start.start, start.end, False)
            arguments.append(_modifier(start, ("fixed",), is_fixed, each=bool(old.dimensions)))
        given = () if old.modification is None else old.modification.arguments
        values: dict[str, Any] = {field: getattr(old, field) for field in Component.fields}
        values["modification"] = Modification(old.source, old.start, old.end, (*given, *arguments), value)
        return Component(**values)

    def _fault(self, message: str, node: Node, hint: str) -> None:
        self.faults.append(SyntaxFault(self.source, (node.start, node.end), message, hint=hint, rule=_RULE))


def _guessed(expression: Expression) -> Reference | None:
    """x of `guess(x)`."""
    if isinstance(expression, Call) and expression.function.names == ("guess",) and len(expression.arguments) == 1:
        of = expression.arguments[0]
        return of if isinstance(of, Reference) else None
    return None


def _value(modifier: Modifier) -> Expression:
    assert modifier.modification is not None
    assert modifier.modification.value is not None
    return modifier.modification.value


def _modifier(
    place: Node, names: tuple[str, ...], value: Expression, *, final: bool = False, each: bool = False
) -> Modifier:
    at = place.source, place.start, place.end
    return Modifier(*at, names, each, final, Modification(*at, (), value), "")
