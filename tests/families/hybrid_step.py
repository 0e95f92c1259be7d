"""Random hybrid models as real-time steps: the interpreter of `hybrid` with events at the ends of steps.

States are straight lines between events and all events lie on the grid of the steps, so that a step of any size makes
no error and what is compared is the discrete part alone.
"""

from __future__ import annotations

import numpy as np

import pliant
from families import RIGHT, WRONG, Family, Outcome
from families._hybrid_model import modelica
from families.hybrid import make

STEP = 1 / 32
MOST_ROUNDS = 3  # and one in which nothing changes; a step has four at most


def check(seed: int) -> Outcome:
    """The generated step against the interpreter, step by step."""
    model, run, _ = make(seed, on_grid=True)
    offset = 0
    while run.rounds > MOST_ROUNDS:
        offset += 1
        model, run, _ = make(seed + 1_000_000 * offset, on_grid=True)
    plan = pliant.load(modelica(model)).realtime(step=STEP, stop=model.stop, options={"search": "full"})
    result = plan.simulate(stop=model.stop)
    for k, t in enumerate(np.arange(0.0, model.stop + STEP / 2, STEP)):
        for name, value in run.values_at(float(t)).items():
            got = float(result[name][k])
            if not abs(got - value) <= 1e-9 * (1 + abs(value)):
                return Outcome(seed, WRONG, f"{name}({t:g}) = {got:.9g}, not {value:.9g}")
    return Outcome(seed, RIGHT)


FAMILY = Family(
    name="hybrid_step",
    what="hybrid models with elsewhen and algorithm sections as real-time steps",
    goal="0 wrong",
    count=60,
    part=1,
    check=check,
)
