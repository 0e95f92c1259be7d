"""Van der Pol oscillator in Liénard's form with mu = 1e6, from a thesis on Jacobian increments.

    y1' = mu (y1 - y1^3/3 - y2),   y2' = y1 / mu,   y1(0) = 2, y2(0) = -2/3,   t to 2 mu

Two jumps, each within about 1/mu, in a run of 2 mu: the ratio of the time scales is mu^2 = 1e12. mu is a
parameter of the C twin.

Source: T. Renström, On the selection of increments in Jacobian approximations for numerical solvers of
ordinary differential equations, master's thesis 2024:E8, Lund University, listing 1.
Reference: computed in quadruple precision (Radau IIA of order 13, local error of order 9 below 1e-18;
with 1e-16 the end values change by less than 1e-18).
"""

from pathlib import Path
from typing import Any

import numpy as np

from . import Array, Problem

MU = 1e6


def equations(t: Any, x: Any, m: Any) -> list[Any]:
    return [MU * (x[0] - x[0] * x[0] * x[0] / 3.0 - x[1]), x[0] / MU]


def jacobian(t: float, x: Array) -> Array:
    return np.array([[MU * (1.0 - x[0] ** 2), -MU], [1.0 / MU, 0.0]])


PROBLEM = Problem(
    name="vdpol_stiff",
    title="Van der Pol in Liénard's form, mu = 1e6",
    source="Renström 2024, listing 1; reference computed in quadruple precision",
    t0=0.0,
    t_end=2e6,
    x0=np.array([2.0, -2.0 / 3.0]),
    equations=equations,
    jacobian=jacobian,
    reference=np.array([1.70554621753537832, 0.0517986324249522088]),
    reference_digits=15.0,
    atol_scale=np.array([1.0, 1.0]),
    names=("y1", "y2"),
    c_file=Path(__file__).with_suffix(".c"),
)
