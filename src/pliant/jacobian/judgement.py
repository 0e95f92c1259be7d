"""What the quality check of a Jacobian says: flagged entries, a line for each state, ranked findings, a report."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import KW_ONLY, asdict, dataclass

from pliant.calls import by_keyword_class

GRADES = ("bad", "poor", "note")
SHOWN = 12  # lines of each list in the report


@dataclass(frozen=True)
class Entry:
    """A flagged entry of the Jacobian."""

    row: str
    column: str
    value: float
    reference: float
    error: float  # relative to the row's largest entry in units of nominal change
    grade: str  # "bad" (> 1e-3) or "poor" (> 1e-6)


@dataclass(frozen=True)
class Column:
    """What is known about the differences along one state."""

    name: str
    value: float
    increment: float
    best_increment: float
    curvature: float  # sqrt(|f| / |f''|); infinite: f is linear along this state
    noise: float  # of the value that it hurts most
    noise_ratio: float  # noise over the rounding to be expected
    error: float  # worst entry, beyond the doubt about the reference
    sterbenz: bool  # x and x + sigma of one sign and within a factor of two
    representable: bool  # (x + sigma) - x == sigma
    verdict: str
    """fine, too large, too small, noisy, limit (forward differences give no more), not reproduced, kink, jump,
    no slope, wrong side (refused on the side of the increment), refused (on both sides), no increment"""


@dataclass(frozen=True)
class QualityFinding:
    """One thing to know, with the states and values concerned and one thing to try."""

    kind: str
    """increment, not reproduced, noisy, limit, noise, refused, jump, kink, no slope, sterbenz, representable,
    derivative (the exact or directional one contradicts f)"""
    grade: str  # bad, poor, note
    names: tuple[str, ...]  # states
    rows: tuple[str, ...]  # values of f
    size: float  # ranks findings of one grade
    text: str
    suggestion: str

    def __str__(self) -> str:
        rows = f" [{', '.join(self.rows[:3])}{', ...' if len(self.rows) > 3 else ''}]" if self.rows else ""
        return f"{self.grade:4}  {self.text}{rows}\n      try: {self.suggestion}"


def ranked(findings: Iterable[QualityFinding]) -> tuple[QualityFinding, ...]:
    """Bad before poor before notes; within each the largest first."""
    return tuple(sorted(findings, key=lambda finding: (GRADES.index(finding.grade), -finding.size)))


@by_keyword_class
@dataclass(frozen=True)
class Quality:
    """The verdict on a Jacobian; print it to read it."""

    entries: tuple[Entry, ...]  # flagged ones, the worst first
    _: KW_ONLY
    columns: tuple[Column, ...]  # one for each state
    findings: tuple[QualityFinding, ...]  # ranked
    source: str  # of the reference: exact, directional, extrapolated, none
    error: float  # of the worst entry
    evaluations: int  # of f

    @property
    def ok(self) -> bool:
        """Nothing bad was found."""
        return all(finding.grade != "bad" for finding in self.findings) and all(e.grade != "bad" for e in self.entries)

    @property
    def worst(self) -> QualityFinding | None:
        """The first of the findings."""
        return self.findings[0] if self.findings else None

    def as_dict(self) -> dict[str, object]:
        """Plain data for JSON; numbers that JSON lacks become None."""
        found: dict[str, object] = {"ok": self.ok, "source": self.source, "evaluations": self.evaluations}
        found["error"] = number(self.error)
        for name, items in (("entries", self.entries), ("columns", self.columns), ("findings", self.findings)):
            found[name] = [{key: number(value) for key, value in asdict(item).items()} for item in items]
        return found

    def __str__(self) -> str:
        bad = sum(entry.grade == "bad" for entry in self.entries)
        lines = [
            f"Jacobian against {self.source} derivatives: {'good' if self.ok else 'bad'}, error up to {self.error:.2g},"
            f" {bad} bad and {len(self.entries) - bad} poor entries, {self.evaluations} evaluations"
        ]
        lines += [str(finding) for finding in self.findings[:SHOWN]] + more(len(self.findings))
        if self.entries:
            lines.append(f"{'entry':<40} {'value':>12} {'reference':>12} {'error':>9}")
            for entry in self.entries[:SHOWN]:
                what = f"d {entry.row} / d {entry.column}"
                lines.append(f"{what:<40} {entry.value:>12.5g} {entry.reference:>12.5g} {entry.error:>9.2g}")
            lines += more(len(self.entries))
        suspects = sorted((c for c in self.columns if c.verdict != "fine"), key=lambda c: -c.error)
        if suspects:
            lines.append(f"{'state':<24} {'value':>11} {'increment':>10} {'best':>10} {'noise':>9} verdict")
            for c in suspects[:SHOWN]:
                numbers = f"{c.value:>11.4g} {c.increment:>10.3g} {c.best_increment:>10.3g} {c.noise:>9.2g}"
                lines.append(f"{c.name:<24} {numbers} {c.verdict}")
            lines += more(len(suspects))
        return "\n".join(lines)


def more(count: int) -> list[str]:
    """A line for what is not shown."""
    return [f"... and {count - SHOWN} more"] if count > SHOWN else []


def number(value: object) -> object:
    """NaN and infinities as None, tuples as lists."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return list(value) if isinstance(value, tuple) else value
