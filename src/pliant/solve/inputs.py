"""Inputs u(t) for the runtime: constants, tables, functions of time.

Tables become one piecewise linear polynomial on the union of their times. A time that stands twice in a table is a jump
(the value changes there at once); the solver stops at jumps and nowhere else.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.errors import ArgumentError, UnknownNameError
from pliant.solve import binding
from pliant.solve.names import suggestion
from pliant.solve.numeric import Instance, NumericModel, Vector


@dataclass
class InputSet:
    """``struct`` is None when all inputs are constant at ``u``."""

    u: Vector
    struct: binding.Inputs | None
    keep: tuple[Any, ...]
    value: Callable[[Vector], NDArray[np.float64]]  # (times) -> (times, inputs); at a jump the left value
    jumps: Vector  # times of the segments, and which of them are jumps
    is_jump: NDArray[np.uint8]


def make_inputs(model: NumericModel, given: Mapping[str, Any], instance: Instance, begin: float) -> InputSet:
    """Inputs by name: a number, a function of time, or a pair (times, values). The run starts at ``begin``."""
    names = model.names.u
    u = model.u_start.copy()
    tables: dict[int, tuple[Vector, Vector]] = {}
    functions: dict[int, Callable[[float], float]] = {}
    for name, value in given.items():
        if name not in names:
            raise UnknownNameError(
                f"inputs: the model has no input {name!r}",
                hint=suggestion(name, names),
            )
        j = names.index(name)
        if callable(value):
            functions[j] = value
        elif isinstance(value, (int, float, np.number)):
            u[j] = _finite(name, value)
        else:
            tables[j] = _table(name, value)
    if not tables and not functions:
        return InputSet(
            u,
            None,
            (),
            lambda times: np.broadcast_to(u, (len(times), len(u))),
            np.zeros(0),
            np.zeros(0, dtype=np.uint8),
        )
    return _input_set(u, tables, functions, instance, begin)


def _finite(name: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = np.nan
    if not np.isfinite(number):
        raise ArgumentError(f"input {name}: {value!r} is not a finite number")
    return number


def _table(name: str, value: Any) -> tuple[Vector, Vector]:
    try:
        times, values = (np.array(part, dtype=np.float64) for part in value)
    except (TypeError, ValueError):
        raise ArgumentError(
            f"input {name}: expected a number, a function or a pair (times, values), got {type(value).__name__}",
            hint="times and values must be vectors of the same shape",
        ) from None
    if times.ndim != 1 or times.shape != values.shape or times.size == 0:
        raise ArgumentError(f"input {name}: times have shape {times.shape}, values {values.shape}")
    if not (np.all(np.isfinite(times)) and np.all(np.isfinite(values))):
        raise ArgumentError(f"input {name}: the table holds values that are not finite")
    if np.any(np.diff(times) < 0):
        raise ArgumentError(f"input {name}: the times of the table must ascend (twice the same time is a jump)")
    if np.any(times[2:] == times[:-2]):
        raise ArgumentError(f"input {name}: a time stands more than twice in the table")
    return times, values


def _limits(table: tuple[Vector, Vector], t: Vector) -> tuple[Vector, Vector]:
    """Values just before and just after each t; held constant outside the table."""
    times, values = table
    before, after = np.interp(t, times, values), np.interp(t, times, values)
    double = np.flatnonzero(np.diff(times) == 0)
    for k in double:
        here = t == times[k]
        before[here], after[here] = values[k], values[k + 1]
    return before, after


def _segments(
    u: Vector, tables: dict[int, tuple[Vector, Vector]]
) -> tuple[Vector, NDArray[np.float64], NDArray[np.uint8]]:
    """Start times, coefficients (segment, power, input) and jumps of all tables together."""
    start = np.unique(np.concatenate([times for times, _ in tables.values()]))
    if any(len(times) > 1 and times[0] == times[1] for times, _ in tables.values()):
        # a table that begins with a jump has a left side too
        start = np.concatenate([[start[0] - max(1.0, abs(start[0]))], start])
    coefficient = np.zeros((len(start), 2, len(u)))
    coefficient[:, 0, :] = u
    jump = np.zeros(len(start), dtype=np.uint8)
    for j, table in tables.items():
        before, after = _limits(table, start)
        coefficient[:, 0, j] = after
        coefficient[:-1, 1, j] = (before[1:] - after[:-1]) / np.diff(start)
        jump |= (before != after).astype(np.uint8)
    return start, coefficient, jump


def _input_set(
    u: Vector,
    tables: dict[int, tuple[Vector, Vector]],
    functions: dict[int, Callable[[float], float]],
    instance: Instance,
    begin: float,
) -> InputSet:
    """Tables as segments that C evaluates, functions of time by a callback that overwrites their entries."""
    n_u = len(u)
    struct = binding.Inputs(n_u=n_u, degree=1)
    keep: list[Any] = []
    start, jump = np.zeros(0), np.zeros(0, dtype=np.uint8)
    if tables:
        start, coefficient, jump = _segments(u, tables)
        struct.n_segments, struct.start = len(start), start.ctypes.data
        struct.coefficient, struct.jump = coefficient.ctypes.data, jump.ctypes.data
        keep += [start, coefficient, jump]

    def call(_user: Any, t: float, target: Any) -> int:
        try:
            for j, function in functions.items():
                target[j] = function(t)
        except BaseException as error:
            instance.raised = error
            return binding.FATAL
        return 0

    if functions:
        callback = binding.INPUT_CALL(call)
        struct.call = ctypes.cast(callback, ctypes.c_void_p).value
        keep.append(callback)

    def value(times: Vector) -> NDArray[np.float64]:
        out = np.tile(u, (len(times), 1))
        if tables:
            s = np.clip(np.searchsorted(start, times, side="right") - 1, 0, len(start) - 1)
            left = (jump[s] != 0) & (times == start[s]) & (times > begin)
            s = np.where(left, s - 1, s)
            out = coefficient[s, 0] + coefficient[s, 1] * np.maximum(times - start[s], 0.0)[:, None]
        for j, function in functions.items():
            out[:, j] = [function(float(t)) for t in times]
        return out

    return InputSet(u, struct, tuple(keep), value, start, jump)
