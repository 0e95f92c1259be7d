"""What to try after a failed run: hints that depend on the method, the options and the kind of model in use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pliant.errors import ArgumentError
from pliant.solve.binding import runtime

if TYPE_CHECKING:
    from pliant.solve.models.numeric import NumericModel
    from pliant.solve.options import Request

#: tolerances above which loosening them is no advice
LOOSE = 1e-3


def convergence_hint(model: NumericModel, request: Request) -> str:
    """Newton's iteration fails at every step size."""
    if request.method in runtime.FIXED_STEP:
        return f"a step smaller than {request.step:g}, or method='auto', which adapts it"
    tries = []
    if not model.derived and model.jacobian_source(request.options.jacobian) == "exact":
        tries.append("options={'jacobian': 'differences'} (the Jacobian of the model may be wrong)")
    return _joined([*tries, *_other_method(request)], model.jump_hint)


def accuracy_hint(model: NumericModel, request: Request) -> str:
    """The error test fails at every step size."""
    if request.method in runtime.FIXED_STEP:
        return f"a step smaller than {request.step:g}"
    return _joined([*_looser(request), *_other_method(request)], model.jump_hint)


def nonfinite_hint(request: Request) -> str:
    """A value is NaN or infinite."""
    check = (
        "check that the model is defined there (division by zero, log or sqrt of a negative number), its start values "
        "and parameters"
    )
    if request.method in runtime.FIXED_STEP - runtime.IMPLICIT:
        return f"a step smaller than {request.step:g}, or method='auto': explicit steps may be unstable; or {check}"
    return check


def rounding_hint(request: Request) -> str:
    """A tolerance is below the rounding of the value it belongs to."""
    absolute = "leave atol out" if request.atol_given else "give a positive atol"
    return f"a larger rtol than {request.rtol:g}, or {absolute}"


def collapse_hint(model: NumericModel) -> str:
    """The step size falls below what time can resolve."""
    return _joined(["an earlier stop, if the solution grows without bound (see .result of the error)"], model.jump_hint)


def step_limit_hint(request: Request) -> str:
    """More steps than max_steps."""
    more = f"options={{'max_steps': {10 * request.options.max_steps}}}"
    if request.method in runtime.FIXED_STEP:
        return f"{more}, or a step larger than {request.step:g}"
    return _joined([more, *_for_stiff(request), *_looser(request)])


def timeout_hint(request: Request) -> str:
    """The time-out ran out."""
    more = f"timeout={2 * (request.timeout or 1.0):g}"
    if request.method in runtime.FIXED_STEP:
        return f"{more}, or a step larger than {request.step:g}"
    return _joined([more, *_for_stiff(request), *_looser(request)], "see .result.explain() of the error for the cause")


def memory_hint(model: NumericModel, request: Request) -> str:
    """The matrices do not fit into memory."""
    if request.options.linear == "dense":
        return "leave the option linear='dense' out"
    if model.has_pattern:
        return "a smaller model, or a computer with more memory: the matrices are sparse already"
    return model.pattern_hint


def refused_request(request: Request, status: int) -> ArgumentError:
    """The runtime found an argument that the checks before let through."""
    given = ", ".join(request.options.given())
    hint = f"leave these options out, one by one: {given}" if given else "report this call together with the model"
    return ArgumentError(f"the runtime refuses the request: {runtime.status_text(status)}", hint=hint)


def _other_method(request: Request) -> list[str]:
    """Methods that are not in use: "auto" has tried both of the implicit ones."""
    others = {"bdf": "method='auto', which changes to radau5 where bdf fails", "radau5": "method='bdf'"}
    return [others[request.method]] if request.method in others else _for_stiff(request)


def _for_stiff(request: Request) -> list[str]:
    return ["method='auto' (the model may be stiff)"] if request.method == "dopri5" else []


def _looser(request: Request) -> list[str]:
    return [f"a larger rtol than {request.rtol:g}"] if request.rtol < LOOSE else []


def _joined(tries: list[str], last: str = "") -> str:
    return ", or ".join([*tries, last] if last else tries)
