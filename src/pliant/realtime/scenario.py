"""Scenarios: what the model is to go through before a pattern is chosen."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from pliant.errors import ArgumentError, OutputError, UnknownNameError
from pliant.solve.names import suggestion


@dataclass(frozen=True)
class Scenario:
    """One run that the model must get through.

    inputs        per input a number, a function of time, a pair (times, values), or the path of a CSV file whose first
                  column is the time and which has a column of the input's name
    parameters    values by name
    start_values  values by name
    stop, start   by default those of the plan
    """

    name: str = ""
    inputs: Mapping[str, Any] = field(default_factory=dict)
    parameters: Mapping[str, float] = field(default_factory=dict)
    start_values: Mapping[str, float] = field(default_factory=dict)
    stop: float | None = None
    start: float = 0.0

    def seen(self, mode: str, tau: float) -> Scenario:
        """The inputs as a step sees them: at its end ("new"), those of the step before ("held"), or "extrapolated"."""
        if mode == "new" or not self.inputs:
            return self
        return replace(
            self, inputs={name: _delayed(value, mode, tau, self.start) for name, value in self.inputs.items()}
        )

    def __post_init__(self) -> None:
        for part in ("inputs", "parameters", "start_values"):
            given = getattr(self, part)
            if not isinstance(given, Mapping):
                raise ArgumentError(
                    f"{part} of a scenario must be a mapping from names to values, not {given!r}",
                    hint=f"e.g. {{'{part}': {{'name': 1.0}}}}",
                )
        for part in ("start", "stop"):
            value = getattr(self, part)
            if not (_is_number(value) or (part == "stop" and value is None)):
                raise ArgumentError(f"{part} = {value!r} of a scenario is not a number", hint="a time in seconds")
        read = {name: _input(name, value) for name, value in self.inputs.items()}
        object.__setattr__(self, "inputs", read)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool)


def _delayed(value: Any, mode: str, tau: float, start: float) -> Any:
    """An input whose value at the end of a step is made from earlier samples."""
    if isinstance(value, (int, float, np.number)):
        return value
    if callable(value):
        sample = value
    else:
        times, values = value  # checked as a table already

        def sample(t: float) -> float:
            k = int(np.searchsorted(times, t, side="right"))  # after a jump its new value
            if k == 0 or k == len(times):
                return float(values[min(k, len(values) - 1)])
            share = (t - times[k - 1]) / (times[k] - times[k - 1])
            return float(values[k - 1] + share * (values[k] - values[k - 1]))

    def delayed(t: float) -> float:
        last = float(sample(max(t - tau, start)))
        if mode == "held":
            return last
        return 2.0 * last - float(sample(max(t - 2.0 * tau, start)))

    return delayed


def _input(name: str, value: Any) -> Any:
    if isinstance(value, (str, Path)):
        return read_table(value, name)
    if _is_number(value) or callable(value):
        return value
    try:
        times, values = (np.asarray(part, dtype=np.float64) for part in value)
    except (TypeError, ValueError):
        raise ArgumentError(
            f"input {name}: {type(value).__name__} is no number, function, pair (times, values) or name of a CSV file",
            hint="e.g. {'u': ([0.0, 1.0], [0.0, 5.0])}",
        ) from None
    if times.ndim != 1 or times.shape != values.shape or len(times) == 0:
        raise ArgumentError(
            f"input {name}: times have shape {times.shape}, values {values.shape}", hint="as many values as times"
        )
    return times, values


def read_table(path: str | Path, column: str) -> tuple[np.ndarray, np.ndarray]:
    """Times and values of one column of a CSV file; the first column is the time."""
    try:
        with Path(path).open(newline="", encoding="utf-8-sig") as file:
            rows = [row for row in csv.reader(file) if row]
    except OSError as error:
        raise OutputError(f"input {column}: {path} cannot be read: {error.strerror}", hint="check the path") from error
    except UnicodeDecodeError as error:
        raise ArgumentError(f"input {column}: {path} is not a text file in UTF-8", hint="a CSV file") from error
    head = [cell.strip().strip('"') for cell in rows[0]] if rows else []
    if column not in head[1:]:
        hint = suggestion(column, head[1:]) if len(head) > 1 else "names in the first line, commas between columns"
        raise UnknownNameError(f"{path} has no column {column!r}", hint=hint)
    k = head.index(column)
    try:
        table = np.array([[float(row[0]), float(row[k])] for row in rows[1:]])
    except (ValueError, IndexError):
        raise ArgumentError(
            f"{path}: column {column!r} holds something that is not a number", hint="numbers only"
        ) from None
    if len(table) == 0:
        raise ArgumentError(f"{path} has no rows below its names", hint="add times and values")
    return table[:, 0], table[:, 1]


def make_scenarios(given: Any, stop: float) -> list[Scenario]:
    """Scenarios from what a user gave: None, one or a sequence of mappings or Scenario objects."""
    if given is None:
        given = [Scenario()]
    if isinstance(given, (Scenario, Mapping)):
        given = [given]
    if isinstance(given, str) or not isinstance(given, Sequence) or not given:
        raise ArgumentError(
            f"scenarios must be a list of scenarios, not {given!r}",
            hint="e.g. scenarios=[{'parameters': {'mass': 2.0}}, {'inputs': {'u': 'drive.csv'}}]",
        )
    out: list[Scenario] = []
    for k, one in enumerate(given):
        scenario = one if isinstance(one, Scenario) else _from_mapping(one)
        end = stop if scenario.stop is None else scenario.stop
        if not (math.isfinite(end) and end > scenario.start):
            raise ArgumentError(
                f"{scenario.name or f'scenario {k + 1}'}: stop = {end} does not lie after start = {scenario.start}",
                hint="give a later stop",
            )
        out.append(replace(scenario, stop=float(end), name=scenario.name or f"scenario {k + 1}"))
    return out


def _from_mapping(given: Any) -> Scenario:
    known = [one.name for one in fields(Scenario)]
    if not isinstance(given, Mapping):
        raise ArgumentError(f"a scenario must be a mapping, not {given!r}", hint=f"with the keys {', '.join(known)}")
    for key in given:
        if key not in known:
            raise ArgumentError(f"a scenario has no part {key!r}", hint=suggestion(str(key), known))
    return Scenario(**dict(given))
