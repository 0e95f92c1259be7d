"""A study on one HTML page that works offline: figures, pictures, failures, slowest cases."""

from __future__ import annotations

import base64
import html
import io
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from pliant.arguments import as_path
from pliant.batch.plot import plot_study
from pliant.batch.study import Study, failure_kinds
from pliant.errors import ArgumentError, OutputError

STYLE = """body{font:15px/1.5 system-ui,sans-serif;max-width:980px;margin:2em auto;padding:0 1em;color:#222}
h1{font-size:1.6em}h2{font-size:1.2em;margin-top:2em;border-bottom:1px solid #ddd}img{max-width:100%}
table{border-collapse:collapse;font-size:13px}td,th{padding:.25em .7em;text-align:right;border-bottom:1px solid #eee}
td.t,th.t{text-align:left}.scroll{overflow-x:auto}.bad{color:#b03000}"""
TITLES = {"fan": "Over time", "pairs": "Pairs", "parallel": "Cases", "failures": "Failures"}
MOST_FAILURES, MOST_ROWS, SLOWEST = 50, 20, 10


def write_page(study: Study, path: Any) -> Path:
    """Write the page of a study."""
    file = as_path("the file", path)
    if not file.parent.is_dir():
        raise OutputError(f"{file} could not be written: there is no folder {file.parent}", hint="make it first")
    try:
        file.write_text(page(study), encoding="utf-8")
    except OSError as error:
        raise OutputError(f"{file} could not be written: {error.strerror}", hint="check path and room") from error
    return file


def page(study: Study) -> str:
    """The page as text."""
    title = f"Study of {html.escape(study.model_name or 'a model')}"
    head = f"<!DOCTYPE html><html lang=en><meta charset=utf-8><title>{title}</title><style>{STYLE}</style>"
    parts = [head, f"<h1>{title}</h1>", _figures(study)]
    parts += [_picture(study, kind) for kind in TITLES]
    table = study._columns()
    parts += [_failed(study), _slowest(table), _rows(table)]
    return "\n".join(part for part in parts if part) + "\n"


def _figures(study: Study) -> str:
    stats = study.stats
    rate = stats.n / stats.seconds if stats.seconds > 0 else 0.0
    rows = [
        ("cases", f"{stats.n:,}"),
        ("not run", f"{stats.n - study.n_done:,}"),
        ("failed", f"{stats.n_failed:,}"),
        ("seconds", f"{stats.seconds:.3g}"),
        ("cases a second", f"{rate:,.0f}"),
        ("workers", f"{stats.workers}"),
    ]
    return "<table>" + "".join(f"<tr><th class=t>{a}</th><td>{b}</td></tr>" for a, b in rows) + "</table>"


def _picture(study: Study, kind: str) -> str:
    if kind == "failures" and not study.n_failed:
        return ""
    try:
        figure = plot_study(study, kind, (), None, show=False)
    except ArgumentError:
        return ""  # nothing of this kind was kept
    sink = io.BytesIO()
    figure.savefig(sink, format="png", dpi=110)
    data = base64.b64encode(sink.getvalue()).decode()
    return f'<h2>{TITLES[kind]}</h2><img alt="{TITLES[kind]}" src="data:image/png;base64,{data}">'


def _failed(study: Study) -> str:
    failures = study.failures
    if not failures:
        return ""
    lines = ["<h2>Failed cases</h2><table><tr><th>case</th><th class=t>error</th><th class=t>message</th></tr>"]
    shown = [k for _, cases in failure_kinds(failures) for k in cases][:MOST_FAILURES]
    for k in shown:
        error = failures[k]
        message = html.escape(str(getattr(error, "message", error)))
        lines.append(f"<tr><td>{k}</td><td class='t bad'>{type(error).__name__}</td><td class=t>{message}</td></tr>")
    more = len(failures) - len(shown)
    return "".join(lines) + "</table>" + (f"<p>and {more} more</p>" if more > 0 else "")


def _slowest(table: dict[str, Any]) -> str:
    seconds = np.asarray(table["seconds"], dtype=float)
    order = np.argsort(-seconds, kind="stable")  # what has not run is NaN, and last
    slow = [k for k in order[:SLOWEST].tolist() if not math.isnan(seconds[k])]
    return f"<h2>Slowest cases</h2>{_html(table, slow)}" if slow else ""


def _rows(table: dict[str, Any]) -> str:
    n = len(table["seconds"])
    more = f"<p>and {n - MOST_ROWS:,} more</p>" if n > MOST_ROWS else ""
    return f"<h2>Table</h2>{_html(table, range(min(n, MOST_ROWS)))}{more}"


def _html(table: dict[str, Any], cases: Iterable[int]) -> str:
    names = [html.escape(str(name)) for name in table]
    lines = ["<div class=scroll><table><tr><th>case</th>" + "".join(f"<th>{name}</th>" for name in names) + "</tr>"]
    for k in cases:
        cells = "".join(f"<td>{_cell(column[k])}</td>" for column in table.values())
        lines.append(f"<tr><td>{k}</td>{cells}</tr>")
    return "".join(lines) + "</table></div>"


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.6g}"
    return "" if value is None else html.escape(str(value))
