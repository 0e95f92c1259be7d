"""What reading variables has in common in FMI 2 and FMI 3.

There may be hundreds of thousands: what most variables do not have is not asked for one by one, and equal words are
kept once.
"""

from __future__ import annotations

import math
from typing import Any

from pliant.errors import FmuError
from pliant.fmi.description import FmuType, FmuVariable
from pliant.fmi.values import (
    REPAIR,
    Findings,
    Ranged,
    Role,
    as_bool,
    as_float,
    as_int,
    checked_range,
    reference_of,
    role_of,
)
from pliant.fmi.xml import Stream, refused, shortened

#: fields of FmuVariable from `unit` to `reinit` where nothing is given, but for the description; see `_described`
NOTHING: tuple[Any, ...] = ("", "", None, None, None, "", "", False, False, False)
MOST_ALIKE = 10_000
REALS = ("Float64", "Float32")
RoleKey = tuple[str | None, str | None, str | None, str]


class VariableReader(Stream):
    """A stream of variables. Links between variables are kept as written, until all are known: see `links`."""

    own = "ModelVariables"
    version = 0
    said = ""  # what links are: "index" or "value reference"

    def __init__(self, types: dict[str, FmuType], findings: Findings) -> None:
        self.variables: list[FmuVariable] = []
        self.places: dict[str, int] = {}
        self.units_used: dict[str, int] = {}
        self.derivatives: list[tuple[int, int]] = []  # place, number of the state
        self._types = types
        self._findings = findings
        self._roles: dict[RoleKey, Role] = {}
        self._alike: dict[tuple[Any, ...], tuple[Any, ...]] = {}  # what was described the same way before
        self._words: dict[str, str] = {"": ""}  # one copy of units, quantities and the like
        self._given: dict[str, str] | None = None  # attributes of the variable that is being read
        self._line = 0

    def place_of(self, number: int) -> int | None:
        """Place of the variable with an index or value reference; None: there is none."""
        raise NotImplementedError

    def _place(self) -> str:
        """The element, for messages."""
        raise NotImplementedError

    def _named(self, given: dict[str, str]) -> tuple[str, int]:
        """Name and value reference, checked."""
        name, text = given.get("name"), given.get("valueReference")
        if not name or text is None:
            what = "valueReference" if name else "name"
            raise refused(f"attribute {what} is missing", element=self._place(), line=self._line, hint=REPAIR)
        if name in self.places:
            raise self._twice(name)
        if len(text) < 10 and text.isdecimal():
            return name, int(text)
        return name, reference_of(text, "valueReference", self._place(), self._line)

    def _role(self, given: dict[str, str], type_: str) -> Role:
        key = given.get("causality"), given.get("variability"), given.get("initial"), type_
        found = self._roles.get(key)
        if found is None:
            made = role_of(key[:3], type_ in REALS, self.version)
            if isinstance(made, str):
                raise refused(made, element=self._place(), line=self._line, hint=REPAIR)
            found = self._roles[key] = made
        if found.wrong:
            for text in found.wrong:
                self._warn("causality, variability or initial", text)
        return found

    def _check_start(self, start: object, role: Role) -> None:
        """Is there one where one is needed, and is it a number?"""
        if start is None:
            if role.causality == "input" or role.initial in ("exact", "approx"):
                self._warn("a start value is missing", "it needs a start value and has none: the FMU's own holds")
        elif isinstance(start, float) and math.isnan(start):
            self._warn("a start value is NaN", "start is NaN")

    def _described(self, type_: str, given: dict[str, str], start: object) -> tuple[Any, ...]:
        """unit, display unit, nominal, min, max, quantity, declared type, relative quantity, unbounded, reinit."""
        key = (type_, *given.items())
        found = self._alike.get(key)
        if found is None:
            n = self._findings.n
            found = self._described_first(type_, given, start)
            is_clean = found[3] is found[4] is None and self._findings.n == n  # ranges are compared with each start
            if is_clean and len(self._alike) < MOST_ALIKE:
                self._alike[key] = found
        return found

    def _described_first(self, type_: str, given: dict[str, str], start: object) -> tuple[Any, ...]:
        get, line = given.get, self._line
        unit, nominal = self._word(get("unit", "")), get("nominal")
        if unit:
            self.units_used.setdefault(unit, line)
        low, high = self._bound("min", get("min"), type_), self._bound("max", get("max"), type_)
        size = as_float(nominal, "nominal", self._place(), line) if nominal and type_ in REALS else None
        quantity, display = self._word(get("quantity", "")), self._word(get("displayUnit", ""))
        relative, unbounded = self._truth(given, "relativeQuantity"), self._truth(given, "unbounded")
        declared = self._declared(given["declaredType"], type_) if "declaredType" in given else None
        name = ""
        if declared is not None:
            name = declared.name
            unit, display, quantity = (
                unit or declared.unit,
                display or declared.display_unit,
                quantity or declared.quantity,
            )
            low = declared.min if low is None else low
            high = declared.max if high is None else high
            size = declared.nominal if size is None else size
            relative = relative if "relativeQuantity" in given else declared.relative_quantity
            unbounded = unbounded if "unbounded" in given else declared.unbounded
        if low is not None or high is not None or size is not None:
            low, high, size = checked_range(Ranged(low, high, size), start, self._findings, self._place, line)
        return unit, display, size, low, high, quantity, name, relative, unbounded, self._truth(given, "reinit")

    def _bound(self, name: str, text: str | None, type_: str) -> float | int | None:
        if not text or type_ in ("Boolean", "String", "Binary", "Clock"):
            return None
        return (as_float if type_ in REALS else as_int)(text, name, self._place(), self._line)

    def _truth(self, given: dict[str, str], name: str) -> bool:
        return name in given and as_bool(given[name], name, self._place(), self._line)

    def _word(self, text: str) -> str:
        return self._words.setdefault(text, text)

    def _empty_start(self) -> None:
        self._warn("a start value is empty", "start is empty; ignored")

    def _declared(self, name: str, type_: str) -> FmuType | None:
        found = self._types.get(name)
        if found is None or found.type != type_:
            what = "does not exist" if found is None else f"is of type {found.type}, not {type_}"
            self._warn("a declared type cannot be used", f"declared type {shortened(name)!r} {what}; ignored")
            return None
        return found

    def _warn(self, kind: str, text: str) -> None:
        self._findings.warn(kind, text, self._place, line=self._line)

    def _twice(self, name: str) -> FmuError:
        other = self.variables[self.places[name]].line
        return refused(
            f"the name {shortened(name)!r} is used twice, also in line {other}",
            element=self._place(),
            line=self._line,
            hint="names must be unique: " + REPAIR,
        )
