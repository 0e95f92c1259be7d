"""A simulation of a model-exchange FMU: the steps are taken in its host."""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.errors import FmuError, ModelEvaluationError, PliantError
from pliant.fmi.hosts.instance import FmuInstance
from pliant.foreign.messages import Message
from pliant.solve.binding import runtime
from pliant.solve.binding import start as binding_start
from pliant.solve.run.remote import MAX, MIN, NOMINAL, PATTERN_ROW, PATTERN_START, RemoteSimulation
from pliant.solve.run.simulation import Simulation
from pliant.solve.start.search import StartSearch

if TYPE_CHECKING:
    from pliant.fmi.model import FmuModel


#: numbers that a result may have where nobody says what is recorded; rows of a run whose steps are recorded
MOST_NUMBERS = 20_000_000
ROWS_OF_STEPS = 1000
#: for measuring the right-hand side
MEASURE_SECONDS, MOST_CALLS = 2e-3, 10_000


class FmuSimulation(RemoteSimulation):
    """One run of an FMU."""

    instance: FmuInstance
    model: FmuModel

    def _choose_outputs(self) -> None:
        """All variables, but for those that are no numbers; of very many only the declared outputs."""
        super()._choose_outputs()
        if self.request.outputs is not None:
            return
        points, names = self.request.points, self.model.names
        rows = ROWS_OF_STEPS if points is None else len(points)
        keep = np.ones(len(names.y), dtype=bool)
        if rows * (1 + len(names.x) + len(names.y)) > MOST_NUMBERS:
            declared = set(self.model.known.outputs)
            keep = np.fromiter((name in declared for name in names.y), dtype=bool, count=len(names.y))
            warnings.warn(
                f"{self.model.name}: {len(names.y)} variables at {rows} points are too many: recorded are the states, "
                "the inputs and the declared outputs only; name others in outputs=",
                stacklevel=2,
            )
        if self.model.left_out:
            keep &= np.fromiter((name not in self.model.left_out for name in names.y), dtype=bool, count=len(names.y))
        if not keep.all():
            self.y_index = np.flatnonzero(keep).astype(np.int32)

    def went(self, status: int) -> None:
        """As ever; where outputs cannot be read that nobody asked for, the error names them."""
        try:
            super().went(status)
        except ModelEvaluationError as error:
            if self.problem.failure.what == runtime.IN_OUTPUTS and self.request.outputs is None:
                error.names = tuple(self.model.names.y[i] for i in self.y_index)
            raise

    def connect(self) -> None:
        """Take a host."""
        self.again = self.instance.attach().used
        self.instance.attach().used = True

    def frames(self) -> dict[int, Any]:
        """What to simulate, and the values of the instance; nominal values and bounds are the FMU's own."""
        found = {kind: content for kind, content in super().frames().items() if kind not in (NOMINAL, MIN, MAX)}
        return found | self.instance.frames(self.request, self.model.n_x) | self._pattern()

    def _pattern(self) -> dict[int, Any]:
        """Another pattern of the Jacobian than the description's, which the host knows."""
        model = self.model
        pattern = model.struct.jac
        if pattern.start == model.declared_pattern:
            return {}
        if not pattern.start:
            return {PATTERN_START: np.zeros(0 if model.n_x == 0 else 1, dtype=np.int32)}
        start = np.array((ctypes.c_int * (model.n_x + 1)).from_address(pattern.start), dtype=np.int32)
        rows = np.zeros(int(start[-1]) + 1, dtype=np.int32)
        if start[-1] > 0:
            rows[:-1] = (ctypes.c_int * int(start[-1])).from_address(pattern.row)
        return {PATTERN_START: start, PATTERN_ROW: rows}

    def write(self, content: bytes) -> None:
        """Send bytes to the host."""
        assert self.instance.host is not None
        self.instance.host.write(content)

    def read_frame(self) -> tuple[int, bytes]:
        """The next frame of the host."""
        assert self.instance.host is not None
        return self.instance.host.read_frame(self.deadline)

    @contextlib.contextmanager
    def alive(self) -> Iterator[None]:
        """A host that dies or hangs is an error that says what was going on."""
        assert self.instance.host is not None
        try:
            with self.instance.host.watched(self.deadline):
                yield
        except PliantError:
            self.instance.detach(usable=False)
            raise

    def refused(self, words: str) -> PliantError:
        """The FMU cannot be instantiated, or refuses its parameters."""
        return FmuError(
            f"{self.model.name}: {words}",
            hint=self.instance.refusal_hint,
        )

    def heard(self, words: str) -> None:
        """What the FMU says about a failure."""
        self.instance.client.words = words.encode()[:900]

    def advance(self, steps: int) -> None:
        """As ever; an FMU that can be instantiated only once, and does not say so, gets another host."""
        try:
            super().advance(steps)
        except FmuError:
            if not self.again or self.ended or self.out.used:
                raise
            self.again = False
            self.instance.detach(usable=False)
            self.instance.attach(fresh=True).used = True
            with self.alive():
                self.send()

    def rhs_seconds(self) -> float:
        """Measured in a host, at the start values; where that cannot be, what the run took at most."""
        most = self.seconds / max(int(self.count.n_rhs), 1)
        try:
            request = dataclasses.replace(self.request, stop=self.request.start, points=None, outputs=())
            point = Simulation(self.model, request, {})
            point.begin()
        except PliantError:
            return most
        assert isinstance(point.instance, FmuInstance)
        client, place = ctypes.byref(point.instance.client), (request.start, point.x.ctypes.data, point.u.ctypes.data)
        once = float(runtime.lib.pl_fmu_client_measure(client, *place, 1))
        calls = min(max(int(MEASURE_SECONDS / max(once, 1e-9)), 1), MOST_CALLS)
        found = float(runtime.lib.pl_fmu_client_measure(client, *place, calls))
        return found if found > 0.0 else most

    @property
    def messages(self) -> tuple[Message, ...]:
        """What the FMU said."""
        if self.instance.host is not None:
            self.instance.heard += self.instance.host.take_log()
        return tuple(self.instance.heard)

    def close(self) -> None:
        """The host is free again; in the midst of a run it is ended."""
        self.left = True
        self.instance.detach(usable=self.ended)
        for _, status, category, text in self.instance.heard:
            if (status, category) == ("warning", "pliant"):
                warnings.warn(f"{self.model.name}: {text}", stacklevel=2)


class FmuStart(StartSearch):
    """The start of an FMU: it finds its start values itself."""

    def error(self, status: int) -> PliantError | None:
        """Why it did not."""
        failure, sim = self.report.failure, self.sim
        if failure.what != binding_start.MODEL:
            return super().error(status)
        words = failure.words.decode(errors="replace") or "it gave no reason"
        return ModelEvaluationError(
            f"{sim.model.name}: initialisation failed at t = {sim.request.start:g}: {words}",
            hint="check parameters, start values and inputs; options={'log': True} of pliant.load records more",
            time=sim.request.start,
        )

    def prepare(self) -> None:
        """For single values there must be an instance."""
        super().prepare()
        sim = self.sim
        if not isinstance(sim, FmuSimulation):
            assert isinstance(sim.instance, FmuInstance)
            sim.instance.open(sim.request, sim.model.n_x)
