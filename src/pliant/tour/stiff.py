"""Tour: a stiff oscillator by every method, and methods of fixed step."""

from __future__ import annotations

import math
from pathlib import Path

import pliant
from pliant.solve.results.plot import plot_steps
from pliant.tour.section import Code, FigureTable, Section, Text, count, picture, seconds, source

STOP = 3000.0
EXPLICIT_STOP = 10.0


def van_der_pol() -> pliant.Model:
    """x'' = mu (1 - x^2) x' - x with mu = 1000: long calm, then a sudden jump."""
    mu = 1000.0

    def f(t, x):  # type: ignore[no-untyped-def]
        return [x[1], mu * (1.0 - x[0] ** 2) * x[1] - x[0]]

    return pliant.ode(f, [2.0, 0.0], names=["x", "v"])


def stiff(folder: Path) -> Section:
    """Van der Pol's oscillator by auto, bdf, radau5 and an explicit method."""
    model = van_der_pol()
    exact = model.simulate(stop=STOP, method="radau5", rtol=1e-11).final["x"]
    results = {name: model.simulate(stop=STOP, method=name, points=2000) for name in ("auto", "bdf", "radau5")}
    explicit = model.simulate(stop=EXPLICIT_STOP, method="dopri5")
    rows = [_row(name, STOP, result, abs(result.final["x"] - exact)) for name, result in results.items()]
    rows.append(_row("dopri5", EXPLICIT_STOP, explicit, None))
    auto = results["auto"]
    return Section(
        "stiff",
        "A stiff oscillator",
        "Van der Pol's oscillator with μ = 1000 creeps for hundreds of seconds and then jumps within "
        "milliseconds. The implicit methods take long steps where nothing happens and short ones through the "
        "jumps.",
        [
            Code(source(van_der_pol), "The model: a Python function."),
            FigureTable(
                ("method", "until", "steps", "f", "Jac.", "LU", "failed", "error of x", "time"),
                rows,
                "rtol = 1e-6. Jacobians by differences; their evaluations are part of f. The error is taken "
                "against radau5 at rtol = 1e-11.",
            ),
            Text(
                f"The explicit method `dopri5` needs {count(explicit.stats.n_steps)} steps for the first "
                f"{EXPLICIT_STOP:g} s alone: its step is bound by stability, not by accuracy. `auto` is BDF, "
                "and hands over to Radau5 where BDF's steps fail again and again."
            ),
            picture(auto.plot("x", show=False), "The solution, from the dense output."),
            picture(
                plot_steps(auto, show=False),
                "Step size and order of `auto`: the step changes by many powers of ten within one period.",
            ),
        ],
    )


def _row(name: str, stop: float, result: pliant.Result, error: float | None) -> list[str]:
    stats = result.stats
    return [
        name,
        f"{stop:g} s",
        count(stats.n_steps),
        count(stats.n_rhs),
        count(stats.n_jac),
        count(stats.n_factor),
        count(stats.n_error_fails + stats.n_newton_fails),
        "" if error is None else f"{error:.1e}",
        seconds(stats.seconds),
    ]


def spring() -> pliant.Model:
    """x'' = -x: the exact solution is cos t."""
    return pliant.ode(lambda t, x: [x[1], -x[0]], [1.0, 0.0], names=["x", "v"])


def fixed_step(folder: Path) -> Section:
    """Errors of euler, lieuler and rk4 over halved steps."""
    model, stop = spring(), 10.0
    steps = (0.1, 0.05, 0.025)
    rows = []
    for method in ("euler", "lieuler", "rk4"):
        errors = [abs(model.simulate(stop=stop, method=method, step=h).final["x"] - math.cos(stop)) for h in steps]
        order = math.log2(errors[-2] / errors[-1])
        rows.append([method, *(f"{error:.2e}" for error in errors), f"{order:.2f}"])
    return Section(
        "fixed",
        "Fixed steps",
        "`euler`, `rk4` and the linearly implicit Euler method `lieuler` take the step you give them, with "
        "constant work in each. The last column is the order observed between the two smaller steps.",
        [
            Code(source(spring), "The model."),
            FigureTable(("method", *(f"error at h = {h:g}" for h in steps), "order"), rows, "Error of x(10)."),
        ],
    )
