"""Random clocked programs: clocks of all kinds, subSample, superSample, shiftSample, hold, previous, as in Python.

A base clock ticks periodically, where a sine passes a level, or at intervals that it computes itself. From signals of
the base others are made by operators, with clocks that count its ticks; every signal is a linear recursion over
others, so that all values are known exactly. Signals outside follow by hold, and come back by sample, which gives the
limit from the left: what is held before the tick.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

import pliant
from families import FAILED, RIGHT, WRONG, Family, Outcome
from pliant.errors import PliantError

STOP = 2.0
TOLERANCE = 1e-7


@dataclass
class Signal:
    """A clocked variable: its clock in ticks of a grid, and how its value at a tick comes about."""

    name: str
    interval: Fraction  # in ticks of the base
    first: Fraction
    text: str
    terms: list[tuple[str, float, str]]  # kind (now, previous, held, count), factor, name
    constant: float
    start: float
    value: float = 0.0
    before: float = 0.0
    history: list[tuple[float, float]] = field(default_factory=list)


class Program:
    """A random program, as text and in Python."""

    def __init__(self, seed: int) -> None:
        self.chance = np.random.default_rng(seed)
        self.kind = str(self.chance.choice(["periodic", "condition", "computed"]))
        self.signals: list[Signal] = []
        self.declared: list[str] = []
        self.equations: list[str] = []
        self.base()
        for k in range(int(self.chance.integers(2, 7))):
            self.derived(k)

    def number(self) -> float:
        return round(float(self.chance.uniform(-1.0, 1.0)), 2)

    def base(self) -> None:
        n = int(self.chance.integers(5, 25))
        self.n = n
        if self.kind == "periodic":
            self.declared.append(f"Clock c = Clock({n}, 100);")
        elif self.kind == "condition":
            self.declared.append(f"Clock c = Clock(sin({n}*time) > 0.3);")
        else:
            self.declared.append("Integer n(start = 4); Clock c = Clock(n, 50);")
            self.equations.append(f"when c then n = if previous(n) > {n} then 5 else previous(n) + 2; end when;")
        start, a, b = self.number(), self.number(), self.number()
        one = Signal("s0", Fraction(1), Fraction(0), "", [("previous", a, "s0")], b, start)
        self.signals.append(one)
        self.declared.append(f"Real s0(start = {start});")
        self.equations.append(f"when c then s0 = {a}*previous(s0) + ({b}); end when;")

    def derived(self, k: int) -> None:
        """A signal of another clock, or of the same as one before."""
        of = self.signals[int(self.chance.integers(len(self.signals)))]
        name, start = f"s{k + 1}", self.number()
        a, b, d = self.number(), self.number(), self.number()
        kind = str(self.chance.choice(["same", "sub", "shift", "super", "sampled"]))
        interval, first = of.interval, of.first
        given = of.name
        terms: list[tuple[str, float, str]] = [("previous", a, name)]
        if kind == "sub":
            m = int(self.chance.integers(2, 4))
            interval, given = of.interval * m, f"subSample({of.name}, {m})"
        elif kind == "shift":
            m = int(self.chance.integers(1, 4))
            first, given = of.first + m * of.interval, f"shiftSample({of.name}, {m})"
        elif kind == "super":
            m = 2 if self.kind == "periodic" or (of.interval % 2 == 0 and of.first % 2 == 0) else 1
            interval, given = of.interval / m, f"superSample({of.name}, {m})"
        elif kind == "sampled":
            given = f"sample(hold({of.name}) + ({d}))"
        if kind == "sampled":
            terms.append(("held", b, of.name))
            constant = b * d
            text = f"{a}*previous({name}) + ({b})*{given} + 0*{of.name}"
        else:
            terms.append(("now", b, of.name))
            constant = d
            text = f"{a}*previous({name}) + ({b})*{given} + ({d})"
        self.signals.append(Signal(name, interval, first, text, terms, constant, start))
        self.declared.append(f"Real {name}(start = {start});")
        self.equations.append(f"{name} = {text};")

    def text(self) -> str:
        held = [f"Real h{k} = hold({one.name});" for k, one in enumerate(self.signals)]
        return "\n".join(["model M", *self.declared, *held, "equation", *self.equations, "end M;"])

    # ---------------------------------------------------------------------------------------------------- in Python

    def instants(self) -> list[float]:
        """Times of the ticks of the base."""
        if self.kind == "periodic":
            found = [self.n / 100 * k for k in range(int(STOP * 100 / self.n) + 1)]
        elif self.kind == "condition":
            angle = float(np.arcsin(0.3))
            found = [(angle + 2 * np.pi * k) / self.n for k in range(int(STOP * self.n / 6) + 2)]
        else:
            found, n, t = [0.0], 4, 0.0
            while t <= STOP:
                n = 5 if n > self.n else n + 2
                t += n / 50
                found.append(t)
        return [t for t in found if t <= STOP]

    def run(self) -> None:
        """The history of every signal."""
        ticks = self.instants()
        grid = 1
        for one in self.signals:
            grid = int(np.lcm(grid, np.lcm(one.interval.denominator, one.first.denominator)))
        for one in self.signals:
            one.value = one.before = one.start
        values = {one.name: one for one in self.signals}
        last = (len(ticks) + 1) * grid if self.kind == "periodic" else len(ticks) * grid
        for j in range(last):
            place = Fraction(j, grid)
            t = self.n / 100 * j / grid if self.kind == "periodic" else ticks[j // grid]
            if t > STOP + 1e-12:
                break
            earlier = {one.name: one.value for one in self.signals}
            for one in self.signals:
                since = place - one.first
                if since < 0 or since % one.interval != 0:
                    continue
                total = one.constant
                for kind, factor, name in one.terms:
                    given = values[name].value if kind == "now" else earlier[name]
                    total += factor * given
                one.value = total
                one.history.append((t, total))


def check(seed: int) -> Outcome:
    """One program."""
    program = Program(seed)
    program.run()
    text = program.text()
    ticks = sorted({t for one in program.signals for t, _ in one.history})
    points = [0.5 * (a + b) for a, b in zip(ticks, [*ticks[1:], STOP], strict=True) if b - a > 1e-6]
    try:
        result: Any = pliant.load(text).simulate(stop=STOP, points=[0.0, *points, STOP])
    except PliantError as error:
        return Outcome(seed, FAILED, f"{type(error).__name__}: {error}\n{text}")
    worst = 0.0
    for k, one in enumerate(program.signals):
        times = np.array([t for t, _ in one.history])
        values = np.array([one.start, *(v for _, v in one.history)])
        wanted = values[np.searchsorted(times, np.array(points), side="right")]
        for name in (one.name, f"h{k}"):
            error = float(np.abs(result[name][1 : 1 + len(points)] - wanted).max(initial=0.0))
            worst = max(worst, error)
            if error > TOLERANCE:
                return Outcome(seed, WRONG, f"{name} is off by {error:.2g}\n{text}", error)
    return Outcome(seed, RIGHT, value=worst)


FAMILY = Family("clocked", "clocks of all kinds", "as Python computes it", 300, 4, check)
