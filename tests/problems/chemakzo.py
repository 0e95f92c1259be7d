"""Chemical Akzo Nobel: two species are mixed while carbon dioxide is added; an index-1 DAE.

    r1 = k1 y1^4 sqrt(y2),  r2 = k2 y3 y4,  r3 = k2/K y1 y5,  r4 = k3 y1 y4^2,  r5 = k4 y6^2 sqrt(y2)

    y1' = -2 r1 + r2 - r3 - r4                       k1 = 18.7, k2 = 0.58, k3 = 0.09, k4 = 0.42, K = 34.4
    y2' = -r1/2 - r4 - r5/2 + klA (p/H - y2)         klA = 3.3, p = 0.9, H = 737 (inflow of CO2)
    y3' =  r1 - r2 + r3
    y4' = -r2 + r3 - 2 r4
    y5' =  r2 - r3 + r5
    0   =  Ks y1 y4 - y6                             Ks = 115.83 (equilibrium)

y1: FLB, y2: CO2, y3: FLBT, y4: ZHU, y5: ZLA, y6: FLB.ZHU. Not defined for y2 < 0.

Source: W. J. H. Stortelder, Parameter estimation in nonlinear dynamical systems, thesis, Amsterdam 1998 (the
model is Akzo Nobel Central Research's).
Reference: the test set's; an own quadruple-precision run (Radau IIA of order 13) agrees to 15.7 digits.
"""

from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np

from . import Array, Problem

K1, K2, K3, K4, K = 18.7, 0.58, 0.09, 0.42, 34.4
KLA, KS, P, H = 3.3, 115.83, 0.9, 737.0


def equations(t: Any, x: Any, m: Any) -> list[Any]:
    y1, y2, y3, y4, y5, y6 = (x[i] for i in range(6))
    root = m.sqrt(y2)
    r1 = K1 * y1**4 * root
    r2 = K2 * y3 * y4
    r3 = K2 / K * y1 * y5
    r4 = K3 * y1 * y4**2
    r5 = K4 * y6**2 * root
    return [
        -2.0 * r1 + r2 - r3 - r4,
        -0.5 * r1 - r4 - 0.5 * r5 + KLA * (P / H - y2),
        r1 - r2 + r3,
        -r2 + r3 - 2.0 * r4,
        r2 - r3 + r5,
        KS * y1 * y4 - y6,
    ]


def jacobian(t: float, x: Array) -> Array:
    y1, y2, y3, y4, y5, y6 = x
    root = sqrt(y2)
    r11, r12 = 4.0 * K1 * y1**3 * root, 0.5 * K1 * y1**4 / root  # r11 = d r1 / d y1, ...
    r23, r24 = K2 * y4, K2 * y3
    r31, r35 = K2 / K * y5, K2 / K * y1
    r41, r44 = K3 * y4**2, 2.0 * K3 * y1 * y4
    r52, r56 = 0.5 * K4 * y6**2 / root, 2.0 * K4 * y6 * root
    return np.array(
        [
            [-2.0 * r11 - r31 - r41, -2.0 * r12, r23, r24 - r44, -r35, 0.0],
            [-0.5 * r11 - r41, -0.5 * r12 - 0.5 * r52 - KLA, 0.0, -r44, 0.0, -0.5 * r56],
            [r11 + r31, r12, -r23, -r24, r35, 0.0],
            [r31 - 2.0 * r41, 0.0, -r23, -r24 - 2.0 * r44, r35, 0.0],
            [-r31, r52, r23, r24, -r35, r56],
            [KS * y4, 0.0, 0.0, KS * y1, 0.0, -1.0],
        ]
    )


PROBLEM = Problem(
    name="chemakzo",
    title="Akzo Nobel's chemical process",
    source="Mazzia & Magherini, Test Set for IVP Solvers, release 2.4 (2008), CHEMAKZO; Stortelder 1998",
    t0=0.0,
    t_end=180.0,
    x0=np.array([0.444, 0.00123, 0.0, 0.007, 0.0, KS * 0.444 * 0.007]),
    equations=equations,
    jacobian=jacobian,
    mass=np.diag([1.0, 1.0, 1.0, 1.0, 1.0, 0.0]),
    reference=np.array(
        [
            0.1150794920661702,
            0.001203831471567715,
            0.1611562887407974,
            0.0003656156421249283,
            0.01708010885264404,
            0.004873531310307455,
        ]
    ),
    reference_digits=15.0,
    atol_scale=np.array([0.1, 1e-3, 0.1, 1e-3, 1e-2, 1e-2]),
    names=("FLB", "CO2", "FLBT", "ZHU", "ZLA", "FLB_ZHU"),
    c_file=Path(__file__).with_suffix(".c"),
)
