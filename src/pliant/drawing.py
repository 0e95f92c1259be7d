"""What all pictures share: colours, style, whether a window is wanted, and which format a file has."""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pliant.errors import ArgumentError, OutputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colours, told apart with any kind of colour vision; their yellow, faint on white, left out.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")

STYLE: dict[str, Any] = {
    "font.size": 10.0,
    "axes.labelsize": 10.0,
    "axes.titlesize": 11.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#555555",
    "axes.labelcolor": "#222222",
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.formatter.limits": (-4, 5),
    "axes.formatter.useoffset": False,
    "axes.formatter.use_mathtext": False,  # its parser takes longer than all the rest of a picture
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.7,
    "xtick.color": "#555555",
    "ytick.color": "#555555",
    "xtick.labelcolor": "#222222",
    "ytick.labelcolor": "#222222",
    "lines.linewidth": 1.6,
    "legend.frameon": False,
    "legend.fontsize": 9.0,
    "figure.facecolor": "white",
    "savefig.dpi": 150,
    "text.usetex": False,
}


def import_optional(module: str, purpose: str, otherwise: str) -> Any:
    """Import a package that pliant can do without, or say what to install."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise OutputError(
            f"{purpose} needs the package {package}: {error}", hint=f"pip install {package}, or {otherwise}"
        ) from error


def new_axes(
    size: tuple[float, float], heights: Sequence[float], visible: bool, gap: float
) -> tuple[Figure, list[Axes]]:
    """Axes below each other that share the time, in a figure that may have a window."""
    module, kind = ("matplotlib.pyplot", "figure") if visible else ("matplotlib.figure", "Figure")
    figure = getattr(import_optional(module, "plotting", ""), kind)(figsize=size, layout="constrained")
    figure.get_layout_engine().set(w_pad=0.08, h_pad=gap)
    grid = figure.subplots(len(heights), 1, sharex=True, squeeze=False, height_ratios=list(heights))
    return figure, list(grid[:, 0])


def wants_window(show: bool | None, file: str | os.PathLike[str] | None) -> bool:
    """As asked; else if there is no file and the backend can open one."""
    if show is not None:
        return show
    if file is not None:
        return False
    # get_backend() also wakes a notebook's inline backend, which then draws the figure that plot() returns.
    matplotlib = import_optional("matplotlib", "plotting", "")
    registry = import_optional("matplotlib.backends", "plotting", "")
    interactive = registry.backend_registry.list_builtin(registry.BackendFilter.INTERACTIVE)
    return str(matplotlib.get_backend()).lower() in {str(name).lower() for name in interactive}


def picture_kind(path: Path) -> str:
    """The format that the name of a picture asks for, "png"."""
    base = import_optional("matplotlib.backend_bases", "plotting", "")
    kinds = base.FigureCanvasBase.get_supported_filetypes()
    kind = path.suffix.lower().lstrip(".")
    if kind not in kinds:
        known = ", ".join(f".{name}" for name in sorted(kinds))
        raise ArgumentError(f"cannot draw {path}: {path.suffix!r} names no format", hint=f"use one of {known}")
    return kind
