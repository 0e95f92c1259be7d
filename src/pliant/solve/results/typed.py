"""Columns in the type of their variable: results compute with floats, tables and files show what was declared."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.solve.results.result import FloatArray, VariableType

EXACT = 2.0**53  # whole numbers up to it are floats without rounding
MODELICA: dict[VariableType, str] = {
    "real": "Real",
    "integer": "Integer",
    "boolean": "Boolean",
    "enumeration": "enumeration",
    "string": "String",
}


def typed(column: FloatArray, kind: VariableType) -> NDArray[Any]:
    """Truth values, or whole numbers for Integers and enumerations; as it is where a value does not fit.

    No value is lost: a column with NaN, or of a coupling that interpolates, stays what it is. A zero loses its sign.

    >>> typed(np.array([0.0, 1.0]), "boolean"), typed(np.array([2.0, 3.0]), "integer")
    (array([False,  True]), array([2, 3]))
    >>> typed(np.array([0.5, 1.0]), "integer")
    array([0.5, 1. ])
    """
    if kind == "boolean" and ((column == 0.0) | (column == 1.0)).all():
        return np.asarray(column, dtype=np.bool_)
    if kind in ("integer", "enumeration") and ((column == np.round(column)) & (np.abs(column) <= EXACT)).all():
        return column.astype(np.int64)
    return column


def type_of(dtype: Any) -> VariableType:
    """The type of a column that was read."""
    kinds: dict[str, VariableType] = {"b": "boolean", "i": "integer", "u": "integer"}
    return kinds.get(np.dtype(dtype).kind, "real")
