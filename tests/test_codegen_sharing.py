"""What generated code computes once, or not at all: values under two names, fixed entries, divisors, small systems."""

from __future__ import annotations

import re

import numpy as np
import pytest
from support_modelica import check_jacobian, check_run, model_of

import pliant

TWICE = """  parameter Real k = 2;
  Real x(start = 0.4, fixed = true), v(start = 1, fixed = true), c1, c2, s1, s2, d1, d2, p;
equation
  c1 = cos(x); c2 = cos(x); s1 = sin(x); s2 = -sin(x); d1 = x - v; d2 = v - x; p = -3*k;
  der(x) = c1*s1 + d1*p;
  der(v) = c2*s2*v + c1*s1*d2;"""


def function(text: str, name: str) -> str:
    """The body of one C function."""
    found = re.search(rf"^static [^\n]*\b{name}\(model .*?^}}", text, re.MULTILINE | re.DOTALL)
    assert found is not None
    return found.group(0)


def test_values_under_two_names() -> None:
    result = check_run(TWICE, 1.0)
    check_jacobian(model_of(TWICE))
    rhs = function(model_of(TWICE).code, "rhs")
    assert rhs.count("cos(") == rhs.count("sin(") == 1
    assert rhs.count("c1_ * s1_") == 1
    assert "c2_" not in rhs
    assert "d2_" not in rhs
    for one, other in (("c1", "c2"), ("s1", "s2"), ("d1", "d2")):
        sign = 1 if one == "c1" else -1
        assert np.array_equal(result[one], sign * result[other])


def test_what_cancels_needs_no_loop() -> None:
    """The lecture's remark on its circuit: the voltage of the coil is that of the source, whatever the resistors do."""
    body = """  parameter Real R = 3, L = 0.5;
  Real i(start = 0, fixed = true), a, b, u, sum;
equation
  u = sin(time); a = u - b; sum = a + b; a = R*(b + b^3); L*der(i) = sum;"""
    rhs = function(model_of(body).code, "rhs")
    assert "pl_newton" not in rhs
    result = check_run(body, 1.0)
    assert result["i"][-1] == pytest.approx(2 * (1 - np.cos(1.0)), rel=1e-5)
    assert np.abs(result["a"] - 3 * (result["b"] + result["b"] ** 3)).max() < 1e-9


FIXED = """  parameter Real k = 2;
  Real x[6](each start = 0.5, each fixed = true), jac_value_number;
equation
  jac_value_number = 0.1*x[6]*x[1];
  for i in 1:5 loop
    der(x[i]) = -k*x[i] + 4*x[i + 1];
  end for;
  der(x[6]) = -jac_value_number - k^2*x[1];"""


@pytest.mark.parametrize("folded", [False, True])
def test_fixed_entries_of_a_jacobian(folded: bool) -> None:
    model = model_of(FIXED, fold_parameters=folded)
    check_jacobian(model)
    text = function(model.code, "jac_value")
    assert "memcpy(value" in text
    assert text.count("value[") == 2  # only the row of the product moves
    assert ("m->j" in text) is not folded


def test_fixed_entries_follow_their_parameters() -> None:
    model = model_of(FIXED)
    for k in (2.0, 5.0):
        a = model.linearize(parameters={"k": k}).A
        assert a[0, :2] == pytest.approx([-k, 4.0])
        assert a[5, 0] == pytest.approx(-0.05 - k**2)


def test_quotients_by_constants_are_products() -> None:
    body = """  parameter Real p = 3;
  Real x(start = 1, fixed = true), y(start = 1, fixed = true);
equation
  der(x) = -x/p - y/7; der(y) = x/1e-300*1e-300 - y/(p*x);"""
    rhs = function(model_of(body).code, "rhs")
    assert rhs.count(" / ") == 2  # the divisor moves, or has no inverse
    check_run(body, 0.5)
    fast = model_of(body).simulate(stop=0.5, parameters={"p": 0.1})
    slow = model_of(body).simulate(stop=0.5)
    assert fast["x"][-1] != pytest.approx(slow["x"][-1], rel=1e-2)


@pytest.mark.parametrize("n", [3, 8, 9])
def test_small_systems_exchange_rows(n: int) -> None:
    """The diagonal vanishes: every column needs a pivot from another row."""
    model = pliant.load(f"""
    model M
      constant Integer n = {n};
      Real x(start = 0.5, fixed = true), y[n](each start = 0.1);
    equation
      der(x) = -x + 0.01*sum(y);
      for i in 1:n loop
        x*i*(y[if i == n then 1 else i + 1]*(2 + sin(time)) + sum(y) - y[i])*cos(x) = 1 + i*x;
      end for;
    end M;
    """)
    result = model.simulate(stop=0.3, rtol=1e-8)
    y = np.array([result[f"y[{i + 1}]"] for i in range(n)])
    i = np.arange(1, n + 1)[:, None]
    x, t = result["x"], result.time
    left = x * i * (np.roll(y, -1, axis=0) * (2 + np.sin(t)) + y.sum(axis=0) - y) * np.cos(x)
    assert np.abs(left - (1 + i * x)).max() < 1e-9
    check_jacobian(model)
