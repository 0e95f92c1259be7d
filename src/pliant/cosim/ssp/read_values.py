"""Parameter sets (.ssv), parameter mappings (.ssm) and signal dictionaries (.ssb)."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from pliant.cosim.ssp.content import Connector, Dictionary, MappingEntry, ParameterSet, SspParameter, Value
from pliant.cosim.ssp.read_common import (
    place_of,
    read_dimensions,
    read_entry,
    read_scope,
    read_transformation,
    read_type,
)
from pliant.cosim.ssp.xml import TRUTH, XmlNode, as_number, check_root
from pliant.fmi.description import BASE_TYPES
from pliant.fmi.reading.values import LIMITS
from pliant.fmi.reading.xml import shortened

MOST_NUMBERS = 10**7


def read_parameter_set(root: XmlNode) -> ParameterSet:
    """An ssv:ParameterSet."""
    check_root(root, "ssv:ParameterSet")
    values: dict[str, SspParameter] = {}
    for node in root.inside("ssv:Parameters"):
        if node.name != "ssv:Parameter":
            continue
        one = _parameter(node)
        before = values.get(one.name)
        if before is not None and (before.other_line or (before.type, before.value) != (one.type, one.value)):
            one = replace(one, other_line=before.place.line)
        values[one.name] = one
    return ParameterSet(root.text("name"), tuple(values.values()), read_scope(root))


def _parameter(node: XmlNode) -> SspParameter:
    name = node.required("name")
    type_, given = read_type(node)
    if type_ is None or given is None or type_.base == "clock":
        raise node.refused("it has no type", hint='write e.g. <ssv:Real value="1.5"/> inside')
    dimensions = read_dimensions(node)
    if any(one.size is None for one in dimensions):
        raise node.refused("the size of a parameter must be a number", hint='write <ssc:Dimension size="3"/>')
    shape = tuple(one.size or 0 for one in dimensions)
    if prod(shape) > MOST_NUMBERS:
        raise node.refused(f"it is an array of more than {MOST_NUMBERS} elements", hint="a smaller array")
    words = _words(given, type_.base, bool(shape))
    if len(words) != prod(shape):
        raise given.refused(
            f"{name} has {len(words)} values, and its dimensions ask for {prod(shape)}", hint="correct size or values"
        )
    values = tuple(_value(given, type_.type, one) for one in words)
    value = values if shape else values[0]
    return SspParameter(name, type=type_, value=value, place=place_of(given), shape=shape)


def _words(node: XmlNode, base: str, is_array: bool) -> list[str]:
    """The values as texts, one for each element."""
    children = node.all("ssv:Value")
    if children:
        if "value" in node.attributes:
            raise node.refused("it has both a value and Value elements", hint="leave one of them")
        for one in children:
            if "value" not in one.attributes:
                raise one.refused("attribute value is missing", hint='write <ssv:Value value="..."/>')
        return [one.attributes["value"] for one in children]
    if "value" not in node.attributes:
        raise node.refused("attribute value is missing", hint="give the parameter a value")
    text = node.attributes["value"]
    return text.split() if is_array and base not in ("string", "binary", "enumeration") else [text]


def _value(node: XmlNode, type_: str, text: str) -> Value:
    base = BASE_TYPES[type_]
    if base in ("string", "enumeration"):
        return text
    if base == "boolean":
        if text.strip() not in TRUTH:
            raise node.refused(f"{shortened(text)!r} is neither true nor false", hint="write true or false")
        return TRUTH[text.strip()]
    if base == "binary":
        try:
            return bytes.fromhex(text)
        except ValueError:
            raise node.refused(f"{shortened(text)!r} are no bytes", hint="write two hexadecimal digits each") from None
    if base == "integer":
        try:
            number = int(text.strip())
        except ValueError:
            raise node.refused(f"{shortened(text)!r} is no whole number", hint="write an integer") from None
        low, high = LIMITS[type_]
        if not low <= number <= high:
            raise node.refused(f"{number} does not fit into an {type_}", hint=f"from {low} to {high}")
        return number
    real = as_number(text)
    if real is None:
        raise node.refused(f"{shortened(text)!r} is no number", hint="write a number with a point: 1.5")
    return real


def read_mapping(root: XmlNode) -> tuple[MappingEntry, ...]:
    """An ssm:ParameterMapping."""
    check_root(root, "ssm:ParameterMapping")
    found: dict[str, MappingEntry] = {}
    for node in root.all("ssm:MappingEntry"):
        one = MappingEntry(
            _present(node, "source"),
            node.required("target"),
            place=place_of(node),
            suppress=node.truth("suppressUnitConversion"),
            transformation=read_transformation(node),
        )
        if one.target in found:
            raise node.refused(
                f"{one.target!r} is the target of two entries; the other is in line {found[one.target].place.line}",
                hint="a parameter takes one value: leave one of them",
            )
        found[one.target] = one
    return tuple(found.values())


def _present(node: XmlNode, name: str) -> str:
    """An attribute that must be there, but may be empty: then nothing has that name."""
    return node.text(name) if name in node.attributes else node.required(name)


def read_dictionary(root: XmlNode, name: str) -> Dictionary:
    """An ssb:SignalDictionary."""
    check_root(root, "ssb:SignalDictionary")
    entries: dict[str, Connector] = {}
    for node in root.all("ssb:DictionaryEntry"):
        one = read_entry(node, "inout")
        if one.name in entries:
            raise node.refused("the dictionary has two entries of this name", hint="leave one of them")
        entries[one.name] = one
    return Dictionary(name, entries, read_scope(root), place_of(root))
