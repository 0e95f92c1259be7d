"""Hybrid models of the kind users write, in corners: starts, ends, inputs that jump, forms, vectors, couplings."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

import pliant

PULSE = (np.array([0, 0.5, 0.5, 1, 1, 2.0]), np.array([0, 0, 1, 1, 0, 0.0]))


def load(body: str, before: str = "", form: str = "ode") -> pliant.Model:
    """A model named M with this body."""
    options = pliant.StructureOptions(form=form)
    return pliant.load(f"{before}\nmodel M\n{body}\nend M;\n", options=options)


def ends(result: pliant.Result, names: str) -> list[float]:
    return [float(result[name][-1]) for name in names.split()]


# -------------------------------------------------------------------------------------------- the start


def test_terminate_at_the_start() -> None:
    texts = ("{initial(), x > 5}", "sample(0, 1)")
    for text in texts:
        model = load(
            f'Real x(start = 0, fixed = true); equation der(x) = 1; when {text} then terminate("go"); end when;'
        )
        for points in (None, 11):
            result = model.simulate(2, points=points)
            assert list(result.time) == [0.0]
            assert result.events[-1].terminal
            assert "go" in result.events[-1].message


def test_actions_at_the_start_happen_once_and_with_the_start_values_found() -> None:
    """While initial values are searched y must not grow, nor must the assertion see a first guess of x."""
    result = load(
        """Real x, y(start = 1, fixed = true), z; Boolean b(start = false, fixed = true);
initial equation x^3 = 8 + (if b then 19 else 0);
equation der(x) = 0; der(y) = 0; z = 2*y; b = x > 1.5 or pre(b);
  when {initial(), x > 50} then reinit(y, y + 1); assert(x > 1.9, "x is small"); end when;"""
    ).simulate(1)
    assert ends(result, "x y z b") == pytest.approx([3, 2, 4, 1])


@pytest.mark.parametrize("form", ["ode", "dae"])
def test_reinit_at_the_first_tick(form: str) -> None:
    result = load(
        "Real x(start = 0, fixed = true), y, z; equation der(x) = 1; y + 0.1*z^3 = 2*x; z + 0.1*sin(y) = x;\n"
        "when sample(0, 10) then reinit(x, 3); end when;",
        form=form,
    ).simulate(1)
    x, y, z = result["x"], result["y"], result["z"]
    assert x == pytest.approx(3 + result.time)
    assert y + 0.1 * z**3 == pytest.approx(2 * x, rel=1e-5)


def test_initial_equations_for_discrete_variables() -> None:
    result = load(
        """discrete Real d, e; Integer k; Real x(start = 1, fixed = true);
initial equation d = 2*x + 1; 3*e = d; pre(k) = 7;
equation der(x) = 0;
  when sample(0.5, 1) then d = pre(d) + 1; e = pre(e); k = pre(k) + 1; end when;"""
    ).simulate(1, start_values={"x": 4}, points=[0, 0.6])
    assert list(result["d"]) == [9, 10]
    assert list(result["e"]) == [3, 3]
    assert list(result["k"]) == [7, 8]


def test_initial_equations_that_contradict_each_other_are_no_result() -> None:
    """x = d - 4 and d = 2 x + 1, taken in turns, run away: that must not pass for a start."""
    model = load(
        "discrete Real d; Real x; initial equation d = 2*x + 1; x = d - 4; equation der(x) = 0;\n"
        "when sample(0.5, 1) then d = pre(d) + 1; end when;"
    )
    try:
        result = model.simulate(1)
    except pliant.InitialValueError:
        return
    assert ends(result, "x d") == pytest.approx([3, 8])


def test_a_failing_assertion_at_the_start() -> None:
    model = load(
        'Real x(start = 0, fixed = true); equation der(x) = 1; when initial() then assert(x > 1, "low"); end when;'
    )
    with pytest.raises(pliant.InitialValueError, match="low"):
        model.simulate(1)


# ------------------------------------------------------------------------------------ inputs that jump


@pytest.mark.parametrize("method", ["bdf", "radau5", "dopri5", "rk4", "lieuler", "euler"])
@pytest.mark.parametrize("at_jump", ["correct", "restart"])
def test_reinit_when_an_input_jumps(method: str, at_jump: str) -> None:
    model = load(
        "input Real u; Real x(start = 0, fixed = true); Integer n(start = 0, fixed = true); equation der(x) = 1;\n"
        "when u > 0.5 then reinit(x, 10); n = pre(n) + 1; end when;"
    )
    step = 0.01 if method in ("rk4", "lieuler", "euler") else None
    options = {"at_jump": at_jump}
    result = model.simulate(2, inputs={"u": PULSE}, method=method, step=step, points=None, options=options)
    assert ends(result, "x n") == pytest.approx([11.5, 1])
    (event,) = result.events
    assert (event.time, event.before[0], event.after[0]) == pytest.approx((0.5, 0.5, 10))
    rows = np.flatnonzero(result.time == 0.5)
    assert result["x"][rows] == pytest.approx([0.5, 10])
    assert list(result["u"][rows]) == [0, 1]


def test_terminate_when_an_input_jumps() -> None:
    model = load(
        "input Real u; Real x(start = 0, fixed = true); equation der(x) = 1;\n"
        'when u > 0.5 then terminate("go"); end when;'
    )
    for points in (None, 50, [0.0, 0.5, 1.0]):
        result = model.simulate(2, inputs={"u": PULSE}, points=points)
        assert result.time[-1] == 0.5
        assert "go" in result.events[-1].message


@pytest.mark.parametrize("method", ["bdf", "radau5", "dopri5"])
def test_a_sample_sees_the_input_that_jumps_at_its_time(method: str) -> None:
    result = load(
        "input Real u; discrete Real s(start = -1, fixed = true); Real x(start = 0, fixed = true);\n"
        "equation der(x) = s; when sample(0, 0.25) then s = u; end when;"
    ).simulate(1.3, inputs={"u": PULSE}, points=[0, 0.25, 0.5, 0.6, 0.75, 1, 1.3], method=method)
    assert list(result["s"]) == [0, 0, 1, 1, 1, 0, 0]
    assert list(result["u"]) == [0, 0, 1, 1, 1, 0, 0]
    assert result["x"][-1] == pytest.approx(0.5)


@pytest.mark.parametrize("method", ["bdf", "radau5"])
def test_reinit_when_an_input_jumps_in_dae_form(method: str) -> None:
    result = load(
        "input Real u; Real x(start = 0, fixed = true), y(start = 0); Integer n(start = 0, fixed = true);\n"
        "equation der(x) = 1; y + 0.1*y^3 = x; when u > 0.5 then reinit(x, 10); n = pre(n) + 1; end when;",
        form="dae",
    ).simulate(2, inputs={"u": PULSE}, points=401, method=method)
    assert result["x"][-1] == pytest.approx(11.5)
    assert result["y"] + 0.1 * result["y"] ** 3 == pytest.approx(result["x"], abs=1e-4)


# ---------------------------------------------------------------------------------------------- outputs


def test_an_event_that_only_outputs_tell_of_has_two_rows() -> None:
    """Every-step mode: a counter that nothing continuous reads jumps, it does not slope over a step."""
    result = load(
        "Real x(start = 0, fixed = true); Integer n(start = 0, fixed = true); Real quiet(start = 0, fixed = true);\n"
        "equation der(x) = cos(time); der(quiet) = 0; when x > 0.5 then n = pre(n) + 1; end when;"
    ).simulate(10, points=None)
    jumps = np.flatnonzero(np.diff(result["n"]) != 0)
    assert len(jumps) == 2
    assert list(np.diff(result.time)[jumps]) == [0, 0]
    # the way back through 0.5 changes nothing that is shown
    assert np.sum(np.diff(result.time) == 0) == 2


def test_the_end_exactly_at_an_event() -> None:
    model = load(
        "Real x(start = 0, fixed = true); Integer n(start = 0, fixed = true); equation der(x) = 1;\n"
        "when sample(0.5, 0.5) then n = pre(n) + 1; reinit(x, 0); end when;"
    )
    for method, step in (
        ("bdf", None),
        ("radau5", None),
        ("dopri5", None),
        ("rk4", 0.03),
        ("euler", 0.01),
        ("lieuler", 0.03),
    ):
        for points in (None, 50):
            result = model.simulate(1.0, method=method, step=step, points=points)
            assert ends(result, "n x") == [2, 0]
            assert result.time[-1] == 1.0


# ------------------------------------------------------------------------------------------------ models


def test_integer_modes_of_friction() -> None:
    """Stick and slip under 2 sin(t), static friction 1.2, sliding 0.8: sliding begins and ends where theory says."""
    result = load(
        """constant Integer Back = -1, Stuck = 0, Forward = 1;
  Integer mode(start = 0, fixed = true);
  Real x(start = 0, fixed = true), v(start = 0, fixed = true), f;
  Boolean go, back, locked;
equation
  der(x) = v; der(v) = if locked then 0 else 2*sin(time) - f;
  go = pre(mode) == Stuck and 2*sin(time) > 1.2;
  back = pre(mode) == Stuck and 2*sin(time) < -1.2;
  locked = not (pre(mode) == Forward or pre(mode) == Back or go or back);
  f = if locked then 2*sin(time) else if go or pre(mode) == Forward then 0.8 else -0.8;
  mode = if (pre(mode) == Forward or go) and v > 0 then Forward
    else if (pre(mode) == Back or back) and v < 0 then Back else Stuck;"""
    ).simulate(6, rtol=1e-9, atol=1e-10, points=6001)
    t0 = math.asin(0.6)
    moving = np.abs(result["v"]) > 1e-6
    assert result.time[np.argmax(moving)] == pytest.approx(t0, abs=2e-3)
    sliding = (result.time > t0) & (result["mode"] == 1)
    t = result.time[sliding]
    v = 2 * (math.cos(t0) - np.cos(t)) - 0.8 * (t - t0)
    assert result["v"][sliding] == pytest.approx(v, abs=1e-6)
    assert v[-1] == pytest.approx(0, abs=5e-3)  # and stops where the closed form does


def test_state_machine_of_an_enumeration() -> None:
    result = load(
        """type S = enumeration(idle, heat, cool);
  S s(start = S.idle, fixed = true); Real T(start = 20, fixed = true);
equation
  der(T) = if s == S.heat then 3 elseif s == S.cool then -4 else -1;
  when pre(s) == S.idle and T < 19 then s = S.heat;
  elsewhen pre(s) == S.heat and T > 22 then s = S.cool;
  elsewhen pre(s) == S.cool and T < 20.5 then s = S.idle;
  end when;"""
    ).simulate(9.5, points=None)
    at = result.time[np.flatnonzero(np.diff(result["s"]))]
    want = 1 + np.cumsum([0, *([1, 0.375, 1.5] * 3)])
    assert at == pytest.approx(want[want < 9.5], abs=1e-6)


def test_buck_converter() -> None:
    """Pulse width by a sampled switch-on time and by mod(time, T): both the product of two matrix exponentials."""
    from scipy.linalg import expm

    common = "parameter Real T = 1e-4, d = 0.4; Real i(start = 0, fixed = true), v(start = 0, fixed = true); Boolean on"
    rest = "1e-3*der(i) = (if on then 12 else 0) - v; 1e-4*der(v) = i - v/5;"
    sampled = f"{common}(start = false); discrete Real t0(start = 0); equation\n"
    sampled += f"when sample(0, T) then t0 = time; end when; on = time < t0 + d*T; {rest}"
    modulo = f"{common}; equation\n on = mod(time, T) < d*T; {rest}"
    a = np.zeros((3, 3))
    a[:2, :2] = [[0, -1e3], [1e4, -2e3]]
    a[0, 2] = 12e3
    period = expm(np.where(a == 12e3, 0, a) * 6e-5) @ expm(a * 4e-5)
    want = np.linalg.matrix_power(period, 50) @ [0, 0, 1]
    for text in (sampled, modulo):
        result = load(text).simulate(5e-3, rtol=1e-9, atol=1e-10)
        assert ends(result, "i v") == pytest.approx(list(want[:2]), abs=1e-6)


def test_moving_floor() -> None:
    """Against SciPy with events."""
    from scipy.integrate import solve_ivp

    result = load(
        """Real h(start = 2, fixed = true), v(start = 0, fixed = true), f, w; Integer n(start = 0, fixed = true);
equation der(h) = v; der(v) = -9.81; f = 0.2*sin(5*time); w = der(f);
  when h <= f then reinit(v, w - 0.7*(pre(v) - w)); n = pre(n) + 1; end when;"""
    ).simulate(2.0, rtol=1e-10, atol=1e-12)
    t, y, n = 0.0, np.array([2.0, 0.0]), 0
    while t < 2:

        def gap(s: float, z: Sequence[float], begin: float = t) -> float:
            return z[0] - 0.2 * math.sin(5 * s) if s > begin + 1e-6 else 1.0

        gap.terminal, gap.direction = True, -1  # type: ignore[attr-defined]
        run = solve_ivp(lambda s, z: [z[1], -9.81], (t, 2), y, events=gap, rtol=1e-12, atol=1e-13, max_step=0.01)
        t, y = run.t[-1], run.y[:, -1].copy()
        if t < 2:
            w = math.cos(5 * t)
            y[1], n = w - 0.7 * (y[1] - w), n + 1
    assert ends(result, "h v n") == pytest.approx([*y, n], abs=1e-6)


def test_vectors_and_components() -> None:
    counter = "model C parameter Real T = 1, t0 = 0; Integer n(start = 0, fixed = true);\n"
    counter += "equation when sample(t0, T) then n = pre(n) + 1; end when; end C;"
    result = load(
        "C c[3](T = {0.1, 0.25, 0.3}, t0 = {0, 0.1, 0.05}); Integer k(start = 0, fixed = true);\n"
        "equation when {time > 0.2, time > 0.4, sample(0.5, 0.25)} then k = pre(k) + 1; end when;",
        counter,
    ).simulate(1.0, points=[0, 0.3, 0.45, 0.5, 1.0])
    assert list(result["c[1].n"]) == [1, 4, 5, 6, 11]
    assert list(result["c[2].n"]) == [0, 1, 2, 2, 4]
    assert list(result["c[3].n"]) == [0, 1, 2, 2, 4]
    assert list(result["k"]) == [0, 1, 2, 3, 5]


def test_matrices_that_are_sampled() -> None:
    result = load(
        "parameter Real A[2, 2] = [1, 0.1; 0, 0.9]; discrete Real P[2, 2](start = [1, 0; 0, 1], each fixed = true);\n"
        "equation when sample(0.1, 0.1) then P = A*pre(P)*transpose(A) + [0.01, 0; 0, 0.01]; end when;"
    ).simulate(1.05)
    a, p = np.array([[1, 0.1], [0, 0.9]]), np.eye(2)
    for _ in range(10):
        p = a @ p @ a.T + 0.01 * np.eye(2)
    assert ends(result, "P[1,1] P[1,2] P[2,2]") == pytest.approx([p[0, 0], p[0, 1], p[1, 1]])


def test_conditions_through_several_rounds() -> None:
    result = load(
        "Boolean a(start = false), b(start = false), c(start = false); Integer n(start = 0, fixed = true);\n"
        "equation a = time > 0.5; b = pre(a); c = pre(b); when c then n = pre(n) + 1; end when;"
    ).simulate(1)
    assert ends(result, "a b c n") == [1, 1, 1, 1]


def test_a_strict_relation_at_the_time_of_a_tick() -> None:
    """`time > 0.5` is false at 0.5, where the clock restarts the solver, and true right behind."""
    model = load(
        "Real x(start = 0, fixed = true), z(start = 0, fixed = true); Integer n(start = 0, fixed = true);\n"
        "discrete Real u(start = 0, fixed = true); equation der(x) = u; der(z) = if time > 1 then 1 else 0;\n"
        "when sample(0, 0.5) then u = pre(u) + 1; end when; when time > 0.5 then n = pre(n) + 1; end when;"
    )
    for method in ("bdf", "dopri5", "radau5"):
        assert ends(model.simulate(2, method=method), "n z") == pytest.approx([1, 1])


def test_pendulum_with_events() -> None:
    """Index 3; every second passage through the vertical is counted, its speed is that of energy conservation."""
    from scipy.special import ellipk

    result = load(
        """Real x(start = 1, fixed = true), y(start = 0), vx(start = 0, fixed = true), vy, s;
  Integer n(start = 0, fixed = true); discrete Real speed(start = 0, fixed = true);
equation der(x) = vx; der(y) = vy; der(vx) = s*x; der(vy) = s*y - 9.81; x^2 + y^2 = 1;
  when x < 0 then n = pre(n) + 1; speed = vx; end when;"""
    ).simulate(10, rtol=1e-9, atol=1e-10)
    period = 4 * ellipk(0.5) / math.sqrt(9.81)
    assert result["n"][-1] == math.floor((10 - period / 4) / period) + 1
    assert result["speed"][-1] == pytest.approx(-math.sqrt(2 * 9.81), abs=1e-4)


def test_operating_points() -> None:
    model = load(
        "input Real u; output Real y; Real x(start = 1, fixed = true); Boolean b(start = true, fixed = true);\n"
        "discrete Real k(start = 3, fixed = true); equation der(x) = -(if b then 2 else 1)*x + k*u; y = x + u;\n"
        "when x < 0.2 then b = false; k = pre(k) + 1; end when;"
    )
    linear = model.linearize()
    assert (linear.A[0, 0], linear.B[0, 0], linear.D[0, 0]) == pytest.approx((-2, 3, 1))
    assert model.steady_state(inputs={"u": 1.0})["x"] == pytest.approx(1.5)


def test_a_sampled_controller_coupled_to_its_plant() -> None:
    plant = load("input Real u; output Real y; Real x(start = 0, fixed = true); equation der(x) = -x + u; y = x;")
    control = load(
        "input Real y; output Real u; discrete Real i(start = 0, fixed = true), v(start = 0, fixed = true);\n"
        "equation when sample(0, 0.1) then i = pre(i) + 0.2*(1 - y); v = i + 2*(1 - y); end when; u = v;"
    )
    coupling = pliant.Coupling()
    coupling.add("p", plant)
    coupling.add("c", control)
    coupling.connect("c.u", "p.u")
    coupling.connect("p.y", "c.y")
    result = coupling.simulate(stop=2.0, step=0.01)
    x = i = 0.0
    for _ in range(20):
        i += 0.2 * (1 - x)
        u = i + 2 * (1 - x)
        x = x * math.exp(-0.1) + u * (1 - math.exp(-0.1))
    assert result["p.y"][-1] == pytest.approx(x, abs=5e-3)


def test_clocked_blocks_that_are_connected() -> None:
    """A connection between clocked variables sets whichever side nothing else sets, in whatever order it is written."""
    blocks = """connector In = input Real; connector Out = output Real;
block Error In r, w; Out y; equation y = r - w; end Error;
block PI In u; Out y; Real x(start = 0); parameter Real k = 2; equation x = previous(x) + 0.2*u; y = k*u + x; end PI;
block Gain In u; Out y; equation -y = 3*u; end Gain;"""
    result = load(
        """Clock c = Clock(0.1); Error e; PI pi; Gain gain; Real x(start = 0, fixed = true), xs, rs, u;
equation
  der(x) = -x + u;
  connect(e.y, pi.u); connect(gain.u, pi.y);
  rs = sample(1 + time, c); xs = sample(x, c);
  e.r = rs; xs = e.w;
  u = -hold(gain.y)/3;""",
        blocks,
    ).simulate(1.0, points=11, rtol=1e-9, atol=1e-10)
    x = i = 0.0
    for row in range(11):
        error = 1 + 0.1 * row - x
        i += 0.2 * error
        u = 2 * error + i
        got = [result[name][row] for name in ("x", "pi.u", "gain.u", "u")]
        assert got == pytest.approx([x, error, u, u], abs=1e-7)
        x = x * math.exp(-0.1) + u * (1 - math.exp(-0.1))


# ------------------------------------------------------------------------------------ time, exactly


@pytest.mark.parametrize("method", ["bdf", "radau5", "dopri5"])
def test_relations_of_time_turn_exactly(method: str) -> None:
    """The solver steps onto their times: a point there shows the new side, strict or not."""
    model = load(
        """Real x(start = 0, fixed = true); Integer n(start = 0, fixed = true), k(start = 0, fixed = true);
  parameter Real p = 0.7; discrete Real next(start = 0.25, fixed = true); Boolean a, b, c;
equation
  der(x) = if time >= 1 then 1 elseif time > 0.5 then 2 else 0; a = time > p; b = time < p; c = time <= p;
  when time >= pre(next) then next = pre(next) + 0.25; n = pre(n) + 1; end when;
  when time > 0.5 then k = pre(k) + 1; end when;"""
    )
    result = model.simulate(1.3, points=[0, 0.25, 0.5, 0.7, 1.0, 1.25], method=method)
    assert list(result["n"]) == [0, 1, 2, 2, 4, 5]
    assert list(result["k"]) == [0, 0, 1, 1, 1, 1]
    assert list(result["a"]) == [0, 0, 0, 1, 1, 1]
    assert list(result["b"]) == list(result["c"]) == [1, 1, 1, 0, 0, 0]
    assert result["x"][-1] == pytest.approx(1.25, abs=1e-7)
    assert [event.time for event in result.events] == [0.25, 0.5, 0.7, 0.75, 1.0, 1.25]
    later = model.simulate(1.3, parameters={"p": 0.2}, points=[0.1, 0.2, 0.3])
    assert list(later["a"]) == [0, 1, 1]


def test_relations_of_time_at_the_start() -> None:
    """`time > 0` becomes true right behind 0, `time >= 0` is true all along, `time > t0` after every tick."""
    result = load(
        """Integer n(start = 0, fixed = true), k(start = 0, fixed = true), j(start = 0, fixed = true);
  discrete Real t0(start = 0, fixed = true);
equation
  when time > 0 then n = pre(n) + 1; end when;
  when time >= 0 then k = pre(k) + 1; end when;
  when sample(0, 0.5) then t0 = time; end when;
  when time > t0 then j = pre(j) + 1; end when;"""
    ).simulate(1.2, points=[0, 0.1, 0.6, 1.1])
    assert list(result["n"]) == [0, 1, 1, 1]
    assert list(result["k"]) == [0, 0, 0, 0]
    assert list(result["j"]) == [0, 1, 2, 3]


@pytest.mark.parametrize("form", ["ode", "dae"])
def test_initial_in_continuous_equations(form: str) -> None:
    """initial() holds while the start is solved, and nowhere else."""
    model = load(
        "Real x, y; equation der(x) = if initial() then x - 3 else -x;\n"
        "y + 0.1*sin(y) = x + (if initial() then 1 else 0);\n"
        "initial equation der(x) = 0;",
        form=form,
    )
    result = model.simulate(1, rtol=1e-8)
    x, y = result["x"], result["y"]
    assert x == pytest.approx(3 * np.exp(-result.time), abs=1e-6)
    assert y + 0.1 * np.sin(y) == pytest.approx(x, abs=1e-6)
    assert model.linearize().A[0, 0] == pytest.approx(-1)


# ---------------------------------------------------------------------------------------- to look at


def test_the_structure_tells_of_events(tmp_path) -> None:  # type: ignore[no-untyped-def]
    found = pliant.inspect(
        """
model M
  parameter Real Ts = 0.1; Real x(start = 0, fixed = true);
  discrete Real u(start = 0, fixed = true); Boolean on(start = true, fixed = true), high;
equation
  der(x) = u + floor(x);
  high = x > 2;
  on = x < 1 or pre(on) and x < 2;
  when sample(0.05, Ts) then
    u = pre(u) + 1;
  elsewhen x > 5 then
    u = 0;
  end when;
  when x > 3 then
    reinit(x, 0);
  end when;
  when x > 30 then
    terminate("full");
  end when;
end M;
"""
    )
    assert [(one.name, one.changes) for one in found.discrete] == [
        ("u", "when x > 5, at ticks of clock 1"),
        ("on", "on = x < 1 or pre(on) and x < 2"),
    ]
    (clock,) = found.clocks
    assert (clock.number, clock.first, clock.interval, clock.span.line) == (1, 0.05, 0.1, 9)
    assert [(one.kind, one.variable, one.message, one.when) for one in found.actions] == [
        ("reset", "x", "", "when x > 3"),
        ("stop", "", "full", "when x > 30"),
    ]
    told = str(found)
    assert "clock 1  every 0.1 from t = 0.05  model.mo:9" in told
    assert "resets x  when x > 3  model.mo:15" in told
    assert [len(found.as_dict()[key]) for key in ("discrete", "clocks", "actions")] == [2, 1, 2]
    page = found.write_page(tmp_path / "m.html").read_text()
    assert "clock 1  every 0.1" in page
    assert "What else the model does at events" in page


def test_start_values_of_discrete_variables() -> None:
    model = load(
        """parameter Integer first = 3; Real x(start = 0, fixed = true); Integer n(start = first, fixed = true), twice;
  Boolean b(start = false, fixed = true); discrete Real d;
initial equation d = 5;
equation
  der(x) = n; b = x > 100 or pre(b); twice = 2*n;
  when sample(0.5, 1) then n = pre(n) + 1; d = pre(d) + n; end when;"""
    )
    assert ends(model.simulate(1), "n b d") == [4, 0, 9]
    assert ends(model.simulate(1, parameters={"first": 7}), "n b d") == [8, 0, 13]
    result = model.simulate(1, start_values={"n": 10, "b": True, "d": 1.5})
    assert ends(result, "n b d x") == pytest.approx([11, 1, 12.5, 10.5])
    with pytest.raises(pliant.ArgumentError, match=r"n cannot be 1\.5"):
        model.simulate(1, start_values={"n": 1.5})
    with pytest.raises(pliant.ArgumentError, match="twice is no state"):
        model.simulate(1, start_values={"twice": 2})


def test_a_when_clause_that_is_lost_is_told() -> None:
    """rumoca drops when-clauses inside if-equations: that must not become a result."""
    text = (
        "model M\nparameter Boolean fast = true; Integer n(start = 0, fixed = true);\n"
        "equation if fast then when sample(0, 0.1) then n = pre(n) + 1; end when;\n"
        "else when sample(0, 0.5) then n = pre(n) + 1; end when; end if;\nend M;"
    )
    assert pliant.load(text, frontend="pliant").simulate(1)["n"][-1] == 11
    model = pliant.load(text, frontend="rumoca")
    with pytest.raises(pliant.NotSupportedError, match="nothing sets the discrete variable n"):
        model.simulate(1)
    assert model.structure.refusals
