"""Ctrl-C while C is at work.

Python handles a signal at the first instruction of the next Python code, and under a simulation that is a callback: the
exception is raised before the callback's ``try``, and ctypes drops it there, together with the callback's result. So an
interrupt that is noticed in a callback is kept, and raised where it can be seen: in the callback's ``try``, or after C.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import TypeVar

Call = TypeVar("Call", bound=Callable[..., int])

_callbacks: set[CodeType] = set()  # code of the functions that C calls
_waiting = threading.Event()


def callback(call: Call) -> Call:
    """Mark a function that C calls; it calls `raise_waiting` inside its ``try``."""
    _callbacks.add(call.__code__)
    return call


def raise_waiting() -> None:
    """Raise an interrupt that was noticed at the entry of a callback."""
    if _waiting.is_set() and threading.current_thread() is threading.main_thread():
        _waiting.clear()
        raise KeyboardInterrupt


def _notice(number: int, frame: FrameType | None) -> None:
    if frame is not None and frame.f_code in _callbacks:
        _waiting.set()
    else:
        signal.default_int_handler(number, frame)


@contextmanager
def noticed() -> Iterator[None]:
    """No Ctrl-C is lost inside. Handlers other than Python's own are left alone, as are other threads."""
    is_ours = threading.current_thread() is threading.main_thread()
    if not is_ours or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    _waiting.clear()
    signal.signal(signal.SIGINT, _notice)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    raise_waiting()
