"""The parts of a description that FMI 2 and FMI 3 write alike: units, experiment, categories, bounds of types."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from pliant.fmi.description import FmuCategory, FmuDisplayUnit, FmuExperiment, FmuItem, FmuType, FmuUnit
from pliant.fmi.reading.values import Attributes, Findings, Ranged, as_float, as_int, checked_range
from pliant.fmi.reading.xml import XmlElement, refused

BASE_UNITS = ("kg", "m", "s", "A", "K", "mol", "cd", "rad")


def read_units(root: XmlElement, findings: Findings) -> dict[str, FmuUnit]:
    """UnitDefinitions."""
    found: dict[str, FmuUnit] = {}
    for group in root.all("UnitDefinitions"):
        for element in group.all("Unit"):
            unit = _unit(element, findings)
            if unit.name in found:
                findings.warn(
                    "a unit is defined twice",
                    "it is defined twice; the first holds",
                    element=str(element),
                    line=unit.line,
                )
            found.setdefault(unit.name, unit)
    return found


def _unit(element: XmlElement, findings: Findings) -> FmuUnit:
    given = Attributes(element, findings)
    displays: dict[str, FmuDisplayUnit] = {}
    for one in element.all("DisplayUnit"):
        display = _display(Attributes(one, findings))
        displays.setdefault(display.name, display)
    base = element.first("BaseUnit")
    if base is None:
        return FmuUnit(given.required("name"), displays=displays, line=element.line)
    own = Attributes(base, findings)
    exponents = {
        name: as_int(base.attributes[name], name, own.place, own.line) for name in BASE_UNITS if own.text(name)
    }
    factor, offset = _conversion(own)
    return FmuUnit(
        given.required("name"),
        exponents={name: n for name, n in exponents.items() if n},
        factor=factor,
        offset=offset,
        displays=displays,
        line=element.line,
    )


def _display(given: Attributes) -> FmuDisplayUnit:
    factor, offset = _conversion(given)
    inverse = given.truth("inverse")
    if inverse and offset != 0.0:
        given.warn("an inverse unit has an offset", "inverse units have no offset; it is ignored")
        offset = 0.0
    return FmuDisplayUnit(given.required("name"), factor, offset, inverse)


def _conversion(given: Attributes) -> tuple[float, float]:
    """factor and offset; what cannot convert becomes 1 and 0."""
    factor, offset = given.number("factor"), given.number("offset")
    if factor is not None and (factor == 0.0 or not math.isfinite(factor)):
        given.warn("a factor of a unit cannot convert", f"factor={factor} cannot convert; taken as 1")
        factor = None
    if offset is not None and not math.isfinite(offset):
        given.warn("an offset of a unit cannot convert", f"offset={offset} cannot convert; taken as 0")
        offset = None
    return 1.0 if factor is None else factor, 0.0 if offset is None else offset


def read_experiment(root: XmlElement, findings: Findings) -> FmuExperiment:
    """DefaultExperiment. What is absurd is refused; zeros, which some tools write for "not given", are ignored."""
    element = root.first("DefaultExperiment")
    if element is None:
        return FmuExperiment()
    given = Attributes(element, findings)
    found: dict[str, float | None] = {}
    for name in ("startTime", "stopTime", "stepSize", "tolerance"):
        value = given.number(name)
        if value is not None and (not math.isfinite(value) or (value < 0 and name in ("stepSize", "tolerance"))):
            raise refused(
                f"{name}={value} cannot be used",
                element=given.place,
                line=given.line,
                hint=f"remove the attribute {name} from modelDescription.xml, and give the value to simulate",
            )
        if value == 0.0 and name in ("stepSize", "tolerance"):
            given.warn("zero in the default experiment", f"{name}=0 is ignored")
            value = None
        found[name] = value
    start, stop = found["startTime"], found["stopTime"]
    if stop is not None and stop < (start or 0.0):
        given.warn("stop before start", f"stopTime={stop:g} lies before startTime={start or 0.0:g}; it is ignored")
        stop = None
    if found["tolerance"] is not None and found["tolerance"] >= 1.0:
        given.warn("large tolerance", f"tolerance={found['tolerance']:g} is not below 1; it is ignored")
        found["tolerance"] = None
    return FmuExperiment(start, stop, found["stepSize"], found["tolerance"])


def read_categories(root: XmlElement) -> tuple[FmuCategory, ...]:
    """LogCategories."""
    return tuple(
        FmuCategory(one.attributes.get("name", ""), one.attributes.get("description", ""))
        for group in root.all("LogCategories")
        for one in group.all("Category")
    )


def read_type(element: XmlElement, owner: XmlElement, type_: str, findings: Findings) -> FmuType:
    """A declared type; ``owner`` has its name."""
    place, line, given = str(owner), owner.line, element.attributes
    number: Callable[[str, str, str, int], float | int] = as_float if type_.startswith("Float") else as_int

    def bound(name: str) -> float | int | None:
        text = given.get(name)
        return number(text, name, place, line) if text else None

    nominal = given.get("nominal")
    usable = checked_range(
        Ranged(bound("min"), bound("max"), as_float(nominal, "nominal", place, line) if nominal else None),
        None,
        findings,
        place,
        line,
    )
    own = Attributes(element, findings)
    return FmuType(
        name=Attributes(owner, findings).required("name"),
        type=type_,
        quantity=own.text("quantity"),
        unit=own.text("unit"),
        display_unit=own.text("displayUnit"),
        min=usable.min,
        max=usable.max,
        nominal=usable.nominal,
        relative_quantity=own.truth("relativeQuantity"),
        unbounded=own.truth("unbounded"),
        items=_items(element, findings) if type_ == "Enumeration" else (),
        description=owner.attributes.get("description", ""),
        line=line,
    )


def _items(element: XmlElement, findings: Findings) -> tuple[FmuItem, ...]:
    items = []
    for number, one in enumerate(element.all("Item"), 1):
        given = Attributes(one, findings)
        text = given.text("value")
        if not text:
            given.warn("an item of an enumeration has no value", f"it has no value; taken as {number}")
        value = as_int(text, "value", given.place, given.line) if text else number
        items.append(FmuItem(given.text("name") or str(value), value, given.text("description")))
    if len({one.value for one in items}) < len(items):
        findings.warn(
            "an enumeration has the same value twice",
            "two items have the same value",
            element=element.name,
            line=element.line,
        )
    return tuple(items)


def add_type(found: dict[str, FmuType], one: FmuType, element: str, findings: Findings) -> None:
    """Enter a type; of two with the same name the first holds."""
    if one.name in found:
        findings.warn("a type is defined twice", "it is defined twice; the first holds", element=element, line=one.line)
    found.setdefault(one.name, one)


def known_units(units: Mapping[str, FmuUnit], used: Mapping[str, int], findings: Findings) -> None:
    """Warn of units that are not defined; ``used``: name -> line of the first use."""
    for name, line in used.items():
        if name and name not in units:
            findings.warn("a unit is not defined", f"unit {name!r} is not defined: it cannot be converted", line=line)
