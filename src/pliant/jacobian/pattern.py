"""Patterns of Jacobians as sparse matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from pliant.errors import ArgumentError

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix  # slow to load: when it is used


def pattern_of(n_rows: int, n_cols: int, rows: ArrayLike, cols: ArrayLike) -> csr_matrix:
    """The pattern by rows, repeated entries joined, columns sorted."""
    from scipy.sparse import csr_matrix

    i, j = np.asarray(rows, dtype=np.int64), np.asarray(cols, dtype=np.int64)
    if min(n_rows, n_cols) < 0 or i.ndim != 1 or i.shape != j.shape:
        raise ArgumentError(f"{i.shape} rows and {j.shape} columns", hint="two lists of one length")
    if i.size and (min(i.min(), j.min()) < 0 or i.max() >= n_rows or j.max() >= n_cols):
        raise ArgumentError(
            f"an entry is outside the {n_rows} x {n_cols} pattern",
            hint=f"rows are counted from 0 to {n_rows - 1}, columns from 0 to {n_cols - 1}",
        )
    pattern = csr_matrix((np.ones(len(i), dtype=np.int32), (i, j)), shape=(n_rows, n_cols))
    pattern.sum_duplicates()
    pattern.data[:] = 1
    return pattern
