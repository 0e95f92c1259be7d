"""What an expression evaluates to while a model is taken apart, and arithmetic on it.

A *value* is one of

    int     a scalar: the number of a node in the graph (Booleans and enumerations are numbers, too)
    Arr     an array: shape and elements in row-major order
    Rec     a record: its fields in the order of its type
    str     a string; a OpenText has numbers in it that change

The functions of :mod:`pliant.expr.build` work on scalars; here they are carried over to arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, SupportsIndex

from pliant.errors import ModelError
from pliant.expr.build import add, const, mul, sub
from pliant.frontend.flat.types import BaseType, RecordType, Type
from pliant.ir import Graph
from pliant.texts import operands_of, rewritten

Shape = tuple[int, ...]
Scalar2 = Callable[[Graph, int, int], int]


@dataclass(slots=True, eq=False)
class Arr:
    """Elements in row-major order."""

    shape: Shape
    flat: list[Any]


@dataclass(slots=True, eq=False)
class Rec:
    """Fields in the order of the record's type."""

    fields: list[Any]


Value = int | Arr | Rec | str


class Lazy(list[Any]):
    """Elements that are made when they are first asked for: a derivative exists only where an equation uses it."""

    def __init__(self, size: int, make: Callable[[int], int]) -> None:
        super().__init__([None] * size)
        self.make = make

    def __getitem__(self, key: SupportsIndex | slice) -> Any:
        if isinstance(key, slice):
            return [self[k] for k in range(*key.indices(len(self)))]
        found = super().__getitem__(key)
        if found is None:
            found = self.make(int(key))
            self[key] = found
        return found

    def __iter__(self) -> Iterator[Any]:
        return (self[k] for k in range(len(self)))


def describe(value: Value) -> str:
    """The kind of a value, for messages."""
    if isinstance(value, Arr):
        return "an array of size [" + ", ".join(map(str, value.shape)) + "]"
    if isinstance(value, Rec):
        return "a record"
    return "a string" if isinstance(value, str) else "a scalar"


def scalars(value: Value) -> list[int]:
    """All scalar elements, records and arrays taken apart in order."""
    if isinstance(value, int):
        return [value]
    if isinstance(value, Arr):
        if not value.flat or isinstance(value.flat[0], int):
            return list(value.flat)
        return [s for element in value.flat for s in scalars(element)]
    if isinstance(value, Rec):
        return [s for element in value.fields for s in scalars(element)]
    raise _string_error()


def _string_error() -> ModelError:
    return ModelError("a string is used where a number is needed", hint="use a number or an enumeration instead")


def leaves(value: Value) -> list[int | str]:
    """All scalar elements, numbers and strings, in order."""
    if isinstance(value, Arr):
        return [e for element in value.flat for e in leaves(element)]
    if isinstance(value, Rec):
        return [e for field in value.fields for e in leaves(field)]
    return [value]


def numbers(value: Value) -> list[int]:
    """All numbers in a value, in the order of ``like``: scalar elements, and those that strings are made of."""
    return [e for one in leaves(value) for e in ([one] if isinstance(one, int) else operands_of(one))]


def reals(value: Value, of: Type, records: Sequence[RecordType]) -> list[bool]:
    """For each scalar in a value of a type that is a number: is it Real?"""
    if isinstance(value, Arr):
        return [one for element in value.flat for one in reals(element, of, records)]
    if isinstance(value, Rec):
        pairs = zip(value.fields, records[of.number].fields, strict=False)
        return [one for field, own in pairs for one in reals(field, own.type, records)]
    return [of.base is BaseType.REAL] if isinstance(value, int) else []


def like(value: Value, new: Iterator[int]) -> Value:
    """A value of the same form with other scalars."""
    if isinstance(value, int):
        return next(new)
    if isinstance(value, Arr):
        return Arr(value.shape, [like(element, new) for element in value.flat])
    if isinstance(value, Rec):
        return Rec([like(element, new) for element in value.fields])
    return rewritten(value, lambda _: next(new))


def map1(function: Callable[[int], int], a: Value) -> Value:
    """A function of one scalar on every element."""
    if isinstance(a, int):
        return function(a)
    if isinstance(a, Arr):
        return Arr(a.shape, [map1(function, x) for x in a.flat])
    if isinstance(a, Rec):
        return Rec([map1(function, x) for x in a.fields])
    raise _string_error()


def map2(g: Graph, function: Scalar2, a: Value, b: Value) -> Value:
    """A function of two scalars, element by element; a scalar meets every element."""
    if isinstance(a, int):
        if isinstance(b, int):
            return function(g, a, b)
        if isinstance(b, Arr):
            return Arr(b.shape, [map2(g, function, a, y) for y in b.flat])
    elif isinstance(a, Arr):
        if isinstance(b, int):
            return Arr(a.shape, [map2(g, function, x, b) for x in a.flat])
        if isinstance(b, Arr):
            if a.shape != b.shape:
                raise ModelError(
                    f"sizes do not match: {describe(a)} is combined with {describe(b)}",
                    hint="give both the same size, or choose a part by subscripts",
                )
            return Arr(a.shape, [map2(g, function, x, y) for x, y in zip(a.flat, b.flat, strict=True)])
    elif isinstance(a, Rec) and isinstance(b, Rec):
        return Rec([map2(g, function, x, y) for x, y in zip(a.fields, b.fields, strict=True)])
    raise ModelError(
        f"cannot combine {describe(a)} with {describe(b)}", hint="combine records field by field, arrays with arrays"
    )


def difference(g: Graph, a: Value, b: Value) -> Value:
    """``a - b``; strings are no equations: what they are is known."""
    if isinstance(a, Rec) and isinstance(b, Rec):
        pairs = zip(a.fields, b.fields, strict=True)
        return Rec([difference(g, x, y) for x, y in pairs if not isinstance(x, str)])
    if isinstance(a, Arr) and isinstance(b, Arr) and a.shape == b.shape:
        return Arr(a.shape, [difference(g, x, y) for x, y in zip(a.flat, b.flat, strict=True)])
    return map2(g, sub, a, b)


def dot(g: Graph, a: list[int], b: list[int]) -> int:
    """Scalar product."""
    if not a:
        return const(g, 0.0)
    total = mul(g, a[0], b[0])
    for x, y in zip(a[1:], b[1:], strict=True):
        total = add(g, total, mul(g, x, y))
    return total


def multiply(g: Graph, a: Value, b: Value) -> Value:
    """Modelica's ``*``: scalars scale, vectors give the scalar product, matrices the matrix product."""
    if not isinstance(a, Arr) or not isinstance(b, Arr):
        return map2(g, mul, a, b)
    if len(a.shape) > 2 or len(b.shape) > 2 or a.shape[-1] != b.shape[0]:
        raise ModelError(
            f"cannot multiply {describe(a)} with {describe(b)}",
            hint="the inner sizes must agree: transpose one of them, or write .* for each element",
        )
    n = a.shape[-1]
    rows = [a.flat[i : i + n] for i in range(0, len(a.flat), n)] if n else [[] for _ in range(prod(a.shape[:-1]))]
    width = b.shape[1] if len(b.shape) == 2 else 1
    columns = [b.flat[j::width] for j in range(width)] if n else [[] for _ in range(width)]
    shape = (*a.shape[:-1], *b.shape[1:])
    flat = [dot(g, row, column) for row in rows for column in columns]
    return flat[0] if not shape else Arr(shape, flat)


def matrix_power(g: Graph, a: Arr, exponent: int) -> Value:
    """Integer power of a square matrix."""
    if len(a.shape) != 2 or a.shape[0] != a.shape[1] or exponent < 0:
        raise ModelError(
            f"cannot raise {describe(a)} to the power {exponent}",
            hint="use a square matrix and an exponent from 0 up, or write .^ for each element",
        )
    result: Value = identity(g, a.shape[0])
    for _ in range(exponent):
        result = multiply(g, result, a)
    return result


def identity(g: Graph, n: int) -> Arr:
    """Unit matrix."""
    zero, one = const(g, 0.0), const(g, 1.0)
    return Arr((n, n), [one if i == j else zero for i in range(n) for j in range(n)])


def cross(g: Graph, a: Arr, b: Arr) -> Arr:
    """Vector product."""
    (a1, a2, a3), (b1, b2, b3) = a.flat, b.flat
    pairs = ((a2, b3, a3, b2), (a3, b1, a1, b3), (a1, b2, a2, b1))
    return Arr((3,), [sub(g, mul(g, p, q), mul(g, r, s)) for p, q, r, s in pairs])


def stack(values: list[Value]) -> Arr:
    """``{a, b, c}``: one more dimension in front."""
    first = values[0]
    if isinstance(first, Arr):
        flat: list[Any] = []
        for value in values:
            if not isinstance(value, Arr) or value.shape != first.shape:
                raise ModelError(
                    f"the elements of an array constructor differ in size: {describe(first)} and {describe(value)}",
                    hint="give all elements the same size, or join them by cat(...)",
                )
            flat.extend(value.flat)
        return Arr((len(values), *first.shape), flat)
    return Arr((len(values),), list(values))


def promote(value: Value, rank: int) -> Arr:
    """Sizes 1 appended up to this rank."""
    if not isinstance(value, Arr):
        return Arr((1,) * rank, [value])
    return Arr(value.shape + (1,) * (rank - len(value.shape)), list(value.flat))


def concatenate(values: list[Arr], axis: int) -> Arr:
    """Join along an axis (0-based)."""
    ranks = {len(value.shape) for value in values}
    others = {value.shape[:axis] + value.shape[axis + 1 :] for value in values}
    if len(ranks) != 1 or len(others) != 1:
        raise ModelError(
            "sizes do not match: cannot join " + ", ".join(map(describe, values)),
            hint="all sizes except that of the joined dimension must agree",
        )
    first = values[0].shape
    shape = (*first[:axis], sum(value.shape[axis] for value in values), *first[axis + 1 :])
    flat: list[Any] = []
    for outer in range(prod(first[:axis])):
        for value in values:
            block = prod(value.shape[axis:])
            flat.extend(value.flat[outer * block : (outer + 1) * block])
    return Arr(shape, flat)


def transpose(a: Arr) -> Arr:
    """First two dimensions swapped."""
    n, m, *rest = a.shape
    block = prod(rest)
    flat = [x for j in range(m) for i in range(n) for x in a.flat[(i * m + j) * block : (i * m + j + 1) * block]]
    return Arr((m, n, *rest), flat)
