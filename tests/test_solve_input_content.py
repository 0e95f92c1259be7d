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


def test_content_of_f_between_points_of_an_input() -> None:
    """f is zero at both ends of a ramp: steps used to pass over it."""
    model = pliant.load(
        "model M\n input Real u;\n Real x(start = 0, fixed = true);\nequation\n der(x) = u*(1 - u);\nend M;\n"
    )
    given = {
        "table": ([5.0, 6.0], [0.0, 1.0]),
        "segments": pliant.Segments([0.0, 5.0, 6.0], [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0]]),
        "function": lambda t: min(max(t - 5.0, 0.0), 1.0),
    }
    for u in given.values():
        for method in ("auto", "bdf", "radau5", "dopri5"):
            final = model.simulate(stop=10, inputs={"u": u}, method=method).final["x"]
            assert final == pytest.approx(1 / 6, rel=1e-4), method


def test_conditions_without_events_feel_inputs_and_time() -> None:
    """They have no derivative, but f jumps with them."""
    text = "model M\n input Real u;\n Real x(start = 0, fixed = true);\nequation\n der(x) = {};\nend M;\n"
    by_input = pliant.load(text.format("1000*noEvent(if u > 0.6 then 1 else 0)"))
    by_time = pliant.load(
        text.format("max(0, 1 - abs(time - 5)/0.1) + noEvent(if time > 7 and time < 7.1 then 1 else 0)")
    )
    pulse = ([5.0, 5.001, 5.002], [0.0, 1.0, 0.0])
    for method in ("auto", "radau5", "dopri5"):
        assert by_input.simulate(stop=10, inputs={"u": pulse}, method=method).final["x"] == pytest.approx(0.8, rel=1e-4)
        assert by_time.simulate(stop=10, method=method).final["x"] == pytest.approx(0.2, rel=1e-3)


def test_bands_and_waves_of_inputs() -> None:
    """Both crossings of a relation lie on one piece of the table."""
    text = (
        "model M\n input Real u;\n Integer n(start = 0, fixed = true);\n Real x(start = 0.2, fixed = true);\n"
        "equation\n der(x) = 1 - x;\n when {} then\n n = pre(n) + 1;\n end when;\nend M;\n"
    )
    for relation, times in (("(u - 0.5)^2 < 0.04", 1), ("u*(1 - u) > 0.21", 1), ("sin(100*u) > 0.5", 16)):
        model = pliant.load(text.format(relation))
        for method in ("auto", "radau5", "dopri5"):
            ramp = ([5.0, 5.01], [0.0, 1.0])
            assert model.simulate(stop=10, inputs={"u": ramp}, method=method).final["n"] == times, relation


def test_switches_as_functions_of_time() -> None:
    """Booleans and Integers given as functions jump like those of tables."""
    model = pliant.load(
        "model M\n input Boolean b;\n input Integer k;\n Real x(start = 0, fixed = true);\n"
        " discrete Real tb(start = -1, fixed = true), tk(start = -1, fixed = true);\n"
        "equation\n der(x) = if b then 1 else 0;\n when b then\n tb = time;\n end when;\n"
        " when k == 2 then\n tk = time;\n end when;\nend M;\n"
    )
    for method in ("auto", "radau5", "dopri5"):
        final = model.simulate(
            stop=3, inputs={"b": lambda t: t > 1, "k": lambda t: min(int(t), 2)}, method=method
        ).final
        assert (final["tb"], final["tk"]) == (1.0, 2.0)
        assert final["x"] == pytest.approx(2.0, rel=1e-6)
    with pytest.raises(pliant.ArgumentError, match="input k: the function changes too often"):
        model.simulate(stop=3, inputs={"k": lambda t: int(1e7 * t)})


def test_times_that_differ_by_rounding_are_one() -> None:
    text = (
        "model M\n input Boolean u, v;\n Integer n(start = 0, fixed = true);\nequation\n"
        " when {} then\n n = pre(n) + 1;\n end when;\nend M;\n"
    )
    one, other = ([0, 0.3], [0, 1]), ([0, 0.1 + 0.2], [0, 1])
    for condition in ("u and time < 0.1 + 0.2", "u and not v", "v and not u"):
        model = pliant.load(text.format(condition))
        assert model.simulate(stop=1, inputs={"u": one, "v": other}).final["n"] == 0, condition
