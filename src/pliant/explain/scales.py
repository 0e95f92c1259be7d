"""Rules about scales: nominal values and tolerances that do not fit the values met in the run.

    rho_i = L_i / nominal_i        L_i: largest |x_i| met; rho far from 1: the nominal is wrong
    r_i   = atol_i / L_i           absolute tolerance relative to the size of the state
    w_i   = rtol |x_i| + atol_i    weight in the error test; near zero only atol is left of it

A nominal counts twice in pliant: the default atol is 0.01 rtol nominal, and difference increments take it as a hint.
Too large (rho << 1) it leaves the state without error control, too small it makes the tolerance near zero tight.
An atol is too tight if r_i << rtol for one state, while it is not for the others, or while the state limits the
steps near zero. A small atol alone is no fault: a pressure that stays at 1e5 Pa never gets near it. That is why
a tolerance is reported only with supporting evidence: another state's tolerance, or the count of the steps it limited.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pliant.explain.findings import (
    FACT,
    FAULT,
    TROUBLE,
    Finding,
    burden,
    listing,
    make,
    n_steps,
    number,
    percent,
    rough,
    shares,
    span,
)
from pliant.explain.record import FloatArray, RunRecord

NOMINAL_LARGE = 300.0  # nominal / largest |x| from which a nominal is too large
NOMINAL_SMALL = 3000.0  # largest |x| / nominal from which it is too small
NOMINAL_SMALL_FIRST = 500.0  # the same where the start value is far above the nominal too: not just a high peak
UNEXCITED = 1e-13  # largest |x| / nominal below which the state was at rest: rounding at most
TIGHT = 1e-5  # atol / (rtol L) below which an atol can be too tight: 1000 times tighter than the default
VERY_TIGHT = 1e-8  # the same without any other witness than the steps that the state limits
OUTLIER = 2e-4  # atol / L, relative to the median of the other states
LOOSE = 0.1  # atol / L above which a state is not controlled
RTOL_TIGHT = 2e-10
RTOL_LOOSE = 0.02
USUAL_RTOL = 1e-6
FIXED_STEP = ("rk4", "euler", "lieuler")  # methods that no tolerance speaks to
EPS = 2.2e-16


# -- nominals ------------------------------------------------------------------------------------------------


def nominals(record: RunRecord) -> list[Finding]:
    """Nominals that are far from the values met: one finding for those too large, one for those too small."""
    nominal = np.abs(np.asarray(record.nominal, dtype=np.float64))
    entered = np.isfinite(nominal) & (nominal > 0) & np.isfinite(record.largest)
    rho = np.full(len(nominal), 1.0)
    np.divide(record.largest, nominal, out=rho, where=entered)
    resting = entered & (rho <= UNEXCITED)
    found = []
    large, small = (rho * NOMINAL_LARGE <= 1.0) & ~resting, rho >= NOMINAL_SMALL
    small |= entered & (rho >= NOMINAL_SMALL_FIRST) & (np.abs(record.first) >= 0.1 * record.largest)
    if n_steps(record) == 0:  # nothing was met but the start values
        return []
    if large.any():
        found.append(_nominal(record, large, 1.0 / np.maximum(rho, 1e-300), too_large=True))
    if small.any():
        found.append(_nominal(record, small, rho, too_large=False))
    # At rest by itself is no fault: a fact, and only where the nominal says much larger values are expected.
    idle = resting & (record.largest > 0)
    if idle.any():
        names = tuple(record.states[i] for i in np.flatnonzero(idle))
        text = f"{listing(names)} stayed at zero but for rounding, although a nominal value is entered."
        found.append(make("nominal", names, FACT, 0.05, text, "nothing, if the run was not meant to move it"))
    return found


def _nominal(record: RunRecord, chosen: NDArray[np.bool_], factor: FloatArray, too_large: bool) -> Finding:
    heavy = burden(record)
    repaired = np.zeros(len(record.states), dtype=bool)
    columns = record.incidents.index[record.incidents.of("repaired")]
    repaired[columns[(columns >= 0) & (columns < len(repaired))]] = True
    # More than a factor 1e6 makes nothing worse. A start value that is not 0 shows the size that was meant.
    weight = 0.35 + 0.05 * np.minimum(np.log10(np.maximum(factor, 1.0)), 6.0) + 0.15 * repaired
    weight = weight + 0.15 * heavy - 0.05 * (record.first == 0)
    order = np.flatnonzero(chosen)
    order = order[np.argsort(-weight[order], kind="stable")]
    names = tuple(record.states[i] for i in order)
    i = int(order[0])
    nominal, largest = abs(float(record.nominal[i])), float(record.largest[i])
    text = (
        f"{names[0]}{record.place(names[0])} has the nominal value {number(nominal)}, but the largest |{names[0]}| "
        f"met is {number(largest)}: the nominal is {rough(float(factor[i]))} times too "
    )
    text += "large." if too_large else "small."
    if not record.atol_given:
        ratio = float(record.atol[i]) / largest if largest > 0 else np.inf
        if too_large:
            text += f" Its absolute tolerance {number(record.atol[i])} comes from it"
            text += ", so its error is hardly controlled." if ratio > 10 * record.rtol else "."
        else:
            text += f" Its absolute tolerance {number(record.atol[i])} comes from it and is needlessly tight near zero."
    if too_large and record.first[i] == 0:
        text += " It starts at 0, so this run may just not move it much."
    if repaired[i]:
        text += " pliant changed its difference increment in the run."
    if len(names) > 1:
        text += f" The same holds for {listing(names[1:])}."
    size = _round_size(largest)
    suggestion = f"enter nominal = {number(size)} for {names[0]}"
    if too_large:
        suggestion += ", unless other runs reach the nominal"
    # What starts at 0 may just not move much in this run, above all if the run ended at once.
    early = span(record) < 0.1 * (record.stop - record.start)
    unsure = too_large and record.first[i] == 0 and (early or factor[i] < 1e4) and not repaired[i]
    return make("nominal", names, TROUBLE if unsure else FAULT, float(weight[i]), text, suggestion, float(heavy[i]))


def _round_size(value: float) -> float:
    """The next power of ten below, a typical size to enter."""
    return float(10.0 ** np.floor(np.log10(value))) if value > 0 else 1.0


# -- tolerances ----------------------------------------------------------------------------------------------


def tolerances(record: RunRecord) -> list[Finding]:
    """Tolerances that are too tight or too loose, of single states and rtol itself."""
    if record.used in FIXED_STEP:
        return []
    if not len(record.states) or n_steps(record) == 0:
        return _none_at_all(record)
    return [*_none_at_all(record), *_tight(record), *_loose(record), *_rtol(record)]


def _relative(record: RunRecord) -> FloatArray:
    """r = atol / L, infinite for a state that stayed at 0."""
    ratio = np.full(len(record.states), np.inf)
    np.divide(record.atol, record.largest, out=ratio, where=(record.largest > 0) & np.isfinite(record.largest))
    return ratio


def _none_at_all(record: RunRecord) -> list[Finding]:
    """Tolerances below the rounding of the start values, atol = 0 at zero above all: the run cannot begin."""
    if record.complete or not record.atol_given or n_steps(record) > 0:
        return []
    size = np.abs(record.first)
    chosen = np.flatnonzero(record.rtol * size + record.atol <= np.maximum(EPS * size, 1e-200))
    if not len(chosen):
        return []
    names = tuple(record.states[i] for i in chosen)
    i = int(chosen[0])
    text = f"{names[0]}{record.place(names[0])} starts at {number(record.first[i])} with the absolute tolerance "
    text += f"{number(record.atol[i])}: no error is so small, and the run cannot begin."
    if len(names) > 1:
        text += f" The same holds for {listing(names[1:])}."
    usual = 0.01 * max(record.rtol, USUAL_RTOL) * (float(np.median(size[size > 0])) if np.any(size > 0) else 1.0)
    suggestion = f"give {names[0]} an atol of about {number(float(f'{usual:.1g}'))}, or leave atol out"
    return [make("tolerance", names, FAULT, 0.95, text, suggestion, 1.0)]


def _tight(record: RunRecord) -> list[Finding]:
    relative, heavy = _relative(record), burden(record)
    measured = np.isfinite(relative)
    others = _median_of_others(relative, measured)
    tight = measured & (relative < TIGHT * (record.rtol if record.rtol > 0 else 1e-8))
    # Without a nominal the default atol is tight for every large state; that alone is no fault of the user's.
    chosen_one_by_one = record.atol_given and not np.all(record.atol == record.atol[0])
    outlier = tight & (relative <= OUTLIER * others) & chosen_one_by_one
    # Of the steps that were looked at, which are not all in large models.
    looked = max(float(np.sum(record.limits)), 1.0)
    close = np.zeros(len(relative)) if record.near_zero is None else record.near_zero / looked
    sure = tight & (close >= np.where(relative <= 5.0 * OUTLIER * others, 0.05, 0.15))
    if record.near_zero is None and record.atol_given:
        sure |= measured & (relative < VERY_TIGHT * record.rtol) & (heavy >= 0.5)
    # A state that is nothing but rounding noise, with an atol that makes the noise count.
    noise = measured & (record.largest <= 1e-9 * np.median(record.largest)) & (heavy >= 0.4)
    noise &= record.atol <= 1e-4 * np.median(record.atol)
    through = np.zeros(len(relative), dtype=bool)
    if record.crossing is not None and record.atol_given:  # at zero nothing but atol is left, however short the time
        through = measured & (relative < VERY_TIGHT * record.rtol) & record.crossing
    accused = outlier | sure | noise | through
    if not record.atol_given:  # the nominal is to blame for the atol, and said so by its own rule
        nominal = np.abs(record.nominal)
        known = np.isfinite(nominal) & (nominal > 0)
        accused &= ~(known & (record.largest >= NOMINAL_SMALL * np.where(known, nominal, 1.0)))
    if not accused.any():
        return []
    share = np.maximum(heavy, close)
    order = np.flatnonzero(accused)
    order = order[np.argsort(-(share[order] - 0.01 * np.log10(relative[order] + 1e-300)), kind="stable")]
    seen = np.ones(len(relative), dtype=bool) if record.near_zero is None else close >= 0.005
    # Without any atol the run ends where the state is zero.
    deadly = through & (record.atol <= 1e-200) & (not record.complete)
    costly = [int(i) for i in order if (share[i] >= 0.2 and seen[i]) or sure[i] or noise[i] or deadly[i]]
    idle = [int(i) for i in order if int(i) not in costly]
    if costly and not chosen_one_by_one:  # one atol for all is one fault
        costly, idle = costly + idle, []
    found = []
    if costly:
        found.append(_tight_finding(record, costly, relative, share, FAULT))
    if idle:
        found.append(_tight_finding(record, idle, relative, share, TROUBLE))
    return found


def _tight_finding(
    record: RunRecord, order: list[int], relative: FloatArray, share: FloatArray, rank: float
) -> Finding:
    names = tuple(record.states[i] for i in order)
    i = order[0]
    largest, atol = float(record.largest[i]), float(record.atol[i])
    text = f"{names[0]}{record.place(names[0])} has the absolute tolerance {number(atol)}" + (
        f", {number(relative[i])} of its largest value {number(largest)}" if atol > 0 else ""
    )
    if len(record.states) > 1:
        other = float(_median_of_others(relative, np.isfinite(relative))[i])
        if np.isfinite(other) and relative[i] < 0.1 * other:
            text += f"; for the other states it is {number(other)}"
    steps = float(shares(record.limits)[i])
    text += f". It limits {percent(steps)} of the steps"
    fails = int(record.error_fails[i])
    text += f" and fails {fails} error tests." if fails > 1 else "."
    if record.near_zero is not None and record.near_zero[i] > 0:
        part = float(record.near_zero[i]) / max(float(record.limits[i]), 1.0)
        text += f" In {percent(min(part, 1.0))} of these steps it is close to zero, where only atol counts."
    elif record.crossing is not None and record.crossing[i]:
        text += " It passes through zero, where only atol counts."
    if rank == TROUBLE:
        text += " It did not cost much in this run."
    if len(names) > 1:
        text += f" Also {listing(names[1:])}."
    if record.rtol > 0:
        usual = 0.01 * record.rtol * largest
        if largest <= 1e-9 * float(np.median(record.largest)):  # noise: its own size is no measure
            usual = float(np.median(record.atol))
    else:
        usual = float(np.median(record.atol))
    if record.atol_given:
        one = len(record.states) == 1 or (len(names) > 1 and np.all(record.atol == record.atol[0]))
        suggestion = f"raise {'atol' if one else f'the atol of {names[0]}'} to about {rough(float(f'{usual:.1g}'))}"
    else:
        suggestion = f"enter nominal = {number(_round_size(largest))} for {names[0]}, which its default atol follows"
    weight = 0.4 + 0.55 * float(share[i]) if rank == FAULT else 0.3
    return make("tolerance", names, rank, weight, text, suggestion, float(share[i]))


def _median_of_others(values: FloatArray, valid: NDArray[np.bool_]) -> FloatArray:
    """Per state the median of the other valid values; the own value if there is no other, which is never reported."""
    pool = np.sort(values[valid])
    n = len(pool)
    if n <= 1:
        return np.array(values)
    # The sorted pool without the own place: what lies behind it moves up by one.
    own = np.searchsorted(pool, values)
    low, high = (n - 2) // 2, (n - 1) // 2
    return np.asarray(0.5 * (pool[low + (own <= low)] + pool[high + (own <= high)]), dtype=np.float64)


def _loose(record: RunRecord) -> list[Finding]:
    """States whose error is below atol whatever they do."""
    relative = _relative(record)
    differential = np.array([name not in record.algebraic for name in record.states])
    nominal = np.abs(record.nominal)
    entered = np.isfinite(nominal) & (nominal > 0)
    blamed = entered & (record.largest * NOMINAL_LARGE <= np.where(entered, nominal, 0.0)) & (not record.atol_given)
    chosen = (relative > LOOSE) & (record.largest > 1e-14) & differential & ~blamed
    if not chosen.any():
        return []
    order = np.flatnonzero(chosen)
    order = order[np.argsort(-relative[order] - 1e9 * (record.first[order] != 0), kind="stable")]
    names = tuple(record.states[i] for i in order)
    i = int(order[0])
    text = (
        f"{names[0]}{record.place(names[0])} is never larger than {number(record.largest[i])}, with an absolute "
        f"tolerance of {number(record.atol[i])}: its error is not controlled."
    )
    if len(names) > 1:
        text += f" The same holds for {listing(names[1:])}."
    size = _round_size(float(record.largest[i]))
    if record.atol_given:
        suggestion = f"if {names[0]} matters, give it an atol of about {number(0.01 * max(record.rtol, 1e-6) * size)}"
    else:
        suggestion = f"if {names[0]} matters, enter nominal = {number(size)} for it"
    return [make("tolerance", names, TROUBLE, 0.2, text, suggestion)]


def _rtol(record: RunRecord) -> list[Finding]:
    relative = _relative(record)
    moved = np.isfinite(relative)
    if not moved.any():
        return []
    # The default atol follows rtol; a given one can be what counts.
    of_atol = float(np.median(relative[moved])) if record.atol_given else 0.0
    effective = max(record.rtol + of_atol, 1e-17)
    if effective <= RTOL_TIGHT:
        order = np.asarray(record.steps.get("order", ()), dtype=np.float64)
        p = float(np.mean(order)) if len(order) else 4.0
        # Steps go like tolerance^(-1/(p+1)); BDF would also take a lower order at the usual tolerance: cautious.
        saved = 1.0 - (effective / USUAL_RTOL) ** (1.0 / (p + 1.0))
        name = "rtol" if record.rtol > 0 else "atol"
        value = record.rtol if name == "rtol" else float(np.median(record.atol))
        text = (
            f"{name} = {number(value)} requires {-np.log10(effective):.0f} correct digits. At {number(USUAL_RTOL)} the "
            f"run would need about {percent(1.0 - saved)} of its {number(n_steps(record))} steps."
        )
        if effective < 1e-13:
            text += " Rounding errors alone are hardly smaller."
        suggestion = f"{name} = {number(1e-6 if name == 'rtol' else value * 1e-6 / effective)}, unless you need more"
        weight = 0.25 + 0.4 * saved + (0.2 if effective < 5e-12 else 0.0)
        return [make("tolerance", (name,), FAULT, weight, text, suggestion, saved)]
    if record.rtol > RTOL_LOOSE:
        text = f"rtol = {number(record.rtol)} allows errors of {percent(record.rtol)} in every step."
        return [make("tolerance", ("rtol",), TROUBLE, 0.3, text, "rtol = 1e-4, and compare the results")]
    return []
