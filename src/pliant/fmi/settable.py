"""Values that a user gives to variables of an FMU before the start, checked against their types: numbers, truth values,
literals of enumerations, texts, arrays as a whole or by element."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from pliant.errors import ArgumentError, UnknownNameError
from pliant.fmi.description import FmuVariable
from pliant.fmi.layout import FmuLayout
from pliant.fmi.reading.values import LIMITS
from pliant.solve.names import suggestion

WHAT = {"parameters": "parameter", "start_values": "variable with a start value"}


class Settable:
    """Places of what may be set, by name: of one vector after the other."""

    def __init__(self, layout: FmuLayout, vectors: Sequence[str], texts: list[str]) -> None:
        self.layout = layout
        self.texts = texts
        self._first: dict[int, int] = {}
        at = 0
        for vector in vectors:
            one = layout.vectors[vector]
            for place, first in one.first.items():
                self._first[place] = at + first
            at += one.n

    def names(self) -> list[str]:
        """What there is."""
        return [self.layout.description.variables[place].name for place in self._first]

    def places(self, what: str, name: str, value: Any) -> list[tuple[int, float]]:
        """(place, number) of each element that is set. what: "parameters" or "start_values"."""
        variable, first, inside = self._find(what, name)
        place = self.layout.description.places[variable.name]
        shape = self.layout.shape(place)
        if inside is not None and variable.start_values(self.layout.size(place)) is None:
            raise ArgumentError(
                f"{what}: {name} is an element of an array whose other elements are not known",
                hint=f"give the whole array {variable.name}: its start values are not known, or of another size",
            )
        if not shape or inside is not None:
            return [(first + (inside or 0), self._number(what, name, variable, value))]
        try:
            given = np.asarray(value, dtype=object)
        except ValueError:  # ragged
            given = np.empty(0, dtype=object)
        if given.shape != shape:
            size = " x ".join(map(str, shape))
            raise ArgumentError(
                f"{what}[{name!r}] is an array of {size}, not of shape {given.shape}",
                hint=f"a list of {size} values, or elements by their names, {name}[{','.join('1' * len(shape))}], ...",
            )
        return [
            (first + k, self._number(what, f"{name}", variable, one)) for k, one in enumerate(given.ravel().tolist())
        ]

    def _find(self, what: str, name: str) -> tuple[FmuVariable, int, int | None]:
        """The variable, the place of its first element, and which element is meant (None: all)."""
        description = self.layout.description
        place = description.places.get(name)
        inside: int | None = None
        if place is None and name.endswith("]"):
            place, inside = self._element(name)
        if place is not None and place not in self._first:
            target = self.layout.aliases.get(description.variables[place].name)
            other = description.places.get(target[0]) if target else None
            place = other if other is not None and other in self._first else place
        if place is None:
            raise UnknownNameError(f"{what}: the FMU has no {WHAT[what]} {name!r}", hint=suggestion(name, self.names()))
        if place not in self._first:
            raise self._refused(what, name, description.variables[place])
        return description.variables[place], self._first[place], inside

    def _element(self, name: str) -> tuple[int | None, int | None]:
        array, _, rest = name[:-1].rpartition("[")
        place = self.layout.description.places.get(array)
        if place is None:
            return None, None
        shape = self.layout.shape(place)
        try:
            index = tuple(int(one) for one in rest.split(","))
        except ValueError:
            return None, None
        if len(index) != len(shape) or any(not 1 <= k <= n for k, n in zip(index, shape, strict=True)):
            raise ArgumentError(
                f"{name}: the array {array} has the shape {' x '.join(map(str, shape))}",
                hint=f"elements from {array}[{','.join('1' for _ in shape)}] to {array}[{','.join(map(str, shape))}]",
            )
        inside = 0
        for k, n in zip(index, shape, strict=True):
            inside = inside * n + k - 1
        return place, inside

    def _refused(self, what: str, name: str, one: FmuVariable) -> ArgumentError:
        """It exists, and cannot be set this way."""
        if one.variability == "constant":
            return ArgumentError(f"{what}: {name} is a constant of the FMU", hint="leave it out: it cannot be changed")
        if one.causality in ("parameter", "structuralParameter"):
            return ArgumentError(f"{what}: {name} is a parameter", hint=f"parameters={{{name!r}: ...}}")
        if one.causality == "input":
            return ArgumentError(f"{what}: {name} is an input", hint=f"inputs={{{name!r}: ...}}")
        if what == "parameters" and one.initial in ("exact", "approx"):
            return ArgumentError(
                f"parameters: {name} is no parameter, but it has a start value", hint=f"start_values={{{name!r}: ...}}"
            )
        if one.type in ("Binary", "Clock"):
            return ArgumentError(f"{what}: {name} is of type {one.type}, which cannot be set", hint="leave it out")
        return ArgumentError(
            f"{what}: {name} is calculated by the FMU",
            hint="set the parameters or start values that it is calculated from",
        )

    # -------------------------------------------------------------------------------------------- one value

    def _number(self, what: str, name: str, one: FmuVariable, value: Any) -> float:
        told = f"{what}[{name!r}]"
        if one.base == "string":
            return self._text(told, value)
        number = self._by_type(told, one, value)
        low, high = one.min, one.max
        if (low is not None and number < low) or (high is not None and number > high):
            bound = f"min = {low:g}" if low is not None and number < low else f"max = {high:g}"
            raise ArgumentError(f"{told} cannot be {number:g}: it has {bound}", hint="give a value within its range")
        return number

    def _text(self, told: str, value: Any) -> float:
        if not isinstance(value, str):
            raise ArgumentError(f"{told} must be a text, not {value!r}", hint="a string in quotes")
        if "\0" in value:
            raise ArgumentError(f"{told}: a text must not contain a null character", hint="leave it out")
        if value not in self.texts:
            self.texts.append(value)
        return float(self.texts.index(value) + 1)

    def _by_type(self, told: str, one: FmuVariable, value: Any) -> float:
        is_truth = isinstance(value, (bool, np.bool_))
        if one.base == "enumeration" and isinstance(value, str):
            items = self.layout.description.items_of(one)
            for item in items:
                if item.name == value:
                    return float(item.value)
            raise ArgumentError(
                f"{told}: {value!r} is no value of its enumeration",
                hint=suggestion(value, [item.name for item in items]),
            )
        if one.base == "boolean":
            if is_truth or (isinstance(value, (int, float, np.number)) and value in (0, 1)):
                return float(value)
            raise ArgumentError(f"{told} must be True or False, not {value!r}", hint="True, False, 0 or 1")
        if is_truth or not isinstance(value, (int, float, np.integer, np.floating)):
            raise ArgumentError(f"{told} must be a number, not {value!r}", hint="a number without quotes and units")
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            raise ArgumentError(f"{told} must be finite, not {number}", hint="give a finite number")
        if one.base == "real":
            if one.type == "Float32" and abs(number) > float(np.finfo(np.float32).max):
                raise ArgumentError(f"{told}: {number:g} is too large for a Float32", hint="a smaller number")
            return number
        exact = int(value) if isinstance(value, (int, np.integer)) else number
        return self._whole(told, one, number, exact)

    def _whole(self, told: str, one: FmuVariable, number: float, exact: float) -> float:
        if not number.is_integer():
            raise ArgumentError(f"{told} is {_article(one)} and cannot be {number:g}", hint="a whole number")
        low, high = LIMITS[one.type]
        if not low <= exact <= high:
            raise ArgumentError(f"{told}: {number:g} does not fit into an {one.type}", hint=f"from {low} to {high}")
        if number != exact != high:  # the largest is where conversion back ends
            raise ArgumentError(
                f"{told}: {exact} is not exact: values are kept as floating-point numbers",
                hint=f"a whole number up to {2**53}, or {int(number)}",
            )
        items = self.layout.description.items_of(one) if one.base == "enumeration" else ()
        if items and number not in {item.value for item in items}:
            raise ArgumentError(
                f"{told}: {number:g} is no value of its enumeration",
                hint=f"one of {', '.join(item.name for item in items)}",
            )
        return number


def _article(one: FmuVariable) -> str:
    return "an enumeration" if one.base == "enumeration" else "an Integer"
