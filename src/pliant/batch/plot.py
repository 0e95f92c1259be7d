"""Pictures of a study: a fan of curves over time, pairs, parallel coordinates, failures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pliant.arguments import as_names, as_path
from pliant.batch.study import Study, failure_kinds
from pliant.drawing import COLOURS, STYLE, import_optional, picture_kind, wants_window
from pliant.errors import ArgumentError, OutputError, UnknownNameError
from pliant.solve.names import suggestion
from pliant.solve.results.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

KINDS = ("fan", "pairs", "parallel", "failures")
MOST_CURVES, MOST_PAIRS, MOST_LINES, TIMES = 2000, 5, 2000, 201
BANDS = ((5.0, 95.0, 0.15), (25.0, 75.0, 0.3))


def plot_study(study: Study, kind: str, names: Sequence[str], file: Any, show: bool | None) -> Figure:
    """Draw; to a file, in a window, or as a figure to go on with."""
    if kind not in KINDS:
        raise ArgumentError(f"there is no picture {kind!r} of a study", hint=suggestion(str(kind), KINDS))
    as_names("names", list(names))
    path = None if file is None else as_path("file", file)
    if path is not None:
        picture_kind(path)
    visible = wants_window(show, path)
    matplotlib = import_optional("matplotlib", "plotting", "")
    with matplotlib.rc_context(STYLE):
        figure = _new_figure(visible)
        DRAW[kind](study, figure, list(names))
        if path is not None:
            _save(figure, path)
    if visible:
        import_optional("matplotlib.pyplot", "plotting", "").show()
    return figure


def _new_figure(visible: bool) -> Figure:
    module, kind = ("matplotlib.pyplot", "figure") if visible else ("matplotlib.figure", "Figure")
    figure: Figure = getattr(import_optional(module, "plotting", ""), kind)(layout="constrained")
    return figure


def _save(figure: Figure, path: Path) -> None:
    try:
        figure.savefig(path)
    except OSError as error:
        raise OutputError(f"{path} could not be written: {error.strerror}", hint="check path and room") from error


# --------------------------------------------------------------------------------------------------------------- fan


def _fan(study: Study, figure: Figure, names: list[str]) -> None:
    chosen, curves = _curves(study, names)
    figure.set_size_inches(7.5, 2.6 * len(chosen) + 0.6)
    axes = figure.subplots(len(chosen), 1, sharex=True, squeeze=False)[:, 0]
    for row, (name, ax) in enumerate(zip(chosen, axes, strict=True)):
        time, values = curves[name]
        colour = COLOURS[row % len(COLOURS)]
        for low, high, alpha in BANDS:
            below, above = np.nanpercentile(values, [low, high], axis=0)
            ax.fill_between(time, below, above, color=colour, alpha=alpha, lw=0, label=f"{low:g} to {high:g} %")
        ax.plot(time, np.nanmedian(values, axis=0), color=colour, label="median")
        ax.set_ylabel(name)
        if row == 0:
            ax.legend(loc="best")
            ax.set_title(f"{len(values)} of {len(study)} cases")
    axes[-1].set_xlabel("time in s")


def _curves(study: Study, names: list[str]) -> tuple[list[str], dict[str, tuple[NDArray[Any], NDArray[Any]]]]:
    """Names, and for each common times and a row for each case that has them."""
    step = max(1, len(study) // MOST_CURVES)
    results = [one for one in (study[k] for k in range(0, len(study), step)) if isinstance(one, Result) and len(one)]
    if not results and study.failures and len(study.failures) == len(study):
        raise ArgumentError(
            "every case of the study failed, so there is nothing to draw over time",
            hint="look at study.failures or plot('failures')",
        )
    if not results:
        raise ArgumentError(
            "the study kept no curves, so there is nothing to draw over time",
            hint="simulate_many(..., keep=None) or keep=['x'] keeps them; or plot('pairs')",
        )
    kept = [name for name in results[0].states if name in results[0]]
    chosen = names or (kept or list(results[0].names))[:3]
    for name in chosen:
        if name not in results[0]:
            raise UnknownNameError(f"the study has no variable {name!r}", hint=suggestion(name, results[0].names))
    begin, end = min(one.time[0] for one in results), max(one.time[-1] for one in results)
    time = np.linspace(begin, end, TIMES)
    return chosen, {name: (time, np.array([_at(one, name, time) for one in results])) for name in chosen}


def _at(result: Result, name: str, time: NDArray[Any]) -> NDArray[Any]:
    out: NDArray[Any] = np.interp(time, result.time, result[name])
    out[(time < result.time[0]) | (time > result.time[-1])] = np.nan
    return out


# ------------------------------------------------------------------------------------------------ pairs and parallel


def _numbers(study: Study, names: list[str], most: int) -> tuple[list[str], NDArray[Any], NDArray[Any]]:
    """Columns to draw, their values, and which cases failed."""
    table = study._columns()
    known = [name for name in table if name not in ("error", "name") and not _is_text(table[name])]
    for name in names:
        if name not in known:
            raise UnknownNameError(f"the study has no column {name!r}", hint=suggestion(name, known))
    varied = [name for name in known if name != "seconds" and _has_spread(table[name])]
    chosen = names or varied[:most] or known[:most]
    if not chosen:
        raise ArgumentError("the study has no numbers to draw", hint="plot('fan', name) draws curves")
    failed = np.array([error is not None for error in table["error"]])
    return chosen, np.column_stack([np.asarray(table[name], dtype=float) for name in chosen]), failed


def _is_text(column: Any) -> bool:
    return any(isinstance(one, str) for one in column)


def _has_spread(column: Any) -> bool:
    known = np.asarray(column, dtype=float)
    known = known[np.isfinite(known)]
    return bool(len(known) and known.max() > known.min())


def _pairs(study: Study, figure: Figure, names: list[str]) -> None:
    chosen, values, failed = _numbers(study, names, MOST_PAIRS)
    n = len(chosen)
    figure.set_size_inches(1.9 * n + 1.0, 1.9 * n + 0.6)
    axes = figure.subplots(n, n, squeeze=False)
    for i in range(n):
        for j in range(n):
            ax: Axes = axes[i, j]
            if i == j:
                known = values[~failed, j]
                known = known[np.isfinite(known)]
                ax.hist(known, bins=20, color=COLOURS[0], alpha=0.7)
                ax.set_yticks([])
            else:
                ax.plot(values[~failed, j], values[~failed, i], ".", ms=3, color=COLOURS[0], alpha=0.6)
                ax.plot(values[failed, j], values[failed, i], "x", ms=4, color=COLOURS[1])
            if i == n - 1:
                ax.set_xlabel(chosen[j])
            if j == 0:
                ax.set_ylabel(chosen[i])
            ax.tick_params(labelsize=7)
    figure.suptitle(f"{len(study)} cases" + (f", {int(failed.sum())} failed (crosses)" if failed.any() else ""))


def _parallel(study: Study, figure: Figure, names: list[str]) -> None:
    chosen, values, failed = _numbers(study, names, 10)
    figure.set_size_inches(max(6.0, 1.2 * len(chosen) + 1.0), 4.2)
    ax = figure.subplots()
    values = np.where(np.isfinite(values), values, np.nan)
    empty = np.isnan(values).all(axis=0)
    low, high = (find(np.where(empty, 0.0, values), axis=0) for find in (np.nanmin, np.nanmax))
    spread = np.where(high > low, high - low, 1.0)
    shown = ((values - low) / spread)[:: max(1, len(values) // MOST_LINES)]
    bad = failed[:: max(1, len(values) // MOST_LINES)]
    places = np.arange(len(chosen))
    alpha = max(0.05, min(0.6, 60.0 / len(shown)))
    ax.plot(places, shown[~bad].T, color=COLOURS[0], alpha=alpha, lw=0.8)
    if bad.any():
        ax.plot(places, np.nan_to_num(shown[bad], nan=-0.05).T, color=COLOURS[1], alpha=0.8, lw=1.0)
    for j in range(len(chosen)):
        ax.axvline(j, color="#888888", lw=0.8)
        ax.text(j, 1.03, f"{high[j]:.4g}", ha="center", va="bottom", fontsize=8)
        ax.text(j, -0.03, f"{low[j]:.4g}", ha="center", va="top", fontsize=8)
    ax.set_xticks(places, chosen)
    ax.set_yticks([])
    ax.set_ylim(-0.12, 1.12)
    ax.grid(visible=False)


def _failures(study: Study, figure: Figure, names: list[str]) -> None:
    if names:
        raise ArgumentError("a picture of failures has no names", hint="plot('failures')")
    kinds = failure_kinds(study.failures)
    figure.set_size_inches(7.0, 0.45 * max(len(kinds), 1) + 1.2)
    ax = figure.subplots()
    if not kinds:
        ax.text(0.5, 0.5, "no case failed", ha="center", va="center", transform=ax.transAxes)
        ax.set_axis_off()
        return
    labels = [kind for kind, _ in kinds][::-1]
    counts = [len(cases) for _, cases in kinds][::-1]
    ax.barh(labels, counts, color=COLOURS[1], alpha=0.8)
    ax.set_xlabel(f"cases of {len(study)}")


DRAW = {"fan": _fan, "pairs": _pairs, "parallel": _parallel, "failures": _failures}
