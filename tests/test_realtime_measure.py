"""Timing of steps: figures against known samples, the program itself, and everything that can go wrong with it."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support_written import pipe_plan, small_plan

from pliant.compiling.compiler import find_compiler
from pliant.errors import ArgumentError, CompileError, ModelEvaluationError, OutputError, SimulationTimeout
from pliant.realtime.code.run import Stepper
from pliant.realtime.delivery import measure
from pliant.realtime.delivery.measure import Timing, measure_plan, repeated_maximum, run_program

pytestmark = pytest.mark.usefixtures("optimized")

STEPS = 20_000
TOLD = {
    "pinned": [0.0],
    "locked": [0.0],
    "priority": [0.0],
    "timer": [1.0],
    "clock": [20.0, 25.0, 1.0],
    "period": [20_000.0],
    "elapsed": [1e9],
    "state": [1.0],
    "faults": [0.0],
}


def packed(duration: Any, latency: Any, control: Any, disturbed: Any) -> np.ndarray[Any, Any]:
    """Samples as the program writes them."""
    parts = [np.asarray(one, dtype=np.uint32).tobytes() for one in (duration, latency, control)]
    return np.frombuffer(b"".join(parts) + np.asarray(disturbed, dtype=np.uint8).tobytes(), dtype=np.uint8)


def test_figures_of_known_samples() -> None:
    n = 2001
    d = 1000 + np.arange(n)
    d[0], d[7], d[9] = 90_000, 30_000_000, 500_000
    disturbed = np.zeros(n)
    disturbed[7] = 1
    control = np.full(n, 700)
    control[8] = 40_020
    control[9] = 99_999_999  # not one of those that the program writes
    raw = packed(d, np.full(n, 5000), control, disturbed)
    found = measure._timing(small_plan(), TOLD, raw, (n, 0, 500), None)
    clean = 1e-9 * (d - 20.0)
    assert found.minimum == pytest.approx(clean.min())
    assert found.median == pytest.approx(np.sort(clean)[n // 2])
    assert found.p99 == pytest.approx(np.quantile(clean, 0.99))
    assert found.maximum == found.deadline == pytest.approx(29_999_980e-9)
    assert found.cold == pytest.approx(89_980e-9)
    assert found.overruns == 1  # 30 ms and a step of 10 ms
    assert found.late == 3
    assert found.disturbed == 1
    assert found.maximum_undisturbed == pytest.approx(499_980e-9)
    assert found.control_maximum == pytest.approx(40_000e-9)
    assert found.latency_median == pytest.approx(5e-6)
    assert found.fallback_maximum is None
    assert found.histogram_counts.sum() == n
    assert found.histogram_edges[0] < found.minimum < found.maximum < found.histogram_edges[-1]
    ratios = found.histogram_edges[1:] / found.histogram_edges[:-1]
    assert np.allclose(ratios, ratios[0])
    assert "not every 0.01 s" in str(found)
    small = small_plan()
    small.timing = replace(found, repeatable=float("nan"))  # where no step of the scenario was taken often enough
    assert json.loads(json.dumps(small.as_dict(), allow_nan=False))["timing"]["repeatable"] is None
    assert "29999.98" in str(found) or "30000 us" in str(found)


def test_the_fallback_is_part_of_the_deadline() -> None:
    plan = small_plan("double", "fallback", 1, "held")
    n, fallen = 200, 100
    main = packed(np.full(n, 1020), np.zeros(n), np.full(n, 700), np.zeros(n))
    worse = np.full(fallen, 2020)
    worse[5] = 7020
    raw = np.concatenate([main, packed(worse, np.zeros(fallen), np.zeros(fallen), np.zeros(fallen))])
    found = measure._timing(plan, TOLD, raw, (n, fallen, 50), None)
    assert found.maximum == pytest.approx(1e-6)
    assert found.fallback_median == pytest.approx(2e-6)
    assert found.deadline == found.fallback_maximum == pytest.approx(7e-6)


def test_a_step_that_is_always_slow_is_told_from_a_disturbance() -> None:
    duration = np.ones(1 + 40 * 10)
    duration[1:].reshape(40, 10)[:, 3] = 2.0  # step 3 of the scenario, each time
    duration[77] = 50.0  # once
    assert repeated_maximum(duration, 10) == 2.0
    assert math.isnan(repeated_maximum(duration[:30], 10))


def plausible(found: Timing, n: int) -> None:
    assert found.n_steps == n
    assert 0 < found.minimum <= found.median <= found.p99 <= found.p999 <= found.maximum <= found.deadline
    assert found.minimum <= found.cold <= found.maximum
    assert found.maximum_undisturbed <= found.maximum
    assert found.histogram_counts.sum() == n
    assert found.period >= 20e-6
    assert found.notes
    assert found.as_dict()["n_steps"] == n


def test_pipe_against_a_plain_loop() -> None:
    plan = pipe_plan()
    shares: list[float] = []
    found = plan.measure(STEPS, progress=shares.append)
    assert plan.timing is found
    plausible(found, STEPS)
    assert found.monitor_included
    plain = Stepper(plan.code).time_step(None, 600)  # without monitor, caches warm
    assert 0.3 * plain < found.median < 100 * plain
    assert found.minimum <= found.repeatable <= found.maximum
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert any("only 20000 steps" in note for note in found.notes)
    for word in ("minimum", "median", "99.9 %", "maximum", "cold start", "deadline that holds"):
        assert word in str(found)


def test_the_timing_of_a_plan_stands_in_its_readme(tmp_path: Any) -> None:
    plan = small_plan("double", "fallback", 1, "held")
    found = plan.measure(2000)
    plausible(found, 2000)
    assert found.fallback_median is not None
    assert found.fallback_median > 0
    text = (plan.write(tmp_path / "out") / "README.md").read_text()
    plan.timing = None
    assert "| with fallback, maximum |" in text
    assert "Wall time of 2000 steps" in text


@pytest.mark.parametrize("precision", ["double", "float"])
def test_the_program_makes_the_steps_of_the_scenario(precision: str) -> None:
    """Its inputs are read, and the scenario begins anew when it ends."""
    plan = small_plan(precision)
    told, samples, rows = run_program(plan, (1 + 2 * 300 + 120, 0), None, None, -1)
    assert rows == 300
    assert len(samples) == 13 * 721
    u = np.array([[1.0 + 0.3 * math.sin(5.0 * 0.01 * k)] for k in range(1, 121)])
    assert told["state"][0] == Stepper(plan.code).run(u, 120)[-1, 0]
    assert told["pinned"] == [-1.0]


def test_a_period_of_ones_own(monkeypatch: pytest.MonkeyPatch) -> None:
    found = measure_plan(small_plan(), 200, period=1e-3)
    assert found.period == 1e-3
    assert not any("measures at the real rate" in note for note in found.notes)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="calls of Linux")
def test_what_is_not_allowed_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    text = measure.PROGRAM.replace("sched_setscheduler(0, SCHED_FIFO", "sched_setscheduler(0, 99")
    text = text.replace("mlockall(MCL_CURRENT | MCL_FUTURE)", "mlockall(1 << 30)")
    monkeypatch.setattr(measure, "PROGRAM", text)
    found = measure_plan(small_plan(), 500)
    assert not found.real_time
    assert any("no real-time priority" in note for note in found.notes)
    assert any("memory not locked" in note for note in found.notes)


def test_a_system_without_these_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "PROGRAM", measure.PROGRAM.replace("defined(__linux__)", "0"))
    found = measure_plan(small_plan(), 500)
    plausible(found, 500)
    assert any("no absolute timer" in note for note in found.notes)
    assert any("not bound to a core" in note for note in found.notes)
    assert found.disturbed == 0


# ------------------------------------------------------------------------------------------------ bad input


@pytest.mark.parametrize(
    "arguments",
    [
        {"steps": 10},
        {"steps": 1.5},
        {"steps": True},
        {"steps": "many"},
        {"period": 0},
        {"period": -1.0},
        {"period": math.nan},
        {"core": -1},
        {"core": 1.5},
    ],
)
def test_nonsense_is_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(ArgumentError):
        measure_plan(small_plan(), **arguments)


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="calls of Linux")
def test_a_core_that_is_not_there() -> None:
    with pytest.raises(ArgumentError, match="core 4095"):
        measure_plan(small_plan(), core=4095)


class Children:
    """Remembers the programs that were started."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.found: list[subprocess.Popen[bytes]] = []
        real = subprocess.Popen

        def start(*args: Any, **more: Any) -> Any:
            child = real(*args, **more)
            self.found.append(child)
            return child

        monkeypatch.setattr(measure.subprocess, "Popen", start)


def test_a_program_that_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    children = Children(monkeypatch)
    with pytest.raises(ModelEvaluationError, match="signal 9"):
        measure_plan(small_plan(), 10_000_000, progress=lambda share: children.found[-1].kill())


@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError])
def test_an_interrupt_ends_the_program(error: type[BaseException], monkeypatch: pytest.MonkeyPatch) -> None:
    children = Children(monkeypatch)

    def stop(share: float) -> None:
        raise error

    with pytest.raises(error):
        measure_plan(small_plan(), 10_000_000, progress=stop)
    assert children.found[-1].returncode == -9


def test_a_program_that_takes_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    children = Children(monkeypatch)
    monkeypatch.setattr(measure, "PATIENCE", -1e9)
    with pytest.raises(SimulationTimeout, match="did not end"):
        measure_plan(small_plan(), 1_000_000)
    assert children.found[-1].returncode == -9


def test_no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = small_plan()
    assert plan.code.text
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setitem(sys.modules, "ziglang", None)
    find_compiler.cache_clear()
    try:
        with pytest.raises(CompileError, match="no C compiler"):
            measure_plan(plan, 500)
    finally:
        find_compiler.cache_clear()


def test_a_compiler_that_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "PROGRAM", "this is not C")
    with pytest.raises(CompileError, match="refuses the timing program"):
        measure_plan(small_plan(), 500)


def test_no_place_for_temporary_files(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> Any:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(measure.tempfile, "TemporaryDirectory", full)
    with pytest.raises(OutputError, match="No space left"):
        measure_plan(small_plan(), 500)
