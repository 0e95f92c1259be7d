"""A model that can leave this process: its C text and what is needed to describe it elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pliant.solve.models.equations import Equations
    from pliant.solve.models.numeric import NumericModel


@dataclass(frozen=True, eq=False)
class Portable:
    """The model in the form that is exported: loops inside f where possible, with derivatives along any direction."""

    model: NumericModel
    equations: Equations
    dependents: tuple[str, ...]  # parameters that are computed from others, in the order of the text's function
    x_fixed: tuple[bool, ...]  # which x begin with their start values
    held: frozenset[str] = frozenset()  # parameters that stay what they are during a run
    has_delays: bool = False
