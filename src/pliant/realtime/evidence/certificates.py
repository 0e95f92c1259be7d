"""Bounds that hold for products of step maps, not only for each one: common Lyapunov functions and windows.

    S~ = W Ss W^-1 (W = 1/range);   S~^T P_l S~ - P_l = -I for some of the points, P = sum w_l P_l = C C^T
    gamma = max_l |C^T S~_l C^-T|_2 over all points: below one, every sequence of these steps decays in |C^T W x|
    windows: Phi_m(k) = T Ss_(k+m-1) ... Ss_k T^-1, T = C^T W, along every step of a run with the pattern

gamma < 1 is sufficient, not necessary: for the robot none was found. Windows certify the trajectory they were made on.
Weights w_l are multiplied by exp(excess) of the points that decay least (multiplicative weights).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from pliant.realtime.sparsing.linearisations import ON_CIRCLE
from pliant.realtime.sparsing.linearise import Matrix

LARGEST = 400  # unknowns up to which discrete Lyapunov equations are solved
BLOCK = 25  # steps that are multiplied before norms are taken


@dataclass(frozen=True, eq=False)
class Lyapunov:
    """A common quadratic norm |C^T W x|."""

    gamma: float  # largest growth in one step, over all points
    n_points: int
    T: Matrix  # C^T W
    rounds: int

    @property
    def found(self) -> bool:
        """Does every step decay?"""
        return self.gamma < 1.0


@dataclass(frozen=True, eq=False)
class Windows:
    """Growth over m steps along a run."""

    length: int | None  # the smallest m with decay from every start; None: not within a quarter of the run
    bound: float  # largest norm over windows of that length
    peak: float  # largest norm over all shorter windows
    n_steps: int
    norms: tuple[tuple[int, float], ...]  # (m, largest norm)


def infinity_bound(maps: Matrix, sizes: Matrix) -> float:
    """max |W Ss W^-1|_inf with W = 1/sizes: below one it needs no further argument."""
    scaled = maps / sizes[..., :, None] * sizes[..., None, :]
    return float(np.abs(scaled).sum(axis=2).max())


def _spectral(matrix: Matrix) -> float:
    """2-norm."""
    return float(np.sqrt(max(scipy.linalg.eigvalsh(matrix.T @ matrix, check_finite=False)[-1], 0.0)))


def _lyapunov(S: Matrix) -> Matrix | None:
    """P of S^T P S - P = -I; None where S does not decay, or so slowly that rounding decides (a free body)."""
    if np.abs(np.linalg.eigvals(S)).max() >= 1.0 - ON_CIRCLE:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", scipy.linalg.LinAlgWarning)
            P = scipy.linalg.solve_discrete_lyapunov(S.T, np.eye(len(S)))
    except (scipy.linalg.LinAlgWarning, np.linalg.LinAlgError):
        return None
    return np.asarray(0.5 * (P + P.T)) if np.isfinite(P).all() else None


def common_lyapunov(maps: Matrix, scale: Matrix, base: Sequence[int], rounds: int = 40) -> Lyapunov | None:
    """A common norm for all maps (P, n, n), made from those in ``base``; None where a map itself does not decay."""
    n = maps.shape[1]
    if n > LARGEST:
        return None
    scaled = maps / scale[None, :, None] * scale[None, None, :]
    parts: list[Matrix] = []
    for k in base:
        P = _lyapunov(scaled[k])
        if P is None:
            return None
        parts.append(P / np.trace(P))
    weight = np.full(len(parts), 1.0 / len(parts))
    best: tuple[float, Matrix] | None = None
    for turn in range(rounds):
        P = np.tensordot(weight, np.array(parts), axes=1)
        try:
            C = np.asarray(np.linalg.cholesky(P), dtype=np.float64)
        except np.linalg.LinAlgError:
            break
        if not np.isfinite(C).all():
            break
        inverse = scipy.linalg.solve_triangular(C, np.eye(n), lower=True).T
        growth = np.array([_spectral(C.T @ scaled[k] @ inverse) for k in base])
        if best is None or growth.max() < best[0]:
            best = (float(growth.max()), C)
        elif turn > 10 and growth.max() > 1.5 * best[0]:
            break
        if not np.isfinite(growth).all():
            break
        weight = weight * np.exp(growth - growth.max())
        if not weight.sum() > 0.0:  # the point that decays least has lost its weight to underflow before
            break
        weight = weight / weight.sum()
    if best is None:
        return None
    C = best[1]
    inverse = scipy.linalg.solve_triangular(C, np.eye(n), lower=True).T
    gamma = max(_spectral(C.T @ one @ inverse) for one in scaled)
    return Lyapunov(gamma, len(maps), C.T / scale[None, :], rounds)


def best_lyapunov(maps: Matrix, scales: Sequence[Matrix], base: Sequence[int]) -> Lyapunov | None:
    """The best of several scalings of the states: which norms are near depends on it."""
    found = [one for one in (common_lyapunov(maps, scale, base) for scale in scales) if one is not None]
    return min(found, key=lambda one: one.gamma, default=None)


def windows(
    maps: Callable[[int], Matrix], n_steps: int, T: Matrix, report: Callable[[float], object] = lambda share: None
) -> Windows | None:
    """Growth of products of step maps along a run; ``maps(k)`` is Ss of step k."""
    count = n_steps // BLOCK
    if count < 8:
        return None
    inverse = np.linalg.inv(T)
    n = len(T)
    blocks = np.empty((count, n, n))
    for b in range(count):
        product = np.eye(n)
        for k in range(b * BLOCK, (b + 1) * BLOCK):
            product = maps(k) @ product
        blocks[b] = T @ product @ inverse
        report(0.5 * b / count)
    norms: list[tuple[int, float]] = []
    products = blocks.copy()
    for m in range(1, count // 4 + 1):
        if m > 1:
            products = blocks[m - 1 :] @ products[: count - m + 1]
        largest = max(_spectral(one) for one in products)
        norms.append((m * BLOCK, largest))
        report(0.5 + 0.5 * m / (count // 4))
        if not np.isfinite(largest):
            return None
        if largest < 1.0:
            peak = max(value for _, value in norms)
            return Windows(m * BLOCK, largest, peak, n_steps, tuple(norms))
    return Windows(None, norms[-1][1], max(value for _, value in norms), n_steps, tuple(norms))
