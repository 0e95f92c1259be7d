"""More of Python's stack while a model is read."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

RECURSION = 9000

_lock = Lock()
_inside = 0
_before = 0


@contextmanager
def deep_recursion() -> Iterator[None]:
    """Expressions and instances are walked by recursion: more than Python's usual limit, and not without end.

    The limit is one for all threads: it is taken back when the last of them has left.
    """
    global _inside, _before  # noqa: PLW0603
    with _lock:
        if not _inside:
            _before = sys.getrecursionlimit()
            sys.setrecursionlimit(max(_before, RECURSION))
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if not _inside:
                sys.setrecursionlimit(_before)
