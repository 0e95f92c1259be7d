"""The step of Newton's iteration for start values: what nothing determines stays where it is.

    [C_s  C_a] [s]   [b_c]      conditions
    [A_s  A_a] [a] = [b_a]      algebraic rows, as many as algebraic unknowns a

The algebraic unknowns are eliminated, (C_s - C_a A_a^-1 A_s) s = b_c - C_a A_a^-1 b_a, and the smallest solution is
taken. The smallest solution of the whole would move free states only to spare algebraic unknowns a long way.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pliant.solve.unknowns import NoSolution

Vector = NDArray[np.float64]
RANK = 1e-10  # singular values below this share of the largest count as zero
SINGULAR = 1e10  # condition of A_a beyond which it is not inverted


def smallest_step(j: Vector, b: Vector, m: int) -> tuple[Vector, Vector, int]:
    """(x, matrix, rank) for j x = b with m algebraic rows and unknowns, which come last.

    ``matrix`` is what is left for the others, and its rank; j itself where the algebraic ones cannot be eliminated.
    """
    n, k = len(j) - m, j.shape[1] - m
    if m and k and _is_regular(j[n:, k:]):
        inside = np.linalg.solve(j[n:, k:], np.column_stack([j[n:, :k], b[n:]]))
        matrix = j[:n, :k] - j[:n, k:] @ inside[:, :k]
        x, rank = _least_norm(matrix, b[:n] - j[:n, k:] @ inside[:, k])
        return np.concatenate([x, inside[:, k] - inside[:, :k] @ x]), matrix, rank
    x, rank = _least_norm(j, b)
    return x, j, rank


def _is_regular(a: Vector) -> bool:
    size = np.abs(a).max(axis=0)
    return bool(np.all(np.isfinite(a)) and size.min() > 0.0 and np.linalg.cond(a / size) < SINGULAR)


def _least_norm(a: Vector, b: Vector) -> tuple[Vector, int]:
    """Solution of least norm of a x = b, and the rank of a."""
    if a.shape[1] == 0:
        return np.zeros(0), 0
    if not np.all(np.isfinite(a)):
        raise NoSolution("the derivative of the initial conditions is not finite")
    u, s, v = np.linalg.svd(a, full_matrices=False)
    rank = int(np.sum(s > RANK * s[0])) if s.size and s[0] > 0.0 else 0
    step = v[:rank].T @ ((u[:, :rank].T @ b) / s[:rank])
    return np.where(np.any(a != 0.0, axis=0), step, 0.0), rank  # no rounding error in what no condition reads
