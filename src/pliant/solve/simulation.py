"""One run as Python sees it: all memory of the runtime, and the calls of the C step loop.

The steps themselves are taken in C (``pl_run_advance``); Python comes back for events, for more memory, and often
enough to show progress and to hear Ctrl-C.
"""

from __future__ import annotations

import ctypes
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.errors import (
    ArgumentError,
    InitialValueError,
    NonFiniteError,
    SingularError,
    SolverError,
    UnknownNameError,
)
from pliant.solve import binding
from pliant.solve.failure import failure_error
from pliant.solve.inputs import make_inputs
from pliant.solve.look import jacobian_places
from pliant.solve.names import suggestion
from pliant.solve.notes import Notes
from pliant.solve.numeric import NumericModel
from pliant.solve.options import DEFAULTS, Request
from pliant.solve.pattern import missing_entries, pattern_error
from pliant.solve.progress import Progress
from pliant.solve.result import Event

#: tolerance units by which algebraic start values may miss their equations before they are called inconsistent
CONSISTENT = 1.0
LOG_WIDTH = 4


def _bytes(size: int) -> NDArray[np.float64]:
    """Memory for the runtime, aligned for doubles."""
    try:
        return np.empty((size + 7) // 8, dtype=np.float64)
    except (MemoryError, ValueError):
        raise ArgumentError(
            f"the linear algebra of this model needs {size / 2**30:.1f} GiB, more than there is",
            hint="give pattern= or a sparse jac, so that sparse matrices can be used",
        ) from None


def _enlarged(old: NDArray[np.float64], used: int, factor: int) -> tuple[NDArray[np.float64], int, int]:
    """A larger copy, its address and its length."""
    try:
        new = np.empty((factor * len(old), old.shape[1]))
    except MemoryError:
        raise SolverError(
            f"no memory is left after {used} steps or rows",
            hint="ask for fewer points=, or end the run with options={'max_steps': ...} or timeout=",
        ) from None
    new[:used] = old[:used]
    return new, binding.address_of(new), len(new)


class Simulation:
    """One run: owns all memory of the runtime. ``begin``, ``advance`` until ``done``, then collect."""

    def __init__(self, model: NumericModel, request: Request, inputs: Any) -> None:
        model = model.scaled_for(request.parameters)
        self.model, self.request = model, request
        self.instance = model.instance(request.parameters)
        self.inputs = make_inputs(model, inputs, self.instance, request)
        self.u = self.inputs.u.copy() if self.inputs.u.size else np.zeros(1)
        self.count = binding.Counters()
        self.atol = np.array(request.atol)
        self.problem = binding.Problem(
            model=model.address,
            self_=self.instance.address,
            inputs=ctypes.addressof(self.inputs.struct) if self.inputs.struct is not None else None,
            u=binding.address_of(self.u),
            rtol=request.rtol,
            atol=binding.address_of(self.atol),
            atol_room=None if request.atol_given or not model.struct.nominal else binding.address_of(self.atol),
            count=ctypes.addressof(self.count),
            next_jump=1 << 30,
        )
        self.problem.failure.index = -1
        self.notes = Notes(model.n_x)
        self.problem.record = self.notes.address
        self.source = ""
        self.lu_room = 0.0
        self.linear: NDArray[np.float64] | None = None
        self.events: list[Event] = []
        self.last_event: Event | None = None
        self.seconds = 0.0
        self.done = False
        self.checked = 0  # rows whose outputs were looked at
        self.x = request.x.copy()
        self.x_first = self.x  # before the first event
        self.memories_first: dict[int, float] = {}  # ... and discrete variables whose values are not the declared ones
        model.check_runnable()
        self._check_bounds()
        self.begun = False
        if request.method in binding.IMPLICIT:
            self.make_linear()
        self._output()
        self._make_run()

    # --------------------------------------------------------------------------------------------- setting up

    def _check_bounds(self) -> None:
        low, high, names = self.model.x_min, self.model.x_max, self.model.names.x
        if low is None and high is None:
            return
        for bound, wrong, word in ((low, np.less, "min"), (high, np.greater, "max")):
            if bound is not None and np.any(wrong(self.x, bound)):
                i = int(np.flatnonzero(wrong(self.x, bound))[0])
                raise InitialValueError(
                    f"the start value {self.x[i]:g} of {names[i]} lies outside {word} = {bound[i]:g}",
                    hint="change the start value or the bound",
                )

    def make_linear(self) -> None:
        """Plan and lay out the iteration matrix; again with more room after PL_MEMORY."""
        options = self.request.options
        usual = (self.request.method in ("auto", "radau5")) if options is DEFAULTS and not self.lu_room else None
        ready = self.model.ready.get(usual)
        if ready is None:
            ready = self._prepare_linear()
            if usual is not None:
                self.model.ready[usual] = ready
        self.source, wanted, key, layout, work = ready
        lib, address = binding.lib, self.model.address
        try:
            block = self.model.blocks.setdefault(key, []).pop()
            place = binding.address_of(block)
            lib.pl_linear_reset(place)
        except IndexError:
            block = _bytes(layout.size)
            place = binding.address_of(block)
            lib.pl_linear_init(place, address, ctypes.byref(wanted), ctypes.byref(layout), binding.address_of(work))
        # plain stores, see _grow
        self.problem.linear = place
        self.linear = block
        self.linear_key = key
        self.layout = layout
        if options.mask is not None:
            self._set_mask(options.mask)

    def _prepare_linear(self) -> tuple[str, binding.LinearOptions, Any, binding.LinearLayout, NDArray[np.float64]]:
        """Source of the Jacobian, options and plan of the linear algebra."""
        asked = self.request.options.jacobian
        self.source = self.model.jacobian_source(asked)
        wanted, key = self._linear_options()
        layout, work = self._planned(wanted, key)
        if asked == "auto":
            best = self.model.cheapest_source(int(layout.n_colours), self.instance, self.request.x, self.u)
            if best != self.source:
                self.source = best
                wanted, key = self._linear_options()
                layout, work = self._planned(wanted, key)
        return self.source, wanted, key, layout, work

    def _linear_options(self) -> tuple[binding.LinearOptions, Any]:
        """What the linear algebra shall be like, and the key under which its plan is kept."""
        options = self.request.options
        curvature = options.curvature_of(self.model)
        wanted = binding.LinearOptions(
            storage=binding.STORAGE[options.linear],
            need_complex=int(self.request.method in ("auto", "radau5")),
            source=binding.SOURCES[self.source],
            increment=binding.INCREMENTS[options.increments],
            representable=options.representable,
            central=int(bool(options.central)),
            fallback=int(options.jacobian == "auto" and self.model.derived),
            verify=int(self.model.doubtful_pattern),
            increment_constant=options.increment_constant,
            lu_room=self.lu_room,
            curvature=None if curvature is None else binding.address_of(curvature),
        )
        self.curvature = curvature  # kept alive
        plain = tuple(getattr(wanted, name) for name, *_ in binding.LinearOptions._fields_[:-1])
        return wanted, (*plain, None if curvature is None else curvature.tobytes())

    def _planned(self, wanted: binding.LinearOptions, key: Any) -> tuple[binding.LinearLayout, NDArray[np.float64]]:
        if key not in self.model.plans:
            self.model.plans[key] = self._plan(wanted)
        planned: tuple[binding.LinearLayout, NDArray[np.float64]] = self.model.plans[key]
        return planned

    def _plan(self, wanted: binding.LinearOptions) -> tuple[binding.LinearLayout, NDArray[np.float64]]:
        """Patterns merged, coloured and ordered: done once for a model."""
        lib, address = binding.lib, self.model.address
        work = _bytes(lib.pl_linear_work_size(address))
        layout = binding.LinearLayout()
        status = lib.pl_linear_plan(address, ctypes.byref(wanted), ctypes.byref(layout), binding.address_of(work))
        if status == binding.ARGUMENT:
            raise ArgumentError(
                "linear='sparse' needs the pattern of the Jacobian", hint="give pattern= or a sparse jac"
            )
        if status == binding.MEMORY:
            raise ArgumentError(
                f"a dense Jacobian of {self.model.n_x} states is too large", hint="give pattern= or a sparse jac"
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
            raise ArgumentError(
                f"option mask has shape {keep.shape}, expected {(n, n)}", hint="one row and one column per state"
            )
        rows, columns = jacobian_places(self.model)
        flags = np.ascontiguousarray(keep[rows, columns], dtype=np.uint8)
        assert self.linear is not None
        binding.lib.pl_linear_mask(binding.address_of(self.linear), binding.address_of(flags))

    def _output(self) -> None:
        """Rows for the result and the step log."""
        names, request = self.model.names, self.request
        wanted = request.outputs
        if wanted is None:
            self.x_index, self.y_index = self.model.all_x, self.model.all_y
        else:
            resolved = {name: names.aliases.get(name, (name, 1))[0] for name in wanted}
            constants = self.model.constants(request.parameters)
            chosen = {name for name in resolved.values() if name not in constants}
            self.x_index = np.array([i for i, name in enumerate(names.x) if name in chosen], dtype=np.int32)
            self.y_index = np.array([i for i, name in enumerate(names.y) if name in chosen], dtype=np.int32)
            unknown = chosen - set(names.x) - set(names.y) - set(names.u)
            if unknown:
                name = sorted(asked for asked, target in resolved.items() if target in unknown)[0]
                raise UnknownNameError(
                    f"outputs: the model has no variable {name!r}",
                    hint=suggestion(name, (*names.x, *names.y, *names.aliases)),
                )
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
            point=None if request.points is None else binding.address_of(request.points),
            n_x=len(self.x_index),
            x_index=binding.address_of(self.x_index),
            n_y=len(self.y_index),
            y_index=binding.address_of(self.y_index) if len(self.y_index) else None,
            capacity=capacity,
            row=binding.address_of(self.rows),
            log_capacity=len(self.log),
            log=binding.address_of(self.log),
        )

    def _make_run(self) -> None:
        request, options = self.request, self.request.options
        usual = options is DEFAULTS and not request.step
        known = self.model.run_memory.get(request.method) if usual else None
        if known is None:
            known = self._run_needs()
            if usual:
                self.model.run_memory[request.method] = known
        self.run_options, size, method_size = known
        self.run_memory = _bytes(size)
        self.method_memory = _bytes(method_size)
        place = binding.address_of(self.run_memory)
        self.run = binding.Run.from_address(place)
        ctypes.memset(place, 0, ctypes.sizeof(binding.Run))  # readable before begin()
        self.run.method = binding.METHODS["bdf" if request.method == "auto" else request.method]
        self.run.t_reached = request.start

    def _run_needs(self) -> tuple[binding.RunOptions, int, int]:
        """What the step loop is told, and the bytes that it and the method need."""
        request, options, lib = self.request, self.request.options, binding.lib
        told = binding.RunOptions(
            method=binding.METHODS[request.method],
            method_options=binding.MethodOptions(
                h_first=options.first_step, h_max=options.max_step, h_fixed=request.step, order_max=options.max_order
            ),
            max_steps=options.max_steps,
            root_samples=options.root_samples,
            restart_always=int(options.restart == "always"),
            at_jump=binding.AT_JUMP[options.at_jump],
        )
        model = self.model
        return told, lib.pl_run_size(model.address), lib.pl_run_method_size(ctypes.byref(told), model.n_x)

    def begin(self) -> None:
        """Consistent start values, first event, first values of the root functions."""
        next_time = self._initialise()
        status = binding.lib.pl_run_init(
            binding.address_of(self.run_memory),
            ctypes.byref(self.problem),
            ctypes.byref(self.run_options),
            self.request.start,
            self.request.stop,
            binding.address_of(self.x),
            next_time,
        )
        self.begun = True
        if self.request.method == "auto" and self.model.wants_one_step(self.request.rtol):
            self.run.method = binding.METHODS["radau5"]
        self.raise_user_error()
        if status != binding.OK:
            raise failure_error(self, status, None)

    def _initialise(self) -> float:
        """Consistent start; returns the first time event."""
        request, model = self.request, self.model
        next_time = math.inf
        if self.inputs.struct is not None:
            self.u[: len(self.inputs.u)] = self.inputs.value(np.array([request.start]))[0]
        own = model.consistent_start(self)
        if own is not None:
            return own
        if model.struct.initialise:
            info = binding.EventInfo(next_time=math.inf)
            call = binding.INITIALISE_CALL(model.struct.initialise)
            status = call(
                self.instance.address,
                request.start,
                binding.address_of(self.x),
                binding.address_of(self.u),
                ctypes.byref(info),
            )
            self.raise_user_error()
            if status != binding.OK:
                raise InitialValueError(
                    f"{model.name}: initialisation failed at t = {request.start:g}: {model.error_text(self.instance)}",
                    hint="give better start values",
                )
            return float(info.next_time)
        if model.has_mass and self.linear is not None and model.names.algebraic:
            self._make_consistent()
        return next_time

    def solve_algebraic(self) -> int:
        """Newton for the algebraic unknowns, states kept; returns the status."""
        given, work = self.x.copy(), np.empty(4 * self.model.n_x)
        start = self.request.start
        while True:
            status = binding.lib.pl_consistent(
                ctypes.byref(self.problem), start, binding.address_of(self.x), binding.address_of(work)
            )
            self.raise_user_error()
            if status not in (binding.MEMORY, binding.PATTERN):
                return int(status)
            self.relinearise(status)
            self.x[:] = given

    def relinearise(self, why: int) -> None:
        """The factorisation needs more room, or the pattern another look."""
        if why == binding.MEMORY:
            self._more_memory()
        else:
            self.check_pattern()

    def _make_consistent(self) -> None:
        start = self.request.start
        given = self.x.copy()
        status = self.solve_algebraic()
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

    def raise_user_error(self) -> None:
        """An exception of the user's function, kept while C was running, goes on from here."""
        if self.instance.raised is not None:
            error, self.instance.raised = self.instance.raised, None
            raise error

    def _more_memory(self) -> None:
        """Pivoting needed more room for the factors than predicted."""
        self.lu_room = 2.0 * max(self.lu_room, 1.3)
        if self.lu_room > 1e6:
            raise SolverError("the sparse factorisation fills up without end", hint="options={'linear': 'dense'}")
        self.make_linear()

    def check_pattern(self) -> None:
        """Differences do not fit the pattern: name what it lacks, or find that it is right after all."""
        missing = missing_entries(self)
        if missing:
            raise pattern_error(self, missing)
        assert self.linear is not None
        binding.lib.pl_linear_trust(binding.address_of(self.linear))

    def _grow(self) -> None:
        """Enlarge output memory that is nearly full."""
        if self.request.points is None and self.out.capacity - self.out.used < 3:
            rows, address, length = _enlarged(self.rows, int(self.out.used), 2)
            # Ctrl-C may come at any call: nothing but plain stores from here on, and C forgets the old memory first
            self.out.row = address
            self.out.capacity = length
            self.rows = rows
        if self.out.log_used >= self.out.log_capacity:
            log, address, length = _enlarged(self.log, int(self.out.log_used), 4)
            self.out.log = address
            self.out.log_capacity = length
            self.log = log

    def advance(self, steps: int) -> None:
        """At most ``steps`` more steps; sets ``done`` at the end. Raises on failure, without a result."""
        assert self.begun, "begin() comes first"
        status = binding.lib.pl_run_advance(
            binding.address_of(self.run_memory),
            ctypes.byref(self.problem),
            binding.address_of(self.method_memory),
            ctypes.byref(self.out),
            steps,
        )
        self.notes.make_room()
        if self.instance.raised is not None:
            self.raise_user_error()
        if self.y_index.size:
            self._check_outputs()
        if status in (binding.EVENT, binding.TERMINATED):
            self._note_event(status == binding.TERMINATED)
        if status in (binding.FINISHED, binding.TERMINATED):
            self.done = True
        elif status in (binding.MEMORY, binding.PATTERN):
            self.relinearise(status)
            binding.lib.pl_run_relinearise(binding.address_of(self.run_memory), binding.address_of(self.method_memory))
        elif status < 0:
            raise failure_error(self, status, None)
        else:
            self._grow()

    def _check_outputs(self) -> None:
        """Outputs computed since the last look must be numbers; the rows before stay in the result."""
        used = int(self.out.used)
        new = self.rows[self.checked : used, 1 + len(self.x_index) :]
        if not np.isfinite(new).all():
            row, column = (int(k) for k in np.argwhere(~np.isfinite(new))[0])
            time = float(self.rows[self.checked + row, 0])
            name = self.model.names.y[int(self.y_index[column])]
            self.out.used = self.checked + row
            raise NonFiniteError(
                f"{name} is NaN or infinite at t = {time:.10g}{self.model.place_of(name)}",
                hint="check that the model is defined there (division by zero, log or sqrt of a negative number, a "
                "table left), or leave the variable out of outputs=",
                time=time,
                names=(name,),
            )
        self.checked = used

    def _note_event(self, terminal: bool) -> None:
        if self.run.t_event == -math.inf:
            return
        lib, run, n = binding.lib, binding.address_of(self.run_memory), self.model.n_x
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
            self.model.error_text(self.instance) if terminal else "",
        )
        self.events.append(self.last_event)

    def flush(self) -> None:
        """Write the state reached as a last row, for a run that is cut short between output points."""
        if not self.begun:
            return
        binding.lib.pl_run_flush(
            binding.address_of(self.run_memory),
            ctypes.byref(self.problem),
            binding.address_of(self.method_memory),
            ctypes.byref(self.out),
        )
        self.instance.raised = None  # what went wrong before is what matters

    def release(self) -> None:
        """Give back what only stepping needs; the equations stay callable."""
        if not self.model.has_mass and self.linear is not None:
            ready = self.model.blocks[self.linear_key]
            if not ready:
                ready.append(self.linear)
            self.problem.linear = None
            self.linear = None

    def progress(self) -> Progress:
        """Where the run stands."""
        head = (
            binding.Stepper.from_address(binding.address_of(self.method_memory))
            if self.run.started
            else binding.Stepper()
        )
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
