"""One simulation as Python sees it: what a ``pl_simulation`` is made from, and views of what it holds.

All work is done in C. Python comes back often enough to show progress and to hear Ctrl-C, which may come at any time:
the object in C is the only truth.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pliant.arguments import Vector
from pliant.errors import ArgumentError, InitialValueError, UnknownNameError
from pliant.foreign.messages import Message, MessageLog, tell
from pliant.solve.advice import memory_hint, refused_request
from pliant.solve.binding import runtime
from pliant.solve.binding.memory import SimulationMemory, linear_memory
from pliant.solve.binding.simulation import GROW, MODEL_ENGINE, TELL, HeadStruct, SetupStruct
from pliant.solve.failure import failure_error
from pliant.solve.matrices import jacobian_places
from pliant.solve.models.numeric import NumericModel
from pliant.solve.names import suggestion
from pliant.solve.options import DEFAULTS, Request
from pliant.solve.progress import Progress
from pliant.solve.results.event_table import EventTable, event_of
from pliant.solve.results.result import Event
from pliant.solve.run.diagnostics import Notes
from pliant.solve.run.inputs import make_inputs
from pliant.solve.run.linear import Planned, planned
from pliant.solve.run.pattern import missing_entries, pattern_error
from pliant.solve.start.search import StartSearch

if TYPE_CHECKING:
    from pliant.solve.start.explained import Start

LOG_WIDTH = 4
#: room at first
ROWS, LOG, EVENTS, INCIDENTS = 256, 256, 8, 512
MANY_EVENTS = 10_000  # from here on they are not made into objects before somebody asks
NO_NUMBERS = np.empty(0)


def _tell(t: float, text: bytes, *, warns: bool, external: bool) -> None:
    words = text.decode(errors="replace").rstrip("\n")
    tell(t, "warning" if warns else "ok", "external" if external else "assert", words)


#: what models warn of goes to the run under way in this thread
WARNED = TELL(lambda _host, t, text: _tell(t, text, warns=True, external=False))


class Simulation:
    """One simulation. ``begin``, ``advance`` until ``done``, then collect.

    degree: inputs are set during the run, polynomials of that degree, and there are no rows (cosim/part_simulation.py).
    """

    is_here = True  # the steps are taken in this process

    def __init__(self, model: NumericModel, request: Request, inputs: Any, degree: int = -1) -> None:
        model = model.scaled_for(request.parameters)
        self.model, self.request = model, request
        self.told = MessageLog(request.start)
        with self.told.listening():
            self.instance = model.instance(request.parameters)
        self.inputs = make_inputs(model, inputs, self.instance, request)
        self.events_known: list[Event] = []
        self.end_words = ""  # what the model said when it ended the run
        self.seconds = 0.0
        self.done = False
        self.memories_first: dict[int, float] = {}  # discrete variables whose values are not the declared ones
        self.start_found: Start | None = None  # by a search that says how
        self.source = ""
        self.planned: Planned | None = None
        self.lent: NDArray[np.float64] | None = None  # a block for the linear algebra, lent by the model
        model.check_runnable()
        self._check_bounds(request.x)
        self._choose_outputs()
        with model.lock, self.told.listening():  # the pattern that the plan is made for is the one that the struct has
            self.struct = model.struct  # another thread may give the model one with more entries meanwhile
            setup = self._setup(degree)
            if request.method in runtime.IMPLICIT:
                self._lend(setup)
        self._make(setup)

    # --------------------------------------------------------------------------------------------- setting up

    def _check_bounds(self, x: Vector) -> None:
        low, high, names = self.model.x_min, self.model.x_max, self.model.names.x
        if low is None and high is None:
            return
        for bound, wrong, word in ((low, np.less, "min"), (high, np.greater, "max")):
            if bound is not None and np.any(wrong(x, bound)):
                i = int(np.flatnonzero(wrong(x, bound))[0])
                raise InitialValueError(
                    f"the start value {x[i]:g} of {names[i]} lies outside {word} = {bound[i]:g}",
                    hint="change the start value or the bound",
                )

    def _choose_outputs(self) -> None:
        """States and outputs of the rows."""
        names, wanted = self.model.names, self.request.outputs
        if wanted is None:
            self.x_index, self.y_index = self.model.all_x, self.model.all_y
            return
        resolved = {name: names.aliases.get(name, (name, 1))[0] for name in wanted}
        constants = self.model.constants(self.request.parameters)
        chosen = {name for name in resolved.values() if name not in constants}
        self.x_index = np.array([i for i, name in enumerate(names.x) if name in chosen], dtype=np.int32)
        self.y_index = np.array([i for i, name in enumerate(names.y) if name in chosen], dtype=np.int32)
        unknown = chosen - set(names.x) - set(names.y) - set(names.u)
        if unknown:
            name = sorted(asked for asked, target in resolved.items() if target in unknown)[0]
            info = self.model.known.variables.get(name)
            if info is not None and info.type in ("string", "binary"):
                what = "text" if info.type == "string" else "block of bytes"
                raise ArgumentError(f"outputs: {name} is a {what}, and results hold numbers", hint="leave it out")
            raise UnknownNameError(
                f"outputs: the model has no variable {name!r}",
                hint=suggestion(name, (*names.x, *names.y, *names.aliases)),
            )

    def _setup(self, degree: int) -> SetupStruct:
        """What is handed to the simulation in C, except its memory."""
        request, model = self.request, self.model
        points = request.points
        self.start_work = np.empty((model.start_bytes + 7) // 8)
        every, live = points is None, degree >= 0
        run = self._run_options()
        run.ends = int(not live)
        return SetupStruct(
            engine=MODEL_ENGINE,
            model=model.address,
            self_=self.instance.address,
            inputs=ctypes.addressof(self.inputs.struct) if self.inputs.struct is not None else None,
            u=runtime.address_of(self.inputs.u),
            x=runtime.address_of(request.x),
            atol=runtime.address_of(request.atol),
            atol_follows=not request.atol_given and bool(model.struct.nominal),
            parameters=runtime.address_of(request.parameters),
            rtol=request.rtol,
            start=request.start,
            stop=request.stop,
            run=run,
            start_work=runtime.address_of(self.start_work),
            degree=degree,
            n_points=0 if live else -1 if every else len(points),  # type: ignore[arg-type]
            point=None if every or live else runtime.address_of(points),  # type: ignore[arg-type]
            n_x_out=len(self.x_index),
            x_index=runtime.address_of(self.x_index),
            n_y_out=len(self.y_index),
            y_index=runtime.address_of(self.y_index) if len(self.y_index) else None,
            rows=1 if live else ROWS if every else len(points) + 2,  # type: ignore[arg-type]
            log=LOG,
            events=EVENTS if model.may_have_events else 0,
            incidents=INCIDENTS,
            grow=GROW,
            tell=ctypes.cast(WARNED, ctypes.c_void_p) if model.struct.warning else None,
        )

    def _run_options(self) -> runtime.RunOptionsStruct:
        """What is handed to the step loop."""
        request, options, model = self.request, self.request.options, self.model
        longest = model.longest_step(request.parameters, request.stop - request.start)
        usual = options is DEFAULTS and not request.step and not longest
        one_step = request.method == "auto" and model.wants_one_step(request.rtol)
        known = model.run_options.get((request.method, one_step)) if usual else None
        if known is not None:
            return known
        first, other = request.method, ""
        if request.method == "auto":
            first, other = ("radau5", "bdf") if one_step else ("bdf", "radau5")
        told = runtime.RunOptionsStruct(
            method=runtime.METHOD_ADDRESSES[first],
            other=runtime.METHOD_ADDRESSES[other] if other else None,
            method_options=runtime.MethodOptionsStruct(
                h_first=options.first_step,
                h_max=options.max_step or longest,
                h_fixed=request.step,
                order_max=options.max_order,
            ),
            max_steps=options.max_steps,
            root_samples=options.root_samples,
            restart_always=int(options.restart == "always"),
            at_jump=runtime.AT_JUMP[options.at_jump],
        )
        if usual:
            model.run_options[request.method, one_step] = told
        return told

    def _make(self, setup: SetupStruct) -> None:
        try:
            self.memory = SimulationMemory(runtime.lib.pl_simulation_size(ctypes.byref(setup)))
        except (MemoryError, ValueError):
            raise ArgumentError(
                f"{setup.rows} points of {1 + setup.n_x_out + setup.n_y_out} variables do not fit into memory",
                hint="ask for fewer points, or name the variables you need in outputs=",
            ) from None
        setup.host = ctypes.addressof(self.memory.host)
        self.place = self.memory.place
        status = ctypes.c_int()
        runtime.lib.pl_simulation_init(self.place, ctypes.byref(setup), ctypes.byref(status))
        if status.value != runtime.OK:
            raise refused_request(self.request, status.value)
        self.head = head = HeadStruct.from_address(self.place)
        self.problem: runtime.ProblemStruct = head.problem
        self.count: runtime.CountersStruct = head.count
        self.out: runtime.OutputStruct = head.out
        self.run = runtime.RunStruct.from_address(head.run)
        self.notes = Notes(head.record, self.memory)
        self.x = self.memory.reals(head.x, self.model.n_x)
        self.x_first = self.memory.reals(head.x_first, self.model.n_x)  # before the first event
        self.u = self.memory.reals(self.problem.u, max(head.n_u, 1))

    # ------------------------------------------------------------------------------------------ linear algebra

    @property
    def linear(self) -> int | None:
        """Where the linear algebra lies; None: there is none."""
        found: int | None = self.problem.linear
        return found

    @property
    def layout(self) -> runtime.LinearLayoutStruct:
        """Its sizes."""
        found: runtime.LinearLayoutStruct = self.head.layout
        return found

    def _borrow(self) -> tuple[Planned, bool]:
        """A block of the model, and whether it was used before."""
        self.planned = plan = planned(self.model, self.request, self.instance, self.inputs.u)
        self.source = plan.source
        try:
            self.lent = plan.ready.pop()
        except IndexError:
            self.lent = linear_memory(plan.struct.layout.size, memory_hint(self.model, self.request))
            return plan, False
        return plan, True

    def _lend(self, setup: SetupStruct) -> None:
        plan, used = self._borrow()
        assert self.lent is not None
        setup.plan, setup.linear, setup.linear_used = plan.address, runtime.address_of(self.lent), used
        if self.request.options.mask is not None:
            self.mask = self._mask(self.request.options.mask)
            setup.mask = runtime.address_of(self.mask)

    def make_linear(self) -> None:
        """Linear algebra for a simulation that has none, or none any more."""
        plan, used = self._borrow()
        assert self.lent is not None
        runtime.lib.pl_simulation_set_linear(self.place, plan.address, runtime.address_of(self.lent), used)

    def _mask(self, mask: Any) -> NDArray[np.uint8]:
        keep = np.asarray(mask, dtype=bool)
        n = self.model.n_x
        if keep.shape != (n, n):
            raise ArgumentError(
                f"option mask has shape {keep.shape}, expected {(n, n)}", hint="one row and one column per state"
            )
        rows, columns = jacobian_places(self)
        return np.ascontiguousarray(keep[rows, columns], dtype=np.uint8)

    def release(self) -> None:
        """Give back what only stepping needs; the equations stay callable."""
        if self.model.has_mass or self.lent is None or self.planned is None:
            return
        if not self.planned.ready:
            self.planned.ready.append(self.lent)
        runtime.lib.pl_simulation_set_linear(self.place, None, None, 0)
        self.lent = None

    # ---------------------------------------------------------------------------------------------- the start

    def begin(self) -> None:
        """Consistent start values, first event, first values of the root functions."""
        with self.told.listening():
            search = self.prepare_start()
            status = runtime.lib.pl_simulation_initialise(self.place)
            while status == runtime.PATTERN:
                self.raise_user_error()
                self.check_pattern()
                status = runtime.lib.pl_simulation_initialise(self.place)
            self.raise_user_error()
            if status != runtime.OK:
                raise (None if self.head.begun else search.error(status)) or failure_error(self, status, None)
            search.finish()
        self.told.begun = True
        self.start_work = NO_NUMBERS

    def prepare_start(self) -> StartSearch:
        """What is known before."""
        if self.inputs.struct is not None:
            self.u[: len(self.inputs.u)] = self.inputs.value(np.array([self.request.start]))[0]
        search = self.model.start_search(self)
        search.prepare()
        return search

    # ----------------------------------------------------------------------------------------------- stepping

    def raise_user_error(self) -> None:
        """An exception of the user's function, kept while C was running, is raised here."""
        if self.instance.raised is not None:
            error, self.instance.raised = self.instance.raised, None
            raise error

    def check_pattern(self) -> None:
        """Differences do not fit the pattern: name what it lacks, or find that it is right after all."""
        missing = missing_entries(self)
        if missing:
            raise pattern_error(self, missing)
        runtime.lib.pl_simulation_trust(self.place)

    def advance(self, steps: int) -> None:
        """At most ``steps`` more steps; sets ``done`` at the end. Raises on failure, without a result."""
        with self.told.listening():
            self.went(runtime.lib.pl_simulation_advance(self.place, steps))

    def went(self, status: int) -> None:
        """What a call that takes steps came back with."""
        if self.instance.raised is not None:
            self.raise_user_error()
        if status == runtime.PAUSED:
            return
        if status == runtime.PATTERN:
            self.check_pattern()
        elif status < 0:
            raise failure_error(self, status, None)
        else:
            self.done = True
            if status == runtime.TERMINATED:
                self.end_words = self.model.error_text(self.instance)  # while it has them
                _ = self.recorded_events

    def flush(self) -> None:
        """Write the state reached as a last row, for a run that is cut short between output points."""
        runtime.lib.pl_simulation_flush(self.place)
        self.instance.raised = None  # what went wrong before is what matters

    def close(self) -> None:
        """End what only stepping needs."""

    def rhs_seconds(self) -> float | None:
        """One evaluation of f where the steps are taken; None: here, where it can be measured."""
        return None

    def hear(self, t: float, text: bytes, *, warns: bool, external: bool) -> None:
        """A message from where the steps are taken."""
        with self.told.listening():
            _tell(t, text, warns=warns, external=external)

    @property
    def messages(self) -> tuple[Message, ...]:
        """What the model said during the run: time, status, category, text."""
        return self.told.messages

    # ------------------------------------------------------------------------------------------------ looking

    @property
    def rows(self) -> NDArray[np.float64]:
        """Times, states and outputs so far."""
        out = self.out
        return self.memory.table(out.row, out.used, 1 + out.n_x + out.n_y)

    @property
    def log(self) -> NDArray[np.float64]:
        """End, size, order and method of every step so far."""
        return self.memory.table(self.out.log, self.out.log_used, LOG_WIDTH)

    @property
    def events(self) -> list[Event]:
        """Events so far."""
        known, n = self.events_known, self.head.n_events
        while len(known) < n:
            known.append(self._event(len(known)))
        return known

    @property
    def recorded_events(self) -> Sequence[Event]:
        """Events so far, as they are handed out."""
        head = self.head
        if head.n_events < MANY_EVENTS:
            return tuple(self.events)
        records = np.empty((head.n_events, head.event_bytes), dtype=np.uint8)
        ctypes.memmove(records.ctypes.data, head.event, records.nbytes)
        return EventTable(records, self.model.n_x, tuple(self.model.names.roots), self.end_words)

    @property
    def last_event(self) -> Event | None:
        """The one that was last."""
        n = self.head.n_events
        return self._event(n - 1) if n else None

    def _event(self, k: int) -> Event:
        roots, n = self.model.names.roots, self.model.n_x
        address = self.head.event + k * self.head.event_bytes
        numbers = runtime.doubles_at(address, 2 + 2 * n)
        fired = runtime.int8_at(address + numbers.nbytes, len(roots)).tolist() if roots else []
        return event_of(numbers, fired, n, roots, lambda: self.model.error_text(self.instance))

    @property
    def method_name(self) -> str:
        """The method at work."""
        return "co-simulation" if self.model.steps_itself else runtime.METHOD_NAMES[self.run.method]

    def progress(self) -> Progress:
        """Where the run stands."""
        head = runtime.StepperStruct.from_address(self.head.method) if self.run.started else runtime.StepperStruct()
        return Progress(
            time=float(self.run.t_reached),
            start=self.request.start,
            stop=self.request.stop,
            step=float(head.h_next),
            order=int(head.order),
            n_steps=int(self.count.n_steps),
            method=self.method_name,
            seconds=self.seconds,
        )
