"""From the rows of a case to a Result. What the rows do not hold (steps, derivatives, the record of the run) is had by
simulating the case again, once: runs are reproducible bit for bit.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.batch.cases import Case
from pliant.batch.fast import Columnar
from pliant.batch.order import Order
from pliant.solve.binding import runtime
from pliant.solve.options import check_parameters
from pliant.solve.results.manifest import make_manifest
from pliant.solve.results.result import Result, Stats


def result_of(model: Any, order: Order, case: Case, columnar: Columnar, place: int, seconds: float) -> Result:
    """The Result of one case of a block."""
    assert columnar.rows is not None
    numeric, rows = model._numeric, columnar.rows[place]
    counters: dict[str, Any] = dict(zip(runtime.CountersStruct.NAMES, columnar.counts[place].tolist(), strict=True))
    stats = Stats(**counters)
    stats.method, stats.jacobian, stats.seconds = columnar.methods[place], columnar.jacobian, seconds
    arguments = order.of_case(case)
    parameters = check_parameters(numeric, arguments.get("parameters") or {})

    @functools.cache
    def again() -> Result:
        return model.simulate(**arguments, progress=False)  # type: ignore[no-any-return]

    def lazy() -> dict[str, Callable[[], NDArray[np.float64]]]:
        return {name: functools.partial(_column, again, name) for name in again().lazy_names}

    result = Result(
        rows[:, 0],
        values=rows[:, 1:],
        names=columnar.names,
        stats=stats,
        manifest=lambda: manifest_of(model, arguments),
        info=lambda: numeric.known.variables,
        parameters=numeric.constants(parameters),
        aliases=numeric.names.aliases,
        lazy=lazy if numeric.names.u or numeric.lazy_derivatives else None,
        steps=lambda: again().steps or {},
        states=numeric.names.x,
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
