"""The same coupling with several strategies at communication points: what each costs (tables 2 to 4 of the paper).

total = evaluations of f + directional derivatives + Taylor coefficients, each counted as one.
Andersson, Fuehrer & Akesson (2016) compare restart, proceed, x1 and x2; "correct" is pliant's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pliant.cosim.record import CouplingResult
from pliant.errors import SimulationInterrupted, SolverError
from pliant.solve.results.result import Stats

if TYPE_CHECKING:
    from pliant.cosim.coupling import Coupling

HEAD = ("at_jump", "steps", "f", "jvp", "Taylor", "total", "of restart", "Jacobians", "error fails", "order")
STRATEGIES = ("restart", "proceed", "x1", "x2", "correct")


@dataclass(frozen=True, eq=False)
class Trial:
    """One strategy: its counters, its result, or why it failed."""

    at_jump: str
    stats: Stats
    result: CouplingResult | None
    error: str = ""

    @property
    def total(self) -> int:
        """Evaluations of any kind."""
        return total(self.stats)

    def as_dict(self) -> dict[str, Any]:
        """Counters by name, for tables and machines."""
        return {"at_jump": self.at_jump, "total": self.total, "error": self.error, **self.stats.as_dict()}


def total(stats: Stats) -> int:
    """Evaluations of f, directional derivatives and Taylor coefficients together."""
    return stats.n_rhs + stats.n_jvp + stats.n_taylor


def compare(coupling: Coupling, strategies: Sequence[str] = STRATEGIES, **arguments: Any) -> list[Trial]:
    """Simulate once with each strategy; ``arguments`` are those of ``Coupling.simulate`` without at_jump."""
    out = []
    for how in strategies:
        try:
            result = coupling.simulate(at_jump=how, **arguments)
            out.append(Trial(how, result.stats, result))
        except SimulationInterrupted:  # Ctrl-C ends the comparison, not one strategy only
            raise
        except SolverError as error:
            so_far = error.result
            stats = Stats() if so_far is None else so_far.stats
            out.append(Trial(how, stats, so_far if isinstance(so_far, CouplingResult) else None, error.message))
    return out


def table(trials: Sequence[Trial]) -> list[tuple[str, ...]]:
    """Rows of text: a heading, then one row for each strategy."""
    base = next((one.total for one in trials if one.at_jump == "restart" and not one.error), 0)
    rows: list[tuple[str, ...]] = [HEAD]
    for one in trials:
        s = one.stats
        share = f"{one.total / base:.2f}" if base else ""
        numbers = (s.n_steps, s.n_rhs, s.n_jvp, s.n_taylor, one.total)
        last = (share, str(s.n_jac), str(s.n_error_fails), "failed" if one.error else f"{mean_order(one.result):.1f}")
        rows.append((one.at_jump, *(str(number) for number in numbers), *last))
    return rows


def mean_order(result: CouplingResult | None) -> float:
    """Order of the solvers, averaged over time and parts."""
    sums = [0.0, 0.0]
    for part in result.parts.values() if result is not None else ():
        if part.steps is not None and len(part.steps["h"]):
            sums[0] += float((part.steps["order"] * part.steps["h"]).sum())
            sums[1] += float(part.steps["h"].sum())
    return sums[0] / sums[1] if sums[1] else 0.0
