"""Relations of time: every crossing is an event, at its exact time, whatever the solver's steps are.

Random ones: families/time_relations.py.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import pliant

METHODS = ("auto", "bdf", "radau5", "dopri5", "rk4", "euler", "lieuler")


def load(body: str, **options: str) -> pliant.Model:
    return pliant.load(f"model M\n  {body}\nend M;\n", options=options or None)


def counting(condition: str, more: str = "") -> pliant.Model:
    return load(f"Integer n(start=0, fixed=true); {more}\nequation\n  when {condition} then n = pre(n) + 1; end when;")


def times(result: pliant.Result) -> list[float]:
    return [event.time for event in result.events]


# --------------------------------------------------------------------------------------------- named faults


@pytest.mark.parametrize("form", ["ode", "dae"])
def test_fast_carrier(form: str) -> None:
    """1 kHz pulse width modulation of a slow filter, without a state in the relation."""
    model = load(
        "Real tri; Boolean on; Real i(start=3, fixed=true);\nequation\n"
        "  tri = 2*abs(mod(time, 1e-3)/1e-3 - 0.5); on = tri < 0.3; 0.01*der(i) = (if on then 10 else 0) - i;",
        form=form,
    )
    result = model.simulate(0.1, points=10001)
    assert result["i"].mean() == pytest.approx(3.0, rel=2e-3)
    assert result.stats.n_events == 300


def test_without_states() -> None:
    result = counting("sin(5*time) > 0.9").simulate(10)
    assert result["n"][-1] == 8
    exact = [(math.asin(0.9) + 2 * math.pi * k) / 5 for k in range(8)]
    assert times(result)[::2] == pytest.approx(exact, rel=1e-14)


def test_short_pulse() -> None:
    result = load("Real y;\nequation\n  y = if abs(time - 5) < 0.005 then 1 else 0;").simulate(10)
    assert times(result) == pytest.approx([4.995, 5.005], rel=1e-15)


@pytest.mark.parametrize("method", METHODS)
def test_pulses_are_integrated(method: str) -> None:
    model = load(
        "Real x(start=0, fixed=true);\nequation\n  der(x) = if sin(2*3.141592653589793*100*time) > 0.99 then 1 else 0;"
    )
    step = 0.05 if method in ("rk4", "euler", "lieuler") else None
    result = model.simulate(1, method=method, step=step)
    assert result["x"][-1] == pytest.approx(math.acos(0.99) / math.pi, rel=1e-9)
    assert result.stats.n_events == 200


def test_an_event_is_where_its_relation_says() -> None:
    result = load("Real y;\nequation\n  y = if time >= 0.3 then 1 else 0;").simulate(1, points=[0, 0.3, 1])
    assert times(result) == [0.3]
    assert list(result["y"]) == [0, 1, 1]
    assert result.events[0].roots == ("0.3 <= time",)
    assert times(counting("time > 0.3").simulate(1)) == [0.3]


# ------------------------------------------------------------------------------------------------- no more, no less


@pytest.mark.parametrize(
    ("condition", "stop"),
    [
        ("sin(time) >= 1", 20),
        ("(time - 5)^2 <= 0", 20),
        ("abs(sin(time)) < 0", 20),
        ("sin(time)^2 + cos(time)^2 > 1 + 1e-12", 2),  # near its level everywhere: the search is long
    ],
)
def test_touching_is_no_event(condition: str, stop: float) -> None:
    assert not counting(condition).simulate(stop).events


def test_functions_that_rest_on_their_level() -> None:
    saturated = counting("min(1, 1.5*sin(time)) >= 1").simulate(20)
    first = math.asin(1 / 1.5)
    assert times(saturated)[:3] == pytest.approx([first, math.pi - first, 2 * math.pi + first])
    cut = counting("max(0, sin(time)) <= 0").simulate(20)
    assert times(cut)[1:4] == pytest.approx([math.pi, 2 * math.pi, 3 * math.pi])
    assert cut["n"][-1] == 3


def test_poles_are_crossed() -> None:
    assert times(counting("1/(time - 5) > 0").simulate(10)) == pytest.approx([5], rel=1e-15)
    assert times(counting("tan(time) > 1").simulate(3)) == pytest.approx([math.pi / 4, math.pi / 2])


def test_events_that_meet_are_one() -> None:
    """k*0.1 by a clock, by floor and by mod differ by rounding: each tick is one event."""
    model = load(
        "Integer n(start=0, fixed=true), k; Real s;\nequation\n  k = integer(time/0.1); s = mod(time, 0.1);\n"
        "  when sample(0, 0.1) then n = pre(n) + 1; end when;"
    )
    result = model.simulate(10, points=101)
    assert result.stats.n_events == 100
    assert list(result["k"]) == list(range(101))
    assert list(result["n"]) == list(range(1, 102))
    assert np.abs(result["s"]).max() < 1e-12


def test_memory_changes_what_is_ahead() -> None:
    """The relation turns back and forth against a level that it sets itself, and one that a clock sets."""
    result = load(
        "Boolean on(start=false, fixed=true); discrete Real level(start=0.5, fixed=true);"
        "Integer n(start=0, fixed=true);\nequation\n  on = sin(50*time) > (if pre(on) then -0.5 else 0.5);\n"
        "  when sample(0.5, 0.5) then level = -pre(level); end when;\n"
        "  when sin(500*time) > level then n = pre(n) + 1; end when;"
    ).simulate(1.2)
    ticks = {0.5, 1.0}
    slow = [(math.pi / 6 + k * math.pi) / 50 for k in range(20) if (math.pi / 6 + k * math.pi) / 50 < 1.2]
    seen = np.array(times(result))
    assert ticks <= set(seen)
    assert max(np.abs(seen - one).min() for one in slow) < 1e-14
    assert result["n"][-1] == math.ceil((500 * 1.2 - math.pi / 6) / (2 * math.pi))


def test_relations_in_conditions_that_are_not_defined_everywhere() -> None:
    model = load("Real z(start=0, fixed=true);\nequation\n  der(z) = if time < 1 then sqrt(1 - time) else 0;")
    for method in ("bdf", "radau5", "dopri5"):
        assert model.simulate(2, method=method, rtol=1e-8)["z"][-1] == pytest.approx(2 / 3, rel=1e-4)


def test_frequency_is_a_parameter() -> None:
    model = counting("sin(w*time + 1) > 0.9999", "parameter Real w = 1;")
    for w in (1, 50, 2000):
        stop = 20 * 2 * math.pi / w
        assert model.simulate(stop, parameters={"w": w})["n"][-1] == 20


@pytest.mark.parametrize("start", [-3.0, 1e3, 1.6e9])
def test_other_start_times(start: float) -> None:
    result = counting("cos(2*3.141592653589793*50*time) > 0.9999").simulate(start + 1, start=start)
    assert result["n"][-1] in (49, 50, 51)
    assert result.stats.n_events in (99, 100, 101)


def test_a_function_that_never_crosses_costs_little() -> None:
    model = load(
        "Integer n(start=0, fixed=true); Real x(start=1, fixed=true);\nequation\n  der(x) = -x;\n"
        "  when sin(2000*time) + cos(4000*time) > 1.9 then n = pre(n) + 1; end when;"
    )
    plain = load("Real x(start=1, fixed=true);\nequation\n  der(x) = -x;").simulate(20)
    assert model.simulate(20).stats.n_steps == plain.stats.n_steps


# ---------------------------------------------------------------------------------- relations of states and time


@pytest.mark.parametrize("method", ["bdf", "radau5", "dopri5"])
@pytest.mark.parametrize(
    ("condition", "equations", "n"),
    [
        ("x + 0.5 > sin(1000*time)", "Real x(start=0, fixed=true); equation der(x) = 0.1;", 159),
        ("sin(x) > 0.999", "Real x(start=0, fixed=true); equation der(x) = 1000;", 159),
        ("x > 2*abs(mod(time, 0.01)/0.01 - 0.5)", "Real x(start=0.01, fixed=true); equation der(x) = 0;", 100),
    ],
)
def test_states_against_fast_functions(method: str, condition: str, equations: str, n: int) -> None:
    model = load(f"Integer n(start=0, fixed=true); {equations}\n  when {condition} then n = pre(n) + 1; end when;")
    assert model.simulate(1, method=method)["n"][-1] == n


def test_inputs_against_a_carrier() -> None:
    model = load(
        "input Real u; Integer n(start=0, fixed=true);\nequation\n"
        "  when u > sin(1000*time) then n = pre(n) + 1; end when;"
    )
    assert model.simulate(1, inputs={"u": 0.999})["n"][-1] == 159
    assert model.simulate(1, inputs={"u": ([0, 1], [0.9, 0.999])})["n"][-1] == 159


# ----------------------------------------------------------------------------------------------- false alarms


@pytest.mark.parametrize("method", ["bdf", "radau5", "dopri5"])
def test_a_clock_in_a_run_without_end(method: str) -> None:
    model = load(
        "Real x(start=0, fixed=true); discrete Real d(start=0, fixed=true); Integer n(start=0, fixed=true);\nequation\n"
        "  der(x) = d - x; when sample(0, 1e-3) then d = 1 - pre(d); n = pre(n) + 1; end when;\n"
        '  when n >= 1500 then terminate("enough"); end when;'
    )
    result = model.simulate(1e9, method=method, points=2)
    assert result.time[-1] == pytest.approx(1.499)


def test_states_that_switch_in_a_run_without_end() -> None:
    """A thermostat that switches every 10 ms is no chatter because the end is far away."""
    model = load(
        "Real x(start=0, fixed=true); Boolean on(start=true, fixed=true); Integer n(start=0, fixed=true);\nequation\n"
        "  on = if pre(on) then x < 0.01 else x < 0; der(x) = if on then 1 else -1;\n"
        "  when change(on) then n = pre(n) + 1; end when;\n"
        '  when n >= 1500 then terminate("enough"); end when;'
    )
    assert model.simulate(1e8, points=2).time[-1] == pytest.approx(15, rel=1e-3)


@pytest.mark.parametrize("method", ["bdf", "radau5", "dopri5"])
@pytest.mark.parametrize("condition", ["sample(0, 0.05)", "x > 0.05", "time >= pre(next)"])
def test_resets_long_after_the_epoch(method: str, condition: str) -> None:
    model = load(
        "Real x(start=0, fixed=true); Integer n(start=0, fixed=true); "
        "discrete Real next(start=1600000000.05, fixed=true);\nequation\n  der(x) = 1;\n"
        f"  when {condition} then reinit(x, 0); n = pre(n) + 1; next = pre(next) + 0.05; end when;"
    )
    result = model.simulate(1.6e9 + 10, start=1.6e9, method=method, points=2)
    assert abs(result["n"][-1] - 200) <= 1


def test_fast_clocks_long_after_the_epoch() -> None:
    model = load("Integer n(start=0, fixed=true);\nequation\n  when sample(0, 1e-3) then n = pre(n) + 1; end when;")
    assert abs(model.simulate(1.6e9 + 1, start=1.6e9, points=2)["n"][-1] - 1000) <= 1


@pytest.mark.parametrize("method", ["auto", "dopri5"])
@pytest.mark.parametrize(
    ("condition", "count"),
    [
        ("mod(rem(2.7*sin(3.609*time - 0.989), 1.467), 1.155) > 0.5705", 16),
        ("integer(rem(rem(2.7*sin(-3.361*time - 0.231), 0.25), 0.54)) > -0.5", 2),
        ("mod(mod(-1.31*time, 2), 1) > 0.5", 4),
        ("integer(v) > 0.5", 2),
    ],
)
def test_whole_numbers_inside_each_other(method: str, condition: str, count: int) -> None:
    """What is left over jumps from one end of its range to the other, and is never outside or between."""
    model = counting(condition, "Real v = mod(floor(2.486*time + 0.977), 1.3);")
    assert model.simulate(3.0, method=method).final["n"] == count


@pytest.mark.parametrize(("period", "count"), [(0.3, 23), (0.7, 14), (0.1, 57)])
def test_ticks_at_the_end(period: float, count: int) -> None:
    """A tick and the end are one where they differ by rounding, on whichever side."""
    model = counting(f"sample(0, {period})")
    end = count * period
    for stop in (end, round(end, 9), np.nextafter(end, 0), np.nextafter(end, 99), end - 1e-12, end + 1e-12):
        result = model.simulate(float(stop))
        assert result.final["n"] == count + 1
        assert result["n"][-1] == count + 1
    assert model.simulate(end - 1e-6).final["n"] == count
