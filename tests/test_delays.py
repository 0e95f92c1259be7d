"""delay(expr, T): method of steps, jumps that arrive as events, delays that change, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import pliant

STEPS = (
    "model M\n  parameter Real T = 1;\n  Real x(start = 1, fixed = true);\nequation\n  der(x) = -delay(x, T);\nend M;"
)


def exact(t: float, delay: float) -> float:
    """x' = -x(t - T), x = 1 up to t = 0: sum of (-1)^k (t - (k - 1) T)^k / k!"""
    terms = range(int(t / delay) + 2)
    return sum((-1.0) ** k * max(t - (k - 1) * delay, 0.0) ** k / math.factorial(k) if k else 1.0 for k in terms)


@pytest.fixture(scope="module")
def steps() -> pliant.Model:
    return pliant.load(STEPS)


@pytest.mark.parametrize(
    ("method", "given", "error"),
    [
        ("bdf", {"rtol": 1e-8}, 1e-7),
        ("radau5", {"rtol": 1e-8}, 1e-7),
        ("dopri5", {"rtol": 1e-8}, 1e-8),
        ("auto", {"rtol": 1e-8}, 1e-7),
        ("rk4", {"step": 0.01}, 1e-9),
        ("euler", {"step": 0.01}, 1e-2),
        ("lieuler", {"step": 0.01}, 1e-2),
    ],
)
def test_method_of_steps(steps: pliant.Model, method: str, given: dict[str, float], error: float) -> None:
    result = steps.simulate(stop=5.0, method=method, **given)  # type: ignore[arg-type]
    assert max(abs(x - exact(t, 1.0)) for t, x in zip(result.time, result["x"], strict=True)) < error


@pytest.mark.parametrize("delay", [0.3, 0.77, 2.0])
def test_the_delay_is_a_parameter(steps: pliant.Model, delay: float) -> None:
    result = steps.simulate(stop=3.0, rtol=1e-8, parameters={"T": delay})
    assert max(abs(x - exact(t, delay)) for t, x in zip(result.time, result["x"], strict=True)) < 1e-6


def test_random_linear_equations_with_two_delays() -> None:
    rng = np.random.default_rng(3)
    for _ in range(3):
        a, b, c = rng.uniform(-1.5, 0.5, 3)
        first, second = rng.uniform(0.3, 1.2, 2)
        text = (
            f"model M\n  Real x(start = 1, fixed = true);\nequation\n"
            f"  der(x) = ({a})*x + ({b})*delay(x, {first}) + ({c})*delay(x, {second}) + sin(time);\nend M;"
        )
        found = pliant.load(text).simulate(stop=3.0, rtol=1e-8)["x"][-1]
        assert found == pytest.approx(by_stages(a, b, c, first, second), abs=1e-6)


def by_stages(a: float, b: float, c: float, first: float, second: float) -> float:
    """Stage by stage, each shorter than both delays, over the dense solution of those before it."""
    parts: list[tuple[float, object]] = []

    def past(t: float) -> float:
        for begin, solution in reversed(parts):
            if t >= begin:
                return float(solution(t)[0])  # type: ignore[operator]
        return 1.0

    kinks = sorted({round(i * first + j * second, 12) for i in range(12) for j in range(12)} | {3.0})
    t, x = 0.0, 1.0
    for end in [one for one in kinks if 0.0 < one <= 3.0]:
        found = solve_ivp(
            lambda s, y: a * y + b * past(s - first) + c * past(s - second) + np.sin(s),
            (t, end),
            [x],
            rtol=1e-10,
            atol=1e-12,
            dense_output=True,
        )
        parts.append((t, found.sol))
        t, x = end, float(found.y[0][-1])
    return x


def test_jumps_arrive_as_events() -> None:
    text = """
model M
  parameter Real T = 0.5;
  Real u, y, z(start = 0, fixed = true);
  Boolean b;
equation
  u = if time < 1 then 0 else sin(time);
  y = delay(u, T);
  der(z) = y;
  b = y > 0.5;
end M;
"""
    result = pliant.load(text).simulate(stop=4.0, rtol=1e-8, parameters={"T": 0.7})
    np.testing.assert_allclose(result["y"], np.where(result.time < 1.7, 0.0, np.sin(result.time - 0.7)), atol=1e-6)
    assert result["z"][-1] == pytest.approx(math.cos(1.0) - math.cos(3.3), abs=1e-7)
    assert any(abs(event.time - 1.7) < 1e-9 for event in result.events)


def test_delays_that_change_and_are_shorter_than_steps() -> None:
    text = """
model M
  Real x(start = 1, fixed = true), y[2] = {time, 2*time}, z[2] = delay(y, 1e-6);
equation
  der(x) = -x + delay(y[1], 0.001 + 0.1*x, 1);
end M;
"""
    result = pliant.load(text).simulate(stop=4.0, rtol=1e-8, points=9)

    def f(t: float, x: np.ndarray) -> np.ndarray:
        return -x + max(0.0, t - 0.001 - 0.1 * float(x[0]))

    peer = solve_ivp(f, (0.0, 4.0), [1.0], rtol=1e-10, atol=1e-12)
    assert result["x"][-1] == pytest.approx(peer.y[0][-1], abs=1e-6)
    np.testing.assert_allclose(result["z[2]"][1:], 2.0 * (result.time[1:] - 1e-6), rtol=1e-9)


def test_a_loop_through_a_delay() -> None:
    text = "model M\n  Real y;\nequation\n  y = 0.5*delay(y, 1) + 1;\nend M;"
    result = pliant.load(text).simulate(stop=3.5)
    assert result["y"][0] == pytest.approx(2.0)  # before the start y is what it is then


def test_bad_delays() -> None:
    with pytest.raises(pliant.ModelError, match=r"delay\(...\) is -1"):
        pliant.load("model M\n  Real x = time, y = delay(x, -1);\nend M;")
    with pytest.raises(pliant.ModelEvaluationError, match="negative"):
        pliant.load("model M\n  Real x = time, y = delay(x, 1 - time, 2);\nend M;").simulate(stop=3.0)


def test_a_pickled_model_and_many_runs(steps: pliant.Model) -> None:
    study = steps.simulate_many([{"parameters": {"T": 1.0}}, {"parameters": {"T": 0.5}}], stop=2.0, rtol=1e-8)
    ends = [one["x"][-1] for one in study]
    assert ends == pytest.approx([exact(2.0, 1.0), exact(2.0, 0.5)], abs=1e-6)


@pytest.mark.parametrize("delay", [0.125, 0.1, 0.001])
def test_a_jump_that_arrives_together_with_an_event_of_time(delay: float) -> None:
    """Both are at one time: the jump brings integer(...) onto a whole number, and another relation turns there."""
    result = pliant.load(
        f"""model M
  Integer k(start = 1, fixed = true), late(start = 1, fixed = true), seen(start = 0, fixed = true);
  Boolean high; Real was; discrete Real due(start = 10, fixed = true);
equation
  when sample(0.5, 0.5) then k = 3 - pre(k); end when;
  was = pre(k);
  late = integer(delay(was, {delay}));
  high = delay(was, {delay}) >= 2;
  when change(k) then due = time + {delay}; end when;
  when time >= pre(due) then seen = k; end when;
end M;"""
    ).simulate(2.4, points=[0.25, 0.501 + delay, 0.9, 1.001 + delay, 1.4, 1.501 + delay, 2.001 + delay])
    np.testing.assert_array_equal(result["late"], [1, 2, 2, 1, 1, 2, 1])
    np.testing.assert_array_equal(result["high"], [0, 1, 1, 0, 0, 1, 0])
    np.testing.assert_array_equal(result["seen"], [0, 2, 2, 1, 1, 2, 1])


@pytest.mark.parametrize("method", ["bdf", "radau5", "dopri5"])
def test_what_no_state_follows_is_as_accurate(method: str) -> None:
    """Steps are as long as they may be, and events cut them: between their ends there are points, too."""
    text = """
model M
  parameter Real T = 0.7;
  Real x(start = 1, fixed = true), y = delay(sin(6*time), T), z = delay(x, T);
  Integer n(start = 0, fixed = true);
equation
  der(x) = -0.01*x;
  when sample(0.13, 0.17) then n = pre(n) + 1; end when;
end M;
"""
    result = pliant.load(text).simulate(stop=3.0, rtol=1e-8, method=method, points=61)
    late = np.maximum(result.time - 0.7, 0.0)
    np.testing.assert_allclose(result["y"], np.sin(6.0 * late), atol=2e-5)
    np.testing.assert_allclose(result["z"], np.exp(-0.01 * late), atol=1e-8)
