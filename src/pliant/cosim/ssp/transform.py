"""Transformations of connections and of parameter mappings, checked against the types on both sides.

Units are converted first, the transformation acts on the value in the target's unit (SSP, LinearTransformation).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pliant.cosim.conversion import SAME, Conversion
from pliant.cosim.ssp.content import SspPlace, Transformation
from pliant.cosim.ssp.units import conversion
from pliant.cosim.ssp.xml import TRUTH
from pliant.fmi.description import FmuUnit
from pliant.solve.names import suggestion

NOUN = {"linear": "a real number", "boolean": "a Boolean", "integer": "an Integer or an enumeration"}
FITS = {
    "linear": ("real",),
    "boolean": ("boolean",),
    "integer": ("integer", "enumeration"),
    "enumeration": ("enumeration",),
}
#: source -> targets that take its values as they are
LOSSLESS = {"integer": ("real", "enumeration"), "enumeration": ("integer",)}


@dataclass(frozen=True)
class Quantity:
    """What is known of a value at one place. base "": nothing."""

    base: str = ""
    unit: FmuUnit | None = None
    items: Mapping[str, int] | None = None  # of an enumeration
    relative: bool = False

    def seen(self, other: Quantity) -> Quantity:
        """The same value at another place that knows more, or less."""
        same = not other.base or other.base == self.base
        return Quantity(
            other.base or self.base,
            other.unit if other.unit is not None else self.unit,
            (other.items or self.items) if same else other.items,
            self.relative or other.relative,
        )


def step(
    source: Quantity, target: Quantity, place: SspPlace, transformation: Transformation | None, suppress: bool
) -> Conversion:
    """What happens to values between two places."""
    kind = "" if transformation is None else transformation.kind
    if transformation is not None:
        for one, what in ((source, "source"), (target, "target")):
            if one.base and one.base not in FITS[kind]:
                raise transformation.place.refused(
                    f"the {what} of {place.element} is {one.base}, and this transformation is for "
                    f"{NOUN.get(kind, 'enumerations')}",
                    hint="another transformation, or a connector of another type",
                )
    check_types(source, target, place, kind)
    found = SAME
    if not suppress and "real" in (source.base or "real", target.base or "real"):
        relative = source.relative or target.relative
        found = conversion(source.unit, target.unit, place, relative=relative)
    if transformation is None:
        return found
    return found.then(as_conversion(transformation, source.items, target.items))


def check_types(source: Quantity, target: Quantity, place: SspPlace, kind: str = "") -> None:
    """Refuse what does not fit; ``kind``: of a transformation between them."""
    a, b = source.base, target.base
    if not a or not b:
        return
    if a == b == "enumeration" and kind not in ("integer", "enumeration") and source.items and target.items:
        missing = [one for one, value in source.items.items() if value not in target.items.values()]
        if missing:
            raise place.refused(
                f"the enumerations differ: the target has no item with the value of {missing[0]!r}",
                hint="an EnumerationMappingTransformation or IntegerMappingTransformation",
            )
    mapped = kind == "integer" and {a, b} <= {"integer", "enumeration"}
    if a != b and b not in LOSSLESS.get(a, ()) and not mapped:
        raise place.refused(
            f"types differ: {a} on one side, {b} on the other", hint="connect variables of the same type"
        )


def as_conversion(
    one: Transformation, source: Mapping[str, int] | None = None, target: Mapping[str, int] | None = None
) -> Conversion:
    """A transformation in numbers; names of items by the enumerations of both sides."""
    if one.kind == "linear":
        return Conversion(one.factor, one.offset)
    if one.kind == "boolean":
        return Conversion.mapping({float(TRUTH[a.lower()]): float(TRUTH[b]) for a, b in one.entries.items()})
    if one.kind == "integer":
        values = set((target or {}).values())
        for value in one.entries.values():
            if values and int(value) not in values:
                raise one.place.refused(
                    f"{value} is no value of the target's enumeration", hint=f"one of {sorted(values)}"
                )
        return Conversion.mapping({float(a): float(b) for a, b in one.entries.items()})
    if not source or not target:
        side = "source" if not source else "target"
        raise one.place.refused(
            f"the items of the {side}'s enumeration are not known", hint="define it in Enumerations"
        )
    found = {}
    for a, b in one.entries.items():
        for name, items in ((a, source), (b, target)):
            if name not in items:
                raise one.place.refused(f"{name!r} is no item of its enumeration", hint=suggestion(name, items))
        found[float(source[a])] = float(target[b])
    return Conversion.mapping(found)
