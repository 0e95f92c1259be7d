"""A block of cases, simulated in one worker: thread, process, or machine of a cluster.

What can be done in one call of C is done there (fast.py). Everything else goes case by case through ``simulate``,
also those that failed in C, because only that way says why.
"""

from __future__ import annotations

import pickle
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pliant.batch.cases import Case, Cases, CaseTable
from pliant.batch.order import Order
from pliant.batch.results import result_of
from pliant.batch.workers.fast import Columnar, fast_block
from pliant.errors import ArgumentError, CaseError, SimulationTimeout

if TYPE_CHECKING:
    from pliant.solve.results.result import Result

    #: a model and its arguments to a result; ``Model.simulate`` for users' models
    Simulate = Callable[..., Result]

KEPT_MODELS = 4  # in a worker, by their pickles


@dataclass
class BlockOutcome:
    """What became of a block. Places are those inside the block."""

    indices: NDArray[np.intp]  # of its cases in the study
    seconds: NDArray[np.float64]
    columnar: Columnar | None = None
    kept: dict[int, Any] = field(default_factory=dict)
    errors: dict[int, Exception] = field(default_factory=dict)


def run_block(
    model: Any,
    order: Order,
    cases: Cases,
    indices: NDArray[np.intp],
    at: Callable[[int], object] | None = None,
    careful: bool = False,
) -> BlockOutcome:
    """Simulate a block. ``at`` is called some times a second with the place reached; ``careful``: before every case."""
    outcome = BlockOutcome(indices, np.zeros(len(indices)))
    remaining = list(range(len(indices)))
    if not careful and isinstance(cases, CaseTable):
        begin = time.perf_counter()
        found = fast_block(model, order, cases, (lambda: at(-1)) if at else None)
        if found is not None:
            outcome.columnar = found
            outcome.seconds[:] = (time.perf_counter() - begin) / max(len(indices), 1)
            remaining = [k for k in range(len(indices)) if not found.good[k]]
            for k in found.late & set(remaining):
                outcome.errors[k] = timed_out(order.case_timeout)
            remaining = [k for k in remaining if k not in found.late]
            if callable(order.keep):
                _apply(model, order, cases, outcome)
    for k in remaining:
        if at is not None:
            at(k)
        _one(model, order, cases.case(k), k, outcome)
    return outcome


def _apply(model: Any, order: Order, cases: Cases, outcome: BlockOutcome) -> None:
    """The user's function on what came from C, here where the rows are."""
    columnar, outcome.columnar = outcome.columnar, None
    assert columnar is not None
    for k in np.flatnonzero(columnar.good).tolist():
        try:
            result = result_of(model, order, cases.case(k), columnar, k, float(outcome.seconds[k]))
            outcome.kept[k] = kept_of(result, order)
        except (Exception, SystemExit) as error:  # of the user's function
            outcome.errors[k] = portable(error)


def _one(model: Any, order: Order, case: Case, k: int, outcome: BlockOutcome) -> None:
    begin = time.perf_counter()
    try:
        result = model.simulate(**order.of_case(case), progress=False)
        outcome.kept[k] = kept_of(result, order)
    except SimulationTimeout as error:
        limit = order.case_timeout
        own = order.arguments.get("timeout")
        outcome.errors[k] = error if limit is None or (own is not None and own < limit) else timed_out(limit)
    except (Exception, SystemExit) as error:  # of the model, of the user's function: it belongs to its case
        outcome.errors[k] = portable(error)
    outcome.seconds[k] = time.perf_counter() - begin


def kept_of(result: Result, order: Order) -> Any:
    """What is to be kept of a result."""
    keep = order.keep
    if keep == "final":
        return result.final
    if not callable(keep):
        return result
    value = keep(result)
    if order.saved:
        _check_fits(value)
    return value


def _check_fits(value: Any) -> None:
    """A folder holds numbers; what is none would be lost."""
    found = numbers_of(value)
    lost = [name for name in value if str(name) not in found] if isinstance(value, dict) else []
    if lost or not found:
        what = f"{type(value[lost[0]]).__name__} for {lost[0]!r}" if lost else type(value).__name__
        raise ArgumentError(
            f"keep= gave {what}, which does not fit into a table",
            hint="return a number or a mapping from names to numbers, or leave save= out",
        )


def numbers_of(value: Any) -> dict[str, float]:
    """The numbers in what a user's function kept: a number, or numbers by name."""
    if isinstance(value, dict):
        found = {str(name): _number(one) for name, one in value.items()}
        return {name: one for name, one in found.items() if one is not None}
    number = _number(value)
    return {} if number is None else {"value": number}


def _number(value: Any) -> float | None:
    if not isinstance(value, (bool, int, float, np.floating, np.integer, np.bool_)):
        return None
    try:
        return float(value)
    except OverflowError:  # a whole number beyond the range of Reals
        return None


def timed_out(limit: float | None) -> CaseError:
    """A case that took too long."""
    return CaseError(
        f"the case ran out of time: {limit:g} s" if limit else "the case ran out of time",
        hint="raise case_timeout=, or simulate the case alone with timeout= and look at result.explain()",
    )


def portable(error: Exception | SystemExit) -> Exception:
    """The error, without what does not travel: the rows so far, frames."""
    if isinstance(error, SystemExit):
        return CaseError(f"a function called sys.exit({error.code!r})", hint="raise an error instead")
    error.__traceback__ = None
    for attribute in ("result", "pliant_result"):
        if getattr(error, attribute, None) is not None:
            setattr(error, attribute, None)
    return error


# ----------------------------------------------------------------------------------------------- in other processes

_models: OrderedDict[bytes, Any] = OrderedDict()


def model_of(pickled: bytes, digest: bytes) -> Any:
    """The model of a pickle, made once in each worker."""
    found = _models.get(digest)
    if found is None:
        found = _models[digest] = pickle.loads(pickled)
        while len(_models) > KEPT_MODELS:
            _models.popitem(last=False)
    return found


def run_remote(
    pickled: bytes, digest: bytes, order: bytes, cases: Cases, indices: NDArray[np.intp], careful: bool
) -> BlockOutcome:
    """The same in a process of an executor."""
    outcome = run_block(model_of(pickled, digest), pickle.loads(order), cases, indices, careful=careful)
    for k, error in list(outcome.errors.items()):
        outcome.errors[k] = sendable(error)
    return outcome


def sendable(error: Exception) -> Exception:
    """Errors of users' functions may refuse to be pickled, or to come back."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return CaseError(f"{type(error).__name__}: {error}", hint="the error itself cannot leave its process")
    return error
