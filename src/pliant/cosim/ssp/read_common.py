"""What all files of SSP share: units, enumerations, types, dimensions, transformations."""

from __future__ import annotations

from collections.abc import Iterable

from pliant.cosim.ssp.content import Connector, Dimension, SignalType, SspPlace, SspScope, Transformation
from pliant.cosim.ssp.xml import TRUTH, XmlNode
from pliant.fmi.description import FmuUnit
from pliant.fmi.reading.parts import BASE_UNITS

#: element of the type -> name of FMI 3; SSP 1.0 has the first six
TYPES = {
    "Real": "Float64",
    "Integer": "Int32",
    "Boolean": "Boolean",
    "String": "String",
    "Enumeration": "Enumeration",
    "Binary": "Binary",
    **{one: one for one in ("Float64", "Float32", "Int8", "UInt8", "Int16", "UInt16", "Int32", "UInt32", "Int64")},
    "UInt64": "UInt64",
    "Clock": "Clock",
}
KINDS = ("Linear", "Boolean", "Integer", "Enumeration")


def place_of(node: XmlNode) -> SspPlace:
    """Where an element stands."""
    return SspPlace(node.file, node.line, str(node))


def read_scope(root: XmlNode) -> SspScope:
    """Units and enumerations of a file; some tools write them in another order or not at all."""
    units: dict[str, FmuUnit] = {}
    for node in _each(root, "Units", "Unit"):
        name = node.required("name")
        if name in units:
            raise node.refused("a unit of this name is defined twice", hint="leave one of them")
        units[name] = _unit(node, name)
    enumerations: dict[str, dict[str, int]] = {}
    for node in _each(root, "Enumerations", "Enumeration"):
        name = node.required("name")
        if name in enumerations:
            raise node.refused("an enumeration of this name is defined twice", hint="leave one of them")
        enumerations[name] = {}
        for item in node.all("ssc:Item"):
            key = item.required("name")
            if key in enumerations[name]:
                raise item.refused(f"the enumeration {name!r} has two items of this name", hint="leave one of them")
            enumerations[name][key] = whole(item, "value")
    return SspScope(units, enumerations)


def _each(root: XmlNode, group: str, child: str) -> Iterable[XmlNode]:
    for one in root.children:
        if one.local == group:
            yield from (node for node in one.children if node.local == child)


def _unit(node: XmlNode, name: str) -> FmuUnit:
    base = node.first("ssc:BaseUnit")
    if base is None:
        return FmuUnit(name, line=node.line)
    exponents = {one: whole(base, one) for one in BASE_UNITS if one in base.attributes}
    factor, offset = base.number("factor", 1.0), base.number("offset", 0.0)
    assert factor is not None
    assert offset is not None
    if factor == 0.0:
        raise base.refused("factor=0 cannot convert", hint="a factor other than 0, or leave it out")
    return FmuUnit(name, {one: n for one, n in exponents.items() if n}, factor, offset, line=node.line)


def whole(node: XmlNode, name: str) -> int:
    """An attribute that is a whole number."""
    text = node.required(name).strip()
    try:
        return int(text)
    except ValueError:
        raise node.refused(f"{name}={text!r} is no whole number", hint="write an integer") from None


def read_type(owner: XmlNode) -> tuple[SignalType | None, XmlNode | None]:
    """The type that an element has as a child, and that child."""
    found = [one for one in owner.children if one.local in TYPES and one.name != "ssd:Clock"]
    if not found:
        return None, None
    if len(found) > 1:
        raise found[1].refused(f"{owner} has two types", hint="leave one of them")
    node = found[0]
    enumeration = node.text("name") if node.local == "Enumeration" else ""
    return SignalType(TYPES[node.local], unit=node.text("unit"), enumeration=enumeration), node


def read_dimensions(owner: XmlNode) -> tuple[Dimension, ...]:
    """The dimensions of an array, of SSP 2.0; none: a scalar."""
    found = []
    for node in owner.all("ssc:Dimension"):
        size, connector = node.attributes.get("size"), node.text("sizeConnector")
        if size is not None and connector:
            raise node.refused("it has both size and sizeConnector", hint="leave one of them")
        number = None if size is None else whole(node, "size")
        if number is not None and number < 0:
            raise node.refused(f"size={number} is negative", hint="a size of 0 or more")
        found.append(Dimension(number, connector))
    return tuple(found)


def read_entry(node: XmlNode, kind: str) -> Connector:
    """A connector or an entry of a signal dictionary."""
    type_, _ = read_type(node)
    return Connector(
        node.required("name"), kind=kind, type=type_, place=place_of(node), dimensions=read_dimensions(node)
    )


def read_transformation(owner: XmlNode) -> Transformation | None:
    """What a connection or the entry of a mapping does with values."""
    names = {f"{kind}{'Mapping' if kind != 'Linear' else ''}Transformation": kind for kind in KINDS}
    found = [one for one in owner.children if one.local in names]
    if not found:
        return None
    if len(found) > 1:
        raise found[1].refused(f"{owner.local} has two transformations", hint="leave one of them")
    node = found[0]
    kind = names[node.local].lower()
    if kind == "linear":
        factor, offset = node.number("factor", 1.0), node.number("offset", 0.0)
        assert factor is not None
        assert offset is not None
        return Transformation(kind, place=place_of(node), factor=factor, offset=offset)
    entries: dict[str, str] = {}
    for one in node.all("ssc:MapEntry"):
        source, target = one.text("source").strip(), one.text("target").strip()
        for name, text in (("source", source), ("target", target)):
            if name not in one.attributes:
                raise one.refused(f"attribute {name} is missing", hint=f'write {name}="..."')
            _check_entry(one, kind, name, text)
        key = str(TRUTH[source]) if kind == "boolean" else str(int(source)) if kind == "integer" else source
        if key in entries:
            raise one.refused(f"the source {source!r} is mapped twice", hint="a value has one target: leave one entry")
        entries[key] = target
    return Transformation(kind, place=place_of(node), entries=entries)


def _check_entry(node: XmlNode, kind: str, name: str, text: str) -> None:
    if kind == "boolean" and text not in TRUTH:
        raise node.refused(f"{name}={text!r} is neither true nor false", hint="write true or false")
    if kind == "integer":
        whole(node, name)
