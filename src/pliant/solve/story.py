"""The record of a run, from which the room `explain` says why it was slow."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from pliant.explain import Incidents, RunRecord
from pliant.solve import binding

if TYPE_CHECKING:
    from pliant.solve.result import Result
    from pliant.solve.simulation import Simulation

#: seconds that measuring one kind of call may take
MEASURE_SECONDS = 2e-3
MOST_CALLS = 200


def run_record(sim: Simulation, result: Result) -> RunRecord:
    """What happened in the run whose memory ``sim`` is."""
    model, request, notes = sim.model, sim.request, sim.notes
    found = notes.incidents
    nominal = np.full(model.n_x, np.nan)
    if model.x_nominal is not None:
        nominal = np.where(model.nominal_entered, model.x_nominal, np.nan)
    counters = {name: value for name, value in result.stats.as_dict().items() if not isinstance(value, str)}
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
        place=model.line_of,
        near_zero=notes.near_zero,
    )


def measure_cost(sim: Simulation) -> dict[str, float]:
    """Seconds of one evaluation of f, one Jacobian, one factorisation and one solution, at the start values."""
    if sim.source and sim.linear is None:
        sim.make_linear()
    lib, problem, t = binding.lib, ctypes.byref(sim.problem), sim.request.start
    x = sim.x.copy()
    f, b = np.empty_like(x), np.ones_like(x)
    kept = sim.problem.record
    sim.problem.record = None
    calls: dict[str, Callable[[], object]] = {"rhs": lambda: lib.pl_rhs(problem, t, x.ctypes.data, f.ctypes.data)}
    if sim.source:
        h = (sim.request.stop - t) / max(int(sim.count.n_steps), 1)
        calls["jacobian"] = lambda: lib.pl_jacobian(problem, t, x.ctypes.data, f.ctypes.data, h)
        calls["factor"] = lambda: lib.pl_linear_factor(problem, 1.0, h)
        calls["solve"] = lambda: lib.pl_linear_solve(problem, b.ctypes.data)
    try:
        return {name: _seconds(call) for name, call in calls.items()}
    finally:
        sim.problem.record = kept
        sim.instance.raised = None


def _seconds(call: Callable[[], object]) -> float:
    """Of one call, the fastest of several."""
    best, begin = float("inf"), time.perf_counter()
    for _ in range(MOST_CALLS):
        before = time.perf_counter()
        call()
        now = time.perf_counter()
        best = min(best, now - before)
        if now - begin > MEASURE_SECONDS:
            break
    return best
