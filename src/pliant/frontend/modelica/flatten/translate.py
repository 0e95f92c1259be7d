"""Expressions of the syntax tree as expressions of a flat model.

Names are resolved, `end` and sizes become numbers where they are known, parts of arrays of components become arrays of
their elements, records are read as their fields, operators of operator records become calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.frontend.flat.expressions import (
    NONE,
    WHOLE,
    FlatArray,
    FlatBinary,
    FlatBuiltin,
    FlatChoice,
    FlatExpression,
    FlatField,
    FlatIndex,
    FlatLiteral,
    FlatRange,
    FlatRecord,
    FlatTuple,
    FlatUnary,
    IteratorRef,
    LocalRef,
    VariableRef,
)
from pliant.frontend.flat.shapes import TypeMismatch, described
from pliant.frontend.flat.types import INTEGER, REAL, BaseType, Type, Variability
from pliant.frontend.modelica.flatten.calls import CallTranslator
from pliant.frontend.modelica.flatten.context import Context
from pliant.frontend.modelica.flatten.functions import Functions
from pliant.frontend.modelica.flatten.parts import of_group, written_out
from pliant.frontend.modelica.flatten.ranges import LoopRanges
from pliant.frontend.modelica.flatten.reductions import comprehension, reduction
from pliant.frontend.modelica.flatten.types import Types, field_names
from pliant.frontend.modelica.instances.classes import ClassUse
from pliant.frontend.modelica.instances.components import ABSENT, Many, Var
from pliant.frontend.modelica.instances.inst import Inst
from pliant.frontend.modelica.instances.mods import Bound
from pliant.frontend.modelica.problems import problem
from pliant.frontend.modelica.scopes.references import ThingGroup
from pliant.frontend.modelica.syntax import tree
from pliant.frontend.modelica.syntax.walk import left_chain
from pliant.frontend.modelica.values.data import EnumValue, NotKnown, RecordValue

if TYPE_CHECKING:
    from pliant.frontend.flat.build import FlatBuilder
    from pliant.frontend.modelica.scopes.program import World
    from pliant.ir import Span


class Translator:
    """Translates into one builder."""

    def __init__(self, world: World, builder: FlatBuilder) -> None:
        self.world, self.values, self.builder = world, world.values, builder
        self.types = Types(builder)
        self.functions = Functions(self)
        self.calls = CallTranslator(self)
        self.ranges = LoopRanges(self)
        self.nesting = 0  # branches of if and when around
        self.in_when = self.in_clock = 0  # when-clauses around; those of them of clocks
        self.streams: Any = None  # what inStream and actualStream stand for, set when connections are known
        self.variables: Any = None  # enters variables that are read before they were met

    # ------------------------------------------------------------------------------------------------------ tools

    def add(self, node: FlatExpression, at: tree.Node, context: Context, of: Type | None = None) -> int:
        """A new expression; what does not fit is an error of the model."""
        try:
            return self.builder.add(node, self.span(at), of)
        except TypeMismatch as mismatch:
            text = f"`{_short(at.text)}`: {mismatch}"
            raise problem(text, at, path=context.path, rule="10.6", hint="check the types and sizes") from None

    def span(self, node: tree.Node) -> Span:
        """The place of a node."""
        return node.span

    def type(self, e: int) -> Type:
        """The type of an expression."""
        return self.builder.types[e]

    def expr(self, node: tree.Expression, context: Context) -> int:
        """Any expression."""
        found: int = _TRANSLATE[node.__class__](self, node, context)
        return found

    def of_bound(self, binding: Bound) -> int:
        """The value of a modifier: one element of it for an element of an array, a field of it for a record's."""
        assert binding.value is not None
        context = Context(binding.scope)
        e = self.expr(binding.value, context)
        if binding.index:
            rank = len(self.type(e).shape)
            if rank < len(binding.index):
                text = f"`{_short(binding.value.text)}` is given to an array of components, but is no array"
                raise problem(text, binding.value, path=context.path, rule="7.2.5", hint="write `each` before it")
            e = self.element(e, binding.index, binding.value, context)
        for step in binding.fields:
            at = binding.value
            e = self.field(e, step, at, context) if isinstance(step, str) else self.element(e, step, at, context)
        return e

    def element(self, e: int, index: tuple[int, ...], at: tree.Node, context: Context) -> int:
        """One element; of an array that is written out, the one that stands there."""
        place = 0
        node = self.builder.nodes[e]
        while place < len(index) and isinstance(node, FlatArray) and index[place] <= len(node.elements):
            e = node.elements[index[place] - 1]
            node = self.builder.nodes[e]
            place += 1
        if place == len(index):
            return e
        subscripts = tuple(self.builder.literal(k, self.span(at)) for k in index[place:])
        return self.add(FlatIndex(e, subscripts), at, context)

    def field(self, e: int, name: str, at: tree.Node, context: Context) -> int:
        """A field of a record."""
        of = self.type(e)
        if of.base is not BaseType.RECORD:
            raise problem(f"`{_short(at.text)}` has no field `{name}`", at, path=context.path, rule="5.3.2")
        fields = self.builder.records[of.number].fields
        for number, one in enumerate(fields):
            if one.name == name:
                node = self.builder.nodes[e]
                if isinstance(node, FlatRecord):
                    return node.fields[number]
                if isinstance(node, FlatArray) and node.elements:
                    parts = tuple(self.field(k, name, at, context) for k in node.elements)
                    return self.add(FlatArray(parts), at, context)
                return self.add(FlatField(e, number), at, context)
        text = f"`{self.builder.records[of.number].name}` has no field `{name}`"
        raise problem(text, at, path=context.path, rule="5.3.2")

    def check_equality(self, operator: str, of: tuple[int, int], at: tree.Node, context: Context) -> None:
        """Reals that change are not asked for equality outside of functions; constants and parameters may be (3.5)."""
        if operator not in ("==", "<>") or context.function is not None:
            return
        if not any(self.type(e).base is BaseType.REAL for e in of):
            return
        if max(map(self.builder.variability, of)) > Variability.PARAMETER:
            text = f"`{_short(at.text)}`: Reals that change are compared with `{operator}`, which functions may do only"
            hint = "compare with a tolerance, `abs(a - b) <= eps`, with `<=`, or ask `change(v)` for a discrete v"
            raise problem(text, at, path=context.path, rule="3.5", hint=hint)

    def literal(self, value: Any, at: tree.Node) -> int:
        """A value as an expression."""
        span = self.span(at)
        if isinstance(value, np.ndarray):
            if 0 in value.shape:
                return self.builder.add(FlatArray(()), span, self.types.of_value(value))
            return self.builder.add(FlatArray(tuple(self.literal(one, at) for one in value)), span)
        if isinstance(value, EnumValue):
            return self.builder.literal(value.ordinal, span, self.types.primitive(value.cls))
        if isinstance(value, RecordValue):
            of = self.types.of_value(value)
            return self.builder.add(FlatRecord(tuple(self.literal(v, at) for v in value.fields.values())), span, of)
        if isinstance(value, np.generic):
            value = value.item()
        return self.builder.literal(value, span)

    # ------------------------------------------------------------------------------------------------- references

    def thing(self, thing: Any, at: tree.Node, context: Context) -> int:
        """A variable, a record or an array of such as an expression."""
        if isinstance(thing, Var):
            return self.variable(thing, at, context)
        if isinstance(thing, Inst):
            return self.record(thing, at, context)
        if isinstance(thing, (Many, ThingGroup)):
            items = thing.elements if isinstance(thing, Many) else thing.items
            return self.nested([self.thing(one, at, context) for one in items], thing, at, context)
        if isinstance(thing, EnumValue):
            return self.literal(thing, at)
        if thing is ABSENT:
            text = f"`{_short(at.text)}` is used, but its condition is false"
            raise problem(text, at, path=context.path, rule="4.4.5", hint="use it in connect clauses only")
        if isinstance(thing, ClassUse):
            raise problem(f"`{_short(at.text)}` is a class, a value is needed", at, path=context.path, rule="3.6.1")
        raise problem(f"`{_short(at.text)}` has no value", at, path=context.path, rule="3.6.1")

    def nested(self, items: list[int], thing: Any, at: tree.Node, context: Context) -> int:
        """Expressions in row-major order as nested arrays."""
        shape = thing.shape
        if 0 in shape:
            of = REAL
            if isinstance(thing, Many):
                of = self.types.of_class(thing.cls) if thing.cls.is_record else REAL
            return self.builder.add(FlatArray(()), self.span(at), of.sized((*shape, *of.shape)))
        for size in reversed(shape):
            items = [self.add(FlatArray(tuple(items[k : k + size])), at, context) for k in range(0, len(items), size)]
        return items[0]

    def variable(self, var: Var, at: tree.Node, context: Context) -> int:
        """A variable of the model; constants of packages are their values."""
        if var.number < 0:
            if var in self.variables.left_out:
                text = f"`{_short(at.text)}` is not there: nothing is connected to it"
                hint = "connect something to this member of the expandable connector"
                raise problem(text, at, path=context.path, rule="9.1.3", hint=hint)
            if self.variables.is_inside(var):
                self.variables.enter(var)
            else:
                return self.constant(var, at, context)
        return self.builder.add(VariableRef(var.number), self.span(at))

    def constant(self, var: Var, at: tree.Node, context: Context) -> int:
        """The value of a constant of a class."""
        try:
            return self.literal(self.values.of_var(var), at)
        except NotKnown as unknown:
            binding = var.binding
            if binding is not None:
                return self.of_bound(binding)
            raise problem(
                f"the value of `{_short(at.text)}` is not known: {unknown.message}", at, path=context.path, rule="4.4.4"
            ) from None

    def record(self, inst: Inst, at: tree.Node, context: Context) -> int:
        """A record as its fields."""
        if not inst.cls.is_record and not inst.cls.is_connector:
            text = f"`{_short(at.text)}` is a {inst.cls.kind}, a value is needed"
            raise problem(text, at, path=context.path, rule="4.7")
        children = [inst.child(name) for name in field_names(inst)]
        fields = tuple(self.thing(one, at, context) for one in children if one is not ABSENT)
        return self.builder.add(FlatRecord(fields), self.span(at), self.types.of_inst(inst))

    def reference(self, ref: tree.Reference, context: Context) -> int:
        """A name with subscripts."""
        first = ref.names[0]
        if not ref.rooted:
            if first in context.env or first in context.loops or first in context.given:
                return self._bound_name(ref, context)
            function = context.function
            if function is not None and first in function.locals:
                e = self.builder.add(LocalRef(function.number, function.locals[first]), self.span(ref))
                return self.parts(e, ref, context)
            if first == "time" and len(ref.names) == 1:
                if ref.subscripts and ref.subscripts[0]:
                    raise problem("`time` is a scalar and has no elements", ref, path=context.path, rule="10.5")
                kind = context.scope.layer.entry.definition.kind
                if kind.endswith(("record", "function", "connector")) or kind in ("package", "type"):
                    text = f"`time` cannot be used in a {kind}: only models and blocks have it"
                    raise problem(text, ref, path=context.path, rule="3.6.7", hint="pass it as an input or modifier")
                return self.builder.time(self.span(ref))
        try:
            thing, rest, still_open = self.values.resolver.resolve_open(ref, context.scope, context.known)
        except NotKnown as unknown:
            raise problem(f"`{ref.text}`: {unknown.message}", ref, path=context.path) from None
        crossed = self.values.resolver.crossed
        if crossed is not None and thing is not ABSENT and not isinstance(thing, EnumValue):
            text = f"`{ref.text}`: `{crossed.name}` has a condition and can be used in connect clauses only"
            raise problem(text, ref, path=context.path, rule="4.4.5", hint="declare it without condition")
        if isinstance(thing, EnumValue) and any(ref.subscripts):
            raise problem(f"`{ref.text}`: a value of an enumeration has no elements", ref, rule="10.5")
        given, dims = of_group(thing, rest, still_open)
        e = self.thing(thing, ref, context)
        return self.subscripted(e, given, ref, context, dims) if given else e

    def _bound_name(self, ref: tree.Reference, context: Context) -> int:
        first = ref.names[0]
        if first in context.loops:
            e = self.builder.add(IteratorRef(context.loops[first]), self.span(ref))
        elif first in context.env:
            e = self.literal(context.env[first], ref)
        else:
            e = context.given[first]
        return self.parts(e, ref, context)

    def parts(self, e: int, ref: tree.Reference, context: Context) -> int:
        """Subscripts and fields of an expression."""
        for k, name in enumerate(ref.names):
            before = len(self.type(e).shape) if k else 0
            if k:
                e = self.field(e, name, ref, context)
            if ref.subscripts and ref.subscripts[k]:
                e = self.subscripted(e, (*(None,) * before, *ref.subscripts[k]), ref, context)
        return e

    def subscripted(
        self, e: int, given: Sequence[tree.Expression | None], at: tree.Node, context: Context, dims: Sequence[Any] = ()
    ) -> int:
        """`e[given]`, known subscripts of arrays that are written out resolved; ``dims`` as they are declared.

        None: a dimension of a part of the name before the one that has the subscripts, it stays.
        """
        shape = self.type(e).shape
        if len(given) > len(shape):
            text = f"`{_short(at.text)}`: {len(given)} subscripts, the array has {len(shape)} dimensions"
            raise problem(text, at, path=context.path, rule="10.5")
        places: list[int] = []
        for axis, one in enumerate(given):
            if one is None or isinstance(one, tree.Colon):
                places.append(WHOLE)
                continue
            size = shape[axis]
            if size is not None:
                inner = context.with_env(end=size)
            else:
                dimension = self.builder.literal(axis + 1, self.span(at))
                length = self.add(FlatBuiltin("size", (e, dimension)), at, context)
                given_here = {**context.given, "end": length}
                inner = Context(
                    context.scope, context.env, context.loops, context.function, given_here, context.elements
                )
            place = self.expr(one, inner)
            if axis < len(dims) and dims[axis] is not None:
                self._check_index_type(place, dims[axis], one, context)
            if self.type(place).base is BaseType.BOOLEAN:
                place = self._counted(place, one, context)
            self._check_place(place, size, one, context)
            places.append(place)
        return written_out(self, e, tuple(places), at, context)

    def _check_index_type(self, place: int, dim: Any, at: tree.Node, context: Context) -> None:
        """A dimension that is declared by a type has subscripts of this type."""
        values = self.values.index_values(*dim)
        given = self.type(place).element
        if not values:
            if values is None and given.base in (BaseType.BOOLEAN, BaseType.ENUMERATION):
                text = f"the subscript `{_short(at.text)}` is {described(given)}, the dimension is counted by Integers"
                raise problem(text, at, path=context.path, rule="10.5", hint="use an Integer")
            return
        wanted = self.types.of_value(values[0])
        if wanted != given and BaseType.CLOCK is not given.base:
            text = f"the subscript `{_short(at.text)}` is {described(given)}, the dimension has {described(wanted)}"
            raise problem(text, at, path=context.path, rule="10.5", hint=f"use a value of `{dim[0].text}`")

    def _counted(self, place: int, at: tree.Node, context: Context) -> int:
        """Places for `false` and `true`: 1 and 2."""
        node, span = self.builder.nodes[place], self.span(at)
        if isinstance(node, FlatLiteral):
            return self.builder.literal(2 if node.value else 1, span)
        if isinstance(node, FlatArray):
            parts = tuple(self._counted(e, at, context) for e in node.elements)
            return self.builder.add(FlatArray(parts), span, INTEGER.sized(self.type(place).shape))
        if self.type(place).shape:
            return place
        return self.add(FlatChoice((place, self.builder.literal(2, span), self.builder.literal(1, span))), at, context)

    def _check_place(self, place: int, size: int | None, at: tree.Node, context: Context) -> None:
        node = self.builder.nodes[place]
        if size is None or not isinstance(node, FlatLiteral) or isinstance(node.value, (bool, float, str)):
            return
        if not 1 <= node.value <= size:
            text = f"the subscript {node.value} is outside of 1 to {size}"
            raise problem(text, at, path=context.path, rule="10.5.1", hint="check the size of the array")


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 70 else text[:69] + "…"


# --------------------------------------------------------------------------------------------------------- expressions


def _literal(self: Translator, node: Any, context: Context) -> int:
    return self.builder.literal(node.value, self.span(node))


def _real(self: Translator, node: tree.RealLiteral, context: Context) -> int:
    return self.builder.literal(float(node.value), self.span(node))


def _unary(self: Translator, node: tree.Unary, context: Context) -> int:
    operand = self.expr(node.operand, context)
    operator = node.operator.lstrip(".")
    if self.type(operand).base is BaseType.RECORD:
        return self.calls.overloaded(operator, [operand], node, context)
    if operator == "+":
        return operand
    return self.add(FlatUnary(operator, operand), node, context)


def _binary(self: Translator, node: tree.Binary, context: Context) -> int:
    first, operations = left_chain(node)
    left = self.expr(first, context)
    for one in operations:
        right = self.expr(one.right, context)
        if BaseType.RECORD in (self.type(left).base, self.type(right).base):
            left = self.calls.overloaded(one.operator, [left, right], one, context)
        else:
            self.check_equality(one.operator, (left, right), one, context)
            left = self.add(FlatBinary(one.operator, left, right), one, context)
    return left


def _if(self: Translator, node: tree.If, context: Context) -> int:
    operands: list[int] = []
    for condition, value in node.branches:
        known = self.calls.known_condition(condition, context)
        if known is False:
            continue
        if known is True:
            last = self.expr(value, context)
            break
        operands += [self.expr(condition, context), self.expr(value, context)]
    else:
        last = self.expr(node.otherwise, context)
    if not operands:
        return last
    try:
        return self.builder.add(FlatChoice((*operands, last)), self.span(node))
    except TypeMismatch:
        if context.function is None:
            for condition, value in node.branches:
                known = self.values.tried(condition, context.scope, f"the size of `{_short(node.text)}`", context.known)
                if known is None:
                    break
                if known:
                    return self.expr(value, context)
            else:
                return self.expr(node.otherwise, context)
    return self.add(FlatChoice((*operands, last)), node, context)


def _range(self: Translator, node: tree.Range, context: Context) -> int:
    first, last = self.expr(node.first, context), self.expr(node.last, context)
    step = NONE if node.step is None else self.expr(node.step, context)
    if (
        BaseType.STRING in (self.type(first).base, self.type(last).base)
        or self.type(first).shape
        or self.type(last).shape
    ):
        text = f"`{_short(node.text)}`: the ends of a range are scalars: numbers, truth values or of an enumeration"
        raise problem(text, node, path=context.path, rule="10.4.3")
    if self.type(first).base not in (BaseType.REAL, BaseType.INTEGER):
        value = self.values.needed(node, context.scope, "a range", context.known)
        if not len(value):
            return self.builder.add(FlatArray(()), self.span(node), self.type(first).sized((0,)))
        return self.literal(value, node)
    if (
        None in self.builder.infer(FlatRange(first, step, last)).shape
        and context.function is None
        and not context.loops
    ):
        value = self.values.tried(node, context.scope, f"the size of `{_short(node.text)}`", context.known)
        if value is not None and len(value):
            of = int if value.dtype.kind == "i" else float
            span = self.span(node)
            first, last = self.builder.literal(of(value[0]), span), self.builder.literal(of(value[-1]), span)
        elif value is not None:
            return self.literal(value, node)
    return self.add(FlatRange(first, step, last), node, context)


def _array(self: Translator, node: tree.ArrayConstructor, context: Context) -> int:
    elements = tuple(self.expr(one, context) for one in node.elements)
    if not elements:
        return self.builder.add(FlatArray(()), self.span(node), REAL.sized((0,)))
    return self.add(FlatArray(elements), node, context)


def _concatenation(self: Translator, node: tree.Concatenation, context: Context) -> int:
    rows = []
    for row in node.rows:
        parts = tuple(self.expr(one, context) for one in row)
        rows.append(self.add(FlatBuiltin("[,]", parts), node, context))
    return rows[0] if len(rows) == 1 else self.add(FlatBuiltin("[;]", tuple(rows)), node, context)


def _tuple(self: Translator, node: tree.Tuple, context: Context) -> int:
    items = tuple(NONE if one is None else self.expr(one, context) for one in node.items)
    if len(items) == 1 and items[0] != NONE:
        return items[0]
    return self.builder.add(FlatTuple(items), self.span(node))


def _end(self: Translator, node: tree.End, context: Context) -> int:
    if "end" in context.env:
        return self.builder.literal(context.env["end"], self.span(node), INTEGER)
    if "end" in context.given:
        return context.given["end"]
    raise problem("`end` stands outside of a subscript", node, path=context.path, rule="10.5.2")


def _call(self: Translator, node: tree.Call, context: Context) -> int:
    return self.calls.call(node, context)


_TRANSLATE: dict[type, Any] = {
    tree.RealLiteral: _real,
    tree.IntegerLiteral: _literal,
    tree.StringLiteral: _literal,
    tree.BooleanLiteral: _literal,
    tree.Reference: lambda self, node, context: self.reference(node, context),
    tree.Binary: _binary,
    tree.Unary: _unary,
    tree.If: _if,
    tree.Range: _range,
    tree.ArrayConstructor: _array,
    tree.Concatenation: _concatenation,
    tree.Tuple: _tuple,
    tree.End: _end,
    tree.ArrayComprehension: comprehension,
    tree.ReductionCall: reduction,
    tree.Call: _call,
}
