"""A part made from a model, with a solver of its own that does not restart between macro steps.

With BDF the history of the solver is corrected where the input polynomials change (``at_jump``); other methods
restart there in any case, and so do models with algebraic unknowns in x that have no Taylor series.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.arguments import Vector
from pliant.cosim.part import DEGREE, Matrix, PartAbout, PartSettings, Pattern, Port
from pliant.cosim.part_simulation import PartSimulation, SavedState
from pliant.errors import ArgumentError, NonFiniteError, UnknownNameError
from pliant.solve.binding import runtime
from pliant.solve.models.numeric import NumericModel
from pliant.solve.names import is_hidden, suggestion
from pliant.solve.options import Request, check_request
from pliant.solve.results.result import Event, Stats, StepRecord
from pliant.solve.run.collect import METHOD_ARRAY, collect_stats

STEP = 6e-6  # relative increment of central differences


@dataclass(frozen=True)
class OutputSource:
    """Where an output is found: in x, y or u, with a sign."""

    vector: str
    place: int
    sign: int


class ModelPart:
    """A model as a part of a coupling."""

    def __init__(self, name: str, numeric: NumericModel) -> None:
        self.name = name
        self.numeric = self.given = numeric
        self.sim: PartSimulation | None = None
        self.request: Request | None = None
        self._ports: dict[str, Port] | None = None
        self.degree = DEGREE
        self._counted = Stats()
        self._discarded: dict[str, int] = {}  # work of steps that were taken back
        self._steps: StepRecord | None = None
        self._events: tuple[Event, ...] = ()
        self._state: tuple[float, Vector] | None = None
        self.choose(())

    # --------------------------------------------------------------------------------------------------- names

    @property
    def inputs(self) -> tuple[Port, ...]:
        """All inputs, in order."""
        ports = self._all_ports()
        return tuple(ports[name] for name in self.given.names.u)

    def _all_ports(self) -> dict[str, Port]:
        if self._ports is None:
            known = self.given.known
            constant = self.given.constants(self.given.p_start)
            declared = self.given.declared_inputs(None)
            self._ports = {}
            for name, info in known.variables.items():
                causality = "input" if info.kind == "input" else "output"
                if name in constant or info.kind == "parameter":
                    causality = "constant"
                self._ports[name] = Port(
                    name,
                    causality=causality,
                    unit=info.unit,
                    type=info.type,
                    start=info.start,
                    held=known.is_held(name) or info.type != "real",
                    declared=declared.get(name),
                    held_by=known.held_by.get(name),
                )
        return self._ports

    def port(self, name: str) -> Port:
        """The variable of that name."""
        ports = self._all_ports()
        if name not in ports:
            raise UnknownNameError(f"the part {self.name!r} has no variable {name!r}", hint=suggestion(name, ports))
        return ports[name]

    def _source(self, name: str) -> OutputSource:
        names = self.given.names
        target, sign = names.behind(name)
        for vector, pool in (("x", names.x), ("y", names.y), ("u", names.u)):
            if target in pool:
                return OutputSource(vector, pool.index(target), sign)
        raise ArgumentError(
            f"{self.name}.{name} cannot be read at communication points",
            hint="connect a state, an output or a variable that is computed from them",
        )

    def choose(self, names: Sequence[str]) -> None:
        """The variables that ``outputs`` shall give."""
        self.chosen = tuple(names)
        self.sources = [self._source(name) for name in names]
        self.y_index = np.array([s.place for s in self.sources if s.vector == "y"], dtype=np.int32)

    # --------------------------------------------------------------------------------------------------- set-up

    def configure(self, settings: PartSettings) -> None:
        """Check the settings of the next simulation."""
        self.numeric, self.degree = self._numeric_for(settings), settings.degree
        self.request = check_request(
            self.numeric,
            start=settings.start,
            stop=settings.stop,
            method=settings.method,
            rtol=settings.rtol,
            atol=settings.atol,
            points=2,
            step=None,
            parameters=settings.parameters,
            start_values=settings.start_values,
            outputs=None,
            options={"initial": "solve", **settings.options, "at_jump": settings.at_jump},
            timeout=None,
        )

    def _numeric_for(self, settings: PartSettings) -> NumericModel:
        """With Taylor coefficients where the correction of the history can use them."""
        model = self.given
        return model.for_correction(settings.at_jump, settings.method) if model.names.u else model

    def about(self) -> PartAbout:
        """Names and descriptions."""
        assert self.request is not None
        names = self.numeric.names
        visible = tuple(name for name in names.x if not is_hidden(name))
        return PartAbout(
            self.numeric.name,
            digest=self.numeric.digest,
            columns=(*visible, *names.y, *names.u),
            states=tuple(name for name in visible if name not in names.algebraic),
            aliases=names.aliases,
            constants=self.numeric.constants(self.request.parameters),
            info=self.numeric.known.variables,
        )

    def begin(self, t: float, inputs: Vector) -> None:
        """Consistent start values at t."""
        assert self.request is not None, "configure() comes first"
        assert t == self.request.start
        self.close()
        sim = PartSimulation(self.numeric, self.request, inputs, self.name, self.degree)
        sim.begin()
        self.sim, self._state = sim, None
        self._discarded = {}

    def _running(self) -> PartSimulation:
        assert self.sim is not None, "begin() comes first"
        return self.sim

    # ------------------------------------------------------------------------------------------------- stepping

    def set_inputs(self, t: float, coefficients: Matrix) -> None:
        """New input polynomials from t on."""
        self._running().set_inputs(t, coefficients)

    def step(self, t_next: float, cancelled: Callable[[], bool]) -> bool:
        """Go to t_next."""
        self._state = None
        return self._running().go(t_next, cancelled)

    @property
    def is_waiting(self) -> bool:
        """Do clocks tick here, once the inputs are known?"""
        return self.sim is not None and self.sim.is_waiting

    @property
    def next_event(self) -> float:
        """The next time event, as far as it is known."""
        if self.sim is None:
            return math.inf
        run = self.sim.run
        t = float(run.t_reached)
        return min((one for one in (float(run.next_time), float(run.t_turn)) if one > t), default=math.inf)

    @cached_property
    def acting_inputs(self) -> frozenset[int]:
        """Inputs that act between events; the others are only read there, by clocks and when-clauses."""
        known, names = self.given.known, self.given.names
        if names.roots or names.algebraic or self.given.is_elsewhere or not known.held_by:
            # relations may look at them at any time
            return frozenset(range(len(names.u)))
        moving = (on for name, on in known.feedthrough.items() if name not in names.u and not known.is_held(name))
        same = {target for target, _ in names.aliases.values()}
        passed = frozenset(j for j, name in enumerate(names.u) if name in same)  # der(x) = u
        return passed.union(*moving)

    @property
    def reacts(self) -> bool:
        """Has the model when-clauses, which a jump of an input may set off?"""
        return self.numeric.known.has_memory

    def settle(self, inputs: Vector) -> bool:
        """What waits here takes place with these inputs; False if it ends the part."""
        self._state = None
        self._running().settle(inputs)
        return not self._running().ended

    def _present(self) -> Vector:
        sim = self._running()
        t = float(sim.run.t_reached)
        if self._state is None or self._state[0] != t:
            self._state = (t, sim.present_state())
        return self._state[1]

    def outputs(self, inputs: Vector | None = None) -> Vector:
        """The chosen outputs where the part stands."""
        sim = self._running()
        u = sim.inputs_at(float(sim.run.t_reached)) if inputs is None else inputs
        x = sim.state_with(self._present(), u)
        y = iter(sim.evaluate(x, u, self.y_index))
        out = np.empty(len(self.sources))
        for k, source in enumerate(self.sources):
            value = next(y) if source.vector == "y" else (x if source.vector == "x" else u)[source.place]
            out[k] = source.sign * value
        self._check(out, self.chosen)
        return out

    def _check(self, values: Vector, names: Sequence[str]) -> None:
        """Everything that leaves the part must be a number."""
        if np.isfinite(values).all():
            return
        bad = names[int(np.flatnonzero(~np.isfinite(values))[0])]
        t = float(self._running().run.t_reached)
        raise NonFiniteError(
            f"{self.name}.{bad} is NaN or infinite at t = {t:.10g}{self.numeric.place_of(bad)}",
            hint="check that the model is defined there, and the values of its inputs",
            time=t,
            names=(f"{self.name}.{bad}",),
        )

    def values(self, inputs: Vector) -> Vector:
        """All recorded variables where the part stands."""
        sim = self._running()
        x = sim.state_with(self._present(), inputs)
        visible = [i for i, name in enumerate(self.numeric.names.x) if not is_hidden(name)]
        y = sim.evaluate(x, inputs, self.numeric.all_y)
        self._check(y, self.numeric.names.y)
        return np.concatenate([x[visible], y, inputs])

    # ---------------------------------------------------------------------------------------------- feed-through

    def feedthrough(self) -> Pattern:
        """Which chosen outputs depend on which inputs directly."""
        direct = self.given.known.feedthrough
        out = np.zeros((len(self.sources), len(self.given.names.u)), dtype=bool)
        for k, (name, source) in enumerate(zip(self.chosen, self.sources, strict=True)):
            if source.vector == "u":
                out[k, source.place] = True
                continue
            target = self.given.names.behind(name)[0]
            out[k, sorted(direct.get(target, ()))] = True
        return out

    def sensitivity(self, inputs: Vector) -> Matrix:
        """d outputs / d inputs: exact for outputs that the model declares, else central differences."""
        pattern = self.feedthrough()
        exact = self._exact_sensitivity(inputs, pattern)
        if exact is not None:
            return exact
        out = np.zeros(pattern.shape)
        for j in np.flatnonzero(pattern.any(axis=0)):
            h = STEP * max(1.0, abs(float(inputs[j])))
            moved = np.array(inputs)
            moved[j] = inputs[j] + h
            high = self.outputs(moved)
            moved[j] = inputs[j] - h
            out[:, j] = np.where(pattern[:, j], (high - self.outputs(moved)) / (2.0 * h), 0.0)
        return out

    def _exact_sensitivity(self, inputs: Vector, pattern: Pattern) -> Matrix | None:
        model, sim = self.numeric, self._running()
        if not model.has_tangents or model.names.algebraic:
            return None
        declared = model.known.outputs
        needed = [k for k in range(len(self.chosen)) if pattern[k].any()]
        if any(self.chosen[k] not in declared for k in needed):
            return None
        rows = {k: declared.index(self.chosen[k]) for k in needed}
        x, u, t = self._present(), np.append(inputs, 0.0), float(sim.run.t_reached)
        out = np.zeros(pattern.shape)
        for j in np.flatnonzero(pattern.any(axis=0)):
            more = model.tangent(sim.instance, runtime.OF_INTERFACE, t, (x, u), model.n_x + int(j))
            if more is None:
                return None
            for k, row in rows.items():
                out[k, j] = more[row]
        return out

    # ------------------------------------------------------------------------------------------ save and restore

    @property
    def can_restore(self) -> bool:
        """Is there no memory in an FMU that stays as it is?"""
        return not (self.numeric.is_elsewhere and self.numeric.has_hidden_memory)

    def save(self) -> object:
        """The whole present state."""
        return self._running().save()

    def restore(self, token: object) -> None:
        """Back to a saved state."""
        assert isinstance(token, SavedState)
        self._state = None
        sim = self._running()
        before = {name: getattr(sim.count, name) for name in runtime.CountersStruct.NAMES}
        sim.restore(token)
        for name, value in before.items():
            self._discarded[name] = self._discarded.get(name, 0) + value - getattr(sim.count, name)

    # ------------------------------------------------------------------------------------------------- telling

    @property
    def stats(self) -> Stats:
        """Counters so far, steps that were taken back included."""
        if self.sim is None:
            return self._counted
        out = collect_stats(self.sim)
        for name, value in self._discarded.items():
            setattr(out, name, getattr(out, name) + value)
        return out

    @property
    def steps(self) -> StepRecord | None:
        """The steps taken."""
        return self._steps if self.sim is None else _step_record(self.sim.log[: self.sim.out.log_used])

    @property
    def events(self) -> tuple[Event, ...]:
        """Events so far."""
        return self._events if self.sim is None else tuple(self.sim.events)

    def close(self) -> None:
        """Give back memory; counters stay readable."""
        if self.sim is None:
            return
        self._counted, self._steps, self._events = self.stats, self.steps, self.events
        self.sim.release()
        self.sim = None


def _step_record(log: NDArray[np.float64]) -> dict[str, NDArray[Any]]:
    return {
        "time": log[:, 0].copy(),
        "h": log[:, 1].copy(),
        "order": log[:, 2].astype(int),
        "method": METHOD_ARRAY[log[:, 3].astype(int)],
    }
