"""Objects as plain data for machines: what ``as_dict()`` gives, ready for JSON."""

from __future__ import annotations

import dataclasses
import enum
import math
import os
from collections.abc import Mapping, Sequence, Set
from typing import Any

import numpy as np


def plain(value: Any) -> Any:
    """A value as JSON knows it: numbers that are not finite become None, complex ones pairs, arrays lists.

    >>> plain({"x": np.array([1.0, np.inf]), "z": 1 + 2j, "names": ("a", "b")})
    {'x': [1.0, None], 'z': [1.0, 2.0], 'names': ['a', 'b']}
    """
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, enum.Enum):
        return value.name
    if isinstance(value, (np.generic, np.ndarray)):
        return plain(value.tolist())
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, complex):
        return [plain(value.real), plain(value.imag)]
    if hasattr(value, "as_dict"):
        return value.as_dict()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return fields_of(value)
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)):
        return [plain(item) for item in value]
    if isinstance(value, Set):
        return [plain(item) for item in sorted(value, key=str)]
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    return str(getattr(value, "__qualname__", type(value).__qualname__))


def fields_of(thing: Any) -> dict[str, Any]:
    """The fields of a dataclass as plain data."""
    return {one.name: plain(getattr(thing, one.name)) for one in dataclasses.fields(thing)}


class AsDict:
    """A dataclass whose fields are what machines want to know."""

    __slots__ = ()

    def as_dict(self) -> dict[str, Any]:
        """For machines: everything by name, ready for JSON."""
        return fields_of(self)
