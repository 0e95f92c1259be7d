"""Tables of inputs from outside: CSV and Parquet files, pandas, Arrow.

A Frame has columns, one of them the time. Columns are numbers (float64) where they can be; others keep their cells,
because only the model knows whether `true` or `fast` is a value.
"""

from __future__ import annotations

import csv
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.errors import ArgumentError, UnknownNameError
from pliant.solve.names import suggestion

Column = NDArray[Any]  # float64, or object: cells as they are

TABLE_SUFFIXES = (".csv", ".tsv", ".txt", ".dat", ".parquet", ".pq")
TIME_NAMES = ("time", "t")
SECONDS = "times are numbers, in seconds"
WITH_DATES = "count seconds from the first one: (times - times[0]).total_seconds(), or .dt.total_seconds() of a column"
SEPARATED = "columns are separated by commas, semicolons or tabs, one line for each time"


@dataclass(frozen=True)
class Origin:
    """Where a table comes from, for messages. ``words``: what a row is called, with its number at {}."""

    source: str = ""
    words: str = "row {}"
    first: int = 0  # number of the first row
    is_text: bool = False  # cells are texts, also those that mean numbers

    def place(self, row: int) -> str:
        """Where a row stands, as the end of a sentence."""
        number = self.first + row
        if self.is_text:
            number = _line_of(self.source, row, number)
        told = self.words.format(number)
        return f" ({self.source}, {told})" if self.source else f" ({told})"

    @property
    def name(self) -> str:
        """The source as the end of a sentence."""
        return f" ({self.source})" if self.source else ""


@dataclass
class Frame:
    """Columns with names, or without. ``index``: times that are no column."""

    origin: Origin
    names: list[str] | None
    width: int
    read: Callable[[Sequence[int]], list[Column]]
    index: Column | None = None

    @property
    def source(self) -> str:
        """What the frame is called in messages."""
        return self.origin.source

    def time_place(self) -> int | None:
        """The column of times; None: the index."""
        for wanted in TIME_NAMES:
            for k, name in enumerate(self.names or ()):
                if name.lower() == wanted:
                    return k
        return None if self.index is not None else 0

    def places(self) -> list[int]:
        """The columns that are not the time, by place; those without name and content are left out."""
        time = self.time_place()
        return [k for k in range(self.width) if k != time and (self.names is None or self.names[k])]

    def place_of(self, wanted: Sequence[str]) -> int:
        """The column of an input: the first of these names that there is, or the only column."""
        places = self.places()
        if not places:
            raise ArgumentError(f"input {wanted[0]}: {self.source} has no column of values", hint=SEPARATED)
        for name in wanted:
            found = [k for k in places if self.names is not None and self.names[k] == name]
            if len(found) > 1:
                raise ArgumentError(
                    f"input {wanted[0]}: {self.source} has {len(found)} columns {name!r}", hint="leave one of them"
                )
            if found:
                return found[0]
        if len(places) == 1:
            return places[0]
        if self.names is None:
            raise ArgumentError(
                f"input {wanted[0]}: {self.source} has {self.width} columns without names",
                hint="give the columns names in the first line, or leave two: time and value",
            )
        raise UnknownNameError(
            f"input {wanted[0]}: {self.source} has no column {wanted[0]!r}",
            hint=suggestion(wanted[0], [self.names[k] for k in places]),
        )

    def times_and(self, places: Sequence[int]) -> list[Column]:
        """The times, then the columns asked for."""
        time = self.time_place()
        if time is None:
            assert self.index is not None
            return [self.index, *self.read(places)]
        return self.read([time, *places])


# --------------------------------------------------------------------------------------------------- columns


def as_column(values: Any) -> Column:
    """One vector: numbers as float64, everything else as objects. ValueError: no vector, TypeError: dates."""
    array = np.asarray(values)
    if array.ndim != 1:
        raise ValueError(f"shape {array.shape}")
    if array.dtype.kind in "mM":
        raise TypeError("dates")
    if array.dtype.kind in "biuf":
        return np.array(array, dtype=np.float64)
    cells = np.array(array, dtype=object)
    if any(hasattr(cell, "tzinfo") or hasattr(cell, "total_seconds") for cell in cells[:1]):
        raise TypeError("dates")
    if any(isinstance(cell, (str, bytes)) for cell in cells):
        return cells
    return np.array([_number_or_nan(cell) for cell in cells], dtype=np.float64)


def _number_or_nan(cell: Any) -> float:
    """A cell that is no text: missing values are NaN, which is refused later with its place."""
    if cell is None or type(cell).__name__ in ("NAType", "NaTType"):
        return float("nan")
    if isinstance(cell, complex) or np.ndim(cell):
        raise ValueError("cells that are no numbers")
    try:
        return float(cell)
    except (TypeError, OverflowError):
        raise ValueError("cells that are no numbers") from None


# ----------------------------------------------------------------------------------------------------- files


def read_file(path: str | os.PathLike[str], who: str) -> Frame:
    """A CSV or Parquet file; ``who`` stands before every message."""
    file = Path(path)
    try:
        raw = file.read_bytes()
    except FileNotFoundError:
        raise ArgumentError(f"{who}there is no file {file}", hint="check the path, or give a number") from None
    except OSError as error:
        raise ArgumentError(f"{who}{file} cannot be read: {error.strerror}", hint="check the path") from None
    if raw[:4] == b"PAR1" or file.suffix.lower() in (".parquet", ".pq"):
        return _parquet(file, who)
    return _csv(file, _decoded(raw, file, who), who)


def _decoded(raw: bytes, file: Path, who: str) -> str:
    """The text without byte order mark."""
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\0" in raw[:1024]:
        raise ArgumentError(
            f"{who}{file} is not a text file in UTF-8, and not Parquet either", hint="save it as CSV in UTF-8"
        )
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise ArgumentError(
            f"{who}{file}, line {line}: this is not a text file in UTF-8", hint="save it as CSV in UTF-8"
        ) from None


def _lines(text: str) -> list[str]:
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _counts(line: str) -> bool:
    """Lines that are neither empty nor comments."""
    return not line.isspace() and line != "" and line.lstrip()[0] != "#"


def _line_of(source: str, row: int, otherwise: int) -> int:
    """The line in a CSV file where a row stands: empty lines and comments count here, and only for messages."""
    try:
        numbered = enumerate(_lines(Path(source).read_text(encoding="utf-8-sig")), start=1)
    except (OSError, UnicodeDecodeError):
        return otherwise
    found = [number for number, line in numbered if _counts(line)]
    return found[otherwise] if otherwise < len(found) else otherwise


def _is_number(text: str) -> bool:
    try:
        float(text.replace(",", "."))
    except ValueError:
        return False
    return True


def _csv(file: Path, text: str, who: str) -> Frame:
    lines = _lines(text)
    if "" in lines or "#" in text or any(line.isspace() for line in lines):
        lines = [line for line in lines if _counts(line)]
    if not lines:
        raise ArgumentError(f"{who}{file} is empty", hint="add times and values")
    mark = next((one for one in ";\t," if one in lines[0]), "")
    if not mark:
        raise ArgumentError(f"{who}{file} has one column only", hint=SEPARATED)
    head = [cell.strip() for cell in next(csv.reader([lines[0]], delimiter=mark))]
    named = not _is_number(head[0])
    body = lines[1:] if named else lines
    if not body:
        raise ArgumentError(f"{who}{file} has no rows below its names", hint="add times and values")
    origin = Origin(str(file), "line {}", int(named), is_text=True)
    cells = _Cells(body, mark, len(head), origin, who)
    return Frame(origin, head if named else None, len(head), cells.read)


class _Cells:
    """The rows of a CSV file."""

    def __init__(self, lines: list[str], mark: str, width: int, origin: Origin, who: str) -> None:
        self.lines, self.mark, self.width, self.origin, self.who = lines, mark, width, origin, who

    def read(self, places: Sequence[int]) -> list[Column]:
        """Columns, fast if there is nothing but numbers, else cell by cell."""
        if any('"' in line for line in self.lines):
            rows = [[cell.strip() for cell in row] for row in csv.reader(self.lines, delimiter=self.mark)]
            self._check_widths([len(row) for row in rows])
            return [self._column([row[k] for row in rows]) for k in places]
        self._check_widths([line.count(self.mark) + 1 for line in self.lines])
        try:
            table = np.loadtxt(self.lines, delimiter=self.mark, usecols=list(places), ndmin=2, comments=None)
        except ValueError:
            rows = [line.split(self.mark) for line in self.lines]
            return [self._column([row[k].strip() for row in rows]) for k in places]
        return [np.ascontiguousarray(table[:, k]) for k in range(len(places))]

    def _check_widths(self, widths: list[int]) -> None:
        if widths.count(self.width) == len(widths):
            return
        row = next(k for k, width in enumerate(widths) if width != self.width)
        raise ArgumentError(
            f"{self.who}{widths[row]} columns instead of {self.width}{self.origin.place(row)}",
            hint="with decimal commas, semicolons must separate the columns" if self.mark == "," else SEPARATED,
        )

    def _column(self, cells: list[str]) -> Column:
        """Numbers if all cells are some, with decimal commas or points."""
        column = np.array(cells, dtype=object)
        try:
            return column.astype(np.float64)
        except ValueError:
            pass
        if self.mark == ",":
            return column
        numbers = [_is_number(cell) for cell in cells]
        commas = any(known and "," in cell for known, cell in zip(numbers, cells, strict=True))
        points = next((k for k, cell in enumerate(cells) if numbers[k] and "." in cell), None)
        if commas and points is not None:
            raise ArgumentError(
                f"{self.who}numbers with decimal points and with decimal commas{self.origin.place(points)}",
                hint="write all numbers in one way",
            )
        column[numbers] = [cell.replace(",", ".") for cell in column[numbers]]
        return column.astype(np.float64) if all(numbers) else column


def _parquet(file: Path, who: str) -> Frame:
    import pyarrow
    import pyarrow.parquet

    try:
        table = pyarrow.parquet.read_table(file)
    except (OSError, pyarrow.ArrowException) as error:
        raise ArgumentError(
            f"{who}{file} is not a Parquet file that can be read: {error}", hint="save it anew"
        ) from None
    return _arrow(table, str(file), who)


# -------------------------------------------------------------------------------------------- pandas and Arrow


def is_frame(value: Any) -> bool:
    """A Series or DataFrame of pandas, or anything that Arrow reads as a table."""
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(value, (pandas.Series, pandas.DataFrame)):
        return True
    return hasattr(value, "__arrow_c_stream__")


def read_frame(value: Any, who: str) -> Frame:
    """The columns of a Series, a DataFrame or an Arrow table."""
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(value, (pandas.Series, pandas.DataFrame)):
        return _pandas(value, who)
    import pyarrow

    try:
        return _arrow(pyarrow.table(value), f"the {type(value).__name__}", who)
    except (TypeError, ValueError, pyarrow.ArrowException) as error:
        raise ArgumentError(f"{who}Arrow cannot read the {type(value).__name__}: {error}") from None


def _arrow(table: Any, source: str, who: str) -> Frame:
    import pyarrow

    def read(places: Sequence[int]) -> list[Column]:
        found = []
        for k in places:
            cells = table.column(k)
            if pyarrow.types.is_dictionary(cells.type):
                cells = cells.cast(cells.type.value_type)
            found.append(_vector(cells.to_numpy(), table.column_names[k], source, who))
        return found

    if table.num_rows == 0:
        raise ArgumentError(f"{who}{source} has no rows", hint="add times and values")
    return Frame(Origin(source, "row {}", 1), list(table.column_names), table.num_columns, read)


def _pandas(value: Any, who: str) -> Frame:
    source = f"the {type(value).__name__}"
    frame = value.to_frame("value") if value.ndim == 1 else value
    if not len(frame):
        raise ArgumentError(f"{who}{source} has no rows", hint="add times and values")
    if getattr(frame.index, "nlevels", 1) > 1 or getattr(frame.columns, "nlevels", 1) > 1:
        raise ArgumentError(f"{who}{source} has more than one level of names", hint="reset_index(), or select a part")
    names = [str(name) for name in frame.columns]

    def read(places: Sequence[int]) -> list[Column]:
        return [_vector(frame.iloc[:, k].to_numpy(), names[k], source, who) for k in places]

    counted = type(frame.index).__name__ == "RangeIndex" and value.ndim == 2  # nobody chose it: no times
    made = Frame(Origin(source, "row {}", 0), names, len(names), read)
    if not counted and all(name.lower() not in TIME_NAMES for name in names):
        made.index = _vector(frame.index.to_numpy(), "index", source, who)
    return made


def _vector(cells: Any, name: str, source: str, who: str) -> Column:
    try:
        return as_column(cells)
    except TypeError:
        raise ArgumentError(f"{who}{name!r} of {source} holds dates, but {SECONDS}", hint=WITH_DATES) from None
    except ValueError as error:
        raise ArgumentError(f"{who}{name!r} of {source} holds {error}", hint="numbers, Booleans or texts") from None
