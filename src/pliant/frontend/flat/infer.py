"""The type of an expression from those of its operands: specification 3.6, chapters 3 and 10.

``Inference(tables)(node)`` gives the type of a node whose operands have theirs; what does not fit is a
:class:`TypeMismatch`, with the rule in words. Sizes that are not known fit everything.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import Any, Protocol

from pliant.frontend.flat.builtins import BUILTINS, of_builtin
from pliant.frontend.flat.expressions import (
    ELEMENTWISE,
    LOGICAL,
    NONE,
    RELATIONS,
    WHOLE,
    ClockInterval,
    ClockTick,
    FlatArray,
    FlatBinary,
    FlatBuiltin,
    FlatCall,
    FlatChoice,
    FlatComprehension,
    FlatExpression,
    FlatField,
    FlatIndex,
    FlatLiteral,
    FlatOutput,
    FlatRange,
    FlatRecord,
    FlatReduction,
    FlatTuple,
    FlatUnary,
    FlatUpdate,
    IteratorRef,
    LocalRef,
    TimeRef,
    VariableRef,
)
from pliant.frontend.flat.model import FlatFunction, FlatIterator, FlatVariable
from pliant.frontend.flat.shapes import TypeMismatch, broadcast, described, unified, unified_base
from pliant.frontend.flat.types import (
    BOOLEAN,
    INTEGER,
    REAL,
    STRING,
    BaseType,
    RecordType,
    Shape,
    Size,
    Type,
    fits,
    merged,
)


class FlatTables(Protocol):
    """What expressions name by number: a FlatModel, or one that is being built."""

    @property
    def variables(self) -> Sequence[FlatVariable]:
        """For VariableRef."""
        ...

    @property
    def functions(self) -> Sequence[FlatFunction]:
        """For FlatCall and LocalRef."""
        ...

    @property
    def records(self) -> Sequence[RecordType]:
        """For types."""
        ...

    @property
    def iterators(self) -> Sequence[FlatIterator]:
        """For IteratorRef."""
        ...


class Inference:
    """Types of nodes over the nodes and types that are there already."""

    def __init__(self, tables: FlatTables, nodes: Sequence[FlatExpression], types: Sequence[Type]) -> None:
        self.tables, self.nodes, self.types = tables, nodes, types

    def __call__(self, node: FlatExpression) -> Type:
        """The type of a node; for records, empty arrays and enumeration literals it must be given."""
        return _RULES[node.__class__](self, node)

    def number(self, e: int) -> float | None:
        """The value of a literal, also with a sign."""
        node = self.nodes[e]
        if isinstance(node, FlatLiteral) and not isinstance(node.value, str):
            return float(node.value)
        if isinstance(node, FlatUnary) and node.operator in "+-":
            inner = self.number(node.operand) if isinstance(self.nodes[node.operand], FlatLiteral) else None
            return None if inner is None else -inner if node.operator == "-" else inner
        return None

    def size(self, e: int) -> Size:
        """A size that an expression says; None if it is not a literal."""
        found = self.number(e)
        return None if found is None else max(round(found), 0)


def _literal(_: Inference, node: FlatLiteral) -> Type:
    value = node.value
    if value.__class__ is bool:
        return BOOLEAN
    return INTEGER if value.__class__ is int else REAL if value.__class__ is float else STRING


def _local(by: Inference, node: LocalRef) -> Type:
    return by.tables.functions[node.function].locals[node.number].type


def _unary(by: Inference, node: FlatUnary) -> Type:
    of = by.types[node.operand]
    if node.operator == "not":
        if of.base is not BaseType.BOOLEAN:
            raise TypeMismatch(f"`not` needs a Boolean, not {described(of)}")
    elif not of.is_numeric and of.base is not BaseType.RECORD:
        raise TypeMismatch(f"a sign needs a number, not {described(of)}")
    return of


def _binary(by: Inference, node: FlatBinary) -> Type:
    operator, a, b = node.operator, by.types[node.left], by.types[node.right]
    if a is b and a is REAL and operator not in RELATIONS and operator not in LOGICAL:
        return REAL
    if operator in RELATIONS:
        unified_base(a, b, f"`{operator}`")
        return BOOLEAN.sized(broadcast(a, b, operator))
    if operator in LOGICAL:
        if a.base is not BaseType.BOOLEAN or b.base is not BaseType.BOOLEAN:
            raise TypeMismatch(f"`{operator}` needs Booleans, not {described(a)} and {described(b)}")
        return BOOLEAN.sized(broadcast(a, b, operator))
    if a.base is BaseType.STRING and b.base is BaseType.STRING and operator == "+":
        return a.sized(broadcast(a, b, operator))
    if a.base is BaseType.RECORD and b.base is BaseType.RECORD and a.number == b.number and operator in "+-":
        return a
    if not a.is_numeric or not b.is_numeric:
        raise TypeMismatch(f"`{operator}` needs numbers, not {described(a)} and {described(b)}")
    base = INTEGER if a.base is b.base is BaseType.INTEGER and operator[-1] not in "/^" else REAL
    return base.sized(_shape_of(operator, a, b))


def _shape_of(operator: str, a: Type, b: Type) -> Shape:
    if not a.shape and not b.shape:
        return ()
    if operator in ELEMENTWISE:
        return broadcast(a, b, operator)
    if operator in "+-":
        if not fits(a.shape, b.shape):
            raise TypeMismatch(f"`{operator}` needs equal sizes, not {described(a)} and {described(b)}")
        return merged(a.shape, b.shape)
    if operator == "*":
        if not a.shape or not b.shape:
            return a.shape or b.shape
        if len(a.shape) > 2 or len(b.shape) > 2 or not fits(a.shape[-1:], b.shape[:1]):
            raise TypeMismatch(f"the inner sizes of a product differ: {described(a)} and {described(b)}")
        return (*a.shape[:-1], *b.shape[1:])
    if operator == "/" and not b.shape:
        return a.shape
    if operator == "^" and not b.shape and len(a.shape) == 2 and fits(a.shape[:1], a.shape[1:]):
        return a.shape
    raise TypeMismatch(f"`{operator}` of {described(a)} and {described(b)} has no meaning")


def _if(by: Inference, node: FlatChoice) -> Type:
    found = by.types[node.operands[-1]]
    for k in range(0, len(node.operands) - 1, 2):
        condition = by.types[node.operands[k]]
        if condition is not BOOLEAN and condition != BOOLEAN:
            raise TypeMismatch(f"a condition is needed, not {described(condition)}")
        found = unified(found, by.types[node.operands[k + 1]], "the branches of an if-expression")
    return found


def _array(by: Inference, node: FlatArray) -> Type:
    if not node.elements:
        raise TypeMismatch("the type of an empty array must be given")
    found = by.types[node.elements[0]]
    for e in node.elements[1:]:
        other = by.types[e]
        if other is not found:
            found = unified(found, other, "the elements of an array")
    return found.sized((len(node.elements), *found.shape))


def _record(by: Inference, node: FlatRecord) -> Type:
    raise TypeMismatch("the type of a record must be given")


def _field(by: Inference, node: FlatField) -> Type:
    base = by.types[node.base]
    if base.base is not BaseType.RECORD:
        raise TypeMismatch(f"a field of {described(base)} is read")
    inner = by.tables.records[base.number].fields[node.number].type
    return inner.sized((*base.shape, *inner.shape))


def _range(by: Inference, node: FlatRange) -> Type:
    parts = [by.types[e] for e in (node.start, node.step, node.stop) if e != NONE]
    element = parts[0].element
    for part in parts[1:]:
        element = unified(element, part.element, "the ends of a range")
    start, stop = by.number(node.start), by.number(node.stop)
    step = 1.0 if node.step == NONE else by.number(node.step)
    if start is None or stop is None or not step:
        return element.sized((None,))
    return element.sized((max(int((stop - start) / step + 1e-9 + 1.0), 0) if (stop - start) / step > -1e-9 else 0,))


def picked(by: Inference, of: Type, subscripts: tuple[int, ...]) -> Shape:
    """The shape of a part of an array."""
    if len(subscripts) > len(of.shape):
        raise TypeMismatch(f"{described(of)} has {len(subscripts)} subscripts")
    shape: list[Size] = []
    for size, subscript in zip_longest(of.shape, subscripts, fillvalue=WHOLE):
        if subscript == WHOLE:
            shape.append(size)
            continue
        given = by.types[subscript or 0]
        if given.base not in (BaseType.INTEGER, BaseType.BOOLEAN, BaseType.ENUMERATION) or len(given.shape) > 1:
            raise TypeMismatch(f"a subscript is {described(given)}")
        shape.extend(given.shape)
    return tuple(shape)


def _index(by: Inference, node: FlatIndex) -> Type:
    of = by.types[node.base]
    return of.sized(picked(by, of, node.subscripts))


def _update(by: Inference, node: FlatUpdate) -> Type:
    of = by.types[node.base]
    part, value = of.sized(picked(by, of, node.subscripts)), by.types[node.value]
    unified_base(part, value, "an element and its new value")
    if value.shape and not fits(part.shape, value.shape):
        raise TypeMismatch(f"{described(value)} replaces {described(part)}")
    return of


def _comprehension(by: Inference, node: FlatComprehension) -> Type:
    body = by.types[node.body]
    return body.sized((*(_length(by, loop.range) for loop in node.loops), *body.shape))


def _length(by: Inference, e: int) -> Size:
    of = by.types[e]
    if len(of.shape) != 1:
        raise TypeMismatch(f"a loop needs a vector to run over, not {described(of)}")
    return of.shape[0]


def _reduction(by: Inference, node: FlatReduction) -> Type:
    for loop in node.loops:
        _length(by, loop.range)
    body = by.types[node.body]
    if body.shape and node.name != "sum":
        raise TypeMismatch(f"{node.name} needs scalars, not {described(body)}")
    return body


def _builtin(by: Inference, node: FlatBuiltin) -> Type:
    if node.name not in BUILTINS:
        raise TypeMismatch(f"there is no built-in function `{node.name}`")
    return of_builtin(node.name, [by.types[e] for e in node.operands], [by.size, *node.operands])


def _call(by: Inference, node: FlatCall) -> Type:
    function = by.tables.functions[node.function]
    if len(node.operands) != function.n_inputs:
        raise TypeMismatch(
            f"`{function.name}` has {function.n_inputs} inputs, {len(node.operands)} arguments are given"
        )
    for argument, own in zip(node.operands, function.inputs, strict=True):
        given = by.types[argument]
        what = f"input `{own.name}` of `{function.name}`"
        unified(own.type, given, what)
        if own.type.base is BaseType.INTEGER and given.base is BaseType.REAL:
            raise TypeMismatch(f"{what} is an Integer, a Real is given")
    if function.n_outputs == 1:
        return function.outputs[0].type
    return Type(BaseType.TUPLE, (), node.function)


def _output(by: Inference, node: FlatOutput) -> Type:
    of = by.types[node.call]
    if of.base is not BaseType.TUPLE or of.number < 0:
        raise TypeMismatch(f"an output of {described(of)} is read")
    return by.tables.functions[of.number].outputs[node.number].type


_RULES: dict[type, Callable[[Inference, Any], Type]] = {
    FlatLiteral: _literal,
    VariableRef: lambda by, node: by.tables.variables[node.variable].type,
    TimeRef: lambda _, __: REAL,
    IteratorRef: lambda by, node: by.tables.iterators[node.number].type,
    LocalRef: _local,
    FlatUnary: _unary,
    FlatBinary: _binary,
    FlatChoice: _if,
    FlatArray: _array,
    FlatRecord: _record,
    FlatField: _field,
    FlatRange: _range,
    FlatIndex: _index,
    FlatUpdate: _update,
    FlatComprehension: _comprehension,
    FlatReduction: _reduction,
    FlatBuiltin: _builtin,
    FlatCall: _call,
    FlatOutput: _output,
    FlatTuple: lambda _, __: Type(BaseType.TUPLE),
    ClockTick: lambda _, __: BOOLEAN,
    ClockInterval: lambda _, __: REAL,
}
