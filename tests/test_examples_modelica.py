"""The Modelica examples: each against an oracle that does not use pliant's equations; and their structure."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from problems import problem
from scipy.integrate import solve_ivp
from scipy.linalg import expm
from scipy.special import ellipk

import pliant

EXAMPLES = Path(__file__).parents[1] / "examples"
G = 9.81

# F. Mazzia and C. Magherini, Test Set for IVP Solvers, release 2.4 (2008), CARAXIS: values at t = 3
CAR_AXIS = {
    "xl": 0.04934557842755629,
    "yl": 0.4969894602303324,
    "xr": 1.0417425248854,
    "yr": 0.3739110272652214,
    "vxl": -0.07705836840321485,
    "vyl": 0.007446866596327776,
    "vxr": 0.01755681574942899,
    "vyr": 0.770341043779403,
    "lambda1": -0.00473688675078463,
    "lambda2": -0.00110468041134573,
}


@cache
def load(name: str) -> pliant.Model:
    return pliant.load(EXAMPLES / f"{name}.mo")


def sized(name: str, model: str, n: int) -> pliant.Model:
    """The example with another N: its size is part of the structure."""
    text = (EXAMPLES / f"{name}.mo").read_text("utf-8")
    return pliant.load(f"{text}\nmodel Sized\n  extends {model}(N = {n});\nend Sized;\n")


def loops(model: pliant.Model) -> list[tuple[int, int, bool]]:
    """(unknowns, torn, linear) of every loop."""
    return [(loop.size, loop.n_torn, loop.linear) for loop in model.structure.loops]


def reference(rhs: object, x0: list[float], result: pliant.Result) -> NDArray[np.float64]:
    """Rows of states at the result's times, by SciPy."""
    done = solve_ivp(rhs, (0.0, result.time[-1]), x0, "DOP853", result.time, rtol=1e-12, atol=1e-12)
    assert done.success
    return np.asarray(done.y)


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*.mo")), ids=lambda file: file.stem)
def test_example_tells_how_to_run_it_and_has_a_page(file: Path) -> None:
    head = file.read_text("utf-8").split("\nmodel ")[0]
    assert f"//   pliant simulate examples/{file.name} --stop " in head
    page = EXAMPLES.parent / "docs" / "examples" / f"{file.stem}.md"
    assert f"](../pictures/{file.stem}.png)" in page.read_text("utf-8")


# -------------------------------------------------------------------------------------------------- circuit


def check_circuit(result: pliant.Result) -> None:
    t = result.time
    u0 = 11 * np.sin(2 * t)
    i3 = 2 / 11 * u0  # R2 / (R1 R2 + R1 R3 + R2 R3) u0
    exact = {"u0": u0, "i3": i3, "u3": 3 * i3, "u2": 3 * i3, "i2": 1.5 * i3, "i1": 2.5 * i3, "uL": u0}
    for name, value in exact.items():
        assert result[name] == pytest.approx(value, abs=1e-7), name
    assert result["iL"] == pytest.approx(11 * (1 - np.cos(2 * t)), abs=5e-5)  # der(iL) = uL / L
    assert result["i0"] == pytest.approx(result["i1"] + result["iL"], abs=1e-12)


def test_circuit() -> None:
    model = load("circuit")
    check_circuit(model.simulate(stop=10, rtol=1e-8))
    found = model.structure
    assert (found.n_equations, found.n_states, found.index) == (10, 1, 1)
    assert loops(model) == [(5, 1, True)]


@pytest.mark.parametrize("tear", ["i3", "i1", "u3"])
def test_circuit_torn_by_hand(tear: str) -> None:
    model = pliant.load(EXAMPLES / "circuit.mo", tear=[tear])
    check_circuit(model.simulate(stop=10, rtol=1e-8))
    (loop,) = model.structure.loops
    assert loop.tearing == [tear if tear[0] == "i" else "u2"]  # u3 = u2: one of them is an alias
    assert [equation.source for equation in loop.residuals] == ["i1 = i2 + i3"]


@pytest.mark.parametrize("options", [{"aliases": False}, {"tearing": "cellier"}, {"form": "dae"}], ids=str)
def test_circuit_with_options(options: dict[str, object]) -> None:
    model = pliant.load(EXAMPLES / "circuit.mo", options=options)
    check_circuit(model.simulate(stop=10, rtol=1e-8))
    assert loops(model) == [(5 if options.get("aliases", True) else 6, 1, True)]


# ------------------------------------------------------------------------------------------------- DC drive


def test_dc_drive() -> None:
    model = load("dc_drive")
    result = model.simulate(stop=2, rtol=1e-9)

    def rhs(t: float, x: NDArray[np.float64]) -> list[float]:
        """Everything at the rotor: the gear divides speed and fan torque by 5."""
        integral, current, speed = x
        load_speed = speed / 5
        error = 20 * (1 - np.exp(-t / 0.2)) - load_speed
        voltage = 4 * (error + integral / 0.3)
        torque = 0.8 * current - 0.05 * load_speed * abs(load_speed) / 5
        return [error, (voltage - 0.5 * current - 0.8 * speed) / 0.01, torque / (0.02 + 1.5 / 25)]

    integral, current, speed = reference(rhs, [0.0, 0.0, 0.0], result)
    assert result["controller.x"] == pytest.approx(integral, abs=1e-5)
    assert result["inductor.i"] == pytest.approx(current, abs=1e-4)
    assert result["rotor.w"] == pytest.approx(speed, abs=1e-4)
    assert result["fan.w"] == pytest.approx(speed / 5, abs=1e-4)
    found = model.structure
    assert (found.n_states, found.index) == (4, 3)
    assert loops(model) == [(4, 1, True)]


# -------------------------------------------------------------------------------------------- speed control


@pytest.mark.parametrize("method", ["bdf", "dopri5"])
def test_speed_control(method: str) -> None:
    """Between samples the voltage is constant; the hysteresis counts at the next sample only."""
    model = load("speed_control")
    n = 600
    result = model.simulate(stop=3, rtol=1e-9, atol=1e-9, points=n + 1, method=method)
    x, integral, held, hot = np.array([0.0, 0.0, 20.0]), 0.0, 0, False
    for k in range(n + 1):
        t = k * 0.005
        hot = bool(x[2] > 40 or (hot and x[2] > 35))
        reference, limit = (0 if k < 10 else 150), (12 if hot else 24)
        v = 0.3 * (reference - x[1]) + integral
        u = min(limit, max(-limit, v))
        integral += 0 if abs(v) > limit else 0.3 * 0.005 / 0.05 * (reference - x[1])
        held += abs(v) > limit
        assert [result[name][k] for name in ("motor.i", "motor.w", "motor.T")] == pytest.approx(x, abs=2e-5)
        assert [result[name][k] for name in ("controller.u", "controller.integral")] == pytest.approx(
            [u, integral], abs=2e-5
        )
        assert result["controller.n"][k] == held

        def rhs(_t: float, x: NDArray[np.float64], u: float = u, c: float = 0.1 if k < 100 else 0.5) -> list[float]:
            i, w, temperature = x
            return [(u - i - 0.1 * w) / 2e-3, (0.1 * i - c * w / 150) / 5e-4, (i**2 - 0.8 * (temperature - 20)) / 0.4]

        x = solve_ivp(rhs, (t, t + 0.005), x, "DOP853", rtol=1e-11, atol=1e-11).y[:, -1]
    found = model.structure
    assert (found.n_states, len(found.discrete), len(found.clocks)) == (3, 5, 1)


# ------------------------------------------------------------------------------------------ pendulum, crane


def test_pendulum_goes_through_the_bottom() -> None:
    model = load("pendulum")
    result = model.simulate(stop=10, rtol=1e-9)
    assert result["x"].min() < -0.999  # it swings to the other side and back
    assert np.abs(result["x"] ** 2 + result["y"] ** 2 - 1).max() < 1e-12
    assert np.abs(result["x"] * result["vx"] + result["y"] * result["vy"]).max() < 1e-12
    assert np.ptp(result["energy"]) < 1e-5
    angle, _ = reference(lambda t, a: [a[1], -G * np.sin(a[0])], [np.pi / 2, 0.0], result)
    assert result["x"] == pytest.approx(np.sin(angle), abs=1e-5)
    assert result["y"] == pytest.approx(-np.cos(angle), abs=1e-5)
    found = model.structure
    assert (found.n_states, found.index, found.n_differentiated) == (2, 3, 2)
    assert [one.candidates for one in found.sets] == [[["x", "y"], ["vx", "vy"]]]


def test_pendulum_has_the_period_of_the_elliptic_integral() -> None:
    period = 4 / np.sqrt(G) * ellipk(0.5)  # released at 90 degrees: sin(45 degrees)^2
    result = load("pendulum").simulate(stop=3 * period, rtol=1e-9, points=[0.0, period, 2 * period, 3 * period])
    assert result["x"] == pytest.approx(np.ones(4), abs=1e-6)


def test_crane() -> None:
    model = load("crane")
    result = model.simulate(stop=20, rtol=1e-9)

    def rhs(t: float, z: NDArray[np.float64]) -> list[float]:
        """Trolley and angle of the rope, by Lagrange's equations: load at s + l sin a, -l cos a."""
        s, v, a, w = z
        r = np.tanh(t - 8)
        length, rate, second = 6 - (1 + r), -(1 - r * r), 2 * r * (1 - r * r)
        sin, cos = np.sin(a), np.cos(a)
        force = 400 * (5 - s) - 800 * v
        # (M + m) s'' + m (l sin a)'' = force;  l a'' + 2 l' a' + s'' cos a + g sin a = 0
        known = second * sin + 2 * rate * w * cos - length * w * w * sin
        swing = 2 * rate * w + G * sin  # l a'' = -swing - s'' cos a
        acceleration = (force - 500 * (known - cos * swing)) / (200 + 500 * sin * sin)
        return [v, acceleration, w, -(swing + acceleration * cos) / length]

    s, _, a, _ = reference(rhs, [0.0, 0.0, 0.0, 0.0], result)
    assert result["s"] == pytest.approx(s, abs=1e-5)
    assert result["x"] == pytest.approx(s + result["length"] * np.sin(a), abs=1e-5)
    assert result["y"] == pytest.approx(-result["length"] * np.cos(a), abs=1e-5)
    gap = (result["x"] - result["s"]) ** 2 + result["y"] ** 2 - result["length"] ** 2
    assert np.abs(gap).max() < 1e-10
    assert (model.structure.n_states, model.structure.index) == (4, 3)


# ------------------------------------------------------------------------------------------- IVP test set


def test_car_axis_reaches_the_reference() -> None:
    model = load("car_axis")
    result = model.simulate(stop=3, rtol=1e-8)
    start = {"xl": 0.0, "yl": 0.5, "xr": 1.0, "yr": 0.5, "vxl": -0.5, "vyl": 0.0, "vxr": -0.5, "vyr": 0.0}
    start |= {"lambda1": 0.0, "lambda2": 0.0}
    for name, value in start.items():
        assert result[name][0] == pytest.approx(value, abs=1e-12), name
    error = max(abs(result[name][-1] / value - 1) for name, value in CAR_AXIS.items())
    assert -np.log10(error) >= 5
    found = model.structure
    assert (found.n_states, found.index) == (4, 3)
    assert (6, 2, True) in loops(model)


def test_car_axis_with_states_chosen_at_run_time() -> None:
    """Both constraints share candidates, so they make one set."""
    text = (EXAMPLES / "car_axis.mo").read_text("utf-8").replace(", stateSelect = StateSelect.prefer", "")
    model = pliant.load(text)
    (one,) = model.structure.sets
    assert sorted(one.candidates[0]) == ["xl", "xr", "yl", "yr"]
    result = model.simulate(stop=3, rtol=1e-8, method="radau5")
    assert max(abs(result[name][-1] / value - 1) for name, value in CAR_AXIS.items()) < 1e-5


def test_car_axis_improves_with_the_tolerance() -> None:
    errors = []
    for rtol in (1e-6, 1e-8, 1e-10):
        result = load("car_axis").simulate(stop=3, rtol=rtol, method="bdf")
        errors.append(max(abs(result[name][-1] / value - 1) for name, value in CAR_AXIS.items()))
    assert errors[0] > 10 * errors[1] > 100 * errors[2]
    assert errors[2] < 1e-5


def test_transistor_amplifier() -> None:
    model = load("transistor_amplifier")
    twin = problem("transamp")
    result = model.simulate(stop=0.2, rtol=1e-8)
    start, end = (np.array([result[f"U[{i}]"][k] for i in range(1, 9)]) for k in (0, -1))
    assert start == pytest.approx(twin.x0, abs=1e-9)
    assert twin.scd(end) >= 5
    found = model.structure
    assert (found.n_equations, found.n_states, found.index) == (126, 5, 1)
    assert sorted(torn for _, torn, _ in loops(model)) == [1, 1, 1]
    assert sorted(linear for *_, linear in loops(model)) == [False, False, True]


# ---------------------------------------------------------------------------------------------- large ones


def test_heat_rod() -> None:
    n = 12
    model = sized("heat_rod", "HeatRod", n)
    result = model.simulate(stop=3000, rtol=1e-8, points=4)
    area, dx = np.pi * 0.01**2, 0.5 / n
    conduct, lose, hold = 50 * area / dx, 20 * 2 * np.pi * 0.01 * dx, 7800 * 500 * area * dx
    # C T' = A (T - T_air) + b with the hot end half a cell away
    a = conduct * (np.diag(np.ones(n - 1), 1) + np.diag(np.ones(n - 1), -1)) - lose * np.eye(n)
    a -= conduct * np.diag([3.0, *[2.0] * (n - 2), 1.0])
    b = np.zeros(n)
    b[0] = 2 * conduct * 180
    steady = -np.linalg.solve(a, b)
    for k, t in enumerate(result.time):
        exact = 20 + steady - expm(a * t / hold) @ steady
        values = np.array([result[f"T[{i}]"][k] for i in range(1, n + 1)])
        assert values == pytest.approx(exact, abs=1e-4)
    assert (model.structure.n_states, model.structure.index, loops(model)) == (n, 1, [])


def test_heat_rod_becomes_the_fin() -> None:
    """After a long time: T = T_air + 180 cosh(m (L - x)) / cosh(m L), m^2 = 2 h / (k r)."""
    n = 40
    result = sized("heat_rod", "HeatRod", n).simulate(stop=2e5, points=2)
    m = np.sqrt(2 * 20 / (50 * 0.01))
    x = (np.arange(n) + 0.5) * 0.5 / n
    exact = 20 + 180 * np.cosh(m * (0.5 - x)) / np.cosh(m * 0.5)
    values = np.array([result[f"T[{i}]"][-1] for i in range(1, n + 1)])
    assert values == pytest.approx(exact, abs=0.3)
    heat = 50 * np.pi * 0.01**2 * 180 * m * np.tanh(m * 0.5)
    assert result["loss"][-1] == pytest.approx(heat, rel=2e-3)


def grid_resistance(n: int) -> float:
    """Between opposite corners of n x n nodes with unit resistors, from the graph's Laplacian."""
    line = np.diag(np.ones(n - 1), 1) + np.diag(np.ones(n - 1), -1)
    neighbours = np.kron(np.eye(n), line) + np.kron(line, np.eye(n))
    laplacian = np.diag(neighbours.sum(axis=0)) - neighbours
    current = np.zeros(n * n)
    current[0], current[-1] = 1.0, -1.0
    voltage = np.linalg.pinv(laplacian) @ current
    return float(voltage[0] - voltage[-1])


@pytest.mark.parametrize(
    ("n", "options"), [(4, {}), (4, {"form": "dae"}), (4, {"largest_torn": 10}), (8, {"largest_torn": 100})]
)
def test_resistor_grid(n: int, options: dict[str, Any]) -> None:
    text = (EXAMPLES / "resistor_grid.mo").read_text("utf-8")
    text += f"\nmodel Sized\n  extends ResistorGrid(N = {n});\nend Sized;\n"
    model = pliant.load(text, options=options)
    result = model.simulate(stop=10, rtol=1e-8)
    resistance = grid_resistance(n)
    rate = 1 + 1 / resistance  # C = R0 = 1
    exact = 10 / rate * (1 - np.exp(-rate * result.time))
    assert result["vc"] == pytest.approx(exact, abs=1e-6)
    assert result["i"] == pytest.approx(exact / resistance, abs=1e-6)
    assert result[f"v[{n},{n}]"] == pytest.approx(0 * exact)
    found = model.structure
    assert (found.n_states, found.index) == (1, 1)
    (loop,) = found.loops
    assert loop.size == n * n - 2 + 2 * n * (n - 1) - 2  # at the other two corners both currents are one
    assert loop.linear
    assert (loop.kind == "sparse") == (loop.size > int(options.get("largest_torn", 300)))
