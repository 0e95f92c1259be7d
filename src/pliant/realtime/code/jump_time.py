"""On which side of an instant comparisons with time stand.

A jump within 1e-9 step of the end of a step lies on it. The step up to it uses the value before the jump; outputs,
events and the next step use the value after it. So comparisons read a time of their own, which each function defines:

    te = t - room    in a step of order 1, which evaluates the model at its end
    te = t + room    elsewhere: where t is an instant that has been reached

    room = 1e-9 tau + 8 eps |t|, because t = t0 + k tau and the times that models name differ by rounding

Variables that are made of time and discrete variables alone are written out, so that comparisons of them see it, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pliant.expr.build import substitute, var
from pliant.ir import Kind
from pliant.realtime.scenario import JUMP_ROUNDING, JUMP_SHARE

if TYPE_CHECKING:
    from pliant.realtime.code.algebra import Algebra


class JumpTime:
    """The variable te, where something reads it, and expressions that read it instead of t."""

    def __init__(self, algebra: Algebra, clock: int, discrete: set[int]) -> None:
        self.algebra, self.clock = algebra, clock
        self.variable = -1
        self._still = set(discrete)  # variables that do not move with time
        self._timed: dict[int, int] = {}  # node of a variable made of time -> its expression with te
        self._looked = 0

    def of(self, e: int) -> int:
        """The expression with te for t."""
        a = self.algebra
        self._look()
        if not any(v == self.clock or var(a.g, v) in self._timed for v in a.shared.uses(e)):
            return e
        return self._replaced(e)

    def _replaced(self, e: int) -> int:
        a = self.algebra
        if self.variable < 0:
            self.variable = a.temporary("time.jump")
            a.timed.add(self.variable)
            self._still.add(self.variable)
            self._timed[var(a.g, self.clock)] = var(a.g, self.variable)
        return substitute(a.g, [e], self._timed)[0]

    def _look(self) -> None:
        """Note what the assignments since the last look are made of."""
        a = self.algebra
        for one in a.out[self._looked :]:
            moving = {v for v in a.shared.uses(one.expression) if not self._is_still(v)}
            if not moving:
                self._still.add(one.target)
            elif all(v == self.clock or var(a.g, v) in self._timed for v in moving):
                self._timed[var(a.g, one.target)] = self._replaced(one.expression)
        self._looked = len(a.out)

    def _is_still(self, v: int) -> bool:
        return v in self._still or self.algebra.variables[v].kind in (Kind.PARAMETER, Kind.CONSTANT)


def jump_time(tau: float, time: str, side: str) -> str:
    """C text of te."""
    room = f"{JUMP_SHARE * tau!r} + {JUMP_ROUNDING!r} * fabs({time})"
    return f"{time} {side} ({room})"
