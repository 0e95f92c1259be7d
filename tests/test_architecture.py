"""The plan of the house, enforced: imports run one way, public names exist and are documented, files stay short."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from functools import cache
from pathlib import Path

import pytest

import pliant

ROOT = Path(__file__).parents[1]
PACKAGE = Path(pliant.__file__).parent

# design.md: a room imports from its left, never to its right; rooms in one group do not know each other
ORDER: tuple[tuple[str, ...], ...] = (
    ("errors", "version"),
    ("texts",),
    ("ir",),
    ("sorted_system",),
    ("arguments", "calls", "drawing", "pickled", "plain", "textfile"),
    ("compiling",),
    ("foreign",),
    ("expr",),
    ("frontend", "structure", "codegen"),
    ("jacobian", "explain"),
    ("solve",),
    ("fmi",),
    ("batch",),
    ("export",),
    ("realtime",),
    ("cosim",),
    ("sources",),
    ("model",),
    ("loading",),
    ("checking",),
    ("tour",),
    ("cli",),
)
PLACE = {room: place for place, group in enumerate(ORDER) for room in group}
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if "_runtime" not in path.parts)
MAX_LINES = 600


def room_of(module: str) -> str:
    """pliant.solve.results.result -> solve"""
    return module.split(".")[1] if "." in module else ""


@cache
def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(text_of(path))


def module_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(("pliant", *(part for part in parts if part != "__init__")))


def is_type_checking(test: ast.expr) -> bool:
    return "TYPE_CHECKING" in ast.unparse(test)


class Imports(ast.NodeVisitor):
    """Modules of pliant that a file imports while it runs, at its top or inside functions."""

    def __init__(self, module: str, is_package: bool) -> None:
        self.module, self.is_package = module, is_package
        self.found: list[tuple[str, int]] = []

    def visit_If(self, node: ast.If) -> None:
        if is_type_checking(node.test):
            for child in node.orelse:
                self.visit(child)
        else:
            self.generic_visit(node)

    def visit_Import(self, node: ast.Import) -> None:
        self.found += [(alias.name, node.lineno) for alias in node.names]

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        base = node.module or ""
        if node.level:
            parts = self.module.split(".")
            kept = parts[: len(parts) - node.level + (1 if self.is_package else 0)]
            base = ".".join([*kept, base] if base else kept)
        if base == "pliant":
            self.found += [(f"pliant.{alias.name}", node.lineno) for alias in node.names]
        else:
            self.found.append((base, node.lineno))


@cache
def imports_of(path: Path) -> list[tuple[str, int]]:
    visitor = Imports(module_of(path), path.name == "__init__.py")
    visitor.visit(tree_of(path))
    return [(name, line) for name, line in visitor.found if name == "pliant" or name.startswith("pliant.")]


def test_imports_run_one_way() -> None:
    wrong = []
    for path in MODULES:
        room = room_of(module_of(path))
        if path == PACKAGE / "__init__.py" or path == PACKAGE / "__main__.py":
            continue  # public names only
        assert room in PLACE, f"{room} has no place in design.md's order: give it one here and there"
        for name, line in imports_of(path):
            other = room_of(name)
            if other == room or name == "pliant":
                continue
            if other not in PLACE or PLACE[other] >= PLACE[room]:
                wrong.append(f"{path.relative_to(PACKAGE)}:{line}: {room} imports {name}")
    assert not wrong


@pytest.mark.parametrize(
    ("text", "module", "expected"),
    [
        ("from pliant.model import load", "pliant.solve.x", ["pliant.model"]),
        ("import pliant.cli", "pliant.solve.x", ["pliant.cli"]),
        ("from pliant import cli", "pliant.solve.x", ["pliant.cli"]),
        ("from ..model import load", "pliant.solve.x", ["pliant.model"]),
        ("from .. import model", "pliant.solve.x", ["pliant.model"]),
        ("from . import result", "pliant.solve.x", ["pliant.solve"]),
        ("def f():\n    from pliant.cli import app", "pliant.solve.x", ["pliant.cli"]),
        ("if TYPE_CHECKING:\n    from pliant.cli import app", "pliant.solve.x", []),
        ("import numpy", "pliant.solve.x", []),
    ],
)
def test_the_reader_of_imports(text: str, module: str, expected: list[str]) -> None:
    visitor = Imports(module, is_package=False)
    visitor.visit(ast.parse(text))
    assert [name for name, _ in visitor.found if name.startswith("pliant")] == expected


def test_lowest_rooms_import_nothing_heavy() -> None:
    """errors, texts and ir are imported by everything."""
    for name in ("errors.py", "texts.py", "ir.py"):
        if (PACKAGE / name).exists():
            tree = ast.parse((PACKAGE / name).read_text())
            top = [node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]
            named = {alias.name for node in top if isinstance(node, ast.Import) for alias in node.names}
            named |= {node.module or "" for node in top if isinstance(node, ast.ImportFrom)}
            assert not {part for part in named if part.split(".")[0] in ("numpy", "scipy", "pliant")} - {
                "pliant.errors",
                "pliant.texts",
            }


# -------------------------------------------------------------------------------------- what a model was made from

KINDS = re.compile(r"\b(GeneratedModel|NativeModel|FunctionModel)\b")


def test_nobody_asks_what_a_model_was_made_from() -> None:
    """`model.known` and the methods of NumericModel say what is known and what can be done."""
    asked = re.compile(r"isinstance\([^)]*\b(GeneratedModel|NativeModel|FunctionModel)\b")
    reached = re.compile(r'\.program\.sorted\b|\.generated\.|\bsolve\.generated\b|attr\([^)]*"generated"')
    outside = {path for path in MODULES if room_of(module_of(path)) not in ("solve", "codegen")}
    outside -= {PACKAGE / "model.py", PACKAGE / "loading.py"}
    assert [path.name for path in MODULES if asked.search(text_of(path))] == []
    assert [path.name for path in outside if KINDS.search(text_of(path)) or reached.search(text_of(path))] == []


# --------------------------------------------------------------------------------------------- public names


@pytest.mark.parametrize("name", pliant.__all__)
def test_public_name_exists_and_is_documented(name: str) -> None:
    thing = getattr(pliant, name)
    doc = inspect.getdoc(thing)
    assert doc
    assert len(doc) > 10
    assert not doc.startswith(f"{name}("), "the documentation is only what dataclass generates"
    if inspect.isclass(thing):
        for method, value in vars(thing).items():
            if not method.startswith("_") and (inspect.isfunction(value) or isinstance(value, property)):
                assert inspect.getdoc(value), f"{name}.{method} has no documentation"


def test_all_is_sorted_and_without_doubles() -> None:
    assert sorted(set(pliant.__all__)) == sorted(pliant.__all__)


def test_every_error_is_public_and_drawn() -> None:
    errors = importlib.import_module("pliant.errors")
    classes = [c for _, c in inspect.getmembers(errors, inspect.isclass) if issubclass(c, pliant.PliantError)]
    assert len(classes) > 15
    for error in classes:
        assert error.__name__ in pliant.__all__
        assert error.__name__ in (errors.__doc__ or "")


def test_every_module_has_a_docstring() -> None:
    assert [str(path.relative_to(PACKAGE)) for path in MODULES if not ast.get_docstring(tree_of(path))] == []


# -------------------------------------------------------------------------------------------------- lengths


def counted_files() -> list[Path]:
    folders = [ROOT / "src", ROOT / "runtime", ROOT / "tests"]
    found = [path for folder in folders for kind in ("*.py", "*.c", "*.h") for path in folder.rglob(kind)]
    return sorted(path for path in found if "_runtime" not in path.parts and "build" not in path.parts)


def test_files_are_short() -> None:
    files = counted_files()
    assert len(files) > 50
    lengths = {str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines()) for path in files}
    assert {name: n for name, n in lengths.items() if n > MAX_LINES} == {}


def test_functions_are_short() -> None:
    long = []
    for path in MODULES:
        for node in ast.walk(tree_of(path)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                body = node.body[1:] if ast.get_docstring(node) else node.body
                length = (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0
                if length > 80:
                    long.append(f"{path.name}:{node.lineno} {node.name}: {length} lines")
    assert not long


# ------------------------------------------------------------------------------------------- inside a room, and names

SUB_ROOMS: dict[str, tuple[tuple[str, ...], ...]] = {
    "solve": (
        ("names", "binding", "progress"),
        ("results", "signals"),
        ("options", "matrices"),
        ("advice",),
        ("failure",),
        ("start",),
        ("models",),
        ("run",),
    ),
    "realtime": (
        ("flags", "options", "drawn", "progress"),
        ("scenario",),
        ("scenarios",),
        ("sparsing",),
        ("evidence",),
        ("code",),
        ("stages",),
        ("simulate", "delivery", "report", "plot"),
        ("target", "challenge", "frontier", "cost"),
        ("plan",),
        ("build",),
    ),
}


def under(module: str) -> str:
    """pliant.solve.run.child -> run"""
    return (module.split(".") + [""] * 3)[2]


@pytest.mark.parametrize("room", SUB_ROOMS)
def test_imports_inside_a_room_run_one_way(room: str) -> None:
    place = {name: k for k, group in enumerate(SUB_ROOMS[room]) for name in group}
    wrong = []
    for path in MODULES:
        module = module_of(path)
        if room_of(module) != room or not under(module):
            continue
        here = under(module)
        assert here in place, f"{room}/{here} has no place in the order of its room"
        for name, line in imports_of(path):
            there = under(name)
            if room_of(name) == room and there and there != here and place[there] >= place[here]:
                wrong.append(f"{module}:{line} imports {name}")
    assert not wrong


def test_one_name_has_one_meaning() -> None:
    """No two classes of the package have the same name."""
    found: dict[str, list[str]] = {}
    for path in MODULES:
        for node in tree_of(path).body:
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, []).append(str(path.relative_to(PACKAGE)))
    assert not {name: places for name, places in found.items() if len(places) > 1}
