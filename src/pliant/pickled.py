"""Pickled objects say which version of pliant made them, before anything else of them is read.

The parts of a pickle are built in their order. The stamp comes first, so that another version refuses with a sentence,
and not somewhere inside a class that has changed since.
"""

from __future__ import annotations

import pickle
import sys
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.errors import NotSupportedError, VersionError


def check_travels(whole: str, part: str, value: Any, hint: str) -> None:
    """Functions are pickled by their name: lambdas and functions inside functions have none that can be found."""
    try:
        pickle.dumps(value)
    except Exception as error:  # whatever the object's own methods raise
        raise NotSupportedError(f"{whole} cannot be pickled, because {part} cannot: {error}", hint=hint) from error


class Stamp:
    """The version that pickles; unpickling it checks that it is the same."""

    def __reduce__(self) -> tuple[Any, ...]:
        return check_version, (present_version(),)


class Stamped:
    """An object whose pickles begin with a stamp. What is kept of it is up to ``__getstate__``."""

    def __reduce__(self) -> tuple[Any, ...]:
        return blank, (Stamp(), type(self)), self.__getstate__()


def blank(_: Stamp, cls: type[Stamped]) -> Stamped:
    """An object without content; that comes next."""
    return cls.__new__(cls)


def check_version(made_by: str) -> Stamp:
    """Refuse what another version has pickled."""
    present = present_version()
    if made_by != present:
        raise VersionError(
            f"this object was pickled by pliant {made_by}, and this is pliant {present}",
            hint="make it again from its source; results that are to be kept: result.save and pliant.load_result",
        )
    return Stamp()


def present_version() -> str:
    """That of the package, which is loaded whenever one of its objects is."""
    return str(getattr(sys.modules["pliant"], "__version__", "unknown"))


# ------------------------------------------------------------------------------------------------- arrays in few bytes


class PackedArrays(dict[str, NDArray[Any]]):
    """Arrays by name that take little room when they are pickled, and come back bit for bit.

    For logs of steps: numbers of neighbours differ by the same again and again, so their differences, as whole numbers
    of units in the last place, are compressed.

    >>> import pickle
    >>> log = PackedArrays(time=np.arange(1000) / 8, method=np.array(["bdf"] * 1000))
    >>> again, size = pickle.loads(pickle.dumps(log)), len(pickle.dumps(log))
    >>> bool((again["time"] == log["time"]).all()), again["method"][0] == "bdf", size < 1000
    (True, True, True)
    """

    def __reduce__(self) -> tuple[Any, ...]:
        return unpack, ({name: _packed(array) for name, array in self.items()},)


def unpack(packed: dict[str, Any]) -> PackedArrays:
    """What `PackedArrays` pickled."""
    return PackedArrays({name: _unpacked(one) for name, one in packed.items()})


def _packed(array: NDArray[Any]) -> Any:
    if array.dtype.kind == "U":
        words, numbers = np.unique(array, return_inverse=True)
        return words.tolist(), str(array.dtype), _packed(numbers.reshape(array.shape))
    if array.ndim != 1 or array.dtype.kind not in "fi" or array.dtype.itemsize != 8:
        return array
    bits = np.ascontiguousarray(array).view(np.int64)
    steps = np.diff(bits, prepend=np.int64(0))  # wraps around, and so does the sum
    return str(array.dtype), zlib.compress(steps.view(np.uint8).reshape(-1, 8).T.tobytes(), 6)


def _unpacked(packed: Any) -> NDArray[Any]:
    if isinstance(packed, np.ndarray):
        return packed
    if len(packed) == 3:
        words, kind, numbers = packed
        found: NDArray[Any] = np.array(words, dtype=kind)[_unpacked(numbers)]
        return found
    kind, text = packed
    planes = np.frombuffer(zlib.decompress(text), dtype=np.uint8).reshape(8, -1)
    steps = np.ascontiguousarray(planes.T).view(np.int64).reshape(-1)
    whole: NDArray[np.int64] = np.cumsum(steps, dtype=np.int64)
    return whole.view(np.dtype(kind))
