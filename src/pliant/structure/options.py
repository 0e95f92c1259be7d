"""Choices that change the structure of a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, fields
from typing import Any

from pliant.arguments import is_whole
from pliant.calls import by_keyword_class
from pliant.errors import ArgumentError
from pliant.plain import AsDict


@by_keyword_class
@dataclass(frozen=True)
class StructureOptions(AsDict):
    """How a model is sorted and torn.

    form             "auto": loops are solved inside f, except large ones, whose unknowns join the states; "ode": all
                     torn loops inside f; "dae": the unknowns of all loops join the states as algebraic ones.
    aliases          eliminate variables that equal another one up to sign.
    tearing          "max-causal" or "cellier" (the lecture's heuristic).
    fold_parameters  put the numbers of all parameters into the equations: they cannot be changed any more.
    largest_torn     loops with more unknowns than this are not torn.

    >>> StructureOptions(form="dae").form
    'dae'
    """

    form: str = "auto"
    _: KW_ONLY
    aliases: bool = True
    tearing: str = "max-causal"
    fold_parameters: bool = False
    largest_torn: int = 300

    def __post_init__(self) -> None:
        for name, allowed in (("form", ("auto", "ode", "dae")), ("tearing", ("max-causal", "cellier"))):
            if not isinstance(getattr(self, name), str) or getattr(self, name) not in allowed:
                raise ArgumentError(
                    f"{name}={getattr(self, name)!r} is not known", hint=f"use one of {', '.join(allowed)}"
                )
        for name in ("aliases", "fold_parameters"):
            if not isinstance(getattr(self, name), bool):
                raise ArgumentError(f"{name}={getattr(self, name)!r} must be True or False", hint="leave it out")
        if not is_whole(self.largest_torn) or self.largest_torn < 1:
            raise ArgumentError(
                f"largest_torn={self.largest_torn!r} must be a whole number from 1 up", hint="leave it out for 300"
            )


def structure_options(given: Any) -> StructureOptions:
    """Options from a mapping, unknown names refused."""
    if given is None:
        return StructureOptions()
    if isinstance(given, StructureOptions):
        return given
    if not isinstance(given, Mapping):
        raise ArgumentError(f"options must be a mapping, not {given!r}", hint="e.g. options={'form': 'dae'}")
    known = [f.name for f in fields(StructureOptions)]
    for name in given:
        if name not in known:
            raise ArgumentError(f"there is no option {name!r} of load", hint=f"known are {', '.join(known)}")
    return StructureOptions(**given)
