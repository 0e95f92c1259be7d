"""The record of a run, from which the package `explain` finds out why it was slow."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pliant.explain import KINDS, Incidents, RunRecord
from pliant.solve.binding import runtime

if TYPE_CHECKING:
    from pliant.solve.models.numeric import NumericModel
    from pliant.solve.results.result import Result
    from pliant.solve.run.simulation import Simulation

#: seconds that measuring one kind of call may take
MEASURE_SECONDS = 2e-3
MOST_CALLS = 200
#: seconds of one Jacobian or factorisation from which it is reckoned, not measured
LONG = 0.5
_measuring = threading.Lock()  # the memory of a run serves one thread at a time


def run_record(sim: Simulation, result: Result) -> RunRecord:
    """What happened in the run whose memory ``sim`` is."""
    model, request, notes = sim.model, sim.request, sim.notes
    found = notes.incidents
    nominal = np.full(model.n_x, np.nan)
    if model.x_nominal is not None:
        nominal = np.where(model.nominal_entered, model.x_nominal, np.nan)
    counters = {name: value for name, value in result.stats.as_dict().items() if not isinstance(value, str)}
    counters |= {f"n_{kind}": notes.seen(KINDS.index(kind)) for kind in ("refused", "singular")}
    return RunRecord(
        model=model.name,
        states=model.names.x,
        algebraic=model.names.algebraic,
        start=request.start,
        stop=request.stop,
        reached=float(sim.run.t_reached),
        complete=result.complete,
        method=request.method,
        used=result.stats.method,
        counters=counters,
        seconds=result.stats.seconds,
        rtol=request.rtol,
        atol=request.atol,
        atol_given=request.atol_given,
        nominal=nominal,
        largest=np.maximum(notes.largest, np.abs(sim.x)),
        first=sim.x.copy(),
        limits=notes.limits,
        error_fails=notes.error_fails,
        newton_fails=notes.newton_fails,
        steps=result.steps or {},
        incidents=Incidents(
            found["t"].copy(),
            found["h"].copy(),
            found["kind"].astype(np.intp),
            found["index"].astype(np.intp),
            found["value"].copy(),
        ),
        incidents_lost=notes.lost,
        roots=model.names.roots,
        events=tuple((event.time, event.roots) for event in result.events),
        jacobian=sim.source,
        increments=request.options.increments,
        colours=int(sim.layout.n_colours) if sim.source else 0,
        cost=lambda: measure_cost(sim),
        place=lambda name: _choice(model, name) or model.line_of(name),
        near_zero=notes.near_zero,
        crossing=_crossing(sim),
        driven=lambda: dict(model.known.timed_roots),
    )


def _choice(model: NumericModel, name: str) -> str:
    """What a state stands for that pliant chooses during the run: " (one of x, y)"."""
    choices = model.known.choices.get(name)
    return f" (one of {', '.join(choices)})" if choices else ""


def _crossing(sim: Simulation) -> NDArray[np.bool_]:
    """States that are zero or change their sign, as far as the output points show it."""
    found: NDArray[np.bool_] = sim.x == 0.0
    values = sim.rows[: sim.out.used, 1 : 1 + len(sim.x_index)]
    if len(values):
        index = np.asarray(sim.x_index, dtype=np.intp)
        found[index] |= (values.min(axis=0) <= 0.0) & (values.max(axis=0) >= 0.0)
    found |= sim.notes.near_zero > 0
    return found


def measure_cost(sim: Simulation) -> dict[str, float]:
    """Seconds of one evaluation of f, one Jacobian, one factorisation and one solution, at the start values."""
    elsewhere = sim.rhs_seconds()
    if elsewhere is not None:  # the functions of the model are out of reach, or far away
        jacobian = (int(sim.layout.n_colours) + 1) * elsewhere if sim.source else 0.0
        return {"rhs": elsewhere} | (_reckoned(sim, elsewhere, jacobian) if sim.source else {})
    with _measuring:
        lent = sim.source and sim.linear is None
        if lent:
            sim.make_linear()
        try:
            return _measure(sim)
        finally:
            if lent:  # matrices are large: a result that was explained must not keep them
                sim.release()


def _measure(sim: Simulation) -> dict[str, float]:
    lib, problem, t = runtime.lib, ctypes.byref(sim.problem), sim.request.start
    x = sim.x.copy()
    f, b = np.empty_like(x), np.ones_like(x)
    kept = sim.problem.record
    sim.problem.record = None
    h = (sim.request.stop - t) / max(int(sim.count.n_steps), 1)
    calls: dict[str, Callable[[], object]] = {
        "jacobian": lambda: lib.pl_jacobian(problem, t, x.ctypes.data, f.ctypes.data, h),
        "factor": lambda: lib.pl_linear_factor(problem, 1.0, h),
        "solve": lambda: lib.pl_linear_solve(problem, b.ctypes.data),
    }
    try:
        each = {"rhs": _seconds(lambda: lib.pl_rhs(problem, t, x.ctypes.data, f.ctypes.data))}
        if not sim.source:
            return each
        return each | _measure_linear(sim, calls, each["rhs"])
    finally:
        sim.problem.record = kept
        sim.instance.raised = None


def _measure_linear(sim: Simulation, calls: dict[str, Callable[[], object]], rhs: float) -> dict[str, float]:
    """Jacobian, factorisation and solution; what would take long is reckoned from the time of the run."""
    count = sim.count
    slow = (int(sim.layout.n_colours) + 1) * rhs
    lasting = sim.source == "differences" and slow > LONG
    jacobian = slow if lasting else _seconds(calls["jacobian"])
    if not lasting and sim.seconds < LONG * max(int(count.n_factor), 1):
        return {"jacobian": jacobian, "factor": _seconds(calls["factor"]), "solve": _seconds(calls["solve"])}
    return _reckoned(sim, rhs, jacobian)


def _reckoned(sim: Simulation, rhs: float, jacobian: float) -> dict[str, float]:
    """What the run took beyond its evaluations went into the linear algebra."""
    count = sim.count
    rest = sim.seconds - rhs * (int(count.n_rhs) - int(count.n_rhs_jac)) - jacobian * int(count.n_jac)
    return {"jacobian": jacobian, "factor": max(rest, 0.0) / max(int(count.n_factor), 1), "solve": 0.0}


def _seconds(call: Callable[[], object]) -> float:
    """Of one call, the fastest of several."""
    best, begin = float("inf"), time.perf_counter()
    for calls in range(1, MOST_CALLS + 1):
        before = time.perf_counter()
        call()
        now = time.perf_counter()
        best = min(best, now - before)
        # A single call may have been interrupted by another process.
        if now - begin > (MEASURE_SECONDS if calls >= 3 else 10.0 * MEASURE_SECONDS):
            break
    return best
