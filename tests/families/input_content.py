"""What f and relations make of inputs between their points: f not monotone in them, bands, waves, switches.

Three kinds of cases, each a rest with a few short pieces of a table, as table, as Segments or as a function:
  integral   x' = -r x + f(u, v) with f zero where the inputs rest: the integral, piece by piece, split where f bends
  count      how often a relation of degree two or of a wave of the inputs rises: its crossings on each piece, exact
  switch     Booleans and Integers as functions of time: how often and when they change
The answers come from quadrature between all breakpoints and from roots of polynomials.
"""

from __future__ import annotations

import bisect
import functools
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import quad

import pliant
from families import RIGHT, WRONG, Family, Outcome

Array = NDArray[np.float64]
NEVER = 1e9
KINDS = ("hill", "wave", "bell", "window", "product", "above")
MODEL = """
model Content
  input Real u, v;
  input Boolean b;
  input Integer k;
  parameter Real r = 0, a = 0.5, w = 1, hill = 0, wave = 0, bell = 0, window = 0, product = 0, above = 0;
  parameter Real band = 0, high = 1e9, corner = 1e9;
  Real x(start = 0, fixed = true), z(start = 0, fixed = true);
  Integer n1(start = 0, fixed = true), n2(start = 0, fixed = true), n3(start = 0, fixed = true);
  Integer nb(start = 0, fixed = true), nk(start = 0, fixed = true);
  discrete Real tb(start = 0, fixed = true), tk(start = 0, fixed = true);
equation
  der(x) = -r*x + hill*u*(1 - u) + wave*sin(w*u)^2 + bell*exp(-((u - a)/0.07)^2)
    + window*noEvent(if abs(u - a) < 0.2 then 1 else 0) + product*u*v + above*max(0, u*v - 0.1);
  der(z) = if b then k else 0;
  when (u - a)^2 < band then n1 = pre(n1) + 1; end when;
  when sin(w*u) > high then n2 = pre(n2) + 1; end when;
  when u*v > corner then n3 = pre(n3) + 1; end when;
  when b then nb = pre(nb) + 1; tb = pre(tb) + time; end when;
  when k >= 2 then nk = pre(nk) + 1; tk = pre(tk) + time; end when;
end Content;
"""


@functools.cache
def model() -> pliant.Model:
    return pliant.load(MODEL)


class Drive:
    """Two inputs on one set of times, straight between them: u rests on 0 or 1, v on the other."""

    def __init__(self, rng: np.random.Generator, how: dict[str, Any]) -> None:
        self.stop = stop = how["stop"]
        shortest = -2.5 if how["form"] == "function" else -3.5  # functions are sampled 10 000 times
        times, values, at = [0.0], [0.0], stop * rng.uniform(0.05, 0.5)
        for _ in range(int(rng.integers(1, 4))):
            width = stop * 10 ** rng.uniform(shortest, -1)
            if at + width > 0.95 * stop:
                break
            times += [at, at + width]
            values += [values[-1], 1.0 - values[-1]]
            at += width + stop * rng.uniform(0.02, 0.3)
        self.times, self.u = np.array([*times, stop]), np.array([*values, values[-1]])
        self.v = 1.0 - self.u

    def given(self, values: Array, form: str) -> Any:
        if form == "table":
            return self.times, values
        if form == "segments":
            slope = np.append(np.diff(values) / np.diff(self.times), 0.0)
            return pliant.Segments(self.times, np.column_stack([values, slope]))
        return lambda t: float(np.interp(t, self.times, values))

    def pieces(self) -> list[tuple[float, float, float, float]]:
        """(begin, end, u there, u at the end)"""
        return list(zip(self.times[:-1], self.times[1:], self.u[:-1], self.u[1:], strict=True))


def split(values: tuple[float, float], levels: Array) -> Array:
    """Shares of a piece, 0 to 1, where u passes a level."""
    low, high = values
    inside = [(c - low) / (high - low) for c in levels if min(low, high) < c < max(low, high)] if low != high else []
    return np.array([0.0, *sorted(inside), 1.0])


# ------------------------------------------------------------------------------------------------------ kinds


def integral(rng: np.random.Generator, how: dict[str, Any]) -> tuple[float, str]:
    drive = Drive(rng, how)
    kind = str(rng.choice(KINDS))
    a, w = float(rng.uniform(0.25, 0.75)), float(np.pi * rng.integers(1, 4))
    decay = float(rng.choice([0.0, 10 ** rng.uniform(-1, 1)])) / drive.stop
    least = float(np.diff(drive.times)[1::2].min()) if len(drive.times) > 3 else drive.stop
    gain = float(10 ** rng.uniform(0, 1)) / least
    f: dict[str, Callable[[float], float]] = {
        "hill": lambda u: u * (1 - u),
        "wave": lambda u: float(np.sin(w * u) ** 2),
        "bell": lambda u: float(np.exp(-(((u - a) / 0.07) ** 2))),
        "window": lambda u: 1.0 if abs(u - a) < 0.2 else 0.0,
        "product": lambda u: u * (1 - u),
        "above": lambda u: max(0.0, u * (1 - u) - 0.1),
    }
    levels = np.array([a, a - 0.2, a + 0.2, 0.5 - np.sqrt(0.15), 0.5 + np.sqrt(0.15), 0.5])
    exact = 0.0
    for begin, end, u0, u1 in drive.pieces():
        cuts = split((u0, u1), levels)
        for one, other in itertools.pairwise(cuts):

            def part(s: float, begin: float = begin, end: float = end, u0: float = u0, u1: float = u1) -> float:
                t = begin + s * (end - begin)
                return float(np.exp(-decay * (drive.stop - t)) * gain * f[kind](u0 + s * (u1 - u0)))

            exact += (end - begin) * quad(part, one, other, epsabs=1e-13, epsrel=1e-11, limit=200)[0]
    inputs = {name: drive.given(values, how["form"]) for name, values in (("u", drive.u), ("v", drive.v))}
    result = model().simulate(
        stop=drive.stop,
        method=how["method"],
        rtol=how["rtol"],
        inputs=inputs,
        parameters={"r": decay, "a": a, "w": w, kind: gain},
    )
    # each piece is an error of its own, and jumps and kinks of f inside noEvent and max are met by failing steps
    error = abs(result.final["x"] - exact) / (how["rtol"] * max(1.0, abs(exact)))
    return error / (5.0 if kind in ("window", "above") else 1.0), f"{kind}, error {error:.3g} tolerances"


def count(rng: np.random.Generator, how: dict[str, Any]) -> tuple[float, str]:
    drive = Drive(rng, how)
    most = 12 if how["form"] == "function" else 60
    a, reach, w = float(rng.uniform(0.3, 0.7)), float(rng.uniform(0.05, 0.25)), float(rng.uniform(2, most))
    high, corner = float(rng.uniform(-0.9, 0.95)), float(rng.uniform(0.05, 0.24))
    chosen = int(rng.integers(3))
    wave = [(np.arcsin(high) + 2 * np.pi * m) / w for m in range(12)]
    wave += [(np.pi - np.arcsin(high) + 2 * np.pi * m) / w for m in range(-1, 12)]
    bow = np.sqrt(0.25 - corner)
    levels = [np.array([a - reach, a + reach]), np.array(wave), np.array([0.5 - bow, 0.5 + bow])][chosen]
    truth: Callable[[float], bool] = [
        lambda u: (u - a) ** 2 < reach**2,
        lambda u: np.sin(w * u) > high,
        lambda u: u * (1 - u) > corner,
    ][chosen]
    was, exact = bool(truth(drive.u[0])), 0
    for _, _, u0, u1 in drive.pieces():
        cuts = split((u0, u1), levels)
        for middle in 0.5 * (cuts[:-1] + cuts[1:]):
            now = bool(truth(u0 + middle * (u1 - u0)))
            exact, was = exact + (now and not was), now
    only = [{"band": reach**2}, {"high": high}, {"corner": corner}][chosen]
    inputs = {name: drive.given(values, how["form"]) for name, values in (("u", drive.u), ("v", drive.v))}
    result = model().simulate(
        stop=drive.stop, method=how["method"], rtol=how["rtol"], inputs=inputs, parameters={"a": a, "w": w, **only}
    )
    found = int(result.final[f"n{chosen + 1}"])
    return (0.0 if found == exact else NEVER), f"relation {chosen + 1}: {found} events, exact {exact}"


def switch(rng: np.random.Generator, how: dict[str, Any]) -> tuple[float, str]:
    stop = how["stop"]

    def turns(n: int) -> list[float]:
        gaps = 10 ** rng.uniform(-3.5, 0, n + 1)
        return list(np.cumsum(0.9 * stop * gaps / max(1.0, gaps.sum()))[:n])

    tb, tk = turns(int(rng.integers(1, 8))), turns(int(rng.integers(1, 8)))
    steps = [int(one) for one in rng.integers(0, 5, len(tk) + 1)]
    steps[0] = int(rng.integers(0, 2))
    inputs = {"b": lambda t: bisect.bisect_right(tb, t) % 2 == 1, "k": lambda t: steps[bisect.bisect_right(tk, t)]}
    result = model().simulate(stop=stop, method=how["method"], rtol=how["rtol"], inputs=inputs)
    rises = [t for t, old, new in zip(tk, steps[:-1], steps[1:], strict=True) if old < 2 <= new]
    cuts, area = sorted({0.0, *tb, *tk, stop}), 0.0
    for one, other in itertools.pairwise(cuts):
        middle = 0.5 * (one + other)
        area += (other - one) * (steps[bisect.bisect_right(tk, middle)] if inputs["b"](middle) else 0)
    exact = {"nb": len(tb[::2]), "tb": sum(tb[::2]), "nk": len(rises), "tk": sum(rises), "z": area}
    wrong = [
        f"{name} = {result.final[name]}, exact {value}"
        for name, value in exact.items()
        if abs(result.final[name] - value) > (1e-9 if name != "z" else how["rtol"]) * 10 * max(1.0, stop)
    ]
    return (NEVER if wrong else 0.0), "; ".join(wrong)


def check(seed: int) -> Outcome:
    rng = np.random.default_rng([17, seed])
    how = {
        "method": str(rng.choice(["auto", "bdf", "radau5", "dopri5"])),
        "form": str(rng.choice(["table", "segments", "function"])),
        "stop": float(10 ** rng.uniform(-1, 2)),
        "rtol": float(10 ** rng.uniform(-7, -4)),
    }
    error, told = [integral, integral, count, switch][seed % 4](rng, how)
    detail = f"{told} ({how['method']}, {how['form']}, rtol {how['rtol']:.1e})"
    return Outcome(seed, RIGHT if error <= 100.0 else WRONG, detail, error)


FAMILY = Family(
    name="input_content",
    what="content of f and relations between points of inputs: bent f, bands, waves, Boolean and Integer functions",
    goal="all right, errors of integrals <= 100 tolerances",
    count=400,
    part=7,
    check=check,
)
