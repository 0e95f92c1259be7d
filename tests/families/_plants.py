"""Random stable plants with switches, friction and sampled control: as Modelica text and as piecewise linear systems.

    x' = A x + B u + g d + sum over elements of column * clip(row z, low, high),    z = (x, u, u', d, 1)
    d+ = d + k T (r - c x)    at ticks

Clearances, saturations and steep friction are all `clip`. Between corners of the inputs, ticks and switches z is a
matrix exponential; switches are found by bisection. Nothing of pliant is used for the answer.
"""

from __future__ import annotations

import bisect
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import expm

Matrix = NDArray[np.float64]
Chance = np.random.Generator
Table = tuple[list[float], list[float]]
WITHIN = 8  # rows of the answer in each step


def log(chance: Chance, low: float, high: float) -> float:
    """A number of any size between low and high, three digits."""
    return float(f"{np.exp(chance.uniform(np.log(low), np.log(high))):.3g}")


@dataclass(frozen=True)
class Element:
    """column * clip(row x, low, high) acts on x'."""

    row: tuple[float, ...]
    column: tuple[float, ...]
    low: float
    high: float


@dataclass
class Plant:
    """A plant, the step that it is planned with, and the answer for any input."""

    kind: str
    A: Matrix
    B: Matrix
    elements: list[Element]
    step: float
    steps: int
    gain: Matrix  # (n,) of the sampled control
    sense: Matrix  # (n,) what it measures
    factor: float  # k T
    every: int  # steps between ticks; 0: no control
    powers: dict[tuple[tuple[int, ...], float], Matrix] = field(default_factory=dict)

    @property
    def n(self) -> int:
        """Number of states."""
        return len(self.A)

    def text(self, name: str) -> str:
        """The same as a model."""
        n = self.n
        lines = [f"model {name}", "  input Real u(start = 0);"]
        lines += [f"  Real x{i}(start = 0, fixed = true);" for i in range(n)]
        lines += [f"  Real f{k};" for k in range(len(self.elements))]
        lines += ["  output Real y;", *(["  discrete Real d(start = 0, fixed = true);"] if self.every else [])]
        lines.append("equation")
        for k, one in enumerate(self.elements):
            s, low, high = _sum(one.row, "x"), f"({float(one.low)!r})", f"{float(one.high)!r}"
            lines.append(f"  f{k} = if {s} > {high} then {high} elseif {s} < {low} then {low} else {s};")
        for i in range(n):
            terms = [_sum(self.A[i], "x"), f"({float(self.B[i])!r})*u"]
            terms += [f"({float(one.column[i])!r})*f{k}" for k, one in enumerate(self.elements) if one.column[i]]
            if self.every and self.gain[i]:
                terms.append(f"({float(self.gain[i])!r})*d")
            lines.append(f"  der(x{i}) = {' + '.join(terms)};")
        lines.append(f"  y = {_sum(self.sense, 'x')};")
        if self.every:
            period = f"{self.every}*{self.step!r}"
            lines += [f"  when sample(0, {period}) then", f"    d = pre(d) + ({self.factor!r})*(u - y);", "  end when;"]
        return "\n".join([*lines, f"end {name};"])

    def matrix(self, mode: tuple[int, ...]) -> Matrix:
        """F of z' = F z; mode of each element: -1 low, 0 between, 1 high."""
        n = self.n
        F = np.zeros((n + 4, n + 4))  # x, u, u', d, 1
        F[:n, :n], F[:n, n], F[:n, n + 2], F[n, n + 1] = self.A, self.B, self.gain, 1.0
        for one, state in zip(self.elements, mode, strict=True):
            if state == 0:
                F[:n, :n] += np.outer(one.column, one.row)
            else:
                F[:n, n + 3] += np.array(one.column) * (one.low if state < 0 else one.high)
        return F

    def mode(self, x: Matrix) -> tuple[int, ...]:
        """What holds at x."""
        values = [float(np.dot(one.row, x)) for one in self.elements]
        return tuple(int(v > e.high) - int(v < e.low) for v, e in zip(values, self.elements, strict=True))

    def power(self, mode: tuple[int, ...], h: float, keep: bool) -> Matrix:
        """expm(F h)."""
        if (mode, h) not in self.powers:
            found: Matrix = expm(self.matrix(mode) * h)
            if not keep:
                return found
            self.powers[mode, h] = found
        return self.powers[mode, h]

    def run(self, table: Table, start: Matrix) -> Matrix:
        """(steps * WITHIN + 1, n) exactly, for an input of corners at ends of steps, held or linear between them."""
        h, n = self.step / WITHIN, self.n
        times, values = table
        z = np.concatenate([start, [0.0, 0.0, 0.0, 1.0]])
        out = np.empty((self.steps * WITHIN + 1, n))
        for k in range(self.steps * WITHIN + 1):
            out[k] = z[:n]
            t = k * h
            if k % WITHIN == 0:
                z[n], z[n + 1] = _input(times, values, t, self.step)
                if self.every and (k // WITHIN) % self.every == 0:
                    z[n + 2] += self.factor * (z[n] - self.sense @ z[:n])
            z = self._advance(z, h)
        return out

    def _advance(self, z: Matrix, h: float, depth: int = 0) -> Matrix:
        """z after h; halves where the mode changes, down to h/2^20."""
        mode = self.mode(z[: self.n])
        after = self.power(mode, h, keep=depth < 12) @ z
        if depth >= 20 or (self.mode(after[: self.n]) == mode and self._stays(mode, z, h, depth)):
            return after
        return self._advance(self._advance(z, 0.5 * h, depth + 1), 0.5 * h, depth + 1)

    def _stays(self, mode: tuple[int, ...], z: Matrix, h: float, depth: int) -> bool:
        return not self.elements or self.mode((self.power(mode, 0.5 * h, depth < 12) @ z)[: self.n]) == mode


def _input(times: list[float], values: list[float], t: float, step: float) -> tuple[float, float]:
    """Value after a jump and slope at t."""
    k = bisect.bisect_right(times, t + 1e-6 * step) - 1
    if k >= len(times) - 1:
        return values[-1], 0.0
    slope = (values[k + 1] - values[k]) / (times[k + 1] - times[k])
    return values[k] + slope * max(t - times[k], 0.0), slope


def _sum(row: Matrix | tuple[float, ...], name: str) -> str:
    terms = [f"({float(a)!r})*{name}{j}" for j, a in enumerate(row) if a]
    return "(" + (" + ".join(terms) or "0") + ")"


def random_plant(chance: Chance) -> Plant:
    """Thermal or electrical networks, chains of masses, each perhaps with switches, friction and control."""
    kind = str(chance.choice(["network", "chain", "network+switch", "chain+switch", "chain+friction", "sampled"]))
    A, B = _network(chance) if kind.startswith(("network", "sampled")) else _chain(chance)
    n = len(A)
    rates = np.abs(np.linalg.eigvals(A))
    slow = 1.0 / float(rates.min())
    elements: list[Element] = []
    sense = np.zeros(n)
    sense[int(chance.integers(n)) if "chain" not in kind else 0] = 1.0
    steady = np.linalg.solve(A, -B)
    if kind.endswith("switch"):
        i, strength = int(chance.integers(n if "network" in kind else n // 2)), float(chance.uniform(0.5, 20.0))
        row = np.zeros(n)
        row[i] = 1.0
        column = np.zeros(n)
        rate = float(rates.max() if chance.random() < 0.3 else rates.min())
        if "network" in kind:
            column[i] = -strength * rate
        else:
            column[n // 2 + i] = -strength * rate**2
        gap = float(chance.uniform(0.1, 0.8)) * (abs(float(steady[i])) + 1e-3)
        elements.append(Element(tuple(row), tuple(-column), -1e9, gap))  # column*(x - clip(x)) acts beyond the gap
        A = A + np.outer(column, row)
    if kind.endswith("friction"):
        i = int(chance.integers(n // 2))
        row, column = np.zeros(n), np.zeros(n)
        row[n // 2 + i] = 1.0
        speed = log(chance, 1e-4, 1e-2)
        force = float(chance.uniform(0.05, 0.4)) * (np.abs(B).max() + 1e-9)
        column[n // 2 + i] = -force / speed
        elements.append(Element(tuple(row), tuple(column), -speed, speed))
    step = float(f"{slow / log(chance, 1.5, 80.0):.2g}")
    every = int(chance.integers(1, 6)) if kind == "sampled" else 0
    gain = B.copy() if every else np.zeros(n)
    response = float(sense @ steady)
    if abs(response) < 1e-6:
        every = 0
    factor = float(chance.uniform(0.02, 0.3)) / response * min(1.0, every * step / slow) if every else 0.0
    return Plant(kind, A, B, elements, step, int(chance.integers(120, 260)), gain, sense, factor, every)


def _network(chance: Chance) -> tuple[Matrix, Matrix]:
    """Capacities with conductances between them; the input feeds one of them."""
    n = int(chance.integers(2, 7))
    G = np.zeros((n, n))
    for i in range(1, n):
        j = int(chance.integers(i))
        G[i, j] = G[j, i] = log(chance, 0.1, 10.0)
    ground = np.array([log(chance, 0.05, 1.0) if chance.random() < 0.4 or i == 0 else 0.0 for i in range(n)])
    capacity = np.array([log(chance, 1e-4, 1.0) for _ in range(n)])
    capacity[int(chance.integers(n))] = 1.0
    A = (G - np.diag(G.sum(axis=1) + ground)) / capacity[:, None]
    B = np.zeros(n)
    k = int(chance.integers(n))
    B[k] = log(chance, 0.3, 3.0) / capacity[k]
    return A, B


def _chain(chance: Chance) -> tuple[Matrix, Matrix]:
    """Masses, springs and dampers; the first is tied to the ground, a force acts on one."""
    k = int(chance.integers(1, 4))
    mass = np.array([log(chance, 0.01, 1.0) for _ in range(k)])
    spring = [log(chance, 1.0, 1e4 if j else 30.0) for j in range(k)]
    A, B = np.zeros((2 * k, 2 * k)), np.zeros(2 * k)
    A[:k, k:] = np.eye(k)
    for j in range(k):
        damper = float(chance.uniform(0.05, 1.0)) * 2.0 * np.sqrt(spring[j] * mass[j])
        for a, b in ((j, j - 1), (j - 1, j)):
            if a < 0 or (a == j - 1 and j == 0):
                continue
            A[k + a, a] -= spring[j] / mass[a]
            A[k + a, k + a] -= damper / mass[a]
            if b >= 0:
                A[k + a, b] += spring[j] / mass[a]
                A[k + a, k + b] += damper / mass[a]
    i = int(chance.integers(k))
    B[k + i] = 1.0 / mass[i]
    return A, B


def random_input(chance: Chance, plant: Plant, size: float) -> Table:
    """Jumps, ramps and rest within [-size, size]; corners at ends of steps, jumps given by two points."""
    times, values = [0.0], [float(chance.uniform(-size, size)) if chance.random() < 0.3 else 0.0]
    k = 0
    while k < plant.steps:
        k += int(chance.integers(8, 60))
        t = k * plant.step
        way = chance.random()
        target = float(f"{chance.uniform(-size, size):.4g}")
        if way < 0.5:
            times += [t, t]
            values += [values[-1], target]
        else:
            times.append(t)
            values.append(target if way < 0.85 else values[-1])
    return times, values
