"""Tour: a model in C, and a differential-algebraic system."""

from __future__ import annotations

import os
import tempfile
import time
from math import sqrt
from pathlib import Path

import numpy as np

import pliant
from pliant.tour.section import MODELS, Code, FigureTable, Section, Text, count, picture, seconds, source

# HIRES at t = 321.8122, from the Test Set for IVP Solvers (Mazzia & Magherini 2008).
HIRES_STOP = 321.8122
HIRES_END = {
    "Pr": 0.0007371312573325668,
    "Pfr": 0.0001442485726316185,
    "PrX": 5.888729740967575e-05,
    "PfrX": 0.001175651343283149,
    "PrX2": 0.002386356198831331,
    "PfrX2": 0.006238968252742796,
    "PfrX2E": 0.002849998395185769,
    "E": 0.002850001604814231,
}


def _compile(path: Path) -> tuple[pliant.Model, float]:
    """Load a C model with an empty cache, so that the time is that of the compiler."""
    before = os.environ.get("PLIANT_CACHE")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        os.environ["PLIANT_CACHE"] = folder
        try:
            begin = time.perf_counter()
            return pliant.native(path), time.perf_counter() - begin
        finally:
            if before is None:
                del os.environ["PLIANT_CACHE"]
            else:
                os.environ["PLIANT_CACHE"] = before


def c_model(folder: Path) -> Section:
    """HIRES, compiled and run at several tolerances."""
    path = MODELS / "hires.c"
    model, compile_seconds = _compile(path)
    rows = []
    for method in ("bdf", "radau5"):
        for rtol in (1e-4, 1e-6, 1e-8):
            runs = [model.simulate(stop=HIRES_STOP, method=method, rtol=rtol) for _ in range(5)]
            stats = min((run.stats for run in runs), key=lambda stats: stats.seconds)
            error = max(abs(runs[0].final[name] / value - 1.0) for name, value in HIRES_END.items())
            rows.append(
                [
                    method,
                    f"{rtol:g}",
                    count(stats.n_steps),
                    count(stats.n_rhs),
                    f"{error:.1e}",
                    seconds(stats.seconds),
                ]
            )
    result = model.simulate(stop=5.0)
    text = path.read_text()
    return Section(
        "native",
        "A model in C",
        "A C file that defines one struct, `pliant_model`, is compiled once, kept by content, and run "
        "without Python in the loop. This one is HIRES, eight chemical species in a plant.",
        [
            Text(f"`{model!r}` was compiled in {seconds(compile_seconds)}; a second load takes it from the cache."),
            Code(
                text[text.index("static pl_status rhs") : text.index("static pl_status jac_value")].rstrip(),
                "f, the right-hand side.",
            ),
            Code(text[text.index("const pl_model") :].rstrip(), "The struct that describes the model."),
            FigureTable(
                ("method", "rtol", "steps", "f", "largest rel. error", "time"),
                rows,
                f"To t = {HIRES_STOP} with the model's own Jacobian; errors against the published end "
                "values. Best of five runs.",
            ),
            picture(result.plot("Pr", "Pfr", "PrX", "PfrX", show=False), "The first seconds."),
        ],
    )


def akzo_nobel(guess: float) -> pliant.Model:
    """Chemical Akzo Nobel: five rates and one equilibrium, 0 = Ks y1 y4 - y6, an index-1 DAE."""

    def f(t, y):  # type: ignore[no-untyped-def]
        y1, y2, y3, y4, y5, y6 = y
        r1, r2, r3 = 18.7 * y1**4 * sqrt(y2), 0.58 * y3 * y4, 0.58 / 34.4 * y1 * y5
        r4, r5 = 0.09 * y1 * y4**2, 0.42 * y6**2 * sqrt(y2)
        inflow = 3.3 * (0.9 / 737.0 - y2)
        return [
            -2.0 * r1 + r2 - r3 - r4,
            -0.5 * r1 - r4 - 0.5 * r5 + inflow,
            r1 - r2 + r3,
            -r2 + r3 - 2.0 * r4,
            r2 - r3 + r5,
            115.83 * y1 * y4 - y6,
        ]

    return pliant.ode(
        f,
        [0.444, 0.00123, 0.0, 0.007, 0.0, guess],
        mass=[1.0, 1.0, 1.0, 1.0, 1.0, 0.0],
        names=["FLB", "CO2", "FLBT", "ZHU", "ZLA", "FLB_ZHU"],
    )


def dae(folder: Path) -> Section:
    """The Akzo Nobel process; a wrong algebraic start value is refused, or taken as a guess on request."""
    reference = 0.1150794920661702  # FLB at 180, Test Set for IVP Solvers
    model = akzo_nobel(guess=0.5)
    try:
        model.simulate(stop=180.0)
        refused = "nothing was refused"
    except pliant.InitialValueError as error:
        refused = f"{type(error).__name__}: {error}"
    rows = []
    for method in ("bdf", "radau5"):
        result = model.simulate(stop=180.0, method=method, rtol=1e-7, options={"initial": "solve"})
        residual = np.max(np.abs(115.83 * result["FLB"] * result["ZHU"] - result["FLB_ZHU"]))
        error_end = abs(result.final["FLB"] / reference - 1.0)
        rows.append(
            [
                method,
                count(result.stats.n_steps),
                f"{residual:.1e}",
                f"{error_end:.1e}",
                seconds(result.stats.seconds),
            ]
        )
    return Section(
        "dae",
        "Differential-algebraic equations",
        "With a singular mass matrix some rows are equations without derivatives. The last row here is a "
        "chemical equilibrium; its start value must satisfy it, or be declared a guess.",
        [
            Code(source(akzo_nobel), "The model: mass is given by its diagonal, 0 marks the algebraic row."),
            Code(
                refused,
                "The start value 0.5 for the algebraic unknown does not satisfy its equation:",
                shown=True,
            ),
            FigureTable(
                ("method", "steps", "largest residual", "relative error of FLB", "time"),
                rows,
                "With options={'initial': 'solve'}: the solver finds the consistent value itself.",
            ),
            picture(result.plot("FLB", "FLBT", "FLB_ZHU", "ZLA", show=False), "Concentrations over 180 minutes."),
        ],
    )
