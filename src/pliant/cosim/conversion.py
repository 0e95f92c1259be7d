"""What happens to a value on its way along a connection: units, linear transformations, tables of discrete values.

target = factor * table(source) + offset,    values that the table does not list stay as they are
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pliant.plain import AsDict


@dataclass(frozen=True)
class Conversion(AsDict):
    """From the value of an output to that of an input.

    >>> kelvin = Conversion(1.0, 273.15)
    >>> kelvin.carry(20.0), kelvin.then(Conversion(1.8, -459.67)).carry(20.0).__round__(9)
    (293.15, 68.0)
    """

    factor: float = 1.0
    offset: float = 0.0
    table: tuple[tuple[float, float], ...] = ()

    @classmethod
    def mapping(cls, entries: Mapping[float, float]) -> Conversion:
        """A table of discrete values."""
        return cls(table=tuple((float(a), float(b)) for a, b in entries.items()))

    @property
    def changes_nothing(self) -> bool:
        """Is the target what the source is?"""
        return self == Conversion()

    @property
    def is_linear(self) -> bool:
        """Is there no table?"""
        return not self.table

    def carry(self, value: float) -> float:
        """The value of the target."""
        for source, target in self.table:
            if value == source:
                value = target
                break
        return self.factor * value + self.offset if self.factor != 1.0 or self.offset != 0.0 else value

    def carried(self, values: ArrayLike) -> NDArray[np.float64]:
        """The same of many values."""
        return np.array([self.carry(one) for one in np.asarray(values, dtype=np.float64).tolist()])

    def then(self, other: Conversion) -> Conversion:
        """This one first, then the other. A table behind a factor would have no exact entries."""
        if not other.table:
            return Conversion(other.factor * self.factor, other.factor * self.offset + other.offset, self.table)
        assert self.factor == 1.0
        assert self.offset == 0.0
        after = dict(other.table)
        merged = {source: after.get(target, target) for source, target in self.table}
        merged = {**after, **merged}
        return Conversion(other.factor, other.offset, tuple(merged.items()))


SAME = Conversion()
