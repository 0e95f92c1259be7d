"""Built-in functions and operators that need more than their operands: sizes, clocks, connections, streams.

Each function gets the translator of calls, the name, the call and where it stands, and gives the expression.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.frontend.flat.build import FlatBuilder
from pliant.frontend.flat.expressions import ClockTick, FlatArray, FlatBuiltin, FlatIndex, FlatLiteral
from pliant.frontend.flat.model import FlatClock
from pliant.frontend.flat.shapes import described
from pliant.frontend.flat.types import REAL, BaseType, Variability
from pliant.frontend.modelica.flatten.context import Context
from pliant.frontend.modelica.flatten.reductions import of_nothing
from pliant.frontend.modelica.problems import problem
from pliant.frontend.modelica.syntax import tree

if TYPE_CHECKING:
    from pliant.frontend.modelica.flatten.calls import CallTranslator


def _size(self: CallTranslator, name: str, node: tree.Call, context: Context) -> int:
    if not node.arguments:
        raise problem("`size` needs an array", node, path=context.path, rule="10.3.1")
    first = node.arguments[0]
    shape: Any = None
    e = None
    function = context.function
    is_local = isinstance(first, tree.Reference) and (
        first.names[0] in context.given or (function is not None and first.names[0] in function.locals)
    )
    if not is_local:
        shape = self.out.values.shape(first, context.scope, context.known)
    if shape is None:
        e = self.out.expr(first, context)
        shape = self.out.type(e).shape
    span = self.out.span(node)
    if name == "ndims":
        return self.builder.literal(len(shape), span)
    if len(node.arguments) == 1:
        if None not in shape:
            return self.out.literal(np.array(shape, dtype=np.int64), node)
        return self.out.add(FlatBuiltin("size", (e,)), node, context)  # type: ignore[arg-type]
    axis = self.out.expr(node.arguments[1], context)
    number = self.builder.nodes[axis]
    place = (
        number.value
        if isinstance(number, FlatLiteral)
        else self.out.values.tried(node.arguments[1], context.scope, "a size", context.known)
    )
    if isinstance(place, int):
        if not 1 <= place <= len(shape):
            text = f"`{node.text}`: the array has {len(shape)} dimensions"
            raise problem(text, node, path=context.path, rule="10.3.1")
        if shape[place - 1] is not None:
            return self.builder.literal(shape[place - 1], span)
    if e is None:
        e = self.out.expr(first, context)
    return self.out.add(FlatBuiltin("size", (e, axis)), node, context)


def _sizes(self: CallTranslator, name: str, node: tree.Call, context: Context) -> int:
    """zeros, ones, fill, identity, linspace: sizes are numbers wherever they are known."""
    first = {"fill": 1, "linspace": 2}.get(name, 0)
    operands = [self.out.expr(one, context) for one in node.arguments[:first]]
    for one in node.arguments[first:]:
        value = self.out.values.tried(one, context.scope, f"the size of `{node.text}`", context.known)
        if isinstance(value, int) and not isinstance(value, bool):
            operands.append(self.builder.literal(value, self.out.span(one)))
        else:
            operands.append(self.out.expr(one, context))
    shape = [self.builder.nodes[e] for e in operands[first:]]
    if any(isinstance(one, FlatLiteral) and one.value == 0 for one in shape):
        of = self.builder.infer(FlatBuiltin(name, tuple(operands)))
        return self.builder.add(FlatArray(()), self.out.span(node), of)
    return self.out.add(FlatBuiltin(name, tuple(operands)), node, context)


def _cat(self: CallTranslator, name: str, node: tree.Call, context: Context) -> int:
    axis = self.out.values.needed(node.arguments[0], context.scope, "the dimension of cat", context.known)
    operands = [self.builder.literal(int(axis), self.out.span(node))]
    operands += [self.out.expr(one, context) for one in node.arguments[1:]]
    return self.out.add(FlatBuiltin("cat", tuple(operands)), node, context)


def _sample(self: CallTranslator, name: str, node: tree.Call, context: Context) -> int:
    """sample(start, interval) has instants; sample(u, clock) takes a value at a clock."""
    arguments = [*node.arguments, *(one.value for one in node.named)]
    if len(arguments) == 2:
        second = self.out.expr(arguments[1], context)
        if self.out.type(second).is_numeric:
            values = self.out.values
            values.at_start += 1  # parameters that are found at the start: their initial equation with its time
            try:
                first = values.needed(arguments[0], context.scope, "the first instant of `sample`", context.known)
            finally:
                values.at_start -= 1
            interval = values.needed(arguments[1], context.scope, "the interval of `sample`", context.known)
            begin, step = Fraction(repr(float(first))), Fraction(repr(float(interval)))
            if step <= 0:
                text = f"the interval of `sample` is {float(step):g}, it must be positive"
                raise problem(text, node, path=context.path, rule="3.7.5", hint="give a number above 0")
            clock = self.builder.clock(
                FlatClock("periodic", begin.as_integer_ratio(), step.as_integer_ratio(), span=self.out.span(node))
            )
            return self.builder.add(ClockTick(clock), self.out.span(node))
        return self.out.add(FlatBuiltin("sample", (self.out.expr(arguments[0], context), second)), node, context)
    return self.out.add(FlatBuiltin("sample", (self.out.expr(arguments[0], context),)), node, context)


def _array(self: CallTranslator, name: str, node: tree.Call, context: Context) -> int:
    return self.out.add(FlatArray(tuple(self.out.expr(one, context) for one in node.arguments)), node, context)


def _smooth(self: CallTranslator, name: str, node: tree.Call, context: Context) -> int:
    arguments = [*node.arguments, *(one.value for one in node.named)]
    operands = tuple(self.out.expr(one, context) for one in arguments)
    if len(operands) == 2 and self.out.type(operands[1]).base is BaseType.RECORD:
        return self.on_record("smooth", list(operands), node, context)
    return self.out.add(FlatBuiltin("smooth", operands), node, context)


def _value(self: CallTranslator, name: str, node: tree.Call, context: Context) -> int:
    """cardinality, Connections.isRoot, ...: known when connections are."""
    found = self.out.values.needed(node, context.scope, f"`{name}`", context.known)
    return self.out.literal(found, node)


def _instance_name(self: CallTranslator, name: str, node: tree.Call, context: Context) -> int:
    root = self.builder.name
    path = context.path
    return self.builder.literal(f"{root}.{path}" if path else root, self.out.span(node))


def _stream(self: CallTranslator, name: str, node: tree.Call, context: Context) -> int:
    if self.out.streams is None:
        raise problem(f"`{name}` cannot stand here", node, path=context.path, rule="15.2")
    return int(self.out.streams.expression(name, node, context))


def _extreme(self: CallTranslator, name: str, node: tree.Call, context: Context) -> int:
    operands = [self.out.expr(one, context) for one in node.arguments]
    if len(operands) == 1 and not self.out.type(operands[0]).shape:
        return operands[0]
    if len(operands) == 1 and self.out.type(operands[0]).shape and 0 in self.out.type(operands[0]).shape:
        return of_nothing(self.out, name, self.out.type(operands[0]).element, node, context)
    return self.out.add(FlatBuiltin(name, tuple(operands)), node, context)


def _total(self: CallTranslator, name: str, node: tree.Call, context: Context) -> int:
    e = self.out.expr(node.arguments[0], context)
    of = self.out.type(e)
    if not of.shape:
        return e
    if 0 in of.shape:
        return of_nothing(self.out, name, of.element, node, context)
    if of.base is BaseType.RECORD:
        return self.on_record(name, [e], node, context)
    return self.out.add(FlatBuiltin(name, (e,)), node, context)


def _semi_linear(self: CallTranslator, name: str, node: tree.Call, context: Context) -> int:
    operands = [self.out.expr(one, context) for one in node.arguments]
    sizes = {self.out.type(e).shape for e in operands if self.out.type(e).shape}
    if not sizes:
        return self.out.add(FlatBuiltin(name, tuple(operands)), node, context)
    if len(sizes) > 1 or any(len(shape) != 1 or shape[0] is None for shape in sizes):
        raise problem(f"the arguments of `{name}` differ in size", node, path=context.path, rule="3.7.2")
    size = sizes.pop()[0]
    parts = []
    for k in range(1, (size or 0) + 1):
        inner = (self.out.element(e, (k,), node, context) if self.out.type(e).shape else e for e in operands)
        parts.append(self.out.add(FlatBuiltin(name, tuple(inner)), node, context))
    if not parts:
        return self.builder.add(FlatArray(()), self.out.span(node), REAL.sized((0,)))
    return self.out.add(FlatArray(tuple(parts)), node, context)


def _der(self: CallTranslator, name: str, node: tree.Call, context: Context) -> int:
    if len(node.arguments) != 1:
        raise problem("`der` has one argument", node, path=context.path, rule="3.7.4")
    e = self.out.expr(node.arguments[0], context)
    of = self.out.type(e)
    if of.base is BaseType.RECORD:
        return self.on_record("der", [e], node, context)
    if of.base is not BaseType.REAL and of.base is not BaseType.INTEGER:
        raise problem("`der` needs a Real expression", node, path=context.path, rule="3.7.4")
    if of.base is BaseType.INTEGER and self.builder.variability(e) > Variability.PARAMETER:
        text = f"`{node.text}`: an Integer changes in steps and has no derivative"
        raise problem(text, node, path=context.path, rule="3.7.4", hint="differentiate a Real variable")
    return self.out.add(FlatBuiltin("der", (e,)), node, context)


def _delay(self: CallTranslator, name: str, node: tree.Call, context: Context) -> int:
    """delay(expr, delayTime, delayMax): without the last one the time must be a parameter (3.7.4.1)."""
    given = {one.name: one.value for one in node.named}
    arguments = list(node.arguments)
    for key in ("expr", "delayTime", "delayMax")[len(arguments) :]:
        if key in given:
            arguments.append(given[key])
    operands = tuple(self.out.expr(one, context) for one in arguments)
    last = operands[-1] if len(operands) > 1 else None
    if last is not None and self.builder.variability(last) > Variability.PARAMETER:
        what = "delayTime" if len(operands) == 2 else "delayMax"
        text = f"`{arguments[-1].text}` changes during the simulation, `{what}` must be a parameter expression"
        raise problem(text, arguments[-1], path=context.path, rule="3.7.4.1", hint="give `delayMax` as third argument")
    return self.out.add(FlatBuiltin("delay", operands), node, context)


def _pipe(self: CallTranslator, name: str, node: tree.Call, context: Context) -> int:
    """Of both outputs the first; `whole_pipe` gives both."""
    operands = [self.out.expr(one, context) for one in node.arguments]
    operands += self._named(name, node, context, len(operands))
    words = ("in0", "in1", "x", "positiveVelocity")
    if len(operands) < len(words):
        text = f"`spatialDistribution` needs {', '.join(words)}, {len(operands)} arguments are given"
        raise problem(text, node, path=context.path, rule="3.7.4.2")
    for e, word in zip(operands, words, strict=False):
        of = self.out.type(e)
        wanted = (BaseType.BOOLEAN,) if word == "positiveVelocity" else (BaseType.REAL, BaseType.INTEGER)
        if of.shape or of.base not in wanted:
            text = f"`{word}` of spatialDistribution is {described(of)}"
            hint = f"it needs a {'Boolean' if len(wanted) == 1 else 'Real'} value"
            raise problem(text, node, path=context.path, rule="3.7.4.2", hint=hint)
    for e, word in zip(operands[len(words) :], ("initialPoints", "initialValues"), strict=False):
        if self.builder.variability(e) > Variability.PARAMETER:
            text = f"`{word}` of spatialDistribution must be a parameter expression"
            raise problem(text, node, path=context.path, rule="3.7.4.2")
    both = self.out.add(FlatBuiltin(name, tuple(operands)), node, context)
    return self.out.element(both, (1,), node, context)


def whole_pipe(builder: FlatBuilder, e: int) -> int | None:
    """Both outputs of the spatialDistribution(...) of which this is the first."""
    node = builder.nodes[e]
    if not isinstance(node, FlatIndex):
        return None
    of = builder.nodes[node.base]
    return node.base if isinstance(of, FlatBuiltin) and of.name == "spatialDistribution" else None


def _pure(self: CallTranslator, name: str, node: tree.Call, context: Context) -> int:
    """pure(f(x)): an impure function that may be called as often as the solver likes (12.3)."""
    if len(node.arguments) != 1:
        raise problem("`pure` has one argument", node, path=context.path, rule="12.3", hint="write `pure(f(x))`")
    self.may_be_impure += 1
    self.in_pure += 1
    try:
        return self.out.expr(node.arguments[0], context)
    finally:
        self.may_be_impure -= 1
        self.in_pure -= 1


def _scalar(self: CallTranslator, name: str, node: tree.Call, context: Context) -> int:
    e = self.out.expr(node.arguments[0], context)
    return e if not self.out.type(e).shape else self.out.add(FlatBuiltin("scalar", (e,)), node, context)


SPECIAL: dict[str, Any] = {
    "size": _size,
    "ndims": _size,
    "zeros": _sizes,
    "ones": _sizes,
    "fill": _sizes,
    "identity": _sizes,
    "linspace": _sizes,
    "cat": _cat,
    "array": _array,
    "sample": _sample,
    "smooth": _smooth,
    "cardinality": _value,
    "Connections.isRoot": _value,
    "Connections.rooted": _value,
    "rooted": _value,
    "getInstanceName": _instance_name,
    "inStream": _stream,
    "actualStream": _stream,
    "min": _extreme,
    "max": _extreme,
    "sum": _total,
    "product": _total,
    "der": _der,
    "delay": _delay,
    "spatialDistribution": _pipe,
    "semiLinear": _semi_linear,
    "scalar": _scalar,
    "pure": _pure,
}
