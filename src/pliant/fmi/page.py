"""What is in an FMU as one HTML page that works offline: capabilities, structure picture, variables, findings.

Names may contain anything: all text is escaped, and the only program of the page filters rows of the table.
"""

from __future__ import annotations

import html
from collections.abc import Iterable
from pathlib import Path

import pliant.structure
from pliant.errors import OutputError
from pliant.fmi.report import FmuReport, capabilities, plural

CELL = 14  # pixels of a row or column with its name
FINE = 3  # ... without
NAMED = 60  # rows or columns up to which they have names
GRID = 300  # cells per side beyond which neighbours share one
MOST_ROWS = 5000  # of the table of variables
LONGEST = 30  # letters of a name beside the picture
#: kind of a dependency -> colour, in words
KINDS = {
    "constant": ("--k1", "a constant factor"),
    "fixed": ("--k2", "a factor fixed after initialisation"),
    "tunable": ("--k2", "a factor that changes with tunable parameters"),
    "discrete": ("--k3", "a factor that changes at events"),
    "dependent": ("--k4", "any dependency"),
}
EVERYTHING = ("--line", "not given: may depend on everything")
PROGRAM = """
const rows = document.querySelectorAll("#variables tr");
document.getElementById("search").addEventListener("input", event => {
  const text = event.target.value.toLowerCase();
  for (const row of rows) row.hidden = !row.textContent.toLowerCase().includes(text);
});
"""


def write_page(report: FmuReport, file: Path) -> Path:
    """Write the page to a file."""
    try:
        file.write_text(render_page(report), encoding="utf-8", errors="replace")
    except OSError as error:
        raise OutputError(f"{file} could not be written: {error}", hint="give a file in an existing folder") from error
    return file


def render_page(report: FmuReport) -> str:
    """The whole page."""
    found = report.description
    style = (Path(next(iter(pliant.structure.__path__))) / "page.css").read_text(encoding="utf-8")
    name = html.escape(found.name)
    about = html.escape(
        f"FMI {found.version}, {' and '.join(found.kinds)}" + (f"; made by {found.tool}" if found.tool else "")
    )
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{name}: what is in the FMU</title>
<style>{style}
svg text {{ fill: var(--ink); font-size: 11px; }} svg {{ max-width: none; }} th {{ text-align: left; }}</style>
</head>
<body>
<main>
<header><h1>{name}</h1>
<p>{about}</p>
<p>{html.escape(found.description)}</p>
{_tiles(report)}</header>
{_runs(report)}
{_findings(report)}
<h2>Structure</h2>
{_picture(report)}
<h2>Variables</h2>
{_variables(report)}
</main>
<script>{PROGRAM}</script>
</body>
</html>
"""


def _tiles(report: FmuReport) -> str:
    structure, found = report.description.structure, report.description
    tiles: list[tuple[object, str]] = [
        (len(found.variables), "variables"),
        (len(structure.states), "states"),
        (sum(one.causality == "input" for one in found.variables), "inputs"),
        (sum(one.causality == "output" for one in found.variables), "outputs"),
        (sum(one.causality == "parameter" for one in found.variables), "parameters"),
        (structure.n_event_indicators, "event indicators"),
        (len(found.units), "units"),
        (len(report.findings), "findings"),
    ]
    items = "".join(f"<li><b>{number}</b><span>{what}</span></li>" for number, what in tiles)
    return f'<ul class="tiles">{items}</ul>'


def _runs(report: FmuReport) -> str:
    found = report.description
    facts = [("platforms", ", ".join(report.platforms) or "none"), ("C sources", "yes" if report.has_sources else "no")]
    experiment = {key: value for key, value in found.experiment.as_dict().items() if value is not None}
    facts += [("default experiment", ", ".join(f"{key} {value:g}" for key, value in experiment.items()))]
    for kind, interface in found.interfaces.items():
        obstacle = report.obstacles[kind]
        facts.append((kind, f"cannot be run here: {obstacle}" if obstacle else "can be run here"))
        facts.append((f"{kind} offers", ", ".join(capabilities(interface)) or "what is required"))
    facts += [("author", found.author), ("date", found.date), ("licence", found.license), ("token", found.token)]
    return _facts((key, value) for key, value in facts if value)


def _facts(facts: Iterable[tuple[str, str]]) -> str:
    items = "".join(f"<dt>{html.escape(key)}</dt><dd>{html.escape(value)}</dd>" for key, value in facts)
    return f'<dl class="facts">{items}</dl>'


def _findings(report: FmuReport) -> str:
    if not report.findings:
        return '<p class="soft">The description is as the standard requires.</p>'
    items = "".join(f"<li>{html.escape(str(one))}</li>" for one in report.findings)
    title = plural(len(report.findings), "finding")
    return f'<details class="list" open><summary>{title}</summary><ul>{items}</ul></details>'


def _variables(report: FmuReport) -> str:
    n = len(report.description.variables)
    cut = f'<p class="warning">The first {MOST_ROWS} of {n}.</p>' if n > MOST_ROWS else ""
    rows = []
    for place in range(min(n, MOST_ROWS)):
        cells = "".join(f"<td>{html.escape(cell)}</td>" for cell in report.cells(place))
        rows.append(f"<tr>{cells}</tr>")
    head = "".join(f"<th>{one}</th>" for one in ("name", "what", "type", "start", "unit", "description"))
    return (
        f'{cut}<input type="search" id="search" placeholder="find a variable" aria-label="find">'
        f'<div class="wide"><table><thead><tr>{head}</tr></thead>'
        f'<tbody id="variables">{"".join(rows)}</tbody></table></div>'
    )


# ---------------------------------------------------------------------------------------------------- the picture


def _picture(report: FmuReport) -> str:
    """Rows: derivatives, outputs, event indicators. Columns: states, inputs, and what else they depend on."""
    rows, columns, variables = report.rows(), report.columns(), report.description.variables
    if not rows or not columns:
        return '<p class="soft">Nothing depends on states or inputs.</p>'
    column = {place: k for k, (_, place) in enumerate(columns)}
    height, width = min(len(rows), GRID), min(len(columns), GRID)
    cells: dict[tuple[int, int], str] = {}
    for r, (_, unknown) in enumerate(rows):
        y = r * height // len(rows)
        if unknown.dependencies is None:
            cells.update(((y, x), EVERYTHING[0]) for x in range(width) if (y, x) not in cells)
            continue
        kinds = unknown.kinds or ("dependent",) * len(unknown.dependencies)
        for place, kind in zip(unknown.dependencies, kinds, strict=True):
            cells[y, column[place] * width // len(columns)] = KINDS[kind][0]
    named = height <= NAMED and width <= NAMED
    size, left, top = (CELL, 230, 170) if named else (FINE, 0, 0)
    shapes = [
        f'<rect x="{left + x * size}" y="{top + y * size}" width="{size - named}" height="{size - named}" '
        f'style="fill: var({colour})"/>'
        for (y, x), colour in sorted(cells.items())
    ]
    if named:
        for r, (kind, unknown) in enumerate(rows):
            what = _shown(f"{variables[unknown.variable].name} ({kind})")
            shapes.append(f'<text x="{left - 6}" y="{top + r * size + 11}" text-anchor="end">{what}</text>')
        for c, (kind, place) in enumerate(columns):
            x, what = left + c * size + 11, _shown(f"{variables[place].name} ({kind})")
            shapes.append(f'<text x="{x}" y="{top - 6}" transform="rotate(-90 {x} {top - 6})">{what}</text>')
    frame = (
        f'<rect x="{left}" y="{top}" width="{width * size}" height="{height * size}" fill="none" '
        'stroke="currentColor"/>'
    )
    legend = dict([*KINDS.values(), EVERYTHING])
    legend["--k2"] = "a factor fixed after initialisation, or tunable"
    used = set(cells.values())
    items = "".join(
        f'<li><i style="background: var({colour})"></i>{text}</li>' for colour, text in legend.items() if colour in used
    )
    note = "" if (height, width) == (len(rows), len(columns)) else " Neighbours share a cell."
    return (
        f'<p class="soft">Rows: what is computed, {len(rows)}. Columns: states, inputs and other known values, '
        f"{len(columns)}. A mark: the row depends on the column.{note}</p>"
        f'<div class="wide"><svg role="img" aria-label="Dependencies" width="{left + width * size + 20}" '
        f'height="{top + height * size + 4}">{"".join(shapes)}{frame}</svg></div><ul class="legend">{items}</ul>'
    )


def _shown(text: str) -> str:
    return html.escape(text if len(text) <= LONGEST + 10 else "..." + text[-LONGEST - 7 :])
