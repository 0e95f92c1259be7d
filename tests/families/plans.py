"""Real-time plans of random stable systems on unseen scenarios: is everything beyond the accuracy told?

A plan is made from three scenarios and judged at 5 %. Then its step runs six scenarios that it has not seen, three of
them with larger inputs, and is compared with the exact solution. Beyond 5 % the verdict must have failed or a flag must
be up; flags in covered runs of less than half of it, and failing verdicts on accurate plans, are counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

import pliant
from families import RIGHT, WRONG, Family, Outcome
from families._plants import WITHIN, Matrix, Plant, Table, random_input, random_plant

ACCURACY = 0.05
SEEN, INSIDE, OUTSIDE = 3, 3, 3


@dataclass(frozen=True)
class Counted(Outcome):
    """What is summed up over all plans."""

    quiet: int = 0  # covered runs with less than half of what is allowed
    alarms: int = 0  # of these, with a flag
    accurate: bool = False  # no covered run beyond the accuracy
    failing: bool = False  # the verdict


@dataclass
class Ranges:
    """Of the exact solutions of the scenarios that the plan has seen."""

    low: Matrix
    high: Matrix

    def error(self, plant: Plant, run: Matrix, exact: Matrix) -> float:
        """Largest distance from the values within a step, of the ranges."""
        rest = self.high - self.low < 1e-9 * np.maximum(np.abs(self.high), 1e-3)
        scale = np.where(rest, 1.0, self.high - self.low)
        worst = 0.0
        for k in range(plant.steps + 1):
            near = exact[max(0, (k - 1) * WITHIN) : (k + 1) * WITHIN + 1]
            apart = np.maximum(near.min(axis=0) - run[k], run[k] - near.max(axis=0)) / scale
            worst = max(worst, float(np.nan_to_num(apart, nan=np.inf).max()))
        return worst

    def covers(self, exact: Matrix, size: float, asked: float) -> bool:
        """Did the run stay where those of the plan have been?"""
        return bool(asked <= size and (exact >= self.low).all() and (exact <= self.high).all())


def _flagged(plan: pliant.Plan, plant: Plant, table: Table, stop: float) -> tuple[Matrix, bool]:
    """States at the ends of steps, and whether a flag was up."""
    try:
        run = plan.simulate(stop=stop, inputs={"u": table})
    except pliant.SolverError:
        return np.full((plant.steps + 1, plant.n), np.inf), True
    values = np.column_stack([run[f"x{i}"] for i in range(plant.n)])
    return values, bool(np.any(run.flags))


def check(seed: int) -> Counted:
    """One plan."""
    chance = np.random.default_rng([14, seed])
    plant = random_plant(chance)
    size = float(chance.uniform(0.5, 5.0))
    stop = plant.steps * plant.step
    tables = [random_input(chance, plant, size) for _ in range(SEEN)]
    start = np.zeros(plant.n)
    exact = np.concatenate([plant.run(one, start) for one in tables])
    ranges = Ranges(exact.min(axis=0), exact.max(axis=0))
    model = pliant.load(plant.text(f"Plant{seed}"))
    plan = model.realtime(
        step=plant.step,
        stop=stop,
        scenarios=[{"inputs": {"u": one}} for one in tables],
        options={"certificate": False},
        accuracy=ACCURACY,
    )
    holds = plan.evidence.holds
    missed, told, quiet, alarms, accurate = [], [], 0, 0, True
    for k in range(INSIDE + OUTSIDE):
        asked = size if k < INSIDE else size * float(chance.uniform(1.5, 4.0))
        table = random_input(chance, plant, asked)
        true = plant.run(table, start)
        run, flagged = _flagged(plan, plant, table, stop)
        error = ranges.error(plant, run, true)
        covered = ranges.covers(true, size, float(np.abs(table[1]).max()))
        accurate &= not (covered and error > ACCURACY)
        quiet += covered and error < ACCURACY / 2
        alarms += covered and error < ACCURACY / 2 and flagged
        told.append(f"{100 * error:.3g}{'c' if covered else ''}{'f' if flagged else ''}")
        if error > ACCURACY and holds and not flagged:
            missed.append(error)
    for table in tables:
        run, _ = _flagged(plan, plant, table, stop)
        accurate &= ranges.error(plant, run, plant.run(table, start)) <= ACCURACY
    words = f"{plant.kind}: {'holds' if holds else 'fails'}, errors {' '.join(told)} %"
    if not holds:
        words += f"; {'; '.join(plan.evidence.failing)}; {len(plan.evidence.proposals)} proposals"
    verdict = WRONG if missed else RIGHT
    return Counted(seed, verdict, words, max(missed, default=0.0), quiet, alarms, accurate, not holds)


def judge(outcomes: Sequence[Outcome]) -> tuple[str, bool]:
    """The three figures."""
    found = [one for one in outcomes if isinstance(one, Counted)]
    lost = len(outcomes) - len(found)
    silent = sum(one.verdict == WRONG for one in found)
    quiet, alarms = sum(one.quiet for one in found), sum(one.alarms for one in found)
    accurate = [one for one in found if one.accurate]
    failing = sum(one.failing for one in accurate)
    text = (
        f"{silent} of {len(found)} plans with an error beyond the accuracy that nothing tells; {alarms} of {quiet} "
        f"covered runs below half of it flagged; {failing} of {len(accurate)} accurate plans judged failing; "
        f"{sum(one.failing for one in found)} plans fail" + (f"; {lost} raised errors" if lost else "")
    )
    return text, not (silent or lost or alarms > 0.05 * quiet or failing > 0.1 * len(accurate))


FAMILY = Family(
    "plans",
    "real-time plans on unseen scenarios",
    "nothing beyond the accuracy untold; at most 5 % false alarms, 10 % accurate plans judged failing",
    200,
    2,
    check,
    judge,
)
