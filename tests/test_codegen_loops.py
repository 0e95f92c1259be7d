"""Algebraic loops in generated code: linear, nonlinear, large, singular; Jacobians through them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support_modelica import WAYS, check_jacobian, check_run, check_ways, flat, jacobian_errors, model_of, residuals

import pliant

# full matrix: every equation contains every unknown with a coefficient that varies, so that all are torn
DENSE = """  parameter Integer n = {n};
  parameter Real k = 0.3;
  Real x(start = 1, fixed = true), y[n](each start = 0.1);
equation
  der(x) = -x + 0.1*sum(y);
  for i in 1:n loop
    (3 + sin(x + i))*y[i] + k*cos(i*x)*sum(y) = x*i + time;
  end for;"""


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6])
def test_linear_loops(n: int) -> None:
    body = DENSE.format(n=n)
    result = check_run(body, 1.0)
    check_jacobian(model_of(body))
    x, t = result["x"][-1], result.time[-1]
    i = np.arange(1, n + 1)
    matrix = np.diag(3 + np.sin(x + i)) + 0.3 * np.cos(i * x)[:, None]
    assert [result[f"y[{k}]"][-1] for k in i] == pytest.approx(np.linalg.solve(matrix, x * i + t), rel=1e-9)


def test_linear_loop_in_all_ways() -> None:
    check_ways(DENSE.format(n=3), 1.0, ways=WAYS)
    check_jacobian(model_of(DENSE.format(n=3), form="dae"))


NONLINEAR = """  parameter Real a = 0.4;
  Real x(start = 1, fixed = true), y(start = 0.2), z(start = 0.3), w(start = 0.1), v;
equation
  der(x) = -y*z + v;
  y + a*tanh(z*w) + 0.2*y^3 = x;
  z - a*sin(y + w) = 0.5*x;
  w^3 + w + 0.1*y = z + 0.1*time;
  v = y*w + exp(-z);"""


def test_nonlinear_loop_in_all_ways() -> None:
    check_ways(NONLINEAR, 2.0, ways=WAYS)
    for form in ("ode", "dae"):
        check_jacobian(model_of(NONLINEAR, form=form))


@pytest.mark.parametrize("tear", [["y"], ["z"], ["w"], ["y", "w"], ["y", "z", "w"]], ids=str)
def test_nonlinear_loop_torn_by_hand(tear: list[str]) -> None:
    one, other = model_of(NONLINEAR), model_of(NONLINEAR, tear)
    assert set(tear) <= set(other.structure.loops[0].tearing)
    wanted = one.simulate(stop=2.0, rtol=1e-10)["v"]
    assert other.simulate(stop=2.0, rtol=1e-10)["v"] == pytest.approx(wanted, abs=1e-7)


def test_damped_newton_is_exact() -> None:
    """Small pivots on the way (0.03) make the corrections large: whatever damping does, the result is a solution."""
    body = """  Real x1(start=0.4, fixed=true), x0, y0(start=-0.41), y1(start=-0.34), y2(start=-0.1);
  Real y3(start=-0.33), y4(start=-0.11);
equation
  der(x1) = -x1 + 0.5*tanh(time - y1);
  y0 = -0.08*y4 - 0.05*y2 + 0.119*y3 + tanh(x0)*0.588;
  y1 = 0.12*tanh(y0 + 0.57) + 0.1*sin(y2) + 0.07;
  x0 = 1.16*x1 + 0.3*tanh(x1);
  y2 = 0.12*tanh(y4 + (x0 + x1)) + 0.1*sin(y1) + 0.3*tanh(tanh(x0)*x0);
  -0.11*y4 + 0.03*y3 + 0.119*y1 + (x0 + 1.49)*0.3 = y4;
  y3 = -0.14*y0 + 0.119*y4 + (time + x0)*0.3;"""
    model = model_of(body)
    result = model.simulate(stop=1.0, rtol=1e-9, points=201)
    system = flat(body)
    assert max(residuals(system, result, row)[0][0] for row in range(0, 201, 5)) < 1e-9
    assert result.stats.n_steps < 200


def test_warm_start_follows_a_branch() -> None:
    """cos(y) = x has many solutions; the one near the start value is kept while x moves."""
    body = "  Real x(start = 0.9, fixed = true), y(start = {y});\nequation\n  der(x) = -0.5 + 0.01*y; cos(y) = x;"
    for near in (0.5, -0.5, 2 * np.pi + 0.5):
        result = check_run(body.format(y=near), 1.0)
        assert np.abs(np.diff(result["y"])).max() < 0.05
        assert result["y"][0] == pytest.approx(near, abs=0.2)


def test_results_do_not_depend_on_what_was_asked_for() -> None:
    """f depends on its arguments, not on rejected steps: dense or sparse output, same trajectory."""
    model = model_of(NONLINEAR)
    runs = [model.simulate(stop=2.0, points=points) for points in (2, 50, 5000)]
    assert len({run.stats.n_steps for run in runs}) == 1
    assert [run["x"][-1] for run in runs] == pytest.approx([runs[0]["x"][-1]] * 3, rel=1e-13)


def test_large_sparse_loop() -> None:
    body = """  parameter Integer n = 310;
  Real x(start = 1, fixed = true), y[n];
equation
  der(x) = -y[n];
  for i in 2:n - 1 loop
    -y[i - 1] + 3*y[i] + 0.1*y[i]^3 - y[i + 1] = x;
  end for;
  3*y[1] - y[2] - y[n] = x; 3*y[n] - y[n - 1] - y[1] = x;"""
    model = model_of(body)
    assert [loop.kind for loop in model.structure.loops] == ["sparse"]
    result = model.simulate(stop=1, rtol=1e-8)
    y = np.array([result[f"y[{i}]"][-1] for i in range(1, 311)])
    inner = -y[:-2] + 3 * y[1:-1] + 0.1 * y[1:-1] ** 3 - y[2:]
    assert inner == pytest.approx(result["x"][-1] * np.ones(308), abs=1e-6)


@pytest.mark.parametrize(
    ("equations", "words"),
    [
        ("x*y + z = 1; y + z = 2 + x", ["loop of 2 equations", "tearing variables", "singular", "model.mo:4"]),
        ("x*y = 1 + z; z = 2", ["equation for y", "singular", "model.mo:4"]),
    ],
)
def test_singular_at_run_time(equations: str, words: list[str]) -> None:
    """A pivot that passes through zero: x = 1 at the start of the first, 0 at t = 1 in the second."""
    start, rate = ("1", "-1 + 0.01*y") if "loop" in words[0] else ("0", "0*y")
    body = f"  Real x(start = {start}, fixed = true), y, z;\nequation\n  der(x) = {rate}; {equations};"
    with pytest.raises(pliant.PliantError) as caught:
        model_of(body).simulate(stop=2)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("equation", "expected"),
    [
        ("3*x = 1/g", lambda x: 1 / (3 * x)),
        ("x = 2 - a/(3*g + 1)", lambda x: (2 / (2 - x) - 1) / 3),
        ("-(x - a/g) = 0", lambda x: 2 / x),
        ("x - (5 + 4/g) = 1", lambda x: 4 / (x - 6)),
        ("(5 + 4/g) - x = 1", lambda x: 4 / (x - 4)),
        ("1 - ((x + 1)*a - 1/(g*x)) = 0", lambda x: 1 / (x * (2 * x + 1))),
    ],
)
def test_an_unknown_in_a_denominator_needs_no_guess(equation: str, expected: Any) -> None:
    """The equation is multiplied by it: at the guess 0 it has a pole."""
    body = f"""  parameter Real a = 2;
  Real x(start = 3, fixed = true), g;
equation
  der(x) = -x/(1 + g^2);
  {equation};"""
    result = check_run(body, 1.0)
    model = model_of(body)
    check_jacobian(model)
    assert [block.kind for block in model.structure.blocks if "g" in block.variables] == ["linear"]
    for x, g in zip(result["x"], result["g"], strict=True):
        assert g == pytest.approx(expected(x), rel=1e-12)
    if "a/" in equation:
        with pytest.raises(pliant.PliantError, match="zero"):
            model.simulate(stop=1, parameters={"a": 0.0})


def test_newton_that_loses_its_solution() -> None:
    """y^2 = 1 - t ends at t = 1: the error names the loop, and what was computed is kept."""
    body = "  Real x(start = 0, fixed = true), y(start = 1);\nequation\n  der(x) = y; y^2 = 1 - time;"
    with pytest.raises(pliant.SolverError) as caught:
        model_of(body).simulate(stop=2)
    assert caught.value.time == pytest.approx(1.0, abs=1e-3)
    assert caught.value.result is not None
    assert caught.value.result["x"][-1] == pytest.approx(2 / 3, abs=1e-2)


@pytest.mark.parametrize("options", [{}, {"form": "dae"}, {"aliases": False}, {"fold_parameters": True}], ids=str)
def test_jacobian_of_everything(options: dict[str, Any]) -> None:
    """All operators, loops inside loops' inputs, if-expressions and aliases in one Jacobian."""
    body = """  parameter Real p = 1.3;
  Real x(start = 0.7, fixed = true), y(start = 0.4, fixed = true), z(start = 1.2, fixed = true);
  Real a, b(start = 0.3), c, d(start = 0.5), e, f;
equation
  der(x) = atan2(a, 2 + b) - x^p + min(x, y) - max(a, z); der(y) = (if y < 5 then b*c else 3) - sqrt(2 + d)*abs(e);
  der(z) = noEvent(if z > 9 then log(z) else exp(-z)*c) + p^x - f;
  a + p*b = x*y; b - a*z = sin(x); c = tanh(a)*cosh(b)/(1 + c^2); d^3 + d*x = c + y;
  e = -d; f = asin(tanh(e))*log10(2 + z^2);"""
    for seed in range(3):
        by_difference, along = jacobian_errors(model_of(body, **options), seed=seed)
        assert by_difference < 1e-6
        assert along < 1e-10


def test_variables_may_be_called_like_the_arrays_of_a_loop() -> None:
    model = pliant.load("""
    model M
      Real x(start = 1, fixed = true), b0, v0, d0, A0, pivot0, failed0;
    equation
      der(x) = -b0;
      3*b0 + v0 - A0 = x;
      v0 - 0.5*b0 + 2*d0 = 1;
      4*A0 + b0 + d0 = time;
      d0 - A0 + 5*pivot0 = v0;
      pivot0 + 0.3*b0 = 0.2*v0;
      failed0^3 + failed0 = pivot0 + x;
    end M;
    """)
    result = model.simulate(stop=0.5)
    assert np.abs(4 * result["A0"] + result["b0"] + result["d0"] - result.time).max() < 1e-9
    assert np.abs(result["failed0"] ** 3 + result["failed0"] - result["pivot0"] - result["x"]).max() < 1e-9


def test_directional_derivatives_of_a_function_in_parts() -> None:
    """Hundreds of outputs after hundreds of states: the parts behind the early return must not run."""
    n = 300
    model = pliant.load(f"""
    model Long
      constant Integer n = {n};
      input Real u;
      Real x[n](each start = 1, each fixed = true);
      output Real y[n];
    equation
      for i in 1:n loop
        der(x[i]) = -i*x[i]^2 + u*sin(x[i]) + exp(-x[i])*x[n + 1 - i];
        y[i] = x[i]*cos(x[i]) + u*x[n + 1 - i];
      end for;
    end Long;
    """)
    times = np.arange(9) / 8
    inputs = {"u": (np.repeat(times, 2)[1:-1], np.repeat([0.0, 1.0, 0.5, 2.0, 0.1, 1.5, 0.3, 1.0], 2))}
    result = model.simulate(stop=1.0, method="bdf", inputs=inputs, options={"at_jump": "x2"})
    assert result.stats.n_jvp > 0
    exact = model.simulate(stop=1.0, method="bdf", inputs=inputs, options={"at_jump": "restart"}, rtol=1e-8)
    assert np.abs(result["x[7]"] - exact["x[7]"]).max() < 1e-4


def test_a_loop_whose_residual_jumps_where_its_own_unknown_switches_it() -> None:
    """v follows from i piece by piece and continuously, but for a given i the equation jumps at v = 0.65."""
    model = pliant.load("""
    model Gate
      Real x(start = 0, fixed = true), v, i;
    equation
      der(x) = 1;
      i = 0.1*sin(20*x)^2;
      v = smooth(0, if v < 0.65 then 14*i else 0.65^2/0.7 + (0.7 - 0.65)*i/0.05);
    end Gate;
    """)
    result = model.simulate(stop=1.0, points=3001)
    i = 0.1 * np.sin(20 * result.time) ** 2
    exact = np.where(14 * i < 0.65, 14 * i, 0.65**2 / 0.7 + i)
    assert np.abs(result["v"] - exact).max() < 1e-6
