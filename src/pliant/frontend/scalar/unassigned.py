"""Variables of functions that are read and have never got a value (Modelica specification 3.6, section 12.4.4)."""

from __future__ import annotations

from collections.abc import Iterator

from pliant.errors import ModelError
from pliant.frontend.flat.expressions import FlatArray, FlatField, FlatIndex, FlatRecord, FlatTuple, LocalRef, operands
from pliant.frontend.flat.model import FlatAssign, FlatFunction, expressions_of, walk
from pliant.frontend.flat.types import BaseType
from pliant.frontend.scalar.tape import Tape


def check_assigned(tape: Tape, number: int, function: FlatFunction) -> None:
    """A scalar that no statement sets, and that has no value where it is declared, is not read."""
    if function.external is not None or function.partial is not None:
        return
    open_now = {
        k
        for k, one in enumerate(function.locals)
        if k >= function.n_inputs and one.binding is None and not one.type.shape and one.type.base in _SCALARS
    }
    roots: list[int] = [one.binding for one in function.locals if one.binding is not None]
    for item in walk(function.body):
        if not isinstance(item, FlatAssign):
            roots += expressions_of(item)
            continue
        roots.append(item.value)
        for e, is_set in _targets(tape, item.target):
            node = tape.nodes[e]
            if not is_set:
                roots.append(e)
            elif isinstance(node, LocalRef) and node.function == number:
                open_now.discard(node.number)
    if not open_now:
        return
    for e in tape.reachable([e for e in roots if e >= 0], sizes=False):
        node = tape.nodes[e]
        if isinstance(node, LocalRef) and node.function == number and node.number in open_now:
            name, span = function.locals[node.number].name, tape.spans[e]
            raise ModelError(
                f"`{name}` of the function `{function.name}` is read, and nothing sets it",
                hint="assign it before, or give it a value where it is declared",
                span=span or function.span,
                rule="12.4.4",
            )


_SCALARS = (BaseType.REAL, BaseType.INTEGER, BaseType.BOOLEAN, BaseType.ENUMERATION)


def _targets(tape: Tape, target: int) -> Iterator[tuple[int, bool]]:
    """Expressions of a target, and whether they are set; subscripts are read."""
    stack = [target]
    while stack:
        e = stack.pop()
        if e < 0:
            continue
        node = tape.nodes[e]
        if isinstance(node, FlatIndex):
            stack.append(node.base)
            yield from ((one, False) for one in node.subscripts)
        elif isinstance(node, FlatField):
            stack.append(node.base)
        elif isinstance(node, (FlatTuple, FlatArray, FlatRecord)):
            stack.extend(operands(node))
        else:
            yield e, True
