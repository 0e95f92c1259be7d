"""A simulation that goes on from one communication point to the next, and can be saved and taken back.

The inputs are one ``pl_inputs`` of two segments: 0 held until T, 1 holds from T on, ``jump[1] = 1``. After
``set_inputs`` the step loop stands at the jump and passes it before its next step. Time events at a communication
point (ticks of clocks) wait there until the inputs at that point are known: ``settle``, or the next ``go``.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.cosim.part import DEGREE, Cancelled, Matrix, Vector
from pliant.errors import ModelEvaluationError
from pliant.solve import binding
from pliant.solve.failure import failure_error
from pliant.solve.inputs import InputSet
from pliant.solve.native import NativeModel
from pliant.solve.numeric import NumericModel
from pliant.solve.options import Request
from pliant.solve.simulation import Simulation

CALL_SECONDS = 0.05  # that one call of the C loop should take
FIRST_STEPS = 256
NEAR = 1e-9  # of a step: a time event this near to its end lies there

SAVE_SIZE_CALL = ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_void_p)


@dataclass(frozen=True)
class Token:
    """Copies of everything that a simulation changes."""

    blocks: tuple[NDArray[Any], ...]
    linear: NDArray[np.float64] | None
    linear_key: Any
    instance: bytes
    count: bytes
    next_jump: int
    log_used: int
    n_events: int
    ended: bool
    fresh: bool


class LiveSimulation(Simulation):
    """One run in pieces."""

    def __init__(self, model: NumericModel, request: Request, u: Vector, part: str, degree: int = DEGREE) -> None:
        super().__init__(model, request, {})
        self.part, self.degree = part, degree
        n = len(model.names.u)
        self.n_u = n
        self.fresh = True  # no step was taken yet
        self.ended = False  # the model terminated
        self.chunk = FIRST_STEPS
        self.out.n_points = 0  # rows are made by the part at communication points
        if n:
            self._make_segments(u)
        self.all_states = np.arange(model.n_x, dtype=np.int32)
        self.state_row = np.empty(1 + model.n_x)
        self.state_out = binding.Output(
            n_points=0,
            n_x=model.n_x,
            x_index=self.all_states.ctypes.data,
            capacity=1,
            row=self.state_row.ctypes.data,
        )
        self.trial = np.zeros(n + 1)  # inputs of one evaluation
        self.output_call = binding.OUTPUT_CALL(model.struct.outputs) if model.struct.outputs else None

    def _make_segments(self, u: Vector) -> None:
        n, start = self.n_u, self.request.start
        self.segment_start = np.array([start, start])
        self.coefficient = np.zeros((2, self.degree + 1, n))
        self.coefficient[:, 0] = u
        self.jump = np.array([0, 1], dtype=np.uint8)
        struct = binding.Inputs(
            n_u=n,
            degree=self.degree,
            n_segments=2,
            start=self.segment_start.ctypes.data,
            coefficient=self.coefficient.ctypes.data,
            jump=self.jump.ctypes.data,
        )
        keep = (self.segment_start, self.coefficient, self.jump)
        self.inputs = InputSet(
            np.array(u),
            struct,
            keep,
            lambda times: np.array([self.inputs_at(float(t)) for t in times]),
            self.segment_start,
            self.jump,
        )
        self.u[:n] = u
        self.problem.inputs = ctypes.addressof(struct)

    def inputs_at(self, t: float) -> Vector:
        """The polynomial that holds from the last communication point on."""
        if not self.n_u:
            return np.zeros(0)
        dt, rows = t - float(self.segment_start[1]), self.coefficient[1]
        value = rows[-1].copy()
        for row in rows[-2::-1]:
            value = value * dt + row
        return np.asarray(value)

    def set_inputs(self, t: float, coefficients: Matrix) -> None:
        """A new polynomial from t on, where the run stands."""
        if not self.n_u:
            return
        assert not coefficients[self.degree + 1 :].any(), "a polynomial of a higher degree than agreed"
        coefficients = coefficients[: self.degree + 1]
        t = float(self.run.t_reached) if self.is_waiting else t  # but for rounding the same
        if self.fresh:
            self.coefficient[:] = coefficients
            return
        if t == self.segment_start[1]:  # a second time here, after what happened at the first
            self.coefficient[1] = coefficients
            self.problem.next_jump = 1
            return
        self.segment_start[0] = self.segment_start[1]
        self.coefficient[0] = self.coefficient[1]
        self.segment_start[1] = t
        self.coefficient[1] = coefficients
        self.problem.next_jump = 1

    def go(self, t_next: float, cancelled: Callable[[], bool]) -> bool:
        """Step to t_next; False if the model ended the run before."""
        if self.is_waiting:
            self._take_place(cancelled)
        if self.ended:
            return False
        self.run.t_stop, self.run.defer = t_next, NEAR * (t_next - float(self.run.t_reached))
        self._loop(cancelled)
        terminal = self.last_event is not None and self.last_event.terminal
        self.ended = terminal or (float(self.run.t_reached) < t_next and not self.run.held)
        event = min(self.run.next_time, self.run.t_turn)
        if not self.ended and not self.run.held and event - t_next <= self.run.defer:
            self.run.held = 1  # it lies behind t_next by rounding only
        return not self.ended

    @property
    def is_waiting(self) -> bool:
        """Does a time event wait for the inputs at this point?"""
        return bool(self.run.held)

    def settle(self, u: Vector) -> None:
        """The time events that wait here take place, with these inputs, and what jumps of these set off."""
        coefficients = np.zeros((self.degree + 1, self.n_u))
        coefficients[0] = u
        waits = self.is_waiting
        self.set_inputs(float(self.run.t_reached), coefficients)
        self._take_place(lambda: False, waits)

    def _take_place(self, cancelled: Callable[[], bool], waits: bool = True) -> None:
        run = self.run
        run.defer, run.held = 0.0, 1
        run.t_stop = float(run.t_reached)
        if waits:  # it may lie behind by rounding
            run.t_stop = max(run.t_stop, min(run.next_time, run.t_turn))
        self._loop(cancelled)
        self.ended = self.last_event is not None and self.last_event.terminal

    def _loop(self, cancelled: Callable[[], bool]) -> None:
        """Until the run stands at t_stop."""
        self.done = self.fresh = False
        while not self.done:
            begin = time.perf_counter()
            self.advance(self.chunk)
            took = time.perf_counter() - begin
            self.seconds += took
            if self.done:
                break
            if cancelled():
                raise Cancelled
            if took > CALL_SECONDS:
                self.chunk = max(1, self.chunk // 2)

    # ------------------------------------------------------------------------------------------------- looking

    def present_state(self) -> Vector:
        """x where the run stands."""
        self.state_out.used = 0
        status = binding.lib.pl_run_flush(
            self.run_memory.ctypes.data,
            ctypes.byref(self.problem),
            self.method_memory.ctypes.data,
            ctypes.byref(self.state_out),
        )
        if status != binding.OK:
            raise failure_error(self, status, None)
        return self.state_row[1:].copy()

    def state_with(self, x: Vector, u: Vector) -> Vector:
        """x with algebraic unknowns that fit other inputs. Overwrites the factors: a jump must follow."""
        if not (self.model.has_mass and self.model.names.algebraic and self.n_u and self.linear is not None):
            return x
        moved, work = x.copy(), np.empty(4 * self.model.n_x)
        inputs, self.problem.inputs = self.problem.inputs, None
        self.u[: self.n_u] = u
        try:
            status = binding.lib.pl_consistent(
                ctypes.byref(self.problem), float(self.run.t_reached), moved.ctypes.data, work.ctypes.data
            )
        finally:
            self.problem.inputs = inputs
        self.raise_user_error()
        if status != binding.OK:
            raise failure_error(self, status, None)
        binding.lib.pl_run_relinearise(self.run_memory.ctypes.data, self.method_memory.ctypes.data)
        return moved

    def evaluate(self, x: Vector, u: Vector, index: NDArray[np.int32]) -> Vector:
        """Outputs of the model at (t, x, u)."""
        y = np.empty(len(index))
        if not len(index) or self.output_call is None:
            return y
        self.trial[: self.n_u] = u
        t, n = float(self.run.t_reached), len(index)
        where = (x.ctypes.data, self.trial.ctypes.data, n, index.ctypes.data, y.ctypes.data)
        status = self.output_call(self.instance.address, t, *where)
        if self.instance.raised is not None:
            self.raise_user_error()
        if status != binding.OK:
            words = self.model.error_text(self.instance) or binding.status_text(status)
            raise ModelEvaluationError(
                f"part {self.part!r} refuses to evaluate its outputs at t = {t:.10g}: {words}",
                hint="check its start values, parameters and inputs",
                time=t,
            )
        return y

    # ------------------------------------------------------------------------------------------ save and restore

    def _blocks(self) -> tuple[NDArray[Any], ...]:
        own = (self.segment_start, self.coefficient) if self.n_u else ()
        return (self.run_memory, self.method_memory, self.u, *own)

    def _instance_memory(self) -> NDArray[np.uint8] | None:
        """Instance memory that is a flat block."""
        if not isinstance(self.model, NativeModel) or self.instance.address is None:
            return None
        return np.ctypeslib.as_array(
            (ctypes.c_uint8 * int(self.model.struct.memory_size)).from_address(self.instance.address)
        )

    def _save_instance(self) -> bytes:
        struct = self.model.struct
        if struct.save and struct.save_size:
            room = np.empty(int(SAVE_SIZE_CALL(struct.save_size)(self.instance.address)), dtype=np.uint8)
            binding.PARAMETER_CALL(struct.save)(self.instance.address, room.ctypes.data)
            return room.tobytes()
        memory = self._instance_memory()
        return b"" if memory is None else memory.tobytes()

    def _restore_instance(self, saved: bytes) -> None:
        struct = self.model.struct
        if not saved:
            return
        if struct.restore and struct.save_size:
            room = np.frombuffer(saved, dtype=np.uint8).copy()
            binding.PARAMETER_CALL(struct.restore)(self.instance.address, room.ctypes.data)
            return
        memory = self._instance_memory()
        assert memory is not None
        memory[:] = np.frombuffer(saved, dtype=np.uint8)

    def save(self) -> Token:
        """Everything that stepping changes."""
        return Token(
            tuple(block.copy() for block in self._blocks()),
            None if self.linear is None else self.linear.copy(),
            getattr(self, "linear_key", None),
            self._save_instance(),
            bytes(self.count),
            int(self.problem.next_jump),
            int(self.out.log_used),
            len(self.events),
            self.ended,
            self.fresh,
        )

    def restore(self, token: Token) -> None:
        """Back to a saved state."""
        for block, saved in zip(self._blocks(), token.blocks, strict=True):
            block[...] = saved
        if token.linear is not None:
            if self.linear is None or self.linear.shape != token.linear.shape:  # it has grown since
                self.linear = token.linear.copy()
                self.problem.linear = self.linear.ctypes.data
                self.linear_key = token.linear_key
                self.layout = self.model.plans[token.linear_key][0]
            else:
                self.linear[...] = token.linear
        self._restore_instance(token.instance)
        ctypes.memmove(ctypes.addressof(self.count), token.count, len(token.count))
        self.problem.next_jump = token.next_jump
        self.out.log_used = token.log_used
        del self.events[token.n_events :]
        self.ended, self.fresh = token.ended, token.fresh
