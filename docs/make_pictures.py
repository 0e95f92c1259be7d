"""Makes the pictures of README and docs.   python docs/make_pictures.py"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

import pliant
from pliant.solve.results.plot import COLOURS, plot_steps

FOLDER = Path(__file__).with_name("pictures")
EXAMPLES = Path(__file__).parents[1] / "examples"


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


def make_first_screen() -> None:
    """The picture of the README: a stiff run, a sparsed Jacobian, steps with and without restarts."""
    sys.path.insert(0, str(EXAMPLES.parent / "benchmarks"))
    sys.path.insert(0, str(EXAMPLES.parent / "tools"))
    import claims
    import jumps

    figure = Figure(figsize=(12.0, 3.9), layout="constrained")
    left, middle, right = figure.subplots(1, 3, width_ratios=(1.1, 1, 1.1))

    result = pliant.ode(van_der_pol, [2.0, 0.0], names=["x", "v"]).simulate(stop=3000.0, points=3000)
    assert result.steps is not None
    times = result.steps["time"]
    left.plot(result.time, result["x"], color=COLOURS[0], linewidth=1.4, zorder=1)
    left.plot(times, np.interp(times, result.time, result["x"]), "o", color=COLOURS[1], markersize=1.9, zorder=2)
    sizes = result.steps["h"]
    left.set_title(f"A stiff run\nVan der Pol, μ = 1000: steps of {sizes.min():.0e} to {sizes.max():.0f} s")
    left.set(xlabel="time in s", ylabel="x", xlim=(0, 3000))

    model = pliant.load(EXAMPLES / "Robot.mo")
    plan = model.realtime(step=1e-3, stop=2.6)
    table = claims.figures()  # times as in the table: a machine that is busy now would give others
    step, ratio = (float(claims.CLAIMS[name].value(table)) for name in ("robot-step", "robot-against-full"))
    stay = set(plan.outcome.elimination.entries)
    gone = set(plan.outcome.full.entries) - stay
    for entries, colour, label in ((gone, "#C9CED6", "dropped"), (stay, COLOURS[0], "kept")):
        rows, columns = zip(*entries, strict=True)
        middle.plot(columns, rows, "s", color=colour, markersize=2.3, label=label)
    middle.legend(
        loc="upper right", bbox_to_anchor=(1.0, 0.945), borderaxespad=0.0, fontsize=9, ncols=2, frameon=False,
        handletextpad=0.1, columnspacing=0.8,
    )  # fmt: skip
    n = len(plan.names)
    middle.set_title(
        f"A sparsed Jacobian\nrobot: {plan.full_entries} → {plan.entries} entries, "
        f"{step * ratio:.1f} → {step:.1f} µs per step"
    )
    middle.set(xlim=(-1, n), ylim=(n, -1), aspect="equal", xlabel="unknowns", ylabel="equations")

    case = jumps.spring()
    for colour, (how, label) in zip(
        COLOURS[1::-1], {"restart": "restart", "correct": "corrected"}.items(), strict=True
    ):
        run = case.model.simulate(
            stop=case.stop, method="bdf", rtol=1e-6, atol=1e-6, inputs=case.inputs, parameters=case.parameters,
            options={"at_jump": how},
        )  # fmt: skip
        assert run.steps is not None
        label = f"{label}: {run.stats.n_steps} steps"
        right.step(run.steps["time"], run.steps["h"], color=colour, linewidth=1.1, label=label)
    for start in next(iter(case.inputs.values())).start[1:]:
        right.axvline(start, color="#E4E4E4", linewidth=0.6, zorder=0)
    right.set_title("No restarts at input jumps\nstep size of BDF, spring and damper")
    right.set(
        xlabel="time in s",
        ylabel="step size in s",
        yscale="log",
        xlim=(0, case.stop),
        ylim=(1e-5, 0.05),
        xticks=(0, 0.5, 1, 1.5, 2),
    )
    right.legend(frameon=False, loc="lower center", fontsize=9, ncols=2, handlelength=1.2)
    for axes in (left, middle, right):
        axes.spines[["top", "right"]].set_visible(False)
        axes.title.set_fontsize(10.5)
    figure.savefig(FOLDER / "first-screen.png", dpi=150)


def make_modelica() -> None:
    """The DC drive: equations unsorted and sorted, and the solution of the DC drive."""
    model = pliant.load(EXAMPLES / "dc_drive.mo")
    found = model.structure
    result = model.simulate(stop=2.0)
    figure = Figure(figsize=(9.0, 3.1), layout="constrained")
    before, after, right = figure.subplots(1, 3, width_ratios=(1, 1, 1.35))
    for axes, incidence, title in (
        (before, found.incidence_before, "in the order of the text"),
        (after, found.incidence_after, "sorted: one loop is left"),
    ):
        rows, columns = zip(*incidence.pairs, strict=True)
        axes.plot(columns, rows, "s", color=COLOURS[0], markersize=4.5)
        for first, size in incidence.blocks:
            corner, colour = (first - 0.5, first - 0.5), COLOURS[1] if size > 1 else "#BBBBBB"
            axes.add_patch(Rectangle(corner, size, size, fill=False, edgecolor=colour, zorder=1 + size))
        n = len(incidence.columns)
        axes.set(title=title, xticks=[], yticks=[], xlim=(-0.8, n - 0.2), ylim=(n - 0.2, -0.8), aspect="equal")
        axes.set(xlabel="unknowns", ylabel="equations")
    for name, colour in (("reference.y", COLOURS[1]), ("fan.w", COLOURS[0])):
        right.plot(result.time, result[name], color=colour, label=name)
    right.set(xlabel="time in s", ylabel="rad/s", title="solved: speed of a DC drive", xlim=(0, 2))
    right.grid(color="#DDDDDD", linewidth=0.7)
    right.spines[["top", "right"]].set_visible(False)
    right.legend(frameon=False, fontsize=9, loc="lower right")
    figure.savefig(FOLDER / "modelica.png", dpi=150)


def make_jumps() -> None:
    """Step size and order where the input jumps, two strategies side by side."""
    sys.path.insert(0, str(EXAMPLES.parent / "benchmarks"))
    import jumps

    figure = Figure(figsize=(9.0, 6.0), layout="constrained")
    grid = figure.subplots(4, 2, height_ratios=(2, 1, 2, 1), sharex="col")
    cases = (
        ("spring-damper, 20 linear pieces", jumps.spring()),
        ("pendulum, 40 constant pieces", jumps.pendulum(10.0, 5.0)),
    )
    for row, (title, case) in enumerate(cases):
        for column, how in enumerate(("restart", "correct")):
            result = case.model.simulate(
                stop=case.stop, method="bdf", rtol=1e-6, atol=1e-6, inputs=case.inputs, parameters=case.parameters,
                options={"at_jump": how},
            )  # fmt: skip
            steps, upper, lower = result.steps, grid[2 * row][column], grid[2 * row + 1][column]
            assert steps is not None
            for start in next(iter(case.inputs.values())).start[1:]:
                upper.axvline(start, color="#DDDDDD", linewidth=0.6)
                lower.axvline(start, color="#DDDDDD", linewidth=0.6)
            upper.step(steps["time"], steps["h"], color=COLOURS[column], linewidth=1.0)
            lower.step(steps["time"], steps["order"], color=COLOURS[column], linewidth=1.0)
            upper.set(yscale="log", ylim=(1e-6, 0.2), title=f"{title}: {how}, {result.stats.n_steps} steps")
            lower.set(ylim=(0, 5.5), yticks=(1, 3, 5))
            if column == 0:
                upper.set_ylabel("step size")
                lower.set_ylabel("order")
    for axes in grid[-1]:
        axes.set_xlabel("time in s")
    for axes in grid.flat:
        axes.spines[["top", "right"]].set_visible(False)
        axes.title.set_fontsize(10)
    figure.savefig(FOLDER / "jumps.png", dpi=150)


def make_predictor() -> None:
    """The predictor of the pendulum's speed at a jump, as it was and as it is corrected (figure 11 of the paper)."""
    sys.path.insert(0, str(EXAMPLES.parent / "benchmarks"))
    import jumps

    case = jumps.pendulum(10.0, 5.0)
    figure = Figure(figsize=(9.0, 3.1), layout="constrained")
    left, right = figure.subplots(1, 2)
    at, reach = 1.0, 0.045
    times = np.linspace(at - 0.02, at + reach, 200)
    exact = case.model.simulate(
        stop=case.stop,
        method="radau5",
        rtol=1e-11,
        atol=1e-11,
        inputs=case.inputs,
        parameters=case.parameters,
        points=times,
    )
    columns = jumps.columns_at(case, at)
    left.plot(times, exact["w"], color="#222222", linewidth=2.2, alpha=0.35, label="solution")
    ahead = times[times >= at] - at
    for colour, (name, polynomial) in zip(COLOURS, columns.items(), strict=False):
        left.plot(at + ahead, np.polynomial.polynomial.polyval(ahead, polynomial), "--", color=colour, label=name)
    left.axvline(at, color="#DDDDDD")
    left.set(xlabel="time in s", ylabel="rad/s", title="predictor of the speed at a jump of the input")
    left.legend(frameon=False, fontsize=9)
    for colour, how in zip(COLOURS, ("restart", "x1", "x2", "correct"), strict=False):
        result = case.model.simulate(
            stop=case.stop, method="bdf", rtol=1e-6, atol=1e-6, inputs=case.inputs, parameters=case.parameters,
            options={"at_jump": how}, points=400,
        )  # fmt: skip
        accurate = case.model.simulate(
            stop=case.stop,
            method="radau5",
            rtol=1e-11,
            atol=1e-11,
            inputs=case.inputs,
            parameters=case.parameters,
            points=400,
        )
        right.plot(result.time, np.abs(result["th"] - accurate["th"]) + 1e-12, color=colour, linewidth=1.0, label=how)
    right.set(
        yscale="log", xlabel="time in s", ylabel="rad", title="error of the angle, tolerance 1e-6", ylim=(1e-9, 1e-3)
    )
    right.legend(frameon=False, fontsize=9, ncols=2)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(FOLDER / "predictor.png", dpi=150)


def make_cosim() -> None:
    """Step sizes of a coupling with restarts and without."""
    from pliant.cosim.plot import plot_strategies
    from pliant.cosim.system import read_system
    from pliant.tour.coupling import make_coupling

    system = make_coupling()
    found = {how: system.simulate(stop=2.0, step=0.02, at_jump=how) for how in ("restart", "correct")}
    plot_strategies(found, "left", FOLDER / "cosim_steps.png")
    drive = read_system(FOLDER.parents[1] / "examples" / "cosim" / "drive.toml", pliant.load)
    run = drive.coupling.simulate(**{**drive.arguments, "step": "auto", "points": None})
    run.plot_macro_steps(file=FOLDER / "cosim_macro.png")


def make_motor_control() -> None:
    """The motor of motor-control.md: speed and current with two controllers, and eigenvalues over a period."""
    motor = pliant.load(EXAMPLES / "motor_control.mo")
    inputs = {"w_ref": ([0.0, 0.002, 0.002, 0.03], [0.0, 0.0, 60.0, 60.0]), "load": 1.0}
    figure = Figure(figsize=(10.0, 3.2), layout="constrained")
    axes = figure.subplots(1, 3)
    for colour, bandwidth in zip(COLOURS, (700.0, 8000.0), strict=False):
        scenario = {"inputs": inputs, "parameters": {"bandwidth": bandwidth}}
        plan = motor.realtime(step=5e-5, stop=0.03, order=2, accuracy=None, scenarios=[scenario])
        run = plan.simulate(stop=0.03, **scenario)
        label = f"{bandwidth:g} Hz"
        axes[0].plot(1e3 * run.time, run["w"], color=colour, label=label)
        axes[1].plot(1e3 * run.time, run["iq"], color=colour, linewidth=0.8)
        loops = [one for one in plan.outcome.points.loops.values() if one.loop.is_steady]
        found = max(loops, key=lambda one: one.radius).eigenvalues
        size = np.sort(np.abs(found))[::-1]
        axes[2].semilogy(np.arange(1, len(size) + 1), np.maximum(size, 1e-4), "o", color=colour, markersize=4)
    axes[0].set(xlabel="ms", title="speed, rad/s")
    axes[0].legend(frameon=False, fontsize=9, title="current control", loc="lower right")
    axes[1].set(xlabel="ms", title="torque current, A")
    axes[2].axhline(1.0, color="#BBBBBB", linewidth=0.8)
    axes[2].set(title="moduli of eigenvalues over 1 ms", ylim=(5e-5, None))
    for one in axes:
        one.grid(color="#DDDDDD", linewidth=0.7)
        one.spines[["top", "right"]].set_visible(False)
    figure.savefig(FOLDER / "motor_control.png", dpi=150)


def make_timeline() -> None:
    """What explain() draws: a heater with hardly any hysteresis beside a slow wall."""

    def room(t: float, x: np.ndarray) -> list[float]:
        return [30.0 * x[1] - 3.0 * (x[0] - x[2]), 0.0, 0.1 * (x[0] - x[2]) - 0.05 * (x[2] - 5.0)]

    off = pliant.Root(lambda t, x: x[0] - 20.2, direction=+1, update=lambda t, x: [x[0], 0.0, x[2]], name="too warm")
    on = pliant.Root(lambda t, x: x[0] - 19.8, direction=-1, update=lambda t, x: [x[0], 1.0, x[2]], name="too cold")
    model = pliant.ode(room, [15.0, 1.0, 10.0], names=["T", "heater", "wall"], roots=[off, on])
    model.simulate(stop=5.0).explain().plot(file=FOLDER / "timeline.png")


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    make_first_screen()
    make_modelica()
    make_van_der_pol()
    make_ball()
    make_jumps()
    make_predictor()
    make_cosim()
    make_timeline()
    make_motor_control()
