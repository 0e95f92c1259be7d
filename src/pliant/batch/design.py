"""Designs: which values of parameters, inputs and start values a study tries.

>>> import pliant
>>> design = pliant.design.grid({"R": [1.0, 2.0], "C": [1e-3, 2e-3, 5e-3]})
>>> len(design), design[1]
(6, {'R': 1.0, 'C': 0.002})
>>> len(pliant.design.latin_hypercube({"R": (1.0, 2.0), "start(v)": (0.0, 5.0)}, n=20))
20

Names are those of the columns of a table of cases: parameters, inputs that stay constant, "start(x)", "stop".
A range is a pair (low, high), or (low, high, "log") for values that are spread evenly in their logarithm.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pliant.arguments import as_number, as_numbers, is_whole
from pliant.calls import by_keyword
from pliant.drawing import import_optional
from pliant.errors import ArgumentError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Design", "grid", "latin_hypercube", "sobol"]

MOST = 100_000_000  # numbers in a design
NOTHING = "at least one name is needed"


@dataclass(frozen=True, eq=False)
class Design(Sequence[dict[str, float]]):
    """Cases as a table: one row each, one column for each name."""

    names: tuple[str, ...]
    values: NDArray[np.float64]  # (n, len(names))
    kind: str
    seed: int | None = None

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, k: Any) -> Any:
        """A case as a mapping, or a part of the design."""
        if isinstance(k, slice):
            return Design(self.names, self.values[k], self.kind, self.seed)
        return dict(zip(self.names, self.values[k].tolist(), strict=True))

    def __iter__(self) -> Iterator[dict[str, float]]:
        return (self[k] for k in range(len(self)))

    def __str__(self) -> str:
        low, high = self.values.min(axis=0), self.values.max(axis=0)
        lines = [f"{self.kind}: {len(self)} cases"]
        lines += [
            f"  {name}  {a:g} .. {b:g}" for name, a, b in zip(self.names, low.tolist(), high.tolist(), strict=True)
        ]
        return "\n".join(lines)

    def as_dict(self) -> dict[str, Any]:
        """Names and values as plain lists."""
        return {"kind": self.kind, "seed": self.seed, "names": list(self.names), "values": self.values.tolist()}

    def to_pandas(self) -> pd.DataFrame:
        """A DataFrame with the names as columns."""
        pandas = import_optional("pandas", "a DataFrame of a design", "design.values and design.names")
        frame: pd.DataFrame = pandas.DataFrame(self.values, columns=list(self.names))
        return frame


@by_keyword
def grid(ranges: Mapping[str, Any]) -> Design:
    """Every combination of the values of each name; the last name changes fastest."""
    names = _names(ranges)
    columns = []
    for name in names:
        values = as_numbers(ranges[name])
        if values is not None and values.ndim == 0:
            values = values[None]
        if values is None or values.ndim != 1 or not len(values) or not np.all(np.isfinite(values)):
            raise ArgumentError(
                f"grid: the values of {name!r} must be finite numbers in a row, not {ranges[name]!r}",
                hint=f"e.g. {{{name!r}: [1.0, 2.0, 5.0]}} or numpy.linspace(1, 5, 9)",
            )
        columns.append(values)
    count = math.prod(len(column) for column in columns)
    if count * len(names) > MOST:
        raise ArgumentError(
            f"grid: {count} cases of {len(names)} numbers are too many",
            hint="fewer values, or latin_hypercube",
        )
    mesh = np.meshgrid(*columns, indexing="ij")
    return Design(names, np.column_stack([one.ravel() for one in mesh]), "grid")


@by_keyword
def latin_hypercube(ranges: Mapping[str, Any], *, n: int, seed: int = 0) -> Design:
    """n cases; of each range every n-th part is met once (McKay, Beckman, Conover 1979)."""
    from scipy.stats import qmc

    names = _names(ranges)
    _check_count("latin_hypercube", n, len(names))
    sample = qmc.LatinHypercube(d=len(names), seed=_seed(seed)).random(n)
    return Design(names, _spread("latin_hypercube", ranges, sample), "latin hypercube", seed)


@by_keyword
def sobol(ranges: Mapping[str, Any], *, n: int, seed: int = 0) -> Design:
    """n cases that fill the ranges evenly (scrambled Sobol' points); best with a power of two."""
    import warnings

    from scipy.stats import qmc

    names = _names(ranges)
    _check_count("sobol", n, len(names))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that n is no power of two
        try:
            sample = qmc.Sobol(d=len(names), scramble=True, seed=_seed(seed)).random(n)
        except ValueError as error:  # its tables end somewhere
            raise ArgumentError(f"sobol: {error}", hint="latin_hypercube has no such limit") from None
    return Design(names, _spread("sobol", ranges, sample), "Sobol", seed)


def _names(ranges: Any) -> tuple[str, ...]:
    if not isinstance(ranges, Mapping):
        raise ArgumentError(
            f"ranges must be a mapping from names to ranges, not {ranges!r}", hint="e.g. {'R': (1.0, 2.0)}"
        )
    if not ranges:
        raise ArgumentError("a design of nothing: ranges is empty", hint=NOTHING)
    for name in ranges:
        if not isinstance(name, str) or not name:
            raise ArgumentError(f"ranges: {name!r} is not a name", hint="a name of the model as text")
    return tuple(ranges)


def _check_count(what: str, n: Any, width: int) -> None:
    if not is_whole(n) or n < 1:
        raise ArgumentError(f"{what}: n must be a whole number from 1 on, not {n!r}", hint="e.g. n=100")
    if n * width > MOST:
        raise ArgumentError(f"{what}: {n} cases of {width} numbers are too many", hint="several smaller studies")


def _seed(seed: Any) -> int:
    if not is_whole(seed) or seed < 0:
        raise ArgumentError(f"seed must be a whole number from 0 on, not {seed!r}", hint="e.g. seed=0")
    return int(seed)


def _spread(what: str, ranges: Mapping[str, Any], sample: NDArray[np.float64]) -> NDArray[np.float64]:
    out = np.empty_like(sample)
    for j, (name, given) in enumerate(ranges.items()):
        low, high, is_log = _range(what, name, given)
        column = sample[:, j]
        out[:, j] = low * (high / low) ** column if is_log else low + (high - low) * column
    return out


def _range(what: str, name: str, given: Any) -> tuple[float, float, bool]:
    """(low, high, is it logarithmic?)"""
    try:
        parts = list(given)
    except TypeError:
        parts = []
    is_log = len(parts) == 3 and parts[2] == "log"
    numbers = [as_number(one) for one in parts[:2]]
    if len(parts) not in (2, 3) or (len(parts) == 3 and not is_log) or None in numbers:
        raise ArgumentError(
            f"{what}: the range of {name!r} must be (low, high), not {given!r}",
            hint=f"e.g. {{{name!r}: (1.0, 2.0)}}, or (1e-3, 1e3, 'log')",
        )
    low, high = (float(one) for one in numbers if one is not None)
    if not (math.isfinite(low) and math.isfinite(high - low) and low <= high):
        raise ArgumentError(
            f"{what}: the range of {name!r} runs from {low:g} to {high:g}", hint="low first, both finite"
        )
    if is_log and low <= 0:
        raise ArgumentError(f"{what}: the range of {name!r} begins at {low:g}", hint="'log' needs positive values")
    return low, high, is_log
