"""Outputs never change the steps; inputs, parameters and start values by name; progress, time-out, Ctrl-C."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from problems import Array, problem
from support import MODELS, compiled, compiled_file

import pliant
from pliant import Progress, SimulationInterrupted, SimulationTimeout
from pliant.solve.binding import runtime

METHODS = ["auto", "bdf", "radau5", "dopri5", "rk4", "lieuler", "euler"]


def how(method: str) -> dict[str, Any]:
    return {"method": method, **({"step": 0.01} if method in ("rk4", "lieuler", "euler") else {})}


# -------------------------------------------------------------------------------- outputs do not change steps


@pytest.mark.parametrize("method", METHODS)
def test_points_do_not_change_the_steps(method: str) -> None:
    p, rng = problem("vdpol_mild"), np.random.default_rng(7)
    wanted: list[Any] = [2, 500, None, np.array([3.3]), np.sort(rng.uniform(0, 12.0, 1000))]
    runs = [compiled(p.name).simulate(12.0, points=points, **how(method)) for points in wanted]
    every = runs[2]
    for run in runs:
        for key in ("time", "h", "order", "method"):
            np.testing.assert_array_equal(run.steps[key], every.steps[key])
        assert run.stats.n_rhs == every.stats.n_rhs
    for run in (runs[0], runs[1]):
        assert run.time[-1] == 12.0
        np.testing.assert_array_equal(run.values[-1], every.values[-1])
        np.testing.assert_array_equal(run.values[0], p.x0)
    np.testing.assert_array_equal(runs[4].time, wanted[4])
    assert list(runs[3].time) == [3.3]


def test_auto_with_a_handover_does_not_depend_on_points() -> None:
    p, model = problem("vdpol_stiff"), compiled("vdpol_stiff")
    few, many = (model.simulate(p.t_end, rtol=1e-9, atol=1e-3, points=points) for points in (2, 3001))
    assert few.stats.method == many.stats.method
    np.testing.assert_array_equal(few.values[-1], many.values[-1])
    np.testing.assert_array_equal(few.steps["time"], many.steps["time"])


@pytest.mark.parametrize("method", METHODS)
def test_points_none_gives_the_steps(method: str) -> None:
    p = problem("vdpol_mild")
    result = compiled(p.name).simulate(20, points=None, **how(method))
    assert len(result) == result.stats.n_steps + 1
    np.testing.assert_array_equal(result.time[1:], result.steps["time"])
    np.testing.assert_allclose(np.diff(result.time), result.steps["h"], rtol=1e-9, atol=1e-14)
    assert result.time[0] == 0.0
    assert result.time[-1] == 20.0


def test_more_steps_than_the_first_memory_holds() -> None:
    result = compiled("vdpol_mild").simulate(20, points=None, method="euler", step=1e-3)
    assert len(result) == 20001
    assert result.stats.n_steps == len(result.steps["time"]) == 20000
    np.testing.assert_allclose(result.time, np.arange(20001) * 1e-3, atol=1e-9)


def test_repeated_and_end_points() -> None:
    result = compiled("vdpol_mild").simulate(2, points=[0.0, 0.0, 1.0, 1.0, 2.0, 2.0])
    assert list(result.time) == [0, 0, 1, 1, 2, 2]
    np.testing.assert_array_equal(result.values[::2], result.values[1::2])


def test_a_fixed_step_that_does_not_divide_the_time() -> None:
    result = compiled("vdpol_mild").simulate(1.0, points=None, method="rk4", step=0.3)
    np.testing.assert_allclose(result.time, [0, 0.3, 0.6, 0.9, 1.0], atol=1e-12)
    assert result.time[-1] == 1.0


@pytest.mark.parametrize("wanted", [["z"], ["y"], ["z", "y"], []])
def test_selected_states(wanted: list[str]) -> None:
    p = problem("vdpol_mild")
    whole, part = (compiled(p.name).simulate(20, outputs=o) for o in (None, wanted))
    assert set(part.values.T.shape[:1]) == {len(wanted)}
    for name in wanted:
        np.testing.assert_array_equal(part[name], whole[name])
    for name in {"y", "z"} - set(wanted):
        assert name not in part
        with pytest.raises(pliant.UnknownNameError, match="not recorded"):
            part[name]


def test_selected_outputs_of_a_model() -> None:
    model = compiled_file("circuit")
    whole = model.simulate(1, inputs={"source": 3.0})
    part = model.simulate(1, inputs={"source": 3.0}, outputs=["power", "source"])
    np.testing.assert_array_equal(part["power"], whole["power"])
    np.testing.assert_array_equal(part["source"], np.full(len(part), 3.0))
    assert "v" not in part
    assert "i" not in part
    one = model.simulate(1, inputs={"source": 3.0}, outputs="i")
    np.testing.assert_array_equal(one["i"], whole["i"])


# ------------------------------------------------------------- inputs, parameters, start values: R C v' = u - v


def close(result: pliant.Result, v: Array, atol: float = 2e-7) -> None:
    np.testing.assert_allclose(result["v"], v, rtol=0, atol=atol)


def run(**more: Any) -> pliant.Result:
    return compiled_file("circuit").simulate(**({"stop": 4.0, "rtol": 1e-9, "points": 81} | more))


@pytest.mark.parametrize("method", ["auto", "bdf", "radau5", "dopri5"])
def test_constant_inputs(method: str) -> None:
    r = run(inputs={"source": 3.0, "bias": np.float64(-1.0)}, method=method)
    close(r, 2 * (1 - np.exp(-r.time)))
    np.testing.assert_allclose(r["i"], (2 - r["v"]) / 2, atol=1e-15)
    np.testing.assert_allclose(r["power"], 2 * r["i"], atol=1e-15)
    np.testing.assert_array_equal(r["bias"], np.full(81, -1.0))


def test_default_inputs_are_the_models() -> None:
    r = run(start_values={"v": 1.0})
    close(r, np.exp(-r.time))


@pytest.mark.parametrize("method", ["auto", "bdf", "radau5", "dopri5"])
def test_table_of_straight_lines(method: str) -> None:
    """A ramp to 2 at t = 2, then held: outside the table the last value holds."""
    r = run(inputs={"source": ([0.0, 2.0], [0.0, 2.0])}, method=method)
    at2 = 1 + math.exp(-2)
    exact = np.where(r.time <= 2, r.time - 1 + np.exp(-r.time), 2 + (at2 - 2) * np.exp(-(r.time - 2)))
    close(r, exact)
    np.testing.assert_allclose(r["source"], np.minimum(r.time, 2.0), atol=1e-15)


@pytest.mark.parametrize("method", ["auto", "bdf", "radau5", "dopri5"])
def test_table_with_jumps(method: str) -> None:
    """0, from t = 1 on 1, from t = 2.5 on -1: the solver stops at both and nowhere else."""
    table = ([0.0, 1.0, 1.0, 2.5, 2.5], [0.0, 0.0, 1.0, 1.0, -1.0])
    r = run(inputs={"source": table, "bias": 0.0}, method=method)
    up = 1 - np.exp(-(r.time - 1))
    down = -1 + (1 - math.exp(-1.5) + 1) * np.exp(-(r.time - 2.5))
    close(r, np.where(r.time <= 1, 0.0, np.where(r.time <= 2.5, up, down)))
    assert {1.0, 2.5} <= set(r.steps["time"])
    away = (np.abs(r.time - 1.0) > 1e-9) & (np.abs(r.time - 2.5) > 1e-9)
    u = np.where(r.time < 1, 0.0, np.where(r.time < 2.5, 1.0, -1.0))
    np.testing.assert_array_equal(r["source"][away], u[away])
    np.testing.assert_allclose(r["i"][away], (u - r["v"])[away] / 2, atol=1e-14)


def test_columns_agree_at_a_jump() -> None:
    """At the jump itself a row holds the values of one side: i belongs to the source beside it."""
    for points in ([0.0, 1.0, 2.0], None):
        r = run(inputs={"source": ([0.0, 1.0, 1.0], [0.0, 0.0, 1.0])}, stop=2.0, points=points)
        np.testing.assert_allclose(r["i"], (r["source"] - r["v"]) / 2, atol=1e-14)


@pytest.mark.parametrize("beside", [{}, {"bias": ([0.0, 4.0], [0.0, 0.0])}], ids=["alone", "beside another"])
def test_table_that_begins_with_a_jump(beside: dict[str, Any]) -> None:
    """Before the first time its first value holds, whatever other tables there are."""
    r = run(inputs={"source": ([0.5, 0.5], [0.0, 1.0])} | beside)
    close(r, np.where(r.time <= 0.5, 0.0, 1 - np.exp(-(r.time - 0.5))))


def test_two_tables_with_different_times() -> None:
    r = run(inputs={"source": ([0.0, 0.5], [1.0, 1.0]), "bias": ([0.0, 1.0, 1.0], [0.0, 0.0, 2.0])})
    first = 1 - np.exp(-r.time)
    second = 3 + ((1 - math.exp(-1)) - 3) * np.exp(-(r.time - 1))
    close(r, np.where(r.time <= 1, first, second))


@pytest.mark.parametrize("bias", [0.0, lambda t: 0.0], ids=["alone", "beside a function"])
def test_a_short_pulse_is_not_missed(bias: Any) -> None:
    pulse = ([0.0, 100.0, 100.0, 100.01, 100.01], [0.0, 0.0, 1000.0, 1000.0, 0.0])
    r = run(stop=200.0, inputs={"source": pulse, "bias": bias}, points=[100.0, 100.01, 101.01])
    top = 1000 * (1 - math.exp(-0.01))
    close(r, np.array([0.0, top, top * math.exp(-1)]), atol=1e-5)


@pytest.mark.parametrize("method", ["auto", "bdf", "radau5", "dopri5"])
def test_input_function(method: str) -> None:
    r = run(inputs={"source": math.sin}, method=method)
    close(r, (np.sin(r.time) - np.cos(r.time) + np.exp(-r.time)) / 2)
    np.testing.assert_array_equal(r["source"], [math.sin(t) for t in r.time])


def test_function_beside_a_table_with_a_jump() -> None:
    table = ([0.0, 1.0, 1.0, 9.0], [0.0, 0.0, 1.0, 1.0])
    r = run(inputs={"source": lambda t: 2.0, "bias": table})
    first = 2 * (1 - np.exp(-r.time))
    second = 3 + (2 * (1 - math.exp(-1)) - 3) * np.exp(-(r.time - 1))
    close(r, np.where(r.time <= 1, first, second), atol=1e-6)


def test_parameters_and_start_values() -> None:
    model = compiled_file("circuit")
    r = run(parameters={"R": 4.0, "C": np.float64(0.125)}, start_values={"v": 5}, inputs={"source": 1.0})
    close(r, 1 + 4 * np.exp(-2 * r.time))
    assert r.parameters["R"] == 4.0
    assert r.parameters["C"] == 0.125
    np.testing.assert_array_equal(r["R"], np.full(81, 4.0))
    assert model.variables["R"].start == 2.0  # the model itself is unchanged
    again = run(inputs={"source": 1.0})
    close(again, 1 - np.exp(-again.time))
    assert r.manifest["options"]["parameters"]["R"] == 4.0


def test_variables_of_a_native_model() -> None:
    v = compiled_file("circuit").variables
    assert {name: info.kind for name, info in v.items()} == {
        "v": "state",
        "source": "input",
        "bias": "input",
        "R": "parameter",
        "C": "parameter",
        "level": "parameter",
        "i": "output",
        "power": "output",
        "crossings": "output",
    }
    assert (v["v"].nominal, v["v"].min, v["v"].max) == (10.0, -100.0, 100.0)
    assert repr(compiled_file("circuit")) == "<pliant.Model 'circuit': 1 states, 2 inputs, 3 parameters, 3 outputs>"


def test_derivatives_of_a_result() -> None:
    p = problem("vdpol_mild")
    r = compiled(p.name).simulate(5, points=31)
    exact = np.array([p.f(t, x) for t, x in zip(r.time, r.values, strict=True)])
    np.testing.assert_allclose(np.column_stack([r["der(y)"], r["der(z)"]]), exact, rtol=1e-13)


# -------------------------------------------------------------------------------------- progress and time-out


def test_progress_function() -> None:
    seen: list[Progress] = []
    result = compiled("ringmod").simulate(problem("ringmod").t_end, method="bdf", points=2, progress=seen.append)
    assert len(seen) >= 2
    at = [p.time for p in seen]
    assert at == sorted(at)
    assert seen[-1].time == seen[-1].stop == result.time[-1]
    assert seen[-1].n_steps == result.stats.n_steps
    assert [p.fraction for p in seen] == sorted(p.fraction for p in seen)
    assert seen[-1].fraction == 1.0
    assert all(p.method == "bdf" and 1 <= p.order <= 5 and p.step > 0 for p in seen)
    assert seen[0].start == 0.0


def test_progress_function_that_raises() -> None:
    def progress(_: Progress) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        compiled("vdpol_mild").simulate(20, progress=progress)


def test_bar_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    result = compiled("beam").simulate(2.0, method="bdf", rtol=1e-6, points=2, progress=True)
    assert result.complete
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "simulate" in captured.err
    assert "bdf" in captured.err


def test_no_bar_without_a_terminal_unless_wanted(capsys: pytest.CaptureFixture[str]) -> None:
    for progress in (None, False):
        compiled("beam").simulate(2.0, method="bdf", rtol=1e-6, points=2, progress=progress)
    captured = capsys.readouterr()
    assert captured.out == captured.err == ""


@pytest.mark.parametrize("points", [100, None])
def test_timeout(points: int | None) -> None:
    begin = time.perf_counter()
    with pytest.raises(SimulationTimeout, match=r"0\.2 s") as caught:
        compiled_file("slow").simulate(1e9, method="bdf", rtol=1e-8, points=points, timeout=0.2)
    assert time.perf_counter() - begin < 10.0
    error = caught.value
    assert isinstance(error, TimeoutError)
    assert error.hint
    assert error.time is not None
    assert error.time > 0
    assert error.result.stats.n_steps > 100
    assert not error.result.complete
    assert 0.2 <= error.result.stats.seconds < 8.0
    if points is None:
        assert error.result.time[-1] == error.time
        assert len(error.result) == error.result.stats.n_steps + 1


def test_timeout_of_a_slow_python_function() -> None:
    def f(t: float, x: Array) -> Array:
        time.sleep(2e-3)
        return -1e3 * (x - math.cos(t))

    begin = time.perf_counter()
    with pytest.raises(SimulationTimeout):
        pliant.ode(f, [0.0]).simulate(1e4, timeout=0.2)
    assert time.perf_counter() - begin < 8.0


def test_a_timeout_that_is_not_reached() -> None:
    assert compiled("vdpol_mild").simulate(20, timeout=60).complete


# ---------------------------------------------------------------------------------------------------- Ctrl-C


def raise_interrupt(*_: object) -> Any:
    raise KeyboardInterrupt


@pytest.mark.parametrize("method", METHODS)
def test_keyboard_interrupt_in_f(method: str) -> None:
    model = pliant.ode(lambda t, x: raise_interrupt() if t > 0.3 else -x, [1.0])
    with pytest.raises(KeyboardInterrupt, match=r"interrupted at t = 0\.[23]") as caught:
        model.simulate(1, **how(method))
    error = caught.value
    assert isinstance(error, SimulationInterrupted)
    assert error.hint
    assert 0.2 < error.result.time[-1] <= error.time <= 0.3 + 1e-12
    assert not error.result.complete


@pytest.mark.parametrize(
    "make",
    [
        lambda: pliant.ode(raise_interrupt, [1.0]),
        lambda: pliant.ode(raise_interrupt, [1.0, 1.0], mass=[1, 0]),
        lambda: pliant.ode(lambda t, x: -x, [1.0], roots=raise_interrupt),
    ],
    ids=["f", "f of a DAE", "root"],
)
def test_keyboard_interrupt_before_the_first_step(make: Any) -> None:
    with pytest.raises(KeyboardInterrupt) as caught:  # not more, or pytest itself would stop
        make().simulate(1)
    assert isinstance(caught.value, SimulationInterrupted)
    assert caught.value.result is not None


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("points", ["1000", "None"])
@pytest.mark.parametrize("wait", [0.3, 0.5, 0.7])
def test_ctrl_c_in_a_long_run(points: str, wait: float, tmp_path: Path) -> None:
    """A real SIGINT to a process busy in C, or just enlarging its memory, ends it soon, with the result so far."""
    script = tmp_path / "long.py"
    script.write_text(
        textwrap.dedent(f"""
        import pliant
        model = pliant.native({str(MODELS / "slow.c")!r})
        print("ready", flush=True)
        try:
            model.simulate(1e9, method="bdf", rtol=1e-8, points={points})
        except pliant.SimulationInterrupted as error:
            print(isinstance(error, KeyboardInterrupt), error.time > 0, error.result.stats.n_steps > 0,
                  error.result.complete, flush=True)
        """)
    )
    paths = os.pathsep.join([*(p for p in sys.path if p), os.environ.get("PYTHONPATH", "")])
    child = subprocess.Popen(
        [sys.executable, str(script)],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": paths},
    )
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        time.sleep(wait)
        os.kill(child.pid, signal.SIGINT)
        sent = time.perf_counter()
        output, _ = child.communicate(timeout=10)
    finally:
        child.kill()
        child.wait()
    assert output.split() == ["True", "True", "True", "False"]
    assert time.perf_counter() - sent < 4.0  # two on a quiet machine
    assert child.returncode == 0


@pytest.mark.parametrize(("start", "stop", "count"), [(0.0, 1.0, 2), (-1.0, 1e-3, 7), (0.1, 0.7, 500), (5.0, 5.0, 3)])
def test_equidistant_points_are_those_of_linspace(start: float, stop: float, count: int) -> None:
    result = pliant.ode(lambda t, x: -x, [1.0]).simulate(stop, start=start, points=count)
    assert result.time.tolist() == np.linspace(start, stop, count).tolist()


def test_address_of_any_array() -> None:
    for array in (np.zeros(3), np.zeros((2, 4)), np.zeros(0), np.arange(4, dtype=np.int32)):
        assert runtime.address_of(array) == array.ctypes.data
    frozen = np.zeros(3)
    frozen.flags.writeable = False
    assert runtime.address_of(frozen) == frozen.ctypes.data


def test_settings_of_one_run_do_not_reach_the_next() -> None:
    model = pliant.ode(lambda t, x: -x, [1.0])
    usual = model.simulate(1.0, method="bdf").stats.n_steps
    assert model.simulate(1.0, method="bdf", options={"max_step": 1e-3}).stats.n_steps >= 1000
    assert model.simulate(1.0, method="bdf").stats.n_steps == usual
    assert model.simulate(1.0, method="rk4", step=0.1).stats.n_steps == 10
    assert model.simulate(1.0, method="rk4", step=0.05).stats.n_steps == 20
