"""Messages that a model gives in a run, and that are no errors: what external functions print, assertions that warn."""

from __future__ import annotations

import logging
import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager

#: time, status ("ok" or "warning"), category, text
Message = tuple[float, str, str, str]

#: messages kept of one run
MOST_MESSAGES = 20_000


class MessageLog:
    """The messages of one run, in the order in which they came."""

    def __init__(self, start: float) -> None:
        self.last = start  # the time of those that have none
        self.begun = False  # parameters have been set: before, times mean nothing
        self.kept: list[Message] = []
        self.lost = 0

    def add(self, time: float, status: str, category: str, text: str) -> None:
        """One more."""
        self.last = time if self.begun and math.isfinite(time) else self.last
        if len(self.kept) < MOST_MESSAGES:
            self.kept.append((self.last, status, category, text))
        else:
            self.lost += 1

    @property
    def messages(self) -> tuple[Message, ...]:
        """All that are kept."""
        if not self.lost:
            return tuple(self.kept)
        return (*self.kept, (self.last, "warning", "pliant", f"{self.lost} more messages are not kept"))

    @contextmanager
    def listening(self) -> Iterator[None]:
        """What is said in this thread is said in this run."""
        before = getattr(_here, "log", None)
        _here.log = self
        try:
            yield
        finally:
            _here.log = before


_here = threading.local()


def tell(time: float, status: str, category: str, text: str) -> None:
    """A message for the run that is under way in this thread; the logger has it, too."""
    log: MessageLog | None = getattr(_here, "log", None)
    if log is not None:
        log.add(time, status, category, text)
    level = logging.WARNING if status == "warning" and log is None else logging.INFO
    logging.getLogger("pliant").log(level, "%s", text)
