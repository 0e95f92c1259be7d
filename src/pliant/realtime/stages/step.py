"""The step of a plan as C, and how it is run on the desktop."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pliant.errors import NotSupportedError
from pliant.realtime.code.make import StartValues, StepCode, StepperOptions, make_stepper
from pliant.realtime.code.run import Stepper
from pliant.realtime.code.start import start_of
from pliant.realtime.scenario import Scenario, StepInputs, step_times
from pliant.realtime.sparsing.linearise import Matrix, Walker
from pliant.realtime.stages.limits import monitor_limits
from pliant.realtime.stages.outcome import Outcome
from pliant.solve.models.equations import Equations
from pliant.solve.models.numeric import NumericModel

NEWTON_STEPS = (2, 3, 4, 6, 10)  # iterations of nonlinear loops that are tried, in this order
EVENT_ROUNDS = (1, 2, 3, 4)  # rounds of the events at the end of a step, likewise
COMPARED = 200  # steps of a run after which outputs of a model without states are compared
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
) -> StepCode:
    """The C text of the plan's step."""
    equations = equations_of(outcome.model)
    options = outcome.request.options
    walker = Walker(outcome.model, outcome.request.step)
    walker.begin(outcome.request.scenarios[0])
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
            event_rounds=event_rounds or options.event_rounds or EVENT_ROUNDS[0],
            relation_passes=relation_passes or options.relation_passes or RELATION_PASSES[0],
            monitor=watched,
            fallback=options.monitor == "fallback",
        ),
        start_of(walker.point, outcome.request.step),
        full=outcome.full,
        frozen=outcome.held_entries,
        limits=monitor_limits(outcome) if watched else None,
    )


def outputs_apart(run: Drive, code: StepCode) -> float:
    """Largest difference between the outputs of the compiled step and those of the model, in units of their ranges."""
    count = len(run.time) - 1
    if not code.y_names:
        return 0.0
    stepper, table, walker = run.stepper, run.inputs, run.walker
    stepper.start_at(run.start, table.start)
    done, found, expected = 0, [], []
    for k in sorted({int(k) for k in np.linspace(1, count, min(count, COMPARED)).round()}):
        stepper.run(table.before[done:k], k - done, history=False, after=table.after[done:k])
        found.append(stepper.outputs(table.after[k - 1] if code.u_names else None).astype(np.float64))
        walker.point.t = float(run.time[k])
        walker.hold(run.memories[k])
        walker.refresh(walker.point.t, run.x[k])
        values = walker.point.all_values(run.x[k])
        expected.append([values[name] for name in code.y_names])
        done = k
    wanted = np.array(expected)
    largest = np.abs(wanted).max(axis=0)
    scale = np.maximum(np.ptp(wanted, axis=0), 1e-3 * np.where(largest > 0.0, largest, 1.0))
    return float(np.nan_to_num(np.abs(np.array(found) - wanted) / scale, nan=np.inf).max())


def fixed_counts(code: StepCode) -> tuple[int, int, int]:
    """Iterations, rounds and passes of a step, for another one of the same kind."""
    return code.options.newton_steps, code.options.event_rounds, code.options.relation_passes


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
    begin = time.perf_counter()
    history = stepper.run(table.before, count, kind=kind, after=table.after)
    flags = stepper.flags if code.options.monitor else None
    seconds = time.perf_counter() - begin
    x = np.vstack([first[None, :], history.astype(np.float64)])
    memories = np.vstack([memories[None, :], stepper.memories.astype(np.float64)])
    return Drive(times, x, walker, stepper, table, seconds, start, memories, flags, kind)
