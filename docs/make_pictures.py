"""Makes the pictures of README and docs.   python docs/make_pictures.py"""

from pathlib import Path

from matplotlib.figure import Figure

import pliant
from pliant.solve.plot import COLOURS, plot_steps

FOLDER = Path(__file__).with_name("pictures")


def van_der_pol(t, x):
    """The stiff oscillator of the README."""
    return [x[1], 1000.0 * (1.0 - x[0] ** 2) * x[1] - x[0]]


def make_van_der_pol() -> None:
    """Solution and steps of BDF and Radau5, side by side."""
    model = pliant.ode(van_der_pol, [2.0, 0.0], names=["x", "v"])
    figure = Figure(figsize=(9.0, 3.1), layout="constrained")
    left, right = figure.subplots(1, 2)
    for colour, method in zip(COLOURS, ("bdf", "radau5"), strict=False):
        result = model.simulate(stop=3000.0, method=method, points=3000)
        assert result.steps is not None
        if method == "bdf":
            left.plot(result.time, result["x"], color=colour)
        label = f"{method}: {result.stats.n_steps} steps"
        right.step(result.steps["time"], result.steps["h"], color=colour, linewidth=1.0, label=label)
    left.set(xlabel="time", ylabel="x", title="stiff Van der Pol oscillator, μ = 1000", xlim=(0, 3000))
    right.set(xlabel="time", ylabel="step size", title="steps taken at rtol = 1e-6", yscale="log", xlim=(0, 3000))
    right.set_ylim(1e-8, 1e3)
    right.legend(frameon=False, loc="lower right", fontsize=9)
    for axes in (left, right):
        axes.grid(color="#DDDDDD", linewidth=0.7)
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(FOLDER / "van_der_pol.png", dpi=150)
    plot_steps(model.simulate(stop=3000.0), show=False, file=FOLDER / "steps.png")


def make_ball() -> None:
    """The bouncing ball of events.md."""
    floor = pliant.Root(lambda t, x: x[0], direction=-1, update=lambda t, x: [0.0, -0.8 * x[1]], name="floor")
    ball = pliant.ode(lambda t, x: [x[1], -9.81], [1.0, 0.0], names=["h", "v"], roots=floor)
    ball.simulate(stop=3.0).plot("h", "v", file=FOLDER / "bouncing_ball.png")


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    make_van_der_pol()
    make_ball()
