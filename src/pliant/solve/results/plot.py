"""Pictures of results with matplotlib: trajectories over time, and the steps that the method took.

Figures are made without pyplot unless a window is wanted: nothing needs a display or leaves state behind.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from pliant.arguments import as_names, as_path
from pliant.drawing import COLOURS, STYLE, import_optional, new_axes, picture_kind, wants_window
from pliant.errors import ArgumentError
from pliant.solve.results.result import FloatArray, Result
from pliant.solve.results.save import write_files

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_STYLES = ("-", "--", "-.", ":")


_MAX_DEFAULT = 8  # variables drawn when none is named
_MAX_LINES = 60  # events drawn as lines over the whole height; more become ticks at the bottom
_SCALES_APART = 100.0  # variables without unit share an axis unless their sizes differ by more than this factor


def plot(
    result: Result,
    *names: str | Sequence[str],
    ax: Axes | None = None,
    show: bool | None = None,
    file: str | os.PathLike[str] | None = None,
    log: str = "",
    title: str = "",
    events: bool = True,
) -> Figure:
    """Draw variables over time and return the figure.

    `plot(r, "x", "y", "i")` gives one axis per unit; a list, as in `plot(r, ["x", "y"], "i")`, makes one axis
    of its names. Without names the states are drawn. Events are thin vertical lines, jumps drawn as jumps.

    Arguments:
        ax: draw everything into these axes instead of a new figure.
        show: open a window. By default only where matplotlib has one to offer and no `file` is asked for.
        file: write the picture; the suffix (.png, .svg, .pdf) names the format.
        log: "x", "y" or "xy" for logarithmic axes.
    """
    matplotlib = import_optional("matplotlib", "plotting", "result.save() writes files for other tools")
    if not isinstance(log, str) or log not in ("", "x", "y", "xy"):
        raise ArgumentError(f"log={log!r} is not valid", hint='use log="x", "y" or "xy"')
    if not isinstance(title, str):
        raise ArgumentError(f"title must be a text, not {title!r}", hint='e.g. title="step response"')
    groups, note = _make_groups(result, names, one_axis=ax is not None)
    visible = wants_window(show, file) and ax is None
    with matplotlib.rc_context({} if ax is not None else STYLE):
        if ax is not None:
            figure, all_axes = _figure_of(ax), [ax]
        else:
            figure, all_axes = _new_axes([1.0] * len(groups), visible)
        for axes, group in zip(all_axes, groups, strict=True):
            _draw_group(axes, result, group, log)
            if events:
                _draw_events(axes, result)
        all_axes[-1].set_xlabel(_time_label(result))
        if ax is not None and title:
            ax.set_title(title)
        elif title or note:
            figure.suptitle(title or note, x=0.02, ha="left", fontsize="large")
        finish(figure, file, visible)
    return figure


def plot_steps(
    result: Result,
    *,
    show: bool | None = None,
    file: str | os.PathLike[str] | None = None,
    log: str = "",
) -> Figure:
    """Draw step size (logarithmic) and order of the steps taken; log="x" for a logarithmic time axis."""
    steps = result.steps
    if steps is None or not len(steps["time"]):
        raise ArgumentError("the result has no record of its steps", hint="files do not keep it: simulate again")
    matplotlib = import_optional("matplotlib", "plotting", "result.steps has the numbers")
    visible = wants_window(show, file)
    ends, sizes, orders = (np.asarray(steps[key]) for key in ("time", "h", "order"))
    methods = np.asarray(steps.get("method", np.full(len(ends), result.stats.method)))
    with matplotlib.rc_context(STYLE):
        figure, (upper, lower) = _new_axes([2.0, 1.0], visible)
        for number, method in enumerate(dict.fromkeys(methods.tolist())):
            colour = COLOURS[number % len(COLOURS)]
            mine = methods == method
            # A step lasts from its beginning to its end: flat pieces, not a line through its end points.
            upper.plot(*_flat_pieces(ends, sizes, np.abs(sizes), mine), color=colour, label=str(method), lw=1.2)
            lower.plot(*_flat_pieces(ends, sizes, orders, mine), color=colour, lw=1.2)
        upper.set_yscale("log")
        upper.set_ylabel("step size")
        lower.set_ylabel("order")
        lower.set_ylim(0, float(np.max(orders)) + 0.6)
        lower.set_yticks(np.arange(0, int(np.max(orders)) + 1, 1 if np.max(orders) < 8 else 2))
        lower.set_xlabel(_time_label(result))
        for axes in (upper, lower):
            _draw_events(axes, result)
            _limit_time(axes, np.append(ends[0] - sizes[0], ends), log)
        _legend_above(upper)
        finish(figure, file, visible)
    return figure


# -- what to draw ------------------------------------------------------------------------------------------


def _make_groups(
    result: Result, names: Sequence[str | Sequence[str]], *, one_axis: bool
) -> tuple[list[list[str]], str]:
    """The names of each axis, and a note when not everything is drawn."""
    note = ""
    if not names:
        recorded = [name for name in result.names if name not in result.aliases and name not in result.lazy_names]
        states = [name for name in result.states if name in recorded]
        everything = states or recorded
        names = everything[:_MAX_DEFAULT]
        if len(names) < len(everything):
            note = f"the first {len(names)} of {len(everything)} {'states' if states else 'variables'}"
    if not names:
        raise ArgumentError("the result has nothing to plot", hint="simulate with outputs=None to record all")
    flat = [name for item in names for name in as_names("the names of a plot", item)]
    for name in flat:
        result.resolve(name)  # an unknown name is said before anything is drawn
    if one_axis:
        return [flat], note
    if any(not isinstance(item, str) for item in names):
        return [[item] if isinstance(item, str) else list(item) for item in names], note
    by_unit: dict[str, list[str]] = {}
    for name in dict.fromkeys(flat):
        by_unit.setdefault(result.unit(name), []).append(name)
    groups = []
    for unit, group in by_unit.items():
        groups += [group] if unit else _split_by_size(result, group)
    return groups, note


def _split_by_size(result: Result, names: list[str]) -> list[list[str]]:
    """Without units, put variables together whose largest values are comparable: small ones stay visible."""
    sizes = {}
    for name in names:
        column = result[name]
        finite = np.abs(column[np.isfinite(column)])
        sizes[name] = float(finite.max()) if finite.size else 0.0
    groups: list[list[str]] = []
    largest = 0.0
    for name in sorted(names, key=lambda name: -sizes[name]):
        # All-zero columns fit anywhere.
        if not groups or (sizes[name] > 0 and sizes[name] * _SCALES_APART < largest):
            groups.append([])
            largest = sizes[name]
        groups[-1].append(name)
    return [sorted(group, key=names.index) for group in groups]


def _curve(result: Result, name: str) -> tuple[FloatArray, FloatArray]:
    """Points of the line, with NaN where the pen is lifted: at jumps, which are no slopes."""
    time, column = result.time, result[name]
    target, sign = result.resolve(name)
    pieces_t, pieces_x = [time], [column]
    places = [np.arange(len(time), dtype=np.float64)]

    def lift(after_row: int, times: Sequence[float], values: Sequence[float]) -> None:
        pieces_t.append(np.array(times))
        pieces_x.append(np.array(values))
        # Sorted in after the row, in their own order.
        places.append(after_row + np.linspace(0.2, 0.8, len(times)))

    for row in np.flatnonzero((time[1:] == time[:-1]) & (column[1:] != column[:-1])):
        lift(int(row), [time[row]], [np.nan])
    discrete = target in result.info and result.info[target].kind == "discrete"
    state = result.states.index(target) if target in result.states else -1
    ordered = bool(np.all(time[1:] >= time[:-1]))  # the search below needs it
    for event in result.events if ordered else ():
        at = int(np.searchsorted(time, event.time, side="right")) - 1
        if not 0 <= at < len(time) - 1 or (at > 0 and time[at - 1] == time[at] == event.time):
            continue  # outside, or recorded as two rows already
        if 0 <= state < min(len(event.before), len(event.after)):
            before, after = sign * event.before[state], sign * event.after[state]
        elif discrete:
            before, after = column[at], column[at + 1]
        else:
            continue
        if before != after:
            # One row right at the event may hold the values after it: then the jump comes before that row.
            late = time[at] == event.time and column[at] == after
            lift(at - 1 if late else at, [event.time] * 3, [before, np.nan, after])
    order = np.argsort(np.concatenate(places), kind="stable")
    return np.concatenate(pieces_t)[order], np.concatenate(pieces_x)[order]


def _flat_pieces(
    ends: NDArray[Any], sizes: NDArray[Any], heights: NDArray[Any], mine: NDArray[Any]
) -> tuple[FloatArray, FloatArray]:
    """One flat piece per step, a gap where another method ran."""
    x = np.column_stack([ends - sizes, ends]).astype(np.float64)
    y = np.column_stack([heights, heights]).astype(np.float64)
    y[~mine] = np.nan
    return x.ravel(), y.ravel()


# -- drawing -----------------------------------------------------------------------------------------------


def _new_axes(heights: Sequence[float], visible: bool) -> tuple[Figure, list[Axes]]:
    size = (8.0, 1.0 + 2.4 * len(heights) + (1.0 if len(heights) == 1 else 0.0))
    return new_axes(size, heights, visible, 0.08)


def _figure_of(ax: Axes) -> Figure:
    figure: Any = ax.get_figure(root=True)
    found: Figure = figure
    return found


def _draw_group(axes: Axes, result: Result, names: Sequence[str], log: str) -> None:
    for number, name in enumerate(names):
        times, values = _curve(result, name)
        style = _STYLES[number // len(COLOURS) % len(_STYLES)]
        marker = "o" if len(result) == 1 else None  # a line through one point is invisible
        axes.plot(times, values, style, color=COLOURS[number % len(COLOURS)], label=name, marker=marker)
    units = list(dict.fromkeys(result.unit(name) for name in names))
    unit = f"[{units[0]}]" if len(units) == 1 and units[0] else ""
    if len(names) == 1:
        # Names are data: parse_math=False, since no "$" in a variable's name is ever mathematics.
        apart = "\n" if len(names[0]) > 12 else " "
        axes.set_ylabel(f"{names[0]}{apart}{unit}".strip(), parse_math=False)
    else:
        axes.set_ylabel(unit, parse_math=False)
        _legend_above(axes)
    if "y" in log:
        axes.set_yscale("log")
    _limit_time(axes, result.time, log)


def _limit_time(axes: Axes, time: FloatArray, log: str) -> None:
    if "x" in log:
        axes.set_xscale("log")
        time = time[time > 0]
    if time.size and time.min() < time.max():
        axes.set_xlim(float(time.min()), float(time.max()))


def _draw_events(axes: Axes, result: Result) -> None:
    times = [event.time for event in result.events]
    if not times:
        return
    few = len(times) <= _MAX_LINES
    transform = axes.get_xaxis_transform()
    height = 1.0 if few else 0.04
    axes.vlines(times, 0.0, height, transform=transform, color="#AAAAAA", linewidth=0.8, zorder=0.9)


def _legend_above(axes: Axes) -> None:
    """Above the axis, where it hides nothing, in as many columns as the names leave room for."""
    labels = axes.get_legend_handles_labels()[1]
    columns = max(1, min(len(labels), int(110 / (max(map(len, labels), default=1) + 6))))
    legend = axes.legend(
        loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=columns, borderaxespad=0.2, handlelength=1.6
    )
    for text in legend.get_texts():
        text.set_parse_math(False)


def _time_label(result: Result) -> str:
    if "time" in result.info:
        unit = result.info["time"].unit
    else:  # a model with units is a physical one, and then time is in seconds
        unit = "s" if any(info.unit for info in result.info.values()) else ""
    return f"time [{unit}]" if unit else "time"


def write_figure(figure: Figure, file: str | os.PathLike[str], dpi: float | None = None) -> None:
    """The whole picture, or what was there before: in the format that the name of the file asks for."""
    path = as_path("the file", file)
    kind = picture_kind(path)

    def write(stream: BinaryIO) -> None:
        if dpi is None:
            figure.savefig(stream, format=kind)
        else:
            figure.savefig(stream, format=kind, dpi=dpi)

    write_files([(path, write)])


def finish(figure: Figure, file: str | os.PathLike[str] | None, visible: bool) -> None:
    """Write the figure, or show it."""
    figure.align_ylabels()
    if file is not None:
        write_figure(figure, file)
    if visible:
        import_optional("matplotlib.pyplot", "plotting", "").show()
