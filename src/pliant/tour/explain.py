"""Tour: increments that do not stall, and a run that explains itself."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import pliant
from pliant.tour.section import Code, FigureTable, Section, Text, count, picture, source

NOMINALS = (1.0, 1e5, 1e6)
MOST_STEPS = 5000


def van_der_pol(nominal: float) -> pliant.Model:
    """Stiff Van der Pol oscillator, whose nominal values may be wrong."""

    def f(t: float, y: NDArray[np.float64]) -> list[float]:
        return [1e6 * (y[0] - y[0] ** 3 / 3 - y[1]), 1e-6 * y[0]]

    return pliant.ode(f, [2.0, -2 / 3], names=["y1", "y2"], nominal=nominal)


def steps_of(nominal: float, rule: str) -> str:
    """Steps of Radau5 with an increment rule, as the table shows them."""
    options = {"increments": rule, "max_steps": MOST_STEPS}
    try:
        result = van_der_pol(nominal).simulate(
            stop=2e6, method="radau5", rtol=1e-9, atol=1e-3, points=2, options=options
        )
    except pliant.StepLimitError:
        return f"more than {count(MOST_STEPS)}"
    return count(result.stats.n_steps)


def explained(_folder: Path) -> Section:
    """Steps for right and wrong nominal values, and what explain says about the wrong one."""
    rows = [[f"{nominal:g}", steps_of(nominal, "pyfmi"), steps_of(nominal, "default")] for nominal in NOMINALS]
    why = van_der_pol(1e6).simulate(stop=2e6, method="radau5", rtol=1e-9, atol=1e-3).explain()
    first = why.findings[0]
    return Section(
        "explain",
        "Jacobians that do not stall, runs that explain themselves",
        "Without derivatives the Jacobian comes from differences. Increments taken from nominal values, as PyFMI does, "
        "stall when these are wrong; pliant takes them as a hint and checks them against the values seen.",
        [
            Code(source(van_der_pol), "Its values stay below 2.1."),
            FigureTable(
                ("nominal value", "steps, PyFMI's increments", "steps, pliant's"), rows, "Radau5, rtol 1e-9, atol 1e-3."
            ),
            Text(f"result.explain() puts first: {first.text} Try: {first.suggestion}."),
            picture(why.plot(), "Steps, Jacobians and failures over time, as explain() draws them."),
        ],
    )
