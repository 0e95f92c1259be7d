"""A run of the generated step as a Result."""

from __future__ import annotations

import datetime as dt

import numpy as np

from pliant.errors import ModelEvaluationError, NonFiniteError
from pliant.realtime.sparsing.linearise import Matrix
from pliant.realtime.stages.step import Drive, written_outputs
from pliant.solve.models.numeric import NumericModel
from pliant.solve.results.manifest import make_manifest
from pliant.solve.results.result import Result, Stats


def _other_kind(run: Drive) -> str:
    """A safer step than the one that diverged."""
    if run.kind:
        return ", or with a smaller step: it diverges with all entries, too"
    has_fallback = run.stepper.code.options.fallback
    return ", or use kind='guarded'" if has_fallback else ", or with options={'monitor': 'fallback'} and kind='guarded'"


def run_result(model: NumericModel, run: Drive) -> Result:
    """All variables at every step; the result so far where the run diverged.

    Declared outputs are those of the written get_outputs; other variables are the model's at the states of the step.
    """
    names = model.names
    good = np.asarray(np.isfinite(run.x).all(axis=1), dtype=bool)
    count = len(good) if good.all() else int(np.argmin(good))
    y = np.empty((count, len(names.y)))
    known = _outputs(run, y)
    times, x, y = run.time[:known], run.x[:known], y[:known]
    for place, values in written_outputs(model, run).items():
        y[:, place] = values[:known]
    visible = model.all_x
    columns = (*(names.x[i] for i in visible), *names.y)
    done = known - 1
    stats = Stats(n_steps=done, n_rhs=done, n_jac=done, n_factor=done, n_solve=done)
    stats.method = f"{run.stepper.code.style} step of {run.stepper.code.tau:g} s, {run.stepper.code.precision}"
    stats.seconds = run.seconds
    created = dt.datetime.now(dt.UTC)
    scenario = run.walker.scenario
    options = {"start": scenario.start, "stop": scenario.stop, "step": run.stepper.code.tau, "method": stats.method}
    rows = run.inputs.rows
    lazy = {name: (lambda j=j: rows[:known, j]) for j, name in enumerate(names.u)}
    result = Result(
        times,
        values=np.hstack([x[:, visible], y]),
        names=columns,
        stats=stats,
        manifest=lambda: make_manifest(model.name, model.digest, options, created),
        info=lambda: model.known.variables,
        parameters=model.constants(run.walker.sim.request.parameters),
        aliases=names.aliases,
        lazy=lambda: lazy,
        complete=known == len(run.time),
        states=names.x,
    )
    result.flags = None if run.flags is None else run.flags[: known - 1].astype(np.int64)
    if known < count:
        raise ModelEvaluationError(
            f"{model.name}: the outputs cannot be evaluated at t = {run.time[known]:g}: a loop has no solution that is "
            "found at the states of the step there",
            hint="the step may be far from the model in this scenario: plan with it among scenarios=",
            result=result,
            time=float(run.time[known]),
        )
    if not good.all():
        bad = names.x[int(np.argmin(np.isfinite(run.x[count])))]
        raise NonFiniteError(
            f"{model.name}: {bad} is not a finite number after step {count}, t = {run.time[count]:g}: the step is "
            "unstable in this scenario",
            hint="plan with this scenario among scenarios=" + _other_kind(run),
            result=result,
            time=float(run.time[count]),
            names=(bad,),
        )
    return result


def _outputs(run: Drive, y: Matrix) -> int:
    """Fill the rows of y; how many could be evaluated."""
    if run.past is not None:
        run.walker.begin(run.walker.scenario, run.past)
    point = run.walker.point
    for k in range(len(y)):
        point.t = float(run.time[k])
        run.walker.hold(run.memories[k])
        run.walker.refresh(point.t, run.x[k])
        try:
            y[k] = point.outputs(run.x[k])
        except ModelEvaluationError:
            return k
    return len(y)
