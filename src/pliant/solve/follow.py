"""Unknowns outside a generated model that follow its relations while it looks for a combination of them."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pliant.solve import binding
from pliant.solve.unknowns import NoSolution

if TYPE_CHECKING:
    from pliant.solve.simulation import Simulation


class Follower:
    """What an event at the start may call: ``solve`` makes ``sim.x`` fit the relations that are being tried."""

    def __init__(self, sim: Simulation, solve: Callable[[], None]) -> None:
        self.sim, self.solve = sim, solve
        self.call = binding.FOLLOW_CALL(self._follow)
        self.failed: NoSolution | None = None  # why the first attempt of the last call failed

    def event_info(self, again: bool, follows: bool) -> binding.EventInfo:
        """For a call of the model; ``again``: relations that nothing moved since the last one keep their sides."""
        self.failed = None
        info = binding.EventInfo(next_time=math.inf, again=again)
        if follows:
            info.follow = ctypes.cast(self.call, ctypes.c_void_p)
        return info

    def _follow(self, _host: int | None, _t: float, place: int) -> int:
        """x at ``place``, made to fit; as before if that fails."""
        x = self.sim.x
        given = np.ctypeslib.as_array((ctypes.c_double * len(x)).from_address(place))
        before = x.copy()
        x[:] = given
        try:
            self.solve()
            found = x.copy()
        except NoSolution as why:
            self.failed = self.failed or why
            x[:] = before
            return binding.RETRY
        x[:] = before
        given[:] = found  # may be the same place
        return binding.OK


def solve_or_search(x: NDArray[np.float64], solve: Callable[[], None], search: Callable[[], object] | None) -> None:
    """With relations as they are or, where the equations have no solution then, as ``search`` finds them."""
    start = x.copy()
    try:
        solve()
    except NoSolution as first:
        if search is None:
            raise
        x[:] = start
        try:
            search()
            solve()
        except NoSolution:
            raise first from None
