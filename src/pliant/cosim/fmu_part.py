"""A co-simulation FMU as a part: it takes its steps itself, in its host (runtime/host/fmu_part.c).

Until the first step, outputs for other inputs come from a new instance that is initialised with them; from then on,
outputs are those that the last step left, with the inputs that it had at its end, unless these are in a loop of direct
feed-through or were held: then others are tried (fmu_trials.py).

Inputs reach the FMU as polynomials where it takes an intermediate update (FMI 3), as lines where it takes derivatives
(FMI 2; the line nearest to a parabola has its mean and its first moment). Otherwise they are constant during a step:
their mean over it, which is right to second order for what is integrated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pliant.arguments import Vector
from pliant.cosim.fmu_trials import InputTrials
from pliant.cosim.model_part import STEP, ModelPart
from pliant.cosim.part import Cancelled, Matrix, PartSettings, Pattern
from pliant.cosim.signals import at as value_at
from pliant.cosim.signals import shifted
from pliant.errors import ArgumentError, FmuError, ModelEvaluationError, NonFiniteError, PliantError, SolverError
from pliant.fmi.hosts import binding
from pliant.fmi.hosts.instance import FmuInstance
from pliant.fmi.layout import unit_table
from pliant.fmi.model import FmuModel
from pliant.solve.binding import runtime
from pliant.solve.options import check_request
from pliant.solve.results.result import Event, Stats, StepRecord
from pliant.solve.run.remote import REFUSED

EQUAL = 1e-9  # relative difference of steps that count as equal
SAME_TIME = 1e-12  # of a time: events beside communication points by rounding take place there
MOST_PIECES = 100_000  # of one macro step, by events and early returns


@dataclass
class Standing:
    """Where the FMU stands, besides what it knows itself."""

    t: float
    began: Vector  # the inputs that it was initialised with
    next_event: float = math.inf
    stepped: bool = False
    base: float = 0.0  # of the polynomials
    coefficients: Matrix = field(default_factory=lambda: np.zeros((1, 0)))
    h: float = 0.0  # of the last step; 0: none
    n_steps: int = 0
    pending: bool = False  # an event waits until the inputs are known
    u: Vector = field(default_factory=lambda: np.zeros(0))  # the inputs that it has


class SavedFmu:
    """A saved state; it is freed in the host together with this object."""

    def __init__(self, part: FmuPart, slot: int, at: Standing) -> None:
        self.part, self.instance, self.slot, self.at = part, part.instance, slot, at

    def __del__(self) -> None:
        if self.instance is self.part.instance:
            self.part.unwanted.append(self.slot)


class FmuPart(ModelPart):
    """A co-simulation FMU as a part of a coupling."""

    steps_itself = True

    def __init__(self, name: str, numeric: FmuModel) -> None:
        super().__init__(name, numeric)
        self.fmu: FmuModel = numeric
        self.instance: FmuInstance | None = None
        self.at = Standing(0.0, np.zeros(0))
        self.unwanted: list[int] = []  # slots
        self.substep: float | None = None  # length of its own steps, of which several make a macro step
        self.yields = False  # may the master be told that a step ended early?
        self.continued = 0  # steps that ended early, and were continued
        self._taken: list[tuple[float, float]] = []  # time and length of steps
        self._cache: dict[str, Vector] = {}
        self.trials = InputTrials(self)

    # --------------------------------------------------------------------------------------------------- set-up

    def configure(self, settings: PartSettings) -> None:
        """Check the settings of the next simulation; the method is the FMU's own."""
        given: FmuModel = self.given  # type: ignore[assignment]
        self.fmu = self.numeric = given.shaped_for(settings.parameters)
        self.degree, self.follows, self.substep = settings.degree, self._follows(), None
        self.yields, self.continued = False, 0
        self.request = check_request(
            self.fmu,
            start=settings.start,
            stop=settings.stop,
            method="auto",
            rtol=settings.rtol,
            atol=None,
            points=2,
            step=None,
            parameters=settings.parameters,
            start_values=settings.start_values,
            outputs=None,
            options=settings.options,
            timeout=None,
        )

    def begin(self, t: float, inputs: Vector) -> None:
        """An instance, initialised at t with these inputs."""
        assert self.request is not None, "configure() comes first"
        self._end_instance()
        self._taken, self._cache, self.unwanted = [], {}, []
        self.trials.begin()
        self.instance = instance = FmuInstance(self.fmu, self.request.parameters)
        instance.open(replace(self.request, stop=self.trials.stop(self.request.stop)), self.fmu.n_x)
        self.at = Standing(t, np.array(inputs), u=np.array(inputs))
        status, _, _, words = self._ask(binding.INITIALISE, payload=np.ascontiguousarray(inputs, dtype=np.float64))
        if status != runtime.OK:
            raise ModelEvaluationError(
                f"{self.fmu.name}: initialisation failed at t = {t:g}: {words or 'it gave no reason'}",
                hint="check parameters and inputs; options={'log': True} of pliant.load records more messages",
                time=t,
            )

    def _ask(
        self, what: int, t_next: float = 0.0, *, degree: int = 0, slot: int = 0, payload: Any = None
    ) -> tuple[int, float, Vector, str]:
        """A request to the host: status, time reached, values, words."""
        assert self.instance is not None
        assert self.instance.host is not None, "begin() comes first"
        numbers = np.zeros(0) if payload is None else payload
        head = binding.PART_QUESTION.pack(what, self.at.t, t_next, degree, numbers.size, slot)
        kind, content = self.instance.host.ask(binding.PART, head + numbers.tobytes())
        if kind == REFUSED:
            raise FmuError(
                f"{self.fmu.name}: {content.decode(errors='replace')}", hint="report it to the maker of the FMU"
            )
        status, n, _, self._slot, reached, self.at.next_event = binding.PART_ANSWER.unpack_from(content)
        start = binding.PART_ANSWER.size
        values = np.frombuffer(content, dtype=np.float64, count=n, offset=start)
        return status, reached, values, content[start + 8 * n :].decode(errors="replace")

    # ------------------------------------------------------------------------------------------------- stepping

    def set_inputs(self, t: float, coefficients: Matrix) -> None:
        """New input polynomials from t on."""
        self.at.base, self.at.coefficients = t, coefficients[: self.degree + 1]

    def step(self, t_next: float, cancelled: Callable[[], bool]) -> bool:
        """Go to t_next, over events that the FMU announces and steps that it ends early."""
        begin, near = self.at.t, SAME_TIME * max(abs(t_next), t_next - self.at.base)
        if t_next - begin <= near:  # others stand beside this one by rounding
            self.at.t = t_next
            return True
        for _ in range(MOST_PIECES):
            if cancelled():
                raise Cancelled
            end = self._next_end(t_next, near)
            if not self._advance(end):
                return False
            if self.at.t >= t_next - near:
                self.at.t = t_next
                return True
            if self.at.pending and self.at.t > begin:
                if self.yields:
                    return True  # the others follow to where it stands
                self.continued += self.at.t < end
        raise SolverError(
            f"the FMU {self.fmu.name} does not reach t = {t_next:.10g}: it ended {MOST_PIECES} steps early",
            hint="check its event handling, or ask its maker",
            time=self.at.t,
        )

    def _next_end(self, t_next: float, near: float) -> float:
        """The FMU's own step, where it takes equal ones; else up to the next event that it announced."""
        t, unit = self.at.t, self.substep
        if unit is not None and t_next - t > 1.5 * unit:
            begin = self.given_start
            return begin + (round((t - begin) / unit) + 1) * unit
        return self.at.next_event if t + near < self.at.next_event <= t_next + near and unit is None else t_next

    @property
    def given_start(self) -> float:
        """Start of the run."""
        assert self.request is not None
        return float(self.request.start)

    @property
    def equal_steps(self) -> bool:
        """Does the FMU take steps of one length only?"""
        return not self.fmu.layout.interface.variable_step

    @property
    def step_unit(self) -> float | None:
        """The step of which macro steps must be multiples."""
        unit: float | None = self.fmu.layout.interface.internal_step
        if unit is None and self.equal_steps:
            unit = self.fmu.experiment[2]
        return unit if unit is not None and unit > 0.0 else None

    @property
    def next_event(self) -> float:
        """The next time event that the FMU announced."""
        return self.at.next_event

    @property
    def acting_inputs(self) -> frozenset[int]:
        """All of them may act between events."""
        return frozenset(range(len(self.fmu.names.u)))

    def _advance(self, end: float) -> bool:
        at = self.at
        self._check_step(end - at.t)
        c = np.zeros((3, len(at.began)))
        c[: len(at.coefficients)] = at.coefficients
        h, c = end - at.t, shifted(c, at.t - at.base)
        if self.fmu.layout.description.major == 2:
            c = np.array([c[0] - h * h * c[2] / 6.0, c[1] + h * c[2], np.zeros(c.shape[1])])
        if not self.follows.all():
            mean = c[0] + h * (c[1] / 2.0 + h * c[2] / 3.0)
            c = np.where(self.follows, c, np.array([mean, np.zeros(len(mean)), np.zeros(len(mean))]))
        ends = c
        c = np.ascontiguousarray(c[: self.degree + 1])
        self.forget_values()
        self.trials.forget()
        status, reached, _, words = self._ask(binding.ADVANCE, end, degree=self.degree, slot=1, payload=c)
        at.pending = self._slot == 1
        if status < 0:
            raise ModelEvaluationError(
                f"the FMU {self.fmu.name} refuses the step from t = {at.t:.10g} to {end:.10g}: "
                f"{words or 'it gave no reason'}",
                hint=self._refusal_hint(),
                time=at.t,
            )
        if reached > at.t:
            self._taken.append((reached, reached - at.t))
            at.n_steps += 1
        at.u = value_at(ends, reached - at.t)
        at.t, at.stepped = reached, True
        return status != runtime.TERMINATED

    def _follows(self) -> Pattern:
        """The inputs of which the FMU takes more than a value for each step."""
        layout, vector = self.fmu.layout, self.fmu.layout.vectors["u"]
        _, _, derivatives, _, intermediate, *_ = unit_table(layout)
        every = [layout.description.variables[place] for place in vector.places]
        found = [
            one.variability == "continuous"
            and one.base == "real"
            and bool(derivatives or (intermediate and one.intermediate_update))
            for one in every
        ]
        return np.repeat(np.array(found, dtype=bool), np.array(vector.sizes, dtype=np.int64))

    def _check_step(self, h: float) -> None:
        """FMUs that cannot take steps of other lengths get none."""
        at = self.at
        if at.h and not self.fmu.layout.interface.variable_step and abs(h - at.h) > EQUAL * max(h, at.h):
            raise ArgumentError(
                f"the FMU {self.fmu.name} takes steps of equal length only, {at.h:.10g} so far, and now {h:.10g}",
                hint="a step= that divides stop - start, and inputs without jumps between communication points",
            )
        at.h = h

    def _refusal_hint(self) -> str:
        if not self.fmu.layout.interface.variable_step:
            return "the FMU cannot vary its step: use the step of its default experiment, or a multiple of it"
        return "a smaller step=; options={'log': True} of pliant.load records more messages"

    @property
    def is_waiting(self) -> bool:
        """Is an event mode due, once the inputs are known? Other events are handled inside its steps."""
        return self.at.pending

    @property
    def stands_at(self) -> float:
        """Where the last step ended."""
        return self.at.t

    @property
    def may_return_early(self) -> bool:
        """May steps end at events of the FMU?"""
        interface = self.fmu.layout.interface
        return bool(interface.has_event_mode and interface.early_return_of_its_own)

    @property
    def reacts(self) -> bool:
        """In event mode discrete inputs act at once."""
        return self.at.stepped and self.fmu.layout.interface.has_event_mode

    def settle(self, inputs: Vector) -> bool:
        """Discrete inputs that have changed, and events that wait, in event mode."""
        self.forget_values()
        self.trials.forget()
        self.at.pending, self.at.u = False, np.array(inputs)
        status, _, _, words = self._ask(binding.INPUTS, payload=np.ascontiguousarray(inputs, dtype=np.float64))
        if status < 0:
            raise ModelEvaluationError(
                f"the FMU {self.fmu.name} refuses its inputs at t = {self.at.t:.10g}: {words or 'it gave no reason'}",
                hint="check the values of its discrete inputs",
                time=self.at.t,
            )
        return status != runtime.TERMINATED

    # -------------------------------------------------------------------------------------------------- values

    def _try(self, inputs: Vector | None) -> None:
        """Before the first step other inputs mean another initialisation."""
        if inputs is None:
            return
        if self.at.stepped:
            self.trials.go(inputs)
        elif not np.array_equal(inputs, self.at.began):
            self.begin(self.at.t, inputs)

    def try_inputs(self, inputs: Vector, in_event_mode: bool) -> None:
        """The FMU has these inputs, without a step."""
        self.forget_values()
        payload = np.ascontiguousarray(inputs, dtype=np.float64)
        status, _, _, words = self._ask(binding.TRY, slot=int(in_event_mode), payload=payload)
        if status < 0:
            raise ModelEvaluationError(
                f"the FMU {self.fmu.name} refuses its inputs at t = {self.at.t:.10g}: {words or 'it gave no reason'}",
                hint="check that the model is defined for these inputs",
                time=self.at.t,
            )
        self.at.u = np.array(inputs)

    def read_now(self, index: Any) -> Vector:
        """Variables where the FMU stands."""
        status, _, values, words = self._ask(binding.OUTPUTS, payload=np.ascontiguousarray(index, dtype=np.int32))
        if status < 0:
            raise ModelEvaluationError(
                f"the FMU {self.fmu.name} gives no outputs at t = {self.at.t:.10g}: {words or 'it gave no reason'}",
                hint="options={'log': True} of pliant.load records more messages",
                time=self.at.t,
            )
        return values.copy()

    def read_after(self, inputs: Vector, short: float, index: Any) -> Vector | None:
        """Variables after a short step with these inputs, which is taken back; None: the FMU refuses it."""
        token, trials = self.save(), self.trials
        kept = trials.asked, trials.known
        c = np.zeros((self.degree + 1, len(inputs)))
        c[0] = inputs
        try:
            status, *_ = self._ask(binding.ADVANCE, self.at.t + short, degree=self.degree, slot=1, payload=c)
            return None if status < 0 else self.read_now(index)
        finally:
            if not self.is_lost:
                self.restore(token)
                trials.asked, trials.known = kept

    def second(self) -> FmuPart:
        """Another instance, to try things out."""
        other = FmuPart(self.name, self.given)  # type: ignore[arg-type]
        other.fmu = other.numeric = self.fmu
        other.request, other.degree, other.follows = self.request, self.degree, self.follows
        other.choose(self.chosen)
        return other

    @property
    def is_lost(self) -> bool:
        """Is there no host any more?"""
        return self.instance is None or self.instance.host is None or self.instance.host.closed

    def forget_values(self) -> None:
        """Those that were read hold no longer."""
        self._cache.clear()

    def _read(self, index: Any, names: Any, key: str) -> Vector:
        found = self._cache.get(key)
        if found is not None:
            return found
        if not len(index):
            return np.zeros(0)
        tried = self.trials.read(index)
        values = self.read_now(index) if tried is None else tried
        bad = np.flatnonzero(~np.isfinite(values))
        if len(bad):
            raise NonFiniteError(
                f"{self.name}.{names[int(bad[0])]} is NaN or infinite at t = {self.at.t:.10g}",
                hint="check that the FMU is defined there, and the values of its inputs",
                time=self.at.t,
                names=(f"{self.name}.{names[int(bad[0])]}",),
            )
        self._cache[key] = values
        return values

    def outputs(self, inputs: Vector | None = None) -> Vector:
        """The chosen outputs where the part stands."""
        self._try(inputs)
        u = self.at.u if inputs is None else inputs
        found = self.chosen_outputs(u)
        if self.at.stepped:
            self.trials.note(np.asarray(u), found)
        return found

    def chosen_outputs(self, u: Vector) -> Vector:
        """They, as the FMU has them now; u: for outputs that are inputs."""
        names = [n for n, s in zip(self.chosen, self.sources, strict=True) if s.vector == "y"]
        values = iter(self._read(self.y_index, names, "outputs"))
        return np.array([s.sign * (next(values) if s.vector == "y" else float(u[s.place])) for s in self.sources])

    def values(self, inputs: Vector) -> Vector:
        """All recorded variables where the part stands."""
        self._try(inputs)
        return np.concatenate([self._read(self.fmu.all_y, self.fmu.names.y, "values"), inputs])

    def sensitivity(self, inputs: Vector) -> Matrix:
        """d outputs / d inputs: by differences in the initialisation, by trials afterwards."""
        if self.at.stepped:
            return self.trials.sensitivity(inputs)
        pattern = self.feedthrough()
        out = np.zeros(pattern.shape)
        here = self.outputs(inputs)
        for j in np.flatnonzero(pattern.any(axis=0)):
            if self.inputs[int(j)].type != "real":
                continue
            moved = np.array(inputs)
            moved[j] += STEP * max(1.0, abs(float(inputs[j])))
            out[:, j] = np.where(pattern[:, j], (self.outputs(moved) - here) / (moved[j] - inputs[j]), 0.0)
        self.outputs(inputs)
        return out

    @property
    def loop_way(self) -> str:
        """How loops of direct feed-through through this part are solved; empty: there are none."""
        return self.trials.way if self.trials.looped.any() else ""

    def expect(self, looped: Sequence[int], jumping: Sequence[int]) -> None:
        """Inputs in loops of direct feed-through, and those that jump at communication points."""
        self.trials.looped[:] = self.trials.jumping[:] = False
        self.trials.looped[list(looped)] = True
        self.trials.jumping[list(jumping)] = True

    # ------------------------------------------------------------------------------------------ save and restore

    @property
    def can_restore(self) -> bool:
        """Where the FMU says so, and takes steps of any length."""
        interface = self.fmu.layout.interface
        return interface.can_save_state and interface.variable_step

    def save(self) -> object:
        """The whole present state, in the host."""
        while self.unwanted:
            self._ask(binding.FORGET, slot=self.unwanted.pop())
        status, _, _, words = self._ask(binding.SAVE)
        if status != runtime.OK:
            raise SolverError(
                f"the FMU {self.fmu.name} cannot be saved at t = {self.at.t:.10g}: {words or 'it gave no reason'}",
                hint="simulate the coupling with watch=False and extrapolation=1, which repeat no steps",
                time=self.at.t,
            )
        return SavedFmu(self, self._slot, Standing(**vars(self.at)))

    def restore(self, token: object) -> None:
        """Back to a saved state."""
        assert isinstance(token, SavedFmu)
        assert token.instance is self.instance, "a state of another instance"
        status, _, _, words = self._ask(binding.RESTORE, slot=token.slot)
        if status != runtime.OK:
            raise SolverError(
                f"the FMU {self.fmu.name} does not go back to t = {token.at.t:.10g}: {words or 'it gave no reason'}",
                hint="simulate the coupling with watch=False and extrapolation=1, which repeat no steps",
                time=token.at.t,
            )
        counted = self.at.n_steps
        self.at = Standing(**vars(token.at))
        self._taken = [one for one in self._taken if one[0] <= self.at.t]
        self.at.n_steps = counted
        self.forget_values()
        self.trials.forget()

    # ------------------------------------------------------------------------------------------------- telling

    @property
    def stats(self) -> Stats:
        """Steps so far, those that were taken back included."""
        out = Stats()
        out.method, out.n_steps = "co-simulation", self.at.n_steps
        return out

    @property
    def steps(self) -> StepRecord | None:
        """The steps that the FMU was asked for."""
        taken = np.array(self._taken).reshape(-1, 2)
        return {
            "time": taken[:, 0],
            "h": taken[:, 1],
            "order": np.zeros(len(taken), dtype=int),
            "method": np.full(len(taken), "co-simulation"),
        }

    @property
    def events(self) -> tuple[Event, ...]:
        """They stay inside."""
        return ()

    def close(self) -> None:
        """Give back the host; counters stay readable."""
        self._end_instance()

    def _end_instance(self) -> None:
        instance, self.instance = self.instance, None
        if instance is None or instance.host is None:
            return
        usable = not instance.host.closed
        if usable:
            try:
                instance.host.ask(binding.CLOSE, b"")
            except PliantError:
                usable = False
        instance.detach(usable)
