"""Parts of a model whose eigenvalues are their own: strongly connected components of L and Df.

In their order L, Df and every J within the pattern of Df are block triangular, and so is the map of a step: its
eigenvalues are those of the diagonal blocks, each made of the entries within it (I. S. Duff, J. K. Reid, An
implementation of Tarjan's algorithm for the block triangularization of a matrix, ACM TOMS 4 (1978) 137-147).
Small components are taken together: one matrix of some dozen rows costs less than many of a few.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

Places = NDArray[np.intp]
TOGETHER = 24  # rows up to which small components share a block


@dataclass(frozen=True, eq=False)
class StateBlock:
    """Some unknowns, and the entries of Df among them."""

    states: Places
    entries: Places
    rows: Places  # of these entries, within the block
    columns: Places
    mass: NDArray[np.float64]


def blocks(mass: NDArray[np.float64], rows: Places, columns: Places) -> list[StateBlock]:
    """The blocks of a model; of one that is strongly connected the whole.

    >>> found = blocks(np.eye(2), np.array([0, 0, 1]), np.array([0, 1, 1]))
    >>> len(found), found[0].states.tolist()
    (1, [0, 1])
    """
    n = len(mass)
    found = []
    for states in _together(n, mass, rows, columns) if n else ():
        place = np.full(n, -1)
        place[states] = np.arange(len(states))
        entries = np.flatnonzero((place[rows] >= 0) & (place[columns] >= 0))
        inside = mass[np.ix_(states, states)]
        found.append(StateBlock(states, entries, place[rows[entries]], place[columns[entries]], inside))
    return found


def _together(n: int, mass: NDArray[np.float64], rows: Places, columns: Places) -> list[Places]:
    """Components, the largest first, small ones in sets."""
    i, j = np.nonzero(mass)
    both = np.concatenate([rows, i]), np.concatenate([columns, j])
    count, label = connected_components(coo_array((np.ones(len(both[0])), both), shape=(n, n)), connection="strong")
    members = [np.flatnonzero(label == k) for k in range(count)]
    sets: list[list[Places]] = []
    size = TOGETHER
    for one in sorted(members, key=lambda one: (-len(one), int(one[0]))):
        if size + len(one) > TOGETHER:
            sets.append([])
            size = 0
        sets[-1].append(one)
        size += len(one)
    return [np.sort(np.concatenate(one)) for one in sets]
