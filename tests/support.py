"""What several tests need: compiled problems (once per session) and errors in units of the tolerance."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
from problems import Array, Problem, problem

import pliant

MODELS = Path(__file__).parent / "models"
RUNTIME = Path(__file__).parents[1] / "runtime"


@cache
def compiled(name: str) -> pliant.Model:
    """The C twin of a problem."""
    twin = problem(name).c_file
    assert twin is not None
    return pliant.native(twin)


@cache
def compiled_file(name: str) -> pliant.Model:
    """A C model of tests/models."""
    return pliant.native(MODELS / f"{name}.c")


def units(p: Problem, x: Array, rtol: float) -> Array:
    """Errors of x as x(t_end) in units of the tolerance rtol * (|x| + atol_scale)."""
    return np.asarray(np.abs(x - p.reference) / (rtol * (np.abs(p.reference) + p.atol_scale)))


def rms(values: Array) -> float:
    return float(np.sqrt(np.mean(np.square(values))))


def geometric_mean(rows: list[tuple[float, ...]]) -> Array:
    """By columns. What depends on rounding (steps, errors) is compared as a mean over nearby tolerances."""
    return np.asarray(np.exp(np.mean(np.log(rows), axis=0)))
