"""Types of flat models for classes, variables and values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.errors import ModelError
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
from pliant.frontend.modelica.instances.classes import ClassUse, Core
from pliant.frontend.modelica.instances.components import ABSENT, Many, Var
from pliant.frontend.modelica.instances.inst import Inst
from pliant.frontend.modelica.values.data import EnumValue, RecordValue

if TYPE_CHECKING:
    from pliant.frontend.flat.build import FlatBuilder

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

    def primitive(self, core: Core) -> Type:
        """The type of a primitive class."""
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
        return self.primitive(var.primitive).sized(var.shape)

    def of_class(self, cls: ClassUse) -> Type:
        """The type of one element of a class, without its dimensions."""
        primitive = cls.primitive
        if primitive is not None:
            return self.primitive(primitive)
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
            base = self.primitive(thing.primitive)
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
