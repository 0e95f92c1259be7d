"""Functions of time for inputs that are held: the jumps, found beforehand.

A Boolean or Integer given as a function of time is constant but for jumps. Between two samples with different values
the first change is narrowed down to neighbouring numbers by bisection, then the next one, until the value of the second
sample is reached. What comes out is a held table, so that the solver stops at its jumps.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite

import numpy as np

from pliant.errors import ArgumentError
from pliant.solve.signals.kinds import TableSignal

MOST_JUMPS = 100_000
MOST_BETWEEN = 64  # jumps between two samples


def held_table(
    name: str, function: Callable[[float], float], span: tuple[float, float], samples: int, whole: bool
) -> TableSignal | None:
    """The function as a held table; None: it has no value somewhere, or it is not piecewise constant after all.

    ``whole``: its values are whole numbers, so that it has to be.
    """
    times = np.linspace(span[0], span[1], samples + 1).tolist()
    try:
        values = [float(function(t)) for t in times]
        if not all(map(isfinite, values)):
            return None
        at, found = [times[0]], [values[0]]
        for k in range(samples):
            if values[k] == values[k + 1]:
                continue
            if not _between(function, (times[k], times[k + 1]), values[k + 1], (at, found)) or len(at) > MOST_JUMPS:
                if not whole:
                    return None
                raise ArgumentError(
                    f"input {name}: the function changes too often to be followed, at t = {times[k]:.10g} "
                    f"more than {MOST_BETWEEN} times within {times[k + 1] - times[k]:.3g} s",
                    hint="give a table of the times at which it changes",
                )
    except ArgumentError:
        raise
    except Exception:
        return None  # if the run gets there, it says so itself
    return TableSignal(np.array(at), np.array(found), held=True)


def _between(
    function: Callable[[float], float], ends: tuple[float, float], last: float, out: tuple[list[float], list[float]]
) -> bool:
    """All changes between two samples, until the value is `last`; False: too many."""
    low, end = ends
    times, values = out
    for _ in range(MOST_BETWEEN):
        now, high = values[-1], end
        while True:
            middle = 0.5 * (low + high)
            if not low < middle < high:
                break
            if function(middle) == now:
                low = middle
            else:
                high = middle
        value = float(function(high)) if high < end else last
        # the value of t > 1 changes behind 1: the rounder of the two is what was meant
        at = low if low > times[0] and len(repr(low)) < len(repr(high)) else high
        times.append(max(at, times[-1]))
        values.append(value)
        if value == last:
            return True
        low = high
    return False
