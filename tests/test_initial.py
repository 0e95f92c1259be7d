"""Start values of Modelica models: initial equations, fixed variables, homotopy, parameters to be found, errors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from support_modelica import check_run, model_of, text_of

import pliant


def begin(body: str, **options: Any) -> pliant.Result:
    return model_of(body, **options).simulate(stop=1e-6, points=2)


# ---------------------------------------------------------------------------------------- conditions that fit


def test_fixed_states() -> None:
    result = begin("  Real x(start = 2, fixed = true), y(start = 3);\nequation\n  der(x) = -y; der(y) = x;")
    assert (result["x"][0], result["y"][0]) == (2.0, 3.0)


def test_fixed_algebraic_variables_determine_states() -> None:
    """y = 8 is fixed and y = x^3: x = 2."""
    body = "  Real x(start = 1), y(start = 8, fixed = true);\nequation\n  der(x) = -x; y = x^3;"
    for form in ("ode", "dae"):
        assert begin(body, form=form)["x"][0] == pytest.approx(2.0, abs=1e-9)
    check_run(body, 1.0)


def test_fixed_derivative() -> None:
    body = "  Real x(start = 1), v(start = -6, fixed = true);\nequation\n  der(x) = v; v = -3*x;"
    assert begin(body)["x"][0] == pytest.approx(2.0)


@pytest.mark.parametrize("form", ["ode", "dae"])
def test_steady_state_at_the_start(form: str) -> None:
    body = """  parameter Real a = 2;
  Real x(start = 1), y(start = 1), z;
initial equation
  der(x) = 0; der(y) = 0;
equation
  der(x) = a - x*y + 0*z; der(y) = x - y^2; z + 0.1*z^3 = x;"""
    model = model_of(body, form=form)
    result = model.simulate(stop=1, rtol=1e-9)
    assert result["x"] == pytest.approx(2 ** (2 / 3) * np.ones(500), abs=1e-7)
    other = model.simulate(stop=1, parameters={"a": 5})
    assert other["y"][0] == pytest.approx(5 ** (1 / 3), abs=1e-8)


def test_implicit_initial_equations() -> None:
    """x + y = 3, x - y = 1, with y a state as well."""
    body = """  Real x(start = 0.3), y(start = 0.1);
initial equation
  x + y = 3; x^2 - y = 3;
equation
  der(x) = -x; der(y) = -y;"""
    result = begin(body)
    x, y = result["x"][0], result["y"][0]
    assert x + y == pytest.approx(3)
    assert x * x - y == pytest.approx(3)


def test_missing_conditions_leave_the_start_values() -> None:
    body = """  Real x(start = 5), y(start = 7), z(start = 9);
initial equation
  x = 2*y;
equation
  der(x) = -x; der(y) = -y; der(z) = -z;"""
    model = model_of(body)
    result = model.simulate(stop=1e-6)
    assert result["x"][0] == pytest.approx(2 * result["y"][0])
    assert result["z"][0] == 9
    found = result.start
    assert found is not None
    assert {"x", "y"} <= set(found.undetermined)


def test_redundant_conditions_that_agree() -> None:
    body = """  Real x(start = 1, fixed = true), y(start = 2, fixed = true), z;
initial equation
  z = 3; x + y = 3;
equation
  der(x) = -x; y = 2*x; z = x + y;"""
    model = model_of(body)
    result = model.simulate(stop=1e-6)
    assert (result["x"][0], result["y"][0], result["z"][0]) == (1.0, 2.0, 3.0)
    assert result.start is not None
    assert len(result.start.redundant) == 3
    assert any("z = 3" in told for told in result.start.redundant)
    assert result.start.undetermined == []


def test_states_without_any_condition_are_named() -> None:
    model = model_of("  Real x(start = 1), y(start = 2, fixed = true);\nequation\n  der(x) = -x; der(y) = -y;")
    result = model.simulate(stop=1e-6)
    assert result.start is not None
    assert model.last_start is result.start
    assert result.start.undetermined == ["x"]


def test_a_parameter_found_at_the_start_cannot_be_set() -> None:
    body = """  parameter Real p(fixed = false);
  Real x(start = 1, fixed = true);
initial equation
  p = 2*x;
equation
  der(x) = -p*x;"""
    with pytest.raises(pliant.ArgumentError, match="fixed = false"):
        model_of(body).simulate(stop=1, parameters={"p": 3.0})


def test_fixed_start_that_depends_on_parameters() -> None:
    body = """  parameter Real p = 2;
  parameter Real q = p + 1;
  Real x(start = 3*q, fixed = true), y(start = p, fixed = true), z(start = 1);
equation
  der(x) = -x + z; y = z^3; der(z) = -z;"""
    model = model_of(body)
    for p in (2.0, 8.0):
        result = model.simulate(stop=1e-6, parameters={"p": p})
        assert (result["q"][0], result["x"][0]) == (p + 1, 3 * p + 3)
        assert result["z"][0] == pytest.approx(p ** (1 / 3))


def test_start_of_an_alias_with_its_sign() -> None:
    body = "  Real x, y(start = 4, fixed = true), z(start = 1);\nequation\n  y = -x; der(x) = -x; z = x;"
    result = begin(body)
    assert (result["x"][0], result["z"][0]) == (-4.0, -4.0)


def test_start_values_argument() -> None:
    body = "  Real x(start = 1, fixed = true), y, z;\nequation\n  der(x) = -x; y = -x; z = 2*x;"
    model = model_of(body)
    assert model.simulate(stop=1, start_values={"x": 3})["z"][0] == 6
    assert model.simulate(stop=1, start_values={"y": 3})["x"][0] == -3
    with pytest.raises(pliant.ArgumentError, match="z is no state"):
        model.simulate(stop=1, start_values={"z": 3})
    with pytest.raises(pliant.UnknownNameError, match="'w'"):
        model.simulate(stop=1, start_values={"w": 3})
    with pytest.raises(pliant.PliantError):
        model.simulate(stop=1, start_values={"x": 2, "y": 3})


# ------------------------------------------------------------------------------------- conditions that do not


def test_contradictory_conditions_are_ranked() -> None:
    body = """  Real x(start = 1, fixed = true), y(start = 3, fixed = true), z(start = 100, fixed = true);
equation
  der(x) = -x; y = 2*x; z = 4*x;"""
    with pytest.raises(pliant.InitialValueError) as caught:
        begin(body)
    words = str(caught.value)
    assert "y = 3 (fixed)" in words
    assert "z = 100 (fixed)" in words
    assert words.index("z = 100") < words.index("y = 3")
    assert "model.mo:2" in words


def test_contradictory_initial_equations_name_their_lines() -> None:
    body = """  Real x(start = 1);
initial equation
  x = 1;
  x = 2;
equation
  der(x) = -x;"""
    with pytest.raises(pliant.InitialValueError, match=r"x = [12]\s+model\.mo:[45]"):
        begin(body)


@pytest.mark.parametrize("sign", ["", "-"])
def test_fixed_aliases_that_contradict(sign: str) -> None:
    literal = f"  Real x(start = 1, fixed = true), y(start = 2, fixed = true);\nequation\n  der(x) = -x; y = {sign}x;"
    with pytest.raises(pliant.InitialValueError, match="y"):
        begin(literal)
    by_parameter = f"""  parameter Real a = 1, b = 2;
  Real x(start = a, fixed = true), y(start = b, fixed = true);
equation
  der(x) = -x; y = {sign}x;"""
    with pytest.raises(pliant.InitialValueError):
        begin(by_parameter)
    agreeing = model_of(by_parameter).simulate(stop=1, parameters={"b": -1.0 if sign else 1.0})
    assert agreeing["x"][0] == 1


def test_no_solution() -> None:
    with pytest.raises(pliant.InitialValueError) as caught:
        begin("  Real x(start = 1, fixed = true), y(start = 1);\nequation\n  der(x) = -y; y^2 + x = 0;")
    assert "equation for y (model.mo:4)" in str(caught.value)


def test_start_outside_its_range() -> None:
    with pytest.raises(pliant.ModelError, match=r"start = 5 of `x` is outside its range 0 \.\. 1"):
        pliant.load(text_of("  Real x(start = 5, min = 0, max = 1, fixed = true);\nequation\n  der(x) = -x;"))
    model = model_of("  Real x(start = 0.5, min = 0, max = 1, fixed = true);\nequation\n  der(x) = -x;")
    with pytest.raises(pliant.InitialValueError, match="-5 of x"):
        model.simulate(stop=1, start_values={"x": -5})


def test_pendulum_with_impossible_start() -> None:
    body = """  Real x(start = 2, fixed = true), y, vx(start = 0, fixed = true), vy, F;
equation
  der(x) = vx; der(y) = vy; der(vx) = -F*x; der(vy) = -F*y - 9.81; x^2 + y^2 = 1;"""
    with pytest.raises(pliant.InitialValueError, match=r"x = 2 \(fixed\)"):
        begin(body)


# ------------------------------------------------------------------------------------------ nonlinear loops


@pytest.mark.parametrize(("start", "root"), [(1.2, 1.0), (-1.2, -1.0), (0.1, 0.0)])
@pytest.mark.parametrize("needed", [True, False])
def test_the_start_value_decides_among_solutions(start: float, root: float, needed: bool) -> None:
    """y^3 - y = 0 has three solutions; it does not matter whether a derivative needs y."""
    body = f"""  Real x(start = 0, fixed = true), y(start = {start});
equation
  der(x) = 1 {"+ 0.001*y" if needed else ""}; y^3 - y = 0.01*x;"""
    result = model_of(body).simulate(stop=1, rtol=1e-9)
    assert result["y"][0] == pytest.approx(root, abs=1e-9)
    assert result["y"][-1] == pytest.approx(root, abs=0.02)  # and it is followed


def test_a_model_without_states() -> None:
    result = model_of("  Real x(start = 1);\nequation\n  x^3 = 2 + sin(time);").simulate(stop=1)
    assert result["x"] == pytest.approx((2 + np.sin(result.time)) ** (1 / 3), abs=1e-9)


def test_far_guess_converges_by_damping() -> None:
    body = "  Real x(start = 1, fixed = true), y(start = 20);\nequation\n  der(x) = -y; exp(y) + y = 1 + x;"
    y = begin(body)["y"][0]
    assert math.exp(y) + y == pytest.approx(2)


def test_conditions_that_move_a_bad_guess() -> None:
    """x0 is free; at its guess the equation for z has no solution, at the fixed z it has."""
    body = """  Real x0(start = 0.86, stateSelect = StateSelect.prefer), F;
  Real x1(start = 1.39, fixed = true, stateSelect = StateSelect.prefer), z(start = 0.96, fixed = true);
equation
  der(z) = -z; der(x0) = -x0 + F; x0 = 1.69*x1 + 0.3*tanh(z); der(x1) = -x1;"""
    assert begin(body)["x0"][0] == pytest.approx(1.69 * 1.39 + 0.3 * math.tanh(0.96))


# --------------------------------------------------------------------------------------------------- homotopy


def test_homotopy_leads_to_the_solution() -> None:
    """From y = -2 Newton for atan(y) = 0 diverges; the simplified model knows better."""
    body = """  Real x(start = 1, fixed = true), y(start = -30);
equation
  der(x) = -x + y; homotopy(log(y) + y^3, y - 1) = 1;"""
    model = model_of(body)
    result = model.simulate(stop=1e-6)
    assert math.log(result["y"][0]) + result["y"][0] ** 3 == pytest.approx(1.0)
    found = result.start
    assert found is not None
    assert found.homotopy_steps > 0


def test_homotopy_chooses_among_solutions() -> None:
    """y = 2 is next to the guess, but the path from the simplified model ends at y = -2: the model means that one."""
    body = """  Real x(start = 1, fixed = true), y(start = 1.9);
equation
  der(x) = -x; homotopy(y^2, -3*y) = 4*x;"""
    result = check_run(body, 1.0)
    assert result["y"] == pytest.approx(-2.0 * np.sqrt(result["x"]), rel=1e-8)
    found = result.start
    assert found is not None
    assert found.homotopy_steps > 0


def test_homotopy_without_a_path_leaves_the_guess() -> None:
    """The simplified model has no solution: the actual one counts, from its own guesses and parameters."""
    body = """  parameter Real p(fixed = false, start = 3);
  Real x(start = 1, fixed = true), y(start = 1.9);
initial equation
  p*p = 9*x;
equation
  der(x) = -x; homotopy(y^2, -1 - y^2) = 4*x;"""
    result = check_run(body, 1.0)
    assert result["y"] == pytest.approx(2.0 * np.sqrt(result["x"]), rel=1e-8)
    assert result["p"][0] == pytest.approx(3.0)
    found = result.start
    assert found is not None
    assert found.homotopy_steps == 0


# --------------------------------------------------------------------------------- parameters with fixed=false


def test_parameter_found_from_an_initial_equation() -> None:
    body = """  parameter Real p(fixed = false, start = 1);
  parameter Real q = 2*p;
  Real x(start = 1, fixed = true), y;
initial equation
  der(x) = -3;
equation
  der(x) = -p*x; y = q*x;"""
    result = check_run(body, 1.0)
    assert result["p"][0] == pytest.approx(3.0, abs=1e-8)
    assert result["q"][0] == pytest.approx(6.0, abs=1e-8)
    assert result["y"][0] == pytest.approx(6.0, abs=1e-7)
    assert result["x"][-1] == pytest.approx(math.exp(-3.0), abs=1e-7)


def test_parameter_found_from_a_linear_condition_is_exact() -> None:
    """Its derivative is a difference, with rounding: that must not remain in the result."""
    body = """  parameter Real capacity = 500, loss = 2, power(fixed = false, start = 10);
  Real T(start = 60, fixed = true);
initial equation
  der(T) = 0;
equation
  capacity*der(T) = power - loss*T;"""
    assert check_run(body, 1.0)["power"][0] == pytest.approx(120.0, rel=1e-13)


def test_runs_do_not_know_of_each_other() -> None:
    """The found parameter and loops of one run are not the guess of the next one."""
    body = """  parameter Real p(fixed = false, start = 1), r = 3;
  Real x(start = 1, fixed = true);
initial equation
  der(x) = -r;
equation
  der(x) = -p*x;"""
    model = model_of(body)
    assert [model.simulate(stop=1, parameters={"r": r})["p"][0] for r in (3, 7, 3)] == pytest.approx([3, 7, 3])


CHAIN = """  parameter Real w = 3, damping = 0.5;
  parameter Real ratio(fixed = false), slow(fixed = false), fast(fixed = false), gain(fixed = false);
  Real x(start = 1, fixed = true);
initial equation
  gain = slow/fast;
  fast = sqrt(slow^2 - ratio^2);
  2*slow - w = 4;
  ratio = damping;
equation
  der(x) = -gain*x;"""


def test_parameters_that_follow_one_after_the_other_need_no_guess() -> None:
    """From the guess 0 Newton's iteration would begin with 0/0; the order of the equations does not matter."""
    model = model_of(CHAIN)
    for w, damping in ((3.0, 0.5), (5.0, 2.0)):
        result = model.simulate(stop=1, rtol=1e-9, parameters={"w": w, "damping": damping})
        slow = 0.5 * (4 + w)
        gain = slow / math.sqrt(slow**2 - damping**2)
        assert result["gain"][0] == pytest.approx(gain, rel=1e-14)
        assert result["x"][-1] == pytest.approx(math.exp(-gain), rel=1e-7)
    with pytest.raises(pliant.ArgumentError, match="fixed = false"):
        model.simulate(stop=1, parameters={"gain": 1.0})


def test_parameters_given_twice_are_compared() -> None:
    body = CHAIN.replace("ratio = damping;", "ratio = damping; ratio = {};")
    assert model_of(body.format("w/6")).simulate(stop=1)["ratio"][0] == 0.5
    with pytest.raises(pliant.InitialValueError):
        model_of(body.format("w/5")).simulate(stop=1)


# -------------------------------------------------------------------------------------------------- relations


def test_relations_at_the_start() -> None:
    """The branch at the start follows from the start values, also through an initial equation."""
    body = """  Real x(start = 1), y;
initial equation
  y = 10;
equation
  der(x) = -1; y = if x < 3 then x else 2*x;"""
    assert begin(body)["x"][0] == pytest.approx(5.0)


def test_start_time_counts() -> None:
    body = "  Real x(start = 1), y;\ninitial equation\n  x = time;\nequation\n  der(x) = 1; y = x - time;"
    result = model_of(body).simulate(start=2.0, stop=3.0)
    assert result["x"][0] == 2
    assert result["y"] == pytest.approx(np.zeros(500), abs=1e-9)


SCALED = """  parameter Real p = 1e5;
  Real x(start = p, fixed = true, nominal = p, max = 3*p), y(start = 1, fixed = true, nominal = 2, min = -1);
equation
  der(x) = -x; der(y) = -2*y;"""


def test_nominal_values_and_bounds_follow_the_parameters() -> None:
    """atol is 0.01 rtol nominal: with the nominal value as loaded a small x would not be resolved."""
    model = model_of(SCALED)
    for p in (1e5, 1e-8, 1e12):
        result = model.simulate(stop=1, rtol=1e-7, parameters={"p": p})
        assert result["x"] / p == pytest.approx(np.exp(-result.time), abs=1e-6)
    assert model.simulate(stop=1, parameters={"p": 1e7}, start_values={"x": 2e7})["x"][0] == 2e7
    assert model.last_start is not None
    with pytest.raises(pliant.InitialValueError, match=r"outside max = 3e\+07"):
        model.simulate(stop=1, parameters={"p": 1e7}, start_values={"x": 4e7})
    differences = {"jacobian": "differences"}
    small = model.jacobian(parameters={"p": 1e-8}, options=differences).increments
    large = model.jacobian(parameters={"p": 1e8}, options=differences).increments
    assert small is not None
    assert large is not None
    assert small[0] < 1e-8 * large[0]
    assert small[1] == large[1]
    assert model.variables["x"].nominal == 1e5


def test_unknown_parameters_of_microseconds() -> None:
    """Differences by a parameter are taken on its own scale: its guess, or its nominal value if the guess is zero."""
    body = """  parameter Real a(fixed = false, start = 2e-6), b(fixed = false, start = 0, nominal = 1e-6);
  Real x(start = 1, fixed = true);
initial equation
  exp(-1e-6/a) = 0.5; a*exp(b/1e-6) = 3e-6;
equation
  der(x) = -x;"""
    result = model_of(body).simulate(stop=1)
    a = 1e-6 / math.log(2)
    assert result["a"][0] == pytest.approx(a, rel=1e-8)
    assert result["b"][0] == pytest.approx(1e-6 * math.log(3e-6 / a), rel=1e-8)
