"""The manifest: what a result was made with, so that it can be made again.

A manifest is a plain dictionary that `json.dumps` takes as it is. It holds no host or user name: results are
shared.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
import hashlib
import math
import os
import platform
from collections.abc import Mapping, Set
from typing import Any

import numpy as np

from pliant.version import pliant_version

# Longer arrays (tables, output times) are recorded by their hash: the manifest says whether they are the same
# ones, and stays small enough to be read by people.
_MAX_ARRAY = 1000


def make_manifest(
    model_name: str, model_hash: str, options: Mapping[str, Any], created: dt.datetime | None = None
) -> dict[str, Any]:
    """Describe a run: versions, platform, time (UTC, default now), the model's name and SHA-256, and the options.

    >>> manifest = make_manifest("Circuit", hash_bytes("model Circuit end Circuit;"), {"rtol": 1e-6})
    >>> manifest["model"]["name"], manifest["options"]
    ('Circuit', {'rtol': 1e-06})
    """
    return {
        "pliant": pliant_version(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "platform": f"{platform.system()}-{platform.release()}-{platform.machine()}",
        "created": (created or dt.datetime.now(dt.UTC)).isoformat(timespec="seconds"),
        "model": {"name": model_name, "sha256": model_hash},
        "options": to_json(options),
    }


def hash_bytes(*parts: bytes | str) -> str:
    """SHA-256 of one part; of several, that of their digests, so that ("ab", "c") and ("a", "bc") differ.

    >>> hash_bytes(b"") == hash_bytes("")
    True
    """
    digests = [hashlib.sha256(part.encode() if isinstance(part, str) else part) for part in parts]
    if len(digests) == 1:
        return digests[0].hexdigest()
    return hashlib.sha256(b"".join(digest.digest() for digest in digests)).hexdigest()


def to_json(value: Any) -> Any:
    """Turn a value into what `json.dumps` takes, in standard JSON.

    Infinities and NaN, which JSON has not, become the strings that `float` reads back. Callables become their
    qualified name, arrays lists (long ones their shape and hash), other objects the name of their type.

    >>> to_json({"x": np.array([1.0, np.inf]), "f": math.sin})
    {'x': [1.0, 'Infinity'], 'f': 'math.sin'}
    """
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, enum.Enum):
        return value.name
    if isinstance(value, np.generic):
        return to_json(value.item())
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return _json_float(value)
    if isinstance(value, np.ndarray):
        return _json_array(value)
    if isinstance(value, bytes):
        return {"bytes": len(value), "sha256": hash_bytes(value)}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        # Not dataclasses.asdict: that deep-copies, and fails on locks, handles and the like.
        return {field.name: to_json(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): to_json(item) for key, item in value.items()}
    if isinstance(value, Set):
        return [to_json(item) for item in sorted(value, key=str)]
    if isinstance(value, (list, tuple, range)):
        return [to_json(item) for item in value]
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    # Never repr(): it may hold a memory address, and then no two manifests of the same run are equal.
    return _qualified_name(value if callable(value) and hasattr(value, "__qualname__") else type(value))


def _json_float(value: float) -> float | str:
    if math.isfinite(value):
        return float(value)
    return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")


def _json_array(array: np.ndarray[Any, Any]) -> Any:
    if array.size <= _MAX_ARRAY or array.dtype == object:
        return to_json(array.tolist())
    data = np.ascontiguousarray(array).tobytes()
    return {"shape": list(array.shape), "dtype": str(array.dtype), "sha256": hash_bytes(data)}


def _qualified_name(thing: Any) -> str:
    module = getattr(thing, "__module__", None)
    name = str(thing.__qualname__)
    return name if module in (None, "builtins") else f"{module}.{name}"
