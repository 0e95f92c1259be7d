"""Choices for loading and running an FMU."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, fields
from typing import Any

from pliant.arguments import is_number, is_whole
from pliant.calls import by_keyword_class
from pliant.errors import ArgumentError
from pliant.plain import AsDict


@by_keyword_class
@dataclass(frozen=True)
class FmuOptions(AsDict):
    """The ``options`` of load for an FMU.

    call_timeout    seconds that one call of the FMU may take; then its process is killed
    memory_limit    bytes that the FMU's process may use; None: no limit
    unpacked_limit  bytes that the FMU may take unpacked; larger ones are refused
    log             ask the FMU for all its log messages; otherwise it sends what it sends by default

    >>> FmuOptions(call_timeout=60.0).call_timeout
    60.0
    """

    call_timeout: float = 10.0
    _: KW_ONLY
    memory_limit: int | None = None
    unpacked_limit: int = 2 * 2**30
    log: bool = False

    def __post_init__(self) -> None:
        if not is_number(self.call_timeout) or not (math.isfinite(self.call_timeout) and self.call_timeout > 0):
            raise ArgumentError(
                f"call_timeout={self.call_timeout!r} must be a positive number of seconds", hint="leave it out for 10"
            )
        if self.memory_limit is not None and (not is_whole(self.memory_limit) or self.memory_limit < 1):
            raise ArgumentError(
                f"memory_limit={self.memory_limit!r} must be a positive whole number of bytes, or None",
                hint="e.g. memory_limit=4 * 2**30",
            )
        if not is_whole(self.unpacked_limit) or self.unpacked_limit < 1:
            raise ArgumentError(
                f"unpacked_limit={self.unpacked_limit!r} must be a positive whole number of bytes",
                hint="leave it out for 2 GiB",
            )
        if not isinstance(self.log, bool):
            raise ArgumentError(f"log={self.log!r} must be True or False", hint="leave it out for False")


def fmu_options(given: Any) -> FmuOptions:
    """Options from a mapping, unknown names refused."""
    if given is None:
        return FmuOptions()
    if isinstance(given, FmuOptions):
        return given
    if not isinstance(given, Mapping):
        raise ArgumentError(
            f"options of an FMU must be FmuOptions or a mapping, not {given!r}", hint="e.g. {'call_timeout': 60.0}"
        )
    known = [f.name for f in fields(FmuOptions)]
    for name in given:
        if name not in known:
            raise ArgumentError(f"there is no option {name!r} for an FMU", hint=f"known are {', '.join(known)}")
    return FmuOptions(**given)
