"""What the stages of a plan hand on: plain data, made once and then only read."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pliant.realtime.evidence.accuracy import Judge
from pliant.realtime.sparsing.elimination import Elimination, Entry
from pliant.realtime.sparsing.entry_states import EntryStates, Mask
from pliant.realtime.sparsing.linearisations import CommonData, Points
from pliant.realtime.sparsing.linearise import Trace
from pliant.realtime.sparsing.price import Price
from pliant.realtime.sparsing.search import SearchResult
from pliant.realtime.stages.request import PlanRequest
from pliant.solve.models.numeric import NumericModel


@dataclass(frozen=True, eq=False)
class Exact:
    """The runs with all entries, their linearisations, and accurate runs to compare with."""

    model: NumericModel
    request: PlanRequest
    frame: CommonData
    runs: list[Trace]
    points: Points
    judge: Judge | None  # None: accurate runs are not wanted
    taken: float  # share of the accuracy that the step with all entries takes


@dataclass(eq=False)
class Outcome:
    """The pattern that was found, and everything it was found with."""

    model: NumericModel
    request: PlanRequest
    frame: CommonData
    exact: list[Trace]
    points: Points  # of the exact runs
    masked_points: Points  # of the runs with the pattern
    masked: list[Trace]
    found: SearchResult
    elimination: Elimination
    full: Elimination
    colours: int
    full_colours: int
    judge: Judge | None  # accurate runs, where they are wanted
    price: Price  # what entries cost

    @property
    def mask(self) -> Mask:
        """Which entries of Df stay."""
        return self.found.states.mask

    @property
    def states(self) -> EntryStates:
        """What the step does with each entry of Df."""
        return self.found.states

    @property
    def held_entries(self) -> dict[Entry, float]:
        """Values of the entries that are frozen, by row and column."""
        frame, states = self.frame, self.states
        where = np.flatnonzero(states.frozen)
        places = zip(frame.rows[where].tolist(), frame.columns[where].tolist(), strict=True)
        return dict(zip(places, states.constants[where].tolist(), strict=True))
