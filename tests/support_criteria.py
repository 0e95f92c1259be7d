"""Random systems L x' = Df x, and oracles for the sparsing criteria."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.linalg import eigvals, inv, solve
from scipy.linalg import block_diag
from scipy.optimize import linear_sum_assignment

from pliant.realtime.sparsing import criteria as c

Array = np.ndarray
SEEDS = range(6)
TAU = 0.3


def ode(rng: np.random.Generator, n: int = 7) -> tuple[Array, Array, Array]:
    """L = I, a stable Df with real and complex eigenvalues, a mask that drops about a fifth."""
    Df = rng.normal(size=(n, n)) - 3.0 * np.eye(n)
    return np.eye(n), Df, rng.random((n, n)) > 0.2


def dae(rng: np.random.Generator, n: int = 8, algebraic: int = 3) -> tuple[Array, Array, Array]:
    """L = diag(C, 0)."""
    differential = n - algebraic
    C = np.eye(differential) + 0.2 * rng.normal(size=(differential, differential))
    Df = rng.normal(size=(n, n)) - 3.0 * np.eye(n)
    mask = (rng.random((n, n)) > 0.15) | np.eye(n, dtype=bool)
    return block_diag(C, np.zeros((algebraic, algebraic))), Df, mask


def mixed_dae(rng: np.random.Generator) -> tuple[Array, Array, Array]:
    """The same with rows and columns combined: a singular L without zero rows."""
    L, Df, mask = dae(rng)
    P, Q = rng.normal(size=L.shape), rng.normal(size=L.shape)
    return P @ L @ Q, P @ Df @ Q, mask


SYSTEMS: list[Callable[[np.random.Generator], tuple[Array, Array, Array]]] = [ode, dae, mixed_dae]


def maps(L: Array, Df: Array, tau: float, mask: Array) -> tuple[Array, Array, Array, Array, Array]:
    """B, E, Bs, S, Ss straight from their definitions."""
    B = L - tau * Df
    E = tau * (Df - mask * Df)
    return B, E, B + E, inv(B) @ L, inv(B + E) @ (L + E)


def without(n: int, *entries: tuple[int, int]) -> Array:
    mask = np.ones((n, n), dtype=bool)
    for entry in entries:
        mask[entry] = False
    return mask


def with_spectrum(rng: np.random.Generator, blocks: list[Array]) -> Array:
    """A matrix similar to the block diagonal of the given blocks."""
    core = block_diag(*blocks)
    n = len(core)
    Q, P = (np.linalg.qr(rng.normal(size=(n, n)))[0] for _ in range(2))
    T = Q * rng.uniform(1.0, 3.0, n) @ P
    return T @ core @ inv(T)


def rotation(re: float, im: float) -> Array:
    return np.array([[re, im], [-im, re]])


def difference_of_sums(L: Array, Df: Array, entry: tuple[int, int], groups: list[Array], tau: float = TAU) -> Array:
    """d/dh of each cluster's sum of eigenvalues when entry (i, j) of J is (1 - h) Df_ij: the criterion's oracle."""

    def sums(h: float) -> Array:
        E = np.zeros_like(Df)
        E[entry] = tau * h * Df[entry]
        return eigvals(solve(L - tau * Df + E, L + E))

    base = c.Pencil(L, Df, tau).eigenvalues
    h = 1e-4

    def collected(values: Array) -> Array:
        order = linear_sum_assignment(abs(base[:, None] - values))[1]
        return np.array([values[order][group].sum() for group in groups])

    near, far = ((collected(sums(k * h)) - collected(sums(-k * h))) / (2 * k * h) for k in (1, 2))
    return (4 * near - far) / 3
