"""The heat equation in 2D with its pattern given: pliant's BDF against SciPy's, and the growth of the time per step.

python benchmarks/heat.py
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import peers  # noqa: F401  (puts the problem set on the path)
from problems import heat2d
from scipy.integrate import solve_ivp

import pliant

RTOL, ATOL = 1e-6, 1e-8
IN_A_ROW = 3  # runs of one solver before the next has its turn: the first finds cold caches


@dataclass
class HeatRun:
    """Least CPU seconds, steps and error of one solver."""

    seconds: float = np.inf
    n_steps: int = 0
    error: float = np.nan

    @property
    def per_step(self) -> float:
        return self.seconds / self.n_steps


def measure(m: int, repeats: int, with_scipy: bool = True) -> dict[str, HeatRun]:
    """Interleaved runs on an m x m grid: Python function and C file for pliant, Python function for SciPy."""
    problem = heat2d.make(m)
    end = problem.exact(problem.t_end)
    python = pliant.ode(problem.f, problem.x0, pattern=problem.pattern())
    compiled = pliant.native(problem.c_file, defines={"HEAT_M": m})
    runs = {"pliant, Python f": HeatRun(), "pliant, C f": HeatRun()}
    if with_scipy:
        runs["SciPy BDF"] = HeatRun()
    for _ in range(repeats):
        for name, run in [pair for pair in runs.items() for _ in range(IN_A_ROW)]:
            begin = time.process_time()
            if name == "SciPy BDF":
                solution = solve_ivp(
                    problem.f,
                    (problem.t0, problem.t_end),
                    problem.x0,
                    method="BDF",
                    rtol=RTOL,
                    atol=ATOL,
                    jac_sparsity=problem.pattern(),
                )
                x, steps = solution.y[:, -1], len(solution.t) - 1
            else:
                model = python if name.endswith("Python f") else compiled
                result = model.simulate(problem.t_end, start=problem.t0, method="bdf", rtol=RTOL, atol=ATOL, points=2)
                x, steps = result.values[-1], result.stats.n_steps
            run.seconds = min(run.seconds, time.process_time() - begin)
            run.n_steps, run.error = steps, float(np.abs(x - end).max())
    return runs


def main() -> tuple[float, float, float]:
    """Print the table; returns the ratios (Python f, C f) and the exponent of growth per step."""
    large, small = measure(100, 5), measure(32, 10, with_scipy=False)
    peer = large["SciPy BDF"]
    print(f"{'10 000 states':20} {'CPU ratio':>10} {'steps':>6} {'error':>9}")
    for name, run in large.items():
        print(f"{name:20} {peer.seconds / run.seconds:10.2f} {run.n_steps:6d} {run.error:9.2e}")
    sizes = np.log(100**2 / 32**2)
    growth = np.log(large["pliant, C f"].per_step / small["pliant, C f"].per_step) / sizes
    print(f"time per step from 1 024 to 10 000 states grows like n^{growth:.2f}")
    return (
        peer.seconds / large["pliant, Python f"].seconds,
        peer.seconds / large["pliant, C f"].seconds,
        float(growth),
    )


if __name__ == "__main__":
    main()
