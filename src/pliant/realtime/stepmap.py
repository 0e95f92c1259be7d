"""The map that one step applies to a disturbance, and the error of a step that uses only a part of the Jacobian.

    order 1   S(h) = I + h (L - h J)^-1 Df                        linearly implicit Euler
    order 2   R = 2 S(tau/2)^2 - S(tau)                           two half steps and a whole one, extrapolated, one J

Error of order 2 in a motion with the steady step Dx: (I - R)^-1 (2 (S(tau/2) + I) d(tau/2) - d(tau)) with
d(h) = h^2 (L - h J)^-1 J Dx / tau. Both by linear algebra; see docs/theory/sparsing.md.
"""

from __future__ import annotations

import numpy as np

from pliant.realtime.linearise import Mask, Matrix
from pliant.realtime.points import Frame


def euler_map(mass: Matrix, J: Matrix, Df: Matrix, h: float) -> Matrix:
    """I + h (L - h J)^-1 Df; leading axes are kept."""
    with np.errstate(all="ignore"):
        return np.asarray(np.eye(mass.shape[-1]) + h * np.linalg.solve(mass - h * J, Df))


def step_map(frame: Frame, J: Matrix, Df: Matrix) -> Matrix:
    """The map of a step of the frame's order."""
    whole = euler_map(frame.mass, J, Df, frame.tau)
    if frame.order == 1:
        return whole
    half = euler_map(frame.mass, J, Df, frame.tau / 2)
    with np.errstate(all="ignore"):  # nearly singular masks overflow; the caller looks for numbers
        return np.asarray(2.0 * half @ half - whole)


def masked(frame: Frame, values: Matrix, mask: Mask) -> Matrix:
    """J from the entries that stay."""
    return frame.dense(np.where(mask, values, 0.0))


def lasting_error(frame: Frame, J: Matrix, Df: Matrix, dx: Matrix) -> Matrix:
    """Error of order 2 in the states when the motion goes on with steps dx."""
    tau, n = frame.tau, frame.n
    identity = np.eye(n)

    def local(h: float) -> Matrix:
        return np.asarray(h * h * np.linalg.solve(frame.mass - h * J, J @ dx) / tau)

    half = euler_map(frame.mass, J, Df, tau / 2)
    R = 2.0 * half @ half - euler_map(frame.mass, J, Df, tau)
    right = 2.0 * (half + identity) @ local(tau / 2) - local(tau)
    return np.asarray(np.linalg.solve(identity - R, right))
