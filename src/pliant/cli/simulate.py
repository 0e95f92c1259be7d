"""pliant simulate"""

from __future__ import annotations

from pliant.cli.answer import Report
from pliant.cli.app import app
from pliant.cli.arguments import (
    AsJson,
    Atol,
    Define,
    Explain,
    ExplainPlot,
    File,
    FmuOption,
    Fold,
    Form,
    Frontend,
    Input,
    Kind,
    LibraryPath,
    Method,
    Name,
    NoAliases,
    Option,
    Output,
    Param,
    Plot,
    PlotFile,
    Points,
    Rtol,
    Save,
    Start,
    StartValue,
    Step,
    Steps,
    Stop,
    Tear,
    Tearing,
    Timeout,
    inputs,
    listed_names,
    literal,
    load_model,
    pairs,
    settings,
    structure_options,
)


@app.command(short_help="Run a model (Modelica, C, FMU); show, plot, save results.")
def simulate(
    file: File,
    *,
    stop: Stop = None,
    start: Start = None,
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
    explain: Explain = False,
    explain_plot: ExplainPlot = None,
    timeout: Timeout = None,
    name: Name = None,
    path: LibraryPath = None,
    frontend: Frontend = None,
    tear: Tear = None,
    form: Form = "auto",
    tearing: Tearing = "max-causal",
    no_aliases: NoAliases = False,
    fold_parameters: Fold = False,
    kind: Kind = None,
    fmu_option: FmuOption = None,
    as_json: AsJson = False,
) -> None:
    """Simulate a Modelica or C model, or an FMU, and show its end values and the work done.

    A run that fails or is interrupted with Ctrl-C still writes what it had computed to --save.
    """
    report = Report(as_json, tuple(save or ()), explain=explain, explain_plot=explain_plot)
    with report.errors():
        report.check_files(save, plot_file, explain_plot)
        chosen = structure_options(form, tearing, no_aliases, fold_parameters)
        shown = listed_names("--plot", plot)
        model = load_model(
            file, define, chosen, name=name, path=path, frontend=frontend, tear=tear, kind=kind, fmu_option=fmu_option
        )
        report.model = model.name
        result = model.simulate(
            stop=stop,
            start=start,
            method=method,
            rtol=rtol,
            atol=atol,
            points=None if steps else points,
            step=step,
            inputs=inputs(model, input_),
            parameters=settings(model, "--param", param),
            start_values=settings(model, "--start-value", start_value),
            outputs=output,
            options={name: literal(text) for name, text in pairs("--option", option)},
            progress=False if as_json else None,
            timeout=timeout,
        )
        report.save(result)
        if plot is not None or plot_file is not None:
            report.draw(result, shown, plot_file)
        report.show(result)
