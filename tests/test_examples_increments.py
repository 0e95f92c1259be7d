"""The four models for the study of increments: sizes, stiffness, and values from oracles without pliant's equations.

Oracles: the hydraulic circuit written again in numpy and solved by SciPy; for the others a closed formula each (time of
the first jump, mass of the locked gas, deflection of the tyre at rest), and an explicit method.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

import pliant

FOLDER = Path(__file__).parents[1] / "examples" / "increments"
STOP = {"VanDerPol": 2e6, "LockValve": 10.0, "HydraulicCircuit": 10.0, "DoubleWishbone": 10.0}
N_STATES = {"VanDerPol": 2, "LockValve": 21, "HydraulicCircuit": 12, "DoubleWishbone": 14}
ATOL = {"VanDerPol": 1e-9}  # its nominal values of 1e6 would allow large errors


@cache
def load(name: str) -> pliant.Model:
    return pliant.load(FOLDER / f"{name}.mo")


@cache
def run(name: str, method: str, rtol: float = 1e-7) -> pliant.Result:
    return load(name).simulate(stop=STOP[name], method=method, rtol=rtol, atol=ATOL.get(name), points=400)


def states(name: str) -> list[str]:
    return [key for key, one in load(name).variables.items() if one.kind == "state"]


def largest(name: str) -> dict[str, float]:
    return {key: float(np.abs(run(name, "bdf")[key]).max()) for key in states(name)}


@pytest.mark.parametrize("name", STOP)
def test_structure(name: str) -> None:
    found = load(name).structure
    assert found.n_states == len(states(name)) == N_STATES[name]
    assert found.loops == []
    assert found.index <= 1
    text = (FOLDER / f"{name}.mo").read_text("utf-8")
    assert text.count("fixed = true") == N_STATES[name]
    assert all(load(name).variables[key].unit for key in states(name))


@pytest.mark.parametrize("name", STOP)
def test_bdf_and_radau5_agree(name: str) -> None:
    one, other = run(name, "bdf"), run(name, "radau5")
    assert one.stats.n_events == other.stats.n_events == 0
    last = one.time > 0.95 * STOP[name]  # elsewhere a jump that is off by 1e-7 shows
    for key, size in largest(name).items():
        assert np.abs(one[key] - other[key])[last].max() <= 3e-5 * size, key
        assert np.median(np.abs(one[key] - other[key])) <= 3e-6 * size, key


@pytest.mark.parametrize("method", ["bdf", "radau5"])
@pytest.mark.parametrize("name", STOP)
def test_steps_are_moderate(name: str, method: str) -> None:
    for rtol in (1e-4, 1e-6, 1e-8):
        assert 50 < run(name, method, rtol).stats.n_steps < 9000


@pytest.mark.parametrize("name", ["LockValve", "HydraulicCircuit", "DoubleWishbone"])
def test_stiff(name: str) -> None:
    model, result = load(name), run(name, "bdf", 1e-4)
    for k in range(0, 400, 40):
        x = {key: result[key][k] for key in states(name)}
        sizes = np.abs(model.linearize(t=float(result.time[k]), x=x).eigenvalues)
        assert sizes.max() >= 1e4 * sizes[sizes > 0].min()
    explicit = model.simulate(stop=STOP[name], method="dopri5", rtol=1e-4, options={"max_steps": 10**6})
    assert explicit.stats.n_steps > 20 * result.stats.n_steps
    exact = run(name, "radau5", 1e-8)
    for key, size in largest(name).items():  # an explicit method knows nothing of Jacobians and Newton's iteration
        assert abs(explicit.final[key] - exact.final[key]) <= 1e-3 * size, key


def test_van_der_pol_jumps_on_time() -> None:
    """On the slow branch y2 = y1 - y1^3/3, so dt = mu (1/y1 - y1) dy1, from 2 to 1."""
    model = load("VanDerPol")
    assert [model.variables[key].nominal for key in ("y1", "y2")] == [1e6, 1e6]
    result = model.simulate(stop=2e6, method="radau5", rtol=1e-8, atol=1e-10, points=None)
    jump = result.time[np.flatnonzero(result["y1"] < 0)[0]]
    assert abs(jump / 1e6 - (1.5 - np.log(2.0))) < 1e-3
    assert np.abs(result["y1"]).max() == pytest.approx(2.0, abs=1e-3)


def test_lock_valve_sizes() -> None:
    size, variables = largest("LockValve"), load("LockValve").variables
    for key in states("LockValve"):
        kind = key[0]
        expected = {"h": 1e-7, "T": 293.0, "p": 1e5}.get(kind)
        assert variables[key].nominal == expected
        assert size[key] < {"h": 2e-7, "T": 400, "p": 6.3e5, "s": 0.0101, "y": 1.0001, "x": 0.45, "v": 1, "w": 2}[kind]
    result = run("LockValve", "bdf")
    locked = result.time > 8.5
    for key in ("s_A", "s_B", "w_A", "w_B"):
        assert result[key][0] == 0
        assert np.abs(result[key][locked]).max() < 1e-5
    assert min(result["s_A"][(result.time > 2) & (result.time < 7.9)]) > 0.0099
    assert result["h_A"].min() > 0.99e-7


def test_locked_gas_leaks_through_the_gap() -> None:
    """Once locked, mass p V/(R T) of a chamber falls by the flow through the gap and the rounded edge, and no more."""
    result = run("LockValve", "radau5")
    end = result.time >= 9.0
    time = result.time[end]
    p, T, x, h, line = (result[key][end] for key in ("p_A", "T_A", "x", "h_A", "p_line_A"))
    mass = p * (3e-5 + 1.96e-3 * x) / (287.0 * T)
    gap = 2e6 * h**3 * (p - line)
    edge = 1e-8 * (2e-6) ** 2 / (4 * 5e-4) / 0.01 * 1.185 * np.sqrt(293.15 / T) * p  # critical flow
    lost = np.trapezoid(gap + edge, time)
    assert mass[0] - mass[-1] == pytest.approx(lost, rel=0.05)
    assert 1e-10 < lost < 1e-7


def test_hydraulic_sizes() -> None:
    size, model, result = largest("HydraulicCircuit"), load("HydraulicCircuit"), run("HydraulicCircuit", "bdf")
    for key in states("HydraulicCircuit"):
        assert model.variables[key].nominal == (1.0 if key.startswith("p_") else None)
    assert result["q_acc"][0] == 0
    assert 500 < size["q_acc"] < 650
    assert 180 < size["p_pump"] < 210
    assert result["p_pump"][0] == 1
    assert 0.2 < result["p_A"].min() < 0.9  # the load runs ahead of the oil
    assert 0.9 < size["z"] < 1
    assert 0.5 < size["z_relief"] < 1.5
    assert 3 < size["v"] < 5


def test_double_wishbone_sizes_and_rest() -> None:
    model, result = load("DoubleWishbone"), run("DoubleWishbone", "bdf")
    for key, size in largest("DoubleWishbone").items():
        assert model.variables[key].nominal is None
        assert result[key][0] == 0
        if key in ("x_w", "vx_w"):
            assert size == 0
        else:
            assert 1e-3 < size < 0.5, key
    # at rest the tyre carries the load, and the brake is held by a spring with a cubic term
    assert result.final["z_w"] == pytest.approx(0.01 - 500 / 2.2e5, rel=1e-4)
    assert all(abs(result.final[key]) < 1e-6 for key in ("v_b", "vy_w", "vz_w", "om_lower", "om_upper", "om_camber"))
    braked = model.simulate(stop=7.5, parameters={"brake": 2000.0})
    root = np.roots([4e6 / 1e-3**2, 0, 4e6, 2000.0])
    assert braked.final["x_w"] == pytest.approx(float(root[np.abs(root.imag) < 1e-12].real[0]), rel=1e-3)


# the hydraulic circuit again, in SI units: Pa, m3, m3/s, m, m/s


def ramp(t: float, middle: float, width: float) -> float:
    return float(0.5 + 0.5 * np.tanh((t - middle) / width))


def round_max(z: float, e: float) -> float:
    return float((z + np.hypot(z, e)) / 2)


def turbulent(k: float, dp: float) -> float:
    """Flow in m3/s for dp in Pa and k in cm3/s per root of bar."""
    bar = dp / 1e5
    return float(1e-6 * k * np.sign(bar) * np.sqrt(bar**2 / np.sqrt(bar**2 + 0.01)))


def bulk(p: float) -> float:
    """In Pa: 1/E = 1/E_oil + air/(n p) (p0/p)^(1/n)."""
    bar = round_max(p / 1e5, 0.1)
    return float(1e5 / (1 / 14000 + 0.005 / (1.4 * bar) * bar ** (-1 / 1.4)))


def circuit(t: float, y: NDArray[np.float64]) -> list[float]:
    n, q, z, x, gas, v, pump, back, pilot, relief, a, b = y
    tank = 1e5
    command = 0.98 * (ramp(t, 3, 0.05) - ramp(t, 4.6, 0.05)) - 0.6 * (ramp(t, 6, 0.05) - ramp(t, 8, 0.05))
    tipped = ramp(t, 4.1, 0.05)
    load = 15000 * (ramp(t, 2.5, 0.1) - tipped)
    load += 8000 * (ramp(t, 6.5, 0.1) - ramp(t, 9, 0.1) - tipped + ramp(t, 5.5, 0.1))
    # flows
    running = np.tanh(20 * n)
    supply = (600e-6 * n - 0.15e-11 * (pump - tank)) * running
    q_relief = turbulent(40 * relief, pump - back)
    q_reduce = turbulent(4 * ramp(5 - pilot / 1e5, 0, 0.3), pump - pilot)
    q_bleed = turbulent(3, pilot - back)
    out, home = round_max(z - 0.02, 0.005), round_max(-z - 0.02, 0.005)
    to_a, from_b = turbulent(70 * out, pump - a), turbulent(70 * out, b - back)
    to_b, from_a = turbulent(70 * home, pump - b), turbulent(70 * home, a - back)
    suck_a = turbulent(150 * ramp((back - a) / 1e5, 0.1, 0.05), back - a)
    suck_b = turbulent(150 * ramp((back - b) / 1e5, 0.1, 0.05), back - b)
    leak = 0.05e-11 * (a - b)
    # rates
    slip = 1 - n
    torque = ramp(t, 0.1, 0.02) * 2 * 2.5 / (slip / 0.1 + 0.1 / slip) - 0.05 * n - (pump - tank) / 200e5 * running
    filled = 60e5 * (4e-3 / gas) ** 1.3 - 59e5 * np.exp((gas - 4e-3) / 2e-5)
    dq = (pump - filled - 3e9 * q - 5e12 * q * np.sqrt(q**2 + 1e-12)) / 3e6
    dz = (command * np.tanh((pilot / 1e5 - 1) / 2) - z) / 0.02
    force = a * 20e-4 - b * 12e-4 - tank * 8e-4 - load - 400 * np.tanh(v / 0.005) - 3000 * v
    return [
        torque / 0.1,
        dq,
        dz,
        v,
        -q,
        force / 1500,
        bulk(pump) / 300e-6 * (supply - q - q_relief - q_reduce - to_a - to_b),
        bulk(back) / 800e-6 * (q_relief + q_bleed + from_a + from_b - suck_a - suck_b - turbulent(900, back - tank)),
        bulk(pilot) / 5e-6 * (q_reduce - q_bleed - 0.6e-6 * dz * np.tanh(20 * z)),
        (round_max((pump / 1e5 - 190) / 10, 1e-3) - relief) / 0.004,
        bulk(a) / (1e-4 + 20e-4 * x) * (to_a - from_a + suck_a - leak - 20e-4 * v),
        bulk(b) / (1e-4 + 12e-4 * (0.6 - x)) * (to_b - from_b + suck_b + leak + 12e-4 * v),
    ]


def test_hydraulic_circuit_against_scipy() -> None:
    names = ["n", "q_acc", "z", "x", "V_gas", "v", "p_pump", "p_return", "p_pilot", "z_relief", "p_A", "p_B"]
    unit = np.array([1, 1e-6, 1, 1, 1e-3, 0.1, 1e5, 1e5, 1e5, 1, 1e5, 1e5])
    start = np.array([0, 0, 0, 0.15, 4, 0, 1, 1, 1, 0, 2.8, 4]) * unit
    times = np.array([0.3, 1.0, 2.0, 2.9, 3.5, 4.3, 4.5, 5.2, 6.5, 8.5, 10.0])
    done = solve_ivp(circuit, (0, times[-1]), start, "Radau", times, rtol=1e-7, atol=1e-9 * unit, first_step=1e-6)
    assert done.success
    result = load("HydraulicCircuit").simulate(stop=times[-1], rtol=1e-9, points=times)
    for row, key in enumerate(names):
        ours = result[key] * unit[row]
        assert np.abs(ours - done.y[row]).max() <= 2e-5 * max(np.abs(ours).max(), unit[row]), key
