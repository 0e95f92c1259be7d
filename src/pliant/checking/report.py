"""What check_library found: a row for each example, counts, classes of failure; as text, JSON and a page."""

from __future__ import annotations

import html
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pliant.arguments import as_path
from pliant.calls import by_keyword_class
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


@by_keyword_class
@dataclass(kw_only=True)
class LibraryRow:
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

    def as_dict(self) -> dict[str, Any]:
        """All fields, for machines."""
        found: dict[str, Any] = plain(vars(self))
        return found


def fail(row: LibraryRow, error_class: str, error: str, stage: str = "") -> None:
    """The first stage that was not passed failed; ``stage``: this one, those before it are passed."""
    for one in STAGES:
        if one == stage or (not stage and getattr(row, one) is None):
            setattr(row, one, False)
            break
        setattr(row, one, True)
    row.error, row.error_class = error, error_class


@by_keyword_class
@dataclass(kw_only=True)
class LibraryReport:
    """Rows by example, in the order asked for."""

    folder: str
    rows: tuple[LibraryRow, ...] = field(default_factory=tuple)

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
            error = row.error.splitlines()[0] if row.error else ""
            lines.append(f"{row.name:{width}} {stages} {size:>8} {row.seconds:8.1f}  {error}")
        counts = self.counts
        lines += ["", ", ".join(f"{HEADINGS.get(one, one)} {n}" for one, n in counts.items()), ""]
        lines += [f"{len(names):5d}  {kind}" for kind, names in self.failures.items()]
        return "\n".join(lines)

    def _page(self) -> str:
        heads = [HEADINGS[one] for one in STAGES]
        packages = {**self.packages, "all": self.counts}
        counts = ([name, *(str(own[key]) for key in ("examples", *STAGES))] for name, own in packages.items())
        failures = ([str(len(names)), kind, _some(names)] for kind, names in self.failures.items())
        title = html.escape(f"{self.folder}: examples")
        parts = [
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            f"<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>",
            _table(["package", "examples", *heads], counts),
            "<h2>Failures</h2>",
            _table(["how many", "what", "where"], failures),
            "<h2>Examples</h2>",
            _table(["example", *heads, "NRMSE", "worst curve", "seconds", "error"], map(_cells, self.rows)),
            "</body>\n</html>",
        ]
        return "\n".join(parts)


def _some(names: list[str]) -> str:
    return ", ".join(names[:5]) + (" …" if len(names) > 5 else "")


def _cells(row: LibraryRow) -> list[str | bool | None]:
    size = "" if row.nrmse is None else f"{row.nrmse:.2g}"
    stages = (getattr(row, one) for one in STAGES)
    return [row.name, *stages, size, row.signal, f"{row.seconds:.1f}", row.error]


def _table(heads: list[str], rows: Iterable[Sequence[str | bool | None]]) -> str:
    """Texts as they are, truth values as coloured words."""
    marks = {True: '<td class="yes">yes</td>', False: '<td class="no">no</td>', None: '<td class="not"></td>'}
    lines = ["<table><tr>" + "".join(f"<th>{one}</th>" for one in heads) + "</tr>"]
    for row in rows:
        cells = (f"<td>{html.escape(one)}</td>" if isinstance(one, str) else marks[one] for one in row)
        lines.append("<tr>" + "".join(cells) + "</tr>")
    return "\n".join([*lines, "</table>"])


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
