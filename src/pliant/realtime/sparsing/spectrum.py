"""The matrix pencil of one step of the linearly implicit Euler method, and its spectrum.

    (L - tau Df) (x_next - x) = tau f      ->   B x_next = L x,   B = L - tau Df,   S = B^-1 L = I + tau B^-1 Df

A. Schiela, F. Bornemann, Sparsing in real time simulation, ZAMM 83 (2003) 637-647, sections 2.2 and 3.1. Eigenvalues
lambda_i of the pair (L, B) come from the QZ form L = Q AA Z^T, B = Q BB Z^T; r_i = 1 - |lambda_i| is the distance to
the stability boundary. The paper's form is complex and triangular; ours is real with 2 x 2 blocks for conjugate pairs,
which are conjugate to the last bit then, at a quarter of the time. States and equations are scaled first (powers of
two, S balanced): that leaves the eigenvalues alone and gained 3 to 6 digits on a robot in SI units.

A masked Jacobian J = mask o Df gives E = tau (Df - J), Bs = B + E, Ss = Bs^-1 (L + E).

If L is singular, index 1 means that Y^T B X is regular, X and Y bases of the kernels of L and L^T; then exactly
n - rank L eigenvalues are zero. They are counted through the kernels, not by their modulus: with a higher index the
zeros are defective and rounding moves them to about 1e-8, and very stiff modes of an ODE are as small as true zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import lapack, matrix_balance, schur
from scipy.optimize import linear_sum_assignment

from pliant.errors import ArgumentError, ConvergenceError, NonFiniteError, SingularError
from pliant.realtime.sparsing.stepmap import Solve, euler_map

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]
Indices = NDArray[np.intp]
Mask = NDArray[np.bool_]

ZERO = 1e-9  # eigenvalues of smaller modulus count as zeros of a DAE
REGULAR = 1e-10  # smallest singular value of a scaled matrix that is called regular
ROUNDING = 1e-9  # changes of eigenvalues below this are not judged


class Pencil:
    """The pair (L, B = L - tau Df) with everything that is computed once and used often.

    >>> pencil = Pencil(np.eye(2), np.diag([-1.0, -1000.0]), 1e-3)
    >>> pencil.B.diagonal()
    array([1.001, 2.   ])
    """

    def __init__(self, L: ArrayLike, Df: ArrayLike, tau: float, names: Sequence[str] = ()) -> None:
        self.L, self.Df = matrix(L, "L"), matrix(Df, "Df")
        if self.L.shape != self.Df.shape:
            raise ArgumentError(f"L is {self.L.shape} but Df is {self.Df.shape}", hint="both are n x n")
        self.tau = step(tau)
        self.names = tuple(names)
        if self.names and len(self.names) != self.n:
            raise ArgumentError(f"{len(self.names)} names for {self.n} states", hint="one name for each state")
        self.B = self.L - self.tau * self.Df
        # S and B^-1 from one factorisation; a singular B is found here, before anything is built on it
        both = solve_named(self.B, np.hstack([self.L, np.eye(self.n)]), "B = L - tau Df", self.names)
        self.S, self.B_inverse = both[:, : self.n], both[:, self.n :]

    @property
    def n(self) -> int:
        """Number of states."""
        return len(self.L)

    @cached_property
    def scales(self) -> tuple[Floats, Floats]:
        """R, C of the balanced pair R L C, R B C (diagonals): C balances S, R brings the rows to size 1."""
        if self.n == 0:
            return np.zeros(0), np.zeros(0)
        columns = matrix_balance(self.S, permute=False, separate=True)[1][0]
        sizes = np.maximum(np.abs(self.L * columns).max(axis=1), np.abs(self.B * columns).max(axis=1))
        return power_of_two(sizes), columns

    @cached_property
    def _gges(self) -> tuple[Floats, Floats, Floats, Floats, Complexes]:
        """AA, BB, Q, Z and the eigenvalues."""
        if self.n == 0:
            return self.L, self.B, self.L, self.B, np.zeros(0, dtype=np.complex128)
        rows, columns = self.scales
        L, B = rows[:, None] * self.L * columns, rows[:, None] * self.B * columns
        AA, BB, _, real, imaginary, beta, Q, Z, _, info = lapack.dgges(lambda *_: 0, L, B, lwork=72 * self.n + 16)
        if info:
            raise ConvergenceError(
                f"the QZ iteration did not converge (info = {info})", hint="check L and Df for extreme entries"
            )
        lam = (real + 1j * imaginary) / beta
        upper = np.flatnonzero(imaginary > 0)
        lam[upper + 1] = lam[upper].conj()  # the two beta of a pair differ by rounding
        return AA, BB, Q, Z, lam

    @property
    def schur(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Real generalised Schur form AA, BB, Q, Z of the balanced pair: R L C = Q AA Z^T and R B C = Q BB Z^T."""
        return self._gges[:4]

    @property
    def eigenvalues(self) -> Complexes:
        """All lambda_i, in the order of the Schur form; conjugates stand next to each other."""
        return self._gges[4]

    @cached_property
    def complex_schur(self) -> tuple[Complexes, Complexes]:
        """Complex Schur form T, Q of the balanced C^-1 S C = Q T Q^H, for what the real form cannot do."""
        columns = self.scales[1]
        T, Q = schur(self.S * columns / columns[:, None], output="complex", check_finite=False)
        return T, Q

    @cached_property
    def r(self) -> Floats:
        """Distances 1 - |lambda_i| to the stability boundary, negative if unstable."""
        return np.asarray(1.0 - np.abs(self.eigenvalues))

    @cached_property
    def radius(self) -> float:
        """Largest modulus of an eigenvalue."""
        return float(np.abs(self.eigenvalues).max(initial=0.0))

    @cached_property
    def kernels(self) -> tuple[Floats, Floats]:
        """Bases X, Y of the kernels of L and of its transpose."""
        return kernels(self.L)

    @cached_property
    def rank(self) -> int:
        """Rank of L."""
        return self.n - int(self.kernels[0].shape[1])

    @cached_property
    def index_is_one(self) -> bool:
        """True for an ODE, and for a DAE with exactly n - rank L zero eigenvalues."""
        return self.zero_count == self.n - self.rank

    @cached_property
    def zero_count(self) -> int:
        """Algebraic multiplicity of the eigenvalue zero."""
        X, Y = self.kernels
        if X.shape[1] == 0:
            return 0
        # B is scaled, not Y^T B X: units must not make it look singular, nor rounding regular
        B, rows, columns = equilibrated(self.B)
        left, right = np.linalg.qr(Y / rows[:, None])[0], np.linalg.qr(X / columns[:, None])[0]
        if np.linalg.svd(left.T @ B @ right, compute_uv=False)[-1] > REGULAR:
            return int(X.shape[1])
        # defective zeros: divide the kernel out, look for the kernel of what remains, until none is left
        columns = self.scales[1]
        T, rank = self.S * columns / columns[:, None], self.rank
        noise = 1e-12 * float(np.abs(T).max(initial=0.0))
        while True:
            W = np.linalg.svd(T)[2][:rank].T
            T = W.T @ T @ W
            lower = int((np.linalg.svd(T, compute_uv=False) > noise).sum())
            if lower == rank:
                return max(self.n - rank, int(X.shape[1]) + 1)  # the singular core stands for one more at least
            rank = lower


def matrix(values: ArrayLike, name: str) -> Floats:
    """A finite, real, square matrix, or an error that names it."""
    given = np.asarray(values)
    if np.iscomplexobj(given):
        raise ArgumentError(f"{name} is complex", hint="Jacobians and mass matrices are real")
    found = np.asarray(given, dtype=np.float64)
    if found.ndim != 2 or found.shape[0] != found.shape[1]:
        raise ArgumentError(f"{name} has shape {found.shape}", hint="a square matrix is needed")
    if not np.isfinite(found).all():
        i, j = np.argwhere(~np.isfinite(found))[0]
        raise NonFiniteError(f"{name}[{i}, {j}] is {found[i, j]}", hint="linearise at another point")
    return found


def mask_of(mask: ArrayLike, n: int) -> Mask:
    """A mask of the right shape; True keeps an entry."""
    found = np.asarray(mask)
    if found.dtype != np.bool_ or found.shape != (n, n):
        raise ArgumentError(
            f"the mask is {found.dtype} of shape {found.shape}", hint=f"bool, {n} x {n}, True = entry kept"
        )
    return found


@dataclass(frozen=True, eq=False)
class GivenJacobian:
    """J itself in the place of a mask, where entries are held at constants."""

    J: Floats


def jacobian_used(mask: ArrayLike | GivenJacobian, Df: Floats) -> Floats:
    """J: Df where a mask keeps it, 0 elsewhere; or as it is given.

    >>> Df = np.array([[2.0]])
    >>> jacobian_used([[False]], Df), jacobian_used(GivenJacobian(np.array([[3.0]])), Df)
    (array([[0.]]), array([[3.]]))
    """
    if isinstance(mask, GivenJacobian):
        return matrix(mask.J, "J")
    return np.asarray(np.where(mask_of(mask, len(Df)), Df, 0.0))


def step(tau: float) -> float:
    """A step size that makes sense."""
    if not (np.isfinite(tau) and tau > 0):
        raise ArgumentError(f"the step tau = {tau} must be positive", hint="e.g. tau=1e-3")
    return float(tau)


def power_of_two(sizes: Floats) -> Floats:
    """Factors that bring sizes into [1/2, 1); a zero is left alone. Powers of two: no rounding."""
    exponent = np.frexp(np.where(sizes > 0, sizes, 0.5))[1]
    return np.asarray(np.ldexp(1.0, -exponent))


def equilibrated(a: Floats) -> tuple[Floats, Floats, Floats]:
    """R a C with largest entry of rows and columns near 1, and the diagonals of R, C; scales are powers of two."""
    rows = power_of_two(np.abs(a).max(axis=1, initial=0.0))
    columns = power_of_two(np.abs(rows[:, None] * a).max(axis=0, initial=0.0))
    return rows[:, None] * a * columns, rows, columns


def solve_named(a: Floats, b: Floats, what: str, names: Sequence[str] = ()) -> Floats:
    """a^-1 b. A singular matrix is an error that names row and column of the null vectors' largest components."""
    n = len(a)
    if n == 0:
        return np.array(b, dtype=np.float64)
    scaled, rows, columns = equilibrated(a)
    lu, pivots, info = lapack.dgetrf(scaled)
    reciprocal = 0.0 if info > 0 else float(lapack.dgecon(lu, np.linalg.norm(scaled, 1))[0])
    if reciprocal < n * np.finfo(float).eps:
        left, _, right = np.linalg.svd(scaled)
        i, j = int(np.abs(left[:, -1]).argmax()), int(np.abs(right[-1]).argmax())
        state = names[j] if names else f"x[{j}]"
        raise SingularError(
            f"{what} is singular: equation {i} does not determine {state}",
            hint="keep the entries of that row and column, or use another step size",
            names=(state,),
        )
    right_side = b * rows if b.ndim == 1 else b * rows[:, None]
    x: Floats = lapack.dgetrs(lu, pivots, right_side)[0].reshape(b.shape)
    return x * columns if b.ndim == 1 else x * columns[:, None]


def singular_hint(is_algebraic: bool) -> str:
    """What to try where L - tau Df is singular; ``is_algebraic``: some unknowns have no derivative."""
    if not is_algebraic:
        return "another step"
    return "another step, or options={'form': 'ode'} for a Modelica model: the index may be above 1 with these unknowns"


def solver(what: str) -> Solve:
    """:func:`solve_named` for the shared formulas."""
    return lambda a, b: solve_named(a, b, what)


def kernels(L: ArrayLike) -> tuple[Floats, Floats]:
    """Bases X, Y of the kernels of L and L^T.

    Where zero rows and columns of L explain its whole defect the bases are columns of the unit matrix, so that results
    are exact; otherwise they come from singular values of L scaled by rows and columns.
    """
    mass = matrix(L, "L")
    n = len(mass)
    scaled, rows, columns = equilibrated(mass)
    left, sizes, right = np.linalg.svd(scaled) if n else (mass, np.zeros(0), mass)
    rank = int((sizes > n * 1e-13 * sizes.max(initial=0.0)).sum())
    zero_rows, zero_columns = np.flatnonzero(~mass.any(axis=1)), np.flatnonzero(~mass.any(axis=0))
    if len(zero_rows) == len(zero_columns) == n - rank:
        unit = np.eye(n)
        return unit[:, zero_columns], unit[:, zero_rows]
    return columns[:, None] * right[rank:].T, rows[:, None] * left[:, rank:]


def sparsed(L: ArrayLike, Df: ArrayLike, tau: float, mask: ArrayLike | GivenJacobian) -> Floats:
    """Ss = Bs^-1 (L + E) = I + tau Bs^-1 Df, the step map with the masked Jacobian."""
    mass, jacobian = matrix(L, "L"), matrix(Df, "Df")
    J = jacobian_used(mask, jacobian)
    return euler_map(mass, J, jacobian, step(tau), solver("Bs = L - tau (mask o Df)"))


def spectrum_of(S: Floats) -> Complexes:
    """Eigenvalues of a step map."""
    return np.asarray(np.linalg.eigvals(S), dtype=np.complex128)


def matched(lam: ArrayLike, lam_s: ArrayLike) -> Indices:
    """p with lam_s[p[i]] the partner of lam[i]; the sum of the distances is least."""
    first, second = np.asarray(lam), np.asarray(lam_s)
    if first.ndim != 1 or first.shape != second.shape:
        raise ArgumentError(f"{first.shape} against {second.shape} eigenvalues", hint="two lists of one length")
    cost = np.abs(first[:, None] - second)
    if not np.isfinite(cost).all():
        raise NonFiniteError("an eigenvalue is not finite", hint="the step map has overflowed; check Bs")
    return np.asarray(linear_sum_assignment(cost)[1])


def true_changes(lam: ArrayLike, lam_s: ArrayLike) -> Floats:
    """``|lambda~_i - lambda_i|`` in the order of lam, partners found by assignment.

    >>> true_changes([0.5, 0.9], [0.9, 0.25])
    array([0.25, 0.  ])
    """
    return np.asarray(np.abs(np.asarray(lam_s)[matched(lam, lam_s)] - np.asarray(lam)))


def eigenvalue_ratio(lam: ArrayLike, lam_s: ArrayLike, theta: float = 0.5) -> float:
    """max ``|dlambda_i| / ((1 - theta) r_i + 1e-9)``; up to 1 every eigenvalue keeps the part theta of its distance.

    An eigenvalue on or outside the boundary may not move at all.
    """
    check_theta(theta)
    return change_ratio(lam, lam_s, allowed_change(1.0 - np.abs(np.asarray(lam)), theta))


def change_ratio(lam: ArrayLike, lam_s: ArrayLike, allowed: Floats) -> float:
    """The largest change of an eigenvalue in units of what is allowed to it."""
    return float((true_changes(lam, lam_s) / allowed).max(initial=0.0))


def allowed_change(r: Floats, theta: float, slack: float = ROUNDING) -> Floats:
    """(1 - theta) r + slack: what an eigenvalue, or the sum of a cluster with the least r, may move."""
    return np.asarray((1.0 - theta) * np.maximum(r, 0.0) + slack)


def check_theta(theta: float) -> None:
    """Theta is the part of the distance that is kept."""
    if not 0.0 <= theta < 1.0:
        raise ArgumentError(f"theta = {theta} must satisfy 0 <= theta < 1", hint=".5 keeps half of the distance")


def ringing(lam_s: ArrayLike) -> float:
    """Smallest real part. Below about -.5 a numerical oscillation from step to step becomes visible.

    >>> ringing([0.5, -0.25 + 0.1j])
    -0.25
    """
    return float(np.asarray(lam_s).real.min(initial=np.inf))
