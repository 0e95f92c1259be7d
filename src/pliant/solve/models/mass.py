"""Singular mass matrices with hidden constraints, made explicit.

The runtime wants algebraic equations as empty rows of L. Where L is singular without them (two rows that are multiples
of each other, as in the transistor amplifier), each dependent row d is replaced: L_d = sum c_i L_i over independent
rows i, so 0 = f_d - sum c_i f_i is an equation without derivatives.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import splu

#: parts with fewer rows go straight to the dense decomposition
SMALL = 50


@dataclass(frozen=True)
class Explicit:
    """The changed mass matrix, and the combination T with f -> T f (None: nothing to combine)."""

    mass: sp.csc_array
    combine: sp.csr_array | None


def make_explicit(mass: sp.csc_array) -> Explicit:
    """Replace dependent rows of ``mass`` by empty ones and return how to combine the right-hand side."""
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
    for members, members_columns in _parts(label[:n], label[n:]):
        part = by_rows[members][:, members_columns]
        if not _is_regular(part):
            dependent += _reduce_part(part, members, combine)
    if not dependent:
        return Explicit(mass, None)
    keep = np.ones(n)
    keep[dependent] = 0.0
    reduced = sp.csc_array(sp.diags_array(keep) @ mass)
    reduced.eliminate_zeros()
    reduced.sort_indices()
    return Explicit(reduced, combine.tocsr())


def _parts(
    row_label: NDArray[np.int32], column_label: NDArray[np.int32]
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Rows and columns of each connected part with more than one row."""
    rows, columns = np.argsort(row_label, kind="stable"), np.argsort(column_label, kind="stable")
    row_sorted, column_sorted = row_label[rows], column_label[columns]
    for part in np.flatnonzero(np.bincount(row_label) > 1):
        low, high = np.searchsorted(row_sorted, [part, part + 1])
        left, right = np.searchsorted(column_sorted, [part, part + 1])
        yield rows[low:high], columns[left:right]


def _is_regular(part: sp.csr_array) -> bool:
    """Clearly of full rank, by sparse LU of the part scaled by rows; False: not sure."""
    if part.shape[0] != part.shape[1] or part.shape[0] < SMALL:
        return False
    size = abs(part).max(axis=1).toarray().ravel()
    if not np.all(size > 0.0):
        return False
    try:
        pivots = np.abs(splu(sp.csc_array(sp.diags_array(1.0 / size) @ part)).U.diagonal())
    except RuntimeError:  # exactly singular
        return False
    return bool(pivots.min() > 1e-8 * pivots.max())


def _reduce_part(part: sp.csr_array, members: NDArray[np.intp], combine: sp.lil_array) -> list[int]:
    block = part.toarray()
    size = np.abs(block).max(axis=1)
    block /= size[:, None]  # rank must not depend on the units of the equations
    _, r, order = scipy.linalg.qr(block.T, mode="economic", pivoting=True)
    diagonal = np.abs(np.diag(r))
    rank = int(np.count_nonzero(diagonal > diagonal[0] * 1e-12 * max(block.shape))) if len(diagonal) else 0
    independent, rest = np.sort(order[:rank]), order[rank:]
    for d in rest:
        factors = np.linalg.lstsq(block[independent].T, block[d], rcond=None)[0]
        factors[np.abs(factors) < 1e-13] = 0.0
        for i, c in zip(independent, factors, strict=True):
            if c != 0.0:
                combine[members[d], members[i]] = -c * size[d] / size[i]
    return [int(members[d]) for d in rest]
