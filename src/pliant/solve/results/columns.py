"""Columns of a result: names, shapes and units checked or made, and columns that were computed before."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pliant.errors import ArgumentError, PliantError

if TYPE_CHECKING:
    from pliant.solve.results.result import Result

FloatArray = NDArray[np.float64]


class KeptColumn:
    """A column that is known already, or why it cannot be."""

    def __init__(self, column: FloatArray | PliantError) -> None:
        self.column = column

    @classmethod
    def of(cls, result: Result, name: str) -> KeptColumn:
        """The column of a result."""
        try:
            return cls(result[name])
        except PliantError as error:
            return cls(error)

    def __call__(self) -> FloatArray:
        """As when it is computed on demand."""
        if isinstance(self.column, PliantError):
            raise self.column
        return self.column


def read_only(array: ArrayLike) -> FloatArray:
    """A view that cannot be written to."""
    # A view, so that the flag is ours alone and the caller's array stays writeable.
    view = np.asarray(array, dtype=np.float64).view()
    view.flags.writeable = False
    return view


def check_shape(time: FloatArray, values: FloatArray, n_names: int) -> None:
    """One row per time, one column per name."""
    if time.ndim != 1 or values.shape != (time.shape[0], n_names):
        raise ArgumentError(
            f"values has shape {values.shape}, expected ({time.shape[0] if time.ndim == 1 else time.shape},"
            f" {n_names}): one row per time, one column per name",
            hint="check rows and columns; a transposed array is values.T",
        )


def check_names(names: Sequence[str]) -> None:
    """Names must differ, and none may be time."""
    if len(set(names)) != len(names):
        listed = list(names)
        twice = sorted({name for name in listed if listed.count(name) > 1})
        raise ArgumentError(
            f"names must differ; these appear more than once: {', '.join(twice)}", hint="rename all but one of each"
        )
    if "time" in names:
        raise ArgumentError('a variable cannot be named "time"', hint="rename it; result.time is the time")


def inside_der(name: str) -> str:
    """der(x) -> x, else nothing."""
    return name[4:-1] if name.startswith("der(") and name.endswith(")") else ""


def unit_per_second(unit: str) -> str:
    """m -> m/s, m/s -> m/s2, as Modelica writes units."""
    power = re.fullmatch(r"(.*/s)(\d?)", unit)
    if power:
        return f"{power[1]}{int(power[2] or 1) + 1}"
    if not unit:
        return ""
    return f"{unit}/s" if "/" not in unit else f"({unit})/s"
