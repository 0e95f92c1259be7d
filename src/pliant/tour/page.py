"""The tour as one HTML page without outside resources, light and dark."""

from __future__ import annotations

import datetime as dt
import html
import platform
import re
from collections.abc import Sequence
from pathlib import Path

from pliant.tour.section import Block, Code, FigureTable, Picture, Section
from pliant.version import pliant_version

_LONG_CODE = 17  # lines from which on program text is folded


def _style() -> str:
    return Path(__file__).with_suffix(".css").read_text(encoding="utf-8")


def render_page(sections: Sequence[Section], took: float) -> str:
    """The whole page."""
    links = "".join(f'<li><a href="#{s.slug}">{html.escape(s.title)}</a></li>' for s in sections)
    body = "".join(_section(number, section) for number, section in enumerate(sections, 1))
    made = dt.datetime.now(dt.UTC).strftime("%Y-%m-%d %H:%M UTC")
    system = f"{platform.system()} {platform.machine()}, Python {platform.python_version()}"
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>A tour of pliant</title>
<style>{_style()}</style>
</head>
<body>
<div class="frame">
<nav aria-label="Contents"><strong>Contents</strong><ol>{links}</ol></nav>
<main>
<header>
<h1>A tour of pliant</h1>
<p>pliant {html.escape(pliant_version())} solves stiff differential and differential-algebraic equations,
given as Modelica text, as a Python function or as a C file, with its own solvers in a small C runtime.</p>
<div class="formula">L x′(t) = f(t, x(t), u(t), p), &nbsp; L constant, possibly singular</div>
<p>Every figure on this page was measured when the page was made: {made}, on {html.escape(system)}, in
{took:.1f} s altogether. Make your own with <code>pliant tour</code>.</p>
</header>
{body}
<footer>pliant, BSD-3-Clause. Times are wall-clock times of single short runs: compare their sizes, not their
digits.</footer>
</main>
</div>
</body>
</html>
"""


def _inline(text: str) -> str:
    """`code` as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text, quote=False))


def _section(number: int, section: Section) -> str:
    blocks = "\n".join(_block(block) for block in section.blocks)
    title = f"<h2><span>{number}</span>{html.escape(section.title)}</h2>"
    return f'<section id="{section.slug}">\n{title}\n<p>{_inline(section.lead)}</p>\n{blocks}\n</section>\n'


def _block(block: Block) -> str:
    if isinstance(block, FigureTable):
        return _table(block)
    if isinstance(block, Picture):
        return f"<figure>{block.svg}{_caption(block.caption)}</figure>"
    if isinstance(block, Code):
        return _code(block)
    return f"<p>{_inline(block.text)}</p>"


def _caption(text: str) -> str:
    return f"<figcaption>{_inline(text)}</figcaption>" if text else ""


def _table(block: FigureTable) -> str:
    head = "".join(f"<th>{html.escape(cell)}</th>" for cell in block.head)
    rows = "".join(f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in row)}</tr>" for row in block.rows)
    table = f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'
    return f"<figure>{table}{_caption(block.caption)}</figure>"


def _code(block: Code) -> str:
    text = html.escape(block.text)
    if block.shown:
        return f'<figure><p class="caption">{_inline(block.caption)}</p><pre class="told">{text}</pre></figure>'
    if block.text.count("\n") >= _LONG_CODE:
        summary = _inline(block.caption or "Program text.")
        return f"<figure><details><summary>{summary}</summary><pre><code>{text}</code></pre></details></figure>"
    return f"<figure><pre><code>{text}</code></pre>{_caption(block.caption)}</figure>"
