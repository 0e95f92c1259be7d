"""Partitions of clocks in Base Modelica, in terms of Modelica (Modelica change proposal 31, Base Modelica grammar).

partition                                  Clock c = Clock(1, 10);
  Clock c = Clock(1, 10);                  Clock $d = Clock(c, solverMethod = "ExplicitEuler");
  subpartition (clock = c,                 equation
                solverMethod = "...")        when $d then ... end when;
  equation ...                             algorithm
  algorithm ...                              when $d then ... end when;
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pliant.frontend.modelica.syntax.tokens import STRING
from pliant.frontend.modelica.syntax.tree import (
    Algorithm,
    Call,
    Component,
    Element,
    Expression,
    Modification,
    Modifier,
    Node,
    Reference,
    Sections,
    StringLiteral,
    WhenEquation,
    WhenStatement,
)

if TYPE_CHECKING:
    from pliant.frontend.modelica.syntax.classes import ClassParser

_RULE: Final = "MCP 31"


class Partitions:
    """Reads what stands behind `partition`, with the parser of the class around."""

    __slots__ = ("count", "parser")

    def __init__(self, parser: ClassParser) -> None:
        self.parser = parser
        self.count = 0

    def read(self, elements: list[Element], sections: Sections) -> None:
        """One base partition: clocks, then sub-partitions."""
        parser = self.parser
        if parser.texts[parser.i] == "partition":  # else one goes on behind a fault in a sub-partition
            parser.i += 1
            self._described()
        while parser.texts[parser.i] == "Clock":
            parser.element(elements, 0)
            parser.expect(";", "`;` behind the declaration of a clock", rule=_RULE)
        while parser.i < parser.stop and parser.texts[parser.i] == "subpartition":
            self._sub(elements, sections)
        word = parser.texts[parser.i]
        if parser.i < parser.stop and word not in ("partition", "annotation"):
            hint = "clocks come first, then sub-partitions; what has no clock stands before the first partition"
            raise parser.expected(
                "`subpartition (clock = c)`, `partition` or the end of the model", hint=hint, rule=_RULE
            )

    def _described(self) -> None:
        parser = self.parser
        if parser.kinds[parser.i] == STRING:
            parser.description_string()
        if parser.kinds[parser.i] == "annotation":
            parser.annotation()
            parser.expect(";", "`;` behind the annotation", rule=_RULE)

    def _sub(self, elements: list[Element], sections: Sections) -> None:
        parser = self.parser
        i = parser.i
        parser.i += 1
        if parser.kinds[parser.i] != "(":
            raise parser.expected("`(clock = c)` behind `subpartition`", rule=_RULE)
        arguments = parser.class_modification(in_extends=False)
        clock = self._clock(arguments, i, elements)
        self._described()
        while parser.i < parser.stop and parser.kinds[parser.i] in ("equation", "algorithm"):
            kind, start = parser.kinds[parser.i], parser.starts[parser.i]
            parser.i += 1
            if kind == "equation":
                equations = tuple(parser.equations())
                place = parser.source, start, parser.ends[parser.i - 1]
                if equations:
                    sections.equations.append(WhenEquation(*place, "", None, ((clock, equations),)))
            else:
                statements = tuple(parser.statements())
                place = parser.source, start, parser.ends[parser.i - 1]
                inner = WhenStatement(*place, "", None, ((clock, statements),))
                if statements:
                    sections.algorithms.append(Algorithm(*place, (inner,)))

    def _clock(self, arguments: tuple[Node, ...], at: int, elements: list[Element]) -> Expression:
        """The clock of a sub-partition; with a method another one, which has it."""
        parser = self.parser
        given: dict[str, Expression] = {}
        for one in arguments:
            value = one.modification.value if isinstance(one, Modifier) and one.modification is not None else None
            if not isinstance(one, Modifier) or value is None or one.names not in (("clock",), ("solverMethod",)):
                hint = 'write subpartition (clock = c) or subpartition (clock = c, solverMethod = "ExplicitEuler")'
                text = f"`{one.text}` says nothing about a sub-partition"
                raise parser.fault(text, hint=hint, rule=_RULE, at=at)
            given[one.names[0]] = value
        clock = given.get("clock")
        if clock is None:
            raise parser.fault(
                "the sub-partition has no clock", hint="write subpartition (clock = c)", rule=_RULE, at=at
            )
        method = given.get("solverMethod")
        if method is None:
            return clock
        if not isinstance(method, StringLiteral):
            raise parser.fault(
                "the method of a sub-partition is a text", hint='e.g. "ImplicitEuler"', rule=_RULE, at=at
            )
        self.count += 1
        place = clock.source, clock.start, clock.end
        name = f"$subpartition {self.count}"
        maker = Reference(*place, ("Clock",), (), False)
        value = Call(*place, maker, (clock, method), ())
        made = (*place, name, maker, 0, "", "", "", ())
        elements.append(Component(*made, Modification(*place, (), value), None, "", None, None))
        return Reference(*place, (name,), (), False)
