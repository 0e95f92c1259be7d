"""The C runtime by itself: its own tests under sanitizers, what its objects import, states copied by memcpy."""

from __future__ import annotations

import math
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from problems import problem
from problems.heat2d import make
from support import RUNTIME, compiled, compiled_file
from support_objects import kept_objects
from support_sanitizers import sanitized_objects

import pliant
from pliant.compiling.folders import runtime_folder
from pliant.solve.binding import runtime
from pliant.solve.options import check_request
from pliant.solve.run.simulation import Simulation

SOURCES = sorted((RUNTIME / "src").glob("*.c"))
C_TESTS = sorted(path for path in (RUNTIME / "tests").glob("test_*.c"))
STRICT = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off", f"-I{RUNTIME / 'include'}"]
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer"]

# Everything that an ECU image has to provide: these, and mathematics of <math.h>.
MEMORY = {"memcpy", "memset", "memmove", "memcmp"}
ALLOCATION = {"malloc", "calloc", "realloc", "free", "aligned_alloc", "alloca"}
MATHEMATICS = set(vars(math)) | {"fmin", "fmax", "fabs", "nextafter", "scalbn"}
# The compiler's own: libgcc's table of processor features (x86 only), stack protection, position-independent code.
COMPILER = {"__cpu_model", "__stack_chk_fail", "_GLOBAL_OFFSET_TABLE_"}


def compiler() -> str:
    found = next((name for name in (os.environ.get("CC", "").split()[:1] or ["gcc", "cc"]) if shutil.which(name)), None)
    if found is None:
        pytest.skip("no C compiler (looked for $CC, gcc and cc)")
    return found


def call(command: list[str], **more: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False, **more)


@cache
def why_no_sanitizers() -> str:
    """Empty if address and undefined-behaviour sanitizer work here."""
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder) / "probe.c", Path(folder) / "probe"
        source.write_text("int main(void) { return 0; }\n")
        built = call([compiler(), *SANITIZERS, str(source), "-o", str(program)])
        if built.returncode != 0:
            return f"{compiler()} cannot link {SANITIZERS[0]}: {built.stderr.strip()[-200:]}"
        ran = call([str(program)])
    return "" if ran.returncode == 0 else f"programs with {SANITIZERS[0]} do not run here: {ran.stderr.strip()[-200:]}"


#: one build serves all tests: sections let the linker drop what a program does not use
PLAIN = ("-O1", "-fno-pic", "-ffunction-sections", "-fdata-sections")


@cache
def objects(flags: tuple[str, ...]) -> tuple[Path, ...]:
    """All of runtime/src, compiled once for each set of flags."""
    return tuple(kept_objects(compiler(), [*STRICT, *flags], SOURCES))


@pytest.mark.parametrize("source", C_TESTS, ids=lambda path: path.stem)
@pytest.mark.parametrize("sanitized", [False, True], ids=["plain", "sanitized"])
def test_c(source: Path, sanitized: bool, tmp_path: Path) -> None:
    if sanitized and why_no_sanitizers():
        pytest.skip(why_no_sanitizers())
    flags = ("-O0", *SANITIZERS) if sanitized else PLAIN
    program = tmp_path / source.stem
    link = [] if sanitized or sys.platform == "darwin" else ["-no-pie"]
    made = [str(path) for path in (sanitized_objects("address") if sanitized else objects(flags))]
    done = call([compiler(), *STRICT, *flags, *link, str(source), *made, "-o", str(program), "-lm"])
    assert done.returncode == 0, done.stderr
    ran = call([str(program)], timeout=120, env=os.environ | {"ASAN_OPTIONS": "detect_leaks=1"})
    assert ran.returncode == 0, (ran.stdout + ran.stderr)[-3000:]
    assert ", 0 failed" in ran.stdout


def test_there_are_c_tests() -> None:
    assert {"test_runtime", "test_lu_sparse"} <= {path.stem for path in C_TESTS}


BDF_ONLY = """
#include "pliant.h"
#include <stdio.h>
#include <stdlib.h>
static pl_status rhs(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real *f) {
    (void)self, (void)t, (void)u;
    f[0] = x[1];
    f[1] = 1000.0 * (1.0 - x[0] * x[0]) * x[1] - x[0];
    return PL_OK;
}
static const pl_real start[] = {2.0, 0.0}, tolerance[] = {1e-6, 1e-6};
static const int all[] = {0, 1};
static const pl_model model = {.abi = PL_ABI, .n_x = 2, .x_start = start, .rhs = rhs};
int main(void) {
    pl_status status;
    pl_plan plan = {{0}, {0}, NULL};
    void *work = malloc(pl_linear_work_size(&model));
    if (pl_linear_plan(&model, &plan.options, &plan.layout, work) != PL_OK) return 2;
    plan.work = work;
    pl_setup setup = {.engine = &pl_model_engine, .model = &model, .rtol = 1e-6, .atol = tolerance, .stop = 2000.0,
                      .run = {.method = &pl_bdf_method}, .plan = &plan, .degree = -1, .n_points = 0, .n_x_out = 2,
                      .x_index = all, .rows = 2};
    pl_simulation *s = pl_simulation_init(malloc(pl_simulation_size(&setup)), &setup, &status);
    if (!s || pl_simulation_initialise(s) != PL_OK) return 3;
    while ((status = pl_simulation_advance(s, 1000)) == PL_PAUSED) {}
    if (status != PL_FINISHED || pl_simulation_flush(s) != PL_OK) return 4;
    printf("%.6f\\n", s->out.row[1]);
    return 0;
}
"""


def test_methods_that_a_program_does_not_use_are_not_linked(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    source, program = tmp_path / "bdf_only.c", tmp_path / "bdf_only"
    source.write_text(BDF_ONLY)
    link = ["-Wl,-dead_strip"] if sys.platform == "darwin" else ["-Wl,--gc-sections", "-no-pie"]
    made = [str(path) for path in objects(PLAIN)]
    done = call([compiler(), *STRICT, *PLAIN, str(source), *made, *link, "-o", str(program), "-lm"])
    assert done.returncode == 0, done.stderr
    ran = call([str(program)], timeout=60)
    assert ran.returncode == 0
    assert float(ran.stdout) == pytest.approx(1.706167, abs=1e-3)  # the reference solution at t = 2000
    nm, strip = shutil.which("nm"), shutil.which("strip")
    if nm is None or strip is None:
        pytest.skip("no nm or strip")
    names = call([nm, str(program)]).stdout
    assert "bdf" in names
    assert not [word for word in ("radau5", "dopri5", "lieuler", "rk4", "pl_unit", "pl_sparse_factor") if word in names]
    assert call([strip, str(program)]).returncode == 0
    record_property("bytes", program.stat().st_size)
    assert program.stat().st_size <= 200_000


def symbols() -> list[tuple[str, str, str]]:
    """(file, type, name) of every symbol in the objects of runtime/src."""
    nm = shutil.which("nm")
    if nm is None:
        pytest.skip("no nm")
    found = []
    for part in call([nm, *map(str, objects(PLAIN))]).stdout.split("\n\n"):
        path, _, lines = part.strip().partition(":\n")
        for line in lines.splitlines():
            *_, kind, name = line.split()
            found.append((Path(path).stem, kind, name.removeprefix("_") if sys.platform == "darwin" else name))
    assert {file for file, _, _ in found} == {path.stem for path in objects(PLAIN)}
    return found


def test_nothing_is_imported_but_memory_and_mathematics(record_property: Callable[[str, object], None]) -> None:
    imported = {(file, name) for file, kind, name in symbols() if kind in "Uuw"}
    record_property("objects", len({file for file, _, _ in symbols()}))
    record_property("allocations", len([name for _, name in imported if name in ALLOCATION]))
    assert imported
    known = MEMORY | MATHEMATICS | COMPILER
    foreign = {pair for pair in imported if not pair[1].startswith("pl_") and pair[1] not in known}
    assert not foreign


def test_no_writable_globals() -> None:
    found = symbols()
    assert {kind for _, kind, _ in found} & set("Tt")
    assert [entry for entry in found if entry[1] in "BbDdCcGgSs"] == []


def test_only_pl_names_are_exported() -> None:
    assert [entry for entry in symbols() if entry[1] in "TRVW" and not entry[2].startswith("pl_")] == []


# ---------------------------------------------------------------------------- copies, as Python sees the memory


def open_simulation(model: pliant.Model, method: str, stop: float, **more: Any) -> Simulation:
    arguments: dict[str, Any] = {
        "start": 0.0,
        "rtol": 1e-6,
        "atol": None,
        "points": 50,
        "step": stop / 400 if method in runtime.FIXED_STEP else None,
        "parameters": {},
        "start_values": {},
        "outputs": None,
        "options": None,
        "timeout": None,
    }
    inputs = more.pop("inputs", {})
    request = check_request(model._numeric, stop=stop, method=method, **(arguments | more))
    simulation = Simulation(model._numeric, request, inputs)
    simulation.begin()
    return simulation


def finish(simulation: Simulation, steps: int = 1 << 30) -> None:
    while not simulation.done:
        simulation.advance(steps)


def copy_state(source: Simulation, target: Simulation) -> None:
    """All that a simulation changes, through flat memory."""
    room = np.empty(runtime.lib.pl_simulation_save_size(source.place, ALL) // 8 + 1)
    assert runtime.lib.pl_simulation_save(source.place, ALL, room.ctypes.data) == runtime.OK
    source.memory.block[:] = np.nan
    assert runtime.lib.pl_simulation_restore(target.place, room.ctypes.data) == runtime.OK


ALL = 15  # PL_SAVE_ALL
JUMPS = {"source": ([0.0, 1.0, 1.0, 2.5, 2.5, 4.0], [0.0, 0.0, 1.0, 1.0, -1.0, 0.0])}
CASES: dict[str, Any] = {
    "vdpol_mild": lambda m: open_simulation(compiled("vdpol_mild"), m, 20.0),
    "chemakzo": lambda m: open_simulation(compiled("chemakzo"), m, problem("chemakzo").t_end),
    "circuit": lambda m: open_simulation(compiled_file("circuit"), m, 4.0, inputs=JUMPS, parameters={"level": 0.3}),
    "sparse": lambda m: open_simulation(heat(), m, 1.0, options={"linear": "sparse"}),
    "dense": lambda m: open_simulation(heat(), m, 1.0, options={"linear": "dense"}),
}


@cache
def heat() -> pliant.Model:
    return pliant.native(make(8).c_file, defines={"HEAT_M": 8})


# an index-1 DAE needs an implicit method, and explicit ones have no linear algebra to choose
PAIRS = [
    (case, method)
    for case in CASES
    for method in ("bdf", "radau5", "auto", "lieuler", "dopri5", "rk4")
    if method in runtime.IMPLICIT or case in ("vdpol_mild", "circuit")
]


@pytest.mark.parametrize(("case", "method"), PAIRS)
def test_state_copied_and_resumed(case: str, method: str) -> None:
    start = CASES[case]
    whole = start(method)
    finish(whole)
    steps = int(whole.count.n_steps)
    for cut in (1, steps // 3, steps // 2):
        first, second = start(method), start(method)
        while first.count.n_steps < cut:
            first.advance(cut - int(first.count.n_steps))
        copy_state(first, second)
        finish(second, 17)
        assert second.out.used == whole.out.used
        np.testing.assert_array_equal(second.rows[: second.out.used], whole.rows[: whole.out.used])
        assert bytes(second.count) == bytes(whole.count)


def test_pausing_changes_nothing() -> None:
    whole, halting = (CASES["vdpol_mild"]("auto") for _ in range(2))
    finish(whole)
    finish(halting, 1)
    np.testing.assert_array_equal(whole.rows[: whole.out.used], halting.rows[: halting.out.used])
    assert bytes(whole.count) == bytes(halting.count)


def test_header_in_the_package_is_the_header_of_the_runtime() -> None:
    shipped = runtime_folder() / "include" / "pliant.h"
    assert shipped.read_text() == (RUNTIME / "include" / "pliant.h").read_text()
