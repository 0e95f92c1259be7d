"""Which variables become states: fixed start values of aliases, wishes that do not go together."""

from __future__ import annotations

import numpy as np
import pytest
from support_modelica import model_of, numeric

import pliant


def test_fixed_start_value_of_an_alias_counts() -> None:
    """The representative of a class is the member with the strongest wish, which need not be the one that is fixed."""
    body = """  Real phi[2], w[2], tau;
  Real angle(start = 0.3, fixed = true, stateSelect = StateSelect.never);
  Real rate(start = 0.1, fixed = true, stateSelect = StateSelect.never);
equation
  der(phi) = w; phi[1] = 3*phi[2]; der(w[1]) = tau - phi[1]; der(w[2]) = -3*tau;
  angle = phi[1]; rate = w[1];"""
    model = model_of(body)
    assert [state.name for state in model.structure.states] == ["phi[1]", "w[1]"]
    result = model.simulate(stop=1.0, rtol=1e-9)
    assert (result["angle"][0], result["rate"][0]) == (0.3, 0.1)
    # w[1]' (1 + 1/9) = -phi[1]
    k = np.sqrt(0.9)
    assert result["angle"] == pytest.approx(0.3 * np.cos(k * result.time) + 0.1 / k * np.sin(k * result.time), abs=1e-7)


ROD = """
model Rod "Two masses on a rod without mass; the orientation is (c, s), and functions differentiate by w"
  function along
    input Real c, w, s, l;
    output Real x;
  algorithm
    x := l*c;
    annotation(Inline = false,
      derivative(noDerivative = c, noDerivative = w, noDerivative = s, noDerivative = l) = along_der);
  end along;
  function along_der
    input Real c, w, s, l;
    output Real x;
  algorithm
    x := -l*s*w;
    annotation(derivative(noDerivative = l) = along_der2, Inline = false);
  end along_der;
  function along_der2
    input Real c, w, s, l, dc, dw, ds;
    output Real x;
  algorithm
    x := -l*c*w*w - l*s*dw;
  end along_der2;
  parameter Real l = 0.5;
  Real x1(start = 0.5), y1(start = 0, fixed = true), x2(start = -0.5), y2(start = 0, fixed = true);
  Real u1(start = 1, fixed = true), v1(start = 2, fixed = true), u2(start = 1), v2(start = 0, fixed = true);
  Real xc(start = 0, fixed = true), yc, c(start = 1), s(start = 0), w(start = 2);
  Real fx1, fy1, fx2, fy2;
equation
  der(x1) = u1; der(y1) = v1; der(x2) = u2; der(y2) = v2;
  der(u1) = fx1; der(v1) = fy1 - 9.81; der(u2) = fx2; der(v2) = fy2 - 9.81;
  x1 = xc + along(c, w, s, l); y1 = yc + along(s, -w, c, l);
  x2 = xc - along(c, w, s, l); y2 = yc - along(s, -w, c, l);
  c^2 + s^2 = 1;
  w = c*der(s) - s*der(c);
  fx1 + fx2 = 0; fy1 + fy2 = 0;
  l*c*(fy1 - fy2) - l*s*(fx1 - fx2) = 0;
end Rod;
"""


def test_wishes_that_do_not_go_together() -> None:
    """Fixed velocities want to be states instead of w, but then c and s had to follow from positions that are states.

    The model was refused as singular. Its centre flies on a parabola, and it turns at a constant rate.
    """
    result = pliant.load(ROD).simulate(stop=2, rtol=1e-9)
    t = result.time
    assert result["xc"] == pytest.approx(t, abs=1e-6)
    assert result["yc"] == pytest.approx(t - 9.81 * t**2 / 2, abs=1e-6)
    assert result["c"] == pytest.approx(np.cos(2 * t), abs=1e-6)
    assert result["v2"][0] == pytest.approx(0.0, abs=1e-12)


def test_line_of_a_derivative_that_is_an_alias() -> None:
    """der(phi) = w leaves no equation that computes der(phi), if w is a state; errors name its line all the same."""
    body = """  Real phi(start = 1), w, a, y;
equation
  der(phi) = w;
  a = der(w);
  a = -sqrt(phi);
  y = phi;"""
    found = numeric(model_of(body))
    lines = {name: found.line_of(name) for name in ("phi", "w", "a", "y")}
    assert lines == {
        "phi": " (model.mo, line 4)",
        "w": " (model.mo, line 6)",
        "a": " (model.mo, line 6)",
        "y": " (model.mo, line 7)",
    }
    assert "der(phi) = w" in found.place_of("phi")


HANDED = """
model Handed "The rate is handed to the derivative of a function, whose value does not depend on it"
  function hold
    input Real s, rate, t;
    output Real y;
  algorithm
    y := s;
    annotation(derivative(noDerivative = s, noDerivative = rate) = hold_der, Inline = false);
  end hold;
  function hold_der
    input Real s, rate, t, dt;
    output Real y;
  algorithm
    y := rate;
  end hold_der;
  Real a(start = 1, fixed = true), b, rate, q;
equation
  der(a) = q - a;
  der(b) = -q;
  rate = der(a);
  b = hold(a, rate, time);
end Handed;
"""


def test_arguments_for_the_derivative_alone() -> None:
    """The constraint b = a was not seen as one, because the rate stands in the call: a' = b' gives q = a/2."""
    model = pliant.load(HANDED)
    assert model.structure.index == 2
    result = model.simulate(stop=1, rtol=1e-9)
    assert result["b"] == pytest.approx(np.exp(-result.time / 2), abs=1e-7)
    assert result["q"] == pytest.approx(result["a"] / 2, abs=1e-7)
