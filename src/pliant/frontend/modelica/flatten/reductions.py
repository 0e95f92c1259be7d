"""Array constructors and reductions with iterators: `{f(i) for i in u}`, `sum(f(i) for i in u)` (10.3.4.1, 10.4.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pliant.frontend.flat.expressions import FlatArray, FlatBinary, FlatBuiltin, FlatComprehension, FlatReduction
from pliant.frontend.flat.types import BaseType, Type
from pliant.frontend.modelica.flatten.loops import must_unroll
from pliant.frontend.modelica.problems import problem
from pliant.frontend.modelica.scopes.references import ThingGroup
from pliant.frontend.modelica.syntax import tree

if TYPE_CHECKING:
    from pliant.frontend.modelica.flatten.context import Context
    from pliant.frontend.modelica.flatten.translate import Translator

_INFINITE = 1e60  # Modelica.Constants.inf
_MOST = 2147483647  # Modelica.Constants.Integer_inf


def comprehension(out: Translator, node: tree.ArrayComprehension, context: Context) -> int:
    """An array constructor."""
    indices = node.indices[::-1]  # {f for i in u, j in v} is {{f for i in u} for j in v} (10.4.1.2)
    if context.function is None and must_unroll(out, node.value, node.indices, context):
        items = [out.expr(node.value, one) for one in out.ranges.unrolled(indices, context, node.value)]
        shape = out.ranges.sizes(indices, context, node.value)
        return out.nested(items, ThingGroup(shape, items), node, context)
    loops, inner = [], context
    for index in indices:
        loop, inner = out.ranges.loop(index, inner, node.value)
        loops.append(loop)
    body = out.expr(node.value, inner)
    return out.add(FlatComprehension(body, tuple(loops)), node, context)


def reduction(out: Translator, node: tree.ReductionCall, context: Context) -> int:
    """sum, product, min, max, array."""
    name = node.function.dotted
    if name == "array":
        made = tree.ArrayComprehension(node.source, node.start, node.end, node.value, node.indices)
        return comprehension(out, made, context)
    if context.function is None and must_unroll(out, node.value, node.indices, context):
        contexts = out.ranges.unrolled(node.indices, context, node.value)
        if contexts:
            return _written_out(out, name, [out.expr(node.value, one) for one in contexts], node, context)
    loops, inner = [], context
    for index in node.indices:
        loop, inner = out.ranges.loop(index, inner, node.value)
        loops.append(loop)
    body = out.expr(node.value, inner)
    of = out.type(body)
    if of.base is BaseType.RECORD:  # its operator says what a sum is
        contexts = out.ranges.unrolled(node.indices, context, node.value)
        if contexts:
            return _written_out(out, name, [out.expr(node.value, one) for one in contexts], node, context)
    if any(out.type(loop.range).shape == (0,) for loop in loops):
        return of_nothing(out, name, of, node, context)
    return out.add(FlatReduction(name, body, tuple(loops)), node, context)


def _written_out(out: Translator, name: str, items: list[int], node: tree.Node, context: Context) -> int:
    total, of = items[0], out.type(items[0])
    if of.base is BaseType.RECORD:
        for one in items[1:]:
            total = out.calls.overloaded("+", [total, one], node, context)
        return total
    if name == "sum" and of.shape:
        for one in items[1:]:
            total = out.add(FlatBinary("+", total, one), node, context)
        return total
    return out.add(FlatBuiltin(name, (out.add(FlatArray(tuple(items)), node, context),)), node, context)


def of_nothing(out: Translator, name: str, of: Type, node: tree.Node, context: Context) -> int:
    """The reduction of no elements: zero, one, the largest or the least value of the type (10.3.4)."""
    span = out.span(node)
    if of.base is BaseType.RECORD:
        cls = out.functions.class_named(out.builder.records[of.number].name)
        if name != "sum" or cls is None:
            raise problem(f"`{name}` of no records has no value", node, path=context.path, rule="10.3.4")
        return out.calls.overloaded("'0'", [], node, context, cls)
    if name in ("sum", "product"):
        value = 0 if name == "sum" else 1
        number = float(value) if of.base is BaseType.REAL else value
        if of.shape and None not in of.shape:
            return out.literal(np.full([n or 0 for n in of.shape], number), node)
        return out.builder.literal(number, span)
    is_least = name == "max"
    if of.base is BaseType.BOOLEAN:
        return out.builder.literal(not is_least, span)
    if of.base is BaseType.ENUMERATION:
        last = len(out.builder.enumerations[of.number].literals)
        return out.builder.literal(1 if is_least else last, span, of.element)
    if of.base is BaseType.INTEGER:
        return out.builder.literal(-_MOST if is_least else _MOST, span)
    return out.builder.literal(-_INFINITE if is_least else _INFINITE, span)
