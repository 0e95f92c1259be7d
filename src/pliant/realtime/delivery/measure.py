"""How long a step takes here, in a real-time loop of its own process; the worst step is the deadline that holds.

The step wakes at the times of an absolute timer; wall time between two readings of the clock is a sample, with nothing
but the step (and its monitor) between. On computers that others use too, slow samples need not be slow steps. Four
further figures separate them; none of them replaces ``maximum``:

    maximum_undisturbed   without samples during which the system or a hypervisor is known to have taken the core away
    repeatable            each step of the scenario occurs many times: the largest of their medians
    control_maximum       constant work in registers, as long as a step, timed after every fourth wake-up instead of a
                          step: what the machine itself adds
    cold                  the first step of the process, after the caches were filled with other data
"""

from __future__ import annotations

import math
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pliant.arguments import is_whole
from pliant.calls import by_keyword_class
from pliant.compiling.compiler import INSTALL, find_compiler
from pliant.errors import ArgumentError, CompileError, ModelEvaluationError, OutputError, PliantError, SimulationTimeout
from pliant.realtime.code.run import STEP_FLAGS
from pliant.realtime.delivery.measure_text import PROGRAM
from pliant.realtime.delivery.recorded import scenario_inputs

if TYPE_CHECKING:
    from pliant.realtime.code.make import StepCode
    from pliant.realtime.plan import Plan

FEW, MANY, WANTED = 100, 100_000_000, 1_000_000  # steps: least, most, from which on a maximum means something
BINS = 120
CONTROL_EVERY = 4  # one piece of constant work after so many steps, as the program does it
FALLEN_SHARE = 10  # one in so many steps is timed with the fallback taken
PATIENCE = 120.0  # seconds beyond what a run should take
WAIT = 0.05  # seconds between looks at the program
Samples = NDArray[np.float64]


@by_keyword_class
@dataclass(frozen=True, eq=False)
class Timing:
    """Times of single steps in seconds, measured on this computer.

    n_steps, period       steps taken, and the time between their starts that was requested
    minimum .. maximum    wall time of a step: median, 99 %, 99.9 %
    cold                  the first step, with cold caches; part of the maximum
    overruns, late        steps longer than the step size of the plan, and longer than the period
    deadline              the worst step, fallback included: the deadline that holds
    maximum_undisturbed   without the ``disturbed`` steps, during which the core was interrupted
    repeatable            the largest median over the repetitions of one and the same step of the scenario
    control_maximum       constant work as long as a step, timed in the same way: what the machine itself adds
    latency_median, latency_maximum    from the time wanted to the start of the step
    fallback_median, fallback_maximum  a step that falls back to the full pattern; None without fallback
    histogram_edges, histogram_counts  bins of equal ratio
    notes                 what was allowed on this computer, and what was not
    """

    n_steps: int
    _: KW_ONLY
    period: float
    minimum: float
    median: float
    p99: float
    p999: float
    maximum: float
    cold: float
    overruns: int
    late: int
    deadline: float
    maximum_undisturbed: float
    disturbed: int
    repeatable: float
    control_maximum: float
    latency_median: float
    latency_maximum: float
    fallback_median: float | None
    fallback_maximum: float | None
    monitor_included: bool
    real_time: bool
    histogram_edges: Samples = field(repr=False)
    histogram_counts: NDArray[np.int64] = field(repr=False)
    notes: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """For machines."""
        out = {one.name: getattr(self, one.name) for one in fields(self)}
        out["histogram_edges"] = [float(x) for x in self.histogram_edges]
        out["histogram_counts"] = [int(x) for x in self.histogram_counts]
        out["notes"] = list(self.notes)
        return {name: None if isinstance(x, float) and not math.isfinite(x) else x for name, x in out.items()}

    def rows(self) -> list[tuple[str, str]]:
        """Figures in words, for tables."""
        out = [
            ("minimum", micro(self.minimum)),
            ("median", micro(self.median)),
            ("99 %", micro(self.p99)),
            ("99.9 %", micro(self.p999)),
            ("maximum", micro(self.maximum)),
            ("cold start", micro(self.cold)),
            (f"maximum without {self.disturbed} disturbed steps", micro(self.maximum_undisturbed)),
        ]
        if math.isfinite(self.repeatable):
            out.append(("slowest step of the scenario, median of its repetitions", micro(self.repeatable)))
        out.append(("constant work as long as a step, maximum", micro(self.control_maximum)))
        if self.fallback_maximum is not None and self.fallback_median is not None:
            out.append(("with fallback, median", micro(self.fallback_median)))
            out.append(("with fallback, maximum", micro(self.fallback_maximum)))
        out.append(("start of a step after its time, median", micro(self.latency_median)))
        out.append(("start of a step after its time, maximum", micro(self.latency_maximum)))
        out.append(("steps longer than the step size", str(self.overruns)))
        return out

    def __str__(self) -> str:
        rows = self.rows()
        width = max(len(name) for name, _ in rows)
        lines = [f"{self.n_steps} steps, one every {micro(self.period)}"]
        lines += [f"  {name:<{width}}  {value:>12}" for name, value in rows]
        lines += [f"deadline that holds: {micro(self.deadline)}", *(f"  - {one}" for one in self.notes)]
        return "\n".join(lines)


def micro(seconds: float) -> str:
    """Seconds as text in microseconds."""
    return f"{1e6 * seconds:.2f} us" if seconds < 1e-3 else f"{1e6 * seconds:.0f} us"


# ------------------------------------------------------------------------------------------------- the program


def measure_plan(
    plan: Plan,
    steps: int = WANTED,
    progress: Callable[[float], object] | None = None,
    period: float | None = None,
    core: int | None = None,
) -> Timing:
    """Time the step of a plan in a process of its own.

    steps     number of samples
    progress  called with the share that is done
    period    seconds between the starts of steps; None: short, so that a million steps do not take as long as they
              would in operation
    core      number of the core to run on; None: the last one allowed
    """
    count = _whole("steps", steps, FEW, MANY)
    if period is not None and not (isinstance(period, (int, float)) and 1e-6 <= period <= 1e3):
        raise ArgumentError(
            f"period = {period!r} is not valid", hint="seconds from 1e-6 to 1000, e.g. period=plan.step"
        )
    chosen = _core(core)
    fallen = max(FEW, count // FALLEN_SHARE) if plan.code.options.fallback else 0
    told, samples, rows = run_program(plan, (count, fallen), progress, period, chosen)
    return _timing(plan, told, samples, (count, fallen, rows), period)


def run_program(
    plan: Plan, counts: tuple[int, int], progress: Callable[[float], object] | None, period: float | None, core: int
) -> tuple[dict[str, list[float]], NDArray[np.uint8], int]:
    """Compile and run: what the program printed, its samples, and the number of steps of the scenario."""
    code = plan.code
    count, fallen = counts
    rows, inputs = scenario_inputs(plan)
    with _folder() as folder:
        program = _compile(code, folder)
        source = "-"
        if code.u_names:
            source = str(folder / "inputs.bin")
            np.vstack([inputs.start[None, :], inputs.before]).tofile(source)
        wanted = 0 if period is None else round(1e9 * period)
        command = [str(program), str(count), str(wanted), str(round(1e9 * plan.step)), str(core), str(fallen)]
        command += [str(rows), source, str(folder / "samples.bin")]
        before = _stolen(core)
        told = _Run(command, folder, count + fallen, progress).finish()
        told["stolen"] = [_stolen(core) - before]
        return told, np.fromfile(folder / "samples.bin", dtype=np.uint8), rows


def _whole(name: str, value: Any, low: int, high: int) -> int:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not is_whole(value) or not low <= value <= high:
        raise ArgumentError(
            f"{name} must be a whole number between {low} and {high}, not {value!r}",
            hint="leave it out",
        )
    return int(value)


def _core(core: int | None) -> int:
    allowed = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    if core is None:
        return allowed[-1] if allowed else -1
    number = _whole("core", core, 0, 1 << 16)
    if allowed and number not in allowed:
        raise ArgumentError(f"core {number} may not be used here", hint=f"one of {', '.join(map(str, allowed))}")
    return number


@contextmanager
def _folder() -> Iterator[Path]:
    try:
        with tempfile.TemporaryDirectory(prefix="pliant-measure-") as name:
            yield Path(name)
    except PliantError:
        raise
    except OSError as error:
        raise OutputError(
            f"the timing program could not be written or its samples not be read: {error}",
            hint="free some space in the folder for temporary files, or set TMPDIR to another one",
        ) from error


def _compile(code: StepCode, folder: Path) -> Path:
    compiler = find_compiler()
    watch = 2 if code.options.fallback else 1 if code.options.monitor else 0
    (folder / f"{code.name}.h").write_text(code.header, encoding="utf-8")
    (folder / f"{code.name}.c").write_text(code.text, encoding="utf-8")
    main = PROGRAM.replace("@N@", code.name).replace("@WATCH@", str(watch))
    main = main.replace("@FIRST@", "m.x[0]" if code.n_x else "m.step")
    (folder / "pliant_timing_main.c").write_text(main, encoding="utf-8")
    program = folder / ("timing.exe" if sys.platform == "win32" else "timing")
    flags = [one for one in STEP_FLAGS if one != "-fPIC"]
    sources = [str(folder / f"{code.name}.c"), str(folder / "pliant_timing_main.c")]
    try:
        done = subprocess.run(
            [*compiler, *flags, "-o", str(program), *sources, "-lm"], capture_output=True, check=False
        )
    except OSError as error:
        raise CompileError(f"the C compiler could not be started: {error}", hint=INSTALL) from error
    if done.returncode != 0:
        text = done.stderr.decode(errors="replace").strip()
        raise CompileError(
            f"the C compiler refuses the timing program of {code.name}:\n{text}",
            hint="check $CC: another compiler may take it",
        )
    return program


class _Run:
    """The running program: its progress is read, and it is ended in any case."""

    def __init__(
        self, command: list[str], folder: Path, steps: int, progress: Callable[[float], object] | None
    ) -> None:
        self.command, self.steps, self.progress = command, steps, progress
        self.output = folder / "told.txt"

    def finish(self) -> dict[str, list[float]]:
        """What the program printed, by its first words."""
        with self.output.open("wb") as out:
            try:
                # a session of its own: Ctrl-C reaches this process, which then ends the program
                child = subprocess.Popen(
                    self.command,
                    stdout=out,
                    stderr=subprocess.STDOUT,
                    stdin=subprocess.DEVNULL,
                    start_new_session=True,
                    env={**os.environ, "LD_BIND_NOW": "1"},  # the first step must not look for its functions
                )
            except OSError as error:
                raise CompileError(
                    f"the timing program could not be started: {error}",
                    hint="programs may not be run in the folder for temporary files: set TMPDIR to another one",
                ) from error
            try:
                self._watch(child)
            finally:
                if child.poll() is None:
                    child.kill()
                child.wait()
        told = self._told()
        if child.returncode != 0 or "done" not in told:
            raise self._failure(child.returncode)
        return told

    def _told(self) -> dict[str, list[float]]:
        lines = [line.split() for line in self.output.read_text(errors="replace").splitlines()]
        return {line[0]: [float(x) for x in line[1:]] for line in lines if len(line) > 1}

    def _watch(self, child: subprocess.Popen[bytes]) -> None:
        begin = time.monotonic()
        started, expected = begin, 0.0
        while child.poll() is None:
            now = time.monotonic()
            if expected == 0.0:
                pace = self._told().get("pace", [0.0])[0]
                started, expected = now, 1e-9 * pace * self.steps * (1.0 + 1.0 / CONTROL_EVERY)
            elif self.progress is not None:
                self.progress(min((now - started) / expected, 0.99))
            if now - begin > PATIENCE + 10.0 * expected:
                raise SimulationTimeout(
                    f"the timing program did not end within {now - begin:.0f} s",
                    hint="fewer steps, or a computer that is less busy",
                )
            time.sleep(WAIT)
        if self.progress is not None and child.returncode == 0:
            self.progress(1.0)

    def _failure(self, code: int) -> PliantError:
        if code < 0:
            return ModelEvaluationError(
                f"the timing program was ended by signal {-code}", hint="measure with fewer steps: memory may be short"
            )
        if code == 4:
            return ArgumentError("there is not enough memory for so many samples", hint="fewer steps")
        if code == 5:
            return ModelEvaluationError(
                "the step cannot be initialised: an expression of parameters is divided by zero",
                hint="plan with parameters that keep denominators away from zero",
            )
        if code in (3, 6):
            return OutputError(
                "the timing program could not read or write its files",
                hint="free some space in the folder for temporary files, or set TMPDIR to another one",
            )
        return ModelEvaluationError(
            f"the timing program ended with exit code {code}",
            hint="set $CC to another compiler",
        )


# ------------------------------------------------------------------------------------------------- its samples


@dataclass(frozen=True, eq=False)
class _Samples:
    duration: Samples  # seconds, without the cost of the clock
    latency: Samples
    control: Samples
    disturbed: NDArray[np.bool_]


def _read(raw: NDArray[np.uint8], n: int, clock: float) -> _Samples:
    parts = (raw[4 * n * k : 4 * n * (k + 1)].view(np.uint32) for k in range(3))
    first, second, third = (1e-9 * part.astype(np.float64) for part in parts)
    control = third[::CONTROL_EVERY]
    return _Samples(
        np.maximum(first - clock, 0.0), second, np.maximum(control - clock, 0.0), raw[12 * n : 13 * n].astype(bool)
    )


def repeated_maximum(duration: Samples, rows: int) -> float:
    """The largest median over the repetitions of one step of the scenario; sample 0 is the cold start, left out."""
    times = (len(duration) - 1) // rows
    if times < 5:
        return math.nan
    return float(np.median(duration[1 : 1 + times * rows].reshape(times, rows), axis=0).max())


def _timing(
    plan: Plan, told: dict[str, list[float]], raw: NDArray[np.uint8], sizes: tuple[int, int, int], asked: float | None
) -> Timing:
    count, fallen, rows = sizes
    clock = 1e-9 * told["clock"][0]
    main = _read(raw[: 13 * count], count, clock)
    fallback = _read(raw[13 * count :], fallen, clock) if fallen else None
    d = main.duration
    undisturbed = d[~main.disturbed]
    period = 1e-9 * told["period"][0]
    low, high = max(float(d.min()), 1e-9), float(d.max())
    edges = np.geomspace(low * 0.999, max(high, low * 1.01) * 1.001, BINS + 1)
    counts = np.histogram(np.maximum(d, low), edges)[0].astype(np.int64)
    minimum, median, p99, p999, maximum = (float(x) for x in np.quantile(d, [0.0, 0.5, 0.99, 0.999, 1.0]))
    worst = None if fallback is None else float(fallback.duration.max())
    return Timing(
        n_steps=count,
        period=period,
        minimum=minimum,
        median=median,
        p99=p99,
        p999=p999,
        maximum=maximum,
        cold=float(d[0]),
        overruns=int((d > plan.step).sum()),
        late=int((d > period).sum()),
        deadline=max(maximum, worst or 0.0),
        maximum_undisturbed=float(undisturbed.max()) if len(undisturbed) else math.nan,
        disturbed=int(main.disturbed.sum()),
        repeatable=repeated_maximum(d, rows),
        control_maximum=float(main.control.max()),
        latency_median=float(np.median(main.latency)),
        latency_maximum=float(main.latency.max()),
        fallback_median=None if fallback is None else float(np.median(fallback.duration)),
        fallback_maximum=worst,
        monitor_included=plan.code.options.monitor,
        real_time=told["priority"][0] == 0,
        histogram_edges=edges,
        histogram_counts=counts,
        notes=(*_notes(plan, told, count, asked), *_company(main, median)),
    )


def _company(main: _Samples, median: float) -> list[str]:
    """Slow steps beside slow constant work: is it the step, or the machine?"""
    limit = 10.0 * median
    steps, control = (main.duration > limit).mean(), (main.control > limit).mean()
    return [
        f"{100 * steps:.2g} % of the steps took more than ten times the median; so did {100 * control:.2g} % of "
        f"{len(main.control)} pieces of constant work of the same length, timed in the same way"
    ]


def _notes(plan: Plan, told: dict[str, list[float]], count: int, asked: float | None) -> list[str]:
    """What was allowed, and what was not."""
    get = {name: values[0] for name, values in told.items()}
    out = []
    if asked is None:
        really = micro(1e-9 * get["elapsed"] / count)
        out.append(
            f"steps follow each other every {micro(1e-9 * get['period'])} (really {really} on average), not every "
            f"{plan.step:g} s, so that the measurement is short; period=plan.step measures at the real rate"
        )
    if count < WANTED:
        out.append(f"only {count} steps: the maximum over a million may be larger")
    out.append(
        "real-time priority (SCHED_FIFO)"
        if get["priority"] == 0
        else "no real-time priority: not allowed or not known here; other programs delay steps"
    )
    out.append("memory locked" if get["locked"] == 0 else "memory not locked: not allowed or not known here")
    out.append(f"on core {get['pinned']:.0f}" if get["pinned"] >= 0 else "not bound to a core")
    if not get["timer"]:
        out.append("no absolute timer here: the time between steps is waited for in a loop")
    out.append(
        f"a reading of the clock costs {told['clock'][0]:.0f} ns (median {told['clock'][1]:.0f} ns, resolution "
        f"{told['clock'][2]:.0f} ns); the smaller figure is taken off"
    )
    if _is_virtual():
        out.append(
            f"a virtual machine: its host took the core away for {get.get('stolen', 0.0):.2f} s that it admits to"
        )
    if not math.isfinite(get["state"]):
        out.append("states are not finite at the end: times of such steps say little")
    if get["faults"]:
        out.append(f"{get['faults']:.0f} page faults during steps")
    out.append("monitor included" if plan.code.options.monitor else "no monitor")
    out.append(f"{_processor()}, {_compiler()}, {' '.join(one for one in STEP_FLAGS if one != '-fPIC')}")
    return out


def _stolen(core: int) -> float:
    """Seconds that the host of a virtual machine has taken from a core so far (Linux: the eighth figure, 1/100 s)."""
    try:
        lines = [line.split() for line in Path("/proc/stat").read_text().splitlines()]
    except OSError:
        return 0.0
    return next((float(one[8]) / 100.0 for one in lines if one and one[0] == f"cpu{core}" and len(one) > 8), 0.0)


def _is_virtual() -> bool:
    try:
        return "hypervisor" in Path("/proc/cpuinfo").read_text().split()
    except OSError:
        return False


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _compiler() -> str:
    done = subprocess.run([*find_compiler(), "--version"], capture_output=True, check=False, text=True)
    return done.stdout.splitlines()[0].strip() if done.stdout else " ".join(find_compiler())
