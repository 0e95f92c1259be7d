"""How good is a Jacobian taken by differences, and whose fault is it if not?

Error of an entry, relative to its row's largest entry in units of nominal change:
    e_ij = |J_ij - R_ij| s_j / max_k |R_ik| s_k,      s_j = max(|x_j|, nominal_j)
bad above 1e-3, poor above 1e-6. The reference R is the model's exact Jacobian, else its directional derivatives, else
an extrapolation of central differences (survey.py) whose own estimated error is subtracted before anything is flagged.

Increment: (f(x + sigma) - f(x)) / sigma is off by |f''| sigma / 2 (too large an increment) and by 2 noise / sigma (too
small; A. Renström's thesis, 2024, equation 4.4). With A, B the largest |f''_i| / 2 and 2 noise_i of the column, each in
the units above, the best increment is sqrt(B/A) and leaves the error 2 sqrt(A B). The curvature scale is
sqrt(|f| / |f''|) of the same rows (theorem 4.3.1), so that the best increment is near 2 sqrt(U) times it.

Sterbenz' condition (P. H. Sterbenz, Floating-Point Computation, 1974; thesis, corollary 3.0.5 and figures 6.4-6.11):
x and x + sigma of one sign and within a factor of two, else the difference of the two need not be exact. At x = 0 it is
exact by itself. Whether (x + sigma) - x == sigma is checked as well: the solver divides by sigma.

Cost: 21 evaluations of f for each column as a rule, 29 at most, and one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from pliant.errors import ArgumentError
from pliant.jacobian.evaluation import (
    BoolArray,
    CountedFunction,
    FloatArray,
    U,
    VectorFunction,
    names_of,
    point_and_scale,
    vector,
)
from pliant.jacobian.judgement import Column, Entry, Quality, QualityFinding, ranked
from pliant.jacobian.survey import Line, Survey, survey

__all__ = ["Column", "Entry", "Quality", "QualityFinding", "examine"]

BAD, POOR = 1e-3, 1e-6
NOISY = 1e3  # noise beyond so many roundings is worth a word
GAIN = 10.0  # an increment is to blame only if another would be so much better


@dataclass(frozen=True, eq=False)
class Material:
    """Everything that was measured; matrices have a row for each f_i and a column for each x_j."""

    names: tuple[str, ...]
    row_names: tuple[str, ...]
    x: FloatArray
    increments: FloatArray
    differenced: FloatArray
    reference: FloatArray
    source: str
    scale: FloatArray
    size: FloatArray  # of each row: max_k |R_ik| s_k
    doubt: FloatArray  # error of the reference, in the units of the errors
    errors: FloatArray  # e_ij
    surveys: Sequence[Survey]
    natural: FloatArray  # rounding to be expected in each value

    def weigh(self, column: FloatArray, j: int) -> FloatArray:
        """A column of derivatives or their errors in units of the row's largest entry."""
        with np.errstate(all="ignore"):
            weighed = np.abs(column) * self.scale[j] / self.size
        return np.where(np.isnan(weighed), 0.0, weighed)

    def excess(self, j: int) -> FloatArray:
        """Errors of the column beyond the doubt about the reference."""
        with np.errstate(invalid="ignore"):
            return np.nan_to_num(np.maximum(self.errors[:, j] - self.doubt[:, j], 0.0), nan=0.0)


def examine(
    f: VectorFunction,
    x: ArrayLike,
    increments: ArrayLike,
    differenced: object,
    *,
    names: Sequence[str] | None = None,
    row_names: Sequence[str] | None = None,
    exact: object = None,
    directional: object = None,
    scale: ArrayLike | None = None,
    rtol: float = 1e-6,
    atol: ArrayLike = 0.0,
) -> Quality:
    """Compare `differenced`, the Jacobian of f at x that `increments` gave, with the best reference at hand.

    The increments are those of forward (or backward) differences; central ones are judged by their entries only.
    exact, directional: matrices (arrays or sparse), directional also a function v -> J v. scale: max(|x_j|, nominal_j);
    where it is 0 or NaN (or None) |x_j|, and for a state not above its atol atol/rtol, the size where both tolerances
    weigh alike, or 1 without atol.

    >>> report = examine(lambda x: x**2, [2.0], [0.5], [[4.5]], names=["level"])
    >>> report.columns[0].verdict, report.findings[0].names
    ('too large', ('level',))
    """
    point = np.atleast_1d(np.array(x, dtype=np.float64))
    n = point.size
    usual = usual_sizes(point, rtol, atol)
    wanted = usual if scale is None else vector(scale, n, "scale")
    point, sizes = point_and_scale(point, np.where((wanted == 0.0) | np.isnan(wanted), usual, wanted))
    evaluate = CountedFunction(f)
    values = evaluate(point)
    state_names = names_of(names, n, "x")
    if values is None:
        return undefined(state_names, evaluate.count)
    steps = vector(increments, n, "increments")
    given = matrix(differenced, (values.size, n), "differenced")
    rows = names_of(row_names if row_names is not None or values.size != n else names, values.size, "f")
    surveys = [survey(Line(evaluate, point, j, values), float(steps[j]), float(sizes[j])) for j in range(n)]
    own = np.array([found.derivative for found in surveys]).T.reshape(values.size, n)
    own_error = np.array([own_doubt(found) for found in surveys]).T.reshape(values.size, n)
    sources = {
        "exact": None if exact is None else matrix(exact, own.shape, "exact"),
        "directional": None if directional is None else directions(directional, own.shape),
    }
    source, reference = next(((k, m) for k, m in sources.items() if m is not None), ("extrapolated", own))
    if source == "exact":
        reference = trusted(reference, own, given, own_error)
    swing = np.array([found.swing for found in surveys]).T.reshape(values.size, n).max(axis=1, initial=0.0)
    size = row_sizes(reference, own_error if source == "extrapolated" else np.zeros(own.shape), sizes, swing)
    with np.errstate(all="ignore"):
        errors = np.abs(given - reference) * sizes / size[:, None]
        doubt = own_error * sizes / size[:, None] if source == "extrapolated" else np.zeros(own.shape)
        terms = np.fmax.reduce(np.abs(reference * point), axis=1, initial=0.0)
        natural = U * np.fmax(np.abs(values), np.where(terms > 0, terms, np.nan_to_num(size)))
    material = Material(
        state_names, rows, point, steps, given, reference, source, sizes, size, doubt, errors, surveys, natural
    )
    columns = tuple(column_of(material, j) for j in range(n))
    findings = [finding for j in range(n) for finding in findings_of(material, columns[j], j)]
    for name, other in sources.items():
        if other is not None:
            findings += disagreements(material, name, other, own, own_error)
    return Quality(
        entries=entries_of(material),
        columns=columns,
        findings=ranked(findings),
        source=source,
        error=max((column.error for column in columns), default=0.0),
        evaluations=evaluate.count,
    )


def trusted(exact: FloatArray, own: FloatArray, given: FloatArray, own_error: FloatArray) -> FloatArray:
    """`exact`, but `own` where the differences agree with that and not with it: the derivative is wrong."""
    with np.errstate(all="ignore"):
        off = np.abs(exact - own)
        wrong = (off > 100.0 * own_error) & (np.abs(given - own) < 0.01 * off)
    return np.where(wrong, own, exact)


# ------------------------------------------------------------------------------------------------------ material


def usual_sizes(x: FloatArray, rtol: float, atol: ArrayLike) -> FloatArray:
    """|x_j| above the absolute tolerance, else atol/rtol, else 1."""
    absolute = vector(atol, len(x), "atol")
    if not rtol > 0 or (absolute < 0).any():
        raise ArgumentError("tolerances must be positive", hint="give rtol > 0 and atol >= 0, or the scale itself")
    below = np.where(absolute > 0.0, absolute / rtol, 1.0)
    return np.where(np.abs(x) > absolute, np.abs(x), below)


def matrix(given: object, shape: tuple[int, int], what: str) -> FloatArray:
    """A dense copy, with its shape checked."""
    from scipy.sparse import issparse  # slow to load

    dense = np.array(given.toarray() if issparse(given) else given, dtype=np.float64)  # type: ignore[attr-defined]
    if dense.shape != shape:
        raise ArgumentError(f"{what} has shape {dense.shape}", hint=f"f and x call for {shape}")
    return dense


def directions(given: object, shape: tuple[int, int]) -> FloatArray:
    """The matrix of directional derivatives, column by column if they are given as a function v -> J v."""
    if not callable(given):
        return matrix(given, shape, "directional")
    along: Callable[[FloatArray], ArrayLike] = given
    columns = [np.array(along(unit), dtype=np.float64) for unit in np.eye(shape[1])]
    return matrix(np.array(columns).T.reshape(shape), shape, "directional")


def own_doubt(found: Survey) -> FloatArray:
    """At a kink every slope between the two sides is as good as another."""
    return np.where(found.kink, np.fmax(found.error, np.abs(found.right - found.left)), found.error)


def row_sizes(reference: FloatArray, doubt: FloatArray, scale: FloatArray, swing: FloatArray) -> FloatArray:
    """max_k |R_ik| s_k. A row that is zero within rounding has no such measure: the changes of the value on the
    ladder, which reaches an eighth of the scale, stand in for it; NaN if the value never changed.
    """
    size = np.where(np.isfinite(reference), np.abs(reference * scale), 0.0).max(axis=1, initial=0.0)
    with np.errstate(invalid="ignore"):
        unsure = np.where(np.isfinite(doubt), doubt * scale, 0.0).max(axis=1, initial=0.0)
    size = np.where(size > 10 * unsure, size, np.maximum(size, swing))
    return np.where(size > 0.0, size, math.nan)


def undefined(names: tuple[str, ...], evaluations: int) -> Quality:
    """f refuses the point itself: nothing can be compared."""
    finding = QualityFinding(
        "refused",
        "bad",
        names,
        (),
        math.inf,
        "f cannot be evaluated at the point itself",
        "examine a point of the simulation, after its start values have been found",
    )
    return Quality((), columns=(), findings=(finding,), source="none", error=math.nan, evaluations=evaluations)


# ------------------------------------------------------------------------------------------------------- columns


def column_of(material: Material, j: int) -> Column:
    """Increment against curvature and noise, and the verdict."""
    found, step = material.surveys[j], float(material.increments[j])
    rounding = 0.5 * U * np.abs(material.reference[:, j]) * material.scale[j]  # where f = 0 showed no noise at all
    trembling = np.where(found.noise > 0, found.noise, np.nan_to_num(rounding))
    bend, shake = material.weigh(found.second / 2, j), material.weigh(2 * trembling, j)
    A, B = float(bend.max(initial=0.0)), float(shake.max(initial=0.0))
    error = float(material.excess(j).max(initial=0.0))
    if error > POOR and math.isfinite(step) and step != 0.0:  # where f'' = 0 the truncation error has higher order
        A = max(A, (error - 3 * (B / abs(step) + misfit(float(material.x[j]), step))) / abs(step))
    room = max(abs(float(material.x[j])), float(material.scale[j]))
    least = 16 * float(np.spacing(abs(material.x[j])))  # below, the state can hardly take it up
    best = max(min(math.sqrt(B / A), room), least) if A > 0 else room
    noise_row = int(shake.argmax()) if shake.size else 0
    noise = float(found.noise[noise_row]) if shake.size else 0.0
    natural = max(float(material.natural[noise_row]), U * float(found.swing[noise_row])) if shake.size else 0.0
    size = material.weigh(np.fmax(found.noise / U, material.natural / U), j)
    curvature = math.sqrt(float(size.max()) / (2 * A)) if A > 0 else math.inf
    return Column(
        name=material.names[j],
        value=float(material.x[j]),
        increment=step,
        best_increment=best,
        curvature=curvature,
        noise=noise,
        noise_ratio=noise / natural if natural > 0 else 0.0,
        error=error,
        sterbenz=sterbenz(float(material.x[j]), step),
        representable=misfit(float(material.x[j]), step) == 0.0,
        verdict=verdict(material, j, A, B, best),
    )


def verdict(material: Material, j: int, A: float, B: float, best: float) -> str:
    """One word for the column; the gravest cause first."""
    found, step = material.surveys[j], abs(float(material.increments[j]))
    if not (math.isfinite(step) and step > 0.0):
        return "no increment"
    if found.forward_refused:
        return "refused" if found.backward_refused else "wrong side"
    if (found.jump > 0).any():
        return "jump"
    if found.steep.any():
        return "no slope"
    if (material.weigh(np.where(found.kink, found.right - found.left, 0.0), j) > BAD).any():
        return "kink"
    error = float(material.excess(j).max(initial=0.0))
    if error <= POOR:
        return "fine"
    if not_reproduced(material, j).any():
        return "not reproduced"
    least = A * best + B / best if best > 0 else 0.0
    if error > GAIN * least:
        lost = misfit(float(material.x[j]), step)
        return "too large" if A * step > B / step + lost else "too small"
    usual = float(material.weigh(material.natural, j).max(initial=0.0))
    return "noisy" if NOISY * usual < B else "limit"


def not_reproduced(material: Material, j: int) -> BoolArray:
    """Rows whose given entry is off, but not because of the increment: a plain difference gives something else."""
    found = material.surveys[j]
    gap = material.weigh(material.differenced[:, j] - found.difference, j)
    step = abs(float(material.increments[j]))
    with np.errstate(all="ignore"):
        shake = material.weigh(20 * found.noise / step, j)
    over = material.excess(j)
    return np.asarray((over > POOR) & (gap > POOR) & (gap > 0.5 * over) & (gap > shake), dtype=bool)


def sterbenz(x: float, step: float) -> bool:
    """x and x + sigma have one sign and lie within a factor of two of each other; nothing is asked at x = 0."""
    moved = x + step
    return x == 0.0 or (moved * x > 0.0 and 0.5 * abs(x) <= abs(moved) <= 2.0 * abs(x))


def misfit(x: float, step: float) -> float:
    """Relative error of dividing by sigma, though the state moved by (x + sigma) - x."""
    if not (math.isfinite(step) and step != 0.0):
        return 0.0
    return abs(((x + step) - x) - step) / abs(step)


# ------------------------------------------------------------------------------------------------------ findings


def entries_of(material: Material) -> tuple[Entry, ...]:
    """Entries worse than poor, the worst first."""
    with np.errstate(invalid="ignore"):
        over = np.nan_to_num(np.maximum(material.errors - material.doubt, 0.0), nan=0.0)
    rows, cols = np.nonzero(over > POOR)
    order = np.argsort(-over[rows, cols], kind="stable")
    return tuple(
        Entry(
            row=material.row_names[i],
            column=material.names[j],
            value=float(material.differenced[i, j]),
            reference=float(material.reference[i, j]),
            error=float(material.errors[i, j]),
            grade="bad" if over[i, j] > BAD else "poor",
        )
        for i, j in zip(rows[order].tolist(), cols[order].tolist(), strict=True)
    )


def findings_of(material: Material, column: Column, j: int) -> list[QualityFinding]:
    """Everything to be said about one state."""
    found = material.surveys[j]
    made = [*increment_findings(material, column, j), *floating_findings(column)]
    for size, side in ((found.jump, "within the increment"), (found.jump_behind, "on the other side, within")):
        rows = np.flatnonzero(size > 0)
        if rows.size:
            worst = float(size.max())
            made.append(
                QualityFinding(
                    "jump",
                    "bad" if size is found.jump else "poor",
                    (column.name,),
                    name_rows(material, rows),
                    worst,
                    f"f jumps by {worst:.3g} {side} {column.increment:.3g}, at {column.name} = {column.value:.6g}",
                    "make the change an event, or smooth it: no increment gives a derivative here",
                )
            )
    rows = np.flatnonzero(found.steep)
    if rows.size:
        made.append(
            QualityFinding(
                "no slope",
                "bad",
                (column.name,),
                name_rows(material, rows),
                math.inf,
                f"the slope along {column.name} grows without limit at {column.value:.6g}, like that of a root at zero",
                "make the formula linear close to this value",
            )
        )
    apart = material.weigh(np.where(found.kink, found.right - found.left, 0.0), j)
    rows = np.flatnonzero(apart > BAD)
    if rows.size:
        i = int(apart.argmax())
        made.append(
            QualityFinding(
                "kink",
                "poor",
                (column.name,),
                name_rows(material, rows),
                float(apart[i]),
                f"the slope along {column.name} is {found.left[i]:.4g} below and {found.right[i]:.4g} above "
                f"{column.value:.6g}",
                "nothing to do if the state only passes; if it rests here, smooth the kink or make it an event",
            )
        )
    return made


def name_rows(material: Material, rows: np.ndarray) -> tuple[str, ...]:
    """Names of these values."""
    return tuple(material.row_names[i] for i in rows.tolist())


ADVICE = {
    "too large": "truncation: f bends on the scale of {curvature:.3g}; use about {best:.3g} (give a smaller nominal "
    "value, or curvature={curvature:.3g} for this state)",
    "too small": "rounding or noise: use about {best:.3g} (enter a nominal value, or curvature={curvature:.3g})",
    "not reproduced": "a difference with this increment gives something else: the pattern lacks an entry (verify it), "
    "or the Jacobian belongs to another point",
    "noisy": "no increment helps: tighten the tolerances of loops inside f or smooth its data; {best:.3g} is the best",
    "limit": "forward differences give no more here: use exact or directional derivatives, or central differences",
}


def increment_findings(material: Material, column: Column, j: int) -> list[QualityFinding]:
    """Increments that are missing, refused, too large or too small; noise."""
    made = []
    found, name = material.surveys[j], column.name
    over = material.excess(j)
    rows = name_rows(material, np.flatnonzero(over > POOR))
    if column.verdict == "no increment":
        text = f"the increment of {name} is {column.increment:g}"
        made.append(
            QualityFinding("increment", "bad", (name,), (), math.inf, text, f"use about {column.best_increment:.3g}")
        )
    elif column.verdict in ADVICE:
        grade = "bad" if column.error > BAD else "poor"
        text = f"{name}: entries off by up to {column.error:.2g}, increment {column.increment:.3g} is {column.verdict}"
        if column.verdict in ("not reproduced", "noisy", "limit"):
            text = f"{name}: entries off by up to {column.error:.2g}, not because of its increment"
        advice = ADVICE[column.verdict].format(best=column.best_increment, curvature=column.curvature)
        kind = "increment" if column.verdict in ("too large", "too small") else column.verdict
        made.append(QualityFinding(kind, grade, (name,), rows, column.error, text, advice))
    if found.forward_refused or found.backward_refused:
        both = found.forward_refused and found.backward_refused
        where = "on both sides of" if both else "beyond" if found.forward_refused else "on the other side of"
        grade = "bad" if found.forward_refused else "note"
        advice = (
            "the point has no neighbours: check the bounds" if both else "give the bound as min or max of the state"
        )
        text = f"f is undefined {where} {name} = {column.value:.6g}, seen from its increment {column.increment:.3g}"
        made.append(QualityFinding("refused", grade, (name,), (), math.inf if both else 1.0, text, advice))
    loud = column.noise_ratio > NOISY and float(material.weigh(found.noise, j).max(initial=0.0)) > NOISY * U
    if loud and column.verdict != "noisy":
        text = f"f carries noise of {column.noise:.2g} along {name}, {column.noise_ratio:.2g} times its rounding"
        advice = "tighten loops inside f or smooth its data, or keep the increments as large as they are"
        made.append(QualityFinding("noise", "note", (name,), (), column.noise_ratio, text, advice))
    return made


def floating_findings(column: Column) -> list[QualityFinding]:
    """Sterbenz' condition, and increments that the state cannot take up."""
    made = []
    x, step, name = column.value, column.increment, column.name
    lost = misfit(x, step)
    if math.isfinite(step) and step != 0.0 and not column.sterbenz:
        how = "changes the sign of" if (x + step) * x <= 0.0 else "more than doubles or halves"
        exactly = "still exact" if lost == 0.0 else f"inexact by {lost:.1g}"
        text = f"Sterbenz' condition is broken: increment {step:.3g} {how} {name} = {x:.6g} (difference {exactly})"
        advice = "give the increment the sign of the state and at most its size, if the state is not just passing zero"
        made.append(
            QualityFinding("sterbenz", "note" if lost <= POOR else "poor", (name,), (), abs(step / x), text, advice)
        )
    if lost > POOR:
        text = f"{name} = {x:.6g} moves by {(x + step) - x:.6g} instead of {step:.6g}: a relative error of {lost:.1g}"
        grade = "bad" if lost > BAD else "poor"
        made.append(
            QualityFinding(
                "representable", grade, (name,), (), lost, text, "divide by (x + sigma) - x instead of sigma"
            )
        )
    return made


def disagreements(
    material: Material, source: str, other: FloatArray, own: FloatArray, own_error: FloatArray
) -> list[QualityFinding]:
    """Entries where a source of derivatives contradicts f itself: the derivative is wrong, not the difference."""
    other_size = np.nan_to_num(np.abs(other * material.scale)).max(axis=1, initial=0.0)
    with np.errstate(all="ignore"):
        weight = material.scale / row_sizes(own, own_error, material.scale, other_size)[:, None]
        over = np.nan_to_num((np.abs(other - own) - own_error) * weight, nan=0.0, posinf=0.0, neginf=0.0)
    over = np.where(np.isfinite(own_error), over, 0.0)
    made = []
    for j in np.flatnonzero(over.max(axis=0, initial=0.0) > BAD).tolist():
        i = int(over[:, j].argmax())
        row, name = material.row_names[i], material.names[j]
        text = f"the {source} derivative of {row} by {name} is {other[i, j]:.6g}, f itself says {own[i, j]:.6g}"
        rows = name_rows(material, np.flatnonzero(over[:, j] > BAD))
        advice = f"correct the {source} derivative, or let pliant take differences"
        made.append(QualityFinding("derivative", "bad", (name,), rows, float(over[i, j]), text, advice))
    return made
