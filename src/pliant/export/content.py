"""What an exported FMU consists of before any file is written: data that all its writers share."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from pliant.export.units import BaseUnit, base_unit
from pliant.export.variables import ExportedVariable

NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# structured names: FMI 2.0.4, section 2.2.9; FMI 3.0, section 2.4.4
IDENTIFIER = r"(?:[A-Za-z_][A-Za-z_0-9]*|'(?:[^'\\]|\\['\"?\\abfnrtv])+')"
ARRAY = r"(?:\[\d+(?:,\d+)*\])?"
PATH = rf"{IDENTIFIER}{ARRAY}(?:\.{IDENTIFIER}{ARRAY})*"
STRUCTURED = re.compile(rf"(?:{PATH}|der\({PATH}(?:,\d+)?\))")


@dataclass(frozen=True)
class FmuContent:
    """One FMU to be written."""

    name: str  # of the model
    identifier: str  # the same for C
    token: str
    version: str  # of FMI
    exchange: bool
    steps: bool
    tool: str
    rtol: float | None  # None: the step is fixed
    variables: tuple[ExportedVariable, ...]
    indicators: tuple[int, ...]  # root functions that importers look at
    sources: tuple[str, ...] = ()  # files to be compiled
    definitions: tuple[tuple[str, str], ...] = ()
    fixed_step: float | None = None  # of a real-time step
    start: float | None = None  # of the run that the model suggests
    stop: float | None = None
    derivatives: bool = True  # along a direction
    events: bool = True  # FMI 3: event mode in co-simulation
    between: bool = True  # FMI 3: intermediate update
    input_degree: int = 3
    description: str = ""
    files: tuple[tuple[str, bytes], ...] = ()  # more of the archive

    @cached_property
    def reference(self) -> dict[str, int]:
        """Value reference of each variable."""
        return {one.name: k for k, one in enumerate(self.variables)}

    @property
    def experiment(self) -> dict[str, str]:
        """What importers do if nobody says more."""
        return attributes(
            [
                ("startTime", self.start),
                ("stopTime", self.stop),
                ("tolerance", self.rtol),
                ("stepSize", self.fixed_step),
            ]
        )

    @property
    def states(self) -> list[ExportedVariable]:
        """Continuous states in order."""
        return [one for one in self.variables if one.is_state]

    @property
    def slopes(self) -> list[ExportedVariable]:
        """Their derivatives in order."""
        return [one for one in self.variables if one.derivative_of]

    @property
    def outputs(self) -> list[ExportedVariable]:
        """Declared outputs."""
        return [one for one in self.variables if one.causality == "output"]

    @property
    def initial_unknowns(self) -> list[ExportedVariable]:
        """What is computed at the start, of those that the standards want to hear of."""
        unknown = ("approx", "calculated")
        return [
            one
            for one in self.variables
            if one.initial in unknown
            and (one.causality in ("output", "calculatedParameter") or one.is_state or one.derivative_of)
        ]

    @cached_property
    def units(self) -> dict[str, BaseUnit | None]:
        """Units in use."""
        names = sorted({one.unit for one in self.variables if one.unit})
        return {name: base_unit(name) for name in names}

    @cached_property
    def enumerations(self) -> dict[tuple[str, ...], str]:
        """Literals -> name of the type."""
        found = dict.fromkeys(one.literals for one in self.variables if one.type == "enumeration")
        return {literals: f"pliant.Enumeration{k}" for k, literals in enumerate(found, 1)}

    @cached_property
    def naming(self) -> str:
        """Do all names follow the rules of structured names?"""
        names = [name for one in self.variables for name in (one.name, *(other.name for other in one.aliases))]
        return "structured" if all(STRUCTURED.fullmatch(name) for name in names) else "flat"


def c_identifier(name: str) -> str:
    """A name that C, and every file system, takes."""
    found = re.sub(r"[^A-Za-z0-9_]", "_", name)[:60]
    return found if re.match(r"[A-Za-z]", found) else f"m_{found}"


def xml_text(text: str) -> str:
    """Without the characters that XML cannot contain."""
    return NOT_XML.sub("\ufffd", text)


def attributes(pairs: Iterable[tuple[str, object]]) -> dict[str, str]:
    """Those that have a value, as XML writes them."""
    out: dict[str, str] = {}
    for key, value in pairs:
        if value is None or value == "":
            continue
        if isinstance(value, bool):
            out[key] = "true" if value else "false"
        else:
            out[key] = xml_text(value) if isinstance(value, str) else repr(value)
    return out


def bounds(one: ExportedVariable) -> list[tuple[str, object]]:
    """min and max, where they are finite and in order."""
    low, high = (None if b is None or abs(b) >= 1e300 or math.isnan(b) else b for b in (one.min, one.max))
    if low is not None and high is not None and low > high:
        return []
    if one.type == "integer":
        low, high = (None if b is None or abs(b) >= 2**31 else round(b) for b in (low, high))
    return [("min", low), ("max", high)]


def start_text(one: ExportedVariable) -> object:
    """The start value in its type; None: it has none."""
    if one.start is None:
        return None
    if one.type == "boolean":
        return bool(one.start)
    return round(one.start) if one.type in ("integer", "enumeration") else float(one.start)


def xml_file(root: ET.Element) -> bytes:
    """The whole text of a file."""
    ET.indent(root)
    body: bytes = ET.tostring(root, "utf-8")
    return b'<?xml version="1.0" encoding="UTF-8"?>\n' + body + b"\n"
