"""The command line: ``pliant simulate``, ``inspect``, ``tour``. Verbs only, thin over the public functions.

Exit codes: 0 fine, 1 an error that pliant explains on stderr, 2 wrong usage, 130 Ctrl-C.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

import pliant
from pliant.solve.manifest import pliant_version, to_json

EXIT_ERROR = 1
EXIT_INTERRUPTED = 130
_MAX_ROWS = 20  # variables in the table of end values

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


# ------------------------------------------------------------------------------------- options of Modelica

Name = Annotated[str | None, typer.Option(help="Modelica: the class to load; default: the last one of the file.")]
LibraryPath = Annotated[
    list[Path] | None, typer.Option(help="Modelica: folder with libraries. Repeatable; default: MODELICAPATH.")
]
Tear = Annotated[list[str] | None, typer.Option(help="Modelica: variable to be torn in its loop. Repeatable.")]
Form = Annotated[str, typer.Option(help="Modelica: where loops are solved, auto, ode or dae.")]
Tearing = Annotated[str, typer.Option(help="Modelica: how loops are torn, max-causal or cellier.")]
NoAliases = Annotated[bool, typer.Option("--no-aliases", help="Modelica: keep variables that equal another one.")]
Fold = Annotated[
    bool, typer.Option("--fold-parameters", help="Modelica: numbers for parameters, which then cannot be changed.")
]

# -------------------------------------------------------------------------------------- options of simulate

File = Annotated[
    Path,
    typer.Argument(help="Modelica file, folder of a package, or C file that defines pliant_model.", metavar="FILE"),
]
Stop = Annotated[float, typer.Option(help="End of the simulation.")]
Start = Annotated[float, typer.Option(help="Begin of the simulation.")]
Method = Annotated[str, typer.Option(help="auto, bdf, radau5, dopri5, lieuler, euler or rk4.")]
Rtol = Annotated[float, typer.Option(help="Relative tolerance.")]
Atol = Annotated[float | None, typer.Option(help="Absolute tolerance of all states.")]
Points = Annotated[int, typer.Option(help="Number of equidistant output points.")]
Steps = Annotated[bool, typer.Option("--steps", help="Record every step taken instead of --points.")]
Step = Annotated[float | None, typer.Option(help="Step size of lieuler, euler and rk4.")]
Param = Annotated[list[str] | None, typer.Option(help="Parameter, as name=value. Repeatable.")]
StartValue = Annotated[list[str] | None, typer.Option(help="Start value of a state, as name=value. Repeatable.")]
Input = Annotated[
    list[str] | None,
    typer.Option("--input", help="Input, as name=number or name=table.csv (columns time, value). Repeatable."),
]
Output = Annotated[list[str] | None, typer.Option(help="Record only this variable. Repeatable; default: all.")]
Option = Annotated[list[str] | None, typer.Option(help="Solver option, as name=value, e.g. max_step=0.1. Repeatable.")]
Define = Annotated[list[str] | None, typer.Option(help="Macro for the C compiler, as NAME=VALUE. Repeatable.")]
Plot = Annotated[str | None, typer.Option(help="Draw these variables, separated by commas.")]
PlotFile = Annotated[Path | None, typer.Option(help="Draw into this .png, .svg or .pdf file instead of a window.")]
Save = Annotated[list[Path] | None, typer.Option(help="Write the result: .csv, .parquet or .mat. Repeatable.")]
Timeout = Annotated[float | None, typer.Option(help="Give up after so many seconds.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON only, for machines.")]


@app.command()
def simulate(
    file: File,
    *,
    stop: Stop,
    start: Start = 0.0,
    method: Method = "auto",
    rtol: Rtol = 1e-6,
    atol: Atol = None,
    points: Points = 500,
    steps: Steps = False,
    step: Step = None,
    param: Param = None,
    start_value: StartValue = None,
    input_: Input = None,
    output: Output = None,
    option: Option = None,
    define: Define = None,
    plot: Plot = None,
    plot_file: PlotFile = None,
    save: Save = None,
    timeout: Timeout = None,
    name: Name = None,
    path: LibraryPath = None,
    tear: Tear = None,
    form: Form = "auto",
    tearing: Tearing = "max-causal",
    no_aliases: NoAliases = False,
    fold_parameters: Fold = False,
    as_json: AsJson = False,
) -> None:
    """Simulate a Modelica or C model and show its end values and the work done.

    A run that fails or is interrupted with Ctrl-C still writes what it had computed to --save.
    """
    report = _Report(as_json, tuple(save or ()))
    with report.errors():
        chosen = _structure_options(form, tearing, no_aliases, fold_parameters)
        if file.suffix == ".mo" or file.is_dir() or name or path or tear or chosen:
            if define:
                raise typer.BadParameter("macros are for C files", param_hint="--define")
            model = pliant.load(file, name=name, path=path, tear=tear, options=chosen)
        else:
            model = pliant.native(file, defines=dict(_pairs("--define", define)))
        report.model = model.name
        result = model.simulate(
            stop=stop,
            start=start,
            method=method,
            rtol=rtol,
            atol=atol,
            points=None if steps else points,
            step=step,
            inputs={name: _input_value(text) for name, text in _pairs("--input", input_)},
            parameters=dict(_numbers("--param", param)),
            start_values=dict(_numbers("--start-value", start_value)),
            outputs=output,
            options={name: _literal(text) for name, text in _pairs("--option", option)},
            progress=False if as_json else None,
            timeout=timeout,
        )
        report.save(result)
        if plot is not None or plot_file is not None:
            report.draw(result, [name.strip() for name in (plot or "").split(",") if name.strip()], plot_file)
        report.show(result)


@app.command()
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
    """Show what becomes of the equations of a Modelica model: states, blocks, loops and their tearing.

    Nothing is compiled or simulated; it also works for models that cannot be simulated yet.
    """
    report = _Report(as_json)
    with report.errors():
        chosen = _structure_options(form, tearing, no_aliases, fold_parameters)
        structure = pliant.inspect(file, name=name, path=path, tear=tear, options=chosen)
        if html is not None:
            report.files.append(str(structure.write_page(html)))
        report.explain(structure)


@app.command()
def tour(
    out: Annotated[Path, typer.Option(help="Folder for the page and the files that the tour writes.")] = Path("tour"),
    open_: Annotated[bool, typer.Option("--open/--no-open", help="Open the page in a browser.")] = True,
) -> None:
    """Show everything this version can do, in under a minute, and write one page with pictures."""
    from pliant.tour import run_tour  # matplotlib is slow to load

    with _Report(False).errors():
        page = run_tour(out, Console())
        if open_ and _has_screen():
            typer.launch(page.resolve().as_uri())


def _has_screen() -> bool:
    """Is there a person before a screen? Otherwise a text browser might take over the terminal."""
    if not sys.stdout.isatty():
        return False
    if sys.platform in ("win32", "darwin"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


# ------------------------------------------------------------------------------------------------ arguments


def _structure_options(form: str, tearing: str, no_aliases: bool, fold_parameters: bool) -> dict[str, Any] | None:
    """Options of :func:`pliant.load` that differ from their defaults; None if none does."""
    given = {"form": form, "tearing": tearing, "aliases": not no_aliases, "fold_parameters": fold_parameters}
    usual = {"form": "auto", "tearing": "max-causal", "aliases": True, "fold_parameters": False}
    return {key: value for key, value in given.items() if value != usual[key]} or None


def _pairs(what: str, texts: Sequence[str] | None) -> Iterator[tuple[str, str]]:
    """``name=value`` texts, split at the first equals sign."""
    for text in texts or ():
        name, sign, value = text.partition("=")
        if not sign or not name.strip():
            raise typer.BadParameter(f"{text!r} is not of the form name=value", param_hint=what)
        yield name.strip(), value.strip()


def _numbers(what: str, texts: Sequence[str] | None) -> Iterator[tuple[str, float]]:
    for name, value in _pairs(what, texts):
        try:
            yield name, float(value)
        except ValueError:
            raise typer.BadParameter(f"{value!r} is not a number", param_hint=f"{what} {name}") from None


def _input_value(text: str) -> float | tuple[list[float], list[float]]:
    """A number, or the columns time and value of a CSV file (a line of column names is skipped)."""
    try:
        return float(text)
    except ValueError:
        pass
    path = Path(text)
    if not path.is_file():
        raise typer.BadParameter(f"{text!r} is neither a number nor a file", param_hint="--input")
    rows = [line.split(",") for line in path.read_text().splitlines() if line.strip() and line[0] != "#"]
    try:
        float(rows[0][0])
    except (ValueError, IndexError):
        rows = rows[1:]
    try:
        return [float(row[0]) for row in rows], [float(row[1]) for row in rows]
    except (ValueError, IndexError):
        raise typer.BadParameter(f"{text} does not hold two columns of numbers", param_hint="--input") from None


def _literal(text: str) -> int | float | str:
    """A number where the text is one."""
    kinds: tuple[Callable[[str], int | float], ...] = (int, float)
    for kind in kinds:
        try:
            return kind(text)
        except ValueError:
            continue
    return text


# --------------------------------------------------------------------------------------------------- answer


@dataclass
class _Report:
    """What a command tells, to people or to machines."""

    as_json: bool
    targets: tuple[Path, ...] = ()
    model: str = ""
    files: list[str] = field(default_factory=list)

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Errors become text on stderr and an exit code; what was computed is saved first."""
        try:
            yield
        except KeyboardInterrupt as error:
            self._fail(error, EXIT_INTERRUPTED)
        except pliant.PliantError as error:
            self._fail(error, EXIT_ERROR)

    def _fail(self, error: BaseException, code: int) -> None:
        result = getattr(error, "result", None)
        late: pliant.OutputError | None = None
        if result is not None and not self.files:
            try:
                self.save(result)
            except pliant.OutputError as failure:
                late = failure
        message = getattr(error, "message", "") or "interrupted"
        hint = getattr(error, "hint", "")
        console = Console(stderr=True)
        console.print(f"[bold red]{type(error).__name__}[/]: {escape(message)}", highlight=False, soft_wrap=True)
        if hint:
            console.print(f"  [bold]try:[/] {escape(hint)}", highlight=False, soft_wrap=True)
        if self.files:
            where = f"up to t = {result.time[-1]:.10g}" if result is not None and len(result) else "so far"
            console.print(f"  saved the result {where}: {escape(', '.join(self.files))}", highlight=False)
        if late is not None:
            console.print(f"  the result so far could not be saved: {escape(late.message)}", highlight=False)
        if self.as_json:
            told = {"type": type(error).__name__, "message": message, "hint": hint}
            told["time"] = getattr(error, "time", None)
            body = {"error": told} if result is None else {"error": told, **self._facts(result)}
            typer.echo(json.dumps(to_json(body), indent=1))
        raise typer.Exit(code)

    def save(self, result: pliant.Result) -> None:
        """Write the result to all files asked for."""
        for path in self.targets:
            self.files.append(str(result.save(path)))

    def draw(self, result: pliant.Result, names: list[str], file: Path | None) -> None:
        """Into a file, or into a window where there is one."""
        result.plot(*names, file=file)
        if file is not None:
            self.files.append(str(file))
        elif not _has_screen():
            Console(stderr=True).print("no window to draw into: give --plot-file", highlight=False)

    def _facts(self, result: pliant.Result) -> dict[str, Any]:
        return {
            "model": self.model,
            "complete": result.complete,
            "time": float(result.time[-1]) if len(result) else None,
            "final": result.final if len(result) else {},
            "stats": result.stats.as_dict(),
            "events": [
                {
                    "time": event.time,
                    "roots": event.roots,
                    "directions": event.directions,
                    "terminal": event.terminal,
                }
                for event in result.events
            ],
            "files": self.files,
            "manifest": result.manifest,
        }

    def explain(self, structure: pliant.Structure) -> None:
        """The structure of a model; headings stand out."""
        if self.as_json:
            typer.echo(json.dumps({**structure.as_dict(), "files": self.files}, indent=1))
            return
        console = Console()
        for line in str(structure).splitlines():
            style = "" if line.startswith(" ") else "bold"
            console.print(line, style=style, markup=False, highlight=False, emoji=False, soft_wrap=True)
        for file in self.files:
            console.print(f"wrote {escape(file)}", highlight=False)

    def show(self, result: pliant.Result) -> None:
        """End values and counters."""
        if self.as_json:
            typer.echo(json.dumps(to_json(self._facts(result)), indent=1))
            return
        console = Console()
        if len(result):
            console.print(_values_table(result))
        console.print(stats_line(result.stats), highlight=False, soft_wrap=True)
        if result.events:
            console.print(f"{len(result.events)} events, the last at {escape(str(result.events[-1]))}", highlight=False)
        for file in self.files:
            console.print(f"wrote {escape(file)}", highlight=False)


def _values_table(result: pliant.Result) -> Table:
    final = list(result.final.items())
    table = Table(title=f"t = {result.time[-1]:.10g}", title_justify="left", box=None, pad_edge=False)
    table.add_column("variable")
    table.add_column("value", justify="right")
    for name, value in final[:_MAX_ROWS]:
        table.add_row(escape(name), f"{value:.10g}")
    if len(final) > _MAX_ROWS:
        table.add_row(f"and {len(final) - _MAX_ROWS} more", "")
    return table


def stats_line(stats: pliant.Stats) -> str:
    """The work of a run in one line.

    >>> stats_line(pliant.Stats(n_steps=12, n_rhs=20, n_jac=1, n_factor=4, method="bdf", seconds=0.01))
    'bdf: 12 steps, 20 evaluations of f, 1 Jacobians, 4 factorisations, 0 + 0 failures, 10 ms'
    """
    return (
        f"{stats.method}: {stats.n_steps} steps, {stats.n_rhs} evaluations of f, {stats.n_jac} Jacobians, "
        f"{stats.n_factor} factorisations, {stats.n_error_fails} + {stats.n_newton_fails} failures, "
        f"{1e3 * stats.seconds:.3g} ms"
    )


if __name__ == "__main__":
    app()
