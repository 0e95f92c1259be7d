"""modelDescription.xml of FMI 2.0."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from pliant.export.content import FmuContent, attributes, bounds, start_text, xml_file, xml_text
from pliant.export.variables import ExportedVariable

TYPES = {"real": "Real", "integer": "Integer", "boolean": "Boolean", "enumeration": "Enumeration"}
CATEGORIES = {
    "logStatusWarning": "what the model has to say",
    "logStatusDiscard": "points where the equations cannot be evaluated",
    "logStatusError": "errors",
}


class Description2:
    """Writes the description of one FMU."""

    def __init__(self, content: FmuContent) -> None:
        self.content = content
        self.index: dict[str, int] = {}  # of ScalarVariable elements, from 1 on

    def text(self) -> bytes:
        """The whole file."""
        c = self.content
        top = {
            "fmiVersion": "2.0",
            "modelName": c.name,
            "guid": c.token,
            "description": c.description,
            "generationTool": c.tool,
            "variableNamingConvention": c.naming,
            "numberOfEventIndicators": str(len(c.indicators)),
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
        self._number()
        for reference, one in enumerate(c.variables):
            self._variable(variables, reference, one)
        self._structure(root)
        return xml_file(root)

    def _kinds(self, root: ET.Element) -> None:
        c = self.content
        common = [
            ("modelIdentifier", c.identifier),
            ("canNotUseMemoryManagementFunctions", True),
            ("canGetAndSetFMUstate", True),
            ("canSerializeFMUstate", True),
            ("providesDirectionalDerivative", c.derivatives),
        ]
        kinds = [root_kind for root_kind, there in (("ModelExchange", c.exchange), ("CoSimulation", c.steps)) if there]
        for kind in kinds:
            more: list[tuple[str, object]] = []
            if kind == "CoSimulation":
                more = [
                    ("canHandleVariableCommunicationStepSize", c.fixed_step is None),
                    ("canInterpolateInputs", c.input_degree > 0),
                    ("maxOutputDerivativeOrder", 0),
                ]
            element = ET.SubElement(root, kind, attributes([*common, *more]))
            if c.sources:
                files = ET.SubElement(element, "SourceFiles")
                for name in c.sources:
                    ET.SubElement(files, "File", {"name": name})

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
            simple = ET.SubElement(definitions, "SimpleType", {"name": name})
            kind = ET.SubElement(simple, "Enumeration")
            for value, literal in enumerate(literals, 1):
                ET.SubElement(kind, "Item", {"name": xml_text(literal), "value": str(value)})

    def _number(self) -> None:
        """Places of all variables; aliases follow their variable."""
        place = 0
        for one in self.content.variables:
            place += 1
            self.index[one.name] = place
            place += len(one.aliases)

    def _variable(self, parent: ET.Element, reference: int, one: ExportedVariable) -> None:
        pairs = [
            ("name", one.name),
            ("valueReference", reference),
            ("description", one.description),
            ("causality", one.causality),
            ("variability", one.variability),
            ("initial", one.initial),
        ]
        element = ET.SubElement(parent, "ScalarVariable", attributes(pairs))
        self._type(element, one, own=True)
        for other in one.aliases:
            # an alias is computed, and says no start value of its own
            variability = "fixed" if one.variability == "tunable" and one.type != "real" else one.variability
            words = [
                ("name", other.name),
                ("valueReference", reference),
                ("description", other.description),
                ("causality", "local"),
                ("variability", variability),
                ("initial", "calculated" if one.variability != "constant" else "exact"),
            ]
            self._type(ET.SubElement(parent, "ScalarVariable", attributes(words)), one, own=False)

    def _type(self, parent: ET.Element, one: ExportedVariable, own: bool) -> None:
        pairs: list[tuple[str, object]] = []
        if one.type == "enumeration":
            pairs.append(("declaredType", self.content.enumerations[one.literals]))
        if one.type == "real":
            pairs.append(("unit", one.unit))
        pairs += bounds(one)
        if one.type == "real":
            pairs.append(("nominal", one.nominal))
        if own:
            pairs.append(("start", start_text(one)))
            pairs += [("derivative", self.index[one.derivative_of])] if one.derivative_of else []
        ET.SubElement(parent, TYPES[one.type], attributes(pairs))

    def _structure(self, root: ET.Element) -> None:
        c = self.content
        structure = ET.SubElement(root, "ModelStructure")
        groups = (("Outputs", c.outputs), ("Derivatives", c.slopes), ("InitialUnknowns", c.initial_unknowns))
        for name, members in groups:
            if not members:
                continue
            group = ET.SubElement(structure, name)
            for one in sorted(members, key=lambda v: self.index[v.name]) if name != "Derivatives" else members:
                pairs: list[tuple[str, str]] = [("index", str(self.index[one.name]))]
                element = ET.SubElement(group, "Unknown", dict(pairs))
                if name != "InitialUnknowns" and one.depends_on is not None:
                    places = sorted(self.index[other] for other in one.depends_on)
                    element.set("dependencies", " ".join(map(str, places)))
