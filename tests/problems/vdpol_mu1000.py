"""Van der Pol oscillator with mu = 1000, in unscaled time.

    y' = z,   z' = mu (1 - y^2) z - y,   y(0) = 2, z(0) = 0

An electronic oscillator that creeps along y = 2 .. 1 and then falls over, within 1/mu, to the other side.

Source: B. van der Pol, On relaxation oscillations, Phil. Mag. 2 (1926) 978-992.
Reference: the test set's; an own quadruple-precision run (Radau IIA of order 13) agrees to 14.3 digits.
"""

from pathlib import Path
from typing import Any

import numpy as np

from . import Array, Problem

MU = 1000.0


def equations(t: Any, x: Any, m: Any) -> list[Any]:
    return [x[1], MU * (1.0 - x[0] * x[0]) * x[1] - x[0]]


def jacobian(t: float, x: Array) -> Array:
    return np.array([[0.0, 1.0], [-2.0 * MU * x[0] * x[1] - 1.0, MU * (1.0 - x[0] ** 2)]])


PROBLEM = Problem(
    name="vdpol_mu1000",
    title="Van der Pol, mu = 1000",
    source="Mazzia & Magherini, Test Set for IVP Solvers, release 2.4 (2008), Van der Pol",
    t0=0.0,
    t_end=2000.0,
    x0=np.array([2.0, 0.0]),
    equations=equations,
    jacobian=jacobian,
    reference=np.array([1.706167732170469, -0.0008928097010248125]),
    reference_digits=14.0,
    atol_scale=np.array([1.0, 1e-3]),
    names=("y", "z"),
    c_file=Path(__file__).with_suffix(".c"),
)
