"""Cases as users give them, checked against the model before anything runs.

Two kinds behind one face: a table, whose columns are numbers (parameters, constant inputs, "start(x)", "stop"), and
a list of mappings with the keys of a scenario, of which each may be different. Mappings that all have the same names
and numbers only become a table, because tables run fastest.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.arguments import as_number
from pliant.batch.design import Design
from pliant.batch.tables import CellColumns, is_missing, read_table
from pliant.errors import ArgumentError, PliantError, UnknownNameError
from pliant.solve.models.numeric import NumericModel
from pliant.solve.names import suggestion
from pliant.solve.signals.files import is_frame
from pliant.solve.signals.given import read_inputs, typed_inputs

PARTS = ("name", "inputs", "parameters", "start_values", "stop", "start")
HINT = "a list of mappings, a design, a DataFrame, or the path of a CSV or Parquet file"


@dataclass(frozen=True)
class Case:
    """One run: what differs from what all runs share."""

    name: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)  # FMUs take texts, literals and arrays, too
    start_values: Mapping[str, Any] = field(default_factory=dict)
    inputs: Mapping[str, Any] = field(default_factory=dict)
    start: float | None = None
    stop: float | None = None


@dataclass(frozen=True)
class CaseColumn:
    """Where the numbers of a column go."""

    kind: str  # parameter, start, input, stop
    name: str
    column: str


@dataclass(frozen=True)
class CaseTable:
    """Cases that differ in numbers only; picklable, and a part of it is one, too."""

    places: tuple[CaseColumn, ...]
    values: NDArray[np.float64]  # (n, len(places))
    names: tuple[str, ...] | None = None  # of the cases

    def __len__(self) -> int:
        return len(self.values)

    def part(self, indices: Sequence[int] | NDArray[np.intp]) -> CaseTable:
        """Some of them."""
        chosen = np.asarray(indices, dtype=np.intp)
        names = None if self.names is None else tuple(self.names[k] for k in chosen.tolist())
        return CaseTable(self.places, self.values[chosen], names)

    def case(self, k: int) -> Case:
        """One of them."""
        found: dict[str, dict[str, float]] = {"parameter": {}, "start": {}, "input": {}}
        stop = None
        for place, value in zip(self.places, self.values[k].tolist(), strict=True):
            if place.kind == "stop":
                stop = value
            else:
                found[place.kind][place.name] = value
        name = self.names[k] if self.names else ""
        return Case(name, found["parameter"], found["start"], found["input"], None, stop)

    def columns(self) -> dict[str, Any]:
        """For tables: names of the columns and their values."""
        out: dict[str, Any] = {} if self.names is None else {"name": list(self.names)}
        return out | {place.column: self.values[:, j] for j, place in enumerate(self.places)}

    def digest(self) -> str:
        """What identifies the cases."""
        head = json.dumps([[one.kind, one.name] for one in self.places] + [list(self.names or ())])
        return hashlib.sha256(head.encode() + np.ascontiguousarray(self.values).tobytes()).hexdigest()


@dataclass(frozen=True)
class CaseList:
    """Cases that differ in anything."""

    cases: tuple[Case, ...]

    def __len__(self) -> int:
        return len(self.cases)

    def part(self, indices: Sequence[int] | NDArray[np.intp]) -> CaseList:
        """Some of them."""
        return CaseList(tuple(self.cases[int(k)] for k in indices))

    def case(self, k: int) -> Case:
        """One of them."""
        return self.cases[k]

    def columns(self) -> dict[str, Any]:
        """For tables: numbers, NaN where a case says nothing; columns with texts in them are texts."""
        rows = [_values_of(case) for case in self.cases]
        names = list(dict.fromkeys(name for row in rows for name in row))
        out: dict[str, Any] = {}
        if any(case.name for case in self.cases):
            out["name"] = [case.name for case in self.cases]
        for name in names:
            values = [row.get(name, math.nan) for row in rows]
            is_text = any(isinstance(one, str) for one in values)
            out[name] = [str(row.get(name, "")) for row in rows] if is_text else np.array(values)
        return out

    def digest(self) -> str:
        """What identifies the cases; inputs that are functions are known by their names only."""
        text = json.dumps([_plain(case) for case in self.cases], sort_keys=True, default=repr)
        return hashlib.sha256(text.encode()).hexdigest()


Cases = CaseTable | CaseList


def _values_of(case: Case) -> dict[str, float | str]:
    """Numbers and texts, of arrays those of their elements."""
    out: dict[str, Any] = {}
    for name, value in case.parameters.items():
        out |= _elements(name, value, "{}")
    out |= {name: one.value for name, one in case.inputs.items() if hasattr(one, "value")}
    for name, value in case.start_values.items():
        out |= _elements(name, value, "start({})")
    if case.stop is not None:
        out["stop"] = case.stop
    return {name: value if isinstance(value, str) else float(value) for name, value in out.items()}


def _elements(name: str, value: Any, shown: str) -> dict[str, Any]:
    if isinstance(value, str) or not np.ndim(value):
        return {shown.format(name): value}
    found = np.asarray(value, dtype=object)
    places = [",".join(str(k + 1) for k in index) for index in np.ndindex(found.shape)]
    return {shown.format(f"{name}[{place}]"): one for place, one in zip(places, found.ravel().tolist(), strict=True)}


def _plain(case: Case) -> dict[str, Any]:
    return {one.name: getattr(case, one.name) for one in fields(case)}


# -------------------------------------------------------------------------------------------------------- reading


def read_cases(given: Any, model: NumericModel, stop: float | None) -> Cases:
    """Cases from what a user gave, checked; the first invalid one as an ArgumentError."""
    if isinstance(given, Design):
        columns = {name: given.values[:, j] for j, name in enumerate(given.names)}
        cases: Cases = _from_columns(CellColumns(f"the {given.kind}", columns), model)
    elif isinstance(given, (str, os.PathLike)) or is_frame(given):
        cases = _from_columns(read_table(given), model)
    elif isinstance(given, (Mapping, bytes)) or not isinstance(given, (Sequence, Iterator)):
        raise ArgumentError(f"cases must be several, not {type(given).__name__}", hint=HINT)
    else:
        cases = _from_mappings(list(given), model)
    if not len(cases):
        raise ArgumentError("there are no cases", hint=HINT)
    _check_stops(cases, model.experiment[1] if stop is None else stop)
    return cases


def _from_columns(table: CellColumns, model: NumericModel) -> CaseTable:
    names: tuple[str, ...] | None = None
    places, values = [], []
    for column, cells in table.columns.items():
        if column == "name":
            names = tuple("" if is_missing(cell) else str(cell) for cell in cells)
            continue
        places.append(_place(column, model, table.source))
        is_real = places[-1].kind == "stop" or model.known.type(places[-1].name) == "real"
        values.append(table.numbers(column, functools.partial(_literal, model, column), is_real))
    if not places and names is None:
        raise ArgumentError(f"cases: {table.source} has no columns", hint=HINT)
    count = table.count
    stacked = np.column_stack(values) if values else np.zeros((count, 0))
    found = CaseTable(tuple(places), np.ascontiguousarray(stacked), names)
    _check_values(found, model, table)
    return found


def _literal(model: NumericModel, column: str, text: str) -> float | None:
    """true, false, or the literal of an enumeration."""
    info = model.known.variables.get(column)
    if info is None:
        return None
    if info.type == "enumeration" and column not in model.names.u:
        with contextlib.suppress(PliantError):
            for _, number in model.typed_parameters(column, text.rpartition(".")[2]) or ():
                return number
    if info.type == "enumeration" and column in model.names.u:
        with contextlib.suppress(PliantError):
            return model.declared_inputs(None)[column].number(column, text)
    if info.type == "boolean" and text.lower() in ("true", "false"):
        return float(text.lower() == "true")
    if info.literals and text.rpartition(".")[2] in info.literals:
        return float(info.literals.index(text.rpartition(".")[2]) + 1)
    return None


def _place(column: str, model: NumericModel, source: str) -> CaseColumn:
    """What the name of a column means."""
    names = model.names
    if column == "stop" and column not in names.p and column not in names.u:
        return CaseColumn("stop", "stop", column)
    if column in names.u:
        return CaseColumn("input", column, column)
    if column.startswith("start(") and column.endswith(")"):
        inner = column[6:-1].strip()
        try:
            model.start_place(inner)
        except UnknownNameError as error:
            raise UnknownNameError(f"cases: column {column!r} of {source}: {error.message}", hint=error.hint) from None
        return CaseColumn("start", inner, column)
    if column in names.p:
        return CaseColumn("parameter", column, column)
    try:
        model.parameter_place(column)
    except PliantError as error:
        known = (*names.p, *names.u, *(f"start({x})" for x in names.x), "stop", "name")
        if isinstance(error, UnknownNameError):
            raise UnknownNameError(
                f"cases: column {column!r} of {source} is no parameter and no input of the model",
                hint=suggestion(column, known),
            ) from None
        raise
    return CaseColumn("parameter", column, column)


def _check_values(cases: CaseTable, model: NumericModel, table: CellColumns) -> None:
    for j, place in enumerate(cases.places):
        column = cases.values[:, j]
        bad = np.flatnonzero(~np.isfinite(column))
        if len(bad):
            raise ArgumentError(
                f"cases: {place.column!r} is {column[bad[0]]:g}{table.where(int(bad[0]))}",
                hint="every case needs a finite number in every column",
            )
        kind = model.known.type(place.name) if place.kind != "stop" else "real"
        wrong = column != np.round(column) if kind != "boolean" else (column != 0) & (column != 1)
        if kind != "real" and np.any(wrong):
            row = int(np.flatnonzero(wrong)[0])
            raise ArgumentError(
                f"cases: {place.column!r} is {column[row]:g}{table.where(row)}, but the variable is of type {kind}",
                hint="true or false" if kind == "boolean" else "a whole number",
            )


def _from_mappings(given: list[Any], model: NumericModel) -> Cases:
    cases = tuple(_case(one, k) for k, one in enumerate(given))
    table = _as_table(cases, model)
    if table is not None:
        return table
    for k, case in enumerate(cases):
        with _CaseNamed(case, k):
            _check_names(case, model)
    return CaseList(cases)


class _CaseNamed:
    """Errors inside say which case it is."""

    def __init__(self, case: Case, k: int) -> None:
        self.who = f"case {k}" + (f" ({case.name})" if case.name else "")

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, PliantError):
            raise type(error)(f"cases: {self.who}: {error.message}", hint=error.hint) from None


def _case(given: Any, k: int) -> Case:
    if is_dataclass(given) and not isinstance(given, type):
        given = {one.name: getattr(given, one.name) for one in fields(given) if one.name in PARTS}
    if not isinstance(given, Mapping):
        raise ArgumentError(
            f"cases: case {k} must be a mapping, not {given!r}", hint=f"with the keys {', '.join(PARTS)}"
        )
    for key in given:
        if key not in PARTS:
            hint = suggestion(str(key), PARTS)
            raise ArgumentError(f"cases: case {k} has no part {key!r}", hint=f"{hint}; parameters go into 'parameters'")
    parts = {key: value for key, value in given.items() if value is not None}
    for part in ("parameters", "start_values"):
        if not isinstance(parts.get(part, {}), Mapping):
            raise ArgumentError(
                f"cases: case {k}: {part} must be a mapping from names to values, not {parts[part]!r}",
                hint=f"e.g. {{'{part}': {{'name': 1.0}}}}",
            )
    for part in ("start", "stop"):
        number = as_number(parts[part]) if part in parts else 0.0
        if number is None or not math.isfinite(number):
            raise ArgumentError(f"cases: case {k}: {part} = {parts[part]!r} is not a number", hint="a time in seconds")
    try:
        inputs = read_inputs(parts.get("inputs"))
    except PliantError as error:
        raise type(error)(f"cases: case {k}: {error.message}", hint=error.hint) from None
    return Case(
        str(parts.get("name", "")),
        dict(parts.get("parameters", {})),
        dict(parts.get("start_values", {})),
        inputs,
        float(parts["start"]) if "start" in parts else None,
        float(parts["stop"]) if "stop" in parts else None,
    )


def _as_table(cases: tuple[Case, ...], model: NumericModel) -> CaseTable | None:
    """The same as numbers in columns, if they all have the same names and are numbers."""
    if not cases:
        return None
    first = cases[0]
    shape = (tuple(first.parameters), tuple(first.start_values), tuple(first.inputs), first.stop is None)
    rows = []
    for case in cases:
        here = (tuple(case.parameters), tuple(case.start_values), tuple(case.inputs), case.stop is None)
        if here != shape or case.start is not None:
            return None
        inputs = [getattr(one, "value", None) for one in case.inputs.values()]
        row = [as_number(v) for v in (*case.parameters.values(), *case.start_values.values(), *inputs)]
        if any(v is None or not math.isfinite(v) for v in row):
            return None
        rows.append([*row, *([] if case.stop is None else [case.stop])])
    columns = [*first.parameters, *(f"start({x})" for x in first.start_values), *first.inputs]
    columns += [] if first.stop is None else ["stop"]
    values = np.array(rows, dtype=np.float64).reshape(len(cases), len(columns))
    try:
        places = tuple(_place(column, model, "the list") for column in columns)
        names = tuple(case.name for case in cases) if any(case.name for case in cases) else None
        table = CaseTable(places, values, names)
        _check_values(table, model, CellColumns("the list", {}, count_given=len(cases)))
    except PliantError:
        return None  # said case by case, with more words
    kinds = [*["parameter"] * len(first.parameters), *["start"] * len(first.start_values)]
    return table if [one.kind for one in places][: len(kinds)] == kinds else None


def _check_names(case: Case, model: NumericModel) -> None:
    """Names and values of one case; what only a run can find is left to it."""
    model = model.shaped_for(case.parameters)
    for name, value in case.parameters.items():
        if model.typed_parameters(name, value) is not None:
            continue
        model.parameter_place(name)
        _number(f"parameters[{name!r}]", value, model.known.type(name))
    for name, value in case.start_values.items():
        if model.typed_starts(name, value) is not None:
            continue
        model.start_place(name)
        _number(f"start_values[{name!r}]", value, model.known.type(name))
    if case.inputs:
        typed_inputs(model.declared_inputs(None), case.inputs, math.inf if case.stop is None else case.stop)


def _number(what: str, value: Any, kind: str) -> None:
    is_truth = isinstance(value, (bool, np.bool_)) and kind != "real"
    number = float(value) if is_truth else as_number(value)
    if number is None or not math.isfinite(number):
        raise ArgumentError(f"{what} must be a finite number, not {value!r}", hint="a number without quotes and units")
    if kind == "boolean" and number not in (0.0, 1.0):
        raise ArgumentError(f"{what} must be true or false, not {value!r}", hint="True or False")
    if kind != "real" and number != round(number):
        raise ArgumentError(f"{what} must be a whole number, not {value!r}", hint=f"the variable is of type {kind}")


def _check_stops(cases: Cases, stop: float | None) -> None:
    if stop is not None:
        return
    if isinstance(cases, CaseTable):
        missing = None if any(one.kind == "stop" for one in cases.places) else 0
    else:
        missing = next((k for k, case in enumerate(cases.cases) if case.stop is None), None)
    if missing is not None:
        raise ArgumentError(
            f"stop is not given, and case {missing} has none", hint="give stop=, or a column or key 'stop'"
        )
