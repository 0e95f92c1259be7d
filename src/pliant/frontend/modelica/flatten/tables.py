"""Tables of the Modelica Standard Library whose data are in the model."""

from __future__ import annotations

from typing import Any

import numpy as np

from pliant.frontend.flat.expressions import NONE
from pliant.frontend.flat.model import FlatTable
from pliant.frontend.modelica.instances.classes import Scope
from pliant.frontend.modelica.syntax import tree
from pliant.frontend.modelica.values.data import EnumValue

_OVER_TIME = "Modelica.Blocks.Types.ExternalCombiTimeTable"
_OF_ONE = "Modelica.Blocks.Types.ExternalCombiTable1D"
_NO_FILE = "NoName"


def known_table(
    values: Any, name: str, exprs: dict[str, tree.Expression], operands: dict[str, int], scope: Scope
) -> FlatTable | None:
    """The data of a table from the arguments of its constructor; None for other objects, files and unknown data."""
    if name not in (_OVER_TIME, _OF_ONE):
        return None

    def value(key: str) -> Any:
        return values.tried(exprs[key], scope, "data of a table") if key in exprs else None

    if value("fileName") != _NO_FILE and value("tableName") != _NO_FILE:
        return None
    data, columns, smoothness, extrapolation = map(value, ("table", "columns", "smoothness", "extrapolation"))
    if not isinstance(data, np.ndarray) or data.ndim != 2 or not data.size or not isinstance(smoothness, EnumValue):
        return None
    if columns is None or (extrapolation is not None and not isinstance(extrapolation, EnumValue)):
        return None
    is_over_time = name == _OVER_TIME
    return FlatTable(
        tuple(tuple(float(one) for one in row) for row in data),
        tuple(int(one) for one in np.atleast_1d(columns)),
        smoothness.ordinal,
        extrapolation.ordinal if extrapolation is not None else 2,
        start_time=operands.get("startTime", NONE) if is_over_time else NONE,
        shift_time=operands.get("shiftTime", NONE) if is_over_time else NONE,
        time_events=operands.get("timeEvents", NONE) if is_over_time else NONE,
    )
