"""The targets that a step can be built for and run on here, and the programs this takes.

cortex-m7   the board MPS2 with the image AN500, emulated by QEMU; GCC for bare-metal Arm with newlib
aarch64     64-bit Arm under Linux: compiled by zig with musl, run by QEMU's user mode
riscv64     64-bit RISC-V, likewise
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pliant.errors import ArgumentError, CompileError

OLDEST_GCC, OLDEST_QEMU = (10,), (6, 0)
BOARD = "mps2-an500"
# the program's own time: each instruction takes 2**SHIFT ns, so that a clock counts instructions (QEMU's icount)
SHIFT, CLOCK = 10, 25e6
TICKS_PER_INSTRUCTION = 1e-9 * 2**SHIFT * CLOCK


@dataclass(frozen=True)
class Target:
    """A processor: how code is compiled for it, and what runs it."""

    name: str
    processor: str
    compiler: tuple[str, ...]
    flags: tuple[str, ...]
    emulator: tuple[str, ...]
    is_bare: bool
    counts: bool  # instructions


_CORTEX = ("-mcpu=cortex-m7", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv5-d16")
_ICOUNT = ("-icount", f"shift={SHIFT},align=off,sleep=off")
_BOARD = ("-M", BOARD, "-nographic", "-monitor", "none", "-serial", "none")


def _zig(triple: str) -> tuple[str, ...]:
    return (sys.executable, "-m", "ziglang", "cc", "-target", triple)


TARGETS = {
    one.name: one
    for one in (
        Target(
            "cortex-m7",
            f"Cortex-M7 with double-precision FPU, board {BOARD} emulated by QEMU",
            ("arm-none-eabi-gcc",),
            _CORTEX,
            ("qemu-system-arm", *_BOARD, *_ICOUNT, "-semihosting-config", "enable=on,target=native", "-kernel"),
            is_bare=True,
            counts=True,
        ),
        Target(
            "aarch64",
            "64-bit Arm under Linux, emulated by QEMU",
            _zig("aarch64-linux-musl"),
            ("-static",),
            ("qemu-aarch64",),
            is_bare=False,
            counts=False,
        ),
        Target(
            "riscv64",
            "64-bit RISC-V under Linux, emulated by QEMU",
            _zig("riscv64-linux-musl"),
            ("-static",),
            ("qemu-riscv64",),
            is_bare=False,
            counts=False,
        ),
    )
}
_PACKAGES = {
    "arm-none-eabi-gcc": "apt install gcc-arm-none-eabi libnewlib-arm-none-eabi",
    "qemu-system-arm": "apt install qemu-system-arm",
    "qemu-aarch64": "apt install qemu-user",
    "qemu-riscv64": "apt install qemu-user",
}


def find_target(name: str) -> Target:
    """The target of this name, with all of its programs, or an error that names what is missing."""
    if not isinstance(name, str) or name not in TARGETS:
        raise ArgumentError(f"there is no target {name!r}", hint=f"there are {', '.join(TARGETS)}")
    target = TARGETS[name]
    if target.is_bare:
        _check_gcc(_path(target, target.compiler[0]))
    else:
        _check_zig(target)
    emulator = _emulator(target)
    if target.is_bare:
        _check_qemu(emulator)
    return Target(
        **{**vars(target), "emulator": (emulator, *target.emulator[1:])},
    )


def _missing(target: Target, program: str, hint: str) -> CompileError:
    return CompileError(f"{program} is needed for the target {target.name} and is not installed", hint=hint)


def _path(target: Target, program: str) -> str:
    found = shutil.which(program)
    if found is None:
        raise _missing(target, program, _PACKAGES[program])
    return found


def _emulator(target: Target) -> str:
    program = target.emulator[0]
    found = shutil.which(program) or shutil.which(f"{program}-static")
    if found is None:
        raise _missing(target, program, _PACKAGES[program])
    return found


def _check_zig(target: Target) -> None:
    try:
        import ziglang  # type: ignore[import-not-found,unused-ignore]  # noqa: F401
    except ImportError:
        raise _missing(target, "the package ziglang", "pip install pliant[cross]") from None


@cache
def _answer(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, check=False, timeout=30, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CompileError(f"{command[0]} cannot be run: {error}", hint="install it again") from error
    return (done.stdout + done.stderr).decode(errors="replace").strip()


def version_of(program: str) -> str:
    """The first line that a program says about itself."""
    return _answer(program, "--version").split("\n", maxsplit=1)[0]


def _check_gcc(program: str) -> None:
    said = _answer(program, "-dumpfullversion", "-dumpversion")
    if _numbers(said) < OLDEST_GCC:
        raise CompileError(
            f"{program} is version {said}: too old", hint=f"version {OLDEST_GCC[0]} or newer is needed: update it"
        )
    library = _answer(program, *_CORTEX, "-print-file-name=libm.a")
    if library == "libm.a" or not Path(library).is_file():
        raise CompileError(f"{program} has no C library for the Cortex-M7", hint="apt install libnewlib-arm-none-eabi")


def _check_qemu(program: str) -> None:
    said = version_of(program)
    found = re.search(r"version (\d+(?:\.\d+)*)", said)
    if found is None or _numbers(found[1]) < OLDEST_QEMU:
        raise CompileError(
            f"{program} ({said or 'no answer'}) is too old", hint="QEMU 6.0 or newer is needed: update it"
        )
    if BOARD not in _answer(program, "-M", "help"):
        raise CompileError(f"{program} does not know the board {BOARD}", hint="install Debian's qemu-system-arm")


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(one) for one in re.findall(r"\d+", version.split(maxsplit=1)[0] if version else "0"))
