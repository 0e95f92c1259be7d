"""Calls of a function that may refuse: what detection and the quality check of Jacobians have in common.

A function refuses a point by raising ModelEvaluationError, NonFiniteError, an ArithmeticError or a ValueError (the
"math domain error" of Python), or by returning nothing but NaN. All these become None. A single NaN or infinity among
other values is no refusal: that value depends on what was changed. Other exceptions are faults of f and pass.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pliant.errors import ArgumentError, ModelEvaluationError, NonFiniteError, PliantError

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
IndexArray = NDArray[np.intp]
VectorFunction = Callable[[FloatArray], ArrayLike]

U = float(np.finfo(np.float64).eps)


class CountedFunction:
    """f with refusals as None, counted; arguments and values are copies, as f may keep or reuse its arrays."""

    def __init__(self, f: VectorFunction) -> None:
        self.f = f
        self.count = 0
        self.size = -1  # values of f; -1 until the first success

    def __call__(self, x: FloatArray, *, forgive: bool = False) -> FloatArray | None:
        """f(x) or None. `forgive`: any exception is a refusal (a NaN argument may break table look-ups and such)."""
        self.count += 1
        try:
            with np.errstate(all="ignore"):
                values = np.array(self.f(x.copy()), dtype=np.float64)
        except (ModelEvaluationError, NonFiniteError, ArithmeticError):
            return None
        except PliantError:
            raise
        except ValueError:
            return None
        except Exception:
            if forgive:
                return None
            raise
        if self.size < 0:
            self.size = values.size
        if values.ndim != 1 or values.size != self.size:
            raise ArgumentError(f"f returned an array of shape {values.shape}", hint="one vector of fixed length")
        return None if values.size and bool(np.isnan(values).all()) else values


def vector(values: ArrayLike, n: int, what: str) -> FloatArray:
    """One number for all or n numbers, as an array of its own."""
    array = np.array(values, dtype=np.float64)
    if array.ndim == 0:
        array = np.full(n, float(array))
    if array.shape != (n,):
        raise ArgumentError(f"{what} has shape {array.shape}", hint=f"one number or {n} numbers")
    return array


def point_and_scale(x: ArrayLike, scale: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """The point, finite, and the positive size of a usual change of each of its components."""
    point = np.array(x, dtype=np.float64)
    if point.ndim != 1 or not np.isfinite(point).all():
        raise ArgumentError("the point is not a vector of finite numbers", hint="check the values of the states")
    sizes = vector(scale, len(point), "scale")
    if not (np.isfinite(sizes).all() and (sizes > 0).all()):
        worst = int(np.flatnonzero(~(np.isfinite(sizes) & (sizes > 0)))[0])
        raise ArgumentError(f"scale[{worst}] is {sizes[worst]:g}", hint="scales are positive and finite")
    return point, sizes


def names_of(given: object, count: int, letter: str) -> tuple[str, ...]:
    """Names as strings; letter1, letter2 ... where none were given."""
    if given is None:
        return tuple(f"{letter}{k + 1}" for k in range(count))
    names = tuple(str(name) for name in given)  # type: ignore[attr-defined]
    if len(names) != count:
        raise ArgumentError(f"{len(names)} names for {count} values", hint="one name each")
    return names
