"""A simulation that goes on from one communication point to the next, and can be saved and taken back.

The work is done in C (runtime/src/simulation_live.c): inputs are polynomials from the last communication point on, and
time events at a communication point (ticks of clocks) wait there until the inputs at that point are known: ``settle``,
or the next ``go``.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pliant.arguments import Vector
from pliant.cosim.part import DEGREE, Cancelled, Matrix
from pliant.errors import ModelEvaluationError, SolverError
from pliant.solve.binding import runtime
from pliant.solve.failure import failure_error
from pliant.solve.models.numeric import NumericModel
from pliant.solve.options import Request
from pliant.solve.run.inputs import constant_inputs
from pliant.solve.run.simulation import Simulation

CALL_SECONDS = 0.05  # that one call of the C loop should take
FIRST_STEPS = 256


@dataclass(frozen=True)
class SavedState:
    """Everything that a simulation changes, as flat memory."""

    image: NDArray[np.float64]


class PartSimulation(Simulation):
    """One run in pieces."""

    def __init__(self, model: NumericModel, request: Request, u: Vector, part: str, degree: int = DEGREE) -> None:
        super().__init__(model, request, constant_inputs(u), degree)
        self.part, self.degree = part, degree
        self.n_u = len(model.names.u)
        self.chunk = FIRST_STEPS
        self.trial = np.zeros(self.n_u + 1)  # inputs of one evaluation
        self.output_call = runtime.OUTPUT_CALL(model.struct.outputs) if model.struct.outputs else None

    @property
    def ended(self) -> bool:
        """Has the model ended the run?"""
        return bool(self.head.ended)

    @property
    def is_waiting(self) -> bool:
        """Does a time event wait for the inputs at this point?"""
        return bool(self.run.held)

    def inputs_at(self, t: float) -> Vector:
        """The polynomial that holds from the last communication point on."""
        if not self.n_u:
            return np.zeros(0)
        n, place = (self.degree + 1) * self.n_u, self.head.inputs.start
        numbers = self.memory.reals(place, 2 + 2 * n)
        dt, rows = t - float(numbers[1]), numbers[2 + n :].reshape(self.degree + 1, self.n_u)
        value = rows[-1].copy()
        for row in rows[-2::-1]:
            value = value * dt + row
        return np.asarray(value)

    def set_inputs(self, t: float, coefficients: Matrix) -> None:
        """A new polynomial from t on, where the run stands."""
        if not self.n_u:
            return
        assert not coefficients[self.degree + 1 :].any(), "a polynomial of a higher degree than agreed"
        given = np.zeros((self.degree + 1, self.n_u))
        given[: len(coefficients)] = coefficients[: self.degree + 1]
        runtime.lib.pl_simulation_set_inputs(self.place, t, runtime.address_of(given))

    def go(self, t_next: float, cancelled: Callable[[], bool]) -> bool:
        """Step to t_next; False if the model ended the run before."""
        self._loop(lambda: runtime.lib.pl_simulation_go(self.place, t_next, self.chunk), cancelled)
        return not self.ended

    def settle(self, u: Vector) -> None:
        """The time events that wait here take place, with these inputs, and what jumps of these set off."""
        given = np.append(np.asarray(u, dtype=np.float64), 0.0)
        address = runtime.address_of(given)
        self._loop(lambda: runtime.lib.pl_simulation_settle(self.place, address, self.chunk), lambda: False)

    def _loop(self, call: Callable[[], int], cancelled: Callable[[], bool]) -> None:
        """Until the run stands where it shall."""
        self.done = False
        while not self.done:
            begin = time.perf_counter()
            with self.told.listening():
                self.went(call())
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
        x = np.empty(self.model.n_x)
        runtime.lib.pl_simulation_state(self.place, runtime.address_of(x))
        return x

    def state_with(self, x: Vector, u: Vector) -> Vector:
        """x with algebraic unknowns that fit other inputs. Overwrites the factors: a jump must follow."""
        if not (self.model.has_mass and self.model.names.algebraic and self.n_u and self.linear is not None):
            return x
        moved, given, work = x.copy(), np.array(u, dtype=np.float64), np.empty(4 * self.model.n_x)
        status = runtime.lib.pl_simulation_state_with(
            self.place, runtime.address_of(given), runtime.address_of(moved), runtime.address_of(work)
        )
        self.raise_user_error()
        if status != runtime.OK:
            raise failure_error(self, status, None)
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
        if status != runtime.OK:
            words = self.model.error_text(self.instance) or runtime.status_text(status)
            raise ModelEvaluationError(
                f"part {self.part!r} refuses to evaluate its outputs at t = {t:.10g}: {words}",
                hint="check its start values, parameters and inputs",
                time=t,
            )
        return y

    # ------------------------------------------------------------------------------------------ save and restore

    def save(self) -> SavedState:
        """Everything that stepping changes."""
        size = runtime.lib.pl_simulation_save_size(self.place, 0)
        image = np.empty((size + 7) // 8)
        status = runtime.lib.pl_simulation_save(self.place, 0, runtime.address_of(image)) if size else runtime.ARGUMENT
        if status != runtime.OK:
            raise SolverError(
                f"part {self.part!r} cannot be saved at t = {float(self.run.t_reached):.10g}",
                hint="simulate the coupling with watch=False and extrapolation=0, which repeat no steps",
            )
        return SavedState(image)

    def restore(self, token: SavedState) -> None:
        """Back to a saved state."""
        status = runtime.lib.pl_simulation_restore(self.place, runtime.address_of(token.image))
        if status != runtime.OK:
            raise failure_error(self, status, None)
        del self.events_known[self.head.n_events :]
