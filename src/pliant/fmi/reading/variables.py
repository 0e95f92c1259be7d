"""What reading variables has in common in FMI 2 and FMI 3.

There may be hundreds of thousands: what most variables do not have is not asked for one by one, and equal words are
kept once.
"""

from __future__ import annotations

from typing import Any

from pliant.errors import FmuError
from pliant.fmi.description import FmuType, FmuVariable
from pliant.fmi.reading.values import (
    REPAIR,
    Findings,
    Ranged,
    as_bool,
    as_float,
    as_int,
    checked_range,
    reference_of,
    role_of,
)
from pliant.fmi.reading.xml import Stream, refused, shortened

#: fields of FmuVariable from `unit` to `reinit` where nothing is given, but for the description; see `_described`
NOTHING: tuple[Any, ...] = ("", "", None, None, None, "", "", False, False, False)
MOST_ALIKE = 10_000
REALS = ("Float64", "Float32")
MULTIPLE = "canHandleMultipleSetPerTimeInstant"
#: type to initial; unit to quantity; declared type to aliases; must there be a start value?
Template = tuple[tuple[str, ...], tuple[Any, ...], tuple[Any, ...], bool]
new = tuple.__new__


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
        self._templates: dict[tuple[str | None, ...], Template] = {}
        self._words: dict[str, str] = {"": ""}  # one copy of units, quantities and the like
        self._given: dict[str, str] | None = None  # attributes of the variable that is being read
        self._name = ""
        self._line = 0

    def place_of(self, number: int) -> int | None:
        """Place of the variable with an index or value reference; None: there is none."""
        raise NotImplementedError

    def _place(self) -> str:
        """The element, for messages."""
        raise NotImplementedError

    def _linked(self, place: int, type_: str, given: dict[str, str]) -> bool:
        """Keep references to other variables until those are known; False: there are none."""
        raise NotImplementedError

    def _add(self, name: str, reference: str, text: tuple[str, Any], template: Template, line: int) -> None:
        """Enter a variable; ``text``: description and start value."""
        variables, (description, start) = self.variables, text
        if not name or not reference:
            what = "valueReference" if name else "name"
            raise refused(f"attribute {what} is missing", element=self._place(), line=line, hint=REPAIR)
        if self.places.setdefault(name, len(variables)) != len(variables):
            raise self._twice(name)
        if len(reference) < 10 and reference.isdecimal():
            number = int(reference)
        else:
            number = reference_of(reference, "valueReference", self._place(), line)
        before, middle, after, needs_start = template
        if start is None:
            if needs_start:
                self._warn("a start value is missing", "it needs a start value and has none: the FMU's own holds")
        elif start != start:  # noqa: PLR0124  (faster than isnan)
            self._warn("a start value is NaN", "start is NaN")
        variables.append(new(FmuVariable, (name, number, *before, start, *middle, description, *after, line)))

    def _template(
        self, type_: str, given: dict[str, str], more: dict[str, str], start: object, key: tuple[str | None, ...]
    ) -> Template:
        """The fields of a variable but for name, reference, start, description and line.

        Most variables have the same attributes as others before, so this is kept under their ``key``, unless there is
        something to be said about it, or to be compared with each start value.
        """
        n = self._findings.n
        causality, variability, initial = self._role(given, type_)
        has_links = self._linked(len(self.variables), type_, more)
        own = self._described(type_, more, start) if more else NOTHING
        multiple = MULTIPLE not in given or self._truth(given, MULTIPLE)
        update = "intermediateUpdate" in given and self._truth(given, "intermediateUpdate")
        made = (
            (type_, causality, variability, initial),
            own[:6],
            (*own[6:], multiple, update, None, None, (), (), ()),
            type_ != "Clock" and (causality == "input" or initial in ("exact", "approx")),
        )
        is_clean = own[3] is own[4] is None and self._findings.n == n and not has_links
        if is_clean and len(self._templates) < MOST_ALIKE:
            self._templates[key] = made
        return made

    def _role(self, given: dict[str, str], type_: str) -> tuple[str, str, str]:
        key = given.get("causality"), given.get("variability"), given.get("initial")
        found = role_of(key, type_ in REALS, self.version)
        if isinstance(found, str):
            raise refused(found, element=self._place(), line=self._line, hint=REPAIR)
        for text in found.wrong:
            self._warn("causality, variability or initial", text)
        return found.causality, found.variability, found.initial

    def _described(self, type_: str, given: dict[str, str], start: object) -> tuple[Any, ...]:
        """unit, display unit, nominal, min, max, quantity, declared type, relative quantity, unbounded, reinit."""
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
