"""The model in the form that the plan wants: loops inside f, their unknowns in x, or what gives the cheaper step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from pliant.codegen.emit import generate
from pliant.errors import NotSupportedError, PliantError, SolverError
from pliant.realtime.options import RealtimeOptions
from pliant.solve.generated import GeneratedModel
from pliant.solve.numeric import NumericModel

if TYPE_CHECKING:
    from pliant.realtime.plan import Plan


def plan_in_form(model: NumericModel, options: Mapping[str, Any] | None, make: Callable[[NumericModel], Plan]) -> Plan:
    """The plan in the form of ``options``; "best": of both, the one that holds and has fewer operations a step."""
    wanted = RealtimeOptions.of(options).form
    if wanted != "best":
        return make(in_form(model, wanted))
    found: list[tuple[int, Plan]] = []
    told: list[str] = []
    failed: list[PliantError] = []
    sizes: set[int] = set()
    for form in ("ode", "dae"):
        one = in_form(model, form)
        if one.n_x in sizes:
            told.append(f"{form}: the same, the model has no loops")
            continue
        sizes.add(one.n_x)
        try:
            plan = make(one)
        except (SolverError, NotSupportedError) as error:  # the other form may still do
            failed.append(error)
            told.append(f"{form}: {error.message}")
            continue
        cost = plan.code.operations["step"].total
        found.append((cost, plan))
        told.append(
            f"{form}: {one.n_x} unknowns, {plan.entries} of {plan.full_entries} entries, {cost} operations a step"
        )
    if not found:
        raise failed[0]
    best = min(found, key=lambda pair: (not pair[1].evidence.holds, pair[0]))[1]
    best.forms = tuple(told)
    return best


def in_form(model: NumericModel, wanted: str) -> NumericModel:
    """The same model in another form, compiled anew if it was loaded in another one."""
    if wanted == "auto":
        return model
    if not isinstance(model, GeneratedModel):
        raise NotSupportedError(
            f"{model.name}: only models made of equations have another form", hint="leave the option form out"
        )
    if model.generated.form == wanted:
        return model
    return GeneratedModel.compile(generate(model.generated.program.sorted, wanted), model.digest)
