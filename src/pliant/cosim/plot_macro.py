"""Picture of the macro steps of a coupling and of the errors of its inputs over time."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pliant.drawing import COLOURS, STYLE, import_optional
from pliant.errors import ArgumentError
from pliant.solve.results.plot import finish

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from pliant.cosim.record import CouplingResult

MOST = 5  # connections with a colour of their own
REST = "#8A94A3"


def plot_macro_steps(result: CouplingResult, file: str | Path | None = None) -> Figure:
    """Above the macro steps, below their errors, in the colours of the connections that have them."""
    matplotlib = import_optional("matplotlib", "plotting", "result.macro has the numbers")
    from matplotlib.figure import Figure

    macro = result.macro
    if not len(macro):
        raise ArgumentError("there is no macro step to draw", hint="the run ended in its first one")
    counts = Counter(name for name in macro.limiting if name)
    colours = {name: COLOURS[k % len(COLOURS)] for k, (name, _) in enumerate(counts.most_common(MOST))}
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(7.2, 4.8), layout="constrained")
        upper, lower = figure.subplots(2, 1, sharex=True)
        times = np.column_stack([macro.time - macro.h, macro.time]).ravel()
        upper.plot(times, np.repeat(macro.h, 2), color="#3A4350", linewidth=1.0, zorder=1)
        held = [k for k, why in enumerate(macro.why) if why in ("event", "early", "input", "jump")]
        if held:
            upper.plot(macro.time[held], macro.h[held], "|", color=COLOURS[2], label="ends at an event", zorder=3)
        ringing = [k for k, why in enumerate(macro.why) if why == "stability"]
        if ringing:
            upper.plot(
                macro.time[ringing], macro.h[ringing], ".", markersize=3, color=COLOURS[4], label="limited by stability"
            )
        bad = macro.rejected
        if bad is not None and len(bad):
            upper.plot(bad.time, bad.h, "x", markersize=4, color=COLOURS[1], label="taken back", zorder=3)
        if upper.get_legend_handles_labels()[0]:
            upper.legend(fontsize=8)
        upper.set_yscale("log")
        upper.set_ylabel("macro step in s")
        groups: dict[str, list[int]] = {}
        for k, name in enumerate(macro.limiting):
            if macro.error[k] > 0.0:
                groups.setdefault(name if name in colours else "", []).append(k)
        for name, places in sorted(groups.items(), key=lambda one: -len(one[1])):
            colour, label = colours.get(name, REST), name or "others"
            lower.plot(macro.time[places], macro.error[places], ".", markersize=3, color=colour, label=label)
        lower.axhline(1.0, color="#C9CED6", linewidth=0.8, zorder=0.9)
        if groups:
            lower.set_yscale("log")
            lower.legend(fontsize=8)
        lower.set(xlabel="time", ylabel="error / allowed")
        finish(figure, file, False)
    return figure
