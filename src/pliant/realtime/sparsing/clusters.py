"""Clusters of eigenvalues, the block diagonal form of a pencil, and the sparsing criterion of each cluster.

    Y_k^H L X_k = A_k,  Y_k^H B X_k = B_k,  U = B_k^-1 Y_k^H,  V = X_k (I - B_k^-1 A_k),  G_k = V U
    c_ij = |tau Df_ij G_k[j, i]|

c_ij estimates to first order how far the sum of the eigenvalues of cluster k moves when entry (i, j) goes: A. Schiela,
F. Bornemann, ZAMM 83 (2003) 637-647, eqs. (15) and (20)-(25). Deviations: i and j are swapped in the printed (24) and
(25); G_k = (I - S) P_k B^-1 depends on the spectral projector P_k alone, so the bases need not be orthonormal: ours are
so in balanced states, where rounding is least. G_k is a gradient: a group of entries sums with signs before the
modulus is taken.

X_k: the cluster is moved to the top of the real Schur form (LAPACK dtgsen) and Z's first columns are taken; Y_k: to the
bottom, Q's last columns. Where a cluster splits a conjugate pair, or LAPACK refuses a swap as inaccurate, the complex
Schur form of S serves (ztrsen, whose swaps cannot fail); then Y_k^H = W^H B^-1 with W the last columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import lapack
from scipy.sparse.csgraph import connected_components

from pliant.errors import ArgumentError, SingularError
from pliant.realtime.sparsing.spectrum import (
    ZERO,
    Complexes,
    Floats,
    Indices,
    Pencil,
    allowed_change,
    check_theta,
    matched,
)

Clusters = tuple[Indices, ...]
Numbers = NDArray[Any]  # real for clusters that are closed under conjugation, else complex


@dataclass(frozen=True)
class ClusterBlock:
    """One cluster of the block diagonal form: bases, blocks, and the gradient of its sum of eigenvalues."""

    indices: Indices  # into Pencil.eigenvalues
    X: Numbers  # n x m, right basis
    Y: Numbers  # n x m, left basis
    A: Numbers  # Y^H L X
    B: Numbers  # Y^H B X

    @cached_property
    def U(self) -> Numbers:  # noqa: N802
        """B_k^-1 Y^H."""
        return np.asarray(np.linalg.solve(self.B, self.Y.conj().T))

    @cached_property
    def V(self) -> Numbers:  # noqa: N802
        """X (I - B_k^-1 A_k)."""
        return np.asarray(self.X - self.X @ np.linalg.solve(self.B, self.A))

    @cached_property
    def G(self) -> Numbers:  # noqa: N802
        """V U: the derivative of the sum of eigenvalues by tau Df_ij being dropped is G[j, i]."""
        return np.asarray(self.V @ self.U)


# --- which eigenvalues belong together ------------------------------------------------------------------------------


def linkage_clusters(eigenvalues: ArrayLike, cut: float = 0.01) -> Clusters:
    """Single linkage on (Re, ``|Im|``): chains of neighbours at most ``cut`` apart; zeros of a DAE stand alone.

    >>> [list(map(int, cluster)) for cluster in linkage_clusters([0.5, 0.9, 0.505, 0.0])]
    [[0, 2], [1], [3]]
    """
    lam = spectrum(eigenvalues)
    return linked(lam, np.full((len(lam), len(lam)), positive(cut, "cut")))


def stiff_clusters(eigenvalues: ArrayLike, stiff: float = 0.5, coarse: float = 0.2, fine: float = 1e-4) -> Clusters:
    """Few stiff and many other clusters (Schiela and Bornemann, section 3.4).

    Rule: eigenvalues of modulus up to ``stiff`` are linked at distance ``coarse``, because dropped entries push stiff
    modes in the same direction and their changes hardly cancel. All others are linked at ``fine`` only, so that every
    oscillatory pair stands alone and nothing cancels, but numerically multiple eigenvalues stay together. Zeros of a
    DAE are a cluster of their own.
    """
    lam = spectrum(eigenvalues)
    inside = np.abs(lam) <= positive(stiff, "stiff")
    cuts = np.where(inside[:, None] & inside, positive(coarse, "coarse"), positive(fine, "fine"))
    return linked(lam, cuts)


def single_clusters(eigenvalues: ArrayLike) -> Clusters:
    """Every eigenvalue, or conjugate pair, alone. Useless where eigenvalues are nearly defective."""
    lam = spectrum(eigenvalues)
    return components(pairs(lam))


def one_cluster(eigenvalues: ArrayLike) -> Clusters:
    """All eigenvalues together: the criterion is the change of the trace."""
    return (np.arange(len(spectrum(eigenvalues))),)


def given_clusters(
    clusters: Iterable[ArrayLike], eigenvalues: ArrayLike, *, split_conjugates: bool = False
) -> Clusters:
    """The caller's own clusters, checked: each index in exactly one, conjugates together unless requested otherwise."""
    lam = spectrum(eigenvalues)
    found: list[Indices] = []
    for cluster in clusters:
        members = np.atleast_1d(np.asarray(cluster))
        if members.size == 0 or members.ndim != 1 or not np.issubdtype(members.dtype, np.integer):
            raise ArgumentError(f"{cluster!r} is no cluster", hint="a cluster is a list of indices, not empty")
        found.append(np.sort(members).astype(np.intp))
    everything = np.sort(np.concatenate(found)) if found else np.zeros(0, dtype=np.intp)
    if not np.array_equal(everything, np.arange(len(lam))):
        values, counts = np.unique(everything, return_counts=True)
        odd = sorted({int(v) for v in values[counts > 1]} | (set(range(len(lam))) ^ {int(v) for v in values}))
        raise ArgumentError(
            f"the clusters are no partition of the {len(lam)} eigenvalues: see index {odd[0]}",
            hint="each index belongs to exactly one cluster",
        )
    home = labels(found, len(lam))
    for i, j in np.argwhere(pairs(lam)):
        if not split_conjugates and home[i] != home[j]:
            raise ArgumentError(
                f"the conjugates {i} and {j} ({lam[i]:.6g}) are in different clusters",
                hint="put them together, or pass split_conjugates=True",
            )
    return tuple(found)


def labels(clusters: Sequence[Indices], n: int) -> Indices:
    """Number of the cluster of each eigenvalue."""
    home = np.empty(n, dtype=np.intp)
    for k, members in enumerate(clusters):
        home[members] = k
    return home


def spectrum(eigenvalues: ArrayLike) -> Complexes:
    """A list of finite eigenvalues."""
    lam = np.asarray(eigenvalues, dtype=np.complex128)
    if lam.ndim != 1 or not np.isfinite(lam).all():
        raise ArgumentError("eigenvalues must be a list of finite numbers", hint="pass Pencil.eigenvalues")
    return lam


def positive(value: float, name: str) -> float:
    """A number that may be zero but not negative."""
    if not value >= 0:
        raise ArgumentError(f"{name} = {value} must be positive and finite", hint="a distance in the complex plane")
    return value


def pairs(lam: Complexes) -> NDArray[np.bool_]:
    """n x n, True for partners under conjugation.

    They are found by assignment: eigenvalues of bad condition are conjugate only up to much more than rounding.
    """
    n = len(lam)
    together = np.zeros((n, n), dtype=np.bool_)
    complex_ones = np.flatnonzero(np.abs(lam.imag) > 1e-14)
    if len(complex_ones):
        some = lam[complex_ones]
        together[complex_ones, complex_ones[matched(some, some.conj())]] = True
    return together


def linked(lam: Complexes, cuts: Floats) -> Clusters:
    """Connected eigenvalues; ``cuts[i, j]`` is the distance up to which i and j are neighbours."""
    folded = lam.real + 1j * np.abs(lam.imag)
    zero = np.abs(lam) < ZERO
    neighbours = np.abs(folded[:, None] - folded) <= cuts
    apart = zero[:, None] != zero
    return components((neighbours | pairs(lam) | (zero[:, None] & zero)) & ~apart)


def components(together: NDArray[np.bool_]) -> Clusters:
    """Connected components, ordered by their first member."""
    if len(together) == 0:
        return ()
    count, label = connected_components(together, directed=False)
    return tuple(np.flatnonzero(label == k) for k in range(count))


# --- block diagonal form --------------------------------------------------------------------------------------------


def block_diagonalise(pencil: Pencil, clusters: Iterable[ArrayLike]) -> list[ClusterBlock]:
    """Bases and blocks of each cluster; indices are those of ``pencil.eigenvalues``."""
    checked = given_clusters(clusters, pencil.eigenvalues, split_conjugates=True)
    return [block(pencil, members) for members in checked]


def block(pencil: Pencil, members: Indices) -> ClusterBlock:
    """One cluster of the block diagonal form."""
    X, Y = qz_bases(pencil, members) or schur_bases(pencil, members)
    left = Y.conj().T
    found = ClusterBlock(members, X, Y, left @ pencil.L @ X, left @ pencil.B @ X)
    try:
        finite = bool(np.isfinite(found.U).all() and np.isfinite(found.V).all())
    except np.linalg.LinAlgError:
        finite = False
    if not finite:
        raise SingularError(
            f"the cluster around {pencil.eigenvalues[members[0]]:.6g} cannot be separated from the others",
            hint="the eigenvalues are defective; join it with its neighbours (larger cut)",
        )
    return found


def qz_bases(pencil: Pencil, members: Indices) -> tuple[Numbers, Numbers] | None:
    """X, Y from the reordered QZ form, or None if a pair is split or LAPACK could not swap."""
    AA, BB, Q, Z = pencil.schur
    m = len(members)
    top = np.zeros(pencil.n, dtype=np.int32)
    top[members] = 1
    upper = np.flatnonzero(pencil.eigenvalues.imag > 0)
    if (top[upper] != top[upper + 1]).any():
        return None
    # ijob = 0: reorder only; each call updates just the side that is read
    work = {"ijob": 0, "lwork": 4 * pencil.n + 16, "liwork": 1}
    first = lapack.dtgsen(top, AA, BB, Q, Z, wantq=0, **work)
    last = lapack.dtgsen(1 - top, AA, BB, Q, Z, wantz=0, **work)
    if first[-1] or last[-1]:  # info
        return None
    rows, columns = pencil.scales
    return columns[:, None] * first[6][:, :m], rows[:, None] * last[5][:, pencil.n - m :]


def schur_bases(pencil: Pencil, members: Indices) -> tuple[Numbers, Numbers]:
    """X, Y from the complex Schur form of S."""
    T, Q = pencil.complex_schur
    m = len(members)
    # the same eigenvalues in the order of this form
    top = np.zeros(pencil.n, dtype=np.int32)
    top[matched(pencil.eigenvalues, T.diagonal())[members]] = 1
    first = lapack.ztrsen(top, T, Q, job="N")[1]
    last = lapack.ztrsen(1 - top, T, Q, job="N")[1]
    columns = pencil.scales[1][:, None]
    W = last[:, pencil.n - m :] / columns
    return columns * first[:, :m], np.asarray(pencil.B_inverse.T @ W)


# --- the criterion --------------------------------------------------------------------------------------------------


def signed_criterion(
    pencil: Pencil,
    clusters: Iterable[ArrayLike],
    rows: ArrayLike | None = None,
    cols: ArrayLike | None = None,
) -> Numbers:
    """``tau Df_ij G_k[j, i]`` with its sign: (K, n, n), or (K, nnz) for the entries (rows, cols)."""
    blocks = block_diagonalise(pencil, clusters)
    if rows is None or cols is None:
        if rows is not None or cols is not None:
            raise ArgumentError("rows without cols or cols without rows", hint="give both or none")
        full = np.stack([found.G.T for found in blocks]) if blocks else np.zeros((0, pencil.n, pencil.n))
        return np.asarray(pencil.tau * pencil.Df * full)
    i, j = entries(rows, cols, pencil.n)
    if not blocks:
        return np.zeros((0, len(i)))
    V = np.hstack([found.V for found in blocks])
    U = np.vstack([found.U for found in blocks])
    starts = np.cumsum([0] + [len(found.indices) for found in blocks[:-1]])
    changes = entry_changes(pencil.tau * pencil.Df[i, j], V[j], U.T[i])
    return np.asarray(np.add.reduceat(changes, starts, axis=1)).T


def entry_changes(scaled: Floats, V: Numbers, U: Numbers) -> Numbers:
    """tau Df_ij V[j, m] U[m, i] of some entries (rows here) and all columns m of the bases."""
    return np.asarray(scaled[:, None] * V * U)


def cluster_criterion(
    pencil: Pencil,
    clusters: Iterable[ArrayLike],
    rows: ArrayLike | None = None,
    cols: ArrayLike | None = None,
) -> Floats:
    """c of shape (K, n, n): first-order modulus of the change of each cluster's sum when an entry is dropped.

    With ``rows`` and ``cols`` only those entries are computed, shape (K, nnz).
    """
    return np.asarray(np.abs(signed_criterion(pencil, clusters, rows, cols)))


def group_change(signed: ArrayLike, group: ArrayLike) -> Floats:
    """First-order change of each cluster when a whole group goes: sums with signs, then the modulus, shape (K,).

    ``signed`` comes from :func:`signed_criterion`; ``group`` selects along its entry axes: a bool mask (n x n or nnz),
    or indices into the nnz entries.
    """
    values = np.asarray(signed)
    chosen = np.asarray(group)
    if chosen.dtype == np.bool_:
        if chosen.shape != values.shape[1:]:
            raise ArgumentError(
                f"the group has shape {chosen.shape}, the entries {values.shape[1:]}",
                hint="one truth value for each entry",
            )
        return np.asarray(np.abs(values[:, chosen].sum(axis=1)))
    if values.ndim != 2:
        raise ArgumentError("indices need the criterion on a pattern", hint="pass rows and cols, or a bool mask")
    return np.asarray(np.abs(values[:, chosen.astype(np.intp)].sum(axis=1)))


def allowed_changes(
    pencil: Pencil, clusters: Sequence[ArrayLike], theta: float = 0.5, thresholds: ArrayLike | None = None
) -> Floats:
    """What a cluster's sum may move: its threshold, or ``(1 - theta) min r_i + 1e-9`` over its members."""
    if thresholds is not None:
        limits = np.asarray(thresholds, dtype=np.float64)
        if limits.shape != (len(clusters),) or not (limits > 0).all():
            raise ArgumentError(f"{limits.shape} thresholds for {len(clusters)} clusters", hint="one each, positive")
        return limits
    check_theta(theta)
    least = np.array([pencil.r[np.asarray(members)].min() for members in clusters])
    return allowed_change(least, theta)


def entry_scores(
    c: ArrayLike,
    pencil: Pencil,
    clusters: Sequence[ArrayLike],
    theta: float = 0.5,
    thresholds: ArrayLike | None = None,
) -> Floats:
    """Largest c over what is allowed, over the clusters. Scores order candidates; they never accept a mask."""
    values = np.asarray(c)
    if len(values) != len(clusters):
        raise ArgumentError(
            f"a criterion of {len(values)} clusters for {len(clusters)} clusters", hint="one value for each cluster"
        )
    limits = allowed_changes(pencil, clusters, theta, thresholds)
    return np.asarray((values / limits.reshape(-1, *[1] * (values.ndim - 1))).max(axis=0, initial=0.0))


def entries(rows: ArrayLike, cols: ArrayLike, n: int) -> tuple[Indices, Indices]:
    """Index arrays of one length within an n x n matrix."""
    i, j = np.asarray(rows, dtype=np.intp), np.asarray(cols, dtype=np.intp)
    if i.ndim != 1 or i.shape != j.shape:
        raise ArgumentError(f"{i.shape} rows and {j.shape} columns", hint="two lists of one length")
    if i.size and (min(i.min(), j.min()) < 0 or max(i.max(), j.max()) >= n):
        raise ArgumentError(f"an entry lies outside of the {n} x {n} matrix", hint=f"places from 0 to {n - 1}")
    return i, j
