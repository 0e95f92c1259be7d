"""What counts as a number among the arguments of public functions.

Python takes True for 1, and ``float`` takes the text "1": both are slips of the pen where a number is meant.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def is_whole(value: Any) -> bool:
    """A whole number of Python or numpy."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


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
