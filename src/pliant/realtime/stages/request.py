"""What is asked of a plan: checked alone first, then against the model in one of its forms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pliant.arguments import is_whole
from pliant.errors import ArgumentError, NotSupportedError
from pliant.realtime.code.events import check_events
from pliant.realtime.code.lower import check_supported
from pliant.realtime.evidence.accuracy import DEFAULT, Accuracy, check_accuracy
from pliant.realtime.options import RealtimeOptions, check_number
from pliant.realtime.scenario import Scenario, check_ends, make_scenarios, with_types
from pliant.realtime.sparsing.accept import AcceptRule
from pliant.realtime.sparsing.linearisations import LARGE
from pliant.realtime.sparsing.past import check_delays
from pliant.solve.models.numeric import NumericModel

POINTS, FEWEST = 200, 24  # linearisations of small and of very large models
LARGEST_SECOND = 250  # unknowns of a plan of order 2: its candidates are not tested in patches
MOST_NUMBERS = 500_000_000  # in a run


@dataclass(frozen=True, eq=False)
class Wish:
    """What the user gave; accuracy and judged names wait for a model that knows the names."""

    step: float
    scenarios: list[Scenario]
    rule: AcceptRule
    order: int
    options: RealtimeOptions
    accuracy: Any
    judged: Any


@dataclass(frozen=True, eq=False)
class PlanRequest:
    """What was asked for, checked."""

    step: float
    scenarios: list[Scenario]
    rule: AcceptRule
    order: int
    options: RealtimeOptions
    accuracy: Accuracy

    def points(self, n: int) -> int:
        """Linearisations that every pattern of n unknowns is checked on."""
        given = self.options.points
        return (
            given if given is not None else max(FEWEST, POINTS * min(n, LARGE) ** 2 // max(n, 1) ** 2) if n else POINTS
        )


def check_wish(
    *,
    step: float,
    stop: float,
    tolerance: float,
    theta: float,
    order: int,
    scenarios: Any,
    options: Mapping[str, Any] | None,
    accuracy: Any = DEFAULT,
    judged: Any = None,
) -> Wish:
    """Arguments of ``model.realtime``, or an error that names the invalid one."""
    tau = check_number("step", step, 0.0, np.inf, "a positive time in seconds, e.g. step=1e-3")
    share = check_number("theta", theta, 0.0, 1.0, "the share of the stability margin that must stay, e.g. .5")
    allowed = check_number("tolerance", tolerance, 0.0, np.inf, "the error that may be added, e.g. .02 of the range")
    if not is_whole(order) or order not in (1, 2):
        raise ArgumentError(f"order = {order!r} is not known", hint="1 (Euler) or 2 (extrapolated)")
    end = check_number("stop", stop, -np.inf, np.inf, "the end of the scenarios")
    chosen = RealtimeOptions.of(options)
    wanted = make_scenarios(scenarios, end)
    for one in wanted:
        assert one.stop is not None
        if one.stop - one.start < 2 * tau:
            raise ArgumentError(
                f"{one.name}: {one.start:g} .. {one.stop:g} has less than two steps of {tau:g}", hint="a later stop"
            )
    check_ends(wanted, end, tau)
    return Wish(tau, wanted, AcceptRule(allowed, share, chosen.smallest_real), order, chosen, accuracy, judged)


def check_budget(model: NumericModel, budget: Any) -> float | None:
    """A budget of instructions, where code is written that they can be counted in."""
    if budget is None:
        return None
    found = check_number("budget", budget, 0.0, np.inf, "instructions of a step, e.g. budget=5000")
    if model.equations is None:
        raise NotSupportedError(
            f"{model.name}: a budget counts instructions of written code, and a model without equations has none",
            hint="leave budget out",
        )
    return found


def request_of(model: NumericModel, wish: Wish) -> PlanRequest:
    """The request for this model: a step can be made of it, and the judged names are its own."""
    wish = replace(wish, scenarios=[with_types(model, one) for one in wish.scenarios])
    for one in wish.scenarios:
        assert one.stop is not None
        count = (one.stop - one.start) / wish.step
        if count * (model.n_x + 2) > MOST_NUMBERS:
            raise ArgumentError(
                f"{one.name}: {count:.3g} steps of {wish.step:g} do not fit into memory",
                hint="an earlier stop, or a larger step",
            )
    if model.equations is not None:
        check_supported(model.equations.sorted)
        check_delays(model, [one.parameters for one in wish.scenarios], wish.step)
        for one in wish.scenarios:
            check_events(model.equations.sorted, wish.step, one.start)
    if wish.order == 2 and model.n_x > LARGEST_SECOND and wish.options.search != "full":
        raise NotSupportedError(
            f"{model.name}: order 2 searches with whole matrices, and {model.n_x} unknowns take hours "
            f"(at most {LARGEST_SECOND})",
            hint="order=1, which tests large models in patches, or options={'search': 'full'}, which keeps all entries",
        )
    accuracy = check_accuracy(model, wish.accuracy, wish.judged)
    return PlanRequest(wish.step, wish.scenarios, wish.rule, wish.order, wish.options, accuracy)
