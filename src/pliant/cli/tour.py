"""pliant tour"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from pliant.cli.answer import Report, has_screen
from pliant.cli.app import app


@app.command(short_help="Show what pliant can do, and write a page with pictures.")
def tour(
    out: Annotated[Path, typer.Option(help="Folder for the page and the files that the tour writes.")] = Path("tour"),
    open_: Annotated[bool, typer.Option("--open/--no-open", help="Open the page in a browser.")] = True,
) -> None:
    """Show everything this version can do, in under a minute, and write one page with pictures."""
    from pliant.tour import run_tour  # matplotlib is slow to load

    with Report(False).errors():
        page = run_tour(out, Console())
        if open_ and has_screen():
            typer.launch(page.resolve().as_uri())
