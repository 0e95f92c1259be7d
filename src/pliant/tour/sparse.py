"""Tour: a large sparse system."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import scipy.sparse as sp
from matplotlib.figure import Figure

import pliant
from pliant.tour.section import Code, FigureTable, Section, count, picture, seconds, source

GRIDS = (25, 50, 100)
TIMES = (0.002, 0.01, 0.05, 0.2)


def heat_equation(m: int) -> tuple[pliant.Model, int]:
    """The heat equation on m x m inner points of the unit square, cold edges, two heated spots."""
    line = sp.diags_array([1.0, -2.0, 1.0], offsets=[-1, 0, 1], shape=(m, m)) * (m + 1.0) ** 2
    laplacian = sp.csr_array(sp.kron(sp.eye_array(m), line) + sp.kron(line, sp.eye_array(m)))
    x, y = np.meshgrid(np.linspace(0, 1, m), np.linspace(0, 1, m))
    spots = np.exp(-((x - 0.3) ** 2 + (y - 0.6) ** 2) / 0.004) + np.exp(-((x - 0.7) ** 2 + (y - 0.3) ** 2) / 0.01)
    source = 100.0 * spots.ravel()
    model = pliant.ode(lambda t, u: laplacian @ u + source, np.zeros(m * m), pattern=laplacian)
    return model, laplacian.nnz


def heat(folder: Path) -> Section:
    """The heat equation on three grids."""
    rows = []
    for m in GRIDS:
        model, entries = heat_equation(m)
        result = model.simulate(stop=TIMES[-1], points=[0.0, *TIMES])
        stats = result.stats
        rows.append(
            [
                count(m * m),
                count(entries),
                count(stats.n_steps),
                count(stats.n_jac),
                f"{stats.n_rhs_jac / max(stats.n_jac, 1):.0f}",
                count(stats.n_factor),
                seconds(stats.seconds),
                seconds(stats.seconds / stats.n_steps),
            ]
        )
    return Section(
        "sparse",
        "Large and sparse",
        "A pattern lists which unknowns each equation depends on. Differences then need one evaluation per "
        "colour instead of one per unknown, and the sparse LU touches only what can be non-zero.",
        [
            Code(source(heat_equation), "The model: the pattern is the Laplacian's own."),
            FigureTable(
                ("unknowns", "non-zeros", "steps", "Jacobians", "f per Jacobian", "LU", "time", "per step"),
                rows,
                "Two-dimensional heat equation to t = 0.2, rtol = 1e-6, Jacobians by differences.",
            ),
            picture(_maps(result, GRIDS[-1]), f"Temperature on {count(GRIDS[-1] ** 2)} points at four times."),
        ],
    )


def _maps(result: pliant.Result, m: int) -> Figure:
    figure = Figure(figsize=(8.0, 2.5), layout="constrained")
    axes = figure.subplots(1, len(TIMES))
    top = float(result.values.max())
    for k, (axis, t) in enumerate(zip(axes, TIMES, strict=True), 1):
        image = axis.imshow(result.values[k].reshape(m, m), origin="lower", vmin=0, vmax=top, cmap="inferno")
        axis.set_title(f"t = {t:g}", fontsize=10, color="#222222")
        axis.set_axis_off()
    bar = figure.colorbar(image, ax=axes, shrink=0.85)
    bar.outline.set_visible(False)
    bar.ax.tick_params(color="#555555", labelcolor="#222222")
    return figure
