"""A run of the generated step as a Result."""

from __future__ import annotations

import datetime as dt

import numpy as np

from pliant.errors import NonFiniteError
from pliant.realtime.code import Drive
from pliant.solve.manifest import make_manifest
from pliant.solve.numeric import NumericModel
from pliant.solve.result import Result, Stats


def run_result(model: NumericModel, run: Drive) -> Result:
    """All variables at every step; the result so far where the run diverged."""
    names = model.names
    good = np.asarray(np.isfinite(run.x).all(axis=1), dtype=bool)
    count = len(good) if good.all() else int(np.argmin(good))
    times, x = run.time[:count], run.x[:count]
    point = run.walker.point
    y = np.empty((count, len(names.y)))
    for k in range(count):
        point.t = float(times[k])
        run.walker.hold(run.memories[k])
        run.walker.refresh(point.t, x[k])
        y[k] = point.outputs(x[k])
    visible = model.all_x
    columns = (*(names.x[i] for i in visible), *names.y)
    stats = Stats(n_steps=count - 1, n_rhs=count - 1, n_jac=count - 1, n_factor=count - 1, n_solve=count - 1)
    stats.method = f"{run.stepper.code.style} step of {run.stepper.code.tau:g} s, {run.stepper.code.precision}"
    stats.seconds = run.seconds
    created = dt.datetime.now(dt.UTC)
    scenario = run.walker.scenario
    options = {"start": scenario.start, "stop": scenario.stop, "step": run.stepper.code.tau, "method": stats.method}
    inputs = run.walker.sim.inputs
    lazy = {name: (lambda j=j: inputs.value(times)[:, j]) for j, name in enumerate(names.u)}
    result = Result(
        times,
        np.hstack([x[:, visible], y]),
        columns,
        stats=stats,
        manifest=lambda: make_manifest(model.name, model.digest, options, created),
        info=model.variables,
        parameters=model.constants(run.walker.sim.request.parameters),
        aliases=names.aliases,
        lazy=lambda: lazy,
        complete=bool(good.all()),
        states=names.x,
    )
    if not good.all():
        bad = names.x[int(np.argmin(np.isfinite(run.x[count])))]
        raise NonFiniteError(
            f"{model.name}: {bad} is not a finite number after step {count}, t = {run.time[count]:g}: the step is "
            "unstable in this scenario",
            hint="plan with this scenario among scenarios=, or use the fallback of the monitor",
            result=result,
            time=float(run.time[count]),
            names=(bad,),
        )
    return result
