"""An instance of an FMU in a host: what goes into ``self`` of the functions that ask it (runtime/host/fmu_client.c)."""

from __future__ import annotations

import ctypes
import math
import weakref
from typing import TYPE_CHECKING

import numpy as np

from pliant.arguments import Vector
from pliant.errors import FmuError, PliantError
from pliant.fmi.hosts import binding
from pliant.fmi.hosts.host import FmuHost
from pliant.fmi.hosts.pool import HostPool
from pliant.foreign.messages import Message
from pliant.solve.models.numeric import Instance
from pliant.solve.run.remote import PARAMETERS, REFUSED, START_VALUES, STARTS, TEXTS, X_GIVEN, X, packed

if TYPE_CHECKING:
    from pliant.fmi.model import FmuModel
    from pliant.solve.options import Request


REFUSAL = "check parameters and start values; options={'log': True} of pliant.load records more messages"


class FmuInstance(Instance):
    """Values of one FMU. The host is taken when something is asked for, and given back with the instance."""

    def __init__(self, model: FmuModel, parameters: Vector) -> None:
        client = binding.ClientStruct(
            state=binding.DIED,
            ended=-1,
            n_x=model.n_x,
            n_u=len(model.names.u),
            n_y=len(model.names.y),
            n_roots=len(model.names.roots),
            words=b"the instance of the FMU is closed",
        )
        self._raised: BaseException | None = None
        self.host: FmuHost | None = None
        super().__init__(ctypes.addressof(client), (client,))
        self.client = client
        self.pool: HostPool = model.pool
        self.parameters = parameters
        self.texts = model.texts
        self.refusal_hint = REFUSAL
        if model.layout.interface.needs_execution_tool:
            self.refusal_hint = f"it needs the tool that made it ({model.fmu.description.tool or 'not named'})"
        self.heard: list[Message] = []
        self._held: list[FmuHost] = []  # what the finalizer gives back
        weakref.finalize(self, _give_back, self.pool, self._held).atexit = False

    @property
    def raised(self) -> BaseException | None:
        """What went wrong while C was running: kept by a callback, or the end of the host."""
        if self._raised is None and self.host is not None and self.client.state != binding.ALIVE:
            try:
                self.host.fail(self.client.state == binding.HANGS)
            except PliantError as error:
                self._raised = error
            self.detach(usable=False)
        return self._raised

    @raised.setter
    def raised(self, error: BaseException | None) -> None:
        self._raised = error

    # ------------------------------------------------------------------------------------------------ its host

    def attach(self, fresh: bool = False) -> FmuHost:
        """A host of its own."""
        if self.host is None:
            host = self.pool.take(fresh)
            self.host = host
            self._held.append(host)
            client = self.client
            client.in_, client.out, client.ended = host.process.reads, host.process.writes, host.process.ended
            client.box = ctypes.addressof(host.box)
            client.call_timeout = host.settings.call_timeout
            client.words = b""
            client.state = binding.ALIVE
        return self.host

    def detach(self, usable: bool) -> None:
        """Give the host back; usable: for other runs."""
        host, self.host = self.host, None
        if host is None:
            return
        self.client.state, self.client.words = binding.DIED, b"the instance of the FMU is closed"
        self.heard += host.take_log()
        self._held.clear()
        self.pool.give_back(host, usable)

    def frames(self, request: Request, n_x: int) -> dict[int, object]:
        """What the instance is made with: parameters and start values."""
        given = np.zeros(n_x, dtype=np.uint8)
        given[list(request.x_given)] = 1
        others = request.others_given
        return {
            PARAMETERS: np.ascontiguousarray(request.parameters, dtype=np.float64),
            X: np.ascontiguousarray(request.x, dtype=np.float64),
            X_GIVEN: given if request.x_given else None,
            STARTS: np.array(list(others), dtype=np.int32) if others else None,
            START_VALUES: np.array(list(others.values()), dtype=np.float64) if others else None,
            TEXTS: b"".join(text.encode() + b"\0" for text in self.texts) if self.texts else None,
        }

    def open(self, request: Request, n_x: int) -> None:
        """An instance for single values, not yet initialised."""
        again = self.host is not None and self.host.used
        for fresh in (False, True):
            host = self.attach(fresh)
            again = host.used
            host.used = True
            with host.watched():
                host.write(packed(self.frames(request, n_x)))
            content = binding.BEGIN.pack(request.start, request.stop, request.rtol or math.nan, int(request.held))
            kind, words = host.ask(binding.OPEN, content)
            if kind != REFUSED:
                return
            self.detach(usable=False)
            if not again:  # an FMU that can be instantiated once only has not said so
                break
        raise FmuError(
            f"{host.settings.name}: {words.decode(errors='replace')}",
            hint=self.refusal_hint,
        )


def _give_back(pool: HostPool, held: list[FmuHost]) -> None:
    """The instance is gone: so is what it had in the host. Called at any time, so nothing is waited for."""
    while held:
        host = held.pop()
        pool.give_back(host, host.release())
