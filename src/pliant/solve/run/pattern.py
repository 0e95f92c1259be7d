"""Patterns that may be wrong, since they were given or detected: entries that they lack are named."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pliant.arguments import Vector
from pliant.errors import PatternError
from pliant.jacobian.detect import verify
from pliant.solve.binding import runtime
from pliant.solve.matrices import jacobian_places

if TYPE_CHECKING:
    from pliant.solve.run.simulation import Simulation

SHOWN = 5


def missing_entries(sim: Simulation) -> list[tuple[int, int]]:
    """Entries that the pattern lacks near the point of the last differences; a column of -1 is not known."""
    assert sim.linear is not None
    x = runtime.doubles_at(runtime.lib.pl_linear_point(sim.linear), sim.model.n_x)
    t = float(sim.problem.failure.t)

    def f(at: NDArray[np.float64]) -> Vector:
        out = np.empty(len(at))
        point = np.ascontiguousarray(at)
        status = runtime.lib.pl_rhs(ctypes.byref(sim.problem), t, point.ctypes.data, out.ctypes.data)
        if status != runtime.OK:
            sim.instance.raised = None  # a probe too far: no finding
            return np.full(len(at), np.nan)
        return out

    rows, columns = jacobian_places(sim)
    request, nominal = sim.request, sim.model.x_nominal
    scale = np.maximum(request.atol / request.rtol if request.rtol > 0 else request.atol, np.abs(x))
    if nominal is not None:
        scale = np.where(sim.model.nominal_entered, nominal, scale)
    scale[scale == 0.0] = 1.0
    return [(found.row, found.col) for found in verify(f, x, rows, columns, len(x), scale)]


def pattern_error(sim: Simulation, missing: list[tuple[int, int]]) -> PatternError:
    """The error that names them."""
    names = sim.model.names.x
    listed = [
        f"d f({names[row]})/d {names[column]}" if column >= 0 else f"a column in the row of {names[row]}"
        for row, column in missing[:SHOWN]
    ]
    more = f" and {len(missing) - SHOWN} more" if len(missing) > SHOWN else ""
    error = PatternError(
        f"the pattern of the Jacobian lacks {', '.join(listed)}{more}: "
        f"f depends on it at t = {sim.problem.failure.t:.10g}",
        hint=sim.model.missing_hint,
        time=float(sim.run.t_reached),
        names=tuple(names[row] for row, _ in missing[:SHOWN]),
    )
    error.missing = tuple(missing)
    return error
