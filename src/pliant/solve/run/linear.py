"""The linear algebra of a model: planned once for each choice of options, read by all its simulations."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pliant.errors import ArgumentError, SingularError, SolverError
from pliant.solve.advice import memory_hint
from pliant.solve.binding import runtime
from pliant.solve.binding.memory import linear_memory
from pliant.solve.binding.simulation import LinearPlanStruct
from pliant.solve.options import DEFAULTS

if TYPE_CHECKING:
    from pliant.arguments import Vector
    from pliant.solve.models.numeric import Instance, NumericModel
    from pliant.solve.options import Request

COMPLEX = ("auto", "radau5")  # methods that may factorise complex matrices


@dataclass(frozen=True)
class Planned:
    """A ``pl_plan``, where the Jacobian comes from, and a block of matrices that lies ready to be used again."""

    source: str
    struct: LinearPlanStruct
    address: int
    keep: tuple[Any, ...]
    ready: list[NDArray[np.float64]] = field(default_factory=list)


def planned(model: NumericModel, request: Request, instance: Instance, u: Vector) -> Planned:
    """The plan for these options; several threads may ask for it at the same time."""
    usual = (request.method in COMPLEX) if request.options is DEFAULTS else None
    found: Planned | None = model.ready.get(usual)
    if found is not None:
        return found
    with model.lock:
        found = model.ready.get(usual)
        if found is None:
            found = _prepare(model, request, instance, u)
            if usual is not None:
                model.ready[usual] = found
    return found


def _prepare(model: NumericModel, request: Request, instance: Instance, u: Vector) -> Planned:
    """With the Jacobian's best source, where the options do not name one."""
    asked = request.options.jacobian
    source = model.jacobian_source(asked)
    plan = _plan_of(model, request, source)
    if asked == "auto":
        best = model.cheapest_source(int(plan.struct.layout.n_colours), instance, request.x, u)
        if best != source:
            plan = _plan_of(model, request, best)
    return plan


def _plan_of(model: NumericModel, request: Request, source: str) -> Planned:
    options = request.options
    curvature = options.curvature_of(model)
    wanted = runtime.LinearOptionsStruct(
        storage=runtime.STORAGE[options.linear],
        need_complex=int(request.method in COMPLEX),
        source=runtime.SOURCES[source],
        increment=runtime.INCREMENTS[options.increments],
        representable=options.representable,
        central=int(bool(options.central)),
        fallback=int(options.jacobian == "auto" and model.derived),
        verify=int(model.doubtful_pattern),
        increment_constant=options.increment_constant,
        lu=runtime.SPARSE_LU,
        curvature=None if curvature is None else runtime.address_of(curvature),
    )
    plain = tuple(getattr(wanted, name) for name, *_ in runtime.LinearOptionsStruct._fields_[:-1])
    key = (*plain, None if curvature is None else curvature.tobytes())
    found: Planned | None = model.plans.get(key)
    if found is None:
        struct = LinearPlanStruct(options=wanted)
        work = _plan(model, request, struct)
        found = Planned(source, struct, ctypes.addressof(struct), (curvature, work))
        model.plans[key] = found
    return found


def _plan(model: NumericModel, request: Request, struct: LinearPlanStruct) -> NDArray[np.float64]:
    """Patterns merged, coloured and ordered."""
    lib, address, layout = runtime.lib, model.address, struct.layout
    work = linear_memory(lib.pl_linear_work_size(address), memory_hint(model, request))
    status = lib.pl_linear_plan(address, ctypes.byref(struct.options), ctypes.byref(layout), runtime.address_of(work))
    struct.work = runtime.address_of(work)
    if status == runtime.ARGUMENT:
        raise ArgumentError("linear='sparse' needs the pattern of the Jacobian", hint=model.pattern_hint)
    if status == runtime.MEMORY:
        raise ArgumentError(f"a dense Jacobian of {model.n_x} states is too large", hint=memory_hint(model, request))
    if status != runtime.OK:
        other = "sparse" if request.options.linear == "dense" else "dense"
        raise SolverError(
            f"{model.name}: planning the linear algebra failed: {runtime.status_text(status)}",
            hint=f"check the pattern of the Jacobian, or use options={{'linear': {other!r}}}",
            time=request.start,
        )
    if layout.structural_rank < model.n_x:
        name = model.names.x[layout.unmatched]
        raise SingularError(
            f"the model is structurally singular: no equation determines {name}",
            hint=f"add an equation that depends on {name}, or correct the pattern",
            names=(name,),
            time=request.start,
        )
    return work
