"""Subscripts of parts of names: which dimension each belongs to, and what known ones choose of arrays written out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pliant.frontend.flat.expressions import NONE, WHOLE, FlatArray, FlatIndex, FlatLiteral, FlatRange
from pliant.frontend.flat.infer import picked
from pliant.frontend.modelica.instances.components import Many, Var
from pliant.frontend.modelica.scopes.references import Open, Subscripts, ThingGroup
from pliant.frontend.modelica.syntax import tree

if TYPE_CHECKING:
    from pliant.frontend.modelica.flatten.context import Context
    from pliant.frontend.modelica.flatten.translate import Translator


def of_group(
    thing: Any, rest: Subscripts, still_open: Sequence[Open]
) -> tuple[tuple[tree.Expression | None, ...], list[Any]]:
    """Subscripts by dimension of what was resolved, None for one that stays, and the declared dimensions."""
    if not rest and not still_open:
        return (), []
    before: list[tree.Expression | None] = [None] * (len(thing.shape) if isinstance(thing, (Many, ThingGroup)) else 0)
    one = thing.items[0] if isinstance(thing, ThingGroup) and thing.items else thing
    dims = [None] * len(before) + list(one.dims if isinstance(one, Var) else ())
    for axis, expression in still_open:
        before[axis] = expression
    return (*before, *rest), dims


def written_out(out: Translator, e: int, places: tuple[int, ...], at: tree.Node, context: Context) -> int:
    """``e[places]``: what known subscripts choose of arrays that are written out, else an index."""
    if all(place == WHOLE for place in places):
        return e
    node = out.builder.nodes[e]
    rows = _rows(out, node, places[0]) if isinstance(node, FlatArray) else None
    if rows is None:
        return out.add(FlatIndex(e, places), at, context)
    if isinstance(rows, int):
        return written_out(out, rows, places[1:], at, context)
    if not rows:
        of = out.type(e)
        return out.builder.add(FlatArray(()), out.span(at), of.sized(picked(out.builder.infer, of, places)))
    parts = tuple(written_out(out, one, places[1:], at, context) for one in rows)
    return out.add(FlatArray(parts), at, context)


def _rows(out: Translator, array: FlatArray, place: int) -> tuple[int, ...] | int | None:
    """Elements that a subscript chooses, one for a scalar; None where it is not known."""
    if place == WHOLE:
        return array.elements
    node, size = out.builder.nodes[place], len(array.elements)
    if isinstance(node, FlatArray):
        numbers: Sequence[int | None] = [_whole(out, one) for one in node.elements]
    elif isinstance(node, FlatRange):
        start, stop = _whole(out, node.start), _whole(out, node.stop)
        step = 1 if node.step == NONE else _whole(out, node.step)
        if start is None or stop is None or not step:
            return None
        numbers = range(start, stop + (1 if step > 0 else -1), step)
    else:
        number = _whole(out, place)
        return array.elements[number - 1] if number is not None and 1 <= number <= size else None
    if any(k is None or not 1 <= k <= size for k in numbers):
        return None
    return tuple(array.elements[k - 1] for k in numbers if k is not None)


def _whole(out: Translator, e: int) -> int | None:
    value = out.builder.infer.number(e)
    node = out.builder.nodes[e]
    if value is None or not value.is_integer() or (isinstance(node, FlatLiteral) and isinstance(node.value, float)):
        return None
    return int(value) + (isinstance(node, FlatLiteral) and isinstance(node.value, bool))
