"""One unseen scenario: the plan's step against an accurate run.

error     largest over the judged names, as in evidence/accuracy.py; in units of their ranges over the plan's scenarios.
          Where inputs jump within steps, the accurate run with the jumps at the beginnings of these steps counts, too:
          the target does not know their times better, and what they do adds up
covered   states, inputs and parameters of the accurate run stay where the evidence is taken to hold, that is within
          those of the plan's runs and the margin of the monitor, and no input changes by more in one step
flagged   the monitor raised a flag, or the step ended with what is no number (which the monitor reports)
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pliant.calls import by_keyword_class
from pliant.errors import NonFiniteError, PliantError, SimulationInterrupted, SolverError
from pliant.plain import AsDict
from pliant.realtime.evidence.accuracy import AccurateRun, Judge
from pliant.realtime.flags import Flag
from pliant.realtime.scenario import Scenario, step_times
from pliant.realtime.sparsing.linearise import Matrix, Walker
from pliant.realtime.stages.covered import Covered, Pair, covered, input_changes
from pliant.realtime.stages.limits import believed
from pliant.solve.results.result import Result

if TYPE_CHECKING:
    from pliant.realtime.plan import Plan

ROUNDING = 1e-6  # of a value, as in the monitor's ranges
SAME_TIME = 1e-6  # of a step


@by_keyword_class
@dataclass(frozen=True, eq=False)
class ChallengeRow(AsDict):
    """What one scenario showed.

    scenario  as it was run: ``model.simulate`` and ``plan.simulate`` take its parts
    name      with the largest error, in units of what is allowed
    error     largest error of that name, share of its range over the plan's scenarios
    limit     what is allowed
    t         when
    flagged   a flag was up; flags: which (bits of :class:`pliant.Flag`, all steps together)
    covered   did it stay where the plan's scenarios have been?
    failed    error > limit
    reason    why the scenario says nothing: the model itself cannot be simulated in it
    """

    scenario: Scenario
    _: KW_ONLY
    name: str = ""
    error: float = 0.0
    limit: float = np.inf
    t: float = 0.0
    flagged: bool = False
    flags: int = 0
    covered: bool = False
    failed: bool = False
    reason: str | None = None

    @property
    def ratio(self) -> float:
        """The error in units of what is allowed."""
        return self.error / self.limit

    def __str__(self) -> str:
        if self.reason is not None:
            return f"{self.scenario.name}: not solvable: {self.reason}"
        where = "covered" if self.covered else "outside what is covered"
        flag = f"flags {Flag(self.flags)}" if self.flags else "flagged" if self.flagged else "no flag"
        return (
            f"{self.scenario.name}: {100 * self.error:.3g} % of the range of {self.name} at t = {self.t:g} "
            f"({100 * self.limit:.3g} % allowed), {where}, {flag}"
        )


class ScenarioTrial:
    """What all scenarios share."""

    def __init__(self, plan: Plan) -> None:
        o = plan.outcome
        self.plan, self.model, self.step = plan, o.model, plan.step
        self.judge = o.judge or Judge(o.model, o.request.accuracy, o.request.scenarios, plan.step).prepare()
        self.met: Covered = covered(o)
        self.held: Covered = believed(o)
        self.kind = "guarded" if o.request.options.monitor == "fallback" and plan.can_write else ""
        if plan.can_write:
            _ = plan.code  # once, not in each worker

    def run(self, scenario: Scenario) -> ChallengeRow:
        """One scenario; errors of the model itself become the reason."""
        names = self.judge.accuracy.names
        try:
            exact = self.judge.run_of(scenario)
            inside = self._is_covered(exact, scenario)
        except SimulationInterrupted:
            raise
        except PliantError as error:
            return ChallengeRow(scenario, reason=f"{error.message}")
        try:
            values, flags, ended = self._stepped(scenario)
        except SimulationInterrupted:
            raise
        except SolverError as error:
            return ChallengeRow(scenario, reason=f"the step does not start: {error.message}")
        except PliantError as error:
            return ChallengeRow(scenario, reason=error.message)
        limits = self.judge.accuracy.limits
        worst, errors = self._errors(exact, values)
        if (errors > limits).any() and (moved := scenario.sampled(tau=self.step)) is not scenario:
            try:
                other = self._errors(self.judge.run_of(moved), values)
            except SimulationInterrupted:
                raise
            except PliantError:  # the model does not run through it: the one run there is counts
                other = worst, errors
            worst, errors = min((worst, errors), other, key=lambda one: float((one[1] / limits).max()))
        j = int(np.argmax(errors / limits if self.judge.accuracy.is_judged else errors)) if len(names) else -1
        if j < 0:
            return ChallengeRow(scenario, flagged=bool(flags) or ended, flags=flags, covered=inside)
        return ChallengeRow(
            scenario,
            name=names[j].name,
            error=float(errors[j]),
            limit=float(limits[j]),
            t=scenario.start + float(worst[j]) * self.step,
            flagged=bool(flags) or ended,
            flags=flags,
            covered=inside,
            failed=bool(errors[j] > limits[j]),
        )

    # ------------------------------------------------------------------------------------------------- helpers

    def _errors(self, exact: AccurateRun, values: Matrix) -> tuple[NDArray[np.intp], Matrix]:
        """Of each judged name: step of its largest error, and this error."""
        with np.errstate(all="ignore"):
            share = exact.distance(values) / self.judge.scale
        worst = np.argmax(share, axis=0)
        return worst, share[worst, np.arange(share.shape[1])]

    def _is_covered(self, exact: AccurateRun, scenario: Scenario) -> bool:
        walker = Walker(self.model, self.step)
        change = input_changes(walker, scenario)
        inputs = np.vstack([walker.inputs.rows, walker.inputs.before])
        seen = list(self.model.all_x)
        parameters = walker.sim.request.parameters[None, :]
        x = (self.held.x[0][seen], self.held.x[1][seen])
        if (change > self.met.change + ROUNDING * np.abs(inputs).max(axis=0, initial=0.0)).any():
            return False
        return _within(exact.x[:, seen], x) and _within(inputs, self.held.u) and _within(parameters, self.held.p)

    def _stepped(self, scenario: Scenario) -> tuple[Matrix, int, bool]:
        """Values of the judged names at the ends of steps (NaN behind an early end), flags, did it end in NaN?"""
        ended, times = False, step_times(scenario, self.step)
        try:
            result = self.plan.simulate(
                stop=float(times[-1]),
                start=scenario.start,
                inputs=scenario.inputs,
                parameters=scenario.parameters,
                start_values=scenario.start_values,
                kind=self.kind,
            )
        except SolverError as error:
            if not isinstance(error.result, Result):
                raise
            result, ended = error.result, isinstance(error, NonFiniteError)
        values = np.full((len(times), len(self.judge.accuracy.names)), np.nan)
        rows = np.searchsorted(result.time, times + SAME_TIME * self.step, side="right") - 1
        known = np.flatnonzero(times <= result.time[-1] + SAME_TIME * self.step)
        for j, one in enumerate(self.judge.accuracy.names):
            values[known, j] = result[one.name][rows[known]]
        flags = 0 if result.flags is None else int(np.bitwise_or.reduce(result.flags, initial=0))
        return values, flags, ended


def _within(values: Matrix, met: Pair) -> bool:
    return bool((values >= met[0]).all() and (values <= met[1]).all())
