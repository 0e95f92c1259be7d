"""What a file of a result holds: its columns, and the metadata that give back the rest.

The metadata are the manifest as JSON, with one more key "result" for what the formats have no place for:

    columns, names    columns of the file; names in the order of the result
    lazy              columns that were computed on demand: they are so again, and no part of `values` and `final`
    aliases           name -> (name, sign); those of time apart, as the files have columns for them
    events, stats, states, parameters, complete, variables (`Result.info`)
    flags             of a real-time step: [value, count] for each run of equal ones; null: it has none

`steps` and the record that `explain` reads are not kept. The manifest comes back as JSON has it: tuples as lists,
infinities as strings.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.ir import Span
from pliant.solve.results.manifest import to_json
from pliant.solve.results.result import Event, FloatArray, Result, Stats, VariableInfo, VariableKind, VariableType
from pliant.solve.results.typed import type_of, typed


@dataclass(slots=True)
class StoredTable:
    """The columns of a file. Aliases point into `columns` or `parameters`."""

    time: FloatArray
    columns: dict[str, FloatArray]
    aliases: dict[str, tuple[str, int]]
    parameters: dict[str, float]
    info: dict[str, VariableInfo]  # of the columns, with their units, as other tools read it
    names: list[str]  # all, in the order of the result

    def expanded(self) -> dict[str, FloatArray]:
        """All columns, aliases included, for formats that know no aliases."""
        full = dict(self.columns)
        for alias, (target, sign) in self.aliases.items():
            column = self.columns[target] if target in self.columns else self._constant(target)
            full[alias] = column if sign > 0 else -column
        return full

    def shown(self) -> dict[str, NDArray[Any]]:
        """The same in the types of their variables."""
        return {name: typed(column, self.type(name)) for name, column in self.expanded().items()}

    def type(self, name: str) -> VariableType:
        """Of a column."""
        return self.info[name].type if name in self.info else "real"

    def _constant(self, name: str) -> FloatArray:
        return np.full(self.time.shape, self.parameters[name])


def make_table(result: Result, names: Sequence[str] | None) -> StoredTable:
    """The columns to write; `names` selects some."""
    chosen = [name for name in dict.fromkeys(result.names if names is None else names) if name != "time"]
    resolved = {name: result.resolve(name) for name in chosen}
    parameters = dict(result.parameters)
    own = {name: result[name] for name in chosen if resolved[name][0] == name and name not in parameters}
    aliases: dict[str, tuple[str, int]] = {}
    for name, (target, sign) in resolved.items():
        if name == target:
            continue
        if target in own or target in parameters:
            aliases[name] = (target, sign)
        else:  # an alias of time, or of a column that was not chosen
            own[name] = result[name]
    info = {name: _info_of(result, name) for name in (*own, *aliases, *parameters)}
    known = {key: value for key, value in info.items() if value}
    return StoredTable(result.time, own, aliases, parameters, known, chosen)


def _info_of(result: Result, name: str) -> VariableInfo | None:
    known = result.info.get(name)
    unit = result.unit(name)
    if known is None:
        declared = result.type(name)
        return VariableInfo(name, kind=kind_of(name), unit=unit, type=declared) if unit or declared != "real" else None
    return dataclasses.replace(known, unit=unit)


def kind_of(name: str) -> VariableKind:
    """What a name alone says."""
    return "derivative" if name.startswith("der(") else "output"


def make_meta(result: Result, table: StoredTable) -> dict[str, Any]:
    """The manifest and, under "result", what it takes to rebuild the Result."""
    extra = {
        "columns": list(table.columns),
        "names": table.names,
        "lazy": [name for name in result.lazy_names if name in table.columns],
        "time_aliases": {name: _time_sign(result, name) for name in table.columns if _time_sign(result, name)},
        "complete": result.complete,
        "stats": result.stats.as_dict(),
        "states": result.states,
        "parameters": table.parameters,
        "aliases": table.aliases,
        "variables": infos_to_json(_all_info(result, table)),
        "flags": None if result.flags is None else _runs(result.flags),
        "events": events_to_json(result.events),
    }
    manifest = {key: value for key, value in result.manifest.items() if key != "result"}
    meta: dict[str, Any] = to_json({**manifest, "result": extra})
    return meta


def _runs(flags: NDArray[np.int64]) -> list[list[int]]:
    """Lengths of equal values: flags are mostly zero."""
    begins = np.append(0, np.flatnonzero(np.diff(flags)) + 1)[: len(flags)]
    counts = np.diff(begins, append=len(flags))
    return [[int(value), int(count)] for value, count in zip(flags[begins], counts, strict=True)]


def _time_sign(result: Result, name: str) -> int:
    """1 or -1 for a name of time, else 0."""
    target, sign = result.resolve(name)
    return sign if target == "time" else 0


def _all_info(result: Result, table: StoredTable) -> Mapping[str, VariableInfo]:
    """All that the result knows; of a selection what belongs to it, and what units of derivatives come from."""
    if set(table.names) == set(result.names):
        return result.info
    inner = [name[4:-1] for name in table.names if name.startswith("der(")]
    return {name: result.info[name] for name in inner if name in result.info} | table.info


def events_to_json(events: Sequence[Event]) -> list[dict[str, Any]]:
    """States as lists: to_json would replace long arrays by their hash."""
    return [
        {
            "time": event.time,
            "roots": event.roots,
            "directions": event.directions,
            "before": event.before.tolist(),
            "after": event.after.tolist(),
            "terminal": event.terminal,
            "message": event.message,
        }
        for event in events
    ]


def infos_to_json(infos: Mapping[str, VariableInfo]) -> dict[str, Any]:
    """What is known about variables, by name."""
    out: dict[str, Any] = to_json({name: _info_to_json(info) for name, info in infos.items()})
    return out


def _info_to_json(info: VariableInfo) -> dict[str, Any]:
    fields = {field.name: getattr(info, field.name) for field in dataclasses.fields(info)[1:]}  # not the name
    if info.span is not None and not isinstance(info.span, Span):
        fields["span"] = str(info.span)
    usual = {"type": "real", "literals": ()}
    return {key: value for key, value in fields.items() if value not in (None, "") and value != usual.get(key)}


# -- what was read -----------------------------------------------------------------------------------------


def build(
    time: FloatArray,
    columns: Mapping[str, FloatArray],
    aliases: Mapping[str, tuple[str, int]],
    parameters: Mapping[str, float],
    info: Mapping[str, VariableInfo],
    meta: Mapping[str, Any],
) -> Result:
    """The result, from what the file holds and what its metadata add."""
    extra = meta.get("result", {})
    order = {name: k for k, name in enumerate(extra.get("names", ()))}
    for name, sign in extra.get("time_aliases", {}).items():
        if name in columns and np.array_equal(columns[name], sign * time, equal_nan=True):
            aliases = {**aliases, name: ("time", sign)}
    lazy = {name: partial(np.asarray, columns[name]) for name in extra.get("lazy", ()) if name in columns}
    columns = {name: column for name, column in columns.items() if name not in aliases and name not in lazy}
    columns = dict(sorted(columns.items(), key=lambda item: order.get(item[0], 0)))  # stable
    aliases = dict(sorted(aliases.items(), key=lambda item: order.get(item[0], 0)))
    known = {field.name for field in dataclasses.fields(Stats)}
    stats = {key: value for key, value in extra.get("stats", {}).items() if key in known}
    stats["seconds"] = float(stats.get("seconds", 0.0))
    result = Result(
        time,
        values=np.column_stack(list(columns.values())) if columns else np.empty((time.shape[0], 0)),
        names=tuple(columns),
        stats=Stats(**stats),
        manifest={key: value for key, value in meta.items() if key != "result"},
        events=events_from_json(extra.get("events", [])),
        info=infos_from_json(extra["variables"]) if "variables" in extra else info,
        aliases=aliases,
        parameters=parameters,
        lazy=lazy,
        complete=bool(extra.get("complete", True)),
        states=extra.get("states"),
    )
    if extra.get("flags") is not None:
        values, counts = np.array(extra["flags"], dtype=np.int64).reshape(-1, 2).T
        if counts.sum() == max(len(result) - 1, 0):  # else rows of the file were removed or added
            result.flags = np.repeat(values, counts)
    return result


def events_from_json(events: Sequence[Mapping[str, Any]]) -> list[Event]:
    """What `events_to_json` wrote."""
    return [_event_from_json(event) for event in events]


def _event_from_json(event: Mapping[str, Any]) -> Event:
    # float() also reads "NaN" and "Infinity", which is how to_json writes them.
    before, after = (np.array([float(x) for x in event[key]]) for key in ("before", "after"))
    roots, directions = tuple(event["roots"]), tuple(event["directions"])
    terminal, message = bool(event["terminal"]), str(event.get("message", ""))
    return Event(
        float(event["time"]),
        roots=roots,
        directions=directions,
        before=before,
        after=after,
        terminal=terminal,
        message=message,
    )


def infos_from_json(variables: Mapping[str, Mapping[str, Any]]) -> dict[str, VariableInfo]:
    """What `infos_to_json` wrote."""
    known = {field.name for field in dataclasses.fields(VariableInfo)}
    info = {}
    for name, fields in variables.items():
        kept = {key: value for key, value in fields.items() if key in known}
        for key in ("start", "nominal", "min", "max"):
            if key in kept:
                kept[key] = float(kept[key])
        if "literals" in kept:
            kept["literals"] = tuple(kept["literals"])
        if isinstance(kept.get("span"), dict):
            kept["span"] = Span(**kept["span"])
        info[name] = VariableInfo(name, **kept)
    return info


def build_from_columns(time: FloatArray, read: Mapping[str, NDArray[Any]], meta: Mapping[str, Any]) -> Result:
    """For formats that store aliases as columns: turn them back into aliases where they still are."""
    types = {name: type_of(column.dtype) for name, column in read.items()}
    info = {name: VariableInfo(name, kind=kind_of(name), type=one) for name, one in types.items() if one != "real"}
    columns = {name: np.asarray(column, dtype=np.float64) for name, column in read.items()}
    extra = meta.get("result", {})
    parameters = {name: float(value) for name, value in extra.get("parameters", {}).items()}
    aliases = {}
    for alias, (target, sign) in extra.get("aliases", {}).items():
        if target in columns:
            same = np.array_equal(columns.get(alias, np.empty(0)), sign * columns[target], equal_nan=True)
        else:
            same = target in parameters and alias in columns
        if same:  # a file that was edited may say otherwise: then the file is right
            aliases[alias] = (target, sign)
    kept = {name: column for name, column in columns.items() if name not in aliases}
    return build(time, kept, aliases, parameters, info, meta)


def fits(meta: Mapping[str, Any], columns: Sequence[str], path: Path) -> bool:
    """Whether a manifest belongs to these columns: a file may have been replaced without its manifest."""
    extra = meta.get("result", {})
    fits = set(extra.get("columns", columns)) | set(extra.get("aliases", {})) == set(columns)
    if not fits:
        warnings.warn(f"the manifest of {path} belongs to another result and is ignored", stacklevel=4)
    return fits
