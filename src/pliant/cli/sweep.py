"""pliant sweep"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from pliant.cli.answer import EXIT_DOES_NOT_HOLD, Report
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
    Method,
    Name,
    Option,
    Param,
    Points,
    Rtol,
    Start,
    StartValue,
    Step,
    inputs,
    literal,
    load_model,
    pairs,
    settings,
    structure_options,
)
from pliant.errors import ArgumentError, CaseError, OutputError, SimulationInterrupted


@app.command(short_help="Simulate many cases of a model, on all cores.")
def sweep(
    file: File,
    *,
    cases: Annotated[
        Path,
        typer.Option(
            help="CSV or Parquet file, a case in each row; columns: parameters, constant inputs, start(x), stop, name."
        ),
    ],
    stop: Annotated[float | None, typer.Option(help="End of each simulation; default: the column stop.")] = None,
    save: Annotated[
        Path | None, typer.Option(help="Folder that keeps the study; the same command goes on where it stopped.")
    ] = None,
    workers: Annotated[int | None, typer.Option(help="How many; default: one for each core.")] = None,
    executor: Annotated[str | None, typer.Option(help="threads or processes; default: by the kind of model.")] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(help="Variable whose curve is kept; 'final': final values only; 'all'. Repeatable."),
    ] = None,
    case_timeout: Annotated[float | None, typer.Option(help="Give a case up after so many seconds.")] = None,
    start: Start = None,
    method: Method = "auto",
    rtol: Rtol = 1e-6,
    atol: Atol = None,
    points: Points = 500,
    step: Step = None,
    param: Param = None,
    start_value: StartValue = None,
    input_: Input = None,
    option: Option = None,
    define: Define = None,
    table: Annotated[
        Path | None, typer.Option(help="Write the table of cases and final values: .csv, .parquet.")
    ] = None,
    report_file: Annotated[Path | None, typer.Option("--report", help="Write a page about the study: .html.")] = None,
    name: Name = None,
    path: LibraryPath = None,
    frontend: Frontend = None,
    form: Form = "auto",
    as_json: AsJson = False,
) -> None:
    """Simulate many cases of a model on all cores and keep what came of them.

    The exit code is 3 if cases failed; everything is written all the same.
    """
    report = Report(as_json)
    with report.errors():
        if table is not None and table.suffix.lower() not in (".csv", ".parquet"):
            raise ArgumentError(f"--table: {table} names no format", hint="use .csv or .parquet")
        for file_out in (table, report_file):  # said before hours of work
            if file_out is not None and not file_out.parent.is_dir():
                raise OutputError(f"{file_out}: there is no folder {file_out.parent}", hint="make it first")
        model = load_model(
            file, define, structure_options(form, "max-causal", False, False), name=name, path=path, frontend=frontend
        )
        report.model = model.name
        try:
            study = model.simulate_many(
                cases,
                stop=stop,
                keep=_keep(keep),
                workers=workers,
                executor=executor,
                save=save,
                case_timeout=case_timeout,
                progress=False if as_json else None,
                start=start,
                method=method,
                rtol=rtol,
                atol=atol,
                points=points,
                step=step,
                inputs=inputs(model, input_),
                parameters=settings(model, "--param", param),
                start_values=settings(model, "--start-value", start_value),
                options={name: literal(text) for name, text in pairs("--option", option)},
            )
        except (CaseError, OutputError, SimulationInterrupted) as error:
            so_far: Any = error.result
            if isinstance(error, SimulationInterrupted) and so_far is not None and so_far.n_done:
                _write(so_far, table, report_file, report.files)
            error.result = None  # not a Result: its folder keeps it
            raise
        _write(study, table, report_file, report.files)
        _show(study, report)
        if study.n_failed:
            raise typer.Exit(EXIT_DOES_NOT_HOLD)


def _keep(given: list[str] | None) -> object:
    """Final values where nothing is said: curves of thousands of cases are many."""
    if not given or given == ["final"]:
        return "final"
    return None if "all" in given else given


def _write(study: object, table: Path | None, page: Path | None, files: list[str]) -> None:
    from pliant.batch.folder.store import write_columns
    from pliant.batch.study import Study

    assert isinstance(study, Study)
    if study.folder is not None:
        files.append(str(study.folder))
    if table is not None:
        write_columns(table, study._columns())
        files.append(str(table))
    if page is not None:
        files.append(str(study.report(page)))


def _show(study: object, report: Report) -> None:
    from pliant.batch.study import Study

    assert isinstance(study, Study)
    if report.as_json:
        report.print_json({**study.as_dict(), "model": study.model_name, "files": report.files})
        return
    typer.echo(str(study))
    for k, error in list(study.failures.items())[:3]:
        typer.echo(f"  case {k}: {getattr(error, 'message', error)}")
    for file in report.files:
        typer.echo(f"wrote {file}")
