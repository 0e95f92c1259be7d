"""Rules that a class breaks by itself, whatever its names refer to (4.2, 4.6, 8.3, 11.2, 12.2 of the specification).

`class_faults(definition)` examines one class, not the classes inside of it: instantiation calls it for the classes
that a model uses, so that a library is not refused for a class that nobody asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from pliant.frontend.modelica.syntax.faults import SyntaxFault
from pliant.frontend.modelica.syntax.tree import (
    INNER,
    OUTER,
    PROTECTED,
    AnyEquation,
    AnyStatement,
    Assignment,
    Body,
    BreakStatement,
    Call,
    CallEquation,
    ClassDefinition,
    Component,
    Connect,
    ForEquation,
    ForStatement,
    IfEquation,
    IfStatement,
    LongClass,
    Node,
    Reference,
    ReturnStatement,
    TupleAssignment,
    WhenEquation,
    WhenStatement,
    WhileStatement,
)
from pliant.frontend.modelica.syntax.walk import walk

_DATA: Final = ("record", "operator record", "connector", "expandable connector")
_RECORDS: Final = ("record", "operator record")
_FUNCTIONS: Final = ("function", "operator function")
_PREDEFINED: Final = (("Real",), ("Integer",), ("Boolean",), ("String",))
_NOT_IN_FUNCTIONS: Final = frozenset(
    (
        "der",
        "initial",
        "terminal",
        "sample",
        "pre",
        "edge",
        "change",
        "reinit",
        "delay",
        "cardinality",
        "inStream",
        "actualStream",
    )
)


def class_faults(definition: ClassDefinition) -> list[SyntaxFault]:
    """What the class breaks, in no order; nothing for classes with `=`."""
    if not isinstance(definition, LongClass):
        return []
    body, kind = definition.body, definition.kind
    found = [*_double(body), *_equations(body.equations, in_when=False), *_initial_equations(body)]
    if kind in _DATA:
        found += _data(body, kind)
    elif kind in _FUNCTIONS:
        found += _function(body)
    elif kind in ("package", "operator"):
        found += _package(body, kind)
    is_function = kind in (*_FUNCTIONS, "class")
    if body.external is not None and not is_function:
        found.append(_fault(body.external, f"{_a(kind)} has no external code", "write a function around it", "12.9"))
    for section in body.algorithms:
        found += _statements(section.statements, is_function=is_function, in_loop=False, when="")
    for section in body.initial_algorithms:
        found += _statements(section.statements, is_function=False, in_loop=False, when="an initial algorithm")
    return found


def _a(kind: str) -> str:
    return f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"


def _fault(node: Node, message: str, hint: str, rule: str) -> SyntaxFault:
    return SyntaxFault(node.source, (node.start, node.end), message, hint=hint, rule=rule)


# ----------------------------------------------------------------------------------------------------- kinds of classes


def _double(body: Body) -> Iterator[SyntaxFault]:
    for one in body.repeated:
        first = body.members[one.name].span
        yield _fault(one, f"`{one.name}` is declared twice: also in line {first.line}", "rename one of them", "4.2")
    for component in body.components:
        kind = component.type
        if len(kind.names) == 1 and not kind.rooted and kind.names[0] == component.name:
            yield _fault(component, f"`{component.name}` has the name of its own type", "give it another name", "4.2")


def _sections(body: Body) -> Iterator[tuple[str, Node]]:
    for word, nodes in (
        ("equations", body.equations),
        ("initial equations", body.initial_equations),
        ("algorithms", body.algorithms),
        ("initial algorithms", body.initial_algorithms),
    ):
        for one in nodes[:1]:
            yield word, one


def _data(body: Body, kind: str) -> Iterator[SyntaxFault]:
    for word, node in _sections(body):
        yield _fault(node, f"{_a(kind)} has no {word}", "move them to a model", "4.6")
    for one in body.elements:
        if isinstance(one, (Component, ClassDefinition)):
            if one.prefixes & PROTECTED:
                yield _fault(
                    one, f"`{one.name}` is protected: in {_a(kind)} everything is public", "make it public", "4.6"
                )
            yield from _no_inner_outer(one, kind)
        if kind in _RECORDS and isinstance(one, Component):
            word = one.connection or one.causality
            if word:
                yield _fault(one, f"`{word}` cannot stand in a record", f"remove `{word}`", "4.6")


def _no_inner_outer(one: Component | ClassDefinition, kind: str) -> Iterator[SyntaxFault]:
    for mask, word in ((INNER, "inner"), (OUTER, "outer")):
        if one.prefixes & mask:
            yield _fault(one, f"`{word}` cannot stand in {_a(kind)}", f"remove `{word}`", "4.6")


def _package(body: Body, kind: str) -> Iterator[SyntaxFault]:
    for word, node in _sections(body):
        yield _fault(node, f"{_a(kind)} has no {word}", "move them to a model", "4.6")
    for one in body.elements:
        if kind == "operator":
            if isinstance(one, Component) or (isinstance(one, ClassDefinition) and one.kind not in _FUNCTIONS):
                yield _fault(one, f"`{one.name}` is no function: an operator holds functions only", "move it", "4.6")
        elif isinstance(one, Component) and one.variability != "constant":
            text = f"`{one.name}` is no constant: a package holds constants and classes only"
            yield _fault(one, text, "write `constant` before it, or move it to a model", "4.6")


def _function(body: Body) -> Iterator[SyntaxFault]:
    for word, node in _sections(body):
        if word != "algorithms":
            yield _fault(node, f"a function has no {word}", "use an algorithm", "12.2")
    if len(body.algorithms) + (body.external is not None) > 1:
        last: Node = body.external if body.external is not None else body.algorithms[1]
        yield _fault(last, "a function has one algorithm or one external call", "join them", "12.2")
    for one in body.components:
        yield from _no_inner_outer(one, "function")
        is_argument = one.causality != ""
        if is_argument and one.prefixes & PROTECTED:
            yield _fault(one, f"`{one.name}` is protected, but an {one.causality}", "make it public", "12.2")
        is_local = one.prefixes & PROTECTED or one.variability in ("constant", "parameter")
        if not is_argument and not is_local and one.type.names in _PREDEFINED:  # other types may bring `input` along
            text = f"`{one.name}` is public, but neither input nor output of the function"
            yield _fault(one, text, "write `protected` above it", "12.2")
    yield from _function_body(body)


def _function_body(body: Body) -> Iterator[SyntaxFault]:
    inputs = {one.name for one in body.components if one.causality == "input"}
    for section in body.algorithms:
        for node in walk(section):
            if isinstance(node, Call) and len(node.function.names) == 1:
                word = node.function.names[0]
                if word in _NOT_IN_FUNCTIONS and word not in body.members:
                    yield _fault(node, f"`{word}` cannot be used in a function", "pass its value as an input", "12.2")
            for target in _targets(node):
                if target.names[0] in inputs and not target.rooted:
                    text = f"the input `{target.names[0]}` cannot be assigned to"
                    yield _fault(target, text, "use a protected variable", "12.2")


def _targets(node: Node) -> Iterator[Reference]:
    if isinstance(node, Assignment):
        yield node.target
    elif isinstance(node, TupleAssignment):
        yield from (one for one in node.targets.items if isinstance(one, Reference))


# --------------------------------------------------------------------------------------------- equations and statements


def _initial_equations(body: Body) -> Iterator[SyntaxFault]:
    for top in body.initial_equations:
        for node in walk(top):
            if isinstance(node, WhenEquation):
                yield _fault(node, "`when` cannot stand in initial equations", "use `if`", "8.3.5.1")


def _equations(equations: Iterable[AnyEquation], *, in_when: bool) -> Iterator[SyntaxFault]:
    for one in equations:
        if isinstance(one, IfEquation):
            for _, inside in one.branches:
                yield from _equations(inside, in_when=in_when)
            yield from _equations(one.otherwise, in_when=in_when)
        elif isinstance(one, ForEquation):
            yield from _equations(one.equations, in_when=in_when)
        elif isinstance(one, WhenEquation):
            if in_when:
                yield _fault(one, "a `when` stands inside of another", "join their conditions", "8.3.5.1")
            for _, inside in one.branches:
                yield from _equations(inside, in_when=True)
        elif isinstance(one, Connect):
            if in_when:
                yield _fault(one, "`connect` cannot stand in a `when`", "move it out", "8.3.3")
        elif isinstance(one, CallEquation):
            names = one.call.function.names
            if names == ("reinit",) and not in_when:
                yield _fault(one, "`reinit` stands outside of a `when`", "put it into a `when`", "8.3.6")
            if names[0] == "Connections" and in_when:
                yield _fault(one, f"`{'.'.join(names)}` cannot stand in a `when`", "move it out", "9.4.1")


def _statements(
    statements: Iterable[AnyStatement], *, is_function: bool, in_loop: bool, when: str
) -> Iterator[SyntaxFault]:
    """`when`: where a when-statement would stand that cannot stand there; empty: it can."""
    for one in statements:
        if isinstance(one, ReturnStatement) and not is_function:
            yield _fault(one, "`return` stands outside of a function", "use `if` or `break`", "12.1.2")
        elif isinstance(one, BreakStatement) and not in_loop:
            yield _fault(one, "`break` stands outside of a loop", "remove it", "11.2.4")
        elif isinstance(one, WhenStatement):
            if when:
                yield _fault(one, f"a `when` stands inside of {when}", "use `if`", "11.2.7.1")
            for _, inside in one.branches:
                yield from _statements(inside, is_function=is_function, in_loop=in_loop, when="another `when`")
        elif isinstance(one, IfStatement):
            for inside in (*(branch for _, branch in one.branches), one.otherwise):
                yield from _statements(inside, is_function=is_function, in_loop=in_loop, when=when or "an `if`")
        elif isinstance(one, (ForStatement, WhileStatement)):
            yield from _statements(one.statements, is_function=is_function, in_loop=True, when=when or "a loop")
