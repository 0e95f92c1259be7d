"""What the C loop noted about a run, as arrays: memory of ``pl_record``, emptied after each call."""

from __future__ import annotations

import ctypes
from collections import deque

import numpy as np
from numpy.typing import NDArray

from pliant.solve import binding

#: room for incidents between two looks, at first and at most
CAPACITY = 512
MOST_CAPACITY = 65_536
#: incidents kept of the beginning of a run, and of its end
MOST = 50_000
INCIDENT = np.dtype(
    [("t", np.float64), ("h", np.float64), ("value", np.float64), ("kind", np.int32), ("index", np.int32)]
)


WORDS = INCIDENT.itemsize // 8


class Notes:
    """Counts per state and a list of incidents.

    One block of memory, and no views of it before somebody asks: small models are simulated often.
    """

    def __init__(self, n: int) -> None:
        self.n = n
        self.block = np.empty(5 * n + CAPACITY * WORDS, dtype=np.int64)  # four counts, one number, then incidents
        self.block[: 5 * n] = 0
        self.room: NDArray[np.void] | None = None  # of its own, once the block's is too small
        self.early: list[NDArray[np.void]] = []
        self.late: deque[NDArray[np.void]] = deque()
        self.n_early = self.n_late = 0
        at, each = binding.address_of(self.block), 8 * n
        self.struct = binding.Record(n, at, at + each, at + 2 * each, at + 3 * each, at + 4 * each)
        self.struct.incident = at + 5 * each
        self.struct.capacity = CAPACITY
        self.address = ctypes.addressof(self.struct)

    def _counts(self, k: int) -> NDArray[np.int64]:
        return self.block[k * self.n : (k + 1) * self.n]

    @property
    def limits(self) -> NDArray[np.int64]:
        """Accepted steps whose error estimate each state dominated."""
        return self._counts(0)

    @property
    def error_fails(self) -> NDArray[np.int64]:
        """Failed error tests that it dominated."""
        return self._counts(1)

    @property
    def newton_fails(self) -> NDArray[np.int64]:
        """Failed iterations that it dominated."""
        return self._counts(2)

    @property
    def near_zero(self) -> NDArray[np.int64]:
        """Of the limits, those near zero."""
        return self._counts(3)

    @property
    def largest(self) -> NDArray[np.float64]:
        """Largest |x| met."""
        return self._counts(4).view(np.float64)

    def _take_room(self, capacity: int) -> None:
        self.room = np.empty(min(capacity, MOST_CAPACITY), dtype=INCIDENT)
        self.struct.incident = binding.address_of(self.room)
        self.struct.capacity = len(self.room)

    def make_room(self) -> None:
        """After a call of the C loop: empty what is more than half full."""
        if 2 * self.struct.used > self.struct.capacity:
            self.drain()

    def drain(self) -> None:
        """Keep what was noted since the last call."""
        used, capacity = self.struct.used, self.struct.capacity
        if used == 0:
            return
        room = self.block[5 * self.n :].view(INCIDENT) if self.room is None else self.room
        new = room[:used].copy()
        self.struct.used = 0
        if used == capacity < MOST_CAPACITY:  # some did not fit: more room for the next time
            self._take_room(4 * used)
        if self.n_early < MOST:
            self.early.append(new)
            self.n_early += used
            return
        self.late.append(new)
        self.n_late += used
        while self.n_late - len(self.late[0]) >= MOST:
            self.n_late -= len(self.late.popleft())

    @property
    def incidents(self) -> NDArray[np.void]:
        """The first and the last ones, in the order in which they happened."""
        self.drain()
        return np.concatenate([*self.early, *self.late]) if self.early else np.empty(0, dtype=INCIDENT)

    def seen(self, kind: int) -> int:
        """How many there were of one kind, kept or not."""
        return int(self.struct.seen[kind])

    @property
    def lost(self) -> int:
        """Incidents that were counted only."""
        return int(sum(self.struct.seen)) - len(self.incidents)
