"""First-order effects of dropping single entries, signed, in units of what is allowed.

    shift of cluster k:   tau Df_ij G_k[j, i] / ((1 - theta) min r)    (Schiela & Bornemann 2003, eq. (25), corrected)
    bias at point p:      max |W T| of column i * Df_ij Dx_j / tolerance

Signs are kept: the effect of a group is the modulus of the sum. They order candidates, they never accept.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pliant.realtime.sparsing.accept import Checker
from pliant.realtime.sparsing.cancelling import Effects
from pliant.realtime.sparsing.clusters import entry_changes, linkage_clusters, signed_criterion
from pliant.realtime.sparsing.spectrum import Pencil, allowed_change

FALLBACK = 0.01  # cut of the clusters where eigenvectors are useless


def cluster_effects(checker: Checker, training: Sequence[int], cut: float) -> Effects:
    """(entries, clusters of all training points); with cut = 0 every eigenvalue is a cluster of its own."""
    points, frame, rule = checker.points, checker.frame, checker.rule
    columns = [np.zeros((frame.n_entries, 0), dtype=np.complex128)]
    for p in training:
        single = _single_effects(checker, p) if cut == 0.0 else None
        if single is not None:
            columns.append(single)
            continue
        pencil = Pencil(frame.mass, points.Df[p], frame.tau, frame.names)
        clusters = linkage_clusters(pencil.eigenvalues, cut or FALLBACK)
        signed = signed_criterion(pencil, clusters, frame.rows, frame.columns)
        least = np.array([pencil.r[members].min() for members in clusters])
        allowed = allowed_change(least, rule.theta, points.slack)
        columns.append(np.asarray(signed / allowed[:, None], dtype=np.complex128).T)
    return np.concatenate(columns, axis=1)


def _single_effects(checker: Checker, p: int) -> Effects | None:
    """The same for single eigenvalues, bases from eigenvectors, which is faster; None where these are useless."""
    points, frame = checker.points, checker.frame
    found, V = np.linalg.eig(points.S[p])
    try:
        U = np.linalg.solve(V, points.B_inverse[p].astype(np.complex128))
    except np.linalg.LinAlgError:
        return None
    change = entry_changes(frame.tau * points.values[p], (V * (1.0 - found))[frame.columns], U.T[frame.rows])
    allowed = allowed_change(1.0 - np.abs(found), checker.rule.theta, points.slack)
    out = np.asarray(change / allowed, dtype=np.complex128)
    return out if np.isfinite(out).all() else None


def bias_effects(checker: Checker) -> Effects:
    """(entries, points)."""
    points, frame = checker.points, checker.frame
    strongest = np.abs(points.T).max(axis=1)[:, frame.rows]
    return np.asarray(strongest * points.K / checker.rule.tolerance, dtype=np.complex128).T


def signed_effects(checker: Checker, training: Sequence[int], cut: float) -> Effects:
    """(entries, effects): shifts of clusters at the training points, then the bias at all points."""
    return np.concatenate([cluster_effects(checker, training, cut), bias_effects(checker)], axis=1)
