"""Units as Modelica writes them (``kg.m/s2``), in SI base units: exponents, factor and offset.

A unit is a product of factors with exponents, separated by ``.``, and one ``/`` behind which everything divides
(Modelica language specification 3.6, chapter 19). What is not known has a name and no base unit.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field

BASE = ("kg", "m", "s", "A", "K", "mol", "cd", "rad")
PREFIXES = {
    **{"Y": 24, "Z": 21, "E": 18, "P": 15, "T": 12, "G": 9, "M": 6, "k": 3, "h": 2, "da": 1},
    **{"d": -1, "c": -2, "m": -3, "u": -6, "n": -9, "p": -12, "f": -15, "a": -18, "z": -21, "y": -24},
}
#: symbol -> factor and base units; those that take prefixes
SI = {
    "g": (1e-3, "kg"),
    "m": (1.0, "m"),
    "s": (1.0, "s"),
    "A": (1.0, "A"),
    "K": (1.0, "K"),
    "mol": (1.0, "mol"),
    "cd": (1.0, "cd"),
    "rad": (1.0, "rad"),
    "sr": (1.0, "rad2"),
    "Hz": (1.0, "s-1"),
    "N": (1.0, "kg m s-2"),
    "Pa": (1.0, "kg m-1 s-2"),
    "J": (1.0, "kg m2 s-2"),
    "W": (1.0, "kg m2 s-3"),
    "C": (1.0, "A s"),
    "V": (1.0, "kg m2 s-3 A-1"),
    "F": (1.0, "kg-1 m-2 s4 A2"),
    "Ohm": (1.0, "kg m2 s-3 A-2"),
    "S": (1.0, "kg-1 m-2 s3 A2"),
    "Wb": (1.0, "kg m2 s-2 A-1"),
    "T": (1.0, "kg s-2 A-1"),
    "H": (1.0, "kg m2 s-2 A-2"),
    "lm": (1.0, "cd rad2"),
    "lx": (1.0, "cd rad2 m-2"),
    "Bq": (1.0, "s-1"),
    "Gy": (1.0, "m2 s-2"),
    "Sv": (1.0, "m2 s-2"),
    "kat": (1.0, "mol s-1"),
    "l": (1e-3, "m3"),
    "L": (1e-3, "m3"),
    "bar": (1e5, "kg m-1 s-2"),
    "eV": (1.602176634e-19, "kg m2 s-2"),
    "Wh": (3600.0, "kg m2 s-2"),
    "VA": (1.0, "kg m2 s-3"),
    "var": (1.0, "kg m2 s-3"),
    "t": (1e3, "kg"),
}
#: those that do not
OTHERS = {
    "min": (60.0, "s"),
    "h": (3600.0, "s"),
    "d": (86400.0, "s"),
    "deg": (math.pi / 180.0, "rad"),
    "rev": (2.0 * math.pi, "rad"),
    "rpm": (math.pi / 30.0, "rad s-1"),
    "percent": (1e-2, ""),
    "%": (1e-2, ""),
    "atm": (101325.0, "kg m-1 s-2"),
    "u": (1.66053906660e-27, "kg"),
    "degK": (1.0, "K"),
}
OFFSETS = {"degC": (1.0, 273.15), "degF": (5.0 / 9.0, 273.15 - 32.0 * 5.0 / 9.0), "degRk": (5.0 / 9.0, 0.0)}
FACTOR = re.compile(r"([A-Za-z%]+)([+-]?\d+)?")


@dataclass(frozen=True)
class BaseUnit:
    """value in SI = factor * value + offset."""

    exponents: dict[str, int] = field(default_factory=dict)
    factor: float = 1.0
    offset: float = 0.0


def base_unit(unit: str) -> BaseUnit | None:
    """The base unit of a unit; None: it is not known.

    >>> base_unit("kg.m/s2")
    BaseUnit(exponents={'kg': 1, 'm': 1, 's': -2}, factor=1.0, offset=0.0)
    >>> base_unit("km/h").factor, base_unit("degC").offset, base_unit("apples")
    (0.2777777777777778, 273.15, None)
    """
    if unit in OFFSETS:
        factor, offset = OFFSETS[unit]
        return BaseUnit({"K": 1}, factor, offset)
    found: dict[str, int] = {}
    scale = 1.0
    numerator, slash, denominator = unit.partition("/")
    if slash and not denominator:
        return None
    for part, way in ((numerator, 1), (denominator.strip("()"), -1)):
        for word in filter(None, (one.strip() for one in part.strip("()").split("."))):
            if word == "1":
                continue
            one = _factor(word)
            if one is None:
                return None
            factor, exponents, power = one
            scale *= factor ** (way * power)
            for name, k in exponents.items():
                found[name] = found.get(name, 0) + way * power * k
    return BaseUnit({name: found[name] for name in BASE if found.get(name)}, _sharp(scale))


def _sharp(value: float) -> float:
    """1000.0000000000001 is 1000."""
    short = float(f"{value:.12g}")
    return short if abs(short - value) <= 1e-15 * abs(value) * 8 else value


def _factor(word: str) -> tuple[float, dict[str, int], int] | None:
    """Factor, base units and exponent of one factor of a unit."""
    matched = FACTOR.fullmatch(word)
    if matched is None:
        return None
    symbol, power = matched[1], int(matched[2] or 1)
    known = _symbol(symbol)
    if known is None:
        return None
    exponents: dict[str, int] = {}
    for one in known[1].split():
        part = re.fullmatch(r"([A-Za-z]+)(-?\d+)?", one)
        assert part is not None
        exponents[part[1]] = int(part[2] or 1)
    return known[0], exponents, power


def _symbol(symbol: str) -> tuple[float, str] | None:
    if symbol in SI:
        return SI[symbol]
    if symbol in OTHERS:
        return OTHERS[symbol]
    for prefix, exponent in PREFIXES.items():
        rest = symbol[len(prefix) :]
        if symbol.startswith(prefix) and rest in SI:
            factor, base = SI[rest]
            return factor * 10.0**exponent, base
    return None
