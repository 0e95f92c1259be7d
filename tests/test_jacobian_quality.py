"""The quality check of Jacobians, against exact derivatives and against functions with one known fault each."""

from __future__ import annotations

import json
import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy.sparse import csc_matrix

from pliant.errors import ArgumentError, ModelEvaluationError
from pliant.jacobian.evaluation import CountedFunction
from pliant.jacobian.judgement import Column, Quality, QualityFinding
from pliant.jacobian.quality import examine, misfit, sterbenz
from pliant.jacobian.survey import Line, Survey, extrapolate, noise_of_table, survey

Array = np.ndarray
Function = Callable[[Array], Array]
ROOT_U = math.sqrt(np.finfo(float).eps)


def differences(f: Function, x: Array, increments: Array) -> Array:
    """Plain forward differences, column by column."""
    base = f(x.copy())
    found = np.empty((len(base), len(x)))
    for j, step in enumerate(increments):
        moved = x.copy()
        moved[j] += step
        found[:, j] = (f(moved) - base) / step
    return found


def check(f: Function, x: list[float] | Array, step: object, **options: object) -> Quality:
    """Examine forward differences with the given increments."""
    point = np.array(x, dtype=float)
    increments = np.broadcast_to(np.asarray(step, dtype=float), point.shape)
    return examine(f, point, increments, differences(f, point, increments), **options)  # type: ignore[arg-type]


def along(f: Function, x: float, increment: float, scale: float = 1.0) -> Survey:
    point = np.array([x])
    return survey(Line(CountedFunction(f), point, 0, np.array(f(point), dtype=float)), increment, scale)


def found_kind(report: Quality, kind: str) -> list[QualityFinding]:
    return [finding for finding in report.findings if finding.kind == kind]


def only(report: Quality) -> Column:
    assert len(report.columns) == 1
    return report.columns[0]


def hashed(x: Array) -> Array:
    """Numbers in [-1, 1] that depend on every bit of x, always the same for the same x."""
    bits = np.ascontiguousarray(x + 0.0).view(np.uint64).astype(object)
    return (
        np.array([((int(b) * 0x9E3779B97F4A7C15 ^ (int(b) >> 7) * 0xBF58476D1CE4E5B9) >> 11) % 65537 for b in bits])
        / (65537 / 2)
        - 1.0
    )


class Scaled:
    """f_i = F_i sum_j a_ij g_ij(x_j / s_j), smooth, with states of very different size; Jacobian by formula."""

    def __init__(self, seed: int, n: int = 12) -> None:
        rng = np.random.default_rng(seed)
        self.s = 10.0 ** rng.uniform(-12, 12, n)
        self.F = 10.0 ** rng.uniform(-12, 12, n)
        self.a = rng.normal(size=(n, n)) * (rng.random((n, n)) < 0.5)
        self.kind = rng.integers(0, 4, (n, n))
        self.y = rng.uniform(0.3, 2.0, n) * rng.choice((-1.0, 1.0), n)
        self.names = [f"state{j}" for j in range(n)]

    @property
    def x(self) -> Array:
        return self.s * self.y

    def f(self, x: Array) -> Array:
        y = x / self.s
        parts = np.choose(self.kind, [np.sin(y), np.exp(0.7 * y), y**3, y / (1 + y**2)])
        return self.F * (self.a * parts).sum(axis=1)

    def jacobian(self, x: Array) -> Array:
        y = x / self.s
        slopes = [np.cos(y), 0.7 * np.exp(0.7 * y), 3 * y**2, (1 - y**2) / (1 + y**2) ** 2]
        parts = np.choose(self.kind, slopes)
        return self.F[:, None] * self.a * parts / self.s


def weighed(difference: Array, exact: Array, scale: Array) -> Array:
    rows = np.abs(exact * scale).max(axis=1)
    return np.abs(difference) * scale / np.where(rows > 0, rows, 1.0)[:, None]


# ------------------------------------------------------------------------------------------------ smooth systems


@pytest.mark.parametrize("seed", range(20))
def test_badly_scaled_smooth_systems_are_fine_with_good_increments(seed: int) -> None:
    system = Scaled(seed)
    report = check(system.f, system.x, ROOT_U * system.x, names=system.names)
    assert report.ok, str(report)
    assert not report.entries, str(report)
    assert {column.verdict for column in report.columns} == {"fine"}
    assert report.source == "extrapolated"
    assert report.evaluations <= 1 + 25 * len(system.x)
    assert all(column.sterbenz for column in report.columns)


@pytest.mark.parametrize("seed", range(20))
def test_the_extrapolated_reference_is_far_better_than_what_it_judges(seed: int) -> None:
    system = Scaled(seed)
    x, exact = system.x, system.jacobian(system.x)
    evaluate = CountedFunction(system.f)
    surveys = [survey(Line(evaluate, x, j, system.f(x)), ROOT_U * x[j], abs(x[j])) for j in range(len(x))]
    own = np.array([found.derivative for found in surveys]).T
    doubt = np.array([found.error for found in surveys]).T
    off = weighed(own - exact, exact, np.abs(x))
    assert off.max() < 1e-8
    assert (off <= weighed(10 * doubt, exact, np.abs(x)) + 1e-13).all()  # the estimate of its error is honest
    assert weighed(doubt, exact, np.abs(x)).max() < 1e-7


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("factor", [1e-4, 1e5])
def test_one_bad_increment_is_named(seed: int, factor: float) -> None:
    system = Scaled(seed)
    x, exact = system.x, system.jacobian(system.x)
    # a column that matters and bends: the error of the bad increment must be there to be found
    j = next(j for j in range(len(x)) if (weighed(exact, exact, np.abs(x))[:, j] > 0.3).any())
    increments = ROOT_U * x
    increments[j] *= factor
    truth = weighed(differences(system.f, x, increments) - exact, exact, np.abs(x))
    assert truth[:, j].max() > 1e-6
    for options in ({}, {"exact": exact}):
        report = check(system.f, x, increments, names=system.names, **options)
        assert report.columns[j].verdict == ("too small" if factor < 1 else "too large"), str(report)
        assert report.worst is not None
        assert report.worst.names == (f"state{j}",)
        assert {entry.column for entry in report.entries} == {f"state{j}"}
        assert report.error == pytest.approx(truth[:, j].max(), rel=0.2)
        best = report.columns[j].best_increment
        repaired = increments.copy()
        repaired[j] = best
        left = weighed(differences(system.f, x, repaired) - exact, exact, np.abs(x))
        assert left[:, j].max() < 1e-6


def test_entries_hold_the_measure_of_the_issue() -> None:
    def f(x: Array) -> Array:
        return np.array([1e6 * x[0] + 1e-3 * x[1], x[1]])

    wrong = np.array([[1e6, 2e-3], [0.0, 1.0]])
    report = examine(f, [1.0, 1e4], [1e-8, 1e-4], wrong, names=["a", "b"], exact=[[1e6, 1e-3], [0.0, 1.0]])
    (entry,) = report.entries
    assert (entry.row, entry.column, entry.value, entry.reference, entry.grade) == ("a", "b", 2e-3, 1e-3, "poor")
    assert entry.error == pytest.approx(1e-3 * 1e4 / 1e6)  # |J - R| s_b / (|R_aa| s_a)
    assert report.ok


def test_states_at_zero_with_a_scale() -> None:
    def f(x: Array) -> Array:
        return np.array([np.sin(x[0] / 1e-9) + x[1] / 1e6, np.exp(x[1] / 1e6) - 1.0 + x[0] / 1e-9])

    scale = np.array([1e-9, 1e6])
    report = check(f, [0.0, 0.0], ROOT_U * scale, scale=scale)
    assert report.ok
    assert not report.entries
    again = check(f, [0.0, 0.0], ROOT_U * scale, rtol=1e-6, atol=1e-6 * scale)
    assert not again.entries
    assert all(column.verdict == "fine" for column in report.columns + again.columns)
    mixed = check(f, [0.0, 0.0], ROOT_U * scale, scale=[0.0, math.nan], rtol=1e-6, atol=1e-6 * scale)
    assert mixed == again  # no size given: the tolerances tell


@pytest.mark.parametrize("length", [1e-3, 1e-2, 1.0, 1e2])
def test_curvature_scale_and_best_increment(length: float) -> None:
    """f = 2 + sin(x / L): sqrt(|f| / |f''|) is L sqrt(|f| / |sin|)."""
    column = only(check(lambda x: 2.0 + np.sin(x / length), [1.0], ROOT_U))
    value, bend = 2.0 + math.sin(1 / length), abs(math.sin(1 / length)) / length**2
    size = max(value, abs(math.cos(1 / length) / length))
    assert column.curvature == pytest.approx(math.sqrt(size / bend), rel=0.1)
    assert 0.05 < column.best_increment / (ROOT_U * column.curvature) < 20


@pytest.mark.parametrize("length", [1e-6, 1e-4, 1e-2])
@pytest.mark.parametrize("x", [0.0, 0.3])
def test_functions_that_bend_on_a_scale_far_below_the_state(length: float, x: float) -> None:
    """Saturated differences (2 / 2h) must not be taken for the slope."""
    point = 1.0 + x * length
    exact = 1.0 / length / math.cosh(x) ** 2
    seen = along(lambda v: np.tanh((v - 1.0) / length), point, ROOT_U)
    assert seen.derivative[0] == pytest.approx(exact, rel=1e-3)
    assert abs(seen.derivative[0] - exact) < 10 * seen.error[0] + 1e-9 * exact
    assert only(check(lambda v: np.tanh((v - 1.0) / length), [point], 1e-3 * length)).error < 1e-3
    large = only(check(lambda v: np.tanh((v - 1.0) / length), [point], length))
    assert large.verdict == "too large"
    assert large.error == pytest.approx(abs(1 - (math.tanh(x + 1) - math.tanh(x)) / length / exact), rel=0.05)


def test_flow_through_an_orifice_at_a_small_pressure_difference() -> None:
    def f(p: Array) -> Array:
        return np.array([1e-6 * np.sign(p[0] - p[1]) * np.sqrt(abs(p[0] - p[1])), 1e-5 * p[1]])

    near = np.array([1e5 + 1.0, 1e5])
    exact = np.array([[5e-7, -5e-7], [0.0, 1e-5]])
    with_exact, without = (check(f, near, 1e-3, **k) for k in ({"exact": exact}, {}))
    assert without.error == pytest.approx(with_exact.error, rel=0.2)
    assert {column.verdict for column in with_exact.columns + without.columns} == {"too large"}
    equal = check(f, [1e5, 1e5], 1e-3)
    assert {column.verdict for column in equal.columns} == {"no slope"}


def test_logarithm_with_an_increment_larger_than_the_state() -> None:
    report = check(np.log, [1e-9], ROOT_U, scale=1.0)
    assert only(report).verdict == "too large"
    assert report.entries[0].reference == pytest.approx(1e9, rel=1e-6)
    assert report.error == pytest.approx(1 - math.log(1 + ROOT_U / 1e-9) / (ROOT_U / 1e-9), rel=0.01)


def test_a_row_without_slope_is_not_flagged_for_a_tiny_entry() -> None:
    """d(x^3)/dx = 0 at 0; the difference gives sigma^2, of no account against what a usual change of x does."""
    assert not check(lambda x: np.array([x[0] ** 3]), [0.0], ROOT_U, scale=1.0).entries
    assert check(lambda x: np.array([x[0] ** 3]), [0.0], 0.1, scale=1.0).entries


def test_cost_is_bounded_for_awkward_functions() -> None:
    def awkward(x: Array) -> Array:
        if x[0] < 0.0:
            raise ModelEvaluationError("negative")
        return np.array([np.sqrt(x[0]) + np.tanh(x[1] / 1e-7) + abs(x[2]) + 1e-7 * hashed(x)[2]])

    report = examine(awkward, [0.0, 0.0, 0.0], [1e-8, 1e-20, -1e-3], [[1.0, 1.0, 1.0]], scale=1.0)
    assert report.evaluations <= 1 + 29 * 3


# ------------------------------------------------------------------------------------------- the thesis' example


def van_der_pol(y: Array) -> Array:
    return np.array([1e6 * (y[0] - y[0] ** 3 / 3 - y[1]), y[0] / 1e6])


@pytest.mark.parametrize(("nominal", "good"), [(1e-3, True), (1.0, True), (1e3, True), (1e6, False), (1e7, False)])
@pytest.mark.parametrize("with_exact", [False, True])
def test_van_der_pol_with_nominal_values(nominal: float, good: bool, with_exact: bool) -> None:
    x = np.array([2.0, -2.0 / 3.0])
    scale = np.maximum(np.abs(x), nominal)
    exact = np.array([[1e6 * (1 - x[0] ** 2), -1e6], [1e-6, 0.0]]) if with_exact else None
    report = check(van_der_pol, x, ROOT_U * scale, names=["y1", "y2"], scale=scale, exact=exact)
    assert report.ok is good
    assert report.columns[1].verdict == "fine"  # f is linear along y2: no increment is too large
    if not good:
        assert report.worst is not None
        assert report.worst.names == ("y1",)
        assert report.columns[0].verdict == "too large"
        assert report.columns[0].best_increment < 1e-6
        assert [(entry.row, entry.column) for entry in report.entries] == [("y1", "y1")]
        assert "y1" in str(report)


# ---------------------------------------------------------------------------------------- faults of the function


@pytest.mark.parametrize("level", [1e-10, 1e-8, 1e-6])
def test_noise_is_measured_and_the_increment_called_too_small(level: float) -> None:
    def f(x: Array) -> Array:
        return np.sin(x) + level * hashed(x)

    column = only(check(f, [1.0], ROOT_U))
    assert column.verdict == "too small"
    assert level / 5 < column.noise < 2 * level  # uniform in [-1, 1]: 0.58 level
    assert column.noise_ratio > 1e3
    assert 0.2 < column.best_increment / (2 * math.sqrt(0.58 * level / math.sin(1.0))) < 5
    fitting = check(f, [1.0], column.best_increment)
    assert only(fitting).verdict in ("fine", "noisy")
    assert any("noise" in finding.text or finding.kind == "noisy" for finding in fitting.findings)


def test_noise_that_no_increment_can_beat() -> None:
    report = check(lambda x: np.sin(x) + 1e-5 * hashed(x), [1.0], 5e-3, exact=[[math.cos(1.0)]])
    assert only(report).verdict == "noisy"
    assert found_kind(report, "noisy")
    assert found_kind(report, "noisy")[0].names == ("x1",)


def test_absolute_value_at_zero_is_a_kink() -> None:
    report = check(lambda x: np.array([abs(x[0]) + x[1], x[1]]), [0.0, 1.0], ROOT_U, names=["gap", "speed"])
    assert [column.verdict for column in report.columns] == ["kink", "fine"]
    (finding,) = found_kind(report, "kink")
    assert finding.names == ("gap",)
    assert finding.rows == ("gap",)
    assert "-1" in finding.text
    seen = along(np.abs, 0.0, ROOT_U)
    assert (seen.left[0], seen.right[0]) == (pytest.approx(-1.0), pytest.approx(1.0))


@pytest.mark.parametrize("x", [1e-3, 0.5, -0.2])
def test_a_kink_elsewhere_is_not_reported(x: float) -> None:
    report = check(np.abs, [x], ROOT_U * x, scale=1.0)
    assert only(report).verdict == "fine"
    assert not report.findings


@pytest.mark.parametrize("slopes", [(-1.0, 1.0), (0.0, 1.0), (1.0, 3.0), (2.0, -1.0)])
@pytest.mark.parametrize("place", np.linspace(-0.9, 1.1, 21).round(2).tolist())
def test_a_kink_near_the_point_is_neither_noise_nor_a_jump(place: float, slopes: tuple[float, float]) -> None:
    kink = 1.0 + place * ROOT_U

    def f(x: Array) -> Array:
        return np.where(x < kink, slopes[0], slopes[1]) * (x - kink)

    report = check(f, [1.0], ROOT_U, names=["gap"])
    assert only(report).verdict in ("fine", "kink", "too large")
    assert {finding.kind for finding in report.findings} <= {"kink", "increment"}
    if 0.2 < place < 0.8:
        assert only(report).verdict != "fine"


@pytest.mark.parametrize("place", [0.0, 0.3, 0.7, 0.99])
@pytest.mark.parametrize("slope", [0.0, 1.0, 1e3])
def test_a_jump_within_the_increment(place: float, slope: float) -> None:
    step = ROOT_U

    def f(x: Array) -> Array:
        return np.array([slope * x[0] + 0.25 * (x[0] > 1.0 + place * step), x[0] - x[1]])

    report = check(f, [1.0, 2.0], step, names=["valve", "level"])
    assert [column.verdict for column in report.columns] == ["jump", "fine"]
    (finding,) = found_kind(report, "jump")
    assert finding is report.worst
    assert finding.names == ("valve",)
    assert finding.rows == ("valve",)
    assert finding.size == pytest.approx(0.25, rel=1e-3)
    assert report.entries[0].reference == pytest.approx(slope, abs=1e-5 * max(slope, 1.0))
    assert not report.ok


def test_a_jump_behind_and_a_jump_far_away() -> None:
    behind = check(lambda x: x + (x < 1.0 - 1e-9), [1.0], ROOT_U)
    assert only(behind).verdict == "fine"
    assert [finding.grade for finding in found_kind(behind, "jump")] == ["poor"]
    assert not behind.entries
    far = check(lambda x: x + (x > 1.01), [1.0], ROOT_U)
    assert only(far).verdict == "fine"
    assert not far.findings


def test_sign_at_zero() -> None:
    report = check(np.sign, [0.0], ROOT_U)
    assert only(report).verdict == "jump"
    assert found_kind(report, "jump")[0].size == pytest.approx(1.0)


def test_a_function_that_moves_in_steps_of_rounding_is_noisy_not_jumping() -> None:
    report = check(lambda x: (1e8 + x) - 1e8, [1.0], 1.3 * ROOT_U)
    assert not found_kind(report, "jump")
    assert only(report).verdict == "too small"
    assert only(report).noise == pytest.approx(1.5e-8 * 0.3, rel=0.9)


@pytest.mark.parametrize("refusal", ["nan", "raise"])
def test_root_at_its_bound(refusal: str) -> None:
    def f(x: Array) -> Array:
        if x[0] < 0 and refusal == "raise":
            raise ModelEvaluationError("negative level")
        return np.array([np.sqrt(x[0]) + x[1], x[1]])

    with np.errstate(invalid="ignore"):
        report = check(f, [0.0, 1.0], ROOT_U, names=["level", "flow"])
    assert [column.verdict for column in report.columns] == ["no slope", "fine"]
    assert found_kind(report, "no slope")[0].names == ("level",)
    (refused,) = found_kind(report, "refused")
    assert refused.names == ("level",)
    assert refused.grade == "note"


def test_a_smooth_function_at_its_bound_has_a_one_sided_reference() -> None:
    def f(x: Array) -> Array:
        if x[0] < 0.0:
            raise ModelEvaluationError("negative")
        return np.array([np.exp(3 * x[0])])

    report = check(f, [0.0], ROOT_U)
    assert only(report).verdict == "fine"
    assert not report.entries
    assert along(f, 0.0, ROOT_U).derivative[0] == pytest.approx(3.0, rel=1e-9)
    large = check(f, [0.0], 0.05)
    assert only(large).verdict == "too large"
    assert large.entries[0].reference == pytest.approx(3.0, rel=1e-9)
    wrong = examine(f, [0.0], [-ROOT_U], [[math.nan]], names=["level"])
    assert only(wrong).verdict == "wrong side"
    assert not wrong.ok


def test_refused_on_both_sides_and_at_the_point() -> None:
    def f(x: Array) -> Array:
        if x[0] != 1.0:
            raise ArithmeticError("only 1 will do")
        return np.array([1.0, x[1]])

    report = examine(f, [1.0, 2.0], [1e-8, 1e-8], [[0.0, 0.0], [0.0, 1.0]], names=["lock", "free"])
    assert [column.verdict for column in report.columns] == ["refused", "fine"]
    assert report.worst is not None
    assert "both sides" in report.worst.text
    nowhere = examine(f, [2.0, 2.0], [1e-8, 1e-8], np.zeros((2, 2)), names=["lock", "free"])
    assert not nowhere.ok
    assert nowhere.columns == ()
    assert "at the point itself" in str(nowhere)


# ---------------------------------------------------------------------------------------------- floating numbers


@pytest.mark.parametrize(
    ("x", "step", "holds"),
    [
        (1.0, 1.0, True),
        (1.0, 1.1, False),
        (1.0, -0.5, True),
        (1.0, -0.6, False),
        (1.0, -2.0, False),
        (-1.0, -1.0, True),
        (-1.0, 0.25, True),
        (-1.0, 3.0, False),
        (1e-9, 1e-8, False),
        (0.0, 5.0, True),
    ],
)
def test_sterbenz_condition(x: float, step: float, holds: bool) -> None:
    assert sterbenz(x, step) is holds


def test_breaks_of_sterbenz_condition_are_named() -> None:
    def f(x: Array) -> Array:
        return np.array([x[0] + x[1], x[1] - x[2], x[2]])

    report = check(f, [1e-10, -1e-10, 1.0], ROOT_U, names=["y16", "y20", "y3"], scale=1.0)
    assert {finding.names for finding in found_kind(report, "sterbenz")} == {("y16",), ("y20",)}
    assert "more than doubles" in found_kind(report, "sterbenz")[0].text + found_kind(report, "sterbenz")[1].text
    assert "sign" in found_kind(report, "sterbenz")[0].text + found_kind(report, "sterbenz")[1].text
    assert [column.sterbenz for column in report.columns] == [False, False, True]
    assert report.ok  # f is linear: the entries are right all the same


def test_increments_that_the_state_cannot_take_up() -> None:
    report = check(lambda x: 3 * x, [1.0], 1e-13, names=["level"])
    assert misfit(1.0, 1e-13) == abs((1.0 + 1e-13) - 1.0 - 1e-13) / 1e-13 > 1e-6
    assert found_kind(report, "representable")[0].names == ("level",)
    assert not only(report).representable
    assert only(report).verdict == "too small"
    assert only(check(lambda x: 3 * x, [1.0], 2.0**-26)).representable


def test_increment_zero_or_lost() -> None:
    zero = examine(lambda x: x, [1.0], [0.0], [[math.nan]], names=["level"])
    assert only(zero).verdict == "no increment"
    assert not zero.ok
    lost = examine(lambda x: x, [1.0], [1e-20], [[0.0]], names=["level"])
    assert only(lost).verdict == "too small"
    assert lost.entries[0].error == pytest.approx(1.0)


# ------------------------------------------------------------------------------------------------------ sources


def quadratic(x: Array) -> Array:
    return np.array([x[0] * x[1], x[1] ** 2])


EXACT = np.array([[3.0, 2.0], [0.0, 6.0]])  # of quadratic at (2, 3)


@pytest.mark.parametrize(
    ("options", "source"),
    [
        ({}, "extrapolated"),
        ({"exact": EXACT}, "exact"),
        ({"exact": csc_matrix(EXACT)}, "exact"),
        ({"directional": EXACT}, "directional"),
        ({"directional": lambda v: EXACT @ v}, "directional"),
        ({"directional": EXACT, "exact": EXACT}, "exact"),
    ],
)
def test_sources(options: dict[str, object], source: str) -> None:
    report = check(quadratic, [2.0, 3.0], 1e-8, **options)
    assert report.source == source
    assert report.ok
    assert not report.entries
    wrong = examine(quadratic, [2.0, 3.0], [1e-8, 1e-8], csc_matrix(1.01 * EXACT), **options)  # type: ignore[arg-type]
    assert len(wrong.entries) == 3
    assert {column.verdict for column in wrong.columns} == {"not reproduced"}


@pytest.mark.parametrize("source", ["exact", "directional"])
def test_a_wrong_derivative_is_told_from_a_wrong_difference(source: str) -> None:
    wrong = EXACT.copy()
    wrong[0, 1] = -2.0
    report = check(quadratic, [2.0, 3.0], 1e-8, names=["a", "b"], **{source: wrong})
    (finding,) = found_kind(report, "derivative")
    assert (finding.names, finding.rows) == (("b",), ("a",))
    assert not report.ok


def test_an_entry_that_the_pattern_lacks_is_not_blamed_on_the_increment() -> None:
    """x0 and x2 share a colour because (0, 2) is missing: entry (0, 0) takes up what belongs to (0, 2)."""

    def f(x: Array) -> Array:
        return np.array([x[0] + 5 * x[2], x[1], x[2]])

    compressed = np.array([[6.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    report = examine(f, [1.0, 1.0, 1.0], [ROOT_U] * 3, compressed, names=["a", "b", "c"])
    assert [column.verdict for column in report.columns] == ["not reproduced", "fine", "not reproduced"]
    assert "pattern" in found_kind(report, "not reproduced")[0].suggestion


def test_report_and_dictionary() -> None:
    report = check(van_der_pol, [2.0, -2 / 3], [0.015, 0.015], names=["y1", "y2"], row_names=["der(y1)", "der(y2)"])
    text = str(report)
    assert "d der(y1) / d y1" in text
    assert "too large" in text
    assert all(len(line) < 200 for line in text.splitlines())
    plain = json.loads(json.dumps(report.as_dict(), allow_nan=False))
    assert plain["ok"] is False
    assert plain["findings"][0]["names"] == ["y1"]
    assert len(plain["columns"]) == 2
    good = check(van_der_pol, [2.0, -2 / 3], ROOT_U)
    assert len(str(good).splitlines()) == 1


def test_more_values_than_states_and_none() -> None:
    report = check(lambda x: np.array([x[0], x[0] ** 2, 3.0]), [2.0], 0.5)
    assert [(entry.row, entry.column) for entry in report.entries] == [("f2", "x1")]
    empty = examine(lambda x: np.zeros(0), np.zeros(0), np.zeros(0), np.zeros((0, 0)))
    assert empty.ok
    assert empty.worst is None


@pytest.mark.parametrize(
    "changes",
    [
        {"differenced": np.zeros((3, 2))},
        {"increments": [1.0, 2.0, 3.0]},
        {"names": ["one"]},
        {"scale": -1.0},
        {"scale": [1.0, math.inf]},
        {"exact": np.zeros(4)},
        {"x": [math.nan, 1.0]},
        {"rtol": 0.0},
        {"atol": -1.0},
    ],
)
def test_bad_arguments(changes: dict[str, object]) -> None:
    arguments: dict[str, object] = {"x": [2.0, 3.0], "increments": 1e-8, "differenced": EXACT} | changes
    with pytest.raises(ArgumentError):
        examine(quadratic, **arguments)  # type: ignore[arg-type]


# --------------------------------------------------------------------------------------------------------- parts


def test_noise_table_on_known_noise() -> None:
    rng = np.random.default_rng(2)
    t = np.arange(8)[:, None]
    values = 1.0 + 1e-6 * t + 1e-9 * rng.normal(size=(8, 2000))
    level = noise_of_table(values)
    assert np.median(level) == pytest.approx(1e-9, rel=0.2)
    assert ((level > 2e-10) & (level < 4e-9)).mean() > 0.99
    assert noise_of_table(np.sin(0.3 * t)).max() < 1e-3  # smooth: nothing, or what its last differences leave


def test_extrapolation_is_exact_on_polynomials() -> None:
    h = 4.0 ** -np.arange(5)
    values = (3.0 + 2 * h**2 - 7 * h**4 + h**6)[:, None]
    best, error = extrapolate(values, h**2, np.zeros((5, 1)))
    assert best[0] == pytest.approx(3.0, rel=1e-12)
    assert error[0] < 1e-2


@pytest.mark.parametrize("x", [1.0, 1e-9, 0.0, -3.0])
@pytest.mark.parametrize("increment", [ROOT_U, -ROOT_U])
def test_derivatives_of_one_function(x: float, increment: float) -> None:
    seen = along(np.exp, x, increment)
    assert seen.derivative[0] == pytest.approx(math.exp(x), rel=1e-9)
    assert seen.right[0] == pytest.approx(math.exp(x), rel=1e-6)
    assert seen.left[0] == pytest.approx(math.exp(x), rel=1e-6)
    assert seen.second[0] == pytest.approx(math.exp(x), rel=1e-3)
    assert not (seen.kink | seen.steep).any()
    assert seen.jump[0] == 0.0
