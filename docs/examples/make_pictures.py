"""Makes the pictures of the Modelica examples.   python docs/examples/make_pictures.py"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import pliant
from pliant.solve.results.plot import COLOURS

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "pictures"


def load(name: str, **options: Any) -> pliant.Model:
    """One of the examples."""
    return pliant.load(ROOT / "examples" / f"{name}.mo", **options)


def draw(name: str, *panels: Callable[[Axes], None]) -> None:
    """Panels side by side into docs/pictures/name.png."""
    figure = Figure(figsize=(9.0, 3.1), layout="constrained")
    for axes, panel in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
        panel(axes)
        if not axes.images:
            axes.grid(color="#DDDDDD", linewidth=0.7)
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(FOLDER / f"{name}.png", dpi=150)


def lines(result: pliant.Result, names: list[str], ylabel: str, title: str = "") -> Callable[[Axes], None]:
    """Variables over time."""

    def panel(axes: Axes) -> None:
        for name, colour in zip(names, COLOURS, strict=False):
            axes.plot(result.time, result[name], color=colour, label=name)
        axes.set(xlabel="time in s", ylabel=ylabel, title=title)
        if len(names) > 1:
            low, high = axes.get_ylim()
            axes.set_ylim(low, high + 0.17 * (high - low))  # room for the legend
            axes.legend(frameon=False, fontsize=9, loc="upper right", ncols=len(names))

    return panel


def circuit() -> None:
    """Currents; incidence of the loop, sorted."""
    model = load("circuit", tear=["i3"])
    found = model.structure.incidence_after

    def incidence(axes: Axes) -> None:
        rows, columns = zip(*found.pairs, strict=True)
        axes.plot(columns, rows, "s", color=COLOURS[0], markersize=9)
        for first, size in found.blocks:
            corner = first - 0.5
            axes.add_patch(_box(corner, size))
        n = len(found.columns)
        axes.set(
            xticks=range(n), yticks=range(n), title="equations, sorted", xlim=(-0.5, n - 0.5), ylim=(n - 0.5, -0.5)
        )
        axes.set_xticklabels(found.columns, fontsize=7)
        axes.set_yticklabels([row.split("  ")[0] for row in found.rows], fontsize=7)
        axes.set_aspect("equal")

    draw("circuit", lines(model.simulate(stop=10), ["i1", "i2", "i3"], "A", "currents of the resistors"), incidence)


def _box(corner: float, size: int) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((corner, corner), size, size, fill=False, edgecolor=COLOURS[1], linewidth=1.2)


def dc_drive() -> None:
    """Speed and current."""
    result = load("dc_drive").simulate(stop=2)
    draw(
        "dc_drive",
        lines(result, ["reference.y", "fan.w"], "rad/s", "speed of the fan"),
        lines(result, ["inductor.i"], "A", "current of the motor"),
    )


def speed_control() -> None:
    """Speed, voltage and temperature."""
    result = load("speed_control").simulate(stop=3, points=3001)
    draw(
        "speed_control",
        lines(result, ["motor.w"], "rad/s", "speed, 150 rad/s wanted"),
        lines(result, ["controller.u"], "V", "sampled voltage"),
        lines(result, ["motor.T"], "°C", "temperature of the winding"),
    )


def pendulum() -> None:
    """Path and energy."""
    result = load("pendulum").simulate(stop=10, rtol=1e-8, points=2000)
    draw(
        "pendulum",
        lines(result, ["x", "y"], "m", "position"),
        lines(result, ["energy"], "J", "energy, 0 at the start (rtol = 1e-8)"),
    )


def car_axis() -> None:
    """Positions and multipliers."""
    result = load("car_axis").simulate(stop=3, rtol=1e-8, method="radau5", points=2000)
    draw(
        "car_axis",
        lines(result, ["yl", "yr", "yb"], "m", "heights"),
        lines(result, ["lambda1", "lambda2"], "", "multipliers"),
    )


def crane() -> None:
    """Trolley and load."""
    result = load("crane").simulate(stop=20)

    def path(axes: Axes) -> None:
        axes.plot(result["x"], result["y"], color=COLOURS[0])
        for k in range(0, len(result.time) // 2, 8):
            axes.plot([result["s"][k], result["x"][k]], [0, result["y"][k]], color="#BBBBBB", linewidth=0.7)
        axes.set(xlabel="m", ylabel="m", title="path of the load, rope now and then")

    draw("crane", lines(result, ["s", "x", "length"], "m", "trolley, load, rope"), path)


def transistor_amplifier() -> None:
    """Input and output."""
    result = load("transistor_amplifier").simulate(stop=0.2, points=2000)
    draw(
        "transistor_amplifier",
        lines(result, ["signal.v", "U[1]"], "V", "input"),
        lines(result, ["U[4]", "U[7]", "U[8]"], "V", "collectors and output"),
    )


def heat_rod() -> None:
    """Profiles at some times."""
    result = load("heat_rod").simulate(stop=3000, points=[0, 100, 300, 1000, 3000])
    x = (np.arange(100) + 0.5) * 0.005

    def profiles(axes: Axes) -> None:
        for k, colour in zip(range(1, 5), COLOURS, strict=False):
            values = [result[f"T[{i}]"][k] for i in range(1, 101)]
            axes.plot(x, values, color=colour, label=f"{result.time[k]:g} s")
        axes.set(xlabel="m", ylabel="degrees Celsius", title="temperature along the rod")
        axes.legend(frameon=False, fontsize=9)

    long = load("heat_rod").simulate(stop=3000)
    heat = lines(long, ["q[1]", "loss"], "W", "heat into the rod and to the air")

    def cut(axes: Axes) -> None:
        heat(axes)
        axes.set_ylim(0, 100)  # it begins with 1131 W

    draw("heat_rod", profiles, cut)


def resistor_grid() -> None:
    """Voltages in the end, and over time."""
    result = load("resistor_grid").simulate(stop=10)

    def voltages(axes: Axes) -> None:
        grid = [[result[f"v[{i},{j}]"][-1] for j in range(1, 13)] for i in range(1, 13)]
        image = axes.imshow(grid, cmap="viridis")
        axes.figure.colorbar(image, ax=axes, label="V")
        axes.set(title="voltages of the nodes")

    draw("resistor_grid", voltages, lines(result, ["vc", "v[6,6]", "v[12,11]"], "V", "three nodes"))


def robot() -> None:
    """The plan of the robot; half a minute."""
    load("Robot").realtime(step=1e-3, stop=2.6).plot(FOLDER / "Robot.png")


def pipe() -> None:
    """The plan of the exhaust pipe."""
    load("Pipe").realtime(step=0.1, stop=60).plot(FOLDER / "Pipe.png")


def diode_grid() -> None:
    """The plan of the grid, with algebraic voltages as unknowns."""
    load("DiodeGrid").realtime(step=1e-4, stop=0.05, options={"form": "dae"}).plot(FOLDER / "DiodeGrid.png")


def increments() -> None:
    """A state of each of the three stand-ins for closed models."""
    lock = load("increments/LockValve").simulate(stop=10, points=4000)
    oil = load("increments/HydraulicCircuit").simulate(stop=10, points=4000)
    car = load("increments/DoubleWishbone").simulate(stop=10, points=4000)
    draw(
        "increments",
        lines(lock, ["s_A"], "m", "poppet of a lock valve"),
        lines(oil, ["p_pump", "p_A"], "bar", "pump and chamber"),
        lines(car, ["z_b", "z_w"], "m", "body and wheel"),
    )


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for make in (
        circuit,
        dc_drive,
        speed_control,
        pendulum,
        car_axis,
        crane,
        transistor_amplifier,
        heat_rod,
        resistor_grid,
    ):
        make()
    for make in (robot, pipe, diode_grid, increments):
        make()
