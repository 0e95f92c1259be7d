"""The timeline of a run: step size and order of the accepted steps, and lanes for failures, Jacobians and events.

All share one time axis. A lane holds one tick per incident; its number stands at the right. Drawn without pyplot unless
a window is wanted, so that nothing needs a display or leaves state behind.
"""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pliant.arguments import as_path
from pliant.drawing import COLOURS, STYLE, import_optional, new_axes, picture_kind, wants_window
from pliant.errors import ArgumentError, OutputError
from pliant.explain.findings import number
from pliant.explain.record import KINDS, FloatArray, RunRecord
from pliant.explain.switching import root_uses

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LANES = {  # kind of incident -> label, colour
    "error": ("error test failed", "#D55E00"),
    "newton": ("Newton failed", "#CC79A7"),
    "refused": ("point refused", "#000000"),
    "singular": ("singular matrix", "#000000"),
    "jacobian": ("new Jacobian", "#0072B2"),
    "repaired": ("increments repaired", "#009E73"),
    "handover": ("method changed", "#E69F00"),
}
ALWAYS = ("error", "newton", "jacobian")  # lanes that stand even when empty: an empty lane is good news
MOST_ROOTS = 8
EVENTS_COLOUR = "#555555"
_STYLE: Any = {**STYLE, "axes.titlesize": 10.0, "grid.color": "#E4E4E4"}
_MOST_POINTS = 8000  # steps drawn one by one; more are drawn as the range within each of so many groups
_MOST_TICKS = 1500  # places along a lane: more could not be told apart


def timeline(
    record: RunRecord, *, file: str | os.PathLike[str] | None = None, show: bool | None = None, log: str = ""
) -> Figure:
    """Draw step size, order, failures, Jacobians and events over time and return the figure."""
    mpl = import_optional("matplotlib", "plotting", "result.explain() says it in words")
    if not isinstance(log, str) or log not in ("", "x"):
        raise ArgumentError(f"log={log!r} is not valid", hint='use log="x" for a logarithmic time axis')
    kind = picture_kind(as_path("the file", file)) if file is not None else ""
    visible = wants_window(show, file)
    lanes = _lanes(record)
    with mpl.rc_context(_STYLE):
        heights = [2.6, 1.1, 0.3 + 0.26 * len(lanes)]
        figure, (upper, middle, lower) = new_axes((9.0, 1.2 + sum(heights)), heights, visible, 0.06)
        _draw_steps(upper, middle, record)
        _draw_lanes(lower, lanes)
        lower.set_xlabel("time")
        _limit_time(lower, record, log)
        title = record.model or "timeline"
        upper.set_title(title, loc="left", pad=22 if len(_methods(record)) > 1 else 8, parse_math=False)
        figure.align_ylabels([upper, middle])
        if file is not None:
            _write(figure, as_path("the file", file), kind)
        if visible:
            import matplotlib.pyplot as plt

            plt.show()
    return figure


# -- steps ---------------------------------------------------------------------------------------------------


def _methods(record: RunRecord) -> list[str]:
    return list(dict.fromkeys(np.asarray(record.steps.get("method", ())).tolist()))


def _draw_steps(upper: Axes, middle: Axes, record: RunRecord) -> None:
    upper.set_ylabel("step size")
    middle.set_ylabel("order")
    begins, ends = record.step_begins, record.step_ends
    if not len(ends):
        for axes in (upper, middle):
            axes.set_yticks([])
        upper.text(0.5, 0.5, "no steps", transform=upper.transAxes, ha="center", color="#777777")
        return
    sizes = np.abs(np.asarray(record.steps["h"], dtype=np.float64))
    orders = np.asarray(record.steps["order"], dtype=np.float64)
    methods = np.asarray(record.steps.get("method", np.full(len(ends), record.used)))
    names = _methods(record) or [record.used]
    for place, name in enumerate(names):
        colour, mine = COLOURS[place % len(COLOURS)], methods == name
        for axes, heights in ((upper, sizes), (middle, orders)):
            axes.plot(*_pieces(begins, ends, heights, mine), color=colour, lw=1.1, label=str(name))
    upper.set_yscale("log")
    middle.set_ylim(0, float(np.max(orders)) + 0.7)
    middle.set_yticks(np.arange(0, int(np.max(orders)) + 1, 1 if np.max(orders) < 8 else 2))
    if len(names) > 1:
        upper.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=len(names), borderaxespad=0.2, handlelength=1.6)
    else:
        upper.text(1.0, 1.02, str(names[0]), transform=upper.transAxes, ha="right", va="bottom", color="#555555")


def _pieces(
    begins: FloatArray, ends: FloatArray, heights: FloatArray, mine: NDArray[np.bool_]
) -> tuple[FloatArray, FloatArray]:
    """One flat piece per step, a gap where another method ran; long runs as the range within groups of steps."""
    heights = np.where(mine, heights, np.nan)
    if len(ends) <= _MOST_POINTS:
        return np.column_stack([begins, ends]).ravel(), np.column_stack([heights, heights]).ravel()
    groups = np.linspace(0, len(ends), _MOST_POINTS // 2 + 1).astype(np.intp)[:-1]
    low = np.minimum.reduceat(np.where(mine, heights, np.inf), groups)
    high = np.maximum.reduceat(np.where(mine, heights, -np.inf), groups)
    both = np.column_stack([low, high])
    both[~np.isfinite(both)] = np.nan
    return np.repeat(ends[groups], 2), both.ravel()


# -- lanes ---------------------------------------------------------------------------------------------------


def _lanes(record: RunRecord) -> list[tuple[str, str, FloatArray]]:
    """Label, colour and times of each lane, from top to bottom."""
    lanes = []
    for kind, (label, colour) in LANES.items():
        times = record.incidents.time[record.incidents.kind == KINDS.index(kind)]
        if len(times) or kind in ALWAYS:
            lanes.append((label, colour, times))
    uses = root_uses(record)
    shown = uses if len(uses) <= MOST_ROOTS else uses[: MOST_ROOTS - 1]
    lanes += [(_short(use.name), EVENTS_COLOUR, use.times) for use in shown]
    rest = uses[len(shown) :]
    if rest:
        lanes.append((f"{len(rest)} other roots", EVENTS_COLOUR, np.concatenate([use.times for use in rest])))
    return lanes


def _draw_lanes(axes: Axes, lanes: list[tuple[str, str, FloatArray]]) -> None:
    for row, (_, colour, times) in enumerate(lanes):
        axes.axhline(row, color="#EEEEEE", lw=0.8, zorder=0.5)
        places = _thin(times)
        # Dense lanes in thin ticks: they stay readable as a texture.
        width = 1.1 if len(places) < 200 else 0.6
        axes.vlines(places, row - 0.34, row + 0.34, color=colour, lw=width)
        label = number(len(times)) if len(times) else "none"
        axes.text(1.01, row, label, transform=axes.get_yaxis_transform(), va="center", fontsize=9, color="#555555")
    axes.set_yticks(range(len(lanes)), [lane[0] for lane in lanes], fontsize=9)
    for text in axes.get_yticklabels():
        text.set_parse_math(False)  # names are data
    axes.tick_params(axis="y", length=0)
    axes.grid(False, axis="y")
    axes.set_ylim(len(lanes) - 0.4, -0.6)


def _thin(times: FloatArray) -> FloatArray:
    if len(times) <= _MOST_TICKS:
        return times
    low, high = float(np.min(times)), float(np.max(times))
    cells = np.round((times - low) / max(high - low, 1e-300) * _MOST_TICKS)
    return np.asarray(times[np.unique(cells, return_index=True)[1]], dtype=np.float64)


def _short(name: str, room: int = 26) -> str:
    return name if len(name) <= room else f"{name[: room // 2 - 1]}..{name[-(room // 2 - 1) :]}"


# -- the figure ----------------------------------------------------------------------------------------------


def _limit_time(axes: Axes, record: RunRecord, log: str) -> None:
    low, high = float(record.start), float(record.reached)
    if log == "x":
        axes.set_xscale("log")
        ends = record.step_ends
        ends = ends[ends > 0]
        low = max(low, float(ends[0])) if len(ends) else low
        low = low if low > 0 else high * 1e-3
    if low >= high:
        axes.set_xticks([high])
    elif log == "x":
        axes.set_xlim(low, high)
    else:  # a little more: much happens at the very ends, where ticks would be cut
        axes.set_xlim(low - 0.005 * (high - low), high + 0.005 * (high - low))


def _write(figure: Figure, path: Path, kind: str) -> None:
    # Drawn in memory first: a failure leaves an old picture as it was.
    buffer = io.BytesIO()
    figure.savefig(buffer, format=kind)
    try:
        path.write_bytes(buffer.getvalue())
    except OSError as error:
        raise OutputError(
            f"cannot write {path}: {error.strerror or error}", hint="choose a file and directory that you may write to"
        ) from error
