"""Orders that rounding does not decide.

Equal effects, as those of mirror images in a symmetric model, differ in their last digits from processor to processor,
because their linear algebra adds in another order. Values that differ by rounding alone are equal here, and what is
equal goes by its number: so a plan is the same everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

SAME = 1e-6  # relative difference up to which values are equal: effects of ill-conditioned modes lose many digits
NOTHING = 1e-9  # in units of what is allowed: smaller effects are none


def ranks(values: Sequence[float] | NDArray[np.float64], nothing: float = NOTHING) -> NDArray[np.intp]:
    """Places of values in ascending order, the same for those that are equal up to rounding.

    >>> ranks([2.0, 1.0, 2.0 + 1e-12, 1e-17, 0.0]).tolist()
    [2, 1, 2, 0, 0]
    """
    size = np.asarray(values, dtype=np.float64)
    order = np.argsort(size, kind="stable")
    found: NDArray[np.intp] = np.zeros(len(size), dtype=np.intp)
    rank, first = -1, -np.inf
    for k in order.tolist():
        value = float(size[k])
        if rank < 0 or value > first + max(SAME * abs(first), nothing):
            rank, first = rank + 1, value
        found[k] = rank
    return found


def ascending(values: Sequence[float] | NDArray[np.float64], nothing: float = NOTHING) -> NDArray[np.intp]:
    """Numbers of values from the smallest to the largest, of equal ones the lowest first.

    >>> ascending([2.0 + 1e-12, 2.0, 1.0]).tolist()
    [2, 0, 1]
    """
    return np.argsort(ranks(values, nothing), kind="stable")


def first_least(values: NDArray[np.float64], nothing: float = NOTHING) -> int:
    """The lowest number among the least values.

    >>> first_least(np.array([3.0, 1.0 + 1e-12, 1.0]))
    1
    """
    least = float(values.min())
    return int(np.argmax(values <= least + max(SAME * abs(least), nothing)))
