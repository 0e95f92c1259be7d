"""What is known of each variable of an FMU, described when it is asked for: there may be hundreds of thousands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import cast

from pliant.fmi.description import FmuItem, FmuVariable, element_names
from pliant.fmi.layout import FmuLayout
from pliant.solve.results.result import VariableInfo, VariableKind, VariableType

KINDS: dict[str, VariableKind] = {"x": "state", "u": "input", "p": "parameter", "y": "output"}


class FmuVariables(Mapping[str, VariableInfo]):
    """Name, of arrays that of an element -> what is known."""

    def __init__(self, layout: FmuLayout) -> None:
        self._layout = layout

    @cached_property
    def _kinds(self) -> dict[int, VariableKind]:
        return {place: kind for vector, kind in KINDS.items() for place in self._layout.vectors[vector].places}

    @cached_property
    def _elements(self) -> dict[str, tuple[int, int]]:
        """XmlElement of an array -> place of the array, number of the element."""
        found = {}
        for place, one in enumerate(self._layout.description.variables):
            if one.dimensions and _is_shown(one):
                for k, name in enumerate(element_names(one.name, self._layout.shape(place))):
                    found[name] = (place, k)
        return found

    def __getitem__(self, name: str) -> VariableInfo:
        description = self._layout.description
        place = description.places.get(name)
        if place is not None and not description.variables[place].dimensions:
            one = description.variables[place]
            if one.name == name and _is_shown(one):
                return self._info(name, place, 0)
        return self._info(name, *self._elements[name])

    def __iter__(self) -> Iterator[str]:
        for place, one in enumerate(self._layout.description.variables):
            if _is_shown(one):
                yield from element_names(one.name, self._layout.shape(place)) if one.dimensions else (one.name,)

    def __len__(self) -> int:
        shown = sum(_is_shown(one) and not one.dimensions for one in self._layout.description.variables)
        return shown + len(self._elements)

    def types(self) -> dict[str, VariableType]:
        """Of the variables that are not Real."""
        found = {}
        for place, one in enumerate(self._layout.description.variables):
            if one.base != "real" and _is_shown(one):
                found.update(
                    dict.fromkeys(element_names(one.name, self._layout.shape(place)), cast(VariableType, one.base))
                )
        return found

    def _info(self, name: str, place: int, element: int) -> VariableInfo:
        description = self._layout.description
        one = description.variables[place]
        starts = one.start_values(self._layout.size(place))
        items = description.items_of(one)
        is_number = one.base != "string" and starts is not None
        return VariableInfo(
            name,
            kind=self._kind(one, place),
            unit=one.unit,
            description=one.description,
            start=float(starts[element]) if is_number and starts is not None else None,
            nominal=one.nominal,
            min=one.min,
            max=one.max,
            type=cast(VariableType, one.base),
            literals=tuple(item.name for item in items) if numbered(items) else (),
        )

    def _kind(self, one: FmuVariable, place: int) -> VariableKind:
        kind = self._kinds.get(place)
        if kind is None:
            if one.causality == "output":
                return "output"
            is_fixed = one.causality.endswith("arameter") or one.variability == "constant"
            return "parameter" if is_fixed else "algebraic"
        return "algebraic" if kind == "output" and one.causality != "output" else kind


def _is_shown(one: FmuVariable) -> bool:
    return one.causality != "independent" and one.type not in ("Binary", "Clock")


def numbered(items: Sequence[FmuItem]) -> bool:
    """Are the values of an enumeration 1, 2, ...?"""
    return bool(items) and [item.value for item in items] == list(range(1, len(items) + 1))
