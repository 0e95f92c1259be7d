"""Sampled controllers coupled with plants: what they sample and hold is the same as in one model.

A random stable linear plant and one or two sampled parts, x_k = d x_(k-1) + e y(t_k), u = f x_k + g, the second one
behind the first; outputs are the discrete variable itself, an alias, or computed from it. In half of the cases a gain
without states passes the last output on: what it gives changes at ticks only, too. Periods are multiples of the
macro step or not, offsets too; the truth is the exact recursion with matrix exponentials between ticks.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

import pliant
from families import RIGHT, WRONG, Family, Outcome

RTOL = 1e-8
ALLOWED = 1e-5  # of the range; a tick between communication points sees extrapolated inputs and is not compared
Matrix = NDArray[np.float64]


def plant(random: np.random.Generator) -> tuple[str, Matrix, Matrix, Matrix, Matrix]:
    """Text and matrices."""
    n = int(random.integers(1, 4))
    a = random.standard_normal((n, n))
    a -= (np.linalg.eigvals(a).real.max() + 0.3) * np.eye(n)
    b, c, x = random.standard_normal(n), random.standard_normal(n), random.standard_normal(n)
    rows = [f"  Real x{i}(start = {float(x[i])!r}, fixed = true);" for i in range(n)]
    rows += ["  input Real u(start = 0);", "  output Real y;", "equation"]
    for i in range(n):
        terms = " + ".join(f"({float(a[i, k])!r})*x{k}" for k in range(n))
        rows.append(f"  der(x{i}) = {terms} + ({float(b[i])!r})*u;")
    rows.append("  y = " + " + ".join(f"({float(c[k])!r})*x{k}" for k in range(n)) + ";")
    return "\n".join(["model Plant", *rows, "end Plant;\n"]), a, b, c, x


def controller(name: str, first: float, period: float, gains: Matrix, shape: str) -> str:
    """Text of a sampled part."""
    d, e, f, g = (float(one) for one in gains)
    declared = {
        "own": "discrete output Real u(start = 0, fixed = true)",
        "alias": "output Real u",
        "made": "output Real u",
    }
    update = f"pre(s)*({d!r}) + ({e!r})*y"
    lines = [f"model {name}", "  input Real y(start = 0);", "  discrete Real s(start = 0, fixed = true);"]
    lines += [f"  {declared[shape]};", "equation", f"  when sample({first!r}, {period!r}) then", f"    s = {update};"]
    if shape == "own":
        lines.append(f"    u = ({f!r})*s + ({g!r});")
    lines.append("  end when;")
    lines += {"own": [], "alias": ["  u = s;"], "made": [f"  u = ({f!r})*s + ({g!r});"]}[shape]
    return "\n".join([*lines, f"end {name};\n"])


def gain(numbers: Matrix) -> str:
    """Text of a part without states."""
    k, offset = (float(one) for one in numbers[:2])
    return f"""
model Gain
  input Real u(start = 0), bias(start = 0);
  Real a, b;
  output Real y = a + b;
equation
  a + b = ({k!r})*u + ({offset!r}) + bias;
  a - b = 3*u;
end Gain;
"""


def wire(coupling: pliant.Coupling, names: list[str], through: Matrix | None) -> None:
    """The loop from the plant through all controllers, and the gain, back to it."""
    coupling.connect("plant.y", "one.y")
    if len(names) > 2:
        coupling.connect("one.u", "two.y")
    if through is None:
        coupling.connect(f"{names[-1]}.u", "plant.u")
        return
    coupling.add("gain", pliant.load(gain(through)))
    coupling.connect(f"{names[-1]}.u", "gain.u")
    coupling.connect("gain.y", "plant.u")


def case(seed: int) -> Outcome:
    """One loop."""
    random = np.random.default_rng(seed)
    text, a, b, c, x = plant(random)
    step = float(random.choice([0.05, 0.07, 0.1, 1 / 3]))
    two = random.random() < 0.4
    through = np.random.default_rng([seed, 1]).uniform(-2, 2, 3) if seed % 2 else None  # slope, offset, constant input
    shapes = [str(random.choice(["own", "alias", "made"])) for _ in range(2)]
    periods = [step * int(random.integers(1, 6)) for _ in range(2)]
    offsets = [step * int(random.integers(0, 4)) for _ in range(2)]
    gains = [random.uniform(-0.6, 0.6, 4) for _ in range(2)]
    coupling = pliant.Coupling()
    names = ["plant", "one", "two"] if two else ["plant", "one"]
    order = [int(k) for k in random.permutation(len(names))]
    texts = {"plant": text}
    for k, name in enumerate(names[1:]):
        texts[name] = controller(name.title(), offsets[k], periods[k], gains[k], shapes[k])
    for k in order:
        coupling.add(names[k], pliant.load(texts[names[k]]))
    wire(coupling, names, through)
    count = 60
    run = coupling.simulate(
        stop=count * step,
        step=step,
        scheme=str(random.choice(["jacobi", "gauss-seidel"])),
        extrapolation=int(random.integers(0, 3)),
        inputs={} if through is None else {"gain.bias": float(through[2])},
        rtol=RTOL,
    )

    def output(k: int, s: float, ticked: bool) -> float:
        _, _, f, g = gains[k]
        if shapes[k] == "alias":
            return s
        return f * s + g if shapes[k] == "made" or ticked else 0.0

    n = len(x)
    big = np.zeros((n + 1, n + 1))
    big[:n, :n], big[:n, n] = a, b
    move = scipy.linalg.expm(big * step)
    s, ticked = [0.0, 0.0], [False, False]
    ys, us = [], []
    for i in range(count + 1):
        y = float(c @ x)
        seen = y
        for k in range(2 if two else 1):
            ahead = i - round(offsets[k] / step)
            if ahead >= 0 and ahead % round(periods[k] / step) == 0:
                s[k] = gains[k][0] * s[k] + gains[k][1] * seen
                ticked[k] = True
            seen = output(k, s[k], ticked[k])
        ys.append(y)
        us.append(seen)
        if through is not None:
            seen = float(through[0] * seen + through[1] + through[2])
        x = (move @ np.append(x, seen))[:n]
    errors = {
        name: float(np.abs(run[name] - true).max() / max(np.ptp(true), 1e-3))
        for name, true in (("plant.y", np.array(ys)), (f"{names[-1]}.u", np.array(us)))
    }
    wrong = [f"{name} {off:.2g}" for name, off in errors.items() if not off < ALLOWED]
    assert all(b > a for a, b in pairwise(run.time))
    return Outcome(seed, WRONG if wrong else RIGHT, ", ".join(wrong) + f" {shapes} {order}")


FAMILY = Family(
    name="coupling_sampled",
    what="sampled controllers in couplings: outputs are held, ticks see the exchanged values",
    goal="as in one model, 1e-5 of the range",
    check=case,
    count=200,
    part=1,
)
