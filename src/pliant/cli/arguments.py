"""Arguments and options that verbs share, and how their texts are read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

import pliant

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
    bool,
    typer.Option(
        "--fold-parameters", help="Modelica: replace parameters by their numbers, which then cannot be changed."
    ),
]

# -------------------------------------------------------------------------------------- options of simulate

File = Annotated[
    Path,
    typer.Argument(
        help="Modelica file, folder of a package, FMU, or C file that defines pliant_model.", metavar="FILE"
    ),
]
Stop = Annotated[
    float | None, typer.Option(help="End of the simulation; default: that of an FMU's default experiment.")
]
Start = Annotated[
    float | None, typer.Option(help="Start of the simulation; default: that of an FMU's default experiment, else 0.")
]
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
    typer.Option(
        "--input",
        help="Input, as name=value: a number, true, false, a value of an enumeration, or a CSV or Parquet file; or a "
        "file alone, with a column for each input. Repeatable.",
    ),
]
Output = Annotated[list[str] | None, typer.Option(help="Record only this variable. Repeatable; default: all.")]
Option = Annotated[list[str] | None, typer.Option(help="Solver option, as name=value, e.g. max_step=0.1. Repeatable.")]
Kind = Annotated[
    str | None, typer.Option(help="FMU: model-exchange or co-simulation; default: the first that it offers.")
]
Frontend = Annotated[
    str | None, typer.Option(help="What reads Modelica: pliant, or for cross-checks the package rumoca.")
]
FmuOption = Annotated[
    list[str] | None, typer.Option(help="FMU: option, as name=value, e.g. call_timeout=60. Repeatable.")
]
Define = Annotated[list[str] | None, typer.Option(help="Macro for the C compiler, as NAME=VALUE. Repeatable.")]
Plot = Annotated[
    str | None, typer.Option(help="Draw these variables, separated by commas; those inside brackets belong to a name.")
]
PlotFile = Annotated[Path | None, typer.Option(help="Draw into this .png, .svg or .pdf file instead of a window.")]
Explain = Annotated[bool, typer.Option("--explain", help="Report what slowed the run down, by name, and what to try.")]
ExplainPlot = Annotated[Path | None, typer.Option(help="Draw steps, failures and events over time into this file.")]
Save = Annotated[list[Path] | None, typer.Option(help="Write the result: .csv, .parquet or .mat. Repeatable.")]
Timeout = Annotated[float | None, typer.Option(help="Stop after this many seconds.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON only.")]


# ------------------------------------------------------------------------------------------------ arguments


def structure_options(form: str, tearing: str, no_aliases: bool, fold_parameters: bool) -> dict[str, Any] | None:
    """Options of :func:`pliant.load` that differ from their defaults; None if none does."""
    given = {"form": form, "tearing": tearing, "aliases": not no_aliases, "fold_parameters": fold_parameters}
    usual = {"form": "auto", "tearing": "max-causal", "aliases": True, "fold_parameters": False}
    return {key: value for key, value in given.items() if value != usual[key]} or None


def pairs(what: str, texts: Sequence[str] | None) -> Iterator[tuple[str, str]]:
    """``name=value`` texts, split at the first equals sign."""
    seen: set[str] = set()
    for text in texts or ():
        name, sign, value = text.partition("=")
        if name.strip() in seen:
            raise pliant.ArgumentError(f"{what}: {name.strip()} is given twice", hint="give it once")
        seen.add(name.strip())
        if not sign or not name.strip():
            raise pliant.ArgumentError(f"{what}: {text!r} is not of the form name=value", hint=f"e.g. {what} name=1.5")
        yield name.strip(), value.strip()


def numbers(what: str, texts: Sequence[str] | None) -> Iterator[tuple[str, float]]:
    """``name=number`` texts."""
    for name, value in pairs(what, texts):
        try:
            yield name, float(value)
        except ValueError:
            raise pliant.ArgumentError(
                f"{what} {name} must be a number, not {value!r}", hint="a number without quotes and units"
            ) from None


def settings(model: pliant.Model, what: str, texts: Sequence[str] | None) -> dict[str, Any]:
    """Parameters or start values: numbers, or values of the variable's type; those of an FMU may be texts, too."""
    if model._numeric.fmu is not None:
        return {name: literal(value) for name, value in pairs(what, texts)}
    known = model._numeric.known
    found: dict[str, Any] = {}
    for name, value in pairs(what, texts):
        kind = known.type(name)
        if kind == "boolean" and value in ("true", "false"):
            found[name] = value == "true"
        elif kind == "enumeration" and value.rpartition(".")[2] in known.variables[name].literals:
            found[name] = float(known.variables[name].literals.index(value.rpartition(".")[2]) + 1)
        else:
            found |= numbers(what, [f"{name}={value}"])
    return found


def inputs(model: pliant.Model, texts: Sequence[str] | None) -> dict[str, Any]:
    """Inputs of a model from ``name=value`` texts, where value is a number, a file, or a value of the input's type.

    A text without equals sign is a file with a column for each input.
    """
    from pliant.solve.signals.files import TABLE_SUFFIXES
    from pliant.solve.signals.given import read_inputs

    known = model._numeric.declared_inputs(None)
    out: dict[str, Any] = {}
    for text in texts or ():
        alone = Path(text).is_file() or ("=" not in text and Path(text).suffix.lower() in TABLE_SUFFIXES)
        if alone and text.partition("=")[0].strip() not in known:
            more: dict[str, Any] = dict(read_inputs(text))
        else:
            more = {name: _input(value) for name, value in pairs("--input", [text])}
        for name, value in more.items():
            if name in out:
                raise pliant.ArgumentError(f"--input: {name} is given twice", hint="give it once")
            out[name] = value
    return out


def _input(value: str) -> float | str:

    try:
        return float(value)
    except ValueError:
        return value  # a file, or a value of the input's type: who knows the types says what is wrong


def listed_names(what: str, text: str | None) -> list[str]:
    """Names separated by commas, which belong to a name inside brackets and quotes; double quotes do not.

    >>> listed_names("--plot", "v[1,1], der(x), 'a, b', \\"c,d\\"")
    ['v[1,1]', 'der(x)', "'a, b'", 'c,d']
    """
    names, piece, open_ = [""], re.compile(r"\"[^\"]*\"|'(?:\\.|[^'\\])*'|."), [""]
    for part in piece.findall(text or ""):
        if part == "," and not open_[-1]:
            names.append("")
            continue
        if part == open_[-1]:
            open_.pop()
        elif part in "([{":
            open_.append(")]}"["([{".index(part)])
        names[-1] += part[1:-1] if part[0] == '"' and len(part) > 1 else part
    if open_[-1]:
        raise pliant.ArgumentError(f"{what}: {open_[-1]!r} is missing in {text!r}", hint="e.g. v[1,1],der(x)")
    return [name.strip() for name in names if name.strip()]


def literal(text: str) -> int | float | str | bool:
    """A number or a truth value where the text is one."""
    if text in ("true", "false"):
        return text == "true"
    kinds: tuple[Callable[[str], int | float], ...] = (int, float)
    for kind in kinds:
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def load_model(
    file: Path,
    define: list[str] | None,
    options: Mapping[str, Any] | None,
    *,
    name: str | None = None,
    path: list[Path] | None = None,
    tear: list[str] | None = None,
    kind: str | None = None,
    fmu_option: list[str] | None = None,
    frontend: str | None = None,
) -> pliant.Model:
    """A Modelica file or folder, an FMU, or a C file with its macros."""
    from pliant.sources import is_fmu  # brings the front end along

    if is_fmu(file):
        if options or define:
            raise pliant.ArgumentError(
                f"{file}: form, tearing, aliases, folded parameters and macros are no matter of an FMU",
                hint="leave them out; parameters: --param name=value",
            )
        chosen = {key: literal(text) for key, text in pairs("--fmu-option", fmu_option)}
        return pliant.load(file, name=name, path=path, tear=tear, kind=kind, options=chosen or None, frontend=frontend)
    if kind or fmu_option:
        raise pliant.ArgumentError(f"{file} is no FMU", hint="--kind and --fmu-option are for .fmu files")
    if file.suffix == ".c" and not (name or path or tear or options or frontend):
        return pliant.native(file, defines=dict(pairs("--define", define)))
    if define:
        raise pliant.ArgumentError("--define: macros are for C files", hint="parameters: --param name=value")
    return pliant.load(file, name=name, path=path, tear=tear, options=options, frontend=frontend)
