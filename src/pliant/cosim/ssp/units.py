"""From one unit to another: value in base units = factor * value + offset, as FMI and SSP define it."""

from __future__ import annotations

from pliant.cosim.conversion import SAME, Conversion
from pliant.cosim.ssp.content import SignalType, SspPlace, SspScope
from pliant.fmi.description import FmuUnit


def unit_of(type_: SignalType | None, scope: SspScope) -> FmuUnit | None:
    """The unit that a type names; one without definition has its name only. None: it names none."""
    if type_ is None or not type_.unit:
        return None
    return scope.units.get(type_.unit, FmuUnit(type_.unit))


def conversion(
    source: FmuUnit | None, target: FmuUnit | None, place: SspPlace, *, relative: bool = False
) -> Conversion:
    """What converts values; units that are not known convert nothing. ``relative``: a difference, without offsets.

    >>> place = SspPlace("x.ssd", 1, "Connection")
    >>> kmh, speed = FmuUnit("km/h", {"m": 1, "s": -1}, 1 / 3.6), FmuUnit("m/s", {"m": 1, "s": -1})
    >>> round(conversion(kmh, speed, place).carry(36.0), 9)
    10.0
    """
    if source is None or target is None or source == target:
        return SAME
    if source.exponents is not None and target.exponents is not None:
        if dict(source.exponents) != dict(target.exponents):
            raise place.refused(
                f"{source.name} ({_base(source)}) cannot be converted to {target.name} ({_base(target)})",
                hint='correct the units, or write suppressUnitConversion="true" with a LinearTransformation',
            )
        offset = 0.0 if relative else (source.offset - target.offset) / target.factor
        return Conversion(source.factor / target.factor, offset)
    if _plain(source.name) == _plain(target.name):
        return SAME
    undefined = source if source.exponents is None else target
    raise place.refused(
        f"{source.name} cannot be converted to {target.name}: the unit {undefined.name} is not defined",
        hint='define it in Units with its BaseUnit, or write suppressUnitConversion="true"',
    )


def _base(unit: FmuUnit) -> str:
    """The base unit as text."""
    found = [one if n == 1 else f"{one}^{n}" for one, n in (unit.exponents or {}).items()]
    return " ".join(found) or "1"


def _plain(name: str) -> str:
    name = name.strip()
    if name.startswith("[") and name.endswith("]"):  # some tools write units in brackets
        name = name[1:-1]
    return name.replace(" ", "").replace("*", ".")
