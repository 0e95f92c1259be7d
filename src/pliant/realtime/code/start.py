"""Where a stepper starts: consistent values of a model held at one time, before its first event."""

from __future__ import annotations

import numpy as np

from pliant.expr.evaluate import evaluate
from pliant.realtime.code.events import steps_to_tick
from pliant.realtime.code.types import StartValues
from pliant.realtime.sparsing.elimination import assign_rows
from pliant.solve.run.operating import Point


def start_of(point: Point, tau: float) -> StartValues:
    """Start values of a stepper from a consistent point."""
    model = point.model
    assert model.equations is not None
    s, program = model.equations.sorted, model.equations.program
    named = point.all_values(point.x)
    parameters = point.sim.request.parameters
    values = {v: named[one.name] for v, one in enumerate(s.system.variables) if one.name in named}
    relations = {}
    for k, r in enumerate(s.relations):
        lhs, rhs = evaluate(s.system.graph, [r.lhs, r.rhs], values, point.t, (), s.system.tables, s.relations)
        relations[k] = lhs < rhs if r.strict else lhs <= rhs
    tears = {s.system.variables[v].name for block in program.loops for v in block.tears}
    return StartValues(
        point.sim.x_first.copy(),
        {name: named[name] for name in sorted(tears) if name in named},
        relations,
        {name: float(parameters[k]) for k, name in enumerate(model.names.p)},
        point.t,
        dict(point.sim.memories_first),
        tuple(steps_to_tick(clock, tau, point.t) for clock in s.events.clocks),
        _pivot_rows(point, program.n_states),
        _delayed(point),
    )


def _delayed(point: Point) -> dict[int, float]:
    """What is delayed at the start, by the numbers of the delays."""
    if not point.model.n_delays:
        return {}
    found = point.model.delayed(point.sim.instance, point.t, point.x, point.sim.u)
    return {} if found is None else dict(enumerate(found.tolist()))


def _pivot_rows(point: Point, n_states: int) -> tuple[int, ...] | None:
    """Rows of the pivots of the algebraic unknowns at this point."""
    if len(point.x) == n_states:
        return None
    inner = np.abs(point.jacobian(point.x, point.rhs(point.x))[n_states:, n_states:])
    largest = inner.max(axis=1, keepdims=True)
    rows = assign_rows(inner / largest) if np.isfinite(inner).all() and largest.all() else None
    return () if rows is None else tuple(rows)
