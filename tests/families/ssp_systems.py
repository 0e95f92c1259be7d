"""Random systems of SSP: nested systems, routes with units and transformations, parameter sets on all levels.

What each connection does to a value, and which value each parameter gets, is known while the files are written: values
are sent along the route by plain arithmetic, and of all assignments the outermost, then the latest is kept. pliant
reads the system, loads it, saves it, and reads it again; every time the tables must be the same.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from support_fmus import fmu
from support_ssp import NS, binding, bindings, component, mapping, package, ssd, system, wire

import pliant
from families import RIGHT, WRONG, Family, Outcome

Path_ = tuple[str, ...]
F = {"x": "local", "u": "input", "T": "parameter"}
#: name -> quantity, factor, offset: base = factor*v + offset
UNITS = {
    "K": ("K", 1.0, 0.0),
    "degC": ("K", 1.0, 273.15),
    "degF": ("K", 5.0 / 9.0, 459.67 * 5.0 / 9.0),
    "W": ("W", 1.0, 0.0),
    "kW": ("W", 1000.0, 0.0),
    "hp": ("W", 745.7, 0.0),
}
BASES = {"K": 'K="1"', "W": 'kg="1" m="2" s="-3"'}
DEFINED = "".join(
    f'<ssc:Unit name="{name}"><ssc:BaseUnit {BASES[base]} factor="{factor!r}" offset="{offset!r}"/></ssc:Unit>'
    for name, (base, factor, offset) in UNITS.items()
)
SCALES = {"s": 1.0, "ms": 1e-3, "min": 60.0}
TIMES = "<ssv:Units>" + "".join(
    f'<ssc:Unit name="{name}"><ssc:BaseUnit s="1" factor="{factor!r}"/></ssc:Unit>' for name, factor in SCALES.items()
)
TIMES += "</ssv:Units>"
PROBES = (-2.0, 0.0, 3.5)


@dataclass
class Place:
    """A system while it is made."""

    path: Path_
    components: list[str] = field(default_factory=list)
    systems: list[Place] = field(default_factory=list)
    connectors: dict[str, str] = field(default_factory=dict)  # name -> kind and type
    inside: dict[str, dict[str, str]] = field(default_factory=dict)  # connectors of its components
    wires: list[str] = field(default_factory=list)
    sets: list[str] = field(default_factory=list)
    entries: list[str] = field(default_factory=list)  # of its signal dictionary
    references: dict[str, list[str]] = field(default_factory=dict)  # dictionary -> entries

    def all(self) -> list[Place]:
        """This one and those inside."""
        return [self, *(one for inner in self.systems for one in inner.all())]

    def text(self) -> str:
        """The element."""
        parts = [component(name, "resources/filter.fmu", self.inside[name]) for name in self.components]
        parts += [one.text() for one in self.systems]
        for name, entries in self.references.items():
            listed = "".join(f'<ssd:Connector name="{one}" kind="inout"/>' for one in entries)
            parts.append(
                f'<ssd:SignalDictionaryReference name="{name}_ref" dictionary="{name}"><ssd:Connectors>{listed}'
                "</ssd:Connectors></ssd:SignalDictionaryReference>"
            )
        bus = ""
        if self.entries:
            bus = (
                f'<ssd:SignalDictionaries><ssd:SignalDictionary name="{self.bus}"><ssb:SignalDictionary {NS} '
                f'version="1.0">{"".join(self.entries)}<ssb:Units>{DEFINED}</ssb:Units></ssb:SignalDictionary>'
                "</ssd:SignalDictionary></ssd:SignalDictionaries>"
            )
        sets = bindings(*self.sets) if self.sets else ""
        name = self.path[-1] if self.path else "root"
        return system(name, kinds=self.connectors, bindings=sets, elements=parts, wires=self.wires, more=bus)

    @property
    def bus(self) -> str:
        """Name of its signal dictionary."""
        return "bus" + "".join(self.path)


class Maker:
    """One random system with its tables."""

    def __init__(self, seed: int) -> None:
        self.chance = np.random.default_rng(seed)
        self.count = 0
        self.root = self._system((), 0)
        self.homes = [(place, name) for place in self.root.all() for name in place.components]
        self.wires: dict[tuple[str, str], list[float]] = {}
        self.values: dict[str, tuple[tuple[int, int], float]] = {}
        for place, name in self.homes:
            if self.chance.random() < 0.8:
                source = self.homes[int(self.chance.integers(len(self.homes)))]
                self._route(source, (place, name))
        for order in range(int(self.chance.integers(1, 12))):
            self._assign(order)

    def _system(self, path: Path_, depth: int) -> Place:
        place = Place(path)
        place.components = [f"c{k}" for k in range(int(self.chance.integers(1, 4)))]
        place.inside = {name: {} for name in place.components}
        if depth < 3:
            count = int(self.chance.integers(0, 3 - depth + (depth == 0)))
            place.systems = [self._system((*path, f"s{k}"), depth + 1) for k in range(count)]
        return place

    # ------------------------------------------------------------------------------------------------------- routes

    def _unit(self, quantity: str) -> str:
        """A unit of the quantity, or none."""
        names = [name for name, one in UNITS.items() if one[0] == quantity]
        return str(self.chance.choice(["", *names]))

    def _route(self, source: tuple[Place, str], target: tuple[Place, str]) -> None:
        quantity = str(self.chance.choice(["K", "W"]))
        (a, start), (b, end) = source, target
        start_kind = a.inside[start].get("x", "")
        if "unit=" in start_kind:  # the source has a unit already
            quantity = UNITS[start_kind.split("unit='")[1][:-1]][0]
        if not start_kind:
            a.inside[start]["x"] = self._kind("local", self._unit(quantity))
        unit = self._unit_of(a.inside[start]["x"])
        self.now, self.unit = list(PROBES), unit
        n = 0
        while n < min(len(a.path), len(b.path)) and a.path[n] == b.path[n]:
            n += 1
        n = int(self.chance.integers(0, n + 1))  # it may take a longer way
        at, here = f"{start}/x", a
        while len(here.path) > n:
            name = self._connector(here, "output", quantity)
            self._hop(here, at, name, self._unit_of(here.connectors[name]))
            at, here = f"{here.path[-1]}/{name}", self._place(here.path[:-1])
        top = here
        last = self._kind("input", self._unit(quantity))
        down = [self._place(b.path[:k]) for k in range(n + 1, len(b.path) + 1)]
        if self.chance.random() < 0.3:
            at = self._over_bus(top, at, quantity)
        inner = top
        for place in down:
            name = self._connector(place, "input", quantity)
            self._hop(inner, at, f"{place.path[-1]}/{name}", self._unit_of(place.connectors[name]))
            at, inner = name, place
        b.inside[end]["u"] = last
        self._hop(b, at, f"{end}/u", self._unit_of(last))
        self.wires[".".join((*a.path, start, "x")), ".".join((*b.path, end, "u"))] = self.now

    def _over_bus(self, place: Place, at: str, quantity: str) -> str:
        """Through a signal dictionary."""
        self.count += 1
        name, unit = f"e{self.count}", self._unit(quantity)
        given = f' unit="{unit}"' if unit else ""
        place.entries.append(f'<ssb:DictionaryEntry name="{name}"><ssc:Real{given}/></ssb:DictionaryEntry>')
        place.references.setdefault(place.bus, []).append(name)
        self._hop(place, at, f"{place.bus}_ref/{name}", unit)
        return f"{place.bus}_ref/{name}"

    def _place(self, path: Path_) -> Place:
        return next(one for one in self.root.all() if one.path == path)

    @staticmethod
    def _kind(kind: str, unit: str) -> str:
        return f"{kind} Real unit='{unit}'" if unit else f"{kind} Real"

    @staticmethod
    def _unit_of(kind: str) -> str:
        return kind.split("unit='")[1][:-1] if "unit=" in kind else ""

    def _connector(self, place: Place, kind: str, quantity: str) -> str:
        self.count += 1
        name = f"p{self.count}"
        place.connectors[name] = self._kind(kind, self._unit(quantity))
        return name

    def _hop(self, place: Place, start: str, end: str, unit: str) -> None:
        """A connection, written in either direction; the values go along."""
        suppress = self.chance.random() < 0.2
        if self.unit and unit and not suppress:
            (_, f, o), (_, g, p) = UNITS[self.unit], UNITS[unit]
            self.now = [(f * v + o - p) / g for v in self.now]
        self.unit = unit or self.unit
        inside = ""
        if self.chance.random() < 0.3:
            factor, offset = (float(np.round(self.chance.uniform(-3, 3), 2)) for _ in range(2))
            self.now = [factor * v + offset for v in self.now]
            inside = f'<ssc:LinearTransformation factor="{factor!r}" offset="{offset!r}"/>'
        ends = (start, end) if self.chance.random() < 0.5 else (end, start)
        place.wires.append(wire(*ends, inside, 'suppressUnitConversion="true"' if suppress else ""))

    # --------------------------------------------------------------------------------------------------- parameters

    def _assign(self, order: int) -> None:
        """One binding somewhere above a component."""
        home, name = self.homes[int(self.chance.integers(len(self.homes)))]
        depth = int(self.chance.integers(0, len(home.path) + 1))
        owner = self._place(home.path[:depth])
        words = (*home.path[depth:], name, "T")
        cut = int(self.chance.integers(0, len(words)))
        prefix, rest = ".".join(words[:cut]) + "." if cut else "", ".".join(words[cut:])
        value, unit = float(np.round(self.chance.uniform(1, 9), 3)), str(self.chance.choice(["", *SCALES]))
        found = value * SCALES[unit] if unit else value
        given = f'Real value="{value!r}"' + (f' unit="{unit}"' if unit else "")
        told = f'prefix="{prefix}"' if prefix else ""
        extra = {f"nothing{order}": 'Real value="1"'}
        if self.chance.random() < 0.5:
            factor, offset = (
                float(np.round(self.chance.uniform(0.5, 2), 2)),
                float(np.round(self.chance.uniform(0, 2), 2)),
            )
            suppress = bool(self.chance.random() < 0.3)
            found = factor * (value if suppress else found) + offset
            entry = f'source="{prefix}a{order}" target="{".".join(words)}"' + (
                ' suppressUnitConversion="true"' if suppress else ""
            )
            entry += f'><ssc:LinearTransformation factor="{factor!r}" offset="{offset!r}"/>'
            owner.sets.append(binding({f"a{order}": given, **extra}, mapping([entry]), told, TIMES))
        else:
            owner.sets.append(binding({rest: given, **extra}, "", told, TIMES))
        full, rank = ".".join((*home.path, *words[len(words) - 2 :])), (-depth, order)
        if full not in self.values or self.values[full][0] < rank:
            self.values[full] = rank, found

    def text(self) -> str:
        """The whole .ssd."""
        return ssd(self.root.text() + f"<ssd:Units>{DEFINED}</ssd:Units>", version="2.0")


def difference(report: pliant.SystemReport, made: Maker) -> str:
    """What is not as it was made, in words."""
    wires = {(one.source, one.target): [one.through.carry(v) for v in PROBES] for one in report.connections}
    values = {one.name: one.value for one in report.parameters if one.name.endswith(".T")}
    wanted = {name: value for name, (_, value) in made.values.items()}
    if wires.keys() != made.wires.keys():
        return f"connections {set(wires) ^ set(made.wires)}"
    for key, numbers in made.wires.items():
        if not np.allclose(wires[key], numbers, rtol=1e-9, atol=1e-9 * max(map(abs, numbers))):
            return f"{key}: {wires[key]} instead of {numbers}"
    if values.keys() != wanted.keys():
        return f"parameters {set(values) ^ set(wanted)}"
    return next((f"{k}: {values[k]} instead of {v}" for k, v in wanted.items() if not np.isclose(values[k], v)), "")


def check(seed: int) -> Outcome:
    """Read, load, save, read again."""
    made = Maker(seed)
    with tempfile.TemporaryDirectory() as folder:
        files = {"SystemStructure.ssd": made.text(), "resources/filter.fmu": fmu("filter")}
        path = package(Path(folder) / "x.ssp", files)
        for told in ("read", "saved"):
            report = pliant.inspect(path)
            assert isinstance(report, pliant.SystemReport)
            wrong = difference(report, made)
            if wrong:
                return Outcome(seed, WRONG, f"{told}: {wrong}")
            if told == "read":
                with pliant.load_system(path) as coupling:  # type: ignore[attr-defined]
                    path = coupling.save(Path(folder) / "y.ssp")
    return Outcome(seed, RIGHT)


FAMILY = Family(
    "ssp_systems",
    "random systems of SSP (nested, units, transformations, signal dictionaries, parameter sets on all levels), read, "
    "loaded, saved and read again, against arithmetic",
    "all right",
    300,
    6,
    check,
)
