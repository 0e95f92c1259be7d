"""C files that are not models, compilers that are not there, models that refuse: typed errors with advice."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import MODELS, compiled_file

import pliant
from pliant import (
    ArgumentError,
    CompileError,
    InitialValueError,
    ModelError,
    ModelEvaluationError,
    UnknownNameError,
)
from pliant.compiling import compiler

HEAD = """
#include "pliant.h"
static pl_status rhs(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real *f) {
    (void)self, (void)t, (void)u;
    f[0] = -x[0];
    f[1] = -x[1];
    return PL_OK;
}
static const int8_t timed[] = {PL_ROOT_TIMED}, string[] = {PL_TYPE_STRING}, nine[] = {9};
static const pl_real nan_[2] = {0.0 / 0.0, 1.0}, inf_[2] = {1.0, 1.0 / 0.0}, minus[2] = {-1.0, 1.0};
static const char *const latin[2] = {"x", "\\xfc"};
static pl_status roots(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real *g) {
    (void)self, (void)x, (void)u;
    g[0] = t - 0.5;
    return PL_OK;
}
static const pl_real start[2] = {1.0, 1.0}, one[4] = {1.0, 1.0, 1.0, 1.0};
static const int column[3] = {0, 1, 2}, full[3] = {0, 2, 4}, down[3] = {0, 2, 1}, late[3] = {1, 1, 2};
static const int diagonal[2] = {0, 1}, outside[2] = {0, 2}, negative[2] = {-1, 1}, twice[4] = {0, 0, 0, 1};
static const int square[4] = {0, 1, 0, 1};
static const int *const unused[] = {column, full, down, late, diagonal, outside, negative, twice, square};
const void *const keep[] = {unused, one, start, timed, string, nine, nan_, inf_, minus, latin,
                            (const void *)rhs, (const void *)roots};
"""


def write(folder: Path, fields: str) -> Path:
    path = folder / "made.c"
    path.write_text(f"{HEAD}const pl_model pliant_model = {{{fields}}};\n")
    return path


GOOD = ".abi = PL_ABI, .n_x = 2, .x_start = start, .rhs = rhs"


def test_the_least_model_works(tmp_path: Path) -> None:
    result = pliant.native(write(tmp_path, GOOD)).simulate(1)
    assert result.names[:2] == ("x[0]", "x[1]")


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        (GOOD.replace("PL_ABI", "99"), "abi 99"),
        (GOOD.replace(".n_x = 2", ".n_x = -1"), "n_x"),
        (GOOD + ", .n_u = -1", "sizes"),
        (GOOD.replace(".x_start = start, ", ""), "lacks x_start"),
        (GOOD.replace(", .rhs = rhs", ""), "lacks rhs"),
        (GOOD + ", .n_roots = 1", "lacks roots"),
        (GOOD + ", .n_roots = 1, .root_kind = timed", "lacks roots, root_range"),
        (GOOD + ", .n_y = 1", "lacks outputs"),
        (GOOD + ", .n_d = 1", "lacks memory, set_memory"),
        (GOOD + ", .n_delays = 1", "lacks delayed, set_history"),
        (GOOD + ", .tangents = PL_OF_RHS", "lacks tangent"),
        (GOOD + ", .n_p = 1, .p_type = string", "lacks text"),
        (GOOD + ", .n_kinks = 1", "lacks kink_range"),
        (GOOD + ", .n_p = 1, .p_type = nine", r"p_type\[0\] = 9"),
        (GOOD + ", .n_roots = 1, .roots = roots, .root_direction = nine", r"root_direction\[0\] = 9"),
        (GOOD + ", .x_nominal = inf_", r"nominal value of x\[1\] is inf"),
        (GOOD + ", .x_nominal = nan_", r"nominal value of x\[0\] is nan"),
        (GOOD + ", .x_nominal = minus", r"nominal value of x\[0\] is -1"),
        (GOOD + ", .x_max = nan_", r"x_max\[0\] is not a number"),
        (GOOD + ", .x_name = latin", r"x_name\[1\] is not UTF-8"),
        (GOOD + ", .jac = {2, 2, column, 0}", r"lacks jac\.row"),
        (GOOD + ", .jac = {3, 2, column, diagonal}", "3 x 2, but 2 x 2"),
        (GOOD + ", .mass = {2, 2, column, diagonal}, .mass_value = nan_", "not finite"),
        (GOOD + ", .mass = {2, 2, column, diagonal}", "lacks mass_value"),
        (GOOD + ", .jac = {2, 2, column, outside}", "pattern of the Jacobian"),
        (GOOD + ", .jac = {2, 2, column, negative}", "pattern of the Jacobian"),
        (GOOD + ", .jac = {2, 2, full, twice}", "pattern of the Jacobian"),
        (GOOD + ", .jac = {2, 2, down, diagonal}", "pattern of the Jacobian"),
        (GOOD + ", .jac = {2, 2, late, diagonal}", "pattern of the Jacobian"),
        (GOOD + ", .mass = {2, 2, column, outside}, .mass_value = one", "pattern of the mass"),
        (GOOD + ", .mass = {2, 2, full, square}, .mass_value = one", "mass matrix has rank 1"),
    ],
)
def test_descriptions_that_make_no_sense(fields: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=words) as caught:
        pliant.native(write(tmp_path, fields))
    assert "made" in str(caught.value)
    assert caught.value.hint or "must" in caught.value.message


def test_units_that_are_no_text(tmp_path: Path) -> None:
    model = pliant.native(write(tmp_path, GOOD + ", .x_unit = latin"))
    with pytest.raises(ModelError, match=r"x_unit\[1\] is not UTF-8"):
        _ = model.variables


def test_an_instance_larger_than_memory(tmp_path: Path) -> None:
    model = pliant.native(write(tmp_path, GOOD + ", .memory_size = (size_t)-1"))
    with pytest.raises(ModelError, match="no memory for an instance") as caught:
        model.simulate(stop=1)
    assert "memory_size" in caught.value.hint


@pytest.mark.parametrize("method", ["auto", "bdf", "radau5", "dopri5", "lieuler", "rk4"])
def test_a_status_that_is_no_answer(method: str, tmp_path: Path) -> None:
    """PL_TERMINATED of a right-hand side: it looked like an end of the run."""
    path = tmp_path / "made.c"
    path.write_text(
        HEAD.replace("return PL_OK", "return PL_TERMINATED", 1) + f"const pl_model pliant_model = {{{GOOD}}};"
    )
    model = pliant.native(path)
    with pytest.raises(ModelEvaluationError, match="refuses to evaluate its equations"):
        model.simulate(stop=1, method=method, step=0.1 if method in ("lieuler", "rk4") else None)


def test_c_that_does_not_compile(tmp_path: Path) -> None:
    path = tmp_path / "typo.c"
    path.write_text('#include "pliant.h"\n\nint oops = ;\n')
    with pytest.raises(CompileError, match=r"typo.c:3") as caught:
        pliant.native(path)
    assert caught.value.hint


def test_missing_header(tmp_path: Path) -> None:
    path = tmp_path / "lost.c"
    path.write_text('#include "nowhere.h"\n')
    with pytest.raises(CompileError, match=r"nowhere\.h"):
        pliant.native(path)


def test_missing_symbol(tmp_path: Path) -> None:
    path = tmp_path / "empty.c"
    path.write_text("int nothing;\n")
    with pytest.raises(ModelError, match="pliant_model") as caught:
        pliant.native(path)
    assert "PL_ABI" in caught.value.hint


@pytest.mark.parametrize("name", ["none.c", ""])
def test_no_such_file(name: str, tmp_path: Path) -> None:
    with pytest.raises(CompileError, match="no file") as caught:
        pliant.native(tmp_path / name)
    assert caught.value.hint


@pytest.mark.parametrize(
    ("source", "kind", "words"),
    [
        ("nowhere.c", ModelError, "no file nowhere.c"),
        ("nowhere.mo", ModelError, "nowhere.mo"),
        ("pump.fmu", pliant.FmuError, "no file pump.fmu"),
    ],
)
def test_load(source: str, kind: type[pliant.PliantError], words: str) -> None:
    with pytest.raises(kind, match=words) as caught:
        pliant.load(source)
    assert caught.value.hint


def test_load_of_another_kind_of_file() -> None:
    with pytest.raises(ArgumentError, match="kind of file") as caught:
        pliant.load(__file__)
    assert ".c" in caught.value.hint


def test_load_reads_c_files() -> None:
    assert pliant.load(MODELS / "circuit.c").name == "circuit"


# ----------------------------------------------------------------------------------- compiler and cache


@pytest.fixture
def fresh_compiler() -> Iterator[None]:
    """find_compiler remembers: forget before and after."""
    compiler.find_compiler.cache_clear()
    yield
    compiler.find_compiler.cache_clear()


@pytest.mark.usefixtures("fresh_compiler")
def test_no_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setitem(sys.modules, "ziglang", None)
    with pytest.raises(CompileError, match="no C compiler") as caught:
        pliant.native(MODELS / "circuit.c")
    assert "gcc" in caught.value.hint
    assert "pip install" in caught.value.hint


@pytest.mark.usefixtures("fresh_compiler")
def test_cc_that_cannot_be_started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    broken = tmp_path / "brokencc"
    broken.write_bytes(b"\x7fELF nonsense")
    broken.chmod(0o755)
    monkeypatch.setenv("CC", str(broken))
    with pytest.raises(CompileError, match=r"could not be started|refuses") as caught:
        pliant.native(MODELS / "circuit.c")
    assert caught.value.hint


@pytest.mark.usefixtures("fresh_compiler")
def test_cc_chooses_the_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = shutil.which("gcc") or shutil.which("cc") or shutil.which("clang")
    monkeypatch.setenv("CC", f"{chosen} -O1")
    assert compiler.find_compiler() == (chosen, "-O1")


def test_cache_that_cannot_be_made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("not a folder")
    monkeypatch.setenv("PLIANT_CACHE", str(file / "below"))
    with pytest.raises(CompileError, match="cache folder") as caught:
        pliant.native(MODELS / "circuit.c")
    assert str(file) in str(caught.value)
    assert "PLIANT_CACHE" in caught.value.hint


@pytest.mark.usefixtures("no_override")
def test_cache_without_permission(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = tmp_path / "closed"
    folder.mkdir(mode=0o500)
    monkeypatch.setenv("PLIANT_CACHE", str(folder))
    with pytest.raises(CompileError, match="cache folder") as caught:
        pliant.native(MODELS / "circuit.c")
    assert "PLIANT_CACHE" in caught.value.hint


def test_cache_is_used_and_sees_changes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PLIANT_CACHE", str(tmp_path / "cache"))
    path = write(tmp_path, GOOD)
    pliant.native(path)
    made = sorted((tmp_path / "cache").iterdir())
    pliant.native(path)
    assert sorted((tmp_path / "cache").iterdir()) == made
    assert len(made) == 1
    write(tmp_path, GOOD + ', .name = "other"')
    assert pliant.native(path).name == "other"
    assert len(list((tmp_path / "cache").iterdir())) == 2
    pliant.native(path, defines={"NDEBUG": 1})  # changes no text: the same library


# -------------------------------------------------------------------------------------- models that refuse


def test_parameters_refused_in_the_models_words() -> None:
    with pytest.raises(ModelError, match=r"circuit.*R and C must be positive"):
        compiled_file("circuit").simulate(1, parameters={"R": -1.0})


@pytest.mark.parametrize("method", ["auto", "bdf", "radau5", "dopri5"])
def test_evaluation_refused_in_the_models_words(method: str) -> None:
    """The model returns PL_RETRY above 50 V: the solver tries smaller steps, then says why it stops."""
    with pytest.raises(ModelEvaluationError, match=r"circuit.*beyond 50 V") as caught:
        compiled_file("circuit").simulate(5, inputs={"source": 90.0}, method=method)
    assert caught.value.hint
    assert caught.value.result["v"][-1] == pytest.approx(50.0, abs=1.0)


def test_start_value_outside_its_bounds() -> None:
    with pytest.raises(InitialValueError, match=r"200 of v lies outside max = 100") as caught:
        compiled_file("circuit").simulate(1, start_values={"v": 200.0})
    assert caught.value.hint


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"inputs": {"sourse": 1.0}}, "did you mean 'source'"),
        ({"parameters": {"levl": 1.0}}, "did you mean 'level'"),
        ({"outputs": ["powr"]}, "did you mean 'power'"),
        ({"start_values": {"w": 1.0}}, "there are v"),
    ],
)
def test_unknown_names(more: dict[str, object], words: str) -> None:
    with pytest.raises(UnknownNameError, match=words):
        compiled_file("circuit").simulate(1, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (float("nan"), "finite"),
        ("x", "number"),
        (([0, 1], [0.0]), "shape"),
        (([0, 1], [0.0, float("inf")]), "not finite"),
        (([1, 0], [0.0, 1.0]), "ascend"),
        (([0, 0, 0], [0.0, 1.0, 2.0]), "more than twice"),
        (([], []), "shape"),
        ([1.0, 2.0, 3.0], "pair"),
        ({"a": 1}, "number"),
    ],
)
def test_inputs(value: object, words: str) -> None:
    with pytest.raises(ArgumentError, match=words) as caught:
        compiled_file("circuit").simulate(1, inputs={"source": value})
    assert "source" in str(caught.value)


def test_input_function_that_raises() -> None:
    def source(t: float) -> float:
        raise LookupError("no data")

    with pytest.raises(LookupError, match="no data"):
        compiled_file("circuit").simulate(1, inputs={"source": source})


def test_input_function_that_is_not_finite() -> None:
    with pytest.raises(pliant.NonFiniteError, match="source") as caught:
        compiled_file("circuit").simulate(1, inputs={"source": lambda t: 1.0 if t < 0.5 else float("nan"), "bias": 2.0})
    assert caught.value.time == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize("size", ["n_x", "n_u", "n_p", "n_y", "n_roots", "n_d"])
def test_sizes_that_no_memory_holds(size: str, tmp_path: Path) -> None:
    fields = f".abi = PL_ABI, .x_start = start, .rhs = rhs, .{size} = 2000000000"
    with pytest.raises(ModelError, match=f"made: {size} = 2000000000 is more than the 5000000"):
        pliant.native(write(tmp_path, fields))
