"""Singular mass matrices with hidden constraints, made explicit.

The runtime wants algebraic equations as empty rows of L. Where L is singular without them (two rows that are multiples
of each other, as in the transistor amplifier), each dependent row d is replaced: L_d = sum c_i L_i over independent
rows i, so 0 = f_d - sum c_i f_i is an equation without derivatives.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components


@dataclass(frozen=True)
class Explicit:
    """The changed mass matrix, and the combination T with f -> T f (None: nothing to combine)."""

    mass: sp.csc_array
    combine: sp.csr_array | None


def make_explicit(mass: sp.csc_array) -> Explicit:
    """Replace dependent rows of ``mass`` by empty ones and tell how to combine the right-hand side."""
    n = mass.shape[0]
    entries = mass.tocoo()
    rows, columns = np.asarray(entries.row), np.asarray(entries.col)
    if np.array_equal(rows, columns) or len(rows) == 0:
        return Explicit(mass, None)
    # rows that share no column cannot depend on each other: work on connected parts of rows and columns
    graph = sp.coo_array((np.ones(len(rows)), (rows, columns + n)), shape=(2 * n, 2 * n))
    _, label = connected_components(graph, directed=False)
    combine = sp.lil_array((n, n))
    combine.setdiag(np.ones(n))
    dependent: list[int] = []
    by_rows = mass.tocsr()
    for part in np.unique(label[rows]):
        members = np.flatnonzero(label[:n] == part)
        if len(members) > 1:
            dependent += _reduce_part(by_rows, members, np.flatnonzero(label[n:] == part), combine)
    if not dependent:
        return Explicit(mass, None)
    keep = np.ones(n)
    keep[dependent] = 0.0
    reduced = sp.csc_array(sp.diags_array(keep) @ mass)
    reduced.eliminate_zeros()
    reduced.sort_indices()
    return Explicit(reduced, combine.tocsr())


def _reduce_part(
    by_rows: sp.csr_array, members: NDArray[np.intp], columns: NDArray[np.intp], combine: sp.lil_array
) -> list[int]:
    block = by_rows[members][:, columns].toarray()
    _, r, order = scipy.linalg.qr(block.T, mode="economic", pivoting=True)
    diagonal = np.abs(np.diag(r))
    rank = int(np.count_nonzero(diagonal > diagonal[0] * 1e-12 * max(block.shape))) if len(diagonal) else 0
    independent, rest = np.sort(order[:rank]), order[rank:]
    for d in rest:
        factors = np.linalg.lstsq(block[independent].T, block[d], rcond=None)[0]
        factors[np.abs(factors) < 1e-13] = 0.0
        for i, c in zip(independent, factors, strict=True):
            if c != 0.0:
                combine[members[d], members[i]] = -c
    return [int(members[d]) for d in rest]
