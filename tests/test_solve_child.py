"""Simulations in a child process: the same to the last bit, and what happens when the child dies."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from problems import problem
from support import compiled, compiled_file

import pliant
from pliant.errors import PliantError
from pliant.solve.run import child

CHILD = {"process": "child"}
BALL = """
model Ball
  Real h(start = 1, fixed = true), v(start = 0, fixed = true);
equation
  der(h) = v;
  der(v) = -9.81;
  when h < 0 then
    reinit(v, -0.8*pre(v));
  end when;
end Ball;
"""
DRIVEN = """
model Driven
  input Real u;
  input Integer k;
  parameter Real rate = 1;
  Real x(start = 0, fixed = true, nominal = rate);
  Real y = x*u;
  discrete Real n(start = 0, fixed = true);
equation
  der(x) = u - rate*x + k;
  when sample(0, 0.3) then
    n = pre(n) + x;
  end when;
end Driven;
"""
END = """
model End
  Real x(start = 0, fixed = true);
equation
  der(x) = 1;
  when x > 1.5 then
    terminate("enough");
  end when;
end End;
"""
POLE = "model Pole Real x(start = 1, fixed = true); equation der(x) = x*x; end Pole;"
LOGARITHM = "model Log Real x(start = 1, fixed = true); Real y = log(x - 0.3); equation der(x) = -1; end Log;"
STILL = "model Still output Real y = sin(time); end Still;"

# a model of one state in C; what it does beside its equation is a macro
ODD = """
#include "pliant.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static pl_status rhs(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real *f) {
    (void)self, (void)u, (void)t;
    ODD;
    f[0] = -x[0];
    f[1] = x[0] - x[1];
    return PL_OK;
}
static const pl_real start[] = {1.0, 0.0};
static const int column[] = {0, PATTERN}, row[] = {0, 1, 1};
const pl_model pliant_model = {.abi = PL_ABI, .name = "odd", .n_x = 2, .x_start = start, .rhs = rhs,
                               .jac = {2, 2, column, row}};
"""


def odd(tmp_path: Path, what: str, pattern: str = "2, 3") -> pliant.Model:
    (tmp_path / "odd.c").write_text(ODD)
    return pliant.native(tmp_path / "odd.c", defines={"ODD": what, "PATTERN": pattern})


def same(one: pliant.Result, other: pliant.Result) -> None:
    assert one.time.tobytes() == other.time.tobytes()
    assert np.asarray(one.values).tobytes() == np.asarray(other.values).tobytes()
    counters = [{k: v for k, v in of.stats.as_dict().items() if k != "seconds"} for of in (one, other)]
    assert counters[0] == counters[1]
    assert [str(event) for event in one.events] == [str(event) for event in other.events]
    for first, second in zip(one.events, other.events, strict=True):
        assert first.before.tobytes() == second.before.tobytes()
        assert first.after.tobytes() == second.after.tobytes()
    assert one.steps is not None
    assert other.steps is not None
    assert all(np.array_equal(one.steps[name], other.steps[name]) for name in one.steps)
    assert one.record is not None
    assert other.record is not None
    records = one.record(one), other.record(other)
    assert np.array_equal(records[0].incidents.time, records[1].incidents.time)
    assert np.array_equal(records[0].limits, records[1].limits)
    assert one.complete == other.complete


def both(model: pliant.Model, options: dict[str, Any] | None = None, **more: Any) -> None:
    """The same result, or the same error with the same partial result."""
    ends: list[pliant.Result | PliantError] = []
    for process in ({}, CHILD):
        try:
            ends.append(model.simulate(options={**(options or {}), **process}, **more))
        except PliantError as error:
            ends.append(error)
    here, there = ends
    assert type(here) is type(there)
    if isinstance(here, PliantError):
        assert str(here) == str(there)
        here, there = here.result, there.result  # type: ignore[attr-defined,union-attr]
    same(here, there)  # type: ignore[arg-type]


# ------------------------------------------------------------------------------------------------------ identity


@pytest.mark.parametrize("points", [None, 33])
@pytest.mark.parametrize("text", [BALL, END, POLE, LOGARITHM, STILL], ids=lambda text: text.split()[1])
def test_events_ends_and_failures(text: str, points: int | None) -> None:
    both(pliant.load(text), stop=2.0, points=points)


@pytest.mark.parametrize("name", ["hires", "chemakzo", "vdpol_mu1000"])
@pytest.mark.parametrize("method", ["auto", "bdf", "radau5"])
def test_problems(name: str, method: str) -> None:
    both(compiled(name), stop=problem(name).t_end, method=method, points=None)


@pytest.mark.parametrize("method", ["dopri5", "rk4", "lieuler"])
def test_other_methods(method: str) -> None:
    both(compiled("vdpol_mild"), stop=1.0, method=method, step=None if method == "dopri5" else 0.01)


def test_limits_and_options() -> None:
    both(compiled("hires"), {"max_steps": 20}, stop=100.0)
    both(compiled("hires"), {"jacobian": "differences", "increments": "curvature", "curvature": 1e-3}, stop=1.0)
    both(compiled("hires"), {"mask": np.eye(8, dtype=bool)}, stop=0.1, method="lieuler", step=0.001)


INPUTS: dict[str, Any] = {
    "constants": {"u": 2.0, "k": 1},
    "table": {"u": ([0, 1, 2], [0, 1, 0])},
    "jumps": {"u": ([0, 0.5, 0.5, 1, 1, 1.5], [0, 0, 1, 1, 2, 2]), "k": ([0, 1.1], [0, 3])},
    "function": {"u": lambda t: np.sin(9 * t)},
    "pulse": {"u": lambda t: float(t > 0.77), "k": ([0, 1], [1, 2])},
}


@pytest.mark.parametrize("kind", INPUTS)
def test_inputs(kind: str) -> None:
    model = pliant.load(DRIVEN)
    both(model, stop=2.0, inputs=INPUTS[kind])
    both(model, stop=2.0, inputs=INPUTS[kind], points=None, method="bdf", parameters={"rate": 3.0})


def test_parameters_of_the_instance() -> None:
    jumps = {"source": ([0.0, 1.0, 1.0, 2.5, 2.5, 4.0], [0.0, 0.0, 1.0, 1.0, -1.0, 0.0])}
    both(compiled_file("circuit"), stop=4.0, inputs=jumps, parameters={"level": 0.3})


def test_an_exception_of_an_input_passes_through() -> None:
    def broken(t: float) -> float:
        if t > 1.0:
            raise RuntimeError("no more")
        return t

    with pytest.raises(RuntimeError, match="no more") as caught:
        pliant.load(DRIVEN).simulate(stop=2.0, inputs={"u": broken}, options=CHILD)
    assert caught.value.pliant_result.time[-1] > 0.5  # type: ignore[attr-defined]


def test_a_wrong_pattern_is_named(tmp_path: Path) -> None:
    both(odd(tmp_path, "(void)0", "1, 2"), stop=1.0)


def test_what_a_model_prints_does_no_harm(tmp_path: Path) -> None:
    both(odd(tmp_path, 'printf("t = %g\\n", t), fflush(stdout)'), stop=1.0)


def test_progress() -> None:
    seen: list[float] = []
    compiled_file("slow").simulate(stop=0.5, options=CHILD, progress=lambda p: seen.append(p.time))
    assert seen[-1] == 0.5


# ---------------------------------------------------------------------------------------------------- bad children


def descriptors() -> int:
    folder = Path("/proc/self/fd")
    return len(list(folder.iterdir())) if folder.is_dir() else 0


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize(
    ("what", "words"), [("if (t > 0.5) abort()", "SIGABRT"), ("if (t > 0.5) _exit(7)", "code 7")], ids=["abort", "exit"]
)
def test_a_child_that_dies(tmp_path: Path, what: str, words: str) -> None:
    model, before = odd(tmp_path, f"static int n; if (n++ % 50 == 0) usleep(20000); {what}"), descriptors()
    with pytest.raises(pliant.ProcessError, match=words) as caught:
        model.simulate(
            stop=1.0, points=None, rtol=1e-10, atol=1e-10, method="dopri5", options=CHILD | {"max_step": 1e-3}
        )
    result = caught.value.result
    assert result is not None
    assert not result.complete
    assert 100 < len(result.time) == len(result["x[0]"])
    assert 0.0 < result.time[-1] <= 0.5
    assert result["x[0]"] == pytest.approx(np.exp(-result.time), rel=1e-7)
    assert result.stats.n_steps >= len(result.time) - 1
    assert descriptors() == before
    same_again = odd(tmp_path, "(void)0").simulate(stop=1.0, options=CHILD)
    assert same_again.complete


def test_a_timeout_ends_the_child(tmp_path: Path) -> None:
    model, begin = odd(tmp_path, "if (t > 0.1) sleep(60)"), time.perf_counter()
    with pytest.raises(pliant.SimulationTimeout) as caught:
        model.simulate(stop=1.0, timeout=0.5, options=CHILD)
    assert time.perf_counter() - begin < 20.0
    assert caught.value.result is not None


def test_a_child_that_closes_its_pipe_and_stays(tmp_path: Path) -> None:
    closes = "if (t > 0.5) { for (int k = 0; k < 20; k++) close(k); for (;;) sleep(1); }"
    model, begin, before = odd(tmp_path, closes), time.perf_counter(), descriptors()
    with pytest.raises(pliant.ProcessError, match="closed its pipe and did not end"):
        model.simulate(stop=1.0, timeout=1.0, options=CHILD)
    assert time.perf_counter() - begin < 4.0  # not the seconds that an end may take
    assert descriptors() == before


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c_ends_the_child(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Any] = []
    child.program()  # built before
    model = odd(tmp_path, "if (t > 0.1) sleep(60)")
    monkeypatch.setattr(child.subprocess, "Popen", _noting(started, child.subprocess.Popen))
    threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    with pytest.raises(pliant.SimulationInterrupted) as caught:
        model.simulate(stop=1.0, options=CHILD)
    assert caught.value.result is not None
    assert started[-1].poll() is not None


def _noting(started: list[Any], popen: Any) -> Any:
    def start(*arguments: Any, **more: Any) -> Any:
        started.append(popen(*arguments, **more))
        return started[-1]

    return start


def test_models_of_python_functions_are_refused() -> None:
    with pytest.raises(pliant.ArgumentError, match="Python functions"):
        pliant.ode(lambda t, x: -x, [1.0]).simulate(stop=1.0, options=CHILD)
    with pytest.raises(pliant.ArgumentError, match="process must be one of own, child"):
        compiled("hires").simulate(stop=1.0, options={"process": "thread"})


def test_a_library_that_is_gone_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    model = compiled("hires")
    monkeypatch.setattr(type(model._numeric), "library_path", "/nowhere/hires.so")
    with pytest.raises(pliant.ProcessError, match=r"cannot be loaded: /nowhere/hires\.so"):
        model.simulate(stop=1.0, options=CHILD)
