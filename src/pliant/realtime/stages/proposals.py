"""Stage "proposals": what would reach the accuracy where a plan does not; each was run, none is guessed.

    order      the other order at the same step
    step       step/n: the error e ~ n^-p, p from two runs, n from e(n) <= SAFE accuracy; the run with n decides
    both       order 2 with step/n, where neither does alone, or where it needs a larger step
    form       loop unknowns in x instead of loops inside f, or the other way round

Runs keep all entries: the search for a pattern never spoils what these reach (pattern.py). n is a whole number, so that
clocks still tick at the ends of steps. Where switches act between steps order 2 may be the worse one: the runs show it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from pliant.errors import PliantError, SimulationInterrupted
from pliant.realtime.evidence.accuracy import Accuracy, Judge, Steps, check_accuracy, take_steps, worst_name
from pliant.realtime.evidence.evidence import MISSED, Evidence, EvidenceItem, Proposal
from pliant.realtime.options import RealtimeOptions
from pliant.realtime.scenario import Scenario
from pliant.realtime.sparsing.entry_states import EntryStates
from pliant.realtime.stages.form import in_form
from pliant.realtime.stages.outcome import Outcome
from pliant.realtime.stages.step import EVENT_ROUNDS, NEWTON_STEPS, RELATION_PASSES, drive, write_code
from pliant.solve.models.numeric import NumericModel

SAFE = 0.8  # share of the accuracy that a proposal may take: other scenarios will take more
NICE = (2, 4, 5, 8, 10, 20, 25, 40, 50, 80, 100, 200, 250, 400, 500, 1000)  # steps stay round numbers
MOST_STEPS, MOST_MORE = 150_000, 10  # of a run: so many, or so many times those of the plan
MOST_CALLED = 10_000  # the same where each call goes to another process
COMPILED = 3000  # steps from which on compiling is faster
TRIALS = 7  # of step sizes for one order
SLOWEST, FASTEST = 0.3, 3.0  # orders that are believed


@dataclass(frozen=True)
class Attempt:
    """A run that was made: error in units of what is allowed, and as a share of the range of a name."""

    ratio: float
    error: float
    name: str


@dataclass(eq=False)
class Trials:
    """Runs with other settings, each made once."""

    outcome: Outcome
    made: dict[tuple[str, int, int], Attempt] = field(default_factory=dict)
    models: dict[str, tuple[NumericModel, Accuracy]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        request = self.outcome.request
        self.models[""] = (self.outcome.model, request.accuracy)
        self.steps = sum(len(one.t) for one in self.outcome.exact)
        most = MOST_CALLED if self.outcome.model.is_elsewhere else MOST_STEPS
        self.most = max(most // max(self.steps, 1), MOST_MORE if most == MOST_STEPS else 1)

    def run(self, form: str, order: int, n: int) -> Attempt:
        """All scenarios with all entries at step/n."""
        key = (form, order, n)
        if key not in self.made:
            try:
                self.made[key] = self._run(form, order, n)
            except SimulationInterrupted:
                raise
            except PliantError:
                self.made[key] = Attempt(np.inf, np.inf, "")
        return self.made[key]

    def _run(self, form: str, order: int, n: int) -> Attempt:
        request = self.outcome.request
        if form not in self.models:
            model = in_form(self.outcome.model, form)
            names = [one.name for one in request.accuracy.names]
            self.models[form] = (model, check_accuracy(model, self._limits(), names))
        model, accuracy = self.models[form]
        step = request.step / n
        judge = self.outcome.judge if not form and n == 1 else None
        if judge is None:
            judge = Judge(model, accuracy, request.scenarios, step).prepare()
        worst = Attempt(0.0, 0.0, "")
        run = self._runner(form, order, n, judge)
        for k, scenario in enumerate(request.scenarios):
            found = judge.found(k, run(scenario))
            if found is None:
                continue
            i = worst_name(accuracy, found.errors)
            if found.ratio >= worst.ratio:
                worst = Attempt(found.ratio, float(found.errors[i]), accuracy.names[i].name)
        return worst

    def _runner(self, form: str, order: int, n: int, judge: Judge) -> Callable[[Scenario], Steps]:
        """Runs of a scenario: the steps of the analysis, or where there are many the compiled step."""
        o, request, step = self.outcome, self.outcome.request, judge.step
        if form or self.steps * n < COMPILED or o.model.equations is None:
            walker = judge.walker(order)
            return lambda scenario: take_steps(walker, scenario.seen(request.options.inputs, tau=step))
        options = replace(request.options, monitor="off", precision="double")
        other = replace(request, step=step, order=order, options=options)
        counts = NEWTON_STEPS[-1], EVENT_ROUNDS[-1], RELATION_PASSES[-1]
        everything = replace(o.found, states=EntryStates.of(np.ones(o.frame.n_entries, dtype=bool)))
        whole = replace(o, request=other, elimination=o.full, found=everything)
        code = write_code(whole, None, *counts)

        def driven(scenario: Scenario) -> Steps:
            found = drive(code, o.model, scenario, inputs=request.options.inputs)
            seen = scenario.seen(request.options.inputs, tau=step)
            return Steps(seen, found.time[1:], found.x, found.memories[1:], past=found.past)

        return driven

    def _limits(self) -> dict[str, float | None]:
        names = self.outcome.request.accuracy.names
        return {one.name: one.limit if np.isfinite(one.limit) else None for one in names}

    def divisor(self, form: str, order: int) -> int | None:
        """The least n found whose run is accurate enough; None: none within the steps that are tried."""
        known = [(1, self.run(form, order, 1).ratio)]
        n = 2
        for _ in range(TRIALS):
            if n > self.most:
                return None
            ratio = self.run(form, order, n).ratio
            if ratio <= SAFE:
                return self._larger_step(form, order, known[-1], (n, ratio))
            known.append((n, ratio))
            n = self._next(known, order)
        return None

    def _larger_step(self, form: str, order: int, failed: tuple[int, float], good: tuple[int, float]) -> int:
        """A last look between a step that is too large and one that is small enough."""
        (a, first), (b, last) = failed, good
        if not (np.isfinite(first) and last > 0.0):
            return b
        p = float(np.clip(np.log(first / last) / np.log(b / a), SLOWEST, FASTEST))
        n = _nice(a * (first / (SAFE * SAFE)) ** (1.0 / p))
        return n if a < n < b and self.run(form, order, n).ratio <= SAFE else b

    def _next(self, known: list[tuple[int, float]], order: int) -> int:
        """The next n by the order that the last two runs show."""
        (a, first), (b, last) = known[-2:]
        measured = np.log(first / last) / np.log(b / a) if np.isfinite(first) and np.isfinite(last) else 0.0
        p = float(np.clip(measured, SLOWEST, FASTEST))
        n = _nice(max(b * (last / (SAFE * SAFE)) ** (1.0 / p), b + 1.0))
        if n > self.most and p < order:  # the order may show at smaller steps only
            n = _nice(4 * b)
        return n if n <= self.most else max((one for one in NICE if b < one <= self.most), default=n)


def _nice(n: float) -> int:
    return next((one for one in NICE if one >= n * (1.0 - 1e-9)), int(np.ceil(n)) if np.isfinite(n) else 10**9)


def with_proposals(outcome: Outcome, evidence: Evidence) -> Evidence:
    """The same evidence; where it says that the accuracy is missed, with what reaches it."""
    if not any(one.name == MISSED for one in evidence.items):
        return evidence
    tried = propose(outcome)
    good = tuple(one for one in tried if one.reaches)
    failed = "; ".join(one.text for one in tried if not one.reaches)
    words = "; ".join(one.text for one in good) or "nothing that was tried does"
    line = EvidenceItem(MISSED, None, words + (f". Tried without success: {failed}" if failed else ""))
    return replace(evidence, proposals=good, items=[line if one.name == MISSED else one for one in evidence.items])


def propose(outcome: Outcome) -> list[Proposal]:
    """Everything that was tried for a plan that misses its accuracy, what reaches it first."""
    trials = Trials(outcome)
    now = outcome.request.order
    other = 3 - now
    wanted: list[tuple[str, int, int]] = [("", other, 1)]
    enough = trials.run("", other, 1).ratio <= SAFE
    first = trials.divisor("", now)
    if first is not None:
        wanted.append(("", now, first))
    if not enough:
        second = trials.divisor("", other)
        if second is not None and (first is None or second < first):
            wanted.append(("", other, second))
    form = _other_form(outcome)
    if form:
        wanted += [(form, order, 1) for order in ((now,) if enough else (now, other))]
    if first is None:  # how far it came
        wanted += sorted(key for key in trials.made if key[:2] == ("", now) and key[2] > 1)[-1:]
    found = [_proposal(outcome, key, trials.run(*key)) for key in dict.fromkeys(wanted)]
    return sorted(found, key=lambda one: not one.reaches)


def _other_form(outcome: Outcome) -> str:
    """The form that the model does not have now; empty where it has no loops, or where the user named the form."""
    known = outcome.model.known
    if known.form == "dae":
        return "ode" if outcome.frame.algebraic.any() else ""
    return "dae" if known.loops else ""


def _proposal(outcome: Outcome, key: tuple[str, int, int], attempt: Attempt) -> Proposal:
    form, order, n = key
    request = outcome.request
    settings: dict[str, Any] = {}
    words = []
    if order != request.order:
        settings["order"] = order
        words.append(f"order={order}")
    if n > 1:
        settings["step"] = request.step / n
        words.append(f"step={settings['step']:.6g} (1/{n} of this one)")
    if form:
        settings["options"] = {**_changed(request.options), "form": form}
        words.append(f"options={{'form': '{form}'}}")
    what = " with ".join(words)
    if not np.isfinite(attempt.error):
        return Proposal(settings, np.inf, attempt.name, False, f"{what}: the run fails")
    reaches = attempt.ratio <= SAFE
    of = f" ({attempt.name})" if attempt.name else ""
    close = ", too close to what is allowed" if SAFE < attempt.ratio <= 1.0 else ""
    text = f"{what} reaches {100 * attempt.error:.2g} %{of}{close}"
    return Proposal(settings, attempt.error, attempt.name, reaches, text)


def _changed(options: RealtimeOptions) -> dict[str, Any]:
    """Options that differ from the defaults."""
    usual = RealtimeOptions()
    return {
        one.name: getattr(options, one.name)
        for one in fields(options)
        if getattr(options, one.name) != getattr(usual, one.name)
    }
