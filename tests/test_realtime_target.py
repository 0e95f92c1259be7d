"""Steps on an emulated processor: instructions against a trace, sizes, stack, trajectory, and what can go wrong."""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
import stat
import subprocess
from pathlib import Path

import numpy as np
import pytest
from support_written import small_plan

import pliant
from pliant.compiling.compiler import find_compiler
from pliant.realtime.delivery.recorded import scenario_inputs
from pliant.realtime.delivery.write import make_files
from pliant.realtime.target import measure, targets
from pliant.realtime.target.elf import ElfFile
from pliant.realtime.target.report import TargetReport
from pliant.realtime.target.stack import stack_bound

TOOLS = ("arm-none-eabi-gcc", "qemu-system-arm")
needs_arm = pytest.mark.skipif(
    any(shutil.which(one) is None for one in TOOLS), reason=f"{' and '.join(TOOLS)} are not installed"
)
STEPS = 60


@pytest.fixture(scope="module")
def found() -> TargetReport:
    out = small_plan(monitor="fallback").measure(STEPS, target="cortex-m7")
    assert isinstance(out, TargetReport)
    return out


@needs_arm
def test_report(found: TargetReport) -> None:
    assert found.instructions_min is not None
    assert found.instructions_max is not None
    assert found.instructions_functions is not None
    assert found.instructions_total is not None
    assert 100 < found.instructions_min <= found.instructions_max < 20_000
    assert found.instructions_functions > 50, "sin is called"
    assert found.instructions_max <= found.instructions_total <= found.instructions_max + found.instructions_functions
    assert found.instructions_monitor
    assert found.instructions_full
    assert found.instructions_full > found.instructions_min, "all entries cost more"
    assert found.selftest
    assert 0.0 <= found.difference < 1e-9
    assert 500 < found.code_bytes < 100_000
    assert found.data_bytes > 8 * 5
    assert found.stack_static
    assert found.stack_static < 10_000, "of a step that falls back, too"
    assert 96 < found.stack_bytes < 10_000
    assert any("cycles" in one for one in found.notes)
    assert json.loads(json.dumps(found.as_dict()))["steps"] == STEPS
    assert f"{found.code_bytes} bytes" in str(found)


@needs_arm
def test_float_is_near_double(found: TargetReport) -> None:
    single = small_plan().measure(STEPS, target="cortex-m7", precision="float")
    assert isinstance(single, TargetReport)
    assert single.precision == "float"
    assert 1e-12 < single.difference < 1e-3
    assert single.data_bytes < found.data_bytes


@needs_arm
def test_instructions_are_those_of_a_trace(tmp_path: Path) -> None:
    plan = small_plan(monitor="off")
    code = plan.code
    builder = measure._TargetBuild(targets.find_target("cortex-m7"), code, tmp_path, 60.0)
    builder.write(make_files(plan))
    builder.compile_step()
    inputs = scenario_inputs(plan)[1].first(2)
    run = builder.run_steps(inputs, 2, functions=False)
    program = tmp_path / "drive.elf"
    emulator = builder.target.emulator
    log = ["-singlestep", "-d", "exec,nochain", "-D", str(tmp_path / "trace")]
    subprocess.run([*emulator[:-1], *log, emulator[-1], str(program)], cwd=tmp_path, timeout=60, check=True)
    symbols = ElfFile(program).symbols
    first = next(one.value & ~1 for one in symbols if one.name == f"{code.name}_step_jump")
    callers = [
        range(one.value & ~1, (one.value & ~1) + one.size)
        for one in symbols
        if one.name.split(".")[0] in ("counted", "look_at_stack")
    ]
    seen: list[int] = []
    count = 0
    for at in re.findall(r"\[[0-9a-f]+/([0-9a-f]+)/", (tmp_path / "trace").read_text()):
        address = int(at, 16)
        if count and any(address in one for one in callers):
            seen.append(count)
            count = 0
        elif count or address == first:
            count += 1
    # two steps, and before each of them a trial whose use of the stack is measured
    assert len(seen) == 4
    assert np.array_equal(run.of(measure.STEP), seen[1::2])


def test_unknown_target_and_arguments() -> None:
    plan = small_plan()
    with pytest.raises(pliant.ArgumentError, match="no target 'cortex-m99'"):
        plan.measure(target="cortex-m99")
    with pytest.raises(pliant.ArgumentError, match="precision is for measuring on a target"):
        plan.measure(100, precision="float")
    with pytest.raises(pliant.ArgumentError, match="period and core"):
        plan.measure(100, target="cortex-m7", period=1e-3)


@needs_arm
@pytest.mark.parametrize(
    ("options", "words"),
    [({"precision": "half"}, "precision 'half'"), ({"steps": 0}, "steps must be"), ({"timeout": -1.0}, "timeout")],
)
def test_bad_arguments(options: dict[str, object], words: str) -> None:
    with pytest.raises(pliant.ArgumentError, match=words):
        small_plan().measure(target="cortex-m7", **options)  # type: ignore[call-overload]


def script(folder: Path, name: str, text: str) -> None:
    """A program that says this."""
    file = folder / name
    file.write_text(f"#!/bin/sh\necho '{text}'\n")
    file.chmod(file.stat().st_mode | stat.S_IXUSR)


def test_missing_and_old_tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    targets._answer.cache_clear()
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(pliant.CompileError, match=r"arm-none-eabi-gcc is needed.*not installed") as caught:
        small_plan().measure(target="cortex-m7")
    assert "apt install" in str(caught.value)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
    script(tmp_path, "arm-none-eabi-gcc", "4.9.3")
    with pytest.raises(pliant.CompileError, match="too old"):
        small_plan().measure(target="cortex-m7")
    targets._answer.cache_clear()
    script(tmp_path, "arm-none-eabi-gcc", "12.2.1")
    with pytest.raises(pliant.CompileError, match="no C library"):
        small_plan().measure(target="cortex-m7")
    targets._answer.cache_clear()


@needs_arm
def test_old_emulator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    targets._answer.cache_clear()
    script(tmp_path, "qemu-system-arm", "QEMU emulator version 2.5.0")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(pliant.CompileError, match="too old"):
        targets.find_target("cortex-m7")
    targets._answer.cache_clear()


@needs_arm
def test_program_that_does_not_end(tmp_path: Path) -> None:
    target = targets.find_target("cortex-m7")
    builder = measure._TargetBuild(target, small_plan().code, tmp_path, 0.5)
    script(tmp_path, "endless", "")
    (tmp_path / "endless").write_text("#!/bin/sh\nexec sleep 60\n")
    builder.target = dataclasses.replace(target, emulator=(str(tmp_path / "endless"),))
    with pytest.raises(pliant.SimulationTimeout, match=r"did not end on cortex-m7 within 0\.5 s"):
        builder._execute(tmp_path / "drive.elf", "the step")


CHAIN = """
double sin(double);
static __attribute__((noinline)) double deep(double x) { volatile double a[20]; a[3] = x; return sin(a[3]); }
__attribute__((noinline)) double middle(double x) { volatile double a[8]; a[2] = deep(x); return a[2] + 1.0; }
double shallow(double x) { return x + 1.0; }
const double table[4] = {1, 2, 3, 4};
static double counter[16];
double used(double x, int k) { counter[k] += table[k]; return middle(x) + counter[k] + 1.0; }
"""


def test_sizes_and_stack_of_an_object_file(tmp_path: Path) -> None:
    (tmp_path / "chain.c").write_text(CHAIN)
    flags = ["-O1", "-ffunction-sections", "-fdata-sections", "-fno-asynchronous-unwind-tables", "-fstack-usage"]
    subprocess.run([*find_compiler(), *flags, "-c", "chain.c", "-o", "chain.o"], cwd=tmp_path, check=True)
    file = ElfFile(tmp_path / "chain.o")
    assert file.calls()["used"] == {"middle"}
    assert file.calls()["middle"] == {"deep"}
    assert file.calls()["deep"] == {"sin"}
    assert file.calls()["shallow"] == set()
    assert file.size(data=True) == 16 * 8
    assert file.size(constants=True) >= 4 * 8
    assert 30 < file.size(code=True) < 1000
    bound = stack_bound(file, tmp_path / "chain.su", ("used", "shallow"))
    assert bound.bytes is not None
    assert 20 * 8 + 8 * 8 < bound.bytes < 500
    assert bound.outside == ("sin",)


def test_stack_without_bound(tmp_path: Path) -> None:
    (tmp_path / "r.c").write_text(
        "int f(int n) { volatile int k = n; return k > 0 ? 2 + 3 * f(k - 1) * f(k - 2) : 1; }"
    )
    flags = ["-O0", "-ffunction-sections", "-fstack-usage", "-fno-asynchronous-unwind-tables"]
    subprocess.run([*find_compiler(), *flags, "-c", "r.c", "-o", "r.o"], cwd=tmp_path, check=True)
    bound = stack_bound(ElfFile(tmp_path / "r.o"), tmp_path / "r.su", ("f",))
    assert bound.bytes is None
    assert "f has no bound" in bound.why


def test_no_elf_file(tmp_path: Path) -> None:
    (tmp_path / "x.o").write_bytes(b"\x7fELF" + bytes(10))
    with pytest.raises(pliant.CompileError, match=r"x\.o is no little-endian ELF file"):
        ElfFile(tmp_path / "x.o")


CLONE = """
static __attribute__((noinline)) double deep(double x, int k) { volatile double a[40]; a[k] = x; return a[k] + 1.0; }
double used(double x) { return deep(x, 3) + deep(2 * x, 3); }
"""


def test_frames_of_functions_that_the_compiler_specialised(tmp_path: Path) -> None:
    (tmp_path / "c.c").write_text(CLONE)
    flags = ["-O2", "-ffunction-sections", "-fstack-usage", "-fno-asynchronous-unwind-tables"]
    subprocess.run([*find_compiler(), *flags, "-c", "c.c", "-o", "c.o"], cwd=tmp_path, check=True)
    bound = stack_bound(ElfFile(tmp_path / "c.o"), tmp_path / "c.su", ("used",))
    assert bound.bytes is not None
    assert bound.bytes > 25 * 8  # its symbol is deep.constprop.0, its frame that of deep.constprop; 128 bytes are free
    assert bound.outside == ()
