"""Friction in exported FMUs: where several elements break loose at one event, each stands on its switching line."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import pliant

BRAKES = """
model Brakes
  block Brake
    parameter Real most = 1 "Torque that holds, and that slides, in N.m";
    input Real w, a;
    output Real tau;
    Real s "Torque while it holds, else acceleration beyond it";
    Boolean forward(start = false, fixed = true), backward(start = false, fixed = true), holds;
    Integer way(start = 0, fixed = true) "1, -1: it slides; 0: it holds";
  equation
    forward = pre(way) == 0 and (s > most or pre(forward) and s > most);
    backward = pre(way) == 0 and (s < -most or pre(backward) and s < -most);
    holds = not (pre(way) == 1 or forward or pre(way) == -1 or backward);
    a = if holds then 0 else if forward then s - most else if backward then s + most
      else if pre(way) == 1 then s - most else s + most;
    tau = if holds then s else if forward or pre(way) == 1 and not backward then most else -most;
    way = if (pre(way) == 1 or forward) and w > 0 then 1 else if (pre(way) == -1 or backward) and w < 0 then -1 else 0;
  end Brake;
  Brake one(most = 5), two(most = 3);
  Real w(start = 0, fixed = true), a;
equation
  der(w) = a;
  a = 12*sin(6*time) - one.tau - two.tau;
  one.w = w; two.w = w; one.a = a; two.a = a;
end Brakes;
"""


def test_brakes_side_by_side_break_loose_together(tmp_path: Path) -> None:
    model = pliant.load(BRAKES)
    expected = model.simulate(stop=2.0, rtol=1e-7)
    assert expected.stats.n_events > 8
    path = model.export_fmu(tmp_path / "brakes.fmu")
    with pliant.load(path, kind="model-exchange") as unit:
        result = unit.simulate(stop=2.0, rtol=1e-7)
    assert abs(result.stats.n_events - expected.stats.n_events) <= 2
    w = np.interp(expected.time, result.time, result["w"])
    assert np.max(np.abs(w - expected["w"])) < 1e-4
