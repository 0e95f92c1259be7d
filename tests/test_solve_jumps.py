"""Input jumps: BDF corrects its history instead of beginning anew."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import pliant
from pliant.solve.binding import runtime

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
import jumps as cases

TANK = """
model Tank
  input Real u;
  Real x(start = 1, fixed = true), y(start = 0, fixed = true);
equation
  der(x) = -x^3 + u;
  der(y) = x*u - 20*y;
end Tank;
"""


@pytest.fixture(scope="module")
def tank() -> pliant.Model:
    return pliant.load(TANK)


def simulate(model: pliant.Model, inputs: dict, how: str, tolerance: float = 1e-6, stop: float = 2.0) -> pliant.Result:
    return model.simulate(
        stop=stop, method="bdf", rtol=tolerance, atol=tolerance, inputs=inputs, options={"at_jump": how}
    )


# ------------------------------------------------------------------------------------------------- figures


def test_restart_takes_the_steps_of_cvode() -> None:
    """588 / 838, 1288 / 1950, 595 / 941 steps / evaluations of CVODE 6.4.1."""
    for case, steps in ((cases.spring(), 588), (cases.pendulum(), 1288), (cases.pendulum(10.0, 5.0), 595)):
        assert cases.run(case, "restart").steps == pytest.approx(steps, rel=0.02)


@pytest.mark.parametrize(
    ("make", "bar"),
    [(cases.spring, 0.37), (cases.pendulum, 0.45), (lambda: cases.pendulum(10.0, 5.0), 0.33)],
    ids=["E1", "E2", "E2b"],
)
def test_correction_against_restart(make, bar: float) -> None:
    case = make()
    reference = cases.accurate(case)
    restart, correct = cases.run(case, "restart", reference=reference), cases.run(case, "correct", reference=reference)
    assert correct.total <= bar * restart.total
    assert correct.error <= 3 * restart.error
    if bar != 0.45:
        assert correct.high_order >= 0.945


def test_correction_hardly_takes_more_steps_than_without_jumps() -> None:
    assert cases.run(cases.spring(), "correct").steps <= 1.10 * cases.smooth_steps()


@pytest.mark.parametrize("seed", [0, 3, 7])
def test_random_relatives(seed: int) -> None:
    for case in (cases.spring(seed=seed), cases.pendulum(seed=seed)):
        assert cases.run(case, "correct").total <= 0.6 * cases.run(case, "restart").total


def test_stiff_cases_never_lose() -> None:
    for case in cases.stiff_cases()[::3]:
        assert cases.run(case, "correct").total <= 1.05 * cases.run(case, "restart").total, case.name


def test_short_pieces_take_cheap_corrections() -> None:
    for case in (cases.spring(400), cases.pendulum(10.0, 5.0, 400)):
        found = {how: cases.run(case, how).total for how in ("x1", "x2", "correct")}
        assert found["correct"] <= 1.1 * min(found["x1"], found["x2"])


@pytest.mark.parametrize("tolerance", [1e-3, 1e-8, 1e-10])
def test_tolerances(tolerance: float) -> None:
    for case in (cases.spring(), cases.pendulum(10.0, 5.0)):
        reference = cases.accurate(case)
        row = cases.run(case, "correct", tolerance, reference)
        assert row.error <= 3e4 * tolerance + 1e-9
        assert row.total < cases.run(case, "restart", tolerance).total


def test_wheel_with_37_inputs() -> None:
    case = cases.wheel()
    assert cases.run(case, "correct").total <= 0.45 * cases.run(case, "restart").total


# --------------------------------------------------------------------------------------------- correctness


@pytest.mark.parametrize("how", ["restart", "x1", "x2", "correct"])
@pytest.mark.parametrize("degree", [0, 1, 2])
def test_all_strategies_give_the_solution(tank: pliant.Model, how: str, degree: int) -> None:
    rng = np.random.default_rng(degree)
    coefficients = rng.uniform(0.2, 1.5, (12, 1)) * np.array([[1.0, 3.0, -8.0][: degree + 1]])
    inputs = {"u": pliant.Segments(np.arange(12) / 6, coefficients)}
    exact = tank.simulate(stop=2.0, method="radau5", rtol=1e-11, atol=1e-12, inputs=inputs)
    result = simulate(tank, inputs, how)
    assert np.abs(result["x"] - exact["x"]).max() < 2e-5
    assert np.abs(result["y"] - exact["y"]).max() < 2e-5


def test_models_without_series_and_directional_derivatives() -> None:
    """A C file with f alone: differences of f take their place."""
    model = pliant.load(Path(__file__).parents[1] / "examples" / "rc_input.c")
    name = model._numeric.names.u[0]
    times = np.linspace(0, 2, 21)
    inputs = {name: cases.pieces(times, np.sin(7 * times[:-1]))}
    exact = model.simulate(stop=2.0, method="radau5", rtol=1e-11, atol=1e-12, inputs=inputs)
    restart, correct = simulate(model, inputs, "restart"), simulate(model, inputs, "correct")
    state = model._numeric.names.x[0]
    assert np.abs(correct[state] - exact[state]).max() < 1e-5
    assert correct.stats.n_steps < restart.stats.n_steps


def test_a_jump_of_nothing_changes_nothing(tank: pliant.Model) -> None:
    """Bit for bit the same as proceeding."""
    assert np.array_equal(cases.rows_of(tank, "correct"), cases.rows_of(tank, "proceed"))
    assert not np.array_equal(cases.rows_of(tank, "correct"), cases.rows_of(tank, "restart"))
    assert cases.nothing_happens()


def test_relations_and_events_at_a_jump() -> None:
    model = pliant.load("""
    model Gate
      input Real u;
      Real x(start = 0, fixed = true);
      Integer crossings;
    equation
      der(x) = if u > 0.5 then 1 - x else -2*x;
      crossings = if x > 0.3 then 1 else 0;
    end Gate;
    """)
    times = np.arange(9) / 4
    inputs = {"u": cases.pieces(times, np.array([0.0, 1.0, 0.0, 1.0, 1.0, 0.0, 0.2, 0.9]))}
    exact = model.simulate(stop=2.0, method="radau5", rtol=1e-10, atol=1e-12, inputs=inputs)
    for how in ("restart", "correct"):
        result = simulate(model, inputs, how)
        assert np.abs(result["x"] - exact["x"]).max() < 1e-5
        assert len(result.events) == len(exact.events)


def test_dae_form_solves_its_algebraic_unknowns_first() -> None:
    text = """
    model Loop
      input Real u;
      Real x(start = 0, fixed = true), w(start = 0, fixed = true), y, z;
    equation
      der(x) = y - x;
      der(w) = -30*w + y*z;
      y + 0.1*y^3 = z + u;
      z = 0.5*y - 0.1*x + 0.05*sin(y + w);
    end Loop;
    """
    times = np.linspace(0, 2, 21)
    inputs = {"u": cases.pieces(times, np.sin(5 * times[:-1]), 2 * np.cos(5 * times[:-1]))}
    exact = pliant.load(text).simulate(stop=2.0, rtol=1e-11, atol=1e-12, method="radau5", inputs=inputs)
    model = pliant.load(text, options={"form": "dae"})
    assert model._numeric.names.algebraic
    restart, correct = simulate(model, inputs, "restart"), simulate(model, inputs, "correct")
    for name in ("x", "w", "y", "z"):
        assert np.abs(correct[name] - exact[name]).max() < 1e-5
    assert cases.total(correct.stats) < 0.7 * cases.total(restart.stats)
    assert simulate(model, inputs, "x2").stats.n_steps == restart.stats.n_steps  # cheap corrections are for ode form


def test_inputs_that_no_state_depends_on_cost_nothing() -> None:
    model = pliant.load("""
    model Shown
      input Real u, offset;
      Real x(start = 1, fixed = true);
      output Real y;
    equation
      der(x) = -x^2 + u;
      y = x + offset;
    end Shown;
    """)
    times = np.linspace(0, 2, 21)
    inputs = {"u": 0.5, "offset": cases.pieces(times, np.sin(5 * times[:-1]))}
    correct, proceed = simulate(model, inputs, "correct"), simulate(model, inputs, "proceed")
    assert cases.total(correct.stats) == cases.total(proceed.stats)
    assert correct["y"] == pytest.approx(correct["x"] + correct["offset"], abs=1e-12)
    assert cases.total(correct.stats) < 0.5 * cases.total(simulate(model, inputs, "restart").stats)


def test_series_are_compiled_once_and_start_values_are_told(tank: pliant.Model) -> None:
    inputs = {"u": pliant.Segments(np.arange(12) / 6, np.linspace(0.1, 1, 12)[:, None])}
    result = simulate(tank, inputs, "correct")
    assert result.stats.n_taylor > 0
    assert result.start is not None
    assert simulate(tank, inputs, "x2").stats.n_taylor == 0


def test_segments_as_inputs(tank: pliant.Model) -> None:
    segments = pliant.Segments([0.0, 0.5, 1.5], [[1.0, 2.0, 0.0], [2.0, 0.0, 1.0], [3.0, -1.0, 0.5]])
    result = tank.simulate(stop=2.0, inputs={"u": segments}, points=[0.0, 0.25, 0.75, 1.75, 2.0])
    assert result["u"] == pytest.approx([1.0, 1.5, 2.0625, 3.0 - 0.25 + 0.5 * 0.0625, 3.0 - 0.5 + 0.125])
    smooth = pliant.Segments([0.0, 1.0], [[0.0, 2.0], [2.0, 2.0]])  # goes on: not a jump
    assert tank.simulate(stop=2.0, inputs={"u": smooth}).stats.n_jac < 5
    for wrong in (([0.0, 0.0], [[1.0], [2.0]]), ([0.0], [1.0]), ([0.0], [[np.nan]]), ("a", [[1.0]])):
        with pytest.raises(pliant.ArgumentError, match="Segments"):
            pliant.Segments(*wrong)


def test_unknown_strategies_are_refused(tank: pliant.Model) -> None:
    with pytest.raises(pliant.ArgumentError, match="at_jump"):
        simulate(tank, {"u": 1.0}, "jump")
    assert set(runtime.AT_JUMP) == {"restart", "proceed", "x1", "x2", "correct"}


def test_inputs_and_methods_of_the_wrong_kind(tank: pliant.Model) -> None:
    with pytest.raises(pliant.ArgumentError, match="inputs must be a mapping"):
        tank.simulate(stop=1.0, inputs=5)  # type: ignore[arg-type]
    with pytest.raises(pliant.ArgumentError, match="method"):
        tank.simulate(stop=1.0, method=["bdf"])  # type: ignore[arg-type]


def test_a_derivative_that_does_not_exist_at_a_jump_leads_to_a_restart() -> None:
    """x'' is infinite where the input reaches zero: f is fine, its derivatives are not."""
    model = pliant.load("""
    model Root
      input Real u;
      Real x(start = 1, fixed = true);
    equation
      der(x) = sqrt(u) - x;
    end Root;
    """)
    times = np.linspace(0, 2, 9)
    inputs = {"u": cases.pieces(times, np.array([1.0, 0.0, 2.0, 0.0, 1.0, 0.0, 3.0, 1.0]), np.full(8, 0.5))}
    exact = model.simulate(stop=2.0, method="radau5", rtol=1e-10, atol=1e-12, inputs=inputs)
    for how in ("x2", "correct"):
        assert np.abs(simulate(model, inputs, how)["x"] - exact["x"]).max() < 1e-4
