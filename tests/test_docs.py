"""README, docs and examples: their programs run, their links lead somewhere, the site builds."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest
from support_pages import DOCS, PAGES, ROOT, Forks, name_of, pages

import pliant

EXAMPLES = sorted([*(ROOT / "examples").glob("*.py"), *(ROOT / "examples" / "cosim").glob("*.py")])
CLI = ["-m", "pliant.cli"]
# commands that are shown but not run here, and why
NOT_RUN = {
    "python3 -m venv ": "installs; .ci/run does it with the same words",
    ".venv/bin/python tools/check.py": "minutes; .ci/run does it",
    ". .venv/bin/activate": "for a shell that a person uses",
    "python tests/families": "minutes; a part of each family is a test of its own",
    "python benchmarks/": "minutes, and needs the extra bench",
    "python examples/": "a test of its own runs every example",
    "PLIANT_COMPLIANCE=": "minutes, and needs a copy of the compliance library",
}
# blocks that are neither run nor compared, and why
EXCERPTS = {
    (
        "docs/realtime-code.md",
        "c",
    ): "a loop around written code; tests/test_realtime_write.py builds example_main.c",
    ("docs/motor-control.md", "c"): "the self-test of every written folder makes these calls and compares",
    ("docs/theory/code.md", "c"): "shortened text of generated code; tests/test_codegen_text.py has the whole",
}


def environment(*, optimized: bool = True) -> dict[str, str]:
    """For programs; generated code is that of users, or compiled quickly (conftest.py)."""
    code = {"PLIANT_OPTIMIZE": "1"} if optimized else {}
    return {**os.environ, "MPLBACKEND": "Agg", "COLUMNS": "100", **code}


@pytest.fixture(scope="module")
def programs() -> Iterator[Forks]:
    """Where programs and commands run."""
    made = Forks()
    yield made
    made.close()


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_programs_of_page_run_and_print_what_it_shows(page: Path, tmp_path: Path, programs: Forks) -> None:
    usual = environment(optimized=page.parent == ROOT)
    for shown in pages.run_page(page, tmp_path, usual, programs):
        assert shown.agrees, f"{name_of(page)} shows\n{shown.block.text}\nbut it prints\n{shown.printed}"


def test_pages_are_not_empty() -> None:
    """What is tested of each page is tested on something."""
    found = {page: pages.blocks(page.read_text("utf-8")) for page in PAGES}
    for page in PAGES:
        text = pages.BLOCK.sub("", page.read_text("utf-8"))
        assert re.match(r"# \S", text), name_of(page)
        assert len(text) > 300, name_of(page)
    every = [block for one in found.values() for block in one]
    assert sum(any(block.language == "python" for block in one) for one in found.values()) >= 40
    assert sum(len(list(pages.commands(block))) for block in every) >= 75
    assert sum(block.is_output for block in every) >= 20


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_block_of_a_page_is_tested_or_exempt(page: Path) -> None:
    """Commands run or have a reason why not, and name files and options that exist; models are those of examples."""
    texts = [file.read_text("utf-8") for file in (ROOT / "examples").rglob("*.mo")]
    models = {one.strip() for text in texts for one in re.split(r"(?<=;)\s+|\n", text)}
    for block in pages.blocks(page.read_text("utf-8")):
        for command, _ in pages.commands(block):
            if command.startswith("pliant "):
                continue
            assert [reason for start, reason in NOT_RUN.items() if command.startswith(start)], command
            program = re.match(r"python (\S+)([^#]*)", command)
            if program:
                target = ROOT / program[1]
                text = (target / "__main__.py" if target.is_dir() else target).read_text("utf-8")
                assert all(option in text for option in re.findall(r"--\w+", program[2])), command
        if block.title or block.is_output or block.language in ("python", "sh", "console", "text", ""):
            continue
        if block.language == "toml":
            assert tomllib.loads(block.text)
        elif block.language == "modelica":
            statements = [one.strip() for one in re.split(r"(?<=;)\s+|\n", block.text) if one.strip()]
            missing = [one for one in statements if one not in models and not one.endswith("...")]
            assert not missing, f"{name_of(page)}: not in examples: {missing}"
        else:
            assert (name_of(page), block.language) in EXCERPTS, f"{name_of(page)}: {block.text[:60]}"


@pytest.mark.parametrize("example", EXAMPLES, ids=name_of)
def test_example_runs(example: Path, tmp_path: Path, programs: Forks) -> None:
    done = programs.run([str(example)], tmp_path, environment(optimized=False))
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_c_examples_run(programs: Forks) -> None:
    """The line in the head of each C example."""
    files = sorted((ROOT / "examples").glob("*.c"))
    assert files
    for file in files:
        line = re.search(r"^ \*\s+(pliant simulate .*)$", file.read_text("utf-8"), re.MULTILINE)
        assert line, f"{file.name} does not tell how to run it"
        done = programs.run([*CLI, *shlex.split(line[1])[1:]], ROOT, environment())
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
    text = pages.BLOCK.sub("", page.read_text("utf-8"))
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


def test_forks_end_as_programs_do(tmp_path: Path, programs: Forks) -> None:
    """Exit codes, tracebacks, warnings, what is printed at exit; a fork leaves nothing to the next."""
    texts = {
        "plain": ("import atexit, sys; atexit.register(print, 'end'); sys.path.append('x'); print(__name__)", 0),
        "exit": ("import sys; assert 'x' not in sys.path; sys.exit(7)", 7),
        "wrong": ("def f():\n    return 1/0\nf()", 1),
        "warns": ("import warnings; warnings.warn('careful')", 1),
    }
    done = {}
    for name, (text, code) in texts.items():
        file = tmp_path / f"{name}.py"
        file.write_text(text)
        done[name] = programs.run([str(file)], tmp_path, environment())
        assert done[name].returncode == code, done[name].stderr
    assert done["plain"].stdout == "__main__\nend\n"
    assert "ZeroDivisionError" in done["wrong"].stderr
    assert "UserWarning: careful" in done["warns"].stderr
    refused = programs.run([*CLI, "simulate", "no.mo", "--stop", "1"], tmp_path, environment())
    assert refused.returncode == 1
    assert "no.mo" in refused.stderr


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
    assert ":::" not in page
    assert len(re.findall(r"<h3", page)) >= len(pliant.__all__) // 2  # names described, not a page without them
    assert "mass @ x" in page  # the docstring of pliant.ode
    assert not list((tmp_path / "site").rglob("*.py"))


# --------------------------------------------------------------------------------------------- the two commands


def test_readme_commands_are_those_of_ci() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    lines = re.findall(r"^python3 -m venv .*$", readme, re.MULTILINE)
    assert len(lines) == 2
    assert lines[0].endswith("&& . .venv/bin/activate && pip install -q . && pliant tour")
    assert lines[1].endswith("&& . .venv/bin/activate && pip install -q '.[test]' && pytest")
    script = (ROOT / ".ci" / "run").read_text("utf-8")
    assert lines[1] in script
    assert os.access(ROOT / ".ci" / "run", os.X_OK)


def test_no_page_names_a_machine() -> None:
    """No absolute paths of somebody's computer."""
    for page in PAGES:
        assert not re.search(r"(/home/|/Users/|/root/|C:\\Users)", page.read_text("utf-8")), name_of(page)
