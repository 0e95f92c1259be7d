"""The step for measurement and calibration tools: a description in ASAP2 (ASAM MCD-2 MC, version 1.7.1).

    MEASUREMENT     states, discrete variables, the counter of steps in X_instance; inputs in X_in, outputs in X_out
    GROUP           ... of each kind, and of what each clock computes
    CHARACTERISTIC  default parameters in X_calibration, which X_init and X_set_parameters use

Symbols with offsets stand for addresses until ``pliant a2l`` (target/addresses.py) takes these from an ELF file.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pliant.codegen.names import member_names
from pliant.solve.names import is_hidden

if TYPE_CHECKING:
    from pliant.realtime.code.make import StepCode
    from pliant.solve.models.known import Known
    from pliant.solve.results.result import VariableInfo

LARGEST = {"double": 1.7976931348623157e308, "float": 3.4028234663852886e38}
TYPE = {"double": "FLOAT64_IEEE", "float": "FLOAT32_IEEE"}
BYTES = {"double": 8, "float": 4}
COUNTER = "pliant.step"
PART = re.compile(r"[A-Za-z_]\w*(\[\d+(,\d+)*\])*", re.ASCII)


@dataclass(frozen=True)
class Symbol:
    """One value: its name in the model and in the tool, and where it lies."""

    name: str
    identifier: str
    symbol: str
    offset: int


def a2l_text(code: StepCode, known: Known) -> str:
    """The description of all that an engineer may look at or set."""
    n, size = code.name, BYTES[code.precision]

    def row(names: Sequence[str], symbol: str, first: int = 0) -> list[tuple[str, str, int]]:
        return [(name, f"{n}_{symbol}", first + k * size) for k, name in enumerate(names)]

    states = row(code.x_names, "instance", code.offsets.get("x", 0))
    memories = row(code.memories, "instance", code.offsets.get("d", 0))
    seen = {*code.x_names, *code.memories}
    outputs = [one for one in row(code.y_names, "out") if one[0] not in seen]
    groups = {
        "states": states,
        "discrete_variables": memories,
        "inputs": row(code.u_names, "in"),
        "outputs": outputs,
        "parameters": row(code.p_names, "calibration"),
    }
    named = _identified({title: [one for one in rows if not is_hidden(one[0])] for title, rows in groups.items()})
    units = _units(known, [one.name for rows in named.values() for one in rows])
    text = _Lines(code, known, units)
    for title, rows in named.items():
        for one in rows:
            (text.characteristic if title == "parameters" else text.measurement)(one)
    text.counter(f"{n}_instance", code.offsets["step"])
    for title, rows in named.items():
        if rows:
            text.group(title, "CHARACTERISTIC" if title == "parameters" else "MEASUREMENT", rows)
    for rate in code.rates:
        own = [code.memories[k] for k in rate.members]
        text.group(f"rate_{rate.name}", "MEASUREMENT", [one for one in named["discrete_variables"] if one.name in own])
    body = "\n".join(f"    {line}" for line in text.lines)
    return f"""ASAP2_VERSION 1 71
/begin PROJECT {n} {quoted(f"{code.name}: a step of {code.tau!r} s, written by pliant")}
  /begin MODULE {n} ""
    /begin MOD_COMMON ""
      BYTE_ORDER MSB_LAST
      ALIGNMENT_FLOAT32_IEEE 4
      ALIGNMENT_FLOAT64_IEEE 8
      ALIGNMENT_INT64 8
    /end MOD_COMMON
    /begin RECORD_LAYOUT one_value
      FNC_VALUES 1 {TYPE[code.precision]} ROW_DIR DIRECT
    /end RECORD_LAYOUT
{body}
  /end MODULE
/end PROJECT
"""


def quoted(text: str) -> str:
    """A text in ASCII between quotes; letters lose their accents, other characters become question marks."""
    plain = unicodedata.normalize("NFKD", text.replace("Ω", "Ohm").replace("Ω", "Ohm").replace("µ", "u"))
    kept = "".join(one for one in plain if not unicodedata.combining(one))
    ascii_only = " ".join(kept.encode("ascii", "replace").decode().split())
    return '"' + ascii_only.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _identified(groups: dict[str, list[tuple[str, str, int]]]) -> dict[str, list[Symbol]]:
    """Names as ASAP2 allows them: v[1,2] as v[1][2], others as members of C structs are named; all different."""
    names = [row[0] for rows in groups.values() for row in rows]
    members = iter(member_names(names))
    taken = {COUNTER}
    out: dict[str, list[Symbol]] = {}
    for title, rows in groups.items():
        out[title] = []
        for name, symbol, offset in rows:
            member = next(members)
            fits = all(PART.fullmatch(part) for part in name.split("."))
            identifier = re.sub(r"(\d),(?=\d)", r"\1][", name) if fits else member
            while identifier in taken:
                identifier += "_"
            taken.add(identifier)
            out[title].append(Symbol(name, identifier, symbol, offset))
    return out


def _units(known: Known, names: Iterable[str]) -> dict[str, str]:
    """Unit -> name of its conversion."""
    units = dict.fromkeys(known.variables[name].unit for name in names if name in known.variables)
    return {unit: f"unit_{k}" if unit else "no_unit" for k, unit in enumerate({"": None} | units)}


class _Lines:
    """Lines of one module."""

    def __init__(self, code: StepCode, known: Known, units: dict[str, str]) -> None:
        self.code, self.known, self.units = code, known, units
        self.type = TYPE[code.precision]
        self.lines = []
        for unit, name in units.items():
            self.lines += [f'/begin COMPU_METHOD {name} "" IDENTICAL "%.9" {quoted(unit)}', "/end COMPU_METHOD"]

    def _info(self, name: str) -> VariableInfo | None:
        return self.known.variables.get(name)

    def _said(self, one: Symbol) -> tuple[str, str, str]:
        """Description, conversion, limits."""
        info, most = self._info(one.name), LARGEST[self.code.precision]
        words = info.description if info is not None else ""
        told = words if one.identifier == one.name else f"{one.name}: {words}" if words else one.name
        low = info.min if info is not None and info.min is not None else -most
        high = info.max if info is not None and info.max is not None else most
        unit = self.units[info.unit if info is not None else ""]
        return quoted(told), unit, f"{max(low, -most)!r} {min(high, most)!r}"

    def measurement(self, one: Symbol) -> None:
        """Something to look at."""
        told, unit, limits = self._said(one)
        self.lines += [
            f"/begin MEASUREMENT {one.identifier} {told} {self.type} {unit} 0 0 {limits}",
            "  ECU_ADDRESS 0x0",
            f'  SYMBOL_LINK "{one.symbol}" {one.offset}',
            "/end MEASUREMENT",
        ]

    def characteristic(self, one: Symbol) -> None:
        """Something to set."""
        told, unit, limits = self._said(one)
        self.lines += [
            f"/begin CHARACTERISTIC {one.identifier} {told} VALUE 0x0 one_value 0 {unit} {limits}",
            f'  SYMBOL_LINK "{one.symbol}" {one.offset}',
            "/end CHARACTERISTIC",
        ]

    def counter(self, symbol: str, offset: int) -> None:
        """Steps done."""
        self.lines += [
            f'/begin MEASUREMENT {COUNTER} "steps done" A_INT64 no_unit 0 0 0 9.2e18',
            "  ECU_ADDRESS 0x0",
            f'  SYMBOL_LINK "{symbol}" {offset}',
            "/end MEASUREMENT",
        ]

    def group(self, title: str, kind: str, rows: Sequence[Symbol]) -> None:
        """What belongs together."""
        self.lines += [
            f'/begin GROUP {title} "" ROOT',
            f"  /begin REF_{kind}",
            *(f"    {one.identifier}" for one in rows),
            f"  /end REF_{kind}",
            "/end GROUP",
        ]
