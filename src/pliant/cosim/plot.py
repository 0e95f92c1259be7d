"""Pictures of a coupling: its graph, and step size and order of a part with two strategies side by side.

The graph is drawn in layers: a part stands right of those whose values it needs, as far as there are no cycles.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pliant.cosim.record import CouplingResult
from pliant.drawing import COLOURS, STYLE, import_optional
from pliant.errors import ArgumentError
from pliant.solve.results.plot import finish
from pliant.structure.blt import sort_blocks

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from pliant.cosim.coupling import Coupling

BOX = (1.5, 0.62)  # width and height of a part
GAP = (3.3, 2.0)  # distances of layers and of parts in a layer
LOOP = COLOURS[1]
PLAIN = "#5A6472"
MOST_JUMPS = 200  # communication points drawn as lines


def layers(names: Sequence[str], edges: Sequence[tuple[str, str]]) -> list[list[str]]:
    """Parts in layers from left to right; in a cycle, connections to parts added earlier go back.

    >>> layers(["a", "b", "c"], [("a", "b"), ("b", "c")])
    [['a'], ['b'], ['c']]
    """
    place = {name: k for k, name in enumerate(names)}
    needs: list[list[int]] = [[] for _ in names]
    for source, target in edges:
        if source != target:
            needs[place[target]].append(place[source])
    numbers = list(range(len(names)))
    blocks = sort_blocks(needs, numbers, numbers)
    layer = [0] * len(names)
    for block in blocks:
        for e in sorted(block):
            layer[e] = max((layer[k] + 1 for k in needs[e] if k not in block or k < e), default=0)
    out: list[list[str]] = [[] for _ in range(max(layer, default=-1) + 1)]
    for k, name in enumerate(names):
        out[layer[k]].append(name)
    return out


def plot_graph(coupling: Coupling, file: str | Path | None = None) -> Figure:
    """Parts as boxes, connections as arrows; loops of direct feed-through in another colour."""
    matplotlib = import_optional("matplotlib", "plotting", "coupling.connections lists them")
    from matplotlib.figure import Figure
    from matplotlib.patches import FancyBboxPatch

    edges = _edges(coupling)
    in_layers = layers(coupling.parts, list(edges))
    tall = max((len(one) for one in in_layers), default=1)
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(1.2 + GAP[0] * len(in_layers), 1.0 + GAP[1] * tall), layout="constrained")
        axes = figure.subplots()
        axes.axis("off")
        where: dict[str, tuple[float, float]] = {}
        for column, layer in enumerate(in_layers):
            for row, name in enumerate(layer):
                x, y = GAP[0] * column, GAP[1] * (0.5 * (len(layer) - 1) - row)
                where[name] = (x, y)
                corner = (x - BOX[0] / 2, y - BOX[1] / 2)
                style = "round,pad=0,rounding_size=0.12"
                axes.add_patch(
                    FancyBboxPatch(corner, *BOX, boxstyle=style, facecolor="#EEF2F7", edgecolor=COLOURS[0], zorder=2)
                )
                axes.text(x, y, name, ha="center", va="center", zorder=3, parse_math=False)
        for (source, target), (labels, is_loop) in edges.items():
            _arrow(axes, where[source], where[target], labels, LOOP if is_loop else PLAIN)
        width, height = GAP[0] * (len(in_layers) - 1), GAP[1] * (tall - 1)
        axes.set(xlim=(-1.2, width + 1.2), ylim=(-height / 2 - 1.1, height / 2 + 1.1), aspect="equal")
        if coupling.loops:
            axes.set_title("loops of direct feed-through in colour", fontsize=9, loc="left", color=LOOP)
        finish(figure, file, False)
    return figure


def _edges(coupling: Coupling) -> dict[tuple[str, str], tuple[list[str], bool]]:
    """Pairs of parts -> what goes from one to the other, and whether a loop is among it."""
    in_loops = {name for loop in coupling.loops for name in loop}
    out: dict[tuple[str, str], tuple[list[str], bool]] = {}
    for one in coupling.connections:
        labels, is_loop = out.get((one.source_part, one.target_part), ([], False))
        text = f"{one.source} → {one.target}"
        out[one.source_part, one.target_part] = ([*labels, text], is_loop or str(one) in in_loops)
    return out


def _arrow(
    axes: Axes, start: tuple[float, float], end: tuple[float, float], labels: Sequence[str], colour: str
) -> None:
    shown = [*labels[:4], *([f"and {len(labels) - 4} more"] if len(labels) > 4 else [])]
    forward = end[0] > start[0] or (end[0] == start[0] and end[1] < start[1])
    side = 1.0 if forward else -1.0
    if start == end:
        tail, head, curve = (start[0] - 0.3, start[1] + 0.3), (end[0] + 0.3, end[1] + 0.3), -1.6
        middle = (start[0], start[1] + 0.85)
    else:
        tail = (start[0] + side * BOX[0] / 2 * (start[0] != end[0]), start[1] + 0.12 * side)
        head = (end[0] - side * BOX[0] / 2 * (start[0] != end[0]), end[1] + 0.12 * side)
        curve = -0.25
        dx, dy = head[0] - tail[0], head[1] - tail[1]  # the label stands where the arc is highest
        middle = ((tail[0] + head[0] + curve * dy) / 2, (tail[1] + head[1] - curve * dx) / 2)
    arrow = {"arrowstyle": "-|>", "color": colour, "connectionstyle": f"arc3,rad={curve}", "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", xy=head, xytext=tail, arrowprops=arrow, zorder=1)
    axes.text(
        *middle,
        "\n".join(shown),
        ha="center",
        va="center",
        fontsize=7.5,
        color=colour,
        parse_math=False,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.0},
        zorder=2.5,
    )


def plot_strategies(results: dict[str, CouplingResult], part: str, file: str | Path | None = None) -> Figure:
    """Step size and order of one part over time, a column for each strategy, communication points marked.

    As figures 6, 7, 9 and 10 of Andersson, Fuehrer & Akesson (2016).
    """
    matplotlib = import_optional("matplotlib", "plotting", "result.parts[...].steps has the numbers")
    from matplotlib.figure import Figure

    if not results:
        raise ArgumentError("there is nothing to draw", hint="give results by the name of their strategy")
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(1.0 + 4.2 * len(results), 4.6), layout="constrained")
        grid = figure.subplots(2, len(results), sharex=True, sharey="row", squeeze=False, height_ratios=(2, 1))
        for column, (name, result) in enumerate(results.items()):
            if part not in result.parts:
                raise ArgumentError(f"the result has no part {part!r}", hint=f"it has {', '.join(result.parts)}")
            _steps(grid[0, column], grid[1, column], result, part, name)
        grid[0, 0].set_ylabel("step size")
        grid[1, 0].set_ylabel("order")
        finish(figure, file, False)
    return figure


def _steps(upper: Axes, lower: Axes, result: CouplingResult, part: str, title: str) -> None:
    steps = result.parts[part].steps
    upper.set_yscale("log")
    upper.set_title(f"{title}: {result.parts[part].stats.n_steps} steps", fontsize=10)
    lower.set(xlabel="time", ylim=(0, 5.6), yticks=range(6))
    jumps = result.communication
    if len(jumps) <= MOST_JUMPS:
        for axes in (upper, lower):
            axes.vlines(jumps, 0, 1, transform=axes.get_xaxis_transform(), color="#C9CED6", linewidth=0.6, zorder=0.9)
    if steps is None or not len(steps["time"]):
        return
    ends, sizes, orders = steps["time"], steps["h"], steps["order"]
    times = np.column_stack([ends - sizes, ends]).ravel()
    upper.plot(times, np.repeat(sizes, 2), color=COLOURS[0], linewidth=1.1)
    lower.plot(times, np.repeat(orders, 2), color=COLOURS[1], linewidth=1.1)
