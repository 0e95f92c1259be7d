"""Arrays of a stepper, and how C says them: the instance is a struct, parameters, inputs and outputs are structs with a
named member for each value."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from pliant.codegen.arrays import of_instance
from pliant.codegen.places import Argument, Array, Field, Layout, Owner, Place, StructArray, ValueKind, number

FLOAT_MAX = 3.4e38
FLOAT_TINY = 2.0**-150  # half of the smallest number of float: what is less becomes zero

# what functions are given
INSTANCE = Argument("m", StructArray.INSTANCE)
READ_ONLY = Argument("m", StructArray.INSTANCE, is_const=True)
GIVEN_INPUTS = Argument("u", StructArray.INPUTS, is_const=True)
GIVEN_AFTER = Argument("after", StructArray.INPUTS, is_const=True)
GIVEN_PARAMETERS = Argument("p", StructArray.PARAMETERS, is_const=True)
INPUTS = Array("u", Owner.ARGUMENT, record=StructArray.INPUTS)
AFTER = Array("after", Owner.ARGUMENT, record=StructArray.INPUTS)
OUTPUTS = Array("y", Owner.ARGUMENT, record=StructArray.OUTPUTS)
NEW_PARAMETERS = Array("p", Owner.ARGUMENT, record=StructArray.PARAMETERS)

# the instance
PARAMETERS = Array("p", Owner.INSTANCE, record=StructArray.PARAMETERS)
LAST_INPUTS = Array("u", Owner.INSTANCE, record=StructArray.INPUTS)
CONSTANTS = of_instance("c")
WIDE_CONSTANTS = of_instance("cw", ValueKind.WIDE)
X, TEARS, MEMORIES = of_instance("x"), of_instance("z"), of_instance("d")
RELATIONS = of_instance("relation", ValueKind.INTEGER)
COUNTERS = of_instance("count", ValueKind.INTEGER)
BEGIN, FIRST = of_instance("begin"), of_instance("first", ValueKind.INTEGER)
RESETS, IS_RESET = of_instance("resets", ValueKind.COUNT), of_instance("is_reset", ValueKind.INTEGER)
CROSSED = of_instance("crossed", ValueKind.COUNT)
STEP, START = of_instance("step", ValueKind.STEPS), of_instance("t0", ValueKind.WIDE)

# local to one step
TIME, HALF_TIME = Array("t", kind=ValueKind.WIDE), Array("th", kind=ValueKind.WIDE)
JUMP_TIME = Array("te", kind=ValueKind.WIDE)  # that comparisons read
WORK, WIDE_WORK = Array("w"), Array("ww", kind=ValueKind.WIDE)
CHANGE, NEW_TEARS, NEW_RELATIONS = Array("dx"), Array("z"), Array("r")
LEVEL, REST = Array("level"), Array("rest")
HALF, HALF_TEARS = Array("xh"), Array("zn")
NEW_MEMORIES, NEW_X = Array("d"), Array("x")


class StepLayout(Layout):
    """One instance in a struct, all its arrays one after the other."""

    def __init__(self, instance: str, precision: str, names: Mapping[StructArray, Sequence[str]] | None = None) -> None:
        """``names``: members of the structs."""
        self.instance, self.precision = instance, precision
        self.names = dict(names or {})

    @property
    def fabs(self) -> str:
        """C's function of the step's precision."""
        return "fabs" if self.precision == "double" else "fabsf"

    @property
    def real(self) -> str:
        """The model's own name of its real numbers, for headers."""
        return f"{self.instance}_real"

    def literal(self, value: float, kind: ValueKind = ValueKind.REAL) -> str:
        """A number of the step's precision, or in double."""
        if self.precision == "double" or kind == ValueKind.WIDE:
            return number(value)
        if math.isnan(value):
            return "NAN"
        if abs(value) > FLOAT_MAX:
            return "HUGE_VALF" if value > 0 else "-HUGE_VALF"
        if abs(value) < FLOAT_TINY:  # compilers would warn; stages/float_range.py names it
            value = math.copysign(0.0, value)
        return number(value) + "f"

    def place(self, place: Place) -> str:
        """A member of a struct has a name."""
        array = place.array
        if array.record is None or not isinstance(place.at, int):
            return super().place(place)
        name = self.names[array.record][place.at]
        return f"{self.array(array)}{'.' if array.owner == Owner.INSTANCE else '->'}{name}"

    def member(self, field: Field, width: int = 0) -> str:
        """In a header."""
        array, note = field.array, f" /* {field.note} */" if field.note else ""
        kind = self.real if array.kind == ValueKind.REAL else self.type(array.kind)
        if array.record is not None:
            kind = self.type(array.record)
        size = "" if field.size is None or array.record is not None else f"[{field.size}]"
        return f"    {kind} {array.name}{size};{note}"

    def struct(self, record: StructArray, notes: Sequence[str]) -> str:
        """Type of the parameters, inputs or outputs, with a note for each; C does not allow empty ones."""
        name = self.type(record)
        members = zip(self.names[record], notes, strict=True)
        lines = [f"    {self.real} {one}; /* {note} */" if note else f"    {self.real} {one};" for one, note in members]
        if not lines:
            lines = [f"    {self.real} none; /* the model has none */"]
        return f"typedef struct {name} {{\n" + "\n".join(lines) + f"\n}} {name};\n"

    def calibration(self, values: Sequence[float]) -> str:
        """Default parameters as data of their own, which calibration tools may change."""
        name = f"{self.instance}_calibration"
        members = zip(self.names[StructArray.PARAMETERS], values, strict=True)
        lines = [f"    .{one} = {self.literal(value)}," for one, value in members] or ["    .none = 0,"]
        kind = self.type(StructArray.PARAMETERS)
        return f"PL_CALIBRATION const volatile {kind} {name} = {{\n" + "\n".join(lines) + "\n};\n"

    def default(self, k: int, value: float) -> str:
        """Default of a parameter."""
        del value
        return f"{self.instance}_calibration.{self.names[StructArray.PARAMETERS][k]}"

    def calibration_declared(self) -> str:
        """For the header."""
        kind, name = self.type(StructArray.PARAMETERS), f"{self.instance}_calibration"
        return f"extern const volatile {kind} {name}; /* the defaults, see PL_CALIBRATION */\n"

    def helpers(self) -> str:
        """Functions that its statements call."""
        return ""

    # ------------------------------------------------------------------ statements about whole arrays

    def assigned(self, to: Array, source: Array) -> str:
        """A struct of the instance becomes what the caller gives."""
        return f"{self.array(to)} = *{source.name};"

    def cleared(self, fields: Sequence[Field]) -> str:
        """All of the instance becomes zero."""
        del fields
        return "memset(m, 0, sizeof *m);"

    def taken(self, local: Array, source: Array, n: int) -> str:
        """A local array becomes one of the instance."""
        del n
        return f"memcpy({local.name}, {self.array(source)}, sizeof {local.name});"

    def put_back(self, to: Array, local: Array, n: int) -> str:
        """... and the other way round."""
        del n
        return f"memcpy({self.array(to)}, {local.name}, sizeof {local.name});"

    def same(self, local: Array, other: Array, n: int) -> str:
        """An expression: a local array is equal to one of the instance, bit by bit."""
        del n
        return f"memcmp({local.name}, {self.array(other)}, sizeof {local.name}) == 0"
