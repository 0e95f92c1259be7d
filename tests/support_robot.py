"""The robot's right side f(t, x) in NumPy, from its equations; an oracle that knows nothing of the Modelica text.

    M(q) = sum over links of m Jc^T Jc + Jw^T R I R^T Jw        Jc, Jw: Jacobians of centre of mass and rotation
    h(q, qd) = sum of m Jc^T (ac - g) + Jw^T (R I R^T aw + w x R I R^T w)        ac, aw: accelerations with qdd = 0

All vectors are in the frame of the base. The example goes from link to link in the links' own frames instead.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

AXES = np.eye(3)[[2, 1, 1, 0, 1, 0]]
OFFSET = np.array([[0, 0, 0.35], [0, 0, 0.5], [0.1, 0, 0], [0.63, 0, 0], [0.08, 0, 0], [0, 0, 0]])
CENTRE = np.array([[0, 0, 0.15], [0, 0, 0.22], [0.06, 0.03, 0], [0.32, 0, 0], [0.02, 0, 0], [0.1, 0.02, 0.05]])
MASS = np.array([60, 56.5, 26.4, 28.7, 5.2, 17])
INERTIA = np.array(
    [[1.2, 1.2, 1.2], [2.6, 2.7, 0.6], [0.28, 0.25, 0.4], [0.35, 1.67, 1.67], [0.13, 0.08, 0.07], [0.15, 0.15, 0.15]]
)
N = np.array([105, 210, 60, 99, 79.2, 99])
JM = N**2 * np.array([1.3e-3, 1.3e-3, 1.3e-3, 1.6e-4, 1.8e-4, 1.29e-4])
CG = np.array([4.7e5, 3.5e5, 2.1e5, 3.0e4, 2.5e4, 1.5e4])
DG = np.array([500.0, 600, 300, 24, 20, 10])
KT = np.array([1.1616, 1.1616, 1.1616, 0.2365, 0.2365, 0.2608])
FC = np.array([100.0, 150, 60, 15, 12, 6])
FV = np.array([60.0, 80, 30, 6, 5, 3])
JA = np.array([25, 40, 12, 1.5, 1.2, 0.4])
RA, LA, KPC, KIC, TAMP, TIF, T1, T2 = 1.0, 5e-3, 15.0, 12000.0, 5e-5, 4e-5, 2e-4, 3e-4
TN, KP, WR, ZR, W0, G = 0.05, 12.0, 60.0, 1.0, 0.004, 9.81
KPV = (JM + JA) / N**2 * 80 / KT
STATES = ("q", "qd", "phi", "om", "i", "u", "xI", "iF", "v1", "v2", "xV", "r1", "r2")
QA = np.array([0, 0.3, 0.5, 0, 0.6, 0])
QB = np.array([1.2, 0.9, 0.1, 1, -0.5, 1.5])
QC = np.array([-0.8, -0.2, 0.9, -0.7, 0.9, -1])


def turn(axis: Array, angle: float) -> Array:
    """Rodrigues' formula."""
    cross = np.cross(np.eye(3), axis)  # cross @ v = axis x v
    return np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross


def mechanics(q: Array, qd: Array) -> tuple[Array, Array]:
    """M(q) and h(q, qd)."""
    mass, h = np.zeros((6, 6)), np.zeros(6)
    frame, joint = np.eye(3), np.zeros(3)
    axes, joints = np.zeros((6, 3)), np.zeros((6, 3))
    w, dw, acceleration = np.zeros(3), np.zeros(3), np.zeros(3)
    for k in range(6):
        axes[k], joints[k] = frame @ AXES[k], joint
        dw = dw + np.cross(w, axes[k]) * qd[k]
        w = w + axes[k] * qd[k]
        frame = frame @ turn(AXES[k], q[k])
        to_centre, inertia = frame @ CENTRE[k], frame @ np.diag(INERTIA[k]) @ frame.T
        ac = acceleration + np.cross(dw, to_centre) + np.cross(w, np.cross(w, to_centre))
        jc, jw = np.zeros((3, 6)), np.zeros((3, 6))
        for i in range(k + 1):
            jc[:, i] = np.cross(axes[i], joint + to_centre - joints[i])
            jw[:, i] = axes[i]
        mass += MASS[k] * jc.T @ jc + jw.T @ inertia @ jw
        h += MASS[k] * jc.T @ (ac + np.array([0, 0, G])) + jw.T @ (inertia @ dw + np.cross(w, inertia @ w))
        to_next = frame @ OFFSET[k]
        acceleration = acceleration + np.cross(dw, to_next) + np.cross(w, np.cross(w, to_next))
        joint = joint + to_next
    return mass, h


def rise(z: float) -> float:
    z = min(max(z, 0.0), 1.0)
    return z**3 * (10 - 15 * z + 6 * z**2)


def reference(t: float) -> Array:
    """The trajectory of the example."""
    return QA + (QB - QA) * rise((t - 0.1) / 0.9) + (QC - QB) * rise((t - 1.2) / 1.2)


def unseen(t: float) -> Array:
    """The trajectory that is never used for a search."""
    d, e = np.array([-1.5, 0.6, -0.3, 2, 0.9, -2]), np.array([0.5, -0.4, 0.8, -1.2, -0.8, 2.5])
    moves = QA + (d - QA) * rise((t - 0.05) / 0.8) + (e - d) * rise((t - 0.95) / 0.9)
    return np.asarray(moves + 0.02 * np.sin(6 * np.pi * t) * rise(t / 0.2))


def rhs(x: Array, qr: Array) -> Array:
    """f for the states in the order of STATES, axis after axis, and references qr."""
    q, qd, phi, om, i, u, x_i, i_f, v1, v2, x_v, r1, r2 = x.reshape(6, 13).T
    mass, h = mechanics(q, qd)
    tg = CG * (phi - q) + DG * (om - qd)
    ev = KP * (r1 - phi) * N + 0.9 * r2 * N - v2
    ist = KPV * ev + x_v
    us = KPC * (ist - i_f) + x_i
    rows = (
        qd,
        np.linalg.solve(mass, tg - h),
        om,
        (N * KT * i - tg - FC * np.tanh(om / W0) - FV * om) / JM,
        (u - RA * i - KT * N * om) / LA,
        (us - u) / TAMP,
        KIC * (ist - i_f),
        (i - i_f) / TIF,
        (N * om - v1) / T1,
        (v1 - v2) / T2,
        KPV / TN * ev,
        r2,
        WR**2 * (qr - r1) - 2 * ZR * WR * r2,
    )
    return np.stack(rows, axis=1).ravel()


def start() -> Array:
    """At rest in QA."""
    zero = np.zeros(6)
    h = mechanics(QA, zero)[1]
    phi, i = QA + h / CG, h / (N * KT)
    x_v = i - KPV * KP * (QA - phi) * N
    rows = (QA, zero, phi, zero, i, RA * i, RA * i, i, zero, zero, x_v, QA, zero)
    return np.stack(rows, axis=1).ravel()
