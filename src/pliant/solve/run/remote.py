"""A simulation whose steps are taken in another process, whatever that process is.

The other process (runtime/host/child.c) finds the start values, takes the steps, and sends rows, steps and events as
they come; in the end its whole state, which the simulation here takes over: results and errors are the same to the last
bit. What the process is, and how it is reached, subclasses say.
"""

from __future__ import annotations

import ctypes
import struct
import time
from abc import abstractmethod
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.errors import ArgumentError, PliantError, ProcessError
from pliant.solve.binding import runtime
from pliant.solve.binding.simulation import SAVE_EVENTS, SAVE_LOG, SAVE_ROWS, HeadStruct
from pliant.solve.binding.start import StartReportStruct
from pliant.solve.failure import failure_error
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
    STARTS,
    START_VALUES,
    TEXTS,
    PATTERN_START,
    PATTERN_ROW,
) = range(30)
GO, ANSWER = 100, 101
#: what comes back
PART, INPUTS, DOUBT, END, REFUSED, STARTED, MESSAGES, ANSWERED, WORDS, TOLD = range(200, 210)
HEAD = struct.Struct("=qq")
WORD = struct.Struct("=q")
TOLD_HEAD = struct.Struct("=dqq")  # pl_child_told


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
        ("failure", runtime.FailureStruct),
    )


runtime.check_sizes({21: ChildPartStruct})


def packed(frames: dict[int, Any]) -> bytes:
    """Frames as they are sent; None: left out."""
    parts: list[Any] = []
    for kind, content in frames.items():
        if content is not None:
            view = memoryview(content)
            parts += (HEAD.pack(kind, view.nbytes), view)
    return b"".join(parts)


class RemoteSimulation(Simulation):
    """The same as a simulation here, but for who takes the steps."""

    is_here = False
    ended = False  # the other process has sent its state
    left = False  # nothing is sent or received any more

    def __init__(self, model: NumericModel, request: Request, inputs: Any) -> None:
        super().__init__(model, request, inputs)
        self.part = ChildPartStruct()
        self.deadline: float | None = None

    @abstractmethod
    def connect(self) -> None:
        """Reach the other process, or start it."""

    @abstractmethod
    def write(self, content: bytes) -> None:
        """Send bytes to it."""

    @abstractmethod
    def read_frame(self) -> tuple[int, bytes]:
        """Kind and content of the next frame that it sends."""

    @abstractmethod
    def alive(self) -> AbstractContextManager[None]:
        """It may die at any time; where its time is up, it is left."""

    @abstractmethod
    def refused(self, words: str) -> PliantError:
        """It cannot do what it was asked for."""

    # ------------------------------------------------------------------------------------------------ sending

    def begin(self) -> None:
        """Send what to simulate: start values are found there, too."""
        if self.request.timeout is not None:
            self.deadline = time.perf_counter() + self.request.timeout
        self.search = self.prepare_start()
        self.told.begun = True
        self._check_copies()
        self.connect()
        with self.alive():
            self.send()

    def send(self) -> None:
        """All of it at once."""
        self.write(packed(self.frames()) + HEAD.pack(GO, 0))

    def frames(self) -> dict[int, Any]:
        """What to simulate, by kind of frame."""
        setup, model, request, options = self.head.setup, self.model, self.request, self.request.options
        run: runtime.RunOptionsStruct = setup.run
        number = {address: runtime.METHODS[name] for name, address in runtime.METHOD_ADDRESSES.items()}
        curvature, asked = options.curvature_of(model), setup.request
        said: dict[int, Any] = {
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

    # ----------------------------------------------------------------------------------------------- receiving

    def advance(self, steps: int) -> None:
        """Wait for what is sent next. ``steps``: how many are taken at once is the other process' own matter."""
        kind, content = 0, b""
        with self.alive():
            kind, content = self.read_frame()
            if kind == INPUTS:
                self._answer_inputs(content)
        if self.left or kind == INPUTS:  # its time is up, which the caller's clock says, too
            return
        if kind == PART:
            self._take_part(content)
            return
        if kind == STARTED:
            self._take_start(content)
            return
        if kind == WORDS:
            self.heard(content.decode(errors="replace"))
            return
        if kind == TOLD:
            t, warns, external = TOLD_HEAD.unpack_from(content)
            self.hear(t, content[TOLD_HEAD.size :], warns=bool(warns), external=bool(external))
            return
        if kind == REFUSED:
            raise self.refused(content.decode(errors="replace"))
        status = WORD.unpack_from(content)[0]
        image = np.frombuffer(content, dtype=np.uint8, offset=WORD.size).copy()
        self._restore(image)
        if kind == DOUBT:
            self.check_pattern()  # raises, unless the pattern is right after all
            with self.alive():
                self.write(HEAD.pack(ANSWER, WORD.size) + WORD.pack(1))
            return
        self.ended = True
        self.search.finish()
        self.went(int(status))

    def _take_start(self, content: bytes) -> None:
        """How start values were found, or why there are none."""
        status = WORD.unpack_from(content)[0]
        report = StartReportStruct.from_buffer_copy(content, WORD.size)
        lists = np.frombuffer(content, dtype=np.int32, offset=WORD.size + ctypes.sizeof(report)).copy()
        self.lists = np.append(lists, 0)
        report.undetermined = runtime.address_of(self.lists)
        report.redundant = report.undetermined + 4 * report.n_undetermined
        report.loop = -1
        ctypes.memmove(ctypes.addressof(self.head.report), ctypes.addressof(report), ctypes.sizeof(report))
        if status != runtime.OK:
            raise self.no_start(status)

    def no_start(self, status: int) -> PliantError:
        """There are no start values."""
        return self.search.error(status) or failure_error(self, status, None)

    def heard(self, words: str) -> None:
        """What the model says about a failure."""

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
        self.write(WORD.pack(status) + u.tobytes())

    def flush(self) -> None:
        """A last row, where the state is known."""
        if self.ended:
            super().flush()


def _plain(array: NDArray[Any]) -> NDArray[np.float64]:
    return np.ascontiguousarray(array, dtype=np.float64)


def _at(address: int | None, count: int) -> NDArray[np.float64] | None:
    return runtime.doubles_at(address, count) if address and count else None
