"""Pictures of the study of increments; see increments.py, which calls draw().

increments_nominal.png               figures 6.1 and 6.3: steps over the nominal value, step length of a bad rule
increments_sizes.png                 figures 6.4 to 6.11: |y|/nominal over time with Sterbenz' limits, and the states
increments_experiment2.png to 5.png  figures 7.1 to 7.8: steps over the constant, without and with algorithms 1 to 3
increments_sharper.png               experiment 6, not in the thesis
"""

from __future__ import annotations

import io
from pathlib import Path

import increments as study
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter
from PIL import Image

import pliant
from pliant.solve.results.plot import COLOURS

GREY = "#777777"
NAMES = {"radau5": "Radau5", "bdf": "BDF"}
# states shown: those of the thesis' figures, or what has their part in the stand-ins
SHOWN = {
    "VanDerPol": ("y1", "y2"),
    "LockValve": ("s_A", "w_A"),
    "HydraulicCircuit": ("q_acc", "z"),
    "DoubleWishbone": ("z_b", "vy_w", "om_camber"),
}
FORMULA = {
    2: "σ = √U max(|y|, c₀ nominal)",
    3: "σ = √U max(|y|, c₀)",
    4: "σ = max(U |y|, c₀ √U)",
    5: "σ = max(spacing(y)/√U, c₀ √U), powers of two",
}


def tidy(axes: Axes) -> None:
    """The look of all panels."""
    axes.grid(color="#DDDDDD", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8)


def save(figure: Figure, folder: Path, name: str) -> None:
    """Write a picture."""
    folder.mkdir(parents=True, exist_ok=True)
    memory = io.BytesIO()
    figure.savefig(memory, dpi=110)
    picture = Image.open(memory).convert("RGB").quantize(96)  # few colours: small files
    picture.save(folder / f"increments_{name}.png", optimize=True)


def envelope(times: np.ndarray, values: np.ndarray, bins: int = 600) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Middle, smallest and largest value in each bin of the time that has any."""
    edges = np.linspace(times[0], times[-1], bins + 1)
    place = np.clip(np.searchsorted(edges, times, side="right") - 1, 0, bins - 1)
    low, high = np.full(bins, np.inf), np.full(bins, -np.inf)
    np.minimum.at(low, place, values)
    np.maximum.at(high, place, values)
    used = np.isfinite(low)
    return 0.5 * (edges[:-1] + edges[1:])[used], low[used], high[used]


def draw_nominal(folder: Path, effort: study.Effort) -> None:
    """Figures 6.1 and 6.3."""
    figure = Figure(figsize=(11.0, 4.2), layout="constrained")
    grid = figure.subplots(2, 3, width_ratios=(1.3, 1, 1))
    place = grid[0, 0].get_gridspec()
    for axes in grid[:, 0]:
        axes.remove()
    left = figure.add_subplot(place[:, 0])
    styles = (("pyfmi", "PyFMI", "o-"), ("thesis", "thesis, chapter 8", "s--"), ("default", "pliant's default", "^-"))
    for k, (rule, label, style) in enumerate(styles):
        runs = [study.nominal_run(nominal, rule, effort) for nominal in study.NOMINALS]
        steps = [one.steps if one.steps is not None else np.nan for one in runs]
        left.loglog(study.NOMINALS, steps, style, color=COLOURS[(1, 4, 0)[k]], label=label, markersize=4, linewidth=1.2)
        failed = [nominal for nominal, one in zip(study.NOMINALS, runs, strict=True) if one.steps is None]
        if failed:
            left.plot(failed, [effort.full_limit] * len(failed), "x", color=COLOURS[1])
            left.annotate(
                "does not finish",
                (failed[-1], effort.full_limit),
                (-8, -3),
                textcoords="offset points",
                ha="right",
                fontsize=8,
            )
    left.set(xlabel="nominal value of both states (1 is right)", ylabel="steps", title="Radau5, steps to the end")
    left.legend(frameon=False, fontsize=8, loc="center left")
    draw_step_lengths(grid[:, 1:], effort)
    for axes in (left, *grid[:, 1:].flat):
        tidy(axes)
    save(figure, folder, "nominal")


def steps_of(rule: str, effort: study.Effort) -> pliant.Result:
    """A run of Van der Pol's oscillator for its steps, finished or not."""
    options = study.options_of("VanDerPol", rule, None, 0, effort.full_limit)
    case = study.CASES["VanDerPol"]
    try:
        return study.load("VanDerPol").simulate(
            case.stop, method="radau5", rtol=case.rtol, atol=1e-3, points=2, options=options
        )
    except pliant.SolverError as error:
        if error.result is None:
            raise
        return error.result


def draw_step_lengths(grid: np.ndarray, effort: study.Effort) -> None:
    """Figure 6.3: step lengths above, states below; the whole run at the left, where the steps are at the right."""
    bad, good = steps_of("pyfmi", effort), steps_of("default", effort)
    assert bad.steps is not None
    times = bad.steps["time"]
    low, high = np.quantile(times, (0.02, 0.98))
    spans = ((0.0, 2e6), (low - 0.25 * (high - low), high + 0.25 * (high - low)))
    solution = study.load("VanDerPol").simulate(2e6, method="radau5", rtol=1e-9, atol=1e-6, points=None)
    for column, (first, last) in enumerate(spans):
        upper, lower = grid[:, column]
        for found, label, colour, mark in ((bad, "PyFMI", COLOURS[1], "."), (good, "default", COLOURS[0], "o")):
            assert found.steps is not None
            inside = (found.steps["time"] >= first) & (found.steps["time"] <= last)
            at, smallest, largest = envelope(found.steps["time"][inside], found.steps["h"][inside])
            upper.plot(at, smallest, mark, color=colour, markersize=2.5, label=f"{label}: {inside.sum()} steps")
            upper.vlines(at, smallest, largest, color=colour, linewidth=0.8, alpha=0.5)
        upper.set(yscale="log", xlim=(first, last), ylabel="step length" if column == 0 else "")
        upper.set_title("nominal 10⁶, whole run" if column == 0 else "where the steps are", fontsize=10)
        place = {"loc": "lower left"} if column == 0 else {"loc": "center left", "bbox_to_anchor": (0.14, 0.5)}
        upper.legend(frameon=False, fontsize=7, **place)
        for k, key in enumerate(("y1", "y2")):
            lower.plot(solution.time, solution[key], color=COLOURS[2 + k], linewidth=1.0, label=key)
        lower.set(xlabel="time", xlim=(first, last), ylim=(-2.2, 2.2))
        lower.legend(frameon=False, fontsize=7, loc="lower right")


def draw_sizes(folder: Path, names: list[str]) -> None:
    """Figures 6.4 to 6.11."""
    figure = Figure(figsize=(3.0 * len(names) + 0.4, 5.2), layout="constrained")
    grid = figure.subplots(2, len(names), squeeze=False)
    for column, name in enumerate(names):
        found = study.reference(name)
        nominal = dict(zip(study.states(name), study.nominals(name), strict=True))
        ratio, curve = grid[0, column], grid[1, column]
        for k, key in enumerate(SHOWN[name]):
            size = np.abs(found[key]) / nominal[key]
            ratio.semilogy(
                found.time, np.where(size > 0, size, np.nan), ".", color=COLOURS[k], markersize=2.5, label=key
            )
            largest = float(np.abs(found[key]).max())
            curve.plot(
                found.time, found[key] / largest, color=COLOURS[k], linewidth=1.0, label=f"{key} / {largest:.3g}"
            )
        for limit, style in ((study.SQRT_U, "--"), (study.SQRT_U * study.SMALL, ":")):
            ratio.axhline(limit, color=GREY, linestyle=style, linewidth=1.0)
        ratio.set(title=name, ylim=(1e-16 if name != "VanDerPol" else 1e-13, 1e4 if name == "HydraulicCircuit" else 10))
        curve.set(xlabel="time")
        ratio.legend(frameon=False, fontsize=7, markerscale=3, loc="lower right")
        curve.legend(frameon=False, fontsize=7)
        tidy(ratio)
        tidy(curve)
    grid[0, 0].set_ylabel("|y| / nominal")
    grid[1, 0].set_ylabel("y / largest |y|")
    text = (
        "Sterbenz' condition fails below the dashed line (√U) for PyFMI's increments, below the dotted one for Radau5's"
    )
    figure.suptitle(text, fontsize=10)
    save(figure, folder, "sizes")


def draw_experiment(folder: Path, names: list[str], experiment: int, effort: study.Effort) -> None:
    """Figures 7.1 to 7.8: one experiment, a row per method, a column per model."""
    figure = Figure(figsize=(3.0 * len(names) + 0.4, 5.0), layout="constrained")
    grid = figure.subplots(len(study.METHODS), len(names), squeeze=False, sharex=True)
    for row, method in enumerate(study.METHODS):
        for column, name in enumerate(names):
            axes = grid[row, column]
            exact = study.run(name, method, "exact", effort.limit).steps
            own = study.run(name, method, "default", effort.limit).steps
            top = effort.scan_limit * 1.6
            axes.axvspan(1e-7, 1.0, color="#F3F3F3", zorder=0)
            for k, marker in enumerate("o^sD"):
                found = study.scan(name, method, experiment, k, effort)
                constants = np.array([c for c, _ in found])
                steps = np.array([one.steps if one.steps is not None else np.nan for _, one in found])
                label = f"algorithm {k}" if k else "as it comes"
                axes.loglog(
                    constants,
                    steps,
                    "-",
                    marker=marker,
                    color=COLOURS[k],
                    label=label,
                    markersize=6.5 - 1.4 * k,
                    linewidth=0.9,
                )
                failed = np.isnan(steps)
                height = top * 1.35**k
                axes.plot(constants[failed], np.full(failed.sum(), height), "x", color=COLOURS[k], markersize=4)
            if exact is not None:
                axes.axhline(exact, color="black", linewidth=0.9, linestyle="--", label="exact Jacobian")
            if own is not None:
                axes.axhline(own, color=COLOURS[4], linewidth=1.6, alpha=0.6, label="pliant's default")
            axes.set_ylim(top=top * 5)
            axes.set_title(f"{name}, {NAMES[method]}", fontsize=9)
            tidy(axes)
    for axes in grid[-1]:
        axes.set_xlabel("c₀")
    for axes in grid[:, 0]:
        axes.set_ylabel("steps")
    handles, labels = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=6, frameon=False, fontsize=8)
    marks = f"×: does not finish in {effort.scan_limit} steps; shaded: the thesis' constants"
    text = f"Experiment {experiment}: {FORMULA[experiment]}.  {marks}"
    figure.suptitle(text, fontsize=10)
    save(figure, folder, f"experiment{experiment}")


def draw_sharper(folder: Path, names: list[str], effort: study.Effort) -> None:
    """Experiment 6."""
    shown = [name for name in study.SHARPER if name in names]
    figure = Figure(figsize=(9.5, 2.9 * len(shown) + 0.4), layout="constrained")
    grid = figure.subplots(len(shown), 2, squeeze=False)
    marks = dict(zip(study.SHARP_RULES, "osvD^.", strict=True))
    for row, name in enumerate(shown):
        parameter, values = study.SHARPER[name]
        for column, method in enumerate(study.METHODS):
            axes = grid[row, column]
            for k, rule in enumerate(study.SHARP_RULES):
                runs = [study.sharp_mean(name, method, rule, value, effort) for value in values]
                steps = [one.steps if 2 * one.finished > one.runs else np.nan for one in runs]  # few tell nothing
                colour = {"default": COLOURS[0], "exact": "black", "pyfmi": COLOURS[1]}.get(rule, COLOURS[2 + k % 4])
                style = "--" if rule == "exact" else "-"
                axes.loglog(
                    values, steps, style, marker=marks[rule], color=colour, label=rule, markersize=4, linewidth=1.1
                )
                failed = [value for value, one in zip(values, runs, strict=True) if one.finished < one.runs]
                axes.plot(failed, [effort.scan_limit * 1.3 * 1.25**k] * len(failed), "x", color=colour, markersize=4)
            axes.set(title=f"{name}, {NAMES[method]}", xlabel=f"{parameter}, sharper to the left", ylabel="steps")
            axes.title.set_fontsize(9)
            axes.yaxis.set_minor_formatter(NullFormatter())
            axes.set_ylim(*((100, 5e3) if name == "DoubleWishbone" and column == 0 else (400, 4e5)))
            tidy(axes)
    handles, labels = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=6, frameon=False, fontsize=8)
    marks = f"×: some do not finish in {effort.scan_limit} steps, without a mean: most"
    figure.suptitle(f"Means over {len(effort.tolerances())} tolerances within 2 %.  {marks}", fontsize=10)
    save(figure, folder, "sharper")


def draw(folder: Path, names: list[str], effort: study.Effort) -> None:
    """All pictures."""
    study.progress(f"pictures to {folder}")
    if "VanDerPol" in names:
        draw_nominal(folder, effort)
    draw_sizes(folder, names)
    for experiment in range(2, 6):
        draw_experiment(folder, names, experiment, effort)
    if set(names) & set(study.SHARPER):
        draw_sharper(folder, names, effort)
