"""Couplings that grow although their parts do not: noticed where they do, silent where they do not.

Two or three random linear parts x' = A x + B u + e, y = C x in a ring; the coupled system is stable, or grows by
itself in one case of six. Macro steps from harmless to far too long, one
in four runs chosen by error. The truth is the matrix exponential of the whole.
Asked: a signal that leaves 10 times the range of the true response is noticed; a result within a fifth of the truth is
not refused; a remedy is named that makes the result right when it is followed (at most four times).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

import pliant
from families import RIGHT, WRONG, Family, Outcome

STEPS = 150
Matrix = NDArray[np.float64]


@dataclass
class System:
    """The parts, x' = A x + E of all together, names of the states."""

    texts: list[str]
    wires: list[tuple[str, str]]
    matrix: Matrix
    constant: Matrix
    start: Matrix
    names: list[str]


def _part(
    random: np.random.Generator, name: str, n: int, n_u: int
) -> tuple[str, Matrix, Matrix, Matrix, Matrix, Matrix]:
    """A stable part as text, with its matrices."""
    a = random.standard_normal((n, n))
    a -= (np.linalg.eigvals(a).real.max() + random.choice([0.02, 0.2, 1.0])) * np.eye(n)
    b = random.standard_normal((n, n_u)) * random.choice([0.3, 1.0, 3.0])
    c, e = random.standard_normal((1, n)), random.standard_normal(n) * random.choice([0.0, 1.0])
    x = random.standard_normal(n)
    lines = [f"  Real x{i}(start = {x[i]!r}, fixed = true);" for i in range(n)]
    inputs = [f"  input Real u{j};" for j in range(n_u)]
    rows = []
    for i in range(n):
        terms = [f"({a[i, k]!r})*x{k}" for k in range(n)] + [f"({b[i, j]!r})*u{j}" for j in range(n_u)]
        rows.append(f"  der(x{i}) = {' + '.join(terms)} + ({e[i]!r});")
    y = " + ".join(f"({c[0, k]!r})*x{k}" for k in range(n))
    body = [*inputs, *lines, "  output Real y;", "equation", *rows, f"  y = {y};"]
    text = "\n".join([f"model {name}", *body, f"end {name};\n"])
    return text.replace("np.float64(", "(").replace("((", "(("), a, b, c, e, x


def system_of(random: np.random.Generator) -> System:
    """Parts in a ring."""
    count = int(random.integers(2, 4))
    parts = [_part(random, f"P{p}", int(random.integers(1, 4)), 1) for p in range(count)]
    sizes = [len(part[5]) for part in parts]
    first = np.concatenate([[0], np.cumsum(sizes)]).astype(int)
    whole = np.zeros((first[-1], first[-1]))
    wires = []
    for p, (_, a, b, _, _, _) in enumerate(parts):
        q = (p - 1) % count
        here, there = slice(first[p], first[p + 1]), slice(first[q], first[q + 1])
        whole[here, here] += a
        whole[here, there] += b @ parts[q][3]
        wires.append((f"p{q}.y", f"p{p}.u0"))
    names = [f"p{p}.x{i}" for p, n in enumerate(sizes) for i in range(n)]
    return System(
        [part[0] for part in parts],
        wires,
        whole,
        np.concatenate([part[4] for part in parts]),
        np.concatenate([part[5] for part in parts]),
        names,
    )


def exact(system: System, step: float, count: int) -> Matrix:
    """States at the communication points."""
    n = len(system.start)
    big = np.zeros((n + 1, n + 1))
    big[:n, :n], big[:n, n] = system.matrix, system.constant
    move = scipy.linalg.expm(big * step)
    out = [np.append(system.start, 1.0)]
    for _ in range(count):
        out.append(move @ out[-1])
    return np.array(out)[:, :n]


def exact_at(system: System, times: Matrix) -> Matrix:
    """States at any times."""
    n = len(system.start)
    big = np.zeros((n + 1, n + 1))
    big[:n, :n], big[:n, n] = system.matrix, system.constant
    first = np.append(system.start, 1.0)
    return np.array([(scipy.linalg.expm(big * float(t)) @ first)[:n] for t in times])


def _chosen(random: np.random.Generator) -> System:
    """Mostly one that is stable as a whole."""
    grows = random.random() < 1 / 6
    while True:
        system = system_of(random)
        rate = float(np.linalg.eigvals(system.matrix).real.max())
        if (rate < -0.01) if not grows else (0.02 < rate < 1.0):
            return system


def case(seed: int) -> Outcome:
    """One coupling."""
    random = np.random.default_rng(seed)
    system = _chosen(random)
    fastest = float(np.abs(np.linalg.eigvals(system.matrix)).max())
    step = float(random.choice([0.02, 0.1, 0.3, 0.8, 2.0, 5.0, 10.0])) / fastest
    coupling = pliant.Coupling()
    for p, text in enumerate(system.texts):
        coupling.add(f"p{p}", pliant.load(text))
    for source, target in system.wires:
        coupling.connect(source, target)
    asked: dict[str, Any] = {
        "scheme": str(random.choice(["jacobi", "gauss-seidel"])),
        "extrapolation": int(random.integers(0, 3)),
        "smooth": bool(random.random() < 0.2),
    }
    stop = STEPS * step
    if random.random() < 0.25:
        asked |= {"step": "auto", "macro_rtol": float(random.choice([1e-2, 0.1, 0.5]))}
    else:
        asked["step"] = step
    for attempt in range(5):
        given = asked["step"]
        end = stop if given == "auto" else round(stop / given) * given
        scale = np.ptp(exact(system, end / STEPS, STEPS), axis=0).max()
        try:
            run = coupling.simulate(stop=end, rtol=1e-7, **asked)
        except pliant.AccuracyError as error:
            loose = coupling.simulate(stop=end, rtol=1e-7, watch=False, **asked)
            true = exact_at(system, loose.time)
            off = np.abs(np.column_stack([loose[name] for name in system.names]) - true).max() / scale
            if off < 0.2:
                return Outcome(seed, WRONG, f"refused, though only {100 * off:.2g} % off: {error.message}")
            found = re.search(r"stay: (.*)", str(error))
            if found is None:
                return Outcome(seed, WRONG, f"no remedy: {error}")
            remedy = found.group(1).split(", or ")[0]
            key, value = remedy.split("=")
            asked[key] = value.strip("'") if key == "scheme" else float(value)
            continue
        values = np.column_stack([run[name] for name in system.names])
        times = np.ptp(values, axis=0).max() / scale
        return Outcome(
            seed, RIGHT if times < 10.0 else WRONG, f"{times:.3g} times the true range after {attempt} remedies"
        )
    return Outcome(seed, WRONG, "five remedies did not help")


FAMILY = Family(
    name="coupling_growth",
    what="couplings that grow although their parts do not",
    goal="noticed beyond 10x the true range, no false alarm, remedies that work",
    check=case,
    count=300,
    part=2,
)
