"""Every kind of input at the entries that look at one point, and in cases of many runs.

Linearisations and Jacobians see the inputs at their time, after a jump there; a steady state takes constants only and
refuses the rest by name; a case of many runs gives the bits of the same single run. Every third case is a bad input of
``input_kinds``: each entry refuses it with the same class of error, by name.
"""

from __future__ import annotations

import functools
import random
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import pliant
from families import RIGHT, WRONG, Family, Outcome
from families.input_kinds import NAMES, STEP, STOP, TICKS, Truth, bad_cases, draw, python_form, weight_of
from families.input_kinds import model as integrals

LATER = "above max by segments"  # not at the start
MODEL = """
type Mode = enumeration(off, slow, fast);
model Points
  input Real uu(min = -1e6, max = 1e6);
  discrete input Real dd;
  input Integer nn(max = 1000);
  input Boolean bb;
  input Mode mm;
  Real xuu(start = 1, fixed = true), xdd(start = 1, fixed = true), xnn(start = 1, fixed = true);
  Real xbb(start = 1, fixed = true), xmm(start = 1, fixed = true);
equation
  der(xuu) = (uu + 100)*xuu - 1;
  der(xdd) = (dd + 100)*xdd - 1;
  der(xnn) = (nn + 100)*xnn - 1;
  der(xbb) = (if bb then 101 else 100)*xbb - 1;
  der(xmm) = (if mm == Mode.off then 101 elseif mm == Mode.slow then 110 else 200)*xmm - 1;
end Points;
"""


@functools.cache
def model() -> pliant.Model:
    return pliant.load(MODEL)


def gains(truths: dict[str, Truth], t: float) -> np.ndarray[Any, Any]:
    return np.array([100.0 + weight_of(name)(truths[name].at(t)) for name in NAMES])


def dense(matrix: Any) -> np.ndarray[Any, Any]:
    return np.asarray(matrix.toarray() if hasattr(matrix, "toarray") else matrix)


def by_points(inputs: Any, t: float) -> dict[str, np.ndarray[Any, Any]]:
    """The gains as linearisation and Jacobian see them."""
    return {
        "linearize": np.diag(dense(model().linearize(t=t, inputs=inputs).A)),
        "jacobian": np.diag(dense(model().jacobian(t=t, inputs=inputs).matrix)),
    }


def by_steady_state(inputs: Any) -> np.ndarray[Any, Any]:
    found = model().steady_state(inputs=inputs)
    return np.array([1.0 / found[f"x{name}"] for name in NAMES])


def run_arguments() -> dict[str, Any]:
    return {"stop": STOP, "method": "rk4", "step": STEP, "points": [*TICKS, STOP]}


def by_many(inputs: Any) -> pliant.Result:
    """The second of two cases."""
    study = integrals().simulate_many([{"inputs": {}}, {"inputs": inputs}], workers=1, **run_arguments())
    if 1 in study.failures:
        raise study.failures[1]
    return study[1]


def good(seed: int) -> Outcome:
    rng = random.Random(seed)
    truths = {name: draw(rng, name) for name in NAMES}
    t = rng.choice([0.0, 0.5, 1.0, rng.randint(0, 256) / 256, rng.uniform(0.0, 1.0)])
    found = []
    with tempfile.TemporaryDirectory() as path:
        inputs = {name: python_form(rng, Path(path), name, truth) for name, truth in truths.items()}
        for entry, seen in by_points(inputs, t).items():
            if not np.allclose(seen, gains(truths, t), rtol=1e-7):
                found.append(f"{entry} at {t}: {seen}, exact {gains(truths, t)}")
        moving = [name for name, truth in truths.items() if truth.kind != "constant"]
        try:
            seen = by_steady_state(inputs)
            if moving:
                found.append(f"steady_state: {moving} are not constant and accepted")
            elif not np.allclose(seen, gains(truths, 0.0), rtol=1e-7):
                found.append(f"steady_state: {seen}, exact {gains(truths, 0.0)}")
        except pliant.ArgumentError as error:
            if not any(name in str(error) for name in moving):
                found.append(f"steady_state: {error}")
        single, case = integrals().simulate(inputs=inputs, **run_arguments()), by_many(inputs)
        found += [f"many runs: {name}" for name in single.names if not np.array_equal(single[name], case[name])]
    return Outcome(seed, WRONG if found else RIGHT, "; ".join(found))


def bad(seed: int) -> Outcome:
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as path:
        cases = bad_cases(Path(path))
        fault = rng.choice(sorted(cases.keys() - {LATER}))
        name, value, expected = cases[fault]
        entries: dict[str, Callable[[], Any]] = {
            "linearize": lambda: model().linearize(inputs={name: value}),
            "jacobian": lambda: model().jacobian(inputs={name: value}),
            "check_jacobian": lambda: model().check_jacobian(inputs={name: value}),
            "steady_state": lambda: model().steady_state(inputs={name: value}),
            "many runs": lambda: by_many({name: value}),
        }
        found = []
        for entry, call in entries.items():
            try:
                call()
                found.append(f"{entry}: {fault} is accepted")
            except Exception as error:
                constant_only = entry == "steady_state" and isinstance(error, pliant.ArgumentError)
                if type(error) is not expected and not constant_only:
                    found.append(f"{entry}: {fault} gives {type(error).__name__}: {error}")
                elif name not in str(error):
                    found.append(f"{entry}: {fault} is not named: {error}")
    return Outcome(seed, WRONG if found else RIGHT, "; ".join(found))


def check(seed: int) -> Outcome:
    return bad(seed) if seed % 3 == 2 else good(seed)


FAMILY = Family(
    name="input_points",
    what="kinds of inputs at operating points and in many runs",
    goal="all right",
    count=600,
    part=5,
    check=check,
)
