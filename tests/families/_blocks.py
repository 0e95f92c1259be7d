"""Blocks of mixed plants: each as Modelica text and as a function of time and states that is solved without pliant."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field
from typing import Any

import numpy as np

State = list[float]


@dataclass
class Point:
    """Where a block is asked: time, its states, its input, discrete values, and which relations hold."""

    t: float
    x: Any
    w: float
    d: dict[str, float]
    on: list[bool]


@dataclass
class Block:
    """Number k, source expression; what depends on the kind is drawn from `rng`."""

    k: int
    source: str
    rng: random.Random
    p: dict[str, float] = field(default_factory=dict)
    n_x: int = 0

    def __post_init__(self) -> None:
        self.draw()

    def name(self, what: str) -> str:
        return f"{what}{self.k}"

    def draw(self) -> None:
        """Numbers."""

    def number(self, low: float, high: float) -> float:
        return round(self.rng.uniform(low, high), 3)

    def declare(self) -> str:
        return ""

    def initial(self) -> str:
        return ""

    def equations(self) -> str:
        raise NotImplementedError

    def first(self, w: float) -> State:
        return []

    def discrete(self) -> dict[str, float]:
        return {}

    def sides(self, at: Point) -> list[float]:
        """Relations: positive where they hold."""
        return []

    def ticks(self, start: float, stop: float) -> list[float]:
        return []

    def settle(self, at: Point, before: dict[str, float], rose: list[bool], tick: bool) -> dict[str, float]:
        """Discrete values at an event."""
        return dict(before)

    def reset(self, at: Point, rose: list[bool]) -> State | None:
        """New states at an event."""
        return None

    def slope(self, at: Point) -> State:
        return []

    def output(self, at: Point) -> float:
        raise NotImplementedError


class Lag(Block):
    """tau x' + x = w, in some order of terms; perhaps from rest."""

    n_x = 1

    def draw(self) -> None:
        self.n_x = 1
        self.p = {"tau": self.number(0.05, 1.5), "x0": self.number(-1, 1), "rest": float(self.rng.random() < 0.4)}

    def declare(self) -> str:
        start = f"(start = {self.p['x0']})" if self.p["rest"] else f"(start = {self.p['x0']}, fixed = true)"
        return f"  parameter Real tau{self.k} = {self.p['tau']};\n  Real x{self.k}{start};\n"

    def initial(self) -> str:
        return f"  der(x{self.k}) = 0;\n" if self.p["rest"] else ""

    def equations(self) -> str:
        k = self.k
        return f"  tau{k}*der(x{k}) + x{k} = {self.source};\n  y{k} = x{k};\n"

    def first(self, w: float) -> State:
        return [w if self.p["rest"] else self.p["x0"]]

    def slope(self, at: Point) -> State:
        return [(at.w - at.x[0]) / self.p["tau"]]

    def output(self, at: Point) -> float:
        return float(at.x[0])


class Cubic(Block):
    """y + a y^3 = w"""

    def draw(self) -> None:
        self.p = {"a": self.number(0.1, 3)}

    def equations(self) -> str:
        return f"  y{self.k} + {self.p['a']}*y{self.k}^3 = {self.source};\n"

    def output(self, at: Point) -> float:
        a, y = self.p["a"], at.w / (1 + self.p["a"] * abs(at.w) ** (2 / 3))
        for _ in range(60):
            y -= (y + a * y**3 - at.w) / (1 + 3 * a * y * y)
        return y


class Loop(Block):
    """Three linear equations in a circle."""

    def draw(self) -> None:
        self.p = {"a": self.number(0.2, 0.8), "b": self.number(-0.8, 0.8)}

    def declare(self) -> str:
        return f"  Real q{self.k}, r{self.k};\n"

    def equations(self) -> str:
        k, a, b = self.k, self.p["a"], self.p["b"]
        return f"  q{k} = {self.source} - {a}*r{k};\n  r{k} + ({b})*y{k} = q{k};\n  y{k} = r{k} - 0.5*q{k};\n"

    def output(self, at: Point) -> float:
        a, b = self.p["a"], self.p["b"]
        left = np.array([[1, a, 0], [-1, 1, b], [0.5, -1, 1]])
        return float(np.linalg.solve(left, [at.w, 0.0, 0.0])[2])


class Pendulum(Block):
    """In Cartesian coordinates, driven along its circle: states are chosen during the run."""

    def draw(self) -> None:
        self.n_x = 2
        self.p = {
            "a0": self.number(-1.2, 1.2),
            "g": self.number(4, 12),
            "c": self.number(0.2, 1),
            "s": self.number(1, 5),
        }

    def declare(self) -> str:
        k, p = self.k, self.p
        x, y = math.sin(p["a0"]), -math.cos(p["a0"])
        return (
            f"  Real px{k}(start = {x!r}, fixed = true), py{k}(start = {y!r}), F{k};\n"
            f"  Real vx{k}(start = 0, fixed = true), vy{k};\n"
        )

    def equations(self) -> str:
        k, p, w = self.k, self.p, self.source
        return (
            f"  der(px{k}) = vx{k};\n  der(py{k}) = vy{k};\n  px{k}^2 + py{k}^2 = 1;\n"
            f"  der(vx{k}) = F{k}*px{k} - {p['s']}*({w})*py{k} - {p['c']}*vx{k};\n"
            f"  der(vy{k}) = F{k}*py{k} + {p['s']}*({w})*px{k} - {p['c']}*vy{k} - {p['g']};\n  y{k} = px{k};\n"
        )

    def first(self, w: float) -> State:
        return [self.p["a0"], 0.0]

    def slope(self, at: Point) -> State:
        p = self.p
        return [at.x[1], -p["g"] * math.sin(at.x[0]) + p["s"] * at.w - p["c"] * at.x[1]]

    def output(self, at: Point) -> float:
        return math.sin(at.x[0])


class Relay(Block):
    """Hysteresis, written in one of three ways."""

    def draw(self) -> None:
        low = self.number(-0.6, 0.2)
        self.p = {"low": low, "high": round(low + self.number(0.1, 0.8), 3), "form": float(self.rng.randrange(3))}

    def declare(self) -> str:
        return f"  Boolean on{self.k}(start = false, fixed = true);\n"

    def equations(self) -> str:
        k, p, w = self.k, self.p, self.source
        high, low = f"{w} > {p['high']}", f"{w} < {p['low']}"
        out = f"  y{k} = if on{k} then 0.8 else -0.7;\n"
        if p["form"] == 0:
            return f"  on{k} = ({high}) or (pre(on{k}) and not ({low}));\n" + out
        if p["form"] == 1:
            return f"  when {{{high}, {low}}} then\n    on{k} = {high};\n  end when;\n" + out
        return f"  when {high} then\n    on{k} = true;\n  elsewhen {low} then\n    on{k} = false;\n  end when;\n" + out

    def discrete(self) -> dict[str, float]:
        return {f"on{self.k}": 0.0}

    def sides(self, at: Point) -> list[float]:
        return [at.w - self.p["high"], self.p["low"] - at.w]

    def settle(self, at: Point, before: dict[str, float], rose: list[bool], tick: bool) -> dict[str, float]:
        name = f"on{self.k}"
        if self.p["form"] == 0:
            return {name: float(at.on[0] or (bool(before[name]) and not at.on[1]))}
        return {name: 1.0 if rose[0] else 0.0 if rose[1] else before[name]}

    def output(self, at: Point) -> float:
        return 0.8 if at.d[f"on{self.k}"] else -0.7


class Dial(Block):
    """A state that runs round and is set back; its turns are counted and read through mod, rem or div."""

    def draw(self) -> None:
        self.n_x = 1
        self.p = {
            "L": self.number(0.4, 1),
            "sign": float(self.rng.choice([1, -1])),
            "by": float(self.rng.choice([2, 3])),
        }
        self.what = self.rng.choice(["mod", "rem", "div"])

    def declare(self) -> str:
        return f"  Real x{self.k}(start = 0, fixed = true);\n  Integer n{self.k}(start = 0, fixed = true);\n"

    def equations(self) -> str:
        k, p = self.k, self.p
        return (
            f"  der(x{k}) = 0.5 + ({self.source})^2;\n  when x{k} > {p['L']} then\n"
            f"    reinit(x{k}, pre(x{k}) - {p['L']});\n"
            f"    n{k} = pre(n{k}) + ({p['sign']:g});\n  end when;\n  y{k} = 0.4*{self.what}(n{k}, {p['by']:g});\n"
        )

    def first(self, w: float) -> State:
        return [0.0]

    def discrete(self) -> dict[str, float]:
        return {f"n{self.k}": 0.0}

    def sides(self, at: Point) -> list[float]:
        return [at.x[0] - self.p["L"]]

    def settle(self, at: Point, before: dict[str, float], rose: list[bool], tick: bool) -> dict[str, float]:
        return {f"n{self.k}": before[f"n{self.k}"] + (self.p["sign"] if rose[0] else 0.0)}

    def reset(self, at: Point, rose: list[bool]) -> State | None:
        return [at.x[0] - self.p["L"]] if rose[0] else None

    def slope(self, at: Point) -> State:
        return [0.5 + at.w**2]

    def output(self, at: Point) -> float:
        n, by = at.d[f"n{self.k}"], self.p["by"]
        if self.what == "mod":
            return 0.4 * (n - math.floor(n / by) * by)
        if self.what == "div":
            return 0.4 * math.trunc(n / by)
        return 0.4 * (n - math.trunc(n / by) * by)


class Sampled(Block):
    """A sampled PI controller."""

    def draw(self) -> None:
        period = self.rng.choice([0.1, 0.125, 0.07, 1 / 3])
        self.p = {"T": period, "r": self.number(-1, 1), "P": self.number(0.1, 0.8), "I": self.number(0.1, 0.6)}
        self.p["t0"] = self.rng.choice([0.0, 0.05])

    def declare(self) -> str:
        k = self.k
        return f"  discrete Real s{k}(start = 0, fixed = true), c{k}(start = 0, fixed = true);\n"

    def equations(self) -> str:
        k, p = self.k, self.p
        return (
            f"  when sample({p['t0']!r}, {p['T']!r}) then\n"
            f"    s{k} = pre(s{k}) + {p['I'] * p['T']!r}*({p['r']} - {self.source});\n"
            f"    c{k} = {p['P']}*({p['r']} - {self.source}) + s{k};\n  end when;\n  y{k} = c{k};\n"
        )

    def discrete(self) -> dict[str, float]:
        return {f"s{self.k}": 0.0, f"c{self.k}": 0.0}

    def ticks(self, start: float, stop: float) -> list[float]:
        first = max(0, math.ceil((start - self.p["t0"]) / self.p["T"] - 1e-9))
        out = []
        while self.p["t0"] + first * self.p["T"] <= stop + 1e-12:
            out.append(self.p["t0"] + first * self.p["T"])
            first += 1
        return out

    def settle(self, at: Point, before: dict[str, float], rose: list[bool], tick: bool) -> dict[str, float]:
        if not tick:
            return dict(before)
        s = before[f"s{self.k}"] + self.p["I"] * self.p["T"] * (self.p["r"] - at.w)
        return {f"s{self.k}": s, f"c{self.k}": self.p["P"] * (self.p["r"] - at.w) + s}

    def output(self, at: Point) -> float:
        return at.d[f"c{self.k}"]


class Limit(Block):
    """Saturation, with events or without."""

    def draw(self) -> None:
        self.p = {"low": self.number(-1, -0.1), "high": self.number(0.1, 1)}
        self.form = self.rng.randrange(3)

    def equations(self) -> str:
        k, p, w = self.k, self.p, self.source
        if self.form == 0:
            return f"  y{k} = min(max({w}, {p['low']}), {p['high']});\n"
        if self.form == 1:
            return f"  y{k} = if {w} > {p['high']} then {p['high']} elseif {w} < {p['low']} then {p['low']} else {w};\n"
        return f"  y{k} = smooth(0, noEvent(if {w} > {p['high']} then {p['high']} else max({w}, {p['low']})));\n"

    def sides(self, at: Point) -> list[float]:
        return [at.w - self.p["high"], self.p["low"] - at.w]

    def output(self, at: Point) -> float:
        return min(max(at.w, self.p["low"]), self.p["high"])


class Found(Block):
    """A gain that the start determines."""

    def draw(self) -> None:
        self.p = {"c": self.number(0.2, 1.5)}

    def declare(self) -> str:
        return f"  parameter Real g{self.k}(fixed = false, start = 1);\n"

    def initial(self) -> str:
        return f"  y{self.k} = {self.p['c']};\n"

    def equations(self) -> str:
        return f"  y{self.k} = g{self.k}*(1.5 + ({self.source})^2);\n"

    def output(self, at: Point) -> float:
        return at.d[f"$g{self.k}"] * (1.5 + at.w**2)


class Parallel(Block):
    """Two capacitors in parallel behind a resistor: index 2."""

    def draw(self) -> None:
        self.n_x = 1
        self.p = {"R": self.number(0.2, 1), "A": self.number(0.1, 1), "B": self.number(0.1, 1), "v": self.number(-1, 1)}

    def declare(self) -> str:
        k = self.k
        return f"  Real va{k}(start = {self.p['v']}, fixed = true), vb{k}, ia{k}, ib{k};\n"

    def equations(self) -> str:
        k, p = self.k, self.p
        return (
            f"  {p['A']}*der(va{k}) = ia{k};\n  {p['B']}*der(vb{k}) = ib{k};\n  va{k} = vb{k};\n"
            f"  {p['R']}*(ia{k} + ib{k}) + va{k} = {self.source};\n  y{k} = vb{k};\n"
        )

    def first(self, w: float) -> State:
        return [self.p["v"]]

    def slope(self, at: Point) -> State:
        p = self.p
        return [(at.w - at.x[0]) / p["R"] / (p["A"] + p["B"])]

    def output(self, at: Point) -> float:
        return float(at.x[0])


class Carried(Block):
    """x = p + p^2/4 of an oscillator p, and its speed: differentiated equations."""

    def draw(self) -> None:
        self.n_x = 2
        self.p = {"w": self.number(1, 5), "z": self.number(0.3, 1.2)}

    def declare(self) -> str:
        k = self.k
        return f"  Real p{k}(start = 0.1, fixed = true), q{k}(start = 0, fixed = true), z{k}, f{k};\n"

    def equations(self) -> str:
        k, p = self.k, self.p
        return (
            f"  der(p{k}) = q{k};\n  der(q{k}) + {2 * p['z'] * p['w']!r}*q{k} + {p['w'] ** 2!r}*p{k}"
            f" = {p['w'] ** 2!r}*({self.source});\n"
            f"  z{k} = p{k} + 0.25*p{k}^2;\n  f{k} = der(z{k});\n  y{k} = f{k} + z{k};\n"
        )

    def first(self, w: float) -> State:
        return [0.1, 0.0]

    def slope(self, at: Point) -> State:
        w, z = self.p["w"], self.p["z"]
        return [at.x[1], w * w * (at.w - at.x[0]) - 2 * z * w * at.x[1]]

    def output(self, at: Point) -> float:
        p, q = at.x
        return float((1 + 0.5 * p) * q + p + 0.25 * p * p)


class Chopper(Block):
    """w while a triangle of time is low, by mod, a Boolean of its own."""

    def draw(self) -> None:
        self.p = {"T": self.rng.choice([0.25, 0.3, 0.4]), "duty": self.number(0.2, 0.8)}

    def declare(self) -> str:
        return f"  Boolean gate{self.k};\n"

    def equations(self) -> str:
        k, p = self.k, self.p
        gate = f"  gate{k} = mod(time, {p['T']}) < {p['duty'] * p['T']!r};\n"
        return gate + f"  y{k} = if gate{k} then {self.source} else 0.1;\n"

    def ticks(self, start: float, stop: float) -> list[float]:
        out, n, p = [], math.floor(start / self.p["T"]), self.p
        while n * p["T"] <= stop:
            out += [n * p["T"], n * p["T"] + p["duty"] * p["T"]]
            n += 1
        return [t for t in out if start < t <= stop]

    def discrete(self) -> dict[str, float]:
        return {f"gate{self.k}": 0.0}

    def settle(self, at: Point, before: dict[str, float], rose: list[bool], tick: bool) -> dict[str, float]:
        return {f"gate{self.k}": float((at.t / self.p["T"] + 1e-7) % 1.0 < self.p["duty"])}

    def output(self, at: Point) -> float:
        return at.w if at.d[f"gate{self.k}"] else 0.1


class Ring(Block):
    """Three lags in an array, perhaps as an algorithm section."""

    def draw(self) -> None:
        self.n_x = 3
        self.p = {"r": self.number(1, 8)}

    def declare(self) -> str:
        return f"  Real a{self.k}[3](each start = 0, each fixed = true), in{self.k}[3];\n"

    def equations(self) -> str:
        k, r = self.k, self.p["r"]
        return (
            f"  in{k}[1] = {self.source};\n  for i in 2:3 loop\n    in{k}[i] = a{k}[i - 1];\n  end for;\n"
            f"  der(a{k}) = {r}*(in{k} - a{k});\n  y{k} = a{k}[3];\n"
        )

    def first(self, w: float) -> State:
        return [0.0, 0.0, 0.0]

    def slope(self, at: Point) -> State:
        a, r = at.x, self.p["r"]
        return [r * (at.w - a[0]), r * (a[0] - a[1]), r * (a[1] - a[2])]

    def output(self, at: Point) -> float:
        return float(at.x[2])


KINDS = (
    Lag, Lag, Cubic, Loop, Pendulum, Relay, Dial, Sampled, Limit, Found, Parallel, Carried, Chopper, Ring,
)  # fmt: skip
