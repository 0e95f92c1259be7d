"""Operations of the parts of a step."""

from __future__ import annotations

from collections.abc import Iterable

from pliant.codegen.places import Array
from pliant.codegen.plan import FunctionPlan
from pliant.realtime.code.delays import delay_operations
from pliant.realtime.code.monitor import MonitorText
from pliant.realtime.code.operations import Operations, count_operations
from pliant.realtime.code.types import StepPlan, StepSystem


def operations_of(plan: StepPlan, monitor: MonitorText | None) -> dict[str, Operations]:
    """Operations of f, of what the Jacobian, the factorisation and the solution add, of all, and of the outputs."""

    nowhere = Array("").at()

    def count(expressions: Iterable[int]) -> Operations:
        w = plan.lowering
        function = FunctionPlan(w.shared, plan.statements, [[(nowhere, e) for e in expressions]])
        jump_time = (w.jump_time.variable, w.clock)
        return count_operations(function, (w.clock, plan.half_clock), plan.wide, jump_time)

    def of_system(system: StepSystem) -> list[Operations]:
        kept = [e for _, e in plan.kept]
        memory = [*kept, *system.last.values()]
        b = [e for matrix in system.matrices for e in matrix.values()]
        if system.tables:
            e = system.elimination
            right = [e for one in system.rights for e in one]
            updates = len(system.tables.update)
            one = Operations(updates, e.factor_flops - updates, e.n)
            off = e.lu_entries - e.n
            solve = Operations(off, off + e.n)
            evaluated, all_ = count(right + memory), count(right + memory + b)
            k = len(system.matrices)
            factor = _times(one, k)
            return [evaluated, all_, all_ + factor, all_ + factor + _times(solve, len(system.rights))]
        f = [*plan.f, *plan.lowering.first_last.values(), *kept]
        factors = [e for one in system.factors for row in one.lower for _, e in row]
        factors += [e for one in system.factors for row in one.upper for _, e in row]
        factors += [e for one in system.factors for e in one.inverse]
        return [
            count(f),
            count(f + b),
            count(f + b + factors),
            count(system.dx + memory),
        ]

    totals = of_system(plan.systems[0])
    out = {
        "f": totals[0],
        "jacobian": totals[1] - totals[0],
        "factor": totals[2] - totals[1],
        "solve": totals[3] - totals[2],
        "step": totals[3],
        "outputs": count(e for _, _, e in plan.outputs),
    }
    if plan.discrete:
        once = count([*plan.discrete.memories, *(e for _, e in plan.discrete.resets)])
        out["events"] = _times(once, plan.options.event_rounds)
        out["step"] = out["step"] + out["events"]
    if plan.delays:
        values = [count(one.value for one in plan.delays), count(one.value for one in plan.delays if one.jumps)]
        out["delays"] = delay_operations(plan, *values)
        out["step"] = out["step"] + out["delays"]
    if monitor:
        out["monitor"] = monitor.operations()
    if len(plan.systems) > 1:
        more = out.get("events", Operations()) + out.get("delays", Operations())
        out["full"] = of_system(plan.systems[1])[3] + more
        out["guarded"] = out["step"] + out["full"] + out["monitor"]  # at worst
    return out


def _times(one: Operations, k: int) -> Operations:
    total = Operations()
    for _ in range(k):
        total = total + one
    return total
