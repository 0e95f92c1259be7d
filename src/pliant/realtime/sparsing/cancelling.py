"""Entries of a row that cancel each other belong together: one may go only with the other.

A gear pulls with c (phi - q): each entry alone moves eigenvalues and steps by far more than both together. Entry k has
the signed effects z_k: first-order shifts of all clusters of eigenvalues in units of what is allowed, and its share of
the bias at all points. Two sets of entries are merged while their effects cancel, |z_a + z_b| < |z_a|, |z_b| / 2, the
best cancellation first. What is left are the atoms that the search moves.

Not in the papers: Schiela & Bornemann drop single entries, which never finds such pairs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pliant.realtime.sparsing.linearisations import Places
from pliant.realtime.sparsing.ties import ascending, first_least

Effects = NDArray[np.complex128]  # (entries, effects)
CANCEL = 0.5
EQUAL = 1e-6  # difference of two such ratios that says nothing: squares that cancel lose half of the digits


@dataclass(frozen=True, eq=False)
class Atom:
    """Entries that go together; ``size``: largest effect of all of them."""

    entries: Places
    size: float


def find_atoms(effects: Effects, entries: Places) -> list[Atom]:
    """Atoms of one row, those of the least effect first.

    >>> z = np.array([[1.0], [-0.9], [0.2]], dtype=complex)
    >>> [list(map(int, atom.entries)) for atom in find_atoms(z, np.array([0, 1, 2]))]
    [[0, 1], [2]]
    """
    groups = [[int(k)] for k in entries]
    sums = effects[entries].copy()
    gram = (sums @ sums.conj().T).real
    alive = np.ones(len(groups), dtype=bool)
    while alive.sum() > 1:
        size = np.sqrt(np.maximum(np.diag(gram), 0.0))
        together = np.sqrt(np.maximum(size[:, None] ** 2 + size[None, :] ** 2 + 2 * gram, 0.0))
        ratio = together / np.maximum(np.maximum(size[:, None], size[None, :]), 1e-300)
        ratio[~alive] = ratio[:, ~alive] = np.inf
        np.fill_diagonal(ratio, np.inf)
        a, b = divmod(first_least(ratio, EQUAL), len(groups))
        if not ratio[a, b] < CANCEL:
            break
        groups[a] += groups[b]
        sums[a] += sums[b]
        alive[b] = False
        gram[a] = (sums @ sums[a].conj()).real
        gram[:, a] = gram[a]
    found = [
        Atom(np.array(sorted(groups[k]), dtype=np.intp), float(np.abs(sums[k]).max(initial=0.0)))
        for k in np.flatnonzero(alive)
    ]
    found.sort(key=lambda atom: int(atom.entries[0]))
    return [found[k] for k in ascending([atom.size for atom in found])]
