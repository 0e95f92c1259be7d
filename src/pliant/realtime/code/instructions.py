"""How many instructions each step takes, counted one by one (desktop only).

A child process makes the steps and stops after every instruction: on x86-64 by the trap flag and a signal handler, on
AArch64 traced by its parent (ptrace). Instructions count whose address lies in the code of the step's own library, so
that libm, whose time may depend on its argument, is left out. Linux only; some ten microseconds per instruction.
"""

from __future__ import annotations

import ctypes
import mmap
from typing import Any

import numpy as np

from pliant.compiling.compiler import load_text
from pliant.errors import CompileError, NotSupportedError
from pliant.realtime.code.fixed import fixed
from pliant.realtime.code.run import Stepper

FLAGS = ("-std=gnu99", "-O1", "-fPIC")


def _code_of(stepper: Stepper) -> tuple[int, int]:
    """Addresses of the library's code."""
    with open("/proc/self/maps", encoding="utf-8") as stream:
        for line in stream:
            span, rights, *rest = line.split()
            if "x" in rights and str(stepper.path.resolve()) in rest:
                low, high = (int(one, 16) for one in span.split("-"))
                return low, high
    raise NotSupportedError("the code of the step was not found in memory", hint="instructions are counted on Linux")


def count_instructions(
    stepper: Stepper, x0: Any, u_table: Any, n_steps: int, *, every: int = 1, everything: bool = False
) -> list[int]:
    """Instructions of each (or ``every`` so manieth) of ``n_steps`` steps from x0 (None: where the stepper is).

    ``everything``: with those of libm. The stepper itself stays as it is.
    """
    try:
        counter = load_text(fixed("count_instructions.c"), "count_instructions", flags=FLAGS).library
    except CompileError as error:
        raise NotSupportedError(
            "instructions can be counted on Linux only", hint="measure() gives times on any system"
        ) from error
    u = stepper._inputs(u_table, n_steps)
    saved = stepper.save()
    if x0 is not None:
        stepper.reset(x0)
    begin = stepper.save()
    stepper.run(u[:1], 1)  # the loader finds libm's functions at their first call
    stepper.restore(begin)
    low, high = _code_of(stepper)
    n_counted = -(-n_steps // every)
    counts = np.frombuffer(mmap.mmap(-1, 16 * max(n_counted, 1)), np.int64).reshape(-1, 2)
    size = u.shape[1] * u.itemsize
    table = u if u.size else np.zeros(1, stepper.type)
    failed = counter.count_instructions(
        ctypes.cast(getattr(stepper.library, f"{stepper.code.name}_step"), ctypes.c_void_p),
        ctypes.c_void_p(stepper.address),
        ctypes.c_void_p(table.ctypes.data),
        *(ctypes.c_int64(one) for one in (size, n_steps, every, low, high)),
        ctypes.c_void_p(counts.ctypes.data),
    )
    stepper.restore(saved)
    if failed:
        raise NotSupportedError(
            "this system does not let a process be stopped after each instruction",
            hint="it needs the rights of ptrace; measure() gives times",
        )
    return [int(one) for one in counts[:n_counted, int(everything)]]
