"""The monitor of a running step, and the step that falls back to the full pattern."""

from __future__ import annotations

import numpy as np
import pytest
from support_modelica import text_of
from support_stepper import Case, relative

from pliant.errors import ArgumentError
from pliant.realtime.code.make import MonitorLimits, StepCode, StepperOptions, make_stepper
from pliant.realtime.code.run import Stepper
from pliant.realtime.stages.limits import alternating

PIVOT, RINGING, ERROR, DROPPED, NOT_FINITE, RANGE = 1, 2, 4, 8, 16, 32

COUPLED = """
  parameter Real k = 50;
  Real x(start = 1, fixed = true), y(start = 0, fixed = true), z(start = 0, fixed = true);
equation
  der(x) = -k*(x - y);
  der(y) = -k*(y - x) - 0.1*y;
  der(z) = sin(time) - z;
"""
DIAGONAL = {(i, i) for i in range(3)}
GROWING = """
  Real x(start = 1, fixed = true), w(start = 0, fixed = true);
equation
  der(w) = 1;
  der(x) = (20*w - 1)*x;
"""


def coupled(
    tau: float, entries: set[tuple[int, int]] | None, style: str | None = None, **limits: object
) -> tuple[Case, StepCode]:
    case = Case(text_of(COUPLED), tau)
    chosen = MonitorLimits(**limits)  # type: ignore[arg-type]
    options = StepperOptions(monitor=True, fallback=True, limits=chosen, style=style)
    elimination, full = case.elimination(entries), case.elimination()
    return case, make_stepper(case.sorted, "auto", tau, elimination, options, case.start, full=full)


def test_dropped_part_is_the_error_matrix_times_the_step() -> None:
    """Exact for a linear model: -E dx of the step before, largest row, in units of scale."""
    scale = np.array([2.0, 0.5, 1.0])
    case, code = coupled(0.01, DIAGONAL, scale=scale, dropped=0.2)
    stepper = Stepper(code)
    df = np.array([[-50.0, 50.0, 0.0], [50.0, -50.1, 0.0], [0.0, 0.0, -1.0]])
    e = 0.01 * (df - np.diag(np.diag(df)))
    x, last, broke = np.array(case.start.x), np.zeros(3), []
    for k in range(30):
        stepper.run(None, 1)
        flags = stepper.monitor()
        if k:
            rows = np.abs(e @ last)[:2] / scale[:2]  # z depends on time and is not watched
            assert flags["dropped_size"] == pytest.approx(rows.max(), rel=1e-9)
            assert flags["dropped"] == rows.argmax()
            assert bool(int(flags["bits"]) & DROPPED) == (rows.max() > 0.2)
            broke.append(rows.max() > 0.2)
        last = np.array(stepper.x) - x
        x = np.array(stepper.x)
    assert any(broke)
    assert not all(broke)


def test_second_difference_is_the_local_error() -> None:
    _, code = coupled(0.01, None, error=1e-3)
    stepper = Stepper(code)
    seen = [np.array(stepper.x)]
    for k in range(20):
        seen.append(stepper.run(None, 1)[0])
        flags = stepper.monitor()
        if k:
            size = np.abs(seen[-1] - 2 * seen[-2] + seen[-3]) / 2
            assert flags["error_size"] == pytest.approx(size.max(), rel=1e-6)
            assert flags["error"] == size.argmax()
            assert bool(int(flags["bits"]) & ERROR) == (size.max() > 1e-3)


def test_ringing_is_seen_and_only_where_it_is() -> None:
    """Without the coupling the stiff mode has the factor (1 - a)/(1 + a) = -2/3 per step, a = k tau = 5."""
    _, sparse = coupled(0.1, DIAGONAL, ringing=np.full(3, 1e-4), ringing_steps=4)
    stepper = Stepper(sparse)
    bits = stepper.watch(None, 12)
    assert [bool(one & RINGING) for one in bits[:6]] == [False, False, False, False, True, True]
    _, full = coupled(0.1, None, ringing=np.full(3, 1e-4), ringing_steps=4)
    assert not any(one & RINGING for one in Stepper(full).watch(None, 12))


def test_pivots_are_compared_with_limits() -> None:
    case = Case(text_of(GROWING), 1e-2)
    place = list(case.model.names.x).index("x")
    elimination = case.elimination()
    number = [c for _, c in elimination.pivots].index(place)
    low = np.zeros(2)
    low[number] = 0.905
    stepper = Stepper(case.code(monitor=True, limits=MonitorLimits(pivot_low=low)))
    w = 0.01 * np.arange(80)
    pivot = 1.0 - 0.01 * (20.0 * w - 1.0)
    assert [bool(one & PIVOT) for one in stepper.watch(None, 80)] == list(pivot < 0.905)
    assert stepper.monitor()["pivot"] == number


def test_numbers_that_are_no_numbers_are_seen() -> None:
    case = Case(text_of(GROWING), 1e-2)
    stepper = Stepper(case.code(monitor=True))
    assert not stepper.watch(None, 5).any() & NOT_FINITE
    stepper.x[:] = np.nan
    stepper.run(None, 1)
    assert int(stepper.monitor()["bits"]) & NOT_FINITE


@pytest.mark.parametrize("style", ["straight-line", "tables"])
def test_full_step_and_fallback(style: str) -> None:
    quiet = {"error": 10.0, "dropped": 10.0}
    case, code = coupled(0.1, DIAGONAL, style, ringing=np.full(3, 1e-4), ringing_steps=2, **quiet)
    stepper = Stepper(code)
    full = stepper.run(None, 12, kind="full")
    assert relative(full, case.reference(12)) < 1e-10
    stepper.reset()
    sparse = stepper.run(None, 12)
    assert relative(sparse, case.reference(12, DIAGONAL)) < 1e-10
    stepper.reset()
    guarded = stepper.run(None, 12, kind="guarded")
    assert stepper.fallbacks > 0
    assert np.array_equal(guarded[:2], sparse[:2])  # nothing to see yet
    assert not np.array_equal(guarded[2], sparse[2])
    f, df = case.f(0.3, guarded[1])
    expected = guarded[1] + np.linalg.solve(case.mass - 0.1 * df, 0.1 * f)
    assert np.abs(guarded[2] - expected).max() < 1e-12
    worst = code.operations["guarded"].flops
    assert worst > code.operations["step"].flops + code.operations["full"].flops


def test_a_quiet_step_does_not_fall_back() -> None:
    _, code = coupled(0.001, None)
    stepper = Stepper(code)
    guarded = stepper.run(None, 50, kind="guarded")
    assert stepper.fallbacks == 0
    stepper.reset()
    assert np.array_equal(guarded, stepper.run(None, 50))


def test_limits_are_checked() -> None:
    with pytest.raises(ArgumentError, match=r"limits.scale has shape \(2,\)"):
        coupled(0.1, None, scale=np.ones(2))
    with pytest.raises(ArgumentError, match="no monitor"):
        Stepper(Case(text_of(GROWING), 1e-2).code()).watch(None, 3)


RANGED = """
  parameter Real k = 2;
  input Real u(start = 1);
  discrete Real d(start = 0, fixed = true);
  Real x(start = 1, fixed = true);
equation
  der(x) = k*(u - x);
  when sample(0.05, 0.05) then
    d = pre(d) + u;
  end when;
"""


def ranged(**limits: object) -> Stepper:
    case = Case(text_of(RANGED), 0.01)
    chosen = MonitorLimits(**limits)  # type: ignore[arg-type]
    options = StepperOptions(monitor=True, fallback=True, limits=chosen)
    one = case.elimination()
    return Stepper(make_stepper(case.sorted, "auto", 0.01, one, options, case.start, full=case.elimination()))


def test_what_is_not_covered_is_seen() -> None:
    """Unknowns, inputs and parameters, each by its number: x, then u, then k."""
    u = np.ones((20, 1))
    u[10:] = 3.0
    pair = (np.array([0.5]), np.array([1.5]))
    stepper = ranged(x_range=pair)
    bits = stepper.watch(u, 20)
    x = 1.0
    for k in range(20):
        x += 0.02 * (u[k, 0] - x) / 1.02
        assert bool(bits[k] & RANGE) == (x > 1.5)
    stepper = ranged(u_range=pair, x_range=(np.array([-9.0]), np.array([9.0])))
    assert [bool(one & RANGE) for one in stepper.watch(u, 20)] == 10 * [False] + 10 * [True]
    flags = stepper.monitor()
    assert flags["range"] == 1
    assert flags["range_share"] == pytest.approx((3.0 - 1.0) / 0.5)
    stepper = ranged(p_range=(np.array([1.9]), np.array([2.1])))
    assert not stepper.watch(u[:5], 5).any()
    stepper.parameters = {"k": 2.5}
    stepper.reset()
    assert all(one & RANGE for one in stepper.watch(u[:5], 5))
    assert stepper.monitor()["range"] == 2


def test_changes_of_inputs_are_seen() -> None:
    """From step to step, at jumps, and from the start on; a change of exactly the limit is covered."""
    u = 1.0 + np.repeat([0.0, 0.5, 1.125, 0.625], 5)[:, None]
    stepper = ranged(u_change=np.array([0.5]), error=10.0)
    assert np.flatnonzero(stepper.watch(u, 20)).tolist() == [10]
    after = u.copy()
    after[4] += 0.25  # a jump and the change of the next step
    after[12] -= 0.625
    stepper.reset()
    assert np.flatnonzero(stepper.watch(u, 20, after=after)).tolist() == [10, 12, 13]
    stepper = ranged(u_change=np.array([np.inf]), error=10.0)
    assert not stepper.watch(u, 20).any()
    for bad in (np.array([-1.0]), np.array([np.nan]), np.zeros(2)):
        with pytest.raises(ArgumentError, match=r"limits\.u_change"):
            ranged(u_change=bad)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_inputs_and_sampled_memory_that_are_no_numbers_are_seen(bad: float) -> None:
    u = np.ones((20, 1))
    u[5] = bad  # sampled at step 5: d stays lost, x would recover only if it could
    bits = ranged().watch(u, 20)
    assert not bits[:5].any()
    assert all(one & NOT_FINITE for one in bits[5:])


def test_a_fallback_lasts_until_nothing_was_seen_for_a_while() -> None:
    u = np.ones((60, 1))
    u[10:13] = 3.0
    stepper = ranged(u_range=(np.array([0.5]), np.array([1.5])), hold=7, error=10.0)
    bits = stepper.watch(u, 60, kind="guarded")
    assert np.flatnonzero(bits).tolist() == list(range(10, 13 + 7))


def test_ranges_are_checked() -> None:
    with pytest.raises(ArgumentError, match=r"the range 2 \.\. 1 of entry 0"):
        ranged(x_range=(np.array([2.0]), np.array([1.0])))
    with pytest.raises(ArgumentError, match="x_range has shapes"):
        ranged(x_range=(np.zeros(2), np.ones(2)))


def test_what_alternates_for_long_enough() -> None:
    """The least size of changes within windows of the given length, the largest of these."""
    dx = np.array([[1.0, 1.0], [-2.0, 1.0], [3.0, 1.0], [-0.5, -9.0], [1.0, 9.0], [1.0, 9.0]])
    assert alternating(dx, 2).tolist() == [1.0, 1.0]
    assert alternating(dx, 4).tolist() == [0.5, 0.0]
    assert alternating(dx[:3], 4).tolist() == [0.0, 0.0]
