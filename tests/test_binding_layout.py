"""Every struct that ctypes mirrors lies in memory as C lays it out: size, offset and size of each field, by name.

The mirrors are found in the package itself, so a new one cannot be forgotten. A small C program says what the compiler
makes of the headers.
"""

from __future__ import annotations

import ast
import ctypes
import importlib
import re
import subprocess
from functools import cache
from pathlib import Path

import pytest
from support import RUNTIME

import pliant
from pliant.compiling.compiler import find_compiler
from pliant.solve.binding import simulation

PACKAGE = Path(pliant.__file__).parent
BASES = ("Structure", "ctypes.Structure", "Union", "ctypes.Union")
# made within a function, from the members that the written code has: test_realtime_stepper_monitor.py reads them back
WITHIN_FUNCTIONS = {("realtime/code/run.py", "Flags")}


@cache
def found_in_text() -> dict[str, tuple[str, int]]:
    """Class -> file and depth of every class in the package that derives from ctypes.Structure."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if not any(base in text for base in ("Structure", "Union")):
            continue
        tree = ast.parse(text)
        top = set(tree.body)
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and any(ast.unparse(base) in BASES for base in node.bases):
                file = path.relative_to(PACKAGE).as_posix()
                if (file, node.name) not in WITHIN_FUNCTIONS:
                    assert node in top, f"{file}: {node.name} is made within a function"
                    found[node.name] = (file, node.lineno)
    return found


@cache
def mirrors() -> dict[str, type[ctypes.Structure]]:
    made = {}
    for name, (file, _) in found_in_text().items():
        module = importlib.import_module("pliant." + file.removesuffix(".py").replace("/", "."))
        made[name] = getattr(module, name)
    return made


def c_name(name: str) -> str:
    """The C type that a mirror stands for: the first word of its docstring."""
    found = re.match(r"pl_\w+", mirrors()[name].__doc__ or "")
    assert found, f"{name}: the docstring of a mirror begins with the name of the C type"
    return found[0]


def fields(mirror: type[ctypes.Structure]) -> list[str]:
    return [field[0] for field in mirror._fields_]


def c_field(field: str) -> str:
    """Names that Python keeps for itself have an underscore behind."""
    return field.removesuffix("_")


@cache
def said_by_c(folder: Path) -> dict[str, dict[str, tuple[int, int]]]:
    """Struct -> field -> offset and size; the struct itself under the empty name."""
    lines = ["#include <stddef.h>", "#include <stdio.h>", '#include "pliant.h"', '#include "fmu.h"']
    lines += ['#include "pliant_foreign.h"']
    lines += ["int main(void) {"]
    for name, mirror in mirrors().items():
        of = c_name(name)
        lines.append(f'    printf("{name} . 0 %zu\\n", sizeof({of}));')
        for field in fields(mirror):
            place = f"offsetof({of}, {c_field(field)}), sizeof((({of} *)0)->{c_field(field)})"
            lines.append(f'    printf("{name} {field} %zu %zu\\n", {place});')
    lines += ["    return 0;", "}"]
    source, program = folder / "layout.c", folder / "layout"
    source.write_text("\n".join(lines), encoding="utf-8")
    folders = [f"-I{RUNTIME / name}" for name in ("include", "host", "foreign")]
    command = [*find_compiler(), "-std=c99", *folders, str(source)]
    built = subprocess.run([*command, "-o", str(program)], capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr[:4000]
    told: dict[str, dict[str, tuple[int, int]]] = {}
    for line in subprocess.run([str(program)], capture_output=True, text=True, check=True).stdout.splitlines():
        name, field, offset, size = line.split()
        told.setdefault(name, {})[field] = (int(offset), int(size))
    return told


@pytest.fixture(scope="module")
def layout(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, tuple[int, int]]]:
    return said_by_c(tmp_path_factory.mktemp("layout"))


def test_mirrors_are_found() -> None:
    assert {"ModelStruct", "ProblemStruct", "SetupStruct", "ShimStruct", "ChildPartStruct"} <= set(mirrors())


@pytest.mark.parametrize("name", found_in_text())
def test_fields_lie_where_c_puts_them(name: str, layout: dict[str, dict[str, tuple[int, int]]]) -> None:
    mirror, told = mirrors()[name], layout[name]
    ours = {field: (getattr(mirror, field).offset, getattr(mirror, field).size) for field in fields(mirror)}
    assert ours
    assert ours == {field: place for field, place in told.items() if field != "."}
    assert ctypes.sizeof(mirror) == told["."][1]


# ------------------------------------------------------------------------------- no field of C is left out

STRUCT = re.compile(r"struct (pl_\w+) \{\n(.*?)\n\}", re.DOTALL)


def declared(body: str) -> int:
    """How many fields a struct declares, without comments and nested braces."""
    plain = re.sub(r"/\*.*?\*/", "", body, flags=re.DOTALL)
    return sum(len(split_commas(statement)) for statement in plain.split(";") if statement.strip())


def split_commas(statement: str) -> list[str]:
    """Declarators of one statement: commas within brackets are arguments."""
    depth, parts = 0, [""]
    for letter in statement:
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


@pytest.mark.parametrize("name", found_in_text())
def test_no_field_is_left_out(name: str) -> None:
    headers = [path for part in ("include", "host", "foreign") for path in (RUNTIME / part).glob("*.h")]
    found = {struct: body for path in headers for struct, body in STRUCT.findall(path.read_text(encoding="utf-8"))}
    assert c_name(name) in found
    assert len(fields(mirrors()[name])) == declared(found[c_name(name)])


def test_memory_of_a_run_outlives_its_module(monkeypatch: pytest.MonkeyPatch) -> None:
    """At the end of the interpreter names of modules are None; an error in ``__del__`` would be a warning here."""
    kept = simulation.HostMemoryStruct()
    monkeypatch.setattr(simulation, "lib", None)
    del kept
