"""The numbers behind the page of a plan, as plain lists that JSON can carry: thinned, rounded, never NaN or infinite.

    eigenvalues    1 - Re z and Im z with five digits, so that those near z = 1 keep their distance to it
    curves         whole numbers 0 .. 9999 between the lowest and highest value, as differences from point to point
    errors         of each stretch of time the value of largest modulus, so that thinning hides no peak
    places         row * n + column, ascending, as differences

Sources: d_S, d_1, d_2 and d_r over time are figure 1 of T. Loderer, V. Heuveline, EMCL preprint 2017-02; printed and
corrected formulas are those of :mod:`criteria`. What does not fit (many states, many scenarios) is left out by size of
error, the states of the largest errors stay.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from pliant.errors import PliantError
from pliant.realtime.evidence.accuracy import AccurateRun
from pliant.realtime.sparsing import criteria
from pliant.realtime.sparsing.accept import Checker
from pliant.realtime.sparsing.bias import predicted_error
from pliant.realtime.sparsing.elimination import Elimination
from pliant.realtime.sparsing.linearise import Matrix

if TYPE_CHECKING:
    from pliant.realtime.plan import Plan

Data = dict[str, Any]
Places = NDArray[np.intp]
Spectrum = NDArray[np.complex128]
Spectra = list[tuple[Spectrum, Spectrum | None]]  # before, after; partners at the same place

POINTS, FEWEST = 400, 60  # of a curve
CURVE_BUDGET = 300_000  # numbers of all curves together
EIGEN_BUDGET = 20_000  # eigenvalues of all linearisations together
EIGEN_POINTS = 120
CRITERIA_BUDGET = 3e7  # n^3 of all linearisations whose criteria are computed
STEPS = 9999
IN_DF, IN_L, KEPT, FILL_FULL, FILL = 1, 2, 4, 8, 16  # what an entry is, added up


@dataclass(frozen=True, eq=False)
class Extras:
    """What a page may also show; each may be missing."""

    timing: Any = None  # minimum, median, p999, maximum, overruns, n_steps, deadline, histogram_*, notes
    code: Any = None  # operations, memory, style
    baselines: Sequence[Any] | None = None
    frontier: Any = None  # unit and rows


def number(value: Any, digits: int = 5) -> float | int | None:
    """A number of so many digits; None where it is not finite."""
    value = float(value)
    if not np.isfinite(value):
        return None
    short = float(f"{value:.{digits}g}")
    return int(short) if short.is_integer() and abs(short) < 1e6 else short


def numbers(values: Any, digits: int = 5) -> list[float | int | None]:
    """The same of a vector."""
    return [number(value, digits) for value in np.asarray(values, dtype=float).ravel()]


def differences(values: Any) -> list[int]:
    """Whole numbers as differences; the first one as it is."""
    given = np.asarray(values, dtype=np.int64)
    return [int(one) for one in np.diff(given, prepend=0)]


def page_data(plan: Plan, extras: Extras) -> Data:
    """Everything that the program of the page draws."""
    frame = plan.outcome.frame
    chosen = shown_points(plan)
    spectra = matched_spectra(plan, chosen)
    return {
        "name": plan.name,
        "names": list(frame.names),
        "units": units(plan),
        "scenarios": [one.scenario.name for one in plan.outcome.exact],
        "tolerance": number(100 * plan.outcome.request.rule.tolerance),
        "pattern": pattern_data(plan),
        "eigen": eigen_data(plan, chosen, spectra),
        "runs": run_data(plan),
        "bias": bias_data(plan),
        "criteria": criteria_data(plan, chosen, spectra),
        "windows": window_data(plan),
        "timing": timing_data(extras.timing),
    }


def units(plan: Plan) -> list[str]:
    """Units of the states as far as they are known."""
    known = plan.outcome.model.known.variables
    return [known[name].unit if name in known else "" for name in plan.names]


# ---------------------------------------------------------------------------------------------------- pattern


def pattern_data(plan: Plan) -> Data:
    """All entries of L - tau Df and of the factors, with and without the pattern."""
    o, frame = plan.outcome, plan.outcome.frame
    n = frame.n
    kinds: dict[int, int] = {}

    def add(place: int, kind: int) -> None:
        kinds[place] = kinds.get(place, 0) | kind

    entry_at = {int(i * n + j): k for k, (i, j) in enumerate(zip(frame.rows, frame.columns, strict=True))}
    for place, k in entry_at.items():
        add(place, IN_DF | (KEPT if o.mask[k] else 0))
    for i, j in np.argwhere(frame.mass != 0.0):
        add(int(i * n + j), IN_L)
    for found, kind in ((o.full, FILL_FULL), (o.elimination, FILL)):
        for i, j in found.fill:
            add(i * n + j, kind)
        for i, j in found.pivots:  # a pivot that the matrix itself does not have is written as an entry of zero
            add(i * n + j, 0)
    places = sorted(kinds)
    low, high = o.points.values.min(axis=0), o.points.values.max(axis=0)
    told: dict[str, int] = {}
    reasons = [told.setdefault(plan.reason(entry_at[one]), len(told)) for one in places if one in entry_at]
    order = [entry_at[one] for one in places if one in entry_at]
    return {
        "n": n,
        "places": differences(places),
        "kinds": [kinds[one] for one in places],
        "low": numbers(low[order], 4),
        "high": numbers(high[order], 4),
        "reasons": list(told),
        "reason": reasons,
        "full": _order(o.full),
        "sparsed": _order(o.elimination),
        "algebraic": [int(i) for i in np.flatnonzero(frame.algebraic)],
    }


def _order(found: Elimination) -> Data:
    return {"rows": [i for i, _ in found.pivots], "columns": [j for _, j in found.pivots]}


# ------------------------------------------------------------------------------------------------ eigenvalues


def shown_points(plan: Plan) -> Places:
    """Linearisations of the page: some of the exact runs, in order, evenly spread."""
    points = plan.outcome.points
    wanted = int(np.clip(EIGEN_BUDGET // max(plan.outcome.frame.n, 1), 8, EIGEN_POINTS))
    order = sorted(range(len(points)), key=lambda p: (points.origins[p].scenario, points.origins[p].step, p))
    chosen = np.unique(np.linspace(0, len(order) - 1, min(wanted, len(order))).round().astype(int))
    return np.array([order[k] for k in chosen], dtype=np.intp)


def matched_spectra(plan: Plan, chosen: Places) -> Spectra:
    """Eigenvalues before and after, partners at the same place; None where the step could not be solved."""
    points = plan.outcome.points
    checker = Checker(points, plan.outcome.request.rule)
    out: Spectra = []
    for p in chosen:
        before = np.asarray(points.eigenvalues[p], dtype=np.complex128)
        found = checker.spectrum(int(p), plan.outcome.states)
        if found is None:
            out.append((before, None))
            continue
        i, j = linear_sum_assignment(np.abs(before[:, None] - found[None, :]))
        after = np.empty_like(before)
        after[i] = found[j]
        out.append((before, after))
    return out


def eigen_data(plan: Plan, chosen: Places, spectra: Spectra) -> Data:
    """Eigenvalues of the shown linearisations; the page opens with the one of the largest change."""
    points, rule = plan.outcome.points, plan.outcome.request.rule
    limits = points.limits(rule.theta)
    worst, at = -1.0, 0
    shown = []
    for k, (p, (before, after)) in enumerate(zip(chosen, spectra, strict=True)):
        origin = points.origins[p]
        share = np.inf if after is None else float((np.abs(after - before) / limits[p]).max(initial=0.0))
        if share > worst:
            worst, at = share, k
        shown.append(
            {
                "scenario": origin.scenario,
                "time": number(origin.time, 6),
                "before": _complex(before),
                "after": None if after is None else _complex(after),
            }
        )
    return {"points": shown, "first": at, "theta": number(rule.theta), "slack": number(points.slack)}


def _complex(values: Spectrum) -> list[float | int | None]:
    """1 - Re z, Im z, 1 - Re z, Im z, ..."""
    return numbers(np.stack([1.0 - values.real, values.imag], axis=1), 5)


# ------------------------------------------------------------------------------------------------------- runs


def run_data(plan: Plan) -> Data:
    """Curves of the runs and of their errors, states of the largest errors first."""
    o, frame = plan.outcome, plan.outcome.frame
    n_runs = max(1, len(o.exact))
    shown = min(frame.n, max(1, CURVE_BUDGET // (5 * FEWEST * n_runs)))
    count = int(np.clip(CURVE_BUDGET // (5 * shown * n_runs), FEWEST, POINTS))
    order = np.argsort(-worst_of(plan.evidence.measured, frame.n), kind="stable")[:shown]
    return {
        "states": [int(i) for i in order],
        "ranges": numbers(frame.scale[order], 4),
        "errors": numbers(100 * worst_of(plan.evidence.measured, frame.n)[order], 3),
        "each": [_one_run(plan, k, order, count) for k in range(len(o.exact))],
    }


def _one_run(plan: Plan, k: int, order: Places, count: int) -> Data:
    o, frame = plan.outcome, plan.outcome.frame
    exact, masked = o.exact[k], o.masked[k]
    times = np.concatenate([[exact.scenario.start], exact.t])
    places = np.unique(np.linspace(0, len(times) - 1, min(count, len(times))).round().astype(int))
    accurate = accurate_run(plan, k)
    percent = 100.0 / frame.scale
    # a stretch begins at its shown point and ends before the next one
    measured = _peaks((masked.x - exact.x) * percent, places)
    predicted = _peaks(predicted_error(frame, exact, o.states) * percent, places)
    curves = []
    for i in order:
        runs = [exact.x[places, i], masked.x[places, i]]
        if accurate is not None:
            runs.append(accurate[places, i])
        curves.append([_coded(runs), _coded([measured[:, i], predicted[:, i]])])
    return {"times": numbers(times[places], 5), "accurate": accurate is not None, "curves": curves}


def accurate_run(plan: Plan, k: int) -> Matrix | None:
    """The accurate simulation, where the evidence has one."""
    judge = plan.outcome.judge
    if judge is None or plan.evidence.reference[k] is None:
        return None
    run = judge.runs[k]
    return run.x if isinstance(run, AccurateRun) else None


def _peaks(error: Matrix, places: Places) -> Matrix:
    """(len(places), n) the value of largest modulus of every stretch."""
    out = np.empty((len(places), error.shape[1]))
    ends = np.append(places[1:], len(error))
    size = np.abs(error)
    for k, (first, last) in enumerate(zip(places, ends, strict=True)):
        at = first + np.argmax(np.nan_to_num(size[first:last], nan=-1.0), axis=0)
        out[k] = error[at, np.arange(error.shape[1])]
    return out


def _coded(curves: list[Matrix]) -> list[Any]:
    """[lowest, highest, differences of whole numbers per curve]; a curve that is not finite is left out as null."""
    good = [one for one in curves if np.isfinite(one).all()]
    low = min((float(one.min()) for one in good), default=0.0)
    high = max((float(one.max()) for one in good), default=1.0)
    low, high = float(number(low, 6) or 0.0), float(number(high, 6) or 0.0)
    span = high - low if high > low else 1.0
    out: list[Any] = [number(low, 6), number(low + span, 6)]
    for one in curves:
        whole = np.rint(STEPS * (one - low) / span).astype(np.int64) if np.isfinite(one).all() else None
        out.append(None if whole is None else differences(whole))
    return out


def worst_of(errors: Sequence[Matrix | None], n: int) -> Matrix:
    """Largest over the scenarios, (n,); NaN where there is none."""
    known = [np.asarray(one, dtype=float) for one in errors if one is not None]
    return np.max(known, axis=0) if known else np.full(n, np.nan)


def bias_data(plan: Plan) -> Data:
    """Largest errors of every state in % of its range, over all scenarios."""
    e, n = plan.evidence, plan.outcome.frame.n
    return {
        name: numbers(100 * worst_of(given, n), 3)
        for name, given in (
            ("predicted", e.predicted),
            ("measured", e.measured),
            ("reference", e.reference),
            ("reference_exact", e.reference_exact),
        )
    }


# -------------------------------------------------------------------------------------------------- criteria


def criteria_data(plan: Plan, chosen: Places, spectra: Spectra) -> Data:
    """d_S, d_1, d_2 (printed and corrected) and the true d_r of the step's J at the shown linearisations."""
    o, frame = plan.outcome, plan.outcome.frame
    most = int(np.clip(CRITERIA_BUDGET // max(frame.n, 1) ** 3, 12, EIGEN_POINTS))
    kept = np.unique(np.linspace(0, len(chosen) - 1, min(most, len(chosen))).round().astype(int))
    tau = frame.tau
    makers: dict[str, Callable[[Matrix, criteria.GivenJacobian], float]] = {
        "d_S": lambda Df, J: criteria.d_S(frame.mass, Df, tau, J),
        "d_S printed": lambda Df, J: criteria.d_S(frame.mass, Df, tau, J, printed=True),
        "d_1": lambda Df, J: criteria.d_1(frame.mass, Df, tau, J),
        "d_2": lambda Df, J: criteria.d_2(frame.mass, Df, tau, J),
        "d_2 printed": lambda Df, J: criteria.d_2(frame.mass, Df, tau, J, printed=True),
    }
    series: dict[str, list[float | int | None]] = {name: [] for name in (*makers, "d_r")}
    for k in kept:
        p, (before, after) = int(chosen[k]), spectra[k]
        J = criteria.GivenJacobian(frame.masked(o.points.values[p], o.states))
        for name, make in makers.items():
            series[name].append(_criterion(make, o.points.Df[p], J))
        series["d_r"].append(None if after is None else number(np.abs(after - before).sum(), 4))
    origins = [o.points.origins[chosen[k]] for k in kept]
    return {
        "times": numbers([one.time for one in origins], 6),
        "scenario": [one.scenario for one in origins],
        "singular": bool(frame.algebraic.any()),
        "series": series,
    }


def _criterion(
    make: Callable[[Matrix, criteria.GivenJacobian], float], Df: Matrix, J: criteria.GivenJacobian
) -> float | int | None:
    try:
        with np.errstate(all="ignore"):
            return number(make(Df, J), 4)
    except (PliantError, np.linalg.LinAlgError):
        return None


# ---------------------------------------------------------------------------------------- windows and timing


def window_data(plan: Plan) -> Data | None:
    """Largest norm over the length of windows; None where there are none."""
    found = plan.evidence.window
    if found is None:
        return None
    return {
        "steps": [int(m) for m, _ in found.norms],
        "norms": numbers([value for _, value in found.norms], 4),
        "length": found.length,
    }


def timing_data(timing: Any) -> Data | None:
    """The histogram in microseconds."""
    if timing is None:
        return None
    edges = 1e6 * np.asarray(timing.histogram_edges, dtype=float)
    counts = np.asarray(timing.histogram_counts, dtype=float)
    if len(edges) != len(counts) + 1 or not np.isfinite(edges).all():
        edges, counts = np.zeros(1), np.zeros(0)
    marks = {name: getattr(timing, name, None) for name in ("minimum", "median", "p999", "maximum", "deadline")}
    return {
        "edges": numbers(edges, 5),
        "counts": numbers(counts, 7),
        **{name: None if value is None else number(1e6 * float(value), 4) for name, value in marks.items()},
    }
