"""Colouring of the columns of a Jacobian, so that one directional derivative serves all columns of a colour.

Columns of one colour share no row: with the seed vector s_c = sum of unit vectors of colour c, entry (i, j) of the
Jacobian is (J s_c(j))_i. The least number of colours is that of the column intersection graph; no row can have more
entries than there are colours, so the longest row is a lower bound, and reaching it proves the colouring optimal.

Greedy colouring in three orders: natural (optimal on bands), largest first, smallest last (D. W. Matula, L. L. Beck,
J. ACM 30 (1983) 417-427; optimal wherever the graph is chordal). A. R. Curtis, M. J. D. Powell, J. K. Reid, IMA J.
Appl. Math. 13 (1974) 117-119; A. H. Gebremedhin, F. Manne, A. Pothen, SIAM Review 47 (2005) 629-705. The best is kept,
and no further order is tried once the lower bound is reached. Ties go to the lowest column: the same pattern always
gets the same colours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_matrix

from pliant.errors import ArgumentError

Adjacency = list[list[int]]
MOST_NEIGHBOURS = 20_000_000


@dataclass(frozen=True)
class Colouring:
    """A colour for each column."""

    colours: NDArray[np.intp]  # 0 ... n_colours - 1
    n_colours: int
    lower_bound: int  # longest row; n_colours equal to it is optimal
    method: str  # the order that won

    @property
    def is_optimal(self) -> bool:
        """Proved to need no more colours than any colouring; False says only that the proof is missing."""
        return self.n_colours == self.lower_bound

    def groups(self) -> list[NDArray[np.intp]]:
        """Columns of each colour."""
        order = np.argsort(self.colours, kind="stable")
        return np.split(order, np.searchsorted(self.colours[order], np.arange(1, self.n_colours)))

    def seed(self) -> NDArray[np.float64]:
        """n_cols x n_colours matrix of the directions."""
        directions = np.zeros((len(self.colours), self.n_colours))
        directions[np.arange(len(self.colours)), self.colours] = 1.0
        return directions


def colour(n_rows: int, n_cols: int, rows: ArrayLike, cols: ArrayLike) -> Colouring:
    """Colours for the pattern with entries (rows[k], cols[k]); an empty column has colour 0.

    >>> colour(3, 3, [0, 1, 2, 0, 0], [0, 1, 2, 1, 2]).n_colours
    3
    """
    pattern = pattern_of(n_rows, n_cols, rows, cols)
    longest = int(np.diff(pattern.indptr).max(initial=0))
    bound = max(longest, 1) if n_cols else 0
    best: Colouring | None = None
    by_column = pattern.tocsc()
    if longest == n_cols:  # a full row: every column needs its own colour
        return Colouring(np.arange(n_cols, dtype=np.intp), n_cols, bound, "natural")
    column_rows = lists(by_column)
    orders: dict[str, Callable[[], Sequence[int]]] = {
        "natural": lambda: range(n_cols),
        "largest first": lambda: largest_first(pattern, by_column),
        "smallest last": lambda: smallest_last(neighbours(pattern, by_column)),
    }
    # long rows make the intersection graph quadratic; the two cheap orders must do there
    if int((np.diff(pattern.indptr).astype(np.int64) ** 2).sum()) > MOST_NEIGHBOURS:
        del orders["smallest last"]
    for method, order in orders.items():
        found = greedy(order(), column_rows)
        count = int(found.max(initial=-1)) + 1
        if best is None or count < best.n_colours:
            best = Colouring(found, count, bound, method)
        if best.is_optimal:
            break
    assert best is not None
    return best


def pattern_of(n_rows: int, n_cols: int, rows: ArrayLike, cols: ArrayLike) -> csr_matrix:
    """The pattern by rows, repeated entries joined, columns sorted."""
    i, j = np.asarray(rows, dtype=np.int64), np.asarray(cols, dtype=np.int64)
    if min(n_rows, n_cols) < 0 or i.ndim != 1 or i.shape != j.shape:
        raise ArgumentError(f"{i.shape} rows and {j.shape} columns", hint="two lists of one length")
    if i.size and (min(i.min(), j.min()) < 0 or i.max() >= n_rows or j.max() >= n_cols):
        raise ArgumentError(f"an entry lies outside of the {n_rows} x {n_cols} pattern")
    pattern = csr_matrix((np.ones(len(i), dtype=np.int32), (i, j)), shape=(n_rows, n_cols))
    pattern.sum_duplicates()
    pattern.data[:] = 1
    return pattern


def lists(compressed: csr_matrix) -> Adjacency:
    """Compressed rows (or columns) as plain lists, which Python walks faster than arrays."""
    flat, starts = compressed.indices.tolist(), compressed.indptr.tolist()
    return [flat[a:b] for a, b in pairwise(starts)]


def greedy(order: Sequence[int], column_rows: Adjacency) -> NDArray[np.intp]:
    """Each column in turn gets the lowest colour that no row of it has seen."""
    # colours seen by a row are the bits of one integer: a column joins its rows and takes the lowest free bit
    seen = [0] * (1 + max((rows[-1] for rows in column_rows if rows), default=-1))
    found = [0] * len(column_rows)
    for j in order:
        taken = 0
        for i in column_rows[j]:
            taken |= seen[i]
        free = ~taken & (taken + 1)
        found[j] = free.bit_length() - 1
        for i in column_rows[j]:
            seen[i] |= free
    return np.array(found, dtype=np.intp)


def neighbours(pattern: csr_matrix, by_column: csr_matrix) -> Adjacency:
    """Columns that share a row with each column, without itself."""
    product = csr_matrix(by_column.T.tocsr() @ pattern)
    product.setdiag(0)
    product.eliminate_zeros()
    product.sort_indices()
    return lists(product)


def largest_first(pattern: csr_matrix, by_column: csr_matrix) -> Sequence[int]:
    """By falling number of neighbours, counted with repetition: exact enough to order, and cheap."""
    others = np.diff(pattern.indptr) - 1
    weight = by_column.T @ others
    return [int(j) for j in np.argsort(-weight, kind="stable")]


def smallest_last(adjacent: Adjacency) -> Sequence[int]:
    """The column with the fewest neighbours left goes to the end of the order; repeat with the rest."""
    n = len(adjacent)
    degree = [len(other) for other in adjacent]
    buckets: list[list[int]] = [[] for _ in range(max(degree, default=0) + 1)]
    for j in range(n - 1, -1, -1):
        buckets[degree[j]].append(j)  # the lowest column lies on top
    order = [0] * n
    least = 0
    for place in range(n - 1, -1, -1):
        while True:
            while not buckets[least]:
                least += 1
            j = buckets[least].pop()
            if degree[j] == least:  # else an old note: the column has moved to a lower bucket
                break
        degree[j] = -1
        order[place] = j
        for k in adjacent[j]:
            d = degree[k]
            if d > 0:
                degree[k] = d - 1
                buckets[d - 1].append(k)
        least = max(least - 1, 0)
    return order
