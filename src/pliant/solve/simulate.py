"""The simulation loop as Python sees it: memory, calls of the C step loop, events, progress, the Result.

The steps themselves are taken in C (``pl_run_advance``); Python comes back for events, for more memory,
and often enough to show progress and to hear Ctrl-C.
"""

from __future__ import annotations

import ctypes
import datetime as dt
import math
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.errors import (
    ArgumentError,
    InitialValueError,
    PliantError,
    SimulationInterrupted,
    SimulationTimeout,
    SingularError,
    SolverError,
    UnknownNameError,
)
from pliant.solve import binding
from pliant.solve.failure import failure_error
from pliant.solve.inputs import make_inputs
from pliant.solve.manifest import make_manifest
from pliant.solve.native import NativeModel
from pliant.solve.numeric import NumericModel, Vector
from pliant.solve.options import Request
from pliant.solve.progress import Progress, Reporter
from pliant.solve.result import Event, Result, Stats

#: seconds that one call of the C loop should take
CALL_SECONDS = 0.05
#: tolerance units by which algebraic start values may miss their equations before they are called inconsistent
CONSISTENT = 1.0
LOG_WIDTH = 4
METHOD_ARRAY = np.array([name for name in binding.METHODS if name != "auto"])


def _bytes(size: int) -> NDArray[np.float64]:
    """Memory for the runtime, aligned for doubles."""
    return np.empty((size + 7) // 8, dtype=np.float64)


class Simulation:
    """One run: owns all memory of the runtime. ``advance`` until ``done``, then ``result``."""

    def __init__(self, model: NumericModel, request: Request, inputs: Mapping[str, Any]) -> None:
        self.model, self.request = model, request
        self.instance = model.instance(request.parameters)
        self.inputs = make_inputs(model, inputs, self.instance)
        self.u = self.inputs.u.copy() if self.inputs.u.size else np.zeros(1)
        self.count = binding.Counters()
        self.atol = np.ascontiguousarray(request.atol)
        self.problem = binding.Problem(
            model=model.address,
            self_=self.instance.address,
            inputs=ctypes.addressof(self.inputs.struct) if self.inputs.struct is not None else None,
            u=self.u.ctypes.data,
            rtol=request.rtol,
            atol=self.atol.ctypes.data,
            count=ctypes.addressof(self.count),
            next_jump=1 << 30,
        )
        self.problem.failure.index = -1
        self.lu_room = 0.0
        self.linear: NDArray[np.float64] | None = None
        self.events: list[Event] = []
        self.last_event: Event | None = None
        self.methods: list[str] = []
        self.seconds = 0.0
        self.done = False
        self.x = request.x.copy()
        self._check_bounds()
        if request.method in binding.IMPLICIT:
            self._make_linear()
        self._output()
        self._begin()

    # --------------------------------------------------------------------------------------------- setting up

    def _check_bounds(self) -> None:
        low, high, names = self.model.x_min, self.model.x_max, self.model.names.x
        for bound, wrong, word in ((low, np.less, "min"), (high, np.greater, "max")):
            if bound is not None and np.any(wrong(self.x, bound)):
                i = int(np.flatnonzero(wrong(self.x, bound))[0])
                raise InitialValueError(
                    f"the start value {self.x[i]:g} of {names[i]} lies outside {word} = {bound[i]:g}",
                    hint="change the start value or the bound",
                )

    def _make_linear(self) -> None:
        """Plan and lay out the iteration matrix; again with more room after PL_MEMORY."""
        options = self.request.options
        wanted = binding.LinearOptions(
            storage=binding.STORAGE[options.linear],
            need_complex=int(self.request.method in ("auto", "radau5")),
            differences=int(options.jacobian == "differences"),
            increment=binding.INCREMENTS[options.increments],
            lu_room=self.lu_room,
        )
        key = (wanted.storage, wanted.need_complex, wanted.differences, wanted.increment, wanted.lu_room)
        if key not in self.model.plans:
            self.model.plans[key] = self._plan(wanted)
        layout, work = self.model.plans[key]
        lib, address = binding.lib, self.model.address
        self.linear = _bytes(layout.size)
        lib.pl_linear_init(
            self.linear.ctypes.data, address, ctypes.byref(wanted), ctypes.byref(layout), work.ctypes.data
        )
        self.problem.linear = self.linear.ctypes.data
        self.layout = layout
        if options.mask is not None:
            self._set_mask(options.mask)

    def _plan(self, wanted: binding.LinearOptions) -> tuple[binding.LinearLayout, NDArray[np.float64]]:
        """Patterns merged, coloured and ordered: done once for a model."""
        lib, address = binding.lib, self.model.address
        work = _bytes(lib.pl_linear_work_size(address))
        layout = binding.LinearLayout()
        status = lib.pl_linear_plan(address, ctypes.byref(wanted), ctypes.byref(layout), work.ctypes.data)
        if status == binding.ARGUMENT:
            raise ArgumentError(
                "linear='sparse' needs the pattern of the Jacobian", hint="give pattern= or a sparse jac"
            )
        if status != binding.OK:
            raise SolverError(f"planning the linear algebra failed: {binding.status_text(status)}")
        if layout.structural_rank < self.model.n_x:
            name = self.model.names.x[layout.unmatched]
            raise SingularError(
                f"the model is structurally singular: no equation determines {name}",
                hint=f"add an equation that depends on {name}, or correct the pattern",
                names=(name,),
                time=self.request.start,
            )
        return layout, work

    def _set_mask(self, mask: Any) -> None:
        keep = np.asarray(mask, dtype=bool)
        n = self.model.n_x
        if keep.shape != (n, n):
            raise ArgumentError(f"option mask has shape {keep.shape}, expected {(n, n)}")
        rows, columns = self.jacobian_places()
        flags = np.ascontiguousarray(keep[rows, columns], dtype=np.uint8)
        assert self.linear is not None
        binding.lib.pl_linear_mask(self.linear.ctypes.data, flags.ctypes.data)

    def _output(self) -> None:
        """Rows for the result and the step log."""
        names, request = self.model.names, self.request
        wanted = request.outputs
        if wanted is None:
            x_index, y_index = range(self.model.n_x), range(len(names.y))
        else:
            x_index = [i for i, name in enumerate(names.x) if name in set(wanted)]  # type: ignore[assignment]
            y_index = [i for i, name in enumerate(names.y) if name in set(wanted)]  # type: ignore[assignment]
            unknown = set(wanted) - set(names.x) - set(names.y) - set(names.u)
            if unknown:
                from difflib import get_close_matches

                name = sorted(unknown)[0]
                near = get_close_matches(name, (*names.x, *names.y), 3)
                raise UnknownNameError(
                    f"outputs: the model has no variable {name!r}",
                    hint=f"did you mean {', '.join(near)}?" if near else "",
                )
        self.x_index = np.array(x_index, dtype=np.int32)
        self.y_index = np.array(y_index, dtype=np.int32)
        width = 1 + len(self.x_index) + len(self.y_index)
        capacity = 256 if request.points is None else len(request.points) + 2
        try:
            self.rows = np.empty((capacity, width))
        except MemoryError:
            raise ArgumentError(
                f"{capacity} points of {width} variables do not fit into memory",
                hint="ask for fewer points, or name the variables you need in outputs=",
            ) from None
        self.log = np.empty((256, LOG_WIDTH))
        self.out = binding.Output(
            n_points=-1 if request.points is None else len(request.points),
            point=None if request.points is None else request.points.ctypes.data,
            n_x=len(self.x_index),
            x_index=self.x_index.ctypes.data,
            n_y=len(self.y_index),
            y_index=self.y_index.ctypes.data,
            capacity=capacity,
            row=self.rows.ctypes.data,
            log_capacity=len(self.log),
            log=self.log.ctypes.data,
        )

    def _begin(self) -> None:
        request, options, lib = self.request, self.request.options, binding.lib
        run_options = binding.RunOptions(
            method=binding.METHODS[request.method],
            method_options=binding.MethodOptions(options.first_step, options.max_step, request.step, options.max_order),
            max_steps=options.max_steps,
            root_samples=options.root_samples,
            restart_always=int(options.restart == "always"),
        )
        self.run_memory = _bytes(lib.pl_run_size(self.model.address))
        self.run = binding.Run.from_address(self.run_memory.ctypes.data)
        self.method_memory = _bytes(lib.pl_run_method_size(ctypes.byref(run_options), self.model.n_x))
        self.run.t_reached = request.start
        next_time = self._initialise()
        status = lib.pl_run_init(
            self.run_memory.ctypes.data,
            ctypes.byref(self.problem),
            ctypes.byref(run_options),
            request.start,
            request.stop,
            self.x.ctypes.data,
            next_time,
        )
        self._raise_user_error()
        if status != binding.OK:
            raise failure_error(self, status, None)

    def _initialise(self) -> float:
        """Consistent start; returns the first time event."""
        request, model = self.request, self.model
        next_time = math.inf
        if self.inputs.struct is not None:
            self.u[: len(self.inputs.u)] = self.inputs.value(np.array([request.start]))[0]
        if model.struct.initialise:
            info = binding.EventInfo(next_time=math.inf)
            call = binding.INITIALISE_CALL(model.struct.initialise)
            status = call(
                self.instance.address,
                request.start,
                self.x.ctypes.data,
                self.u.ctypes.data,
                ctypes.byref(info),
            )
            self._raise_user_error()
            if status != binding.OK:
                raise InitialValueError(
                    f"{model.name}: initialisation failed at t = {request.start:g}: {model.error_text(self.instance)}",
                    hint="give better start values",
                )
            return float(info.next_time)
        if model.has_mass and self.linear is not None and model.names.algebraic:
            self._make_consistent()
        return next_time

    def _make_consistent(self) -> None:
        lib, start = binding.lib, self.request.start
        given, work = self.x.copy(), np.empty(4 * self.model.n_x)
        status = lib.pl_consistent(ctypes.byref(self.problem), start, self.x.ctypes.data, work.ctypes.data)
        self._raise_user_error()
        if status == binding.MEMORY:
            self._more_memory()
            self.x[:] = given
            self._make_consistent()
            return
        if status != binding.OK:
            raise failure_error(self, status, None)
        scale = self.request.rtol * np.abs(given) + self.request.atol
        miss = np.abs(self.x - given) / np.where(scale > 0, scale, 1.0)
        if self.request.options.initial == "check" and miss.max() > CONSISTENT:
            worst = int(np.argmax(miss))
            name = self.model.names.x[worst]
            raise InitialValueError(
                f"the algebraic start values do not satisfy their equations at t = {start:g}: "
                f"{name} = {given[worst]:.10g}, but {self.x[worst]:.10g} would be consistent",
                hint="correct the start values, or pass options={'initial': 'solve'} to take them as guesses",
            )

    # ----------------------------------------------------------------------------------------------- stepping

    def _raise_user_error(self) -> None:
        if self.instance.raised is not None:
            error, self.instance.raised = self.instance.raised, None
            raise error

    def _more_memory(self) -> None:
        """Pivoting needed more room for the factors than predicted."""
        self.lu_room = 2.0 * max(self.lu_room, 1.3)
        if self.lu_room > 1e6:
            raise SolverError("the sparse factorisation fills up without end", hint="options={'linear': 'dense'}")
        self._make_linear()

    def _grow(self) -> None:
        """Double output memory that is nearly full."""
        if self.request.points is None and self.out.capacity - self.out.used < 3:
            rows = np.empty((2 * len(self.rows), self.rows.shape[1]))
            rows[: self.out.used] = self.rows[: self.out.used]
            self.rows = rows
            self.out.capacity, self.out.row = len(rows), rows.ctypes.data
        if self.out.log_used >= self.out.log_capacity:
            log = np.empty((4 * len(self.log), LOG_WIDTH))
            log[: self.out.log_used] = self.log[: self.out.log_used]
            self.log = log
            self.out.log_capacity, self.out.log = len(log), log.ctypes.data

    def advance(self, steps: int) -> None:
        """At most ``steps`` more steps; sets ``done`` at the end. Raises on failure, without a result."""
        status = binding.lib.pl_run_advance(
            self.run_memory.ctypes.data,
            ctypes.byref(self.problem),
            self.method_memory.ctypes.data,
            ctypes.byref(self.out),
            steps,
        )
        if self.instance.raised is not None:
            self._raise_user_error()
        if status in (binding.EVENT, binding.TERMINATED):
            self._note_event(status == binding.TERMINATED)
        if status in (binding.FINISHED, binding.TERMINATED):
            self.done = True
        elif status == binding.MEMORY:
            self._more_memory()
            binding.lib.pl_run_relinearise(self.run_memory.ctypes.data, self.method_memory.ctypes.data)
        elif status < 0:
            raise failure_error(self, status, None)
        else:
            self._grow()

    def _note_event(self, terminal: bool) -> None:
        if self.run.t_event == -math.inf:
            return
        lib, run, n = binding.lib, self.run_memory.ctypes.data, self.model.n_x
        fired = (
            binding.int8_at(lib.pl_run_event_fired(run), len(self.model.names.roots)) if self.model.names.roots else ()
        )
        which = [i for i, f in enumerate(fired) if f]
        self.last_event = Event(
            float(self.run.t_event),
            tuple(self.model.names.roots[i] for i in which),
            tuple(int(fired[i]) for i in which),
            binding.doubles_at(lib.pl_run_event_before(run), n),
            binding.doubles_at(lib.pl_run_event_after(run), n),
            terminal,
        )
        self.events.append(self.last_event)

    def loop(self, reporter: Reporter) -> None:
        """Run to the end, reporting progress and watching the clock."""
        begin = last = time.perf_counter()
        steps, limit = 64, self.request.timeout
        try:
            while not self.done:
                self.advance(steps)
                now = time.perf_counter()
                self.seconds = now - begin
                if limit is not None and self.seconds > limit and not self.done:
                    raise SimulationTimeout(
                        f"the time-out of {limit:g} s ran out at t = {self.run.t_reached:.10g}",
                        hint="raise timeout=, loosen the tolerances, or look at result.stats",
                        time=float(self.run.t_reached),
                    )
                if reporter.active:
                    reporter.report(self.progress())
                took, last = now - last, now
                steps = (
                    min(2 * steps, 1 << 20)
                    if took < CALL_SECONDS / 2
                    else max(1, steps // 2)
                    if took > CALL_SECONDS
                    else steps
                )
        finally:
            self.seconds = time.perf_counter() - begin
            if reporter.active:
                reporter.finish(self.progress())

    def progress(self) -> Progress:
        """Where the run stands."""
        head = binding.Stepper.from_address(self.method_memory.ctypes.data) if self.run.started else binding.Stepper()
        return Progress(
            time=float(self.run.t_reached),
            start=self.request.start,
            stop=self.request.stop,
            step=float(head.h_next),
            order=int(head.order),
            n_steps=int(self.count.n_steps),
            method=binding.METHOD_NAMES[self.run.method],
            seconds=self.seconds,
        )

    # ----------------------------------------------------------------------------------------------- looking

    def jacobian_places(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Rows and columns of the stored Jacobian entries, in their order."""
        n = self.model.n_x
        pattern = self.model.struct.jac
        if not pattern.start:
            columns, rows = np.divmod(np.arange(n * n), n)
            return rows, columns
        start = np.array((ctypes.c_int * (n + 1)).from_address(pattern.start), dtype=np.intp)
        rows = np.array((ctypes.c_int * int(start[n])).from_address(pattern.row), dtype=np.intp)
        return rows, np.repeat(np.arange(n), np.diff(start))

    def jacobian(self) -> NDArray[np.float64]:
        """The Jacobian evaluated last, as a dense array."""
        assert self.linear is not None
        address = binding.lib.pl_linear_jacobian(self.linear.ctypes.data, None)
        rows, columns = self.jacobian_places()
        out = np.zeros((self.model.n_x, self.model.n_x))
        out[rows, columns] = binding.doubles_at(address, self.layout.n_jac)
        return out

    def mass(self) -> NDArray[np.float64]:
        """L as a dense array."""
        n, pattern = self.model.n_x, self.model.struct.mass
        if not pattern.start:
            return np.eye(n)
        start = np.array((ctypes.c_int * (n + 1)).from_address(pattern.start), dtype=np.intp)
        rows = np.array((ctypes.c_int * int(start[n])).from_address(pattern.row), dtype=np.intp)
        out = np.zeros((n, n))
        out[rows, np.repeat(np.arange(n), np.diff(start))] = binding.doubles_at(
            self.model.struct.mass_value, int(start[n])
        )
        return out

    def iteration_matrix(self) -> NDArray[np.float64]:
        """L - h J with algebraic rows -J, as it was factorised last (up to the factor of h)."""
        mass, jac = self.mass(), self.jacobian()
        h = float(self.problem.failure.h)
        algebraic = np.logical_not(mass.any(axis=1))
        return np.where(algebraic[:, None], -jac, mass - h * jac)

    # ------------------------------------------------------------------------------------------------ result

    def stats(self) -> Stats:
        """Counters so far."""
        counters: dict[str, Any] = {name: getattr(self.count, name) for name in binding.Counters.NAMES}
        stats = Stats(**counters)
        stats.method = binding.METHOD_NAMES[self.run.method]
        if self.run.handovers:
            numbers = self.log[: self.out.log_used, 3].astype(int)
            used = [*numbers[:1], *numbers[1:][np.diff(numbers) != 0]]
            stats.method = " -> ".join(binding.METHOD_NAMES[int(k)] for k in used)
        stats.seconds = self.seconds
        return stats

    def result(self) -> Result:
        """Everything computed so far."""
        rows = self.rows[: self.out.used]
        names = self.model.names
        log = self.log[: self.out.log_used]
        every = len(self.x_index) == len(names.x) and len(self.y_index) == len(names.y)
        columns = (*names.x, *names.y) if every else self._chosen_names()
        times = rows[:, 0]
        created = dt.datetime.now(dt.UTC)
        return Result(
            times,
            rows[:, 1:],
            columns,
            stats=self.stats(),
            manifest=lambda: self._manifest(created),
            events=tuple(self.events),
            info=self.model.variables,
            parameters=dict(zip(names.p, self.request.parameters.tolist(), strict=True)),
            lazy=self._lazy_columns,
            steps=lambda: _step_record(log),
            complete=self.done,
            states=names.x,
        )

    def _chosen_names(self) -> tuple[str, ...]:
        names = self.model.names
        return (*(names.x[i] for i in self.x_index), *(names.y[i] for i in self.y_index))

    def _lazy_columns(self) -> dict[str, Callable[[], NDArray[np.float64]]]:
        """Columns that are computed when somebody asks for them: derivatives and inputs."""
        lazy: dict[str, Callable[[], NDArray[np.float64]]] = {}
        names = self.model.names
        # with discrete memory the equations of an earlier time are gone
        if len(self.x_index) == len(names.x) and not self._has_memory():
            derivative = _Derivative(self)
            for i, name in enumerate(names.x):
                lazy[f"der({name})"] = derivative.column(i)
        times = self.rows[: self.out.used, 0]
        for j, name in enumerate(names.u):
            lazy[name] = lambda j=j: self.inputs.value(times)[:, j]  # type: ignore[misc]
        return lazy

    def _has_memory(self) -> bool:
        struct = self.model.struct
        return isinstance(self.model, NativeModel) and bool(struct.event or struct.step_done)

    def _manifest(self, created: dt.datetime) -> dict[str, Any]:
        request, names = self.request, self.model.names
        few = len(names.x) <= 1000  # beyond that the manifest keeps a hash
        options = {
            "start": request.start,
            "stop": request.stop,
            "method": request.method,
            "rtol": request.rtol,
            "atol": request.atol,
            "step": request.step,
            "points": request.points,
            "parameters": dict(zip(names.p, request.parameters.tolist(), strict=True)),
            "start_values": dict(zip(names.x, request.x.tolist(), strict=True)) if few else request.x,
            "options": {k: v for k, v in vars(request.options).items() if k != "mask"},
        }
        return make_manifest(self.model.name, self.model.digest, options, created)


def _step_record(log: NDArray[np.float64]) -> dict[str, NDArray[Any]]:
    return {
        "time": log[:, 0],
        "h": log[:, 1],
        "order": log[:, 2].astype(int),
        "method": METHOD_ARRAY[log[:, 3].astype(int)],
    }


class _Derivative:
    """x' at all output points by the model's own equations, computed once, on first use."""

    def __init__(self, simulation: Simulation) -> None:
        self.simulation = simulation
        self.values: NDArray[np.float64] | None = None

    def column(self, i: int) -> Callable[[], NDArray[np.float64]]:
        """A function that returns x_i' at the output points."""
        return lambda: self.all()[:, i]

    def all(self) -> NDArray[np.float64]:
        """x' of all states, a row for each point."""
        if self.values is None:
            sim = self.simulation
            rows = sim.rows[: sim.out.used]
            out = np.empty((len(rows), sim.model.n_x))
            scale = (sim.request.stop - sim.request.start) or 1.0
            for k, row in enumerate(rows):
                out[k] = derivative_at(sim, float(row[0]), row[1 : 1 + sim.model.n_x].copy(), scale)
            self.values = out
        return self.values


def derivative_at(sim: Simulation, t: float, x: Vector, scale: float) -> Vector:
    """x' at (t, x) by the equations, algebraic unknowns included."""
    f, out, work = np.empty_like(x), np.empty_like(x), np.empty_like(x)
    problem = ctypes.byref(sim.problem)
    status = binding.lib.pl_rhs(problem, t, x.ctypes.data, f.ctypes.data)
    if status == binding.OK:
        status = binding.lib.pl_derivative(
            problem, t, x.ctypes.data, f.ctypes.data, scale, out.ctypes.data, work.ctypes.data
        )
    sim._raise_user_error()
    if status != binding.OK:
        raise failure_error(sim, status, None)
    return out


def simulate(
    model: NumericModel,
    request: Request,
    inputs: Mapping[str, Any],
    progress: bool | Callable[[Progress], object] | None,
) -> Result:
    """Run ``request`` on ``model``; every error raised on the way carries the result so far."""
    sim = Simulation(model, request, inputs)
    try:
        with Reporter(progress) as reporter:
            sim.loop(reporter)
    except KeyboardInterrupt as error:
        if isinstance(error, PliantError):
            raise
        raise SimulationInterrupted(
            f"interrupted at t = {sim.run.t_reached:.10g}",
            hint="the exception's .result holds everything computed before",
            result=sim.result(),
            time=float(sim.run.t_reached),
        ) from None
    except SolverError as error:
        error.result = sim.result()
        raise
    except Exception as error:
        error.pliant_result = sim.result()  # type: ignore[attr-defined]
        raise
    return sim.result()
