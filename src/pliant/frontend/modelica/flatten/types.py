"""Types of flat models for classes, variables and values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.errors import ModelError
from pliant.frontend.flat.expressions import NONE
from pliant.frontend.flat.shapes import TypeMismatch, described, unified
from pliant.frontend.flat.types import (
    BOOLEAN,
    CLOCK,
    INTEGER,
    REAL,
    STRING,
    BaseType,
    EnumerationType,
    RecordField,
    RecordType,
    Shape,
    Type,
)
from pliant.frontend.modelica.flatten.context import Context
from pliant.frontend.modelica.instances.classes import ClassUse, Core
from pliant.frontend.modelica.instances.components import ABSENT, Many, Var
from pliant.frontend.modelica.instances.inst import Inst
from pliant.frontend.modelica.instances.mods import Bound
from pliant.frontend.modelica.problems import problem
from pliant.frontend.modelica.syntax import tree
from pliant.frontend.modelica.values.data import EnumValue, RecordValue

if TYPE_CHECKING:
    from pliant.frontend.flat.build import FlatBuilder
    from pliant.frontend.modelica.flatten.translate import Translator

_BASES = {
    "Real": REAL,
    "Integer": INTEGER,
    "Boolean": BOOLEAN,
    "String": STRING,
    "Clock": CLOCK,
    "ExternalObject": Type(BaseType.OBJECT),
}


class Types:
    """Numbers of records and enumerations, made when they are met."""

    def __init__(self, builder: FlatBuilder) -> None:
        self.builder = builder
        self.enumerations: dict[Any, Type] = {}
        self.classes: dict[Any, Type] = {}
        self.records: dict[Any, int] = {}
        self.objects: dict[Any, int] = {}  # classes of external objects

    def primitive(self, core: Core, of: ClassUse | None = None) -> Type:
        """The type of a primitive class; `of`: the class that extends it, by which external objects differ."""
        if core.builtin == "ExternalObject" and of is not None:
            return Type(BaseType.OBJECT, (), self.objects.setdefault(of.core.entry, len(self.objects)))
        if core.builtin:
            return _BASES[core.builtin]
        entry = core.entry
        found = self.enumerations.get(entry)
        if found is None:
            literals = tuple(one.name.strip("'") for one in entry.definition.literals or ())  # type: ignore[attr-defined]
            number = self.builder.enumeration(EnumerationType(entry.full_name, literals))
            found = self.enumerations[entry] = Type(BaseType.ENUMERATION, (), number)
        return found

    def of_var(self, var: Var) -> Type:
        """The type of a variable."""
        return self.primitive(var.primitive, var.cls).sized(var.shape)

    def of_class(self, cls: ClassUse) -> Type:
        """The type of one element of a class, without its dimensions."""
        primitive = cls.primitive
        if primitive is not None:
            return self.primitive(primitive, cls)
        found = self.classes.get(cls)
        if found is None:
            found = self.classes[cls] = self.of_inst(cls.instance)
        return found

    def of_inst(self, inst: Inst) -> Type:
        """The type of a record."""
        fields: list[RecordField] = []
        for name in field_names(inst):
            thing = inst.child(name)
            if thing is not ABSENT:
                fields.append(RecordField(name, self._field(thing)))
        return self._record(RecordType(inst.cls.name, tuple(fields)))

    def _field(self, thing: Any) -> Type:
        if isinstance(thing, Var):
            base = self.primitive(thing.primitive, thing.cls)
            try:
                return base.sized(thing.shape)
            except ModelError:
                return base.sized((None,) * len(thing.dims))
        if isinstance(thing, Many):
            inner = self.of_inst(thing.elements[0]) if thing.elements else self.of_class(thing.cls)
            return inner.sized((*thing.shape, *inner.shape))
        return self.of_inst(thing)

    def _record(self, record: RecordType) -> Type:
        number = self.records.get(record)
        if number is None:
            number = self.records[record] = self.builder.record(record)
        return Type(BaseType.RECORD, (), number)

    def of_value(self, value: Any) -> Type:
        """The type of a value."""
        if isinstance(value, np.ndarray):
            shape: Shape = value.shape
            if value.dtype == object:
                inner = self.of_value(value.flat[0]) if value.size else REAL
                return inner.sized((*shape, *inner.shape))
            kind = value.dtype.kind
            return (BOOLEAN if kind == "b" else INTEGER if kind in "iu" else REAL).sized(shape)
        if isinstance(value, bool):
            return BOOLEAN
        if isinstance(value, int):
            return INTEGER
        if isinstance(value, str):
            return STRING
        if isinstance(value, EnumValue):
            return self.primitive(value.cls)
        if isinstance(value, RecordValue):
            fields = tuple(RecordField(k, self.of_value(v)) for k, v in value.fields.items())
            return self._record(RecordType(value.cls.name, fields))
        return REAL


def field_names(inst: Inst) -> list[str]:
    """Names of the fields of a record in order."""
    return [name for name, one in inst.table.elements.items() if not one.is_class]


def check_outputs(out: Translator, targets: Sequence[int], call: int, at: tree.Node, context: Context) -> None:
    """Variables on the left of a call take what its outputs are declared to be (8.3.1, 11.2.1.1)."""
    outputs = out.builder.functions[out.type(call).number].outputs
    for k, (e, output) in enumerate(zip(targets, outputs, strict=False), 1):
        if e == NONE:
            continue
        try:
            if out.type(e).base is BaseType.INTEGER and output.type.base is BaseType.REAL:
                raise TypeMismatch("an Integer is set, and a Real is given")
            unified(out.type(e), output.type, "both sides")
        except TypeMismatch as mismatch:
            text = f"`{' '.join(at.text.split())[:70]}`: output {k}, `{output.name}`: {mismatch}"
            hint = "declare the variable as the output of the function is declared"
            raise problem(text, at, path=context.path, rule="12.4.3", hint=hint) from None


def check_value(out: Translator, name: str, of: Type, e: int, binding: Bound) -> None:
    """The value of a declaration has its type and size (10.6, 4.9.2); `each` gives one to every element."""
    given = out.type(e)
    wanted = of.element if not given.shape and of.shape and binding.template.each else of
    where = binding.scope.inst.path
    assert binding.value is not None
    try:
        unified(wanted, given, f"`{name}` and its value")
    except TypeMismatch as mismatch:
        hint = f"it is {described(of)}"
        raise problem(str(mismatch), binding.value, path=where, rule="10.6", hint=hint) from None
    if of.base is BaseType.INTEGER and given.base is BaseType.REAL:
        raise problem(f"`{name}` is an Integer, its value is a Real", binding.value, path=where, rule="10.6")
