"""The C compiler and its cache: what lies there, several processes at once, no compiler at all."""

from __future__ import annotations

import hashlib
import os
import random
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from inspect import getsource
from pathlib import Path

import pytest
from support_modelica import text_of

import pliant
from pliant.compiling import cache, compiler
from pliant.compiling.cache import cache_folder
from pliant.compiling.compiler import find_compiler

BODY = (
    "  parameter Real k = {k};\n  Real x(start = 1, fixed = true), y;\nequation\n  der(x) = -k*y; y = x + 0.1*sin(y);"
)


HEAD = (
    f"import pliant\ndef text(k):\n    return {text_of(BODY)!r}.replace('{{k}}', str(k))\n"  # in a process of its own
)
LOAD = "m = pliant.load(text(2))\nprint(repr(float(m.simulate(stop=1).final['x'])))"


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PLIANT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def python(script: str, **env: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", HEAD + script],
        env=os.environ | env,
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


@pytest.mark.usefixtures("optimized")
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
    monkeypatch.setattr(compiler, "MEDIUM", 100)
    medium = pliant.load(text_of(BODY.format(k=2))).simulate(stop=1)
    assert "-O2" in calls[-1]
    assert list(medium.final.values()) == list(usual.final.values())
    monkeypatch.setattr(compiler, "LARGE", 100)
    large = pliant.load(text_of(BODY.format(k=2))).simulate(stop=1)
    assert "-O1" in calls[-1]
    assert list(large.final.values()) == list(usual.final.values())
    monkeypatch.undo()
    monkeypatch.setattr(compiler, "_version", lambda _: b"clang version 17")
    assert compiler.flags_for(10**6) == compiler.FLAGS
    assert compiler.flags_for(10**7) == compiler.LARGE_FLAGS


@pytest.mark.usefixtures("optimized")
def test_compiled_quickly(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another library, the same numbers."""
    usual = pliant.load(text_of(BODY.format(k=2))).simulate(stop=1)
    monkeypatch.setenv("PLIANT_OPTIMIZE", "0")
    quick = pliant.load(text_of(BODY.format(k=2))).simulate(stop=1)
    assert list(quick.final.values()) == list(usual.final.values())
    assert len(list(own_cache.glob("*.so"))) == 2
    assert "-O0" in compiler.flags_for(100)
    compiler._quick_linker.cache_clear()
    monkeypatch.setattr(compiler.shutil, "which", lambda name: None)  # a linker that is not there is not asked for
    assert compiler.flags_for(100) == compiler.QUICK_FLAGS
    monkeypatch.setattr(compiler.shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(compiler, "_version", lambda _: b"clang version 17")
    compiler._quick_linker.cache_clear()
    assert compiler.flags_for(100) == compiler.QUICK_FLAGS
    monkeypatch.setattr(compiler, "_version", lambda _: b"Free Software Foundation")
    compiler._quick_linker.cache_clear()
    assert compiler.flags_for(100) == (*compiler.QUICK_FLAGS, *compiler.QUICK_LINKER)
    compiler._quick_linker.cache_clear()
    monkeypatch.setenv("PLIANT_OPTIMIZE", "3")
    with pytest.raises(pliant.ArgumentError, match="PLIANT_OPTIMIZE = '3'"):
        pliant.load(text_of(BODY.format(k=3)))


def test_a_damaged_text_is_written_again(own_cache: Path) -> None:
    text = text_of(BODY.format(k=2))
    model = pliant.load(text)
    (source,) = own_cache.glob("*.c")
    source.write_text("broken")
    assert pliant.load(text).simulate(stop=1).final["x"] == model.simulate(stop=1).final["x"]
    assert source.read_text() == model.code


def damaged(content: bytes, seed: int) -> list[bytes]:
    """Ways in which a file can be broken."""
    chance = random.Random(seed)
    cut = [content[: chance.randrange(len(content))] for _ in range(2)]
    flipped = [bytearray(content) for _ in range(3)]
    for one in flipped:
        one[chance.randrange(len(one))] ^= 1 << chance.randrange(8)
    plain = [b"", b"no library", content[:4096], content[:-1], content + b"x", bytes(len(content))]
    return [*plain, *cut, *map(bytes, flipped)]


def test_a_damaged_library_is_made_again(own_cache: Path) -> None:
    """In a process of its own, as a damaged library would be the end of it."""
    script = (
        f"import random\nfrom pliant.compiling.cache import cache_folder\n\n{getsource(damaged)}\n"
        "text = text(2)\n"
        "first = pliant.load(text).simulate(stop=1).final['x']\n"
        "(library,) = cache_folder().glob('*.so')\n"
        "whole = library.read_bytes()\n"
        "for content in damaged(whole, 1):\n"
        "    library.unlink()\n"  # this process has it mapped: not to be written to
        "    library.write_bytes(content)\n"
        "    assert pliant.load(text).simulate(stop=1).final['x'] == first\n"
        "    assert library.read_bytes() == whole\n"
        "assert len(list(cache_folder().iterdir())) == 2\n"
    )
    process = python(script, PLIANT_CACHE=str(own_cache))
    _, err = process.communicate(timeout=120)
    assert process.returncode == 0, err


@pytest.mark.skipif(sys.platform == "win32", reason="no limits of this kind")
def test_a_disk_that_is_full(own_cache: Path) -> None:
    """Neither the text nor the library fits: said so, and nothing is left behind."""
    script = (
        "import resource\n"
        "for size in (2_000, 20_000):\n"
        "    resource.setrlimit(resource.RLIMIT_FSIZE, (size, 10**9))\n"
        "    try:\n        pliant.load(text(2))\n"
        "    except pliant.CompileError as error:\n        print(type(error).__name__)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (10**9, 10**9))\n"
        "pliant.load(text(2)).simulate(stop=1)\n"
    )
    process = python(script, PLIANT_CACHE=str(own_cache))
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert out.split() == ["CompileError"] * 2
    assert sorted(file.suffix for file in own_cache.iterdir()) == [".c", ".so"]


def test_a_library_that_may_not_be_read_or_is_a_folder(own_cache: Path) -> None:
    text = text_of(BODY.format(k=2))
    first = pliant.load(text).simulate(stop=1).final["x"]
    (library,) = own_cache.glob("*.so")
    library.chmod(0)
    assert pliant.load(text).simulate(stop=1).final["x"] == first
    (library,) = own_cache.glob("*.so")
    library.unlink()
    library.mkdir()
    with pytest.raises(pliant.CompileError, match="cache folder"):
        pliant.load(text)
    library.rmdir()
    assert pliant.load(text).simulate(stop=1).final["x"] == first


def test_a_text_changed_in_place_is_written_again(own_cache: Path) -> None:
    """Also where its length is the same: otherwise another model would be compiled."""
    text = text_of(BODY.format(k=2))
    model = pliant.load(text)
    (source,) = own_cache.glob("*.c")
    source.write_text(model.code.replace("2.0", "7.0"))
    assert pliant.load(text).simulate(stop=1).final["x"] == model.simulate(stop=1).final["x"]
    assert source.read_text() == model.code


def test_a_cache_that_is_read_only_serves_what_it_has(own_cache: Path) -> None:
    text = text_of(BODY.format(k=2))
    first = pliant.load(text).simulate(stop=1).final["x"]
    own_cache.chmod(0o555)
    try:
        assert pliant.load(text).simulate(stop=1).final["x"] == first
    finally:
        own_cache.chmod(0o755)


def test_the_cache_is_bounded(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was not used for longest goes; what is loaded goes on; files of others stay."""
    own_cache.mkdir()
    foreign = [own_cache / "thesis.c", own_cache / "notes-2024.so", own_cache / "model-0123.so"]
    for file in foreign:
        file.write_bytes(bytes(500_000))
    monkeypatch.setenv("PLIANT_CACHE_LIMIT", "0.2")
    models = []
    for k in range(2, 9):
        models.append(pliant.load(text_of(BODY.format(k=k), f"Model{k}")))
        if k > 2:
            pliant.load(text_of(BODY.format(k=2), "Model2"))  # used again and again
    ours = [file for file in own_cache.iterdir() if file not in foreign]
    assert sum(file.stat().st_size for file in ours) <= 200_000
    assert {file.name.partition("-")[0] for file in ours} >= {"Model2", "Model8"}
    assert not any(file.name.startswith("Model3") for file in ours)
    assert all(file.stat().st_size == 500_000 for file in foreign)
    finals = [model.simulate(stop=1).final["x"] for model in models]  # those whose files are gone, too
    assert len(set(finals)) == len(models)
    monkeypatch.setenv("PLIANT_CACHE_LIMIT", "0")
    assert pliant.load(text_of(BODY.format(k=3), "Model3")).simulate(stop=1).final["x"] == finals[1]
    monkeypatch.setenv("PLIANT_CACHE_LIMIT", "much")
    with pytest.raises(pliant.ArgumentError, match="PLIANT_CACHE_LIMIT"):
        pliant.load(text_of(BODY.format(k=11)))


def test_a_full_cache_is_not_looked_through_for_each_library(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is looked through when the sizes noted say so, when they are damaged, and now and then."""
    own_cache.mkdir()
    looked: list[Path] = []
    clean = cache.clean
    monkeypatch.setattr(cache, "clean", lambda folder, new=None: (looked.append(folder), clean(folder, new)))

    def keep(k: int, size: int = 1000) -> Path:
        stem = f"m-{hashlib.sha256(str(k).encode()).hexdigest()[:24]}"
        cache.keep_text(own_cache, "m", f"{k:1000}")
        with cache.new_file(own_cache, stem, cache.SUFFIX) as (stream, place):
            stream.write(bytes(size))
            stream.close()
            return cache.keep_library(own_cache, stem, place)

    for k in range(200):
        keep(k)
    assert len(looked) <= cache.FEW
    held = sum(file.stat().st_size for file in own_cache.glob("m-*"))
    assert held == 400_000
    before = len(looked)
    monkeypatch.setenv("PLIANT_CACHE_LIMIT", "0.3")
    keep(200)
    assert len(looked) == before + 1
    assert 290_000 < sum(file.stat().st_size for file in own_cache.glob("m-*")) <= 300_000
    (own_cache / cache.SIZES).write_text("lost")
    keep(201)
    assert len(looked) == before + 2
    assert (own_cache / cache.SIZES).read_text().strip().isdigit()


def test_processes_that_remove_each_others_libraries(own_cache: Path) -> None:
    """With room for one library only."""
    script = (
        "for k in range(4):\n"
        "    m = pliant.load(text(k % 3 + 2))\n"
        "    print(repr(float(m.simulate(stop=1).final['x'])))"
    )
    processes = [python(script, PLIANT_CACHE=str(own_cache), PLIANT_CACHE_LIMIT="0.001") for _ in range(2)]
    done = [process.communicate(timeout=120) for process in processes]
    assert [process.returncode for process in processes] == [0] * 2, done
    assert len({out for out, _ in done}) == 1


def test_several_processes_load_the_same_model(own_cache: Path) -> None:
    processes = [python(LOAD, PLIANT_CACHE=str(own_cache)) for _ in range(4)]
    done = [process.communicate(timeout=120) for process in processes]
    assert [process.returncode for process in processes] == [0] * 4, done
    assert len({out for out, _ in done}) == 1
    assert sorted(file.suffix for file in own_cache.iterdir()) == [".c", ".so"]


def test_threads_that_want_the_same_library_compile_it_once(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    call = compiler._call
    monkeypatch.setattr(compiler, "_call", lambda command, what: (calls.append(what), call(command, what))[1])
    with ThreadPoolExecutor(4) as pool:
        finals = list(pool.map(lambda _: pliant.load(text_of(BODY.format(k=2))).simulate(stop=1).final["x"], range(4)))
    assert len(calls) == 1
    assert len(set(finals)) == 1


def test_no_compiler(tmp_path: Path) -> None:
    """A clear error from load; inspect works without one."""
    script = (
        "import sys\n"
        "sys.modules['ziglang'] = None\n"
        "text = text(2)\n"
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
    script = "try:\n    pliant.load(text(2))\nexcept pliant.CompileError as error:\n    print(error)\n"
    process = python(script, CC=str(bad), PLIANT_CACHE=str(tmp_path / "cache"))
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert "no licence" in out
    assert not list((tmp_path / "cache").glob("*.so"))


def test_a_cache_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    script = "try:\n    pliant.load(text(2))\nexcept pliant.CompileError as error:\n    print(error)\n"
    process = python(script, PLIANT_CACHE=str(tmp_path / "file" / "cache"))
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert "PLIANT_CACHE" in out


def test_compiler_is_found() -> None:
    assert find_compiler()
