"""Progress of a long simulation: time reached, step size, order, estimate of what is left."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any, Self

from pliant.calls import by_keyword_class
from pliant.errors import ArgumentError
from pliant.plain import AsDict

#: seconds before a bar appears by itself
PATIENCE = 0.8


@by_keyword_class
@dataclass(frozen=True)
class Progress(AsDict):
    """Where a simulation stands; a callable given as ``progress=`` receives these."""

    time: float
    _: KW_ONLY
    start: float
    stop: float
    step: float
    order: int
    n_steps: int
    method: str
    seconds: float

    @property
    def fraction(self) -> float:
        """Share of the simulated time that is done."""
        return (self.time - self.start) / (self.stop - self.start) if self.stop > self.start else 1.0


class Watcher:
    """Nothing, a bar, or the user's function. A context manager: the bar is closed whatever happens."""

    def __init__(self, wanted: bool | Callable[[Any], object] | None) -> None:
        if not (wanted is None or isinstance(wanted, bool) or callable(wanted)):
            raise ArgumentError(
                f"progress must be True, False, None or a function, not {wanted!r}", hint="None: a bar for long runs"
            )
        self.call = wanted if callable(wanted) else None
        self.wanted = wanted
        self.patience = 0.0 if wanted is True else PATIENCE
        self.bar: Any = None
        self.task: Any = None
        self.shown = 0.0

    @cached_property
    def bar_wanted(self) -> bool:
        """Is a bar wanted, and a terminal there to show it? Asked late: most runs are over before."""
        wanted = self.wanted
        return wanted is True or (wanted is None and sys.stderr is not None and sys.stderr.isatty())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.bar is not None:
            self.bar.stop()


class Reporter(Watcher):
    """Reports how far a simulation is."""

    def listens(self, seconds: float) -> bool:
        """Is there anybody to report to after so many seconds?"""
        return self.call is not None or (seconds >= self.patience and self.bar_wanted)

    @property
    def active(self) -> bool:
        """Is there anybody to report to?"""
        return self.call is not None or self.bar_wanted

    def report(self, progress: Progress) -> None:
        """Report where the simulation is."""
        if self.call is not None:
            self.call(progress)
        elif self.bar_wanted and progress.seconds >= self.patience:
            now = time.monotonic()
            if self.bar is None:
                self._open()
            if now - self.shown > 0.05:
                self._update(progress)
                self.shown = now

    def finish(self, progress: Progress) -> None:
        """Last report, always shown if anything was."""
        if self.call is not None:
            self.call(progress)
        elif self.bar is not None:
            self._update(progress)

    def _open(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        self.bar = Bar(
            TextColumn("[bold]simulate"),
            BarColumn(bar_width=30),
            TextColumn("{task.percentage:>5.1f} %"),
            TextColumn(
                "t = {task.fields[t]:.6g}  h = {task.fields[h]:.2e}  {task.fields[method]} {task.fields[order]}"
            ),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=False,
        )
        self.bar.start()
        self.task = self.bar.add_task("", total=1.0, t=0.0, h=0.0, order=0, method="")

    def _update(self, p: Progress) -> None:
        self.bar.update(self.task, completed=p.fraction, t=p.time, h=p.step, order=p.order, method=p.method)
