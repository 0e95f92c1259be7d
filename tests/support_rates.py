"""A compiled step beside its parts by rates, called as a scheduler would: in any order."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import numpy as np

import pliant
from pliant.realtime.code.rates import rate_name
from pliant.realtime.code.run import Stepper
from pliant.realtime.code.types import StepCode

Order = Callable[[list[int]], list[int]]  # numbers of the rates that are due, as they are to be called


def first_difference(
    code: StepCode, n_steps: int, order: Order, inputs: Callable[[int], np.ndarray] | None = None
) -> str:
    """ "" where n steps and n steps cut by rates are the same bit for bit; ``order`` may leave ticks out."""
    whole, parts = Stepper(code), Stepper(code)
    n, library = code.name, parts.library
    step, due = getattr(library, f"{n}_step_{rate_name(code.tau)}"), getattr(library, f"{n}_due")
    ticks, end = [getattr(library, f"{n}_tick_{rate.name}") for rate in code.rates], getattr(library, f"{n}_step_end")
    due.restype = end.restype = ctypes.c_uint
    at = ctypes.c_void_p(parts.address)
    for k in range(n_steps):
        u = np.zeros(len(code.u_names)) if inputs is None else inputs(k)
        row = np.ascontiguousarray(u, dtype=whole.type)
        given = ctypes.c_void_p(row.ctypes.data)
        whole.run(row[None, :] if len(row) else None, 1, history=False)
        step(at, given, given)
        bits = due(at)
        wanted = [j for j in range(len(ticks)) if bits >> j & 1]
        called = order(wanted)
        for j in called:
            ticks[j](at, given)
        missed = end(at, given)
        if missed != sum(1 << j for j in set(wanted) - set(called)):
            return f"step {k}: missed {missed}, due {wanted}, called {called}"
        if whole.x.tobytes() != parts.x.tobytes() or whole.discrete.tobytes() != parts.discrete.tobytes():
            return f"step {k}: x {whole.x} {parts.x}, d {whole.discrete} {parts.discrete}"
    return ""


def code_of(model: pliant.Model, step: float, stop: float, **options: object) -> StepCode:
    """The step with all entries."""
    order = int(options.pop("order", 1))  # type: ignore[call-overload]
    return model.realtime(
        step=step, stop=stop, order=order, accuracy=None, options={"search": "full", "certificate": False, **options}
    ).code
