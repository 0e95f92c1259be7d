"""Tour: events and inputs."""

from __future__ import annotations

import re
from math import exp, sqrt
from pathlib import Path

import pliant
from pliant.tour.section import MODELS, Code, FigureTable, Section, Text, count, picture, source


def bouncing_ball() -> pliant.Model:
    """A ball falls from 1 m and keeps 80 % of its speed at each impact."""

    def bounce(t, x):  # type: ignore[no-untyped-def]
        return [0.0, -0.8 * x[1]]

    floor = pliant.Root(lambda t, x: x[0], direction=-1, update=bounce, name="floor")
    return pliant.ode(lambda t, x: [x[1], -9.81], [1.0, 0.0], names=["h", "v"], roots=floor)


def events(folder: Path) -> Section:
    """A bouncing ball: measured impact times against the exact ones."""
    result = bouncing_ball().simulate(stop=3.0, rtol=1e-8)
    rows, exact, flight = [], sqrt(2.0 / 9.81), 2.0 * 0.8 * sqrt(2.0 / 9.81)
    for number, event in enumerate(result.events, 1):
        rows.append(
            [
                f"{number}",
                f"{event.time:.12f}",
                f"{abs(event.time - exact):.1e}",
                f"{event.before[1]:+.4f}",
                f"{event.after[1]:+.4f}",
            ]
        )
        exact, flight = exact + flight, 0.8 * flight
    return Section(
        "events",
        "Events",
        "An event happens where a root function changes sign. It is located on the dense output, to the "
        "rounding of time; the model may then set new states, and the solver restarts.",
        [
            Code(source(bouncing_ball), "The model: one root function, falling only, with an update."),
            FigureTable(
                ("impact", "time", "error", "speed before", "speed after"),
                rows,
                f"{count(result.stats.n_steps)} steps at rtol = 1e-8, {count(result.stats.n_roots)} "
                "evaluations of the root function.",
            ),
            picture(
                result.plot("h", "v", show=False),
                "Height and speed; events are thin lines, jumps drawn as jumps.",
            ),
        ],
    )


def sampled_drive() -> pliant.Model:
    """A DC drive; its controller runs every 10 ms."""
    return pliant.load(MODELS / "sampled_drive.mo")


def sampled(folder: Path) -> Section:
    """A sampled controller beside a stiff plant: simulated, and as a real-time step."""
    model = sampled_drive()
    result = model.simulate(stop=1.0, points=1001, rtol=1e-8)
    plan = model.realtime(step=1e-3, stop=1.0, options={"reference": False, "certificate": False})
    run = plan.simulate(stop=1.0)
    header = plan.code.header
    parts = re.findall(r"(?:void|unsigned) (\w+_(?:step_\d\w*|tick_\w+|step_end))\(", header)
    functions = ", ".join(f"`{one}`" for one in parts)
    rows = [
        [name, f"{result[name][-1]:.5f}", f"{run[name][-1]:.5f}", f"{abs(run[name] - result[name]).max():.1e}"]
        for name in ("speed", "current", "voltage")
    ]
    return Section(
        "sampled",
        "Sampled parts",
        "`when sample(...)` in Modelica: the solver stops exactly at the instants of the clock. In a real-time step "
        "the clock is a counter, and every step costs the same.",
        [
            Code((MODELS / "sampled_drive.mo").read_text(encoding="utf-8"), "The model."),
            FigureTable(
                ("", "simulated", "real-time step", "largest difference"),
                rows,
                f"{count(result.stats.n_events)} events, {count(result.stats.n_steps)} steps of {result.stats.method}; "
                f"the real-time step of 1 ms has {plan.code.operations['step'].flops} operations, its controller ticks "
                f"every {plan.code.periods[0]} steps.",
            ),
            Text(
                f"Plant and controller together, over a period of the clock: largest eigenvalue "
                f"{plan.evidence.loop_radius:.4f}, with all entries of the Jacobian "
                f"{plan.evidence.loop_radius_exact:.4f}; below one the loop decays. For a scheduler the step is "
                f"written in parts, too: {functions}."
            ),
            picture(
                result.plot("speed", "voltage", show=False), "Speed, and the voltage that is held between samples."
            ),
        ],
    )


def pulse() -> tuple[list[float], list[float]]:
    """An input table: a time that occurs twice is a jump."""
    times = [0.0, 1.0, 1.0, 3.0, 3.0, 4.0, 6.0]
    values = [0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0]
    return times, values


def inputs(folder: Path) -> Section:
    """A circuit driven by a voltage with jumps and a ramp; parameters changed without compiling."""
    model = pliant.native(MODELS / "rc.c")
    rows = []
    for resistance in (0.5, 1.0, 2.0):
        result = model.simulate(stop=6.0, rtol=1e-8, points=601, inputs={"u": pulse()}, parameters={"R": resistance})
        tau = resistance * 0.5
        exact = 1.0 - exp(-2.0 / tau)
        at_three = float(result["v"][300])
        steps = [] if result.steps is None else result.steps["time"].tolist()
        stops = " and ".join(f"{t:g}" for t in (1.0, 3.0) if t in steps)
        rows.append([f"{resistance:g}", count(result.stats.n_steps), stops, f"{at_three:.8f}"])
        rows[-1].append(f"{abs(at_three - exact):.1e}")
    return Section(
        "inputs",
        "Inputs and parameters",
        "Inputs are numbers, functions of time, or tables. The solver stops exactly where a table jumps and "
        "nowhere else; ramps need no stop. Parameters change without compiling again.",
        [
            Code(source(pulse), "The input: two jumps, then a ramp."),
            Text("The model is a resistor and a capacitor in C, with one input, two parameters and one output."),
            FigureTable(
                ("R", "steps", "a step ends exactly at", "v(3)", "error"),
                rows,
                "The error is taken against the closed solution 1 - exp(-2/(R C)).",
            ),
            picture(result.plot("u", "v", "i", show=False), "Input u, voltage v and the output i for R = 2."),
        ],
    )
