"""Values: float, int, bool, str, EnumValue, RecordValue, and numpy arrays of these."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.frontend.modelica.problems import problem

Value = Any


class NotKnown(Exception):
    """The value of an expression is not known before the simulation; says of what."""

    def __init__(self, message: str, node: Any = None) -> None:
        super().__init__(message)
        self.message, self.node = message, node


class EnumValue:
    """A value of an enumeration."""

    __slots__ = ("cls", "name", "ordinal")

    def __init__(self, cls: Any, ordinal: int, name: str) -> None:
        self.cls, self.ordinal, self.name = cls, ordinal, name  # the core of the enumeration

    def __repr__(self) -> str:
        return f"{self.cls.entry.full_name}.{self.name}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EnumValue) and other.ordinal == self.ordinal and other.cls.entry is self.cls.entry

    def __hash__(self) -> int:
        return hash(self.ordinal)

    def __lt__(self, other: object) -> bool:
        return bool(self.ordinal < _ordinal_of(other))

    def __le__(self, other: object) -> bool:
        return bool(self.ordinal <= _ordinal_of(other))

    def __gt__(self, other: object) -> bool:
        return bool(self.ordinal > _ordinal_of(other))

    def __ge__(self, other: object) -> bool:
        return bool(self.ordinal >= _ordinal_of(other))


def _ordinal_of(value: object) -> int:
    if isinstance(value, EnumValue):
        return value.ordinal
    raise TypeError("an enumeration is compared with something else")


class RecordValue:
    """A record: class and fields."""

    __slots__ = ("cls", "fields")

    def __init__(self, cls: Any, fields: dict[str, Value]) -> None:
        self.cls, self.fields = cls, fields

    def __repr__(self) -> str:
        return f"{self.cls.name}({', '.join(f'{k} = {v!r}' for k, v in self.fields.items())})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RecordValue) and all(
            k in other.fields and np.array_equal(v, other.fields[k]) for k, v in self.fields.items()
        )

    def __hash__(self) -> int:
        return 0

    def copy(self) -> RecordValue:
        """A record that can be assigned to."""
        return RecordValue(self.cls, {k: copied(v) for k, v in self.fields.items()})


class FunctionValue:
    """A function as an argument: a class, with arguments that are given already."""

    __slots__ = ("cls", "given")

    def __init__(self, cls: Any, given: dict[str, Any]) -> None:
        self.cls, self.given = cls, given


class Shaped:
    """A local of a function: its type is known, its value sometimes."""

    __slots__ = ("builder", "type", "value")

    def __init__(self, builder: Any, of: Any, value: Any = None) -> None:
        self.builder, self.type, self.value = builder, of, value

    def member(self, name: str) -> Shaped | None:
        """A field of a record."""
        if self.type.number < 0:
            return None
        for one in self.builder.records[self.type.number].fields:
            if one.name == name:
                return Shaped(self.builder, one.type.sized((*self.type.shape, *one.type.shape)))
        return None


def copied(value: Value) -> Value:
    """A value that can be assigned to in parts."""
    if isinstance(value, np.ndarray):
        if value.dtype != object:
            return value.copy()
        found = np.empty(value.shape, object)
        for index in np.ndindex(value.shape):
            found[index] = copied(value[index])
        return found
    return value.copy() if isinstance(value, RecordValue) else value


def shape_of(value: Value) -> tuple[int, ...]:
    """Sizes; () for scalars."""
    return value.shape if isinstance(value, np.ndarray) else ()


def plain(value: Value) -> Value:
    """A scalar as a Python number."""
    if isinstance(value, np.ndarray):
        return value if value.shape else plain(value[()])
    if isinstance(value, np.generic):
        return value.item()
    return value


def array_of(items: list[Value], node: Any = None) -> Value:
    """An array of equal items, scalars or arrays."""
    if not items:
        return np.zeros((0,))
    first = items[0]
    shape = shape_of(first)
    if any(shape_of(one) != shape for one in items):
        raise problem("the elements of an array differ in size", node, rule="10.4.1")
    scalar = first if not shape else first.flat[0] if first.size else 0.0
    if isinstance(scalar, (str, EnumValue, RecordValue, FunctionValue)):
        found = np.empty((len(items), *shape), object)
        for k, one in enumerate(items):
            found[k] = one
        return found
    return np.array(items)


def joined(parts: list[Value], axis: int) -> Value:
    """Arrays one behind the other."""
    kept = [one for one in parts if one.size] or parts
    objects = any(one.dtype == object for one in kept)
    try:
        if len(kept) < len(parts):
            sizes = [one.shape[axis] for one in parts]
            _ = sizes
        return np.concatenate([one.astype(object) for one in parts] if objects else parts, axis)
    except ValueError as error:
        raise problem(f"arrays that are joined differ in size: {error}", None, rule="10.4.2") from error


def index_array(value: Value, subscripts: list[Any], node: Any, path: str = "") -> Value:
    """Some elements; a subscript is an int, a vector, None for all, or a Boolean or enumeration value."""
    if not isinstance(value, np.ndarray):
        raise problem("a scalar has no subscripts", node, path=path, rule="10.5")
    if len(subscripts) > value.ndim:
        text = f"{len(subscripts)} subscripts are given, the array has {value.ndim} dimensions"
        raise problem(text, node, path=path, rule="10.5")
    places: list[Any] = []
    for axis, one in enumerate(subscripts):
        size = value.shape[axis]
        if one is None:
            places.append(np.arange(size))
            continue
        numbers = np.array([ordinal(k) for k in one]) if isinstance(one, np.ndarray) else ordinal(one)
        bad = [k for k in np.atleast_1d(numbers) if not 1 <= k <= size]
        if bad:
            text = f"the subscript {int(bad[0])} is outside of 1 to {size}"
            raise problem(text, node, path=path, rule="10.5.1", hint="check the size of the array")
        places.append(numbers - 1 if not isinstance(numbers, np.ndarray) else numbers.astype(int) - 1)
    found = value
    axis = 0
    for place in places:
        if isinstance(place, np.ndarray):
            found = np.take(found, place, axis)
            axis += 1
        else:
            found = found[(slice(None),) * axis + (place,)] if axis else found[place]
    return plain(found)


def ordinal(value: Value) -> int:
    """A subscript as a number from 1: Integers, false and true, values of enumerations."""
    if isinstance(value, EnumValue):
        return value.ordinal
    if isinstance(value, (bool, np.bool_)):
        return int(value) + 1
    if isinstance(value, float) and not value.is_integer():
        raise problem(f"{value} is a Real, an Integer is needed", None, rule="10.5")
    return int(value)
