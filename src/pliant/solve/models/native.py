"""pliant.native: a C file that defines ``const pl_model pliant_model``."""

from __future__ import annotations

import ctypes
import math
import time
import weakref
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.arguments import Vector, as_path, by_name
from pliant.compiling.compiler import load_again, load_library
from pliant.compiling.folders import runtime_folder
from pliant.errors import ModelError, NotSupportedError
from pliant.solve.binding import runtime
from pliant.solve.models.contract import check_struct, text_of, texts_of
from pliant.solve.models.known import Names
from pliant.solve.models.numeric import Instance, NumericModel, check_names, mass_rows

#: times that an exact Jacobian may cost of differences: it spares trouble; and what is not worth the question
FAR_DEARER = 4.0
WORTH_MEASURING = 2e-5
MOST_CALLS, SHORT = 30, 2e-3  # of one function, and seconds up to which they are repeated
#: of this thread alone, where it is fine enough: others at work must not change what is chosen
CLOCK = time.thread_time if time.get_clock_info("thread_time").resolution <= 1e-6 else time.perf_counter
UNSAID = "it gave no reason"


class NativeModel(NumericModel):
    """A compiled ``pl_model``; every instance has memory of its own."""

    measured_source: str | None = None
    origin: tuple[str, str, bytes]  # stem of the C file, digest and preprocessed text
    open_hint = "see the model's `open`"

    def __reduce__(self) -> tuple[Any, ...]:
        """The text travels. So does the choice of the Jacobian's source: measuring again may end otherwise."""
        return _rebuilt, self.origin, {"measured_source": self.measured_source}

    @property
    def library_path(self) -> str:
        """The file that it was loaded from."""
        return str(self.keep[0]._name)

    @cached_property
    def bare(self) -> bool:
        """Are its equations all there is: no memory, no parameters, nothing to open?"""
        s = self.struct
        return not (s.memory_size or s.open or s.close or (s.set_parameters and s.n_p))

    @property
    def _has_past(self) -> bool:
        """Events and steps may leave something in the instance."""
        return bool(self.struct.event or self.struct.step_done)

    @property
    def doubtful_pattern(self) -> bool:
        """A pattern written by hand may be wrong."""
        return bool(self.struct.jac.start)

    def cheapest_source(self, colours: int, instance: Instance, x: Vector, u: Vector) -> str:
        """The Jacobian's source by measured cost; an exact one may cost FAR_DEARER times as much as a cruder one."""
        with self.lock:  # measured once: a second measurement may end otherwise
            if self.measured_source is None:
                self.measured_source = self._measure(colours, instance, x, u)
        return self.measured_source

    def check_runnable(self) -> None:
        """Refuse what the runtime does not keep yet."""
        if self.struct.n_delays:
            raise NotSupportedError(
                f"{self.name} reads {self.struct.n_delays} delayed values, and simulations keep no past values yet",
                hint="replace the delay by a chain of first-order lags (Pade approximation)",
            )

    def _measure(self, colours: int, instance: Instance, x: Vector, u: Vector) -> str:
        struct, n_jac = self.struct, self.n_x**2
        if struct.jac.start:
            n_jac = int((ctypes.c_int * (self.n_x + 1)).from_address(struct.jac.start)[self.n_x])
        value, f = np.empty(n_jac), np.empty(self.n_x)
        if struct.flags & runtime.MODEL_IMPURE or not struct.jac_value:
            return self.jacobian_source("auto")
        at = (instance.address, 0.0, x.ctypes.data, u.ctypes.data)
        exact = _seconds(lambda: runtime.POINT_CALL(struct.jac_value)(*at, value.ctypes.data))
        if exact < WORTH_MEASURING:
            return "exact"
        costs = {"exact": exact}
        if struct.jvp:
            direction = np.zeros(self.n_x)
            call = runtime.JVP_CALL(struct.jvp)
            costs["directional"] = colours * _seconds(
                lambda: call(*at, 0.0, direction.ctypes.data, None, f.ctypes.data)
            )
        costs["differences"] = colours * _seconds(lambda: runtime.POINT_CALL(struct.rhs)(*at, f.ctypes.data))
        least = min(costs.values())
        return next(source for source, cost in costs.items() if cost <= FAR_DEARER * least)

    def instance(self, parameters: Vector) -> Instance:
        """Allocate and open instance memory."""
        if self.bare:
            return Instance(None)
        size = int(self.struct.memory_size)
        try:
            memory = np.zeros(size, dtype=np.uint8) if size else None
        except (MemoryError, ValueError):
            raise ModelError(
                f"{self.name}: there is no memory for an instance of {size} bytes",
                hint="check .memory_size of pliant_model",
            ) from None
        instance = Instance(None if memory is None else runtime.address_of(memory), (memory, parameters))
        if self.struct.close:
            # the finalizer keeps memory and library alive until it has run
            close = runtime.CLOSE_CALL(self.struct.close)
            weakref.finalize(instance, _close, close, instance.address, (memory, self.keep))
        if self.struct.open and runtime.OPEN_CALL(self.struct.open)(instance.address) != runtime.OK:
            words = self.error_text(instance) or UNSAID
            raise ModelError(
                f"{self.name}: the model could not be opened: {words}",
                hint=self.open_hint,
                span=self.known.asserted_at(words),
            )
        if self.struct.set_parameters and self.struct.n_p:
            call = runtime.PARAMETER_CALL(self.struct.set_parameters)
            if call(instance.address, runtime.address_of(parameters)) != runtime.OK:
                words = self.error_text(instance) or UNSAID
                raise ModelError(
                    f"{self.name}: the model refuses its parameters: {words}",
                    hint="change parameters=, or the defaults in the file",
                    span=self.known.asserted_at(words),
                )
        return instance


def _seconds(call: Callable[[], int]) -> float:
    """Of one call, the fastest of three, of more where they are short: interrupts count, too. A refusal is endless."""
    best, spent, done = math.inf, 0.0, 0
    while done < 3 or (done < MOST_CALLS and spent < SHORT and best >= WORTH_MEASURING):
        begin = CLOCK()
        if call() != runtime.OK:
            return math.inf
        seconds = CLOCK() - begin
        best, spent, done = min(best, seconds), spent + seconds, done + 1
    return best


def _close(close: Any, address: int | None, _keep: Any) -> None:
    close(address)


def _check_rank(struct: runtime.ModelStruct, name: str, x_names: tuple[str, ...]) -> None:
    """Rank deficiency of L must show as empty rows: find one independent state for every other row."""
    if not struct.mass.start:
        return
    from scipy.sparse import csc_matrix
    from scipy.sparse.csgraph import structural_rank

    n = struct.n_x
    start = np.ctypeslib.as_array((ctypes.c_int * (n + 1)).from_address(struct.mass.start)).copy()
    row = np.ctypeslib.as_array((ctypes.c_int * int(start[n])).from_address(struct.mass.row)).copy()
    mass = csc_matrix((runtime.doubles_at(struct.mass_value, int(start[n])), row, start), shape=(n, n))
    full = mass_rows(struct)
    rank = int(structural_rank(mass))
    if rank == full.sum() and n <= 2000 and not _is_diagonal(row, start):
        rank = int(np.linalg.matrix_rank(mass[full].toarray()))
    if rank < full.sum():
        rows = ", ".join(x_names[i] for i in np.flatnonzero(full)[:5])
        raise ModelError(
            f"{name}: the mass matrix has rank {rank} but {int(full.sum())} rows are not empty (among them {rows})",
            hint="combine rows so that every algebraic equation is an empty row of the mass matrix",
        )


def _is_diagonal(row: NDArray[np.int32], start: NDArray[np.int32]) -> bool:
    return bool(np.array_equal(row, np.repeat(np.arange(len(start) - 1), np.diff(start))))


def load_native(path: str | Path, *, defines: Mapping[str, object] | None = None) -> NativeModel:
    """Compile and load a C file that defines ``pliant_model``."""
    source = as_path("the source", path)
    if defines is not None:
        defines = by_name("defines", defines)
    found = load_library(source, include=[runtime_folder() / "include"], defines=defines)
    return _described(found.library, source, (source.stem, found.digest, found.text))


def _rebuilt(stem: str, digest: str, text: bytes) -> NativeModel:
    """A model that was pickled. The C file itself may have changed since, or be gone."""
    return _described(load_again(stem, digest, text), Path(f"{stem}.c"), (stem, digest, text))


def _described(loaded: ctypes.CDLL, source: Path, origin: tuple[str, str, bytes]) -> NativeModel:
    """The model that a library defines."""
    try:
        struct = runtime.ModelStruct.in_dll(loaded, "pliant_model")
    except ValueError:
        raise ModelError(
            f"{source} does not define the symbol pliant_model",
            hint="end the file with `const pl_model pliant_model = {.abi = PL_ABI, ...};` (see docs/native.md)",
        ) from None
    name = text_of(struct.name, "the name of the model", source.name) if struct.name else source.stem
    check_struct(struct, name)
    x_names = texts_of(struct.x_name, struct.n_x, "x", name)
    _check_rank(struct, name, x_names)
    full = mass_rows(struct)
    names = Names(
        x=x_names,
        u=texts_of(struct.u_name, struct.n_u, "u", name),
        p=texts_of(struct.p_name, struct.n_p, "p", name),
        y=texts_of(struct.y_name, struct.n_y, "y", name),
        roots=texts_of(struct.root_name, struct.n_roots, "root", name),
        algebraic=frozenset(x_names[i] for i in np.flatnonzero(~full)),
    )
    check_names(names, name)
    model = NativeModel(struct, name=name, digest=origin[1], names=names, keep=(loaded,))
    model.origin = origin
    return model
