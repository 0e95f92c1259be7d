"""Binaries for other machines: of the right kind, complete, and for Windows run under wine.

The first build for other platforms than these compiles their C library as well; all five are a figure of
``benchmarks/export.py``.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import fmpy
import numpy as np
import pytest
from support import RUNTIME
from support_binaries import functions_of
from support_export import function_names, model, token_of, unpacked
from test_runtime_c import compiler

from pliant.errors import CompileError
from pliant.export import build as build_module
from pliant.export.windows import FUNCTIONS, import_libraries

STOP, STEPS = 1.27, 40
PLATFORMS = {"x86_64-windows": "Hybrid.dll", "x86_64-linux": "Hybrid.so"}
PROGRAM = {  # what a program needs of Windows beside the functions that FMUs call
    "api-ms-win-crt-convert-l1-1-0": "atof atol",
    "api-ms-win-crt-runtime-l1-1-0": "exit _configure_narrow_argv __p___argc __p___argv",
    "api-ms-win-crt-stdio-l1-1-0": "__acrt_iob_func __stdio_common_vfprintf",
    "kernel32": "LoadLibraryA GetProcAddress",
}
pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("ziglang")
    target = tmp_path_factory.mktemp("platforms") / "hybrid.fmu"
    with pytest.MonkeyPatch.context() as chosen:
        chosen.setenv("PLIANT_OPTIMIZE", "1")
        return model("hybrid").export_fmu(target, platforms=list(PLATFORMS))


def test_files_and_functions(path: Path) -> None:
    for platform, name in PLATFORMS.items():
        data = (unpacked(path) / "binaries" / platform / name).read_bytes()
        assert functions_of(platform, data) == function_names("3.0")
        assert len(data) < 500_000


def program(command: list[str], folder: Path, name: str) -> None:
    source, include = str(RUNTIME / "tests" / "load_fmi3.c"), f"-I{RUNTIME / 'fmi'}"
    words = [*command, "-std=c99", include, source, "-o", name]
    run(words, folder)


def run(words: list[str], folder: Path) -> None:
    made = subprocess.run(words, check=False, capture_output=True, text=True, cwd=folder)
    assert made.returncode == 0, made.stderr


def windows_program(folder: Path, name: str) -> None:
    """Linked as the FMU is: MinGW's library, which would have to be compiled first, costs a minute."""
    (folder / "defs").mkdir()
    zig = [sys.executable, "-m", "ziglang"]
    libraries = import_libraries(folder / "defs", build_module._call, [*zig, "dlltool"], FUNCTIONS | PROGRAM)
    compiler = [*zig, "cc", "-target", "x86_64-windows-gnu"]
    program([*compiler, "-O2", "-c"], folder, "load.o")
    words = ["-O2", "-s", "-nostdlib", "-Wl,-e,start", str(RUNTIME / "tests" / "start_windows.c"), *map(str, libraries)]
    run([*compiler, *words, "load.o", "-o", name], folder)


def test_the_windows_binary_runs_as_the_one_here(path: Path, tmp_path: Path) -> None:
    """One program loads both binaries, and prints a run, with its second half repeated from a saved state."""
    wine = shutil.which("wine64") or shutil.which("wine")
    if wine is None:
        pytest.skip("no wine")
    description = fmpy.read_model_description(str(path))
    names = ("T", "'my T'", "ring", "y", "sampled")
    places = {one.name: str(one.valueReference) for one in description.modelVariables}
    windows_program(tmp_path, "load.exe")
    program([compiler(), "-D_GNU_SOURCE", "-ldl"], tmp_path, "load")
    folder = unpacked(path) / "binaries"
    words = [token_of(path), str(STOP), str(STEPS), *(places[name] for name in names)]
    here = [str(tmp_path / "load"), str(folder / "x86_64-linux" / "Hybrid.so"), *words]
    there = [wine, str(tmp_path / "load.exe"), f"Z:{folder / 'x86_64-windows' / 'Hybrid.dll'}", *words]
    quiet = os.environ | {"WINEPREFIX": str(tmp_path / "wine"), "WINEDEBUG": "-all", "DISPLAY": ""}
    rows = []
    for command in (here, there):
        ran = subprocess.run(command, check=False, capture_output=True, text=True, timeout=300, env=quiet)
        assert ran.returncode == 0, (ran.stdout + ran.stderr)[-2000:]
        rows.append([[float(one) for one in line.split()] for line in ran.stdout.splitlines()])
    assert len(rows[0]) == STEPS + 1
    values, other = (np.array(one[:-1]) for one in rows)
    assert np.abs(values - other).max() <= 1e-9 * np.abs(values).max()
    assert rows[0][-1] == pytest.approx(rows[1][-1], rel=1e-12)
    result = model("hybrid").simulate(stop=STOP, rtol=1e-10, points=STEPS + 1)
    assert np.abs(values[:, 0] - result["T"][1:]).max() <= 1e-5 * np.ptp(result["T"])


def test_what_windows_does_not_have_comes_from_the_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that calls more than the C library of Windows: linked again, the usual way."""
    pytest.importorskip("ziglang")
    target, files = build_module.PLATFORMS["x86_64-windows"], [tmp_path / "model.o", tmp_path / "libruntime_kept.a"]
    calls: list[list[str]] = []

    def call(command: list[str], what: str, folder: Path) -> None:
        calls.append(command)
        if "-nostdlib" in command:
            raise CompileError("undefined symbol: lgamma", hint="")

    monkeypatch.setattr(build_module, "_call", call)
    build_module._link(target, files, tmp_path / "model.dll", tmp_path)
    links = [one for one in calls if "-shared" in one]
    assert ["-nostdlib" in one for one in links] == [True, False]
    assert all({*map(str, files), str(tmp_path / "model.dll")} <= set(one) for one in links)
