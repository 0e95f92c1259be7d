"""What the C loop noted about a run, as arrays: memory of ``pl_record``, emptied after each call."""

from __future__ import annotations

import ctypes
from collections import deque

import numpy as np
from numpy.typing import NDArray

from pliant.solve import binding

#: room for incidents between two looks, at first and at most
CAPACITY = 2048
MOST_CAPACITY = 65_536
#: incidents kept of the beginning of a run, and of its end
MOST = 50_000
INCIDENT = np.dtype(
    [("t", np.float64), ("h", np.float64), ("value", np.float64), ("kind", np.int32), ("index", np.int32)]
)


class Notes:
    """Counts per state and a list of incidents."""

    def __init__(self, n: int) -> None:
        self.limits = np.zeros(n, dtype=np.int64)
        self.error_fails = np.zeros(n, dtype=np.int64)
        self.newton_fails = np.zeros(n, dtype=np.int64)
        self.near_zero = np.zeros(n, dtype=np.int64)
        self.largest = np.zeros(n)
        self.early: list[NDArray[np.void]] = []
        self.late: deque[NDArray[np.void]] = deque()
        self.n_early = self.n_late = 0
        self.struct = binding.Record(
            n=n,
            limits=self.limits.ctypes.data,
            error_fails=self.error_fails.ctypes.data,
            newton_fails=self.newton_fails.ctypes.data,
            near_zero=self.near_zero.ctypes.data,
            largest=self.largest.ctypes.data,
        )
        self.address = ctypes.addressof(self.struct)
        self._take_room(CAPACITY)

    def _take_room(self, capacity: int) -> None:
        self.room: NDArray[np.void] = np.zeros(min(capacity, MOST_CAPACITY), dtype=INCIDENT)
        self.struct.incident = self.room.ctypes.data
        self.struct.capacity = len(self.room)

    def drain(self) -> None:
        """Keep what was noted since the last call."""
        used = self.struct.used
        if used == 0:
            return
        new = self.room[:used].copy()
        self.struct.used = 0
        if used == len(self.room) < MOST_CAPACITY:  # some did not fit: more room for the next time
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
        return np.concatenate([*self.early, *self.late]) if self.early else self.room[:0]

    def seen(self, kind: int) -> int:
        """How many there were of one kind, kept or not."""
        return int(self.struct.seen[kind])

    @property
    def lost(self) -> int:
        """Incidents that were counted only."""
        return int(sum(self.struct.seen)) - len(self.incidents)
