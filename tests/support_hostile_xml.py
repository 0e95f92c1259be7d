"""Hostile and degenerate descriptions: XML that attacks its reader, and values that no model can have."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from support_fmus import CS, ME, members, pack
from support_hostile import VAN_DER_POL, Hostile

Change = Callable[[str], str]
HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'


def described(name: str, version: str, change: Callable[[str], str | bytes]) -> Path:
    """An FMU of ours with a changed description."""
    parts = dict(members(name, version))
    text = parts["modelDescription.xml"].decode()
    changed = change(text)
    assert changed != text
    parts["modelDescription.xml"] = changed if isinstance(changed, bytes) else changed.encode()
    return pack(parts, name)


def swap(old: str, new: str, count: int = 1) -> Change:
    """A change of one place."""

    def change(text: str) -> str:
        assert old in text, old
        return text.replace(old, new, count)

    return change


def after(mark: str, new: str) -> Change:
    return swap(mark, mark + new)


def cut(start: str, end: str) -> Change:
    """A change that takes out an element."""

    def change(text: str) -> str:
        first = text.index(start)
        return text[:first] + text[text.index(end, first) + len(end) :]

    return change


def with_doctype(doctype: str, entity: str) -> Change:
    """A document type before the root, and a use of its entity."""

    def change(text: str) -> str:
        body = text.removeprefix(HEAD).replace('description="', f'description="{entity}', 1)
        return f"{HEAD}<!DOCTYPE fmiModelDescription [{doctype}]>\n{body}"

    return change


def laughs() -> str:
    lines = ['<!ENTITY l0 "ha">']
    lines += [f'<!ENTITY l{k} "{f"&l{k - 1};" * 10}">' for k in range(1, 10)]
    return "".join(lines)


#: what attacks the reader of XML; refused, but what can be read all the same
READER: dict[str, Callable[[str], str | bytes]] = {
    "billion laughs": with_doctype(laughs(), "&l9;"),
    "quadratic entities": with_doctype(f'<!ENTITY a "{"a" * 100000}">', "&a;" * 1000),
    "external entity": with_doctype('<!ENTITY a SYSTEM "file:///etc/passwd">', ""),
    "external document type": lambda text: text.replace(HEAD, HEAD + '<!DOCTYPE f SYSTEM "file:///etc/passwd">\n'),
    "a hundred thousand levels": after("<ModelVariables>", "<a>" * 100000 + "</a>" * 100000),
    "truncated": lambda text: text[: len(text) // 2],
    "empty": lambda _text: "",
    "no XML": lambda _text: "modelDescription\n",
    "another root": lambda _text: HEAD + "<html/>\n",
    "two roots": lambda text: text + "<more/>\n",
    "invalid UTF-8": lambda text: text.encode().replace(b'description="', b'description="\xff\xfe', 1),
    "an unknown encoding": swap('encoding="UTF-8"', 'encoding="klingon"'),
    "null characters": lambda text: text.encode() + b"\0" * 100,
}

#: FMI 1.0 as it is written; refused by its version
ONE = """<?xml version="1.0" encoding="UTF-8"?>
<fmiModelDescription fmiVersion="1.0" modelName="vanderpol" modelIdentifier="vanderpol" guid="{vanderpol}"
    numberOfContinuousStates="2" numberOfEventIndicators="0">
  <ModelVariables>
    <ScalarVariable name="x0" valueReference="1"><Real start="2" fixed="true"/></ScalarVariable>
  </ModelVariables>
</fmiModelDescription>
"""
ALIAS = '<ScalarVariable name="alias" valueReference="1"><Real/></ScalarVariable>'
CLOCK = '<Clock name="c" valueReference="50" causality="input" intervalVariability="constant" intervalDecimal="0.1"/>'

#: both versions: (name, change for FMI 2, change for FMI 3); the FMU is the filter; all are refused
VALUES: dict[str, tuple[Change | None, Change | None]] = {}


def _both(name: str, two: Change | None, three: Change | None) -> None:
    VALUES[name] = (two, three)


def _same(name: str, change: Change) -> None:
    _both(name, change, change)


_same("stop time NaN", swap('stopTime="2"', 'stopTime="NaN"'))
_same("stop time infinite", swap('stopTime="2"', 'stopTime="INF"'))
_same("stop time before start", swap('stopTime="2"', 'stopTime="-2"'))
_same("stop time is text", swap('stopTime="2"', 'stopTime="soon"'))
_same("step negative", swap('stepSize="0.01"', 'stepSize="-0.01"'))
_same("step zero", swap('stepSize="0.01"', 'stepSize="0"'))
_same("tolerance negative", swap(' stepSize="0.01"', ' stepSize="0.01" tolerance="-1e-6"'))
_same("tolerance NaN", swap(' stepSize="0.01"', ' stepSize="0.01" tolerance="NaN"'))
_same("start with an underscore", swap('start="0.5"', 'start="0_5"'))
_same("start with other digits", swap('start="0.5"', 'start="\uff10.\uff15"'))
_same("start too large for a number", swap('start="0.5"', 'start="1e999"'))
_same("start with a hexadecimal number", swap('start="0.5"', 'start="0x1p-1"'))
_same("Integer start with other digits", swap('max="100" start="1"', 'max="100" start="\u0663"'))
_same("model identifier too long", swap('modelIdentifier="filter"', f'modelIdentifier="{"f" * 5000}"', 2))
_same("duplicate name", swap('name="y"', 'name="x"'))
_same("name missing", swap('name="y" ', ""))
_same("name empty", swap('name="y"', 'name=""'))
_same("value reference missing", swap(' valueReference="7"', ""))
_same("value reference negative", swap('valueReference="7"', 'valueReference="-1"'))
_same("value reference too large", swap('valueReference="7"', 'valueReference="4294967296"'))
_same("value reference is text", swap('valueReference="7"', 'valueReference="seven"'))
_same("causality unknown", swap('causality="output"', 'causality="outlet"'))
_same("variability unknown", swap('variability="fixed"', 'variability="fixe"'))
_same("initial unknown", swap('initial="exact"', 'initial="exactly"'))
_same("start is text", swap('start="0.5"', 'start="half"'))
_same("start NaN", swap('start="0.5"', 'start="NaN"'))
_same("Boolean start is text", swap('start="true"', 'start="maybe"'))
_same("Integer start beyond its type", swap('max="100" start="1"', 'max="100" start="99999999999"'))
_same("model identifier missing", swap(' modelIdentifier="filter"', "", 2))
_same("model identifier empty", swap('modelIdentifier="filter"', 'modelIdentifier=""', 2))
_same("model identifier leads out", swap('modelIdentifier="filter"', 'modelIdentifier="../../../tmp/filter"', 2))
_same("version missing", lambda text: text.replace(' fmiVersion="2.0"', "").replace(' fmiVersion="3.0"', ""))
_same("version 1.0", lambda text: text.replace('fmiVersion="2.0"', 'fmiVersion="1.0"').replace('"3.0"', '"1.0"'))
_same("version 4.0", lambda text: text.replace('fmiVersion="2.0"', 'fmiVersion="4.0"').replace('"3.0"', '"4.0"'))
_same("no variables", cut("<ModelVariables>", "</ModelVariables>"))
_same("neither kind", lambda text: cut("<CoSimulation ", "/>")(cut("<ModelExchange ", "/>")(text)))
_same("unit with factor zero", swap('factor="1000"', 'factor="0"'))
_same("unit with factor NaN", swap('factor="1000"', 'factor="NaN"'))
_same("unit twice", swap("</UnitDefinitions>", '<Unit name="s"/></UnitDefinitions>'))
_both("state twice", swap('<Unknown index="3"', '<Unknown index="3"/><Unknown index="3"', 2), None)
_both("state twice, by reference", None, after("<ModelStructure>", '<ContinuousStateDerivative valueReference="2"/>'))
_both(
    "derivative out of range",
    swap('derivative="2"', 'derivative="99"'),
    swap('derivative="1"', 'derivative="99"'),
)
_both("derivative of itself", swap('derivative="2"', 'derivative="3"'), swap('derivative="1"', 'derivative="2"'))
_both("derivative of an Integer", swap('derivative="2"', 'derivative="5"'), swap('derivative="1"', 'derivative="4"'))
_both(
    "structure out of range",
    swap('<Unknown index="8"', '<Unknown index="99"'),
    swap('<Output valueReference="7"', '<Output valueReference="99"'),
)
_both("index zero", swap('<Unknown index="8"', '<Unknown index="0"'), None)
_both("dependency out of range", swap('dependencies="2 4"', 'dependencies="2 99"'), swap('"1 3"', '"1 99"'))
_both("dependency is text", swap('dependencies="2 4"', 'dependencies="x u"'), swap('"1 3"', '"x u"'))
_both(
    "other number of kinds",
    swap('dependencies="2 4"', 'dependencies="2 4" dependenciesKind="constant"'),
    swap('dependencies="1 3"', 'dependencies="1 3" dependenciesKind="constant"'),
)
_both("state that is no derivative", swap(' derivative="2"', ""), swap(' derivative="1"', ""))
_both("GUID missing", swap(' guid="{filter}"', ""), swap(' instantiationToken="{filter}"', ""))
_both("unknown type", swap("<Integer", "<Complex"), swap("<Int32", "<Int128"))
_both("two types", after('start="0.5"/>', '<Integer start="1"/>'), None)
_both("indicators negative", swap('numberOfEventIndicators="0"', 'numberOfEventIndicators="-1"'), None)
_both("indicators too many", swap('numberOfEventIndicators="0"', 'numberOfEventIndicators="2000000000"'), None)
_both("indicators without variable", None, after("<ModelStructure>", '<EventIndicator valueReference="99"/>'))
_both("duplicate reference", None, swap('name="y" valueReference="7"', 'name="y" valueReference="6"'))
_both(
    "an input with a clock",
    None,
    lambda text: swap('causality="input"', 'causality="input" clocks="50"')(after("<ModelVariables>", CLOCK)(text)),
)
_both(
    "only scheduled execution",
    None,
    lambda text: cut("<CoSimulation ", "/>")(text).replace("<ModelExchange ", "<ScheduledExecution "),
)

#: of these, what a reader may also repair, ignore or leave to the FMU: refused, or the run is right
TOLERABLE = {
    *("stop time before start", "step zero", "initial unknown", "start NaN", "two types", "name empty"),
    *("unit with factor zero", "unit with factor NaN", "unit twice", "state twice", "state twice, by reference"),
    *("dependency out of range", "dependency is text", "other number of kinds", "GUID missing"),
}
#: and what concerns model exchange only
CONTINUOUS = ("derivative of itself", "derivative of an Integer", "state that is no derivative")

#: of the FMU with arrays; all are refused
ARRAYS: dict[str, Change] = {
    "huge dimension": swap('variability="fixed" start="2"', 'variability="fixed" start="1000000000000"'),
    "dimensions whose product overflows": lambda text: swap('start="3"', 'start="4294967296"')(
        swap('start="2"', 'start="4294967296"')(text)
    ),
    "negative dimension": swap('variability="fixed" start="2"', 'variability="fixed" start="-2"'),
    "dimension that does not exist": swap('<Dimension valueReference="1"/>', '<Dimension valueReference="99"/>'),
    "dimension that is time": swap('<Dimension valueReference="1"/>', '<Dimension valueReference="0"/>'),
    "dimension that is itself": swap('<Dimension valueReference="1"/>', '<Dimension valueReference="3"/>'),
    "dimension without size": swap('<Dimension valueReference="1"/>', "<Dimension/>"),
    "dimension with two sizes": swap('<Dimension valueReference="1"/>', '<Dimension valueReference="1" start="2"/>'),
    "too few start values": swap('start="1 2 3 4 5 6"', 'start="1 2"'),
    "too many start values": swap('start="1 2 3 4 5 6"', 'start="1 2 3 4 5 6 7"'),
    "a derivative of another shape": swap('derivative="3">', 'derivative="6">'),
}

#: sloppy, but usable: accepted, with a warning that contains the word; the FMU is Van der Pol
SLOPPY: dict[str, tuple[Change, str]] = {
    "nominal zero": (lambda text: text.replace('start="2"', 'nominal="0" start="2"', 1), "nominal"),
    "nominal negative": (lambda text: text.replace('start="2"', 'nominal="-3" start="2"', 1), "nominal"),
    "unit that is not defined": (lambda text: text.replace('start="2"', 'unit="furlong" start="2"', 1), "furlong"),
    "an unknown attribute": (swap(' modelName="vanderpol"', ' modelName="vanderpol" colour="red"'), ""),
    "an unknown element": (swap("<ModelVariables>", "<Colours/><ModelVariables>"), ""),
}


def crowd(version: str, count: int) -> Path:
    """Van der Pol with many more variables, all with a unit; the last is ``v[count]``."""

    def change(text: str) -> str:
        if version == "2.0":
            row = '<ScalarVariable name="v[{0}]" valueReference="1"><Real unit="u{1}"/></ScalarVariable>\n'
        else:
            row = '<Float64 name="v[{0}]" valueReference="{0}" unit="u{1}"/>\n'
        first = 1 if version == "2.0" else 6
        rows = "".join(row.format(k, k % 1000) for k in range(first, count + 1))
        units = "".join(f'<Unit name="u{k}"><BaseUnit m="1" factor="{k + 1}"/></Unit>' for k in range(1000))
        text = text.replace("</ModelVariables>", rows + "</ModelVariables>")
        return text.replace("<LogCategories>", f"<UnitDefinitions>{units}</UnitDefinitions>\n<LogCategories>")

    return described("crowd", version, change)


def usable(name: str, version: str, change: Change, says: str = "") -> Hostile:
    """Van der Pol with a description that is not right, but enough."""
    made = partial(described, "vanderpol", version, change)
    return Hostile(name, made, (), runs=True, stage="simulate", says=says, right=VAN_DER_POL)


def encoded(code: str, text: str) -> bytes:
    """In another encoding, with a letter of it."""
    letter = {"Shift_JIS": "\u6e29", "windows-1252": "\u20ac"}.get(code, "\u00e4")
    text = text.replace('encoding="UTF-8"', f'encoding="{code}"')
    return re.sub(' description="[^"]*"', f' description="{letter}"', text, count=1).encode(code)


def descriptions() -> Iterator[Hostile]:
    for name, reader in READER.items():
        made = partial(described, "vanderpol", "2.0", reader)
        runs = name in ("a hundred thousand levels", "invalid UTF-8")
        stage = "simulate" if runs else "load"
        yield Hostile(f"XML: {name}", made, ("FmuError",), runs, stage, right=VAN_DER_POL)
    for name, pair in VALUES.items():
        for version, change in zip(("2.0", "3.0"), pair, strict=True):
            if change is not None:
                made = partial(described, "filter", version, change)
                other = name.startswith(("version", "needs", "only", "an input with"))
                error = ("FmuError", "NotSupportedError") if other else ("FmuError",)
                runs, stage = name in TOLERABLE, "simulate" if name in TOLERABLE else "load"
                kind = ME if name in CONTINUOUS else None
                yield Hostile(f"XML: {name}, FMI {version}", made, error, runs, stage, kind, right={"x": 0.0, "y": 0.0})
    yield Hostile("XML: FMI 1.0", partial(described, "vanderpol", "2.0", lambda _text: ONE), says="1.0")
    clock = partial(described, "vanderpol", "3.0", after("<ModelVariables>", CLOCK))
    error = ("FmuError", "NotSupportedError")
    yield Hostile("XML: a clock without variables", clock, error, True, "simulate", right=VAN_DER_POL)
    yield usable("XML: two names of one variable", "2.0", swap("</ModelVariables>", f"{ALIAS}</ModelVariables>"))
    yield usable("XML: Latin-1", "2.0", swap('encoding="UTF-8"', 'encoding="ISO-8859-1"'))
    for code in ("UTF-16", "Shift_JIS", "windows-1252"):  # parsers know some, Python the others
        change = partial(encoded, code)
        yield usable(f"XML: {code}", "3.0", change)
    for name, change in ARRAYS.items():
        runs = name.endswith("start values")
        stage, kind = ("simulate" if runs else "load"), (ME if name.startswith("a derivative") else None)
        made = partial(described, "arrays", "3.0", change)
        yield Hostile(f"XML: {name}", made, ("FmuError",), runs, stage, kind, right={"x[1,1]": math.exp(-1.0)})
    for version in ("2.0", "3.0"):
        for name, (change, says) in SLOPPY.items():
            yield usable(f"XML: {name}, FMI {version}", version, change, says)
        yield usable(f"XML: no default experiment, FMI {version}", version, cut("<DefaultExperiment", "/>"))
        yield from more(version)


def more(version: str) -> Iterator[Hostile]:
    """What is seen only when the FMU runs, or needs much memory."""
    late: dict[str, Any] = {"stage": "simulate", "right": VAN_DER_POL}
    short = partial(described, "filter", version, swap('stepSize="0.01"', 'stepSize="1e-300"'))
    yield Hostile(f"XML: steps without end, FMI {version}", short, ("ArgumentError",), stage="simulate", kind=CS)
    categories = "".join(f'<Category name="c{k}"/>' for k in range(20000))
    said = partial(described, "vanderpol", version, after("<LogCategories>", categories))
    yield Hostile(f"XML: 20 000 categories, FMI {version}", said, (), True, "simulate", ME, right=VAN_DER_POL)
    token = partial(described, "vanderpol", version, swap('"{vanderpol}"', '"{another}"'))
    yield Hostile(f"XML: another token, FMI {version}", token, ("FmuError", "SolverError"), **late)
    structure = partial(described, "vanderpol", version, cut("<ModelStructure>", "</ModelStructure>"))
    yield Hostile(f"XML: no structure, FMI {version}", structure, runs=version == "2.0", **late)
    crowded = partial(crowd, version, 200000)
    yield Hostile(f"XML: 200 000 variables, FMI {version}", crowded, (), runs=True, quick=False, **late)
    old, new = ('"10 11 12"', '"11"') if version == "2.0" else ('"9 10 11"', '"10"')
    pattern = partial(described, "chain", version, swap(f"dependencies={old}", f"dependencies={new}", 2))
    yield Hostile(
        f"XML: dependencies that are missing, FMI {version}",
        pattern,
        ("PatternError",),
        runs=True,
        stage="simulate",
        kind=ME,
        right={"x[10]": 0.13575033533720748},
    )
