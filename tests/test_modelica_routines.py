"""Functions that stay functions in the generated code: values, derivatives, checks, where they are refused."""

from __future__ import annotations

import math

import numpy as np
import pytest

import pliant
from pliant.errors import NotSupportedError
from pliant.expr.build import reachable
from pliant.expr.evaluate import evaluate
from pliant.frontend.reading import read_flat
from pliant.frontend.scalar.scalarize import scalarize
from pliant.ir import Op

SERIES = """record R Real s; Real c; end R;
function series "sin and cos by their series"
  input Real x; output R r;
protected
  Real term = 1; Integer n = 0;
algorithm
  r := R(0, 1);
  while abs(term) > 1e-17 and n < 200 loop
    n := n + 1;
    term := term*x/n;
    if mod(n, 2) == 1 then r.s := r.s + (if mod(n, 4) == 1 then term else -term);
    else r.c := r.c + (if mod(n, 4) == 0 then term else -term); end if;
  end while;
end series;
"""
CUBIC = """function root "of y^3 + y = a, by Newton's iteration"
  input Real a; input Real limit; output Real y;
protected
  Real d = 1;
algorithm
  y := 0;
  while abs(d) > 1e-15*(1 + abs(y)) loop d := (y^3 + y - a)/(3*y^2 + 1); y := y - d; end while;
  assert(y < limit, "the root is too large");
end root;
"""


def test_values_and_outputs_of_one_call() -> None:
    model = pliant.load(SERIES + "model M R r = series(3*time); Real a = r.s; Real b = r.c; end M;")
    result = model.simulate(stop=2.0, points=21)
    np.testing.assert_allclose(result["a"], np.sin(3 * result.time), atol=1e-13)
    np.testing.assert_allclose(result["b"], np.cos(3 * result.time), atol=1e-13)


def test_derivatives_go_through_loops() -> None:
    text = CUBIC + "model M Real x(start = 2, fixed = true); equation der(x) = -root(x, 10); end M;"
    model = pliant.load(text)
    y = 1.0  # root of 2
    assert model.linearize(x={"x": 2.0}).A[0, 0] == pytest.approx(-1 / (3 * y**2 + 1), rel=1e-10)
    result = model.simulate(stop=1.0, rtol=1e-10)
    # with x = y^3 + y the equation is (3 y^2 + 1) y' = -y, so 3/2 y^2 + log y = 3/2 - t
    end = result["x"][-1]
    low, high = 0.1, 1.0
    for _ in range(80):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if 1.5 * middle**2 + math.log(middle) > 0.5 else (middle, high)
    assert end == pytest.approx(low**3 + low, rel=1e-8)


def test_constraints_are_differentiated_through_loops() -> None:
    text = CUBIC + (
        "model M Real x(start = 2, fixed = true); Real y; Real v; equation y = root(x, 10); v = der(y); v = -y; end M;"
    )
    result = pliant.load(text).simulate(stop=1.0, rtol=1e-9)
    np.testing.assert_allclose(result["y"], np.exp(-result.time), rtol=1e-6)


def test_assertions_of_functions_hold() -> None:
    with pytest.raises(pliant.SolverError, match="the root is too large"):
        pliant.load(CUBIC + "model M Real y = root(20*time, 2); end M;").simulate(stop=1.0)


def test_code_and_evaluation_agree() -> None:
    text = SERIES + "model M Real x = time; R r = series(x*x + 1); end M;"
    system = scalarize(read_flat(text))
    nodes = system.graph.nodes
    under = reachable(system.graph, [one.residual for one in system.equations])
    calls = [i for i in under if nodes[i][0] == Op.ROUTINE and nodes[i][2] < 2]
    assert len(calls) == 2
    x = next(v for v, one in enumerate(system.variables) if one.name == "x")
    found = evaluate(system.graph, calls, {x: 0.5})
    result = pliant.load(text).simulate(stop=0.5, points=[0.0, 0.5])
    assert sorted(found) == pytest.approx(sorted([result["r.s"][-1], result["r.c"][-1]]), rel=1e-15)


def test_small_functions_are_put_in_place() -> None:
    system = scalarize(
        read_flat("function f input Real x; output Real y = 2*x; end f; model M Real y = f(time); end M;")
    )
    assert not any(node[0] == Op.ROUTINE for node in system.graph.nodes)


def test_real_time_code_refuses_by_name() -> None:
    model = pliant.load(CUBIC + "model M Real x(start = 2, fixed = true); equation der(x) = -root(x, 10); end M;")
    with pytest.raises(NotSupportedError, match="`root` is a function that is called"):
        model.realtime(step=1e-2, stop=1.0)


def test_states_begin_with_what_initial_equations_give() -> None:
    text = """model M
  parameter Real level = 2, T = 300;
  Real m, U, u, l, Temp;
initial equation
  l = level; Temp = T;
equation
  m = 1000*l; U = m*u; u = 4200*(Temp - 273);
  der(m) = -1; der(U) = -u;
end M;"""
    result = pliant.load(text).simulate(stop=1.0)
    assert result["m"][0] == pytest.approx(2000.0)
    assert result["U"][0] == pytest.approx(2000.0 * 4200 * 27)


SUM = """function total
  input Real x; input Real n; output Real y;
protected
  Real k = 0;
algorithm
  y := 0;
  while k < n loop
    k := k + 1;
    y := y + x/k;
    assert(y < 5, "the sum is too large");
    if y > 3 then
      assert(k > 2.5, "the sum is too early");
    end if;
  end while;
end total;
"""


@pytest.mark.parametrize(
    ("x", "n"), [(2.0, 2.0), (2.2, 30.0), (3.2, 1.0), (1.6, 9.0), (1.0, 0.0), (6.0, 0.0), (6.0, 3.0)]
)
def test_assertions_in_loops(x: float, n: float) -> None:
    y, message, place = 0.0, "", 0
    for k in range(1, int(n) + 1):
        y += x / k
        if y >= 5:
            message, place = "`total`: the sum is too large", 10
        elif y > 3 and k <= 2.5:
            message, place = "`total`: the sum is too early", 12
        if message:
            break
    text = "model M input Real x(start = 1); input Real n(start = 0); Real s(start = 0, fixed = true); Real y;"
    model = pliant.load(SUM + f"{text} equation der(s) = y; y = total(x, n); end M;")
    inputs = {"x": x, "n": n}
    if message:
        with pytest.raises(pliant.PliantError, match=message) as error:
            model.simulate(stop=1.0, inputs=inputs)
        assert f"model.mo:{place}" in str(error.value)
    else:
        assert model.simulate(stop=1.0, inputs=inputs)["y"][-1] == pytest.approx(y)


def test_assertions_hold_where_they_are_reached() -> None:
    text = """function f
  input Real x; output Real y;
algorithm
  if x < 0 then y := 0; return; end if;
  assert(x >= 0, "the argument is negative");
  y := sqrt(x);
end f;
model M Real y = f(s); Real s(start = -1, fixed = true); equation der(s) = 1; end M;"""
    assert pliant.load(text).simulate(stop=3.0)["y"][-1] == pytest.approx(2**0.5, rel=1e-5)


def test_a_guess_may_violate_an_assertion_in_a_loop() -> None:
    text = (
        "model M Real x(start = 4); Real s(start = 0, fixed = true); equation der(s) = 1; total(x, 3) = exp(s); end M;"
    )
    result = pliant.load(SUM.replace("y + x/k", "y + x^3/k") + text).simulate(stop=0.9)  # 4 gives more than 5
    np.testing.assert_allclose(result["x"] ** 3 * (1 + 1 / 2 + 1 / 3), np.exp(result.time), rtol=1e-7)


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("while y > 0 loop y := y + x; end while;", "`f`: a while-loop needs more than 100000 turns"),
        ("y := if x < 0 then 0 else f(x + 1);", "`f` calls itself more than 20 levels deep"),
    ],
)
def test_functions_without_end(body: str, says: str) -> None:
    text = f"function f input Real x; output Real y; algorithm y := x; {body} end f;\n"
    model = pliant.load(text + "model M Real y = f(s); Real s(start = 1, fixed = true); equation der(s) = 1; end M;")
    with pytest.raises(pliant.PliantError, match=says) as error:
        model.simulate(stop=1.0)
    assert "model.mo:1" in str(error.value)
