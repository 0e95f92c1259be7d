"""plan.measure(target=...): the step is built for a target, run there on the first scenario, and compared."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pliant.arguments import is_whole
from pliant.errors import ArgumentError, CompileError, ModelEvaluationError, OutputError, PliantError, SimulationTimeout
from pliant.realtime.code.run import Stepper
from pliant.realtime.delivery.recorded import scenario_inputs, sizes
from pliant.realtime.delivery.write import make_files
from pliant.realtime.stages.step import fixed_counts, write_code
from pliant.realtime.target.elf import ElfFile
from pliant.realtime.target.report import LIMIT, TargetReport
from pliant.realtime.target.stack import stack_bound
from pliant.realtime.target.targets import TICKS_PER_INSTRUCTION, Target, find_target, version_of

if TYPE_CHECKING:
    from pliant.realtime.code.make import StepCode
    from pliant.realtime.plan import Plan
    from pliant.realtime.scenario import StepInputs

FILES = Path(__file__).parent / "c"
FLAGS = ("-std=c99", "-O2", "-ffp-contract=off", "-fno-math-errno", "-fno-tree-slp-vectorize")
APART = ("-ffunction-sections", "-fdata-sections", "-fstack-usage")
MOST_STEPS = 1_000_000
_ONE = (
    *("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh"),
    *("exp", "log", "log10", "cbrt", "expm1", "log1p"),
)
FUNCTIONS = (*_ONE, "atan2", "pow", "fmod", "hypot")
STEP, INSIDE, CALLS, MONITOR, FULL = range(
    5
)  # numbers in front of each step: ticks; inside of functions instructions and calls


@dataclass(frozen=True, eq=False)
class _TargetRun:
    """What a run on the target wrote."""

    ticks: NDArray[np.uint32]  # (steps, 5)
    values: NDArray[np.float64]  # (steps, n_x + n_y)
    sizes: tuple[int, ...]  # of the instance, parameters, inputs, outputs
    stack: int
    nothing: int  # instructions of a counted function that does nothing

    def of(self, column: int) -> NDArray[np.int64]:
        """Instructions; that of the return from what is called is one more than the difference to an empty call."""
        out: NDArray[np.int64] = np.rint(self.ticks[:, column] / TICKS_PER_INSTRUCTION).astype(np.int64) + 1
        return out


def measure_on_target(
    plan: Plan, name: str, *, precision: str | None = None, steps: int | None = None, timeout: float = 120.0
) -> TargetReport:
    """Build, run, read, compare.

    precision   "float" or "double"; None: the plan's
    steps       at most so many of the first scenario; None: 1000
    timeout     seconds that each program may run
    """
    target = find_target(name)
    if not (precision is None or (isinstance(precision, str) and precision in ("double", "float"))):
        raise ArgumentError(f"precision {precision!r} is not known", hint='"double" or "float"')
    if steps is not None and not (is_whole(steps) and 1 <= steps <= MOST_STEPS):
        raise ArgumentError(
            f"steps must be a whole number from 1 to {MOST_STEPS}, not {steps!r}", hint="e.g. steps=1000"
        )
    if not (isinstance(timeout, (int, float)) and 0.0 < timeout < 1e6):
        raise ArgumentError(f"timeout = {timeout!r} is not valid", hint="seconds, e.g. timeout=120")
    chosen = _in_precision(plan, precision)
    code = chosen.code
    count, inputs = scenario_inputs(chosen)
    count = min(count, 1000 if steps is None else steps)
    inputs = inputs.first(count)
    with _folder() as folder:
        builder = _TargetBuild(target, code, folder, timeout)
        builder.write(make_files(chosen))
        step = builder.compile_step()
        run = builder.run_steps(inputs, count, functions=False)
        functions = builder.run_steps(inputs, count, functions=True) if target.counts else None
        passed = builder.run_selftest()
        roots = tuple(f"{code.name}_{one}" for one in ("step_jump", "step", "monitor", "step_full", "step_guarded"))
        bound = stack_bound(step, folder / "step.su", roots)
    difference, worst = _difference(plan, code, inputs, run.values)
    notes = [LIMIT] if target.counts else ["instructions are not counted on this target"]
    if bound.bytes is None:
        notes.append(f"static stack: {bound.why}")
    elif bound.outside:
        notes.append(f"static stack: without the functions of libraries {', '.join(bound.outside)}")
    if count < scenario_inputs(chosen)[0]:
        notes.append(f"the first {count} steps of the scenario")
    return TargetReport(
        target=target.name,
        processor=target.processor,
        precision=code.precision,
        steps=count,
        **_instructions(code, run, functions),
        code_bytes=step.size(code=True),
        constant_bytes=step.size(constants=True),
        data_bytes=step.size(data=True) + sum(run.sizes),
        stack_bytes=run.stack,
        stack_static=bound.bytes,
        difference=difference,
        worst=worst,
        selftest=passed,
        compiler=version_of(target.compiler[0]) if target.is_bare else "zig cc",
        emulator=version_of(target.emulator[0]),
        notes=tuple(notes),
    )


def _in_precision(plan: Plan, precision: str | None) -> Plan:
    """The plan, with its step in this precision."""
    code = plan.code
    if precision in (None, code.precision):
        return plan
    kind = type(plan)
    made = write_code(plan.outcome, precision, *fixed_counts(code))
    return kind(plan.outcome, evidence=plan.evidence, code=made)


def _instructions(code: StepCode, run: _TargetRun, functions: _TargetRun | None) -> dict[str, int | None]:
    if functions is None:
        names = ("min", "max", "functions", "total", "monitor", "full")
        return {f"instructions_{name}": None for name in names}
    total, calls = run.of(STEP), functions.ticks[:, CALLS].astype(np.int64)
    inside = functions.ticks[:, INSIDE].astype(np.int64) - calls * (functions.nothing - 1)
    own = total - inside
    return {
        "instructions_min": int(own.min()),
        "instructions_max": int(own.max()),
        "instructions_functions": int(inside.max()),
        "instructions_total": int(total.max()),
        "instructions_monitor": int(run.of(MONITOR).max()) if code.options.monitor else None,
        "instructions_full": int(run.of(FULL).max()) if code.options.fallback else None,
    }


def _difference(plan: Plan, code: StepCode, inputs: StepInputs, found: NDArray[np.float64]) -> tuple[float, str]:
    """Largest distance to the desktop's run in double precision, and whose it is."""
    exact = code if code.precision == "double" else write_code(plan.outcome, "double", *fixed_counts(code))
    wide = inputs.as_type(np.float64)
    stepper = Stepper(exact)
    stepper.reset(u=wide.start)
    rows = []
    for k in range(len(found)):
        x = stepper.run(wide.before[k : k + 1], 1, history=False, after=wide.after[k : k + 1])
        y = stepper.outputs(wide.after[k] if code.u_names else None) if code.y_names else np.empty(0)
        rows.append(np.concatenate([np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)]))
    wanted = np.array(rows)
    if wanted.size == 0:
        return 0.0, ""
    away = (np.abs(found - wanted) / sizes(wanted)).max(axis=0)
    if not np.isfinite(away).all():
        bad = int(np.argmin(np.isfinite(away)))
        raise ModelEvaluationError(
            f"{(*code.x_names, *code.y_names)[bad]} is not finite on the target",
            hint="plan with precision='double', or give scenarios within the range of float",
        )
    k = int(away.argmax())
    return float(away[k]), (*code.x_names, *code.y_names)[k]


@contextmanager
def _folder() -> Iterator[Path]:
    try:
        with tempfile.TemporaryDirectory(prefix="pliant-target-") as name:
            yield Path(name)
    except PliantError:
        raise
    except OSError as error:
        raise OutputError(
            f"the program for the target could not be written or its results not be read: {error}",
            hint="free some space in the folder for temporary files, or set TMPDIR to another one",
        ) from error


class _TargetBuild:
    """Compiles in a folder and runs there."""

    def __init__(self, target: Target, code: StepCode, folder: Path, timeout: float) -> None:
        self.target, self.code, self.folder, self.timeout = target, code, folder, timeout
        self.objects: dict[str, Path] = {}

    def write(self, files: dict[str, str]) -> None:
        """The written folder, and what drives the step."""
        for name, text in files.items():
            (self.folder / name).write_text(text, encoding="utf-8")
        self.selftest = next(name for name in files if name.startswith("selftest") and name.endswith(".c"))

    def compile_step(self) -> ElfFile:
        """The step as it is shipped."""
        made = self.folder / "step.o"
        self._call([str(self.folder / f"{self.code.name}.c"), *APART, "-c", "-o", str(made)], "the step")
        return ElfFile(made)

    def _call(self, arguments: Sequence[str], what: str) -> None:
        shared = [one for one in self.target.flags if one != "-static" or "-c" not in arguments]
        command = [*self.target.compiler, *shared, *FLAGS, f"-I{self.folder}", f"-I{FILES}", *arguments]
        try:
            done = subprocess.run(command, capture_output=True, check=False, cwd=self.folder)
        except OSError as error:
            raise CompileError(f"{command[0]} could not be started: {error}", hint="install it again") from error
        if done.returncode != 0:
            text = done.stderr.decode(errors="replace").strip()
            large = "will not fit" in text or "overflowed by" in text
            raise CompileError(
                f"the compiler of {self.target.name} refuses {what} of {self.code.name}:\n{text[:3000]}",
                hint="the board has 4 MiB for code and as much for data: plan fewer entries, or choose another target"
                if large
                else "install a newer compiler for the target",
            )

    def _link(self, name: str, sources: Sequence[str], more: Sequence[str]) -> Path:
        program = self.folder / name
        own = ["-nostartfiles", "-T", str(FILES / "mps2_an500.ld"), str(FILES / "bare_arm.c")]
        around = own if self.target.is_bare else [str(FILES / "hosted.c")]
        gone = ["-ffunction-sections", "-fdata-sections", "-Wl,--gc-sections"]
        arguments = [*sources, *more, *around, *gone, str(self.folder / "step.o"), "-lm", "-o", str(program)]
        self._call(arguments, "the program around the step")
        return program

    def _defines(self, count: int, functions: bool) -> list[str]:
        c = self.code
        return [
            f"-DSTEP={c.name}",
            f'-DSTEP_HEADER="{c.name}.h"',
            f"-DN_X={c.n_x}",
            f"-DN_U={len(c.u_names)}",
            f"-DN_Y={len(c.y_names)}",
            f"-DN_STEPS={count}L",
            f"-DHAS_MONITOR={int(c.options.monitor)}",
            f"-DHAS_FALLBACK={int(c.options.fallback)}",
            f"-DCOUNT_FUNCTIONS={int(functions)}",
            f"-DTICKS_PER_TEN={round(10 * TICKS_PER_INSTRUCTION)}u",
        ]

    def run_steps(self, inputs: StepInputs, count: int, functions: bool) -> _TargetRun:
        """Steps with these inputs; ``functions``: with elementary functions counted."""
        if self.code.u_names:
            rows = np.stack([inputs.before, inputs.after], axis=1).reshape(2 * count, -1)
            np.vstack([inputs.start[None, :], rows]).tofile(self.folder / "inputs.bin")
        more = self._defines(count, functions)
        if functions:
            more += [f"-Wl,--wrap={name}{kind}" for name in FUNCTIONS for kind in ("", "f")]
        sources = [str(FILES / "drive.c"), str(FILES / "functions.c")]
        self._execute(self._link("drive.elf", sources, more), "the step")
        kind = np.dtype(np.float64 if self.code.precision == "double" else np.float32)
        width = self.code.n_x + len(self.code.y_names)
        row = np.dtype([("ticks", np.uint32, (FULL + 1,)), ("values", kind, (width,))])
        steps = np.fromfile(self.folder / "steps.bin", dtype=row)
        summary = [int(one) for one in np.fromfile(self.folder / "summary.bin", dtype=np.uint32)]
        if len(steps) != count or len(summary) != 6:
            raise OutputError(
                f"{len(steps)} of {count} steps came back from the target",
                hint="free some space in the folder for temporary files, or set TMPDIR to another one",
            )
        return _TargetRun(steps["ticks"], steps["values"].astype(np.float64), tuple(summary[:4]), *summary[4:])

    def run_selftest(self) -> bool:
        """The self-test of the written folder."""
        more = ["--specs=rdimon.specs"] if self.target.is_bare else []
        program = self._link("selftest.elf", [str(self.folder / self.selftest)], more)
        code, said = self._start(program, "the self-test")
        return code == 0 and b"all checks passed" in said

    def _start(self, program: Path, what: str) -> tuple[int, bytes]:
        command = [*self.target.emulator, str(program)]
        try:
            done = subprocess.run(
                command,
                capture_output=True,
                check=False,
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                timeout=self.timeout,
                start_new_session=True,
            )
        except subprocess.TimeoutExpired as error:
            raise SimulationTimeout(
                f"{what} of {self.code.name} did not end on {self.target.name} within {self.timeout:g} s",
                hint="a longer timeout=, or fewer steps=",
            ) from error
        except OSError as error:
            raise CompileError(f"{command[0]} could not be started: {error}", hint="install it again") from error
        return done.returncode, done.stdout + done.stderr

    def _execute(self, program: Path, what: str) -> None:
        code, said = self._start(program, what)
        if code == 0:
            return
        if code == 5:
            raise ModelEvaluationError(
                f"{self.code.name} cannot be initialised on {self.target.name}: a divisor made of parameters is zero",
                hint="plan with parameters that keep denominators away from zero",
            )
        text = said.decode(errors="replace").strip()[:2000]
        raise ModelEvaluationError(
            f"{what} of {self.code.name} ended with status {code} on {self.target.name}"
            + (" (a processor fault)" if code == 125 else "")
            + (f":\n{text}" if text else ""),
            hint="run the written folder's self-test on the target to see more",
        )
