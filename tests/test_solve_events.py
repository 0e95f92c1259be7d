"""Events: location on the dense output, directions, several at once, restarts, terminal events, chattering."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from problems import Array, problem
from problems.exact import ExactProblem, bouncing_ball, oscillator
from support import compiled, compiled_file

import pliant
from pliant import ChatterError, Root

METHODS = ["auto", "bdf", "radau5", "dopri5", "rk4", "lieuler"]
ADAPTIVE = ["auto", "bdf", "radau5", "dopri5"]


def how(method: str, step: float = 0.01) -> dict[str, Any]:
    return {"method": method, **({"step": step} if method in ("rk4", "lieuler", "euler") else {})}


def clock(*roots: Any) -> pliant.Model:
    """x = t, so that every root function of x has exactly known times; v = 1 beside it."""
    return pliant.ode(lambda t, x: [1.0, 0.0], [0.0, 1.0], names=["x", "v"], roots=list(roots))


def times(result: pliant.Result) -> list[float]:
    return [event.time for event in result.events]


# ------------------------------------------------------------------------------------------------- location


@pytest.mark.parametrize("method", METHODS)
def test_root_of_time_is_found_to_rounding(method: str) -> None:
    """The error of the solution does not matter here, only that of the location."""
    model = pliant.ode(lambda t, x: -x, [1.0], roots=lambda t, x: math.sin(10 * t - 1))
    result = model.simulate(3, **how(method))
    expected = [(1 + k * math.pi) / 10 for k in range(10)]
    assert len(result.events) == len(expected)
    np.testing.assert_allclose(times(result), expected, rtol=0, atol=1e-14)
    assert [event.directions for event in result.events] == [((-1) ** k,) for k in range(10)]


@pytest.mark.parametrize("method", ADAPTIVE)
def test_root_of_the_solution(method: str) -> None:
    p = oscillator()
    model = pliant.ode(p.f, p.x0, jac=p.jacobian, names=p.names, roots=lambda t, x: x[0])
    result = model.simulate(p.t_end, method=method, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(times(result), p.event_times, rtol=0, atol=1e-7)
    assert [event.directions[0] for event in result.events] == list(p.event_directions)
    for event in result.events:
        assert abs(event.before[0]) < 1e-13
        np.testing.assert_array_equal(event.before, event.after)
        assert not event.terminal


@pytest.mark.parametrize("scale", [1e-200, 1e-12, 1.0, 1e12, 1e200])
def test_location_does_not_depend_on_the_size_of_g(scale: float) -> None:
    result = clock(lambda t, x: scale * (x[0] ** 3 - 0.3)).simulate(1, rtol=1e-9)
    assert times(result) == [pytest.approx(0.3 ** (1 / 3), abs=1e-10)]


@pytest.mark.parametrize(
    "g",
    [lambda t, x: math.copysign(1.0, t - 0.7), lambda t, x: (t - 0.7) ** 9, lambda t, x: math.expm1(50 * (t - 0.7))],
    ids=["jump", "flat", "steep"],
)
def test_awkward_root_functions(g: Any) -> None:
    result = clock(g).simulate(1)
    assert times(result) == [pytest.approx(0.7, abs=1e-10)]
    assert result.stats.n_roots < 1000


# ------------------------------------------------------------------------------------- directions, terminal


@pytest.mark.parametrize(("direction", "expected"), [(0, [1, 2, 3]), (1, [2]), (-1, [1, 3])])
@pytest.mark.parametrize("as_scipy", [False, True])
def test_directions(direction: int, expected: list[int], as_scipy: bool) -> None:
    def g(t: float, x: Array) -> float:
        return math.cos(math.pi * (t - 0.5))

    if as_scipy:
        g.direction = direction  # type: ignore[attr-defined]
    result = clock(g if as_scipy else Root(g, direction=direction)).simulate(3.5)
    np.testing.assert_allclose(times(result), expected, atol=1e-12)
    assert all(event.roots == ("g",) for event in result.events)
    assert all(event.directions == ((1,) if event.time == pytest.approx(2) else (-1,)) for event in result.events)


@pytest.mark.parametrize("direction", [2.0, 0.5, -3.0])
def test_any_number_is_a_direction_in_scipys_way(direction: float) -> None:
    def g(t: float, x: Array) -> float:
        return math.sin(math.pi * (t - 0.5))

    g.direction = direction  # type: ignore[attr-defined]
    found = times(clock(g).simulate(2))
    np.testing.assert_allclose(found, [0.5] if direction > 0 else [1.5], atol=1e-12)


@pytest.mark.parametrize("points", [2, 11, None])
@pytest.mark.parametrize("method", METHODS)
def test_terminal(method: str, points: int | None) -> None:
    def g(t: float, x: Array) -> float:
        return t - 0.73

    g.terminal = True  # type: ignore[attr-defined]
    result = pliant.ode(lambda t, x: -x, [1.0], roots=g).simulate(2, points=points, **how(method))
    assert result.complete
    assert result.time[-1] == result.events[-1].time == pytest.approx(0.73, abs=1e-12)
    assert result.events[-1].terminal
    assert result.values[-1, 0] == result.events[-1].after[0]
    assert result.values[-1, 0] == pytest.approx(math.exp(-0.73), rel=5e-3)
    assert np.all(np.diff(result.time) >= 0)
    if points == 11:
        np.testing.assert_allclose(result.time[:-1], [0.0, 0.2, 0.4, 0.6], atol=1e-15)
    assert "ends the run" in str(result.events[-1])


def test_an_event_before_the_terminal_one_is_kept() -> None:
    result = clock(lambda t, x: t - 0.2, Root(lambda t, x: t - 0.4, terminal=True, name="end")).simulate(1)
    assert [event.roots for event in result.events] == [("root[0]",), ("end",)]
    assert result.stats.n_events == 2


# ------------------------------------------------------------------------------------------- several at once


def test_several_roots_at_the_same_instant() -> None:
    result = clock(
        Root(lambda t, x: t - 0.5, name="up"),
        Root(lambda t, x: t - 0.25, name="early"),
        Root(lambda t, x: 0.5 - t, name="down"),
        Root(lambda t, x: 0.5 - t, name="not this way", direction=1),
    ).simulate(1)
    assert [event.roots for event in result.events] == [("early",), ("up", "down")]
    assert result.events[1].directions == (1, -1)
    np.testing.assert_allclose(times(result), [0.25, 0.5], atol=1e-14)


def test_roots_close_together_come_in_their_order() -> None:
    offsets = [0.5 + k * 1e-9 for k in range(10)]
    result = clock(*(lambda t, x, at=at: t - at for at in reversed(offsets))).simulate(1)
    np.testing.assert_allclose(times(result), offsets, rtol=0, atol=1e-14)
    assert [event.roots[0] for event in result.events] == [f"root[{k}]" for k in range(9, -1, -1)]


def test_updates_of_simultaneous_roots_are_applied_in_order() -> None:
    def add(amount: float) -> Any:
        return lambda t, x: [x[0], 2 * x[1] + amount]

    result = clock(
        Root(lambda t, x: t - 0.5, update=add(1.0), name="one"), Root(lambda t, x: t - 0.5, update=add(5.0), name="two")
    ).simulate(1)
    assert result.events[0].roots == ("one", "two")
    assert result.events[0].before[1] == 1.0
    assert result.events[0].after[1] == result["v"][-1] == 2 * (2 * 1.0 + 1.0) + 5.0


# ------------------------------------------------------------------------------- double crossing in one step


def test_double_crossing_is_seen_when_an_inner_point_shows_it() -> None:
    """g < 0 only in a third of the one step of size 1: no end of a step shows it, an inner point does."""

    def g(t: float, x: Array) -> float:
        return (t - 0.35) * (t - 0.68)

    def run(samples: int) -> pliant.Result:
        return clock(g).simulate(1, method="euler", step=1.0, options={"root_samples": samples})

    assert times(run(0)) == []
    found = run(4)
    np.testing.assert_allclose(times(found), [0.35, 0.68], atol=1e-12)
    assert [event.directions for event in found.events] == [(-1,), (1,)]
    assert found.stats.n_steps == 1


@pytest.mark.parametrize("samples", [4, 20])
def test_four_crossings_in_one_step(samples: int) -> None:
    roots = [0.1, 0.3, 0.5, 0.7]
    result = clock(lambda t, x: math.prod(t - r for r in roots)).simulate(
        1, method="rk4", step=1.0, options={"root_samples": samples}
    )
    np.testing.assert_allclose(times(result), roots, atol=1e-12)
    assert [event.directions[0] for event in result.events] == [-1, 1, -1, 1]


# ------------------------------------------------------------------------------------------ starting at zero


@pytest.mark.parametrize("direction", [-1, 0, 1])
@pytest.mark.parametrize("g", [lambda t, x: t, lambda t, x: -t, lambda t, x: t * t])
def test_zero_at_the_start_does_not_fire(g: Any, direction: int) -> None:
    assert clock(Root(g, direction=direction)).simulate(1).events == ()


def test_leaving_zero_does_not_fire_but_coming_back_does() -> None:
    result = clock(lambda t, x: t * (t - 0.6)).simulate(1)
    np.testing.assert_allclose(times(result), [0.6], atol=1e-12)
    assert result.events[0].directions == (1,)


def test_root_exactly_at_the_end() -> None:
    result = clock(lambda t, x: t - 1.0).simulate(1)
    assert times(result) == [1.0]


@pytest.mark.parametrize("method", METHODS)
def test_g_that_stays_zero(method: str) -> None:
    """Positive, exactly zero from 0.3 to 0.6, then negative: one event on arriving, none on leaving."""

    def g(t: float, x: Array) -> float:
        return 0.3 - t if t < 0.3 else 0.0 if t <= 0.6 else 0.6 - t

    result = pliant.ode(lambda t, x: -x, [1.0], roots=g).simulate(1, **how(method))
    assert times(result) == [pytest.approx(0.3, abs=1e-12)]
    assert result.events[0].directions == (-1,)


def test_g_that_is_always_zero() -> None:
    assert clock(lambda t, x: 0.0).simulate(1).events == ()


def test_update_that_lands_on_zero_does_not_fire_again() -> None:
    result = clock(Root(lambda t, x: x[0] - 0.5, update=lambda t, x: [0.5, x[1] + 1])).simulate(1)
    assert len(result.events) == 1
    assert result["v"][-1] == 2.0


# ------------------------------------------------------------------------------------------------- restarts


def ball(**changes: Any) -> tuple[pliant.Model, ExactProblem]:
    p = bouncing_ball()
    assert p.reset is not None
    root = Root(lambda t, x: x[0], direction=-1, update=p.reset, name="floor")
    return pliant.ode(p.f, p.x0, jac=p.jacobian, names=p.names, roots=root, **changes), p


@pytest.mark.parametrize("method", ADAPTIVE)
def test_bouncing_ball(method: str) -> None:
    model, p = ball()
    result = model.simulate(p.t_end, method=method, rtol=1e-10, atol=1e-12, points=301)
    np.testing.assert_allclose(times(result), p.event_times, rtol=0, atol=1e-8)
    assert all(event.roots == ("floor",) and event.directions == (-1,) for event in result.events)
    exact = np.array([p.exact(t) for t in result.time])
    away = np.min(np.abs(result.time[:, None] - np.array(p.event_times)), axis=1) > 1e-6
    np.testing.assert_allclose(result.values[away], exact[away], rtol=0, atol=1e-6)
    for event in result.events:
        assert event.after[1] == -0.8 * event.before[1]
        assert event.after[0] == 0.0
    assert result.stats.n_events == len(p.event_times)


@pytest.mark.parametrize("rtol", [1e-4, 1e-6, 1e-8])
@pytest.mark.parametrize("method", ADAPTIVE)
def test_bouncing_ball_comes_to_rest_with_chatter_error(method: str, rtol: float) -> None:
    """The bounces pile up at t = sqrt(2/g) (1 + e)/(1 - e): nobody can simulate beyond."""
    model, p = ball()
    last = math.sqrt(2 / 9.81) * (1 + 0.8) / (1 - 0.8)
    with pytest.raises(ChatterError, match="floor") as caught:
        model.simulate(5, rtol=rtol, method=method)
    error = caught.value
    assert error.time == pytest.approx(last, abs=0.05)
    assert "hysteresis" in error.hint
    assert len(error.result.events) > 15
    assert error.result.time[-1] <= error.time
    np.testing.assert_allclose(times(error.result)[:6], p.event_times[:6], atol=30 * rtol)


@pytest.mark.parametrize(("stop", "bounces"), [(4.0, 19), (4.045, 24)])
@pytest.mark.parametrize("method", ADAPTIVE)
def test_bouncing_ball_until_shortly_before_its_rest(method: str, stop: float, bounces: int) -> None:
    """Bounces that pile up only after the end are no reason to give up."""
    model, _ = ball()
    result = model.simulate(stop, rtol=1e-10, atol=1e-12, method=method)
    assert result.complete
    assert len(result.events) == bounces
    assert np.min(result["h"]) > -1e-9


@pytest.mark.parametrize("method", ADAPTIVE)
def test_switching_back_and_forth_is_chatter(method: str) -> None:
    """Each crossing turns the velocity round just beyond the threshold, so the next crossing is at once."""
    flip = Root(lambda t, x: x[0], update=lambda t, x: [1e-15 * x[1], -x[1]], name="flip")
    model = pliant.ode(lambda t, x: [x[1], 0.0], [0.5, -1.0], names=["x", "v"], roots=flip)
    with pytest.raises(ChatterError, match="flip") as caught:
        model.simulate(1, method=method)
    assert caught.value.time == pytest.approx(0.5, abs=1e-6)
    assert caught.value.hint
    assert caught.value.result.time[-1] <= 0.5 + 1e-6


def test_many_events_apart_in_time_are_no_chatter() -> None:
    result = clock(lambda t, x: math.sin(2000 * math.pi * t)).simulate(1, options={"max_step": 1e-3})
    assert result.stats.n_events == pytest.approx(2000, abs=2)


@pytest.mark.parametrize("points", [5, 500, None])
def test_rows_before_and_after(points: int | None) -> None:
    """With points=None an event that changes something gives two rows of the same time; a point exactly at an event
    shows what holds after it."""
    result = clock(Root(lambda t, x: t - 0.5, update=lambda t, x: [x[0], 7.0])).simulate(1, points=points)
    at = np.flatnonzero(np.diff(result.time) == 0)
    if points is None:
        assert len(at) == 1
        assert result.time[at[0]] == result.events[0].time
        assert list(result["v"][at[0] : at[0] + 2]) == [1.0, 7.0]
        assert len(result) == result.stats.n_steps + 1 + 1  # the event lies in the last step before the restart
    else:
        assert len(result) == points
        np.testing.assert_array_equal(result["v"], np.where(result.time < result.events[0].time, 1.0, 7.0))


def test_algebraic_unknowns_follow_a_jump() -> None:
    """x jumps from 1 - t to 5: z = 2 x must jump with it, although the update leaves z alone."""
    model = pliant.ode(
        lambda t, x: [-1.0, x[1] - 2 * x[0]],
        [1.0, 2.0],
        mass=[1, 0],
        names=["x", "z"],
        roots=Root(lambda t, x: t - 0.5, update=lambda t, x: [5.0, x[1]]),
    )
    for method in ("bdf", "radau5", "auto"):
        result = model.simulate(1, method=method, points=None)
        np.testing.assert_allclose(result["x"][-1], 4.5, atol=1e-6)
        np.testing.assert_allclose(result["z"][-1], 9.0, atol=1e-5)
        late = result.time > result.events[0].time
        np.testing.assert_allclose(result["z"][late], 2 * result["x"][late], atol=1e-5)


# ----------------------------------------------------------------------------------- looking changes nothing


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("points", [2, 77, None])
def test_roots_without_update_do_not_change_the_steps(method: str, points: int | None) -> None:
    p = problem("vdpol_mild")
    roots = [lambda t, x: x[0], lambda t, x: x[1], Root(lambda t, x: x[0] - 1.5, direction=1)]
    plain, watched = (
        pliant.ode(p.f, p.x0, jac=p.jacobian, roots=r).simulate(10, points=points, **how(method)) for r in (None, roots)
    )
    assert len(watched.events) >= 5
    for key in ("time", "h", "order"):
        np.testing.assert_array_equal(plain.steps[key], watched.steps[key])
    np.testing.assert_array_equal(plain.time, watched.time)
    np.testing.assert_array_equal(plain.values, watched.values)
    assert plain.stats.n_rhs == watched.stats.n_rhs


def test_restart_always_changes_them() -> None:
    p = problem("vdpol_mild")
    model = pliant.ode(p.f, p.x0, jac=p.jacobian, roots=lambda t, x: x[0])
    kept, anew = (model.simulate(10, options={"restart": r}) for r in ("changed", "always"))
    assert anew.stats.n_steps > kept.stats.n_steps
    np.testing.assert_allclose(times(kept), times(anew), atol=1e-3)


def test_root_samples_do_not_change_the_steps() -> None:
    p = problem("vdpol_mild")
    model = pliant.ode(p.f, p.x0, jac=p.jacobian, roots=lambda t, x: x[0])
    few, many = (model.simulate(10, options={"root_samples": k}) for k in (0, 50))
    np.testing.assert_array_equal(few.values, many.values)
    np.testing.assert_allclose(times(few), times(many), rtol=1e-12)
    assert many.stats.n_roots > few.stats.n_roots


# ---------------------------------------------------------------------------------------- in a C model


def test_events_of_a_c_model() -> None:
    """The model counts rising crossings in its own memory; v = 2 sin t + ... is driven by a table."""
    result = compiled_file("circuit").simulate(
        20, inputs={"source": lambda t: 2 * math.sin(t)}, parameters={"level": 0.5}, points=201, rtol=1e-8
    )
    crossings = [event for event in result.events if event.directions == (1,)]
    assert [event.roots for event in result.events] == [("v > level",)] * len(result.events)
    assert len(crossings) == 4
    assert result["crossings"][0] == 0.0
    assert result["crossings"][-1] == 4.0
    for event in result.events:
        assert event.before[0] == pytest.approx(0.5, abs=1e-12)


def test_each_simulation_has_its_own_memory() -> None:
    model = compiled_file("circuit")
    for _ in range(2):
        result = model.simulate(8, inputs={"source": lambda t: 2 * math.sin(t)}, parameters={"level": 0.5})
        assert result["crossings"][-1] == 2.0
    assert compiled("vdpol_mild").simulate(1).events == ()


def test_way_back_from_an_event_exactly_on_zero_is_seen() -> None:
    """A relay that toggles at x + v = 0 slides along it; a lost switch would let it escape without a word."""
    toggle = pliant.Root(lambda t, x: x[0] + x[1], update=lambda t, x: [x[0], x[1], -x[2]], name="s")
    model = pliant.ode(
        lambda t, x: [x[1], x[2] - 0.1 * x[1] + 0.2 * np.sin(t), 0.0], [1.0, 0.0, -1.0], names=list("xvu"), roots=toggle
    )
    with pytest.raises(pliant.ChatterError, match="s") as caught:
        model.simulate(stop=10.0)
    assert caught.value.result is not None
    assert abs(caught.value.result["x"][-1] + caught.value.result["v"][-1]) < 1e-3
