"""Rules about the course of the run: failures, steps held small, orders held low, Jacobians, methods, refusals.

Failures are normal to some extent: an error test fails in some 5 to 15 % of the steps, Newton's iteration in about
1 %. Only what is clearly above is reported. Costs are estimated from counters times the measured cost of one call:

    share of Jacobians = n_jac c_jac / (n_jac c_jac + (n_rhs - n_rhs_jac) c_rhs + n_factor c_factor + n_solve c_solve)
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from pliant.explain.findings import (
    FACT,
    TROUBLE,
    Finding,
    count,
    densest,
    listing,
    make,
    moment,
    n_steps,
    newton_failures,
    number,
    percent,
    plural,
    rough,
    shares,
    span,
    top,
    when,
)
from pliant.explain.record import KINDS, FloatArray, RunRecord

NEWTON_MANY = 0.04  # failures per step
NEWTON_MANY_RADAU5 = 0.12  # whose long steps lean on a Jacobian and a guess from far away
ERROR_MANY = 0.25
EXPLICIT = ("dopri5", "rk4", "euler")


# -- failures ------------------------------------------------------------------------------------------------


def fail_times(record: RunRecord, kind: str, state: int | None = None) -> FloatArray:
    """Times of the recorded failures of one kind, of one state or of all."""
    rows = record.incidents.of(kind)
    if state is not None:
        rows = rows[record.incidents.index[rows] == state]
    return np.sort(np.asarray(record.incidents.time[rows], dtype=np.float64))


def first_and_last(record: RunRecord, kind: str) -> tuple[FloatArray, FloatArray]:
    """Per state the first and last time of its recorded failures, infinite for none."""
    n = len(record.states)
    rows = record.incidents.of(kind)
    rows = rows[(record.incidents.index[rows] >= 0) & (record.incidents.index[rows] < n)]
    first, last = np.full(n, np.inf), np.full(n, -np.inf)
    np.minimum.at(first, record.incidents.index[rows], record.incidents.time[rows])
    np.maximum.at(last, record.incidents.index[rows], record.incidents.time[rows])
    return first, last


def failures(record: RunRecord) -> list[Finding]:
    """Failures of the error test and of Newton's iteration, with the states that cause them and the times."""
    found = []
    steps = max(n_steps(record), 1)
    newton_many = NEWTON_MANY if record.used == "bdf" else NEWTON_MANY_RADAU5
    for kind, fails, total, many in (
        ("newton", record.newton_fails, newton_failures(record), newton_many),
        ("error", record.error_fails, max(count(record, "n_error_fails"), int(np.sum(record.error_fails))), ERROR_MANY),
    ):
        if total == 0:
            continue
        chosen = top(fails)
        names = tuple(record.states[i] for i in chosen)
        rate = total / (steps + total)
        what = "Newton's iteration failed" if kind == "newton" else "The error test failed"
        text = f"{what} {plural(total, 'time')} ({percent(rate)} of the attempts) {when(fail_times(record, kind))}"
        text = text.rstrip() + "."
        if len(chosen):
            i = int(chosen[0])
            part = float(shares(fails)[i])
            text = f"{names[0]}{record.place(names[0])}: {what[0].lower() if kind == 'error' else what[0]}{text[1:]}"
            all_times, its_own = when(fail_times(record, kind)), when(fail_times(record, kind, i))
            text += f" It dominates {percent(part)} of them" if total > 1 else ""
            text += f", {its_own}" if its_own and its_own != all_times and total > 1 else ""
            text += "." if total > 1 else ""
            if len(names) > 1:
                text += f" Next: {listing(names[1:])}."
        bad = total >= 8 and total / steps > many
        suggestion = ""
        if bad and kind == "newton":
            suggestion = _newton_suggestion(record, names)
        elif bad:
            who = f"the equations of {names[0]}" if names else "the equations"
            suggestion = f"look for jumps, kinks or noise in {who}; describe jumps by a root function"
        weight = min(0.3 + rate, 0.9) if bad else 0.25 * rate
        found.append(make(kind, names, TROUBLE if bad else FACT, weight, text, suggestion, rate))
    return found


def _newton_suggestion(record: RunRecord, names: tuple[str, ...]) -> str:
    who = names[0] if names else "the states"
    if record.jacobian == "differences":
        # A small state without nominal is the first suspect: nothing tells its size when it is near zero.
        small = ~np.isfinite(record.nominal) & (record.largest > 0) & (record.largest < 1e-3)
        if small.any():
            i = int(np.argmin(np.where(small, record.largest, np.inf)))
            size = 10.0 ** np.floor(np.log10(record.largest[i]))
            return f"enter nominal = {number(size)} for {record.states[i]}, or give the Jacobian (jac=)"
        return f"give the Jacobian (jac=), or a nominal value for {who}: the difference Jacobian may be poor"
    return f"look for jumps and strong nonlinearities in the equations of {who}"


def refusals(record: RunRecord) -> list[Finding]:
    """Points that the model refused, and singular iteration matrices."""
    found = []
    steps = max(n_steps(record), 1)
    for kind in ("refused", "singular"):
        rows = record.incidents.of(kind)
        if not len(rows):
            continue
        index = record.incidents.index[rows]
        counts = np.bincount(index[(index >= 0) & (index < len(record.states))], minlength=len(record.states))
        names = tuple(record.states[i] for i in top(counts))
        total = max(len(rows), count(record, f"n_{kind}"))  # the list of incidents is not without end
        many = kind == "singular" or total >= max(5, 0.02 * steps)
        what = (
            f"The model refused {plural(total, 'point')}"
            if kind == "refused"
            else f"The iteration matrix was singular {plural(total, 'time')}"
        )
        text = f"{what} {when(record.incidents.time[rows])}"
        text = f"{text}, first of all for {listing(names)}{record.place(names[0])}." if names else f"{text}."
        who = names[0] if names else "the states"
        suggestion = (
            f"give {who} a min or max, or write its equations so that they are defined a little outside too"
            if kind == "refused"
            else f"check whether the equations still determine {who} there"
        )
        share = min(total / steps, 1.0)
        weight = min(0.25 + share, 0.8) if many else 0.1
        found.append(make(kind, names, TROUBLE if many else FACT, weight, text, suggestion if many else "", share))
    return found


def stopped(record: RunRecord) -> list[Finding]:
    """The run ended early: what happened last."""
    if record.complete:
        return []
    text = f"The run ended at t = {moment(record.reached)}, before the stop time {moment(record.stop)}."
    names: tuple[str, ...] = ()
    incidents = record.incidents
    bad = np.isin(incidents.kind, [KINDS.index(kind) for kind in ("error", "newton", "refused", "singular")])
    rows = np.flatnonzero(bad)[-20:]
    # Only what happened right at the end says something about it.
    rows = rows[incidents.time[rows] >= record.reached - 0.01 * max(span(record), 1e-300)]
    if len(rows):
        kind = KINDS[int(np.bincount(incidents.kind[rows]).argmax())]
        index = incidents.index[rows]
        counts = np.bincount(index[(index >= 0) & (index < len(record.states))], minlength=len(record.states))
        names = tuple(record.states[i] for i in top(counts))
        words = {
            "error": "failed error tests",
            "newton": "Newton failures",
            "refused": "refused points",
            "singular": "singular matrices",
        }
        text += f" The last incidents are {words[kind]}"
        text += f", mostly of {listing(names)}{record.place(names[0])}." if names else "."
    who = f"the equations of {names[0]}" if names else "the model"
    suggestion = f"check {who} near t = {moment(record.reached)}; the result up to there can be plotted"
    if not len(rows):
        text, names, suggestion = _cut_short(record, text, suggestion)
    return [make("stopped", names, TROUBLE, 0.95, text, suggestion, 1.0)]


def _cut_short(record: RunRecord, text: str, suggestion: str) -> tuple[str, tuple[str, ...], str]:
    """Nothing failed at the end: events came without end, or a limit of time or steps was reached."""
    late = [roots for time, roots in record.events if time >= record.reached - 0.01 * max(span(record), 1e-300)]
    names = tuple(dict.fromkeys(name for roots in late for name in roots))
    if len(late) >= 6 and names:
        return f"{text} Its last steps lie between events of {listing(names)}.", names, f"check {listing(names)}"
    h = np.abs(np.asarray(record.steps.get("h", ()), dtype=np.float64))[-1000:]
    if len(h) < 20 or np.median(h) == 0:
        return text, (), suggestion
    size = float(np.median(h))
    text += f" With steps of about {rough(size)} as at the end it would need some "
    text += f"{rough((record.stop - record.reached) / size)} more."
    names = tuple(record.states[i] for i in top(record.limits))
    if names:
        suggestion = f"plot {listing(names)}, which limit{'s' if len(names) == 1 else ''} the step"
    return text, names, suggestion


# -- steps ---------------------------------------------------------------------------------------------------


def limits(record: RunRecord) -> list[Finding]:
    """Which states limit the step: some state does in every run."""
    chosen = top(record.limits)
    if not len(chosen):
        return []
    share = shares(record.limits)
    names = tuple(record.states[i] for i in chosen)
    parts = [f"{name} in {percent(float(share[i]))}" for name, i in zip(names, chosen, strict=True)]
    if names[0].startswith("$"):  # a name that the user has never seen
        parts[0] = parts[0].replace(names[0], f"{names[0]}{record.place(names[0])}", 1)
    text = f"The step is limited by {', '.join(parts)} of the steps"
    text += f"{record.place(names[0])}." if len(names) == 1 and not names[0].startswith("$") else "."
    suggestion = f"if {names[0]} need not be so accurate, raise its atol" if len(record.states) > 1 else ""
    i = int(chosen[0])
    return [make("limits", names, FACT, 0.4 + 0.4 * float(share[i]), text, suggestion, float(share[i]))]


def slow_part(record: RunRecord) -> list[Finding]:
    """The part of the time interval that took most of the steps."""
    ends = record.step_ends
    length = span(record)
    if len(ends) < 100 or length <= 0:
        return []
    low, high = densest(ends, 0.6)
    width = (high - low) / length
    if width > 0.1:
        return []
    inside = (ends >= low) & (ends <= high)
    share = float(np.mean(inside))
    incidents = record.incidents
    bad = np.isin(incidents.kind, [KINDS.index("error"), KINDS.index("newton")])
    bad &= (incidents.time >= low) & (incidents.time <= high)
    index = incidents.index[bad]
    counts = np.bincount(index[(index >= 0) & (index < len(record.states))], minlength=len(record.states))
    names = tuple(record.states[i] for i in top(counts))
    text = f"{percent(share)} of the steps lie between t = {moment(low)} and {moment(high)}, "
    text += f"{percent(width)} of the time."
    if names:
        text += f" {number(int(np.sum(bad)))} failed attempts there, mostly by {listing(names)}."
    h = np.abs(np.asarray(record.steps["h"], dtype=np.float64)[inside])
    # A transient grows out of small steps; noise and jumps hold them down and make many attempts fail.
    trouble = np.sum(bad) > 0.3 * np.sum(inside) and float(np.median(h)) < 1e-4 * length
    suggestion = f"plot {names[0] if names else 'the states'} there" + (
        " and look for jumps or noise" if trouble else ""
    )
    weight = 0.4 if trouble else 0.3
    return [make("slow", names, TROUBLE if trouble else FACT, weight, text, suggestion, share)]


def low_order(record: RunRecord) -> list[Finding]:
    """BDF held at order 1 and 2 with small steps for most of the run."""
    order = np.asarray(record.steps.get("order", ()))
    methods = np.asarray(record.steps.get("method", ()))
    if len(order) < 200 or len(methods) != len(order):
        return []
    bdf = methods == "bdf"
    # Restarts begin at order 1 by right: the first 25 steps after one do not count.
    ends = record.step_ends
    events = [float(time) for time, _ in record.events]
    begins = np.sort(np.concatenate([[-np.inf], record.incidents.time[record.incidents.of("restart")], events]))
    since = np.arange(len(ends)) - np.searchsorted(ends, begins)[np.searchsorted(begins, ends, "right") - 1]
    settled = bdf & (since > 25)
    h = np.abs(np.asarray(record.steps["h"], dtype=np.float64))
    if settled.sum() < 200:
        return []
    share = float(np.mean(order[settled] <= 2))
    if share < 0.7 or float(np.median(h[settled])) > 1e-3 * span(record):
        return []
    text = f"BDF stays at order 1 and 2 in {percent(share)} of its steps, with steps of "
    text += f"{number(float(np.median(h[settled])))}: the solution is not smooth, or it swings with little damping."
    suggestion = (
        'method="radau5", which keeps its order on undamped swings; if it is no better, look for noise and jumps'
    )
    return [make("order", (), TROUBLE, 0.2 + 0.2 * share, text, suggestion, share)]


def stiff(record: RunRecord) -> list[Finding]:
    """An explicit method whose steps are held by stability, not by accuracy: all of about one size."""
    methods = np.asarray(record.steps.get("method", ()))
    if record.method not in ("dopri5",) or len(methods) < 500:
        return []
    h = np.abs(np.asarray(record.steps["h"], dtype=np.float64))[50:]
    low, high = np.quantile(h, [0.1, 0.9])
    fails = count(record, "n_error_fails") / len(methods)
    if high > 3.0 * low or float(np.median(h)) > 1e-3 * span(record) or fails < 0.02:
        return []
    text = (
        f"{plural(len(methods), 'step')} of {record.method}, nearly all of one size ({number(float(np.median(h)))}): "
    )
    text += "its stability may hold them, which means the model is stiff."
    return [make("stiff", (), TROUBLE, 0.35, text, 'method="auto" or "bdf"', 1.0)]


# -- methods and Jacobians -----------------------------------------------------------------------------------


def handovers(record: RunRecord) -> list[Finding]:
    """Changes of the method by auto."""
    times = fail_times(record, "handover")
    if not len(times):
        return []
    many = len(times) > 6
    text = f"auto changed the method {plural(len(times), 'time')} ({record.used}), {when(times)}."
    suggestion = f'choose the method yourself, e.g. method="{_last_method(record)}"' if many else ""
    weight = 0.25 if many else 0.1
    return [make("handover", (), TROUBLE if many else FACT, weight, text, suggestion)]


def _last_method(record: RunRecord) -> str:
    methods = np.asarray(record.steps.get("method", ()))
    return str(methods[-1]) if len(methods) else "bdf"


def measured_cost(record: RunRecord) -> dict[str, float]:
    """Seconds by part of the work: rhs, jacobian, factor, solve; empty if they cannot be measured."""
    try:
        each: Mapping[str, float] = record.cost()
    except Exception:  # the model may refuse, and a report must not fail for want of one number
        return {}
    calls = {
        "rhs": count(record, "n_rhs") - count(record, "n_rhs_jac"),
        "jacobian": count(record, "n_jac"),
        "factor": count(record, "n_factor"),
        "solve": count(record, "n_solve"),
    }
    total = {name: max(n, 0) * float(each.get(name, 0.0)) for name, n in calls.items()}
    return total if all(np.isfinite(value) for value in total.values()) else {}


def _about(share: float) -> str:
    words = percent(share)
    return f"about {words}" if words[0].isdigit() else words


def jacobians(record: RunRecord) -> list[Finding]:
    """Number, age and cost of the Jacobians."""
    n_jac, steps = count(record, "n_jac"), n_steps(record)
    if n_jac == 0 or steps == 0:
        return []
    cost = measured_cost(record)
    total = sum(cost.values())
    share = cost.get("jacobian", 0.0) / total if total > 0 else 0.0
    source = {
        "exact": "exact",
        "directional": "from directional derivatives",
        "differences": f"by differences, {plural(record.colours, 'evaluation')} each",
    }.get(record.jacobian, record.jacobian)
    age = steps / n_jac
    text = f"{plural(n_jac, 'Jacobian')} ({source}), "
    text += f"one every {rough(age)} steps" if age > 1.05 else "a new one for every step"
    text += f", {_about(share)} of the computing time." if total > 0 else "."
    suggestion = ""
    if share > 0.4:
        if record.jacobian == "differences" and record.colours >= min(len(record.states), 5):
            suggestion = "give the Jacobian (jac=) or its pattern (pattern=): fewer evaluations"
        elif record.jacobian == "differences":
            suggestion = "give the Jacobian (jac=)"
        elif record.used != "bdf":
            suggestion = 'method="bdf", which keeps a Jacobian longest'
    return [make("jacobian", (), FACT, 0.35 * share + (0.45 if share > 0.4 else 0.0), text, suggestion, share)]


def repaired(record: RunRecord) -> list[Finding]:
    """What pliant corrected automatically: difference increments that were replaced."""
    rows = record.incidents.of("repaired")
    total = max(count(record, "n_rediff"), 1 if len(rows) else 0)
    if total == 0:
        return []
    index, value = record.incidents.index[rows], record.incidents.value[rows]
    known = (index >= 0) & (index < len(record.states))
    chosen = top(np.bincount(index[known], minlength=len(record.states)), 5)
    names = tuple(record.states[i] for i in chosen)
    text = f"pliant took {plural(total, 'Jacobian')} again with other increments, because Newton converged badly"
    if names:
        text += f": {listing(names)} {when(record.incidents.time[rows])}"
        ratio = np.abs(value[known & (index == chosen[0])])
        ratio = ratio[np.isfinite(ratio) & (ratio > 0)]
        if len(ratio):
            last = float(ratio[-1])
            text += f", for {names[0]} {rough(max(last, 1 / last))} times "
            text += "larger" if last > 1 else "smaller"
    share = min(total / max(count(record, "n_jac"), 1), 1.0)
    suggestion = f"enter the typical size of {names[0]} as its nominal value" if names else ""
    return [make("repaired", names, FACT, 0.3, text + ".", suggestion, share)]
