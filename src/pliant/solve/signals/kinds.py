"""What an input can be: a constant, a table, Segments, a function of time; and what a model says about it.

A table is linear between its times for a continuous Real input and held for all others: a value holds from its time
until the next. A time that stands twice in a table is a jump. Before its first time the first value holds, after its
last the last.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import partial
from math import comb, inf, isfinite
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.arguments import Vector
from pliant.calls import by_keyword, by_keyword_class
from pliant.errors import ArgumentError
from pliant.pickled import check_travels
from pliant.solve.names import suggestion
from pliant.solve.signals.files import SECONDS, Column, NamedColumns, TableOrigin

KINDS = (
    "a number, a function of time, a pair (times, values), a CSV or Parquet file, a Series or DataFrame, or Segments"
)
TRUTH = {"true": 1.0, "false": 0.0}
SEGMENTS = "e.g. Segments([0.0, 1.0], [[1.0, 2.0], [3.0, 0.0]]): 1 + 2 t up to 1, then 3"
ARTICLE = {"boolean": "a Boolean", "integer": "an Integer", "enumeration": "an enumeration"}

Where = Callable[[], str]  # the place of a value as the end of a sentence: asked for only when something is wrong


def _nowhere() -> str:
    return ""


@dataclass(frozen=True)
class Declared:
    """What the model says about an input."""

    type: str = "real"  # real, integer, boolean, enumeration
    held: bool = False  # it changes at jumps only
    low: float = -inf
    high: float = inf
    literals: tuple[str, ...] = ()  # of an enumeration, where known
    start: float = 0.0
    place: str = ""  # file and line
    values: tuple[float, ...] = ()  # of the literals, where they are not 1, 2, ...

    def _of_literal(self, text: str) -> float:
        k = self.literals.index(text)
        return self.values[k] if self.values else float(k + 1)

    def _is_value(self, numbers: Any) -> Any:
        """Which numbers are values of the enumeration?"""
        if self.values:
            return np.isin(numbers, self.values)
        return (numbers == np.round(numbers)) & (numbers >= 1.0) & (numbers <= (len(self.literals) or inf))

    def number(self, name: str, value: Any, where: Where = _nowhere, is_text: bool = False) -> float:
        """One value as a number that the input can have; ``is_text``: texts may be numbers."""
        number = self._from_text(name, value.strip(), where, is_text) if isinstance(value, str) else float(value)
        if not isfinite(number):
            raise ArgumentError(
                f"input {name}: the value {number} is not finite{where()}", hint="every value must be a finite number"
            )
        self.check(name, number, where)
        return number

    def _from_text(self, name: str, text: str, where: Where, is_text: bool) -> float:
        if self.type == "boolean" and text.lower() in TRUTH:
            return TRUTH[text.lower()]
        if self.type == "enumeration":
            last = text.rpartition(".'" if text.endswith("'") else ".")[2]
            for one in (text.strip("'"), last.strip("'")):
                if one in self.literals:
                    return self._of_literal(one)
        if is_text:
            try:
                return float(text)
            except ValueError:
                pass
        if self.type == "enumeration" and self.literals:
            raise ArgumentError(
                f"input {name}: {text!r} is no value of its enumeration{where()}", hint=suggestion(text, self.literals)
            )
        hint = "numbers, without units" if self.type != "boolean" else "True, False, 0, 1, or the texts true and false"
        told = f"{text!r} is not a number" if text else "there is no value"
        raise ArgumentError(f"input {name}: {told}{where()}", hint=hint)

    def check(self, name: str, value: float, where: Where = _nowhere) -> None:
        """Type and bounds of one number."""
        fits, hint = True, ""
        if self.type == "boolean":
            fits, hint = value in (0.0, 1.0), "True, False, 0 or 1"
        elif self.type == "integer":
            fits, hint = value.is_integer(), "a whole number"
        elif self.type == "enumeration":
            fits = bool(self._is_value(value))
            hint = f"one of {', '.join(self.literals)}" if self.literals else "the number of a value, from 1 on"
        if not fits:
            raise ArgumentError(f"input {name} is {ARTICLE[self.type]} and cannot be {value:g}{where()}", hint=hint)
        if value < self.low or value > self.high:
            bound = f"min = {self.low:g}" if value < self.low else f"max = {self.high:g}"
            place = f" ({self.place})" if self.place else ""
            raise ArgumentError(
                f"input {name} cannot be {value:g}: it has {bound}{place}{where()}",
                hint="give a value within its range",
            )

    def numbers(self, name: str, values: Column, origin: TableOrigin) -> Vector:
        """Many values as numbers; the first that does not fit is named with its place."""
        if values.dtype == object:
            known: dict[Any, float] = {}
            for row, cell in enumerate(values):
                if cell not in known:
                    known[cell] = self.number(name, _plain(cell), partial(origin.place, row), origin.is_text)
            return np.array([known[cell] for cell in values])
        wrong = ~np.isfinite(values) | (values < self.low) | (values > self.high)
        if self.type != "real":
            wrong |= values != np.round(values)
        if self.type == "boolean":
            wrong |= (values != 0.0) & (values != 1.0)
        if self.type == "enumeration":
            wrong |= ~self._is_value(values)
        if wrong.any():
            row = int(np.argmax(wrong))
            self.number(name, values[row], partial(origin.place, row))
        return np.asarray(values, dtype=np.float64)


CONTINUOUS = Declared()


def _plain(cell: Any) -> Any:
    """A cell of a table of objects: a text, or a number; NaN where it is missing."""
    if isinstance(cell, str):
        return cell
    try:
        return float(cell)
    except (TypeError, ValueError, OverflowError):
        return float("nan")


# --------------------------------------------------------------------------------------------------- signals


class Signal(ABC):
    """An input as it was given."""

    @abstractmethod
    def typed(self, name: str, declared: Declared, stop: float = inf) -> Typed:
        """As the model wants it: numbers of its type, checked up to the end of the run."""

    def element(self, name: str, index: Sequence[int], sizes: Sequence[int]) -> Signal | None:
        """What was given for one element of an array; None: nothing for arrays was given."""
        return None


class Typed(Signal):
    """A signal whose values are numbers."""

    @abstractmethod
    def at(self, t: float) -> float:
        """The value at t, at a jump the one after it."""

    @property
    def jumps(self) -> Vector:
        """Times at which the history of a solver has to be corrected, as far as the signal gives them."""
        return np.zeros(0)

    @abstractmethod
    def as_data(self, times: Callable[[], Sequence[float]]) -> Any:
        """As plain data for files; a function is sampled at ``times()``."""


@dataclass(frozen=True, eq=False)
class ConstantSignal(Typed):
    """One value for all times."""

    value: float

    def typed(self, name: str, declared: Declared, stop: float = inf) -> ConstantSignal:
        """Checked against the model."""
        return ConstantSignal(declared.number(name, self.value))

    def at(self, t: float) -> float:
        """The value."""
        return self.value

    def as_data(self, times: Callable[[], Sequence[float]]) -> Any:
        """As plain data for files."""
        return self.value


@dataclass(frozen=True, eq=False)
class TableSignal(Typed):
    """Times and values; ``held``: a value holds until the next time, else linear; None: the model will say."""

    times: Vector
    values: Column
    origin: TableOrigin = field(default_factory=TableOrigin)
    held: bool | None = None

    def typed(self, name: str, declared: Declared, stop: float = inf) -> TableSignal:
        """Values as numbers of the input's type."""
        if self.held is not None:
            return self
        return replace(self, values=declared.numbers(name, self.values, self.origin), held=declared.held)

    @property
    def points(self) -> tuple[Vector, Vector]:
        """The line through these points is the signal: at a jump a time stands twice."""
        if not self.held:
            return self.times, self.values
        last = np.append(np.diff(self.times) > 0, True)  # of two values at one time the second holds
        times, values = self.times[last], self.values[last]
        change = np.append(True, np.diff(values) != 0)
        times, values = times[change], values[change]
        return np.repeat(times, 2)[1:], np.repeat(values, 2)[:-1]

    def at(self, t: float) -> float:
        """The value at t, at a jump the one after it."""
        k = int(np.searchsorted(self.times, t, side="right"))
        if self.held or k in (0, len(self.times)):
            return float(self.values[max(k - 1, 0)])
        share = (t - self.times[k - 1]) / (self.times[k] - self.times[k - 1])
        return float(self.values[k - 1] + share * (self.values[k] - self.values[k - 1]))

    @property
    def jumps(self) -> Vector:
        """Times at which the value changes at once."""
        times, values = self.points
        at = (np.diff(times) == 0) & (np.diff(values) != 0)
        return np.asarray(times[1:][at])

    def as_data(self, times: Callable[[], Sequence[float]]) -> Any:
        """As plain data for files."""
        return {"times": self.times.tolist(), "values": self.values.tolist()}


@by_keyword_class
@dataclass(frozen=True, eq=False)
class Segments(Typed):
    """An input given by polynomials: ``u(t) = sum_k coefficients[s][k] (t - start[s])^k`` from start[s] on.

    Before the first start its first value holds, the last polynomial continues to the end.

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
            raise ArgumentError(
                "Segments: start and coefficients must be numbers, one row per segment", hint=SEGMENTS
            ) from None
        if start.ndim != 1 or rows.ndim != 2 or len(start) != len(rows) or rows.size == 0:
            raise ArgumentError(f"Segments: start has shape {start.shape}, coefficients {rows.shape}", hint=SEGMENTS)
        if not (np.isfinite(start).all() and np.isfinite(rows).all() and np.all(np.diff(start) > 0)):
            raise ArgumentError("Segments: the starts must ascend, and everything must be finite", hint=SEGMENTS)
        object.__setattr__(self, "start", start)
        object.__setattr__(self, "coefficients", rows)

    @property
    def degree(self) -> int:
        """Largest power."""
        return int(self.coefficients.shape[1]) - 1

    @by_keyword
    def about(self, t: Vector, *, left: bool = False) -> NDArray[np.float64]:
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

    def typed(self, name: str, declared: Declared, stop: float = inf) -> Segments:
        """Checked against the model, to ``stop``; a held input has constant segments only."""
        moving = self.coefficients[:, 1:].any(axis=1)
        if declared.held and moving.any():
            s = int(np.argmax(moving))
            raise ArgumentError(
                f"input {name} changes at jumps only, but segment {s} (from t = {self.start[s]:g} on) is not constant",
                hint="give segments of one coefficient each",
            )
        origin = TableOrigin("", "segment {}")
        declared.numbers(name, self.coefficients[:, 0], origin)
        if isfinite(declared.low) or isfinite(declared.high):
            for s in np.flatnonzero(moving).tolist():
                end = stop if s + 1 == len(self.start) else min(stop, self.start[s + 1])
                for value in _extremes(self.coefficients[s], end - self.start[s]):
                    declared.check(name, value, partial(origin.place, s))
        return self

    def at(self, t: float) -> float:
        """The value at t, at a jump the one after it."""
        return float(self.about(np.array([t]))[0, 0])

    @property
    def jumps(self) -> Vector:
        """Starts of all segments but the first: there the history of a solver is corrected."""
        return np.asarray(self.start[1:])

    def as_data(self, times: Callable[[], Sequence[float]]) -> Any:
        """As plain data for files."""
        return {"start": self.start.tolist(), "coefficients": self.coefficients.tolist()}


def _extremes(c: Vector, h: float) -> list[float]:
    """Values of a polynomial at its ends and where it turns, 0 <= t <= h."""
    if h <= 0:
        return []
    p = np.polynomial.Polynomial(c)
    roots = np.asarray(p.deriv().roots(), dtype=np.complex128) if len(c) > 2 else np.zeros(0, dtype=np.complex128)
    turns = [t for t in roots[np.abs(roots.imag) < 1e-12].real.tolist() if 0 < t < h]
    return [float(p(t)) for t in (0.0, *turns, *((h,) if isfinite(h) else ()))]


@dataclass(frozen=True, eq=False)
class FunctionSignal(Typed):
    """A function of time."""

    function: Callable[[float], Any]
    is_typed: bool = False
    made_of: tuple[Callable[[float], Any], str, Declared] | None = None  # the user's function, the input; where typed

    def __reduce__(self) -> tuple[Any, ...]:
        """As the user's function, by its name: checks are made again on the other side."""
        user, name = (self.function, "") if self.made_of is None else self.made_of[:2]
        hint = "define it by `def` at the top level of a module, or give a table: (times, values)"
        check_travels("an input", f"the function of {name}" if name else "its function", user, hint)
        return _function_signal, (user,) if self.made_of is None else self.made_of

    def __copy__(self) -> FunctionSignal:
        return self

    def __deepcopy__(self, _: Any) -> FunctionSignal:
        return self  # nothing in it changes

    def typed(self, name: str, declared: Declared, stop: float = inf) -> FunctionSignal:
        """With its values checked at every call; NaN and infinity are passed on to the caller, which handles them."""
        if self.is_typed:
            return self
        function, low, high, plain = self.function, declared.low, declared.high, declared.type == "real"

        def checked(t: float) -> float:
            value = function(t)
            if plain and isinstance(value, float) and low <= value <= high:
                return value
            return slowly(value, t)

        def slowly(value: Any, t: float) -> float:
            number = scalar(value)
            if number is None:
                told = f"an array of shape {np.shape(value)}" if np.ndim(value) else repr(value)
                raise ArgumentError(
                    f"input {name}: the function gives {told} at t = {t:.10g}, which is not a finite number",
                    hint="return one number",
                )
            if isfinite(number):
                declared.check(name, number, lambda: f" (at t = {t:.10g})")
            return number

        return FunctionSignal(checked, is_typed=True, made_of=(self.function, name, declared))

    def at(self, t: float) -> float:
        """The value at t."""
        return float(self.function(t))

    def as_data(self, times: Callable[[], Sequence[float]]) -> Any:
        """Its values at the times."""
        at = list(times())
        return {"times": at, "values": [self.at(t) for t in at], "sampled": "a function, at the steps"}


def _function_signal(function: Callable[[float], Any], *given: Any) -> FunctionSignal:
    """One that was pickled: ``given`` are the input's name and what the model says about it."""
    signal = FunctionSignal(function)
    return signal.typed(*given) if given else signal


def scalar(value: Any) -> float | None:
    """One number: of Python or numpy, also a 0-dimensional array; None: something else. NaN passes."""
    if isinstance(value, (np.ndarray, np.generic)):
        if value.ndim or value.dtype.kind not in "biufO":
            return None
        value = value.item()
    if isinstance(value, (Real, Decimal)) or (hasattr(value, "__float__") and not hasattr(value, "__len__")):
        try:
            return float(value)
        except OverflowError:
            return inf
        except (TypeError, ValueError):
            return None
    return None


# ------------------------------------------------------------------------------------------------- tables


def make_table(name: str, times: Column, values: Column, origin: TableOrigin) -> TableSignal:
    """A table with times that ascend."""
    if times.shape != values.shape or times.size == 0:
        raise ArgumentError(
            f"input {name}: times have shape {times.shape}, values {values.shape}{origin.name}",
            hint="as many values as times, at least one",
        )
    if times.dtype == object:
        row = next(k for k, cell in enumerate(times) if not _is_number(cell))
        raise ArgumentError(f"input {name}: the time {times[row]!r} is not a number{origin.place(row)}", hint=SECONDS)
    if not np.isfinite(times).all():
        row = int(np.argmin(np.isfinite(times)))
        raise ArgumentError(
            f"input {name}: the table holds a time that is not finite, {times[row]}{origin.place(row)}", hint=SECONDS
        )
    back = np.diff(times) < 0
    if back.any():
        row = int(np.argmax(back)) + 1
        raise ArgumentError(
            f"input {name}: the times of the table must ascend, but {times[row]:.10g} comes after "
            f"{times[row - 1]:.10g}{origin.place(row)}",
            hint="sort the rows; the same time twice is a jump",
        )
    thrice = times[2:] == times[:-2]
    if thrice.any():
        row = int(np.argmax(thrice)) + 2
        raise ArgumentError(
            f"input {name}: the time {times[row]:.10g} occurs more than twice in the table{origin.place(row)}",
            hint="twice is a jump, from the first value to the second",
        )
    return TableSignal(times, values, origin)


def _is_number(cell: Any) -> bool:
    try:
        float(cell)
    except (TypeError, ValueError):
        return False
    return True


def table_from(frame: NamedColumns, name: str, *others: str) -> TableSignal:
    """The table of an input: its column, by one of these names, or the only one."""
    times, values = frame.times_and([frame.place_of((name, *others))])
    return make_table(name, times, values, frame.origin)


def count_jumps(given: Mapping[str, Typed], start: float, stop: float) -> int:
    """At how many times inside the run do inputs jump? Functions of time do not count."""
    times = [jumps for signal in given.values() if len(jumps := signal.jumps)]
    if not times:
        return 0
    found = np.unique(np.concatenate(times))
    return int(np.count_nonzero((found > start) & (found < stop)))
