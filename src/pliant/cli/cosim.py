"""pliant cosim"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

import pliant
from pliant.cli.answer import EXIT_ERROR, EXIT_USAGE, Report, stats_line
from pliant.cli.app import app
from pliant.cli.arguments import AsJson, Plot, PlotFile, Save, listed_names

if TYPE_CHECKING:
    from pliant.cosim.compare import Trial

File = Annotated[Path, typer.Argument(help="File with parts and connections: .ssp, .ssd or .toml.", metavar="SYSTEM")]
Stop = Annotated[float | None, typer.Option(help="End of the simulation, instead of that in the file.")]
Step = Annotated[
    str | None, typer.Option(help="Macro step, instead of that in the file: seconds, or auto.", metavar="FLOAT|auto")
]
MacroRtol = Annotated[float | None, typer.Option(help="With --step auto: error of inputs that is allowed.")]
Explain = Annotated[bool, typer.Option("--explain", help="Report what limited the macro steps, and what to try.")]
ExplainPlot = Annotated[Path | None, typer.Option(help="Draw macro steps and their errors over time into this file.")]
Scheme = Annotated[str | None, typer.Option(help="jacobi or gauss-seidel.")]
Extrapolation = Annotated[int | None, typer.Option(help="Degree of the input polynomials: 0, 1 or 2.")]
AtJump = Annotated[str | None, typer.Option(help="correct, x2, x1, proceed or restart.")]
Rtol = Annotated[float | None, typer.Option(help="Relative tolerance of all parts.")]
Timeout = Annotated[float | None, typer.Option(help="Stop after this many seconds.")]
Graph = Annotated[Path | None, typer.Option(help="Draw parts and connections into this file.")]
Compare = Annotated[bool, typer.Option("--compare", help="Simulate with every strategy and compare the work.")]
StepsFile = Annotated[
    Path | None, typer.Option(help="With --compare: draw step sizes and orders of restart and correct.")
]


@app.command(short_help="Simulate coupled models, each with a solver of its own.")
def cosim(
    file: File,
    *,
    stop: Stop = None,
    step: Step = None,
    macro_rtol: MacroRtol = None,
    scheme: Scheme = None,
    extrapolation: Extrapolation = None,
    at_jump: AtJump = None,
    rtol: Rtol = None,
    save: Save = None,
    plot: Plot = None,
    plot_file: PlotFile = None,
    graph: Graph = None,
    compare: Compare = False,
    steps_file: StepsFile = None,
    explain: Explain = False,
    explain_plot: ExplainPlot = None,
    timeout: Timeout = None,
    as_json: AsJson = False,
) -> None:
    """Simulate models that are coupled at communication points, as a file describes.

    A run that fails or is interrupted with Ctrl-C still writes what it had computed to --save.
    """
    from pliant.cosim.system import read_system

    report = Report(as_json, model=file.stem, explain=explain, explain_plot=explain_plot)
    with report.errors():
        if steps_file is not None and not compare:
            raise pliant.ArgumentError("--steps-file shows two strategies side by side", hint="add --compare")
        report.check_files(save, plot_file, graph, steps_file, explain_plot)
        chosen = _step(step)
        shown = listed_names("--plot", plot)
        report.usage = EXIT_ERROR  # where the file itself makes no sense
        system = read_system(file, pliant.load)
        report.targets = tuple(save or system.save)
        given = {
            "stop": stop,
            "step": chosen,
            "macro_rtol": macro_rtol,
            "scheme": scheme,
            "extrapolation": extrapolation,
            "rtol": rtol,
        }
        given |= {"timeout": timeout, "at_jump": at_jump}
        given = {key: value for key, value in given.items() if value is not None}
        report.usage = EXIT_USAGE if given else EXIT_ERROR
        arguments = system.arguments | given
        arguments["progress"] = False if as_json else None
        if graph is not None:
            system.coupling.plot(graph)
        drawn = [] if graph is None else [str(graph)]
        if compare:
            report.files += drawn
            _compare(report, system.coupling, arguments, steps_file)
            return
        result = system.coupling.simulate(**arguments)
        report.files += drawn  # not before: where the run fails, these are the files of the result so far
        for target in report.targets:
            report.files.append(str(result.save(target, names=system.outputs or None)))
        names = shown or system.plot
        if plot is not None or plot_file is not None:
            report.draw(result, names, plot_file)
        report.show(result)
        if not as_json:
            for name, part in result.parts.items():
                Console().print(f"  {escape(name)}: {stats_line(part.stats)}", highlight=False, soft_wrap=True)


def _step(text: str | None) -> float | str | None:
    """Seconds, or "auto"."""
    if text is None or text == "auto":
        return text
    try:
        return float(text)
    except ValueError:
        raise pliant.ArgumentError(f"--step {text!r} is no number", hint="seconds, or auto") from None


def _compare(report: Report, coupling: Any, arguments: dict[str, Any], steps_file: Path | None) -> None:
    from pliant.cosim.compare import STRATEGIES
    from pliant.cosim.compare import compare as all_strategies

    arguments = {key: value for key, value in arguments.items() if key != "at_jump"}
    trials = all_strategies(coupling, STRATEGIES, **arguments)
    if steps_file is not None:
        from pliant.cosim.plot import plot_strategies

        shown = {one.at_jump: one.result for one in trials if one.at_jump in ("restart", "correct") and one.result}
        plot_strategies(shown, coupling.parts[0], steps_file)
        report.files.append(str(steps_file))
    if report.as_json:
        body = {"strategies": [one.as_dict() for one in trials], "files": report.files}
        report.print_json(body)
    else:
        _tell(report, trials)
    if all(one.error for one in trials):
        raise typer.Exit(EXIT_ERROR)


def _tell(report: Report, trials: list[Trial]) -> None:
    from pliant.cosim.compare import table

    console = Console()
    head, *rows = table(trials)
    shown_table = Table(box=None, pad_edge=False)
    for k, name in enumerate(head):
        shown_table.add_column(name, justify="left" if k == 0 else "right")
    for row in rows:
        shown_table.add_row(*row)
    console.print(shown_table)
    for one in trials:
        if one.error:
            console.print(f"{one.at_jump} failed: {escape(one.error)}", highlight=False, soft_wrap=True)
    for name in report.files:
        console.print(f"wrote {escape(name)}", highlight=False)
