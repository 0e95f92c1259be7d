"""Tour: an FMU, from this package's own text, that runs, crashes and hangs in a process of its own."""

from __future__ import annotations

import subprocess
import tempfile
import time
import warnings
import zipfile
from pathlib import Path

import pliant
from pliant.compiling.compiler import find_compiler
from pliant.errors import CompileError
from pliant.fmi.platforms import folders_of, this_platform
from pliant.tour.section import MODELS, Code, FigureTable, Section, Text, count, picture, seconds

NAME = "room"


def example_fmu(path: str | Path) -> Path:
    """Compile and pack the FMU of the tour: a room with a heater and a thermostat, FMI 2.0, model exchange."""
    path = Path(path)
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / f"{NAME}.so"
        flags = ("-std=c99", "-O2", "-shared", "-fPIC", "-fvisibility=hidden")
        command = [*find_compiler(), *flags, "-o", str(library), str(MODELS / "thermostat.c")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise CompileError(f"the FMU of the tour cannot be compiled: {done.stderr}", hint="check the C compiler")
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.write(MODELS / "thermostat.xml", "modelDescription.xml")
            archive.write(library, f"binaries/{next(iter(folders_of(this_platform())))}/{NAME}.so")
    return path


def ending(model: pliant.Model, fault: float) -> tuple[str, str, str]:
    """How a run with a fault ends: error, call and time, as the table shows them."""
    begin = time.perf_counter()
    try:
        model.simulate(parameters={"fault": fault})
    except (pliant.FmuCrashError, pliant.FmuTimeoutError) as error:
        said = f"in {error.call} at t = {error.time:.3g} h"
        return type(error).__name__, said, seconds(time.perf_counter() - begin)
    return "none", "", seconds(time.perf_counter() - begin)


def fmus(folder: Path) -> Section:
    """Load, run, crash, hang, run again."""
    path = example_fmu(folder / f"{NAME}.fmu")
    with warnings.catch_warnings(), pliant.load(path, options={"call_timeout": 0.3}) as model:
        warnings.simplefilter("ignore")
        begin = time.perf_counter()
        result = model.simulate(inputs={"T_out": ([0.0, 6.0, 12.0], [5.0, -5.0, 5.0])})
        first = time.perf_counter() - begin
        runs = [model.simulate().stats.seconds for _ in range(5)]
        crash, hang = ending(model, 1.0), ending(model, 2.0)
        again = model.simulate().stats
        linear = model.linearize(inputs={"T_out": 5.0})
        log = [entry for entry in result.log if entry[2] == "switch"]
    lines = "\n".join(f"t = {t:6.3f} h  {text}" for t, _, _, text in log[:4])
    rows = [
        ["first run, starts its process", "", "", seconds(first)],
        ["further runs, fastest of five", "", "", seconds(min(runs))],
        ["it dereferences a null pointer", *crash],
        ["it does not return", *hang],
        [
            "the next run",
            "none",
            f"{count(again.n_steps)} steps, {count(again.n_events)} events",
            seconds(again.seconds),
        ],
    ]
    return Section(
        "fmus",
        "FMUs in, safely",
        "An FMU is foreign machine code. pliant runs it in a small process of its own, together with the solver, so "
        "that a step costs what it costs in C, and nothing that the FMU does ends your Python.",
        [
            Text(
                f"`{model!r}` was compiled and packed for this tour: a room, a heater, a thermostat. A crash and an "
                "endless loop are errors that name the last FMI call and its time."
            ),
            FigureTable(
                ("run", "error", "what is known", "time"), rows, "call_timeout is 0.3 s here, 10 s by default."
            ),
            Code(lines, "What the FMU said (result.log), first entries:", shown=True),
            Text(f"linearize asks the FMU, too: d der(T)/dT = {float(linear.A[0, 0]):.3g} per hour."),
            picture(result.plot("T", "T_out", "heats", show=False), "Temperatures, and the heater that switches."),
        ],
    )
