"""What the stages of a plan hand on: plain data, made once and then only read."""

from __future__ import annotations

from dataclasses import dataclass

from pliant.realtime.evidence.accuracy import Judge
from pliant.realtime.sparsing.elimination import Elimination
from pliant.realtime.sparsing.linearisations import CommonData, Points
from pliant.realtime.sparsing.linearise import Mask, Trace
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

    @property
    def mask(self) -> Mask:
        """Which entries of Df stay."""
        return self.found.mask
