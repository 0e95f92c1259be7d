"""Many runs are what single runs are, bit for bit, wherever they run; failures stay in their places."""

from __future__ import annotations

import concurrent.futures
import math
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from problems import problem

import pliant

PLAIN = """
model Plain
  parameter Real k = 1, m(min = 0) = 2;
  input Real u(start = 0);
  Real x(start = 1, fixed = true), v(start = 0, fixed = true), a;
equation
  der(x) = v;
  m*der(v) = u - k*x - 0.1*v;
  a = -x;
end Plain;
"""
EVENTS = """
model Ball
  parameter Real e = 0.7;
  Real h(start = 1, fixed = true), v(start = 0, fixed = true);
  discrete Integer n(start = 0, fixed = true);
equation
  der(h) = v;
  der(v) = -9.81;
  when h < 0 then
    reinit(v, -e*pre(v));
    n = pre(n) + 1;
  end when;
end Ball;
"""
SCALED = """
model Scaled
  parameter Real p = 1;
  Real x(start = p, fixed = true, nominal = p);
equation
  der(x) = -x;
end Scaled;
"""
TEXTS = {"plain": PLAIN, "events": EVENTS, "scaled": SCALED}
DESIGNS = {
    "plain": {"k": (0.5, 2.0), "m": (1.0, 3.0), "u": (-1.0, 1.0), "start(x)": (0.5, 1.5), "stop": (1.0, 3.0)},
    "events": {"e": (0.3, 0.9), "start(h)": (0.5, 2.0)},
    "scaled": {"p": (0.1, 10.0), "start(x)": (1.0, 2.0)},
}


def max_of_x(result: pliant.Result) -> dict[str, float]:
    return {"high": float(np.max(result.values[:, 0])), "steps": result.stats.n_steps}


@pytest.fixture(scope="module")
def models() -> dict[str, pliant.Model]:
    return {name: pliant.load(text) for name, text in TEXTS.items()}


def arguments(case: Any, name: str) -> dict[str, Any]:
    parts = {"parameters": case.parameters, "start_values": case.start_values, "inputs": case.inputs}
    return parts | {"stop": case.stop if case.stop is not None else 2.0}


KEEPS = {"all": None, "final": "final", "names": ("names",), "function": max_of_x}
EVERYTHING = [(name, how, "threads") for name in TEXTS for how in KEEPS]
EVERYTHING += [("plain", "all", "processes"), ("events", "function", "processes"), ("scaled", "final", "processes")]


@pytest.mark.parametrize(("name", "how", "executor"), EVERYTHING)
def test_the_same_as_single_runs(models: dict[str, pliant.Model], name: str, how: str, executor: str) -> None:
    keep: Any = KEEPS[how]
    model, design = models[name], pliant.design.latin_hypercube(DESIGNS[name], n=12)
    first = {"plain": "x", "events": "h", "scaled": "x"}[name]
    kept = [first] if keep == ("names",) else keep
    study = model.simulate_many(design, stop=2.0, keep=kept, executor=executor, workers=2, rtol=1e-7)
    assert len(study) == 12
    assert study.stats.n == 12
    assert not study.failures
    for k in range(12):
        alone = model.simulate(**arguments(study.cases.case(k), name), rtol=1e-7)
        if keep is None:
            assert np.array_equal(study[k].values, alone.values)
            assert np.array_equal(study[k].time, alone.time)
            assert study[k].stats.n_steps == alone.stats.n_steps
            assert study[k].stats.method == alone.stats.method
            assert [one.time for one in study[k].events] == [one.time for one in alone.events]
        elif keep == "final":
            assert study[k] == alone.final
        elif keep == ("names",):
            assert np.array_equal(study[k][first], alone[first])
            assert "v" not in study[k].names
        else:
            assert study[k] == max_of_x(alone)
    table = study.table()
    assert len(table) == 12
    assert table["error"].isna().all()


def test_results_of_studies_can_do_what_results_can(models: dict[str, pliant.Model], tmp_path: Path) -> None:
    study = models["plain"].simulate_many([{"parameters": {"k": 3.0}}], stop=2.0, inputs={"u": 0.5})
    result, alone = study[0], models["plain"].simulate(stop=2.0, parameters={"k": 3.0}, inputs={"u": 0.5})
    for name in ("x", "a", "der(v)", "u", "k"):
        assert np.array_equal(result[name], alone[name])
    assert np.array_equal(result.steps["h"], alone.steps["h"])
    assert str(result.explain()).splitlines()[1:] == str(alone.explain()).splitlines()[1:]
    result.save(tmp_path / "r.csv")
    assert pliant.load_result(tmp_path / "r.csv").final["x"] == alone.final["x"]
    assert result.manifest["model"] == alone.manifest["model"]


def test_native_models_and_python_functions() -> None:
    hires = problem("hires")
    model = pliant.native(hires.c_file)
    name = model._numeric.names.x[0]
    design = pliant.design.grid({f"start({name})": [0.5, 1.0, 1.5]})
    study = model.simulate_many(design, stop=hires.t_end, keep="final")
    assert study.stats.workers >= 1
    for k, value in enumerate((0.5, 1.0, 1.5)):
        alone = model.simulate(stop=hires.t_end, start_values={name: value})
        assert study[k] == alone.final


def decay(t: float, x: Any) -> list[float]:
    return [-x[0]]


def stiff(t: float, x: Any) -> list[float]:
    if x[0] > 1.9:
        raise ZeroDivisionError("too large")
    return [-1000.0 * (x[0] - math.cos(t))]


def test_functions_of_python_run_in_processes() -> None:
    model = pliant.ode(stiff, [1.0])
    design = pliant.design.grid({"start(x[0])": [1.0, 1.5, 2.0]})
    study = model.simulate_many(design, stop=1.0, keep="final", executor="processes", workers=1)
    assert isinstance(study[2], ZeroDivisionError)
    assert list(study.failures) == [2]
    assert study[1]["x[0]"] == model.simulate(stop=1.0, start_values={"x[0]": 1.5}).final["x[0]"]
    threads = model.simulate_many(design, stop=1.0, keep="final", executor="threads", workers=2)
    assert threads[1] == study[1]
    assert isinstance(threads[2], ZeroDivisionError)


HOSTILE = r"""
#include "pliant.h"
#include <stddef.h>
typedef struct { double p; } inst;
static pl_status set(void *self, const pl_real *p) { ((inst *)self)->p = p[0]; return PL_OK; }
static pl_status f(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real *dx) {
    (void)u;
    double p = ((inst *)self)->p;
    if (p == 50 && t > .5) { volatile int *q = NULL; *q = 1; }
    if (p == 60 && t > .5) for (volatile int i = 0;;) i++;
    dx[0] = p == 70 ? 0.0 / 0.0 * x[0] : -x[0];
    return PL_OK;
}
static const char *const names[] = {"x"};
static const char *const pn[] = {"p"};
static const pl_real x0[] = {1};
static const pl_real p0[] = {1};
const pl_model pliant_model = {.abi = PL_ABI, .n_x = 1, .n_p = 1, .memory_size = sizeof(inst), .x_name = names,
    .p_name = pn, .x_start = x0, .p_start = p0, .set_parameters = set, .rhs = f};
"""


def test_a_crash_a_case_without_end_and_an_error_stay_in_their_places(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pliant.batch.workers.processes.GRACE", 0.5)
    file = tmp_path / "hostile.c"
    file.write_text(HOSTILE)
    model = pliant.native(file)
    design = pliant.design.grid({"p": np.arange(100.0)})
    study = model.simulate_many(design, stop=1.0, keep="final", case_timeout=0.5, workers=2)
    assert sorted(study.failures) == [50, 60, 70]
    assert isinstance(study[50], pliant.CaseError)
    assert "killed its worker twice" in str(study[50])
    assert isinstance(study[60], pliant.CaseError)
    assert "ran out of time" in str(study[60])
    assert isinstance(study[70], pliant.NonFiniteError)
    assert all(study[k]["x"] == study[0]["x"] for k in range(100) if k not in (50, 60, 70))
    assert study.stats.n_failed == 3
    assert "3 failed" in str(study)


def test_time_out_of_steps_without_end(models: dict[str, pliant.Model]) -> None:
    slow = "model S\n parameter Real w = 1; Real x(start=0,fixed=true);\nequation\n der(x) = cos(w*time);\nend S;\n"
    model = pliant.load(slow)
    begin = time.monotonic()
    study = model.simulate_many([{"parameters": {"w": 1.0}}, {"parameters": {"w": 1e9}}], stop=1.0, case_timeout=0.5)
    assert time.monotonic() - begin < 20
    assert isinstance(study[0], pliant.Result)
    assert isinstance(study[1], pliant.CaseError)


def test_any_executor(models: dict[str, pliant.Model]) -> None:
    design = pliant.design.grid({"k": np.linspace(1, 2, 7)})
    expected = models["plain"].simulate_many(design, stop=2.0, keep="final")
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        study = models["plain"].simulate_many(design, stop=2.0, keep="final", executor=pool)
        assert list(study) == list(expected)
    with pytest.raises(pliant.CaseError, match="0 of 7") as caught:
        models["plain"].simulate_many(design, stop=2.0, keep="final", executor=pool)  # shut down by now
    assert len(caught.value.result) == 7


def test_what_cannot_travel_is_said_at_once(models: dict[str, pliant.Model]) -> None:
    with pytest.raises(pliant.ArgumentError, match="keep"):
        models["plain"].simulate_many(
            [{"parameters": {"k": 1.0}}], stop=1.0, keep=lambda result: 1.0, executor="processes"
        )
    study = models["plain"].simulate_many([{"parameters": {"k": 1.0}}], stop=1.0, keep=len)
    assert study[0] == 500


def test_progress_and_stats(models: dict[str, pliant.Model]) -> None:
    seen: list[pliant.StudyProgress] = []
    study = models["plain"].simulate_many(
        pliant.design.grid({"k": np.linspace(1, 2, 200)}), stop=1.0, keep="final", progress=seen.append
    )
    assert seen
    assert seen[-1].done == 200
    assert seen[-1].fraction == 1.0
    assert seen[-1].rate > 0
    assert study.stats.as_dict().keys() == {"n", "n_failed", "seconds", "workers"}
    assert study[-1] == study[199]
    assert len(study[:5]) == 5
    with pytest.raises(IndexError):
        _ = study[200]


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("executor", ["threads", "processes"])
def test_ctrl_c_keeps_what_is_done(executor: str, tmp_path: Path) -> None:
    script = tmp_path / "long.py"
    script.write_text(
        textwrap.dedent(f"""
        import numpy as np, pliant
        text = '''model S
         parameter Real w = 1; Real x(start=0,fixed=true);
        equation
         der(x) = cos(w*time);
        end S;
        '''
        def report(p):
            if p.done > 0:
                print("going", flush=True)
        try:
            pliant.load(text).simulate_many(pliant.design.grid({{"w": np.linspace(1e4, 2e4, 100000)}}), stop=1.0,
                                            keep="final", executor="{executor}", workers=1, progress=report)
        except pliant.SimulationInterrupted as error:
            study = error.result
            print("kept", 0 < study.n_done < len(study), flush=True)
        """)
    )
    process = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline().strip() == "going"
        process.send_signal(signal.SIGINT)
        rest, _ = process.communicate(timeout=60)
    finally:
        process.kill()
    assert "kept True" in rest


def test_a_worker_that_is_killed_loses_nothing(models: dict[str, pliant.Model]) -> None:
    design = pliant.design.grid({"k": np.linspace(1, 2, 4000)})
    killed = threading.Event()

    def kill(progress: pliant.StudyProgress) -> None:
        if progress.done > 50 and not killed.is_set():
            command = ["pgrep", "-P", str(os.getpid())]  # forked, or programs of their own
            found = subprocess.run(command, check=False, capture_output=True)
            for pid in found.stdout.split()[:1]:
                os.kill(int(pid), signal.SIGKILL)
                killed.set()

    study = models["plain"].simulate_many(
        design, stop=40.0, keep="final", executor="processes", workers=2, progress=kill
    )
    assert killed.is_set()
    assert not study.failures
    assert study.complete
    expected = models["plain"].simulate_many(design, stop=40.0, keep="final")
    assert list(study) == list(expected)
