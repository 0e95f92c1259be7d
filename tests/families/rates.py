"""Random hybrid models: the step cut by the rates of its clocks, called in random order, against the step."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pliant
from families import RIGHT, WRONG, Family, Outcome
from families._hybrid_model import modelica
from families.hybrid import make

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from support_rates import code_of, first_difference

STEP = 1 / 32


def check(seed: int) -> Outcome:
    """The next model that has rates."""
    chance, own = random.Random(seed), 1000 * seed
    while True:
        model, _, _ = make(own, on_grid=True)
        own += 1
        if "sample(" not in modelica(model):
            continue
        options = {"order": chance.choice([1, 2]), "precision": chance.choice(["double", "float"])}
        options["monitor"] = chance.choice(["off", "flag", "fallback"])
        code = code_of(pliant.load(modelica(model)), STEP, model.stop, **options)
        if code.rates:
            break
    count = round(model.stop / STEP)
    told = first_difference(code, count, lambda due: chance.sample(due, len(due)))
    return Outcome(seed, WRONG, f"model {own - 1}, {options}: {told}") if told else Outcome(seed, RIGHT)


FAMILY = Family(
    name="rates",
    what="random hybrid models: the step cut by the rates of their clocks, called in random order, against the step",
    goal="bit for bit",
    count=60,
    part=1,
    check=check,
)
