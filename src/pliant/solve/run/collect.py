"""From the memory of a simulation to a Result."""

from __future__ import annotations

import ctypes
import datetime as dt
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pliant.arguments import Vector
from pliant.solve.binding import runtime
from pliant.solve.failure import failure_error
from pliant.solve.results.manifest import make_manifest
from pliant.solve.results.result import Result, Stats
from pliant.solve.run.record import run_record

if TYPE_CHECKING:
    from pliant.solve.run.simulation import Simulation

#: by number; the last one, also number -1, is that of a model that steps itself
METHOD_ARRAY = np.array([*(name for name in runtime.METHODS if name != "auto"), "co-simulation"])


def collect_stats(sim: Simulation) -> Stats:
    """Counters so far."""
    counters: dict[str, Any] = dict(zip(runtime.CountersStruct.NAMES, sim.count.all(), strict=True))
    stats = Stats(**counters)
    stats.method = sim.method_name
    if sim.run.handovers and sim.out.log_used:
        numbers = sim.log[: sim.out.log_used, 3].astype(int)
        used = [*numbers[:1], *numbers[1:][np.diff(numbers) != 0]]
        stats.method = " -> ".join(runtime.METHOD_NAMES[int(k)] for k in used)
    stats.seconds = sim.seconds
    stats.jacobian = sim.source
    return stats


def collect(sim: Simulation) -> Result:
    """Everything computed so far."""
    rows = sim.rows[: sim.out.used]
    names = sim.model.names
    log = sim.log[: sim.out.log_used]
    every = len(sim.x_index) == len(sim.model.all_x) and len(sim.y_index) == len(names.y)
    columns: Sequence[str] | Mapping[str, int]
    if every:
        if sim.model.columns is None:
            sim.model.columns = {name: j for j, name in enumerate(_chosen_names(sim))}
        columns = sim.model.columns
    else:
        columns = _chosen_names(sim)
    times = rows[:, 0]
    created = time.time()
    result = Result(
        times,
        values=rows[:, 1:],
        names=columns,
        stats=collect_stats(sim),
        manifest=lambda: _manifest(sim, created),
        events=sim.recorded_events,
        info=lambda: sim.model.known.variables,
        parameters=sim.model.constants(sim.request.parameters),
        aliases=names.aliases,
        lazy=lambda: _lazy_columns(sim),
        steps=lambda: _step_record(log),
        complete=sim.done,
        states=names.x,
    )
    result.start = sim.start_found
    result.log = sim.messages
    result.record = lambda whole: run_record(sim, whole)
    return result


def _chosen_names(sim: Simulation) -> tuple[str, ...]:
    names = sim.model.names
    return (*(names.x[i] for i in sim.x_index), *(names.y[i] for i in sim.y_index))


def _lazy_columns(sim: Simulation) -> dict[str, Callable[[], NDArray[np.float64]]]:
    """Columns that are computed on first use: derivatives and inputs."""
    lazy: dict[str, Callable[[], NDArray[np.float64]]] = {}
    names = sim.model.names
    # what events and steps have changed since is lost: the equations of an earlier time are gone
    if sim.model.lazy_derivatives and len(sim.x_index) == len(names.x) and not sim.model.known.has_past:
        derivative = _Derivative(sim)
        for i, name in enumerate(names.x):
            lazy[f"der({name})"] = derivative.column(i)
    times = sim.rows[: sim.out.used, 0]
    for j, name in enumerate(names.u):
        lazy[name] = lambda j=j: sim.inputs.value(times, _after_jumps(times))[:, j]  # type: ignore[misc]
    return lazy


def _after_jumps(times: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Rows that show what holds from their time on: the last of each time."""
    return np.append(times[1:] != times[:-1], True)


def _manifest(sim: Simulation, created: float) -> dict[str, Any]:
    request, names = sim.request, sim.model.names
    few = len(names.x) <= 1000  # beyond that the manifest keeps a hash
    options = {
        "start": request.start,
        "stop": request.stop,
        "method": request.method,
        "rtol": request.rtol,
        "atol": request.atol,
        "step": request.step,
        "points": request.points_given,
        "parameters": dict(zip(names.p, request.parameters.tolist(), strict=True)),
        "start_values": dict(zip(names.x, request.x.tolist(), strict=True)) if few else request.x,
        "options": {k: v for k, v in vars(request.options).items() if k != "mask"},
    }
    at = dt.datetime.fromtimestamp(created, dt.UTC)
    return make_manifest(sim.model.name, sim.model.digest, options, at)


def _step_record(log: NDArray[np.float64]) -> dict[str, NDArray[Any]]:
    return {
        "time": log[:, 0],
        "h": log[:, 1],
        "order": log[:, 2].astype(int),
        "method": METHOD_ARRAY[log[:, 3].astype(int)],
    }


class _Derivative:
    """x' at all output points by the model's own equations, computed once, on first use."""

    def __init__(self, simulation: Simulation) -> None:
        self.simulation = simulation
        self.values: NDArray[np.float64] | None = None

    def column(self, i: int) -> Callable[[], NDArray[np.float64]]:
        """A function that returns x_i' at the output points."""
        return lambda: self.all()[:, i]

    def all(self) -> NDArray[np.float64]:
        """x' of all states, a row for each point."""
        if self.values is None:
            sim = self.simulation
            rows = sim.rows[: sim.out.used]
            out = np.empty((len(rows), sim.model.n_x))
            scale = (sim.request.stop - sim.request.start) or 1.0
            after = _after_jumps(rows[:, 0])
            for k, row in enumerate(rows):
                x = row[1 : 1 + sim.model.n_x].copy()
                out[k] = derivative_at(sim, float(row[0]), x, scale, after=bool(after[k]))
            self.values = out
        return self.values


def derivative_at(sim: Simulation, t: float, x: Vector, scale: float, after: bool = True) -> Vector:
    """x' at (t, x) by the equations, algebraic unknowns included; at an input jump just after or just before it."""
    f, out, work = np.empty_like(x), np.empty_like(x), np.empty_like(x)
    problem = ctypes.byref(sim.problem)
    if len(sim.inputs.jumps):
        left = not after and t > sim.request.start
        ahead = np.flatnonzero((sim.inputs.is_jump != 0) & (sim.inputs.jumps >= t if left else sim.inputs.jumps > t))
        sim.problem.next_jump = int(ahead[0]) if len(ahead) else len(sim.inputs.jumps)
        sim.problem.passed = 0
    if t + abs(scale) * 2.0**-26 > sim.request.stop:
        scale = -scale  # the time derivative of algebraic equations is taken from inside the run
    status = runtime.lib.pl_rhs(problem, t, x.ctypes.data, f.ctypes.data)
    if status == runtime.OK:
        status = runtime.lib.pl_derivative(
            problem, t, x.ctypes.data, f.ctypes.data, scale, out.ctypes.data, work.ctypes.data
        )
    sim.raise_user_error()
    if status != runtime.OK:
        raise failure_error(sim, status, None)
    return out
