"""pliant a2l"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pliant.cli.answer import Report
from pliant.cli.app import app
from pliant.cli.arguments import AsJson

A2lFile = Annotated[Path, typer.Argument(help="A2L file that pliant realtime --write made.", metavar="FILE.a2l")]
Elf = Annotated[Path, typer.Option(help="ELF file of the linked program.")]
Out = Annotated[Path | None, typer.Option("--output", "-o", help="File to write; default: the same.")]
Instance = Annotated[
    str | None,
    typer.Option(
        help="Variable of the program that holds the step's instance; default: X_instance, X being the model."
    ),
]


@app.command(short_help="Fill in the addresses of an A2L file from a linked program.")
def a2l(file: A2lFile, *, elf: Elf, output: Out = None, instance: Instance = None, as_json: AsJson = False) -> None:
    """Fill in the addresses of an A2L file, for measurement and calibration tools, from a linked program."""
    from pliant.realtime.target.addresses import link_a2l

    report = Report(as_json)
    with report.errors():
        report.files.append(str(link_a2l(file, elf, output, instance)))
        if as_json:
            report.print_json({"files": report.files})
        else:
            typer.echo(f"wrote {report.files[0]}")
