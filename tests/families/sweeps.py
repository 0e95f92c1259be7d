"""Random models, random cases: many runs against single ones bit for bit, and against exact solutions.

Chains of linear first-order lags with random couplings have the exact solution expm(A t) x0; parameters, start values,
constant inputs and stop come from the columns of the cases. Some models have events (a clock that counts), some
scales that follow parameters.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import expm

import pliant
from families import FAILED, RIGHT, WRONG, Family, Outcome

KEEPS = (None, "final", "names", "function")


def kept(result: pliant.Result) -> float:
    return float(result.values[-1, 0])


def model_text(rng: np.random.Generator, n: int, has_clock: bool, is_scaled: bool) -> str:
    lines = [f"model M\n  parameter Real k[{n}] = fill(1.0, {n});\n  input Real u(start = 0.3);"]
    nominal = ", nominal = k[1]" if is_scaled else ""
    lines.append("".join(f"\n  Real x{i + 1}(start = {i + 1}, fixed = true{nominal});" for i in range(n)))
    if has_clock:
        lines.append("\n  discrete Integer c(start = 0, fixed = true);")
    lines.append("\nequation\n")
    for i in range(n):
        before = f"x{i}" if i else "u"
        lines.append(f"  der(x{i + 1}) = k[{i + 1}]*({before} - x{i + 1});\n")
    if has_clock:
        lines.append("  when sample(0.1, 0.25) then c = pre(c) + 1; end when;\n")
    return "".join(lines) + "end M;\n"


def exact(k: np.ndarray, x: np.ndarray, u: float, t: float) -> np.ndarray:
    """Of the chain, u as another state that stays."""
    n = len(k)
    a = np.zeros((n + 1, n + 1))
    for i in range(n):
        a[i + 1, i], a[i + 1, i + 1] = k[i], -k[i]
    return (expm(a * t) @ np.concatenate([[u], x]))[1:]


def check(seed: int) -> Outcome:
    rng = np.random.default_rng(seed)
    n, count = int(rng.integers(1, 5)), int(rng.integers(1, 12))
    has_clock, is_scaled = bool(rng.random() < 0.3), bool(rng.random() < 0.3)
    model = pliant.load(model_text(rng, n, has_clock, is_scaled))
    columns: dict[str, np.ndarray] = {}
    for i in range(n):
        if rng.random() < 0.6:
            columns[f"k[{i + 1}]"] = 10 ** rng.uniform(-1, 3, count)
        if rng.random() < 0.5:
            columns[f"start(x{i + 1})"] = rng.uniform(-2, 2, count)
    if rng.random() < 0.5:
        columns["u"] = rng.uniform(-1, 1, count)
    if rng.random() < 0.5 or not columns:
        columns["stop"] = rng.uniform(0.2, 3.0, count)
    names = list(columns)
    design = pliant.design.Design(tuple(names), np.column_stack([columns[name] for name in names]), "random")
    shared = {"rtol": float(10 ** rng.uniform(-8, -4)), "method": str(rng.choice(["auto", "bdf", "radau5"]))}
    keep = KEEPS[int(rng.integers(4))]
    asked = ["x1"] if keep == "names" else kept if keep == "function" else keep
    study = model.simulate_many(design, stop=1.0, keep=asked, workers=2, **shared)
    if study.failures:
        return Outcome(seed, FAILED, str(next(iter(study.failures.values()))))
    worst = 0.0
    for j in range(count):
        case = study.cases.case(j)
        stop = case.stop if case.stop is not None else 1.0
        alone = model.simulate(
            stop=stop,
            parameters=case.parameters,
            start_values=case.start_values,
            inputs=case.inputs,
            outputs=["x1"] if keep == "names" else None,
            **shared,
        )
        one = study[j]
        same = {
            None: lambda one=one, alone=alone: np.array_equal(one.values, alone.values),
            "final": lambda one=one, alone=alone: one == alone.final,
            "names": lambda one=one, alone=alone: np.array_equal(one["x1"], alone["x1"]),
            "function": lambda one=one, alone=alone: one == kept(alone),
        }[keep]
        if not same():
            return Outcome(seed, WRONG, f"case {j} is not what simulate gives (keep = {keep})")
        k = np.array([case.parameters.get(f"k[{i + 1}]", 1.0) for i in range(n)])
        x = np.array([case.start_values.get(f"x{i + 1}", i + 1.0) for i in range(n)])
        u = float(case.inputs.get("u", 0.3))
        wanted = exact(k, x, u, stop)[0]
        worst = max(worst, abs(alone["x1"][-1] - wanted) / (shared["rtol"] * max(1.0, np.abs(x).max())))
    return Outcome(seed, RIGHT if worst < 300 else WRONG, f"{worst:.0f} tolerances", worst)


FAMILY = Family(
    name="sweeps",
    what="many runs against single runs bit for bit, and against exact solutions",
    goal="all the same, all right",
    count=200,
    part=2,
    check=check,
    seed=7000,
)
