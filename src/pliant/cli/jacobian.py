"""pliant jacobian"""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.console import Console

from pliant.cli.answer import Report
from pliant.cli.app import app
from pliant.cli.arguments import (
    AsJson,
    Atol,
    Define,
    File,
    Form,
    Frontend,
    Input,
    LibraryPath,
    Name,
    Option,
    Param,
    Rtol,
    StartValue,
    inputs,
    literal,
    load_model,
    pairs,
    settings,
    structure_options,
)


@app.command(short_help="Check a Jacobian: bad increments, noise, kinks, jumps.")
def jacobian(
    file: File,
    *,
    at: Annotated[float, typer.Option(help="Time of the point.")] = 0.0,
    rtol: Rtol = 1e-6,
    atol: Atol = None,
    param: Param = None,
    start_value: StartValue = None,
    input_: Input = None,
    option: Option = None,
    define: Define = None,
    name: Name = None,
    path: LibraryPath = None,
    frontend: Frontend = None,
    form: Form = "auto",
    as_json: AsJson = False,
) -> None:
    """Check the Jacobian at the start values: compare its sources, and name bad increments, noise, kinks and jumps.

    The exit code is 1 if an entry of the difference Jacobian is bad.
    """
    report = Report(as_json)
    with report.errors():
        chosen = structure_options(form, "max-causal", False, False)
        model = load_model(file, define, chosen, name=name, path=path, frontend=frontend)
        given: dict[str, Any] = {
            "inputs": inputs(model, input_),
            "parameters": settings(model, "--param", param),
            "options": {name: literal(text) for name, text in pairs("--option", option)},
        }
        x = settings(model, "--start-value", start_value) or None
        found = model.jacobian(at, x=x, rtol=rtol, atol=atol, **given)
        quality = model.check_jacobian(at, x=x, rtol=rtol, atol=atol, **given)
        if as_json:
            about = {"source": found.source, "colours": found.colours, "entries": int(found.pattern.sum())}
            report.print_json({"model": model.name, **about, "quality": quality.as_dict()})
        else:
            console = Console()
            console.print(
                f"{model.name}: {len(found.names)} states, {int(found.pattern.sum())} entries, "
                f"{found.colours} colours; the solver takes it from {_SOURCE[found.source]}",
                highlight=False,
                soft_wrap=True,
            )
            console.print(str(quality), markup=False, highlight=False, emoji=False, soft_wrap=True)
        if not quality.ok:
            raise typer.Exit(1)


_SOURCE = {
    "exact": "the model itself",
    "directional": "the model's directional derivatives",
    "differences": "differences",
}
