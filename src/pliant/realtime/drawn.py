"""Inputs that are drawn at random within a range: constants, steps, ramps, sums of sines, pieces of files.

    step       one to three jumps between levels of the range
    ramp       a level, a straight line to another, which stays
    multisine  mean + three sines of random amplitude, frequency and phase; all of it within the range
    file       a recorded signal from a random place on, in a range of its own or moved into ``range``

What is drawn depends on the seed alone, not on the order of drawing, and is a table or a constant, so that every
consumer sees the same values and files can hold them. Inputs that change at jumps only, and whole numbers, get tables
of values that hold. Integers, Booleans and literals of enumerations are those that the range and the type have.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.arguments import as_number, is_number
from pliant.errors import ArgumentError
from pliant.solve.names import suggestion
from pliant.solve.signals.files import TableOrigin
from pliant.solve.signals.given import read_signal
from pliant.solve.signals.kinds import ConstantSignal, Declared, Signal, TableSignal, Typed, make_table

MOVING = ("constant", "step", "ramp", "multisine")
KINDS = (*MOVING, "file")
JUMPS = 3  # of a step, at most
SINES = 3
POINTS = 24  # of the table in the shortest period
FEWEST, MOST = 49, 20_001  # points of the table
PERIODS = (0.5, 20.0)  # of a sine within a run, where no frequencies are given
PART = (0.02, 0.98)  # of a run, where something happens

Array = NDArray[np.float64]


@dataclass(frozen=True)
class InputRange:
    """What was said about one input."""

    name: str
    kinds: tuple[str, ...] = MOVING
    low: float = math.nan  # NaN: the file's own values
    high: float = math.nan
    frequency: tuple[float, float] | None = None  # of sines, in Hz
    files: tuple[Signal, ...] = ()
    sources: tuple[str, ...] = ()  # their names

    @property
    def moves(self) -> bool:
        """Does it depend on the length of a run?"""
        return self.kinds != ("constant",)

    def draw(self, seed: Sequence[int]) -> DrawnSignal:
        """One signal."""
        return DrawnSignal(self, (*seed, *self.name.encode()))


@dataclass(frozen=True, eq=False)
class DrawnSignal(Signal):
    """A signal that is known as soon as the times of the run and the type of the input are."""

    given: InputRange
    seed: tuple[int, ...]
    start: float = 0.0
    stop: float | None = None
    kind: str = field(init=False)

    def __post_init__(self) -> None:
        chance = np.random.default_rng(self.seed)
        object.__setattr__(self, "kind", self.given.kinds[int(chance.integers(len(self.given.kinds)))])

    def during(self, start: float, stop: float) -> DrawnSignal:
        """Over a run of these times, where none were given."""
        return self if self.stop is not None else replace(self, start=start, stop=stop)

    def typed(self, name: str, declared: Declared, stop: float = math.inf) -> Typed:
        """As a table or a constant."""
        end = stop if self.stop is None else self.stop
        if not math.isfinite(end):
            raise ArgumentError(
                f"input {name} is drawn at random, and the end of the run is not known", hint="Scenarios(..., stop=...)"
            )
        chance = np.random.default_rng((*self.seed, 1))
        made = self._made(chance, name, declared, end)
        return made.typed(name, declared, stop)

    def element(self, name: str, index: Sequence[int], sizes: Sequence[int]) -> Signal | None:
        """Each element of an array is drawn for itself."""
        return replace(self, seed=(*self.seed, *index))

    def _made(self, chance: np.random.Generator, name: str, declared: Declared, stop: float) -> Typed:
        if self.kind == "file":
            return self._of_file(chance, name, declared, stop)
        span, whole = stop - self.start, declared.type != "real"
        if self.kind == "constant" or self.given.low == self.given.high:
            return ConstantSignal(float(self._levels(chance, name, 1, declared)[0]))
        if self.kind == "step":
            count = int(chance.integers(1, JUMPS + 1))
            times = np.sort(self.start + span * chance.uniform(*PART, count))
            return _stairs(name, self.start, times, self._levels(chance, name, count + 1, declared))
        if self.kind == "ramp":
            first, last = np.sort(self.start + span * chance.uniform(*PART, 2)).tolist()
            times = np.array([self.start, first, last])
            values = np.repeat(self._levels(chance, name, 2, declared), [2, 1])
        else:
            times, values = self._sines(chance, span)
        if declared.held or whole:
            grid = np.linspace(self.start, stop, max(FEWEST, len(times)))
            values = np.interp(grid, times, values)
            return _table(name, grid, self._nearest(name, values, declared) if whole else values)
        return _table(name, times, values)

    def _levels(self, chance: np.random.Generator, name: str, count: int, declared: Declared) -> Array:
        """Values of the range."""
        low, high = self.given.low, self.given.high
        if declared.type == "real":
            return chance.uniform(low, high, count)
        known = whole_values(f"input {name}", self._span(declared), declared)
        if not isinstance(known, tuple):
            return np.asarray(known[chance.integers(len(known), size=count)])
        return chance.integers(int(known[0]), int(known[1]) + 1, count).astype(np.float64)

    def _span(self, declared: Declared) -> tuple[float, float]:
        """The range, or that of the model where the file's own values count."""
        return (declared.low, declared.high) if math.isnan(self.given.low) else (self.given.low, self.given.high)

    def _nearest(self, name: str, values: Array, declared: Declared) -> Array:
        """Values that the input can have."""
        known = whole_values(f"input {name}", self._span(declared), declared)
        if isinstance(known, tuple):
            return np.clip(np.round(values), *known)
        return np.asarray(known[np.abs(values[:, None] - known[None, :]).argmin(axis=1)])

    def _sines(self, chance: np.random.Generator, span: float) -> tuple[Array, Array]:
        low, high = self.given.low, self.given.high
        slowest, fastest = self.given.frequency or (PERIODS[0] / span, PERIODS[1] / span)
        frequencies = np.exp(chance.uniform(np.log(slowest), np.log(fastest), SINES))
        count = int(np.clip(POINTS * span * frequencies.max(), FEWEST, MOST))
        t = np.linspace(0.0, span, count)
        mean = chance.uniform(low, high)
        share = chance.uniform(0.2, 1.0) * min(mean - low, high - mean)
        weights = chance.uniform(0.1, 1.0, SINES)
        phases = chance.uniform(0.0, 2.0 * np.pi, SINES)
        waves = np.sin(2.0 * np.pi * frequencies[:, None] * t + phases[:, None])
        return self.start + t, mean + share * (weights / weights.sum()) @ waves

    def _of_file(self, chance: np.random.Generator, name: str, declared: Declared, stop: float) -> Typed:
        source = self.given.files[int(chance.integers(len(self.given.files)))]
        known = source.typed(name, declared if math.isnan(self.given.low) else Declared(held=declared.held))
        if not isinstance(known, TableSignal):
            return known
        room = float(known.times[-1] - known.times[0]) - (stop - self.start)
        shift = self.start - float(known.times[0]) - (chance.uniform(0.0, room) if room > 0 else 0.0)
        times, values = known.times + shift, np.asarray(known.values, dtype=np.float64)
        if not math.isnan(self.given.low):
            bottom, top = values.min(), values.max()
            width = top - bottom
            scaled = (values - bottom) / width if width else np.full(len(values), 0.5)
            values = self.given.low + (self.given.high - self.given.low) * scaled
            values = self._nearest(name, values, declared) if declared.type != "real" else values
        return make_table(name, times, values, known.origin)


def _table(name: str, times: Array, values: Array) -> TableSignal:
    return make_table(name, times, values, TableOrigin("", "drawn at random"))


def _stairs(name: str, start: float, times: Array, levels: Array) -> TableSignal:
    """Each level holds until the next time."""
    return _table(name, np.concatenate([[start], np.repeat(times, 2)]), np.repeat(levels, 2)[:-1])


# ------------------------------------------------------------------------------------------------ whole numbers


def whole_values(what: str, span: tuple[float, float], declared: Declared) -> tuple[float, float] | Array:
    """Lowest and highest whole number in a range that the type can have; all values where these have gaps."""
    low, high = max(span[0], declared.low), min(span[1], declared.high)
    if declared.values:
        known = np.array([one for one in sorted(declared.values) if low <= one <= high], dtype=np.float64)
        if len(known):
            return known
    if declared.type == "boolean":
        low, high = max(low, 0.0), min(high, 1.0)
    elif declared.literals and not declared.values:
        low, high = max(low, 1.0), min(high, float(len(declared.literals)))
    lowest = math.ceil(low) if math.isfinite(low) else low
    highest = math.floor(high) if math.isfinite(high) else high
    if declared.values or lowest > highest:
        word = "whole number" if declared.type == "integer" else f"value of its type ({declared.type})"
        raise ArgumentError(f"{what}: there is no {word} between {span[0]:g} and {span[1]:g}", hint="another range")
    return lowest, highest


class DrawnNumber(float):
    """A number drawn from a range; what becomes of it follows from the type of the name that it is given to."""

    low: float
    high: float

    def __new__(cls, value: float, low: float = math.nan, high: float = math.nan) -> DrawnNumber:
        """``low``, ``high``: what it was drawn from."""
        made = super().__new__(cls, value)
        made.low, made.high = low, high
        return made

    def typed(self, what: str, declared: Declared) -> float:
        """Itself, or a whole number of the range: each as often as the others."""
        if declared.type == "real" or not self.low < self.high:
            return float(self)
        known = whole_values(what, (self.low, self.high), declared)
        share = (self - self.low) / (self.high - self.low)
        count = known[1] - known[0] + 1 if isinstance(known, tuple) else len(known)
        k = min(int(share * count), int(count) - 1)
        return float(known[0] + k if isinstance(known, tuple) else known[k])


# ------------------------------------------------------------------------------------------------------ reading


def read_range(what: str, given: Any, kind: str = "a range") -> tuple[float, float]:
    """(low, high) from a pair."""
    parts = list(given) if isinstance(given, (list, tuple, np.ndarray)) else []
    values = [float(one) if isinstance(one, (bool, np.bool_)) else as_number(one) for one in parts]
    if len(values) != 2 or any(one is None or not math.isfinite(one) for one in values):
        raise ArgumentError(f"{what}: {given!r} is not {kind}", hint="a pair of finite numbers, e.g. (1.0, 2.0)")
    low, high = (float(one) for one in values if one is not None)
    if low > high:
        raise ArgumentError(f"{what}: the range {low:g} .. {high:g} is empty", hint=f"({high:g}, {low:g})")
    return low, high


def read_input_range(name: str, given: Any) -> InputRange:
    """A pair, a number, or a mapping with "kind" and what belongs to it."""
    what = f"inputs, {name}"
    if is_number(given) and math.isfinite(given):
        return InputRange(name, ("constant",), float(given), float(given))
    if not isinstance(given, Mapping):
        return InputRange(name, MOVING, *read_range(what, given))
    known = ("kind", "range", "frequency", "file")
    for key in given:
        if key not in known:
            raise ArgumentError(f"{what}: there is no {key!r}", hint=suggestion(str(key), known))
    kinds = given.get("kind", "file" if "file" in given else list(MOVING))
    kinds = (kinds,) if isinstance(kinds, str) else tuple(kinds) if isinstance(kinds, (list, tuple)) else (kinds,)
    for kind in kinds or ("",):
        if kind not in KINDS:
            raise ArgumentError(f"{what}: there is no kind {kind!r}", hint=suggestion(str(kind), KINDS))
    files = given.get("file", ())
    files = (files,) if isinstance(files, (str, Path)) or not isinstance(files, (list, tuple)) else tuple(files)
    if ("file" in kinds) != bool(files):
        raise ArgumentError(
            f"{what}: the kind 'file' and file= belong together", hint="e.g. {'kind': 'file', 'file': 'drive.csv'}"
        )
    low = high = math.nan
    if "range" in given:
        low, high = read_range(what, given["range"])
    elif kinds != ("file",):
        raise ArgumentError(f"{what}: there is no range", hint="e.g. {'kind': 'step', 'range': (0.0, 5.0)}")
    frequency = None
    if given.get("frequency") is not None:
        frequency = read_range(f"{what}, frequency", given["frequency"], "a range of frequencies in Hz")
        if frequency[0] <= 0.0:
            raise ArgumentError(f"{what}: frequencies must be positive, not {frequency[0]:g}", hint="in Hz")
    return InputRange(
        name,
        kinds,
        low,
        high,
        frequency,
        tuple(read_signal(name, one) for one in files),
        tuple(str(one) for one in files if isinstance(one, (str, Path))),
    )
