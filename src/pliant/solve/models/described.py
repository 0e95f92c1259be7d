"""What a ``pl_model`` says about its variables: start values, typical sizes, bounds, units, types."""

from __future__ import annotations

import math
from typing import cast

from pliant.solve.binding import runtime
from pliant.solve.models.contract import text_of
from pliant.solve.models.known import Names
from pliant.solve.results.result import VariableInfo, VariableKind, VariableType


def described(struct: runtime.ModelStruct, names: Names) -> dict[str, VariableInfo]:
    """Every variable by name; what is not declared is left out."""
    out: dict[str, VariableInfo] = {}
    kinds: dict[str, VariableKind] = {"x": "state", "u": "input", "p": "parameter", "y": "output"}
    for letter, kind in kinds.items():
        listed: tuple[str, ...] = getattr(names, letter)
        numbers = {one: _numbers(struct, f"{letter}_{one}", len(listed)) for one in ("start", "nominal", "min", "max")}
        if numbers["start"] is None and letter != "y":
            numbers["start"] = [0.0] * len(listed)
        types, units = getattr(struct, f"{letter}_type", None), getattr(struct, f"{letter}_unit")
        declared = runtime.int8_at(types, len(listed)) if types else [0] * len(listed)
        for i, name in enumerate(listed):
            values = {one: None if found is None else found[i] for one, found in numbers.items()}
            if not values["nominal"]:
                values["nominal"] = None  # 0: not entered
            bounds = {one: None if math.isinf(values[one] or 0.0) else values[one] for one in ("min", "max")}
            out[name] = VariableInfo(
                name,
                kind="algebraic" if name in names.algebraic else kind,
                unit=text_of(units[i], f"{letter}_unit[{i}]", name) if units and units[i] else "",
                start=values["start"],
                nominal=values["nominal"],
                min=bounds["min"],
                max=bounds["max"],
                type=cast(VariableType, runtime.TYPES[int(declared[i])]),
            )
    return out


def _numbers(struct: runtime.ModelStruct, field: str, count: int) -> list[float] | None:
    place = getattr(struct, field, None)
    return [float(value) for value in runtime.doubles_at(place, count)] if place and count else None
