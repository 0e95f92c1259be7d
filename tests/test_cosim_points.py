"""Events between parts: macro steps end at ticks, at early returns; event mode sees the values that were exchanged."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support_cosim import text_model
from support_fmus import CS, fmu
from test_cosim_trust import CONTROLLER, PLANT, WHOLE

import pliant
from pliant.cosim.fmu_part import FmuPart


@cache
def whole() -> pliant.Result:
    return text_model(WHOLE).simulate(stop=1.5, points=16, rtol=1e-9)


def loop(plant: pliant.Model, controller: pliant.Model, **arguments: Any) -> pliant.CouplingResult:
    coupling = pliant.Coupling()
    coupling.add("p", plant)
    coupling.add("c", controller)
    coupling.connect("p.y", "c.y")
    coupling.connect("c.u", "p.u")
    return coupling.simulate(stop=1.5, rtol=1e-8, **arguments)


def check(run: pliant.CouplingResult) -> None:
    """At ticks, which are communication points."""
    found = [int(np.argmin(np.abs(run.time - t))) for t in whole().time]
    assert run.time[found] == pytest.approx(whole().time, abs=1e-9)
    assert run["p.y"][found] == pytest.approx(whole()["y"], abs=1e-6)
    assert run["c.u"][found] == pytest.approx(3 * whole()["s"], abs=1e-6)


@pytest.mark.parametrize("scheme", ["jacobi", "gauss-seidel"])
@pytest.mark.parametrize(("step", "degree"), [(0.07, 2), (0.35, 0), ("auto", 1)])
def test_macro_steps_end_at_ticks(scheme: str, step: Any, degree: int) -> None:
    run = loop(text_model(PLANT), text_model(CONTROLLER), step=step, scheme=scheme, extrapolation=degree)
    check(run)
    assert "event" in run.macro.why
    if step == "auto":
        assert len(run.macro) < 60  # the controller does not look at y between ticks: its error does not count


@pytest.mark.parametrize("scheme", ["jacobi", "gauss-seidel"])
@pytest.mark.parametrize("step", [0.1, 0.07, "auto"])
def test_event_mode_sees_what_was_exchanged(scheme: str, step: Any, tmp_path: Path) -> None:
    """A sampled controller as an FMU of FMI 3: its ticks are announced, and take place with the values there."""
    file = text_model(CONTROLLER).export_fmu(tmp_path / "c.fmu", version="3.0", sources=False)
    with pliant.load(file, kind=CS) as controller:
        check(loop(text_model(PLANT), controller, step=step, scheme=scheme))


def test_fmi2_is_one_step_behind(tmp_path: Path) -> None:
    """FMI 2 does not tell of ticks: the FMU samples what it had during its step. First order in the macro step."""
    file = text_model(CONTROLLER).export_fmu(tmp_path / "c.fmu", version="2.0", sources=False)
    with pliant.load(file, kind=CS) as controller:
        errors = []
        for step in (0.02, 0.01, 0.005):
            run = loop(text_model(PLANT), controller, step=step, extrapolation=0)
            found = [int(np.argmin(np.abs(run.time - t))) for t in whole().time]
            errors.append(float(np.abs(run["p.y"][found] - whole()["y"]).max()))
        assert errors[0] / errors[1] == pytest.approx(2.0, rel=0.3)
        assert errors[1] / errors[2] == pytest.approx(2.0, rel=0.3)


FOLLOWER = """
model Follower
  input Real x;
  Real z(start = 0, fixed = true);
equation
  der(z) = x;
end Follower;
"""


@pytest.mark.parametrize("scheme", ["jacobi", "gauss-seidel"])
@pytest.mark.parametrize("step", [0.3, "auto"])
def test_early_returns_shorten_macro_steps(scheme: str, step: Any) -> None:
    """The sawtooth falls at 1, 2, 3: its steps end there, and so do those of the others."""
    coupling = pliant.Coupling()
    coupling.add("saw", pliant.load(fmu("sawtooth", "3.0"), kind=CS))
    coupling.add("sum", text_model(FOLLOWER))
    coupling.connect("saw.x", "sum.x")
    run = coupling.simulate(stop=3.4, step=step, scheme=scheme, inputs={"saw.u": 1.0})
    for fall in (1.0, 2.0, 3.0):
        k = int(np.flatnonzero(run.time < fall + 1e-6)[-1])
        assert run.time[k] == pytest.approx(fall, abs=1e-6)
        assert run["saw.x"][k] == pytest.approx(0.0, abs=1e-6)  # after the event
    assert run.macro.why.count("early") == 3
    if step == "auto":
        assert run["sum.z"][-1] == pytest.approx(3 * 0.5 + 0.08, abs=2e-3)


def saws(**arguments: Any) -> pliant.CouplingResult:
    """Two sawtooths that fall at 1, 2, 3 and at 1/0.7, 2/0.7, and the sum of both."""
    coupling = pliant.Coupling()
    for name in ("one", "two"):
        coupling.add(name, pliant.load(fmu("sawtooth", "3.0"), kind=CS))
        coupling.add(f"sum_{name}", text_model(FOLLOWER))
        coupling.connect(f"{name}.x", f"sum_{name}.x")
    return coupling.simulate(stop=3.4, inputs={"one.u": 1.0, "two.u": 0.7}, **arguments)


@pytest.mark.parametrize("scheme", ["jacobi", "gauss-seidel"])
@pytest.mark.parametrize("step", [0.3, 0.9, "auto"])
def test_of_several_early_returns_the_first_decides(scheme: str, step: Any) -> None:
    """Those that have come further go back."""
    run = saws(step=step, scheme=scheme)
    for name, falls in (("one", (1.0, 2.0, 3.0)), ("two", (1 / 0.7, 2 / 0.7))):
        for fall in falls:
            k = int(np.flatnonzero(run.time < fall + 1e-6)[-1])
            assert run.time[k] == pytest.approx(fall, abs=1e-6)
            assert run[f"{name}.x"][k] == pytest.approx(0.0, abs=1e-6)
    assert run.macro.why.count("early") == 5
    assert not run.warnings
    assert run["one.falls"][-1] == 3
    assert run["two.falls"][-1] == 2
    if step == 0.3:  # linear extrapolation is exact but for the steps that follow a fall
        assert run["sum_one.z"][-1] == pytest.approx(3 * 0.5 + 0.08, abs=0.3)


def test_parts_that_cannot_go_back_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """One of them can be followed by the others; the next one continues over its events."""
    monkeypatch.setattr(FmuPart, "can_restore", property(lambda self: False))
    with pytest.warns(UserWarning, match=r"part 'two' returned early 2 times"):
        run = saws(step=0.3)
    assert run.macro.why.count("early") == 3
    assert run["two.falls"][-1] == 2
    assert "two" in run.warnings[0]
