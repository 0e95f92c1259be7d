"""Work-precision table and plot: pliant against CasADi cvodes, scikit-sundae and SciPy on the problem set.

python benchmarks/solvers.py [problem ...] [--quick] [--plot FILE]
"""

from __future__ import annotations

import argparse

import numpy as np
import peers  # noqa: F401  (puts the problem set on the path)
from problems import all_problems
from workprecision import (
    Curve,
    casadi_runner,
    measure,
    pliant_runner,
    ratio_at_equal_error,
    scipy_runner,
    sundae_runner,
)

OURS = "pliant bdf"
SMALL = ("vdpol_mild", "hires", "pollution", "orego", "rober", "vdpol_mu1000")


def run(names: list[str], quick: bool) -> dict[str, dict[str, Curve]]:
    """Measure all solvers on the named problems."""
    tolerances = [10.0**-k for k in (range(4, 9, 2) if quick else np.arange(3, 9.5, 0.5))]
    out = {}
    for problem in all_problems():
        if problem.name not in names:
            continue
        runners = {
            OURS: pliant_runner(problem, "bdf"),
            "pliant radau5": pliant_runner(problem, "radau5"),
            "CasADi cvodes, SX interpreted": casadi_runner(problem, compiled=False),
            "CasADi cvodes, compiled": casadi_runner(problem, compiled=True),
            "scikit-sundae CVODE": sundae_runner(problem, python_function=True),
            "SciPy Radau": scipy_runner(problem, "Radau"),
            "SciPy BDF": scipy_runner(problem, "BDF"),
            "SciPy LSODA": scipy_runner(problem, "LSODA"),
        }
        out[problem.name] = measure(problem, runners, tolerances, 2 if quick else 5)
        print_table(problem.name, out[problem.name])
    return out


def print_table(name: str, curves: dict[str, Curve]) -> None:
    """Ratios of CPU time at equal error, pliant's BDF = 1."""
    print(f"\n{name}: CPU time at equal error, pliant bdf = 1")
    for other, curve in curves.items():
        if other != OURS:
            ratio = ratio_at_equal_error(curves, OURS, other)
            reach = f"errors {np.nanmin(curve.error):.0e} .. {np.nanmax(curve.error):.0e}"
            print(f"  {other:30} {ratio:8.2f}   ({reach})", flush=True)


def plot(results: dict[str, dict[str, Curve]], file: str) -> None:
    """One panel a problem: CPU time over error, both relative."""
    from matplotlib.figure import Figure

    columns = min(3, len(results))
    rows = -(-len(results) // columns)
    figure = Figure(figsize=(4.4 * columns, 3.6 * rows), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False)
    colours = ["#0072b2", "#56b4e9", "#d55e00", "#f0a27a", "#e69f00", "#009e73", "#cc79a7", "#666666"]
    for axis in axes.flat[len(results) :]:
        axis.set_visible(False)
    for axis, (name, curves) in zip(axes.flat, results.items(), strict=False):
        unit = np.nanmin(curves[OURS].seconds)
        for colour, (solver, curve) in zip(colours, curves.items(), strict=True):
            width = 2.4 if solver.startswith("pliant") else 1.2
            seconds = np.array(curve.seconds) / unit
            axis.loglog(curve.error, seconds, "o-", color=colour, lw=width, ms=3.5, label=solver)
        axis.set_title(name, fontsize=11)
        axis.invert_xaxis()
        axis.set_xlabel("relative error at the end")
        axis.set_ylabel("CPU time (pliant's least = 1)")
        axis.grid(True, which="major", alpha=0.3)
    figure.legend(*axes.flat[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=9)
    figure.savefig(file, dpi=110)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("problems", nargs="*", default=list(SMALL))
    parser.add_argument("--quick", action="store_true", help="three tolerances, two repeats")
    parser.add_argument("--plot", default="docs/pictures/work-precision.png")
    arguments = parser.parse_args()
    results = run(arguments.problems or list(SMALL), arguments.quick)
    plot(results, arguments.plot)
    print(f"\nplot: {arguments.plot}")


if __name__ == "__main__":
    main()
