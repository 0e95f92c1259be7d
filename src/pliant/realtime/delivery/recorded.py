"""The first scenario of a plan, run by the compiled step: what a self-test compares with and a timing loop repeats.

How far other compilers and libraries of functions may be away is measured, not guessed: the run is made a second time
with x disturbed by a unit of the last place after every step. Chaotic models are cut where that shows too much.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pliant.errors import NonFiniteError
from pliant.realtime.linearise import Matrix, Walker
from pliant.realtime.stepper.run import Stepper

if TYPE_CHECKING:
    from pliant.realtime.plan import Plan
    from pliant.realtime.stepper.make import StepCode

MOST_STEPS = 5000
MOST_NUMBERS = 200_000  # stored inputs
MOST_POINTS = 100
ULPS = 1.0  # disturbance of x after every step, about what another library of functions makes
MARGIN = 10.0  # of the deviation that the disturbance makes
FLOOR = {"double": 1e-9, "float": 1e-4}
CEILING = 1e-2  # of a range: beyond it a comparison says nothing


@dataclass(eq=False)
class Recorded:
    """A stored trajectory; deviations are in units of ``scale``."""

    n_steps: int
    inputs: NDArray[Any]  # (n_steps, n_u)
    points: list[int]  # steps after which x is stored
    x: NDArray[Any]  # (points, n)
    scale: Matrix  # (n,)
    y: NDArray[Any]  # outputs after the last step
    y_scale: Matrix
    y_tolerance: float
    x_full: NDArray[Any] | None  # after the last step with all entries, where the code has that step
    tolerance: float
    complete: bool  # False: the scenario is longer


def scenario_inputs(plan: Plan, most: int | None = None) -> tuple[int, NDArray[Any]]:
    """Number of steps of the first scenario (at most so many), and the inputs of each as the step gets them."""
    code = plan.code
    scenario = plan.outcome.request.scenarios[0]
    assert scenario.stop is not None
    count = max(1, round((scenario.stop - scenario.start) / code.tau))
    n_u = len(code.u_names)
    count = count if most is None else min(count, most, max(1, MOST_NUMBERS // max(n_u, 1)))
    kind = np.float64 if code.precision == "double" else np.float32
    if not n_u:
        return count, np.zeros((count, 0), kind)
    walker = Walker(plan.outcome.model, code.tau)
    walker.begin(scenario.seen(plan.outcome.request.options.inputs, code.tau))
    times: Matrix = scenario.start + code.tau * np.arange(1, count + 1, dtype=np.float64)
    return count, np.ascontiguousarray(walker.sim.inputs.value(times), dtype=kind)


def sizes(values: NDArray[Any]) -> Matrix:
    """A size for each column: its range, but not less than a small part of its values."""
    wide = np.asarray(values, dtype=np.float64)
    largest = np.abs(wide).max(axis=0, initial=0.0)
    size: Matrix = np.maximum(wide.max(axis=0) - wide.min(axis=0), 1e-3 * largest)
    return np.where(size > 0.0, size, 1.0)


def rounded(value: float) -> float:
    """Two digits."""
    return float(f"{value:.1e}")


def _disturbed(code: StepCode, inputs: NDArray[Any], n_steps: int) -> NDArray[Any]:
    stepper = Stepper(code)
    random = np.random.default_rng(0)
    size = ULPS * np.finfo(stepper.type).eps
    out = np.empty((n_steps, code.n_x), stepper.type)
    for k in range(n_steps):
        stepper.run(inputs[k : k + 1], 1, history=False)
        stepper.x[:] *= (1.0 + size * random.uniform(-1.0, 1.0, code.n_x)).astype(stepper.type)
        out[k] = stepper.x
    return out


def record(plan: Plan) -> Recorded:
    """Run the first scenario with the compiled step and keep what a self-test needs."""
    code = plan.code
    n_steps, inputs = scenario_inputs(plan, MOST_STEPS)
    stepper = Stepper(code)
    history = stepper.run(inputs, n_steps)
    if not np.isfinite(history).all():
        bad = int(np.argmin(np.isfinite(history).all(axis=1)))
        raise NonFiniteError(
            f"{plan.name}: the compiled step gives no finite numbers after step {bad + 1} of the first scenario",
            hint="plan with precision='double', a smaller tolerance or theta nearer to 1",
        )
    scale = sizes(np.vstack([np.asarray(code.start.x)[None, :], history]))
    other = _disturbed(code, inputs, n_steps)
    away = (np.abs(other.astype(np.float64) - history) / scale).max(axis=1)
    allowed = np.maximum.accumulate(MARGIN * away)
    whole, _ = scenario_inputs(plan)
    usable = max(1, int(np.searchsorted(allowed, CEILING))) if np.isfinite(allowed).all() else 1
    n_steps = min(n_steps, usable)
    points = sorted({int(k) for k in np.linspace(1, n_steps, min(n_steps, MOST_POINTS)).round()})
    return Recorded(
        n_steps,
        inputs[:n_steps],
        points,
        history[np.array(points) - 1],
        scale,
        *_outputs(code, inputs, other, points),
        x_full=_full(code, inputs, n_steps),
        tolerance=rounded(max(FLOOR[code.precision], float(allowed[n_steps - 1]))),
        complete=n_steps == whole,
    )


def _outputs(
    code: StepCode, inputs: NDArray[Any], other: NDArray[Any], points: list[int]
) -> tuple[NDArray[Any], Matrix, float]:
    """Outputs after the last step, their sizes, and how far they may be away; ``other``: the disturbed run."""
    stepper = Stepper(code)
    floor = FLOOR[code.precision]
    if not code.y_names:
        return np.zeros(0, stepper.type), np.zeros(0), floor
    rows, done = [], 0
    for k in points:
        stepper.run(inputs[done:k], k - done, history=False)
        rows.append(stepper.outputs(inputs[k - 1] if code.u_names else None))
        done = k
    scale = sizes(np.array(rows))
    stepper.x[:] = other[points[-1] - 1]
    away = stepper.outputs(inputs[done - 1] if code.u_names else None).astype(np.float64) - rows[-1]
    return rows[-1], scale, rounded(max(floor, MARGIN * float((np.abs(away) / scale).max())))


def _full(code: StepCode, inputs: NDArray[Any], n_steps: int) -> NDArray[Any] | None:
    if not code.options.fallback:
        return None
    return Stepper(code).run(inputs[:n_steps], n_steps, history=False, kind="full")
