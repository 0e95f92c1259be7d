"""Curves of a result against those of a reference.

Around the reference lies a tube: at t it spans all values of the reference within TUBE times the time span before and
after. What counts is how far the result lies outside,

    nrmse = sqrt(mean(d^2)) / scale,   d: distance from the tube at the points of the reference

where the scale is the range of the reference; of a curve that is as good as constant, 1e-3 of its size. So shifts in
time that no two solvers agree on, as at jumps, do not count, and noise around 0 does not, either.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pliant.arguments import Vector
from pliant.errors import ArgumentError

TUBE = 2e-3  # of the time span
LIMIT = 0.01  # largest nrmse of a curve that matches
SMALLEST = 1e-9  # what is below is nothing


@dataclass(frozen=True)
class Difference:
    """The curve that fits worst; ``missing``: one that the result does not have."""

    signal: str
    nrmse: float
    missing: bool = False

    @property
    def matches(self) -> bool:
        """It is like the reference."""
        return not self.missing and self.nrmse <= LIMIT


def read_reference(file: Path) -> dict[str, Vector]:
    """Columns of a CSV file with a line of names, the first one ``time``."""
    with file.open(newline="", encoding="utf-8") as opened:
        names = next(csv.reader(opened), [])
        if not names or names[0].strip().lower() != "time":
            raise ArgumentError(f"{file} is no reference: its first column must be `time`", hint="a CSV file of curves")
        rows = np.array([[float(one) for one in row] for row in csv.reader(opened) if row], dtype=np.float64)
    if not rows.size:
        raise ArgumentError(f"{file} holds no rows", hint="leave the reference out")
    columns = {name.strip(): rows[:, k].copy() for k, name in enumerate(names) if name.strip()}
    return {"time": columns.pop(names[0].strip()), **columns}


def tube(time: Vector, values: Vector, width: float) -> tuple[Vector, Vector]:
    """Least and largest value within ``width`` of each point; between points the reference is linear."""
    low, high = np.empty_like(values), np.empty_like(values)
    first = np.searchsorted(time, time - width, "left")
    last = np.searchsorted(time, time + width, "right")
    for k, (a, b) in enumerate(zip(first, last, strict=True)):
        part = values[a:b]
        low[k], high[k] = part.min(), part.max()
    for shift in (-width, width):
        ends = np.interp(np.clip(time + shift, time[0], time[-1]), time, values)
        low, high = np.minimum(low, ends), np.maximum(high, ends)
    return low, high


def scale_of(values: Vector) -> float:
    """What a deviation is compared with."""
    size = float(np.abs(values).max())
    return max(float(values.max() - values.min()), 1e-3 * size, SMALLEST)


def deviation(time: Vector, values: Vector, wanted_time: Vector, wanted: Vector) -> float:
    """nrmse of a curve outside the tube; not a number anywhere counts as infinite."""
    low, high = tube(wanted_time, wanted, TUBE * float(wanted_time[-1] - wanted_time[0]))
    found = np.interp(wanted_time, time, values)
    distance = np.maximum(np.maximum(low - found, found - high), 0.0)
    size = math.sqrt(float(np.mean(distance**2))) / scale_of(wanted)
    return size if math.isfinite(size) else math.inf


def compare(result: Mapping[str, Vector], reference: Mapping[str, Vector]) -> Difference | None:
    """The worst curve of all in the reference; None where there is none to compare."""
    worst: Difference | None = None
    time, wanted_time = result["time"], reference["time"]
    for name, wanted in reference.items():
        if name == "time":
            continue
        if name not in result:
            return Difference(name, math.inf, missing=True)
        size = deviation(time, result[name], wanted_time, wanted)
        if worst is None or size > worst.nrmse:
            worst = Difference(name, size)
    return worst
