"""Inputs u(t) for the runtime: constants, tables, polynomials by segments, functions of time.

Tables and segments become one piecewise polynomial on the union of their times. A time that stands twice in a table is
a jump (the value changes there at once), and so is the start of a segment whose polynomial does not continue the one
before; the solver stops at jumps and nowhere else.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pliant.arguments import Vector
from pliant.solve.binding import runtime
from pliant.solve.binding.interrupts import callback, raise_waiting
from pliant.solve.models.numeric import Instance, NumericModel
from pliant.solve.signals.function_jumps import held_table
from pliant.solve.signals.given import typed_inputs
from pliant.solve.signals.kinds import ConstantSignal, Declared, FunctionSignal, Segments, TableSignal

if TYPE_CHECKING:
    from pliant.solve.options import Request


Table = tuple[Vector, Vector] | Segments
#: how often functions of time are looked at during a run, at least: what is shorter may be passed over
FUNCTION_SAMPLES = 10_000
#: times that differ by less, relative to themselves, are the same
ROUNDING = 16.0 * float(np.finfo(float).eps)
#: of a step: what is nearer to its end lies on it
NEAR = 1e-9
NO_TIMES, NO_JUMPS = np.zeros(0), np.zeros(0, dtype=np.uint8)


def same_time(t: Any, step: float) -> Any:
    """How far from t, the end of a step, a jump may lie that counts as one at t."""
    return np.maximum(NEAR * step, ROUNDING * np.abs(t))


@dataclass
class InputSet:
    """``struct`` is None when all inputs are constant at ``u``."""

    u: Vector
    struct: runtime.InputsStruct | None
    keep: tuple[Any, ...]
    # (times) -> (times, inputs); at a jump the left value, but for rows that a second argument says are after it
    value: Callable[..., NDArray[np.float64]]
    jumps: Vector  # times of the segments, and which of them are jumps
    is_jump: NDArray[np.uint8]

    def around(self, times: Vector, step: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Values up to and from each of these ends of steps on."""
        jumps, room = self.jumps[self.is_jump != 0], same_time(times, step)
        first, last = np.searchsorted(jumps, times - room), np.searchsorted(jumps, times + room, side="right")
        near = first < last
        at = times.copy()
        at[near] = jumps[first[near]]
        before = np.array(self.value(at))
        after = before.copy()
        if near.any():
            after[near] = self.value(jumps[last[near] - 1], np.ones(int(near.sum()), dtype=bool))
        return before, after


def constant_inputs(u: Vector) -> InputSet:
    """All inputs keep these values."""
    u = np.array(u, dtype=np.float64)
    return InputSet(u, None, (), lambda times, after=None: np.broadcast_to(u, (len(times), len(u))), NO_TIMES, NO_JUMPS)


def make_inputs(model: NumericModel, given: Any, instance: Instance, request: Request) -> InputSet:
    """Inputs of a run by name; see :mod:`pliant.solve.signals.given` for what may be given."""
    if isinstance(given, InputSet):
        return given
    names = model.names.u
    declared = model.declared_inputs(request.parameters)
    u = np.array([declared[name].start for name in names])
    tables: dict[int, Table] = {}
    functions: dict[int, Callable[[float], float]] = {}
    place = {name: j for j, name in enumerate(names)}
    signals = typed_inputs(declared, given, request.stop)
    for name in names:
        if name not in signals:
            declared[name].check(name, declared[name].start, lambda: "; no value is given for it")
    for name, signal in signals.items():
        j = place[name]
        if isinstance(signal, ConstantSignal):
            u[j] = signal.value
        elif isinstance(signal, FunctionSignal):
            held = _as_table(name, signal, declared[name], (request.start, request.stop))
            if held is None:
                functions[j] = signal.function
            else:
                tables[j] = held.points
        elif isinstance(signal, Segments):
            tables[j] = signal
        elif isinstance(signal, TableSignal):
            tables[j] = signal.points
    if not tables and not functions:
        return constant_inputs(u)
    return _input_set(u, tables, functions, instance, (request.start, request.stop))


def _as_table(name: str, signal: FunctionSignal, declared: Declared, span: tuple[float, float]) -> TableSignal | None:
    """A function of time for an input that is held: a table of its jumps."""
    if not declared.held or not span[1] > span[0]:  # plans take their steps themselves
        return None
    return held_table(name, signal.function, span, FUNCTION_SAMPLES, declared.type != "real")


def _limits(table: tuple[Vector, Vector], t: Vector) -> tuple[Vector, Vector]:
    """Values just before and just after each t; held constant outside the table."""
    times, values = table
    before = np.interp(t, times, values)
    after = before.copy()
    first = np.searchsorted(times, t, side="left")
    here = times[np.minimum(first, len(times) - 1)] == t
    before[here] = values[first[here]]
    after[here] = values[np.searchsorted(times, t[here], side="right") - 1]
    return before, after


def _segments(u: Vector, tables: dict[int, Table]) -> tuple[Vector, NDArray[np.float64], NDArray[np.uint8]]:
    """Start times, coefficients (segment, power, input) and jumps of all tables together."""
    tables = _together(tables)
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


def _together(tables: dict[int, Table]) -> dict[int, Table]:
    """Times of different tables that differ by rounding are the same: the first of them."""
    times = np.unique(np.concatenate([_times(table) for table in tables.values()]))
    apart = np.append(True, np.diff(times) > ROUNDING * np.abs(times[1:]))
    if len(tables) == 1 or apart.all():
        return tables
    first = times[np.maximum.accumulate(np.where(apart, np.arange(len(times)), 0))]
    out: dict[int, Table] = {}
    for j, table in tables.items():
        own = _times(table)
        moved = first[np.searchsorted(times, own)]
        if not np.array_equal(np.diff(moved) > 0, np.diff(own) > 0):
            out[j] = table  # its own times stay apart
        else:
            out[j] = Segments(moved, table.coefficients) if isinstance(table, Segments) else (moved, table[1])
    return out


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
    struct = runtime.InputsStruct(n_u=n_u, degree=1)
    coefficient = np.zeros((0, 2, n_u))
    keep: list[Any] = []
    start, jump = np.zeros(0), np.zeros(0, dtype=np.uint8)
    if tables:
        start, coefficient, jump = _segments(u, tables)
        struct.n_segments, struct.start, struct.degree = len(start), start.ctypes.data, coefficient.shape[1] - 1
        struct.coefficient, struct.jump = coefficient.ctypes.data, jump.ctypes.data
        keep += [start, coefficient, jump]

    @callback
    def call(_user: Any, t: float, target: Any) -> int:
        try:
            raise_waiting()
            for j, function in functions.items():
                target[j] = function(t)
        except BaseException as error:
            instance.raised = error
            return runtime.FATAL
        return 0

    if functions:
        shell = runtime.INPUT_CALL(call)
        struct.call = ctypes.cast(shell, ctypes.c_void_p).value
        keep.append(shell)

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
    looks = looks[(looks > span[0]) & (looks < span[1])]
    return looks if len(looks) else np.array([0.5 * (span[0] + span[1])])


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
