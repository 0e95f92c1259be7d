"""Which unknowns of a constraint stay free: elimination with complete pivoting, that of the generated models."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pliant.solve import binding

Vector = NDArray[np.float64]
PIVOT = 1e-6  # share of the largest entry from which on a constraint can be solved for a candidate


def columns_without_pivot(g: Vector, wanted: Sequence[bool] = ()) -> set[int]:
    """Columns that elimination with complete pivoting leaves without a pivot: the states.

    Those ``wanted`` as states are eliminated last, where the pivots allow it. Where constraints depend on each other
    the first columns make up for the pivots that are missing.
    """
    a = np.ascontiguousarray(np.nan_to_num(np.array(g, dtype=np.float64)))
    m, n = a.shape
    barred = np.array(wanted if len(wanted) else [False] * n, dtype=np.int8)
    column = np.zeros(m, dtype=np.int32)
    rank = binding.lib.pl_host_set_pivots(m, n, a.ctypes.data, barred.ctypes.data, PIVOT, column.ctypes.data)
    free = sorted(set(range(n)) - set(column[:rank].tolist()))
    return set(free[m - rank :])
