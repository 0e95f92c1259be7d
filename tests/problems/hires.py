"""HIRES, "high irradiance response": how light controls the growth of a plant (photomorphogenesis).

    Pr'     = -1.71 Pr + 0.43 Pfr + 8.32 PrX + 0.0007
    Pfr'    =  1.71 Pr - 8.75 Pfr
    PrX'    = -10.03 PrX + 0.43 PfrX + 0.035 PrX2
    PfrX'   =  8.32 Pfr + 1.71 PrX - 1.12 PfrX
    PrX2'   = -1.745 PrX2 + 0.43 PfrX2 + 0.43 PfrX2E
    PfrX2'  = -r + 0.69 PfrX + 1.71 PrX2 - 0.43 PfrX2 + 0.69 PfrX2E      r = 280 PfrX2 E
    PfrX2E' =  r - 1.81 PfrX2E
    E'      = -r + 1.81 PfrX2E

Phytochrome in its red (Pr) and far-red (Pfr) absorbing form: free, bound to the receptors X and X' (here X2),
and the latter's complex with the enzyme E. PfrX2E + E = 0.0057 for all times.

Source: E. Schäfer, A new approach to explain the "high irradiance responses" of photomorphogenesis on the
basis of phytochrome, J. Math. Biology 2 (1975) 41-56; E. Hairer and G. Wanner, Solving ODEs II, sec. IV.10.
Reference: the test set's; an own quadruple-precision run (Radau IIA of order 13) agrees to 12.7 digits.
"""

from pathlib import Path
from typing import Any

import numpy as np

from . import Array, Problem


def equations(t: Any, x: Any, m: Any) -> list[Any]:
    pr, pfr, prx, pfrx, prx2, pfrx2, pfrx2e, e = (x[i] for i in range(8))
    r = 280.0 * pfrx2 * e
    return [
        -1.71 * pr + 0.43 * pfr + 8.32 * prx + 0.0007,
        1.71 * pr - 8.75 * pfr,
        -10.03 * prx + 0.43 * pfrx + 0.035 * prx2,
        8.32 * pfr + 1.71 * prx - 1.12 * pfrx,
        -1.745 * prx2 + 0.43 * pfrx2 + 0.43 * pfrx2e,
        -r + 0.69 * pfrx + 1.71 * prx2 - 0.43 * pfrx2 + 0.69 * pfrx2e,
        r - 1.81 * pfrx2e,
        -r + 1.81 * pfrx2e,
    ]


def jacobian(t: float, x: Array) -> Array:
    a, b = 280.0 * x[7], 280.0 * x[5]  # dr/dPfrX2, dr/dE
    return np.array(
        [
            [-1.71, 0.43, 8.32, 0, 0, 0, 0, 0],
            [1.71, -8.75, 0, 0, 0, 0, 0, 0],
            [0, 0, -10.03, 0.43, 0.035, 0, 0, 0],
            [0, 8.32, 1.71, -1.12, 0, 0, 0, 0],
            [0, 0, 0, 0, -1.745, 0.43, 0.43, 0],
            [0, 0, 0, 0.69, 1.71, -a - 0.43, 0.69, -b],
            [0, 0, 0, 0, 0, a, -1.81, b],
            [0, 0, 0, 0, 0, -a, 1.81, -b],
        ]
    )


PROBLEM = Problem(
    name="hires",
    title="high irradiance response of a plant",
    source="Mazzia & Magherini, Test Set for IVP Solvers, release 2.4 (2008), HIRES; Schäfer 1975",
    t0=0.0,
    t_end=321.8122,
    x0=np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0057]),
    equations=equations,
    jacobian=jacobian,
    reference=np.array(
        [
            0.0007371312573325668,
            0.0001442485726316185,
            5.888729740967575e-05,
            0.001175651343283149,
            0.002386356198831331,
            0.006238968252742796,
            0.002849998395185769,
            0.002850001604814231,
        ]
    ),
    reference_digits=12.7,
    atol_scale=np.array([1e-3, 1e-4, 1e-4, 1e-3, 1e-3, 1e-2, 1e-3, 1e-3]),
    names=("Pr", "Pfr", "PrX", "PfrX", "PrX2", "PfrX2", "PfrX2E", "E"),
    c_file=Path(__file__).with_suffix(".c"),
)
