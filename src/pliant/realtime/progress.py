"""Progress of a plan in the making: stage, what the search is doing, how long it has been."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from pliant.errors import SimulationInterrupted
from pliant.solve.progress import Watcher


@dataclass(frozen=True)
class PlanProgress:
    """Where the making of a plan stands."""

    stage: str  # "exact runs", "accurate runs", "search", "sparsed runs", "code", "evidence", "proposals"
    share: float  # of the stage
    text: str = ""
    seconds: float = 0.0


Report = Callable[[PlanProgress], object]


@contextmanager
def interruptible(what: str, kept: str) -> Iterator[None]:
    """Ctrl-C in what does not simulate: what was interrupted, and what there is of it."""
    try:
        yield
    except SimulationInterrupted:
        raise
    except KeyboardInterrupt:
        raise SimulationInterrupted(f"{what}: interrupted", hint=kept) from None


class StageClock:
    """Reports how far a stage is, and keeps how long each one took."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.begin = self.last = time.perf_counter()
        self.seconds: dict[str, float] = {}

    def tell(self, stage: str, share: float, text: str = "") -> None:
        """Where the stage stands."""
        self.report(PlanProgress(stage, share, text, time.perf_counter() - self.begin))

    def mark(self, stage: str) -> None:
        """What has passed since the last mark belongs to this stage."""
        now = time.perf_counter()
        self.seconds[stage] = self.seconds.get(stage, 0.0) + now - self.last
        self.last = now


class PlanReporter(Watcher):
    """Reports how far a plan is."""

    def report(self, progress: PlanProgress) -> None:
        """Report where the plan is."""
        if self.call is not None:
            self.call(progress)
        elif self.bar_wanted and progress.seconds >= self.patience:
            if self.bar is None:
                self._open()
            now = time.monotonic()
            if now - self.shown > 0.05:
                self.bar.update(self.task, completed=progress.share, stage=progress.stage, words=progress.text)
                self.shown = now

    def _open(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bar

        self.bar = Bar(
            TextColumn("[bold]{task.fields[stage]}"),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[words]}"),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self.bar.start()
        self.task = self.bar.add_task("", total=1.0, stage="", words="")
