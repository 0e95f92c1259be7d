"""What counts as a number, a path, names or values by name among the arguments of public functions.

Python takes True for 1, and ``float`` takes the text "1": both are mistakes where a number is meant.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.errors import ArgumentError, OutputError

Vector = NDArray[np.float64]  #: numbers in a row, as every room hands them on


def is_whole(value: Any) -> bool:
    """A whole number of Python or numpy."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def row_number(what: str, k: Any, count: int) -> int:
    """k as a place among ``count`` rows, also from the end; IndexError behind them, as iteration wants it."""
    if not is_whole(k):
        raise ArgumentError(f"{what}[{k!r}]: a row is named by its number", hint=f"{what}[0] .. {what}[{count - 1}]")
    place = int(k) + (count if k < 0 else 0)
    if not 0 <= place < count:
        raise IndexError(f"{what}[{k}]: there are {count} rows")
    return place


def is_number(value: Any) -> bool:
    """A real number of Python or numpy, finite or not."""
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def as_number(value: Any) -> float | None:
    """The number that something stands for (also an array without dimensions, a fraction); None: it is none."""
    if type(value) is float:
        return value
    if isinstance(value, (bool, np.bool_, str, bytes)) or getattr(value, "dtype", None) == np.bool_:
        return None
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None


def as_numbers(value: Any) -> np.ndarray[Any, np.dtype[np.float64]] | None:
    """An array of numbers, of any shape; None: there is something else among them."""
    if isinstance(value, (list, tuple)) and any(isinstance(one, (bool, np.bool_)) for one in value):
        return None  # beside numbers they would become some
    try:
        found = np.asarray(value)
        return None if found.dtype.kind not in "fiu" else found.astype(np.float64)
    except (TypeError, ValueError):
        return None


def is_path(value: Any) -> bool:
    """Text that can name a file: zeros in it cannot."""
    return isinstance(value, (str, os.PathLike)) and isinstance(os.fspath(value), str) and "\0" not in os.fspath(value)


def as_path(what: str, value: Any) -> Path:
    """A path with ~ expanded."""
    if not is_path(value):
        raise ArgumentError(f"{what} must be a path, not {value!r}", hint="a text or a pathlib.Path")
    return Path(value).expanduser()


def target_file(path: Any, overwrite: Any, suffix: str, kind: str, example: str) -> Path:
    """Where a file of this kind can be written; everything that stands in the way is refused before the work."""
    if not is_path(path) or not str(path):
        raise ArgumentError(f"the target must be a path, not {path!r}", hint=f"e.g. {example}")
    if not isinstance(overwrite, bool):
        raise ArgumentError(f"overwrite must be True or False, not {overwrite!r}", hint="overwrite=True")
    target = Path(path)
    if target.suffix.lower() != suffix:
        raise ArgumentError(f"{target}: the name of {kind} ends with {suffix}", hint=f"{target.with_suffix(suffix)}")
    if target.is_dir():
        raise OutputError(f"{target} is a folder", hint="give another name")
    if target.exists() and not overwrite:
        raise OutputError(f"{target} exists already", hint="give another name, or overwrite=True")
    if not target.parent.is_dir():
        raise OutputError(f"there is no folder {target.parent}", hint="make it first, or give another path")
    if not os.access(target.parent, os.W_OK):
        raise OutputError(f"the folder {target.parent} cannot be written to", hint="give another path")
    return target


def as_names(what: str, value: Any) -> list[str]:
    """Several names; one alone stands for a list of it."""
    listed: list[Any] = [value] if isinstance(value, str) else list(value) if isinstance(value, Iterable) else [None]
    if isinstance(value, (bytes, Mapping)) or not all(isinstance(one, str) for one in listed):
        raise ArgumentError(f"{what} must be a list of names, not {value!r}", hint="e.g. ['x', 'y']")
    return listed


def by_name(what: str, value: Any) -> Mapping[str, Any]:
    """Values by name; None: none at all."""
    if value is None:
        return {}
    if not isinstance(value, Mapping) or not all(isinstance(one, str) for one in value):
        raise ArgumentError(
            f"{what} must be values by name, not {value!r}", hint=f"e.g. {what.rpartition(': ')[2]}={{'name': 1.0}}"
        )
    return value
