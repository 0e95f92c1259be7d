"""Inputs and states at the start: u = P y(x_0(u), u).

Start values may depend on the inputs (initial equations, algebraic unknowns), so parts begin again while the inputs
are being found: in turns first, which is enough without loops, then by Newton's iteration with differences.
"""

from __future__ import annotations

import numpy as np

from pliant.arguments import Vector
from pliant.cosim.graph import Wire
from pliant.cosim.loops import PointSolver, newton, relaxed
from pliant.cosim.part import Part
from pliant.cosim.stepping import PartFailed
from pliant.errors import ConvergenceError

SAME = 1e-12  # relative change of inputs that needs no new beginning
STEP = 1e-6


def _begin(parts: list[Part], u: list[Vector], t: float) -> None:
    for p, part in enumerate(parts):
        try:
            part.begin(t, u[p])
        except Exception as error:
            raise PartFailed(p, error) from error


def _changed(old: list[Vector], new: list[Vector]) -> bool:
    return any(np.any(np.abs(a - b) > SAME * (1.0 + np.abs(b))) for a, b in zip(old, new, strict=True))


def find_start(parts: list[Part], wires: list[Wire], solver: PointSolver, u: list[Vector], t: float) -> list[Vector]:
    """Inputs at the start; all parts have begun with them."""
    for _ in range(len(parts) + 2):
        _begin(parts, u, t)
        found = solver.solve(u, t)
        if not _changed(u, found):
            return found
        u = found
        if solver.how == "none":
            _begin(parts, u, t)
            return u
    return _by_newton(parts, wires, solver, u, t)


def _by_newton(parts: list[Part], wires: list[Wire], solver: PointSolver, u: list[Vector], t: float) -> list[Vector]:
    """Start values depend on the inputs around a loop."""

    def residual(v: Vector) -> Vector:
        for wire, value in zip(wires, v.tolist(), strict=True):
            u[wire.target_part][wire.input] = value
        _begin(parts, u, t)
        y = [part.outputs(u[p]) for p, part in enumerate(parts)]
        return np.array([wire.value(y) for wire in wires]) - v

    def matrix() -> Vector:
        at = np.array([u[wire.target_part][wire.input] for wire in wires])
        here, out = residual(at), np.empty((len(at), len(at)))
        for k in range(len(at)):
            moved = at.copy()
            moved[k] += STEP * max(1.0, abs(at[k]))
            out[:, k] = (here - residual(moved)) / (moved[k] - at[k])
        residual(at)
        return out

    v = np.array([u[wire.target_part][wire.input] for wire in wires])
    found = newton(residual, matrix, v)
    if found is None:
        found = relaxed(residual, v)
    if found is None:
        left = residual(v)
        worst = np.argsort(-np.abs(left))[:5]
        named = tuple(solver.names[k] for k in worst)
        raise ConvergenceError(
            f"the coupling finds no start at t = {t:.10g}: {', '.join(named)} do not fit; the largest residual is "
            f"{np.abs(left).max():.3g}",
            hint="give start values of the inputs in the models, or start_values=",
            time=t,
            names=named,
        )
    residual(found)
    return u
