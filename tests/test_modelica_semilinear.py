"""semiLinear in networks of mixing nodes: against upwind mixing by hand where something flows, and at rest."""

from __future__ import annotations

import numpy as np
import pytest

import pliant

TIMES = np.linspace(0.0, 4.0, 41)


class MixingNetwork:
    """Nodes without volume between reservoirs; flows are sums of paths from one reservoir to another."""

    def __init__(self, seed: int) -> None:
        chance = np.random.default_rng([22, seed])
        self.n = int(chance.integers(1, 7))
        self.h = [float(h) for h in chance.integers(1, 100, int(chance.integers(2, 5)))]
        tree = [(k, int(chance.integers(0, k))) for k in range(1, self.n)]
        ends = [(self.n + k, int(chance.integers(0, self.n))) for k in range(len(self.h))]
        self.edges = tree + ends  # flow from the first to the second; numbers from n on: reservoirs
        self.paths = []  # (flow of each edge, times at which it flows, amount)
        for _ in range(int(chance.integers(1, 4))):
            a, b = chance.choice(len(self.h), 2, replace=False)
            self.paths.append((self._path(self.n + int(a), self.n + int(b)), *self._pulse(chance)))

    def _pulse(self, chance: np.random.Generator) -> tuple[float, float, float]:
        start, stop = sorted(chance.choice(np.arange(0.05, 4.0, 0.2), 2, replace=False))
        return float(start), float(stop), float(chance.choice([-2.0, -0.5, 1.0, 3.0]))

    def _path(self, a: int, b: int) -> np.ndarray:
        flow = np.zeros(len(self.edges))
        incidence = np.zeros((self.n + len(self.h), len(self.edges)))
        for k, (i, j) in enumerate(self.edges):
            incidence[i, k], incidence[j, k] = 1.0, -1.0
        wanted = np.zeros(self.n + len(self.h))
        wanted[a], wanted[b] = 1.0, -1.0
        flow = np.linalg.lstsq(incidence, wanted, rcond=None)[0]
        return np.round(flow)

    def flows(self, t: float) -> np.ndarray:
        out = np.zeros(len(self.edges))
        for flow, start, stop, amount in self.paths:
            if start <= t < stop:
                out += amount * flow
        return out

    def text(self) -> str:
        lines = [f"  Real h[{self.n}], y[{len(self.edges)}], m[{len(self.edges)}];", "equation"]
        ends: list[list[str]] = [[] for _ in range(self.n)]
        for k, (i, j) in enumerate(self.edges):
            terms = [
                f"(if time >= {start!r} and time < {stop!r} then {float(amount * flow[k])} else 0)"
                for flow, start, stop, amount in self.paths
                if flow[k]
            ]
            lines.append(f"  m[{k + 1}] = {' + '.join(terms) or '0*time'};")
            slopes = [f"h[{e + 1}]" if e < self.n else f"({self.h[e - self.n]!r} + 0*time)" for e in (i, j)]
            lines.append(f"  y[{k + 1}] = semiLinear(m[{k + 1}], {slopes[0]}, {slopes[1]});")
            if i < self.n:
                ends[i].append(f"- y[{k + 1}]")
            ends[j].append(f"+ y[{k + 1}]")
        lines += [f"  0 = {' '.join(terms)};" for terms in ends]
        return "model Mixing\n" + "\n".join(lines) + "\nend Mixing;\n"


@pytest.mark.parametrize("seed", range(2, 6))
def test_networks_with_branches_at_rest(seed: int) -> None:
    network = MixingNetwork(seed)
    result = pliant.load(network.text()).simulate(stop=4, points=TIMES)
    at_rest = 0
    for row, t in enumerate(result.time):
        h = [result[f"h[{k + 1}]"][row] for k in range(network.n)] + network.h
        assert min(network.h) - 1e-6 <= min(h), t
        assert max(h) <= max(network.h) + 1e-6, t
        flows = network.flows(t)
        for node in range(network.n):
            into = [(m, i) for m, (i, j) in zip(flows, network.edges, strict=True) if j == node and m > 0]
            into += [(-m, j) for m, (i, j) in zip(flows, network.edges, strict=True) if i == node and m < 0]
            at_rest += not into
            if into:
                mixed = sum(m * h[i] for m, i in into) / sum(m for m, _ in into)
                assert h[node] == pytest.approx(mixed, abs=1e-9), (t, node)
    assert at_rest


def test_known_slopes_are_left_alone() -> None:
    """semiLinear(0, 2, 3) is 0, not nearly."""
    text = "model M\n  Real x = time - 1, y = semiLinear(x, 2, 3), z = semiLinear(x, y, y);\nend M;\n"
    result = pliant.load(text).simulate(stop=2, points=3)
    assert result["y"].tolist() == [-3.0, 0.0, 2.0]
    assert result["z"].tolist() == [3.0, 0.0, 2.0]
