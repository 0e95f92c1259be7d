"""Content of inputs that lies between the points where a step looks: pulses after rest, dense tables, ticks."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import pliant

METHODS = ("bdf", "radau5", "dopri5", "auto")
PULSE = ([0.0, 5.0, 5.005, 5.01, 10.0], [0.0, 0.0, 100.0, 0.0, 0.0])


@cache
def integrator() -> pliant.Model:
    return pliant.load("model M input Real u; Real x(start=0,fixed=true); equation der(x)=u; end M;")


@pytest.mark.parametrize("method", METHODS)
def test_pulse_in_a_table(method: str) -> None:
    result = integrator().simulate(stop=10, method=method, inputs={"u": PULSE})
    assert result.final["x"] == pytest.approx(0.5, rel=1e-5)


@pytest.mark.parametrize("method", METHODS)
def test_pulse_in_a_dense_table(method: str) -> None:
    times = np.linspace(0.0, 10.0, 20001)
    result = integrator().simulate(stop=10, method=method, inputs={"u": (times, np.interp(times, *PULSE))})
    assert result.final["x"] == pytest.approx(0.5, rel=1e-5)


@pytest.mark.parametrize("method", METHODS)
def test_arch_inside_one_segment(method: str) -> None:
    w = 0.01  # 16 s^2 (1 - s)^2, s = (t - 5)/w: zero with zero slope at both ends, integral 16 w/30
    arch = pliant.Segments([0, 5, 5 + w], [[0] * 5, [0, 0, 16 / w**2, -32 / w**3, 16 / w**4], [0] * 5])
    result = integrator().simulate(stop=10, method=method, inputs={"u": arch})
    assert result.final["x"] == pytest.approx(16 * w / 30, rel=5e-5)


@pytest.mark.parametrize("method", METHODS)
def test_pulse_of_a_function(method: str) -> None:
    result = integrator().simulate(stop=10, method=method, inputs={"u": lambda t: float(np.interp(t, *PULSE))})
    assert result.final["x"] == pytest.approx(0.5, rel=2e-5)


@pytest.mark.parametrize("method", METHODS)
def test_effect_that_is_flat_where_the_input_rests(method: str) -> None:
    model = pliant.load(
        "model M input Real u, v; Real x(start=0,fixed=true), y(start=0,fixed=true); "
        "equation der(x)=u^2; der(y)=u*v; end M;"
    )
    result = model.simulate(stop=10, method=method, inputs={"u": PULSE, "v": PULSE})
    exact = 0.01 * 100.0**2 / 3
    assert result.final["x"] == pytest.approx(exact, rel=1e-5)
    assert result.final["y"] == pytest.approx(exact, rel=1e-5)


def test_smooth_dense_table_costs_no_step_per_point() -> None:
    times = np.linspace(0.0, 10.0, 20001)
    dense = integrator().simulate(stop=10, method="bdf", inputs={"u": (times, np.sin(3 * times))})
    smooth = integrator().simulate(stop=10, method="bdf", inputs={"u": lambda t: np.sin(3 * t)})
    assert dense.stats.n_steps <= 1.1 * smooth.stats.n_steps < 600


def test_busy_input_without_effect_costs_nothing() -> None:
    model = pliant.load("model M input Real u, v; Real x(start=1,fixed=true); Real y = v; equation der(x)=-x+u; end M;")
    rng = np.random.default_rng(1)
    noise = (np.linspace(0, 10, 5001), rng.normal(size=5001))
    busy, calm = (model.simulate(stop=10, inputs={"u": 1.0, "v": v}) for v in (noise, 0.0))
    assert busy.stats.n_steps == calm.stats.n_steps
    assert busy.stats.n_rhs == calm.stats.n_rhs


def test_rows_at_a_jump_show_what_holds_after_it() -> None:
    model = pliant.load("model M input Real u; output Real y=2*u; Real x(start=0,fixed=true); equation der(x)=u;end M;")
    step = ([0.0, 1.0, 1.0, 2.0], [1.0, 1.0, 3.0, 3.0])
    result = model.simulate(stop=1, points=[0.0, 0.5, 1.0], inputs={"u": step})
    assert list(result["u"]) == [1.0, 1.0, 3.0]
    assert list(result["y"]) == [2.0, 2.0, 6.0]
    assert result["x"][-1] == pytest.approx(1.0, rel=1e-6)
    result = model.simulate(stop=2, points=[0.0, 1.0, 2.0], inputs={"u": step})
    assert list(result["u"]) == [1.0, 3.0, 3.0]
    assert result["x"] == pytest.approx([0.0, 1.0, 4.0], rel=1e-6)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("grid", ["product", "linspace", "sum"])
def test_ticks_and_table_times_that_differ_by_rounding(method: str, grid: str) -> None:
    model = pliant.load(
        "model M discrete input Real u; discrete Real s(start=-1,fixed=true); Real x(start=0,fixed=true); "
        "Integer n(start=0,fixed=true), late(start=0,fixed=true); equation der(x)=u; "
        "when sample(0,0.07) then s=u; n=pre(n)+1; late=pre(late)+(if abs(u-pre(n))>0.5 then 1 else 0); end when;end M;"
    )
    times = {
        "product": np.arange(50) * 0.07,
        "linspace": np.linspace(0, 49 * 0.07, 50),
        "sum": np.cumsum(np.full(50, 0.07)) - 0.07,
    }[grid]
    result = model.simulate(stop=3.45, method=method, inputs={"u": (times, np.arange(50.0))})
    assert result.final["n"] == 50
    assert result.final["late"] == 0


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", ["table", "function"])
def test_relations_of_inputs_see_pulses(method: str, kind: str) -> None:
    model = pliant.load(
        "model M input Real u; Integer n(start=0,fixed=true); Real x(start=0,fixed=true); equation der(x)=0; "
        "when u>50 then n=pre(n)+1; end when; end M;"
    )
    given = PULSE if kind == "table" else (lambda t: float(np.interp(t, *PULSE)))
    result = model.simulate(stop=10, method=method, inputs={"u": given})
    assert result.final["n"] == 1
    assert result.events[0].time == pytest.approx(5.0025, abs=1e-9)
