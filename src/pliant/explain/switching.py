"""Rules about events: root functions that chatter, and what the events of each root function cost.

For every event of a root function, the gap to its next event is examined. The gap is short if the method does not get
away from the event before it comes again:

    gap < 1/100 of the run   and  at most 12 steps per event in it (a restart takes as many to reach its step size), or
    gap < 1e-6 of the run    and  at most 100 steps: it comes again at once, whatever the method does

The share of a root function is the work within its short gaps, where an event counts like a step,

    share = (steps in short gaps + short gaps) / (steps + events).

Neither time nor steps alone would do: a bouncing ball needs few steps per flight, and a fast oscillation crosses zero
often, but with many steps in between.

What time drives is no chatter: a relation of time alone, or a carrier against a level that moves (pulse-width
modulation), if it switches at a fixed frequency, every second event within half a period of a regular sequence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from pliant.explain.findings import (
    FACT,
    FAULT,
    TROUBLE,
    Finding,
    listing,
    make,
    moment,
    n_steps,
    number,
    percent,
    plural,
    rough,
    span,
    when,
)
from pliant.explain.record import FloatArray, RunRecord

SHORT_STEPS, SHORT_TIME = 12, 1.0 / 100.0  # steps per event, part of the run
INSTANT_STEPS, INSTANT_TIME = 100, 1e-6
CERTAIN_TIME = 1.0 / 500.0  # gaps so short that it is chatter, not merely frequent switching
FEWEST = 12  # short gaps that make a case
TIME_EVENTS = "time events"


@dataclass(frozen=True)
class RootUse:
    """What one root function did in the run."""

    name: str
    times: FloatArray
    short: FloatArray  # times of its events that were followed by a short gap
    gap: float  # median length of the short gaps
    steps: float  # steps per short gap
    share: float  # work within the short gaps


def root_uses(record: RunRecord) -> list[RootUse]:
    """Root functions that fired, the most frequent first; time events come under their own name."""
    by_name: dict[str, list[float]] = {}
    for time, roots in record.events:
        for name in dict.fromkeys(roots) if roots else (TIME_EVENTS,):
            by_name.setdefault(name, []).append(float(time))
    ends = record.step_ends
    all_times = np.sort(np.array([float(time) for time, _ in record.events]))
    work = max(n_steps(record) + len(record.events), 1)
    length = span(record) or 1.0
    uses = []
    for name, moments in by_name.items():
        times = np.sort(np.array(moments))
        gaps = np.diff(times)
        # A step that ends at the event belongs before it.
        passed = np.diff(np.searchsorted(ends, times, side="right"))
        events_within = np.maximum(np.diff(np.searchsorted(all_times, times, side="right")), 1)
        short = (gaps < SHORT_TIME * length) & (passed <= SHORT_STEPS * events_within)
        short |= (gaps < INSTANT_TIME * length) & (passed <= INSTANT_STEPS)
        n_short = max(int(short.sum()), 1)
        steps = int(passed[short].sum())
        share = min((steps + int(short.sum())) / work, 1.0)
        gap = float(np.median(gaps[short])) if short.any() else 0.0
        uses.append(RootUse(name, times, times[:-1][short], gap, steps / n_short, share))
    return sorted(uses, key=lambda use: -len(use.times))


def chatter(record: RunRecord) -> list[Finding]:
    """Root functions that fire again before the method gets away from them."""
    uses = [use for use in root_uses(record) if use.name != TIME_EVENTS and _makes_a_case(record, use)]
    driven = record.driven() if uses else {}
    uses = [use for use in uses if not _is_meant(driven, use)]
    if not uses:
        return []
    uses.sort(key=lambda use: (-len(use.short), use.times[0]))
    length = span(record)
    # Less than one step per event: the events are only noted on the way. They cost, but do not hold the method up.
    held_up = [use for use in uses if use.steps >= 0.9 or not record.complete]
    certain = [use for use in held_up if use.gap <= CERTAIN_TIME * length or len(use.short) >= 200]
    found = []
    if certain:
        found.append(_chatter_finding(record, certain, certain=True))
    frequent = [use for use in uses if use not in certain]
    if frequent:
        found.append(_chatter_finding(record, frequent, certain=False))
    return found


def _is_meant(driven: Mapping[str, bool], use: RootUse) -> bool:
    """Time drives it, at a frequency that the model sets."""
    return use.name in driven and (driven[use.name] or is_regular(use.times))


def is_regular(times: FloatArray) -> bool:
    """Two events a period, one of them within half a period of its place in a regular sequence."""
    for first in (0, 1):
        own = times[first::2]
        if len(own) < FEWEST // 2:
            return False
        k = np.arange(len(own))
        period, begin = np.polyfit(k, own, 1)
        if period > 0.0 and np.abs(own - begin - period * k).max() < 0.5 * period:
            return True
    return False


def _makes_a_case(record: RunRecord, use: RootUse) -> bool:
    # A run that was given up for its events has no time to collect many.
    fewest = FEWEST if record.complete else FEWEST // 2
    return len(use.short) >= fewest and (use.share >= 0.1 or len(use.short) >= 100)


def _chatter_finding(record: RunRecord, uses: list[RootUse], certain: bool) -> Finding:
    # The first in line, and those that switch along with it.
    most = len(uses[0].short)
    together = [use for use in uses if 2 * len(use.short) >= most]
    names = tuple(use.name for use in [*together, *(use for use in uses if use not in together)])
    use = uses[0]
    place = record.place(use.name)
    verb = "chatters" if certain else "switches very often"
    text = f"{use.name}{place} {verb}: {plural(len(use.times), 'event')} {when(use.times)}, typically "
    text += f"{number(use.gap)} apart with {rough(use.steps)} steps between them; "
    text += f"{percent(use.share)} of the work is spent there."
    if len(names) > 1:
        text += f" {listing(names[1:])} {'switches' if len(names) == 2 else 'switch'} along with it."
    suggestion = (
        "give the switch a hysteresis or a wider one, or replace it by a smooth transition (in Modelica noEvent or "
        "smooth, where the expression is continuous)"
    )
    if not certain:
        suggestion = "nothing, if it is meant to switch so often; otherwise give the switch a hysteresis"
    weight = 0.3 + 0.7 * use.share if certain else 0.2 + 0.7 * use.share
    return make("chatter", names, FAULT if certain else TROUBLE, weight, text, suggestion, use.share)


def events(record: RunRecord) -> list[Finding]:
    """How many events there were, by root function: a fact."""
    uses = root_uses(record)
    if not uses:
        return []
    parts = [f"{use.name} {number(len(use.times))}" for use in uses[:4]]
    if len(uses) > 4:
        parts.append(f"{len(uses) - 4} more root functions")
    restarts = len(record.incidents.of("restart"))
    total = len(record.events)
    text = f"{plural(total, 'event')} between t = {moment(float(record.events[0][0]))} and "
    text += f"{moment(float(record.events[-1][0]))}: {', '.join(parts)}."
    if total == 1:
        text = f"1 event at t = {moment(float(record.events[0][0]))}: {uses[0].name}."
    if restarts:
        text += f" The method restarted {plural(restarts, 'time')}."
    share = min(total / max(n_steps(record) + total, 1), 1.0)
    suggestion = ""
    if uses[0].share > 0.5:
        if uses[0].name == TIME_EVENTS:
            suggestion = "sample less often if you can: most steps are cut by time events"
        elif _is_meant(record.driven(), uses[0]):
            suggestion = (
                "nothing, if it is meant to switch so often; a lower frequency, or mean values, take fewer steps"
            )
    names = tuple(use.name for use in uses)
    return [make("events", names, FACT, 0.3 * share, text, suggestion, share)]
