"""Inputs u(t) for the runtime: constants, tables, functions of time.

Tables become one piecewise linear polynomial on the union of their times. A time that stands twice in a table is a jump
(the value changes there at once); the solver stops at jumps and nowhere else.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.errors import ArgumentError, UnknownNameError
from pliant.solve import binding
from pliant.solve.numeric import Instance, NumericModel, Vector


@dataclass
class InputSet:
    """``struct`` is None when all inputs are constant at ``u``."""

    u: Vector
    struct: binding.Inputs | None
    keep: tuple[Any, ...]
    value: Callable[[Vector], NDArray[np.float64]]  # (times) -> (times, inputs)


def make_inputs(model: NumericModel, given: Mapping[str, Any], instance: Instance) -> InputSet:
    """Inputs by name: a number, a function of time, or a pair (times, values)."""
    names = model.names.u
    u = model.u_start.copy()
    tables: dict[int, tuple[Vector, Vector]] = {}
    functions: dict[int, Callable[[float], float]] = {}
    for name, value in given.items():
        if name not in names:
            near = get_close_matches(name, names, 3)
            raise UnknownNameError(
                f"inputs: the model has no input {name!r}",
                hint=f"did you mean {', '.join(near)}?" if near else f"it has {', '.join(names[:10]) or 'none'}",
            )
        j = names.index(name)
        if callable(value):
            functions[j] = value
        elif np.ndim(value) == 0 and not isinstance(value, str):
            u[j] = _finite(name, value)
        else:
            tables[j] = _table(name, value)
    if functions:
        return _by_call(u, tables, functions, instance)
    if tables:
        return _by_segments(u, tables)
    return InputSet(u, None, (), lambda times: np.broadcast_to(u, (len(times), len(u))))


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
            f"input {name}: expected a number, a function of time or a pair (times, values), got {type(value).__name__}"
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


def _by_segments(u: Vector, tables: dict[int, tuple[Vector, Vector]]) -> InputSet:
    start = np.unique(np.concatenate([times for times, _ in tables.values()]))
    n, n_u = len(start), len(u)
    coefficient = np.zeros((n, 2, n_u))
    coefficient[:, 0, :] = u
    jump = np.zeros(n, dtype=np.uint8)
    for j, table in tables.items():
        before, after = _limits(table, start)
        coefficient[:, 0, j] = after
        coefficient[:-1, 1, j] = (before[1:] - after[:-1]) / np.diff(start)
        jump |= (before != after).astype(np.uint8)
    jump[0] = 0
    # a jump at the very first time of a table has no left side: the table begins with the right value
    struct = binding.Inputs(
        n_u=n_u,
        degree=1,
        n_segments=n,
        start=start.ctypes.data,
        coefficient=coefficient.ctypes.data,
        jump=jump.ctypes.data,
    )

    def value(times: Vector) -> NDArray[np.float64]:
        s = np.clip(np.searchsorted(start, times, side="right") - 1, 0, n - 1)
        dt = np.maximum(times - start[s], 0.0)[:, None]
        return np.asarray(coefficient[s, 0] + coefficient[s, 1] * dt)

    return InputSet(u, struct, (start, coefficient, jump), value)


def _by_call(
    u: Vector,
    tables: dict[int, tuple[Vector, Vector]],
    functions: dict[int, Callable[[float], float]],
    instance: Instance,
) -> InputSet:
    n_u = len(u)
    fixed = u.copy()

    def at(t: float) -> Vector:
        out = fixed.copy()
        for j, (times, values) in tables.items():
            out[j] = np.interp(t, times, values)
        for j, function in functions.items():
            out[j] = function(t)
        return out

    def call(_user: Any, t: float, target: Any) -> int:
        try:
            np.ctypeslib.as_array(target, (n_u,))[:] = at(t)
        except BaseException as error:
            instance.raised = error
            return binding.FATAL
        return 0

    callback = binding.INPUT_CALL(call)
    struct = binding.Inputs(n_u=n_u, call=ctypes.cast(callback, ctypes.c_void_p).value)
    return InputSet(u, struct, (callback,), lambda times: np.array([at(float(t)) for t in times]).reshape(-1, n_u))
