"""What one step does to a disturbance: the formulas that search, evidence and :mod:`pliant.criteria` share.

    order 1   S(h) = I + h (L - h J)^-1 Df                        linearly implicit Euler
    order 2   R = 2 S(tau/2)^2 - S(tau)                           two half steps and a whole one, extrapolated, one J
    bias      e_next = S e - (L - tau J)^-1 tau (Df - J) Dx       sparsed minus exact run, Dx the exact step
    N steps   T_N = (I + S + ... + S^(N-1)) T_1                   a disturbance T_1 in every step
    zeros     I - J_a^-1 Df_a                                     algebraic block: where a mask sends its eigenvalues

Error of order 2 in a motion with the steady step Dx: (I - R)^-1 (2 (S(tau/2) + I) d(tau/2) - d(tau)) with
d(h) = h^2 (L - h J)^-1 J Dx / tau. Both by linear algebra; see docs/theory/sparsing.md.

Arrays in, arrays out, leading axes are kept. ``solve`` is a^-1 b: the search takes LAPACK's for many matrices at once
and looks for numbers afterwards; the public criteria take one that balances first and names what is singular.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
Solve = Callable[[Matrix, Matrix], Matrix]


def plain_solve(a: Matrix, b: Matrix) -> Matrix:
    """a^-1 b; nearly singular masks overflow, and the caller looks for numbers."""
    with np.errstate(all="ignore"):
        return np.asarray(np.linalg.solve(a, b))


def euler_map(mass: Matrix, J: Matrix, Df: Matrix, h: float, solve: Solve = plain_solve) -> Matrix:
    """I + h (L - h J)^-1 Df."""
    with np.errstate(all="ignore"):
        found = np.asarray(h * solve(mass - h * J, Df))
        np.einsum("...ii->...i", found)[...] += 1.0
    return found


def extrapolated(half: Matrix, whole: Matrix) -> Matrix:
    """R from the maps of a half and of a whole step."""
    with np.errstate(all="ignore"):
        return np.asarray(2.0 * half @ half - whole)


def step_map(mass: Matrix, J: Matrix, Df: Matrix, tau: float, order: int = 1) -> Matrix:
    """The map of a step of either order."""
    whole = euler_map(mass, J, Df, tau)
    return whole if order == 1 else extrapolated(euler_map(mass, J, Df, tau / 2), whole)


def added_bias(mass: Matrix, J: Matrix, Df: Matrix, Dx: Matrix, tau: float, solve: Solve = plain_solve) -> Matrix:
    """-(L - tau J)^-1 tau (Df - J) Dx: what one step of order 1 adds to the difference of the runs."""
    dropped = tau * np.einsum("...ij,...j->...i", Df - J, Dx)
    return np.asarray(-solve(mass - tau * J, dropped[..., None])[..., 0])


def summed_map(first: Matrix, S: Matrix, N: int) -> Matrix:
    """(I + S + ... + S^(N-1)) first, by doubling T_2N = T_N + S^N T_N."""
    T, power = first, S
    for bit in bin(N)[3:]:
        T, power = T + power @ T, power @ power
        if bit == "1":
            T, power = first + S @ T, S @ power
    return np.asarray(T)


def algebraic_map(part: Matrix, exact: Matrix, solve: Solve = plain_solve) -> Matrix:
    """I - part^-1 exact of the algebraic block: how fast its errors die out."""
    return np.asarray(np.eye(exact.shape[-1]) - solve(part, exact))


def lasting_error(mass: Matrix, J: Matrix, Df: Matrix, dx: Matrix, tau: float) -> Matrix:
    """Error of order 2 in the states when the motion continues with steps dx."""
    identity = np.eye(len(mass))

    def local(h: float) -> Matrix:
        return np.asarray(h * h * np.linalg.solve(mass - h * J, J @ dx) / tau)

    half = euler_map(mass, J, Df, tau / 2)
    R = extrapolated(half, euler_map(mass, J, Df, tau))
    right = 2.0 * (half + identity) @ local(tau / 2) - local(tau)
    return np.asarray(np.linalg.solve(identity - R, right))
