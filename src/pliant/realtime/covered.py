"""What the scenarios of a plan cover: ranges of unknowns, inputs and parameters that its runs went through."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.realtime.build import Outcome
from pliant.realtime.linearise import Matrix, Walker
from pliant.realtime.scenario import Scenario

Pair = tuple[Matrix, Matrix]  # lowest and highest values


@dataclass(frozen=True, eq=False)
class Covered:
    """Lowest and highest values met, of unknowns in the order of x, of inputs and of parameters."""

    x: Pair
    u: Pair
    p: Pair


def covered(outcome: Outcome) -> Covered:
    """The ranges of all runs of the analysis, with all entries and with the pattern."""
    runs = [*outcome.exact, *outcome.masked]
    states = (np.min([one.x.min(axis=0) for one in runs], axis=0), np.max([one.x.max(axis=0) for one in runs], axis=0))
    walker = Walker(outcome.model, outcome.request.step)
    seen = [input_range(walker, one.scenario) for one in outcome.exact]
    inputs = (np.min([low for low, _ in seen], axis=0), np.max([high for _, high in seen], axis=0))
    given = np.array([one.parameters for one in outcome.exact])
    return Covered(states, inputs, (given.min(axis=0), given.max(axis=0)))


def input_range(walker: Walker, scenario: Scenario) -> Pair:
    """Of the inputs at the start and at the ends of the steps, before and after jumps there."""
    walker.begin(scenario)
    values = np.vstack([walker.inputs.rows, walker.inputs.before])
    return values.min(axis=0), values.max(axis=0)
