"""pliant inspect"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import pliant
from pliant.cli.answer import Report
from pliant.cli.app import app
from pliant.cli.arguments import (
    AsJson,
    Fold,
    Form,
    Frontend,
    LibraryPath,
    Name,
    NoAliases,
    Tear,
    Tearing,
    structure_options,
)


@app.command(short_help="Show a model's structure, or what is in an FMU or a system.")
def inspect(
    file: Annotated[
        Path, typer.Argument(help="Modelica file, folder of a package, FMU, or system (.ssp, .ssd).", metavar="FILE")
    ],
    *,
    name: Name = None,
    path: LibraryPath = None,
    frontend: Frontend = None,
    tear: Tear = None,
    form: Form = "auto",
    tearing: Tearing = "max-causal",
    no_aliases: NoAliases = False,
    fold_parameters: Fold = False,
    html: Annotated[Path | None, typer.Option(help="Write a page with pictures of the structure to this file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show the structure of a Modelica model: states, blocks, loops and their tearing.

    Of an FMU: kinds, platforms, capabilities, variables, dependencies, and what is against the standard.
    Of a system: its parts, connections with their conversions, and the parameters that reach the parts.

    Nothing is compiled or simulated; it also works for models that cannot be simulated yet.
    """
    report = Report(as_json)
    with report.errors():
        chosen = structure_options(form, tearing, no_aliases, fold_parameters)
        structure = pliant.inspect(file, name=name, path=path, frontend=frontend, tear=tear, options=chosen)
        if html is not None:
            if isinstance(structure, pliant.SystemReport):
                raise pliant.ArgumentError("--html is for models and FMUs", hint="leave it out, or use --json")
            report.files.append(str(structure.write_page(html)))
        report.tell(structure)
