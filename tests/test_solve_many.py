"""Many simulations: memory and descriptors stay flat, threads on one model change nothing."""

from __future__ import annotations

import gc
import resource
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from problems.heat2d import make
from support import compiled

import pliant

BALL = """
model Ball
  input Real push;
  Real h(start = 1, fixed = true), v(start = 0, fixed = true), energy;
equation
  der(h) = v;
  der(v) = push - 9.81;
  energy = 9.81*h + v^2/2;
  when h < 0 then
    reinit(v, -0.8*pre(v));
  end when;
end Ball;
"""
LOOP = """
model Loop
  Real x(start = 1, fixed = true), y(start = 1), z(start = 0.3);
equation
  der(x) = -y;
  y + 0.1*y^3 = x + z;
  z*exp(z) = y*x;
end Loop;
"""
JUMPS = ([0.0, 0.3, 0.3, 0.5, 0.5, 0.7, 0.7, 0.8, 0.8, 0.9, 0.9, 1.0], [0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 2, 2])


def resident() -> float:
    """Megabytes in memory now, or the most so far where the system does not tell."""
    status = Path("/proc/self/status")
    if status.is_file():
        return float(status.read_text().split("VmRSS:")[1].split()[0]) / 1e3
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def descriptors() -> int:
    folder = Path("/proc/self/fd")
    return len(list(folder.iterdir())) if folder.is_dir() else 0


def test_memory_and_descriptors_stay_flat() -> None:
    ball, native = pliant.load(BALL), compiled("hires")
    growing: dict[str, Any] = {"points": None, "stop": 2.0, "rtol": 1e-8}  # rows, log and events ask for more memory

    def some(count: int) -> None:
        for k in range(count):
            native.simulate(stop=1.0 + k % 3, points=20)
            ball.simulate(**growing, inputs={"push": JUMPS} if k % 2 else {"push": 0.1})
            if k % 50 == 0:
                with pytest.raises(pliant.StepLimitError):
                    native.simulate(stop=100.0, options={"max_steps": 5})
        gc.collect()

    some(100)
    before = resident(), descriptors()
    some(900)
    assert resident() - before[0] < 4.0
    assert descriptors() == before[1]


def runs(kind: str) -> Any:
    """A fresh model, and what to simulate with it."""
    if kind == "ball":
        model = pliant.load(BALL)
        return lambda k: model.simulate(stop=1.5, points=None, inputs={"push": JUMPS} if k % 2 else {"push": 0.1})
    if kind == "loop":
        model = pliant.load(LOOP)
        return lambda k: model.simulate(stop=1.0, method=("auto", "bdf", "radau5")[k % 3])
    if kind == "sparse":
        model = pliant.native(make(8).c_file, defines={"HEAT_M": 8})
        return lambda k: model.simulate(stop=0.1, method=("auto", "bdf")[k % 2], options={"linear": "sparse"})
    model = pliant.ode(lambda t, x: [x[1], 5 * (1 - x[0] ** 2) * x[1] - x[0]], [2.0, 0.0])
    return lambda k: model.simulate(stop=2.0, rtol=(1e-4, 1e-6)[k % 2])


@pytest.mark.parametrize("kind", ["ball", "loop", "sparse", "function"])
def test_threads_on_one_model(kind: str) -> None:
    alone, together = runs(kind), runs(kind)  # the second model's plans are made by the threads
    expected = [_bits(alone(k)) for k in range(6)]
    at_once = threading.Barrier(8)

    def work(number: int) -> list[tuple[Any, ...]]:
        at_once.wait()
        return [_bits(together((number + k) % 6)) for k in range(12)]

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(work, range(8)))
    for number, results in enumerate(found):
        for k, bits in enumerate(results):
            assert bits == expected[(number + k) % 6]


def _bits(result: pliant.Result) -> tuple[Any, ...]:
    counters = {name: value for name, value in result.stats.as_dict().items() if name != "seconds"}
    return np.asarray(result.time).tobytes(), np.asarray(result.values).tobytes(), counters, len(result.events)
