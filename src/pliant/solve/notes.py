"""What the C loop noted about a run, as arrays: memory of ``pl_record``, emptied after each call."""

from __future__ import annotations

import ctypes

import numpy as np
from numpy.typing import NDArray

from pliant.solve import binding

#: incidents between two looks, and as many as are kept of a run
CAPACITY = 2048
MOST = 100_000
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
        self.kept: list[NDArray[np.void]] = []
        self.n_kept = 0
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
        if self.n_kept < MOST:
            self.kept.append(self.room[:used].copy())
            self.n_kept += used
        self.struct.used = 0

    @property
    def incidents(self) -> NDArray[np.void]:
        """All that were kept, in the order in which they happened."""
        self.drain()
        return np.concatenate(self.kept) if self.kept else self.room[:0]

    @property
    def lost(self) -> int:
        """Incidents that were counted only."""
        return int(sum(self.struct.seen)) - len(self.incidents)
