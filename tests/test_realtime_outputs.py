"""Outputs of plans are those of the written code: through loops, where inputs jump, in float, and in self-tests."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np

import pliant

QUICK = {"certificate": False}
LOOP = """
model Loop
  input Real u;
  Real x(start = 0, fixed = true), z(start = 1);
  output Real y = z;
equation
  z^3 + z = u + x + 2;
  der(x) = u - x;
end Loop;
"""
CANCELS = """
model Cancels
  Real x(start = 0, fixed = true);
  output Real y = sqrt(x^2 + 1e8) - 1e4;
equation
  der(x) = 1 - x;
end Cancels;
"""
JUMPS: dict[str, Any] = {"inputs": {"u": ([0, 0.1, 0.1, 0.2], [0, 0, 50, 50])}}


def loop(**options: int) -> pliant.Plan:
    return pliant.load(LOOP).realtime(step=0.01, stop=0.2, scenarios=[JUMPS], options={**QUICK, **options})


def test_outputs_through_loops_are_right_where_inputs_jump() -> None:
    plan = loop()
    code, run = plan.code, plan.simulate(stop=0.2, **JUMPS)
    assert plan.evidence.holds
    assert code.options.newton_steps == 2
    assert (code.options.output_steps or 2) > 2
    u = np.where(run.time < 0.1 - 1e-9, 0.0, 50.0)
    assert np.abs(run["y"] ** 3 + run["y"] - (u + run["x"] + 2)).max() < 1e-3


def test_outputs_with_too_few_iterations_do_not_hold() -> None:
    plan = loop(newton_steps=2)
    run = plan.simulate(stop=0.2, **JUMPS)
    assert run["y"][10] > 5.0  # what X_get_outputs gives; the solution is 3.6
    assert plan.evidence.errors["y"] > 1.0
    assert any("outputs differ" in one.text for one in plan.evidence.items)
    assert {"generated code", "error of the compiled step"} <= set(plan.evidence.failing)


def test_outputs_of_float_have_its_rounding() -> None:
    plan = pliant.load(CANCELS).realtime(step=0.01, stop=1.0, options={"precision": "float", **QUICK})
    assert np.ptp(plan.simulate(stop=1.0)["y"]) == 0.0
    assert not plan.evidence.holds
    assert plan.evidence.errors["y"] > 0.5


def test_self_test_compares_outputs_along_the_run(tmp_path: Path) -> None:
    folder = loop().write(tmp_path / "folder")
    build = ["make", "-s", "-C", str(folder), "test", "CFLAGS=-O0"]
    assert subprocess.run(build, capture_output=True, check=False).returncode == 0
    data = next(folder.glob("*data.h"))
    text = data.read_text()
    table = re.search(r"y_table\[\] = \{([^}]*)\}", text)
    assert table
    numbers = table[1].split(",")
    assert len(numbers) == 20  # one for each stored step
    numbers[9] = " 3.0"
    data.write_text(text.replace(table[1], ",".join(numbers)))
    assert "FAILED outputs follow" in subprocess.run(build, capture_output=True, text=True, check=False).stdout


def test_outputs_of_switches_inside_loops_follow_them_in_both_orders() -> None:
    text = """
    model Diode
      Real v(start = 0, fixed = true), vd, s;
      Boolean off(start = true);
      output Real i;
    equation
      10*sin(300*time) = vd + v + 0.1*i;
      off = s < 0;
      vd = if off then s else 0;
      i = if off then 0 else s;
      1e-3*der(v) = i - v/10;
    end Diode;
    """
    for order in (1, 2):
        options = {"certificate": False, "reference": False}
        plan = pliant.load(text).realtime(step=1e-4, stop=0.03, order=order, accuracy=None, options=options)
        item = next(one for one in plan.evidence.items if one.name == "generated code")
        assert item.holds, item.text
