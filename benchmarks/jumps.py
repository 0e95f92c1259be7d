"""Input jumps: what the strategies cost against a restart, and what they do to the error.

python benchmarks/jumps.py [paper] [random] [stiff] [short] [wheel] [loop] [tolerances]

Cases: the spring-damper and the pendula of Andersson, Fuehrer & Akesson (2016) with the data of the figures, random
relatives of both, stiff systems, a wheel with 37 inputs. "total" counts evaluations of f, directional derivatives and
Taylor coefficients, each as one. rtol = atol = 1e-6 where nothing else is said.
"""

from __future__ import annotations

import ctypes
import sys
from dataclasses import dataclass

import numpy as np
from peers import ROOT
from scipy.integrate import solve_ivp

import pliant
from pliant.solve.binding import runtime
from pliant.solve.options import check_request
from pliant.solve.run.simulation import Simulation

STRATEGIES = ("restart", "proceed", "x1", "x2", "correct")
TOLERANCE = 1e-6
SPRING = """
model Spring
  parameter Real m = 1, k = 75, c = 2.1, k2 = 25, c2 = 0.1;
  input Real u1, u2;
  Real x(start = 0, fixed = true), v(start = 0, fixed = true);
equation
  der(x) = v;
  m*der(v) = -k*x - c*v + k2*u1 + c2*u2;
end Spring;
"""
PENDULUM = """
model Pendulum
  parameter Real g = 9.81, start_angle = 0;
  input Real u1, u2, u3;
  Real th(start = start_angle, fixed = true), w(start = 0, fixed = true);
equation
  der(th) = w;
  der(w) = (-g + u3)*sin(th) + (u1 + u2)*cos(th);
end Pendulum;
"""
STIFF = """
model Stiff
  parameter Real rate = 1, bend = 0;
  input Real u;
  Real x(start = 0, fixed = true), y(start = 0, fixed = true);
equation
  der(x) = -rate*(x - u) - bend*x^3;
  der(y) = -y + x*(1 - bend) + bend*x*cos(y);
end Stiff;
"""
HEAT = """
model Heat
  constant Integer n = 30;
  input Real u;
  Real T[n](each start = 0, each fixed = true);
equation
  der(T[1]) = (n + 1)^2*(u - 2*T[1] + T[2]);
  for i in 2:n - 1 loop
    der(T[i]) = (n + 1)^2*(T[i - 1] - 2*T[i] + T[i + 1]);
  end for;
  der(T[n]) = (n + 1)^2*(T[n - 1] - 2*T[n]);
end Heat;
"""


@dataclass(frozen=True)
class Case:
    """A model and its inputs."""

    name: str
    model: pliant.Model
    inputs: dict
    stop: float
    parameters: dict


@dataclass
class Row:
    """What one strategy did."""

    steps: int
    total: int
    error: float
    high_order: float  # share of time at order 4 and 5
    error_fails: int


def total(stats: pliant.Stats) -> int:
    return stats.n_rhs + stats.n_jvp + stats.n_taylor


def run(case: Case, how: str, tolerance: float = TOLERANCE, reference: pliant.Result | None = None) -> Row:
    result = case.model.simulate(
        stop=case.stop, method="bdf", rtol=tolerance, atol=tolerance, inputs=case.inputs, points=[0.0, case.stop],
        parameters=case.parameters, options={"at_jump": how},
    )  # fmt: skip
    error = 0.0
    if reference is not None:
        names = case.model._numeric.names.x
        error = max(abs(result[name][-1] - reference[name][-1]) / (1 + abs(reference[name][-1])) for name in names)
    steps = result.steps
    share = float(steps["h"][steps["order"] >= 4].sum() / steps["h"].sum())
    return Row(result.stats.n_steps, total(result.stats), error, share, result.stats.n_error_fails)


def accurate(case: Case) -> pliant.Result:
    return case.model.simulate(
        stop=case.stop, method="radau5", rtol=1e-11, atol=1e-11, inputs=case.inputs, points=[0.0, case.stop],
        parameters=case.parameters,
    )  # fmt: skip


def pieces(times: np.ndarray, value: np.ndarray, slope: np.ndarray | float = 0.0) -> pliant.Segments:
    """Value and slope on each piece."""
    slopes = np.broadcast_to(slope, value.shape)
    return pliant.Segments(times[:-1], np.stack([value, slopes], axis=1))


def backward(times: np.ndarray, u: np.ndarray, first: float) -> pliant.Segments:
    """Linear pieces whose slope is the backward difference; the first slope is given."""
    slope = np.concatenate([[first], np.diff(u[:-1]) / np.diff(times[:-1])])
    return pieces(times, u[:-1], slope)


_MODELS: dict[str, pliant.Model] = {}


def load(text: str) -> pliant.Model:
    if text not in _MODELS:
        _MODELS[text] = pliant.load(text)
    return _MODELS[text]


def spring(segments: int = 20, stop: float = 2.0, seed: int | None = None) -> Case:
    """The right mass of the triple spring-damper, driven by the left one of the coupled solution."""
    k1, k2, k3, c1, c2, c3, m1, m2 = 10.0, 25.0, 50.0, 1.0, 0.1, 2.0, 1.0, 1.0
    start = np.array([10.0, 0.0, 0.0, 0.0])
    if seed is not None:
        rng = np.random.default_rng(seed)
        k1, k2, k3 = rng.uniform(5, 80, 3)
        c1, c2, c3 = rng.uniform(0.05, 3, 3)
        m1, m2 = rng.uniform(0.5, 2, 2)
        start = np.array([rng.uniform(2, 15), rng.normal(), 0.0, 0.0])
    A = np.array(
        [[0, 1, 0, 0], [-(k1 + k2) / m1, -(c1 + c2) / m1, k2 / m1, c2 / m1], [0, 0, 0, 1],
         [k2 / m2, c2 / m2, -(k2 + k3) / m2, -(c2 + c3) / m2]]
    )  # fmt: skip
    times = np.linspace(0.0, stop, segments + 1)
    done = solve_ivp(lambda t, x: A @ x, (0, stop), start, "DOP853", times, rtol=1e-12, atol=1e-12)
    first = A @ start
    inputs = {"u1": backward(times, done.y[0], first[0]), "u2": backward(times, done.y[1], first[1])}
    parameters = {"m": m2, "k": k2 + k3, "c": c2 + c3, "k2": k2, "c2": c2}
    return Case(f"spring-damper, {segments} pieces", load(SPRING), inputs, stop, parameters)


def pendulum(
    k: float = 1000.0, amplitude: float = 10.0, segments: int = 40, stop: float = 2.0, seed: int | None = None
) -> Case:
    """The left one of two pendula with a spring between the bobs, driven by the coupled solution, constant pieces."""
    g, D, d0, start = 9.81, 1.0, 1.0, np.array([np.pi / 4, 0.0, -np.pi / 6, 0.0])
    frequency = 1.0
    if seed is not None:
        rng = np.random.default_rng(100 + seed)
        k, amplitude, frequency = rng.uniform(5, 60), rng.uniform(1, 8), rng.uniform(0.4, 1.5)
        start = np.array([rng.uniform(-1, 1), 0.0, rng.uniform(-1, 1), 0.0])

    def force(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        dx, dy = D + np.sin(b) - np.sin(a), np.cos(a) - np.cos(b)
        length = np.hypot(dx, dy)
        return k * (length - d0) * dx / length, k * (length - d0) * dy / length

    def shake(t: np.ndarray) -> np.ndarray:
        return amplitude * np.sin(2 * np.pi * frequency * t)

    def f(t: float, s: np.ndarray) -> list[float]:
        fx, fy = force(s[0], s[2])
        u = shake(t)
        return [
            s[1], (-g + fy) * np.sin(s[0]) + (u + fx) * np.cos(s[0]),
            s[3], (-g - fy) * np.sin(s[2]) + (u - fx) * np.cos(s[2]),
        ]  # fmt: skip

    times = np.linspace(0.0, stop, segments + 1)
    done = solve_ivp(f, (0, stop), start, "DOP853", times, rtol=1e-12, atol=1e-12)
    fx, fy = force(done.y[0], done.y[2])
    values = {"u1": shake(times), "u2": fx, "u3": fy}
    inputs = {name: pieces(times, u[:-1]) for name, u in values.items()}
    return Case(f"pendulum, k = {k:.3g}, {segments} pieces", load(PENDULUM), inputs, stop, {"start_angle": start[0]})


def stiff_cases() -> list[Case]:
    """Fast modes to 1e6, linear and not, and the heat equation; random constant and linear pieces."""
    rng = np.random.default_rng(0)
    out = []

    def random_pieces(stop: float, sloped: bool) -> pliant.Segments:
        times = np.linspace(0.0, stop, 21)
        return pieces(times, rng.standard_normal(20), rng.standard_normal(20) * 5 if sloped else 0.0)

    for rate in (1e2, 1e3, 1e4, 1e5, 1e6):
        for bend in (0.0, 0.1):
            for sloped in (False, True):
                name = f"rate {rate:g}, bend {bend:g}, {'linear' if sloped else 'constant'} pieces"
                inputs = {"u": random_pieces(2.0, sloped)}
                out.append(Case(name, load(STIFF), inputs, 2.0, {"rate": rate, "bend": bend}))
    for sloped in (False, True):
        out.append(Case("heat equation, n = 30", load(HEAT), {"u": random_pieces(1.0, sloped)}, 1.0, {}))
    return out


def wheel(segments: int = 200, stop: float = 1.0) -> Case:
    """The wheel with 37 inputs on a course shaped like an eight, linear pieces with backward slopes."""
    model = pliant.load(ROOT / "examples" / "cosim" / "wheel.mo")
    times = np.linspace(0.0, stop, segments + 1)
    turn = 2 * np.pi / 5.0
    speed, yaw = 30 + 1.2 * times, 0.35 * np.sin(turn * times)
    steer, roll = 0.05 * np.sin(turn * times), 0.03 * np.sin(turn * times + 0.3)
    c, s = np.cos(steer), np.sin(steer)
    values = {
        "x": speed * times * 1e-2, "y": np.sin(turn * times), "z": 0.315 + 0.003 * np.sin(3 * times),
        "vx": speed, "vy": 0.6 * np.sin(turn * times), "vz": 0.009 * np.cos(3 * times),
        "ax": 1.2 + 0 * times, "ay": speed * yaw, "az": -0.027 * np.sin(3 * times),
        "R11": c, "R12": s, "R13": 0 * times, "R21": -s, "R22": c, "R23": roll, "R31": s * roll, "R32": -c * roll,
        "R33": np.cos(roll), "wx": 0.03 * turn * np.cos(turn * times), "wy": 0.01 * np.sin(times), "wz": yaw,
        "bx": -0.03 * np.sin(turn * times), "by": 0.01 * np.cos(times), "bz": 0.35 * turn * np.cos(turn * times),
        "zr": 0.001 * np.sin(8 * times), "dzr": 0.008 * np.cos(8 * times), "nx": 0.01 * np.sin(times),
        "ny": 0.01 * np.cos(times), "nz": 1 + 0 * times, "mu": 1.4 + 0.05 * np.sin(0.7 * times),
        "rough": 1 + 0.1 * np.sin(times), "drive": 150 + 100 * np.sin(turn * times),
        "brake": 3 * (1 + np.sin(2 * times)), "drag": 1 + 0.02 * times, "Tair": 25 + 0.1 * times,
        "Ttrack": 40 + np.sin(times), "cooling": 1 + 0.2 * np.cos(times),
    }  # fmt: skip
    assert len(values) == 37
    assert set(values) == set(model._numeric.names.u)
    inputs = {name: backward(times, u, (u[1] - u[0]) / times[1]) for name, u in values.items()}
    return Case(f"wheel, {segments} pieces", model, inputs, stop, {})


def geometric(values: list[float]) -> float:
    return float(np.exp(np.mean(np.log(values))))


def show(case: Case, strategies: tuple[str, ...] = STRATEGIES) -> dict[str, Row]:
    """Table of one case."""
    reference = accurate(case)
    rows: dict[str, Row] = {}
    print(f"{case.name}")
    for how in strategies:
        try:
            row = rows[how] = run(case, how, reference=reference)
        except pliant.PliantError as error:
            print(f"  {how:8} {type(error).__name__}")
            continue
        print(
            f"  {how:8} {row.steps:5d} steps, {row.total:5d} evaluations ({row.total / rows['restart'].total:.3f}), "
            f"error {row.error:.1e}, order >= 4: {100 * row.high_order:3.0f} %, {row.error_fails} failed"
        )
    return rows


def family(make, count: int = 15) -> list[float]:
    """Total of "correct" against restart for random cases."""
    out = []
    for seed in range(count):
        case = make(seed)
        out.append(run(case, "correct").total / run(case, "restart").total)
    return out


def smooth_steps(stop: float = 2.0) -> int:
    """Steps of E1 with the input as a smooth function: no stops at all."""
    k1, k2, k3, c1, c2, c3 = 10.0, 25.0, 50.0, 1.0, 0.1, 2.0
    A = np.array([[0, 1, 0, 0], [-(k1 + k2), -(c1 + c2), k2, c2], [0, 0, 0, 1], [k2, c2, -(k2 + k3), -(c2 + c3)]])
    done = solve_ivp(
        lambda t, x: A @ x, (0, stop), [10.0, 0, 0, 0], "DOP853", rtol=1e-12, atol=1e-12, dense_output=True
    )
    inputs = {"u1": lambda t: float(done.sol(t)[0]), "u2": lambda t: float(done.sol(t)[1])}
    parameters = {"m": 1.0, "k": k2 + k3, "c": c2 + c3, "k2": k2, "c2": c2}
    result = load(SPRING).simulate(
        stop=stop, method="bdf", rtol=TOLERANCE, atol=TOLERANCE, inputs=inputs, parameters=parameters
    )
    return result.stats.n_steps


def columns_at(case: Case, at: float, state: str = "w", piece: float = 0.05) -> dict[str, np.ndarray]:
    """Coefficients of the predictor of one state at a jump: as it was, and corrected by the strategies."""
    out: dict[str, np.ndarray] = {}
    history = runtime.lib.pl_bdf_history
    history.restype, history.argtypes = ctypes.c_void_p, [ctypes.c_void_p] * 3
    for name, how in (("before", "proceed"), ("x1", "x1"), ("x2", "x2"), ("correct", "correct")):
        request = check_request(
            case.model._numeric, start=0.0, stop=case.stop, method="bdf", rtol=TOLERANCE, atol=TOLERANCE, points=2,
            step=None, parameters=case.parameters, start_values={}, outputs=None, options={}, timeout=None,
        )  # fmt: skip
        numeric = case.model._numeric.for_jumps(request, case.inputs)
        sim = Simulation(numeric, request, case.inputs)
        sim.begin()
        while sim.run.t_reached < at - 1e-12:
            if sim.run.t_reached > at - piece + 1e-9:  # the jumps before are the same for all
                sim.run.opt.at_jump = runtime.AT_JUMP[how]
            sim.advance(1)
        order, h = ctypes.c_int(), ctypes.c_double()
        address = history(sim.head.method, ctypes.addressof(order), ctypes.addressof(h))
        columns = runtime.doubles_at(address, (order.value + 1) * numeric.n_x).reshape(-1, numeric.n_x)
        out[name] = columns[:, numeric.names.x.index(state)] / h.value ** np.arange(order.value + 1)
    return out


def closed_loop(how: str, segments: int = 100, tolerance: float = TOLERANCE, **more: object) -> tuple[int, float]:
    """Both halves of the spring-damper through the master: evaluations, and the error against the whole model."""
    folder = ROOT / "examples" / "cosim"
    coupling = pliant.Coupling()
    for side in ("left", "right"):
        coupling.add(side, pliant.load(folder / f"spring_damper_{side}.mo"))
    for source, target in (
        ("left.x", "right.x1"),
        ("left.v", "right.v1"),
        ("right.x", "left.x2"),
        ("right.v", "left.v2"),
    ):
        coupling.connect(source, target)
    result = coupling.simulate(stop=2.0, step=2.0 / segments, at_jump=how, rtol=tolerance, atol=tolerance, **more)
    whole = pliant.load(folder / "spring_damper.mo").simulate(stop=2.0, rtol=1e-10, atol=1e-10)
    return total(result.stats), abs(result["left.x"][-1] - whole["x1"][-1])


def feedthrough() -> tuple[float, bool]:
    """A loop of direct feed-through with gain beyond one: the error with the loop solved; does it diverge without?"""
    part = """
    model Part
      parameter Real gain = 1;
      input Real u;
      Real x(start = 1, fixed = true);
      output Real y;
    equation
      der(x) = -x + 0.1*u;
      y = x + gain*u;
    end Part;
    """
    coupling = pliant.Coupling()
    coupling.add("a", pliant.load(part))
    coupling.add("b", pliant.load(part))
    coupling.connect("a.y", "b.u")
    coupling.connect("b.y", "a.u")
    parameters = {"a.gain": -1.6, "b.gain": 1.3}
    result = coupling.simulate(stop=2.0, step=0.05, parameters=parameters)
    mismatch = float(np.abs(result["a.y"] - result["a.x"] - parameters["a.gain"] * result["b.y"]).max())
    try:
        other = coupling.simulate(stop=2.0, step=0.05, parameters=parameters, loops="none")
        lost = bool(np.abs(other["a.y"]).max() > 1e3 * np.abs(result["a.y"]).max())
    except pliant.PliantError:
        lost = True
    return mismatch, lost


def rows_of(model: pliant.Model, how: str) -> np.ndarray:
    """Every step of a run whose input stays the same but is said to jump."""
    request = check_request(
        model._numeric, start=0.0, stop=2.0, method="bdf", rtol=TOLERANCE, atol=None, points=None, step=None,
        parameters={}, start_values={}, outputs=None, options={"at_jump": how}, timeout=None,
    )  # fmt: skip
    same = {name: pliant.Segments(np.arange(8) / 4, np.full((8, 1), 0.7)) for name in model._numeric.names.u}
    sim = Simulation(model._numeric, request, same)
    sim.inputs.is_jump[1:] = 1  # the solver stops there, although nothing happens
    sim.begin()
    while not sim.done:
        sim.advance(1000)
    return sim.rows[: sim.out.used].copy()


def nothing_happens() -> bool:
    """A jump of nothing: bit for bit the same as proceeding, on all models of this file."""
    models = [load(text) for text in (SPRING, PENDULUM, STIFF)]
    return all(np.array_equal(rows_of(model, "correct"), rows_of(model, "proceed")) for model in models)


def main(groups: list[str]) -> None:
    wanted = groups or ["paper", "random", "stiff", "short", "wheel", "loop", "tolerances"]
    if "paper" in wanted:
        for case in (spring(), pendulum(), pendulum(10.0, 5.0)):
            show(case)
        print(f"spring-damper without jumps: {smooth_steps()} steps")
    if "random" in wanted:
        for name, make in (
            ("spring-dampers", lambda seed: spring(seed=seed)),
            ("pendula", lambda seed: pendulum(seed=seed)),
        ):
            ratios = family(make)
            print(f"15 random {name}: geometric mean {geometric(ratios):.3f}, worst {max(ratios):.3f}")
    if "stiff" in wanted:
        ratios = [run(case, "correct").total / run(case, "restart").total for case in stiff_cases()]
        print(f"stiff: geometric mean {geometric(ratios):.3f}, worst {max(ratios):.3f}")
    if "short" in wanted:
        for case in (spring(400), pendulum(10.0, 5.0, 400)):
            found = {how: run(case, how).total for how in ("restart", "x1", "x2", "correct")}
            best = min(found["x1"], found["x2"])
            print(f"{case.name}: {found}, correct against the better of x1 and x2 {found['correct'] / best:.3f}")
    if "wheel" in wanted:
        show(wheel())
    if "loop" in wanted:
        for segments in (20, 100, 400):
            found = {how: closed_loop(how, segments) for how in STRATEGIES}
            words = ", ".join(f"{how} {cost} ({cost / found['restart'][0]:.3f})" for how, (cost, _) in found.items())
            print(f"closed loop, {segments} macro steps: {words}")
        print(f"feed-through loop: mismatch {feedthrough()[0]:.1e}, diverges without iteration: {feedthrough()[1]}")
    if "tolerances" in wanted:
        for case in (spring(), pendulum(), pendulum(10.0, 5.0)):
            ratios = [
                run(case, "correct", tol).total / run(case, "restart", tol).total
                for tol in (1e-3, 1e-4, 1e-5, 1e-7, 1e-8, 1e-9, 1e-10)
            ]
            print(f"{case.name}: tolerances 1e-3 .. 1e-10: " + ", ".join(f"{one:.2f}" for one in ratios))


if __name__ == "__main__":
    main(sys.argv[1:])
