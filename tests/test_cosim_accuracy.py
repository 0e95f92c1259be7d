"""Couplings against the whole system: order in the macro step, schemes, no restarts, given inputs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from support_cosim import EXAMPLES, example, spring_damper, spring_error, text_model

import pliant
from pliant.cosim.compare import compare, table, total
from pliant.cosim.system import read_system

TIGHT = {"rtol": 1e-10, "atol": 1e-10}


def error_of(n: int, **arguments: Any) -> float:
    return spring_error(spring_damper().simulate(stop=1, step=1 / n, **TIGHT, **arguments))


@pytest.mark.parametrize("scheme", ["jacobi", "gauss-seidel"])
@pytest.mark.parametrize("degree", [0, 1, 2])
def test_order_in_the_macro_step(degree: int, scheme: str) -> None:
    errors = [error_of(n, extrapolation=degree, scheme=scheme) for n in (160, 320, 640)]
    orders = np.log2(np.array(errors[:-1]) / np.array(errors[1:]))
    assert np.all(np.abs(orders - (degree + 1)) < 0.35), (errors, orders)


@pytest.mark.parametrize("degree", [0, 1])
def test_smooth_inputs_converge_too(degree: int) -> None:
    errors = [error_of(n, extrapolation=degree, smooth=True) for n in (160, 320)]
    assert np.log2(errors[0] / errors[1]) > degree + 0.6


def test_gauss_seidel_is_more_accurate_than_jacobi() -> None:
    assert error_of(100, scheme="gauss-seidel") < 0.8 * error_of(100, scheme="jacobi")


def test_order_of_gauss_seidel_matters_and_is_checked() -> None:
    coupling = spring_damper()
    first = coupling.simulate(stop=1, step=0.02, scheme="gauss-seidel")
    second = coupling.simulate(stop=1, step=0.02, scheme="gauss-seidel", order=["right", "left"])
    assert first["left.x"][-1] != second["left.x"][-1]
    assert first["left.x"][-1] == pytest.approx(second["left.x"][-1], abs=0.2)
    with pytest.raises(pliant.ArgumentError, match="every part once"):
        coupling.simulate(stop=1, step=0.02, scheme="gauss-seidel", order=["left"])


def test_pendula_meet_the_whole_system() -> None:
    """Against SciPy, with the equations written down again."""

    def f(t: float, z: Any) -> list[float]:
        a, p, b, q = z
        dx, dy = 1 + np.sin(b) - np.sin(a), np.cos(a) - np.cos(b)
        d = np.hypot(dx, dy)
        pull, lift = 10 * (d - 1) * dx / d, 10 * (d - 1) * dy / d
        push = 5 * np.sin(2 * np.pi * t)
        return [
            p,
            (-9.81 + lift) * np.sin(a) + (push + pull) * np.cos(a),
            q,
            (-9.81 - lift) * np.sin(b) + (push - pull) * np.cos(b),
        ]

    exact = solve_ivp(f, (0, 2), [np.pi / 4, 0, -np.pi / 6, 0], rtol=1e-11, atol=1e-11, method="DOP853").y[:, -1]
    whole = example("pendula").simulate(stop=2, rtol=1e-9)
    names = ("theta1", "omega1", "theta2", "omega2")
    assert [whole[name][-1] for name in names] == pytest.approx(exact, abs=1e-6)
    system = read_system(EXAMPLES / "pendula.toml", pliant.load)
    errors = []
    for step in (0.01, 0.005):
        result = system.coupling.simulate(**{**system.arguments, "step": step, "rtol": 1e-9, "atol": 1e-9})
        found = [result[name][-1] for name in ("first.theta", "first.omega", "second.theta", "second.omega")]
        errors.append(float(np.abs(np.array(found) - exact).max()))
    assert errors[1] < 1e-4
    assert errors[0] / errors[1] > 6  # third order


def test_stiff_drive_meets_the_whole_system() -> None:
    system = read_system(EXAMPLES / "drive.toml", pliant.load)
    whole = example("drive").simulate(stop=0.9, rtol=1e-8)
    result = system.coupling.simulate(**{**system.arguments, "stop": 0.9})
    for name in ("motor.w", "motor.i", "controller.sw"):
        scale = np.abs(whole[name.split(".")[1]]).max()
        assert result[name][-1] == pytest.approx(whole[name.split(".")[1]][-1], abs=1e-3 * scale)


# --------------------------------------------------------------------------------------------- the solvers go on


def test_nothing_restarts_between_macro_steps() -> None:
    result = spring_damper().simulate(stop=2, step=0.02, rtol=1e-6, atol=1e-6)
    for part in result.parts.values():
        assert part.steps is not None
        late = part.steps["time"] > 0.1
        share = part.steps["h"][late][part.steps["order"][late] >= 4].sum() / part.steps["h"][late].sum()
        assert share > 0.9
        assert part.stats.n_jac < 20  # a restart needs one for each of 100 macro steps
    restarted = spring_damper().simulate(stop=2, step=0.02, rtol=1e-6, atol=1e-6, at_jump="restart")
    assert min(part.stats.n_jac for part in restarted.parts.values()) >= 99


def test_closed_loop_costs_a_fifth_of_restarting() -> None:
    """The bar: two parts, 100 macro steps, at most .22 of the evaluations at the same error.

    Counters depend on rounding: geometric mean over slightly changed tolerances.
    """
    shares = []
    for factor in (0.8, 0.9, 1.0, 1.1, 1.25):
        arguments = {"stop": 2, "step": 0.02, "rtol": factor * 1e-6, "atol": factor * 1e-6}
        restart, x1, x2, correct = compare(spring_damper(), ("restart", "x1", "x2", "correct"), **arguments)
        assert correct.total < min(x1.total, x2.total)
        assert correct.result is not None
        assert restart.result is not None
        assert spring_error(correct.result) <= 1.05 * spring_error(restart.result)
        shares.append(correct.total / restart.total)
    assert np.exp(np.mean(np.log(shares))) <= 0.22, shares


def test_table_of_strategies() -> None:
    trials = compare(spring_damper(), ("restart", "correct"), stop=0.2, step=0.02)
    head, first, second = table(trials)
    assert len(head) == len(first) == len(second)
    assert first[head.index("of restart")] == "1.00"
    assert int(second[head.index("total")]) == total(trials[1].stats)


# --------------------------------------------------------------------------------------------------- given inputs

FOLLOWER = """
model Follower
  input Real u;
  Real x(start = 0, fixed = true);
equation
  der(x) = u;
end Follower;
"""


def test_numbers_functions_and_tables_as_inputs() -> None:
    coupling = pliant.Coupling()
    for name in ("number", "function", "table"):
        coupling.add(name, text_model(FOLLOWER))
    jump = ([0.0, 0.33, 0.33, 2.0], [1.0, 1.0, -2.0, -2.0])  # inside a macro step
    result = coupling.simulate(
        stop=1, step=0.1, rtol=1e-9, inputs={"number.u": 3.0, "function.u": np.cos, "table.u": jump}
    )
    assert result["number.x"] == pytest.approx(3 * result.time, abs=1e-7)
    assert result["function.x"] == pytest.approx(np.sin(result.time), abs=1e-6)
    exact = np.where(result.time < 0.33, result.time, 0.33 - 2 * (result.time - 0.33))
    assert result["table.x"] == pytest.approx(exact, abs=1e-7)
    assert result["function.u"] == pytest.approx(np.cos(result.time))


def test_parameters_and_start_values_by_part() -> None:
    coupling = spring_damper(parameters={"k2": 20.0})
    result = coupling.simulate(
        stop=0.1, step=0.05, parameters={"left.m1": 2.0}, start_values={"left.x": 3.0, "right.x": -1.0}
    )
    assert (result["left.m1"][0], result["right.m2"][0], result["left.k2"][0]) == (2.0, 1.0, 20.0)
    assert (result["left.x"][0], result["right.x"][0]) == (3.0, -1.0)
    assert result["left.x2"][0] == -1.0


def test_other_methods_and_dae_form_work() -> None:
    """They begin anew at communication points by themselves."""
    exact = spring_damper().simulate(stop=1, step=0.01, rtol=1e-8)["left.x"][-1]
    for options in ({"method": "radau5"}, {"method": "dopri5"}, {"method": "auto"}):
        found = spring_damper(**options).simulate(stop=1, step=0.01, rtol=1e-8)["left.x"][-1]
        assert found == pytest.approx(exact, abs=1e-5)


DAE = """
model Loop
  input Real u;
  Real x(start = 1, fixed = true);
  Real a(start = 0), b(start = 0);
equation
  der(x) = -a;
  a + 0.3*sin(b) = x + 0.5*u;
  b + 0.2*a*a = x;
end Loop;
"""


def test_algebraic_unknowns_follow_the_inputs() -> None:
    """A source that is an algebraic unknown of the dae form is solved with the new inputs at the point."""
    results = []
    for form in ("ode", "dae"):
        coupling = pliant.Coupling()
        coupling.add("one", pliant.load(DAE, options={"form": form}))
        coupling.add("two", pliant.load(DAE, options={"form": form}), start_values={"x": 0.5})
        coupling.connect("one.a", "two.u")
        coupling.connect("two.a", "one.u")
        assert len(coupling.loops) == 1
        results.append(coupling.simulate(stop=1, step=0.02, extrapolation=2, rtol=1e-9, atol=1e-9))
    ode, dae = results
    for name in ("one.x", "one.a", "two.b"):
        assert dae[name] == pytest.approx(ode[name], abs=1e-6)
    assert dae["one.u"] == pytest.approx(dae["two.a"], abs=1e-9)
    assert dae["one.a"] + 0.3 * np.sin(dae["one.b"]) == pytest.approx(dae["one.x"] + 0.5 * dae["one.u"], abs=1e-8)
