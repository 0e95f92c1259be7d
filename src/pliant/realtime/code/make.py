"""One step of the linearly implicit Euler method as C without data-dependent branches.

    (L - tau J) dx = tau f(t_next, x, u_next),   x_next = x + dx                                  order 1
    x_next = 2 x_fine - x_coarse: one step of tau, two of tau/2 with the same J                    order 2

J holds the entries of df/dx that the elimination keeps. Loops, Jacobian, factorisation and solution are scalar
assignments on one graph of expressions, so only what the kept entries need is computed, once. The order of elimination
is fixed, pivots are not searched, every step costs the same.

Deviations: relations (events) are evaluated at the start of each step and hold through it; only those that depend on
themselves use their value of the step before. Nonlinear loops get a fixed number of Newton steps. Of order 2, f is
evaluated at t, with the inputs of the last call, and at t + tau/2, with the mean of both: two evaluations, not three.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from pliant.errors import ArgumentError
from pliant.expr.build import collector_paused
from pliant.realtime.code.build import StepBuilder
from pliant.realtime.code.events import check_events
from pliant.realtime.code.lower import check_supported
from pliant.realtime.code.places import StepLayout
from pliant.realtime.code.text import StepText
from pliant.realtime.code.types import MonitorLimits, StartValues, StepCode, StepperOptions
from pliant.realtime.sparsing.elimination import Elimination, Entry
from pliant.sorted_system import SortedSystem

__all__ = ["MonitorLimits", "StartValues", "StepCode", "StepperOptions", "make_stepper"]


def make_stepper(
    sorted: SortedSystem,
    form: str,
    tau: float,
    elimination: Elimination,
    options: StepperOptions | None = None,
    start: StartValues | None = None,
    *,
    full: Elimination | None = None,
    limits: MonitorLimits | None = None,
    frozen: Mapping[Entry, float] | None = None,
    layout: type[StepLayout] = StepLayout,
) -> StepCode:
    """Write the C text of a step of length ``tau``; the kept entries of J are those of ``elimination``.

    start    where it starts; None: start values as declared (not made consistent)
    full     elimination of the full pattern, for ``options.fallback``
    limits   of the monitor, in the place of ``options.limits``
    frozen   entries of J that are held, with their values; a step of full pattern computes them all the same
    layout   where things lie in memory, and how the target says it
    """
    chosen = options or StepperOptions()
    if limits is not None:
        chosen = replace(chosen, limits=limits)
    _check(tau, chosen, full)
    check_supported(sorted)
    check_events(sorted, tau, start.t if start is not None else 0.0)
    with collector_paused():
        builder = StepBuilder(sorted, form, tau, chosen, start)
        plan = builder.build(elimination, full if chosen.fallback else None, frozen or {})
        return StepText(plan, layout).code()


def _check(tau: float, options: StepperOptions, full: Elimination | None) -> None:
    if not (tau > 0.0 and np.isfinite(tau)):
        raise ArgumentError(f"the step tau = {tau} must be positive", hint="e.g. tau=1e-3")
    if options.precision not in ("double", "float"):
        raise ArgumentError(f"precision {options.precision!r} is not known", hint='"double" or "float"')
    if options.order not in (1, 2):
        raise ArgumentError(f"order {options.order} is not known", hint="1 (Euler) or 2 (extrapolated)")
    if options.newton_steps < 1:
        raise ArgumentError(
            f"newton_steps = {options.newton_steps} must be at least 1",
            hint=f"leave it out for {StepperOptions().newton_steps}",
        )
    if options.event_rounds < 1:
        raise ArgumentError(
            f"event_rounds = {options.event_rounds} must be at least 1",
            hint=f"leave it out for {StepperOptions().event_rounds}",
        )
    if options.relation_passes < 0:
        raise ArgumentError(
            f"relation_passes = {options.relation_passes} must not be negative",
            hint=f"leave it out for {StepperOptions().relation_passes}",
        )
    if options.style not in (None, "straight-line", "tables"):
        raise ArgumentError(f"style {options.style!r} is not known", hint='"straight-line" or "tables"')
    if options.fallback and not (options.monitor and full is not None):
        raise ArgumentError("fallback needs monitor=True and the elimination of the full pattern", hint="full=...")
