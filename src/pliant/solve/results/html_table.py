"""A result as notebooks show it."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pliant.solve.results.result import Result

ROWS = 12


def html_table(result: Result, recorded: Sequence[str], span: str) -> str:
    """First, smallest, largest and last values of the recorded columns; ``span``: the rows in words."""
    rows = []
    for name in recorded[:ROWS]:
        column = result[name]
        numbers = (column[0], np.min(column), np.max(column), column[-1]) if len(result) else ()
        cells = [f"<td style='text-align:left'>{html.escape(text)}</td>" for text in (name, result.unit(name))]
        cells += [f"<td style='text-align:right'>{number:.6g}</td>" for number in numbers]
        rows.append(f"<tr>{''.join(cells)}</tr>")
    more = len(result.names) - len(rows)
    caption = f"{html.escape(span)}; {html.escape(result.stats.method or 'unknown method')}, "
    caption += f"{result.stats.n_steps:,} steps, {len(result.events):,} events"
    caption += "" if result.complete else " <b>(cut short)</b>"
    caption += f"; {more:,} more columns" if more else ""
    head = "<tr><th>name</th><th>unit</th><th>first</th><th>min</th><th>max</th><th>last</th></tr>"
    body = f"<thead>{head}</thead><tbody>{''.join(rows)}</tbody>"
    return f"<table><caption>{caption}</caption>{body}</table>"
