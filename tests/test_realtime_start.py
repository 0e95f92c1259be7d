"""Where written code starts, how it counts time, and what it does where inputs jump at the ends of steps."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import pliant
from pliant.realtime.code.run import Stepper
from pliant.realtime.stages.step import write_code

FAST = {"search": "full", "reference": False, "certificate": False}


def plan_of(body: str, step: float = 0.1, stop: float = 1.0, **more: object) -> pliant.Plan:
    options = {**FAST, **more.pop("options", {})}  # type: ignore[dict-item]
    return pliant.load(f"model M\n{body}\nend M;").realtime(step=step, stop=stop, options=options, **more)  # type: ignore[arg-type]


SUM = """  input Real u(start = 2);
  discrete Real i(start = 0, fixed = true);
  Real x(start = 1, fixed = true);
equation
  der(x) = i - x;
  when sample(0, 0.1) then i = pre(i) + u; end when;"""

MAIN = r"""
#include "M.h"
#include <stdio.h>
int main(void) {
    static M m;
    M_parameters p;
    M_inputs u = {5};
    M_default_parameters(&p);
    if (M_init(&m, &p, &u)) return 1;
    printf("%g ", m.d[0]);
    M_step(&m, &u);
    printf("%g\n", m.d[0]);
    return 0;
}
"""


def test_what_ticks_at_the_start_sees_the_inputs_given(tmp_path: Path) -> None:
    plan = plan_of(SUM, scenarios=[{"inputs": {"u": 0.1}}])
    assert plan.simulate(stop=0.2, inputs={"u": 5})["i"].tolist() == [5.0, 10.0, 15.0]
    folder = plan.write(tmp_path / "m")
    (folder / "main.c").write_text(MAIN)
    subprocess.run(["cc", "-o", "main", "main.c", "M.c", "-lm"], cwd=folder, check=True)
    assert subprocess.run(["./main"], cwd=folder, check=True, capture_output=True, text=True).stdout == "5 10\n"
    example = (folder / "example_main.c").read_text()
    assert example.index("M_in.u = 2.0") < example.index("M_init(&M_instance, &p, &M_in)")
    done = subprocess.run(["make", "test"], cwd=folder, check=True, capture_output=True, text=True).stdout
    assert "another start leads where it led" in done
    readme = (folder / "README.md").read_text()
    assert "Initial equations are not solved on the target" in readme


def test_a_start_that_ignores_its_inputs_fails_the_self_test(tmp_path: Path) -> None:
    folder = plan_of(SUM).write(tmp_path / "m")
    file = folder / "M.c"
    text = file.read_text()
    assert text.count("    start_events(m, u);\n") == 1
    file.write_text(
        text.replace("    start_events(m, u);\n", "    M_inputs other = {2};\n    start_events(m, &other);\n")
    )
    done = subprocess.run(["make", "test"], cwd=folder, check=False, capture_output=True, text=True)
    assert "FAILED another start" in done.stdout


START = """  input Real u;
  parameter Real p = 3;
  Integer first(start = 7, fixed = true);
  discrete Real seen(start = 0, fixed = true), later(start = p, fixed = true);
  Real x(start = 1, fixed = true), z(start = 0.3);
equation
  der(x) = -z;
  z + z^3 = x + u;
  when initial() then first = pre(first) + 1; reinit(x, pre(x) + u); end when;
  when sample(0, 0.2) then seen = z; end when;
  when sample(0.1, 0.2) then later = pre(later) + 1; end when;"""


@pytest.mark.parametrize("form", ["ode", "dae"])
def test_initial_clauses_loops_and_declared_start_values(form: str) -> None:
    plan = plan_of(START, scenarios=[{"inputs": {"u": 0.5}}], options={"form": form})
    stepper = Stepper(plan.code, {"p": 4.0})
    stepper.reset(u=[9.0])
    now = dict(zip(plan.code.memories, stepper.discrete, strict=True))
    z = now["seen"]
    assert now["first"] == 8.0
    assert stepper.x[0] == 10.0
    assert z + z**3 == pytest.approx(19.0, rel=1e-14)
    assert now["later"] == 4.0
    run = plan.simulate(stop=0.4, inputs={"u": 9.0}, parameters={"p": 4.0})
    assert run["first"][0] == 8.0
    assert run["x"][0] == 10.0
    assert run["seen"][0] == z
    assert run["later"].tolist() == [4.0, 5.0, 5.0, 6.0, 6.0]


def test_values_from_initial_equations_are_those_of_the_plan() -> None:
    body = """  input Real u;
  discrete Real d;
  Real x;
initial equation
  der(x) = 0;
  pre(d) = 2*x;
equation
  der(x) = u - x;
  when sample(0.1, 0.1) then d = pre(d) + 1; end when;"""
    plan = plan_of(body, scenarios=[{"inputs": {"u": 3.0}}])
    stepper = Stepper(plan.code)
    stepper.reset(u=[1.0])
    assert stepper.x[0] == pytest.approx(3.0)
    assert stepper.discrete[0] == pytest.approx(6.0)


JUMPS = """  input Real u;
  discrete Real s(start = 0, fixed = true), c(start = 0, fixed = true);
  Real x(start = 0, fixed = true);
equation
  der(x) = u;
  when sample(0, 0.1) then s = u; end when;
  when u > 0.5 then c = pre(c) + 1; end when;"""


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("at", [0.3, 3 * 0.1, 0.3 + 5e-11, 0.3 - 5e-11])
def test_a_jump_on_a_tick(at: float, order: int) -> None:
    """Rows and clocks see the value after it, the integration up to it the value before: nothing is lost."""
    given = {"u": ([0.0, at, at, 2.0], [0.0, 0.0, 1.0, 1.0])}
    plan = plan_of(JUMPS, scenarios=[{"inputs": given}], order=order)
    run = plan.simulate(stop=1.0, inputs=given)
    assert run["s"].tolist() == [0.0] * 3 + [1.0] * 8
    assert run["c"].tolist() == [0.0] * 3 + [1.0] * 8
    assert run["u"].tolist() == [0.0] * 3 + [1.0] * 8
    assert run["x"] == pytest.approx(np.maximum(0.0, 0.1 * np.arange(11) - 0.3), abs=1e-9)
    assert plan.evidence.code_difference == 0.0


def test_held_inputs_are_those_from_the_start_of_the_step_on() -> None:
    given = {"u": ([0.0, 0.3, 0.3, 2.0], [0.0, 0.0, 1.0, 1.0])}
    plan = plan_of(JUMPS, scenarios=[{"inputs": given}], options={"inputs": "held"})
    run = plan.simulate(stop=1.0, inputs=given)
    assert run["s"].tolist() == [0.0] * 4 + [1.0] * 7
    assert run["x"] == pytest.approx(np.maximum(0.0, 0.1 * np.arange(11) - 0.3), abs=1e-12)


def test_phases_keep_their_digits_in_float() -> None:
    body = """  Real x(start = 0, fixed = true), y(start = 0.2, fixed = true);
  discrete Real n(start = 0, fixed = true);
equation
  der(x) = 300*(sin(2*3.141592653589793*50*time) - x);
  der(y) = 10*cos(314.1592653589793*time + y) + 0.001*time - y;
  when time >= 600.0123 then n = pre(n) + 1; end when;"""
    plan = plan_of(body, step=1e-4, stop=0.01, options={"precision": "float"})
    runs = []
    for precision in ("float", "double"):
        stepper = Stepper(write_code(plan.outcome, precision))
        stepper._at(stepper.library.pliant_place(3), np.float64, 1)[0] = 600.0
        runs.append((stepper.run(None, 400).astype(float), stepper.memories.astype(float)))
    assert np.abs(runs[0][0] - runs[1][0]).max() < 1e-5
    assert np.array_equal(runs[0][1], runs[1][1])
    assert 0 < np.argmax(runs[0][1][:, plan.code.memories.index("n")] > 0) < 399
    count = plan.code.operations["step"]
    assert 8 <= count.double < count.total
    assert plan.code.memory["instance"] == Stepper(plan.code).instance_size
    text = plan.code.text
    assert re.search(r"const double \w+ = 314\.1592653589793 \* time_;", text)
    assert "(pl_real)(sin(" in text
    assert write_code(plan.outcome, "double").operations["step"].double == 0


@pytest.mark.skipif(not shutil.which("make"), reason="make is missing")
@pytest.mark.parametrize("order", [1, 2])
def test_the_self_test_knows_jumps(order: int, tmp_path: Path) -> None:
    given = {"u": ([0.0, 0.3, 0.3, 0.5, 0.5, 2.0], [0.0, 0.0, 1.0, 1.0, -1.0, 0.0])}
    folder = plan_of(JUMPS, scenarios=[{"inputs": given}], order=order).write(tmp_path / "m")
    data = (folder / "selftest_data.h").read_text()
    assert "#define N_JUMPS 2" in data
    assert "jump_step[] = {2, 4}" in re.sub(r"\s+", " ", data)
    done = subprocess.run(["make", "test"], cwd=folder, check=True, capture_output=True, text=True)
    assert "ok     discrete variables follow the stored trajectory" in done.stdout
