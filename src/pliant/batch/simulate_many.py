"""simulate_many: arguments checked, cases read, workers chosen, the loop run."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from pliant.arguments import as_names, as_number, as_path, by_name, is_whole
from pliant.batch.cases import Cases, read_cases
from pliant.batch.order import Order
from pliant.batch.progress import StudyReporter
from pliant.batch.run import StudyLoop, interrupted, make_crew
from pliant.batch.study import InMemory, Keeping, Study
from pliant.errors import ArgumentError, UnknownNameError
from pliant.solve.names import suggestion
from pliant.solve.options import check_request
from pliant.solve.signals.given import read_inputs, typed_inputs


def simulate_many(
    model: Any,
    cases: Any,
    *,
    keep: Any,
    workers: int | None,
    executor: Any,
    save: Any,
    case_timeout: float | None,
    progress: bool | Callable[[Any], object] | None,
    shared: dict[str, Any],
) -> Study:
    """See ``Model.simulate_many``; ``shared``: the arguments of simulate."""
    reporter = StudyReporter(progress)
    limit = _limit(case_timeout)
    _check_workers(workers)
    shared = shared | {"inputs": read_inputs(shared["inputs"])}
    found = read_cases(cases, model._numeric, shared["stop"])
    all_points = Order.needs_all_points(model._numeric, shared["points"])
    order = Order(shared, _keep(model, keep), limit, save is not None, all_points)
    _check_shared(model, order, found)
    keeping: Keeping = InMemory(model, found, order)
    study = Study(found, keeping=keeping, workers=0, model_name=model.name)
    try:
        if save is not None:
            from pliant.batch.folder.store import FolderKeeping

            keeping = FolderKeeping.begin(as_path("save", save), model, found, order)
        indices = keeping.missing()
        crew = make_crew(model, order, workers, executor, len(indices))
        study = Study(found, keeping=keeping, workers=crew.workers, model_name=model.name)
        with reporter:
            StudyLoop(crew, found, study, order, reporter).run(indices)
    except KeyboardInterrupt:  # before the first case, or after the last one
        raise interrupted(study) from None
    finally:
        keeping.close()
    return study


def _limit(given: Any) -> float | None:
    if given is None:
        return None
    number = as_number(given)
    if number is None or not 0 < number < math.inf:
        raise ArgumentError(
            f"case_timeout must be positive and finite, not {given!r}", hint="seconds, or None for no limit"
        )
    return number


def _check_workers(workers: Any) -> None:
    if workers is not None and not (is_whole(workers) and workers > 0):
        raise ArgumentError(
            f"workers must be a whole number from 1 on, not {workers!r}", hint="None: one for each core"
        )


def _keep(model: Any, keep: Any) -> Any:
    """None, "final", names as a tuple, or a function."""
    if keep is None or keep == "final" or callable(keep):
        return keep
    if isinstance(keep, str):
        keep = [keep]
    if not isinstance(keep, Sequence) or not keep or not all(isinstance(name, str) for name in keep):
        raise ArgumentError(
            f"keep must be None, 'final', names or a function of the Result, not {keep!r}",
            hint="e.g. keep='final', keep=['x', 'y'] or keep=lambda result: max(result['x'])",
        )
    return tuple(dict.fromkeys(keep))


def _check_names(model: Any, what: str, wanted: Sequence[str]) -> None:
    names = model._numeric.names
    known = {*names.x, *names.y, *names.u, *names.p, *names.aliases, *model._numeric.constants(model._numeric.p_start)}
    for name in wanted:
        if name not in known:
            raise UnknownNameError(f"{what}: the model has no variable {name!r}", hint=suggestion(name, sorted(known)))


def _check_shared(model: Any, order: Order, cases: Cases) -> None:
    """What is wrong for all cases is said once, before anything runs."""
    shared = order.arguments
    first = cases.case(0)
    if isinstance(order.keep, tuple):
        _check_names(model, "keep", order.keep)
    if shared["outputs"] is not None:
        _check_names(model, "outputs", as_names("outputs", shared["outputs"]))
    stop: Any = shared["stop"] if shared["stop"] is not None else first.stop
    stop = model._numeric.experiment[1] if stop is None else stop
    typed_inputs(model._numeric.declared_inputs(None), shared["inputs"], stop)
    check_request(
        model._numeric.shaped_for(by_name("parameters", shared["parameters"])),
        start=shared["start"],
        stop=stop,
        method=shared["method"],
        rtol=shared["rtol"],
        atol=shared["atol"],
        points=shared["points"],
        step=shared["step"],
        parameters=by_name("parameters", shared["parameters"]),
        start_values=by_name("start_values", shared["start_values"]),
        outputs=list(order.keep) if isinstance(order.keep, tuple) else shared["outputs"],
        options=shared["options"],
        timeout=shared["timeout"],
        declared=False,  # cases may give other values
    )
