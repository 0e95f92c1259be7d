"""Progress of many runs: cases done, rate, failures, time left."""

from __future__ import annotations

import time
from dataclasses import KW_ONLY, dataclass

from pliant.calls import by_keyword_class
from pliant.plain import AsDict
from pliant.solve.progress import Watcher


@by_keyword_class
@dataclass(frozen=True)
class StudyProgress(AsDict):
    """Where a study stands; a function given as ``progress=`` receives these."""

    done: int
    _: KW_ONLY
    n: int
    failed: int
    seconds: float
    before: int = 0  # cases that an earlier run had done

    @property
    def fraction(self) -> float:
        """Share of the cases that is done."""
        return self.done / self.n if self.n else 1.0

    @property
    def rate(self) -> float:
        """Cases a second."""
        return (self.done - self.before) / self.seconds if self.seconds > 0 else 0.0

    @property
    def left(self) -> float | None:
        """Seconds that the rest will take; None: not known yet."""
        return (self.n - self.done) / self.rate if self.rate > 0 else None


class StudyReporter(Watcher):
    """A bar on the terminal, or the user's function."""

    def report(self, progress: StudyProgress, last: bool = False) -> None:
        """Report how far the study is."""
        if self.call is not None:
            self.call(progress)
        elif self.bar_wanted and (progress.seconds >= self.patience or self.bar is not None):
            if self.bar is None:
                self._open(progress.n)
            now = time.monotonic()
            if last or now - self.shown > 0.1:
                self.bar.update(
                    self.task, completed=progress.done, rate=f"{progress.rate:,.0f}/s", failed=_failed(progress.failed)
                )
                self.shown = now

    def _open(self, n: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        self.bar = Bar(
            TextColumn("[bold]cases"),
            BarColumn(bar_width=30),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}  {task.fields[failed]}"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
        )
        self.bar.start()
        self.task = self.bar.add_task("", total=n, rate="", failed="")


def _failed(count: int) -> str:
    return f"[red]{count} failed[/red]" if count else ""
