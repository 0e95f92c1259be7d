"""What a step does with each entry of the Jacobian.

    computed   evaluated in every step
    frozen     held at a constant: no evaluation, but a place in the factors; factors of frozen entries are constants
    zero       left out

J = Df where computed, the constant where frozen, 0 elsewhere. Whatever uses J takes these states, or a mask, which is
the case without frozen entries. Freezing is not in the papers (docs/theory/sparsing.md).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Mask = NDArray[np.bool_]
Values = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class EntryStates:
    """States of the entries of Df, in their order.

    mask       entries that stay: computed or frozen
    frozen     of these, those that are held
    constants  what the frozen ones are held at; 0 elsewhere
    """

    mask: Mask
    frozen: Mask
    constants: Values

    @classmethod
    def of(cls, given: Mask | EntryStates) -> EntryStates:
        """A mask as states.

        >>> EntryStates.of(np.array([True, False])).used(np.array([2.0, 3.0]))
        array([2., 0.])
        """
        if isinstance(given, EntryStates):
            return given
        return cls(given, np.zeros(given.shape, dtype=bool), np.zeros(given.shape))

    @property
    def computed(self) -> Mask:
        """Entries that are evaluated in every step."""
        return np.asarray(self.mask & ~self.frozen)

    @property
    def all_computed(self) -> bool:
        """Is J equal to Df?"""
        return bool(self.mask.all() and not self.frozen.any())

    def used(self, values: Values) -> Values:
        """Entries of J from those of Df; leading axes are kept."""
        return np.asarray(np.where(self.computed, values, self.constants))

    def at(self, entries: NDArray[np.intp]) -> EntryStates:
        """States of some of the entries."""
        return EntryStates(self.mask[entries], self.frozen[entries], self.constants[entries])

    def used_of(self, group: NDArray[np.intp], values: Values) -> Values:
        """Entries of J of a group, from those of Df of the same group."""
        return np.asarray(np.where(self.computed[group], values, self.constants[group]))

    def dropped(self, group: NDArray[np.intp]) -> EntryStates:
        """The same with these entries at zero."""
        mask, frozen, constants = self.mask.copy(), self.frozen.copy(), self.constants.copy()
        mask[group], frozen[group], constants[group] = False, False, 0.0
        return EntryStates(mask, frozen, constants)

    def held(self, group: NDArray[np.intp], constants: Values) -> EntryStates:
        """The same with these entries held at constants, one for each.

        >>> EntryStates.of(np.array([True, True])).held(np.array([1]), np.array([7.0])).used(np.array([2.0, 3.0]))
        array([2., 7.])
        """
        mask, frozen, values = self.mask.copy(), self.frozen.copy(), self.constants.copy()
        mask[group], frozen[group], values[group] = True, True, constants
        return EntryStates(mask, frozen, values)

    def key(self) -> bytes:
        """Equal for equal states."""
        return self.mask.tobytes() + self.frozen.tobytes() + (self.constants + 0.0).tobytes()


Kept = Mask | EntryStates


def used(values: Values, kept: Kept) -> Values:
    """Entries of J from those of Df."""
    return EntryStates.of(kept).used(values)


def all_computed(kept: Kept) -> bool:
    """Is J equal to Df?"""
    return EntryStates.of(kept).all_computed


def places(kept: Kept) -> Mask:
    """Entries with a place in the matrix."""
    return EntryStates.of(kept).mask
