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

from pliant.drawing import import_optional
from pliant.errors import ArgumentError, UnknownNameError
from pliant.solve.names import suggestion

Column = NDArray[Any]  # float64, or object: cells as they are

TABLE_SUFFIXES = (".csv", ".tsv", ".txt", ".dat", ".parquet", ".pq")
TIME_NAMES = ("time", "t")
SECONDS = "times are numbers, in seconds"
WITH_DATES = "count seconds from the first one: (times - times[0]).total_seconds(), or .dt.total_seconds() of a column"
SEPARATED = "columns are separated by commas, semicolons or tabs, one line for each time"


@dataclass(frozen=True)
class TableOrigin:
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
class NamedColumns:
    """Columns with names, or without. ``index``: times that are no column."""

    origin: TableOrigin
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


def read_file(path: str | os.PathLike[str], who: str) -> NamedColumns:
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


def _csv(file: Path, text: str, who: str) -> NamedColumns:
    head, body = _first_line(text)
    if not head:
        raise ArgumentError(f"{who}{file} is empty", hint="add times and values")
    mark = next((one for one in ";\t," if one in head), "")
    if not mark:
        raise ArgumentError(f"{who}{file} has one column only", hint=SEPARATED)
    names = [cell.strip() for cell in next(csv.reader([head], delimiter=mark))]
    named = not _is_number(names[0])
    if not named:
        body = f"{head}\n{body}"
    if not body or body.isspace():
        raise ArgumentError(f"{who}{file} has no rows below its names", hint="add times and values")
    origin = TableOrigin(str(file), "line {}", int(named), is_text=True)
    cells = _Cells(body, mark, len(names), origin, who)
    return NamedColumns(origin, names if named else None, len(names), cells.read)


def _first_line(text: str) -> tuple[str, str]:
    """The first line that is neither empty nor a comment, and all after it."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    place = 0
    while place < len(text):
        end = text.find("\n", place)
        end = len(text) if end < 0 else end
        line = text[place:end]
        place = end + 1
        if _counts(line):
            return line, text[place:]
    return "", ""


class _Cells:
    """The rows of a CSV file: Arrow reads them if they are in order, else they are read one by one."""

    def __init__(self, body: str, mark: str, width: int, origin: TableOrigin, who: str) -> None:
        self.mark, self.width, self.origin, self.who = mark, width, origin, who
        self.body = body if "#" not in body else "\n".join(filter(_counts, body.split("\n")))

    def read(self, places: Sequence[int]) -> list[Column]:
        """Columns: numbers, or texts where a cell is none."""
        found = self._by_arrow(places, ".")
        if found is None and self.mark != "," and "." not in self.body:
            found = self._by_arrow(places, ",")
        if found is None and (self.mark == "," or "," not in self.body):
            found = self._by_arrow(places, "")
        return self._by_hand(places) if found is None else found

    def _by_arrow(self, places: Sequence[int], decimal: str) -> list[Column] | None:
        """All columns as numbers, or all as texts that become numbers if they can; None: not by Arrow."""
        try:
            import pyarrow
            from pyarrow import csv as arrow
        except ImportError:
            return None
        names = [str(k) for k in range(self.width)]
        kind = pyarrow.float64() if decimal else pyarrow.string()
        try:
            table = arrow.read_csv(
                pyarrow.BufferReader(self.body.encode()),
                arrow.ReadOptions(column_names=names),
                arrow.ParseOptions(delimiter=self.mark),
                arrow.ConvertOptions(
                    column_types={names[k]: kind for k in places},
                    include_columns=[names[k] for k in places],
                    null_values=[],
                    decimal_point=decimal or ".",
                ),
            )
        except pyarrow.ArrowException:
            return None
        columns = [table.column(k) for k in range(len(places))]
        if decimal:
            return [np.array(column.to_numpy(), dtype=np.float64) for column in columns]
        return [_texts(column) for column in columns]

    def _by_hand(self, places: Sequence[int]) -> list[Column]:
        """Line by line, for decimal commas among texts, and to say what is wrong with a line."""
        rows = list(csv.reader([line for line in self.body.split("\n") if _counts(line)], delimiter=self.mark))
        self._check_widths([len(row) for row in rows])
        columns = [[row[k].strip() for row in rows] for k in places]
        numbers = [cell for cells in columns for cell in set(cells) if _is_number(cell)]
        if self.mark != "," and any("," in cell for cell in numbers):
            for row, several in enumerate(zip(*columns, strict=True)):
                if any("." in cell and _is_number(cell) for cell in several):
                    raise ArgumentError(
                        f"{self.who}numbers with decimal points and with decimal commas{self.origin.place(row)}",
                        hint="write all numbers in one way",
                    )
            columns = [[cell.replace(",", ".") if _is_number(cell) else cell for cell in cells] for cells in columns]
        return [_numbers_or_texts(cells) for cells in columns]

    def _check_widths(self, widths: list[int]) -> None:
        if widths.count(self.width) == len(widths):
            return
        row = next(k for k, width in enumerate(widths) if width != self.width)
        raise ArgumentError(
            f"{self.who}{widths[row]} columns instead of {self.width}{self.origin.place(row)}",
            hint="with decimal commas, semicolons must separate the columns" if self.mark == "," else SEPARATED,
        )


def _texts(column: Any) -> Column:
    """A column of Arrow: numbers if all cells are some, else its cells, of which many are equal."""
    import pyarrow

    try:
        return np.array(column.cast(pyarrow.float64()).to_numpy(), dtype=np.float64)
    except pyarrow.ArrowException:
        coded = column.combine_chunks().dictionary_encode()
        known = np.array([cell.strip() for cell in coded.dictionary.to_pylist()], dtype=object)
        return np.asarray(known[coded.indices.to_numpy()])


def _numbers_or_texts(cells: list[str]) -> Column:
    column = np.array(cells, dtype=object)
    try:
        return column.astype(np.float64)
    except ValueError:
        return column


def _parquet(file: Path, who: str) -> NamedColumns:
    pyarrow = import_optional("pyarrow", "reading .parquet", "give a .csv file")
    parquet = import_optional("pyarrow.parquet", "reading .parquet", "give a .csv file")
    try:
        table = parquet.read_table(file)
    except (OSError, pyarrow.ArrowException) as error:
        raise ArgumentError(
            f"{who}{file} is not a Parquet file that can be read: {error}", hint="save it again"
        ) from None
    return _arrow(table, str(file), who)


# -------------------------------------------------------------------------------------------- pandas and Arrow


def is_frame(value: Any) -> bool:
    """A Series or DataFrame of pandas, or anything that Arrow reads as a table."""
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(value, (pandas.Series, pandas.DataFrame)):
        return True
    return hasattr(value, "__arrow_c_stream__")


def read_frame(value: Any, who: str) -> NamedColumns:
    """The columns of a Series, a DataFrame or an Arrow table."""
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(value, (pandas.Series, pandas.DataFrame)):
        return _pandas(value, who)
    pyarrow = import_optional("pyarrow", f"reading the {type(value).__name__}", "give times and values as two arrays")
    try:
        return _arrow(pyarrow.table(value), f"the {type(value).__name__}", who)
    except (TypeError, ValueError, pyarrow.ArrowException) as error:
        raise ArgumentError(
            f"{who}Arrow cannot read the {type(value).__name__}: {error}", hint="save it as .csv, and give the path"
        ) from None


def _arrow(table: Any, source: str, who: str) -> NamedColumns:
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
    return NamedColumns(TableOrigin(source, "row {}", 1), list(table.column_names), table.num_columns, read)


def _pandas(value: Any, who: str) -> NamedColumns:
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
    made = NamedColumns(TableOrigin(source, "row {}", 0), names, len(names), read)
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
