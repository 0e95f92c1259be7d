"""Torn loops from exact start values, with unknowns of 1e-6 to 1e6 in one loop, some of them zero at the start.

Equation i:  sum_j c_ij (y_j - s_j(t))/size_j + d (h(y_k/size_k) - h(s_k/size_k)) + large part = 0,  so y = s(t); the
first unknown has the largest coefficient, so that the loop is regular. The large part, B ((1 + e y) - (1 + e s)),
leaves a residual of rounding far above what the unknown itself would have.
"""

from __future__ import annotations

import numpy as np

import pliant
from families import FAILED, RIGHT, WRONG, Family, Outcome

LIMIT = 100.0  # tolerances
STOP = 3.0
SHAPES = ("({})^3", "exp({})", "sin({})", "({})*abs({})", "sqrt(1+({})^2)", "tanh({})")
RISING = (0, 1, 3)  # of the first unknown only: then there is one solution


def make(seed: int) -> tuple[str, np.ndarray, np.ndarray, np.ndarray]:
    """Model text; offsets, frequencies and sizes of the unknowns."""
    r = np.random.default_rng(seed)
    n = int(r.integers(2, 7))
    size = 10.0 ** r.integers(-6, 7, n).astype(float)
    offset = np.where(r.random(n) < 0.3, 0.0, r.uniform(0.5, 2, n))
    w = r.uniform(0.3, 3, n)
    nominal = r.random() < 0.5
    lines, declare = [], ["Real z(start=0, fixed=true);"]
    for j in range(n):
        attribute = f", nominal={float(size[j])!r}" if nominal else ""
        declare.append(f"Real y{j}(start={float(size[j] * offset[j])!r}{attribute}); Real s{j};")
        lines.append(f"s{j} = {float(size[j])!r}*({float(offset[j])!r}+0.3*sin({float(w[j])!r}*time));")
    for i in range(n):
        row = 10.0 ** float(r.integers(-3, 4))
        others = list(dict.fromkeys([(i + 1) % n, int(r.integers(n))]))
        others = [j for j in others if j != i]
        weights = r.uniform(0.2, 1, len(others))
        shape = int(r.integers(len(SHAPES)))
        k = i if shape in RISING else int(r.choice([i, *others]))
        share = float(r.uniform(0.05, 0.3))
        large = float(10.0 ** r.integers(0, 7)) if r.random() < 0.5 else 0.0
        diagonal = 2 * (weights.sum() + share + 0.1)
        terms = [f"{float(row * diagonal / size[i])!r}*(y{i}-s{i})"]
        terms += [f"{float(row * c / size[j])!r}*(y{j}-s{j})" for c, j in zip(weights, others, strict=True)]
        scaled = [SHAPES[shape].replace("{}", f"{v}{k}*{float(1 / size[k])!r}") for v in "ys"]
        terms.append(f"{row * share!r}*({scaled[0]}-{scaled[1]})")
        if large:
            inner = float(1e-3 / size[i])
            terms.append(f"{row * large!r}*((1+y{i}*{inner!r})-(1+s{i}*{inner!r}))")
        lines.append(" + ".join(terms) + " = 0;")
    lines.append("der(z) = " + " + ".join(f"y{j}*{float(1 / size[j])!r}" for j in range(n)) + ";")
    text = "model M\n " + "\n ".join(declare) + "\nequation\n " + "\n ".join(lines) + "\nend M;\n"
    return text, offset, w, size


def check(seed: int) -> Outcome:
    """Make, run, compare."""
    text, offset, w, size = make(seed)
    try:
        result = pliant.load(text).simulate(stop=STOP, rtol=1e-6, points=51)
    except pliant.PliantError as error:
        return Outcome(seed, FAILED, f"{error}\n{text}")
    t = result.time
    exact = sum(o * t + 0.3 * (1 - np.cos(q * t)) / q for o, q in zip(offset, w, strict=True))
    error = np.abs(result["z"] - exact).max() / (1e-6 * np.abs(exact).max())
    for j, (o, q) in enumerate(zip(offset, w, strict=True)):  # loops are solved exactly but for rounding
        miss = np.abs(result[f"y{j}"] / size[j] - (o + 0.3 * np.sin(q * t))).max()
        error = max(error, miss / 1e-6)
    return Outcome(seed, RIGHT if error <= LIMIT else WRONG, f"wrong by {error:.3g} tolerances\n{text}", float(error))


FAMILY = Family(
    name="loops",
    what="torn loops from exact start values, badly scaled",
    goal="all end, within tolerance",
    count=300,
    part=1,
    check=check,
)
