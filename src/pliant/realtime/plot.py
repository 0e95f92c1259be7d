"""A plan in three pictures: which entries stay, where the eigenvalues go, how large the error is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pliant.drawing import COLOURS, import_optional
from pliant.realtime.sparsing.accept import Checker
from pliant.realtime.sparsing.bias import predicted_error
from pliant.solve.results.plot import write_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from pliant.realtime.plan import Plan


def plot_plan(plan: Plan, file: str | Path | None = None) -> Figure:
    """Draw the plan; ``file``: also save it."""
    drawn = import_optional("matplotlib.figure", "plotting", "plan.summary says it in words")
    figure: Figure = drawn.Figure(figsize=(10.0, 3.4), layout="constrained")
    if plan.outcome.frame.n:
        pattern, circle, error = figure.subplots(1, 3, width_ratios=(1, 1, 1.3))
        _pattern(plan, pattern)
        _eigenvalues(plan, circle)
        _error(plan, error)
    else:
        figure.text(0.5, 0.5, f"{plan.name} has no states: a step is a plain evaluation", ha="center", va="center")
    if file is not None:
        write_figure(figure, file, dpi=150)
    return figure


def _pattern(plan: Plan, axes: Axes) -> None:
    frame, mask = plan.outcome.frame, plan.outcome.mask
    size = max(1.0, min(6.0, 190.0 / frame.n))
    axes.plot(frame.columns[~mask], frame.rows[~mask], "s", color="#C9CED6", markersize=size, label="went")
    axes.plot(frame.columns[mask], frame.rows[mask], "s", color=COLOURS[0], markersize=size, label="stays")
    held = plan.outcome.states.frozen
    if held.any():
        axes.plot(frame.columns[held], frame.rows[held], "s", color=COLOURS[2], markersize=size, label="frozen")
    n = frame.n
    axes.set(xlim=(-0.9, n - 0.1), ylim=(n - 0.1, -0.9), aspect="equal", xticks=[], yticks=[])
    words = f", {int(held.sum())} frozen" if held.any() else ""
    axes.set_title(f"entries {plan.full_entries} → {plan.entries}{words}", fontsize=10)
    axes.set_xlabel(f"factorisation {plan.outcome.full.factor_flops} → {plan.flops} operations", fontsize=9)


def _eigenvalues(plan: Plan, axes: Axes) -> None:
    points = plan.outcome.points
    checker = Checker(points, plan.outcome.request.rule)
    some = np.linspace(0, len(points) - 1, min(len(points), 25)).astype(int)
    before = points.eigenvalues[some].ravel()
    found = [checker.spectrum(int(p), plan.outcome.states) for p in some]
    after = np.concatenate([one for one in found if one is not None])
    angle = np.linspace(0, 2 * np.pi, 200)
    axes.plot(np.cos(angle), np.sin(angle), color="#999999", linewidth=0.8)
    axes.plot(before.real, before.imag, "o", color="#B0B7C3", markersize=3, label="all entries")
    axes.plot(after.real, after.imag, ".", color=COLOURS[1], markersize=3, label="with the pattern")
    axes.set(aspect="equal", xlim=(-1.1, 1.1), ylim=(-1.1, 1.1), xticks=[-1, 0, 1], yticks=[-1, 0, 1])
    axes.set_title(f"eigenvalues of the step, margin kept {plan.margin_kept:.3f}", fontsize=10)
    axes.legend(frameon=False, fontsize=8, loc="center", bbox_to_anchor=(0.24, 0.5))


def _error(plan: Plan, axes: Axes) -> None:
    o = plan.outcome
    exact, masked = o.exact[0], o.masked[0]
    measured = masked.x - exact.x
    i = int(np.argmax(plan.evidence.measured[0]))
    predicted = predicted_error(o.frame, exact, o.states)
    times = np.concatenate([[exact.scenario.start], exact.t])
    scale = 100.0 / o.frame.scale[i]
    axes.plot(times, scale * measured[:, i], color=COLOURS[0], linewidth=1.4, label="measured")
    axes.plot(times, scale * predicted[:, i], "--", color=COLOURS[1], linewidth=1.0, label="predicted")
    axes.set_title(f"error added to {o.frame.names[i]}, % of its range", fontsize=10)
    axes.set_xlabel("time in s", fontsize=9)
    axes.grid(color="#DDDDDD", linewidth=0.7)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(framealpha=0.9, edgecolor="none", fontsize=8, loc="upper right")
