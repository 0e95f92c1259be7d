"""What all cases of a study share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pliant.arguments import is_whole
from pliant.batch.cases import Case


@dataclass(frozen=True)
class Order:
    """What all cases share."""

    arguments: dict[str, Any]  # of simulate
    keep: Any  # None, "final", names, or a function of the Result
    case_timeout: float | None = None
    saved: bool = False  # what a function keeps must fit into a table
    all_points: bool = False  # final values depend on the points before

    @staticmethod
    def needs_all_points(numeric: Any, points: Any) -> bool:
        """Do final values depend on the points computed before? Loops start from their last solution, and the last of
        given points may lie before the end.
        """
        return "nonlinear" in numeric.known.loops or not (points is None or is_whole(points))

    def of_case(self, case: Case) -> dict[str, Any]:
        """Arguments of simulate for one case."""
        shared = self.arguments
        out = dict(shared)
        for part in ("parameters", "start_values", "inputs"):
            own = getattr(case, part)
            if own:
                out[part] = {**(shared.get(part) or {}), **own}
        out |= {part: value for part in ("start", "stop") if (value := getattr(case, part)) is not None}
        if self.keep == "final" and not self.all_points:
            out["points"] = 2
        elif isinstance(self.keep, tuple):
            out["outputs"] = list(self.keep)
        if self.case_timeout is not None:
            own_limit = shared.get("timeout")
            out["timeout"] = self.case_timeout if own_limit is None else min(own_limit, self.case_timeout)
        return out
