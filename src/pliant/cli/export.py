"""pliant export"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import pliant
from pliant.cli.answer import Report
from pliant.cli.app import app
from pliant.cli.arguments import AsJson, Frontend, LibraryPath, Name, Tear, Tearing, structure_options


@app.command(short_help="Write a Modelica model as an FMU, with its solver inside.")
def export(
    file: Annotated[Path, typer.Argument(help="Modelica file or folder of a package.", metavar="FILE.mo")],
    *,
    output: Annotated[Path, typer.Option("--output", "-o", help="The FMU to write.", metavar="FILE.fmu")],
    fmi: Annotated[str, typer.Option(help="Version of FMI, 3.0 or 2.0.")] = "3.0",
    kind: Annotated[str, typer.Option(help="model-exchange, co-simulation or both.")] = "both",
    solver: Annotated[str, typer.Option(help="Solver inside co-simulation, bdf or radau5.")] = "bdf",
    at_jump: Annotated[
        str, typer.Option(help="BDF where inputs jump: correct, x2, x1, proceed or restart.")
    ] = "correct",
    rtol: Annotated[float, typer.Option(help="Tolerance of the solver inside, if the importer asks for none.")] = 1e-6,
    platform: Annotated[
        list[str] | None, typer.Option(help="Platform of a binary, e.g. x86_64-windows. Repeatable; default: this one.")
    ] = None,
    no_sources: Annotated[bool, typer.Option("--no-sources", help="Leave the C files out.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an FMU of that name.")] = False,
    name: Name = None,
    path: LibraryPath = None,
    frontend: Frontend = None,
    tear: Tear = None,
    tearing: Tearing = "max-causal",
    as_json: AsJson = False,
) -> None:
    """Write a Modelica model as an FMU that any tool can simulate.

    Inside co-simulation is pliant's solver, which goes on over communication points without a restart.
    """
    report = Report(as_json)
    with report.errors():
        chosen = structure_options("auto", tearing, False, False)
        model = pliant.load(file, name=name, path=path, frontend=frontend, tear=tear, options=chosen)
        made = model.export_fmu(
            output,
            version=fmi,
            kind=kind,
            solver=solver,
            at_jump=at_jump,
            rtol=rtol,
            platforms=platform,
            sources=not no_sources,
            overwrite=overwrite,
        )
        if as_json:
            report.print_json({"model": model.name, "files": [str(made)], "version": fmi, "kind": kind})
        else:
            typer.echo(f"{model.name} is written to {made}: FMI {fmi}, {made.stat().st_size / 1e3:.0f} kB")
