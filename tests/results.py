"""A small result and a comparison, for the tests of results."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pliant.solve.manifest import hash_bytes, make_manifest
from pliant.solve.result import Event, Result, Stats, VariableInfo

FORMATS = [".csv", ".parquet", ".mat"]


def make_result(**changes: Any) -> Result:
    """A ball that bounces once, with a double row at the event, aliases, a parameter and a lazy column."""
    time = np.array([0.0, 0.1, 1 / 3, 1 / 3, 0.7])
    values = np.column_stack([[1.0, 0.9, 1e-300, 0.0, math.pi], [-1 / 3, -2.5, -4e17, 3.9, 2.0]])
    arguments: dict[str, Any] = {
        "stats": Stats(n_steps=42, n_rhs=99, method="bdf", seconds=0.25),
        "manifest": make_manifest("Ball", hash_bytes("ball"), {"rtol": 1e-6}),
        "events": [Event(1 / 3, ("h < 0",), (-1,), np.array([0.0, -4e17]), np.array([0.0, 3.9]))],
        "info": {
            "ball.h": VariableInfo("ball.h", "state", "m", "height above the floor", start=1.0, min=0.0),
            "ball.v": VariableInfo("ball.v", "state", "m/s", "speed"),
            "g": VariableInfo("g", "parameter", "m/s2"),
            "hidden": VariableInfo("hidden", "algebraic"),
        },
        "aliases": {"floor.s": ("ball.h", -1), "ball.w": ("ball.v", 1), "gravity": ("g", -1)},
        "parameters": {"g": 9.81, "e": 0.8},
        "lazy": {"der(ball.h)": lambda: values[:, 1]},
        "complete": False,
    }
    return Result(time, values, ("ball.h", "ball.v"), **(arguments | changes))


def assert_same(left: Result, right: Result) -> None:
    """All that a file keeps is the same, bit for bit."""
    assert right.time.tobytes() == left.time.tobytes()
    assert set(right.names) == set(left.names)
    for name in left.names:
        assert np.array_equal(left[name], right[name], equal_nan=True), name
    assert dict(right.parameters) == dict(left.parameters)
    assert dict(right.aliases) == dict(left.aliases)
    assert right.stats == left.stats
    assert right.manifest == left.manifest
    assert right.complete == left.complete
    assert right.states == left.states
    for one, other in zip(left.events, right.events, strict=True):
        assert (one.time, one.roots, one.directions, one.terminal) == (
            other.time,
            other.roots,
            other.directions,
            other.terminal,
        )
        assert np.array_equal(one.before, other.before)
        assert np.array_equal(one.after, other.after)
