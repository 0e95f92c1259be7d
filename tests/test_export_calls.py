"""Calls of exported FMUs in legal and in any orders, under sanitizers; sources, sizes and symbols of binaries."""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest
from support import RUNTIME
from support_export import exported, function_names, token_of, unpacked
from support_objects import kept_objects
from support_sanitizers import KINDS, sanitized_objects
from test_runtime_c import SANITIZERS, call, compiler, why_no_sanitizers

import pliant
from pliant.export import build
from pliant.export.sources import CORE, PARTS

VAN_DER_POL = """
model VanDerPol
  parameter Real mu = 1000;
  Real x(start = 2, fixed = true), y(start = 0, fixed = true);
equation
  der(x) = y;
  der(y) = mu*(1 - x^2)*y - x;
end VanDerPol;
"""
FLAGS = ["-std=c99", "-O0", *(f"-I{RUNTIME / name}" for name in ("include", "src", "export", "fmi"))]

NO_RANDOM = ["setarch", "-R"] if shutil.which("setarch") else []  # the sanitizer's shadow does not fit every layout


@cache
def driver(version: str, kind: str = "address") -> str:
    """The FMU with hybrid equations, linked to its driver, under a sanitizer."""
    flags = [*FLAGS, *(SANITIZERS if kind == "address" else KINDS[kind])]
    program_compiler = compiler() if kind == "address" else "gcc"
    path = exported("hybrid", version)
    shell = [one for one in sorted((RUNTIME / "export").glob("*.c")) if one.stem[-4:] != f"fmi{'32'[version == '3.0']}"]
    sources = [*shell, unpacked(path) / "sources" / "model.c"]
    own = kept_objects(program_compiler, flags, sources)
    program = path.with_name(f"drive{version[0]}{kind}")
    drive = RUNTIME / "tests" / f"drive_fmi{version[0]}.c"
    made = [str(one) for one in (*own, *sanitized_objects(kind))]
    done = call([program_compiler, *flags, "-std=gnu99", str(drive), *made, "-o", str(program), "-lm", "-lpthread"])
    assert done.returncode == 0, done.stderr
    return str(program)


@pytest.mark.parametrize(
    ("version", "words"),
    [
        ("2.0", ["legal"]),
        ("2.0", ["threads"]),
        ("2.0", ["random", "10000", "1"]),
        ("3.0", ["legal"]),
        ("3.0", ["random", "10000", "2"]),
    ],
)
def test_calls(version: str, words: list[str]) -> None:
    if why_no_sanitizers():
        pytest.skip(why_no_sanitizers())
    token = token_of(exported("hybrid", version))
    ran = call([driver(version), token, *words], timeout=120, env=os.environ | {"ASAN_OPTIONS": "detect_leaks=1"})
    assert ran.returncode == 0, (ran.stdout + ran.stderr)[-3000:]
    assert ran.stdout == "fine\n"


def test_instances_in_two_threads_share_nothing() -> None:
    """1 000 of them under the thread sanitizer; ``test_calls`` looks for leaks."""
    program = call([*NO_RANDOM, driver("2.0", "thread"), token_of(exported("hybrid", "2.0")), "threads"], timeout=240)
    assert program.returncode == 0, (program.stdout + program.stderr)[-3000:]
    assert program.stdout == "fine\n"


def symbols(file: Path, *more: str) -> set[str]:
    nm = shutil.which("nm")
    if nm is None:
        pytest.skip("no nm")
    lines = subprocess.run([nm, *more, str(file)], capture_output=True, text=True, check=True).stdout.splitlines()
    return {line.split()[-1].partition("@")[0] for line in lines if line.split()[-2] in "TDRBVW"}


@pytest.mark.parametrize("version", ["2.0", "3.0"])
def test_binaries_export_the_functions_of_the_standard_and_nothing_else(version: str) -> None:
    folder = "linux64" if version == "2.0" else "x86_64-linux"
    file = unpacked(exported("hybrid", version)) / "binaries" / folder / "Hybrid.so"
    wanted = function_names(version)
    assert len(wanted) > 40
    assert symbols(file, "-D") - {"_init", "_fini"} == wanted


@pytest.mark.usefixtures("optimized")
def test_size(tmp_path: Path) -> None:
    model = pliant.load(VAN_DER_POL)
    path = model.export_fmu(tmp_path / "v.fmu", version="2.0", sources=False)
    (file,) = (unpacked(path) / "binaries" / "linux64").iterdir()
    assert file.stat().st_size <= 200_000
    assert not (unpacked(path) / "sources").exists()


def test_another_export_compiles_its_model_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = pliant.load(VAN_DER_POL)
    first = model.export_fmu(tmp_path / "first.fmu")
    calls: list[str] = []
    call = build._call
    monkeypatch.setattr(build, "_call", lambda *given: (calls.append(given[1]), call(*given)))
    second = model.export_fmu(tmp_path / "second.fmu")
    assert calls[0] == "model.c"
    assert len(calls) == 2
    binaries = [{file.name for file in unpacked(one).rglob("*.so")} for one in (first, second)]
    assert binaries[0] == binaries[1] != set()


def test_the_list_of_sources_is_what_an_fmu_needs() -> None:
    """Parts of the runtime follow from the symbols that its files use of each other."""
    from test_runtime_c import PLAIN, objects
    from test_runtime_c import symbols as all_symbols

    assert objects(PLAIN)
    home, used = {}, {}
    for file, kind, name in all_symbols():
        if kind == "U":
            used.setdefault(file, set()).add(name)
        elif kind in "TDRBV":
            home[name] = file

    def closure(*names: str) -> set[str]:
        todo, seen = [home[name] for name in names], set()
        while todo:
            file = todo.pop()
            if file not in seen:
                seen.add(file)
                todo += [home[name] for name in used.get(file, ()) if name in home]
        return seen

    first = ("pl_model_engine", "pl_simulation_init", "pl_simulation_go", "pl_simulation_save", "pl_status_text")
    first += ("pl_simulation_event_at", "pl_linear_plan")
    assert closure(*first) == set(CORE)
    parts = {"bdf": "pl_bdf_method", "radau5": "pl_radau5_method", "explicit": "pl_euler_method"}
    parts |= {"sparse": "pl_sparse_table", "unit": "pl_unit_engine"}
    for part, name in parts.items():
        assert closure(*first, name) == {*CORE, *PARTS[part]}
