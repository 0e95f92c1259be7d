"""What a run provides for its explanation: pure data, filled by the package `solve`.

Everything is per state (in the order of `states`), per accepted step (`steps`) or per incident (`incidents`). Three
entries are functions, called only when an explanation is wanted: `cost` measures, `place` looks up the source,
`driven` looks into the equations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.pickled import PackedArrays

FloatArray = NDArray[np.float64]

# error     the error test failed; index: state that dominates the estimate; value: the estimate (> 1)
# newton    Newton did not converge; index: state that dominates the last correction; value: rate of convergence
# jacobian  a new Jacobian; index -1; value: evaluations of f it cost
# repaired  column `index` was differenced with another increment after bad convergence; value: new / old increment
# handover  auto changed the method; index: number of the new method
# refused   the model refused the point (undefined there); index: state or -1
# singular  the iteration matrix was singular; index: state
# restart   the method began anew (after an event or jump); index -1
KINDS = ("error", "newton", "jacobian", "repaired", "handover", "refused", "singular", "restart")


@dataclass(frozen=True, eq=False)
class Incidents:
    """What happened during the run, ascending in time: parallel arrays."""

    time: FloatArray
    h: FloatArray
    kind: NDArray[np.intp]  # index into KINDS
    index: NDArray[np.intp]  # state (or root) concerned, -1: not known
    value: FloatArray

    def __getstate__(self) -> PackedArrays:
        return PackedArrays(vars(self))

    def __setstate__(self, state: PackedArrays) -> None:
        vars(self).update(state)

    def of(self, kind: str) -> NDArray[np.intp]:
        """Rows of one kind."""
        return np.flatnonzero(self.kind == KINDS.index(kind))


def _nowhere(name: str) -> str:
    return ""


@dataclass(frozen=True, eq=False)
class RunRecord:
    """One run, with all that `explain` needs to know about it."""

    model: str
    states: tuple[str, ...]  # names of x, differential and algebraic
    algebraic: frozenset[str]
    start: float
    stop: float
    reached: float
    complete: bool
    method: str  # asked for
    used: str  # e.g. "bdf -> radau5"
    counters: Mapping[str, float]  # n_steps, n_rhs, n_rhs_jac, n_jac, n_factor, n_solve, n_error_fails, ...
    seconds: float
    rtol: float
    atol: FloatArray
    atol_given: bool  # by the user; else 0.01 * rtol * nominal
    nominal: FloatArray  # NaN where nobody entered one
    largest: FloatArray  # largest |x| met in the run
    first: FloatArray  # start values
    limits: NDArray[np.int64]  # accepted steps whose error estimate the state dominated
    error_fails: NDArray[np.int64]  # failed error tests that it dominated
    newton_fails: NDArray[np.int64]  # Newton failures whose last correction it dominated
    steps: Mapping[str, NDArray[Any]]  # time (end), h, order, method of every accepted step
    incidents: Incidents
    incidents_lost: int  # not recorded because there were too many
    roots: tuple[str, ...]
    events: Sequence[tuple[float, tuple[str, ...]]]  # time, names of the roots that fired (none: time event)
    jacobian: str  # source used: exact, directional, differences
    increments: str  # rule
    colours: int  # evaluations per difference Jacobian
    cost: Callable[[], Mapping[str, float]]  # seconds of one call each: "rhs", "jacobian", "factor", "solve"
    place: Callable[[str], str]  # " (file.mo, line 12)" for a variable, "" if not known
    # Steps that the state limited while |x| was below 0.001 of its largest value so far. None: not counted.
    near_zero: NDArray[np.int64] | None = None
    # States that are zero or change their sign within the run. None: not known.
    crossing: NDArray[np.bool_] | None = None

    # Root functions with a side that is a function of time: True: of time alone, False: the other side moves, too.
    driven: Callable[[], Mapping[str, bool]] = dict

    def __getstate__(self) -> dict[str, Any]:
        """Data alone: the functions belong to the run, and what they had to say stands in the findings."""
        kept = {one.name: getattr(self, one.name) for one in fields(self)}  # not what was computed from them
        return {**kept, "cost": dict, "place": _nowhere, "driven": dict}

    @cached_property
    def step_begins(self) -> FloatArray:
        """The beginning of each accepted step."""
        ends, h = self.steps.get("time", np.zeros(0)), self.steps.get("h", np.zeros(0))
        return np.asarray(ends, dtype=np.float64) - np.abs(np.asarray(h, dtype=np.float64))

    @cached_property
    def step_ends(self) -> FloatArray:
        """The end of each accepted step, ascending: one that went beyond an event ends where the next one begins."""
        ends = np.array(self.steps.get("time", ()), dtype=np.float64)
        if not len(ends):
            return ends
        ends[:-1] = np.minimum(ends[:-1], self.step_begins[1:])
        ends[-1] = max(min(ends[-1], self.reached), self.start)
        ends = np.maximum.accumulate(ends)
        ends.flags.writeable = False  # shared by all rules
        return ends
