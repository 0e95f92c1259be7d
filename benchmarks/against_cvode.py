"""BDF against CVODE on the ODE problems: steps and end errors as geometric means over nine nearby tolerances.

python benchmarks/against_cvode.py
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import numpy as np
from peers import atol_of, compiled_rhs, error_units, run_cvode
from problems import Problem, all_problems

import pliant

NEARBY = np.linspace(0.98, 1.02, 9)


class Ratio(NamedTuple):
    """Pliant over CVODE."""

    name: str
    rtol: float
    steps: float
    error: float


def compare(problem: Problem, rtol: float) -> tuple[float, float, float, float]:
    """Geometric means: pliant's steps, CVODE's steps, pliant's error, CVODE's error."""
    model = pliant.native(problem.c_file)
    f = compiled_rhs(model)
    rows = []
    for factor in NEARBY:
        r, a = rtol * factor, atol_of(problem, rtol * factor)
        result = model.simulate(problem.t_end, start=problem.t0, method="bdf", rtol=r, atol=a, points=2)
        peer = run_cvode(problem, r, a, f)
        if not peer.finished:  # CVODE gives up here and there (the Oregonator at loose tolerances): nothing to compare
            continue
        rows.append(
            (
                result.stats.n_steps,
                peer.n_steps,
                error_units(problem, result.values[-1], r, a),
                error_units(problem, peer.x, r, a),
            )
        )
    return tuple(np.exp(np.mean(np.log(rows), axis=0)))


def main(names: list[str]) -> list[Ratio]:
    """Print the table; returns the ratios."""
    out = []
    print(f"{'problem':14} {'rtol':>6} {'steps':>8} {'CVODE':>8} {'ratio':>6} {'error':>9} {'CVODE':>9} {'ratio':>6}")
    for problem in all_problems():
        if problem.mass is not None or (names and problem.name not in names):
            continue
        for rtol in (1e-4, 1e-6, 1e-8):
            ours, theirs, error, peer = compare(problem, rtol)
            out.append(Ratio(problem.name, rtol, ours / theirs, error / peer))
            print(
                f"{problem.name:14} {rtol:6.0e} {ours:8.0f} {theirs:8.0f} {ours / theirs:6.3f} "
                f"{error:9.3g} {peer:9.3g} {error / peer:6.2f}",
                flush=True,
            )
    return out


if __name__ == "__main__":
    main(sys.argv[1:])
