"""Matrices of a simulation, as dense arrays, for diagnosis."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pliant.solve.binding import runtime

if TYPE_CHECKING:
    from pliant.solve.models.numeric import NumericModel
    from pliant.solve.run.simulation import Simulation


def jacobian_places(of: NumericModel | Simulation) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Rows and columns of the stored Jacobian entries, in their order; of a run those that it began with."""
    n = of.struct.n_x
    pattern = of.struct.jac
    if not pattern.start:
        columns, rows = np.divmod(np.arange(n * n), n)
        return rows, columns
    start = np.array((ctypes.c_int * (n + 1)).from_address(pattern.start), dtype=np.intp)
    rows = np.empty(0, dtype=np.intp)
    if start[n] > 0:  # a pattern without entries has no rows
        rows = np.array((ctypes.c_int * int(start[n])).from_address(pattern.row), dtype=np.intp)
    return rows, np.repeat(np.arange(n), np.diff(start))


def jacobian(sim: Simulation) -> NDArray[np.float64]:
    """The Jacobian evaluated last, as a dense array."""
    assert sim.linear is not None
    address = runtime.lib.pl_linear_jacobian(sim.linear, None)
    rows, columns = jacobian_places(sim)
    out = np.zeros((sim.model.n_x, sim.model.n_x))
    out[rows, columns] = runtime.doubles_at(address, sim.layout.n_jac)
    return out


def mass_matrix(sim: Simulation) -> NDArray[np.float64]:
    """L as a dense array."""
    n, pattern = sim.model.n_x, sim.model.struct.mass
    if not pattern.start:
        return np.eye(n)
    start = np.array((ctypes.c_int * (n + 1)).from_address(pattern.start), dtype=np.intp)
    rows = np.array((ctypes.c_int * int(start[n])).from_address(pattern.row), dtype=np.intp)
    out = np.zeros((n, n))
    out[rows, np.repeat(np.arange(n), np.diff(start))] = runtime.doubles_at(sim.model.struct.mass_value, int(start[n]))
    return out


def iteration_matrix(sim: Simulation) -> NDArray[np.float64]:
    """L - h J with algebraic rows -J, as it was factorised last (up to the factor of h)."""
    mass, jac = mass_matrix(sim), jacobian(sim)
    h = float(sim.problem.failure.h)
    algebraic = np.logical_not(mass.any(axis=1))
    return np.where(algebraic[:, None], -jac, mass - h * jac)
