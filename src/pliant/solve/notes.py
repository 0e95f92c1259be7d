"""What the C loop noted about a run, as arrays: memory of ``pl_record``, emptied after each call."""

from __future__ import annotations

import ctypes
from collections import deque

import numpy as np
from numpy.typing import NDArray

from pliant.solve import binding

#: incidents between two looks, and as many as are kept from the beginning and from the end of a run
CAPACITY = 2048
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
        self.room: NDArray[np.void] = np.zeros(CAPACITY, dtype=INCIDENT)
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
            capacity=CAPACITY,
            incident=self.room.ctypes.data,
        )
        self.address = ctypes.addressof(self.struct)

    def drain(self) -> None:
        """Keep what was noted since the last call."""
        used = self.struct.used
        if used == 0:
            return
        new = self.room[:used].copy()
        self.struct.used = 0
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
