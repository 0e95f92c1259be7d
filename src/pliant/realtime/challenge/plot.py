"""A challenge in one picture: errors in units of what is allowed, sorted, by flag and by coverage."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pliant.drawing import COLOURS, import_optional
from pliant.solve.results.plot import write_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from pliant.realtime.challenge.found import Challenge

SMALLEST, LARGEST = 1e-4, 1e4  # that are drawn


def plot_challenge(found: Challenge, file: str | Path | None = None) -> Figure:
    """Draw the errors; ``file``: also save the picture."""
    drawn = import_optional("matplotlib.figure", "plotting", "print(found) says it in words")
    figure: Figure = drawn.Figure(figsize=(7.5, 3.6), layout="constrained")
    axes = figure.subplots()
    rows = sorted((one for one in found.rows if one.reason is None), key=lambda one: one.ratio)
    ratio = np.clip(np.nan_to_num([one.ratio for one in rows], nan=LARGEST, posinf=LARGEST), SMALLEST, LARGEST)
    covered, flagged = (np.array([getattr(one, key) for one in rows], dtype=bool) for key in ("covered", "flagged"))
    place = np.arange(len(rows))
    kinds = (
        ("covered, no flag", covered & ~flagged, COLOURS[0], "o"),
        ("covered, flag", covered & flagged, COLOURS[4], "s"),
        ("outside, flag", ~covered & flagged, COLOURS[2], "^"),
        ("outside, no flag", ~covered & ~flagged, COLOURS[3], "D"),
    )
    for label, which, colour, marker in kinds:
        if which.any():
            axes.plot(place[which], ratio[which], marker, color=colour, markersize=4, label=f"{label} ({which.sum()})")
    missed = np.array([one.failed and not one.flagged for one in rows], dtype=bool)
    if missed.any():
        label = f"missed ({missed.sum()})"
        axes.plot(place[missed], ratio[missed], "x", color=COLOURS[1], markersize=8, label=label)
    axes.axhline(1.0, color="#222222", linewidth=1.0)
    axes.axhline(0.5, color="#999999", linewidth=0.8, linestyle=":")
    axes.set(yscale="log", xlabel="scenarios, sorted", ylabel="error / what is allowed")
    axes.set_title(f"{found.model}: {len(rows)} unseen scenarios", fontsize=10)
    axes.legend(loc="best", fontsize=8)
    if file is not None:
        write_figure(figure, file, dpi=150)
    return figure
