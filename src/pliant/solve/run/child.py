"""A simulation in a process of its own: ``options={"process": "child"}``.

The child loads the same runtime and the same compiled model. One that dies takes nothing with it but itself.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pliant.compiling.compiler import build_program
from pliant.compiling.folders import runtime_folder
from pliant.errors import ArgumentError, PliantError, ProcessError
from pliant.solve.binding import runtime
from pliant.solve.models.numeric import NumericModel
from pliant.solve.options import Request
from pliant.solve.run.remote import HEAD, LIBRARY, RemoteSimulation
from pliant.solve.run.simulation import Simulation

CHUNK = 1 << 20
WAIT = 5.0  # seconds for a child that has closed its pipe to end


#: programs that were found, by their names and the cache folder
_found: dict[tuple[str, str | None], Path] = {}


def program(name: str = "pliant_child") -> Path:
    """A program of the runtime: built with the package, else when first needed."""
    key = name, os.environ.get("PLIANT_CACHE")
    path = _found.get(key)
    if path is None or not path.is_file():
        path = _found[key] = _program(name)
    return path


def _program(name: str) -> Path:
    folder = runtime_folder()
    built = folder / (f"{name}.exe" if sys.platform == "win32" else name)
    if built.is_file():
        return built
    source = Path("programs", f"{name}.c")
    sources = (folder / source, Path(__file__).parents[4] / "runtime" / "host" / source)
    return build_program(next((one for one in sources if one.is_file()), sources[0]))


class ChildSimulation(RemoteSimulation):
    """A simulation in a child process, which ends with it."""

    process: subprocess.Popen[bytes] | None = None

    def __init__(self, model: NumericModel, request: Request, inputs: Any) -> None:
        path = model.library_path
        if path is None:
            raise ArgumentError(
                f"option process: {model.name} is made of Python functions, which no other process can call",
                hint="leave process out, or write the model in Modelica or C",
            )
        super().__init__(model, request, inputs)
        self.library_path = path

    def connect(self) -> None:
        """Start the child."""
        self.process = subprocess.Popen(
            [str(program()), str(runtime.library_path())], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
        )

    def frames(self) -> dict[int, Any]:
        """What to simulate, and the library of the model."""
        return {LIBRARY: os.fsencode(self.library_path), **super().frames()}

    def write(self, content: bytes) -> None:
        """Send bytes."""
        assert self.process is not None
        assert self.process.stdin is not None
        rest = memoryview(content).cast("B")
        while rest:
            rest = rest[os.write(self.process.stdin.fileno(), rest[:CHUNK]) :]

    def read_frame(self) -> tuple[int, bytes]:
        """The next frame."""
        kind, size = HEAD.unpack(self._read(HEAD.size))
        return kind, self._read(size)

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

    def refused(self, words: str) -> PliantError:
        """The library cannot be loaded, mostly."""
        return ProcessError(
            f"the child process cannot simulate {self.model.name}: {words}",
            hint="leave the option process out, or set PLIANT_CACHE to a folder that is not cleaned during the run",
        )

    def no_start(self, status: int) -> PliantError:
        """Why there are no start values is found out here, once more."""
        Simulation.begin(self)
        return ProcessError(
            f"the child process finds no start values of {self.model.name}, but this one does",
            hint="the model depends on earlier calls: check the external code that it calls",
        )

    # -------------------------------------------------------------------------------------------------- the end

    @contextlib.contextmanager
    def alive(self) -> Iterator[None]:
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

    def close(self) -> None:
        """End the child, whatever it does."""
        process, self.process = self.process, None
        self.left = True
        if process is None:
            return
        if process.poll() is None and not self.ended:
            process.kill()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        process.wait()
