"""The folder that a plan writes: it builds, its self-test passes and can fail, the same plan gives the same bytes."""

from __future__ import annotations

import dataclasses
import errno
import json
import math
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support_tools import present, tool
from support_written import drive, pipe_plan, small_model, small_plan

import pliant
from pliant.errors import ArgumentError, OutputError
from pliant.realtime.build import make_plan
from pliant.realtime.delivery.recorded import record, sizes
from pliant.realtime.delivery.text import numbers
from pliant.realtime.delivery.write import write_plan
from pliant.realtime.plan import Plan

STRICT = "-O2 -std=c99 -Wall -Wextra -Werror -pedantic"
COMPILERS = present("gcc", "clang")


def make(folder: Path, *words: str, compiler: str = "cc") -> subprocess.CompletedProcess[str]:
    run = ["make", "-C", str(folder), f"CC={compiler}", f"CFLAGS={STRICT}", *words]
    return subprocess.run(run, capture_output=True, text=True, check=False)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def array(text: str, name: str) -> np.ndarray[Any, Any]:
    """Numbers of a C array."""
    found = re.search(rf" {name}\[\] = {{(.*?)}};", text, re.DOTALL)
    assert found
    return np.array([float(word.strip().rstrip("f")) for word in found[1].split(",")])


@pytest.mark.parametrize("compiler", COMPILERS)
def test_pipe_builds_and_passes(compiler: str, tmp_path: Path) -> None:
    folder = pipe_plan().write(tmp_path / "pipe")
    done = make(folder, "all", "test", compiler=compiler)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "all checks passed" in done.stdout
    assert "FAILED" not in done.stdout
    example = subprocess.run([str(folder / "example_main")], capture_output=True, text=True, check=False)
    assert example.returncode == 0
    assert "after 1000 steps" in example.stdout


CASES = [
    ("double", "flag", 1, "new"),
    ("float", "flag", 1, "new"),
    ("double", "fallback", 1, "held"),
    ("float", "off", 2, "new"),
]


@pytest.mark.parametrize(("precision", "monitor", "order", "inputs"), CASES)
@pytest.mark.parametrize("compiler", COMPILERS)
def test_small_model_builds_and_passes(
    compiler: str, precision: str, monitor: str, order: int, inputs: str, tmp_path: Path
) -> None:
    folder = small_plan(precision, monitor, order, inputs).write(tmp_path / "small")
    done = make(folder, "all", "test", compiler=compiler)
    assert done.returncode == 0, done.stdout + done.stderr
    assert ("a guarded step that does not fall back" in done.stdout) == (monitor == "fallback")
    assert ("monitor:" in done.stdout) == (monitor != "off")
    assert "300 steps, 100 points" in done.stdout


def test_cmake_builds_and_tests(tmp_path: Path) -> None:
    folder = small_plan().write(tmp_path / "small")
    build = tmp_path / "build"
    for command in (
        [tool("cmake"), "-S", str(folder), "-B", str(build), "-DCMAKE_C_FLAGS=-Werror"],
        ["cmake", "--build", str(build)],
        ["ctest", "--test-dir", str(build), "--output-on-failure"],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("precision", ["double", "float"])
def test_a_changed_coefficient_is_found(precision: str, tmp_path: Path) -> None:
    """One number of the step, one percent larger."""
    folder = small_plan(precision).write(tmp_path / "small")
    file = folder / "Small.c"
    text = file.read_text()
    body = text.index("void Small_step_jump(")
    suffix = "f" if precision == "float" else ""
    found = next(re.finditer(r"(?<![\w.])500\.0f?|-500\.0f?|5\.0f?(?=;| )", text[body:]))
    value = float(found[0].rstrip("f"))
    place = body + found.start()
    file.write_text(f"{text[:place]}{value * 1.01!r}{suffix}{text[place + len(found[0]) :]}")
    done = make(folder, "test")
    assert done.returncode != 0
    assert "FAILED states follow the stored trajectory" in done.stdout


def test_a_changed_default_and_a_broken_restore_are_found(tmp_path: Path) -> None:
    folder = small_plan().write(tmp_path / "small")
    file = folder / "Small.c"
    text = file.read_text()
    assert text.count("    .a = 2.5,") == 1
    file.write_text(text.replace("    .a = 2.5,", "    .a = 2.5000001,"))
    assert "FAILED default parameters" in make(folder, "test").stdout
    broken = text.replace("    memcpy(m, from, sizeof *m);", "    memcpy(m, from, sizeof *m);\n    m->x[1] += 1e-14;")
    assert broken != text
    file.write_text(broken)
    assert "FAILED a restored instance" in make(folder, "test").stdout


def test_stored_trajectory_is_that_of_the_model(tmp_path: Path) -> None:
    """Against an accurate simulation: the error of the Euler method, not more."""
    folder = small_plan().write(tmp_path / "small")
    text = (folder / "selftest_data.h").read_text()
    x = array(text, "x_table").reshape(100, 3)
    u = array(text, "u_table")
    assert np.array_equal(u, [drive(0.01 * k) for k in range(1, 301)])
    truth = small_model().simulate(stop=3.0, inputs={"u": drive}, parameters={"a": 2.5})
    names = small_plan().names
    assert sorted(names) == ["v", "w", "x"]
    for k, name in enumerate(names):
        size = np.ptp(x[:, k])
        assert abs(x[-1, k] - truth.final[name]) < 0.03 * size, name
    assert array(text, "p_default").tolist() == [2.5, 3.0, 20.0]


def test_inputs_of_a_held_plan_are_those_of_the_step_before(tmp_path: Path) -> None:
    folder = small_plan("double", "fallback", 1, "held").write(tmp_path / "small")
    u = array((folder / "selftest_data.h").read_text(), "u_table")
    assert np.allclose(u, [drive(0.01 * k) for k in range(300)], rtol=0, atol=1e-13)
    assert "inputs of the step before" in (folder / "README.md").read_text()


def test_same_plan_same_bytes(tmp_path: Path) -> None:
    small_plan.cache_clear()  # other tests may have timed it
    first = contents(small_plan().write(tmp_path / "first"))
    small_plan.cache_clear()
    again = contents(small_plan().write(tmp_path / "a" / "b" / "again"))
    assert first == again
    assert sorted(first) == sorted(
        [
            "Small.c",
            "Small.h",
            "Small.a2l",
            "selftest.c",
            "selftest_data.h",
            "example_main.c",
            "Makefile",
            "CMakeLists.txt",
            "README.md",
            "evidence.txt",
            "evidence.json",
            "plan.json",
        ]
    )


def test_plan_json_tells_how_to_make_it_again(tmp_path: Path) -> None:
    plan = pipe_plan()
    folder = plan.write(tmp_path / "pipe")
    told = json.loads((folder / "plan.json").read_text())
    kept = np.zeros_like(plan.mask)
    names = told["states"]
    for row, column in told["kept"]:
        kept[names.index(row), names.index(column)] = True
    assert np.array_equal(kept, plan.mask)
    assert [(names.index(i), names.index(j)) for i, j in told["elimination"]] == list(plan.outcome.elimination.pivots)
    assert told["model"]["sha256"] == plan.outcome.model.digest
    assert (told["step"], told["tolerance"], told["theta"], told["order"]) == (0.1, 0.02, 0.5, 1)
    assert told["options"]["reference"] is False
    evidence = json.loads((folder / "evidence.json").read_text())
    assert evidence["margin_kept"] == pytest.approx(plan.margin_kept)
    assert (folder / "evidence.txt").read_text() == plan.evidence.text
    small = json.loads((small_plan().write(tmp_path / "small") / "plan.json").read_text())["scenarios"][0]
    assert small["parameters"] == {"a": 2.5}
    assert small["inputs"]["u"]["values"][100] == pytest.approx(drive(1.0))


def test_readme_has_the_figures(tmp_path: Path) -> None:
    plan = small_plan("double", "fallback", 1, "held")
    text = (plan.write(tmp_path / "small") / "README.md").read_text()
    code = plan.code
    step = code.operations["step"]
    assert f"| **whole step** | {step.add} | {step.mul} | {step.div} |" in text
    assert f"| instance | {code.memory['instance']} |" in text
    assert "| `u` | `u` |" in text
    assert "| `a` | `a` | 2.5 |" in text
    assert "Small_step_guarded" in text
    assert "Not measured" in text


# ------------------------------------------------------------------------------------------------- bad targets


def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "mine.txt").write_text("mine")
    (folder / "Makefile").write_text("old")
    with pytest.raises(OutputError, match="not empty"):
        small_plan().write(folder)
    assert contents(folder) == {"mine.txt": b"mine", "Makefile": b"old"}
    small_plan().write(folder, overwrite=True)
    assert (folder / "mine.txt").read_text() == "mine"
    assert "Small.o" in (folder / "Makefile").read_text()
    assert [path for path in folder.iterdir() if path.is_dir()] == []


def test_an_empty_folder_is_filled(tmp_path: Path) -> None:
    assert (small_plan().write(tmp_path) / "Small.c").is_file()


def test_a_file_or_nonsense_as_folder(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("x")
    with pytest.raises(OutputError, match="not a folder"):
        small_plan().write(file)
    with pytest.raises(OutputError):
        small_plan().write(file / "below")
    with pytest.raises(ArgumentError):
        small_plan().write("")
    assert contents(tmp_path) == {"file": b"x"}


@pytest.mark.parametrize("exists", [False, True])
def test_a_full_disk_leaves_nothing(exists: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "out"
    if exists:
        folder.mkdir()
    plan = small_plan()
    assert plan.code.text
    real = Path.write_bytes
    calls = []

    def full(self: Path, data: bytes) -> int:
        calls.append(self)
        if len(calls) == 4:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(self, data)

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OutputError, match="No space left"):
        plan.write(folder)
    assert len(calls) == 4
    assert list(tmp_path.iterdir()) == ([folder] if exists else [])
    assert not exists or list(folder.iterdir()) == []


def test_a_folder_that_may_not_be_written_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(**_: object) -> str:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("tempfile.mkdtemp", refused)
    with pytest.raises(OutputError, match="Permission denied"):
        small_plan().write(tmp_path / "out")


# ------------------------------------------------------------------------------------------------- the record


def test_numbers_read_back_bit_by_bit() -> None:
    values = [0.1, -1.0, 1e-300, 1.7976931348623157e308, math.pi, 5e-324]
    assert [float(x) for x in numbers(values, "double").split(",")] == values
    singles = np.array([0.1, 16777217.0, 1e-38, -3.4e38], dtype=np.float32)
    read = [np.float32(x.strip().removesuffix("f")) for x in numbers(singles, "float").split(",")]
    assert read == singles.tolist()
    assert numbers([math.inf, -math.inf, math.nan], "double") == "INFINITY, -INFINITY, NAN"
    assert numbers([1e300], "float") == "INFINITY"


def test_sizes_are_ranges_but_never_nothing() -> None:
    values = np.array([[1.0, 100.0, 0.0], [3.0, 100.0, 0.0]])
    assert sizes(values).tolist() == [2.0, 0.1, 1.0]


def test_tolerance_follows_the_precision() -> None:
    double, single = record(small_plan()), record(small_plan("float"))
    assert 1e-9 <= double.tolerance < 1e-6
    assert 1e-4 <= single.tolerance < 1e-2
    assert double.complete
    assert double.n_steps == 300


CHAOS = """
model Chaos "Duffing"
  Real x(start = 1, fixed = true), v(start = 0, fixed = true);
equation
  der(x) = v;
  der(v) = x - x^3 - 0.15*v + 0.3*cos(time);
end Chaos;
"""


def test_a_chaotic_run_is_cut_where_it_says_nothing(tmp_path: Path) -> None:
    plan = make_plan(
        pliant.load(CHAOS)._numeric,
        step=0.02,
        stop=300.0,
        tolerance=0.02,
        theta=0.5,
        order=1,
        scenarios=None,
        options={"search": "full", "reference": False, "certificate": False, "precision": "float", "monitor": "off"},
        report=lambda progress: None,
    )
    stored = record(plan)
    assert not stored.complete
    assert 100 < stored.n_steps < 5000  # fewer than what is stored of tame models
    assert stored.tolerance <= 1e-2
    done = make(plan.write(tmp_path / "chaos"), "test")
    assert done.returncode == 0, done.stdout


def test_a_model_called_like_a_file_of_the_folder(tmp_path: Path) -> None:
    plan = small_plan()
    other = Plan(plan.outcome, evidence=plan.evidence)
    code = plan.code
    renamed = {
        "name": "selftest",
        "text": code.text.replace("Small", "selftest"),
        "header": code.header.replace("Small", "selftest").replace("SMALL", "SELFTEST"),
        "driver": code.driver.replace("Small", "selftest"),
    }
    renamed["text"] = renamed["text"].replace("SMALL", "SELFTEST")
    other.__dict__["code"] = dataclasses.replace(code, **renamed)
    folder = write_plan(other, tmp_path / "out")
    done = make(folder, "test")
    assert done.returncode == 0, done.stdout + done.stderr
