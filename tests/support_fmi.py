"""Descriptions of FMUs as text, from typed data: the way back, written for the tests only."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

from pliant.fmi.description import FmuDescription, FmuInterface, FmuType, FmuUnit, FmuUnknown, FmuVariable

OLD_TYPES = {"Float64": "Real", "Int32": "Integer"}
ELEMENTS = {
    "model-exchange": "ModelExchange",
    "co-simulation": "CoSimulation",
    "scheduled-execution": "ScheduledExecution",
}
#: field of FmuInterface -> attribute in FMI 2 and FMI 3
FLAGS = {
    "needs_execution_tool": ("needsExecutionTool",) * 2,
    "once_per_process": ("canBeInstantiatedOnlyOncePerProcess",) * 2,
    "can_save_state": ("canGetAndSetFMUstate", "canGetAndSetFMUState"),
    "can_serialize_state": ("canSerializeFMUstate", "canSerializeFMUState"),
    "directional_derivatives": ("providesDirectionalDerivative", "providesDirectionalDerivatives"),
    "adjoint_derivatives": (None, "providesAdjointDerivatives"),
    "per_element_dependencies": (None, "providesPerElementDependencies"),
    "no_memory_management": ("canNotUseMemoryManagementFunctions", None),
    "evaluates_discrete_states": (None, "providesEvaluateDiscreteStates"),
    "variable_step": ("canHandleVariableCommunicationStepSize",) * 2,
    "interpolates_inputs": ("canInterpolateInputs", None),
    "asynchronous": ("canRunAsynchronuously", None),
    "output_derivatives": ("maxOutputDerivativeOrder",) * 2,
    "internal_step": (None, "fixedInternalStepSize"),
    "input_smoothness": (None, "recommendedIntermediateInputSmoothness"),
    "intermediate_update": (None, "providesIntermediateUpdate"),
    "early_return_of_its_own": (None, "mightReturnEarlyFromDoStep"),
    "early_return": (None, "canReturnEarlyAfterIntermediateUpdate"),
    "has_event_mode": (None, "hasEventMode"),
}
LISTS = {
    "outputs": ("Outputs", "Output"),
    "derivatives": ("Derivatives", "ContinuousStateDerivative"),
    "discrete_states": ("DiscreteStates", "ClockedState"),
    "initial_unknowns": ("InitialUnknowns", "InitialUnknown"),
    "event_indicators": ("", "EventIndicator"),
}


def written(value: Any) -> str:
    """A value as XML Schema writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return " ".join(written(one) for one in value)
    if isinstance(value, bytes):
        return value.hex()
    return repr(value) if isinstance(value, float) else str(value)


def element(name: str, attributes: Mapping[str, Any], inside: str = "") -> str:
    """One element on one line; what is None or "" is left out."""
    given = "".join(
        f" {key}={quoteattr(written(value), {chr(10): '&#10;', chr(9): '&#9;', chr(13): '&#13;'})}"
        for key, value in attributes.items()
        if value is not None and value != ""
    )
    return f"<{name}{given}>{inside}</{name}>" if inside else f"<{name}{given}/>"


class Writer:
    """Writes one description; ``silent``: places of variables that leave to their declared type what it says."""

    def __init__(self, described: FmuDescription, silent: frozenset[int] = frozenset()) -> None:
        self.it = described
        self.silent = silent
        self.major = described.major

    def text(self) -> str:
        it, old = self.it, self.major == 2
        root = {
            "fmiVersion": it.version,
            "modelName": it.name,
            "guid" if old else "instantiationToken": it.token,
            "description": it.description,
            "author": it.author,
            "version": it.model_version,
            "copyright": it.copyright,
            "license": it.license,
            "generationTool": it.tool,
            "generationDateAndTime": it.date,
            "variableNamingConvention": it.naming,
            "numberOfEventIndicators": it.structure.n_event_indicators if old else None,
        }
        experiment = it.experiment
        parts = [
            *(self.interface(one) for one in it.interfaces.values()),
            self.group("UnitDefinitions", [self.unit(one) for one in it.units.values()]),
            self.group("TypeDefinitions", [self.type(one) for one in it.types.values()]),
            self.group(
                "LogCategories",
                [element("Category", {"name": one.name, "description": one.description}) for one in it.categories],
            ),
            element(
                "DefaultExperiment",
                {
                    "startTime": experiment.start,
                    "stopTime": experiment.stop,
                    "stepSize": experiment.step,
                    "tolerance": experiment.tolerance,
                },
            ),
            self.group("ModelVariables", [self.variable(k, one) for k, one in enumerate(it.variables)])
            or "<ModelVariables/>",
            self.structure(),
        ]
        head = '<?xml version="1.0" encoding="UTF-8"?>\n'
        return head + element("fmiModelDescription", root, "\n" + "\n".join(part for part in parts if part) + "\n")

    @staticmethod
    def group(name: str, inside: list[str]) -> str:
        return f"<{name}>\n" + "\n".join(inside) + f"\n</{name}>" if inside else ""

    def interface(self, one: FmuInterface) -> str:
        given: dict[str, Any] = {"modelIdentifier": one.model_identifier}
        for field, names in FLAGS.items():
            name = names[self.major - 2]
            if name is not None and getattr(one, field) not in (False, 0, None):
                given[name] = getattr(one, field)
        if one.kind == "model-exchange":
            name = "completedIntegratorStepNotNeeded" if self.major == 2 else "needsCompletedIntegratorStep"
            given[name] = one.needs_completed_step == (self.major == 3)
        files = "".join(element("File", {"name": file}) for file in one.source_files)
        return element(ELEMENTS[one.kind], given, f"<SourceFiles>{files}</SourceFiles>" if files else "")

    def unit(self, one: FmuUnit) -> str:
        inside = ""
        if one.exponents is not None:
            inside = element("BaseUnit", {**one.exponents, "factor": one.factor, "offset": one.offset})
        for display in one.displays.values():
            inverse = display.inverse or None
            given = {"name": display.name, "factor": display.factor, "offset": display.offset, "inverse": inverse}
            inside += element("DisplayUnit", given)
        return element("Unit", {"name": one.name}, inside)

    def type(self, one: FmuType) -> str:
        given = {**self.described(one), "nominal": one.nominal}
        items = "".join(
            element("Item", {"name": item.name, "value": item.value, "description": item.description})
            for item in one.items
        )
        if self.major == 3:
            return element(f"{one.type}Type", {"name": one.name, "description": one.description, **given}, items)
        inner = element(OLD_TYPES.get(one.type, one.type), given, items)
        return element("SimpleType", {"name": one.name, "description": one.description}, inner)

    @staticmethod
    def described(one: FmuType | FmuVariable) -> dict[str, Any]:
        return {
            "quantity": one.quantity,
            "unit": one.unit,
            "displayUnit": one.display_unit,
            "relativeQuantity": one.relative_quantity or None,
            "min": one.min,
            "max": one.max,
            "unbounded": one.unbounded or None,
        }

    def variable(self, place: int, one: FmuVariable) -> str:
        own: dict[str, Any] = {
            "name": one.name,
            "valueReference": one.reference,
            "description": one.description,
            "causality": one.causality,
            "variability": one.variability,
            "initial": one.initial,
            "canHandleMultipleSetPerTimeInstant": None if one.multiple_set else False,
        }
        more = {} if place in self.silent else {**self.described(one), "nominal": one.nominal}
        more |= {"declaredType": one.declared_type, "reinit": one.reinit or None}
        if one.derivative_of is not None:
            more["derivative"] = self.number(one.derivative_of)
        long = self.major == 3 and one.type in ("String", "Binary") and one.start is not None
        if not long:
            more["start"] = one.start
        if self.major == 2:
            start = {"start": one.start} if one.start == "" else {}  # an empty text is a start value
            inner = element(OLD_TYPES.get(one.type, one.type), more)
            if start:
                inner = inner.replace("/>", ' start=""/>')
            return element("ScalarVariable", own, inner)
        inside = "".join(
            element(
                "Dimension",
                {"start": size.size} if size.variable is None else {"valueReference": self.number(size.variable)},
            )
            for size in one.dimensions
        )
        if long:
            values = one.start if isinstance(one.start, tuple) else (one.start,)
            inside += "".join(element("Start", {"value": value}) for value in values)
        inside += "".join(
            element("Alias", {"name": a.name, "description": a.description, "displayUnit": a.display_unit})
            for a in one.aliases
        )
        own |= {
            "intermediateUpdate": one.intermediate_update or None,
            "previous": None if one.previous is None else self.number(one.previous),
            "clocks": tuple(self.number(place) for place in one.clocks) or None,
            "intervalVariability": "triggered" if one.type == "Clock" else None,
        }
        return element(one.type, own | more, inside)

    def number(self, place: int) -> int:
        return place + 1 if self.major == 2 else self.it.variables[place].reference

    def structure(self) -> str:
        groups = []
        for field, (list_, name) in LISTS.items():
            lines = [
                self.unknown("Unknown" if self.major == 2 else name, one) for one in getattr(self.it.structure, field)
            ]
            groups += [self.group(list_, lines)] if self.major == 2 else lines
        return self.group("ModelStructure", [one for one in groups if one]) or "<ModelStructure/>"

    def unknown(self, name: str, one: FmuUnknown) -> str:
        given: dict[str, Any] = {"index" if self.major == 2 else "valueReference": self.number(one.variable)}
        text = element(name, given)
        if one.dependencies is not None:  # an empty list is not the same as none
            numbers = " ".join(str(self.number(place)) for place in one.dependencies)
            text = text[:-2] + f' dependencies="{numbers}"/>'
        if one.kinds is not None:
            text = text[:-2] + f' dependenciesKind="{" ".join(one.kinds)}"/>'
        return text


def packed(files: Mapping[str, bytes | str], path: Path | None = None) -> bytes:
    """A zip archive of these files, also written to a path."""
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    if path is not None:
        path.write_bytes(memory.getvalue())
    return memory.getvalue()


DECAY2 = """<?xml version="1.0" encoding="UTF-8"?>
<fmiModelDescription fmiVersion="2.0" modelName="Decay" guid="{1}" numberOfEventIndicators="0">
  <ModelExchange modelIdentifier="decay" canGetAndSetFMUstate="true"/>
  <CoSimulation modelIdentifier="decay"/>
  <UnitDefinitions><Unit name="m"><BaseUnit m="1"/><DisplayUnit name="mm" factor="1000"/></Unit></UnitDefinitions>
  <DefaultExperiment startTime="0" stopTime="2" tolerance="1e-5"/>
  <ModelVariables>
    <ScalarVariable name="x" valueReference="0" initial="exact"><Real start="1" unit="m"/></ScalarVariable>
    <ScalarVariable name="der(x)" valueReference="1"><Real derivative="1"/></ScalarVariable>
<ScalarVariable name="k" valueReference="2" causality="parameter" variability="fixed"><Real start="1"/></ScalarVariable>
    <ScalarVariable name="u" valueReference="3" causality="input"><Real start="0"/></ScalarVariable>
    <ScalarVariable name="y" valueReference="0" causality="output"><Real unit="m" displayUnit="mm"/></ScalarVariable>
  </ModelVariables>
  <ModelStructure>
    <Outputs><Unknown index="5" dependencies="1" dependenciesKind="constant"/></Outputs>
    <Derivatives><Unknown index="2" dependencies="1 4" dependenciesKind="fixed constant"/></Derivatives>
    <InitialUnknowns><Unknown index="2"/><Unknown index="5"/></InitialUnknowns>
  </ModelStructure>
</fmiModelDescription>
"""
DECAY3 = """<?xml version="1.0" encoding="UTF-8"?>
<fmiModelDescription fmiVersion="3.0" modelName="Decay" instantiationToken="{1}">
  <ModelExchange modelIdentifier="decay"/>
  <CoSimulation modelIdentifier="decay" hasEventMode="true"/>
  <ModelVariables>
    <UInt64 name="n" valueReference="9" causality="structuralParameter" variability="tunable" start="2"/>
    <Float64 name="x" valueReference="0" initial="exact" start="1 2">
      <Dimension valueReference="9"/><Alias name="z"/></Float64>
    <Float64 name="der(x)" valueReference="1" derivative="0"><Dimension valueReference="9"/></Float64>
    <Float64 name="k" valueReference="2" causality="parameter" variability="fixed" start="1"/>
    <Float64 name="u" valueReference="3" causality="input" start="0"/>
    <Float64 name="y" valueReference="4" causality="output" initial="calculated"/>
  </ModelVariables>
  <ModelStructure>
    <Output valueReference="4" dependencies="0"/>
    <ContinuousStateDerivative valueReference="1" dependencies="0 3"/>
    <InitialUnknown valueReference="1"/>
    <EventIndicator valueReference="1"/>
  </ModelStructure>
</fmiModelDescription>
"""


def fmu_file(folder: Path, text: str = DECAY2, binaries: tuple[str, ...] = ("linux64",), **more: bytes | str) -> Path:
    """An FMU without a binary that could be run: for what happens before."""
    suffix = {"win64": ".dll", "win32": ".dll", "darwin64": ".dylib"}
    files: dict[str, bytes | str] = {"modelDescription.xml": text}
    files |= {f"binaries/{one}/decay{suffix.get(one, '.so')}": b"no library" for one in binaries}
    path = folder / "decay.fmu"
    packed({**files, **more}, path)
    return path
