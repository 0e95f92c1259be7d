"""Corners of the step loop: events, jumps and limits that meet, cut steps, odd mass matrices, sizes beyond reason."""

from __future__ import annotations

import gc
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pliant

MODELS = Path(__file__).parent / "models"
JUMP = ([0.0, 0.5, 0.5, 2.0], [0.0, 0.0, 1.0, 1.0])


def timer(period: float, changed: int = 0, stop_at: float = 1e9) -> pliant.Model:
    return pliant.native(MODELS / "timer.c", defines={"PERIOD": period, "CHANGED": changed, "STOP_AT": stop_at})


@pytest.mark.parametrize("changed", [0, 1])
@pytest.mark.parametrize("method", ["auto", "bdf", "radau5", "dopri5"])
def test_time_event_and_input_jump_at_the_same_time(method: str, changed: int) -> None:
    result = timer(0.25, changed).simulate(1.0, method=method, inputs={"u": JUMP}, rtol=1e-8)
    exact = math.exp(-1.0) + 1.0 - math.exp(-0.5)
    assert result["x[0]"][-1] == pytest.approx(exact, abs=1e-6)
    assert [event.time for event in result.events] == pytest.approx([0.25, 0.5, 0.75, 1.0])


@pytest.mark.parametrize("method", ["auto", "radau5", "dopri5", "rk4"])
def test_jumps_a_few_roundings_apart(method: str) -> None:
    late = 0.1 + 0.2  # one unit of rounding after 0.3
    inputs = {"u": ([0, 0.3, 0.3, 2], [0, 0, 1, 1]), "v": ([0, late, late, 2], [0, 0, 1, 1])}
    step: dict[str, Any] = {"step": 0.01} if method == "rk4" else {}
    result = timer(5.0).simulate(1.0, method=method, inputs=inputs, rtol=1e-8, **step)
    assert result["x[0]"][-1] == pytest.approx(math.exp(-1.0) + 2.0 * (1.0 - math.exp(-0.7)), abs=1e-6)


@pytest.mark.parametrize("method", ["euler", "rk4", "lieuler"])
def test_fixed_steps_after_a_cut_one(method: str) -> None:
    """A step cut short by an event that changes nothing is followed by whole ones, never by longer ones."""
    result = timer(0.35).simulate(1.0, method=method, step=0.1, points=None)
    sizes = np.diff(result.time)
    assert np.max(sizes) == pytest.approx(0.1)
    assert result.time[-1] == 1.0


def test_model_that_ends_the_run_after_a_step() -> None:
    result = timer(0.25, stop_at=0.6).simulate(1.0, points=11)
    assert [event.terminal for event in result.events] == [False, False, True]
    assert result.stats.n_events == 3
    assert 0.6 < result.time[-1] == result.events[-1].time
    assert result["x[0]"][-1] == pytest.approx(math.exp(-result.time[-1]), rel=1e-5)


def test_rows_at_an_event_show_both_sides() -> None:
    result = timer(0.25, changed=1).simulate(0.6, points=None)
    at = np.flatnonzero(result.time == 0.25)
    assert result["count"][at].tolist() == [0.0, 1.0]


def test_values_at_a_jump_belong_together() -> None:
    result = timer(5.0).simulate(1.0, points=[0.5, 1.0], inputs={"u": JUMP})
    np.testing.assert_array_equal(result["u"], result["y"])


@pytest.mark.parametrize("method", ["auto", "radau5", "dopri5"])
@pytest.mark.parametrize("apart", [2e-16, 1e-15, 1e-14, 1e-12])
def test_two_events_next_to_each_other(method: str, apart: float) -> None:
    def bounce(i: int) -> Any:
        def update(t: float, x: np.ndarray) -> np.ndarray:
            x[i], x[i + 1] = 0.0, -0.8 * x[i + 1]
            return x

        return update

    roots = [
        pliant.Root(lambda t, x: x[0], direction=-1, update=bounce(0), name="a"),
        pliant.Root(lambda t, x: x[2], direction=-1, update=bounce(2), name="b"),
    ]
    model = pliant.ode(lambda t, x: [x[1], -9.81, x[3], -9.81], [1.0, 0.0, 1.0 + apart, 0.0], roots=roots)
    result = model.simulate(0.8, method=method)
    assert sorted(name for event in result.events for name in event.roots) == ["a", "b"]


def test_badly_scaled_mass_matrix_is_not_singular() -> None:
    c = 1e-12
    mass = np.array([[1.0 + c, -c], [-c, c]])
    model = pliant.ode(lambda t, x: mass @ np.array([-x[0], -2.0 * x[1]]), [1.0, 1.0], mass=mass)
    assert {info.kind for info in model.variables.values()} == {"state"}
    assert model.simulate(1.0).final["x[1]"] == pytest.approx(math.exp(-2.0), rel=1e-4)


def test_large_connected_mass_matrix_is_cheap() -> None:
    import scipy.sparse as sp

    n = 20_000
    mass = sp.diags_array([np.full(n - 1, 1 / 6), np.full(n, 2 / 3), np.full(n - 1, 1 / 6)], offsets=[-1, 0, 1])
    model = pliant.ode(lambda t, x: -(mass @ x), np.ones(n), mass=mass, pattern=mass)
    result = model.simulate(0.1, points=2, outputs=["x[0]"], method="bdf")
    assert result.final["x[0]"] == pytest.approx(math.exp(-0.1), rel=1e-5)


def test_dense_system_beyond_all_sizes_is_refused() -> None:
    with pytest.raises(pliant.ArgumentError, match="dense Jacobian of 50000 states"):
        pliant.ode(lambda t, x: -x, np.ones(50_000)).simulate(1.0)


def test_fixed_step_overflow_is_an_error() -> None:
    with pytest.raises(pliant.NonFiniteError, match=r"x\[0\]"):
        pliant.ode(lambda t, x: [10.0 * float(x[0])], [1e300], jac=lambda t, x: [[0.0]]).simulate(
            10.0, method="lieuler", step=1.0
        )


def test_failure_after_an_event_carries_the_result() -> None:
    root = pliant.Root(lambda t, x: t - 0.5, update=lambda t, x: [-1.0, x[1]], name="cut")
    model = pliant.ode(lambda t, x: [-x[0], x[1] ** 2 - x[0]], [1.0, 1.0], mass=[1.0, 0.0], roots=root)
    with pytest.raises(pliant.ConvergenceError, match=r"x\[1\]") as caught:
        model.simulate(1.0, points=5)
    result = caught.value.result
    assert result is not None
    assert result.time[-1] == pytest.approx(0.5)
    assert result["x[1]"][-1] == pytest.approx(math.exp(-0.25), rel=1e-4)


def test_instances_do_not_wait_for_the_garbage_collector() -> None:
    import weakref

    model = pliant.ode(lambda t, x: -x, [1.0], roots=lambda t, x: x[0] - 0.5)
    gc.collect()
    gc.disable()
    try:
        instance = model._numeric.instance(np.zeros(0))
        watch = weakref.ref(instance)
        del instance
        assert watch() is None
    finally:
        gc.enable()


def test_leftovers_of_the_iteration_do_not_hold_the_step() -> None:
    """Friction at rtol near 1e-4: the iteration's error, alternating, used to keep h at 4e-7 for 100 000 steps."""

    def f(t: float, x: Any) -> list[float]:
        return [x[1], 5 * math.sin(3 * t) - 50 * x[0] - 2.5 * math.tanh(x[1] / 1e-6)]

    def jac(t: float, x: Any) -> list[list[float]]:
        return [[0.0, 1.0], [-50.0, -2.5e6 * (1 - math.tanh(x[1] / 1e-6) ** 2)]]

    model = pliant.ode(f, [0.0, 0.0], jac=jac)
    steps = [
        model.simulate(3.0, method="bdf", rtol=1e-4 * k, atol=1e-6 * k, points=2, timeout=60).stats.n_steps
        for k in np.linspace(0.9, 1.1, 21)
    ]
    assert max(steps) < 3000


def test_nominal_values_that_are_not_finite() -> None:
    """Tolerances follow them: with nominal = 1/p and p = 0 the run had none."""
    model = pliant.load(
        "model M parameter Real p = 2; Real x(start = 1, fixed = true, nominal = 1/p); equation der(x) = -x; end M;"
    )
    assert abs(model.simulate(stop=1).final["x"] - np.exp(-1)) < 1e-5
    with pytest.raises(pliant.ModelError, match="nominal value of x is inf") as caught:
        model.simulate(stop=1, parameters={"p": 0.0})
    assert "parameters" in caught.value.hint
