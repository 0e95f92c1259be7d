"""modelDescription.xml of FMI 3.0."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from pliant.export.content import FmuContent, attributes, bounds, start_text, xml_file, xml_text
from pliant.export.description2 import CATEGORIES
from pliant.export.variables import ExportedVariable

TYPES = {"real": "Float64", "integer": "Int32", "boolean": "Boolean", "enumeration": "Enumeration"}


class Description3:
    """Writes the description of one FMU."""

    def __init__(self, content: FmuContent) -> None:
        self.content = content

    def text(self) -> bytes:
        """The whole file."""
        c = self.content
        top = {
            "fmiVersion": "3.0",
            "modelName": c.name,
            "instantiationToken": c.token,
            "description": c.description,
            "generationTool": c.tool,
            "variableNamingConvention": c.naming,
        }
        root = ET.Element("fmiModelDescription", attributes(top.items()))
        self._kinds(root)
        self._units(root)
        self._types(root)
        categories = ET.SubElement(root, "LogCategories")
        for name, words in CATEGORIES.items():
            ET.SubElement(categories, "Category", {"name": name, "description": words})
        ET.SubElement(root, "DefaultExperiment", c.experiment)
        variables = ET.SubElement(root, "ModelVariables")
        for reference, one in enumerate(c.variables):
            self._variable(variables, reference, one)
        self._structure(root)
        return xml_file(root)

    def _kinds(self, root: ET.Element) -> None:
        c = self.content
        common = [
            ("modelIdentifier", c.identifier),
            ("canGetAndSetFMUState", True),
            ("canSerializeFMUState", True),
            ("providesDirectionalDerivatives", c.derivatives),
        ]
        if c.exchange:
            ET.SubElement(root, "ModelExchange", attributes([*common, ("needsCompletedIntegratorStep", True)]))
        if c.steps:
            more: list[tuple[str, object]] = [
                ("canHandleVariableCommunicationStepSize", c.fixed_step is None),
                ("providesIntermediateUpdate", c.between),
                ("mightReturnEarlyFromDoStep", c.between),
                ("canReturnEarlyAfterIntermediateUpdate", c.between),
                ("hasEventMode", c.events),
                ("fixedInternalStepSize", c.fixed_step),
            ]
            ET.SubElement(root, "CoSimulation", attributes([*common, *more]))

    def _units(self, root: ET.Element) -> None:
        if not self.content.units:
            return
        definitions = ET.SubElement(root, "UnitDefinitions")
        for name, base in self.content.units.items():
            unit = ET.SubElement(definitions, "Unit", {"name": xml_text(name)})
            if base is not None:
                factor = None if base.factor == 1.0 else base.factor
                offset = None if base.offset == 0.0 else base.offset
                pairs = [*base.exponents.items(), ("factor", factor), ("offset", offset)]
                ET.SubElement(unit, "BaseUnit", attributes(pairs))

    def _types(self, root: ET.Element) -> None:
        if not self.content.enumerations:
            return
        definitions = ET.SubElement(root, "TypeDefinitions")
        for literals, name in self.content.enumerations.items():
            kind = ET.SubElement(definitions, "EnumerationType", {"name": name})
            for value, literal in enumerate(literals, 1):
                ET.SubElement(kind, "Item", {"name": xml_text(literal), "value": str(value)})

    def _variable(self, parent: ET.Element, reference: int, one: ExportedVariable) -> None:
        pairs: list[tuple[str, object]] = [
            ("name", one.name),
            ("valueReference", reference),
            ("description", one.description),
            ("causality", one.causality),
            ("variability", one.variability),
            ("initial", one.initial),
        ]
        if one.type == "enumeration":
            pairs.append(("declaredType", self.content.enumerations[one.literals]))
        if one.type == "real":
            pairs.append(("unit", one.unit))
        pairs += bounds(one)
        if one.type == "real":
            pairs.append(("nominal", one.nominal))
        pairs.append(("start", start_text(one)))
        if one.derivative_of:
            pairs.append(("derivative", self.content.reference[one.derivative_of]))
        element = ET.SubElement(parent, TYPES[one.type], attributes(pairs))
        for other in one.aliases:
            ET.SubElement(element, "Alias", attributes([("name", other.name), ("description", other.description)]))

    def _structure(self, root: ET.Element) -> None:
        c = self.content
        structure = ET.SubElement(root, "ModelStructure")
        indicators = [one for one in c.variables if one.at == "ROOT"]
        groups = (
            ("Output", c.outputs),
            ("ContinuousStateDerivative", c.slopes),
            ("InitialUnknown", c.initial_unknowns),
            ("EventIndicator", indicators),
        )
        for name, members in groups:
            for one in members:
                element = ET.SubElement(structure, name, {"valueReference": str(c.reference[one.name])})
                if name in ("Output", "ContinuousStateDerivative") and one.depends_on is not None:
                    places = sorted(c.reference[other] for other in one.depends_on)
                    element.set("dependencies", " ".join(map(str, places)))
