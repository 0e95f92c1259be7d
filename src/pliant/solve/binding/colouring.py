"""Colouring of the columns of a Jacobian, so that one directional derivative serves all columns of a colour.

Columns of one colour share no row: with the seed vector s_c = sum of unit vectors of colour c, entry (i, j) of the
Jacobian is (J s_c(j))_i. The colours are those of the runtime (colour.c, with the orders that are tried and their
sources): plans, benchmarks and solvers see the same numbers.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pliant.jacobian.pattern import pattern_of
from pliant.solve.binding import runtime


@dataclass(frozen=True)
class Colouring:
    """A colour for each column."""

    colours: NDArray[np.int32]  # 0 ... n_colours - 1
    n_colours: int
    lower_bound: int  # longest row; n_colours equal to it is optimal

    @property
    def is_optimal(self) -> bool:
        """Proved to need no more colours than any colouring; False says only that the proof is missing."""
        return self.n_colours == self.lower_bound


def colour(n_rows: int, n_cols: int, rows: ArrayLike, cols: ArrayLike) -> Colouring:
    """Colours for the pattern with entries (rows[k], cols[k]); an empty column has colour 0.

    >>> colour(3, 3, [0, 1, 2, 0, 0], [0, 1, 2, 1, 2]).n_colours
    3
    """
    by_row = pattern_of(n_rows, n_cols, rows, cols)
    by_column = by_row.tocsc()
    start, row = by_column.indptr.astype(np.int32), by_column.indices.astype(np.int32)
    row_start, row_column = by_row.indptr.astype(np.int32), by_row.indices.astype(np.int32)
    found = np.zeros(n_cols, dtype=np.int32)
    work = np.empty(runtime.lib.pl_colour_work(n_cols), dtype=np.int32)
    pattern = runtime.PatternStruct(n_rows, n_cols, start.ctypes.data, row.ctypes.data)
    count = runtime.lib.pl_colour(
        ctypes.byref(pattern), *(part.ctypes.data for part in (row_start, row_column, found, work))
    )
    longest = int(np.diff(row_start).max(initial=0))
    return Colouring(found, int(count), max(longest, 1) if n_cols else 0)
