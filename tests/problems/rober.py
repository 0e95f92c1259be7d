"""Robertson's autocatalytic reaction, over twelve decades of time.

    A -> B (0.04),   B + B -> C + B (3e7),   B + C -> A + C (1e4)

    A' = -0.04 A + 1e4 B C,   B' = 0.04 A - 1e4 B C - 3e7 B^2,   C' = 3e7 B^2;   (A, B, C)(0) = (1, 0, 0)

A + B + C = 1. A method that lets B become negative blows up.

Source: H. H. Robertson, The solution of a set of reaction rate equations, in: J. Walsh (ed.), Numerical
Analysis, an Introduction, Academic Press 1966, 178-182.
Reference: the test set's; an own quadruple-precision run (Radau IIA of order 13) agrees to 13.7 digits.
"""

from pathlib import Path
from typing import Any

import numpy as np

from . import Array, Problem


def equations(t: Any, x: Any, m: Any) -> list[Any]:
    first, second, third = 0.04 * x[0], 3e7 * x[1] * x[1], 1e4 * x[1] * x[2]
    return [third - first, first - third - second, second]


def jacobian(t: float, x: Array) -> Array:
    _, b, c = x
    return np.array(
        [
            [-0.04, 1e4 * c, 1e4 * b],
            [0.04, -1e4 * c - 6e7 * b, -1e4 * b],
            [0.0, 6e7 * b, 0.0],
        ]
    )


PROBLEM = Problem(
    name="rober",
    title="Robertson's reaction",
    source="Mazzia & Magherini, Test Set for IVP Solvers, release 2.4 (2008), ROBER; Robertson 1966",
    t0=0.0,
    t_end=1e11,
    x0=np.array([1.0, 0.0, 0.0]),
    equations=equations,
    jacobian=jacobian,
    reference=np.array([2.083340149701255e-08, 8.333360770334713e-14, 0.999999979166505]),
    reference_digits=13.7,
    atol_scale=np.array([1e-8, 1e-13, 1.0]),
    names=("A", "B", "C"),
    c_file=Path(__file__).with_suffix(".c"),
)
