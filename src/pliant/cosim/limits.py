"""Macro steps that the parts accept: multiples of a step of theirs, bounds, and where steps have to end."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pliant.cosim.part import Part
from pliant.errors import ArgumentError
from pliant.solve.signals.kinds import Segments, TableSignal

if TYPE_CHECKING:
    from pliant.cosim.master import Master
    from pliant.cosim.signals import Given

SHORTEST = 1e-9  # of the run, where no part asks for more
LONGEST = 1 / 20  # of the run: rows are communication points
WHOLE = 1e-6  # relative distance from a multiple
MOST_SEGMENTS = 100_000


@dataclass(frozen=True)
class StepLimits:
    """Bounds of macro steps, and the step of which they must be multiples."""

    smallest: float
    largest: float
    unit: float | None = None
    unit_of: str = ""  # the part


def common_unit(parts: Sequence[Part]) -> tuple[float | None, str]:
    """The step of which all macro steps must be multiples; None: any length will do."""
    asked = [(getattr(part, "step_unit", None), part.name) for part in parts]
    units = sorted((unit, name) for unit, name in asked if unit is not None)
    if not units:
        return None, ""
    unit, name = units[-1]
    for other, who in units:
        ratio = unit / other
        if abs(ratio - round(ratio)) > WHOLE * ratio:
            raise ArgumentError(
                f"no macro step suits both part {name!r}, whose step is {unit:g}, "
                f"and part {who!r}, whose step is {other:g}",
                hint="export one of them with another step, or load it with kind='model-exchange'",
            )
    return unit, name


def step_limits(parts: Sequence[Part], start: float, stop: float) -> StepLimits:
    """For steps chosen by error."""
    for part in parts:
        if getattr(part, "equal_steps", False) and getattr(part, "step_unit", None) is None:
            raise ArgumentError(
                f"part {part.name!r} takes steps of equal length only, and does not say of which",
                hint="give step= as a number",
            )
    span = stop - start
    unit, name = common_unit(parts)
    largest = span * LONGEST
    if unit is None:
        return StepLimits(max(SHORTEST * span, 1e3 * float(np.spacing(max(abs(start), abs(stop))))), largest)
    if unit > span * (1.0 + WHOLE):
        raise ArgumentError(
            f"part {name!r} takes steps of {unit:g}, longer than the simulation, {span:g}", hint="a later stop"
        )
    whole = span / unit
    equal = any(getattr(part, "equal_steps", False) for part in parts)
    if equal and abs(whole - round(whole)) > WHOLE * max(1.0, whole):
        raise ArgumentError(
            f"part {name!r} takes steps of {unit:g} only, and stop - start = {span:g} is no multiple of it",
            hint=f"stop={start + math.ceil(whole) * unit:.10g}",
        )
    return StepLimits(unit, max(unit, largest), unit, name)


def jump_times(given: Sequence[Given]) -> list[float]:
    """Where inputs that are not connected jump."""
    found: set[float] = set()
    for one in given:
        if isinstance(one.signal, Segments):
            knots = one.knots if len(one.knots) <= MOST_SEGMENTS else one.knots[:0]
        elif isinstance(one.signal, TableSignal):
            twice = np.flatnonzero(np.diff(one.knots) == 0.0)
            knots = one.knots[twice]
        else:
            continue
        for knot in knots.tolist():
            left, right = one.limits(knot)
            if left != right:
                found.add(knot)
    return sorted(found)


def next_event(m: Master, t: float, near: float) -> float:
    """The next time event of a part whose discrete outputs are connected; infinite: none is known."""
    times = [getattr(m.parts[p], "next_event", math.inf) for p in m.publishing]
    return min((one for one in times if one > t + near), default=math.inf)
