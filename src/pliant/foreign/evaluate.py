"""Values of calls before a simulation: parameters, sizes and constants that external functions give.

An object that is made for such a call lives as long as the call; a simulation makes its own.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from pliant.errors import ModelError
from pliant.foreign.calls import ForeignCall
from pliant.foreign.library import ForeignDataStruct, call_wrapper, foreign_library, utilities
from pliant.foreign.wrapper import n_texts_out
from pliant.texts import made

DIFFERENCE = 6e-6
SMALLEST = 1e-3
OWNER = ctypes.c_int(0)  # its address owns the objects made here
_results: weakref.WeakKeyDictionary[ForeignCall, dict[Any, tuple[list[float], list[str]]]] = weakref.WeakKeyDictionary()


def results(call: ForeignCall, args: Sequence[float]) -> tuple[list[float], list[str]]:
    """Numbers and strings that a call gives; raises a ModelError with the text of ModelicaError."""
    known = _results.setdefault(call, {})
    key = tuple(args)
    found = known.get(key)
    if found is None:
        if call.base is not None:
            found = _difference(call, call.base, key), []
        elif call.is_object:
            found = [float(_make(call, key))], []
        else:
            found = _call(call, key)
        if call.is_pure:
            known[key] = found
    return found


def _objects(call: ForeignCall, args: Sequence[float]) -> list[int | None]:
    _, base = utilities()
    found: list[int | None] = []
    for place in call.objects:
        made = ctypes.c_void_p()
        if not base.pl_object_at(int(args[place]), ctypes.byref(OWNER), ctypes.byref(made)):
            raise ModelError(
                f"an object that `{call.signature.name}` is given does not exist any more", hint="load the model again"
            )
        found.append(made.value)
    return found


def _call(call: ForeignCall, args: Sequence[float]) -> tuple[list[float], list[str]]:
    library = foreign_library([call.signature])
    numbers = np.array([*args, 0.0])
    out = np.zeros(call.n_outputs + 1)
    objects = _objects(call, args)
    given = [made(one, lambda place: args[place]) for one in call.texts]
    texts, error = call_wrapper(library.address(0), numbers, given, objects, out, n_texts_out(call.signature))
    if error is not None:
        raise _reported(call, error)
    return out[: call.n_outputs].tolist(), texts


def _reported(call: ForeignCall, error: str) -> ModelError:
    return ModelError(
        f"{f'{call.span}: ' if call.span else ''}the external function {call.name} reports: {error.strip()}",
        hint="check its arguments",
        span=call.span,
    )


def _make(call: ForeignCall, args: Sequence[float]) -> int:
    signatures = [call.signature] if call.destructor is None else [call.signature, call.destructor]
    library = foreign_library(signatures)
    _, base = utilities()
    data = ForeignDataStruct()
    numbers = np.array([*args, 0.0])
    texts = [made(one, lambda place: args[place]) for one in call.texts]
    given = (ctypes.c_char_p * (len(texts) + 1))(*(one.encode() for one in texts))
    inner = _objects(call, args)
    things = (ctypes.c_void_p * (len(inner) + 1))(*inner)
    said = ctypes.create_string_buffer(2000)
    data.in_, data.text, data.object = numbers.ctypes.data, ctypes.addressof(given), ctypes.addressof(things)
    last = library.address(1) if call.destructor is not None else None
    number = int(
        base.pl_object_make(
            ctypes.byref(OWNER),
            ctypes.c_void_p(library.address(0)),
            ctypes.c_void_p(last),
            ctypes.byref(data),
            said,
            ctypes.c_size_t(len(said)),
        )
    )
    if number <= 0:
        raise _reported(call, said.value.decode(errors="replace"))
    weakref.finalize(call, _end, base, number, library)
    return number


def _end(base: ctypes.CDLL, number: int, _library: Any) -> None:
    base.pl_object_end(number, ctypes.byref(OWNER))


def _difference(call: ForeignCall, base: ForeignCall, args: Sequence[float]) -> list[float]:
    h = DIFFERENCE * max(abs(args[call.by]), SMALLEST)
    sides = []
    for value in (args[call.by] + h, args[call.by] - h):
        point = list(args)
        point[call.by] = value
        sides.append(np.array(results(base, point)[0]))
    found: list[float] = ((sides[0] - sides[1]) / (2.0 * h)).tolist()
    return found
