"""Where a stepper starts: consistent values of a model held at one time."""

from __future__ import annotations

from pliant.expr.evaluate import evaluate
from pliant.ir import Op
from pliant.realtime.stepper.events import steps_to_tick
from pliant.realtime.stepper.types import StartValues
from pliant.solve.generated import GeneratedModel
from pliant.solve.operating import Point


def start_of(point: Point, tau: float) -> StartValues:
    """Start values of a stepper from a consistent point."""
    model = point.model
    assert isinstance(model, GeneratedModel)
    program = model.generated.program
    s = program.sorted
    named = point.all_values(point.x)
    parameters = point.sim.request.parameters
    values = {v: named[one.name] for v, one in enumerate(s.system.variables) if one.name in named}
    relations = {}
    for k, r in enumerate(s.relations):
        comparison = s.system.graph.intern((Op.LT if r.strict else Op.LE, r.lhs, r.rhs))
        found = evaluate(s.system.graph, [comparison], values, point.t, (), s.system.tables, s.relations)
        relations[k] = bool(found[0])
    tears = {s.system.variables[v].name for block in program.loops for v in block.tears}
    return StartValues(
        point.x.copy(),
        {name: named[name] for name in sorted(tears) if name in named},
        relations,
        {name: float(parameters[k]) for k, name in enumerate(model.names.p)},
        point.t,
        model.memories(point.sim.instance),
        tuple(steps_to_tick(clock, tau, point.t) for clock in s.events.clocks),
    )
