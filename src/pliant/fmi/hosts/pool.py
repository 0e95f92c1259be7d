"""Hosts of one FMU: each run takes a free one, or a new one; several threads may ask at the same time."""

from __future__ import annotations

import os
import threading
import weakref

from pliant.errors import FmuError
from pliant.fmi.hosts.host import FmuHost, HostSettings

#: hosts that are kept ready
MOST_FREE = 4


class HostPool:
    """The hosts of a model; `close` ends them all. In a forked process it has none of its parent's."""

    def __init__(self, settings: HostSettings) -> None:
        self.settings = settings
        self._lock = threading.RLock()  # hosts also come back when garbage is collected
        self._free: list[FmuHost] = []
        self._all: set[FmuHost] = set()
        self._owner = os.getpid()
        self.closed = False
        self._finalizer = weakref.finalize(self, _close_all, self._all, self._owner)

    def take(self, fresh: bool = False) -> FmuHost:
        """A host that nobody else uses. ``fresh``: one that has not been used."""
        while not fresh:
            with self._lock:
                self._check()
                if not self._free:
                    break
                host = self._free.pop()
            if host.is_ready():
                return host
            self._all.discard(host)
        host = FmuHost(self.settings)
        with self._lock:
            if self.closed:
                host.close()
                self._check()
            self._all.add(host)
        return host

    def give_back(self, host: FmuHost, usable: bool = True) -> None:
        """A host that is not used any more; ``usable``: for other runs."""
        with self._lock:
            keep = usable and not host.closed and not self.closed and not self.settings.once
            if keep and len(self._free) < MOST_FREE and self._owner == os.getpid():
                self._free.append(host)
                return
            self._all.discard(host)
        host.close()

    def _check(self) -> None:
        if self.closed:
            raise FmuError(
                f"{self.settings.name}: the model was closed", hint="load it again, or use it inside the `with` block"
            )
        if self._owner != os.getpid():  # forked: pipes are shared, processes are the parent's
            self._free, self._all, self._owner = [], set(), os.getpid()
            self._finalizer.detach()
            self._finalizer = weakref.finalize(self, _close_all, self._all, self._owner)

    def close(self) -> None:
        """End all hosts."""
        with self._lock:
            self.closed = True
            self._free.clear()
        self._finalizer()


def _close_all(hosts: set[FmuHost], owner: int) -> None:
    if os.getpid() == owner:
        while hosts:
            hosts.pop().close()
