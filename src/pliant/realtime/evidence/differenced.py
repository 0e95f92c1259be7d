"""The derivative of the step itself by its states, J changing with them: central differences of whole steps."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pliant.realtime.scenario import Scenario
from pliant.realtime.sparsing.entry_states import Kept
from pliant.realtime.sparsing.linearisations import LARGE, CommonData
from pliant.realtime.sparsing.linearise import Matrix, Trace, Walker

DIFFERENCED = 8  # points of each run; fewer of a large model


def differenced_points(n: int) -> int:
    """How many points of each run."""
    return max(1, DIFFERENCED * min(n, LARGE) // max(n, 1))


def differenced_radius(
    walker: Walker, frame: CommonData, scenarios: Sequence[Scenario], runs: Sequence[Trace], kept: Kept | None
) -> float:
    """Largest |eigenvalue| along these runs."""
    radius = 0.0
    for scenario, run in zip(scenarios, runs, strict=True):
        walker.begin(scenario, run.past)
        for k in np.linspace(0, len(run.t) - 1, differenced_points(frame.n)).astype(int):
            matrix = _differenced(walker, frame, float(run.t[k]), run.x[k], kept)
            radius = max(radius, float(np.abs(np.linalg.eigvals(matrix)).max()))
    return radius


def _differenced(walker: Walker, frame: CommonData, t: float, x: Matrix, kept: Kept | None) -> Matrix:
    def step(x: Matrix) -> Matrix:
        return x + walker.step(t, x, kept)[0]

    scale = np.where(np.isfinite(frame.scale), frame.scale, 1.0)
    h = 1e-6 * np.maximum(np.abs(x), scale)
    out = np.empty((len(x), len(x)))
    for j in range(len(x)):
        up, down = x.copy(), x.copy()
        up[j] += h[j]
        down[j] -= h[j]
        out[:, j] = (step(up) - step(down)) / (up[j] - down[j])
    return out
