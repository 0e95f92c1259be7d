"""modelDescription.xml of FMI 2.0 to typed data."""

from __future__ import annotations

from typing import Any

from pliant.errors import FmuError
from pliant.fmi.description import FmuInterface, FmuType
from pliant.fmi.reading.parts import add_type, read_type
from pliant.fmi.reading.structure import RawUnknown, StructureReader
from pliant.fmi.reading.values import REPAIR, Attributes, Findings, as_float, as_int, as_start
from pliant.fmi.reading.variables import VariableReader
from pliant.fmi.reading.xml import XmlElement, refused, shortened

TYPES = {"Real": "Float64", "Integer": "Int32", "Boolean": "Boolean", "String": "String", "Enumeration": "Enumeration"}
GROUPS = {
    "Outputs": "outputs",
    "Derivatives": "derivatives",
    "DiscreteStates": "discrete_states",
    "InitialUnknowns": "initial_unknowns",
}


def read_types(root: XmlElement, findings: Findings) -> dict[str, FmuType]:
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


def read_interface(element: XmlElement, kind: str, findings: Findings) -> FmuInterface:
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
            self._given, self._name, self._line = attributes, "", self.parser.CurrentLineNumber
        elif name in TYPES:
            if self._given is None:
                raise refused("a second type of one variable", element=name, line=self.line(), hint=REPAIR)
            self._take(TYPES[name], self._given, attributes)
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
        return f"ScalarVariable {shortened((self._given or {}).get('name', self._name))!r}"

    def _without_type(self) -> FmuError:
        return refused(
            "it has none of the types Real, Integer, Boolean, String, Enumeration",
            element=self._place(),
            line=self._line,
            hint=REPAIR,
        )

    def _take(self, type_: str, given: dict[str, str], more: dict[str, str]) -> None:
        """A variable from its own attributes and those of its type."""
        pop = given.pop
        self._name = name = pop("name", "")
        reference, description, text = pop("valueReference", ""), pop("description", ""), more.pop("start", None)
        start = None if text is None else self._start(text, type_)
        key = (type_, *given, *given.values(), None, *more, *more.values())
        template = self._templates.get(key) or self._template(type_, given, more, start, key)
        self._add(name, reference, (description, start), template, self._line)

    def _linked(self, place: int, type_: str, given: dict[str, str]) -> bool:
        if "derivative" not in given:
            return False
        self.derivatives.append((place, as_int(given["derivative"], "derivative", self._place(), self._line)))
        return True

    def _start(self, text: str, type_: str) -> Any:
        if type_ == "Float64" and text:
            return as_float(text, "start", self._place, self._line)
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
