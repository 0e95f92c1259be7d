"""What the monitor of a step says, as bits."""

from __future__ import annotations

from enum import IntFlag


class Flag(IntFlag):
    """Bits of ``plan.simulate(...).flags``, the same as those of the C code's monitor.

    PIVOT       a pivot of the factorisation left its limits
    RINGING     an unknown changes its direction in every step
    ERROR       the local error is larger than in any run of the evidence
    DROPPED     what the dropped entries would have added is larger than in any run of the evidence
    NOT_FINITE  an unknown, a discrete variable or an input is not a number
    RANGE       an unknown, an input or a parameter lies outside what the evidence covers

    >>> print(Flag(36))
    ERROR|RANGE
    """

    PIVOT = 1
    RINGING = 2
    ERROR = 4
    DROPPED = 8
    NOT_FINITE = 16
    RANGE = 32

    def __str__(self) -> str:
        return self.name or "none"
