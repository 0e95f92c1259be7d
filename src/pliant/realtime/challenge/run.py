"""plan.challenge: scenarios to workers, rows in their order."""

from __future__ import annotations

import multiprocessing
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from threadpoolctl import threadpool_limits

from pliant.arguments import is_whole
from pliant.batch.progress import StudyProgress, StudyReporter
from pliant.batch.run import cores
from pliant.errors import ArgumentError, SimulationInterrupted
from pliant.realtime.challenge.found import Challenge
from pliant.realtime.challenge.ranges import default_scenarios
from pliant.realtime.challenge.trial import ChallengeRow, ScenarioTrial
from pliant.realtime.progress import interruptible
from pliant.realtime.scenario import Scenario, check_ends, make_scenarios, with_types
from pliant.solve.models.numeric import NumericModel
from pliant.solve.options import check_parameters
from pliant.solve.signals.given import typed_inputs

if TYPE_CHECKING:
    from pliant.realtime.plan import Plan

MOST = 1_000_000
FEW = 20  # scenarios that one worker gets through before others have begun

_workers: list[tuple[ScenarioTrial, Sequence[Scenario]]] = []  # what a process has inherited


def challenge(
    plan: Plan,
    n: int,
    scenarios: Any,
    seed: int,
    workers: int | None,
    progress: bool | Callable[[StudyProgress], object] | None,
) -> Challenge:
    """See :meth:`pliant.Plan.challenge`."""
    for what, value, least in (
        ("n", n, 1),
        ("seed", seed, 0),
        *((("workers", workers, 1),) if workers is not None else ()),
    ):
        if not is_whole(value) or not least <= value <= MOST:
            raise ArgumentError(
                f"challenge: {what} must be a whole number from {least} on, not {value!r}",
                hint="e.g. challenge(1000, seed=1)",
            )
    with interruptible(f"{plan.name}: the challenge", "it had not begun: there are no rows"):
        trial = ScenarioTrial(plan)
        told = _scenarios(trial, scenarios, n, seed)
    rows: dict[int, ChallengeRow] = {}
    lost = 0
    began = time.perf_counter()

    def found() -> Challenge:
        done = [rows[k] for k in sorted(rows)]
        return Challenge(
            done,
            model=plan.name,
            step=plan.step,
            seconds=time.perf_counter() - began,
            asked=len(told),
            holds=plan.evidence.holds,
        )

    with StudyReporter(progress) as reporter, threadpool_limits(1, "blas"):
        try:
            for k, row in _rows(trial, told, workers):
                rows[k] = row
                lost += row.reason is not None or (row.failed and not row.flagged)
                seconds = time.perf_counter() - began
                reporter.report(
                    StudyProgress(len(rows), n=len(told), failed=lost, seconds=seconds), last=len(rows) == len(told)
                )
        except (KeyboardInterrupt, SimulationInterrupted):
            raise SimulationInterrupted(
                f"{plan.name}: interrupted after {len(rows)} of {len(told)} scenarios",
                hint="what was done is .result of this error",
                result=found(),  # type: ignore[arg-type]
            ) from None
    return found()


def _scenarios(trial: ScenarioTrial, given: Any, n: int, seed: int) -> list[Scenario]:
    """Those that were given, or drawn ones."""
    plan = trial.plan
    stop = max(one.stop for one in plan.outcome.request.scenarios if one.stop is not None)
    found = default_scenarios(plan, trial.met, n, seed, stop) if given is None else make_scenarios(given, stop)
    check_ends(found, stop, plan.step)
    return [settled(plan.outcome.model, one) for one in found]


def settled(model: NumericModel, scenario: Scenario) -> Scenario:
    """Names checked, and inputs as tables of numbers."""
    scenario = with_types(model, scenario)
    assert scenario.stop is not None
    try:
        declared = model.declared_inputs(check_parameters(model, scenario.parameters))
        inputs = typed_inputs(declared, scenario.inputs, scenario.stop)
        for name in scenario.start_values:
            model.start_place(name)
    except ArgumentError as error:
        raise type(error)(f"{scenario.name}: {error.message}", hint=error.hint) from None
    return replace(scenario, inputs=inputs)


# ------------------------------------------------------------------------------------------------------ workers


def _rows(
    trial: ScenarioTrial, scenarios: Sequence[Scenario], workers: int | None
) -> Iterator[tuple[int, ChallengeRow]]:
    """(place, row) as they come."""
    count = min(cores(), max(1, len(scenarios) // FEW)) if workers is None else min(workers, len(scenarios))
    if count == 1 or not trial.model.fits_threads:
        for k, one in enumerate(scenarios):
            yield k, trial.run(one)
    elif sys.platform == "linux" and threading.active_count() == 1:
        yield from _forked(trial, scenarios, count)
    else:  # locks of other threads would be copied
        with ThreadPoolExecutor(count) as pool:
            yield from _collected(pool, {k: pool.submit(trial.run, one) for k, one in enumerate(scenarios)})


def _forked(trial: ScenarioTrial, scenarios: Sequence[Scenario], count: int) -> Iterator[tuple[int, ChallengeRow]]:
    """In copies of this process. A scenario whose process dies is tried again alone."""
    _workers.append((trial, scenarios))  # inherited, not sent: functions of time may be lambdas
    context = multiprocessing.get_context("fork")
    left = set(range(len(scenarios)))
    try:
        with ProcessPoolExecutor(count, mp_context=context) as pool:
            futures = {k: pool.submit(_run, k) for k in left}
            for k, row in _collected(pool, futures):
                left.discard(k)
                yield k, replace(row, scenario=scenarios[k])
    except BrokenProcessPool:
        for k in sorted(left):
            with ProcessPoolExecutor(1, mp_context=context) as pool:
                try:
                    yield k, replace(pool.submit(_run, k).result(), scenario=scenarios[k])
                except BrokenProcessPool:
                    yield k, ChallengeRow(scenarios[k], reason="the process that ran it died")
    finally:
        _workers.clear()


def _collected(pool: Any, futures: dict[int, Future[ChallengeRow]]) -> Iterator[tuple[int, ChallengeRow]]:
    places = {one: k for k, one in futures.items()}
    try:
        for one in as_completed(places):
            yield places[one], one.result()
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        raise


def _run(k: int) -> ChallengeRow:
    trial, scenarios = _workers[-1]
    return replace(trial.run(scenarios[k]), scenario=Scenario())  # the parent has it
