"""The guarded step outside the evidence: it must not be worse than the step with all entries.

Five plans on narrow scenarios are run far outside them: larger and faster inputs, other parameters and start values.
Errors are shares of the range that the plan's scenarios cover, against an accurate simulation, moved by up to one step
in time. Asked: error of the guarded step <= max(3 x that of the full step, 5 %).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

import pliant
from families import RIGHT, WRONG, Family, Outcome
from pliant.realtime.plan import Plan

ACCURACY = 0.05
BETWEEN = 8  # points of the accurate run in a step
PIPE = """
  parameter Real k = 0.01;
  input Real v(start = 0.05);
  Real T[10](each start = 300, each fixed = true);
equation
  der(T[1]) = v*(310 - T[1]) + k*(350 - T[1]);
  for i in 2:10 loop
    der(T[i]) = v*(T[i-1] - T[i]) + k*(350 - T[i]);
  end for;
"""
ROD = """
  parameter Real a = 40, b = 2e-9;
  input Real q(start = 10);
  Real T[8](each start = 300, each fixed = true);
equation
  der(T[1]) = a*(T[2] - T[1]) + q;
  for i in 2:7 loop
    der(T[i]) = a*(T[i-1] - 2*T[i] + T[i+1]) - b*(T[i]^4 - 300^4);
  end for;
  der(T[8]) = a*(T[7] - T[8]) - b*(T[8]^4 - 300^4);
"""
TANKS = """
  parameter Real c = 3;
  input Real u(start = 1);
  Real h[5](each start = 1, each fixed = true);
  Real q[5];
equation
  for i in 1:5 loop
    q[i] = c*h[i]/sqrt(0.1 + abs(h[i]));
  end for;
  der(h[1]) = u - q[1];
  for i in 2:5 loop
    der(h[i]) = q[i-1] - q[i] + 0.05*(h[i-1] - h[i]);
  end for;
"""
DRIVE = """
  parameter Real J = 0.01, k = 0.5, R = 1, L = 1e-3, c = 200, d = 0.05, f0 = 0.02;
  input Real u(start = 0);
  Real i(start = 0, fixed = true), w(start = 0, fixed = true), w2(start = 0, fixed = true), t(start = 0, fixed = true);
equation
  L*der(i) = u - R*i - k*w;
  J*der(w) = k*i - c*t - d*(w - w2) - f0*tanh(w/0.1);
  3*J*der(w2) = c*t + d*(w - w2) - 0.001*w2*abs(w2);
  der(t) = w - w2;
"""
CELLS = """
  parameter Real r = 1, s = 5;
  input Real u(start = 0.2);
  Real a[4](each start = 0.5, each fixed = true), b[4](each start = 0.1, each fixed = true);
equation
  for i in 1:4 loop
    der(a[i]) = r*(u - a[i]) - s*a[i]*b[i] + 2*((if i > 1 then a[max(i-1, 1)] else u) - a[i]);
    der(b[i]) = s*a[i]*b[i] - 3*b[i] + 0.01*(1 - b[i]);
  end for;
"""
# text, input, its covered range, step, stop, parameter that changes
MODELS = {
    "pipe": (PIPE, "v", (0.01, 0.06), 1.0, 120.0, "k"),
    "rod": (ROD, "q", (0.0, 20.0), 0.02, 3.0, "a"),
    "tanks": (TANKS, "u", (0.5, 1.5), 0.1, 15.0, "c"),
    "drive": (DRIVE, "u", (0.0, 2.0), 2e-3, 0.6, "J"),
    "cells": (CELLS, "u", (0.1, 0.4), 0.05, 8.0, "s"),
}
DEFAULT = {"k": 0.01, "a": 40.0, "c": 3.0, "J": 0.01, "s": 5.0}


def _wave(random: np.random.Generator, low: float, high: float, stop: float) -> tuple[list[float], list[float]]:
    n = int(random.integers(3, 9))
    times = np.linspace(0.0, stop, n)
    return times.tolist(), random.uniform(low, high, n).tolist()


@lru_cache
def _plan(name: str) -> tuple[pliant.Model, Plan]:
    text, u, (low, high), step, stop, _ = MODELS[name]
    random = np.random.default_rng(7)
    scenarios = [{"inputs": {u: _wave(random, low, high, stop)}} for _ in range(3)]
    model = pliant.load(f"model {name.title()}\n{text}end {name.title()};\n")
    return model, model.realtime(step=step, stop=stop, scenarios=scenarios, options={"monitor": "fallback"})


def error_of(x: NDArray[np.float64], accurate: NDArray[np.float64], scale: NDArray[np.float64]) -> float:
    """Largest distance from what the accurate run (``BETWEEN`` points a step) takes within one step, over scale."""
    worst = 0.0
    n = len(x)
    for k in range(n):
        near = accurate[max((k - 1) * BETWEEN, 0) : (k + 1) * BETWEEN + 1]
        out = np.maximum(near.min(axis=0) - x[k], x[k] - near.max(axis=0)).clip(min=0.0)
        worst = max(worst, float((out / scale).max()))
    return worst


def case(seed: int) -> Outcome:
    """One scenario outside the evidence."""
    random = np.random.default_rng(seed)
    name = list(MODELS)[seed % len(MODELS)]
    _, u, (low, high), step, stop, parameter = MODELS[name]
    model, plan = _plan(name)
    factor = float(random.choice([1.0, 2.0, 5.0, 20.0, 40.0]))
    given: dict[str, Any] = {"inputs": {u: _wave(random, low, low + factor * (high - low), stop)}}
    if random.random() < 0.4:
        value = DEFAULT[parameter]
        given["parameters"] = {parameter: value * float(random.choice([0.5, 0.8, 1.5, 2.0]))}
    if random.random() < 0.3:
        first = plan.names[0]
        x = float(plan.outcome.exact[0].x[0, 0])
        given["start_values"] = {first: x * float(random.uniform(0.7, 1.3)) + float(random.uniform(-0.1, 0.1))}
    count = round(stop / step)
    times = np.linspace(0.0, count * step, count * BETWEEN + 1)
    accurate = model.simulate(stop=times[-1], points=times, rtol=1e-8, **given)
    reference = np.column_stack([accurate[one] for one in plan.names])
    scale = np.asarray(plan.outcome.frame.scale)
    errors = {}
    for kind in ("full", "guarded"):
        try:
            run = plan.simulate(stop=stop, kind=kind, **given)
        except pliant.NonFiniteError:
            errors[kind] = np.inf
            continue
        errors[kind] = error_of(np.column_stack([run[one] for one in plan.names]), reference, scale)
    good = errors["guarded"] <= max(3.0 * errors["full"], ACCURACY)
    text = f"{name}, input to {factor:g} x: guarded {100 * errors['guarded']:.3g} %, full {100 * errors['full']:.3g} %"
    return Outcome(seed, RIGHT if good else WRONG, text)


FAMILY = Family(
    name="fallback",
    what="guarded step outside the evidence, 5 models",
    goal="largest error <= max(3x the full step's, 5 %)",
    check=case,
    seed=0,
    count=500,
    part=1,
)
