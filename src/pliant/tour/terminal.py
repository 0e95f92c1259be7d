"""The tour in the terminal."""

from __future__ import annotations

import re
from pathlib import Path

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table as RichTable

from pliant.tour.section import Code, FigureTable, Section, Text
from pliant.version import pliant_version


def print_title(console: Console) -> None:
    """The name, and what will happen."""
    console.print()
    console.print(f"[bold]pliant {pliant_version()}[/]: stiff models, solved.  L x' = f(t, x, u, p)")
    console.print("Every figure below is measured now, on this machine.", style="dim")


def marked(text: str) -> str:
    """`code` in bold."""
    return re.sub(r"`([^`]+)`", r"[bold]\1[/]", escape(text))


def print_section(console: Console, number: int, section: Section) -> None:
    """Title, lead, tables and output; pictures and program text are on the page."""
    console.print()
    console.print(Rule(f"[bold]{number}. {escape(section.title)}[/]", align="left", style="cyan"))
    console.print(marked(section.lead), highlight=False)
    for block in section.blocks:
        if isinstance(block, Text):
            console.print(marked(block.text), highlight=False)
        elif isinstance(block, FigureTable):
            console.print(Padding(_rich_table(block), (1, 0, 0, 2)))
        elif isinstance(block, Code) and block.shown:
            console.print(Padding(escape(block.text), (1, 0, 0, 2)), style="dim", highlight=False)


def _rich_table(block: FigureTable) -> RichTable:
    table = RichTable(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold cyan")
    for number, head in enumerate(block.head):
        table.add_column(escape(head), justify="left" if number == 0 else "right")
    for row in block.rows:
        table.add_row(*(escape(cell) for cell in row))
    return table


def print_end(console: Console, page: Path, took: float) -> None:
    """Where the page is."""
    console.print()
    console.print(Rule(style="cyan"))
    console.print(f"The whole tour took {took:.1f} s. The same with pictures and program text:", highlight=False)
    console.print(f"  {page}", style="bold", highlight=False, soft_wrap=True)
