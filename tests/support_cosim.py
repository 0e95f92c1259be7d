"""Couplings that several tests use."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import expm

import pliant

EXAMPLES = Path(__file__).parents[1] / "examples" / "cosim"

# x1, v1, x2, v2 of the triple spring, triple damper: written down apart from the Modelica text
SPRING_DAMPER = np.array([[0, 1, 0, 0], [-35, -1.1, 25, 0.1], [0, 0, 0, 1], [25, 0.1, -75, -2.1]])
SPRING_WIRES = (
    ("left.x", "right.x1"),
    ("left.v", "right.v1"),
    ("right.x", "left.x2"),
    ("right.v", "left.v2"),
)

# y = x + gain u: the input goes straight through
THROUGH = """
model Through
  parameter Real gain = 0.5, rate = 1, begin = 1;
  input Real u;
  Real x(start = begin, fixed = true);
  output Real y;
equation
  der(x) = -rate*x;
  y = x + gain*u;
end Through;
"""

# x' = u, and the square root ends the model's life at x = 0
FRAGILE = """
model Fragile
  input Real u;
  Real x(start = 1, fixed = true);
  Real y(start = 0, fixed = true);
equation
  der(x) = -1 + 0*u;
  der(y) = sqrt(x - 0.495);
end Fragile;
"""


@cache
def example(name: str) -> pliant.Model:
    return pliant.load(EXAMPLES / f"{name}.mo")


@cache
def text_model(text: str) -> pliant.Model:
    return pliant.load(text)


def spring_damper(**options: Any) -> pliant.Coupling:
    coupling = pliant.Coupling()
    coupling.add("left", example("spring_damper_left"), **options)
    coupling.add("right", example("spring_damper_right"), **options)
    for source, target in SPRING_WIRES:
        coupling.connect(source, target)
    return coupling


def exact_spring(t: float) -> NDArray[np.float64]:
    return np.asarray(expm(SPRING_DAMPER * t) @ np.array([10.0, 0.0, 0.0, 0.0]))


def spring_error(result: pliant.Result) -> float:
    names = ("left.x", "left.v", "right.x", "right.v")
    exact = np.array([exact_spring(t) for t in result.time])
    return float(np.abs(result[names] - exact).max())


def through_loop(gain: float, second: float | None = None) -> pliant.Coupling:
    """Two parts whose outputs go straight into each other: y1 = x1 + g y2, y2 = x2 + g y1."""
    coupling = pliant.Coupling()
    coupling.add("a", text_model(THROUGH), parameters={"gain": gain})
    coupling.add("b", text_model(THROUGH), parameters={"gain": gain if second is None else second, "begin": 2.0})
    coupling.connect("a.y", "b.u")
    coupling.connect("b.y", "a.u")
    return coupling
