"""The test problems: equations, exact Jacobian, published end values, and a C twin of each.

A module per problem, named like it, defines PROBLEM. Beside them: `exact` (small problems with a closed
solution, for order and event tests) and `heat2d` (any size, sparse).

    from problems import all_problems, problem
    hires = problem("hires")
    hires.f(0.0, hires.x0), hires.jacobian(0.0, hires.x0), hires.scd(x_end)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_MODULES = (
    "hires",
    "pollution",
    "ringmod",
    "beam",
    "pleiades",
    "transamp",
    "vdpol_mu1000",
    "orego",
    "rober",
    "chemakzo",
    "vdpol_eps",
    "vdpol_mild",
    "vdpol_stiff",
)


@dataclass(frozen=True, eq=False, kw_only=True)
class Problem:
    """mass x' = f(t, x) from x0 at t0 to t_end, with what is known about its solution."""

    name: str
    title: str
    source: str  # literature: where equations and reference come from
    t0: float
    t_end: float
    x0: Array
    # (t, x, m) -> right-hand sides; m has exp, sin, ...: the module math, cmath, numpy or casadi
    equations: Callable[[Any, Any, Any], list[Any]]
    jacobian: Callable[[float, Array], Array]  # df/dx, exact, dense
    reference: Array  # x(t_end)
    reference_digits: float  # as many digits of the reference hold (scd)
    atol_scale: Array  # typical magnitude of each unknown: atol = rtol * atol_scale
    names: Sequence[str]
    mass: Array | None = None  # None: identity
    stiff: bool = True
    c_file: Path | None = None  # defines the same as a pl_model
    # T with f_twin = T f and L_twin = T mass, where the twin combines rows to fit pl_model; None: identity
    twin_rows: Array | None = None

    @property
    def n(self) -> int:
        return len(self.x0)

    def f(self, t: float, x: Array) -> Array:
        """Right-hand side; NaN where it is not defined or overflows."""
        try:
            return np.array(self.equations(t, x.tolist(), math), dtype=float)
        except (ArithmeticError, ValueError):
            return np.full(self.n, math.nan)

    def points(self, count: int, seed: int = 1) -> list[Array]:
        """Generic points in the range of the solution, between start, end and typical magnitude."""
        rng = np.random.default_rng(seed)
        ends = np.stack([self.x0, self.reference])
        spread = 0.1 * self.atol_scale
        return [
            w * ends[0] + (1.0 - w) * ends[1] + spread * rng.uniform(0.1, 1.0, self.n)
            for w in rng.uniform(0.0, 1.0, count)
        ]

    def pattern(self) -> NDArray[np.bool_]:
        """Structural non-zeros of the Jacobian: whatever is non-zero at some generic point."""
        found = np.zeros((self.n, self.n), dtype=bool)
        for x in self.points(3):
            found |= self.jacobian(self.t0 + 0.3 * (self.t_end - self.t0), x) != 0.0
        return found

    def scd(self, x: Array) -> float:
        """Significant correct digits of x as x(t_end): -log10 of the largest relative error."""
        error = float(np.max(np.abs((x - self.reference) / self.reference)))
        return -math.log10(error) if error > 0.0 else math.inf


@cache
def all_problems() -> tuple[Problem, ...]:
    """The problems with a reference from the literature or from high precision, in a fixed order."""
    return tuple(import_module(f".{module}", __name__).PROBLEM for module in _MODULES)


def problem(name: str) -> Problem:
    """The problem of that name (or of that module), those of `exact` included."""
    exact: Sequence[Problem] = import_module(".exact", __name__).all_exact()
    for candidate in (*all_problems(), *exact):
        if name == candidate.name or (candidate.c_file and name == candidate.c_file.stem):
            return candidate
    raise KeyError(f"no test problem {name!r}; there are {[p.name for p in (*all_problems(), *exact)]}")
