"""What is in an FMU, for people and machines: ``pliant.inspect("x.fmu")``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any

from pliant.arguments import as_path
from pliant.calls import by_keyword, by_keyword_class
from pliant.fmi.description import FmuDescription, FmuFinding, FmuInterface, FmuUnknown, FmuVariable
from pliant.fmi.info import Contents, open_fmu
from pliant.fmi.options import FmuOptions
from pliant.fmi.platforms import this_platform
from pliant.pickled import Stamped
from pliant.plain import plain

SHOWN = 20  # entries of a list in the text
WIDEST = 40
GROUPS = ("state", "input", "output", "parameter", "structural parameter", "local", "constant")
NOT_FLAGS = ("kind", "model_identifier", "refusal", "source_files", "line")


@by_keyword_class
@dataclass(frozen=True)
class FmuReport(Stamped):
    """What is in an FMU; the result of :func:`pliant.inspect` for an FMU.

    description  everything of its modelDescription.xml
    platforms    for which it has binaries
    has_sources  are C sources inside?
    obstacles    kind -> why it cannot be run here; "": it can
    findings     what is against the standard, and how it was taken
    """

    path: str
    _: KW_ONLY
    description: FmuDescription
    platforms: tuple[str, ...]
    has_sources: bool
    obstacles: Mapping[str, str]
    findings: tuple[FmuFinding, ...]

    @property
    def name(self) -> str:
        """Name of the model."""
        return self.description.name

    @property
    def warnings(self) -> tuple[str, ...]:
        """The findings as texts."""
        return tuple(str(one) for one in self.findings)

    def rows(self) -> list[tuple[str, FmuUnknown]]:
        """The unknowns of the structure picture: derivatives, outputs and event indicators, with what they are."""
        structure = self.description.structure
        found = [("derivative", one) for one in structure.derivatives]
        found += [("output", one) for one in structure.outputs]
        return found + [("event indicator", one) for one in structure.event_indicators]

    def columns(self) -> list[tuple[str, int]]:
        """What they may depend on: states, inputs, and whatever else is listed as a dependency; places of variables."""
        variables = self.description.variables
        known = dict.fromkeys(self.description.structure.states, "state")
        known.update(
            (k, "input") for k, one in enumerate(variables) if one.causality == "input" and one.type != "Clock"
        )
        for _, unknown in self.rows():
            for place in unknown.dependencies or ():
                known.setdefault(place, variables[place].causality)
        return [(kind, place) for place, kind in known.items()]

    def as_dict(self) -> dict[str, Any]:
        """Everything, as JSON can hold it; keys stay the same between versions."""
        found: dict[str, Any] = self.description.as_dict()
        found["findings"] = [one.as_dict() for one in self.findings]
        found |= {"path": self.path, "platforms": list(self.platforms), "has_sources": self.has_sources}
        found["obstacles"] = plain(self.obstacles)
        found["kinds"] = list(self.description.kinds)
        found["n_variables"] = len(self.description.variables)
        return found

    @by_keyword
    def write_page(self, file: str | Path) -> Path:
        """Write one HTML page, without outside resources: capabilities, structure, variables, findings."""
        from pliant.fmi.page import write_page

        return write_page(self, as_path("the file", file))

    def __repr__(self) -> str:
        kinds = " and ".join(self.description.kinds)
        return f"<pliant.FmuReport {self.name!r}: FMI {self.description.version}, {kinds}>"

    def __str__(self) -> str:
        return "\n".join(self._lines())

    # ------------------------------------------------------------------------------------------------- its text

    def _lines(self) -> Iterator[str]:
        found = self.description
        yield f"{found.name}: FMI {found.version}, {' and '.join(found.kinds)}"
        yield from (
            f"  {key:9} {value}"
            for key, value in (
                ("made by", found.tool),
                ("date", found.date),
                ("author", found.author),
                ("version", found.model_version),
                ("about", found.description),
            )
            if value
        )
        yield "Platforms" + ("" if self.platforms else ": none") + (", with C sources" if self.has_sources else "")
        if self.platforms:
            yield f"  {', '.join(self.platforms)}"
        for kind, interface in found.interfaces.items():
            yield kind.capitalize()
            obstacle = self.obstacles[kind]
            yield f"  cannot be run here: {obstacle}" if obstacle else "  can be run here"
            yield f"  {', '.join(capabilities(interface)) or 'no capabilities beyond the required ones'}"
        experiment = {key: value for key, value in found.experiment.as_dict().items() if value is not None}
        if experiment:
            yield "Default experiment"
            yield "  " + ", ".join(f"{key} {value:g}" for key, value in experiment.items())
        yield from self._variable_lines()
        yield from self._structure_lines()
        if self.findings:
            yield "Findings"
            yield from _first([f"  {one}" for one in self.findings[: 3 * SHOWN]], len(self.findings))

    def _variable_lines(self) -> Iterator[str]:
        found = self.description
        counts = Counter(self.group(k) for k in range(len(found.variables)))
        listed = ", ".join(plural(counts[key], key) for key in GROUPS if counts[key])
        yield f"{plural(len(found.variables), 'variable')}" + (f": {listed}" if listed else "")
        # what a user sets or reads comes first
        order = sorted(range(len(found.variables)), key=lambda k: GROUPS.index(self.group(k)))[:SHOWN]
        rows = [self.cells(k) for k in order]
        widths = [min(WIDEST, max(len(row[j]) for row in rows)) for j in range(5)] if rows else []
        lines = ["  " + "  ".join(f"{cell:{w}}" for cell, w in zip(row[:5], widths, strict=True)) for row in rows]
        lines = [f"{line}  {row[5]}".rstrip() for line, row in zip(lines, rows, strict=True)]
        yield from _first(lines, len(found.variables))

    def group(self, place: int) -> str:
        """What a variable is to a user."""
        one = self.description.variables[place]
        if place in self._states:
            return "state"
        if one.variability == "constant":
            return "constant"
        if one.causality == "structuralParameter":
            return "structural parameter"
        return one.causality if one.causality in GROUPS else "local"

    @property
    def _states(self) -> frozenset[int]:
        if "_kept" not in self.__dict__:
            self.__dict__["_kept"] = frozenset(self.description.structure.states)
        return self.__dict__["_kept"]  # type: ignore[no-any-return]

    def cells(self, place: int) -> tuple[str, str, str, str, str, str]:
        """Name, group, type, start, unit and description of a variable."""
        one = self.description.variables[place]
        shape = f"[{', '.join(map(str, one.shape))}]" if one.dimensions else ""
        start = start_text(one, self.description)
        return one.name, self.group(place), one.type + shape, start, one.unit, one.description

    def _structure_lines(self) -> Iterator[str]:
        rows, variables = self.rows(), self.description.variables
        if not rows:
            return
        structure = self.description.structure
        sizes = [
            plural(len(structure.states), "state"),
            plural(len(structure.outputs), "output"),
            plural(structure.n_event_indicators, "event indicator"),
        ]
        yield f"Structure: {', '.join(sizes)}"
        lines = []
        for kind, one in rows[:SHOWN]:
            names = [variables[place].name for place in one.dependencies or ()]
            on = "dependencies are not given" if one.dependencies is None else ", ".join(names[:8]) or "nothing"
            lines.append(f"  {kind} {variables[one.variable].name}: {on}" + (", ..." if len(names) > 8 else ""))
        yield from _first(lines, len(rows))

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key != "_kept"}


def capabilities(interface: FmuInterface) -> list[str]:
    """What an interface says that it can do or needs, in words."""
    found = []
    for key, value in interface.as_dict().items():
        if key not in NOT_FLAGS and value not in (False, 0, None):
            words = key.replace("_", " ")
            found.append(words if value is True else f"{words} {value:g}")
    return found


def start_text(one: FmuVariable, description: FmuDescription) -> str:
    """The start value as a user writes it."""
    if one.start is None:
        return ""
    names = {item.value: item.name for item in description.items_of(one)} if one.type == "Enumeration" else {}
    values = one.start if isinstance(one.start, tuple) else (one.start,)

    def text(value: Any) -> str:
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, (str, bytes)):
            return repr(value)
        return names.get(value, f"{value:.6g}" if isinstance(value, float) else str(value))

    shown = ", ".join(text(value) for value in values[:4]) + (", ..." if len(values) > 4 else "")
    return f"{{{shown}}}" if isinstance(one.start, tuple) else shown


def plural(n: int, what: str) -> str:
    """
    >>> plural(1, "state"), plural(2, "state")
    ('1 state', '2 states')
    """
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def _first(lines: Sequence[str], n: int) -> Iterator[str]:
    yield from lines
    if n > len(lines):
        yield f"  and {n - len(lines)} more"


def inspect_fmu(path: Path, options: FmuOptions) -> FmuReport:
    """Open an FMU and say what is in it; nothing of it is run."""
    found: Contents = open_fmu(path, options)
    platform = this_platform()
    return FmuReport(
        str(path),
        description=found.description,
        platforms=tuple(found.binaries),
        has_sources=found.has_sources,
        obstacles={kind: found.obstacle(kind, platform) for kind in found.description.kinds},
        findings=found.findings,
    )
