"""simulate: run to the end, watch the clock, report progress, lose no results."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping
from typing import Any

from pliant.errors import (
    ModelEvaluationError,
    NonFiniteError,
    PatternError,
    SimulationInterrupted,
    SimulationTimeout,
    SolverError,
)
from pliant.solve.advice import timeout_hint
from pliant.solve.binding.interrupts import noticed
from pliant.solve.models.numeric import NumericModel
from pliant.solve.options import Request
from pliant.solve.progress import Progress, Reporter
from pliant.solve.results.result import Result
from pliant.solve.run.child import ChildSimulation
from pliant.solve.run.collect import collect
from pliant.solve.run.simulation import Simulation
from pliant.solve.signals.given import typed_inputs
from pliant.solve.signals.kinds import Typed

#: seconds that one call of the C loop should take
CALL_SECONDS = 0.05
MOST_STEPS = 1 << 20


def run_to_end(sim: Simulation, reporter: Reporter) -> None:
    """Run to the end, reporting progress and watching the clock."""
    begin = last = time.perf_counter()
    steps, limit = 64, sim.request.timeout
    try:
        sim.begin()
        while not sim.done:
            sim.advance(steps)
            now = time.perf_counter()
            sim.seconds = now - begin
            if limit is not None and sim.seconds > limit and not sim.done:
                raise SimulationTimeout(
                    f"the time-out of {limit:g} s ran out at t = {sim.run.t_reached:.10g}",
                    hint=timeout_hint(sim.request),
                    time=float(sim.run.t_reached),
                )
            if reporter.listens(sim.seconds):
                reporter.report(sim.progress())
            took, last = now - last, now
            if took < CALL_SECONDS / 2:
                steps = min(2 * steps, MOST_STEPS)
            elif took > CALL_SECONDS:
                steps = max(1, steps // 2)
        if reporter.listens(sim.seconds):
            reporter.finish(sim.progress())
    finally:
        sim.seconds = time.perf_counter() - begin


def simulate(
    model: NumericModel,
    request: Request,
    inputs: Any,
    progress: bool | Callable[[Progress], object] | None,
) -> Result:
    """Run ``request`` on ``model``; every error raised carries the result so far.

    A pattern found by detection that proves to lack an entry gets it, and the run restarts; likewise where a variable
    that nobody asked for is no number or cannot be read, and the model can do without.
    """
    signals = typed_inputs(model.declared_inputs(request.parameters), inputs, request.stop)
    try:
        return _simulate(model, request, signals, progress)
    except PatternError as error:
        if not model.enlarge_pattern(error.missing):
            raise
    except (NonFiniteError, ModelEvaluationError) as error:
        if request.outputs is not None or not model.leave_out(error.names):
            raise
    return simulate(model, request, signals, progress)


def _simulate(
    model: NumericModel,
    request: Request,
    inputs: Mapping[str, Typed],
    progress: bool | Callable[[Progress], object] | None,
) -> Result:
    kind = model.simulation_class or (ChildSimulation if request.options.process == "child" else Simulation)
    with contextlib.closing(kind(model.for_jumps(request, inputs), request, inputs)) as sim:
        return _run(sim, progress)


def _run(sim: Simulation, progress: bool | Callable[[Progress], object] | None) -> Result:
    try:
        with noticed(), Reporter(progress) as reporter:
            run_to_end(sim, reporter)
    except SolverError as error:
        error.result = _what_there_is(sim)
        raise
    except KeyboardInterrupt:
        raise SimulationInterrupted(
            f"interrupted at t = {sim.run.t_reached:.10g}",
            hint="the exception's .result holds everything computed before",
            result=_what_there_is(sim),
            time=float(sim.run.t_reached),
        ) from None
    except Exception as error:
        with contextlib.suppress(AttributeError, TypeError):  # an exception may refuse attributes
            error.pliant_result = _what_there_is(sim)  # type: ignore[attr-defined]
        raise
    result = collect(sim)
    sim.release()
    return result


def _what_there_is(sim: Simulation) -> Result:
    """The result of a run that was cut short, up to its last accepted step."""
    sim.flush()
    result = collect(sim)
    sim.release()
    return result
