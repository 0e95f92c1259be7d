"""Evidence does not depend on units: quantities in 1e-12 of them are judged as those in 1."""

from __future__ import annotations

import pytest

import pliant

QUICK = {"certificate": False}
SWING = """
model Swing
  Real x(start = 0, fixed = true), v(start = {s}, fixed = true);
  output Real y = {c}*x;
equation
  der(x) = v;
  der(v) = -100*x - 0.2*v;
end Swing;
"""


def errors(s: float, c: float = 1.0, **more: object) -> dict[str, float]:
    plan = pliant.load(SWING.format(s=s, c=c)).realtime(step=0.01, stop=1.0, options=QUICK, **more)
    assert not plan.evidence.holds
    return dict(plan.evidence.errors)


def test_errors_are_the_same_in_every_unit() -> None:
    known = errors(1.0)
    assert known["x"] > 0.1
    for s in (1e-6, 1e-12):
        assert errors(s) == pytest.approx(known, rel=1e-4)


def test_outputs_in_small_units_are_judged() -> None:
    known = errors(1.0)["x"]
    assert errors(10.0, c=1e-12, judged=["y"])["y"] == pytest.approx(known, rel=1e-4)


def test_what_moves_by_rounding_alone_does_not_move() -> None:
    text = """
    model Noise
      Real x(start = 1, fixed = true), v(start = 0, fixed = true);
      output Real y = (x + 0.1*v) - x*(1 + 1e-3) + 1e-3*x - 0.1*v;
    equation
      der(x) = v;
      der(v) = -x - v;
    end Noise;
    """
    plan = pliant.load(text).realtime(step=0.01, stop=1.0, options=QUICK)
    assert plan.evidence.holds
    assert any("accuracy by range of y" in one for one in plan.evidence.not_checked)
