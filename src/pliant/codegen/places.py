"""Where generated statements read and write, and how a target says it.

    Array     what belongs together, under one name: x, the parameters, what a function leaves in its caller's memory
    Place     one value of it
    Layout    makes text: of a place, of the arguments of a function, of the members of the instance

Statements know places only. Another target (many instances side by side, a GPU) is another layout: where a place
lies in memory, what functions are given and what the instance looks like is said nowhere else.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple


def number(value: float) -> str:
    """A C literal that reads back as the same double."""
    if math.isnan(value):
        return "NAN"
    if value in (float("inf"), float("-inf")):
        return "HUGE_VAL" if value > 0 else "-HUGE_VAL"
    return repr(float(value))


class ValueKind(Enum):
    """What a value is: the usual C type. REAL has the model's precision, WIDE is double whatever that is."""

    REAL = "pl_real"
    WIDE = "double"
    INTEGER = "int"
    COUNT = "int32_t"
    STEPS = "int64_t"
    FLAG = "int8_t"
    TEXT = "char"


class Owner(Enum):
    """Whose memory an array is in."""

    LOCAL = "the function's own, or that of the function of which it is a part"
    FILE = "the file's: constant data"
    ARGUMENT = "given by the caller, values of one instance"
    INSTANCE = "the instance's: kept from call to call"


class StructArray(Enum):
    """Structs, whose members have names."""

    INSTANCE = ""
    INPUTS = "inputs"
    OUTPUTS = "outputs"
    PARAMETERS = "parameters"


@dataclass(frozen=True, slots=True)
class Array:
    """Values under one name; a single value has no index."""

    name: str
    owner: Owner = Owner.LOCAL
    kind: ValueKind = ValueKind.REAL
    record: StructArray | None = None  # its values are named members
    is_block: bool = False  # of the instance: handed to functions as a whole, so it stays in one piece

    def at(self, index: int | str | None = None) -> Place:
        """One value: by number, by the C text of an index (in loops), or the only one."""
        return Place(self, index)

    @property
    def label(self) -> str:
        """For sorting."""
        return f"m.{self.name}" if self.owner == Owner.INSTANCE else self.name


class Place(NamedTuple):
    """One value of an array."""

    array: Array
    at: int | str | None = None


@dataclass(frozen=True, slots=True)
class Number:
    """A number that is known when the text is written."""

    value: float


@dataclass(frozen=True, slots=True)
class IsZero:
    """1 where the integer at a place is 0, else 0."""

    place: Place


Source = Place | Number | IsZero  # what a statement can read


@dataclass(frozen=True, slots=True)
class Argument:
    """What a function is given: an array, a struct, or (``is_array`` False) a single value."""

    name: str
    type: ValueKind | StructArray | str = ValueKind.REAL  # or the name of a type
    is_const: bool = False
    is_array: bool = True


@dataclass(frozen=True, slots=True)
class Field:
    """A member of the instance; size 0: there is none, None: a single value."""

    array: Array
    size: int | None
    note: str = ""


class Layout:
    """One instance, a struct ``m``; everything else in arrays that begin with its first value."""

    instance = "model"  # type of the instance

    def type(self, kind: ValueKind | StructArray | str) -> str:
        """C type of a value, or of a struct."""
        if isinstance(kind, ValueKind):
            return kind.value
        if isinstance(kind, StructArray):
            return f"{self.instance}_{kind.value}" if kind.value else self.instance
        return kind

    def literal(self, value: float, kind: ValueKind = ValueKind.REAL) -> str:
        """A number."""
        del kind
        return number(value)

    def array(self, array: Array) -> str:
        """All of it, as a function is given it."""
        return f"m->{array.name}" if array.owner is Owner.INSTANCE else array.name

    def place(self, place: Place) -> str:
        """One value, to be read or written."""
        array, index = place
        text = f"m->{array.name}" if array.owner is Owner.INSTANCE else array.name
        return text if index is None else f"{text}[{index}]"

    def pointer(self, place: Place) -> str:
        """Where a block goes on from a place."""
        return f"{self.array(place.array)} + {place.at}"

    def source(self, source: Source) -> str:
        """What can be read."""
        if isinstance(source, Place):
            return self.place(source)
        if isinstance(source, Number):
            return self.literal(source.value)
        return f"({self.place(source.place)} == 0)"

    def declared(self, arguments: Sequence[Argument], restrict: bool = True) -> str:
        """Arguments of a function."""
        return ", ".join(self.listed(arguments, restrict))

    def listed(self, arguments: Sequence[Argument], restrict: bool = True) -> list[str]:
        """The same one by one, and whatever else a function needs to know."""
        return [self.argument(one, restrict) for one in arguments]

    def argument(self, one: Argument, restrict: bool = True) -> str:
        """One of them."""
        pointer = "*restrict " if restrict else "*"
        star = pointer if one.is_array or isinstance(one.type, StructArray) else ""
        return f"{'const ' if one.is_const else ''}{self.type(one.type)} {star}{one.name}"

    def passed(self, *given: str) -> str:
        """What a call hands over; ``m`` stands for the instance."""
        return ", ".join(given)

    def opaque(self) -> str:
        """The instance for a function that gives it back to another one, as ``self``."""
        return "m"

    def opened(self) -> str:
        """Declarations at the head of that other one."""
        return f"{self.instance} *m = self;"

    def unused(self, arguments: Sequence[Argument]) -> str:
        """A statement that names them all."""
        return ", ".join(f"(void){one.name}" for one in arguments) + ";"

    def copied(self, to: Place, source: Place, n: int) -> str:
        """A statement that copies n values, from one place on to another."""
        return f"memcpy({self.pointer(to)}, {self.pointer(source)}, {n} * sizeof({self.type(to.array.kind)}));"

    def member(self, field: Field, width: int = 0) -> str:
        """A member of the instance, the note at least ``width`` characters behind its begin."""
        size = "" if field.size is None else f"[{field.size}]"
        text = f"{self.type(field.array.kind)} {field.array.name}{size};"
        return f"    {text:<{width}} /* {field.note} */" if field.note else f"    {text}"

    def instance_type(self, members: Sequence[str]) -> str:
        """Type of the instance."""
        lines = "\n".join(members)
        return f"typedef struct {self.instance} {{\n{lines}\n}} {self.instance};\n"

    def members(self, fields: Sequence[Field]) -> list[str]:
        """Members of the instance, as far as there are any."""
        return [self.member(one) for one in fields if one.size is None or one.size]
