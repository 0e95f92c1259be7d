"""Inputs u(t) for the runtime: constants, tables, polynomials by segments, functions of time.

Tables and segments become one piecewise polynomial on the union of their times. A time that stands twice in a table is
a jump (the value changes there at once), and so is the start of a segment whose polynomial does not go on from the one
before; the solver stops at jumps and nowhere else.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.errors import ArgumentError, UnknownNameError
from pliant.solve import binding
from pliant.solve.names import suggestion
from pliant.solve.numeric import Instance, NumericModel, Vector


@dataclass(frozen=True, eq=False)
class Segments:
    """An input given by polynomials: ``u(t) = sum_k coefficients[s][k] (t - start[s])^k`` from start[s] on.

    Before the first start its first value holds, the last polynomial goes on to the end.

    >>> ramps = Segments([0.0, 1.0], [[0.0, 2.0], [5.0, -1.0]])
    >>> ramps.degree
    1
    """

    start: Any
    coefficients: Any

    def __post_init__(self) -> None:
        try:
            start = np.array(self.start, dtype=np.float64)
            rows = np.array(self.coefficients, dtype=np.float64)
        except (TypeError, ValueError):
            raise ArgumentError("Segments: start and coefficients must be numbers, one row per segment") from None
        if start.ndim != 1 or rows.ndim != 2 or len(start) != len(rows) or rows.size == 0:
            raise ArgumentError(f"Segments: start has shape {start.shape}, coefficients {rows.shape}")
        if not (np.isfinite(start).all() and np.isfinite(rows).all() and np.all(np.diff(start) > 0)):
            raise ArgumentError("Segments: the starts must ascend, and everything must be finite")
        object.__setattr__(self, "start", start)
        object.__setattr__(self, "coefficients", rows)

    @property
    def degree(self) -> int:
        """Largest power."""
        return int(self.coefficients.shape[1]) - 1

    def about(self, t: Vector, left: bool = False) -> NDArray[np.float64]:
        """Coefficients about each t, (t, power), from the right or from the left."""
        s = np.searchsorted(self.start, t, side="left" if left else "right") - 1
        first = s < 0
        s = np.maximum(s, 0)
        dt = np.where(first, 0.0, t - self.start[s])
        out = np.zeros((len(t), self.degree + 1))
        for k in range(self.degree + 1):
            for m in range(k, self.degree + 1):
                out[:, k] += comb(m, k) * self.coefficients[s, m] * dt ** (m - k)
        out[first, 1:] = 0.0
        return out


Table = tuple[Vector, Vector] | Segments
#: how often functions of time are looked at during a run, at least: what is shorter may be passed over
FUNCTION_SAMPLES = 10_000
#: times that differ by less, relative to themselves, are the same
ROUNDING = 16.0 * float(np.finfo(float).eps)
NO_TIMES, NO_JUMPS = np.zeros(0), np.zeros(0, dtype=np.uint8)


@dataclass
class InputSet:
    """``struct`` is None when all inputs are constant at ``u``."""

    u: Vector
    struct: binding.Inputs | None
    keep: tuple[Any, ...]
    # (times) -> (times, inputs); at a jump the left value, but for rows that a second argument says are after it
    value: Callable[..., NDArray[np.float64]]
    jumps: Vector  # times of the segments, and which of them are jumps
    is_jump: NDArray[np.uint8]


def make_inputs(
    model: NumericModel, given: Mapping[str, Any], instance: Instance, span: tuple[float, float]
) -> InputSet:
    """Inputs by name: a number, a function of time, a pair (times, values), Segments, for a run from .. to."""
    names = model.names.u
    u = model.u_start.copy()
    tables: dict[int, Table] = {}
    functions: dict[int, Callable[[float], float]] = {}
    for name, value in given.items():
        if name not in names:
            raise UnknownNameError(
                f"inputs: the model has no input {name!r}",
                hint=suggestion(name, names),
            )
        j = names.index(name)
        if isinstance(value, Segments):
            tables[j] = value
        elif callable(value):
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
            lambda times, after=None: np.broadcast_to(u, (len(times), len(u))),
            NO_TIMES,
            NO_JUMPS,
        )
    return _input_set(u, tables, functions, instance, span)


def count_jumps(given: Mapping[str, Any], start: float, stop: float) -> int:
    """At how many times inside the run do inputs jump? Functions of time do not tell."""
    times: list[Vector] = []
    for value in given.values():
        if isinstance(value, Segments):
            times.append(value.start[1:])
        elif isinstance(value, (tuple, list)) and len(value) == 2:
            table = np.asarray(value[0], dtype=np.float64).ravel()
            times.append(table[1:][np.diff(table) == 0])
    if not times:
        return 0
    found = np.unique(np.concatenate(times))
    return int(np.count_nonzero((found > start) & (found < stop)))


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


def _segments(u: Vector, tables: dict[int, Table]) -> tuple[Vector, NDArray[np.float64], NDArray[np.uint8]]:
    """Start times, coefficients (segment, power, input) and jumps of all tables together."""
    start = np.unique(np.concatenate([_times(table) for table in tables.values()]))
    degree = max(table.degree if isinstance(table, Segments) else 1 for table in tables.values())
    pairs = [table for table in tables.values() if not isinstance(table, Segments)]
    slopes = [one for one in tables.values() if isinstance(one, Segments) and one.coefficients[0, 1:].any()]
    if any(len(times) > 1 and times[0] == times[1] for times, _ in pairs) or slopes:
        # a table that begins with a jump has a left side too, and so have segments: constant before the first
        start = np.concatenate([[start[0] - max(1.0, abs(start[0]))], start])
    coefficient = np.zeros((len(start), degree + 1, len(u)))
    coefficient[:, 0, :] = u
    jump = np.zeros(len(start), dtype=np.uint8)
    for j, table in tables.items():
        if isinstance(table, Segments):
            after, before = table.about(start), table.about(start, left=True)
            coefficient[:, : table.degree + 1, j] = after
            scale = 1e-13 * np.maximum(np.abs(after).max(axis=0), np.abs(before).max(axis=0))
            jump |= (np.abs(before - after) > scale).any(axis=1).astype(np.uint8)
            continue
        before, after = _limits(table, start)
        coefficient[:, 0, j] = after
        coefficient[:-1, 1, j] = (before[1:] - after[:-1]) / np.diff(start)
        jump |= (before != after).astype(np.uint8)
    return start, coefficient, jump


def _times(table: Table) -> Vector:
    return np.asarray(table.start if isinstance(table, Segments) else table[0])


def _input_set(
    u: Vector,
    tables: dict[int, Table],
    functions: dict[int, Callable[[float], float]],
    instance: Instance,
    span: tuple[float, float],
) -> InputSet:
    """Tables as segments that C evaluates, functions of time by a callback that overwrites their entries."""
    n_u = len(u)
    struct = binding.Inputs(n_u=n_u, degree=1)
    coefficient = np.zeros((0, 2, n_u))
    keep: list[Any] = []
    start, jump = np.zeros(0), np.zeros(0, dtype=np.uint8)
    if tables:
        start, coefficient, jump = _segments(u, tables)
        struct.n_segments, struct.start, struct.degree = len(start), start.ctypes.data, coefficient.shape[1] - 1
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

    def value(times: Vector, after: NDArray[np.bool_] | None = None) -> NDArray[np.float64]:
        out = np.tile(u, (len(times), 1))
        if tables:
            rounding = ROUNDING * np.abs(times)  # a clock's tick is the time of a jump, but for rounding
            s = np.clip(np.searchsorted(start, times + rounding, side="right") - 1, 0, len(start) - 1)
            left = (jump[s] != 0) & (np.abs(times - start[s]) <= rounding) & (times > span[0])
            s = np.where(left if after is None else left & ~after, s - 1, s)
            dt = np.maximum(times - start[s], 0.0)[:, None]
            out = np.zeros((len(times), n_u))
            for k in range(coefficient.shape[1] - 1, -1, -1):
                out = out * dt + coefficient[s, k]
        for j, function in functions.items():
            out[:, j] = [function(float(t)) for t in times]
        return out

    looks = _looks(start, coefficient.shape[1] - 1, bool(functions), span)
    look_u = _values_where_defined(value, looks)
    defined = np.isfinite(look_u).all(axis=1)
    looks, look_u = np.ascontiguousarray(looks[defined]), np.ascontiguousarray(look_u[defined])
    struct.n_looks, struct.look, struct.look_u = len(looks), looks.ctypes.data, look_u.ctypes.data
    keep += [looks, look_u]
    return InputSet(u, struct, tuple(keep), value, start, jump)


def _looks(start: Vector, degree: int, functions: bool, span: tuple[float, float]) -> Vector:
    """Times where content lies: breakpoints, points inside pieces of higher degree, samples of functions of time."""
    parts = [start]
    if degree > 1 and len(start):
        ends = np.append(start[1:], max(span[1], start[-1]))
        inner = (np.arange(2 * degree) + 0.5) / (2 * degree)
        parts.append((start[:, None] + (ends - start)[:, None] * inner).ravel())
    if functions:
        parts.append(np.linspace(span[0], span[1], FUNCTION_SAMPLES + 1))
    looks = np.unique(np.concatenate(parts))
    return looks[(looks > span[0]) & (looks < span[1])]


def _values_where_defined(value: Callable[..., NDArray[np.float64]], times: Vector) -> NDArray[np.float64]:
    """Inputs at all times, NaN where a function has no value: if the run gets there, it says so itself."""
    try:
        return value(times)
    except Exception:
        rows = []
        for t in times:
            try:
                rows.append(value(np.array([t]))[0])
            except Exception:
                rows.append(np.full_like(rows[0], np.nan) if rows else np.full(value(times[:0]).shape[1], np.nan))
        return np.array(rows)
