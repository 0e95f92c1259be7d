"""Inputs as users give them, read in one place for simulate, scenarios, couplings and the command line.

read_inputs    signals by name from what was given; the model need not be known yet
typed_inputs   the signals of a model: its names and types, everything checked
"""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf, isfinite
from pathlib import Path
from typing import Any

import numpy as np

from pliant.errors import ArgumentError, UnknownNameError
from pliant.solve.names import suggestion
from pliant.solve.signals.files import (
    TABLE_SUFFIXES,
    WITH_DATES,
    Column,
    TableOrigin,
    as_column,
    is_frame,
    read_file,
    read_frame,
)
from pliant.solve.signals.kinds import (
    KINDS,
    ConstantSignal,
    Declared,
    FunctionSignal,
    Signal,
    TableSignal,
    Typed,
    make_table,
    scalar,
    table_from,
)

_ELEMENT = re.compile(r"^(?P<array>.*)\[(?P<index>\d+(?:,\d+)*)\]$")


@dataclass(frozen=True, eq=False)
class WordSignal(Signal):
    """A text that only the model can judge: a value of an enumeration, true or false, or the name of a file."""

    word: str
    folder: Path | None = None

    def typed(self, name: str, declared: Declared, stop: float = inf) -> Typed:
        """The value, or what the file holds."""
        if declared.type in ("boolean", "enumeration"):
            try:
                return ConstantSignal(declared.number(name, self.word))
            except ArgumentError:
                if not self._file.is_file():
                    raise
        if self._file.is_file():
            return table_from(read_file(self._file, f"input {name}: "), name).typed(name, declared)
        raise ArgumentError(
            f"input {name}: expected a number, but {self.word!r} is a text, and there is no file of that name",
            hint=f"give {KINDS}",
        )

    @property
    def _file(self) -> Path:
        return (self.folder or Path()) / self.word


@dataclass(frozen=True, eq=False)
class ListSignal(Signal):
    """A sequence: a table, or, for an input that is an array, one signal for each element."""

    values: Sequence[Any] | Column
    table: TableSignal | ArgumentError  # the error where it is no table
    folder: Path | None = None

    def typed(self, name: str, declared: Declared, stop: float = inf) -> TableSignal:
        """For a scalar input: the table."""
        if isinstance(self.table, ArgumentError):
            raise self.table
        return self.table.typed(name, declared, stop)

    def element(self, name: str, index: Sequence[int], sizes: Sequence[int]) -> Signal | None:
        """For an array: the part at that index."""
        part: Any = self.values
        for k, size in zip(index, sizes, strict=True):
            if not isinstance(part, (list, tuple, np.ndarray)) or len(part) != size:
                return None
            part = part[k - 1]
        return read_signal(name, part, self.folder)


# ---------------------------------------------------------------------------------------------------- reading


def read_inputs(given: Any, folder: Path | None = None) -> dict[str, Signal]:
    """Signals by name, from a mapping, or from a file or table whose columns are inputs. Twice is as good as once.

    ``folder``: where names of files begin.
    """
    if given is None:
        return {}
    if isinstance(given, Mapping):
        for name in given:
            if not isinstance(name, str):
                raise ArgumentError(f"inputs: {name!r} is no name", hint="names of inputs are texts")
        return {name: read_signal(name, value, folder) for name, value in given.items()}
    if isinstance(given, (str, os.PathLike)):
        frame = read_file((folder or Path()) / given, "inputs: ")
    elif is_frame(given) and getattr(given, "ndim", 2) == 2:
        frame = read_frame(given, "inputs: ")
    else:
        raise ArgumentError(
            f"inputs must be a mapping from names to values, or a file or table with a column for each, not {given!r}",
            hint="e.g. inputs={'u': 1.0}",
        )
    places = frame.places()
    if frame.names is None or not places:
        raise ArgumentError(f"inputs: the columns of {frame.source} have no names", hint="write them in the first line")
    names = [frame.names[k] for k in places]
    for name in names:
        if names.count(name) > 1:
            raise ArgumentError(
                f"inputs: {frame.source} has {names.count(name)} columns {name!r}", hint="leave one of them"
            )
    times, *columns = frame.times_and(places)
    return {name: make_table(name, times, values, frame.origin) for name, values in zip(names, columns, strict=True)}


def read_signal(name: str, value: Any, folder: Path | None = None) -> Signal:
    """One input from whatever a user may give."""
    if isinstance(value, Signal):
        return value
    if isinstance(value, (str, os.PathLike)):
        return _from_text(name, value, folder)
    number = scalar(value)
    if number is not None:
        if not isfinite(number):
            raise ArgumentError(
                f"input {name}: {value!r} is not a finite number", hint="leave the input out to keep its start value"
            )
        return ConstantSignal(number)
    if is_frame(value):
        return table_from(read_frame(value, f"input {name}: "), name, name.rpartition(".")[2])
    if callable(value):
        return _function(name, value)
    if isinstance(value, (list, tuple, np.ndarray)):
        try:
            return ListSignal(value, _table(name, value), folder)
        except ArgumentError as error:
            return ListSignal(value, error, folder)
    raise _no_signal(name, value)


def _no_signal(name: str, value: Any) -> ArgumentError:
    hint = "leave the input out to keep its start value" if value is None else "e.g. {'u': ([0.0, 1.0], [0.0, 5.0])}"
    return ArgumentError(f"input {name}: {type(value).__name__} is not {KINDS}", hint=hint)


def _from_text(name: str, value: str | os.PathLike[str], folder: Path | None) -> Signal:
    path = Path(value)
    if isinstance(value, str) and not (path.suffix.lower() in TABLE_SUFFIXES or path.name != value):
        return WordSignal(value, folder)
    return table_from(read_file((folder or Path()) / path, f"input {name}: "), name, name.rpartition(".")[2])


def _function(name: str, function: Callable[[float], Any]) -> FunctionSignal:
    code = getattr(function, "__code__", None)
    if code is not None and code.co_argcount == 1 and not code.co_kwonlyargcount and not inspect.ismethod(function):
        return FunctionSignal(function)  # the usual case: looking at signatures takes as long as a short run
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # many functions written in C do not tell
        return FunctionSignal(function)
    try:
        signature.bind(0.0)
    except TypeError as error:
        raise ArgumentError(
            f"input {name}: the function cannot be called with the time alone: {error}",
            hint="a function of one argument, e.g. lambda t: 2*t",
        ) from None
    return FunctionSignal(function)


def _table(name: str, value: Sequence[Any] | Column) -> TableSignal:
    """A pair (times, values), or an array with these two as its columns or rows."""
    if isinstance(value, np.ndarray) and value.ndim == 2 and 2 in value.shape:
        if value.shape == (2, 2):
            raise ArgumentError(
                f"input {name}: an array of shape (2, 2) may hold times and values in its rows or in its columns",
                hint="give a pair, (a[:, 0], a[:, 1]) or (a[0], a[1])",
            )
        value = tuple(value.T if value.shape[1] == 2 else value)
    if len(value) != 2:
        raise ArgumentError(
            f"input {name}: expected {KINDS}, got {type(value).__name__} of {len(value)}",
            hint="from rows [(t, u), ...] a pair is made by zip(*rows)",
        )
    if isinstance(value, list) and all(isinstance(part, tuple) and len(part) == 2 for part in value):
        raise ArgumentError(
            f"input {name}: {value!r} may be two rows (time, value), or times and values",
            hint="give a pair of lists: ([t0, t1], [u0, u1])",
        )
    columns: list[Column] = []
    for what, part in zip(("times", "values"), value, strict=True):
        try:
            columns.append(as_column(part))
        except TypeError:
            raise ArgumentError(f"input {name}: the {what} are dates, not numbers", hint=WITH_DATES) from None
        except ValueError:
            raise ArgumentError(
                f"input {name}: expected {KINDS}; the {what} of the pair have shape {_shape(part)}",
                hint="times and values must be vectors of the same shape",
            ) from None
    return make_table(name, columns[0], columns[1], TableOrigin("", "entry {}"))


def _shape(part: Any) -> str:
    try:
        return str(np.shape(part))
    except ValueError:
        return "with rows of different lengths"


# ------------------------------------------------------------------------------------------- for a model


def typed_inputs(declared: Mapping[str, Declared], given: Any, stop: float = inf) -> dict[str, Typed]:
    """What was given, by the names of a model's inputs; arrays by element. Inputs that are not given are not in it."""
    out: dict[str, Typed] = {}
    for asked, signal in read_inputs(given).items():
        found = {asked: signal} if asked in declared else _elements(asked, signal, list(declared))
        for name, one in found.items():
            if name in out:
                raise ArgumentError(f"inputs: {name} is given twice, also by {asked}", hint="give it once")
            out[name] = one.typed(name, declared[name], stop)
    return out


def constant_inputs(typed: Mapping[str, Typed], purpose: str) -> None:
    """Refuse everything that depends on time."""
    for name, signal in typed.items():
        if not isinstance(signal, ConstantSignal):
            raise ArgumentError(
                f"input {name}: {purpose} needs a constant, not {type(signal).__name__.removesuffix('Signal').lower()}",
                hint="give one number",
            )


def _elements(asked: str, signal: Signal, names: Sequence[str]) -> dict[str, Signal]:
    """An array given at once: one signal for each element."""
    own: dict[tuple[int, ...], str] = {}
    for name in names:
        match = _ELEMENT.match(name)
        if match and match["array"] == asked:
            own[tuple(map(int, match["index"].split(",")))] = name
    if not own:
        source = signal.origin.name if isinstance(signal, TableSignal) else ""
        raise UnknownNameError(f"inputs: the model has no input {asked!r}{source}", hint=suggestion(asked, names))
    sizes = tuple(max(index[k] for index in own) for k in range(len(next(iter(own)))))
    shape = " x ".join(map(str, sizes))
    out: dict[str, Signal] = {}
    for index, name in own.items():
        found = signal.element(name, index, sizes)
        if found is None:
            raise ArgumentError(
                f"input {asked} is an array of {shape}: it needs one value for each element",
                hint=f"a list of {shape} values, or single elements, inputs={{'{name}': ...}}",
            )
        out[name] = found
    return out
