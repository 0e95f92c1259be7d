"""Plans for the tests of what is written and measured."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path
from typing import Any

import pliant
from pliant.realtime.build import make_plan
from pliant.realtime.plan import Plan

ROOT = Path(__file__).parents[1]

SMALL = """
model Small "Inputs, parameters, a loop that is not linear"
  input Real u(start = 1) "drive";
  parameter Real a = 2 "damping", b = 3, k = 20;
  Real x(start = 1, fixed = true), v(start = 0, fixed = true), w(start = 0.3, fixed = true);
  Real p(start = 0.5), q;
  output Real y = p + u*x;
equation
  der(x) = v;
  der(v) = -k*x - a*v + u - p;
  der(w) = -500*(w - x) + 0.001*v;
  p + b*q^3 = x + u;
  q = p + 0.1*sin(p);
end Small;
"""


def drive(t: float) -> float:
    """The input of the small model."""
    return 1.0 + 0.3 * math.sin(5.0 * t)


@cache
def small_model() -> pliant.Model:
    return pliant.load(SMALL)


@cache
def small_plan(precision: str = "double", monitor: str = "flag", order: int = 1, inputs: str = "new") -> Plan:
    return make_plan(
        small_model()._numeric,
        step=1e-2,
        stop=3.0,
        tolerance=0.02,
        theta=0.5,
        order=order,
        scenarios=[{"inputs": {"u": drive}, "parameters": {"a": 2.5}}],
        options={"precision": precision, "monitor": monitor, "inputs": inputs, "reference": False},
        report=lambda progress: None,
    )


@cache
def pipe_plan(**options: Any) -> Plan:
    model = pliant.load(str(ROOT / "examples" / "Pipe.mo"))
    return make_plan(
        model._numeric,
        step=0.1,
        stop=60.0,
        tolerance=0.02,
        theta=0.5,
        order=1,
        scenarios=None,
        options={"reference": False, **options},
        report=lambda progress: None,
    )
