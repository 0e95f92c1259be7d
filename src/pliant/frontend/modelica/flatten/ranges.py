"""What loops run over: ranges, vectors, types, and ranges that follow from the use of the loop variable (11.2.2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.frontend.flat.expressions import NONE, FlatBuiltin, FlatLoop, FlatRange
from pliant.frontend.modelica.flatten.context import Context
from pliant.frontend.modelica.problems import problem
from pliant.frontend.modelica.scopes.references import ThingGroup
from pliant.frontend.modelica.syntax import tree
from pliant.frontend.modelica.syntax.walk import walk
from pliant.frontend.modelica.values.data import EnumValue, NotKnown

if TYPE_CHECKING:
    from pliant.frontend.modelica.flatten.translate import Translator


class ImpliedRange:
    """The range of one dimension: its size (None: not known here), and the values of a type that it is indexed by."""

    __slots__ = ("axis", "ref", "size", "values")

    def __init__(self, size: int | None, values: list[Any] | None, ref: tree.Reference, axis: int) -> None:
        self.size, self.values, self.ref, self.axis = size, values, ref, axis

    @property
    def text(self) -> str:
        """For messages."""
        if self.values is not None:
            first = self.values[0] if self.values else None
            name = first.cls.entry.full_name if isinstance(first, EnumValue) else "Boolean"
            return f"`{name}`"
        return f"1 to {self.size}" if self.size is not None else "a size that is not known"


class LoopRanges:
    """Translates the ranges of loops."""

    def __init__(self, translator: Translator) -> None:
        self.out, self.builder, self.values = translator, translator.builder, translator.values

    def loop(self, index: tree.ForIndex, context: Context, body: Any) -> tuple[FlatLoop, Context]:
        """A loop that stays one."""
        out = self.out
        if index.values is None:
            e = self._implied_range(self.implied(index, context, body), index, context)
        elif self._names_class(index.values, context):
            e = out.literal(np.array(self.values.iteration(index, context.scope, None), dtype=object), index)
        else:
            e = out.expr(index.values, context)
        of = out.type(e)
        if len(of.shape) != 1:
            raise problem("a loop needs a vector to run over", index, path=context.path, rule="11.2.2")
        number = self.builder.iterator(index.name, of.element)
        return FlatLoop(number, e), context.with_loop(index.name, number)

    def _names_class(self, values: tree.Expression, context: Context) -> bool:
        if not isinstance(values, tree.Reference) or values.names[0] in context.loops:
            return False
        function = context.function
        if function is not None and values.names[0] in function.locals:
            return False
        return self.values.resolver.try_class(values, context.scope) is not None

    def unrolled(self, indices: Sequence[tree.ForIndex], context: Context, body: Any) -> list[Context]:
        """Contexts for all values of loop variables, the last index running first."""
        found = [context]
        for index in indices:
            more = []
            for one in found:
                reason = f"the range of the loop over `{index.name}`"
                self.values.reasons.append(reason)
                try:
                    more += [one.with_env(**{index.name: item}) for item in self._items(index, one, body)]
                except NotKnown as unknown:
                    elements = self._elements(index, one)
                    if elements is None:
                        text = f"{reason} is not known: {unknown.message}"
                        raise problem(text, index, path=context.path, rule="8.3.2") from None
                    more += elements
                finally:
                    self.values.reasons.pop()
            found = more
        return found

    def sizes(self, indices: Sequence[tree.ForIndex], context: Context, body: Any) -> tuple[int, ...]:
        """How many values each loop variable has."""
        found: list[int] = []
        before = 1
        for k in range(len(indices)):
            points = len(self.unrolled(indices[: k + 1], context, body))
            found.append(points // before if before else 0)
            before = points
        return tuple(found)

    def _elements(self, index: tree.ForIndex, context: Context) -> list[Context] | None:
        """Contexts in which the loop variable is an element of a vector that changes; None where its size is open."""
        if index.values is None or isinstance(index.values, tree.Range):
            return None
        out = self.out
        e = out.expr(index.values, context)
        of = out.type(e)
        if len(of.shape) != 1:
            raise problem("a loop needs a vector to run over", index, path=context.path, rule="11.2.2")
        if of.shape[0] is None:
            return None
        parts = (out.element(e, (k,), index, context) for k in range(1, of.shape[0] + 1))
        return [context.with_element(index.name, one, of.element) for one in parts]

    def _items(self, index: tree.ForIndex, context: Context, body: Any) -> list[Any]:
        if index.values is not None:
            return self.values.iteration(index, context.scope, context.known)
        found = self.implied(index, context, body)
        if found.values is not None:
            return found.values
        if found.size is None:
            raise NotKnown("a size is not known", index)
        return list(range(1, found.size + 1))

    # ------------------------------------------------------------------------------------------- implied ranges

    def implied(self, index: tree.ForIndex, context: Context, body: Any) -> ImpliedRange:
        """`for i loop`: the range follows from the arrays that i is a subscript of (11.2.2.1); all must agree."""
        known: ImpliedRange | None = None
        for part in body if isinstance(body, tuple) else (body,):
            for one in walk(part):
                if not isinstance(one, tree.Reference) or not one.subscripts:
                    continue
                for k, given in enumerate(one.subscripts):
                    for axis, place in enumerate(given):
                        if isinstance(place, tree.Reference) and place.names == (index.name,):
                            found = self._dimension(one, k, axis, context)
                            if known is None:
                                known = found
                            elif found.size is not None and known.size is not None and found.text != known.text:
                                text = (
                                    f"the range of `{index.name}` is {known.text} in `{known.ref.text}`, and "
                                    f"{found.text} in `{found.ref.text}`"
                                )
                                hint = "write the range: `in 1:n`"
                                raise problem(text, index, path=context.path, rule="11.2.2.1", hint=hint)
        if known is None:
            text = f"the range of `{index.name}` does not follow from its use"
            raise problem(text, index, path=context.path, rule="11.2.2.1", hint="write the range: `in 1:n`")
        return known

    def _dimension(self, whole: tree.Reference, k: int, axis: int, context: Context) -> ImpliedRange:
        """A dimension of name k of a reference; those of the names before come first."""
        ref = _until(whole, k)
        before = len(self._sizes(_until(whole, k - 1), context)[0]) if k else 0
        shape, dims = self._sizes(ref, context)
        if axis >= len(shape) - before:
            text = f"`{ref.text}` has {len(shape) - before} dimensions, {axis + 1} subscripts are given"
            raise problem(text, ref, path=context.path, rule="10.5")
        values = None
        if dims is not None and axis < len(dims):
            values = self.values.index_values(*dims[axis])
        return ImpliedRange(shape[before + axis], values, ref, before + axis)

    def _sizes(self, ref: tree.Reference, context: Context) -> tuple[Any, Any]:
        """Sizes of what a name stands for, and its dimensions as they are declared."""
        function = context.function
        if function is not None and ref.names[0] in function.locals:
            shape = self.out.type(self.out.expr(ref, context)).shape
            dims = None
            if len(ref.names) == 1:
                element = function.inst.table.elements[ref.names[0]]
                dims = [(one, function.inst.scope(element.layer.number)) for one in element.node.dimensions]
        else:
            thing, _ = self.values.resolver.resolve(ref, context.scope, context.known)
            shape = _shape(thing)
            dims = getattr(thing, "dims", None)
        return shape, dims

    def _implied_range(self, found: ImpliedRange, index: tree.ForIndex, context: Context) -> int:
        out, span = self.out, self.out.span(index)
        if found.values is not None:
            return out.literal(np.array(found.values, dtype=object), index)
        one = self.builder.literal(1, span)
        if found.size is None:
            e = out.expr(found.ref, context)
            last = out.add(FlatBuiltin("size", (e, self.builder.literal(found.axis + 1, span))), index, context)
        else:
            last = self.builder.literal(found.size, span)
        return out.add(FlatRange(one, NONE, last), index, context)


def _until(ref: tree.Reference, k: int) -> tree.Reference:
    """The reference up to name k, without subscripts."""
    return tree.Reference(ref.source, ref.start, ref.end, ref.names[: k + 1], (), ref.rooted)


def _shape(thing: Any) -> tuple[int, ...]:
    if isinstance(thing, ThingGroup):
        inner = _shape(thing.items[0]) if thing.items else ()
        return (*thing.shape, *inner)
    return getattr(thing, "shape", ())
