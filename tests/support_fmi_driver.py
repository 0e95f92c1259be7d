"""A plain importer on ctypes: drives the binary of an FMU by the standard's calling sequence.

It is slow and has no safety; it says what a test FMU does without any code of pliant's. Model exchange: the classical
Runge-Kutta method with fixed steps, state events by bisection. Every call must return OK or Warning.
"""

from __future__ import annotations

import ctypes as ct
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from support_fmus import CS, ME

SUFFIX = {
    "float64": ct.c_double,
    "float32": ct.c_float,
    "int8": ct.c_int8,
    "uint8": ct.c_uint8,
    "int16": ct.c_int16,
    "uint16": ct.c_uint16,
    "int32": ct.c_int32,
    "uint32": ct.c_uint32,
    "int64": ct.c_int64,
    "uint64": ct.c_uint64,
    "boolean": ct.c_bool,
    "string": ct.c_char_p,
}
NAMES2 = {"float64": "Real", "int32": "Integer", "boolean": "Boolean", "string": "String"}
NAMES3 = {kind: kind.title().replace("Uint", "UInt") for kind in SUFFIX}

Log2 = ct.CFUNCTYPE(None, ct.c_void_p, ct.c_char_p, ct.c_int, ct.c_char_p, ct.c_char_p, ct.c_void_p)
Log3 = ct.CFUNCTYPE(None, ct.c_void_p, ct.c_int, ct.c_char_p, ct.c_char_p)
Update3 = ct.CFUNCTYPE(None, ct.c_void_p, ct.c_double, *[ct.c_bool] * 4, ct.POINTER(ct.c_bool), ct.POINTER(ct.c_double))
LIBC = ct.CDLL(None)


class Callbacks2(ct.Structure):
    _fields_ = [(name, ct.c_void_p) for name in ("log", "allocate", "release", "finished", "environment")]


class EventInfo2(ct.Structure):
    _fields_ = [
        *((name, ct.c_int) for name in ("again", "terminate", "nominals_changed", "states_changed", "next_defined")),
        ("next", ct.c_double),
    ]


def _told(form: bytes, text: int) -> str:
    """A message, which is the format itself where it has no argument."""
    return (ct.c_char_p(text).value or b"").decode() if form == b"%s" else form.decode()


class RefusedCallError(AssertionError):
    """A call returned neither OK nor Warning."""


class Driver:
    """One instance of an FMU's binary."""

    def __init__(self, binary: Path, version: str, kind: str, token: str, resources: str = "") -> None:
        self.v3, self.kind = version == "3.0", kind
        self.library = ct.CDLL(str(binary))
        self.log: list[tuple[int, str]] = []
        self.updates: list[float] = []
        self.time, self.next = 0.0, float("inf")
        self.terminate = self.event_needed = False
        if self.v3:
            self._log: Any = Log3(lambda _e, status, _c, text: self.log.append((status, text.decode())))
            self._instantiate3(token.encode(), resources.encode() or None)
        else:
            self._log = Log2(lambda _e, _n, status, _c, form, text: self.log.append((status, _told(form, text))))
            self._instantiate2(token.encode(), resources.encode() or None)

    def _instantiate2(self, token: bytes, resources: bytes | None) -> None:
        address = [ct.cast(one, ct.c_void_p).value for one in (self._log, LIBC.calloc, LIBC.free)]
        self._callbacks = Callbacks2(*address, None, None)
        create = self.library.fmi2Instantiate
        create.restype = ct.c_void_p
        given = (b"test", int(self.kind == CS), token, resources, ct.byref(self._callbacks), 0, 1)
        self.instance = ct.c_void_p(create(*given))

    def _instantiate3(self, token: bytes, resources: bytes | None) -> None:
        common = (b"test", token, resources, ct.c_bool(False), ct.c_bool(True))
        self._update = Update3(lambda _e, time, *_rest: self.updates.append(time))
        if self.kind == ME:
            create, rest = self.library.fmi3InstantiateModelExchange, (None, self._log)
        else:
            create = self.library.fmi3InstantiateCoSimulation
            rest = (ct.c_bool(True), ct.c_bool(True), None, ct.c_size_t(0), None, self._log, self._update)
        create.restype = ct.c_void_p
        self.instance = ct.c_void_p(create(*common, *rest))

    def call(self, name: str, *arguments: Any) -> None:
        status = self.library[f"fmi{3 if self.v3 else 2}{name}"](self.instance, *arguments)
        if status > 1:
            raise RefusedCallError(f"{name}: status {status}, {self.log[-1:]}")

    # ------------------------------------------------------------------------------------------------ values

    def _access(self, kind: str, count: int) -> tuple[str, Any]:
        element: Any = SUFFIX[kind]
        if not self.v3 and kind == "boolean":
            element = ct.c_int
        return (NAMES3 if self.v3 else NAMES2)[kind], (element * count)()

    def get(self, kind: str, reference: int, count: int = 1) -> Any:
        name, values = self._access(kind, count)
        rest = (ct.c_size_t(count),) if self.v3 else ()
        self.call(f"Get{name}", (ct.c_uint32 * 1)(reference), ct.c_size_t(1), values, *rest)
        return list(values) if count > 1 else values[0]

    def set(self, kind: str, reference: int, *given: Any) -> None:
        name, values = self._access(kind, len(given))
        for i, value in enumerate(given):
            values[i] = value
        rest = (ct.c_size_t(len(given)),) if self.v3 else ()
        self.call(f"Set{name}", (ct.c_uint32 * 1)(reference), ct.c_size_t(1), values, *rest)

    def numbers(self, name: str, count: int) -> list[float]:
        values = (ct.c_double * count)()
        self.call(name, values, ct.c_size_t(count))
        return list(values)

    # ------------------------------------------------------------------------------------- initialisation, events

    def start(self, sets: Mapping[tuple[str, int], Any] | None = None, stop: float | None = None) -> None:
        """To the end of initialisation, and through the first event."""
        for (kind, reference), value in (sets or {}).items():
            self.set(kind, reference, *(value if isinstance(value, Sequence) else (value,)))
        flag: Any = ct.c_bool if self.v3 else ct.c_int
        times = (flag(0), ct.c_double(0.0), ct.c_double(0.0), flag(stop is not None), ct.c_double(stop or 0.0))
        if self.v3:
            self.call("EnterInitializationMode", *times)
        else:
            self.call("SetupExperiment", *times)
            self.call("EnterInitializationMode")
        self.call("ExitInitializationMode")
        if self.kind == ME or self.v3:
            self.update()

    def update(self) -> bool:
        """Event mode up to its end; True: the states changed."""
        changed = False
        for _ in range(100):
            if self.v3:
                flags, next_time = [ct.c_bool() for _ in range(5)], ct.c_double()
                self.call("UpdateDiscreteStates", *map(ct.byref, flags), ct.byref(next_time))
                again, end, _, new, defined = (flag.value for flag in flags)
                time = next_time.value
            else:
                info = EventInfo2()
                self.call("NewDiscreteStates", ct.byref(info))
                again, end, new, defined, time = (
                    *(info.again, info.terminate, info.states_changed),
                    *(info.next_defined, info.next),
                )
            changed, self.terminate = changed or bool(new), self.terminate or bool(end)
            self.next = time if defined else float("inf")
            if not again:
                self.call("EnterContinuousTimeMode" if self.kind == ME else "EnterStepMode")
                return changed
        raise AssertionError("the event iteration does not end")

    # ------------------------------------------------------------------------------------------ model exchange

    def _rates(self, time: float, x: Sequence[float]) -> list[float]:
        n = len(x)
        self.call("SetTime", ct.c_double(time))
        if n:
            self.call("SetContinuousStates", (ct.c_double * n)(*x), ct.c_size_t(n))
        return self.numbers("GetContinuousStateDerivatives" if self.v3 else "GetDerivatives", n) if n else []

    def _advance(self, time: float, x: list[float], h: float) -> list[float]:
        def moved(by: Sequence[float], factor: float) -> list[float]:
            return [one + factor * rate for one, rate in zip(x, by, strict=True)]

        k1 = self._rates(time, x)
        k2 = self._rates(time + h / 2, moved(k1, h / 2))
        k3 = self._rates(time + h / 2, moved(k2, h / 2))
        k4 = self._rates(time + h, moved(k3, h))
        sums = [a + 2 * b + 2 * c + d for a, b, c, d in zip(k1, k2, k3, k4, strict=True)]
        out = moved(sums, h / 6)
        self._rates(time + h, out)
        return out

    def run(
        self, stop: float, steps: int, n: int, indicators: int = 0, at: Callable[[float], None] | None = None
    ) -> list[float]:
        """Model exchange to ``stop``; the states there. ``at``: sets inputs."""
        x = self.numbers("GetContinuousStates", n) if n else []
        h = stop / steps
        while self.time < stop - 1e-12 and not self.terminate:
            reach = min(self.time + h, self.next, stop)
            before = self.numbers("GetEventIndicators", indicators) if indicators else []
            if at:
                at(self.time)
            new = self._advance(self.time, x, reach - self.time)
            event = indicators > 0 and self._crossed(before, indicators)
            if event:
                low, high = 0.0, reach - self.time
                for _ in range(60):
                    middle = 0.5 * (low + high)
                    self._advance(self.time, x, middle)
                    low, high = (low, middle) if self._crossed(before, indicators) else (middle, high)
                reach = self.time + high
                new = self._advance(self.time, x, high)
            x, self.time = new, reach
            flag: Any = ct.c_bool if self.v3 else ct.c_int
            asked, end = flag(), flag()
            self.call("CompletedIntegratorStep", flag(1), ct.byref(asked), ct.byref(end))
            if event or asked.value or self.time >= self.next:
                self.call("EnterEventMode")
                if self.update():
                    x = self.numbers("GetContinuousStates", n)
        return x

    def _crossed(self, before: Sequence[float], count: int) -> bool:
        after = self.numbers("GetEventIndicators", count)
        return any((a > 0) != (b > 0) for a, b in zip(before, after, strict=True))

    # ------------------------------------------------------------------------------------------- co-simulation

    def step(self, h: float) -> None:
        """One communication step, with the event that it may end in."""
        if not self.v3:
            self.call("DoStep", ct.c_double(self.time), ct.c_double(h), 1)
            self.time += h
            return
        flags, reached = [ct.c_bool() for _ in range(3)], ct.c_double()
        given = (ct.c_double(self.time), ct.c_double(h), ct.c_bool(True))
        self.call("DoStep", *given, *map(ct.byref, flags), ct.byref(reached))
        event, end, _ = (flag.value for flag in flags)
        self.time, self.terminate = reached.value, self.terminate or end
        if event:
            self.call("EnterEventMode")
            self.update()

    def end(self) -> None:
        self.call("Terminate")
        self.library[f"fmi{3 if self.v3 else 2}FreeInstance"](self.instance)
