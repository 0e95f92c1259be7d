"""Tables of cases from outside: CSV and Parquet files, pandas, Arrow."""

from __future__ import annotations

import csv
import math
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.arguments import as_number
from pliant.errors import ArgumentError
from pliant.textfile import read_text

CELLS = "names of the columns in the first line, one case in each line"


@dataclass
class CellColumns:
    """Columns by name, with words for messages."""

    source: str
    columns: Mapping[str, Sequence[Any] | NDArray[Any]]
    lines: list[int] | None = None  # where each row stands in a file; in text, where numbers are texts
    count_given: int | None = None

    @property
    def count(self) -> int:
        """Rows."""
        if self.count_given is not None:
            return self.count_given
        return len(next(iter(self.columns.values()), ()))

    def where(self, row: int) -> str:
        """Where a row stands, as the end of a sentence."""
        if self.lines is not None:
            return f" in line {self.lines[row]} of {self.source}"
        return f" in case {row} of {self.source}"

    def numbers(self, name: str, literal: Callable[[str], float | None], is_real: bool) -> NDArray[np.float64]:
        """A column as numbers; ``literal`` knows what texts stand for, ``is_real``: truth values are a mistake."""
        cells = self.columns[name]
        try:
            array = np.asarray(cells)
        except ValueError:  # lists of different lengths among them
            array = np.empty(0, dtype=object)
        if array.ndim == 1 and array.dtype.kind in ("iuf" if is_real else "biuf"):
            return array.astype(np.float64)
        return np.array([self._number(name, row, cell, literal, is_real) for row, cell in enumerate(cells)])

    def _number(self, name: str, row: int, cell: Any, literal: Callable[[str], float | None], is_real: bool) -> float:
        if isinstance(cell, str):
            known = self._of_text(cell.strip(), literal)
        elif isinstance(cell, (bool, np.bool_)):
            known = None if is_real else float(cell)
        else:
            known = math.nan if is_missing(cell) else as_scalar(cell)
        if known is None:
            found = "is empty" if isinstance(cell, str) and not cell.strip() else f"is {cell!r}"
            raise ArgumentError(
                f"cases: {name!r} {found}{self.where(row)}, not a number",
                hint="every case needs a number in every column, without quotes and units",
            )
        return known

    def _of_text(self, text: str, literal: Callable[[str], float | None]) -> float | None:
        """Texts are numbers in files of text only."""
        known = literal(text)
        if known is not None or self.lines is None or "_" in text:  # Python takes 1_000
            return known
        try:
            return float(text)
        except ValueError:
            return None


def as_scalar(cell: Any) -> float | None:
    """A number; an array or list is none, even if there is one number in it, and a date is none either."""
    if isinstance(cell, (list, tuple, dict, np.datetime64, np.timedelta64)) or np.ndim(cell):
        return None
    return as_number(cell)


def is_missing(cell: Any) -> bool:
    """None, NaN, and what pandas has for them."""
    return (
        cell is None or (isinstance(cell, float) and math.isnan(cell)) or type(cell).__name__ in ("NAType", "NaTType")
    )


def read_table(given: Any) -> CellColumns:
    """A file by its path, a DataFrame, or anything that Arrow reads."""
    if isinstance(given, (str, os.PathLike)):
        return _file(Path(given))
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(given, pandas.DataFrame):
        if getattr(given.columns, "nlevels", 1) > 1:
            raise ArgumentError("cases: the DataFrame has more than one level of names", hint="reset_index()")
        _check_twice([str(name) for name in given.columns], "the DataFrame")
        found = {str(name): given.iloc[:, k].to_numpy() for k, name in enumerate(given.columns)}
        return CellColumns("the DataFrame", found)
    if pandas is not None and isinstance(given, pandas.Series):
        raise ArgumentError("cases: a Series is one column without a name", hint="series.to_frame('name')")
    return _arrow(given, f"the {type(given).__name__}")


def _arrow(given: Any, source: str) -> CellColumns:
    import pyarrow

    try:
        table = pyarrow.table(given)
    except (TypeError, ValueError, pyarrow.ArrowException) as error:
        raise ArgumentError(
            f"cases: Arrow cannot read {source}: {error}", hint="save it as .csv, give the path"
        ) from None
    _check_twice(table.column_names, source)
    return CellColumns(source, {name: table.column(name).to_pylist() for name in table.column_names})


def _file(path: Path) -> CellColumns:
    try:
        with path.open("rb") as file:
            is_parquet = file.read(4) == b"PAR1"
    except FileNotFoundError:
        raise ArgumentError(f"cases: there is no file {path}", hint="check the path") from None
    except OSError as error:
        raise ArgumentError(f"cases: {path} cannot be read: {error.strerror}", hint="check the path") from None
    if not is_parquet and path.suffix.lower() not in (".parquet", ".pq"):
        return _csv(path)
    import pyarrow
    import pyarrow.parquet

    try:
        return _arrow(pyarrow.parquet.read_table(path), str(path))
    except (OSError, pyarrow.ArrowException) as error:
        raise ArgumentError(
            f"cases: {path} is not a Parquet file that can be read: {error}", hint="save it again"
        ) from None


def _csv(path: Path) -> CellColumns:
    text = read_text(path, ArgumentError, "cases: ")
    numbered = [
        (k, line) for k, line in enumerate(text.split("\n"), start=1) if line.strip() and line.lstrip()[0] != "#"
    ]
    if not numbered:
        raise ArgumentError(f"cases: {path} is empty", hint=CELLS)
    head = numbered[0][1]
    mark = next((one for one in ";\t," if one in head), ",")
    rows = list(csv.reader([line for _, line in numbered], delimiter=mark))
    names = [cell.strip() for cell in rows[0]]
    if any(not name for name in names):
        raise ArgumentError(f"cases: a column of {path} has no name", hint=CELLS)
    if all(_is_number(name) for name in names):
        raise ArgumentError(f"cases: the first line of {path} holds numbers, not names", hint=CELLS)
    _check_twice(names, str(path))
    for (line, _), row in zip(numbered[1:], rows[1:], strict=True):
        if len(row) != len(names):
            raise ArgumentError(
                f"cases: {len(row)} columns instead of {len(names)} in line {line} of {path}",
                hint='names that hold commas must be quoted, e.g. "v[1,1]"',
            )
    lines = [line for line, _ in numbered[1:]]
    return CellColumns(str(path), {name: [row[k] for row in rows[1:]] for k, name in enumerate(names)}, lines)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _check_twice(names: Sequence[str], source: str) -> None:
    for name in names:
        if list(names).count(name) > 1:
            raise ArgumentError(f"cases: {source} has several columns {name!r}", hint="leave one of them")
