#!/usr/bin/env python3
"""Run the programs and commands of a page, compare what they print: python tools/pages.py README.md [...] writes it.

Python blocks of a page are one program, run in order; blocks with a title are files; then the commands of ``sh`` and
``console`` blocks that start with ``pliant`` run, in a folder with a copy of ``examples``. A block after the line
``<!--output-->`` is what the block before it prints; so are the lines of a ``console`` block that do not start with
``$``. A line ``…`` stands for any lines. Numbers, which differ between machines, and widths are not compared.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from forks import Forks

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(
    r"^(?P<mark><!--output-->\n\n?)?```(?P<kind>\w*)[^\n]*?(?:title=\"(?P<title>[^\"]+)\")?\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
NUMBER = re.compile(r"-?\d+(\.\d+)?(e[-+]?\d+)?")
PART = "\x1e"  # printed between the blocks of a program
ANY = "…"


@dataclass(frozen=True)
class Block:
    """A fenced block."""

    language: str
    title: str
    text: str
    is_output: bool
    span: tuple[int, int]  # of its text in the page


@dataclass(frozen=True)
class Shown:
    """What a page says a block prints, and what it printed."""

    block: Block
    printed: str

    @property
    def agrees(self) -> bool:
        """But for numbers and widths."""
        return matches(self.block.text, self.printed)


class PageError(Exception):
    """A program or a command of a page failed."""


def blocks(text: str) -> list[Block]:
    """All fenced blocks, in order."""
    return [
        Block(one["kind"], one["title"] or "", one["text"], bool(one["mark"]), one.span("text"))
        for one in BLOCK.finditer(text)
    ]


def commands(block: Block) -> Iterator[tuple[str, int]]:
    """Commands of a block, and the exit code that each announces in a comment."""
    if block.language not in ("sh", "console"):
        return
    for line in block.text.splitlines():
        if block.language == "sh" or line.startswith("$ "):
            command, _, comment = line.removeprefix("$ ").partition("  # ")
            code = re.search(r"exit code (\d+)", comment)
            if command.strip():
                yield command.strip(), int(code[1]) if code else 0


def masked(text: str) -> str:
    """Without numbers, units of time, widths and line breaks, which depend on the numbers."""
    return re.sub(r"\s+", " ", re.sub(r"# (ns|us|µs|ms|s)\b", "# s", NUMBER.sub("#", text))).strip()


def matches(shown: str, printed: str) -> bool:
    """True if a page shows what was printed; an empty block shows nothing."""
    parts = [masked(part) for part in re.split(rf"^{ANY}$", shown, flags=re.MULTILINE)]
    pattern = r"\s*.*?\s*".join(re.escape(part) for part in parts)
    return any(parts) and re.fullmatch(pattern, masked(printed)) is not None


def run(forks: Forks, arguments: list[str], folder: Path, environment: Mapping[str, str], code: int) -> str:
    """What a program or command prints; PageError if it ends otherwise than announced."""
    done = forks.run(arguments, folder, environment)
    if done.returncode != code:
        raise PageError(f"{shlex.join(arguments)}: exit code {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout + done.stderr


def run_page(page: Path, folder: Path, environment: Mapping[str, str], forks: Forks) -> list[Shown]:
    """Run everything in ``folder``; what the page shows beside what was printed."""
    shutil.copytree(ROOT / "examples", folder / "examples")
    found = blocks(page.read_text(encoding="utf-8"))
    for block in found:
        if block.title:
            (folder / block.title).write_text(block.text, encoding="utf-8")
    printed = dict.fromkeys(range(len(found)), "")
    python = [k for k, block in enumerate(found) if block.language == "python"]
    if python:
        program = folder / "page.py"
        program.write_text("\n\n".join(f"print({PART!r})\n{found[k].text}" for k in python), encoding="utf-8")
        text = run(forks, [str(program)], folder, environment, 0)
        printed.update(zip(python, text.split(f"{PART}\n")[1:], strict=True))
    for k, block in enumerate(found):
        for command, code in commands(block):
            if command.startswith("pliant "):
                call = ["-m", "pliant.cli", *shlex.split(command)[1:]]
                printed[k] += run(forks, call, folder, environment, code)
    shown = [Shown(block, printed[k - 1]) for k, block in enumerate(found) if block.is_output]
    for k, block in enumerate(found):
        output = [line for line in block.text.splitlines(keepends=True) if not line.startswith("$ ")]
        if block.language == "console" and output:
            shown.append(Shown(Block("console", "", "".join(output), True, (0, 0)), printed[k]))
    return shown


def main() -> int:
    """Write what the programs of these pages print now; 1 where that must be done by hand."""
    environment = {**os.environ, "MPLBACKEND": "Agg", "COLUMNS": "100"}
    by_hand, forks = 0, Forks()
    for name in sys.argv[1:]:
        page = Path(name).resolve()
        with tempfile.TemporaryDirectory() as folder:
            shown = run_page(page, Path(folder), environment, forks)
        text = page.read_text(encoding="utf-8")
        for one in sorted(shown, key=lambda one: one.block.span, reverse=True):
            first, last = one.block.span
            if one.agrees:
                continue
            if ANY in one.block.text.splitlines() or one.block.span == (0, 0):
                print(f"{name}: this is shown otherwise, write it by hand:\n{one.printed}")
                by_hand = 1
            else:
                lines = [line.rstrip() for line in one.printed.strip("\n").splitlines()]
                text = text[:first] + "\n".join(lines) + "\n" + text[last:]
        page.write_text(text, encoding="utf-8")
    forks.close()
    return by_hand


if __name__ == "__main__":
    sys.exit(main())
