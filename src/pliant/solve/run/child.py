"""A simulation in a process of its own: ``options={"process": "child"}``.

The child (runtime/host/child.c) loads the same runtime and the same compiled model, finds the start values, takes the
steps, and sends rows, steps and events as they come; in the end its whole state, which the simulation here takes over:
results and errors are the same to the last bit. A child that dies takes nothing with it but itself.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.codegen.compiler import build_program
from pliant.errors import ArgumentError, ProcessError
from pliant.solve.binding import runtime
from pliant.solve.binding.simulation import SAVE_EVENTS, SAVE_LOG, SAVE_ROWS, HeadStruct
from pliant.solve.binding.start import StartReportStruct
from pliant.solve.models.numeric import NumericModel
from pliant.solve.options import Request
from pliant.solve.run.simulation import LOG_WIDTH, Simulation

#: what is sent, as in PL_CHILD_...
(
    LIBRARY,
    SETUP,
    METHODS,
    LINEAR,
    PARAMETERS,
    X,
    U,
    ATOL,
    POINTS,
    X_INDEX,
    Y_INDEX,
    MASK,
    CURVATURE,
    INPUT_SET,
    SEGMENT_START,
    COEFFICIENT,
    JUMP,
    LOOK,
    LOOK_U,
    NOMINAL,
    MIN,
    MAX,
    X_GIVEN,
    GIVEN,
    VALUE,
) = range(25)
GO, ANSWER = 100, 101
#: what comes back
PART, INPUTS, DOUBT, END, REFUSED, STARTED, MESSAGES, ANSWERED = range(200, 208)
HEAD = struct.Struct("=qq")
WORD = struct.Struct("=q")
CHUNK = 1 << 20
WAIT = 5.0  # seconds for a child that has closed its pipe to end


class ChildPartStruct(ctypes.Structure):
    """pl_child_part."""

    _fields_ = (
        ("first", ctypes.c_int64 * 3),
        ("count", ctypes.c_int64 * 3),
        ("counters", runtime.CountersStruct),
        ("t_reached", ctypes.c_double),
        ("method", ctypes.c_int),
        ("handovers", ctypes.c_int),
        ("started", ctypes.c_int),
        ("head", runtime.StepperStruct),
    )


runtime.check_sizes({21: ChildPartStruct})


def program() -> Path:
    """The program of the child: built with the package, else when first needed."""
    folder = runtime.runtime_folder()
    built = folder / ("pliant_child.exe" if sys.platform == "win32" else "pliant_child")
    if built.is_file():
        return built
    name = Path("programs", "pliant_child.c")
    sources = (folder / name, Path(__file__).parents[4] / "runtime" / "host" / name)
    return build_program(next((source for source in sources if source.is_file()), sources[0]))


class ChildSimulation(Simulation):
    """The same as a simulation here, but for who takes the steps."""

    process: subprocess.Popen[bytes] | None = None
    ended = False  # the child has sent its state

    def __init__(self, model: NumericModel, request: Request, inputs: Any) -> None:
        path = model.library_path
        if path is None:
            raise ArgumentError(
                f"option process: {model.name} is made of Python functions, which no other process can call",
                hint="leave process out, or write the model in Modelica or C",
            )
        super().__init__(model, request, inputs)
        self.library_path = path
        self.part = ChildPartStruct()
        self.deadline: float | None = None

    # ------------------------------------------------------------------------------------------------ sending

    def begin(self) -> None:
        """Send the child what to simulate: it finds the start values, too."""
        if self.request.timeout is not None:
            self.deadline = time.perf_counter() + self.request.timeout
        self.search = self.prepare_start()
        self._check_copies()
        self.process = subprocess.Popen(
            [str(program()), str(runtime.library_path())], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
        )
        frames = [(kind, content) for kind, content in self._request().items() if content is not None]
        with self._alive():
            for kind, content in frames:
                self._write(HEAD.pack(kind, memoryview(content).nbytes))
                self._write(content)
            self._write(HEAD.pack(GO, 0))

    def _request(self) -> dict[int, Any]:
        setup, model, request, options = self.head.setup, self.model, self.request, self.request.options
        run: runtime.RunOptionsStruct = setup.run
        number = {address: runtime.METHODS[name] for name, address in runtime.METHOD_ADDRESSES.items()}
        curvature, asked = options.curvature_of(model), setup.request
        said: dict[int, Any] = {
            LIBRARY: os.fsencode(self.library_path),
            SETUP: bytes(setup),
            METHODS: np.array([number[run.method], number.get(run.other, -1)], dtype=np.int32),
            LINEAR: None if self.planned is None else bytes(self.planned.struct.options),
            PARAMETERS: _plain(request.parameters),
            X: _plain(request.x),
            U: _plain(self.u),
            ATOL: _plain(request.atol),
            POINTS: None if request.points is None else _plain(request.points),
            X_INDEX: np.ascontiguousarray(self.x_index, dtype=np.int32),
            Y_INDEX: np.ascontiguousarray(self.y_index, dtype=np.int32),
            MASK: None if options.mask is None else self.mask,
            CURVATURE: curvature,
            NOMINAL: self._scale(model.struct.x_nominal),
            MIN: self._scale(model.struct.x_min),
            MAX: self._scale(model.struct.x_max),
            X_GIVEN: ctypes.string_at(asked.x_given, model.n_x) if asked.x_given else None,
            GIVEN: ctypes.string_at(asked.given, 4 * asked.n_given) if asked.n_given else None,
            VALUE: _at(asked.value, asked.n_given),
        }
        given = self.inputs.struct
        if given is not None:
            n, segments, looks = given.n_u, given.n_segments, given.n_looks
            said |= {
                INPUT_SET: bytes(given),
                SEGMENT_START: _at(given.start, segments),
                COEFFICIENT: _at(given.coefficient, segments * (given.degree + 1) * n),
                JUMP: ctypes.string_at(given.jump, segments) if segments else None,
                LOOK: _at(given.look, looks),
                LOOK_U: _at(given.look_u, looks * n),
            }
        return said

    def _scale(self, address: int | None) -> NDArray[np.float64] | None:
        """Nominal values or bounds, which parameters may have changed."""
        return None if address is None else runtime.doubles_at(address, self.model.n_x)

    def _check_copies(self) -> None:
        if not runtime.lib.pl_simulation_save_size(self.place, 0):
            raise ArgumentError(
                f"option process: an instance of {self.model.name} cannot be copied into another process",
                hint="leave process out",
            )

    def _write(self, content: Any) -> None:
        assert self.process is not None
        assert self.process.stdin is not None
        rest = memoryview(content).cast("B")
        while rest:
            rest = rest[os.write(self.process.stdin.fileno(), rest[:CHUNK]) :]

    # ----------------------------------------------------------------------------------------------- receiving

    def advance(self, steps: int) -> None:
        """Wait for what the child sends next. ``steps``: how many it takes at once is its own matter."""
        kind, content = 0, b""
        with self._alive():
            kind, size = HEAD.unpack(self._read(HEAD.size))
            content = self._read(size)
            if kind == INPUTS:
                self._answer_inputs(content)
        if self.process is None or kind == INPUTS:  # its time is up, which the caller's clock says, too
            return
        if kind == PART:
            self._take_part(content)
            return
        if kind == STARTED:
            self._take_start(content)
            return
        if kind == REFUSED:
            words = content.decode(errors="replace")
            raise ProcessError(
                f"the child process cannot simulate {self.model.name}: {words}",
                hint="leave the option process out, or set PLIANT_CACHE to a folder that is not cleaned during the run",
            )
        status = WORD.unpack_from(content)[0]
        image = np.frombuffer(content, dtype=np.uint8, offset=WORD.size).copy()
        self._restore(image)
        if kind == DOUBT:
            self.check_pattern()  # raises, unless the pattern is right after all
            with self._alive():
                self._write(HEAD.pack(ANSWER, WORD.size) + WORD.pack(1))
            return
        self.ended = True
        self.search.finish()
        self.went(int(status))

    def _take_start(self, content: bytes) -> None:
        """How start values were found; why there are none is found out here, once more."""
        status = WORD.unpack_from(content)[0]
        if status != runtime.OK:
            super().begin()
            raise ProcessError(
                f"the child process finds no start values of {self.model.name}, but this one does",
                hint="the model depends on earlier calls: check the external code that it calls",
            )
        report = StartReportStruct.from_buffer_copy(content, WORD.size)
        lists = np.frombuffer(content, dtype=np.int32, offset=WORD.size + ctypes.sizeof(report)).copy()
        self.lists = np.append(lists, 0)
        report.undetermined = runtime.address_of(self.lists)
        report.redundant = report.undetermined + 4 * report.n_undetermined
        report.loop = -1
        ctypes.memmove(ctypes.addressof(self.head.report), ctypes.addressof(report), ctypes.sizeof(report))

    def _restore(self, image: NDArray[np.uint8]) -> None:
        status = runtime.lib.pl_simulation_restore(self.place, runtime.address_of(image))
        if status != runtime.OK:
            raise ProcessError(
                f"{self.model.name}: the state of the child process cannot be read: {runtime.status_text(status)}",
                hint="simulate without the option process",
            )

    def _take_part(self, content: bytes) -> None:
        """Rows, steps and events, as they were recorded there."""
        part = ChildPartStruct.from_buffer_copy(content)
        head: HeadStruct = self.head
        width = 8 * (1 + head.out.n_x + head.out.n_y), 8 * LOG_WIDTH, head.event_bytes
        at = ctypes.sizeof(ChildPartStruct)
        for what, first, count, each in zip(
            (SAVE_ROWS, SAVE_LOG, SAVE_EVENTS), part.first, part.count, width, strict=True
        ):
            if count:
                place = ctypes.cast(ctypes.c_char_p(content), ctypes.c_void_p).value or 0
                status = runtime.lib.pl_simulation_append(self.place, what, first, count, place + at)
                if status != runtime.OK:
                    raise self._no_memory()
            at += count * each
        self.part = part
        ctypes.memmove(ctypes.addressof(self.count), ctypes.addressof(part.counters), ctypes.sizeof(part.counters))
        self.run.t_reached, self.run.method, self.run.handovers = part.t_reached, part.method, part.handovers

    def _no_memory(self) -> ProcessError:
        return ProcessError(
            f"no memory is left here for what the child process sends, after {int(self.out.used)} rows",
            hint="ask for fewer points=, or name the variables you need in outputs=",
        )

    def _answer_inputs(self, content: bytes) -> None:
        """Functions of time that only this process can call."""
        assert self.inputs.struct is not None
        t = struct.unpack_from("=d", content)[0]
        u = np.frombuffer(content, dtype=np.float64, offset=8).copy()
        call = runtime.INPUT_CALL(self.inputs.struct.call)
        status = call(None, t, u.ctypes.data_as(ctypes.POINTER(ctypes.c_double)))
        self._write(WORD.pack(status) + u.tobytes())

    def _read(self, size: int) -> bytes:
        assert self.process is not None
        assert self.process.stdout is not None
        pipe = self.process.stdout.fileno()
        parts: list[bytes] = []
        while size > 0:
            if self.deadline is not None and sys.platform != "win32":
                left = self.deadline - time.perf_counter()
                if left <= 0 or not select.select([pipe], [], [], left)[0]:
                    raise TimeoutError
            part = os.read(pipe, min(size, CHUNK))
            if not part:
                raise BrokenPipeError
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    # -------------------------------------------------------------------------------------------------- the end

    @contextlib.contextmanager
    def _alive(self) -> Iterator[None]:
        """The child may die at any time; where its time is up, it is ended."""
        try:
            yield
        except BrokenPipeError:
            raise self._died() from None
        except TimeoutError:
            self.close()

    def _died(self) -> ProcessError:
        assert self.process is not None
        left = WAIT if self.deadline is None else min(WAIT, max(0.0, self.deadline - time.perf_counter()))
        try:
            code = self.process.wait(left)
            how = f"ended with code {code}"
        except subprocess.TimeoutExpired:
            code, how = 0, "closed its pipe and did not end"
        if code < 0:
            with contextlib.suppress(ValueError):
                how = f"was killed by {signal.Signals(-code).name}"
        t = float(self.run.t_reached)
        return ProcessError(
            f"the child process of {self.model.name} {how}, after t = {t:.10g}",
            hint="check the external code that the model calls; the exception's .result holds what had arrived",
            time=t,
        )

    def flush(self) -> None:
        """A last row, where the state is known."""
        if self.ended:
            super().flush()

    def close(self) -> None:
        """End the child, whatever it does."""
        process, self.process = self.process, None
        if process is None:
            return
        if process.poll() is None and not self.ended:
            process.kill()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        process.wait()


def _plain(array: NDArray[Any]) -> NDArray[np.float64]:
    return np.ascontiguousarray(array, dtype=np.float64)


def _at(address: int | None, count: int) -> NDArray[np.float64] | None:
    return runtime.doubles_at(address, count) if address and count else None
