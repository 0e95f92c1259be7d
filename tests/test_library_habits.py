"""What libraries write and models of one's own seldom do."""

from __future__ import annotations

import math

import pytest

import pliant


def test_sizes_that_read_sizes_of_the_same_array() -> None:
    model = pliant.load("""
    model M
      block Linear
        parameter Real A[:, size(A, 1)] = [1, 0; 0, 2];
        parameter Real B[size(A, 1), :] = [1; 1];
        parameter Real C[:, size(A, 1)] = [1, 1];
        input Real u[size(B, 2)];
        output Real y[size(C, 1)];
        Real x[size(A, 1)](each start = 1, each fixed = true);
      equation
        der(x) = -A*x + B*u;
        y = C*x;
      end Linear;
      Linear given(A = [3, 0, 0; 0, 4, 0; 0, 0, 5], B = [0; 0; 0], C = [1, 0, 0; 0, 1, 1]), own;
    equation
      given.u = {0};
      own.u = {0};
    end M;
    """)
    result = model.simulate(stop=1.0, rtol=1e-8)
    assert result.final["given.y[2]"] == pytest.approx(math.exp(-4) + math.exp(-5), abs=1e-6)
    assert result.final["own.y[1]"] == pytest.approx(math.exp(-1) + math.exp(-2), abs=1e-6)


def test_extremes_of_truth_values() -> None:
    model = pliant.load("""
    model M
      function all_of
        input Boolean b[:];
        output Boolean r = size(b, 1) > 0 and min(b);
      algorithm
        annotation(Inline = true);
      end all_of;
      parameter Boolean none[0] = fill(true, 0);
      Boolean both = all_of({time > 0.5, time > 0.2}), any = max({time > 0.5, time > 0.2}), empty = all_of(none);
      Real x = (if both then 1 else 0) + (if any then 2 else 0) + (if empty then 4 else 0)
        + (if max(none) then 8 else 0);
    end M;
    """)
    x = model.simulate(stop=1.0, points=[0.1, 0.3, 0.7])["x"]
    assert [float(one) for one in x] == [0.0, 2.0, 3.0]


def test_start_values_that_compare_and_call_functions() -> None:
    model = pliant.load("""
    model M
      function twice
        input Real u;
        output Real y;
      algorithm
        y := 0;
        for k in 1:2 loop y := y + u; end for;
      end twice;
      parameter Real p = 1.5;
      Real x(start = twice(if p > 1 then p else 0), fixed = true, nominal = twice(p));
    equation
      der(x) = -x;
    end M;
    """)
    assert model.simulate(stop=0.1)["x"][0] == 3.0
    assert model.variables["x"].start == 3.0


def test_coefficients_that_vanish_far_from_the_start() -> None:
    """Only values of q above 500 occur; what the coefficient is at others says nothing of the loop."""
    model = pliant.load("""
    model M
      Real x(start = 1, fixed = true), q, a, b;
    equation
      der(x) = -x;
      q = 600 + x;
      max(0, q - 500)*(a + b) = 3*(100 + x);
      a - b = x;
    end M;
    """)
    result = model.simulate(stop=1.0)
    assert result["a"][0] == pytest.approx(2.0)
    assert result["b"][0] == pytest.approx(1.0)
