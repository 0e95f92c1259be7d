"""A stepper compiled for the desktop: the very text that is shipped, driven from Python."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.compiling.compiler import FLAGS, LARGE, is_optimized, load_text
from pliant.errors import ArgumentError, ModelEvaluationError, UnknownNameError
from pliant.realtime.code.types import StartValues, StepCode
from pliant.solve.names import suggestion

STEP_FLAGS = (*FLAGS, "-fno-math-errno", "-fno-tree-slp-vectorize")
Array = NDArray[Any]
# members of the monitor's struct: int, unsigned or real
MEMBERS = (
    ("bits", "u"),
    ("pivot", "i"),
    ("pivot_share", "r"),
    ("ringing", "i"),
    ("ringing_steps", "i"),
    ("error", "i"),
    ("error_size", "r"),
    ("dropped", "i"),
    ("dropped_size", "r"),
    ("range", "i"),
    ("range_share", "r"),
)


class Stepper:
    """One instance of a compiled step.

    >>> stepper = Stepper(code)                                             # doctest: +SKIP
    >>> history = stepper.run(u_table, 1000)                                # doctest: +SKIP
    """

    def __init__(self, code: StepCode, parameters: Mapping[str, float] | None = None) -> None:
        self.code = code
        self.type = np.float64 if code.precision == "double" else np.float32
        text = code.text.replace(f'#include "{code.name}.h"', code.header) + code.driver
        level = "-O0" if not is_optimized() else "-O1" if len(text) > LARGE else "-O2"
        flags = tuple(level if one == "-O2" else one for one in STEP_FLAGS)
        found = load_text(text, f"{code.name}_step", flags=flags)
        self.library, self.path, self.digest = found.library, found.path, found.digest
        self.library.pliant_place.restype = ctypes.c_size_t
        self.memory = ctypes.create_string_buffer(self.instance_size + 64)
        self.address = (ctypes.addressof(self.memory) + 63) // 64 * 64
        self.parameters = dict(parameters or {})
        self.fallbacks = 0  # steps of the last run that fell back to the full pattern
        self.flags = np.empty(0, np.uint32)  # bits of the monitor in each step of it
        self.memories = np.empty((0, len(code.memories)), self.type)  # discrete variables after each step of it
        self.y = np.empty((0, len(code.y_names)), self.type)  # outputs after each step of it, where they were wanted
        self.past = np.empty((0, 2, len(code.delays)), self.type)  # what is delayed after each step of it
        self.reset()

    @property
    def instance_size(self) -> int:
        """Bytes of one instance."""
        return int(self.library.pliant_place(0))

    def reset(self, x: Sequence[float] | Array | None = None, u: Any = None) -> None:
        """Back to the start with the inputs u (None: their start values), or to another x at the start."""
        self._set_start()
        if x is not None:
            self.x[:] = x
        self._begin(u, self.code.start.memories)

    def _set_start(self) -> None:
        vector = self._parameter_vector()
        at = None if vector is None else ctypes.c_void_p(vector.ctypes.data)
        failed = self.library.pliant_init(ctypes.c_void_p(self.address), at)
        if failed > self.code.n_divisors and self.code.delays:
            what = self.code.delays[failed - 1 - self.code.n_divisors]
            raise ModelEvaluationError(
                f"{self.code.name}: the step keeps no values for delay({what}, ...) with "
                " these parameters: its time is longer than planned for, or shorter than a step",
                hint="plan with a scenario that has these parameters",
            )
        if failed:
            raise ModelEvaluationError(
                f"{self.code.name}: divisor {failed} of the expressions of parameters is zero",
                hint="change the parameters that appear in denominators",
            )

    def _begin(self, u: Any, memories: Mapping[int, float]) -> None:
        """What happens at the start; ``memories``: values before it that are not the declared ones."""
        row = self._inputs(np.asarray(self.code.u_start if u is None else u, dtype=float)[None, :], 1)
        chosen = np.full(len(self.code.memories) + 1, np.nan, self.type)
        for k, value in memories.items():
            chosen[k] = value
        self.library.pliant_start(
            *(ctypes.c_void_p(one) for one in (self.address, row.ctypes.data, chosen.ctypes.data))
        )

    def start_at(self, start: StartValues, u: Any = None) -> None:
        """Back to another start: x, tears, relations and time; parameters stay those of this stepper.

        Where the states are those of the code's own start, guesses of other unknowns are as well, as on the target.
        """
        self._set_start()
        own, n = np.asarray(self.code.start.x), self.code.n_states
        same = np.array_equal(own[:n], np.asarray(start.x)[:n])
        self.x[:] = own if same else start.x
        self._at(self.library.pliant_place(3), np.float64, 1)[0] = start.t
        if not same:
            self._set_guesses(start)
        if start.counts:
            self._at(self.library.pliant_place(7), np.int32, len(start.counts))[:] = start.counts
        self._begin(u, start.memories)

    def _set_guesses(self, start: StartValues) -> None:
        if self.code.tears:
            tears = self._at(self.library.pliant_place(4), self.type, len(self.code.tears))
            tears[:] = [start.tears.get(name, tears[k]) for k, name in enumerate(self.code.tears)]
        if self.code.relations:
            relations = self._at(self.library.pliant_place(5), np.int32, len(self.code.relations))
            relations[:] = [start.relations.get(k, False) for k in self.code.relations]

    def _parameter_vector(self) -> Array | None:
        if not self.parameters:
            return None
        names = self.code.p_names
        for name in self.parameters:
            if name not in names:
                raise UnknownNameError(f"the stepper has no parameter {name!r}", hint=suggestion(name, names))
        vector = np.zeros(len(names), self.type)
        struct = getattr(self.library, f"{self.code.name}_default_parameters")
        struct(ctypes.c_void_p(vector.ctypes.data))
        with np.errstate(over="ignore"):  # what is too large for float is infinite there
            for name, value in self.parameters.items():
                vector[names.index(name)] = value
        return vector

    def _at(self, offset: int, kind: Any, n: int) -> Array:
        size = np.dtype(kind).itemsize * n
        return np.frombuffer((ctypes.c_char * size).from_address(self.address + offset), dtype=kind)

    @property
    def x(self) -> Array:
        """States and algebraic unknowns: the instance's own memory, to read and to write."""
        n = self.code.n_x
        return self._at(self.library.pliant_place(1), self.type, n) if n else np.empty(0, self.type)

    @property
    def discrete(self) -> Array:
        """Discrete variables as they are now."""
        n = len(self.code.memories)
        return self._at(self.library.pliant_place(6), self.type, n) if n else np.empty(0, self.type)

    @property
    def delayed(self) -> Array:
        """What is delayed, before and after what happened at the end of the last step."""
        out = np.empty((2, len(self.code.delays)), self.type)
        if self.code.delays:
            self.library.pliant_past(ctypes.c_void_p(self.address), ctypes.c_void_p(out.ctypes.data))
        return out

    @property
    def steps(self) -> int:
        """Number of steps done."""
        return int(self._at(self.library.pliant_place(2), np.int64, 1)[0])

    def _inputs(self, u_table: Any, n_steps: int) -> Array:
        n_u = len(self.code.u_names)
        table = np.zeros((n_steps, n_u)) if u_table is None else np.asarray(u_table)
        if table.shape != (n_steps, n_u):
            names = ", ".join(self.code.u_names[:10]) or "none"
            raise ArgumentError(
                f"inputs have shape {table.shape}, expected {(n_steps, n_u)}",
                hint=f"give one row for each step and one column for each input: {names}",
            )
        return np.ascontiguousarray(table, dtype=self.type)

    def run(
        self,
        u_table: Any,
        n_steps: int,
        history: bool = True,
        kind: str = "",
        after: Any = None,
        outputs: bool = False,
    ) -> Array:
        """Steps with the rows of ``u_table`` (None without inputs): x after each of them, or only after the last.

        ``after``: inputs from the ends of the steps on, where they jump there. ``kind``: "full" or "guarded" for the
        steps of a stepper with fallback. ``outputs``: those after each step are wanted, in ``self.y``.
        """
        out = np.empty((n_steps if history else 0, self.code.n_x), self.type)
        self.memories = np.empty((n_steps if history else 0, len(self.code.memories)), self.type)
        self.y = np.empty((n_steps if outputs else 0, len(self.code.y_names)), self.type)
        self.flags = np.zeros(n_steps, np.uint32)
        bits = self.flags if self.code.options.monitor else None
        self.past = np.empty((n_steps if history else 0, 2, len(self.code.delays)), self.type)
        wanted = (
            out if history else None,
            bits,
            self.memories if history else None,
            self.y if outputs else None,
            self.past if history and self.code.delays else None,
        )
        self.fallbacks = self._run((u_table, after), n_steps, wanted, kind)
        return out if history else self.x.copy()

    def watch(self, u_table: Any, n_steps: int, after: Any = None, kind: str = "") -> NDArray[np.uint32]:
        """The monitor's bits after each of these steps."""
        if not self.code.options.monitor:
            raise ArgumentError("the stepper has no monitor", hint="StepperOptions(monitor=True)")
        bits = np.zeros(n_steps, np.uint32)
        self._run((u_table, after), n_steps, (None, bits, None, None, None), kind)
        return bits

    def monitor(self) -> dict[str, float]:
        """What the monitor says about the last step; call it once after each."""
        if not self.code.options.monitor:
            raise ArgumentError("the stepper has no monitor", hint="StepperOptions(monitor=True)")
        real = ctypes.c_double if self.code.precision == "double" else ctypes.c_float

        class Flags(ctypes.Structure):
            _fields_ = [(name, {"i": ctypes.c_int, "u": ctypes.c_uint, "r": real}[kind]) for name, kind in MEMBERS]

        flags = Flags()
        call = getattr(self.library, f"{self.code.name}_monitor")
        call(ctypes.c_void_p(self.address), ctypes.byref(flags))
        return {name: getattr(flags, name) for name, _ in MEMBERS}

    def _run(self, inputs: tuple[Any, Any], n_steps: int, wanted: Sequence[Array | None], kind: str) -> int:
        """``wanted``: rows of x, bits, rows of discrete variables and of outputs to fill, or None."""
        u = self._inputs(inputs[0], n_steps)
        after = None if inputs[1] is None else self._inputs(inputs[1], n_steps)
        call = getattr(self.library, f"pliant_run_{kind}" if kind else "pliant_run")
        call.restype = ctypes.c_int64
        places = [ctypes.c_void_p(None if one is None else one.ctypes.data) for one in (u, after, *wanted)]
        return int(call(ctypes.c_void_p(self.address), ctypes.c_int64(n_steps), *places))

    def outputs(self, u: Any = None) -> Array:
        """Outputs of the model at the present state."""
        row = self._inputs(None if u is None else np.asarray(u)[None, :], 1)
        y = np.empty(len(self.code.y_names), self.type)
        self.library.pliant_outputs(
            ctypes.c_void_p(self.address), ctypes.c_void_p(row.ctypes.data), ctypes.c_void_p(y.ctypes.data)
        )
        return y

    def save(self) -> bytes:
        """The instance as bytes."""
        return ctypes.string_at(self.address, self.instance_size)

    def restore(self, saved: bytes) -> None:
        """Back to what :meth:`save` gave."""
        ctypes.memmove(self.address, saved, self.instance_size)

    def time_step(self, u_table: Any, n_steps: int, repeat: int = 5, kind: str = "") -> float:
        """Seconds per step, the best of several runs from the present state."""
        saved = self.save()
        best = float("inf")
        u = self._inputs(u_table, n_steps)
        for _ in range(repeat):
            self.restore(saved)
            begin = time.perf_counter()
            self._run((u, None), n_steps, (None,) * 5, kind)
            best = min(best, time.perf_counter() - begin)
        self.restore(saved)
        return best / n_steps
