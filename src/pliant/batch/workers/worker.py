"""The program of a worker process: ``python -m pliant.batch.workers.worker ADDRESS``, which crew `Processes` starts.

It gets model and order, then blocks, and sends back what became of them; while a block runs it sends signs of life with
the case that it is at. It ends when the connection does.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import sys
import time
from multiprocessing.connection import Client, Connection
from typing import Any

from pliant.batch.order import Order
from pliant.batch.workers.work import BlockOutcome, run_block, sendable

SIGNS_PER_SECOND = 10.0
KEY = "PLIANT_WORKER_KEY"


class SignsOfLife:
    """Reports to the parent where it is, not too often."""

    def __init__(self, connection: Connection, careful: bool) -> None:
        self.connection, self.careful, self.last = connection, careful, 0.0

    def __call__(self, place: int) -> None:
        """At this case; -1: somewhere in the block."""
        now = time.monotonic()
        if self.careful or now - self.last > 1.0 / SIGNS_PER_SECOND:
            self.connection.send(("at", place))
            self.last = now


def serve(connection: Connection) -> None:
    """Blocks, until there are no more."""
    main, packed, order_packed = connection.recv()
    try:
        if main is not None:  # functions of the user's script
            from multiprocessing import spawn

            spawn.prepare(main)
        model, order = pickle.loads(packed), pickle.loads(order_packed)
    except Exception as error:
        connection.send(("failed", sendable(error)))
        return
    connection.send(("ready", os.getpid()))
    work(connection, model, order)


def work(connection: Connection, model: Any, order: Order) -> None:
    """Blocks of a model that is here already."""
    while True:
        cases, indices, careful = connection.recv()
        outcome = run_block(model, order, cases, indices, SignsOfLife(connection, careful), careful)
        outcome.errors = {k: sendable(error) for k, error in outcome.errors.items()}
        _send(connection, outcome)


def _send(connection: Connection, outcome: BlockOutcome) -> None:
    """Values of a user's function may refuse to be pickled: then they are errors in their places."""
    try:
        connection.send(("done", outcome))
    except (ConnectionError, BrokenPipeError):
        raise
    except Exception:  # whatever a class of the user raises
        for k, value in list(outcome.kept.items()):
            error = _refusal(value)
            if error is not None:
                del outcome.kept[k]
                outcome.errors[k] = error
        connection.send(("done", outcome))


def _refusal(value: Any) -> Exception | None:
    try:
        pickle.loads(pickle.dumps(value))
    except Exception as error:
        return sendable(error)
    return None


def main() -> None:
    """Connect and serve."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's
    address: Any = sys.argv[1]
    if address.startswith("tcp:"):
        host, _, port = address[4:].rpartition(":")
        address = (host, int(port))
    key = bytes.fromhex(os.environ.pop(KEY))
    with contextlib.suppress(EOFError, ConnectionError, BrokenPipeError), Client(address, authkey=key) as connection:
        serve(connection)


if __name__ == "__main__":
    main()
