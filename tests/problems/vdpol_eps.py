"""Van der Pol oscillator in scaled time, eps = 1e-3.

    y' = z,   z' = ((1 - y^2) z - y) / eps,   y(0) = 2, z(0) = 0

Source: E. Hairer and G. Wanner, Solving ODEs II, sec. IV.1 and IV.10 (there with eps = 1e-6).
Reference: from the project's collection of end values (no publication known); an own quadruple-precision
run (Radau IIA of order 13) gives (1.76323454020344570, -0.835688681677677391), so 9.5 digits of it hold.
"""

from pathlib import Path
from typing import Any

import numpy as np

from . import Array, Problem

EPS = 1e-3


def equations(t: Any, x: Any, m: Any) -> list[Any]:
    return [x[1], ((1.0 - x[0] * x[0]) * x[1] - x[0]) / EPS]


def jacobian(t: float, x: Array) -> Array:
    return np.array([[0.0, 1.0], [(-2.0 * x[0] * x[1] - 1.0) / EPS, (1.0 - x[0] ** 2) / EPS]])


PROBLEM = Problem(
    name="vdpol_eps1e-3",
    title="Van der Pol in scaled time, eps = 1e-3",
    source="Hairer & Wanner, Solving ODEs II (1996), sec. IV.10, with another eps",
    t0=0.0,
    t_end=2.0,
    x0=np.array([2.0, 0.0]),
    equations=equations,
    jacobian=jacobian,
    reference=np.array([1.7632345401889102, -0.8356886819146621]),
    reference_digits=9.5,
    atol_scale=np.array([1.0, 1.0]),
    names=("y", "z"),
    c_file=Path(__file__).with_suffix(".c"),
)
