"""Many cases of one model in one call of C: what a ``pl_sweep`` is made from, and the arrays that it fills.

For cases that differ in numbers only (parameters, constant inputs, start values, stop). Each is bit for bit what
``simulate`` would give; a case that fails is to be simulated alone to learn why.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.arguments import Vector
from pliant.solve.binding import runtime
from pliant.solve.binding.memory import SimulationMemory
from pliant.solve.binding.simulation import SetupStruct
from pliant.solve.binding.sweep import SweepStruct
from pliant.solve.models.numeric import NumericModel
from pliant.solve.options import Request
from pliant.solve.run.simulation import Simulation

#: seconds that one call of C should take
CALL_SECONDS = 0.02
MOST_STEPS = 1 << 22

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class CaseArrays:
    """What differs between cases, one row each; None: nothing does."""

    n: int
    parameters: Matrix | None = None  # (n, n_p)
    u: Matrix | None = None  # (n, n_u)
    x: Matrix | None = None  # (n, n_x)
    others: Matrix | None = None  # (n, len(request.others_given)), in that order
    stop: Vector | None = None  # (n,)
    points: Matrix | None = None  # (n, n_points)


class Sweep:
    """Cases one after the other in one block of memory. ``advance`` until it returns True."""

    def __init__(self, model: NumericModel, request: Request, inputs: Any, cases: CaseArrays, curves: bool) -> None:
        assert request.points is not None
        self.simulation = sim = Simulation(model, request, inputs)
        self.model, self.request, self.cases = sim.model, sim.request, cases
        self.search = sim.prepare_start()  # keeps alive what the setup points to
        self.setup = setup = SetupStruct.from_buffer_copy(sim.head.setup)
        setup.open, setup.self_, setup.start_work = 1, None, None
        setup.linear_used = int(sim.lent is not None)
        setup.log = setup.incidents = 0
        setup.tell = None  # nothing is kept of what a case says
        if sim.inputs.struct is not None:
            setup.u = None
        self.memory = SimulationMemory(runtime.lib.pl_simulation_size(ctypes.byref(setup)))
        setup.host = ctypes.addressof(self.memory.host)
        n, width = cases.n, 1 + setup.n_x_out + setup.n_y_out
        rows = len(request.points) + 2
        self.last = np.full((n, width), np.nan)
        self.rows = np.empty((n, rows, width)) if curves else None
        self.used = np.zeros(n, dtype=np.int64)
        self.status = np.zeros(n, dtype=np.int32)
        self.count = np.zeros((n, len(runtime.CountersStruct.NAMES)), dtype=np.int64)
        self.n_events = np.zeros(n, dtype=np.int64)
        self.reached = np.zeros(n)
        self.method = np.zeros(n, dtype=np.int32)
        self.struct = SweepStruct(
            setup=ctypes.addressof(setup),
            memory=self.memory.place,
            n=n,
            parameters=_address(cases.parameters),
            u=_address(cases.u),
            x=_address(cases.x),
            value=_address(cases.others),
            stop=_address(cases.stop),
            point=_address(cases.points),
            last=_address(self.last),
            row=_address(self.rows),
            n_rows=rows,
            used=_address(self.used),
            status=_address(self.status),
            count=_address(self.count),
            n_events=_address(self.n_events),
            reached=_address(self.reached),
            method=_address(self.method),
        )

    @property
    def done(self) -> int:
        """Cases that have ended."""
        return int(self.struct.done)

    @property
    def names(self) -> tuple[str, ...]:
        """Columns of a row, behind the time."""
        names, sim = self.model.names, self.simulation
        return (*(names.x[i] for i in sim.x_index), *(names.y[i] for i in sim.y_index))

    def advance(self, steps: int) -> bool:
        """At most about so many steps; have all cases ended?"""
        return bool(runtime.lib.pl_sweep_advance(ctypes.byref(self.struct), steps) == runtime.FINISHED)

    def skip(self) -> None:
        """End the running case as failed."""
        runtime.lib.pl_sweep_skip(ctypes.byref(self.struct), runtime.ARGUMENT)

    def ended_well(self, k: int) -> bool:
        """Did case k reach its end?"""
        return int(self.status[k]) in (runtime.FINISHED, runtime.TERMINATED)

    def run(self, case_timeout: float | None, between: Callable[[], object] | None = None) -> set[int]:
        """To the end; returns the cases that ran out of time. ``between`` is called some times a second."""
        late: set[int] = set()
        steps = 256
        last = since = time.perf_counter()
        current = -1
        while True:
            finished = self.advance(steps)
            now = time.perf_counter()
            if between is not None:
                between()
            if finished:
                break
            if self.done != current:
                current, since = self.done, last
            elif case_timeout is not None and now - since > case_timeout:
                late.add(current)
                self.skip()
                current = -1
            took, last = now - last, now
            if took < CALL_SECONDS / 2:
                steps = min(2 * steps, MOST_STEPS)
            elif took > CALL_SECONDS:
                steps = max(16, steps // 2)
        self.simulation.release()
        return late


def _address(array: NDArray[Any] | None) -> int | None:
    return None if array is None or array.size == 0 else runtime.address_of(array)
