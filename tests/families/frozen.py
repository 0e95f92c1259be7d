"""Random stiff nonlinear systems: computed, frozen and dropped entries against a step written here; frontiers; budgets.

    x_i' = -a_i x_i (1 + b_i x_i^2) + sum over j of c_ij tanh(d_ij x_j) + e_i u(t),     u a sum of sines

Formulas of f and its Jacobian are those of this file, the linearly implicit Euler step is numpy's. With the plan's
pattern and constants it must give what the compiled step gives; unseen inputs of the same size may add up to three
times the tolerance to the error; the frontier must be monotone and every budget be met or refused with the least.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

import pliant
from families import RIGHT, WRONG, Family, Outcome
from families._plants import log

Matrix = NDArray[np.float64]
TOLERANCE, UNSEEN, MORE = 0.02, 3, 3.0
SAME = 1e-9


@dataclass
class System:
    """Coefficients; inputs are amplitudes and frequencies."""

    a: Matrix
    b: Matrix
    c: Matrix
    d: Matrix
    e: Matrix
    step: float
    steps: int

    @property
    def n(self) -> int:
        """Number of states."""
        return len(self.a)

    def text(self, name: str) -> str:
        """The same as a model."""
        n, number = self.n, lambda value: f"({float(value)!r})"
        lines = [f"model {name}", "  parameter Real A1 = 1, A2 = 0.3, W1 = 1, W2 = 4;", "  Real u;"]
        lines += [f"  Real x{i}(start = 0, fixed = true);" for i in range(n)]
        lines += ["equation", "  u = A1*sin(W1*time) + A2*sin(W2*time);"]
        for i in range(n):
            terms = [f"-{number(self.a[i])}*x{i}*(1 + {number(self.b[i])}*x{i}^2)", f"{number(self.e[i])}*u"]
            terms += [
                f"{number(self.c[i, j])}*tanh({number(self.d[i, j])}*x{j})" for j in np.flatnonzero(self.c[i]).tolist()
            ]
            lines.append(f"  der(x{i}) = {' + '.join(terms)};")
        return "\n".join([*lines, f"end {name};"])

    def f(self, x: Matrix, u: float) -> Matrix:
        """Right side."""
        return -self.a * x * (1 + self.b * x**2) + (self.c * np.tanh(self.d * x)).sum(axis=1) + self.e * u

    def jacobian(self, x: Matrix) -> Matrix:
        """df/dx."""
        return np.diag(-self.a * (1 + 3 * self.b * x**2)) + self.c * self.d / np.cosh(self.d * x) ** 2

    def run(self, wave: Matrix, mask: Matrix | None = None, frozen: Matrix | None = None) -> Matrix:
        """Linearly implicit Euler steps; with a pattern and constants, or all entries."""
        x, out = np.zeros(self.n), [np.zeros(self.n)]
        for k in range(1, self.steps + 1):
            t = k * self.step
            J = self.jacobian(x)
            if mask is not None and frozen is not None:
                J = np.where(np.isfinite(frozen), frozen, np.where(mask, J, 0.0))
            u = float(wave[0] * np.sin(wave[2] * t) + wave[1] * np.sin(wave[3] * t))
            x = x + np.linalg.solve(np.eye(self.n) - self.step * J, self.step * self.f(x, u))
            out.append(x)
        return np.array(out)


def _random(chance: np.random.Generator) -> System:
    n = int(chance.integers(3, 9))
    a = np.array([log(chance, 0.5, 2000.0) for _ in range(n)])
    couples = (chance.random((n, n)) < 0.4) & ~np.eye(n, dtype=bool)
    c = np.where(couples, chance.uniform(-0.6, 0.6, (n, n)) * a[:, None] / max(n / 3, 1), 0.0)
    return System(
        a,
        chance.uniform(0.0, 0.4, n),
        np.round(c, 6),
        np.round(chance.uniform(0.3, 1.5, (n, n)), 3),
        np.round(a * chance.uniform(-1.0, 1.0, n), 6),
        log(chance, 2e-3, 3e-2),
        200,
    )


def _wave(chance: np.random.Generator, size: float, step: float) -> Matrix:
    fast = 0.3 / step / 10
    return np.array(
        [size, size * chance.uniform(0, 0.4), fast * chance.uniform(0.1, 0.3), fast * chance.uniform(0.3, 1)]
    )


def check(seed: int) -> Outcome:
    """One system."""
    chance = np.random.default_rng([23, seed])
    system, size = _random(chance), float(chance.uniform(0.3, 2.0))
    waves = [_wave(chance, size, system.step) for _ in range(2)]
    names = ("A1", "A2", "W1", "W2")
    stop = system.steps * system.step
    plan = pliant.load(system.text(f"Frozen{seed}")).realtime(
        step=system.step,
        stop=stop,
        tolerance=TOLERANCE,
        scenarios=[{"parameters": dict(zip(names, one.tolist(), strict=True))} for one in waves],
        options={"certificate": False, "points": 50},
        accuracy=None,
        progress=False,
    )
    order = [int(name[1:]) for name in plan.names]
    place = np.argsort(order)
    mask, frozen = plan.mask[np.ix_(place, place)], plan.frozen[np.ix_(place, place)]
    exact = [system.run(one) for one in waves]
    scale = np.max([np.ptp(one[6:], axis=0) for one in exact], axis=0)
    wrong = [] if plan.evidence.holds else ["the evidence does not hold"]
    seen = list(zip(waves, exact, strict=True))
    more = [(one, system.run(one)) for one in (_wave(chance, size, system.step) for _ in range(UNSEEN))]
    worst = 0.0
    for k, (wave, full) in enumerate(seen + more):
        run = plan.simulate(stop=stop, parameters=dict(zip(names, wave.tolist(), strict=True)))
        found = np.column_stack([run[f"x{i}"] for i in range(system.n)])
        apart = float((np.abs(found - system.run(wave, mask, frozen)) / scale).max())
        if not apart <= SAME:
            wrong.append(f"run {k}: {apart:.1g} from the step with this pattern")
        added = float((np.abs(found - full)[6:] / scale).max())
        worst = max(worst, added)
        if added > (1.1 if k < len(seen) else MORE) * TOLERANCE and not np.any(run.flags):
            wrong.append(f"run {k}: {100 * added:.3g} % added")
    rows = plan.frontier.rows
    if not all(a.cost < b.cost and a.error > b.error for a, b in pairwise(rows)):
        wrong.append(f"frontier not monotone: {rows}")
    for row in rows:
        if rows[plan.frontier.within(row.cost)].cost > row.cost:
            wrong.append(f"budget {row.cost} not met")
    try:
        plan.frontier.within(rows[0].cost - 1)
        wrong.append("a budget below the least was met")
    except pliant.ArgumentError as error:
        if str(rows[0].cost) not in str(error):
            wrong.append("the least is not told")
    held = int(np.isfinite(frozen).sum())
    kinds = f"{plan.full_entries} -> {plan.entries} entries, {held} frozen, {plan.computed} computed"
    words = "; ".join([kinds, f"{len(rows)} rows", f"added {100 * worst:.2g} %", *wrong])
    return Outcome(seed, WRONG if wrong else RIGHT, words, worst)


FAMILY = Family(
    "frozen",
    "stiff nonlinear systems with computed, frozen and dropped entries, unseen inputs, frontiers and budgets",
    "step as written here, error within what is allowed, frontier monotone, budgets met",
    60,
    1,
    check,
)
