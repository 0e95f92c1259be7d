"""Transistor amplifier with two stages: an index-1 DAE whose mass matrix has no zero row.

Kirchhoff's current law at the nodes 1 .. 8, g(U) = beta (exp(U / Uf) - 1), input Ue(t) = 0.1 sin(200 pi t):

    C1 (U2' - U1') = (U1 - Ue) / R0
    C1 (U1' - U2') = U2 (1/R1 + 1/R2) - Ub/R2 + (1 - alpha) g(U2 - U3)
    -C2 U3'        = U3/R3 - g(U2 - U3)
    C3 (U5' - U4') = (U4 - Ub)/R4 + alpha g(U2 - U3)
    C3 (U4' - U5') = U5 (1/R5 + 1/R6) - Ub/R6 + (1 - alpha) g(U5 - U6)
    -C4 U6'        = U6/R7 - g(U5 - U6)
    C5 (U8' - U7') = (U7 - Ub)/R8 + alpha g(U5 - U6)
    C5 (U7' - U8') = U8/R9

Each pair coupled by C1, C3 or C5 has one algebraic equation, the sum of its two rows. A pl_model wants it as
an empty row of its mass matrix, so the C twin has the sum in place of the second row of each pair (ROW_SUMS).

Source: P. Rentrop, M. Roche and G. Steinebach, The application of Rosenbrock-Wanner type methods with
stepsize control in differential-algebraic equations, Numer. Math. 55 (1989) 545-563; E. Hairer and
G. Wanner, Solving ODEs II, sec. VI.1.
Reference: the test set's; an own quadruple-precision run (Radau IIA of order 13) agrees to 12.7 digits.
"""

from math import pi
from pathlib import Path
from typing import Any

import numpy as np

from . import Array, Problem

UB, UF, ALPHA, BETA = 6.0, 0.026, 0.99, 1e-6
R0, R = 1000.0, 9000.0  # R1 .. R9 are all R
C1, C2, C3, C4, C5 = 1e-6, 2e-6, 3e-6, 4e-6, 5e-6

MASS = np.zeros((8, 8))
ROW_SUMS = np.eye(8)
for _first, _c in ((0, C1), (3, C3), (6, C5)):
    MASS[_first : _first + 2, _first : _first + 2] = [[-_c, _c], [_c, -_c]]
    ROW_SUMS[_first + 1, _first] = 1.0
MASS[2, 2], MASS[5, 5] = -C2, -C4


def equations(t: Any, x: Any, m: Any) -> list[Any]:
    u1, u2, u3, u4, u5, u6, u7, u8 = (x[i] for i in range(8))
    ue = 0.1 * m.sin(200.0 * pi * t)
    g23 = BETA * (m.exp((u2 - u3) / UF) - 1.0)
    g56 = BETA * (m.exp((u5 - u6) / UF) - 1.0)
    return [
        (u1 - ue) / R0,
        (2.0 * u2 - UB) / R + (1.0 - ALPHA) * g23,
        u3 / R - g23,
        (u4 - UB) / R + ALPHA * g23,
        (2.0 * u5 - UB) / R + (1.0 - ALPHA) * g56,
        u6 / R - g56,
        (u7 - UB) / R + ALPHA * g56,
        u8 / R,
    ]


def jacobian(t: float, x: Array) -> Array:
    j = np.diag([1.0 / R0, 2.0 / R, 1.0 / R, 1.0 / R, 2.0 / R, 1.0 / R, 1.0 / R, 1.0 / R])
    for base in (1, 4):  # U2, U3, U4 and U5, U6, U7
        slope = BETA / UF * np.exp((x[base] - x[base + 1]) / UF)
        j[base : base + 3, base : base + 2] += slope * np.outer([1.0 - ALPHA, -1.0, ALPHA], [1.0, -1.0])
    return j


PROBLEM = Problem(
    name="transamp",
    title="two-transistor amplifier",
    source="Mazzia & Magherini, Test Set for IVP Solvers, release 2.4 (2008), TRANSAMP; Rentrop et al. 1989",
    t0=0.0,
    t_end=0.2,
    x0=np.array([0.0, UB / 2, UB / 2, UB, UB / 2, UB / 2, UB, 0.0]),
    equations=equations,
    jacobian=jacobian,
    mass=MASS,
    reference=np.array(
        [
            -0.005562145012262709,
            3.006522471903042,
            2.849958788608128,
            2.926422536206241,
            2.704617865010554,
            2.761837778393145,
            4.770927631616772,
            1.236995868091548,
        ]
    ),
    reference_digits=12.7,
    atol_scale=np.array([0.01, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]),
    names=tuple(f"U{i}" for i in range(1, 9)),
    c_file=Path(__file__).with_suffix(".c"),
    twin_rows=ROW_SUMS,
)
