"""The exact method along the scenarios: what the search and the evidence use.

    (L - tau Df) (x_(k+1) - x_k) = tau f(t_(k+1), x_k, u_(k+1)),     Df = df/dx at the same point

(Schiela & Bornemann 2003, eq. (3), inputs at the new time level: where they jump there, up to it the values before, for
events there and from there on those after.) Relations are brought up to date between the steps
and held within them, as the generated step does it; so are delayed values, see :mod:`past`. Every step keeps t, x,
Dx = x_(k+1) - x_k and Df.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from pliant.errors import ArgumentError, ModelEvaluationError, NonFiniteError, SingularError, UnknownNameError
from pliant.expr.evaluate import parameter_values
from pliant.realtime.scenario import Scenario, StepInputs, jump_room, step_times
from pliant.realtime.sparsing.entry_states import Kept, used
from pliant.realtime.sparsing.late_resets import LateResets
from pliant.realtime.sparsing.past import Moment, Past, delays_of, steps_of
from pliant.realtime.sparsing.resting_states import STILL, WINDOW, level, rests
from pliant.realtime.sparsing.sparse_steps import SPARSE, SparseSteps
from pliant.realtime.sparsing.spectrum import singular_hint
from pliant.solve.binding import runtime
from pliant.solve.binding.outputs import outputs_of_rows
from pliant.solve.failure import event_hint
from pliant.solve.matrices import jacobian_places, mass_matrix
from pliant.solve.models.numeric import NumericModel
from pliant.solve.options import check_parameters
from pliant.solve.run.operating import Point
from pliant.solve.signals.given import typed_inputs

Matrix = NDArray[np.float64]
LARGEST_STORE = 60_000_000  # numbers kept of all Jacobians together; beyond it the steps between are not kept
DIVERGED = 1e30


def dense(n: int, rows: NDArray[np.intp], columns: NDArray[np.intp], values: Matrix) -> Matrix:
    """Entries as n x n matrices; leading axes are kept."""
    out = np.zeros((*values.shape[:-1], n, n))
    out[..., rows, columns] = values
    return out


@dataclass(eq=False)
class Trace:
    """One run with the exact Jacobian, or with a part of it."""

    scenario: Scenario
    t: Matrix  # (N,) times at the end of the steps
    x: Matrix  # (N + 1, n)
    values: Matrix  # (kept, nnz) entries of Df at the steps in `kept`
    kept: NDArray[np.intp]  # numbers of the steps whose Df is kept
    f: Matrix  # (N, n) right sides where Df was taken
    dx: Matrix  # (N, n) steps: what the method added to x, before an event set it anew
    parameters: Matrix  # of the instance
    memories: Matrix  # (N, n_d) discrete variables at the end of the steps
    past: Matrix | None = None  # (N + 1, 2, n_delays) what is delayed, see Past
    resets: tuple[tuple[int, int, float, float], ...] = ()  # within steps, see LateResets


@dataclass(eq=False)
class Walker:
    """A model stood at the start of a scenario, ready to take steps of one size."""

    model: NumericModel
    tau: float
    order: int = 1
    rows: NDArray[np.intp] = field(init=False)
    columns: NDArray[np.intp] = field(init=False)
    mass: Matrix = field(init=False)
    last: tuple[Matrix, Matrix] = field(init=False)  # f and entries of Df of the last step
    end: Matrix = field(init=False)  # x after the last step and its events

    def __post_init__(self) -> None:
        self.rows, self.columns = jacobian_places(self.model)
        self.n = self.model.n_x

    def begin(self, scenario: Scenario, past: Matrix | None = None) -> None:
        """Start values of the scenario, made consistent; ``past``: what a run of it has seen of delayed values."""
        self.scenario = scenario
        try:
            self.point = self._start()
        except (ArgumentError, UnknownNameError) as error:  # in the words of simulate
            raise type(error)(f"{scenario.name}: {error.message}", hint=error.hint) from None
        self.sim = self.point.sim
        self.inputs = StepInputs.of(self.sim.inputs, scenario, self.tau)
        given = (self.inputs.start, self.inputs.before, self.inputs.after)
        self._numbers_given = all(bool(np.isfinite(one).all()) for one in given)
        self.sim.problem.inputs = None  # u is set here: the runtime's own way is made for solvers that stop at jumps
        self.mass = mass_matrix(self.sim)
        self.algebraic = ~self.mass.any(axis=1)
        address = runtime.lib.pl_linear_jacobian(self.sim.linear, None)
        count = self.sim.layout.n_jac
        self._values = np.ctypeslib.as_array((ctypes.c_double * count).from_address(address))
        self._has_relations = bool(self.model.struct.n_roots) and bool(self.model.struct.event)
        self._levels = self._resting()
        self._has_memory = self.model.known.has_memory
        self.past = self._new_past(past)
        self._begin = self.point.x.copy()
        equations = self.model.equations
        self.late = LateResets.of(equations, self.rows, self.columns) if equations and self._has_memory else None

    def _new_past(self, given: Matrix | None) -> Past | None:
        """What delays have seen: the start, or all of a run."""
        if not self.model.n_delays:
            return None
        equations = self.model.equations
        assert equations is not None
        s, program = equations.sorted, equations.program
        self._delays = delays_of(program)
        number = {one.name: v for v, one in enumerate(s.system.variables)}
        given_p = zip(self.model.names.p, self.sim.request.parameters.tolist(), strict=False)
        values = parameter_values(s.system, {number[name]: value for name, value in given_p})
        steps = steps_of(program, self._delays, values, self.tau)
        past = Past(steps, len(self.inputs.before), np.zeros(len(steps)))
        past.rows[0] = self._delayed(self.point.t, self.point.x)
        if given is not None:
            past.rows[: len(given)] = given
        return past

    def _delayed(self, t: float, x: Matrix) -> Matrix:
        """What is delayed, as it is now."""
        found = self.model.delayed(self.sim.instance, t, x, self.sim.u)
        if found is None:
            words = self.model.error_text(self.sim.instance)
            raise ModelEvaluationError(
                f"{self.model.name}: what is delayed cannot be evaluated at t = {t:g} in {self.scenario.name}: {words}",
                hint="a smaller step, or a scenario that stays where the model is defined",
                time=t,
            )
        return found[[one.number for one in self._delays]]

    def _hold_delays(self, done: int, moment: Moment) -> None:
        """Delayed values as a step knows them."""
        if self.past is None:
            return
        known, share = np.zeros(self.model.n_delays), np.zeros(self.model.n_delays)
        places = [one.number for one in self._delays]
        known[places], share[places] = self.past.known(done, moment)
        self.model.hold_delays(self.sim.instance, known, share)

    def _record(self, t: float, x: Matrix, side: int) -> None:
        """Keep what is delayed at the end of a step: up to it (side -1), or from there on."""
        if self.past is None:
            return
        done = self.steps_at(t)
        self.refresh(t, x, self.inputs.before[done - 1] if side < 0 else None, side)
        self.past.rows[done, int(side > 0) :] = self._delayed(t, x)

    def _start(self) -> Point:
        scenario = self.scenario
        declared = self.model.declared_inputs(check_parameters(self.model, scenario.parameters))
        stop = math.inf if scenario.stop is None else scenario.stop
        inputs = typed_inputs(declared, scenario.inputs, stop)
        return Point(self.model, scenario.start, inputs, scenario.parameters, scenario.start_values)

    def _resting(self) -> list[tuple[int, float]]:
        """States that may come to rest at a level, with it."""
        self._crossed: dict[int, int] = {}
        equations = self.model.equations
        if equations is None or not self._has_relations:
            return []
        s, program = equations.sorted, equations.program
        number = {one.name: v for v, one in enumerate(s.system.variables)}
        given = zip(self.model.names.p, self.sim.request.parameters.tolist(), strict=False)
        values = parameter_values(s.system, {number[name]: value for name, value in given})
        found = ((one.place, level(s, one, values)) for one in rests(s, program))
        return [(i, at) for i, at in found if at is not None]

    def _rest(self, before: Matrix, dx: Matrix) -> Matrix:
        """x after the step; states that crossed a level and do not move any more lie on it."""
        x = before + dx
        for k, (i, at) in enumerate(self._levels):
            crossed = self._crossed.get(k, 0)
            if crossed > 0 and abs(dx[i]) <= STILL * abs(x[i] - at):
                x[i] = at
            self._crossed[k] = WINDOW if (before[i] - at) * (x[i] - at) < 0.0 else max(crossed - 1, 0)
        return x

    def evaluate(
        self, t: float, x: Matrix, u: Matrix | None = None, side: int = 1, moment: Moment | None = None
    ) -> tuple[Matrix, Matrix]:
        """f and the entries of Df at (t, x), t the end of a step; with these inputs, or those from t on."""
        self.refresh(t, x, u, side)
        if moment is not None:
            self._hold_delays(self.steps_at(t), moment)
        f = self._rhs(t, x)
        self.point.derivatives(x, f)
        return f, self._values.copy()

    def _rhs(self, t: float, x: Matrix) -> Matrix:
        try:
            return self.point.rhs(x)
        except ModelEvaluationError as error:
            failure = self.sim.problem.failure
            if failure.status != runtime.NONFINITE or failure.index < 0:
                raise
            raise self._not_a_number(t, self.model.names.x[failure.index]) from error

    def refresh(self, t: float, x: Matrix, u: Matrix | None = None, side: int = 1) -> None:
        """Inputs and relations at (t, x), t the end of a step; discrete variables hold. ``side``: 1, relations see what
        time changes at t; -1: they do not."""
        sim = self.sim
        self.point.t = t
        done = self.steps_at(t)
        self._set_inputs(t, self.inputs_from(done) if u is None else u)
        self._hold_delays(*((done, Moment.AT) if side > 0 else (done - 1, Moment.AHEAD)))
        if not self._has_relations:
            return
        t = self.beside(t, side)
        if self._has_memory:
            self.model.settle(sim.instance, t, x, sim.u)
            return
        info = runtime.EventInfoStruct()
        call = runtime.EVENT_CALL(self.model.struct.event)
        # no roots given: relations exactly as they stand, without the band around a root where solvers hold them
        call(sim.instance.address, t, x.ctypes.data, sim.u.ctypes.data, None, ctypes.byref(info))

    def beside(self, t: float, side: int) -> float:
        """t, a little before it or behind it, as written code compares it."""
        return t if self.model.equations is None else t + side * jump_room(self.tau, t)

    def hold(self, memories: Matrix) -> None:
        """Give discrete variables these values."""
        if self._has_memory:
            self.model.set_memories(self.sim.instance, memories)

    def outputs(self, times: Matrix, x: Matrix, memories: Matrix) -> Matrix:
        """All outputs at the start and the ends of steps; NaN where they cannot be evaluated."""
        done = np.rint((times - self.scenario.start) / self.tau).astype(np.intp)
        u = self.inputs.rows[done]
        if self.past is not None:
            return self._outputs_by_rows(times, x, memories)
        for t, row in zip(times.tolist(), u, strict=True) if not self._numbers_given else ():
            self._set_inputs(t, row)  # raises
        sim = self.sim
        y = outputs_of_rows(
            self.model,
            sim.instance.address,
            times,
            x,
            u,
            relations_at=np.array([self.beside(t, 1) for t in times.tolist()]) if self._has_relations else None,
            memory=memories if self._has_memory else None,
        )
        sim.raise_user_error()
        return y

    def _outputs_by_rows(self, times: Matrix, x: Matrix, memories: Matrix) -> Matrix:
        """The same where every row has a past of its own."""
        y = np.full((len(times), len(self.model.names.y)), np.nan)
        for k, t in enumerate(times.tolist()):
            if k:
                self.hold(memories[k - 1])
            self.refresh(t, x[k])
            with contextlib.suppress(ModelEvaluationError):
                y[k] = self.point.outputs(x[k])
        return y

    @property
    def memories(self) -> Matrix:
        """Discrete variables as they are now."""
        return np.array(self.model.memories(self.sim.instance))

    def right_side(self, t: float, x: Matrix, u: Matrix, side: int) -> Matrix:
        """f alone; see :meth:`evaluate`."""
        self.refresh(t, x, u, side)
        return self._rhs(t, x)

    def events(self, t: float, x: Matrix) -> Matrix:
        """x after what happens at the end of a step: sampled equations, when-clauses, reinit."""
        if not self._has_memory:
            return x
        held = self.memories if self.late is not None else None
        after = self._event(t, x)
        if self.late is None or held is None or np.array_equal(after, x):
            return after
        later = self.late.after(self, t, (self._begin, x, after), held)
        return after if later is None else self._event(t, later)

    def _event(self, t: float, x: Matrix) -> Matrix:
        self._set_inputs(t, self.inputs_from(self.steps_at(t)))
        self._hold_delays(self.steps_at(t), Moment.AT)
        after, info = x.copy(), runtime.EventInfoStruct()
        call = runtime.EVENT_CALL(self.model.struct.event)
        at = self.beside(t, 1)
        status = call(
            self.sim.instance.address, at, after.ctypes.data, self.sim.u.ctypes.data, None, ctypes.byref(info)
        )
        if status != runtime.OK:
            words = self.model.error_text(self.sim.instance)
            raise ModelEvaluationError(
                f"{self.model.name}: the event at t = {t:g} in {self.scenario.name} fails: {words}",
                hint=event_hint(words) or "check the scenario's inputs and parameters, or take a smaller step",
                time=t,
            )
        return after

    def slopes(self, t: float, x: Matrix) -> tuple[Matrix, Matrix]:
        """f and the diagonal of Df at any t and x, relations and inputs as at the end of the step."""
        self.point.t = t
        if self._has_relations:
            self.model.settle(self.sim.instance, t, x, self.sim.u)
        f = self._rhs(t, x)
        self.point.derivatives(x, f)
        diagonal, own = np.zeros(self.n), self.rows == self.columns
        diagonal[self.rows[own]] = self._values[own]
        return f, diagonal

    def steps_at(self, t: float) -> int:
        """Steps that have been made at t."""
        return round((t - self.scenario.start) / self.tau)

    def inputs_from(self, k: int) -> Matrix:
        """Inputs from the end of step k on, the first step being number 1; 0: from the start on."""
        return np.asarray(self.inputs.after[k - 1] if k > 0 else self.inputs.start)

    def _set_inputs(self, t: float, u: Matrix) -> None:
        if not (self._numbers_given or np.isfinite(u).all()):
            raise self._not_a_number(t, self.model.names.u[int(np.argmin(np.isfinite(u)))])
        self.sim.u[: len(u)] = u

    def _keep_guesses(self, t: float, x: Matrix) -> None:
        """Loops inside f begin the next step where they ended in this one."""
        if not self.model.struct.step_done:
            return
        request = ctypes.c_int(0)
        call = runtime.STEP_CALL(self.model.struct.step_done)
        call(self.sim.instance.address, t, x.copy().ctypes.data, self.sim.u.ctypes.data, ctypes.byref(request))

    def dense(self, values: Matrix) -> Matrix:
        """Entries as a square matrix."""
        return dense(self.n, self.rows, self.columns, values)

    def solve(self, t: float, values: Matrix, f: Matrix, share: float = 1.0) -> Matrix:
        """dx of one Euler step of length share * tau."""
        h = share * self.tau
        if self.n > SPARSE:
            dx = self.sparse.solve(values, h, h * f)
        else:
            try:
                with np.errstate(all="ignore"):
                    dx = np.asarray(np.linalg.solve(self.mass - h * self.dense(values), h * f), dtype=np.float64)
            except np.linalg.LinAlgError:
                dx = np.full(self.n, np.nan)
        if not np.abs(dx).max(initial=0.0) <= DIVERGED:  # not a number, or too large
            self._explain(t, self.mass - h * self.dense(values), f)
        return dx

    @cached_property
    def sparse(self) -> SparseSteps:
        """Solutions of large models."""
        return SparseSteps(self.mass, self.rows, self.columns)

    def step(self, t: float, x: Matrix, kept: Kept | None = None) -> tuple[Matrix, Matrix]:
        """dx of the step that ends at t, and the entries of Df where it was taken.

        Inputs at the end are those up to it. Order 2: f at the old time, with the inputs from there on, for the whole
        and the first half step; at half time, with the mean of the inputs at both ends, as the generated step knows no
        others, for the second one; relations are held.
        """
        done = self.steps_at(t) - 1
        end = self.inputs.before[done]
        if self.order == 1:
            f, values = self.last = self.evaluate(t, x, end, -1)
        else:
            begin = self.inputs_from(done)
            at = self.scenario.start + done * self.tau
            f, values = self.last = self.evaluate(at, x, begin, moment=Moment.BEGIN)
        entries = values if kept is None else used(values, kept)
        dx = self.solve(t, entries, f)
        if self.order == 1:
            return dx, values
        first = self.solve(t, entries, f, 0.5)
        self.point.t = t - 0.5 * self.tau
        self._set_inputs(t, 0.5 * (begin + end))
        self._hold_delays(done, Moment.MIDDLE)
        second = self.solve(t, entries, self._rhs(t, x + first), 0.5)
        return 2.0 * (first + second) - dx, values

    def _explain(self, t: float, matrix: Matrix, f: Matrix) -> None:
        names = self.model.names.x
        where = f"at t = {t:g} in {self.scenario.name}"
        if not np.isfinite(matrix).all() or not np.isfinite(f).all():
            bad = ~np.isfinite(f) | ~np.isfinite(matrix).all(axis=1)
            name = names[int(np.flatnonzero(bad)[0])]
            raise self._not_a_number(t, name)
        pivots = np.abs(np.diag(scipy.linalg.lu(matrix)[2]))
        if pivots.min() > np.finfo(float).eps * pivots.max():
            self._diverged(t, np.asarray(np.linalg.solve(matrix, f), dtype=np.float64))
        name = names[int(np.argmin(pivots))]
        raise SingularError(
            f"{self.model.name}: L - tau Df is singular {where} (no pivot for {name}): the step has no solution",
            hint=singular_hint(bool(self.model.names.algebraic)),
            time=t,
            names=(name,),
        )

    def _not_a_number(self, t: float, name: str) -> NonFiniteError:
        return NonFiniteError(
            f"{self.model.name}: {name} or its equation is not a number at t = {t:g} in {self.scenario.name}",
            hint="a smaller step, or a scenario that stays where the model is defined",
            time=t,
            names=(name,),
        )

    def walk(self, scenario: Scenario, kept: Kept | None = None) -> Iterator[tuple[float, Matrix, Matrix, Matrix]]:
        """(t, x before, entries of Df, dx) of every step; ``kept``: what the step uses of Df, None: all."""
        self.begin(scenario)
        x = self.point.x.copy()
        for t in step_times(scenario, self.tau)[1:].tolist():
            self._begin = x
            dx, values = self.step(t, x, kept)
            yield t, x, values, dx
            self._keep_guesses(t, x)
            x = self._rest(x, dx)
            self._record(t, x, -1)
            x = self.end = self.events(t, x)
            self._record(t, x, 1)
            if np.abs(x).max(initial=0.0) > DIVERGED:
                self._diverged(t, x)

    def _diverged(self, t: float, x: Matrix) -> None:
        name = self.model.names.x[int(np.argmax(np.abs(x)))]
        raise NonFiniteError(
            f"{self.model.name}: {name} grows without bound; {self.scenario.name} diverges at t = {t:g}",
            hint="a smaller step; or the model itself is unstable in this scenario (see model.simulate)",
            time=t,
            names=(name,),
        )


def trace(
    walker: Walker, scenario: Scenario, choice: Kept | None = None, report: Callable[[float], object] | None = None
) -> Trace:
    """Run one scenario and keep its linearisations."""
    count = len(step_times(scenario, walker.tau)) - 1
    every = max(1, -(-count * len(walker.rows) // LARGEST_STORE))
    times, states, kept, values, rates, moves, memories = [], [], [], [], [], [], []
    for k, (t, before, entries, dx) in enumerate(walker.walk(scenario, choice)):
        if k:
            memories.append(walker.memories)
        times.append(t)
        states.append(before)
        rates.append(walker.last[0])
        if k % every == 0:
            kept.append(k)
            values.append(entries)
        moves.append(dx)
        if report is not None and k % 64 == 0:
            report(k / count)
    states.append(walker.end)
    memories.append(walker.memories)
    return Trace(
        scenario,
        np.array(times),
        np.array(states),
        np.array(values),
        np.array(kept, dtype=np.intp),
        np.array(rates),
        np.array(moves),
        walker.sim.request.parameters.copy(),
        np.array(memories),
        None if walker.past is None else walker.past.rows.copy(),
        () if walker.late is None else tuple(walker.late.log),
    )
