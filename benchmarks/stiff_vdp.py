"""Radau5 and auto on the Van der Pol cases (Renström 2024, listing 1; reference/increments).

python benchmarks/stiff_vdp.py
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import peers  # noqa: F401  (puts the problem set on the path)
from problems import problem

import pliant

SPREAD = 10.0 ** np.linspace(-0.3, 0.3, 31)


@dataclass
class Radau5Figure:
    """Steps and end errors of Radau5."""

    mild_steps: int
    mild_error: float
    stiff_steps: int


def radau5() -> Radau5Figure:
    """The two single runs."""
    mild, stiff = problem("vdpol_mild"), problem("vdpol_stiff")
    a = pliant.native(mild.c_file).simulate(mild.t_end, method="radau5", rtol=1e-6, atol=1e-6, points=2)
    b = pliant.native(stiff.c_file).simulate(stiff.t_end, method="radau5", rtol=1e-9, atol=1e-3, points=2)
    return Radau5Figure(a.stats.n_steps, float(np.abs(a.values[-1] - mild.reference).max()), b.stats.n_steps)


def auto(rtol: float, atol: float) -> tuple[int, float, int]:
    """Runs that finish out of 31, largest end error, runs that handed over to Radau5."""
    stiff = problem("vdpol_stiff")
    model = pliant.native(stiff.c_file)
    finished, worst, handed = 0, 0.0, 0
    for s in SPREAD:
        try:
            result = model.simulate(stiff.t_end, rtol=s * rtol, atol=s * atol, points=2)
        except pliant.SolverError:
            continue
        finished += 1
        handed += "radau5" in result.stats.method
        worst = max(worst, float(np.abs(result.values[-1] - stiff.reference).max()))
    return finished, worst, handed


def main() -> None:
    """Print all."""
    single = radau5()
    print(f"Radau5, mild: {single.mild_steps} steps, error {single.mild_error:.2g}; stiff: {single.stiff_steps} steps")
    for rtol, atol in ((1e-9, 1e-3), (1e-6, 1e-6)):
        finished, worst, handed = auto(rtol, atol)
        print(f"auto at {rtol:g}, {atol:g}: {finished} of 31 finish, largest error {worst:.2g}, {handed} by Radau5")


if __name__ == "__main__":
    main()
