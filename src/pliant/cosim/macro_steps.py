"""Record of the macro steps of a run: how long, how wrong the inputs were, what limited them, what was made again."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.calls import by_keyword_class
from pliant.plain import AsDict

#: what decided where a macro step ends
WHY = {
    "error": "the error of a connection",
    "stability": "errors that change their sign from step to step: longer steps would be unstable",
    "event": "a time event of a part",
    "early": "a part that returned early",
    "input": "a jump of an input",
    "jump": "a signal that jumps at an event in a part",
    "smallest": "the shortest step that the parts accept",
    "largest": "the longest step",
    "stop": "the end of the run",
    "step": "the step that was given",
    "refused": "a part that refused a longer step",
}


@by_keyword_class
@dataclass(frozen=True, eq=False)
class MacroSteps(AsDict):
    """The macro steps of a coupling.

    time, h      where each ends, and its length
    error        largest error of a connection in units of what ``macro_rtol`` allows; NaN: not estimated (a given
                 ``step``)
    limiting     the connection with that error, "" for none
    why          what decided where the step ends: error, stability, event, early, input, jump, smallest, largest,
                 stop, step,
                 refused
    rejected     the same of attempts that were taken back: time (where they began), h, error, limiting, why
    smallest, largest   bounds of the step
    """

    time: NDArray[np.float64]
    _: KW_ONLY
    h: NDArray[np.float64]
    error: NDArray[np.float64]
    limiting: tuple[str, ...]
    why: tuple[str, ...]
    rejected: MacroSteps | None = None
    smallest: float = 0.0
    largest: float = np.inf

    def __len__(self) -> int:
        return len(self.time)


class MacroLog:
    """Collects them."""

    def __init__(self, smallest: float = 0.0, largest: float = np.inf) -> None:
        self.rows: list[tuple[float, float, float, str, str]] = []
        self.bad: list[tuple[float, float, float, str, str]] = []
        self.smallest, self.largest = smallest, largest

    def accept(self, t_next: float, h: float, error: float, limiting: str, why: str) -> None:
        """One more macro step."""
        self.rows.append((t_next, h, error, limiting, why))

    def reject(self, t: float, h: float, error: float, limiting: str, why: str) -> None:
        """An attempt was taken back."""
        self.bad.append((t, h, error, limiting, why))

    def record(self) -> MacroSteps:
        """What was collected."""
        return _steps(self.rows, rejected=_steps(self.bad), smallest=self.smallest, largest=self.largest)


def _steps(rows: list[tuple[float, float, float, str, str]], **more: Any) -> MacroSteps:
    numbers = np.array([row[:3] for row in rows], dtype=np.float64).reshape(-1, 3)
    return MacroSteps(
        numbers[:, 0].copy(),
        h=numbers[:, 1].copy(),
        error=numbers[:, 2].copy(),
        limiting=tuple(row[3] for row in rows),
        why=tuple(row[4] for row in rows),
        **more,
    )
