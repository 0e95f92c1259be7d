"""From a status of the runtime to an error that says where, what and what to try."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.codegen.hybrid import ENDLESS
from pliant.codegen.modes import RESTLESS
from pliant.errors import (
    AccuracyError,
    ChatterError,
    ConvergenceError,
    InitialValueError,
    ModelEvaluationError,
    NonFiniteError,
    PliantError,
    SingularError,
    SolverError,
    StepLimitError,
    StepSizeError,
)
from pliant.solve import advice
from pliant.solve.binding import runtime
from pliant.solve.binding.memory import linear_error
from pliant.solve.binding.simulation import GROW_FACTORS
from pliant.solve.matrices import iteration_matrix

if TYPE_CHECKING:
    from pliant.solve.results.result import Result
    from pliant.solve.run.simulation import Simulation

WHERE = {
    runtime.IN_RHS: "the derivative of",
    runtime.IN_JACOBIAN: "the Jacobian row of",
    runtime.IN_ROOTS: "the root function",
    runtime.IN_INPUTS: "the input",
}


EXTERNAL = "the external function "  # what the text of an error of one begins with
EXTERNAL_HINT = "check what it is given: the text is its own"

#: failures of the method rather than of the model
STEPPING = (
    runtime.CONVERGENCE,
    runtime.ACCURACY,
    runtime.TOO_ACCURATE,
    runtime.STEP,
    runtime.MAX_STEPS,
    runtime.CHATTER,
)


NO_NUMBER = "is not a number"  # as messages about discrete variables end (hybrid.py)
BEHIND = 1e-6  # of the time reached: how far the place where something became NaN may be


def event_hint(words: str) -> str:
    """What to try where the event iteration of a model does not converge; "" for other failures."""
    if words.startswith(RESTLESS):
        return "no combination of them agrees with the equations: let one of them read pre(...) of another"
    if words.startswith("the index ") and " is outside of 1 to " in words:  # scalar/bounds.py
        return "see what the index depends on at this time, or guard it: `if i <= size(a, 1) then a[i] else ...`"
    if words.startswith(ENDLESS):
        return "write what continues from pre(...) in a when-clause: `when condition then n = pre(n) + 1; end when;`"
    return ""


def _name(sim: Simulation, what: int, index: int) -> str:
    names = sim.model.names
    pool = {runtime.IN_ROOTS: names.roots, runtime.IN_INPUTS: names.u}.get(what, names.x)
    return pool[index] if 0 <= index < len(pool) else ""


def null_states(sim: Simulation, limit: int = 5) -> tuple[str, ...]:
    """States that a singular iteration matrix does not determine, the most affected first."""
    names, n = sim.model.names.x, sim.model.n_x
    if n > 1500:
        return ()
    matrix = iteration_matrix(sim)
    scale = np.abs(matrix).max(axis=1)
    if not np.all(np.isfinite(matrix)):
        return ()
    scale[scale == 0.0] = 1.0
    _, s, vt = np.linalg.svd(matrix / scale[:, None])
    vector = np.abs(vt[-1]) if s[-1] <= 1e-10 * max(s[0], 1e-300) else np.zeros(n)
    order = [i for i in np.argsort(-vector) if vector[i] > 0.1 * vector.max(initial=0.0) and vector[i] > 0]
    return tuple(names[i] for i in order[:limit])


def failure_error(sim: Simulation, status: int, result: Result | None) -> PliantError:
    """The exception for a failed run."""
    failure = sim.problem.failure
    t = sim.run.t_reached
    about = (runtime.NONFINITE, runtime.SINGULAR, runtime.TOO_ACCURATE, runtime.INCONSISTENT)
    name = _name(sim, failure.what, failure.index) if status in about else ""
    common: dict[str, Any] = {"result": result, "time": t, "names": (name,) if name else ()}
    at = f"at t = {t:.10g} (step size {failure.h:.3g})"
    if status == runtime.NONFINITE and failure.what == runtime.IN_OUTPUTS:
        return _output_error(sim, common)
    if status == runtime.MEMORY:
        return _memory_error(sim, common)
    words = sim.model.error_text(sim.instance)
    if status == runtime.NONFINITE and words.startswith(EXTERNAL):
        return ModelEvaluationError(f"at t = {failure.t:.10g} {words}", hint=EXTERNAL_HINT, **common)
    if status == runtime.NONFINITE:
        subject = f"{WHERE.get(failure.what, 'a value of')} {name}" if name else "the model"
        return _not_finite(sim, f"{subject} is NaN or infinite", name, advice.nonfinite_hint(sim.request), common)
    if status == runtime.SINGULAR:
        named = null_states(sim) or ((name,) if name else ())
        common["names"] = named
        listed = ", ".join(named) or "unknown states"
        return SingularError(
            f"the iteration matrix is singular {at}: {listed} cannot be determined",
            hint="check the equations of these variables: an algebraic equation may not depend on its unknown, "
            "or two equations may be equivalent",
            **common,
        )
    if status in (runtime.RETRY, runtime.FATAL):
        words = sim.model.error_text(sim.instance) or "no reason is given"
        words = (unmet(sim, float(failure.t)) or words) if words.endswith(NO_NUMBER) else words
        if failure.what == runtime.IN_EVENT:
            common["time"] = failure.t
        where = {runtime.IN_EVENT: "an event", runtime.IN_OUTPUTS: "its outputs"}.get(failure.what, "its equations")
        hint = event_hint(words) or (
            EXTERNAL_HINT if words.startswith(EXTERNAL) else "check start values, parameters and inputs"
        )
        error = ModelEvaluationError(
            f"the model {sim.model.name} refuses to evaluate {where} at t = {failure.t:.10g}: {words}",
            hint=hint,
            **common,
        )
        error.span = sim.model.known.asserted_at(words)
        return error
    if status in STEPPING:
        return _stepping_error(sim, status, common)
    if status == runtime.INCONSISTENT and t > sim.request.start:
        return ConvergenceError(
            f"no consistent algebraic values were found after the event or input jump at t = {failure.t:.10g}; "
            f"the equation of {name} does not hold",
            hint="check what the event sets: the algebraic equations may have no solution there",
            **common,
        )
    if status == runtime.INCONSISTENT:
        return InitialValueError(
            f"no consistent algebraic values were found at t = {failure.t:.10g}; the equation of {name} does not hold",
            hint=f"give start values near the solution to {name} and to the unknowns of its equation",
        )
    if status == runtime.ARGUMENT:
        return advice.refused_request(sim.request, status)
    words = runtime.status_text(status)
    return SolverError(f"{words} {at}", hint=advice.accuracy_hint(sim.model, sim.request), **common)


def _output_error(sim: Simulation, common: dict[str, Any]) -> NonFiniteError:
    """An output is not a number; the rows before stay in the result."""
    failure = sim.problem.failure
    name, t = sim.model.names.y[failure.index], float(failure.t)
    hint = (
        "check that the model is defined there (division by zero, log or sqrt of a negative number, a "
        "table outside its range), or leave the variable out of outputs="
    )
    return _not_finite(sim, f"{name} is NaN or infinite", name, hint, common | {"time": t, "names": (name,)})


def unmet(sim: Simulation, t: float) -> str:
    """The assertion that does not hold where the run ended, or just behind it in the direction of the solution."""
    if not sim.is_here or not sim.model.known.has_checks:
        return ""
    x, slope = sim.x.copy(), np.zeros(sim.model.n_x)
    if sim.head.begun:
        runtime.lib.pl_simulation_state(sim.place, runtime.address_of(x))
    rhs = runtime.POINT_CALL(sim.model.struct.rhs)
    rhs(sim.instance.address, t, runtime.address_of(x), runtime.address_of(sim.u), runtime.address_of(slope))
    for h in (0.0, sim.problem.failure.h, BEHIND * max(1.0, abs(t))):
        words = sim.model.unmet(sim.instance, t + h, x + (h * slope if h else 0.0), sim.u)
        if words:
            return words
    return ""


def _not_finite(sim: Simulation, what: str, name: str, hint: str, common: dict[str, Any]) -> NonFiniteError:
    """With the assertion of the model that says why, such as that of a loop that does not end."""
    t = float(sim.problem.failure.t)
    words = unmet(sim, t)
    if not words:
        return NonFiniteError(f"{what} at t = {t:.10g}{sim.model.place_of(name)}", hint=hint, **common)
    error = NonFiniteError(f"{what} at t = {t:.10g}: {words}", hint="check what the assertion is about", **common)
    error.span = sim.model.known.asserted_at(words)
    return error


def _memory_error(sim: Simulation, common: dict[str, Any]) -> PliantError:
    """Something had to grow and could not."""
    failure = sim.problem.failure
    if failure.what != runtime.IN_GROWTH:
        return SolverError(
            "the memory of the sparse factorisation grows without limit", hint="options={'linear': 'dense'}", **common
        )
    if failure.index == GROW_FACTORS:
        return linear_error(2 * int(sim.layout.size), advice.memory_hint(sim.model, sim.request))
    used = max(int(sim.out.used), int(sim.out.log_used))
    return SolverError(
        f"no memory is left after {used} steps or rows",
        hint="ask for fewer points=, or end the run with options={'max_steps': ...} or timeout=",
        **common,
    )


def _stepping_error(sim: Simulation, status: int, common: dict[str, Any]) -> SolverError:
    """The method could not take its steps."""
    failure, t = sim.problem.failure, sim.run.t_reached
    at = f"at t = {t:.10g} (step size {failure.h:.3g})"
    if status == runtime.CONVERGENCE:
        return ConvergenceError(
            f"Newton's iteration does not converge {at}, even with the smallest steps",
            hint=advice.convergence_hint(sim.model, sim.request),
            **common,
        )
    if status == runtime.ACCURACY:
        return AccuracyError(
            f"the error test fails repeatedly {at}",
            hint=advice.accuracy_hint(sim.model, sim.request),
            **common,
        )
    if status == runtime.TOO_ACCURATE:
        return AccuracyError(
            f"the tolerance of {_name(sim, runtime.IN_RHS, failure.index)} is below the rounding of its value {at}",
            hint=advice.rounding_hint(sim.request),
            **common,
        )
    if status == runtime.STEP:
        return StepSizeError(
            f"the step size collapsed {at}: time can no longer advance",
            hint=advice.collapse_hint(sim.model),
            **common,
        )
    if status == runtime.MAX_STEPS:
        return StepLimitError(
            f"max_steps = {sim.request.options.max_steps} steps were not enough: stopped at t = {t:.10g}",
            hint=advice.step_limit_hint(sim.request),
            **common,
        )
    roots = ", ".join(sim.last_event.roots) if sim.last_event and sim.last_event.roots else "an event"
    return ChatterError(
        f"events pile up at t = {sim.run.t_event:.10g} without progress in time: {roots}",
        hint=sim.model.chatter_hint,
        **common,
    )
