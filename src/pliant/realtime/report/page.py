"""A plan as one HTML page that works offline: pattern, eigenvalues, errors, criteria, timing, evidence.

Figures and tables are written here; pictures are drawn by chart.js, pattern.js and page.js from the
JSON of :mod:`report_data`. Names may contain anything: in HTML they are escaped, in JSON every ``<`` is written as an
escape, and the program puts them into text nodes only. The same plan gives the same page, byte by byte.
"""

from __future__ import annotations

import html
import json
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from threadpoolctl import threadpool_limits

from pliant.arguments import as_path
from pliant.errors import OutputError
from pliant.realtime.evidence.evidence import EvidenceItem
from pliant.realtime.report.data import Extras, page_data, units, worst_of
from pliant.solve.results.save import text_writer, write_files

if TYPE_CHECKING:
    from pliant.realtime.plan import Plan

PROGRAMS = ("chart.js", "pattern.js", "page.js")
MARKS = {True: ("holds", "✓ holds"), False: ("fails", "✗ does not hold"), None: ("noted", "i noted")}
SECTIONS = (
    ("pattern", "Pattern"),
    ("eigen", "Eigenvalues"),
    ("runs", "Runs and errors"),
    ("bias", "Predicted and measured"),
    ("criteria", "Criteria over time"),
    ("timing", "Timing"),
    ("windows", "Whole runs"),
    ("evidence", "Evidence"),
)


def write_report(
    plan: Plan,
    path: str | Path,
    timing: Any = None,
    code: Any = None,
    baselines: Sequence[Any] | None = None,
    frontier: Any = None,
) -> Path:
    """Write the page of a plan to a file.

    timing      what ``plan.measure()`` gives
    code        the step as C, for its operations and memory
    baselines   what ``plan.baselines()`` gives
    frontier    ``plan.frontier``
    """
    file = as_path("the file", path)
    if not file.parent.is_dir():
        raise OutputError(
            f"{file} could not be written: there is no folder {file.parent}", hint="make the folder first"
        )
    with threadpool_limits(1, "blas"):  # small matrices: threads only get in each other's way
        text = render_report(plan, Extras(timing, code, baselines, frontier))
    write_files([(file, text_writer(text))])
    return file


def to_json(data: Any) -> str:
    """JSON that can stand inside a script element."""
    told = json.dumps(data, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return told.replace("<", "\\u003c")


def render_report(plan: Plan, extras: Extras) -> str:
    """The whole page."""
    folder = Path(__file__).parent
    style = (folder / "page.css").read_text(encoding="utf-8")
    program = "\n".join((folder / name).read_text(encoding="utf-8") for name in PROGRAMS)
    name = escape(plan.name)
    if not plan.outcome.frame.n:
        return _plain(plan, style)
    shown = [*SECTIONS]
    shown += [("frontier", "Error against cost")] if extras.frontier is not None else []
    shown += [("baselines", "Other patterns")] if extras.baselines else []
    links = "".join(f'<li><button type="button" data-go="{key}">{title}</button></li>' for key, title in shown)
    bodies = [
        _pattern(),
        _eigen(),
        _runs(plan),
        _bias(plan),
        _criteria(),
        _timing(extras),
        _windows(plan),
        _evidence(plan),
        *([_frontier(extras.frontier)] if extras.frontier is not None else []),
        *([_baselines(extras.baselines)] if extras.baselines else []),
    ]
    body = "".join(
        f'<section id="{key}"><h2><span>{k}</span>{title}</h2>\n{text}</section>\n'
        for k, ((key, title), text) in enumerate(zip(shown, bodies, strict=True), 1)
    )
    main = f"""{_head(plan)}
<nav aria-label="Contents"><ul>{links}</ul></nav>
{body}"""
    after = f"""<div id="tip" hidden></div>
<noscript><p class="warning">The pictures need JavaScript; figures, tables and evidence do not.</p></noscript>
<script type="application/json" id="data">{to_json(page_data(plan, extras))}</script>
<script>{program}</script>
"""
    return _document(name, style, main, after)


def _document(name: str, style: str, main: str, after: str = "") -> str:
    """What stands around every page."""
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{name}: real-time plan</title>
<style>{style}</style>
</head>
<body>
<main>
{main}<footer>Written by pliant. The page needs nothing from outside and can be filed as it is.</footer>
</main>
{after}</body>
</html>
"""


def _plain(plan: Plan, style: str) -> str:
    """The page of a model without states: there is nothing to draw of a step that integrates nothing."""
    name = escape(plan.name)
    main = f"""<header><h1>{name}</h1>
<p>Real-time plan with a fixed step of {escape(seconds(plan.step))}. The model has no states: a step is a plain
evaluation of its outputs and sampled parts. Error of the run: {escape(plan.accuracy_text.strip())}.</p>
{_verdict(plan)}</header>
<section id="evidence"><h2><span>1</span>Evidence</h2>
{_evidence(plan)}</section>
"""
    return _document(name, style, main)


# --------------------------------------------------------------------------------------------------- helpers


def escape(text: object) -> str:
    """Text for HTML."""
    return html.escape(str(text), quote=True)


def figure(value: float | None, digits: int = 3, unit: str = "") -> str:
    """A number for a reader; a dash where there is none."""
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    return f"{value:.{digits}g}{unit}"


def seconds(value: float | None) -> str:
    """A time in the unit that reads best."""
    if value is None or not math.isfinite(value):
        return "–"
    for factor, unit in ((1.0, "s"), (1e3, "ms"), (1e6, "µs")):
        if abs(value) * factor >= 1.0:
            return f"{value * factor:.3g} {unit}"
    return f"{value * 1e9:.3g} ns"


def whole(value: int | None) -> str:
    """A count with its digits in groups of three."""
    return "–" if value is None else f"{value:,}".replace(",", "\N{NARROW NO-BREAK SPACE}")


def _tiles(tiles: Iterable[tuple[str, str]]) -> str:
    items = "".join(f"<li><b>{escape(value)}</b><span>{escape(what)}</span></li>" for value, what in tiles)
    return f'<ul class="tiles">{items}</ul>'


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Cells are escaped here."""
    top = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    lines = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>\n" for row in rows)
    return f'<div class="wide"><table><thead><tr>{top}</tr></thead><tbody>{lines}</tbody></table></div>'


def _fold(title: str, body: str, is_open: bool = False) -> str:
    return f"<details{' open' if is_open else ''}><summary>{escape(title)}</summary>{body}</details>"


def _figure_box(key: str, label: str) -> str:
    return f'<div class="chart" id="{key}" role="group" aria-label="{escape(label)}"></div>'


# -------------------------------------------------------------------------------------------------- sections


def _head(plan: Plan) -> str:
    o, e = plan.outcome, plan.evidence
    rule = o.request.rule
    n = o.frame.n
    full = worst_of(e.reference_exact, n)
    measured = worst_of(e.measured, n)
    algebraic = int(o.frame.algebraic.sum())
    unknowns = f"{n} unknowns" + (f", {algebraic} of them algebraic" if algebraic else "")
    tiles = [
        (f"{plan.full_entries} → {plan.entries}", "entries of the matrix"),
        (f"{o.full.lu_entries} → {plan.lu_entries}", "entries of its LU factors"),
        (f"{o.full.factor_flops} → {plan.flops}", "operations of a factorisation"),
        (f"{o.full_colours} → {plan.colours}", "colours of the Jacobian"),
        (f"{100 * plan.margin_kept:.1f} %", f"of the stability margin kept (required {100 * rule.theta:g} %)"),
        *_loop_tile(plan),
        (figure(100 * plan.bias, 3, " %"), f"error added, predicted (required {100 * rule.tolerance:g} %)"),
        (figure(100 * float(measured.max()), 3, " %"), "error added, measured"),
        _accuracy_tile(plan),
        (figure(100 * float(full.max()), 3, " %"), "the same at equal times, with all entries"),
    ]
    runs = "1 scenario" if len(o.exact) == 1 else f"{len(o.exact)} scenarios"
    return f"""<header><h1>{escape(plan.name)}</h1>
<p>Real-time plan: linearly implicit Euler method of order {o.request.order} with a fixed step of
{escape(seconds(plan.step))}; {unknowns}; {runs}. Errors may grow by {100 * rule.tolerance:g} % of a state's range, and
the share theta = {rule.theta:g} of every stability margin must be kept. Percentages of errors are of the range of the
state.</p>
{_tiles(tiles)}
{_verdict(plan)}</header>"""


def _verdict(plan: Plan) -> str:
    judged = [one for one in plan.evidence.items if one.holds is not None]
    broken = [one for one in judged if one.holds is False]
    if broken:
        return (
            f'<p class="verdict fails">✗ {len(broken)} of {len(judged)} judged checks do not hold: '
            f"{escape('; '.join(one.name for one in broken))}.{_proposed(plan)}</p>"
        )
    return f'<p class="verdict holds">✓ All {len(judged)} judged checks hold.</p>'


def _loop_tile(plan: Plan) -> list[tuple[str, str]]:
    e = plan.evidence
    if e.loop_radius is None:
        return []
    exact = figure(e.loop_radius_exact or 0.0, 4)
    return [(figure(e.loop_radius, 4), f"largest |λ| of loops through samplers, over a period (all entries: {exact})")]


def _accuracy_tile(plan: Plan) -> tuple[str, str]:
    """The largest error against accurate simulations, moved by up to one step in time."""
    e = plan.evidence
    if e.worst is None:
        return "–", "error against accurate simulations: not known"
    limit = e.limits[e.worst]
    told = "not judged" if limit is None else f"asked {100 * limit:.3g} %"
    return figure(100 * e.errors[e.worst], 3, " %"), f"error of {e.worst} against accurate simulations ({told})"


def _proposed(plan: Plan) -> str:
    found = plan.evidence.proposals
    return f" Tried: {escape('; '.join(one.text for one in found))}." if found else ""


def _pattern() -> str:
    return """<p>Each square is an entry of the matrix L − τ Df that every step factorises: its row is an equation, its
column a state. Left: all entries. Right: what the plan keeps. Point at a square, tap it, or use the arrow keys to see
its names, its values over all linearisations and why it stayed or went.</p>
<div class="controls" role="group" aria-label="Order of rows and columns">
<button type="button" id="by-state" aria-pressed="true">order of the states</button>
<button type="button" id="by-pivot" aria-pressed="false">order of elimination, with fill</button>
<span class="gap"></span>
<button type="button" id="grid-in" aria-label="zoom in">+</button>
<button type="button" id="grid-out" aria-label="zoom out">−</button>
<button type="button" id="grid-fit">all</button></div>
<div class="pair">
<figure><figcaption id="before-title"></figcaption>
<canvas id="before" tabindex="0" role="img" aria-label="Entries before"></canvas></figure>
<figure><figcaption id="after-title"></figcaption>
<canvas id="after" tabindex="0" role="img" aria-label="Entries after"></canvas></figure></div>
<ul class="legend" id="pattern-legend"></ul>
<div class="info" id="entry-info" aria-live="polite"></div>
"""


def _eigen() -> str:
    return """<p>Each linearisation has eigenvalues; inside of the unit circle disturbances die out. Rings: with all
entries. Crosses: with the pattern. Move the slider through time; point at an eigenvalue, or use the arrow keys, to see
the disc that its cross must not leave.</p>
<div class="controls"><label class="grow">linearisation <input type="range" id="eigen-time" min="0" value="0" step="1">
</label><output id="eigen-label"></output></div>
<div class="controls" id="eigen-zoom" role="group" aria-label="Part of the plane"></div>
<div class="eigen"><div class="chart square" id="eigen-chart" tabindex="0" role="group"
 aria-label="Eigenvalues in the complex plane"></div>
<div><ul class="legend" id="eigen-legend"></ul><div class="info" id="eigen-info" aria-live="polite"></div></div></div>
"""


def _runs(plan: Plan) -> str:
    several = len(plan.outcome.exact) > 1
    return f"""<p>The same scenario with all entries and with the pattern. Below: their difference in % of the state's
range, as it was measured and as it was predicted step by step without running the pattern. States of the largest error
come first in the list.</p>
<div class="controls"><label>state <select id="run-state"></select></label>
<label{"" if several else " hidden"}>scenario <select id="run-scenario"></select></label></div>
{_figure_box("run-chart", "Trajectories")}
{_figure_box("error-chart", "Error in percent of the range")}
<p class="soft" id="run-note"></p>
"""


def _bias(plan: Plan) -> str:
    o, e = plan.outcome, plan.evidence
    n = o.frame.n
    kinds = [worst_of(one, n) for one in (e.predicted, e.measured, e.reference, e.reference_exact)]
    judged = np.array([e.errors.get(name, np.nan) for name in o.frame.names])
    kinds.insert(2, judged)
    order = np.argsort(-kinds[1], kind="stable")
    unit = units(plan)
    rows = [
        [
            o.frame.names[i],
            figure(float(o.frame.scale[i]), 4, f" {unit[i]}" if unit[i] else ""),
            *(figure(100 * float(one[i]), 3, " %") for one in kinds),
        ]
        for i in order
    ]
    head = ["state", "range", "predicted", "measured", "moved by a step", "against accurate", "all entries"]
    outside = [[name, figure(100 * one, 3, " %")] for name, one in e.errors.items() if name not in o.frame.names]
    outputs = _fold("Errors of outputs", _table(["output", "moved by a step"], outside)) if outside else ""
    return f"""<p>One dot per state: the largest error that was predicted (across) and measured (up), over all
scenarios. On the line the prediction was right. Errors in the first 2 % of a run count half.</p>
{_figure_box("bias-chart", "Predicted and measured error of every state")}
<p class="soft" id="bias-note"></p>
<p class="soft">"Moved by a step": what the verdict counts, against accurate simulations, in % of the range over all
scenarios, a value being right if the accurate run takes it within one step. The columns after it: at equal times.</p>
{_fold(f"Errors of all {n} states as a table", _table(head, rows))}
{outputs}
"""


def _criteria() -> str:
    return """<p>How far the pattern moves all eigenvalues together, at each linearisation. d_r is the true sum of all
changes; the others estimate it without computing eigenvalues of the sparsed step. An estimate far below d_r hides
changes that cancel each other.</p>
<div class="controls"><label id="criteria-choice">scenario <select id="criteria-scenario"></select></label></div>
<div class="chart" id="criteria-chart" role="group" aria-label="Criteria over time"></div>
<dl class="facts"><dt>d_r</dt><dd>Σ |Δλ|, eigenvalues matched one to one: the truth</dd>
<dt>d_S</dt><dd>|Σ Δλ| to first order; as printed in the source it is twice as much</dd>
<dt>d_1</dt><dd>|Σ Δλ|, exact: opposite changes cancel</dd>
<dt>d_2</dt><dd>√Σ |Δλ|² to first order; as printed √tr((Ss − S)²), not defined where that trace is negative</dd></dl>
<p class="soft" id="criteria-note"></p>
"""


def _timing(extras: Extras) -> str:
    return _time_part(extras.timing) + _code_part(extras.code)


def _time_part(timing: Any) -> str:
    if timing is None:
        return """<p>The step was not timed for this page. <code>plan.measure()</code> runs it in a real-time loop on
this computer; a report written after it shows a histogram of the times of all steps here.</p>
<div class="chart" id="timing-chart" hidden></div>"""

    def get(name: str) -> Any:
        return getattr(timing, name, None)

    tiles = [
        (seconds(get("minimum")), "fastest step"),
        (seconds(get("median")), "median"),
        (seconds(get("p999")), "99.9 % of the steps take less"),
        (seconds(get("maximum")), "slowest step"),
        (seconds(get("deadline")), "deadline"),
        (f"{whole(get('overruns'))} of {whole(get('n_steps'))}", "steps missed the deadline"),
    ]
    notes = "".join(f"<li>{escape(one)}</li>" for one in get("notes") or [])
    return f"""<p>How long single steps took on the computer where they were measured. Each bar counts steps; the axis
of counts is logarithmic, so that the few slow ones can be seen.{_share(get("maximum"), get("deadline"))}</p>
{_tiles(tiles)}
{_figure_box("timing-chart", "Histogram of the times of the steps")}
{f'<ul class="notes">{notes}</ul>' if notes else ""}"""


def _share(slowest: float | None, deadline: float | None) -> str:
    if slowest is None or not deadline or not math.isfinite(slowest / deadline):
        return ""
    return f" The slowest one took {100 * slowest / deadline:.3g} % of the deadline."


def _code_part(code: Any) -> str:
    if code is None:
        return """<p class="soft">Operations and memory of the step are shown here where it can be written as C, that is
for models made of equations; <code>plan.write("folder")</code> writes it.</p>
"""
    rows = []
    for name, one in code.operations.items():
        functions = getattr(one, "functions", {})
        told = ", ".join(f"{count} {what}" for what, count in sorted(functions.items()))
        rows.append([name, str(getattr(one, "total", one)), str(getattr(one, "flops", "–")), told or "–"])
    memory = [(f"{size} bytes", name) for name, size in code.memory.items()]
    return f"""<p>The step as C, style: {escape(code.style)}. Operations of its parts and the memory it needs:</p>
{_tiles(memory)}
{_table(["part", "all operations", "of these + − × ÷", "functions"], rows)}
"""


def _windows(plan: Plan) -> str:
    e = plan.evidence
    lyapunov = e.lyapunov
    if lyapunov is None:
        told = "No common Lyapunov function was computed, so there is no common norm in which to check windows."
    elif lyapunov.found:
        told = (
            "In one common quadratic norm every step shrinks disturbances at least by the factor "
            f"{lyapunov.gamma:.5f}, whatever the order of the {lyapunov.n_points} linearisations."
        )
    else:
        told = (
            f"No common norm was found in which every single step shrinks disturbances (best factor "
            f"{lyapunov.gamma:.3g}); that none exists is not shown. Windows of several steps may still shrink them."
        )
    if e.window is None:
        return f'<p>{told}</p><div class="chart" id="window-chart" hidden></div>\n'
    told += (
        f" Along the run with the pattern, {e.window.length} steps shrink any disturbance, wherever they begin."
        if e.window.length
        else " Along the run with the pattern, no window of up to a quarter of the run shrinks every disturbance."
    )
    return f"""<p>Stable single steps do not yet make a stable run. {told} The curve shows by how much a disturbance can
grow over a window of so many steps, at worst; below one it has shrunk.</p>
{_figure_box("window-chart", "Largest growth over windows")}
"""


def _item(one: EvidenceItem) -> str:
    key, text = MARKS[one.holds]
    return f'<li class="{key}"><span class="mark">{text}</span><b>{escape(one.name)}:</b> {escape(one.text)}</li>'


def _evidence(plan: Plan) -> str:
    e = plan.evidence
    checked = "".join(_item(one) for one in e.items)
    n = plan.outcome.frame.n
    runs, ranges = e.covered[:-n] if n else e.covered, e.covered[-n:] if n else []
    rows = [_range(line) for line in ranges]
    scenarios = "".join(f"<li>{escape(one)}</li>" for one in runs)
    missing = "".join(f"<li>{escape(one)}</li>" for one in e.not_checked)
    return f"""<p>What was checked, over which values, and what was not. This is evidence from the scenarios, not a
proof for all states.</p>
<h3>Checked</h3>
<ul class="items">{checked}</ul>
<h3>Over which states, inputs and parameters</h3>
<ul class="notes">{scenarios}</ul>
{_fold(f"Ranges of all {n} states", _table(["state", "lowest", "highest"], rows))}
<h3>Not checked</h3>
<ul class="notes">{missing}</ul>
"""


def _range(line: str) -> list[str]:
    """``name: low .. high`` in cells; a name may itself contain a colon."""
    name, _, span = line.rpartition(": ")
    low, _, high = span.partition(" .. ")
    return [name, low, high]


def _frontier(frontier: Any) -> str:
    head = [f"{frontier.unit} of a step", "error added", "entries", "computed", "tolerance", "evidence"]
    rows = [
        [
            str(one.cost),
            figure(100 * one.error, 3, " %"),
            str(one.entries),
            str(one.computed),
            figure(100 * one.tolerance, 3, " %") if one.tolerance else "all entries",
            "holds" if one.holds else "does not hold",
        ]
        for one in frontier
    ]
    return f"""<p>Plans between the cheapest one within the tolerance and all entries; none is worse than another in
both error and cost.</p>
{_table(head, rows)}
"""


def _baselines(baselines: Sequence[Any] | None) -> str:
    rows = [
        [
            one.name,
            str(one.entries),
            str(one.flops),
            str(one.colours),
            figure(one.radius, 6),
            str(one.violators),
            figure(100 * one.bias, 3, " %"),
        ]
        for one in baselines or []
    ]
    head = [
        "pattern",
        "entries",
        "operations",
        "colours",
        "largest |λ|",
        "linearisations that refuse",
        "error, first order",
    ]
    return f"""<p>Other ways of choosing a pattern, measured on the same linearisations. A largest |λ| above one means
that the step is unstable somewhere.</p>
{_table(head, rows)}
"""
