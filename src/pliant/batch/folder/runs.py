"""What a folder keeps of runs besides their rows, so that a Result from a folder is like a fresh one.

model.json               once: what is known about the variables, aliases, states, names of the parameters
runs/part-*.parquet      of each run: method, counters, values of the parameters, events as JSON
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.batch.cases import Cases
from pliant.batch.order import Order
from pliant.batch.results import columnar_stats
from pliant.batch.workers.work import BlockOutcome
from pliant.solve.options import check_parameters
from pliant.solve.results.result import Result, Stats
from pliant.solve.results.stored import events_from_json, events_to_json, infos_from_json, infos_to_json

if TYPE_CHECKING:
    import pyarrow as pa

COUNTERS = tuple(name for name in Stats().as_dict() if name.startswith("n_"))


def describe(model: Any) -> dict[str, Any]:
    """What all runs of a model share, for JSON."""
    numeric = model._numeric
    return {
        "variables": infos_to_json(numeric.known.variables),
        "aliases": {name: list(behind) for name, behind in numeric.names.aliases.items()},
        "states": list(numeric.names.x),
        "parameters": list(numeric.constants(numeric.p_start)),
    }


def runs_table(model: Any, order: Order, cases: Cases, blocks: list[BlockOutcome]) -> pa.Table:
    """Counters, parameters and events of the runs that went well."""
    import pyarrow as pa

    rows: list[dict[str, Any]] = []
    for block in blocks:
        for place, stats, kept in _runs_of(block):
            k = int(block.indices[place])
            if kept is None:
                given = order.of_case(cases.case(k)).get("parameters") or {}
                constants = model._numeric.constants(check_parameters(model._numeric, given))
            else:
                constants = kept.parameters
            row: dict[str, Any] = {"case": k, "method": stats.method, "jacobian": stats.jacobian}
            row |= {name: getattr(stats, name) for name in COUNTERS}
            row |= {"complete": kept is None or kept.complete, "parameters": list(constants.values())}
            rows.append(row | {"events": json.dumps(events_to_json(kept.events)) if kept and kept.events else None})
    whole = {name: pa.int64() for name in ("case", *COUNTERS)}
    kinds = whole | {"method": pa.string(), "jacobian": pa.string(), "complete": pa.bool_()}
    kinds |= {"parameters": pa.list_(pa.float64()), "events": pa.string()}
    return pa.Table.from_pylist(rows, schema=pa.schema(list(kinds.items())))


def _runs_of(block: BlockOutcome) -> Iterator[tuple[int, Stats, Result | None]]:
    columnar = block.columnar
    if columnar is not None and columnar.rows is not None:
        for place in np.flatnonzero(columnar.good).tolist():
            yield place, columnar_stats(columnar, place, float(block.seconds[place])), None
    for place, value in block.kept.items():
        if isinstance(value, Result):
            yield place, value.stats, value


def facts_of(row: dict[str, Any] | None, shared: dict[str, Any], seconds: float) -> dict[str, Any]:
    """Arguments of a Result, from a row of runs and what all runs share."""
    facts: dict[str, Any] = {
        "info": lambda: infos_from_json(shared["variables"]),
        "aliases": {name: (behind, sign) for name, (behind, sign) in shared["aliases"].items()},
        "states": shared["states"],
        "stats": Stats(seconds=seconds),
    }
    if row is None:
        return facts
    counters = {name: int(row[name]) for name in COUNTERS}
    facts["stats"] = Stats(**counters, method=row["method"], jacobian=row["jacobian"], seconds=seconds)
    facts["parameters"] = dict(zip(shared["parameters"], row["parameters"], strict=True))
    facts["events"] = events_from_json(json.loads(row["events"])) if row["events"] else ()
    return facts | {"complete": bool(row["complete"])}
