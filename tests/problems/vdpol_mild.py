"""Van der Pol oscillator with mu = 1: not stiff, three periods.

    y' = z,   z' = (1 - y^2) z - y,   y(0) = 2, z(0) = 0

Source: B. van der Pol, On relaxation oscillations, Phil. Mag. 2 (1926) 978-992.
Reference: computed in quadruple precision (Radau IIA of order 13, local error of order 9 below 1e-18).
"""

from pathlib import Path
from typing import Any

import numpy as np

from . import Array, Problem


def equations(t: Any, x: Any, m: Any) -> list[Any]:
    return [x[1], (1.0 - x[0] * x[0]) * x[1] - x[0]]


def jacobian(t: float, x: Array) -> Array:
    return np.array([[0.0, 1.0], [-2.0 * x[0] * x[1] - 1.0, 1.0 - x[0] ** 2]])


PROBLEM = Problem(
    name="vdpol_mild",
    title="Van der Pol, mu = 1",
    source="van der Pol 1926; reference computed in quadruple precision",
    t0=0.0,
    t_end=20.0,
    x0=np.array([2.0, 0.0]),
    equations=equations,
    jacobian=jacobian,
    reference=np.array([2.00814976217494859, -0.0425088752732021470]),
    reference_digits=15.0,
    atol_scale=np.array([1.0, 1.0]),
    names=("y", "z"),
    stiff=False,
    c_file=Path(__file__).with_suffix(".c"),
)
