"""Oregonator: the Belousov-Zhabotinskii reaction, a chemical oscillator with a limit cycle over five decades.

    y1' = s (y2 - y1 y2 + y1 - q y1^2),   y2' = (y3 - y2 - y1 y2) / s,   y3' = w (y1 - y3)
    s = 77.27, q = 8.375e-6, w = 0.161;   y(0) = (1, 2, 3)

y1: HBrO2, y2: Br-, y3: Ce(IV), all scaled.

Source: R. J. Field and R. M. Noyes, Oscillations in chemical systems IV, J. Chem. Phys. 60 (1974) 1877-1884;
Hairer & Wanner, Solving ODEs II, sec. IV.10.
Reference: the test set's; an own quadruple-precision run (Radau IIA of order 13) agrees to 12.8 digits.
"""

from pathlib import Path
from typing import Any

import numpy as np

from . import Array, Problem

S, Q, W = 77.27, 8.375e-6, 0.161


def equations(t: Any, x: Any, m: Any) -> list[Any]:
    y1, y2, y3 = x[0], x[1], x[2]
    return [S * (y2 - y1 * y2 + y1 - Q * y1 * y1), (y3 - y2 - y1 * y2) / S, W * (y1 - y3)]


def jacobian(t: float, x: Array) -> Array:
    y1, y2, _ = x
    return np.array(
        [
            [S * (1.0 - y2 - 2.0 * Q * y1), S * (1.0 - y1), 0.0],
            [-y2 / S, -(1.0 + y1) / S, 1.0 / S],
            [W, 0.0, -W],
        ]
    )


PROBLEM = Problem(
    name="orego",
    title="Oregonator",
    source="Mazzia & Magherini, Test Set for IVP Solvers, release 2.4 (2008), OREGO; Field & Noyes 1974",
    t0=0.0,
    t_end=360.0,
    x0=np.array([1.0, 2.0, 3.0]),
    equations=equations,
    jacobian=jacobian,
    reference=np.array([1.000814870318523, 1228.178521549917, 132.0554942846706]),
    reference_digits=12.8,
    atol_scale=np.array([1.0, 1.0, 1.0]),
    names=("HBrO2", "Br", "Ce"),
    c_file=Path(__file__).with_suffix(".c"),
)
