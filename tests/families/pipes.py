"""spatialDistribution(...) against characteristics: random velocities that turn, profiles, inputs that jump.

Along a characteristic z is constant: y(s) = end + x(s) - x(t) is followed back from an outlet to where it last entered,
at one of the ends or in the initial profile. x is a primitive written down here;
the oracle knows nothing of points or events.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

import pliant
from families import RIGHT, WRONG, Family, Outcome

STOP = 6.0
METHODS = ("bdf", "radau5", "dopri5", "auto", "rk4")
RTOL = 1e-7
BOUND = 2e-4  # of the range of what flows in, near reversals; outputs beside jumps are left out
BESIDE = 1e-3


@dataclass(frozen=True)
class Pipe:
    """v = c + sum a sin(w t + p); in_k = b_k + d_k sin(e_k t), with a jump; the initial profile."""

    c: float
    waves: list[tuple[float, float, float]]
    ends: list[tuple[float, float, float, float, float]]  # mean, amplitude, frequency, time and size of the jump
    points: list[float]
    values: list[float]
    x0: float
    method: str

    def v(self, t: float) -> float:
        """Velocity."""
        return self.c + sum(a * np.sin(w * t + p) for a, w, p in self.waves)

    def x(self, t: np.ndarray | float) -> np.ndarray | float:
        """Its integral."""
        return self.x0 + self.c * t + sum(a / w * (np.cos(p) - np.cos(w * t + p)) for a, w, p in self.waves)

    def flows_in(self, end: int, t: float) -> float:
        """in0 or in1."""
        mean, size, w, at, jump = self.ends[end]
        return mean + size * np.sin(w * t) + (jump if t >= at else 0.0)

    def text(self) -> str:
        """As a model."""

        def given(end: int) -> str:
            mean, size, w, at, jump = self.ends[end]
            return f"({mean!r}) + ({size!r})*sin({w!r}*time) + (if time >= {at!r} then {jump!r} else 0)"

        v = " + ".join([f"({self.c!r})", *(f"({a!r})*sin({w!r}*time + ({p!r}))" for a, w, p in self.waves)])
        listed = [", ".join(map(repr, one)) for one in (self.points, self.values)]
        return (
            f"model Pipe\n  parameter Real points[:] = {{{listed[0]}}}, values[:] = {{{listed[1]}}};\n"
            f"  Real x(start = {self.x0!r}, fixed = true), v = {v}, z0, z1;\nequation\n  der(x) = v;\n"
            f"  (z0, z1) = spatialDistribution({given(0)}, {given(1)}, x, v >= 0, points, values);\nend Pipe;\n"
        )

    def out(self, end: int, t: float, grid: np.ndarray) -> tuple[float, bool]:
        """z at an end, and whether a jump is beside it."""
        if (self.v(t) >= 0.0) == (end == 0):
            return self.flows_in(end, t), abs(t - self.ends[end][3]) < BESIDE
        past = grid[grid < t - 1e-9]

        def y(s: np.ndarray | float) -> np.ndarray | float:
            return end + self.x(s) - self.x(t)

        path = np.append(y(past), y(t))
        sign = 1.0 if end else -1.0  # it came from inside
        inside = np.append((path[:-1] > 0.0) & (path[:-1] < 1.0), True)
        # the last moments lie on the end by rounding
        late = np.flatnonzero(~inside & (np.abs(path - end) > 1e-12))
        if not len(late):
            place = float(np.clip(y(0.0), 0.0, 1.0))
            value = float(np.interp(place, self.points, self.values))
            return value, min(place, 1.0 - place) < BESIDE
        first, entered = int(late[-1]), 0 if path[late[-1]] <= 0.0 else 1
        times = np.append(past, t)
        last = first + 1
        while last < len(times) - 1 and sign * (path[last] - entered) == 0.0:
            last += 1
        s = brentq(lambda s: float(y(s)) - entered, times[first], times[last])
        return self.flows_in(entered, s), abs(s - self.ends[entered][3]) < BESIDE

    def jumps_beside(self, end: int, t: float, grid: np.ndarray) -> bool:
        """Do the values just before and after differ by more than they change?"""
        a, b = (self.out(end, t + off, grid)[0] for off in (-BESIDE, BESIDE))
        return abs(a - b) > 0.05


def make(seed: int) -> Pipe:
    """A random one."""
    rng = np.random.default_rng(seed)

    def some(low: float, high: float) -> float:
        return round(float(rng.uniform(low, high)), 3)

    waves = [(some(0.2, 1.5), some(0.6, 4.0), some(0.0, 6.2)) for _ in range(int(rng.integers(1, 4)))]
    ends = [(some(-1, 1), some(0.2, 1.0), some(0.3, 3.0), some(0.2, 5.0), some(0.5, 2.0)) for _ in range(2)]
    inner = sorted(some(0.05, 0.95) for _ in range(int(rng.integers(0, 4))))
    points = [0.0, *inner, 1.0]
    values = [some(-1, 1) for _ in points]
    return Pipe(some(-1, 1), waves, ends, points, values, some(-2, 2), METHODS[seed % len(METHODS)])


def check(seed: int) -> Outcome:
    """Both outputs at times that are not those of the steps."""
    pipe = make(seed)
    fixed = {"step": 1e-3} if pipe.method == "rk4" else {"rtol": RTOL}
    result = pliant.load(pipe.text()).simulate(stop=STOP, method=pipe.method, points=41, **fixed)
    grid = np.linspace(0.0, STOP, 3001)
    worst, where = 0.0, ""
    for name, end in (("z0", 0), ("z1", 1)):
        for t, found in list(zip(result.time, result[name], strict=True))[1:-1]:
            exact, beside = pipe.out(end, t, grid)
            if not beside and abs(found - exact) > worst and not pipe.jumps_beside(end, t, grid):
                worst, where = abs(found - exact), f"{name} at {t:g}: {found:.7g}, not {exact:.7g}"
    return Outcome(seed, RIGHT if worst <= BOUND else WRONG, f"{pipe.method}: {where}", worst)


FAMILY = Family(
    name="pipes",
    what="transport with random velocities that turn, all methods, profiles and jumps, against characteristics",
    goal=f"outputs within {BOUND:g}",
    count=200,
    part=1,
    check=check,
)
