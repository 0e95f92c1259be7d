"""Error against cost: what a smaller error costs in each step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from pliant.arguments import is_whole, row_number
from pliant.calls import by_keyword, by_keyword_class
from pliant.drawing import COLOURS, import_optional
from pliant.errors import ArgumentError
from pliant.solve.results.plot import write_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from pliant.realtime.plan import Plan


@by_keyword_class
@dataclass(frozen=True, kw_only=True)
class FrontierRow:
    """One plan on the frontier.

    cost       of a step, in the unit of the frontier
    error      that the pattern adds, as a share of a state's range: predicted or measured, whichever is larger
    entries    non-zeros of L - tau J
    computed   entries of J that every step evaluates
    tolerance  that it was searched with; 0: all entries
    holds      does its evidence hold?
    """

    cost: int
    error: float
    entries: int
    computed: int
    tolerance: float
    holds: bool

    def __str__(self) -> str:
        return (
            f"{self.cost:9d} {100 * self.error:8.3g} % {self.entries:8d} {self.computed:9d}"
            + "   evidence does not hold" * (not self.holds)
        )

    def as_dict(self) -> dict[str, Any]:
        """For machines."""
        return dict(vars(self))


@by_keyword_class
class Frontier(Sequence[FrontierRow]):
    """Rows of rising cost and falling error; none has both a larger cost and a larger error than another.

    unit   of the costs: "instructions" of a step on this computer, elementary functions aside and counted one by one,
           or "operations", where instructions cannot be counted
    """

    def __init__(self, found: Sequence[tuple[FrontierRow, Plan]], *, model: str, unit: str) -> None:
        self.rows = tuple(row for row, _ in found)
        self.plans = tuple(plan for _, plan in found)
        self.model, self.unit = model, unit

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, k: int) -> FrontierRow: ...
    @overload
    def __getitem__(self, k: slice) -> Sequence[FrontierRow]: ...
    def __getitem__(self, k: int | slice) -> FrontierRow | Sequence[FrontierRow]:
        return self.rows[k if isinstance(k, slice) else row_number("frontier", k, len(self.rows))]

    def __repr__(self) -> str:
        return f"<pliant.Frontier {self.model!r}: {len(self.rows)} plans>"

    def __str__(self) -> str:
        head = f"{self.model}: error against cost\n     {self.unit:>12}    error  entries  computed"
        return "\n".join([head, *(f"  {k:2d} {row}" for k, row in enumerate(self.rows))])

    def as_dict(self) -> dict[str, Any]:
        """For machines."""
        return {"model": self.model, "unit": self.unit, "rows": [row.as_dict() for row in self.rows]}

    def plan(self, k: int) -> Plan:
        """The plan of a row."""
        if not is_whole(k) or not -len(self) <= k < len(self):
            raise ArgumentError(
                f"the frontier has no row {k!r}", hint=f"a number from 0 to {len(self) - 1}, see print(plan.frontier)"
            )
        return self.plans[k]

    def within(self, budget: float) -> int:
        """The row of least error whose cost is within a budget; of those whose evidence holds, if one does."""
        inside = [k for k, row in enumerate(self.rows) if row.cost <= budget]
        if not inside:
            least = self.rows[0]
            raise ArgumentError(
                f"{self.model}: a budget of {budget:g} {self.unit} a step cannot be met: the cheapest plan within the "
                f"tolerance needs {least.cost}",
                hint=f"budget={least.cost} or more, a larger tolerance, or options={{'monitor': 'off'}}",
            )
        return max(inside, key=lambda k: (self.rows[k].holds, -self.rows[k].error, -self.rows[k].cost))

    @by_keyword
    def plot(self, file: str | Path | None = None) -> Figure:
        """Draw error against cost; ``file``: also save it."""
        drawn = import_optional("matplotlib.figure", "plotting", "print(plan.frontier) says it in words")
        figure: Figure = drawn.Figure(figsize=(6.0, 3.6), layout="constrained")
        axes = figure.subplots()
        cost, error = [row.cost for row in self.rows], [100 * row.error for row in self.rows]
        axes.step(cost, error, where="post", color=COLOURS[0], linewidth=1.0, alpha=0.5)
        for holds, marker, label in ((True, "o", "evidence holds"), (False, "x", "evidence does not hold")):
            which = [k for k, row in enumerate(self.rows) if row.holds == holds]
            if which:
                axes.plot([cost[k] for k in which], [error[k] for k in which], marker, color=COLOURS[0], label=label)
        for row, x, y in zip(self.rows, cost, error, strict=True):
            axes.annotate(f" {row.entries}", (x, y), fontsize=8, va="bottom")
        axes.set(xlabel=f"{self.unit} of a step", ylabel="error added, % of a range", ylim=(0.0, None))
        axes.set_title(f"{self.model}: error against cost, with the entries of L - τJ", fontsize=10)
        axes.grid(color="#DDDDDD", linewidth=0.7)
        axes.legend(frameon=False, fontsize=8)
        if file is not None:
            write_figure(figure, file, dpi=150)
        return figure
