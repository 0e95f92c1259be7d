"""Energy at pairs of connections that carry power: what the coupling creates is what the whole system gains."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support_cosim import text_model

import pliant

MASS = """
model Mass
  input Real F;
  Real x(start = 1, fixed = true);
  output Real v(start = 0, fixed = true);
equation
  der(x) = v;
  der(v) = F;
end Mass;
"""
SPRING = """
model Spring
  parameter Real k = 4;
  input Real v;
  Real s(start = 1, fixed = true);
  output Real F = -k*s;
equation
  der(s) = v;
end Spring;
"""


def oscillator() -> pliant.Coupling:
    coupling = pliant.Coupling()
    coupling.add("spring", text_model(SPRING))
    coupling.add("mass", text_model(MASS))
    coupling.connect("spring.F", "mass.F")
    coupling.connect("mass.v", "spring.v")
    coupling.power(potential="spring.F", flow="mass.v")
    return coupling


@pytest.mark.parametrize("scheme", ["jacobi", "gauss-seidel"])
@pytest.mark.parametrize(("step", "degree"), [(0.02, 0), (0.05, 1), ("auto", 2)])
def test_created_energy_is_what_the_system_gains(scheme: str, step: Any, degree: int) -> None:
    """No part loses energy: half v^2 and half k s^2 together change by what the coupling creates."""
    run = oscillator().simulate(stop=5, step=step, scheme=scheme, extrapolation=degree, rtol=1e-9, watch=False)
    energy = run.energy["spring.F * mass.v"]
    stored = 0.5 * run["mass.v"] ** 2 + 2.0 * run["spring.s"] ** 2
    gained = stored - stored[0]
    assert len(energy.created) == len(run.time)
    size = np.abs(gained).max()
    assert energy.created == pytest.approx(gained, abs=0.15 * size + 1e-6)
    assert energy.transferred[-1] == pytest.approx(8.0 / np.pi * 5, rel=0.4 if degree == 0 else 0.2)


def test_halves_are_counted() -> None:
    run = oscillator().simulate(stop=5, step="auto", macro_error="halving", rtol=1e-9)
    stored = 0.5 * run["mass.v"] ** 2 + 2.0 * run["spring.s"] ** 2
    created = run.energy["spring.F * mass.v"].created
    assert created == pytest.approx(stored - stored[0], abs=0.5 * np.abs(stored - stored[0]).max() + 1e-6)


def test_what_is_told() -> None:
    coarse = oscillator().simulate(stop=5, step=0.1, extrapolation=0, watch=False).explain()
    (found,) = coarse.find("energy")
    assert found.serious
    assert "created" in found.text
    assert "gauss-seidel" in found.suggestion
    (fine,) = oscillator().simulate(stop=5, step=0.005, extrapolation=2).explain().find("energy")
    assert not fine.serious
    with pytest.raises(pliant.AccuracyError, match=r"at spring\.F \* mass\.v the coupling has created .* J"):
        oscillator().simulate(stop=100, step=0.2, extrapolation=0)


def test_pairs_are_checked(tmp_path: Path) -> None:
    coupling = oscillator()
    for potential, flow, text in (
        ("spring.F", "mass.x", "not connected"),
        ("spring.F", "mass.w", "no variable 'w'"),
        ("spring.F", "spring.F", "opposite directions"),
        ("spring.F", "mass.v", "known already"),
        ("ring.F", "mass.v", "no part 'ring'"),
    ):
        with pytest.raises(pliant.PliantError, match=text):
            coupling.power(potential=potential, flow=flow)


def test_in_a_file(tmp_path: Path) -> None:
    from pliant.cosim.system import read_system

    (tmp_path / "spring.mo").write_text(SPRING)
    (tmp_path / "mass.mo").write_text(MASS)
    text = 'stop = 1\nstep = "auto"\nconnections = ["s.F -> m.F", "m.v -> s.v"]\npower = ["s.F * m.v"]\n'
    text += '[parts.s]\nfile = "spring.mo"\n[parts.m]\nfile = "mass.mo"\n'
    (tmp_path / "system.toml").write_text(text)
    system = read_system(tmp_path / "system.toml", pliant.load)
    assert "s.F * m.v" in system.coupling.simulate(**system.arguments).energy
    (tmp_path / "bad.toml").write_text(text.replace("s.F * m.v", "s.F m.v"))
    with pytest.raises(pliant.ArgumentError, match="no pair that carries power"):
        read_system(tmp_path / "bad.toml", pliant.load)
