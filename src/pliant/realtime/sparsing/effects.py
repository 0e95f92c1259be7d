"""First-order effects of dropping or freezing single entries, signed, in units of what is allowed.

    shift of cluster k:   tau m_ij G_k[j, i] / ((1 - theta) min r)    (Schiela & Bornemann 2003, eq. (25), corrected)
    bias at point p:      max |W T| of column i * m_ij Dx_j / tolerance

m is what J lacks of Df: Df itself where an entry is dropped, Df - c where it is held at c.

Signs are kept: the effect of a group is the modulus of the sum. They order candidates, they never accept.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pliant.realtime.sparsing.accept import Checker
from pliant.realtime.sparsing.cancelling import Effects
from pliant.realtime.sparsing.clusters import entry_changes, linkage_clusters, signed_criterion
from pliant.realtime.sparsing.linearise import Matrix
from pliant.realtime.sparsing.spectrum import Pencil, allowed_change

FALLBACK = 0.01  # cut of the clusters where eigenvectors are useless


def cluster_effects(checker: Checker, training: Sequence[int], cut: float, missing: Matrix | None = None) -> Effects:
    """(entries, clusters of all training points); with cut = 0 every eigenvalue is a cluster of its own."""
    points, frame, rule = checker.points, checker.frame, checker.rule
    lacks = points.values if missing is None else missing
    columns = [np.zeros((frame.n_entries, 0), dtype=np.complex128)]
    for p in training:
        single = _single_effects(checker, p, lacks[p]) if cut == 0.0 else None
        if single is not None:
            columns.append(single)
            continue
        pencil = Pencil(frame.mass, points.Df[p], frame.tau, frame.names)
        clusters = linkage_clusters(pencil.eigenvalues, cut or FALLBACK)
        df = points.values[p]
        share = np.divide(lacks[p], df, out=np.zeros_like(df), where=df != 0.0)
        signed = signed_criterion(pencil, clusters, frame.rows, frame.columns) * share
        least = np.array([pencil.r[members].min() for members in clusters])
        allowed = allowed_change(least, rule.theta, points.slack)
        columns.append(np.asarray(signed / allowed[:, None], dtype=np.complex128).T)
    return np.concatenate(columns, axis=1)


def _single_effects(checker: Checker, p: int, missing: Matrix) -> Effects | None:
    """The same for single eigenvalues, bases from eigenvectors, which is faster; None where these are useless."""
    points, frame = checker.points, checker.frame
    found, V = np.linalg.eig(points.S[p])
    try:
        U = np.linalg.solve(V, points.B_inverse[p].astype(np.complex128))
    except np.linalg.LinAlgError:
        return None
    change = entry_changes(frame.tau * missing, (V * (1.0 - found))[frame.columns], U.T[frame.rows])
    allowed = allowed_change(1.0 - np.abs(found), checker.rule.theta, points.slack)
    out = np.asarray(change / allowed, dtype=np.complex128)
    return out if np.isfinite(out).all() else None


def bias_effects(checker: Checker, missing: Matrix) -> Effects:
    """(entries, points)."""
    points, frame = checker.points, checker.frame
    strongest = np.abs(points.T).max(axis=1)[:, frame.rows]
    return np.asarray(strongest * missing * points.moves / checker.rule.tolerance, dtype=np.complex128).T


def signed_effects(checker: Checker, training: Sequence[int], cut: float, missing: Matrix | None = None) -> Effects:
    """(entries, effects): shifts of clusters at the training points, then the bias at all points.

    missing: what J would lack of each entry at every point; None: all of it
    """
    lacks = checker.points.values if missing is None else missing
    return np.concatenate([cluster_effects(checker, training, cut, lacks), bias_effects(checker, lacks)], axis=1)
