"""Models without states are ordinary models: everything that a model can do works with n_x = 0."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

import pliant

MIXED = """
model Mixed
  input Real u(start = 0.5);
  parameter Real k = 2;
  output Real y;
  Real a, b;
  discrete Real n(start = 0, fixed = true);
  Boolean late;
equation
  a = k*sin(time) + u;
  b + b^3 = a + a^3;
  y = 3*b;
  late = time > 0.35;
  when sample(0.1, 0.1) then
    n = pre(n) + 1;
  end when;
end Mixed;
"""
GAIN = "model Gain\n  input Real u;\n  output Real y;\n  parameter Real k = -2;\nequation\n  y = k*u;\nend Gain;\n"
PLANT = """
model Plant
  input Real u;
  output Real y;
  Real x(start = 1, fixed = true);
equation
  der(x) = u;
  y = x;
end Plant;
"""
NATIVE = """
#include "pliant.h"
#include <math.h>
static pl_status rhs(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real *f) {
    (void)self, (void)t, (void)x, (void)u, (void)f;
    return PL_OK;
}
static pl_status outputs(void *self, pl_real t, const pl_real *x, const pl_real *u, int n, const int *index,
                         pl_real *y) {
    (void)self, (void)x, (void)u, (void)index;
    for (int k = 0; k < n; k++) y[k] = sin(t);
    return PL_OK;
}
static pl_status roots(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real *g) {
    (void)self, (void)x, (void)u;
    g[0] = sin(3 * t) - 0.5;
    return PL_OK;
}
static const char *const y_name[] = {"y"};
const pl_model pliant_model = {
    .abi = PL_ABI, .n_y = 1, .y_name = y_name, .rhs = rhs, .outputs = outputs, .n_roots = 1, .roots = roots};
"""
METHODS = [
    ("auto", {}),
    ("bdf", {}),
    ("radau5", {}),
    ("dopri5", {}),
    ("lieuler", {"step": 0.05}),
    ("euler", {"step": 0.05}),
    ("rk4", {"step": 0.05}),
]


@pytest.fixture(scope="module")
def mixed() -> pliant.Model:
    return pliant.load(MIXED)


@pytest.mark.parametrize(("method", "step"), METHODS)
@pytest.mark.parametrize("points", [21, None])
def test_simulates_with_every_method(
    mixed: pliant.Model, method: str, step: dict[str, float], points: int | None
) -> None:
    table = ([0.0, 0.42, 0.42, 1.0], [0.0, 0.1, 1.0, 0.5])
    result = mixed.simulate(stop=1.0, method=method, points=points, inputs={"u": table}, **step)
    away = np.abs(result.time - 0.42) > 1e-9  # there u has two values
    t = result.time[away]
    u = np.where(t < 0.42, t * 0.1 / 0.42, 1.0 - 0.5 * (t - 0.42) / 0.58)
    assert np.allclose(result["y"][away], 3 * (2 * np.sin(t) + u), rtol=1e-9, atol=1e-9)
    assert result["n"][-1] == 10
    assert any(abs(event.time - 0.35) < 1e-12 for event in result.events)
    assert result.states == ()


def test_nothing_stands_in_for_a_state(mixed: pliant.Model) -> None:
    assert mixed._numeric.n_x == 0
    assert "dummy" not in mixed._numeric.generated.text  # type: ignore[attr-defined]
    assert not any(name.startswith("$") for name in mixed.simulate(stop=1.0, inputs={"u": 1.0}).names)


def test_seven_jumps_of_the_input(mixed: pliant.Model) -> None:
    at = np.linspace(0.0, 1.0, 9)
    times, values = np.repeat(at, 2)[1:-1], np.repeat(np.arange(8.0), 2)
    result = mixed.simulate(stop=1.0, points=[0.05, 0.95], inputs={"u": (times, values)})
    assert result["y"][:2] == pytest.approx([3 * 2 * np.sin(0.05), 3 * (2 * np.sin(0.95) + 7.0)])


def test_is_linearised_and_rests(mixed: pliant.Model) -> None:
    found = mixed.linearize(t=0.2, inputs={"u": 0.3})
    assert found.A.shape == (0, 0)
    assert pytest.approx(np.array([[3.0]])) == found.D
    rest = mixed.steady_state(inputs={"u": 0.25})
    assert rest["y"] == pytest.approx(0.75)
    assert mixed.jacobian(inputs={"u": 0.3}).matrix.shape == (0, 0)
    assert not mixed.check_jacobian(inputs={"u": 0.3}).findings


def test_is_explained_saved_and_read(mixed: pliant.Model, tmp_path: Path) -> None:
    result = mixed.simulate(stop=1.0, inputs={"u": 0.5})
    assert "Mixed" in str(result.explain())
    for suffix in ("csv", "mat", "parquet"):
        place = tmp_path / f"run.{suffix}"
        result.save(place)
        assert np.allclose(pliant.load_result(place)["y"], result["y"])


def test_is_part_of_a_coupling() -> None:
    coupling = pliant.Coupling()
    coupling.add("gain", pliant.load(GAIN))
    coupling.add("plant", pliant.load(PLANT))
    coupling.connect("gain.y", "plant.u")
    coupling.connect("plant.y", "gain.u")
    result = coupling.simulate(stop=1.0, step=0.01)
    assert result["plant.x"][-1] == pytest.approx(np.exp(-2.0), abs=1e-4)


def test_couplings_may_consist_of_such_parts_alone() -> None:
    model = pliant.load(GAIN)
    coupling = pliant.Coupling()
    coupling.add("one", model)
    coupling.add("two", model, parameters={"k": 3.0})
    coupling.connect("one.y", "two.u")
    result = coupling.simulate(stop=1.0, step=0.1, inputs={"one.u": np.sin})
    assert np.allclose(result["two.y"], -6.0 * np.sin(result.time))


@pytest.mark.parametrize(("method", "step"), METHODS)
def test_a_c_file_may_have_none(tmp_path: Path, method: str, step: dict[str, float]) -> None:
    source = tmp_path / "wave.c"
    source.write_text(NATIVE)
    result = pliant.native(source).simulate(stop=1.0, method=method, **step)
    assert np.allclose(result["y"], np.sin(result.time))
    first = np.arcsin(0.5)
    assert [event.time for event in result.events] == pytest.approx([first / 3, (np.pi - first) / 3], abs=1e-12)


def test_a_plan_is_a_plain_evaluation(mixed: pliant.Model, tmp_path: Path) -> None:
    plan = mixed.realtime(step=0.01, stop=1.0, scenarios=[{"inputs": {"u": 0.5}}])
    assert plan.evidence.holds
    assert "no states: a step is a plain evaluation" in plan.evidence.text
    assert "a plain evaluation" in repr(plan)
    result = plan.simulate(stop=1.0, inputs={"u": 0.5})
    assert np.allclose(result["y"], 3 * (2 * np.sin(result.time) + 0.5))
    folder = plan.write(tmp_path / "step")
    assert " x[" not in (folder / "Mixed.h").read_text()
    assert "no states" in (folder / "README.md").read_text()
    assert "no states" in plan.report(tmp_path / "plan.html").read_text()
    plan.plot(tmp_path / "plan.png")
    assert plan.baselines() == []


def test_whole_numbers_counted_by_a_clock_alone() -> None:
    text = """
    model Count
      output Integer n(start = 0, fixed = true);
    equation
      when sample(0, 0.1) then
        n = pre(n) + 1;
      end when;
    end Count;
    """
    plan = pliant.load(text).realtime(step=0.05, stop=1.0)
    assert plan.evidence.holds
    assert plan.code.y_names == ("n",)
    assert plan.simulate(stop=1.0)["n"][-1] == 11


def test_written_code_of_time_alone_has_no_warnings(tmp_path: Path) -> None:
    plan = pliant.load("model Only output Real y = sin(time); end Only;").realtime(step=0.05, stop=1.0)
    folder = plan.write(tmp_path / "only")
    words = ["make", "-s", "-C", str(folder), "Only.o", "CFLAGS=-O0 -std=c99 -Wall -Wextra -Werror -pedantic"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
