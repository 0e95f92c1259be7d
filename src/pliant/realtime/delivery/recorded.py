"""The first scenario of a plan, run by the compiled step: what a self-test compares with and a timing loop repeats.

A second, short run begins with inputs and states that no scenario begins with: what happens at the start must follow.

How far other compilers and libraries of functions may be away is measured, not guessed: the run is made a second time
with x disturbed by a unit of the last place after every step. Chaotic models are cut where that shows too much.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pliant.errors import NonFiniteError
from pliant.realtime.code.run import Stepper
from pliant.realtime.scenario import StepInputs
from pliant.realtime.sparsing.linearise import Matrix, Walker
from pliant.realtime.stages.float_range import does_not_fit
from pliant.solve.signals.kinds import Declared

if TYPE_CHECKING:
    from pliant.realtime.code.make import StepCode
    from pliant.realtime.plan import Plan

MOST_STEPS = 5000
MOST_NUMBERS = 200_000  # stored inputs
MOST_POINTS = 100
ULPS = 1.0  # disturbance of x after every step, about what another library of functions makes
MARGIN = 10.0  # of the deviation that the disturbance makes
FLOOR = {"double": 1e-9, "float": 1e-4}
OTHER_STEPS = 50  # of the run from another start
AWAY = (0.1, 0.01, 0.001)  # shares of the ranges by which that start is another one, tried in this order
CEILING = 1e-2  # of a range: beyond it a comparison says nothing


@dataclass(eq=False)
class OtherStart:
    """A start that differs from that of every scenario: inputs that stay as they are, x, and where that leads."""

    u: NDArray[Any]  # (n_u,)
    x: NDArray[Any]  # (n,) before what happens at the start
    n_steps: int
    x_end: NDArray[Any]
    d_end: NDArray[Any]
    tolerance: float


@dataclass(eq=False)
class Recorded:
    """A stored trajectory; deviations are in units of ``scale``, of discrete variables of ``d_scale``."""

    n_steps: int
    inputs: StepInputs  # of its steps
    points: list[int]  # steps after which x is stored
    x: NDArray[Any]  # (points, n)
    scale: Matrix  # (n,)
    d: NDArray[Any]  # (points, n_d) discrete variables
    d_scale: Matrix
    y: NDArray[Any]  # (points, n_y) outputs
    y_scale: Matrix  # infinite where rounding decides what an output is
    y_tolerance: float
    x_full: NDArray[Any] | None  # after the last step with all entries, where the code has that step
    tolerance: float
    complete: bool  # False: the scenario is longer
    other: OtherStart | None = None


def scenario_inputs(plan: Plan, most: int | None = None) -> tuple[int, StepInputs]:
    """Number of steps of the first scenario (at most so many), and the inputs of each as the step gets them."""
    code = plan.code
    scenario = plan.outcome.request.scenarios[0]
    walker = Walker(plan.outcome.model, code.tau)
    walker.begin(scenario.seen(plan.outcome.request.options.inputs, tau=code.tau))
    count, n_u = len(walker.inputs.before), len(code.u_names)
    count = count if most is None else min(count, most, max(1, MOST_NUMBERS // max(n_u, 1)))
    kind = np.float64 if code.precision == "double" else np.float32
    return count, walker.inputs.first(count).as_type(kind)


def sizes(values: NDArray[Any]) -> Matrix:
    """A size for each column: its range, but not less than a small part of its values."""
    wide = np.asarray(values, dtype=np.float64)
    largest = np.abs(wide).max(axis=0, initial=0.0)
    size: Matrix = np.maximum(wide.max(axis=0) - wide.min(axis=0), 1e-3 * largest)
    return np.where(size > 0.0, size, 1.0)


def rounded(value: float) -> float:
    """Two digits."""
    return float(f"{value:.1e}")


def _disturbed(stepper: Stepper, inputs: StepInputs, n_steps: int) -> tuple[NDArray[Any], ...]:
    """x, discrete variables and outputs after each step, from where the stepper stands."""
    random = np.random.default_rng(0)
    n = stepper.code.n_x
    size = ULPS * np.finfo(stepper.type).eps
    x, d = np.empty((n_steps, n), stepper.type), np.empty((n_steps, len(stepper.code.memories)), stepper.type)
    y = np.empty((n_steps, len(stepper.code.y_names)), stepper.type)
    for k in range(n_steps):
        stepper.run(inputs.before[k : k + 1], 1, history=False, after=inputs.after[k : k + 1])
        stepper.x[:] *= (1.0 + size * random.uniform(-1.0, 1.0, n)).astype(stepper.type)
        x[k], d[k], y[k] = stepper.x, stepper.discrete, _outputs_now(stepper, inputs.after[k])
    return x, d, y


def _outputs_now(stepper: Stepper, u: NDArray[Any]) -> NDArray[Any]:
    code = stepper.code
    return stepper.outputs(u if code.u_names else None) if code.y_names else np.empty(0, stepper.type)


def _started(code: StepCode, inputs: StepInputs) -> Stepper:
    """A stepper at the start of the scenario."""
    stepper = Stepper(code)
    stepper.reset(u=inputs.start)
    return stepper


def record(plan: Plan) -> Recorded:
    """Run the first scenario with the compiled step and keep what a self-test needs."""
    code = plan.code
    n_steps, inputs = scenario_inputs(plan, MOST_STEPS)
    stepper = _started(code, inputs)
    first = stepper.x.copy()
    history = stepper.run(inputs.before, n_steps, after=inputs.after, outputs=True)
    discrete, outputs = stepper.memories, stepper.y
    if not np.isfinite(history).all():
        bad = int(np.argmin(np.isfinite(history).all(axis=1)))
        reason = does_not_fit(plan.outcome) if code.precision == "float" else ""
        raise NonFiniteError(
            f"{plan.name}: the compiled step gives no finite numbers after step {bad + 1} of the first scenario"
            + (f"; in float {reason}" if reason else ""),
            hint=("plan with precision='double', " if code.precision == "float" else "plan with ")
            + "a smaller tolerance or theta nearer to 1",
        )
    scale = sizes(np.vstack([first[None, :], history]))
    d_scale = sizes(discrete) if len(code.memories) else np.zeros(0)
    other, other_d, other_y = _disturbed(_started(code, inputs), inputs, n_steps)
    away = _away((other, other_d), (history, discrete), (scale, d_scale))
    allowed = np.maximum.accumulate(MARGIN * away)
    whole, _ = scenario_inputs(plan)
    usable = max(1, int(np.searchsorted(allowed, CEILING))) if np.isfinite(allowed).all() else 1
    n_steps = min(n_steps, usable)
    inputs = inputs.first(n_steps)
    points = _points(inputs, n_steps)
    return Recorded(
        n_steps,
        inputs,
        points,
        history[np.array(points) - 1],
        scale,
        discrete[np.array(points) - 1],
        d_scale,
        *_outputs(outputs, other_y, points, FLOOR[code.precision]),
        x_full=_full(code, inputs, n_steps),
        tolerance=rounded(max(FLOOR[code.precision], float(allowed[n_steps - 1]))),
        complete=n_steps == whole,
        other=_other_start(plan, inputs, min(n_steps, OTHER_STEPS), (scale, d_scale)),
    )


def _away(found: tuple[Any, Any], expected: tuple[Any, Any], scales: tuple[Matrix, Matrix]) -> Matrix:
    """Largest deviation of x and of discrete variables after each step."""
    out = np.zeros(len(found[0]))
    for a, b, scale in zip(found, expected, scales, strict=True):
        if len(scale):
            with np.errstate(all="ignore"):
                out = np.maximum(out, (np.abs(a.astype(np.float64) - b) / scale).max(axis=1))
    return out


def _other_start(plan: Plan, inputs: StepInputs, n_steps: int, scales: tuple[Matrix, Matrix]) -> OtherStart | None:
    """Another start, as far away as the model takes it; None where it takes none."""
    code, model = plan.code, plan.outcome.model
    declared = [model.declared_inputs(None)[name] for name in code.u_names]
    ranges = sizes(np.vstack([inputs.rows, inputs.before])) if code.u_names else np.zeros(0)
    for share in AWAY:
        u = np.array(
            [_moved(one, float(v), share * r) for one, v, r in zip(declared, inputs.start, ranges, strict=True)]
        )
        stepper = Stepper(code)
        x: NDArray[Any] = np.array(code.start.x, dtype=stepper.type)
        x[: code.n_states] += (share * scales[0][: code.n_states]).astype(stepper.type)
        u = u.astype(stepper.type)
        table = np.tile(u, (n_steps, 1))
        steps = StepInputs(u, table, table)
        stepper.reset(x, u)
        history = stepper.run(table, n_steps)
        found = history, stepper.memories
        stepper.reset(x, u)
        moved, other, _ = _disturbed(stepper, steps, n_steps)
        away = MARGIN * float(_away((moved, other), found, scales).max())
        if np.isfinite(history).all() and away <= CEILING:
            tolerance = rounded(max(FLOOR[code.precision], away))
            return OtherStart(u, x, n_steps, history[-1], found[1][-1], tolerance)
    return None


def _moved(declared: Declared, value: float, by: float) -> float:
    """Another value that the input can have, near this one."""
    if declared.type == "boolean":
        return 1.0 - value
    if declared.values:
        return next((one for one in declared.values if one != value), value)
    step = max(1.0, round(by)) if declared.type != "real" else by
    high = (
        min(declared.high, float(len(declared.literals) or np.inf)) if declared.type == "enumeration" else declared.high
    )
    return value + step if value + step <= high else max(value - step, declared.low)


def _points(inputs: StepInputs, n_steps: int) -> list[int]:
    """Steps after which a self-test compares: spread over the run, and after those at whose ends inputs jump."""
    spread = np.linspace(1, n_steps, min(n_steps, MOST_POINTS)).round()
    jumps = inputs.jumps
    chosen = jumps[np.unique(np.linspace(0, len(jumps) - 1, min(len(jumps), MOST_POINTS)).astype(int))] + 1
    return sorted({int(k) for k in (*spread, *chosen) if k <= n_steps})


def _outputs(
    y: NDArray[Any], other: NDArray[Any], points: list[int], floor: float
) -> tuple[NDArray[Any], Matrix, float]:
    """Outputs after these steps, their sizes, and how far they may be away; ``other``: those of the disturbed run."""
    rows = np.array(points) - 1
    kept = y[rows]
    if not kept.size:
        return kept, np.zeros(0), floor
    scale = sizes(kept)
    with np.errstate(all="ignore"):
        away = MARGIN * (np.abs(other[rows].astype(np.float64) - kept) / scale).max(axis=0)
    said = away <= CEILING
    return kept, np.where(said, scale, np.inf), rounded(max(floor, float(away[said].max(initial=0.0))))


def _full(code: StepCode, inputs: StepInputs, n_steps: int) -> NDArray[Any] | None:
    if not code.options.fallback:
        return None
    return _started(code, inputs).run(inputs.before, n_steps, history=False, kind="full", after=inputs.after)
