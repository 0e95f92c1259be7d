"""The C compiler and its cache: what lies there, several processes at once, no compiler at all."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from support_modelica import text_of

import pliant
from pliant.codegen import compiler
from pliant.codegen.compiler import cache_folder, find_compiler

ROOT = Path(__file__).parents[1]
BODY = (
    "  parameter Real k = {k};\n  Real x(start = 1, fixed = true), y;\nequation\n  der(x) = -k*y; y = x + 0.1*sin(y);"
)


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PLIANT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def python(script: str, **env: str) -> subprocess.Popen[str]:
    whole = os.environ | {"PYTHONPATH": os.pathsep.join([*sys.path, str(ROOT / "tests")])} | env
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", script],
        env=whole,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_content(own_cache: Path) -> None:
    """The C text and its library, nothing else; the same model again adds nothing and compiles nothing."""
    assert cache_folder() == own_cache
    text = text_of(BODY.format(k=2), "Named")
    model = pliant.load(text)
    files = sorted(own_cache.iterdir(), key=lambda file: file.suffix)
    assert [file.suffix for file in files] == [".c", ".so"]
    assert all(file.name.startswith("Named-") for file in files)
    assert files[0].read_text() == model.code
    times = [file.stat().st_mtime_ns for file in files]
    assert pliant.load(text).code == model.code
    assert set(own_cache.iterdir()) == set(files)
    assert [file.stat().st_mtime_ns for file in files] == times


def test_other_text_same_code(own_cache: Path) -> None:
    """Comments and spaces do not reach the library if lines stay where they are."""
    pliant.load(text_of(BODY.format(k=2)))
    pliant.load(text_of(BODY.format(k=2)).replace("parameter Real k", "parameter  Real  k"))
    assert len(list(own_cache.glob("*.so"))) <= 2
    pliant.load(text_of(BODY.format(k=3)))
    assert len(list(own_cache.glob("*.so"))) in (2, 3)


def test_large_texts_are_compiled_quickly_with_the_same_results(
    own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A compiler's own options are given to it alone."""
    calls: list[list[str]] = []
    call = compiler._call

    def watched(command: Sequence[str], what: str) -> bytes:
        calls.append(list(command))
        return call(command, what)

    monkeypatch.setattr(compiler, "_call", watched)
    usual = pliant.load(text_of(BODY.format(k=2))).simulate(stop=1)
    assert "-O2" in calls[-1]
    monkeypatch.setattr(compiler, "LARGE", 100)
    large = pliant.load(text_of(BODY.format(k=2))).simulate(stop=1)
    assert "-O1" in calls[-1]
    assert list(large.final.values()) == list(usual.final.values())
    monkeypatch.setattr(compiler, "_version", lambda _: b"clang version 17")
    assert compiler._large_flags() == compiler.LARGE_FLAGS


def test_a_damaged_text_is_written_again(own_cache: Path) -> None:
    text = text_of(BODY.format(k=2))
    model = pliant.load(text)
    (source,) = own_cache.glob("*.c")
    source.write_text("broken")
    assert pliant.load(text).simulate(stop=1).final["x"] == model.simulate(stop=1).final["x"]
    assert source.read_text() == model.code


def test_several_processes_load_the_same_model(own_cache: Path) -> None:
    script = (
        "import pliant, test_codegen_cache as t\n"
        "m = pliant.load(t.text_of(t.BODY.format(k=2)))\n"
        "print(repr(float(m.simulate(stop=1).final['x'])))"
    )
    processes = [python(script, PLIANT_CACHE=str(own_cache)) for _ in range(4)]
    done = [process.communicate(timeout=120) for process in processes]
    assert [process.returncode for process in processes] == [0] * 4, done
    assert len({out for out, _ in done}) == 1
    assert sorted(file.suffix for file in own_cache.iterdir()) == [".c", ".so"]


def test_no_compiler(tmp_path: Path) -> None:
    """A clear error from load; inspect works without one."""
    script = (
        "import sys, pliant, test_codegen_cache as t\n"
        "sys.modules['ziglang'] = None\n"
        "text = t.text_of(t.BODY.format(k=2))\n"
        "assert pliant.inspect(text).n_states == 1\n"
        "try:\n    pliant.load(text)\n"
        "except pliant.CompileError as error:\n    print(error)\n"
    )
    process = python(script, PATH=str(tmp_path), CC="", PLIANT_CACHE=str(tmp_path / "cache"))
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert "no C compiler was found" in out
    assert "try:" in out


def test_a_compiler_that_fails(tmp_path: Path) -> None:
    bad = tmp_path / "badcc"
    bad.write_text("#!/bin/sh\necho 'no licence' >&2\nexit 1\n")
    bad.chmod(0o755)
    script = (
        "import pliant, test_codegen_cache as t\n"
        "try:\n    pliant.load(t.text_of(t.BODY.format(k=2)))\n"
        "except pliant.CompileError as error:\n    print(error)\n"
    )
    process = python(script, CC=str(bad), PLIANT_CACHE=str(tmp_path / "cache"))
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert "no licence" in out
    assert not list((tmp_path / "cache").glob("*.so"))


def test_a_cache_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    script = (
        "import pliant, test_codegen_cache as t\n"
        "try:\n    pliant.load(t.text_of(t.BODY.format(k=2)))\n"
        "except pliant.CompileError as error:\n    print(error)\n"
    )
    process = python(script, PLIANT_CACHE=str(tmp_path / "file" / "cache"))
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert "PLIANT_CACHE" in out


def test_compiler_is_found() -> None:
    assert find_compiler()
