"""Who simulates blocks of cases: threads of this process (threads.py), processes of its own (processes.py),
or anybody's Executor.

A crew is given blocks and gives back futures. Blocks whose worker died come back as ``WorkerDied``.
"""

from __future__ import annotations

import hashlib
import pickle
import secrets
import time
from abc import ABC, abstractmethod
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.batch.cases import Cases
from pliant.batch.order import Order
from pliant.batch.workers.work import BlockOutcome, run_remote
from pliant.errors import ArgumentError, CaseError, PliantError

GRACE = 2.0  # seconds beyond its time-out after which a case is taken for stuck
LOOK, NOBODY = 5.0, 60.0  # seconds between looks at the workers of Dask, and without any before all is given up
DIED_HINT = "simulate the case alone, with options={'process': 'child'}, to see what kills its process"


class WorkerDied(Exception):
    """A worker did not come back. ``place``: the case in its block that it was at, if that is known; ``stuck``: it was
    given up because it did not answer.
    """

    def __init__(self, why: str, place: int | None = None, *, stuck: bool = False) -> None:
        super().__init__(why)
        self.why, self.place, self.stuck = why, place, stuck


class CrewGone(Exception):
    """Nobody is left to work: an executor that was shut down, a cluster that went away."""


@dataclass(frozen=True)
class CaseBlock:
    """Cases that go to a worker together."""

    cases: Cases
    indices: NDArray[np.intp]  # in the study
    careful: bool = False  # case by case, so that it is known where a worker dies

    def part(self, places: NDArray[np.intp], careful: bool) -> CaseBlock:
        """Some of its cases."""
        return CaseBlock(self.cases.part(places), self.indices[places], careful)


class Crew(ABC):
    """Workers."""

    workers: int
    #: seconds that a block should take
    block_seconds = 0.25

    @abstractmethod
    def submit(self, block: CaseBlock) -> Future[BlockOutcome]:
        """Start a block, or put it into a queue. Raises CrewGone."""

    def watch(self) -> None:  # noqa: B027
        """Look after the workers; called some times a second. Raises CrewGone."""

    @abstractmethod
    def close(self, interrupted: bool) -> None:
        """End everything; ``interrupted``: also what is running."""


class Others(Crew):
    """Any ``concurrent.futures.Executor``: Dask, mpi4py, a pool of one's own."""

    block_seconds = 1.0

    def __init__(self, executor: Executor, shipment: Shipment, workers: int | None) -> None:
        self.executor, self.shipment = executor, shipment
        self.workers = workers or _size_of(executor)
        self.futures: set[Future[BlockOutcome]] = set()
        self.keys: dict[Future[BlockOutcome], str] = {}  # of Dask's tasks
        self.looked = 0.0  # when workers of Dask were looked for,
        self.seen: float | None = None  # and found

    def submit(self, block: CaseBlock) -> Future[BlockOutcome]:
        """See Crew."""
        s = self.shipment
        named = {"key": f"pliant-{secrets.token_hex(12)}"} if _is_dask(self.executor) else {}
        try:
            future: Future[BlockOutcome] = self.executor.submit(
                run_remote, s.model, s.digest, s.order, block.cases, block.indices, block.careful, **named
            )
        except Exception as error:  # every executor has its own for being closed
            raise CrewGone(f"{type(error).__name__}: {error}") from error
        self.futures.add(future)
        if named:
            self.keys[future] = named["key"]
        future.add_done_callback(self._forget)
        return future

    def _forget(self, future: Future[BlockOutcome]) -> None:
        self.futures.discard(future)
        self.keys.pop(future, None)

    def lost(self, future: Future[BlockOutcome]) -> str:
        """Why a block will never come back, where that is known. Dask's executor loses the error of a task whose result
        was there, went away with its worker, and could not be computed again: its future stays pending for ever.
        """
        known = getattr(getattr(self.executor, "_client", None), "futures", {}).get(self.keys.get(future))
        status = getattr(known, "status", "")
        return f"its task ended as {status!r}" if status in ("error", "lost", "cancelled") else ""

    def watch(self) -> None:
        """Raises CrewGone if Dask has lost all its workers and nobody starts others: its tasks would wait for ever."""
        now = time.monotonic()
        if not _is_dask(self.executor) or now - self.looked < LOOK:
            return
        self.looked = now
        client = self.executor._client  # type: ignore[attr-defined]
        is_adaptive = getattr(getattr(client, "cluster", None), "_adaptive", None) is not None
        if _threads_of(client) or is_adaptive:
            self.seen = now
        elif self.seen is not None and now - self.seen > NOBODY:
            raise CrewGone(f"Dask has had no worker for {NOBODY:g} s")

    def close(self, interrupted: bool) -> None:
        """The executor is its owner's; only what was asked of it ends."""
        for future in list(self.futures):
            future.cancel()


def executor_of(given: Any) -> Executor | None:
    """An executor, where that is what was given; also a Client of Dask, which has one."""
    if isinstance(given, type):
        return None
    if _is_dask(given) and callable(getattr(given, "get_executor", None)):
        given = given.get_executor()
    return given if isinstance(given, Executor) or callable(getattr(given, "submit", None)) else None


def _is_dask(executor: Any) -> bool:
    return type(executor).__module__.partition(".")[0] == "distributed"


def _size_of(executor: Any) -> int:
    """How many blocks it may work on at once, where it says so."""
    for name in ("_max_workers", "max_workers", "num_workers"):
        found = getattr(executor, name, None)
        if isinstance(found, int) and found > 0:
            return found
    client = getattr(executor, "_client", None)
    if client is not None:
        return _threads_of(client) or 4
    return 4


def _threads_of(client: Any) -> int:
    """Of all workers of Dask."""
    try:
        return int(sum(client.nthreads().values()))
    except Exception:  # a client that is closed; submit says so
        return 0


@dataclass(frozen=True)
class Shipment:
    """Model and order as they travel."""

    model: bytes
    digest: bytes
    order: bytes

    @staticmethod
    def of(model: Any, order: Order) -> Shipment:
        """Pickled, or an error that says what does not travel."""
        packed = _pickled("the model", model)
        return Shipment(packed, hashlib.sha256(packed).digest(), _order(order))


def _pickled(what: str, value: Any) -> bytes:
    try:
        return pickle.dumps(value)
    except PliantError:
        raise
    except Exception as error:
        raise ArgumentError(
            f"{what} cannot be sent to another process: {error}",
            hint="define functions at the top of a module, not as lambda; or executor='threads'",
        ) from None


def _order(order: Order) -> bytes:
    if callable(order.keep):
        _pickled("the function keep=", order.keep)
    for name, value in order.arguments.items():
        _pickled(f"the argument {name}=", value)
    return _pickled("the arguments", order)


def died_twice(why: str) -> CaseError:
    """A case that killed two workers."""
    return CaseError(f"the case killed its worker twice: {why}", hint=DIED_HINT)
