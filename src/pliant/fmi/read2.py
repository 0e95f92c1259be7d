"""modelDescription.xml of FMI 2.0 to typed data."""

from __future__ import annotations

from typing import Any

from pliant.errors import FmuError
from pliant.fmi.description import FmuInterface, FmuType, FmuVariable
from pliant.fmi.parts import add_type, read_type
from pliant.fmi.structure import RawUnknown, StructureReader
from pliant.fmi.values import REPAIR, Attributes, Findings, as_float, as_int, as_start
from pliant.fmi.variables import NOTHING, VariableReader
from pliant.fmi.xml import Element, refused, shortened

TYPES = {"Real": "Float64", "Integer": "Int32", "Boolean": "Boolean", "String": "String", "Enumeration": "Enumeration"}
GROUPS = {
    "Outputs": "outputs",
    "Derivatives": "derivatives",
    "DiscreteStates": "discrete_states",
    "InitialUnknowns": "initial_unknowns",
}
MULTIPLE = "canHandleMultipleSetPerTimeInstant"
new = tuple.__new__


def read_types(root: Element, findings: Findings) -> dict[str, FmuType]:
    """TypeDefinitions: SimpleType, and in it the type."""
    found: dict[str, FmuType] = {}
    for group in root.all("TypeDefinitions"):
        for owner in group.all("SimpleType"):
            inner = next((one for one in owner.children if one.name in TYPES), None)
            if inner is None:
                findings.warn(
                    "a type is empty", "it has none of the types of FMI 2; ignored", str(owner), line=owner.line
                )
            else:
                add_type(found, read_type(inner, owner, TYPES[inner.name], findings), str(owner), findings)
    return found


def read_interface(element: Element, kind: str, findings: Findings) -> FmuInterface:
    """ModelExchange or CoSimulation."""
    given = Attributes(element, findings)
    files = [one.attributes.get("name", "") for group in element.all("SourceFiles") for one in group.all("File")]
    return FmuInterface(
        kind,  # type: ignore[arg-type]
        given.required("modelIdentifier"),
        needs_execution_tool=given.truth("needsExecutionTool"),
        once_per_process=given.truth("canBeInstantiatedOnlyOncePerProcess"),
        can_save_state=given.truth("canGetAndSetFMUstate"),
        can_serialize_state=given.truth("canSerializeFMUstate"),
        directional_derivatives=given.truth("providesDirectionalDerivative"),
        no_memory_management=given.truth("canNotUseMemoryManagementFunctions"),
        needs_completed_step=kind == "model-exchange" and not given.truth("completedIntegratorStepNotNeeded"),
        variable_step=given.truth("canHandleVariableCommunicationStepSize"),
        interpolates_inputs=given.truth("canInterpolateInputs"),
        asynchronous=given.truth("canRunAsynchronuously"),
        output_derivatives=given.whole("maxOutputDerivativeOrder", 0),
        source_files=tuple(one for one in files if one),
        line=element.line,
    )


class Variables2(VariableReader):
    """ModelVariables: ScalarVariable, and in it the type with the other half of the attributes."""

    version = 2
    said = "index"

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """A variable, or its type."""
        if name == "ScalarVariable":
            if self._given is not None:
                raise self._without_type()
            self._given, self._line = attributes, self.line()
        elif name in TYPES:
            if self._given is None:
                raise refused("a second type of one variable", element=name, line=self.line(), hint=REPAIR)
            self._add(TYPES[name], self._given, attributes)
            self._given = None
        else:
            self.other(name)

    def end(self, name: str) -> None:
        """The type must have come by now."""
        if name == "ScalarVariable":
            if self._given is not None:
                raise self._without_type()
        elif name == "ModelVariables":
            self.left()

    def place_of(self, number: int) -> int | None:
        """Variables are numbered from 1."""
        return number - 1 if 1 <= number <= len(self.variables) else None

    def _place(self) -> str:
        return f"ScalarVariable {shortened((self._given or {}).get('name', ''))!r}"

    def _without_type(self) -> FmuError:
        return refused(
            "it has none of the types Real, Integer, Boolean, String, Enumeration",
            element=self._place(),
            line=self._line,
            hint=REPAIR,
        )

    def _add(self, type_: str, given: dict[str, str], more: dict[str, str]) -> None:
        name, reference = self._named(given)
        role = self._role(given, type_)
        start, own = None, NOTHING
        if more:
            text = more.pop("start", None)
            if text is not None:
                start = self._start(text, type_)
            if "derivative" in more:
                number = as_int(more.pop("derivative"), "derivative", self._place(), self._line)
                self.derivatives.append((len(self.variables), number))
            if more:
                own = self._described(type_, more, start)
        if start is None or start != start:  # noqa: PLR0124  (faster than isnan)
            self._check_start(start, role)
        self.places[name] = len(self.variables)
        unit, display, nominal, low, high, quantity, declared, relative, unbounded, reinit = own
        fields = (
            name,
            reference,
            type_,
            role.causality,
            role.variability,
            role.initial,
            start,
            unit,
            display,
            nominal,
            low,
            high,
            quantity,
            given.get("description", ""),
            declared,
            relative,
            unbounded,
            reinit,
            MULTIPLE not in given or self._truth(given, MULTIPLE),
            False,
            None,
            None,
            (),
            (),
            (),
            self._line,
        )
        self.variables.append(new(FmuVariable, fields))

    def _start(self, text: str, type_: str) -> Any:
        if type_ == "Float64" and text:
            try:
                return float(text)
            except ValueError:
                return as_float(text, "start", self._place(), self._line)
        if not text and type_ != "String":
            return self._empty_start()
        return as_start(text, type_, self._place(), self._line)


class Structure2(StructureReader):
    """ModelStructure: lists of Unknown, with numbers of variables from 1."""

    said = "index"

    def __init__(self) -> None:
        super().__init__()
        self._into: list[RawUnknown] | None = None

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """A list, or an unknown in it."""
        if name == "Unknown" and self._into is not None:
            self._into.append(self.unknown("Unknown", "index", attributes))
        elif name in GROUPS:
            self._into = self.unknowns[GROUPS[name]]
        else:
            self.other(name)

    def end(self, name: str) -> None:
        """End of a list."""
        if name in GROUPS:
            self._into = None
        elif name == self.own:
            self.left()
