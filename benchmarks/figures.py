"""Measure every figure that was asked for and write benchmarks/FIGURES.md.

python benchmarks/figures.py            all of it, some minutes
python benchmarks/figures.py --quick    fewer repeats and tolerances, for a look
"""

from __future__ import annotations

import argparse
import datetime as dt
import platform
import subprocess
from dataclasses import dataclass
from pathlib import Path

import against_cvode
import heat
import numpy as np
import stiff_vdp
from peers import ROOT
from problems import problem
from workprecision import (
    casadi_runner,
    measure,
    pliant_runner,
    ratio_at_equal_error,
    scipy_runner,
    sundae_runner,
)

import pliant

FILE = Path(__file__).with_name("FIGURES.md")


@dataclass
class Figure:
    """One line of the table."""

    what: str
    asked: str
    reached: str
    met: bool
    command: str


def cvode_figures(quick: bool) -> list[Figure]:
    """Steps and errors of BDF against CVODE."""
    names = ["vdpol_mild", "hires", "pollution"] if quick else []
    rows = against_cvode.main(names)
    steps = np.array([row.steps for row in rows])
    errors = np.array([row.error for row in rows])
    worst = rows[int(np.argmax(np.abs(np.log(steps))))]
    worst_error = rows[int(np.argmax(errors))]
    command = "python benchmarks/against_cvode.py"
    within = int(np.sum(np.abs(steps - 1) <= 0.1))
    return [
        Figure(
            "BDF against CVODE, steps, ODE problems at rtol 1e-4, 1e-6, 1e-8",
            "within 10 %",
            f"{within} of {len(rows)} within 10 %, mean ratio {np.exp(np.mean(np.log(steps))):.3f}, "
            f"worst {worst.steps:.3f} ({worst.name}, {worst.rtol:.0e})",
            within == len(rows),
            command,
        ),
        Figure(
            "BDF against CVODE, end error",
            "within 3x",
            f"mean ratio {np.exp(np.mean(np.log(errors))):.2f}, worst {worst_error.error:.2f} "
            f"({worst_error.name}, {worst_error.rtol:.0e})",
            bool(np.all(errors <= 3.0)),
            command,
        ),
    ]


def vdp_figures() -> list[Figure]:
    """Radau5 and auto on Van der Pol."""
    single = stiff_vdp.radau5()
    command = "python benchmarks/stiff_vdp.py"
    out = [
        Figure(
            "Radau5, Van der Pol to 20 s, rtol = atol = 1e-6",
            "<= 230 steps, error <= 5e-7",
            f"{single.mild_steps} steps, error {single.mild_error:.1e}",
            single.mild_steps <= 230 and single.mild_error <= 5e-7,
            command,
        ),
        Figure(
            "Radau5, stiff Van der Pol, exact Jacobian",
            "<= 110 steps",
            f"{single.stiff_steps} steps",
            single.stiff_steps <= 110,
            command,
        ),
    ]
    for rtol, atol, bound in ((1e-9, 1e-3, 1e-2), (1e-6, 1e-6, 1e-3)):
        finished, worst, handed = stiff_vdp.auto(rtol, atol)
        out.append(
            Figure(
                f"auto on 31 pairs around rtol {rtol:g}, atol {atol:g}",
                f"all finish within {bound:g}",
                f"{finished} of 31 finish, largest error {worst:.1e}, {handed} handed over to Radau5",
                finished == 31 and worst <= bound,
                command,
            )
        )
    return out


def speed_figures(quick: bool) -> list[Figure]:
    """CPU time at equal error on the three small problems."""
    tolerances = [10.0**-k for k in (np.arange(4, 9, 2) if quick else np.arange(3, 9.5, 0.5))]
    casadi, scipy, sundae = {}, {}, {}
    for name in ("vdpol_mild", "hires", "pollution"):
        case = problem(name)
        runners = {
            "bdf": pliant_runner(case, "bdf"),
            "radau5": pliant_runner(case, "radau5"),
            "bdf, Python f": pliant_runner(case, "bdf", pliant.ode(case.f, case.x0)),
            "CasADi": casadi_runner(case),
            "SciPy Radau": scipy_runner(case, "Radau"),
            "sundae": sundae_runner(case, python_function=True),
        }
        curves = measure(case, runners, tolerances, 3 if quick else 7)
        casadi[name] = ratio_at_equal_error(curves, "bdf", "CasADi")
        scipy[name] = ratio_at_equal_error(curves, "radau5", "SciPy Radau")
        sundae[name] = ratio_at_equal_error(curves, "bdf, Python f", "sundae")
        print(
            f"{name}: CasADi {casadi[name]:.2f}, SciPy Radau {scipy[name]:.1f}, sundae {sundae[name]:.2f}",
            flush=True,
        )

    def line(what: str, asked: str, ratios: dict[str, float], least: float) -> Figure:
        text = ", ".join(f"{name} {ratio:.2f}x" for name, ratio in ratios.items())
        return Figure(what, asked, text, min(ratios.values()) >= least, "python benchmarks/solvers.py")

    return [
        line(
            "CPU time at equal error, C right-hand side, BDF against CasADi cvodes on SX",
            ">= 1.5x",
            casadi,
            1.5,
        ),
        line("the same, Radau5 against SciPy Radau", ">= 50x", scipy, 50.0),
        line(
            "Python right-hand side, differences, BDF against scikit-sundae's CVODE",
            "not slower",
            sundae,
            1.0,
        ),
    ]


def heat_figures() -> list[Figure]:
    """Large and sparse."""
    python, compiled, growth = heat.main()
    command = "python benchmarks/heat.py"
    return [
        Figure(
            "heat equation, 10 000 states, pattern given, against SciPy BDF",
            ">= 10x",
            f"{python:.1f}x with a Python function, {compiled:.1f}x with C",
            python >= 10.0,
            command,
        ),
        Figure("time per step from 1 000 to 10 000 states", "<= n^1.3", f"n^{growth:.2f}", growth <= 1.3, command),
    ]


def memory_figures() -> list[Figure]:
    """Allocations and copied states, as the tests check them."""
    tests = ["tests/test_runtime_c.py"]
    done = subprocess.run(
        ["python", "-m", "pytest", "-q", *tests], cwd=ROOT, capture_output=True, text=True, check=False
    )
    last = done.stdout.strip().splitlines()[-1] if done.stdout.strip() else done.stderr.strip()[-80:]
    return [
        Figure(
            "allocations in runtime/src; state copied and resumed",
            "none (nm); bit-identical",
            last,
            done.returncode == 0,
            "pytest " + " ".join(tests),
        )
    ]


def write(figures: list[Figure]) -> None:
    """The table as Markdown."""
    lines = [
        "# Figures",
        "",
        "Measured by `python benchmarks/figures.py`; every ratio is against a peer in the same run.",
        f"pliant {pliant.__version__}, Python {platform.python_version()}, {platform.system()} {platform.machine()}, "
        f"{dt.datetime.now(dt.UTC).date()}.",
        "",
        "| figure | asked | reached | met | command |",
        "|---|---|---|---|---|",
    ]
    lines += [
        f"| {f.what} | {f.asked} | {f.reached} | {'yes' if f.met else '**no**'} | `{f.command}` |" for f in figures
    ]
    FILE.write_text("\n".join(lines) + "\n")


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    figures = [
        *vdp_figures(),
        *heat_figures(),
        *speed_figures(quick),
        *cvode_figures(quick),
        *memory_figures(),
    ]
    for figure in figures:
        print(f"{'met ' if figure.met else 'MISS'} {figure.what}: {figure.reached} (asked {figure.asked})")
    if not quick:
        write(figures)
        print(f"written: {FILE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
