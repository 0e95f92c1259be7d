"""Couplings that grow by themselves are noticed; sampled outputs are held; ticks see what was exchanged."""

from __future__ import annotations

import numpy as np
import pytest

import pliant

LEFT = """model Left
  input Real f;
  output Real x(start = 1, fixed = true);
  output Real v(start = 0, fixed = true);
equation
  der(x) = v;
  der(v) = -x - 0.05*v + f;
end Left;
"""
RIGHT = """model Right
  input Real x1;
  output Real f;
  Real x(start = 0, fixed = true), v(start = 0, fixed = true);
equation
  der(x) = v;
  0.5*der(v) = -x - 0.05*v - f;
  f = x - x1;
end Right;
"""
UNSTABLE = """model Unstable
  input Real u;
  output Real y(start = 1, fixed = true);
equation
  der(y) = 0.3*y + u;
end Unstable;
"""
LAG = """model Lag
  input Real u;
  output Real y(start = 0, fixed = true);
equation
  der(y) = 0.1*u - y;
end Lag;
"""
CONTROLLER = """model Controller
  input Real y;
  discrete Real s(start = 0, fixed = true);
  output Real u;
equation
  when sample(0, 0.1) then
    s = -2*(y - 1);
  end when;
  u = 3*s;
end Controller;
"""
PLANT = """model Plant
  input Real u;
  output Real y(start = 0, fixed = true);
  Real v(start = 0, fixed = true);
equation
  der(y) = v;
  der(v) = -y - 1.5*v + u;
end Plant;
"""
WHOLE = """model Whole
  Real y(start = 0, fixed = true), v(start = 0, fixed = true);
  discrete Real s(start = 0, fixed = true);
equation
  der(y) = v;
  der(v) = -y - 1.5*v + 3*s;
  when sample(0, 0.1) then
    s = -2*(y - 1);
  end when;
end Whole;
"""
SAMPLER = """model Sampler
  input Real y;
  discrete Real d(start = 0, fixed = true);
  Real x(start = 0, fixed = true);
equation
  when sample(0, 0.1) then
    d = y;
  end when;
  der(x) = y;
end Sampler;
"""


def oscillators() -> pliant.Coupling:
    coupling = pliant.Coupling()
    coupling.add("a", pliant.load(LEFT))
    coupling.add("b", pliant.load(RIGHT))
    coupling.connect("a.x", "b.x1")
    coupling.connect("b.f", "a.f")
    return coupling


@pytest.mark.parametrize("extrapolation", [0, 1, 2])
def test_growth_of_the_coupling_is_noticed(extrapolation: int) -> None:
    coupling = oscillators()
    loose = coupling.simulate(stop=200, step=1.0, extrapolation=extrapolation, watch=False)
    assert np.abs(loose["a.x"]).max() > 100
    with pytest.raises(pliant.AccuracyError, match="grows although its parts do not") as found:
        coupling.simulate(stop=200, step=1.0, extrapolation=extrapolation)
    assert found.value.result is not None
    assert np.abs(found.value.result["a.x"]).max() < 30
    assert "step=" in str(found.value.hint)
    assert found.value.names[0] in ("b.f -> a.f", "a.x -> b.x1")


def test_a_stable_coupling_is_left_alone() -> None:
    """The same bits with and without the look."""
    seen = oscillators().simulate(stop=20, step=0.1)
    alone = oscillators().simulate(stop=20, step=0.1, watch=False)
    assert np.array_equal(seen["a.x"], alone["a.x"])


def test_a_model_that_grows_by_itself_is_left_alone() -> None:
    coupling = pliant.Coupling()
    coupling.add("a", pliant.load(UNSTABLE))
    coupling.add("b", pliant.load(LAG))
    coupling.connect("a.y", "b.u")
    coupling.connect("b.y", "a.u")
    run = coupling.simulate(stop=40, step=0.1)
    rate = np.linalg.eigvals([[0.3, 1.0], [0.1, -1.0]]).max()
    assert run["a.y"][-1] / run["a.y"][-11] == pytest.approx(np.exp(rate), rel=1e-3)


@pytest.mark.parametrize("scheme", ["jacobi", "gauss-seidel"])
@pytest.mark.parametrize("extrapolation", [0, 1, 2])
@pytest.mark.parametrize("first", ["p", "c"])
def test_a_sampled_loop_is_that_of_one_model(scheme: str, extrapolation: int, first: str) -> None:
    coupling = pliant.Coupling()
    texts = {"p": PLANT, "c": CONTROLLER}
    for name in (first, "c" if first == "p" else "p"):
        coupling.add(name, pliant.load(texts[name]))
    coupling.connect("p.y", "c.y")
    coupling.connect("c.u", "p.u")
    run = coupling.simulate(stop=5, step=0.1, scheme=scheme, extrapolation=extrapolation, rtol=1e-8)
    whole = pliant.load(WHOLE).simulate(stop=5, points=run.time, rtol=1e-9)
    assert run["p.y"] == pytest.approx(whole["y"], abs=1e-6)
    assert run["c.u"] == pytest.approx(3 * whole["s"], abs=1e-6)


@pytest.mark.parametrize("step", [0.1, 0.05, 0.2, 0.5])
@pytest.mark.parametrize("jump", [0.3, 0.5, 0.55, 1.0])
def test_a_tick_at_a_jump_sees_the_value_after_it(step: float, jump: float) -> None:
    coupling = pliant.Coupling()
    coupling.add("c", pliant.load(SAMPLER))
    given = ([0.0, jump, jump, 2.0], [0.0, 0.0, 5.0, 5.0])
    run = coupling.simulate(stop=1.0, step=step, inputs={"c.y": given})
    alone = pliant.load(SAMPLER).simulate(stop=1.0, points=run.time, inputs={"y": given})
    assert run["c.d"].tolist() == alone["d"].tolist()
    assert run["c.x"] == pytest.approx(alone["x"], abs=1e-6)


COUNTER = """model Counter
  input Real u;
  input Boolean b;
  Integer n(start = 0, fixed = true);
  output Boolean high;
  Real x(start = 0, fixed = true);
equation
  der(x) = u;
  when u > 2 then
    n = pre(n) + 1;
  end when;
  high = u > 2 and b;
end Counter;
"""


@pytest.mark.parametrize("method", ["bdf", "radau5", "dopri5"])
def test_jumps_set_off_when_clauses_at_the_point_where_they_are(method: str) -> None:
    given = {"u": ([0.0, 0.3, 0.3, 0.6, 0.6, 0.8, 0.8, 2.0], [0, 0, 5, 5, 0, 0, 5, 5]), "b": ([0, 0.8], [False, True])}
    coupling = pliant.Coupling()
    coupling.add("c", pliant.load(COUNTER))
    run = coupling.simulate(
        stop=1.0, step=0.1, method=method, inputs={f"c.{name}": value for name, value in given.items()}
    )
    assert run["c.n"].tolist() == [0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 2]
    alone = pliant.load(COUNTER).simulate(stop=1.0, points=run.time, inputs=given)
    assert run["c.n"].tolist() == alone["n"].tolist()
    assert run["c.high"].tolist() == alone["high"].tolist()
    assert run["c.x"] == pytest.approx(alone["x"], abs=1e-5)


def test_watch_is_checked() -> None:
    with pytest.raises(pliant.ArgumentError, match="watch must be one of"):
        oscillators().simulate(stop=1, step=0.1, watch="yes")  # type: ignore[arg-type]
