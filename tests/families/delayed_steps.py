"""delay(expr, T) in written steps: random linear equations with delays, against series and accurate runs.

x' = -x(t - T)          x = 1 up to t = 0: sum of (-1)^k (t - (k - 1) T)^k / k!
random systems          states, inputs, sampled values and algebraic loops behind delays of any length: the compiled
                        step is the step of the analysis, and follows the accurate run as closely as half the step
                        says that it should
"""

from __future__ import annotations

import math

import numpy as np

import pliant
from families import RIGHT, WRONG, Family, Outcome

STEP, STOP = 0.05, 3.0


def exact(t: float, delay: float) -> float:
    """x' = -x(t - T), x = 1 up to t = 0."""
    terms = range(int(t / delay) + 2)
    logs = (0.0 if k < 2 else math.lgamma(k + 1) for k in terms)
    parts = [
        (-1.0) ** k * math.exp(k * math.log(max(t - (k - 1) * delay, 1e-300)) - one) if k else 1.0
        for k, one in zip(terms, logs, strict=True)
    ]
    return math.fsum(parts)


def text_of(rng: np.random.Generator) -> str:
    """A random model."""
    lengths = [float(rng.choice([STEP * rng.integers(1, 30), STEP * rng.uniform(0.01, 1.0), rng.uniform(0.05, 1.5)]))
               for _ in range(5)]  # fmt: skip
    a = [round(float(one), 3) for one in rng.uniform(-0.8, 0.8, 6)]
    return f"""
model M
  parameter Real T = {lengths[0]!r};
  input Real u(start = 0.5);
  Real x(start = 1, fixed = true), z(start = 0, fixed = true), w, q;
  discrete Real s(start = 0, fixed = true);
  output Real y = delay(u, T);
equation
  der(x) = -x + ({a[0]})*delay(x, {lengths[1]!r}) + ({a[1]})*y + ({a[2]})*delay(s, {lengths[2]!r});
  w = delay(x*x + u, {lengths[3]!r}) + 0.3*sin(q);
  q = 0.5*delay(q, {lengths[4]!r}) + x + 0.2*w;
  der(z) = w - 5*z + ({a[3]})*delay(z, T);
  when sample(0.1, 0.2) then
    s = 0.5*pre(s) + x + ({a[4]})*delay(x, {lengths[1]!r});
  end when;
end M;
"""


def check(seed: int) -> Outcome:
    """One random system."""
    rng = np.random.default_rng(seed)
    text, order = text_of(rng), int(rng.integers(1, 3))
    precision = str(rng.choice(["double", "float"]))
    inputs = {"u": ([0.0, 1.0, 1.0, 2.0, STOP], [0.0, 0.5, *rng.uniform(0.0, 1.0, 3)])}
    model, apart = pliant.load(text), []
    for step in (STEP, STEP / 4):
        plan = model.realtime(
            step=step, stop=STOP, order=order, accuracy=None, scenarios=[{"inputs": inputs}],
            options={"precision": precision, "certificate": False, "reference": False, "search": "full"},
        )  # fmt: skip
        line = next(one for one in plan.evidence.items if one.name == "generated code")
        if not line.holds:
            return Outcome(seed, WRONG, line.text)
        run = plan.simulate(stop=STOP, inputs=inputs)
        accurate = model.simulate(stop=STOP, points=run.time, rtol=1e-8, inputs=inputs)
        apart.append(max(float(np.abs(run[name] - accurate[name]).max()) for name in ("x", "z")))
    if not apart[1] <= max(0.45 * apart[0], 2e-4) or not apart[0] < 0.3:
        return Outcome(seed, WRONG, f"errors {apart[0]:.3g}, {apart[1]:.3g} with a fourth of the step")
    return Outcome(seed, RIGHT)


FAMILY = Family(
    name="delayed_steps",
    what="delays of states, inputs, sampled values and loops, longer and shorter than a step, in written steps",
    goal="the step of the analysis; errors fall with the step",
    count=60,
    part=1,
    check=check,
)
