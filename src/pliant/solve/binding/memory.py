"""Memory of a simulation as arrays: its own block, and blocks of the heap that it asked for on its way."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.errors import ArgumentError
from pliant.solve.binding import runtime
from pliant.solve.binding.simulation import HostMemoryStruct


def linear_memory(size: int, hint: str) -> NDArray[np.float64]:
    """A block for the linear algebra, aligned for doubles."""
    try:
        return np.empty((size + 7) // 8, dtype=np.float64)
    except (MemoryError, ValueError):
        raise linear_error(size, hint) from None


def linear_error(size: int, hint: str) -> ArgumentError:
    """Matrices do not fit."""
    return ArgumentError(
        f"the linear algebra of this model needs {size / 2**30:.1f} GiB, more than is available",
        hint=hint,
    )


class _Lent:
    """Numbers at an address, and whose memory that is."""

    __slots__ = ("__array_interface__", "owner")

    def __init__(self, owner: HostMemoryStruct, address: int, shape: tuple[int, ...], kind: str) -> None:
        self.owner = owner
        self.__array_interface__ = {"version": 3, "data": (address, False), "shape": shape, "typestr": kind}


class SimulationMemory:
    """The first block, and what came later."""

    def __init__(self, size: int) -> None:
        self.block = np.empty((size + 7) // 8, dtype=np.float64)
        self.place = runtime.address_of(self.block)
        self.host = HostMemoryStruct()

    def reals(self, address: int, count: int) -> NDArray[np.float64]:
        """A view of numbers."""
        first = (address - self.place) >> 3
        if 0 <= first < len(self.block):
            return self.block[first : first + count]
        return self._lent(address, (count,), "<f8")

    def table(self, address: int, rows: int, width: int) -> NDArray[np.float64]:
        """A view of rows of numbers."""
        return self.reals(address, rows * width).reshape(rows, width)

    def whole(self, address: int, count: int) -> NDArray[np.int64]:
        """A view of whole numbers."""
        return self.reals(address, count).view(np.int64)

    def records(self, address: int, count: int, kind: np.dtype[Any]) -> NDArray[Any]:
        """A view of structures, as long as a number of reals."""
        return self.reals(address, count * kind.itemsize // 8).view(kind)

    def _lent(self, address: int, shape: tuple[int, ...], kind: str) -> NDArray[Any]:
        return np.asarray(_Lent(self.host, address, shape, kind))
