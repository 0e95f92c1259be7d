"""Robot, pipe and diode grid: right sides against NumPy with equations written another way, spectra and structure."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
import support_robot as robot
from numpy.typing import NDArray
from scipy.constants import R as GAS_CONSTANT
from scipy.constants import Stefan_Boltzmann

import pliant
from pliant.solve.matrices import jacobian_places, mass_matrix
from pliant.solve.run.operating import Point

Array = NDArray[np.float64]
EXAMPLES = Path(__file__).parents[1] / "examples"


@cache
def load(name: str, model: str | None = None, form: str = "auto") -> pliant.Model:
    return pliant.load(EXAMPLES / f"{name}.mo", name=model, options={"form": form})


def at(model: pliant.Model, t: float = 0.0, **parameters: float) -> Point:
    inputs = dict.fromkeys(model._numeric.names.u, 0.0)
    return Point(model._numeric, t, inputs, parameters, {})


def names(model: pliant.Model) -> tuple[str, ...]:
    return tuple(model._numeric.names.x)


def entries(model: pliant.Model) -> set[tuple[int, int]]:
    """Places of L - tau Df."""
    rows, columns = jacobian_places(model._numeric)
    found = set(zip(rows.tolist(), columns.tolist(), strict=True))
    return found | {(i, i) for i in range(len(names(model)))}


# ---------------------------------------------------------------------------------------------------- robot

UNSEEN = {
    **dict(zip([f"qb[{k}]" for k in range(1, 7)], (-1.5, 0.6, -0.3, 2, 0.9, -2), strict=True)),
    **dict(zip([f"qc[{k}]" for k in range(1, 7)], (0.5, -0.4, 0.8, -1.2, -0.8, 2.5), strict=True)),
    **{"t1": 0.05, "T1": 0.8, "t2": 0.95, "T2": 0.9, "ripple": 0.02},
}


def random_states(count: int) -> Array:
    """Far from each other, the gears not twisted too much."""
    random = np.random.default_rng(4)
    scale = np.tile([1.5, 1.5, 1.5, 1.5, 5, 50, 50, 5, 100, 100, 5, 1, 1], 6)
    x = random.normal(size=(count, 78)) * scale
    x[:, 2::13] = x[:, 0::13] + 1e-3 * random.normal(size=(count, 6))
    return np.asarray(x)


def test_robot_states_are_in_order_axis_after_axis() -> None:
    expected = tuple(f"axis[{k}].{name}" for k in range(1, 7) for name in robot.STATES)
    assert names(load("Robot")) == expected
    assert names(load("Robot", "Arm")) == expected
    assert load("Robot", "Arm")._numeric.names.u == tuple(f"qr[{k}]" for k in range(1, 7))


@pytest.mark.parametrize("t", [0.0, 0.7, 1.9, 2.6])
def test_robot_right_side(t: float) -> None:
    point = at(load("Robot"), t)
    scale = np.abs(np.array([robot.rhs(x, robot.reference(t)) for x in random_states(20)])).max(axis=0)
    for x in random_states(20):
        assert np.all(np.abs(point.rhs(x) - robot.rhs(x, robot.reference(t))) < 1e-10 * scale)


def test_robot_oracle_conserves_energy() -> None:
    """h is what M demands: d/dt (qd M qd)/2 = qd (M qdd + dM/dt qd/2) = - qd (gravity), without torques."""
    random = np.random.default_rng(5)
    for _ in range(5):
        q, qd = random.normal(size=(2, 6))
        step = 1e-5
        change = (robot.mechanics(q + step * qd, qd)[0] - robot.mechanics(q - step * qd, qd)[0]) / (2 * step)
        gravity = robot.mechanics(q, 0 * qd)[1]
        h = robot.mechanics(q, qd)[1]
        assert qd @ h == pytest.approx(qd @ (change @ qd / 2 + gravity), rel=1e-6)


def test_robot_arm_follows_its_inputs() -> None:
    point = Point(load("Robot", "Arm")._numeric, 0.0, {f"qr[{k + 1}]": 0.3 * k - 0.5 for k in range(6)}, {}, {})
    for x in random_states(5):
        exact = robot.rhs(x, 0.3 * np.arange(6) - 0.5)
        assert point.rhs(x) == pytest.approx(exact, rel=1e-9, abs=1e-9 * np.abs(exact).max())


def test_robot_starts_at_rest() -> None:
    point = at(load("Robot"))
    assert np.abs(point.x - robot.start()).max() < 1e-10
    resting = np.array([name != "xV" for name in robot.STATES * 6])  # xV compensates the twisted gear later
    assert np.abs(point.rhs(point.x))[resting].max() < 1e-6


def test_robot_jacobian_has_396_places_and_all_are_used() -> None:
    point, x = at(load("Robot"), 0.7), random_states(1)[0]
    found = point.jacobian(x, point.rhs(x))
    assert len(entries(load("Robot"))) == 396
    assert np.count_nonzero(found - 1e3 * np.eye(78)) == 396
    step = 1e-6 * np.maximum(np.abs(x), 1e-2)
    qr = robot.reference(0.7)
    exact = [(robot.rhs(x + d, qr) - robot.rhs(x - d, qr)) / (2 * d.max()) for d in np.diag(step)]
    assert np.abs(found - np.transpose(exact)).max() < 1e-6 * np.abs(found).max()


def test_robot_loop_has_as_many_tears_as_joints() -> None:
    (loop,) = load("Robot").structure.loops
    assert loop.linear
    assert loop.n_torn <= 6
    assert load("Robot")._numeric.struct.n_roots == 0


@pytest.mark.parametrize(("parameters", "reference"), [({}, robot.reference), (UNSEEN, robot.unseen)])
def test_robot_trajectory_is_a_matter_of_parameters(parameters: dict[str, float], reference: object) -> None:
    assert callable(reference)
    result = load("Robot").simulate(stop=2.6, parameters=parameters, points=131)
    goal = np.array([reference(t) for t in result.time])
    for k in range(6):
        assert result[f"qr[{k + 1}]"] == pytest.approx(goal[:, k], abs=1e-13)
        late = np.abs(result[f"axis[{k + 1}].q"] - np.interp(result.time - 0.03, result.time, goal[:, k]))
        assert late.max() < 0.15  # the arm follows, some 30 ms behind


# ----------------------------------------------------------------------------------------------------- pipe

STILL = {"Md_slow": 0.0, "Md_fast": 0.0, "T_slow": 0.0, "T_fast": 0.0} | {f"w_wave[{j}]": 0.0 for j in (1, 2, 3)}


def pipe_rhs(t: float, x: Array) -> Array:
    """The pipe with matrices of differences instead of loops."""
    w, gas, wall = x[:15].reshape(3, 5), x[15:20], x[20:]
    d, s, dz, p, c_p, m_mol = 0.05, 0.995e-3, 0.0325, 1.05e5, 1190.0, 0.0288
    flow = 0.0293 * (1 + 0.45 * np.sin(2 * np.pi * t / 23) + 0.2 * np.sin(2 * np.pi * t / 7.1))
    hot = 600 + 80 * np.sin(2 * np.pi * t / 47) + 25 * np.sin(2 * np.pi * t / 11)
    inlet = np.array([0.2, 0.07, 0.08]) + [0.03, -0.02, 0.02] * np.sin(2 * np.pi * t / np.array([13, 9, 17]))
    bore, rim = np.pi * d**2 / 4, np.pi * (d + s) * s
    inside, outside = np.pi * d, np.pi * (d + 2 * s)
    transfer = 1.75 * 0.023 * (flow * d / (bore * 3e-5)) ** 0.8 * 0.7**0.4 * 0.046 / d
    dw = -flow * GAS_CONSTANT * gas / (bore * p * m_mol) * np.diff(w, prepend=inlet[:, None]) / dz
    to_wall = transfer * inside * (gas - wall)
    dgas = -gas / (p * (m_mol * c_p / GAS_CONSTANT - 1)) / bore
    dgas *= flow * c_p * np.diff(gas, prepend=hot) / dz + to_wall
    second = np.diff(np.concatenate([[wall[1]], wall, [wall[3]]]), 2) / dz**2
    lost = outside * (15 * (wall - 293.15) + 0.8 * Stefan_Boltzmann * (wall**4 - 293.15**4))
    return np.concatenate([dw.ravel(), dgas, (23 * second + (to_wall - lost) / rim) / (7900 * 500)])


@pytest.mark.parametrize("t", [0.0, 3.0, 21.7])
def test_pipe_right_side(t: float) -> None:
    model = load("Pipe")
    assert names(model) == tuple(f"{name}[{i}]" for name in ("w1", "w2", "w3", "T_B", "T_C") for i in range(1, 6))
    random = np.random.default_rng(6)
    point = at(model, t)
    for _ in range(20):
        x = np.concatenate([random.uniform(0, 0.3, 15), random.uniform(500, 700, 5), random.uniform(300, 600, 5)])
        assert point.rhs(x) == pytest.approx(pipe_rhs(t, x), rel=1e-9, abs=1e-9)
    assert at(model).x == pytest.approx([0.2] * 5 + [0.07] * 5 + [0.08] * 5 + [600] * 5 + [509] * 5, rel=1e-12)
    assert len(entries(model)) == 74


def test_pipe_spectrum() -> None:
    """Inputs and wall held, gas relaxed: the values of the reference, near those printed in the paper."""
    model = load("Pipe")
    held = model.simulate(stop=0.5, method="lieuler", step=0.01, parameters=STILL | {"rho_C": 1e15})
    x = {name: float(held.final[name]) for name in names(model)}
    found = np.sort(model.linearize(x=x, parameters=STILL).eigenvalues.real)
    assert found[[0, 4]] == pytest.approx([-1013.2, -1004.2], rel=1e-4)
    assert found[[5, 6, 7, 17, 18, 19]] == pytest.approx([-755.71] * 3 + [-748.98] * 3, rel=2e-5)
    assert found[20:] == pytest.approx([-0.0583, -0.0550, -0.0472, -0.0394, -0.0353], abs=5e-5)
    printed = [-1014, -1012, -1012, -1005, -1005, *np.repeat([-756, -754.1, -752.2, -750.4, -748.5], 3)]
    printed += [-0.05727, -0.05416, -0.04664, -0.03904, -0.03519]
    assert found == pytest.approx(np.array(printed), rel=0.02)


# ----------------------------------------------------------------------------------------------------- grid

NANO = np.array(
    [
        [100, 0, 0, 1000, 0, 10],
        [0, 0, 4700, 0, 0, 330],
        [10000, 0, 0, 0, 22, 2200],
        [47, 470, 0, 10, 0, 6800],
        [1000, 0, 0, 220, 0, 150],
    ]
)
RIGHT = (
    (220, 1000, 470, 3300, 820),
    (1500, 330, 680, 120, 2200),
    (100, 560, 1800, 390, 10000),
    (4700, 270, 910, 5600, 150),
    (680, 1200, 180, 2700, 470),
)
DOWN = (
    (1000, 150, 2700, 560, 390, 4700),
    (330, 820, 100, 1500, 6800, 220),
    (1800, 470, 680, 220, 3900, 1000),
    (120, 2200, 390, 8200, 560, 330),
)
DIODES = ("12-13", "15-14", "21-22", "24-25", "34-33", "43-44", "52-53", "56-55", "15-", "22-", "34-", "46-", "53-")
AMPLIFIERS = {"13": ("54", 1), "16": ("51", -1), "25": ("42", 1), "32": ("35", 1), "41": ("26", -1), "44": ("23", 1)}
AMPLIFIERS["55"] = ("12", -1)
SOURCES = {"11": (8.0, 50, 200), "52": (5.0, 13, 150), "36": (6.0, 31, 330)}


def place(node: str) -> int:
    return 6 * (int(node[0]) - 1) + int(node[1]) - 1


def grid_currents(t: float, v: Array) -> Array:
    """Currents into the 30 nodes: conductances as a matrix, then diodes, amplifiers and sources one by one."""
    conductance = np.eye(30) / 1e4
    pairs = [(6 * i + j, 6 * i + j + 1, r) for i, line in enumerate(RIGHT) for j, r in enumerate(line)]
    pairs += [(6 * i + j, 6 * i + j + 6, r) for i, line in enumerate(DOWN) for j, r in enumerate(line)]
    for a, b, r in pairs:
        conductance[np.ix_([a, b], [a, b])] += np.array([[1, -1], [-1, 1]]) / r
    into = -conductance @ v
    for diode in DIODES:
        a, b = diode.split("-")
        u = v[place(a)] - (v[place(b)] if b else 0.0)
        current = 1e-9 * (np.exp(min(u, 0.7) / 0.05) * (1 + max(u - 0.7, 0.0) / 0.05) - 1)
        into[place(a)] -= current
        if b:
            into[place(b)] += current
    for node, (control, sign) in AMPLIFIERS.items():
        into[place(node)] -= 2e-4 * sign * v[place(control)]
    for node, (amplitude, frequency, r) in SOURCES.items():
        into[place(node)] += (amplitude * np.sin(2 * np.pi * frequency * t) - v[place(node)]) / r
    return np.asarray(into)


def order() -> list[int]:
    """Numbers of the nodes in the order of x."""
    return [place(name[2] + name[4]) for name in names(load("DiodeGrid", form="dae"))]


def test_grid_unknowns_are_the_voltages_and_half_are_algebraic() -> None:
    model = load("DiodeGrid", form="dae")
    assert sorted(order()) == list(range(30))
    mass = mass_matrix(at(model).sim)
    assert np.array_equal(np.diag(np.diag(mass)), mass)
    assert np.array_equal(np.diag(mass) > 0, NANO.ravel()[order()] > 0)
    assert np.linalg.matrix_rank(mass) == np.count_nonzero(NANO) == 15
    assert len(entries(model)) == 30 + 2 * 49 + len(AMPLIFIERS)
    assert model._numeric.struct.n_roots == 0


def test_grid_right_side() -> None:
    """Algebraic rows are known up to their order and sign."""
    point = at(load("DiodeGrid", form="dae"), 0.0123)
    random = np.random.default_rng(7)
    for _ in range(20):
        v = random.uniform(-0.8, 0.8, 30)
        into, found = grid_currents(0.0123, v), point.rhs(v[order()])
        states = np.array(order()[:15])
        exact = into[states] / (1e-9 * NANO.ravel()[states])
        assert found[:15] == pytest.approx(exact, rel=1e-9, abs=1e-9 * np.abs(exact).max())
        left = np.sort(np.abs(into[np.array(order()[15:])]))
        assert np.sort(np.abs(found[15:])) == pytest.approx(left, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("form", ["ode", "dae"])
def test_grid_balances_hold(form: str) -> None:
    result = load("DiodeGrid", form=form).simulate(stop=0.03, points=61, rtol=1e-8)
    v = np.array([result[f"v[{i},{j}]"] for i in range(1, 6) for j in range(1, 7)])
    algebraic = NANO.ravel() == 0
    assert np.ptp(v, axis=1).min() > 0.5  # everything moves
    assert v[algebraic].max() > 1
    for t, column in zip(result.time, v.T, strict=True):
        assert np.abs(grid_currents(t, column)[algebraic]).max() < 1e-7  # of some mA


def test_grid_with_fixed_steps() -> None:
    """Linearly implicit Euler: the error is proportional to the step."""
    model = load("DiodeGrid", form="dae")
    exact = model.simulate(stop=0.05, points=501, rtol=1e-8)
    found = []
    for step in (1e-4, 5e-5, 2.5e-5):
        result = model.simulate(stop=0.05, points=501, method="lieuler", step=step)
        found.append(max(np.sqrt(np.mean((result[n] - exact[n]) ** 2)) / np.ptp(exact[n]) for n in names(model)))
    assert found[0] < 0.03
    assert found[0] / found[1] == pytest.approx(2, rel=0.25)
    assert found[1] / found[2] == pytest.approx(2, rel=0.25)


def test_grid_time_constants_spread_over_three_decades() -> None:
    rates = np.abs(load("DiodeGrid", form="ode").linearize().eigenvalues.real)
    assert rates.max() > 1e3 * rates.min()
    assert rates.max() * 1e-4 > 30
