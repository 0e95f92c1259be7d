"""Linear networks x' = A x + e, cut at random into parts that give their states to each other, with the exact solution.

The parts are a few generic models with their matrices as parameters, so that hardly anything has to be compiled.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

import pliant

Matrix = NDArray[np.float64]
MOST_INPUTS = 4


def text(n: int, m: int) -> str:
    """A part with n states and m inputs; y is a further output, a sum of states and, with weight d, of inputs."""
    states, inputs = range(n), range(m)
    lines = [f"  parameter Real a{i}_{k} = 0;" for i in states for k in states]
    lines += [f"  parameter Real b{i}_{j} = 0;" for i in states for j in inputs]
    lines += [f"  parameter Real e{i} = 0, s{i} = 0;" for i in states]
    lines += [f"  input Real u{j}(start = 0);" for j in inputs]
    lines += [f"  output Real x{i}(start = s{i}, fixed = true);" for i in states]
    rows = []
    for i in states:
        terms = [f"a{i}_{k}*x{k}" for k in states] + [f"b{i}_{j}*u{j}" for j in inputs]
        rows.append(f"  der(x{i}) = {' + '.join(terms)} + e{i};")
    return "\n".join([f"model P{n}_{m}", *lines, "equation", *rows, f"end P{n}_{m};\n"])


@cache
def model(n: int, m: int) -> pliant.Model:
    """Compiled once."""
    return pliant.load(text(n, m))


@dataclass
class Network:
    """x' = A x + e, and which states belong to which part."""

    matrix: Matrix
    constant: Matrix
    start: Matrix
    parts: list[list[int]]

    def coupling(self, models: dict[tuple[int, int], pliant.Model] | None = None) -> tuple[pliant.Coupling, list[str]]:
        """The coupling, and the names of the states in it; ``models``: other ones with these sizes."""
        names = [""] * len(self.start)
        for p, own in enumerate(self.parts):
            for i, state in enumerate(own):
                names[state] = f"p{p}.x{i}"
        coupling, wires = pliant.Coupling(), []
        for p, own in enumerate(self.parts):
            needed = self.inputs(p)
            given = {f"a{i}_{k}": float(self.matrix[a, b]) for i, a in enumerate(own) for k, b in enumerate(own)}
            given |= {f"b{i}_{j}": float(self.matrix[a, b]) for i, a in enumerate(own) for j, b in enumerate(needed)}
            given |= {f"e{i}": float(self.constant[a]) for i, a in enumerate(own)}
            given |= {f"s{i}": float(self.start[a]) for i, a in enumerate(own)}
            size = len(own), len(needed)
            coupling.add(f"p{p}", model(*size) if models is None else models[size], parameters=given)
            wires += [(names[b], f"p{p}.u{j}") for j, b in enumerate(needed)]
        for source, target in wires:
            coupling.connect(source, target)
        return coupling, names

    def inputs(self, p: int) -> list[int]:
        """States of others that part p needs."""
        own = self.parts[p]
        return [b for b in range(len(self.start)) if b not in own and self.matrix[own, b].any()]

    def at(self, times: Matrix) -> Matrix:
        """The exact states."""
        n = len(self.start)
        big = np.zeros((n + 1, n + 1))
        big[:n, :n], big[:n, n] = self.matrix, self.constant
        first = np.append(self.start, 1.0)
        return np.array([(scipy.linalg.expm(big * float(t)) @ first)[:n] for t in times])


def network(random: np.random.Generator, stable: bool = True) -> Network:
    """Two to four parts of one to three states; rates between 0.2 and 30, some of them swing."""
    while True:
        sizes = [int(random.integers(1, 4)) for _ in range(int(random.integers(2, 5)))]
        n = sum(sizes)
        a = random.standard_normal((n, n)) * (random.random((n, n)) < 0.6) / np.sqrt(n)
        a *= float(random.choice([0.5, 2.0, 6.0]))
        a -= (max(np.linalg.eigvals(a).real.max(), 0.0) + float(random.choice([0.1, 0.5]))) * np.eye(n)
        order = random.permutation(n)
        ends = np.cumsum(sizes)
        parts = [[int(k) for k in order[end - size : end]] for size, end in zip(sizes, ends, strict=True)]
        found = Network(a, random.standard_normal(n) * (random.random(n) < 0.4), random.standard_normal(n), parts)
        most = max(len(found.inputs(p)) for p in range(len(parts)))
        if 1 <= most <= MOST_INPUTS:
            return found
