"""What a mask does to one step of the linearly implicit Euler method: all criteria, usable alone.

    J = mask o Df,  B = L - tau Df,  E = tau (Df - J),  Bs = B + E,  S = B^-1 L,  Ss = Bs^-1 (L + E)
    exact: Ss - S = Bs^-1 E (I - S) = tau (Bs^-1 - B^-1) Df =: eps M

Sources: A. Schiela, F. Bornemann, ZAMM 83 (2003) 637-647 (criterion of clusters, from spectrum.py and clusters.py);
T. Loderer, V. Heuveline, EMCL preprint 2017-02 (d_S, d_1, d_2, bounds). Deviations, each with its reason in
docs/theory/sparsing-criteria.md: d_S is half of the printed value; d_1 is exact; d_2 takes the diagonal of X^-1 eps M X
instead of the trace of the square; all are written for L instead of I. ``printed=True`` gives the printed formulas.
In the place of a mask J itself may be given, as :class:`GivenJacobian`: that of a plan with frozen entries.
Not from the papers: the bias of a mask, the relative gain array of algebraic equations.

Everything takes plain arrays: L, Df (n x n), tau, mask (bool, True = entry kept). The formulas are those of the search
(stepmap.py, spectrum.py, clusters.py), which applies them to many linearisations at once; here arguments are checked
and singular matrices named.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import eig

from pliant.errors import ArgumentError
from pliant.realtime.sparsing.clusters import ClusterBlock as Block
from pliant.realtime.sparsing.clusters import (
    Clusters,
    allowed_changes,
    block_diagonalise,
    cluster_criterion,
    entries,
    entry_scores,
    given_clusters,
    group_change,
    linkage_clusters,
    one_cluster,
    signed_criterion,
    single_clusters,
    stiff_clusters,
)
from pliant.realtime.sparsing.spectrum import (
    Complexes,
    Floats,
    GivenJacobian,
    Indices,
    Pencil,
    eigenvalue_ratio,
    jacobian_used,
    kernels,
    matrix,
    ringing,
    solve_named,
    solver,
    sparsed,
    spectrum_of,
    step,
    true_changes,
)
from pliant.realtime.sparsing.stepmap import added_bias, algebraic_map, euler_map, summed_map

__all__ = [
    "Block",
    "Bounds",
    "Clusters",
    "GivenJacobian",
    "Pencil",
    "TraceChange",
    "algebraic_block",
    "algebraic_eigenvalues",
    "allowed_changes",
    "bias_fixed_point",
    "bias_horizon",
    "bias_recursion",
    "block_diagonalise",
    "bounds",
    "cluster_criterion",
    "d_1",
    "d_2",
    "d_2_square",
    "d_S",
    "d_r",
    "eigenvalue_ratio",
    "entry_scores",
    "exact_trace_change",
    "finite_horizon",
    "given_clusters",
    "group_change",
    "kernels",
    "linearisation_change",
    "linkage_clusters",
    "lower_bound",
    "one_cluster",
    "perturbation",
    "relative_gain",
    "ringing",
    "signed_criterion",
    "single_clusters",
    "sparsed",
    "stiff_clusters",
    "true_changes",
    "zero_shift",
]


Choice = ArrayLike | GivenJacobian  # a mask, or J itself

# --- the whole mask: Loderer and Heuveline --------------------------------------------------------------------------


def perturbation(L: ArrayLike, Df: ArrayLike, tau: float, mask: Choice) -> Floats:
    """Eps M = Ss - S, computed as Bs^-1 E (I - S): no difference of nearly equal matrices."""
    mass, jacobian, dropped = parts(L, Df, tau, mask)
    B = mass - tau * jacobian
    rest = -tau * solve_named(B, jacobian, "B = L - tau Df")  # I - S
    return solve_named(B + dropped, dropped @ rest, "Bs = L - tau (mask o Df)")


def d_S(L: ArrayLike, Df: ArrayLike, tau: float, mask: Choice, printed: bool = False) -> float:  # noqa: N802
    """``|tr(B^-1 E (I - S))|``, the first-order change of the sum of all eigenvalues (eq. 2).

    ``printed``: with L + tau Df in the place of L in the last factor, exactly twice as much.
    """
    mass, jacobian, dropped = parts(L, Df, tau, mask)
    B = mass - tau * jacobian
    last = mass + tau * jacobian if printed else mass
    both = solve_named(B, np.hstack([dropped, last]), "B = L - tau Df")
    n = len(mass)
    return float(abs(np.trace(both[:, :n] @ (np.eye(n) - both[:, n:]))))


def d_1(L: ArrayLike, Df: ArrayLike, tau: float, mask: Choice) -> float:
    """``|tr(tau (Bs^-1 - B^-1) Df)|``: exactly ``|sum dlambda_i|``, however large the change."""
    return float(abs(np.trace(perturbation(L, Df, tau, mask))))


def d_2(L: ArrayLike, Df: ArrayLike, tau: float, mask: Choice, printed: bool = False) -> float:
    """Estimate of ``sqrt(sum |dlambda_i|^2)``: ``sqrt(sum |(X^-1 eps M X)_ii|^2)`` with the eigenvectors X of S.

    First order in eps M; it needs simple eigenvalues and means nothing (huge or inf) where S is defective,
    left and right eigenvector at right angles. ``printed``: ``sqrt(tr((eps M)^2))``, nan where that trace is negative.
    """
    if printed:
        square = d_2_square(L, Df, tau, mask)
        return float(np.sqrt(square)) if square >= 0 else float("nan")
    change = perturbation(L, Df, tau, mask)
    S = solve_named(matrix(L, "L") - tau * matrix(Df, "Df"), matrix(L, "L"), "B = L - tau Df")
    _, left, right = eig(S, left=True, right=True)
    top = np.einsum("ki,kl,li->i", left.conj(), change, right, optimize=True)
    bottom = np.einsum("ki,ki->i", left.conj(), right)
    if (np.abs(bottom) < np.finfo(float).eps).any():
        return float("inf")
    return float(np.linalg.norm(top / bottom))


def d_2_square(L: ArrayLike, Df: ArrayLike, tau: float, mask: Choice) -> float:
    """``tr((eps M)^2)``, the printed square of d_2. It may be negative; it is no sum of squared changes."""
    change = perturbation(L, Df, tau, mask)
    return float(np.sum(change * change.T))


def d_r(L: ArrayLike, Df: ArrayLike, tau: float, mask: Choice) -> float:
    """The true ``sum |dlambda_i|``, eigenvalues matched by assignment."""
    mass, jacobian = matrix(L, "L"), matrix(Df, "Df")
    lam = spectrum_of(solve_named(mass - step(tau) * jacobian, mass, "B = L - tau Df"))
    return float(true_changes(lam, spectrum_of(sparsed(mass, jacobian, tau, mask))).sum())


class Bounds(NamedTuple):
    """Limits for d_1 (C1) and for the square of d_2 (C2), over all modes and without the slow ones."""

    C1: float
    C2: float
    C1_fast: float
    C2_fast: float
    slow: Indices  # eigenvalues that count as slow


def bounds(eigenvalues: ArrayLike, slow: float = 0.1) -> Bounds:
    """C1 = min r_i and C2 = min r_i^2 (eqs. 12-15), with and without slow modes.

    A mode exp(mu t) is slow if ``|tau mu| < slow``; tau mu = 1 - 1/lambda, so it is seen from lambda alone:
    ``|1 - lambda| < slow |lambda|``. Explicit Euler would integrate it as well, which is how mixed-mode integration
    separates slow from fast. If every mode is slow, none is left out. Negative r (unstable) gives a negative C1 and
    C2 = 0.

    >>> bounds([0.5, 0.999]).C1_fast
    0.5
    """
    lam = np.asarray(eigenvalues, dtype=np.complex128)
    if lam.ndim != 1 or len(lam) == 0:
        raise ArgumentError("no eigenvalues are given", hint="pass Pencil.eigenvalues")
    r = 1.0 - np.abs(lam)
    is_slow = np.abs(1.0 - lam) < slow * np.abs(lam)
    fast = r if is_slow.all() else r[~is_slow]
    least, least_fast = float(r.min()), float(fast.min())
    return Bounds(least, max(least, 0.0) ** 2, least_fast, max(least_fast, 0.0) ** 2, np.flatnonzero(is_slow))


def lower_bound(d: float, m: int, order: int = 2) -> float:
    """Least possible max ``|dlambda_i|`` of m eigenvalues: d_2 / sqrt(m), or with ``order=1`` d_1 / m.

    >>> lower_bound(3.0, 9)
    1.0
    """
    if m < 1 or order not in {1, 2}:
        raise ArgumentError(f"m = {m}, order = {order}", hint="m >= 1; order 1 for d_1 and d_r, 2 for d_2")
    return float(d / m ** (1.0 / order))


# --- single entries and pairs of linearisations ---------------------------------------------------------------------


class TraceChange(NamedTuple):
    """Change of the sum of all eigenvalues when one entry goes; a denominator near 0 means that Bs becomes singular."""

    first_order: Floats
    denominator: Floats

    @property
    def exact(self) -> Floats:
        """The finite change; inf where the denominator is zero."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self.first_order / self.denominator)


def exact_trace_change(pencil: Pencil, rows: ArrayLike | None = None, cols: ArrayLike | None = None) -> TraceChange:
    """``tr(Ss - S)`` for each entry alone: first order over ``1 + tau Df_ij (B^-1)_ji``.

    All n x n entries, or those of (rows, cols). With its sign: the whole trace, no modulus.
    """
    gain = pencil.B_inverse - pencil.S @ pencil.B_inverse  # (I - S) B^-1
    scaled = pencil.tau * pencil.Df
    if rows is None or cols is None:
        return TraceChange(scaled * gain.T, 1.0 + scaled * pencil.B_inverse.T)
    i, j = entries(rows, cols, pencil.n)
    return TraceChange(scaled[i, j] * gain[j, i], 1.0 + scaled[i, j] * pencil.B_inverse[j, i])


def linearisation_change(L: ArrayLike, Df_old: ArrayLike, Df_new: ArrayLike, tau: float) -> float:
    """``|tr(B^-1 F S)|`` with F = tau (Df_old - Df_new): how far a new linearisation moves the sum of eigenvalues.

    Both matrices of a pair change by E under sparsing, but only B changes with the linearisation: theorem 4 of
    Schiela and Bornemann does not apply.
    """
    old = Pencil(L, Df_old, tau)
    F = tau * (old.Df - matrix(Df_new, "Df_new"))
    return float(abs(np.trace(old.B_inverse @ F @ old.S)))


# --- algebraic equations --------------------------------------------------------------------------------------------


def algebraic_block(L: ArrayLike) -> tuple[Indices, Indices]:
    """Zero rows (algebraic equations) and zero columns (algebraic variables) of L."""
    mass = matrix(L, "L")
    return np.flatnonzero(~mass.any(axis=1)), np.flatnonzero(~mass.any(axis=0))


def relative_gain(L: ArrayLike, Df: ArrayLike) -> Floats:
    """q_ij = Df_ij [X (Y^T Df X)^-1 Y^T]_ji, n x n, X and Y kernels of L and L^T; independent of tau.

    For L = diag(C, 0) this is g_y o g_y^-T on algebraic rows and columns, the relative gain array of E. H. Bristol
    (IEEE Trans. Automatic Control 11, 1966, 133-134), and zero elsewhere. Dropping entry (i, j) moves one zero of the
    spectrum by -q_ij to first order.
    """
    jacobian = matrix(Df, "Df")
    X, Y = kernels(L)
    if X.shape[1] == 0:
        return np.zeros_like(jacobian)
    inverse = solve_named(Y.T @ jacobian @ X, Y.T, "Y^T Df X (index above 1)")
    return np.asarray(jacobian * (X @ inverse).T)


def zero_shift(q: ArrayLike) -> Floats:
    """-q/(1-q): where one zero goes when an entry of relative gain q is dropped, exact for the algebraic block.

    q = 1: singular (inf); q > 1/2: unstable; q > 1/3: rings; q < 0: stable but slow.

    >>> zero_shift([0.5, -1.0])
    array([-1. ,  0.5])
    """
    gain = np.asarray(q, dtype=np.float64)
    with np.errstate(divide="ignore"):
        return np.asarray(-gain / (1.0 - gain))


def algebraic_eigenvalues(L: ArrayLike, Df: ArrayLike, mask: Choice) -> Complexes:
    """Eigenvalues of I - (Y^T J X)^-1 (Y^T Df X): where a mask sends the zeros, by the algebraic block alone."""
    jacobian = matrix(Df, "Df")
    J = jacobian_used(mask, jacobian)
    X, Y = kernels(L)
    return spectrum_of(algebraic_map(Y.T @ J @ X, Y.T @ jacobian @ X, solver("the masked algebraic block")))


# --- bias -----------------------------------------------------------------------------------------------------------


def bias_fixed_point(Df: ArrayLike, mask: Choice, Dx: ArrayLike, *, least_squares: bool = False) -> Floats:
    """e = Df^-1 (Df o (1 - mask)) Dx: sparsed minus exact solution once the difference has settled; L plays no part.

    A singular Df (free integrators) has no fixed point: SingularError; :func:`bias_horizon` answers instead.
    ``least_squares=True`` takes the solution of smallest norm; it does not show the drift along the kernel of Df.
    """
    jacobian = matrix(Df, "Df")
    defect = (jacobian - jacobian_used(mask, jacobian)) @ vector(Dx, len(jacobian))
    if least_squares:
        return np.asarray(np.linalg.lstsq(jacobian, defect, rcond=None)[0])
    return solve_named(jacobian, defect, "Df (no fixed point: use bias_horizon)")


def finite_horizon(L: ArrayLike, Df: ArrayLike, tau: float, N: int) -> Floats:
    """T_N = (I - S^N) Df^-1 = sum of S^k T_1 over k < N, T_1 = -tau B^-1; by doubling T_2N = T_N + S^N T_N.

    Df itself is never inverted. T_N (Df o (1 - mask)) Dx is the bias after N steps of a constant Dx.
    """
    if N < 1:
        raise ArgumentError(f"N = {N}", hint="at least one step")
    pencil = Pencil(L, Df, tau)
    return summed_map(-pencil.tau * pencil.B_inverse, pencil.S, N)


def bias_horizon(L: ArrayLike, Df: ArrayLike, tau: float, mask: Choice, Dx: ArrayLike, N: int = 128) -> Floats:
    """T_N (Df o (1 - mask)) Dx: the bias after N steps, also where Df is singular. An estimate, no bound."""
    mass, _, dropped = parts(L, Df, tau, mask)
    return np.asarray(finite_horizon(L, Df, tau, N) @ (dropped @ vector(Dx, len(mass)) / tau))


def bias_recursion(
    steps: Iterable[tuple[ArrayLike, ArrayLike, Choice, float, ArrayLike]], start: ArrayLike | None = None
) -> Floats:
    """e_next = Ss e - Bs^-1 E Dx along a stored run of (L, Df, mask, tau, Dx); row k is e after step k+1.

    Dx are the steps of the exact-Jacobian run. Exact for linear models; one masked solve per step.
    """
    found: list[Floats] = []
    e = None if start is None else np.asarray(start, dtype=np.float64)
    for L, Df, mask, tau, Dx in steps:
        mass, jacobian, _ = parts(L, Df, tau, mask)
        e = np.zeros(len(mass)) if e is None else vector(e, len(mass))
        J, solve = jacobian_used(mask, jacobian), solver("Bs = L - tau (mask o Df)")
        added = added_bias(mass, J, jacobian, vector(Dx, len(mass)), tau, solve)
        e = euler_map(mass, J, jacobian, tau, solve) @ e + added
        found.append(e)
    return np.array(found)


def parts(L: ArrayLike, Df: ArrayLike, tau: float, mask: Choice) -> tuple[Floats, Floats, Floats]:
    """L, Df and E, checked."""
    mass, jacobian = matrix(L, "L"), matrix(Df, "Df")
    if mass.shape != jacobian.shape:
        raise ArgumentError(f"L is {mass.shape} but Df is {jacobian.shape}", hint="both are n x n")
    return mass, jacobian, step(tau) * (jacobian - jacobian_used(mask, jacobian))


def vector(values: ArrayLike, n: int) -> Floats:
    """A vector of n numbers."""
    found = np.asarray(values, dtype=np.float64)
    if found.shape != (n,):
        raise ArgumentError(f"a vector of shape {found.shape} for {n} states", hint=f"give {n} numbers")
    return found
