"""From the rows of a case to a Result. What the rows do not hold (steps, derivatives, the record of the run) is had by
simulating the case again, once: runs are reproducible bit for bit.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.batch.cases import Case
from pliant.batch.order import Order
from pliant.batch.workers.fast import Columnar
from pliant.solve.binding import runtime
from pliant.solve.options import check_parameters
from pliant.solve.results.manifest import make_manifest
from pliant.solve.results.result import Result, Stats


def columnar_stats(columnar: Columnar, place: int, seconds: float) -> Stats:
    """Counters of a case that ran in C."""
    counters: dict[str, Any] = dict(zip(runtime.CountersStruct.NAMES, columnar.counts[place].tolist(), strict=True))
    stats = Stats(**counters)
    stats.method, stats.jacobian, stats.seconds = columnar.methods[place], columnar.jacobian, seconds
    return stats


def result_of(model: Any, order: Order, case: Case, columnar: Columnar, place: int, seconds: float) -> Result:
    """The Result of one case of a block."""
    assert columnar.rows is not None
    numeric, rows = model._numeric, columnar.rows[place]
    parameters = check_parameters(numeric, order.of_case(case).get("parameters") or {})
    facts = {
        "stats": columnar_stats(columnar, place, seconds),
        "info": lambda: numeric.known.variables,
        "parameters": numeric.constants(parameters),
        "aliases": numeric.names.aliases,
        "states": numeric.names.x,
    }
    return with_model(model, order, case, rows, columnar.names, facts)


def with_model(
    model: Any, order: Order, case: Case, rows: NDArray[np.float64], names: Sequence[str], facts: Mapping[str, Any]
) -> Result:
    """A Result from its rows (time first) and facts; what they do not hold comes from simulating the case again."""
    numeric, arguments = model._numeric, order.of_case(case)

    @functools.cache
    def again() -> Result:
        return model.simulate(**arguments, progress=False)  # type: ignore[no-any-return]

    def lazy() -> dict[str, Callable[[], NDArray[np.float64]]]:
        return {name: functools.partial(_column, again, name) for name in again().lazy_names}

    result = Result(
        rows[:, 0],
        values=rows[:, 1:],
        names=names,
        manifest=lambda: manifest_of(model, arguments),
        lazy=lazy if numeric.names.u or numeric.lazy_derivatives else None,
        steps=lambda: again().steps or {},
        **facts,
    )
    result.record = lambda whole: _record(again())
    return result


def _column(again: Callable[[], Result], name: str) -> NDArray[np.float64]:
    return again()[name]


def _record(result: Result) -> Any:
    assert result.record is not None
    return result.record(result)


def manifest_of(model: Any, arguments: dict[str, Any]) -> dict[str, Any]:
    """What a run of the study was made with."""
    plain = {name: value for name, value in arguments.items() if value is not None and name != "progress"}
    if "inputs" in plain:
        plain["inputs"] = {name: repr(value) for name, value in dict(plain["inputs"]).items()}
    return make_manifest(model.name, model._numeric.digest, plain)
