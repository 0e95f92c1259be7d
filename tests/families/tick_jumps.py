"""Inputs that jump on, just before and just after the ticks of clocks, in four ways to run a model.

Sampled recurrences and counters of a piecewise constant input. Times are whole numbers of steps, so that the oracle
needs no arithmetic of times: a jump on a tick (also where k*step is rounded, or up to 1e-9 of a step away) and one just
before it are seen by that tick, one just after it is not. Compared at every step: simulate, plan.simulate, the compiled
step with inputs made by the oracle (X_init, X_step_jump), and a coupling of this one part. The
integral of the input is compared where all jumps lie on ends of steps.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import pliant
from families import RIGHT, WRONG, Family, Outcome
from pliant.realtime.code.run import Stepper

STEPS = (0.1, 0.01, 0.003, 0.07, 0.125, 1e-4, 0.3)
ON, BEFORE, AFTER = "on", "before", "after"
NEAR = {ON: (0.0, 0.0, 3e-10, -3e-10), BEFORE: (-1e-3, -1e-2, -1e-5), AFTER: (1e-3, 1e-2, 1e-5)}
Array = NDArray[np.float64]


@dataclass
class Case:
    """A model, its input and how it is run."""

    step: float
    n: int
    jumps: list[tuple[int, str, float]]  # number of the step's end, side, distance in steps
    values: list[float]  # before the first jump, after each
    clocks: list[tuple[int, int]]  # offset and period in steps
    weights: list[tuple[float, float, float]]  # i = a*pre(i) + b*u + c*count
    threshold: float
    order: int

    def value(self, k: int, side: str) -> float:
        """The input just before (sees nothing at k) or from the end of step k on."""
        seen = [at < k or (at == k and (how == BEFORE or (how == ON and side == AFTER))) for at, how, _ in self.jumps]
        return self.values[sum(seen)]

    def table(self) -> tuple[list[float], list[float]]:
        """As a table with jumps."""
        times, values = [0.0], [self.values[0]]
        for (k, _, away), before, after in zip(self.jumps, self.values, self.values[1:], strict=False):
            t = k * self.step + away * self.step
            times += [t, t]
            values += [before, after]
        return [*times, 2 * self.n * self.step], [*values, values[-1]]


def make(seed: int) -> Case:
    """A random case."""
    r = np.random.default_rng(seed)
    n = int(r.integers(15, 40))
    places = np.sort(r.choice(np.arange(1, n // 2), int(r.integers(1, 5)), replace=False)) * 2
    only_on = r.random() < 0.3
    jumps = []
    for k in places.tolist():
        side = ON if only_on else str(r.choice([ON, ON, BEFORE, AFTER]))
        jumps.append((int(k), side, float(r.choice(NEAR[side]))))
    values = [float(v) for v in np.round(r.uniform(-2, 2, len(jumps) + 1), 3)]
    clocks = [(int(r.integers(0, 4)), int(r.integers(1, 5))) for _ in range(int(r.integers(1, 4)))]
    weights = [(float(r.choice([0.5, -0.5, 1.0, 0.0])), round(float(r.uniform(-2, 2)), 3), 0.25) for _ in clocks]
    return Case(float(r.choice(STEPS)), n, jumps, values, clocks, weights, 0.1, int(r.choice([1, 2])))


def modelica(case: Case) -> str:
    """Its text."""
    lines = [
        "model Ticks",
        f"  input Real u(start = {case.values[0]});",
        "  Real x(start = 0, fixed = true);",
        "  discrete Real c(start = 0, fixed = true);",
        *(f"  discrete Real i{k}(start = 1, fixed = true);" for k in range(len(case.clocks))),
        "equation",
        "  der(x) = u;",
        f"  when u > {case.threshold} then c = pre(c) + 1 + u; end when;",
    ]
    for k, ((offset, period), (a, b, c)) in enumerate(zip(case.clocks, case.weights, strict=True)):
        first, interval = (repr(round(steps * case.step, 9)) for steps in (offset, period))
        lines.append(f"  when sample({first}, {interval}) then i{k} = ({a})*pre(i{k}) + ({b})*u + {c}*c; end when;")
    return "\n".join([*lines, "end Ticks;"])


def expected(case: Case) -> dict[str, list[float]]:
    """Values from the end of each step on."""
    out: dict[str, list[float]] = {name: [] for name in ["u", "x", "c", *(f"i{k}" for k in range(len(case.clocks)))]}
    count, sampled, x = 0.0, [1.0] * len(case.clocks), 0.0
    was = False
    for k in range(case.n + 1):
        u = case.value(k, AFTER)
        x += case.step * case.value(k, BEFORE) if k else 0.0
        if k and u > case.threshold and not was:  # at the start a condition that holds already does not fire
            count += 1 + u
        was = u > case.threshold
        for j, ((offset, period), (a, b, c)) in enumerate(zip(case.clocks, case.weights, strict=True)):
            if k >= offset and (k - offset) % period == 0:
                sampled[j] = a * sampled[j] + b * u + c * count
        row = {"u": u, "x": x, "c": count} | {f"i{j}": value for j, value in enumerate(sampled)}
        for name, value in row.items():
            out[name].append(value)
    return out


def compiled(case: Case, plan: pliant.Plan) -> dict[str, Array]:
    """The C functions, called with inputs as the contract says."""
    code = plan.code
    stepper = Stepper(code)
    stepper.reset(u=[case.value(0, AFTER)])
    first = stepper.discrete.copy()
    before, after = ([[case.value(k, side)] for k in range(1, case.n + 1)] for side in (BEFORE, AFTER))
    x = stepper.run(np.array(before), case.n, after=np.array(after))
    rows = np.vstack([first, stepper.memories])
    found = {name: rows[:, k] for k, name in enumerate(code.memories) if not name.startswith("$")}
    return found | {"x": np.concatenate([[0.0], x[:, 0]])}


def check(seed: int) -> Outcome:
    """One model, four ways."""
    case = make(seed)
    model = pliant.load(modelica(case))
    stop, given = case.n * case.step, {"u": case.table()}
    options = {"search": "full", "reference": False, "certificate": False, "monitor": "off"}
    plan = model.realtime(step=case.step, stop=stop, scenarios=[{"inputs": given}], order=case.order, options=options)
    coupling = pliant.Coupling()
    coupling.add("a", model)
    later = stop + case.step  # a tick that rounding puts behind the end of a run is not the question here
    coupled = coupling.simulate(stop=later, step=case.step, inputs={"a.u": case.table()})
    simulated = model.simulate(stop=later, inputs=given, points=case.step * np.arange(case.n + 1))
    planned = plan.simulate(stop=stop, inputs=given)
    truth = expected(case)
    names = [name for name in truth if name != "x"]
    exact = all(side == ON for _, side, _ in case.jumps)
    rounded = any(
        side == ON and away for _, side, away in case.jumps
    )  # simulate has no steps to whose ends they belong
    apart = [name for name in names if not (rounded and name in ("u", "c"))]
    runs = {
        "simulate": {name: simulated[name] for name in apart} | ({"x": simulated["x"]} if exact else {}),
        "plan": {name: planned[name] for name in names} | ({"x": planned["x"]} if exact else {}),
        "C": {name: value for name, value in compiled(case, plan).items() if exact or name != "x"},
        "coupling": {name: coupled[f"a.{name}"][: case.n + 1] for name in names},
    }
    for way, found in runs.items():
        for name, values in found.items():
            wrong = np.abs(np.asarray(values) - truth[name]) > 1e-7 * (1 + np.abs(truth[name]))
            if len(values) != case.n + 1 or wrong.any():
                k = int(np.argmax(wrong))
                told = f"{values[k]:.9g}, not {truth[name][k]:.9g}"
                return Outcome(seed, WRONG, f"{way}: {name} after step {k} of {case.step} is {told}; {case.jumps}")
    return Outcome(seed, RIGHT)


FAMILY = Family(
    name="tick_jumps",
    what="inputs that jump on, just before and just after ticks: simulate, plan, C, coupling of one part",
    goal="the same samples",
    count=200,
    part=2,
    check=check,
)
