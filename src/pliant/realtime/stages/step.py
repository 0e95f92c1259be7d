"""The step of a plan as C, and how it is run on the desktop."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pliant.errors import NotSupportedError
from pliant.realtime.code.make import StartValues, StepCode, StepperOptions, make_stepper
from pliant.realtime.code.run import Stepper
from pliant.realtime.code.start import start_of
from pliant.realtime.scenario import Scenario, StepInputs, step_times
from pliant.realtime.sparsing.linearise import Matrix, Walker
from pliant.realtime.sparsing.past import delay_times
from pliant.realtime.stages.limits import monitor_limits
from pliant.realtime.stages.outcome import Outcome
from pliant.solve.models.equations import Equations
from pliant.solve.models.numeric import NumericModel

NEWTON_STEPS = (2, 3, 4, 6, 10)  # iterations of nonlinear loops that are tried, in this order
EVENT_ROUNDS = (1, 2, 3, 4)  # rounds of the events at the end of a step, likewise
RELATION_PASSES = (0, 1, 2, 4)  # passes before the step for relations that depend on themselves, likewise


@dataclass(eq=False)
class Drive:
    """A run of the compiled step."""

    time: Matrix  # (N + 1,)
    x: Matrix  # (N + 1, n)
    walker: Walker
    stepper: Stepper
    inputs: StepInputs
    seconds: float
    start: StartValues
    memories: Matrix  # (N + 1, number of discrete variables)
    flags: NDArray[np.uint32] | None  # (N,) bits of the monitor, None without one
    past: Matrix | None  # (N + 1, 2, n_delays) what is delayed; None where nothing is
    y: Matrix  # (N + 1, n_y) outputs as the written code gives them, with the inputs from the ends of the steps on
    kind: str = ""  # "full", "guarded", or "": the step


def equations_of(model: NumericModel) -> Equations:
    """The equations that C can be made from."""
    if model.equations is None:
        raise NotSupportedError(
            f"{model.name}: no C code can be written, because the model has no equations: it is {model.described_as}",
            hint="real-time code is made from Modelica; pattern, evidence and plan.simulate work for every model",
        )
    return model.equations


def write_code(
    outcome: Outcome,
    precision: str | None = None,
    newton_steps: int | None = None,
    event_rounds: int | None = None,
    relation_passes: int | None = None,
    output_steps: int | None = None,
) -> StepCode:
    """The C text of the plan's step."""
    equations = equations_of(outcome.model)
    options = outcome.request.options
    walker = Walker(outcome.model, outcome.request.step)
    walker.begin(outcome.request.scenarios[0])
    start = start_of(walker.point, outcome.request.step)
    watched = options.monitor != "off"
    return make_stepper(
        equations.sorted,
        equations.form,
        outcome.request.step,
        outcome.elimination,
        StepperOptions(
            precision=precision or options.precision,
            order=outcome.request.order,
            newton_steps=newton_steps or options.newton_steps or NEWTON_STEPS[0],
            output_steps=output_steps,
            event_rounds=event_rounds or options.event_rounds or EVENT_ROUNDS[0],
            relation_passes=relation_passes or options.relation_passes or RELATION_PASSES[0],
            monitor=watched,
            fallback=options.monitor == "fallback",
            delays=delay_times(outcome.model, [one.parameters for one in outcome.request.scenarios]),
        ),
        start,
        full=outcome.full,
        frozen=outcome.held_entries,
        limits=monitor_limits(outcome) if watched else None,
    )


def written_outputs(model: NumericModel, run: Drive) -> dict[int, Matrix]:
    """Place in the model's outputs -> its values along a run, as the written code gives them."""
    names, out = model.names, {}
    for j, name in enumerate(run.stepper.code.y_names):
        target, sign = names.behind(name)
        if target in names.y:
            out[names.y.index(target)] = sign * run.y[:, j]
    return out


def outputs_apart(model: NumericModel, runs: Sequence[Drive]) -> float:
    """Largest difference between written outputs and those of the model at the same states, in units of their ranges.

    Relations that depend on themselves may be seen a step late: there the values a step before and after count, too.
    """
    apart: dict[int, list[Matrix]] = {}
    wanted: dict[int, list[Matrix]] = {}
    for run in runs:
        found = written_outputs(model, run)
        if not found:
            return 0.0
        walker = run.walker
        walker.begin(walker.scenario, run.past)
        expected = walker.outputs(run.time, run.x, run.memories[1:])
        good = np.isfinite(run.x).all(axis=1) & np.isfinite(expected).all(axis=1)
        for place, values in found.items():
            own = expected[:, place]
            near = [own, np.roll(own, 1), np.roll(own, -1)] if run.stepper.code.relations else [own]
            with np.errstate(all="ignore"):
                away = np.min([np.abs(values - one) for one in near], axis=0)
            apart.setdefault(place, []).append(np.nan_to_num(away[good], nan=np.inf))
            wanted.setdefault(place, []).append(own[good])
    worst = 0.0
    for place, parts in apart.items():
        values = np.concatenate(wanted[place])
        if len(values):
            largest = float(np.abs(values).max())
            scale = max(float(np.ptp(values)), 1e-3 * largest) or 1.0
            worst = max(worst, float(np.concatenate(parts).max()) / scale)
    return worst


def fixed_counts(code: StepCode) -> tuple[int, int, int, int | None]:
    """Iterations, rounds and passes of a step, for another one of the same kind."""
    options = code.options
    return options.newton_steps, options.event_rounds, options.relation_passes, options.output_steps


def drive(code: StepCode, model: NumericModel, scenario: Scenario, kind: str = "", inputs: str = "new") -> Drive:
    """Run a scenario with the compiled step, everything in C."""
    walker = Walker(model, code.tau)
    walker.begin(scenario.seen(inputs, tau=code.tau))
    times = step_times(scenario, code.tau)
    count = len(times) - 1
    start = start_of(walker.point, code.tau)
    stepper = Stepper(code, start.parameters)
    table = walker.inputs
    stepper.start_at(start, table.start)
    first, memories = stepper.x.astype(np.float64), stepper.discrete.astype(np.float64)
    first_past = stepper.delayed
    begin = time.perf_counter()
    first_y = stepper.outputs(table.start if code.u_names else None)
    history = stepper.run(table.before, count, kind=kind, after=table.after, outputs=True)
    flags = stepper.flags if code.options.monitor else None
    seconds = time.perf_counter() - begin
    x = np.vstack([first[None, :], history.astype(np.float64)])
    memories = np.vstack([memories[None, :], stepper.memories.astype(np.float64)])
    y = np.vstack([first_y[None, :], stepper.y]).astype(np.float64)
    past = np.concatenate([first_past[None], stepper.past]).astype(np.float64) if code.delays else None
    return Drive(times, x, walker, stepper, table, seconds, start, memories, flags, past, y, kind)
