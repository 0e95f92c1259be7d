"""Macro steps of a given length; they also end where a part that publishes discrete values has a time event."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pliant.cosim.estimate import InputErrors
from pliant.cosim.limits import next_event
from pliant.cosim.macro_steps import MacroLog
from pliant.cosim.stepping import Stepping
from pliant.errors import SolverError

if TYPE_CHECKING:
    from pliant.cosim.master import Master


class Even:
    """The macro steps of a run whose ``step`` is a number."""

    def __init__(self, m: Master) -> None:
        self.m = m
        self.log = MacroLog(m.run.step, m.run.step)
        self.errors = InputErrors(m, m.run.macro_rtol, m.rtol)
        self.number = 0  # steps of the grid that are done
        #: parts that take equal steps only get the grid
        self.divides = not any(getattr(part, "equal_steps", False) for part in m.parts)

    @property
    def running(self) -> bool:
        """Is the end not reached?"""
        return self.number < self.m.run.n_steps

    def go(self, stepping: Stepping) -> bool:
        """One macro step; False: a part has ended in it."""
        m, t = self.m, self.m.t
        target = m.run.time(self.number + 1)
        t_next, why = target, "step" if self.number + 1 < m.run.n_steps else "stop"
        event = next_event(m, t, m.near) if self.divides else math.inf
        if event < target - m.near:
            t_next, why = event, "event"
        if not m.macro_step(stepping, t, t_next):
            return False
        reached = m.reached
        try:
            found = m.point(reached)
        except SolverError as error:
            error.time = reached if error.time is None else error.time
            raise
        off, worst = self.errors.worst(t, found)
        self.errors.see(found)
        if m.jumped:
            m.forget()
        m.keep(reached, found)
        self.number += reached >= target
        name = self.errors.names[worst] if off > 0.0 else ""
        self.log.accept(reached, reached - t, off, name, "early" if reached < t_next else why)
        return True
