"""Tour: Modelica text in; its structure, index reduction, start values and operating points."""

from __future__ import annotations

import time
from math import sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

import pliant
from pliant.tour.section import MODELS, Code, FigureTable, Section, Text, count, picture, seconds, source

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from pliant.structure.report import Incidence

STEP = 0.002  # of the inflow, in m3/s
CHOICES: tuple[tuple[str, list[str], dict[str, object]], ...] = (
    ("pliant's own choice", [], {}),
    ("tear=['i3'], as in the lecture", ["i3"], {}),
    ("tearing='cellier', the lecture's heuristic", [], {"tearing": "cellier"}),
    ("aliases=False", [], {"aliases": False}),
)


def circuit(folder: Path) -> Section:
    """Ten equations in no order: sorted, torn, compiled, simulated."""
    path = MODELS / "circuit.mo"
    begin = time.perf_counter()
    found = _structure(path)
    looked = time.perf_counter() - begin
    begin = time.perf_counter()
    model = pliant.load(path)
    loaded = time.perf_counter() - begin
    result = model.simulate(stop=10.0, rtol=1e-8)
    error = float(np.max(np.abs(result["i3"] - 2.0 / 11.0 * result["u0"])))
    rows = []
    for title, tear, options in CHOICES:
        other = _structure(path, tear=tear, options=options)
        (loop,) = other.loops
        rows.append([title, count(other.n_after_aliases), count(loop.size), ", ".join(loop.tearing)])
    return Section(
        "modelica",
        "Modelica: equations in, code out",
        "The equations of a Modelica model have no order and are not solved for any variable. pliant finds out "
        "which one gives which variable, sorts them, finds and tears loops, and writes C with exact Jacobians.",
        [
            Code(path.read_text(encoding="utf-8").rstrip(), "The circuit with which Cellier explains algebraic loops."),
            Code(str(found).replace(str(path), path.name), '`print(pliant.inspect("circuit.mo"))`:', shown=True),
            FigureTable(
                ("option", "equations", "in the loop", "torn"),
                rows,
                "One torn variable is enough for the loop: given it, the others follow one by one.",
            ),
            picture(_incidence(found), "A dot: this equation contains this unknown. Frames: what is solved together."),
            Text(
                f"Analysed in {seconds(looked)}; read, sorted, written as C and compiled, or found in the cache, in "
                f"{seconds(loaded)}. {count(result.stats.n_steps)} steps to t = 10; the current i3 agrees with the "
                f"formula 2/11 u0 to {error:.0e} A."
            ),
        ],
    )


def _structure(path: Path, **choices: Any) -> pliant.Structure:
    found = pliant.inspect(path, **choices)
    assert isinstance(found, pliant.Structure)
    return found


def _incidence(found: pliant.Structure) -> Figure:
    figure = Figure(figsize=(8.0, 4.0), layout="constrained")
    left, right = figure.subplots(1, 2)
    _dots(left, found.incidence_before, "in the order of the text")
    _dots(right, found.incidence_after, "sorted, torn variable last in its loop")
    return figure


def _dots(axes: Axes, incidence: Incidence, title: str) -> None:
    rows, columns = zip(*incidence.pairs, strict=True)
    n = len(incidence.columns)
    axes.plot(columns, rows, "o", color="#0072b2", markersize=7)
    for first, size in incidence.blocks:
        axes.add_patch(
            Rectangle((first - 0.5, first - 0.5), size, size, fill=False, edgecolor="#d55e00", linewidth=1.3)
        )
    axes.set_title(title, fontsize=10, color="#222222")
    axes.set_xlim(-0.7, n - 0.3)
    axes.set_ylim(n - 0.3, -0.7)
    axes.set_xticks(range(n), incidence.columns, fontsize=8, rotation=60)
    axes.set_yticks(range(n), [row.partition("  ")[0] for row in incidence.rows], fontsize=8)
    axes.tick_params(length=0, labelcolor="#222222")
    axes.grid(color="#dddddd", linewidth=0.5)
    axes.set_axisbelow(True)
    axes.spines[:].set_visible(False)
    axes.set_aspect("equal")


def by_hand() -> pliant.Model:
    """The usual way round: the constraint differentiated twice by hand, and then forgotten."""

    def f(t, s):  # type: ignore[no-untyped-def]
        x, y, vx, vy = s
        force = (vx * vx + vy * vy - 9.81 * y) / (x * x + y * y)
        return [vx, vy, -force * x, -force * y - 9.81]

    return pliant.ode(f, [1.0, 0.0, 0.0, 0.0], names=["x", "y", "vx", "vy"])


def pendulum(folder: Path) -> Section:
    """Index 3: which states, how well the constraint holds, against a reduction by hand."""
    path = MODELS / "pendulum.mo"
    model, other = pliant.load(path), by_hand()
    found = model.structure
    rows, errors = [], {}
    for rtol in (1e-6, 1e-8):
        for name, one in (("Modelica", model), ("by hand", other)):
            result = one.simulate(stop=20.0, rtol=rtol, points=2000, method="radau5")
            length = np.abs(result["x"] ** 2 + result["y"] ** 2 - 1.0)
            energy = np.abs(0.5 * (result["vx"] ** 2 + result["vy"] ** 2) + 9.81 * result["y"])
            rows.append(
                [
                    name,
                    f"{rtol:g}",
                    count(result.stats.n_steps),
                    f"{length.max():.1e}",
                    f"{energy.max():.1e}",
                    seconds(result.stats.seconds),
                ]
            )
            errors[name] = (result.time, length)
    levels = " and ".join(f"({', '.join(names)})" for names in found.sets[0].candidates)
    return Section(
        "index",
        "Higher index",
        "The rod's length is given, its force is not: index 3. The constraint is differentiated twice, and all three "
        "forms hold at every step. No coordinate is a good state for a whole swing, so the choice changes.",
        [
            Code(path.read_text(encoding="utf-8").rstrip(), "A pendulum in Cartesian coordinates."),
            Text(
                f"Index {found.index}, {found.n_differentiated} equations added by differentiation, "
                f"{found.n_states} states: one of each of {levels}, chosen again when the other becomes better."
            ),
            Code(source(by_hand), "To compare: reduced by hand, without the constraint."),
            FigureTable(
                ("equations", "rtol", "steps", "|x² + y² - 1|", "|energy|, of 9.81 J/kg", "time"),
                rows,
                "Largest values over 20 s, at 2000 points. By hand the energy is kept better here, the circle is not; "
                "that function is Python, the other one C.",
            ),
            picture(_drift(errors), "How far the mass is off the circle, at rtol = 1e-8."),
        ],
    )


def _drift(errors: dict[str, tuple[np.ndarray, np.ndarray]]) -> Figure:
    figure = Figure(figsize=(8.0, 2.8), layout="constrained")
    axes = figure.subplots()
    for (name, (t, error)), colour in zip(errors.items(), ("#0072b2", "#d55e00"), strict=True):
        axes.semilogy(t, np.maximum(error, 1e-17), color=colour, label=name, linewidth=1.0)
    axes.set_xlabel("time in s", color="#222222")
    axes.set_ylabel("|x² + y² - 1|", color="#222222")
    axes.set_ylim(1e-17, 1e-2)
    axes.tick_params(color="#555555", labelcolor="#222222")
    axes.grid(color="#dddddd", linewidth=0.5)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, labelcolor="#222222")
    return figure


def operating_point(folder: Path) -> Section:
    """Two tanks: a parameter found at the start, linearisation and its uses."""
    path = MODELS / "tanks.mo"
    model = pliant.load(path)
    start = model.simulate(stop=1.0)
    linear = model.linearize()
    jump = ([0.0, 50.0, 50.0, 1000.0], [0.02, 0.02, 0.02 + STEP, 0.02 + STEP])
    result = model.simulate(stop=1000.0, inputs={"inflow": jump})
    predicted = _response(linear, result.time - 50.0)
    rows = [
        ["c", f"{start['c'][0]:.10f}", f"{0.02 / sqrt(2 * 9.81):.10f}", "inflow/√(2 g h2)"],
        ["h1", f"{start['h1'][0]:.10f}", f"{2.0:.10f}", "2 h2"],
    ]
    off = float(np.max(np.abs(result["outflow"] - predicted)))
    return Section(
        "start",
        "Start values and operating points",
        "`initial equation` says what holds at the start; here both levels are constant and the second one is 1 m. "
        "Unknown are a level and, with `fixed = false`, the size of the holes. The model is then linearised there.",
        [
            Code(path.read_text(encoding="utf-8").rstrip(), "Two tanks."),
            FigureTable(("unknown", "found", "by formula", "formula"), rows, "Values at t = 0."),
            FigureTable(
                ("", *linear.states, *linear.inputs),
                [
                    *(
                        [f"{name}'", *(f"{a:.6f}" for a in row), f"{b[0]:.6f}"]
                        for name, row, b in zip(linear.states, linear.A, linear.B, strict=True)
                    ),
                    ["outflow", *(f"{c:.6f}" for c in linear.C[0]), f"{linear.D[0, 0]:.6f}"],
                ],
                "`model.linearize()`: matrices A and B above, C and D below. Time constants "
                + " and ".join(f"{-1.0 / value.real:.0f} s" for value in linear.eigenvalues)
                + ", from its eigenvalues.",
            ),
            picture(
                _step_figure(result, predicted, jump),
                f"After 10 % more inflow the two differ by at most {100 * off / STEP:.1f} % of the step.",
            ),
        ],
    )


def _response(linear: pliant.Linearization, t: np.ndarray) -> np.ndarray:
    """Outflow after a step of the inflow at t = 0, by the linear model."""
    n = len(linear.states)
    both = np.zeros((n + 1, n + 1))
    both[:n, :n], both[:n, n] = linear.A, linear.B[:, 0] * STEP
    values, vectors = np.linalg.eig(both)  # two tanks that differ and an input: distinct values
    parts = (linear.C[0] @ vectors[:n]) * np.linalg.solve(vectors, np.eye(n + 1)[n])
    return np.asarray(0.02 + (np.exp(np.outer(np.maximum(t, 0.0), values)) @ parts).real)


def _step_figure(result: pliant.Result, predicted: np.ndarray, jump: tuple[list[float], list[float]]) -> Figure:
    figure = Figure(figsize=(8.0, 2.6), layout="constrained")
    axes = figure.subplots()
    axes.plot(result.time, result["outflow"], color="#0072b2", label="simulated")
    axes.plot(result.time, predicted, "--", color="#d55e00", label="linear model")
    axes.plot(*jump, color="#aaaaaa", label="inflow", linewidth=1.0)
    axes.set_xlabel("time in s", color="#222222")
    axes.set_ylabel("outflow in m³/s", color="#222222")
    axes.tick_params(color="#555555", labelcolor="#222222")
    axes.grid(color="#dddddd", linewidth=0.5)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, labelcolor="#222222")
    return figure
