"""README, docs and examples: their programs run, their links lead somewhere, the site builds."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

import pliant

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted(DOCS.rglob("*.md"))]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
BLOCK = re.compile(r"^```(\w+)[^\n]*?(?:title=\"([^\"]+)\")?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CLI = [sys.executable, "-m", "pliant.cli"]


@dataclass(frozen=True)
class Block:
    language: str
    title: str
    text: str


def blocks(page: Path) -> list[Block]:
    return [Block(kind, title or "", text) for kind, title, text in BLOCK.findall(page.read_text("utf-8"))]


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def environment() -> dict[str, str]:
    return {**os.environ, "MPLBACKEND": "Agg", "COLUMNS": "120"}


def commands(page: Path) -> Iterator[tuple[str, int]]:
    """Commands that start with pliant, and the exit code they announce in a comment."""
    for block in blocks(page):
        if block.language not in ("sh", "console"):
            continue
        for line in block.text.splitlines():
            command, _, comment = line.removeprefix("$ ").partition("  # ")
            if command.startswith("pliant "):
                code = re.search(r"exit code (\d+)", comment)
                yield command, int(code[1]) if code else 0


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_programs_of_page_run(page: Path, tmp_path: Path) -> None:
    """Python blocks in order, as one program; C blocks with a title are files; then the commands."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    found = blocks(page)
    for block in found:
        if block.title:
            (tmp_path / block.title).write_text(block.text, encoding="utf-8")
    python = [block.text for block in found if block.language == "python"]
    if python:
        program = tmp_path / "page.py"
        program.write_text("\n\n".join(python), encoding="utf-8")
        run = [sys.executable, "-W", "error", str(program)]
        done = subprocess.run(run, cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    for command, code in commands(page):
        run = [*CLI, *shlex.split(command)[1:]]
        done = subprocess.run(run, cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False)
        assert done.returncode == code, f"{command}\n{done.stdout}\n{done.stderr}"


@pytest.mark.parametrize("example", EXAMPLES, ids=name_of)
def test_example_runs(example: Path, tmp_path: Path) -> None:
    run = [sys.executable, "-W", "error", str(example)]
    done = subprocess.run(run, cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_c_examples_run(tmp_path: Path) -> None:
    """The line in the head of each C example."""
    files = sorted((ROOT / "examples").glob("*.c"))
    assert files
    for file in files:
        line = re.search(r"^ \*\s+(pliant simulate .*)$", file.read_text("utf-8"), re.MULTILINE)
        assert line, f"{file.name} does not tell how to run it"
        run = [*CLI, *shlex.split(line[1])[1:]]
        done = subprocess.run(run, cwd=ROOT, env=environment(), capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


# ------------------------------------------------------------------------------------------------------ links


def anchor(title: str) -> str:
    """As mkdocs makes them."""
    return re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", title).strip().lower())


def anchors(page: Path) -> set[str]:
    text = page.read_text("utf-8")
    if page.name == "api.md":
        text = reference().on_page_markdown(text)
    return {anchor(title) for title in re.findall(r"^#+ (.*)$", text, re.MULTILINE)}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(BLOCK, "", page.read_text("utf-8"))
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        path, _, place = target.partition("#")
        assert "://" not in target, f"{target}: no page depends on another site"
        goal = (page.parent / path).resolve() if path else page
        assert goal.is_file(), f"{name_of(page)} links to {target}"
        if place:
            assert place in anchors(goal), f"{name_of(page)} links to {target}"


def test_pictures_exist_and_are_used() -> None:
    text = "".join(page.read_text("utf-8") for page in PAGES)
    for picture in (DOCS / "pictures").glob("*.png"):
        assert picture.name in text, f"{picture.name} is not used"


# -------------------------------------------------------------------------------------------------- reference


def reference() -> Any:
    spec = spec_from_file_location("docs_reference", DOCS / "reference.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_api_page_is_complete() -> None:
    listed = re.findall(r"^::: pliant\.(\w+)$", (DOCS / "api.md").read_text("utf-8"), re.MULTILINE)
    assert sorted(listed) == sorted(pliant.__all__)


def test_everything_public_has_a_docstring() -> None:
    for name in pliant.__all__:
        assert (getattr(pliant, name).__doc__ or "").strip(), name
        assert f"### {name}" in reference().describe(f"pliant.{name}")


def test_cli_page_is_up_to_date() -> None:
    expected = reference().cli_text()
    assert (DOCS / "cli.md").read_text("utf-8") == expected, "run python docs/reference.py"


def test_solver_options_are_documented() -> None:
    text = (DOCS / "solving.md").read_text("utf-8")
    for name in pliant.SolverOptions.__dataclass_fields__:
        assert f"| `{name}` |" in text, name


def test_error_tree_is_complete() -> None:
    text = (DOCS / "errors.md").read_text("utf-8")
    for name in pliant.__all__:
        thing = getattr(pliant, name)
        if isinstance(thing, type) and issubclass(thing, pliant.PliantError):
            assert name in text, name


def test_stats_are_documented() -> None:
    text = (DOCS / "results.md").read_text("utf-8")
    for name in pliant.Stats().as_dict():
        assert f"`{name}`" in text, name


def test_site_builds_strictly(tmp_path: Path) -> None:
    if find_spec("mkdocs") is None or find_spec("material") is None:
        pytest.skip("mkdocs is not installed")
    run = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(run, cwd=ROOT, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "site" / "api" / "index.html").read_text("utf-8")
    assert "pliant.ode" not in page or ":::" not in page
    assert not list((tmp_path / "site").rglob("*.py"))


# --------------------------------------------------------------------------------------------- the two commands


def test_readme_commands_are_those_of_ci() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    lines = re.findall(r"^python3 -m venv .*$", readme, re.MULTILINE)
    assert len(lines) == 2
    assert lines[0].endswith("pliant tour")
    assert lines[1].endswith("pytest")
    script = (ROOT / ".ci" / "run").read_text("utf-8")
    assert lines[1] in script
    assert os.access(ROOT / ".ci" / "run", os.X_OK)


def test_no_page_names_a_machine() -> None:
    """No absolute paths of somebody's computer."""
    for page in PAGES:
        assert not re.search(r"(/home/|/Users/|/root/|C:\\Users)", page.read_text("utf-8")), name_of(page)
