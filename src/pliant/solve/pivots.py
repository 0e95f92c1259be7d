"""Which unknowns of a constraint stay free: elimination with complete pivoting."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
PIVOT = 1e-6  # share of the largest entry from which on a constraint can be solved for a candidate


def columns_without_pivot(g: Vector, wanted: Sequence[bool] = ()) -> set[int]:
    """Columns that elimination with complete pivoting leaves without a pivot: the states.

    Those ``wanted`` as states are eliminated last, where the pivots allow it.
    """
    a = np.nan_to_num(np.array(g, dtype=float))
    m, n = a.shape
    free = set(range(n))
    for k in range(m):
        largest = np.abs(a[k:]).max(initial=0.0)
        for columns in ([j for j in sorted(free) if not (wanted and wanted[j])], sorted(free)):
            block = np.abs(a[k:][:, columns])
            if block.size and block.max() > PIVOT * largest:
                break
        row, best = np.unravel_index(int(np.argmax(block)), block.shape)
        column = columns[int(best)]
        a[[k, k + int(row)]] = a[[k + int(row), k]]
        if a[k, column] != 0.0:
            a[k + 1 :] -= np.outer(a[k + 1 :, column] / a[k, column], a[k])
        free.discard(column)
    return free
