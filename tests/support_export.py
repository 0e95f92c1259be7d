"""Exported FMUs for the tests: models, unpacked archives, FMPy as the importer."""

from __future__ import annotations

import re
import tempfile
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

import fmpy
import numpy as np
from fmpy.fmi2 import FMU2Slave, fmi2CallbackFunctions, fmi2CallbackLoggerTYPE
from support import RUNTIME

import pliant

#: events of states, of time and of clocks, enumerations, loops, aliases, units, names and texts that need escaping
HYBRID = """
model Hybrid "a <model> & its \\"texts\\""
  type Mode = enumeration(cold, warm, hot);
  parameter Real k(unit = "1/s", min = 0) = 0.5 "rate <1> & more";
  parameter Real twice = 2*k "computed";
  parameter Integer n = 2;
  parameter Mode chosen = Mode.warm;
  Real T(start = 90, fixed = true, unit = "K", nominal = 100), 'my T' = -T, same = T, ring(start = 1);
  discrete Real sampled(start = 0, fixed = true);
  Integer ticks(start = 0, fixed = true);
  Boolean hot;
  Mode mode;
  output Real y(unit = "kg.m/s2") "force";
equation
  der(T) = -k*(T - 20) + (if time > 0.95 then 30 else 0);
  hot = T > 70;
  mode = if hot then Mode.hot else chosen;
  y = 2*T + n;
  ring = 0.1*sin(ring) + T;
  when sample(0.1, 0.3) then
    sampled = T;
    ticks = pre(ticks) + 1;
  end when;
end Hybrid;
"""
DRIVEN = """
model Driven
  input Real u(start = 1);
  parameter Real k = 2;
  Real x(start = 0, fixed = true);
  output Real y;
equation
  der(x) = k*(u - x)^3 + u;
  y = x + 3*u;
end Driven;
"""
BALL = """
model Ball
  parameter Real e = 0.7;
  Real h(start = 1, fixed = true), v(start = 0, fixed = true);
equation
  der(h) = v;
  der(v) = -9.81;
  when h < 0 then
    reinit(v, -e*pre(v));
  end when;
end Ball;
"""
#: no states, inputs and outputs of all types, outputs that equal something else
PLAIN = """
model Plain
  type Mode = enumeration(a, b);
  input Real u(start = 0.5);
  input Integer k(start = 2);
  input Boolean b(start = true);
  input Mode m(start = Mode.b);
  parameter Real p = 3;
  output Real y, same, minus, number;
  output Integer z;
  output Mode n;
equation
  y = 2*u + sin(time);
  same = p;
  minus = -u;
  number = 4;
  z = if b then k else -k;
  n = m;
end Plain;
"""
#: index 3; which coordinates are states changes on the way
PENDULUM = """
model Pendulum
  parameter Real l = 1, g = 9.81;
  Real x(start = 1, fixed = true), y(start = 0), vx(start = 0, fixed = true), vy, force;
equation
  der(x) = vx;
  der(y) = vy;
  der(vx) = -force*x;
  der(vy) = -force*y - g;
  x^2 + y^2 = l^2;
end Pendulum;
"""
TEXTS = {"hybrid": HYBRID, "driven": DRIVEN, "ball": BALL, "plain": PLAIN, "pendulum": PENDULUM}
STOPS = {"hybrid": 1.27, "driven": 1.0, "ball": 1.0, "plain": 1.0, "pendulum": 2.0}


@cache
def model(name: str) -> pliant.Model:
    return pliant.load(TEXTS[name])


@cache
def exported(name: str, version: str, **more: Any) -> Path:
    """An FMU that all tests of a process share."""
    folder = Path(tempfile.mkdtemp(prefix="pliant-test-"))
    return model(name).export_fmu(folder / f"{name}.fmu", version=version, **more)


@cache
def unpacked(path: Path) -> Path:
    folder = path.with_suffix("")
    with zipfile.ZipFile(path) as archive:
        archive.extractall(folder)
    return folder


def function_names(version: str) -> set[str]:
    """What a binary has to export."""
    text = (RUNTIME / "fmi" / f"pl_fmi{version[0]}.h").read_text()
    return set(re.findall(r"X\((fmi\d\w+),", text))


def token_of(path: Path) -> str:
    text = (unpacked(path) / "modelDescription.xml").read_text()
    found = re.search(r'(?:guid|instantiationToken)="([^"]*)"', text)
    assert found is not None
    return found[1]


def largest_error(result: pliant.Result, found: Any, names: list[str]) -> float:
    """Of an importer's table against our result, in units of each range; rows at events may be on either side."""
    worst = 0.0
    for name in names:
        here, there = (
            np.asarray(result[name], float),
            np.interp(result.time, found["time"], np.asarray(found[name], float)),
        )
        size = max(np.ptp(here), 1e-6 * np.abs(here).max(), 1e-9)
        worst = max(worst, float(np.abs(here - there).max() / size))
    return worst


def slave(path: Path, said: list[str] | None = None) -> tuple[FMU2Slave, dict[str, int]]:
    def log(*words: Any) -> None:
        if said is not None:
            said.append(words[-1].decode())

    description = fmpy.read_model_description(str(path))
    one = FMU2Slave(
        guid=description.guid,
        unzipDirectory=str(unpacked(path)),
        modelIdentifier=description.coSimulation.modelIdentifier,
    )
    callbacks = None
    if said is not None:
        one.kept = fmi2CallbackLoggerTYPE(log)
        callbacks = fmi2CallbackFunctions()
        callbacks.logger = one.kept
    one.instantiate(callbacks=callbacks)
    return one, {v.name: v.valueReference for v in description.modelVariables}
