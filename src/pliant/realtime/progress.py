"""Progress of a plan in the making: stage, what the search is doing, how long it has been."""

from __future__ import annotations

import time

from pliant.realtime.build import Progress
from pliant.solve.progress import Watcher


class PlanReporter(Watcher):
    """Tells how far a plan is."""

    def report(self, progress: Progress) -> None:
        """Tell where the plan stands."""
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
