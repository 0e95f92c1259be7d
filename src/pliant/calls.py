"""Public functions take arguments after the first by name, and say how a wrong call should have been written.

Python itself enforces it (``*`` in the signature, ``KW_ONLY`` among the fields of a dataclass), so a good call pays for
one more function only. What is added here is the message: where the call itself fails, before the function has begun,
the arguments are sorted to their names, and the error shows the call as it should be.
"""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ParamSpec, TypeVar

from pliant.errors import CallError

P = ParamSpec("P")
R = TypeVar("R")
C = TypeVar("C", bound=type)

LONGEST = 40  # characters of a value in a message
BY_POSITION = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def by_keyword(function: Callable[P, R]) -> Callable[P, R]:
    """A public function or method whose wrong calls are explained.

    >>> @by_keyword
    ... def wait(seconds, *, why=""):
    ...     return seconds
    >>> wait(1, "tired")
    Traceback (most recent call last):
        ...
    pliant.errors.CallError: pliant.wait: why is given by name
      try: write pliant.wait(1, why='tired')
    """

    @functools.wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except TypeError as error:
            trace = error.__traceback__
            if trace is None or trace.tb_next is not None:  # raised inside
                raise
            wrong = call_error(function, args, kwargs, str(error))
        raise wrong

    return called


def by_keyword_class(cls: C) -> C:
    """A public class whose wrong calls are explained."""
    cls.__init__ = by_keyword(cls.__init__)  # type: ignore[misc]
    return cls


def call_error(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], reason: str) -> CallError:
    """What is wrong with a call, and how to write it."""
    place, bound = _place(function)
    parameters = list(inspect.signature(function).parameters.values())[bound:]
    given = args[bound:]
    allowed = [one for one in parameters if one.kind in BY_POSITION]
    named = [one for one in parameters if one.kind == inspect.Parameter.KEYWORD_ONLY]
    late = named[: max(0, len(given) - len(allowed))]
    if not late or len(given) > len(allowed) + len(named):
        return CallError(f"{place}: {reason.partition('() ')[2] or reason}", hint=_hint(parameters, kwargs))
    by_name = {one.name: value for one, value in zip([*allowed, *late], given, strict=True)} | dict(kwargs)
    required = [one.name for one in allowed if one.default is inspect.Parameter.empty]
    shown = ", ".join(text(value) if name in required else f"{name}={text(value)}" for name, value in by_name.items())
    names = [one.name for one in late]
    told = f"{names[0]} is" if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]} are"
    return CallError(f"{place}: {told} given by name", hint=f"write {place}({shown})")


def text(value: Any) -> str:
    """A value as it may stand in a call, shortened.

    >>> text(1.5), text(print), text(list(range(100)))
    ('1.5', 'print', '...')
    """
    if callable(value) and hasattr(value, "__name__"):
        return "..." if value.__name__ == "<lambda>" else str(value.__name__)
    shown = repr(value)
    return "..." if len(shown) > LONGEST or "\n" in shown or shown.startswith("<") else shown


def _place(function: Callable[..., Any]) -> tuple[str, int]:
    """How users write the function: pliant.load, model.simulate, pliant.Scenario; arguments that are bound before."""
    parts = function.__qualname__.replace("<locals>.", "").split(".")
    if parts[-1] == "__init__":
        return f"pliant.{parts[-2]}", 1
    if len(parts) == 1 or next(iter(inspect.signature(function).parameters), "") not in ("self", "cls"):
        return f"pliant.{parts[-1]}", 0
    return f"{'result' if parts[-2].endswith('Result') else parts[-2].lower()}.{parts[-1]}", 1


def _hint(parameters: Sequence[inspect.Parameter], kwargs: Mapping[str, Any]) -> str:
    """The name that may have been meant, or all of them."""
    known = [one.name for one in parameters]
    for name in kwargs:
        near = [] if name in known else difflib.get_close_matches(name, known, 1)
        if near:
            return f"did you mean {near[0]}?"
    return f"its arguments are {', '.join(known)}" if known else "leave the arguments out"
