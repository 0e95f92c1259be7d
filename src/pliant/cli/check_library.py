"""pliant check-library"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import pliant
from pliant.cli.answer import EXIT_DOES_NOT_HOLD, Report
from pliant.cli.app import app
from pliant.cli.arguments import AsJson


@app.command("check-library", short_help="Simulate the examples of a library, against references.")
def check_library(
    folder: Annotated[Path, typer.Argument(help="Folder of a package, or of several.", metavar="DIR")],
    *,
    names: Annotated[Path | None, typer.Option("--list", help="File with names of classes; default: all.")] = None,
    reference: Annotated[Path | None, typer.Option(help="Folder with reference curves, as A/B/C/C.csv.")] = None,
    jobs: Annotated[int | None, typer.Option(help="Examples at a time; default: one for each core.")] = None,
    timeout: Annotated[float, typer.Option(help="Seconds for each example.")] = 150.0,
    save: Annotated[
        list[Path] | None, typer.Option(help="Write the report: .json, .html, .md, .txt. Repeatable.")
    ] = None,
    frontend: Annotated[
        str, typer.Option(help="What reads Modelica: pliant, or for cross-checks the package rumoca.")
    ] = "pliant",
    as_json: AsJson = False,
) -> None:
    """Simulate every example of a library in a process of its own, and say how far each comes.

    The stages are: front end, structure, start, simulate, match. The exit code is 3 if an example does not pass all
    that can be checked; everything is written nevertheless.
    """
    report = Report(as_json)
    with report.errors():
        wanted = None if names is None else _listed(names)
        found = pliant.check_library(
            folder,
            names=wanted,
            reference=reference,
            jobs=jobs,
            timeout=timeout,
            frontend=frontend,
            progress=None if as_json else _tell,
        )
        report.files += [str(found.save(file)) for file in save or ()]
        if as_json:
            report.print_json({**found.as_dict(), "files": report.files})
        else:
            typer.echo(str(found))
        if any(row.error_class for row in found.rows):
            raise typer.Exit(EXIT_DOES_NOT_HOLD)


def _listed(file: Path) -> list[str]:
    from pliant.textfile import read_text

    try:
        lines = read_text(file, pliant.ArgumentError).splitlines()
    except OSError as error:
        raise pliant.ArgumentError(f"--list: {file} cannot be read: {error.strerror}", hint="check the path") from None
    return [one.strip() for one in lines if one.strip() and not one.lstrip().startswith("#")]


def _tell(row: pliant.LibraryRow, done: int, of: int) -> None:
    typer.echo(f"{done}/{of} {row.name}: {row.error_class or 'passed'}", err=True)
