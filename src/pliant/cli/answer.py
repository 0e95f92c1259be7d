"""What a command prints, as text or as JSON."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

import pliant
from pliant.drawing import picture_kind

EXIT_ERROR = 1
EXIT_USAGE = 2  # the parser's own code, too
EXIT_DOES_NOT_HOLD = 3  # the evidence of a plan; everything is written nevertheless
EXIT_INTERRUPTED = 130
_MAX_ROWS = 20  # variables in the table of end values
_MAX_MESSAGES = 100  # lines of what a model says


def has_screen() -> bool:
    """Is there a person before a screen? Otherwise a text browser might take over the terminal."""
    if not sys.stdout.isatty():
        return False
    if sys.platform in ("win32", "darwin"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


@dataclass
class Report:
    """What a command prints, as text or as JSON."""

    as_json: bool
    targets: tuple[Path, ...] = ()
    model: str = ""
    explain: bool = False
    explain_plot: Path | None = None
    files: list[str] = field(default_factory=list)
    usage: int = EXIT_USAGE  # exit code where an argument makes no sense

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Errors become text on stderr and an exit code; what was computed is saved first."""
        try:
            yield
        except KeyboardInterrupt as error:
            self._fail(error, EXIT_INTERRUPTED)
        except pliant.ArgumentError as error:
            self._fail(error, self.usage)
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
        if result is not None:
            self._told(result, console)
        console.print(f"[bold red]{type(error).__name__}[/]: {escape(message)}", highlight=False, soft_wrap=True)
        if hint:
            console.print(f"  [bold]try:[/] {escape(hint)}", highlight=False, soft_wrap=True)
        if self.files:
            where = f"up to t = {result.time[-1]:.10g}" if result is not None and len(result) else "so far"
            console.print(f"  saved the result {where}: {escape(', '.join(self.files))}", highlight=False)
        if late is not None:
            console.print(f"  the result so far could not be saved: {escape(late.message)}", highlight=False)
        if result is not None:
            try:
                self._why(result, console)
            except pliant.PliantError as failure:
                console.print(f"  it could not be explained: {escape(failure.message)}", highlight=False)
        if self.as_json:
            told = {"type": type(error).__name__, "message": message, "hint": hint}
            told["time"] = getattr(error, "time", None)
            body = {"error": told} if result is None else {"error": told, **self._facts(result)}
            self.print_json(body)
        raise typer.Exit(code)

    def print_json(self, body: Any) -> None:
        """For machines: standard JSON on stdout, and nothing else."""
        from pliant.solve.results.manifest import to_json  # numpy: `pliant --help` goes without

        typer.echo(json.dumps(to_json(body), indent=1))

    def check_files(self, save: Sequence[Path] | None, *drawn: Path | None) -> None:
        """Refuse what names no format before anything runs: afterwards the work would be lost."""
        if save:
            from pliant.solve.results.save import check_format

            for path in save:
                check_format(path)
        for picture in drawn:
            if picture is not None:
                picture_kind(picture)

    def save(self, result: pliant.Result) -> None:
        """Write the result to all files asked for."""
        for path in self.targets:
            self.files.append(str(result.save(path)))

    def draw(self, result: pliant.Result, names: list[str], file: Path | None) -> None:
        """Into a file, or into a window where there is one."""
        result.plot(*names, file=file)
        if file is not None:
            self.files.append(str(file))
        elif not has_screen():
            Console(stderr=True).print("no window to draw into: give --plot-file", highlight=False)

    def _told(self, result: pliant.Result, console: Console) -> None:
        """What the model said during the run."""
        if self.as_json:  # it is there
            return
        for t, status, _, text in result.log[:_MAX_MESSAGES]:
            word = "" if status in ("ok", "printed") else f"[bold]{escape(status)}:[/] "
            console.print(f"t = {t:.10g}  {word}{escape(text)}", highlight=False, emoji=False, soft_wrap=True)
        if len(result.log) > _MAX_MESSAGES:
            console.print(f"and {len(result.log) - _MAX_MESSAGES} more messages: --json has them", highlight=False)

    def _why(self, result: pliant.Result, console: Console) -> None:
        """What held the run up, if that was asked for."""
        if not (self.explain or self.explain_plot) or not result.explainable:
            return
        why = result.explain()
        if self.explain_plot is not None:
            why.plot(file=self.explain_plot)
            self.files.append(str(self.explain_plot))
        if self.explain and not self.as_json:
            console.print(str(why), markup=False, highlight=False, emoji=False, soft_wrap=True)

    def _facts(self, result: pliant.Result) -> dict[str, Any]:
        told = {"explanation": result.explain().as_dict()} if self.explain and result.explainable else {}
        return {
            **told,
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
            "log": [dict(zip(("time", "status", "category", "text"), one, strict=True)) for one in result.log],
            "files": self.files,
            "manifest": result.manifest,
        }

    def tell(self, structure: pliant.Structure | pliant.FmuReport | pliant.SystemReport) -> None:
        """The structure of a model, or what is in an FMU or a system; headings stand out."""
        if self.as_json:
            self.print_json({**structure.as_dict(), "files": self.files})
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
            self._why(result, Console(stderr=True))
            self.print_json(self._facts(result))
            return
        self._told(result, Console(stderr=True))
        console = Console()
        if len(result):
            console.print(_values_table(result))
        console.print(stats_line(result.stats), highlight=False, soft_wrap=True)
        if result.events:
            console.print(f"{len(result.events)} events, the last at {escape(str(result.events[-1]))}", highlight=False)
        self._why(result, console)
        for file in self.files:
            console.print(f"wrote {escape(file)}", highlight=False)


def _values_table(result: pliant.Result) -> Table:
    final = list(result.final.items())
    table = Table(title=f"t = {result.time[-1]:.10g}", title_justify="left", box=None, pad_edge=False)
    table.add_column("variable")
    table.add_column("value", justify="right")
    for name, value in final[:_MAX_ROWS]:
        table.add_row(escape(name), escape(value_text(result, name, value)))
    if len(final) > _MAX_ROWS:
        table.add_row(f"and {len(final) - _MAX_ROWS} more", "")
    return table


def value_text(result: pliant.Result, name: str, value: float) -> str:
    """A value as its type is written in Modelica: true, 3, a literal of an enumeration, 0.5.

    >>> r = pliant.load("model M\\n Boolean b = time > 0.5; Integer n = 3; Real x = time;\\nend M;\\n").simulate(stop=1)
    >>> [value_text(r, name, r.final[name]) for name in ("b", "n", "x")]
    ['true', '3', '1']
    """
    kind = result.type(name)
    if kind == "real" or not math.isfinite(value):
        return f"{value:.10g}"
    if kind == "boolean":
        return "true" if value else "false"
    number = round(value)
    literals = result.info[name].literals if kind == "enumeration" and name in result.info else ()
    return literals[number - 1] if 0 < number <= len(literals) else str(number)


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
