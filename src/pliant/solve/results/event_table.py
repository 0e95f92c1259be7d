"""Events of runs that have very many: kept as the runtime recorded them, made into objects when they are asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from pliant.solve.results.result import Event


class EventTable(Sequence[Event]):
    """Reads like a tuple of events.

    records    bytes, one row for an event: its time, whether it ends the run, n_x states before and after, then a
               direction for each root
    """

    def __init__(self, records: NDArray[np.uint8], n_x: int, roots: tuple[str, ...], message: str) -> None:
        self.records, self.n_x, self.roots, self.message = records, n_x, roots, message

    def __len__(self) -> int:
        return len(self.records)

    @overload
    def __getitem__(self, k: int) -> Event: ...
    @overload
    def __getitem__(self, k: slice) -> tuple[Event, ...]: ...
    def __getitem__(self, k: int | slice) -> Event | tuple[Event, ...]:
        if isinstance(k, slice):
            return tuple(self._event(one) for one in self.records[k])
        return self._event(self.records[k])

    def __repr__(self) -> str:
        return f"<{len(self):,} events, the last at t = {self[-1].time:.9g}>"

    def _event(self, record: NDArray[np.uint8]) -> Event:
        n, end = self.n_x, 8 * (2 + 2 * self.n_x)
        return event_of(record[:end].view(np.float64), record[end:].view(np.int8).tolist(), n, self.roots, self.message)


def event_of(numbers: NDArray[np.float64], fired: list[int], n: int, roots: Sequence[str], message: Any) -> Event:
    """One event from what the runtime recorded; ``message``: what the model says if it ends the run."""
    which = [i for i, f in enumerate(fired[: len(roots)]) if f]
    terminal = bool(numbers[1])
    return Event(
        float(numbers[0]),
        roots=tuple(roots[i] for i in which),
        directions=tuple(fired[i] for i in which),
        before=numbers[2 : 2 + n],
        after=numbers[2 + n :],
        terminal=terminal,
        message=str(message() if callable(message) else message) if terminal else "",
    )
