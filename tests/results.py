"""A small result and a comparison, for the tests of results."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from pliant.solve.results.manifest import hash_bytes, make_manifest
from pliant.solve.results.result import Event, Result, Stats, VariableInfo

FORMATS = [".csv", ".parquet", ".mat"]


def make_result(**changes: Any) -> Result:
    """A ball that bounces once, with a double row at the event, aliases, a parameter and a lazy column."""
    time = np.array([0.0, 0.1, 1 / 3, 1 / 3, 0.7])
    values = np.column_stack([[1.0, 0.9, 1e-300, 0.0, math.pi], [-1 / 3, -2.5, -4e17, 3.9, 2.0]])
    arguments: dict[str, Any] = {
        "stats": Stats(n_steps=42, n_rhs=99, method="bdf", seconds=0.25),
        "manifest": make_manifest("Ball", hash_bytes("ball"), {"rtol": 1e-6}),
        "events": [
            Event(1 / 3, roots=("h < 0",), directions=(-1,), before=np.array([0.0, -4e17]), after=np.array([0.0, 3.9])),
            Event(
                0.7,
                roots=(),
                directions=(),
                before=np.array([math.pi, 2.0]),
                after=np.array([math.pi, 2.0]),
                terminal=True,
                message='the ball "lies" still',
            ),
        ],
        "info": {
            "ball.h": VariableInfo(
                "ball.h", kind="state", unit="m", description="height above the floor", start=1.0, min=0.0
            ),
            "ball.v": VariableInfo("ball.v", kind="state", unit="m/s", description="speed"),
            "g": VariableInfo("g", kind="parameter", unit="m/s2"),
            "hidden": VariableInfo("hidden", kind="algebraic"),
        },
        "aliases": {"floor.s": ("ball.h", -1), "ball.w": ("ball.v", 1), "gravity": ("g", -1)},
        "parameters": {"g": 9.81, "e": 0.8},
        "lazy": {"der(ball.h)": lambda: values[:, 1]},
        "complete": False,
    }
    return Result(time, values=values, names=("ball.h", "ball.v"), **(arguments | changes))


def same_numbers(left: Mapping[str, float], right: Mapping[str, float]) -> bool:
    """Names in the same order with the same numbers, NaN included."""
    return list(left) == list(right) and np.array_equal(list(left.values()), list(right.values()), equal_nan=True)


def assert_same(left: Result, right: Result) -> None:
    """All that a file keeps is the same, bit for bit."""
    assert right.time.tobytes() == left.time.tobytes()
    assert right.names == left.names
    assert right.values.tobytes() == left.values.tobytes()
    assert right.lazy_names == left.lazy_names
    assert len(right) == 0 or same_numbers(right.final, left.final)
    for name in left.names:
        assert np.array_equal(left[name], right[name], equal_nan=True), name
        assert left.unit(name) == right.unit(name), name
    assert same_numbers(right.parameters, left.parameters)
    assert list(right.aliases.items()) == list(left.aliases.items())
    assert [repr(one) for one in right.info.values()] == [repr(one) for one in left.info.values()]  # NaN is NaN
    assert list(right.info) == list(left.info)
    assert right.stats == left.stats
    assert right.manifest == left.manifest
    assert right.complete == left.complete
    assert right.states == left.states
    assert (right.flags is None) == (left.flags is None)
    if left.flags is not None and right.flags is not None:
        assert right.flags.dtype == left.flags.dtype
        assert np.array_equal(right.flags, left.flags)
    for one, other in zip(left.events, right.events, strict=True):
        assert (one.time, one.roots, one.directions, one.terminal, one.message) == (
            other.time,
            other.roots,
            other.directions,
            other.terminal,
            other.message,
        )
        assert np.array_equal(one.before, other.before, equal_nan=True)
        assert np.array_equal(one.after, other.after, equal_nan=True)
