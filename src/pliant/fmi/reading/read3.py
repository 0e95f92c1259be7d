"""modelDescription.xml of FMI 3.0 to typed data."""

from __future__ import annotations

from math import prod
from typing import Any

from pliant.fmi.description import BASE_TYPES, MOST_ELEMENTS, FmuAlias, FmuDimension, FmuInterface, FmuType, FmuVariable
from pliant.fmi.reading.parts import add_type, read_type
from pliant.fmi.reading.structure import StructureReader
from pliant.fmi.reading.values import (
    REPAIR,
    Attributes,
    Findings,
    as_float,
    as_int,
    as_start,
    reference_of,
    references_of,
)
from pliant.fmi.reading.variables import REALS, Template, VariableReader
from pliant.fmi.reading.xml import SKIPPED, XmlElement, refused, shortened

LISTS = {
    "Output": "outputs",
    "ContinuousStateDerivative": "derivatives",
    "ClockedState": "discrete_states",
    "InitialUnknown": "initial_unknowns",
    "EventIndicator": "event_indicators",
}
LINKS = frozenset({"derivative", "previous", "clocks"})


def read_types(root: XmlElement, findings: Findings) -> dict[str, FmuType]:
    """TypeDefinitions: Float64Type and so on."""
    found: dict[str, FmuType] = {}
    for group in root.all("TypeDefinitions"):
        for one in group.children:
            type_ = one.name.removesuffix("Type")
            if one.name.endswith("Type") and type_ in BASE_TYPES:
                add_type(found, read_type(one, one, type_, findings), str(one), findings)
            else:
                findings.warn("a type is not known", "FMI 3 has no such type; ignored", str(one), line=one.line)
    return found


def read_interface(element: XmlElement, kind: str, findings: Findings) -> FmuInterface:
    """ModelExchange, CoSimulation or ScheduledExecution."""
    given = Attributes(element, findings)
    internal = given.number("fixedInternalStepSize")
    if internal is not None and not 0 < internal < float("inf"):
        given.warn("an internal step is not positive", f"fixedInternalStepSize={internal} is ignored")
        internal = None
    return FmuInterface(
        kind,  # type: ignore[arg-type]
        given.required("modelIdentifier"),
        needs_execution_tool=given.truth("needsExecutionTool"),
        once_per_process=given.truth("canBeInstantiatedOnlyOncePerProcess"),
        can_save_state=given.truth("canGetAndSetFMUState"),
        can_serialize_state=given.truth("canSerializeFMUState"),
        directional_derivatives=given.truth("providesDirectionalDerivatives"),
        adjoint_derivatives=given.truth("providesAdjointDerivatives"),
        per_element_dependencies=given.truth("providesPerElementDependencies"),
        needs_completed_step=given.truth("needsCompletedIntegratorStep"),
        evaluates_discrete_states=given.truth("providesEvaluateDiscreteStates"),
        variable_step=given.truth("canHandleVariableCommunicationStepSize"),
        output_derivatives=given.whole("maxOutputDerivativeOrder", 0),
        internal_step=internal,
        input_smoothness=given.whole("recommendedIntermediateInputSmoothness", 0),
        intermediate_update=given.truth("providesIntermediateUpdate"),
        early_return_of_its_own=given.truth("mightReturnEarlyFromDoStep"),
        early_return=given.truth("canReturnEarlyAfterIntermediateUpdate"),
        has_event_mode=given.truth("hasEventMode"),
        line=element.line,
    )


class Variables3(VariableReader):
    """ModelVariables: an element for each variable, named by its type; in it dimensions, long start values, aliases."""

    version = 3
    said = "value reference"

    def __init__(self, types: dict[str, FmuType], findings: Findings) -> None:
        super().__init__(types, findings)
        self.intervals: dict[int, str] = {}  # place of a clock -> intervalVariability
        self._by_reference: dict[int, int] = {}
        self._type = ""
        self._sizes: list[tuple[int | None, int | None]] = []  # of the variable being read: constant or reference
        self._starts: list[str] = []
        self._aliases: list[FmuAlias] = []
        self._arrays: dict[int, tuple[tuple[int | None, int | None], ...]] = {}  # place -> sizes
        self._previous: list[tuple[int, int]] = []
        self._clocks: list[tuple[int, tuple[int, ...]]] = []

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """A variable, or something inside one."""
        if self._given is None:
            if name in BASE_TYPES:
                self._given, self._name, self._type, self._line = attributes, "", name, self.parser.CurrentLineNumber
                return
            if name not in SKIPPED and name != self.own:
                raise refused(
                    "FMI 3 has no such type of variables",
                    element=f"{shortened(name)} {shortened(attributes.get('name', ''))!r}",
                    line=self.line(),
                    hint=REPAIR,
                )
            self.other(name)
        elif name == "Dimension":
            self._sizes.append(self._dimension(attributes, self.line()))
        elif name == "Start":
            self._starts.append(attributes.get("value", ""))
        elif name == "Alias":
            if not attributes.get("name"):
                raise refused("an alias has no name", element=self._place(), line=self.line(), hint=REPAIR)
            self._aliases.append(
                FmuAlias(attributes["name"], attributes.get("description", ""), attributes.get("displayUnit", ""))
            )
        else:
            self.other(name)

    def end(self, name: str) -> None:
        """A variable is complete."""
        if name == self._type and self._given is not None:
            self._take(self._type, self._given)
            self._given = None
            if self._sizes or self._starts or self._aliases:
                self._sizes, self._starts, self._aliases = [], [], []
        elif name == "ModelVariables":
            self.left()

    def place_of(self, number: int) -> int | None:
        """By value reference, which are unique in FMI 3."""
        return self._by_reference.get(number)

    def _place(self) -> str:
        return f"{self._type} {shortened((self._given or {}).get('name', self._name))!r}"

    def _dimension(self, given: dict[str, str], line: int) -> tuple[int | None, int | None]:
        size, reference = given.get("start"), given.get("valueReference")
        if (size is None) == (reference is None):
            raise refused(
                "a dimension needs either start or valueReference", element=self._place(), line=line, hint=REPAIR
            )
        if reference is not None:
            return None, reference_of(reference, "valueReference", self._place(), line)
        number = as_int(size or "", "start of a dimension", self._place(), line)
        if not 0 <= number <= MOST_ELEMENTS:
            raise refused(
                f"a dimension of {number} is outside 0 .. {MOST_ELEMENTS}",
                element=self._place(),
                line=line,
                hint=REPAIR,
            )
        return number, None

    def _take(self, type_: str, given: dict[str, str]) -> None:
        """A variable from its attributes."""
        pop, place = given.pop, len(self.variables)
        self._name = name = pop("name", "")
        reference, description, text = pop("valueReference", ""), pop("description", ""), pop("start", None)
        start = None if text is None and not self._starts else self._start(type_, text)
        key = (type_, *given, *given.values())
        template = self._templates.get(key) or self._template(type_, given, given, start, key)
        if self._sizes or self._aliases:
            template = self._special(name, place, template)
        self._add(name, reference, (description, start), template, self._line)
        number = self.variables[place].reference
        if self._by_reference.setdefault(number, place) != place:
            other = self.variables[self._by_reference[number]]
            raise refused(
                f"value reference {number} is also that of {shortened(other.name)!r} in line {other.line}",
                element=self._place(),
                line=self._line,
                hint="value references are unique in FMI 3: " + REPAIR,
            )

    def _special(self, name: str, place: int, template: Template) -> Template:
        """Dimensions and aliases."""
        if self._sizes:
            self._arrays[place] = tuple(self._sizes)
        for alias in self._aliases:
            if alias.name == name:
                raise self._own_alias(name)
            if self.places.setdefault(alias.name, place) != place:
                raise self._twice(alias.name)
        before, middle, after, needs_start = template
        return before, middle, (*after[:-1], tuple(self._aliases)), needs_start

    def _own_alias(self, name: str) -> Exception:
        return refused(
            f"{shortened(name)!r} is an alias of itself", element=self._place(), line=self._line, hint=REPAIR
        )

    def _linked(self, place: int, type_: str, given: dict[str, str]) -> bool:
        """Keep references to other variables until those are known."""
        if "derivative" in given:
            number = reference_of(given["derivative"], "derivative", self._place(), self._line)
            self.derivatives.append((place, number))
        if "previous" in given:
            self._previous.append((place, reference_of(given["previous"], "previous", self._place(), self._line)))
        if "clocks" in given:
            self._clocks.append((place, references_of(given["clocks"], "clocks", self._place(), self._line)))
        if type_ == "Clock":
            self.intervals[place] = given.get("intervalVariability", "")
        return type_ == "Clock" or not LINKS.isdisjoint(given)

    def _start(self, type_: str, text: str | None) -> Any:
        line = self._line
        if type_ in ("String", "Binary"):
            values = [as_start(one, type_, self._place(), line) for one in self._starts]
            if not values and text is not None:
                values = [as_start(text, type_, self._place(), line)]
                self._warn("a start value is an attribute", f"start values of a {type_} are elements, not an attribute")
        elif text is None:
            return None
        elif not self._sizes and text and type_ in REALS:
            return as_float(text, "start", self._place(), line)
        else:
            values = [as_start(one, type_, self._place(), line) for one in text.split()]
            if not values:
                return self._empty_start()
        if self._sizes:
            return tuple(values) or None
        if len(values) > 1:
            raise refused(f"{len(values)} start values for a scalar", element=self._place(), line=line, hint=REPAIR)
        return values[0] if values else None

    # ------------------------------------------------------------------------------------- when all are known

    def close(self) -> None:
        """Relate variables to each other."""
        total = 0
        for place, sizes in self._arrays.items():
            one = self.variables[place]
            dimensions = tuple(self._resolved(one, *size) for size in sizes)
            n = prod(size.size for size in dimensions)
            total += n
            if total > MOST_ELEMENTS:
                raise refused(
                    f"arrays have more than {MOST_ELEMENTS} elements in all",
                    element=f"{one.type} {shortened(one.name)!r}",
                    line=one.line,
                    hint="set structural parameters to smaller start values in modelDescription.xml",
                )
            start = one.start
            if isinstance(start, tuple) and len(start) not in (1, n):
                raise refused(
                    f"{len(start)} start values for {n} elements",
                    element=f"{one.type} {shortened(one.name)!r}",
                    line=one.line,
                    hint=REPAIR,
                )
            self.variables[place] = one._replace(dimensions=dimensions)
        for place, number in self._previous:
            previous = self._other(place, number, "previous")
            self.variables[place] = self.variables[place]._replace(previous=previous)
        for place, numbers in self._clocks:
            clocks = tuple(self._other(place, number, "clocks") for number in numbers)
            self.variables[place] = self.variables[place]._replace(clocks=clocks)

    def _other(self, place: int, number: int, attribute: str) -> int:
        found, one = self.place_of(number), self.variables[place]
        if found is None:
            raise refused(
                f"{attribute}: there is no variable with value reference {number}",
                element=f"{one.type} {shortened(one.name)!r}",
                line=one.line,
                hint=REPAIR,
            )
        return found

    def _resolved(self, one: FmuVariable, size: int | None, reference: int | None) -> FmuDimension:
        if size is not None:
            return FmuDimension(size)
        found = self.place_of(reference or 0)
        other = None if found is None else self.variables[found]
        is_size = other is not None and other.base == "integer" and isinstance(other.start, int)
        if other is None or found is None or not is_size or other.causality != "structuralParameter":
            raise refused(
                f"its dimension is value reference {reference}, which is no structural parameter with a start value",
                element=f"{one.type} {shortened(one.name)!r}",
                line=one.line,
                hint=REPAIR,
            )
        assert isinstance(other.start, int)
        if not 0 <= other.start <= MOST_ELEMENTS:
            raise refused(
                f"its dimension {shortened(other.name)!r} starts at {other.start}, outside 0 .. {MOST_ELEMENTS}",
                element=f"{one.type} {shortened(one.name)!r}",
                line=one.line,
                hint=REPAIR,
            )
        return FmuDimension(other.start, found)


class Structure3(StructureReader):
    """ModelStructure: one element for each unknown, with value references."""

    said = "value reference"

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """One unknown."""
        if name in LISTS:
            self.unknowns[LISTS[name]].append(self.unknown(name, "valueReference", attributes))
        else:
            self.other(name)
