"""What a step of a plan costs: instructions on this computer, counted one by one."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from pliant.compiling.compiler import load_text
from pliant.errors import CompileError, NotSupportedError
from pliant.realtime.code.fixed import fixed
from pliant.realtime.code.instructions import FLAGS, count_instructions
from pliant.realtime.stages.step import drive

if TYPE_CHECKING:
    from pliant.realtime.plan import Plan

COUNTED, WITHIN = 5, 1000  # steps that are counted, among so many from the start


def cost_of(plan: Plan) -> tuple[int, str]:
    """Cost of a step and its unit: instructions without elementary functions, or operations where they are not to be
    counted (another system than Linux)."""
    if plan.outcome.model.equations is None:
        raise NotSupportedError(
            f"{plan.name}: cost is counted in the code of a step, and a model without equations has none",
            hint="plan.entries and plan.called say what is saved",
        )
    if not plan.outcome.frame.n:
        raise NotSupportedError(f"{plan.name} has no states: a step is a plain evaluation", hint="plan.code.operations")
    if not _can_count():
        return plan.code.operations["step"].total + plan.code.operations["monitor"].total, "operations"
    scenario = plan.outcome.request.scenarios[0]
    run = drive(plan.code, plan.outcome.model, scenario, inputs=plan.outcome.request.options.inputs)
    n = min(len(run.time) - 1, WITHIN)
    run.stepper.start_at(run.start, run.inputs.start)
    table = run.inputs.before[:n] if plan.code.u_names else None
    counted = count_instructions(run.stepper, None, table, n, every=max(1, n // COUNTED))
    return max(counted), "instructions"


@cache
def _can_count() -> bool:
    """Does this system let a process be stopped after each instruction?"""
    try:
        load_text(fixed("count_instructions.c"), "count_instructions", flags=FLAGS)
    except CompileError:
        return False
    return True
