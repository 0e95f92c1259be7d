"""Outputs of a model along a run, row by row, in one call."""

from __future__ import annotations

from ctypes import POINTER, Structure, byref, c_size_t, c_void_p
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pliant.solve.binding import runtime
from pliant.solve.binding.runtime import lib

if TYPE_CHECKING:
    from pliant.solve.models.numeric import NumericModel

Matrix = NDArray[np.float64]


class RowsStruct(Structure):
    """pl_host_rows: where the rows lie."""

    _fields_ = (
        ("n", c_size_t),
        *((name, c_void_p) for name in ("t", "relations_at", "x", "u", "memory", "y")),
    )


runtime.check_sizes({28: RowsStruct})
runtime.declare(lib, {"pl_host_outputs": (None, [c_void_p, c_void_p, POINTER(RowsStruct)])})


def outputs_of_rows(
    model: NumericModel,
    address: int | None,
    t: Matrix,
    x: Matrix,
    u: Matrix,
    *,
    relations_at: Matrix | None,
    memory: Matrix | None,
) -> Matrix:
    """(n, n_y), NaN where a row cannot be evaluated; ``memory``: discrete variables from the second row on."""
    y = np.empty((len(t), len(model.names.y)))
    given = (t, relations_at, x.copy(), u, memory)  # an event may set x
    arrays = [None if one is None else np.ascontiguousarray(one, dtype=np.float64) for one in given]
    rows = RowsStruct(len(t), *(None if one is None else one.ctypes.data for one in (*arrays, y)))
    lib.pl_host_outputs(model.address, address, byref(rows))
    return y
