"""Types of a flat model: what a value is, how large, and how far it changes.

A type is a base, a shape and, for records, enumerations and tuples, a number: that of the record or enumeration in the
model, or of the function whose outputs the tuple holds. A size is None where it becomes known later only: ``:`` inside
functions, and ranges over parameters whose values scalarisation takes.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, IntEnum

Size = int | None
Shape = tuple[Size, ...]


LARGEST_INTEGER = 2**31 - 1


class BaseType(Enum):
    """What one element is."""

    REAL = "Real"
    INTEGER = "Integer"
    BOOLEAN = "Boolean"
    STRING = "String"
    ENUMERATION = "enumeration"
    RECORD = "record"
    CLOCK = "Clock"
    OBJECT = "ExternalObject"
    TUPLE = "tuple"  # all outputs of a function


@dataclass(frozen=True, slots=True)
class Type:
    """Base and shape; ``number``: of the record, enumeration or function, -1 where it is not known or there is none."""

    base: BaseType
    shape: Shape = ()
    number: int = -1

    @property
    def is_numeric(self) -> bool:
        """Real or Integer."""
        return self.base in (BaseType.REAL, BaseType.INTEGER)

    def sized(self, shape: Shape) -> Type:
        """The same element in another shape."""
        return self if shape == self.shape else Type(self.base, shape, self.number)

    @property
    def element(self) -> Type:
        """The type of one element."""
        return self.sized(())


REAL = Type(BaseType.REAL)
INTEGER = Type(BaseType.INTEGER)
BOOLEAN = Type(BaseType.BOOLEAN)
STRING = Type(BaseType.STRING)
CLOCK = Type(BaseType.CLOCK)


@dataclass(frozen=True, slots=True)
class RecordField:
    """One field of a record."""

    name: str
    type: Type


@dataclass(frozen=True, slots=True)
class RecordType:
    """A record: its class and fields in order."""

    name: str
    fields: tuple[RecordField, ...]


@dataclass(frozen=True, slots=True)
class EnumerationType:
    """An enumeration: its class and the names of its values, the first one being 1."""

    name: str
    literals: tuple[str, ...]


class Variability(IntEnum):
    """How far something changes (specification 3.6, section 3.8); larger is less constant."""

    CONSTANT = 0
    PARAMETER = 1  # constant during a simulation
    DISCRETE = 2  # changes at events only
    CONTINUOUS = 3


class Causality(Enum):
    """Who sets a variable of the whole model."""

    LOCAL = "local"
    INPUT = "input"
    OUTPUT = "output"


class Prefix(Enum):
    """What a variable is to connections."""

    NONE = "none"
    FLOW = "flow"
    STREAM = "stream"


def fits(given: Shape, wanted: Shape) -> bool:
    """Equal sizes, where both are known."""
    return given == wanted or (
        len(given) == len(wanted) and all(a is None or b is None or a == b for a, b in zip(given, wanted, strict=True))
    )


def merged(a: Shape, b: Shape) -> Shape:
    """The shape of two that fit, with all sizes that one of them knows."""
    return a if a == b else tuple(y if x is None else x for x, y in zip(a, b, strict=True))
