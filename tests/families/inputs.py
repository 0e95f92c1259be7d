"""Inputs with content that a step could pass over: random systems, random inputs, every error-controlled method.

The reference meets every breakpoint: between two of them the input is a polynomial, so a linear system is solved
exactly (exponential of the augmented matrix) and a nonlinear one by SciPy at 1e-12, piece by piece.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from scipy.linalg import expm

import pliant
from families import RIGHT, WRONG, Family, Outcome

Array = NDArray[np.float64]
N, N_U, DEGREE = 4, 2, 5
POINTS = 1001
LIMIT = 30.0

MODEL = f"""
model Driven
  parameter Real A[{N},{N}] = zeros({N},{N}), B[{N},{N_U}] = zeros({N},{N_U}), c[{N}] = zeros({N});
  input Real u[{N_U}];
  Real x[{N}](each start = 0, each fixed = true);
  Real v[{N}];
equation
  for i in 1:{N} loop
    v[i] = B[i,1]*u[1] + B[i,2]*u[2] - c[i]*x[i]^3;
    der(x[i]) = A[i,1]*x[1] + A[i,2]*x[2] + A[i,3]*x[3] + A[i,4]*x[4] + v[i];
  end for;
end Driven;
"""


@cache
def model(form: str) -> pliant.Model:
    return pliant.load(MODEL, options={"form": form})


@dataclass
class Piecewise:
    """u(t) = sum_k c[s, k] (t - start[s])^k; `given` is what pliant gets for it."""

    start: Array
    coefficient: Array  # (segments, DEGREE + 1)
    given: Any


@dataclass
class Case:
    """A system x' = A x + B u - c x^3 from rest, and how it is simulated."""

    a: Array
    b: Array
    c: Array
    inputs: list[Piecewise]
    stop: float
    method: str
    form: str
    rtol: float


def table(times: Sequence[float], values: Sequence[float], as_function: bool = False) -> Piecewise:
    """Linear between the points, constant outside; a repeated time is a jump."""
    t, v = np.array(times, dtype=float), np.array(values, dtype=float)
    keep = np.append(np.diff(t) > 0, True)
    slope = np.zeros(len(t))
    slope[:-1] = np.where(np.diff(t) > 0, np.diff(v) / np.where(np.diff(t) > 0, np.diff(t), 1.0), 0.0)
    coefficient = np.zeros((len(t), DEGREE + 1))
    coefficient[:, 0], coefficient[:, 1] = v, slope
    given: Any = (t, v)
    if as_function:
        given = lambda at: float(np.interp(at, t, v))  # noqa: E731
    return Piecewise(t[keep], coefficient[keep], given)


def bump(rng: np.random.Generator, begin: float, width: float, height: float) -> tuple[list[float], list[float]]:
    """Points of one bump: triangle, trapezoid or, as a table, an arch of many points."""
    kind = rng.integers(3)
    if kind == 0:
        top = begin + width * rng.uniform(0.1, 0.9)
        return [begin, top, begin + width], [0.0, height, 0.0]
    if kind == 1:
        rise = width * rng.uniform(0.05, 0.4)
        return [begin, begin + rise, begin + width - rise, begin + width], [0.0, height, height, 0.0]
    s = np.linspace(0.0, 1.0, int(rng.integers(8, 40)))
    return list(begin + width * s), list(height * np.sin(np.pi * s) ** 2)


def random_input(rng: np.random.Generator, stop: float) -> Piecewise:
    """Rest, then a few events; or dense content with a bump in it; as table, as Segments or as a function."""
    kind = rng.integers(5)
    height = float(rng.choice([-1, 1]) * 10 ** rng.uniform(-1, 2))
    if kind == 0:  # a jump and back
        begin = stop * rng.uniform(0.1, 0.8)
        end = min(begin + stop * 10 ** rng.uniform(-4, -1), 0.99 * stop)
        return table([0.0, begin, begin, end, end, stop], [0.0, 0.0, height, height, 0.0, 0.0])
    if kind == 1:  # a ramp
        begin = stop * rng.uniform(0.1, 0.8)
        end = min(begin + stop * 10 ** rng.uniform(-4, -1), 0.99 * stop)
        return table([0.0, begin, end, stop], [0.0, 0.0, height, height], as_function=bool(rng.integers(4) == 0))
    if kind == 2:  # bumps after rest
        times, values, at = [0.0], [0.0], stop * rng.uniform(0.1, 0.6)
        for _ in range(int(rng.integers(1, 4))):
            width = stop * 10 ** rng.uniform(-4, -1)
            if at + width > 0.98 * stop:
                break
            t, v = bump(rng, at, width, height * rng.uniform(0.5, 2.0))
            times, values = times + t, values + v
            at += width + stop * rng.uniform(0.01, 0.3)
        far = max(stop, times[-1] + 1e-3 * stop)
        return table([*times, far], [*values, 0.0], as_function=bool(rng.integers(4) == 0))
    if kind == 3:  # a dense table, smooth but for one bump
        t = np.linspace(0.0, stop, int(rng.choice([201, 2001, 20001])))
        v = height * np.sin(rng.uniform(1.0, 20.0) * t / stop) ** 2
        width = stop * 10 ** rng.uniform(-3.5, -1)
        begin = stop * rng.uniform(0.1, 0.8)
        v += 3.0 * height * np.clip(1.0 - np.abs(t - begin) / width, 0.0, None)
        return table(t, v)
    begin, width = stop * rng.uniform(0.1, 0.8), stop * 10 ** rng.uniform(-4, -1)
    start = np.array([0.0, begin, begin + width])
    coefficient = np.zeros((3, DEGREE + 1))
    coefficient[1, 2:5] = 16.0 * height * np.array([width**-2, -2 * width**-3, width**-4])  # 16 s^2 (1 - s)^2
    return Piecewise(start, coefficient, pliant.Segments(start, coefficient))


def random_case(seed: int) -> Case:
    rng = np.random.default_rng(seed)
    method = str(rng.choice(["bdf", "radau5", "auto", "dopri5"]))
    stop = float(10 ** rng.uniform(-1, 2))
    stiff = method != "dopri5" and rng.integers(2) == 0
    rates = 10 ** rng.uniform(-1, 4 if stiff else 1.5, N) / stop
    turn = np.linalg.qr(rng.normal(size=(N, N)))[0]
    swing = rng.normal(size=(N, N)) * rates.min()
    a = turn @ np.diag(-rates) @ turn.T + (swing - swing.T)
    if rng.integers(4) == 0:
        a = np.zeros((N, N))  # pure integrators
    b = rng.normal(size=(N, N_U)) * rates.max() ** rng.uniform(0, 1)
    b[:, int(rng.integers(N_U))] *= rng.integers(2)  # an input without effect
    c = rates.min() * 10.0 ** rng.uniform(-3, 0, N) if rng.integers(3) == 0 else np.zeros(N)
    inputs = [random_input(rng, stop) for _ in range(N_U)]
    form = str(rng.choice(["ode", "dae"])) if method != "dopri5" else "ode"
    return Case(a, b, c, inputs, stop, method, form, float(10 ** rng.uniform(-8, -3)))


def merged(case: Case) -> tuple[Array, Array]:
    """Breakpoints of all inputs, and their coefficients from each on: (segments, inputs, powers)."""
    start = np.unique(np.concatenate([[0.0], *(one.start for one in case.inputs)]))
    start = start[(start >= 0.0) & (start < case.stop)]
    out = np.zeros((len(start), N_U, DEGREE + 1))
    for j, one in enumerate(case.inputs):
        s = np.clip(np.searchsorted(one.start, start, side="right") - 1, 0, None)
        dt = np.maximum(start - one.start[s], 0.0)
        for k in range(DEGREE + 1):
            for m in range(k, DEGREE + 1):
                out[:, j, k] += _binomial(m, k) * one.coefficient[s, m] * dt ** (m - k)
    return start, out


def _binomial(m: int, k: int) -> float:
    out = 1.0
    for i in range(k):
        out = out * (m - i) / (i + 1)
    return out


def reference(case: Case) -> Array:
    """x at POINTS equidistant times."""
    start, coefficient = merged(case)
    times = np.linspace(0.0, case.stop, POINTS)
    out, x = np.zeros((POINTS, N)), np.zeros(N)
    piece = _nonlinear_piece if case.c.any() else _linear_piece
    for s, begin in enumerate(start):
        end = start[s + 1] if s + 1 < len(start) else case.stop
        inside = np.flatnonzero((times > begin) & (times <= end))
        found = piece(case, x, coefficient[s], np.append(times[inside] - begin, end - begin))
        out[inside], x = found[:-1], found[-1]
    return out


def _linear_piece(case: Case, x: Array, u: Array, dt: Array) -> Array:
    """Exact: the powers of t are states of the augmented system, scaled to the piece."""
    scale = dt[-1]
    big = np.zeros((N + DEGREE + 1, N + DEGREE + 1))
    big[:N, :N] = case.a * scale
    for k in range(DEGREE + 1):
        big[:N, N + k] = case.b @ u[:, k] * scale ** (k + 1)
        if k > 0:
            big[N + k, N + k - 1] = k  # (s^k)' = k s^(k-1)
    z = np.concatenate([x, [1.0], np.zeros(DEGREE)])
    out, at, step = np.empty((len(dt), N)), 0.0, {}
    for k, t in enumerate(dt / scale):
        h = t - at
        key = round(h, 13)
        if key not in step:
            step[key] = expm(big * h)
        z, at = step[key] @ z, t
        out[k] = z[:N]
    return out


def _nonlinear_piece(case: Case, x: Array, u: Array, dt: Array) -> Array:
    def f(t: float, y: Array) -> Array:
        value = u[:, -1]
        for k in range(DEGREE - 1, -1, -1):
            value = value * t + u[:, k]
        return np.asarray(case.a @ y + case.b @ value - case.c * y**3)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        times = np.unique(dt)
        found = solve_ivp(f, (0.0, dt[-1]), x, method="LSODA", t_eval=times, rtol=1e-11, atol=1e-13)
    return np.asarray(found.y.T[np.searchsorted(times, dt)])


def simulate(case: Case, watch: Callable[[pliant.Result], None] | None = None) -> Array:
    parameters = {f"A[{i + 1},{j + 1}]": case.a[i, j] for i in range(N) for j in range(N)}
    parameters |= {f"B[{i + 1},{j + 1}]": case.b[i, j] for i in range(N) for j in range(N_U)}
    parameters |= {f"c[{i + 1}]": case.c[i] for i in range(N)}
    result = model(case.form).simulate(
        stop=case.stop,
        method=case.method,
        rtol=case.rtol,
        points=POINTS,
        parameters=parameters,
        inputs={f"u[{j + 1}]": one.given for j, one in enumerate(case.inputs)},
    )
    if watch:
        watch(result)
    return np.column_stack([result[f"x[{i + 1}]"] for i in range(N)])


def error_of(case: Case, exact: Array, found: Array) -> float:
    """Largest error in tolerances of the largest value of each state."""
    scale = case.rtol * np.abs(exact).max(axis=0) + 1e-2 * case.rtol
    return float((np.abs(found - exact) / scale).max())


def check(seed: int) -> Outcome:
    case = random_case(seed)
    error = error_of(case, reference(case), simulate(case))
    how = f"{case.method}, {case.form}, rtol {case.rtol:.1e}"
    return Outcome(seed, RIGHT if error <= LIMIT else WRONG, f"error {error:.3g} tolerances ({how})", error)


def judge(outcomes: Sequence[Outcome]) -> tuple[str, bool]:
    values = np.array([one.value for one in outcomes])
    right = sum(one.verdict == RIGHT for one in outcomes)
    text = f"{right} of {len(outcomes)} within {LIMIT:g}, worst {values.max():.3g}, median {np.median(values):.2g}"
    return text, right == len(outcomes)


FAMILY = Family(
    name="inputs",
    what="300 random systems x random inputs (steps, ramps, bumps of .01 to 10 % of the run, rest before), bdf, "
    "radau5, auto, dopri5, rtol 1e-3 .. 1e-8, 1 001 points against runs that meet every breakpoint",
    goal="errors <= 30 tolerances, none missed",
    count=300,
    part=6,
    check=check,
    judge=judge,
)
