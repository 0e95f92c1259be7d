"""Rows at communication points, and the Result that is made of them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pliant.arguments import Vector
from pliant.calls import by_keyword_class
from pliant.cosim.conversion import Conversion
from pliant.cosim.graph import Connection
from pliant.cosim.macro_steps import MacroSteps
from pliant.cosim.part import Part, PartAbout
from pliant.cosim.power import CouplingEnergy
from pliant.cosim.request import CouplingRequest
from pliant.errors import ArgumentError
from pliant.plain import AsDict, plain
from pliant.solve.results.manifest import hash_bytes, make_manifest
from pliant.solve.results.result import Event, FloatArray, Result, Stats, StepRecord, VariableInfo

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from pliant.cosim.explanation import CouplingExplanation

MOST_NUMBERS = 2_000_000_000  # in the rows of a result


@by_keyword_class
@dataclass(frozen=True, eq=False)
class PartRecord(AsDict):
    """What one part did: counters, steps taken and events, with times and names of its own."""

    name: str
    _: KW_ONLY
    model: str
    stats: Stats
    steps: StepRecord | None
    events: tuple[Event, ...]

    def __str__(self) -> str:
        return (
            f"{self.name} ({self.model}): {self.stats.n_steps} steps of {self.stats.method}, {len(self.events)} events"
        )


class CouplingResult(Result):
    """A :class:`pliant.Result` of a coupling: variables are called "part.name", rows are communication points.

    parts           name -> what the part did: ``stats``, ``steps`` (time, h, order, method), ``events``
    connections     the connections, in the order they were made
    communication   times of all communication points
    macro           the macro steps: length, error, what limited each, attempts that were taken back
    energy          of pairs that carry power (``coupling.power``): what the coupling created there
    warnings        what the parts could not do, in words
    """

    parts: Mapping[str, PartRecord]
    connections: tuple[Connection, ...]
    communication: NDArray[np.float64]
    macro: MacroSteps
    energy: Mapping[str, CouplingEnergy]
    warnings: tuple[str, ...]

    @property
    def explainable(self) -> bool:
        """Its macro steps are known."""
        return True

    def explain(self) -> CouplingExplanation:  # type: ignore[override]
        """What limited the macro steps: connections, stability, parts, events, by name and with advice."""
        from pliant.cosim.explanation import explain

        return explain(self)

    def plot_macro_steps(self, file: str | Path | None = None) -> Figure:
        """Draw the macro steps and the errors of the inputs over time."""
        from pliant.cosim.plot_macro import plot_macro_steps

        return plot_macro_steps(self, file)

    def as_dict(self) -> dict[str, Any]:
        """For machines: as of every result, with what each part did."""
        mine = {
            "parts": self.parts,
            "connections": self.connections,
            "communication": self.communication,
            "macro": self.macro,
            "warnings": self.warnings,
        }
        return {**super().as_dict(), **plain(mine)}


class Recorder:
    """Collects rows; thins them out evenly when fewer points are wanted than there are."""

    def __init__(self, parts: Sequence[Part], run: CouplingRequest) -> None:
        self.parts = parts
        self.abouts: list[PartAbout] = [part.about() for part in parts]
        self.width = sum(len(about.columns) for about in self.abouts)
        self.start, self.stop, self.points = run.start, run.stop, run.points
        expected = 1 if run.auto else run.n_steps + 1
        rows = expected if run.points is None else min(run.points, expected)
        if rows * (self.width + 1) > MOST_NUMBERS:
            raise ArgumentError(
                f"{rows} communication points of {self.width} variables do not fit into memory",
                hint="record fewer of them: points=1000",
            )
        self.used = 0
        self.time = np.empty(min(rows, 1024))
        self.values = np.empty((len(self.time), self.width))

    def wants(self, t: float, h: float) -> bool:
        """Is the point at t, after a macro step of h, the one nearest to the next wanted row?"""
        if self.points is None or self.used == 0 or t >= self.stop:
            return True
        wanted = self.start + (self.stop - self.start) * self.used / (self.points - 1)
        return self.used < self.points - 1 and t + 0.5 * h > wanted

    def take(self, t: float, u: Sequence[Vector], h: float) -> None:
        """The row at t, if it is wanted."""
        if self.wants(t, h):
            self.add(t, self.read(u))

    def read(self, u: Sequence[Vector]) -> Vector:
        """All variables where the parts stand."""
        parts = [part.values(one) for part, one in zip(self.parts, u, strict=True)]
        return np.concatenate(parts) if parts else np.zeros(0)

    def add(self, t: float, row: Vector) -> None:
        """One more row."""
        if self.used == len(self.time):
            self.time = np.concatenate([self.time, np.empty(len(self.time))])
            self.values = np.concatenate([self.values, np.empty(self.values.shape)])
        self.time[self.used] = t
        self.values[self.used] = row
        self.used += 1

    def result(self, about: RunAbout, complete: bool) -> CouplingResult:
        """Everything recorded so far."""
        columns: list[str] = []
        aliases: dict[str, tuple[str, int]] = {}
        constants: dict[str, float] = {}
        states: list[str] = []
        for part, one in zip(self.parts, self.abouts, strict=True):
            columns += [f"{part.name}.{name}" for name in one.columns]
            states += [f"{part.name}.{name}" for name in one.states]
            aliases |= {f"{part.name}.{k}": (f"{part.name}.{v}", sign) for k, (v, sign) in one.aliases.items()}
            constants |= {f"{part.name}.{name}": value for name, value in one.constants.items()}
        converted: dict[str, Callable[[], FloatArray]] = {}
        found: list[CouplingResult] = []
        for name, (source, through) in about.derived.items():
            if through.changes_nothing:
                aliases[name] = (source, 1)
            else:
                converted[name] = partial(_carried, found, source, through)
        records = {part.name: _record(part, one) for part, one in zip(self.parts, self.abouts, strict=True)}
        created = dt.datetime.now(dt.UTC)
        out = CouplingResult(
            self.time[: self.used].copy(),
            values=self.values[: self.used].copy(),
            names=columns,
            stats=_summed(records.values(), about.seconds),
            manifest=lambda: self._manifest(about, created, records),
            info=self._info,
            aliases={k: v for k, v in aliases.items() if k not in columns},
            lazy={k: v for k, v in converted.items() if k not in columns},
            parameters={k: v for k, v in constants.items() if k not in columns},
            complete=complete,
            states=states,
        )
        found.append(out)
        out.parts = records
        out.connections = about.connections
        out.communication = about.communication
        out.macro = about.macro
        out.energy = about.energy
        out.warnings = about.warnings
        return out

    def _info(self) -> dict[str, VariableInfo]:
        return {
            f"{part.name}.{name}": replace(info, name=f"{part.name}.{name}")
            for part, one in zip(self.parts, self.abouts, strict=True)
            for name, info in one.info.items()
        }

    def _manifest(self, about: RunAbout, created: dt.datetime, records: Mapping[str, PartRecord]) -> dict[str, Any]:
        models = {part.name: one for part, one in zip(self.parts, self.abouts, strict=True)}
        digest = hash_bytes(*(f"{name} {one.digest}" for name, one in models.items()))
        out = make_manifest("coupling", digest, about.options, created)
        out["parts"] = {
            name: {"model": one.model, "sha256": one.digest, "stats": records[name].stats.as_dict()}
            for name, one in models.items()
        }
        out["connections"] = [str(one) for one in about.connections]
        return out


@dataclass(frozen=True, eq=False)
class RunAbout:
    """What a result reports about the run as a whole."""

    options: Mapping[str, Any]
    connections: tuple[Connection, ...]
    communication: NDArray[np.float64]
    seconds: float
    macro: MacroSteps
    energy: Mapping[str, CouplingEnergy] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    derived: Mapping[str, tuple[str, Conversion]] = field(default_factory=dict)  # connectors of systems: from what


def _carried(result: Sequence[CouplingResult], source: str, through: Conversion) -> FloatArray:
    return through.carried(result[0][source])


def _record(part: Part, about: PartAbout) -> PartRecord:
    return PartRecord(part.name, model=about.model, stats=part.stats, steps=part.steps, events=part.events)


def _summed(records: Any, seconds: float) -> Stats:
    """Counters of all parts together; the method is named if it is the same everywhere."""
    out = Stats()
    methods: list[str] = []
    for one in records:
        for counter in (own.name for own in fields(Stats)):
            if counter not in ("method", "seconds"):
                setattr(out, counter, getattr(out, counter) + getattr(one.stats, counter))
        methods.append(one.stats.method)
    out.method = ", ".join(dict.fromkeys(methods))
    out.seconds = seconds
    return out
