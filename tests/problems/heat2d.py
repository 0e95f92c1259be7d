"""Heat conduction in the unit square on m x m inner points, zero on the boundary, with a heat source.

    u' = L u + s(t) phi_11,   s = a' - lambda_11 a,   a = 1 + sin(2 pi t)/2
    L: the five-point Laplacian with h = 1/(m+1)

The grid functions phi_kl[i, j] = sin(k pi i h) sin(l pi j h) are eigenvectors of L, with eigenvalues
lambda_kl = -4/h^2 (sin^2(k pi h/2) + sin^2(l pi h/2)), so the semi-discrete system itself has the solution

    u(t) = a(t) phi_11 + exp(lambda_23 t) phi_23

The unknown of point (i, j), i, j = 1 .. m, has the number (j-1) m + (i-1). The eigenvalues reach from -2 pi^2
to about -8 (m+1)^2. The C twin takes m from the macro HEAT_M.

Source: the method of lines on the heat equation, any textbook; reference: the closed solution.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import cos, exp, pi, sin
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from . import Array

_C_FILE = Path(__file__).with_suffix(".c")


@dataclass(frozen=True, eq=False)
class Heat2d:
    """Like Problem (same names), with sparse Jacobian and pattern, and without symbolic equations."""

    m: int
    name: str = "heat2d"
    title: str = "heat conduction in a square"
    source: str = "method of lines, closed solution; see heat2d.py"
    t0: float = 0.0
    t_end: float = 1.0
    reference_digits: float = 13.0
    mass: None = None
    stiff: bool = True
    c_file: Path = _C_FILE
    laplacian: Any = field(init=False, repr=False)  # scipy.sparse.csc_array
    first: Array = field(init=False, repr=False)  # phi_11
    second: Array = field(init=False, repr=False)  # phi_23

    def __post_init__(self) -> None:
        m, angle = self.m, pi * np.arange(1, self.m + 1) / (self.m + 1)
        line = sparse.diags_array([1.0, -2.0, 1.0], offsets=[-1, 0, 1], shape=(m, m)) * (m + 1.0) ** 2
        one = sparse.eye_array(m)
        laplacian = sparse.csc_array(sparse.kron(one, line) + sparse.kron(line, one))
        laplacian.sort_indices()
        object.__setattr__(self, "laplacian", laplacian)
        object.__setattr__(self, "first", np.outer(np.sin(angle), np.sin(angle)).ravel())
        object.__setattr__(self, "second", np.outer(np.sin(3 * angle), np.sin(2 * angle)).ravel())

    @property
    def n(self) -> int:
        return self.m * self.m

    @property
    def names(self) -> Sequence[str]:
        return [f"u[{i},{j}]" for j in range(1, self.m + 1) for i in range(1, self.m + 1)]

    @property
    def x0(self) -> Array:
        return self.exact(self.t0)

    @property
    def reference(self) -> Array:
        return self.exact(self.t_end)

    @property
    def atol_scale(self) -> Array:
        return np.ones(self.n)

    def eigenvalue(self, k: int, l: int) -> float:  # noqa: E741
        h = 1.0 / (self.m + 1)
        return -4.0 / h**2 * (sin(0.5 * k * pi * h) ** 2 + sin(0.5 * l * pi * h) ** 2)

    def exact(self, t: float) -> Array:
        amplitude = 1.0 + 0.5 * sin(2.0 * pi * t)
        return np.asarray(amplitude * self.first + exp(self.eigenvalue(2, 3) * t) * self.second)

    def f(self, t: float, x: Array) -> Array:
        strength = pi * cos(2.0 * pi * t) - self.eigenvalue(1, 1) * (1.0 + 0.5 * sin(2.0 * pi * t))
        return np.asarray(self.laplacian @ x + strength * self.first)

    def jacobian(self, t: float, x: Array) -> Any:
        """The constant Laplacian, a scipy.sparse.csc_array with sorted rows."""
        return self.laplacian

    def pattern(self) -> Any:
        """Boolean csc_array."""
        return self.laplacian.astype(bool)


def make(m: int) -> Heat2d:
    return Heat2d(m)
