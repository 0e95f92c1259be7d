"""Relations of time, slow and fast: every crossing is an event, and nothing else is.

A case is a random function of time s(t) with angular frequencies between 1 and 2000 rad/s (sums, products, sweeps,
decaying ones, piecewise ones with mod, functions of them) and a level that it exceeds for a share of 1e-3 or more of
its period. What the relation does in the model (count in a when-clause, switch a derivative, edge(), elsewhen, with
another relation, against a level that a clock or the relation itself changes), method, start time and form are random,
too. The answer is a search with numpy on a grid of 1e-4 of the shortest period, refined by bisection.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

import pliant
from families import RIGHT, WRONG, Family, Outcome

Times = NDArray[np.float64]
GRID = 1e-4  # of the shortest period
SHARE = 1e-3  # of the shortest period: the shortest pulse or pause of a case
METHODS = ("auto", "bdf", "radau5", "dopri5", "rk4", "euler", "lieuler")


@dataclass(frozen=True)
class Signal:
    """A function of time as Modelica text and for numpy; ``w``: its largest frequency, ``jumps``: period of jumps."""

    text: str
    f: Callable[[Times], Times]
    w: float
    jumps: tuple[float, ...] = ()


# ----------------------------------------------------------------------------------------------------- functions


def _number(value: float) -> str:
    return repr(float(value))


class Maker:
    """Random signals; frequencies become parameters of the model now and then."""

    def __init__(self, rng: np.random.Generator, w: float) -> None:
        self.rng, self.w = rng, w
        self.declarations: list[str] = []
        self.equations: list[str] = []

    def parameter(self, value: float) -> str:
        """A number, literally or as a parameter."""
        if self.rng.random() < 0.5:
            return _number(value)
        name = f"p{len(self.declarations)}"
        self.declarations.append(f"parameter Real {name} = {_number(value)};")
        return name

    def named(self, one: Signal) -> Signal:
        """Through a variable of its own now and then."""
        if self.rng.random() < 0.6:
            return one
        name = f"v{len(self.equations)}"
        self.declarations.append(f"Real {name};")
        self.equations.append(f"{name} = {one.text};")
        return Signal(name, one.f, one.w, one.jumps)

    def wave(self) -> Signal:
        """A sine or cosine."""
        w = self.w * float(self.rng.uniform(0.3, 1.0))
        phase = float(self.rng.uniform(0, 2 * math.pi))
        name = self.rng.choice(["sin", "cos"])
        text = f"{name}({self.parameter(w)}*time + {self.parameter(phase)})"
        f = np.sin if name == "sin" else np.cos
        return self.named(Signal(text, lambda t: f(w * t + phase), w))

    def any(self) -> Signal:
        """One of all kinds."""
        kinds = (
            self.wave,
            self.total,
            self.product,
            self.shaped,
            self.decaying,
            self.sweep,
            self.triangle,
            self.larger,
            self.bent,
            self.quotient,
        )
        return self.named(kinds[int(self.rng.integers(len(kinds)))]())

    def total(self) -> Signal:
        """A sum of two waves."""
        a, b, c = self.wave(), self.wave(), float(self.rng.uniform(0.2, 2))
        return Signal(f"({a.text} + {_number(c)}*{b.text})", lambda t: a.f(t) + c * b.f(t), max(a.w, b.w))

    def product(self) -> Signal:
        """A product of two waves: both frequencies add."""
        a, b = self.wave(), self.wave()
        return Signal(f"({a.text}*{b.text})", lambda t: a.f(t) * b.f(t), a.w + b.w)

    def shaped(self) -> Signal:
        """A function of a wave."""
        a = self.wave()
        forms: tuple[tuple[str, Callable[[Times], Times]], ...] = (
            ("abs({})", np.abs),
            ("({})^2", lambda s: s**2),
            ("({})^3", lambda s: s**3),
            ("tanh(3*{})", lambda s: np.tanh(3 * s)),
            ("exp({})", np.exp),
            ("sqrt(1.5 + {})", lambda s: np.sqrt(1.5 + s)),
            ("tan(0.9*{})", lambda s: np.tan(0.9 * s)),
            ("log(1.2 + {})", lambda s: np.log(1.2 + s)),
            ("atan2({}, 0.3)", lambda s: np.arctan2(s, 0.3)),
            ("asin(0.99*{})", lambda s: np.arcsin(0.99 * s)),
        )
        text, f = forms[int(self.rng.integers(len(forms)))]
        return Signal(text.format(a.text), lambda t: f(a.f(t)), 2 * a.w)

    def decaying(self) -> Signal:
        """A wave that decays to half by the end."""
        a, rate = self.wave(), 0.02 * self.w / (2 * math.pi)
        return Signal(f"(exp(-{_number(rate)}*time)*{a.text})", lambda t: np.exp(-rate * t) * a.f(t), a.w)

    def sweep(self) -> Signal:
        """A frequency that grows with time."""
        w = self.w * 0.4
        k = 0.2 * w * self.w / (2 * math.pi) / 40
        text = f"sin({self.parameter(w)}*time + {_number(k)}*time^2)"
        return Signal(text, lambda t: np.sin(w * t + k * t * t), self.w)

    def triangle(self) -> Signal:
        """Between 0 and 1, with mod."""
        period = 2 * math.pi / self.w
        text = f"2*abs(mod(time, {_number(period)})/{_number(period)} - 0.5)"
        return Signal(text, lambda t: 2 * np.abs(np.mod(t, period) / period - 0.5), self.w, (period,))

    def larger(self) -> Signal:
        """Minimum or maximum of two waves."""
        a, b = self.wave(), self.wave()
        name = self.rng.choice(["max", "min"])
        f = np.maximum if name == "max" else np.minimum
        return Signal(f"{name}({a.text}, {b.text})", lambda t: f(a.f(t), b.f(t)), max(a.w, b.w))

    def bent(self) -> Signal:
        """Another slope where another wave is positive, without an event."""
        a, b = self.wave(), self.wave()
        text = f"({a.text} + noEvent(if {b.text} > 0 then 2*{b.text} else 0))"
        return Signal(text, lambda t: a.f(t) + 2 * np.maximum(b.f(t), 0), max(a.w, b.w))

    def quotient(self) -> Signal:
        """A wave over another."""
        a, b = self.wave(), self.wave()
        return Signal(f"{a.text}/(1.7 + {b.text})", lambda t: a.f(t) / (1.7 + b.f(t)), a.w + b.w)


# -------------------------------------------------------------------------------------------------------- oracle


@dataclass
class Crossing:
    """Where s - level changes its sign."""

    time: float
    up: bool


def crossings(s: Signal, level: float, t: Times) -> list[Crossing]:
    """All of them on a grid, refined by bisection; jumps of s count at their time."""
    above = s.f(t) > level
    found = []
    for k in np.flatnonzero(above[1:] != above[:-1]):
        a, b = t[k], t[k + 1]
        for _ in range(80):
            middle = 0.5 * (a + b)
            if not a < middle < b:
                break
            if bool(s.f(np.array([middle]))[0] > level) == above[k]:
                a = middle
            else:
                b = middle
        found.append(Crossing(float(b), not above[k]))
    return found


def grid(s: Signal, start: float, stop: float) -> Times:
    """Fine enough for the shortest pulse."""
    n = math.ceil((stop - start) / (2 * math.pi / s.w * GRID))
    return np.linspace(start, stop, n + 1)


def level_for(s: Signal, t: Times, rng: np.random.Generator) -> float | None:
    """A level that s exceeds for a share of time, with no pulse, pause or near miss too short for the grid."""
    values, shortest = s.f(t), SHARE * 2 * math.pi / s.w
    for _ in range(40):
        share = 10 ** rng.uniform(-2.7, -0.3)
        level = float(np.quantile(values, 1 - share if rng.random() < 0.7 else share))
        level = float(f"{level:.6g}")
        times = [t[0], *(one.time for one in crossings(s, level, t)), t[-1]]
        inner = (values[1:-1] - values[:-2]) * (values[2:] - values[1:-1]) <= 0
        near = np.abs(values[1:-1][inner] - level).min(initial=math.inf) < 1e-6 * np.ptp(values)
        if len(times) > 2 and np.diff(times).min() > shortest and not near:
            return level
    return None


# --------------------------------------------------------------------------------------------------------- models


@dataclass
class Case:
    """A model, and what must come out."""

    declarations: list[str] = field(default_factory=list)
    equations: list[str] = field(default_factory=list)
    events: list[float] = field(default_factory=list)
    final: dict[str, float] = field(default_factory=dict)  # name -> value at the end


def _time_above(found: list[Crossing], above: bool, start: float, stop: float) -> float:
    """How long s is above its level."""
    times = [start, *(one.time for one in found), stop]
    return sum(b - a for k, (a, b) in enumerate(pairwise(times)) if (k % 2 == 0) == above)


def counted(case: Case, s: Signal, level: float, t: Times, rng: np.random.Generator) -> None:
    """A when-clause that counts, in one of its forms, and an integral of the time above the level."""
    found = crossings(s, level, t)
    case.events += [one.time for one in found]
    case.declarations.append("Integer n(start=0, fixed=true);")
    condition = f"{s.text} > {_number(level)}"
    up, down = sum(one.up for one in found), sum(not one.up for one in found)
    form = int(rng.integers(5))
    if form == 0:
        case.equations.append(f"when {condition} then n = pre(n) + 1; end when;")
        case.final["n"] = up
    elif form == 1:
        case.declarations.append("Boolean on; Integer k(start=0, fixed=true);")
        case.equations.append(f"on = {condition}; when change(on) then n = pre(n) + 1; end when;")
        case.equations.append("when edge(on) then k = pre(k) + 1; end when;")
        case.final |= {"n": up + down, "k": up}
    elif form == 2:
        case.equations.append(
            f"when {condition} then n = pre(n) + 1; elsewhen not {condition} then n = pre(n) + 100; end when;"
        )
        case.final["n"] = up + 100 * down
    elif form == 3:
        case.equations.append(f"when {s.text} <= {_number(level)} then n = pre(n) + 1; end when;")
        case.final["n"] = down
    else:
        case.equations.append(f"when {{{condition}, {_number(level)} > {s.text}}} then n = pre(n) + 1; end when;")
        case.final["n"] = up + down
    if rng.random() < 0.7:
        case.declarations.append("Real x(start=0, fixed=true);")
        above = bool(s.f(t[:1])[0] > level)
        if rng.random() < 0.5:
            case.equations.append(f"der(x) = if {condition} then 1 else 0;")
        else:
            case.equations.append(f"if {condition} then der(x) = 1; else der(x) = 0; end if;")
        case.final["x"] = _time_above(found, above, t[0], t[-1])


def combined(case: Case, s: Signal, level: float, t: Times, other: tuple[Signal, float]) -> None:
    """Two relations in one condition: each crossing is an event, the count is that of both."""
    second, second_level = other
    first_found = crossings(s, level, t)
    second_found = crossings(second, second_level, grid(second, t[0], t[-1]))
    case.events += [one.time for one in first_found + second_found]
    case.declarations.append("Integer n(start=0, fixed=true), k(start=0, fixed=true);")
    a, b = f"{s.text} > {_number(level)}", f"{second.text} > {_number(second_level)}"
    case.equations.append(f"when {a} and {b} then n = pre(n) + 1; end when;")
    case.equations.append(f"when {a} or {b} then k = pre(k) + 1; end when;")
    state = [bool(s.f(t[:1])[0] > level), bool(second.f(t[:1])[0] > second_level)]
    n = k = 0
    for _, which, up in sorted([(c.time, 0, c.up) for c in first_found] + [(c.time, 1, c.up) for c in second_found]):
        before = state.copy()
        state[which] = up
        n += all(state) and not all(before)
        k += any(state) and not any(before)
    case.final |= {"n": n, "k": k}


def stepped(case: Case, s: Signal, levels: tuple[float, float], t: Times, first: float, interval: float) -> None:
    """A level that a clock changes to and fro."""
    case.declarations.append(
        f"discrete Real level(start={_number(levels[0])}, fixed=true); Integer n(start=0, fixed=true);"
        "Boolean other(start=false, fixed=true);"
    )
    case.equations.append(
        f"when sample({_number(first)}, {_number(interval)}) then other = not pre(other); "
        f"level = if other then {_number(levels[1])} else {_number(levels[0])}; end when;"
    )
    case.equations.append(f"when {s.text} > level then n = pre(n) + 1; end when;")
    ticks = [first + k * interval for k in range(math.ceil((t[-1] - first) / interval) + 1)]
    ticks = [one for one in ticks if t[0] <= one <= t[-1]]
    edges, n, which = [t[0], *ticks, t[-1]], 0, 0
    above = bool(s.f(t[:1])[0] > levels[0])
    for k, (a, b) in enumerate(pairwise(edges)):
        inside = np.concatenate([[a], t[(t > a) & (t < b)], [b]])
        which = k % 2
        now = bool(s.f(inside[:1])[0] > levels[which])
        n += now and not above
        found = crossings(s, levels[which], inside)
        n += sum(one.up for one in found)
        above = found[-1].up if found else now
        case.events += [one.time for one in found]
    case.events += ticks
    case.final["n"] = n


def hysteresis(case: Case, s: Signal, low: float, high: float, t: Times) -> None:
    """A relation whose level depends on itself."""
    case.declarations.append("Boolean on(start=false, fixed=true); Integer n(start=0, fixed=true);")
    case.equations.append(f"on = {s.text} > (if pre(on) then {_number(low)} else {_number(high)});")
    case.equations.append("when on then n = pre(n) + 1; end when;")
    values = s.f(t)
    on, n, k = bool(values[0] > high), 0, 0
    found = sorted([*crossings(s, low, t), *crossings(s, high, t)], key=lambda one: one.time)
    value = values[0]
    for k, one in enumerate(found):
        ahead = found[k + 1].time if k + 1 < len(found) else t[-1]
        value = float(s.f(np.array([0.5 * (one.time + ahead)]))[0])
        turns = (not on and value > high) or (on and value <= low)
        if turns:
            on = not on
            n += on
            case.events.append(one.time)
    case.final["n"] = n


# ---------------------------------------------------------------------------------------------------------- check


def _make(seed: int) -> tuple[Case, Times, float, np.random.Generator] | None:
    rng = np.random.default_rng(seed)
    w = 10 ** rng.uniform(0, math.log10(2000))
    maker = Maker(rng, w)
    s, case = maker.any(), Case()
    period = 2 * math.pi / w
    start = float(rng.choice([0.0, 0.0, round(3 * period, 6), -round(2 * period, 6), 1000 * period]))
    stop = start + float(rng.uniform(5, 30)) * period
    t = grid(s, start, stop)
    level = level_for(s, t, rng)
    if level is None:
        return None
    kind = int(rng.integers(6))
    if kind <= 2:
        counted(case, s, level, t, rng)
    elif kind == 3:
        second = maker.any()
        second_level = level_for(second, grid(second, start, stop), rng)
        if second_level is None:
            return None
        combined(case, s, level, t, (second, second_level))
        s = Signal(s.text, s.f, max(s.w, second.w), s.jumps + second.jumps)
    elif s.jumps or abs(start) > 900 * period:
        return None
    elif kind == 4:
        other = level_for(s, t, rng)
        if other is None or other == level:
            return None
        stepped(case, s, (level, other), t, round(start + 0.37 * period, 9), round(1.37 * period, 9))
    else:
        other = level_for(s, t, rng)
        if other is None or abs(other - level) < 1e-3 * np.ptp(s.f(t)):
            return None
        hysteresis(case, s, min(level, other), max(level, other), t)
    case.events += [k * p for p in s.jumps for k in range(math.ceil(start / p), math.floor(stop / p) + 1)]
    case.declarations = maker.declarations + case.declarations
    case.equations = maker.equations + case.equations
    return case, t, 2 * math.pi / s.w, rng


def _compare(case: Case, result: pliant.Result, shortest: float) -> str:
    """Empty, or what is wrong."""
    start, stop = float(result.time[0]), float(result.time[-1])
    room = 1e-6 * shortest + 1e-12 * max(abs(start), abs(stop))
    inside = sorted(one for one in case.events if start + room < one < stop - room)
    seen = sorted(one.time for one in result.events if start + room < one.time < stop - room)
    missed = [one for one in inside if not seen or np.abs(np.array(seen) - one).min() > room]
    extra = [one for one in seen if not inside or np.abs(np.array(inside) - one).min() > room]
    if missed:
        return f"{len(missed)} of {len(inside)} events missed, the first at {missed[0]!r}"
    if extra:
        return f"{len(extra)} events too many, the first at {extra[0]!r}"
    for name, value in case.final.items():
        given = float(result[name][-1])
        if abs(given - value) > 1e-6 * abs(value) + (room * (len(inside) + 1) if name == "x" else 0):
            return f"{name} = {given!r} at the end, {value!r} is right"
    return ""


def check(seed: int) -> Outcome:
    """One case; seeds that give none of their own take the next ones."""
    made = next(one for k in range(1000) if (one := _make(seed + 1_000_003 * k)) is not None)
    case, t, shortest, rng = made
    text = "\n  ".join(["model M", *case.declarations, "equation", *case.equations])
    method = str(rng.choice(METHODS))
    form = str(rng.choice(["auto", "dae"]))
    step = float(t[-1] - t[0]) / 7 if method in ("rk4", "euler", "lieuler") else None
    result = pliant.load(f"{text}\nend M;\n", options={"form": form}).simulate(
        float(t[-1]), start=float(t[0]), method=method, step=step, points=[float(t[0]), float(t[-1])]
    )
    wrong = _compare(case, result, shortest)
    return Outcome(seed, WRONG if wrong else RIGHT, f"{wrong} ({method})\n{text}" if wrong else "")


FAMILY = Family(
    "time_relations",
    "Models with relations of time, 1 to 2 000 rad/s, true for 1e-3 of a period or more",
    "every crossing, no extra one",
    count=200,
    part=2,
    check=check,
)
