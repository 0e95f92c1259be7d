"""The structure of a model as one HTML page that works offline: incidence before and after sorting, loops, states.

The pictures are drawn on canvas by page.js from compact JSON. Names may contain anything: in HTML they are escaped,
in JSON every ``<`` is written as an escape, and the program puts them into text nodes only.
"""

from __future__ import annotations

import html
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pliant.errors import OutputError
from pliant.structure.report import BlockInfo, Incidence, Structure

FULL = 20_000  # equations up to which every dot is drawn
GRID = 1000  # cells per side of the reduced picture
SHOWN = 200  # names in one entry of a list
MOST_LOOPS = 2000
MOST_ALIASES = 20_000

LEGEND = """<ul class="legend">
<li><i style="background: var(--k1)"></i>coefficient a number</li>
<li><i style="background: var(--k2)"></i>a parameter expression</li>
<li><i style="background: var(--k3)"></i>varies</li>
<li><i style="background: var(--k4)"></i>nonlinear</li>
<li><i style="border: 2px solid var(--ink)"></i>the equation is solved for this variable</li>
<li><i style="background: var(--loop); border: 2px solid var(--mark)"></i>loop</li>
<li><i style="background: var(--torn)"></i>its torn variables (columns) and residual equations (rows)</li>
</ul>"""
REDUCED_LEGEND = """<ul class="legend">
<li><i style="background: var(--k1)"></i>at least one entry in this cell; darker: more</li>
<li><i style="background: var(--loop); border: 2px solid var(--mark)"></i>loop</li>
<li><i style="background: var(--torn)"></i>its torn variables (columns) and residual equations (rows)</li>
</ul>"""
LISTS = (
    ("refusals", "What keeps it from being simulated", True),
    ("notes", "Notes", True),
    ("states", "States, and why", True),
    ("sets", "State sets, chosen again during a simulation", True),
    ("loops", "Algebraic loops", True),
    ("discrete", "Discrete variables, and what changes them", True),
    ("clocks", "Clocks", True),
    ("actions", "What else the model does at events", True),
    ("not-states", "Not states, and why", False),
    ("aliases", "Aliases: variables that were eliminated", False),
)


def write_page(structure: Structure, file: Path) -> Path:
    """Write the page to a file."""
    try:
        file.write_text(render_page(structure), encoding="utf-8")
    except OSError as error:
        raise OutputError(f"{file} could not be written: {error}", hint="give a file in an existing folder") from error
    return file


def render_page(structure: Structure, full: int = FULL) -> str:
    """The whole page; beyond ``full`` equations with a reduced picture."""
    n = structure.n_after_aliases
    reduced = n > full
    data = page_data(structure, reduced)
    told = json.dumps(data, separators=(",", ":"), ensure_ascii=True).replace("<", "\\u003c")
    folder = Path(__file__).parent
    style, program = ((folder / f"page.{kind}").read_text(encoding="utf-8") for kind in ("css", "js"))
    name = html.escape(structure.name)
    warning = ""
    if reduced:
        warning = (
            f'<p class="warning">{n} equations are too many to show one by one: each picture shows {data["grid"]} x '
            f"{data['grid']} cells of about {n // data['grid']} rows and columns. <code>pliant inspect --json</code> "
            "lists every block.</p>"
        )
    cut = {"loops": _cut(len(structure.loops), MOST_LOOPS), "aliases": _cut(structure.n_aliases, MOST_ALIASES)}
    cut |= {key: _cut(len(getattr(structure, key)), MOST_LOOPS) for key in ("discrete", "clocks", "actions")}
    lists = "".join(
        f'<details class="list" id="{key}"{" open" if is_open else ""}>'
        f"<summary>{title}{cut.get(key, '')}</summary></details>\n"
        for key, title, is_open in LISTS
    )
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{name}: structure</title>
<style>{style}</style>
</head>
<body>
<main>
<header><h1>{name}</h1>
<p>What became of its equations, by <code>pliant inspect</code>.</p>
{_tiles(structure)}</header>
{warning}
<section id="pictures">
{_figure("before", 0, "Before sorting", "equations as in the source, variables as declared")}
{_figure("after", 1, "After sorting", "block lower triangular, in the order of computation")}
</section>
{REDUCED_LEGEND if reduced else LEGEND}
<p class="soft">Wheel: zoom. Drag: move. Double click: all of it. With the keyboard: arrows, + and -, 0.</p>
<div id="find"><input type="search" id="search" placeholder="find a variable or an equation" aria-label="find">
<div id="found"></div><div id="info" aria-live="polite"></div></div>
{lists}</main>
<div id="tip" hidden></div>
<script type="application/json" id="data">{told}</script>
<script>{program}</script>
</body>
</html>
"""


def _cut(n: int, most: int) -> str:
    return f" (the first {most} of {n})" if n > most else ""


def _figure(key: str, number: int, title: str, about: str) -> str:
    buttons = "".join(
        f'<button type="button" data-picture="{number}" data-do="{do}" aria-label="{label}">{sign}</button>'
        for do, sign, label in (("in", "+", "zoom in"), ("out", "−", "zoom out"), ("fit", "all", "show all"))
    )
    return (
        f'<figure><figcaption><h2>{title}</h2>{buttons}</figcaption><p class="soft">{about}</p>'
        f'<canvas id="{key}" tabindex="0" role="img" aria-label="Incidence matrix: {title}"></canvas></figure>'
    )


def _tiles(structure: Structure) -> str:
    loops = structure.loops
    tiles = [
        (structure.n_equations, "equations given"),
        (structure.n_aliases, "aliases eliminated"),
        (structure.n_differentiated, "differentiated"),
        (structure.n_after_aliases, "equations sorted"),
        (structure.index, "index"),
        (structure.n_states, "states"),
        (len(structure.blocks), "blocks"),
        (len(loops), "loops"),
        (max((loop.size for loop in loops), default=0), "unknowns in the largest"),
        (sum(loop.n_torn for loop in loops if loop.kind != "sparse"), "torn variables"),
    ]
    items = "".join(f"<li><b>{number}</b><span>{what}</span></li>" for number, what in tiles)
    return f'<ul class="tiles">{items}</ul>'


# ------------------------------------------------------------------------------------------------------- data


def page_data(structure: Structure, reduced: bool = False) -> dict[str, Any]:
    """What page.js draws, with plain numbers for equations and variables."""
    before = structure.incidence_before
    column = {v: k for k, v in enumerate(before.variables)}
    own = _reduced(structure) if reduced else _entries(structure, column)
    return {
        "name": structure.name,
        "n": structure.n_after_aliases,
        "reduced": reduced,
        **own,
        "states": [[s.name, s.unit, s.reason] for s in structure.states],
        "not_states": [[s.name, s.unit, s.reason] for s in structure.not_states],
        "sets": [{"number": s.number, "n_states": s.n_states, "candidates": s.candidates} for s in structure.sets],
        "loops": [_loop(structure, loop, column) for loop in structure.loops[:MOST_LOOPS]],
        "aliases": list(structure.aliases.items())[:MOST_ALIASES],
        "discrete": [str(one) for one in structure.discrete[:MOST_LOOPS]],
        "clocks": [str(one) for one in structure.clocks[:MOST_LOOPS]],
        "actions": [str(one) for one in structure.actions[:MOST_LOOPS]],
        "notes": structure.notes,
        "refusals": structure.refusals,
    }


def _entries(structure: Structure, column: dict[int, int]) -> dict[str, Any]:
    """Every equation and every dot."""
    after = structure.incidence_after
    files: dict[str, int] = {}
    origins: dict[str, int] = {}
    equations = []
    for e in range(structure.n_after_aliases):
        found = structure.equation(e)
        file = files.setdefault(found.span.file, len(files)) if found.span else -1
        line = found.span.line if found.span else 0
        equations.append([found.text, found.source, file, line, origins.setdefault(found.origin, len(origins))])
    rows = [sorted((column[v], kind) for v, kind in row.items()) for row in structure.coefficients]
    return {
        "files": list(files),
        "origins": list(origins),
        "equations": equations,
        "variables": [structure.name_of(v) for v in column],
        "units": [structure.unit_of(v) for v in column],
        "entries": [[c for c, _ in row] for row in rows],
        "classes": ["".join(str(kind) for _, kind in row) for row in rows],
        "rows": after.equations,
        "columns": [column[v] for v in after.variables],
        "blocks": [_block(block) for block in structure.blocks],
    }


def _block(block: BlockInfo) -> dict[str, Any]:
    torn = 0 if block.kind == "sparse" else block.n_torn
    return {"number": block.number, "size": block.size, "kind": block.kind, "torn": torn}


def _reduced(structure: Structure) -> dict[str, Any]:
    """Counts per cell, and the loops only."""
    after = structure.incidence_after
    grid = min(GRID, structure.n_after_aliases)
    first = dict(zip((block.number for block in structure.blocks), after.blocks, strict=True))
    return {
        "grid": grid,
        "cells_before": _cells(structure.incidence_before, grid),
        "cells_after": _cells(after, grid),
        "blocks": [{**_block(loop), "first": first[loop.number][0]} for loop in structure.loops],
    }


def _cells(incidence: Incidence, grid: int) -> list[int]:
    """cell, count, cell, count, ...; a cell is row * grid + column."""
    n = len(incidence.equations)
    count: dict[int, int] = {}
    for r, c in incidence.pairs:
        cell = (r * grid // n) * grid + c * grid // n
        count[cell] = count.get(cell, 0) + 1
    return [number for cell in sorted(count) for number in (cell, count[cell])]


def _loop(structure: Structure, loop: BlockInfo, column: dict[int, int]) -> dict[str, Any]:
    equations, variables = loop.ordered()
    n_steps = loop.size - loop.n_torn if loop.kind != "sparse" else loop.size
    return {
        "number": loop.number,
        "size": loop.size,
        "kind": loop.kind,
        "linear": loop.linear,
        "solved_by": loop.solved_by,
        "n_torn": loop.size - n_steps,
        "tearing": _named(structure, variables[n_steps:], column),
        "residuals": [[str(structure.equation(e)), e] for e in equations[n_steps:][:SHOWN]],
        "n_others": n_steps,
        "others": _named(structure, variables[:n_steps], column),
    }


def _named(structure: Structure, variables: Sequence[int], column: dict[int, int]) -> list[tuple[str, int]]:
    return [(structure.name_of(v), column[v]) for v in variables[:SHOWN]]
