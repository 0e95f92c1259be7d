"""What was checked about a pattern, over which states, inputs and parameters, and what was not.

Evidence, not proof: eigenvalues were computed where the scenarios led, windows along their trajectories. The text is
to be filed by people who sign for safety; every number in it is also a field.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np

from pliant.calls import by_keyword_class
from pliant.realtime.evidence.certificates import Lyapunov, Windows
from pliant.realtime.sparsing.linearise import Matrix
from pliant.realtime.sparsing.static_lu import PivotQuality

MISSED = "what reaches the accuracy"  # the item of a plan that misses it
SHOWN = 10  # ranges that are printed; the file has them all


@dataclass(frozen=True)
class EvidenceItem:
    """One thing that was checked."""

    name: str
    holds: bool | None  # None: told, not judged
    text: str


@dataclass(frozen=True)
class Proposal:
    """Settings for ``model.realtime`` that were tried, and the error that they reach."""

    settings: Mapping[str, Any]  # what changes: order, step, options
    error: float  # measured with all entries, share of the range of `name`; infinite: the run fails
    name: str  # of the largest error
    reaches: bool
    text: str

    def __str__(self) -> str:
        return self.text

    def as_dict(self) -> dict[str, Any]:
        """For machines."""
        return {
            "settings": dict(self.settings),
            "error": self.error if np.isfinite(self.error) else None,
            "name": self.name,
            "reaches": self.reaches,
            "text": self.text,
        }


@by_keyword_class
@dataclass(eq=False)
class Evidence:
    """Numbers and words about a plan."""

    n_points: int = 0
    _: KW_ONLY
    n_masked_points: int = 0
    violators: int = 0
    radius: float = 0.0
    radius_exact: float = 0.0
    margin_kept: float = 1.0
    shift: float = 0.0  # largest change of an eigenvalue in units of what is allowed
    smallest_real: float = 0.0
    predicted: list[Matrix] = field(default_factory=list)  # largest error per state, of each scenario, units of range
    measured: list[Matrix] = field(default_factory=list)
    reference: list[Matrix | None] = field(default_factory=list)  # sparsed run against an accurate one
    reference_exact: list[Matrix | None] = field(default_factory=list)  # run with all entries against an accurate one
    infinity: float = np.inf
    lyapunov: Lyapunov | None = None
    window: Windows | None = None
    true_radius: float = 0.0  # of the differenced step
    loop_radius: float | None = None  # largest |eigenvalue| of maps over one period of the clocks; None: no such loop
    loop_radius_exact: float | None = None  # the same with all entries
    loop_margin: float | None = None  # least share of 1 - loop_radius_exact that is kept
    double: PivotQuality | None = None
    single: PivotQuality | None = None
    constraint: float | None = None  # largest residual of algebraic equations, of the largest term
    unstable_exact: int = 0
    accuracy: float | Mapping[str, float | None] | None = None  # as it was asked for; None: not judged
    judged: tuple[str, ...] = ()
    errors: dict[str, float] = field(default_factory=dict)  # against accurate runs, shares of the ranges
    limits: dict[str, float | None] = field(default_factory=dict)  # what is allowed; None: not judged
    proposals: tuple[Proposal, ...] = ()  # settings that were tried and reach the accuracy
    code_difference: float | None = None  # of the compiled step from the runs of the analysis, in units of the ranges
    items: list[EvidenceItem] = field(default_factory=list)
    covered: list[str] = field(default_factory=list)  # scenarios with their inputs, then ranges of all states
    runs: list[str] = field(default_factory=list)  # scenarios alone
    ranges: list[tuple[str, float, float]] = field(default_factory=list)  # inputs, then states of large errors first
    not_checked: list[str] = field(default_factory=list)

    @property
    def holds(self) -> bool:
        """Did everything that was judged hold?"""
        return all(one.holds is not False for one in self.items)

    @property
    def failing(self) -> list[str]:
        """What does not hold."""
        return [one.name for one in self.items if one.holds is False]

    @property
    def worst(self) -> str | None:
        """The name whose error against accurate runs is largest in units of what is allowed; None: none is known."""
        if not self.errors:
            return None
        judged = {name: error / (self.limits.get(name) or np.inf) for name, error in self.errors.items()}
        return max(self.errors, key=lambda name: (judged[name], self.errors[name]))

    @property
    def bias(self) -> float:
        """Largest predicted error over all scenarios and states, in units of the range."""
        return max((float(one.max()) for one in self.predicted), default=0.0)

    @property
    def text(self) -> str:
        """For the file: everything."""
        return self._told(self.covered)

    def _told(self, covered: list[str]) -> str:
        mark = {True: "holds", False: "DOES NOT HOLD", None: "noted"}
        lines = ["What was checked"]
        lines += [f"  [{mark[one.holds]}] {one.name}: {one.text}" for one in self.items]
        lines += ["", "Over which states, inputs and parameters", *(f"  {one}" for one in covered)]
        lines += ["", "What was not checked", *(f"  - {one}" for one in self.not_checked)]
        return "\n".join(lines) + "\n"

    @property
    def short(self) -> str:
        """What was checked, without the ranges of the states."""
        lines = self.text.splitlines()
        return "\n".join(lines[: lines.index("")])

    def __str__(self) -> str:
        """For the screen: of long lists what matters most."""
        runs = [*self.runs[:SHOWN], *([f"and {len(self.runs) - SHOWN} more scenarios"] if self.runs[SHOWN:] else [])]
        ranges = [f"{name}: {low:.6g} .. {high:.6g}" for name, low, high in self.ranges[:SHOWN]]
        if self.ranges[SHOWN:]:
            ranges.append(f"and {len(self.ranges) - SHOWN} more ranges, in evidence.text and in the written folder")
        return self._told([*runs, *ranges])

    def as_dict(self) -> dict[str, Any]:
        """For machines."""
        out: dict[str, Any] = {
            name: getattr(self, name)
            for name in ("n_points", "n_masked_points", "violators", "radius", "radius_exact", "margin_kept", "shift")
        }
        out |= {"smallest_real": self.smallest_real, "bias": self.bias, "holds": self.holds}
        out |= {name: getattr(self, name) for name in ("loop_radius", "loop_radius_exact", "loop_margin")}
        out["gamma"] = None if self.lyapunov is None else self.lyapunov.gamma
        out["window"] = None if self.window is None else {"steps": self.window.length, "bound": self.window.bound}
        out["accuracy"] = self.accuracy
        out |= {"judged": list(self.judged), "errors": self.errors, "limits": self.limits}
        out["proposals"] = [one.as_dict() for one in self.proposals]
        out["items"] = [{"name": one.name, "holds": one.holds, "text": one.text} for one in self.items]
        out["covered"], out["not_checked"] = self.covered, self.not_checked
        return json.loads(json.dumps(out, default=float))  # type: ignore[no-any-return]
