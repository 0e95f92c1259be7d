"""The text of a step: operations, branches, instructions, interface, memory."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support_factor import FactorSolve
from support_modelica import text_of
from support_stepper import Case
from support_tools import present
from test_realtime_stepper import BRANCHING, CHOICES, LOOP, RELATIONS, example

from pliant.errors import NotSupportedError
from pliant.realtime.code.instructions import count_instructions
from pliant.realtime.code.make import StepCode
from pliant.realtime.code.run import STEP_FLAGS, Stepper
from pliant.realtime.sparsing.elimination import eliminate

pytestmark = pytest.mark.usefixtures("optimized")


def random_matrix(n: int, density: float, seed: int) -> tuple[set[tuple[int, int]], np.ndarray[Any, Any]]:
    rng = np.random.default_rng(seed)
    a = np.where(rng.random((n, n)) < density, rng.normal(size=(n, n)), 0.0)
    a += np.diag(4.0 + np.abs(a).sum(axis=1))
    return {(int(i), int(j)) for i, j in np.argwhere(a)}, a


@pytest.mark.parametrize("precision", ["double", "float"])
@pytest.mark.parametrize("style", ["straight-line", "tables"])
def test_factor_solve_against_numpy(style: str, precision: str) -> None:
    entries, a = random_matrix(25, 0.12, 3)
    elimination = eliminate(25, entries)
    values = np.array([a[i, j] for i, j in elimination.entries])
    right = np.arange(1.0, 26.0)
    found = FactorSolve(elimination, style=style, precision=precision).solve(values, right)
    assert np.abs(found - np.linalg.solve(a, right)).max() < (1e-12 if precision == "double" else 1e-5)


@pytest.mark.parametrize("seed", range(4))
def test_operations_of_the_factorisation_are_those_of_the_model(seed: int) -> None:
    entries, _ = random_matrix(20 + 5 * seed, 0.1, seed)
    n = 20 + 5 * seed
    elimination = eliminate(n, entries)
    one = FactorSolve(elimination)
    assert one.factor_operations.flops == elimination.factor_flops + n
    assert one.factor_operations.div == n
    assert one.operations.flops == elimination.factor_flops + n + elimination.solve_flops


def operators(text: str, function: str) -> dict[str, int]:
    """Operators in the C text of one function, counted by characters."""
    body = text[text.index(f"void {function}(") :]
    body = body[body.index("{") : body.index("\n}")]
    right = [line.split("=", 1)[1] for line in body.split("\n") if " = " in line]
    joined = "\n".join(right)
    return {
        "add": len(re.findall(r" [+-] ", joined)),
        "mul": joined.count(" * "),
        "div": joined.count(" / "),
        "neg": len(re.findall(r"(?<![\w)\]] )-(?=[A-Za-z_(])", joined)),
    }


def test_counted_operations_stand_in_the_text() -> None:
    entries, _ = random_matrix(15, 0.15, 8)
    one = FactorSolve(eliminate(15, entries))
    found = operators(one.text, "factor_solve")
    assert found["add"] == one.operations.add
    assert found["mul"] == one.operations.mul
    assert found["div"] == one.operations.div


def test_operations_of_a_step_by_parts() -> None:
    case = example("dc_drive", 1e-3)
    code = case.code(fold_constants=False)
    parts = code.operations
    n = case.n
    assert parts["factor"].flops == code.elimination.factor_flops + n
    assert parts["solve"].flops == code.elimination.solve_flops + n  # and tau f
    total = sum(parts[name].flops for name in ("f", "jacobian", "factor", "solve"))
    assert parts["step"].flops == total
    assert parts["step"].functions == {"exp": 1}
    text = operators(code.text, f"{code.name}_step_jump")
    assert text["div"] == parts["step"].div
    assert text["mul"] == parts["step"].mul  # the clock is counted where the model reads time


def test_tables_count_the_same_operations() -> None:
    case = example("dc_drive", 1e-3, "dae")
    straight, tables = case.code(fold_constants=False), case.code(style="tables")
    assert tables.operations["factor"].flops == straight.operations["factor"].flops
    assert tables.operations["solve"].flops == straight.operations["solve"].flops - case.n


def test_folding_of_constants_saves_operations() -> None:
    case = example("heat_rod", 5.0)
    folded, plain = case.code(), case.code(fold_constants=False)
    assert folded.operations["factor"].total == 0  # a constant Jacobian is factored once
    assert plain.operations["factor"].flops == case.elimination().factor_flops + case.n
    a, b = Stepper(folded).run(None, 20), Stepper(plain).run(None, 20)
    assert np.abs(a - b).max() < 1e-10 * np.abs(b).max()


def test_dropped_entries_cost_nothing() -> None:
    """The Jacobian's operations shrink with the mask, down to none."""
    case = Case(text_of(LOOP), 1e-2)
    full = case.code()
    diagonal = case.code({(i, i) for i in range(case.n)} - {(1, 1)})
    assert 0 < diagonal.operations["jacobian"].flops < full.operations["jacobian"].flops


# ------------------------------------------------------------------------------------------------ no branches


WARNINGS = ("-Wall", "-Wextra", "-Werror", "-pedantic")


def conditional_jumps(code: StepCode, compiler: str, where: Path) -> list[str]:
    """Conditional jumps in the functions of the step."""
    (where / f"{code.name}.h").write_text(code.header)
    source = where / "step.c"
    source.write_text(code.text)
    done = subprocess.run(
        [compiler, *STEP_FLAGS, *WARNINGS, "-c", str(source), "-o", str(where / "step.o")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[:2000]
    listing = subprocess.run(
        ["objdump", "-d", "--no-show-raw-insn", str(where / "step.o")], capture_output=True, text=True, check=True
    ).stdout
    found = []
    for block in listing.split("\n\n"):
        head = re.match(r"[0-9a-f]+ <(\w+)(?:\.\w+)*>:", block.strip())
        if head and (head[1].startswith(f"{code.name}_step") or head[1].startswith(("table_", "pl_"))):
            assert "ret" in block or re.search(r"\bjmp\b", block)  # one step ends in the other
            found += re.findall(r"\b(?:j(?!mp)[a-z]+|b\.[a-z]+|cbn?z|tbn?z)\b.*", block)
    return found


STEPS: list[tuple[str, str, dict[str, Any]]] = [
    ("choices", CHOICES, {}),
    ("relations", RELATIONS, {}),
    ("branching", BRANCHING, {}),
    ("branching", BRANCHING, {"precision": "float"}),
    ("branching", BRANCHING, {"order": 2, "monitor": True}),
    ("loop", LOOP, {"order": 2}),
]


@pytest.mark.skipif(not shutil.which("objdump"), reason="objdump is missing")
@pytest.mark.parametrize("compiler", present("gcc", "clang"))
@pytest.mark.parametrize(("name", "body", "options"), STEPS)
def test_no_conditional_jumps(name: str, body: str, options: dict[str, Any], compiler: str, tmp_path: Path) -> None:
    case = Case(text_of(body), 1e-2)
    assert conditional_jumps(case.code(**options), compiler, tmp_path) == []


@pytest.mark.skipif(not shutil.which("objdump") or not shutil.which("gcc"), reason="objdump or gcc is missing")
def test_the_search_for_jumps_finds_them(tmp_path: Path) -> None:
    code = example("circuit", 1e-2).code()
    code.text = code.text.replace("m->step++;", "if (m->x[0] > 5) memset(m, 1, sizeof *m);\n    m->step++;")
    assert conditional_jumps(code, "gcc", tmp_path)


@pytest.mark.parametrize("options", [{}, {"monitor": True}])
def test_every_step_takes_the_same_instructions(options: dict[str, Any]) -> None:
    case = Case(text_of(BRANCHING), 5e-2)
    stepper = Stepper(case.code(**options))
    before = stepper.save()
    try:
        found = count_instructions(stepper, None, None, 60)
    except NotSupportedError as error:
        pytest.skip(str(error))
    assert len(set(found)) == 1
    assert 50 < found[0] < 2000
    assert stepper.save() == before
    total = count_instructions(stepper, None, None, 60, every=20, everything=True)
    assert len(total) == 3
    assert min(total) > found[0]


# ------------------------------------------------------------------------------------------------ interface

PROGRAM = """
#include "M.h"
#include <stdio.h>
int main(void) {
    M_parameters p;
    M_inputs u = {0.5};
    M_outputs y;
    static M m, copy;
    M_default_parameters(&p);
    p.a = 2.5;
    if (M_init(&m, &p, &u)) return 1;
    for (int k = 0; k < 100; k++) M_step(&m, &u);
    M_save(&m, &copy);
    M_step(&m, &u);
    M_restore(&m, &copy);
    M_step(&m, &u);
    M_get_outputs(&m, &u, &y);
    printf("%.17g %.17g %d\\n", m.x[0], y.y, (int)(M_state_size() == sizeof m));
    return 0;
}
"""


def test_the_files_compile_alone_as_c99(tmp_path: Path) -> None:
    case = Case(text_of(LOOP), 1e-2)
    code = case.code()
    (tmp_path / "M.h").write_text(code.header)
    (tmp_path / "M.c").write_text(code.text)
    (tmp_path / "main.c").write_text(PROGRAM)
    compiler = shutil.which("gcc") or shutil.which("cc") or "cc"
    flags = ["-std=c99", "-O2", "-Wall", "-Wextra", "-Werror", "-pedantic", "-ffp-contract=off", "-fno-math-errno"]
    subprocess.run(
        [compiler, *flags, "M.c", "main.c", "-o", "main", "-lm"], cwd=tmp_path, check=True, capture_output=True
    )
    words = subprocess.run([str(tmp_path / "main")], capture_output=True, text=True, check=True).stdout.split()
    stepper = Stepper(code, {"a": 2.5})
    stepper.reset(u=[0.5])
    found = stepper.run(np.full((101, 1), 0.5), 101)
    assert float(words[0]) == found[-1, 0]
    assert float(words[1]) == stepper.outputs([0.5])[0]
    assert words[2] == "1"


def test_parameters_that_divide_must_not_vanish() -> None:
    body = "  parameter Real C = 2;\n  Real x(start = 1, fixed = true);\nequation\n  C*der(x) = -x;"
    code = Case(text_of(body), 1e-2).code()
    with pytest.raises(Exception, match="divisor 1"):
        Stepper(code, {"C": 0.0})


@pytest.mark.parametrize("options", [{}, {"monitor": True}, {"precision": "float"}, {"style": "tables", "order": 2}])
def test_memory_is_known(options: dict[str, Any]) -> None:
    code = Case(text_of(LOOP), 1e-2).code(**options)
    assert code.memory["instance"] == Stepper(code).instance_size
    assert code.memory["stack"] > 0


def test_no_heap_no_files_no_globals() -> None:
    for body in (LOOP, BRANCHING):
        code = Case(text_of(body), 1e-2).code(monitor=True)
        assert not re.search(r"\b(malloc|free|printf|FILE|stdio|stdlib)\b", code.text + code.header)
        for line in re.findall(
            r"^(?:static )?(?!inline|const|PL_|void|typedef|int\b|size_t|unsigned)\w.*;$", code.text, re.M
        ):
            assert line.startswith(("static const", "typedef")), line
        assert re.findall(r"^static (?!const|inline|void|PL_)", code.text, re.M) == []


def test_names_that_c_knows() -> None:
    body = """
  parameter Real sin = 2, dx = 3, w = 4;
  Real t(start = 1, fixed = true);
  Real fabs = sin*t;
equation
  der(t) = -cos(fabs) + dx*w*abs(t);
"""
    case = Case(text_of(body, "exp"), 1e-3)
    code = case.code(precision="float")
    assert code.name == "model_exp"
    assert np.abs(Stepper(code).run(None, 10) - case.reference(10)).max() < 1e-5


def test_units_and_words_are_in_the_header() -> None:
    body = """
  parameter Real R(unit = "Ohm") = 3 "Resistance */ of the coil";
  input Real u(unit = "V") "Voltage";
  output Real i(start = 0, fixed = true, unit = "A");
equation
  der(i) = u - R*i;
"""
    code = Case(text_of(body), 1e-2).code()
    assert "M_real R; /* [Ohm] Resistance * / of the coil */" in code.header
    assert "M_real u; /* [V] Voltage */" in code.header
    assert "M_real i; /* [A] */" in code.header
    assert (code.x_names, code.u_names, code.p_names, code.y_names) == (("i",), ("u",), ("R",), ("i",))


def test_the_text_is_the_same_every_time_and_leaves_no_trace() -> None:
    case = Case(text_of(LOOP), 1e-2)
    n_variables, n_nodes = len(case.sorted.system.variables), len(case.sorted.system.graph.nodes)
    first, second = case.code(), case.code()
    assert first.text == second.text
    assert first.header == second.header
    assert len(case.sorted.system.variables) == n_variables
    assert len(case.sorted.system.graph.nodes) == n_nodes
