"""What check_library found: a row for each example, counts, classes of failure; as text, JSON and a page."""

from __future__ import annotations

import html
import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pliant.arguments import as_path
from pliant.errors import ArgumentError, OutputError
from pliant.plain import plain

STAGES = ("frontend", "structure", "start", "simulate", "match")
HEADINGS = {
    "frontend": "front end",
    "structure": "structure",
    "start": "start",
    "simulate": "simulate",
    "match": "match",
}


@dataclass
class Row:
    """How far one example came. Stages: True passed, False failed, None not reached (match: or no reference)."""

    name: str
    frontend: bool | None = None
    structure: bool | None = None
    start: bool | None = None
    simulate: bool | None = None
    match: bool | None = None
    nrmse: float | None = None  # of the curve that fits worst
    signal: str = ""  # that curve
    error: str = ""
    error_class: str = ""
    seconds: float = 0.0  # of CPU, without the C compiler; where time ran out, of the clock

    def fail(self, error_class: str, error: str, stage: str = "") -> None:
        """The first stage that was not passed failed; ``stage``: this one, those before it are passed."""
        for one in STAGES:
            if one == stage or (not stage and getattr(self, one) is None):
                setattr(self, one, False)
                break
            setattr(self, one, True)
        self.error, self.error_class = error, error_class


@dataclass
class LibraryReport:
    """Rows by example, in the order asked for."""

    folder: str
    rows: tuple[Row, ...] = field(default_factory=tuple)

    @property
    def counts(self) -> dict[str, int]:
        """How many passed each stage, and of how many."""
        found = {one: sum(getattr(row, one) is True for row in self.rows) for one in STAGES}
        return {"examples": len(self.rows), **found}

    @property
    def failures(self) -> dict[str, list[str]]:
        """Class of failure -> names of the examples, the most frequent first."""
        found: dict[str, list[str]] = {}
        for row in self.rows:
            if row.error_class:
                found.setdefault(row.error_class, []).append(row.name)
        return dict(sorted(found.items(), key=lambda one: -len(one[1])))

    @property
    def packages(self) -> dict[str, dict[str, int]]:
        """The same counts for each part of the library: ``Modelica.Blocks``, ..."""
        found: dict[str, Counter[str]] = {}
        for row in self.rows:
            own = found.setdefault(".".join(row.name.split(".")[:2]), Counter())
            own["examples"] += 1
            own.update(one for one in STAGES if getattr(row, one) is True)
        return {name: {key: own[key] for key in ("examples", *STAGES)} for name, own in sorted(found.items())}

    def as_dict(self) -> dict[str, Any]:
        """For machines: everything by name, ready for JSON."""
        rows = [plain(vars(row)) for row in self.rows]
        return {"folder": self.folder, "counts": self.counts, "packages": self.packages, "rows": rows}

    def save(self, file: str | Path) -> Path:
        """Write it: .json everything, .html a page, .md the table of packages, .txt what ``print`` shows."""
        path = as_path("the file", file)
        writers = {".json": self._json, ".html": self._page, ".md": self.table, ".txt": self.__str__}
        writer = writers.get(path.suffix.lower())
        if writer is None:
            raise ArgumentError(f"{path}: reports are written as {', '.join(writers)}", hint="e.g. report.html")
        try:
            path.write_text(writer() + "\n", encoding="utf-8")
        except OSError as error:
            raise OutputError(f"{path} could not be written: {error}", hint="give an existing folder") from error
        return path

    def _json(self) -> str:
        return json.dumps(self.as_dict(), indent=1)

    def table(self) -> str:
        """Counts by package as Markdown."""
        lines = [
            f"| package | examples | {' | '.join(HEADINGS[one] for one in STAGES)} |",
            "|---" * (len(STAGES) + 2) + "|",
        ]
        for name, own in {**self.packages, "all": self.counts}.items():
            lines.append(f"| {name} | {own['examples']} | " + " | ".join(str(own[one]) for one in STAGES) + " |")
        return "\n".join(lines)

    def __str__(self) -> str:
        marks = {True: "yes", False: "no", None: "-"}
        width = max((len(row.name) for row in self.rows), default=4)
        lines = [f"{'example':{width}} " + " ".join(f"{HEADINGS[one]:>9}" for one in STAGES) + "    NRMSE  seconds"]
        for row in self.rows:
            stages = " ".join(f"{marks[getattr(row, one)]:>9}" for one in STAGES)
            size = "" if row.nrmse is None else f"{row.nrmse:.2g}"
            lines.append(
                f"{row.name:{width}} {stages} {size:>8} {row.seconds:8.1f}  {row.error.splitlines()[0] if row.error else ''}"
            )
        counts = self.counts
        lines += ["", ", ".join(f"{HEADINGS.get(one, one)} {n}" for one, n in counts.items()), ""]
        lines += [f"{len(names):5d}  {kind}" for kind, names in self.failures.items()]
        return "\n".join(lines)

    def _page(self) -> str:
        marks = {True: ("yes", "yes"), False: ("no", "no"), None: ("", "not")}
        rows = []
        for row in self.rows:
            cells = "".join(f'<td class="{marks[v][1]}">{marks[v][0]}</td>' for v in (getattr(row, s) for s in STAGES))
            size = "" if row.nrmse is None else f"{row.nrmse:.2g}"
            text = html.escape(row.error)
            rows.append(
                f"<tr><td>{html.escape(row.name)}</td>{cells}<td>{size}</td><td>{html.escape(row.signal)}</td>"
                f"<td>{row.seconds:.1f}</td><td>{text}</td></tr>"
            )
        kinds = "".join(
            f"<tr><td>{len(names)}</td><td>{html.escape(kind)}</td><td>{html.escape(', '.join(names[:5]))}"
            f"{' …' if len(names) > 5 else ''}</td></tr>"
            for kind, names in self.failures.items()
        )
        packages = "".join(
            f"<tr><td>{html.escape(name)}</td><td>{own['examples']}</td>"
            + "".join(f"<td>{own[one]}</td>" for one in STAGES)
            + "</tr>"
            for name, own in {**self.packages, "all": self.counts}.items()
        )
        heads = "".join(f"<th>{HEADINGS[one]}</th>" for one in STAGES)
        title = html.escape(f"{self.folder}: examples")
        return (
            f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{title}</title>\n<style>{_STYLE}</style>\n'
            f"</head>\n<body>\n<h1>{title}</h1>\n<table><tr><th>package</th><th>examples</th>{heads}</tr>{packages}</table>\n"
            f"<h2>Failures</h2>\n<table><tr><th>how many</th><th>what</th><th>where</th></tr>{kinds}</table>\n<h2>Examples</h2>\n"
            f"<table><tr><th>example</th>{heads}<th>NRMSE</th><th>worst curve</th><th>seconds</th><th>error</th></tr>\n"
            + "\n".join(rows)
            + "\n</table>\n</body>\n</html>"
        )


_STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem; color: #1b1f24; background: #fff; }
table { border-collapse: collapse; margin: 1rem 0; }
td, th { border-bottom: 1px solid #d7dbe0; padding: .2rem .6rem; text-align: left; vertical-align: top; }
.yes { background: #dcefe0; } .no { background: #f6d9d5; } .not { background: #f4f5f7; }
@media (prefers-color-scheme: dark) {
  body { color: #e6e9ed; background: #15181c; } td, th { border-color: #3a4048; }
  .yes { background: #1f4028; } .no { background: #54261f; } .not { background: #20242a; }
}
"""
