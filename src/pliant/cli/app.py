"""The program itself; verbs are added by the modules beside."""

from __future__ import annotations

from typing import Annotated

import typer

from pliant.version import pliant_version

app = typer.Typer(
    name="pliant",
    help="Simulate stiff differential and differential-algebraic equations.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"pliant {pliant_version()}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version and stop.", callback=_show_version, is_eager=True),
    ] = False,
) -> None:
    """Simulate stiff differential and differential-algebraic equations."""
