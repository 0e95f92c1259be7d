"""pliant realtime"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

import pliant
from pliant.cli.answer import EXIT_DOES_NOT_HOLD, Report
from pliant.cli.app import app
from pliant.cli.arguments import (
    AsJson,
    Fold,
    Form,
    Frontend,
    Input,
    LibraryPath,
    Name,
    NoAliases,
    Param,
    StartValue,
    Tear,
    Tearing,
    inputs,
    literal,
    pairs,
    settings,
    structure_options,
)
from pliant.textfile import read_text

ModelFile = Annotated[Path, typer.Argument(help="Modelica file or folder of a package.", metavar="FILE.mo")]
RealStep = Annotated[float, typer.Option(help="Step size of the real-time loop in seconds.")]
RealStop = Annotated[float, typer.Option(help="End of the scenario in seconds.")]
Tolerance = Annotated[float, typer.Option(help="Error that dropped entries may add, of each state's range.")]
Theta = Annotated[float, typer.Option(help="Share of the stability margin that must be kept.")]
Order = Annotated[int, typer.Option(help="1, or 2: two half steps, extrapolated.")]
AccuracyOption = Annotated[
    list[str] | None,
    typer.Option(
        "--accuracy",
        help="Error against accurate simulations beyond which the evidence does not hold (exit code 3): a number, "
        "name=number, or none. Repeatable; default: 0.05.",
    ),
]
Scenarios = Annotated[
    Path | None, typer.Option(help="JSON file: a list of scenarios with inputs, parameters, start_values, stop.")
]
Budget = Annotated[
    float | None,
    typer.Option(help="Instructions of a step: of the plans that need no more, the one that adds the least error."),
]
ShowFrontier = Annotated[
    bool, typer.Option("--frontier", help="Show what a smaller error costs: further searches, error against cost.")
]
PlanOption = Annotated[
    list[str] | None, typer.Option("--option", help="Option of the plan, as name=value, e.g. restarts=5. Repeatable.")
]
Precision = Annotated[str, typer.Option(help="double or float.")]
Write = Annotated[Path | None, typer.Option(help="Folder for C sources, build files, self-test and evidence.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Write into a folder that exists.")]
Page = Annotated[Path | None, typer.Option("--report", help="Write the page of the plan to this HTML file.")]
Measure = Annotated[bool, typer.Option("--measure", help="Run the step here in a real-time loop and time it.")]
Steps = Annotated[
    int | None, typer.Option(help="Steps that --measure and --target take. Default: a million here, 1000 on a target.")
]
Target = Annotated[
    str | None,
    typer.Option(help="Build for cortex-m7, aarch64 or riscv64, run on an emulator, report instructions and memory."),
]
ChallengeCount = Annotated[
    int | None,
    typer.Option(
        "--challenge",
        help="Run so many scenarios that the plan has not seen, and compare with accurate simulations. Exit code 3 "
        "if one leaves the accuracy without a flag.",
        metavar="N",
    ),
]
Ranges = Annotated[
    Path | None,
    typer.Option(
        help='JSON file for --challenge: {"parameters": {name: [low, high]}, "start_values": ..., "inputs": ...}.'
    ),
]
Worst = Annotated[
    Path | None, typer.Option("--worst", help="Folder for the table of --challenge and its worst scenarios.")
]
Compare = Annotated[bool, typer.Option("--baselines", help="Compare with other methods of choosing a pattern.")]


@app.command(short_help="Turn a model into checked C with constant work per step.")
def realtime(
    file: ModelFile,
    *,
    stop: RealStop,
    step: RealStep = 1e-3,
    tolerance: Tolerance = 0.02,
    budget: Budget = None,
    theta: Theta = 0.5,
    order: Order = 1,
    accuracy: AccuracyOption = None,
    param: Param = None,
    start_value: StartValue = None,
    input_: Input = None,
    scenarios: Scenarios = None,
    option: PlanOption = None,
    precision: Precision = "double",
    write: Write = None,
    overwrite: Overwrite = False,
    page: Page = None,
    measure: Measure = False,
    measure_steps: Steps = None,
    target: Target = None,
    challenge: ChallengeCount = None,
    ranges: Ranges = None,
    worst: Worst = None,
    baselines: Compare = False,
    frontier: ShowFrontier = False,
    name: Name = None,
    path: LibraryPath = None,
    frontend: Frontend = None,
    tear: Tear = None,
    form: Form = "auto",
    tearing: Tearing = "max-causal",
    no_aliases: NoAliases = False,
    fold_parameters: Fold = False,
    as_json: AsJson = False,
) -> None:
    """Turn a Modelica model into C with constant work per step: sparse the Jacobian, check, write, measure.

    The exit code is 3 if the evidence does not hold, or --challenge finds an error without a flag; everything is
    written nevertheless.
    """
    report = Report(as_json)
    found = None
    with report.errors():
        if challenge is None and (ranges is not None or worst is not None):
            raise pliant.ArgumentError("--ranges and --worst belong to --challenge", hint="e.g. --challenge 1000")
        chosen = structure_options(form, tearing, no_aliases, fold_parameters)
        model = pliant.load(file, name=name, path=path, frontend=frontend, tear=tear, options=chosen)
        report.model = model.name
        options: dict[str, Any] = {key: literal(text) for key, text in pairs("--option", option)}
        plan = model.realtime(
            step=step,
            stop=stop,
            tolerance=tolerance,
            theta=theta,
            order=order,
            scenarios=[
                {
                    "inputs": inputs(model, input_),
                    "parameters": settings(model, "--param", param),
                    "start_values": settings(model, "--start-value", start_value),
                }
            ]
            if scenarios is None
            else _scenarios(scenarios, bool(param or start_value or input_)),
            options={"precision": precision, **options},
            accuracy=_accuracy(accuracy),
            budget=budget,
            progress=False if as_json else None,
        )
        searched = plan.frontier if frontier else None
        timing = plan.measure(measure_steps) if measure else None
        on_target = plan.measure(measure_steps, target=target) if target is not None else None
        if challenge is not None:
            drawn = (
                None if ranges is None else pliant.Scenarios(_json(ranges, "--ranges", _RANGES), challenge, stop=stop)
            )
            found = _challenged(plan, challenge, drawn, worst, overwrite, as_json)
            report.files += [] if worst is None else [str(worst)]
        if write is not None:
            report.files.append(str(plan.write(write, overwrite=overwrite)))
        if page is not None:
            report.files.append(str(plan.report(page)))
        if as_json:
            more: dict[str, Any] = {} if on_target is None else {"target": on_target.as_dict()}
            more |= {} if found is None else {"challenge": found.as_dict()}
            report.print_json({**plan.as_dict(baselines), **more, "files": report.files})
        else:
            measured = [("Frontier", searched), ("Timing", timing), ("On the target", on_target), ("Challenge", found)]
            _show(plan, measured, baselines, report.files)
    if not plan.evidence.holds or (found is not None and found.missed):
        raise typer.Exit(EXIT_DOES_NOT_HOLD)


def _challenged(
    plan: pliant.Plan, n: int, drawn: pliant.Scenarios | None, worst: Path | None, overwrite: bool, as_json: bool
) -> pliant.Challenge:
    """After Ctrl-C what was done is in the folder."""
    try:
        found = plan.challenge(n, scenarios=drawn, progress=False if as_json else None)
    except pliant.SimulationInterrupted as error:
        done, error.result = error.result, None
        if worst is not None and isinstance(done, pliant.Challenge):
            done.save(worst, overwrite=overwrite)
        raise
    if worst is not None:
        found.save(worst, overwrite=overwrite)
    return found


_RANGES = 'e.g. {"parameters": {"mass": [1.0, 2.0]}, "inputs": {"u": {"kind": "step", "range": [0, 5]}}}'
_EXAMPLE = 'e.g. [{"name": "cold", "parameters": {"T": 250}, "stop": 10}]'


def _accuracy(texts: list[str] | None) -> Any:
    """A number, a mapping by name, or None: not judged."""
    if not texts:
        return 0.05
    if len(texts) == 1 and "=" not in texts[0]:
        word = literal(texts[0])
        return None if word == "none" else word
    return {name: None if value == "none" else literal(value) for name, value in pairs("--accuracy", texts)}


def _scenarios(file: Path, more: bool) -> list[dict[str, Any]]:
    """Scenarios from a JSON file; tables of inputs are pairs of lists or names of files."""
    if more:
        raise pliant.ArgumentError(
            "--scenarios: --input, --param and --start-value belong to a single scenario", hint="put them into the file"
        )
    found = _json(file, "--scenarios", _EXAMPLE)
    if not isinstance(found, list) or not found or not all(isinstance(one, dict) for one in found):
        raise pliant.ArgumentError(f"--scenarios: {file} must hold a list of scenarios", hint=_EXAMPLE)
    for k, one in enumerate(found):
        _check_numbers(one, f"{file}: {one.get('name') or f'scenario {k + 1}'}")
    return found


def _json(file: Path, option: str, example: str) -> Any:
    try:
        return json.loads(read_text(file))
    except OSError as error:
        raise pliant.ArgumentError(
            f"{option}: {file} cannot be read: {error.strerror}", hint="check the path"
        ) from None
    except (json.JSONDecodeError, RecursionError) as error:
        raise pliant.ArgumentError(f"{option}: {file} is not JSON: {error}", hint=example) from None


def _check_numbers(value: Any, where: str) -> None:
    """JSON readers let NaN and Infinity through."""
    if isinstance(value, float) and not math.isfinite(value):
        raise pliant.ArgumentError(
            f"--scenarios: {where} is {value}, not a finite number", hint="put a number there, or leave it out"
        )
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        _check_numbers(part, f"{where}[{key!r}]" if isinstance(key, int) else f"{where}, {key}")


def _show(plan: Any, measured: list[tuple[str, Any]], baselines: bool, files: list[str]) -> None:
    console = Console()

    def tell(text: str, style: str = "") -> None:
        console.print(escape(text), style=style, highlight=False, soft_wrap=True)

    tell(plan.summary)
    if baselines:
        tell("Other ways to choose a pattern", "bold")
        for one in plan.baselines():
            tell(
                f"  {one.name}: {one.entries} entries, {one.flops} operations, {one.colours} colours, largest "
                f"|eigenvalue| {one.radius:.4g}, error {100 * one.bias:.3g} %, {one.violators} linearisations refuse"
            )
    for line in plan.evidence.short.splitlines():
        tell(line, "" if line.startswith(" ") else "bold")
    for title, one in measured:
        if one is not None:
            tell(title, "bold")
            for line in str(one).splitlines():
                tell(f"  {line}")
    for file in files:
        tell(f"wrote {file}")
