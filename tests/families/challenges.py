"""Plans of linear plants, challenged beyond what they were made for, against exact solutions.

Inputs are drawn as constants, steps, ramps and sines, all of them straight lines between knots, so the plant's answer
is a matrix exponential from knot to knot (scipy); states are in units from 1 to 1e-11. From it the error of every row
is counted again, and with it what is missed, flagged or beyond the accuracy. Where a parameter is negative the model
has no solution: those rows, and no others, are kept apart. With the monitor off a plan misses what leaves its range;
the worst cases run again from their file with the same errors.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

import pliant
from families import RIGHT, WRONG, Family, Outcome, all_right
from pliant.solve.signals.kinds import ConstantSignal, Declared, TableSignal

Matrix = NDArray[np.float64]
N, SEEN = 8, 2
ACCURACY = 0.05
FINE = 8  # points of the exact solution in each step
UNITS = (1.0, 1e-4, 1e-8, 1e-11)  # of the states
CLOSE = 0.1  # of the limit: nearer to it nobody says on which side an error lies


@dataclass(frozen=True)
class Plant:
    """x' = A x + b g u + c log(q)."""

    A: Matrix
    b: Matrix
    c: Matrix
    step: float
    stop: float
    known: dict[str, tuple[Matrix, Matrix]] = field(default_factory=dict)  # solutions by the name of the scenario

    def text(self) -> str:
        """As a model."""
        n = len(self.b)
        lines = ["model Plant", "  input Real u(start = 0);", "  parameter Real g = 1, q = 1;"]
        lines += [f"  Real x{i + 1}(start = 0, fixed = true);" for i in range(n)] + ["equation"]
        for i in range(n):
            row = " + ".join(f"({float(value)!r})*x{j + 1}" for j, value in enumerate(self.A[i]) if value)
            lines.append(f"  der(x{i + 1}) = {row} + ({float(self.b[i])!r})*g*u + ({float(self.c[i])!r})*log(q);")
        return "\n".join([*lines, "end Plant;\n"])

    def exact(self, scenario: pliant.Scenario) -> tuple[Matrix, Matrix]:
        """Times and states, FINE points in each step and all knots of the input."""
        if scenario.name not in self.known:
            self.known[scenario.name] = self._solved(scenario)
        return self.known[scenario.name]

    def _solved(self, scenario: pliant.Scenario) -> tuple[Matrix, Matrix]:
        n, stop = len(self.b), scenario.stop or self.stop
        g, q = scenario.parameters.get("g", 1.0), scenario.parameters.get("q", 1.0)
        signal = scenario.inputs["u"].typed("u", Declared(), stop)
        assert isinstance(signal, (ConstantSignal, TableSignal))
        grid = np.arange(0.0, stop + self.step / FINE / 2, self.step / FINE)
        knots = np.asarray(signal.times) if isinstance(signal, TableSignal) else np.zeros(0)
        t = np.union1d(grid, knots[(knots > 0.0) & (knots < stop)])
        joint = np.zeros((n + 2, n + 2))
        joint[:n, :n], joint[:n, n], joint[n, n + 1] = self.A, self.b * g, 1.0
        x, out = np.zeros(n), [np.zeros(n)]
        steady = np.linalg.solve(self.A, self.c * np.log(q))
        known: dict[float, Matrix] = {}
        for left, right in pairwise(t.tolist()):
            h = float(right - left)
            key = round(h, 15)
            if key not in known:
                known[key] = scipy.linalg.expm(joint * h)
            inside = [left + 0.25 * h, left + 0.75 * h]  # beside jumps, which knots are
            first, last = (float(np.ravel(signal.at(at))[0]) for at in inside)
            slope = (last - first) / (0.5 * h)
            x = (known[key] @ np.concatenate([x + steady, [first - 0.25 * h * slope, slope]]))[:n] - steady
            out.append(x)
        return t, np.array(out)


def make(seed: int) -> Plant:
    """A chain or a full matrix with one stiff part."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 5))
    A = rng.normal(size=(n, n)) * (rng.random((n, n)) < 0.6)
    A -= (np.linalg.eigvals(A).real.max() + rng.uniform(0.3, 1.0)) * np.eye(n)
    k, stiff = int(rng.integers(n)), float(10.0 ** rng.uniform(1.0, 2.5))
    A[k] = 0.0
    A[k, k], A[k, (k + 1) % n] = -stiff, 0.5 * stiff * rng.choice([-1.0, 1.0])
    if np.linalg.eigvals(A).real.max() > -0.2:
        return make(seed + 7_000_003)
    b, c = rng.normal(size=n) * (rng.random(n) < 0.7), 0.1 * rng.normal(size=n)
    b[int(rng.integers(n))] = 1.0
    unit = UNITS[seed % len(UNITS)]
    return Plant(A, unit * b, unit * c, float(rng.choice([0.02, 0.04])), 2.0)


def error_of(plant: Plant, plan: pliant.Plan, scenario: pliant.Scenario, scale: Matrix) -> Matrix:
    """(n,) error of every state, moved by up to one step, in units of the ranges."""
    run = plan.simulate(
        stop=scenario.stop, inputs=scenario.inputs, parameters=scenario.parameters, start_values=scenario.start_values
    )
    t, x = plant.exact(scenario)
    worst = np.zeros(len(scale))
    for k, at in enumerate(run.time):
        near = x[(t >= at - plant.step * (1 + 1e-9)) & (t <= at + plant.step * (1 + 1e-9))]
        value = np.array([run[f"x{i + 1}"][k] for i in range(len(scale))])
        worst = np.maximum(worst, np.maximum(value - near.max(axis=0), near.min(axis=0) - value))
    return worst / scale


def check(seed: int) -> Outcome:
    """One plan with its monitor and one without, the same unseen scenarios for both."""
    plant, rng = make(seed), np.random.default_rng((seed, 1))
    kinds: Any = ["constant", "step", "ramp", "multisine"]
    kind = kinds if seed % 3 == 0 else str(rng.choice(kinds))
    seen = {"inputs": {"u": {"kind": kind, "range": (0.0, 1.0)}}, "parameters": {"g": (0.8, 1.2)}}
    wider = {"inputs": {"u": {"kind": kinds, "range": (-4.0, 8.0)}}, "parameters": {"g": (0.5, 3.0), "q": (-0.5, 2.0)}}
    planned = list(pliant.Scenarios(seen, SEEN, seed=seed, stop=plant.stop))
    model = pliant.load(plant.text())
    unseen = pliant.Scenarios(wider, N, seed=seed + 1, stop=plant.stop)
    scale = np.ptp(np.vstack([plant.exact(one)[1] for one in planned]), axis=0)
    if scale.min() < 1e-3 * scale.max():  # a state that no input reaches: its nominal value counts
        return Outcome(seed, RIGHT, "a state rests")
    for monitor in ("flag", "off"):
        plan = model.realtime(
            step=plant.step, stop=plant.stop, scenarios=planned, accuracy=ACCURACY, options={"monitor": monitor}
        )
        found = plan.challenge(scenarios=unseen, workers=1)
        told = _compare(plant, plan, found, scale, monitor)
        if told:
            return Outcome(seed, WRONG, f"monitor {monitor}: {told}")
    told = _again(plan, found)
    return Outcome(seed, WRONG, told) if told else Outcome(seed, RIGHT, value=len(found.missed))


def _compare(plant: Plant, plan: pliant.Plan, found: pliant.Challenge, scale: Matrix, monitor: str) -> str:
    """What is wrong with the rows; "" if nothing is."""
    names = [f"x{i + 1}" for i in range(len(scale))]
    missed = {one.scenario.name for one in found.missed}
    for row in found.rows:
        where = row.scenario.name
        if row.scenario.parameters["q"] < 0.0:
            if row.reason is None or row not in found.unsolvable:
                return f"{where}: no solution exists, and yet {row}"
            continue
        if row.reason is not None:
            return f"{where}: {row.reason}"
        errors = error_of(plant, plan, row.scenario, scale)
        right = float(errors[names.index(row.name)])
        if abs(right - row.error) > 0.02 * right + 2e-3 * ACCURACY:
            return f"{where}: error of {row.name} {row.error:.6g}, not {right:.6g}"
        if errors.max() > row.error * 1.02 + 2e-3 * ACCURACY:
            return f"{where}: {names[int(errors.argmax())]} is worse: {errors.max():.6g}, not {row.error:.6g}"
        if abs(right - ACCURACY) > CLOSE * ACCURACY and row.failed != (right > ACCURACY):
            return f"{where}: failed {row.failed} with an error of {right:.6g}"
        if row.failed and (monitor == "off" or not row.flagged) != (where in missed):
            return f"{where}: missed or not? {row}"
        if monitor == "flag" and where in missed:
            return f"{where}: MISSED, {row}"
    return ""


def _again(plan: pliant.Plan, found: pliant.Challenge) -> str:
    """The worst cases from their file."""
    with tempfile.TemporaryDirectory() as folder:
        place = found.save(Path(folder) / "found", worst=4)
        cases = json.loads((place / "worst.json").read_text(encoding="utf-8"))
    known = {one.scenario.name: one for one in found.rows}
    for row in plan.challenge(scenarios=cases, workers=1).rows:
        old = known[row.scenario.name]
        if abs(row.error - old.error) > 1e-3 * old.error + 1e-9 or row.failed != old.failed:
            return f"{row.scenario.name}: from its file {row.error:.6g}, before {old.error:.6g}"
    return ""


def judge(outcomes: Sequence[Outcome]) -> tuple[str, bool]:
    """All right, and there were errors to be found."""
    text, met = all_right(outcomes)
    missed = sum(int(one.value) for one in outcomes)
    return f"{text}; without a monitor {missed} runs were missed, all of them found", met and missed > 0


FAMILY = Family(
    name="challenges",
    what="plans of linear plants challenged far beyond their ranges, with and without monitor, against exact solutions",
    goal="every error right, unsolvable ones apart, none missed with the monitor, worst cases run again",
    count=40,
    part=1,
    check=check,
    judge=judge,
)
