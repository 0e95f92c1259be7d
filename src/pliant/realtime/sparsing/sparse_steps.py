"""Solutions with L - h J of one pattern where the model is large: SuperLU in the place of LAPACK.

X. S. Li, ACM Trans. Math. Software 31 (2005) 302-325, in SciPy. Analysis only: the step itself eliminates in its own
fixed order.
"""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_matrix
from scipy.sparse.linalg import MatrixRankWarning, splu

Matrix = NDArray[np.float64]
SPARSE = 100  # unknowns beyond which this is faster


class SparseSteps:
    """Matrices L - h J."""

    def __init__(self, mass: Matrix, rows: NDArray[np.intp], columns: NDArray[np.intp]) -> None:
        self.n = len(mass)
        i, j = np.nonzero(mass)
        place = np.concatenate([columns * self.n + rows, j * self.n + i])
        found, self.inverse = np.unique(place, return_inverse=True)
        self.indices = (found % self.n).astype(np.int32)
        self.start = np.searchsorted(found, self.n * np.arange(self.n + 1)).astype(np.int32)
        self.mass = mass[i, j]

    def matrix(self, values: Matrix, h: float) -> csc_matrix:
        """L - h J."""
        data = np.bincount(self.inverse, np.concatenate([-h * values, self.mass]), minlength=len(self.indices))
        return csc_matrix((data, self.indices, self.start), shape=(self.n, self.n))

    def solve(self, values: Matrix, h: float, right: Matrix) -> Matrix:
        """(L - h J)^-1 right; numbers that are none where the matrix is singular."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MatrixRankWarning)
            try:
                return np.asarray(splu(self.matrix(values, h)).solve(right))
            except (RuntimeError, ValueError):  # singular; not finite
                return np.full(right.shape, np.nan)

    def times(self, values: Matrix, right: Matrix) -> Matrix:
        """J right."""
        return np.asarray(self.matrix(values, -1.0) @ right - self.only_mass @ right)

    @property
    def only_mass(self) -> csc_matrix:
        """L."""
        return self.matrix(np.zeros(len(self.inverse) - len(self.mass)), 0.0)
