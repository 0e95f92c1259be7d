"""Mixed loops: ideal diodes, thyristors, switches and dry friction, whose modes have to be searched for."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest
from families import RIGHT, guards, modes
from scipy.integrate import solve_ivp
from support_modelica import flat, model_of

import pliant

FORMS = ("auto", "dae")
METHODS = ("bdf", "radau5", "auto")


DIODE = """  model Diode
    parameter Real Ron = 1e-5, Goff = 1e-5;
    Real s, v, i;
    Boolean off;
  equation
    off = s < 0;
    v = s*(if off then 1 else Ron);
    i = s*(if off then Goff else 1);
  end Diode;
"""


BRIDGE = (
    DIODE
    + """  parameter Real ri = 0.1, r = 10, c = 1e-3, amplitude = 20;
  Diode d1, d2, d3, d4;
  Real a, b, v(start = 0, fixed = true), i;
equation
  a - b = amplitude*sin(100*3.141592653589793*time) - ri*i;
  d1.v = a - v; d2.v = b - v; d3.v = -a; d4.v = -b;
  i = d1.i - d3.i; -i = d2.i - d4.i; c*der(v) = d1.i + d2.i - v/r;"""
)


def bridge_exact(ri: float, r: float, c: float, amplitude: float, stop: float) -> float:
    """Lossless diodes: charged through ri while |u| > v. Losses of 1e-5 change it by less than 1e-4."""

    def f(t: float, v: Any) -> Any:
        return (max((abs(amplitude * np.sin(100 * np.pi * t)) - v[0]) / ri, 0.0) - v[0] / r) / c

    return float(solve_ivp(f, (0, stop), [0.0], method="LSODA", rtol=1e-8, atol=1e-10, max_step=2e-5).y[0, -1])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("method", METHODS)
def test_bridge_rectifier(method: str, form: str) -> None:
    result = model_of(BRIDGE, form=form).simulate(stop=0.1, method=method, rtol=1e-7)
    assert result["v"][-1] == pytest.approx(bridge_exact(0.1, 10.0, 1e-3, 20.0, 0.1), rel=5e-4)
    assert 0.1 < np.mean(result["d1.off"] < 0.5) < 0.4


@pytest.mark.parametrize(("ri", "r", "c"), [(0.01, 10, 1e-3), (0.1, 100, 1e-3), (1, 10, 1e-4), (0.05, 5, 5e-3)])
def test_variants_of_the_bridge(ri: float, r: float, c: float) -> None:
    for amplitude in (20.0, 325.0):
        values = {"ri": ri, "r": r, "c": c, "amplitude": amplitude}
        result = model_of(BRIDGE).simulate(stop=0.06, rtol=1e-7, parameters=values)
        exact = bridge_exact(ri, r, c, amplitude, 0.06)
        assert result["v"][-1] == pytest.approx(exact, rel=2e-3)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("ron", [1e-5, 2e-5])
def test_diodes_in_parallel_share_the_current(ron: float, form: str) -> None:
    body = (
        DIODE
        + f"""  Diode d1, d2(Ron = {ron});
  Real a, v(start = 0, fixed = true);
equation
  d1.v = a - v; d2.v = a - v; a = 10*sin(100*time) - 0.1*(d1.i + d2.i); 1e-3*der(v) = d1.i + d2.i - v/10;"""
    )
    result = model_of(body, form=form).simulate(stop=0.2, rtol=1e-7, points=2001)
    assert result["v"].max() == pytest.approx(9.9, abs=0.02)
    on = result["d1.i"] > 0.1
    assert on.any()
    assert result["d1.i"][on] / result["d2.i"][on] == pytest.approx(ron / 1e-5, rel=1e-6)


@pytest.mark.parametrize("form", FORMS)
def test_diodes_in_series_share_the_voltage(form: str) -> None:
    body = (
        DIODE
        + """  Diode d1, d2(Goff = 3e-5);
  Real v(start = 0, fixed = true);
equation
  d1.v + d2.v = 10*sin(100*time) - v - 0.1*d1.i; d1.i = d2.i; 1e-3*der(v) = d1.i - v/10;"""
    )
    result = model_of(body, form=form).simulate(stop=0.2, rtol=1e-7)
    off = result["d1.s"] < -1.0
    assert off.any()
    assert result["d1.s"][off] / result["d2.s"][off] == pytest.approx(3.0, rel=1e-6)


def test_thyristor_waits_for_its_pulse() -> None:
    body = """  Real s, i, x(start = 0, fixed = true); Boolean off(start = true, fixed = true), fire;
  discrete Real at(start = -1, fixed = true);
equation
  when sample(0.003, 0.02) then at = time; end when; fire = time < at + 0.001;
  off = s < 0 or pre(off) and not fire;
  100*sin(100*3.141592653589793*time) = s*(if off then 1 else 1e-4) + 10*i; i = s*(if off then 1e-6 else 1);
  der(x) = i;"""
    result = model_of(body).simulate(stop=0.1, rtol=1e-8, points=10001)
    angle = 0.003 * 100 * np.pi
    exact = 5 * (100 / 10.0001) * (1 + np.cos(angle)) / (100 * np.pi)
    assert result["x"][-1] == pytest.approx(exact, rel=1e-4)


@pytest.mark.parametrize("form", FORMS)
def test_start_between_modes(form: str) -> None:
    """At the start the modes depend on states that initial equations determine."""
    body = (
        DIODE
        + """  Diode d1, d2;
  Real v(start = 100), w(start = -50);
initial equation
  der(v) = 0; der(w) = 0;
equation
  d1.v = 10 - d1.i - v; d2.v = w - v; 1e-3*der(v) = d1.i + d2.i - v/10; 1e-3*der(w) = -d2.i - (w - 4)/5;"""
    )
    result = model_of(body, form=form).simulate(stop=0.01, rtol=1e-8)
    assert result["v"] == pytest.approx(100 / 11, rel=1e-4)
    assert result["w"] == pytest.approx(4.0, rel=1e-3)


def test_relations_that_cannot_agree_are_named() -> None:
    body = "  Real x(start = 0, fixed = true), y;\nequation\n  der(x) = y; y = if y < 0.5*x + 0.1 then 1 else -1;"
    with pytest.raises(pliant.PliantError, match=r"back and forth: y < .*model.mo:4"):
        model_of(body).simulate(stop=1)


def test_modes_that_end_are_named_at_their_event() -> None:
    body = """  Real x(start = 0, fixed = true), y;
equation
  der(x) = 1; y = if y < (if time < 0.5 then -5 else 0) then 1 else -1;"""
    with pytest.raises(pliant.PliantError, match=r"at t = 0\.5.*back and forth: y < ") as error:
        model_of(body).simulate(stop=1)
    assert error.value.result.time[-1] == pytest.approx(0.5, abs=0.01)


def test_the_nearest_of_several_modes_is_kept() -> None:
    """Both sides agree between -1 and 1: the relation stays until it has to turn."""
    body = """  Real x, y, z(start = 0, fixed = true);
equation
  x = 2*sin(time); y = x + (if y < 0 then -1 else 1); der(z) = 1;"""
    result = model_of(body).simulate(stop=9.0, rtol=1e-8)
    turns = [event.time for event in result.events]
    assert turns == pytest.approx([np.pi + np.pi / 6, 2 * np.pi + np.pi / 6], abs=1e-7)


def test_states_at_rest_do_not_hide_what_time_does() -> None:
    """Steps grow without bound while a block sticks; the force breaks it loose for a short time all the same."""
    body = """  Real v(start = 0, fixed = true), s, h; Integer mode(start = 0, fixed = true); Boolean fwd, bwd, locked;
equation
  fwd = pre(mode) == 0 and s > 1; bwd = pre(mode) == 0 and s < -1; locked = not (pre(mode) <> 0 or fwd or bwd);
  der(v) = if locked then 0 else if fwd or pre(mode) == 1 and not bwd then s - 1 else s + 1;
  h = if locked then s else if fwd or pre(mode) == 1 and not bwd then 1 else -1;
  mode = if (pre(mode) == 1 or fwd) and v > 0 then 1 else if (pre(mode) == -1 or bwd) and v < 0 then -1 else 0;
  der(v) = 1.05*sin(3*time) - h;"""
    result = model_of(body).simulate(stop=20.0, rtol=1e-7, points=20001)
    moving = np.abs(result["v"]) > 1e-6
    assert np.sum(np.diff(moving.astype(int)) == 1) == pytest.approx(19, abs=1)  # twice a period


def test_steps_of_ordinary_models_are_the_same() -> None:
    """A search that is not needed costs nothing: one pass at an event."""
    body = "  Real x(start = 1, fixed = true);\nequation\n  der(x) = if x > 0.5 then -1 else -0.1;"
    result = model_of(body).simulate(stop=2, rtol=1e-6, method="bdf")
    assert result.stats.n_events == 1
    assert flat(body).relations


def test_relations_inside_relations_are_named_as_the_model_says_them() -> None:
    body = "  Real x(start = 1, fixed = true), y;\nequation\n  der(x) = -1;\n"
    body += "  y = if (if x > 0.5 then 1 else y) > 0 then -1 else 1;"
    with pytest.raises(pliant.ModelEvaluationError, match=r"0 < if 0\.5 < x then 1 else y"):
        model_of(body).simulate(stop=1)


@pytest.mark.parametrize(("family", "seed"), [(modes, 159), (modes, 234), (guards, 378)], ids=["159", "234", "378"])
def test_rounding_and_infinite_slopes_after_events(family: ModuleType, seed: int) -> None:
    """Bodies that stick, with speeds of rounding error; lieuler that begins at an event where J is all but infinite."""
    outcome = family.check(seed)
    assert outcome.verdict == RIGHT, outcome.detail


def test_a_relay_without_hysteresis_is_not_held_for_ever() -> None:
    model = model_of("Real x(start = 1, fixed = true);\nequation\n  der(x) = if x > 0 then -1 else 1;")
    with pytest.raises(pliant.ChatterError):
        model.simulate(stop=3.0)


TWO_BRAKES = """model M
  Real w(start = 0, fixed = true), a, t[2], s[2]; Boolean f[2], b[2], l[2];
  Integer m[2](each start = 3, each fixed = true);
  parameter Real h[2] = {5, 10};
equation
  a = der(w); a = 20*time - t[1] - t[2];
  for k in 1:2 loop
    f[k] = pre(m[k]) == 0 and (s[k] > h[k] or pre(f[k]) and s[k] > h[k]) or initial() and w > 0;
    b[k] = pre(m[k]) == 0 and (s[k] < -h[k] or pre(b[k]) and s[k] < -h[k]) or initial() and w < 0;
    l[k] = not (pre(m[k]) == 1 or f[k] or pre(m[k]) == -1 or b[k]);
    a = if l[k] then 0 else if f[k] then s[k] - h[k] else if b[k] then s[k] + h[k]
      else if pre(m[k]) == 1 then s[k] - h[k] else s[k] + h[k];
    t[k] = if l[k] then s[k] else if f[k] then h[k] else if b[k] then -h[k] else if pre(m[k]) == 1 then h[k] else -h[k];
    m[k] = if (pre(m[k]) == 1 or f[k]) and w > 0 then 1 else if (pre(m[k]) == -1 or b[k]) and w < 0 then -1 else 0;
  end for;
end M;"""


@pytest.mark.parametrize("method", ["bdf", "radau5"])
def test_forces_that_are_not_unique_have_least_norm(method: str) -> None:
    """Two brakes on one shaft: both share what it takes while they hold, then one is at its limit, then both slip."""
    result = pliant.load(TWO_BRAKES).simulate(stop=2.0, points=201, method=method)
    time = result.time
    early, late = (time > 0.0) & (time < 0.49), time > 0.76
    np.testing.assert_allclose(result["t[1]"][early], 10 * time[early], atol=1e-9)
    np.testing.assert_allclose(result["t[2]"][early], 10 * time[early], atol=1e-9)
    np.testing.assert_allclose(result["t[1]"][late], 5.0, atol=1e-9)
    np.testing.assert_allclose(result["t[2]"][late], 10.0, atol=1e-9)
    exact = np.where(time > 0.75, 10 * (time**2 - 0.5625) - 15 * (time - 0.75), 0.0)
    np.testing.assert_allclose(result["w"], exact, atol=1e-5)


def test_equations_that_contradict_each_other_in_a_mode_are_named() -> None:
    text = """model M Real x, y; Boolean b = time > 0.5;
equation x + y = 1; x + (if b then 1 else 2)*y = 3; end M;"""
    with pytest.raises(pliant.SolverError, match="loop of 2 equations"):
        pliant.load(text).simulate(stop=1.0)
