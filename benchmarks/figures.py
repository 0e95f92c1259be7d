"""Measure every figure that has a goal and write benchmarks/FIGURES.md.

python benchmarks/figures.py            all of it, some minutes; with MODELICAPATH set, the standard library, too
python benchmarks/figures.py code msl   these groups only, the other rows of the table stay
python benchmarks/figures.py --quick    fewer repeats and tolerances, for a look
"""

from __future__ import annotations

import argparse
import datetime as dt
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import against_cvode
import batch
import challenge_figures
import coupling_figures
import export
import fmi
import frontend
import generated_code
import heat
import increments_figures
import interface_figures
import jumps_figures
import large_plans
import msl
import numpy as np
import realtime_figures
import rule_figures
import ssp_figures
import stiff_vdp
import structure
import target_figures
import trust_figures
import waist_figures
from peers import ROOT
from problems import problem
from tested import run_tests
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
NOT_SLOWER = 1.0
EQUAL_ERROR = "CPU time at equal error, C right-hand side,"
WORD = {True: "yes", False: "**no**", None: "not measured"}


@dataclass
class Figure:
    """One line of the table."""

    what: str
    goal: str
    reached: str
    met: bool | None  # None: not measured
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
    interpreted, compiled, scipy, sundae = {}, {}, {}, {}
    for name in ("vdpol_mild", "hires", "pollution"):
        case = problem(name)
        runners = {
            "bdf": pliant_runner(case, "bdf"),
            "radau5": pliant_runner(case, "radau5"),
            "bdf, Python f": pliant_runner(case, "bdf", pliant.ode(case.f, case.x0)),
            "CasADi interpreted": casadi_runner(case, compiled=False),
            "CasADi compiled": casadi_runner(case, compiled=True),
            "SciPy Radau": scipy_runner(case, "Radau"),
            "sundae": sundae_runner(case, python_function=True),
        }
        curves = measure(case, runners, tolerances, 3 if quick else 7)
        interpreted[name] = ratio_at_equal_error(curves, "bdf", "CasADi interpreted")
        compiled[name] = ratio_at_equal_error(curves, "bdf", "CasADi compiled")
        scipy[name] = ratio_at_equal_error(curves, "radau5", "SciPy Radau")
        sundae[name] = ratio_at_equal_error(curves, "bdf, Python f", "sundae")
        print(
            f"{name}: CasADi {interpreted[name]:.2f}, compiled {compiled[name]:.2f}, SciPy Radau {scipy[name]:.1f}, "
            f"sundae {sundae[name]:.2f}",
            flush=True,
        )

    def line(what: str, goal: str, ratios: dict[str, float], least: float) -> Figure:
        text = ", ".join(f"{name} {ratio:.2f}x" for name, ratio in ratios.items())
        return Figure(what, goal, text, min(ratios.values()) >= least, "python benchmarks/solvers.py")

    return [
        line(f"{EQUAL_ERROR} BDF against CasADi's cvodes, SX interpreted", ">= 1.5x", interpreted, 1.5),
        line(f"{EQUAL_ERROR} BDF against CasADi's cvodes, its C compiled", ">= 1.5x", compiled, 1.5),
        line(f"{EQUAL_ERROR} Radau5 against SciPy's Radau, which runs in Python", ">= 50x", scipy, 50.0),
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
    file = "tests/test_runtime_c.py"
    imports, copied = run_tests(file, "imported"), run_tests(file, "copied")
    return [
        Figure(
            "calls of malloc, calloc, realloc and free in runtime/src (nm)",
            "none",
            imports.text("{allocations} in {objects} object files"),
            imports.all_passed,
            imports.command,
        ),
        Figure(
            "solver state copied as memory and resumed",
            "bit-identical",
            copied.text("{passed} of {run} pairs of model and method"),
            copied.all_passed,
            copied.command,
        ),
    ]


def structure_figures(quick: bool) -> list[Figure]:
    """Sorting and tearing: the lecture's example, minimal tears, accuracy, growth."""
    command = "python benchmarks/structure.py"
    lines = structure.circuit()
    average, worst = structure.tears_over_minimum(40 if quick else 200)
    scd, method = structure.car_axis_digits()
    gap = structure.pendulum_constraint()
    out = [
        Figure(
            "the lecture's circuit: loops, tears, closed form, reduced system, relaxation",
            "exact",
            f"{sum(lines.values())} of {len(lines)} lines exact, in rational numbers",
            all(lines.values()),
            f"{command} circuit",
        ),
        Figure(
            "tears of 200 random loops (8 to 14 equations) against the exact minimum",
            "<= 1.05x on average",
            f"{average:.3f}x, worst {worst:.2f}x",
            average <= 1.05,
            f"{command} loops",
        ),
        Figure(
            "car axis (index 3) at rtol 1e-8, default method",
            "scd >= 5",
            f"{scd:.2f} ({method})",
            scd >= 5.0,
            f"{command} accuracy",
        ),
        Figure(
            "pendulum over 100 swings, constraint and its derivative",
            "kept to 1e-8",
            f"{gap:.1e}",
            gap <= 1e-8,
            f"{command} accuracy",
        ),
    ]
    for example, what, bound in (("heat_rod", "heat rod", 2.0), ("resistor_grid", "resistor grid", 3.0)):
        rows = structure.growth(example, quick)
        spread, last = structure.spread(rows), rows[-1]
        out.append(
            Figure(
                f"{what}, {rows[0].equations} to {last.equations} equations to C, CPU time per equation",
                f"constant within {bound:g}x",
                f"{spread:.2f}x, peak memory {', '.join(f'{row.gib:.2f}' for row in rows)} GiB",
                spread <= bound,
                f"{command} growth",
            )
        )
        if example == "heat_rod":
            out.append(
                Figure(
                    f"the largest heat rod ({last.equations} equations) to C",
                    "<= 60 s, <= 4 GiB",
                    f"{last.ours:.0f} s ({last.ours + last.reading:.0f} s with reading), {last.gib:.2f} GiB",
                    last.ours <= 60.0 and last.gib <= 4.0,
                    f"{command} growth",
                )
            )
    return out


def same_figures() -> list[Figure]:
    """The same input gives the same bytes."""
    count, other = structure.same_text([msl.ROBOT] if msl.library() else [])
    return [
        Figure(
            "C text of one input in two processes with different hash seeds",
            "byte-identical",
            f"{count - len(other)} of {count} models" + (f", not {', '.join(other)}" if other else ""),
            not other,
            "python benchmarks/structure.py same",
        )
    ]


def code_figures(quick: bool) -> list[Figure]:
    """Generated C against CasADi's."""
    rows = generated_code.main(quick=quick)
    out = []
    for folded, kind in ((False, "parameters tunable"), (True, "parameters folded")):
        for what, column in (("right-hand side", "f"), ("Jacobian", "jacobian")):
            ratios = {row.name: getattr(row, column) for row in rows if row.folded == folded}
            out.append(
                Figure(
                    f"generated {what} against CasADi's C, same equations, compiler and flags, {kind}",
                    "not slower",
                    ", ".join(f"{name} {ratio:.2f}x" for name, ratio in ratios.items()),
                    min(ratios.values()) >= NOT_SLOWER,
                    "python benchmarks/generated_code.py",
                )
            )
    return out


def msl_figures(quick: bool) -> list[Figure]:
    """The Modelica Standard Library, where it is."""
    command = "MODELICAPATH=... python benchmarks/msl.py"
    goals = {
        "FullRobot, parameters folded: structure": "36 states, <= 6 tears in the largest loop",
        "FullRobot, parameters tunable: structure": "36 states, <= 8 tears in the largest loop",
        "FullRobot: structure and C text; C compiler at -O2": "<= 3 s; <= 5 s",
        "examples of the Modelica Standard Library at rtol 1e-8, end values against rumoca's": "within 1e-4",
    }
    if not msl.library():
        return [Figure(what, wanted, msl.NOT_MEASURED, None, command) for what, wanted in goals.items()]
    robots = sorted(msl.robot(1 if quick else 3), key=lambda r: not r.folded)
    reached = [f"{r.states} states, {r.largest[1]} tears in a loop of {r.largest[0]}" for r in robots]
    met = [r.states == 36 and r.largest[1] <= most for r, most in zip(robots, (6, 8), strict=True)]
    times = [f"{'folded' if r.folded else 'tunable'} {r.structure:.2f} s; {r.compile:.2f} s" for r in robots]
    reached.append(", ".join(times))
    met.append(all(r.structure <= 3.0 and r.compile <= 5.0 for r in robots))
    rows = msl.agreements([], quick)
    agreed = [row for row in rows if row.agrees]
    text = f"{len(agreed)} of {len(rows)}"
    if agreed:
        text += f", the worst of these {max(row.worst for row in agreed):.0e}"
    for row in rows:
        name = row.name.rpartition(".")[2]
        if row.failure:
            text += f"; {name}: {row.failure}"
        elif not row.agrees:
            text += (
                f"; {name} {row.worst:.1e} (off the converged solution: pliant {row.ours:.0e}, rumoca {row.peers:.0e})"
            )
    reached.append(text)
    met.append(all(row.agrees or row.peer_is_off for row in rows))
    return [
        Figure(what, wanted, found, good, command)
        for (what, wanted), found, good in zip(goals.items(), reached, met, strict=True)
    ]


HEAD = """# Figures

Measured by `python benchmarks/figures.py`. Ratios against a peer come from interleaved runs in one process; figures
without a peer (counts, errors, shares, limits of time) stand for themselves. Groups are measured at different times:
the last column says when a row was measured. All on Linux x86_64 with Python 3.11.

| figure | goal | reached | met | command | measured |
|---|---|---|---|---|---|"""
COLUMNS = 6


def kept_rows() -> dict[str, str]:
    """Rows of the table as it is, by figure."""
    lines = FILE.read_text(encoding="utf-8").splitlines() if FILE.is_file() else []
    rows = [line for line in lines if line.startswith("| ") and len(line[2:-2].split(" | ")) == COLUMNS]
    return {line[2:].split(" | ")[0]: line for line in rows[1:]}


def write(figures: list[Figure], keep: bool) -> None:
    """The table as Markdown; ``keep``: rows of figures that were not measured now stay."""
    today = dt.datetime.now(dt.UTC).date()
    rows = {f.what: f"| {f.what} | {f.goal} | {f.reached} | {WORD[f.met]} | `{f.command}` | {today} |" for f in figures}
    rows = (kept_rows() if keep else {}) | rows
    FILE.write_text("\n".join([HEAD, *rows.values()]) + "\n", encoding="utf-8")


GROUPS: dict[str, Callable[[bool], Iterable[Figure]]] = {
    "vdp": lambda _: vdp_figures(),
    "heat": lambda _: heat_figures(),
    "speed": speed_figures,
    "cvode": cvode_figures,
    "memory": lambda _: memory_figures(),
    "structure": structure_figures,
    "same": lambda _: same_figures(),
    "code": code_figures,
    "msl": msl_figures,
    "jumps": lambda _: [Figure(*row) for row in jumps_figures.rows()],
    "realtime": lambda quick: [Figure(*row) for row in realtime_figures.rows(quick)],
    "increments": lambda quick: [Figure(*row) for row in increments_figures.rows(quick)],
    "waists": lambda quick: [Figure(*row) for row in waist_figures.rows(quick)],
    "challenge": lambda quick: [Figure(*row) for row in challenge_figures.rows(quick)],
    "costs": lambda quick: [Figure(*row) for row in large_plans.cost_rows()],
    "large": lambda quick: [Figure(*row) for row in large_plans.rows(quick)],
    "rules": lambda quick: [Figure(*row) for row in rule_figures.rows(quick)],
    "targets": lambda quick: [Figure(*row) for row in target_figures.rows(quick)],
    "export": lambda _: [Figure(*row) for row in export.export_rows()],
    "batch": lambda quick: [Figure(*row) for row in batch.rows(quick)],
    "frontend": lambda quick: [Figure(*row) for row in frontend.rows(quick)],
    "fmi": lambda quick: [Figure(*row) for row in fmi.rows(quick)],
    "ssp": lambda quick: [Figure(*row) for row in ssp_figures.rows(quick)],
    "coupling": lambda quick: (Figure(*row) for row in coupling_figures.rows(quick)),
    "interface": lambda _: [Figure(*row) for row in interface_figures.rows()],
    "trust": lambda quick: (Figure(*row) for row in trust_figures.rows(quick)),
}


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--family", action="append", default=[], help="of the group trust: this one only; repeatable")
    parser.add_argument("groups", nargs="*", choices=[[], *GROUPS], help="measure these only, keep the other rows")
    arguments = parser.parse_args()
    figures: list[Figure] = []
    for name, measure_group in GROUPS.items():
        if arguments.groups and name not in arguments.groups:
            continue
        if name == "trust" and arguments.family:
            found = (Figure(*row) for row in trust_figures.rows(arguments.quick, arguments.family))
        else:
            found = measure_group(arguments.quick)
        for figure in found:
            figures.append(figure)
            word = {True: "met ", False: "MISS", None: "----"}[figure.met]
            print(f"{word} {figure.what}: {figure.reached} (goal: {figure.goal})", flush=True)
            if not arguments.quick:  # a run that is cut short loses nothing that was measured
                write([figure], keep=True)
    if not arguments.quick:
        write(figures, keep=bool(arguments.groups))
        print(f"written: {FILE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
