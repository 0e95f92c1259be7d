"""pliant inspect"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import pliant
from pliant.cli.answer import Report
from pliant.cli.app import app
from pliant.cli.arguments import AsJson, Fold, Form, LibraryPath, Name, NoAliases, Tear, Tearing, structure_options


@app.command(short_help="Show the structure of a Modelica model: states, loops, tearing.")
def inspect(
    file: Annotated[Path, typer.Argument(help="Modelica file or folder of a package.", metavar="FILE.mo")],
    *,
    name: Name = None,
    path: LibraryPath = None,
    tear: Tear = None,
    form: Form = "auto",
    tearing: Tearing = "max-causal",
    no_aliases: NoAliases = False,
    fold_parameters: Fold = False,
    html: Annotated[Path | None, typer.Option(help="Write a page with the incidence matrices to this file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show the structure of a Modelica model: states, blocks, loops and their tearing.

    Nothing is compiled or simulated; it also works for models that cannot be simulated yet.
    """
    report = Report(as_json)
    with report.errors():
        chosen = structure_options(form, tearing, no_aliases, fold_parameters)
        structure = pliant.inspect(file, name=name, path=path, tear=tear, options=chosen)
        if html is not None:
            report.files.append(str(structure.write_page(html)))
        report.tell(structure)
