"""Inputs that fit the outputs at one point of time: u = P y(u), states kept.

Connections are evaluated in the order of their components. A component that is a loop is solved by Newton's iteration,

    (I - D) dv = y(v) - v,      D = d outputs / d inputs along the loop,

damped where the residual grows; where D is singular or the iteration fails, by a relaxed fixed point (Aitken's factor).
A master that only passes values on, v <- y(v), diverges as soon as the spectral radius of D exceeds 1.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pliant.arguments import Vector
from pliant.cosim.fmu_trials import DERIVATIVES
from pliant.cosim.graph import Wire, components, needed
from pliant.cosim.part import Part
from pliant.errors import ArgumentError, ConvergenceError, SolverError

HOW = ("newton", "relaxation", "none")
ROUNDS = 30
HALVINGS = 8
RELAXED_ROUNDS = 500
TIGHT = 1e-10  # relative change that counts as converged


class PointSolver:
    """Solves the connections of a coupling where its parts stand."""

    def __init__(self, parts: list[Part], wires: list[Wire], names: list[str], how: str = "newton") -> None:
        if how not in HOW:
            raise ArgumentError(f"loops must be one of {', '.join(HOW)}, not {how!r}", hint="leave loops out")
        self.parts, self.wires, self.names, self.how = parts, wires, names, how
        self.patterns = [part.feedthrough() for part in parts]
        self.needs = needed(wires, self.patterns)
        self.components = components(self.needs)
        self.direct = [bool(self.patterns[wire.source_part][wire.output].any()) for wire in wires]

    @property
    def loops(self) -> list[list[int]]:
        """The components that are loops."""
        return [one for one in self.components if self._is_loop(one)]

    def _is_loop(self, component: list[int]) -> bool:
        return len(component) > 1 or component[0] in self.needs[component[0]]

    def solve(self, u: list[Vector], t: float) -> list[Vector]:
        """Inputs of all parts that fit their outputs, beginning with the guess u."""
        u = [np.array(one) for one in u]
        y = [part.outputs(u[p]) if self._feeds(p) else np.zeros(0) for p, part in enumerate(self.parts)]
        if self.how == "none":
            for wire in self.wires:
                u[wire.target_part][wire.input] = wire.value(y)
            return u
        stale = [False] * len(self.parts)
        for component in self.components:
            if self._is_loop(component):
                self._loop(component, u, t)
                for k in component:
                    stale[self.wires[k].source_part] = stale[self.wires[k].target_part] = True
                continue
            (k,) = component
            wire = self.wires[k]
            p = wire.source_part
            if stale[p] and self.direct[k]:
                y[p] = self.parts[p].outputs(u[p])
                stale[p] = False
            value = wire.value(y)
            if u[wire.target_part][wire.input] != value:
                u[wire.target_part][wire.input] = value
                stale[wire.target_part] = True
        return u

    def _feeds(self, p: int) -> bool:
        return len(self.patterns[p]) > 0

    # ---------------------------------------------------------------------------------------------------- loops

    def _loop(self, component: list[int], u: list[Vector], t: float) -> None:
        """Solve one loop; u is overwritten."""
        wires = [self.wires[k] for k in component]
        involved = sorted({wire.source_part for wire in wires})

        def residual(v: Vector) -> Vector:
            for wire, value in zip(wires, v.tolist(), strict=True):
                u[wire.target_part][wire.input] = value
            y = {p: self.parts[p].outputs(u[p]) for p in involved}
            return np.array([wire.value(y) for wire in wires]) - v

        def matrix() -> Vector:
            d = {p: self.parts[p].sensitivity(u[p]) for p in involved}
            out = np.eye(len(wires))
            for k, wire in enumerate(wires):
                for j, before in enumerate(wires):
                    if before.target_part == wire.source_part:
                        out[k, j] -= wire.through.factor * d[wire.source_part][wire.output, before.input]
            return out

        v = np.array([u[wire.target_part][wire.input] for wire in wires])
        found = newton(residual, matrix, v) if self.how == "newton" else None
        if found is None:
            found = relaxed(residual, v)
        if found is None:
            left = residual(v)
            named = ", ".join(self.names[k] for k in component)
            raise ConvergenceError(
                f"the loop of direct feed-through does not converge at t = {t:.10g}: {named}; "
                f"the largest residual is {np.abs(left).max():.3g}",
                hint="check the gains around the loop: it may have no solution; or break it by a state (a filter)",
                time=t,
                names=tuple(self.names[k] for k in component),
            )
        residual(found)  # leaves u at the solution


def untried_loops(solver: PointSolver) -> tuple[str, ...]:
    """In words: loops through parts that give outputs for other inputs only after a step, in any way."""
    found = []
    for component in solver.loops if solver.how != "none" else ():
        parts = dict.fromkeys(solver.wires[k].target_part for k in component)
        deaf = [solver.parts[p].name for p in parts if getattr(solver.parts[p], "loop_way", "") == DERIVATIVES]
        if deaf:
            named = ", ".join(solver.names[k] for k in component)
            found.append(
                f"the loop of direct feed-through {named} goes through co-simulation FMUs that give outputs for other "
                f"inputs only after a step ({', '.join(deaf)}): it is closed with the derivatives that their outputs "
                "have at the start, which is right where these are constant; kind='model-exchange' solves it always"
            )
    return tuple(found)


def newton(residual: Callable[[Vector], Vector], matrix: Callable[[], Vector], v: Vector) -> Vector | None:
    """Damped Newton for residual(v) = 0; None: it does not converge. ``matrix`` belongs to the last residual."""
    v = v.copy()
    r = residual(v)
    for _ in range(ROUNDS):
        if not np.any(r):
            return v
        try:
            dv: Vector = np.asarray(np.linalg.solve(matrix(), r), dtype=np.float64)
        except (np.linalg.LinAlgError, SolverError):
            return None
        if not np.isfinite(dv).all():
            return None
        factor, size = 1.0, float(np.abs(r).max())
        for _ in range(HALVINGS):
            trial = v + factor * dv
            try:
                new = residual(trial)
            except SolverError:
                new = np.full_like(r, np.inf)
            if np.abs(new).max() <= size:
                break
            factor *= 0.5
        else:
            small = _small(dv, v)
            return v if small else None
        v, r = trial, new
        if _small(dv, v):  # the whole step, however much of it was taken: the rest is rounding
            return v
    return None


def relaxed(residual: Callable[[Vector], Vector], v: Vector) -> Vector | None:
    """Fixed point with Aitken's relaxation: w <- -w (r_old . dr) / (dr . dr)."""
    v, w = v.copy(), 0.5
    try:
        r = residual(v)
        for _ in range(RELAXED_ROUNDS):
            v = np.asarray(v + w * r)
            old, r = r, residual(v)
            if not np.isfinite(r).all():
                return None
            if _small(r, v):
                return np.asarray(v + r)
            change = r - old
            square = float(change @ change)
            if square > 0.0:
                w = float(np.clip(-w * float(old @ change) / square, -1.5, 1.5)) or 0.1
    except SolverError:
        return None
    return None


def _small(change: Vector, v: Vector) -> bool:
    return bool(np.all(np.abs(change) <= TIGHT * (1e-3 + np.abs(v))))
