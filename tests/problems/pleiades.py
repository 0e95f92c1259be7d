"""Pleiades: seven stars in the plane under their own gravity, with several close encounters. Not stiff.

    x_i'' = sum_{j != i} m_j (x_j - x_i) / r_ij^3,   y_i'' likewise
    r_ij^2 = (x_i - x_j)^2 + (y_i - y_j)^2,   m_j = j

Order of the unknowns: x1 .. x7, y1 .. y7, then the velocities u = x', v = y'.

Source: E. Hairer, S. P. Nørsett and G. Wanner, Solving ODEs I, sec. II.10.
Reference: the test set's; an own extrapolation run in extended precision agrees to 12.4 digits.
"""

from pathlib import Path
from typing import Any

import numpy as np

from . import Array, Problem

STARS = 7


def equations(t: Any, x: Any, m: Any) -> list[Any]:
    ax: list[Any] = [0.0] * STARS
    ay: list[Any] = [0.0] * STARS
    for i in range(STARS):
        for j in range(i):
            dx, dy = x[j] - x[i], x[STARS + j] - x[STARS + i]
            square = dx * dx + dy * dy
            cube = square * m.sqrt(square)
            ax[i] = ax[i] + (j + 1) * dx / cube
            ay[i] = ay[i] + (j + 1) * dy / cube
            ax[j] = ax[j] - (i + 1) * dx / cube
            ay[j] = ay[j] - (i + 1) * dy / cube
    return [x[i] for i in range(2 * STARS, 4 * STARS)] + ax + ay


def jacobian(t: float, x: Array) -> Array:
    s = STARS
    jac = np.zeros((4 * s, 4 * s))
    jac[: 2 * s, 2 * s :] = np.eye(2 * s)
    for i in range(s):
        for j in range(s):
            if i == j:
                continue
            dx, dy = x[j] - x[i], x[s + j] - x[s + i]
            r = np.hypot(dx, dy)
            xx = (j + 1) * (1.0 - 3.0 * (dx / r) ** 2) / r**3  # d x_i'' / d x_j
            yy = (j + 1) * (1.0 - 3.0 * (dy / r) ** 2) / r**3
            xy = -3.0 * (j + 1) * dx * dy / r**5
            for row, column, value in ((0, 0, xx), (0, s, xy), (s, 0, xy), (s, s, yy)):
                jac[2 * s + row + i, column + j] += value
                jac[2 * s + row + i, column + i] -= value
    return jac


# fmt: off
START = np.array([
    3.0, 3.0, -1.0, -3.0, 2.0, -2.0, 2.0,
    3.0, -3.0, 2.0, 0.0, 0.0, -4.0, 4.0,
    0.0, 0.0, 0.0, 0.0, 0.0, 1.75, -1.5,
    0.0, 0.0, 0.0, -1.25, 1.0, 0.0, 0.0,
])
REFERENCE = np.array([
    0.3706139143970502, 3.237284092057233, -3.222559032418324, 0.659709145577531,
    0.3425581707156584, 1.562172101400631, -0.7003092922212495, -3.943437585517392,
    -3.27138097397255, 5.225081843456543, -2.59061243497747, 1.198213693392275,
    -0.2429682344935824, 1.09144924042898, 3.417003806314313, 1.354584501625501,
    -2.590065597810775, 2.025053734714242, -1.155815100160448, -0.8072988170223021,
    0.595239635420871, -3.74124496123401, 0.377345968575063, 0.9386858869551074,
    0.3667922227200571, -0.347404635380849, 2.344915448180937, -1.947020434263292,
])
# fmt: on

PROBLEM = Problem(
    name="pleiades",
    title="seven stars",
    source="Mazzia & Magherini, Test Set for IVP Solvers, release 2.4 (2008), Pleiades; Hairer et al. 1993",
    t0=0.0,
    t_end=3.0,
    x0=START,
    equations=equations,
    jacobian=jacobian,
    reference=REFERENCE,
    reference_digits=12.4,
    atol_scale=np.ones(4 * STARS),
    names=[f"{kind}{i}" for kind in "xyuv" for i in range(1, STARS + 1)],
    stiff=False,
    c_file=Path(__file__).with_suffix(".c"),
)
