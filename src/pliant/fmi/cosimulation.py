"""A simulation of a co-simulation FMU: it takes its steps itself, from one communication point to the next.

The simulation in C here only holds what the host sends: rows, steps, events, counters, and where it failed.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.errors import ModelEvaluationError
from pliant.fmi.simulation import FmuSimulation
from pliant.solve.binding import runtime
from pliant.solve.run.remote import LINEAR, METHODS, WORD


class CosimSimulation(FmuSimulation):
    """One run of a co-simulation FMU."""

    initialised = True

    def frames(self) -> dict[int, Any]:
        """What to simulate; the method is the FMU's own."""
        found = super().frames()
        found[LINEAR] = None
        found[METHODS] = np.array([-1, -1], dtype=np.int32)
        return found

    def _take_start(self, content: bytes) -> None:
        """Why there is no start is said at the end."""
        self.initialised = WORD.unpack_from(content)[0] == runtime.OK

    def _restore(self, image: NDArray[np.uint8]) -> None:
        """There is no state to take over."""

    def _take_part(self, content: bytes) -> None:
        super()._take_part(content)
        failure = self.part.failure
        ctypes.memmove(ctypes.addressof(self.problem.failure), ctypes.addressof(failure), ctypes.sizeof(failure))

    def went(self, status: int) -> None:
        """As ever, but for the start."""
        if status < 0 and not self.initialised:
            words = self.model.error_text(self.instance) or "it gave no reason"
            raise ModelEvaluationError(
                f"{self.model.name}: initialisation failed at t = {self.request.start:g}: {words}",
                hint="check parameters and inputs; options={'log': True} of pliant.load records more messages",
                time=self.request.start,
            )
        super().went(status)

    def flush(self) -> None:
        """All rows are there."""
