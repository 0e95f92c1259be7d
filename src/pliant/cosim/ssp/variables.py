"""What is known about the variables of a component, whatever it is made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from math import prod
from typing import Protocol

from pliant.cosim.model_part import ModelPart
from pliant.errors import UnknownNameError
from pliant.fmi.description import FmuDescription, FmuUnit, FmuValue, FmuVariable
from pliant.solve.models.numeric import NumericModel


@dataclass(frozen=True)
class ComponentPort:
    """One variable of a component."""

    name: str
    _: KW_ONLY
    base: str  # real, integer, boolean, enumeration, string, binary or clock
    causality: str  # as FMI; "local" for what a model computes
    unit: FmuUnit | None = None
    shape: tuple[int, ...] = ()
    items: Mapping[str, int] = field(default_factory=dict)  # of an enumeration
    relative: bool = False  # a difference: units convert without offset
    start: FmuValue | tuple[FmuValue, ...] | None = None
    is_settable: bool = True
    is_constant: bool = False


class ComponentPorts(Protocol):
    """The variables of one component by name."""

    def find(self, name: str) -> ComponentPort | None:
        """One of them, also an element of an array."""

    def names(self) -> list[str]:
        """All names."""


class FmuPorts:
    """By the description of an FMU."""

    def __init__(self, description: FmuDescription, sizes: Mapping[int, int] = {}) -> None:
        self.description = description
        self.sizes = sizes  # values of structural parameters by their place, where they are not those of the start

    def resized(self, given: Mapping[str, object]) -> FmuPorts:
        """With the structural parameters among these values."""
        places, variables = self.description.places, self.description.variables
        sizes = {
            places[name]: value
            for name, value in given.items()
            if name in places and variables[places[name]].causality == "structuralParameter" and isinstance(value, int)
        }
        return FmuPorts(self.description, sizes) if sizes else self

    def _shape(self, one: FmuVariable) -> tuple[int, ...]:
        return self.description.shape_of(one, self.sizes)

    def find(self, name: str) -> ComponentPort | None:
        """A variable, one of its aliases, or an element of an array."""
        place = self.description.places.get(name)
        if place is not None:
            return self._made(name, self.description.variables[place], self._shape(self.description.variables[place]))
        array, bracket, rest = name.removesuffix("]").rpartition("[")
        place = self.description.places.get(array) if bracket and name.endswith("]") else None
        if place is None:
            return None
        one = self.description.variables[place]
        index = [word.strip() for word in rest.split(",")]
        shape = self._shape(one)
        fits = len(index) == len(shape) and all(word.isdigit() for word in index)
        if not fits or not all(1 <= int(word) <= n for word, n in zip(index, shape, strict=True)):
            return None
        starts = one.start_values(prod(shape))
        at = 0
        for word, n in zip(index, shape, strict=True):
            at = at * n + int(word) - 1
        return self._made(name, one._replace(start=None if starts is None else starts[at]), ())

    def _made(self, name: str, one: FmuVariable, shape: tuple[int, ...]) -> ComponentPort:
        unit = self.description.units.get(one.unit, FmuUnit(one.unit)) if one.unit else None
        return ComponentPort(
            name,
            base=one.base,
            causality=one.causality,
            unit=unit,
            shape=shape,
            items={item.name: item.value for item in self.description.items_of(one)},
            relative=one.relative_quantity,
            start=one.start_values(prod(shape))
            if shape
            else one.start
            if not isinstance(one.start, tuple)
            else one.start[0],
            is_settable=one.is_settable,
            is_constant=one.variability == "constant",
        )

    def names(self) -> list[str]:
        """All names."""
        return list(self.description.places)


class ModelPorts:
    """Those of a model that is no FMU."""

    def __init__(self, numeric: NumericModel) -> None:
        self._part = ModelPart("", numeric)
        self._numeric = numeric

    def find(self, name: str) -> ComponentPort | None:
        """A variable."""
        try:
            port = self._part.port(name)
        except UnknownNameError:
            return None
        info = self._numeric.known.variables[name]
        causality = {"input": "input", "parameter": "parameter"}.get(info.kind, "local")
        unit = FmuUnit(port.unit) if port.unit else None
        return ComponentPort(
            name,
            base=port.type,
            causality=causality,
            unit=unit,
            start=port.start,
            is_constant=port.causality == "constant" and causality == "local",
        )

    def names(self) -> list[str]:
        """All names."""
        return list(self._numeric.known.variables)
