"""What the C loop noted about a run, as arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pliant.solve.binding import runtime
from pliant.solve.binding.memory import SimulationMemory

INCIDENT = np.dtype(
    [("t", np.float64), ("h", np.float64), ("value", np.float64), ("kind", np.int32), ("index", np.int32)]
)


class Notes:
    """Counts per state and a list of incidents: ``pl_record``, and no views of it before they are used."""

    def __init__(self, struct: runtime.RecordStruct, memory: SimulationMemory) -> None:
        self.struct, self.memory = struct, memory

    @property
    def limits(self) -> NDArray[np.int64]:
        """Accepted steps whose error estimate each state dominated."""
        return self.memory.whole(self.struct.limits, self.struct.n)

    @property
    def error_fails(self) -> NDArray[np.int64]:
        """Failed error tests that it dominated."""
        return self.memory.whole(self.struct.error_fails, self.struct.n)

    @property
    def newton_fails(self) -> NDArray[np.int64]:
        """Failed iterations that it dominated."""
        return self.memory.whole(self.struct.newton_fails, self.struct.n)

    @property
    def near_zero(self) -> NDArray[np.int64]:
        """Of the limits, those near zero."""
        return self.memory.whole(self.struct.near_zero, self.struct.n)

    @property
    def largest(self) -> NDArray[np.float64]:
        """Largest |x| met."""
        return self.memory.reals(self.struct.largest, self.struct.n)

    @property
    def incidents(self) -> NDArray[np.void]:
        """The first and the last ones, in the order in which they happened."""
        return self.memory.records(self.struct.incident, self.struct.used, INCIDENT)

    def seen(self, kind: int) -> int:
        """How many there were of one kind, kept or not."""
        return int(self.struct.seen[kind])

    @property
    def lost(self) -> int:
        """Incidents that were counted only."""
        return int(sum(self.struct.seen)) - int(self.struct.used)
