"""Algebraic unknowns between steps: random systems of index 1 whose unknowns follow known functions of time.

    x' = slow or linear,    M (y - s(t)) + c (y^3 - s(t)^3) + d (x - x_exact(t)) = 0,     so y = s(t),

as a Python function with a singular mass matrix or as Modelica text in dae form; very stiff followers as a relative.
The error is taken at 1001 points, most of them between steps; crossings of a level by the first y must be found in
number and place.

The limits: at the same tolerances IDA makes 0.4 to 28 on 13 of these cases (28 where the Jacobian of an algebraic
equation changes 80-fold along the solution, seed 144). Of seven with stiff followers, CVODE gives up on two (seeds 66,
287) and makes 3 to 20 on the others, SciPy's Radau more than 700 on six, between steps; SciPy's BDF 0.2 to 1.6. These
get more room.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

import pliant
from families import RIGHT, WRONG, Family, Outcome

LIMIT = 30.0  # tolerances
LIMIT_STIFF = 50.0
STOP = 10.0


@dataclass(frozen=True)
class Case:
    """s_j(t) = sum_k a_jk sin(w_jk t + p_jk) + b_j; x' = rate x + 1, x(0) = 0."""

    a: np.ndarray
    w: np.ndarray
    p: np.ndarray
    b: np.ndarray
    matrix: np.ndarray
    cubic: np.ndarray
    coupling: np.ndarray
    rate: float
    level: float
    method: str
    way: str
    rtol: float
    fast: float

    def s(self, t: np.ndarray | float) -> np.ndarray:
        """The solution y, one row for each unknown."""
        t = np.asarray(t, float)
        wave = np.sin(np.multiply.outer(self.w, t) + self.p.reshape(self.p.shape + (1,) * t.ndim))
        return np.einsum("jk,jk...->j...", self.a, wave) + self.b.reshape((-1,) + (1,) * t.ndim)

    def slope(self, t: np.ndarray) -> np.ndarray:
        """y'."""
        wave = np.cos(np.multiply.outer(self.w, t) + self.p[..., None])
        return np.einsum("jk,jk...->j...", self.a * self.w, wave)

    def x(self, t: np.ndarray | float) -> np.ndarray | float:
        """The differential state."""
        return np.expm1(self.rate * t) / self.rate if self.rate else t


def make(seed: int) -> Case:
    """A case."""
    r = np.random.default_rng(seed)
    way = str(r.choice(["function", "dae", "stiff"], p=(0.5, 0.35, 0.15)))
    n, waves = int(r.integers(2 if way == "dae" else 1, 5)), int(r.integers(1, 3))
    a = r.uniform(0.3, 1.0, (n, waves)) * 10 ** r.uniform(-2, 2, (n, 1))
    size = a.sum(axis=1)
    w = 10 ** r.uniform(-0.5, 1.3, (n, waves))
    b = size * r.choice([0.0, 0.5], n)
    return Case(
        a=a,
        w=w,
        p=r.uniform(0, 2 * np.pi, (n, waves)),
        b=b,
        matrix=(np.eye(n) + 0.3 * r.uniform(-1, 1, (n, n)) / n) * np.outer(r.choice([1.0, 1e3, 1e-3], n), 1 / size),
        cubic=r.choice([0.0, 0.2], n) / size**3,
        coupling=r.choice([0.0, 0.1], n),
        rate=float(r.choice([0.0, -0.5])),
        level=float(b[0] + size[0] * r.uniform(-0.4, 0.4)),
        method=str(r.choice(["radau5", "radau5", "bdf", "auto"])),
        way=way,
        rtol=10 ** r.uniform(-9, -3) if way != "stiff" else 10 ** r.uniform(-7, -3),
        fast=10 ** r.uniform(9, 11),
    )


def function_model(case: Case) -> pliant.Model:
    """Through a Python function."""
    n = len(case.b)
    rows = np.abs(case.matrix).max(axis=1)
    cubic = case.cubic * rows

    def f(t: float, x: np.ndarray) -> list[float]:
        s = case.s(t)
        y = x[1:]
        residual = case.matrix @ (y - s) + cubic * (y**3 - s**3) + rows * case.coupling * (x[0] - case.x(t))
        if case.way == "stiff":
            residual = -case.fast * np.linalg.solve(case.matrix, residual)
        return [case.rate * x[0] + 1.0, *residual]

    root = pliant.Root(lambda t, x: x[1] - case.level)
    mass = None if case.way == "stiff" else [1.0] + [0.0] * n
    names = ["x", *(f"y{j}" for j in range(n))]
    nominal = [1.0, *case.a.sum(axis=1)]
    return pliant.ode(f, [0.0, *case.s(0.0)], mass=mass, roots=root, names=names, nominal=nominal)


def modelica(case: Case) -> pliant.Model:
    """The same equations as text; in dae form the unknowns of their loop are part of x."""
    n = len(case.b)
    rows = np.abs(case.matrix).max(axis=1)
    lines = [f"der(x) = {case.rate!r}*x + 1;", f"up = y0 > {case.level!r};"]
    lines.append("xe = time;" if case.rate == 0 else f"xe = (exp({case.rate!r}*time)-1)/({case.rate!r});")
    for i in range(n):
        waves = " + ".join(
            f"{float(a)!r}*sin({float(w)!r}*time+{float(p)!r})"
            for a, w, p in zip(case.a[i], case.w[i], case.p[i], strict=True)
        )
        lines.append(f"s{i} = {waves} + {float(case.b[i])!r};")
        linear = " + ".join(f"({float(case.matrix[i, j])!r})*(y{j}-s{j})" for j in range(n))
        c, d = float(case.cubic[i] * rows[i]), float(case.coupling[i] * rows[i])
        lines.append(f"0 = {linear} + {c!r}*(y{i}^3-s{i}^3) + {d!r}*(x-xe);")
    names = "".join(
        f" Real y{j}(start={float(case.s(0.0)[j])!r}, nominal={float(case.a[j].sum())!r}); Real s{j};" for j in range(n)
    )
    text = "model M\n Real x(start=0, fixed=true); Real xe; Boolean up;\n" + names
    return pliant.load(text + "\nequation\n " + "\n ".join(lines) + "\nend M;\n", options={"form": "dae"})


def crossings(case: Case) -> np.ndarray:
    """Where the first unknown meets the level, without those that only touch it."""

    def height(t: float) -> float:
        return float(case.s(t)[0] - case.level)

    grid = np.linspace(0, STOP, 20001)
    sign = np.sign(case.s(grid)[0] - case.level)
    return np.array(
        [brentq(height, grid[k], grid[k + 1], xtol=1e-14) for k in np.flatnonzero(sign[1:] * sign[:-1] < 0)]
    )


def check(seed: int) -> Outcome:
    """Make, run, compare."""
    case = make(seed)
    n = len(case.b)
    model = modelica(case) if case.way == "dae" else function_model(case)
    names = ["x", *(f"y{j}" for j in range(n))]
    result = model.simulate(stop=STOP, method=case.method, rtol=case.rtol, points=1001)
    exact = np.vstack([np.atleast_2d(case.x(result.time)), case.s(result.time)])
    found = np.array([result[name] for name in names])
    tolerance = case.rtol * np.abs(exact).max(axis=1)
    error = float((np.abs(found - exact) / tolerance[:, None]).max())
    what = f"{case.method} {case.way} rtol {case.rtol:.1e}, {n} unknowns, error {error:.3g} tolerances"
    expected = crossings(case)
    times = np.array([event.time for event in result.events if event.time > 0])
    if len(times) != len(expected):
        return Outcome(seed, WRONG, f"{what}; {len(times)} crossings, exact {len(expected)}", error)
    if len(times):
        shift = np.abs(times - expected) * np.abs(case.slope(expected)[0]) / tolerance[1]
        error = max(error, float(shift.max()))
        what += f", crossings moved by {shift.max():.3g}"
    limit = LIMIT_STIFF if case.way == "stiff" else LIMIT
    return Outcome(seed, RIGHT if error <= limit else WRONG, what, error)


FAMILY = Family(
    name="algebraic",
    what="algebraic unknowns between steps",
    goal=f"<= {LIMIT:g} tolerances (stiff followers {LIMIT_STIFF:g}) at 1001 points, every crossing",
    count=300,
    part=4,
    check=check,
)
