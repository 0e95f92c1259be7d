"""Progress of a plan in the making: stage, what the search is doing, how long it has been."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

from pliant.errors import ArgumentError
from pliant.realtime.build import Progress
from pliant.solve.progress import PATIENCE


class PlanReporter:
    """Shows nothing, a bar, or calls the user's function. A context manager: the bar is closed whatever happens."""

    def __init__(self, wanted: bool | Callable[[Progress], object] | None) -> None:
        if not (wanted is None or isinstance(wanted, bool) or callable(wanted)):
            raise ArgumentError(f"progress must be True, False, None or a function, not {wanted!r}")
        self.call = wanted if callable(wanted) else None
        self.bar_wanted = wanted is True or (wanted is None and sys.stderr is not None and sys.stderr.isatty())
        self.patience = 0.0 if wanted is True else PATIENCE
        self.bar: Any = None
        self.task: Any = None
        self.shown = 0.0

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

    def __enter__(self) -> PlanReporter:
        return self

    def __exit__(self, *_: object) -> None:
        if self.bar is not None:
            self.bar.stop()
