"""modelDescription.xml of the FMUs of ``_fmu_maker.py``: both standards, variables listed in any order."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.sax.saxutils import quoteattr

if TYPE_CHECKING:
    from families._fmu_maker import Plant

CALCULATED = 'causality="output" variability="{}" initial="calculated"'
FIXED = 'causality="parameter" variability="{}" initial="exact"'
INPUT = 'causality="input" variability="{}"'
ITEMS = "".join(f'<Item name="{name}" value="{k}"/>' for k, name in enumerate(("low", "middle", "high"), 1))


class Rows:
    """Variables: key, name, type, attributes of causality, attributes of the type."""

    def __init__(self, plant: Plant) -> None:
        self.plant, self.rows = plant, []  # type: ignore[var-annotated]
        p, states, first = plant.parameters, plant.states(), plant.first
        self.state_keys = ["x"] if plant.arrays else [f"x{i}" for i in range(plant.n)]
        self.slope_keys = ["der_x"] if plant.arrays else [f"der_x{i}" for i in range(plant.n)]
        self.output_keys = ["y"] if plant.arrays else [f"y{i}" for i in range(plant.n_y)]
        nominal = f'nominal="{plant.nominal!r}"'
        local = 'causality="local" variability="continuous"'
        for i, (key, slope) in enumerate(zip(self.state_keys, self.slope_keys, strict=True)):
            name = "x" if plant.arrays else states[i]
            start = (
                " ".join(map(repr, plant.numbers["x0"].tolist()))
                if plant.arrays
                else repr(float(plant.numbers["x0"][i]))
            )
            self.add(key, name, "Float64", f'{local} initial="exact"', f'start="{start}" {nominal}', plant.n)
            self.add(slope, f"der({name})", "Float64", local, f"@derivative={key}", plant.n)
        for key, name in zip(self.output_keys, ["y"] if plant.arrays else plant.outputs(), strict=True):
            self.add(key, name, "Float64", CALCULATED.format("continuous"), "", plant.n_y)
        self.add("g", "g", "Float64", FIXED.format("tunable" if plant.tunable else "fixed"), f'start="{p["g"]!r}"')
        self.add("u", "u", "Float64", INPUT.format("continuous"), 'start="0" min="-1000" max="1000"')
        self.add("k", "k", "Int32", INPUT.format("discrete"), 'start="0"')
        self.add("on", "on", "Boolean", INPUT.format("discrete"), 'start="true"')
        self.add("mode", "mode", "Enumeration", INPUT.format("discrete"), 'declaredType="Level" start="1"')
        self.add("shift", "shift", "Int32", FIXED.format("fixed"), f'start="{p["shift"]}"')
        self.add("flag", "flag", "Boolean", FIXED.format("fixed"), f'start="{str(p["flag"]).lower()}"')
        self.add("level", "level", "Enumeration", FIXED.format("fixed"), f'declaredType="Level" start="{p["level"]}"')
        self.add("label", "label", "String", FIXED.format("fixed"), 'start="as it is"')
        self.add("length", "length", "Int32", CALCULATED.format("discrete"), "")
        self.add("seen", "seen", "Enumeration", CALCULATED.format("discrete"), 'declaredType="Level"')
        self.rows = [self.rows[i] for i in plant.order if i < len(self.rows)]
        self.place = {row[0]: k for k, row in enumerate(self.rows, 2)}  # 1: time
        self.first = first

    def add(self, key: str, name: str, kind: str, role: str, content: str, size: int = 1) -> None:
        self.rows.append((key, name, kind, role, content, size if self.plant.arrays else 1))

    def depends(self, key: str) -> list[str]:
        """What a derivative or an output depends on."""
        plant, v = self.plant, self.plant.numbers
        if plant.arrays:
            return [*self.state_keys, "u", *(("k", "on", "mode") if key == "der_x" else ())]
        if key.startswith("der_x"):
            i = int(key[5:])
            return [*(f"x{j}" for j in range(plant.n) if v["A"][i, j]), "u", "k", "on", "mode"]
        o = int(key[1:])
        return [*(f"x{j}" for j in range(plant.n) if v["C"][o, j]), *(["u"] if v["D"][o] else [])]


def description(plant: Plant) -> str:
    """The text."""
    rows = Rows(plant)
    return _fmi2(plant, rows) if plant.version == "2.0" else _fmi3(plant, rows)


def _fmi2(plant: Plant, rows: Rows) -> str:
    types = {"Float64": "Real", "Int32": "Integer"}
    offers = f'providesDirectionalDerivative="{str(plant.derivatives).lower()}"'
    more = 'canGetAndSetFMUstate="true" canSerializeFMUstate="true"'
    text = ""
    for key, name, kind, role, content, _ in rows.rows:
        inner = content
        if content.startswith("@"):
            inner = f'derivative="{rows.place[content.partition("=")[2]]}"'
        text += (
            f'<ScalarVariable name={quoteattr(name)} valueReference="{rows.first[key]}" {role}>'
            f"<{types.get(kind, kind)} {inner}/></ScalarVariable>\n"
        )

    def unknown(key: str) -> str:
        told = f' dependencies="{" ".join(str(rows.place[one]) for one in rows.depends(key))}"'
        return f'<Unknown index="{rows.place[key]}"{told if plant.dependencies else ""}/>'

    outputs = "".join(map(unknown, rows.output_keys))
    outputs += "".join(f'<Unknown index="{rows.place[one]}"/>' for one in ("length", "seen"))
    slopes = "".join(map(unknown, rows.slope_keys))
    initial = "".join(
        f'<Unknown index="{k}"/>'
        for k in sorted(rows.place[one] for one in (*rows.output_keys, "length", "seen", *rows.slope_keys))
    )
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<fmiModelDescription fmiVersion="2.0" modelName="plant" guid="{{plant {plant.seed}}}" numberOfEventIndicators="0">
<ModelExchange modelIdentifier="plant" completedIntegratorStepNotNeeded="true" {offers} {more}/>
<CoSimulation modelIdentifier="plant" canHandleVariableCommunicationStepSize="true" {offers} {more}/>
<TypeDefinitions><SimpleType name="Level"><Enumeration>{ITEMS}</Enumeration></SimpleType></TypeDefinitions>
<LogCategories><Category name="logAll"/></LogCategories>
<DefaultExperiment startTime="0" stopTime="1" stepSize="0.01"/>
<ModelVariables>
<ScalarVariable name="time" valueReference="0" causality="independent" variability="continuous"><Real/></ScalarVariable>
{text}</ModelVariables>
<ModelStructure><Outputs>{outputs}</Outputs><Derivatives>{slopes}</Derivatives>
<InitialUnknowns>{initial}</InitialUnknowns></ModelStructure>
</fmiModelDescription>
"""


def _fmi3(plant: Plant, rows: Rows) -> str:
    offers = f'providesDirectionalDerivatives="{str(plant.derivatives).lower()}"'
    more = 'canGetAndSetFMUState="true" canSerializeFMUState="true"'
    text = ""
    for key, name, kind, role, content, size in rows.rows:
        inner, body = content, f'<Dimension start="{size}"/>' if key in ("x", "der_x", "y") else ""
        if content.startswith("@"):
            inner = f'derivative="{rows.first[content.partition("=")[2]]}"'
        if kind == "String":
            inner, body = "", '<Start value="as it is"/>'
        text += f'<{kind} name={quoteattr(name)} valueReference="{rows.first[key]}" {role} {inner}>{body}</{kind}>\n'

    def unknown(tag: str, key: str) -> str:
        told = f' dependencies="{" ".join(str(rows.first[one]) for one in rows.depends(key))}"'
        return f'<{tag} valueReference="{rows.first[key]}"{told if plant.dependencies else ""}/>'

    structure = "".join(unknown("Output", key) for key in rows.output_keys)
    structure += "".join(f'<Output valueReference="{rows.first[one]}"/>' for one in ("length", "seen"))
    structure += "".join(unknown("ContinuousStateDerivative", key) for key in rows.slope_keys)
    structure += "".join(
        f'<InitialUnknown valueReference="{rows.first[one]}"/>'
        for one in (*rows.output_keys, "length", "seen", *rows.slope_keys)
    )
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<fmiModelDescription fmiVersion="3.0" modelName="plant" instantiationToken="{{plant {plant.seed}}}">
<ModelExchange modelIdentifier="plant" needsCompletedIntegratorStep="false" {offers} {more}/>
<CoSimulation modelIdentifier="plant" canHandleVariableCommunicationStepSize="true" {offers} {more}/>
<TypeDefinitions><EnumerationType name="Level">{ITEMS}</EnumerationType></TypeDefinitions>
<LogCategories><Category name="logAll"/></LogCategories>
<DefaultExperiment startTime="0" stopTime="1" stepSize="0.01"/>
<ModelVariables>
<Float64 name="time" valueReference="0" causality="independent" variability="continuous"/>
{text}</ModelVariables>
<ModelStructure>{structure}</ModelStructure>
</fmiModelDescription>
"""
